/*
 * metric.c: see metric.h.
 */
#include "base/metric.h"

#include <stdio.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
static const uint64_t DURATIONS[] = {100 * US, 250 * US, 500 * US,  1 * MS,    2500 * US,
                                     5 * MS,   10 * MS,  25 * MS,   50 * MS,   100 * MS,
                                     250 * MS, 500 * MS, 1000 * MS, 2500 * MS, 10000 * MS};
static const uint64_t AMOUNTS[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 8192};
const struct metric_scale METRIC_DURATION = {DURATIONS, sizeof DURATIONS / sizeof *DURATIONS, 1e-9};
const struct metric_scale METRIC_AMOUNT = {AMOUNTS, sizeof AMOUNTS / sizeof *AMOUNTS, 1};
_Static_assert(sizeof DURATIONS / sizeof *DURATIONS <= METRIC_BOUNDS_MAX, "fits");
_Static_assert(sizeof AMOUNTS / sizeof *AMOUNTS <= METRIC_BOUNDS_MAX, "fits");

void metric_observe(struct metric_hist *h, const struct metric_scale *s, uint64_t v) {
    size_t i = 0;
    while (i < s->n && v > s->bounds[i]) i++;
    atomic_fetch_add_explicit(&h->bucket[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum, v, memory_order_relaxed);
}

void metric_read(const struct metric_hist *h, struct metric_reading *out) {
    out->count = 0;
    for (size_t i = 0; i <= METRIC_BOUNDS_MAX; i++) {
        out->bucket[i] = atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
        out->count += out->bucket[i];
    }
    out->sum = atomic_load_explicit(&h->sum, memory_order_relaxed);
}

void metric_head(struct buf *b, const char *name, const char *type, const char *help) {
    buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void sample_add(struct buf *b, uint64_t v) {
    buf_addc(b, ' ');
    buf_add_u64(b, v);
    buf_addc(b, '\n');
}

void metric_counter(struct buf *b, const char *name, const char *help, uint64_t v) {
    metric_head(b, name, "counter", help);
    buf_addz(b, name);
    sample_add(b, v);
}

void metric_gauge(struct buf *b, const char *name, const char *help, double v) {
    metric_head(b, name, "gauge", help);
    buf_addf(b, "%s %.17g\n", name, v);
}

void metric_labelled(struct buf *b, const char *name, const char *label, const char *value,
                     uint64_t v) {
    buf_addf(b, "%s{%s=\"%s\"}", name, label, value);
    sample_add(b, v);
}

void metric_histogram(struct buf *b, const char *name, const char *label, const char *value,
                      const struct metric_scale *s, const struct metric_reading *r) {
    uint64_t upto = 0;
    char own[160] = "", only[160] = "";
    if (label) {
        (void)snprintf(own, sizeof own, "%s=\"%s\",", label, value);
        (void)snprintf(only, sizeof only, "{%s=\"%s\"}", label, value);
    }
    for (size_t i = 0; i < s->n; i++) {
        upto += r->bucket[i];
        buf_addf(b, "%s_bucket{%sle=\"%g\"}", name, own, (double)s->bounds[i] * s->unit);
        sample_add(b, upto);
    }
    buf_addf(b, "%s_bucket{%sle=\"+Inf\"}", name, own);
    sample_add(b, r->count);
    buf_addf(b, "%s_sum%s %.9g\n", name, only, (double)r->sum * s->unit);
    buf_addf(b, "%s_count%s", name, only);
    sample_add(b, r->count);
}
