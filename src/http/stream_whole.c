/*
 * stream_whole.c: what is left of a finished run, as one answer.  Nothing will be added to its log,
 * so a short rest needs no stream: it is rendered at once and sent with its length, in one write,
 * and the connection may be used again (SSE-23 is read as the end of the response).
 */
#include "base/clock.h"
#include "http/stream.h"

enum { WHOLE_BYTES_MAX = 64 * 1024 }; /* beyond: piece by piece */

bool stream_whole(struct stream *st, enum fill (*fill)(struct stream *st)) {
    uint64_t until_ms = clock_mono_ms() + HTTP_STREAM_TURN_MS;
    struct buf all;
    bool more = true;
    buf_init(&all, WHOLE_BYTES_MAX + HTTP_FRAME_BYTES_MAX);
    while (more && !fold_away(st) && all.len < WHOLE_BYTES_MAX && clock_mono_ms() <= until_ms) {
        (void)fill(st);
        if (st->failed) break;
        buf_add(&all, st->p, st->n);
        more = !st->last;
    }
    if (buf_failed(&all)) st->failed = true;
    st->whole = all;
    st->p = all.p;
    st->n = all.len;
    st->at = 0;
    return !st->failed && !more;
}
