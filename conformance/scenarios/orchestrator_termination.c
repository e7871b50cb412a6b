/* orchestrator_termination.c: public scenario orchestratorTermination (ORCH-8, DISP-8, FIX-47). */
#include "suite.h"

#define FLOW "conformance-orchestrator-terminate"

SCENARIO(orchestrator_termination);

Test(orchestrator_termination, the_decision_to_terminate_is_the_last) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_status(run, "completed", lifecycle_ms());
    struct json_elements ev = json_events(run);
    struct str decided = STR_NONE;
    cr_expect_eq(count_of(ev, "runOrchestrator.decided"), 1u);
    for (size_t i = 0; i < ev.n; i++) {
        if (str_eqc(text_at(ev.v[i], "type"), "runOrchestrator.decided")) {
            cr_expect(str_eqc(text_at(ev.v[i], "payload.decision.kind"), "terminate"));
            decided = text_at(ev.v[i], "eventId");
        }
        if (!str_eqc(text_at(ev.v[i], "type"), "run.completed")) continue;
        cr_expect(str_eqc(text_at(ev.v[i], "payload.reason"), "goal-reached"));
        cr_expect(str_eq(text_at(ev.v[i], "causationId"), decided));
    }
}
