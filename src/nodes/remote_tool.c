/*
 * remote_tool.c: see remote_tool.h.  Which servers there are is the operator's to say (MCP-3): the
 * URL of a manifest only chooses among them.
 */
#include "nodes/remote_tool.h"

#include "nodes/mcp.h"

void exec_remote_tool(const struct node_call *call, struct node_result *out) {
    const struct remote_tool *t = call->type_ctx;
    struct mcp m = {.call = call,
                    .out = out,
                    .tool = t->tool,
                    .arguments = call->inputs.n > 0 ? call->inputs : STR("{}"),
                    .timeout_ms = MCP_TIMEOUT_MS,
                    .repeatable = t->repeatable};
    m.server = remote_find(call->remotes, REMOTE_MCP, t->server, call->run->meta.tenant);
    if (m.server) mcp_tool_call(&m);
    else mcp_no_server(&m, t->server);
}
