/*
 * interpret.h: which step is next (section 4.2).  Layer: workrail.  Pure.
 *
 * A decision sees the compiled workflow, the state, the context and the loop decisions that were
 * submitted with the step just completed; nothing else (WR-105).
 */
#ifndef WOPR_WORKRAIL_INTERPRET_H
#define WOPR_WORKRAIL_INTERPRET_H

#include "workrail/workflow.h"

/* Steps and loops done in one run: each snapshot has them all. */
enum { WR_COMPLETED_MAX = 10000 };
struct wr_control {     /* of one wr.loop_control artifact, in the order they were given */
    struct str loop_id; /* p NULL: the innermost loop that is active */
    bool goes_on;
};
struct wr_controls {
    struct wr_control *v;
    size_t nr;
};
struct wr_limit { /* a loop ended because its passes are used up */
    struct str loop_id;
    int64_t iteration, max;
    bool asked; /* an artifact asked for one more (WR-102) */
};
struct wr_next {
    struct wr_state state; /* running with a pending step, or complete */
    struct {
        struct wr_trace_entry *v;
        size_t nr, cap;
    } trace; /* not fitted to its budget */
    struct {
        struct wr_limit *v;
        size_t nr, cap;
    } limits;
};
/* The state after from's pending step; from INIT: the first one.  All of it is of a, or borrows
 * from.  LOOP_INVALID_STATE; PRECONDITION_FAILED: WR_COMPLETED_MAX; INTERNAL_ERROR: more decisions
 * than WR-96 allows, or a state of another workflow. */
MUST_CHECK int wr_interpret(const struct wr_workflow *w, const struct wr_state *from,
                            struct str context, const struct wr_controls *controls, struct arena *a,
                            struct wr_next *out, struct wr_fault *f);
/* WR-45, in a. */
MUST_CHECK int wr_trace_fit(const struct wr_trace_entry *v, size_t nr, struct arena *a,
                            struct wr_trace_entry **out, size_t *out_nr);

#endif
