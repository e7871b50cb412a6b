/*
 * step.c: one turn of a live run: take in commands and due timers, do everything that can be done
 * at once, send one plan.  The state is ahead of the log only while its plan is in flight; if that
 * plan is refused, the state is dropped and folded again.
 */
#include "engine/step.h"

#include "base/clock.h"
#include "base/log.h"
#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/program.h"
#include "engine/attempt.h"
#include "engine/bounds.h"
#include "engine/cascade.h"
#include "engine/checkpoint.h"
#include "engine/children.h"
#include "engine/clear.h"
#include "engine/command.h"
#include "engine/control.h"
#include "engine/farewell.h"
#include "engine/fork.h"
#include "engine/fork_info.h"
#include "engine/module_type.h"
#include "engine/outcome.h"
#include "engine/program.h"
#include "engine/stuck.h"
#include "engine/suspend.h"
#include "engine/task.h"
#include "engine/task_serve.h"
#include "engine/timeline.h"
#include "engine/timers.h"
#include "engine/waits.h"

#define MAIL_TURN_MAX     64u  /* commands without an effect that one turn answers */
#define ANSWER_EVENTS_MAX 512u /* of a plan that goes on for the rest of recorded answers */

/* --- beginning --- */

/* run.started is the first event of every log, also of one that a command pauses or cancels while
 * it is pending. */
static void begin_run(struct step *st) {
    if (st->state->status != RUN_PENDING || step_lost(st)) return;
    /* EVT-11: declared inputs only, masked; credential shapes go when the event is appended. */
    struct arena *a = st->plan->arena;
    const struct program_ops *program = st->state->wf->program;
    struct str payload = pay_run_started(a, st->state, st->state->meta.inputs);
    if (program)
        payload =
            pay_member(a, payload, program->name, program->opening(st->state->program, a));
    if (step_emit(st, EV_RUN_STARTED, -1, -1, payload) != EMIT_REFUSED) return;
    /* Tags or metadata of the caller break the payload: retry with the workflow id only. */
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "workflowId", st->state->meta.workflow_id);
    (void)step_emit(st, EV_RUN_STARTED, -1, -1, jobj_end(&o, st->plan->arena));
}

/* --- bounds --- */

/* Milliseconds of running time left (WF-23), INT64_MAX without a limit. */
static int64_t run_time_left_ms(struct step *st) {
    if (timeline_leads(st)) return timeline_of(st)->run_over(st) ? 0 : INT64_MAX;
    const struct run_state *s = st->state;
    int64_t limit_ms = s->wf->timeout_ms, host_ms = st->engine->cfg.limits.max_run_duration_sec;
    host_ms = host_ms > 0 && host_ms < INT64_MAX / 1000 ? host_ms * 1000 : 0;
    if (limit_ms <= 0 || (host_ms > 0 && host_ms < limit_ms)) limit_ms = host_ms;
    if (limit_ms <= 0 || s->clock.started_ms == 0 || s->clock.wait_since_ms > 0) return INT64_MAX;
    int64_t stood_ms = s->clock.waited_ms + fork_gap_ms(st->exec, st->now_ms);
    return limit_ms - (st->now_ms - s->clock.started_ms - stood_ms);
}

/* --- fired timers --- */

static void stall_emit(struct step *st) {
    const struct run_state *s = st->state;
    struct jobj o;
    struct str last = STR_NONE;
    int64_t last_ms = 0;
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        if (s->nodes[i].completed_ms > last_ms) {
            last_ms = s->nodes[i].completed_ms;
            last = s->wf->nodes[i].id;
        }
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kint(&o.w, "stalledForMs", st->now_ms - s->last_ts_ms);
    if (last.n > 0) jw_kstr(&o.w, "lastNodeId", last);
    (void)step_emit(st, EV_WORKFLOW_STALLED, -1, -1, jobj_end(&o, st->plan->arena));
    st->exec->stalled = true;
    log_warn("a running run has nothing to wait for", "run", st->exec->run_id);
}

static void timer_fired(struct step *st, struct exec_timer *t) {
    int kind = t->kind, node = t->node;
    st->wait_over_ms = kind == TIMER_NODE_WAIT ? t->fire_at_ms : 0;
    if (t->durable) step_timer_clear(st, (enum timer_kind)kind, node);
    else timer_drop(st->exec, kind, node);
    switch (kind) {
    case TIMER_NODE_TIMEOUT:
        attempt_timed_out(st, node);
        break;
    case TIMER_STALL:
        stall_emit(st);
        break;
    default: /* RETRY: sched_next sees it; RUN_TIMEOUT: compared by the clock */
        waits_on_timer(st, kind, node);
        break;
    }
    st->wait_over_ms = 0;
}

static void timers_due(struct step *st) {
    struct exec_timer *t;
    if (timeline_holds_timers(st)) return;
    while (step_moves(st) && !step_full(st) && step_settled(st) &&
           (t = timer_first_fired(st->exec)) != NULL) {
        if (t->fire_at_ms > st->floor_ms) st->floor_ms = t->fire_at_ms;
        step_now(st);
        if (run_time_left_ms(st) <= 0) return; /* the run ends first */
        timer_fired(st, t);
    }
}

/* --- nodes --- */

/* STORE-39: an attempt without a wait was cut off by a crash or a reload: enter it again. */
static void nodes_reenter(struct step *st) {
    if (timeline_leads(st)) return; /* the source decides the order */
    for (size_t i = 0; st->state->counts.running > 0 && i < st->state->wf->nodes_nr; i++) {
        if (!step_moves(st) || step_full(st) || !step_settled(st)) return;
        if (st->state->nodes[i].status == NODE_RUNNING && !waits_hold(st->exec, (int)i))
            attempt_run(st, (int)i, false);
    }
}

static void node_skip(struct step *st, const struct sched_action *act) {
    struct str id = st->state->wf->nodes[act->node].id;
    (void)step_emit(st, EV_NODE_SKIPPED, act->node, -1,
                    pay_node_reason(st->plan->arena, id, act->reason));
}

/* A pause saved the rest of the retry delay; the log only has its full length. */
static bool retry_held(struct step *st, int node) {
    return st->state->nodes[node].retry_at_ms > 0 && !timeline_leads(st) &&
           timer_find(st->exec, TIMER_RETRY, node) != NULL;
}

/* Before the run is committed, only executors without a visible effect may run (NODE_AT_ONCE).
 * Memory is one: entries bear the number of the run. */
static bool node_too_early(const struct step *st, int node) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    const struct node_type *type = node_registry_find(st->engine->types, def->type_id);
    if (st->creates && module_type_is(st, node)) return true;
    if (!st->creates || !type) return false;
    return (type->flags & NODE_AT_ONCE) == 0 || json_get(def->config, "memoryAction").n > 0;
}

/* true: there may be more to do. */
static bool act_once(struct step *st) {
    struct sched_action act;
    step_now(st);
    if (run_time_left_ms(st) <= 0) {
        if (cascade_down(st, CASCADE_TIMEOUT)) run_end_timeout(st);
        return false;
    }
    if (bound_log_over(st)) {
        if (cascade_down(st, CASCADE_FAILURE)) run_end_log_limit(st);
        return false;
    }
    if (st->state->program) return program_act(st);
    sched_next(st->state, st->now_ms, &act);
    switch (act.what) {
    case SCHED_WAIT:
        return false;
    case SCHED_START:
        if (retry_held(st, act.node) || node_too_early(st, act.node)) return false;
        attempt_start(st, act.node);
        return true;
    case SCHED_SKIP:
        node_skip(st, &act);
        return true;
    case SCHED_FAIL:
        if (cascade_down(st, CASCADE_FAILURE)) run_end_cascade(st);
        return false;
    case SCHED_LOOP_LIMIT:
        run_end_loop_limit(st, act.node);
        return true;
    case SCHED_CAP:
        if (cascade_down(st, CASCADE_FAILURE)) run_end_cap(st, act.node);
        return false;
    case SCHED_COMPLETE:
        if (cascade_down(st, CASCADE_LEFT)) run_end_completed(st);
        return false;
    }
    return false;
}

/* As act_once; in a replay the source decides. */
static bool act_next(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    if (!t) return act_once(st);
    if (t->guide(st)) return true;
    if (act_once(st)) return true;
    if (!step_moves(st)) return false;
    if (t->force(st)) return true;
    if (timeline_holds_timers(st) || !timer_first_fired(st->exec)) return false;
    timers_due(st); /* timers that came due while the source decided */
    return true;
}

/* --- sleep --- */

static bool waits_for_timer(const struct run_exec *re) {
    for (const struct list *l = re->timers.all.next; l != &re->timers.all; l = l->next) {
        const struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        if (t->durable && !t->stopped) return true;
    }
    return false;
}

static void step_arm(struct step *st, int kind, int64_t fire_at_ms) {
    if (timer_find(st->exec, kind, -1)) return;
    if (timer_arm(st->exec, kind, -1, fire_at_ms, false) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a timer");
}

/* Retries without a timer (of a replay that has left its source): use the log's delay. */
static void retries_arm(struct step *st) {
    const struct run_state *s = st->state;
    int64_t first_ms = INT64_MAX;
    if (sched_next_retry_ms(s) < 0) return;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        int64_t at_ms = s->nodes[i].retry_at_ms;
        if (at_ms > 0 && at_ms < first_ms && !timer_find(st->exec, TIMER_RETRY, (int)i))
            first_ms = at_ms;
    }
    if (first_ms < INT64_MAX) step_arm(st, TIMER_RETRY, first_ms);
}

/* Nothing more to do now: arm what will wake the run. */
static void fall_asleep(struct step *st) {
    struct run_state *s = st->state;
    int64_t left_ms = run_time_left_ms(st), stall_ms = st->engine->cfg.stall_ms;
    int64_t held_ms = sched_next_trigger_ms(s);
    if (cascade_sleeps(st)) return;
    timer_drop(st->exec, TIMER_TRIGGER, -1); /* a later write changes it */
    if (held_ms > 0) step_arm(st, TIMER_TRIGGER, held_ms);
    retries_arm(st);
    if (s->status != RUN_RUNNING) { /* paused or waiting: a command wakes it */
        st->plan->lets_go =
            held_ms <= 0 && !timer_find(st->exec, TIMER_PROGRAM, -1) && suspend_rests(st);
        return;
    }
    if (left_ms < INT64_MAX)
        step_arm(st, TIMER_RUN_TIMEOUT, st->now_ms + (left_ms > 0 ? left_ms : 0));
    if (waits_for_timer(st->exec) || waits_under_way(st->exec)) return;
    if (stall_ms > 0 && s->counts.retry == 0 && !st->exec->timeline && !st->exec->stalled &&
        s->counts.suspended == 0 && held_ms < 0 && !waits_hold(st->exec, -1))
        step_arm(st, TIMER_STALL, st->now_ms + stall_ms); /* STORE-41 */
}

/* --- sending the plan, taking in its result --- */

/* cmd: whose effect was in the plan, or NULL. */
static enum turn step_verdict(struct step *st, struct engine_cmd *cmd, struct plan *p, int rc) {
    struct run_exec *re = st->exec;
    switch (wopr_err_class(rc)) {
    case ERR_REOPEN:
        engine_break(st->engine, "step");
        if (cmd) cmd_fail(st->engine, cmd, rc, "whether this took effect shows after a restart");
        return TURN_LATER;
    case ERR_REPLAN:
        if (cmd) exec_mail_put_back(re, cmd);
        return TURN_LATER;
    case ERR_LEAVE:
    case ERR_GONE: /* STORE-33 */
        if (cmd) exec_mail_put_back(re, cmd);
        return TURN_DROP;
    case ERR_PARK:
    case ERR_FINAL:
        return stuck_again(st, cmd, p, rc);
    case ERR_ASKED: /* whose the task is now says its row, which the command reads again */
        if (cmd && rc == WOPR_E_TASK_LOST) exec_mail_put_back(re, cmd);
        else if (cmd) cmd_fail(st->engine, cmd, rc, wopr_err_text(rc));
        return TURN_RELOAD;
    case ERR_RETRY:
        break;
    }
    if (cmd) cmd_fail(st->engine, cmd, rc, wopr_err_text(rc));
    return TURN_LATER;
}

/* Takes p: it could not be built, or the store refused it. */
static enum turn step_failed(struct step *st, struct engine_cmd *cmd, struct plan *p, int rc) {
    log_warn(p->failed ? "a plan could not be built" : "a step of a run was not committed", "run",
             st->exec->run_id, "reason", wopr_err_name(rc), "why", p->error.message);
    enum turn t = step_verdict(st, cmd, p, rc);
    plan_unref(p);
    return t;
}

static enum turn step_send(struct step *st) {
    struct run_exec *re = st->exec;
    struct plan *p = st->plan;
    if (p->failed == 0 && plan_is_empty(p)) {
        plan_unref(p);
        /* nothing will land to wake it */
        if (st->mail_left || children_wanted(re) || run_state_busy(st->state)) exec_wake(re);
        return TURN_END;
    }
    if (run_status_final(st->state->status)) suspend_close_all(st);
    tasks_close(st);
    checkpoint_settle(st);
    plan_project(p, st->state, st->state->status == RUN_PAUSED ? re->paused_ms : 0);
    clear_end(st);
    checkpoint_add(st);
    int rc = p->failed;
    re->commit.node_at = st->node_at;
    if (rc == 0) rc = exec_commit(re, p, st->cmd);
    return rc == 0 ? TURN_END : step_failed(st, st->cmd, p, rc);
}

void step_count(struct engine *e, const struct plan *p) {
    struct engine_counts *c = &e->counts;
    _Atomic uint64_t *const totals[EV_COUNT_NR] = {
        [EV_COUNT_RUNS_COMPLETED] = &c->completed,
        [EV_COUNT_RUNS_FAILED] = &c->failed,
        [EV_COUNT_RUNS_CANCELLED] = &c->cancelled,
        [EV_COUNT_NODES_COMPLETED] = &c->nodes_completed,
        [EV_COUNT_NODES_FAILED] = &c->nodes_failed,
        [EV_COUNT_RETRIES] = &c->retries,
        [EV_COUNT_CAP_BREACHES] = &c->cap_breaches,
    };
    for (size_t i = 0; i < p->events_nr; i++) {
        _Atomic uint64_t *total = totals[event_count(p->events[i].kind)];
        if (total) ++*total;
    }
}

enum turn step_landed(struct step *st, int rc) {
    struct run_exec *re = st->exec;
    struct plan *p = re->commit.plan;
    struct engine_cmd *cmd = re->commit.cmd;
    re->commit.plan = NULL;
    re->commit.cmd = NULL;
    st->node_at = re->commit.node_at;
    if (rc != 0) return step_failed(st, cmd, p, rc);
    if (p->idem_hit) { /* the key was there: nothing of this plan happened */
        cmd_committed(cmd, p);
        plan_unref(p);
        return TURN_RELOAD;
    }
    step_count(st->engine, p);
    parent_notify(st, p);
    tasks_announce(st, p);
    re->commit.backoff_ms = 0;
    stuck_over(re);
    re->memory.stays = false;
    if (cmd) cmd_committed(cmd, p);
    bool stays = !run_status_final(re->state->status);
    if (stays) waits_landed(st);
    else waits_over(st);
    if (!stays) farewell_send(st);
    re->memory.keeps = stays && p->lets_go;
    stays = stays && !p->lets_go;
    plan_unref(p);
    return stays ? TURN_GO_ON : TURN_DROP;
}

/* A question of a replay and the recorded answer that follows are one plan. */
static bool act_pauses(struct step *st) {
    if (!step_full(st)) return false;
    return st->plan->events_nr >= ANSWER_EVENTS_MAX || !timeline_answers(st);
}

static void act_all(struct step *st) {
    while (step_moves(st) && !act_pauses(st) && step_settled(st))
        if (!act_next(st)) {
            if (step_moves(st)) fall_asleep(st);
            break;
        }
}

static void step_work(struct step *st) {
    begin_run(st); /* resumed after an older version paused the pending run */
    waits_arrived(st);
    bool breaks = st->state->channels.broken.seq > 0 && step_moves(st); /* CHAN-18 */
    if (breaks && cascade_down(st, CASCADE_FAILURE)) run_end_schema_break(st);
    bool ends = breaks || cascade_ends(st); /* waits for its children only: no node may start */
    if (!ends) timers_due(st);
    if (!step_lost(st)) waits_tend(st);
    if (!ends && step_moves(st) && run_time_left_ms(st) > 0) {
        waits_enter(st);
        nodes_reenter(st);
    }
    if (!breaks) act_all(st);
}

/* One command with an effect, at most.  true: there was any. */
static bool mail_apply(struct step *st) {
    struct engine_cmd *cmd;
    unsigned nr = 0;
    while (!st->cmd && !st->awaits_children && !st->deaf && !step_lost(st) && nr < MAIL_TURN_MAX &&
           (cmd = exec_mail_take(st->exec)) != NULL) {
        control_apply(st, cmd);
        nr++;
    }
    st->mail_left = nr == MAIL_TURN_MAX;
    return nr > 0;
}

/* A mailbox that never gets empty must not keep the run from its timers and nodes: a turn that
 * commands cut short is followed by one without any. */
static void step_serve(struct step *st) {
    struct run_exec *re = st->exec;
    st->deaf = re->mail.waits;
    bool heard = !st->deaf && mail_apply(st);
    if (!st->awaits_children && !stuck_waits(st) && !stuck_end(st)) step_work(st);
    re->mail.waits = heard && !st->awaits_children && step_moves(st) && step_full(st);
    st->mail_left = st->mail_left || (st->deaf && re->mail.any);
}

enum turn step_run(struct step *st) {
    struct run_exec *re = st->exec;
    st->state = re->state;
    st->plan = plan_new();
    st->began_ms = clock_mono_ms();
    re->turns++;
    if (!st->plan) return TURN_LATER;
    st->plan->what = PLAN_RUN;
    st->plan->run_id = arena_str(st->plan->arena, st->state->meta.run_id);
    st->plan->tenant = arena_str(st->plan->arena, st->state->meta.tenant);
    st->plan->run_no = re->run_no;
    st->plan->base_seq = st->state->next_seq;
    st->plan->epoch = re->lease.epoch;
    step_now(st);
    if (!step_settled(st)) return step_send(st); /* commands wait until the edges are settled */
    fork_begin(st);
    if (re->lease.take_over) control_take_over(st);
    begin_run(st);
    step_serve(st);
    if (!st->awaits_children && suspend_pause_rests(st)) st->plan->lets_go = true;
    return step_send(st);
}

bool step_first(struct step *st, struct plan *p) {
    st->state = st->exec->state;
    st->plan = p;
    st->creates = true;
    st->began_ms = clock_mono_ms();
    step_now(st);
    if (!st->exec->mail.any) { /* waiting commands find the run pending (RUN-25) */
        begin_run(st);
        act_all(st);
    }
    if (run_status_final(st->state->status)) suspend_close_all(st); /* asked and failed at once */
    tasks_close(st);
    plan_project(p, st->state, 0);
    clear_end(st);
    return p->failed == 0;
}
