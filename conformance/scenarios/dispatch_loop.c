/* dispatch_loop.c: public scenario dispatchLoop (DISP-9, ORCH-11, FIX-49). */
#include "suite.h"

#define FLOW "conformance-dispatch-loop"

SCENARIO(dispatch_loop);

Test(dispatch_loop, one_worker_and_then_the_end) {
    static const char *const kinds[] = {"next-worker", "terminate"};
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_status(run, "completed", lifecycle_ms());
    struct json_elements ev = json_events(run);
    size_t n = 0;
    for (size_t i = 0; i < ev.n; i++) {
        if (!str_eqc(text_at(ev.v[i], "type"), "runOrchestrator.decided")) continue;
        cr_assert_lt(n, COUNT(kinds));
        cr_expect(str_eqc(text_at(ev.v[i], "payload.decision.kind"), kinds[n++]));
    }
    cr_expect_eq(n, COUNT(kinds));
}
