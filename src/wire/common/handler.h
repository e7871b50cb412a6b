/*
 * handler.h: what all handlers use: the run of a path, parameters, replies,
 * validators of documents.  Layer: wire/common.
 */
#ifndef WOPR_WIRE_COMMON_HANDLER_H
#define WOPR_WIRE_COMMON_HANDLER_H

#include "codec/jobj.h"
#include "wire/common/wire.h"

int wire_fail(struct http_call *c, const struct wopr_error *err); /* http_fail, then HTTP_DONE */
/* Reply with a rendered buffer and take its bytes, also on failure.  Uses c->user: only for calls
 * that keep nothing there. */
int wire_reply_buf(struct http_call *c, int status, struct buf *b);

/* Reply with an object built on the side; ends o. */
int wire_reply_object(struct http_call *c, int status, struct jobj *o);

/* Head of the run named by {runId}: NOT_FOUND (also for over-long ids, foreign runs, and a ticket
 * for another run), EXPIRED, VERSION_MISMATCH (VER-3). */
MUST_CHECK int wire_run_of(struct http_call *c, struct run_head *out, struct wopr_error *err);
/* VER-3: refuse a row that a newer engine wrote, with its three details. */
MUST_CHECK int wire_head_check(const struct run_head *head, struct wopr_error *err);

/* Query parameter of decimal digits within min..max (absent when it is not given), else VALIDATION
 * with details {parameter, minimum, maximum} (SSE-31). */
MUST_CHECK int wire_int_param(const struct http_call *c, const char *name, int64_t min, int64_t max,
                              int64_t absent, int64_t *out, struct wopr_error *err);
/* VALIDATION about one query parameter: details {parameter}; name and message are literals. */
int wire_param_error(struct wopr_error *err, const char *name, const char *message);
/* The same about a request header: details {header}. */
int wire_header_error(struct wopr_error *err, const char *name, const char *message);

/* If-None-Match against a quoted etag: list, weak prefixes, "*". */
bool wire_etag_matches(struct str if_none_match, struct str etag);
/* 32 hex digits of SHA-256 in quotes, in a; STR_NONE when memory is short. */
struct str wire_etag_of(struct str bytes, struct arena *a);
/* A cached public document with its validator: 200, or 304 when the client has it (CAP-30). */
int wire_reply_document(struct http_call *c, struct str body, struct str etag,
                        const char *cache_control);

#endif
