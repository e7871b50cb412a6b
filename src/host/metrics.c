/* metrics.c: see metrics.h.  Names follow the Prometheus conventions: base units, _total for
 * counters. */
#include "host/metrics.h"

#include "base/log.h"

static void head(struct buf *b, const char *name, const char *type, const char *help) {
    buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void counter(struct buf *b, const char *name, const char *help, uint64_t v) {
    head(b, name, "counter", help);
    buf_addf(b, "%s %llu\n", name, (unsigned long long)v);
}

static void gauge(struct buf *b, const char *name, const char *help, double v) {
    head(b, name, "gauge", help);
    buf_addf(b, "%s %.17g\n", name, v);
}

static void seconds(struct buf *b, const char *name, const char *type, const char *help,
                    uint64_t ns) {
    head(b, name, type, help);
    buf_addf(b, "%s %.9f\n", name, (double)ns / 1e9);
}

static void render_log(const struct log_stats *s, struct buf *b) {
    counter(b, "wopr_log_commits_total", "Committed transactions.", s->commits);
    counter(b, "wopr_log_plans_total", "Plans committed.", s->plans);
    counter(b, "wopr_log_plans_refused_total", "Plans refused or failed.", s->plans_refused);
    counter(b, "wopr_log_events_total", "Events appended.", s->events);
    seconds(b, "wopr_log_commit_seconds_total", "counter", "Time spent in transactions.",
            s->commit_ns);
    seconds(b, "wopr_log_commit_seconds_max", "gauge", "Longest transaction.", s->commit_ns_max);
    gauge(b, "wopr_log_queue_length", "Plans waiting for the committer.", (double)s->queue_len);
    gauge(b, "wopr_log_queue_length_max", "Most plans that ever waited.",
          (double)s->queue_max_seen);
    gauge(b, "wopr_log_readers", "Live cursors on runs.", (double)s->readers);
    gauge(b, "wopr_log_topics", "Runs with live cursors.", (double)s->topics);
    counter(b, "wopr_log_readers_lagged_total",
            "Times a slow reader fell back to reading the store.", s->lagged);
}

static void render_engine(const struct engine_stats *s, struct buf *b) {
    counter(b, "wopr_runs_created_total", "Runs accepted.", s->runs_created);
    head(b, "wopr_runs_ended_total", "counter", "Runs ended, by status.");
    buf_addf(b, "wopr_runs_ended_total{status=\"completed\"} %llu\n",
             (unsigned long long)s->runs_completed);
    buf_addf(b, "wopr_runs_ended_total{status=\"failed\"} %llu\n",
             (unsigned long long)s->runs_failed);
    buf_addf(b, "wopr_runs_ended_total{status=\"cancelled\"} %llu\n",
             (unsigned long long)s->runs_cancelled);
    counter(b, "wopr_nodes_completed_total", "Node executions completed.", s->nodes_completed);
    counter(b, "wopr_nodes_failed_total", "Node executions failed for good.", s->nodes_failed);
    counter(b, "wopr_node_retries_total", "Retries scheduled.", s->retries);
    counter(b, "wopr_cap_breaches_total", "Engine limits exceeded.", s->cap_breaches);
    counter(b, "wopr_runs_recovered_total", "Runs continued after another holder.", s->recovered);
    counter(b, "wopr_runs_parked_total", "Runs set aside because their log breaks an invariant.",
            s->parked);
    gauge(b, "wopr_runs_active", "Unfinished runs in memory.", (double)s->runs_active);
    gauge(b, "wopr_ready_queue_length", "Runs waiting for a worker.", (double)s->ready_len);
    gauge(b, "wopr_timers", "Armed timers.", (double)s->timers);
}

void host_metrics_render(void *sources, struct buf *out) {
    const struct metrics_sources *m = sources;
    struct log_stats ls;
    struct engine_stats es;
    wopr_log_stats(m->log, &ls);
    engine_stats(m->engine, &es);
    render_log(&ls, out);
    render_engine(&es, out);
    counter(out, "wopr_process_log_dropped_total",
            "Lines of the process log dropped under pressure.", logger_dropped());
}

bool host_metrics_ready(void *sources) {
    const struct metrics_sources *m = sources;
    struct api_key none;
    struct arena *a = arena_new(64 * 1024);
    int rc = a == NULL ? WOPR_E_NO_MEMORY : store_key_find(m->store, STR("-"), a, &none, NULL);
    arena_free(a);
    return rc == 0 || rc == WOPR_E_NOT_FOUND;
}
