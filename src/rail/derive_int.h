/*
 * derive_int.h: inside of derivation: what its files share.  Layer: rail, not for others.
 */
#ifndef WOPR_RAIL_DERIVE_INT_H
#define WOPR_RAIL_DERIVE_INT_H

#include "rail/derive.h"

struct derive_parts { /* the events of an append that the derivation asks for; NULL: none */
    const struct wr_event *started, *advance, *node; /* node: the one that is created */
};
struct deriving {
    const struct rail_derive *in;
    struct plan *plan;
    struct derive_parts parts;
    struct rail_shown run; /* the run, as far as its log goes */
    struct wr_state state; /* of the new node's snapshot */
    struct str asked;      /* the node that the append answers: no checkpoint; or empty */
    struct wr_fault *f;
};

/* --- derive_says.c: events that tell what happened --- */
/* Gaps, divergences, contexts and all else that the append holds, in its order. */
void derive_says(struct deriving *d);
/* The blockers of the new node, when it is blocked. */
void derive_blocked(struct deriving *d);

/* --- derive_node.c: events of nodes --- */
/* The new node begins and asks for its step, or the run is over (WR-258, WR-259). */
void derive_pending(struct deriving *d);
/* d->asked is answered: resolved, resumed, its artifacts, completed. */
void derive_answer(struct deriving *d);
/* The new node is a checkpoint: it begins and ends. */
void derive_checkpoint(struct deriving *d);
/* Append an event of a node, or of none.  Returns its sequence. */
int64_t derive_event(struct deriving *d, enum ev_kind kind, struct str node_id, struct str payload);

#endif
