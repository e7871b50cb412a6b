/*
 * metrics.h: the counters of all parts as Prometheus text.  Layer: host.
 */
#ifndef WOPR_HOST_METRICS_H
#define WOPR_HOST_METRICS_H

#include "egress/egress.h"
#include "engine/engine.h"
#include "host/issuers_watch.h"
#include "wire/v1/v1.h"

struct metrics_sources {
    struct store *store;
    struct journal *journal;
    struct engine *engine;
    struct egress *egress;         /* NULL = off */
    struct sandbox *sandbox;       /* NULL = off */
    struct issuers_watch *issuers; /* NULL = no issuers */
    struct hooks *hooks;           /* NULL = off */
    struct audit *audit;           /* NULL = off */
    struct otel *otel;             /* NULL = off */
    const struct v1 *v1;
    int64_t started_ms; /* wall clock */
};
/* Process: files, memory, times. */
void metrics_process_render(int64_t started_ms, struct buf *out);
void host_metrics_render(void *sources, struct buf *out);
bool host_metrics_ready(void *sources); /* the store answers */

#endif
