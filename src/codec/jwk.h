/*
 * jwk.h: sets of public keys (RFC 7517), and whether one of them signed a token.  Layer: codec.
 *
 * A set never changes after it was read; any number of threads may verify with it.
 */
#ifndef WOPR_CODEC_JWK_H
#define WOPR_CODEC_JWK_H

#include "codec/jwt.h"

struct jwk_set;
enum {
    JWK_SET_BYTES_MAX = 256 * 1024,
    JWK_KEYS_MAX = 64,
    JWK_RSA_BITS_MIN = 2048,
    JWK_RSA_BITS_MAX = 8192
};

/* RSA (RS256), EC P-256 (ES256) and OKP Ed25519 (EdDSA) keys for signatures; keys of other kinds,
 * curves, algorithms or uses are passed over.  SYNTAX, naming keys[i]: a key of ours that is
 * malformed, weak, private or there twice; no key of ours at all.  TOO_BIG.  NO_MEMORY. */
MUST_CHECK int jwk_set_read(struct str text, struct jwk_set **out, struct wopr_error *err);
void jwk_set_free(struct jwk_set *s); /* takes NULL */
size_t jwk_set_count(const struct jwk_set *s);

/* At most one signature is checked: by the key with the token's kid and for its algorithm; of a
 * token without kid, by the only key for its algorithm. */
bool jwk_set_signed(const struct jwk_set *s, const struct jwt *t);
/* Does the token name a key of the set?  Without kid: never. */
bool jwk_set_named(const struct jwk_set *s, const struct jwt *t);

#endif
