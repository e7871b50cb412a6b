/* test_lint.c: everything that will not do what its author means is found at once, with its place
 * and the remedy; what works is left alone. */
#include "codec/json.h"
#include "domain/options.h"
#include "nodes/nodes.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct lint_finding found[64];
static size_t found_nr;

static void keep(void *ctx, const struct lint_finding *f) {
    (void)ctx;
    if (found_nr < 64) found[found_nr++] = *f;
}

static void lint(const char *text) {
    struct wopr_error err = {0};
    found_nr = 0;
    cr_assert_eq(json_check(str_c(text), &JSON_LIMITS_DEFAULT, &err), 0, "%s", err.message);
    cr_assert_eq(workflow_lint(str_c(text), NODES_LINT, keep, NULL, &err), 0, "%s", err.message);
}

static void expect(bool error, const char *pointer, const char *text) {
    for (size_t i = 0; i < found_nr; i++)
        if (strcmp(found[i].pointer, pointer) == 0 && strstr(found[i].text, text)) {
            cr_expect_eq(found[i].error, error, "%s: %s", pointer, found[i].text);
            return;
        }
    for (size_t i = 0; i < found_nr; i++)
        fprintf(stderr, "%s %s\n", found[i].pointer, found[i].text);
    cr_expect_fail("nothing at %s says %s", pointer, text);
}

#define NODE(id, type, more)                                                                       \
    "{\"id\":\"" id "\",\"typeId\":\"" type                                                        \
    "\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0}," more "}"
#define WORKFLOW(nodes, edges, vars, settings)                                                     \
    "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[" nodes "],\"edges\":[" edges       \
    "],\"triggers\":[],\"variables\":[" vars "],\"metadata\":{},\"settings\":{" settings "}}"
#define EMPTY "\"config\":{},\"inputs\":{}"

Test(lint, typos_are_named_with_what_was_meant) {
    lint(WORKFLOW(NODE("a", "core.setVariabel",
                       EMPTY) "," NODE("b", "core.delay",
                                       "\"config\":{\"dealyMs\":5,\"colour\":1},\"inputs\":{},"
                                       "\"settings\":{\"maxRetry\":3,\"timout\":5}"),
                  "{\"id\":\"e\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"bb\",\"triggerRule\":"
                  "\"all_succes\",\"condition\":{\"type\":\"expresion\",\"expression\":"
                  "\"variables.amuont < 3 && variables.other == 1\"}}",
                  "{\"name\":\"amount\",\"type\":\"numbr\"}", "\"timeuot\":1"));
    expect(true, "/nodes/0/typeId", "did you mean core.setVariable?");
    expect(true, "/nodes/1/config", "\"dealyMs\" means nothing here; did you mean delayMs?");
    expect(false, "/nodes/1/config", "\"colour\" means nothing here");
    expect(true, "/nodes/1/settings", "did you mean maxRetries?");
    expect(true, "/edges/0/targetNodeId", "there is no node \"bb\"; did you mean");
    expect(true, "/edges/0/triggerRule", "must be one of: all_success any_success");
    expect(true, "/edges/0/condition/type", "did you mean expression?");
    expect(true, "/edges/0/condition/expression", "\"amuont\" is neither declared");
    expect(false, "/edges/0/condition/expression", "\"other\" is neither declared");
    expect(true, "/variables/0/type", "must be one of: string number boolean object array");
    expect(true, "/settings", "did you mean timeout?");
    expect(true, "/nodes/1/settings", "did you mean timeoutMs?");
}

Test(lint, what_a_node_needs_may_come_from_an_input) {
    lint(WORKFLOW(NODE("a", "core.setVariable", "\"config\":{\"value\":1},\"inputs\":{}"), "", "",
                  ""));
    expect(true, "/nodes/0/config", "core.setVariable needs \"name\"");
    cr_expect_eq(found_nr, 1u);
    lint(WORKFLOW(NODE("a", "core.setVariable",
                       "\"config\":{\"value\":1},\"inputs\":{\"name\":{\"type\":\"static\","
                       "\"value\":\"v\"}}"),
                  "", "", ""));
    cr_expect_eq(found_nr, 0u);
}

Test(lint, variables_that_a_node_sets_are_known) {
    lint(WORKFLOW(
        NODE("a", "core.setVariable",
             "\"config\":{\"name\":\"x\",\"value\":1},\"inputs\":{}") "," NODE("b", "core.identity",
                                                                               "\"config\":{},"
                                                                               "\"inputs\":{\"i\":{"
                                                                               "\"type\":"
                                                                               "\"expression\","
                                                                               "\"expression\":"
                                                                               "\"variables.x.y + "
                                                                               "1\"},\"v\":{"
                                                                               "\"type\":"
                                                                               "\"variable\","
                                                                               "\"variableName\":"
                                                                               "\"x\"}}"),
        "", "", ""));
    cr_expect_eq(found_nr, 0u);
}

Test(lint, a_cycle_that_nothing_ends_is_strange) {
    lint(WORKFLOW(NODE("a", "core.noop", EMPTY) "," NODE("b", "core.noop", EMPTY),
                  "{\"id\":\"1\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"b\"},"
                  "{\"id\":\"2\",\"sourceNodeId\":\"b\",\"targetNodeId\":\"a\"}",
                  "", ""));
    expect(false, "/edges/0", "a cycle without any condition");
    cr_expect_eq(found_nr, 1u);
    lint(WORKFLOW(NODE("a", "core.noop", EMPTY) "," NODE("b", "core.noop", EMPTY),
                  "{\"id\":\"1\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"b\"},"
                  "{\"id\":\"2\",\"sourceNodeId\":\"b\",\"targetNodeId\":\"a\",\"condition\":"
                  "{\"type\":\"equals\",\"left\":\"status\",\"right\":\"failed\"}}",
                  "", ""));
    cr_expect_eq(found_nr, 0u);
}

Test(lint, anything_that_is_json_is_survived) {
    lint("null");
    lint("[]");
    lint("{}");
    lint("{\"nodes\":1,\"edges\":{},\"variables\":\"x\"}");
    lint("{\"nodes\":[1,null,{\"id\":1,\"config\":[],\"inputs\":[]}],\"edges\":[0,{}]}");
    lint("{\"nodes\":[{\"id\":\"a\",\"inputs\":{\"x\":1,\"y\":{\"type\":\"expression\","
         "\"expression\":\"((\"}}}],\"edges\":[{\"condition\":3}]}");
}

Test(lint, every_registered_type_is_known) {
    struct wopr_error err = {0};
    struct node_registry *r = node_registry_new();
    size_t n = 0;
    cr_assert_eq(nodes_register_core(r, true, &err), 0);
    for (const struct lint_type *t = NODES_LINT; t->type_id != NULL; t++, n++)
        cr_expect_not_null(node_registry_find(r, str_c(t->type_id)), "%s", t->type_id);
    cr_expect_eq(n, node_registry_count(r), "a type without a row");
    node_registry_free(r);
}

Test(inputs, undeclared_ones_are_refused_where_the_workflow_says_so /* EVT-11, RUN-3 */) {
    static const char *const HEAD =
        "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[{\"id\":\"a\",\"typeId\":"
        "\"core.noop\",\"name\":\"n\",\"config\":{},\"inputs\":{}}],\"edges\":[],\"triggers\":[],"
        "\"variables\":[{\"name\":\"amount\",\"type\":\"number\"}],\"metadata\":{},\"settings\":{";
    const struct str inputs = STR("{\"amount\":5,\"amuont\":7}");
    struct arena *a = arena_new(1 << 20);
    for (int strict = 0; strict < 2; strict++) {
        struct wopr_error err = {0};
        struct workflow *w = NULL;
        struct var_inits v;
        struct str text =
            arena_printf(a, "%s%s}}", HEAD, strict != 0 ? "\"strictInputs\":true" : "");
        cr_assert_eq(workflow_compile(text, NULL, &w, &err), 0, "%s", err.message);
        int rc = run_inputs_check(inputs, w, a, &v, &err);
        cr_expect_eq(rc, strict != 0 ? WOPR_E_VALIDATION : 0);
        if (strict != 0)
            cr_expect_str_eq(
                err.details,
                "{\"fields\":[{\"path\":\"inputs.amuont\",\"reason\":\"undeclared\"}]}");
        else cr_expect_eq(v.n, 1u);
        workflow_unref(w);
    }
    arena_free(a);
}
