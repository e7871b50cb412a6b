/*
 * exec.h: struct run_exec, a run in memory: tables, mailbox, reload.  Layer: engine, not for
 * others.
 * Who may touch what: the members marked (mu) are guarded by engine.mu.  All others belong to
 * whoever runs the exec: the worker while `running`, nobody while `inflight` (its plan or lease
 * request is on the committer).
 */
#ifndef WOPR_ENGINE_EXEC_H
#define WOPR_ENGINE_EXEC_H

#include "engine/core.h"

#define ENGINE_BACKOFF_MS_MAX 5000 /* between two attempts to load a run again */

struct fork_job;    /* fork.c */
struct fork_info;   /* fork.h */
struct replay;      /* replay.c */
struct invocation;  /* invoke.c */
struct invoke_call; /* invoke.c */

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

/* A new exec, in no table yet; NULL: no memory, or run_id is too long. */
struct run_exec *exec_new(struct engine *e, struct str run_id);
MUST_CHECK int exec_set_parent(struct run_exec *re, struct str parent_id, int32_t depth,
                               uint32_t flags);
void exec_free(struct run_exec *re); /* takes NULL */

MUST_CHECK int exec_register_locked(struct engine *e, struct run_exec *re, struct str tenant);
void exec_unregister_locked(struct run_exec *re);
MUST_CHECK int exec_register_no(struct run_exec *re);
/* Puts an exec in phase NEW into the tables and queues it; UNAVAILABLE when there is no room, QUOTA
 * when the tenant has its share. */
MUST_CHECK int exec_begin(struct run_exec *re, struct str tenant);
/* Puts an unfinished run into memory, to be looked up by a worker; false when the tables are
 * full. */
bool exec_add(struct engine *e, int64_t run_no, struct str tenant, const struct run_head *h);

/* Takes the exec out of the tables and frees it (true); with mail waiting it goes back to LOOKUP
 * and stays. */
bool exec_drop(struct run_exec *re);
void exec_forget_state(struct run_exec *re); /* state, timers, plan; commands stay */
/* After a failed commit memory is not trusted: fold again, at once or after a backoff. */
void exec_reload(struct run_exec *re, bool later);

struct engine_cmd *exec_mail_take(struct run_exec *re);
void exec_mail_put_back(struct run_exec *re, struct engine_cmd *cmd); /* at the front */

#endif
