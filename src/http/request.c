/*
 * request.c: a request from its head to its answer, in the order of HTTP-11.
 *
 * intake.c calls request_begin with the head, then body_add (body.c) with pieces of the body; when
 * that is complete, or nothing more is to be read, libmicrohttpd learns of the request and calls
 * request_access twice.  Everything up to the scope check happens at the head, so that a refused
 * caller's body is never kept.  A refusal of a small body is answered after reading past it, which
 * keeps the connection; otherwise at once, which closes it.
 */
#include "base/clock.h"
#include "base/log.h"
#include "http/intake.h"

void request_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
                       enum MHD_RequestTerminationCode why) {
    (void)cls, (void)why;
    struct call *c = *con_cls;
    struct intake *e = intake_of(conn);
    *con_cls = NULL;
    ASSERT(!c || c->magic == CALL_MAGIC);
    if (c) call_finish(c);
    if (e) intake_done(e);
}

/* --- the head --- */

/* The fields that the server itself reads; head.c has judged them. */
static void take_field(struct call *c, struct str k, struct str v) {
    struct str version = c->mount->version_header;
    if (k.n == version.n && str_eq_nocase(k, version)) c->version_header = v;
    switch (k.n) {
    case 6:
        if (str_eq_nocase(k, STR("Origin"))) c->origin = v;
        break;
    case 11:
        if (str_eq_nocase(k, STR("traceparent")))
            c->pub.traceparent = traceparent_read(c->pub.arena, v);
        break;
    case 12:
        if (str_eq_nocase(k, STR("Content-Type"))) c->content_type = v;
        break;
    case 13:
        if (str_eq_nocase(k, STR("Authorization"))) c->authorization = v, c->authorizations++;
        break;
    case 15:
        if (str_eq_nocase(k, STR("Idempotency-Key"))) c->idempotency_key = v.p ? v : STR("");
        break;
    default:
        break;
    }
}

static bool take_head(struct call *c, const struct http_head *h) {
    c->pub.method = h->method;
    c->pub.path = h->path;
    c->mount = mount_of(&c->pub.server->mounts, h->path);
    c->pub.wire_ctx = c->mount->as.ctx;
    c->raw_query = h->query;
    c->host = h->host;
    c->http_1_1 = h->minor == 1;
    c->keep_alive = h->keep_alive;
    c->chunked = h->chunked;
    c->body_declared = h->length;
    c->expects_continue = h->expects_continue;
    c->fields = ARENA_ARRAY(c->pub.arena, struct head_field, h->fields_nr);
    if (!c->fields) return false;
    c->fields_nr = h->fields_nr;
    if (h->fields_nr > 0) memcpy(c->fields, h->fields, h->fields_nr * sizeof *h->fields);
    for (size_t i = 0; i < h->fields_nr; i++) take_field(c, h->fields[i].name, h->fields[i].value);
    return true;
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

static int find_route(struct call *c, struct wopr_error *err) {
    struct route r;
    const struct mount *mt = c->mount;
    int rc = router_match(mt->router, c->pub.method, c->pub.path, c->pub.arena, &r, err);
    c->allow = r.allow;
    if (rc == WOPR_E_NOT_FOUND && mt->as.unknown_path)
        return mt->as.unknown_path(mt->as.ctx, c->pub.path, err);
    if (rc != 0) return rc;
    c->pub.op = r.op;
    c->op_no = r.op_no;
    memcpy(c->pub.params, r.params, sizeof r.params);
    c->pub.params_nr = r.params_nr;
    c->query_rc = uri_query(c->pub.arena, c->raw_query, &c->pub.query, &c->pub.query_nr, err);
    return c->query_rc == WOPR_E_NO_MEMORY ? c->query_rc : 0;
}

/* The client's address as a bucket of the limiter.  Token routes have buckets of their own: a
 * client that hammers discovery can still deliver its events. */
struct str limit_address(struct call *c, char out[LIMIT_WHO_BYTES]) {
    const struct intake *e = intake_of(c->conn);
    struct address who =
        peers_client(c->pub.server, &e->peer, http_header(&c->pub, "X-Forwarded-For"));
    who = address_bucket(&who);
    out[0] = (c->pub.op->flags & OP_TOKEN) != 0 ? 't' : 'd';
    memcpy(out + 1, who.b, sizeof who.b);
    return str_n(out, LIMIT_WHO_BYTES);
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
    const struct http_mount *mt = &c->mount->as;
    int rc = mt->negotiate ? mt->negotiate(mt->ctx, c->pub.path, c->version_header, err) : 0;
    if (rc == 0 && server_draining(s)) rc = refuse_draining(c, err);
    if (rc == 0) rc = find_route(c, err);
    if (rc == WOPR_E_METHOD && is_options(c)) { /* HTTP-18 */
        http_reply(&c->pub, MHD_HTTP_NO_CONTENT, STR(""));
        return 0;
    }
    if (rc != 0) return rc;
    rc = auth_check(c, err);
    if (rc != 0) return rc;
    rc = limit_rate(c, err);
    if (rc == 0 && (c->pub.op->flags & OP_TOKEN) != 0) rc = mt->authorize(mt->ctx, &c->pub, err);
    if (rc == 0) rc = auth_scope(c, err);
    if (rc == 0 && c->query_rc != 0)
        rc = wopr_error_at(err, c->query_rc, "query",
                           "the query string is malformed or has too many parameters");
    if (rc == 0) rc = call_admit(c, err); /* now it is known who asks */
    if (rc == 0) rc = body_admit(c, err);
    return rc;
}

static int check_room(struct call *c, const struct intake *e, struct wopr_error *err) {
    if (!e->over) return 0;
    c->close_after = true;
    return refuse_for_now(c, REFUSED_CONNECTIONS,
                          "as many connections are open as connections-max allows, or as "
                          "address-connections-max allows your address",
                          err);
}

static void on_head(struct call *c, const struct intake *e) {
    struct wopr_error err = {0};
    c->stage = CALL_BODY;
    int rc = check_room(c, e, &err);
    if (rc == 0) rc = check_head(c, &err);
    if (rc != 0) {
        http_fail(&c->pub, &err);
        call_give_back(c); /* not when the body has been read past */
    }
    bool has_body = c->chunked || c->body_declared > 0;
    if (c->pub.status == 0 || !has_body) return;
    c->discard = true;
    if (c->expects_continue || c->body_declared > HTTP_DISCARD_MAX) c->close_after = true;
}

static void internal(struct call *c, int code, const char *what) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, code, "%s", what);
    http_fail(&c->pub, &err);
}

void request_refuse(struct call *c, int code, const char *why) {
    if (c->pub.status == 0) internal(c, code, why);
}

struct call *request_begin(struct intake *e, struct str text, const struct wopr_error *why) {
    struct http_head head;
    struct wopr_error err = {0};
    struct call *c = call_new(e->server, e->conn);
    if (!c) return NULL;
    struct str copy = arena_str(c->pub.arena, text);
    int rc = head_parse(copy, &head, &err);
    if (!copy.p || !take_head(c, &head)) {
        call_finish(c);
        return NULL;
    }
    if (why) rc = why->code, err = *why;
    if (rc == 0) {
        on_head(c, e);
        return c;
    }
    c->stage = CALL_BODY;
    c->head_bad = c->close_after = true;
    http_fail(&c->pub, &err);
    return c;
}

/* --- the answer --- */

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

/* A long-poll looks at its key again before it answers, as streams do: it may be a minute old. */
static void look_at_key(struct call *c) {
    struct wopr_error err = {0};
    if (!c->wait_used || !key_gone(c->pub.server, c->pub.who.key_id)) return;
    (void)wopr_error_set(&err, WOPR_E_KEY_REVOKED,
                         "the API key was revoked, or has expired, while the request waited");
    http_fail(&c->pub, &err);
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
    look_at_key(c);
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
    struct wopr_error err = {0};
    if (!c->handler_ran && call_is_read(c) && budget_open(c, &err) != 0) {
        http_fail(&c->pub, &err);
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
    int rc = stream_start(c, &err);
    if (rc == 0) {
        *con_cls = NULL; /* libmicrohttpd's response owns the stream from here */
        call_finish(c);
        return MHD_YES;
    }
    call_drop_stream(c);
    if (rc < 0) http_fail(&c->pub, &err);
    return reply_queue(c);
}

static enum MHD_Result go_on(struct call *c, void **con_cls) {
    if (c->gone) return MHD_NO; /* nobody waits for the answer */
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
                watch_add(c);
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
    (void)cls, (void)url, (void)method, (void)version, (void)data;
    struct call *c = *con_cls;
    *size = 0;
    if (!c) { /* the first of two calls; the request was judged before (intake.c) */
        *con_cls = intake_take_call(intake_of(conn));
        return *con_cls ? MHD_YES : MHD_NO;
    }
    ASSERT(c->magic == CALL_MAGIC);
    return go_on(c, con_cls);
}
