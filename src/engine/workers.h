/*
 * workers.h: what workers outside ask of the engine: types, claims, heartbeats (WRK-1 to WRK-24).
 * Layer: engine.  What they say about a task they have is a command (ENGINE_TASK in engine.h).
 *
 * Threads: any.  Nothing here waits: answers come by done(), on the committer's thread, which must
 * only queue work.  A claim that found nothing waits as a struct task_wait, which costs no thread
 * and holds no task: what waits to be done stands in the store.
 */
#ifndef WOPR_ENGINE_WORKERS_H
#define WOPR_ENGINE_WORKERS_H

#include "engine/engine.h"
#include "store/tasks.h"

enum {
    TASK_LEASE_MS_MIN = 1000,
    TASK_LEASE_MS_MAX = 3600 * 1000,
    TASK_LEASE_MS = 30 * 1000,
    TASK_WAIT_MS_MAX = 60 * 1000,
    TASK_WAIT_MS = 20 * 1000,
    TASK_WORKER_BYTES = 128,
    WORKER_DESCRIPTION_BYTES = 4096
};
/* "ready", "leased", "held", "completed", ...: TROW_ANSWERED is what its outcome says */
const char *task_state_name(enum task_row_state s);

/* --- claims and heartbeats --- */
struct engine_task_op { /* the caller's until done(); op.rc is the result */
    struct task_op op;
    void (*done)(struct engine_task_op *o);
    void *ctx;
    /* the engine's */
    struct engine_task_op *next;
    struct list turn;           /* of the first of its tenant: among the other tenants */
    struct engine_task_op *end; /* of the first of its tenant: the last */
};
/* Always leads to done(), once.  Those that come together are one commit; of many, tenants take
 * turns. */
void engine_task_op(struct engine *e, struct engine_task_op *o);
/* {"input","config","answers"} of a task that was claimed, in a's memory; unseals it. */
MUST_CHECK int engine_task_body(struct engine *e, const struct task_row *t, struct arena *a,
                                struct str *body, struct wopr_error *err);

/* A claim that waits for tasks of q (copied).  Of those that wait for a type one is woken for each
 * task, in the order in which they began to wait. */
struct task_wait;
MUST_CHECK int task_wait_new(struct engine *e, const struct task_queue *q, struct task_wait **out,
                             struct wopr_error *err);
/* Before it looks into the store: a task that comes from now on wakes it. */
void task_wait_begin(struct task_wait *w);
/* wake(ctx) is called once, maybe at once; it must not block.  Until disarm returns. */
void task_wait_arm(struct task_wait *w, void (*wake)(void *ctx), void *ctx);
void task_wait_disarm(struct task_wait *w);
bool task_wait_woken(struct task_wait *w);
/* One that was woken and did not look since passes that on. */
void task_wait_free(struct task_wait *w); /* takes NULL */

/* --- types --- */
struct worker_type_cmd { /* the caller's until done() */
    enum { WORKER_TYPE_PUT, WORKER_TYPE_REMOVE } what;
    struct worker_type type; /* PUT: as stored, afterwards */
    struct arena *a;
    bool changed;
    int rc; /* VALIDATION (a schema that does not compile), CONFLICT (built in), QUOTA, NOT_FOUND */
    struct wopr_error err;
    void (*done)(struct worker_type_cmd *c);
    void *ctx;
    struct engine *engine; /* its own */
};
void engine_worker_type(struct engine *e, struct worker_type_cmd *c);
/* May a definition name the type (WRK-4)?  Not 0: the store could not be asked. */
MUST_CHECK int engine_knows_type(struct engine *e, struct str tenant, bool test_mode,
                                 struct str type_id, bool *known, struct wopr_error *err);

struct engine_task_stats {
    uint64_t claims, claimed, leases_lost, late_answers, waiting; /* waiting: claims that wait */
    struct metric_reading ready_ns;                               /* from ready to claimed */
};
void engine_task_stats(struct engine *e, struct engine_task_stats *out);

/* NULL, or why the row of an open task is not one that its run can have made, whose log folds to
 * s. */
const char *task_row_broken(const struct run_state *s, const struct task_row *t, struct arena *a);

#endif
