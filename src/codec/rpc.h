/*
 * rpc.h: the answer to one JSON-RPC 2.0 request, out of the body of an HTTP answer that is JSON or
 * an event stream (MCP "Streamable HTTP").  Layer: codec.  Pure: no I/O, no clock.
 */
#ifndef WOPR_CODEC_RPC_H
#define WOPR_CODEC_RPC_H

#include "codec/json.h"
#include "codec/sse_reader.h"

/* --- while the body comes --- */
enum rpc_form { RPC_UNKNOWN, RPC_TEXT, RPC_STREAM };
struct rpc_reader {
    int64_t id;
    enum rpc_form form; /* by the first byte that is no blank: { and [ and < begin no stream */
    struct sse_reader stream;
    struct buf body; /* of a stream: the response alone */
    bool found;
    int rc; /* the first failure sticks */
};
/* id: of the request.  max: bytes of a body that is no stream, or of one event.  Allocates nothing,
 * cannot fail. */
void rpc_reader_init(struct rpc_reader *r, int64_t id, size_t max);
void rpc_reader_fini(struct rpc_reader *r);
/* 1: the response is here, what follows does not matter.  0: go on.  TOO_BIG, NO_MEMORY. Other
 * messages of a stream (requests and notifications of the server, answers to other ids, what is no
 * JSON) are passed over. */
MUST_CHECK int rpc_reader_take(struct rpc_reader *r, struct str bytes);
/* What to keep: the response out of a stream, "" when it held none, or the whole body. */
struct str rpc_reader_body(const struct rpc_reader *r);

/* --- the response --- */
struct rpc_response {
    struct str result; /* raw; STR_NONE: an error */
    int64_t code;
    struct str message; /* of the error, text of the peer */
    struct str data;    /* raw, or STR_NONE */
};
/* Read the response to the request id from a body: an object, or an array with it in it.  NULL, or
 * why there is none (a sentence that quotes nothing).  An error without an id (the server could not
 * read ours) is one to us. */
const char *rpc_response_read(struct str body, int64_t id, struct arena *a,
                              struct rpc_response *out);

#endif
