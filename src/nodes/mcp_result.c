/*
 * mcp_result.c: what a tool of an MCP server said, as outputs of the node (MCP-7, MCP-8): marked as
 * text of somebody else, never read as anything but data.
 */
#include "codec/jobj.h"
#include "nodes/mcp.h"
#include "nodes/untrusted.h"

#define RESULT_BYTES_MAX (900u * 1024) /* of an event with its frame */
#define RESULT_SAID_MAX  1000u         /* of what a failed tool said, in details */

static void tool_error(struct mcp *m, const char *reason, const char *message, struct str said) {
    struct jobj o;
    node_fail(m->out, "mcp_tool_error", message, false);
    jobj_begin(&o, RESULT_BYTES_MAX);
    jw_kstr(&o.w, "tool", m->tool);
    jw_kstr(&o.w, "server", m->server->name);
    jw_kstrz(&o.w, "reason", reason);
    if (said.n > 0) {
        jw_kstr(&o.w, "text", said);
        jw_kstrz(&o.w, "trust", "untrusted");
    }
    m->out->error_details = jobj_end(&o, m->call->a);
}

/* The longest beginning of at most max bytes that ends with a whole character. */
static struct str text_begin(struct str s, size_t max) {
    if (s.n <= max) return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80) max--;
    return str_n(s.p, max);
}

/* Each block is an object with a type; texts of type "text" make *text, a line break between. */
static bool content_read(struct mcp *m, struct str content, struct buf *text) {
    struct json_elements l = {0};
    if (content.n == 0 || json_type_of(content) != JSON_ARRAY ||
        json_elements(content, m->call->a, &l, NULL) != 0)
        return false;
    for (size_t i = 0; i < l.n; i++) {
        struct str type = json_get(l.v[i], "type"), raw = json_get(l.v[i], "text");
        if (type.n == 0 || json_type_of(type) != JSON_STRING) return false;
        if (!str_eqc(json_string(type, m->call->a), "text")) continue;
        if (raw.n == 0 || json_type_of(raw) != JSON_STRING) return false;
        if (text->len > 0) buf_addc(text, '\n');
        buf_adds(text, json_string(raw, m->call->a));
    }
    return true;
}

static struct str outputs_of(struct mcp *m, struct str result, struct str text) {
    struct str structured = json_get(result, "structuredContent");
    struct buf marked;
    struct jobj o;
    buf_init(&marked, RESULT_BYTES_MAX);
    untrusted_render(&marked, "tool", m->tool, text);
    jobj_begin(&o, RESULT_BYTES_MAX);
    jw_kstr(&o.w, "tool", m->tool);
    jw_kstr(&o.w, "server", m->server->shown);
    jw_kraw(&o.w, "content", json_get(result, "content"));
    jw_kstr(&o.w, "text", text);
    jw_kraw_opt(&o.w, "structuredContent", structured);
    jw_kstrz(&o.w, "trust", "untrusted");
    jw_kstr(&o.w, "rendered", buf_str(&marked));
    if (buf_failed(&marked)) jobj_fail(&o);
    buf_fini(&marked);
    return jobj_end(&o, m->call->a);
}

static bool structured_ok(struct mcp *m, struct str row, struct str result) {
    struct str schema = json_get(row, "outputSchema");
    struct str structured = json_get(result, "structuredContent");
    bool no_memory = false;
    if (structured.n > 0 && json_type_of(structured) != JSON_OBJECT) {
        tool_error(m, "result_malformed", "the structured result of the tool is no object",
                   STR_NONE);
        return false;
    }
    if (schema.n == 0) return true;
    const char *why = structured.n > 0
                          ? mcp_schema_wrong(schema, structured, m->call->a, &no_memory)
                          : "it is not there";
    if (no_memory) node_no_memory(m->out);
    else if (why)
        tool_error(
            m, "result_schema",
            "the structured result of the tool does not fit the schema that the server gives "
            "for it",
            STR_NONE);
    return !why && !no_memory;
}

static void text_take(struct mcp *m, struct str row, struct str result, struct str text) {
    bool failed = false;
    (void)json_bool(json_get(result, "isError"), &failed);
    if (failed) {
        tool_error(m, "is_error", "the tool says that it failed",
                   text_begin(text, RESULT_SAID_MAX));
        return;
    }
    if (!structured_ok(m, row, result)) return;
    m->out->outputs = outputs_of(m, result, text);
    if (m->out->outputs.n > 0) m->out->outcome = NODE_OUT_DONE;
    else if (arena_failed(m->call->a)) node_no_memory(m->out);
    else
        tool_error(m, "result_too_large", "the result of the tool is larger than an event may be",
                   STR_NONE);
}

void mcp_result_take(struct mcp *m, struct str row, struct str result) {
    struct buf text;
    buf_init(&text, RESULT_BYTES_MAX);
    bool whole = json_type_of(result) == JSON_OBJECT &&
                 content_read(m, json_get(result, "content"), &text) && !buf_failed(&text);
    if (whole) text_take(m, row, result, buf_str(&text));
    else if (arena_failed(m->call->a)) node_no_memory(m->out);
    else
        tool_error(m, "result_malformed", "the result of the tool is not as the protocol has it",
                   STR_NONE);
    buf_fini(&text);
}
