/*
 * task.h: nodes that workers execute (WRK-10 to WRK-14).  Layer: engine, not for others.
 *
 * A task is a row that the plan with the node's start writes; claims and leases change the row
 * only, and need no run.  What a worker says comes back as a command
 * (task_says.h).  In memory there is one byte per node, which follows from rows and log.
 */
#ifndef WOPR_ENGINE_TASK_H
#define WOPR_ENGINE_TASK_H

#include "engine/emit.h"
#include "store/tasks.h"

#include "domain/bounds.h"
#include "domain/invocation.h"

enum task_mark {
    TASK_NONE,
    TASK_OPEN,
    TASK_ANSWERED, /* its outcome is in its row: applied when the run moves */
    TASK_LAPSED,   /* its leases ran out too often: the attempt fails when the run moves */
    TASK_STALE     /* open without a node that waits: closed by the next step */
};
enum task_mark task_mark_of(const struct run_exec *re, int node);
/* Of a node by its index, outside of a step; NO_MEMORY for the first of a run. */
MUST_CHECK int task_mark_set(struct run_exec *re, int node, enum task_mark m);
void task_mark(struct step *st, int node, enum task_mark m); /* the plan fails without memory */
bool task_mark_due(enum task_mark m);                        /* something is to be done */
void tasks_forget(struct run_exec *re);
/* A node that may wait for a task: also one that a pause has drained. */
bool task_node_waits(const struct run_state *s, int node);
/* Clear values of a run that has sensitive ones are encrypted at rest (OBS-71): returns where, and
 * *plain is empty; else 0, and *plain is the text.  outcome: of a task, else what it is given. */
int64_t task_seal(struct step *st, int node, bool outcome, struct str text, struct str *plain);
/* The open row of the node ends; nothing when it has none. */
void task_close(struct step *st, int node, enum task_row_state state, const char *reason);
/* The same by what a worker said; word: its digest, or empty. */
void task_close_said(struct step *st, int node, enum task_row_state state, const char *reason,
                     struct str word);
/* Its outcome came while the run does not move: kept in its row. */
void task_keep(struct step *st, int node, struct str outcome, struct str word);
/* Open rows without a node that waits end. */
void tasks_close_stale(struct step *st);
void task_lapse(struct step *st, int node);
/* Before the plan is sent: tasks whose nodes ended, and all of a run that did. */
void tasks_close(struct step *st);

struct task_name {
    char id[TASK_ID_LEN + 1];
    unsigned asks; /* questions that were answered in this activation */
};
/* Of the task that the node's attempt waits for now. */
void task_name_of(const struct step *st, int node, struct task_name *out);
/* The key under which a worker's request takes effect once (WRK-11). */
void task_invocation_of(const struct run_state *s, int node, struct arena *a,
                        char out[INVOCATION_ID_LEN + 1]);

#endif
