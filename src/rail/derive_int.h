/*
 * derive_int.h: inside of derivation: what its files share.  Layer: rail, not for others.
 */
#ifndef WOPR_RAIL_DERIVE_INT_H
#define WOPR_RAIL_DERIVE_INT_H

#include "rail/derive.h"

struct derive_parts { /* the events of an append that the derivation asks for; NULL: none */
    const struct wr_event *started, *advance, *node; /* node: the one that is created */
};
struct derive_nodes { /* which run shows which node: of the arena of a plan */
    struct plan_session_node *v;
    size_t n, cap;
    struct arena *a;
};
struct deriving {
    const struct rail_derive *in;
    struct plan *plan;
    struct derive_parts parts;
    struct rail_shown run; /* the run, as far as its log goes */
    int64_t keep_no;       /* 0, or the number of that run: it may be kept in in->runs */
    struct wr_state state; /* of the new node's snapshot */
    struct str asked;      /* the node that the append answers: no checkpoint; or empty */
    struct derive_nodes *nodes;
    struct wr_fault *f;
};

/* --- derive.c: for those who keep the runs themselves (import) --- */
/* in, plan and f are set: finds the parts, reads the new node's state. */
MUST_CHECK int derive_begin(struct deriving *d);
/* The node, or the step that it is a checkpoint of; NULL: there is no such node. */
const struct wr_node *derive_asked(const struct wr_session *s, struct str node_id);
/* The run of d->plan is a new one with this id.  NULL: no memory. */
struct run_row_new *derive_row_new(struct deriving *d, struct str run_id,
                                   const struct wr_event *started);
struct str derive_branch_id(const struct deriving *d);
/* d->run is open: the events of a start, of an answer, of a checkpoint. */
void derive_start(struct deriving *d);
void derive_advance(struct deriving *d);
void derive_shown(struct deriving *d, struct str node_id, struct str run_id, int64_t seq);

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
