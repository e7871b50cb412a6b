/* fig_stream.c: figures about event streams: idle streams, fan-out, one long run. */
#include "bench.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PATH_BYTES = 256,
    SETTLE_MS = 1500,
    ROUND_SECONDS_MAX = 30,
    LONG_SECONDS_MAX = 1800,
    LONG_ROUND_EVENTS = 5
};
enum { QUIET_MS = 150, EVENT_BYTES = 600 };
static const double MIB = 1048576.0;

static bool streams_allowed(const struct options *o, const char *figure) {
    if (o->streams <= BENCH_STREAMS_MAX && proc_files((uint64_t)o->streams + 64)) return true;
    printf("\n%s: skipped: the limit of open files does not allow %lld streams\n", figure,
           (long long)o->streams);
    return false;
}

/* --path given: subscribe there (yardsticks).  Else: a run of --workflow, and its events. */
static int stream_path(const struct options *o, const struct target *t, char id[BENCH_RUN_ID_MAX],
                       char path[PATH_BYTES]) {
    id[0] = '\0';
    if (o->path) {
        (void)snprintf(path, PATH_BYTES, "%s", o->path);
        return 0;
    }
    if (run_create(t, o->workflow, o->inputs, id) != 0) return 1;
    (void)snprintf(path, PATH_BYTES, "/v1/runs/%s/events", id);
    return 0;
}

static void run_cancel(const struct target *t, const char *id) {
    char path[PATH_BYTES];
    if (id[0] == '\0') return;
    (void)snprintf(path, sizeof path, "/v1/runs/%s/cancel", id);
    (void)http_once(t, "POST", path, STR("{}"), NULL, 10000);
}

int cmd_idle_streams(const struct options *o) {
    struct target t;
    struct sse s;
    struct report r;
    char id[BENCH_RUN_ID_MAX], path[PATH_BYTES];
    if (!streams_allowed(o, "idle-streams")) return 0;
    if (target_parse(&t, o) != 0 || stream_path(o, &t, id, path) != 0) return 1;
    if (o->pid <= 0) {
        fprintf(stderr, "wopr-bench: idle-streams needs --pid of the server\n");
        return 1;
    }
    pause_ms(SETTLE_MS);
    int64_t before = proc_rss_bytes(o->pid);
    int rc = sse_open(&s, &t, path, (unsigned)o->streams);
    sse_pump(&s, UINT32_MAX, clock_mono_ns() + SETTLE_MS * 1000000ull);
    int64_t after = proc_rss_bytes(o->pid);
    double cpu0 = proc_cpu_seconds(o->pid);
    uint64_t t0 = clock_mono_ns();
    sse_pump(&s, UINT32_MAX, t0 + (uint64_t)(o->seconds * 1e9));
    double cpu = proc_cpu_seconds(o->pid) - cpu0, wall = (double)(clock_mono_ns() - t0) / 1e9;
    if (rc == 0) {
        report_begin(&r, "idle-streams", o);
        report_value(&r, "streams", s.open, "streams");
        report_value(&r, "rss_before", (double)before / MIB, "MiB");
        report_value(&r, "rss_with_streams", (double)after / MIB, "MiB");
        report_value(&r, "rss_per_stream", (double)(after - before) / s.open, "B");
        report_value(&r, "rss_per_10000", (double)(after - before) / s.open * 10000 / MIB, "MiB");
        report_value(&r, "cpu_while_idle", cpu / wall * 100, "% of a core");
        rc = report_end(&r);
    }
    sse_close(&s);
    run_cancel(&t, id);
    return rc;
}

/* ------------------------------------------------------------------ fan-out */
struct trigger {
    struct buf request[2]; /* odd and even rounds */
    int fd;
};

static int trigger_init(struct trigger *g, const struct options *o, const struct target *t,
                        const char *id) {
    static const char *const verbs[] = {"pause", "resume"};
    char path[PATH_BYTES], payload[EVENT_BYTES + 1];
    memset(payload, 'x', EVENT_BYTES);
    payload[EVENT_BYTES] = '\0';
    for (int i = 0; i < 2; i++) {
        buf_init(&g->request[i], 8192);
        if (o->pub) (void)snprintf(path, sizeof path, "%s", o->pub);
        else (void)snprintf(path, sizeof path, "/v1/runs/%s:%s", id, verbs[i]);
        request_make(&g->request[i], t, "POST", path, NULL, o->pub ? str_c(payload) : STR("{}"));
    }
    g->fd = connect_start(t);
    return g->fd >= 0 ? 0 : 1;
}

static void trigger_fini(struct trigger *g) {
    buf_fini(&g->request[0]);
    buf_fini(&g->request[1]);
    if (g->fd >= 0) (void)close(g->fd);
}

static int trigger_send(struct trigger *g, int64_t round) {
    const struct buf *q = &g->request[round % 2];
    for (int tries = 0; tries < 1000; tries++) {
        if (send(g->fd, q->p, q->len, MSG_NOSIGNAL) == (ssize_t)q->len) return 0;
        if (errno != EAGAIN && errno != ENOTCONN) break;
        pause_ms(1);
    }
    return 1;
}

static int trigger_answer(struct trigger *g) {
    struct buf in, scratch;
    struct answer a = {.status = -1};
    int rc = 0;
    buf_init(&in, 65536);
    buf_init(&scratch, 65536);
    for (int tries = 0; rc == 0 && tries < 5000; tries++) {
        char piece[4096];
        ssize_t n = recv(g->fd, piece, sizeof piece, 0);
        if (n > 0) buf_add(&in, piece, (size_t)n);
        else if (n == 0 || errno != EAGAIN) break;
        else pause_ms(1);
        rc = answer_parse(&in, &scratch, &a);
    }
    buf_fini(&in);
    buf_fini(&scratch);
    return rc == 1 ? a.status : -1;
}

int cmd_accepted_beside(const struct options *o) {
    struct target t;
    struct sse s;
    struct options silent = *o;
    char id[BENCH_RUN_ID_MAX], path[PATH_BYTES];
    silent.workflow = "bench-wait";
    if (!streams_allowed(o, "accepted-beside")) return 0;
    if (target_parse(&t, o) != 0 || stream_path(&silent, &t, id, path) != 0) return 1;
    int rc = sse_open(&s, &t, path, (unsigned)o->streams);
    sse_pump(&s, UINT32_MAX, clock_mono_ns() + SETTLE_MS * 1000000ull);
    if (rc == 0) rc = accepted_as(o, "accepted-beside");
    sse_close(&s);
    run_cancel(&t, id);
    return rc;
}

static int fanout_rounds(const struct options *o, struct sse *s, struct trigger *g, struct hist *h,
                         struct hist *last, uint64_t *lost) {
    static struct hist warm;
    for (int64_t i = 0; i < o->rounds + 2; i++) { /* two rounds of warm-up */
        bool counts = i >= 2;
        sse_pump(s, UINT32_MAX, clock_mono_ns() + QUIET_MS * 1000000ull);
        sse_round(s, counts ? h : &warm);
        if (trigger_send(g, i) != 0) return 1;
        sse_pump(s, s->open, s->t0_ns + ROUND_SECONDS_MAX * BENCH_NS);
        uint64_t took = clock_mono_ns() - s->t0_ns;
        int status = trigger_answer(g);
        if (status < 200 || status > 299) {
            fprintf(stderr, "wopr-bench: the event of round %lld was answered %d\n", (long long)i,
                    status);
            return 1;
        }
        if (!counts) continue;
        hist_add(last, took);
        *lost += s->open - s->seen;
    }
    return 0;
}

int cmd_fanout(const struct options *o) {
    static struct hist h, last;
    struct target t;
    struct sse s = {.ep = -1};
    struct trigger g = {.fd = -1};
    struct report r;
    char id[BENCH_RUN_ID_MAX], path[PATH_BYTES];
    uint64_t lost = 0;
    if (!streams_allowed(o, "fanout")) return 0;
    if (target_parse(&t, o) != 0 || stream_path(o, &t, id, path) != 0) return 1;
    int rc = sse_open(&s, &t, path, (unsigned)o->streams);
    if (rc == 0) rc = trigger_init(&g, o, &t, id);
    if (rc == 0) rc = fanout_rounds(o, &s, &g, &h, &last, &lost);
    if (rc == 0) {
        report_begin(&r, "fanout", o);
        report_value(&r, "streams", s.open, "streams");
        report_value(&r, "rounds", (double)o->rounds, "events");
        report_hist(&r, "fanout", &h);
        report_value(&r, "last_stream_p50", (double)hist_at(&last, 0.5) / 1e6, "ms");
        report_value(&r, "lost", (double)lost, "events");
        rc = report_end(&r);
    }
    trigger_fini(&g);
    sse_close(&s);
    run_cancel(&t, id);
    return rc;
}

/* ------------------------------------------------------------------ one long run */
int cmd_long_run(const struct options *o) {
    struct target t;
    struct sse s;
    struct report r;
    char id[BENCH_RUN_ID_MAX], path[PATH_BYTES], body[512], name[64];
    struct buf answer;
    int64_t rounds = o->runs / LONG_ROUND_EVENTS, per_slice = o->runs / o->slices;
    if (target_parse(&t, o) != 0 || rounds < 1 || per_slice < 1) return 1;
    (void)snprintf(body, sizeof body,
                   "{\"workflowId\":\"bench-loop\",\"inputs\":{\"rounds\":%lld},"
                   "\"configurable\":{\"recursionLimit\":%lld}}",
                   (long long)rounds, (long long)rounds * 2 + 2);
    buf_init(&answer, 65536);
    int status = http_once(&t, "POST", "/v1/runs", str_c(body), &answer, 10000);
    bool ok = status == 201 && run_id_of(buf_str(&answer), id);
    if (!ok)
        fprintf(stderr, "wopr-bench: creating the long run answered %d: %.300s\n", status,
                answer.p ? answer.p : "");
    buf_fini(&answer);
    if (!ok) return 1;
    (void)snprintf(path, sizeof path, "/v1/runs/%s/events?streamMode=debug", id);
    uint64_t t0 = clock_mono_ns(), mark = t0, end = t0 + LONG_SECONDS_MAX * BENCH_NS;
    if (sse_open(&s, &t, path, 1) != 0) return 1;
    report_begin(&r, "long-run", o);
    double first = 0, last = 0;
    uint64_t base = 0;
    for (int64_t k = 1; k <= o->slices && clock_mono_ns() < end;) {
        sse_pump(&s, UINT32_MAX, clock_mono_ns() + 1000000);
        while (k <= o->slices && s.v[0].events >= (uint64_t)(k * per_slice)) {
            uint64_t now = clock_mono_ns(), n = s.v[0].events - base;
            if (n == 0) break; /* several marks in one piece: they share its time */
            last = (double)(now - mark) / 1e3 / (double)n;
            if (first <= 0) first = last;
            (void)snprintf(name, sizeof name, "us_per_event_to_%llu",
                           (unsigned long long)s.v[0].events);
            report_value(&r, name, last, "us");
            mark = now;
            base = s.v[0].events;
            k = (int64_t)(s.v[0].events / (uint64_t)per_slice) + 1;
        }
        if (s.ended > 0) break;
    }
    uint64_t events = s.v[0].events;
    report_value(&r, "events", (double)events, "events");
    report_value(&r, "events_per_s", (double)events * 1e9 / (double)(clock_mono_ns() - t0), "1/s");
    if (first > 0) report_value(&r, "last_to_first", last / first, "ratio");
    sse_close(&s);
    int rc = report_end(&r);
    return rc != 0 || events < (uint64_t)(rounds * LONG_ROUND_EVENTS) ? 1 : 0;
}
