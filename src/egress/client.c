/*
 * client.c: the thread that drives libcurl's multi interface, see egress.h.
 */
#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "egress/egress.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRANSFERS_DEFAULT  256u
#define QUEUE_DEFAULT      4096u
#define CONNECT_MS_DEFAULT 10000
#define TIMEOUT_MS_MAX     600000
#define POLL_MS            1000
#define HEADER_LINE_MAX    (16u * 1024)

struct transfer {
    struct list link; /* in queue or active */
    struct egress *e;
    CURL *easy; /* made on the egress thread */
    struct curl_slist *headers;
    char *method, *url, *body;
    size_t body_n;
    int timeout_ms;
    struct buf answer;
    bool special; /* plain http or another port than 443: listed addresses only */
    bool once;    /* not idempotent: never sent again on a second connection */
    bool refused; /* the guard stopped a socket */
    bool too_big;
    egress_done_fn *done;
    void *ctx;
};
struct egress {
    struct egress_config cfg;
    char *user_agent;
    CURLM *multi;
    pthread_t thread;
    bool threads_up;
    pthread_mutex_t mu;
    struct list queue;         /* (mu) */
    size_t queue_nr;           /* (mu) */
    bool stopping;             /* (mu) */
    struct list active;        /* the thread's */
    size_t active_nr;          /* (mu) written by the thread */
    struct egress_stats stats; /* (mu) */
    struct log_gate refused_gate;
};

/* --- requests in --- */

static void transfer_free(struct transfer *t) {
    if (!t) return;
    if (t->easy) curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    mem_free(t->method);
    mem_free(t->url);
    mem_free(t->body);
    buf_fini(&t->answer);
    mem_free(t);
}

static bool token_ok(struct str s) {
    static const char OTHER[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && (c == '\0' || !strchr(OTHER, c))) return false;
    }
    return s.n > 0;
}

/* Framing and routing belong to the client. */
static bool header_ours(struct str name) {
    static const char *const OURS[] = {"host",       "content-length", "transfer-encoding",
                                       "connection", "expect",         "te",
                                       "upgrade",    "trailer",        "proxy-authorization"};
    for (size_t i = 0; i < sizeof OURS / sizeof *OURS; i++)
        if (str_eq_nocase(name, str_c(OURS[i]))) return true;
    return false;
}

static int header_add(struct transfer *t, struct str name, struct str value,
                      struct wopr_error *err) {
    if (!token_ok(name) || header_ours(name))
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "a request header has a name that is malformed or not allowed");
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 && value.p[i] != '\t')
            return wopr_error_set(err, WOPR_E_VALIDATION,
                                  "a request header has control characters in its value");
    struct buf b;
    buf_init(&b, HEADER_LINE_MAX);
    buf_adds(&b, name);
    buf_addz(&b, value.n > 0 ? ": " : ";"); /* libcurl's spelling of an empty value */
    buf_adds(&b, value);
    struct curl_slist *l = buf_failed(&b) ? NULL : curl_slist_append(t->headers, b.p);
    buf_fini(&b);
    if (!l) return wopr_error_set(err, WOPR_E_TOO_BIG, "a request header is too long");
    t->headers = l;
    return 0;
}

static bool method_ok(struct str m) {
    static const char *const KNOWN[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (str_eqc(m, KNOWN[i])) return true;
    return false;
}

static int fill(struct transfer *t, const struct egress_request *r, struct wopr_error *err) {
    int rc = egress_url_check(r->url, &t->e->cfg.allow, err);
    if (rc != 0) return rc;
    if (!method_ok(r->method))
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "the method is none of GET, POST, PUT, PATCH and DELETE");
    if (r->timeout_ms < 1 || r->timeout_ms > TIMEOUT_MS_MAX)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the timeout is not 1 to %d milliseconds",
                              TIMEOUT_MS_MAX);
    if (r->headers_nr > EGRESS_HEADERS_MAX || r->body.n > EGRESS_BODY_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG,
                              "the request has too many headers or too long a "
                              "body");
    for (size_t i = 0; i < r->headers_nr; i++) {
        rc = header_add(t, r->headers[i].name, r->headers[i].value, err);
        if (rc != 0) return rc;
    }
    struct curl_slist *l = curl_slist_append(t->headers, "Expect:"); /* no 100-continue */
    if (l) t->headers = l;
    t->method = mem_strndup(r->method.p, r->method.n);
    t->url = mem_strndup(r->url.p, r->url.n);
    t->body = mem_strndup(r->body.n > 0 ? r->body.p : "", r->body.n);
    if (!l || !t->method || !t->url || !t->body)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    t->body_n = r->body.n;
    t->timeout_ms = r->timeout_ms;
    t->once = str_eqc(r->method, "POST") || str_eqc(r->method, "PATCH");
    size_t max = r->response_max > 0 && r->response_max < EGRESS_RESPONSE_MAX ? r->response_max
                                                                              : EGRESS_RESPONSE_MAX;
    buf_init(&t->answer, max);
    return 0;
}

int egress_submit(struct egress *e, const struct egress_request *req, egress_done_fn *done,
                  void *ctx, struct wopr_error *err) {
    struct transfer *t = MEM_NEW(struct transfer);
    if (!t) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    t->e = e;
    t->done = done;
    t->ctx = ctx;
    buf_init(&t->answer, 1);
    int rc = fill(t, req, err);
    if (rc == 0) {
        pthread_mutex_lock(&e->mu);
        if (e->stopping || !e->threads_up)
            rc = wopr_error_set(err, WOPR_E_CLOSED, "the host is shutting down");
        else if (e->queue_nr >= e->cfg.queue_max)
            rc = wopr_error_set(err, WOPR_E_UNAVAILABLE, "too many outgoing requests wait");
        if (rc == 0) {
            list_add_tail(&e->queue, &t->link);
            e->queue_nr++;
            e->stats.started++;
        }
        pthread_mutex_unlock(&e->mu);
    }
    if (rc == 0) (void)curl_multi_wakeup(e->multi);
    else transfer_free(t);
    return rc;
}

/* --- on the thread --- */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *sa) {
    struct transfer *t = ctx;
    bool listed = false;
    if (purpose != CURLSOCKTYPE_IPCXN ||
        !egress_address_ok((const struct sockaddr *)&sa->addr, &t->e->cfg.allow, &listed) ||
        (t->special && !listed)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
}

static size_t take_body(char *p, size_t size, size_t n, void *ctx) {
    struct transfer *t = ctx;
    buf_add(&t->answer, p, size * n);
    if (!buf_failed(&t->answer)) return size * n;
    t->too_big = true;
    return 0;
}

/* What an URL may not have without the allow list, decided again from libcurl's own reading. */
static bool needs_listing(const char *url) {
    char *scheme = NULL, *port = NULL;
    CURLU *h = curl_url();
    bool special = true;
    if (h && curl_url_set(h, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(h, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(h, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
        special = strcmp(scheme, "https") != 0 || strcmp(port, "443") != 0;
    curl_free(scheme);
    curl_free(port);
    curl_url_cleanup(h);
    return special;
}

static bool prepare(struct transfer *t) {
    CURL *c = t->easy = curl_easy_init();
    if (!c) return false;
    t->special = needs_listing(t->url);
    bool ok = curl_easy_setopt(c, CURLOPT_URL, t->url) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_PROXY, "") == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)t->timeout_ms) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)t->e->cfg.connect_timeout_ms) ==
                   CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_USERAGENT, t->e->user_agent) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_WRITEDATA, t) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_PRIVATE, t) == CURLE_OK;
    ok = ok && curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, t->method) == CURLE_OK;
    if (t->once) { /* libcurl repeats a request whose kept connection died; not these */
        ok = ok && curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK;
        ok = ok && curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK;
    }
    if (t->body_n > 0 || t->once) {
        ok = ok && curl_easy_setopt(c, CURLOPT_POSTFIELDS, t->body) == CURLE_OK;
        ok = ok && curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)t->body_n) == CURLE_OK;
    }
    return ok && curl_multi_add_handle(t->e->multi, c) == CURLM_OK;
}

static int neutral(const struct transfer *t, CURLcode code) {
    if (t->too_big) return WOPR_E_TOO_BIG;
    switch (code) {
    case CURLE_OK:
        return 0;
    case CURLE_OUT_OF_MEMORY:
        return WOPR_E_NO_MEMORY;
    case CURLE_OPERATION_TIMEDOUT:
        return WOPR_E_TIMEOUT;
    case CURLE_COULDNT_CONNECT:
        return t->refused ? WOPR_E_EGRESS_REFUSED : WOPR_E_UNREACHABLE;
    default:
        return WOPR_E_UNREACHABLE;
    }
}

static void tell_refused(struct egress *e) {
    char more[24];
    uint64_t held;
    if (!log_gate_pass(&e->refused_gate, &held)) return;
    (void)snprintf(more, sizeof more, "%llu", (unsigned long long)held);
    log_warn("an outgoing request was refused: its address is not public; an operator can "
             "allow it with --egress-allow",
             "notTold", more);
}

/* Takes the transfer out, tells its owner, frees it. */
static void finish(struct transfer *t, int rc, const char *why) {
    struct egress *e = t->e;
    struct egress_response r = {.rc = rc, .untouched = true, .message = why};
    if (t->easy) {
        long status = 0, sent = 0;
        const char *type = NULL;
        (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
        (void)curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
        r.untouched = sent == 0;
        r.status = rc == 0 ? (int)status : 0;
        r.content_type = rc == 0 && type ? str_c(type) : STR_NONE;
    }
    if (rc == 0) r.body = buf_str(&t->answer);
    if (rc == WOPR_E_EGRESS_REFUSED) {
        r.message = "the address of the URL lies in a private or reserved network";
        tell_refused(e);
    }
    t->done(t->ctx, &r);
    pthread_mutex_lock(&e->mu);
    if (t->easy) e->active_nr--;
    if (rc == 0) e->stats.answered++;
    else if (rc == WOPR_E_EGRESS_REFUSED) e->stats.refused++;
    else e->stats.failed++;
    pthread_mutex_unlock(&e->mu);
    list_del(&t->link);
    if (t->easy) (void)curl_multi_remove_handle(e->multi, t->easy);
    transfer_free(t);
}

static struct transfer *take_next(struct egress *e, bool *stopping) {
    struct transfer *t = NULL;
    pthread_mutex_lock(&e->mu);
    *stopping = e->stopping;
    if (!e->stopping && e->active_nr < e->cfg.transfers_max && !list_empty(&e->queue)) {
        t = LIST_ENTRY(list_pop(&e->queue), struct transfer, link);
        e->queue_nr--;
    }
    pthread_mutex_unlock(&e->mu);
    return t;
}

static bool begin_waiting(struct egress *e) {
    struct transfer *t;
    bool stopping;
    while ((t = take_next(e, &stopping)) != NULL) {
        list_add_tail(&e->active, &t->link);
        bool ok = prepare(t);
        if (t->easy) {
            pthread_mutex_lock(&e->mu);
            e->active_nr++;
            pthread_mutex_unlock(&e->mu);
        }
        if (!ok) finish(t, WOPR_E_NO_MEMORY, "no memory for an outgoing request");
    }
    return !stopping;
}

static void collect(struct egress *e) {
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(e->multi, &left)) != NULL) {
        struct transfer *t = NULL;
        CURLcode code = m->data.result;
        if (m->msg != CURLMSG_DONE ||
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t) != CURLE_OK || !t)
            continue;
        finish(t, neutral(t, code), code == CURLE_OK ? "" : curl_easy_strerror(code));
    }
}

static void end_all(struct egress *e) {
    struct list *l;
    while (!list_empty(&e->active)) {
        l = e->active.next;
        finish(LIST_ENTRY(l, struct transfer, link), WOPR_E_CLOSED, "the host is shutting down");
    }
    for (;;) {
        pthread_mutex_lock(&e->mu);
        l = list_pop(&e->queue);
        if (l) e->queue_nr--;
        pthread_mutex_unlock(&e->mu);
        if (!l) return;
        finish(LIST_ENTRY(l, struct transfer, link), WOPR_E_CLOSED, "the host is shutting down");
    }
}

static void *egress_main(void *arg) {
    struct egress *e = arg;
    int running;
    thread_name("egress");
    while (begin_waiting(e)) {
        (void)curl_multi_perform(e->multi, &running);
        collect(e);
        (void)curl_multi_poll(e->multi, NULL, 0, POLL_MS, NULL);
    }
    end_all(e);
    return NULL;
}

/* --- life --- */

int egress_new(const struct egress_config *cfg, struct egress **out, struct wopr_error *err) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "libcurl cannot be initialised");
    struct egress *e = MEM_NEW(struct egress);
    if (e) {
        e->cfg = *cfg;
        list_init(&e->queue);
        list_init(&e->active);
        pthread_mutex_init(&e->mu, NULL);
        const char *agent = cfg->user_agent ? cfg->user_agent : "wopr";
        e->user_agent = mem_strndup(agent, strlen(agent));
        e->multi = curl_multi_init();
        if (e->cfg.transfers_max == 0) e->cfg.transfers_max = TRANSFERS_DEFAULT;
        if (e->cfg.queue_max == 0) e->cfg.queue_max = QUEUE_DEFAULT;
        if (e->cfg.connect_timeout_ms <= 0) e->cfg.connect_timeout_ms = CONNECT_MS_DEFAULT;
    } else {
        curl_global_cleanup();
    }
    if (!e || !e->multi || !e->user_agent) {
        egress_free(e);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for outgoing requests");
    }
    *out = e;
    return 0;
}

int egress_start(struct egress *e, struct wopr_error *err) {
    pthread_mutex_lock(&e->mu);
    e->threads_up = pthread_create(&e->thread, NULL, egress_main, e) == 0;
    bool up = e->threads_up;
    pthread_mutex_unlock(&e->mu);
    return up ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no thread for outgoing requests");
}

void egress_stop(struct egress *e) {
    pthread_mutex_lock(&e->mu);
    bool up = e->threads_up;
    e->stopping = true;
    e->threads_up = false;
    pthread_mutex_unlock(&e->mu);
    if (!up) return;
    (void)curl_multi_wakeup(e->multi);
    pthread_join(e->thread, NULL);
}

void egress_free(struct egress *e) {
    if (!e) return;
    egress_stop(e);
    if (e->multi) curl_multi_cleanup(e->multi);
    pthread_mutex_destroy(&e->mu);
    mem_free(e->user_agent);
    mem_free(e);
    curl_global_cleanup();
}

const struct egress_allow *egress_allowed(const struct egress *e) { return &e->cfg.allow; }

void egress_stats(struct egress *e, struct egress_stats *out) {
    pthread_mutex_lock(&e->mu);
    *out = e->stats;
    out->active = e->active_nr;
    out->queued = e->queue_nr;
    pthread_mutex_unlock(&e->mu);
}
