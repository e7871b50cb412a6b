/*
 * tasks.h: tasks that workers claim, and the types they serve (WRK-1 to WRK-24).  Layer: store.
 * Rows of tasks are opened and closed by plans (struct plan_task); claims, heartbeats and leases
 * that run out are writes of their own, many of them in one transaction.  General rules: store.h.
 *
 * Invariants
 *   T1  A claim counts the epoch of its task up, and only the newest epoch completes it.
 *   T2  What a claim costs does not depend on how many tasks wait.
 */
#ifndef WOPR_STORE_TASKS_H
#define WOPR_STORE_TASKS_H

#include "domain/plan.h"
#include "store/store.h"

enum {
    TASK_ID_LEN = 37, /* "task_" and 32 hex digits */
    STORE_TASK_TYPES_MAX = 32,
    STORE_TASKS_CLAIM_MAX = 64,
    STORE_TASKS_CLAIM_BYTES = 4 * 1024 * 1024, /* of bodies in one claim, beyond its first task */
    STORE_TASK_EXPIRE_MAX = 1000               /* leases ended by one call */
};

struct task_row {
    struct str task_id, run_id, node_id, tenant, type_id, workflow_id, invocation_id;
    struct str body, outcome, reason, worker; /* body: empty when sealed_at says where it is */
    struct str word;                          /* digest of what ended it, empty: unknown */
    struct plan_sealed box;                   /* of a claim: the sealed body */
    bool test_mode;
    int64_t run_no, epoch, sealed_at;
    int32_t attempt;
    enum task_row_state state;
    int64_t lost, lease_ms, lease_until_ms, ready_ms, ended_ms, bytes, emitted;
};
struct task_row_list {
    struct task_row *v;
    size_t n;
};
/* Without body and outcome.  NOT_FOUND. */
MUST_CHECK int store_task_get(struct store *s, struct str tenant, bool test_mode,
                              struct str task_id, struct arena *a, struct task_row *out,
                              struct wopr_error *err);
/* The open one of a node (its run's other columns too).  NOT_FOUND. */
MUST_CHECK int store_task_of_node(struct store *s, int64_t run_no, struct str node_id,
                                  struct arena *a, struct task_row *out, struct wopr_error *err);
struct task_brief { /* of an open task */
    struct str node_id;
    enum task_row_state state;
};
struct task_brief_list {
    struct task_brief *v;
    size_t n;
};
/* Those of the run that are not over: node and state. */
MUST_CHECK int store_tasks_of_run(struct store *s, int64_t run_no, struct arena *a,
                                  struct task_brief_list *out, struct wopr_error *err);

struct task_queue { /* whose tasks of which types */
    struct str tenant;
    bool test_mode;
    const struct str *types; /* at most STORE_TASK_TYPES_MAX */
    size_t types_nr;
};
/* Is any of them ready? */
MUST_CHECK int store_tasks_ready(struct store *s, const struct task_queue *q, bool *any,
                                 struct wopr_error *err);

/* One claim or heartbeat.  The caller owns it and its arena until the write returned. */
struct task_op {
    enum { TASK_OP_CLAIM, TASK_OP_BEAT } what;
    struct arena *a;
    int64_t lease_ms; /* BEAT: 0 = as long as it was */
    /* CLAIM: types take turns, from first_type on */
    struct task_queue queue;
    size_t max, first_type;
    struct str worker;
    struct task_row_list claimed;
    /* BEAT */
    struct str task_id;
    int64_t epoch;
    struct task_row row; /* as it is afterwards */
    /* --- the result --- */
    int rc; /* BEAT: NOT_FOUND; TASK_LOST: row says what it is now */
    struct wopr_error err;
    struct task_op *next;
    void *ctx;
};
/* A write: all of them in one transaction.  When that fails, each has its code. */
void store_task_ops(struct store *s, struct task_op *first, int64_t now_ms);

struct task_lapse { /* a lease that ran out */
    struct str tenant, type_id;
    bool test_mode;
    enum task_row_state state; /* READY, HELD or LOST */
    int64_t run_no;
};
struct task_lapse_list {
    struct task_lapse *v;
    size_t n;
};
/* Has any lease run out? */
MUST_CHECK int store_tasks_lapsed(struct store *s, int64_t now_ms, bool *any,
                                  struct wopr_error *err);
/* A write.  Leases that ran out: their tasks are ready again, or lost after lost_max leases.  At
 * most STORE_TASK_EXPIRE_MAX. */
MUST_CHECK int store_tasks_expire(struct store *s, int64_t now_ms, int64_t lost_max,
                                  struct arena *a, struct task_lapse_list *out,
                                  struct wopr_error *err);
/* A write, after the clock was set back: no lease ends later than its length from now. */
MUST_CHECK int store_tasks_clamp(struct store *s, int64_t now_ms, struct wopr_error *err);
/* Types and tenants of the ready tasks of a run, which another host moved. */
MUST_CHECK int store_tasks_ready_of_run(struct store *s, int64_t run_no, struct arena *a,
                                        struct task_lapse_list *out, struct wopr_error *err);
/* Tasks that are lost, of runs that have still to take that in and can; after run_no.  Without
 * bodies. */
MUST_CHECK int store_tasks_lost(struct store *s, int64_t after_run_no, unsigned max,
                                struct arena *a, struct task_row_list *out, struct wopr_error *err);

struct task_depth { /* of a type, all tenants */
    struct str type_id;
    int64_t ready, leased, oldest_ms; /* ready_ms of the oldest ready one, 0 = none */
};
struct task_depth_list { /* most ready first */
    struct task_depth *v;
    size_t n;
};
/* Of all tenants: types with open tasks, at most max. */
MUST_CHECK int store_tasks_depths(struct store *s, unsigned max, struct arena *a,
                                  struct task_depth_list *out, struct wopr_error *err);

/* --- what operators list --- */
struct task_filter { /* open tasks of a tenant, by type, state, ready_ms and id */
    struct str tenant;
    bool test_mode;
    struct str type_id; /* empty: any */
    int state;          /* with type_id; -1: any */
    struct task_row
        after; /* type_id, state, ready_ms, task_id of the last one seen; empty id: none */
};
/* One page in the order of `after`, at most max rows. */
MUST_CHECK int store_tasks_list(struct store *s, const struct task_filter *f, unsigned max,
                                struct arena *a, struct task_row_list *out, struct wopr_error *err);
/* How many of q's first type are in this state, counted up to max, and since when the oldest is
 * (0 = there is none). */
MUST_CHECK int store_tasks_queue(struct store *s, const struct task_queue *q,
                                 enum task_row_state state, unsigned max, int64_t *nr,
                                 int64_t *oldest_ms, struct wopr_error *err);

/* --- types --- */
struct worker_type {
    struct str tenant, type_id;
    bool test_mode;
    int64_t revision; /* from 1, counted up by every change */
    struct str input_schema, output_schema, description;
    int64_t created_ms, updated_ms;
};
struct worker_type_list {
    struct worker_type *v;
    size_t n;
};
struct types_room { /* of a tenant in a mode */
    unsigned nr;
    int64_t bytes; /* of schemas and descriptions */
};
/* A write.  *t in: without revision and created_ms; out: as stored.  *changed: it was new, or
 * other.  QUOTA: the tenant would have more than *max. */
MUST_CHECK int store_worker_type_put(struct store *s, struct worker_type *t,
                                     const struct types_room *max, struct arena *a, bool *changed,
                                     struct wopr_error *err);
MUST_CHECK int store_worker_type_get(struct store *s, struct str tenant, bool test_mode,
                                     struct str type_id, struct arena *a, struct worker_type *out,
                                     struct wopr_error *err); /* NOT_FOUND */
/* By id, after `after`. */
MUST_CHECK int store_worker_types(struct store *s, struct str tenant, bool test_mode,
                                  struct str after, unsigned max, struct arena *a,
                                  struct worker_type_list *out, struct wopr_error *err);
/* A write.  NOT_FOUND. */
MUST_CHECK int store_worker_type_remove(struct store *s, struct str tenant, bool test_mode,
                                        struct str type_id, struct wopr_error *err);

#endif
