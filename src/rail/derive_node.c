/*
 * derive_node.c: nodes of a session as nodes of its run: each begins, asks for its step, and is
 * answered (WR-258, WR-259).
 */
#include "codec/jobj.h"
#include "domain/interrupt.h"
#include "rail/derive_int.h"
#include "store/sessions.h"

enum { ASK_BYTES_MAX = 65536, RECAP_BYTES_MAX = 32768 };

int64_t derive_event(struct deriving *d, enum ev_kind kind, struct str node_id,
                     struct str payload) {
    return plan_event(d->plan, d->in->rules, d->run.state, kind, node_id, -1, d->in->now_ms,
                      payload);
}

/* --- what a node asks --- */
struct question {
    enum intr_kind kind;
    struct str data;
};

static const struct wr_step *pending_step(const struct deriving *d) {
    size_t at =
        d->state.pending ? wr_workflow_step(d->in->workflow, d->state.step.step_id) : WR_NO_AT;
    return at == WR_NO_AT ? NULL : &d->in->workflow->steps.v[at];
}

static void blockers_write(struct jw *w, const struct wr_report *r) {
    jw_key(w, "blockers");
    jw_array(w);
    for (size_t i = 0; i < r->nr; i++) {
        jw_object(w);
        jw_kstrz(w, "code", wr_blocker_name(r->v[i].code));
        jw_kstr(w, "message", r->v[i].message);
        jw_kstr_opt(w, "suggestedFix", r->v[i].fix);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static bool blocked_on_user(const struct wr_state *s) {
    return s->kind == WR_S_BLOCKED && s->block.reason.kind == WR_R_USER_ONLY_DEPENDENCY;
}

static struct str approval_data(const struct deriving *d, const struct wr_step *step) {
    struct jobj o;
    jobj_begin(&o, ASK_BYTES_MAX);
    jw_kstr(&o.w, "artifactId", d->parts.node->node_id);
    jw_kstrz(&o.w, "artifactType", "workrail.step");
    jw_kstr(&o.w, "title", step->title);
    jw_kraw(&o.w, "actions", STR("[\"accept\",\"reject\"]"));
    return jobj_end(&o, d->plan->arena);
}

static struct str clarification_data(const struct deriving *d) {
    const struct wr_report *r = &d->state.block.report;
    struct jobj o;
    jobj_begin(&o, ASK_BYTES_MAX);
    jw_key(&o.w, "questions");
    jw_array(&o.w);
    jw_object(&o.w);
    jw_kstrz(&o.w, "id", "need");
    jw_kstr(&o.w, "question", r->nr > 0 ? r->v[0].message : STR("Something only you can give."));
    jw_end_object(&o.w);
    jw_end_array(&o.w);
    return jobj_end(&o, d->plan->arena);
}

static struct str step_data(const struct deriving *d, const struct wr_step *step) {
    struct jobj o;
    jobj_begin(&o, ASK_BYTES_MAX);
    jw_kstrz(&o.w, "customKind", "workrail.step");
    jw_key(&o.w, "payload");
    jw_object(&o.w);
    jw_kstr(&o.w, "stepId", d->state.step.step_id);
    jw_kstr(&o.w, "title", step ? step->title : d->state.step.step_id);
    if (d->state.kind == WR_S_BLOCKED) blockers_write(&o.w, &d->state.block.report);
    jw_end_object(&o.w);
    return jobj_end(&o, d->plan->arena);
}

/* What is known of preferences when the append lands: a later change asks nothing again. */
static int64_t last_index(const struct deriving *d) {
    return d->in->append->events[d->in->append->events_nr - 1].index;
}

static struct question question_of(const struct deriving *d) {
    const struct wr_step *step = pending_step(d);
    size_t node = wr_session_node(d->in->truth, d->parts.node->node_id);
    if (blocked_on_user(&d->state))
        return (struct question){INTR_CLARIFICATION, clarification_data(d)};
    if (d->state.kind != WR_S_BLOCKED && step && step->confirm &&
        wr_node_preferences(d->in->truth, node, last_index(d)).autonomy == WR_GUIDED)
        return (struct question){INTR_APPROVAL, approval_data(d, step)};
    return (struct question){INTR_CUSTOM, step_data(d, step)};
}

static struct str request_payload(const struct deriving *d, const struct question *q,
                                  struct str key) {
    struct jobj o;
    jobj_begin(&o, ASK_BYTES_MAX);
    jw_kstrz(&o.w, "kind", intr_kind_name(q->kind));
    jw_kstr(&o.w, "key", key);
    jw_kraw(&o.w, "data", q->data);
    return jobj_end(&o, d->plan->arena);
}

static struct str interrupt_id(const struct deriving *d, struct str node_id) {
    struct arena *a = d->plan->arena;
    struct str of = node_id;
    if (d->in->salt.n > 0)
        of = arena_printf(a, STR_FMT ":" STR_FMT, STR_ARG(d->in->salt), STR_ARG(node_id));
    const struct wr_id id = wr_interrupt_id(of);
    return arena_str(a, wr_id_str(&id));
}

static void interrupt_open(struct deriving *d, const struct question *q, struct str id,
                           struct str key, struct str payload, int64_t seq) {
    const struct plan_interrupt row = {.op = INTR_ROW_OPEN,
                                       .interrupt_id = id,
                                       .node_id = d->parts.node->node_id,
                                       .key = key,
                                       .kind = str_c(intr_kind_name(q->kind)),
                                       .payload = payload,
                                       .requested_ms = d->in->now_ms,
                                       .requested_seq = seq};
    plan_interrupt(d->plan, &row);
}

static void run_complete(struct deriving *d) {
    const struct run_state *s = d->run.state;
    (void)derive_event(
        d, EV_RUN_COMPLETED, STR_NONE,
        pay_run_completed(d->plan->arena, STR("{}"), d->in->now_ms - s->clock.started_ms));
}

void derive_pending(struct deriving *d) {
    struct arena *a = d->plan->arena;
    struct str node_id = d->parts.node->node_id;
    if (!d->state.pending) {
        run_complete(d);
        return;
    }
    const struct question q = question_of(d);
    struct str id = interrupt_id(d, node_id);
    struct str key = arena_printf(a, STR_FMT ":" STR_FMT ":0", STR_ARG(d->run.state->meta.run_id),
                                  STR_ARG(node_id));
    struct str payload = request_payload(d, &q, key);
    if (!q.data.p || !payload.p || arena_failed(a)) {
        plan_fail(d->plan, WOPR_E_NO_MEMORY, "no memory for the question of a step");
        return;
    }
    (void)derive_event(d, EV_NODE_STARTED, node_id,
                       pay_node_started(a, node_id, STR(RAIL_STEP_TYPE), 0));
    int64_t seq = derive_event(d, EV_INTERRUPT_REQUESTED, node_id, payload);
    (void)derive_event(
        d, EV_NODE_SUSPENDED, node_id,
        pay_interrupt_suspended(a, node_id, id, intr_kind_word(q.kind), key, NULL, STR_NONE));
    interrupt_open(d, &q, id, key, payload, seq);
}

/* --- its answer --- */

/* What the append says about an answered node: its recap. */
static struct str recap_outputs(const struct deriving *d, struct str of_node) {
    struct jobj o;
    jobj_begin(&o, RECAP_BYTES_MAX);
    for (size_t i = 0; i < d->in->append->events_nr; i++) {
        const struct wr_event *e = &d->in->append->events[i];
        if (e->kind == WR_NODE_OUTPUT_APPENDED && e->u.output.channel == WR_RECAP &&
            str_eq(e->node_id, of_node))
            jw_kstr(&o.w, "recap", e->u.output.notes);
    }
    return jobj_end(&o, d->plan->arena);
}

static struct str artifact_bytes(const struct deriving *d, struct str digest) {
    const struct wr_plan *p = d->in->append;
    for (size_t i = 0; i < p->blobs_nr; i++)
        if (p->blobs[i].kind == WR_BLOB_ARTIFACT && str_eq(p->blobs[i].digest, digest))
            return p->blobs[i].bytes;
    struct plan_session_blob b;
    struct wopr_error err;
    int rc = store_session_blob(d->in->store, SESSION_ARTIFACT, digest, d->plan->arena, &b, &err);
    return rc == 0 ? b.bytes : STR("null"); /* of a bundle without them */
}

static void artifact_create(struct deriving *d, const struct wr_event *e, struct str node_id) {
    struct arena *a = d->plan->arena;
    struct str body = artifact_bytes(d, e->u.output.sha256);
    struct str type = json_string(json_get(body, "kind"), a);
    struct plan_artifact row = {.artifact_id = e->u.output.output_id,
                                .artifact_type = type.n > 0 ? type : STR("workrail.artifact"),
                                .node_id = node_id,
                                .body = body};
    row.seq = derive_event(d, EV_ARTIFACT_CREATED, node_id, pay_artifact(a, &row));
    if (row.seq >= 0) plan_artifact(d->plan, &row);
}

static void artifacts_create(struct deriving *d, struct str of_node, struct str shown_as) {
    for (size_t i = 0; i < d->in->append->events_nr; i++) {
        const struct wr_event *e = &d->in->append->events[i];
        if (e->kind == WR_NODE_OUTPUT_APPENDED && e->u.output.channel == WR_ARTIFACT &&
            str_eq(e->node_id, of_node))
            artifact_create(d, e, shown_as);
    }
}

/* Of an approval the fold reads the action. */
static struct str resume_value(const struct deriving *d, const struct intr_state *i) {
    struct jobj o;
    jobj_begin(&o, ASK_BYTES_MAX);
    if (i->kind == INTR_APPROVAL) jw_kstrz(&o.w, "action", "accept");
    jw_kstrz(&o.w, "outcome", d->state.kind == WR_S_BLOCKED ? "blocked" : "advanced");
    return jobj_end(&o, d->plan->arena);
}

/* A branch inherits the question, but has no row of it. */
static void interrupt_close(struct deriving *d, struct str id, struct str value, bool approval,
                            int64_t seq) {
    const struct plan_interrupt row = {.op = INTR_ROW_CLOSE,
                                       .interrupt_id = id,
                                       .state = IROW_RESUMED,
                                       .resolved_ms = d->in->now_ms,
                                       .resolved_seq = seq,
                                       .resume_value = value,
                                       .resolved_by = d->in->resolved_by,
                                       .action = approval ? STR("accept") : STR_NONE};
    plan_interrupt(d->plan, &row);
}

void derive_answer(struct deriving *d) {
    struct arena *a = d->plan->arena;
    struct str node_id = d->asked, worked_on = d->parts.advance->node_id;
    int at = workflow_node_index(d->run.wf, node_id);
    const struct intr_state *i = at >= 0 ? run_state_intr_open(d->run.state, at) : NULL;
    if (!i) {
        plan_fail(d->plan, WOPR_E_CORRUPT, "the run does not wait where its session says");
        return;
    }
    const char *word = intr_kind_word((enum intr_kind)i->kind);
    bool approval = i->kind == INTR_APPROVAL;
    struct str id = arena_str(a, text_str(&i->id)), value = resume_value(d, i);
    bool blocked = d->state.kind == WR_S_BLOCKED;
    bool rowed = d->plan->what == PLAN_RUN || i->requested_seq >= d->plan->base_seq;
    struct str outputs = blocked ? STR("{\"blocked\":true}") : recap_outputs(d, worked_on);
    int64_t started = d->run.state->nodes[at].started_ms;
    int64_t seq = derive_event(
        d, EV_INTERRUPT_RESOLVED, node_id,
        pay_interrupt_resolved(a, node_id, id, word, value, d->in->resolved_by, d->in->now_ms));
    if (rowed) interrupt_close(d, id, value, approval, seq);
    (void)derive_event(d, EV_NODE_RESUMED, node_id, pay_node_resumed(a, node_id, id, value));
    artifacts_create(d, worked_on, node_id);
    (void)derive_event(d, EV_NODE_COMPLETED, node_id,
                       pay_node_completed(a, node_id, outputs, d->in->now_ms - started));
}

void derive_checkpoint(struct deriving *d) {
    struct arena *a = d->plan->arena;
    struct str node_id = d->parts.node->node_id;
    (void)derive_event(d, EV_NODE_STARTED, node_id,
                       pay_node_started(a, node_id, STR(RAIL_CHECKPOINT_TYPE), 0));
    artifacts_create(d, node_id, node_id);
    (void)derive_event(d, EV_NODE_COMPLETED, node_id,
                       pay_node_completed(a, node_id, recap_outputs(d, node_id), 0));
}
