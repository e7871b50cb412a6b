/*
 * evict.h: states of waiting runs leave memory when they take too much.  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_EVICT_H
#define WOPR_ENGINE_EVICT_H

#include "engine/exec.h"

size_t exec_bytes(const struct run_exec *re);
/* After a turn: what the state takes now, and whether the run only waits. */
void exec_rests_locked(struct run_exec *re, size_t bytes);
/* Both are called by the runner first thing in a turn; true: the turn is over.
 * exec_leaves: the exec was asked to give up its state, and did.
 * exec_dozes_on: it has no state, and nothing happened that needs one. */
bool exec_leaves(struct run_exec *re);
bool exec_dozes_on(struct run_exec *re);

#endif
