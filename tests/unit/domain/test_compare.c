/* test_compare.c: which events of a replay are those of its source (FORK-19, FORK-20). */
#include "domain/compare.h"

#include <criterion/criterion.h>

static struct arena *a;
static void up(void) { a = arena_new(1u << 20); }
static void down(void) { arena_free(a); }
TestSuite(compare, .init = up, .fini = down);

static struct event ev(enum ev_kind kind, const char *node, const char *payload) {
    return (struct event){.kind = kind, .node_id = str_c(node), .payload = str_c(payload)};
}

static enum divergence same(const char *x, const char *y) {
    struct event g = ev(EV_NODE_COMPLETED, "n", x), e = ev(EV_NODE_COMPLETED, "n", y);
    enum divergence d = DIV_NR;
    cr_assert_eq(compare_events(&g, STR("run_S"), &e, STR("run_R"), a, &d), 0);
    return d;
}

Test(compare, type_comes_before_node_before_payload) {
    struct event g = ev(EV_NODE_COMPLETED, "n", "{}"), e = ev(EV_NODE_FAILED, "m", "{\"x\":1}");
    enum divergence d;
    cr_assert_eq(compare_events(&g, STR("s"), &e, STR("r"), a, &d), 0);
    cr_expect_eq(d, DIV_TYPE);
    e.kind = EV_NODE_COMPLETED;
    cr_assert_eq(compare_events(&g, STR("s"), &e, STR("r"), a, &d), 0);
    cr_expect_eq(d, DIV_OUTPUT);
    e.node_id = g.node_id;
    e.payload = STR("{}");
    cr_assert_eq(compare_events(&g, STR("s"), &e, STR("r"), a, &d), 0);
    cr_expect_eq(d, DIV_NONE);
}

Test(compare, times_and_generated_ids_do_not_count) {
    cr_expect_eq(same("{\"durationMs\":1,\"v\":2}", "{\"durationMs\":9,\"v\":2}"), DIV_NONE);
    cr_expect_eq(same("{\"decidedAt\":\"x\",\"resolvedAt\":\"x\",\"writtenAt\":\"x\"}", "{}"),
                 DIV_NONE);
    cr_expect_eq(same("{\"interruptId\":\"int_1\"}", "{\"interruptId\":\"int_2\"}"), DIV_NONE);
    cr_expect_eq(same("{\"v\":{\"durationMs\":1}}", "{\"v\":{\"durationMs\":2}}"), DIV_OUTPUT,
                 "deeper down it is somebody's value");
}

Test(compare, json_is_compared_not_text) {
    cr_expect_eq(same("{\"a\":1,\"b\":[1.0]}", "{ \"b\" : [1], \"a\":1e0}"), DIV_NONE);
    cr_expect_eq(same("{\"a\":1}", "{\"a\":\"1\"}"), DIV_OUTPUT);
    cr_expect_eq(same("{\"a\":[1,2]}", "{\"a\":[2,1]}"), DIV_OUTPUT);
    cr_expect_eq(same("{\"a\":null}", "{}"), DIV_OUTPUT);
    cr_expect_eq(same("{\"a\":1e999}", "{\"a\":1e999,\"durationMs\":1}"), DIV_NONE,
                 "what has no canonical form is compared as it stands");
}

Test(compare, the_replays_run_id_stands_for_the_sources /* FORK-13 */) {
    cr_expect_eq(same("{\"key\":\"run_S:n:0\"}", "{\"key\":\"run_R:n:0\"}"), DIV_NONE);
    cr_expect_eq(same("{\"key\":\"run_S:run_S\"}", "{\"key\":\"run_R:run_R\"}"), DIV_NONE);
    cr_expect_eq(same("{\"key\":\"run_R:n:0\"}", "{\"key\":\"run_S:n:0\"}"), DIV_OUTPUT);
    cr_expect_eq(same("{\"key\":\"run_\"}", "{\"key\":\"run_R\"}"), DIV_OUTPUT);
}

Test(compare, what_operators_and_clocks_do_is_looked_away_from /* FORK-19 */) {
    static const enum ev_kind away[] = {
        EV_REPLAY_DIVERGED,  EV_LEASE_ACQUIRED,    EV_LEASE_RENEWED,    EV_LEASE_LOST,
        EV_LEASE_HANDED_OFF, EV_WORKFLOW_RESTORED, EV_WORKFLOW_STALLED, EV_RUN_RESTORED,
        EV_RUN_RESUMING,     EV_RUN_PAUSED,        EV_RUN_RESUMED,      EV_LOG_APPENDED};
    for (int k = 0; k < EV_NR; k++) {
        bool listed = false;
        for (size_t i = 0; i < sizeof away / sizeof *away; i++) listed |= (int)away[i] == k;
        struct event e = ev((enum ev_kind)k, "n", "{}");
        cr_expect_eq(compare_ignores(&e), listed, "%s", event_name((enum ev_kind)k));
    }
    struct event e = ev(EV_NODE_SUSPENDED, "n", "{\"reason\":\"pause-drain\"}");
    cr_expect(compare_ignores(&e));
    e = ev(EV_NODE_RESUMED, "n", "{\"interruptId\":\"pause:3\"}");
    cr_expect(compare_ignores(&e));
    e = ev(EV_NODE_RESUMED, "n", "{\"interruptId\":\"int_3\"}");
    cr_expect_not(compare_ignores(&e));
    e = ev(EV_UNKNOWN, "n", "");
    cr_expect(compare_ignores(&e));
}

Test(compare, kinds_have_the_names_of_the_contract /* FORK-20 */) {
    cr_expect_str_eq(divergence_name(DIV_OUTPUT), "output");
    cr_expect_str_eq(divergence_name(DIV_TYPE), "type-mismatch");
    cr_expect_str_eq(divergence_name(DIV_MISSING), "missing");
    cr_expect_str_eq(divergence_name(DIV_EXTRA), "extra");
    cr_expect_str_eq(divergence_name(DIV_NR), "");
}
