/*
 * resolve.c: answers to interrupts (EVT-27, EVT-28, INT-14 to INT-33).  Commands of a run are
 * handled one by one between its steps, and the answer is part of the plan that makes it true: of
 * several resolves, cancels and timeouts one wins (INT-18).
 */
#include "engine/resolve.h"

#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/conversation.h"
#include "domain/traits.h"
#include "engine/bounds.h"
#include "engine/command.h"
#include "engine/effects.h"
#include "engine/fork_info.h"
#include "engine/secret.h"
#include "engine/timeline.h"
#include "engine/timers.h"
#include "store/interrupts.h"

#define CONVERSATION_IS_CLOSED "the conversation is closed; a new run begins a new one"

/* cmd NULL: of an answer by the host. */
static void resolve_refuse(struct step *st, struct engine_cmd *cmd, int rc, const char *why) {
    if (!cmd) {
        plan_fail(st->plan, rc, "%s", why);
        return;
    }
    cmd->result.rc = wopr_error_set(&cmd->result.err, rc, "%s", why);
    cmd_settle(st->engine, cmd);
}

static void result_of(struct step *st, struct engine_cmd *cmd, const struct intr_state *i) {
    cmd->result =
        (struct engine_result){.run_id = cmd->run_id,
                               .status = st->state->status,
                               .at_ms = st->now_ms,
                               .interrupt_id = arena_str(cmd->arena, text_str(&i->id)),
                               .node_id = arena_str(cmd->arena, st->state->wf->nodes[i->node].id)};
}

static void resolve_attach(struct step *st, struct engine_cmd *cmd, const struct intr_state *i) {
    result_of(st, cmd, i);
    cmd_attach(cmd, st->plan);
    st->cmd = cmd;
}

/* INT-32: an external event is identified by eventId of the value, else the key, else the value. */
static struct str event_id(const struct engine_cmd *cmd, struct arena *a) {
    struct str own = json_type_of(cmd->resolve.value) == JSON_OBJECT
                         ? json_string(json_get(cmd->resolve.value, "eventId"), a)
                         : STR_NONE;
    if (own.n > 0) return own;
    if (cmd->resolve.event_id.n > 0) return cmd->resolve.event_id;
    struct sha256 d = sha256_of(cmd->resolve.value);
    char hex[65];
    sha256_hex(&d, hex);
    return arena_str(a, str_c(hex));
}

/* --- nothing is open --- */

static int closed_code(const struct interrupt_row *r) {
    switch (r->state) {
    case IROW_TIMED_OUT:
        return WOPR_E_INTERRUPT_EXPIRED;
    case IROW_REJECTED:
        return str_eqc(r->cause, "parent-cancelled") ? WOPR_E_INTERRUPT_GONE
                                                     : WOPR_E_INTERRUPT_CANCELLED;
    default:
        return WOPR_E_INTERRUPT_RESOLVED;
    }
}

static bool cmd_names(const struct engine_cmd *cmd, const struct interrupt_row *r) {
    return str_eq(cmd->resolve.node_id, r->node_id) &&
           (cmd->resolve.interrupt_id.n == 0 || str_eq(cmd->resolve.interrupt_id, r->interrupt_id));
}

/* CONV-11: the turn that cmd says again.  NULL: it is none. */
static const struct interrupt_row *turn_row(const struct engine_cmd *cmd,
                                            const struct interrupt_list *l, struct arena *a) {
    struct str begin = conversation_answer_begin(cmd->resolve.value, a);
    for (size_t i = l->n; begin.n > 0 && i-- > 0;)
        if (cmd_names(cmd, &l->v[i]) && l->v[i].state == IROW_RESUMED &&
            str_eqc(l->v[i].kind, "conversation.exchange") &&
            str_starts(l->v[i].resume_value, begin))
            return &l->v[i];
    return NULL;
}

void resolve_settled(struct engine *e, struct engine_cmd *cmd, int64_t run_no, struct arena *a) {
    struct engine_result *res = &cmd->result;
    struct interrupt_list l;
    const struct interrupt_row *last = NULL;
    res->rc = store_interrupts_of_run(e->store, run_no, STR_NONE, false, a, &l, &res->err);
    if (res->rc != 0) return;
    for (size_t i = 0; i < l.n; i++)
        if (cmd_names(cmd, &l.v[i])) last = &l.v[i];
    if (!last) {
        res->rc =
            wopr_error_set(&res->err, WOPR_E_INTERRUPT_NOT_FOUND, "the run has no such interrupt");
        return;
    }
    const struct interrupt_row *again = turn_row(cmd, &l, a);
    if (again) last = again;
    bool same = last->state == IROW_RESUMED && str_eqc(last->kind, "external-event") &&
                str_eq(last->cause, event_id(cmd, a)); /* INT-32: delivered twice */
    if (same || again) {
        res->status = last->run_status;
        res->interrupt_id = arena_str(cmd->arena, last->interrupt_id);
        res->node_id = arena_str(cmd->arena, last->node_id);
        return;
    }
    if (str_eqc(last->kind, "conversation.exchange") && run_status_final(last->run_status)) {
        res->rc = wopr_error_at(&res->err, WOPR_E_VALIDATION, "/resumeValue", "%s",
                                CONVERSATION_IS_CLOSED);
        return;
    }
    res->rc = closed_code(last);
    (void)wopr_error_set(&res->err, res->rc, "%s", wopr_err_text(res->rc));
}

/* --- votes and questions --- */

static bool note_emit(struct step *st, int node, const char *prefix, struct str value,
                      struct str clear, const char *reducer) {
    struct arena *a = st->plan->arena;
    struct str id = st->state->wf->nodes[node].id;
    struct str name = arena_printf(a, "%s" STR_FMT, prefix, STR_ARG(id));
    return step_emit_masked(st, EV_CHANNEL_WRITTEN, node, -1,
                            pay_channel_written(a, name, value, reducer, st->now_ms, id, 0),
                            clear) != EMIT_REFUSED;
}

/* Emit a vote; true when it completes the quorum, with the decision in *ans. */
static bool vote_emit(struct step *st, struct engine_cmd *cmd, struct intr_state *i,
                      struct intr_answer *ans) {
    int64_t yes = 0, no = 0;
    struct str shown;
    if (outputs_mask(st, i->node, ans->vote, &shown) != 0) return true;
    struct str clear = clear_member(st, "value", ans->vote, shown);
    if (!note_emit(st, i->node, INTR_VOTES_PREFIX, shown, clear, "votes")) {
        resolve_refuse(st, cmd, WOPR_E_VALIDATION, "the vote is too large");
        return false;
    }
    if (step_lost(st)) return true;
    if (intr_tally(i, &yes, &no) == TALLY_OPEN) {
        resolve_attach(st, cmd, i);
        return false;
    }
    return true;
}

/* --- the answer --- */

/* The answer as the log shows it: values that become sensitive outputs are masked, but never who
 * decided and how. */
static int answer_mask(struct step *st, const struct intr_state *i, const struct intr_answer *ans,
                       struct intr_answer *shown) {
    const struct wf_node *def = &st->state->wf->nodes[i->node];
    *shown = *ans;
    if (def->sensitive_nr == 0 && i->kind != INTR_CONVERSATION_EXCHANGE) return 0;
    int rc = answer_value_mask(st, i, ans->value, &shown->value);
    if (rc != 0) return rc;
    if (port_sensitive(def, STR("comment"))) shown->comment = STR_NONE;
    if (port_sensitive(def, STR("feedback"))) shown->feedback = STR_NONE;
    if (port_sensitive(def, STR("refineFeedback"))) shown->refine = STR_NONE;
    if (port_sensitive(def, STR("editedArtifactData"))) shown->edited = STR_NONE;
    return 0;
}

static int64_t companion_emit(struct step *st, const struct intr_state *i,
                              const struct intr_answer *ans) {
    struct arena *a = st->plan->arena;
    struct str id = st->state->wf->nodes[i->node].id;
    if (i->kind == INTR_APPROVAL)
        return step_emit(st, EV_APPROVAL_RECEIVED, i->node, i->requested_seq,
                         pay_approval_received(a, id, ans));
    struct str answers = json_get(ans->value, "answers");
    if (json_type_of(answers) != JSON_OBJECT) answers = STR("{}"); /* masked */
    if (i->kind == INTR_CLARIFICATION)
        return step_emit(st, EV_CLARIFICATION_RESOLVED, i->node, i->requested_seq,
                         pay_clarification_resolved(a, id, answers, ans->decided_by));
    return 0;
}

static void resolve_finish(struct step *st, struct engine_cmd *cmd, struct intr_state *i,
                           const struct intr_answer *ans) {
    struct arena *a = st->plan->arena;
    struct str node_id = st->state->wf->nodes[i->node].id, id = text_str(&i->id);
    struct intr_answer shown;
    if (answer_mask(st, i, ans, &shown) != 0) return; /* the plan has failed */
    struct plan_interrupt row = {.op = INTR_ROW_CLOSE,
                                 .interrupt_id = fork_interrupt_id(st->exec, i, a),
                                 .state = IROW_RESUMED,
                                 .resolved_ms = st->now_ms,
                                 .resume_value = secret_scrub(st, shown.value),
                                 .resolved_by = ans->decided_by,
                                 .action = ans->action};
    if (i->kind == INTR_EXTERNAL) row.cause = event_id(cmd, st->scratch);
    struct str payload =
        pay_interrupt_resolved(a, node_id, id, intr_kind_word((enum intr_kind)i->kind), shown.value,
                               ans->decided_by, st->now_ms);
    row.resolved_seq =
        step_emit_masked(st, EV_INTERRUPT_RESOLVED, i->node, i->requested_seq, payload,
                         clear_member(st, "resumeValue", ans->value, shown.value));
    if (row.resolved_seq == EMIT_REFUSED) {
        resolve_refuse(st, cmd, WOPR_E_VALIDATION, "the resume value does not fit an event");
        return;
    }
    if (row.resolved_seq < 0) return;
    int64_t t = companion_emit(st, i, &shown);
    payload = pay_node_resumed(a, node_id, id, shown.value);
    if (t == EMIT_REFUSED ||
        step_emit(st, EV_NODE_RESUMED, i->node, i->requested_seq, payload) == EMIT_REFUSED)
        plan_fail(st->plan, WOPR_E_INTERNAL, "a node cannot be resumed");
    plan_interrupt(st->plan, &row);
    step_timer_clear(st, TIMER_INTERRUPT, i->node);
    if (cmd) resolve_attach(st, cmd, i);
}

/* The answer of a completed quorum: who decided, and what.  An edit that completes it is part of
 * what was accepted (NODE-41). */
static void quorum_answer(struct step *st, const struct intr_state *i, struct intr_answer *ans) {
    int64_t yes = 0, no = 0, required = 1;
    struct str data = json_get(text_str(&i->payload), "data");
    bool rejected = intr_tally(i, &yes, &no) == TALLY_REJECTED;
    (void)json_int(json_get(data, "requiredApprovals"), &required);
    if (rejected || ans->edited.n == 0) {
        ans->action = rejected ? STR("reject") : STR("accept");
        ans->edited = STR_NONE;
    }
    ans->decided_by = arena_printf(st->scratch, "quorum:%lld-of-%lld",
                                   (long long)(rejected ? no : yes), (long long)required);
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "action", ans->action);
    jw_kstr(&o.w, "decidedBy", ans->decided_by);
    jw_kstr(&o.w, "decidedAt", ans->decided_at);
    if (ans->edited.n > 0) jw_kraw(&o.w, "editedArtifactData", ans->edited);
    jw_kint(&o.w, "accepts", yes);
    jw_kint(&o.w, "rejects", no);
    ans->value = jobj_end(&o, st->scratch);
}

void resolve_by_host(struct step *st, struct intr_state *i, struct str value) {
    const struct intr_question q = {.payload = text_str(&i->payload),
                                    .kind = (enum intr_kind)i->kind,
                                    .principal = STR("host"),
                                    .host = true,
                                    .now_ms = st->now_ms};
    struct intr_answer ans;
    struct wopr_error err = {0};
    int rc = intr_answer_check(&q, value, st->scratch, &ans, &err);
    if (rc != 0) plan_fail(st->plan, rc, "the host cannot answer its own question");
    else resolve_finish(st, NULL, i, &ans);
}

/* --- conversations --- */

/* CONV-11: a turn that is there already, by the id that its sender gave it, is no second one,
 * though it names the index that it had, or the conversation has ended with it.  true: cmd is
 * answered. */
static bool turn_known(struct step *st, struct engine_cmd *cmd, int node, int32_t activation) {
    const struct run_state *s = st->state;
    struct str begin = conversation_answer_begin(cmd->resolve.value, st->scratch);
    if (begin.n == 0 || !conversation_held_by(&s->wf->nodes[node])) return false;
    for (const struct intr_state *x = s->interrupts.v; x < s->interrupts.v + s->interrupts.n; x++)
        if (x->node == node && x->activation == activation && x->phase == INTR_RESOLVED &&
            str_starts(text_str(&x->value), begin)) {
            result_of(st, cmd, x);
            cmd_settle(st->engine, cmd);
            return true;
        }
    return false;
}

/* CONV-13: nothing is open, and the node has ended.  The node, or -1. */
static int conversation_over(const struct step *st, const struct engine_cmd *cmd) {
    const struct run_state *s = st->state;
    int node =
        cmd->resolve.via == RESOLVE_TOKEN ? -1 : workflow_node_index(s->wf, cmd->resolve.node_id);
    bool over = node >= 0 && (s->wf->nodes[node].traits & NODE_IS_CONVERSATION) != 0 &&
                (s->nodes[node].status == NODE_COMPLETED || s->nodes[node].status == NODE_FAILED);
    return over ? node : -1;
}

static struct intr_state *interrupt_wanted(struct step *st, const struct engine_cmd *cmd) {
    int node = workflow_node_index(st->state->wf, cmd->resolve.node_id);
    if (cmd->resolve.interrupt_id.n > 0) {
        struct intr_state *i = run_state_intr_by_id(st->state, cmd->resolve.interrupt_id);
        for (size_t k = 0; st->exec->fork.info && !i && k < st->state->interrupts.n;
             k++) /* a token has the row's id */
            if (str_eq(fork_interrupt_id(st->exec, &st->state->interrupts.v[k], st->scratch),
                       cmd->resolve.interrupt_id))
                i = &st->state->interrupts.v[k];
        return i && i->phase == INTR_OPEN && i->node == node ? i : NULL;
    }
    return node >= 0 ? run_state_intr_open(st->state, node) : NULL;
}

/* A replay takes the answers of its source first (FORK-12, FORK-13).  true: cmd was refused, as the
 * source has the answer, or waits until the replay has come to what the source still asks.  No
 * pause comes between: what has an open question is not running, and only what is can be paused. */
static bool resolve_yields(struct step *st, struct engine_cmd *cmd, const struct intr_state *i) {
    bool answered = timeline_answered(st, i);
    if (step_lost(st)) {
        exec_mail_put_back(st->exec, cmd);
        return true;
    }
    if (answered) {
        resolve_refuse(st, cmd, WOPR_E_INTERRUPT_RESOLVED,
                       "the run is a replay, and its source has the answer");
        return true;
    }
    if (!timeline_holds_timers(st)) return false;
    exec_mail_put_back(st->exec, cmd);
    st->deaf = true;
    return true;
}

void resolve_apply(struct step *st, struct engine_cmd *cmd) {
    struct intr_state *i = interrupt_wanted(st, cmd);
    struct intr_answer ans;
    struct wopr_error *err = &cmd->result.err;
    int over = i ? -1 : conversation_over(st, cmd);
    if (over >= 0) {
        if (turn_known(st, cmd, over, st->state->nodes[over].activation)) return;
        resolve_refuse(st, cmd, WOPR_E_VALIDATION, CONVERSATION_IS_CLOSED);
        return;
    }
    if (!i || st->state->nodes[i->node].status != NODE_SUSPENDED) {
        resolve_settled(st->engine, cmd, st->exec->run_no, st->scratch);
        cmd_settle(st->engine, cmd);
        return;
    }
    if (resolve_yields(st, cmd, i)) return;
    if (cmd->resolve.via == RESOLVE_TOKEN && intr_auth_required(&st->state->wf->nodes[i->node])) {
        resolve_refuse(st, cmd, WOPR_E_FORBIDDEN,
                       "this interrupt is resolved with a credential only");
        return;
    }
    int64_t until_ms = i->requested_ms + i->timeout_ms + fork_shift_ms(st->exec, i->requested_seq);
    if (i->timeout_ms > 0 && st->now_ms >= until_ms) {
        resolve_refuse(st, cmd, WOPR_E_INTERRUPT_EXPIRED, "the time of the interrupt is over");
        return;
    }
    if (turn_known(st, cmd, i->node, i->activation)) return;
    const struct intr_question q = {.payload = text_str(&i->payload),
                                    .kind = (enum intr_kind)i->kind,
                                    .principal = cmd->principal,
                                    .may_delegate = cmd->resolve.may_delegate,
                                    .now_ms = st->now_ms};
    cmd->result.rc = intr_answer_check(&q, cmd->resolve.value, st->scratch, &ans, err);
    if (cmd->result.rc != 0) {
        cmd_settle(st->engine, cmd);
        return;
    }
    if (ans.verdict == INTR_ASKED) {
        if (!bound_note(st, cmd, i, false, ans.question.n)) return;
        if (note_emit(st, i->node, INTR_ASKS_PREFIX, ans.question, STR_NONE, "append"))
            resolve_attach(st, cmd, i);
        else resolve_refuse(st, cmd, WOPR_E_VALIDATION, "the question is too large");
        return;
    }
    if (ans.verdict == INTR_VOTED) {
        if (!bound_note(st, cmd, i, true, ans.vote.n)) return;
        if (!vote_emit(st, cmd, i, &ans)) return;
        if (!step_lost(st)) quorum_answer(st, i, &ans);
    }
    if (!step_lost(st)) resolve_finish(st, cmd, i, &ans);
    if (step_lost(st) && !st->cmd) exec_mail_put_back(st->exec, cmd);
}
