/* Workflow compiler: fixtures, refusals, graph (WF-1..24, CHAN-1..6, D14). */
#include "base/buf.h"
#include "base/mem.h"
#include "domain/bounds.h"
#include "domain/workflow.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>

static char *slurp(const char *path, struct str *out) {
    struct buf b;
    char block[4096];
    size_t n;
    buf_init(&b, 1 << 22);
    FILE *f = fopen(path, "rb");
    cr_assert(f != NULL, "%s", path);
    while ((n = fread(block, 1, sizeof(block), f)) > 0) buf_add(&b, block, n);
    fclose(f);
    char *p = buf_take(&b, &n);
    *out = str_n(p, n);
    return p;
}

static struct schema_set *set;
static const struct schema *definition(void) {
    static const char *const FILES[] = {"workflow-definition", "agent-ref"};
    const struct schema *s = NULL;
    struct wopr_error err;
    set = schema_set_new(false);
    for (size_t i = 0; i < 2; i++) {
        char path[512], uri[128];
        struct str text;
        snprintf(path, sizeof(path), "%s/api/schemas/%s.schema.json", WOPR_SOURCE_DIR, FILES[i]);
        snprintf(uri, sizeof(uri), "https://openwop.dev/spec/v1/%s.schema.json", FILES[i]);
        char *p = slurp(path, &text);
        cr_assert(schema_set_add(set, str_c(uri), text, &err) == 0, "%s", err.message);
        mem_free(p);
    }
    cr_assert(schema_compile(set,
                             STR("https://openwop.dev/spec/v1/workflow-definition.schema.json"), &s,
                             &err) == 0,
              "%s", err.message);
    return s;
}

Test(workflow, every_fixture_compiles /* FIX-1, FIX-4 */) {
    struct wf_env env = {.definition_schema = definition()};
    char dir[512], path[1024];
    snprintf(dir, sizeof(dir), "%s/conformance/fixtures", WOPR_SOURCE_DIR);
    DIR *d = opendir(dir);
    cr_assert(d != NULL);
    int seen = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strstr(e->d_name, ".json") == NULL) continue;
        struct workflow *w = NULL;
        struct wopr_error err;
        struct str text;
        wopr_error_clear(&err);
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        char *p = slurp(path, &text);
        int rc = workflow_compile(text, &env, &w, &err);
        cr_expect(rc == 0, "%s: %s at %s", e->d_name, err.message, err.pointer);
        if (rc == 0) {
            size_t entries = 0;
            for (size_t i = 0; i < w->nodes_nr; i++) entries += w->nodes[i].is_entry;
            cr_expect(entries == 1, "%s", e->d_name);
            cr_expect(w->nodes[0].is_entry, "%s", e->d_name);
            cr_expect(w->active);
            cr_expect(str_eq(w->text, text));
            cr_expect(strncmp(e->d_name, w->id.p, w->id.n) == 0);
            bool loop = strstr(e->d_name, "dispatch") || strstr(e->d_name, "orchestrator");
            cr_expect(w->has_loop == loop, "%s", e->d_name);
        }
        workflow_unref(w);
        mem_free(p);
        seen++;
    }
    closedir(d);
    schema_set_free(set);
    cr_assert(seen == 43, "%d", seen);
}

/* A definition from parts; NULL takes the default. */
struct parts {
    const char *id, *nodes, *edges, *triggers, *variables, *settings, *more;
};
#define NODE(id)                                                                                   \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"   \
    "\"config\":{},\"inputs\":{}}"
#define NODE_WITH(id, more)                                                                        \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"   \
    "\"config\":{}," more "}"
#define EDGE(id, from, to)                                                                         \
    "{\"id\":\"" id "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to "\"}"
#define EDGE_WITH(id, from, to, more)                                                              \
    "{\"id\":\"" id "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to "\"," more "}"

static int build(const struct parts *p, const struct wf_env *env, struct workflow **w,
                 struct wopr_error *err) {
    struct buf b;
    struct wopr_error e;
    buf_init(&b, 1 << 20);
    buf_addf(&b,
             "{\"id\":\"%s\",\"name\":\"t\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s],"
             "\"triggers\":[%s],\"variables\":[%s],\"metadata\":{},\"settings\":{%s}%s}",
             p->id ? p->id : "t", p->nodes ? p->nodes : NODE("a") "," NODE("b"),
             p->edges ? p->edges : "", p->triggers ? p->triggers : "",
             p->variables ? p->variables : "", p->settings ? p->settings : "",
             p->more ? p->more : "");
    wopr_error_clear(&e);
    cr_assert(json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, &e) == 0, "%s: %s", b.p, e.message);
    int rc = workflow_compile(buf_str(&b), env, w, err);
    buf_fini(&b);
    return rc;
}

#define COND(text) EDGE_WITH("e", "a", "b", "\"condition\":" text)
#define PORT(text) NODE_WITH("a", "\"inputs\":{\"p\":" text "}")
#define CHAN(text) ",\"channels\":{\"c\":" text "}"
#define TRIG(text) "{\"id\":\"t\",\"type\":\"channel-write\"" text "}"

#define TYPED_AS(id, type, config, inputs)                                                         \
    "{\"id\":\"" id "\",\"typeId\":\"" type                                                        \
    "\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{" config "},\"inputs\":{" inputs \
    "}}"
#define TYPED(type, config, inputs) TYPED_AS("a", type, config, inputs)
static const struct {
    struct parts p;
    const char *pointer;
    bool schema_free; /* also without the definition schema, at the same place */
} REFUSALS[] = {
    {{.id = "no space"}, "/id", true},
    {{.nodes = ""}, "/nodes", true},
    {{.nodes = NODE("a b")}, "/nodes/0/id", true}, /* D14 */
    {{.nodes = NODE("a") "," NODE("a")}, "/nodes/1/id", true},
    {{.nodes = "{\"id\":\"a\",\"typeId\":\"Core.x\",\"name\":\"n\",\"position\":{\"x\":0,"
               "\"y\":0},\"config\":{},\"inputs\":{}}"},
     "/nodes/0/typeId",
     true}, /* NODE-2 */
    {{.nodes = NODE_WITH("a", "\"inputs\":{},\"settings\":{\"maxRetries\":-1}")},
     "/nodes/0/settings/maxRetries",
     true},
    {{.nodes = NODE_WITH("a", "\"inputs\":{},\"settings\":{\"timeoutMs\":\"1\"}")},
     "/nodes/0/settings/timeoutMs",
     true},
    {{.edges = EDGE("e", "a", "b") "," EDGE("e", "a", "b")}, "/edges/1/id", true},
    {{.edges = EDGE("e", "x", "b")}, "/edges/0/sourceNodeId", true},
    {{.edges = EDGE("e", "a", "x")}, "/edges/0/targetNodeId", true},
    {{.edges = EDGE_WITH("e", "a", "b", "\"triggerRule\":\"some\"")}, "/edges/0/triggerRule", true},
    {{.edges = COND("{\"type\":\"regex\",\"left\":\"status\",\"right\":\"(\"}")},
     "/edges/0/condition/right",
     true},
    {{.edges = COND("{\"type\":\"regex\",\"left\":\"status\",\"right\":1}")},
     "/edges/0/condition/right",
     true},
    {{.edges = COND("{\"type\":\"equals\",\"right\":1}")}, "/edges/0/condition/left", true},
    {{.edges = COND("{\"type\":\"expression\"}")}, "/edges/0/condition/expression", true},
    {{.edges = COND("{\"expression\":\"1 +\"}")}, "/edges/0/condition/expression", true},
    {{.edges = COND("{\"expression\":\"matches(status,'(')\"}")},
     "/edges/0/condition/expression",
     true},
    {{.nodes = PORT("{\"type\":\"connection\",\"nodeId\":\"x\",\"outputKey\":\"k\"}")},
     "/nodes/0/inputs/p/nodeId",
     true},
    {{.nodes = PORT("{\"type\":\"variable\",\"variableName\":\"x\"}")},
     "/nodes/0/inputs/p/variableName",
     true},
    {{.nodes = PORT("{\"type\":\"expression\",\"expression\":\"(\"}")},
     "/nodes/0/inputs/p/expression",
     true},
    {{.nodes = PORT("{\"type\":\"static\"}")}, "/nodes/0/inputs/p/value", false},
    {{.variables = "{\"name\":\"v\",\"type\":\"integer\"}"}, "/variables/0/type", true},
    {{.variables = "{\"name\":\"v\",\"type\":\"string\"},{\"name\":\"v\",\"type\":\"string\"}"},
     "/variables/1/name",
     true},
    {{.variables = "{\"name\":\"v\",\"type\":\"string\",\"defaultValue\":1}"},
     "/variables/0/defaultValue",
     true},
    {{.settings = "\"maxLoopbackIterations\":0"}, "/settings/maxLoopbackIterations", true},
    {{.settings = "\"timeout\":-1"}, "/settings/timeout", true},
    {{.triggers = "{\"id\":\"t\",\"type\":\"manual\"},{\"id\":\"t\",\"type\":\"manual\"}"},
     "/triggers/1/id",
     true},
    {{.triggers = "{\"id\":\"t\",\"type\":\"full-moon\"}"}, "/triggers/0/type", true},
    {{.triggers = TRIG(",\"nodeId\":\"a\",\"config\":{\"channel\":\"c\"}")},
     "/triggers/0/config/channel",
     true}, /* CHAN-20 */
    {{.triggers = TRIG(",\"nodeId\":\"x\",\"config\":{\"channel\":\"c\"}"),
      .more = CHAN("{\"reducer\":\"append\"}")},
     "/triggers/0/nodeId",
     true},
    {{.triggers = TRIG(",\"nodeId\":\"a\",\"config\":{\"channel\":\"c\",\"debounceMs\":60001}"),
      .more = CHAN("{\"reducer\":\"append\"}")},
     "/triggers/0/config/debounceMs",
     true},
    {{.more = CHAN("{\"reducer\":\"sum\"}")}, "/channels/c/reducer", true},
    {{.more = CHAN("{\"reducer\":\"vendor.x\"}")}, "/channels/c/reducer", true},
    {{.more = CHAN("{\"reducer\":\"append\",\"maxSize\":0}")}, "/channels/c/maxSize", true},
    {{.more = CHAN("{\"reducer\":\"append\",\"ttlMs\":31536000001}")}, "/channels/c/ttlMs", true},
    {{.more = CHAN("{\"reducer\":\"append\",\"schema\":{\"type\":\"nothing\"}}")},
     "/channels/c/schema",
     true},
    {{.more = CHAN("{\"reducer\":\"append\",\"access\":\"secret\"}")}, "/channels/c/access", true},
    {{.more = CHAN("{\"reducer\":\"append\",\"access\":{\"readers\":[\"*a\"]}}")},
     "/channels/c/access/readers",
     false}, /* CHAN-5 */
    {{.more = ",\"configurableSchema\":{\"properties\":{\"topic\":{}}}"},
     "/configurableSchema/properties/topic",
     true}, /* OPT-5 */
    {{.more = ",\"configurableSchema\":{\"type\":7}"}, "/configurableSchema", true},
    {{.more = ",\"configurableSchema\":{\"$ref\":\"https://example.org/x\"}"},
     "/configurableSchema",
     true},
    {{.nodes = "{\"id\":\"a\",\"typeId\":\"core.dispatch\",\"name\":\"n\",\"position\":{\"x\":0,"
               "\"y\":0},\"config\":{},\"inputs\":{}}"},
     "/nodes/0/typeId",
     true}, /* DISP-3 */
    {{.nodes = NODE_WITH("a", "\"inputs\":{},\"settings\":{\"retryDelayMs\":31536000001}")},
     "/nodes/0/settings/retryDelayMs",
     true}, /* the log takes a year */
    /* INT-27: what callers say */
    {{.variables = "{\"name\":\"_approvalVotes:a\",\"type\":\"array\"}"},
     "/variables/0/name",
     true},
    {{.more = ",\"channels\":{\"_askExchanges:a\":{\"reducer\":\"append\"}}"},
     "/channels/_askExchanges:a",
     true},
    {{.nodes = TYPED("core.setVariable", "\"name\":\"_clarificationAnswers:a\",\"value\":1", "")},
     "/nodes/0/config/name",
     true},
    {{.nodes = TYPED("core.channelWrite", "\"channelName\":\"_approvalVotes:a\"", "")},
     "/nodes/0/config/channelName",
     true},
    {{.nodes = TYPED("core.channelWrite", "",
                     "\"channelName\":{\"type\":\"static\",\"value\":\"_approvalVotes:a\"}")},
     "/nodes/0/config/channelName",
     true},
    {{.nodes = TYPED("core.subWorkflow", "\"outputMapping\":{\"_approvalVotes:a\":\"v\"}", "")},
     "/nodes/0/config/outputMapping/_approvalVotes:a",
     true},
    /* CHAN-28: one name, one value */
    {{.nodes = TYPED("core.channelWrite", "\"channelName\":\"v\"", ""),
      .variables = "{\"name\":\"v\",\"type\":\"array\"}"},
     "/nodes/0/config/channelName",
     true},
    {{.nodes = TYPED("core.channelWrite", "\"channelName\":\"v\"",
                     "") "," TYPED_AS("b", "core.setVariable", "\"name\":\"v\"", "")},
     "/nodes/1/config/name",
     true},
};

Test(workflow, refuses_with_a_pointer /* WF-3 */) {
    struct wf_env with = {.definition_schema = definition()}, without = {0};
    for (size_t i = 0; i < sizeof(REFUSALS) / sizeof(REFUSALS[0]); i++) {
        for (int k = 0; k < 2; k++) {
            struct workflow *w = NULL;
            struct wopr_error err;
            wopr_error_clear(&err);
            int rc = build(&REFUSALS[i].p, k ? &without : &with, &w, &err);
            cr_expect(rc == WOPR_E_VALIDATION, "row %zu (%s): %d", i, REFUSALS[i].pointer, rc);
            cr_expect(w == NULL);
            cr_expect(err.message[0] != '\0');
            if (k == 1 && REFUSALS[i].schema_free)
                cr_expect(strcmp(err.pointer, REFUSALS[i].pointer) == 0, "row %zu: %s, not %s (%s)",
                          i, err.pointer, REFUSALS[i].pointer, err.message);
        }
    }
    schema_set_free(set);
}

Test(workflow, the_closed_schema_is_applied) {
    struct wf_env env = {.definition_schema = definition()};
    struct workflow *w = NULL;
    struct wopr_error err;
    cr_expect(build(&(struct parts){.more = ",\"colour\":1"}, &env, &w, &err) == WOPR_E_VALIDATION);
    /* 30-nodes X-23: these two travel along and are no part of the schema */
    cr_expect(build(&(struct parts){.more = ",\"packs\":{},\"engines\":{}"}, &env, &w, &err) == 0);
    workflow_unref(w);
    schema_set_free(set);
}

Test(workflow, ttl_zero_is_none_and_ignored_where_nothing_ages /* CHAN-2, CHAN-3 */) {
    struct wf_env env = {.definition_schema = definition()};
    struct workflow *w = NULL;
    struct wopr_error err;
    wopr_error_clear(&err);
    struct parts p = {.more = ",\"channels\":{\"a\":{\"reducer\":\"append\",\"ttlMs\":0},"
                              "\"b\":{\"reducer\":\"replace\",\"ttlMs\":5},"
                              "\"c/~\":{\"reducer\":\"message\",\"ttlMs\":7,\"maxSize\":3,"
                              "\"schema\":{\"type\":\"array\"},\"schemaVersion\":4,"
                              "\"sensitive\":true,\"access\":{\"writers\":[\"core.ai.*\",\"a\"]}},"
                              "\"v\":{\"reducer\":\"vendor.acme.top-n\"}}"};
    cr_assert(build(&p, &env, &w, &err) == 0, "%s %s", err.pointer, err.message);
    cr_expect(w->channel_aware);
    cr_expect(w->channels_nr == 4);
    cr_expect(workflow_channel(w, STR("a"))->ttl_ms == 0);
    cr_expect(workflow_channel(w, STR("b"))->ttl_ms == 0);
    const struct wf_channel *c = workflow_channel(w, STR("c/~"));
    cr_assert(c != NULL);
    cr_expect(c->ttl_ms == 7 && c->max_size == 3 && c->schema_version == 4 && c->sensitive);
    cr_expect(c->schema != NULL && c->schema_is_array);
    cr_expect(c->reducer == RED_MESSAGE && strcmp(reducer_name(c->reducer), "message") == 0);
    cr_expect(workflow_channel(w, STR("v"))->reducer == RED_VENDOR);
    cr_expect(workflow_channel(w, STR("x")) == NULL);
    workflow_unref(w);
    schema_set_free(set);
}

static bool knows_noop(void *ctx, struct str type) {
    ++*(int *)ctx;
    return str_eqc(type, "core.noop");
}

Test(workflow, unknown_types_are_refused_when_the_host_can_tell /* NODE-3 */) {
    int asked = 0;
    struct wf_env env = {.knows_type = knows_noop, .ctx = &asked};
    struct workflow *w = NULL;
    struct wopr_error err;
    cr_expect(build(&(struct parts){0}, &env, &w, &err) == 0);
    cr_expect(asked == 2);
    workflow_unref(w);
    struct parts p = {.nodes = "{\"id\":\"a\",\"typeId\":\"core.nope\",\"name\":\"n\"}"};
    cr_expect(build(&p, &env, &w, &err) == WOPR_E_VALIDATION);
    cr_expect_str_eq(err.pointer, "/nodes/0/typeId");
}

static struct workflow *ok(const struct parts *p) {
    struct workflow *w = NULL;
    struct wopr_error err;
    wopr_error_clear(&err);
    cr_assert(build(p, NULL, &w, &err) == 0, "%s %s", err.pointer, err.message);
    return w;
}

/* A part of a sensitive default stands in the definition, and is none of its words. */
Test(workflow, sensitive_defaults_say_no_words /* OBS-71 */) {
    struct workflow *w =
        ok(&(struct parts){.variables = "{\"name\":\"v\",\"type\":\"object\",\"sensitive\":true,"
                                        "\"defaultValue\":{\"apiKey\":[\"k-93f1c2a7b\"]}},"
                                        "{\"name\":\"u\",\"type\":\"string\",\"defaultValue\":"
                                        "\"said-aloud\"}"});
    cr_expect(!workflow_says(w, STR("k-93f1c2a7b")));
    cr_expect(workflow_says(w, STR("said-aloud")));
    workflow_unref(w);
}

Test(workflow, loopbacks_and_entries /* WF-11, NODE-14 */) {
    static const struct {
        const char *nodes, *edges, *entries, *loops; /* ids, one letter each */
    } T[] = {
        {"ab", "ab", "a", ""},
        {"ab", "ab ba", "a", "ba"}, /* pure cycle: the first node */
        {"ba", "ab ba", "b", "ab"},
        {"abc", "ab bc cb", "a", "cb"},     /* entry before the loop */
        {"bcax", "xa ab bc ca", "x", "ca"}, /* order of nodes[] does not hide the entry */
        {"a", "aa", "a", "aa"},             /* self loop */
        {"abcd", "ab ac bd cd", "a", ""},   /* diamond: no loop */
        {"abcd", "ab bc ca cd", "a", "ca"},
        {"abcd", "ab ba cd dc", "ac", "ba dc"},
        {"abc", "ac bc", "ab", ""},
    };
    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        struct buf nodes, edges;
        buf_init(&nodes, 1 << 16);
        buf_init(&edges, 1 << 16);
        for (const char *n = T[i].nodes; *n; n++)
            buf_addf(&nodes, "%s{\"id\":\"%c\",\"typeId\":\"core.noop\",\"name\":\"n\"}",
                     nodes.len ? "," : "", *n);
        for (const char *e = T[i].edges; *e; e += e[2] ? 3 : 2)
            buf_addf(&edges, "%s{\"id\":\"%c%c\",\"sourceNodeId\":\"%c\",\"targetNodeId\":\"%c\"}",
                     edges.len ? "," : "", e[0], e[1], e[0], e[1]);
        struct workflow *w = ok(&(struct parts){.nodes = nodes.p, .edges = edges.p});
        for (size_t k = 0; k < w->nodes_nr; k++)
            cr_expect(w->nodes[k].is_entry == (strchr(T[i].entries, w->nodes[k].id.p[0]) != NULL),
                      "row %zu node %c", i, w->nodes[k].id.p[0]);
        for (size_t k = 0; k < w->edges_nr; k++)
            cr_expect(w->edges[k].loopback == (strstr(T[i].loops, w->edges[k].id.p) != NULL),
                      "row %zu edge %s", i, w->edges[k].id.p);
        cr_expect(w->has_loop == (T[i].loops[0] != '\0'));
        workflow_unref(w);
        buf_fini(&nodes);
        buf_fini(&edges);
    }
}

Test(workflow, settings_and_defaults /* WF-12, WF-22, WF-24 */) {
    struct workflow *w = ok(&(struct parts){0});
    cr_expect(w->max_loopback == 5 && !w->max_loopback_explicit && w->timeout_ms == 0);
    cr_expect(w->nodes[0].max_retries == 0 && w->nodes[0].retry_delay_ms == -1);
    cr_expect(str_eqc(w->nodes[0].config, "{}") && w->nodes[0].settings.n == 0);
    workflow_unref(w);
    w = ok(&(struct parts){
        .settings = "\"maxRetries\":2,\"timeout\":9,\"maxLoopbackIterations\":3",
        .nodes = NODE("a") "," NODE_WITH("b", "\"inputs\":{},\"disabled\":true,\"settings\":"
                                              "{\"maxRetries\":7,\"retryDelayMs\":0,"
                                              "\"timeoutMs\":4},\"outputSensitivity\":"
                                              "{\"x\":true,\"y\":false}"),
        .edges = EDGE("e", "a", "b"),
        .more = ",\"status\":\"draft\""});
    cr_expect(w->max_loopback == 3 && w->max_loopback_explicit && w->timeout_ms == 9);
    cr_expect(w->nodes[0].max_retries == 2 && w->nodes[1].max_retries == 7);
    cr_expect(w->nodes[1].retry_delay_ms == 0 && w->nodes[1].timeout_ms == 4);
    cr_expect(w->nodes[1].disabled && w->nodes[1].sensitive_nr == 1);
    cr_expect(!w->active); /* WF-3 */
    cr_expect(str_eqc(w->edges[0].source_output, "output"));
    cr_expect(str_eqc(w->edges[0].target_input, "input"));
    cr_expect(w->edges[0].rule == RULE_ALL_SUCCESS && w->edges[0].cond.kind == COND_NONE);
    workflow_unref(w);
    w = ok(&(struct parts){.more = ",\"isActive\":false"});
    cr_expect(!w->active);
    workflow_unref(w);
}

Test(workflow, conditions_without_a_type /* WF-9 */) {
    struct workflow *w = ok(&(struct parts){.edges = COND("{\"expression\":\"1 == 1\"}")});
    cr_expect(w->edges[0].cond.kind == COND_EXPRESSION);
    workflow_unref(w);
    w = ok(&(struct parts){.edges = COND("{\"left\":\"status\",\"right\":\"x\"}")});
    cr_expect(w->edges[0].cond.kind == COND_EQUALS);
    workflow_unref(w);
    w = ok(&(struct parts){.edges = COND("{}")});
    cr_expect(w->edges[0].cond.kind == COND_NONE);
    workflow_unref(w);
    w = ok(&(struct parts){
        .edges = COND("{\"type\":\"regex\",\"left\":\"status\",\"right\":\"^com\"}")});
    cr_expect(w->edges[0].cond.kind == COND_REGEX && w->edges[0].cond.rx != NULL);
    workflow_unref(w);
}

Test(workflow, the_hash_is_of_the_content_not_of_the_spelling) {
    struct workflow *w1 = NULL, *w2 = NULL, *w3 = NULL;
    cr_assert(
        workflow_compile(STR("{\"id\":\"t\",\"name\":\"x\",\"version\":\"1\",\"nodes\":[{\"id\":"
                             "\"a\",\"name\":\"n\",\"typeId\":\"core.noop\"}]}"),
                         NULL, &w1, NULL) == 0);
    cr_assert(
        workflow_compile(STR(" {\"name\":\"x\", \"id\":\"t\",\"version\":\"1\",\"nodes\":[{\"id\":"
                             "\"a\",\"typeId\":\"core.noop\",\"name\":\"n\"}] }"),
                         NULL, &w2, NULL) == 0);
    cr_assert(
        workflow_compile(STR("{\"id\":\"t\",\"name\":\"x\",\"version\":\"2\",\"nodes\":[{\"id\":"
                             "\"a\",\"name\":\"n\",\"typeId\":\"core.noop\"}]}"),
                         NULL, &w3, NULL) == 0);
    cr_expect(sha256_eq(&w1->hash, &w2->hash));
    cr_expect(!sha256_eq(&w1->hash, &w3->hash));
    cr_expect(workflow_ref(w1) == w1);
    workflow_unref(w1);
    cr_expect(workflow_node_index(w1, STR("a")) == 0);
    cr_expect(workflow_node_index(w1, STR("b")) == -1);
    workflow_unref(w1);
    workflow_unref(w2);
    workflow_unref(w3);
    workflow_unref(NULL);
}

Test(workflow, too_much_is_refused) {
    struct buf b;
    struct workflow *w = NULL;
    buf_init(&b, 4 << 20);
    buf_addz(&b, "{\"id\":\"");
    for (size_t i = 0; i < (1 << 20); i++) buf_addc(&b, 'a');
    buf_addz(&b, "\"}");
    cr_expect(workflow_compile(buf_str(&b), NULL, &w, NULL) == WOPR_E_TOO_BIG);
    buf_fini(&b);
}

Test(workflow, a_long_chain_needs_no_stack) {
    struct buf nodes, edges;
    buf_init(&nodes, 1 << 20);
    buf_init(&edges, 1 << 20);
    for (int i = 0; i < 4000; i++) {
        buf_addf(&nodes, "%s{\"id\":\"n%d\",\"typeId\":\"core.noop\",\"name\":\"n\"}", i ? "," : "",
                 i);
        buf_addf(&edges, "%s{\"id\":\"e%d\",\"sourceNodeId\":\"n%d\",\"targetNodeId\":\"n%d\"}",
                 i ? "," : "", i, i, (i + 1) % 4000);
    }
    struct workflow *w = ok(&(struct parts){.nodes = nodes.p, .edges = edges.p});
    cr_expect(w->nodes[0].is_entry && !w->nodes[1].is_entry);
    cr_expect(w->edges[3999].loopback && !w->edges[3998].loopback);
    workflow_unref(w);
    buf_fini(&nodes);
    buf_fini(&edges);
}

/* NODE-16, memory: every allocation of the compiler may fail; nothing leaks and nothing half-built
 * escapes. */
#include "base/fault.h"
Test(workflow, compiles_or_answers_when_memory_is_short) {
    struct parts p = {.edges = COND("{\"expression\":\"matches(status,'x')\"}"),
                      .more = CHAN("{\"reducer\":\"append\",\"schema\":{\"type\":\"object\"}}")};
    struct workflow *w;
    struct wopr_error err;
    w = ok(&p);
    struct str text = w->text;
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        struct workflow *again = NULL;
        int rc = workflow_compile(text, NULL, &again, &err);
        bool fired = fault_fired();
        fault_disarm();
        if (rc == 0) workflow_unref(again);
        cr_assert(rc == 0 || (again == NULL && rc == WOPR_E_NO_MEMORY), "call %u: %d %s", nth, rc,
                  err.message);
        if (!fired) break;
        cr_assert(nth < 20000);
    }
    workflow_unref(w);
}

/* --- bounds --- */

static void one_too_many(const char *member, size_t max, bool object) {
    struct workflow *w = NULL;
    struct wopr_error err;
    struct buf b;
    char want[32];
    wopr_error_clear(&err);
    buf_init(&b, 4u << 20);
    buf_addf(&b,
             "{\"id\":\"t\",\"name\":\"x\",\"version\":\"1\",\"nodes\":[" NODE(
                 "a") "],\"edges\":[],\"triggers\":[],\"settings\":{},\"metadata\":{},\"%s\":%s",
             member, object ? "{" : "[");
    for (size_t i = 0; i <= max; i++)
        buf_addf(&b,
                 object ? "%s\"c%zu\":{\"reducer\":\"append\"}"
                        : "%s{\"name\":\"v%zu\",\"type\":\"number\"}",
                 i ? "," : "", i);
    buf_addz(&b, object ? "},\"variables\":[]}" : "]}");
    cr_assert(!buf_failed(&b));
    cr_expect_eq(workflow_compile(buf_str(&b), NULL, &w, &err), WOPR_E_VALIDATION);
    cr_expect(strstr(err.pointer, member) != NULL, "%s", err.pointer);
    snprintf(want, sizeof want, "may have %zu", max);
    cr_expect(strstr(err.message, want) != NULL, "%s", err.message);
    buf_fini(&b);
}

Test(workflow, too_many_channels_are_named /* WF-3 */) {
    one_too_many("channels", WF_CHANS_MAX, true);
    one_too_many("variables", WF_VARS_MAX, false);
}
