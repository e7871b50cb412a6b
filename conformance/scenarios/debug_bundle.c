/* debug_bundle.c: public scenario debugBundle, for hosts that do not advertise the bundle.  The
 * five tests on a bundle wait for that route. */
#include "suite.h"

SCENARIO(debug_bundle);

Test(debug_bundle, a_host_that_does_not_offer_it_answers_404) {
    bool on = false;
    struct str raw = at(discovery(), "debugBundle.supported");
    if (raw.p != NULL && json_bool(raw, &on) && on)
        cr_skip("debugBundle is advertised; its shape is not checked yet");
    const char *run = known_run();
    cr_expect_eq(ask("GET", run_path(run, "/debug-bundle"), NULL, NULL).status, 404);
    struct reply r =
        ask("GET", "/v1/runs/openwop-conformance-no-such-run/debug-bundle", NULL, NULL);
    cr_expect_eq(r.status, 404);
}
