/*
 * opsd.c: the second listener, for operators only (HTTP-2): /healthz, /readyz, /metrics.  A thread
 * and a parser of its own, so that it answers while the other threads are busy.  It cannot be
 * filled up: a connection has OPSD_TIMEOUT_MS in total and one answer, and the oldest makes room
 * for a new one.
 */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/thread.h"
#include "http/intake.h"
#include "http/server.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    OPSD_CONNECTIONS_MAX = 64,
    OPSD_TIMEOUT_MS = 5000,
    OPSD_HEAD_MAX = 4096,
    OPSD_TEXT_MAX = 8 * 1024 * 1024,
    OPSD_SHUT_MS = 100 /* nothing can be accepted: not tried again before */
};
struct ops_conn {
    int fd;
    bool answered;
    uint64_t due_ms;
    struct head_scan scan;
    size_t in_n, sent;
    struct buf out;
    char in[OPSD_HEAD_MAX];
};
struct opsd {
    struct http_server *server;
    pthread_t thread;
    int wake_fd, reserve_fd;
    atomic_bool stop;
    uint64_t shut_until;
    size_t nr;
    struct ops_conn *v[OPSD_CONNECTIONS_MAX]; /* the oldest first */
};

/* --- answers --- */

struct page {
    int status;
    const char *reason, *type, *text;
};
static const struct page OK = {200, "OK", "text/plain", "ok\n"},
                         READY = {200, "OK", "text/plain", "ready\n"},
                         METRICS = {200, "OK", "text/plain; version=0.0.4; charset=utf-8", ""},
                         BAD = {400, "Bad Request", "text/plain", "bad request\n"},
                         NONE = {404, "Not Found", "text/plain", "not found\n"},
                         METHOD = {405, "Method Not Allowed", "text/plain", "use GET\n"},
                         TOO_LARGE = {500, "Internal Server Error", "text/plain", "too large\n"},
                         DRAINING = {503, "Service Unavailable", "text/plain", "draining\n"},
                         NOT_READY = {503, "Service Unavailable", "text/plain", "not ready\n"};

static const struct page *page_of(struct http_server *s, const struct http_head *h) {
    if (!str_eqc(h->method, "GET") && !str_eqc(h->method, "HEAD")) return &METHOD;
    if (str_eqc(h->path, "/healthz")) return &OK;
    if (str_eqc(h->path, "/metrics")) return &METRICS;
    if (!str_eqc(h->path, "/readyz")) return &NONE;
    if (server_draining(s)) return &DRAINING;
    return s->cfg.ops.ready && !s->cfg.ops.ready(s->cfg.ops.ctx) ? &NOT_READY : &READY;
}

static void conn_answer(struct ops_conn *c, const struct page *p, struct str text, bool with_body) {
    c->answered = true;
    buf_init(&c->out, OPSD_TEXT_MAX + OPSD_HEAD_MAX);
    buf_addf(&c->out,
             "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: "
             "no-store\r\nX-Content-Type-Options: nosniff\r\n%sConnection: close\r\n\r\n",
             p->status, p->reason, p->type, text.n, p == &METHOD ? "Allow: GET, HEAD\r\n" : "");
    if (with_body) buf_adds(&c->out, text);
}

static void conn_judge(struct http_server *s, struct ops_conn *c) {
    struct http_head h;
    struct wopr_error err = {0};
    struct str text = str_n(c->in + c->scan.start, c->scan.end - c->scan.start);
    const struct page *p = head_parse(text, &h, &err) == 0 ? page_of(s, &h) : &BAD;
    struct buf b;
    buf_init(&b, OPSD_TEXT_MAX);
    if (p == &METRICS) metrics_render(s, &b);
    if (buf_failed(&b)) p = &TOO_LARGE;
    conn_answer(c, p, p == &METRICS ? buf_str(&b) : str_c(p->text), !str_eqc(h.method, "HEAD"));
    buf_fini(&b);
}

/* --- connections: false when one is over --- */

static bool conn_read(struct http_server *s, struct ops_conn *c) {
    struct wopr_error err = {0};
    ssize_t n = net_recv(c->fd, c->in + c->in_n, sizeof c->in - c->in_n, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    c->in_n += (size_t)n;
    switch (head_scan(&c->scan, str_n(c->in, c->in_n), &err)) {
    case HEAD_WHOLE:
        conn_judge(s, c);
        break;
    case HEAD_MORE:
        if (c->in_n < sizeof c->in) return true;
        /* fall through */
    default:
        conn_answer(c, &BAD, str_c(BAD.text), true);
    }
    return !buf_failed(&c->out);
}

static bool conn_write(struct ops_conn *c) {
    while (c->sent < c->out.len) {
        ssize_t n = net_send(c->fd, c->out.p + c->sent, c->out.len - c->sent, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        c->sent += (size_t)n;
    }
    return false;
}

static bool conn_serve(struct http_server *s, struct ops_conn *c) {
    if (!c->answered && !conn_read(s, c)) return false;
    return !c->answered || conn_write(c);
}

static void conn_drop(struct opsd *o, size_t i) {
    struct ops_conn *c = o->v[i];
    if (c->answered) buf_fini(&c->out);
    (void)close(c->fd);
    mem_free(c);
    memmove(o->v + i, o->v + i + 1, (--o->nr - i) * sizeof o->v[0]);
}

static void let_in(struct opsd *o, int fd) {
    struct ops_conn *c = mem_alloc(sizeof *c);
    if (!c) {
        (void)close(fd);
        return;
    }
    memset(c, 0, offsetof(struct ops_conn, in));
    if (o->nr == OPSD_CONNECTIONS_MAX) conn_drop(o, 0);
    c->fd = fd;
    c->due_ms = clock_mono_ms() + OPSD_TIMEOUT_MS;
    o->v[o->nr++] = c;
}

/* Without a free descriptor, the reserved one is used for the connection that waits. */
static void conn_accept(struct opsd *o) {
    int fd = net_accept(o->server->listen.ops_fd, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        if (o->nr > 0) conn_drop(o, 0);
        else if (o->reserve_fd >= 0) {
            (void)close(o->reserve_fd);
            o->reserve_fd = -1;
        }
        fd = net_accept(o->server->listen.ops_fd, NULL, NULL, SOCK_NONBLOCK);
    }
    if (fd >= 0) let_in(o, fd);
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        o->shut_until = clock_mono_ms() + OPSD_SHUT_MS;
}

/* --- the thread --- */

static int polls_fill(const struct opsd *o, struct pollfd *fds, uint64_t now_ms) {
    bool shut = o->shut_until > now_ms;
    fds[0] = (struct pollfd){.fd = o->wake_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = shut ? -1 : o->server->listen.ops_fd, .events = POLLIN};
    for (size_t i = 0; i < o->nr; i++)
        fds[2 + i] = (struct pollfd){.fd = o->v[i]->fd,
                                     .events = (short)(o->v[i]->answered ? POLLOUT : POLLIN)};
    if (shut) return OPSD_SHUT_MS;
    if (o->nr == 0) return -1;
    return o->v[0]->due_ms > now_ms ? (int)(o->v[0]->due_ms - now_ms) : 0;
}

static void opsd_turn(struct opsd *o, const struct pollfd *fds) {
    uint64_t now_ms = clock_mono_ms();
    for (size_t i = o->nr; i-- > 0;) {
        struct ops_conn *c = o->v[i];
        if ((fds[2 + i].revents != 0 && !conn_serve(o->server, c)) || c->due_ms <= now_ms)
            conn_drop(o, i);
    }
    if (o->reserve_fd < 0) o->reserve_fd = fs_open_null();
    if (fds[1].revents != 0) conn_accept(o);
}

static void *opsd_main(void *arg) {
    struct opsd *o = arg;
    struct pollfd fds[2 + OPSD_CONNECTIONS_MAX];
    thread_name("wopr-ops");
    while (!atomic_load(&o->stop)) {
        int ms = polls_fill(o, fds, clock_mono_ms());
        if (poll(fds, 2 + (nfds_t)o->nr, ms) >= 0) opsd_turn(o, fds);
    }
    while (o->nr > 0) conn_drop(o, o->nr - 1);
    return NULL;
}

static void opsd_free(struct opsd *o) {
    if (o->wake_fd >= 0) (void)close(o->wake_fd);
    if (o->reserve_fd >= 0) (void)close(o->reserve_fd);
    mem_free(o);
}

int opsd_start(struct http_server *s, struct wopr_error *err) {
    if (s->cfg.ops_port < 0) return 0;
    int rc = listen_on(s->cfg.ops_host, (uint16_t)s->cfg.ops_port, &s->listen.ops_fd,
                       &s->listen.ops_port, err);
    if (rc != 0) return rc;
    struct opsd *o = MEM_NEW(struct opsd);
    if (o) {
        o->server = s;
        o->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        o->reserve_fd = fs_open_null();
        if (o->wake_fd >= 0 && pthread_create(&o->thread, NULL, opsd_main, o) == 0) {
            s->opsd = o;
            return 0;
        }
        opsd_free(o);
    }
    (void)close(s->listen.ops_fd);
    s->listen.ops_fd = -1;
    return wopr_error_set(err, WOPR_E_IO, "the operations listener on %s could not be started",
                          s->cfg.ops_host);
}

void opsd_stop(struct http_server *s) {
    const uint64_t one = 1;
    if (!s->opsd) return;
    atomic_store(&s->opsd->stop, true);
    while (write(s->opsd->wake_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
    (void)pthread_join(s->opsd->thread, NULL);
    opsd_free(s->opsd);
    s->opsd = NULL;
    (void)close(s->listen.ops_fd);
    s->listen.ops_fd = -1;
}
