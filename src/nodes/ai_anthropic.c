/*
 * ai_anthropic.c: the wire style of the messages endpoint.  Texts of the system are a member of
 * their own, results of tools are parts of a user's message, and max_tokens is required.
 */
#include "nodes/ai.h"

#define MAX_TOKENS 4096

static void part_text(struct str text, struct jw *w) {
    jw_object(w);
    jw_kstrz(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_end_object(w);
}

static void system_write(const struct ai_prompt *p, struct jw *w) {
    size_t n = 0;
    while (n < p->messages_nr && p->messages[n].role == AI_SYSTEM) n++;
    if (n == 0) return;
    jw_key(w, "system");
    jw_array(w);
    for (size_t i = 0; i < n; i++) part_text(p->messages[i].content, w);
    jw_end_array(w);
}

static void assistant_write(const struct ai_message *m, struct jw *w) {
    jw_kstrz(w, "role", "assistant");
    jw_key(w, "content");
    jw_array(w);
    if (m->content.n > 0) part_text(m->content, w);
    for (size_t i = 0; i < m->calls_nr; i++) {
        jw_object(w);
        jw_kstrz(w, "type", "tool_use");
        jw_kstr(w, "id", m->calls[i].id);
        jw_kstr(w, "name", m->calls[i].name);
        jw_kraw(w, "input", m->calls[i].arguments); /* an object: ai_prompt.c has looked */
        jw_end_object(w);
    }
    jw_end_array(w);
}

/* Results of tools that follow each other are one message.  Returns how many were written. */
static size_t results_write(const struct ai_prompt *p, size_t i, struct jw *w) {
    size_t from = i;
    jw_kstrz(w, "role", "user");
    jw_key(w, "content");
    jw_array(w);
    for (; i < p->messages_nr && p->messages[i].role == AI_TOOL; i++) {
        jw_object(w);
        jw_kstrz(w, "type", "tool_result");
        jw_kstr(w, "tool_use_id", p->messages[i].call_id);
        jw_kstr(w, "content", p->messages[i].content);
        jw_end_object(w);
    }
    jw_end_array(w);
    return i - from;
}

static void messages_write(const struct ai_prompt *p, struct jw *w) {
    size_t i = 0;
    while (i < p->messages_nr && p->messages[i].role == AI_SYSTEM) i++;
    jw_key(w, "messages");
    jw_array(w);
    while (i < p->messages_nr) {
        const struct ai_message *m = &p->messages[i];
        size_t n = 1;
        jw_object(w);
        if (m->role == AI_ASSISTANT) {
            assistant_write(m, w);
        } else if (m->role == AI_TOOL) {
            n = results_write(p, i, w);
        } else {
            jw_kstrz(w, "role", "user");
            jw_kstr(w, "content", m->content);
        }
        jw_end_object(w);
        i += n;
    }
    jw_end_array(w);
}

static void choice_write(const struct ai_prompt *p, struct jw *w) {
    if (p->tool_choice.n == 0) return;
    jw_key(w, "tool_choice");
    jw_object(w);
    if (p->tool_choice_named) jw_kstrz(w, "type", "tool");
    else if (str_eqc(p->tool_choice, "required")) jw_kstrz(w, "type", "any");
    else jw_kstr(w, "type", p->tool_choice);
    if (p->tool_choice_named) jw_kstr(w, "name", p->tool_choice);
    jw_end_object(w);
}

static void tools_write(const struct ai_prompt *p, struct jw *w) {
    if (p->tools_nr == 0) return;
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; i < p->tools_nr; i++) {
        jw_object(w);
        jw_kstr(w, "name", p->tools[i].name);
        jw_kstr_opt(w, "description", p->tools[i].description);
        jw_kraw(w, "input_schema",
                p->tools[i].parameters.n > 0 ? p->tools[i].parameters
                                             : STR("{\"type\":\"object\"}"));
        jw_end_object(w);
    }
    jw_end_array(w);
    choice_write(p, w);
}

static void anthropic_body(const struct ai_prompt *p, struct arena *a, struct jw *w) {
    (void)a;
    jw_object(w);
    jw_kstr(w, "model", p->model);
    jw_kint(w, "max_tokens", p->max_tokens > 0 ? p->max_tokens : MAX_TOKENS);
    system_write(p, w);
    messages_write(p, w);
    tools_write(p, w);
    jw_kraw_opt(w, "temperature", p->temperature);
    jw_kraw_opt(w, "top_p", p->top_p);
    jw_kraw_opt(w, "stop_sequences", p->stop);
    if (p->stream) jw_kbool(w, "stream", true);
    jw_end_object(w);
}

static enum ai_finish finish_of(struct str reason, size_t calls) {
    if (str_eqc(reason, "max_tokens") || str_eqc(reason, "model_context_window_exceeded"))
        return AI_LENGTH;
    if (str_eqc(reason, "refusal")) return AI_FILTERED;
    if (str_eqc(reason, "tool_use")) return AI_TOOL_CALLS;
    return calls > 0 ? AI_TOOL_CALLS : AI_STOP;
}

/* Of an answer, or of an event: the counts of a stream come in parts, and the later ones hold. */
static void usage_read(struct str raw, struct ai_usage *u) {
    struct ai_usage said = {.input = -1, .output = -1};
    if (raw.n == 0 || json_type_of(raw) == JSON_NULL) return;
    bool ok = json_type_of(raw) == JSON_OBJECT && ai_count(raw, "input_tokens", &said.input) &&
              ai_count(raw, "output_tokens", &said.output) &&
              ai_count(raw, "cache_read_input_tokens", &said.cache_read) &&
              ai_count(raw, "cache_creation_input_tokens", &said.cache_write);
    if (said.input >= 0) said.input += said.cache_read + said.cache_write;
    ai_usage_take(u, ok, &said);
}

static const char *part_read(struct str part, struct arena *a, struct buf *text,
                             struct ai_answer *out) {
    struct str type, s;
    if (!ai_text(json_get(part, "type"), a, &type)) return "content has a part without a type";
    if (str_eqc(type, "text")) {
        if (!ai_text(json_get(part, "text"), a, &s)) return "content has a text that is no string";
        buf_adds(text, s);
    } else if (str_eqc(type, "tool_use")) {
        struct ai_tool_call *c = &out->calls[out->calls_nr];
        struct str input = json_get(part, "input");
        if (out->calls_nr == AI_TOOL_CALLS_MAX) return "content has too many tool calls";
        out->calls_nr++;
        if (!ai_text(json_get(part, "id"), a, &c->id) ||
            !ai_text(json_get(part, "name"), a, &c->name) || c->name.n == 0)
            return "content has a tool call without id and name";
        c->arguments = input.n > 0 ? input : STR("{}");
    }
    return NULL; /* other parts (thinking and what will come) are not for the caller */
}

static const char *anthropic_read(struct str body, struct arena *a, struct ai_answer *out) {
    struct json_elements l = {0};
    struct buf text;
    struct str content = json_get(body, "content"), reason;
    const char *why = NULL;
    if (content.n == 0 || json_type_of(content) != JSON_ARRAY ||
        json_elements(content, a, &l, NULL) != 0)
        return "it has no content";
    if (!ai_text(json_get(body, "stop_reason"), a, &reason)) return "stop_reason is not text";
    if (!ai_text(json_get(body, "model"), a, &out->model)) return "model is not text";
    buf_init(&text, NODE_ANSWER_MAX);
    for (size_t i = 0; !why && i < l.n; i++) why = part_read(l.v[i], a, &text, out);
    out->text = arena_str(a, buf_str(&text)); /* without memory: the arena remembers */
    buf_fini(&text);
    out->finish = finish_of(reason, out->calls_nr);
    usage_read(json_get(body, "usage"), &out->usage);
    return why;
}

/* --- streams --- */

static const char *block_event(struct ai_stream *s, struct str type, struct str data,
                               struct arena *a) {
    struct str block = json_get(data, "content_block"), delta = json_get(data, "delta"), kind, text,
               name;
    int64_t index = -1;
    if (!json_int(json_get(data, "index"), &index)) return "an event of a block has no index";
    bool start = str_eqc(type, "content_block_start");
    if (!ai_text(json_get(start ? block : delta, "type"), a, &kind))
        return "an event of a block has no type";
    if (str_eqc(kind, "tool_use")) {
        if (!ai_text(json_get(block, "id"), a, &text) ||
            !ai_text(json_get(block, "name"), a, &name))
            return "a tool_use without id and name";
        (void)ai_stream_call(s, index, text, name, STR_NONE);
    } else if (str_eqc(kind, "input_json_delta")) {
        if (!ai_text(json_get(delta, "partial_json"), a, &text)) return "partial_json is not text";
        (void)ai_stream_call(s, index, STR_NONE, STR_NONE, text);
    } else if (str_eqc(kind, "text") || str_eqc(kind, "text_delta")) {
        if (!ai_text(json_get(start ? block : delta, "text"), a, &text)) return "text is not text";
        (void)ai_stream_text(s, text);
    }
    return NULL; /* thinking and what will come */
}

static const char *anthropic_event(struct ai_stream *s, struct str data, struct arena *a) {
    struct str type, text, m = json_get(data, "message");
    if (!ai_text(json_get(data, "type"), a, &type)) return "an event has no type";
    if (str_starts(type, STR("content_block_")) && !str_eqc(type, "content_block_stop"))
        return block_event(s, type, data, a);
    if (str_eqc(type, "error")) {
        ai_stream_wrong(s, "ai_provider_unavailable",
                        json_string(json_get(json_get(data, "error"), "message"), a));
    } else if (str_eqc(type, "message_start")) {
        if (ai_text(json_get(m, "model"), a, &text)) ai_stream_model(s, text);
        usage_read(json_get(m, "usage"), ai_stream_usage(s));
    } else if (str_eqc(type, "message_delta")) {
        usage_read(json_get(data, "usage"), ai_stream_usage(s));
        if (!ai_text(json_get(json_get(data, "delta"), "stop_reason"), a, &text))
            return "stop_reason is not text";
        if (text.n > 0) ai_stream_finish(s, finish_of(text, 0));
    } else if (str_eqc(type, "message_stop")) {
        ai_stream_whole(s);
    }
    return NULL;
}

const struct ai_style AI_ANTHROPIC = {.name = "anthropic",
                                      .path = "/messages",
                                      .key_header = "x-api-key",
                                      .key_prefix = "",
                                      .extra_header = "anthropic-version",
                                      .extra_value = "2023-06-01",
                                      .provider_key = "ai:anthropic",
                                      .body = anthropic_body,
                                      .read = anthropic_read,
                                      .event = anthropic_event,
                                      .stream = &AI_ANTHROPIC_STREAM};
