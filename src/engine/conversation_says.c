/*
 * conversation_says.c: effects of conversations become events, in their order; what their nodes may
 * ask, and for how long (CONV-6, CONV-7, CONV-14, CONV-17).
 */
#include "engine/conversation.h"
#include "engine/fork_info.h"

static int conversation_refuse(struct failure *f, const char *why) {
    *f = (struct failure){.code = STR("validation_error"), .message = str_c(why)};
    return WOPR_E_VALIDATION;
}

static bool holds_conversations(const struct run_state *s, int node) {
    return conversation_held_by(&s->wf->nodes[node]);
}

/* CONV-7, CONV-14.  *cause: sequence of what the event follows from. */
static int order_check(struct step *st, int node, const struct node_effect *x, int64_t *cause,
                       struct failure *f) {
    const struct run_state *s = st->state;
    const struct node_state *n = &s->nodes[node];
    struct str id = json_string(json_get(x->value, "conversationId"), st->scratch);
    const struct conversation *c = id.n > 0 ? run_conversation(s, id) : NULL;
    int64_t index = 0;
    if (!holds_conversations(s, node) || id.n == 0)
        return conversation_refuse(f, "this node holds no conversations");
    if (x->kind == EFFECT_CONVERSATION_OPENED) {
        *cause = n->status == NODE_SUSPENDED ? n->suspended_seq : n->started_seq;
        return c ? conversation_refuse(f, "the conversation was opened before") : 0;
    }
    if (!c || c->closed) return conversation_refuse(f, "no such conversation is open");
    if (!json_int(json_get(x->value, "turnIndex"), &index) || index != c->turns)
        return conversation_refuse(
            f,
            "another node had a turn of this conversation meanwhile; let one wait for the other");
    *cause = c->seq;
    return 0;
}

int conversation_effect(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    static const enum ev_kind KINDS[] = {
        [EFFECT_CONVERSATION_OPENED] = EV_CONVERSATION_OPENED,
        [EFFECT_CONVERSATION_EXCHANGED] = EV_CONVERSATION_EXCHANGED,
        [EFFECT_CONVERSATION_CLOSED] = EV_CONVERSATION_CLOSED,
    };
    int64_t cause = -1;
    int rc = order_check(st, node, x, &cause, f);
    if (rc != 0) return rc;
    struct str payload = arena_str(st->plan->arena, x->value);
    if (!payload.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a conversation");
    if (step_emit(st, KINDS[x->kind], node, cause, payload) != EMIT_REFUSED) return 0;
    *f = (struct failure){.code = STR("event_payload_invalid"),
                          .message = STR("a turn of the conversation does not fit an event")};
    return WOPR_E_VALIDATION;
}

bool conversation_may_ask(const struct step *st, int node, enum intr_kind kind) {
    if (kind == INTR_CONVERSATION_START || kind == INTR_CONVERSATION_CLOSE) return false;
    return kind != INTR_CONVERSATION_EXCHANGE || holds_conversations(st->state, node);
}

struct node_prompt conversation_timed(const struct step *st, int node,
                                      const struct node_prompt *q) {
    const struct conversation *c = run_conversation_of(st->state, node);
    struct node_prompt out = *q;
    if (!c || q->timeout_ms <= 0 || !holds_conversations(st->state, node)) return out;
    int64_t stood_ms = st->now_ms - c->opened_ms - fork_shift_ms(st->exec, c->opened_seq);
    out.timeout_ms = stood_ms < q->timeout_ms ? q->timeout_ms - stood_ms : 1;
    return out;
}
