/*
 * effects.h: what executors return as data becomes events.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_EFFECTS_H
#define WOPR_ENGINE_EFFECTS_H

#include "engine/outcome.h"

/* CHAN-6; allowed: "readers" or "writers". */
struct failure channel_denied(struct step *st, int node, struct str channel, const char *allowed);
/* 0, or f is filled and WOPR_E_VALIDATION: the node fails with it. */
MUST_CHECK int effect_apply(struct step *st, int node, const struct node_effect *x,
                            struct failure *f);
MUST_CHECK int outputs_mask(struct step *st, int node, struct str outputs, struct str *shown);
void outputs_swap(struct run_exec *re); /* clear values in, or out again */

#endif
