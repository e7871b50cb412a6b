/* metrics.c: see metrics.h.  Names follow the Prometheus conventions: base units, _total for
 * counters. */
#include "host/metrics.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/workers.h"
#include "hooks/hooks.h"
#include "otel/otel.h"
#include "sandbox/sandbox.h"
#include "store/admin.h"
#include "store/keys.h"
#include "store/sqlite/sqlite.h"

enum {
    READY_FAILURES = 3,
    READY_AGAIN_MS = 10000,
    TASK_TYPES_SHOWN = 50, /* those with most that wait */
    TASK_ARENA_MAX = 1024 * 1024
};

/* One sample per code that occurred; the label is the code's name in small letters. */
static void by_code(struct buf *b, const char *name, const char *help,
                    const uint64_t counts[WOPR_ERR_NR]) {
    metric_head(b, name, "counter", help);
    for (int i = 1; i < WOPR_ERR_NR; i++) {
        char reason[40];
        const char *code = wopr_err_name(-i);
        size_t n = 0;
        if (counts[i] == 0) continue;
        for (; code[n] != '\0' && n < sizeof reason - 1; n++)
            reason[n] = (char)(code[n] >= 'A' && code[n] <= 'Z' ? code[n] - 'A' + 'a' : code[n]);
        reason[n] = '\0';
        metric_labelled(b, name, "reason", reason, counts[i]);
    }
}

/* One sample per type that occurred. */
static void by_type(struct buf *b, const char *name, const char *help,
                    const uint64_t counts[EV_NR]) {
    metric_head(b, name, "counter", help);
    for (size_t i = 0; i < EV_NR; i++)
        if (counts[i] > 0) metric_labelled(b, name, "type", event_name((enum ev_kind)i), counts[i]);
}

static void histogram_render(struct buf *b, const char *name, const char *help,
                             const struct metric_scale *s, const struct metric_reading *r) {
    metric_head(b, name, "histogram", help);
    metric_histogram(b, name, NULL, NULL, s, r);
}

static void render_committer(const struct journal_stats *s, struct buf *b) {
    metric_counter(b, "wopr_log_commits_total", "Batches given to the store.", s->commits);
    metric_counter(b, "wopr_log_plans_total", "Plans in these batches.", s->plans);
    by_code(b, "wopr_log_plans_refused_total", "Plans the store refused or could not write.",
            s->refused);
    by_type(b, "wopr_log_events_total", "Events appended, by RunEventType.", s->events_by);
    metric_gauge(b, "wopr_log_queue_length", "Plans waiting for the committer.",
                 (double)s->queue_len);
    metric_gauge(b, "wopr_log_queue_length_peak", "Most plans that ever waited.",
                 (double)s->queue_max_seen);
    metric_gauge(b, "wopr_log_queue_limit", "Plans that may wait.", (double)s->queue_max);
    metric_gauge(b, "wopr_log_queue_bytes", "Bytes of the plans that wait.",
                 (double)s->queue_bytes);
    metric_gauge(b, "wopr_log_queue_bytes_limit", "Bytes of plans that may wait.",
                 (double)s->queue_bytes_max);
    metric_counter(b, "wopr_log_queue_refused_total", "Plans refused by a full queue.",
                   s->queue_refused);
    histogram_render(b, "wopr_log_batch_plans", "Plans per batch.", &METRIC_AMOUNT,
                     &s->batch_plans);
    histogram_render(b, "wopr_log_commit_seconds",
                     "Time of a batch, from its begin to its durable end.", &METRIC_DURATION,
                     &s->commit_ns);
    metric_counter(b, "wopr_log_slow_commits_total", "Batches slower than slow-commit-ms.",
                   s->slow_commits);
}

static void render_readers(const struct journal_stats *s, struct buf *b) {
    metric_gauge(b, "wopr_stream_readers", "Cursors of event streams on runs.", (double)s->readers);
    metric_gauge(b, "wopr_stream_topics", "Runs that somebody listens to.", (double)s->topics);
    metric_gauge(b, "wopr_stream_readers_behind",
                 "Cursors that read the store now: a backlog, or too slow for live events.",
                 (double)s->behind);
    metric_gauge(b, "wopr_stream_backlog_bytes",
                 "Committed bytes held in memory for readers that have still to take them.",
                 (double)s->backlog_bytes);
    metric_counter(b, "wopr_stream_lagged_total",
                   "Times a slow reader was sent from live events to the store.", s->lagged);
    metric_counter(b, "wopr_stream_wakeups_total", "Wake-ups of streams and long-polls.", s->wakes);
    histogram_render(b, "wopr_stream_delivery_seconds",
                     "Lag of live readers: from a commit to its being taken.", &METRIC_DURATION,
                     &s->delivery_ns);
}

static void render_runs(const struct engine_stats *s, struct buf *b) {
    static const char ended[] = "wopr_runs_ended_total", nodes[] = "wopr_nodes_ended_total";
    metric_counter(b, "wopr_runs_created_total", "Runs accepted.", s->runs_created);
    metric_head(b, ended, "counter", "Runs ended, by status.");
    metric_labelled(b, ended, "status", "completed", s->runs_completed);
    metric_labelled(b, ended, "status", "failed", s->runs_failed);
    metric_labelled(b, ended, "status", "cancelled", s->runs_cancelled);
    metric_head(b, nodes, "counter", "Nodes ended, by status.");
    metric_labelled(b, nodes, "status", "completed", s->nodes_completed);
    metric_labelled(b, nodes, "status", "failed", s->nodes_failed);
    metric_counter(b, "wopr_node_retries_total", "Retries scheduled.", s->retries);
    metric_counter(b, "wopr_cap_breaches_total", "Engine limits exceeded.", s->cap_breaches);
    metric_counter(b, "wopr_runs_recovered_total", "Runs continued after another holder.",
                   s->recovered);
    metric_counter(b, "wopr_runs_parked_total",
                   "Runs set aside because their log breaks an invariant.", s->parked);
}

static void render_bounds(const struct engine_stats *s, struct buf *b) {
    static const char met[] = "wopr_run_bounds_met_total";
    static const char *const names[RUN_BOUND_NR] = {"log", "state", "pauses", "questions", "votes"};
    metric_gauge(b, "wopr_state_bytes", "States of runs in memory.", (double)s->state_bytes);
    metric_gauge(b, "wopr_state_bytes_limit", "States in memory before 503.",
                 (double)s->bounds.state_bytes_max);
    metric_counter(b, "wopr_states_dropped_total", "States of waiting runs that made room.",
                   s->states_dropped);
    metric_gauge(b, "wopr_tenants_active", "Tenants with runs in memory.",
                 (double)s->tenants_active);
    metric_gauge(b, "wopr_tenant_runs_active", "Runs in memory of the tenant that has most.",
                 (double)s->tenant_runs_active);
    metric_gauge(b, "wopr_tenant_runs_active_limit", "Runs in memory of one tenant before 429.",
                 (double)s->bounds.tenant_runs_active_max);
    metric_gauge(b, "wopr_forks_copying", "Forks being made now.", (double)s->forks_copying);
    metric_gauge(b, "wopr_tenant_forks_waiting",
                 "Forks that wait for a copy, of the tenant that has most.",
                 (double)s->tenant_forks_waiting);
    metric_gauge(b, "wopr_tenant_forks_waiting_limit", "Waiting forks of one tenant before 429.",
                 (double)s->tenant_forks_waiting_max);
    metric_gauge(b, "wopr_tenant_bytes_limit", "Bytes of one tenant before 429, 0 = none.",
                 (double)s->bounds.tenant_bytes_max);
    metric_head(b, met, "counter", "Runs and commands that met a bound of one run.");
    for (size_t i = 0; i < RUN_BOUND_NR; i++)
        metric_labelled(b, met, "bound", names[i], s->bounds_met[i]);
}

static void render_engine(const struct engine_stats *s, struct buf *b) {
    render_runs(s, b);
    by_code(b, "wopr_commands_refused_total", "Commands on runs that had no effect, by reason.",
            s->refused);
    metric_gauge(b, "wopr_runs_active", "Unfinished runs in memory.", (double)s->runs_active);
    metric_gauge(b, "wopr_runs_active_limit", "Unfinished runs in memory before 503.",
                 (double)s->runs_active_max);
    metric_gauge(b, "wopr_ready_queue_length", "Runs waiting for a worker.", (double)s->ready_len);
    metric_gauge(b, "wopr_timers", "Armed timers.", (double)s->timers);
    render_bounds(s, b);
}

static void render_callers(const struct egress_stats *s, struct buf *b) {
    static const char answered[] = "wopr_egress_answered_total";
    static const char failed[] = "wopr_egress_failed_total";
    metric_head(b, answered, "counter", "Requests that were answered, by who sent them.");
    for (int c = EGRESS_CALLER_NONE + 1; c < EGRESS_CALLERS_END; c++)
        metric_labelled(b, answered, "caller", egress_caller_row((enum egress_caller)c)->label,
                        s->by_caller[c].answered);
    metric_head(b, failed, "counter", "Requests without an answer, by who sent them.");
    for (int c = EGRESS_CALLER_NONE + 1; c < EGRESS_CALLERS_END; c++)
        metric_labelled(b, failed, "caller", egress_caller_row((enum egress_caller)c)->label,
                        s->by_caller[c].failed);
}

/* Without egress all stay 0: a dashboard need not know the setting. */
static void render_egress(struct egress *egress, struct buf *b) {
    static const char ended[] = "wopr_egress_requests_total";
    struct egress_stats s = {0};
    if (egress != NULL) egress_stats(egress, &s);
    metric_counter(b, "wopr_egress_started_total", "Requests sent out.", s.started);
    metric_head(b, ended, "counter", "Requests sent out, by how they ended.");
    metric_labelled(b, ended, "result", "answered", s.answered);
    metric_labelled(b, ended, "result", "refused", s.refused);
    metric_labelled(b, ended, "result", "failed", s.failed);
    metric_counter(b, "wopr_egress_redirects_total", "Redirects followed.", s.redirects);
    render_callers(&s, b);
    metric_gauge(b, "wopr_egress_hosts_full", "Hosts at which every place is taken.",
                 (double)s.peers_full);
    metric_gauge(b, "wopr_egress_loopback", "1: requests may reach this machine itself.",
                 egress != NULL && egress_allow_loopback(egress_allowed(egress)) ? 1 : 0);
    metric_gauge(b, "wopr_egress_active", "Requests under way.", (double)s.active);
    metric_gauge(b, "wopr_egress_queue_length", "Requests waiting for a place.", (double)s.queued);
}

/* Without modules of packs all but the bound stay 0. */
static void render_sandbox(struct sandbox *sandbox, struct buf *b) {
    static const char ended[] = "wopr_wasm_invocations_total";
    struct sandbox_stats s = {0};
    if (sandbox != NULL) sandbox_stats(sandbox, &s);
    metric_head(b, ended, "counter",
                "Executions of modules of packs, by whether a worker had a report.");
    metric_labelled(b, ended, "result", "reported", s.invoked);
    metric_labelled(b, ended, "result", "failed", s.failed);
    metric_counter(b, "wopr_wasm_workers_started_total", "Processes started for modules.",
                   s.started);
    metric_counter(b, "wopr_wasm_workers_ended_total",
                   "Of these, ended: dead, late, wrong, spent, or needed for another tenant.",
                   s.killed);
    metric_gauge(b, "wopr_wasm_active", "Modules that are executed now.", (double)s.active);
    metric_gauge(b, "wopr_wasm_waiting", "Modules that wait to be executed.", (double)s.waiting);
    metric_gauge(b, "wopr_wasm_module_bytes", "Bytes of modules in memory.",
                 (double)s.module_bytes);
    metric_gauge(b, "wopr_wasm_module_bytes_limit",
                 "Beyond it, modules that are not being sent to a process leave memory.",
                 SANDBOX_BYTES_MAX);
    metric_counter(b, "wopr_wasm_modules_read_total",
                   "Modules that had left memory and were read again.", s.modules_read);
}

/* Without issuers whose keys are behind a URL all stay 0. */
static void render_issuers(struct issuers_watch *watch, struct buf *b) {
    static const char fetches[] = "wopr_issuer_fetches_total";
    struct issuers_watch_stats s = {0};
    if (watch != NULL) issuers_watch_stats(watch, &s);
    metric_head(b, fetches, "counter", "Key sets of token issuers fetched, by outcome.");
    metric_labelled(b, fetches, "result", "ok", s.fetched);
    metric_labelled(b, fetches, "result", "failed", s.failed);
    metric_gauge(b, "wopr_issuer_keys_age_seconds",
                 "Age of the oldest key set that came by URL; -1: one never came.",
                 s.oldest_ms < 0 ? -1 : (double)s.oldest_ms / 1000);
}

/* Without an audit log all stay 0. */
static void render_audit(struct audit *audit, struct buf *b) {
    struct audit_stats s = {0};
    if (audit != NULL) audit_stats(audit, &s);
    metric_counter(b, "wopr_audit_entries_total",
                   "Entries of the audit log about requests that were written.", s.written);
    metric_counter(b, "wopr_audit_dropped_total", "Entries for which there was no room: gaps.",
                   s.dropped);
    metric_counter(b, "wopr_audit_checkpoints_total", "Checkpoints signed by this host.",
                   s.checkpoints);
    metric_counter(b, "wopr_audit_failures_total",
                   "Writes of entries or checkpoints that failed and were repeated.", s.failed);
}

/* Without a receiver of telemetry all stay 0. */
static void render_otel(struct otel *otel, struct buf *b) {
    struct otel_stats s = {0};
    if (otel != NULL) otel_stats(otel, &s);
    metric_counter(b, "wopr_otel_spans_total", "Spans of runs that were made.", s.spans);
    metric_counter(b, "wopr_otel_spans_sent_total", "Spans that the receiver took.", s.sent);
    metric_counter(b, "wopr_otel_spans_dropped_total",
                   "Spans that were lost: the queue was full, or the receiver did not take them.",
                   s.dropped);
    metric_counter(b, "wopr_otel_commits_missed_total",
                   "Commits that found the queue of telemetry full.", s.missed);
    metric_counter(b, "wopr_otel_requests_total", "Requests to the receiver of telemetry.",
                   s.requests);
    metric_counter(b, "wopr_otel_requests_failed_total", "Those that were not answered with 2xx.",
                   s.failed);
    metric_gauge(b, "wopr_otel_spans_queued", "Spans that wait to be sent.", (double)s.queued);
    metric_gauge(b, "wopr_otel_runs", "Unfinished runs that telemetry keeps in memory.",
                 (double)s.runs);
    metric_gauge(b, "wopr_otel_series", "Series of metrics that the receiver is told.",
                 (double)s.series);
}

/* Without webhooks all stay 0. */
static void render_hooks(struct hooks *hooks, struct buf *b) {
    static const char ended[] = "wopr_webhook_deliveries_total", called[] = "wopr_callbacks_total";
    struct hooks_stats s = {0};
    if (hooks != NULL) hooks_stats(hooks, &s);
    metric_head(b, ended, "counter", "Attempts to deliver an event to a webhook, by result.");
    metric_labelled(b, ended, "result", "delivered", s.delivered);
    metric_labelled(b, ended, "result", "failed", s.failed);
    metric_counter(b, "wopr_webhook_dead_letters_total", "Deliveries that were given up.", s.dead);
    metric_counter(b, "wopr_webhook_dropped_total",
                   "Commits that a webhook missed because its backlog was full.", s.dropped);
    metric_gauge(b, "wopr_webhooks", "Webhooks that this host delivers to.",
                 (double)s.subscriptions);
    metric_gauge(b, "wopr_webhook_breakers_open", "Webhooks whose circuit breaker is not closed.",
                 (double)s.open);
    metric_gauge(b, "wopr_webhook_active", "Deliveries under way.", (double)s.in_flight);
    metric_gauge(b, "wopr_webhook_backlog_seconds", "Age of the oldest commit not delivered.",
                 (double)s.behind_ms / 1000);
    metric_head(b, called, "counter",
                "Questions for the callback URLs of runs, by result; failed counts attempts.");
    metric_labelled(b, called, "result", "sent", s.calls.sent);
    metric_labelled(b, called, "result", "failed", s.calls.failed);
    metric_labelled(b, called, "result", "given_up", s.calls.given_up);
    metric_labelled(b, called, "result", "answered", s.calls.answered);
}

static void render_store(struct store *store, struct buf *b) {
    static const char done[] = "wopr_store_checkpoints_total";
    struct store_stats s;
    struct store_counts n;
    struct sqlite_stats file;
    store_stats(store, &s);
    sqlite_stats(store, &file);
    metric_gauge(b, "wopr_store_usable", "1, or 0 after a failed sync: restart the host.",
                 s.failed ? 0 : 1);
    histogram_render(b, "wopr_store_sync_seconds",
                     "COMMIT alone: pages written to the WAL and synced.", &METRIC_DURATION,
                     &s.sync_ns);
    histogram_render(b, "wopr_store_checkpoint_seconds",
                     "Checkpoints of the WAL into the database.", &METRIC_DURATION,
                     &file.checkpoint_ns);
    metric_head(b, done, "counter", "Checkpoints of the WAL, by result.");
    metric_labelled(b, done, "result", "done", file.checkpoints);
    metric_labelled(b, done, "result", "busy", file.checkpoints_busy);
    metric_labelled(b, done, "result", "failed", file.checkpoints_failed);
    if (store_count(store, &n, NULL) != 0) return; /* a broken store has no sizes */
    metric_gauge(b, "wopr_store_database_bytes", "Size of the database.", (double)n.bytes);
    metric_gauge(b, "wopr_store_wal_bytes", "Size of the WAL file.", (double)file.wal_bytes);
    metric_gauge(b, "wopr_store_runs", "Runs in the database.", (double)n.runs);
    metric_gauge(b, "wopr_store_runs_open", "Unfinished runs in the database.",
                 (double)n.runs_open);
    metric_gauge(b, "wopr_tenant_bytes", "Logs of the tenant that has most.",
                 (double)n.tenant_bytes);
    metric_gauge(b, "wopr_store_events", "Events in the database.", (double)n.events);
}

static void render_task_types(struct store *s, struct buf *b) {
    struct arena *a = arena_new(TASK_ARENA_MAX);
    struct task_depth_list l = {0};
    struct wopr_error err;
    int64_t now_ms = clock_wall_ms();
    if (!a || store_tasks_depths(s, TASK_TYPES_SHOWN, a, &l, &err) != 0) l.n = 0;
    metric_head(b, "wopr_tasks_ready", "gauge", "Tasks that wait for a worker, by type.");
    for (size_t i = 0; i < l.n; i++)
        metric_labelled(b, "wopr_tasks_ready", "type", arena_cstr(a, l.v[i].type_id),
                        (uint64_t)l.v[i].ready);
    metric_head(b, "wopr_tasks_leased", "gauge", "Tasks that workers have, by type.");
    for (size_t i = 0; i < l.n; i++)
        metric_labelled(b, "wopr_tasks_leased", "type", arena_cstr(a, l.v[i].type_id),
                        (uint64_t)l.v[i].leased);
    metric_head(b, "wopr_task_oldest_seconds", "gauge", "Age of the oldest ready task, by type.");
    for (size_t i = 0; i < l.n; i++) {
        int64_t age_ms = l.v[i].oldest_ms > 0 ? now_ms - l.v[i].oldest_ms : 0;
        metric_labelled(b, "wopr_task_oldest_seconds", "type", arena_cstr(a, l.v[i].type_id),
                        age_ms > 0 ? (uint64_t)age_ms / 1000 : 0);
    }
    arena_free(a);
}

static void render_tasks(const struct engine_task_stats *s, struct buf *b) {
    metric_counter(b, "wopr_task_claims_total", "Claims that found something.", s->claims);
    metric_counter(b, "wopr_tasks_claimed_total", "Tasks given to workers.", s->claimed);
    metric_counter(b, "wopr_task_leases_lost_total", "Leases of tasks that ran out.",
                   s->leases_lost);
    metric_counter(b, "wopr_task_late_answers_total", "Answers of leases that were over.",
                   s->late_answers);
    metric_gauge(b, "wopr_task_claims_waiting", "Claims under way or waiting for a task.",
                 (double)s->waiting);
    histogram_render(b, "wopr_task_ready_seconds", "From ready to claimed.", &METRIC_DURATION,
                     &s->ready_ns);
}

static void render_workflows(const struct v1 *v, struct buf *b) {
    static const char put[] = "wopr_workflow_puts_total", check[] = "wopr_workflow_checks_total";
    uint64_t n[WORKFLOW_EVENTS_NR];
    v1_workflow_stats(v, n);
    metric_head(b, put, "counter", "Workflows put or deleted over HTTP, by what became of it.");
    metric_labelled(b, put, "result", "created", n[WORKFLOW_CREATED]);
    metric_labelled(b, put, "result", "updated", n[WORKFLOW_UPDATED]);
    metric_labelled(b, put, "result", "unchanged", n[WORKFLOW_UNCHANGED]);
    metric_labelled(b, put, "result", "conflict", n[WORKFLOW_CONFLICT]);
    metric_labelled(b, put, "result", "refused", n[WORKFLOW_REFUSED]);
    metric_labelled(b, put, "result", "deleted", n[WORKFLOW_DELETED]);
    metric_head(b, check, "counter", "Workflows checked over HTTP, by what was found.");
    metric_labelled(b, check, "result", "good", n[WORKFLOW_CHECKED_GOOD]);
    metric_labelled(b, check, "result", "errors", n[WORKFLOW_CHECKED_BAD]);
}

void host_metrics_render(void *sources, struct buf *out) {
    const struct metrics_sources *m = sources;
    struct journal_stats ls;
    struct engine_stats es;
    journal_stats(m->journal, &ls);
    struct engine_task_stats ts;
    engine_stats(m->engine, &es);
    engine_task_stats(m->engine, &ts);
    render_committer(&ls, out);
    render_readers(&ls, out);
    render_engine(&es, out);
    render_tasks(&ts, out);
    render_task_types(m->store, out);
    render_egress(m->egress, out);
    render_sandbox(m->sandbox, out);
    render_issuers(m->issuers, out);
    render_hooks(m->hooks, out);
    render_audit(m->audit, out);
    render_otel(m->otel, out);
    render_workflows(m->v1, out);
    render_store(m->store, out);
    metrics_process_render(m->started_ms, out);
    metric_counter(out, "wopr_process_log_dropped_total",
                   "Lines of the process log dropped under pressure.", logger_dropped());
    metric_head(out, "wopr_build_info", "gauge", "Constant 1; the version is the label.");
    metric_labelled(out, "wopr_build_info", "version", WOPR_VERSION, 1);
}

/* True while creations would be refused because the disk is full or does not answer.  Waiting runs
 * try again and show when that is over; a host without any gets another try after a while. */
static bool cannot_write(struct journal *l) {
    struct journal_stats ls;
    journal_stats(l, &ls);
    return ls.failing >= READY_FAILURES && clock_mono_ms() - ls.failed_ms < READY_AGAIN_MS;
}

bool host_metrics_ready(void *sources) {
    const struct metrics_sources *m = sources;
    if (cannot_write(m->journal)) return false;
    struct api_key none;
    struct arena *a = arena_new(64 * 1024);
    int rc = a == NULL ? WOPR_E_NO_MEMORY : store_key_find(m->store, STR("-"), a, &none, NULL);
    arena_free(a);
    return rc == 0 || rc == WOPR_E_NOT_FOUND;
}
