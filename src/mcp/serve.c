/*
 * serve.c: one message: its era, its method, its answer.
 */
#include "codec/jobj.h"
#include "mcp/server_int.h"

enum { RESULT_BYTES_MAX = 16 * 1024 };

/* --- beginnings --- */

static void capabilities_write(const struct mcp_server *s, struct jw *w) {
    jw_key(w, "capabilities");
    jw_object(w);
    if (s->tools_nr > 0) jw_kraw(w, "tools", STR("{}"));
    if (s->resources_nr > 0) jw_kraw(w, "resources", STR("{}"));
    if (s->prompts_nr > 0) jw_kraw(w, "prompts", STR("{}"));
    jw_end_object(w);
}

static int result_end(struct mcp_exchange *x, struct jobj *o, struct arena *a) {
    x->result = jobj_end(o, a);
    if (x->result.p) return 0;
    return mcp_error_set(&x->error, MCP_INTERNAL_ERROR, MCP_FINE,
                         "the host is short of memory; send it again");
}

/* The version that the client asks for, when it is of the older era; else the newest of it. */
static int serve_initialize(struct mcp_exchange *x, struct arena *a) {
    const struct mcp_server *s = x->server;
    struct str version;
    int there = mcp_string_of(x->message.params, "protocolVersion", 64, a, &version);
    if (there != 1)
        return mcp_error_set(&x->error, MCP_INVALID_PARAMS, MCP_FINE,
                             "params.protocolVersion must be a version, like \"" MCP_VERSION_LEGACY
                             "\"");
    struct jobj o;
    jobj_begin(&o, RESULT_BYTES_MAX);
    if (mcp_version_is_legacy(version)) jw_kstr(&o.w, "protocolVersion", version);
    else jw_kstrz(&o.w, "protocolVersion", MCP_VERSION_LEGACY);
    capabilities_write(s, &o.w);
    jw_kraw(&o.w, "serverInfo", s->server_info);
    jw_kstr_opt(&o.w, "instructions", buf_str(&s->instructions));
    return result_end(x, &o, a);
}

static int serve_discover(struct mcp_exchange *x, struct arena *a) {
    const struct mcp_server *s = x->server;
    struct jobj o;
    jobj_begin(&o, RESULT_BYTES_MAX);
    jw_key(&o.w, "supportedVersions");
    jw_array(&o.w);
    for (size_t i = 0; MCP_VERSIONS[i]; i++) jw_strz(&o.w, MCP_VERSIONS[i]);
    jw_end_array(&o.w);
    capabilities_write(s, &o.w);
    jw_kstr_opt(&o.w, "instructions", buf_str(&s->instructions));
    x->cacheable = true;
    return result_end(x, &o, a);
}

static int serve_ping(struct mcp_exchange *x, struct arena *a) {
    (void)a;
    x->result = STR("{}");
    return 0;
}

/* --- methods --- */

enum { IN_LEGACY = 1, IN_MODERN = 2, IN_BOTH = 3 };
static const struct method {
    const char *name;
    unsigned eras;
    int (*answer)(struct mcp_exchange *x, struct arena *a);
    enum mcp_step (*call)(struct mcp_exchange *x);
} METHODS[] = {
    {"initialize", IN_LEGACY, serve_initialize, NULL},
    {"ping", IN_LEGACY, serve_ping, NULL},
    {"server/discover", IN_MODERN, serve_discover, NULL},
    {"tools/list", IN_BOTH, mcp_list_tools, NULL},
    {"tools/call", IN_BOTH, NULL, mcp_call_tool},
    {"resources/list", IN_BOTH, mcp_list_resources, NULL},
    {"resources/templates/list", IN_BOTH, mcp_list_templates, NULL},
    {"resources/read", IN_BOTH, NULL, mcp_call_resource},
    {"prompts/list", IN_BOTH, mcp_list_prompts, NULL},
    {"prompts/get", IN_BOTH, mcp_prompt_get, NULL},
};

static enum mcp_step method_serve(struct mcp_exchange *x, struct arena *a) {
    bool modern = x->context.era == MCP_MODERN;
    for (size_t i = 0; i < sizeof METHODS / sizeof METHODS[0]; i++) {
        const struct method *m = &METHODS[i];
        if (!str_eqc(x->message.method, m->name) ||
            (m->eras & (modern ? IN_MODERN : IN_LEGACY)) == 0)
            continue;
        if (m->call) return m->call(x);
        (void)m->answer(x, a);
        return MCP_REPLY;
    }
    (void)mcp_error_set(&x->error, MCP_METHOD_NOT_FOUND, modern ? MCP_NO_METHOD : MCP_FINE,
                        "this server has no such method");
    return MCP_REPLY;
}

/* Notifications and answers to questions that nobody asked: taken, and nothing is done.  In the
 * newer era a client sends no answers. */
static enum mcp_step message_pass(struct mcp_exchange *x) {
    if (x->message.kind == MCP_RESPONSE && x->context.era == MCP_MODERN) {
        (void)mcp_error_set(&x->error, MCP_INVALID_REQUEST, MCP_MALFORMED,
                            "a client sends no responses");
        return MCP_REPLY;
    }
    x->verdict = MCP_ACCEPTED;
    return MCP_NOTHING;
}

static void token_read(struct mcp_exchange *x) {
    struct str token = json_get(x->message.meta, "progressToken");
    int64_t v;
    if (token.n == 0 || token.n > MCP_ID_BYTES_MAX) return;
    if (json_type_of(token) == JSON_STRING ||
        (json_type_of(token) == JSON_NUMBER && json_int(token, &v)))
        x->progress_token = token;
}

enum mcp_step mcp_begin(const struct mcp_server *s, struct mcp_exchange *x, struct str text,
                        const struct mcp_headers *headers, const struct mcp_origin *from) {
    struct arena *a = from->arena;
    x->server = s;
    x->call = (struct mcp_call){.arena = a,
                                .who = from->who,
                                .carrier = from->carrier,
                                .carried = from->carried,
                                .wants_text = from->wants_text};
    enum mcp_step step = MCP_REPLY;
    int code = mcp_message_read(text, a, &x->message, &x->error);
    if (code == 0 && from->in_batch && str_eqc(x->message.method, "initialize"))
        code = mcp_error_set(&x->error, MCP_INVALID_REQUEST, MCP_MALFORMED,
                             "initialize is sent alone, not in a batch");
    if (code == 0) code = mcp_era_judge(&x->message, headers, a, &x->context, &x->error);
    if (code == 0 && x->message.kind != MCP_REQUEST) step = message_pass(x);
    else if (code == 0) {
        token_read(x);
        step = method_serve(x, a);
    }
    if (x->error.code != 0) x->verdict = x->error.verdict;
    return step;
}

int mcp_run(struct mcp_exchange *x) {
    struct mcp_call *call = &x->call;
    if (call->answer.kind != MCP_NO_ANSWER) return MCP_DONE;
    int rc = (call->tool ? call->tool->handler : call->resource->handler)(call);
    call->phase++;
    if (rc == MCP_DONE && call->answer.kind == MCP_NO_ANSWER) (void)mcp_fail(call, STR_NONE);
    return rc;
}
