/*
 * engine.h: runs commands and runs.  Layer: engine.
 * A run that executes here is one struct run_exec: a mailbox plus its folded state; it is on at
 * most one worker at a time, so code of a run needs no lock.  Workers turn sched_next() actions
 * into plans, the log commits them, completions put the run back on the ready queue.  Nothing is
 * answered before its commit. Threads: workers (config.workers), one timer thread (timers,
 * heartbeats, recovery sweeps, housekeeping).
 */
#ifndef WOPR_ENGINE_ENGINE_H
#define WOPR_ENGINE_ENGINE_H

#include "domain/trace.h"
#include "egress/egress.h"
#include "engine/node.h"
#include "journal/journal.h"
#include "sandbox/sandbox.h"

struct engine;
struct engine_cmd;
struct run_head;                           /* store/runs.h */
struct engine_bounds {                     /* of bytes and shares; 0 = the default */
    int64_t run_events_max, run_bytes_max; /* log of one run: 2,000,000 and 1 GiB, then it fails */
    size_t state_bytes_max;        /* states of runs in memory, 1 GiB: those of runs that only wait
                                      are dropped and folded again, then UNAVAILABLE for creates */
    size_t tenant_runs_active_max; /* of runs_active_max, three quarters; beyond: QUOTA */
    int64_t tenant_bytes_max;      /* logs of one tenant in the store; 0 = no bound */
    size_t run_state_bytes_max;    /* values of one run, 16 MiB: what a snapshot can show at once */
};
#define ENGINE_CREATE_MS_MAX 10u
/* Commands of runs that are led by another layer (run_meta.led): cancel and resolve. */
struct engine_led {
    void *ctx;
    /* true: taken; it is answered by engine_answer or engine_committed, once, on any thread.
     * Called on a worker: it must only queue. */
    bool (*take)(void *ctx, struct engine_cmd *cmd, const struct run_head *head);
};
struct engine_memory {                       /* long-term memory of nodes (MEM-2); bytes */
    int64_t entry_bytes_max;                 /* content of one entry; 0 = 65536, the most */
    int64_t ref_bytes_max, tenant_bytes_max; /* as stored; 0 = no bound */
};
/* A node type that no executor of the program has, and what became of the question. */
struct engine_type_ask {
    struct str type_id;
    bool found; /* a pack of the tenant has it: */
    struct sha256 pack;
};
/* Node types of packs that tenants have installed.  Any thread. */
struct engine_modules {
    void *ctx;
    /* Which tarballs a new run of the tenant executes the types with, all in one look.
     * definition: whose pins must hold, and choose; or empty.  anew: by what is installed at this
     * moment, not a moment ago.  VALIDATION, PACK_INTEGRITY, PACK_LOAD, PACK_RUNTIME; *wrong: the
     * type that it is about. */
    int (*resolve)(void *ctx, struct str tenant, struct engine_type_ask *types, size_t types_nr,
                   struct str definition, bool anew, size_t *wrong, struct wopr_error *err);
    /* The type as this tarball has it; lives as long as ctx.  NULL: err says why. */
    const struct node_type *(*type)(void *ctx, const struct sha256 *pack, struct str type_id,
                                    struct wopr_error *err);
};
/* Agents that installed packs bring (AGT-40 to AGT-46).  Any thread. */
struct engine_agents {
    void *ctx;
    /* The definition that a new run of the tenant goes by, in a; empty: no installed pack has such
     * an agent.  pins: raw member packs of the workflow, which must hold, and chooses; or empty.
     * PACK_INTEGRITY, PACK_LOAD. */
    int (*of_pack)(void *ctx, struct str tenant, struct str agent_id, struct str pins,
                   struct arena *a, struct str *out, struct wopr_error *err);
};
struct engine_config {
    unsigned workers;          /* default: cores */
    struct trace_policy trace; /* what requests of nodes and child runs are given of a trace */
    struct run_limits limits;
    bool conformance;                        /* conformance node types and flags (NODE-23) */
    const char *const *runtime_capabilities; /* NULL-terminated (CAP-18) */
    const char *holder;                      /* lease holder id of this process, unique per start */
    int64_t lease_ttl_ms, heartbeat_ms; /* STORE-32; 0 = the setting's default, a third of it */
    bool sole_host; /* no other process may open the file (store_config.exclusive): all leases are
                             taken at once, no other host is looked for */
    int64_t retention_ms;          /* how long ended runs are kept, 0 = for ever (STORE-44) */
    size_t runs_active_max;        /* runs in memory; beyond: UNAVAILABLE for creates (ERR-9) */
    struct egress *egress;         /* sends the requests of nodes; NULL = they fail */
    struct sandbox *sandbox;       /* executes the modules of packs; NULL = they fail */
    struct engine_modules modules; /* node types of installed packs; resolve NULL: there are none */
    struct engine_agents agents;   /* of installed packs; of_pack NULL: there are none */
    const struct remotes *remotes; /* what nodes may speak to by name; NULL = nothing */
    unsigned children_open_max;    /* unfinished children of one run, 128 (WF-51) */
    struct vault *vault; /* seals clear values; NULL = runs with sensitive values cannot proceed,
                          * and there is no memory */
    struct engine_bounds bounds;
    struct engine_memory memory;
    struct engine_led led;  /* take NULL: there are no such runs */
    bool audited;           /* what policies decide is told to the audit log */
    int64_t stall_ms;       /* workflow.stalled window, 300000; 0 = off (STORE-41) */
    unsigned create_ms_max; /* of the first step that the answer to a creation waits for;
                                0 = ENGINE_CREATE_MS_MAX */
};
enum run_bound { BOUND_LOG, BOUND_STATE, BOUND_PAUSES, BOUND_ASKS, BOUND_VOTES, RUN_BOUND_NR };
struct engine_stats {
    uint64_t runs_created, runs_completed, runs_failed, runs_cancelled, nodes_completed,
        nodes_failed, retries, cap_breaches, recovered, parked;
    uint64_t runs_active, runs_active_max, ready_len, timers;
    uint64_t state_bytes, states_dropped, tenants_active;
    uint64_t tenant_runs_active, tenant_forks_waiting; /* of the tenant with most */
    uint64_t tenant_forks_waiting_max, forks_copying;
    uint64_t bounds_met[RUN_BOUND_NR];
    struct engine_bounds bounds;   /* in force */
    uint64_t refused[WOPR_ERR_NR]; /* commands that had no effect, by code (index: its negation) */
    bool store_failed; /* a sync failed: the host must stop accepting and be restarted (STORE-11) */
};
/* cfg is copied, its pointers are borrowed, like all the others, until engine_free.  Starts
 * nothing.  NO_MEMORY. */
MUST_CHECK int engine_new(struct journal *journal, const struct payload_rules *rules,
                          const struct node_registry *types, const struct wf_env *wf_env,
                          const struct engine_config *cfg, struct engine **out,
                          struct wopr_error *err);
/* Starts threads and recovers: every unfinished run is leased, folded from the log, consulted for
 * timers and continued (EVT-32: lease.lost, lease.acquired, workflow.restored,
 * run.resumed{cause:"claim-recovery"} when the run had begun). A log that breaks an invariant parks
 * its run with a reason; the others go on. */
MUST_CHECK int engine_start(struct engine *e, struct wopr_error *err);
/* Stop at the next event boundary, release leases (STORE-36), join threads.  The log must still
 * run. */
void engine_stop(struct engine *e);
void engine_free(struct engine *e);
void engine_stats(struct engine *e, struct engine_stats *out);

/* A run that needs so much ends well within the bounds of this host; else VALIDATION, which names
 * the bound and the way out.  Any thread. */
MUST_CHECK int engine_run_fits(const struct engine *e, const struct run_needs *n,
                               struct wopr_error *err);

/* Compiled workflow by id, from the cache keyed by hash (store row decides).  *out has a reference
 * for the caller. NOT_FOUND, VALIDATION (stored definition no longer compiles: unknown node type
 * ...), NO_MEMORY. */
MUST_CHECK int engine_workflow(struct engine *e, struct str tenant, bool test_mode,
                               struct str workflow_id, struct workflow **out,
                               struct wopr_error *err);
/* The same on a thread that others wait for: WOPR_E_TOO_BIG when it would have to be compiled. */
MUST_CHECK int engine_workflow_here(struct engine *e, struct str tenant, bool test_mode,
                                    struct str workflow_id, struct workflow **out,
                                    struct wopr_error *err);

/* Can each type that a pack of the tenant has be loaded, and do the pins of the definition hold
 * (PACK-64)?  Loads what was not loaded yet, so it may take a while: not for a thread that others
 * wait for.  err says where.  What struct engine_modules says, or a code that passes. */
MUST_CHECK int engine_packs_check(struct engine *e, struct str tenant, const struct workflow *wf,
                                  struct arena *a, struct wopr_error *err);
/* The same without an engine. */
MUST_CHECK int engine_modules_check(const struct engine_modules *m,
                                    const struct node_registry *types, struct str tenant,
                                    const struct workflow *wf, struct arena *a,
                                    struct wopr_error *err);

enum engine_op {
    ENGINE_CREATE,
    ENGINE_CANCEL,
    ENGINE_PAUSE,
    ENGINE_RESUME,
    ENGINE_RESOLVE,
    ENGINE_FORK,
    ENGINE_TASK,
    ENGINE_OP_NR
};
enum resolve_via { RESOLVE_RUN, RESOLVE_TOKEN, RESOLVE_ALIAS };
enum drain_policy { DRAIN_CURRENT_NODE, DRAIN_IMMEDIATE };
struct engine_cmd;
struct fork_overlay { /* raw JSON of a branch's runOptionsOverlay; p NULL = absent (FORK-23) */
    struct str inputs, configurable, tags, metadata;
};
struct engine_result {
    int rc; /* 0 or WOPR_E_*; CONFLICT: status and at_ms (pausedAt, 0 = none) say why; with replayed
             * set the response alone counts */
    struct wopr_error err;
    struct str run_id; /* in the command's arena */
    enum run_status
        status;    /* after the operation; for CANCEL of a final run its old status (RUN-21) */
    int64_t at_ms; /* acceptance time: pausedAt, resumedAt, created */
    struct str active_run_id; /* RUN_ALREADY_ACTIVE */
    int32_t retry_after_s;
    struct str interrupt_id, node_id; /* RESOLVE, TASK: ask */
    const char *task_state;           /* TASK: task_state_name() of what it is now */
};
struct cmd_create {
    struct workflow *wf; /* borrowed for the call of engine_submit */
    struct run_options options;
    struct var_inits inputs;
    struct str inputs_accepted; /* raw object of the declared inputs */
    struct str scope_id, callback_url;
    bool callback_answers; /* who asks may answer what the run asks (RUN-12) */
    bool dedup_enforce;
    bool force_engine_version;    /* VER-11: show the number below instead of the current one */
    int32_t shown_engine_version; /* >= 0 */
    /* Of a child (from_run): run_id is given, and EXISTS when it is there already. */
    struct str parent_run_id, parent_node_id; /* empty = not a child */
    int32_t child_depth;
    uint32_t child_flags; /* CHILD_AWAITED ... */
};
struct cmd_control {         /* CANCEL, PAUSE, RESUME */
    struct str reason;       /* may be empty */
    enum drain_policy drain; /* PAUSE */
    struct str cascade_from; /* CANCEL with from_run: the run above that began it */
};
struct
    cmd_resolve { /* failures are VALIDATION, FORBIDDEN, INTERRUPT_NOT_FOUND, _RESOLVED, _EXPIRED,
                        _CANCELLED, _GONE (cancelled by its parent, 410), CORRELATION_MISMATCH */
    enum resolve_via via;
    struct str node_id;      /* the open interrupt of this node (INT-17) */
    struct str interrupt_id; /* not empty: exactly this one; TOKEN always, and is the principal */
    struct str value;        /* raw JSON */
    bool may_delegate;       /* the key may vote and decide for others (INT-23, INT-30) */
    struct str event_id;     /* Idempotency-Key, or empty: names an external event (INT-32) */
};
struct cmd_fork { /* result.run_id is the new run.  EVENTS_EXPIRED, SEQUENCE_NOT_FOUND, VALIDATION
                     (overlay), NOT_FOUND, CORRUPT (parked source), VERSION_MISMATCH. */
    enum fork_mode mode;
    int64_t from_seq; /* >= 0 */
    struct fork_overlay overlay;
};
/* What a worker says about a task it has leased (WRK-16 to WRK-20).  TASK_LOST: another worker has
 * it, or it is over (err->details say which). */
enum task_verb {
    TASK_COMPLETE,
    TASK_FAIL,
    TASK_ASK,
    TASK_EMIT,   /* chunks and progress; the task goes on */
    TASK_GIVE_UP /* the engine's own: its leases ran out too often */
};
struct task_chunk {
    struct str text; /* not JSON */
    struct str meta; /* raw object or empty */
    int is_last;     /* 1, 0, or -1 = not said */
};
struct task_says {
    enum task_verb verb;
    struct str output;               /* COMPLETE: raw object */
    struct str code, message;        /* FAIL */
    struct str details;              /* FAIL: raw object or empty */
    bool retryable;                  /* FAIL */
    struct str kind, data;           /* ASK: data raw */
    struct str resume_schema;        /* ASK: raw or empty */
    int64_t timeout_ms;              /* ASK: 0 = none */
    const struct task_chunk *chunks; /* EMIT */
    size_t chunks_nr;
    struct str progress;         /* EMIT: raw object of the fields, or empty */
    struct str progress_message; /* EMIT: text */
    int64_t number;              /* EMIT: of this lease, counted up by the worker; 0 = none */
};
struct cmd_task {
    struct str task_id;
    int64_t epoch;
    struct task_says says;
};
/* One command.  The caller fills it (zeroed before), keeps it and its arena alive until done() is
 * called, exactly once, on any thread. */
struct engine_cmd {
    enum engine_op op;
    struct arena *arena;
    struct str tenant, workspace;
    struct str subject;   /* raw JSON Subject (D18) */
    struct str principal; /* subjectId */
    bool test_mode;
    bool from_run;          /* sent by the engine, from run to run */
    size_t bytes;           /* of the request: large ones have their own queue */
    struct str run_id;      /* target; CREATE: empty, the engine mints one; FORK: the source */
    struct str traceparent; /* CREATE, FORK */
    union {                 /* by op */
        struct cmd_create create;
        struct cmd_control control;
        struct cmd_resolve resolve;
        struct cmd_fork fork;
        struct cmd_task task;
    };
    /* idempotency (layer 1): when has_idem the outcome is stored with the effect, in one
     * transaction */
    bool has_idem;
    struct idem_key idem;
    /* Who asked, and how: with the effect, and in its transaction, it becomes an entry of the audit
     * log; the engine adds type, time, status and details.  NULL = none. */
    const struct plan_audit *audit;
    /* Renders the answer for r into *out (status, body in cmd->arena) on a worker or the submitting
     * thread; must be quick.  Called before the commit that makes the answer true, and again with
     * the failure when that commit is refused: the last call counts.  Returns true when the answer
     * is to be stored under the key (IDEM-8, IDEM-9). */
    bool (*respond)(struct engine_cmd *cmd, const struct engine_result *r,
                    struct idem_response *out);
    void (*done)(struct engine_cmd *cmd);
    void *ctx;
    /* --- results, valid in done() --- */
    struct engine_result result;
    struct idem_response response;
    bool replayed; /* response is the stored one of an earlier request (IDEM-5) */
    /* --- private to the engine --- */
    struct engine_cmd *next;
    void *priv;
};
/* Never blocks on the disk.  Always leads to done(), also on failure; from a worker, or from this
 * call when the engine is not running. */
void engine_submit(struct engine *e, struct engine_cmd *cmd);

/* --- for who takes commands (struct engine_led) --- */
/* cmd->result says how it ended, without an effect: store the answer if there is a key, answer. */
void engine_answer(struct engine *e, struct engine_cmd *cmd);
/* Render cmd->result into the plan that makes it true, and its audit entry. */
void engine_attach(struct engine_cmd *cmd, struct plan *p);
/* That plan was committed: answer. */
void engine_committed(struct engine_cmd *cmd, const struct plan *p);

#endif
