/*
 * jwt.h: signed tokens of others: JWS in compact form (RFC 7515), whose payload is a JSON object
 * (RFC 7519).  Layer: codec.
 *
 * Reading says nothing of who signed: see jwk.h.  Only what the header says of the algorithm and of
 * the key's id is used; keys and addresses of keys inside a header (jwk, jku, x5u) are ignored.
 */
#ifndef WOPR_CODEC_JWT_H
#define WOPR_CODEC_JWT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Asymmetric algorithms only (AUTH-21): there is no value for "none", nor for one that takes a
 * public key for a shared secret. */
enum jws_alg { JWS_RS256 = 1, JWS_ES256 = 2, JWS_EDDSA = 4 };
unsigned jws_alg_find(struct str name); /* 0: none of ours */

enum { JWT_BYTES_MAX = 8 * 1024, JWT_DEPTH_MAX = 16, JWT_KID_MAX = 256 };

struct jwt {
    unsigned alg;            /* one of enum jws_alg */
    bool has_kid;            /* kid may be empty */
    struct str kid;          /* in the arena */
    struct str signed_bytes; /* borrowed from the text */
    struct str claims;       /* checked JSON object text, in the arena */
    struct str signature;    /* in the arena */
};

/* SYNTAX: not three parts of strict base64url, a header or payload that json_check refuses, another
 * algorithm, crit or cty, a typ of another kind of token; the message never quotes the token.
 * TOO_BIG: beyond JWT_BYTES_MAX.  NO_MEMORY. */
MUST_CHECK int jwt_read(struct str text, struct arena *a, struct jwt *out, struct wopr_error *err);

#endif
