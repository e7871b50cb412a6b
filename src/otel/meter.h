/*
 * meter.h: the numbers of meters.def, by their labels, and the message of OTLP that tells them.
 * Layer: otel.
 *
 * One thread.  A number counts since the meters were made (cumulative), so a message that is lost
 * costs nothing: the next one says all of it again.  Series are bounded, so that they all fit
 * into one message: beyond METER_SERIES_MAX of a metric, or METER_KEYS_MAX bytes of all labels,
 * what is new is counted under the one label otel.metric.overflow (OpenTelemetry, metrics SDK).
 */
#ifndef WOPR_OTEL_METER_H
#define WOPR_OTEL_METER_H

#include "otel/span.h"

enum {
    METER_LABELS_MAX = 4,
    METER_BOUNDS_MAX = 12,
    METER_SERIES_MAX = 250,
    METER_KEYS_MAX = 256 * 1024
};
enum meter_id {
#define METER(id, ...) METER_##id,
#include "otel/meters.def"
#undef METER
    METER_NR
};
struct meter_label {
    const char *key;
    struct str value; /* an empty one is left out */
};
struct meters;
struct meters *meters_new(int64_t now_ms); /* NULL when memory is short */
void meters_free(struct meters *m);        /* takes NULL */
/* SUM: v more; HISTOGRAM: one value v, in the unit of the row; GAUGE, LEVEL: v it is.  What there
 * is no memory for is left out. */
void meter_add(struct meters *m, enum meter_id id, double v, const struct meter_label *labels,
               size_t n);
/* GAUGE, LEVEL: all series of the row, before those that are not zero are said again. */
void meter_zero(struct meters *m, enum meter_id id);
size_t meters_series(const struct meters *m);
/* ExportMetricsServiceRequest as of now_ms; only metrics that have a series. */
void meters_request(struct form *f, const struct speaker *who, const struct meters *m,
                    int64_t now_ms);

#endif
