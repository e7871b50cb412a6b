/* cost_attribution.c: public scenario cost-attribution, the test on any run (OBS: cost rollup). The
 * two on openwop-smoke-cost-emit wait for the node that emits costs. */
#include "suite.h"

SCENARIO(cost_attribution);

Test(cost_attribution, a_cost_rollup_has_the_closed_shape) {
    need_fixture("conformance-noop");
    struct str snap = run_to_end("conformance-noop", NULL, "completed");
    if (at(snap, "metrics.openwopCost").p == NULL)
        cr_skip("the snapshot of a run without AI calls has no metrics.openwopCost (optional)");
    cr_expect(
        is_type(snap, "metrics.openwopCost", JSON_OBJECT)); /* members: the schema is closed */
}
