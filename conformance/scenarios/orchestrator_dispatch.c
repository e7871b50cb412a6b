/*
 * orchestrator_dispatch.c: public scenario orchestratorDispatch (ORCH-3..6, DISP-5, DISP-10,
 * FIX-46).
 */
#include "suite.h"

#define FLOW "conformance-orchestrator-dispatch"

SCENARIO(orchestrator_dispatch);

Test(orchestrator_dispatch, a_worker_runs_after_the_decision_that_names_it) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str snap = wait_status(run, "completed", lifecycle_ms()), decided = STR_NONE;
    cr_expect(str_eqc(text_at(snap, "runOrchestrator.agentId"), "core.conformance.supervisor"));
    struct json_elements kids = list_at(snap, "childRuns"), ev = json_events(run);
    cr_assert_eq(kids.n, 1u);
    cr_expect(str_eqc(text_at(kids.v[0], "status"), "completed"));
    for (size_t i = 0; i < ev.n; i++) {
        if (str_eqc(text_at(ev.v[i], "type"), "runOrchestrator.decided")) {
            decided = text_at(ev.v[i], "eventId");
            cr_expect(str_eqc(text_at(ev.v[i], "payload.agentId"), "core.conformance.supervisor"));
        }
        if (str_eqc(text_at(ev.v[i], "type"), "node.completed") &&
            str_eqc(text_or_none(ev.v[i], "nodeId"), "dispatch")) /* CHK-20 */
            cr_expect(str_eq(text_at(ev.v[i], "causationId"), decided));
    }
    cr_expect_eq(count_of(ev, "runOrchestrator.decided"), 2u);
}
