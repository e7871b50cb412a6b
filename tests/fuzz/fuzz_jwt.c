/*
 * fuzz_jwt.c: signed tokens and sets of keys out of any bytes (AUTH-21, AUTH-23).
 *  - only the very text that was signed is taken, however few bytes differ;
 *  - a header of any bytes is read as one of our algorithms or refused;
 *  - a set of keys of any bytes is read or refused with a reason, and no key of it accepts a
 *    signature that it did not make.
 */
#include "bend.h"
#include "codec/bytes.h"
#include "codec/jwk.h"

enum { FUZZ_BYTES_MAX = 4096, ARENA_BYTES = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t SECRET[32] = {7, 7, 7};
static struct ed25519_key key;
static struct jwk_set *keys;

static struct str token_of(struct arena *a, struct str header, struct str claims) {
    struct buf b;
    uint8_t sig[64];
    buf_init(&b, 1 << 16);
    base64url_encode(&b, header);
    buf_addc(&b, '.');
    base64url_encode(&b, claims);
    ASSERT(ed25519_sign(&key, buf_str(&b), sig, NULL) == 0);
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((const char *)sig, sizeof sig));
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    ASSERT(s.p != NULL);
    return s;
}

static void keys_make(void) {
    struct buf b;
    ASSERT(ed25519_from_secret(SECRET, &key, NULL) == 0);
    buf_init(&b, 4096);
    buf_addz(&b, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"k\",\"x\":\"");
    base64url_encode(&b, str_n((const char *)key.pub, sizeof key.pub));
    buf_addz(&b, "\"}]}");
    ASSERT(jwk_set_read(buf_str(&b), &keys, NULL) == 0);
    buf_fini(&b);
}

/* Does a token of these bytes verify? */
static bool taken(struct arena *a, struct str text, const struct jwk_set *set) {
    struct jwt t;
    struct wopr_error err = {0};
    int rc = jwt_read(text, a, &t, &err);
    ASSERT(rc == 0 || rc == WOPR_E_SYNTAX || rc == WOPR_E_TOO_BIG);
    ASSERT(rc == err.code);
    if (rc != 0) return false;
    ASSERT(t.alg == JWS_RS256 || t.alg == JWS_ES256 || t.alg == JWS_EDDSA);
    ASSERT(t.signed_bytes.p == text.p && t.signed_bytes.n + 1 < text.n);
    ASSERT(t.signature.n > 0 && t.claims.n >= 2);
    return jwk_set_signed(set, &t);
}

static void check_set(struct arena *a, struct str text, struct str truth) {
    struct jwk_set *set = NULL;
    struct wopr_error err = {0};
    int rc = jwk_set_read(text, &set, &err);
    ASSERT(rc == err.code && (rc == 0) == (set != NULL));
    if (rc != 0) return;
    ASSERT(jwk_set_count(set) > 0 && jwk_set_count(set) <= JWK_KEYS_MAX);
    (void)taken(a, truth, set); /* it may be the very key */
    jwk_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    if (!keys) keys_make();
    struct arena *a = arena_new(ARENA_BYTES);
    struct str rest = str_n((const char *)data + 1, len - 1);
    ASSERT(a != NULL);
    struct str truth =
        token_of(a, STR("{\"alg\":\"EdDSA\",\"kid\":\"k\"}"), STR("{\"sub\":\"s\"}"));
    ASSERT(taken(a, truth, keys));
    struct str text = data[0] & 1 ? bent(a, truth, rest, 1) : rest;
    if (data[0] & 2) check_set(a, rest, truth);
    else if (data[0] & 4) (void)taken(a, token_of(a, rest, STR("{}")), keys);
    else if (data[0] & 8) (void)taken(a, token_of(a, STR("{\"alg\":\"EdDSA\"}"), rest), keys);
    else ASSERT(taken(a, text, keys) == str_eq(text, truth));
    arena_free(a);
    return 0;
}
