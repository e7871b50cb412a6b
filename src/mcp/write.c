/*
 * write.c: answers as bytes, in the spelling of their era.
 */
#include "mcp/server_int.h"

enum {
    CACHE_LIST_MS = 60 * 1000 /* tables change with a restart, and scopes with a key */
};

/* Of the newer era: what kind of result it is, who says so, and for how long it may be kept. */
static void modern_write(const struct mcp_exchange *x, const char *type, struct jw *w) {
    if (x->context.era != MCP_MODERN) return;
    jw_kstrz(w, "resultType", type);
    if (x->cacheable || x->call.resource) {
        jw_kint(w, "ttlMs", x->cacheable ? CACHE_LIST_MS : 0);
        jw_kstrz(w, "cacheScope", "private");
    }
    jw_key(w, "_meta");
    jw_object(w);
    jw_kraw(w, MCP_META_SERVER, x->server->server_info);
    jw_end_object(w);
}

static void text_item(struct jw *w, struct str text) {
    jw_object(w);
    jw_kstrz(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_end_object(w);
}

/* WR-220: the object as text, for clients that show nothing else, and as structuredContent.  A
 * failure's is none of the output schema's, which clients hold it against all the same. */
static void tool_write(const struct mcp_call *call, struct jw *w) {
    const struct mcp_answer *r = &call->answer;
    bool structured = r->kind == MCP_ANSWERED || !call->tool->output;
    jw_key(w, "content");
    jw_array(w);
    if (r->text.n > 0) text_item(w, r->text);
    if (r->object.n > 0) text_item(w, r->object);
    jw_end_array(w);
    if (r->object.n > 0 && structured) jw_kraw(w, "structuredContent", r->object);
    jw_kbool(w, "isError", r->kind == MCP_FAILED);
}

static void resource_write(const struct mcp_call *call, struct jw *w) {
    const struct mcp_answer *r = &call->answer;
    jw_key(w, "contents");
    jw_array(w);
    jw_object(w);
    jw_kstr(w, "uri", call->uri);
    jw_kstrz(w, "mimeType", call->resource->mime);
    jw_kstr(w, "text", r->object.n > 0 ? r->object : r->text);
    jw_end_object(w);
    jw_end_array(w);
}

static void ask_write(const struct mcp_answer *r, struct jw *w) {
    jw_kraw(w, "inputRequests", r->object);
    jw_kstr_opt(w, "requestState", r->state);
}

static void call_write(const struct mcp_exchange *x, struct jw *w) {
    const struct mcp_answer *r = &x->call.answer;
    modern_write(x, r->kind == MCP_ASKS ? "input_required" : "complete", w);
    if (r->kind == MCP_ASKS) ask_write(r, w);
    else if (x->call.resource) resource_write(&x->call, w);
    else tool_write(&x->call, w);
}

/* A resource has no isError: what failed is an error of the method, whose data says all. */
static void failure_write(const struct mcp_exchange *x, struct buf *b) {
    struct mcp_call uri = {.arena = x->call.arena, .uri = x->call.uri};
    struct str object = x->call.answer.object;
    bool unknown = str_eqc(json_get(object, "code"), "\"NOT_FOUND\"");
    int missing = x->context.era == MCP_MODERN ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND;
    const struct mcp_error e = {.code = unknown ? missing : MCP_INTERNAL_ERROR,
                                .message = unknown ? "there is no such resource"
                                                   : "the resource cannot be read; data says why",
                                .data = mcp_uri_data(&uri, object)};
    mcp_error_write(b, x->message.id, &e);
}

static void result_begin(const struct mcp_exchange *x, struct jw *w, struct buf *b) {
    jw_init(w, b);
    jw_object(w);
    jw_kstrz(w, "jsonrpc", "2.0");
    jw_kraw(w, "id", x->message.id);
    jw_key(w, "result");
    jw_object(w);
}

/* Spliced texts may have line breaks between their values; carriers need one line. */
static void line_make(struct buf *b, size_t from) {
    for (size_t i = from; i < b->len; i++)
        if (b->p[i] == '\n' || b->p[i] == '\r') b->p[i] = ' ';
}

static void answer_write(const struct mcp_exchange *x, struct buf *b) {
    struct jw w;
    bool called = x->call.answer.kind != MCP_NO_ANSWER;
    if (x->error.code != 0) {
        mcp_error_write(b, x->message.id, &x->error);
        return;
    }
    if (called && x->call.resource && x->call.answer.kind == MCP_FAILED) {
        failure_write(x, b);
        return;
    }
    result_begin(x, &w, b);
    if (called) call_write(x, &w);
    else {
        modern_write(x, "complete", &w);
        jw_members(&w, x->result);
    }
    jw_end_object(&w);
    jw_end_object(&w);
}

void mcp_write(const struct mcp_exchange *x, struct buf *b) {
    size_t from = b->len;
    answer_write(x, b);
    line_make(b, from);
}

void mcp_write_progress(const struct mcp_exchange *x, int64_t progress, struct str message,
                        struct buf *b) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstrz(&w, "jsonrpc", "2.0");
    jw_kstrz(&w, "method", "notifications/progress");
    jw_key(&w, "params");
    jw_object(&w);
    jw_kraw(&w, "progressToken", x->progress_token);
    jw_kint(&w, "progress", progress);
    jw_kstr_opt(&w, "message", message);
    jw_end_object(&w);
    jw_end_object(&w);
}
