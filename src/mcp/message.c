/*
 * message.c: one message of JSON-RPC 2.0.
 */
#include "mcp/message.h"

int mcp_error_set(struct mcp_error *e, int code, enum mcp_verdict verdict, const char *message) {
    *e = (struct mcp_error){.code = code, .verdict = verdict, .message = message};
    return code;
}

static int message_refuse(struct mcp_error *why, int code, const char *message) {
    return mcp_error_set(why, code, MCP_MALFORMED, message);
}

int mcp_string_of(struct str object, const char *key, size_t max, struct arena *a,
                  struct str *out) {
    struct str raw = json_get(object, key);
    *out = STR_NONE;
    if (raw.n == 0) return 0;
    if (json_type_of(raw) != JSON_STRING) return -1;
    *out = json_string(raw, a);
    return out->p && out->n <= max ? 1 : -1;
}

/* MCP: a string or an integer, never null.  Raw, so that it comes back as it was spelled. */
static bool id_ok(struct str raw) {
    int64_t v;
    if (raw.n == 0 || raw.n > MCP_ID_BYTES_MAX) return false;
    enum json_type type = json_type_of(raw);
    return type == JSON_STRING || (type == JSON_NUMBER && json_int(raw, &v));
}

static int syntax_judge(struct str text, struct mcp_error *why) {
    const struct json_limits lim = {text.n, MCP_DEPTH_MAX};
    int rc = text.n > 0 ? json_check(text, &lim, NULL) : WOPR_E_SYNTAX;
    if (rc == WOPR_E_NO_MEMORY)
        return message_refuse(why, MCP_INTERNAL_ERROR,
                              "the host is short of memory; send it again");
    if (rc == WOPR_E_TOO_BIG)
        return message_refuse(why, MCP_PARSE_ERROR, "the message is nested too deeply");
    if (rc != 0)
        return message_refuse(why, MCP_PARSE_ERROR,
                              "the body is not one JSON text without duplicate members");
    if (json_type_of(text) == JSON_ARRAY)
        return message_refuse(
            why, MCP_INVALID_REQUEST,
            "an array is a batch, which has a place of its own: the message is an object");
    if (json_type_of(text) != JSON_OBJECT)
        return message_refuse(why, MCP_INVALID_REQUEST, "a message is a JSON object");
    return 0;
}

/* A batch that is one is read by its carrier, before its messages: what is left here is an array
 * where a message is due. */
int mcp_batch_read(struct str text, struct str version, struct arena *a, struct json_elements *out,
                   struct mcp_error *why) {
    const struct json_limits lim = {text.n, MCP_DEPTH_MAX + 1};
    struct str from = str_trim(text);
    if (from.n == 0 || from.p[0] != '[') return 0;
    if (version.p && !str_eqc(version, "2025-03-26"))
        return message_refuse(why, MCP_INVALID_REQUEST,
                              "this version of the protocol has no batches: send each message as "
                              "a request of its own");
    int rc = json_check(text, &lim, NULL);
    if (rc == 0) rc = json_elements(text, a, out, NULL);
    if (rc == WOPR_E_NO_MEMORY)
        return message_refuse(why, MCP_INTERNAL_ERROR,
                              "the host is short of memory; send it again");
    if (rc != 0)
        return message_refuse(why, MCP_PARSE_ERROR,
                              "the body is not one JSON text without duplicate members");
    if (out->n == 0) return message_refuse(why, MCP_INVALID_REQUEST, "a batch has a message");
    if (out->n > MCP_BATCH_MAX)
        return message_refuse(why, MCP_INVALID_REQUEST,
                              "a batch has at most 32 messages: send several");
    return 1;
}

static int kind_judge(struct str text, struct str method, struct arena *a, struct mcp_message *out,
                      struct mcp_error *why) {
    struct str id = json_get(text, "id");
    bool answers = json_get(text, "result").n > 0 || json_get(text, "error").n > 0;
    if (method.n == 0 && answers) {
        out->kind = MCP_RESPONSE;
        return 0;
    }
    if (mcp_string_of(text, "method", MCP_METHOD_BYTES_MAX, a, &out->method) != 1 ||
        out->method.n == 0)
        return message_refuse(why, MCP_INVALID_REQUEST, "method must be a short string");
    out->kind = id.n > 0 ? MCP_REQUEST : MCP_NOTIFICATION;
    if (id.n == 0 || id_ok(id)) return 0;
    return message_refuse(why, MCP_INVALID_REQUEST,
                          "id must be a string of at most 254 bytes or an integer");
}

static int params_judge(struct str text, struct mcp_message *out, struct mcp_error *why) {
    struct str params = json_get(text, "params");
    out->params = params.n > 0 ? params : STR("{}");
    if (json_type_of(out->params) != JSON_OBJECT)
        return message_refuse(why, MCP_INVALID_PARAMS, "params must be an object");
    out->meta = json_get(out->params, "_meta");
    if (out->meta.n > 0 && json_type_of(out->meta) != JSON_OBJECT)
        return message_refuse(why, MCP_INVALID_PARAMS, "params._meta must be an object");
    return 0;
}

int mcp_message_read(struct str text, struct arena *a, struct mcp_message *out,
                     struct mcp_error *why) {
    *out = (struct mcp_message){.kind = MCP_REQUEST, .params = STR("{}")};
    int code = syntax_judge(text, why);
    if (code != 0) return code;
    struct str id = json_get(text, "id"), version;
    if (id_ok(id)) out->id = id;
    if (mcp_string_of(text, "jsonrpc", 8, a, &version) != 1 || !str_eqc(version, "2.0"))
        return message_refuse(why, MCP_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    code = kind_judge(text, json_get(text, "method"), a, out, why);
    if (code == 0 && out->kind != MCP_RESPONSE) code = params_judge(text, out, why);
    return code;
}

void mcp_error_write(struct buf *b, struct str id, const struct mcp_error *e) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstrz(&w, "jsonrpc", "2.0");
    jw_kraw(&w, "id", id.n > 0 ? id : STR("null"));
    jw_key(&w, "error");
    jw_object(&w);
    jw_kint(&w, "code", e->code);
    jw_kstrz(&w, "message", e->message);
    if (e->data.n > 0) jw_kraw(&w, "data", e->data);
    jw_end_object(&w);
    jw_end_object(&w);
}
