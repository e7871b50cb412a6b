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

/* What the node's current activation has recorded of something that is no request, and waits for
 * nothing; ordinal < 0.  Empty: nothing. */
struct str invoke_recorded(struct step *st, int node, int64_t ordinal);
/* Record it with this plan: outcome is a raw object with "status":200. */
void invoke_record(struct step *st, int node, int64_t ordinal, const char *provider_key,
                   struct str outcome);

extern const struct wait_kind WAIT_REQUEST;

#endif
