/*
 * signing.h: digests, keys and signatures of packs (PACK-21, PACK-24, PACK-25, PACK-53).
 * Layer: packs (pure).
 *
 * A signature is Ed25519, 64 raw bytes, over the bytes of the tarball; what was signed by others
 * may be over pack.json alone (PACK-24).
 */
#ifndef WOPR_PACKS_SIGNING_H
#define WOPR_PACKS_SIGNING_H

#include "codec/bytes.h"

#define PACK_SRI_BYTES       51u /* "sha256-" and 44 characters */
#define PACK_KEY_ID_BYTES    16u /* hex digits of the digest of the SubjectPublicKeyInfo */
#define PACK_KEY_TEXT_BYTES  60u /* base64 of the SubjectPublicKeyInfo */
#define PACK_SIGNATURE_BYTES 64u

struct pack_key_id {
    char text[PACK_KEY_ID_BYTES + 1];
};

void pack_sri(const struct sha256 *d, struct buf *out);
/* false: no "sha256-" and 44 characters of base64 that are the only spelling of their bytes. */
bool pack_sri_read(struct str text, struct sha256 *out);

/* A public key: PEM ("BEGIN PUBLIC KEY") or base64 of the SubjectPublicKeyInfo.  VALIDATION: no
 * Ed25519 key in one of these forms. */
MUST_CHECK int pack_key_read(struct str text, uint8_t pub[32], struct wopr_error *err);
void pack_key_text(const uint8_t pub[32], struct buf *out); /* base64 */
void pack_key_pem(const uint8_t pub[32], struct buf *out);
struct pack_key_id pack_key_id(const uint8_t pub[32]);
/* A private key as openssl writes it (PEM, PKCS #8), and back.  VALIDATION. */
MUST_CHECK int pack_secret_read(struct str text, struct ed25519_key *out, struct wopr_error *err);
void pack_secret_pem(const struct ed25519_key *k, struct buf *out);

/* PACK-53: what the old key signs for a new one: kid, public key and time joined, no separator. */
MUST_CHECK int pack_rotation_text(struct str kid, struct str public_key, struct str valid_from,
                                  struct buf *out);

#endif
