/*
 * fuzz_token.c: interrupt tokens (INT-36, INT-37).
 *  - only the very text that was minted is taken, however few bytes differ;
 *  - a payload of any bytes under a right MAC is refused or read as its claims, never half;
 *  - whatever was read can be minted again, and says the same.
 */
#include "bend.h"
#include "codec/bytes.h"
#include "domain/token.h"

enum { FUZZ_BYTES_MAX = 2048, ARENA_BYTES = 4 << 20 };
#define NOW INT64_C(1767225600000)
#define KID STR("01ARZ3NDEKTSV4RRFFQ69G5FAV")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t SECRET[TOKEN_SECRET_BYTES] = {7, 7, 7};

static struct str minted(struct arena *a) {
    struct token_claims c = {.run_id = STR("run_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
                             .node_id = STR("gate"),
                             .interrupt_id = STR("int_1"),
                             .tenant = STR("default"),
                             .expires_ms = NOW + 1};
    struct buf b;
    buf_init(&b, TOKEN_BYTES_MAX);
    ASSERT(token_encode(&c, KID, SECRET, &b, NULL) == 0);
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return s;
}

static struct str signed_payload(struct arena *a, struct str payload) {
    struct buf b;
    buf_init(&b, FUZZ_BYTES_MAX * 2);
    buf_addz(&b, "ow2.hs256.k.");
    base64url_encode(&b, payload);
    struct sha256 mac = hmac_sha256(str_n((const char *)SECRET, sizeof SECRET), buf_str(&b));
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((const char *)mac.b, sizeof mac.b));
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    ASSERT(s.p != NULL);
    return s;
}

static int verify(struct arena *a, struct str text, struct token_claims *c) {
    struct token_parts t;
    struct wopr_error err = {0};
    if (!token_cut(text, &t)) return WOPR_E_SYNTAX;
    ASSERT(t.signed_bytes.p == text.p && t.signed_bytes.n + 1 + t.mac.n == text.n);
    int rc = token_verify(&t, SECRET, NOW, a, c, &err);
    ASSERT(rc == 0 || rc == WOPR_E_INTERRUPT_NOT_FOUND || rc == WOPR_E_INTERRUPT_EXPIRED);
    ASSERT(rc == err.code);
    return rc;
}

static void check_payload(struct arena *a, struct str payload) {
    struct token_claims c, again;
    struct wopr_error err;
    struct buf b;
    if (verify(a, signed_payload(a, payload), &c) != 0) return;
    ASSERT(c.run_id.n > 0 && c.node_id.n > 0 && c.interrupt_id.n > 0 && c.tenant.n > 0);
    ASSERT(c.expires_ms > NOW);
    buf_init(&b, TOKEN_BYTES_MAX);
    if (token_encode(&c, KID, SECRET, &b, &err) == 0) {
        ASSERT(verify(a, buf_str(&b), &again) == 0);
        ASSERT(str_eq(c.run_id, again.run_id) && str_eq(c.node_id, again.node_id));
        ASSERT(str_eq(c.interrupt_id, again.interrupt_id) && str_eq(c.tenant, again.tenant));
        ASSERT(c.expires_ms == again.expires_ms);
    } else {
        ASSERT(err.code == WOPR_E_TOO_BIG);
    }
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct str rest = str_n((const char *)data + 1, len - 1);
    struct token_claims c;
    ASSERT(a != NULL);
    struct str truth = minted(a);
    ASSERT(truth.p != NULL);
    struct str text = data[0] & 1 ? bent(a, truth, rest, 2) : rest;
    if (data[0] & 2) check_payload(a, rest);
    else ASSERT((verify(a, text, &c) == 0) == str_eq(text, truth));
    arena_free(a);
    return 0;
}
