/*
 * command.c: how commands are answered.
 */
#include "engine/command.h"

#include "base/clock.h"
#include "codec/jobj.h"
#include "engine/job.h"

#define SUBMIT_RETRY_AFTER_S 1 /* ERR-9 */
#define AUDIT_DETAILS_MAX    4096

/* A worker calls done(), so that engine_submit never calls back into its caller. */
static void answer_queue(struct engine *e, struct engine_cmd *cmd) {
    pthread_mutex_lock(&e->mu);
    bool queue = e->life.started;
    if (queue) {
        cmd->next = NULL;
        *e->answers.end = cmd;
        e->answers.end = &cmd->next;
        if (e->life.idle_nr > 0) pthread_cond_signal(&e->work);
    }
    pthread_mutex_unlock(&e->mu);
    if (!queue) cmd->done(cmd);
}

static bool cmd_render(struct engine_cmd *cmd) {
    cmd->response = (struct idem_response){0};
    return cmd->respond(cmd, &cmd->result, &cmd->response) && cmd->has_idem;
}

static void response_take(struct engine_cmd *cmd, const struct idem_response *r) {
    cmd->response = *r;
    if (r->body.n > 0) cmd->response.body = arena_str(cmd->arena, r->body);
    cmd->replayed = true;
}

/* If the answer cannot be stored, refuse: a retry with the same key might get another one
 * (IDEM-5). */
static void answer_refuse_unkept(struct engine_cmd *cmd, int rc) {
    struct engine_result *r = &cmd->result;
    bool conflict = rc == WOPR_E_IDEM_CONFLICT;
    if (!conflict && cmd->response.transient_until_ms > 0) return;
    *r = (struct engine_result){.run_id = r->run_id, .retry_after_s = SUBMIT_RETRY_AFTER_S};
    r->rc = wopr_error_set(&r->err, conflict ? rc : WOPR_E_UNAVAILABLE, "%s",
                           conflict ? wopr_err_text(rc)
                                    : "the answer could not be kept; repeat the request");
    (void)cmd_render(cmd);
}

static void answer_kept(void *ctx, struct plan *p, int rc) {
    struct engine_cmd *cmd = ctx;
    struct engine *e = cmd->priv;
    if (rc != 0) answer_refuse_unkept(cmd, rc);
    else if (p->idem_hit) response_take(cmd, &p->idem_response);
    plan_unref(p);
    answer_queue(e, cmd);
    inflight_end(e, 1);
}

static bool response_copy(struct engine_cmd *cmd, struct plan *p) {
    p->has_idem = true;
    p->idem = cmd->idem;
    p->idem.tenant = arena_str(p->arena, cmd->idem.tenant);
    p->idem.operation_id = arena_str(p->arena, cmd->idem.operation_id);
    p->idem_response = cmd->response;
    if (cmd->response.body.n > 0) p->idem_response.body = arena_str(p->arena, cmd->response.body);
    return !arena_failed(p->arena);
}

void cmd_settle(struct engine *e, struct engine_cmd *cmd) {
    struct plan *p;
    cmd->priv = e;
    if (cmd->result.rc < 0) e->counts.refused[-cmd->result.rc]++;
    if (!cmd_render(cmd)) {
        answer_queue(e, cmd);
        return;
    }
    if (!(p = plan_new())) {
        answer_refuse_unkept(cmd, WOPR_E_NO_MEMORY);
        answer_queue(e, cmd);
        return;
    }
    p->what = PLAN_SIDE;
    pthread_mutex_lock(&e->mu);
    bool go = e->life.started && !e->life.broken;
    if (go) inflight_begin_locked(e);
    pthread_mutex_unlock(&e->mu);
    if (go && response_copy(cmd, p) && journal_append(e->journal, p, answer_kept, cmd) == 0) return;
    plan_unref(p);
    answer_refuse_unkept(cmd, WOPR_E_UNAVAILABLE);
    answer_queue(e, cmd);
    if (go) inflight_end(e, 1);
}

void cmd_fail(struct engine *e, struct engine_cmd *cmd, int rc, const char *why) {
    struct engine_result *r = &cmd->result;
    struct str run_id = r->run_id;
    *r = (struct engine_result){.run_id = run_id, .retry_after_s = SUBMIT_RETRY_AFTER_S};
    r->rc = wopr_error_set(&r->err, rc, "%s", why);
    cmd_settle(e, cmd);
}

/* AUD-3: what the command did. */
static void audit_attach(const struct engine_cmd *cmd, struct plan *p) {
    static const char *const TYPES[ENGINE_OP_NR] = {
        [ENGINE_CREATE] = "run.created", [ENGINE_CANCEL] = "run.cancelled",
        [ENGINE_PAUSE] = "run.paused",   [ENGINE_RESUME] = "run.resumed",
        [ENGINE_FORK] = "run.forked",    [ENGINE_RESOLVE] = "interrupt.resolved"};
    const struct engine_result *r = &cmd->result;
    if (!cmd->audit || r->rc != 0 || !TYPES[cmd->op]) return;
    struct plan_audit row = *cmd->audit;
    struct jobj o;
    jobj_begin(&o, AUDIT_DETAILS_MAX);
    if (r->run_id.n > 0) jw_kstr(&o.w, "runId", r->run_id);
    if (cmd->op == ENGINE_FORK) jw_kstr(&o.w, "sourceRunId", cmd->run_id);
    if (r->interrupt_id.n > 0) jw_kstr(&o.w, "interruptId", r->interrupt_id);
    row.type = str_c(TYPES[cmd->op]);
    row.at_ms = clock_wall_ms();
    row.status = cmd->response.status;
    row.details = jobj_end(&o, p->arena);
    plan_audit(p, &row);
}

void cmd_attach(struct engine_cmd *cmd, struct plan *p) {
    if (cmd_render(cmd) && !response_copy(cmd, p))
        plan_fail(p, WOPR_E_NO_MEMORY, "no memory for an idempotent answer");
    audit_attach(cmd, p);
}

void cmd_committed(struct engine_cmd *cmd, const struct plan *p) {
    if (p->idem_hit) response_take(cmd, &p->idem_response);
    cmd->done(cmd);
}

/* 10-http-core 5.4, 5.5.  Fills cmd->result when true. */
bool cmd_needs_no_effect(struct engine_cmd *cmd, enum run_status status, int64_t paused_ms) {
    struct engine_result *r = &cmd->result;
    bool final = run_status_final(status);
    if (cmd->op == ENGINE_RESOLVE || cmd->op == ENGINE_TASK) return false;
    bool pausable = status == RUN_PENDING || status == RUN_RUNNING;
    r->status = status;
    r->at_ms = 0;
    if (cmd->op == ENGINE_CANCEL && final) { /* RUN-21 */
        r->rc = 0;
        return true;
    }
    if (cmd->op == ENGINE_CANCEL) return false;
    if (cmd->op == ENGINE_PAUSE && pausable) return false;
    if (cmd->op == ENGINE_RESUME && status == RUN_PAUSED) return false;
    if (status == RUN_PAUSED) r->at_ms = paused_ms; /* RUN-27 */
    r->rc = wopr_error_set(&r->err, WOPR_E_CONFLICT, "the run is %s and cannot be %s",
                           run_status_name(status), cmd->op == ENGINE_PAUSE ? "paused" : "resumed");
    return true;
}

/* --- of runs that are led --- */

void engine_answer(struct engine *e, struct engine_cmd *cmd) { cmd_settle(e, cmd); }

void engine_attach(struct engine_cmd *cmd, struct plan *p) { cmd_attach(cmd, p); }

void engine_committed(struct engine_cmd *cmd, const struct plan *p) { cmd_committed(cmd, p); }
