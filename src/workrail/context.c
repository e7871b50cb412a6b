/*
 * context.c: see context.h.
 */
#include "workrail/context.h"

static int context_wrong(struct wr_fault *f, const char *kind, const char *what) {
    int rc = wr_fail(f, WR_VALIDATION_ERROR, "context", "context: %s", what);
    wr_fault_details(
        f,
        "{\"kind\":\"%s\",\"suggestion\":\"Send context as an object of facts, or leave "
        "it out.\"}",
        kind);
    return rc;
}

static int context_size(struct str canonical, struct wr_fault *f) {
    if (canonical.n <= WR_CONTEXT_MAX) return 0;
    int rc = wr_fail(f, WR_VALIDATION_ERROR, "context",
                     "context: %zu bytes, at most %d are kept; pass references (paths, ids, links) "
                     "instead of contents",
                     canonical.n, WR_CONTEXT_MAX);
    wr_fault_details(f,
                     "{\"kind\":\"context_budget_exceeded\",\"maxBytes\":%d,\"measuredAs\":"
                     "\"jcs_utf8_bytes\",\"measuredBytes\":%zu,\"suggestion\":\"Pass references "
                     "(paths, ids, links) instead of contents.\"}",
                     WR_CONTEXT_MAX, canonical.n);
    return rc;
}

int wr_context_check(struct str raw, struct arena *a, struct str *out, struct wr_fault *f) {
    struct wr_fault own;
    struct str canonical;
    if (json_type_of(raw) != JSON_OBJECT)
        return context_wrong(f, "context_invalid_shape", "an object is due, with any JSON inside");
    if (json_depth(raw) > WR_CONTEXT_DEPTH_MAX)
        return context_wrong(f, "context_too_deep", "nested deeper than 64; make it flatter");
    int rc = wr_canonical(raw, &JSON_LIMITS_STORED, a, &canonical, &own);
    if (rc == WOPR_E_NO_MEMORY) return wr_no_memory(f);
    if (own.code == WR_CANONICAL_JSON_NON_FINITE_NUMBER && rc != 0)
        return context_wrong(f, "context_non_finite_number",
                             "a number is beyond what JSON carries");
    if (rc != 0)
        return context_wrong(f, "context_not_canonical_json", "it has no canonical form as JSON");
    rc = context_size(canonical, f);
    if (rc == 0) *out = canonical;
    return rc;
}

static bool context_forbidden(struct str key) {
    return str_eqc(key, "__proto__") || str_eqc(key, "constructor") || str_eqc(key, "prototype");
}

static void member_put(struct jw *w, const struct json_member *m) {
    jw_key_str(w, m->key);
    jw_raw(w, m->raw);
}

/* stored without what delta names, then delta without what it deletes. */
static void merge_write(const struct json_members *stored, struct json_members *delta,
                        struct jw *w) {
    jw_object(w);
    for (size_t i = 0; i < stored->n; i++)
        if (json_member_sorted(delta, stored->v[i].key) == NULL) member_put(w, &stored->v[i]);
    for (size_t i = 0; i < delta->n; i++)
        if (json_type_of(delta->v[i].raw) != JSON_NULL) member_put(w, &delta->v[i]);
    jw_end_object(w);
}

int wr_context_merge(struct str stored, struct str delta, struct arena *a, struct str *out,
                     bool *changed, struct wr_fault *f) {
    struct json_members old = {NULL, 0}, fresh = {NULL, 0};
    struct str merged;
    struct buf b;
    struct jw w;
    if ((stored.p != NULL && json_members(stored, a, &old, NULL) != 0) ||
        json_members(delta, a, &fresh, NULL) != 0)
        return wr_no_memory(f);
    for (size_t i = 0; i < fresh.n; i++)
        if (context_forbidden(fresh.v[i].key))
            return context_wrong(f, "context_invalid_shape",
                                 "the keys __proto__, constructor and prototype are not kept");
    json_members_sort(&fresh);
    buf_init(&b, (size_t)16 * WR_CONTEXT_MAX);
    jw_init(&w, &b);
    merge_write(&old, &fresh, &w);
    int rc = buf_failed(&b) ? wr_no_memory(f)
                            : wr_canonical(buf_str(&b), &JSON_LIMITS_STORED, a, &merged, f);
    buf_fini(&b);
    if (rc == 0) rc = context_size(merged, f);
    if (rc != 0) return rc;
    *changed = stored.p != NULL ? !str_eq(merged, stored) : merged.n > 2;
    *out = merged;
    return 0;
}
