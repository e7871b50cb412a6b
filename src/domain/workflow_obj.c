/*
 * workflow_obj.c: typed access to the members of a definition, with JSON pointers in every refusal.
 */
#include "domain/workflow_int.h"

#include <stdarg.h>
#include <stdio.h>

int wfc_fail(struct wfc *c, const char *pointer, const char *key, const char *what) {
    char at[WF_POINTER_MAX];
    if (key != NULL) wfc_pointer(at, pointer, str_c(key));
    else snprintf(at, sizeof(at), "%s", pointer);
    return wopr_error_at(c->err, WOPR_E_VALIDATION, at, "workflow definition: %s", what);
}

int wfc_too_many(struct wfc *c, const char *pointer, const char *key, size_t has, size_t max) {
    char what[96];
    snprintf(what, sizeof what, "has %zu elements and may have %zu; split the workflow", has, max);
    return wfc_fail(c, pointer, key, what);
}

int wfc_memory(struct wfc *c) {
    return wopr_error_set(c->err, WOPR_E_NO_MEMORY, "workflow definition: out of memory");
}

void wfc_pointer(char out[WF_POINTER_MAX], const char *prefix, struct str key) {
    size_t n = strlen(prefix);
    if (n > WF_POINTER_MAX - 4) n = WF_POINTER_MAX - 4;
    memmove(out, prefix, n);
    out[n++] = '/';
    for (size_t i = 0; i < key.n && n < WF_POINTER_MAX - 3; i++) {
        char ch = key.p[i];
        if (ch == '~' || ch == '/') {
            out[n++] = '~';
            out[n++] = ch == '~' ? '0' : '1';
        } else {
            out[n++] = ch;
        }
    }
    out[n] = '\0';
}

int wfc_obj(struct wfc *c, struct str raw, struct wfc_obj *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(o->pointer, sizeof(o->pointer), fmt, ap);
    va_end(ap);
    if (raw.p == NULL || json_type_of(raw) != JSON_OBJECT)
        return wfc_fail(c, o->pointer, NULL, "must be an object");
    return json_members(raw, c->tmp, &o->m, c->err);
}

struct str wfc_raw(const struct wfc_obj *o, const char *key) {
    const struct json_member *m = json_member_find(&o->m, key);
    return m == NULL ? STR_NONE : m->raw;
}

int wfc_typed(struct wfc *c, const struct wfc_obj *o, const char *key, enum json_type type,
              struct str *out) {
    static const char *const WHAT[] = {"must be null",     "must be a boolean",
                                       "must be a number", "must be a string",
                                       "must be an array", "must be an object"};
    struct str raw = wfc_raw(o, key);
    if (raw.p == NULL) return 0;
    if (json_type_of(raw) != type) return wfc_fail(c, o->pointer, key, WHAT[type]);
    *out = raw;
    return 0;
}

int wfc_str(struct wfc *c, const struct wfc_obj *o, const char *key, struct str *out) {
    struct str raw = STR_NONE;
    int rc = wfc_typed(c, o, key, JSON_STRING, &raw);
    if (rc != 0 || raw.p == NULL) return rc;
    struct str s = json_string(raw, c->w->arena);
    if (s.p == NULL) return wfc_memory(c);
    *out = s;
    return 0;
}

int wfc_need_str(struct wfc *c, const struct wfc_obj *o, const char *key, struct str *out) {
    struct str s = STR_NONE;
    int rc = wfc_str(c, o, key, &s);
    if (rc != 0) return rc;
    if (s.p == NULL) return wfc_fail(c, o->pointer, key, "is required");
    if (s.n == 0) return wfc_fail(c, o->pointer, key, "must not be empty");
    *out = s;
    return 0;
}

int wfc_bool(struct wfc *c, const struct wfc_obj *o, const char *key, bool *out) {
    struct str raw = STR_NONE;
    int rc = wfc_typed(c, o, key, JSON_BOOL, &raw);
    if (rc == 0 && raw.p != NULL) *out = str_eqc(raw, "true");
    return rc;
}

int wfc_int(struct wfc *c, const struct wfc_obj *o, const char *key, int64_t min, int64_t max,
            int64_t *out) {
    struct str raw = wfc_raw(o, key);
    int64_t v;
    if (raw.p == NULL) return 0;
    if (json_type_of(raw) != JSON_NUMBER || !json_int(raw, &v))
        return wfc_fail(c, o->pointer, key, "must be an integer");
    if (v < min || v > max) {
        char what[96];
        snprintf(what, sizeof what, "is out of range: %lld to %lld", (long long)min,
                 (long long)max);
        return wfc_fail(c, o->pointer, key, what);
    }
    *out = v;
    return 0;
}

int wfc_list(struct wfc *c, const struct wfc_obj *o, const char *key, size_t max,
             struct json_elements *out) {
    struct str raw = STR_NONE;
    *out = (struct json_elements){0};
    int rc = wfc_typed(c, o, key, JSON_ARRAY, &raw);
    if (rc != 0 || raw.p == NULL) return rc;
    rc = json_elements(raw, c->tmp, out, c->err);
    return rc == 0 && out->n > max ? wfc_too_many(c, o->pointer, key, out->n, max) : rc;
}

int wfc_unique(struct wfc *c, struct map *m, struct str name, void *value, const char *pointer,
               const char *key) {
    if (map_get(m, name) != NULL) return wfc_fail(c, pointer, key, "is used twice");
    return map_put(m, name, value, NULL) == 0 ? 0 : wfc_memory(c);
}

int wfc_word(struct str value, const char *const *words) {
    for (int i = 0; words[i] != NULL; i++)
        if (str_eqc(value, words[i])) return i;
    return -1;
}
