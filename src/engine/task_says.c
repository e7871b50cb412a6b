/*
 * task_says.c: outcomes of tasks, questions, chunks and progress into the plan of their run.
 * The row is read first, so a late worker costs no plan; the plan itself is refused by the store
 * when the lease has passed to another worker in between (plan.guard), so that of two workers one
 * is heard (WRK-14).
 */
#include "engine/task_says.h"

#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "engine/attempt.h"
#include "engine/bounds.h"
#include "engine/clear.h"
#include "engine/command.h"
#include "engine/effects.h"
#include "engine/outcome.h"
#include "engine/task.h"
#include "engine/task_serve.h"
#include "engine/task_type.h"
#include "engine/waits.h"
#include "engine/workers.h"

#include <stdio.h>

#define SAYS_PAYLOAD_MAX (EVENT_PAYLOAD_MAX - 4096u) /* the rest is the envelope of its event */
#define PROGRESS_TEXT    "progress"
#define WORD_DIGITS      32u

/* --- answers --- */

static const char *const STATE_NAMES[] = {
    [TROW_READY] = "ready",       [TROW_LEASED] = "leased", [TROW_HELD] = "held",
    [TROW_ANSWERED] = "answered", [TROW_LOST] = "lost",     [TROW_COMPLETED] = "completed",
    [TROW_FAILED] = "failed",     [TROW_ASKED] = "asked",   [TROW_CANCELLED] = "cancelled",
};

const char *task_state_name(enum task_row_state s) {
    return (unsigned)s < sizeof STATE_NAMES / sizeof *STATE_NAMES ? STATE_NAMES[s] : "unknown";
}

static const enum task_row_state ENDS_AS[] = {[TASK_COMPLETE] = TROW_COMPLETED,
                                              [TASK_FAIL] = TROW_FAILED,
                                              [TASK_ASK] = TROW_ASKED,
                                              [TASK_EMIT] = TROW_LEASED,
                                              [TASK_GIVE_UP] = TROW_FAILED};

static void says_refuse(struct engine *e, struct engine_cmd *cmd, int rc) {
    cmd->result.rc = rc;
    cmd_settle(e, cmd);
}

static void lease_lost(struct engine *e, struct engine_cmd *cmd, const struct task_row *t) {
    struct wopr_error *err = &cmd->result.err;
    struct jobj o;
    task_late(e);
    bool over = t->state >= TROW_COMPLETED || t->state == TROW_ANSWERED;
    int rc = wopr_error_set(
        err, WOPR_E_TASK_LOST,
        over ? "the task is over; drop the work and claim again"
        : cmd->task.epoch > t->epoch
            ? "no claim has had this epoch; send that of the claim"
            : "the lease ran out, and the task is another worker's or nobody's; drop the work "
              "and claim again, with a longer leaseMs or more heartbeats");
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kstrz(&o.w, "state", task_state_name(t->state));
    jw_kint(&o.w, "epoch", t->epoch);
    if (t->reason.n > 0) jw_kstr(&o.w, "reason", t->reason);
    jobj_details(&o, err);
    says_refuse(e, cmd, rc);
}

static void says_done(struct engine *e, struct engine_cmd *cmd, const char *state) {
    cmd->result.rc = 0;
    cmd->result.task_state = state;
    cmd_settle(e, cmd);
}

/* What was said as one text, and as few digits, which reveal nothing of it. */
static struct str says_render(const struct task_says *s, struct arena *a) {
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kint(&o.w, "verb", s->verb);
    if (s->output.n > 0) jw_kraw(&o.w, "output", s->output);
    if (s->code.n > 0) jw_kstr(&o.w, "code", s->code);
    if (s->message.n > 0) jw_kstr(&o.w, "message", s->message);
    if (s->details.n > 0) jw_kraw(&o.w, "details", s->details);
    jw_kint(&o.w, "retryable", s->retryable);
    if (s->kind.n > 0) jw_kstr(&o.w, "kind", s->kind);
    if (s->data.n > 0) jw_kraw(&o.w, "data", s->data);
    if (s->resume_schema.n > 0) jw_kraw(&o.w, "resumeSchema", s->resume_schema);
    jw_kint(&o.w, "timeoutMs", s->timeout_ms);
    return jobj_end(&o, a);
}

static struct str word_of(const struct engine *e, const struct task_says *s, struct arena *a) {
    char hex[65];
    struct sha256 key, d;
    int64_t key_no;
    struct str text = says_render(s, a);
    if (!text.p) return STR_NONE;
    if (e->cfg.vault) {
        vault_derive(e->cfg.vault, STR("wopr task words 1"), &key, &key_no);
        d = hmac_sha256(str_n((const char *)key.b, sizeof key.b), text);
    } else {
        d = sha256_of(text);
    }
    sha256_hex(&d, hex);
    return arena_str(a, str_n(hex, WORD_DIGITS));
}

/* The same worker said the same before, and its answer was lost (WRK-17). */
static bool said_before(const struct engine *e, const struct task_row *t, const struct cmd_task *c,
                        struct arena *a) {
    bool ended = t->state == TROW_ANSWERED || t->state >= TROW_COMPLETED;
    if (t->epoch != c->epoch || c->says.verb > TASK_ASK || !ended) return false;
    if (t->word.n > 0) return str_eq(t->word, word_of(e, &c->says, a));
    return t->state == ENDS_AS[c->says.verb]; /* by an older program, which kept no word */
}

/* An emit with a number that was taken in already. */
static bool emitted_before(const struct task_row *t, const struct task_says *s) {
    return s->verb == TASK_EMIT && s->number > 0 && s->number <= t->emitted;
}

/* true: the command may have its effect; else it was answered. */
static bool lease_holds(struct engine *e, struct engine_cmd *cmd, struct arena *a,
                        struct task_row *t) {
    const struct cmd_task *c = &cmd->task;
    struct engine_result *r = &cmd->result;
    enum task_row_state ends = ENDS_AS[c->says.verb];
    int rc = store_task_get(e->store, cmd->tenant, cmd->test_mode, c->task_id, a, t, &r->err);
    if (rc != 0) {
        says_refuse(e, cmd, rc);
        return false;
    }
    if (c->says.verb == TASK_GIVE_UP) {
        if (t->state == TROW_LOST) return true;
    } else if (t->epoch == c->epoch && t->state == TROW_LEASED && !emitted_before(t, &c->says)) {
        return true;
    } else if (t->epoch == c->epoch && t->state == TROW_LEASED) {
        says_done(e, cmd, task_state_name(ends));
        return false;
    }
    if (!said_before(e, t, c, a)) {
        lease_lost(e, cmd, t);
        return false;
    }
    if (t->state == TROW_ASKED) r->interrupt_id = arena_str(cmd->arena, t->reason);
    says_done(e, cmd, task_state_name(t->state == TROW_ANSWERED ? ends : t->state));
    return false;
}

void task_settled(struct engine *e, struct engine_cmd *cmd, struct arena *a) {
    struct task_row t = {0};
    if (lease_holds(e, cmd, a, &t)) lease_lost(e, cmd, &t); /* a row that its run left behind */
}

/* --- is it sound? --- */

static int output_check(struct step *st, int node, const struct task_says *s,
                        struct wopr_error *err) {
    const struct run_meta *m = &st->state->meta;
    struct worker_type t = {0};
    if (s->output.n > SAYS_PAYLOAD_MAX)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/output",
                             "output has %zu bytes; an event holds %zu", s->output.n,
                             (size_t)SAYS_PAYLOAD_MAX);
    int rc = store_worker_type_get(st->engine->store, m->tenant, m->test_mode,
                                   st->state->wf->nodes[node].type_id, st->scratch, &t, err);
    if (rc == WOPR_E_NOT_FOUND) return 0; /* removed: tasks that were there remain */
    return rc == 0 ? task_schema_check(st->engine, t.output_schema, s->output, "/output", err) : rc;
}

static int ask_check(struct step *st, const struct task_says *s, struct wopr_error *err) {
    enum intr_kind kind;
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "kind", s->kind);
    jw_kstrz(&o.w, "key", "k");
    jw_kraw(&o.w, "data", s->data.n > 0 ? s->data : STR("{}"));
    if (s->resume_schema.n > 0) jw_kraw(&o.w, "resumeSchema", s->resume_schema);
    if (s->timeout_ms > 0) jw_kint(&o.w, "timeoutMs", s->timeout_ms);
    struct str payload = jobj_end(&o, st->scratch);
    if (!payload.p)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/data", "the question is too large");
    int rc = intr_payload_check(payload, st->scratch, &kind, err);
    if (rc == 0 && kind >= INTR_CONVERSATION_START && kind <= INTR_CONVERSATION_CLOSE)
        rc = wopr_error_at(err, WOPR_E_VALIDATION, "/kind", "a worker holds no conversations");
    return rc;
}

static int says_check(struct step *st, int node, const struct task_says *s,
                      struct wopr_error *err) {
    struct task_name name;
    switch (s->verb) {
    case TASK_COMPLETE:
        return output_check(st, node, s, err);
    case TASK_ASK:
        task_name_of(st, node, &name);
        if (name.asks >= TASK_ASKS_MAX)
            return wopr_error_at(err, WOPR_E_VALIDATION, "/kind",
                                 "the node has asked %u times, as often as it may; complete or "
                                 "fail the task",
                                 name.asks);
        return ask_check(st, s, err);
    default:
        return 0;
    }
}

/* --- effects --- */

static void outcome_failed(struct step *st, int node, const struct task_says *s, struct str word) {
    struct failure f = {.code = s->code.n > 0 ? s->code : STR("worker_error"),
                        .message = s->message,
                        .details = s->details,
                        .retryable = s->retryable};
    task_close_said(st, node, TROW_FAILED, "failed", word);
    attempt_failed(st, node, &f);
}

static void outcome_asked(struct step *st, int node, const struct task_says *s, struct str word) {
    struct task_name name;
    char id[INTR_ID_LEN + 1];
    task_name_of(st, node, &name);
    struct str key = intr_key_of(st->state, node, name.asks, st->scratch);
    struct node_result r = {.outcome = NODE_OUT_SUSPEND,
                            .prompt = {.kind = arena_cstr(st->scratch, s->kind),
                                       .data = s->data,
                                       .resume_schema = s->resume_schema,
                                       .timeout_ms = s->timeout_ms},
                            .prompt_ordinal = name.asks};
    intr_id_of(st->state->meta.run_id, key, id);
    task_close_said(st, node, TROW_ASKED, id, word);
    if (r.prompt.kind) waits_claim(st, node, &r);
    else plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a question");
}

/* The row says what became of it: outputs may be refused, by a bound or for what they hold. */
static void outcome_done(struct step *st, int node, const struct task_says *s, struct str word) {
    struct node_result r = {.outcome = NODE_OUT_DONE, .outputs = s->output};
    struct plan *p = st->plan;
    size_t row = p->tasks_nr;
    task_close_said(st, node, TROW_COMPLETED, "completed", word);
    attempt_apply(st, node, &r);
    if (p->failed == 0 && p->tasks_nr > row && st->state->nodes[node].status != NODE_COMPLETED) {
        p->tasks[row].state = TROW_FAILED;
        p->tasks[row].reason = STR("output-refused");
    }
}

/* word: empty when the row has it. */
static void outcome_put(struct step *st, int node, const struct task_says *s, struct str word) {
    st->node_at = node + 1;
    if (s->verb == TASK_FAIL) outcome_failed(st, node, s, word);
    else if (s->verb == TASK_ASK) outcome_asked(st, node, s, word);
    else outcome_done(st, node, s, word);
}

static void lapse_put(struct step *st, int node) {
    const struct task_says lost = {
        .verb = TASK_FAIL,
        .code = STR("worker_lost"),
        .message = STR("the leases of the task ran out too often: its workers die, or take longer "
                       "than their leases; send heartbeats, or give the task a longer leaseMs"),
        .retryable = true};
    outcome_put(st, node, &lost, STR_NONE);
}

static struct node_effect chunk_effect(const struct task_chunk *c) {
    return (struct node_effect){
        .kind = EFFECT_CHUNK, .value = c->text, .extra = c->meta, .is_last = c->is_last};
}

static struct node_effect progress_effect(const struct task_says *s) {
    bool text = s->progress_message.n > 0;
    return (struct node_effect){.kind = EFFECT_LOG,
                                .name = STR("info"),
                                .value = text ? s->progress_message : STR(PROGRESS_TEXT),
                                .extra = s->progress};
}

static bool has_progress(const struct task_says *s) {
    return s->progress.n > 0 || s->progress_message.n > 0;
}

/* All of it fits, or the place of what does not. */
static int emit_check(struct step *st, int node, const struct task_says *s,
                      struct wopr_error *err) {
    for (size_t i = 0; i < s->chunks_nr; i++) {
        const struct node_effect x = chunk_effect(&s->chunks[i]);
        char at[32];
        (void)snprintf(at, sizeof at, "/chunks/%zu", i);
        if (!effect_admits(st, node, &x))
            return wopr_error_at(err, WOPR_E_VALIDATION, at,
                                 "chunks.%zu is no chunk of a stream: "
                                 "too large, too deep, or not of its shape",
                                 i);
    }
    const struct node_effect p = progress_effect(s);
    if (has_progress(s) && !effect_admits(st, node, &p))
        return wopr_error_at(err, WOPR_E_VALIDATION, "/progress",
                             "progress is {percent, message}, and its message is too large");
    return 0;
}

/* It was checked: what cannot be appended now makes the plan fail. */
static void emit_put(struct step *st, int node, const struct task_says *s) {
    struct failure f = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->chunks_nr && !step_lost(st); i++) {
        const struct node_effect x = chunk_effect(&s->chunks[i]);
        rc = effect_apply(st, node, &x, &f);
    }
    const struct node_effect p = progress_effect(s);
    if (rc == 0 && has_progress(s) && !step_lost(st)) rc = effect_apply(st, node, &p, &f);
    if (rc != 0) plan_fail(st->plan, WOPR_E_INTERNAL, "an emit that was checked is refused");
    if (s->number > 0)
        plan_task(st->plan, &(struct plan_task){.op = TASK_ROW_EMITTED,
                                                .node_id = st->state->wf->nodes[node].id,
                                                .number = s->number});
}

/* --- outcomes that wait in their row while the run is paused --- */

static bool outcome_parse(struct str text, struct arena *a, struct task_says *s) {
    int64_t verb = 0, retryable = 0;
    if (!json_int(json_get(text, "verb"), &verb) || verb < TASK_COMPLETE || verb > TASK_ASK)
        return false;
    (void)json_int(json_get(text, "retryable"), &retryable);
    *s = (struct task_says){.verb = (enum task_verb)verb,
                            .output = json_get(text, "output"),
                            .code = json_string(json_get(text, "code"), a),
                            .message = json_string(json_get(text, "message"), a),
                            .details = json_get(text, "details"),
                            .retryable = retryable != 0,
                            .kind = json_string(json_get(text, "kind"), a),
                            .data = json_get(text, "data"),
                            .resume_schema = json_get(text, "resumeSchema")};
    (void)json_int(json_get(text, "timeoutMs"), &s->timeout_ms);
    return true;
}

static int outcome_read(struct step *st, int node, struct task_says *s, struct wopr_error *err) {
    struct task_row t;
    struct run_exec *re = st->exec;
    int rc = store_task_of_node(st->engine->store, re->run_no, st->state->wf->nodes[node].id,
                                st->scratch, &t, err);
    if (rc == 0 && t.sealed_at != 0)
        rc = clear_one(st->engine, re->run_no, t.sealed_at, st->scratch, &t.outcome, err);
    if (rc == 0 && !outcome_parse(t.outcome, st->scratch, s))
        rc = wopr_error_set(err, WOPR_E_CORRUPT, "the outcome of a task cannot be read");
    return rc;
}

void task_outcome_apply(struct step *st, int node) {
    struct task_says s;
    struct wopr_error err = {0};
    if (task_mark_of(st->exec, node) == TASK_LAPSED) {
        lapse_put(st, node);
        return;
    }
    int rc = outcome_read(st, node, &s, &err);
    if (rc == 0) outcome_put(st, node, &s, STR_NONE);
    else plan_fail(st->plan, rc, "%s", err.message);
}

/* --- the command --- */

/* The node that the row is of still waits for this very task. */
static bool node_waits_for(struct step *st, int node, const struct task_row *t) {
    struct task_name name;
    if (node < 0 || task_mark_of(st->exec, node) != TASK_OPEN) return false;
    task_name_of(st, node, &name);
    return str_eqc(t->task_id, name.id);
}

static void says_attach(struct step *st, struct engine_cmd *cmd, const struct task_row *t) {
    const struct cmd_task *c = &cmd->task;
    struct engine_result *r = &cmd->result;
    if (step_lost(st)) return;
    *r = (struct engine_result){.run_id = cmd->run_id,
                                .status = st->state->status,
                                .at_ms = st->now_ms,
                                .task_state = task_state_name(ENDS_AS[c->says.verb])};
    int node = workflow_node_index(st->state->wf, t->node_id);
    bool moved = task_mark_of(st->exec, node) != TASK_ANSWERED;
    if (c->says.verb == TASK_COMPLETE && moved &&
        st->state->nodes[node].status != NODE_COMPLETED) /* its outputs were refused */
        r->task_state = task_state_name(TROW_FAILED);
    if (c->says.verb == TASK_ASK) {
        const struct intr_state *i = run_state_intr_open(st->state, node);
        if (i) r->interrupt_id = arena_str(cmd->arena, text_str(&i->id));
    }
    if (c->says.verb != TASK_GIVE_UP)
        st->plan->guard =
            (struct plan_task_guard){arena_str(st->plan->arena, t->task_id), t->epoch};
    cmd_attach(cmd, st->plan);
    st->cmd = cmd;
}

static bool emit_apply(struct step *st, struct engine_cmd *cmd, int node) {
    if (!step_moves(st)) {
        (void)wopr_error_set(&cmd->result.err, WOPR_E_CONFLICT,
                             "the run is paused and takes no output; it is taken again when the "
                             "run was resumed");
        says_refuse(st->engine, cmd, WOPR_E_CONFLICT);
        return false;
    }
    if (bound_log_over(st)) { /* filled by an emit of the same turn: the run ends behind it */
        (void)wopr_error_set(&cmd->result.err, WOPR_E_CONFLICT,
                             "the log of the run is full, which ends the run; raise "
                             "--run-events-max or --run-bytes-max, or emit less");
        says_refuse(st->engine, cmd, WOPR_E_CONFLICT);
        return false;
    }
    int rc = emit_check(st, node, &cmd->task.says, &cmd->result.err);
    if (rc != 0 && !step_lost(st)) {
        says_refuse(st->engine, cmd, rc);
        return false;
    }
    if (rc == 0) emit_put(st, node, &cmd->task.says);
    return true;
}

static bool outcome_take(struct step *st, struct engine_cmd *cmd, int node) {
    const struct task_says *s = &cmd->task.says;
    if (step_moves(st) && st->state->nodes[node].status == NODE_RUNNING) {
        if (s->verb == TASK_GIVE_UP) lapse_put(st, node);
        else outcome_put(st, node, s, word_of(st->engine, s, st->scratch));
        return true;
    }
    if (s->verb == TASK_GIVE_UP) { /* its row says so, and is looked at when the run moves */
        task_lapse(st, node);
        says_done(st->engine, cmd, task_state_name(TROW_LOST));
        return false;
    }
    struct str text = says_render(s, st->scratch);
    if (text.p) task_keep(st, node, text, word_of(st->engine, s, st->scratch));
    else plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for the outcome of a task");
    return true;
}

void task_apply(struct step *st, struct engine_cmd *cmd) {
    const struct task_says *s = &cmd->task.says;
    struct task_row t = {0};
    if (!lease_holds(st->engine, cmd, st->scratch, &t)) return;
    int node = workflow_node_index(st->state->wf, t.node_id);
    if (!node_waits_for(st, node, &t)) {
        lease_lost(st->engine, cmd, &t);
        return;
    }
    int rc = says_check(st, node, s, &cmd->result.err);
    if (rc != 0) {
        says_refuse(st->engine, cmd, rc);
        return;
    }
    step_now(st);
    bool goes_on = s->verb == TASK_EMIT ? emit_apply(st, cmd, node) : outcome_take(st, cmd, node);
    if (goes_on) says_attach(st, cmd, &t);
    if (step_lost(st) && !st->cmd && goes_on) exec_mail_put_back(st->exec, cmd);
}
