/*
 * agent_loop.c: vendor.wopr.agent: a turn of the model, its calls of tools, their results, and
 * again (AGT-9, AGT-20..33, NODE-59).  Bounds are looked at before each request, and by what the
 * log holds, so that an entry, a retry and a replay come to the same end.
 */
#include "nodes/agent_loop.h"

#include "codec/jobj.h"
#include "domain/cost.h"
#include "domain/reasoning.h"

#define PICO          1e12
#define MESSAGES_STEP 64u
#define ANSWER_MAX    (1024u * 1024)

struct loop {
    const struct node_call *call;
    struct node_result *out;
    const struct ai_providers *all;
    struct agent_config c;
    struct agent_desk desk;
    struct ai_prompt p;
    size_t messages_cap;
    int64_t turn, repairs;
    bool tokens_known, priced;
    struct ai_usage sum;
    int64_t pico;
    struct str model; /* that answered last */
};

/* --- bounds --- */

static bool agent_loop_exceeded(struct loop *l, const char *code, const char *what, double limit,
                                double observed) {
    struct jobj o;
    node_fail(l->out, code, "the agent met one of its bounds", false);
    struct str m = arena_printf(l->call->a, "the agent met its bound %s", what);
    if (m.p) l->out->error_message = m;
    jobj_begin(&o, 1024);
    jw_kstrz(&o.w, "bound", what);
    jw_key(&o.w, "limit");
    jw_double(&o.w, limit);
    jw_key(&o.w, "observed");
    jw_double(&o.w, observed);
    l->out->error_details = jobj_end(&o, l->call->a);
    return false;
}

static bool agent_loop_unknown(struct loop *l, const char *code, const char *why) {
    node_fail(l->out, code, why, false);
    return false;
}

/* Before the next request, which is cut to what is left. */
static bool bounds_left(struct loop *l) {
    const struct agent_config *c = &l->c;
    int64_t used = l->sum.input + l->sum.output;
    if (l->turn >= c->turns_max)
        return agent_loop_exceeded(l, "agent_turns_exceeded", "maxTurns", (double)c->turns_max,
                                   (double)l->turn + 1);
    if (c->ms_max > 0 && l->desk.ms >= c->ms_max)
        return agent_loop_exceeded(l, "agent_time_exceeded", "maxWorkMs", (double)c->ms_max,
                                   (double)l->desk.ms);
    if (l->turn > 0 && c->tokens_max > 0 && !l->tokens_known)
        return agent_loop_unknown(
            l, "agent_usage_unknown",
            "maxTotalTokens cannot be kept: the AI provider does not say how many "
            "tokens it counted");
    if (c->tokens_max > 0 && used >= c->tokens_max)
        return agent_loop_exceeded(l, "agent_tokens_exceeded", "maxTotalTokens",
                                   (double)c->tokens_max, (double)used);
    if (c->usd_max > 0 && (l->turn > 0 ? !l->priced : !ai_price_find(l->p.provider, l->p.model)))
        return agent_loop_unknown(
            l, "agent_usage_unknown",
            "maxCostUsd cannot be kept: the operator gave no prices for the model "
            "(prices in --ai-providers), or the provider counts no tokens");
    if (c->usd_max > 0 && (double)l->pico / PICO >= c->usd_max)
        return agent_loop_exceeded(l, "agent_cost_exceeded", "maxCostUsd", c->usd_max,
                                   (double)l->pico / PICO);
    return true;
}

/* A request never asks for more than the bounds leave. */
static struct ai_prompt request_of(const struct loop *l) {
    struct ai_prompt p = l->p;
    int64_t tokens = l->c.tokens_max - l->sum.input - l->sum.output;
    int64_t ms = l->c.ms_max - l->desk.ms;
    if (l->c.tokens_max > 0 && (p.max_tokens == 0 || p.max_tokens > tokens)) p.max_tokens = tokens;
    if (l->c.ms_max > 0 && p.timeout_ms > ms) p.timeout_ms = ms;
    return p;
}

static void usage_add(struct loop *l, const struct ai_answer *ans, const struct node_answer *raw) {
    int64_t pico = 0;
    l->tokens_known = l->tokens_known && ans->usage.known;
    l->sum.input += ans->usage.input;
    l->sum.output += ans->usage.output;
    l->sum.cache_read += ans->usage.cache_read;
    l->sum.cache_write += ans->usage.cache_write;
    l->sum.known = l->tokens_known;
    l->priced = ai_priced(&l->p, ans, &pico) && l->priced;
    l->pico += pico < INT64_MAX - l->pico ? pico : INT64_MAX - l->pico;
    l->desk.ms += raw->duration_ms > 0 ? raw->duration_ms : 0;
    if (ans->model.n > 0) l->model = ans->model;
}

/* --- what was said --- */

static bool message_put(struct loop *l, struct ai_message m) {
    if (l->p.messages_nr == l->messages_cap) {
        size_t cap = l->p.messages_nr + MESSAGES_STEP;
        struct ai_message *v = ARENA_ARRAY(l->call->a, struct ai_message, cap);
        if (!v) {
            node_no_memory(l->out);
            return false;
        }
        memcpy(v, l->p.messages, l->p.messages_nr * sizeof *v);
        l->p.messages = v;
        l->messages_cap = cap;
    }
    l->p.messages[l->p.messages_nr++] = m;
    return true;
}

/* The schema is said once, by the system: before what anybody else says. */
static bool schema_say(struct loop *l) {
    struct str text;
    size_t at = 0;
    if (l->c.schema.n == 0) return true;
    text = arena_printf(l->call->a,
                        "When you have the answer, say it as one JSON value that fits this JSON "
                        "Schema, and nothing else: " STR_FMT "%s" STR_FMT,
                        STR_ARG(l->c.schema), l->c.returns.n > 0 ? "\nIt fits this one, too: " : "",
                        STR_ARG(l->c.returns));
    if (!text.p) node_no_memory(l->out);
    if (!text.p || !message_put(l, (struct ai_message){.role = AI_SYSTEM, .content = text}))
        return false;
    struct ai_message m = l->p.messages[l->p.messages_nr - 1];
    while (l->p.messages[at].role == AI_SYSTEM && at + 1 < l->p.messages_nr) at++;
    memmove(&l->p.messages[at + 1], &l->p.messages[at],
            (l->p.messages_nr - 1 - at) * sizeof *l->p.messages);
    l->p.messages[at] = m;
    return true;
}

static bool tools_offer(struct loop *l) {
    l->p.tools = ARENA_ARRAY(l->call->a, struct ai_tool, l->c.tools_nr + 1);
    if (!l->p.tools) {
        node_no_memory(l->out);
        return false;
    }
    for (size_t i = 0; i < l->c.tools_nr; i++) {
        const struct agent_tool *t = &l->c.tools[i];
        if (t->allowed)
            l->p.tools[l->p.tools_nr++] = (struct ai_tool){t->name, t->description, t->parameters};
    }
    return true;
}

/* --- calls of tools --- */

static bool id_in(const struct ai_tool_call *v, size_t n, struct str id) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(v[i].id, id)) return true;
    return false;
}

/* Whether a call of this conversation, or of the n of this turn, has the id. */
static bool id_taken(const struct loop *l, const struct ai_tool_call *v, size_t n, struct str id) {
    for (size_t i = 0; i < l->p.messages_nr; i++)
        if (id_in(l->p.messages[i].calls, l->p.messages[i].calls_nr, id)) return true;
    return id_in(v, n, id);
}

static struct str id_mint(const struct loop *l, const struct ai_tool_call *v, size_t n) {
    struct str id = arena_printf(l->call->a, "call_%u_%zu", (unsigned)l->turn, n);
    for (unsigned i = 0; id.p && id_taken(l, v, n, id); i++) /* ends: the taken ones are finite */
        id = arena_printf(l->call->a, "call_%u_%zu_%u", (unsigned)l->turn, n, i);
    return id;
}

/* As a provider takes them back: each with an id of its own, a name that a tool may have, and
 * arguments that are an object. */
static struct ai_tool_call *calls_clean(struct loop *l, const struct ai_answer *ans) {
    struct ai_tool_call *v = ARENA_ARRAY(l->call->a, struct ai_tool_call, ans->calls_nr + 1);
    for (size_t i = 0; v && i < ans->calls_nr; i++) {
        v[i] = ans->calls[i];
        if (v[i].id.n == 0 || v[i].id.n > AI_NAME_MAX || id_taken(l, v, i, v[i].id))
            v[i].id = id_mint(l, v, i);
        if (!agent_tool_name_fits(v[i].name)) v[i].name = STR("unknown_tool");
        if (json_check(v[i].arguments, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
            json_type_of(v[i].arguments) != JSON_OBJECT)
            v[i].arguments = STR("{}");
    }
    if (!v) node_no_memory(l->out);
    return v;
}

static bool calls_do(struct loop *l, const struct ai_answer *ans) {
    struct ai_tool_call *clean = calls_clean(l, ans);
    struct ai_message m = {.role = AI_ASSISTANT, .content = ans->text, .calls = clean};
    m.calls_nr = ans->calls_nr;
    if (!clean || !message_put(l, m)) return false;
    struct str thought = str_trim(ans->text);
    if (thought.n > 0 && !agent_reason(l->call, l->out, thought)) return false;
    for (size_t i = 0; i < ans->calls_nr; i++) {
        struct str said = STR_NONE;
        if (l->desk.calls >= l->c.calls_max)
            return agent_loop_exceeded(l, "agent_tool_calls_exceeded", "maxToolCalls",
                                       (double)l->c.calls_max, (double)l->desk.calls + 1);
        if (!agent_tool_call(&l->desk, &ans->calls[i], &said)) return false;
        m = (struct ai_message){.role = AI_TOOL, .content = said, .call_id = clean[i].id};
        if (!message_put(l, m)) return false;
    }
    return true;
}

/* --- the answer --- */

static bool agent_loop_finish(struct loop *l, const struct ai_answer *ans, struct str output) {
    struct jobj o;
    struct cost c = {.known = true,
                     .counted = l->tokens_known,
                     .input = l->sum.input,
                     .output = l->sum.output,
                     .timed = true,
                     .duration_ms = l->desk.ms,
                     .priced = l->priced,
                     .usd_pico = l->pico,
                     .provider = l->p.provider->name,
                     .model = l->model.n > 0 ? l->model : l->p.model};
    jobj_begin(&o, ANSWER_MAX);
    jw_kstr(&o.w, "text", ans->text);
    jw_kraw_opt(&o.w, "output", output);
    jw_kstrz(&o.w, "finishReason", ai_finish_name(ans->finish));
    jw_kraw_opt(&o.w, "usage", ai_usage_json(&l->sum, l->call->a));
    jw_kstr(&o.w, "model", c.model);
    jw_kstr(&o.w, "provider", c.provider);
    jw_kint(&o.w, "turns", l->turn);
    jw_kint(&o.w, "toolCalls", (int64_t)l->desk.calls);
    l->out->outputs = jobj_end(&o, l->call->a);
    l->out->cost = cost_text(&c, l->call->a);
    l->out->outcome = NODE_OUT_DONE;
    if (!l->out->outputs.p) node_no_memory(l->out);
    return false;
}

static bool answer_refuse(struct loop *l, const char *why) {
    struct jobj o;
    node_fail(l->out, "agent_output_invalid",
              "the answer of the agent does not fit outputSchema, and schemaRounds are used up",
              false);
    jobj_begin(&o, 4096);
    jw_kstrz(&o.w, "reason", why);
    jw_kint(&o.w, "schemaRounds", l->c.rounds);
    l->out->error_details = jobj_end(&o, l->call->a);
    return false;
}

/* One more turn, with what is wrong. */
static bool answer_repair(struct loop *l, const struct ai_answer *ans, const char *why) {
    struct str text = arena_printf(l->call->a,
                                   "Your answer does not fit the JSON Schema: %s. Say it again as "
                                   "one JSON value that fits, and nothing else.",
                                   why);
    struct str line = arena_printf(l->call->a, "the answer does not fit outputSchema: %s", why);
    struct node_effect *x = node_effect_add(l->call, l->out, EFFECT_LOG);
    if (!text.p || !line.p || !x) {
        node_no_memory(l->out);
        return false;
    }
    x->name = STR("warn");
    x->value = line;
    l->repairs++;
    struct str said = ans->text.n > 0 ? ans->text : STR("(nothing)");
    return message_put(l, (struct ai_message){.role = AI_ASSISTANT, .content = said}) &&
           message_put(l, (struct ai_message){.role = AI_USER, .content = text});
}

static const char *value_wrong(struct loop *l, struct str value) {
    bool judged = true;
    if (json_check(value, &JSON_LIMITS_DEFAULT, NULL) != 0) return "it is no JSON value";
    const char *why = agent_schema_wrong(l->c.schema, value, l->call->a, &judged);
    if (why || l->c.returns.n == 0) return why;
    return agent_schema_wrong(l->c.returns, value, l->call->a, &judged);
}

/* AGT-24, AGT-30: a structured answer is a decision, and its member confidence counts. */
static bool answer_take(struct loop *l, const struct ai_answer *ans) {
    struct agent_decision d = {.asked = l->desk.asked};
    struct str value = str_trim(ans->text), settled, confidence;
    if (l->c.schema.n == 0) return agent_loop_finish(l, ans, STR_NONE);
    const char *why = value_wrong(l, value);
    if (why) return l->repairs < l->c.rounds ? answer_repair(l, ans, why) : answer_refuse(l, why);
    confidence = json_type_of(value) == JSON_OBJECT ? json_get(value, "confidence") : STR_NONE;
    d.decision = value;
    if (confidence.n > 0 && json_type_of(confidence) == JSON_NUMBER) d.confidence = confidence;
    if (!agent_settle(l->call, l->out, &d, &settled)) return false;
    why = value_wrong(l, settled); /* a person may have said it */
    return why ? answer_refuse(l, why) : agent_loop_finish(l, ans, settled);
}

/* --- the loop --- */

static bool agent_loop_turn(struct loop *l) {
    const struct node_answer *raw;
    struct ai_answer *ans;
    if (!bounds_left(l)) return false;
    struct ai_prompt p = request_of(l);
    bool cut = p.timeout_ms < l->p.timeout_ms;
    if (!ai_ask(l->call, l->all, &p, (unsigned)l->turn, &raw, &ans, l->out)) {
        bool over =
            cut && l->out->outcome == NODE_OUT_FAIL && str_eqc(l->out->error_code, "timeout");
        return over ? agent_loop_exceeded(l, "agent_time_exceeded", "maxWorkMs",
                                          (double)l->c.ms_max, (double)l->c.ms_max)
                    : false;
    }
    l->turn++;
    usage_add(l, ans, raw);
    struct ai_answer shown = *ans; /* AGT-16: what comes with calls of tools is a thought */
    int64_t words;
    if (l->p.bounded && ans->calls_nr > 0) shown.text = reasoning_summary(ans->text, &words);
    if (!ai_chunk_put(l->call, raw, &shown, l->out)) {
        node_no_memory(l->out);
        return false;
    }
    return ans->calls_nr > 0 ? calls_do(l, ans) : answer_take(l, ans);
}

/* Pieces of a stream are in the log, too, but are not made here. */
void agent_effects_new(const struct node_call *call, struct node_result *out) {
    int done = call->effects_done - call->pieces_done;
    size_t n = done > 0 ? (size_t)done : 0;
    if (n > out->effects_nr) n = out->effects_nr;
    out->effects_nr -= n;
    if (n > 0) memmove(out->effects, out->effects + n, out->effects_nr * sizeof *out->effects);
    out->continues = true;
}

static bool loop_open(struct loop *l) {
    struct str stream = node_arg(l->call, "expectsStreaming");
    struct agent g;
    const char *why = agent_config_read(l->call->config, l->call->a, &l->c);
    if (!why && l->call->run->options.mock != MOCK_NONE)
        why =
            "the run wants a mock provider, and agents have none; name a provider of the operator";
    if (why) {
        node_invalid(l->out, why);
        return false;
    }
    if (agent_manifest_of(l->call, &g)) agent_config_narrow(&l->c, &g, l->call->a);
    if (!ai_prompt_read_bare(l->call, l->all, &l->p, l->out)) return false;
    if (stream.n == 0) l->p.stream = true;
    l->p.bounded = agent_withholds(l->call);
    l->messages_cap = l->p.messages_nr;
    l->tokens_known = l->priced = true;
    l->desk = (struct agent_desk){.call = l->call, .out = l->out, .config = &l->c};
    return schema_say(l) && agent_tools_open(&l->desk) && tools_offer(l);
}

void exec_agent(const struct node_call *call, struct node_result *out) {
    struct loop *l = ARENA_NEW(call->a, struct loop);
    if (!l) {
        node_no_memory(out);
        return;
    }
    *l = (struct loop){.call = call, .out = out, .all = call->type_ctx};
    if (loop_open(l))
        while (agent_loop_turn(l)) continue;
    agent_effects_new(call, out);
}
