/*
 * seal.h: authenticated encryption of single values: AES-256-GCM. Layer: codec.  Pure but for the
 * nonce; any thread.
 *
 * A box is nonce (12 bytes), ciphertext, tag (16).  The key that encrypts is derived from a secret
 * and a scope (a run), so that the nonces of one key are those of one scope only and stay far below
 * the 2^32 random ones that GCM allows.  The place is authenticated with the value: a box that was
 * moved elsewhere does not open.
 */
#ifndef WOPR_CODEC_SEAL_H
#define WOPR_CODEC_SEAL_H

#include "base/arena.h"
#include "base/buf.h"

#define SEAL_NONCE_BYTES 12u
#define SEAL_TAG_BYTES   16u
#define SEAL_EXTRA_BYTES (SEAL_NONCE_BYTES + SEAL_TAG_BYTES) /* a box is longer by this */
#define SEAL_CLEAR_MAX   (16u * 1024 * 1024)

struct seal_secret {
    uint8_t b[32];
};
struct seal_place { /* what a box belongs to: the scope makes its key, both are authenticated */
    struct str scope;
    int64_t at;
};
/* Appends the box of clear to out.  TOO_BIG, NO_MEMORY. */
MUST_CHECK int seal_close(const struct seal_secret *k, const struct seal_place *where,
                          struct str clear, struct buf *out, struct wopr_error *err);
/* Appends what the box holds.  CORRUPT: another secret, another place, or a changed bit; NO_MEMORY.
 * Nothing is appended then. */
MUST_CHECK int seal_open(const struct seal_secret *k, const struct seal_place *where,
                         struct str box, struct buf *out, struct wopr_error *err);
void seal_forget(struct seal_secret *k); /* overwrites it */

/* The cipher itself, for the test vectors: key of 32 bytes, nonce of 12. out holds n bytes and the
 * tag. 0, or the GnuTLS error. */
MUST_CHECK int seal_gcm(const uint8_t key[32], const uint8_t nonce[12], struct str aad,
                        struct str clear, uint8_t *out);

#endif
