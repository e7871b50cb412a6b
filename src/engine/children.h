/*
 * children.h: runs that nodes wait for (WF-45..51).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CHILDREN_H
#define WOPR_ENGINE_CHILDREN_H

#include "engine/waits.h"

#define ENGINE_CHILD_DEPTH_MAX   10   /* WF-48 */
#define ENGINE_CHILDREN_OPEN_MAX 128u /* unfinished children of one run (WF-51) */
#define ENGINE_CHILDREN_PAGE     256u
#define ENGINE_CHILD_AGAIN_MS    250 /* a refused command to a child is tried again */

struct kin_call; /* cascade.h */

enum child_phase {
    CHILD_WANTED,    /* to be created, once the events of its node are committed */
    CHILD_ASKED,     /* creation is under way */
    CHILD_WAITING,   /* it exists */
    CHILD_UNWANTED,  /* no node waits for it any more: it is to be cancelled */
    CHILD_FORGOTTEN, /* the state is gone; kept until its creation is answered */
    CHILD_PHASE_NR
};
/* A run that a node of this one started and waits for, until its result was taken in. */
struct exec_child {
    struct list link; /* in exec.children */
    char run_id[RUN_ID_MAX + 1];
    int node, ordinal;      /* ordinal -1: known from the parent's log only */
    enum child_phase phase; /* changed by child_move only */
    int64_t run_no;         /* 0 until it was seen */
    bool wait, detached;
    bool elsewhere;    /* another host executes it */
    bool foreign;      /* inherited: a child of the run that this one was forked from */
    bool look;         /* something happened to it, or may have */
    bool held;         /* until news or TIMER_CHILD */
    uint64_t again_ms; /* with held: until then even if there is news (monotonic) */
    bool pause_due;    /* the pause of its parent is to be passed on */
    uint64_t turn;     /* not to be touched in this turn: what it rests on is not committed yet */
    struct kin_call *creation, *cancel; /* commands to it, sent or being sent */
    struct text interrupt;              /* id of the suspension that the parent shows */
};

bool child_may_move(enum child_phase from, enum child_phase to);

extern const struct wait_kind WAIT_CHILD;

bool children_wanted(const struct run_exec *re);    /* one is to be created next turn */
bool children_elsewhere(const struct run_exec *re); /* another host executes one of them */
/* After the fold: what the log and the store say about children and parent. */
MUST_CHECK int children_load(struct step *st, struct wopr_error *err);
/* Another host moved a run (run_no 0: any): the exec that waits for it looks.  With engine.mu held.
 */
void children_moved_locked(struct engine *e, int64_t run_no);

#endif
