/*
 * suspend.c: a node asks and waits (EVT-26), or waited too long (EVT-29).  INT-1 to INT-10.
 */
#include "engine/suspend.h"

#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "engine/bounds.h"
#include "engine/conversation.h"
#include "engine/fork_info.h"
#include "engine/outcome.h"
#include "engine/program.h"
#include "engine/timers.h"

#define SUSPEND_PAYLOAD_MAX EVENT_PAYLOAD_MAX

/* INT-2: one question per key, even of two nodes; but an answer given for one node approves nothing
 * for another. */
static bool answer_serves(const struct intr_state *i, int node, const struct node_prompt *q) {
    if (i->phase != INTR_RESOLVED) return false;
    if (i->node == node) return true;
    return i->kind != INTR_APPROVAL &&
           strcmp(intr_kind_name((enum intr_kind)i->kind), q->kind) == 0;
}

bool node_interrupt(const struct node_call *call, struct node_result *out, unsigned ordinal,
                    const struct node_prompt *prompt, struct node_reply *reply) {
    struct str key =
        prompt->key.n > 0 ? prompt->key : intr_key_of(call->run, call->node, ordinal, call->a);
    const struct intr_state *i = run_state_intr(call->run, key);
    if (i && answer_serves(i, call->node, prompt)) {
        *reply = (struct node_reply){.interrupt_id = text_str(&i->id),
                                     .value = text_str(&i->value),
                                     .action = text_str(&i->action),
                                     .decided_by = text_str(&i->decided_by)};
        return true;
    }
    out->outcome = NODE_OUT_SUSPEND;
    out->prompt = *prompt;
    out->prompt_ordinal = ordinal;
    return false;
}

/* INT-4: emitted before the node.failed that it causes. */
static void ask_fail(struct step *st, int node, const char *code, struct str message) {
    struct failure f = {.code = str_c(code), .message = message};
    struct str error = err_json(st->plan->arena, f.code, f.message, STR_NONE, 0);
    struct str payload = pay_suspend_failed(st->plan->arena, st->state->wf->nodes[node].id, error);
    (void)step_emit(st, EV_NODE_SUSPEND_FAILED, node, -1, payload);
    if (!step_lost(st)) node_end_failed(st, node, &f);
}

static struct str interrupt_payload(struct step *st, const struct node_prompt *q, struct str key) {
    struct jobj o;
    jobj_begin(&o, SUSPEND_PAYLOAD_MAX);
    jw_kstrz(&o.w, "kind", q->kind);
    jw_kstr(&o.w, "key", key);
    jw_kraw(&o.w, "data", q->data.n > 0 ? q->data : STR("{}"));
    if (q->resume_schema.n > 0) jw_kraw(&o.w, "resumeSchema", q->resume_schema);
    if (q->timeout_ms > 0) jw_kint(&o.w, "timeoutMs", q->timeout_ms);
    struct str out = jobj_end(&o, st->plan->arena);
    return out;
}

/* INT-10: older clients expect these events. */
static int64_t companion_emit(struct step *st, int node, enum intr_kind kind, struct str id,
                              struct str data) {
    struct arena *a = st->plan->arena;
    struct str node_id = st->state->wf->nodes[node].id;
    if (kind == INTR_APPROVAL)
        return step_emit(st, EV_APPROVAL_REQUESTED, node, -1,
                         pay_approval_requested(a, node_id, id, data));
    if (kind == INTR_CLARIFICATION)
        return step_emit(st, EV_CLARIFICATION_REQUESTED, node, -1,
                         pay_clarification_requested(a, node_id, id, json_get(data, "questions")));
    return 0;
}

static void interrupt_row_open(struct step *st, int node, const struct node_prompt *q,
                               struct str id, struct str key, struct str payload, int64_t seq) {
    struct plan_interrupt row = {.op = INTR_ROW_OPEN,
                                 .interrupt_id = id,
                                 .node_id = st->state->wf->nodes[node].id,
                                 .key = key,
                                 .kind = str_c(q->kind),
                                 .payload = payload,
                                 .resume_schema = q->resume_schema,
                                 .requested_ms = st->now_ms,
                                 .requested_seq = seq,
                                 .timeout_at_ms =
                                     q->timeout_ms > 0 ? st->now_ms + q->timeout_ms : 0};
    plan_interrupt(st->plan, &row);
}

/* The reason why the node may not ask; NULL when it may. */
static const char *ask_obstacle(const struct step *st, struct str key, const char **code) {
    const struct intr_state *i = run_state_intr(st->state, key);
    *code = "interrupt_key_in_use";
    if (!i) return NULL;
    if (i->phase != INTR_ENDED) return "the key of the interrupt is asked by another node";
    *code = "interrupt_timeout";
    return "the interrupt of this key was asked before and had no answer";
}

static void suspend_begin(struct step *st, int node, const struct node_result *r) {
    const struct node_prompt asked = conversation_timed(st, node, &r->prompt), *q = &asked;
    struct arena *a = st->plan->arena;
    struct wopr_error err;
    enum intr_kind kind;
    const char *code;
    char id_text[INTR_ID_LEN + 1];
    struct str key =
        q->key.n > 0 ? q->key : intr_key_of(st->state, node, r->prompt_ordinal, st->scratch);
    struct str node_id = st->state->wf->nodes[node].id, payload = interrupt_payload(st, q, key);
    int rc = payload.n > 0 ? json_check(payload, &JSON_LIMITS_STORED, &err)
                           : wopr_error_set(&err, WOPR_E_TOO_BIG, "the interrupt is too large");
    if (rc == 0) rc = intr_payload_check(payload, st->scratch, &kind, &err);
    if (rc == 0 && !conversation_may_ask(st, node, kind))
        rc = wopr_error_set(&err, WOPR_E_VALIDATION,
                            "this node holds no conversations"); /* INT-6, INT-50 */
    if (rc != 0) {
        ask_fail(st, node, "validation_error", arena_str(st->scratch, str_c(err.message)));
        return;
    }
    const char *why = ask_obstacle(st, key, &code);
    if (why) {
        ask_fail(st, node, code, str_c(why));
        return;
    }
    struct failure full = {.message = STR("the run has asked as often as a run may")};
    if (st->state->interrupts.n >= RUN_INTRS_MAX || !bound_state_room(st, 0, payload.n, &full)) {
        ask_fail(st, node, "run_state_limit_exceeded", full.message);
        return;
    }
    intr_id_of(st->state->meta.run_id, key, id_text);
    struct str id = arena_str(a, str_c(id_text)), data = json_get(payload, "data");
    step_now(st);
    int64_t seq = step_emit(st, EV_INTERRUPT_REQUESTED, node, -1, payload);
    if (seq == EMIT_REFUSED)
        ask_fail(st, node, "event_payload_invalid", STR("the interrupt does not fit an event"));
    if (seq < 0) return;
    int64_t c = companion_emit(st, node, kind, id, data);
    payload = pay_interrupt_suspended(a, node_id, id, intr_kind_word(kind), key, q->reason,
                                      kind == INTR_LOW_CONFIDENCE ? data : STR_NONE);
    if (c == EMIT_REFUSED || step_emit(st, EV_NODE_SUSPENDED, node, seq, payload) == EMIT_REFUSED) {
        plan_fail(st->plan, WOPR_E_INTERNAL, "a node cannot be suspended");
        return;
    }
    interrupt_row_open(st, node, q, id, key, text_str(&run_state_intr(st->state, key)->payload),
                       seq);
    step_timer_clear(st, TIMER_NODE_TIMEOUT, node);
    if (q->timeout_ms > 0) step_timer_set(st, TIMER_INTERRUPT, node, q->timeout_ms);
}

/* EVT-29, D50: no interrupt.resolved; the node fails and the run continues from there. */
void suspend_timed_out(struct step *st, int node) {
    struct intr_state *i = run_state_intr_open(st->state, node);
    if (st->state->nodes[node].status != NODE_SUSPENDED || !i) return;
    if (i->kind == INTR_CONVERSATION_EXCHANGE) { /* CONV-17 */
        conversation_timed_out(st, node);
        return;
    }
    int64_t seq = st->state->next_seq;
    if (i->kind == INTR_APPROVAL && !program_late(st, node)) {
        const struct intr_answer timeout = {.action = STR("timeout")};
        (void)step_emit(
            st, EV_APPROVAL_RECEIVED, node, i->requested_seq,
            pay_approval_received(st->plan->arena, st->state->wf->nodes[node].id, &timeout));
    }
    if (!step_lost(st)) suspend_timed_out_emitted(st, node, seq);
}

void suspend_timed_out_emitted(struct step *st, int node, int64_t seq) {
    struct intr_state *i = run_state_intr_open(st->state, node);
    struct failure f = {.code = STR("interrupt_timeout"),
                        .message = STR("nobody answered within the time of the interrupt")};
    if (i) {
        struct plan_interrupt row = {.op = INTR_ROW_CLOSE,
                                     .interrupt_id =
                                         fork_interrupt_id(st->exec, i, st->plan->arena),
                                     .state = IROW_TIMED_OUT,
                                     .resolved_ms = st->now_ms,
                                     .resolved_seq = seq,
                                     .cause = STR("timeout")};
        plan_interrupt(st->plan, &row);
    }
    if (st->state->program) program_timed_out(st, node);
    else node_end_failed(st, node, &f);
}

void suspend_close_all(struct step *st) {
    const struct plan *p = st->plan;
    struct plan_interrupt row = {.op = INTR_ROW_CLOSE_ALL,
                                 .state = IROW_REJECTED,
                                 .resolved_ms = st->now_ms,
                                 .cause = STR("run-ended")};
    if (st->state->interrupts.n == 0 || p->events_nr == 0) return;
    struct str reason = json_get(p->events[p->events_nr - 1].payload, "reason");
    if (st->state->status == RUN_FAILED) row.cause = STR("run-failed");
    if (st->state->status == RUN_CANCELLED)
        row.cause = str_eqc(reason, "\"parent-cancelled\"") ? STR("parent-cancelled")
                                                            : STR("run-cancelled");
    plan_interrupt(st->plan, &row);
}

/* --- waiting without a holder (STORE-35) --- */

/* The sweep finds deadlines in time that are further away than two of its periods. */
static bool deadlines_far(const struct step *st) {
    for (const struct list *l = st->exec->timers.all.next; l != &st->exec->timers.all;
         l = l->next) {
        const struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        bool far = t->kind == TIMER_INTERRUPT && !t->stopped &&
                   t->fire_at_ms - st->now_ms > 2 * st->engine->cfg.lease_ttl_ms;
        if (t->durable && !far) return false;
    }
    return true;
}

bool suspend_rests(const struct step *st) {
    const struct run_state *s = st->state;
    size_t asked = 0;
    asked = run_state_intrs_open(s);
    /* A node may also wait for an answer that only this process can get. */
    return asked > 0 && asked == s->counts.suspended && s->counts.running == 0 &&
           s->counts.retry == 0 && s->status != RUN_RUNNING && s->status != RUN_PAUSED &&
           !st->exec->mail.any && !st->exec->timeline && !waits_stay(st->exec) && deadlines_far(st);
}

/* A paused run does nothing before a command: its timers are stored, and its questions are in the
 * log. */
bool suspend_pause_rests(const struct step *st) {
    struct run_exec *re = st->exec;
    return st->state->status == RUN_PAUSED && !re->mail.any && !re->requests.has_answers &&
           !waits_stay(re) && !waits_under_way(re);
}

const struct wait_kind WAIT_ANSWER = {.name = "answer",
                                      .outcome = NODE_OUT_SUSPEND,
                                      .timer = TIMER_INTERRUPT,
                                      .claim = suspend_begin,
                                      .enter = conversations_enter,
                                      .on_timer = suspend_timed_out};
