/*
 * stuck.c: what becomes of a step that cannot be taken.  A plan that fails for a deterministic
 * reason (a bound, a rule of the log) would fail for ever.  So it is tried once more, then its node
 * fails, then its run does; what even that cannot end is parked, and a cancel ends it without its
 * state.  Short memory, a full disk and a busy store are not meant here: those are waited for.
 */
#include "engine/stuck.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/cascade.h"
#include "engine/command.h"
#include "engine/waits.h"
#include "store/runs.h"

#include <stdio.h>

/* Plans in a row that failed, and what the next step does: at RETRY nothing else. */
enum { STUCK_RETRY = 1, STUCK_NODE, STUCK_RUN, STUCK_PARK };

#define STUCK_CODE   "step_limit_exceeded"
#define STUCK_REASON "step-limit"

/* Without memory for the note the step is just tried again. */
static void stuck_note(struct step *st, const struct plan *p) {
    struct stuck *k = st->exec->commit.stuck;
    if (!k && !(k = st->exec->commit.stuck = MEM_NEW(struct stuck))) return;
    if (k->tries == 0) k->node = st->node_at - 1;
    snprintf(k->why, sizeof k->why, "%.199s", p->error.message);
    if (k->tries < STUCK_PARK) k->tries++;
    log_warn("a step of a run cannot be taken", "run", st->exec->run_id, "why", k->why);
}

/* The command is at fault: without it the run can continue. */
static enum turn cmd_is_stuck(struct step *st, struct engine_cmd *cmd, const struct plan *p) {
    struct stuck *k = st->exec->commit.stuck;
    if (cmd->op == ENGINE_CANCEL) {
        k->cancel = true;
        exec_mail_put_back(st->exec, cmd);
        return TURN_RELOAD;
    }
    bool answers = cmd->op == ENGINE_RESOLVE;
    stuck_over(st->exec);
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    cmd->result.rc = wopr_error_set(&cmd->result.err, answers ? WOPR_E_VALIDATION : WOPR_E_CONFLICT,
                                    "the run cannot take this %s: %.200s",
                                    answers ? "answer" : "command", p->error.message);
    cmd_settle(st->engine, cmd);
    return TURN_RELOAD;
}

enum turn stuck_again(struct step *st, struct engine_cmd *cmd, const struct plan *p) {
    const struct stuck *k = st->exec->commit.stuck;
    if (cmd && k && k->tries > 0) return cmd_is_stuck(st, cmd, p);
    if (cmd) exec_mail_put_back(st->exec, cmd);
    stuck_note(st, p);
    return TURN_LATER;
}

bool stuck_waits(const struct step *st) { return st->exec->commit.stuck && st->cmd; }

const char *stuck_for_good(const struct run_exec *re) {
    const struct stuck *k = re->commit.stuck;
    return k && (k->tries >= STUCK_PARK || k->cancel) ? k->why : NULL;
}

void stuck_over(struct run_exec *re) {
    mem_free(re->commit.stuck);
    re->commit.stuck = NULL;
}

static bool node_fails(struct step *st, int node, const struct stuck *k) {
    const struct run_state *s = st->state;
    if (node < 0 || (size_t)node >= s->wf->nodes_nr || !step_moves(st)) return false;
    enum node_status status = s->nodes[node].status;
    if (status != NODE_RUNNING && status != NODE_PENDING) return false;
    struct failure f = {.code = STR(STUCK_CODE), .message = arena_str(st->scratch, str_c(k->why))};
    waits_timed_out(st, node);
    node_end_failed(st, node, &f);
    return !step_lost(st);
}

bool stuck_end(struct step *st) {
    const struct stuck *k = st->exec->commit.stuck;
    if (!k || k->tries < STUCK_NODE || !step_moves(st)) return false;
    if (k->tries == STUCK_NODE && node_fails(st, k->node, k)) return false;
    if (step_lost(st) || !cascade_down(st, CASCADE_FAILURE)) return true;
    struct str error = err_json(st->plan->arena, STR(STUCK_CODE),
                                arena_str(st->scratch, str_c(k->why)), STR_NONE, -1);
    run_end_stopped(st, error, STUCK_REASON);
    return true;
}

/* --- parked runs --- */

void stuck_refuse(struct engine *e, struct engine_cmd *cmd) {
    cmd_fail(e, cmd, WOPR_E_CONFLICT,
             "the run is parked: its log breaks a rule, or allows no next step ('wopr verify' says "
             "which); cancel it, or restore its log");
}

static struct plan *cancel_plan(struct step *st, const struct engine_cmd *cmd,
                                const struct run_origin *o, int64_t now_ms) {
    struct plan *p = plan_new();
    if (!p) return NULL;
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, str_c(st->exec->run_id));
    p->tenant = arena_str(p->arena, o->meta.tenant);
    p->run_no = st->exec->run_no;
    p->base_seq = o->head.next_seq;
    p->epoch = st->exec->lease.epoch;
    struct str payload = pay_run_cancelled(p->arena, cmd->control.reason, cmd->principal, 0);
    if (plan_event(p, st->engine->rules, NULL, EV_RUN_CANCELLED, STR_NONE, -1, now_ms, payload) < 0)
        log_warn("a run cannot be ended", "run", st->exec->run_id, "why", p->error.message);
    p->update = (struct run_row_update){.status = RUN_CANCELLED, .completed_ms = now_ms};
    p->has_update = true;
    p->unseals = true; /* whatever was sealed for it (OBS-71) */
    return p;
}

static enum turn cancel_refuse(struct step *st, struct engine_cmd *cmd, int rc) {
    bool later = wopr_err_class(rc) == ERR_RETRY;
    cmd_fail(st->engine, cmd, later ? rc : WOPR_E_CONFLICT,
             later ? wopr_err_text(rc) : "the log of the run takes no end; see 'wopr verify'");
    return TURN_DROP;
}

enum turn stuck_cancel(struct step *st, struct engine_cmd *cmd) {
    struct run_exec *re = st->exec;
    struct run_origin o;
    struct wopr_error err;
    int64_t now_ms = clock_wall_ms();
    exec_forget_state(re);
    int rc = store_run_origin(st->engine->store, re->run_no, st->scratch, &o, &err);
    struct plan *p = rc == 0 ? cancel_plan(st, cmd, &o, now_ms) : NULL;
    if (rc == 0) rc = p ? p->failed : WOPR_E_NO_MEMORY;
    if (rc == 0) {
        cmd->result =
            (struct engine_result){.run_id = cmd->run_id, .status = RUN_CANCELLED, .at_ms = now_ms};
        cmd_attach(cmd, p);
        re->commit.plan = p;
        re->commit.cmd = cmd;
        exec_move(re, EXEC_ENDING);
        exec_launch(re);
        rc = journal_append_to(st->engine->journal, p, execs_committed, st->engine, re);
        if (rc == 0) return TURN_END;
        exec_launch_undo(re);
        re->commit.plan = NULL;
        re->commit.cmd = NULL;
    }
    plan_unref(p);
    return cancel_refuse(st, cmd, rc);
}

enum turn stuck_cancelled(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    struct plan *p = re->commit.plan;
    struct engine_cmd *cmd = re->commit.cmd;
    re->commit.plan = NULL;
    re->commit.cmd = NULL;
    if (rc == WOPR_E_SYNC_FAILED) engine_break(st->engine, "cancel");
    if (rc == 0) {
        log_warn("a parked run was cancelled; its log was not read", "run", re->run_id);
        cmd_committed(cmd, p);
    }
    plan_unref(p);
    return rc == 0 ? TURN_DROP : cancel_refuse(st, cmd, rc);
}
