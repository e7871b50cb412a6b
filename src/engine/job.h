/*
 * job.h: background jobs: work of the engine on the committer that belongs to no turn.  Layer:
 * engine, not for others.
 */
#ifndef WOPR_ENGINE_JOB_H
#define WOPR_ENGINE_JOB_H

#include "engine/core.h"

/* Runs run() on the committer with a copy of the n bytes at args; it may block there for one write.
 * engine_halt waits for it.  false: no memory, or the journal is closed; run() is not called. */
bool job_post(struct engine *e, void (*run)(struct engine *e, struct store *s, void *args),
              const void *args, size_t n);

/* The number of things in flight, which engine_halt waits for.  The engine may be freed when
 * inflight_end returns. */
void inflight_begin_locked(struct engine *e);
void inflight_end(struct engine *e, size_t n);

#endif
