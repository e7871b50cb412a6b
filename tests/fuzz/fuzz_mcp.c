/*
 * fuzz_mcp.c: messages of MCP, and batches of them, of any bytes, with any headers.
 *  - an answer is one line, a response of JSON-RPC 2.0 with a result or an error and, when an id
 *    could be read, that id as it was spelled; nothing is answered to what asks nothing;
 *  - the same message twice gives the same answer: nothing is remembered;
 *  - a row is called only by who has its scopes, with arguments that are an object; a parameter of
 *    a resource is not empty, and UTF-8.
 */
#include "base/mem.h"
#include "mcp/server.h"

enum { FUZZ_BYTES_MAX = 1 << 14, ARENA_BYTES = 8 << 20, HEADERS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int echo(struct mcp_call *call) {
    ASSERT(json_type_of(call->arguments) == JSON_OBJECT);
    ASSERT((call->tool->scopes & ~call->who.scopes) == 0);
    if (call->may_ask && json_get(call->input_responses, "q").n == 0)
        return mcp_ask_user(call, STR("{\"q\":{}}"), call->request_state);
    return mcp_answer_text(call, call->wants_text ? STR("text") : STR_NONE, call->arguments);
}

static int thing(struct mcp_call *call) {
    struct str id = mcp_param(call, "id");
    ASSERT(id.n > 0 && utf8_valid(id));
    return str_eqc(id, "none") ? mcp_fail_with(call, "NOT_FOUND", id, MCP_RETRY_NOT, 0, STR_NONE)
                               : mcp_answer_text(call, id, STR_NONE);
}

static const struct mcp_tool TOOLS[] = {
    {"echo", "E", "E.", "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}", NULL,
     1, MCP_READS, echo},
    {"judge", "J", "J.", "{\"type\":\"object\"}", "{\"type\":\"object\"}", 2, MCP_JUDGES, echo},
};
static const struct mcp_resource RESOURCES[] = {
    {"fuzz://things/{id}", "t", "T", "T.", "text/plain", 1, 0, thing},
};
static const struct mcp_prompt PROMPTS[] = {
    {"say", "S", "S.", {{"what", "W.", true}}, "Say {{what}} {{", 1},
};
static const struct mcp_set SET = {TOOLS, 2, RESOURCES, 1, PROMPTS, 1, "I.", NULL};

static struct mcp_server *server(void) {
    static const struct mcp_about ABOUT = {"fuzz", "Fuzz", "1"};
    static struct mcp_server *s;
    struct wopr_error err;
    if (!s && (mcp_server_new(&ABOUT, &s, &err) != 0 || mcp_server_add(s, &SET, &err) != 0))
        ASSERT(!"the rows are good");
    return s;
}

/* Who sends: 1 and 2 are scopes. */
enum { SENDER_WANTS_TEXT = 4, SENDER_IN_BATCH = 8, SENDER_BITS = 7 };

static bool answer(struct str text, const struct mcp_headers *h, unsigned sender, struct arena *a,
                   struct mcp_exchange *x, struct buf *out) {
    static const struct mcp_carrier NOBODY = {NULL};
    const struct mcp_origin from = {.who = {.scopes = sender & SENDER_BITS},
                                    .arena = a,
                                    .carrier = &NOBODY,
                                    .wants_text = (sender & SENDER_WANTS_TEXT) != 0,
                                    .in_batch = (sender & SENDER_IN_BATCH) != 0};
    *x = (struct mcp_exchange){.server = NULL};
    enum mcp_step step = mcp_begin(server(), x, text, h, &from);
    if (step == MCP_NOTHING) return false;
    if (step == MCP_CALL) ASSERT(mcp_run(x) == MCP_DONE);
    mcp_write(x, out);
    return true;
}

static void answer_look(struct str line, const struct mcp_exchange *x) {
    ASSERT(!memchr(line.p, '\n', line.n) && json_check(line, &JSON_LIMITS_STORED, NULL) == 0);
    ASSERT(str_eqc(json_get(line, "jsonrpc"), "\"2.0\""));
    ASSERT((json_get(line, "result").n > 0) != (json_get(line, "error").n > 0));
    struct str id = x->message.id;
    ASSERT(str_eq(json_get(line, "id"), id.n > 0 ? id : STR("null")));
    ASSERT(x->error.code == 0 || json_get(line, "error").n > 0);
}

/* Lines of the input before the message: what the headers say. */
static struct str headers_take(struct str text, struct mcp_headers *h) {
    struct str *const all[HEADERS] = {&h->version, &h->method, &h->name, &h->session};
    for (int i = 0; i < HEADERS; i++) {
        struct str line;
        if (!str_cut(text, '\n', &line, &text)) return text;
        if (line.n > 0) *all[i] = line;
    }
    return text;
}

static void message_look(struct str text, const struct mcp_headers *h, unsigned sender) {
    struct mcp_exchange x, again;
    struct arena *a = arena_new(ARENA_BYTES), *b = arena_new(ARENA_BYTES);
    struct buf one, two;
    buf_init(&one, ARENA_BYTES);
    buf_init(&two, ARENA_BYTES);
    if (a && b) {
        bool answered = answer(text, h, sender, a, &x, &one);
        ASSERT(answered == answer(text, h, sender, b, &again, &two));
        ASSERT(str_eq(buf_str(&one), buf_str(&two)) && x.verdict == again.verdict);
        if (answered && !buf_failed(&one)) answer_look(buf_str(&one), &x);
        ASSERT(answered || x.verdict == MCP_ACCEPTED);
    }
    buf_fini(&one);
    buf_fini(&two);
    arena_free(a);
    arena_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    struct mcp_headers h = {{0}, {0}, {0}, {0}};
    struct json_elements messages;
    struct mcp_error why;
    unsigned sender = data[0] & SENDER_BITS;
    struct str text = headers_take(str_n((const char *)data + 1, len - 1), &h);
    struct arena *a = arena_new(ARENA_BYTES);
    if (!a) return 0;
    int code = mcp_batch_read(text, h.version, a, &messages, &why);
    if (code == 1) {
        ASSERT(messages.n > 0 && messages.n <= MCP_BATCH_MAX);
        for (size_t i = 0; i < messages.n; i++)
            message_look(messages.v[i], &h, sender | SENDER_IN_BATCH);
    } else {
        ASSERT(code == 0 || code == why.code);
    }
    message_look(text, &h, sender);
    arena_free(a);
    return 0;
}
