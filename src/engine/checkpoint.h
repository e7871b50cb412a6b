/*
 * checkpoint.h: images of states beside the log, so that a long run need not be folded from its
 * beginning.  Layer: engine, not for others.
 * A checkpoint goes out with the plan that leads to its state, so it is fenced and as true as the
 * log.  It never decides anything: without one the result is the same.
 */
#ifndef WOPR_ENGINE_CHECKPOINT_H
#define WOPR_ENGINE_CHECKPOINT_H

#include "engine/emit.h"

/* Before the rows of st->plan are made: when a checkpoint is due, what its last event left to be
 * settled is settled, as far as the turn goes, because no image is made of a busy state. */
void checkpoint_settle(struct step *st);
/* Adds the state that st->plan leads to to the plan when it is due. */
void checkpoint_add(struct step *st);
/* What the checkpoints of a run know of its first events, into *out; see store_run_state. */
MUST_CHECK int checkpoint_find(struct engine *e, const struct checkpoint_of *of,
                               struct arena *scratch, struct checkpoint_state *out,
                               struct wopr_error *err);
/* The exec's state before its log is folded on: if trusted one that was kept in memory or that of
 * the newest checkpoint, else a fresh one.  As run_state_new. */
MUST_CHECK int checkpoint_load(struct step *st, const struct run_origin *o, bool trusted,
                               struct wopr_error *err);

#endif
