/*
 * task_replay.h: what workers did, done again from the log of a replay's source (WRK-22).
 * Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_TASK_REPLAY_H
#define WOPR_ENGINE_TASK_REPLAY_H

#include "engine/emit.h"

/* g: the source's next event, of a running node that a worker served.  true: done again. */
bool task_replay(struct step *st, const struct event *g, int node);

#endif
