/* test_lint.c: everything that will not do what its author means is found at once, with its place
 * and the remedy; what works is left alone. */
#include "base/clock.h"
#include "codec/json.h"
#include "domain/lint.h"
#include "domain/options.h"
#include "nodes/nodes.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct lint_finding found[64];
static char nearest[64][64];
static size_t found_nr;

static void keep(void *ctx, const struct lint_finding *f) {
    (void)ctx;
    if (found_nr >= 64) return;
    (void)snprintf(nearest[found_nr], sizeof nearest[0], "%.*s", (int)f->nearest.n, f->nearest.p);
    found[found_nr++] = *f;
}

static bool is_stored(void *ctx, struct str id) {
    (void)ctx;
    return str_eqc(id, "stored");
}

static void lint(const char *text) {
    struct wopr_error err = {0};
    struct node_registry *r = node_registry_new();
    struct node_catalog *c = NULL;
    cr_assert_eq(nodes_register_core(r, true, &err), 0);
    cr_assert_eq(node_catalog_new(r, &c, &err), 0, "%s", err.message);
    struct wf_types types = node_catalog_types(c);
    types.workflow = is_stored;
    found_nr = 0;
    cr_assert_eq(json_check(str_c(text), &JSON_LIMITS_STORED, &err), 0, "%s", err.message);
    cr_assert_eq(workflow_lint(str_c(text), &types, keep, NULL, &err), 0, "%s", err.message);
    node_catalog_free(c);
    node_registry_free(r);
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
#define TWO(x, y)           x "," y
#define FIVE(v, w, x, y, z) v "," w "," x "," y "," z
#define EMPTY               "\"config\":{},\"inputs\":{}"

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
    expect(true, "/nodes/1/config/dealyMs",
           "\"dealyMs\" means nothing here; did you mean delayMs?");
    expect(false, "/nodes/1/config/colour", "\"colour\" means nothing here");
    expect(true, "/nodes/1/settings/maxRetry", "did you mean maxRetries?");
    expect(true, "/edges/0/targetNodeId", "there is no node \"bb\"; did you mean");
    expect(true, "/edges/0/triggerRule", "must be one of: all_success, any_success");
    expect(true, "/edges/0/condition/type", "did you mean expression?");
    expect(true, "/edges/0/condition/expression", "\"amuont\" is neither declared");
    expect(false, "/edges/0/condition/expression", "\"other\" is neither declared");
    expect(true, "/variables/0/type", "must be one of: string, number, boolean, object, array");
    expect(true, "/settings/timeuot", "did you mean timeout?");
    expect(true, "/nodes/1/settings/timout", "did you mean timeoutMs?");
}

Test(lint, families_of_the_protocol_and_of_this_host_are_nobody_elses /* WRK-4 */) {
    static const struct {
        const char *type_id;
        bool others;
    } ROWS[] = {{"acme.price", true},
                {"vendor.acme.price", true},
                {"corelib.sort", true},
                {"core.unheardOf", false},
                {"openwop.unheardOf", false},
                {"vendor.wopr.htpp", false},
                {"Acme", false},
                {"", false}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        cr_expect_eq(wf_type_of_others(str_c(ROWS[i].type_id)), ROWS[i].others, "%s",
                     ROWS[i].type_id);
}

Test(lint, what_a_node_needs_may_come_from_an_input) {
    lint(WORKFLOW(NODE("a", "core.setVariable", "\"config\":{\"value\":1},\"inputs\":{}"), "", "",
                  ""));
    expect(true, "/nodes/0/config", "\"name\" is needed here or as an input");
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

Test(lint, a_cycle_that_nothing_ends_cannot_work) {
    lint(WORKFLOW(NODE("a", "core.noop", EMPTY) "," NODE("b", "core.noop", EMPTY),
                  "{\"id\":\"1\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"b\"},"
                  "{\"id\":\"2\",\"sourceNodeId\":\"b\",\"targetNodeId\":\"a\"}",
                  "", ""));
    expect(true, "/edges/0", "a cycle that no condition ends");
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

/* Each type has a description, and its example is one that works (types.json, "wopr nodes"). */
Test(lint, the_example_of_every_type_has_no_findings) {
    struct wopr_error err = {0};
    struct node_registry *r = node_registry_new();
    struct node_catalog *c = NULL;
    struct arena *a = arena_new(1 << 20);
    struct str id;
    size_t n = 0;
    cr_assert_eq(nodes_register_core(r, true, &err), 0);
    cr_assert_eq(node_catalog_new(r, &c, &err), 0, "%s", err.message);
    struct wf_types types = node_catalog_types(c);
    for (; types.name(types.ctx, n, a, &id); n++) {
        struct wf_type t;
        cr_assert(types.find(types.ctx, id, a, &t));
        cr_expect(t.summary.n > 0 && t.example.n > 0,
                  "%.*s is not described: its row of src/nodes/types.json", (int)id.n, id.p);
        struct str config = json_get(t.example, "config"), inputs = json_get(t.example, "inputs");
        struct str text = arena_printf(
            a,
            WORKFLOW(NODE("n", "%.*s", "\"config\":%.*s,\"inputs\":%.*s"), "",
                     "{\"name\":\"amount\",\"type\":\"number\"},{\"name\":\"customer\",\"type\":"
                     "\"string\"}",
                     ""),
            (int)id.n, id.p, (int)config.n, config.p, (int)inputs.n, inputs.p);
        lint(text.p);
        for (size_t i = 0; i < found_nr; i++)
            cr_expect(strstr(found[i].text, "is stored yet") != NULL, "%.*s: %s %s", (int)id.n,
                      id.p, found[i].pointer, found[i].text);
    }
    cr_expect_eq(n, node_registry_count(r), "a type without a row");
    arena_free(a);
    node_catalog_free(c);
    node_registry_free(r);
}

Test(lint, a_finding_has_value_choices_and_what_was_meant) {
    lint(WORKFLOW(NODE("a", "vendor.wopr.log",
                       "\"config\":{\"message\":\"m\",\"level\":\"wran\"},\"inputs\":{}"),
                  "", "", ""));
    cr_assert_eq(found_nr, 1u);
    cr_expect_str_eq(found[0].pointer, "/nodes/0/config/level");
    cr_expect_str_eq(nearest[0], "warn");
    cr_expect_eq(found[0].choices_nr, 4u);
    cr_expect_eq(found[0].value.n, strlen("\"wran\""));
}

Test(lint, configuration_is_judged_by_the_row_of_its_type) {
    lint(WORKFLOW(
        FIVE(NODE("a", "core.delay",
                  "\"config\":{\"delayMs\":-4},\"inputs\":{\"ms\":{\"type\":\"static\","
                  "\"value\":\"x\"},\"dlayMs\":{\"type\":\"static\",\"value\":1}}"),
             NODE("b", "core.loop", EMPTY),
             NODE("c", "core.interrupt",
                  "\"config\":{\"kind\":\"external-event\",\"data\":{\"eventTyp\":\"x\"}},"
                  "\"inputs\":{}"),
             NODE("d", "core.clarificationGate",
                  "\"config\":{\"questions\":[{\"id\":\"q\"}]},\"inputs\":{}"),
             NODE("e", "core.subWorkflow",
                  "\"config\":{\"workflowId\":\"nowhere\",\"inputMapping\":{\"x\":\"amuont\"}},"
                  "\"inputs\":{\"any\":{\"type\":\"static\",\"value\":1}}")),
        "", "{\"name\":\"amount\",\"type\":\"number\"}", ""));
    expect(true, "/nodes/0/config/delayMs", "must be at least 0");
    expect(true, "/nodes/0/inputs/ms/value", "must be a number");
    expect(true, "/nodes/0/inputs/dlayMs", "did you mean delayMs?");
    expect(true, "/nodes/1/config", "\"items\" or \"maxIterations\" is needed here or as an input");
    expect(true, "/nodes/2/config/data", "\"correlation\" is needed here");
    expect(true, "/nodes/2/config/data/eventTyp", "did you mean eventType?");
    expect(true, "/nodes/3/config/questions/0", "\"question\" is needed here");
    expect(true, "/nodes/4/config/inputMapping/x", "did you mean amount?");
    expect(false, "/nodes/4/config/workflowId", "is stored yet");
}

Test(lint, paths_that_read_nothing_are_named) {
    lint(WORKFLOW(
        TWO(NODE("a", "core.identity",
                 "\"config\":{},\"inputs\":{\"x\":{\"type\":\"expression\",\"expression\":"
                 "\"output.y + amount + inputs.amuont + channels.votes\"},\"y\":{\"type\":"
                 "\"connection\",\"nodeId\":\"b\",\"outputKey\":\"itme\"}}"),
            NODE("b", "core.loop", "\"config\":{\"maxIterations\":2},\"inputs\":{}")),
        "{\"id\":\"e\",\"sourceNodeId\":\"b\",\"targetNodeId\":\"a\",\"condition\":{\"type\":"
        "\"equals\",\"left\":\"ouput.done\",\"right\":true}},"
        "{\"id\":\"f\",\"sourceNodeId\":\"b\",\"targetNodeId\":\"a\",\"condition\":{\"type\":"
        "\"equals\",\"left\":\"status\",\"right\":\"complete\"}}",
        "{\"name\":\"amount\",\"type\":\"number\"}", ""));
    expect(true, "/nodes/0/inputs/x/expression", "\"output\" is of the node before");
    expect(true, "/nodes/0/inputs/x/expression", "the variable is variables.amount");
    expect(true, "/nodes/0/inputs/x/expression", "no variable \"amuont\" is declared");
    expect(false, "/nodes/0/inputs/x/expression", "\"votes\" is not declared under channels");
    expect(true, "/nodes/0/inputs/y/outputKey", "did you mean item?");
    expect(true, "/edges/0/condition/left", "did you mean output?");
    expect(true, "/edges/1/condition/right", "must be one of: completed, failed");
}

Test(lint, conditions_that_read_sensitive_values_are_strange) {
    static const char *const reads[] = {"variables.pin == '1'", "inputs.pin == '1'"};
    for (size_t i = 0; i < 2; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       WORKFLOW(NODE("a", "core.noop", EMPTY) "," NODE("b", "core.noop", EMPTY),
                                "{\"id\":\"e\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"b\","
                                "\"condition\":{\"type\":\"expression\",\"expression\":\"%s\"}}",
                                "{\"name\":\"pin\",\"type\":\"string\",\"sensitive\":true}", ""),
                       reads[i]);
        lint(text);
        expect(false, "/edges/0/condition/expression",
               "is sensitive: a condition reads it as null");
        cr_expect_eq(found_nr, 1u);
    }
}

Test(lint, what_nothing_starts_and_what_waits_for_both_ways_is_named) {
    lint(WORKFLOW(NODE("s", "core.start", EMPTY) "," NODE("a", "core.noop",
                                                          EMPTY) "," NODE("b", "core.noop", EMPTY),
                  "{\"id\":\"1\",\"sourceNodeId\":\"s\",\"targetNodeId\":\"a\"}", "", ""));
    expect(true, "/nodes/2", "it never runs");
    cr_expect_eq(found_nr, 1u);
    lint(WORKFLOW(NODE("s", "core.conditional", EMPTY) "," NODE("a", "core.noop", EMPTY) "," NODE(
                      "b", "core.noop", EMPTY) "," NODE("j", "core.merge", EMPTY),
                  "{\"id\":\"1\",\"sourceNodeId\":\"s\",\"targetNodeId\":\"a\",\"condition\":{"
                  "\"type\":\"expression\",\"expression\":\"inputs.x\"}},"
                  "{\"id\":\"2\",\"sourceNodeId\":\"s\",\"targetNodeId\":\"b\",\"condition\":{"
                  "\"type\":\"expression\",\"expression\":\"!inputs.x\"}},"
                  "{\"id\":\"3\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"j\"},"
                  "{\"id\":\"4\",\"sourceNodeId\":\"b\",\"targetNodeId\":\"j\"}",
                  "{\"name\":\"x\",\"type\":\"boolean\"}", ""));
    expect(false, "/edges/3", "set triggerRule none_failed");
    cr_expect_eq(found_nr, 1u);
}

Test(lint, templates_are_not_filled_here) {
    lint(WORKFLOW(NODE("a", "vendor.wopr.log",
                       "\"config\":{\"message\":\"hello {{inputs.name}}\"},\"inputs\":{}"),
                  "", "", ""));
    expect(false, "/nodes/0/config", "nothing replaces {{...}}");
}

/* Every near name was tried against every node: quadratic in what somebody sends. */
Test(lint, the_cost_is_linear_in_the_definition, .timeout = 300) {
    enum { NODES = 8000 };
    struct buf b;
    buf_init(&b, 16u << 20);
    buf_addz(&b, "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[");
    for (int i = 0; i < NODES; i++)
        buf_addf(&b,
                 "%s{\"id\":\"node_with_a_long_name_so_that_distances_cost_much_%d\",\"typeId\":"
                 "\"core.nope%d\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"
                 "\"inputs\":{\"v\":{\"type\":\"variable\",\"variableName\":\"node_with_a_long_"
                 "nmae_so_that_distances_cost_much_%d\"}}}",
                 i > 0 ? "," : "", i, i, i);
    buf_addz(&b, "],\"edges\":[");
    for (int i = 0; i < NODES; i++)
        buf_addf(&b,
                 "%s{\"id\":\"%d\",\"sourceNodeId\":\"node_with_a_long_nmae_so_that_distances_"
                 "cost_much_%d\",\"targetNodeId\":\"x\"}",
                 i > 0 ? "," : "", i, i);
    buf_addz(&b, "],\"triggers\":[],\"variables\":[],\"metadata\":{},\"settings\":{}}");
    buf_addc(&b, '\0');
    cr_assert(!buf_failed(&b));
    lint(b.p); /* the square took more than its time-out allows */
    cr_expect_eq(found_nr, 64u);
    buf_fini(&b);
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
