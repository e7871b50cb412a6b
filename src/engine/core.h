/*
 * core.h: struct engine, which all files of the engine share.  Layer: engine, not for others.
 *
 * Words:
 *   exec    a run in memory (struct run_exec, exec.h)
 *   turn    one visit of a worker to an exec (turn.h)
 *   step    the turn of a live exec; it ends in at most one plan (step.h)
 *   commit  a plan, or another write, on its way through the committer; the exec gets its result
 *           in its next turn
 *
 * Who may touch what: engine.mu guards the members marked (mu).
 *
 * Invariants:
 *   G1  An exec is on at most one worker and has at most one commit in flight.
 *   G2  A woken exec is never forgotten: it is in the ready queue, or running or in flight with
 *       `again` set.
 *   G3  An exec leaves the tables only when its mailbox is empty.
 */
#ifndef WOPR_ENGINE_CORE_H
#define WOPR_ENGINE_CORE_H

#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "engine/engine.h"
#include "engine/queue.h"

#include <pthread.h>
#include <stdatomic.h>

#define ENGINE_WORKERS_MAX 64u
#define ENGINE_SCRATCH_MAX (64u * 1024 * 1024) /* scratch memory of one turn, or of one fold */
#define ENGINE_READ_EVENTS 512u                /* page of a log that is read from its beginning */
#define ENGINE_READ_BYTES  (1024u * 1024)
#define HOLDER_NAME_MAX    63u

struct peers; /* peers.c */
struct engine {
    struct journal *journal;
    struct store *store;
    const struct payload_rules *rules;
    const struct node_registry *types;
    struct wf_env wf_env;
    struct engine_config cfg;
    struct str holder;

    pthread_mutex_t mu;
    pthread_cond_t work;         /* ready queue or answers grew, or state of serving changed */
    pthread_cond_t tick;         /* timers changed */
    pthread_cond_t calm;         /* something in flight came back */
    struct map *by_id, *by_no;   /* (mu) run id; run number as 8 bytes */
    struct map *awaited;         /* (mu) number of a child -> exec that waits for it */
    struct map *tenants;         /* (mu) name -> struct tenant */
    struct list turns[QUEUE_NR]; /* (mu) tenants with runs that want a turn */
    struct list resting;         /* (mu) the one that waits longest first */
    size_t state_bytes, leaving_bytes;                /* (mu) */
    bool fresh_last;                                  /* (mu) the last turn went to a fresh one */
    struct heap timers;                               /* (mu) */
    struct engine_cmd *answers, **answers_end;        /* (mu) done() is due */
    size_t ready_nr, active_nr, idle_nr, inflight_nr; /* (mu) ready_nr: of both lists */
    size_t busy_nr;                                   /* (mu) turns under way */
    bool started, halting;                            /* (mu) */
    _Atomic bool stopping, broken; /* set under mu; broken: SYNC_FAILED, nothing is appended */
    bool threads_up;
    uint64_t started_ms; /* monotonic; written before the threads start */
    bool kicked;         /* (mu) */
    bool sweep_soon;     /* (mu) runs were left behind for want of room */
    bool sweep_now;      /* (mu) runs became free */
    struct peers *peers;
    uint64_t lease_ok_ms; /* (mu) monotonic: leases are surely ours until then (STORE-34) */
    struct list calls;    /* (mu) struct invoke_call: requests under way */
    bool beat_inflight, purge_inflight; /* (mu) */
    bool beat_late;                     /* (mu) the last beat came too late: another at once */
    bool beat_missed;                   /* (mu) one was due while the last was under way */
    bool purge_more;                    /* (mu) */

    pthread_t timer_thread, workers[ENGINE_WORKERS_MAX];
    unsigned workers_nr;

    pthread_mutex_t wf_mu;
    struct map *workflows; /* (wf_mu) 32 bytes of hash -> struct wf_entry */

    _Atomic uint64_t created, completed, failed, cancelled, nodes_completed, nodes_failed, retries,
        cap_breaches, recovered, parked, dozed, bounds_met[RUN_BOUND_NR], refused[WOPR_ERR_NR];
    struct log_gate full_gate;
};

/* Stops like engine_stop; release false leaves the leases as a killed process would (tests of
 * recovery). */
void engine_halt(struct engine *e, bool release);
/* The clock moved by more than time: look at the deadlines again (tests with a virtual clock). */
void engine_kick(struct engine *e);
/* A sync failed (SYNC_FAILED): nothing is appended until a restart. */
void engine_break(struct engine *e, const char *where);
bool engine_is_broken(struct engine *e);
bool engine_is_stopping(struct engine *e);

#endif
