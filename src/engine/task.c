/*
 * task.c: what a run knows of the tasks of its nodes, and their rows in its plans.
 */
#include "engine/task.h"

#include "base/mem.h"
#include "domain/interrupt.h"
#include "engine/clear.h"
#include "engine/workers.h"

#include <stdio.h>

#define TASK_ID_TEXT_MAX 1024u /* run, node, numbers */

/* --- marks --- */

bool task_mark_due(enum task_mark m) { return m == TASK_ANSWERED || m == TASK_LAPSED; }

enum task_mark task_mark_of(const struct run_exec *re, int node) {
    return re->tasks.of_node ? (enum task_mark)re->tasks.of_node[node] : TASK_NONE;
}

int task_mark_set(struct run_exec *re, int node, enum task_mark m) {
    struct exec_tasks *t = &re->tasks;
    if (!t->of_node && m == TASK_NONE) return 0;
    if (!t->of_node) t->of_node = mem_zalloc(re->wf->nodes_nr);
    if (!t->of_node) return WOPR_E_NO_MEMORY;
    enum task_mark was = (enum task_mark)t->of_node[node];
    t->open_nr = t->open_nr - (was != TASK_NONE) + (m != TASK_NONE);
    t->due_nr = t->due_nr - task_mark_due(was) + task_mark_due(m);
    t->of_node[node] = (unsigned char)m;
    return 0;
}

void task_mark(struct step *st, int node, enum task_mark m) {
    if (task_mark_set(st->exec, node, m) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a task");
}

void tasks_forget(struct run_exec *re) {
    mem_free(re->tasks.of_node);
    re->tasks = (struct exec_tasks){0};
}

/* A node that waits for its task: also one that a pause has drained. */
bool task_node_waits(const struct run_state *s, int node) {
    const struct node_state *n = &s->nodes[node];
    return n->status == NODE_RUNNING || (n->status == NODE_SUSPENDED && n->pause_drained);
}

/* --- rows --- */

void task_close(struct step *st, int node, enum task_row_state state, const char *reason) {
    task_close_said(st, node, state, reason, STR_NONE);
}

void task_close_said(struct step *st, int node, enum task_row_state state, const char *reason,
                     struct str word) {
    if (task_mark_of(st->exec, node) == TASK_NONE) return;
    struct plan_task row = {.op = TASK_ROW_CLOSE,
                            .node_id = st->state->wf->nodes[node].id,
                            .state = state,
                            .reason = str_c(reason),
                            .word = word,
                            .at_ms = st->now_ms};
    plan_task(st->plan, &row);
    task_mark(st, node, TASK_NONE);
}

/* Clear values of a run that has sensitive ones are encrypted at rest (OBS-71); *plain is empty
 * then. */
int64_t task_seal(struct step *st, int node, bool outcome, struct str text, struct str *plain) {
    int64_t at = SEALED_TASKS - 2 * (int64_t)node - outcome;
    *plain = text;
    if (!st->state->secrecy.masks) return 0;
    clear_seal(st->engine, st->plan, st->state->meta.run_id, at, text);
    *plain = STR_NONE;
    return at;
}

void task_keep(struct step *st, int node, struct str outcome, struct str word) {
    struct plan_task row = {.op = TASK_ROW_ANSWER,
                            .node_id = st->state->wf->nodes[node].id,
                            .word = word,
                            .bytes = outcome.n};
    row.sealed_at = task_seal(st, node, true, outcome, &row.outcome);
    plan_task(st->plan, &row);
    task_mark(st, node, TASK_ANSWERED);
}

void tasks_close_stale(struct step *st) {
    struct exec_tasks *t = &st->exec->tasks;
    for (size_t i = 0; t->stale && t->open_nr > 0 && i < st->state->wf->nodes_nr; i++)
        if (task_mark_of(st->exec, (int)i) == TASK_STALE)
            task_close(st, (int)i, TROW_CANCELLED, "node-ended");
    t->stale = false;
}

void task_lapse(struct step *st, int node) { task_mark(st, node, TASK_LAPSED); }

static void task_name_in(const struct run_state *s, int node, struct arena *a,
                         struct task_name *out) {
    const struct node_state *n = &s->nodes[node];
    char text[TASK_ID_TEXT_MAX], hex[65];
    out->asks = 0;
    for (; out->asks <= TASK_ASKS_MAX; out->asks++) {
        struct str key = intr_key_of(s, node, out->asks, a);
        const struct intr_state *i = run_state_intr(s, key);
        if (!i || i->phase != INTR_RESOLVED) break;
    }
    int len = snprintf(text, sizeof text, "task:" STR_FMT ":" STR_FMT ":%lld:%d:%u",
                       STR_ARG(s->meta.run_id), STR_ARG(s->wf->nodes[node].id),
                       (long long)n->activation, (int)n->attempt, out->asks);
    struct sha256 d = sha256_of(str_n(text, (size_t)len < sizeof text ? (size_t)len : sizeof text));
    sha256_hex(&d, hex);
    snprintf(out->id, sizeof out->id, "task_%.32s", hex);
}

void task_name_of(const struct step *st, int node, struct task_name *out) {
    task_name_in(st->state, node, st->scratch, out);
}

void task_invocation_of(const struct run_state *s, int node, struct arena *a,
                        char out[INVOCATION_ID_LEN + 1]) {
    const struct wf_node *def = &s->wf->nodes[node];
    struct str effect = arena_printf(a, "worker:" STR_FMT, STR_ARG(def->type_id));
    invocation_id_of(s->meta.run_id, def->id, s->nodes[node].attempt, effect,
                     s->nodes[node].activation, out);
}

/* A row whose node waits no more is closed by the run's next step, so that it need not fit. */
const char *task_row_broken(const struct run_state *s, const struct task_row *t, struct arena *a) {
    char id[INVOCATION_ID_LEN + 1];
    struct task_name name;
    int node = workflow_node_index(s->wf, t->node_id);
    if (node < 0) return "its node is not in the workflow";
    if (!str_eq(t->type_id, s->wf->nodes[node].type_id)) return "its node is of another type";
    if (!task_node_waits(s, node)) return NULL;
    if (t->attempt != s->nodes[node].attempt) return "its node is in another attempt";
    task_name_in(s, node, a, &name);
    if (!str_eqc(t->task_id, name.id)) return "its node waits for another task";
    task_invocation_of(s, node, a, id);
    return str_eqc(t->invocation_id, id) ? NULL : "its idempotency key is another one";
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
    st->plan->unseals = st->plan->unseals || st->state->secrecy.masks;
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
        if (node >= 0 && !task_node_waits(st->state, node))
            task_close(st, node, TROW_CANCELLED, "node-ended");
    }
}
