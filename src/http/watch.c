/*
 * watch.c: parked exchanges whose peer leaves.
 *
 * libmicrohttpd does not poll a suspended connection, so the slot of a client that has closed would
 * be held until its deadline.  Each loop has one set of the sockets of its parked exchanges and
 * wakes one whose peer sent a FIN or a reset.  After a reset the connection closes (request.c).  A
 * FIN may be that of a client that has only closed its sending side and reads on (RFC 9112 9.6), so
 * the wait ends and the answer is that of its deadline.  Only exchanges without an effect are
 * watched: long-polls, and duplicates at the idempotency gate.
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include "base/mem.h"
#include "http/exchange.h"
#include "http/loop.h"
#include "http/server.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { WATCH_EVENTS = 64 };

struct watch {
    int epoll_fd;
};

struct watch *watch_new(void) {
    struct watch *w = MEM_NEW(struct watch);
    if (!w) return NULL;
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll_fd >= 0) return w;
    mem_free(w);
    return NULL;
}

void watch_free(struct watch *w) {
    if (!w) return;
    (void)close(w->epoll_fd);
    mem_free(w);
}

int watch_fd(const struct watch *w) { return w->epoll_fd; }

void watch_turn(struct watch *w) {
    struct epoll_event ev[WATCH_EVENTS];
    int n = epoll_wait(w->epoll_fd, ev, WATCH_EVENTS, 0); /* the rest keeps the set readable */
    for (int i = 0; i < n; i++) {
        struct exchange *x = ev[i].data.ptr;
        ASSERT(x->magic == EXCHANGE_MAGIC);
        x->peer.hung_up = true;
        x->peer.gone = (ev[i].events & (EPOLLERR | EPOLLHUP)) != 0;
        park_wake(&x->park);
    }
}

void watch_add(struct exchange *x) {
    if (x->peer.watched_fd >= 0 || !x->park.loop) return;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info) return;
    struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = x};
    int fd = info->connect_fd;
    if (epoll_ctl(x->park.loop->watch->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0)
        x->peer.watched_fd = fd;
}

void watch_del(struct exchange *x) {
    if (x->peer.watched_fd < 0) return;
    (void)epoll_ctl(x->park.loop->watch->epoll_fd, EPOLL_CTL_DEL, x->peer.watched_fd, NULL);
    x->peer.watched_fd = -1;
}

/* The loop may have seen the wake before it looks at the socket. */
bool http_hung_up(struct http_call *c) {
    const struct exchange *x = exchange_of(c);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd p = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
    return x->peer.hung_up || poll(&p, 1, 0) == 1;
}
