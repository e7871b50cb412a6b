/*
 * tool.c: answers of handlers (tool.h).
 */
#include "mcp/tool.h"
#include "codec/jobj.h"

enum { MESSAGE_BYTES_MAX = 512, DETAILS_BYTES_MAX = 4096 };

static const char NO_MEMORY[] =
    "{\"code\":\"INTERNAL_ERROR\",\"message\":\"The host is short of memory. Nothing was changed "
    "by "
    "this answer; call again.\",\"retry\":{\"kind\":\"retryable_immediate\"}}";
static const char TOO_LARGE[] =
    "{\"code\":\"RESULT_TOO_LARGE\",\"message\":\"The answer is larger than a tool result may be. "
    "Ask for less: a smaller limit, or a page after the last one.\",\"retry\":{\"kind\":"
    "\"not_retryable\"}}";

struct str mcp_param(const struct mcp_call *call, const char *name) {
    for (size_t i = 0; i < call->params_nr; i++)
        if (str_eqc(call->params[i].name, name)) return call->params[i].value;
    return STR_NONE;
}

int mcp_answer(struct mcp_call *call, struct str object) {
    return mcp_answer_text(call, STR_NONE, object.p ? object : str_c(NO_MEMORY));
}

int mcp_fail_too_large(struct mcp_call *call) { return mcp_fail(call, str_c(TOO_LARGE)); }

int mcp_answer_text(struct mcp_call *call, struct str text, struct str object) {
    if (object.n > MCP_RESULT_BYTES_MAX || text.n > MCP_RESULT_BYTES_MAX)
        return mcp_fail_too_large(call);
    if (object.p == NO_MEMORY) return mcp_fail(call, object);
    call->answer = (struct mcp_answer){.kind = MCP_ANSWERED, .object = object, .text = text};
    return MCP_DONE;
}

int mcp_fail(struct mcp_call *call, struct str object) {
    if (object.n > MCP_RESULT_BYTES_MAX) object = str_c(TOO_LARGE);
    call->answer =
        (struct mcp_answer){.kind = MCP_FAILED, .object = object.p ? object : str_c(NO_MEMORY)};
    return MCP_DONE;
}

/* Whole characters only. */
static struct str message_cut(struct str s) {
    if (s.n <= MESSAGE_BYTES_MAX) return s;
    s.n = MESSAGE_BYTES_MAX;
    while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80) s.n--;
    return s;
}

static void retry_write(struct jw *w, enum mcp_retry retry, int64_t after_ms) {
    static const char *const KINDS[] = {"not_retryable", "retryable_immediate",
                                        "retryable_after_ms"};
    jw_key(w, "retry");
    jw_object(w);
    jw_kstrz(w, "kind", KINDS[retry]);
    if (retry == MCP_RETRY_AFTER) jw_kint(w, "afterMs", after_ms);
    jw_end_object(w);
}

int mcp_fail_with(struct mcp_call *call, const char *code, struct str message, enum mcp_retry retry,
                  int64_t after_ms, struct str details) {
    struct jobj o;
    jobj_begin(&o, MCP_RESULT_BYTES_MAX);
    jw_kstrz(&o.w, "code", code);
    jw_kstr(&o.w, "message", message_cut(message));
    retry_write(&o.w, retry, after_ms);
    if (details.n > 0 && details.n <= DETAILS_BYTES_MAX) jw_kraw(&o.w, "details", details);
    return mcp_fail(call, jobj_end(&o, call->arena));
}

int mcp_ask_user(struct mcp_call *call, struct str requests, struct str state) {
    if (!call->may_ask)
        return mcp_fail_with(
            call, "PRECONDITION_FAILED",
            STR("This call needs an answer of the user, and the client cannot ask: "
                "give it as an argument."),
            MCP_RETRY_NOT, 0, STR_NONE);
    if (requests.n > MCP_RESULT_BYTES_MAX || !requests.p) return mcp_fail(call, STR_NONE);
    call->answer = (struct mcp_answer){.kind = MCP_ASKS, .object = requests, .state = state};
    return MCP_DONE;
}
