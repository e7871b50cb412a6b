/*
 * waits.h: what a node can wait for.  Layer: engine, not for others.
 *
 * A kind of wait is one file that fills a struct wait_kind, and one row in wait_table.c.  The rest
 * of the engine knows no kind by name: it calls the hooks below for all rows, in their order.
 * A hook may be NULL.
 */
#ifndef WOPR_ENGINE_WAITS_H
#define WOPR_ENGINE_WAITS_H

#include "engine/emit.h"

struct wait_kind {
    const char *name;
    enum node_outcome outcome; /* what an executor returns to begin the wait */
    int timer;                 /* kind of the timer that on_timer is for, 0 = none */
    /* The executor returned outcome: put what it waits for into the plan, or fail the attempt. */
    void (*claim)(struct step *st, int node, const struct node_result *r);
    /* A running node (-1 = any) waits: its executor is not to be entered. */
    bool (*holds)(struct run_exec *re, int node);
    /* What came back, into the plan; first thing of a step. */
    void (*arrived)(struct step *st);
    /* After the timers, also while the run is paused: what the wait itself has to do. */
    void (*tend)(struct step *st);
    /* The run moves: enter the executors whose waits are over. */
    void (*enter)(struct step *st);
    void (*on_timer)(struct step *st, int node);
    /* timeoutMs of the node is over; called before its attempt fails. */
    void (*timed_out)(struct step *st, int node);
    /* The plan with the claims is committed. */
    void (*landed)(struct step *st);
    /* After the fold: what log and store know of the waits under way. */
    int (*load)(struct step *st, struct wopr_error *err);
    void (*forget)(struct run_exec *re);    /* the state goes; what is under way may stay */
    void (*free)(struct run_exec *re);      /* the exec goes */
    bool (*stays)(struct run_exec *re);     /* something is known in memory only */
    bool (*under_way)(struct run_exec *re); /* an answer comes back to this process */
};
extern const struct wait_kind *const WAIT_KINDS[]; /* wait_table.c; NULL-terminated */

void waits_claim(struct step *st, int node, const struct node_result *r);
bool waits_hold(struct run_exec *re, int node);
void waits_arrived(struct step *st);
void waits_tend(struct step *st);
void waits_enter(struct step *st);
void waits_on_timer(struct step *st, int kind, int node);
void waits_timed_out(struct step *st, int node);
void waits_landed(struct step *st);
MUST_CHECK int waits_load(struct step *st, struct wopr_error *err);
void waits_forget(struct run_exec *re);
void waits_free(struct run_exec *re);
bool waits_stay(struct run_exec *re);
bool waits_under_way(struct run_exec *re);

#endif
