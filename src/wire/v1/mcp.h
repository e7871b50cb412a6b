/*
 * mcp.h: what the files of MCP in wire/v1 share: a message as an HTTP request.  Private to the
 * folder.
 */
#ifndef WOPR_WIRE_V1_MCP_H
#define WOPR_WIRE_V1_MCP_H

#include "mcp/server.h"
#include "wire/v1/wire_int.h"

struct mcp_batch { /* of one call: its messages are answered one after the other */
    struct json_elements messages;
    size_t at; /* of the one under way */
    bool under_way;
    struct str *answers; /* of the call's arena */
    size_t answers_nr, bytes;
};
struct mcp_visit { /* in the arena of its call */
    struct mcp_exchange x;
    struct http_call *call;
    struct mcp_batch *batch; /* NULL: the body is one message */
    bool streams;            /* the client takes an event stream */
    bool large;              /* handled on a thread for long work from the start: it cannot wait */
    int carried_rc;          /* with MCP_CARRIED: what the handler of HTTP returns */
};
static inline struct mcp_visit *visit_of(struct mcp_call *call) { return call->carried; }
/* The visit is answered by what is in its exchange. */
int v1_mcp_reply(struct mcp_visit *v);
/* The call fails with what an error envelope says. */
int v1_mcp_fail_as(struct mcp_visit *v, struct str envelope, int status);
int v1_mcp_fail(struct mcp_call *call, const struct wopr_error *err);
/* The run that the argument or parameter runId names.  NOT_FOUND, EXPIRED, VERSION_MISMATCH. */
MUST_CHECK int v1_mcp_run_of(struct mcp_call *call, struct run_head *out, struct wopr_error *err);
/* The answer of an operation becomes the result of a tool or the contents of a resource. */
void v1_mcp_answered(struct http_call *c, void *visit);

extern const struct mcp_set V1_MCP_RUNS;     /* mcp_rows.c */
extern const struct mcp_set V1_MCP_FIXTURES; /* mcp_fixtures.c */
/* Handlers of its rows. */
int v1_mcp_route(struct mcp_call *call);   /* mcp_route.c: an operation answers */
int v1_mcp_wait(struct mcp_call *call);    /* mcp_wait.c */
int v1_mcp_events(struct mcp_call *call);  /* mcp_route.c */
int v1_mcp_resolve(struct mcp_call *call); /* mcp_ask.c */

#endif
