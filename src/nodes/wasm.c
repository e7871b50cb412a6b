/*
 * wasm.c: a node type of a pack (WASM-10 to WASM-18).  Its module is executed in the sandbox, as a
 * request of the invocation log: what came of it is recorded before the node sees it, so a crash
 * after that, a takeover and a replay need no module.  One that waits for people is broken off and
 * executed again with what it was told so far.
 */
#include "nodes/wasm.h"

#include "codec/jobj.h"

struct wasm {
    const struct node_call *call;
    struct node_result *out;
    const struct wasm_type *type;
    unsigned ordinal, prompts;
    struct wasm_ask ask;
    size_t settled; /* effects of executions that came to an end */
};

static bool wasm_wrong(struct wasm *w, const char *code, const char *message) {
    node_fail(w->out, code, message, false);
    return false;
}

/* --- what an execution did --- */

static struct node_effect *effect_new(struct wasm *w, enum node_effect_kind kind) {
    struct node_effect *x = node_effect_add(w->call, w->out, kind);
    if (!x) node_no_memory(w->out);
    return x;
}

static bool effect_take(struct wasm *w, struct str raw) {
    struct json_elements e = {0};
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, w->call->a, &e, NULL) != 0 ||
        e.n != 3 || json_type_of(e.v[0]) != JSON_STRING || json_type_of(e.v[1]) != JSON_STRING)
        return wasm_wrong(w, "wasm_worker_failed", "the sandbox told of an effect that is none");
    struct str kind = json_string(e.v[0], w->call->a), name = json_string(e.v[1], w->call->a);
    bool set = str_eqc(kind, "set"), write = str_eqc(kind, "write");
    struct node_effect *x = effect_new(w, set     ? EFFECT_VARIABLE
                                          : write ? EFFECT_CHANNEL
                                                  : EFFECT_LOG);
    if (!x) return false;
    x->name = name;
    x->value = set || write ? e.v[2] : json_string(e.v[2], w->call->a);
    x->reducer = RED_APPEND; /* of an undeclared channel; a declared one has its own */
    return true;
}

static bool effects_take(struct wasm *w, struct str report) {
    struct json_elements all = {0};
    struct str raw = json_get(report, "effects");
    if (raw.n > 0 &&
        (json_type_of(raw) != JSON_ARRAY || json_elements(raw, w->call->a, &all, NULL) != 0))
        return wasm_wrong(w, "wasm_worker_failed", "the sandbox told of effects that are none");
    for (size_t i = 0; i < all.n; i++)
        if (!effect_take(w, all.v[i])) return false;
    return true;
}

/* --- how it ended --- */

static void wasm_broke(struct wasm *w, struct str report) {
    struct str cap = json_get(report, "cap"), kind = json_get(cap, "kind");
    struct str code = json_string(json_get(report, "code"), w->call->a);
    struct str message = json_string(json_get(report, "message"), w->call->a);
    int64_t limit = 0, observed = 0;
    node_fail(w->out, code.n > 0 ? code.p : "wasm_trap", "the module stopped", false);
    if (message.n > 0) w->out->error_message = message;
    if (kind.n == 0 || !json_int(json_get(cap, "limit"), &limit)) return;
    (void)json_int(json_get(cap, "observed"), &observed);
    w->out->cap =
        (struct run_cap){.kind = str_eqc(kind, "\"wasm-memory\"") ? CAP_WASM_MEMORY : CAP_WASM_TIME,
                         .limit = limit,
                         .observed = observed};
}

static void wasm_failed(struct wasm *w, struct str error) { /* WASM-11 */
    struct str code = json_get(error, "code"), message = json_get(error, "message"),
               details = json_get(error, "details");
    bool right = code.n > 2 && json_type_of(code) == JSON_STRING &&
                 (message.n == 0 || json_type_of(message) == JSON_STRING);
    if (!right) {
        (void)wasm_wrong(w, "validation_error", "the module failed without a code and a message");
        return;
    }
    const char *word = arena_cstr(w->call->a, json_string(code, w->call->a));
    node_fail(w->out, word ? word : "validation_error", "the module failed", false);
    if (message.n > 2) w->out->error_message = json_string(message, w->call->a);
    if (details.n > 0 && json_type_of(details) == JSON_OBJECT) w->out->error_details = details;
}

static void wasm_completed(struct wasm *w, struct str output) {
    w->out->outcome = NODE_OUT_DONE;
    if (output.n == 0) return;
    w->out->outputs =
        json_type_of(output) == JSON_OBJECT ? output : jobj_of(w->call->a, "output", output);
    if (!w->out->outputs.p) node_no_memory(w->out);
}

/* A question of the module.  true: it is answered. */
static bool wasm_asked(struct wasm *w, struct str payload, struct node_reply *reply) {
    struct node_prompt q = {0};
    if (payload.n == 0 || json_type_of(payload) != JSON_OBJECT)
        return wasm_wrong(w, "validation_error", "the module suspends without an interrupt");
    if (!interrupt_prompt(w->call, w->out, payload, &q)) return false;
    return node_interrupt(w->call, w->out, w->prompts++, &q, reply);
}

/* What the next execution is told: the calls of this one, the last of them with its answer. */
static bool calls_answered(struct wasm *w, struct str report, struct str value) {
    struct json_elements all = {0}, last = {0};
    struct str raw = json_get(report, "calls");
    struct buf b;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, w->call->a, &all, NULL) != 0 ||
        all.n == 0 || json_elements(all.v[all.n - 1], w->call->a, &last, NULL) != 0 || last.n != 3)
        return wasm_wrong(w, "wasm_worker_failed", "the sandbox told of calls that are none");
    buf_init(&b, JSON_LIMITS_STORED.bytes_max);
    for (size_t i = 0; i + 1 < all.n; i++) {
        buf_adds(&b, all.v[i]);
        buf_addc(&b, ',');
    }
    buf_addf(&b, "[" STR_FMT "," STR_FMT ",", STR_ARG(last.v[0]), STR_ARG(last.v[1]));
    buf_adds(&b, value);
    buf_addc(&b, ']');
    w->ask.calls = buf_failed(&b) ? STR_NONE : arena_str(w->call->a, buf_str(&b));
    buf_fini(&b);
    w->ask.request = json_get(report, "request");
    w->ask.resume = STR_NONE;
    if (!w->ask.calls.p) node_no_memory(w->out);
    return w->ask.calls.p != NULL;
}

/* WASM-15, the second pattern: the module returned, and is invoked anew with the answer. */
static bool resume_set(struct wasm *w, struct str payload, struct str value) {
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kraw_opt(&o.w, "key", json_get(payload, "key"));
    jw_kraw(&o.w, "value", value);
    w->ask = (struct wasm_ask){.resume = jobj_end(&o, w->call->a), .now_ms = w->call->now_ms};
    w->settled = w->out->effects_nr;
    if (!w->ask.resume.p) node_no_memory(w->out);
    return w->ask.resume.p != NULL;
}

/* true: the module is to be executed once more. */
static bool wasm_returned(struct wasm *w, struct str response) {
    struct node_reply reply;
    struct str outcome = json_get(response, "outcome");
    if (json_type_of(response) != JSON_OBJECT) outcome = STR_NONE;
    if (str_eqc(outcome, "\"completed\"")) wasm_completed(w, json_get(response, "output"));
    else if (str_eqc(outcome, "\"failed\"")) wasm_failed(w, json_get(response, "error"));
    else if (str_eqc(outcome, "\"suspended\"")) {
        struct str payload = json_get(response, "interrupt");
        return wasm_asked(w, payload, &reply) && resume_set(w, payload, reply.value);
    } else {
        (void)wasm_wrong(
            w, "validation_error",
            "the response of the module is no object with an outcome completed, suspended "
            "or failed");
    }
    return false;
}

static bool wasm_interrupted(struct wasm *w, struct str report) {
    struct node_reply reply;
    int64_t now_ms;
    if (!wasm_asked(w, json_get(report, "interrupt"), &reply)) return false;
    if (json_int(json_get(report, "nowMs"), &now_ms)) w->ask.now_ms = now_ms;
    if (!calls_answered(w, report, reply.value)) return false;
    w->out->effects_nr = w->settled; /* the next execution tells of all of them */
    return true;
}

static bool report_take(struct wasm *w, const struct node_answer *ans) {
    struct str report = ans->body, outcome = json_get(report, "outcome");
    if (ans->status == 0) {
        node_fail(w->out, "wasm_worker_failed", "the module could not be executed", true);
        if (ans->error_message.n > 0)
            w->out->error_message =
                arena_printf(w->call->a, "the module could not be executed: " STR_FMT,
                             STR_ARG(ans->error_message));
        return false;
    }
    if (str_eqc(outcome, "\"failed\"")) {
        wasm_broke(w, report);
        return false;
    }
    if (!effects_take(w, report)) return false;
    if (str_eqc(outcome, "\"interrupt\"")) return wasm_interrupted(w, report);
    return wasm_returned(w, json_get(report, "response"));
}

/* The answer of this execution, or NULL: it is asked for, or failed. */
static const struct node_answer *wasm_execute(struct wasm *w) {
    const struct node_call *call = w->call;
    struct node_request r = {.provider_key = STR("wasm"), .method = STR("INVOKE")};
    bool known = false;
    for (size_t i = 0; i < call->answers_nr; i++)
        known = known || call->answers[i].ordinal == w->ordinal;
    if (!known) {
        r.body = wasm_message(call, &w->ask);
        if (!r.body.p) {
            node_fail(w->out, "wasm_input_too_large",
                      "what the module would be given is more than 4 MiB", false);
            return NULL;
        }
    }
    r.url = arena_printf(call->a, "wasm:%s", w->type->digest);
    r.module = (struct node_module){w->type->digest, str_c(w->type->type_id), w->type->memory_max};
    r.timeout_ms = w->type->time_ms;
    return node_invoke(call, w->out, w->ordinal++, &r);
}

void exec_wasm(const struct node_call *call, struct node_result *out) {
    struct wasm w = {
        .call = call, .out = out, .type = call->type_ctx, .ask = {.now_ms = call->now_ms}};
    const struct node_answer *ans;
    do {
        ans = wasm_execute(&w);
    } while (ans && report_take(&w, ans));
}
