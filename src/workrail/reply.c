/*
 * reply.c: replies, made of recorded facts alone (6.2 to 6.6, 9.3).  Members in byte order.
 */
#include "workrail/event_shape.h"
#include "workrail/prompt.h"
#include "workrail/work.h"

struct reply {
    const struct wr_operator *o;
    const struct wr_session *s;
    struct wr_fault *f;
    size_t node;
    const struct wr_workflow *w;
    struct wr_state state;
    struct wr_preferences preferences;
    bool tells_kind; /* continue: kind ok or blocked */
    bool rehydrated;
    struct str state_token, ack_token, checkpoint_token;
    struct wr_report report; /* of a block */
    bool blocked, retryable;
    const struct wr_event *validation; /* of the block, or NULL */
    int64_t told_from, told_to;        /* gaps with indices between are warnings */
    size_t told_at;                    /* the node that they are scoped to */
    struct str prompt;
};

/* --- tokens --- */

static struct str token_of(const struct reply *r, enum wr_token_kind kind, struct str attempt) {
    const struct wr_node *n = &r->s->nodes[r->node];
    struct wr_token t = {.kind = (int)kind,
                         .session_id = r->s->id,
                         .run_id = r->s->runs[n->run].id,
                         .node_id = n->id,
                         .attempt_id = attempt,
                         .workflow_hash = n->created->u.node.workflow_hash};
    return wr_token_mint(r->o->keys, &t, r->o->a);
}

struct str wr_state_token(const struct wr_operator *o, const struct wr_session *s, size_t node) {
    struct reply r = {.o = o, .s = s, .node = node};
    return token_of(&r, WR_TOKEN_STATE, STR_NONE);
}

/* A reply without a token that it should have would leave the agent stuck. */
static int tokens_mint(struct reply *r, struct str attempt) {
    if (r->state_token.p == NULL) r->state_token = token_of(r, WR_TOKEN_STATE, STR_NONE);
    if (r->state_token.p == NULL) return wr_no_memory(r->f);
    if (r->state.kind == WR_S_COMPLETE || r->state.pending == 0) return 0;
    r->ack_token = token_of(r, WR_TOKEN_ACK, attempt);
    r->checkpoint_token = token_of(r, WR_TOKEN_CHECKPOINT, attempt);
    return r->ack_token.p != NULL && r->checkpoint_token.p != NULL ? 0 : wr_no_memory(r->f);
}

/* --- places --- */

int wr_token_locate(const struct wr_session *s, const struct wr_token *t, const char *parameter,
                    size_t *run, size_t *node, struct wr_fault *f) {
    size_t at = wr_session_node(s, t->node_id), in = wr_session_run(s, t->run_id);
    if (!str_eq(s->id, t->session_id) || at == WR_NO_NODE || in == WR_NO_NODE ||
        s->nodes[at].run != in)
        return wr_fail(f, WR_TOKEN_UNKNOWN_NODE, parameter,
                       "%s: its step is not known to this host; call resume_session to find the "
                       "work",
                       parameter);
    if (t->kind == WR_TOKEN_STATE &&
        !str_eq(t->workflow_hash, s->nodes[at].created->u.node.workflow_hash))
        return wr_fail(f, WR_TOKEN_WORKFLOW_HASH_MISMATCH, parameter,
                       "%s: the run is pinned to another version of the workflow; call "
                       "resume_session",
                       parameter);
    *run = in;
    *node = at;
    return 0;
}

bool wr_advance_find(const struct wr_session *s, const struct wr_token *ack, size_t *out) {
    const struct wr_event *e = wr_stored_advance(s, ack->node_id, ack->attempt_id);
    if (e == NULL) return false;
    *out = wr_session_node(s, e->u.advance.outcome == 0 ? e->u.advance.to_node_id : ack->node_id);
    return true;
}

/* --- members --- */

static void texts_write(struct jw *w, const char *name, const struct wr_texts *t) {
    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < t->nr; i++) jw_str(w, t->v[i]);
    jw_end_array(w);
}

static void next_call_write(const struct reply *r, struct jw *w) {
    bool advance = r->ack_token.p != NULL && (!r->blocked || r->retryable);
    jw_key(w, "nextCall");
    if (!advance) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_key(w, "params");
    jw_object(w);
    jw_kstr(w, "ackToken", r->ack_token);
    jw_kstrz(w, "intent", "advance");
    jw_kstr(w, "stateToken", r->state_token);
    jw_end_object(w);
    jw_kstrz(w, "tool", "continue_workflow");
    jw_end_object(w);
}

static const struct wr_step *pending_step(const struct reply *r) {
    if (r->state.kind == WR_S_COMPLETE || r->state.pending == 0) return NULL;
    size_t at = wr_workflow_step(r->w, r->state.step.step_id);
    return at == WR_NO_AT ? NULL : &r->w->steps.v[at];
}

/* WR-228; in the full-auto modes the agent confirms for the user. */
static const char *next_intent(const struct reply *r) {
    const struct wr_step *step = pending_step(r);
    if (step == NULL) return "complete";
    if (r->rehydrated) return "rehydrate_only";
    if (step->confirm && r->preferences.autonomy == WR_GUIDED) return "await_user_confirmation";
    return "perform_pending_then_continue";
}

static void pending_write(const struct reply *r, struct jw *w) {
    const struct wr_step *step = pending_step(r);
    jw_key(w, "pending");
    if (step == NULL) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_kstr(w, "prompt", r->prompt);
    jw_kbool(w, "requireConfirmation", step->confirm);
    jw_kstr(w, "stepId", step->id);
    jw_kstr(w, "title", step->title);
    jw_end_object(w);
}

static void session_write(const struct reply *r, struct jw *w) {
    const struct wr_run *run = &r->s->runs[r->s->nodes[r->node].run];
    jw_key(w, "session");
    jw_object(w);
    jw_kstr(w, "runId", run->id);
    jw_kstr(w, "sessionId", r->s->id);
    jw_kstr(w, "workflowId", run->started->u.run.workflow_id);
    jw_end_object(w);
}

static void validation_write(const struct reply *r, struct jw *w) {
    if (r->validation == NULL) return;
    jw_key(w, "validation");
    jw_object(w);
    texts_write(w, "issues", &r->validation->u.validation.issues);
    texts_write(w, "suggestions", &r->validation->u.validation.suggestions);
    jw_end_object(w);
}

/* What the call disclosed: the gaps of its plan (WR-151). */
static void warnings_write(const struct reply *r, struct jw *w) {
    bool any = false;
    const struct wr_link *l =
        r->told_to > r->told_from ? r->s->nodes[r->told_at].events.first : NULL;
    for (; l != NULL; l = l->next) {
        if (l->event->kind != WR_GAP_RECORDED || l->event->index <= r->told_from ||
            l->event->index >= r->told_to)
            continue;
        if (!any) {
            jw_key(w, "warnings");
            jw_array(w);
        }
        any = true;
        jw_str(w, l->event->u.gap.summary);
    }
    if (any) jw_end_array(w);
}

static void reply_write(const struct reply *r, struct jw *w) {
    jw_object(w);
    jw_kstr_opt(w, "ackToken", r->ack_token);
    if (r->blocked) {
        jw_key(w, "blockers");
        wr_shape_write(&WR_REPORT_SHAPE, &r->report, w);
    }
    jw_kstr_opt(w, "checkpointToken", r->checkpoint_token);
    jw_kbool(w, "isComplete", pending_step(r) == NULL);
    if (r->tells_kind) jw_kstrz(w, "kind", r->blocked ? "blocked" : "ok");
    next_call_write(r, w);
    jw_kstrz(w, "nextIntent", next_intent(r));
    pending_write(r, w);
    jw_key(w, "preferences");
    jw_object(w);
    jw_kstrz(w, "autonomy", WR_AUTONOMY_NAMES.v[r->preferences.autonomy]);
    jw_kstrz(w, "riskPolicy", WR_RISK_NAMES.v[r->preferences.risk]);
    jw_end_object(w);
    if (r->blocked && r->retryable) jw_kstr(w, "retryAckToken", r->ack_token);
    if (r->blocked) jw_kbool(w, "retryable", r->retryable);
    session_write(r, w);
    jw_kstr(w, "stateToken", r->state_token);
    validation_write(r, w);
    warnings_write(r, w);
    jw_end_object(w);
}

/* The prompt, then the JSON. */
static int reply_render(struct reply *r, struct str recovery, struct str *json) {
    const struct wr_step *step = pending_step(r);
    struct buf b;
    struct jw w;
    if (r->state.pending != 0 && step == NULL)
        return wr_fail(r->f, WR_INTERNAL_ERROR, "",
                       "the stored state is not one of its workflow; verify the session");
    if (step != NULL && wr_prompt_text(r->w, step, recovery, r->o->a, &r->prompt) != 0)
        return wr_no_memory(r->f);
    buf_init(&b, (size_t)16 * 1024 * 1024);
    jw_init(&w, &b);
    reply_write(r, &w);
    *json = buf_failed(&b) || arena_failed(r->o->a) ? STR_NONE : arena_str(r->o->a, buf_str(&b));
    buf_fini(&b);
    return json->p != NULL ? 0 : wr_no_memory(r->f);
}

static int reply_open(struct reply *r, size_t node) {
    r->node = node;
    int rc = wr_stored_workflow(r->o, r->s, node, &r->w, r->f);
    return rc == 0 ? wr_stored_state(r->o, r->s, node, &r->state, r->f) : rc;
}

/* The validation that a block names, by its id. */
static const struct wr_event *validation_of(const struct reply *r) {
    static const char PREFIX[] = "validation_";
    struct str ref = r->state.block.validation_ref;
    size_t n = sizeof PREFIX - 1;
    if (ref.n <= n) return NULL;
    struct str key = arena_printf(r->o->a, "validation_performed:" STR_FMT ":" STR_FMT,
                                  STR_ARG(r->s->id), STR_ARG(str_n(ref.p + n, ref.n - n)));
    return key.p != NULL ? wr_session_key(r->s, key) : NULL;
}

static void reply_block(struct reply *r) {
    if (r->state.kind != WR_S_BLOCKED) return;
    r->blocked = true;
    r->retryable = r->state.block.terminal == 0;
    r->report = r->state.block.report;
    r->validation = validation_of(r);
}

/* --- the replies --- */

int wr_start_reply(const struct wr_operator *o, const struct wr_session *s,
                   const struct wr_started *ids, struct str *json, struct wr_fault *f) {
    struct reply r = {.o = o, .s = s, .f = f};
    size_t node = wr_session_node(s, wr_id_str(&ids->node_id));
    if (node == WR_NO_NODE)
        return wr_fail(f, WR_INTERNAL_ERROR, "", "the session has not the node that it began with");
    int rc = reply_open(&r, node);
    if (rc != 0) return rc;
    r.told_at = node;
    r.told_from = s->nodes[node].created->index;
    r.told_to = INT64_MAX;
    r.preferences = wr_node_preferences(s, node, INT64_MAX);
    rc = tokens_mint(&r, wr_id_str(&ids->attempt_id));
    return rc == 0 ? reply_render(&r, STR_NONE, json) : rc;
}

/* The retry attempt belongs to the blocked node alone (WR-126): keys of events have the attempt and
 * not the node, so a checkpoint of that node, whose snapshot is the same, must not hand it out, nor
 * the node once it was used, here or elsewhere. */
static bool retry_unused(const struct reply *r) {
    struct str retry = r->state.block.retry_attempt_id;
    return r->blocked && r->retryable && retry.n > 0 &&
           r->s->nodes[r->node].created->u.node.kind == WR_NODE_BLOCKED &&
           wr_session_attempt(r->s, retry) == NULL;
}

int wr_rehydrate_reply(const struct wr_operator *o, const struct wr_session *s,
                       const struct wr_token *state, struct str state_token, struct str *json,
                       struct wr_fault *f) {
    struct reply r = {
        .o = o, .s = s, .f = f, .tells_kind = true, .rehydrated = true, .state_token = state_token};
    size_t run, node;
    struct str recovery = STR_NONE;
    struct wr_id fresh = wr_id_mint(o->mint, WR_ID_ATTEMPT);
    int rc = wr_token_locate(s, state, "stateToken", &run, &node, f);
    if (rc == 0) rc = reply_open(&r, node);
    if (rc != 0) return rc;
    reply_block(&r);
    struct str attempt = retry_unused(&r) ? r.state.block.retry_attempt_id : wr_id_str(&fresh);
    r.preferences = wr_node_preferences(s, node, INT64_MAX);
    rc = tokens_mint(&r, attempt);
    if (rc != 0) return rc;
    if (pending_step(&r) != NULL &&
        wr_recovery_text(s, node, r.w, &r.state.step, o->a, &recovery) != 0)
        return wr_no_memory(f);
    return reply_render(&r, recovery, json);
}

/* A stored outcome of the old form: the block is that of the node advanced from (WR-31). */
static void reply_old_block(struct reply *r, const struct wr_event *advance) {
    r->blocked = r->retryable = true;
    r->report = advance->u.advance.report;
    r->validation = NULL;
}

int wr_advance_reply(const struct wr_operator *o, const struct wr_session *s,
                     const struct wr_token *ack, struct str *json, struct wr_fault *f) {
    struct reply r = {.o = o, .s = s, .f = f, .tells_kind = true};
    const struct wr_event *advance = wr_stored_advance(s, ack->node_id, ack->attempt_id);
    struct wr_id child = wr_attempt_child(ack->attempt_id);
    size_t node = WR_NO_NODE;
    if (advance == NULL || !wr_advance_find(s, ack, &node) || node == WR_NO_NODE)
        return wr_fail(f, WR_INTERNAL_ERROR, "",
                       "the recorded attempt has not the node that it led to; verify the session");
    int rc = reply_open(&r, node);
    if (rc != 0) return rc;
    /* As of the target node: what came later does not change the reply (WR-141). */
    r.told_at = wr_session_node(s, ack->node_id);
    r.told_from = advance->index;
    r.told_to = s->nodes[node].created->index;
    if (advance->u.advance.outcome != 0) reply_old_block(&r, advance);
    else reply_block(&r);
    r.preferences = wr_node_preferences(s, node, r.told_to > r.told_from ? r.told_to : INT64_MAX);
    rc = tokens_mint(&r, wr_id_str(&child));
    return rc == 0 ? reply_render(&r, STR_NONE, json) : rc;
}

int wr_checkpoint_reply(const struct wr_operator *o, const struct wr_session *s,
                        const struct wr_token *t, struct str *json, struct wr_fault *f) {
    struct wr_id id = wr_checkpoint_node(t->session_id, t->run_id, t->node_id, t->attempt_id);
    struct buf b;
    struct jw w;
    size_t run, node;
    int rc = wr_token_locate(s, t, "checkpointToken", &run, &node, f);
    if (rc != 0) return rc;
    struct str state = wr_state_token(o, s, node);
    buf_init(&b, 4 * WR_TOKEN_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "checkpointNodeId", id.s);
    jw_key(&w, "nextCall");
    jw_object(&w);
    jw_key(&w, "params");
    jw_object(&w);
    jw_kstrz(&w, "intent", "rehydrate");
    jw_kstr(&w, "stateToken", state);
    jw_end_object(&w);
    jw_kstrz(&w, "tool", "continue_workflow");
    jw_end_object(&w);
    jw_kstr(&w, "stateToken", state);
    jw_end_object(&w);
    *json = buf_failed(&b) || state.p == NULL ? STR_NONE : arena_str(o->a, buf_str(&b));
    buf_fini(&b);
    return json->p != NULL ? 0 : wr_no_memory(f);
}
