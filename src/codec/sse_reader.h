/*
 * sse_reader.h: events out of the bytes of an event stream, as they come (WHATWG HTML 9.2.6).
 * Layer: codec.  Pure: no I/O, no clock.  One event at a time is kept, and no more of it than the
 * maximum; the cost of a byte is the same however the stream is cut into pieces.
 */
#ifndef WOPR_CODEC_SSE_READER_H
#define WOPR_CODEC_SSE_READER_H

#include "base/buf.h"

#define SSE_WORD_MAX 1024u /* bytes of an id, and of a name of an event */

struct sse_event {
    struct str event; /* "message" when the stream gives none */
    struct str data;  /* its data lines, joined by LF; any bytes: check them */
    struct str id;    /* the last one that the stream gave, or empty */
};
struct sse_reader {
    struct buf line, data, event, id;
    size_t max;
    unsigned bom; /* bytes of a byte order mark at the start, 3: past it */
    bool has_data, comment, after_cr, given;
    int64_t retry_ms; /* the last one that the stream gave, -1 = none */
    int rc;           /* the first failure sticks */
};
/* event_max: bytes of one event's data and of one line.  Allocates nothing, cannot fail. */
void sse_reader_init(struct sse_reader *r, size_t event_max);
void sse_reader_fini(struct sse_reader *r);
/* Take bytes off the front of *bytes up to the end of the next event.  1: *out is it, valid until
 * the next call; ask again, there may be more in *bytes.  0: *bytes is used up.  Errors: TOO_BIG,
 * NO_MEMORY; they stick.  What a stream ends with before its last blank line is no event: a stream
 * that was cut looks the same. */
MUST_CHECK int sse_reader_next(struct sse_reader *r, struct str *bytes, struct sse_event *out);

#endif
