/*
 * task_serve.h: claims, heartbeats, claims that wait, leases that run out.  Layer: engine, not for
 * others; what others use is in workers.h.
 */
#ifndef WOPR_ENGINE_TASK_SERVE_H
#define WOPR_ENGINE_TASK_SERVE_H

#include "engine/emit.h"
#include "engine/workers.h"

MUST_CHECK int task_hub_new(struct engine *e);
void task_hub_free(struct engine *e);
/* A plan is committed: a claim that waits is woken for each task that it made ready. */
void tasks_announce(struct step *st, const struct plan *p);
bool tasks_wanted(struct engine *e); /* a claim waits */
/* Another host changed the run, and may have made tasks of it ready. */
void tasks_foreign(struct engine *e, int64_t run_no, struct arena *a);
/* The timer thread: leases that ran out, claims that wait.  Returns when to look again
 * (monotonic milliseconds). */
uint64_t tasks_tick(struct engine *e, uint64_t now_ms);
void task_late(struct engine *e); /* an answer of a lease that is over came */

#endif
