/*
 * otel.h: spans and numbers of runs, exported over OTLP/HTTP.  Layer: otel.
 *
 * A thread folds what the journal has committed into spans (OBS-4 to OBS-7) and sends them in
 * batches.  Nothing waits for it: the committer only queues, and what finds a queue full is dropped
 * and counted.  Its requests leave through an egress of its own, because the receiver is the
 * operator's choice and may be anywhere, and because the places of tenants are none of its.
 *
 * Threads: new, start, stop, free: the host's.  stats: any.
 */
#ifndef WOPR_OTEL_OTEL_H
#define WOPR_OTEL_OTEL_H

#include "domain/trace.h"
#include "journal/journal.h"

struct otel_config {             /* texts are copied; "" is the same as absent */
    const char *endpoint;        /* base: /v1/traces is appended */
    const char *traces_endpoint; /* whole URL, goes before endpoint */
    const char *metrics_endpoint;
    const char *headers;     /* "name=value,name=value", values percent-encoded */
    const char *sampler_arg; /* a number from 0 to 1, or empty */
    bool disabled;
    const char *service_name;
    const char *resource_attributes; /* as headers */
    const char *sampler;             /* a word of OTEL_TRACES_SAMPLER */
    const char *version;             /* of this program */
    const char *instance;            /* of this process: service.instance.id */
    bool json;                       /* else protobuf */
    const char *records;             /* in the log (OBS-16): "off", "runs", "all" */
    bool traces, metrics;            /* false: none of them, whatever the endpoints */
    int64_t metrics_interval_ms;     /* between two messages of numbers */
    int64_t timeout_ms;              /* of one request */
    int64_t delay_ms;                /* a span waits so long for others at most */
    int64_t queue_max, batch_max;    /* spans */
};
struct otel;
struct otel_stats {
    uint64_t spans, sent, dropped; /* made; taken by the receiver; lost, for whatever reason */
    uint64_t missed;               /* commits that found the queue full */
    uint64_t requests, failed;     /* to the receiver; not answered with 2xx */
    uint64_t queued, runs;         /* spans that wait; runs in memory */
    uint64_t series;               /* of all metrics */
};
/* What it means for runs: all zero without an endpoint.  CONFIG names a setting that is wrong. */
MUST_CHECK int otel_policy(const struct otel_config *cfg, struct trace_policy *out,
                           struct wopr_error *err);
/* Is there a receiver of spans, or one of numbers, or are there records in the log? */
bool otel_wanted(const struct otel_config *cfg);
/* CONFIG names the setting that is wrong; NO_MEMORY. */
MUST_CHECK int otel_new(struct journal *j, const struct otel_config *cfg, struct otel **out,
                        struct wopr_error *err);
MUST_CHECK int otel_start(struct otel *o, struct wopr_error *err);
/* After the journal has stopped: what is there is sent, for as long as one request may take. */
void otel_stop(struct otel *o);
void otel_free(struct otel *o); /* takes NULL */
void otel_stats(struct otel *o, struct otel_stats *out);

#endif
