/*
 * stats.c: what the journal counts, and what of it is reported in the process log.
 */
#include "base/clock.h"
#include "base/log.h"
#include "journal/journal_int.h"

#include <stdio.h>

enum { NUMBER_TEXT = 24 };

static const char *number_text(char text[NUMBER_TEXT], uint64_t v) {
    (void)snprintf(text, NUMBER_TEXT, "%llu", (unsigned long long)v);
    return text;
}

static bool is_slow(const struct journal *j, uint64_t ns) {
    return j->cfg.slow_commit_ms > 0 && ns / 1000000 >= j->cfg.slow_commit_ms;
}

static void slow_report(struct journal *j, size_t plans, uint64_t events, uint64_t ns) {
    char ms[NUMBER_TEXT], ps[NUMBER_TEXT], es[NUMBER_TEXT], more[NUMBER_TEXT];
    uint64_t held;
    atomic_fetch_add(&j->counters.slow, 1);
    if (!log_gate_pass(&j->counters.slow_gate, &held)) return;
    log_warn("slow commit", "ms", number_text(ms, ns / 1000000), "plans", number_text(ps, plans),
             "events", number_text(es, events), "notTold", number_text(more, held));
}

static size_t count_events(struct counters *c, const struct plan *p) {
    for (size_t i = 0; i < p->events_nr; i++)
        atomic_fetch_add_explicit(&c->events[p->events[i].kind], 1, memory_order_relaxed);
    return p->events_nr;
}

void count_batch(struct journal *j, struct plan *const *v, const int *rcs, size_t n, uint64_t ns) {
    struct counters *c = &j->counters;
    uint64_t events = 0;
    for (size_t i = 0; i < n; i++) {
        int rc = rcs[i];
        if (rc < 0 && rc > -(int)WOPR_ERR_NR) atomic_fetch_add(&c->refused[-rc], 1);
        else if (!v[i]->idem_hit) events += count_events(c, v[i]);
    }
    atomic_fetch_add(&c->commits, 1);
    atomic_fetch_add(&c->plans, n);
    metric_observe(&c->commit_ns, &METRIC_DURATION, ns);
    metric_observe(&c->batch_plans, &METRIC_AMOUNT, n);
    if (is_slow(j, ns)) slow_report(j, n, events, ns);
}

void count_checkpoint(struct journal *j, uint64_t ns) {
    char ms[NUMBER_TEXT], more[NUMBER_TEXT];
    uint64_t held;
    if (!is_slow(j, ns) || !log_gate_pass(&j->counters.checkpoint_gate, &held)) return;
    log_warn("slow checkpoint", "ms", number_text(ms, ns / 1000000), "notTold",
             number_text(more, held));
}

void count_failed(struct journal *j, int rc, const char *reason) {
    char more[NUMBER_TEXT];
    uint64_t held;
    atomic_fetch_add(&j->counters.failing, 1);
    atomic_store(&j->counters.failed_ms, clock_mono_ms());
    if (!log_gate_pass(&j->counters.failed_gate, &held)) return;
    log_error("commit failed", "code", wopr_err_name(rc), "reason", reason, "notTold",
              number_text(more, held));
}

void count_full(struct journal *j) {
    char max[NUMBER_TEXT], more[NUMBER_TEXT];
    uint64_t held;
    atomic_fetch_add(&j->counters.queue_refused, 1);
    if (!log_gate_pass(&j->counters.full_gate, &held)) return;
    log_warn("backpressure: the queue of the committer is full and refuses plans", "queue",
             number_text(max, j->cfg.queue_max), "notTold", number_text(more, held));
}

void count_lagged(struct journal *j, struct str run_id) {
    char id[RUN_ID_MAX + 1], more[NUMBER_TEXT];
    uint64_t held;
    atomic_fetch_add(&j->hub.lagged, 1);
    if (!log_gate_pass(&j->hub.lag_gate, &held)) return;
    (void)snprintf(id, sizeof id, STR_FMT, STR_ARG(run_id));
    log_warn("a slow stream reader fell behind and reads the store", "runId", id, "notTold",
             number_text(more, held));
}

static void hub_stats(struct hub *h, struct journal_stats *s) {
    s->readers = atomic_load(&h->readers);
    s->behind = atomic_load(&h->behind);
    s->lagged = atomic_load(&h->lagged);
    s->backlog_bytes = atomic_load(&h->backlog_bytes);
    s->wakes = atomic_load(&h->wakes);
    metric_read(&h->delivery_ns, &s->delivery_ns);
    pthread_mutex_lock(&h->map_lock);
    s->topics = map_count(h->topics);
    pthread_mutex_unlock(&h->map_lock);
}

void journal_stats(struct journal *j, struct journal_stats *out) {
    struct counters *c = &j->counters;
    *out = (struct journal_stats){.commits = atomic_load(&c->commits),
                                  .plans = atomic_load(&c->plans),
                                  .slow_commits = atomic_load(&c->slow),
                                  .queue_refused = atomic_load(&c->queue_refused),
                                  .queue_max = j->cfg.queue_max,
                                  .queue_bytes_max = j->cfg.queue_bytes_max};
    for (size_t i = 0; i < WOPR_ERR_NR; i++) {
        out->refused[i] = atomic_load(&c->refused[i]);
        out->plans_refused += out->refused[i];
    }
    for (size_t i = 0; i < EV_NR; i++) {
        out->events_by[i] = atomic_load(&c->events[i]);
        out->events += out->events_by[i];
    }
    out->failing = atomic_load(&c->failing);
    out->failed_ms = atomic_load(&c->failed_ms);
    metric_read(&c->commit_ns, &out->commit_ns);
    metric_read(&c->batch_plans, &out->batch_plans);
    pthread_mutex_lock(&j->q_lock);
    out->queue_len = j->q_len;
    out->queue_bytes = j->q_bytes;
    out->queue_max_seen = j->q_len_max;
    pthread_mutex_unlock(&j->q_lock);
    hub_stats(&j->hub, out);
}
