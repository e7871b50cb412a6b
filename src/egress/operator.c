/* operator.c: see operator.h. */
#include "egress/operator.h"
#include "base/mem.h"

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

static void request_fill(CURL *c, const struct operator_request *r, const char *url,
                         struct curl_slist *list) {
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
    if (!r->body.p) return;
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body.p);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
}

static CURLcode request_perform(CURL *c, const struct operator_request *r, const char *url,
                                struct curl_slist *list, struct buf *body) {
    request_fill(c, r, url, list);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body_take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
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

/* --- links --- */

enum { LINK_CONNECT_S = 10, LINK_POLL_MS = 1000 };
#define EVENT_STREAM "text/event-stream"

struct operator_link {
    CURLM *multi;
    CURL *easy;
    const struct operator_sink *sink; /* of the request under way */
    bool begun, enough;
};

int operator_link_new(struct operator_link **out, struct wopr_error *err) {
    int rc = curl_late(err);
    if (rc != 0) return rc;
    struct operator_link *l = MEM_NEW(struct operator_link);
    if (l) {
        l->multi = curl_multi_init();
        l->easy = curl_easy_init();
    }
    if (l && l->multi && l->easy) {
        *out = l;
        return 0;
    }
    operator_link_free(l);
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
}

void operator_link_free(struct operator_link *l) {
    if (!l) return;
    if (l->easy) curl_easy_cleanup(l->easy);
    if (l->multi) (void)curl_multi_cleanup(l->multi);
    mem_free(l);
}

void operator_link_wake(struct operator_link *l) { (void)curl_multi_wakeup(l->multi); }

static int link_status(CURL *easy, bool *events) {
    long status = 0;
    const char *type = NULL;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    *events = type && strncmp(type, EVENT_STREAM, sizeof EVENT_STREAM - 1) == 0;
    return (int)status;
}

static size_t link_take(char *p, size_t size, size_t n, void *ctx) {
    struct operator_link *l = ctx;
    bool events;
    int status = link_status(l->easy, &events);
    if (!l->begun) l->sink->head(l->sink->ctx, status, events);
    l->begun = true;
    if (l->sink->take(l->sink->ctx, str_n(p, size * n))) return size * n;
    l->enough = true;
    return 0;
}

static CURLcode link_run(struct operator_link *l) {
    int running = 1, left;
    while (running > 0 && !atomic_load(l->sink->stop)) {
        if (curl_multi_perform(l->multi, &running) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
        if (running > 0) (void)curl_multi_poll(l->multi, NULL, 0, LINK_POLL_MS, NULL);
    }
    for (CURLMsg *m; (m = curl_multi_info_read(l->multi, &left)) != NULL;)
        if (m->msg == CURLMSG_DONE) return m->data.result;
    return CURLE_ABORTED_BY_CALLBACK;
}

static int link_verdict(const struct operator_link *l, CURLcode code,
                        const struct operator_request *r, struct wopr_error *err) {
    struct buf none;
    buf_init(&none, 0);
    if (code == CURLE_OK || l->enough) return 0;
    if (atomic_load(l->sink->stop)) return wopr_error_set(err, WOPR_E_CLOSED, "given up");
    return request_failed(code, r, &none, err);
}

int operator_link_send(struct operator_link *l, const struct operator_request *r,
                       const struct operator_sink *sink, int *status, struct wopr_error *err) {
    struct curl_slist *list = NULL;
    struct buf url;
    bool events;
    buf_init(&url, 4096);
    buf_addf(&url, "%s" STR_FMT, r->base, STR_ARG(r->path));
    int rc = 0;
    if (buf_failed(&url) || !headers_build(r, &list))
        rc = wopr_error_set(err, WOPR_E_CONFIG, "the address or the API key is too long");
    l->sink = sink;
    l->begun = l->enough = false;
    if (rc == 0) {
        request_fill(l->easy, r, url.p, list);
        curl_easy_setopt(l->easy, CURLOPT_CONNECTTIMEOUT, (long)LINK_CONNECT_S);
        curl_easy_setopt(l->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(l->easy, CURLOPT_LOW_SPEED_TIME, (long)OPERATOR_SILENCE_S);
        curl_easy_setopt(l->easy, CURLOPT_WRITEFUNCTION, link_take);
        curl_easy_setopt(l->easy, CURLOPT_WRITEDATA, l);
        bool added = curl_multi_add_handle(l->multi, l->easy) == CURLM_OK;
        CURLcode code = added ? link_run(l) : CURLE_OUT_OF_MEMORY;
        *status = link_status(l->easy, &events);
        if (added) (void)curl_multi_remove_handle(l->multi, l->easy);
        rc = link_verdict(l, code, r, err);
    }
    curl_slist_free_all(list);
    buf_fini(&url);
    return rc;
}
