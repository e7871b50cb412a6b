/*
 * compare.h: is an event of a replay the same as its source's? Layer: domain (pure).  Both logs are
 * walked in step: the n-th event that counts is compared with the n-th of the other (FORK-19,
 * FORK-20), so the position in the source follows from the replay's own log.
 */
#ifndef WOPR_DOMAIN_COMPARE_H
#define WOPR_DOMAIN_COMPARE_H

#include "base/map.h"
#include "domain/event.h"

enum divergence { DIV_NONE, DIV_OUTPUT, DIV_TYPE, DIV_MISSING, DIV_EXTRA, DIV_NR };
const char *divergence_name(enum divergence d); /* "output", "type-mismatch" ...; "" for NONE */
/* Events to skip in both logs: those of FORK-19, others that depend on operators and wall time only
 * (EV_F_NOT_REPLAYED, the drain of a pause), and kinds of a newer host. */
bool compare_ignores(const struct event *e);
/* NONE, OUTPUT (same type, another node or payload) or TYPE. Payloads are equal whatever their
 * times and durations, generated ids and order of members, and whichever run of the family they
 * name: the replay, its source and all that these were forked from (FORK-13), since an inherited
 * event keeps the id of the run that emitted it. family: ids of RUN_ID_LEN; NULL = none.  Only
 * type, node_id, kind and payload are read. 0 or NO_MEMORY. */
int compare_events(const struct event *original, const struct event *replayed,
                   const struct map *family, struct arena *a, enum divergence *out);

#endif
