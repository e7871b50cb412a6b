/*
 * reply.c: the one place where answers leave (D3): headers, metrics, the request log.
 */
#include "base/clock.h"
#include "base/log.h"
#include "codec/jobj.h"
#include "http/auth.h"
#include "http/exchange.h"
#include "http/server.h"

#include <stdio.h>

enum {
    TRACE_BYTES = TRACEPARENT_TEXT,
    TRACE_AT = 3, /* of the trace id in a traceparent */
    SPAN_AT = 36, /* of the span id */
    TRACE_FLAG_SAMPLED = 1,
    SCOPE_TEXT_MAX = 1024,
    AUDIT_DETAILS_MAX = 2048
};

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* W3C trace context: neither id all zero.  A later version may add more after
 * another dash; of its flags only the one known to version 00 is kept (section 4.3). */
struct str traceparent_read(struct arena *a, struct str s) {
    bool first = s.n == TRACE_BYTES && memcmp(s.p, "00", 2) == 0, trace = false, span = false;
    bool later = !first && s.n >= TRACE_BYTES && memcmp(s.p, "00", 2) != 0 &&
                 memcmp(s.p, "ff", 2) != 0 && (s.n == TRACE_BYTES || s.p[TRACE_BYTES] == '-');
    if (!first && !later) return STR_NONE;
    for (size_t i = 0; i < TRACE_BYTES; i++) {
        bool dash = i == 2 || i == 35 || i == 52;
        if (dash ? s.p[i] != '-' : hex_digit(s.p[i]) < 0) return STR_NONE;
        if (i > 2 && i < 35) trace |= s.p[i] != '0';
        else if (i > 35 && i < 52) span |= s.p[i] != '0';
    }
    if (!trace || !span) return STR_NONE;
    if (first) return s;
    return arena_printf(a, "00%.*s0%d", TRACE_BYTES - 4, s.p + 2,
                        hex_digit(s.p[TRACE_BYTES - 1]) & TRACE_FLAG_SAMPLED);
}

static void header_add(struct MHD_Response *r, const char *name, const char *value) {
    (void)MHD_add_response_header(r, name, value);
}

/* 2n hexadecimal digits; the last is odd, so that no id is zero. */
static void id_random(char *out, const unsigned char *bytes, size_t n) {
    static const char DIGITS[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = DIGITS[bytes[i] >> 4];
        out[2 * i + 1] = DIGITS[(bytes[i] & 15) | (i + 1 == n)];
    }
}

/* The caller's trace, or a new one of which nothing is recorded, and a span of ours (HTTP-12,
 * OBS-3). */
static const char *trace_text(struct exchange *x) {
    enum { TRACE_ID_BYTES = 16, SPAN_BYTES = 8 };
    static const char NEW[] = "00-00000000000000000000000000000000-0000000000000000-00";
    char *text = x->trace.text;
    unsigned char id[TRACE_ID_BYTES + SPAN_BYTES];
    if (*text) return text;
    rng_ids(id, sizeof id);
    memcpy(text, NEW, sizeof NEW);
    if (x->pub.traceparent.n == TRACE_BYTES) memcpy(text, x->pub.traceparent.p, TRACE_BYTES);
    else id_random(text + TRACE_AT, id, TRACE_ID_BYTES);
    id_random(text + SPAN_AT, id + TRACE_ID_BYTES, SPAN_BYTES);
    return text;
}

/* What lines of the log say of a request: copies, because a handler may hand its exchange to
 * another thread and still write a line. */
struct request_scope {
    struct log_scope scope;
    struct log_ids ids;
    char run_id[64];
};

static void request_ids(const void *of, struct log_ids *out) { *out = *(const struct log_ids *)of; }

static void text_keep(char *out, size_t size, struct str s) {
    size_t n = s.n < size ? s.n : size - 1;
    if (n > 0) memcpy(out, s.p, n);
    out[n] = '\0';
}

/* Nothing of a request whose credential is not known, or is in its path. */
static void request_scope_enter(struct request_scope *s, struct exchange *x) {
    const struct http_call *p = &x->pub;
    const char *trace = trace_text(x);
    bool known = p->who.authenticated;
    s->scope = (struct log_scope){.ids = request_ids, .of = &s->ids};
    text_keep(s->ids.trace_id, sizeof s->ids.trace_id, str_n(trace + TRACE_AT, LOG_TRACE_ID));
    text_keep(s->ids.span_id, sizeof s->ids.span_id, str_n(trace + SPAN_AT, LOG_SPAN_ID));
    text_keep(s->ids.tenant, sizeof s->ids.tenant, known ? p->who.tenant : STR_NONE);
    text_keep(s->run_id, sizeof s->run_id, known ? http_param(p, "runId") : STR_NONE);
    s->ids.run_id = s->run_id;
    log_scope_enter(&s->scope);
}

int exchange_logged(struct exchange *x, int (*fn)(struct exchange *x)) {
    struct request_scope s;
    request_scope_enter(&s, x);
    int rc = fn(x);
    log_scope_leave(&s.scope);
    return rc;
}

void reply_headers(struct exchange *x, struct MHD_Response *r) {
    const struct http_call *p = &x->pub;
    const struct http_server *s = p->server;
    const struct mount *mt = x->mount;
    bool replay_said = mt->replay_header.n == 0;
    header_add(r, "X-Content-Type-Options", "nosniff");
    for (size_t i = 0; i < p->headers_nr; i++) {
        header_add(r, p->headers[i].name.p, p->headers[i].value.p);
        replay_said |= str_eq_nocase(p->headers[i].name, mt->replay_header);
    }
    bool keyed = p->op && (p->op->flags & OP_IDEMPOTENT) != 0 && x->head.idempotency_key.p;
    if ((p->has_idem || keyed) && !replay_said) header_add(r, mt->replay_header.p, "false");
    bool below = p->path.n == 0 || str_starts(p->path, mt->prefix);
    for (size_t i = 0; below && i < mt->as.headers_nr; i++)
        header_add(r, mt->as.headers[i].name.p, mt->as.headers[i].value.p);
    header_add(r, "traceparent", trace_text(x));
    if (p->tracestate.n > 0) header_add(r, "tracestate", arena_cstr(p->arena, p->tracestate));
    header_add(r, "X-Request-Id", p->request_id);
    if (s->cfg.cors_origins) cors_headers(x, r);
    if (x->close_after || server_draining(s)) header_add(r, "Connection", "close");
}

static bool call_has_token(const struct http_call *p) {
    return p->op && (p->op->flags & OP_TOKEN) != 0;
}

/* A path that carries its authority shows its pattern. */
static struct str path_shown(const struct http_call *p) {
    if (p->who.authenticated && !call_has_token(p)) return p->path;
    return p->op ? str_c(p->op->pattern) : STR("-");
}

static struct str audit_details(const struct http_call *c) {
    struct jobj o;
    if (c->who.certificate.n == 0 && c->audit_of.n == 0) return STR_NONE;
    jobj_begin(&o, AUDIT_DETAILS_MAX);
    if (c->who.certificate.n > 0) jw_kstr(&o.w, "clientCertificate", c->who.certificate);
    if (c->audit_of.n > 0) jw_kstr(&o.w, "tool", c->audit_of);
    return jobj_end(&o, c->arena);
}

void http_audit_of(const struct http_call *c, struct plan_audit *out) {
    struct buf scope;
    buf_init(&scope, SCOPE_TEXT_MAX);
    if (c->op) scopes_format(c->op->scopes, &scope);
    *out = (struct plan_audit){.tenant = c->who.tenant,
                               .principal = c->who.subject_id,
                               .key_id = c->who.key_id,
                               .scope = arena_str(c->arena, buf_str(&scope)),
                               .method = c->method,
                               .path = path_shown(c),
                               .request_id = str_c(c->request_id)};
    out->details = audit_details(c);
    buf_fini(&scope);
}

/* AUTH-20: whoever retires a key wants to know whether it is still in use, without reading of each
 * request.  Tokens are no keys. */
static void audit_key_use(const struct http_call *p, const struct http_audit *to) {
    int64_t now_ms = clock_wall_ms();
    if (p->who.key_id.n == 0 || !p->who.authenticated || p->who.lane != LANE_API_KEY) return;
    if (!key_use_is_new(p->server, p->who.key_id, now_ms)) return;
    to->note(to->ctx, &(struct plan_audit){.at_ms = now_ms,
                                           .type = STR("key.used"),
                                           .tenant = p->who.tenant,
                                           .principal = p->who.subject_id,
                                           .key_id = p->who.key_id,
                                           .request_id = str_c(p->request_id)});
}

/* AUTH-13, AUD-3.  So is a credential that was refused; those are throttled (guess.c), requests
 * without any are not, and make no entry. */
static void audit_add(const struct exchange *x, int status) {
    const struct http_audit *to = &x->pub.server->cfg.audit;
    const struct http_call *p = &x->pub;
    struct plan_audit row;
    bool granted = p->who.authenticated || (call_has_token(p) && p->who.tenant.n > 0);
    bool refused = x->guessed || (granted && status == MHD_HTTP_FORBIDDEN);
    if (!to->note || !(granted || refused)) return;
    audit_key_use(p, to);
    if (!to->reads && exchange_is_read(x) && !refused) return;
    http_audit_of(p, &row);
    row.type = STR("http.request");
    row.at_ms = clock_wall_ms();
    row.status = status;
    row.timed = true;
    row.latency_ms = (int64_t)((clock_mono_ns() - x->life.start_ns) / 1000000);
    to->note(to->ctx, &row);
}

/* AUTH-13: one line per authenticated request.  The path is logged only of requests with a valid
 * key: a route that carries its authority in the path (OP_TOKEN) shows its pattern, and so does a
 * request that was refused before its key was read.  The query (tickets) is never logged. */
void reply_log(struct exchange *x, int status) {
    const struct http_call *p = &x->pub;
    bool read = exchange_is_read(x);
    enum log_level lv = status >= 500 ? LOG_WARN : read ? LOG_DEBUG : LOG_INFO;
    audit_add(x, status);
    if (!p->who.authenticated && !call_has_token(p) && status < 500) return;
    if (lv < logger_level_get()) return;
    char ms[32], code[16], scope[64];
    struct buf b;
    buf_init(&b, sizeof scope - 1);
    if (p->op) scopes_format(p->op->scopes, &b);
    (void)snprintf(scope, sizeof scope, STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
    (void)snprintf(code, sizeof code, "%d", status);
    (void)snprintf(ms, sizeof ms, "%.3f", (double)(clock_mono_ns() - x->life.start_ns) / 1e6);
    struct str path = path_shown(p);
    struct str method = p->method.n < 16 ? p->method : STR("-");
    struct request_scope s;
    request_scope_enter(&s, x);
    log_write(lv, "request", "requestId", p->request_id, "operation",
              p->op ? p->server->mounts.op_names[x->op_no] : "-", "method",
              arena_printf(p->arena, STR_FMT, STR_ARG(method)).p, "path",
              arena_printf(p->arena, STR_FMT, STR_ARG(path)).p, "status", code, "ms", ms, "keyId",
              p->who.key_id.n > 0 ? arena_printf(p->arena, STR_FMT, STR_ARG(p->who.key_id)).p : "-",
              "scope", scope, NULL);
    log_scope_leave(&s.scope);
}

static bool answer_is_large(const struct exchange *x) { return x->pub.reply.n >= BUDGET_SMALL; }

/* The budget has no room to keep the answer of a read until it is sent. */
static void answer_give_up(struct exchange *x) {
    struct wopr_error err = {0};
    if (x->pub.user_free) x->pub.user_free(x->pub.user);
    x->pub.user = NULL;
    x->pub.user_free = NULL;
    (void)budget_refuse(x, &err);
    http_fail(&x->pub, &err);
}

/* The client may read slowly: keep only the answer itself. */
static void answer_keep_alone(struct exchange *x) {
    budget_kernel(x);
    if (x->pub.user != x->pub.reply.p) return; /* the answer may lie in the arena */
    buf_fini(&x->body.bytes);
    arena_reset(x->pub.arena);
    (void)budget_settle(x, false);
}

enum MHD_Result reply_queue(struct exchange *x) {
    struct http_call *p = &x->pub;
    struct http_server *s = p->server;
    x->stage = EXCHANGE_SENT;
    if (answer_is_large(x) && !budget_settle(x, exchange_is_read(x))) answer_give_up(x);
    struct MHD_Response *r = MHD_create_response_from_buffer(
        p->reply.n, (void *)(uintptr_t)p->reply.p, MHD_RESPMEM_PERSISTENT);
    if (!r) return MHD_NO;
    if (p->status != MHD_HTTP_NO_CONTENT && p->status != MHD_HTTP_NOT_MODIFIED)
        header_add(r, "Content-Type", p->content_type);
    header_add(r, "Cache-Control", p->cache_control);
    if (x->allow && (p->status == MHD_HTTP_METHOD_NOT_ALLOWED || str_eq(p->method, STR("OPTIONS"))))
        header_add(r, "Allow", x->allow);
    reply_headers(x, r);
    enum MHD_Result ok = MHD_queue_response(x->conn, (unsigned)p->status, r);
    MHD_destroy_response(r);
    int status = go_on_status(&x->go_on, p->status);
    metrics_done(&s->metrics, p->op, x->op_no, status, clock_mono_ns() - x->life.start_ns);
    metrics_refused(&s->metrics, x->refusal, status);
    reply_log(x, status);
    if (ok == MHD_YES && answer_is_large(x)) answer_keep_alone(x);
    return ok;
}
