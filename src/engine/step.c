/*
 * step.c: one turn on a live run: take in commands and due timers, do all that can be done at once,
 * send one plan. The state runs ahead of the log only while its plan is in flight; when that plan
 * is refused the state is thrown away and folded again.
 */
#include "base/clock.h"
#include "base/log.h"
#include "codec/json.h"
#include "engine/fork.h"

#define STEP_PLAN_TEXT_MAX (16u * 1024 * 1024)

void step_now(struct step *st) {
    int64_t now_ms = st->re->replay ? replay_now_ms(st) : clock_wall_ms();
    if (st->floor_ms > now_ms) now_ms = st->floor_ms;
    if (st->s && st->s->last_ts_ms > now_ms) now_ms = st->s->last_ts_ms;
    st->now_ms = now_ms;
}

bool step_lost(const struct step *st) { return st->p->failed != 0; }

int64_t step_emit(struct step *st, enum ev_kind kind, int node, int64_t cause, struct str payload) {
    struct plan *p = st->p;
    struct str id = node >= 0 ? st->s->wf->nodes[node].id : STR_NONE;
    if (st->re->replay) replay_before(st, kind, payload);
    if (p->failed != 0) return EMIT_BROKEN;
    int64_t seq = plan_event(p, st->e->rules, st->s, kind, id, cause, st->now_ms, payload);
    if (seq >= 0 && st->re->replay) replay_after(st, seq, node);
    if (seq >= 0) return seq;
    /* Refused before it touched the state, so the rest of the plan stands (EVT-12). */
    bool whole = st->s->next_seq == p->base_seq + (int64_t)p->events_nr;
    if (whole && (p->failed == WOPR_E_PAYLOAD_INVALID || p->failed == WOPR_E_TOO_BIG)) {
        p->failed = 0;
        wopr_error_clear(&p->error);
        return EMIT_REFUSED;
    }
    return EMIT_BROKEN;
}

/* --- beginning --- */

/* EVT-11: declared inputs only, masked; credential shapes go when the event is appended. */
static struct str inputs_shown(struct step *st) {
    struct run_state *s = st->s;
    struct json_members in = {0};
    struct buf b;
    struct jw w;
    if (s->meta.inputs.n == 0) return STR_NONE;
    if (json_members(s->meta.inputs, st->a, &in, NULL) != 0) return STR_NONE;
    buf_init(&b, STEP_PLAN_TEXT_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < in.n; i++) {
        const struct wf_variable *d = workflow_variable(s->wf, in.v[i].key);
        struct str raw = in.v[i].raw;
        if (!d) continue;
        if (d->sensitive && mask_value(s->wf->masking_mode, raw, st->a, &raw, NULL) != 0)
            raw = STR("\"[REDACTED]\"");
        if (raw.n == 0) continue; /* mode omit */
        jw_key_str(&w, in.v[i].key);
        jw_raw(&w, raw);
    }
    jw_end_object(&w);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(st->a, buf_str(&b));
    buf_fini(&b);
    return out;
}

static void begin_run(struct step *st) {
    struct str payload = pay_run_started(st->p->arena, st->s, inputs_shown(st));
    if (step_emit(st, EV_RUN_STARTED, -1, -1, payload) != EMIT_REFUSED) return;
    /* Tags or metadata of the caller break the payload: start without anything of his. */
    struct buf b;
    struct jw w;
    buf_init(&b, EVENT_PAYLOAD_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "workflowId", st->s->meta.workflow_id);
    jw_end_object(&w);
    (void)step_emit(st, EV_RUN_STARTED, -1, -1, arena_str(st->p->arena, buf_str(&b)));
    buf_fini(&b);
}

/* --- bounds --- */

/* Time to send what there is: enough of it, or someone waits to be heard (RUN-25). */
bool step_full(const struct step *st) {
    uint64_t ms_max = st->first ? ENGINE_CREATE_MS_MAX : ENGINE_STEP_MS_MAX;
    return st->re->has_mail || st->re->wanted || st->p->events_nr >= ENGINE_STEP_EVENTS_MAX ||
           arena_used(st->p->arena) >= ENGINE_STEP_BYTES_MAX ||
           (st->p->events_nr > 0 && clock_mono_ms() - st->began_ms >= ms_max);
}

bool step_moves(const struct step *st) {
    return !step_lost(st) && st->s->status != RUN_PENDING && st->s->status != RUN_PAUSED &&
           !run_status_final(st->s->status);
}

/* Milliseconds of running time left (WF-23), INT64_MAX without a limit. */
static int64_t run_time_left_ms(const struct step *st) {
    const struct run_state *s = st->s;
    int64_t limit_ms = s->wf->timeout_ms, host_ms = st->e->cfg.limits.max_run_duration_sec;
    host_ms = host_ms > 0 && host_ms < INT64_MAX / 1000 ? host_ms * 1000 : 0;
    if (limit_ms <= 0 || (host_ms > 0 && host_ms < limit_ms)) limit_ms = host_ms;
    if (limit_ms <= 0 || s->started_ms == 0 || s->wait_since_ms > 0) return INT64_MAX;
    int64_t stood_ms = s->waited_ms + fork_gap_ms(st->re, st->now_ms);
    return limit_ms - (st->now_ms - s->started_ms - stood_ms);
}

/* --- timers that have fired --- */

static struct exec_timer *first_fired(struct run_exec *re) {
    struct exec_timer *first = NULL;
    pthread_mutex_lock(&re->e->mu);
    for (struct list *l = re->timers.next; re->fired_nr > 0 && l != &re->timers; l = l->next) {
        struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        if (t->fired && (!first || t->fire_at_ms < first->fire_at_ms)) first = t;
    }
    pthread_mutex_unlock(&re->e->mu);
    return first;
}

static void stalled(struct step *st) {
    const struct run_state *s = st->s;
    struct buf b;
    struct jw w;
    struct str last = STR_NONE;
    int64_t last_ms = 0;
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        if (s->nodes[i].completed_ms > last_ms) {
            last_ms = s->nodes[i].completed_ms;
            last = s->wf->nodes[i].id;
        }
    buf_init(&b, EVENT_PAYLOAD_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kint(&w, "stalledForMs", st->now_ms - s->last_ts_ms);
    if (last.n > 0) jw_kstr(&w, "lastNodeId", last);
    jw_end_object(&w);
    (void)step_emit(st, EV_WORKFLOW_STALLED, -1, -1, arena_str(st->p->arena, buf_str(&b)));
    buf_fini(&b);
    st->re->stalled = true;
    log_warn("a running run has nothing to wait for", "run", st->re->run_id);
}

void attempt_timed_out(struct step *st, int node) {
    children_timed_out(st, node);
    struct failure f = {.code = STR("node_timeout"),
                        .message = STR("the node did not finish within its timeoutMs"),
                        .retryable = true}; /* WF-24 */
    if (st->s->nodes[node].status == NODE_RUNNING) attempt_failed(st, node, &f);
}

static void timer_fired(struct step *st, struct exec_timer *t) {
    int kind = t->kind, node = t->node;
    st->wait_over_ms = kind == TIMER_NODE_WAIT ? t->fire_at_ms : 0;
    if (t->durable) step_timer_clear(st, (enum timer_kind)kind, node);
    else timer_drop(st->re, kind, node);
    switch (kind) {
    case TIMER_NODE_WAIT:
        if (st->s->nodes[node].status == NODE_RUNNING) attempt_run(st, node, true);
        break;
    case TIMER_NODE_TIMEOUT:
        attempt_timed_out(st, node);
        break;
    case TIMER_INTERRUPT:
        suspend_timed_out(st, node);
        break;
    case TIMER_STALL:
        stalled(st);
        break;
    case TIMER_CHILD:
        children_timer(st->re);
        break;
    default:
        break; /* RETRY: sched_next sees it; RUN_TIMEOUT: compared by the clock */
    }
    st->wait_over_ms = 0;
}

static void timers_due(struct step *st) {
    struct exec_timer *t;
    if (replay_holds_timers(st)) return;
    while (step_moves(st) && !step_full(st) && (t = first_fired(st->re)) != NULL) {
        if (t->fire_at_ms > st->floor_ms) st->floor_ms = t->fire_at_ms;
        step_now(st);
        if (run_time_left_ms(st) <= 0) return; /* the run's end comes first */
        timer_fired(st, t);
    }
}

/* --- nodes --- */

/* STORE-39: an attempt without a wait was cut off by a crash or a reload: once more, same attempt.
 */
static void interrupted(struct step *st) {
    if (replay_leads(st)) return; /* in the order of the source */
    for (size_t i = 0; st->s->running_nr > 0 && i < st->s->wf->nodes_nr; i++) {
        if (!step_moves(st) || step_full(st)) return;
        if (st->s->nodes[i].status == NODE_RUNNING &&
            !timer_find(st->re, TIMER_NODE_WAIT, (int)i) && !invoke_waits(st->re, (int)i) &&
            !children_hold(st->re, (int)i))
            attempt_run(st, (int)i, false);
    }
}

static void skip(struct step *st, const struct sched_action *act) {
    struct str id = st->s->wf->nodes[act->node].id;
    (void)step_emit(st, EV_NODE_SKIPPED, act->node, -1,
                    pay_node_reason(st->p->arena, id, act->reason));
}

/* A pause kept what was left of the retry delay; the log only knows its first length. */
static bool retry_held(struct step *st, int node) {
    return st->s->nodes[node].retry_at_ms > 0 && !replay_leads(st) &&
           timer_find(st->re, TIMER_RETRY, node) != NULL;
}

/* Before there is a run, only executors that nobody can tell have run (NODE_AT_ONCE). */
static bool too_early(const struct step *st, int node) {
    const struct node_type *type = node_registry_find(st->e->types, st->s->wf->nodes[node].type_id);
    return st->first && type && (type->flags & NODE_AT_ONCE) == 0;
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
        if (cascade_down(st, CASCADE_FAILURE)) bound_log_end(st);
        return false;
    }
    sched_next(st->s, st->now_ms, &act);
    switch (act.what) {
    case SCHED_WAIT:
        return false;
    case SCHED_START:
        if (retry_held(st, act.node) || too_early(st, act.node)) return false;
        attempt_start(st, act.node);
        return true;
    case SCHED_SKIP:
        skip(st, &act);
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

/* As act_once; a replay is led by its source. */
static bool act(struct step *st) {
    if (!st->re->replay) return act_once(st);
    if (replay_guide(st)) return true;
    if (act_once(st)) return true;
    if (!step_moves(st)) return false;
    if (replay_force(st)) return true;
    if (replay_holds_timers(st) || !first_fired(st->re)) return false;
    timers_due(st); /* what came due while the source led */
    return true;
}

/* --- sleep --- */

static bool waits_for_timer(const struct run_exec *re) {
    for (const struct list *l = re->timers.next; l != &re->timers; l = l->next) {
        const struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        if (t->durable && !t->stopped) return true;
    }
    return false;
}

static void arm(struct step *st, int kind, int64_t fire_at_ms) {
    if (timer_find(st->re, kind, -1)) return;
    if (timer_arm(st->re, kind, -1, fire_at_ms, false) != 0)
        plan_fail(st->p, WOPR_E_NO_MEMORY, "no memory for a timer");
}

/* Nothing more to do now: what will wake the run? */
static void fall_asleep(struct step *st) {
    struct run_state *s = st->s;
    int64_t left_ms = run_time_left_ms(st), stall_ms = st->e->cfg.stall_ms;
    int64_t held_ms = sched_next_trigger_ms(s);
    if (cascade_sleeps(st)) return;
    timer_drop(st->re, TIMER_TRIGGER, -1); /* a later write moves it */
    if (held_ms > 0) arm(st, TIMER_TRIGGER, held_ms);
    if (s->status != RUN_RUNNING) { /* paused or waiting: a command does */
        st->p->lets_go = held_ms <= 0 && suspend_rests(st);
        return;
    }
    if (left_ms < INT64_MAX) arm(st, TIMER_RUN_TIMEOUT, st->now_ms + (left_ms > 0 ? left_ms : 0));
    int64_t retry_ms = sched_next_retry_ms(s);
    if (waits_for_timer(st->re) || invoke_waits(st->re, -1)) return;
    if (retry_ms > 0) arm(st, TIMER_RETRY, retry_ms); /* its row is missing: trust the log */
    else if (stall_ms > 0 && !st->re->replay && !st->re->stalled && s->suspended_nr == 0 &&
             held_ms < 0 && !children_hold(st->re, -1))
        arm(st, TIMER_STALL, st->now_ms + stall_ms); /* STORE-41 */
}

/* --- plan out, result in --- */

static void step_failed(struct step *st, struct engine_cmd *cmd, int rc) {
    struct run_exec *re = st->re;
    log_warn("a step of a run was not committed", "run", re->run_id, "reason", wopr_err_name(rc));
    switch (rc) {
    case WOPR_E_SYNC_FAILED:
        engine_break(st->e, "step");
        exec_reload(re, true);
        if (cmd) cmd_fail(st->e, cmd, rc, "whether this took effect shows after a restart");
        return;
    case WOPR_E_STALE:
        if (cmd) exec_mail_put_back(re, cmd);
        exec_reload(re, true);
        return;
    case WOPR_E_FENCED:
    case WOPR_E_NOT_FOUND:
    case WOPR_E_RUN_TERMINAL: /* someone else owns it, or ended it: STORE-33 */
        if (cmd) exec_mail_put_back(re, cmd);
        step_drop(st);
        return;
    case WOPR_E_CORRUPT:
    case WOPR_E_PAYLOAD_INVALID:
    case WOPR_E_TOO_BIG: /* our own tables refuse what we planned: not for ever */
        if (cmd) cmd_fail(st->e, cmd, WOPR_E_INTERNAL, "the run cannot go on");
        re->corrupt_tries++;
        exec_reload(re, true);
        return;
    default:
        if (cmd) cmd_fail(st->e, cmd, rc, wopr_err_text(rc));
        exec_reload(re, rc != WOPR_E_IDEM_CONFLICT);
        return;
    }
}

static void step_send(struct step *st) {
    struct run_exec *re = st->re;
    struct plan *p = st->p;
    if (p->failed == 0 && plan_is_empty(p)) {
        plan_unref(p);
        if (children_wanted(re)) exec_wake(re); /* nothing lands that would */
        return;
    }
    if (run_status_final(st->s->status)) suspend_close_all(st);
    plan_project(p, st->s, st->s->status == RUN_PAUSED ? re->paused_ms : 0);
    int rc = p->failed;
    if (rc == 0) {
        re->plan = p;
        re->cmd = st->cmd;
        exec_launch(re);
        rc = journal_append_to(st->e->journal, p, execs_landed, st->e, re);
        if (rc == 0) return;
        exec_launch_undo(re);
        re->plan = NULL;
        re->cmd = NULL;
    } else {
        log_warn("a plan could not be built", "run", re->run_id, "why", p->error.message);
    }
    plan_unref(p);
    step_failed(st, st->cmd, rc);
}

void step_count(struct engine *e, const struct plan *p) {
    _Atomic uint64_t *const totals[EV_COUNT_NR] = {
        [EV_COUNT_RUNS_COMPLETED] = &e->completed,
        [EV_COUNT_RUNS_FAILED] = &e->failed,
        [EV_COUNT_RUNS_CANCELLED] = &e->cancelled,
        [EV_COUNT_NODES_COMPLETED] = &e->nodes_completed,
        [EV_COUNT_NODES_FAILED] = &e->nodes_failed,
        [EV_COUNT_RETRIES] = &e->retries,
        [EV_COUNT_CAP_BREACHES] = &e->cap_breaches,
    };
    for (size_t i = 0; i < p->events_nr; i++) {
        _Atomic uint64_t *total = totals[event_count(p->events[i].kind)];
        if (total) ++*total;
    }
}

bool step_landed(struct step *st, int rc) {
    struct run_exec *re = st->re;
    struct plan *p = re->plan;
    struct engine_cmd *cmd = re->cmd;
    re->plan = NULL;
    re->cmd = NULL;
    if (rc != 0) {
        plan_unref(p);
        step_failed(st, cmd, rc);
        return false;
    }
    if (p->idem_hit) { /* the key was there: nothing of this plan happened */
        cmd_committed(cmd, p);
        plan_unref(p);
        exec_reload(re, false);
        return true;
    }
    step_count(st->e, p);
    children_tell(st, p);
    re->backoff_ms = 0;
    re->corrupt_tries = 0;
    re->stays = false;
    if (cmd) cmd_committed(cmd, p);
    bool stays = !run_status_final(re->state->status);
    if (stays) invoke_landed(st);
    stays = stays && !p->lets_go;
    plan_unref(p);
    if (!stays) step_drop(st);
    return stays;
}

static void act_all(struct step *st) {
    while (step_moves(st) && !step_full(st))
        if (!act(st)) {
            if (step_moves(st)) fall_asleep(st);
            break;
        }
}

static void step_work(struct step *st) {
    if (st->s->status == RUN_PENDING && !step_lost(st)) begin_run(st);
    invoke_arrived(st);
    bool breaks = st->s->chan_break.seq > 0 && step_moves(st); /* CHAN-18 */
    if (breaks && cascade_down(st, CASCADE_FAILURE)) run_end_schema_break(st);
    bool ends = breaks || cascade_ends(st); /* only its children keep it: no node does any more */
    if (!ends) timers_due(st);
    if (!step_lost(st)) children_errands(st);
    if (!ends && step_moves(st) && run_time_left_ms(st) > 0) {
        children_step(st);
        interrupted(st);
    }
    if (!breaks) act_all(st);
}

void step_run(struct step *st) {
    struct run_exec *re = st->re;
    struct engine_cmd *cmd;
    st->s = re->state;
    st->p = plan_new();
    st->began_ms = clock_mono_ms();
    re->turns++;
    if (!st->p) {
        exec_reload(re, true);
        return;
    }
    st->p->what = PLAN_RUN;
    st->p->run_id = arena_str(st->p->arena, st->s->meta.run_id);
    st->p->tenant = arena_str(st->p->arena, st->s->meta.tenant);
    st->p->run_no = re->run_no;
    st->p->base_seq = st->s->next_seq;
    st->p->epoch = re->epoch;
    step_now(st);
    fork_begin(st);
    if (re->take_over) control_take_over(st);
    while (!st->cmd && !st->held && !step_lost(st) && (cmd = exec_mail_take(re)) != NULL)
        control_apply(st, cmd);
    if (!st->held) step_work(st);
    step_send(st);
}

bool step_first(struct step *st, struct plan *p) {
    st->s = st->re->state;
    st->p = p;
    st->first = true;
    st->began_ms = clock_mono_ms();
    step_now(st);
    if (!st->re->has_mail) { /* who asks already is heard while the run is pending (RUN-25) */
        begin_run(st);
        act_all(st);
    }
    plan_project(p, st->s, 0);
    return p->failed == 0;
}
