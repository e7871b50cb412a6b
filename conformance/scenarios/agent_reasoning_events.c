/* agent_reasoning_events.c: public scenario agentReasoningEvents (AGT-14, AGT-20..28, FIX-32). */
#include "suite.h"

#include <string.h>

#define FLOW "conformance-agent-reasoning"

SCENARIO(agent_reasoning_events);

static bool of_agent(struct str e) { return str_starts(text_at(e, "type"), STR("agent.")); }

Test(agent_reasoning_events, each_says_which_agent_and_a_return_names_its_call) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_status(run, "completed", lifecycle_ms());
    struct json_elements ev = json_events(run);
    struct str call = STR_NONE, called = STR_NONE;
    size_t n = 0;
    for (size_t i = 0; i < ev.n; i++) {
        if (!of_agent(ev.v[i])) continue;
        n++;
        cr_expect_geq(text_at(ev.v[i], "payload.agentId").n, 3u);
        if (str_eqc(text_at(ev.v[i], "type"), "agent.toolCalled")) {
            call = text_at(ev.v[i], "payload.callId");
            called = text_at(ev.v[i], "eventId");
        }
        if (!str_eqc(text_at(ev.v[i], "type"), "agent.toolReturned")) continue;
        cr_expect(str_eq(text_at(ev.v[i], "payload.callId"), call));
        cr_expect(str_eq(text_at(ev.v[i], "causationId"), called), "AGT-25");
    }
    cr_expect_eq(n, 5u);
}

Test(agent_reasoning_events, a_run_that_wants_no_reasoning_has_none /* CHK-14 */) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, "\"configurable\":{\"reasoningVerbosity\":\"off\"}");
    wait_status(run, "completed", lifecycle_ms());
    struct json_elements ev = json_events(run);
    cr_expect_eq(count_of(ev, "agent.reasoned"), 0u);
    cr_expect_eq(count_of(ev, "agent.decided"), 1u);
}
