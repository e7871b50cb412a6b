/*
 * exchange.c: the life of the object that is one request and its answer.
 */
#include "http/exchange.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/server.h"

enum {
    EXCHANGE_ARENA_MAX = 64 * 1024 * 1024,
    EXCHANGES_SPARE_MAX = 64 /* idle objects kept for reuse */
};

static struct exchange *spare_take(struct http_server *s) {
    pthread_mutex_lock(&s->exchanges.lock);
    struct exchange *x = s->exchanges.spare;
    if (x) {
        s->exchanges.spare = x->life.next_spare;
        s->exchanges.spare_nr--;
    }
    pthread_mutex_unlock(&s->exchanges.lock);
    return x;
}

static char *hex_put(char *out, uint64_t v, int digits) {
    for (int i = digits - 1; i >= 0; i--, v >>= 4) out[i] = "0123456789abcdef"[v & 15];
    return out + digits;
}

/* req-, 8 digits of the process, a dash, 12 of the request: with printf it was a fiftieth of a
 * small request. */
static void request_id_write(char out[32], uint32_t process, uint64_t request) {
    memcpy(out, "req-", 4);
    char *p = hex_put(out + 4, process, 8);
    *p++ = '-';
    *hex_put(p, request, 12) = '\0';
}

struct exchange *exchange_new(struct http_server *s, struct MHD_Connection *conn) {
    struct exchange *x = spare_take(s);
    struct arena *a = x ? x->pub.arena : arena_new(EXCHANGE_ARENA_MAX);
    if (!a) return NULL;
    if (!x && !(x = mem_alloc(sizeof *x))) {
        arena_free(a);
        return NULL;
    }
    atomic_fetch_add(&s->exchanges.open, 1);
    memset(x, 0, sizeof *x);
    x->magic = EXCHANGE_MAGIC;
    x->conn = conn;
    x->pub.arena = a;
    x->pub.server = s;
    x->mount = s->mounts.v;
    x->pub.wire_ctx = x->mount->as.ctx;
    x->pub.priv = x;
    x->pub.headers = x->headers;
    x->pub.cache_control = "no-store"; /* HTTP-16 */
    x->pub.content_type = "application/json";
    x->life.start_ns = clock_mono_ns();
    x->wait.timer.fire = exchange_wake;
    x->wait.timer.ctx = x;
    atomic_init(&x->life.refs, 1);
    list_init(&x->life.live);
    list_init(&x->gate.link);
    list_init(&x->job.job.link);
    x->peer.watched_fd = -1;
    park_init(&x->park, s, conn);
    buf_init(&x->body.bytes, 0);
    buf_init(&x->whole, 0);
    request_id_write(x->pub.request_id, s->id_prefix, atomic_fetch_add(&s->next_id, 1));
    return x;
}

static bool spare_keep(struct http_server *s, struct exchange *x) {
    arena_reset(x->pub.arena);
    pthread_mutex_lock(&s->exchanges.lock);
    bool keep = s->exchanges.spare_nr < EXCHANGES_SPARE_MAX;
    if (keep) {
        x->life.next_spare = s->exchanges.spare;
        s->exchanges.spare = x;
        s->exchanges.spare_nr++;
    }
    pthread_mutex_unlock(&s->exchanges.lock);
    return keep;
}

/* May run on the thread of an http_resume; an aborted one may even outlive the server. */
static void exchange_free(struct exchange *x) {
    struct http_server *s = atomic_load(&x->life.aborted) ? NULL : x->pub.server;
    if (x->pub.user_free) x->pub.user_free(x->pub.user);
    buf_fini(&x->body.bytes);
    buf_fini(&x->whole);
    x->magic = 0;
    if (!s || !spare_keep(s, x)) {
        arena_free(x->pub.arena);
        mem_free(x);
    }
    if (s) atomic_fetch_sub(&s->exchanges.open, 1); /* last: http_server_free waits for it */
}

void exchanges_free_spare(struct http_server *s) {
    for (struct exchange *x; (x = s->exchanges.spare) != NULL;) {
        s->exchanges.spare = x->life.next_spare;
        arena_free(x->pub.arena);
        mem_free(x);
    }
}

void exchange_unref(struct exchange *x) {
    if (atomic_fetch_sub(&x->life.refs, 1) == 1) exchange_free(x);
}

void exchange_drop_stream(struct exchange *x) {
    if (!x->has_stream) return;
    x->has_stream = false;
    if (x->stream.state_free) x->stream.state_free(x->stream.state);
}

void exchange_finish(struct exchange *x) {
    struct http_server *s = x->pub.server;
    exchange_end_wait(x);
    idem_leave(x);
    exchange_drop_stream(x);
    pthread_mutex_lock(&s->exchanges.lock);
    list_del(&x->life.live);
    pthread_mutex_unlock(&s->exchanges.lock);
    exchange_give_back(x);
    x->conn = NULL;
    exchange_unref(x);
}

/* --- what handlers use --- */

void http_resume(struct http_call *c) {
    struct exchange *x = exchange_of(c);
    if (atomic_exchange(&x->life.owes_resume, false)) park_wake(&x->park);
    exchange_unref(x);
}

/* The server stops and the handler has not answered: the connection continues without it. */
void exchange_abort(struct exchange *x) {
    if (!atomic_exchange(&x->life.owes_resume, false)) return;
    atomic_store(&x->life.aborted, true);
    atomic_fetch_sub(&x->pub.server->exchanges.open, 1);
    park_wake(&x->park);
}

void http_reply_stream(struct http_call *c, const struct http_stream *s) {
    struct exchange *x = exchange_of(c);
    exchange_drop_stream(x);
    x->stream = *s;
    x->has_stream = true;
    c->status = 200;
}
