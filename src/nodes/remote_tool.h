/*
 * remote_tool.h: a node type of a pack of the language remote: a tool of an MCP server (PACK-66,
 * MCP-1).  Layer: nodes, not for others.
 */
#ifndef WOPR_NODES_REMOTE_TOOL_H
#define WOPR_NODES_REMOTE_TOOL_H

#include "nodes/nodes.h"

struct remote_tool {   /* ctx of the type; texts live as long as it */
    struct str server; /* URL, as the manifest has it */
    struct str tool;
    bool repeatable; /* role pure: it may be called again when nobody knows whether it was */
};
/* The input ports are the arguments; the outputs are those of config.mcp (MCP-7). */
node_fn exec_remote_tool;

#endif
