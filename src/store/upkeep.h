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
 * takes several calls: the first one hides it, and the next call, also after a crash, continues
 * with it before any other.  Events that forks show stay, invisible under the run's own id, until
 * the last of these forks is removed. *deleted: runs whose last row is gone. */
MUST_CHECK int store_purge_runs(struct store *s, int64_t before_ms, int64_t now_ms, unsigned max,
                                int64_t *deleted, bool *more, struct wopr_error *err);

/* ---------------------------------------------------------------- checkpoint */
/* Copy committed pages to their final place.  It is due when there are enough of them to be worth
 * the syncs. _beside copies while others write: one thread at a time, which blocks for as long as
 * that takes.  Pages written meanwhile are left over (*left: how many); store_checkpoint copies
 * those between two batches.  It returns 0 at once when none is due, or when so many are left that
 * commits would wait for long: then call _beside again.  Both also return 0 when another host is
 * making one. */
bool store_checkpoint_due(const struct store *s);
MUST_CHECK int store_checkpoint_beside(struct store *s, int *left, struct wopr_error *err);
MUST_CHECK int store_checkpoint(struct store *s, struct wopr_error *err);

#endif
