/*
 * log_kit.h: what tests of engine do past the engine, on the committer: plans of their own, logs
 * that break, runs that are parked or purged; and the children that the store knows of.
 */
#ifndef WOPR_TESTS_LOG_KIT_H
#define WOPR_TESTS_LOG_KIT_H

#include "engine_world.h"

/* Runs on the committer with its store, and returns when it is done. */
void log_side(void (*job)(void *ctx, struct store *s), void *ctx);
void log_rest(void); /* a round trip: what was queued before has been served */
void log_append(struct plan *p);
/* No engine is to have the run in memory: an event that no state allows ends its log. */
void log_break(struct str run);
void log_park(struct str run);
void log_purge_ended(void);         /* retention, whatever the age */
void log_purge_run(struct str run); /* of this ended run alone */

struct child_row_list children_of(struct str run);
struct str child_of(struct str run); /* the first one; waits until it is there */

#endif
