/*
 * server.h: the server itself: what all sets offer together, and one message and its answer.
 * Layer: mcp.  Pure but for the handlers it calls.
 *
 *     carrier                            struct mcp_exchange, in an arena of the request
 *     ------------------------------------------------------------------------------------
 *     mcp_begin(x, text, headers) ──►  MCP_REPLY   x->verdict, mcp_write(x, buf): the answer
 *                                      MCP_NOTHING a notification: no answer
 *                                      MCP_CALL    x->call is a row's: mcp_run, here or, with
 *                                                  mcp_may_block, on a thread for long work;
 *                                                  MCP_PENDING: again after mcp_resume;
 *                                                  MCP_DONE: mcp_write
 *
 * Threads: a server is filled before its first message and read-only afterwards; exchanges are
 * independent of each other, each used by one thread at a time.
 */
#ifndef WOPR_MCP_SERVER_H
#define WOPR_MCP_SERVER_H

#include "mcp/era.h"
#include "mcp/tool.h"

struct mcp_server;
struct mcp_about { /* texts are the caller's and outlive the server */
    const char *name, *title, *version;
};
MUST_CHECK int mcp_server_new(const struct mcp_about *about, struct mcp_server **out,
                              struct wopr_error *err);
void mcp_server_free(struct mcp_server *s); /* takes NULL */
/* Rows, texts and ctx are the caller's and outlive the server.  CONFIG: a name or a URI is there
 * already or malformed, a schema is no schema of an object; the message names the row. */
MUST_CHECK int mcp_server_add(struct mcp_server *s, const struct mcp_set *set,
                              struct wopr_error *err);
/* All rows with their schemas as one JSON document, whatever the scopes: what
 * docs/mcp-tools.json is compared with. */
void mcp_server_describe(const struct mcp_server *s, struct buf *out);

enum mcp_step { MCP_REPLY, MCP_NOTHING, MCP_CALL };
struct mcp_exchange {
    const struct mcp_server *server;
    struct mcp_message message;
    struct mcp_context context;
    struct mcp_call call; /* of MCP_CALL */
    struct mcp_error error;
    enum mcp_verdict verdict;
    struct str progress_token; /* raw: the client wants to hear of progress; or empty */
    struct str result;         /* raw members of the result, rendered by serve.c */
    bool cacheable;
};
/* x: zeroed.  who, a, carrier and carried become those of x->call. */
struct mcp_origin {
    struct mcp_caller who;
    struct arena *arena;
    const struct mcp_carrier *carrier;
    void *carried;
    bool wants_text;
    bool in_batch; /* initialize must not be in one */
};
enum mcp_step mcp_begin(const struct mcp_server *s, struct mcp_exchange *x, struct str text,
                        const struct mcp_headers *headers, const struct mcp_origin *from);
static inline bool mcp_may_block(const struct mcp_exchange *x) {
    unsigned flags = x->call.tool ? x->call.tool->flags : x->call.resource->flags;
    return (flags & MCP_MAY_BLOCK) != 0;
}
/* Call the row's handler, for the first time or again; MCP_DONE, MCP_PENDING or MCP_CARRIED. */
int mcp_run(struct mcp_exchange *x);
/* Append the answer, one line: the response of JSON-RPC. */
void mcp_write(const struct mcp_exchange *x, struct buf *b);
/* Append a notification of progress; only with a progress token.  progress must grow from one to
 * the next. */
void mcp_write_progress(const struct mcp_exchange *x, int64_t progress, struct str message,
                        struct buf *b);

#endif
