/*
 * ai.c: core.ai.callPrompt and core.ai.generateFromPrompt (NODE-59..61, OPT-9, OPT-10, WF-34,
 * EVT-34).  A run with a mock provider is answered here: mocks are pure functions of the run's
 * options, and re-enter where the log says they stopped (call->chunks_done).  Others: ai_call.c.
 */
#include "nodes/ai.h"

#define AI_CHUNKS_PER_CALL 256
#define AI_USAGE_BYTES_MAX 256
#define AI_DELAY_MS_MAX    5000
#define AI_FAIL_MS_MAX     3600000

struct stream {
    const struct node_call *call;
    struct node_result *out;
    struct str config;                      /* of the mock, {} when absent */
    struct str model, finish_reason, usage; /* model: text; the others raw JSON or text as named */
    int64_t delay_ms;
};

static bool opt_string(struct stream *s, const char *key, struct str *out) {
    struct str raw = json_get(s->config, key);
    if (raw.n == 0) return true;
    if (json_type_of(raw) != JSON_STRING) return false;
    *out = json_string(raw, s->call->a);
    return out->p != NULL;
}

static bool opt_int(struct stream *s, const char *key, int64_t max, int64_t *out) {
    struct str raw = json_get(s->config, key);
    return raw.n == 0 || (json_int(raw, out) && *out >= 0 && *out <= max);
}

static bool finish_known(struct str v) {
    static const char *const KNOWN[] = {"stop", "length", "tool_calls", "content_filter"};
    for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i++)
        if (str_eqc(v, KNOWN[i])) return true;
    return false;
}

/* Every mock prompt counts as one token. */
static struct str usage_counted(const struct node_call *call, int64_t tokens) {
    struct jobj o;
    jobj_begin(&o, AI_USAGE_BYTES_MAX);
    jw_kint(&o.w, "promptTokens", 1);
    jw_kint(&o.w, "completionTokens", tokens);
    jw_kint(&o.w, "totalTokens", tokens + 1);
    return jobj_end(&o, call->a);
}

/* What the streaming mocks share.  false: the result already fails. */
static bool stream_open(struct stream *s, const char *model, const char *finish, size_t tokens) {
    s->out->continues = true; /* after the first call->chunks_done */
    s->model = str_c(model);
    s->finish_reason = str_c(finish);
    s->delay_ms = 0;
    s->usage = json_get(s->config, "usage");
    bool ok = opt_string(s, "model", &s->model) && opt_string(s, "finishReason", &s->finish_reason);
    ok = ok && finish_known(s->finish_reason);
    ok = ok && opt_int(s, "delayMsPerToken", AI_DELAY_MS_MAX, &s->delay_ms);
    if (s->usage.n == 0) s->usage = usage_counted(s->call, (int64_t)tokens);
    else ok = ok && json_type_of(s->usage) == JSON_OBJECT;
    if (!ok) node_invalid(s->out, "the configuration of the mock provider is not valid");
    return ok;
}

/* One output.chunk; tool: a tool call of it, or empty. */
static bool chunk_emit(struct stream *s, struct str text, bool last, struct str tool) {
    struct node_effect *x = node_effect_add(s->call, s->out, EFFECT_CHUNK);
    struct jobj o;
    if (!x) return false;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    if (last) jw_kstr(&o.w, "finishReason", s->finish_reason);
    if (tool.n > 0) {
        jw_key(&o.w, "toolCalls");
        jw_array(&o.w);
        jw_raw(&o.w, tool);
        jw_end_array(&o.w);
    }
    if (last) jw_kraw(&o.w, "usage", s->usage);
    jw_kstr(&o.w, "model", s->model);
    x->value = text;
    x->is_last = last ? 1 : -1;
    x->extra = jobj_end(&o, s->call->a);
    return x->extra.p != NULL;
}

/* One piece now and the rest after the delay, or many at once without one. */
static bool stream_pauses(struct stream *s, size_t sent, size_t left) {
    if (left == 0 || (s->delay_ms == 0 && sent < AI_CHUNKS_PER_CALL)) return false;
    s->out->outcome = NODE_OUT_WAIT;
    s->out->wait_ms = s->delay_ms;
    return true;
}

/* --- stream-text --- */

static bool tokens_of(struct stream *s, struct json_elements *out) {
    struct str raw = json_get(s->config, "tokens");
    if (raw.n == 0) raw = STR("[\"mock\",\" response\"]");
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, s->call->a, out, NULL) != 0)
        return false;
    for (size_t i = 0; i < out->n; i++)
        if (json_type_of(out->v[i]) != JSON_STRING) return false;
    return true;
}

static struct str text_output(const struct node_call *call, const struct json_elements *tokens) {
    struct buf text;
    struct jobj o;
    buf_init(&text, JSON_LIMITS_STORED.bytes_max);
    for (size_t i = 0; i < tokens->n; i++) buf_adds(&text, json_string(tokens->v[i], call->a));
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kstr(&o.w, "text", buf_str(&text));
    if (buf_failed(&text)) jobj_fail(&o);
    buf_fini(&text);
    return jobj_end(&o, call->a);
}

static void mock_stream_text(struct stream *s) {
    struct json_elements tokens;
    if (!tokens_of(s, &tokens)) {
        node_invalid(s->out, "tokens of the mock provider is not an array of strings");
        return;
    }
    if (!stream_open(s, "mock-stream-text-v1", "stop", tokens.n)) return;
    size_t first = (size_t)s->call->chunks_done;
    for (size_t i = first; i < tokens.n; i++) {
        if (!chunk_emit(s, json_string(tokens.v[i], s->call->a), i + 1 == tokens.n, STR_NONE)) {
            node_no_memory(s->out);
            return;
        }
        if (stream_pauses(s, i + 1 - first, tokens.n - i - 1)) return;
    }
    if (tokens.n == 0 && first == 0 && !chunk_emit(s, STR(""), true, STR_NONE)) {
        node_no_memory(s->out);
        return;
    }
    s->out->outcome = NODE_OUT_DONE;
    s->out->outputs = text_output(s->call, &tokens);
    if (!s->out->outputs.p) node_no_memory(s->out);
}

/* --- tool-calls --- */

/* {"id","name","arguments"}: arguments is text in a chunk, whatever the configuration holds. */
static struct str tool_call(const struct node_call *call, struct str raw) {
    struct str args = json_get(raw, "arguments"), id = json_get(raw, "id"),
               name = json_get(raw, "name");
    struct jobj o;
    bool ok = id.n > 0 && json_type_of(id) == JSON_STRING && name.n > 0 &&
              json_type_of(name) == JSON_STRING;
    if (!ok) return STR_NONE;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kraw(&o.w, "id", id);
    jw_kraw(&o.w, "name", name);
    if (args.n > 0 && json_type_of(args) == JSON_STRING) jw_kraw(&o.w, "arguments", args);
    else jw_kstr(&o.w, "arguments", args.n > 0 ? args : STR("{}"));
    return jobj_end(&o, call->a);
}

static struct str tool_output(const struct node_call *call, const struct str *v, size_t n) {
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kstrz(&o.w, "text", "");
    jw_key(&o.w, "toolCalls");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++) jw_raw(&o.w, v[i]);
    jw_end_array(&o.w);
    return jobj_end(&o, call->a);
}

static void mock_tool_calls(struct stream *s) {
    struct json_elements list;
    struct str raw = json_get(s->config, "toolCalls");
    if (raw.n == 0) raw = STR("[{\"id\":\"call_1\",\"name\":\"mock_tool\",\"arguments\":\"{}\"}]");
    bool ok = json_type_of(raw) == JSON_ARRAY && json_elements(raw, s->call->a, &list, NULL) == 0;
    struct str *calls = ok ? ARENA_ARRAY(s->call->a, struct str, list.n) : NULL;
    for (size_t i = 0; calls && ok && i < list.n; i++) {
        calls[i] = tool_call(s->call, list.v[i]);
        ok = calls[i].n > 0;
    }
    if (!ok || !calls || list.n == 0) {
        node_invalid(s->out,
                     "toolCalls of the mock provider is not an array of {id, name, arguments}");
        return;
    }
    if (!stream_open(s, "mock-tool-calls-v1", "tool_calls", list.n)) return;
    size_t first = (size_t)s->call->chunks_done;
    for (size_t i = first; i < list.n; i++) {
        if (!chunk_emit(s, STR(""), i + 1 == list.n, calls[i])) {
            node_no_memory(s->out);
            return;
        }
        if (stream_pauses(s, i + 1 - first, list.n - i - 1)) return;
    }
    s->out->outcome = NODE_OUT_DONE;
    s->out->outputs = tool_output(s->call, calls, list.n);
    if (!s->out->outputs.p) node_no_memory(s->out);
}

/* --- error, usage-only --- */

static void mock_error(struct stream *s) {
    struct str code = STR("mock_error"), message = STR("the mock provider failed as configured");
    struct str raw = json_get(s->config, "retryable");
    bool retryable = false;
    int64_t after_ms = 0;
    bool ok = opt_string(s, "code", &code) && opt_string(s, "message", &message) &&
              opt_int(s, "failAfterMs", AI_FAIL_MS_MAX, &after_ms) &&
              (raw.n == 0 || json_bool(raw, &retryable));
    if (!ok || code.n == 0) {
        node_invalid(s->out, "the configuration of the mock provider is not valid");
        return;
    }
    if (after_ms > 0 && !s->call->waited) {
        s->out->outcome = NODE_OUT_WAIT;
        s->out->wait_ms = after_ms;
        return;
    }
    s->out->outcome = NODE_OUT_FAIL;
    s->out->error_code = code;
    s->out->error_message = message;
    s->out->retryable = retryable;
}

static void mock_usage_only(struct stream *s) {
    if (!stream_open(s, "mock-usage-only-v1", "stop", 0)) return;
    struct node_effect *x = node_effect_add(s->call, s->out, EFFECT_CHUNK);
    struct str meta = jobj_of(s->call->a, "usage", s->usage);
    if (!x || !meta.p) {
        node_no_memory(s->out);
        return;
    }
    x->extra = meta;
    x->is_last = 1;
    s->out->outcome = NODE_OUT_DONE;
    s->out->outputs = STR("{\"text\":\"\"}");
}

static void (*const MOCKS[])(struct stream *s) = {
    [MOCK_STREAM_TEXT] = mock_stream_text,
    [MOCK_TOOL_CALLS] = mock_tool_calls,
    [MOCK_ERROR] = mock_error,
    [MOCK_USAGE_ONLY] = mock_usage_only,
};

void exec_call_prompt(const struct node_call *call, struct node_result *out) {
    const struct run_options *o = &call->run->options;
    struct stream s = {.call = call, .out = out};
    s.config = o->mock_config.n > 0 ? o->mock_config : STR("{}");
    if (o->mock == MOCK_NONE && mcp_asked(call)) {
        exec_mcp(call, out);
        return;
    }
    if ((size_t)o->mock < sizeof MOCKS / sizeof MOCKS[0] && MOCKS[o->mock]) MOCKS[o->mock](&s);
    else ai_call(call, out);
}
