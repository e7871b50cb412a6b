/*
 * plan.h: the changes of one commit, as data.  Layer: domain (pure).
 *
 * A plan is built by one thread, handed to the journal, and not touched again until it is given
 * back.  Its arena owns everything; it is counted because live readers share the committed batch.
 * The first failure sticks, journal_append refuses the plan, and the state is half moved: free it.
 *
 * Invariants
 *   P1  events have consecutive sequences from base_seq and times that do not decrease
 *   P2  no payload is unchecked or holds a credential shape: plan_event redacts, checks, folds,
 *       appends
 *   P3  the rows of a channel after plan_project are the entries of the fold
 */
#ifndef WOPR_DOMAIN_PLAN_H
#define WOPR_DOMAIN_PLAN_H

#include "domain/bounds.h"
#include "domain/state.h"

enum plan_what {
    PLAN_CREATE, /* insert a run row with the first events of its log and the status they lead to,
                  * or pending without an update */
    PLAN_RUN,    /* append to / update an existing run, fenced */
    PLAN_SIDE    /* no run: only an idempotent answer, entries of the audit log, or a session */
};
enum fork_mode { FORK_NONE, FORK_REPLAY, FORK_BRANCH }; /* stored: never reorder */
struct run_fork { /* a run's link to its source; mode NONE: not a fork */
    enum fork_mode mode;
    struct str source_run_id;
    int64_t source_run_no;
    int64_t from_seq; /* events before it are inherited (FORK-8) */
    int64_t base_seq; /* length of the source's log when it was forked (FORK-5) */
    int64_t cut_ms;   /* time of the last inherited event, 0 = nothing was inherited */
};
/* PLAN_CREATE of a fork.  Its base_seq is the cut: the fork's log refers to the events before it,
 * which are not copied; its own, if it has any, follow.  Its rows are the state after these; the
 * store adds the artifacts. */
struct plan_fork {
    struct run_fork link;
    int64_t prefix_bytes; /* of the inherited events, as event_bytes() counts */
    bool sealed; /* its state holds clear values of the source, which must not have ended (STALE) */
    int64_t row_bytes; /* filled by the store: of the state that the plan writes */
    int64_t bytes;     /* filled by the store: the same and the artifacts that the fork gets */
};
enum { CHILD_AWAITED = 1, CHILD_DETACHED = 2 }; /* stored: never renumber */
struct run_row_new {                            /* PLAN_CREATE; see struct run_meta */
    struct run_meta meta;
    struct sha256 workflow_hash;
    struct str holder; /* lease holder taking the run at once */
    int64_t lease_until_ms;
    bool dedup_enforce;    /* X-Dedup: enforce (RUN-7) */
    bool callback_answers; /* who asked for the run may answer its questions (RUN-12) */
    struct str parent_run_id, parent_node_id; /* empty = none */
    int32_t child_depth;                      /* parent's + 1, 0 = not a child (WF-48) */
    uint32_t child_flags;
    int64_t tenant_bytes_max; /* beyond this in the tenant's logs: QUOTA; 0 = no bound */
    struct var_inits vars;    /* initial projection rows */
    struct plan_fork *fork;   /* NULL = not a fork */
};
struct run_row_update { /* the columns a plan sets; all of them are written */
    enum run_status status;
    bool unread;                      /* the log was not folded: status, end and completed_ms are
                                       * written, what else the log says stays as the row has it */
    struct str current_node;          /* empty = NULL */
    int64_t started_ms, completed_ms; /* 0 = NULL */
    struct str error;                 /* raw or empty */
    struct str outputs;               /* raw or empty */
    struct str agent;                 /* raw or empty */
    struct str orchestrator;          /* the same */
    int64_t paused_ms;                /* 0 = NULL: acceptance time shown in conflicts (RUN-27) */
};
struct plan_node_row {
    struct str node_id, state; /* raw JSON of node_state_render */
};
struct plan_var_row {
    struct str name, value; /* as shown: masked when sensitive */
    bool omitted;           /* not shown at all (mode omit) */
};
/* A clear value, encrypted (store/vault.h), that the log shows masked.  Deleted when the run
 * ends. */
enum {
    SEALED_INPUTS = -1, /* object of the sensitive inputs, by name */
    SEALED_LEFT = -2,   /* variables that the parent of an ended child must still read */
    SEALED_TASKS = -16  /* from here downwards: what is sealed for the tasks of nodes */
};
/* From here upwards: recorded answers of nodes, which are no events (engine/answer_clear.h). */
#define SEALED_ANSWERS    (INT64_C(1) << 62)
#define SEALED_IMAGE(seq) (INT64_MIN + (seq)) /* place of a checkpoint, which is no such row */
struct plan_sealed {
    int64_t seq; /* of the event, or SEALED_* */
    int64_t key_no;
    struct str box;
};
struct plan_chan_row {
    enum {
        PLAN_CHAN_PUT,
        PLAN_CHAN_DEL,
        PLAN_CHAN_NONE /* delete all of the channel except seq, if any */
    } op;
    struct str name;
    bool declared, is_list;
    int64_t seq, ts_ms;
    struct str value;
    int64_t ttl_ms; /* of a declared list, 0 = none: readers of a live run drop older entries */
};
enum timer_kind {
    TIMER_NODE_WAIT = 1,
    TIMER_RETRY,
    TIMER_NODE_TIMEOUT,
    TIMER_RUN_TIMEOUT,
    TIMER_INTERRUPT
};
struct plan_timer {
    bool set;
    enum timer_kind kind;
    struct str node_id;
    int64_t fire_at_ms; /* -1 = stopped */
    int64_t remaining_ms;
};
struct plan_artifact {
    struct str artifact_id, artifact_type, node_id, version, summary, body; /* body raw JSON */
    int64_t seq; /* of its artifact event: forks before it do not get it */
};
/* A row of the invocation log (STORE-42, D55).  Claimed before the request leaves the host,
 * completed before a node sees the outcome; the later row of one effect replaces the earlier.
 * Numbers are stored: never reorder. */
enum invocation_state {
    INVOCATION_CLAIMED,   /* may be in flight; after a crash the outcome is unknown */
    INVOCATION_COMPLETED, /* the other side answered: see outcome */
    INVOCATION_RELEASED,  /* certainly not sent: no byte left the host */
    INVOCATION_ESCAPED    /* sent without an answer: repeat under the same id only */
};
struct plan_invocation {
    struct str effect_id; /* domain/invocation.h */
    struct str node_id, provider_key, invocation_id;
    int64_t ordinal;
    int32_t attempt;
    enum invocation_state state;
    struct sha256 request_digest;
    struct str outcome; /* raw JSON object, empty while claimed */
    int64_t at_ms, expires_ms;
};
/* A row of the suspension store (STORE-8, D44).  Numbers are stored: never reorder. */
enum interrupt_row_state { IROW_PENDING, IROW_RESUMED, IROW_REJECTED, IROW_TIMED_OUT };
struct plan_interrupt {
    enum { INTR_ROW_OPEN, INTR_ROW_CLOSE, INTR_ROW_CLOSE_ALL } op;
    struct str interrupt_id, node_id, key, kind, payload, resume_schema; /* OPEN */
    int64_t requested_ms, requested_seq;
    int64_t timeout_at_ms; /* 0 = none */
    /* CLOSE: pending -> state, exactly once (STORE-10).  CLOSE_ALL: every pending row of the
     * run. */
    enum interrupt_row_state state;
    int64_t resolved_ms, resolved_seq;                   /* seq -1 = none */
    struct str resume_value, resolved_by, action, cause; /* cause: event id, cancelled ... */
};

/* A row of the tasks of workers (WRK-10 to WRK-14).  A node has one open row at most, so all but
 * OPEN name the node.  Numbers are stored: never reorder; from TROW_COMPLETED on the task is over.
 */
enum task_row_state {
    TROW_READY,    /* may be claimed */
    TROW_LEASED,   /* a worker has it */
    TROW_HELD,     /* ready, but its run is paused */
    TROW_ANSWERED, /* its outcome is stored; the run was paused when it came */
    TROW_LOST,     /* its leases ran out too often; the attempt has still to fail */
    TROW_COMPLETED,
    TROW_FAILED,
    TROW_ASKED,
    TROW_CANCELLED
};
struct plan_task {
    enum {
        TASK_ROW_OPEN,      /* ready, or held */
        TASK_ROW_ANSWER,    /* leased -> answered, with outcome */
        TASK_ROW_EMITTED,   /* number is that of the last emit */
        TASK_ROW_CLOSE,     /* the open one of the node -> state, with reason */
        TASK_ROW_CLOSE_ALL, /* all open ones of the run -> state, with reason */
        TASK_ROW_HOLD,      /* ready ones of the run -> held */
        TASK_ROW_RELEASE    /* and back */
    } op;
    struct str task_id, node_id, type_id, invocation_id;
    struct str body, outcome; /* raw JSON; empty: none, or sealed at sealed_at */
    struct str reason;
    struct str word; /* ANSWER, CLOSE: digest of what the worker said, empty: nothing */
    size_t bytes;    /* OPEN, ANSWER: of body or outcome, sealed or not */
    enum task_row_state state;
    int32_t attempt;
    int64_t number;    /* EMITTED */
    int64_t sealed_at; /* 0 = not sealed */
    int64_t at_ms;
};
/* The plan holds for this lease only: it is refused (TASK_LOST), with nothing written, when the
 * task has another epoch or is leased no more. */
struct plan_task_guard {
    struct str task_id; /* empty: no guard */
    int64_t epoch;
};

/* The state after the event before seq (state_save.h); at most one in a plan, for its end. */
struct plan_checkpoint {
    int64_t seq;
    int64_t key_no;   /* 0: clear; else the image is sealed, because the state holds clear values */
    struct str image; /* bytes */
};

/* An entry of long-term memory that the run writes, sealed (store/memory.h).  The same entry of the
 * same run changes nothing.  Beyond one of the bounds the plan is refused (TOO_BIG). */
struct plan_entry {
    struct str tenant; /* the run's; another for the probe of MEM-31 only */
    bool test_mode;
    struct str ref, id;
    int64_t created_ms, expires_ms; /* 0 = never */
    int64_t key_no;
    struct str box;
    int64_t ref_bytes_max, tenant_bytes_max; /* 0 = no bound */
};

/* An entry of the audit log (AUD-3): what was asked for, by whom, and what it did.  An empty text,
 * and 0, are null. */
struct plan_audit {
    int64_t at_ms;
    struct str type; /* "run.created", ... */
    struct str tenant, principal, key_id, scope, method, path, request_id;
    struct str details; /* raw object of texts and integers, at most 4 KiB; more is left out */
    int64_t status, latency_ms;
    bool timed; /* latency_ms is said, also when it is 0 */
};

/* What one append adds to the log of a session (WR-55, WR-67), with the run that shows it or alone
 * (PLAN_SIDE).  Texts live in the plan's arena.  The plan is refused, with nothing written, when
 * the session has moved on since it was read (STALE), is there already (EXISTS, with create) or is
 * gone (NOT_FOUND), and CORRUPT when it has events that no record attests (WR-71). */
struct plan_session_event {
    struct str event_id, kind, run_id, node_id, dedupe_key; /* copies of what bytes say */
    struct str bytes;                                       /* canonical JSON, without line feed */
};
struct plan_session_record { /* of the manifest */
    struct str kind, snapshot_ref;
    int64_t first, last, event_index; /* -1 = none */
    struct str bytes;
};
enum session_blob { SESSION_SNAPSHOT = 1, SESSION_WORKFLOW, SESSION_ARTIFACT }; /* stored */
struct plan_session_blob {
    enum session_blob kind;
    struct str digest, content_type, bytes; /* "sha256:..."; content_type of artifacts */
};
struct plan_session_node { /* which run shows a node, and up to which event it waits there */
    struct str node_id, run_id;
    int64_t seq;
};
struct plan_session_resume { /* what resume_session looks through, of a run of the session */
    struct str wr_run_id, node_id, workflow_hash;
    struct str head_sha, branch, workflow_text, filter, words, snippet, title, status;
};
struct plan_session {
    struct str session_id, tenant;
    bool test_mode, create;
    int64_t base_event, base_manifest; /* expected: indices of the next ones */
    int64_t at_ms;
    int64_t commit_no; /* of an import: its place among others; 0 = the next */
    struct str imported_from;
    struct str wr_run_id; /* with the run that the plan creates or moves; empty: PLAN_SIDE */
    struct plan_session_event *events;
    size_t events_nr;
    struct plan_session_record *records;
    size_t records_nr;
    struct plan_session_blob *blobs;
    size_t blobs_nr;
    struct plan_session_node *nodes;
    size_t nodes_nr;
    struct plan_session_resume *resumes;
    size_t resumes_nr;
};

/* The kinds of rows that a plan writes beside its events, in the order in which they are written.
 *   ROWS(rows, one, type, texts)
 *     rows   the array in struct plan: rows, rows_nr, rows_cap
 *     one    names its functions: plan_<one>() adds a row, the store's <one>_put() writes it
 *     type   of a row
 *     texts  TEXT(member) for each text of a row: plan_<one>() copies them
 *   STEP(put)  written at this place, but from elsewhere in the plan
 * A row precedes those of the same plan that refer to it. */
#define PLAN_ROWS(ROWS, STEP)                                                                      \
    ROWS(interrupts, interrupt, struct plan_interrupt,                                             \
         TEXT(interrupt_id) TEXT(node_id) TEXT(key) TEXT(kind) TEXT(payload) TEXT(resume_schema)   \
             TEXT(resume_value) TEXT(resolved_by) TEXT(action) TEXT(cause))                        \
    ROWS(invocations, invocation, struct plan_invocation,                                          \
         TEXT(effect_id) TEXT(node_id) TEXT(provider_key) TEXT(invocation_id) TEXT(outcome))       \
    ROWS(entries, entry, struct plan_entry, TEXT(tenant) TEXT(ref) TEXT(id) TEXT(box))             \
    ROWS(tasks, task, struct plan_task,                                                            \
         TEXT(task_id) TEXT(node_id) TEXT(type_id) TEXT(invocation_id) TEXT(body) TEXT(outcome)    \
             TEXT(reason) TEXT(word))                                                              \
    ROWS(sealed, sealed, struct plan_sealed, TEXT(box))                                            \
    STEP(sealed_end)                                                                               \
    STEP(kept_end)                                                                                 \
    STEP(initial_vars_put)                                                                         \
    ROWS(nodes, node, struct plan_node_row, TEXT(node_id) TEXT(state))                             \
    ROWS(vars, var, struct plan_var_row, TEXT(name) TEXT(value))                                   \
    ROWS(chans, chan, struct plan_chan_row, TEXT(name) TEXT(value))                                \
    ROWS(timers, timer, struct plan_timer, TEXT(node_id))                                          \
    ROWS(artifacts, artifact, struct plan_artifact,                                                \
         TEXT(artifact_id) TEXT(artifact_type) TEXT(node_id) TEXT(version) TEXT(summary)           \
             TEXT(body))                                                                           \
    ROWS(checkpoints, checkpoint, struct plan_checkpoint, TEXT(image))                             \
    STEP(session_put)                                                                              \
    ROWS(audits, audit, struct plan_audit,                                                         \
         TEXT(type) TEXT(tenant) TEXT(principal) TEXT(key_id) TEXT(scope) TEXT(method) TEXT(path)  \
             TEXT(request_id) TEXT(details))
#define PLAN_NO_STEP(put)

/* Layer-1 idempotency completion, written in the same transaction as the effect (IDEM-12). */
struct idem_key {
    struct str tenant, operation_id;
    struct sha256 key;    /* IDEM-2 cache key */
    struct sha256 digest; /* IDEM-10 body fingerprint: of a guessed body too, so it is not stored */
    struct sha256 keyed;  /* but this: HMAC of it under data key key_no; key_no 0: digest is */
    int64_t key_no;
    int64_t keep_ms; /* how long to keep the answer; 0 = the store's default */
};
struct idem_response {
    int status;
    struct str body;
    int32_t retry_after_s;      /* 0 = no header */
    int64_t transient_until_ms; /* > 0: 429/5xx entry, replayed until then (IDEM-9) */
};
struct plan {
    struct arena *arena;
    int refs;   /* atomic */
    int failed; /* 0 or WOPR_E_*: sticky */
    struct wopr_error error;
    uint64_t mem_refused; /* of its thread when it was made: separates memory from a bound */
    bool half_folded;     /* an event changed the state, at least in part, but is not in events */
    enum plan_what what;
    struct str run_id;
    int64_t run_no;    /* store's key; 0 for CREATE until committed */
    int64_t base_seq;  /* expected tail */
    int64_t epoch;     /* fencing epoch the writer holds */
    struct str tenant; /* PLAN_RUN: of the run; empty = the store reads it */
    bool lets_go;      /* with an update: the run needs no holder afterwards (STORE-35) */
    bool unseals;      /* with a final status: delete what was sealed for the run */
    struct run_row_new *create;
    bool has_update;
    struct run_row_update update;
    struct event *events;
    size_t events_nr, events_cap;
#define PLAN_ARRAY(rows, one, type, texts)                                                         \
    type *rows;                                                                                    \
    size_t rows##_nr, rows##_cap;
    PLAN_ROWS(PLAN_ARRAY, PLAN_NO_STEP)
#undef PLAN_ARRAY
    struct plan_task_guard guard;
    struct plan_session *session; /* NULL = none */
    bool has_idem;
    struct idem_key idem;
    struct idem_response idem_response;
    /* --- filled by the store --- */
    bool idem_hit; /* the key was there: nothing was written; idem_response holds the stored one */
    struct str active_run_id; /* RUN_ALREADY_ACTIVE */
    int64_t active_until_ms;
    int64_t tenant_bytes;         /* QUOTA: what the tenant uses */
    enum run_status found_status; /* RUN_TERMINAL / STALE: the row's status */
};
struct plan *plan_new(void); /* NULL when memory is short */
/* For who waits for its commit; given back with plan_unref. */
struct plan *plan_ref(struct plan *p);
void plan_unref(struct plan *p); /* takes NULL */
/* The first failure sticks, in p->failed and p->error; what is added later has no effect. */
void plan_fail(struct plan *p, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Would the payload be taken?  Nothing is appended; the plan fails for want of memory only. */
bool plan_admits(struct plan *p, const struct payload_rules *rules, const struct run_state *s,
                 enum ev_kind kind, struct str payload);
/* Append one event: payload must live in the plan's arena (or be static).  Checks the payload
 * against rules (EVT-12), applies it to s (may be NULL), assigns seq and timestamp = max(now, last
 * event's).  causation -1 = none.  Returns the sequence, -1 when failed. */
int64_t plan_event(struct plan *p, const struct payload_rules *rules, struct run_state *s,
                   enum ev_kind kind, struct str node_id, int64_t causation_seq, int64_t now_ms,
                   struct str payload);
/* The same for an event some of whose values are masked (OBS-71): clear, an object of those values
 * as the fold reads them, is folded in their place; the caller seals it.  Empty clear: as
 * plan_event. */
int64_t plan_event_masked(struct plan *p, const struct payload_rules *rules, struct run_state *s,
                          enum ev_kind kind, struct str node_id, int64_t causation_seq,
                          int64_t now_ms, struct str payload, struct str clear);
/* One per kind of row: plan_interrupt, plan_invocation, plan_task, plan_node, plan_var, plan_chan,
 * plan_timer, plan_artifact, plan_checkpoint, plan_entry.  Adds a copy of *row, its texts copied
 * into the plan.
 */
#define PLAN_ADD(rows, one, type, texts) void plan_##one(struct plan *p, const type *row);
PLAN_ROWS(PLAN_ADD, PLAN_NO_STEP)
#undef PLAN_ADD
/* True if a commit would write nothing: no event, no row, no answer, no change of the lease. */
bool plan_is_empty(const struct plan *p);
void plan_timer_set(struct plan *p, enum timer_kind k, struct str node_id, int64_t fire_at_ms,
                    int64_t remaining_ms);
void plan_timer_clear(struct plan *p, enum timer_kind k, struct str node_id);
/* Rows of the declared channels of a new run, so that they show while empty (SSE-18): sequence -1,
 * value empty for lists. */
void plan_channels(struct plan *p, const struct workflow *wf);
/* Collect what is dirty in s into node/var/chan rows and the run row; clears the dirty marks.  Not
 * for PLAN_SIDE. */
void plan_project(struct plan *p, struct run_state *s, int64_t paused_ms);

/* --- payload builders: raw JSON in a's memory; keys are those of 20-runtime 1.3 and D26, nothing
 * else --- */
struct str pay_run_started(struct arena *a, const struct run_state *s, struct str masked_inputs);
struct str pay_run_completed(struct arena *a, struct str outputs, int64_t duration_ms);
/* The same with why a supervisor ended it, or empty (DISP-8). */
struct str pay_run_ended(struct arena *a, struct str outputs, struct str reason,
                         int64_t duration_ms);
struct str pay_run_failed(struct arena *a, struct str error, struct str node_id,
                          int64_t duration_ms);
struct str pay_run_cancelled(struct arena *a, struct str reason, struct str by,
                             int64_t duration_ms);
struct str pay_run_paused(struct arena *a, struct str reason, struct str drain_policy,
                          struct str node_id, int attempt);
struct str pay_reason(struct arena *a, struct str reason); /* {"reason"?} */
struct str pay_run_resuming(struct arena *a);
struct str pay_node_started(struct arena *a, struct str node_id, struct str type_id, int attempt);
/* AGT-7: payload with the AgentRef of a pinned node; agent empty: payload itself. */
struct str pay_of_agent(struct arena *a, struct str payload, struct str agent);
/* payload with one more member at its end. */
struct str pay_member(struct arena *a, struct str payload, const char *name, struct str raw);
/* The same of a node that cost something: cost, of cost_sanitize, or empty. */
struct str pay_node_cost(struct arena *a, struct str node_id, struct str outputs,
                         int64_t duration_ms, struct str cost);
struct str pay_node_completed(struct arena *a, struct str node_id, struct str outputs,
                              int64_t duration_ms);
struct str pay_node_failed(struct arena *a, struct str node_id, struct str error, int attempts);
struct str pay_node_retried(struct arena *a, struct str node_id, int attempt, int64_t delay_ms,
                            struct str last_error);
struct str pay_node_reason(struct arena *a, struct str node_id,
                           const char *reason); /* skipped, cancelled */
struct str pay_node_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                              const char *kind, const char *reason);
/* EVT-26, INT-46: with the key; low: data of a low-confidence interrupt, whose numbers it shows. */
struct str pay_interrupt_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                                   const char *kind, struct str key, const char *reason,
                                   struct str low);
struct str pay_suspend_failed(struct arena *a, struct str node_id, struct str error);
struct str pay_approval_requested(struct arena *a, struct str node_id, struct str interrupt_id,
                                  struct str data);
struct str pay_clarification_requested(struct arena *a, struct str node_id, struct str interrupt_id,
                                       struct str questions);
struct intr_answer; /* interrupt.h */
struct str pay_approval_received(struct arena *a, struct str node_id, const struct intr_answer *d);
struct str pay_clarification_resolved(struct arena *a, struct str node_id, struct str answers,
                                      struct str answered_by);
struct str pay_interrupt_resolved(struct arena *a, struct str node_id, struct str interrupt_id,
                                  const char *kind, struct str value, struct str resolved_by,
                                  int64_t at_ms);
struct str pay_node_resumed(struct arena *a, struct str node_id, struct str interrupt_id,
                            struct str value);
struct pay_channel {
    struct str channel, value, node_id;
    const char *reducer;
    int64_t written_ms, schema_version;
    struct str engine_id, run_id; /* of a write by another run (CHAN-19); empty: the run's own */
};
/* The member of channels of a snapshot; the payload of channel.written. */
struct str pay_channel_entry(struct arena *a, const struct pay_channel *w);
struct str pay_channel_written(struct arena *a, struct str channel, struct str value,
                               const char *reducer, int64_t written_ms, struct str node_id,
                               int64_t schema_version);
struct str pay_version_pinned(struct arena *a, struct str change_id, int64_t version,
                              struct str node_id);
struct str pay_variable_changed(struct arena *a, struct str name, struct str previous,
                                struct str next, struct str node_id);
struct str pay_log(struct arena *a, const char *level, struct str message, struct str node_id,
                   struct str fields);
struct str pay_chunk(struct arena *a, struct str node_id, struct str chunk, int is_last,
                     struct str meta);
struct str pay_cap(struct arena *a, const char *kind, int64_t limit, int64_t observed,
                   struct str node_id);
struct str pay_loopback_limit(struct arena *a, struct str node_id, int64_t iterations,
                              int64_t limit);
struct str pay_artifact(struct arena *a, const struct plan_artifact *art);
struct str pay_restored(struct arena *a, int64_t from_seq); /* workflow.restored */
struct str pay_lease(struct arena *a, struct str lease_id, struct str instance_id,
                     int64_t expires_ms, bool had_previous);
struct str pay_lease_handed(struct arena *a, struct str lease_id, const char *reason);
/* EVT-39: the node waits for a child that is itself suspended.  kind: raw JSON or empty. */
struct str pay_child_suspended(struct arena *a, struct str node_id, struct str interrupt_id,
                               struct str kind, struct str child_run_id);
/* {"code","message","details"?,"retryable"?}; retryable -1 = absent.  message goes through redact.
 */
struct str err_json(struct arena *a, struct str code, struct str message, struct str details,
                    int retryable);

#endif
