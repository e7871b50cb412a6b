/*
 * turn.h: one visit of a worker to an exec.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_TURN_H
#define WOPR_ENGINE_TURN_H

#include "engine/exec.h"

/* Take in the committer's result, then do what the phase asks for. scratch is reset. false: the
 * exec was dropped and freed. */
bool exec_turn(struct run_exec *re, struct arena *scratch);

#endif
