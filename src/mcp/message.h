/*
 * message.h: one message of JSON-RPC 2.0, as MCP restricts it, and the errors that answer it.
 * Layer: mcp.  Pure.
 */
#ifndef WOPR_MCP_MESSAGE_H
#define WOPR_MCP_MESSAGE_H

#include "codec/json.h"

enum {
    MCP_DEPTH_MAX = 72, /* containers of a message: arguments of 64, and what is around them */
    MCP_ID_BYTES_MAX = 256,
    MCP_METHOD_BYTES_MAX = 128,
    MCP_NAME_BYTES_MAX = 2048 /* of a tool, a prompt or a URI */
};
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_RESOURCE_NOT_FOUND = -32002, /* of the older era only */
    MCP_SESSION_NOT_FOUND = -32001,  /* of the older era only */
    MCP_HEADER_MISMATCH = -32020,
    MCP_UNSUPPORTED_VERSION = -32022
};
/* What a transport that has statuses of its own says beside the message. */
enum mcp_verdict {
    MCP_FINE,      /* an answer of the method, also a failed one */
    MCP_ACCEPTED,  /* a notification: nothing is answered */
    MCP_MALFORMED, /* the message, its version or its headers */
    MCP_NO_METHOD, /* of the newer era */
    MCP_NO_SESSION /* of the older era */
};
struct mcp_error {
    int code; /* 0 = none */
    enum mcp_verdict verdict;
    const char *message; /* what is wrong and what to do; quotes nothing */
    struct str data;     /* raw, or empty */
};
int mcp_error_set(struct mcp_error *e, int code, enum mcp_verdict verdict, const char *message);

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };
struct mcp_message {
    enum mcp_kind kind;
    struct str id;     /* raw: a string or an integer; empty of a notification */
    struct str method; /* decoded; empty of a response */
    struct str params; /* raw object, "{}" when absent */
    struct str meta;   /* raw object _meta of params, or empty */
};
/* What is in text, of which nothing is believed: syntax, depth, duplicate members, types.  After an
 * error, its code, out->id is set if an id could be read; it is what the error's answer carries. */
MUST_CHECK int mcp_message_read(struct str text, struct arena *a, struct mcp_message *out,
                                struct mcp_error *why);
/* --- batches: several messages in one text, of version 2025-03-26 alone --- */
enum { MCP_BATCH_MAX = 32 };
/* 0: the text is none.  1: it is one, of the messages in *out, each to be judged by itself.  Else
 * the code of *why.  version: of the header, p NULL when absent. */
MUST_CHECK int mcp_batch_read(struct str text, struct str version, struct arena *a,
                              struct json_elements *out, struct mcp_error *why);
/* A decoded string of at most max bytes from an object; 0 absent, 1 there, -1 of another type or
 * too long. */
int mcp_string_of(struct str object, const char *key, size_t max, struct arena *a, struct str *out);
/* {"jsonrpc":"2.0","id":id,"error":{...}}; id may be empty. */
void mcp_error_write(struct buf *b, struct str id, const struct mcp_error *e);

#endif
