/*
 * seal.c: AES-256-GCM of GnuTLS over single values; see seal.h.
 */
#include "codec/seal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "codec/bytes.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#define SCOPE_LABEL "wopr seal 1"

static int seal_no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to seal a value");
}

static int cipher_new(const uint8_t key[32], gnutls_aead_cipher_hd_t *out) {
    gnutls_datum_t k = {.data = (unsigned char *)(uintptr_t)key, .size = 32};
    if (fault_hit(FAULT_MALLOC)) return GNUTLS_E_MEMORY_ERROR;
    return gnutls_aead_cipher_init(out, GNUTLS_CIPHER_AES_256_GCM, &k);
}

int seal_gcm(const uint8_t key[32], const uint8_t nonce[12], struct str aad, struct str clear,
             uint8_t *out) {
    gnutls_aead_cipher_hd_t c;
    size_t n = clear.n + SEAL_TAG_BYTES;
    int rc = cipher_new(key, &c);
    if (rc != 0) return rc;
    rc = gnutls_aead_cipher_encrypt(c, nonce, SEAL_NONCE_BYTES, aad.p, aad.n, SEAL_TAG_BYTES,
                                    clear.p, clear.n, out, &n);
    gnutls_aead_cipher_deinit(c);
    return rc;
}

/* What is authenticated beside the value: the scope and, as eight bytes, the place in it. */
static int place_text(const struct seal_place *where, struct buf *out) {
    char at[8];
    for (size_t i = 0; i < sizeof at; i++) at[i] = (char)((uint64_t)where->at >> (56 - 8 * i));
    buf_init(out, where->scope.n + sizeof at);
    buf_adds(out, where->scope);
    buf_add(out, at, sizeof at);
    return buf_failed(out) ? WOPR_E_NO_MEMORY : 0;
}

static int scope_key(const struct seal_secret *k, struct str scope, struct seal_secret *out) {
    struct buf label;
    buf_init(&label, sizeof SCOPE_LABEL + scope.n);
    buf_add(&label, SCOPE_LABEL, sizeof SCOPE_LABEL); /* with its NUL, which no scope begins with */
    buf_adds(&label, scope);
    bool failed = buf_failed(&label);
    struct sha256 d = {{0}};
    if (!failed) d = hmac_sha256(str_n((const char *)k->b, sizeof k->b), buf_str(&label));
    buf_fini(&label);
    memcpy(out->b, d.b, sizeof out->b);
    return failed ? WOPR_E_NO_MEMORY : 0;
}

int seal_close(const struct seal_secret *k, const struct seal_place *where, struct str clear,
               struct buf *out, struct wopr_error *err) {
    struct seal_secret key = {{0}};
    struct buf aad;
    size_t n = clear.n + SEAL_EXTRA_BYTES;
    if (clear.n > SEAL_CLEAR_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "a sealed value takes %u bytes at most",
                              SEAL_CLEAR_MAX);
    uint8_t *box = mem_alloc(n);
    int rc = place_text(where, &aad);
    if (rc == 0) rc = scope_key(k, where->scope, &key);
    if (rc == 0 && !box) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) {
        rng_bytes(box, SEAL_NONCE_BYTES);
        rc = seal_gcm(key.b, box, buf_str(&aad), clear, box + SEAL_NONCE_BYTES) == 0
                 ? 0
                 : WOPR_E_NO_MEMORY;
    }
    if (rc == 0) buf_add(out, box, n);
    if (buf_failed(out)) rc = WOPR_E_NO_MEMORY;
    mem_free(box);
    buf_fini(&aad);
    seal_forget(&key);
    return rc == 0 ? 0 : seal_no_memory(err);
}

static int box_decrypt(const struct seal_secret *key, struct str aad, struct str box, uint8_t *out,
                       size_t *n) {
    gnutls_aead_cipher_hd_t c;
    int rc = cipher_new(key->b, &c);
    if (rc != 0) return WOPR_E_NO_MEMORY;
    rc = gnutls_aead_cipher_decrypt(c, box.p, SEAL_NONCE_BYTES, aad.p, aad.n, SEAL_TAG_BYTES,
                                    box.p + SEAL_NONCE_BYTES, box.n - SEAL_NONCE_BYTES, out, n);
    gnutls_aead_cipher_deinit(c);
    return rc == 0 ? 0 : rc == GNUTLS_E_MEMORY_ERROR ? WOPR_E_NO_MEMORY : WOPR_E_CORRUPT;
}

int seal_open(const struct seal_secret *k, const struct seal_place *where, struct str box,
              struct buf *out, struct wopr_error *err) {
    struct seal_secret key = {{0}};
    struct buf aad;
    if (box.n < SEAL_EXTRA_BYTES)
        return wopr_error_set(err, WOPR_E_CORRUPT, "a sealed value is too short to be one");
    size_t n = box.n - SEAL_EXTRA_BYTES, start = out->len;
    uint8_t *clear = mem_alloc(n + 1);
    int rc = place_text(where, &aad);
    if (rc == 0) rc = scope_key(k, where->scope, &key);
    if (rc == 0 && !clear) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) rc = box_decrypt(&key, buf_str(&aad), box, clear, &n);
    if (rc == 0) buf_add(out, clear, n);
    if (rc == 0 && buf_failed(out)) {
        out->len = start;
        rc = WOPR_E_NO_MEMORY;
    }
    if (clear) gnutls_memset(clear, 0, box.n - SEAL_EXTRA_BYTES);
    mem_free(clear);
    buf_fini(&aad);
    seal_forget(&key);
    if (rc == WOPR_E_CORRUPT)
        return wopr_error_set(err, rc,
                              "a sealed value does not open: another key, or it was "
                              "changed or moved");
    return rc == 0 ? 0 : seal_no_memory(err);
}

void seal_forget(struct seal_secret *k) { gnutls_memset(k->b, 0, sizeof k->b); }
