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
/* Would a chunk or a log line be taken?  Nothing is appended. */
bool effect_admits(struct step *st, int node, const struct node_effect *x);
/* Mask the members of an object that are sensitive outputs of the node (NODE-20). *shown is the
 * object itself if there are none.  Not 0: the plan has failed. */
bool port_sensitive(const struct wf_node *def, struct str port);
/* {"<key>":<value>} if the value is shown differently, else empty; the plan fails without
 * memory. */
struct str clear_member(struct step *st, const char *key, struct str value, struct str shown);
MUST_CHECK int outputs_mask(struct step *st, int node, struct str outputs, struct str *shown);

#endif
