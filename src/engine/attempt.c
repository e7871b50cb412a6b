/*
 * attempt.c: one attempt of a node: checks before it, the executor, and the events its result
 * becomes (NODE-3..6, NODE-10, NODE-18, EVT-23, EVT-24, WF-24).
 */
#include "engine/attempt.h"

#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/cost.h"
#include "domain/options.h"
#include "engine/agents.h"
#include "engine/bounds.h"
#include "engine/conversation.h"
#include "engine/credential.h"
#include "engine/effects.h"
#include "engine/handoff.h"
#include "engine/invoke.h"
#include "engine/outcome.h"
#include "engine/registry.h"
#include "engine/remember.h"
#include "engine/requirement.h"
#include "engine/secret.h"
#include "engine/task_type.h"
#include "engine/timeline.h"
#include "engine/timers.h"
#include "engine/waits.h"

/* --- the executor's result --- */

static struct failure failure_invalid(const char *why) {
    return (struct failure){.code = STR("event_payload_invalid"), .message = str_c(why)};
}

static bool is_json_object(struct str raw) {
    return json_check(raw, &JSON_LIMITS_STORED, NULL) == 0 && json_type_of(raw) == JSON_OBJECT;
}

static void result_done(struct step *st, int node, const struct node_result *r) {
    struct str outputs = r->outputs.n > 0 ? r->outputs : STR("{}"), shown;
    const struct wf_node *def = &st->state->wf->nodes[node];
    struct failure f;
    if (!is_json_object(outputs)) {
        f = failure_invalid("the outputs of the node are not a JSON object");
        attempt_failed(st, node, &f);
        return;
    }
    if (!handoff_gives(st, node, outputs, &f)) {
        attempt_failed(st, node, &f);
        return;
    }
    if (outputs_mask(st, node, outputs, &shown) != 0) return; /* the plan has failed */
    bool masked = shown.p != outputs.p;
    if (!bound_state_room(st, 0, shown.n + (masked ? outputs.n : 0), &f)) {
        attempt_failed(st, node, &f);
        return;
    }
    int64_t ms = st->now_ms - st->state->nodes[node].started_ms;
    /* A replay asks nobody, so it costs nothing. */
    struct str cost = timeline_of(st) ? STR_NONE : cost_sanitize(r->cost, st->scratch);
    struct str payload = pay_node_cost(st->plan->arena, def->id, shown, ms, cost);
    payload = pay_of_agent(st->plan->arena, payload, def->agent);
    struct str clear = masked ? jobj_of(st->plan->arena, "outputs", outputs) : STR_NONE;
    if (masked && !clear.p)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for the outputs of a node");
    int64_t seq = step_emit_masked(st, EV_NODE_COMPLETED, node, -1, payload, clear);
    if (seq == EMIT_REFUSED) {
        f = failure_invalid("the outputs of the node do not fit an event");
        attempt_failed(st, node, &f);
    }
    if (seq < 0) return;
    step_timer_clear(st, TIMER_NODE_WAIT, node);
    step_timer_clear(st, TIMER_NODE_TIMEOUT, node);
}

static void result_failed(struct step *st, int node, const struct node_result *r) {
    struct failure f = {.code = r->error_code,
                        .message = r->error_message,
                        .details = r->error_details,
                        .retryable = r->retryable,
                        .retry_after_ms = r->retry_after_ms};
    if (f.details.n > 0 && !is_json_object(f.details)) f.details = STR_NONE;
    if (!utf8_valid(f.code) || !utf8_valid(f.message))
        f = failure_invalid("the error of the node is not valid text");
    if (r->cap.limit > 0) {
        run_end_iterations(st, node, &r->cap);
        return;
    }
    attempt_failed(st, node, &f);
}

/* AUD-3.  Ids of nodes are their author's, who may have written anything into one. */
static void decision_audit(struct step *st, int node, const struct node_decision *d) {
    const struct run_meta *m = &st->state->meta;
    struct jobj o;
    struct buf clean;
    if (!st->engine->cfg.audited || !d->verdict) return;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "runId", m->run_id);
    jw_kstr(&o.w, "nodeId", st->state->wf->nodes[node].id);
    jw_kstr(&o.w, "provider", d->provider);
    jw_kstrz(&o.w, "decision", d->verdict);
    if (d->reason) jw_kstrz(&o.w, "reason", d->reason);
    struct str details = jobj_end(&o, st->scratch);
    buf_init(&clean, EVENT_PAYLOAD_MAX);
    if (!details.p || redact_json(details, STR_NONE, &clean, NULL) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for the decision of a policy");
    else
        plan_audit(st->plan, &(struct plan_audit){.at_ms = clock_wall_ms(),
                                                  .type = STR("policy.decision"),
                                                  .tenant = m->tenant,
                                                  .details = buf_str(&clean)});
    buf_fini(&clean);
}

void attempt_apply(struct step *st, int node, const struct node_result *r) {
    struct failure f;
    decision_audit(st, node, &r->decision);
    if (r->effects_nr > NODE_EFFECTS_MAX) {
        f = (struct failure){.code = STR("event_payload_invalid"),
                             .message = STR("the node has too many effects in one call")};
        attempt_failed(st, node, &f);
        return;
    }
    secret_look(st);
    const struct node_type *type = task_type_of(st, node);
    bool partly = type && (type->flags & NODE_PARTLY) != 0;
    size_t after = r->outcome == NODE_OUT_SUSPEND ? r->effects_after : 0;
    for (size_t i = 0; i + after < r->effects_nr && !step_lost(st); i++) {
        if (partly && !timeline_goes_on(st, node)) return;
        if (effect_apply(st, node, &r->effects[i], &f) != 0) {
            attempt_failed(st, node, &f);
            return;
        }
    }
    if (step_lost(st) || (partly && !timeline_goes_on(st, node))) return;
    step_now(st);
    switch (r->outcome) {
    case NODE_OUT_DONE:
        result_done(st, node, r);
        break;
    case NODE_OUT_FAIL:
        result_failed(st, node, r);
        break;
    default: /* a row of wait_table.c */
        if (after > 0) conversation_claim(st, node, r);
        else waits_claim(st, node, r);
        conversation_asked(st, node);
        break;
    }
}

/* --- before --- */

static int inputs_of(struct step *st, int node, struct str *inputs) {
    struct wopr_error err = {0};
    const struct wf_channel *closed = ports_denied(st->state, node, st->scratch);
    if (closed) { /* CHAN-6 */
        struct failure denied = channel_denied(st, node, closed->name, "readers");
        attempt_failed(st, node, &denied);
        return WOPR_E_FORBIDDEN;
    }
    int rc = ports_resolve(st->state, node, st->scratch, inputs, &err);
    if (rc == 0) return 0;
    if (rc == WOPR_E_NO_MEMORY) {
        plan_fail(st->plan, rc, "no memory for the inputs of a node");
        return rc;
    }
    struct failure f = {.code = STR("input_unresolved"),
                        .message = arena_str(st->scratch, str_c(err.message))};
    attempt_failed(st, node, &f);
    return rc;
}

/* STORE-39, FORK-11: entered again from the start, an executor repeats what the log has already. */
static void skips_begin(struct step *st, int node) {
    struct run_exec *re = st->exec;
    const struct node_state *ns = &st->state->nodes[node];
    int32_t n = ns->effects;
    for (size_t i = 0; i < st->state->pins.n; i++) /* executors will ask for versions again */
        if (st->state->pins.v[i].node == node && st->state->pins.v[i].seq > ns->started_seq) n--;
    if (n > 0 && !re->skips) {
        re->skips = mem_array(st->state->wf->nodes_nr, sizeof *re->skips);
        if (!re->skips) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to enter a node again");
    }
    if (re->skips) re->skips[node] = n;
}

/* Pins do not count: an executor does not emit one that is in the log. */
static void skips_take(struct step *st, int node, struct node_result *r) {
    struct run_exec *re = st->exec;
    size_t n = 0;
    if (!re->skips || r->continues || re->skips[node] <= 0) return;
    for (size_t i = 0; i < r->effects_nr; i++)
        if (re->skips[node] > 0 && r->effects[i].kind != EFFECT_PIN) re->skips[node]--;
        else r->effects[n++] = r->effects[i];
    r->effects_nr = n;
}

void attempt_run(struct step *st, int node, bool waited) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    const struct node_state *ns = &st->state->nodes[node];
    const struct node_type *type = task_type_of(st, node);
    struct node_result r = {0};
    struct credential_loans loans;
    struct remember memory;
    st->node_at = node + 1;
    struct node_call call = {.a = st->scratch,
                             .run = st->state,
                             .node = node,
                             .def = def,
                             .config = def->config.n > 0 ? def->config : STR("{}"),
                             .attempt = ns->attempt,
                             .effects_done = ns->effects,
                             .chunks_done = ns->chunks,
                             .pieces_done = ns->pieces,
                             .waited = waited,
                             .conformance = st->engine->cfg.conformance,
                             .now_ms = step_logical_ms(st, node),
                             .remotes = st->engine->cfg.remotes,
                             .loans = &loans,
                             .memory = &memory,
                             .child = st->child_end};
    if (step_lost(st)) return;
    if (!type) { /* no longer registered since the attempt began */
        node_fail(&r, "unsupported_node_type", "this host does not offer the type", false);
        result_failed(st, node, &r);
        return;
    }
    if (inputs_of(st, node, &call.inputs) != 0) return;
    struct failure unfit;
    if (!handoff_takes(st, node, call.inputs, &unfit)) {
        attempt_failed(st, node, &unfit);
        return;
    }
    if (!waited) skips_begin(st, node);
    call.type_ctx = type->ctx;
    timeline_call(st, node, &call);
    invoke_answers(st, node, &call);
    uint64_t began_ms = clock_mono_ms();
    loans_begin(&loans, st);
    remember_begin(&memory, st, node);
    type->fn(&call, &r);
    if (arena_failed(st->scratch) && arena_used(st->scratch) < ENGINE_SCRATCH_MAX / 2) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY,
                  "no memory for a node"); /* the host's, not the node's */
        loans_end(&loans);
        return;
    }
    if (arena_failed(st->scratch))
        node_fail(&r, "out_of_memory", "the node needs more memory than a step has", true);
    /* In a replay the time that its source took counts (FORK-14). */
    if (def->timeout_ms > 0 && !timeline_leads(st) &&
        clock_mono_ms() - began_ms > (uint64_t)def->timeout_ms) {
        r.effects_nr = 0;
        remember_begin(&memory, st, node); /* forget what it did */
        node_fail(&r, "node_timeout", "the node did not finish within its timeoutMs", true);
    }
    skips_take(st, node, &r);
    remember_apply(&memory);
    attempt_apply(st, node, &r); /* a request has its own copy now */
    loans_end(&loans);
}

/* true: the host lacks a capability that the type requires (NODE-4). */
static bool capability_lacks(struct step *st, const struct node_type *type, struct failure *f) {
    const char *missing = registry_missing(type, st->engine->cfg.runtime_capabilities);
    if (!missing) return false;
    f->code = STR("capability_not_provided");
    f->message = arena_printf(st->scratch, "the host does not provide the capability %s", missing);
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstrz(&o.w, "capability", missing);
    f->details = jobj_end(&o, st->scratch);
    return true;
}

/* EVT-24: refused before it starts, so there is no node.started. */
static bool node_refused(struct step *st, int node) {
    const struct node_type *type = task_type_of(st, node);
    struct failure f = {.code = STR("unsupported_node_type"),
                        .message = STR("this host does not offer the type of the node")};
    bool refused = !type || capability_lacks(st, type, &f) || requirement_lacks(st, node, type, &f);
    if (step_lost(st)) return true;
    if (refused) node_end_failed(st, node, &f);
    return refused;
}

void attempt_start(struct step *st, int node) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    const struct node_state *ns = &st->state->nodes[node];
    if (node_refused(st, node)) return;
    int attempt = ns->retry_at_ms > 0 && ns->attempt < INT32_MAX ? ns->attempt + 1 : 0;
    int64_t cause = ns->sched.cause_seq > 0 ? ns->sched.cause_seq : -1; /* EVT-4, CHAN-20 */
    st->exec->stalled = false;
    step_timer_clear(st, TIMER_RETRY, node);
    agent_handoff(st, node);
    if (step_lost(st)) return;
    struct str payload = pay_node_started(st->plan->arena, def->id, def->type_id, attempt);
    payload = pay_of_agent(st->plan->arena, payload, def->agent);
    int64_t seq = step_emit(st, EV_NODE_STARTED, node, cause, payload);
    if (seq == EMIT_REFUSED) {
        struct failure f = failure_invalid("the node cannot be started");
        node_end_failed(st, node, &f);
    }
    if (seq < 0) return;
    if (!timeline_defers(st, node)) attempt_run(st, node, false);
}

void attempt_timed_out(struct step *st, int node) {
    waits_timed_out(st, node);
    struct failure f = {.code = STR("node_timeout"),
                        .message = STR("the node did not finish within its timeoutMs"),
                        .retryable = true}; /* WF-24 */
    if (st->state->nodes[node].status == NODE_RUNNING) attempt_failed(st, node, &f);
}
