/*
 * event.h: events of a session (section 2).  Layer: workrail.  Pure: bytes in, bytes out.
 *
 * An event is kept as the bytes of its canonical form and as the struct below, whose texts lie in
 * an arena or in those bytes.  Objects are closed: an unknown kind, version or member is refused,
 * never skipped (WR-16).  What is written reads back to the same struct and bytes.
 *
 * Absent: p NULL of a text, nr 0 of a list, false of has_*.
 */
#ifndef WOPR_WORKRAIL_EVENT_H
#define WOPR_WORKRAIL_EVENT_H

#include "workrail/text.h"

enum wr_kind { /* WR-15; the order is ours, the names are stored */
               WR_SESSION_CREATED,
               WR_OBSERVATION_RECORDED,
               WR_RUN_STARTED,
               WR_NODE_CREATED,
               WR_EDGE_CREATED,
               WR_ADVANCE_RECORDED,
               WR_NODE_OUTPUT_APPENDED,
               WR_PREFERENCES_CHANGED,
               WR_CAPABILITY_OBSERVED,
               WR_GAP_RECORDED,
               WR_DIVERGENCE_RECORDED,
               WR_DECISION_TRACE_APPENDED,
               WR_CONTEXT_SET,
               WR_VALIDATION_PERFORMED,
               WR_KINDS
};
const char *wr_kind_name(enum wr_kind kind);

enum wr_source_kind { WR_BUNDLED, WR_USER, WR_PROJECT, WR_REMOTE, WR_PLUGIN };
enum wr_node_kind { WR_NODE_STEP, WR_NODE_CHECKPOINT, WR_NODE_BLOCKED };
enum wr_edge_kind { WR_EDGE_ACKED, WR_EDGE_CHECKPOINT };
enum wr_cause {
    WR_IDEMPOTENT_REPLAY,
    WR_INTENTIONAL_FORK,
    WR_NON_TIP_ADVANCE,
    WR_CHECKPOINT_CREATED
};
enum wr_capability { WR_DELEGATION, WR_WEB_BROWSING, WR_CAPABILITIES };
enum wr_status { WR_UNKNOWN, WR_AVAILABLE, WR_UNAVAILABLE }; /* of a capability */
enum wr_autonomy { WR_GUIDED, WR_STOP_ON_USER_DEPS, WR_NEVER_STOP };
enum wr_risk { WR_CONSERVATIVE, WR_BALANCED, WR_AGGRESSIVE };
struct wr_preferences {
    int autonomy, risk; /* enum wr_autonomy, enum wr_risk */
};

/* --- blockers (WR-32 to WR-34) --- */
enum wr_blocker_code { /* the last four are read, never written */
                       WR_B_USER_ONLY_DEPENDENCY,
                       WR_B_MISSING_REQUIRED_OUTPUT,
                       WR_B_INVALID_REQUIRED_OUTPUT,
                       WR_B_REQUIRED_CAPABILITY_UNKNOWN,
                       WR_B_REQUIRED_CAPABILITY_UNAVAILABLE,
                       WR_B_INVARIANT_VIOLATION,
                       WR_B_STORAGE_CORRUPTION_DETECTED,
                       WR_B_MISSING_REQUIRED_NOTES,
                       WR_B_MISSING_CONTEXT_KEY,
                       WR_B_CONTEXT_BUDGET_EXCEEDED,
                       WR_B_ASSESSMENT_FOLLOWUP_REQUIRED
};
enum wr_pointer_kind {
    WR_P_CONTEXT_KEY,
    WR_P_CONTEXT_BUDGET,
    WR_P_CONTRACT,
    WR_P_CAPABILITY,
    WR_P_STEP
};
struct wr_blocker {
    int code; /* enum wr_blocker_code */
    struct {
        int kind;        /* enum wr_pointer_kind */
        struct str text; /* key, contractRef or stepId */
        int capability;
    } pointer;
    struct str message, fix; /* fix may be absent */
};
struct wr_report { /* 1 to 10, sorted */
    struct wr_blocker *v;
    size_t nr;
};
const char *wr_blocker_name(int code);
/* Sort as WR-32 says; then whether all budgets hold. */
void wr_report_sort(struct wr_report *r);
MUST_CHECK int wr_report_check(const struct wr_report *r, struct wr_fault *f);

/* --- gaps (WR-37) --- */
enum wr_severity { WR_INFO, WR_WARNING, WR_CRITICAL };
enum wr_category {
    WR_USER_ONLY_DEPENDENCY,
    WR_CONTRACT_VIOLATION,
    WR_CAPABILITY_MISSING,
    WR_UNEXPECTED
};
enum wr_detail {
    WR_D_NEEDS_USER_SECRET_OR_TOKEN,
    WR_D_NEEDS_USER_ACCOUNT_ACCESS,
    WR_D_NEEDS_USER_ARTIFACT,
    WR_D_NEEDS_USER_CHOICE,
    WR_D_NEEDS_USER_APPROVAL,
    WR_D_NEEDS_USER_ENVIRONMENT_ACTION,
    WR_D_MISSING_REQUIRED_OUTPUT,
    WR_D_INVALID_REQUIRED_OUTPUT,
    WR_D_MISSING_REQUIRED_NOTES,
    WR_D_REQUIRED_CAPABILITY_UNAVAILABLE,
    WR_D_REQUIRED_CAPABILITY_UNKNOWN,
    WR_D_INVARIANT_VIOLATION,
    WR_D_STORAGE_CORRUPTION_DETECTED,
    WR_D_EVALUATION_ERROR,
    WR_DETAILS
};
enum wr_category wr_detail_category(int detail);
const char *wr_detail_name(int detail);
const char *wr_category_name(int category);

/* --- payloads --- */
struct wr_evidence {
    int kind; /* 0 an event, 1 an output */
    struct str id;
};
struct wr_delta {
    int key;   /* 0 autonomy, 1 riskPolicy */
    int value; /* of that key's set */
};
struct wr_trace_ref {
    int kind; /* enum wr_ref_kind */
    struct str id;
    int64_t value; /* of an iteration */
};
enum wr_ref_kind { WR_REF_STEP, WR_REF_LOOP, WR_REF_CONDITION, WR_REF_ITERATION };
enum wr_trace_kind { WR_T_SELECTED, WR_T_EVALUATED, WR_T_ENTERED, WR_T_EXITED, WR_T_NON_TIP };
struct wr_trace_entry {
    int kind; /* enum wr_trace_kind */
    struct str summary;
    struct {
        struct wr_trace_ref *v;
        size_t nr;
    } refs;
};
enum wr_provenance { WR_PROBE_STEP, WR_ATTEMPTED_USE, WR_MANUAL_CLAIM };
enum wr_observed { WR_GIT_BRANCH, WR_GIT_HEAD_SHA, WR_REPO_ROOT_HASH, WR_REPO_ROOT, WR_OBSERVED };
enum wr_value_type { WR_V_SHORT_STRING, WR_V_GIT_SHA1, WR_V_SHA256, WR_V_PATH };
enum wr_confidence { WR_LOW, WR_MED, WR_HIGH };
enum wr_channel { WR_RECAP, WR_ARTIFACT, WR_CHANNELS };

union wr_payload {
    struct {
        struct str workflow_id, workflow_hash, source_ref;
        int source_kind;
    } run;
    struct {
        int kind;
        struct str parent_node_id; /* p NULL: the root */
        struct str workflow_hash, snapshot_ref;
    } node;
    struct {
        int kind, cause;
        struct str from_node_id, to_node_id, cause_event_id;
    } edge;
    struct {
        struct str attempt_id;
        int outcome;             /* 0 advanced, 1 blocked (read only, WR-31) */
        struct str to_node_id;   /* advanced */
        struct wr_report report; /* blocked */
    } advance;
    struct {
        struct str output_id, supersedes;
        int channel, payload_kind; /* payload_kind: 0 notes, 1 artifact_ref; equals channel */
        struct str notes;
        struct str sha256, content_type;
        int64_t byte_length;
    } output;
    struct {
        struct str change_id;
        int source; /* 0 user, 1 workflow_recommendation, 2 system */
        struct {
            struct wr_delta *v;
            size_t nr;
        } delta;
        struct wr_preferences effective;
    } preferences;
    struct {
        struct str cap_obs_id;
        int capability, status, provenance, grade;   /* grade: 0 strong, 1 weak */
        struct str probe_template_id, probe_step_id; /* probe_step */
        int result;                                  /* 0 success, 1 failure */
        int attempt_context;                         /* 0 workflow_step, 1 system_probe */
        int failure_code;                            /* -1: none */
        int claimed_by, claim;                       /* 0 agent, 1 user; 0 available, 1 not */
    } capability;
    struct {
        struct str gap_id, summary, resolves; /* resolves: p NULL = unresolved */
        int severity, category, detail, resolution;
        struct {
            struct wr_evidence *v;
            size_t nr;
        } evidence;
    } gap;
    struct {
        int key, type, confidence;
        struct str value;
    } observation;
    struct {
        struct str divergence_id, summary, step_id;
        int reason;
    } divergence;
    struct {
        struct str trace_id;
        struct {
            struct wr_trace_entry *v;
            size_t nr;
        } entries;
    } trace;
    struct {
        struct str context_id, context; /* context: canonical JSON object */
        int source;                     /* 0 initial, 1 agent_delta */
    } context;
    struct {
        struct str validation_id, attempt_id, contract_ref;
        bool valid;
        struct wr_texts issues, suggestions;
    } validation;
};

struct wr_event {
    int kind; /* enum wr_kind */
    int64_t index;
    struct str event_id, session_id, dedupe_key;
    struct str run_id, node_id; /* scope */
    union wr_payload u;
    struct str bytes; /* its canonical form, without LF */
};

/* Read one event.  SCHEMA_UNKNOWN_VERSION for another v or kind, SCHEMA_INVALID for all else: not
 * canonical, unknown member, a rule of section 2 (but for references to other events). */
MUST_CHECK int wr_event_read(struct str bytes, struct arena *a, struct wr_event *out,
                             struct wr_fault *f);
/* Make e->bytes out of the rest, and check it by the same rules. */
MUST_CHECK int wr_event_seal(struct wr_event *e, struct arena *a, struct wr_fault *f);

/* The key that its kind prescribes (WR-23): kind, session and the parts that name it.  The events
 * whose key holds what they do not (context_set: "initial" or the attempt) take it in `part`.
 * STR_NONE: no memory. */
struct str wr_dedupe_key(const struct wr_event *e, struct str part, struct arena *a);
bool wr_dedupe_good(struct str key);
/* The attempt whose plan wrote a context_set, out of its key; STR_NONE for the initial one. */
struct str wr_context_attempt(const struct wr_event *e);

#endif
