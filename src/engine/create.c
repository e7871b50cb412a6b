/*
 * create.c: how runs come into being: a worker plans the run and its first step, and one commit
 * creates both.
 */
#include "engine/create.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/agent_set.h"
#include "engine/bounds.h"
#include "engine/cascade.h"
#include "engine/clear.h"
#include "engine/command.h"
#include "engine/module_type.h"
#include "engine/step.h"
#include "engine/task_serve.h"

#define RETRY_AFTER_MAX_S 86400 /* a client asks again after a day at the latest */

static struct str str_keep(struct plan *p, struct str s) {
    return s.n > 0 ? arena_str(p->arena, s) : STR_NONE;
}

static void create_meta(struct plan *p, const struct engine_cmd *cmd, struct str run_id,
                        const struct agent_set *agents, struct str modules, int64_t now_ms) {
    struct run_meta *m = &p->create->meta;
    m->run_id = str_keep(p, run_id);
    m->workflow_id = str_keep(p, cmd->create.wf->id);
    m->tenant = str_keep(p, cmd->tenant);
    m->workspace = str_keep(p, cmd->workspace);
    m->scope_id = str_keep(p, cmd->create.scope_id);
    m->subject = str_keep(p, cmd->subject);
    m->configurable = str_keep(p, cmd->create.options.configurable);
    m->tags = str_keep(p, cmd->create.options.tags);
    m->metadata = str_keep(p, cmd->create.options.metadata);
    m->callback_url = str_keep(p, cmd->create.callback_url);
    m->traceparent = str_keep(p, cmd->traceparent);
    m->transport = STR("rest");
    m->agents = str_keep(p, agents->text);
    m->agents_digest = str_keep(p, agents->digest);
    m->modules = str_keep(p, modules);
    m->test_mode = cmd->test_mode;
    m->shown_engine_version = cmd->create.force_engine_version ? cmd->create.shown_engine_version
                                                               : CURRENT_ENGINE_VERSION;
    m->created_ms = now_ms;
    m->recursion_limit = cmd->create.options.recursion_limit;
}

/* EVT-11: mask sensitive inputs here, once, and seal the clear ones. */
static void create_vars(struct engine *e, struct plan *p, const struct engine_cmd *cmd) {
    const struct var_inits *from = &cmd->create.inputs;
    struct run_meta *m = &p->create->meta;
    struct var_init *v = ARENA_ARRAY(p->arena, struct var_init, from->n);
    struct wopr_error err;
    bool any = false;
    if (!v) return;
    for (size_t i = 0; i < from->n; i++) {
        v[i] = from->v[i];
        v[i].name = str_keep(p, from->v[i].name);
        v[i].value = str_keep(p, from->v[i].value);
        any = any || v[i].sensitive;
    }
    p->create->vars = (struct var_inits){.v = v, .n = from->n};
    m->inputs = str_keep(p, cmd->create.inputs_accepted);
    if (!any) return;
    int rc = run_inputs_mask(&p->create->vars, cmd->create.wf->masking_mode, p->arena, &m->inputs,
                             &m->inputs_clear, &err);
    if (rc != 0) plan_fail(p, rc, "%s", err.message);
    m->sealed = m->inputs_clear.n > 0;
    if (m->sealed) clear_seal(e, p, m->run_id, SEALED_INPUTS, m->inputs_clear);
}

static struct plan *create_plan(struct engine *e, struct engine_cmd *cmd, struct str run_id,
                                const struct agent_set *agents, struct str modules,
                                int64_t now_ms) {
    struct plan *p = plan_new();
    if (!p) return NULL;
    p->what = PLAN_CREATE;
    p->run_id = str_keep(p, run_id);
    p->epoch = 1; /* of the first holder */
    p->create = ARENA_NEW(p->arena, struct run_row_new);
    if (p->create) {
        create_meta(p, cmd, run_id, agents, modules, now_ms);
        create_vars(e, p, cmd);
        plan_channels(p, cmd->create.wf);
        p->create->workflow_hash = cmd->create.wf->hash;
        p->create->holder = str_keep(p, e->holder);
        /* Whole seconds: the holder's row is then moved once a second, not for each creation. */
        p->create->lease_until_ms = (now_ms + e->cfg.lease_ttl_ms + 999) / 1000 * 1000;
        p->create->dedup_enforce = cmd->create.dedup_enforce;
        p->create->tenant_bytes_max = e->cfg.bounds.tenant_bytes_max;
        p->create->parent_run_id = str_keep(p, cmd->create.parent_run_id);
        p->create->parent_node_id = str_keep(p, cmd->create.parent_node_id);
        p->create->callback_answers = cmd->create.callback_answers;
        p->create->child_depth = cmd->create.child_depth;
        p->create->child_flags = cmd->create.child_flags;
    }
    if (!arena_failed(p->arena) && p->failed == 0) return p;
    plan_unref(p);
    return NULL;
}

static void create_refused(struct engine *e, struct engine_cmd *cmd, const struct plan *p, int rc) {
    if (rc == WOPR_E_QUOTA) {
        cmd->result = (struct engine_result){.rc = rc};
        bound_tenant_bytes(e, p, &cmd->result.err);
        cmd_settle(e, cmd);
        return;
    }
    if (rc != WOPR_E_RUN_ALREADY_ACTIVE) {
        cmd->result.run_id = STR_NONE;
        cmd_fail(e, cmd, rc, wopr_err_text(rc));
        return;
    }
    struct engine_result *r = &cmd->result; /* RUN-7 */
    int64_t left_ms = p->active_until_ms - clock_wall_ms();
    int64_t left_s = (left_ms + 999) / 1000;
    *r = (struct engine_result){.active_run_id = arena_str(cmd->arena, p->active_run_id)};
    r->retry_after_s = left_s < 1                   ? 1
                       : left_s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S
                                                    : (int32_t)left_s;
    r->rc = wopr_error_set(&r->err, rc, "another run of this scope is active");
    cmd_settle(e, cmd);
}

static int create_build(struct step *st, int64_t now_ms, struct plan **out,
                        struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct agent_set agents;
    struct str modules = STR_NONE;
    int rc = engine_run_fits(st->engine, &re->commit.cmd->create.inputs.needs, err);
    if (rc == 0) rc = agent_set_resolve(st, re->commit.cmd, &agents, err);
    if (rc == 0) rc = module_types_resolve(st, re->commit.cmd, &modules, err);
    if (rc != 0) return rc;
    struct plan *p =
        create_plan(st->engine, re->commit.cmd, str_c(re->run_id), &agents, modules, now_ms);
    if (!p) return WOPR_E_NO_MEMORY;
    rc = run_state_new(re->wf, &p->create->meta, &st->engine->cfg.limits, &re->state, err);
    if (rc == 0) *out = p;
    else plan_unref(p);
    return rc;
}

/* err: why rc is not 0, or of another code: nothing more is known. */
static enum turn create_send(struct step *st, struct plan *p, int64_t now_ms, int rc,
                             const struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct engine_cmd *cmd = re->commit.cmd;
    if (rc == 0) {
        struct str run_id = cmd->result.run_id;
        cmd->result = (struct engine_result){
            .run_id = run_id, .status = RUN_PENDING, .at_ms = now_ms}; /* RUN-4 */
        cmd_attach(cmd, p);
        re->commit.plan = p;
        if (re->phase == EXEC_NEW) exec_move(re, EXEC_CREATING);
        rc = exec_commit(re, p, cmd);
        if (rc == 0) return TURN_END;
        plan_unref(p);
    }
    re->commit.cmd = NULL;
    cmd->result.run_id = STR_NONE;
    if (rc == err->code && (rc == WOPR_E_VALIDATION || rc == WOPR_E_CONFLICT)) { /* its agents */
        cmd->result.rc = rc;
        cmd->result.err = *err;
        cmd_settle(st->engine, cmd);
    } else {
        cmd_fail(st->engine, cmd, rc, rc == err->code ? err->message : wopr_err_text(rc));
    }
    return TURN_DROP;
}

/*
 * The plan that creates a run carries its first step, so a run whose nodes finish at once is one
 * commit.  No client knows the run before that, and a refused plan takes with it all that the step
 * did.  A first step that cannot be planned, or that the store does not take, is left out: it is
 * tried again as any other, where it can fail by itself.
 */
enum turn create_turn(struct step *st) {
    struct engine *e = st->engine;
    int64_t now_ms = clock_wall_ms();
    uint64_t refused = mem_refused();
    struct plan *p = NULL;
    struct wopr_error err = {0};
    int rc = engine_is_broken(e) ? WOPR_E_SYNC_FAILED : 0;
    if (rc == 0 && engine_is_stopping(e)) rc = WOPR_E_UNAVAILABLE;
    if (rc == 0) rc = create_build(st, now_ms, &p, &err);
    if (rc == 0 && !step_first(st, p)) {
        plan_unref(p);
        exec_forget_state(st->exec);
        rc = create_build(st, now_ms, &p, &err);
    }
    rc = mem_verdict(rc, refused); /* a run that no host could hold is not "try again" */
    return create_send(st, p, now_ms, rc, &err);
}

static enum turn create_without_step(struct step *st, struct engine_cmd *cmd) {
    struct plan *p = NULL;
    struct wopr_error err = {0};
    int64_t now_ms = clock_wall_ms();
    exec_forget_state(st->exec); /* and the plan that was refused */
    st->exec->commit.cmd = cmd;
    int rc = create_build(st, now_ms, &p, &err);
    return create_send(st, p, now_ms, rc, &err);
}

enum turn create_landed(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    struct engine *e = st->engine;
    struct engine_cmd *cmd = re->commit.cmd;
    struct plan *p = re->commit.plan;
    re->commit.cmd = NULL;
    if (rc == WOPR_E_SYNC_FAILED) engine_break(e, "create");
    if (wopr_err_stays(rc) && p->events_nr > 0) return create_without_step(st, cmd);
    if (rc != 0 || p->idem_hit) {
        if (rc != 0) create_refused(e, cmd, p, rc);
        else cmd_committed(cmd, p);
        return TURN_DROP;
    }
    e->counts.created++;
    step_count(e, p);
    parent_notify(st, p);
    tasks_announce(st, p);
    re->run_no = p->run_no;
    re->lease.epoch = p->epoch;
    re->commit.plan = NULL;
    exec_move(re, EXEC_LIVE);
    cmd_committed(cmd, p);
    plan_unref(p);
    if (run_status_final(re->state->status)) return TURN_DROP;
    return exec_register_no(re) == 0 ? TURN_GO_ON : TURN_LATER; /* later, when there is memory */
}
