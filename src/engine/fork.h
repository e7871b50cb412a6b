/*
 * fork.h: runs made out of the first events of another one.  Layer: engine, not for others.
 * A branch is an ordinary run once it exists; a replay is led along the log of its source
 * (replay.h).
 */
#ifndef WOPR_ENGINE_FORK_H
#define WOPR_ENGINE_FORK_H

#include "engine/emit.h"

void fork_submit(struct engine *e, struct engine_cmd *cmd); /* ENGINE_FORK */
/* Turn of an exec in EXEC_FORKING; TURN_GO_ON: it is a live run now. */
enum turn fork_turn(struct step *st, int flight_rc);
void fork_begin(struct step *st); /* first thing of a step */

#endif
