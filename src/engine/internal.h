/*
 * internal.h: shared by the files of the engine.  Layer: engine.
 * Words: exec = a run in memory (struct run_exec); step = one turn of a worker on an exec, ending
 * in at most one plan; sleep = an exec that nothing is to be done for until a timer, a command or a
 * commit comes.
 *
 * Who may touch what.  engine.mu guards the members marked (mu).  All other members of an exec
 * belong to whoever runs it: the worker while exec.running, nobody while exec.inflight (its plan or
 * lease request is on the committer). G1 an exec is on at most one worker and has at most one thing
 * in flight. G2 a woken exec is never forgotten: it is in the ready queue, or running or in flight
 * with again set. G3 an exec leaves the tables only when its mailbox is empty.
 */
#ifndef WOPR_ENGINE_INTERNAL_H
#define WOPR_ENGINE_INTERNAL_H

#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "engine/engine.h"
#include "store/runs.h"

#include <pthread.h>
#include <stdatomic.h>

#define ENGINE_WORKERS_MAX       64u
#define ENGINE_STEP_EVENTS_MAX   256u          /* a plan is sent once it holds so many events */
#define ENGINE_STEP_BYTES_MAX    (512u * 1024) /* or so many bytes in its arena */
#define ENGINE_STEP_MS_MAX       100u          /* or once its executors took so long */
#define ENGINE_CREATE_MS_MAX     10u           /* the same for a step whose 201 is waited for */
#define ENGINE_EFFECTS_MAX       1024u         /* effects of one executor call */
#define ENGINE_SCRATCH_MAX       (64u * 1024 * 1024)
#define ENGINE_READ_EVENTS       512u /* page of the fold */
#define ENGINE_READ_BYTES        (1024u * 1024)
#define ENGINE_SWEEP_PAGE        256u
#define ENGINE_DEADLINES_MAX     10000u /* waiting runs taken up by one look */
#define ENGINE_SWEEP_PAGES_MAX   4096u
#define ENGINE_PURGE_MS          60000
#define ENGINE_PURGE_AGAIN_MS    20 /* a slice was full: commits come first, then the next one */
#define ENGINE_PURGE_MAX         UINT32_MAX /* the store bounds a slice by rows and time */
#define ENGINE_PURGE_EVENTS_MAX  4096u      /* of a fork that nobody makes any more */
#define ENGINE_BACKOFF_MS_FIRST  100
#define ENGINE_BACKOFF_MS_MAX    5000
#define ENGINE_CORRUPT_TRIES     3u    /* replans against our own tables before a run is parked */
#define ENGINE_RETRY_DELAY_MS    250   /* WF-24 */
#define ENGINE_RETRY_DELAY_MAX   30000 /* WF-24 */
#define ENGINE_WF_CACHE_MAX      1024u
#define ENGINE_PAUSES_MAX        1000 /* of one run: each is two events of a log */
#define ENGINE_FORKS_MAX         2u   /* copies of one tenant under way */
#define ENGINE_FORKS_WAITING_MAX 64u  /* and those that wait for one of them */
#define ENGINE_SWEEP_SKIPS_MAX   4096u
#define ENGINE_DOZE_MS_MIN       1000 /* a state is not dropped for less */
#define HOLDER_NAME_MAX          63u
#define ENGINE_WAIT_MS_MAX       INT64_C(31536000000) /* one node wait: a year */

/* Sub-workflows. */
#define ENGINE_CHILD_DEPTH_MAX   10   /* WF-48 */
#define ENGINE_CHILDREN_OPEN_MAX 128u /* WF-51 */
#define ENGINE_CHILDREN_PAGE     256u
#define ENGINE_CHILD_AGAIN_MS    250   /* a refused errand is tried again */
#define ENGINE_CHILD_LOOK_MS     10000 /* fall-back for children that another host executes */
#define ENGINE_CASCADE_MS        4000  /* patience with children: cancel ends within 5 s (RUN-20) */

/* In-memory timers beside the durable kinds of domain/plan.h. */
enum {
    TIMER_STALL = 100,
    TIMER_BACKOFF = 101,
    TIMER_ASK = 102,
    TIMER_TRIGGER = 103,
    TIMER_DOZE = 104,
    TIMER_CHILD = 110,
    TIMER_CASCADE = 111
};

struct exec_timer {
    struct heap_node heap; /* (mu) key: monotonic milliseconds */
    struct list link;      /* in exec.timers */
    struct run_exec *re;
    int kind;             /* enum timer_kind or TIMER_* above */
    int node;             /* index, -1 = the run's */
    int64_t fire_at_ms;   /* wall clock, as stored */
    int64_t remaining_ms; /* while stopped; what it was set for when restored */
    bool restored;        /* from its row */
    bool durable;         /* has a row in timers */
    bool stopped;         /* by a pause: not in the heap */
    bool fired;           /* (mu) left the heap because its time came */
};

struct fork_job;  /* fork.c */
struct fork_info; /* fork.h */
struct replay;    /* replay.c */
/* A command from a run to another (or to itself), see cascade.c. */
#define KIN_PENDING 1
struct kin_call {
    _Atomic int refs;
    _Atomic int rc; /* KIN_PENDING, then what the engine answered */
    struct engine *e;
    char asker[RUN_ID_MAX + 1]; /* told when the answer is there, if it is still in memory */
    struct arena *arena;
    struct workflow *wf; /* CREATE */
    struct engine_cmd cmd;
};
/* A run that a node of this one started and waits for, until its result was taken in. */
enum child_phase {
    CHILD_WANTED,  /* its node's events are committed first */
    CHILD_ASKED,   /* creation is under way */
    CHILD_WAITING, /* it exists */
    CHILD_DOOMED,  /* nobody waits any more: it is to be cancelled */
    CHILD_LOST     /* a fold threw the rest away; kept until its creation is answered */
};
struct exec_child {
    struct list link; /* in exec.children */
    char run_id[RUN_ID_MAX + 1];
    int node, ordinal; /* ordinal -1: known from the parent's log only */
    enum child_phase phase;
    int64_t run_no; /* 0 until it was seen */
    bool wait, detached;
    bool elsewhere;    /* another host executes it */
    bool foreign;      /* inherited: a child of the run that this one was forked from */
    bool look;         /* something happened to it, or may have */
    bool held;         /* until news or TIMER_CHILD */
    uint64_t again_ms; /* with held: until then even if there is news (monotonic) */
    bool pause_due;    /* the pause of its parent is to be passed on */
    uint64_t turn;     /* not to be touched in this turn: what it rests on is not committed yet */
    struct kin_call *birth, *errand;
    struct text interrupt; /* id of the suspension that the parent shows */
};

enum exec_phase {
    EXEC_FORKING,  /* a fork is being made: nothing of it can be seen yet (fork.c) */
    EXEC_NEW,      /* creation asked for; nothing is built yet */
    EXEC_CREATING, /* PLAN_CREATE in flight, mostly with the first step in it */
    EXEC_LOOKUP,   /* not in memory before: ask the store what it is */
    EXEC_LEASING,  /* lease asked for on the committer */
    EXEC_ASKING,   /* telling a living holder that we want the run; then LOOKUP again */
    EXEC_GIVING,   /* giving the run to a host that asked */
    EXEC_LOADING,  /* lease held: fold the log */
    EXEC_LIVE
};
enum queue { QUEUE_RUNS, QUEUE_FRESH, QUEUE_NR }; /* FRESH: execs in phase NEW */
struct tenant { /* (mu) as long as it has runs in memory; queue.c */
    char *name;
    size_t name_n, active;
    struct list ready[QUEUE_NR]; /* its execs that want a turn */
    struct list turn[QUEUE_NR];  /* in engine.turns while ready is not empty */
    size_t forking, forks_nr;
    struct list forks; /* execs that wait for one of the former to end */
};
struct run_exec {
    struct engine *e;
    char run_id[RUN_ID_MAX + 1];
    /* --- (mu) --- */
    struct list ready;
    bool queued, running, inflight, again;
    struct tenant *tenant; /* NULL before it is in the tables */
    struct list rest;      /* in engine.resting: it has a state and only waits */
    size_t bytes;          /* of its state, as counted in engine.state_bytes */
    bool leaves;           /* asked to give up its state */
    bool forking, waits_slot;
    struct engine_cmd *mail, **mail_end;
    unsigned fired_nr;           /* timers with fired set */
    int flight_rc;               /* what came back from the committer */
    struct invoke_call *answers; /* requests of its nodes that came back */
    int64_t lease_epoch;
    /* --- its runner's --- */
    _Atomic bool has_mail; /* set under mu; read without at event boundaries (RUN-25) */
    enum exec_phase phase;
    int64_t run_no, epoch;
    struct workflow *wf;
    struct run_state *state;
    struct plan *plan;      /* in flight */
    struct engine_cmd *cmd; /* whose effect is in plan; NEW: the creation */
    struct list timers;
    struct text *clear; /* per node: outputs before masking, for readers inside the run (OBS-71);
                           NULL until needed */
    struct invocation *invocations; /* of this run, array; see invoke.c */
    size_t invocations_nr, invocations_cap;
    struct invoke_call *recorded; /* their outcomes are in the plan in flight */
    _Atomic bool has_answers;     /* set under mu */
    int64_t paused_ms;            /* acceptance time of the pause in force (RUN-27) */
    int64_t fail_seq;             /* last node.failed, -1 (EVT-4) */
    char *old_holder;             /* lease holder before us; "" = nobody */
    int64_t old_epoch;
    bool taken; /* the lease is fresh: the next load is a takeover */
    /* other hosts, peers.c */
    _Atomic bool wanted, suspect;  /* another host asks for the run; it may not be ours any more */
    bool asked;                    /* old_holder was asked by us; at a takeover: and gave */
    bool released;                 /* old_holder gave all its leases back */
    int64_t seen_epoch, seen_beat; /* what the claim in flight relies on */
    uint64_t wanted_ms;            /* monotonic: since when, 0 = not yet looked at */
    uint64_t ask_ms, ask_end_ms;   /* monotonic: when to ask again, when to give up; 0 = not yet */
    bool swept;                    /* wanted by recovery, not only by a command */
    bool take_over;                /* next step begins with EVT-32 */
    bool dozes;                    /* LOADING, but not before something happens */
    bool stays;                    /* its state cannot go before something happens */
    bool stalled;                  /* workflow.stalled was written for this stall */
    /* sub-workflows; all but the link upwards follow from log and store (children.c) */
    char *parent_id; /* NULL = nobody's child */
    int32_t depth;
    uint32_t child_flags;     /* of this run as a child */
    _Atomic bool child_news;  /* some child moved, or an errand is answered */
    struct list children;     /* struct exec_child */
    struct list stops;        /* struct exec_stop: cancels of the cascade under way */
    uint64_t cascade_ms;      /* monotonic end of its patience, 0 = none under way */
    int cascade_why;          /* enum cascade */
    size_t kids;              /* at least as many as there are unfinished children */
    bool had_children;        /* the store may know some */
    bool fan_told;            /* WF-51 was said for the node that is held now */
    enum drain_policy drains; /* of the pause in force */
    uint64_t turns;           /* steps so far */
    unsigned corrupt_tries;
    int64_t backoff_ms;
    int32_t *skips;         /* per node: effects still to be left out, the log has them; or NULL */
    struct fork_job *job;   /* while FORKING */
    struct fork_info *fork; /* the run is a fork; NULL: it is none, or not known yet */
    struct replay *replay;  /* it is a replay and live */
};

struct peers; /* peers.c */
struct wf_entry {
    struct workflow *wf;
    bool types_known; /* NODE-3 checked */
};
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

/* A turn of a worker. */
struct step {
    struct engine *e;
    struct run_exec *re;
    struct run_state *s;
    struct plan *p;
    struct arena *a; /* scratch, reset per turn */
    int64_t now_ms;  /* wall clock, not before the timers that brought us here */
    int64_t floor_ms;
    int64_t wait_over_ms; /* deadline of the node's wait that is being answered, else 0 */
    uint64_t began_ms;
    bool first; /* p creates the run */
    bool held;  /* the first command waits for the cascade: nothing else happens */
    const struct node_child_end *child; /* for the executor that is entered now */
    struct engine_cmd *cmd;             /* its effect is in p */
    struct str cascade_from; /* of the cancel at hand: the run above that began it, or empty */
};
struct worker {
    struct engine *e;
    struct arena *scratch;
};

/* --- queue.c: turns of tenants, states in memory --- */
MUST_CHECK int tenant_join_locked(struct engine *e, struct run_exec *re, struct str name);
void tenant_leave_locked(struct engine *e, struct run_exec *re);
void tenant_change(struct run_exec *re, struct str name); /* its runner: whose it is is known now */
bool tenant_full_locked(struct engine *e, struct str name);
void tenants_stats_locked(struct engine *e, struct engine_stats *out);
void tenants_free(struct engine *e);
void queue_put_locked(struct run_exec *re, enum queue q);
struct run_exec *queue_take_locked(struct engine *e); /* ready_nr > 0 */
bool forks_full_locked(struct engine *e, struct str name);
void fork_begin_locked(struct run_exec *re); /* now, or when another of its tenant is done */
void fork_slot_free(struct run_exec *re);
void fork_slots_open_locked(struct engine *e);
size_t exec_bytes(const struct run_exec *re);
void exec_rests_locked(struct run_exec *re, size_t bytes);
/* Its runner, first thing of a turn.  leaves: asked to give up its state, it did; dozes_on: it has
 * none, and nothing happened that needs one. */
bool exec_leaves(struct run_exec *re);
bool exec_dozes_on(struct run_exec *re);

/* --- engine.c: ready queue --- */
void exec_wake_locked(struct run_exec *re);
void exec_wake(struct run_exec *re);
/* An exec in phase NEW into the tables and to the workers; UNAVAILABLE when there is no room, QUOTA
 * when the tenant has its share. */
MUST_CHECK int exec_begin(struct run_exec *re, struct str tenant);
/* What the committer calls back for: rc is kept for the next turn. */
void exec_landed(struct run_exec *re, int rc);
void execs_landed(void *engine, const struct journal_landed *v, size_t n); /* journal_append_to */
/* Marks the exec as having something in flight; call before handing it over. */
void exec_launch(struct run_exec *re);
void exec_launch_undo(struct run_exec *re);
/* As engine_stop; release false leaves the leases as a killed process would (tests of recovery). */
void engine_halt(struct engine *e, bool release);
/* The clock moved by more than time: look at the deadlines again (tests with a virtual clock). */
void engine_kick(struct engine *e);
void engine_break(struct engine *e, const char *where); /* SYNC_FAILED was seen */
bool engine_is_broken(struct engine *e);
bool engine_is_stopping(struct engine *e);

/* --- exec.c: life of an exec --- */
struct run_exec *exec_new(struct engine *e, struct str run_id); /* not in any table yet */
MUST_CHECK int exec_set_parent(struct run_exec *re, struct str parent_id, int32_t depth,
                               uint32_t flags);
void exec_free(struct run_exec *re);
MUST_CHECK int exec_register_locked(struct engine *e, struct run_exec *re, struct str tenant);
void exec_unregister_locked(struct run_exec *re);
MUST_CHECK int exec_register_no(struct run_exec *re);
/* Takes the exec out of the tables and frees it (true); with mail waiting it becomes a LOOKUP and
 * stays. */
bool exec_drop(struct run_exec *re);
void step_drop(struct step *st);             /* the same; st->re is NULL when it is gone */
void exec_forget_state(struct run_exec *re); /* state, timers, plan; commands stay */
/* Never trust memory after a failed commit: fold again, now or after a backoff. */
void exec_reload(struct run_exec *re, bool later);
struct engine_cmd *exec_mail_take(struct run_exec *re);
void exec_mail_put_back(struct run_exec *re, struct engine_cmd *cmd); /* at the front */
bool exec_turn(struct worker *w, struct run_exec *re);                /* false: it was dropped */

/* --- submit.c: commands --- */
void cmd_answer(struct engine_cmd *cmd); /* done(), from a thread of ours */
/* No effect on any run: render, keep under the key when there is one, answer. */
void cmd_settle(struct engine *e, struct engine_cmd *cmd);
void cmd_fail(struct engine *e, struct engine_cmd *cmd, int rc, const char *why);
void cmd_committed(struct engine_cmd *cmd, const struct plan *p);
/* Render cmd->result into the plan that makes it true. */
void cmd_attach(struct engine_cmd *cmd, struct plan *p);
/* What an operation answers a run in this status without touching it; false: it has work to do. */
bool cmd_needs_no_effect(struct engine_cmd *cmd, enum run_status status, int64_t paused_ms);
void create_turn(struct step *st);           /* phase NEW: build, take the first step, send */
bool create_landed(struct step *st, int rc); /* true: the turn goes on */

/* --- load.c --- */
/* Each returns true when the turn goes on in the phase the exec is in now. */
bool load_lookup(struct step *st);
bool load_leased(struct step *st, int rc);
bool load_fold(struct step *st);

/* --- step.c --- */
enum { EMIT_BROKEN = -1, EMIT_REFUSED = -2 };
/* Append an event of the plan; node -1 = the run's.  Returns its sequence; EMIT_REFUSED when the
 * payload is not valid (EVT-12: nothing was appended, the plan goes on); EMIT_BROKEN when the plan
 * is lost. */
int64_t step_emit(struct step *st, enum ev_kind kind, int node, int64_t cause, struct str payload);
void step_run(struct step *st);
/* The first step of a run into p, the plan that creates it; st->re->state is fresh.  false: p is
 * lost, and the state with it. */
bool step_first(struct step *st, struct plan *p);
void step_count(struct engine *e, const struct plan *p); /* committed: into the statistics */
bool step_landed(struct step *st, int rc);               /* true: the turn goes on */
void step_now(struct step *st);
bool step_lost(const struct step *st);
bool step_full(const struct step *st);
bool step_moves(const struct step *st);

/* --- outcome.c: ends of nodes and runs --- */
struct failure {
    struct str code, message, details;
    bool retryable;
};
void node_end_failed(struct step *st, int node, const struct failure *f);
void run_end_failed(struct step *st, struct str error, int failed_node, int64_t cause);
void run_end_cascade(struct step *st); /* SCHED_FAIL */
void run_end_cap(struct step *st, int node);
void run_end_loop_limit(struct step *st, int node);
/* The same where the log ends behind cap.breached, or workflow.loopback-limit (a fork's cut). */
void run_end_cap_told(struct step *st, int64_t cause);
void run_end_loop_told(struct step *st, int node);
void run_end_completed(struct step *st);
void run_end_timeout(struct step *st);
/* Nodes are cancelled and skipped with reason, the run fails with error. */
void run_end_stopped(struct step *st, struct str error, const char *reason);
void run_end_schema_break(struct step *st); /* CHAN-18 */
void run_end_cancelled(struct step *st, struct str reason, struct str by);
int64_t run_duration_ms(const struct step *st);

/* --- bounds.c: how large a run may become --- */
void bounds_default(struct engine_bounds *b, size_t runs_active_max);
bool bound_log_over(const struct step *st);
void bound_log_end(struct step *st);                        /* the run fails for it */
bool bound_error_room(const struct step *st, size_t bytes); /* else only its code is kept */
/* Room for a value that takes the place of old_bytes?  Else f is filled. */
bool bound_state_room(struct step *st, size_t old_bytes, size_t new_bytes, struct failure *f);
void bound_tenant_runs(struct engine *e, struct wopr_error *err);                        /* QUOTA */
void bound_tenant_forks(struct wopr_error *err);                                         /* QUOTA */
void bound_tenant_bytes(struct engine *e, const struct plan *p, struct wopr_error *err); /* QUOTA */
/* May the command make the log longer?  false: it was refused, and answered. */
bool bound_pause(struct step *st, struct engine_cmd *cmd);
bool bound_note(struct step *st, struct engine_cmd *cmd, const struct intr_state *i, bool vote,
                size_t bytes);

/* --- attempt.c --- */
void attempt_start(struct step *st, int node);
void attempt_run(struct step *st, int node, bool waited);
void attempt_failed(struct step *st, int node, const struct failure *f);
void attempt_timed_out(struct step *st, int node); /* step.c: timeoutMs of a node is over */

/* --- children.c: runs that nodes wait for (WF-45..51) --- */
/* The executor asked for a child: find it, or prepare its creation. */
void children_want(struct step *st, int node, const struct node_child *want);
/* Take in what happened to them; enters the executors of those that ended. */
void children_step(struct step *st);
/* Pauses passed on and children nobody waits for; also while the run is paused. */
void children_errands(struct step *st);
bool children_hold(const struct run_exec *re, int node); /* -1 = any: it waits for a child */
bool children_wanted(const struct run_exec *re);         /* one is to be created next turn */
void children_timed_out(struct step *st, int node);      /* before its attempt fails */
/* After the fold: what the log and the store say about children and parent. */
MUST_CHECK int children_load(struct step *st, struct wopr_error *err);
/* Another host moved a run (run_no 0: any): who waits for it looks.  With engine.mu held. */
void children_moved_locked(struct engine *e, int64_t run_no);
bool children_elsewhere(const struct run_exec *re);
void children_timer(struct run_exec *re); /* TIMER_CHILD: look at all */
void children_forget(struct run_exec *re);
void children_free(struct run_exec *re);

/* --- cascade.c: between parents and children --- */
struct kin_call *kin_call_new(struct step *st, enum engine_op op, struct str run_id,
                              const char *reason); /* NULL: no memory */
void kin_call_send(struct kin_call *c);            /* again is allowed once it was answered */
void kin_call_free(struct kin_call *c);            /* drops the caller's reference; takes NULL */
/* Send and forget. */
void kin_tell(struct step *st, enum engine_op op, struct str run_id, const char *reason);
/* by: cancelledBy of a child that ended with parent-cancelled.  true: the cancel of this run, or of
 * one above it, was cut off by a crash after it had reached the child, and goes on. */
bool cascade_goes_on(struct step *st, struct str by);
bool kin_transient(int rc); /* worth another try later */
enum cascade { CASCADE_CANCEL, CASCADE_TIMEOUT, CASCADE_FAILURE, CASCADE_LEFT };
/* Are all children down that may not outlive this end of the run (INT-41, INT-42)?  false: they are
 * being cancelled, the run is woken when that moves on, and after ENGINE_CASCADE_MS it is true
 * whatever they do. */
bool cascade_down(struct step *st, enum cascade why);
bool cascade_ends(const struct step *st); /* the run will fail as soon as its children are down */
bool cascade_sleeps(struct step *st);     /* true: nothing else is to be armed */
void cascade_pause(struct step *st, enum drain_policy drain);
void cascade_resume(struct step *st);
bool cascade_paused(struct step *st, int64_t run_no); /* paused by its parent's pause? */
void cascade_check_parent(struct step *st);           /* of a run just taken over */
void cascade_forget(struct run_exec *re);
/* Committed: the parent learns of what matters to it; it is loaded when it is not in memory. */
void children_tell(struct step *st, const struct plan *p);

/* --- effects.c --- */
/* CHAN-6; allowed: "readers" or "writers" */
struct failure channel_denied(struct step *st, int node, struct str channel, const char *allowed);
/* 0, or f is filled and WOPR_E_VALIDATION: the node fails with it. */
MUST_CHECK int effect_apply(struct step *st, int node, const struct node_effect *x,
                            struct failure *f);
MUST_CHECK int outputs_mask(struct step *st, int node, struct str outputs, struct str *shown);
void outputs_swap(struct run_exec *re); /* clear values in, or out again */

/* --- suspend.c: questions of nodes (EVT-26, EVT-29) --- */
void suspend_begin(struct step *st, int node, const struct node_result *r);
void suspend_timed_out(struct step *st, int node);
/* Only the failure that follows; seq: of the first event that tells of the timeout. */
void suspend_timed_out_told(struct step *st, int node, int64_t seq);
/* The run ended: what it still asked is asked no more. */
void suspend_close_all(struct step *st);
/* Asleep, the run waits for nothing but answers: it goes out of memory, and whoever has an answer
 * (or the sweep, for a deadline) takes it up again. */
bool suspend_rests(const struct step *st);

/* --- resolve.c: answers (EVT-27, INT-14 to INT-34) --- */
void resolve_apply(struct step *st,
                   struct engine_cmd *cmd); /* answers cmd or puts it in the plan */
/* Of a run that has ended, from the rows: fills cmd->result. */
void resolve_settled(struct engine *e, struct engine_cmd *cmd, int64_t run_no, struct arena *a);

/* --- invoke.c: what leaves the host for a node (STORE-42) --- */
/* Adds the rows of a run to what is known: its own, or those that answer a replay. */
MUST_CHECK int invoke_load(struct step *st, int64_t run_no, struct wopr_error *err);
void invoke_forget(struct run_exec *re); /* the state goes; what came back stays */
void invoke_free(struct run_exec *re);
/* What is recorded of the present activation of a node, for its executor. */
void invoke_answers(struct step *st, int node, struct node_call *call);
/* The executor asked for a request: claim it in the plan. */
void invoke_claim(struct step *st, int node, const struct node_result *r);
/* Answers that came back: into the plan, and their nodes are entered again. */
void invoke_arrived(struct step *st);
void invoke_landed(struct step *st); /* committed: outcomes are safe, claims may go out */
bool invoke_waits(const struct run_exec *re, int node); /* -1 = any node: a request is out */

/* --- answer.c: outcomes of requests as text --- */
void outcome_render(const struct egress_response *r, struct buf *out);
void outcome_parse(struct str outcome, struct arena *a, struct node_answer *out);

/* --- control.c --- */
/* True when the command was answered or put into the plan. */
void control_apply(struct step *st, struct engine_cmd *cmd);
void control_take_over(struct step *st);
void control_unpause(struct step *st); /* a pause inherited by a fork ends */

/* --- timers.c --- */
MUST_CHECK int timer_arm(struct run_exec *re, int kind, int node, int64_t fire_at_ms, bool durable);
/* From the store's row: running on, or stopped by a pause. */
MUST_CHECK int timer_restore(struct run_exec *re, const struct timer_row *row, int node);
struct exec_timer *timer_find(struct run_exec *re, int kind, int node);
void timer_drop(struct run_exec *re, int kind, int node);
void timers_drop_all(struct run_exec *re);
bool timer_take_fired(struct run_exec *re, struct exec_timer *t); /* fired since the last look? */
/* The same with the row in the plan. */
void step_timer_set(struct step *st, enum timer_kind kind, int node, int64_t delay_ms);
void step_timer_clear(struct step *st, enum timer_kind kind, int node);
void step_timers_stop(struct step *st); /* pause */
void step_timers_resume(struct step *st);
void step_timers_clear(struct step *st); /* the run ended */
void *timer_main(void *arg);

/* --- upkeep.c: heartbeat, sweep, housekeeping; called by the timer thread --- */
struct upkeep {
    uint64_t beat_ms, sweep_ms, purge_ms;
    int64_t sweep_from;
};
/* A run into memory, to be looked up by a worker; false when the tables are full. */
bool sweep_add(struct engine *e, int64_t run_no, struct str tenant, const struct run_head *h);
/* Does what is due and returns the next deadline (monotonic ms). */
uint64_t upkeep_run(struct engine *e, struct upkeep *u, uint64_t now_ms);
void upkeep_release(struct engine *e);

/* --- peers.c: other hosts on the file --- */
MUST_CHECK int peers_new(struct engine *e, struct wopr_error *err);
MUST_CHECK int peers_join(struct engine *e, struct wopr_error *err); /* before any run is taken */
MUST_CHECK int peers_start(struct engine *e, struct wopr_error *err);
void peers_stop(struct engine *e);
void peers_free(struct engine *e);
void peers_kick_locked(struct engine *e);      /* look around now */
void peers_first_run_locked(struct engine *e); /* there is something to listen for */
/* May the run's lease be claimed?  *beat is for the claim. */
bool peers_lease_free(struct engine *e, const struct run_head *h, int64_t *beat);
/* A sweep meets an unfinished run of this holder: is that a living host other than us? */
bool peers_holds(struct engine *e, int64_t holder_no);
void peers_sweep_begins(struct engine *e);
/* After a whole sweep: number of a dead host that holds nothing, each once; 0 = no more. */
int64_t peers_next_dead(struct engine *e);
/* Ask the living holder of the run and look again soon; false: asked long enough, or no memory. */
bool peers_ask(struct step *st, const struct run_head *h);
bool peers_ask_landed(struct step *st, int rc); /* true: the turn goes on */
void peers_ask_again(struct run_exec *re);      /* the claim came too late: look again soon */
/* Give the run away if nothing here is to be done for it first; true: the turn ends. */
bool peers_give(struct step *st);
bool peers_give_landed(struct step *st, int rc); /* true: the turn goes on */
/* Is a suspect run still ours?  false: it was dropped, or is loaded again. */
bool peers_check(struct step *st);
void peers_suspect_locked(struct engine *e); /* we were silent too long: every run is suspect */

/* --- wfcache.c --- */
MUST_CHECK int wfcache_by_hash(struct engine *e, const struct sha256 *hash, struct arena *a,
                               struct workflow **out, struct wopr_error *err);
void wfcache_free(struct engine *e);

/* --- registry.c --- */
const char *registry_missing(const struct node_type *t, const char *const *have); /* NODE-4 */

#endif
