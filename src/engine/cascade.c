/*
 * cascade.c: commands between parents and children: news upwards, cancel, pause and resume
 * downwards (INT-41, INT-42, RUN-23).  All of it is sent as ordinary commands, so it is fenced,
 * committed and idempotent like one from outside; after a crash the run that is loaded next sends
 * the rest again (children_load, cascade_check_parent).
 */
#include "engine/cascade.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "engine/child_link.h"
#include "engine/children.h"
#include "engine/submit.h"
#include "engine/timers.h"
#include "store/events.h"

#include <stdio.h>

#define ENGINE_CHILD_LOOK_MS  10000 /* fall-back for children that another host executes */
#define RUN_COMMAND_ARENA_MAX (64u * 1024 * 1024)
#define WHY_PAUSED            "parent-paused" /* run.paused of a cascade */
#define BY_RUN                "run:" /* run.cancelled of a cascade: cancelledBy, before the id */

/* --- commands between runs --- */

static void run_command_unref(struct run_command *c) {
    if (c->refs-- > 1) return;
    workflow_unref(c->wf);
    arena_free(c->arena);
    mem_free(c);
}

void run_command_free(struct run_command *c) {
    if (c) run_command_unref(c);
}

/* If the run is in memory, make it look at its children. */
static bool exec_news(struct engine *e, struct str run_id) {
    pthread_mutex_lock(&e->mu);
    struct run_exec *re = map_get(e->runs.by_id, run_id);
    if (re && !e->life.stopping) {
        re->kin.news = true;
        exec_wake_locked(re);
    }
    pthread_mutex_unlock(&e->mu);
    return re != NULL;
}

static bool run_command_respond(struct engine_cmd *cmd, const struct engine_result *r,
                                struct idem_response *out) {
    (void)cmd;
    (void)r;
    (void)out;
    return false; /* no client reads it */
}

static void run_command_done(struct engine_cmd *cmd) {
    struct run_command *c = cmd->ctx;
    c->rc = cmd->result.rc;
    (void)exec_news(c->e, str_c(c->asker));
    run_command_unref(c);
}

struct run_command *run_command_new(struct step *st, enum engine_op op, struct str run_id,
                                    const char *reason) {
    const struct run_meta *m = step_meta(st);
    struct run_command *c = MEM_NEW(struct run_command);
    if (!c) return NULL;
    c->refs = 1;
    c->e = st->engine;
    c->arena = arena_new(RUN_COMMAND_ARENA_MAX);
    if (!c->arena) {
        mem_free(c);
        return NULL;
    }
    (void)snprintf(c->asker, sizeof c->asker, "%s", st->exec->run_id);
    struct engine_cmd *cmd = &c->cmd;
    *cmd = (struct engine_cmd){.op = op,
                               .arena = c->arena,
                               .tenant = arena_str(c->arena, m->tenant),
                               .workspace = arena_str(c->arena, m->workspace),
                               .test_mode = m->test_mode,
                               .run_id = arena_str(c->arena, run_id),
                               .from_run = true,
                               .respond = run_command_respond,
                               .done = run_command_done,
                               .ctx = c};
    if (op != ENGINE_CREATE)
        cmd->control = (struct cmd_control){.reason = str_c(reason ? reason : ""),
                                            .drain = st->exec->kin.drain};
    if (!arena_failed(c->arena)) return c;
    run_command_unref(c);
    return NULL;
}

/* Names the run that began the cancel, so that it can be continued after a crash. */
static bool run_command_from(struct run_command *c, struct str from) {
    if (from.n == 0) return true;
    c->cmd.control.cascade_from = arena_str(c->arena, from);
    c->cmd.principal = arena_printf(c->arena, BY_RUN STR_FMT, STR_ARG(from));
    return !arena_failed(c->arena);
}

void run_command_send(struct run_command *c) {
    c->refs++;
    c->rc = RUN_COMMAND_PENDING;
    submit_command(c->e, &c->cmd);
}

static void run_command_post_from(struct step *st, enum engine_op op, struct str run_id,
                                  const char *reason, struct str from) {
    struct run_command *c = run_command_new(st, op, run_id, reason);
    if (c && run_command_from(c, from)) run_command_send(c);
    else log_warn("no memory to tell another run", "run", st->exec->run_id);
    run_command_free(c);
}

void run_command_post(struct step *st, enum engine_op op, struct str run_id, const char *reason) {
    run_command_post_from(st, op, run_id, reason, STR_NONE);
}

/* --- upwards --- */

/* Does the plan hold news that a parent shows, waits for or ends with? */
static bool plan_has_parent_news(const struct plan *p) {
    for (size_t i = 0; i < p->events_nr; i++)
        if (event_kind_is(p->events[i].kind, EV_F_PARENT_NEWS)) return true;
    return false;
}

void parent_notify(struct step *st, const struct plan *p) {
    const struct run_exec *re = st->exec;
    const struct run_meta *m = re->state ? &re->state->meta : st->meta;
    struct run_head h;
    if (!re->kin.parent_id || !plan_has_parent_news(p) ||
        exec_news(st->engine, str_c(re->kin.parent_id)))
        return;
    /* Not in memory: the parent has been waiting since before this process started, or belongs to
     * another one. */
    int rc = store_run_head(st->engine->store, m->tenant, m->test_mode, str_c(re->kin.parent_id),
                            st->scratch, &h, NULL);
    if (rc != 0 || run_status_final(h.status) || h.status == RUN_PAUSED || h.parked.n > 0) return;
    if (h.engine_version <= CURRENT_ENGINE_VERSION)
        (void)exec_add(st->engine, h.run_no, m->tenant, &h);
}

/* --- downwards: cancel --- */

static const struct {
    const char *reason; /* of the children's run.cancelled */
    bool unawaited;     /* children that no node waits for are cancelled too */
} CASCADES[] = {
    [CASCADE_CANCEL] = {"parent-cancelled", true},
    [CASCADE_TIMEOUT] = {"parent-timeout", false},
    [CASCADE_FAILURE] = {"parent-failed", false},
    [CASCADE_LEFT] = {NULL, false},
};

struct exec_stop { /* a child that the cascade cancels */
    struct list link;
    struct run_command *call;
    uint64_t sent_ms;
    char run_id[RUN_ID_MAX + 1];
};

static void wake_at(struct step *st, int kind, int64_t delay_ms) {
    /* Without memory for the timer the run waits for the news alone. */
    if (timer_arm(st->exec, kind, -1, st->now_ms + delay_ms, false) != 0)
        log_warn("no memory for a timer", "run", st->exec->run_id);
}

static struct exec_stop *stop_find(struct run_exec *re, struct str run_id) {
    for (struct list *l = re->kin.cancels.next; l != &re->kin.cancels; l = l->next) {
        struct exec_stop *s = LIST_ENTRY(l, struct exec_stop, link);
        if (str_eqc(run_id, s->run_id)) return s;
    }
    return NULL;
}

static bool stop_call(struct step *st, struct exec_stop *s, struct str run_id, const char *reason) {
    bool above = st->cascade_from.n > 0;
    s->call = run_command_new(st, ENGINE_CANCEL, run_id, reason);
    return s->call && run_command_from(s->call, above ? st->cascade_from : str_c(st->exec->run_id));
}

static void stop_one(struct step *st, struct str run_id, const char *reason) {
    struct exec_stop *s = stop_find(st->exec, run_id);
    uint64_t now_ms = clock_mono_ms();
    if (s && s->call->rc == RUN_COMMAND_PENDING) return;
    if (s && now_ms - s->sent_ms < ENGINE_CHILD_AGAIN_MS) {
        wake_at(st, TIMER_CHILD, ENGINE_CHILD_AGAIN_MS);
        return;
    }
    if (!s) {
        if (!(s = MEM_NEW(struct exec_stop))) return; /* tried again when the run wakes */
        if (!stop_call(st, s, run_id, reason)) {
            run_command_free(s->call);
            mem_free(s);
            return;
        }
        memcpy(s->run_id, run_id.p, run_id.n);
        list_add_tail(&st->exec->kin.cancels, &s->link);
    }
    s->sent_ms = now_ms;
    run_command_send(s->call);
}

/* A child whose creation is under way may appear at any moment; the others are in the store. */
static bool creations_out(const struct run_exec *re) {
    for (const struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next) {
        const struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        if (x->creation && x->phase != CHILD_WANTED && x->creation->rc == RUN_COMMAND_PENDING)
            return true;
    }
    return false;
}

static bool unwanted_left(const struct run_exec *re) {
    for (const struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next)
        if (LIST_ENTRY(l, struct exec_child, link)->phase == CHILD_UNWANTED) return true;
    return false;
}

/* The child may not outlive this end of its parent. */
static bool child_goes_too(const struct child_row *x, enum cascade_cause why) {
    bool bound = CASCADES[why].unawaited || (x->flags & CHILD_AWAITED);
    return bound && !(x->flags & CHILD_DETACHED) && x->run_id.n <= RUN_ID_MAX;
}

static bool all_down(struct step *st, enum cascade_cause why) {
    struct child_row_list l;
    bool down = !creations_out(st->exec);
    int rc = store_children(st->engine->store, str_c(st->exec->run_id), true, ENGINE_CHILDREN_PAGE,
                            st->scratch, &l, NULL);
    if (rc != 0) return false;
    for (size_t i = 0; i < l.n; i++) {
        if (!child_goes_too(&l.v[i], why)) continue;
        down = false;
        stop_one(st, l.v[i].run_id, CASCADES[why].reason);
    }
    return down;
}

void cascade_cancel_all(struct step *st) {
    struct str from = st->cascade_from.n > 0 ? st->cascade_from : str_c(st->exec->run_id);
    unsigned max = st->engine->cfg.children_open_max;
    struct child_row_list l = {0};
    if (max < ENGINE_CHILDREN_PAGE) max = ENGINE_CHILDREN_PAGE;
    if (store_children(st->engine->store, str_c(st->exec->run_id), true, max, st->scratch, &l,
                       NULL) != 0)
        log_warn("the children of a run cannot be read", "run", st->exec->run_id);
    for (size_t i = 0; i < l.n; i++)
        if (child_goes_too(&l.v[i], CASCADE_CANCEL))
            run_command_post_from(st, ENGINE_CANCEL, l.v[i].run_id, CASCADES[CASCADE_CANCEL].reason,
                                  from);
}

bool cascade_down(struct step *st, enum cascade_cause why) {
    struct run_exec *re = st->exec;
    uint64_t now_ms = clock_mono_ms();
    bool down = !re->kin.had_children;
    if (!down) down = why == CASCADE_LEFT ? !unwanted_left(re) : all_down(st, why);
    if (!down && re->kin.cascade_ms == 0) {
        re->kin.cascade_ms = now_ms + ENGINE_CASCADE_MS;
        re->kin.cascade_why = (int)why;
        wake_at(st, TIMER_CASCADE, ENGINE_CASCADE_MS);
    } else if (!down && now_ms >= re->kin.cascade_ms) {
        log_warn("a run ends before all its children did", "run", re->run_id);
        down = true; /* their cancels are on the way; a host that loads them sends another */
    }
    if (down) cascade_forget(re);
    return down;
}

bool cascade_ends(const struct step *st) {
    const struct run_exec *re = st->exec;
    return st->state->failure.node >= 0 ||
           (re->kin.cascade_ms != 0 && re->kin.cascade_why != CASCADE_LEFT);
}

static bool children_elsewhere(const struct run_exec *re) {
    for (const struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next)
        if (LIST_ENTRY(l, struct exec_child, link)->elsewhere) return true;
    return false;
}

bool cascade_sleeps(struct step *st) {
    struct run_exec *re = st->exec;
    if (children_elsewhere(re) && !timer_find(re, TIMER_CHILD, -1))
        wake_at(st, TIMER_CHILD, ENGINE_CHILD_LOOK_MS);
    return re->kin.cascade_ms != 0;
}

void cascade_forget(struct run_exec *re) {
    while (!list_empty(&re->kin.cancels)) {
        struct exec_stop *s = LIST_ENTRY(list_pop(&re->kin.cancels), struct exec_stop, link);
        run_command_free(s->call);
        mem_free(s);
    }
    re->kin.cascade_ms = 0;
    timer_drop(re, TIMER_CASCADE, -1);
}

/* --- downwards: pause, resume --- */

void cascade_pause(struct step *st, enum drain_policy drain) {
    struct run_exec *re = st->exec;
    re->kin.drain = drain;
    for (struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next) {
        struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        x->pause_due = x->wait && (x->phase == CHILD_ASKED || x->phase == CHILD_WAITING);
        x->turn = re->turns;
    }
}

/* Resume the children that the cascade paused; those paused before stay paused. */
void cascade_resume(struct step *st) {
    struct run_exec *re = st->exec;
    for (struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next) {
        struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        x->pause_due = x->held = false;
        x->look = true;
        x->turn = re->turns;
    }
}

bool cascade_paused(struct step *st, int64_t run_no) {
    struct event last;
    if (store_event_last(st->engine->store, run_no, EV_RUN_PAUSED, STR_NONE, st->scratch, &last,
                         NULL) != 0)
        return false;
    return str_eqc(json_get(last.payload, "reason"), "\"" WHY_PAUSED "\"");
}

/* --- a child checks its parent --- */

static const char *ended_why(int rc, enum run_status status) {
    if (rc != 0) return "parent-removed";
    if (status == RUN_CANCELLED) return CASCADES[CASCADE_CANCEL].reason;
    return status == RUN_FAILED ? CASCADES[CASCADE_FAILURE].reason : "parent-completed";
}

bool cascade_goes_on(struct step *st, struct str by) {
    struct str self = str_c(st->exec->run_id), prefix = STR(BY_RUN);
    if (!str_starts(by, prefix)) return false;
    struct str from = str_n(by.p + prefix.n, by.n - prefix.n);
    if (str_eq(from, self)) run_command_post(st, ENGINE_CANCEL, self, "cancel-recovery");
    else run_command_post_from(st, ENGINE_CANCEL, self, CASCADES[CASCADE_CANCEL].reason, from);
    return true;
}

/* The child was paused or resumed after its parent's pause: the pause was passed on, or a caller
 * has resumed the child since, which takes precedence. */
static bool pause_was_heard(struct step *st, int64_t since_ms) {
    static const enum ev_kind KINDS[] = {EV_RUN_PAUSED, EV_RUN_RESUMED};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        struct event last;
        int rc = store_event_last(st->engine->store, st->exec->run_no, KINDS[i], STR_NONE,
                                  st->scratch, &last, NULL);
        if (rc == 0 && last.ts_ms >= since_ms) return true;
    }
    return false;
}

/* A crash may have come between the end (or pause) of the parent and that of its children. */
void cascade_check_parent(struct step *st) {
    const struct run_exec *re = st->exec;
    const struct run_meta *m = &st->state->meta;
    struct run_head h = {.status = RUN_CANCELLED};
    struct str self = str_c(re->run_id);
    bool awaited = (re->kin.flags & CHILD_AWAITED) != 0;
    if (!re->kin.parent_id) return;
    int rc = store_run_head(st->engine->store, m->tenant, m->test_mode, str_c(re->kin.parent_id),
                            st->scratch, &h, NULL);
    bool ended = rc == WOPR_E_EXPIRED || (rc == 0 && run_status_final(h.status));
    bool going = st->state->status == RUN_PENDING || st->state->status == RUN_RUNNING;
    if (ended && !(re->kin.flags & CHILD_DETACHED) &&
        (awaited || (rc == 0 && h.status == RUN_CANCELLED)))
        run_command_post_from(st, ENGINE_CANCEL, self, ended_why(rc, h.status),
                              str_c(re->kin.parent_id));
    else if (rc == 0 && h.status == RUN_PAUSED && awaited && going &&
             !pause_was_heard(st, h.paused_ms))
        run_command_post(st, ENGINE_PAUSE, self, WHY_PAUSED);
}
