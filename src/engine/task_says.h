/*
 * task_says.h: what workers say about tasks they have (WRK-16 to WRK-20).  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_TASK_SAYS_H
#define WOPR_ENGINE_TASK_SAYS_H

#include "engine/emit.h"

/* ENGINE_TASK: answers cmd, or puts its effect into the plan. */
void task_apply(struct step *st, struct engine_cmd *cmd);
/* For a run that has ended: answers cmd from the row. */
void task_settled(struct engine *e, struct engine_cmd *cmd, struct arena *a);
/* An outcome that came while the run did not move, or the loss of a task. */
void task_outcome_apply(struct step *st, int node);

#endif
