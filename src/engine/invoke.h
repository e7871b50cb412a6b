/*
 * invoke.h: requests that leave the host for a node (STORE-42).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_INVOKE_H
#define WOPR_ENGINE_INVOKE_H

#include "engine/waits.h"

/* Adds the rows of a run to what is known: its own, or those that answer a replay. */
MUST_CHECK int invoke_load(struct step *st, int64_t run_no, struct wopr_error *err);
/* What is recorded of the present activation of a node, for its executor. */
void invoke_answers(struct step *st, int node, struct node_call *call);

extern const struct wait_kind WAIT_REQUEST;

#endif
