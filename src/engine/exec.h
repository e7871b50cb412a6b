/*
 * exec.h: struct run_exec, a run in memory: tables, mailbox, reload.  Layer: engine, not for
 * others.  Who may touch what: what is marked (mu) is guarded by engine.mu.  All else belongs to
 * the runner of the exec: the worker while seat.running, no thread while seat.inflight (its plan or
 * lease request is on the committer).
 */
#ifndef WOPR_ENGINE_EXEC_H
#define WOPR_ENGINE_EXEC_H

#include "engine/core.h"
#include "engine/phase.h"
#include "engine/resolved.h"
#include "store/runs.h"

#define ENGINE_BACKOFF_MS_MAX 5000 /* between two attempts to load a run again */

struct fork_job;    /* fork.c */
struct fork_clear;  /* fork_clear.c */
struct fork_info;   /* fork.h */
struct timeline;    /* timeline.h */
struct invocation;  /* invoke.c */
struct invoke_call; /* invoke.c */

/* Parts of struct run_exec, each with the file that owns it. */
struct seat { /* (mu) queue.c: place in the ready queue */
    struct list ready;
    bool queued, running;
    bool inflight;         /* a commit is on the committer */
    bool again;            /* woken while running or in flight */
    bool large;            /* by its last turn, or its submission */
    struct tenant *tenant; /* NULL before it is in the tables */
    bool copying;          /* a fork that holds one of its tenant's slots */
    bool waits_slot;       /* a fork that waits for one */
};
struct residence {       /* evict.c: its state in memory */
    struct list resting; /* (mu) in engine.states.resting: it has a state and only waits */
    size_t bytes;        /* (mu) of its state, as counted in engine.states.bytes */
    size_t log_bytes;    /* without a state: bytes to be folded, as far as known */
    bool leaves;         /* (mu) asked to give up its state */
    bool keeps;          /* its state equals its folded log and may be needed soon: kept.c */
    bool dozes;          /* LOADING, but only when something needs the state */
    bool stays;          /* its state cannot be dropped before its next event */
};
enum mail { /* a cancel is next whatever else waits; the others take turns */
            MAIL_CANCEL,
            MAIL_CONTROL,
            MAIL_TASK, /* what workers say */
            MAIL_NR
};
struct mail_queue { /* commands of one kind, in the order in which they came */
    struct engine_cmd *first, **end;
};
struct mailbox {                   /* exec.c */
    struct mail_queue of[MAIL_NR]; /* (mu) */
    bool task_next;                /* (mu) whose turn it is among the others */
    size_t large_nr;               /* (mu) how many of them are large */
    _Atomic bool any;              /* set under mu; read without at event boundaries (RUN-25) */
    bool waits;                    /* the last turn left work for commands: now they wait for it */
};
struct stuck { /* stuck.c */
    unsigned tries;
    int node;    /* at which it happened last, -1 = none */
    bool singly; /* the store refused a plan: one thing a plan, to see which it is */
    bool cancel; /* not even a cancel can be planned */
    char why[200];
};
struct commit { /* step.c, create.c, fork.c: the commit in flight, and the memory of failures */
    struct plan *plan;      /* in flight */
    struct engine_cmd *cmd; /* whose effect is in plan; NEW: the creation */
    int node_at;            /* as in struct step when the plan went out */
    int rc;                 /* (mu) what came back from the committer */
    int64_t backoff_ms;     /* after the last failure, 0 = none */
    unsigned load_tries;    /* folds in a row that failed for a reason that stays */
    bool distrusts;         /* a checkpoint led nowhere: the next load folds the whole log */
    struct stuck *stuck;    /* stuck.c: plans in a row that cannot be taken; NULL: none */
};
struct lease {                     /* load.c, peers.c */
    int64_t epoch;                 /* fencing epoch under which the run is ours */
    int64_t claimed_epoch;         /* (mu) by the landed claim */
    int64_t seen_epoch, seen_beat; /* what the claim in flight relies on */
    bool unpark;                   /* the claim unparks the run, to cancel it */
    bool swept;                    /* recovery wants the run, not only a command */
    bool taken;                    /* the lease is fresh: the next load is a takeover */
    bool take_over;                /* the next step begins with the events of EVT-32 */
    char *old_holder;              /* before us; "" = none */
    int64_t old_epoch;
    bool released;          /* old_holder has released all its leases */
    bool asked;             /* we asked old_holder for the run; at a takeover: it agreed */
    uint64_t ask_ms;        /* monotonic: when to ask again, 0 = not yet */
    uint64_t ask_end_ms;    /* monotonic: when to give up, 0 = not yet */
    _Atomic bool requested; /* another host asks for the run */
    uint64_t requested_ms;  /* monotonic: since when, 0 = not handled yet */
    unsigned requested_nr;  /* turns since then that its own commands had */
    _Atomic bool suspect;   /* the lease may be lost */
};
struct kin {         /* children.c, cascade.c; what it links follows from log and store */
    char *parent_id; /* NULL = not a child */
    int32_t depth;
    uint32_t flags;          /* of this run as a child: CHILD_AWAITED ... */
    _Atomic bool news;       /* a child changed, or answered a command */
    struct list children;    /* struct exec_child */
    struct list cancels;     /* struct exec_stop: cancels of the cascade under way */
    uint64_t cascade_ms;     /* monotonic: when to stop waiting for it, 0 = no cascade */
    int cascade_why;         /* enum cascade_cause */
    size_t open_bound;       /* upper bound of unfinished children */
    bool had_children;       /* the store may have some */
    bool stall_emitted;      /* WF-51 was emitted for the node now held */
    enum drain_policy drain; /* of the pause in force */
};
struct exec_requests {       /* invoke.c */
    struct invocation *rows; /* of this run */
    size_t rows_nr, rows_cap;
    struct invoke_call *recorded; /* their outcomes are in the plan in flight */
    struct invoke_call *answers;  /* (mu) answers not taken in yet */
    _Atomic bool has_answers;     /* set under mu */
    _Atomic bool has_pieces;      /* a stream has more text; set under mu */
    bool pieces_held;             /* (mu) TIMER_PIECES will look for them */
};
struct exec_tasks {         /* task.c */
    unsigned char *of_node; /* enum task_mark per node; NULL: the run had none */
    size_t open_nr;         /* marks that are not zero */
    size_t due_nr;          /* of them, those that something is to be done about */
    bool held;              /* its ready rows are held: the run is paused */
    bool stale;             /* some open rows have no node that waits for them */
};
struct exec_timers {        /* timers.c */
    struct list all;        /* struct exec_timer */
    size_t nr;              /* of them */
    struct exec_timer **of; /* once there are many: by node plus one, linked by next_of; or NULL */
    unsigned fired_nr;      /* (mu) timers with fired set */
    struct heap *due;       /* (mu) once there are many: these, by time; or NULL */
};
struct exec_fork {                         /* fork.c */
    struct fork_job *job;                  /* in phase FORKING */
    struct fork_clear *clear;              /* in phase FORKING: fork_clear.c */
    void (*job_free)(struct run_exec *re); /* of fork.c, with job */
    struct fork_info *info;                /* of a fork; NULL: none, or not known yet */
};

struct exec_checkpoint { /* checkpoint.c: the newest one of its state, none: all zero */
    int64_t seq, log_bytes;
    size_t image_bytes; /* expected size of the next one */
    bool used;          /* the fold began with a checkpoint */
};

struct run_exec {
    struct engine *engine;
    int64_t run_no;        /* 0 = not known yet */
    enum exec_phase phase; /* changed by exec_move only */
    struct workflow *wf;
    struct run_state *state;
    int32_t *skips;    /* per node: effects to omit because the log has them; or NULL */
    int64_t paused_ms; /* acceptance time of the pause in force (RUN-27) */
    int64_t folds_to;  /* LOADING: the length of the log that is being folded */
    bool stalled;      /* workflow.stalled was emitted for this stall */
    uint64_t turns;    /* steps so far */

    struct seat seat;
    struct residence memory;
    struct mailbox mail;
    struct commit commit;
    struct lease lease;
    struct kin kin;
    struct exec_requests requests;
    struct exec_tasks tasks;
    struct exec_timers timers;
    struct exec_fork fork;
    struct exec_checkpoint checkpoint;
    struct resolved_list resolved; /* credentials that its nodes were given here */
    int64_t remembered_ms;         /* time of its latest entry of memory, 0 = none here */
    struct timeline *timeline;     /* directs a live replay; NULL: the wall clock does */
    char run_id[];                 /* terminated */
};

/* What a turn decided about its exec.  Functions of a turn return it and must not touch the exec
 * after anything but TURN_GO_ON; exec_turn alone drops and reloads. */
enum turn {
    TURN_GO_ON,  /* in the phase that the exec is in now */
    TURN_END,    /* until a commit lands or the exec is woken */
    TURN_RELOAD, /* memory is not trusted: fold the log again at once */
    TURN_LATER,  /* the same after a backoff */
    TURN_DROP    /* the exec leaves memory, or is looked up again if it has mail */
};

/* A new exec, in no table yet; NULL: no memory, or run_id is too long. */
struct run_exec *exec_new(struct engine *e, struct str run_id, enum exec_phase phase);
MUST_CHECK int exec_set_parent(struct run_exec *re, struct str parent_id, int32_t depth,
                               uint32_t flags);
void exec_free(struct run_exec *re); /* takes NULL */

/* Into and out of the table by id, with its tenant; and, once it is known, by number.  NO_MEMORY,
 * nothing changed then. */
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

/* Another host changed a run (run_no 0: any): wake the exec that waits for it. */
void exec_awaited_moved_locked(struct engine *e, int64_t run_no);

/* To the end of the mailbox; cmd is the exec's until it is answered.  Does not wake. */
void exec_mail_add_locked(struct run_exec *re, struct engine_cmd *cmd);
/* The next command, the caller's, cancels first; NULL: none. */
struct engine_cmd *exec_mail_take(struct run_exec *re);
void exec_mail_put_back(struct run_exec *re, struct engine_cmd *cmd); /* ahead of its kind */

#endif
