/* agent_message_reducer.c: public scenario agentMessageReducer (MSG-1..6, FIX-34). */
#include "suite.h"

#define FLOW "conformance-message-reducer"

SCENARIO(agent_message_reducer);

Test(agent_message_reducer, a_message_that_is_written_twice_is_there_once) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str snap = wait_status(run, "completed", lifecycle_ms());
    struct json_elements l = list_at(snap, "channels.messages");
    cr_assert_eq(l.n, 2u, STR_FMT, STR_ARG(snap));
    cr_expect_not(str_eq(text_at(l.v[0], "messageId"), text_at(l.v[1], "messageId")));
    cr_expect_eq(count_of(json_events(run), "channel.written"), 3u, "MSG-2: the writes stay");
}
