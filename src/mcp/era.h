/*
 * era.h: which revision of the protocol a message is in.  Layer: mcp.  Pure.
 *
 * The older era (2025-03-26 to 2025-11-25) begins with initialize; the newer (2026-07-28) carries
 * its version in each message, and over HTTP in headers that must say the same.  Neither is
 * remembered: a message is judged by itself, so that any host of a fleet may get it.
 */
#ifndef WOPR_MCP_ERA_H
#define WOPR_MCP_ERA_H

#include "mcp/message.h"

#define MCP_VERSION_MODERN "2026-07-28"
#define MCP_VERSION_LEGACY "2025-11-25" /* the newest of the older era */

#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_SERVER       "io.modelcontextprotocol/serverInfo"

enum mcp_era { MCP_LEGACY, MCP_MODERN };
/* Headers of the transport: p NULL when absent. */
struct mcp_headers {
    struct str version; /* MCP-Protocol-Version */
    struct str method;  /* Mcp-Method */
    struct str name;    /* Mcp-Name */
    struct str session; /* Mcp-Session-Id */
};
struct mcp_context {
    enum mcp_era era;
    bool elicits; /* the client can ask its user by a form; never of the older era, where a question
                     would need a connection that is remembered */
};
/* Versions that are served, newest first; NULL-terminated. */
extern const char *const MCP_VERSIONS[];
bool mcp_version_is_legacy(struct str version);
/* What the message names: params.name, or params.uri of resources/read.  1: out is set, 0: the
 * method names nothing, -1: it must and does not, or at too great a length. */
int mcp_target_of(const struct mcp_message *m, struct arena *a, struct str *out);
/* What a message names as the value of Mcp-Name: as it is, or in base64 where a header could not
 * carry it. */
void mcp_header_write(struct buf *b, struct str target);
/* 0, or the code of *why. */
MUST_CHECK int mcp_era_judge(const struct mcp_message *m, const struct mcp_headers *h,
                             struct arena *a, struct mcp_context *out, struct mcp_error *why);

#endif
