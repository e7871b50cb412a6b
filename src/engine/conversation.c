/*
 * conversation.c: what the engine does for conversations: the order of their events, their time,
 * and the turns that the host itself takes.  It takes them as anybody does, by an answer in the
 * log, so that forks and replays find them there.
 */
#include "engine/conversation.h"

#include "codec/jobj.h"
#include "engine/effects.h"
#include "engine/resolve.h"
#include "engine/timeline.h"
#include "engine/waits.h"

void conversation_claim(struct step *st, int node, const struct node_result *r) {
    size_t n = r->effects_nr - r->effects_after;
    struct failure f = {.code = STR("event_payload_invalid"),
                        .message = STR("the first turn of the conversation does not fit an event")};
    for (size_t i = n; i < r->effects_nr; i++)
        if (!step_admits(st, EV_CONVERSATION_OPENED, r->effects[i].value)) {
            attempt_failed(st, node, &f);
            return;
        }
    waits_claim(st, node, r);
    for (size_t i = n; i < r->effects_nr && !step_lost(st); i++) {
        /* Of a replay: its source was cut between the question and this, and made it later. */
        if (st->state->nodes[node].status != NODE_SUSPENDED || timeline_answers(st)) return;
        if (effect_apply(st, node, &r->effects[i], &f) != 0)
            plan_fail(st->plan, WOPR_E_INTERNAL, "a conversation cannot be opened");
    }
}

/* --- cancels --- */

#define CANCELLED "{\"reason\":\"user-cancelled\"}"

static void conversation_cancel(struct step *st, int node, const struct conversation *c) {
    const struct wf_channel *ch = conversation_channel(st->state->wf, &st->state->wf->nodes[node]);
    const struct conv_turn last = {.conversation_id = text_str(&c->id),
                                   .index = c->turns,
                                   .ts_ms = st->now_ms,
                                   .role = "system",
                                   .from = STR("system"),
                                   .content = STR(CANCELLED)};
    struct str turn = turn_text(&last, st->scratch);
    struct failure f;
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "conversationId", text_str(&c->id));
    jw_kint(&o.w, "turnIndex", c->turns);
    if (turn.n == 0) jobj_fail(&o);
    else jw_kraw(&o.w, "finalTurn", turn);
    jw_kraw(&o.w, "outcome", STR("null"));
    const struct node_effect x = {.kind = EFFECT_CONVERSATION_CLOSED,
                                  .value = jobj_end(&o, st->plan->arena)};
    const struct node_effect w = {
        .kind = EFFECT_CHANNEL, .name = ch ? ch->name : STR_NONE, .value = turn};
    if (!x.value.p)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for the end of a conversation");
    if (step_lost(st) || effect_apply(st, node, &x, &f) != 0 || !ch) return;
    if (effect_apply(st, node, &w, &f) != 0) return; /* refused: only the channel lacks the turn */
}

void conversations_cancel(struct step *st) {
    for (size_t i = 0; i < st->state->wf->nodes_nr && !step_lost(st); i++) {
        const struct conversation *c = run_conversation_of(st->state, (int)i);
        if (c && !c->closed) conversation_cancel(st, (int)i, c);
    }
}

bool conversation_cancelled(const struct event *g) {
    return g->kind == EV_CONVERSATION_CLOSED &&
           str_eq(json_get(json_get(g->payload, "finalTurn"), "content"), STR(CANCELLED));
}

/* --- turns of the host --- */

static void host_answers(struct step *st, int node) {
    struct intr_state *i = run_state_intr_open(st->state, node);
    const struct wf_node *def = &st->state->wf->nodes[node];
    bool mocks = false;
    int64_t turn = 0;
    (void)json_bool(json_get(def->config, "mockAutoResume"), &mocks);
    if (!mocks || !i || i->kind != INTR_CONVERSATION_EXCHANGE || timeline_leads(st)) return;
    (void)json_int(json_get(json_get(text_str(&i->payload), "data"), "turnIndex"), &turn);
    struct str value = arena_printf(
        st->scratch, "{\"operation\":\"exchange\",\"turn\":{\"content\":\"mock answer %lld\"}}",
        (long long)turn);
    if (!value.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a turn");
    else resolve_by_host(st, i, value);
}

void conversation_asked(struct step *st, int node) {
    if (step_lost(st) || st->state->nodes[node].status != NODE_SUSPENDED) return;
    if (conversation_held_by(&st->state->wf->nodes[node])) host_answers(st, node);
}

void conversations_enter(struct step *st) {
    if (!st->exec->fork.info || st->state->counts.suspended == 0) return;
    for (size_t i = 0; i < st->state->wf->nodes_nr && !step_lost(st); i++)
        conversation_asked(st, (int)i);
}

void conversation_timed_out(struct step *st, int node) {
    struct intr_state *i = run_state_intr_open(st->state, node);
    resolve_by_host(st, i,
                    STR("{\"operation\":\"close\",\"outcome\":null,\"turn\":{\"role\":\"system\","
                        "\"content\":{\"reason\":\"timeout\"}}}"));
}
