/*
 * evict.h: drops states of waiting runs when all states take too much memory.  Layer: engine, not
 * for others.
 */
#ifndef WOPR_ENGINE_EVICT_H
#define WOPR_ENGINE_EVICT_H

#include "engine/exec.h"

/* Of its state, as counted against state_bytes_max; 0 without one. */
size_t exec_bytes(const struct run_exec *re);
/* After a turn: record the state's bytes and whether the run only waits. */
void exec_rests_locked(struct run_exec *re, size_t bytes);
/* Both are called by the runner first thing in a turn; true: the turn is over. exec_leaves: the
 * exec was asked to drop its state, and did. exec_dozes_on: it has no state, and nothing needs
 * one. */
bool exec_leaves(struct run_exec *re);
bool exec_dozes_on(struct run_exec *re);

#endif
