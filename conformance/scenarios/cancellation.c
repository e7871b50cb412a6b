/* cancellation.c: public scenario cancellation (RUN-20, RUN-21, EVT-30). */
#include "suite.h"

SCENARIO(cancellation);

Test(cancellation, a_running_run_is_cancelled) {
    need_fixture("conformance-cancellable");
    const char *run = create_run("conformance-cancellable", "\"inputs\":{\"delayMs\":10000}");
    wait_status(run, "running", 5000);
    struct reply r = ask("POST", run_path(run, "/cancel"),
                         "{\"reason\":\"conformance-cancellation-test\"}", NULL);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str status = text_at(r.json, "status");
    cr_expect(str_eqc(status, "cancelled") || str_eqc(status, "cancelling"), STR_FMT,
              STR_ARG(status));
    wait_status(run, "cancelled", 5000);
    struct json_elements ev = poll_events(run, "?timeout=1");
    cr_expect_eq(count_of(ev, "run.cancelled"), 1u);
    cr_expect_eq(count_of(ev, "run.completed"), 0u);
}

Test(cancellation, a_run_that_does_not_exist_cannot_be_cancelled) {
    known_run();
    struct reply r = ask("POST", "/v1/runs/openwop-conformance-no-such-run/cancel", "{}", NULL);
    cr_expect(r.status == 404 || r.status == 403, "%ld", r.status);
    expect_envelope(&r);
}
