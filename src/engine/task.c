/*
 * task.c: the wait of nodes that workers execute: tasks are opened, held, closed and found again.
 */
#include "engine/task.h"

#include "base/mem.h"
#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "domain/invocation.h"
#include "engine/clear.h"
#include "engine/outcome.h"
#include "engine/task_says.h"
#include "engine/task_type.h"
#include "engine/timeline.h"
#include "engine/timers.h"

#include <stdio.h>

#define TASK_ROWS_BYTES  (16u * 1024 * 1024) /* briefs of one run: 10,000 ids */
#define TASK_ID_TEXT_MAX 1024u               /* run, node, numbers */

/* --- marks --- */

static bool mark_is_due(enum task_mark m) { return m == TASK_ANSWERED || m == TASK_LAPSED; }

enum task_mark task_mark_of(const struct run_exec *re, int node) {
    return re->tasks.of_node ? (enum task_mark)re->tasks.of_node[node] : TASK_NONE;
}

static int mark_set(struct run_exec *re, int node, enum task_mark m) {
    struct exec_tasks *t = &re->tasks;
    if (!t->of_node && m == TASK_NONE) return 0;
    if (!t->of_node) t->of_node = mem_zalloc(re->wf->nodes_nr);
    if (!t->of_node) return WOPR_E_NO_MEMORY;
    enum task_mark was = (enum task_mark)t->of_node[node];
    t->open_nr = t->open_nr - (was != TASK_NONE) + (m != TASK_NONE);
    t->due_nr = t->due_nr - mark_is_due(was) + mark_is_due(m);
    t->of_node[node] = (unsigned char)m;
    return 0;
}

static void task_mark(struct step *st, int node, enum task_mark m) {
    if (mark_set(st->exec, node, m) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a task");
}

static void tasks_forget(struct run_exec *re) {
    mem_free(re->tasks.of_node);
    re->tasks = (struct exec_tasks){0};
}

/* A node that waits for its task: also one that a pause has drained. */
static bool node_waits(const struct run_state *s, int node) {
    const struct node_state *n = &s->nodes[node];
    return n->status == NODE_RUNNING || (n->status == NODE_SUSPENDED && n->pause_drained);
}

/* --- rows --- */

void task_close(struct step *st, int node, enum task_row_state state, const char *reason) {
    if (task_mark_of(st->exec, node) == TASK_NONE) return;
    struct plan_task row = {.op = TASK_ROW_CLOSE,
                            .node_id = st->state->wf->nodes[node].id,
                            .state = state,
                            .reason = str_c(reason),
                            .at_ms = st->now_ms};
    plan_task(st->plan, &row);
    task_mark(st, node, TASK_NONE);
}

/* Clear values of a run that has sensitive ones are encrypted at rest (OBS-71); *plain is empty
 * then. */
static int64_t task_seal(struct step *st, int node, bool outcome, struct str text,
                         struct str *plain) {
    int64_t at = SEALED_TASKS - 2 * (int64_t)node - outcome;
    *plain = text;
    if (!st->state->masks) return 0;
    clear_seal(st->engine, st->plan, st->state->meta.run_id, at, text);
    *plain = STR_NONE;
    return at;
}

void task_keep(struct step *st, int node, struct str outcome) {
    struct plan_task row = {.op = TASK_ROW_ANSWER, .node_id = st->state->wf->nodes[node].id};
    row.sealed_at = task_seal(st, node, true, outcome, &row.outcome);
    plan_task(st->plan, &row);
    task_mark(st, node, TASK_ANSWERED);
}

void task_lapse(struct step *st, int node) { task_mark(st, node, TASK_LAPSED); }

void task_name_of(const struct step *st, int node, struct task_name *out) {
    const struct node_state *n = &st->state->nodes[node];
    char text[TASK_ID_TEXT_MAX], hex[65];
    out->asks = 0;
    for (; out->asks <= TASK_ASKS_MAX; out->asks++) {
        struct str key = intr_key_of(st->state, node, out->asks, st->scratch);
        const struct intr_state *i = run_state_intr(st->state, key);
        if (!i || i->phase != INTR_RESOLVED) break;
    }
    int len = snprintf(text, sizeof text, "task:%s:" STR_FMT ":%lld:%d:%u", st->exec->run_id,
                       STR_ARG(st->state->wf->nodes[node].id), (long long)n->activation,
                       (int)n->attempt, out->asks);
    struct sha256 d = sha256_of(str_n(text, (size_t)len < sizeof text ? (size_t)len : sizeof text));
    sha256_hex(&d, hex);
    snprintf(out->id, sizeof out->id, "task_%.32s", hex);
}

/* --- what a worker is given --- */

static void answers_render(struct step *st, int node, unsigned asks, struct jw *w) {
    jw_key(w, "answers");
    jw_array(w);
    for (unsigned n = 0; n < asks; n++) {
        struct str key = intr_key_of(st->state, node, n, st->scratch);
        const struct intr_state *i = run_state_intr(st->state, key);
        jw_object(w);
        jw_kint(w, "ordinal", n);
        jw_kstr(w, "interruptId", text_str(&i->id));
        jw_kstrz(w, "kind", intr_kind_name((enum intr_kind)i->kind));
        if (i->value.n > 0) jw_kraw(w, "value", text_str(&i->value));
        if (i->action.n > 0) jw_kstr(w, "action", text_str(&i->action));
        if (i->decided_by.n > 0) jw_kstr(w, "decidedBy", text_str(&i->decided_by));
        jw_end_object(w);
    }
    jw_end_array(w);
}

static struct str body_render(struct step *st, int node, unsigned asks, struct str input) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kraw(&o.w, "input", input.n > 0 ? input : STR("{}"));
    jw_kraw(&o.w, "config", def->config.n > 0 ? def->config : STR("{}"));
    answers_render(st, node, asks, &o.w);
    return jobj_end(&o, st->scratch);
}

static bool input_admit(struct step *st, int node, struct str input) {
    const struct run_meta *m = &st->state->meta;
    struct worker_type t = {0};
    struct wopr_error err = {0};
    struct jobj o;
    int rc = store_worker_type_get(st->engine->store, m->tenant, m->test_mode,
                                   st->state->wf->nodes[node].type_id, st->scratch, &t, &err);
    if (rc == WOPR_E_NOT_FOUND) return true; /* removed since it was asked for */
    if (rc == 0) rc = task_schema_check(st->engine, t.input_schema, input, "/input", &err);
    if (rc == 0) return true;
    if (rc != WOPR_E_VALIDATION) {
        plan_fail(st->plan, rc, "%s", err.message);
        return false;
    }
    struct failure f = {.code = STR("validation_error"),
                        .message = arena_str(st->scratch, str_c(err.message))};
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstrz(&o.w, "field", err.pointer[0] == '/' ? err.pointer + 1 : err.pointer);
    f.details = jobj_end(&o, st->scratch);
    attempt_failed(st, node, &f);
    return false;
}

static void task_open(struct step *st, int node, struct str body, const struct task_name *name) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    const struct node_state *n = &st->state->nodes[node];
    char id[INVOCATION_ID_LEN + 1];
    struct str effect = arena_printf(st->scratch, "worker:" STR_FMT, STR_ARG(def->type_id));
    invocation_id_of(st->state->meta.run_id, def->id, n->attempt, effect, n->activation, id);
    struct plan_task row = {.op = TASK_ROW_OPEN,
                            .task_id = str_c(name->id),
                            .node_id = def->id,
                            .type_id = def->type_id,
                            .invocation_id = str_c(id),
                            .state = TROW_READY,
                            .attempt = n->attempt,
                            .at_ms = st->now_ms};
    row.sealed_at = task_seal(st, node, false, body, &row.body);
    plan_task(st->plan, &row);
    task_mark(st, node, TASK_OPEN);
    step_timeout_arm(st, node);
}

/* A replay calls nobody (D57): while its source leads, that says what the worker did. */
static bool replay_claims(struct step *st, int node) {
    struct failure recorded;
    if (timeline_leads(st)) return true;
    if (!timeline_effect(st, node, &recorded)) return false;
    attempt_failed(st, node, &recorded);
    return true;
}

static void task_claim(struct step *st, int node, const struct node_result *r) {
    struct task_name name;
    if (replay_claims(st, node)) return;
    task_close(st, node, TROW_CANCELLED, "node-restarted");
    if (!input_admit(st, node, r->task_input) || step_lost(st)) return;
    task_name_of(st, node, &name);
    struct str body = body_render(st, node, name.asks, r->task_input);
    if (body.p && body.n <= TASK_BODY_MAX) {
        step_now(st);
        task_open(st, node, body, &name);
        return;
    }
    if (!body.p) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a task");
        return;
    }
    struct failure f = {.code = STR("task_input_too_large"),
                        .message = arena_printf(st->scratch,
                                                "input, config and answers of the task have %zu "
                                                "bytes; a worker is given at most %u",
                                                body.n, TASK_BODY_MAX)};
    attempt_failed(st, node, &f);
}

/* --- the other hooks --- */

static bool task_holds(struct run_exec *re, int node) {
    if (node < 0) return re->tasks.open_nr > 0;
    return task_mark_of(re, node) != TASK_NONE;
}

static void tasks_hold(struct step *st, bool hold) {
    plan_task(st->plan,
              &(struct plan_task){.op = hold ? TASK_ROW_HOLD : TASK_ROW_RELEASE,
                                  .node_id = STR_NONE});
    st->exec->tasks.held = hold;
}

/* Tasks of a paused run are not handed out (WRK-13); those that a worker has go on. */
static void task_tend(struct step *st) {
    struct exec_tasks *t = &st->exec->tasks;
    bool paused = st->state->status == RUN_PAUSED;
    if (t->open_nr == 0 && !t->held) return;
    if (paused != t->held) tasks_hold(st, paused);
}

static void task_enter_due(struct step *st) {
    for (size_t i = 0; st->exec->tasks.due_nr > 0 && i < st->state->wf->nodes_nr; i++) {
        if (!step_moves(st) || step_full(st) || !step_settled(st)) return;
        if (mark_is_due(task_mark_of(st->exec, (int)i)) &&
            st->state->nodes[i].status == NODE_RUNNING)
            task_outcome_apply(st, (int)i);
    }
}

static void task_timed_out(struct step *st, int node) {
    task_close(st, node, TROW_CANCELLED, "node-timeout");
}

static enum task_mark mark_of_row(const struct run_state *s, int node, enum task_row_state state) {
    if (!node_waits(s, node)) return TASK_STALE;
    if (state == TROW_ANSWERED) return TASK_ANSWERED;
    return state == TROW_LOST ? TASK_LAPSED : TASK_OPEN;
}

static int task_load(struct step *st, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct task_brief_list l = {0};
    struct arena *a = arena_new(TASK_ROWS_BYTES);
    int rc = a ? store_tasks_of_run(st->engine->store, re->run_no, a, &l, err) : WOPR_E_NO_MEMORY;
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        int node = workflow_node_index(re->wf, l.v[i].node_id);
        if (l.v[i].state == TROW_HELD) re->tasks.held = true;
        if (node < 0) continue;
        rc = mark_set(re, node, mark_of_row(re->state, node, l.v[i].state));
    }
    arena_free(a);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for the tasks of a run")
                                  : rc;
}

/* --- ends --- */

static const char *end_reason(const struct run_state *s) {
    if (s->status == RUN_CANCELLED) return "run-cancelled";
    return s->status == RUN_FAILED ? "run-failed" : "run-completed";
}

static void tasks_end(struct step *st) {
    plan_task(st->plan, &(struct plan_task){.op = TASK_ROW_CLOSE_ALL,
                                            .state = TROW_CANCELLED,
                                            .reason = str_c(end_reason(st->state)),
                                            .at_ms = st->now_ms});
    st->plan->unseals = st->plan->unseals || st->state->masks;
    tasks_forget(st->exec);
}

void tasks_close(struct step *st) {
    const struct plan *p = st->plan;
    if (st->exec->tasks.open_nr == 0 || step_lost(st)) return;
    if (run_status_final(st->state->status)) {
        tasks_end(st);
        return;
    }
    for (size_t i = 0; i < p->events_nr && st->exec->tasks.open_nr > 0; i++) {
        if (p->events[i].node_id.n == 0) continue;
        int node = workflow_node_index(st->state->wf, p->events[i].node_id);
        if (node >= 0 && !node_waits(st->state, node))
            task_close(st, node, TROW_CANCELLED, "node-ended");
    }
}

const struct wait_kind WAIT_TASK = {.name = "task",
                                    .outcome = NODE_OUT_TASK,
                                    .claim = task_claim,
                                    .holds = task_holds,
                                    .tend = task_tend,
                                    .enter = task_enter_due,
                                    .timed_out = task_timed_out,
                                    .load = task_load,
                                    .forget = tasks_forget,
                                    .free = tasks_forget};
