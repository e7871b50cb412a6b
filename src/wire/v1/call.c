/*
 * call.c: helpers that every handler uses: runs by path, parameters, validators of
 * documents.
 */
#include "base/mem.h"
#include "wire/v1/wire_int.h"

int v1_fail(struct http_call *c, const struct wopr_error *err) {
    http_fail(c, err);
    return HTTP_DONE;
}

int v1_reply_buf(struct http_call *c, int status, struct buf *b) {
    if (buf_failed(b)) {
        struct wopr_error err;
        buf_fini(b);
        wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the answer");
        return v1_fail(c, &err);
    }
    size_t n;
    char *p = buf_take(b, &n);
    if (!p) {
        struct wopr_error err;
        wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for the answer");
        return v1_fail(c, &err);
    }
    c->user = p;
    c->user_free = mem_free;
    http_reply(c, status, str_n(p, n));
    return HTTP_DONE;
}

int v1_head_check(const struct run_head *head, struct wopr_error *err) {
    if (head->engine_version <= CURRENT_ENGINE_VERSION) return 0;
    int rc = wopr_error_set(err, WOPR_E_VERSION_MISMATCH,
                            "the run was written by a newer engine; upgrade this host to read it");
    wopr_error_details(err,
                       "{\"runId\":\"" STR_FMT "\",\"persistedVersion\":%d,\"currentVersion\":%d}",
                       STR_ARG(head->run_id), (int)head->engine_version, CURRENT_ENGINE_VERSION);
    return rc;
}

int v1_call_run(struct http_call *c, struct run_head *out, struct wopr_error *err) {
    struct v1 *v = v1_of(c);
    struct str id = http_param(c, "runId");
    struct run_head head;
    /* A ticket opens one run's stream and nothing else. */
    if (id.n == 0 || id.n > V1_ID_CHARS ||
        (c->who.ticket_run_no > 0 && !str_eq(id, c->who.ticket_run_id)))
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    int rc = store_run_head(v->store, c->who.tenant, c->who.test_mode, id, c->arena, &head, err);
    if (rc != 0) return rc;
    if (c->who.ticket_run_no > 0 && head.run_no != c->who.ticket_run_no)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    rc = v1_head_check(&head, err);
    if (rc != 0) return rc;
    *out = head;
    return 0;
}

int v1_int_param(const struct http_call *c, const char *name, int64_t min, int64_t max,
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
    if (max > INT32_MAX)
        wopr_error_details(err, "{\"parameter\":\"%s\",\"minimum\":%lld}", name, (long long)min);
    else
        wopr_error_details(err, "{\"parameter\":\"%s\",\"minimum\":%lld,\"maximum\":%lld}", name,
                           (long long)min, (long long)max);
    return rc;
}

bool v1_etag_matches(struct str list, struct str etag) {
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

int v1_reply_document(struct http_call *c, struct str body, struct str etag,
                      const char *cache_control) {
    c->cache_control = cache_control;
    http_reply_header(c, "ETag", etag);
    /* A 304 has no body but tells the length of the one it stands for (RFC 9110 8.6). */
    http_reply(c, v1_etag_matches(http_header(c, "If-None-Match"), etag) ? 304 : 200, body);
    return HTTP_DONE;
}

struct str v1_etag_of(struct str bytes, struct arena *a) {
    char hex[65];
    struct sha256 d = sha256_of(bytes);
    sha256_hex(&d, hex);
    return arena_printf(a, "\"%.32s\"", hex);
}

/* What stands behind "https://" or "http://", the scheme in any case (RFC 3986 3.1). */
static bool scheme_skip(struct str url, struct str *rest) {
    static const char *const SCHEMES[] = {"https://", "http://"};
    for (size_t i = 0; i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
        size_t n = strlen(SCHEMES[i]);
        if (url.n < n || !str_eq_nocase(str_n(url.p, n), str_c(SCHEMES[i]))) continue;
        *rest = str_n(url.p + n, url.n - n);
        return true;
    }
    return false;
}

/* host[:port]; the colons of an IPv6 address stand in brackets.  No user information. */
static bool authority_valid(struct str s) {
    struct str port = STR_NONE, host = s;
    uint64_t number = 0;
    size_t from = 0;
    if (memchr(s.p, '@', s.n)) return false;
    if (s.p[0] == '[') {
        const char *end = memchr(s.p, ']', s.n);
        if (!end) return false;
        from = (size_t)(end - s.p) + 1;
        if (from < s.n && s.p[from] != ':') return false;
    }
    const char *colon = memchr(s.p + from, ':', s.n - from);
    if (colon) {
        host = str_n(s.p, (size_t)(colon - s.p));
        port = str_n(colon + 1, s.n - host.n - 1);
    }
    return host.n > 0 && (port.n == 0 || (str_u64(port, &number) && number <= UINT16_MAX));
}

bool v1_callback_url_valid(struct str url) {
    struct str rest;
    if (url.n > V1_URL_BYTES || !scheme_skip(url, &rest)) return false;
    size_t host = 0;
    while (host < rest.n && !memchr("/?#", rest.p[host], 3)) host++;
    if (host == 0 || !authority_valid(str_n(rest.p, host))) return false;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= 0x20 || rest.p[i] >= 0x7f || memchr("\"<>\\^`{|}", rest.p[i], 9))
            return false;
    return true;
}
