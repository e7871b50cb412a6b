/*
 * ai_openai.c: the wire style of chat completions, as OpenAI and those compatible with it speak it.
 */
#include "nodes/ai.h"

static void calls_write(const struct ai_message *m, struct jw *w) {
    if (m->calls_nr == 0) return;
    jw_key(w, "tool_calls");
    jw_array(w);
    for (size_t i = 0; i < m->calls_nr; i++) {
        jw_object(w);
        jw_kstr(w, "id", m->calls[i].id);
        jw_kstrz(w, "type", "function");
        jw_key(w, "function");
        jw_object(w);
        jw_kstr(w, "name", m->calls[i].name);
        jw_kstr(w, "arguments", m->calls[i].arguments);
        jw_end_object(w);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void messages_write(const struct ai_prompt *p, struct jw *w) {
    static const char *const ROLES[] = {"system", "user", "assistant", "tool"};
    jw_key(w, "messages");
    jw_array(w);
    for (size_t i = 0; i < p->messages_nr; i++) {
        const struct ai_message *m = &p->messages[i];
        jw_object(w);
        jw_kstrz(w, "role", ROLES[m->role]);
        if (m->role == AI_TOOL) jw_kstr(w, "tool_call_id", m->call_id);
        jw_key(w, "content");
        if (m->content.n == 0 && m->calls_nr > 0) jw_null(w);
        else jw_str(w, m->content);
        calls_write(m, w);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void tools_write(const struct ai_prompt *p, struct jw *w) {
    if (p->tools_nr == 0) return;
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; i < p->tools_nr; i++) {
        jw_object(w);
        jw_kstrz(w, "type", "function");
        jw_key(w, "function");
        jw_object(w);
        jw_kstr(w, "name", p->tools[i].name);
        jw_kstr_opt(w, "description", p->tools[i].description);
        jw_kraw_opt(w, "parameters", p->tools[i].parameters);
        jw_end_object(w);
        jw_end_object(w);
    }
    jw_end_array(w);
    if (p->tool_choice.n == 0) return;
    jw_key(w, "tool_choice");
    if (!p->tool_choice_named) {
        jw_str(w, p->tool_choice);
        return;
    }
    jw_object(w);
    jw_kstrz(w, "type", "function");
    jw_key(w, "function");
    jw_object(w);
    jw_kstr(w, "name", p->tool_choice);
    jw_end_object(w);
    jw_end_object(w);
}

static void openai_body(const struct ai_prompt *p, struct arena *a, struct jw *w) {
    (void)a;
    jw_object(w);
    jw_kstr(w, "model", p->model);
    messages_write(p, w);
    tools_write(p, w);
    if (p->max_tokens > 0) {
        struct str member = p->provider->max_tokens_member;
        jw_key_str(w, member.n > 0 ? member : STR("max_tokens"));
        jw_int(w, p->max_tokens);
    }
    jw_kraw_opt(w, "temperature", p->temperature);
    jw_kraw_opt(w, "top_p", p->top_p);
    jw_kraw_opt(w, "stop", p->stop);
    if (p->stream) {
        jw_kbool(w, "stream", true);
        jw_kraw(w, "stream_options", STR("{\"include_usage\":true}"));
    }
    jw_end_object(w);
}

static enum ai_finish finish_of(struct str reason, size_t calls) {
    if (str_eqc(reason, "length")) return AI_LENGTH;
    if (str_eqc(reason, "content_filter")) return AI_FILTERED;
    if (str_eqc(reason, "tool_calls") || str_eqc(reason, "function_call")) return AI_TOOL_CALLS;
    return calls > 0 ? AI_TOOL_CALLS : AI_STOP;
}

static void usage_read(struct str raw, struct ai_usage *u) {
    struct ai_usage said = {.input = -1, .output = -1};
    if (raw.n == 0 || json_type_of(raw) == JSON_NULL) return;
    bool ok = json_type_of(raw) == JSON_OBJECT && ai_count(raw, "prompt_tokens", &said.input) &&
              ai_count(raw, "completion_tokens", &said.output) &&
              ai_count(json_get(raw, "prompt_tokens_details"), "cached_tokens", &said.cache_read);
    ai_usage_take(u, ok, &said);
}

static const char *calls_read(struct str raw, struct arena *a, struct ai_answer *out) {
    struct json_elements l;
    if (raw.n == 0 || json_type_of(raw) == JSON_NULL) return NULL;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, a, &l, NULL) != 0)
        return "choices[0].message.tool_calls is not a list";
    if (l.n > AI_TOOL_CALLS_MAX) return "choices[0].message.tool_calls is too long";
    for (size_t i = 0; i < l.n; i++) {
        struct ai_tool_call *c = &out->calls[out->calls_nr++];
        struct str f = json_get(l.v[i], "function");
        if (!ai_text(json_get(l.v[i], "id"), a, &c->id) ||
            !ai_text(json_get(f, "name"), a, &c->name) || c->name.n == 0 ||
            !ai_text(json_get(f, "arguments"), a, &c->arguments))
            return "choices[0].message.tool_calls has one without id, name and arguments";
    }
    return NULL;
}

static const char *openai_read(struct str body, struct arena *a, struct ai_answer *out) {
    struct json_elements l = {0};
    struct str choices = json_get(body, "choices"), reason, refusal;
    if (choices.n == 0 || json_type_of(choices) != JSON_ARRAY ||
        json_elements(choices, a, &l, NULL) != 0 || l.n == 0)
        return "it has no choices";
    struct str m = json_get(l.v[0], "message");
    if (!ai_text(json_get(m, "content"), a, &out->text))
        return "choices[0].message.content is not text";
    if (!ai_text(json_get(l.v[0], "finish_reason"), a, &reason))
        return "choices[0].finish_reason is not text";
    if (!ai_text(json_get(body, "model"), a, &out->model)) return "model is not text";
    const char *why = calls_read(json_get(m, "tool_calls"), a, out);
    out->finish = finish_of(reason, out->calls_nr);
    if (out->text.n == 0 && ai_text(json_get(m, "refusal"), a, &refusal) && refusal.n > 0) {
        out->text = refusal;
        out->finish = AI_FILTERED;
    }
    usage_read(json_get(body, "usage"), &out->usage);
    return why;
}

/* --- streams --- */

static const char *delta_calls(struct ai_stream *s, struct str raw, struct arena *a) {
    struct json_elements l;
    if (raw.n == 0 || json_type_of(raw) == JSON_NULL) return NULL;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, a, &l, NULL) != 0)
        return "delta.tool_calls is not a list";
    for (size_t i = 0; i < l.n; i++) {
        struct str f = json_get(l.v[i], "function"), id, name, arguments;
        int64_t index = (int64_t)i;
        (void)json_int(json_get(l.v[i], "index"), &index);
        if (!ai_text(json_get(l.v[i], "id"), a, &id) || !ai_text(json_get(f, "name"), a, &name) ||
            !ai_text(json_get(f, "arguments"), a, &arguments))
            return "delta.tool_calls has a member that is no text";
        if (!ai_stream_call(s, index, id, name, arguments)) return NULL;
    }
    return NULL;
}

static const char *openai_event(struct ai_stream *s, struct str data, struct arena *a) {
    struct json_elements l = {0};
    struct str error = json_get(data, "error"), choices = json_get(data, "choices"), text, reason;
    if (error.n > 0 && json_type_of(error) != JSON_NULL) {
        ai_stream_wrong(s, "ai_provider_unavailable", json_string(json_get(error, "message"), a));
        return NULL;
    }
    if (ai_text(json_get(data, "model"), a, &text)) ai_stream_model(s, text);
    usage_read(json_get(data, "usage"), ai_stream_usage(s));
    if (choices.n == 0) return NULL; /* of a kind that will come */
    if (json_type_of(choices) != JSON_ARRAY || json_elements(choices, a, &l, NULL) != 0)
        return "choices is not a list";
    if (l.n == 0) return NULL;
    struct str delta = json_get(l.v[0], "delta");
    if (!ai_text(json_get(delta, "content"), a, &text)) return "delta.content is not text";
    if (!ai_stream_text(s, text)) return NULL;
    if (!ai_text(json_get(l.v[0], "finish_reason"), a, &reason)) return "finish_reason is not text";
    if (reason.n > 0) ai_stream_finish(s, finish_of(reason, 0));
    return delta_calls(s, json_get(delta, "tool_calls"), a);
}

const struct ai_style AI_OPENAI = {.name = "openai",
                                   .path = "/chat/completions",
                                   .key_header = "Authorization",
                                   .key_prefix = "Bearer ",
                                   .provider_key = "ai:openai",
                                   .body = openai_body,
                                   .read = openai_read,
                                   .event = openai_event,
                                   .end_mark = "[DONE]",
                                   .stream = &AI_OPENAI_STREAM};
