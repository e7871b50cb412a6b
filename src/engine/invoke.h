/*
 * invoke.h: requests that leave the host for a node (STORE-42).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_INVOKE_H
#define WOPR_ENGINE_INVOKE_H

#include "engine/emit.h"

/* Adds the rows of a run to what is known: its own, or those that answer a replay. */
MUST_CHECK int invoke_load(struct step *st, int64_t run_no, struct wopr_error *err);
void invoke_forget(struct run_exec *re); /* the state goes; what came back stays */
void invoke_free(struct run_exec *re);
/* What is recorded of the present activation of a node, for its executor. */
void invoke_answers(struct step *st, int node, struct node_call *call);
/* The executor asked for a request: claim it in the plan. */
void invoke_claim(struct step *st, int node, const struct node_result *r);
/* Answers that came back: into the plan, and their nodes are entered again. */
void invoke_arrived(struct step *st);
void invoke_landed(struct step *st); /* committed: outcomes are safe, claims may go out */
bool invoke_waits(const struct run_exec *re, int node); /* -1 = any node: a request is out */

#endif
