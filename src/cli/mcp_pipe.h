/*
 * mcp_pipe.h: MCP over standard input and output, for a host that is reached over HTTP.  Layer:
 * cli.
 */
#ifndef WOPR_CLI_MCP_PIPE_H
#define WOPR_CLI_MCP_PIPE_H

#include "base/error.h"

#include <stdio.h>

struct mcp_pipe_config {
    const char *base, *key; /* of the host */
    FILE *in, *out;
};
/* Until the input ends, or out cannot be written: requests go to the host's /v1/mcp, several at a
 * time, their answers to out, a message a line.  What is under way when the input ends has a second
 * left.  NO_MEMORY, UNAVAILABLE. */
MUST_CHECK int mcp_pipe_run(const struct mcp_pipe_config *cfg, struct wopr_error *err);

#endif
