/*
 * task_wait.c: the wait of nodes that workers execute: what a worker is given, and the hooks.
 */
#include "engine/task_wait.h"

#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "domain/invocation.h"
#include "engine/outcome.h"
#include "engine/task.h"
#include "engine/task_says.h"
#include "engine/task_type.h"
#include "engine/timeline.h"
#include "engine/timers.h"

#define TASK_ROWS_BYTES (16u * 1024 * 1024) /* briefs of one run: 10,000 ids */

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
    task_invocation_of(st->state, node, st->scratch, id);
    struct plan_task row = {.op = TASK_ROW_OPEN,
                            .task_id = str_c(name->id),
                            .node_id = def->id,
                            .type_id = def->type_id,
                            .invocation_id = str_c(id),
                            .state = TROW_READY,
                            .attempt = n->attempt,
                            .bytes = body.n,
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

static void body_refuse(struct step *st, int node, size_t bytes) {
    struct failure f = {.code = STR("task_input_too_large")};
    f.message = arena_printf(st->scratch,
                             "input, config and answers of the task have %zu bytes; a worker is "
                             "given at most %zu",
                             bytes, TASK_BODY_MAX);
    attempt_failed(st, node, &f);
}

static void task_claim(struct step *st, int node, const struct node_result *r) {
    struct task_name name;
    if (replay_claims(st, node)) return;
    task_close(st, node, TROW_CANCELLED, "node-restarted");
    if (!input_admit(st, node, r->task_input) || step_lost(st)) return;
    task_name_of(st, node, &name);
    struct str body = body_render(st, node, name.asks, r->task_input);
    if (!body.p) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a task");
        return;
    }
    if (body.n > TASK_BODY_MAX) {
        body_refuse(st, node, body.n);
        return;
    }
    step_now(st);
    task_open(st, node, body, &name);
}

/* --- the other hooks --- */

static bool task_holds(struct run_exec *re, int node) {
    if (node < 0) return re->tasks.open_nr > 0;
    return task_mark_of(re, node) != TASK_NONE;
}

static void tasks_hold(struct step *st, bool hold) {
    plan_task(st->plan, &(struct plan_task){.op = hold ? TASK_ROW_HOLD : TASK_ROW_RELEASE,
                                            .node_id = STR_NONE});
    st->exec->tasks.held = hold;
}

/* Tasks of a paused run are not handed out (WRK-13); those that a worker has go on. */
static void task_tend(struct step *st) {
    struct exec_tasks *t = &st->exec->tasks;
    bool paused = st->state->status == RUN_PAUSED;
    if (t->open_nr == 0 && !t->held) return;
    tasks_close_stale(st);
    if (paused != t->held) tasks_hold(st, paused);
}

static void task_enter_due(struct step *st) {
    for (size_t i = 0; st->exec->tasks.due_nr > 0 && i < st->state->wf->nodes_nr; i++) {
        if (!step_moves(st) || step_full(st) || !step_settled(st)) return;
        if (task_mark_due(task_mark_of(st->exec, (int)i)) &&
            st->state->nodes[i].status == NODE_RUNNING)
            task_outcome_apply(st, (int)i);
    }
}

static void task_timed_out(struct step *st, int node) {
    task_close(st, node, TROW_CANCELLED, "node-timeout");
}

static enum task_mark mark_of_row(const struct run_state *s, int node, enum task_row_state state) {
    if (!task_node_waits(s, node)) return TASK_STALE;
    if (state == TROW_ANSWERED) return TASK_ANSWERED;
    return state == TROW_LOST ? TASK_LAPSED : TASK_OPEN;
}

static int task_load(struct step *st, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct task_brief_list l = {0};
    struct arena *a = arena_new(TASK_ROWS_BYTES);
    int rc = a ? store_tasks_of_run(st->engine->store, re->run_no, a, &l, err) : WOPR_E_NO_MEMORY;
    /* A lease that ends before the resume is committed makes its row a held one. */
    re->tasks.held = re->state->status == RUN_PAUSED && l.n > 0;
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        int node = workflow_node_index(re->wf, l.v[i].node_id);
        if (l.v[i].state == TROW_HELD) re->tasks.held = true;
        if (node < 0) continue;
        enum task_mark mark = mark_of_row(re->state, node, l.v[i].state);
        rc = task_mark_set(re, node, mark);
        if (mark == TASK_STALE) re->tasks.stale = true;
    }
    arena_free(a);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for the tasks of a run")
                                  : rc;
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
