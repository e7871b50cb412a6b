/*
 * metrics.h: counters of the server and their Prometheus text.  Layer: http.  From any thread.
 */
#ifndef WOPR_HTTP_METRICS_H
#define WOPR_HTTP_METRICS_H

#include "base/metric.h"
#include "http/http.h"

#include <stdatomic.h>

/* Why a request was answered 401, 403, 413, 429 or 503; the first four have no better reason than
 * their status (metrics.c). */
enum metric_refusal {
    REFUSED_NONE,
    REFUSED_BODY,      /* 413 */
    REFUSED_OPERATION, /* 403 by the operation itself */
    REFUSED_RATE,      /* 429 by the operation itself */
    REFUSED_ENGINE,    /* 503: queue full, as many runs as fit, disk full, sync failed */
    REFUSED_CAPACITY,
    REFUSED_CONNECTIONS,
    REFUSED_STREAMS,
    REFUSED_DRAINING,
    REFUSED_KEY_RATE,
    REFUSED_ADDRESS_RATE,
    REFUSED_AUTH,
    REFUSED_SCOPE,
    REFUSED_POLLS,
    REFUSED_KEY_POLLS,
    REFUSED_MEMORY,
    REFUSED_READS,
    REFUSED_GUESSES,
    REFUSED_LARGE_BODIES,
    REFUSED_TENANT_RATE,
    REFUSED_TENANT_STREAMS,
    REFUSED_NR
};
struct metrics {
    size_t ops_nr; /* one more row is for requests without an operation */
    const char *const *names;
    atomic_uint_fast64_t (*by_class)[6];
    struct metric_hist *took_ns;
    atomic_uint_fast64_t refused[REFUSED_NR], replays, streams_opened, stream_bytes, stream_events;
    atomic_uint_fast64_t jobs; /* of offload.c */
};
/* names: of the operations, by op_no; they live as long as m. */
MUST_CHECK int metrics_init(struct metrics *m, const char *const *names, size_t n);
void metrics_fini(struct metrics *m);
void metrics_done(struct metrics *m, const struct http_op *op, size_t op_no, int status,
                  uint64_t ns); /* op NULL: none */
void metrics_refused(struct metrics *m, enum metric_refusal why, int status);
void metrics_render(struct http_server *s, struct buf *out);

#endif
