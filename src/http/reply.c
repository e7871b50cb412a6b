/*
 * reply.c: the one place where answers leave (D3): headers, metrics, the request log.
 */
#include "base/clock.h"
#include "base/log.h"
#include "http/http_internal.h"

#include <stdio.h>

/* W3C trace context, version 00, neither id all zero. */
bool traceparent_valid(struct str s) {
    if (s.n != 55 || memcmp(s.p, "00-", 3) != 0 || s.p[35] != '-' || s.p[52] != '-') return false;
    bool trace = false, span = false;
    for (size_t i = 3; i < 55; i++) {
        if (i == 35 || i == 52) continue;
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
        if (i < 35) trace |= c != '0';
        else if (i < 52) span |= c != '0';
    }
    return trace && span;
}

static void add(struct MHD_Response *r, const char *name, const char *value) {
    (void)MHD_add_response_header(r, name, value);
}

void reply_headers(struct call *c, struct MHD_Response *r) {
    const struct http_call *p = &c->pub;
    const struct http_server *s = p->server;
    bool replay_told = false;
    for (size_t i = 0; i < p->headers_nr; i++) {
        add(r, p->headers[i].name.p, p->headers[i].value.p);
        replay_told |= str_eq_nocase(p->headers[i].name, STR("openwop-Idempotent-Replay"));
    }
    if (p->has_idem && !replay_told) add(r, "openwop-Idempotent-Replay", "false");
    if (str_starts(p->path, STR("/v1")) && s->wire->version_header_value)
        add(r, "OpenWOP-Version", s->wire->version_header_value);
    if (p->traceparent.n > 0) { /* the caller's trace, a span of ours (HTTP-12) */
        char text[64];
        uint64_t span;
        rng_ids(&span, sizeof span);
        span |= 1;
        (void)snprintf(text, sizeof text, "%.36s%016llx%.3s", p->traceparent.p,
                       (unsigned long long)span, p->traceparent.p + 52);
        add(r, "traceparent", text);
    }
    if (s->cfg.cors_origins) cors_headers(c, r);
    if (c->close_after || server_draining(s)) add(r, "Connection", "close");
}

/* AUTH-13: one line per authenticated request.  The path is logged only of requests that came with
 * a key: a route that carries its authority in the path (OP_TOKEN) shows its pattern, and so does
 * whatever was refused before its key was read.  The query (tickets) is never logged. */
void reply_log(struct call *c, int status) {
    const struct http_call *p = &c->pub;
    bool read = str_eq(p->method, STR("GET")) || str_eq(p->method, STR("HEAD"));
    enum log_level lv = status >= 500 ? LOG_WARN : read ? LOG_DEBUG : LOG_INFO;
    bool token = p->op && (p->op->flags & OP_TOKEN) != 0;
    if (!p->who.authenticated && !token && status < 500) return;
    if (lv < logger_level_get()) return;
    char ms[32], code[16], scope[64];
    struct buf b;
    buf_init(&b, sizeof scope - 1);
    if (p->op) scopes_format(p->op->scopes, &b);
    (void)snprintf(scope, sizeof scope, STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
    (void)snprintf(code, sizeof code, "%d", status);
    (void)snprintf(ms, sizeof ms, "%.3f", (double)(clock_mono_ns() - c->start_ns) / 1e6);
    struct str path = p->op ? str_c(p->op->pattern) : STR("-");
    if (p->who.authenticated && !token) path = p->path;
    struct str method = p->method.n < 16 ? p->method : STR("-");
    log_write(lv, "request", "requestId", p->request_id, "operation", p->op ? p->op->id : "-",
              "method", arena_printf(p->arena, STR_FMT, STR_ARG(method)).p, "path",
              arena_printf(p->arena, STR_FMT, STR_ARG(path)).p, "status", code, "ms", ms, "keyId",
              p->who.key_id.n > 0 ? arena_printf(p->arena, STR_FMT, STR_ARG(p->who.key_id)).p : "-",
              "scope", scope, NULL);
}

enum MHD_Result reply_queue(struct call *c) {
    struct http_call *p = &c->pub;
    struct http_server *s = p->server;
    c->stage = CALL_SENT;
    struct MHD_Response *r = MHD_create_response_from_buffer(
        p->reply.n, (void *)(uintptr_t)p->reply.p, MHD_RESPMEM_PERSISTENT);
    if (!r) return MHD_NO;
    if (p->status != MHD_HTTP_NO_CONTENT && p->status != MHD_HTTP_NOT_MODIFIED)
        add(r, "Content-Type", p->content_type);
    add(r, "Cache-Control", p->cache_control);
    if (c->allow && (p->status == MHD_HTTP_METHOD_NOT_ALLOWED || str_eq(p->method, STR("OPTIONS"))))
        add(r, "Allow", c->allow);
    reply_headers(c, r);
    enum MHD_Result ok = MHD_queue_response(c->conn, (unsigned)p->status, r);
    MHD_destroy_response(r);
    metrics_done(&s->metrics, p->op, c->op_no, p->status, clock_mono_ns() - c->start_ns);
    metrics_refused(&s->metrics, c->refusal, p->status);
    reply_log(c, p->status);
    return ok;
}
