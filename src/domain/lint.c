/*
 * lint.c: see lint.h.  The order of checks, the names of a definition, and the checks of it as a
 * whole.
 */
#include "domain/lint.h"

#include "base/embed.h"
#include "domain/lint_int.h"
#include "domain/workflow_int.h"

#define LINT_ARENA_MAX (128u * 1024 * 1024)
#define SCHEMA_FILE    "api/schemas/workflow-definition.schema.json"
/* Settings that the published schema leaves open and this host reads (WF-22,
 * docs/api-extensions.md). */
#define SETTINGS                                                                                   \
    "{\"additionalProperties\":false,\"properties\":{\"timeout\":{},\"maxRetries\":{},"            \
    "\"logLevel\":{},\"maxLoopbackIterations\":{},\"strictInputs\":{\"type\":\"boolean\"}}}"
#define CHANNEL_TRIGGER                                                                            \
    "{\"additionalProperties\":false,\"required\":[\"channel\"],\"properties\":{\"channel\":"      \
    "{\"type\":\"string\"},\"onlyFrom\":{\"enum\":[\"any\",\"child\",\"parent\"]},\"debounceMs\":" \
    "{\"type\":\"integer\",\"minimum\":0,\"maximum\":60000}}}"

/* --- declared names --- */

static struct json_elements elements_of(struct lint *l, struct str top, const char *key) {
    struct json_elements el = {0};
    struct str raw = json_get(top, key);
    if (raw.p != NULL && json_type_of(raw) == JSON_ARRAY &&
        json_elements(raw, l->a, &el, NULL) != 0)
        l->no_memory = true;
    return el;
}

static struct str object_of(struct str raw, const char *key) {
    struct str inner = json_get(raw, key);
    return inner.p != NULL && json_type_of(inner) == JSON_OBJECT ? inner : STR_NONE;
}

/* value: the meaning of the names, l for "nothing more is known". */
static void members_put(struct lint *l, struct map *m, struct str object, bool with_value) {
    struct json_members members;
    if (object.p == NULL || json_type_of(object) != JSON_OBJECT) return;
    if (json_members(object, l->a, &members, NULL) != 0) {
        l->no_memory = true;
        return;
    }
    for (size_t i = 0; i < members.n; i++)
        lint_put(l, m, members.v[i].key, with_value ? (const void *)&members.v[i].raw : l);
}

static void twice_tell(struct lint *l, const char *list, size_t i, const char *key, struct str id) {
    size_t mark = lint_at(l, list, i);
    lint_tell(l, true, key, NULL, "\"%.*s\" is used twice", LINT_SHOWN(id));
    lint_leave(l, mark);
}

/* The names a node writes; computed names are unknown. */
static void written_collect(struct lint *l, const struct lint_node *n) {
    struct str name = STR_NONE;
    if (n->traits & NODE_IS_DECLARING) {
        name = lint_text(l, n->config, "name");
        if (name.p == NULL) /* a static input */
            name = lint_text(l, json_get(n->inputs, "name"), "value");
    }
    if (name.p != NULL && map_get(l->vars, name) == NULL) lint_put(l, l->vars, name, l);
    name = lint_text(l, n->config, "channelName");
    if (name.p != NULL && map_get(l->channels, name) == NULL) lint_put(l, l->vars, name, l);
    if (n->traits & NODE_IS_PARENT) {
        struct json_members m;
        struct str mapping = object_of(n->config, "outputMapping");
        if (mapping.p == NULL || json_members(mapping, l->a, &m, NULL) != 0) return;
        for (size_t i = 0; i < m.n; i++)
            if (map_get(l->vars, m.v[i].key) == NULL) lint_put(l, l->vars, m.v[i].key, l);
    }
}

static void nodes_collect(struct lint *l, struct str top) {
    struct json_elements el = elements_of(l, top, "nodes");
    l->node_list = ARENA_ARRAY(l->a, struct lint_node, el.n);
    if (l->node_list == NULL) return;
    l->nodes_nr = el.n;
    for (size_t i = 0; i < el.n; i++) {
        struct lint_node *n = &l->node_list[i];
        *n = (struct lint_node){.raw = el.v[i],
                                .id = lint_text(l, el.v[i], "id"),
                                .type_id = lint_text(l, el.v[i], "typeId"),
                                .config = object_of(el.v[i], "config"),
                                .inputs = object_of(el.v[i], "inputs")};
        n->traits = node_traits(n->type_id);
        if (n->id.p != NULL && map_get(l->nodes, n->id) != NULL)
            twice_tell(l, "nodes", i, "id", n->id);
        lint_put(l, l->nodes, n->id, n);
        written_collect(l, n);
    }
}

static int node_index(struct lint *l, struct str id) {
    const struct lint_node *n = id.p != NULL ? map_get(l->nodes, id) : NULL;
    return n != NULL ? (int)(n - l->node_list) : -1;
}

static void edges_collect(struct lint *l, struct str top) {
    struct json_elements el = elements_of(l, top, "edges");
    l->edge_list = ARENA_ARRAY(l->a, struct lint_edge, el.n);
    if (l->edge_list == NULL) return;
    l->edges_nr = el.n;
    for (size_t i = 0; i < el.n; i++)
        l->edge_list[i] =
            (struct lint_edge){.raw = el.v[i],
                               .condition = object_of(el.v[i], "condition"),
                               .rule = lint_text(l, el.v[i], "triggerRule"),
                               .src = node_index(l, lint_text(l, el.v[i], "sourceNodeId")),
                               .dst = node_index(l, lint_text(l, el.v[i], "targetNodeId"))};
}

/* Variables exist when they are declared, set by a node, or are channels (CHAN-28). */
static void names_collect(struct lint *l, struct str top) {
    struct json_elements vars = elements_of(l, top, "variables");
    members_put(l, l->channels, json_get(top, "channels"), true);
    for (size_t i = 0; i < vars.n; i++) {
        struct str name = lint_text(l, vars.v[i], "name");
        if (name.p != NULL && map_get(l->inputs, name) != NULL)
            twice_tell(l, "variables", i, "name", name);
        lint_put(l, l->vars, name, &vars.v[i]);
        lint_put(l, l->inputs, name, &vars.v[i]);
    }
    nodes_collect(l, top);
    edges_collect(l, top);
    struct json_elements triggers = elements_of(l, top, "triggers");
    for (size_t i = 0; i < triggers.n; i++) {
        int at = node_index(l, lint_text(l, triggers.v[i], "nodeId"));
        if (at >= 0 && str_eqc(lint_text(l, triggers.v[i], "type"), "channel-write"))
            l->node_list[at].triggered = true;
    }
}

/* --- the definition as a whole --- */

static void published_check(struct lint *l, struct str top) {
    const struct embed_file *f = embed_find(SCHEMA_FILE);
    struct str text;
    if (f == NULL) return;
    struct lint_shape shape = {.schema = embed_text(f), .root = embed_text(f)};
    int rc = definition_stripped(top, l->a, &text);
    if (rc == 0) lint_shape(l, text, &shape);
    else if (rc == WOPR_E_NO_MEMORY) l->no_memory = true;
}

static void settings_check(struct lint *l, struct str top) {
    struct lint_shape shape = {.schema = STR(SETTINGS), .ignores = true};
    struct str settings = object_of(top, "settings");
    if (settings.p == NULL) return;
    size_t mark = lint_enter(l, STR("settings"));
    lint_shape(l, settings, &shape);
    lint_leave(l, mark);
}

static void triggers_check(struct lint *l, struct str top) {
    struct lint_shape shape = {.schema = STR(CHANNEL_TRIGGER), .ignores = true};
    struct json_elements el = elements_of(l, top, "triggers");
    for (size_t i = 0; i < el.n; i++) {
        size_t mark = lint_at(l, "triggers", i);
        (void)lint_name(l, el.v[i], "nodeId", l->nodes, "node");
        struct str config = object_of(el.v[i], "config");
        if (config.p != NULL && str_eqc(lint_text(l, el.v[i], "type"), "channel-write")) {
            (void)lint_enter(l, STR("config"));
            lint_shape(l, config, &shape);
            (void)lint_name(l, config, "channel", l->channels, "channel");
        }
        lint_leave(l, mark);
    }
}

static void definition_check(struct lint *l, struct str top) {
    names_collect(l, top);
    if (l->node_list == NULL || l->edge_list == NULL) {
        l->no_memory = true;
        return;
    }
    published_check(l, top);
    settings_check(l, top);
    lint_nodes(l);
    lint_edges(l);
    lint_graph(l);
    triggers_check(l, top);
}

int workflow_lint(struct str text, const struct wf_types *types, lint_fn *each, void *ctx,
                  struct wopr_error *err) {
    struct lint l = {.types = types,
                     .each = each,
                     .ctx = ctx,
                     .a = arena_new(LINT_ARENA_MAX),
                     .near_left = LINT_NEAR_MAX};
    struct map **const maps[] = {&l.nodes, &l.vars, &l.inputs, &l.channels, &l.by_type, &l.shapes};
    enum { MAPS_NR = sizeof maps / sizeof maps[0] };
    l.no_memory = l.a == NULL;
    for (size_t i = 0; i < MAPS_NR; i++) {
        *maps[i] = map_new();
        if (*maps[i] == NULL) l.no_memory = true;
    }
    if (!l.no_memory && json_type_of(text) == JSON_OBJECT) definition_check(&l, text);
    bool failed = l.no_memory || (l.a != NULL && arena_failed(l.a));
    for (size_t i = 0; i < MAPS_NR; i++) map_free(*maps[i]);
    arena_free(l.a);
    return failed ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look at a workflow") : 0;
}
