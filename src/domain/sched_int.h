/*
 * sched_int.h: what expressions see of a run (WF-9, WF-10), and what the files of the scheduler
 * share.  Layer: domain (pure), private to this folder.
 */
#ifndef WOPR_DOMAIN_SCHED_INT_H
#define WOPR_DOMAIN_SCHED_INT_H

#include "domain/state.h"

enum run_root {
    ROOT_STATUS,
    ROOT_OUTPUT,
    ROOT_VALUE,
    ROOT_VARIABLES,
    ROOT_CHANNELS,
    ROOT_INPUTS,
    ROOT_CONFIG,
    ROOT_NR
};
struct run_scope { /* one evaluation; roots are built once, in the arena of the first look-up */
    struct run_state *run;
    int node;              /* whose config; for an edge also whose status and outputs */
    struct str status;     /* word, empty for ports */
    struct str outputs;    /* raw object, empty for ports */
    struct str output_key; /* sourceOutput of the edge, empty for ports */
    int64_t now_ms;        /* clock of channels (CHAN-17) */
    /* Conditions are evaluated inside the fold, which must decide the same from the log alone, and
     * the log holds sensitive variables and channels masked (NODE-20): conditions see neither. */
    bool hide_sensitive;
    bool no_memory;
    bool have[ROOT_NR];
    struct str root[ROOT_NR];
};
/* Borrows sc and the budget. */
struct expr_scope run_scope_of(struct run_scope *sc, uint64_t *steps);
/* Raw value of a member, STR_NONE when absent or when text is no object. */
struct str member_raw(struct str text, struct str key, struct arena *a);

/* --- sched_queue.c --- */
void sched_enqueue(struct run_state *s, int node, enum sched_phase phase); /* READY or SKIP */
void sched_dequeue(struct run_state *s, int node); /* READY, SKIP and HELD become IDLE */

/* --- sched_judge.c --- */
enum sched_skip { /* sched_node.reason; stored in images of states: never reorder */
                  SKIP_DISABLED,
                  SKIP_CONDITION,
                  SKIP_UPSTREAM_SKIPPED,
                  SKIP_UPSTREAM_FAILURE,
                  SKIP_NOT_STARTED,
                  SKIP_NOT_TRIGGERED,
                  SKIP_NR
};
void sched_ready(struct run_state *s, int node); /* IDLE to READY, or SKIP when disabled */
void sched_skip(struct run_state *s, int node, enum sched_skip why);
void sched_edge_settle(struct run_state *s, int edge, enum edge_state st); /* judges its target */
void sched_tally(struct run_state *s, int node);         /* recounts its incoming edges */
void sched_check_handled(struct run_state *s, int node); /* WF-8: a failed node, maybe the run */

/* --- sched.c --- */
MUST_CHECK int sched_alloc(struct run_state *s); /* the arrays of a run that has started */

/* --- sched_activation.c --- */
void sched_loop_request(struct run_state *s, const struct wf_edge *e); /* its loopback fired */
void sched_loops_try(struct run_state *s); /* start rounds whose regions are quiet */
void sched_loops_drop(struct run_state *s);
/* Fresh activations of node and what it reaches, as of that firing; false: some of it is still in
 * flight.  *blocker: 0, or what the last call left there. */
bool sched_fire(struct run_state *s, int node, int *blocker, int32_t fired_by, int32_t fire_depth);

/* --- sched_trigger.c --- */
void sched_triggers_try(struct run_state *s);  /* start nodes whose triggers fired, once quiet */
void sched_triggers_drop(struct run_state *s); /* the run ends */
int sched_held_due(const struct run_state *s, int64_t now_ms); /* a node, or -1 */
int sched_asleep(const struct run_state *s); /* a node that waits for its first firing, or -1 */

#endif
