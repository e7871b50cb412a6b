/* agent_confidence_escalation.c: public scenario agentConfidenceEscalation (AGT-30..33, FIX-33). */
#include "suite.h"

#define FLOW "conformance-agent-low-confidence"
#define NODE "/interrupts/low-conf-decider"

SCENARIO(agent_confidence_escalation);

static const char *held(void) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_status(run, "waiting-approval", lifecycle_ms());
    return run;
}

Test(agent_confidence_escalation, a_doubtful_decision_waits_for_a_person) {
    const char *run = held();
    struct json_elements ev = json_events(run);
    size_t n = 0;
    for (size_t i = 0; i < ev.n; i++) {
        if (!str_eqc(text_at(ev.v[i], "type"), "node.suspended")) continue;
        n++;
        cr_expect(str_eqc(text_at(ev.v[i], "payload.reason"), "low-confidence"));
        cr_expect_geq(text_at(ev.v[i], "payload.agentId").n, 3u);
        cr_expect_geq(text_at(ev.v[i], "payload.interruptId").n, 1u);
    }
    cr_expect_eq(n, 1u);
    struct reply r =
        ask("POST", run_path(run, NODE), "{\"resumeValue\":{\"next\":\"other\"}}", NULL);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    wait_status(run, "completed", lifecycle_ms());
    ev = json_events(run);
    cr_expect_eq(count_of(ev, "agent.decided"), 2u, "AGT-33: one more, as ratified");
    cr_expect_eq(count_of(ev, "node.suspended"), 1u);
}

Test(agent_confidence_escalation, a_rejected_decision_fails_the_run) {
    const char *run = held();
    struct reply r =
        ask("POST", run_path(run, NODE), "{\"resumeValue\":{\"action\":\"reject\"}}", NULL);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str snap = wait_status(run, "failed", lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "error.code"), "decision_rejected"));
}

Test(agent_confidence_escalation, the_threshold_of_the_run_counts /* CHK-12 */) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, "\"configurable\":{\"escalationThreshold\":0.5}");
    wait_status(run, "completed", lifecycle_ms());
    cr_expect_eq(count_of(json_events(run), "node.suspended"), 0u, "equal is enough");
}
