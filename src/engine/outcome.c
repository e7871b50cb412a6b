/*
 * outcome.c: how nodes and runs end (EVT-22, EVT-25, EVT-30, EVT-40, WF-8, WF-15, WF-23).
 */
#include "engine/outcome.h"

#include "codec/jobj.h"
#include "codec/json.h"
#include "engine/bounds.h"
#include "engine/timers.h"

#define ENGINE_RETRY_DELAY_MS  250                     /* WF-24 */
#define ENGINE_RETRY_DELAY_MAX 30000                   /* WF-24 */
#define REFUSED_CODE           "event_payload_invalid" /* EVT-12 */
#define REFUSED_MESSAGE        "the result does not fit the event that would tell it"
#define CUT_MESSAGE                                                                                \
    "the message was left out: the values of the run take all of run-state-bytes-max"

static int64_t run_duration_ms(const struct step *st) {
    int64_t from_ms =
        st->state->clock.started_ms > 0 ? st->state->clock.started_ms : st->state->meta.created_ms;
    return st->now_ms > from_ms ? st->now_ms - from_ms : 0;
}

static struct str node_id(const struct step *st, int node) {
    return node >= 0 ? st->state->wf->nodes[node].id : STR_NONE;
}

static void node_timers_clear(struct step *st, int node) {
    step_timer_clear(st, TIMER_NODE_WAIT, node);
    step_timer_clear(st, TIMER_NODE_TIMEOUT, node);
    step_timer_clear(st, TIMER_RETRY, node);
}

static struct str refused_error(struct step *st) {
    return err_json(st->plan->arena, STR(REFUSED_CODE), STR(REFUSED_MESSAGE), STR_NONE, -1);
}

void node_end_failed(struct step *st, int node, const struct failure *f) {
    struct arena *a = st->plan->arena;
    const struct node_state *ns = &st->state->nodes[node];
    int attempts = ns->status == NODE_RUNNING ? ns->attempt + 1 : 1;
    struct str code = f->code.n > 0 ? f->code : STR("node_failed");
    struct str error = err_json(a, code, f->message, f->details, -1);
    if (!bound_error_room(st, error.n)) error = err_json(a, code, STR(CUT_MESSAGE), STR_NONE, -1);
    node_timers_clear(st, node);
    int64_t seq = step_emit(st, EV_NODE_FAILED, node, -1,
                            pay_node_failed(a, node_id(st, node), error, attempts));
    if (seq == EMIT_REFUSED) {
        struct str payload = pay_node_failed(a, node_id(st, node), refused_error(st), attempts);
        seq = step_emit(st, EV_NODE_FAILED, node, -1, payload);
    }
    if (seq == EMIT_REFUSED) plan_fail(st->plan, WOPR_E_INTERNAL, "a node cannot be failed");
}

/* NODE-18.  Sorted.  Trying again cures none of these. */
static const char *const FINAL_CODES[] = {
    "capability_not_provided", "channel_access_denied",    "channel_cross_engine_write_forbidden",
    "child_cancelled",         "conformance_test_failure", "event_payload_invalid",
    "handoff_return_invalid",  "handoff_task_invalid",     "input_unresolved",
    "loopback_limit_exceeded", "recursion_limit_exceeded", "subworkflow_depth_exceeded",
    "unknown_child_workflow",  "unsupported_node_type",    "validation_error",
    "version_out_of_range",
};

static bool code_is_final(struct str code) {
    for (size_t i = 0; i < sizeof FINAL_CODES / sizeof FINAL_CODES[0]; i++)
        if (str_eqc(code, FINAL_CODES[i])) return true;
    return false;
}

#define RETRY_AFTER_MAX 3600000 /* a peer cannot put a run to sleep for longer */

static int64_t retry_delay_ms(const struct wf_node *def, int attempt) { /* WF-24; attempt >= 1 */
    if (def->retry_delay_ms >= 0) return def->retry_delay_ms;
    if (attempt > 7) return ENGINE_RETRY_DELAY_MAX; /* 250 * 2^7 is past it */
    int64_t ms = (int64_t)ENGINE_RETRY_DELAY_MS << (attempt - 1);
    return ms < ENGINE_RETRY_DELAY_MAX ? ms : ENGINE_RETRY_DELAY_MAX;
}

void attempt_failed(struct step *st, int node, const struct failure *f) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    const struct node_state *ns = &st->state->nodes[node];
    int next = ns->attempt + 1;
    bool again = f->retryable && !code_is_final(f->code) && next > 0 &&
                 (uint32_t)ns->attempt < def->max_retries;
    if (!again) {
        node_end_failed(st, node, f);
        return;
    }
    struct arena *a = st->plan->arena;
    int64_t delay_ms = retry_delay_ms(def, next);
    int64_t asked_ms = f->retry_after_ms < RETRY_AFTER_MAX ? f->retry_after_ms : RETRY_AFTER_MAX;
    if (delay_ms < asked_ms) delay_ms = asked_ms;
    struct str code = f->code.n > 0 ? f->code : STR("node_failed");
    struct str error = err_json(a, code, f->message, f->details, 1);
    step_timer_clear(st, TIMER_NODE_WAIT, node);
    step_timer_clear(st, TIMER_NODE_TIMEOUT, node);
    int64_t seq = step_emit(st, EV_NODE_RETRIED, node, -1,
                            pay_node_retried(a, def->id, next, delay_ms, error));
    if (seq == EMIT_REFUSED) node_end_failed(st, node, f);
    if (seq < 0) return;
    step_now(st); /* the delay counts from the event */
    step_timer_set(st, TIMER_RETRY, node, delay_ms);
}

/* --- ends of runs --- */

static bool in_flight(const struct node_state *n) {
    return n->status == NODE_RUNNING || n->status == NODE_SUSPENDED || n->retry_at_ms > 0;
}

static void cancel_nodes(struct step *st, const char *reason) {
    for (size_t i = 0; i < st->state->wf->nodes_nr && !step_lost(st); i++)
        if (in_flight(&st->state->nodes[i]))
            (void)step_emit(st, EV_NODE_CANCELLED, (int)i, -1,
                            pay_node_reason(st->plan->arena, node_id(st, (int)i), reason));
}

static void skip_nodes(struct step *st, const char *reason) {
    for (size_t i = 0; i < st->state->wf->nodes_nr && !step_lost(st); i++)
        if (st->state->nodes[i].status == NODE_PENDING)
            (void)step_emit(st, EV_NODE_SKIPPED, (int)i, -1,
                            pay_node_reason(st->plan->arena, node_id(st, (int)i), reason));
}

void run_end_failed(struct step *st, struct str error, int failed_node, int64_t cause) {
    struct arena *a = st->plan->arena;
    struct str id = node_id(st, failed_node);
    step_timers_clear(st);
    struct str payload = pay_run_failed(a, error, id, run_duration_ms(st));
    int64_t seq = step_emit(st, EV_RUN_FAILED, -1, cause, payload);
    if (seq != EMIT_REFUSED) return;
    payload = pay_run_failed(a, refused_error(st), id, run_duration_ms(st));
    if (step_emit(st, EV_RUN_FAILED, -1, cause, payload) == EMIT_REFUSED)
        plan_fail(st->plan, WOPR_E_INTERNAL, "a run cannot be failed");
}

void run_end_cascade(struct step *st) {
    run_end_of(st, st->state->failure.node, "upstream-failure");
}

void run_end_of(struct step *st, int node, const char *reason) {
    cancel_nodes(st, reason);
    skip_nodes(st, reason);
    run_end_failed(st, text_str(&st->state->nodes[node].error), node, st->state->failure.seq);
}

void run_end_cap(struct step *st, int node) {
    struct arena *a = st->plan->arena;
    int64_t limit = st->state->options.recursion_limit, observed = st->state->started_count + 1;
    cancel_nodes(st, "upstream-failure"); /* siblings first: the breach and the end stay together */
    int64_t cause = step_emit(st, EV_CAP_BREACHED, node, -1,
                              pay_cap(a, "node-executions", limit, observed, node_id(st, node)));
    run_end_cap_emitted(st, node, cause);
}

/* The node fails, and nothing handles that (sched_check_handled): its failure ends the run. */
static void iterations_over(struct step *st, int node) {
    const struct run_cap *cap = &st->state->cap;
    static const struct {
        const char *code, *before, *after;
    } SAID[CAP_KIND_NR] = {
        [CAP_NODE_EXECUTIONS] = {"recursion_limit_exceeded", "the run may start at most ",
                                 " nodes"},
        [CAP_ORCHESTRATOR] = {"orchestrator_iteration_cap_exceeded",
                              "the run may be decided about at most ", " times"},
        [CAP_DISPATCH] = {"dispatch_iteration_cap_exceeded", "the run may dispatch at most ",
                          " times"},
        [CAP_WASM_MEMORY] = {"wasm_memory_cap_exceeded", "the module of the node may have at most ",
                             " bytes of memory, and stopped for want of more"},
        [CAP_WASM_TIME] = {"wasm_execution_time_exceeded",
                           "the module of the node may execute for at most ", " ms"}};
    struct failure f = {.code = str_c(SAID[cap->kind].code),
                        .message = arena_printf(st->plan->arena, "%s%lld%s", SAID[cap->kind].before,
                                                (long long)cap->limit, SAID[cap->kind].after)};
    node_end_failed(st, node, &f);
}

void run_end_iterations(struct step *st, int node, const struct run_cap *cap) {
    struct str payload = pay_cap(st->plan->arena, cap_kind_name(cap->kind), cap->limit,
                                 cap->observed, node_id(st, node));
    int64_t seq = step_emit(st, EV_CAP_BREACHED, node, -1, payload);
    if (seq == EMIT_REFUSED) plan_fail(st->plan, WOPR_E_INTERNAL, "a bound cannot be told");
    if (seq >= 0) iterations_over(st, node);
}

void run_end_cap_emitted(struct step *st, int node, int64_t cause) {
    struct arena *a = st->plan->arena;
    int64_t limit = st->state->cap.limit, observed = st->state->cap.observed;
    struct jobj o;
    if (st->state->cap.kind != CAP_NODE_EXECUTIONS) {
        if (node >= 0) iterations_over(st, node);
        return;
    }
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kint(&o.w, "limit", limit);
    jw_kint(&o.w, "observed", observed);
    struct str details = jobj_end(&o, a);
    struct str text = arena_printf(a, "the run may start at most %lld nodes", (long long)limit);
    struct str error = err_json(a, STR("recursion_limit_exceeded"), text, details, -1);
    run_end_failed(st, error, -1, cause);
}

void run_end_loop_limit(struct step *st, int node) {
    const struct sched_node *n = &st->state->nodes[node].sched;
    int64_t loops = n->loops > 0 ? n->loops : 1, limit = n->loop_limit > 0 ? n->loop_limit : 1;
    (void)step_emit(st, EV_LOOPBACK_LIMIT, node, -1,
                    pay_loopback_limit(st->plan->arena, node_id(st, node), loops, limit));
    run_end_loop_emitted(st, node);
}

void run_end_loop_emitted(struct step *st, int node) {
    struct failure f = {.code = STR("loopback_limit_exceeded"),
                        .message = STR("the loop was entered more often than its limit allows")};
    node_end_failed(st, node, &f);
}

void run_end_stopped(struct step *st, struct str error, const char *reason) {
    cancel_nodes(st, reason);
    skip_nodes(st, reason);
    run_end_failed(st, error, -1, -1);
}

void run_end_log_limit(struct step *st) {
    const struct engine_bounds *b = &st->engine->cfg.bounds;
    struct arena *a = st->plan->arena;
    bool events = st->state->next_seq >= b->run_events_max;
    st->engine->counts.bounds_met[BOUND_LOG]++;
    const char *unit = events ? "events" : "bytes";
    int64_t limit = events ? b->run_events_max : b->run_bytes_max;
    int64_t observed = events ? st->state->next_seq : st->state->log_bytes;
    struct str text = arena_printf(a,
                                   "the log of the run has %lld %s and may have %lld; split the "
                                   "work over several runs or raise run-%s-max",
                                   (long long)observed, unit, (long long)limit, unit);
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kint(&o.w, "limit", limit);
    jw_kint(&o.w, "observed", observed);
    jw_kstrz(&o.w, "unit", unit);
    struct str details = jobj_end(&o, a);
    run_end_stopped(st, err_json(a, STR("run_log_limit_exceeded"), text, details, -1),
                    "run-log-limit");
}

void run_end_schema_break(struct step *st) {
    const struct chan_break *k = &st->state->channels.broken;
    const struct chan_state *c = &st->state->channels.v[k->chan];
    char id[EVENT_ID_SIZE];
    struct jobj o;
    event_id_format(st->state->meta.run_id, k->seq, id);
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "channel", text_str(&c->name));
    jw_kint(&o.w, "currentSchemaVersion", c->decl->schema_version);
    jw_kint(&o.w, "incompatibleEventVersion", k->version);
    jw_kstrz(&o.w, "incompatibleEventId", id);
    jw_kstrz(&o.w, "migrationHint",
             "list the version in compatibleWith when its values still fit the schema, or run the "
             "workflow anew");
    struct str details = jobj_end(&o, st->scratch);
    cancel_nodes(st, "channel-schema-break");
    skip_nodes(st, "channel-schema-break");
    run_end_failed(st,
                   err_json(st->plan->arena, STR("channel_schema_breaking_change"),
                            STR("a channel holds a write whose schema version its declaration "
                                "does not take"),
                            details, 0),
                   -1, k->seq);
}

static void completed_emit(struct step *st, struct str outputs) {
    step_timers_clear(st);
    int by = st->state->orch.ended_by - 1; /* DISP-8 */
    struct str reason = STR_NONE;
    if (by >= 0)
        reason = json_string(json_get(text_str(&st->state->nodes[by].orch.decision), "reason"),
                             st->scratch);
    struct str payload = pay_run_ended(st->plan->arena, outputs, reason, run_duration_ms(st));
    if (step_emit(st, EV_RUN_COMPLETED, -1, orch_cause(st->state, by), payload) == EMIT_REFUSED)
        run_end_failed(st, refused_error(st), -1, -1);
}

void run_end_with(struct step *st, struct str outputs) { completed_emit(st, outputs); }

void run_end_completed(struct step *st) {
    struct buf b;
    if (st->state->orch.ended_by != 0) cancel_nodes(st, "terminated");
    if (step_lost(st)) return;
    buf_init(&b, PLAN_BYTES_MAX);
    int rc = sched_outputs(st->state, &b);
    if (rc != 0) {
        buf_fini(&b);
        plan_fail(st->plan, rc, "no memory for the outputs of a run");
        return;
    }
    completed_emit(st, buf_str(&b));
    buf_fini(&b);
}

void run_end_timeout(struct step *st) {
    struct str error = err_json(st->plan->arena, STR("run_timeout"),
                                STR("the run took longer than its timeout allows"), STR_NONE, -1);
    cancel_nodes(st, "run-timeout");
    run_end_failed(st, error, -1, -1);
}

void run_end_cancelled(struct step *st, struct str reason, struct str by) {
    struct arena *a = st->plan->arena;
    cancel_nodes(st, "run-cancelled");
    step_timers_clear(st);
    struct str payload = pay_run_cancelled(a, reason, by, run_duration_ms(st));
    if (step_emit(st, EV_RUN_CANCELLED, -1, -1, payload) != EMIT_REFUSED) return;
    payload = pay_run_cancelled(a, STR_NONE, STR_NONE, run_duration_ms(st));
    if (step_emit(st, EV_RUN_CANCELLED, -1, -1, payload) == EMIT_REFUSED)
        plan_fail(st->plan, WOPR_E_INTERNAL, "a run cannot be cancelled");
}
