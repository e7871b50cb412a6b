/*
 * control.c: cancel, pause and resume of a run in memory (10-http-core 5.4, 5.5; WF-44; EVT-30,
 * EVT-31), and the marks of a takeover (EVT-32).  A command is looked at between steps, so no
 * executor is ever inside.
 */
#include "engine/control.h"

#include "base/clock.h"
#include "engine/bounds.h"
#include "engine/cascade.h"
#include "engine/command.h"
#include "engine/conversation.h"
#include "engine/outcome.h"
#include "engine/resolve.h"
#include "engine/secret.h"
#include "engine/task_says.h"
#include "engine/timers.h"

/* AUTH-8: another tenant's run does not exist.  RUN-30: checked before the status. */
static bool run_owned_by(const struct run_state *s, const struct engine_cmd *cmd) {
    return str_eq(s->meta.tenant, cmd->tenant) && s->meta.test_mode == cmd->test_mode;
}

static void control_attach(struct step *st, struct engine_cmd *cmd, enum run_status status) {
    cmd->result =
        (struct engine_result){.run_id = cmd->run_id, .status = status, .at_ms = st->now_ms};
    cmd_attach(cmd, st->plan);
    st->cmd = cmd;
}

/* INT-42: children first.  Until they have ended the command stays first in the mailbox, and the
 * run does nothing else. */
static void run_cancel(struct step *st, struct engine_cmd *cmd) {
    st->cascade_from = cmd->control.cascade_from;
    if (!cascade_down(st, CASCADE_CANCEL)) {
        exec_mail_put_back(st->exec, cmd);
        st->awaits_children = true;
        return;
    }
    conversations_cancel(st);
    run_end_cancelled(st, cmd->control.reason, cmd->principal);
    control_attach(st, cmd, RUN_CANCELLED);
}

static struct str drain_id(struct step *st, int64_t seq) {
    return arena_printf(st->plan->arena, "pause:%lld", (long long)seq);
}

/* WF-44: a node can be stopped in a wait; the timers row keeps its remaining time. */
static void drain_waits(struct step *st) {
    for (size_t i = 0; i < st->state->wf->nodes_nr && !step_lost(st); i++) {
        struct str id = st->state->wf->nodes[i].id;
        if (st->state->nodes[i].status != NODE_RUNNING) continue;
        (void)step_emit(st, EV_NODE_SUSPENDED, (int)i, -1,
                        pay_node_suspended(st->plan->arena, id, drain_id(st, st->state->next_seq),
                                           NULL, "pause-drain"));
    }
}

static void run_pause(struct step *st, struct engine_cmd *cmd) {
    bool drain = cmd->control.drain == DRAIN_CURRENT_NODE;
    struct arena *a = st->plan->arena;
    struct str policy = drain ? STR("drain-current-node") : STR("immediate");
    if (drain) drain_waits(st);
    step_timers_stop(st);
    struct str payload = pay_run_paused(a, cmd->control.reason, policy, STR_NONE, -1);
    if (step_emit(st, EV_RUN_PAUSED, -1, -1, payload) == EMIT_REFUSED)
        (void)step_emit(st, EV_RUN_PAUSED, -1, -1,
                        pay_run_paused(a, STR_NONE, policy, STR_NONE, -1));
    st->exec->paused_ms = st->now_ms;
    cascade_pause(st, cmd->control.drain);
    control_attach(st, cmd, RUN_PAUSED);
}

static void resume_drained(struct step *st) {
    for (size_t i = 0; i < st->state->wf->nodes_nr && !step_lost(st); i++) {
        const struct node_state *n = &st->state->nodes[i];
        if (n->status != NODE_SUSPENDED || !n->pause_drained) continue;
        (void)step_emit(st, EV_NODE_RESUMED, (int)i, n->suspended_seq,
                        pay_node_resumed(st->plan->arena, st->state->wf->nodes[i].id,
                                         drain_id(st, n->suspended_seq), STR_NONE));
    }
}

void control_unpause(struct step *st) {
    if (st->state->status == RUN_PAUSED)
        (void)step_emit(st, EV_RUN_RESUMED, -1, -1, pay_reason(st->plan->arena, STR("fork")));
    resume_drained(st);
    st->exec->paused_ms = 0;
}

/* RUN-29: run.resumed is the first event after run.paused, hence no run.resuming. */
static void run_resume(struct step *st, struct engine_cmd *cmd) {
    struct arena *a = st->plan->arena;
    if (step_emit(st, EV_RUN_RESUMED, -1, -1, pay_reason(a, cmd->control.reason)) == EMIT_REFUSED)
        (void)step_emit(st, EV_RUN_RESUMED, -1, -1, pay_reason(a, STR_NONE));
    resume_drained(st);
    step_timers_resume(st);
    st->exec->paused_ms = 0;
    cascade_resume(st);
    control_attach(st, cmd, RUN_RUNNING);
}

void control_apply(struct step *st, struct engine_cmd *cmd) {
    struct run_state *s = st->state;
    secret_look(st);
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    if (!run_owned_by(s, cmd)) {
        cmd_fail(st->engine, cmd, WOPR_E_NOT_FOUND, "there is no such run");
        return;
    }
    if (cmd_needs_no_effect(cmd, s->status, st->exec->paused_ms)) {
        cmd_settle(st->engine, cmd);
        return;
    }
    switch (cmd->op) {
    case ENGINE_CANCEL:
        run_cancel(st, cmd);
        break;
    case ENGINE_PAUSE:
        if (bound_pause(st, cmd)) run_pause(st, cmd);
        break;
    case ENGINE_RESUME:
        run_resume(st, cmd);
        break;
    case ENGINE_RESOLVE:
        resolve_apply(st, cmd);
        break;
    case ENGINE_TASK:
        task_apply(st, cmd);
        break;
    case ENGINE_CREATE:
    case ENGINE_FORK:
    case ENGINE_OP_NR:
        cmd_fail(st->engine, cmd, WOPR_E_INTERNAL, "not an operation on a run");
        break;
    }
}

static struct str lease_id(struct step *st, struct str holder, int64_t epoch) {
    return arena_printf(st->plan->arena, STR_FMT ":%lld", STR_ARG(holder), (long long)epoch);
}

/* EVT-32, STORE-38, STORE-40.  A lease handed over, on request or by a stopping host, was not lost;
 * a request also interrupts nothing, so no event says that the run resumes. */
void control_take_over(struct step *st) {
    struct run_exec *re = st->exec;
    struct arena *a = st->plan->arena;
    struct str old = str_c(re->lease.old_holder), mine = st->engine->holder;
    int64_t until_ms = st->now_ms + st->engine->cfg.lease_ttl_ms, last = st->state->next_seq - 1;
    re->lease.take_over = false;
    if (old.n > 0 && (re->lease.asked || re->lease.released))
        (void)step_emit(st, EV_LEASE_HANDED_OFF, -1, -1,
                        pay_lease_handed(a, lease_id(st, old, re->lease.old_epoch),
                                         re->lease.asked ? "requested" : "shutdown"));
    else if (old.n > 0)
        (void)step_emit(st, EV_LEASE_LOST, -1, -1,
                        pay_lease(a, lease_id(st, old, re->lease.old_epoch), old, 0, false));
    (void)step_emit(st, EV_LEASE_ACQUIRED, -1, -1,
                    pay_lease(a, lease_id(st, mine, re->lease.epoch), mine, until_ms, old.n > 0));
    if (re->lease.asked) return;
    (void)step_emit(st, EV_WORKFLOW_RESTORED, -1, -1, pay_restored(a, last));
    (void)step_emit(st, EV_RUN_RESUMED, -1, -1, pay_reason(a, STR("claim-recovery")));
}
