/*
 * request.c: a request from its head to its answer, in the order of HTTP-11.
 *
 * intake.c calls request_begin with the head, then body_add (body.c) with pieces of the body; when
 * that is complete, or nothing more is to be read, libmicrohttpd learns of the request and calls
 * request_access twice.  Everything up to the scope check happens at the head, so that a refused
 * caller's body is never kept.  A refusal of a small body is answered after reading past it, which
 * keeps the connection; otherwise at once, which closes it.
 */
#include "http/request.h"
#include "base/clock.h"
#include "base/log.h"
#include "codec/jobj.h"
#include "http/auth.h"
#include "http/intake.h"
#include "http/ratelimit.h"
#include "http/router.h"
#include "http/server.h"

void request_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
                       enum MHD_RequestTerminationCode why) {
    (void)cls, (void)why;
    struct exchange *x = *con_cls;
    struct intake *e = intake_of(conn);
    *con_cls = NULL;
    ASSERT(!x || x->magic == EXCHANGE_MAGIC);
    if (x) exchange_finish(x);
    if (e) intake_done(e);
}

/* --- the head --- */

/* The fields that the server itself reads; head.c has judged them. */
static void field_take(struct exchange *x, struct str k, struct str v) {
    struct str version = x->mount->version_header;
    if (k.n == version.n && str_eq_nocase(k, version)) x->head.version = v;
    switch (k.n) {
    case 6:
        if (str_eq_nocase(k, STR("Origin"))) x->head.origin = v;
        break;
    case 10:
        if (str_eq_nocase(k, STR("tracestate"))) tracestate_add(x, v);
        break;
    case 11:
        if (str_eq_nocase(k, STR("traceparent")))
            x->pub.traceparent = x->head.traceparents++ == 0 ? traceparent_read(x->pub.arena, v)
                                                             : STR_NONE; /* whose trace? */
        break;
    case 12:
        if (str_eq_nocase(k, STR("Content-Type"))) x->head.content_type = v;
        break;
    case 13:
        if (str_eq_nocase(k, STR("Authorization")))
            x->head.authorization = v, x->head.authorizations++;
        break;
    case 15:
        if (str_eq_nocase(k, STR("Idempotency-Key"))) x->head.idempotency_key = v.p ? v : STR("");
        break;
    default:
        break;
    }
}

static bool head_take(struct exchange *x, const struct http_head *h) {
    x->pub.method = h->method;
    x->pub.path = h->path;
    x->mount = mount_of(&x->pub.server->mounts, h->path);
    x->pub.wire_ctx = x->mount->as.ctx;
    x->head.query = h->query;
    x->head.host = h->host;
    x->head.http_1_1 = h->minor == 1;
    x->head.keep_alive = h->keep_alive;
    x->head.chunked = h->chunked;
    x->head.body_length = h->length;
    x->head.expects_continue = h->expects_continue;
    x->head.fields = ARENA_ARRAY(x->pub.arena, struct head_field, h->fields_nr);
    if (!x->head.fields) return false;
    x->head.fields_nr = h->fields_nr;
    if (h->fields_nr > 0) memcpy(x->head.fields, h->fields, h->fields_nr * sizeof *h->fields);
    for (size_t i = 0; i < h->fields_nr; i++) field_take(x, h->fields[i].name, h->fields[i].value);
    tracestate_judge(x);
    return true;
}

static int route_find(struct exchange *x, struct wopr_error *err) {
    struct route r;
    const struct mount *mt = x->mount;
    int rc = router_match(mt->router, x->pub.method, x->pub.path, x->pub.arena, &r, err);
    x->allow = r.allow;
    if (rc == WOPR_E_NOT_FOUND && mt->as.unknown_path)
        return mt->as.unknown_path(mt->as.ctx, x->pub.path, err);
    if (rc != 0) return rc;
    x->pub.op = r.op;
    x->op_no = r.op_no;
    memcpy(x->pub.params, r.params, sizeof r.params);
    x->pub.params_nr = r.params_nr;
    x->query_rc = uri_query(x->pub.arena, x->head.query, &x->pub.query, &x->pub.query_nr, err);
    return x->query_rc == WOPR_E_NO_MEMORY ? x->query_rc : 0;
}

static int rate_limit_key(struct exchange *x, struct wopr_error *err) {
    const struct rates *r = &x->pub.server->rates;
    struct limit_state st = {0};
    if (!limiter_take(r->key, x->pub.who.key_id, &st)) {
        x->refusal = REFUSED_KEY_RATE;
        return limiter_refuse(&st, "key", NULL, err);
    }
    if (limiter_take(r->tenant, x->pub.who.tenant, &st)) return 0;
    x->refusal = REFUSED_TENANT_RATE;
    return limiter_refuse(&st, "tenant", "too many requests of this tenant's keys together", err);
}

void http_charge(struct http_call *c, size_t n) {
    const struct rates *r = &c->server->rates;
    if (r->key) limiter_charge(r->key, c->who.key_id, n);
    if (r->tenant) limiter_charge(r->tenant, c->who.tenant, n);
}

/* Counted per key and per tenant, or per address for public operations. */
static int rate_limit(struct exchange *x, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    struct limit_state st = {0};
    if ((x->pub.op->flags & OP_ADDRESS_LIMIT) == 0)
        return x->pub.who.authenticated ? rate_limit_key(x, err) : 0;
    if (!s->rates.address) return 0;
    char who[LIMIT_WHO_BYTES];
    if (limiter_take(s->rates.address, limit_address(x, who), &st)) return 0;
    x->refusal = REFUSED_ADDRESS_RATE;
    return limiter_refuse(&st, "route", NULL, err);
}

static bool is_options(const struct exchange *x) { return str_eq(x->pub.method, STR("OPTIONS")); }

static int head_check(struct exchange *x, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    const struct http_mount *mt = &x->mount->as;
    int rc = mt->negotiate ? mt->negotiate(mt->ctx, x->pub.path, x->head.version, err) : 0;
    if (rc == 0 && server_draining(s)) rc = refuse_draining(x, err);
    if (rc == 0) rc = route_find(x, err);
    if (rc == WOPR_E_METHOD && is_options(x)) { /* HTTP-18 */
        http_reply(&x->pub, MHD_HTTP_NO_CONTENT, STR(""));
        return 0;
    }
    if (rc == 0 && (x->pub.op->flags & OP_RESOURCE) != 0 && http_is_foreign(&x->pub))
        rc = wopr_error_set(err, WOPR_E_FORBIDDEN,
                            "the Host or Origin header names none of this host's: see "
                            "allowed-hosts, cors-origins and public-url");
    if (rc != 0) return rc;
    rc = auth_check(x, err);
    if (rc != 0) return rc;
    rc = rate_limit(x, err);
    if (rc == 0 && (x->pub.op->flags & OP_TOKEN) != 0) rc = mt->authorize(mt->ctx, &x->pub, err);
    if (rc == 0) rc = auth_scope(x, err);
    if (rc == 0 && x->query_rc != 0)
        rc = wopr_error_at(err, x->query_rc, "query",
                           "the query string is malformed or has too many parameters");
    if (rc == 0) rc = exchange_admit(x, err); /* the tenant is known now */
    if (rc == 0) rc = body_admit(x, err);
    return rc;
}

static int room_check(struct exchange *x, const struct intake *e, struct wopr_error *err) {
    if (!e->over) return 0;
    x->close_after = true;
    return refuse_for_now(x, REFUSED_CONNECTIONS, 1,
                          "as many connections are open as connections-max allows, or as "
                          "address-connections-max allows your address",
                          err);
}

static void head_judge(struct exchange *x, const struct intake *e) {
    struct wopr_error err = {0};
    x->stage = EXCHANGE_BODY;
    int rc = room_check(x, e, &err);
    if (rc == 0) rc = head_check(x, &err);
    if (rc != 0) {
        http_fail(&x->pub, &err);
        exchange_give_back(x); /* now, not after its body has been read past */
    }
    bool has_body = x->head.chunked || x->head.body_length > 0;
    if (x->pub.status == 0 || !has_body) return;
    x->body.discard = true;
    if (x->head.expects_continue || x->head.body_length > HTTP_DISCARD_MAX) x->close_after = true;
}

static void request_fail(struct exchange *x, int code, const char *what) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, code, "%s", what);
    http_fail(&x->pub, &err);
}

void request_refuse(struct exchange *x, int code, const char *why) {
    if (x->pub.status == 0) request_fail(x, code, why);
}

struct exchange *request_begin(struct intake *e, struct str text, const struct wopr_error *why) {
    struct http_head head;
    struct wopr_error err = {0};
    struct exchange *x = exchange_new(e->server, e->conn);
    if (!x) return NULL;
    struct str copy = arena_str(x->pub.arena, text);
    int rc = head_parse(copy, &head, &err);
    if (!copy.p || !head_take(x, &head)) {
        exchange_finish(x);
        return NULL;
    }
    if (why) rc = why->code, err = *why;
    if (rc == 0) {
        head_judge(x, e);
        return x;
    }
    x->stage = EXCHANGE_BODY;
    x->head.bad = x->close_after = true;
    http_fail(&x->pub, &err);
    return x;
}

/* --- the answer --- */

static void body_over(struct exchange *x) {
    struct wopr_error err = {0};
    x->stage = EXCHANGE_REPLY;
    if (x->pub.status != 0) return;
    int rc = body_finish(x, &err);
    bool keyed =
        (x->pub.op->flags & OP_IDEMPOTENT) != 0 && x->head.idempotency_key.p != NULL; /* HTTP-19 */
    if (rc == 0 && keyed) rc = idem_prepare(x, x->head.idempotency_key, &err);
    if (rc != 0) http_fail(&x->pub, &err);
    else x->stage = keyed ? EXCHANGE_IDEM : EXCHANGE_HANDLER;
}

/* A long-poll checks its key again before it answers, as streams do: a minute may have passed. */
static void key_look_again(struct exchange *x) {
    struct wopr_error err = {0};
    if (!x->wait.used || !key_gone(x->pub.server, x->pub.who.key_id, x->pub.who.token_ends_ms))
        return;
    (void)wopr_error_set(&err, WOPR_E_KEY_REVOKED,
                         "the credential was revoked, or has expired, while the request waited");
    http_fail(&x->pub, &err);
}

/* Before the handler runs again, or its answer is sent: clear what the wait left. */
static bool handler_over(struct exchange *x) {
    struct http_server *s = x->pub.server;
    exchange_end_wait(x);
    pthread_mutex_lock(&s->exchanges.lock);
    list_del(&x->life.live);
    pthread_mutex_unlock(&s->exchanges.lock);
    park_clear(&x->park);
    if (atomic_load(&x->life.aborted))
        request_fail(x, WOPR_E_UNAVAILABLE, "the host is shutting down");
    key_look_again(x);
    if (x->pub.status != 0) return true;
    if (!x->go_on.asked) x->pub.phase++;
    return false;
}

/* --- handlers, and large bodies --- */

/* Judging and handling one takes as long as many requests. */
static bool body_is_large(const struct exchange *x) { return x->body.bytes.len > HTTP_LARGE_BODY; }

static int handler_asked(struct exchange *x) {
    int rc = x->pub.op->handler(&x->pub);
    if (rc != HTTP_PENDING && x->pub.status == 0 && !x->go_on.asked)
        request_fail(x, rc < 0 ? rc : WOPR_E_INTERNAL, "the operation gave no answer");
    return rc == HTTP_PENDING ? HTTP_PENDING : HTTP_DONE;
}

static int handler_call(struct exchange *x) { return exchange_logged(x, handler_asked); }

/* Before something that may end in http_resume, and after it when that will not come. */
static void resume_owe(struct exchange *x) {
    atomic_fetch_add(&x->life.refs, 1);
    atomic_store(&x->life.owes_resume, true);
}

static void resume_spare(struct exchange *x) {
    atomic_store(&x->life.owes_resume, false);
    exchange_unref(x);
}

static void resume_await(struct exchange *x) {
    struct http_server *s = x->pub.server;
    pthread_mutex_lock(&s->exchanges.lock);
    list_add_tail(&s->exchanges.parked, &x->life.live);
    pthread_mutex_unlock(&s->exchanges.lock);
}

/* On a thread of offload.c.  The handler follows at once, unless the gate comes first. */
static int body_judge(struct exchange *x) {
    body_over(x);
    if (x->stage != EXCHANGE_HANDLER) return HTTP_DONE;
    x->handler_ran = true;
    return handler_call(x);
}

/* true: parked. */
static bool body_aside(struct exchange *x) {
    resume_owe(x);
    x->aside = true;
    if (offload_push(x, body_judge) != HTTP_PENDING) {
        resume_spare(x);
        x->aside = false;
        if (x->stage == EXCHANGE_BODY) x->stage = EXCHANGE_REPLY; /* it was refused */
        return false;
    }
    resume_await(x);
    return park_here(&x->park);
}

/* Back from there; a handler that ran has more to clear (handler_over). */
static void aside_over(struct exchange *x) {
    struct http_server *s = x->pub.server;
    x->aside = false;
    if (x->stage == EXCHANGE_HANDLER) return;
    pthread_mutex_lock(&s->exchanges.lock);
    list_del(&x->life.live);
    pthread_mutex_unlock(&s->exchanges.lock);
    park_clear(&x->park);
    if (!atomic_load(&x->life.aborted)) return;
    request_fail(x, WOPR_E_UNAVAILABLE, "the host is shutting down");
    x->stage = EXCHANGE_REPLY;
}

/* true: parked. */
static bool handler_run(struct exchange *x) {
    if (x->handler_ran && handler_over(x)) {
        x->stage = EXCHANGE_REPLY;
        return false;
    }
    if (go_on_begin(x)) return false;
    struct wopr_error err = {0};
    if (!x->handler_ran && exchange_is_read(x) && budget_open(x, &err) != 0) {
        http_fail(&x->pub, &err);
        x->stage = EXCHANGE_REPLY;
        return false;
    }
    x->handler_ran = true;
    x->wait.used = false;
    resume_owe(x);
    int rc = body_is_large(x) ? offload_push(x, handler_call) : handler_call(x);
    if (rc != HTTP_PENDING || x->wait.used) resume_spare(x);
    else resume_await(x);
    if (rc == HTTP_PENDING) return park_here(&x->park);
    if (!go_on_begin(x)) x->stage = EXCHANGE_REPLY;
    return false;
}

/* false: it was one part of an answer, and the handler goes on. */
static bool answer_decide(struct exchange *x) {
    idem_leave(x);
    if (!x->has_stream) go_on_answered(x);
    return !go_on_back(x);
}

static enum MHD_Result request_answer(struct exchange *x, void **con_cls) {
    if (!x->has_stream) return reply_queue(x);
    struct wopr_error err = {0};
    int rc = stream_start(x, &err);
    if (rc == 0) {
        *con_cls = NULL; /* libmicrohttpd's response owns the stream from here */
        exchange_finish(x);
        return MHD_YES;
    }
    exchange_drop_stream(x);
    if (rc < 0) http_fail(&x->pub, &err);
    return reply_queue(x);
}

static enum MHD_Result request_go_on(struct exchange *x, void **con_cls) {
    if (x->peer.gone) return MHD_NO; /* the client does not read the answer */
    for (;;) {
        if (x->aside) aside_over(x);
        switch (x->stage) {
        case EXCHANGE_BODY:
            if (!body_is_large(x) || x->pub.status != 0) body_over(x);
            else if (body_aside(x)) return MHD_YES;
            break;
        case EXCHANGE_IDEM:
            switch (idem_enter(x)) {
            case IDEM_RUN:
                x->stage = EXCHANGE_HANDLER;
                break;
            case IDEM_REPLY:
                x->stage = EXCHANGE_REPLY;
                break;
            case IDEM_PARK:
                watch_add(x);
                if (park_here(&x->park)) return MHD_YES;
                break;
            }
            break;
        case EXCHANGE_HANDLER:
            if (handler_run(x)) return MHD_YES;
            break;
        case EXCHANGE_REPLY:
            if (answer_decide(x)) return request_answer(x, con_cls);
            break;
        default:
            return MHD_NO;
        }
    }
}

enum MHD_Result request_access(void *cls, struct MHD_Connection *conn, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **con_cls) {
    (void)cls, (void)url, (void)method, (void)version, (void)data;
    struct exchange *x = *con_cls;
    *size = 0;
    if (!x) { /* the first of two calls; the request was judged before (intake.c) */
        *con_cls = intake_take_exchange(intake_of(conn));
        return *con_cls ? MHD_YES : MHD_NO;
    }
    ASSERT(x->magic == EXCHANGE_MAGIC);
    return request_go_on(x, con_cls);
}
