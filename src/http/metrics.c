/*
 * metrics.c: counters of the server and their Prometheus text.
 */
#include "base/log.h"
#include "base/mem.h"
#include "http/http_internal.h"

static const uint64_t BUCKET_US[METRIC_BUCKETS] = {100,   250,   500,    1000,   2500,    5000,
                                                   10000, 25000, 100000, 500000, 2000000, 10000000};
static const char *const REFUSALS[REFUSED_NR] = {"capacity",     "streams", "draining", "key_rate",
                                                 "address_rate", "auth",    "scope"};

int metrics_init(struct metrics *m, const struct http_op *ops, size_t n) {
    *m = (struct metrics){.ops_nr = n, .ops = ops};
    m->by_class = mem_array(n + 1, sizeof *m->by_class);
    m->buckets = mem_array(n + 1, sizeof *m->buckets);
    m->sum_us = mem_array(n + 1, sizeof *m->sum_us);
    if (m->by_class && m->buckets && m->sum_us) return 0;
    metrics_fini(m);
    return WOPR_E_NO_MEMORY;
}

void metrics_fini(struct metrics *m) {
    mem_free(m->by_class);
    mem_free(m->buckets);
    mem_free(m->sum_us);
    m->by_class = NULL;
    m->buckets = NULL;
    m->sum_us = NULL;
}

void metrics_done(struct metrics *m, const struct http_op *op, size_t op_no, int status,
                  uint64_t us) {
    size_t row = op ? op_no : m->ops_nr;
    size_t class = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
    size_t b = 0;
    while (b < METRIC_BUCKETS && us > BUCKET_US[b]) b++;
    atomic_fetch_add_explicit(&m->by_class[row][class], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->buckets[row][b], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->sum_us[row], us, memory_order_relaxed);
}

static const char *op_name(const struct metrics *m, size_t row) {
    return row < m->ops_nr ? m->ops[row].id : "none";
}

static void render_counts(struct metrics *m, struct buf *out) {
    buf_addz(out, "# HELP wopr_http_requests_total Answered requests.\n# TYPE "
                  "wopr_http_requests_total counter\n");
    for (size_t i = 0; i <= m->ops_nr; i++)
        for (unsigned k = 0; k < 6; k++) {
            uint64_t n = atomic_load(&m->by_class[i][k]);
            if (n == 0) continue;
            buf_addf(out, "wopr_http_requests_total{operation=\"%s\",class=\"%uxx\"} ",
                     op_name(m, i), k);
            buf_add_u64(out, n);
            buf_addc(out, '\n');
        }
}

static void render_latency(struct metrics *m, struct buf *out) {
    buf_addz(out, "# HELP wopr_http_request_seconds Time from request line to queued answer.\n"
                  "# TYPE wopr_http_request_seconds histogram\n");
    for (size_t i = 0; i <= m->ops_nr; i++) {
        uint64_t sum = 0;
        for (size_t b = 0; b <= METRIC_BUCKETS; b++) sum += atomic_load(&m->buckets[i][b]);
        if (sum == 0) continue;
        const char *name = op_name(m, i);
        uint64_t upto = 0;
        for (size_t b = 0; b < METRIC_BUCKETS; b++) {
            upto += atomic_load(&m->buckets[i][b]);
            buf_addf(out, "wopr_http_request_seconds_bucket{operation=\"%s\",le=\"%g\"} %llu\n",
                     name, (double)BUCKET_US[b] / 1e6, (unsigned long long)upto);
        }
        upto += atomic_load(&m->buckets[i][METRIC_BUCKETS]);
        buf_addf(out, "wopr_http_request_seconds_bucket{operation=\"%s\",le=\"+Inf\"} %llu\n", name,
                 (unsigned long long)upto);
        buf_addf(out, "wopr_http_request_seconds_sum{operation=\"%s\"} %.6f\n", name,
                 (double)atomic_load(&m->sum_us[i]) / 1e6);
        buf_addf(out, "wopr_http_request_seconds_count{operation=\"%s\"} %llu\n", name,
                 (unsigned long long)upto);
    }
}

static void one(struct buf *out, const char *name, const char *type, uint64_t v) {
    buf_addf(out, "# TYPE %s %s\n%s %llu\n", name, type, name, (unsigned long long)v);
}

void metrics_render(struct http_server *s, struct buf *out) {
    struct metrics *m = &s->metrics;
    render_counts(m, out);
    render_latency(m, out);
    buf_addz(out, "# TYPE wopr_http_refused_total counter\n");
    for (size_t i = 0; i < REFUSED_NR; i++)
        buf_addf(out, "wopr_http_refused_total{reason=\"%s\"} %llu\n", REFUSALS[i],
                 (unsigned long long)atomic_load(&m->refused[i]));
    one(out, "wopr_http_idempotent_replays_total", "counter", atomic_load(&m->replays));
    one(out, "wopr_http_in_flight", "gauge", atomic_load(&s->in_flight));
    one(out, "wopr_http_streams", "gauge", atomic_load(&s->streams));
    one(out, "wopr_http_streams_opened_total", "counter", atomic_load(&m->streams_opened));
    one(out, "wopr_http_stream_bytes_total", "counter", atomic_load(&m->stream_bytes));
    one(out, "wopr_log_lines_dropped_total", "counter", logger_dropped());
    if (s->cfg.metrics) s->cfg.metrics(s->cfg.metrics_ctx, out);
}
