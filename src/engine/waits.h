/*
 * waits.h: the kinds of waits of a node.  Layer: engine, not for others.
 *
 * A kind of wait is one file that fills a struct wait_kind, and one row in wait_table.c.  A new
 * kind needs nothing else of the engine: that calls the hooks below for all rows, in their order.
 * claim is required, and on_timer when timer is not 0; any other hook may be NULL.
 *
 * Nothing durable is needed: after a restart, a pause or an eviction a running node that no kind
 * holds is entered again in the same attempt (STORE-39), and its executor asks again.  So a kind
 * that only looks for something now and then needs
 *   claim     what was waited for is there, or timeline_leads(): attempt_run(st, node, true), for
 *             in a replay the source's next event says that the wait is over.  Else timer_arm() of
 *             a kind of its own in timers.h, not durable, and step_timeout_arm().
 *   holds     its timer is armed; for -1 that of any node, or the run is reported as stalled.
 *   on_timer  the node still runs: attempt_run(st, node, false), which comes back to claim.
 *   timed_out timer_drop().
 * A wait that must outlast these has a row: TIMER_NODE_WAIT, which step.c and replay.c know, a
 * task, a request, an interrupt, a child.
 */
#ifndef WOPR_ENGINE_WAITS_H
#define WOPR_ENGINE_WAITS_H

#include "engine/emit.h"

struct wait_kind {
    const char *name;
    enum node_outcome outcome; /* what an executor returns to begin the wait */
    int timer;                 /* kind of the timer that on_timer is for, 0 = none */
    /* The executor returned outcome: put the wait into the plan, or fail the attempt. */
    void (*claim)(struct step *st, int node, const struct node_result *r);
    /* True if a running node waits: its executor must not be entered.  -1: any node, for a reason
     * other than a durable timer (the run is not stalled). */
    bool (*holds)(struct run_exec *re, int node);
    /* Put arrived answers into the plan; called at the beginning of a step. */
    void (*arrived)(struct step *st);
    /* Do the work of the wait itself; called after the timers, also while the run is paused. */
    void (*tend)(struct step *st);
    /* The run may act: enter the executors whose waits are over. */
    void (*enter)(struct step *st);
    void (*on_timer)(struct step *st, int node);
    /* The node's timeoutMs has passed; called before its attempt fails. */
    void (*timed_out)(struct step *st, int node);
    /* The plan with the claims is committed. */
    void (*landed)(struct step *st);
    /* The plan that ends the run is committed. */
    void (*over)(struct step *st);
    /* After the fold: restore open waits from log and store. */
    int (*load)(struct step *st, struct wopr_error *err);
    void (*forget)(struct run_exec *re);    /* the state is dropped; requests in flight may stay */
    void (*free)(struct run_exec *re);      /* the exec is freed */
    bool (*stays)(struct run_exec *re);     /* true: something is known in memory only */
    bool (*under_way)(struct run_exec *re); /* true: this process will get an answer */
};
extern const struct wait_kind *const WAIT_KINDS[]; /* wait_table.c; NULL-terminated */

/* The hooks of struct wait_kind, for all rows.  claim: of the row with the outcome of r; on_timer:
 * of that with this timer; hold, stay and under_way: true if one row says so; load: the first
 * code. */
void waits_claim(struct step *st, int node, const struct node_result *r);
bool waits_hold(struct run_exec *re, int node);
void waits_arrived(struct step *st);
void waits_tend(struct step *st);
void waits_enter(struct step *st);
void waits_on_timer(struct step *st, int kind, int node);
void waits_timed_out(struct step *st, int node);
void waits_landed(struct step *st);
void waits_over(struct step *st);
MUST_CHECK int waits_load(struct step *st, struct wopr_error *err);
void waits_forget(struct run_exec *re);
void waits_free(struct run_exec *re);
bool waits_stay(struct run_exec *re);
bool waits_under_way(struct run_exec *re);

#endif
