/*
 * runs.c: the runs in memory.  A run that is not there, and commits that were missed, are read from
 * the log; what was sent before is folded without sending it.
 */
#include "base/mem.h"
#include "otel/otel_int.h"
#include "store/events.h"

enum { PAGE_EVENTS = 256, PAGE_BYTES = 1 << 20, SEND_ALL = 0 };
#define QUIET INT64_MAX

static struct str key_of(const int64_t *run_no) {
    return str_n((const char *)run_no, sizeof *run_no);
}

static void run_drop(struct otel *o, struct trace_run *r) {
    (void)map_del(o->runs, key_of(&r->run_no));
    list_del(&r->recent);
    o->run_bytes -= r->counted;
    o->waiting -= r->waits;
    trace_run_free(r);
}

static void run_moved(struct otel *o, struct trace_run *r) {
    list_del(&r->recent);
    list_add_tail(&o->recent, &r->recent);
    r->missed = o->missed;
}

static void runs_trim(struct otel *o, const struct trace_run *but) {
    while (map_count(o->runs) > OTEL_RUNS_MAX || o->run_bytes > OTEL_RUN_BYTES_MAX) {
        struct trace_run *r = LIST_ENTRY(o->recent.next, struct trace_run, recent);
        if (r == but) return;
        run_drop(o, r);
    }
}

static struct trace_run *run_add(struct otel *o, struct trace_run *r) {
    if (!r) return NULL;
    r->recorded = trace_sampled(&o->policy, &r->ctx);
    if (map_put(o->runs, key_of(&r->run_no), r, NULL) != 0) {
        trace_run_free(r);
        return NULL;
    }
    list_add_tail(&o->recent, &r->recent);
    r->waits = r->fork == FORK_NONE; /* a fork has started when its source has */
    o->waiting += r->waits;
    return r;
}

static struct trace_run *run_load(struct otel *o, int64_t run_no) {
    struct run_origin of;
    arena_reset(o->page);
    if (store_run_origin(o->store, run_no, o->page, &of, NULL) != 0) return NULL;
    return run_add(o,
                   trace_run_new(run_no, &of.meta, &of.fork, of.parent_run_id, of.parent_node_id));
}

struct reading {
    struct fold_to to;
    struct trace_run *run;
    int64_t left;
};

static int event_read(void *ctx, const struct event *e, struct wopr_error *err) {
    struct reading *x = ctx;
    (void)err;
    if (x->left-- <= 0) return 1;
    return trace_event(&x->to, x->run, e);
}

/* The log up to until, from where the run is. */
static void run_read(struct otel *o, struct trace_run *r, int64_t until, int64_t quiet_ms) {
    struct wopr_error err = {0};
    struct reading x = {{o, quiet_ms}, r, OTEL_RELOAD_MAX};
    struct log_range range = {r->run_no, r->next_seq, until, PAGE_EVENTS, PAGE_BYTES};
    struct arena *page = arena_new(OTEL_SPANS_MAX);
    if (page && (r->recorded || otel_looks(o)) && r->next_seq < until)
        (void)!store_walk(o->store, &range, page, event_read, &x, &err);
    arena_free(page);
    r->next_seq = until;
}

/* Its last host has died: what ended shortly before may not have been sent, so it is sent again,
 * under the same ids.  Otherwise what precedes was sent by who committed it. */
static int64_t quiet_until(const struct plan *p) {
    for (size_t i = 0; i < p->events_nr; i++)
        if (p->events[i].kind == EV_LEASE_LOST) return p->events[i].ts_ms - OTEL_AGAIN_MS;
    return QUIET;
}

/* Its creation alone is not among the commits that come here: its first event is what shows it. */
static bool is_new_fork(const struct otel *o, const struct trace_run *r, const struct plan *p) {
    bool first = p->base_seq == r->from_seq || p->base_seq == r->from_seq + 1;
    return r->fork != FORK_NONE && r->created_ms >= o->started_ms && first;
}

static struct trace_run *run_of(struct otel *o, const struct plan *p) {
    struct trace_run *r = map_get(o->runs, key_of(&p->run_no));
    bool known = r != NULL, made = !r && p->create && p->what == PLAN_CREATE && !p->create->fork;
    if (made)
        r = run_add(o, trace_run_new(p->run_no, &p->create->meta, NULL, p->create->parent_run_id,
                                     p->create->parent_node_id));
    else if (!r) r = run_load(o, p->run_no);
    if (r && (made || (!known && is_new_fork(o, r, p)))) trace_accepted(o, r);
    if (!r || r->next_seq >= p->base_seq) return r;
    /* Missed by the queue: nobody has sent it.  Else it was another host, or this one before. */
    bool missed = known && r->missed != o->missed;
    run_read(o, r, p->base_seq, missed ? SEND_ALL : quiet_until(p));
    return r;
}

void otel_fold(struct otel *o, const struct plan *p) {
    struct fold_to to = {o, SEND_ALL};
    bool ended = false;
    if (p->active_run_id.n > 0) {
        trace_conflict(o, p);
        return;
    }
    struct trace_run *r = run_of(o, p);
    if (!r) return;
    run_moved(o, r);
    /* An outcome is recorded with the events that it leads to, a claim after those that lead to it:
     * the node must be open for both. */
    for (size_t i = 0; i < p->invocations_nr; i++)
        if (p->invocations[i].state != INVOCATION_CLAIMED)
            trace_invocation(&to, r, &p->invocations[i]);
    for (size_t i = 0; i < p->events_nr && !ended; i++)
        if (p->events[i].seq >= r->next_seq) ended = trace_event(&to, r, &p->events[i]) == 1;
    for (size_t i = 0; i < p->invocations_nr && !ended; i++)
        if (p->invocations[i].state == INVOCATION_CLAIMED)
            trace_invocation(&to, r, &p->invocations[i]);
    o->run_bytes += r->bytes - r->counted;
    r->counted = r->bytes;
    if (ended) run_drop(o, r);
    else runs_trim(o, r);
}

void otel_runs_clear(struct otel *o) {
    while (!list_empty(&o->recent))
        run_drop(o, LIST_ENTRY(o->recent.next, struct trace_run, recent));
}
