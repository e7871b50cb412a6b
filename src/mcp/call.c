/*
 * call.c: which row a message calls, and with what.
 */
#include "base/near.h"
#include "codec/jobj.h"
#include "mcp/server_int.h"

enum { STATE_BYTES_MAX = 64 * 1024 };

static enum mcp_step call_refuse(struct mcp_exchange *x, int code, const char *message) {
    (void)mcp_error_set(&x->error, code, MCP_FINE, message);
    return MCP_REPLY;
}

/* The second round of a question, in the newer era only: what the client says was answered. */
static bool round_read(struct mcp_exchange *x) {
    struct mcp_call *call = &x->call;
    call->input_responses = STR("{}");
    call->may_ask = x->context.elicits;
    if (x->context.era != MCP_MODERN) return true;
    struct str said = json_get(x->message.params, "inputResponses");
    if (said.n > 0 && json_type_of(said) != JSON_OBJECT) return false;
    if (said.n > 0) call->input_responses = said;
    return mcp_string_of(x->message.params, "requestState", STATE_BYTES_MAX, call->arena,
                         &call->request_state) >= 0;
}

/* --- tools --- */

/* The nearest name among those that the caller may use. */
static enum mcp_step tool_unknown(struct mcp_exchange *x, struct str name) {
    struct near n;
    near_init(&n, name);
    for (size_t i = 0; i < x->server->tools_nr; i++)
        if (mcp_allowed(x->server->tools[i].as->scopes, &x->call.who))
            near_try(&n, str_c(x->server->tools[i].as->name));
    (void)call_refuse(
        x, MCP_INVALID_PARAMS,
        "there is no tool of this name for this credential: tools/list has those there "
        "are");
    struct str near = near_best(&n);
    struct jobj o;
    jobj_begin(&o, 256);
    jw_kstr(&o.w, "nearest", near);
    if (near.p) x->error.data = jobj_end(&o, x->call.arena);
    else jobj_drop(&o);
    return MCP_REPLY;
}

static const struct mcp_row_tool *tool_find(const struct mcp_exchange *x, struct str name) {
    for (size_t i = 0; i < x->server->tools_nr; i++) {
        const struct mcp_row_tool *row = &x->server->tools[i];
        if (str_eqc(name, row->as->name) && mcp_allowed(row->as->scopes, &x->call.who)) return row;
    }
    return NULL;
}

/* The client's model reads it and can do better (WR-219). */
static void arguments_refuse(struct mcp_call *call, const struct schema_issue *issue, int rc) {
    struct jobj o;
    jobj_begin(&o, 4096);
    jw_key(&o.w, "validationErrors");
    jw_array(&o.w);
    jw_object(&o.w);
    jw_kstrz(&o.w, "path", issue->instance);
    jw_kstrz(&o.w, "message", rc == WOPR_E_VALIDATION ? issue->reason : "too large to be judged");
    jw_end_object(&o.w);
    jw_end_array(&o.w);
    struct str message =
        arena_printf(call->arena,
                     "The arguments do not fit the tool's input schema: at %s: %s. Call it again "
                     "with arguments that fit.",
                     issue->instance[0] ? issue->instance : "the top",
                     rc == WOPR_E_VALIDATION ? issue->reason : "too large to be judged");
    (void)mcp_fail_with(call, "VALIDATION_ERROR", message, MCP_RETRY_NOT, 0,
                        jobj_end(&o, call->arena));
}

enum mcp_step mcp_call_tool(struct mcp_exchange *x) {
    struct mcp_call *call = &x->call;
    struct str name;
    if (mcp_target_of(&x->message, call->arena, &name) != 1)
        return call_refuse(x, MCP_INVALID_PARAMS, "params.name must be the name of a tool");
    const struct mcp_row_tool *row = tool_find(x, name);
    if (!row) return tool_unknown(x, name);
    struct str arguments = json_get(x->message.params, "arguments");
    call->arguments = arguments.n > 0 ? arguments : STR("{}");
    if (json_type_of(call->arguments) != JSON_OBJECT)
        return call_refuse(x, MCP_INVALID_PARAMS, "params.arguments must be an object");
    if (!round_read(x))
        return call_refuse(x, MCP_INVALID_PARAMS,
                           "inputResponses must be an object, requestState a string");
    call->tool = row->as;
    call->ctx = row->ctx;
    struct schema_issue issue = {0};
    int rc = (row->as->flags & MCP_JUDGES) != 0
                 ? 0
                 : schema_validate_text(row->input, call->arguments, &issue);
    if (rc == 0) return MCP_CALL;
    if (rc == WOPR_E_NO_MEMORY) (void)mcp_fail(call, STR_NONE);
    else arguments_refuse(call, &issue, rc);
    return MCP_REPLY;
}

/* --- resources --- */

enum mcp_step mcp_call_resource(struct mcp_exchange *x) {
    struct mcp_call *call = &x->call;
    bool older = x->context.era == MCP_LEGACY;
    if (mcp_target_of(&x->message, call->arena, &call->uri) != 1)
        return call_refuse(x, MCP_INVALID_PARAMS, "params.uri must be the URI of a resource");
    call->arguments = STR("{}");
    if (!round_read(x))
        return call_refuse(x, MCP_INVALID_PARAMS,
                           "inputResponses must be an object, requestState a string");
    for (size_t i = 0; i < x->server->resources_nr; i++) {
        const struct mcp_row_resource *row = &x->server->resources[i];
        if (!mcp_allowed(row->as->scopes, &call->who) ||
            !mcp_uri_fits(str_c(row->as->uri), call->uri, call))
            continue;
        call->resource = row->as;
        call->ctx = row->ctx;
        return MCP_CALL;
    }
    (void)call_refuse(x, older ? MCP_RESOURCE_NOT_FOUND : MCP_INVALID_PARAMS,
                      "there is no resource of this URI for this credential");
    x->error.data = mcp_uri_data(call, STR_NONE);
    return MCP_REPLY;
}
