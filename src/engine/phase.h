/*
 * phase.h: the phases of an exec, and the one function that changes them.  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_PHASE_H
#define WOPR_ENGINE_PHASE_H

#include <stdbool.h>

struct run_exec;

enum exec_phase {
    EXEC_FORKING,  /* a fork is being made: nothing of it is visible yet (fork.c) */
    EXEC_NEW,      /* creation asked for; nothing is built yet */
    EXEC_CREATING, /* PLAN_CREATE in flight, mostly with the first step in it */
    EXEC_LOOKUP,   /* unknown so far: read its row from the store */
    EXEC_LEASING,  /* claim of the lease in flight */
    EXEC_ASKING,   /* request to a living holder in flight; then LOOKUP again */
    EXEC_GIVING,   /* transfer to a requesting host in flight */
    EXEC_LOADING,  /* lease held: fold the log, now or after a backoff or a doze */
    EXEC_ENDING,   /* the end of a run without state in flight (stuck.c) */
    EXEC_LIVE,     /* state in memory */
    EXEC_PHASE_NR
};

/* Moves the exec, by its runner and with nothing in flight.  Asserts that the table has the edge
 * and that the rules hold afterwards. */
void exec_move(struct run_exec *re, enum exec_phase to);
bool exec_may_move(enum exec_phase from, enum exec_phase to);
/* The rule of its phase that the exec breaks, NULL = none. */
const char *exec_broken(const struct run_exec *re);
const char *exec_phase_name(enum exec_phase p);

#endif
