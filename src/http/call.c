/*
 * call.c: the life of one request object, and what handlers see of it (http.h).
 */
#include "base/clock.h"
#include "base/mem.h"
#include "http/http_internal.h"

#include <stdio.h>

static struct call *take_spare(struct http_server *s) {
    pthread_mutex_lock(&s->lock);
    struct call *c = s->spare;
    if (c) {
        s->spare = c->next_spare;
        s->spare_nr--;
    }
    pthread_mutex_unlock(&s->lock);
    return c;
}

static void wake_call(void *ctx) { park_wake(&((struct call *)ctx)->park); }

struct call *call_new(struct http_server *s, struct MHD_Connection *conn) {
    struct call *c = take_spare(s);
    struct arena *a = c ? c->pub.arena : arena_new(HTTP_CALL_ARENA_MAX);
    if (!a) return NULL;
    if (!c && !(c = mem_alloc(sizeof *c))) {
        arena_free(a);
        return NULL;
    }
    atomic_fetch_add(&s->calls, 1);
    memset(c, 0, sizeof *c);
    c->magic = CALL_MAGIC;
    c->conn = conn;
    c->pub.arena = a;
    c->pub.server = s;
    c->mount = s->mounts.v;
    c->pub.wire_ctx = c->mount->as.ctx;
    c->pub.priv = c;
    c->pub.headers = c->headers;
    c->pub.cache_control = "no-store"; /* HTTP-16 */
    c->pub.content_type = "application/json";
    c->start_ns = clock_mono_ns();
    c->timer.fire = wake_call;
    c->timer.ctx = c;
    atomic_init(&c->refs, 1);
    list_init(&c->live);
    list_init(&c->gate_link);
    list_init(&c->job);
    c->watched_fd = -1;
    park_init(&c->park, s, conn);
    buf_init(&c->body, 0);
    buf_init(&c->whole, 0);
    (void)snprintf(c->pub.request_id, sizeof c->pub.request_id, "req-%08x-%012llx", s->id_prefix,
                   (unsigned long long)atomic_fetch_add(&s->next_id, 1));
    return c;
}

static bool keep_spare(struct http_server *s, struct call *c) {
    arena_reset(c->pub.arena);
    pthread_mutex_lock(&s->lock);
    bool keep = s->spare_nr < HTTP_CALLS_SPARE_MAX;
    if (keep) {
        c->next_spare = s->spare;
        s->spare = c;
        s->spare_nr++;
    }
    pthread_mutex_unlock(&s->lock);
    return keep;
}

/* May run on the thread of an http_resume; an aborted call may even outlive the server. */
static void call_free(struct call *c) {
    struct http_server *s = atomic_load(&c->aborted) ? NULL : c->pub.server;
    if (c->pub.user_free) c->pub.user_free(c->pub.user);
    buf_fini(&c->body);
    buf_fini(&c->whole);
    c->magic = 0;
    if (!s || !keep_spare(s, c)) {
        arena_free(c->pub.arena);
        mem_free(c);
    }
    if (s) atomic_fetch_sub(&s->calls, 1); /* last: http_server_free waits for it */
}

void call_unref(struct call *c) {
    if (atomic_fetch_sub(&c->refs, 1) == 1) call_free(c);
}

void call_drop_stream(struct call *c) {
    if (!c->has_stream) return;
    c->has_stream = false;
    if (c->stream.state_free) c->stream.state_free(c->stream.state);
}

void call_finish(struct call *c) {
    struct http_server *s = c->pub.server;
    call_end_wait(c);
    idem_leave(c);
    call_drop_stream(c);
    pthread_mutex_lock(&s->lock);
    list_del(&c->live);
    pthread_mutex_unlock(&s->lock);
    call_give_back(c);
    c->conn = NULL;
    call_unref(c);
}

/* --- what handlers use --- */

struct str http_query(const struct http_call *c, const char *name, bool *found) {
    struct str key = str_c(name);
    for (size_t i = 0; i < c->query_nr; i++) {
        if (!str_eq(c->query[i].name, key)) continue;
        if (found) *found = true;
        return c->query[i].value;
    }
    if (found) *found = false;
    return STR_NONE;
}

struct str http_param(const struct http_call *c, const char *name) {
    struct str key = str_c(name);
    for (size_t i = 0; i < c->params_nr; i++)
        if (str_eq(c->params[i].name, key)) return c->params[i].value;
    return STR_NONE;
}

struct str http_header(const struct http_call *c, const char *name) {
    const struct call *k = c->priv;
    struct str key = str_c(name), out = STR_NONE;
    for (size_t i = 0; i < k->fields_nr; i++) {
        const struct head_field *f = &k->fields[i];
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

/* RFC 6750 on the answers that are about the credential. */
static void challenge(struct http_call *c, const struct wopr_error *err) {
    bool bad_key = err->code == WOPR_E_KEY_EXPIRED || err->code == WOPR_E_KEY_REVOKED;
    if (bad_key || err->code == WOPR_E_UNAUTHENTICATED) {
        bool presented = call_of(c)->authorizations > 0;
        const char *realm = call_of(c)->mount->as.realm;
        struct str v = arena_printf(c->arena, "Bearer realm=\"%s\"%s", realm ? realm : "",
                                    presented ? ", error=\"invalid_token\"" : "");
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
    call_of(c)->mount->as.render_error(c->wire_ctx, c, err, &status, &body, &retry);
    http_reply(c, status, body);
    challenge(c, err);
    retry = retry_seconds(err, retry);
    if (retry <= 0) return;
    char text[16];
    (void)snprintf(text, sizeof text, "%d", retry);
    http_reply_header(c, "Retry-After", str_c(text));
}

void http_resume(struct http_call *c) {
    struct call *k = call_of(c);
    if (atomic_exchange(&k->owes_resume, false)) park_wake(&k->park);
    call_unref(k);
}

/* The server stops and the handler has not answered: the connection goes on without it. */
void call_resume_abort(struct call *c) {
    if (!atomic_exchange(&c->owes_resume, false)) return;
    atomic_store(&c->aborted, true);
    atomic_fetch_sub(&c->pub.server->calls, 1);
    park_wake(&c->park);
}

void http_reply_stream(struct http_call *c, const struct http_stream *s) {
    struct call *k = call_of(c);
    call_drop_stream(k);
    k->stream = *s;
    k->has_stream = true;
    c->status = 200;
}
