/* peer.c: see peer.h. */
#include "peer.h"
#include "harness.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>

struct peer {
    struct MHD_Daemon *daemon;
    pthread_mutex_t mu;
    pthread_cond_t freed;
    struct peer_request *v;
    size_t n, cap;
    unsigned odd_nr;
    int odd_status;
    bool hold, stopping;
};

static void copy(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from != NULL ? from : "");
}

static void keep(struct peer *p, const struct peer_request *r) {
    if (p->n == p->cap) {
        size_t cap = p->cap > 0 ? p->cap * 2 : 64;
        struct peer_request *v = mem_grow(p->v, cap, sizeof *v);
        if (!v) abort();
        p->v = v;
        p->cap = cap;
    }
    p->v[p->n++] = *r;
}

static int take(struct peer *p, struct MHD_Connection *c, struct peer_request *r) {
    copy(r->key, sizeof r->key, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Idempotency-Key"));
    copy(r->content_type, sizeof r->content_type,
         MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type"));
    int status = 200;
    pthread_mutex_lock(&p->mu);
    keep(p, r);
    while (p->hold && !p->stopping) pthread_cond_wait(&p->freed, &p->mu);
    if (p->odd_nr > 0) {
        p->odd_nr--;
        status = p->odd_status;
    }
    pthread_mutex_unlock(&p->mu);
    return status;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data, size_t *n,
                              void **state) {
    struct peer *p = ctx;
    struct peer_request *r = *state;
    (void)version;
    if (r == NULL) {
        *state = r = MEM_NEW(struct peer_request);
        if (r == NULL) return MHD_NO;
        copy(r->method, sizeof r->method, method);
        copy(r->path, sizeof r->path, url);
        return MHD_YES;
    }
    if (*n > 0) {
        size_t have = strlen(r->body), room = sizeof r->body - 1 - have;
        memcpy(r->body + have, data, *n < room ? *n : room);
        *n = 0;
        return MHD_YES;
    }
    static const char text[] = "{\"ok\":true}";
    int status = take(p, c, r);
    struct MHD_Response *res =
        MHD_create_response_from_buffer(sizeof text - 1, (void *)text, MHD_RESPMEM_PERSISTENT);
    if (res == NULL) return MHD_NO;
    (void)MHD_add_response_header(res, "Content-Type", "application/json");
    enum MHD_Result ok = MHD_queue_response(c, (unsigned)status, res);
    MHD_destroy_response(res);
    return ok;
}

static void over(void *ctx, struct MHD_Connection *c, void **state,
                 enum MHD_RequestTerminationCode why) {
    (void)ctx, (void)c, (void)why;
    mem_free(*state);
    *state = NULL;
}

struct peer *peer_start(void) {
    struct peer *p = MEM_NEW(struct peer);
    cr_assert_not_null(p);
    pthread_mutex_init(&p->mu, NULL);
    pthread_cond_init(&p->freed, NULL);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    p->daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0,
                                 NULL, NULL, answer, p, MHD_OPTION_SOCK_ADDR, &at,
                                 MHD_OPTION_NOTIFY_COMPLETED, over, NULL, MHD_OPTION_END);
    cr_assert_not_null(p->daemon);
    return p;
}

void peer_stop(struct peer *p) {
    pthread_mutex_lock(&p->mu);
    p->stopping = true;
    pthread_cond_broadcast(&p->freed);
    pthread_mutex_unlock(&p->mu);
    MHD_stop_daemon(p->daemon);
    pthread_cond_destroy(&p->freed);
    pthread_mutex_destroy(&p->mu);
    mem_free(p->v);
    mem_free(p);
}

int peer_port(const struct peer *p) {
    const union MHD_DaemonInfo *i = MHD_get_daemon_info(p->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return i != NULL ? i->port : 0;
}

void peer_answer(struct peer *p, unsigned n, int status) {
    pthread_mutex_lock(&p->mu);
    p->odd_nr = n;
    p->odd_status = status;
    pthread_mutex_unlock(&p->mu);
}

void peer_hold(struct peer *p, bool hold) {
    pthread_mutex_lock(&p->mu);
    p->hold = hold;
    pthread_cond_broadcast(&p->freed);
    pthread_mutex_unlock(&p->mu);
}

size_t peer_count(struct peer *p) {
    pthread_mutex_lock(&p->mu);
    size_t n = p->n;
    pthread_mutex_unlock(&p->mu);
    return n;
}

bool peer_request_at(struct peer *p, size_t i, struct peer_request *out) {
    pthread_mutex_lock(&p->mu);
    bool there = i < p->n;
    if (there) *out = p->v[i];
    pthread_mutex_unlock(&p->mu);
    return there;
}

bool peer_wait(struct peer *p, size_t n) {
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(5))
        if (peer_count(p) >= n) return true;
    return false;
}
