/*
 * load.c: keep-alive clients on one epoll instance.
 * Closed loop: every connection sends its next request when its answer is there (throughput).
 * Open loop: request k is due at start + k / rate, whatever the host does; its latency counts from
 * then, so a host that stalls pays for every request it delayed (no coordinated omission).
 */
#include "bench.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { LOAD_EVENTS = 256, LOAD_BYTES_MAX = 64 * 1024 * 1024, LOAD_GRACE_MS = 10000 };

struct client {
    int fd;
    bool busy, wants_out;
    struct buf out, in;
    size_t out_at;
    enum load_wait wait;
    uint64_t tag, due_ns, sent_ns;
};
struct run {
    struct load *l;
    struct client *v;
    unsigned *idle; /* stack of indices */
    unsigned idle_nr, busy_nr;
    struct buf scratch;
    int ep, timer;
    uint64_t start_ns, started;
    bool dry; /* next() has no more */
};

static void watch(struct run *r, unsigned i, bool out, int op) {
    struct client *c = &r->v[i];
    struct epoll_event ev = {.events = EPOLLIN | (out ? EPOLLOUT : 0u), .data.u64 = i + 1};
    c->wants_out = out;
    (void)epoll_ctl(r->ep, op, c->fd, &ev);
}

static bool client_connect(struct run *r, unsigned i) {
    struct client *c = &r->v[i];
    if (c->fd >= 0) (void)close(c->fd);
    c->fd = connect_start(r->l->target);
    if (c->fd < 0) return false;
    watch(r, i, false, EPOLL_CTL_ADD);
    return true;
}

static void client_flush(struct run *r, unsigned i) {
    struct client *c = &r->v[i];
    while (c->out_at < c->out.len) {
        ssize_t n = send(c->fd, c->out.p + c->out_at, c->out.len - c->out_at, MSG_NOSIGNAL);
        if (n > 0) {
            c->out_at += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) break;
        return; /* broken: reading will say so */
    }
    bool out = c->out_at < c->out.len;
    if (out != c->wants_out) watch(r, i, out, EPOLL_CTL_MOD);
}

static void client_send(struct run *r, unsigned i, const struct load_request *q) {
    struct client *c = &r->v[i];
    c->wait = q->wait;
    c->tag = q->tag;
    c->out_at = 0;
    c->sent_ns = clock_mono_ns();
    buf_reset(&c->in);
    client_flush(r, i);
}

/* ------------------------------------------------------------------ starting work */
static uint64_t due_of(const struct run *r, uint64_t k) {
    return r->start_ns + (uint64_t)((double)k * 1e9 / r->l->rate);
}

static bool start_one(struct run *r, uint64_t due_ns) {
    if (r->idle_nr == 0 || r->dry) return false;
    unsigned i = r->idle[r->idle_nr - 1];
    struct client *c = &r->v[i];
    struct load_request q = {.out = &c->out};
    buf_reset(&c->out);
    if (!r->l->next(r->l->ctx, &q)) {
        r->dry = true;
        return false;
    }
    r->idle_nr--;
    r->busy_nr++;
    c->busy = true;
    c->due_ns = due_ns;
    r->started++;
    client_send(r, i, &q);
    return true;
}

static void start_more(struct run *r) {
    uint64_t now = clock_mono_ns();
    if (now >= r->l->deadline_ns) r->dry = true;
    if (r->l->rate <= 0) {
        while (start_one(r, clock_mono_ns())) continue;
        return;
    }
    while (!r->dry && due_of(r, r->started) <= now && start_one(r, due_of(r, r->started))) continue;
    uint64_t due = due_of(r, r->started);
    if (r->dry || due <= now) return; /* no connection is free: the next answer comes back here */
    struct itimerspec ts = {.it_value = {.tv_sec = (time_t)((due - now) / BENCH_NS),
                                         .tv_nsec = (long)((due - now) % BENCH_NS)}};
    (void)timerfd_settime(r->timer, 0, &ts, NULL);
}

/* ------------------------------------------------------------------ answers */
static void client_free(struct run *r, unsigned i, bool reconnect) {
    struct client *c = &r->v[i];
    if (c->busy) r->busy_nr--;
    c->busy = false;
    if (reconnect && !client_connect(r, i)) {
        r->l->errors++;
        return; /* one client less */
    }
    r->idle[r->idle_nr++] = i;
}

static void client_broken(struct run *r, unsigned i) {
    if (r->v[i].busy) {
        r->l->errors++;
        client_free(r, i, true);
        return;
    }
    (void)close(r->v[i].fd); /* idle and closed by the host: it stays in the stack of idle ones */
    r->v[i].fd = -1;
    if (!client_connect(r, i)) r->l->errors++;
}

/* 1 complete, 0 not yet, -1 broken. */
static int answer_ready(struct run *r, struct client *c, struct answer *a) {
    if (c->wait == LOAD_WHOLE) return answer_parse(&c->in, &r->scratch, a);
    if (c->in.len < 12 || !memchr(c->in.p, '\n', c->in.len)) return 0;
    *a = (struct answer){.status = (c->in.p[9] - '0') * 100 + (c->in.p[10] - '0') * 10 +
                                   (c->in.p[11] - '0'),
                         .body = buf_str(&c->in),
                         .close = true};
    return a->status != 200 || strstr(c->in.p, "data:") ? 1 : 0;
}

static void client_read(struct run *r, unsigned i) {
    struct client *c = &r->v[i];
    char piece[65536];
    ssize_t n = recv(c->fd, piece, sizeof piece, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) buf_add(&c->in, piece, (size_t)n);
    struct answer a;
    int rc = n > 0 && c->busy ? answer_ready(r, c, &a) : -1;
    if (rc == 0) return;
    if (rc < 0) {
        client_broken(r, i);
        return;
    }
    struct load_answer la = {.status = a.status,
                             .body = a.body,
                             .tag = c->tag,
                             .due_ns = c->due_ns,
                             .sent_ns = c->sent_ns,
                             .now_ns = clock_mono_ns()};
    struct load_request q = {.out = &c->out};
    buf_reset(&c->out);
    bool more = r->l->done && r->l->done(r->l->ctx, &la, &q);
    if (!more) {
        client_free(r, i, a.close);
    } else if (!a.close || client_connect(r, i)) {
        client_send(r, i, &q);
    } else {
        client_broken(r, i);
    }
}

static void turn(struct run *r, int timeout_ms) {
    struct epoll_event ev[LOAD_EVENTS];
    int n = epoll_wait(r->ep, ev, LOAD_EVENTS, timeout_ms);
    for (int k = 0; k < n; k++) {
        if (ev[k].data.u64 == 0) {
            uint64_t ticks;
            (void)!read(r->timer, &ticks, sizeof ticks);
            continue;
        }
        unsigned i = (unsigned)(ev[k].data.u64 - 1);
        if (ev[k].events & EPOLLOUT) client_flush(r, i);
        if (ev[k].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) client_read(r, i);
    }
}

/* ------------------------------------------------------------------ life */
static bool setup(struct run *r) {
    struct load *l = r->l;
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 0};
    r->ep = epoll_create1(EPOLL_CLOEXEC);
    r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    r->v = mem_array(l->connections, sizeof *r->v);
    r->idle = mem_array(l->connections, sizeof *r->idle);
    buf_init(&r->scratch, LOAD_BYTES_MAX);
    if (r->ep < 0 || r->timer < 0 || !r->v || !r->idle) return false;
    (void)epoll_ctl(r->ep, EPOLL_CTL_ADD, r->timer, &ev);
    for (unsigned i = 0; i < l->connections; i++) {
        r->v[i].fd = -1;
        buf_init(&r->v[i].out, LOAD_BYTES_MAX);
        buf_init(&r->v[i].in, LOAD_BYTES_MAX);
    }
    for (unsigned i = 0; i < l->connections; i++) {
        if (!client_connect(r, i)) return false;
        r->idle[r->idle_nr++] = i;
    }
    return true;
}

static void teardown(struct run *r) {
    for (unsigned i = 0; r->v && i < r->l->connections; i++) {
        if (r->v[i].fd > 0) (void)close(r->v[i].fd);
        buf_fini(&r->v[i].out);
        buf_fini(&r->v[i].in);
    }
    mem_free(r->v);
    mem_free(r->idle);
    buf_fini(&r->scratch);
    if (r->ep >= 0) (void)close(r->ep);
    if (r->timer >= 0) (void)close(r->timer);
}

int load_run(struct load *l) {
    struct run r = {.l = l};
    bool ok = setup(&r);
    if (!ok) {
        fprintf(stderr, "wopr-bench: cannot connect to %s\n", l->target->host);
    } else {
        r.start_ns = clock_mono_ns();
        while (!r.dry || r.busy_nr > 0) {
            start_more(&r);
            if (r.dry && r.busy_nr == 0) break;
            turn(&r, 100);
            if (clock_mono_ns() > l->deadline_ns + (uint64_t)LOAD_GRACE_MS * 1000000) {
                l->errors += r.busy_nr; /* never answered */
                break;
            }
        }
    }
    teardown(&r);
    return ok ? 0 : 1;
}
