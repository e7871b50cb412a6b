/*
 * command.c: what is asked of the run of a session over REST (WR-260, WR-264).  An answer to its
 * interrupt is an advance like an agent's, with an attempt that follows from the interrupt, so the
 * same answer twice is one.  A cancel ends the run; the session stays as it is, and takes no more.
 *
 * One thread executes them for all tenants, so none may wait there: a command whose session another
 * call has is put aside for a moment, and those behind it go first.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "codec/jobj.h"
#include "engine/engine.h"
#include "rail/rail_int.h"
#include "store/interrupts.h"

#include <time.h>

enum {
    COMMANDS_MAX = 1024,
    COMMAND_ARENA = 64 << 20,
    COLLECT_FIRST_MS = 60 * 1000,
    COLLECT_EVERY_MS = 60 * 60 * 1000,
    SWEEP_EVERY_MS = 60 * 1000,
    COLLECT_SLICE_MS = 20,
    LOCKED_TRIES_MAX = 50,
    LOCKED_PAUSE_MS = 10 /* the same for all, so that those put aside are due in their order */
};

struct rail_work {
    struct rail_work *next;
    struct engine_cmd *cmd;
    int64_t run_no;
    int tries;       /* that found the session locked */
    uint64_t due_ms; /* put aside until then */
};

static void cmd_failed(struct engine_cmd *cmd, int code, const char *why) {
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    cmd->result.rc = wopr_error_set(&cmd->result.err, code, "%s", why);
}

/* --- cancel --- */
static void nodes_cancel(const struct rail *r, struct plan *p, struct run_state *s,
                         int64_t now_ms) {
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        if (s->nodes[i].status == NODE_SUSPENDED)
            (void)plan_event(p, r->cfg.rules, s, EV_NODE_CANCELLED, s->wf->nodes[i].id, -1, now_ms,
                             pay_node_reason(p->arena, s->wf->nodes[i].id, "run-cancelled"));
}

static int cancel_plan(const struct rail *r, const struct engine_cmd *cmd, const struct run_head *h,
                       struct rail_shown *shown, struct plan *p) {
    const int64_t now_ms = clock_wall_ms();
    struct run_state *s = shown->state;
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, cmd->run_id);
    p->run_no = h->run_no;
    p->base_seq = s->next_seq;
    p->epoch = h->epoch;
    p->tenant = arena_str(p->arena, cmd->tenant);
    nodes_cancel(r, p, s, now_ms);
    (void)plan_event(p, r->cfg.rules, s, EV_RUN_CANCELLED, STR_NONE, -1, now_ms,
                     pay_run_cancelled(p->arena, cmd->control.reason, cmd->principal,
                                       now_ms - s->clock.started_ms));
    plan_interrupt(p, &(struct plan_interrupt){.op = INTR_ROW_CLOSE_ALL,
                                               .state = IROW_REJECTED,
                                               .resolved_ms = now_ms,
                                               .resolved_seq = -1,
                                               .cause = STR("run-cancelled")});
    plan_project(p, s, 0);
    return p->failed;
}

static void command_cancel(struct rail *r, struct engine_cmd *cmd, struct arena *a) {
    struct wr_fault f = {.code = WR_FINE};
    struct rail_shown shown = {.wf = NULL};
    struct plan *p = plan_new();
    struct run_head h;
    int rc = p ? store_run_head(r->cfg.store, cmd->tenant, cmd->test_mode, cmd->run_id, a, &h, &f.e)
               : WOPR_E_NO_MEMORY;
    const struct rail_shown_at at = {.run_no = rc == 0 ? h.run_no : 0, .until = INT64_MAX};
    if (rc == 0) rc = rail_shown_load(r->cfg.store, &at, a, &shown, &f.e);
    if (rc == 0) rc = cancel_plan(r, cmd, &h, &shown, p);
    if (rc == 0) {
        cmd->result = (struct engine_result){
            .run_id = cmd->run_id, .status = RUN_CANCELLED, .at_ms = clock_wall_ms()};
        engine_attach(cmd, p);
        rc = rail_commit(r, p, &f);
    }
    rail_shown_fini(&shown);
    if (rc == 0) engine_committed(cmd, p);
    else cmd_failed(cmd, rc == WOPR_E_STALE ? WOPR_E_UNAVAILABLE : rc, wopr_err_text(rc));
    plan_unref(p);
    if (rc != 0) engine_answer(r->commands.engine, cmd);
}

/* --- an answer --- */
struct answering {
    struct rail *rail;
    struct engine_cmd *cmd;
    struct rail_op op;
    struct session_of_run of;
    struct interrupt_row row;
    struct wr_advance in;
    struct arena *a;
    struct wr_fault f;
    struct plan *committed; /* answered once the lock is free: what the client does next needs it */
};

static bool command_names(const struct engine_cmd *cmd, const struct interrupt_row *r) {
    return str_eq(cmd->resolve.node_id, r->node_id) &&
           (cmd->resolve.interrupt_id.n == 0 || str_eq(cmd->resolve.interrupt_id, r->interrupt_id));
}

/* The question; it must be open. */
static int question_find(struct answering *w, int64_t run_no) {
    struct interrupt_list l;
    const struct interrupt_row *last = NULL;
    int rc =
        store_interrupts_of_run(w->rail->cfg.store, run_no, STR_NONE, false, w->a, &l, &w->f.e);
    if (rc != 0) return rc;
    for (size_t i = 0; i < l.n; i++)
        if (command_names(w->cmd, &l.v[i])) last = &l.v[i];
    if (!last)
        return wopr_error_set(&w->f.e, WOPR_E_INTERRUPT_NOT_FOUND, "the run has no such interrupt");
    w->row = *last;
    if (last->state == IROW_PENDING) return 0;
    rc = last->state == IROW_REJECTED ? WOPR_E_INTERRUPT_CANCELLED : WOPR_E_INTERRUPT_RESOLVED;
    return wopr_error_set(&w->f.e, rc, "%s", wopr_err_text(rc));
}

static int value_refuse(struct answering *w, int code, const char *what) {
    return wopr_error_at(&w->f.e, code, "/resumeValue", "%s", what);
}

/* The members of a resume value as those of a call, which checks them. */
static void call_write(const struct answering *w, struct jw *j, struct arena *a) {
    struct str v = w->cmd->resolve.value, notes = STR_NONE;
    jw_kstrz(j, "stateToken", "x");
    jw_kstrz(j, "ackToken", "x");
    jw_kraw_opt(j, "context", json_get(v, "context"));
    jw_kraw_opt(j, "preferences", json_get(v, "preferences"));
    if (str_eqc(w->row.kind, "approval")) notes = json_string(json_get(v, "comment"), a);
    if (str_eqc(w->row.kind, "clarification")) notes = json_get(v, "answers");
    if (json_get(v, "output").n > 0) {
        jw_kraw(j, "output", json_get(v, "output"));
    } else if (notes.n > 0) {
        jw_key(j, "output");
        jw_object(j);
        jw_kstr(j, "notesMarkdown", notes);
        jw_end_object(j);
    }
}

/* A misspelled output would otherwise be an answer without one, which may end the step. */
static int members_check(struct answering *w, struct str v) {
    static const char *const KNOWN[] = {"output", "context", "preferences",
                                        "action", "comment", "answers"};
    struct json_members m;
    if (json_type_of(v) != JSON_OBJECT)
        return value_refuse(w, WOPR_E_VALIDATION,
                            "an object is expected: {\"output\":{\"notesMarkdown\":\"...\"}}");
    if (json_members(v, w->a, &m, NULL) != 0) return wr_no_memory(&w->f);
    for (size_t i = 0; i < m.n; i++) {
        size_t k = 0;
        while (k < sizeof KNOWN / sizeof *KNOWN && !str_eqc(m.v[i].key, KNOWN[k])) k++;
        if (k == sizeof KNOWN / sizeof *KNOWN)
            return value_refuse(w, WOPR_E_VALIDATION,
                                "a member is not known here; there are output, context, "
                                "preferences, of an approval action and comment, of a question "
                                "answers");
    }
    return 0;
}

static int value_read(struct answering *w) {
    struct str v = w->cmd->resolve.value, action = json_string(json_get(v, "action"), w->a);
    struct wr_call call;
    struct jobj o;
    int rc = members_check(w, v);
    if (rc != 0) return rc;
    bool approval = str_eqc(w->row.kind, "approval");
    if (approval && str_eqc(action, "reject"))
        return value_refuse(w, WOPR_E_CONFLICT,
                            "a step cannot be rejected; cancel the run, or answer with accept");
    if (approval && !str_eqc(action, "accept"))
        return value_refuse(w, WOPR_E_VALIDATION, "the action must be accept");
    jobj_begin(&o, RAIL_SESSION_BYTES_MAX);
    call_write(w, &o.w, w->a);
    struct str arguments = jobj_end(&o, w->a);
    if (!arguments.p) return wr_no_memory(&w->f);
    rc = wr_call_read(WR_TOOL_CONTINUE, arguments, w->a, &call, &w->f);
    if (rc != 0) return value_refuse(w, WOPR_E_VALIDATION, w->f.e.message);
    const struct wr_id attempt = wr_interrupt_attempt(w->row.interrupt_id);
    w->in = (struct wr_advance){.ack = {.kind = WR_TOKEN_ACK,
                                        .session_id = w->of.session_id,
                                        .run_id = w->of.wr_run_id,
                                        .node_id = w->row.node_id,
                                        .attempt_id = arena_str(w->a, wr_id_str(&attempt))},
                                .context = call.context,
                                .output = call.output,
                                .autonomy = call.autonomy,
                                .risk = call.risk};
    return 0;
}

static void answer_attach(void *ctx, struct plan *p) {
    struct answering *w = ctx;
    w->cmd->result =
        (struct engine_result){.run_id = w->cmd->run_id,
                               .status = p->update.status,
                               .at_ms = clock_wall_ms(),
                               .interrupt_id = arena_str(w->cmd->arena, w->row.interrupt_id),
                               .node_id = arena_str(w->cmd->arena, w->row.node_id)};
    engine_attach(w->cmd, p);
}

static void answer_committed(void *ctx, struct plan *p) {
    struct answering *w = ctx;
    w->committed = plan_ref(p);
}

static int answer_append(struct answering *w, const struct rail_gate *g) {
    struct rail_op *o = &w->op;
    const struct wr_workflow *flow;
    struct wr_plan plan;
    size_t run = wr_session_run(o->session.truth, w->of.wr_run_id);
    if (run == WR_NO_NODE)
        return wr_fail(&w->f, WR_INTERNAL_ERROR, "", "the session has no such run");
    int rc = o->op.port.workflow(o, o->session.truth->runs[run].started->u.run.workflow_hash, &flow,
                                 &w->f);
    if (rc == 0) rc = wr_advance_plan(&o->op, o->session.truth, &w->in, &plan, &w->f);
    if (rc != 0) return rc;
    const struct rail_append in = {.plan = &plan,
                                   .workflow = flow,
                                   .resolved_by = w->cmd->principal,
                                   .attach = answer_attach,
                                   .committed = answer_committed,
                                   .ctx = w};
    return rail_append(o, g, &in);
}

/* Under the lock the question is looked at again: an agent may have answered it (WR-260). */
static int answer_once(struct answering *w, int64_t run_no) {
    struct rail_gate g;
    int rc = rail_gate_enter(w->rail, w->of.session_id, &g, &w->f);
    if (rc == 0) rc = question_find(w, run_no);
    if (rc == 0) rc = rail_op_load(&w->op, w->of.session_id);
    if (rc == 0) rc = answer_append(w, &g);
    rail_gate_leave(&g);
    return rc;
}

static int answer_do(struct answering *w, int64_t run_no) {
    const struct engine_cmd *cmd = w->cmd;
    const struct rail_owner owner = {.tenant = cmd->tenant, .test_mode = cmd->test_mode};
    int rc = store_session_of_run(w->rail->cfg.store, run_no, w->a, &w->of, &w->f.e);
    if (rc == 0 && w->of.session_no == 0)
        rc = wopr_error_set(&w->f.e, WOPR_E_CONFLICT, "the session of this run was removed");
    if (rc == 0) rc = rail_op_init(&w->op, w->rail, &owner, true, w->a, &w->f);
    if (rc == 0) rc = question_find(w, run_no);
    if (rc == 0) rc = value_read(w);
    return rc == 0 ? answer_once(w, run_no) : rc;
}

/* true: its session is locked, nothing was answered; last: then that is the answer.  Another call
 * holds a session for milliseconds: what it leaves is either an answered question (409) or one that
 * can be answered, so no client has to be told to try again. */
static bool command_answer(struct rail *r, struct engine_cmd *cmd, int64_t run_no, bool last,
                           struct arena *a) {
    struct answering w = {.rail = r, .cmd = cmd, .a = a};
    w.f.code = WR_FINE;
    int rc = answer_do(&w, run_no);
    rail_op_fini(&w.op);
    if (w.committed) {
        engine_committed(cmd, w.committed);
        plan_unref(w.committed);
        return false;
    }
    if (rc != 0 && w.f.code == WR_SESSION_LOCKED && !last) return true;
    if (rc == 0) rc = wopr_error_set(&w.f.e, WOPR_E_INTERRUPT_RESOLVED, "it was answered before");
    cmd->result = (struct engine_result){.run_id = cmd->run_id};
    cmd->result.err = w.f.e;
    cmd->result.rc = cmd->result.err.code = w.f.e.code ? w.f.e.code : rc;
    engine_answer(r->commands.engine, cmd);
    return false;
}

/* --- the thread --- */
static void work_put_aside(struct rail *r, struct rail_work *w) {
    w->next = NULL;
    w->tries++;
    w->due_ms = clock_mono_ms() + LOCKED_PAUSE_MS;
    pthread_mutex_lock(&r->commands.lock);
    *r->commands.later_end = w;
    r->commands.later_end = &w->next;
    r->commands.nr++;
    pthread_mutex_unlock(&r->commands.lock);
}

/* last: there will be no other time. */
static void work_do(struct rail *r, struct rail_work *w, bool last) {
    struct arena *a = arena_new(COMMAND_ARENA);
    bool locked = false;
    if (!a) {
        cmd_failed(w->cmd, WOPR_E_NO_MEMORY, wopr_err_text(WOPR_E_NO_MEMORY));
        engine_answer(r->commands.engine, w->cmd);
    } else if (w->cmd->op == ENGINE_CANCEL) {
        command_cancel(r, w->cmd, a);
    } else {
        locked = command_answer(r, w->cmd, w->run_no, last || w->tries == LOCKED_TRIES_MAX, a);
    }
    arena_free(a);
    if (locked) work_put_aside(r, w);
    else mem_free(w);
}

/* --- what is to be done between commands --- */
struct turns { /* monotonic */
    uint64_t collect_ms, sweep_ms;
};

static uint64_t turn_next(const struct turns *t) {
    return t->collect_ms < t->sweep_ms ? t->collect_ms : t->sweep_ms;
}

/* Old sessions go a slice at a time. */
static void collect_turn(struct rail *r, struct turns *t) {
    bool more = false;
    struct wr_fault f = {.code = WR_FINE};
    int64_t before_ms = clock_wall_ms() - r->cfg.retention_ms;
    if (clock_mono_ms() < t->collect_ms) return;
    if (r->cfg.retention_ms > 0 && rail_collect(r, before_ms, &more, &f) != 0)
        log_warn("old sessions could not be removed", "why", f.e.message);
    t->collect_ms = clock_mono_ms() + (more ? COLLECT_SLICE_MS : COLLECT_EVERY_MS);
}

static void sweep_turn(struct rail *r, struct turns *t) {
    if (clock_mono_ms() < t->sweep_ms) return;
    held_sweep(&r->held);
    t->sweep_ms = clock_mono_ms() + SWEEP_EVERY_MS;
}

/* Under the lock: what is due again goes behind what came meanwhile; all of it when stopping. */
static void work_bring_back(struct rail *r, uint64_t now_ms) {
    while (r->commands.later && (r->commands.stop || r->commands.later->due_ms <= now_ms)) {
        struct rail_work *w = r->commands.later;
        r->commands.later = w->next;
        if (!w->next) r->commands.later_end = &r->commands.later;
        w->next = NULL;
        *r->commands.end = w;
        r->commands.end = &w->next;
    }
}

static struct rail_work *work_take(struct rail *r) {
    struct rail_work *w = r->commands.first;
    if (!w) return NULL;
    r->commands.first = w->next;
    r->commands.nr--;
    if (!w->next) r->commands.end = &r->commands.first;
    return w;
}

/* NULL: stopping, or it is time for something else; *stop says which. */
static struct rail_work *work_next(struct rail *r, uint64_t until_ms, bool *stop) {
    pthread_mutex_lock(&r->commands.lock);
    work_bring_back(r, clock_mono_ms());
    if (r->commands.later && r->commands.later->due_ms < until_ms)
        until_ms = r->commands.later->due_ms;
    const struct timespec at = {(time_t)(until_ms / 1000), (long)(until_ms % 1000) * 1000000};
    if (!r->commands.first && !r->commands.stop)
        (void)pthread_cond_timedwait(&r->commands.ready, &r->commands.lock, &at);
    work_bring_back(r, clock_mono_ms());
    *stop = r->commands.stop;
    struct rail_work *w = work_take(r);
    pthread_mutex_unlock(&r->commands.lock);
    return w;
}

static void *commands_main(void *ctx) {
    struct rail *r = ctx;
    struct rail_work *w;
    struct turns t = {clock_mono_ms() + COLLECT_FIRST_MS, clock_mono_ms() + SWEEP_EVERY_MS};
    bool stop = false;
    thread_name("wopr-rail");
    while ((w = work_next(r, turn_next(&t), &stop)) != NULL || !stop) {
        if (w) work_do(r, w, stop);
        collect_turn(r, &t);
        sweep_turn(r, &t);
    }
    return NULL;
}

/* rail_take, on a thread of the engine, may be looking. */
static void running_set(struct rail *r, bool running) {
    pthread_mutex_lock(&r->commands.lock);
    r->commands.running = running;
    pthread_mutex_unlock(&r->commands.lock);
}

int rail_start(struct rail *r, struct engine *e, struct wopr_error *err) {
    r->commands.engine = e;
    r->commands.stop = false;
    if (pthread_create(&r->commands.thread, NULL, commands_main, r) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no thread for commands of sessions");
    running_set(r, true);
    return 0;
}

void rail_stop(struct rail *r) {
    if (!r || !r->commands.running) return;
    pthread_mutex_lock(&r->commands.lock);
    r->commands.stop = true;
    pthread_cond_signal(&r->commands.ready);
    pthread_mutex_unlock(&r->commands.lock);
    pthread_join(r->commands.thread, NULL);
    running_set(r, false);
}

/* The origin tells whether the run is led: a look that only these two commands cost. */
static bool is_led(const struct rail *r, int64_t run_no, bool *led) {
    struct wopr_error err;
    struct run_origin o;
    struct arena *a = arena_new(1 << 20);
    int rc = a ? store_run_origin(r->cfg.store, run_no, a, &o, &err) : WOPR_E_NO_MEMORY;
    *led = rc == 0 && o.meta.led;
    arena_free(a);
    return rc == 0;
}

bool rail_take(void *ctx, struct engine_cmd *cmd, const struct run_head *head) {
    struct rail *r = ctx;
    bool led = false;
    if (!is_led(r, head->run_no, &led) || !led) return false;
    struct rail_work *w = MEM_NEW(struct rail_work);
    bool queued = false;
    if (w) *w = (struct rail_work){.cmd = cmd, .run_no = head->run_no};
    pthread_mutex_lock(&r->commands.lock);
    if (w && r->commands.running && !r->commands.stop && r->commands.nr < COMMANDS_MAX) {
        *r->commands.end = w;
        r->commands.end = &w->next;
        r->commands.nr++;
        queued = true;
        pthread_cond_signal(&r->commands.ready);
    }
    pthread_mutex_unlock(&r->commands.lock);
    if (queued) return true;
    mem_free(w);
    cmd_failed(cmd, WOPR_E_UNAVAILABLE, "too many answers wait for sessions; try again");
    engine_answer(r->commands.engine, cmd);
    return true;
}
