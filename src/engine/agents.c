/*
 * agents.c: effects of agents become events.  Who acts is what the workflow pins, never what an
 * executor says; a result of a tool names its call, and a supervisor that is not the run's decides
 * nothing (AGT-20..25, ORCH-4..8).
 */
#include "engine/agents.h"

#include "codec/jobj.h"
#include "domain/traits.h"
#include "store/events.h"

#define CALLS_PAGE 1024u /* calls of tools that are looked at for one result */

static int agent_refuse(struct failure *f, const char *code, const char *why) {
    *f = (struct failure){.code = str_c(code), .message = str_c(why)};
    return WOPR_E_VALIDATION;
}

static int agent_bad(struct failure *f, const char *why) {
    return agent_refuse(f, "event_payload_invalid", why);
}

/* {"agentId": who, ...members}; from and to: of a hand-off, else empty. */
static struct str agent_payload(struct step *st, struct str who, struct str from, struct str to,
                                struct str members) {
    struct json_members m = {0};
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kraw(&o.w, "agentId", who);
    jw_kraw_opt(&o.w, "fromAgentId", from);
    jw_kstr_opt(&o.w, "toAgentId", to);
    if (members.n > 0 && json_members(members, st->scratch, &m, NULL) != 0) jobj_fail(&o);
    for (size_t i = 0; i < m.n; i++) {
        if (str_eqc(m.v[i].key, "agentId")) continue;
        jw_key_str(&o.w, m.v[i].key);
        jw_raw(&o.w, m.v[i].raw);
    }
    return jobj_end(&o, st->plan->arena);
}

/* --- calls of tools --- */

static bool call_is(const struct event *e, struct str node_id, struct str call_id) {
    return e->kind == EV_AGENT_TOOL_CALLED && str_eq(e->node_id, node_id) &&
           str_eq(json_get(e->payload, "callId"), call_id);
}

/* The call of this id by this activation of the node, in the plan or in the log: its sequence; -1:
 * there is none; -2: the plan has failed. */
static int64_t call_find(struct step *st, int node, struct str call_id) {
    const struct plan *p = st->plan;
    struct str id = st->state->wf->nodes[node].id;
    struct event_list l = {NULL, 0};
    struct wopr_error err;
    for (size_t i = p->events_nr; i > 0; i--)
        if (call_is(&p->events[i - 1], id, call_id)) return p->events[i - 1].seq;
    if (st->exec->run_no == 0) return -1;
    struct log_range range = {.run_no = st->exec->run_no,
                              .from = st->state->nodes[node].started_seq,
                              .until = INT64_MAX,
                              .page_events = CALLS_PAGE,
                              .page_bytes = ENGINE_READ_BYTES};
    do {
        int rc = store_events_of_kind(st->engine->store, &range, EV_AGENT_TOOL_CALLED, st->scratch,
                                      &l, &err);
        if (rc != 0) plan_fail(st->plan, rc, "the calls of tools cannot be read");
        if (rc != 0) return -2;
        for (size_t i = 0; i < l.n; i++)
            if (call_is(&l.v[i], id, call_id)) return l.v[i].seq;
        if (l.n > 0) range.from = l.v[l.n - 1].seq + 1;
    } while (l.n > 0);
    return -1;
}

static int tool_check(struct step *st, int node, const struct node_effect *x, int64_t *cause,
                      struct failure *f) {
    struct str call_id = json_get(x->value, "callId");
    *cause = -1;
    if (json_type_of(call_id) != JSON_STRING) return agent_bad(f, "a call of a tool has no callId");
    int64_t seq = call_find(st, node, call_id);
    if (seq == -2) return 0;
    if (x->kind == EFFECT_TOOL_CALLED)
        return seq >= 0 ? agent_bad(f, "two calls of tools have one callId") : 0;
    bool outcome = json_get(x->value, "outcome").n > 0, error = json_get(x->value, "error").n > 0;
    if (seq < 0) return agent_bad(f, "a tool returned that was not called");
    if (outcome == error)
        return agent_bad(f, "the return of a tool has an outcome or an error, and not both");
    *cause = seq;
    return 0;
}

/* --- supervisors --- */

static int supervisor_check(const struct run_state *s, int node, struct str who,
                            struct failure *f) {
    struct str before = json_get(text_str(&s->orch.agent), "agentId");
    struct str last = json_get(text_str(&s->orch.decision), "kind");
    if ((s->wf->nodes[node].traits & NODE_IS_SUPERVISOR) == 0)
        return agent_refuse(f, "validation_error", "only a supervisor decides for the run");
    if (before.n > 0 && !str_eq(before, who)) /* ORCH-7 */
        return agent_refuse(f, "validation_error", "the run has another supervisor already");
    if (str_eqc(last, "\"terminate\"")) /* ORCH-8 */
        return agent_refuse(f, "validation_error", "the supervisor has decided to terminate");
    return 0;
}

/* --- */

static const enum ev_kind KINDS[] = {
    [EFFECT_REASONED] = EV_AGENT_REASONED,
    [EFFECT_TOOL_CALLED] = EV_AGENT_TOOL_CALLED,
    [EFFECT_TOOL_RETURNED] = EV_AGENT_TOOL_RETURNED,
    [EFFECT_HANDOFF] = EV_AGENT_HANDOFF,
    [EFFECT_DECIDED] = EV_AGENT_DECIDED,
    [EFFECT_ORCHESTRATED] = EV_ORCHESTRATOR_DECIDED,
};

int agent_effect(struct step *st, int node, const struct node_effect *x, struct failure *f) {
    struct str who = node_agent_id(&st->state->wf->nodes[node]), payload;
    int64_t cause = -1;
    int rc = 0;
    if (who.n == 0) return agent_bad(f, "a node without an agent acts as one");
    if (x->kind == EFFECT_ORCHESTRATED) rc = supervisor_check(st->state, node, who, f);
    else if (json_type_of(x->value) != JSON_OBJECT)
        rc = agent_bad(f, "an effect of an agent is no object");
    else if (x->kind == EFFECT_TOOL_CALLED || x->kind == EFFECT_TOOL_RETURNED)
        rc = tool_check(st, node, x, &cause, f);
    if (rc != 0 || step_lost(st)) return rc;
    if (x->kind == EFFECT_ORCHESTRATED) {
        struct str decision = jobj_of(st->scratch, "decision", x->value);
        payload = decision.p ? agent_payload(st, who, STR_NONE, STR_NONE, decision) : STR_NONE;
    } else {
        bool hands = x->kind == EFFECT_HANDOFF;
        payload =
            agent_payload(st, who, hands ? who : STR_NONE, hands ? x->name : STR_NONE, x->value);
    }
    if (step_emit(st, KINDS[x->kind], node, cause, payload) != EMIT_REFUSED) return 0;
    return agent_bad(f, "an effect of the agent does not fit its event");
}

void agent_handoff(struct step *st, int node) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    struct str from = json_get(text_str(&st->state->agent), "agentId");
    struct str to = json_get(def->agent, "agentId");
    if ((def->traits & NODE_IS_SUPERVISOR) != 0) return; /* it leads, it is not led to (AGT-5) */
    if (from.n == 0 || to.n == 0 || str_eq(from, to)) return;
    from = arena_str(st->scratch, from); /* the fold replaces it */
    struct str name = json_string(to, st->scratch);
    (void)step_emit(st, EV_AGENT_HANDOFF, node, -1, agent_payload(st, from, from, name, STR_NONE));
}
