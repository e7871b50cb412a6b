/*
 * compare.h: is an event of a replay the one that its source has?  Layer: domain (pure).
 * The comparator walks both logs in step: the n-th event of the one that counts stands against the
 * n-th of the other (FORK-19, FORK-20), so its position follows from the replay's own log.
 */
#ifndef WOPR_DOMAIN_COMPARE_H
#define WOPR_DOMAIN_COMPARE_H

#include "domain/event.h"

enum divergence { DIV_NONE, DIV_OUTPUT, DIV_TYPE, DIV_MISSING, DIV_EXTRA, DIV_NR };
const char *divergence_name(enum divergence d); /* "output", "type-mismatch" ...; "" for NONE */
/* Events that the comparator looks away from, on both sides: FORK-19, and what else depends on
 * operators and wall time only: workflow.stalled, the drain of a pause, kinds of a newer host. */
bool compare_ignores(const struct event *e);
/* NONE, OUTPUT (same type, another node or payload) or TYPE.  Of the payloads do not count: times
 * and durations, generated ids, the order of members, and that the replay's run id stands where
 * the source has its own.  Only type, node_id, kind and payload are read.  0 or NO_MEMORY. */
int compare_events(const struct event *original, struct str source_run_id,
                   const struct event *replayed, struct str replay_run_id, struct arena *a,
                   enum divergence *out);

#endif
