/*
 * fuzz_sse_reader.c: the reader of event streams, on any bytes.
 *  - however the bytes are cut, the events are the same, and so is the failure;
 *  - no event has more data than the maximum, and its data has no CR.
 */
#include "codec/sse_reader.h"

enum { FUZZ_BYTES_MAX = 1 << 14, FUZZ_NOTED_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void note(struct buf *b, struct str s) {
    buf_add_u64(b, s.n);
    buf_addc(b, ':');
    buf_adds(b, s);
}

/* cuts: 0 = in one piece; else the seed of the lengths of pieces. */
static int read_all(struct str text, size_t max, uint32_t cuts, struct buf *out) {
    struct sse_reader r;
    struct sse_event e;
    int rc = 0;
    sse_reader_init(&r, max);
    while (rc == 0 && text.n > 0) {
        cuts = cuts * 1664525u + (cuts ? 1013904223u : 0);
        size_t n = cuts ? 1 + (cuts >> 16) % 33 : text.n;
        if (n > text.n) n = text.n;
        struct str piece = str_n(text.p, n);
        while ((rc = sse_reader_next(&r, &piece, &e)) == 1) {
            ASSERT(e.data.n <= max && e.event.n > 0 && e.event.n <= SSE_WORD_MAX);
            ASSERT(e.data.n == 0 || !memchr(e.data.p, '\r', e.data.n));
            note(out, e.event);
            note(out, e.data);
            note(out, e.id);
        }
        ASSERT(rc != 0 || piece.n == 0);
        text = str_n(text.p + n, text.n - n);
    }
    sse_reader_fini(&r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 5 || len > FUZZ_BYTES_MAX) return 0;
    uint32_t cuts;
    struct buf whole, cut;
    size_t max = 1 + (size_t)data[0] * 8;
    memcpy(&cuts, data + 1, sizeof cuts);
    struct str text = str_n((const char *)data + 5, len - 5);
    buf_init(&whole, FUZZ_NOTED_MAX);
    buf_init(&cut, FUZZ_NOTED_MAX);
    int rc = read_all(text, max, 0, &whole);
    ASSERT(rc == 0 || rc == WOPR_E_TOO_BIG);
    ASSERT(read_all(text, max, cuts | 1u, &cut) == rc);
    ASSERT(!buf_failed(&whole) && str_eq(buf_str(&whole), buf_str(&cut)));
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
