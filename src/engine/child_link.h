/*
 * child_link.h: the link from a run to a child that a node of it waits for.  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_CHILD_LINK_H
#define WOPR_ENGINE_CHILD_LINK_H

#include "engine/exec.h"

struct run_command; /* cascade.h */

enum child_phase {
    CHILD_WANTED,    /* to be created when the events of its node are committed */
    CHILD_ASKED,     /* creation is under way */
    CHILD_WAITING,   /* it exists */
    CHILD_UNWANTED,  /* no node waits for it any more: cancel it */
    CHILD_FORGOTTEN, /* the state was dropped; kept until its creation is answered */
    CHILD_PHASE_NR
};
/* A run that a node of this one started, until the node has its result. */
struct exec_child {
    struct list link; /* in exec.children */
    char run_id[RUN_ID_MAX + 1];
    int node, ordinal;      /* ordinal -1: only the parent's log names it */
    enum child_phase phase; /* changed by child_move only */
    int64_t run_no;         /* 0 until its row was read */
    bool wait, detached;
    bool elsewhere;    /* another host executes it */
    bool foreign;      /* inherited: a child of the run that this one was forked from */
    bool look;         /* it may have changed: read its row */
    bool held;         /* wait for news or TIMER_CHILD */
    uint64_t again_ms; /* with held: until then, even with news (monotonic) */
    bool pause_due;    /* pass the pause of its parent on */
    uint64_t turn;     /* leave it alone in this turn: its basis is not committed yet */
    struct run_command *creation, *cancel; /* commands to it */
    struct text interrupt;                 /* id of the suspension that the parent shows */
};

struct exec_child *child_new(struct run_exec *re, int node, enum child_phase phase); /* or NULL */
/* Takes it out of the tables and frees it. */
void child_free(struct run_exec *re, struct exec_child *x);
/* The only function that changes the phase; asserts the rules. */
void child_move(struct exec_child *x, enum child_phase to);
bool child_may_move(enum child_phase from, enum child_phase to);
bool creation_out(const struct exec_child *x); /* its creation is not answered yet */
/* After reading h: wake the run when another host changes the child. */
void child_await(struct run_exec *re, struct exec_child *x, const struct run_head *h);

#endif
