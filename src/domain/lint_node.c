/* lint_node.c: checks nodes against the facts about their types, their inputs, and the names they
 * use. */
#include "domain/agent_manifest.h"
#include "domain/lint_int.h"
#include "domain/workflow_int.h"

/* Settings of a node (WF-24); their ranges are the compiler's. */
#define NODE_SETTINGS                                                                              \
    "{\"additionalProperties\":false,\"properties\":{\"maxRetries\":{\"type\":\"integer\","        \
    "\"minimum\":0},\"retryDelayMs\":{\"type\":\"integer\",\"minimum\":0},\"timeoutMs\":"          \
    "{\"type\":\"integer\",\"minimum\":0}}}"

/* --- types --- */

static const struct wf_type *type_find(struct lint *l, struct str id) {
    void *known = map_get(l->by_type, id);
    if (known != NULL) return known == (void *)l ? NULL : known;
    struct wf_type *t = ARENA_NEW(l->a, struct wf_type);
    if (t == NULL) {
        l->no_memory = true;
        return NULL;
    }
    bool found = l->types->find(l->types->ctx, id, l->a, t);
    lint_put(l, l->by_type, id, found ? (void *)t : (void *)l);
    return found ? t : NULL;
}

static void type_unknown(struct lint *l, const struct lint_node *n) {
    struct near near;
    struct str name;
    near_init(&near, n->type_id);
    for (size_t i = 0; l->near_left > 0 && l->types->name(l->types->ctx, i, l->a, &name); i++)
        lint_try(l, &near, name);
    struct lint_more more = {.value = json_get(n->raw, "typeId"), .nearest = near_best(&near)};
    if (l->types->elsewhere != NULL && l->types->elsewhere(l->types->ctx, n->type_id)) {
        lint_tell(l, false, "typeId", &more,
                  "this program does not execute \"%.*s\"; a host whose workers do knows it: check "
                  "it there, with --url",
                  LINT_SHOWN(n->type_id));
        return;
    }
    lint_tell(l, true, "typeId", &more,
              "this host has no executor of type \"%.*s\", and no worker has registered it; \"wopr "
              "nodes\" lists those it has",
              LINT_SHOWN(n->type_id));
}

/* --- inputs --- */

/* The output of another node: the node must exist, and its type must have such an output. */
static void connection_check(struct lint *l, struct str port) {
    struct json_members outputs = {0};
    struct near near;
    if (!lint_name(l, port, "nodeId", l->nodes, "node")) return;
    struct str from = lint_text(l, port, "nodeId"), key = lint_text(l, port, "outputKey");
    const struct lint_node *n = from.p != NULL ? map_get(l->nodes, from) : NULL;
    if (n == NULL || n->type_id.p == NULL || key.p == NULL) return;
    const struct wf_type *t = type_find(l, n->type_id);
    if (t == NULL || t->outputs.n == 0) return;
    if (json_members(t->outputs, l->a, &outputs, NULL) != 0) {
        l->no_memory = true;
        return;
    }
    near_init(&near, key);
    struct str *names = ARENA_ARRAY(l->a, struct str, outputs.n);
    for (size_t i = 0; i < outputs.n && names != NULL; i++) {
        if (str_eq(outputs.v[i].key, key)) return;
        names[i] = outputs.v[i].key;
        lint_try(l, &near, key.n > 0 ? outputs.v[i].key : STR_NONE);
    }
    struct lint_more more = {.value = json_get(port, "outputKey"),
                             .choices = names,
                             .choices_nr = names != NULL ? outputs.n : 0,
                             .nearest = near_best(&near)};
    lint_tell(l, more.nearest.n > 0, "outputKey", &more, "%.*s has no output \"%.*s\"",
              LINT_SHOWN(n->type_id), LINT_SHOWN(key));
}

/* A literal that looks like a placeholder, which nothing fills. */
static bool is_template(struct str raw) {
    for (size_t i = 0; i + 1 < raw.n; i++)
        if (raw.p[i] == '{' && raw.p[i + 1] == '{') return true;
    return false;
}

static void port_check(struct lint *l, const struct lint_node *n, const struct json_member *port) {
    struct str kind = lint_text(l, port->raw, "type");
    if (str_eqc(kind, "connection")) connection_check(l, port->raw);
    if (str_eqc(kind, "expression"))
        lint_expression(l, lint_text(l, port->raw, "expression"), "expression", false);
    if (str_eqc(kind, "variable"))
        lint_variable(l, lint_text(l, port->raw, "variableName"), "variableName");
    if (n->type == NULL || n->type->config.n == 0) return;
    struct lint_shape shape = {.schema = lint_shape_member(l, n->type->config, port->key),
                               .root = n->type->config,
                               .ignores = !n->type->refuses};
    if (str_eqc(kind, "static") && json_get(port->raw, "value").p != NULL) {
        size_t mark = lint_enter(l, STR("value"));
        lint_shape(l, json_get(port->raw, "value"), &shape);
        lint_leave(l, mark);
    }
    if (shape.schema.n > 0 || n->type->takes_ports || !lint_shape_closed(l, n->type->config))
        return;
    struct near near;
    near_init(&near, port->key);
    lint_shape_near(l, n->type->config, &near);
    struct lint_more more = {.nearest = near_best(&near)};
    lint_tell(l, more.nearest.n > 0 || n->type->refuses, NULL, &more,
              "%.*s reads no input \"%.*s\"", LINT_SHOWN(n->type_id), LINT_SHOWN(port->key));
}

static void ports_check(struct lint *l, const struct lint_node *n) {
    struct json_members m;
    if (n->inputs.p == NULL) return;
    if (json_members(n->inputs, l->a, &m, NULL) != 0) {
        l->no_memory = true;
        return;
    }
    size_t mark = lint_enter(l, STR("inputs"));
    for (size_t i = 0; i < m.n && !lint_full(l); i++) {
        size_t port = lint_enter(l, m.v[i].key);
        if (json_type_of(m.v[i].raw) == JSON_OBJECT) port_check(l, n, &m.v[i]);
        lint_leave(l, port);
    }
    lint_leave(l, mark);
}

/* --- templates --- */

/* The port that the mark at p names: what stands before its first dot. */
static struct str mark_port(struct str text) {
    size_t n = 0;
    text = str_trim(text);
    while (n < text.n && !strchr(".} \t\"", text.p[n])) n++;
    return str_n(text.p, n);
}

static void marks_check(struct lint *l, const struct lint_node *n) {
    struct str c = n->config;
    bool on = true;
    if (json_bool(json_get(c, "templates"), &on) && !on) return;
    for (size_t i = 0; i + 1 < c.n && !lint_full(l); i++) {
        if (c.p[i] != '{' || c.p[i + 1] != '{') continue;
        struct str port = mark_port(str_n(c.p + i + 2, c.n - i - 2));
        const char *z = port.n > 0 ? arena_cstr(l->a, port) : NULL;
        i++;
        if (z == NULL || json_get(n->inputs, z).n > 0) continue;
        lint_tell(l, true, NULL, NULL, "{{%.*s}} names no input port of this node",
                  LINT_SHOWN(port));
    }
}

/* --- nodes --- */

static void config_check(struct lint *l, const struct lint_node *n) {
    struct lint_shape shape = {.schema = n->type->config,
                               .root = n->type->config,
                               .ignores = !n->type->refuses,
                               .elsewhere = n->inputs,
                               .elsewhere_is = "as an input"};
    size_t mark = lint_enter(l, STR("config"));
    if (n->type->config.n > 0) lint_shape(l, n->config.p != NULL ? n->config : STR("{}"), &shape);
    bool marks = n->type->config.n > 0 && n->config.p != NULL && is_template(n->config);
    if (marks && n->type->templates) marks_check(l, n);
    if (marks && !n->type->templates)
        lint_tell(l, false, NULL, NULL,
                  "nothing replaces {{...}} here; give what is computed as an input of type "
                  "expression");
    lint_leave(l, mark);
}

static void child_check(struct lint *l, const struct lint_node *n) {
    struct str id = lint_text(l, n->config, "workflowId");
    if (id.p == NULL || l->types->workflow == NULL) return;
    if (l->types->workflow(l->types->ctx, id)) return;
    struct lint_more more = {.value = json_get(n->config, "workflowId")};
    size_t mark = lint_enter(l, STR("config"));
    lint_tell(l, false, "workflowId", &more,
              "no workflow \"%.*s\" is stored yet; the node fails until there is one",
              LINT_SHOWN(id));
    lint_leave(l, mark);
}

/* Agents of other tiers may come with packs, or be nobody here (AGT-41). */
static void pin_check(struct lint *l, const struct lint_node *n) {
    struct str pin = json_get(n->raw, "agent");
    bool pinned = pin.n > 0 && json_type_of(pin) == JSON_OBJECT && l->types->agent != NULL;
    struct str id = pinned ? agent_of_pin(pin, l->a) : STR_NONE;
    if (!agent_must_exist(id) || l->types->agent(l->types->ctx, id)) return;
    bool source = json_get(pin, "sourceManifestId").n > 0;
    const char *key = source ? "sourceManifestId" : "agentId";
    struct lint_more more = {.value = json_get(pin, key)};
    size_t mark = lint_enter(l, STR("agent"));
    lint_tell(l, false, key, &more,
              "the workspace has no agent \"%.*s\" yet; runs are refused until there is one (wopr "
              "agents put)",
              LINT_SHOWN(id));
    lint_leave(l, mark);
}

static void node_check(struct lint *l, struct lint_node *n) {
    struct lint_shape settings = {.schema = STR(NODE_SETTINGS), .ignores = true};
    struct str raw = json_get(n->raw, "settings");
    n->type = n->type_id.p != NULL ? type_find(l, n->type_id) : NULL;
    if (n->type_id.p != NULL && n->type == NULL) type_unknown(l, n);
    if (n->type != NULL) config_check(l, n);
    if (n->traits & NODE_IS_PARENT) child_check(l, n);
    pin_check(l, n);
    if (raw.p != NULL && json_type_of(raw) == JSON_OBJECT) {
        size_t mark = lint_enter(l, STR("settings"));
        lint_shape(l, raw, &settings);
        lint_leave(l, mark);
    }
    ports_check(l, n);
}

void lint_nodes(struct lint *l) {
    for (size_t i = 0; i < l->nodes_nr && !lint_full(l); i++) {
        if (json_type_of(l->node_list[i].raw) != JSON_OBJECT) continue;
        size_t mark = lint_at(l, "nodes", i);
        node_check(l, &l->node_list[i]);
        lint_leave(l, mark);
    }
}
