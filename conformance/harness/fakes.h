/*
 * fakes.h: an MCP server and an A2A agent as the public suite has them (40 H7, H8), in a process of
 * their own.  OPENWOP_MCP_FAKE_SERVER_URL and OPENWOP_A2A_FAKE_PEER_URL name them; main.c sets
 * both. Besides what a host may ask: LOOK / answers with the array of what was asked so far (names
 * of methods of JSON-RPC; "POST /tasks" and its like), FORCE /STATE makes STATE the state of the
 * next task, once.
 */
#ifndef WOPR_CONFORMANCE_FAKES_H
#define WOPR_CONFORMANCE_FAKES_H

#include "door.h"

/* Ports: 0 = any.  false with a line on stderr. */
bool fakes_start(struct doors *d, int mcp_port, int a2a_port);

#endif
