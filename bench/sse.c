/*
 * sse.c: thousands of SSE clients that only look for "data:", the mark of an event.  It cannot
 * occur inside the JSON of an event, where a quote stands before the colon.
 */
#include "bench.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SSE_CONNECTING_MAX = 128, SSE_OPEN_SECONDS_MAX = 60, SSE_EVENTS = 512 };
enum sse_state { SSE_CONNECTING, SSE_ASKED, SSE_OPEN, SSE_ENDED };
static const char MARK[] = "data:";

static void stream_end(struct sse *s, struct sse_stream *st) {
    if (st->state == SSE_OPEN) {
        s->open--;
        s->ended++;
    } else {
        s->failed++;
    }
    st->state = SSE_ENDED;
    (void)close(st->fd);
    st->fd = -1;
}

/* Events that end in this piece; the mark may be cut by its edges. */
static unsigned marks(struct sse_stream *st, const char *p, size_t n) {
    unsigned found = 0;
    for (size_t i = 0; i < n; i++) {
        if (st->match == 0) {
            const char *d = memchr(p + i, MARK[0], n - i);
            if (!d) break;
            i = (size_t)(d - p);
            st->match = 1;
        } else if (p[i] == MARK[st->match]) {
            if (++st->match < sizeof MARK - 1) continue;
            st->match = 0;
            found++;
        } else {
            st->match = p[i] == MARK[0];
        }
    }
    return found;
}

static void stream_read(struct sse *s, struct sse_stream *st) {
    char piece[16384];
    ssize_t n = recv(st->fd, piece, sizeof piece, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    uint64_t now = clock_mono_ns();
    if (n <= 0) {
        stream_end(s, st);
        return;
    }
    if (st->state == SSE_ASKED) {
        if (n < 12 || memcmp(piece + 8, " 200", 4) != 0) {
            stream_end(s, st);
            return;
        }
        st->state = SSE_OPEN;
        s->open++;
    }
    unsigned found = marks(st, piece, (size_t)n);
    st->events += found;
    if (found == 0 || st->seen || !s->latency) return;
    st->seen = true;
    s->seen++;
    hist_add(s->latency, now - s->t0_ns);
}

static void stream_ask(struct sse *s, struct sse_stream *st, struct str q) {
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = st};
    int e = 0;
    socklen_t n = sizeof e;
    if (getsockopt(st->fd, SOL_SOCKET, SO_ERROR, &e, &n) != 0 || e != 0 ||
        send(st->fd, q.p, q.n, MSG_NOSIGNAL) != (ssize_t)q.n) {
        stream_end(s, st);
        return;
    }
    st->state = SSE_ASKED;
    (void)epoll_ctl(s->ep, EPOLL_CTL_MOD, st->fd, &ev);
}

static int turn(struct sse *s, struct str q, int timeout_ms) {
    struct epoll_event ev[SSE_EVENTS];
    int n = epoll_wait(s->ep, ev, SSE_EVENTS, timeout_ms);
    for (int k = 0; k < n; k++) {
        struct sse_stream *st = ev[k].data.ptr;
        if (st->state == SSE_CONNECTING) stream_ask(s, st, q);
        else if (st->state != SSE_ENDED) stream_read(s, st);
    }
    return n;
}

int sse_open(struct sse *s, const struct target *t, const char *path, unsigned n) {
    struct buf q;
    uint64_t end = clock_mono_ns() + SSE_OPEN_SECONDS_MAX * BENCH_NS;
    unsigned made = 0;
    *s = (struct sse){.n = n, .ep = epoll_create1(EPOLL_CLOEXEC)};
    s->v = mem_array(n, sizeof *s->v);
    if (!s->v || s->ep < 0) return 1;
    for (unsigned i = 0; i < n; i++) s->v[i].fd = -1;
    buf_init(&q, 4096);
    request_make(&q, t, "GET", path, "text/event-stream", STR_NONE);
    while (s->open + s->failed + s->ended < n && clock_mono_ns() < end) {
        while (made < n && made - (s->open + s->failed + s->ended) < SSE_CONNECTING_MAX) {
            struct sse_stream *st = &s->v[made++];
            struct epoll_event ev = {.events = EPOLLOUT, .data.ptr = st};
            st->fd = connect_start(t);
            if (st->fd < 0) {
                st->state = SSE_ENDED;
                s->failed++;
                continue;
            }
            (void)epoll_ctl(s->ep, EPOLL_CTL_ADD, st->fd, &ev);
        }
        (void)turn(s, buf_str(&q), 100);
    }
    buf_fini(&q);
    if (s->open == n) return 0;
    fprintf(stderr, "wopr-bench: %u of %u streams could be opened\n", s->open, n);
    return 1;
}

void sse_close(struct sse *s) {
    for (unsigned i = 0; s->v && i < s->n; i++)
        if (s->v[i].fd >= 0) (void)close(s->v[i].fd);
    mem_free(s->v);
    if (s->ep >= 0) (void)close(s->ep);
    s->v = NULL;
    s->ep = -1;
}

void sse_round(struct sse *s, struct hist *latency) {
    for (unsigned i = 0; i < s->n; i++) s->v[i].seen = false;
    s->seen = 0;
    s->latency = latency;
    s->t0_ns = clock_mono_ns();
}

void sse_pump(struct sse *s, unsigned want, uint64_t until_ns) {
    for (;;) {
        uint64_t now = clock_mono_ns();
        if (s->seen >= want || now >= until_ns) return;
        int wait_ms = (int)((until_ns - now) / 1000000) + 1;
        (void)turn(s, STR_NONE, wait_ms);
    }
}
