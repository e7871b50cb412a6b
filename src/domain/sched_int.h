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

/* --- run_roots.c --- */
enum run_root run_root_of(struct str name);                  /* ROOT_NR: there is none */
bool root_hides(const struct run_state *s, struct str name); /* a variable, from conditions */
/* Raw value, empty when there is none, or when it is hidden and hides says so. */
struct str root_var(const struct run_state *s, const struct var_state *v, bool hides);
/* Undeclared channels show under variables, declared ones under channels (CHAN-28). */
bool root_channel(const struct chan_state *c, enum run_root which, bool hides);
/* Text of VARIABLES or CHANNELS.  NO_MEMORY, for want of it or because something is over a bound:
 * *out is STR_NONE, or lacks the channel that is too large. */
MUST_CHECK int root_object(const struct run_state *s, enum run_root which, bool hides,
                           int64_t now_ms, struct arena *a, struct str *out);
/* How many bytes that text has when it hides, without making it: TOO_BIG, *bytes as above. */
MUST_CHECK int root_object_bytes(const struct run_state *s, enum run_root which, int64_t now_ms,
                                 size_t *bytes);
/* The inputs as accepted, STR_NONE when there are none. */
MUST_CHECK int root_inputs(const struct run_state *s, bool hides, struct arena *a, struct str *out);

/* --- sched_queue.c --- */
void sched_enqueue(struct run_state *s, int node, enum sched_phase phase); /* READY or SKIP */
void sched_dequeue(struct run_state *s, int node); /* READY, SKIP and HELD become IDLE */

/* --- sched_wish.c: wishes to enter a region; a loop is known by its head, triggers follow.  A run
 * without loops and triggers has none. --- */
MUST_CHECK int sched_wishes_alloc(struct run_state *s);
void sched_wish_ask(struct run_state *s, int wish);            /* it is tried next */
void sched_wish_wait(struct run_state *s, int wish, int node); /* when that one has ended */
void sched_wish_drop(struct run_state *s, int wish);
void sched_wishes_wake(struct run_state *s, int node);              /* it has ended */
int sched_wish_due(const struct run_state *s, int from, int until); /* the first, or -1 */
bool sched_wish_lost(const struct run_state *s, int wish);

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
/* What is derived from nodes, loops and triggers that were read from an image; NO_MEMORY. */
MUST_CHECK int sched_restore(struct run_state *s);
MUST_CHECK int sched_retries_alloc(struct run_state *s); /* before the first node waits for one */
MUST_CHECK int sched_alloc(struct run_state *s);         /* the arrays of a run that has started */
size_t sched_alloc_bytes(const struct workflow *wf);     /* about what they take */

/* --- sched_activation.c --- */
void sched_loop_request(struct run_state *s, const struct wf_edge *e); /* its loopback fired */
void sched_loops_try(struct run_state *s); /* start rounds whose regions are quiet */
void sched_loops_drop(struct run_state *s);
const char *sched_wishes_broken(const struct run_state *s); /* NULL, or the rule */
/* Fresh activations of node and what it reaches, as of that firing; false: some of it is still in
 * flight.  *blocker: 0, or what the last call left there. */
bool sched_fire(struct run_state *s, int node, int *blocker, int32_t fired_by, int32_t fire_depth);

/* --- sched_trigger.c --- */
void sched_triggers_try(struct run_state *s);    /* start nodes whose triggers fired, once quiet */
void sched_triggers_drop(struct run_state *s);   /* the run ends */
int sched_asleep(const struct run_state *s);     /* a node that waits for its first firing, or -1 */
void sched_slept(struct run_state *s, int node); /* it was skipped instead */

#endif
