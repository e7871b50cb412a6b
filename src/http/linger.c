/*
 * linger.c: sockets whose answer has been sent and whose input is not wanted.  Closing one with
 * unread input makes the kernel send a reset, which can destroy the answer at the client.  So its
 * sending side is shut, and its input read and dropped until the client closes or its time is over.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/net.h"
#include "http/intake.h"
#include "http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    LINGERS_MAX = 256, /* of a loop, as far as its share of connections_max allows that */
    LINGERS_SHARE = 4, /* of connections_max all loops together may have */
    LINGER_SILENCE_MS = 2000,
    LINGER_MS_MAX = 10000,
    LINGER_BYTES_MAX = 64 * 1024 * 1024,
    LINGER_TURN = 256 * 1024,
    LINGER_SINK = 16 * 1024,
    LINGER_EVENTS = 64,
    LINGER_LOOK_MS = 250
};
struct lingering {
    struct list all;
    int fd;
    bool counted; /* in peers */
    struct address peer;
    uint64_t began_ms, last_ms, bytes;
};
struct lingers {
    struct http_server *server;
    int epoll_fd;
    unsigned nr, max;
    struct list all;
    uint64_t looked_ms;
    char sink[LINGER_SINK];
};

static void lingering_drop(struct lingers *l, struct lingering *g) {
    list_del(&g->all);
    l->nr--;
    atomic_fetch_sub(&l->server->conns.lingering, 1);
    if (g->counted) peers_leave(&l->server->conns.peers, &g->peer);
    (void)close(g->fd);
    mem_free(g);
}

static void lingering_drain(struct lingers *l, struct lingering *g) {
    size_t turn = 0;
    while (turn < LINGER_TURN) {
        ssize_t n = net_recv(g->fd, l->sink, sizeof l->sink, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        g->bytes += n > 0 ? (uint64_t)n : 0;
        if (n <= 0 || g->bytes > LINGER_BYTES_MAX) {
            lingering_drop(l, g);
            return;
        }
        turn += (size_t)n;
        g->last_ms = clock_mono_ms();
    }
}

bool linger_take(struct lingers *l, int fd, const struct address *counted) {
    if (l->nr >= l->max) lingering_drop(l, LIST_ENTRY(l->all.next, struct lingering, all));
    struct lingering *g = MEM_NEW(struct lingering);
    if (!g) return false;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = g};
    g->began_ms = g->last_ms = clock_mono_ms();
    g->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (g->fd < 0 || net_shut(g->fd, SHUT_WR) != 0 ||
        epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, g->fd, &ev) != 0) {
        if (g->fd >= 0) (void)close(g->fd);
        mem_free(g);
        return false;
    }
    g->counted = counted != NULL;
    if (counted) g->peer = *counted;
    list_add_tail(&l->all, &g->all);
    l->nr++;
    atomic_fetch_add(&l->server->conns.lingering, 1);
    return true;
}

static void lingers_expire(struct lingers *l, uint64_t now_ms) {
    for (struct list *i = l->all.next, *next; i != &l->all; i = next) {
        struct lingering *g = LIST_ENTRY(i, struct lingering, all);
        next = i->next;
        if (now_ms - g->last_ms >= LINGER_SILENCE_MS || now_ms - g->began_ms >= LINGER_MS_MAX)
            lingering_drop(l, g);
    }
    l->looked_ms = now_ms;
}

void lingers_turn(struct lingers *l, bool look) {
    struct epoll_event ev[LINGER_EVENTS];
    if (l->nr == 0) return;
    int n = look ? epoll_wait(l->epoll_fd, ev, LINGER_EVENTS, 0) : 0;
    for (int i = 0; i < n; i++) lingering_drain(l, ev[i].data.ptr);
    uint64_t now_ms = clock_mono_ms();
    if (now_ms - l->looked_ms >= LINGER_LOOK_MS) lingers_expire(l, now_ms);
}

int lingers_fd(const struct lingers *l) { return l->epoll_fd; }

int lingers_wait_ms(const struct lingers *l, int ms) {
    return l->nr > 0 && (ms < 0 || ms > LINGER_LOOK_MS) ? LINGER_LOOK_MS : ms;
}

struct lingers *lingers_new(struct http_server *s) {
    struct lingers *l = MEM_NEW(struct lingers);
    if (!l) return NULL;
    unsigned share = s->cfg.connections_max / LINGERS_SHARE / s->cfg.threads;
    l->server = s;
    l->max = share == 0 ? 1 : share < LINGERS_MAX ? share : LINGERS_MAX;
    list_init(&l->all);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll_fd >= 0) return l;
    mem_free(l);
    return NULL;
}

void lingers_free(struct lingers *l) {
    if (!l) return;
    while (!list_empty(&l->all)) lingering_drop(l, LIST_ENTRY(l->all.next, struct lingering, all));
    (void)close(l->epoll_fd);
    mem_free(l);
}
