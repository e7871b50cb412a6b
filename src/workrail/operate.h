/*
 * operate.h: what each call of a tool appends and answers (section 6).  Layer: workrail.  Pure:
 * state and request in, plan and reply out; the caller loads, locks, appends.
 *
 * A writing call is three steps.  (1) *_find: was this attempt recorded before?  Then only (3).
 * (2) *_plan: under the session's lock, on the session as it is now (after another *_find);
 * wr_session_add_plan, then commit.  (3) *_reply: made of recorded facts alone, so the first and
 * every repeated reply are the same bytes (WR-140).
 *
 * Texts of requests are borrowed; plans and replies are of o->a.
 */
#ifndef WOPR_WORKRAIL_OPERATE_H
#define WOPR_WORKRAIL_OPERATE_H

#include "workrail/session.h"
#include "workrail/token.h"
#include "workrail/workflow.h"

/* Where stored bytes come from.  A thing that is not there is INTERNAL_ERROR (WR-142). */
struct wr_port {
    void *ctx;
    int (*snapshot)(void *ctx, struct str ref, struct arena *a, struct str *bytes,
                    struct wr_fault *f);
    /* Lives as long as the call. */
    int (*workflow)(void *ctx, struct str hash, const struct wr_workflow **out, struct wr_fault *f);
};
struct wr_operator {
    const struct wr_keyring *keys;
    const struct wr_minter *mint;
    struct wr_port port;
    struct arena *a;
};

/* --- requests (9.2): tool arguments, checked --- */
enum wr_tool {
    WR_TOOL_LIST,
    WR_TOOL_INSPECT,
    WR_TOOL_START,
    WR_TOOL_CONTINUE,
    WR_TOOL_CHECKPOINT,
    WR_TOOL_RESUME,
    WR_TOOLS
};
const char *wr_tool_name(enum wr_tool tool);
struct wr_anchors { /* p NULL: not given */
    struct str branch, head_sha, root_hash, root;
    int confidence; /* enum wr_confidence; WR_MED for what a caller says (WR-217) */
};
struct wr_output {
    struct str notes;          /* p NULL: none */
    struct wr_texts artifacts; /* canonical JSON of each */
};
struct wr_call {
    enum wr_tool tool;
    struct str workflow_id, mode, workspace_path;
    struct str state_token, ack_token, checkpoint_token;
    bool advance;       /* of continue: WR-216 */
    struct str context; /* canonical object; p NULL: not given */
    struct wr_output output;
    bool has_output;
    struct wr_anchors anchors;
    int autonomy, risk; /* -1: not given */
    struct str query, branch, head_sha;
};
/* VALIDATION_ERROR with details (WR-219, WR-230). */
MUST_CHECK int wr_call_read(enum wr_tool tool, struct str arguments, struct arena *a,
                            struct wr_call *out, struct wr_fault *f);

/* --- start (6.1) --- */
struct wr_start {
    const struct wr_workflow *workflow;
    int source_kind; /* enum wr_source_kind */
    struct str source_ref;
    struct str context; /* as in wr_call */
    struct wr_anchors anchors;
    int autonomy, risk; /* -1: the baseline */
};
struct wr_started {
    struct wr_id session_id, run_id, node_id, attempt_id;
};
MUST_CHECK int wr_start_plan(const struct wr_operator *o, const struct wr_start *in,
                             struct wr_plan *out, struct wr_started *ids, struct wr_fault *f);
MUST_CHECK int wr_start_reply(const struct wr_operator *o, const struct wr_session *s,
                              const struct wr_started *ids, struct str *json, struct wr_fault *f);

/* --- tokens and sessions --- */
/* Numbers 14 and 15 of WR-114 but for the tenant: positions of run and node.  TOKEN_UNKNOWN_NODE,
 * TOKEN_WORKFLOW_HASH_MISMATCH (of a state token). */
MUST_CHECK int wr_token_locate(const struct wr_session *s, const struct wr_token *t,
                               const char *parameter, size_t *run, size_t *node,
                               struct wr_fault *f);
/* A state token of a node: what resume_session hands out. */
struct str wr_state_token(const struct wr_operator *o, const struct wr_session *s, size_t node);

/* --- continue (6.2 to 6.5) --- */
/* Reads only; the state token is given back as it came (state_token). */
MUST_CHECK int wr_rehydrate_reply(const struct wr_operator *o, const struct wr_session *s,
                                  const struct wr_token *state, struct str state_token,
                                  struct str *json, struct wr_fault *f);
struct wr_advance {
    struct wr_token ack; /* scope was checked: wr_token_scope, wr_token_locate of the state token */
    struct str context;  /* a delta, canonical; p NULL: none */
    struct wr_output output;
    struct wr_anchors anchors;
    int autonomy, risk; /* -1: unchanged */
};
/* The node that the attempt led to; WR_NO_NODE: it is not recorded; a stored outcome of the old
 * form (WR-31) counts too: then *out is the node itself. */
bool wr_advance_find(const struct wr_session *s, const struct wr_token *ack, size_t *out);
/* Number 17, PRECONDITION_FAILED (WR-137), VALIDATION_ERROR, LOOP_INVALID_STATE. */
MUST_CHECK int wr_advance_plan(const struct wr_operator *o, const struct wr_session *s,
                               const struct wr_advance *in, struct wr_plan *out,
                               struct wr_fault *f);
MUST_CHECK int wr_advance_reply(const struct wr_operator *o, const struct wr_session *s,
                                const struct wr_token *ack, struct str *json, struct wr_fault *f);

/* --- checkpoint (6.6) --- */
struct wr_checkpoint {
    struct wr_token token;
    struct wr_output output;
};
bool wr_checkpoint_find(const struct wr_session *s, const struct wr_token *checkpoint);
MUST_CHECK int wr_checkpoint_plan(const struct wr_operator *o, const struct wr_session *s,
                                  const struct wr_checkpoint *in, struct wr_plan *out,
                                  struct wr_fault *f);
MUST_CHECK int wr_checkpoint_reply(const struct wr_operator *o, const struct wr_session *s,
                                   const struct wr_token *checkpoint, struct str *json,
                                   struct wr_fault *f);

#endif
