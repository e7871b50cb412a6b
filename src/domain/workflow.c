/*
 * workflow.c: the compiler's steps, its small parts, and the life of a compiled workflow.
 */
#include "base/mem.h"
#include "codec/ident.h"
#include "domain/program.h"
#include "domain/workflow_int.h"

#include <stdatomic.h>
#include <stdio.h>

#define LOOPBACK_DEFAULT 5 /* WF-12 */

static int variable_read(struct wfc *c, struct str raw, size_t i,
                         struct wf_variable *v) { /* WF-16 */
    static const char *const TYPES[] = {"string", "number", "boolean", "object", "array", NULL};
    static const enum json_type JSON[] = {JSON_STRING, JSON_NUMBER, JSON_BOOL, JSON_OBJECT,
                                          JSON_ARRAY};
    struct wfc_obj o;
    struct str type = STR_NONE;
    int rc = wfc_obj(c, raw, &o, "/variables/%zu", i);
    if (rc == 0) rc = wfc_need_str(c, &o, "name", &v->name);
    if (rc == 0) rc = wfc_need_str(c, &o, "type", &type);
    if (rc != 0) return rc;
    int t = wfc_word(type, TYPES);
    if (t < 0) return wfc_fail(c, o.pointer, "type", "string, number, boolean, object or array");
    v->type = JSON[t];
    rc = wfc_bool(c, &o, "required", &v->required);
    if (rc == 0) rc = wfc_bool(c, &o, "sensitive", &v->sensitive);
    if (rc != 0) return rc;
    struct str def = wfc_raw(&o, "defaultValue");
    if (def.p != NULL) {
        if (json_type_of(def) != v->type && json_type_of(def) != JSON_NULL)
            return wfc_fail(c, o.pointer, "defaultValue", "does not have the declared type");
        v->has_default = true;
        v->default_value = def;
    }
    return wfc_unique(c, c->w->var_map, v->name, v, o.pointer, "name");
}

static int variables_read(struct wfc *c, const struct wfc_obj *top) {
    struct json_elements el;
    int rc = wfc_list(c, top, "variables", WF_VARS_MAX, &el);
    if (rc != 0 || el.n == 0) return rc;
    c->w->vars = ARENA_ARRAY(c->w->arena, struct wf_variable, el.n);
    if (c->w->vars == NULL) return wfc_memory(c);
    for (size_t i = 0; rc == 0 && i < el.n; i++) {
        rc = variable_read(c, el.v[i], i, &c->w->vars[i]);
        c->w->vars_nr++;
    }
    return rc;
}

/* Triggers by channel, in definition order. */
static void triggers_link(struct workflow *w) {
    for (size_t i = w->triggers_nr; i > 0; i--) {
        struct wf_trigger *t = &w->triggers[i - 1];
        t->next = w->channels[t->channel].trigger_first;
        w->channels[t->channel].trigger_first = i;
    }
}

/* CHAN-20.  Disabled ones are checked and left out. */
static int channel_trigger(struct wfc *c, const struct wfc_obj *t, struct str id) {
    static const char *const FROM[] = {"any", "child", "parent", NULL}; /* enum wf_from */
    struct wfc_obj o;
    struct str channel = STR_NONE, from = STR("any"), node = STR_NONE;
    struct wf_trigger to = {.id = id};
    bool enabled = true;
    int rc = wfc_need_str(c, t, "nodeId", &node);
    if (rc == 0) rc = wfc_bool(c, t, "enabled", &enabled);
    if (rc != 0) return rc;
    to.node = workflow_node_index(c->w, node);
    if (to.node < 0) return wfc_fail(c, t->pointer, "nodeId", "no node has this id");
    rc = wfc_obj(c, wfc_raw(t, "config"), &o, "%.*s/config", WF_POINTER_MAX - 16, t->pointer);
    if (rc == 0) rc = wfc_need_str(c, &o, "channel", &channel);
    if (rc != 0) return rc;
    const struct wf_channel *ch = workflow_channel(c->w, channel);
    if (ch == NULL) return wfc_fail(c, o.pointer, "channel", "no such channel is declared");
    to.channel = (int)(ch - c->w->channels);
    rc = wfc_str(c, &o, "onlyFrom", &from);
    if (rc == 0 && wfc_word(from, FROM) < 0)
        return wfc_fail(c, o.pointer, "onlyFrom", "child, parent or any");
    if (rc == 0) rc = wfc_int(c, &o, "debounceMs", 0, 60000, &to.debounce_ms);
    if (rc != 0 || !enabled) return rc;
    to.from = (enum wf_from)wfc_word(from, FROM);
    c->w->nodes[to.node].dormant = true; /* until an edge into it is found, see wfc_graph */
    c->w->triggers[c->w->triggers_nr++] = to;
    return 0;
}

static int triggers_read(struct wfc *c, const struct wfc_obj *top) { /* WF-20 */
    static const char *const KINDS[] = {"manual",       "schedule",      "webhook",  "event",
                                        "artifact",     "canvas",        "envelope", "command",
                                        "chat-message", "channel-write", NULL};
    struct json_elements el;
    struct wfc_obj o;
    int rc = wfc_list(c, top, "triggers", WF_LIST_MAX, &el);
    if (rc != 0) return rc;
    struct map *seen = map_new();
    if (seen == NULL) return wfc_memory(c);
    c->w->triggers = ARENA_ARRAY(c->w->arena, struct wf_trigger, el.n + 1);
    if (c->w->triggers == NULL) rc = wfc_memory(c);
    for (size_t i = 0; rc == 0 && i < el.n; i++) {
        struct str id = STR_NONE, type = STR_NONE;
        rc = wfc_obj(c, el.v[i], &o, "/triggers/%zu", i);
        if (rc == 0) rc = wfc_need_str(c, &o, "id", &id);
        if (rc == 0) rc = wfc_unique(c, seen, id, c, o.pointer, "id");
        if (rc == 0) rc = wfc_need_str(c, &o, "type", &type);
        if (rc == 0 && wfc_word(type, KINDS) < 0)
            rc = wfc_fail(c, o.pointer, "type", "unknown type of trigger");
        if (rc == 0 && str_eqc(type, "channel-write")) rc = channel_trigger(c, &o, id);
    }
    if (rc == 0) triggers_link(c->w);
    map_free(seen);
    return rc;
}

static int settings_read(struct wfc *c, const struct wfc_obj *top) { /* WF-22 */
    struct wfc_obj o;
    c->w->max_loopback = LOOPBACK_DEFAULT;
    struct str raw = wfc_raw(top, "settings");
    if (raw.p == NULL) return 0;
    int rc = wfc_obj(c, raw, &o, "/settings");
    if (rc == 0) rc = wfc_int(c, &o, "timeout", 0, WF_TIME_MS_MAX, &c->w->timeout_ms);
    if (rc == 0)
        rc = wfc_int(c, &o, "maxLoopbackIterations", 1, INT32_MAX - 1, &c->w->max_loopback);
    if (rc == 0) rc = wfc_bool(c, &o, "strictInputs", &c->w->strict_inputs);
    if (rc == 0) c->w->max_loopback_explicit = wfc_raw(&o, "maxLoopbackIterations").p != NULL;
    return rc;
}

static int metadata_read(struct wfc *c, const struct wfc_obj *top) { /* WF-21 */
    static const char *const MODES[] = {"mask", "omit", "hash", "passthrough", NULL};
    struct wfc_obj o, conf;
    c->w->masking_mode = c->w->compliance_class = STR("");
    struct str raw = wfc_raw(top, "metadata"), inner = STR_NONE;
    if (raw.p == NULL) return 0;
    int rc = wfc_obj(c, raw, &o, "/metadata");
    if (rc == 0) rc = wfc_str(c, &o, "complianceClass", &c->w->compliance_class);
    if (rc == 0) rc = wfc_typed(c, &o, "complianceConfig", JSON_OBJECT, &inner);
    if (rc != 0 || inner.p == NULL) return rc;
    rc = wfc_obj(c, inner, &conf, "/metadata/complianceConfig");
    if (rc == 0) rc = wfc_str(c, &conf, "maskingMode", &c->w->masking_mode);
    if (rc == 0 && c->w->masking_mode.n > 0 && wfc_word(c->w->masking_mode, MODES) < 0)
        return wfc_fail(c, conf.pointer, "maskingMode", "mask, omit, hash or passthrough");
    return rc;
}

static int identity_read(struct wfc *c, const struct wfc_obj *top) {
    struct workflow *w = c->w;
    struct str status = STR("active");
    bool is_active = true;
    int rc = wfc_need_str(c, top, "id", &w->id);
    if (rc != 0) return rc;
    if (!id_author_valid(w->id)) /* D14 */
        return wfc_fail(c, "", "id", "workflow ids are 1 to 128 of A-Z a-z 0-9 . _ ~ : -");
    rc = wfc_need_str(c, top, "name", &w->name);
    if (rc == 0) rc = wfc_need_str(c, top, "version", &w->version);
    if (rc == 0) rc = wfc_bool(c, top, "isActive", &is_active);
    if (rc == 0) rc = wfc_str(c, top, "status", &status);
    w->active = is_active && str_eqc(status, "active"); /* WF-3 */
    return rc;
}

/* DISP-3: without a supervisor to decide, a dispatcher could never proceed. */
static int dispatchers_check(struct wfc *c) {
    char pointer[WF_POINTER_MAX];
    size_t dispatch = SIZE_MAX;
    for (size_t i = 0; i < c->w->nodes_nr; i++) {
        unsigned traits = c->w->nodes[i].traits;
        if (traits & NODE_IS_SUPERVISOR) return 0;
        if (dispatch == SIZE_MAX && traits & NODE_IS_DISPATCHER) dispatch = i;
    }
    if (dispatch == SIZE_MAX) return 0;
    snprintf(pointer, sizeof(pointer), "/nodes/%zu/typeId", dispatch);
    return wfc_fail(c, pointer, NULL, "core.dispatch needs a core.orchestrator.supervisor node");
}

static int hash_compute(struct wfc *c) {
    struct buf b;
    buf_init(&b, 4 * WF_TEXT_MAX + c->w->text.n);
    int rc = json_canonical(c->w->text, &b, c->err);
    if (rc == 0 && buf_failed(&b)) rc = wfc_memory(c);
    if (rc == 0) c->w->hash = sha256_of(buf_str(&b));
    else if (rc == WOPR_E_SYNTAX) rc = wfc_fail(c, "", NULL, "a number is out of range");
    buf_fini(&b);
    return rc;
}

static int definition_compile(struct wfc *c) {
    struct wfc_obj top;
    int rc = wfc_obj(c, c->w->text, &top, "%s", "");
    if (rc == 0) rc = wfc_definition(c, &top);
    if (rc == 0) rc = identity_read(c, &top);
    if (rc == 0) rc = settings_read(c, &top);
    if (rc == 0) rc = metadata_read(c, &top);
    if (rc == 0) rc = wfc_nodes(c, &top);
    if (rc == 0) rc = variables_read(c, &top);
    if (rc == 0) rc = wfc_ports(c, &top);
    if (rc == 0) rc = wfc_edges(c, &top);
    if (rc == 0) rc = wfc_channels(c, &top);
    if (rc == 0) rc = triggers_read(c, &top);
    if (rc == 0) rc = wfc_names(c);
    if (rc == 0) rc = wfc_configurable(c, &top);
    if (rc == 0) rc = dispatchers_check(c);
    if (rc == 0) rc = wfc_graph(c);
    if (rc == 0) rc = wfc_schemas(c);
    if (rc == 0) rc = wfc_words(c);
    if (rc == 0) rc = hash_compute(c);
    return rc;
}

static void workflow_free(struct workflow *w) {
    if (w == NULL) return;
    if (w->program != NULL) w->program->compiled_free(w->compiled);
    schema_set_free(w->schemas);
    map_free(w->node_map);
    map_free(w->var_map);
    map_free(w->chan_map);
    arena_free(w->arena);
    mem_free(w);
}

static struct workflow *workflow_new(struct str text) {
    struct workflow *w = MEM_NEW(struct workflow);
    if (w == NULL) return NULL;
    atomic_init(&w->refs, 1);
    w->arena = arena_new(WF_ARENA_MAX);
    w->node_map = map_new();
    w->var_map = map_new();
    w->chan_map = map_new();
    bool ok = w->arena != NULL && w->node_map != NULL && w->var_map != NULL && w->chan_map != NULL;
    if (ok) w->text = arena_str(w->arena, text);
    if (ok && w->text.p != NULL) return w;
    workflow_free(w);
    return NULL;
}

/* A text in another language; its hash is that of the whole text, first line and all. */
static int dialect_compile(struct str text, struct str name, const struct wf_env *env,
                           struct workflow **out, struct wopr_error *err) {
    struct str line, body;
    (void)dialect_named(text, NULL, &line, &body);
    for (size_t i = 0; env != NULL && i < env->dialects_nr; i++) {
        const struct wf_dialect *d = &env->dialects[i];
        if (!str_eqc(name, d->name)) continue;
        int rc = d->compile(d->ctx, line, body, env, out, err);
        if (rc == 0) (*out)->hash = sha256_of(text);
        return rc;
    }
    return wopr_error_set(err, WOPR_E_VALIDATION,
                          "the definition is in a language that is not known here");
}

int workflow_compile(struct str text, const struct wf_env *env, struct workflow **out,
                     struct wopr_error *err) {
    struct wopr_error own;
    struct str language;
    const size_t max = env != NULL && env->text_max > 0 ? env->text_max : WF_TEXT_MAX;
    wopr_error_clear(&own);
    if (dialect_named(text, &language, NULL, NULL))
        return dialect_compile(text, language, env, out, err != NULL ? err : &own);
    if (text.n > max)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "workflow definition: more than %zu bytes", max);
    struct wfc c = {.env = env, .err = err != NULL ? err : &own};
    c.schemas_end = &c.schemas;
    c.w = workflow_new(text);
    c.tmp = arena_new(WF_ARENA_MAX);
    int rc = c.w == NULL || c.tmp == NULL ? wfc_memory(&c) : definition_compile(&c);
    if (rc == 0) *out = c.w;
    else workflow_free(c.w);
    arena_free(c.tmp);
    return rc;
}

struct workflow *workflow_ref(struct workflow *w) {
    atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
    return w;
}

void workflow_unref(struct workflow *w) {
    if (w == NULL) return;
    int before = atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel);
    ASSERT(before > 0);
    if (before == 1) workflow_free(w);
}
