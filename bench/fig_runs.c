/* fig_runs.c: figures about runs: accepted, completed, flat, reads, replays, latency, first event,
 * echo. */
#include "bench.h"

#include "codec/ident.h"

enum { PATH_MAX_BYTES = 256, TAIL_RUNS = 256, POLL_CONNS = 4, POLL_RATE = 2000 };
enum { DRAIN_SECONDS_MAX = 600 };

/* One request again and again, answers counted inside the window. */
struct window {
    struct target t;
    struct buf request;
    int expect;
    uint64_t from_ns, to_ns;
    uint64_t done, refused;
    struct hist latency;
    char (*ids)[BENCH_RUN_ID_MAX]; /* reads: what to ask for */
    size_t ids_nr, at;
};

static uint64_t ns_of(double seconds) { return (uint64_t)(seconds * 1e9); }

static bool window_next(void *ctx, struct load_request *q) {
    struct window *w = ctx;
    if (w->ids) {
        char path[PATH_MAX_BYTES];
        (void)snprintf(path, sizeof path, "/v1/runs/%s", w->ids[w->at++ % w->ids_nr]);
        request_make(q->out, &w->t, "GET", path, NULL, STR_NONE);
    } else {
        buf_adds(q->out, buf_str(&w->request));
    }
    return true;
}

static bool window_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct window *w = ctx;
    (void)q;
    if (a->now_ns < w->from_ns || a->now_ns >= w->to_ns) return false;
    if (a->status != w->expect) {
        w->refused++;
        return false;
    }
    w->done++;
    hist_add(&w->latency, a->now_ns - a->due_ns);
    return false;
}

static int window_run(struct window *w, const struct options *o, double rate, const char *figure,
                      const char *unit_name) {
    struct report r;
    struct load l = {.target = &w->t,
                     .connections = (unsigned)o->connections,
                     .rate = rate,
                     .next = window_next,
                     .done = window_done,
                     .ctx = w};
    w->from_ns = clock_mono_ns() + ns_of(o->warmup);
    w->to_ns = l.deadline_ns = w->from_ns + ns_of(o->seconds);
    if (load_run(&l) != 0) return 1;
    report_begin(&r, figure, o);
    report_value(&r, unit_name, (double)w->done / o->seconds, "1/s");
    report_hist(&r, rate > 0 ? "latency_open" : "latency_closed", &w->latency);
    report_value(&r, "refused", (double)w->refused, "answers");
    report_value(&r, "errors", (double)l.errors, "connections");
    buf_fini(&w->request);
    int rc = report_end(&r);
    return rc != 0 || w->done == 0 ? 1 : 0;
}

static void window_post_runs(struct window *w, const struct options *o) {
    char body[512];
    (void)snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", o->workflow);
    buf_init(&w->request, 4096);
    request_make(&w->request, &w->t, "POST", "/v1/runs", NULL, str_c(body));
    w->expect = 201;
}

int accepted_as(const struct options *o, const char *figure) {
    static struct window w;
    if (target_parse(&w.t, o) != 0) return 1;
    window_post_runs(&w, o);
    return window_run(&w, o, 0, figure, "accepted_per_s");
}

int cmd_accepted(const struct options *o) { return accepted_as(o, "accepted"); }

int cmd_latency(const struct options *o) {
    static struct window w;
    if (target_parse(&w.t, o) != 0) return 1;
    window_post_runs(&w, o);
    return window_run(&w, o, o->rate, "latency", "answered_per_s");
}

int cmd_echo(const struct options *o) {
    static struct window w;
    char body[512];
    if (target_parse(&w.t, o) != 0) return 1;
    (void)snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", o->workflow);
    buf_init(&w.request, 4096);
    bool post = strcmp(o->method, "POST") == 0;
    request_make(&w.request, &w.t, o->method, o->path, NULL, post ? str_c(body) : STR_NONE);
    w.expect = post ? 201 : 200;
    return window_run(&w, o, 0, post ? "echo-post" : "echo-get", "requests_per_s");
}

/* ------------------------------------------------------------------ many runs, to their end */
struct flock {
    struct target t;
    struct buf request;
    char (*ids)[BENCH_RUN_ID_MAX];
    bool *ended;
    size_t asked, made, max; /* creation */
    size_t from, at, left;   /* looking: ids[from .. made), left of them not ended */
    bool once;               /* every run is asked for once only */
    uint64_t refused, completed;
    int64_t last_ms; /* latest completedAt */
};

static bool flock_next_create(void *ctx, struct load_request *q) {
    struct flock *f = ctx;
    if (f->asked == f->max) return false;
    f->asked++;
    buf_adds(q->out, buf_str(&f->request));
    return true;
}

static bool flock_created(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct flock *f = ctx;
    (void)q;
    if (a->status == 201 && run_id_of(a->body, f->ids[f->made])) f->made++;
    else f->refused++;
    return false;
}

static bool flock_next_look(void *ctx, struct load_request *q) {
    struct flock *f = ctx;
    char path[PATH_MAX_BYTES];
    size_t span = f->made - f->from;
    for (size_t tries = 0; f->left > 0 && tries < span; tries++) {
        size_t i = f->from + f->at++ % span;
        if (f->once && f->at > span) return false;
        if (f->ended[i]) continue;
        (void)snprintf(path, sizeof path, "/v1/runs/%s", f->ids[i]);
        request_make(q->out, &f->t, "GET", path, NULL, STR_NONE);
        q->tag = i;
        return true;
    }
    return false;
}

static bool flock_looked(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct flock *f = ctx;
    (void)q;
    if (a->status != 200 || f->ended[a->tag]) return false;
    struct str status = json_get(a->body, "status");
    bool good = str_eq(status, STR("\"completed\""));
    if (!good && !str_eq(status, STR("\"failed\"")) && !str_eq(status, STR("\"cancelled\"")))
        return false;
    f->ended[a->tag] = true;
    f->left--;
    f->completed += good;
    struct str at = json_get(a->body, "completedAt");
    int64_t ms;
    if (at.n > 2 && time_parse(str_n(at.p + 1, at.n - 2), &ms) && ms > f->last_ms) f->last_ms = ms;
    return false;
}

static int flock_look(struct flock *f, size_t from, bool once, unsigned conns, double rate) {
    f->from = from;
    f->at = 0;
    f->once = once;
    f->left = 0;
    for (size_t i = from; i < f->made; i++) f->left += !f->ended[i];
    struct load l = {.target = &f->t,
                     .connections = conns,
                     .rate = rate,
                     .deadline_ns = clock_mono_ns() + DRAIN_SECONDS_MAX * BENCH_NS,
                     .next = flock_next_look,
                     .done = flock_looked,
                     .ctx = f};
    return f->left > 0 ? load_run(&l) : 0;
}

static int flock_init(struct flock *f, const struct options *o, size_t max) {
    char body[512];
    *f = (struct flock){.max = max};
    if (target_parse(&f->t, o) != 0) return 1;
    (void)snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", o->workflow);
    buf_init(&f->request, 4096);
    request_make(&f->request, &f->t, "POST", "/v1/runs", NULL, str_c(body));
    f->ids = mem_array(max, sizeof *f->ids);
    f->ended = mem_array(max, sizeof *f->ended);
    return f->ids && f->ended ? 0 : 1;
}

static void flock_fini(struct flock *f) {
    buf_fini(&f->request);
    mem_free(f->ids);
    mem_free(f->ended);
}

/* Create max runs and see them all end; *seconds from the first request to the last end. */
static int flock_go(struct flock *f, const struct options *o, double seconds_max, double *seconds) {
    struct load l = {.target = &f->t,
                     .connections = (unsigned)o->connections,
                     .next = flock_next_create,
                     .done = flock_created,
                     .ctx = f};
    f->asked = f->made = 0;
    f->completed = 0;
    f->last_ms = 0;
    memset(f->ended, 0, f->max * sizeof *f->ended);
    int64_t wall_ms = clock_wall_ms();
    uint64_t t0 = clock_mono_ns();
    l.deadline_ns = t0 + ns_of(seconds_max);
    if (load_run(&l) != 0 || f->made == 0) return 1;
    size_t tail = f->made > TAIL_RUNS ? f->made - TAIL_RUNS : 0;
    if (flock_look(f, tail, false, POLL_CONNS, POLL_RATE) != 0) return 1;
    uint64_t t1 = clock_mono_ns();
    /* The clock has stopped; now every run is asked for.  A straggler starts it again. */
    if (flock_look(f, 0, true, POLL_CONNS, 0) != 0) return 1;
    for (int i = 0; i < 100 && f->left > 0; i++) {
        if (flock_look(f, 0, false, POLL_CONNS, POLL_RATE) != 0) return 1;
        t1 = clock_mono_ns();
    }
    double by_host = (double)(f->last_ms + 1 - wall_ms) / 1e3, by_us = (double)(t1 - t0) / 1e9;
    *seconds = f->last_ms > 0 && by_host > by_us ? by_host : by_us;
    return 0;
}

int cmd_completed(const struct options *o) {
    struct flock f;
    struct report r;
    double seconds = 0, warm = 0;
    size_t warm_nr = (size_t)o->runs / 10 > 0 ? (size_t)o->runs / 10 : 1;
    int rc = flock_init(&f, o, (size_t)o->runs);
    if (rc == 0) {
        f.max = warm_nr;
        rc = flock_go(&f, o, o->warmup > 0 ? o->seconds : 0.001, &warm);
        f.max = (size_t)o->runs;
        f.refused = 0;
    }
    if (rc == 0) rc = flock_go(&f, o, o->seconds, &seconds);
    if (rc == 0) {
        report_begin(&r, "completed", o);
        report_value(&r, "completed_per_s", (double)f.completed / seconds, "1/s");
        report_value(&r, "created", (double)f.made, "runs");
        report_value(&r, "completed", (double)f.completed, "runs");
        report_value(&r, "refused", (double)f.refused, "answers");
        report_value(&r, "window", seconds, "s");
        rc = report_end(&r);
        if (f.completed != f.made) {
            fprintf(stderr, "wopr-bench: not every run that was created was completed\n");
            rc = 1;
        }
    }
    flock_fini(&f);
    return rc;
}

int cmd_flat(const struct options *o) {
    struct flock f;
    struct report r;
    char name[64];
    double first = 0, last = 0, seconds = 0;
    size_t slice = (size_t)(o->runs / o->slices);
    int rc = slice > 0 ? flock_init(&f, o, slice) : 1;
    if (rc != 0) return 1;
    report_begin(&r, "flat", o);
    for (int64_t i = 0; rc == 0 && i < o->slices; i++) {
        rc = flock_go(&f, o, BENCH_SECONDS_MAX, &seconds);
        if (rc != 0 || f.completed == 0) break;
        last = seconds * 1e6 / (double)f.completed;
        if (i == 0) first = last;
        (void)snprintf(name, sizeof name, "us_per_run_slice_%02lld", (long long)i);
        report_value(&r, name, last, "us");
        if (o->pid > 0) {
            (void)snprintf(name, sizeof name, "rss_after_slice_%02lld", (long long)i);
            report_value(&r, name, (double)proc_rss_bytes(o->pid) / 1048576.0, "MiB");
        }
    }
    report_value(&r, "runs", (double)(slice * (size_t)o->slices), "runs");
    if (first > 0) report_value(&r, "last_to_first", last / first, "ratio");
    if (report_end(&r) != 0) rc = 1;
    flock_fini(&f);
    return rc;
}

int cmd_reads(const struct options *o) {
    static struct window w;
    struct flock f;
    double seconds;
    size_t n = o->runs < 10000 ? (size_t)o->runs : 10000;
    int rc = flock_init(&f, o, n);
    if (rc == 0) rc = flock_go(&f, o, o->seconds, &seconds);
    if (rc == 0) {
        w.t = f.t;
        w.ids = f.ids;
        w.ids_nr = f.made;
        w.expect = 200;
        buf_init(&w.request, 16);
        rc = window_run(&w, o, 0, "reads", "reads_per_s");
    }
    flock_fini(&f);
    return rc;
}

/* ------------------------------------------------------------------ a finished run, again and
 * again
 */
int cmd_replays(const struct options *o) {
    static struct window w;
    struct flock f;
    double seconds;
    char path[PATH_MAX_BYTES];
    int rc = flock_init(&f, o, 1);
    if (rc == 0) rc = flock_go(&f, o, o->seconds, &seconds);
    if (rc == 0 && f.completed != 1) {
        fprintf(stderr, "wopr-bench: the run that was to be replayed did not complete\n");
        rc = 1;
    }
    if (rc == 0) {
        w.t = f.t;
        w.expect = 200;
        (void)snprintf(path, sizeof path, "/v1/runs/%s/events", f.ids[0]);
        buf_init(&w.request, 4096);
        request_make(&w.request, &w.t, "GET", path, "text/event-stream", STR_NONE);
        rc = window_run(&w, o, 0, "replays", "replays_per_s");
    }
    flock_fini(&f);
    return rc;
}

/* ------------------------------------------------------------------ create, then the first frame
 */
static bool first_done(void *ctx, const struct load_answer *a, struct load_request *q) {
    struct window *w = ctx;
    char id[BENCH_RUN_ID_MAX], path[PATH_MAX_BYTES];
    if (a->tag == 0) {
        if (a->status != 201 || !run_id_of(a->body, id)) {
            w->refused++;
            return false;
        }
        (void)snprintf(path, sizeof path, "/v1/runs/%s/events", id);
        request_make(q->out, &w->t, "GET", path, "text/event-stream", STR_NONE);
        q->wait = LOAD_FIRST_EVENT;
        q->tag = 1;
        return true;
    }
    return window_done(ctx, a, q);
}

int cmd_first_event(const struct options *o) {
    static struct window w;
    struct report r;
    if (target_parse(&w.t, o) != 0) return 1;
    window_post_runs(&w, o);
    w.expect = 200;
    struct load l = {.target = &w.t,
                     .connections = (unsigned)o->connections,
                     .rate = o->rate,
                     .next = window_next,
                     .done = first_done,
                     .ctx = &w};
    w.from_ns = clock_mono_ns() + ns_of(o->warmup);
    w.to_ns = l.deadline_ns = w.from_ns + ns_of(o->seconds);
    if (load_run(&l) != 0) return 1;
    report_begin(&r, "first-event", o);
    report_value(&r, "rate", o->rate, "1/s");
    report_hist(&r, "first_event", &w.latency);
    report_value(&r, "refused", (double)w.refused, "answers");
    report_value(&r, "errors", (double)l.errors, "connections");
    buf_fini(&w.request);
    return report_end(&r);
}
