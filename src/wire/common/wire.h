/*
 * wire.h: what the adapters of all wire majors have in common.  Layer: wire/common.
 *
 * An adapter (wire/v1) spells paths, member names, codes and documents; everything else about a
 * request is here.  The adapter of a call begins with a struct wire, so that helpers find it by
 * http_call.wire_ctx alone.
 *
 * Threads: handlers run on HTTP threads and never wait.  respond() and done() of a command run on
 * an engine thread while its call is suspended, so a call has one user at a time.
 */
#ifndef WOPR_WIRE_COMMON_WIRE_H
#define WOPR_WIRE_COMMON_WIRE_H

#include "engine/engine.h"
#include "http/http.h"
#include "store/runs.h"

#define WIRE_ID_CHARS     128u                /* of an id in a path or query (HTTP-5) */
#define WIRE_SNAPSHOT_MAX (64u * 1024 * 1024) /* bytes of one rendered snapshot */
#define WIRE_ARENA_MAX    (64u * 1024 * 1024) /* bytes of a fold, or of one page of events */
#define WIRE_PAGE_EVENTS  500u                /* events per read of the store */
#define WIRE_PAGE_BYTES   (1u * 1024 * 1024)  /* ... and their bytes */

/* First member of every adapter; read-only while the server runs. */
struct wire {
    struct engine *engine;
    struct store *store;
    struct run_limits limits;
    int64_t interrupt_token_ms;   /* life of a token whose interrupt has no deadline (INT-37) */
    bool interrupt_callbacks;     /* tokens for all kinds, not just external events (INT-13) */
    bool audit;                   /* commands leave entries in the audit log */
    bool interrupt_auth_required; /* every interrupt needs a bearer credential (INT-39) */
};
static inline struct wire *wire_of(const struct http_call *c) { return c->wire_ctx; }

#endif
