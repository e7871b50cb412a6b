/*
 * rail.c: see rail.h: the calls that read and change one session, in the order of section 6.
 */
#include "rail/rail.h"

#include "base/clock.h"
#include "base/mem.h"
#include "rail/rail_int.h"

enum { RAIL_ARENA_MAX = 64 << 20 };

int rail_new(const struct rail_config *cfg, struct rail **out, struct wopr_error *err) {
    struct rail *r = MEM_NEW(struct rail);
    if (!r) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for sessions");
    r->cfg = *cfg;
    pthread_mutex_init(&r->gates_lock, NULL);
    pthread_mutex_init(&r->commands.lock, NULL);
    r->commands.has_ready = clock_cond_init(&r->commands.ready) == 0;
    r->commands.end = &r->commands.first;
    r->commands.later_end = &r->commands.later;
    r->arena = arena_new(RAIL_ARENA_MAX);
    r->gates = map_new();
    int rc = held_init(&r->held, cfg->held_bytes_max);
    if (rc == 0 && r->arena && r->gates && r->commands.has_ready) {
        *out = r;
        return 0;
    }
    rail_free(r);
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for sessions");
}

void rail_free(struct rail *r) {
    if (!r) return;
    rail_stop(r);
    if (r->commands.has_ready) pthread_cond_destroy(&r->commands.ready);
    pthread_mutex_destroy(&r->commands.lock);
    map_free(r->gates);
    held_fini(&r->held);
    arena_free(r->arena);
    pthread_mutex_destroy(&r->gates_lock);
    mem_free(r);
}

const struct rail_config *rail_config_of(const struct rail *r) { return &r->cfg; }

/* --- start (6.1) --- */
static int workflow_known(struct rail_op *o, struct str id, const struct rail_workflow **out) {
    *out = rail_workflow_find(o->rail, id);
    return *out ? 0 : rail_workflow_unknown(o, id);
}

static int start_commit(struct rail_op *o, struct wr_plan *plan, const struct wr_workflow *w) {
    struct rail_gate g;
    const struct rail_append in = {.plan = plan, .workflow = w, .create = true};
    int rc = rail_gate_enter(o->rail, plan->session_id, &g, o->f);
    if (rc == 0) rc = rail_append(o, &g, &in);
    rail_gate_leave(&g);
    return rc;
}

static int rail_session_start(struct rail_op *o, const struct wr_call *call, struct str *json) {
    const struct rail_workflow *w;
    struct wr_started ids;
    struct wr_plan plan;
    int rc = workflow_known(o, call->workflow_id, &w);
    if (rc != 0) return rc;
    const struct wr_start in = {.workflow = &w->compiled,
                                .source_kind = w->kind,
                                .source_ref = w->ref,
                                .context = call->context,
                                .anchors = call->anchors,
                                .autonomy = call->autonomy,
                                .risk = call->risk};
    rc = wr_start_plan(&o->op, &in, &plan, &ids, o->f);
    if (rc != 0) return rc;
    o->session = (struct rail_session){.truth = wr_session_new(o->a)};
    if (!o->session.truth) return wr_no_memory(o->f);
    rc = start_commit(o, &plan, &w->compiled);
    return rc == 0 ? wr_start_reply(&o->op, o->session.truth, &ids, json, o->f) : rc;
}

/* --- tokens --- */

/* What is not there, and what another tenant has, is one answer (WR-268). */
static int token_session(struct rail_op *o, const struct wr_token *t, const char *parameter) {
    int rc = rail_op_load(o, t->session_id);
    if (o->f->code == WR_NOT_FOUND && rc != 0)
        return wr_fail(o->f, WR_TOKEN_UNKNOWN_NODE, parameter,
                       "%s is of no session that is here for you; call resume_session to find "
                       "earlier work",
                       parameter);
    return rc;
}

static int token_located(struct rail_op *o, const struct wr_token *t, const char *parameter) {
    size_t run, node;
    int rc = token_session(o, t, parameter);
    return rc == 0 ? wr_token_locate(o->session.truth, t, parameter, &run, &node, o->f) : rc;
}

/* Codes of stores become those of tokens, since only they are known to callers (WR-117). */
static int token_locked(struct rail_op *o, int rc) {
    if (rc != 0 && (o->f->code == WR_SESSION_LOCKED || o->f->code == WR_SESSION_LOCK_REENTRANT))
        return wr_fail(o->f, WR_TOKEN_SESSION_LOCKED, "",
                       "another call changes this session; repeat the same call in a second");
    return rc;
}

/* --- a call that writes: find, lock, read again, find again, append --- */
struct writing {
    struct rail_op *op;
    const struct wr_token *token; /* names the session */
    void *in;
    bool (*done)(const struct writing *w); /* was it recorded before? */
    int (*plan)(const struct writing *w, struct wr_plan *out);
};

static int write_planned(const struct writing *w, const struct rail_gate *g) {
    struct rail_op *o = w->op;
    const struct wr_workflow *flow;
    size_t run = wr_session_run(o->session.truth, w->token->run_id);
    struct wr_plan plan;
    int rc = o->op.port.workflow(o, o->session.truth->runs[run].started->u.run.workflow_hash, &flow,
                                 o->f);
    if (rc == 0) rc = w->plan(w, &plan);
    if (rc != 0) return rc;
    const struct rail_append in = {.plan = &plan, .workflow = flow};
    return rail_append(o, g, &in);
}

static int write_locked(const struct writing *w) {
    struct rail_gate g;
    int rc = rail_gate_enter(w->op->rail, w->token->session_id, &g, w->op->f);
    if (rc == 0) rc = rail_op_load(w->op, w->token->session_id);
    if (rc == 0 && !w->done(w)) rc = write_planned(w, &g);
    rail_gate_leave(&g);
    return rc;
}

/* WR-60.  When another process was faster, what it wrote may be this very call. */
static int write_once(const struct writing *w) {
    struct wr_fault first;
    if (w->done(w)) return 0;
    int rc = write_locked(w);
    if (rc == 0 || w->op->f->code != WR_SESSION_LOCKED) return token_locked(w->op, rc);
    first = *w->op->f;
    rc = rail_op_load(w->op, w->token->session_id);
    if (rc != 0) return rc;
    if (w->done(w)) return 0;
    *w->op->f = first;
    return token_locked(w->op, first.e.code);
}

/* --- continue (6.2 to 6.5) --- */
static bool advance_done(const struct writing *w) {
    size_t node;
    return wr_advance_find(w->op->session.truth, w->token, &node);
}

static int advance_plan(const struct writing *w, struct wr_plan *out) {
    return wr_advance_plan(&w->op->op, w->op->session.truth, w->in, out, w->op->f);
}

static int rail_advance(struct rail_op *o, const struct wr_call *call, const struct wr_token *ack,
                        struct str *json) {
    struct wr_advance in = {.ack = *ack,
                            .context = call->context,
                            .output = call->output,
                            .anchors = call->anchors,
                            .autonomy = call->autonomy,
                            .risk = call->risk};
    const struct writing w = {o, ack, &in, advance_done, advance_plan};
    int rc = write_once(&w);
    return rc == 0 ? wr_advance_reply(&o->op, o->session.truth, ack, json, o->f) : rc;
}

static int continue_call(struct rail_op *o, const struct wr_call *call, struct str *json) {
    struct wr_token state, ack;
    int rc = wr_token_read(&o->keys, call->state_token, WR_TOKEN_STATE, "stateToken", o->a, &state,
                           o->f);
    if (rc == 0 && call->advance)
        rc = wr_token_read(&o->keys, call->ack_token, WR_TOKEN_ACK, "ackToken", o->a, &ack, o->f);
    if (rc == 0 && call->advance) rc = wr_token_scope(&state, &ack, "ackToken", o->f);
    if (rc == 0) rc = token_located(o, &state, "stateToken");
    if (rc != 0) return rc;
    if (call->advance) return rail_advance(o, call, &ack, json);
    return wr_rehydrate_reply(&o->op, o->session.truth, &state, call->state_token, json, o->f);
}

/* --- checkpoint (6.6) --- */
static bool checkpoint_done(const struct writing *w) {
    return wr_checkpoint_find(w->op->session.truth, w->token);
}

static int checkpoint_plan(const struct writing *w, struct wr_plan *out) {
    return wr_checkpoint_plan(&w->op->op, w->op->session.truth, w->in, out, w->op->f);
}

static int rail_checkpoint(struct rail_op *o, const struct wr_call *call, struct str *json) {
    struct wr_checkpoint in = {.output = call->output};
    struct wr_token state;
    int rc = wr_token_read(&o->keys, call->checkpoint_token, WR_TOKEN_CHECKPOINT, "checkpointToken",
                           o->a, &in.token, o->f);
    if (rc == 0 && call->state_token.n > 0)
        rc = wr_token_read(&o->keys, call->state_token, WR_TOKEN_STATE, "stateToken", o->a, &state,
                           o->f);
    if (rc == 0 && call->state_token.n > 0)
        rc = wr_token_scope(&state, &in.token, "checkpointToken", o->f);
    if (rc == 0) rc = token_located(o, &in.token, "checkpointToken");
    const struct writing w = {o, &in.token, &in, checkpoint_done, checkpoint_plan};
    if (rc == 0) rc = write_once(&w);
    return rc == 0 ? wr_checkpoint_reply(&o->op, o->session.truth, &in.token, json, o->f) : rc;
}

/* --- */
static int call_do(struct rail_op *o, const struct wr_call *call, struct str *json) {
    switch (call->tool) {
    case WR_TOOL_LIST:
        return rail_list(o, json);
    case WR_TOOL_INSPECT:
        return rail_inspect(o, call, json);
    case WR_TOOL_START:
        return rail_session_start(o, call, json);
    case WR_TOOL_CONTINUE:
        return continue_call(o, call, json);
    case WR_TOOL_CHECKPOINT:
        return rail_checkpoint(o, call, json);
    case WR_TOOL_RESUME:
        return rail_resume(o, call, json);
    case WR_TOOLS:
        break;
    }
    return wr_fail(o->f, WR_INTERNAL_ERROR, "", "there is no such tool");
}

int rail_call(struct rail *r, const struct rail_caller *who, enum wr_tool tool,
              struct str arguments, struct arena *a, struct str *json, struct wr_fault *f) {
    const struct rail_owner owner = {who->tenant, who->workspace, who->subject, who->test_mode};
    bool keys = tool != WR_TOOL_LIST && tool != WR_TOOL_INSPECT;
    struct wr_call call;
    struct rail_op o;
    *f = (struct wr_fault){.code = WR_FINE};
    int rc = wr_call_read(tool, arguments, a, &call, f);
    if (rc != 0) return rc;
    rc = rail_op_init(&o, r, &owner, keys, a, f);
    if (rc == 0) rc = call_do(&o, &call, json);
    rail_op_fini(&o);
    return rc;
}
