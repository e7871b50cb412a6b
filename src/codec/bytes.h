/*
 * bytes.h: base64url, hex, digests, MACs, Ed25519.  Layer: codec.  Crypto is GnuTLS's.
 */
#ifndef WOPR_CODEC_BYTES_H
#define WOPR_CODEC_BYTES_H

#include "base/arena.h"
#include "base/buf.h"

/* Unpadded base64url (RFC 4648 section 5).  Decoding refuses padding, blanks, and non-zero rest
 * bits. */
void base64url_encode(struct buf *b, struct str in);
MUST_CHECK int base64url_decode(struct str in, struct buf *out, struct wopr_error *err);
void base64_encode(struct buf *b, struct str in); /* standard alphabet, padded */
MUST_CHECK int base64_decode(struct str in, struct buf *out, struct wopr_error *err);
void hex_encode(struct buf *b, struct str in); /* lower case */
MUST_CHECK int hex_decode(struct str in, struct buf *out, struct wopr_error *err);

/* Percent-encoding of RFC 3986: everything but unreserved characters is escaped. */
void percent_encode(struct buf *b, struct str in);

struct sha256 {
    uint8_t b[32];
};
struct sha256 sha256_of(struct str in);
struct sha256 sha256_of2(struct str a, struct str b); /* digest of the concatenation */
struct sha256 hmac_sha256(struct str key, struct str in);
/* The same with a key that many messages have: what depends on it alone is computed once, which is
 * two thirds of the work for a message of a few dozen bytes.  hmac_key_of may be called by any
 * number of threads.  NULL: no memory. */
struct hmac_key;
struct hmac_key *hmac_key_new(const uint8_t key[32]);
struct sha256 hmac_key_of(const struct hmac_key *k, struct str in);
void hmac_key_free(struct hmac_key *k);
void sha256_hex(const struct sha256 *d, char out[65]);
bool sha256_eq(const struct sha256 *x, const struct sha256 *y); /* constant time */

struct ed25519_key {
    uint8_t secret[32], pub[32];
};
/* INTERNAL when GnuTLS refuses; secret is the 32 bytes that RFC 8032 calls the private key. */
MUST_CHECK int ed25519_generate(struct ed25519_key *out, struct wopr_error *err);
MUST_CHECK int ed25519_from_secret(const uint8_t secret[32], struct ed25519_key *out,
                                   struct wopr_error *err);
MUST_CHECK int ed25519_sign(const struct ed25519_key *k, struct str msg, uint8_t sig[64],
                            struct wopr_error *err);
/* false for a wrong signature, and for a key that is none. */
bool ed25519_verify(const uint8_t pub[32], struct str msg, const uint8_t sig[64]);

#endif
