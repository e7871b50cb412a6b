/*
 * task_replay.c: a replay calls no worker: outputs, failures, questions and chunks come from the
 * log of its source.  What the log shows masked is masked here too (FORK-21).
 */
#include "engine/task_replay.h"

#include "codec/json.h"
#include "engine/effects.h"
#include "engine/outcome.h"
#include "engine/task.h"
#include "engine/timers.h"
#include "engine/waits.h"

static void completed_again(struct step *st, int node, struct str payload) {
    struct str outputs = json_get(payload, "outputs");
    struct str id = st->state->wf->nodes[node].id;
    int64_t ms = st->now_ms - st->state->nodes[node].started_ms;
    struct str again =
        pay_node_completed(st->plan->arena, id, outputs.n > 0 ? outputs : STR("{}"), ms);
    step_timer_clear(st, TIMER_NODE_TIMEOUT, node);
    if (step_emit(st, EV_NODE_COMPLETED, node, -1, again) == EMIT_REFUSED)
        plan_fail(st->plan, WOPR_E_INTERNAL, "a recorded event is refused");
}

static void failed_again(struct step *st, int node, const struct event *g, struct str payload) {
    bool retried = g->kind == EV_NODE_RETRIED;
    struct str error = json_get(payload, retried ? "lastError" : "error");
    struct failure f = {.code = json_string(json_get(error, "code"), st->scratch),
                        .message = json_string(json_get(error, "message"), st->scratch),
                        .details = json_get(error, "details"),
                        .retryable = retried};
    attempt_failed(st, node, &f);
}

static void chunk_again(struct step *st, int node, struct str payload) {
    struct failure f = {0};
    struct str last = json_get(payload, "isLast");
    struct node_effect x = {.kind = EFFECT_CHUNK,
                            .value = json_string(json_get(payload, "chunk"), st->scratch),
                            .extra = json_get(payload, "meta"),
                            .is_last = last.n == 0 ? -1 : str_eqc(last, "true")};
    if (effect_apply(st, node, &x, &f) != 0)
        plan_fail(st->plan, WOPR_E_INTERNAL, "a recorded event is refused");
}

static void ask_again(struct step *st, int node, struct str payload) {
    struct task_name name;
    struct node_result r = {.outcome = NODE_OUT_SUSPEND};
    int64_t timeout_ms = 0;
    task_name_of(st, node, &name);
    (void)json_int(json_get(payload, "timeoutMs"), &timeout_ms);
    r.prompt_ordinal = name.asks;
    r.prompt = (struct node_prompt){
        .kind = arena_cstr(st->scratch, json_string(json_get(payload, "kind"), st->scratch)),
        .data = json_get(payload, "data"),
        .resume_schema = json_get(payload, "resumeSchema"),
        .timeout_ms = timeout_ms};
    if (r.prompt.kind) waits_claim(st, node, &r);
    else plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a question");
}

bool task_replay(struct step *st, const struct event *g, int node) {
    /* The page that holds g is read again while its counterpart is compared. */
    struct event copy = *g;
    copy.payload = arena_str(st->scratch, g->payload);
    if (!copy.payload.p) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a recorded event");
        return true;
    }
    step_now(st);
    switch (copy.kind) {
    case EV_NODE_COMPLETED:
        completed_again(st, node, copy.payload);
        return true;
    case EV_NODE_FAILED:
    case EV_NODE_RETRIED:
        failed_again(st, node, &copy, copy.payload);
        return true;
    case EV_OUTPUT_CHUNK:
        chunk_again(st, node, copy.payload);
        return true;
    case EV_INTERRUPT_REQUESTED:
        ask_again(st, node, copy.payload);
        return true;
    default:
        return false;
    }
}
