/*
 * ai_stream.c: an answer of a model while it comes (WHATWG event streams).  Text is passed on at
 * once; at the end the whole answer is one JSON object, the recorded form, the same for each style.
 * On the thread of the way out: bounded in bytes, nothing waits.  An answer that is no event stream
 * (an error, or a server that does not stream) is kept as it is.
 */
#include "base/mem.h"
#include "codec/echo.h"
#include "codec/sse_reader.h"
#include "nodes/ai.h"

#define EVENT_MAX   (512u * 1024)
#define EVENT_ARENA (2u * 1024 * 1024)
#define MESSAGE_MAX 400u
#define STATUS_OK   200

enum stream_form { FORM_UNKNOWN, FORM_PLAIN, FORM_EVENTS };
struct stream_call { /* a tool call in the making */
    int64_t index;
    struct buf id, name, arguments;
};
struct ai_stream {
    const struct ai_style *style;
    struct sse_reader events;
    struct arena *a; /* of one event */
    enum stream_form form;
    struct str secret; /* borrowed; empty: none */
    struct buf plain, text, model;
    struct buf held; /* the end of the text: the secret may begin there */
    struct buf *out; /* of the piece at hand: where text goes on to */
    struct stream_call calls[AI_TOOL_CALLS_MAX];
    size_t calls_nr, bytes;
    enum ai_finish finish;
    struct ai_usage usage;
    bool finished, whole;
    const char *code; /* not NULL: what came is no answer */
    char message[MESSAGE_MAX + 1];
};

void ai_stream_wrong(struct ai_stream *s, const char *code, struct str message) {
    struct buf clean; /* masked before it is cut: what is left of a secret is no longer found */
    if (s->code) return;
    buf_init(&clean, 2 * EVENT_MAX);
    echo_mask(message, s->secret, true, &clean);
    message = buf_failed(&clean) ? STR("") : buf_str(&clean);
    size_t n = message.n < MESSAGE_MAX ? message.n : MESSAGE_MAX;
    while (n > 0 && n < message.n && ((unsigned char)message.p[n] & 0xc0) == 0x80) n--;
    s->code = code;
    if (n > 0) memcpy(s->message, message.p, n);
    s->message[n] = '\0';
    buf_fini(&clean);
}

static bool bytes_take(struct ai_stream *s, size_t n) {
    if (s->code) return false;
    s->bytes += n;
    if (s->bytes > AI_TEXT_MAX)
        ai_stream_wrong(s, "ai_response_invalid", STR("it is longer than 384 KiB"));
    return s->code == NULL;
}

static void text_pass(struct ai_stream *s, struct str text) {
    buf_adds(&s->text, text);
    if (s->out) buf_adds(s->out, text);
}

/* What a provider repeats of the credential is masked, however its stream cuts it (OBS-75). */
static void text_release(struct ai_stream *s, bool all) {
    size_t had = s->text.len;
    size_t keep = echo_mask(buf_str(&s->held), s->secret, all, &s->text);
    if (s->out && s->text.len > had) buf_add(s->out, s->text.p + had, s->text.len - had);
    if (keep > 0) memmove(s->held.p, s->held.p + s->held.len - keep, keep);
    s->held.len = keep;
}

bool ai_stream_text(struct ai_stream *s, struct str text) {
    if (!bytes_take(s, text.n)) return false;
    if (s->secret.n == 0) {
        text_pass(s, text);
        return true;
    }
    buf_adds(&s->held, text);
    if (buf_failed(&s->held))
        ai_stream_wrong(s, "ai_response_invalid", STR("no memory for its text"));
    else text_release(s, false);
    return s->code == NULL;
}

bool ai_stream_call(struct ai_stream *s, int64_t index, struct str id, struct str name,
                    struct str arguments) {
    size_t i = 0;
    while (i < s->calls_nr && s->calls[i].index != index) i++;
    if (i == AI_TOOL_CALLS_MAX) {
        ai_stream_wrong(s, "ai_response_invalid", STR("it has too many tool calls"));
        return false;
    }
    if (!bytes_take(s, id.n + name.n + arguments.n)) return false;
    struct stream_call *c = &s->calls[i];
    if (i == s->calls_nr) {
        s->calls_nr++;
        c->index = index;
        buf_init(&c->id, AI_TEXT_MAX);
        buf_init(&c->name, AI_TEXT_MAX);
        buf_init(&c->arguments, AI_TEXT_MAX);
    }
    buf_adds(&c->id, id);
    buf_adds(&c->name, name);
    buf_adds(&c->arguments, arguments);
    return true;
}

void ai_stream_model(struct ai_stream *s, struct str model) {
    if (model.n == 0 || model.n > AI_NAME_MAX) return;
    buf_reset(&s->model);
    buf_adds(&s->model, model);
}

void ai_stream_finish(struct ai_stream *s, enum ai_finish f) {
    s->finish = f;
    s->finished = true;
}

struct ai_usage *ai_stream_usage(struct ai_stream *s) {
    return &s->usage;
}
void ai_stream_whole(struct ai_stream *s) { s->whole = true; }

/* --- bytes in --- */

static void *stream_open(const struct ai_style *style, struct str secret) {
    struct ai_stream *s = MEM_NEW(struct ai_stream);
    if (!s) return NULL;
    s->style = style;
    s->secret = secret;
    s->a = arena_new(EVENT_ARENA);
    sse_reader_init(&s->events, EVENT_MAX);
    buf_init(&s->plain, NODE_ANSWER_MAX);
    buf_init(&s->text, 2 * AI_TEXT_MAX); /* a mask may be longer than what it masks */
    buf_init(&s->held, 2 * AI_TEXT_MAX);
    buf_init(&s->model, AI_NAME_MAX + 1);
    if (s->a) return s;
    mem_free(s);
    return NULL;
}

static void *openai_open(struct str secret) { return stream_open(&AI_OPENAI, secret); }
static void *anthropic_open(struct str secret) { return stream_open(&AI_ANTHROPIC, secret); }

static void stream_free(void *ctx) {
    struct ai_stream *s = ctx;
    for (size_t i = 0; i < s->calls_nr; i++) {
        buf_fini(&s->calls[i].id);
        buf_fini(&s->calls[i].name);
        buf_fini(&s->calls[i].arguments);
    }
    sse_reader_fini(&s->events);
    buf_fini(&s->plain);
    buf_fini(&s->text);
    if (s->held.p) mem_wipe(s->held.p, s->held.len);
    buf_fini(&s->held);
    buf_fini(&s->model);
    arena_free(s->a);
    mem_free(s);
}

static void event_take(struct ai_stream *s, struct str data) {
    const char *why = "an event is no JSON object";
    if (s->style->end_mark && str_eqc(str_trim(data), s->style->end_mark)) {
        s->whole = true;
        return;
    }
    arena_reset(s->a);
    if (json_check(data, &JSON_LIMITS_DEFAULT, NULL) == 0 && json_type_of(data) == JSON_OBJECT)
        why = s->style->event(s, data, s->a);
    if (arena_failed(s->a)) ai_stream_wrong(s, "ai_response_invalid", STR("an event is too large"));
    if (why) ai_stream_wrong(s, "ai_response_invalid", str_c(why));
}

static bool ai_stream_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* No event stream begins with these, and every JSON text or page does. */
static enum stream_form form_of(int status, struct str bytes) {
    if (status != STATUS_OK) return FORM_PLAIN;
    for (size_t i = 0; i < bytes.n; i++)
        if (!ai_stream_space(bytes.p[i]))
            return bytes.p[i] == '{' || bytes.p[i] == '[' || bytes.p[i] == '<' ? FORM_PLAIN
                                                                               : FORM_EVENTS;
    return FORM_UNKNOWN;
}

static int stream_take(void *ctx, int status, struct str bytes, struct buf *text) {
    struct ai_stream *s = ctx;
    struct sse_event e;
    int rc = 0;
    s->out = text;
    if (s->form != FORM_EVENTS) { /* blanks at the beginning may be of either form */
        buf_adds(&s->plain, bytes);
        if (buf_failed(&s->plain))
            ai_stream_wrong(s, "response_too_large", STR("it is longer than 512 KiB"));
        if (s->code) return -1;
        if (s->form == FORM_UNKNOWN) s->form = form_of(status, bytes);
        if (s->form != FORM_EVENTS) return 0;
        bytes = buf_str(&s->plain); /* whole, this piece at its end; not used again */
    }
    while (!s->code && !s->whole && (rc = sse_reader_next(&s->events, &bytes, &e)) == 1)
        if (e.data.n > 0) event_take(s, e.data);
    if (rc < 0) ai_stream_wrong(s, "ai_response_invalid", STR("an event is too large"));
    if (!s->code && s->whole && s->secret.n > 0) text_release(s, true);
    return s->code ? -1 : s->whole;
}

/* --- the whole --- */

static bool calls_record(struct ai_stream *s, struct jw *w) {
    bool ok = true;
    jw_key(w, "toolCalls");
    jw_array(w);
    for (size_t i = 0; i < s->calls_nr; i++) {
        struct stream_call *c = &s->calls[i];
        if (c->arguments.len == 0) buf_addz(&c->arguments, "{}");
        ok = ok && c->name.len > 0 && !buf_failed(&c->id) && !buf_failed(&c->name) &&
             !buf_failed(&c->arguments);
        jw_object(w);
        jw_kstr(w, "id", buf_str(&c->id));
        jw_kstr(w, "name", buf_str(&c->name));
        jw_kstr(w, "arguments", buf_str(&c->arguments));
        jw_end_object(w);
    }
    jw_end_array(w);
    return ok;
}

static void answer_record(struct ai_stream *s, struct buf *body) {
    struct jw w;
    jw_init(&w, body);
    jw_object(&w);
    jw_kint(&w, "recorded", 1);
    jw_kstr(&w, "text", buf_str(&s->text));
    bool ok = calls_record(s, &w) && !buf_failed(&s->text);
    if (!ok) ai_stream_wrong(s, "ai_response_invalid", STR("a tool call has no name"));
    if (s->calls_nr > 0 && s->finish == AI_STOP) s->finish = AI_TOOL_CALLS;
    jw_kint(&w, "finish", (int64_t)s->finish);
    jw_kstr(&w, "model", buf_str(&s->model));
    if (s->usage.known) {
        jw_kint(&w, "input", s->usage.input);
        jw_kint(&w, "output", s->usage.output);
        jw_kint(&w, "cacheRead", s->usage.cache_read);
        jw_kint(&w, "cacheWrite", s->usage.cache_write);
    }
    jw_end_object(&w);
}

/* What only this host writes. */
static bool plain_forges(struct str plain) {
    return json_check(plain, &JSON_LIMITS_DEFAULT, NULL) == 0 && ai_is_recorded(plain);
}

static bool stream_end(void *ctx, struct buf *body, const char **code, const char **message) {
    struct ai_stream *s = ctx;
    if (!s->code && s->form == FORM_PLAIN && plain_forges(buf_str(&s->plain)))
        ai_stream_wrong(s, "ai_response_invalid", STR("it is no answer of this style"));
    if (!s->code && s->form == FORM_PLAIN) {
        buf_adds(body, buf_str(&s->plain));
        return true;
    }
    if (!s->code && !s->whole && !s->finished)
        ai_stream_wrong(s, "ai_stream_broken", STR("its stream ended before the answer did"));
    s->out = NULL;
    if (!s->code && s->secret.n > 0) text_release(s, true);
    if (!s->code) answer_record(s, body);
    *code = s->code;
    *message = s->message;
    return s->code == NULL;
}

const struct node_stream_ops AI_OPENAI_STREAM = {openai_open, stream_free, stream_take, stream_end};
const struct node_stream_ops AI_ANTHROPIC_STREAM = {anthropic_open, stream_free, stream_take,
                                                    stream_end};

/* --- and back --- */

bool ai_is_recorded(struct str body) {
    int64_t n = 0;
    return json_int(json_get(body, "recorded"), &n) && n == 1;
}

const char *ai_recorded_read(struct str body, struct arena *a, struct ai_answer *out) {
    struct json_elements l = {0};
    struct str calls = json_get(body, "toolCalls");
    struct ai_usage u = {.input = -1, .output = -1};
    int64_t finish = AI_STOP;
    bool counted = ai_count(body, "input", &u.input) && ai_count(body, "output", &u.output) &&
                   ai_count(body, "cacheRead", &u.cache_read) &&
                   ai_count(body, "cacheWrite", &u.cache_write);
    bool ok = json_int(json_get(body, "finish"), &finish) && finish >= 0 &&
              ai_text(json_get(body, "text"), a, &out->text) &&
              ai_text(json_get(body, "model"), a, &out->model) && finish <= AI_FILTERED &&
              json_type_of(calls.n > 0 ? calls : STR("0")) == JSON_ARRAY &&
              json_elements(calls, a, &l, NULL) == 0 && l.n <= AI_TOOL_CALLS_MAX;
    for (size_t i = 0; ok && i < l.n; i++) {
        struct ai_tool_call *c = &out->calls[out->calls_nr++];
        ok = ai_text(json_get(l.v[i], "id"), a, &c->id) &&
             ai_text(json_get(l.v[i], "name"), a, &c->name) &&
             ai_text(json_get(l.v[i], "arguments"), a, &c->arguments);
    }
    out->finish = ok ? (enum ai_finish)finish : AI_STOP;
    ai_usage_take(&out->usage, counted, &u);
    return ok ? NULL : "it was not recorded whole";
}
