/*
 * mcp_kit.h: a server with tools of its own, for the tests of mcp/.
 */
#ifndef WOPR_TESTS_MCP_KIT_H
#define WOPR_TESTS_MCP_KIT_H

#include "mcp/server.h"

#include <criterion/criterion.h>

enum { SCOPE_A = 1, SCOPE_B = 2 };

struct kit {
    struct arena *a;
    struct mcp_server *server;
    struct mcp_exchange x;
    unsigned scopes;
    int resumed; /* calls of mcp_resume */
    struct buf out;
};
extern struct kit kit;
void kit_up(void); /* with all scopes */
void kit_down(void);
/* Send a message, with the headers that it needs; run the row that it calls to its end.  The
 * answer, or empty when there is none. */
struct str kit_send(const char *text);
struct str kit_send_with(const char *text, const struct mcp_headers *h);
struct str kit_at(struct str answer, const char *path); /* dotted; a string decoded */

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"
#define CALL(name, arguments)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" name         \
    "\",\"arguments\":" arguments "}}"
#define MODERN(method, params)                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"" method "\",\"params\":{" params META "}}"

#endif
