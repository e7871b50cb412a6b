/* cost_attribution.c: public scenario cost-attribution (OBS-13, OBS-15, NODE-64). */
#include "suite.h"

#include <string.h>

SCENARIO(cost_attribution);

static const char *memmem_of(struct str text, const char *what) {
    return text.p ? strstr(fmt(STR_FMT, STR_ARG(text)), what) : NULL;
}

/* Members and types of the closed object; what is absent was not recorded. */
static void shape_check(struct str cost) {
    static const char *const MEMBERS[] = {"usd", "tokens", "model", "provider", "duration_ms"};
    struct json_members m;
    cr_assert_eq(json_members(cost, test_arena(), &m, NULL), 0, STR_FMT, STR_ARG(cost));
    for (size_t i = 0; i < m.n; i++) {
        bool known = false;
        for (size_t k = 0; k < 5; k++) known = known || str_eqc(m.v[i].key, MEMBERS[k]);
        cr_expect(known, "metrics.openwopCost has " STR_FMT, STR_ARG(m.v[i].key));
    }
    if (at(cost, "tokens").p != NULL) {
        cr_expect_geq(int_at(cost, "tokens.input"), 0);
        cr_expect_geq(int_at(cost, "tokens.output"), 0);
    }
    if (at(cost, "duration_ms").p != NULL) cr_expect_geq(int_at(cost, "duration_ms"), 0);
    if (at(cost, "provider").p != NULL) cr_expect_gt(text_at(cost, "provider").n, 0u);
    if (at(cost, "model").p != NULL) cr_expect_gt(text_at(cost, "model").n, 0u);
}

Test(cost_attribution, a_cost_rollup_has_the_closed_shape) {
    need_fixture("conformance-noop");
    struct str snap = run_to_end("conformance-noop", NULL, "completed");
    struct str cost = at(snap, "metrics.openwopCost");
    if (cost.p == NULL)
        cr_skip("the snapshot of a run without AI calls has no metrics.openwopCost (optional)");
    shape_check(cost);
}

Test(cost_attribution, what_a_node_costs_is_in_the_snapshot_and_nothing_else_of_its_record) {
    need_fixture("openwop-smoke-cost-emit");
    struct str snap = run_to_end("openwop-smoke-cost-emit", NULL, "completed");
    struct str cost = at(snap, "metrics.openwopCost");
    double usd = -1;
    cr_assert_not_null(cost.p, STR_FMT, STR_ARG(snap));
    shape_check(cost);
    cr_expect(json_double(at(cost, "usd"), &usd) && usd == 0.00123, STR_FMT, STR_ARG(cost));
    cr_expect_eq(int_at(cost, "tokens.input"), 100);
    cr_expect_eq(int_at(cost, "tokens.output"), 50);
    cr_expect_gt(text_at(cost, "provider").n, 0u);
    cr_expect_null(memmem_of(at(snap, "nodeStates"), "leaked_token"), STR_FMT, STR_ARG(snap));
    cr_expect_null(memmem_of(at(snap, "metrics"), "evil"), STR_FMT, STR_ARG(snap));
}

Test(cost_attribution, the_node_completes_once_and_its_event_has_no_dropped_attribute) {
    need_fixture("openwop-smoke-cost-emit");
    const char *run = create_run("openwop-smoke-cost-emit", NULL);
    (void)wait_terminal(run, 30000);
    struct json_elements ev = json_events(run);
    size_t completed = 0;
    for (size_t i = 0; i < ev.n; i++) {
        bool of_it = str_eqc(text_at(ev.v[i], "type"), "node.completed") &&
                     str_eqc(text_at(ev.v[i], "nodeId"), "emit-cost");
        completed += of_it;
        cr_expect(json_path_get(ev.v[i], STR("payload.openwop-cost"), test_arena()).n > 0 ||
                  !of_it);
        cr_expect_null(memmem_of(ev.v[i], "leaked_token"), STR_FMT, STR_ARG(ev.v[i]));
        cr_expect_null(memmem_of(ev.v[i], "cost.evil"), STR_FMT, STR_ARG(ev.v[i]));
    }
    cr_expect_eq(completed, 1u);
}
