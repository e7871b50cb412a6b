/* runs_lifecycle.c: public scenario runs-lifecycle (RUN-4, EVT-20). */
#include "suite.h"

SCENARIO(runs_lifecycle);

Test(runs_lifecycle, a_created_run_has_id_and_status) {
    need_fixture("conformance-noop");
    struct reply r = ask("POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", NULL);
    cr_assert_eq(r.status, 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(text_at(r.json, "runId").n > 0 && text_at(r.json, "status").n > 0);
}

Test(runs_lifecycle, a_run_completes_and_is_found_by_its_id) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    struct str snap = wait_status(run, "completed", lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "runId"), run));
    cr_expect(str_eqc(text_at(snap, "workflowId"), "conformance-noop"));
}

Test(runs_lifecycle, another_id_is_not_found) {
    known_run();
    struct reply r =
        ask("GET", "/v1/runs/openwop-conformance-this-run-id-does-not-exist", NULL, NULL);
    cr_expect(r.status == 404 || r.status == 403, "%ld", r.status);
}
