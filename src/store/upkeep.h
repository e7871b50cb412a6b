/*
 * upkeep.h: what a running host does to its database beside commits: retention, forks that were
 * never finished, checkpoints.  Layer: store.  All functions are writes.  General rules: store.h.
 */
#ifndef WOPR_STORE_UPKEEP_H
#define WOPR_STORE_UPKEEP_H

#include "store/store.h"

/* ---------------------------------------------------------------- retention */
/* Each call is one transaction of at most STORE_PURGE_ROWS rows and about STORE_PURGE_MS of work,
 * so that commits wait no longer than that. */
#define STORE_PURGE_ROWS 4096
#define STORE_PURGE_MS   20
/* Delete stored answers that expired before now_ms (wall clock), at most max.  *deleted: how many;
 * *more (may be NULL): call again at once. */
MUST_CHECK int store_purge_idempotency(struct store *s, int64_t now_ms, unsigned max,
                                       int64_t *deleted, bool *more, struct wopr_error *err);
/* Remove runs that ended before before_ms, at most max; a tombstone is kept (STORE-44).  A long run
 * goes in several calls: it is hidden from the first of them on, and the next call, after a crash
 * as well, continues with it before any other.  *deleted: runs whose last row went. */
MUST_CHECK int store_purge_runs(struct store *s, int64_t before_ms, int64_t now_ms, unsigned max,
                                int64_t *deleted, bool *more, struct wopr_error *err);

/* ---------------------------------------------------------------- half-made forks */
/* *run_no: the first hidden fork whose number is greater than after, 0 = none. */
MUST_CHECK int store_fork_hidden(struct store *s, int64_t after, int64_t *run_no,
                                 struct wopr_error *err);
/* Remove up to max (at least 1) events from the end of a hidden fork that is no longer being made.
 * *gone: the run went with the last of them.  FENCED when its epoch is another, or it shows. */
MUST_CHECK int store_fork_remove(struct store *s, int64_t run_no, int64_t epoch, unsigned max,
                                 bool *gone, struct wopr_error *err);

/* ---------------------------------------------------------------- checkpoint */
/* Move what was committed to its final place.  It is due when there is enough of it to be worth
 * the syncs.  _beside copies while others write: one thread at a time, which blocks for as long as
 * that takes.  What was written meanwhile is left (*left: pages of it); store_checkpoint copies
 * that between two batches.  It returns 0 at once when none is due, or when so much is left that
 * commits would wait for long: then _beside is called again.  Both return 0 too when another host
 * is at it. */
bool store_checkpoint_due(const struct store *s);
MUST_CHECK int store_checkpoint_beside(struct store *s, int *left, struct wopr_error *err);
MUST_CHECK int store_checkpoint(struct store *s, struct wopr_error *err);

#endif
