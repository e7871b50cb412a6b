/*
 * parked.c: runs whose log does not fold, or allows nothing more.  They accept only a cancel, which
 * ends them like any other run except for the events of their nodes, whose state is unknown
 * (RUN-20, INT-42).
 */
#include "engine/parked.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/cascade.h"
#include "engine/command.h"
#include "engine/step.h"
#include "store/runs.h"

void parked_refuse(struct engine *e, struct engine_cmd *cmd) {
    cmd_fail(e, cmd, WOPR_E_CONFLICT,
             "the run is parked: its log breaks a rule, or allows no next step ('wopr verify' says "
             "which); cancel it, or restore its log");
}

/* End its timers and questions. */
static int rows_end(struct step *st, struct plan *p, const struct engine_cmd *cmd, int64_t now_ms) {
    struct timer_row_list timers;
    struct wopr_error err;
    bool above = cmd->control.cascade_from.n > 0;
    const struct plan_interrupt all = {.op = INTR_ROW_CLOSE_ALL,
                                       .state = IROW_REJECTED,
                                       .resolved_ms = now_ms,
                                       .cause =
                                           above ? STR("parent-cancelled") : STR("run-cancelled")};
    int rc = store_timers(st->engine->store, st->exec->run_no, st->scratch, &timers, &err);
    for (size_t i = 0; rc == 0 && i < timers.n; i++)
        plan_timer_clear(p, timers.v[i].kind, timers.v[i].node_id);
    plan_interrupt(p, &all);
    plan_task(p, &(struct plan_task){.op = TASK_ROW_CLOSE_ALL,
                                     .state = TROW_CANCELLED,
                                     .reason = STR("run-cancelled"),
                                     .at_ms = now_ms});
    return rc;
}

static int cancel_plan(struct step *st, const struct engine_cmd *cmd, const struct run_origin *o,
                       int64_t now_ms, struct plan **out) {
    struct plan *p = plan_new();
    if (!p) return WOPR_E_NO_MEMORY;
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, str_c(st->exec->run_id));
    p->tenant = arena_str(p->arena, o->meta.tenant);
    p->run_no = st->exec->run_no;
    p->base_seq = o->head.next_seq;
    p->epoch = st->exec->lease.epoch;
    struct str payload = pay_run_cancelled(p->arena, cmd->control.reason, cmd->principal, 0);
    if (plan_event(p, st->engine->rules, NULL, EV_RUN_CANCELLED, STR_NONE, -1, now_ms, payload) < 0)
        log_warn("a run cannot be ended", "run", st->exec->run_id, "why", p->error.message);
    p->update =
        (struct run_row_update){.status = RUN_CANCELLED, .unread = true, .completed_ms = now_ms};
    p->has_update = true;
    p->unseals = true; /* whatever was sealed for it (OBS-71) */
    int rc = rows_end(st, p, cmd, now_ms);
    if (rc == 0) rc = p->failed;
    if (rc == 0) *out = p;
    else plan_unref(p);
    return rc;
}

static enum turn cancel_refuse(struct step *st, struct engine_cmd *cmd, int rc) {
    bool later = wopr_err_class(rc) == ERR_RETRY;
    cmd_fail(st->engine, cmd, later ? rc : WOPR_E_CONFLICT,
             later ? wopr_err_text(rc) : "the log of the run takes no end; see 'wopr verify'");
    return TURN_DROP;
}

enum turn parked_cancel(struct step *st, struct engine_cmd *cmd) {
    struct run_exec *re = st->exec;
    struct run_origin o;
    struct wopr_error err;
    struct plan *p = NULL;
    int64_t now_ms = clock_wall_ms();
    exec_forget_state(re);
    int rc = store_run_origin(st->engine->store, re->run_no, st->scratch, &o, &err);
    if (rc == 0) rc = cancel_plan(st, cmd, &o, now_ms, &p);
    if (rc != 0) return cancel_refuse(st, cmd, rc);
    cmd->result =
        (struct engine_result){.run_id = cmd->run_id, .status = RUN_CANCELLED, .at_ms = now_ms};
    cmd_attach(cmd, p);
    exec_move(re, EXEC_ENDING);
    rc = exec_commit(re, p, cmd);
    if (rc == 0) return TURN_END;
    plan_unref(p);
    return cancel_refuse(st, cmd, rc);
}

/* The row tells what the fold would have known of parent and children.  If a crash or lack of
 * memory prevents these messages, the children check their parent once they are loaded
 * (cascade_check_parent), and the parent reads its child's row. */
static void kin_tell(struct step *st, const struct engine_cmd *cmd, const struct plan *p) {
    struct run_exec *re = st->exec;
    struct run_origin o;
    struct wopr_error err = {0};
    int rc = store_run_origin(st->engine->store, re->run_no, st->scratch, &o, &err);
    if (rc == 0) rc = exec_set_parent(re, o.parent_run_id, o.child_depth, o.child_flags);
    if (rc != 0) {
        log_warn("the kin of a cancelled run learn of it later", "run", re->run_id, "why",
                 wopr_err_text(rc));
        return;
    }
    st->meta = &o.meta;
    st->cascade_from = cmd->control.cascade_from;
    parent_notify(st, p);
    cascade_cancel_all(st);
    st->meta = NULL;
}

enum turn parked_cancelled(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    struct plan *p = re->commit.plan;
    struct engine_cmd *cmd = re->commit.cmd;
    re->commit.plan = NULL;
    re->commit.cmd = NULL;
    if (rc == WOPR_E_SYNC_FAILED) engine_break(st->engine, "cancel");
    if (rc == 0) {
        log_warn("a parked run was cancelled; its log was not read", "run", re->run_id);
        step_count(st->engine, p);
        kin_tell(st, cmd, p);
        cmd_committed(cmd, p);
    }
    plan_unref(p);
    return rc == 0 ? TURN_DROP : cancel_refuse(st, cmd, rc);
}
