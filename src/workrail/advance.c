/*
 * advance.c: a step that is reported done: accepted, or blocked (6.3, 6.4, WR-51, WR-52).
 */
#include "workrail/context.h"
#include "workrail/criteria.h"
#include "workrail/registry.h"
#include "workrail/work.h"

enum { BLOCKS_IN_A_ROW_MAX = 10 };
#define CRITERIA_REF STR("wr.validationCriteria")

struct advance {
    struct wr_draft d;
    const struct wr_operator *o;
    const struct wr_session *s;
    const struct wr_advance *in;
    struct wr_fault *f;
    struct arena *a;
    size_t node;
    const struct wr_workflow *w;
    const struct wr_step *step; /* the pending one */
    struct wr_state state;
    struct wr_artifacts artifacts;
    struct str context; /* as the step sees it; p NULL: none */
    bool context_changed;
    struct wr_preferences before, after;
    struct wr_reasons reasons;
    struct wr_texts issues; /* of what is invalid */
    struct str judged;      /* contractRef of the validation, or "none" */
    bool output_missing;    /* the contract's artifact is missing or invalid */
    struct wr_next next;
};

static int advance_memory(struct advance *v) { return wr_no_memory(v->f); }

/* --- what is asked of the output (WR-128, 2) --- */

static int reason_of_contract(struct advance *v, int detail, struct str ref) {
    bool missing = detail == WR_D_MISSING_REQUIRED_OUTPUT;
    struct wr_reason r = {.detail = detail, .text = ref};
    r.message = arena_printf(v->a, "%s required output (contractRef=" STR_FMT ").",
                             missing ? "Missing" : "Invalid", STR_ARG(ref));
    r.fix = missing ? STR("Send the output that the requirements of the prompt name, with "
                          "retryAckToken.")
                    : STR("Mend what the issues name and send it again with retryAckToken.");
    v->output_missing = true;
    return wr_reason_add(&v->reasons, r, v->a) == 0 ? 0 : advance_memory(v);
}

static int contract_judge(struct advance *v) {
    v->judged = v->step->contract_ref;
    if (v->artifacts.valid_of_contract > 0) return 0;
    v->issues = v->artifacts.issues;
    return reason_of_contract(v,
                              v->artifacts.of_contract > 0 ? WR_D_INVALID_REQUIRED_OUTPUT
                                                           : WR_D_MISSING_REQUIRED_OUTPUT,
                              v->step->contract_ref);
}

static int criteria_judge(struct advance *v) {
    v->judged = CRITERIA_REF;
    if (v->in->output.notes.n == 0)
        return reason_of_contract(v, WR_D_MISSING_REQUIRED_OUTPUT, CRITERIA_REF);
    int rc = wr_criteria_judge(v->step->criteria, v->in->output.notes, v->a, &v->issues, v->f);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    if (rc != 0) {
        struct wr_reason r = {.detail = WR_D_EVALUATION_ERROR, .text = v->step->id};
        r.message = STR("A rule of the step cannot be evaluated on these notes.");
        r.fix =
            STR("The rule is at fault, not the work: tell the author of the workflow. Shorter or "
                "plainer notes may pass, from a rehydrate of the step before this block.");
        return wr_reason_add(&v->reasons, r, v->a) == 0 ? 0 : advance_memory(v);
    }
    if (v->issues.nr == 0) return 0;
    return reason_of_contract(v, WR_D_INVALID_REQUIRED_OUTPUT, CRITERIA_REF);
}

static int notes_judge(struct advance *v) {
    struct wr_reason r = {.detail = WR_D_MISSING_REQUIRED_NOTES, .text = v->step->id};
    if (v->step->notes_optional || v->in->output.notes.n > 0) return 0;
    r.message = STR("The notes of the step are missing.");
    r.fix = STR("Send output.notesMarkdown: what was done in this step, with retryAckToken.");
    return wr_reason_add(&v->reasons, r, v->a) == 0 ? 0 : advance_memory(v);
}

/* One demand for a step: a contract says all that is asked, so rules and notes are not looked at
 * beside it (WR-130). */
static int output_judge(struct advance *v) {
    if (v->step->contract_ref.p != NULL) return contract_judge(v);
    if (v->step->criteria.p != NULL) return criteria_judge(v);
    return notes_judge(v);
}

/* --- capabilities (WR-169): from the step on that probes for one --- */

static bool step_is_probe(const struct wr_step *s) {
    return s->origin == WR_TEMPLATE && str_eqc(s->origin_id, WR_PROBE_TEMPLATE);
}

static struct str probe_id(enum wr_capability c) {
    return c == WR_DELEGATION ? STR("wr_probe_delegation") : STR("wr_probe_web_browsing");
}

/* Steps before the probe cannot be held to what only the probe finds out. */
static bool probe_reached(const struct advance *v, enum wr_capability c) {
    if (str_eq(v->step->id, probe_id(c))) return true;
    for (size_t i = 0; i < v->state.completed.nr; i++)
        if (str_eq(v->state.completed.v[i], probe_id(c))) return true;
    return false;
}

/* What the latest strong evidence says, this attempt's included. */
static int capability_status(const struct advance *v, enum wr_capability c) {
    const struct wr_event *e = wr_node_capability(v->s, v->node, c, true);
    int status = e != NULL ? e->u.capability.status : WR_UNKNOWN;
    for (size_t i = 0; i < v->artifacts.capabilities.nr; i++) {
        const struct wr_seen_capability *seen = &v->artifacts.capabilities.v[i];
        if (seen->capability == (int)c && (seen->attempted || step_is_probe(v->step)))
            status = seen->status;
    }
    return status;
}

static int capabilities_judge(struct advance *v) {
    static const char *const NAMES[] = {"delegation", "web_browsing"};
    for (int c = 0; c < WR_CAPABILITIES; c++) {
        if (v->w->needs[c] != WR_REQUIRED || !probe_reached(v, (enum wr_capability)c)) continue;
        int status = capability_status(v, (enum wr_capability)c);
        if (status == WR_AVAILABLE) continue;
        struct wr_reason r = {.capability = c};
        r.detail = status == WR_UNKNOWN ? WR_D_REQUIRED_CAPABILITY_UNKNOWN
                                        : WR_D_REQUIRED_CAPABILITY_UNAVAILABLE;
        r.message = arena_printf(v->a, "The workflow requires the capability %s, which is %s.",
                                 NAMES[c], status == WR_UNKNOWN ? "unknown" : "unavailable");
        r.fix = v->after.risk == WR_CONSERVATIVE
                    ? STR("Provide the capability, then rehydrate the probe step and report it.")
                    : STR("Provide the capability, then rehydrate the probe step and report it; "
                          "riskPolicy does not lift this.");
        if (wr_reason_add(&v->reasons, r, v->a) != 0) return advance_memory(v);
    }
    return 0;
}

static int users_judge(struct advance *v) {
    for (size_t i = 0; i < v->artifacts.users.nr; i++)
        if (wr_reason_add(&v->reasons, v->artifacts.users.v[i], v->a) != 0)
            return advance_memory(v);
    return 0;
}

/* --- pieces of plans --- */

static int advance_put(struct advance *v, struct str to, const struct wr_event **out) {
    struct wr_event *e = wr_draft_event(&v->d, WR_ADVANCE_RECORDED, v->in->ack.node_id);
    if (e == NULL) return advance_memory(v);
    e->u.advance.attempt_id = v->in->ack.attempt_id;
    e->u.advance.to_node_id = to;
    *out = e;
    return wr_draft_seal(&v->d, e, STR_NONE);
}

static int validation_put(struct advance *v, bool valid) {
    struct wr_id id = wr_id_joined("validation", v->in->ack.attempt_id, -1);
    struct wr_texts fixes = {ARENA_ARRAY(v->a, struct str, v->reasons.nr), 0};
    struct wr_event *e = wr_draft_event(&v->d, WR_VALIDATION_PERFORMED, v->in->ack.node_id);
    if (e == NULL || fixes.v == NULL) return advance_memory(v);
    for (size_t i = 0; !valid && i < v->reasons.nr; i++) fixes.v[fixes.nr++] = v->reasons.v[i].fix;
    e->u.validation.validation_id = wr_draft_id(&v->d, &id);
    e->u.validation.attempt_id = v->in->ack.attempt_id;
    e->u.validation.contract_ref = v->judged;
    e->u.validation.valid = valid;
    if (wr_issues_fit(&v->issues, WR_ISSUE_MAX, v->a, &e->u.validation.issues) != 0 ||
        wr_issues_fit(&fixes, WR_SUGGESTION_MAX, v->a, &e->u.validation.suggestions) != 0)
        return advance_memory(v);
    return wr_draft_seal(&v->d, e, STR_NONE);
}

static int preferences_put(struct advance *v) {
    struct wr_id id = wr_id_joined("prefchg", v->in->ack.attempt_id, -1);
    struct wr_delta *delta = ARENA_ARRAY(v->a, struct wr_delta, 2);
    size_t nr = 0;
    if (v->in->autonomy < 0 && v->in->risk < 0) return 0;
    struct wr_event *e = wr_draft_event(&v->d, WR_PREFERENCES_CHANGED, v->in->ack.node_id);
    if (e == NULL || delta == NULL) return advance_memory(v);
    if (v->in->autonomy >= 0) delta[nr++] = (struct wr_delta){0, v->in->autonomy};
    if (v->in->risk >= 0) delta[nr++] = (struct wr_delta){1, v->in->risk};
    e->u.preferences.change_id = wr_draft_id(&v->d, &id);
    e->u.preferences.delta.v = delta;
    e->u.preferences.delta.nr = nr;
    e->u.preferences.effective = v->after;
    return wr_draft_seal(&v->d, e, STR_NONE);
}

static int gap_put(struct advance *v, const struct wr_id *id, enum wr_severity severity, int detail,
                   struct str summary) {
    const struct wr_draft_gap gap = {id, severity, detail, summary};
    return wr_draft_gap(&v->d, &gap, v->in->ack.node_id);
}

/* A capability that is not there is told once on a path, not at each of its steps. */
static bool gap_told(const struct advance *v, const struct wr_reason *r) {
    if (wr_detail_category(r->detail) != WR_CAPABILITY_MISSING) return false;
    for (size_t at = v->node; at != WR_NO_NODE; at = v->s->nodes[at].parent)
        for (const struct wr_link *l = v->s->nodes[at].events.first; l != NULL; l = l->next)
            if (l->event->kind == WR_GAP_RECORDED && l->event->u.gap.detail == r->detail &&
                str_eq(l->event->u.gap.summary, r->message))
                return true;
    return false;
}

/* Every reason that never-stop goes past, and every loop that was cut (WR-102, WR-151). */
static int gaps_put(struct advance *v) {
    int rc = 0, nr = 0;
    for (size_t i = 0; rc == 0 && i < v->reasons.nr; i++) {
        struct wr_id id = wr_id_joined("gap", v->in->ack.attempt_id, nr);
        if (gap_told(v, &v->reasons.v[i])) continue;
        nr++;
        rc = gap_put(v, &id, WR_CRITICAL, v->reasons.v[i].detail, v->reasons.v[i].message);
    }
    for (size_t i = 0; rc == 0 && i < v->next.limits.nr; i++) {
        const struct wr_limit *l = &v->next.limits.v[i];
        struct wr_id id = wr_id_joined("gap", v->in->ack.attempt_id, nr);
        if (!l->asked) continue;
        nr++;
        rc = gap_put(v, &id, WR_WARNING, WR_D_INVARIANT_VIOLATION,
                     arena_printf(v->a,
                                  "The loop " STR_FMT " was asked to continue after pass %lld, but "
                                  "has %lld passes; it was left.",
                                  STR_ARG(l->loop_id), (long long)l->iteration, (long long)l->max));
    }
    return rc;
}

static void provenance_fill(const struct advance *v, const struct wr_seen_capability *seen,
                            union wr_payload *u) {
    bool failed = seen->status != WR_AVAILABLE;
    u->capability.failure_code = -1;
    u->capability.result = failed;
    if (step_is_probe(v->step)) {
        u->capability.provenance = WR_PROBE_STEP;
        u->capability.probe_template_id = v->step->origin_id;
        u->capability.probe_step_id = v->step->id;
    } else if (seen->attempted) {
        u->capability.provenance = WR_ATTEMPTED_USE;
        if (failed) u->capability.failure_code = seen->failure_code >= 0 ? seen->failure_code : 3;
    } else {
        u->capability.provenance = WR_MANUAL_CLAIM;
        u->capability.claim = failed;
    }
}

static int capabilities_put(struct advance *v) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < v->artifacts.capabilities.nr; i++) {
        const struct wr_seen_capability *seen = &v->artifacts.capabilities.v[i];
        struct wr_id id = wr_id_joined("capobs", v->in->ack.attempt_id, (int)i);
        struct wr_event *e = wr_draft_event(&v->d, WR_CAPABILITY_OBSERVED, v->in->ack.node_id);
        if (e == NULL) return advance_memory(v);
        e->u.capability.cap_obs_id = wr_draft_id(&v->d, &id);
        e->u.capability.capability = seen->capability;
        e->u.capability.status = seen->status;
        provenance_fill(v, seen, &e->u);
        rc = wr_draft_seal(&v->d, e, STR_NONE);
    }
    return rc;
}

static int divergences_put(struct advance *v) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < v->artifacts.divergences.nr; i++) {
        const struct wr_seen_divergence *seen = &v->artifacts.divergences.v[i];
        struct wr_id id = wr_id_joined("div", v->in->ack.attempt_id, (int)i);
        struct wr_event *e = wr_draft_event(&v->d, WR_DIVERGENCE_RECORDED, v->in->ack.node_id);
        if (e == NULL) return advance_memory(v);
        e->u.divergence.divergence_id = wr_draft_id(&v->d, &id);
        e->u.divergence.reason = seen->reason;
        e->u.divergence.summary = seen->summary;
        if (wr_step_id_good(seen->step_id)) e->u.divergence.step_id = seen->step_id;
        rc = wr_draft_seal(&v->d, e, STR_NONE);
    }
    return rc;
}

static int context_put(struct advance *v) {
    struct wr_id id = wr_context_id(v->in->ack.attempt_id);
    if (!v->context_changed) return 0;
    struct wr_event *e = wr_draft_event(&v->d, WR_CONTEXT_SET, STR_NONE);
    if (e == NULL) return advance_memory(v);
    e->u.context.context_id = wr_draft_id(&v->d, &id);
    e->u.context.context = v->context;
    e->u.context.source = 1;
    return wr_draft_seal(&v->d, e, v->in->ack.attempt_id);
}

static int trace_put(struct advance *v) {
    struct wr_id id = wr_id_joined("trace", v->in->ack.attempt_id, -1);
    size_t nr = 0;
    struct wr_trace_entry *all = ARENA_ARRAY(v->a, struct wr_trace_entry, v->next.trace.nr + 1);
    if (all == NULL) return advance_memory(v);
    if (v->s->nodes[v->node].acked_edges > 0)
        all[nr++] = (struct wr_trace_entry){.kind = WR_T_NON_TIP,
                                            .summary = STR("advance from a node that has one")};
    for (size_t i = 0; i < v->next.trace.nr; i++) all[nr++] = v->next.trace.v[i];
    if (nr == 0) return 0; /* complete: there is no next step to tell of */
    struct wr_event *e = wr_draft_event(&v->d, WR_DECISION_TRACE_APPENDED, v->in->ack.node_id);
    if (e == NULL) return advance_memory(v);
    e->u.trace.trace_id = wr_draft_id(&v->d, &id);
    if (wr_trace_fit(all, nr, v->a, &e->u.trace.entries.v, &e->u.trace.entries.nr) != 0)
        return advance_memory(v);
    return wr_draft_seal(&v->d, e, STR_NONE);
}

static int node_put(struct advance *v, enum wr_node_kind kind, struct str to,
                    const struct wr_state *state, const struct wr_event *advance) {
    const struct wr_node *from = &v->s->nodes[v->node];
    const struct wr_event *made;
    struct str ref = STR_NONE;
    int rc = wr_draft_state(&v->d, state, &ref);
    if (rc == 0)
        rc = wr_draft_node(&v->d, kind, to, from->id, from->created->u.node.workflow_hash, ref,
                           &made);
    if (rc == 0)
        rc = wr_draft_edge(&v->d, WR_EDGE_ACKED,
                           from->acked_edges > 0 ? WR_NON_TIP_ADVANCE : WR_INTENTIONAL_FORK,
                           advance->event_id, from->id, to);
    return rc;
}

/* --- the two plans --- */

/* Of a refused attempt nothing is kept but why, and by which preferences: what was reported is sent
 * again with the retry, so it cannot be there twice (WR-52). */
static int plan_blocked(struct advance *v) {
    struct wr_id id = wr_id_mint(v->o->mint, WR_ID_NODE),
                 retry = wr_attempt_child(v->in->ack.attempt_id),
                 validation = wr_id_joined("validation", v->in->ack.attempt_id, -1);
    struct str to = wr_draft_id(&v->d, &id);
    const struct wr_event *advance;
    struct wr_state state = v->state;
    state.kind = WR_S_BLOCKED;
    state.block = (struct wr_block){.validation_ref = wr_draft_id(&v->d, &validation)};
    wr_reason_store(&v->reasons.v[0], &state.block);
    if (!state.block.terminal) state.block.retry_attempt_id = wr_draft_id(&v->d, &retry);
    int rc = wr_reasons_report(&v->reasons, v->a, &state.block.report, v->f);
    if (rc == 0) rc = advance_put(v, to, &advance);
    if (rc == 0) rc = preferences_put(v); /* they decided about the block, so they hold for it */
    if (rc == 0) rc = validation_put(v, false);
    return rc == 0 ? node_put(v, WR_NODE_BLOCKED, to, &state, advance) : rc;
}

/* The order is that of the contract (WR-51): the run's events are derived in it. */
static int plan_extras(struct advance *v) {
    int rc = preferences_put(v);
    if (rc == 0) rc = gaps_put(v);
    if (rc == 0) rc = wr_draft_recommendations(&v->d, v->w, &v->after, v->in->ack.node_id);
    if (rc == 0) rc = capabilities_put(v);
    if (rc == 0) rc = divergences_put(v);
    if (rc == 0) rc = context_put(v);
    if (rc == 0 && v->state.kind == WR_S_BLOCKED && v->reasons.nr == 0)
        rc = validation_put(v, true);
    if (rc == 0) rc = trace_put(v);
    if (rc == 0) rc = wr_draft_observations(&v->d, &v->in->anchors);
    return rc;
}

static int plan_accepted(struct advance *v) {
    struct wr_id id = wr_id_mint(v->o->mint, WR_ID_NODE);
    struct str to = wr_draft_id(&v->d, &id);
    const struct wr_event *advance;
    int rc = advance_put(v, to, &advance);
    if (rc == 0) rc = plan_extras(v);
    if (rc == 0) rc = node_put(v, WR_NODE_STEP, to, &v->next.state, advance);
    if (rc == 0)
        rc = wr_draft_outputs(&v->d, &v->in->output, v->in->ack.attempt_id, v->in->ack.node_id,
                              v->s->nodes[v->node].recap, false);
    return rc;
}

/* --- order of the decision (WR-128) --- */

/* A decision that is missing never keeps a loop running (WR-101). */
static void loop_leave(struct advance *v) {
    struct wr_controls *c = &v->artifacts.controls;
    if (v->output_missing && str_eqc(v->step->contract_ref, WR_LOOP_CONTROL_REF))
        c->v[c->nr++] = (struct wr_control){STR_NONE, false};
}

/* Never-stop goes past what an agent or its user lacks, not past what is wrong with the program or
 * the log (WR-139). */
static bool reasons_stop(const struct advance *v) {
    if (v->reasons.nr == 0) return false;
    if (v->after.autonomy != WR_NEVER_STOP) return true;
    for (size_t i = 0; i < v->reasons.nr; i++)
        if (wr_detail_category(v->reasons.v[i].detail) == WR_UNEXPECTED) return true;
    return false;
}

static int advance_judge(struct advance *v) {
    int rc = wr_artifacts_sort(v->w, v->step, &v->state, &v->in->output.artifacts, v->a,
                               &v->artifacts, v->f);
    if (rc == 0) rc = output_judge(v);
    if (rc == 0) rc = capabilities_judge(v);
    if (rc == 0) rc = users_judge(v);
    return rc;
}

static int advance_decide(struct advance *v) {
    int rc = advance_judge(v);
    if (rc != 0) return rc;
    if (reasons_stop(v)) return plan_blocked(v);
    loop_leave(v);
    rc = wr_interpret(v->w, &v->state, v->context, &v->artifacts.controls, v->a, &v->next, v->f);
    return rc == 0 ? plan_accepted(v) : rc;
}

/* Number 17 of WR-114. */
static int state_check(struct advance *v) {
    if (v->state.kind == WR_S_COMPLETE || v->state.pending == 0)
        return wr_fail(v->f, WR_TOKEN_SCOPE_MISMATCH, "ackToken",
                       "ackToken: the run is complete here, no step waits; nothing more is to do");
    if (v->state.kind == WR_S_BLOCKED && v->state.block.terminal)
        return wr_fail(v->f, WR_TOKEN_SCOPE_MISMATCH, "ackToken",
                       "ackToken: this block cannot be mended by a retry; rehydrate with the "
                       "stateToken of the step before it and continue from there");
    size_t at = wr_workflow_step(v->w, v->state.step.step_id);
    if (at == WR_NO_AT)
        return wr_fail(v->f, WR_INTERNAL_ERROR, "",
                       "the stored state is not one of its workflow; verify the session");
    v->step = &v->w->steps.v[at];
    return 0;
}

static int breaker_check(struct advance *v) {
    size_t nr = 0;
    for (size_t at = v->node; at != WR_NO_NODE; at = v->s->nodes[at].parent) {
        int kind = v->s->nodes[at].created->u.node.kind;
        if (kind == WR_NODE_STEP) break;
        nr += kind == WR_NODE_BLOCKED; /* a checkpoint in between is no way around */
    }
    if (nr < BLOCKS_IN_A_ROW_MAX) return 0;
    return wr_fail(v->f, WR_PRECONDITION_FAILED, "ackToken",
                   "ackToken: %d attempts in a row were blocked; rehydrate with the stateToken of "
                   "the step itself and look at it afresh",
                   BLOCKS_IN_A_ROW_MAX);
}

static int context_merge(struct advance *v) {
    v->context = wr_node_context(v->s, v->node);
    if (v->in->context.p == NULL) return 0;
    return wr_context_merge(v->context, v->in->context, v->a, &v->context, &v->context_changed,
                            v->f);
}

static int advance_open(struct advance *v) {
    size_t run;
    int rc = wr_token_locate(v->s, &v->in->ack, "ackToken", &run, &v->node, v->f);
    if (rc == 0) rc = wr_stored_workflow(v->o, v->s, v->node, &v->w, v->f);
    if (rc == 0) rc = wr_stored_state(v->o, v->s, v->node, &v->state, v->f);
    if (rc == 0) rc = state_check(v);
    if (rc == 0) rc = breaker_check(v);
    if (rc == 0) rc = context_merge(v);
    if (rc != 0) return rc;
    v->before = wr_node_preferences(v->s, v->node, INT64_MAX);
    v->after = v->before;
    if (v->in->autonomy >= 0) v->after.autonomy = v->in->autonomy;
    if (v->in->risk >= 0) v->after.risk = v->in->risk;
    return wr_draft_begin(&v->d, v->o, v->s, v->s->id, v->s->runs[run].id, v->f);
}

int wr_advance_plan(const struct wr_operator *o, const struct wr_session *s,
                    const struct wr_advance *in, struct wr_plan *out, struct wr_fault *f) {
    struct wr_fault own;
    struct advance v = {.o = o, .s = s, .in = in, .f = f != NULL ? f : &own, .a = o->a};
    v.judged = STR("none");
    int rc = advance_open(&v);
    if (rc == 0) rc = advance_decide(&v);
    if (rc == 0) *out = v.d.plan;
    return rc;
}
