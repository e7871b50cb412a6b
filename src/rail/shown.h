/*
 * shown.h: the run that shows a session (WR-256, WR-257), folded.  Layer: rail.
 *
 * No definition lists the nodes of such a run: they come into being with the session.  So the
 * definition that its log is folded with is made of the log itself: a node for each that it names,
 * and no edges, since the session alone decides what comes next.  All else of a run is as it is for
 * others: the same event kinds, the same rules, the same projections.
 *
 * A fold that is kept from call to call gets spare nodes, which take the names of those that come
 * later: a definition of one node more would have to be folded from the first event on.
 */
#ifndef WOPR_RAIL_SHOWN_H
#define WOPR_RAIL_SHOWN_H

#include "store/events.h"
#include "store/runs.h"
#include "workrail/ids.h"

#define RAIL_STEP_TYPE       "x-workrail.step"
#define RAIL_CHECKPOINT_TYPE "x-workrail.checkpoint"

struct rail_shown {
    struct workflow *wf;
    struct run_state *state;
    struct run_origin origin; /* of an existing run; of the arena of rail_shown_load */
    size_t named;             /* nodes that have a name; the others are spare */
};
/* The definition whose nodes are these, a run's own: id is that of its workflow. */
MUST_CHECK int rail_shown_workflow(struct str workflow_id, const struct str *nodes, size_t nr,
                                   struct workflow **out, struct wopr_error *err);
/* Fold the first `until` events of a run (INT64_MAX: all), with room for these further nodes; meta
 * NULL: that of the run itself, else of a run that is about to be made of them (a branch).
 * NOT_FOUND, CORRUPT, TOO_BIG, NO_MEMORY. */
struct rail_shown_at {
    int64_t run_no, until;
    const struct run_meta *meta;
    const struct str *more;
    size_t more_nr;
    bool spare; /* with as many spare nodes as there are others */
};
MUST_CHECK int rail_shown_load(struct store *s, const struct rail_shown_at *at, struct arena *a,
                               struct rail_shown *out, struct wopr_error *err);
/* Fold what was appended to the run since.  TOO_BIG: there is no spare node left for one that came
 * with it; after a failure the fold is of no use. */
MUST_CHECK int rail_shown_follow(struct store *s, int64_t run_no, struct rail_shown *x,
                                 struct wopr_error *err);
/* The run is about to have this node, too.  TOO_BIG: no spare node is left; NO_MEMORY. */
MUST_CHECK int rail_shown_name(struct rail_shown *x, struct str node_id, struct wopr_error *err);
size_t rail_shown_bytes(const struct rail_shown *x); /* about, in memory */
void rail_shown_fini(struct rail_shown *s);
/* The definition that the whole log of a run that is led folds with. */
MUST_CHECK int rail_shown_definition(struct store *s, const struct run_origin *o, struct arena *a,
                                     struct workflow **out, struct wopr_error *err);

#endif
