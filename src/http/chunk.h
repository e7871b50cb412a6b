/*
 * chunk.h: the chunked transfer coding of a request body (RFC 9112 7.1), byte for byte.  Layer:
 * http.  Pure.  A size is 1 to 15 hexadecimal digits, followed by CR LF or by extensions from a ";"
 * on, which are bounded and dropped, as are trailer fields.  Every line ends in CR LF.
 */
#ifndef WOPR_HTTP_CHUNK_H
#define WOPR_HTTP_CHUNK_H

#include "base/str.h"

enum { CHUNK_DIGITS_MAX = 15, CHUNK_EXTENSION_MAX = 256, CHUNK_TRAILERS_MAX = 8 * 1024 };
struct chunk_reader { /* all zero at first */
    uint64_t left;    /* of the chunk's data */
    unsigned state;   /* enum in chunk.c */
    unsigned digits, bytes;
    bool named; /* the trailer line has a name before its colon */
};
enum chunk_seen { CHUNK_MORE, CHUNK_DATA, CHUNK_LAST, CHUNK_BAD };
/* Take bytes from the front of *in.  CHUNK_DATA: *data is a piece of the body, go on with the rest
 * of *in.  CHUNK_MORE: *in is used up.  CHUNK_LAST: the body is complete, *in is what follows it.
 */
enum chunk_seen chunk_take(struct chunk_reader *r, struct str *in, struct str *data);

#endif
