/* test_compare.c: which events of a replay are those of its source (FORK-19, FORK-20). */
#include "domain/compare.h"

#include <criterion/criterion.h>

static struct arena *a;
static struct map *family;
static void up(void) { a = arena_new(1u << 20); }
static void down(void) { arena_free(a); }
TestSuite(compare, .init = up, .fini = down);

static struct event ev(enum ev_kind kind, const char *node, const char *payload) {
    return (struct event){.kind = kind, .node_id = str_c(node), .payload = str_c(payload)};
}

static enum divergence same(const char *x, const char *y) {
    struct event g = ev(EV_NODE_COMPLETED, "n", x), e = ev(EV_NODE_COMPLETED, "n", y);
    enum divergence d = DIV_NR;
    cr_assert_eq(compare_events(&g, &e, family, a, &d), 0);
    return d;
}

Test(compare, type_comes_before_node_before_payload) {
    struct event g = ev(EV_NODE_COMPLETED, "n", "{}"), e = ev(EV_NODE_FAILED, "m", "{\"x\":1}");
    enum divergence d;
    cr_assert_eq(compare_events(&g, &e, family, a, &d), 0);
    cr_expect_eq(d, DIV_TYPE);
    e.kind = EV_NODE_COMPLETED;
    cr_assert_eq(compare_events(&g, &e, family, a, &d), 0);
    cr_expect_eq(d, DIV_OUTPUT);
    e.node_id = g.node_id;
    e.payload = STR("{}");
    cr_assert_eq(compare_events(&g, &e, family, a, &d), 0);
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

#define ROOT    "run_00000000000000000000000001"
#define SOURCE  "run_00000000000000000000000002"
#define REPLAY  "run_00000000000000000000000003"
#define FOREIGN "run_00000000000000000000000004"

Test(compare, all_runs_of_the_family_stand_for_each_other /* FORK-13, F10 */) {
    static const char *const ids[] = {ROOT, SOURCE, REPLAY};
    family = map_new();
    for (int i = 0; i < 3; i++) cr_assert_eq(map_put(family, str_c(ids[i]), a, NULL), 0);
    cr_expect_eq(same("{\"key\":\"" SOURCE ":n:0\"}", "{\"key\":\"" REPLAY ":n:0\"}"), DIV_NONE);
    cr_expect_eq(same("{\"key\":\"" ROOT ":n:0\"}", "{\"key\":\"" REPLAY ":n:0\"}"), DIV_NONE);
    cr_expect_eq(same("{\"key\":\"" ROOT SOURCE "\"}", "{\"key\":\"" REPLAY REPLAY "\"}"),
                 DIV_NONE);
    cr_expect_eq(same("{\"key\":\"" SOURCE "\"}", "{\"key\":\"" FOREIGN "\"}"), DIV_OUTPUT);
    cr_expect_eq(same("{\"key\":\"rrun_" SOURCE "\"}", "{\"key\":\"rrun_" ROOT "\"}"), DIV_NONE);
    cr_expect_eq(same("{\"key\":\"run_\"}", "{\"key\":\"" REPLAY "\"}"), DIV_OUTPUT);
    map_free(family);
    family = NULL;
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
