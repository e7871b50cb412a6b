/* fig_durable.c: figures about what outlives a request: interrupts, forks, take-over, answers. */
#define _GNU_SOURCE /* memmem */
#include "bench.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 256, POLL_S = 5, LOG_BYTES_MAX = 64 * 1024 * 1024 };
enum { LOG_SECONDS_MAX = 60, HOST_SECONDS_MAX = 30, TAKEOVER_SECONDS_MAX = 60 };

/* ------------------------------------------------------------------ logs, by long poll */
static bool has(struct str body, const char *mark) {
    return body.n > 0 && memmem(body.p, body.n, mark, strlen(mark)) != NULL;
}

static bool log_complete(struct str body) { return str_eqc(json_get(body, "isComplete"), "true"); }

/* Highest sequence in an answer of events/poll; last when it brought nothing. */
static int64_t log_last(struct str body, int64_t last) {
    static const char name[] = "\"sequence\":";
    const size_t len = sizeof name - 1;
    const char *p = body.p, *end = str_end(body);
    while (p && (p = memmem(p, (size_t)(end - p), name, len)) != NULL) {
        int64_t seq = 0;
        for (p += len; p < end && *p >= '0' && *p <= '9' && seq < INT64_MAX / 16; p++)
            seq = seq * 10 + (*p - '0');
        if (seq > last) last = seq;
    }
    return last;
}

static void log_path(char path[PATH_SIZE], const char *id, int64_t last) {
    if (last < 0) (void)snprintf(path, PATH_SIZE, "/v1/runs/%s/events/poll?timeout=%d", id, POLL_S);
    else
        (void)snprintf(path, PATH_SIZE, "/v1/runs/%s/events/poll?timeout=%d&lastSequence=%lld", id,
                       POLL_S, (long long)last);
}

/* Read the log after *last until mark occurs in it; mark NULL: until the run has completed. */
static int log_until(const struct target *t, const char *id, const char *mark, int64_t *last) {
    uint64_t end = clock_mono_ns() + LOG_SECONDS_MAX * BENCH_NS;
    const char *want = mark ? mark : "\"run.completed\"";
    struct buf b;
    bool seen = false, over = false;
    buf_init(&b, LOG_BYTES_MAX);
    while (!over && clock_mono_ns() < end) {
        char path[PATH_SIZE];
        log_path(path, id, *last);
        if (http_once(t, "GET", path, STR_NONE, &b, (POLL_S + 5) * 1000) != 200) break;
        *last = log_last(buf_str(&b), *last);
        seen = seen || has(buf_str(&b), want);
        over = log_complete(buf_str(&b)) || (mark && seen);
    }
    buf_fini(&b);
    if (seen && over) return 0;
    fprintf(stderr, "wopr-bench: %s did not come in the log of %s\n", want, id);
    return 1;
}

/* ------------------------------------------------------------------ interrupt round trips */
enum trip_stage { TRIP_CREATE, TRIP_WAIT, TRIP_RESOLVE, TRIP_END, TRIP_STAGES };
struct trip {
    char id[BENCH_RUN_ID_MAX];
    int64_t last;
    bool completed;
};
struct trips {
    struct target t;
    struct buf create;
    struct trip *v;
    unsigned *idle; /* stack of indices */
    unsigned idle_nr;
    uint64_t from_ns, to_ns, done, wrong;
    struct hist resolve, round;
};

static bool trip_next(void *ctx, struct load_request *q) {
    struct trips *s = ctx;
    if (s->idle_nr == 0) return false; /* only after broken connections, which fail the figure */
    unsigned i = s->idle[--s->idle_nr];
    s->v[i] = (struct trip){.last = 0};
    q->tag = i * TRIP_STAGES + TRIP_CREATE;
    buf_adds(q->out, buf_str(&s->create));
    return true;
}

static bool trip_poll(struct trips *s, unsigned i, enum trip_stage stage, struct load_request *q) {
    char path[PATH_SIZE];
    log_path(path, s->v[i].id, s->v[i].last);
    request_make(q->out, &s->t, "GET", path, NULL, STR_NONE);
    q->tag = i * TRIP_STAGES + stage;
    return true;
}

static bool trip_over(struct trips *s, unsigned i, const struct load_answer *a, bool good) {
    bool inside = a->now_ns >= s->from_ns && a->now_ns < s->to_ns;
    s->idle[s->idle_nr++] = i;
    s->wrong += !good;
    if (good && inside) {
        s->done++;
        hist_add(&s->round, a->now_ns - a->due_ns);
    }
    return false;
}

static bool trip_resolve(struct trips *s, unsigned i, struct load_request *q) {
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/v1/runs/%s/interrupts/gate", s->v[i].id);
    request_make(q->out, &s->t, "POST", path, NULL,
                 STR("{\"resumeValue\":{\"action\":\"accept\"}}"));
    q->tag = i * TRIP_STAGES + TRIP_RESOLVE;
    return true;
}

static bool trip_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct trips *s = ctx;
    unsigned i = (unsigned)(a->tag / TRIP_STAGES);
    enum trip_stage stage = (enum trip_stage)(a->tag % TRIP_STAGES);
    struct trip *t = &s->v[i];
    if (a->status != (stage == TRIP_CREATE ? 201 : 200)) return trip_over(s, i, a, false);
    if (stage == TRIP_CREATE) {
        if (!run_id_of(a->body, t->id)) return trip_over(s, i, a, false);
        return trip_poll(s, i, TRIP_WAIT, q);
    }
    if (stage == TRIP_RESOLVE) {
        if (a->now_ns >= s->from_ns && a->now_ns < s->to_ns)
            hist_add(&s->resolve, a->now_ns - a->sent_ns);
        return trip_poll(s, i, TRIP_END, q);
    }
    t->last = log_last(a->body, t->last);
    if (stage == TRIP_WAIT && has(a->body, "\"interrupt.requested\"")) return trip_resolve(s, i, q);
    t->completed = t->completed || has(a->body, "\"run.completed\"");
    if (!log_complete(a->body)) return trip_poll(s, i, stage, q);
    return trip_over(s, i, a, stage == TRIP_END && t->completed);
}

static int trips_run(struct trips *s, struct load *l, const struct options *o) {
    s->v = mem_array((size_t)o->connections, sizeof *s->v);
    s->idle = mem_array((size_t)o->connections, sizeof *s->idle);
    if (!s->v || !s->idle) return 1;
    while (s->idle_nr < (unsigned)o->connections) {
        s->idle[s->idle_nr] = s->idle_nr;
        s->idle_nr++;
    }
    s->from_ns = clock_mono_ns() + (uint64_t)(o->warmup * 1e9);
    s->to_ns = l->deadline_ns = s->from_ns + (uint64_t)(o->seconds * 1e9);
    return load_run(l);
}

int cmd_interrupts(const struct options *o) {
    static struct trips s;
    struct report r;
    if (target_parse(&s.t, o) != 0) return 1;
    buf_init(&s.create, 4096);
    request_make(&s.create, &s.t, "POST", "/v1/runs", NULL,
                 STR("{\"workflowId\":\"conformance-approval\"}"));
    struct load l = {.target = &s.t,
                     .connections = (unsigned)o->connections,
                     .next = trip_next,
                     .done = trip_done,
                     .ctx = &s};
    int rc = trips_run(&s, &l, o);
    if (rc == 0) {
        report_begin(&r, "interrupts", o);
        report_value(&r, "round_trips_per_s", (double)s.done / o->seconds, "1/s");
        report_hist(&r, "resolve", &s.resolve);
        report_hist(&r, "round_trip", &s.round);
        report_value(&r, "wrong", (double)s.wrong, "answers");
        report_value(&r, "errors", (double)l.errors, "connections");
        rc = report_end(&r);
    }
    buf_fini(&s.create);
    mem_free(s.v);
    mem_free(s.idle);
    return rc != 0 || s.done == 0 || s.wrong > 0 || l.errors > 0 ? 1 : 0;
}

/* ------------------------------------------------------------------ forks */
enum { FORK_CONNS_MAX = 16, FORKS_CHECKED = 64, FORKS_ALONE = 64 };
enum { FORK_PARTS = 8 }; /* of the time: two for each length */
enum { REPLAYS = 5, REPLAY_EVENTS = 1000, LOOP_FIXED_EVENTS = 7, LOOP_ROUND_EVENTS = 5 };
struct forks {
    struct target t;
    struct buf request;
    uint64_t asked, max, made, refused, last_ns;
    char ids[FORKS_CHECKED][BENCH_RUN_ID_MAX]; /* the latest, as a ring */
    struct hist latency;
};

static bool fork_next(void *ctx, struct load_request *q) {
    struct forks *f = ctx;
    if (f->asked == f->max) return false;
    f->asked++;
    buf_adds(q->out, buf_str(&f->request));
    return true;
}

static bool fork_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct forks *f = ctx;
    (void)q;
    if (a->status != 201 || !run_id_of(a->body, f->ids[f->made % FORKS_CHECKED])) {
        f->refused++;
        return false;
    }
    f->made++;
    f->last_ns = a->now_ns;
    hist_add(&f->latency, a->now_ns - a->sent_ns);
    return false;
}

/* One run of at least this many events; *last is its last sequence.  until: an event that ends the
 * wait for it, NULL: its end. */
static int long_run(const struct target *t, const char *workflow, int64_t events, const char *until,
                    char id[BENCH_RUN_ID_MAX], int64_t *last) {
    char body[512];
    struct buf b;
    int64_t rest = events > LOOP_FIXED_EVENTS ? events - LOOP_FIXED_EVENTS : 1;
    int64_t rounds = (rest + LOOP_ROUND_EVENTS - 1) / LOOP_ROUND_EVENTS;
    (void)snprintf(body, sizeof body,
                   "{\"workflowId\":\"%s\",\"inputs\":{\"rounds\":%lld},"
                   "\"configurable\":{\"recursionLimit\":%lld}}",
                   workflow, (long long)rounds, (long long)rounds * 2 + 2);
    buf_init(&b, 65536);
    int status = http_once(t, "POST", "/v1/runs", str_c(body), &b, 10000);
    bool ok = status == 201 && run_id_of(buf_str(&b), id);
    if (!ok)
        fprintf(stderr, "wopr-bench: creating a run of %s answered %d: %.300s\n", workflow, status,
                b.p ? b.p : "");
    buf_fini(&b);
    *last = -1;
    return ok ? log_until(t, id, until, last) : 1;
}

static int fork_source(const struct target *t, int64_t events, char id[BENCH_RUN_ID_MAX],
                       int64_t *last) {
    return long_run(t, "bench-loop", events, NULL, id, last);
}

static int fork_once(const struct target *t, const char *source, const char *mode, int64_t from,
                     char id[BENCH_RUN_ID_MAX]) {
    char path[PATH_SIZE], body[128];
    struct buf b;
    buf_init(&b, 65536);
    (void)snprintf(path, sizeof path, "/v1/runs/%s:fork", source);
    (void)snprintf(body, sizeof body, "{\"mode\":\"%s\",\"fromSeq\":%lld}", mode, (long long)from);
    int status = http_once(t, "POST", path, str_c(body), &b, 10000);
    bool ok = status == 201 && run_id_of(buf_str(&b), id);
    if (!ok) fprintf(stderr, "wopr-bench: forking answered %d: %.300s\n", status, b.p ? b.p : "");
    buf_fini(&b);
    return ok ? 0 : 1;
}

/* The latest forks must complete, too; it also keeps their work out of the next length. */
static int forks_check(const struct forks *f, int64_t last) {
    for (uint64_t i = 0; i < f->made && i < FORKS_CHECKED; i++) {
        int64_t at = last - 1;
        if (log_until(&f->t, f->ids[i], NULL, &at) != 0) return 1;
    }
    return 0;
}

/* Closed loop of at most max forks over so many connections, for a part of the time; rate: of the
 * answers. */
static int forks_load(struct forks *f, const struct options *o, unsigned conns, uint64_t max,
                      double *rate) {
    memset(&f->latency, 0, sizeof f->latency);
    f->asked = f->made = f->refused = 0;
    f->max = max;
    struct load l = {
        .target = &f->t, .connections = conns, .next = fork_next, .done = fork_done, .ctx = f};
    uint64_t t0 = f->last_ns = clock_mono_ns();
    l.deadline_ns = t0 + (uint64_t)(o->seconds / FORK_PARTS * 1e9);
    if (load_run(&l) != 0) return 1;
    double s = (double)(f->last_ns - t0) / 1e9;
    *rate = s > 0 ? (double)f->made / s : 0;
    if (f->made > 0 && f->refused == 0 && l.errors == 0) return 0;
    fprintf(stderr, "wopr-bench: %llu forks were refused, %llu connections broke\n",
            (unsigned long long)f->refused, (unsigned long long)l.errors);
    return 1;
}

static int forks_of(struct forks *f, struct report *r, int64_t events) {
    const struct options *o = r->o;
    char source[BENCH_RUN_ID_MAX], id[BENCH_RUN_ID_MAX], path[PATH_SIZE], body[128], name[64];
    int64_t last, at;
    double rate, alone;
    if (fork_source(&f->t, events, source, &last) != 0) return 1;
    at = last - 1;
    uint64_t t0 = clock_mono_ns();
    if (fork_once(&f->t, source, "branch", last, id) != 0) return 1;
    const double once_s = (double)(clock_mono_ns() - t0) / 1e9;
    if (log_until(&f->t, id, NULL, &at) != 0) return 1;
    (void)snprintf(path, sizeof path, "/v1/runs/%s:fork", source);
    (void)snprintf(body, sizeof body, "{\"mode\":\"branch\",\"fromSeq\":%lld}", (long long)last);
    buf_reset(&f->request);
    request_make(&f->request, &f->t, "POST", path, NULL, str_c(body));
    unsigned conns = o->connections < FORK_CONNS_MAX ? (unsigned)o->connections : FORK_CONNS_MAX;
    /* A host that copies the source is not asked for more than it can do in the time. */
    uint64_t max = (uint64_t)(o->seconds / FORK_PARTS / once_s * conns) + 1;
    int rc = forks_load(f, o, conns, max, &rate);
    (void)snprintf(name, sizeof name, "source_%lld", (long long)events);
    report_value(r, name, (double)(last + 1), "events");
    (void)snprintf(name, sizeof name, "forks_per_s_%lld", (long long)events);
    report_value(r, name, rate, "1/s");
    (void)snprintf(name, sizeof name, "fork_%lld", (long long)events);
    report_hist(r, name, &f->latency);
    if (rc != 0 || forks_check(f, last) != 0) return 1;
    rc = forks_load(f, o, 1, FORKS_ALONE, &alone);
    (void)snprintf(name, sizeof name, "fork_alone_%lld", (long long)events);
    report_hist(r, name, &f->latency);
    return rc != 0 ? rc : forks_check(f, last);
}

/* From the request of a replay from the first event on to its end as seen by long poll. */
static int replays(struct forks *f, struct report *r) {
    char source[BENCH_RUN_ID_MAX], id[BENCH_RUN_ID_MAX];
    int64_t last;
    if (fork_source(&f->t, REPLAY_EVENTS, source, &last) != 0) return 1;
    memset(&f->latency, 0, sizeof f->latency);
    for (int i = 0; i < REPLAYS; i++) {
        int64_t at = last - 1;
        uint64_t t0 = clock_mono_ns();
        if (fork_once(&f->t, source, "replay", 0, id) != 0 || log_until(&f->t, id, NULL, &at) != 0)
            return 1;
        hist_add(&f->latency, clock_mono_ns() - t0);
    }
    report_hist(r, "replay_1000", &f->latency);
    return 0;
}

int cmd_forks(const struct options *o) {
    static const int64_t lengths[] = {10, 1000, 10000, 1000000};
    static struct forks f;
    struct report r;
    int rc = 0;
    if (target_parse(&f.t, o) != 0) return 1;
    buf_init(&f.request, 4096);
    report_begin(&r, "forks", o);
    for (size_t i = 0; rc == 0 && i < sizeof lengths / sizeof lengths[0]; i++)
        rc = forks_of(&f, &r, lengths[i]);
    if (rc == 0) rc = replays(&f, &r);
    if (report_end(&r) != 0) rc = 1;
    buf_fini(&f.request);
    return rc;
}

/* ------------------------------------------------------------------ take-over */
enum { HELD_RUNS = 20, HELD_DELAY_MS = 30000 };
struct peer_host {
    pid_t pid;
    struct target t;
};
struct held {
    struct target t;
    char ids[HELD_RUNS][BENCH_RUN_ID_MAX];
    int64_t last[HELD_RUNS];
    unsigned asked, seen;
    uint64_t t0_ns, first_ns, last_ns;
    uint64_t wrong;
};

static int host_start(struct peer_host *h, const struct options *o) {
    static const char key[] = "wopr-bench-own-host-key";
    struct options mine = *o;
    char port[16], url[64];
    uint16_t no = proc_free_port();
    (void)snprintf(port, sizeof port, "%u", no);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", no);
    mine.url = url;
    if (!mine.key) mine.key = key;
    if (no == 0 || target_parse(&h->t, &mine) != 0) return 1;
    char *argv[] = {(char *)o->wopr,
                    "serve",
                    "--port",
                    port,
                    "--ops-port",
                    "-1",
                    "--log-level",
                    "error",
                    "--conformance-seed",
                    "--seed",
                    "bench/workflows",
                    "--max-node-executions",
                    "2000000",
                    "--address-rate",
                    "0",
                    "--db",
                    (char *)o->db,
                    NULL};
    setenv("OPENWOP_API_KEY", mine.key, 1);
    uint64_t end = clock_mono_ns() + HOST_SECONDS_MAX * BENCH_NS;
    h->pid = proc_spawn(argv, "/dev/null");
    while (h->pid > 0 && clock_mono_ns() < end) {
        if (http_once(&h->t, "GET", "/.well-known/openwop", STR_NONE, NULL, 1000) == 200) return 0;
        pause_ms(2);
    }
    fprintf(stderr, "wopr-bench: a host did not answer (figures with hosts of their own are run at "
                    "the root of the repository)\n");
    return 1;
}

static bool held_next(void *ctx, struct load_request *q) {
    struct held *h = ctx;
    char path[PATH_SIZE];
    if (h->asked == HELD_RUNS) return false;
    q->tag = h->asked++;
    log_path(path, h->ids[q->tag], h->last[q->tag]);
    request_make(q->out, &h->t, "GET", path, NULL, STR_NONE);
    return true;
}

static bool held_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct held *h = ctx;
    char path[PATH_SIZE];
    if (a->status != 200) {
        h->wrong++;
        return false;
    }
    h->last[a->tag] = log_last(a->body, h->last[a->tag]);
    if (has(a->body, "\"lease.acquired\"")) {
        if (h->seen++ == 0) h->first_ns = a->now_ns;
        h->last_ns = a->now_ns;
        return false;
    }
    if (log_complete(a->body) || a->now_ns > h->t0_ns + TAKEOVER_SECONDS_MAX * BENCH_NS)
        return false;
    log_path(path, h->ids[a->tag], h->last[a->tag]);
    request_make(q->out, &h->t, "GET", path, NULL, STR_NONE);
    q->tag = a->tag;
    return true;
}

/* Runs in their delay on a, none of them taken over yet. */
static int held_make(struct held *h, const struct target *a) {
    char inputs[64];
    (void)snprintf(inputs, sizeof inputs, "{\"delayMs\":%d}", HELD_DELAY_MS);
    for (int i = 0; i < HELD_RUNS; i++) {
        h->last[i] = -1;
        if (run_create(a, "conformance-delay", inputs, h->ids[i]) != 0) return 1;
    }
    for (int i = 0; i < HELD_RUNS; i++)
        if (log_until(a, h->ids[i], "\"node.started\"", &h->last[i]) != 0) return 1;
    return 0;
}

static int held_watch(struct held *h, const struct peer_host *a, int how) {
    struct load l = {
        .target = &h->t, .connections = HELD_RUNS, .next = held_next, .done = held_done, .ctx = h};
    h->t0_ns = clock_mono_ns();
    l.deadline_ns = h->t0_ns + TAKEOVER_SECONDS_MAX * BENCH_NS;
    if (kill(a->pid, how) != 0 || load_run(&l) != 0) return 1;
    if (h->seen == HELD_RUNS && h->wrong == 0 && l.errors == 0) return 0;
    fprintf(stderr, "wopr-bench: %u of %d runs were taken over\n", h->seen, HELD_RUNS);
    return 1;
}

/* Two hosts, the first one goes; the runs are cancelled afterwards, so rounds do not add up. */
static int takeover_once(const struct options *o, int how, struct hist *first, struct hist *last) {
    struct peer_host a = {.pid = 0}, b = {.pid = 0};
    struct held h = {.seen = 0};
    int rc = host_start(&a, o);
    if (rc == 0) rc = host_start(&b, o);
    if (rc == 0) rc = held_make(&h, &a.t);
    if (rc == 0) {
        h.t = b.t;
        rc = held_watch(&h, &a, how);
    }
    if (rc == 0) {
        hist_add(first, h.first_ns - h.t0_ns);
        hist_add(last, h.last_ns - h.t0_ns);
    }
    for (int i = 0; rc == 0 && i < HELD_RUNS; i++) {
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "/v1/runs/%s/cancel", h.ids[i]);
        if (http_once(&b.t, "POST", path, STR("{}"), NULL, 10000) != 200) rc = 1;
    }
    proc_stop(a.pid);
    proc_stop(b.pid);
    return rc;
}

int cmd_takeover(const struct options *o) {
    static struct hist kill_first, kill_last, term_first, term_last;
    struct report r;
    int rc = 0;
    if (!o->wopr || !o->db) {
        fprintf(stderr, "wopr-bench: takeover needs --wopr PROGRAM and --db FILE\n");
        return 1;
    }
    for (int64_t i = 0; rc == 0 && i < o->rounds; i++) {
        rc = takeover_once(o, SIGKILL, &kill_first, &kill_last);
        if (rc == 0) rc = takeover_once(o, SIGTERM, &term_first, &term_last);
    }
    if (rc != 0) return 1;
    report_begin(&r, "takeover", o);
    report_value(&r, "runs", HELD_RUNS, "runs");
    report_hist(&r, "killed_first", &kill_first);
    report_hist(&r, "killed_last", &kill_last);
    report_hist(&r, "handed_over_first", &term_first);
    report_hist(&r, "handed_over_last", &term_last);
    return report_end(&r);
}

/* ------------------------------------------------------------------ answers to resting runs */
enum { ANSWERS_MAX = 64 };
struct resting {
    char ids[ANSWERS_MAX][BENCH_RUN_ID_MAX]; /* each waits for an answer */
    int64_t last[ANSWERS_MAX];
    unsigned n;
    struct hist resolve, whole;
};

/* A run of so many events that asks, and branches of it that ask, too: they refer to its log. */
static int resting_make(struct resting *x, const struct target *t, int64_t events) {
    char source[BENCH_RUN_ID_MAX];
    int64_t last;
    if (long_run(t, "bench-gate", events, "\"node.suspended\"", source, &last) != 0) return 1;
    for (unsigned i = 0; i < x->n; i++) {
        x->last[i] = last - 1;
        if (fork_once(t, source, "branch", last, x->ids[i]) != 0 ||
            log_until(t, x->ids[i], "\"node.suspended\"", &x->last[i]) != 0)
            return 1;
    }
    return 0;
}

static int resting_answer(struct resting *x, const struct target *t) {
    for (unsigned i = 0; i < x->n; i++) {
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "/v1/runs/%s/interrupts/gate", x->ids[i]);
        uint64_t t0 = clock_mono_ns();
        int status = http_once(t, "POST", path, STR("{\"resumeValue\":{\"action\":\"accept\"}}"),
                               NULL, 30000);
        hist_add(&x->resolve, clock_mono_ns() - t0);
        if (status != 200) {
            fprintf(stderr, "wopr-bench: an answer was answered %d\n", status);
            return 1;
        }
        if (log_until(t, x->ids[i], NULL, &x->last[i]) != 0) return 1;
        hist_add(&x->whole, clock_mono_ns() - t0);
    }
    return 0;
}

/* cold: the host that made them is stopped, and another one has to load them. */
static int resting_of(struct report *r, int64_t events, bool cold) {
    static struct resting x;
    struct peer_host h = {.pid = 0};
    char name[64];
    memset(&x, 0, sizeof x);
    x.n = r->o->rounds < ANSWERS_MAX ? (unsigned)r->o->rounds : ANSWERS_MAX;
    int rc = host_start(&h, r->o);
    if (rc == 0) rc = resting_make(&x, &h.t, events);
    if (rc == 0 && cold) {
        proc_stop(h.pid);
        h.pid = 0;
        rc = host_start(&h, r->o);
    }
    if (rc == 0) rc = resting_answer(&x, &h.t);
    proc_stop(h.pid);
    (void)snprintf(name, sizeof name, "%s_resolve_%lld", cold ? "cold" : "warm", (long long)events);
    if (rc == 0) report_hist(r, name, &x.resolve);
    (void)snprintf(name, sizeof name, "%s_%lld", cold ? "cold" : "warm", (long long)events);
    if (rc == 0) report_hist(r, name, &x.whole);
    return rc;
}

int cmd_answers(const struct options *o) {
    static const int64_t lengths[] = {100, 10000, 200000};
    struct report r;
    int rc = 0;
    if (!o->wopr || !o->db) {
        fprintf(stderr, "wopr-bench: answers needs --wopr PROGRAM and --db FILE\n");
        return 1;
    }
    report_begin(&r, "answers", o);
    for (size_t i = 0; rc == 0 && i < sizeof lengths / sizeof lengths[0]; i++) {
        rc = resting_of(&r, lengths[i], false);
        if (rc == 0) rc = resting_of(&r, lengths[i], true);
    }
    if (report_end(&r) != 0) rc = 1;
    return rc;
}
