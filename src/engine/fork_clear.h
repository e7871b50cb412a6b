/*
 * fork_clear.h: clear values across a fork (OBS-71, FORK-21).  Layer: engine, not for others.
 * A fork gets what its prefix needs sealed for itself, so it does not depend on the life of its
 * source.  When the source has ended there is nothing clear left of it: a replay goes on with the
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
 * inherited event (*e gets them), and sealed for the fork. */
MUST_CHECK int fork_clear_open(struct run_exec *re, const struct run_fork *link,
                               struct wopr_error *err);
MUST_CHECK int fork_inherit(struct run_exec *re, struct event *e, struct wopr_error *err);
void fork_seals_take(struct run_exec *re, struct plan *p); /* into the plan that makes the fork */
void fork_clear_free(struct run_exec *re);

/* A value of the prefix is known masked only: 0 for a replay, else CONFLICT with details. */
MUST_CHECK int fork_lost(const struct run_fork *link, struct wopr_error *err);

#endif
