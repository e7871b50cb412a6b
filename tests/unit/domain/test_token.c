/*
 * test_token.c: signed interrupt tokens (INT-35 to INT-38, D45 to D47, AUTH-14).
 */
#include "codec/bytes.h"
#include "domain/token.h"

#include <criterion/criterion.h>

static struct arena *arena;
static uint8_t secret[TOKEN_SECRET_BYTES], other[TOKEN_SECRET_BYTES];
#define NOW   INT64_C(1767225600000) /* 2026-01-01T00:00:00.000Z */
#define ENDS  (NOW + 1800000)
#define KID   STR("01ARZ3NDEKTSV4RRFFQ69G5FAV")
#define AGREE STR("run_1")

static void up(void) {
    arena = arena_new(1 << 20);
    memset(secret, 0x5a, sizeof secret);
    memset(other, 0xa5, sizeof other);
}
static void down(void) { arena_free(arena); }
TestSuite(token, .init = up, .fini = down);

static struct token_claims claims(void) {
    return (struct token_claims){.run_id = AGREE,
                                 .node_id = STR("ga\"te"),
                                 .interrupt_id = STR("int_1"),
                                 .tenant = STR("default"),
                                 .expires_ms = ENDS};
}

static struct str minted(void) {
    struct token_claims c = claims();
    struct buf b;
    buf_init(&b, TOKEN_BYTES_MAX);
    cr_assert_eq(token_encode(&c, KID, secret, &b, NULL), 0);
    struct str s = arena_str(arena, buf_str(&b));
    buf_fini(&b);
    return s;
}

static int verify(struct str text, const uint8_t *key, int64_t now, struct token_claims *c) {
    struct token_parts t;
    struct wopr_error err = {0};
    if (!token_cut(text, &t)) return WOPR_E_SYNTAX;
    return token_verify(&t, key, now, arena, c, &err);
}

/* A token over any payload, signed rightly: what only the holder of the secret can make. */
static struct str forged(const char *payload) {
    struct buf b;
    buf_init(&b, TOKEN_BYTES_MAX);
    buf_addz(&b, "ow2.hs256.");
    buf_adds(&b, KID);
    buf_addc(&b, '.');
    base64url_encode(&b, str_c(payload));
    struct sha256 mac = hmac_sha256(str_n((const char *)secret, sizeof secret), buf_str(&b));
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((const char *)mac.b, sizeof mac.b));
    struct str s = arena_str(arena, buf_str(&b));
    buf_fini(&b);
    return s;
}

Test(token, what_is_minted_verifies_and_says_what_it_is_for) {
    struct str t = minted();
    struct token_parts p;
    struct token_claims c;
    struct buf payload;
    cr_assert(token_cut(t, &p));
    cr_expect(str_eq(p.kid, KID));
    buf_init(&payload, 4096);
    cr_assert_eq(base64url_decode(p.payload, &payload, NULL), 0);
    cr_expect(str_eqc(buf_str(&payload),
                      "{\"runId\":\"run_1\",\"nodeId\":\"ga\\\"te\",\"interruptId\":\"int_1\","
                      "\"expiresAt\":\"2026-01-01T00:30:00.000Z\",\"intent\":\"resolve\","
                      "\"tenant\":\"default\"}"),
              STR_FMT, STR_ARG(buf_str(&payload)));
    buf_fini(&payload);
    cr_assert_eq(verify(t, secret, NOW, &c), 0);
    cr_expect(str_eq(c.run_id, AGREE) && str_eqc(c.node_id, "ga\"te"));
    cr_expect(str_eqc(c.interrupt_id, "int_1") && str_eqc(c.tenant, "default"));
    cr_expect_eq(c.expires_ms, ENDS);
}

Test(token, the_mac_covers_every_byte_before_the_last_dot /* D46 */) {
    struct str t = minted();
    struct token_parts p;
    struct buf mac;
    cr_assert(token_cut(t, &p));
    cr_expect_eq(p.signed_bytes.n + 1 + p.mac.n, t.n);
    struct sha256 want = hmac_sha256(str_n((const char *)secret, sizeof secret), p.signed_bytes);
    buf_init(&mac, 64);
    cr_assert_eq(base64url_decode(p.mac, &mac, NULL), 0);
    cr_expect(str_eq(buf_str(&mac), str_n((const char *)want.b, sizeof want.b)));
    buf_fini(&mac);
}

Test(token, any_other_byte_is_not_found /* INT-37 */) {
    struct str t = minted();
    char *copy = arena_cstr(arena, t);
    for (size_t i = 0; i < t.n; i++) {
        struct token_claims c;
        char was = copy[i];
        copy[i] = was == 'A' ? 'B' : 'A';
        int rc = verify(str_n(copy, t.n), secret, NOW, &c);
        cr_expect(rc == WOPR_E_INTERRUPT_NOT_FOUND || rc == WOPR_E_SYNTAX, "byte %zu: %d", i, rc);
        copy[i] = was;
    }
    for (size_t n = 0; n < t.n; n++) {
        struct token_claims c;
        cr_expect_neq(verify(str_n(t.p, n), secret, NOW, &c), 0, "cut after %zu", n);
    }
    struct token_claims c;
    cr_expect_eq(verify(t, other, NOW, &c), WOPR_E_INTERRUPT_NOT_FOUND, "another secret");
}

Test(token, expiry_is_told_only_of_authentic_tokens /* INT-37 */) {
    struct token_claims c;
    cr_expect_eq(verify(minted(), secret, ENDS - 1, &c), 0);
    cr_expect_eq(verify(minted(), secret, ENDS, &c), WOPR_E_INTERRUPT_EXPIRED);
    cr_expect_eq(verify(minted(), other, ENDS, &c), WOPR_E_INTERRUPT_NOT_FOUND);
}

Test(token, other_shapes_are_no_tokens /* INT-36, INT-38 */) {
    static const char *const bad[] = {"",
                                      "x",
                                      "ow2",
                                      "ow2.hs256.",
                                      "ow2.hs256.k..m",
                                      "ow2.hs256.k.p.",
                                      "ow2.hs256..p.m",
                                      "ow2.hs256.k.p.m.more",
                                      "ow2.hs512.k.p.m",
                                      "ow2.none.k.p.",
                                      "OW2.hs256.k.p.m",
                                      "ow2.hs256.k/k.p.m",
                                      "payload.mac"};
    struct token_parts t;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(token_cut(str_c(bad[i]), &t), "%s", bad[i]);
    char *big = arena_alloc(arena, TOKEN_BYTES_MAX + 1);
    memset(big, 'a', TOKEN_BYTES_MAX + 1);
    memcpy(big, "ow2.hs256.k.p.", 14);
    cr_expect(token_cut(str_n(big, TOKEN_BYTES_MAX), &t));
    cr_expect_not(token_cut(str_n(big, TOKEN_BYTES_MAX + 1), &t));
}

Test(token, an_authentic_payload_must_still_be_a_resolve_token /* INT-36 */) {
#define IDS "\"runId\":\"r\",\"nodeId\":\"n\",\"interruptId\":\"i\",\"tenant\":\"t\""
#define AT  "\"expiresAt\":\"2026-01-01T00:30:00.000Z\""
    static const char *const bad[] = {
        "",
        "null",
        "[]",
        "{",
        "{}",
        "{" IDS "," AT "}",
        "{" IDS "," AT ",\"intent\":\"inspect\"}",
        "{" IDS ",\"intent\":\"resolve\"}",
        "{" IDS ",\"expiresAt\":1767225600000,\"intent\":\"resolve\"}",
        "{" IDS "," AT ",\"intent\":\"resolve\",\"intent\":\"resolve\"}",
        "{\"runId\":1,\"nodeId\":\"n\",\"interruptId\":\"i\",\"tenant\":\"t\"," AT
        ",\"intent\":\"resolve\"}"};
    struct token_claims c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc = verify(forged(bad[i]), secret, NOW, &c);
        cr_expect(rc == WOPR_E_INTERRUPT_NOT_FOUND || rc == WOPR_E_SYNTAX, "%s: %d", bad[i], rc);
    }
    cr_expect_eq(verify(forged("{" IDS "," AT ",\"intent\":\"resolve\"}"), secret, NOW, &c), 0);
}

Test(token, encode_refuses_what_could_not_be_verified) {
    struct token_claims c = claims();
    struct wopr_error err = {0};
    struct buf b;
    buf_init(&b, TOKEN_BYTES_MAX);
    c.tenant = STR_NONE;
    cr_expect_eq(token_encode(&c, KID, secret, &b, &err), WOPR_E_VALIDATION);
    c = claims();
    cr_expect_eq(token_encode(&c, STR("a.b"), secret, &b, &err), WOPR_E_VALIDATION);
    cr_expect_eq(token_encode(&c, STR(""), secret, &b, &err), WOPR_E_VALIDATION);
    char *wide = arena_alloc(arena, 256);
    memset(wide, '\x01', 256); /* six bytes each as JSON */
    c.node_id = str_n(wide, 256);
    cr_expect_eq(token_encode(&c, KID, secret, &b, &err), WOPR_E_TOO_BIG);
    cr_expect_eq(b.len, 0u, "nothing is written on failure");
    buf_fini(&b);
}

Test(token, lifetime /* INT-37 */) {
    cr_expect_eq(token_expiry(NOW, 1800000, 0), NOW + 1800000, "no deadline: the configured time");
    cr_expect_eq(token_expiry(NOW, 1800000, NOW + 5), NOW + 5, "an earlier deadline cuts");
    cr_expect_eq(token_expiry(NOW, 1800000, NOW + 90000000), NOW + 90000000,
                 "a later deadline extends");
}
