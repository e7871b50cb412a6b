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
#include "store/memory.h"

#include <pthread.h>
#include <stdatomic.h>

#define ENGINE_WORKERS_MAX 64u
#define ENGINE_SCRATCH_MAX (64u * 1024 * 1024) /* scratch memory of one turn, or of one fold */
#define ENGINE_READ_EVENTS 512u                /* page of a log that is read from its beginning */
#define ENGINE_READ_BYTES  (1024u * 1024)
#define HOLDER_NAME_MAX    63u

struct peers;     /* peers.c */
struct wait_kind; /* waits.h */

/* Parts of struct engine, each with the file that owns it.  All but threads and counts are (mu). */
struct run_tables {      /* exec.c */
    struct map *by_id;   /* run id -> struct run_exec */
    struct map *by_no;   /* run number, as 8 bytes -> struct run_exec */
    struct map *awaited; /* number of a child -> struct run_exec that waits for it (children.c) */
    size_t active_nr;    /* entries of by_id */
};
struct run_queue {               /* queue.c */
    struct map *tenants;         /* name -> struct tenant */
    struct list turns[QUEUE_NR]; /* tenants with runs that wait for a turn */
    size_t ready_nr;             /* execs in QUEUE_RUNS and QUEUE_FRESH */
    size_t large_nr;             /* in QUEUE_LARGE */
    bool fresh_last;             /* the last turn was a fresh one's */
};
struct run_states {      /* evict.c */
    struct list resting; /* execs that only wait, longest waiting first */
    size_t bytes;        /* of all states */
    size_t leaving_bytes;
};
struct answer_queue {                /* command.c */
    struct engine_cmd *first, **end; /* whose done() is due */
};
struct engine_life { /* engine.c */
    bool started, halting;
    _Atomic bool stopping; /* set under mu */
    _Atomic bool broken;   /* set under mu: SYNC_FAILED, nothing is appended */
    bool threads_up;       /* the timer thread runs; only for start and stop */
    uint64_t started_ms;   /* monotonic; written before the threads start */
    size_t idle_nr;        /* idle workers, without those of large turns */
    size_t busy_nr;        /* turns being taken */
    pthread_t timer_thread, workers[2 * ENGINE_WORKERS_MAX];
    unsigned workers_nr; /* all of them */
};
struct upkeep_state {     /* upkeep.c */
    bool kicked;          /* check the deadlines again */
    bool sweep_soon;      /* runs were skipped for lack of room */
    bool sweep_now;       /* runs have lost their holder */
    uint64_t lease_ok_ms; /* monotonic: leases are certainly ours until then (STORE-34) */
    bool beat_inflight;
    bool beat_late;   /* the last beat was too late: send another at once */
    bool beat_missed; /* a beat was due while the last was in flight */
    bool purge_inflight, purge_more;
    struct memory_turn memory_turn; /* of the committer: whose deleted entries are next */
    bool unseal_inflight, unseal_more; /* what was sealed for ended runs */
};
struct kept_states { /* kept.c */
    pthread_mutex_t mu;
    struct list all; /* struct kept_state, longest unused first */
    size_t nr, bytes;
};
struct workflow_cache { /* wfcache.c */
    pthread_mutex_t mu;
    struct map *by_hash; /* 32 bytes of hash -> struct wf_entry */
};
struct task_types { /* task_type.c */
    pthread_mutex_t mu;
    struct map *schemas; /* 32 bytes of hash -> struct kept_schema */
};
struct task_hub;       /* task_serve.c */
struct engine_counts { /* totals since the start, for engine_stats */
    _Atomic uint64_t created, completed, failed, cancelled, nodes_completed, nodes_failed, retries,
        cap_breaches, recovered, parked, dozed, bounds_met[RUN_BOUND_NR], refused[WOPR_ERR_NR];
    struct log_gate full_gate; /* limits how often a full host is logged */
};

struct engine {
    struct journal *journal;
    struct store *store;
    const struct payload_rules *rules;
    const struct node_registry *types;
    const struct wait_kind *const *waits; /* NULL-terminated */
    struct wf_env wf_env;
    struct engine_config cfg;
    struct str holder;

    pthread_mutex_t mu;
    pthread_cond_t work;  /* ready queue or answers grew, or life changed */
    pthread_cond_t large; /* the same for QUEUE_LARGE and its workers */
    pthread_cond_t tick;  /* timers changed */
    pthread_cond_t calm;  /* something in flight has landed */

    struct run_tables runs;
    struct run_queue queue;
    struct run_states states;
    struct heap timers; /* (mu) timers.c */
    struct answer_queue answers;
    size_t inflight_nr;   /* (mu) job.c: writes on the committer */
    struct list requests; /* (mu) invoke.c: struct invoke_call under way */
    struct engine_life life;
    struct upkeep_state upkeep;
    struct peers *peers;
    void (*on_first_run_locked)(struct engine *e); /* start listening to other hosts; peers.c */
    struct kept_states kept;
    struct workflow_cache wfcache;
    struct task_types task_types;
    struct task_hub *tasks;
    struct engine_counts counts;
};

/* Stops like engine_stop; release false leaves the leases as a killed process would (tests of
 * recovery). */
void engine_halt(struct engine *e, bool release);
/* The clock has jumped: check the deadlines again (tests with a virtual clock). */
void engine_kick(struct engine *e);
/* A sync failed (SYNC_FAILED): nothing is appended until a restart. */
void engine_break(struct engine *e, const char *where);
bool engine_is_broken(struct engine *e);
bool engine_is_stopping(struct engine *e);

#endif
