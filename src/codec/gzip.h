/*
 * gzip.h: gzip streams (RFC 1952), piece by piece.  Layer: codec.  The only user of zlib.
 * Pure; one user at a time.
 */
#ifndef WOPR_CODEC_GZIP_H
#define WOPR_CODEC_GZIP_H

#include "base/buf.h"
#include "base/error.h"

#define GUNZIP_PIECE_BYTES (64u * 1024)

struct gunzip_bounds {
    uint64_t bytes_max;  /* of all that comes out */
    uint64_t ratio_max;  /* bytes out per byte in ... */
    uint64_t ratio_from; /* ... once so many are out */
};
/* Gets what comes out, in pieces of at most GUNZIP_PIECE_BYTES; an error ends the call with it. */
typedef int gunzip_take(void *ctx, struct str piece, struct wopr_error *err);
/* One gzip stream and nothing after it.  SYNTAX: damaged, truncated, or bytes follow its end;
 * TOO_BIG: more comes out than the bounds allow; NO_MEMORY; what take returned. */
MUST_CHECK int gunzip(struct str in, const struct gunzip_bounds *bounds, gunzip_take *take,
                      void *ctx, struct wopr_error *err);
/* Append in, compressed: the same bytes for the same input, with no name and no time.  NO_MEMORY,
 * TOO_BIG for out. */
MUST_CHECK int gzip(struct str in, struct buf *out, struct wopr_error *err);

#endif
