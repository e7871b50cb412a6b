/*
 * fork_clear.h: clear values across a fork (OBS-71, FORK-21).  Layer: engine, not for others.
 * A fork refers to the sealed values of its prefix, as it does to the events, and holds them
 * (store, sealed_holds): they stay until the last fork that began while their run was there has
 * ended.  When the source has ended it gives nothing clear on any more: a replay goes on with the
 * masks and says so; a branch is refused, because it would compute with them as with values.
 */
#ifndef WOPR_ENGINE_FORK_CLEAR_H
#define WOPR_ENGINE_FORK_CLEAR_H

#include "engine/clear.h"

struct fork_inputs {
    const struct run_fork *source;
    struct str overlay; /* raw object of a branch, or empty */
};
/* Inputs of the fork: m->inputs, inputs_clear and sealed, which hold those of the source, become
 * its own; its initial variables.  In a's memory.  VALIDATION; CONFLICT: a sensitive input is
 * gone. */
MUST_CHECK int fork_inputs(struct step *st, const struct fork_inputs *from, struct arena *a,
                           struct run_meta *m, struct var_inits *vars, struct wopr_error *err);

/* While the state of a fork is brought to its cut: the source's clear values are read for each
 * inherited event (*e gets them). */
MUST_CHECK int fork_clear_open(struct run_exec *re, const struct run_fork *link,
                               struct wopr_error *err);
MUST_CHECK int fork_inherit(struct run_exec *re, struct event *e, struct wopr_error *err);
void fork_inherits_image(struct run_exec *re);   /* the state was that of a checkpoint */
bool fork_clear_used(const struct run_exec *re); /* the fork has to hold them */
void fork_clear_free(struct run_exec *re);

/* A value of the prefix is known masked only: 0 for a replay, else CONFLICT with details. */
MUST_CHECK int fork_lost(const struct run_fork *link, struct wopr_error *err);

#endif
