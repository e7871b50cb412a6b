/*
 * handler.c: the run of a path, parameters, replies, validators of documents.
 */
#include "wire/common/handler.h"
#include "base/mem.h"
#include "codec/bytes.h"
#include "codec/jobj.h"

int wire_fail(struct http_call *c, const struct wopr_error *err) {
    http_fail(c, err);
    return HTTP_DONE;
}

/* text: n bytes for mem_free, or NULL when memory was short. */
static int text_reply(struct http_call *c, int status, char *text, size_t n) {
    if (!text) {
        struct wopr_error err;
        wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the answer");
        return wire_fail(c, &err);
    }
    c->user = text;
    c->user_free = mem_free;
    http_reply(c, status, str_n(text, n));
    return HTTP_DONE;
}

int wire_reply_buf(struct http_call *c, int status, struct buf *b) {
    size_t n = 0;
    char *text = buf_failed(b) ? NULL : buf_take(b, &n);
    if (!text) buf_fini(b);
    return text_reply(c, status, text, n);
}

int wire_reply_object(struct http_call *c, int status, struct jobj *o) {
    size_t n = 0;
    char *text = jobj_take(o, &n);
    return text_reply(c, status, text, n);
}

int wire_head_check(const struct run_head *head, struct wopr_error *err) {
    if (head->engine_version <= CURRENT_ENGINE_VERSION) return 0;
    int rc = wopr_error_set(err, WOPR_E_VERSION_MISMATCH,
                            "the run was written by a newer engine; upgrade this host to read it");
    struct jobj o;
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kstr(&o.w, "runId", head->run_id);
    jw_kint(&o.w, "persistedVersion", head->engine_version);
    jw_kint(&o.w, "currentVersion", CURRENT_ENGINE_VERSION);
    jobj_details(&o, err);
    return rc;
}

int wire_run_of(struct http_call *c, struct run_head *out, struct wopr_error *err) {
    struct str id = http_param(c, "runId");
    struct run_head head;
    /* A ticket is good for one run only. */
    if (id.n == 0 || id.n > WIRE_ID_CHARS ||
        (c->who.ticket_run_no > 0 && !str_eq(id, c->who.ticket_run_id)))
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    int rc = store_run_head(wire_of(c)->store, c->who.tenant, c->who.test_mode, id, c->arena, &head,
                            err);
    if (rc != 0) return rc;
    if (c->who.ticket_run_no > 0 && head.run_no != c->who.ticket_run_no)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    rc = wire_head_check(&head, err);
    if (rc != 0) return rc;
    *out = head;
    return 0;
}

int wire_int_param(const struct http_call *c, const char *name, int64_t min, int64_t max,
                   int64_t absent, int64_t *out, struct wopr_error *err) {
    bool found = false;
    struct str s = http_query(c, name, &found);
    uint64_t v = 0;
    if (!found) {
        *out = absent;
        return 0;
    }
    if (str_u64(s, &v) && v <= (uint64_t)max && (int64_t)v >= min) {
        *out = (int64_t)v;
        return 0;
    }
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, "%s must be an integer in its range", name);
    struct jobj o;
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kstrz(&o.w, "parameter", name);
    jw_kint(&o.w, "minimum", min);
    if (max <= INT32_MAX) jw_kint(&o.w, "maximum", max);
    jobj_details(&o, err);
    return rc;
}

int wire_param_error(struct wopr_error *err, const char *name, const char *message) {
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, "%s", message);
    jobj_details_str(err, "parameter", name);
    return rc;
}

int wire_header_error(struct wopr_error *err, const char *name, const char *message) {
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, "%s", message);
    jobj_details_str(err, "header", name);
    return rc;
}

bool wire_etag_matches(struct str list, struct str etag) {
    struct str one, rest = list;
    bool again = list.n > 0;
    while (again) {
        again = str_cut(rest, ',', &one, &rest);
        if (!again) one = rest;
        one = str_trim(one);
        if (str_starts(one, STR("W/"))) one = str_n(one.p + 2, one.n - 2);
        if (str_eq(one, etag) || str_eq(one, STR("*"))) return true;
    }
    return false;
}

int wire_reply_document(struct http_call *c, struct str body, struct str etag,
                        const char *cache_control) {
    c->cache_control = cache_control;
    http_reply_header(c, "ETag", etag);
    /* A 304 has no body but carries the length of the one it stands for (RFC 9110 8.6). */
    http_reply(c, wire_etag_matches(http_header(c, "If-None-Match"), etag) ? 304 : 200, body);
    return HTTP_DONE;
}

struct str wire_etag_of(struct str bytes, struct arena *a) {
    char hex[65];
    struct sha256 d = sha256_of(bytes);
    sha256_hex(&d, hex);
    return arena_printf(a, "\"%.32s\"", hex);
}
