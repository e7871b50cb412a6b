/*
 * attempt.h: one attempt of a node.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_ATTEMPT_H
#define WOPR_ENGINE_ATTEMPT_H

#include "engine/emit.h"

/* node.started, then the executor; what it returned is in the plan afterwards. */
void attempt_start(struct step *st, int node);
/* Enters the executor; waited: after a wait. */
void attempt_run(struct step *st, int node, bool waited);
/* What an executor, or a worker in its place, said: effects, then the outcome. */
void attempt_apply(struct step *st, int node, const struct node_result *r);
void attempt_timed_out(struct step *st, int node); /* the node's timeoutMs has passed */

#endif
