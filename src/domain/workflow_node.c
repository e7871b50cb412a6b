/*
 * workflow_node.c: nodes, their settings and input ports (NODE-2, NODE-3, NODE-6, WF-4, WF-24,
 * D14).
 */
#include "codec/ident.h"
#include "domain/expr_int.h"
#include "domain/workflow_int.h"

#include <stdio.h>

/* Stored definitions may exceed what the log can express: clamp. */
static int retry_delay_read(struct wfc *c, const struct wfc_obj *s, int64_t *ms) {
    bool accepted = c->env != NULL && c->env->accepted;
    int rc = wfc_int(c, s, "retryDelayMs", 0, accepted ? WF_TIME_MS_MAX : WF_RETRY_MS_MAX, ms);
    if (*ms > WF_RETRY_MS_MAX) *ms = WF_RETRY_MS_MAX;
    return rc;
}

static int settings_read(struct wfc *c, const struct wfc_obj *o, struct wf_node *n,
                         int64_t retries) {
    struct str raw = STR_NONE;
    struct wfc_obj s;
    int rc = wfc_typed(c, o, "settings", JSON_OBJECT, &raw);
    if (rc == 0 && raw.p != NULL) {
        n->settings = raw;
        rc = wfc_obj(c, raw, &s, "%.*s/settings", WF_POINTER_MAX - 16, o->pointer);
        if (rc == 0) rc = wfc_int(c, &s, "maxRetries", 0, WF_RETRIES_MAX, &retries);
        if (rc == 0) rc = retry_delay_read(c, &s, &n->retry_delay_ms);
        if (rc == 0) rc = wfc_int(c, &s, "timeoutMs", 0, WF_TIME_MS_MAX, &n->timeout_ms);
    }
    n->max_retries = (uint32_t)retries;
    return rc;
}

static int sensitivity_read(struct wfc *c, const struct wfc_obj *o,
                            struct wf_node *n) { /* NODE-20 */
    struct str raw = STR_NONE;
    struct json_members m;
    int rc = wfc_typed(c, o, "outputSensitivity", JSON_OBJECT, &raw);
    if (rc != 0 || raw.p == NULL) return rc;
    rc = json_members(raw, c->tmp, &m, c->err);
    if (rc != 0) return rc;
    n->sensitive_outputs = ARENA_ARRAY(c->w->arena, struct str, m.n);
    n->open_outputs = ARENA_ARRAY(c->w->arena, struct str, m.n);
    if (n->sensitive_outputs == NULL || n->open_outputs == NULL) return wfc_memory(c);
    for (size_t i = 0; i < m.n; i++) {
        bool on = false;
        if (!json_bool(m.v[i].raw, &on))
            return wfc_fail(c, o->pointer, "outputSensitivity", "maps port names to booleans");
        struct str port = arena_str(c->w->arena, m.v[i].key);
        if (port.p == NULL) return wfc_memory(c);
        if (on) n->sensitive_outputs[n->sensitive_nr++] = port;
        else n->open_outputs[n->open_nr++] = port;
    }
    return 0;
}

static int wfc_unknown(struct wfc *c, const char *pointer, struct str type_id) {
    char what[ID_TYPE_MAX + 128];
    snprintf(what, sizeof(what),
             "this host has no executor of type \"%.*s\", and no worker has registered it",
             STR_ARG(type_id));
    return wfc_fail(c, pointer, "typeId", what);
}

static int node_identity(struct wfc *c, const struct wfc_obj *o, struct wf_node *n) {
    int rc = wfc_need_str(c, o, "id", &n->id);
    if (rc != 0) return rc;
    if (!id_author_valid(n->id)) /* D14 */
        return wfc_fail(c, o->pointer, "id", "node ids are 1 to 128 of A-Z a-z 0-9 . _ ~ : -");
    rc = wfc_unique(c, c->w->node_map, n->id, n, o->pointer, "id");
    if (rc == 0) rc = wfc_need_str(c, o, "name", &n->name);
    if (rc == 0) rc = wfc_need_str(c, o, "typeId", &n->type_id);
    if (rc != 0) return rc;
    if (!id_type_valid(n->type_id))
        return wfc_fail(c, o->pointer, "typeId", "type ids match ^[a-z][a-zA-Z0-9._-]*$");
    if (c->env != NULL && c->env->knows_type != NULL &&
        !c->env->knows_type(c->env->ctx, n->type_id)) /* NODE-3 */
        return wfc_unknown(c, o->pointer, n->type_id);
    n->traits = node_traits(n->type_id);
    return 0;
}

static int one_node(struct wfc *c, struct str raw, size_t i, int64_t retries, struct wf_node *n) {
    struct wfc_obj o;
    struct str agent = STR_NONE, config = STR_NONE, credential = STR_NONE;
    int rc = wfc_obj(c, raw, &o, "/nodes/%zu", i);
    if (rc == 0) rc = node_identity(c, &o, n);
    if (rc == 0) rc = wfc_typed(c, &o, "config", JSON_OBJECT, &config);
    if (rc == 0) rc = wfc_typed(c, &o, "agent", JSON_OBJECT, &agent);
    if (rc == 0) rc = wfc_bool(c, &o, "disabled", &n->disabled);
    if (rc == 0) rc = wfc_typed(c, &o, "credentialsRef", JSON_STRING, &credential);
    if (rc != 0) return rc;
    n->credentials_ref = credential.p == NULL ? STR("") : json_string(credential, c->w->arena);
    if (n->credentials_ref.p == NULL) return wfc_memory(c);
    n->config = config.p == NULL ? STR("{}") : config;
    const char *wrong =
        c->env && c->env->config_wrong ? c->env->config_wrong(n->type_id, n->config) : NULL;
    if (wrong) return wfc_fail(c, o.pointer, "config", wrong);
    n->agent = agent.p == NULL ? STR("") : agent;
    n->settings = STR("");
    n->retry_delay_ms = -1;
    rc = settings_read(c, &o, n, retries);
    return rc != 0 ? rc : sensitivity_read(c, &o, n);
}

int wfc_nodes(struct wfc *c, const struct wfc_obj *top) {
    struct json_elements el;
    struct wfc_obj s;
    int64_t retries = 0;
    struct str settings_raw = wfc_raw(top, "settings");
    int rc = wfc_list(c, top, "nodes", WF_NODES_MAX, &el);
    if (rc != 0) return rc;
    if (el.n == 0) return wfc_fail(c, "", "nodes", "at least one node is needed");
    if (settings_raw.p != NULL) { /* WF-24: the default of every node */
        rc = wfc_obj(c, settings_raw, &s, "/settings");
        if (rc == 0) rc = wfc_int(c, &s, "maxRetries", 0, WF_RETRIES_MAX, &retries);
        if (rc != 0) return rc;
    }
    c->w->nodes = ARENA_ARRAY(c->w->arena, struct wf_node, el.n);
    if (c->w->nodes == NULL) return wfc_memory(c);
    c->w->nodes_nr = el.n;
    for (size_t i = 0; rc == 0 && i < el.n; i++)
        rc = one_node(c, el.v[i], i, retries, &c->w->nodes[i]);
    return rc;
}

/* --- ports --- */

static int pattern_collect(void *ctx, struct expr *node) {
    struct wfc *c = ctx;
    struct str text = expr_pattern_schema(node->b->raw, c->tmp);
    if (text.p == NULL) return wfc_memory(c);
    return wfc_schema_add(c, text, "", "", &node->rx);
}

int wfc_expr(struct wfc *c, struct str text, const char *pointer, const char *key,
             struct expr **out) {
    struct wopr_error why;
    struct expr *e = NULL;
    wopr_error_clear(&why);
    int rc = expr_parse(text, c->w->arena, &e, &why);
    if (rc == WOPR_E_VALIDATION) return wfc_fail(c, pointer, key, why.message);
    if (rc != 0) return wfc_memory(c);
    struct wfc_schema **from = c->schemas_end;
    rc = expr_patterns(e, pattern_collect, c);
    for (struct wfc_schema *s = *from; s != NULL; s = s->next)
        wfc_pointer(s->pointer, pointer, str_c(key));
    if (rc == 0) *out = e;
    return rc;
}

static int port_connection(struct wfc *c, const struct wfc_obj *o, struct wf_port *p) {
    struct str id = STR_NONE;
    p->kind = PORT_CONNECTION;
    int rc = wfc_need_str(c, o, "nodeId", &id);
    if (rc == 0) rc = wfc_need_str(c, o, "outputKey", &p->output_key);
    if (rc == 0) rc = wfc_bool(c, o, "optional", &p->optional);
    if (rc != 0) return rc;
    p->node = workflow_node_index(c->w, id);
    if (p->node < 0) return wfc_fail(c, o->pointer, "nodeId", "no node has this id");
    return 0;
}

static int port_variable(struct wfc *c, const struct wfc_obj *o, struct wf_port *p) {
    p->kind = PORT_VARIABLE;
    int rc = wfc_need_str(c, o, "variableName", &p->variable);
    if (rc == 0) rc = wfc_bool(c, o, "optional", &p->optional);
    if (rc == 0 && !p->optional && workflow_variable(c->w, p->variable) == NULL) /* WF-3 */
        return wfc_fail(c, o->pointer, "variableName",
                        "no such variable is declared; declare it or set optional");
    return rc;
}

static int port_read(struct wfc *c, const struct wfc_obj *o, struct wf_port *p) {
    static const char *const KINDS[] = {"static", "expression", "connection", "variable", NULL};
    struct str kind = STR_NONE, text = STR_NONE;
    p->node = -1;
    int rc = wfc_need_str(c, o, "type", &kind);
    if (rc != 0) return rc;
    switch (wfc_word(kind, KINDS)) {
    case 0:
        p->kind = PORT_STATIC;
        p->value = wfc_raw(o, "value");
        return p->value.p != NULL ? 0 : wfc_fail(c, o->pointer, "value", "is required");
    case 1:
        p->kind = PORT_EXPRESSION;
        rc = wfc_need_str(c, o, "expression", &text);
        return rc != 0 ? rc : wfc_expr(c, text, o->pointer, "expression", &p->expr);
    case 2:
        return port_connection(c, o, p);
    case 3:
        return port_variable(c, o, p);
    default:
        return wfc_fail(c, o->pointer, "type", "static, expression, connection or variable");
    }
}

static int node_ports(struct wfc *c, struct str inputs, size_t i, struct wf_node *n) {
    struct json_members m;
    struct wfc_obj o;
    char prefix[WF_POINTER_MAX], pointer[WF_POINTER_MAX];
    snprintf(prefix, sizeof(prefix), "/nodes/%zu/inputs", i);
    if (json_type_of(inputs) != JSON_OBJECT) return wfc_fail(c, prefix, NULL, "must be an object");
    int rc = json_members(inputs, c->tmp, &m, c->err);
    if (rc != 0) return rc;
    if (m.n > WF_LIST_MAX) return wfc_too_many(c, prefix, NULL, m.n, WF_LIST_MAX);
    n->ports = ARENA_ARRAY(c->w->arena, struct wf_port, m.n);
    if (n->ports == NULL) return wfc_memory(c);
    for (size_t k = 0; rc == 0 && k < m.n; k++) {
        wfc_pointer(pointer, prefix, m.v[k].key);
        n->ports[k].name = arena_str(c->w->arena, m.v[k].key);
        if (n->ports[k].name.p == NULL) return wfc_memory(c);
        rc = wfc_obj(c, m.v[k].raw, &o, "%s", pointer);
        if (rc == 0) rc = port_read(c, &o, &n->ports[k]);
        n->ports_nr++;
    }
    return rc;
}

int wfc_ports(struct wfc *c, const struct wfc_obj *top) {
    struct json_elements el;
    int rc = wfc_list(c, top, "nodes", WF_NODES_MAX, &el);
    for (size_t i = 0; rc == 0 && i < el.n; i++) {
        struct str inputs = json_get(el.v[i], "inputs");
        if (inputs.p != NULL) rc = node_ports(c, inputs, i, &c->w->nodes[i]);
    }
    return rc;
}
