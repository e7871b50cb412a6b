/*
 * queue.h: which exec has the next turn.  Layer: engine, not for others.
 * Tenants take turns, and so do new runs and existing ones.  Large ones, whose turns take as long
 * as many others, have a queue and workers of their own: no small one waits for them.  Waking an
 * exec and handing its plan to the committer are here too, because both decide whether it is in the
 * ready queue (G1, G2).
 */
#ifndef WOPR_ENGINE_QUEUE_H
#define WOPR_ENGINE_QUEUE_H

#include "base/list.h"
#include "engine/engine.h"

#define ENGINE_FORKS_MAX         2u  /* forks of one tenant being folded */
#define ENGINE_FORKS_WAITING_MAX 64u /* forks of one tenant that wait for one of those */
/* Bytes of a command, of a state or of a log to be folded, from which on a turn is a large one:
 * some hundred microseconds. */
#define ENGINE_LARGE_BYTES (64u * 1024)

struct run_exec;
struct journal_result;

enum queue {
    QUEUE_RUNS,
    QUEUE_FRESH, /* execs in phase NEW */
    QUEUE_LARGE, /* of either kind, for the workers of large turns */
    QUEUE_NR
};
struct tenant { /* (mu) lives while it has runs in memory */
    char *name;
    size_t name_n, active;
    struct list ready[QUEUE_NR]; /* its execs that wait for a turn */
    struct list turn[QUEUE_NR];  /* in engine.turns while ready is not empty */
    size_t forking, forks_nr;
    struct list forks; /* execs that wait until one of its forks is made */
};

/* --- tenants --- */
MUST_CHECK int tenant_join_locked(struct engine *e, struct run_exec *re, struct str name);
void tenant_leave_locked(struct engine *e, struct run_exec *re);
/* Called by the runner of re once it knows the tenant of the run. */
void tenant_change(struct run_exec *re, struct str name);
bool tenant_full_locked(struct engine *e, struct str name);
struct tenant_counts { /* most_: of the tenant with most */
    size_t tenants, most_active, most_forks_waiting, forks_copying;
};
/* For engine_stats. */
void tenants_count_locked(struct engine *e, struct tenant_counts *out);
void tenants_free(struct engine *e);

/* --- turns --- */
void queue_put_locked(struct run_exec *re, enum queue q);
/* NULL: none is ready.  large: for a worker of large turns. */
struct run_exec *queue_take_locked(struct engine *e, bool large);
/* Wakes n workers at most; idle: how many were idle when the lock was given up. */
void workers_signal(struct engine *e, size_t n, size_t idle);
bool cmd_is_large(const struct engine_cmd *cmd);
void exec_wake_locked(struct run_exec *re);
void exec_wake(struct run_exec *re);

/* --- commits in flight --- */
/* Marks the exec as having a commit in flight; call it before handing the commit over. */
void exec_launch(struct run_exec *re);
void exec_launch_undo(struct run_exec *re);
/* Hands p, with the effect of cmd (may be NULL), to the committer; both are in re->commit until it
 * has landed.  On failure nothing went out, and both are the caller's. */
MUST_CHECK int exec_commit(struct run_exec *re, struct plan *p, struct engine_cmd *cmd);
/* Completions of commits, called on the committer: rc is kept for the next turn. */
void exec_landed(struct run_exec *re, int rc);
void execs_committed(void *engine, const struct journal_result *v, size_t n);

/* --- slots of forks: to fold a long log takes a worker and the memory of a state --- */
bool forks_full_locked(struct engine *e, struct str name);
/* Queue the fork at once, or when another fork of its tenant is folded. */
void fork_begin_locked(struct run_exec *re);
void fork_slot_free(struct run_exec *re);
void fork_slots_open_locked(struct engine *e);

#endif
