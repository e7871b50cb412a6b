/*
 * request.c: a request from its first line to its answer, in the order of HTTP-11.
 *
 * libmicrohttpd calls request_access once with the head, then with pieces of the body, then once
 * more.  Everything up to the scope check happens at the head, so that a refused caller's body is
 * never kept.  A refusal of a small body is answered after reading past it, which keeps the
 * connection; otherwise at once, which closes it.
 */
#include "base/clock.h"
#include "base/log.h"
#include "http/http_internal.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void split_target(struct call *c) {
    struct str t = c->target;
    if (t.n > 0 && t.p[0] != '/') { /* absolute form: the authority is not ours to judge */
        size_t skip = str_starts(t, STR("http://")) ? 7 : str_starts(t, STR("https://")) ? 8 : 0;
        const char *slash = skip > 0 ? memchr(t.p + skip, '/', t.n - skip) : NULL;
        if (slash) t = str_n(slash, t.n - (size_t)(slash - t.p));
    }
    if (!str_cut(t, '?', &c->pub.path, &c->raw_query)) c->pub.path = t;
}

void *request_uri(void *cls, const char *uri, struct MHD_Connection *conn) {
    struct call *c = call_new(cls, conn);
    if (!c) return NULL;
    c->target = arena_str(c->pub.arena, str_c(uri));
    split_target(c);
    return c;
}

void request_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
                       enum MHD_RequestTerminationCode why) {
    (void)cls, (void)conn, (void)why;
    struct call *c = *con_cls;
    *con_cls = NULL;
    if (!c) return;
    ASSERT(c->magic == CALL_MAGIC);
    call_finish(c);
}

/* --- the head --- */

static void take_length(struct call *c, struct str v) {
    c->has_length = str_u64(v, &c->body_declared);
}

/* One pass over the headers that the server itself reads. */
static enum MHD_Result take_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                   size_t key_n, const char *value, size_t value_n) {
    (void)kind;
    struct call *c = cls;
    struct str k = str_n(key, key_n), v = value ? str_n(value, value_n) : STR_NONE;
    switch (key_n) {
    case 4:
        if (str_eq_nocase(k, STR("Host"))) c->host = v;
        break;
    case 6:
        if (str_eq_nocase(k, STR("Origin"))) c->origin = v;
        else if (str_eq_nocase(k, STR("Expect"))) c->expects_continue = true;
        break;
    case 11:
        if (str_eq_nocase(k, STR("traceparent")) && traceparent_valid(v)) c->pub.traceparent = v;
        break;
    case 12:
        if (str_eq_nocase(k, STR("Content-Type"))) c->content_type = v;
        break;
    case 13:
        if (str_eq_nocase(k, STR("Authorization"))) c->authorization = v, c->authorizations++;
        break;
    case 14:
        if (str_eq_nocase(k, STR("Content-Length"))) take_length(c, v);
        break;
    case 15:
        if (str_eq_nocase(k, STR("Idempotency-Key"))) c->idempotency_key = v.p ? v : STR("");
        else if (str_eq_nocase(k, STR("OpenWOP-Version"))) c->version_header = v;
        break;
    case 17:
        if (str_eq_nocase(k, STR("Transfer-Encoding"))) c->chunked = true;
        break;
    default:
        break;
    }
    return MHD_YES;
}

static int refuse_for_now(struct call *c, enum metric_refusal reason, const char *why,
                          struct wopr_error *err) {
    c->refusal = reason;
    (void)wopr_error_set(err, WOPR_E_UNAVAILABLE, "%s; retry later", why);
    wopr_error_details(err, "{\"retryAfter\":1}");
    return WOPR_E_UNAVAILABLE;
}

int refuse_draining(struct call *c, struct wopr_error *err) {
    c->close_after = true;
    return refuse_for_now(c, REFUSED_DRAINING, "the host is shutting down", err);
}

static int admit(struct call *c, struct wopr_error *err) {
    struct http_server *s = c->pub.server;
    if (server_draining(s)) return refuse_draining(c, err);
    if (atomic_fetch_add(&s->in_flight, 1) >= s->cfg.requests_max) {
        atomic_fetch_sub(&s->in_flight, 1);
        return refuse_for_now(c, REFUSED_CAPACITY, "the host is at capacity", err);
    }
    c->admitted = true;
    return 0;
}

static int find_route(struct call *c, struct wopr_error *err) {
    struct route r;
    int rc = router_match(c->pub.server->router, c->pub.method, c->pub.path, c->pub.arena, &r, err);
    c->allow = r.allow;
    if (rc != 0) return rc;
    c->pub.op = r.op;
    c->op_no = r.op_no;
    memcpy(c->pub.params, r.params, sizeof r.params);
    c->pub.params_nr = r.params_nr;
    c->query_rc = uri_query(c->pub.arena, c->raw_query, &c->pub.query, &c->pub.query_nr, err);
    return c->query_rc == WOPR_E_NO_MEMORY ? c->query_rc : 0;
}

enum { LIMIT_WHO_BYTES = 9 };

/* The address as a bucket of the limiter (an IPv6 client owns its /64).  Token routes have buckets
 * of their own: a client that hammers discovery can still deliver its events. */
static struct str limit_address(struct call *c, char out[LIMIT_WHO_BYTES]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    out[0] = (c->pub.op->flags & OP_TOKEN) != 0 ? 't' : 'd';
    if (info && info->client_addr && info->client_addr->sa_family == AF_INET) {
        memcpy(&v4, info->client_addr, sizeof v4);
        memcpy(out + 1, &v4.sin_addr, sizeof v4.sin_addr);
        return str_n(out, 1 + sizeof v4.sin_addr);
    }
    if (info && info->client_addr && info->client_addr->sa_family == AF_INET6) {
        memcpy(&v6, info->client_addr, sizeof v6);
        memcpy(out + 1, &v6.sin6_addr, LIMIT_WHO_BYTES - 1);
        return str_n(out, LIMIT_WHO_BYTES);
    }
    return str_n(out, 1);
}

/* Who is counted: the key, or for public operations the address. */
static int limit_rate(struct call *c, struct wopr_error *err) {
    struct http_server *s = c->pub.server;
    struct limit_state st = {0};
    if ((c->pub.op->flags & OP_ADDRESS_LIMIT) == 0) {
        if (!c->pub.who.authenticated || limiter_take(s->key_limiter, c->pub.who.key_id, &st))
            return 0;
        c->refusal = REFUSED_KEY_RATE;
        return limiter_refuse(&st, "key", err);
    }
    if (!s->address_limiter) return 0;
    char who[LIMIT_WHO_BYTES];
    if (limiter_take(s->address_limiter, limit_address(c, who), &st)) return 0;
    c->refusal = REFUSED_ADDRESS_RATE;
    return limiter_refuse(&st, "route", err);
}

static bool is_options(const struct call *c) { return str_eq(c->pub.method, STR("OPTIONS")); }

static int check_head(struct call *c, struct wopr_error *err) {
    struct http_server *s = c->pub.server;
    const struct http_wire *w = s->wire;
    int rc = w->negotiate ? w->negotiate(w->ctx, c->pub.path, c->version_header, err) : 0;
    if (rc == 0) rc = admit(c, err);
    if (rc == 0) rc = find_route(c, err);
    if (rc == WOPR_E_METHOD && is_options(c)) { /* HTTP-18 */
        http_reply(&c->pub, MHD_HTTP_NO_CONTENT, STR(""));
        return 0;
    }
    if (rc != 0) return rc;
    rc = auth_check(c, err);
    if (rc != 0) return rc;
    rc = limit_rate(c, err);
    if (rc == 0 && (c->pub.op->flags & OP_TOKEN) != 0) rc = w->authorize(w->ctx, &c->pub, err);
    if (rc == 0) rc = auth_scope(c, err);
    if (rc == 0 && c->query_rc != 0)
        rc = wopr_error_at(err, c->query_rc, "query",
                           "the query string is malformed or has too many parameters");
    if (rc == 0) rc = body_admit(c, err);
    return rc;
}

static enum MHD_Result on_head(struct call *c, const char *method) {
    struct wopr_error err = {0};
    c->pub.method = str_c(method);
    if (!c->target.p) return MHD_NO;
    (void)MHD_get_connection_values_n(c->conn, MHD_HEADER_KIND, take_header, c);
    c->stage = CALL_BODY;
    int rc = check_head(c, &err);
    if (rc != 0) http_fail(&c->pub, &err);
    bool has_body = c->chunked || c->body_declared > 0;
    if (c->pub.status == 0 || !has_body)
        return MHD_YES; /* answered at the last call: keep-alive survives */
    if (c->expects_continue || c->body_declared > HTTP_DISCARD_MAX) {
        c->close_after = true;
        return reply_queue(c);
    }
    c->discard = true;
    return MHD_YES;
}

/* --- the answer --- */

static void internal(struct call *c, int code, const char *what) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, code, "%s", what);
    http_fail(&c->pub, &err);
}

static void after_body(struct call *c) {
    struct wopr_error err = {0};
    c->stage = CALL_REPLY;
    if (c->pub.status != 0) return;
    int rc = body_finish(c, &err);
    bool keyed =
        (c->pub.op->flags & OP_IDEMPOTENT) != 0 && c->idempotency_key.p != NULL; /* HTTP-19 */
    if (rc == 0 && keyed) rc = idem_prepare(c, c->idempotency_key, &err);
    if (rc != 0) http_fail(&c->pub, &err);
    else c->stage = keyed ? CALL_IDEM : CALL_HANDLER;
}

/* Before the handler runs again, or its answer goes out: what the wait left behind goes away. */
static bool handler_over(struct call *c) {
    struct http_server *s = c->pub.server;
    call_end_wait(c);
    pthread_mutex_lock(&s->lock);
    list_del(&c->live);
    pthread_mutex_unlock(&s->lock);
    park_clear(&c->park);
    if (atomic_load(&c->aborted)) internal(c, WOPR_E_UNAVAILABLE, "the host is shutting down");
    if (c->pub.status != 0) return true;
    c->pub.phase++;
    return false;
}

/* true: parked. */
static bool run_handler(struct call *c) {
    struct http_server *s = c->pub.server;
    if (c->handler_ran && handler_over(c)) {
        c->stage = CALL_REPLY;
        return false;
    }
    c->handler_ran = true;
    c->wait_used = false;
    atomic_fetch_add(&c->refs, 1);
    atomic_store(&c->owes_resume, true);
    int rc = c->pub.op->handler(&c->pub);
    if (rc != HTTP_PENDING || c->wait_used) { /* nobody was promised an http_resume */
        atomic_store(&c->owes_resume, false);
        call_unref(c);
    } else {
        pthread_mutex_lock(&s->lock);
        list_add_tail(&s->parked_calls, &c->live);
        pthread_mutex_unlock(&s->lock);
    }
    if (rc == HTTP_PENDING) return park_here(&c->park);
    if (c->pub.status == 0)
        internal(c, rc < 0 ? rc : WOPR_E_INTERNAL, "the operation gave no answer");
    c->stage = CALL_REPLY;
    return false;
}

static enum MHD_Result answer(struct call *c, void **con_cls) {
    idem_leave(c);
    if (!c->has_stream) return reply_queue(c);
    struct wopr_error err = {0};
    if (stream_start(c, &err) == 0) {
        *con_cls = NULL; /* libmicrohttpd's response owns the stream from here */
        call_finish(c);
        return MHD_YES;
    }
    call_drop_stream(c);
    http_fail(&c->pub, &err);
    return reply_queue(c);
}

static enum MHD_Result go_on(struct call *c, void **con_cls) {
    for (;;) {
        switch (c->stage) {
        case CALL_BODY:
            after_body(c);
            break;
        case CALL_IDEM:
            switch (idem_enter(c)) {
            case IDEM_RUN:
                c->stage = CALL_HANDLER;
                break;
            case IDEM_REPLY:
                c->stage = CALL_REPLY;
                break;
            case IDEM_PARK:
                if (park_here(&c->park)) return MHD_YES;
                break;
            }
            break;
        case CALL_HANDLER:
            if (run_handler(c)) return MHD_YES;
            break;
        case CALL_REPLY:
            return answer(c, con_cls);
        default:
            return MHD_NO;
        }
    }
}

enum MHD_Result request_access(void *cls, struct MHD_Connection *conn, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **con_cls) {
    (void)cls, (void)conn, (void)url;
    struct call *c = *con_cls;
    if (!c) return MHD_NO; /* no memory when the request line came */
    ASSERT(c->magic == CALL_MAGIC);
    c->http_1_1 = strcmp(version, "HTTP/1.1") == 0;
    if (c->stage == CALL_HEAD) return on_head(c, method);
    if (*size > 0) {
        size_t n = *size;
        *size = 0;
        return body_add(c, data, n) ? MHD_YES : MHD_NO;
    }
    return go_on(c, con_cls);
}
