/* multi_node_ordering.c: public scenario multi-node-ordering (EVT-21, WF-14). */
#include "suite.h"

SCENARIO(multi_node_ordering);

Test(multi_node_ordering, nodes_complete_in_the_order_of_the_edges) {
    static const char *const want[] = {"a", "b", "c"};
    size_t n = 0;
    int64_t last = -1;
    need_fixture("conformance-multi-node");
    const char *run = create_run("conformance-multi-node", NULL);
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_assert(str_eqc(text_at(snap, "status"), "completed"));
    struct json_elements ev = poll_events(run, "?lastSequence=0&timeout=1");
    for (size_t i = 0; i < ev.n; i++) {
        cr_expect_gt(int_at(ev.v[i], "sequence"), last);
        last = int_at(ev.v[i], "sequence");
        if (!str_eqc(text_at(ev.v[i], "type"), "node.completed")) continue;
        cr_assert_lt(n, COUNT(want), "a fourth node completed");
        cr_expect(str_eqc(text_at(ev.v[i], "nodeId"), want[n]), "%zu: " STR_FMT, n,
                  STR_ARG(text_at(ev.v[i], "nodeId")));
        n++;
    }
    cr_expect_eq(n, COUNT(want));
}
