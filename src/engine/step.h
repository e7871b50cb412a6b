/*
 * step.h: one turn of a live run.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_STEP_H
#define WOPR_ENGINE_STEP_H

#include "engine/emit.h"

enum turn step_run(struct step *st);
/* Plans the first step of a run into p, the plan that creates it; the state is fresh.  false: p is
 * lost, and the state with it. */
bool step_first(struct step *st, struct plan *p);
void step_count(struct engine *e, const struct plan *p); /* committed: into the statistics */
enum turn step_landed(struct step *st, int rc);

#endif
