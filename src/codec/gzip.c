/*
 * gzip.c: see gzip.h.  zlib's memory comes from base/mem, so that tests can refuse it.
 */
#include "codec/gzip.h"
#include "base/mem.h"

#define ZLIB_CONST
#include <zlib.h>

enum {
    WINDOW_GZIP = 15 + 16, /* the largest window, in a gzip frame */
    LEVEL = 9,
    MEMORY_LEVEL = 8,
    INPUT_STEP = 1 << 20 /* zlib counts in 32 bits */
};

static void *zlib_alloc(void *ctx, unsigned n, unsigned size) {
    (void)ctx;
    return mem_array(n, size);
}
static void zlib_free(void *ctx, void *p) {
    (void)ctx;
    mem_free(p);
}

static unsigned input_next(z_stream *z, struct str in, size_t *at) {
    size_t n = in.n - *at < INPUT_STEP ? in.n - *at : INPUT_STEP;
    z->next_in = (const Bytef *)(in.p + *at);
    z->avail_in = (uInt)n;
    *at += n;
    return (unsigned)n;
}

static int ratio_check(const z_stream *z, uint64_t in, const struct gunzip_bounds *b,
                       struct wopr_error *err) {
    uint64_t out = z->total_out;
    if (out > b->bytes_max)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "more than %llu bytes come out",
                              (unsigned long long)b->bytes_max);
    if (out > b->ratio_from && out / b->ratio_max > in)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "more than %llu bytes come out of each",
                              (unsigned long long)b->ratio_max);
    return 0;
}

static int inflate_all(z_stream *z, struct str in, const struct gunzip_bounds *bounds,
                       gunzip_take *take, void *ctx, char *piece, struct wopr_error *err) {
    size_t at = 0;
    for (;;) {
        if (z->avail_in == 0 && at < in.n) (void)input_next(z, in, &at);
        z->next_out = (Bytef *)piece;
        z->avail_out = GUNZIP_PIECE_BYTES;
        int zrc = inflate(z, Z_NO_FLUSH);
        size_t n = GUNZIP_PIECE_BYTES - z->avail_out;
        int rc = ratio_check(z, at - z->avail_in, bounds, err);
        if (rc == 0 && n > 0) rc = take(ctx, str_n(piece, n), err);
        if (rc != 0) return rc;
        if (zrc == Z_MEM_ERROR)
            return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to inflate");
        if (zrc == Z_STREAM_END) break;
        if (zrc == Z_BUF_ERROR || (zrc == Z_OK && z->avail_in == 0 && at == in.n && n == 0))
            return wopr_error_set(err, WOPR_E_SYNTAX, "the gzip stream is cut off");
        if (zrc != Z_OK) return wopr_error_set(err, WOPR_E_SYNTAX, "this is no sound gzip stream");
    }
    if (z->avail_in > 0 || at < in.n)
        return wopr_error_set(err, WOPR_E_SYNTAX, "bytes follow the end of the gzip stream");
    return 0;
}

int gunzip(struct str in, const struct gunzip_bounds *bounds, gunzip_take *take, void *ctx,
           struct wopr_error *err) {
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free};
    char *piece = mem_alloc(GUNZIP_PIECE_BYTES);
    if (!piece || inflateInit2(&z, WINDOW_GZIP) != Z_OK) {
        mem_free(piece);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to inflate");
    }
    int rc = inflate_all(&z, in, bounds, take, ctx, piece, err);
    (void)inflateEnd(&z);
    mem_free(piece);
    return rc;
}

int gzip(struct str in, struct buf *out, struct wopr_error *err) {
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free};
    gz_header head = {.os = 255}; /* no system, no time, no name */
    char piece[8192];
    size_t at = 0, before = out->len;
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to compress");
    int zrc = deflateSetHeader(&z, &head);
    while (zrc == Z_OK) {
        if (z.avail_in == 0 && at < in.n) (void)input_next(&z, in, &at);
        z.next_out = (Bytef *)piece;
        z.avail_out = sizeof piece;
        zrc = deflate(&z, at == in.n ? Z_FINISH : Z_NO_FLUSH);
        buf_add(out, piece, sizeof piece - z.avail_out);
    }
    (void)deflateEnd(&z);
    if (zrc == Z_STREAM_END && !buf_failed(out)) return 0;
    bool over = buf_over(out);
    out->len = before;
    return wopr_error_set(err, over ? WOPR_E_TOO_BIG : WOPR_E_NO_MEMORY,
                          over ? "the compressed bytes exceed their bound"
                               : "no memory to compress");
}
