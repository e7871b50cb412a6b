/*
 * mcp.h: one call of a tool of an MCP server (30-nodes section 12).  Layer: nodes, not for others.
 * Each exchange is a request of node_invoke, so the invocation log is all the memory there is: what
 * has been answered is read again at each entry and never asked for again.
 */
#ifndef WOPR_NODES_MCP_H
#define WOPR_NODES_MCP_H

#include "codec/rpc.h"
#include "egress/remotes.h"
#include "nodes/nodes.h"

#define MCP_TIMEOUT_MS     10000 /* MCP-9 */
#define MCP_TIMEOUT_MS_MAX 600000

struct mcp {
    const struct node_call *call;
    struct node_result *out;
    const struct remote *server;
    struct str tool, arguments; /* raw object */
    int timeout_ms;
    bool repeatable; /* the tool may be called again when nobody knows whether it was */
    /* The ordinal of a step (enum mcp_step); NULL: as that says.  nth is for it. */
    unsigned (*place)(const struct mcp *m, unsigned step);
    unsigned nth;
    unsigned pages_max; /* of the list, 0: 16 */
    /* --- as negotiated --- */
    struct str version, session;
    bool stateless; /* 2026-07-28: no session, each request says version and capabilities */
};

/* --- mcp_wire.c: exchanges --- */
/* Ordinals of an attempt: those before the call are its own, so that it begins with a new session;
 * the call is the same for all attempts. */
enum mcp_step { MCP_CALL, MCP_OPEN, MCP_OPENED, MCP_LIST, MCP_CLOSE = MCP_LIST + 24 };
/* The answer to a JSON-RPC request.  params: members of the object, "" = none.  false: *m->out
 * asks for it, or fails with mcp_unavailable. */
bool mcp_ask(struct mcp *m, unsigned step, const char *method, struct str params,
             struct rpc_response *out);
/* Initialize, unless the server is of the stateless kind.  false: as above. */
bool mcp_open(struct mcp *m);
/* End the session, if there is one; whatever comes of it.  false: *m->out asks for it. */
bool mcp_close(struct mcp *m);

/* --- mcp_tool.c: what a server offers --- */
/* The row of the tool, raw.  false: *m->out is filled. */
bool mcp_tool_find(struct mcp *m, struct str *row);
/* Does the value fit the schema (raw, or empty)?  NULL when it does, or when the schema is none
 * that this host can judge by; else where it does not (arena text).  *no_memory is set alike. */
const char *mcp_schema_wrong(struct str schema, struct str value, struct arena *a, bool *no_memory);

/* --- mcp_result.c: what a tool said --- */
/* outputs or error of the node out of the result of tools/call.  row: of the tool. */
void mcp_result_take(struct mcp *m, struct str row, struct str result);

/* --- mcp.c --- */
/* The whole exchange for one call of m->tool at m->server: outputs or error of the node. */
void mcp_tool_call(struct mcp *m);
/* MCP-9: the server that was asked for (a name, a URL or empty) is none that the tenant may use. */
void mcp_no_server(struct mcp *m, struct str asked);

#endif
