/* replay_determinism.c: public scenario replayDeterminism (FORK-7, FORK-15). */
#include "suite.h"

SCENARIO(replay_determinism);

Test(replay_determinism, document_modes_are_strings) {
    need_flag("replay.supported");
    struct json_elements modes = list_at(document(), "replay.modes");
    cr_expect_gt(modes.n, 0);
    for (size_t i = 0; i < modes.n; i++) cr_expect_eq(json_type_of(modes.v[i]), JSON_STRING);
}

static struct json_elements replayed(const char *run) {
    struct reply r =
        ask("POST", run_path(run, ":fork"), "{\"mode\":\"replay\",\"fromSeq\":0}", NULL);
    if (r.status == 501) cr_skip_test("the host implements no replay");
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *id = fmt(STR_FMT, STR_ARG(text_at(r.json, "runId")));
    struct str snap = wait_terminal(id, 10000);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    return poll_events(id, "");
}

Test(replay_determinism, two_whole_replays_have_the_same_events) {
    need_fixture("conformance-noop");
    need_flag("replay.supported");
    if (!list_has(need_member("replay.modes"), "replay")) cr_skip_test("the host offers no replay");
    struct str snap = run_to_end("conformance-noop", NULL, "completed");
    const char *run = fmt(STR_FMT, STR_ARG(text_at(snap, "runId")));
    struct json_elements s = poll_events(run, ""), a = replayed(run), b = replayed(run);
    cr_assert_gt(s.n, 0);
    cr_assert_eq(a.n, b.n);
    cr_assert_eq(a.n, s.n);
    for (size_t i = 0; i < a.n; i++) {
        cr_expect(str_eq(at(a.v[i], "type"), at(b.v[i], "type")));
        cr_expect(str_eq(at(a.v[i], "nodeId"), at(b.v[i], "nodeId")));
        cr_expect(str_eq(at(a.v[i], "type"), at(s.v[i], "type")));
        cr_expect(str_eq(at(a.v[i], "nodeId"), at(s.v[i], "nodeId")));
    }
}
