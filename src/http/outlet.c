/*
 * outlet.c: sockets of live streams, taken out of libmicrohttpd.
 *
 * libmicrohttpd 0.9.75 walks the list of all suspended connections of a thread whenever one of them
 * is resumed, so thousands of idle streams would slow down every request that waits for a commit;
 * each of them keeps its memory pool; and one event costs a stream two locks and two epoll_ctl.  So
 * a stream that has delivered its backlog takes a duplicate of its socket, puts /dev/null in the
 * place of libmicrohttpd's descriptor and lets it close the connection.  What follows is one
 * sendmsg per piece: a chunk of the body that libmicrohttpd began.  The loop's thread stays its
 * owner.
 *
 * Not taken: TLS, whose session is libmicrohttpd's, and anything but HTTP/1.1, which has no chunks.
 */
#include "http/outlet.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/net.h"
#include "http/intake.h"
#include "http/loop.h"
#include "http/server.h"
#include "http/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    OUTLETS_PER_TURN = 64, /* streams served before requests get their turn */
    OUTLETS_EVENTS = 64,
    OUTLETS_LOOK_MS = 500,          /* between two looks at the stuck ones */
    OUTLET_UNSENT_MAX = 256 * 1024, /* in the kernel, of a client that reads slowly (L3) */
    OUTLET_LARGE = 64 * 1024,       /* a chunk of more is written in parts */
    OUTLET_KERNEL = 64 * 1024 /* of which the kernel takes twice that, not megabytes, at once */
};
static const char CHUNK_END[] = "\r\n";
static const char LAST_CHUNK[] = "0\r\n\r\n";

struct outlets {
    const struct outlet_user *user;
    int epoll_fd, nowhere;
    struct list live, going, stuck; /* the thread's own; stuck: the longest first */
    pthread_mutex_t lock;           /* a leaf */
    struct list ready;              /* of struct park, woken */
};

/* --- one socket --- */

static bool socket_adopt(struct outlets *o, struct stream *st, int fd) {
    struct epoll_event ev = {.events = EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = st};
    if (net_option(fd, IPPROTO_TCP, TCP_CORK, 0) != 0 ||
        net_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) != 0 ||
        net_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, OUTLET_UNSENT_MAX) != 0)
        return false;
    return epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0;
}

/* Suspending takes the descriptor out of libmicrohttpd's epoll set; resuming makes it visit the
 * connection again after the callback has closed it.  Should dup2 fail, the socket is shut, and the
 * client reconnects. */
static void socket_swap(struct outlets *o, struct stream *st, int fd) {
    MHD_suspend_connection(st->park.conn);
    while (dup2(o->nowhere, fd) < 0 && (errno == EINTR || errno == EBUSY)) continue;
    MHD_resume_connection(st->park.conn);
    loop_wake(st->park.loop);
}

bool outlet_take(struct stream *st) {
    struct outlets *o = st->park.loop->outlets;
    if (!st->plain || !st->park.conn) return false;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(st->park.conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    int theirs = info ? info->connect_fd : -1;
    int fd = theirs >= 0 ? fcntl(theirs, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0) return false;
    if (!socket_adopt(o, st, fd)) {
        (void)close(fd);
        return false;
    }
    socket_swap(o, st, theirs);
    struct intake *e = intake_of(st->park.conn);
    e->left = true;
    e->counted = false;
    st->outlet.peer = e->peer;
    st->outlet.fd = fd;
    st->park.conn = NULL;
    list_add_tail(&o->live, &st->outlet.live);
    list_add_tail(&o->going, &st->park.ready);
    atomic_fetch_add(&st->park.server->conns.open, 1);
    return true;
}

void outlet_drop(struct stream *st) {
    struct outlets *o = st->park.loop->outlets;
    pthread_mutex_lock(&o->lock);
    list_del(&st->park.ready);
    pthread_mutex_unlock(&o->lock);
    list_del(&st->outlet.live);
    list_del(&st->outlet.stuck);
    peers_leave(&st->park.server->conns.peers, &st->outlet.peer);
    (void)close(st->outlet.fd); /* leaves the epoll set with it */
    st->outlet.fd = -1;
    atomic_fetch_sub(&st->park.server->conns.open, 1);
}

void outlet_forget(struct stream *st) {
    list_del(&st->outlet.stuck);
    st->outlet.stuck_ms = 0;
}

/* The kernel's own bound would have the loop copy megabytes in one call. */
static void socket_narrow(struct outlet *x) {
    if (!x->narrow) (void)net_option(x->fd, SOL_SOCKET, SO_SNDBUF, OUTLET_KERNEL);
    x->narrow = true;
}

/* The length of a chunk and the end of its line; printf took a quarter of the time of an event. */
static unsigned chunk_head(char *out, size_t n) {
    unsigned digits = 1;
    while (digits < 2 * sizeof n && n >> 4 * digits != 0) digits++;
    for (unsigned i = digits; i > 0; i--, n >>= 4) out[i - 1] = "0123456789abcdef"[n & 15];
    out[digits] = '\r';
    out[digits + 1] = '\n';
    return digits + 2;
}

void outlet_chunk(struct outlet *x, const char *p, size_t n, bool last) {
    if (n > OUTLET_LARGE) socket_narrow(x);
    x->p = p;
    x->n = n;
    x->sent = 0;
    x->last = last;
    x->head_n = n > 0 ? chunk_head(x->head, n) : 0;
}

static size_t rest_add(struct iovec *v, size_t k, const char *p, size_t n, size_t *skip) {
    if (*skip >= n) {
        *skip -= n;
        return k;
    }
    v[k] = (struct iovec){.iov_base = (char *)(uintptr_t)p + *skip, .iov_len = n - *skip};
    *skip = 0;
    return k + 1;
}

static size_t chunk_rest(const struct outlet *x, struct iovec v[4]) {
    size_t skip = x->sent, k = 0;
    k = rest_add(v, k, x->head, x->head_n, &skip);
    k = rest_add(v, k, x->p, x->n, &skip);
    k = rest_add(v, k, CHUNK_END, x->n > 0 ? sizeof CHUNK_END - 1 : 0, &skip);
    return rest_add(v, k, LAST_CHUNK, x->last ? sizeof LAST_CHUNK - 1 : 0, &skip);
}

enum outlet_state outlet_write(struct stream *st) {
    struct outlet *x = &st->outlet;
    struct iovec v[4];
    bool moved = false;
    for (size_t k; (k = chunk_rest(x, v)) > 0;) {
        struct msghdr m = {.msg_iov = v, .msg_iovlen = k};
        ssize_t n = net_sendmsg(x->fd, &m, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!moved && x->stuck_ms != 0) return OUTLET_STUCK; /* in its place since then */
            x->stuck_ms = clock_mono_ms();
            list_del(&x->stuck);
            list_add_tail(&st->park.loop->outlets->stuck, &x->stuck);
            return OUTLET_STUCK;
        }
        if (n < 0) return OUTLET_GONE;
        x->sent += (size_t)n;
        moved = true;
    }
    list_del(&x->stuck);
    x->stuck_ms = 0;
    return OUTLET_SENT;
}

void outlet_again(struct stream *st) {
    list_add_tail(&st->park.loop->outlets->going, &st->park.ready);
}

/* --- all of a loop --- */

void outlets_wake(struct outlets *o, struct park *p) {
    pthread_mutex_lock(&o->lock);
    list_add_tail(&o->ready, &p->ready);
    pthread_mutex_unlock(&o->lock);
}

/* Streams whose clients have left, or can be written to again. */
static void outlets_look(struct outlets *o) {
    struct epoll_event ev[OUTLETS_EVENTS];
    int n = epoll_wait(o->epoll_fd, ev, OUTLETS_EVENTS, 0); /* the rest keeps the set readable */
    for (int i = 0; i < n; i++) {
        struct stream *st = ev[i].data.ptr;
        if (ev[i].events & (EPOLLERR | EPOLLHUP)) {
            o->user->end(st);
            continue;
        }
        if (ev[i].events & EPOLLRDHUP) st->hung_up = true;
        if (st->outlet.stuck_ms != 0) o->user->pump(st);
        else if (st->hung_up) o->user->wake(st);
    }
}

/* SSE-25 */
static void outlets_cut_stuck(struct outlets *o) {
    uint64_t now_ms = clock_mono_ms();
    for (struct list *l; (l = o->stuck.next) != &o->stuck;) {
        struct stream *st = LIST_ENTRY(l, struct stream, outlet.stuck);
        uint64_t patience_ms = (uint64_t)st->park.server->cfg.read_timeout_s * 1000;
        if (now_ms - st->outlet.stuck_ms < patience_ms) break;
        o->user->end(st);
    }
}

void outlets_turn(struct outlets *o, bool with_look) {
    if (with_look) outlets_look(o);
    pthread_mutex_lock(&o->lock);
    list_join(&o->going, &o->ready);
    pthread_mutex_unlock(&o->lock);
    uint64_t until_ms = clock_mono_ms() + HTTP_STREAM_TURN_MS;
    for (unsigned i = 0; i < OUTLETS_PER_TURN && clock_mono_ms() <= until_ms; i++) {
        struct list *l = list_pop(&o->going);
        if (!l) break;
        o->user->pump(LIST_ENTRY(l, struct stream, park.ready));
    }
    if (!list_empty(&o->stuck)) outlets_cut_stuck(o);
}

int outlets_wait_ms(const struct outlets *o, int ms) {
    if (!list_empty(&o->going)) return 0;
    if (list_empty(&o->stuck)) return ms;
    return ms < 0 || ms > OUTLETS_LOOK_MS ? OUTLETS_LOOK_MS : ms;
}

bool outlets_any(const struct outlets *o) { return !list_empty(&o->live); }

int outlets_fd(const struct outlets *o) { return o->epoll_fd; }

struct outlets *outlets_new(const struct outlet_user *user) {
    struct outlets *o = MEM_NEW(struct outlets);
    if (!o) return NULL;
    o->user = user;
    o->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    o->nowhere = fs_open_null();
    if (o->epoll_fd < 0 || o->nowhere < 0 || pthread_mutex_init(&o->lock, NULL) != 0) {
        if (o->epoll_fd >= 0) (void)close(o->epoll_fd);
        if (o->nowhere >= 0) (void)close(o->nowhere);
        mem_free(o);
        return NULL;
    }
    list_init(&o->live);
    list_init(&o->going);
    list_init(&o->stuck);
    list_init(&o->ready);
    return o;
}

void outlets_free(struct outlets *o) {
    if (!o) return;
    while (!list_empty(&o->live))
        o->user->end(LIST_ENTRY(o->live.next, struct stream, outlet.live));
    pthread_mutex_destroy(&o->lock);
    (void)close(o->epoll_fd);
    (void)close(o->nowhere);
    mem_free(o);
}
