/*
 * answer.c: what handlers read of a request and decide about its answer (http.h).  It is sent by
 * reply.c.
 */
#include "http/exchange.h"

#include <stdio.h>

struct str http_header(const struct http_call *c, const char *name) {
    const struct exchange *x = c->priv;
    struct str key = str_c(name), out = STR_NONE;
    for (size_t i = 0; i < x->head.fields_nr; i++) {
        const struct head_field *f = &x->head.fields[i];
        if (f->name.n != key.n || !str_eq_nocase(f->name, key)) continue;
        if (!out.p) out = f->value;
        else out = arena_printf(c->arena, STR_FMT ", " STR_FMT, STR_ARG(out), STR_ARG(f->value));
    }
    return out;
}

void http_reply(struct http_call *c, int status, struct str body) {
    c->status = status;
    c->reply = body;
}

/* A value that could break out of its line is dropped; so is the seventeenth header. */
void http_reply_header(struct http_call *c, const char *name, struct str value) {
    if (c->headers_nr == HTTP_HEADERS_OUT_MAX) return;
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f) return;
    struct str copy = arena_str(c->arena, value);
    if (!copy.p) return;
    c->headers[c->headers_nr++] = (struct http_param){str_c(name), copy};
}

void http_reply_replayed(struct http_call *c) {
    const char *name = exchange_of(c)->mount->as.replay_header;
    if (name) http_reply_header(c, name, STR("true"));
}

/* RFC 6750 on the answers that are about the credential. */
static void challenge_add(struct http_call *c, const struct wopr_error *err) {
    bool bad_key = err->code == WOPR_E_KEY_EXPIRED || err->code == WOPR_E_KEY_REVOKED;
    if (bad_key || err->code == WOPR_E_UNAUTHENTICATED) {
        bool presented = exchange_of(c)->head.authorizations > 0;
        const char *realm = exchange_of(c)->mount->as.realm;
        bool resource = c->op && (c->op->flags & OP_RESOURCE) != 0;
        struct str where = resource ? http_resource_metadata(c, c->path) : STR("");
        struct str v = arena_printf(
            c->arena, "Bearer realm=\"%s\"%s%s" STR_FMT "%s", realm ? realm : "",
            presented ? ", error=\"invalid_token\"" : "", resource ? ", resource_metadata=\"" : "",
            STR_ARG(where), resource ? "\"" : "");
        http_reply_header(c, "WWW-Authenticate", v);
    } else if (err->code == WOPR_E_FORBIDDEN && err->details[0]) {
        struct str scope = json_string(json_get(str_c(err->details), "scopeRequired"), c->arena);
        if (scope.n == 0) return;
        struct str v = arena_printf(
            c->arena, "Bearer error=\"insufficient_scope\", scope=\"" STR_FMT "\"", STR_ARG(scope));
        http_reply_header(c, "WWW-Authenticate", v);
    }
}

/* The header never disagrees with what details says (ERR-8, ERR-9). */
static int retry_seconds(const struct wopr_error *err, int rendered) {
    static const char *const NAMES[] = {"retryAfter", "retryAfterSeconds"};
    int64_t v = 0;
    for (size_t i = 0; err->details[0] && i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (json_int(json_get(str_c(err->details), NAMES[i]), &v) && v > 0 && v < INT32_MAX)
            return (int)v;
    return rendered;
}

void http_fail(struct http_call *c, const struct wopr_error *err) {
    int status = 500, retry = 0;
    struct str body = STR_NONE;
    c->headers_nr = 0;
    c->content_type = "application/json";
    c->cache_control = "no-store";
    exchange_of(c)->mount->as.render_error(c->wire_ctx, c, err, &status, &body, &retry);
    http_reply(c, status, body);
    challenge_add(c, err);
    retry = retry_seconds(err, retry);
    if (retry <= 0) return;
    char text[16];
    (void)snprintf(text, sizeof text, "%d", retry);
    http_reply_header(c, "Retry-After", str_c(text));
}
