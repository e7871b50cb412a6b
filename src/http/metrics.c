/*
 * metrics.c: counters of the server and their Prometheus text.
 */
#include "base/log.h"
#include "base/mem.h"
#include "http/server.h"

#include <stdio.h>

static const struct {
    const char *status, *reason;
} REFUSALS[REFUSED_NR] = {
    [REFUSED_BODY] = {"413", "body_size"},
    [REFUSED_OPERATION] = {"403", "operation"},
    [REFUSED_RATE] = {"429", "operation"},
    [REFUSED_ENGINE] = {"503", "engine"},
    [REFUSED_CAPACITY] = {"503", "requests_max"},
    [REFUSED_CONNECTIONS] = {"503", "connections_max"},
    [REFUSED_STREAMS] = {"503", "streams_max"},
    [REFUSED_DRAINING] = {"503", "draining"},
    [REFUSED_KEY_RATE] = {"429", "key_rate"},
    [REFUSED_ADDRESS_RATE] = {"429", "address_rate"},
    [REFUSED_AUTH] = {"401", "credential"},
    [REFUSED_SCOPE] = {"403", "scope"},
    [REFUSED_POLLS] = {"503", "polls_max"},
    [REFUSED_KEY_POLLS] = {"503", "key_polls_max"},
    [REFUSED_MEMORY] = {"503", "memory_bytes"},
    [REFUSED_READS] = {"503", "reads"},
    [REFUSED_GUESSES] = {"429", "auth_failures"},
    [REFUSED_LARGE_BODIES] = {"429", "large_body_rate"},
    [REFUSED_TENANT_RATE] = {"429", "tenant_rate"},
    [REFUSED_TENANT_STREAMS] = {"429", "tenant_streams_max"},
};

int metrics_init(struct metrics *m, const char *const *names, size_t n) {
    *m = (struct metrics){.ops_nr = n, .names = names};
    m->by_class = mem_array(n + 1, sizeof *m->by_class);
    m->took_ns = mem_array(n + 1, sizeof *m->took_ns);
    if (m->by_class && m->took_ns) return 0;
    metrics_fini(m);
    return WOPR_E_NO_MEMORY;
}

void metrics_fini(struct metrics *m) {
    mem_free(m->by_class);
    mem_free(m->took_ns);
    m->by_class = NULL;
    m->took_ns = NULL;
}

void metrics_done(struct metrics *m, const struct http_op *op, size_t op_no, int status,
                  uint64_t ns) {
    size_t row = op ? op_no : m->ops_nr;
    size_t class = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
    atomic_fetch_add_explicit(&m->by_class[row][class], 1, memory_order_relaxed);
    metric_observe(&m->took_ns[row], &METRIC_DURATION, ns);
}

static enum metric_refusal by_status(int status) {
    switch (status) {
    case MHD_HTTP_UNAUTHORIZED:
        return REFUSED_AUTH;
    case MHD_HTTP_FORBIDDEN:
        return REFUSED_OPERATION;
    case MHD_HTTP_CONTENT_TOO_LARGE:
        return REFUSED_BODY;
    case MHD_HTTP_TOO_MANY_REQUESTS:
        return REFUSED_RATE;
    case MHD_HTTP_SERVICE_UNAVAILABLE:
        return REFUSED_ENGINE;
    default:
        return REFUSED_NONE;
    }
}

void metrics_refused(struct metrics *m, enum metric_refusal why, int status) {
    if (why == REFUSED_NONE) why = by_status(status);
    if (why != REFUSED_NONE) atomic_fetch_add(&m->refused[why], 1);
}

static const char *op_name(const struct metrics *m, size_t row) {
    return row < m->ops_nr ? m->names[row] : "none";
}

static void render_counts(struct metrics *m, struct buf *out) {
    char class[8];
    metric_head(out, "wopr_http_requests_total", "counter", "Answered requests.");
    for (size_t i = 0; i <= m->ops_nr; i++)
        for (unsigned k = 0; k < 6; k++) {
            uint64_t n = atomic_load(&m->by_class[i][k]);
            if (n == 0) continue;
            (void)snprintf(class, sizeof class, "%uxx", k);
            buf_addf(out, "wopr_http_requests_total{operation=\"%s\",class=\"%s\"} ", op_name(m, i),
                     class);
            buf_add_u64(out, n);
            buf_addc(out, '\n');
        }
}

static void render_durations(struct metrics *m, struct buf *out) {
    static const char name[] = "wopr_http_request_duration_seconds";
    metric_head(out, name, "histogram", "Time from the request line to the queued answer.");
    for (size_t i = 0; i <= m->ops_nr; i++) {
        struct metric_reading r;
        metric_read(&m->took_ns[i], &r);
        if (r.count > 0)
            metric_histogram(out, name, "operation", op_name(m, i), &METRIC_DURATION, &r);
    }
}

static void render_refusals(struct metrics *m, struct buf *out) {
    metric_head(out, "wopr_http_refused_total", "counter",
                "Requests answered 401, 403, 413, 429 or 503, by reason.");
    for (size_t i = REFUSED_NONE + 1; i < REFUSED_NR; i++) {
        buf_addf(out, "wopr_http_refused_total{status=\"%s\",reason=\"%s\"} ", REFUSALS[i].status,
                 REFUSALS[i].reason);
        buf_add_u64(out, atomic_load(&m->refused[i]));
        buf_addc(out, '\n');
    }
}

static void render_streams(struct http_server *s, struct buf *out) {
    struct metrics *m = &s->metrics;
    metric_gauge(out, "wopr_streams", "Open event streams.",
                 (double)shares_total(&s->shares, SHARE_STREAMS));
    metric_gauge(out, "wopr_streams_limit", "Open event streams before 503.", s->cfg.streams_max);
    metric_counter(out, "wopr_stream_opened_total", "Event streams opened.",
                   atomic_load(&m->streams_opened));
    metric_counter(out, "wopr_stream_events_total", "Events written to event streams.",
                   atomic_load(&m->stream_events));
    metric_counter(out, "wopr_stream_bytes_total", "Bytes written to event streams.",
                   atomic_load(&m->stream_bytes));
}

static void render_bounds(struct http_server *s, struct buf *out) {
    const struct shares *sh = &s->shares;
    metric_gauge(out, "wopr_http_polls", "Long-polls that wait for their run.",
                 (double)shares_total(sh, SHARE_POLLS));
    metric_gauge(out, "wopr_http_polls_limit", "Waiting long-polls before 503.", s->cfg.polls_max);
    metric_gauge(out, "wopr_http_memory_bytes", "Held by large bodies, answers and stream states.",
                 (double)shares_total(sh, SHARE_BYTES));
    metric_gauge(out, "wopr_http_memory_bytes_limit", "The same before 503.",
                 (double)s->cfg.memory_bytes);
    metric_gauge(out, "wopr_http_reads_queued", "Long reads that wait for a thread.",
                 (double)shares_total(sh, SHARE_READS));
    metric_gauge(out, "wopr_http_reads_queued_limit", "The same before 503.", HTTP_READS_MAX);
    metric_counter(out, "wopr_http_reads_total",
                   "Long reads, large bodies and turns of folds that ran on threads for them.",
                   atomic_load(&s->metrics.jobs));
}

void metrics_render(struct http_server *s, struct buf *out) {
    struct metrics *m = &s->metrics;
    render_counts(m, out);
    render_durations(m, out);
    render_refusals(m, out);
    metric_counter(out, "wopr_http_idempotent_replays_total",
                   "Requests answered with the stored answer of an earlier one.",
                   atomic_load(&m->replays));
    metric_gauge(out, "wopr_http_requests_in_flight", "Requests being answered, without streams.",
                 (double)shares_total(&s->shares, SHARE_REQUESTS));
    metric_gauge(out, "wopr_http_requests_limit", "Requests in flight before 503.",
                 s->cfg.requests_max);
    metric_gauge(out, "wopr_http_connections", "Open connections.", atomic_load(&s->conns.open));
    metric_gauge(out, "wopr_http_connections_lingering",
                 "Refused and answered, and read on for a while so that the answer arrives.",
                 atomic_load(&s->conns.lingering));
    metric_gauge(out, "wopr_http_connections_limit", "Open connections before others must wait.",
                 s->cfg.connections_max);
    render_bounds(s, out);
    render_streams(s, out);
    if (s->cfg.ops.metrics) s->cfg.ops.metrics(s->cfg.ops.ctx, out);
}

void http_metrics(const struct http_call *c, struct buf *out) { metrics_render(c->server, out); }
