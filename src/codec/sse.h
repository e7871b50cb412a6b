/*
 * sse.h: frames of the event-stream format (SSE-9).  Layer: codec.
 */
#ifndef WOPR_CODEC_SSE_H
#define WOPR_CODEC_SSE_H

#include "base/buf.h"

/* "id: <id>\nevent: <event>\ndata: <data>\n\n".  Data with line breaks becomes one data line each.
 * event: ours, no line breaks. */
void sse_frame(struct buf *b, uint64_t id, struct str event, struct str data);
/* The same around data that the caller renders in place, on one line: begin, data, end. */
void sse_begin(struct buf *b, uint64_t id, struct str event);
void sse_end(struct buf *b);

#endif
