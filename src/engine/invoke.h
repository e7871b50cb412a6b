/*
 * invoke.h: requests that leave the host for a node (STORE-42).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_INVOKE_H
#define WOPR_ENGINE_INVOKE_H

#include "engine/waits.h"

/* Add the stored rows of a run: its own, or those that answer a replay. */
MUST_CHECK int invoke_load(struct step *st, int64_t run_no, struct wopr_error *err);
/* Give the executor the recorded answers of the node's current activation. */
void invoke_answers(struct step *st, int node, struct node_call *call);

extern const struct wait_kind WAIT_REQUEST;

#endif
