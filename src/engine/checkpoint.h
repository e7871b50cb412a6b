/*
 * checkpoint.h: images of states beside the log, which spare long runs a fold from the beginning.
 * Layer: engine, not for others.  A checkpoint is part of the plan that leads to its state, so it
 * is fenced and as true as the log.  It changes no result: without one the log is folded.
 */
#ifndef WOPR_ENGINE_CHECKPOINT_H
#define WOPR_ENGINE_CHECKPOINT_H

#include "engine/emit.h"

/* Call it before the rows of st->plan are made.  When a checkpoint is due, settle what the last
 * event left to be settled, as far as the turn allows: a busy state has no image. */
void checkpoint_settle(struct step *st);
/* Add the state after st->plan to the plan, if a checkpoint is due. */
void checkpoint_add(struct step *st);
/* The state from the newest usable checkpoint; see store_run_state. */
MUST_CHECK int checkpoint_find(struct engine *e, const struct checkpoint_of *of,
                               struct arena *scratch, struct checkpoint_state *out,
                               struct wopr_error *err);
/* The state with which the exec's fold begins: if trusted a kept one or that of the newest
 * checkpoint, else a fresh one.  As run_state_new. */
MUST_CHECK int checkpoint_load(struct step *st, const struct run_origin *o, bool trusted,
                               struct wopr_error *err);

#endif
