/*
 * upkeep.h: what a running host does to its database beside commits: retention, checkpoints.
 * Layer: store.  All functions are writes.  General rules: store.h.
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
 * as well, continues with it before any other.  What forks show of a run stays, unseen under its
 * own id, until the last of them goes.  *deleted: runs whose last row went. */
MUST_CHECK int store_purge_runs(struct store *s, int64_t before_ms, int64_t now_ms, unsigned max,
                                int64_t *deleted, bool *more, struct wopr_error *err);

/* ---------------------------------------------------------------- checkpoint */
/* Move what was committed to its final place.  It is due when there is enough of it to be worth
 * the syncs.  _beside copies while others write: one thread at a time, which blocks for as long as
 * that takes.  What was written meanwhile is left; store_checkpoint copies that between two batches
 * (it returns 0 at once when none is due).  Both return 0 too when another host is at it. */
bool store_checkpoint_due(const struct store *s);
MUST_CHECK int store_checkpoint_beside(struct store *s, struct wopr_error *err);
MUST_CHECK int store_checkpoint(struct store *s, struct wopr_error *err);

#endif
