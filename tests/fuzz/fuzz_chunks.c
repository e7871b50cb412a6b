/*
 * fuzz_chunks.c: the chunked coding (RFC 9112 7.1).
 *  - verdict, body and what follows it do not depend on how the bytes are cut into pieces;
 *  - a body that is accepted is what it decodes to when it is coded anew.
 */
#include "base/buf.h"
#include "http/chunk.h"

enum { FUZZ_BYTES_MAX = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum chunk_seen decode(struct str in, size_t piece, struct buf *body, size_t *used) {
    struct chunk_reader r = {0};
    enum chunk_seen is = CHUNK_MORE;
    *used = 0;
    while (*used < in.n && is == CHUNK_MORE) {
        size_t n = piece < in.n - *used ? piece : in.n - *used;
        struct str part = str_n(in.p + *used, n), data;
        while ((is = chunk_take(&r, &part, &data)) == CHUNK_DATA) {
            ASSERT(data.n > 0);
            buf_adds(body, data);
        }
        *used += n - (is == CHUNK_LAST ? part.n : 0);
    }
    return is;
}

static void check_anew(struct str body) {
    struct buf coded, back;
    size_t used;
    buf_init(&coded, 4 * FUZZ_BYTES_MAX);
    buf_init(&back, FUZZ_BYTES_MAX);
    if (body.n > 0) {
        buf_addf(&coded, "%zx\r\n", body.n);
        buf_adds(&coded, body);
        buf_addz(&coded, "\r\n");
    }
    buf_addz(&coded, "0\r\n\r\n");
    ASSERT(decode(buf_str(&coded), 3, &back, &used) == CHUNK_LAST && used == coded.len);
    ASSERT(str_eq(buf_str(&back), body));
    buf_fini(&coded);
    buf_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len == 0 || len > FUZZ_BYTES_MAX) return 0;
    struct str in = str_n((const char *)data, len);
    struct buf whole, cut;
    size_t whole_used, cut_used;
    buf_init(&whole, FUZZ_BYTES_MAX);
    buf_init(&cut, FUZZ_BYTES_MAX);
    enum chunk_seen is = decode(in, len, &whole, &whole_used);
    for (size_t piece = 1; piece < 6; piece++) {
        buf_reset(&cut);
        ASSERT(decode(in, piece, &cut, &cut_used) == is);
        ASSERT(str_eq(buf_str(&whole), buf_str(&cut)));
        ASSERT(is != CHUNK_LAST || whole_used == cut_used);
    }
    if (is == CHUNK_LAST) check_anew(buf_str(&whole));
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
