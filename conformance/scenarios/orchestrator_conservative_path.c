/*
 * orchestrator_conservative_path.c: public scenario orchestratorConservativePath (ORCH-10, FIX-48).
 */
#include "suite.h"

#define FLOW "conformance-orchestrator-low-confidence"

SCENARIO(orchestrator_conservative_path);

Test(orchestrator_conservative_path, a_doubtful_decision_is_held_until_it_is_ratified) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_status(run, "waiting-approval", lifecycle_ms());
    struct json_elements ev = json_events(run);
    cr_expect_eq(count_of(ev, "runOrchestrator.decided"), 0u);
    cr_expect_eq(count_of(ev, "agent.decided"), 1u);
    for (size_t i = 0; i < ev.n; i++)
        if (str_eqc(text_at(ev.v[i], "type"), "node.suspended"))
            cr_expect(str_eqc(text_at(ev.v[i], "payload.reason"), "low-confidence"));
    struct reply r = ask("POST", run_path(run, "/interrupts/supervisor"),
                         "{\"resumeValue\":{\"kind\":\"nonsense\"}}", NULL);
    cr_expect_eq(r.status, 400, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    r = ask("POST", run_path(run, "/interrupts/supervisor"),
            "{\"resumeValue\":{\"kind\":\"terminate\",\"reason\":\"enough\"}}", NULL);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    wait_status(run, "completed", lifecycle_ms());
    cr_expect_eq(count_of(json_events(run), "runOrchestrator.decided"), 1u);
}
