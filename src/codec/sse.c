/*
 * sse.c: event-stream frames (SSE-9).
 */
#include "codec/sse.h"

/* Every line of text, each after prefix; CR LF, LF and CR end a line. */
static void add_lines(struct buf *b, struct str prefix, struct str text) {
    size_t at = 0;
    for (;;) {
        size_t n = at;
        while (n < text.n && text.p[n] != '\n' && text.p[n] != '\r') n++;
        buf_adds(b, prefix);
        buf_add(b, text.p + at, n - at);
        buf_addc(b, '\n');
        if (n == text.n) return;
        at = n + (text.p[n] == '\r' && n + 1 < text.n && text.p[n + 1] == '\n' ? 2 : 1);
    }
}

static void head_add(struct buf *b, uint64_t id, struct str event) {
    buf_adds(b, STR("id: "));
    buf_add_u64(b, id);
    buf_adds(b, STR("\nevent: "));
    buf_adds(b, event);
    buf_addc(b, '\n');
}

void sse_begin(struct buf *b, uint64_t id, struct str event) {
    head_add(b, id, event);
    buf_adds(b, STR("data: "));
}

void sse_end(struct buf *b) { buf_adds(b, STR("\n\n")); }

void sse_frame(struct buf *b, uint64_t id, struct str event, struct str data) {
    head_add(b, id, event);
    bool one_line = data.n == 0 || (!memchr(data.p, '\n', data.n) && !memchr(data.p, '\r', data.n));
    if (one_line) {
        buf_adds(b, STR("data: "));
        buf_adds(b, data);
        buf_addc(b, '\n');
    } else {
        add_lines(b, STR("data: "), data);
    }
    buf_addc(b, '\n');
}
