/*
 * workflow_schema.c: the JSON Schemas of a definition: the definition itself, channel and
 * configurable schemas, and patterns (compiled as {"pattern":...} so that PCRE2's limits bound
 * them).
 */
#include "domain/options_int.h"
#include "domain/workflow_int.h"

#include <stdio.h>

/* Members that definitions may carry although their closed schema lacks them (30-nodes X-23). */
static const char *const STRIPPED[] = {"packs", "engines", NULL};

static bool ttl_is_zero(struct str channel) {
    int64_t ttl;
    struct str raw = json_get(channel, "ttlMs");
    return raw.p != NULL && json_int(raw, &ttl) && ttl == 0;
}

/* CHAN-2: ttlMs 0 means none, though the schema starts at 1. */
static int channels_view(struct wfc *c, struct str channels, struct jw *w) {
    struct json_members m, d;
    int rc = json_members(channels, c->tmp, &m, c->err);
    jw_object(w);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        jw_key_str(w, m.v[i].key);
        if (!ttl_is_zero(m.v[i].raw)) {
            jw_raw(w, m.v[i].raw);
            continue;
        }
        rc = json_members(m.v[i].raw, c->tmp, &d, c->err);
        jw_object(w);
        for (size_t j = 0; rc == 0 && j < d.n; j++) {
            if (str_eqc(d.v[j].key, "ttlMs")) continue;
            jw_key_str(w, d.v[j].key);
            jw_raw(w, d.v[j].raw);
        }
        jw_end_object(w);
    }
    jw_end_object(w);
    return rc;
}

static int definition_view(struct wfc *c, const struct wfc_obj *top, struct buf *b) {
    struct jw w;
    int rc = 0;
    jw_init(&w, b);
    jw_object(&w);
    for (size_t i = 0; rc == 0 && i < top->m.n; i++) {
        struct json_member *m = &top->m.v[i];
        if (wfc_word(m->key, STRIPPED) >= 0) continue;
        jw_key_str(&w, m->key);
        if (str_eqc(m->key, "channels") && json_type_of(m->raw) == JSON_OBJECT)
            rc = channels_view(c, m->raw, &w);
        else jw_raw(&w, m->raw);
    }
    jw_end_object(&w);
    return rc == 0 && buf_failed(b) ? wfc_memory(c) : rc;
}

static bool needs_view(const struct wfc_obj *top) {
    for (int i = 0; STRIPPED[i] != NULL; i++)
        if (wfc_raw(top, STRIPPED[i]).p != NULL) return true;
    return wfc_raw(top, "channels").p != NULL;
}

int definition_stripped(struct str text, struct arena *a, struct str *out) {
    struct wopr_error err = {0};
    struct wfc c = {.tmp = a, .err = &err};
    struct wfc_obj top;
    struct buf view;
    int rc = wfc_obj(&c, text, &top, "%s", "");
    if (rc != 0) return rc;
    *out = text;
    if (!needs_view(&top)) return 0;
    buf_init(&view, 2 * WF_TEXT_MAX);
    rc = definition_view(&c, &top, &view);
    if (rc == 0) *out = arena_str(a, buf_str(&view));
    buf_fini(&view);
    return rc == 0 && out->p == NULL ? WOPR_E_NO_MEMORY : rc;
}

int wfc_definition(struct wfc *c, const struct wfc_obj *top) {
    if (c->env == NULL || c->env->definition_schema == NULL) return 0;
    struct schema_issue issue;
    struct buf view;
    struct str text = c->w->text;
    buf_init(&view, 2 * WF_TEXT_MAX);
    int rc = 0;
    if (needs_view(top)) {
        rc = definition_view(c, top, &view);
        text = buf_str(&view);
    }
    if (rc == 0) {
        memset(&issue, 0, sizeof(issue));
        rc = schema_validate_text(c->env->definition_schema, text, &issue);
        if (rc == WOPR_E_VALIDATION) wfc_fail(c, issue.instance, NULL, issue.reason);
        else if (rc != 0)
            wopr_error_set(c->err, rc, "workflow definition: cannot be checked against its schema");
    }
    buf_fini(&view);
    return rc;
}

int wfc_schema_add(struct wfc *c, struct str text, const char *pointer, const char *key,
                   const struct schema **out) {
    struct wfc_schema *s = ARENA_NEW(c->tmp, struct wfc_schema);
    if (s == NULL) return wfc_memory(c);
    s->text = text;
    s->out = out;
    s->uri = arena_printf(c->tmp, "wopr:workflow/%u", c->schemas_nr++);
    if (s->uri.p == NULL) return wfc_memory(c);
    wfc_pointer(s->pointer, pointer, str_c(key));
    *c->schemas_end = s;
    c->schemas_end = &s->next;
    return 0;
}

/* Keep the code of a schema failure but say where in the definition it is. */
static int definition_refused(struct wfc *c, const struct wfc_schema *s, int rc) {
    if (rc != WOPR_E_VALIDATION && rc != WOPR_E_SYNTAX) return rc;
    char what[sizeof(c->err->message)] = "not a usable JSON Schema or pattern";
    if (c->err != NULL && c->err->message[0] != '\0')
        snprintf(what, sizeof(what), "not a usable JSON Schema or pattern: %.300s",
                 c->err->message);
    return wfc_fail(c, s->pointer, NULL, what);
}

int wfc_schemas(struct wfc *c) {
    if (c->schemas == NULL) return 0;
    c->w->schemas = schema_set_new(false);
    if (c->w->schemas == NULL) return wfc_memory(c);
    for (struct wfc_schema *s = c->schemas; s != NULL; s = s->next) {
        int rc = schema_set_add(c->w->schemas, s->uri, s->text, c->err);
        if (rc != 0) return definition_refused(c, s, rc);
    }
    for (struct wfc_schema *s = c->schemas; s != NULL; s = s->next) {
        int rc = schema_compile(c->w->schemas, s->uri, s->out, c->err);
        if (rc != 0) return definition_refused(c, s, rc);
    }
    return 0;
}

/* OPT-5: a workflow must not accept keys that the host does not know. */
static int keys_known(struct wfc *c, struct str schema, const char *member) {
    char pointer[WF_POINTER_MAX];
    struct json_members m;
    struct str raw = json_get(schema, member);
    if (raw.p == NULL || json_type_of(raw) != JSON_OBJECT) return 0;
    int rc = json_members(raw, c->tmp, &m, c->err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        if (option_key_reserved(m.v[i].key) || option_key_vendor(m.v[i].key)) continue;
        snprintf(pointer, sizeof(pointer), "/configurableSchema/%s", member);
        wfc_pointer(pointer, pointer, m.v[i].key);
        rc = wfc_fail(c, pointer, NULL,
                      "no configurable key of this host; use a reserved key or <vendor>.<name>");
    }
    return rc;
}

int wfc_configurable(struct wfc *c, const struct wfc_obj *top) {
    struct str schema = STR_NONE;
    int rc = wfc_typed(c, top, "configurableSchema", JSON_OBJECT, &schema);
    if (rc != 0 || schema.p == NULL) return rc;
    rc = keys_known(c, schema, "properties");
    if (rc != 0) return rc;
    return wfc_schema_add(c, schema, "", "configurableSchema", &c->w->configurable_schema);
}
