/*
 * stuck.h: steps that cannot be taken, however often they are tried.  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_STUCK_H
#define WOPR_ENGINE_STUCK_H

#include "engine/outcome.h"

/* The plan of the step could not be built, or the store refused it, for a reason that stays: rc, of
 * class PARK or FINAL. cmd: whose effect was in it, or NULL. */
enum turn stuck_again(struct step *st, struct engine_cmd *cmd, const struct plan *p, int rc);
/* A command is tried by itself in a run that is stuck, to see which of the two cannot go on. */
bool stuck_waits(const struct step *st);
/* After the commands of a step: ends what could not go on, the node first, then the run.  true: the
 * run ends with this step. */
bool stuck_end(struct step *st);
/* Tried in every way: the run is parked, for this reason; else NULL. */
const char *stuck_for_good(const struct run_exec *re);
void stuck_over(struct run_exec *re); /* a step was committed */

#endif
