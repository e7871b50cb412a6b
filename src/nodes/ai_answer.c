/*
 * ai_answer.c: what a model said, as outputs of a node: text, toolCalls, finishReason, usage, model
 * and provider, the same for each wire style.
 */
#include "domain/cost.h"
#include "nodes/ai.h"

const char *ai_finish_name(enum ai_finish f) {
    static const char *const NAMES[] = {"stop", "length", "tool_calls", "content_filter"};
    return NAMES[f];
}

bool ai_count(struct str object, const char *key, int64_t *out) {
    struct str raw = json_get(object, key);
    int64_t n = 0;
    if (raw.n == 0 || json_type_of(raw) == JSON_NULL) return true;
    if (!json_int(raw, &n) || n < 0 || n > AI_COUNT_MAX) return false;
    *out = n;
    return true;
}

void ai_usage_take(struct ai_usage *u, bool ok, const struct ai_usage *said) {
    u->wrong = u->wrong || !ok || said->input > AI_COUNT_MAX ||
               (said->input >= 0 && said->cache_read + said->cache_write > said->input);
    /* an end that counts no input does not take back what the beginning counted */
    if (said->input > 0 || (said->input == 0 && !u->input_said)) {
        u->input_said = true;
        u->input = said->input;
        u->cache_read = said->cache_read;
        u->cache_write = said->cache_write;
    }
    if (said->output >= 0) {
        u->output_said = true;
        u->output = said->output;
    }
    u->known = !u->wrong && u->input_said && u->output_said;
}

bool ai_text(struct str raw, struct arena *a, struct str *out) {
    *out = STR("");
    if (raw.n == 0 || json_type_of(raw) == JSON_NULL) return true;
    if (json_type_of(raw) != JSON_STRING) return false;
    *out = json_string(raw, a); /* without memory: the arena remembers */
    return true;
}

struct str ai_usage_json(const struct ai_usage *u, struct arena *a) {
    struct jobj o;
    if (!u->known) return STR_NONE;
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_kint(&o.w, "promptTokens", u->input);
    jw_kint(&o.w, "completionTokens", u->output);
    jw_kint(&o.w, "totalTokens", u->input + u->output);
    if (u->cache_read > 0) jw_kint(&o.w, "cacheReadTokens", u->cache_read);
    if (u->cache_write > 0) jw_kint(&o.w, "cacheWriteTokens", u->cache_write);
    return jobj_end(&o, a);
}

void ai_calls_write(const struct ai_answer *ans, struct jw *w) {
    if (ans->calls_nr == 0) return;
    jw_key(w, "toolCalls");
    jw_array(w);
    for (size_t i = 0; i < ans->calls_nr; i++) {
        jw_object(w);
        jw_kstr(w, "id", ans->calls[i].id);
        jw_kstr(w, "name", ans->calls[i].name);
        jw_kstr(w, "arguments", ans->calls[i].arguments);
        jw_end_object(w);
    }
    jw_end_array(w);
}

struct str ai_outputs(const struct node_call *call, const struct ai_prompt *p,
                      const struct ai_answer *ans) {
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kstr(&o.w, "text", ans->text);
    ai_calls_write(ans, &o.w);
    jw_kstrz(&o.w, "finishReason", ai_finish_name(ans->finish));
    jw_kraw_opt(&o.w, "usage", ai_usage_json(&ans->usage, call->a));
    jw_kstr(&o.w, "model", ans->model.n > 0 ? ans->model : p->model);
    jw_kstr(&o.w, "provider", p->provider->name);
    return jobj_end(&o, call->a);
}

struct str ai_meta(const struct node_call *call, const struct ai_answer *ans, bool restarted) {
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kstrz(&o.w, "finishReason", ai_finish_name(ans->finish));
    ai_calls_write(ans, &o.w);
    jw_kstr_opt(&o.w, "model", ans->model);
    jw_kraw_opt(&o.w, "usage", ai_usage_json(&ans->usage, call->a));
    if (restarted) jw_kraw(&o.w, "providerExtensions", STR("{\"restarted\":true}"));
    return jobj_end(&o, call->a);
}

/* Prices of the name that answered, else of that which was asked. */
static const struct ai_price *price_of(const struct ai_prompt *p, const struct ai_answer *ans) {
    const struct ai_price *asked = ai_price_find(p->provider, p->model);
    const struct ai_price *answered = ai_price_find(p->provider, ans->model);
    bool named = answered && str_eq(answered->model, ans->model);
    return named || !asked ? answered : asked;
}

bool ai_priced(const struct ai_prompt *p, const struct ai_answer *ans, int64_t *pico) {
    const struct ai_usage *u = &ans->usage;
    const struct ai_price *price = u->known ? price_of(p, ans) : NULL;
    *pico = 0;
    if (!price) return false;
    /* in floating point, so that no count and price of an operator overflows */
    double fresh = (double)(u->input - u->cache_read - u->cache_write);
    double sum = fresh * (double)price->input + (double)u->output * (double)price->output +
                 (double)u->cache_read * (double)price->cache_read +
                 (double)u->cache_write * (double)price->cache_write;
    if (sum < 0 || sum >= 9e18) return false;
    *pico = (int64_t)sum;
    return true;
}

struct str ai_cost(const struct node_call *call, const struct ai_prompt *p,
                   const struct ai_answer *ans, int64_t duration_ms) {
    const struct ai_usage *u = &ans->usage;
    struct cost c = {.known = true,
                     .counted = u->known,
                     .input = u->input,
                     .output = u->output,
                     .timed = true,
                     .duration_ms = duration_ms > 0 ? duration_ms : 0,
                     .provider = p->provider->name,
                     .model = ans->model.n > 0 ? ans->model : p->model};
    c.priced = ai_priced(p, ans, &c.usd_pico);
    return cost_text(&c, call->a);
}
