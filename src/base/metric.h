/*
 * metric.h: histograms that cost two relaxed additions, and Prometheus text (exposition format
 * 0.0.4).  Layer: base.
 * Any thread may observe at any time; a reading is not one moment, but its count is always the sum
 * of its buckets.
 */
#ifndef WOPR_BASE_METRIC_H
#define WOPR_BASE_METRIC_H

#include "base/buf.h"

#include <stdatomic.h>

enum { METRIC_BOUNDS_MAX = 16 };

/* Upper bounds, ascending, in the unit that is observed; one of that unit is `unit` base units of
 * the text (1e-9: nanoseconds are shown as seconds). */
struct metric_scale {
    const uint64_t *bounds;
    size_t n;
    double unit;
};
extern const struct metric_scale METRIC_DURATION; /* nanoseconds: 100 us to 10 s */
extern const struct metric_scale METRIC_AMOUNT;   /* pieces: 1 to 8192 */

struct metric_hist { /* all zero is empty */
    atomic_uint_fast64_t bucket[METRIC_BOUNDS_MAX + 1], sum;
};
struct metric_reading {
    uint64_t bucket[METRIC_BOUNDS_MAX + 1], sum, count;
};
/* One value, in the unit of s; any thread, no lock.  A reading need not be of one moment. */
void metric_observe(struct metric_hist *h, const struct metric_scale *s, uint64_t v);
void metric_read(const struct metric_hist *h, struct metric_reading *out);

/* --- text --- */
/* HELP and TYPE; once per name, before its samples.  help: one line, no backslash. */
void metric_head(struct buf *b, const char *name, const char *type, const char *help);
/* Head and the one sample of a metric without labels. */
void metric_counter(struct buf *b, const char *name, const char *help, uint64_t v);
void metric_gauge(struct buf *b, const char *name, const char *help, double v);
/* A sample with one label.  Labels and values are ours: nothing is escaped. */
void metric_labelled(struct buf *b, const char *name, const char *label, const char *value,
                     uint64_t v);
/* Samples of a histogram; label NULL: none. */
void metric_histogram(struct buf *b, const char *name, const char *label, const char *value,
                      const struct metric_scale *s, const struct metric_reading *r);

#endif
