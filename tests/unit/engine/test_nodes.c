/* test_nodes.c: registry and executors by their calls alone (NODE-1..4, 23, 33..35, 56, 59..62;
 * PROF-30). */
#include "engine/registry.h"
#include "engine_world.h"

#include "nodes/nodes.h"

#include <criterion/criterion.h>

static struct arena *scratch;
static void up(void) { scratch = arena_new(1u << 20); }
static void down(void) { arena_free(scratch); }
TestSuite(nodes, .init = up, .fini = down);

static struct node_result run(node_fn *fn, const char *config, const char *inputs, bool waited) {
    struct node_call call = {
        .a = scratch, .config = str_c(config), .inputs = str_c(inputs), .waited = waited};
    struct node_result r = {0};
    fn(&call, &r);
    return r;
}

Test(nodes, a_delay_reads_the_first_duration_it_finds /* NODE-33, CX-43 */) {
    static const struct {
        const char *config, *inputs;
        int64_t ms; /* -1 = validation_error */
    } CASES[] = {
        {"{}", "{}", 0},
        {"{\"ms\":300}", "{}", 300},
        {"{\"ms\":300,\"delayMs\":5}", "{}", 5},
        {"{\"delayMs\":5}", "{\"ms\":7}", 7},
        {"{}", "{\"ms\":7,\"delayMs\":60000}", 60000},
        {"{}", "{\"delayMs\":1.5e3}", 1500},
        {"{\"ms\":\"300\"}", "{}", -1},
        {"{\"ms\":-1}", "{}", -1},
        {"{\"ms\":1e300}", "{}", -1},
        {"{\"ms\":null}", "{}", -1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct node_result r = run(exec_delay, CASES[i].config, CASES[i].inputs, false);
        if (CASES[i].ms < 0) {
            cr_expect_eq(r.outcome, NODE_OUT_FAIL, "case %zu", i);
            cr_expect(str_eqc(r.error_code, "validation_error"));
            continue;
        }
        cr_expect_eq(r.outcome, CASES[i].ms > 0 ? NODE_OUT_WAIT : NODE_OUT_DONE, "case %zu", i);
        cr_expect_eq(r.wait_ms, CASES[i].ms, "case %zu", i);
        r = run(exec_delay, CASES[i].config, CASES[i].inputs, true);
        cr_expect_eq(r.outcome, NODE_OUT_DONE, "case %zu", i);
    }
}

Test(nodes, wrong_arguments_are_never_tried_again /* NODE-18 */) {
    static const struct {
        node_fn *fn;
        const char *config;
    } CASES[] = {
        {exec_set_variable, "{}"},
        {exec_set_variable, "{\"name\":\"x\"}"},
        {exec_set_variable, "{\"name\":1,\"value\":1}"},
        {exec_get_variable, "{}"},
        {exec_log, "{}"},
        {exec_log, "{\"message\":\"m\",\"level\":\"loud\"}"},
        {exec_log, "{\"message\":\"m\",\"fields\":[]}"},
        {exec_channel_write, "{\"value\":1}"},
        {exec_channel_write, "{\"channelName\":\"c\"}"},
        {exec_channel_write, "{\"channelName\":\"c\",\"value\":1,\"ttlMs\":-1}"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct node_result r = run(CASES[i].fn, CASES[i].config, "{}", false);
        cr_expect_eq(r.outcome, NODE_OUT_FAIL, "case %zu", i);
        cr_expect(str_eqc(r.error_code, "validation_error"), "case %zu", i);
        cr_expect_not(r.retryable);
        cr_expect_eq(r.effects_nr, 0);
    }
}

Test(nodes, a_log_line_is_an_effect) {
    struct node_result r =
        run(exec_log, "{\"message\":\"from config\",\"level\":\"warn\"}", "{\"message\":\"m\"}", 0);
    cr_assert_eq(r.effects_nr, 1);
    cr_expect_eq(r.effects[0].kind, EFFECT_LOG);
    cr_expect(str_eqc(r.effects[0].name, "warn"));
    cr_expect(str_eqc(r.effects[0].value, "m")); /* the port wins */
}

Test(nodes, conformance_types_need_the_switch /* NODE-23, NODE-62 */) {
    struct wopr_error err;
    for (int on = 0; on < 2; on++) {
        struct node_registry *r = node_registry_new();
        cr_assert_eq(nodes_register_core(r, on, &err), 0);
        const struct node_type *t = node_registry_find(r, STR("conformance.requiresMissing"));
        cr_expect_eq(t != NULL, on != 0);
        cr_expect_not_null(node_registry_find(r, STR("core.noop")));
        cr_expect_null(node_registry_find(r, STR("core.NOOP"))); /* NODE-2 */
        cr_expect_not_null(node_registry_find(r, STR("core.conversationGate")));
        cr_expect_eq(nodes_register_core(r, on, &err), WOPR_E_EXISTS);
        node_registry_free(r);
    }
}

Test(nodes, a_type_id_has_a_shape /* NODE-2 */) {
    static const char *const BAD[] = {"", "Core.noop", "9x", "a b", "a/b", "\xc3\xa4"};
    struct wopr_error err;
    struct node_registry *r = node_registry_new();
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct node_type t = {.type_id = BAD[i], .fn = exec_noop};
        cr_expect_eq(node_registry_add(r, &t, &err), WOPR_E_CONFIG, "%s", BAD[i]);
    }
    struct node_type none = {.type_id = "vendor.acme.x"};
    cr_expect_eq(node_registry_add(r, &none, &err), WOPR_E_CONFIG);
    node_registry_free(r);
}

Test(nodes, the_first_missing_capability_is_named /* NODE-4 */) {
    static const char *const need[] = {"a", "b", "c", NULL};
    static const char *const some[] = {"c", "a", NULL}, *const all[] = {"c", "b", "a", NULL};
    struct node_type t = {.type_id = "vendor.acme.x", .fn = exec_noop, .requires = need};
    cr_expect_str_eq(registry_missing(&t, NULL), "a");
    cr_expect_str_eq(registry_missing(&t, some), "b");
    cr_expect_null(registry_missing(&t, all));
    t.requires = NULL;
    cr_expect_null(registry_missing(&t, NULL));
}
