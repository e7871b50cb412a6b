/*
 * node.h: what a node executor is.  Layer: engine.  Executors live in nodes/ (and in embedding
 * programs, include/wopr).  An executor is a function of its call: it returns effects as data and
 * writes nothing itself.  It may be entered more than once per attempt: after a wait, and again
 * from the start after a crash (STORE-39), so it decides by what the log already holds
 * (call->effects_done, call->chunks_done, call->waited), never by state of its own.
 */
#ifndef WOPR_ENGINE_NODE_H
#define WOPR_ENGINE_NODE_H

#include "domain/plan.h"
#include "egress/egress.h"
#include "egress/remotes.h"
#include "store/credentials.h"

enum node_outcome {
    NODE_OUT_DONE, /* node.completed with outputs */
    NODE_OUT_FAIL, /* attempt failed: retried when retryable and the budget allows, else node.failed
                    */
    NODE_OUT_CHILD,   /* a run of another workflow is started, see struct node_child */
    NODE_OUT_CALL,    /* one request leaves the host, see node_invoke */
    NODE_OUT_SUSPEND, /* a person or system is asked, see node_interrupt */
    NODE_OUT_TASK,    /* a worker outside executes the node: task_type.c alone */
    NODE_OUT_PROGRAM, /* a node of a program, which no executor has: program.c alone */
    NODE_OUT_WAIT /* append the effects so far and enter the executor again after wait_ms (durable
                   * timer) */
};
enum node_effect_kind {
    EFFECT_VARIABLE,
    EFFECT_CHANNEL,
    EFFECT_LOG,
    EFFECT_CHUNK,
    EFFECT_ARTIFACT,
    EFFECT_PIN, /* made by node_version only: name = change id, value = version */
    /* What an agent does (AGT-20..24): value is an object with the members of the event; the host
     * adds who it is, from the pin. */
    EFFECT_REASONED,
    EFFECT_TOOL_CALLED,
    EFFECT_TOOL_RETURNED, /* after its call, in this or an earlier entry (AGT-25) */
    EFFECT_HANDOFF,       /* name: the id of the agent that goes on */
    EFFECT_DECIDED,
    EFFECT_ORCHESTRATED, /* value: the decision of a supervisor (ORCH-3) */
    /* Of conversations (CONV-6); value: the payload of the event. */
    EFFECT_CONVERSATION_OPENED,
    EFFECT_CONVERSATION_EXCHANGED,
    EFFECT_CONVERSATION_CLOSED
};
struct node_effect {
    enum node_effect_kind kind;
    struct str name;  /* variable, channel, log level, artifact id */
    struct str value; /* raw JSON; log: message (not JSON); chunk: text (not JSON) */
    struct str extra; /* raw JSON: chunk meta, log fields, artifact {"type","version","summary"};
                         may be empty */
    enum reducer reducer; /* channel: used when the channel is not declared */
    int64_t ttl_ms;       /* channel, undeclared: 0 = none */
    int is_last;          /* chunk: 1, 0, or -1 = unspecified */
    struct str from_run;  /* variable, channel: the child run whose value it is (CHAN-19), or empty.
                             Names a declared channel as well as a variable */
    bool sensitive;       /* variable, channel: masked whatever its declaration says */
};
/*
 * A child run (WF-45..50).  It is created once per (run, node, activation, attempt, ordinal),
 * whatever crashes in between, because its run id follows from these; an executor that needs
 * several requests them one after the other with ascending ordinals.  It is entered again, with
 * call->child, when the child has ended (or, without wait, as soon as it exists).  After a crash it
 * may be entered from the start and then gets the same answers.
 */
#define NODE_CHILD_ORDINAL_MAX 63
struct node_child {
    struct str workflow_id;
    struct str inputs;       /* raw object; names that the child does not declare are dropped */
    struct str configurable; /* raw object; empty = the parent's */
    bool wait;               /* for the end of the child */
    bool detached;           /* the child does not end with its parent (INT-42) */
    int ordinal;             /* 0..NODE_CHILD_ORDINAL_MAX */
};
struct node_child_var {
    struct str name, shown, clear; /* raw; clear is empty when equal to shown (OBS-71) */
};
struct node_child_end {
    struct str run_id;
    int ordinal;
    enum run_status status; /* without wait: the current one */
    struct str error;       /* raw, FAILED only */
    struct str outputs;     /* raw object, COMPLETED only */
    const struct node_child_var *vars;
    size_t vars_nr;
};
/* A request to the outside (STORE-42, IDEM-16..19, D55).  It is claimed in the invocation log
 * before it is sent, and its outcome is recorded before an executor sees it.  A request that
 * succeeded (a status below 400) is never sent again, whatever happens to attempt, process or
 * host. */
/* Reads the body of an answer as it comes, on the thread of the way out: it must not wait.  What it
 * recognises as text goes into the run's log in pieces; what end leaves is recorded in place of the
 * body (STORE-42). */
struct node_stream_ops {
    void *(*open)(struct str secret); /* borrowed: not passed on; NULL: no memory */
    void (*free)(void *s);
    /* New text is appended to *text.  1: the answer is whole, nothing more is needed.  0: go on.
     * Negative: it is none; end says why. */
    int (*take)(void *s, int status, struct str bytes, struct buf *text);
    /* The body to record.  false: there is no whole answer; *code and *message (text of s) say why.
     */
    bool (*end)(void *s, struct buf *body, const char **code, const char **message);
};
/* A module of a pack that is executed in the sandbox in place of a request; its report is the body
 * of the answer, with status 200.  Texts live as long as the node type. */
struct node_module {
    const char *digest;  /* NULL: it is a request */
    struct str node;     /* type id */
    uint64_t memory_max; /* bytes, 0: as the host allows */
};
struct node_request {
    enum egress_caller caller; /* row of callers.def; 0: NODE */
    struct node_module module; /* then url, method and body only say what is asked */
    struct str provider_key;   /* "http:POST:orders": the same for each attempt */
    struct str method, url, body;
    struct egress_header *headers;
    size_t headers_nr;
    int timeout_ms;         /* 1..600000 */
    size_t response_max;    /* bytes, at most NODE_ANSWER_MAX */
    unsigned redirects_max; /* followed, 0..5 */
    bool keyed;             /* send Idempotency-Key: <invocation id> (IDEM-19) */
    bool once; /* it is no request that may be repeated: where its outcome is unknown (a crash, a
                 * lost connection), it is not sent again, and the answer is outcome_unknown */
    int64_t rpc_id;   /* > 0: a JSON-RPC request with this id; of a body that is a stream, its
                       * response is kept, and nothing after it is waited for (codec/rpc.h) */
    const char *keep; /* name of a header of the answer that is kept too, or NULL; literal */
    const struct node_stream_ops *stream; /* or NULL */
    struct str model;                     /* stream: for the meta of its chunks, or empty */
    bool bounded;      /* stream: of its text a summary is shown while it comes (AGT-16) */
    struct str secret; /* bytes that must not be recorded when an answer repeats them */
};
#define NODE_ANSWER_MAX  (512u * 1024)
#define NODE_INVOKES_MAX 1024u /* requests of one activation of a node */
struct node_answer {
    unsigned ordinal;      /* which request of the activation, from 0 in program order */
    int status;            /* HTTP status; 0: none came, see error_code */
    struct str error_code; /* egress_refused, unreachable, timeout, response_too_large,
                              outcome_unknown, ... */
    struct str error_message;
    bool untouched; /* no byte of the request has left this host */
    struct str content_type;
    struct str kept; /* the header of the answer that was to be kept, or empty */
    struct str body; /* text; with body_is_base64 base64 of bytes that are not UTF-8 */
    bool body_is_base64;
    size_t streamed;        /* bytes of the text that this attempt's chunks hold already */
    bool restarted;         /* chunks of it hold a text that was broken off, and counts no more */
    int64_t retry_after_ms; /* what the peer asks for, 0 = nothing */
    int64_t duration_ms;    /* from sending to the end of the answer */
};
/* A question to people or systems (INT-1).  Each key is asked once in the life of the run
 * (INT-2). */
struct node_prompt {
    const char *kind;         /* "approval", "clarification", "external-event", "custom",
                                 "low-confidence", "conversation.exchange" */
    struct str data;          /* raw object, by kind */
    struct str resume_schema; /* raw object or empty */
    int64_t timeout_ms;       /* 0 = none */
    struct str key;           /* 1..256 bytes; empty = <runId>:<nodeId>:<n> (INT-3) */
    const char *reason;       /* for node.suspended, of kinds its schema lacks; may be NULL */
};
struct node_reply {                 /* texts borrowed from the run's state */
    struct str interrupt_id, value; /* value: raw JSON, normalised */
    struct str action, decided_by;  /* approval */
};
struct node_pin { /* a version.pinned of the source of a replay */
    struct str change_id;
    int64_t version;
};
struct node_call {
    struct arena *a;             /* outputs, effects and messages are allocated here */
    const struct run_state *run; /* read only */
    int node;
    const struct wf_node *def;
    struct str inputs;                 /* raw object: resolved ports */
    struct str config;                 /* raw object */
    int attempt;                       /* zero-based */
    int effects_done, chunks_done;     /* of this attempt, already in the log */
    int pieces_done;                   /* chunks among both that end no answer */
    bool waited;                       /* entered after a wait of this attempt */
    bool conformance;                  /* honour conformance-only flags (NODE-23) */
    const struct node_answer *answers; /* recorded for this activation, by ordinal */
    size_t answers_nr;
    struct str ids_run_id; /* run id that seeds randomness: the source's in a replay; empty: the
                            * run's own */
    bool replaying;        /* do what the source did (FORK-12) */
    const struct node_pin *source_pins;
    size_t source_pins_nr;
    int64_t now_ms; /* logical clock (FORK-14): time of the attempt's last event, or of the wait
                       that is over.  Never the wall clock: a repeated execution sees the same */
    const struct remotes *remotes;      /* other systems that the operator named; NULL: none */
    struct credential_loans *loans;     /* for node_credential; NULL: there are none */
    struct remember *memory;            /* for node_memory_*; NULL: none */
    const struct node_child_end *child; /* the child requested last; NULL at a first entry */
    bool ended; /* the run has ended and the node did not complete: a type of NODE_FAREWELL may say
                 * a last word, as NODE_OUT_CALL; anything else is nothing */
    void *type_ctx;
};
/* What a policy of the operator said of this call; with an audit log it is an entry (AUD-3), in the
 * transaction of what follows from it.  Texts of the host's settings only, so that it can hold no
 * value of the run. */
struct node_decision {
    const char *verdict; /* "admitted", "denied"; NULL: no policy was asked */
    const char *reason;  /* denied: why */
    struct str provider; /* by its name in the settings */
};
struct node_result {
    enum node_outcome outcome;
    struct str outputs;    /* raw object; empty = {} */
    struct str cost;       /* DONE: raw object of openwop.cost.* (domain/cost.h), or empty */
    struct str error_code; /* FAIL */
    struct str error_message;
    struct str error_details; /* raw object or empty */
    struct run_cap cap;       /* FAIL: with a limit, the node met this bound of its run, which ends
                               * with cap.breached and the error (ORCH-9, DISP-11) */
    bool retryable;
    int64_t retry_after_ms;  /* FAIL: a retry waits at least so long; 0 = as its policy says */
    struct node_child child; /* CHILD */
    int64_t wait_ms;
    struct node_request request; /* CALL */
    struct str task_input;       /* TASK: raw object */
    unsigned request_ordinal;
    struct node_prompt prompt; /* SUSPEND */
    unsigned prompt_ordinal;
    struct node_effect *effects;
    size_t effects_nr, effects_cap;
    size_t effects_after; /* SUSPEND: so many, the last ones, follow the question (CONV-14) */
    struct node_decision decision;
    bool continues; /* effects begin at call->effects_done.  Otherwise an executor that is entered
                     * again from the start returns all of them, and those already in the log are
                     * skipped */
};
typedef void node_fn(const struct node_call *call, struct node_result *out);
enum node_flags {
    NODE_CONFORMANCE = 1, /* registered only with conformance types switched on */
    /* Its executor has no effect but its result and takes microseconds: it may run before the run
     * itself is committed, and again if that commit is refused. */
    NODE_AT_ONCE = 2,
    /* It is entered once more, with call->ended, when the run ends and the node did not complete.
     */
    NODE_FAREWELL = 4,
    NODE_STREAMS = 8, /* chunks that end no answer are of its requests (node_stream_ops) */
    /* It leaves effects between its requests, so that in the log those of other nodes may stand
     * among them.  A replay takes as many of its effects as the log has in a row, and enters it
     * again: it goes on by effects_done. */
    NODE_PARTLY = 16
};
/* A credential that must be there before a node of the type starts (NODE-5, CAP-36). */
struct node_secret {
    struct str id; /* its name; of an AI provider the run or the node names one */
    enum credential_kind kind;
    struct str provider; /* of an AI provider's */
    struct str scope;    /* "tenant", "user", "run" */
    struct str raw;      /* the requirement as its author wrote it, an object */
};
struct node_type {
    const char *type_id;
    node_fn *fn;
    const char *const *requires; /* runtime capabilities, NULL-terminated, or NULL (NODE-4) */
    unsigned flags;              /* enum node_flags */
    void *ctx;
    const struct node_secret *secrets; /* or NULL */
    size_t secrets_nr;
};
/* Result helpers for executors. */
struct node_effect *node_effect_add(const struct node_call *call, struct node_result *out,
                                    enum node_effect_kind kind);
void node_fail(struct node_result *out, const char *code, const char *message, bool retryable);

/* The ordinal-th request of this activation.  Not NULL: its answer.  NULL: *out requests it, and
 * the executor must return at once; it is entered again when the answer has arrived.  The texts of
 * req live in call->a.  Effects other than outputs are written with the last entry only: add them
 * when you have all answers. */
const struct node_answer *node_invoke(const struct node_call *call, struct node_result *out,
                                      unsigned ordinal, const struct node_request *req);
/* getVersion (VER-7, EVT-33): which version of the change named change_id this run follows.  The
 * first call in a run gets max and pins it; version.pinned precedes the effects added after this
 * call, is committed with them, and before a request of node_invoke is sent.  Later calls, of any
 * node, get the pin.  An attempt that left effects, waited or has answers before its first call (an
 * older executor did) follows min, so call it first.  A replay gets the pins of its source, and min
 * where the source has none (FORK-12). -1 <= min <= max, max >= 0; min -1: also runs from before
 * the change.  Not 0: out is filled (version_out_of_range, validation_error, out_of_memory), the
 * executor returns. */
MUST_CHECK int node_version(const struct node_call *call, struct node_result *out,
                            struct str change_id, int64_t min, int64_t max, int64_t *version);
/* 32 random bytes, a function of run, node, activation, attempt, what and nth: the same when the
 * attempt is executed again.  Not a secret: anyone who knows the run id can compute them. */
struct sha256 node_random(const struct node_call *call, struct str what, uint64_t nth);
/* --- credentials (credential.c) --- */
struct node_credential {
    struct str value;    /* clear: overwritten when the executor has returned */
    struct str provider; /* of an AI provider's; empty otherwise */
};
enum node_found { NODE_FOUND, NODE_NONE, NODE_LOST };
/* What the name means to this run (NODE-5): a credential of its subject, else of its tenant.
 * NODE_LOST: it cannot be had now, and out is filled.  Ask only for what is sent: not where the
 * answer is known or the run is a replay. */
enum node_found node_credential(const struct node_call *call, struct str name,
                                struct node_credential *c, struct node_result *out);
/* A copy of one in the memory of the call is overwritten, too.  false: no memory, it is now. */
bool node_credential_copied(const struct node_call *call, struct str copy);
/* --- long-term memory (remember.c; MEM-3 to MEM-15) --- */
/* Each of these is the ordinal-th operation on memory of this activation, in program order, from 0
 * to NODE_INVOKES_MAX - 1.  What it gave is recorded with the events of the step and given again
 * whenever the executor is entered again: after a wait, a crash, in a later attempt, in a replay
 * (MEM-9), which asks no memory and writes none.  Own writes are seen at once (MEM-8).  The tenant
 * is always the run's.  true: the result is set.  false: out is filled, the executor returns:
 * capability_not_provided, validation_error, memory_full, memory_unavailable, or in a replay what
 * its source says. */
bool node_memory_offered(const struct node_call *call); /* this host has one */
/* The ordinal-th has its result already: do not ask for what only a first execution needs. */
bool node_memory_known(const struct node_call *call, unsigned ordinal);
struct node_memory_query {
    struct str ref;
    struct str tag;  /* or empty: any */
    unsigned limit;  /* 0: as many as an answer holds */
    struct str text; /* or empty; a part of the content, case of ASCII aside */
};
/* *entries: raw array, newest first; a ref that is unknown or none has none (MEM-5, MEM-6). */
bool node_memory_list(const struct node_call *call, struct node_result *out, unsigned ordinal,
                      const struct node_memory_query *q, struct str *entries);
/* *entry: raw object, or null (MEM-5). */
bool node_memory_get(const struct node_call *call, struct node_result *out, unsigned ordinal,
                     struct str ref, struct str id, struct str *entry);
struct node_memory_write {
    struct str ref, content; /* text */
    const struct str *tags;
    size_t tags_nr;
    int64_t ttl_ms;    /* 0 = it never expires; below: it has, for the probe of MEM-33 */
    struct str tenant; /* for the probe of MEM-31; empty: the run's */
};
/* Host-internal (MEM-3): for types of the host.  Content and tags are cleared of the credentials of
 * the run's subject and tenant, of credential shapes and of the run's masked values first (MEM-10).
 * *id: of the entry, text. */
bool node_memory_put(const struct node_call *call, struct node_result *out, unsigned ordinal,
                     const struct node_memory_write *w, struct str *id);
/* An opaque id of node_random, hexadecimal, in the arena of the call; .p == NULL: no memory. */
#define NODE_ID_MINTED_LEN 32
struct str node_mint_id(const struct node_call *call, struct str what, uint64_t nth);

/* The ordinal-th question of this activation. true: *reply holds its answer. false: *out asks it,
 * and the executor must return at once; it is entered again, in the same attempt, with the answer.
 * A question that times out or is cancelled fails or cancels the node without asking the
 * executor. */
bool node_interrupt(const struct node_call *call, struct node_result *out, unsigned ordinal,
                    const struct node_prompt *prompt, struct node_reply *reply);

/* Registry: filled at start, read-only afterwards (NODE-1). */
struct node_registry;
/* NULL without memory.  free: after the engine; the types are the caller's. */
struct node_registry *node_registry_new(void);
void node_registry_free(struct node_registry *r);
MUST_CHECK int node_registry_add(struct node_registry *r, const struct node_type *t,
                                 struct wopr_error *err); /* copies; EXISTS */
size_t node_registry_count(const struct node_registry *r);
const struct node_type *node_registry_find(const struct node_registry *r, struct str type_id);
/* Each type, in no order: *it = 0 at first; NULL at the end. */
const struct node_type *node_registry_next(const struct node_registry *r, size_t *it);

#endif
