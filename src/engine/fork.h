/*
 * fork.h: runs made from the first events of another one.  Layer: engine, not for others.  A branch
 * is an ordinary run once it exists; a replay follows the log of its source (replay.h).
 */
#ifndef WOPR_ENGINE_FORK_H
#define WOPR_ENGINE_FORK_H

#include "engine/emit.h"

void fork_submit(struct engine *e, struct engine_cmd *cmd); /* ENGINE_FORK */
/* Turn of an exec in EXEC_FORKING; TURN_GO_ON: the run is live now. */
enum turn fork_turn(struct step *st, int flight_rc);
void fork_begin(struct step *st); /* at the beginning of a step */

#endif
