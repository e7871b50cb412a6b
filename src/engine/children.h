/*
 * children.h: runs that nodes wait for (WF-45..51).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CHILDREN_H
#define WOPR_ENGINE_CHILDREN_H

#include "engine/emit.h"

#define ENGINE_CHILD_DEPTH_MAX   10   /* WF-48 */
#define ENGINE_CHILDREN_OPEN_MAX 128u /* unfinished children of one run (WF-51) */
#define ENGINE_CHILDREN_PAGE     256u
#define ENGINE_CHILD_AGAIN_MS    250 /* a refused command to a child is tried again */

struct kin_call; /* cascade.h */

enum child_phase {
    CHILD_WANTED,  /* its node's events are committed first */
    CHILD_ASKED,   /* creation is under way */
    CHILD_WAITING, /* it exists */
    CHILD_DOOMED,  /* nobody waits any more: it is to be cancelled */
    CHILD_LOST     /* a fold threw the rest away; kept until its creation is answered */
};
/* A run that a node of this one started and waits for, until its result was taken in. */
struct exec_child {
    struct list link; /* in exec.children */
    char run_id[RUN_ID_MAX + 1];
    int node, ordinal; /* ordinal -1: known from the parent's log only */
    enum child_phase phase;
    int64_t run_no; /* 0 until it was seen */
    bool wait, detached;
    bool elsewhere;    /* another host executes it */
    bool foreign;      /* inherited: a child of the run that this one was forked from */
    bool look;         /* something happened to it, or may have */
    bool held;         /* until news or TIMER_CHILD */
    uint64_t again_ms; /* with held: until then even if there is news (monotonic) */
    bool pause_due;    /* the pause of its parent is to be passed on */
    uint64_t turn;     /* not to be touched in this turn: what it rests on is not committed yet */
    struct kin_call *birth, *errand;
    struct text interrupt; /* id of the suspension that the parent shows */
};

/* The executor asked for a child: find it, or prepare its creation. */
void children_want(struct step *st, int node, const struct node_child *want);
/* Takes in what happened to them; enters the executors of those that ended. */
void children_step(struct step *st);
/* Pauses passed on and children nobody waits for; also while the run is paused. */
void children_errands(struct step *st);
bool children_hold(const struct run_exec *re, int node); /* -1 = any: it waits for a child */
bool children_wanted(const struct run_exec *re);         /* one is to be created next turn */
void children_timed_out(struct step *st, int node);      /* before its attempt fails */
/* After the fold: what the log and the store say about children and parent. */
MUST_CHECK int children_load(struct step *st, struct wopr_error *err);
/* Another host moved a run (run_no 0: any): who waits for it looks.  With engine.mu held. */
void children_moved_locked(struct engine *e, int64_t run_no);
bool children_elsewhere(const struct run_exec *re);
void children_timer(struct run_exec *re); /* TIMER_CHILD: look at all */
void children_forget(struct run_exec *re);
void children_free(struct run_exec *re);

#endif
