/* lint.c: see lint.h.  Members, names and choices of a definition. */
#include "domain/lint_int.h"

#include <stdio.h>

#define LINT_ARENA_MAX (64u * 1024 * 1024)
#define TOP_MEMBERS                                                                                \
    "id name description version type isActive status tenantId scopeId slug nodes edges triggers " \
    "variables groups channels configurableSchema metadata settings acceptsInheritedArtifacts "    \
    "createdAt updatedAt packs engines"
#define NODE_MEMBERS                                                                               \
    "id typeId name position config inputs credentialsRef settings disabled notes groupId agent "  \
    "envelopeContract artifactType cardType outputSensitivity"

/* --- declared names --- */

static void name_remember(struct lint *l, struct map *m, struct str name) {
    if (name.p != NULL && map_put(m, name, l, NULL) != 0) l->no_memory = true;
}

static void remember_members(struct lint *l, struct str object) {
    struct json_members m;
    if (object.p == NULL || json_type_of(object) != JSON_OBJECT) return;
    if (json_members(object, l->a, &m, NULL) != 0) return;
    for (size_t i = 0; i < m.n; i++) name_remember(l, l->vars, arena_str(l->a, m.v[i].key));
}

static struct json_elements list_of(struct lint *l, struct str top, const char *key) {
    struct json_elements el = {0};
    struct str raw = json_get(top, key);
    if (raw.p != NULL && json_type_of(raw) == JSON_ARRAY &&
        json_elements(raw, l->a, &el, NULL) != 0)
        l->no_memory = true;
    return el;
}

/* Variables exist when they are declared, set by a node, or are channels (CHAN-28). */
static void names_collect(struct lint *l, struct str top) {
    struct json_elements vars = list_of(l, top, "variables");
    l->node_list = list_of(l, top, "nodes");
    l->edge_list = list_of(l, top, "edges");
    for (size_t i = 0; i < vars.n; i++) {
        struct str name = lint_text(l, vars.v[i], "name");
        name_remember(l, l->vars, name);
    }
    remember_members(l, json_get(top, "channels"));
    for (size_t i = 0; i < l->node_list.n; i++) {
        struct str config = json_get(l->node_list.v[i], "config");
        struct str id = lint_text(l, l->node_list.v[i], "id");
        if (id.p != NULL && map_put(l->nodes, id, &l->node_list.v[i], NULL) != 0)
            l->no_memory = true;
        if (config.p == NULL || json_type_of(config) != JSON_OBJECT) continue;
        if (node_traits(lint_text(l, l->node_list.v[i], "typeId")) & NODE_IS_DECLARING)
            name_remember(l, l->vars, lint_text(l, config, "name"));
        name_remember(l, l->vars, lint_text(l, config, "channelName"));
        remember_members(l, json_get(config, "outputMapping"));
    }
}

/* --- nodes --- */

static const struct lint_type *type_of(struct lint *l, struct str node, const char *pointer) {
    char hint[NEAR_HINT];
    struct near n;
    struct str id = lint_text(l, node, "typeId");
    if (id.p == NULL) return NULL;
    near_init(&n, id);
    for (const struct lint_type *t = l->types; t->type_id != NULL; t++) {
        if (str_eqc(id, t->type_id)) return t;
        near_try(&n, str_c(t->type_id));
    }
    lint_tell(l, true, pointer, "typeId", "this host has no executor of type \"%.*s\"%s",
              (int)(id.n < 64 ? id.n : 64), id.p, near_hint(&n, hint));
    return NULL;
}

static void port_check(struct lint *l, struct str raw, const char *pointer) {
    struct str kind = lint_text(l, raw, "type"), name;
    lint_word(l, raw, pointer, "type", "static expression connection variable");
    if (str_eqc(kind, "connection")) lint_name(l, raw, pointer, "nodeId", l->nodes, "node");
    if (str_eqc(kind, "expression"))
        lint_expression(l, lint_text(l, raw, "expression"), pointer, "expression");
    if (str_eqc(kind, "variable") && (name = lint_text(l, raw, "variableName")).p != NULL)
        lint_variable(l, name, pointer, "variableName");
}

static void ports_check(struct lint *l, struct str inputs, const char *pointer) {
    struct json_members m;
    char at[LINT_POINTER];
    if (inputs.p == NULL || json_type_of(inputs) != JSON_OBJECT) return;
    if (json_members(inputs, l->a, &m, NULL) != 0) return;
    for (size_t i = 0; i < m.n; i++) {
        (void)snprintf(at, sizeof at, "%.100s/inputs/%.*s", pointer,
                       (int)(m.v[i].key.n < 60 ? m.v[i].key.n : 60), m.v[i].key.p);
        if (json_type_of(m.v[i].raw) == JSON_OBJECT) port_check(l, m.v[i].raw, at);
    }
}

static void config_check(struct lint *l, struct str node, const struct lint_type *t,
                         const char *pointer) {
    struct str cfg = json_get(node, "config"), inputs = json_get(node, "inputs"), need;
    const char *needs = t->needs;
    char at[LINT_POINTER];
    (void)snprintf(at, sizeof at, "%.100s/config", pointer);
    if (strcmp(t->config, "*") != 0) lint_members(l, cfg, at, t->config, false);
    while (lint_next_word(&needs, &need)) {
        const char *key = arena_cstr(l->a, need);
        if (key == NULL) l->no_memory = true;
        else if (json_get(cfg, key).p == NULL && json_get(inputs, key).p == NULL)
            lint_tell(l, true, at, NULL, "%s needs \"%s\" here or as an input", t->type_id, key);
    }
}

static void node_check(struct lint *l, struct str raw, size_t i) {
    char at[LINT_POINTER], deeper[LINT_POINTER + 16];
    (void)snprintf(at, sizeof at, "/nodes/%zu", i);
    (void)snprintf(deeper, sizeof deeper, "%s/settings", at);
    lint_members(l, raw, at, NODE_MEMBERS, true);
    const struct lint_type *t = type_of(l, raw, at);
    if (t != NULL) config_check(l, raw, t, at);
    lint_members(l, json_get(raw, "settings"), deeper, "maxRetries retryDelayMs timeoutMs", false);
    ports_check(l, json_get(raw, "inputs"), at);
}

static void names_declared(struct lint *l, struct str top) {
    char at[LINT_POINTER];
    struct json_elements vars = list_of(l, top, "variables"), trs = list_of(l, top, "triggers");
    for (size_t i = 0; i < vars.n; i++) {
        (void)snprintf(at, sizeof at, "/variables/%zu", i);
        lint_members(l, vars.v[i], at, "name type description required defaultValue sensitive",
                     true);
        lint_word(l, vars.v[i], at, "type", "string number boolean object array");
    }
    for (size_t i = 0; i < trs.n; i++) {
        (void)snprintf(at, sizeof at, "/triggers/%zu", i);
        lint_members(l, trs.v[i], at, "id type name description config enabled nodeId eventType",
                     true);
        lint_word(l, trs.v[i], at, "type",
                  "manual schedule webhook event artifact canvas envelope command chat-message "
                  "channel-write");
        lint_name(l, trs.v[i], at, "nodeId", l->nodes, "node");
    }
}

static void definition_check(struct lint *l, struct str top) {
    names_collect(l, top);
    lint_members(l, top, "", TOP_MEMBERS, true);
    lint_members(l, json_get(top, "settings"), "/settings",
                 "timeout maxRetries logLevel maxLoopbackIterations strictInputs", false);
    names_declared(l, top);
    for (size_t i = 0; i < l->node_list.n; i++)
        if (json_type_of(l->node_list.v[i]) == JSON_OBJECT) node_check(l, l->node_list.v[i], i);
    lint_edges(l);
}

int workflow_lint(struct str text, const struct lint_type *types, lint_fn *each, void *ctx,
                  struct wopr_error *err) {
    struct lint l = {.types = types, .each = each, .ctx = ctx, .a = arena_new(LINT_ARENA_MAX)};
    l.nodes = map_new();
    l.vars = map_new();
    l.no_memory = l.a == NULL || l.nodes == NULL || l.vars == NULL;
    if (!l.no_memory && json_type_of(text) == JSON_OBJECT) definition_check(&l, text);
    bool failed = l.no_memory || (l.a != NULL && arena_failed(l.a));
    map_free(l.nodes);
    map_free(l.vars);
    arena_free(l.a);
    return failed ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look at a workflow") : 0;
}
