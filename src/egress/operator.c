/* operator.c: see operator.h. */
#include "egress/operator.h"

#include "egress/curl_late.h"

#include <stdio.h>

enum { ANSWER_MAX = 64 * 1024 * 1024, HEADER_MAX = 1024 };

static size_t body_take(char *p, size_t size, size_t n, void *ctx) {
    struct buf *b = ctx;
    buf_add(b, p, size * n);
    return buf_failed(b) ? 0 : size * n;
}

static int request_failed(CURLcode rc, const struct operator_request *r, const struct buf *body,
                          struct wopr_error *err) {
    if (rc == CURLE_WRITE_ERROR && buf_failed(body))
        return wopr_error_set(err, WOPR_E_TOO_BIG, "the answer of %s is too big", r->base);
    if (rc == CURLE_URL_MALFORMAT || rc == CURLE_UNSUPPORTED_PROTOCOL)
        return wopr_error_set(err, WOPR_E_CONFIG, "%s is no http or https address", r->base);
    if (rc == CURLE_OUT_OF_MEMORY) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    return wopr_error_set(err, WOPR_E_IO, "cannot reach a host at %s: %s; is it running?", r->base,
                          curl_easy_strerror(rc));
}

static bool header_add(struct curl_slist **list, const char *name, const char *value) {
    char line[HEADER_MAX];
    int n = snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *more =
        n > 0 && (size_t)n < sizeof line ? curl_slist_append(*list, line) : NULL;
    if (!more) return false;
    *list = more;
    return true;
}

static bool headers_build(const struct operator_request *r, struct curl_slist **list) {
    char bearer[HEADER_MAX];
    int n = r->key ? snprintf(bearer, sizeof bearer, "Bearer %s", r->key) : 0;
    if (n < 0 || (size_t)n >= sizeof bearer) return false;
    if (r->key && !header_add(list, "Authorization", bearer)) return false;
    const char *type = r->content_type ? r->content_type : "application/json";
    if (r->body.p && !header_add(list, "Content-Type", type)) return false;
    for (const char *const *h = r->headers; h && *h; h++) {
        struct curl_slist *more = curl_slist_append(*list, *h);
        if (!more) return false;
        *list = more;
    }
    return !r->idempotency_key || header_add(list, "Idempotency-Key", r->idempotency_key);
}

static CURLcode request_perform(CURL *c, const struct operator_request *r, const char *url,
                                struct curl_slist *list, struct buf *body) {
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body_take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
    if (r->body.p) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body.p);
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
    }
    return curl_easy_perform(c);
}

int operator_ask(const struct operator_request *r, struct arena *a, struct operator_answer *out,
                 struct wopr_error *err) {
    struct curl_slist *list = NULL;
    struct buf body;
    long status = 0;
    struct str url = arena_printf(a, "%s" STR_FMT, r->base, STR_ARG(r->path));
    int rc = curl_late(err);
    if (rc != 0) return rc;
    CURL *c = url.p ? curl_easy_init() : NULL;
    if (!c) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    buf_init(&body, ANSWER_MAX);
    rc = headers_build(r, &list)
             ? 0
             : wopr_error_set(err, WOPR_E_CONFIG, "the API key is too long for a header");
    if (rc == 0) {
        CURLcode code = request_perform(c, r, url.p, list, &body);
        if (code != CURLE_OK) rc = request_failed(code, r, &body, err);
    }
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    struct str text = rc == 0 ? arena_str(a, buf_str(&body)) : STR_NONE;
    if (rc == 0 && !text.p) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    if (rc == 0) *out = (struct operator_answer){.status = (int)status, .body = text};
    buf_fini(&body);
    curl_slist_free_all(list);
    curl_easy_cleanup(c);
    return rc;
}
