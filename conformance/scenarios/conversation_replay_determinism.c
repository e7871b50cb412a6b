/* conversation_replay_determinism.c: public scenario conversationReplayDeterminism (CONV-20,
 * FORK-17, FIX-44). */
#include "suite.h"

#define FLOW "conformance-conversation-replay"

SCENARIO(conversation_replay_determinism);

Test(conversation_replay_determinism, a_replay_says_the_same_to_the_byte) {
    need_flag("conversationPrimitive");
    need_flag("replay.supported");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str source = wait_status(run, "completed", lifecycle_ms());
    struct reply r = ask("POST", run_path(run, ":fork"), "{\"mode\":\"replay\"}", NULL);
    if (r.status == 501) cr_skip_test("the host implements no replay");
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *fork = fmt(STR_FMT, STR_ARG(text_at(r.json, "runId")));
    struct str copy = wait_status(fork, "completed", lifecycle_ms());
    cr_expect_gt(list_at(source, "channels.conversation").n, 3u);
    cr_expect(str_eq(at(source, "channels.conversation"), at(copy, "channels.conversation")));
    cr_expect_eq(count_of(json_events(fork), "replay.diverged"), 0u);
}
