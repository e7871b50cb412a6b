/*
 * state.h: fold (log -> run state), status tables, and the scheduler's next action.  Layer: domain
 * (pure).
 *
 * The state of a run is a function of its immutable creation data and its log (EVT-41): time is the
 * time of the events, never that of a clock.  One owner at a time; no locks.
 *
 * Invariants (run_state_broken)
 *   R1  next_seq equals the number of events applied
 *   R2  a final run has no running, suspended or ready node
 *   R3  only a final run has completed_ms
 *   R4  the status changes only along the run edges of events.def
 *   R5  the edges of a node are settled once per activation
 *   R6  a failed run has an error
 *   R7  a pending run has started no node
 *   R8  status and current node of a running run are those its suspended nodes ask for (INT-12)
 *   R9  `bytes` is the size of the values of the state
 *   N1  only a pending node waits for a retry
 *   N2  only a suspended node is drained by a pause
 *   N3  a node asks for a waiting status or none
 *   N4  the counters are those of the nodes
 *   N5  the earliest retry is found without looking at every node
 *   N6  a loop or firing that is wanted is due, or waits for a node that is busy
 *   V1  a change is pinned once
 *   V2  votes and questions count only if the resolution layer wrote them for a suspended node, and
 *       votes only of listed approvers, by action (test_interrupt: quorum_cannot_be_forged)
 *
 * Duties of callers
 *   A failed fold leaves the state half moved: free it and fold the log again.  End running and
 *   suspended nodes by their own events before the run's terminal event (R2).  The log masks
 *   sensitive values: give the fold the clear ones beside the event (event.clear).
 */
#ifndef WOPR_DOMAIN_STATE_H
#define WOPR_DOMAIN_STATE_H

#include "domain/event.h"
#include "domain/framework.h"
#include "domain/options.h"
#include "domain/reducer.h"
#include "domain/workflow.h"

/* Stored as integers: never reorder (D35 keeps the finest values). */
enum run_status {
    RUN_PENDING,
    RUN_RUNNING,
    RUN_PAUSED,
    RUN_WAITING_APPROVAL,
    RUN_WAITING_INPUT,
    RUN_WAITING_EXTERNAL,
    RUN_CANCELLING,
    RUN_COMPLETED,
    RUN_FAILED,
    RUN_CANCELLED,
    RUN_STATUS_NR
};
const char *run_status_name(enum run_status s); /* "waiting-approval", as OpenWOP spells it */
bool run_status_final(enum run_status s);
bool run_status_waiting(enum run_status s); /* for a person, or for something outside */
/* The run edges of events.def (10-http-core 5.3): the status after kind, `from` itself if the event
 * does not move the run, -1 if it is refused. */
int run_edge(enum run_status from, enum ev_kind kind);

enum node_status {
    NODE_PENDING,
    NODE_RUNNING,
    NODE_SUSPENDED,
    NODE_COMPLETED,
    NODE_FAILED,
    NODE_SKIPPED,
    NODE_CANCELLED,
    NODE_STATUS_NR
};
const char *node_status_name(enum node_status s);

struct text { /* owned bytes (mem_*), may be empty */
    char *p;
    size_t n;
};
MUST_CHECK int text_set(struct text *t, struct str s); /* 0 or WOPR_E_NO_MEMORY (t unchanged) */
/* Frees and empties it. */
void text_clear(struct text *t);
static inline struct str text_str(const struct text *t) {
    return (struct str){t->p ? t->p : "", t->n};
}

/* Private to sched*.c: derived from the log like everything else here, zero at the start.
 * PHASE_HELD: a channel-write trigger starts the node once its channel has been quiet for its
 * period. */
enum sched_phase { PHASE_IDLE, PHASE_READY, PHASE_SKIP, PHASE_HELD, PHASE_BEGUN, PHASE_SETTLED };
struct sched_tally { /* incoming non-loopback edges of one trigger rule */
    uint32_t total, open, yes, no, skipped, failed;
};
struct sched_node {
    enum sched_phase phase;
    size_t pos;         /* position in the ready or skip heap */
    uint8_t reason;     /* enum sched_skip */
    bool loop_pending;  /* a loopback fired; re-entry waits until the loop region is quiet */
    bool loop_over;     /* the re-entry exceeds the loop limit: SCHED_LOOP_LIMIT */
    bool mark;          /* scratch of region walks, false between calls */
    int32_t loops;      /* loopbacks into this node since its last entry from outside (WF-12) */
    int32_t round;      /* of the loop whose head this is, 0 in the first: sched_activation.c */
    int blocker;        /* node plus one that a pending loop waits for, 0 = not known; a cache */
    int32_t loop_limit; /* limit that was exceeded, for workflow.loopback-limit */
    int32_t fired_by;   /* trigger that began this activation, plus one; 0 = none (CHAN-21) */
    int32_t fire_depth; /* firings that led to it, one upon the other */
    int64_t due_ms;     /* HELD: start not before */
    int64_t cause_seq;  /* the channel.written of the firing, 0 = none (EVT-4) */
    struct sched_tally in[RULE_NR];
};
struct sched_settling { /* what the last event leaves to be settled: sched_settle.c */
    int node;           /* the ended node, plus one; 0 = nothing is left */
    size_t at;          /* its edges so far: all of them for loopbacks, then again for the others */
    bool looped;        /* a loopback fires: a round follows */
    bool costs;         /* the current edge has a condition */
    int64_t now_ms;     /* clock of the conditions (CHAN-17) */
    uint64_t steps;     /* left for the conditions; decides */
    uint64_t work;      /* bytes that they took so far: for the pace, decides nothing */
    struct cond_view *view; /* what they see, made by the first of them */
};
#define TRIGGER_QUEUE_MAX 1024u
struct trigger_fire { /* a write that a trigger must still answer */
    int64_t seq, ts_ms;
    int32_t depth;
};
struct trigger_state { /* of one wf_trigger */
    struct trigger_fire *v;
    size_t n, cap;
    int blocker; /* as of sched_node */
};
struct node_state {
    enum node_status status;
    int32_t attempt;    /* zero-based (D36) */
    int32_t activation; /* earlier activations; never falls back (sched_activation.c) */
    int64_t started_ms, completed_ms; /* 0 = not yet */
    int64_t retry_at_ms;              /* > 0: waiting for a retry until then */
    int32_t chunks;  /* output.chunk events of this attempt: a streaming executor resumes there */
    int32_t effects; /* effects (EV_F_EFFECT) of this attempt in the log */
    int32_t pieces;  /* chunks among them that end no answer */
    bool recorded;   /* this attempt left effects in the log, pins and hand-offs apart */
    int64_t started_seq;   /* of the node.started in force */
    int64_t clock_ms;      /* logical clock of the attempt: time of its last event (FORK-14) */
    bool pause_drained;    /* suspended by a pause drain (WF-44), not by an interrupt */
    bool child_waits;      /* suspended because its child run is (EVT-39) */
    enum run_status waits; /* NODE_SUSPENDED: what the run shows for it (INT-12), RUN_RUNNING for a
                            * drain */
    int64_t suspended_seq; /* of the node.suspended in force: "earliest" of INT-12 */
    bool disabled_skip;    /* skipped because disabled: counts as success (WF-5) */
    bool dirty, queued;
    struct text outputs, error; /* raw JSON, as shown; error = {"code","message",...} */
    struct text clear;          /* outputs as nodes of the run read them; empty when equal */
    struct text cost;           /* what its activations cost, added up (domain/cost.h), or empty */
    bool masked;                /* some of the outputs are shown masked */
    int32_t terminal_n;         /* terminal outcomes so far (D56) */
    struct node_orch {        /* state_orch.c: supervisors and dispatchers, as they were started */
        int64_t mark;         /* supervisor: decisions before it; dispatcher: which execution */
        int64_t seq;          /* dispatcher: of the decision that it acts on, 0 = none */
        struct text decision; /* that decision, raw */
    } orch;
    struct conversation *conversation; /* that this activation opened, or NULL (conversation.h) */
    struct sched_node sched;           /* of sched*.c; the fold leaves it alone */
};
/* The outputs as nodes of the run read them. */
static inline struct str node_outputs_clear(const struct node_state *n) {
    return text_str(n->clear.n > 0 ? &n->clear : &n->outputs);
}
enum edge_state { EDGE_OPEN, EDGE_TRUE, EDGE_FALSE, EDGE_SKIPPED, EDGE_FAILED };
struct var_state {
    struct text name, value; /* value: raw JSON, clear (not masked) */
    struct text shown;       /* sensitive: what the outside sees, empty = nothing (mode omit) */
    bool sensitive;          /* declared so, or written with a sensitive value */
    bool dirty;
};
static inline struct str var_shown(const struct var_state *v) {
    return text_str(v->sensitive ? &v->shown : &v->value);
}
struct chan_entry {
    int64_t seq, ts_ms;
    uint64_t id; /* hash of the identity (messageId, voter), 0 = none */
    uint8_t by;  /* enum reducer of the write: defines the identity behind id */
    bool fresh;  /* written since the last plan_project */
    struct text
        value; /* raw JSON: the value, or {"value","_ts"} in an undeclared channel (CHAN-28) */
};
struct chan_state {
    struct text name;
    const struct wf_channel *decl; /* NULL = undeclared: shown under variables */
    enum reducer reducer;          /* of the last write */
    int64_t ttl_ms;                /* in force at the last write, 0 = none (CHAN-16) */
    struct chan_entry *v;          /* list reducers: entries; others: at most one */
    size_t n, cap;
    bool is_list;
    bool sensitive;    /* shown masked as a whole: declared so, or written with a sensitive value */
    struct text shown; /* sensitive, replace, mode hash: the digest that its last write shows */
    struct sum *sum;   /* counter: exact sum of its writes, valid while summed */
    bool summed;
};
/* The first write whose schema version this host's declaration does not accept (CHAN-18). */
struct chan_break {
    int chan;
    int64_t version, seq; /* of the write; seq 0 = none */
};
/* A projected entry that was removed since the last plan (new ones are marked fresh). */
struct chan_op {
    int chan;
    int64_t seq;
};
struct intr_vote { /* of one voter, the newest (INT-30) */
    struct text voter;
    uint64_t hash; /* of voter */
    bool rejects;
};
enum intr_phase { INTR_OPEN, INTR_RESOLVED, INTR_ENDED /* timed out, cancelled */ };
struct intr_state { /* an interrupt, kept for the life of its run (INT-2); see interrupt.h */
    int node, kind; /* enum intr_kind */
    int32_t activation;
    enum intr_phase phase;
    int64_t requested_seq, requested_ms, timeout_ms; /* 0 = none */
    struct intr_notes {
        int64_t nr, bytes;    /* in the log */
    } asks, votes;            /* questions and votes that did not resolve it */
    struct intr_vote *voters; /* while open */
    size_t voters_nr, voters_cap;
    struct text id, key;
    struct text payload;                   /* raw, while open */
    struct text value, action, decided_by; /* resolved: raw value, words */
};
/* Pinned change versions (VER-7).  V1 a change is pinned once. */
#define PIN_CHANGE_ID_MAX 256u                      /* bytes */
#define PIN_VERSION_MAX   INT64_C(9007199254740991) /* survives JSON readers with doubles */
struct pin_state {
    struct text change_id;
    int64_t version, seq; /* seq: of the version.pinned */
    int node;             /* that pinned it, -1 = unknown */
};
/* Immutable creation data of a run (RUN-9, D18). Texts are borrowed by run_state_new and copied. */
struct run_meta {
    struct str run_id, workflow_id, tenant, workspace, scope_id;
    struct str subject; /* raw JSON Subject */
    struct str configurable, tags, metadata, callback_url, traceparent;
    struct str inputs;       /* raw object of declared inputs, as shown, in declaration order */
    struct str inputs_clear; /* raw object of the masked ones; empty: none, or not known */
    bool sealed;             /* some inputs are masked */
    struct str transport;    /* "rest" or "mcp": how it came in, for people; decides nothing */
    struct str agents, agents_digest; /* struct agent_set (AGT-46); empty: none, or not read */
    struct str modules; /* raw object: the digest of a pack for each type of packs; or empty */
    bool test_mode;
    bool led; /* shows a session of rail/, which alone adds to it: the engine executes nothing */
    int32_t shown_engine_version; /* as printed; CURRENT_ENGINE_VERSION unless forced (VER-11) */
    int64_t created_ms;
    int64_t recursion_limit;
};
/* Parts of struct run_state, each with the files that change it. */
struct run_clock {                    /* state.c */
    int64_t started_ms, completed_ms; /* 0 = not yet */
    int64_t waited_ms, wait_since_ms; /* time not counted by run_timeout (WF-23) */
};
struct run_failure { /* sched_judge.c */
    int node;        /* first unhandled failure or -1 */
    int64_t seq;     /* of the last node.failed, -1 = none (EVT-4) */
};
struct node_counts { /* state_node.c: N4 */
    size_t running, suspended, retry;
};
struct sched_state { /* sched*.c; empty until the run starts */
    enum edge_state *edges;
    int *ready; /* min-heap of node indexes (WF-14: definition order) */
    size_t ready_nr;
    int *skips;                      /* min-heap of nodes that can only be skipped */
    size_t skips_nr, loops_nr;       /* loops_nr: heads whose loop is pending */
    size_t unsettled_nr;             /* nodes that have not ended */
    struct trigger_state *triggers;  /* one per trigger of the workflow */
    struct sched_wishes *wishes;     /* loops and triggers that wait for a quiet region, or NULL */
    int *region;                     /* scratch of sched_activation.c, made with wishes */
    struct due_tree *retries, *held; /* nodes that wait for a time; retries: made by the first */
    size_t held_nr, asleep_from;     /* no trigger before asleep_from has a node that sleeps */
    struct sched_settling settling;
};
struct run_variables { /* state.c */
    struct var_state *v;
    size_t n, cap;
};
struct run_channels { /* state_channel.c */
    struct chan_state *v;
    size_t n, cap;
    struct chan_op *ops; /* since the last plan_project */
    size_t ops_nr, ops_cap;
    struct chan_break broken; /* CHAN-18: the run cannot continue */
};
struct run_interrupts {   /* state_interrupt.c */
    struct intr_state *v; /* in the order they were requested */
    size_t n, cap;
    struct intr_index *index; /* derived from v on demand, or NULL */
};
struct run_pins {        /* state_pin.c */
    struct pin_state *v; /* in log order */
    size_t n, cap;
};
enum cap_kind {
    CAP_NODE_EXECUTIONS,
    CAP_ORCHESTRATOR,
    CAP_DISPATCH,
    CAP_WASM_MEMORY,
    CAP_WASM_TIME,
    CAP_KIND_NR
};
struct run_cap { /* state_orch.c: the bound that was met, valid with cap_breached */
    enum cap_kind kind;
    int64_t limit, observed;
};
struct run_orch {         /* state_orch.c: what supervisors decided */
    struct text agent;    /* raw AgentRef of RunSnapshot.runOrchestrator, or empty (AGT-5) */
    struct text decision; /* the newest, raw, or empty */
    int64_t seq;          /* of its runOrchestrator.decided, 0 = none */
    int64_t decisions;    /* runOrchestrator.decided events */
    int64_t dispatches;   /* executions of dispatchers, without retries (DISP-11) */
    int ended_by;         /* the dispatcher that ended the run, plus one; 0 = none (DISP-8) */
};
struct run_secrecy { /* what the log shows masked */
    bool masks;      /* nodes may read values that the log shows masked */
    bool masked;     /* a value of the run was masked: something may be sealed for it */
    bool lost;       /* a value was folded without its clear form: nodes read the mask */
};
struct run_state {
    struct workflow *wf; /* counted */
    struct arena *arena; /* meta and fixed arrays */
    struct run_meta meta;
    struct run_options options;
    enum run_status status;
    enum run_status before_pause; /* status to show after run.resumed */
    int64_t next_seq, last_ts_ms;
    int64_t log_bytes;     /* of the events so far, see event_bytes() */
    int64_t pauses;        /* run.paused events */
    int64_t started_count; /* node.started events (EVT-25) */
    size_t bytes; /* of the values held here: what a snapshot shows and what memory costs */
    struct run_clock clock;
    struct node_state *nodes;
    struct node_counts counts;
    struct wait_queues *waits; /* derived from nodes on demand, or NULL */
    int current_node;          /* node index or -1 (INT-12) */
    struct run_failure failure;
    bool cap_breached, end_reached;
    bool dirty_run;
    struct sched_state sched;
    struct run_variables variables;
    struct run_channels channels;
    struct run_interrupts interrupts;
    struct run_pins pins;
    struct run_secrecy secrecy;
    struct run_cap cap;
    struct run_orch orch;
    struct text error;   /* raw {"code","message","details"?} of run.failed */
    struct text agent;   /* raw AgentRef shown on the snapshot */
    struct text outputs; /* raw outputs of run.completed */
    size_t inputs_seen;  /* bytes of the inputs as conditions see them; 0 = not asked yet */
    void *program;       /* of wf->program (program.h); NULL: the run is of a workflow */
};
/* --- state_orch.c --- */
/* The id under which the node speaks, a raw JSON string: that of its pin; a supervisor without one
 * has config.agentId, else "host:orchestrator" (ORCH-5), an agent "host:agent".  Empty: the node is
 * no agent. */
struct str node_agent_id(const struct wf_node *n);
/* DISP-10: the sequence of the decision that the events of a dispatcher are caused by, else -1. */
int64_t orch_cause(const struct run_state *s, int node);
/* The word of cap.breached. */
const char *cap_kind_name(enum cap_kind k);

/* Fresh state of a pending run.  Takes a reference on wf. */
MUST_CHECK int run_state_new(struct workflow *wf, const struct run_meta *meta,
                             const struct run_limits *limits, struct run_state **out,
                             struct wopr_error *err);
void run_state_free(struct run_state *s); /* takes NULL */
/* Fold one event.  seq must equal next_seq (else WOPR_E_CORRUPT).  An edge that does not exist, or
 * a broken payload of a known kind, is WOPR_E_CORRUPT (the caller parks the run); unknown kinds and
 * fields only count.  After a failure, of memory too, the state may be half moved: free it and fold
 * the log again. */
MUST_CHECK int run_state_apply(struct run_state *s, const struct event *e, struct wopr_error *err);
/*
 * The same in turns.  The event that ends a node leaves conditions to be evaluated, each of which
 * may take some 20 ms: run_state_begin applies the event, run_state_finish evaluates until nothing
 * is left or the pace says that the turn is over, at least one condition.  A busy state also
 * accepts the next event, after finishing at once; sched_next needs one that is not busy.
 */
struct run_pace {            /* applied between conditions; changes no result */
    uint64_t bytes_max;      /* of what conditions look at in a turn; 0 = no bound */
    bool (*over)(void *ctx); /* or NULL */
    void *ctx;
};
MUST_CHECK int run_state_begin(struct run_state *s, const struct event *e, struct wopr_error *err);
MUST_CHECK int run_state_finish(struct run_state *s, const struct run_pace *pace,
                                struct wopr_error *err); /* NULL: all of it; NO_MEMORY */
static inline bool run_state_busy(const struct run_state *s) { return s->sched.settling.node > 0; }
bool run_state_asks(const struct run_state *s); /* busy, and conditions are among what is left */
const char *run_state_broken(const struct run_state *s); /* NULL, or the broken rule */
struct var_state *run_state_var(struct run_state *s, struct str name); /* NULL when absent */
/* Replaces a value of s, which stays counted in s->bytes. */
MUST_CHECK int run_state_text_set(struct run_state *s, struct text *t, struct str value);
struct chan_state *run_state_chan(struct run_state *s, struct str name);
/* Folded value of a channel as raw JSON; read-time TTL filter with now_ms when > 0 (CHAN-17: the
 * clock of a live run, completed_ms of an ended one).  Appends nothing for a replace channel that
 * has neither writes nor default. */
MUST_CHECK int chan_value(const struct chan_state *c, int64_t now_ms, struct buf *out);
/* The same as the outside sees it (CHAN-24, SSE-18): a sensitive channel is one mask, also before
 * its first write, in mode "hash" the digest of its last write where that is the value (replace),
 * in mode "omit" nothing.  It follows from the log without any key. */
MUST_CHECK int chan_shown(const struct chan_state *c, struct str mode, int64_t now_ms,
                          struct buf *out);
/* May value be written to the channel (CHAN-1, 4, 12, 13; CHAN-22 is the variable's side)? Call it
 * before planning the event: the fold accepts whatever the log holds.  Pure.  WOPR_E_VALIDATION,
 * TOO_BIG, NO_MEMORY. */
MUST_CHECK int chan_write_check(const struct run_state *s, struct str channel, enum reducer r,
                                struct str value, struct wopr_error *err);
/* NULL when the change is not pinned; valid until the next event. */
const struct pin_state *run_state_pin(const struct run_state *s, struct str change_id);
struct pin_reply {
    int64_t version;
    bool record; /* not in the log yet: version.pinned comes first */
};
/* getVersion(change_id, min, max) of a running node (VER-7, EVT-33): the pin; without one max for a
 * new attempt, and min, the version before the change, for an attempt with effects or waits before
 * the call (waited: a wait is over). -1 can be answered but not pinned.  Pure.  VALIDATION: not (-1
 * <= min <= max, 0 <= max), or the id is empty or too long; VERSION_MISMATCH: pinned outside
 * min..max, out->version says to what; TOO_BIG: too many pins. */
MUST_CHECK int run_state_version(const struct run_state *s, int node, bool waited,
                                 struct str change_id, int64_t min, int64_t max,
                                 struct pin_reply *out);
/* Clear the dirty marks: after folding a stored log whose projection rows are known to be
 * written. */
void run_state_clean(struct run_state *s);
/* nodeStates[n] as shown (EVT-45), from state; outputs masked already in the log. */
void node_state_render(const struct node_state *n, struct buf *out);

/* --- what to do next (WF-7, 8, 11..15; NODE-10..19) --- */
#define SCHED_PARALLEL_MAX 8
enum sched_what {
    SCHED_WAIT,  /* nothing now: something runs, is suspended, or waits for a retry */
    SCHED_START, /* append node.started for node (first start or after the retry delay) */
    SCHED_SKIP,  /* append node.skipped for node with reason */
    SCHED_FAIL,  /* append node.cancelled of running and skipped of unreached nodes, then run.failed
                    of failure.node */
    SCHED_LOOP_LIMIT, /* append workflow.loopback-limit and fail node (EVT-40) */
    SCHED_CAP,        /* append cap.breached and run.failed: node must not start (EVT-25) */
    SCHED_COMPLETE    /* append run.completed */
};
struct sched_action {
    enum sched_what what;
    int node;           /* -1 when none */
    const char *reason; /* static text for skips */
};
/* Pure: reads only.  The state moves when the caller turns the action into events and applies them.
 * now_ms only decides whether a retry delay is over.  O(log nodes). */
void sched_next(const struct run_state *s, int64_t now_ms, struct sched_action *out);
/* Earliest retry_at_ms of any waiting node, or -1. */
int64_t sched_next_retry_ms(const struct run_state *s);
/* Earliest moment a channel-write trigger starts its node, or -1 (CHAN-20). */
int64_t sched_next_trigger_ms(const struct run_state *s);
/*
 * The scheduler's part of the fold; called by state*.c only.
 *
 * The fold owns     status, attempt, times, texts and retry_at_ms of a node; counts,
 *                   started_count, status and current_node of the run
 * The scheduler     sched, queued, activation and disabled_skip of a node; sched, failure.node
 *   owns            and end_reached of the run
 *
 * A retry is the fold's alone.  A loop re-entry (WF-13) makes a settled node pending again with
 * attempt 0, the next activation, no times and no error; its outputs stay until they are
 * overwritten, so that the next round can read them.
 *
 * Each returns 0, NO_MEMORY, or CORRUPT (a node settled twice in one activation).
 */
int sched_run_started(struct run_state *s); /* while run.started is applied; allocates the arrays */
void sched_node_started(struct run_state *s, int node); /* while node.started is applied */
/* While an event that ends a node is applied, after status, outputs and counters are set.
 * run_state_finish does the rest. */
int sched_node_settled(struct run_state *s, int node, struct wopr_error *err);
/* While channel.written is applied, after its value was folded; node: the writer or -1. */
int sched_channel_written(struct run_state *s, const struct chan_state *c, int node,
                          const struct event *e);
void sched_run_ended(struct run_state *s);     /* while a terminal run event is applied (R2) */
void sched_settling_drop(struct run_state *s); /* what conditions saw; it can be made again */
void sched_free(struct run_state *s);
/* Leaf outputs for run.completed: {"<leafNodeId>": outputs} appended to b (WF-15). */
MUST_CHECK int sched_outputs(const struct run_state *s, struct buf *b);
/* Input ports of a node resolved to one raw JSON object (NODE-6, WF-4).  WOPR_E_VALIDATION with a
 * message when a required port cannot be resolved (code input_unresolved at the node). */
MUST_CHECK int ports_resolve(struct run_state *s, int node, struct arena *a, struct str *out,
                             struct wopr_error *err);
/* A declared channel that an input of the node reads and the node may not (CHAN-5, 6);
 * NULL = none. */
const struct wf_channel *ports_denied(const struct run_state *s, int node, struct arena *a);

#endif
