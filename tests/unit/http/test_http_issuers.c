/*
 * test_http_issuers.c: for whom a token speaks (AUTH-11, AUTH-23): the principal is its issuer's.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "codec/bytes.h"
#include "http/issuers.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define NOW_MS INT64_C(1800000000000)

static const uint8_t SECRET[32] = {1, 2, 3}, OTHER[32] = {4, 5, 6};
static struct ed25519_key key;

static int keys_give(void *ctx, struct str file, struct buf *out, struct wopr_error *err) {
    (void)ctx, (void)file, (void)err;
    buf_addz(out, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
    base64url_encode(out, str_n((const char *)key.pub, sizeof key.pub));
    buf_addz(out, "\"}]}");
    return 0;
}

static const struct http_issuer_files FILES = {.keys = keys_give};

#define ISSUER(name)                                                                               \
    "{\"name\":\"" name "\",\"issuer\":\"https://" name "\",\"audience\":\"w\","                   \
    "\"profile\":\"client-credentials\",\"algorithms\":[\"EdDSA\"],\"jwksFile\":\"k\","            \
    "\"tenant\":\"t\",\"mode\":\"test\"}"

static struct str token_of(struct arena *a, const char *iss, const char *sub) {
    struct buf b;
    uint8_t sig[64];
    buf_init(&b, 1 << 16);
    base64url_encode(&b, STR("{\"alg\":\"EdDSA\"}"));
    buf_addc(&b, '.');
    base64url_encode(&b, arena_printf(a,
                                      "{\"iss\":\"https://%s\",\"aud\":\"w\",\"sub\":\"%s\","
                                      "\"exp\":1800000001.5,\"scope\":\"runs:read host:read x\"}",
                                      iss, sub));
    cr_assert_eq(ed25519_sign(&key, buf_str(&b), sig, NULL), 0);
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((const char *)sig, sizeof sig));
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return s;
}

static struct principal who(struct http_issuers *s, struct arena *a, const char *iss,
                            const char *sub) {
    struct jwt t;
    struct principal p = {0};
    struct wopr_error err = {0};
    cr_assert_eq(jwt_read(token_of(a, iss, sub), a, &t, &err), 0, "%s", err.message);
    cr_assert_eq(issuers_check(s, &t, NOW_MS, a, &p, &err), 0, "%s", err.message);
    return p;
}

Test(http_issuers, a_subject_passes_for_nobody_elses) {
    struct arena *a = arena_new(1 << 20);
    struct http_issuers *s = NULL;
    struct wopr_error err = {0};
    cr_assert_eq(ed25519_from_secret(SECRET, &key, &err), 0);
    cr_assert_eq(http_issuers_new(STR("{\"issuers\":[" ISSUER("one") "," ISSUER("two") "]}"),
                                  &FILES, &s, &err),
                 0, "%s", err.message);
    struct principal one = who(s, a, "one", "alice"), two = who(s, a, "two", "alice");
    cr_expect(str_eqc(one.subject_id, "one:alice"), "votes and credentials compare it alone");
    cr_expect(str_eqc(two.subject_id, "two:alice"));
    cr_expect(str_eqc(one.key_id, "one:alice") && str_eqc(one.subject_issuer, "https://one"));
    cr_expect_eq(one.lane, LANE_OAUTH2, "D18");
    cr_expect(one.test_mode && one.authenticated && str_eqc(one.tenant, "t"));
    cr_expect_eq(one.scopes, scope_bit_of(STR("runs:read")), "no word makes an operator (AUTH-6)");
    cr_expect_eq(one.token_ends_ms, NOW_MS + 1500 + 60000);
    struct principal odd = who(s, a, "one", "alice smith");
    cr_expect(str_starts(odd.subject_id, STR("one#")) && odd.subject_id.n == 4 + 32,
              "other characters are a digest: " STR_FMT, STR_ARG(odd.subject_id));
    http_issuers_free(s);
    arena_free(a);
}

/* --- replaced while they are used --- */

static int anywhere(void *ctx, struct str url, struct wopr_error *err) {
    (void)ctx, (void)url, (void)err;
    return 0;
}
static const struct http_issuer_files URLS = {.keys = keys_give, .reach = anywhere};
#define BY_URL(more)                                                                               \
    "{\"issuers\":[{\"name\":\"u\",\"profile\":\"client-credentials\",\"issuer\":\"https://u\","   \
    "\"audience\":\"w\",\"algorithms\":[\"EdDSA\"],\"tenant\":\"t\",\"jwksUrl\":\"https://"        \
    "k\"" more "}]}"

static int check(struct http_issuers *s, struct arena *a) {
    struct jwt t;
    struct principal p = {0};
    struct wopr_error err = {0};
    cr_assert_eq(jwt_read(token_of(a, "u", "alice"), a, &t, &err), 0, "%s", err.message);
    return issuers_check(s, &t, NOW_MS, a, &p, &err);
}

static int put(struct http_issuers *s, const char *name, const char *jwks) {
    struct wopr_error err = {0};
    return http_issuer_keys_put(s, str_c(name), STR("https://k"), str_c(jwks), &err);
}

static void count_up(void *ctx) { ++*(int *)ctx; }

static const char *published(void) {
    static char text[256];
    struct buf b;
    buf_init(&b, sizeof text);
    (void)keys_give(NULL, STR_NONE, &b, NULL);
    snprintf(text, sizeof text, STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return text;
}

Test(http_issuers, keys_come_and_go_while_tokens_are_checked /* AUTH-21, AUTH-23 */) {
    struct arena *a = arena_new(1 << 20);
    struct http_issuers *s = NULL;
    struct http_issuer_source is;
    struct wopr_error err = {0};
    int wanted = 0;
    cr_assert_eq(ed25519_from_secret(SECRET, &key, &err), 0);
    cr_assert_eq(http_issuers_new(STR(BY_URL("")), &URLS, &s, &err), 0, "%s", err.message);
    http_issuers_wanted(s, count_up, &wanted);
    cr_expect_eq(check(s, a), WOPR_E_UNAVAILABLE, "none came yet");
    cr_expect_eq(wanted, 0, "and they are asked for anyway");
    cr_assert(http_issuer_source_at(s, 0, a, &is) && !http_issuer_source_at(s, 1, a, &is));
    cr_expect(is.age_ms == -1 && is.refresh_ms == 300000 && str_eqc(is.url, "https://k"));
    cr_expect_eq(put(s, "u", "{\"keys\":[]}"), WOPR_E_SYNTAX);
    cr_expect_eq(put(s, "other", published()), WOPR_E_NOT_FOUND);
    cr_expect_eq(check(s, a), WOPR_E_UNAVAILABLE, "neither was taken");
    cr_assert_eq(put(s, "u", published()), 0);
    cr_expect_eq(check(s, a), 0);
    cr_assert(http_issuer_source_at(s, 0, a, &is) && is.age_ms >= 0 && !is.wanted);

    struct issuer_table *table = issuers_hold(s); /* as one who checks */
    struct issuer_keys *keys = issuer_keys_hold(s, &table->v[0]);
    cr_assert_eq(http_issuers_read(s, STR(BY_URL(",\"jwksRefreshSeconds\":7")), &URLS, &err), 0);
    cr_expect_eq(check(s, a), 0, "what came by the URL stays");
    cr_assert(http_issuer_source_at(s, 0, a, &is) && is.refresh_ms == 7000);
    cr_expect_eq(http_issuers_read(s, STR(BY_URL(",\"mode\":3")), &URLS, &err), WOPR_E_CONFIG);
    cr_expect_eq(check(s, a), 0, "what is wrong changes nothing");
    cr_assert_eq(ed25519_from_secret(OTHER, &key, &err), 0);
    cr_assert_eq(put(s, "u", published()), 0);
    cr_assert_eq(ed25519_from_secret(SECRET, &key, &err), 0);
    cr_expect_eq(check(s, a), WOPR_E_UNAUTHENTICATED, "the old key is gone");
    cr_expect_eq(check(s, a), WOPR_E_UNAUTHENTICATED);
    cr_expect_eq(wanted, 1, "once, until keys come");
    cr_assert(http_issuer_source_at(s, 0, a, &is) && is.wanted);
    cr_expect_eq(jwk_set_count(keys->set), 1u, "who held the old ones has them still");
    issuer_keys_drop(s, keys);
    issuers_drop(s, table);
    cr_assert_eq(put(s, "u", published()), 0);
    cr_expect(http_issuer_source_at(s, 0, a, &is) && !is.wanted);
    cr_expect_eq(check(s, a), 0);
    http_issuers_free(s);
    arena_free(a);
}

Test(http_issuers, a_verified_signature_is_remembered_for_its_keys_and_its_time /* AUTH-23 */) {
    enum { MANY = 40000 };
    struct http_issuers *s = NULL;
    struct wopr_error err = {0};
    struct sha256 d;
    size_t known = 0;
    cr_assert_eq(http_issuers_new(STR(BY_URL("")), &URLS, &s, &err), 0, "%s", err.message);
    d = sha256_of(STR("token"));
    cr_expect_not(issuers_seen(s, &d, 1), "nothing before the first");
    issuers_seen_put(s, &d, 1, 0);
    cr_expect_not(issuers_seen(s, &d, 1), "nor of a token that is over");
    issuers_seen_put(s, &d, 1, 60000);
    cr_expect(issuers_seen(s, &d, 1));
    cr_expect_not(issuers_seen(s, &d, 2), "by other keys it was not verified");
    d = sha256_of(STR("short"));
    issuers_seen_put(s, &d, 1, 1);
    clock_sleep_ms(5);
    cr_expect_not(issuers_seen(s, &d, 1), "it ends with the token");
    for (uint64_t i = 0; i < MANY; i++) {
        d = sha256_of(str_n((const char *)&i, sizeof i));
        issuers_seen_put(s, &d, 7, 60000);
        cr_assert(issuers_seen(s, &d, 7), "%llu", (unsigned long long)i);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        d = sha256_of(str_n((const char *)&i, sizeof i));
        known += issuers_seen(s, &d, 7);
    }
    cr_expect(known > ISSUER_SEEN_NR / 2 && known <= ISSUER_SEEN_NR, "%zu", known);
    http_issuers_free(s);
}

Test(http_issuers, what_was_verified_lends_its_signature_to_nothing_else /* AUTH-21 */) {
    struct arena *a = arena_new(1 << 20);
    struct http_issuers *s = NULL;
    struct wopr_error err = {0};
    struct principal p = {0};
    struct jwt t, other;
    cr_assert_eq(ed25519_from_secret(SECRET, &key, &err), 0);
    cr_assert_eq(http_issuers_new(STR(BY_URL("")), &URLS, &s, &err), 0, "%s", err.message);
    cr_assert_eq(put(s, "u", published()), 0);
    cr_expect_eq(check(s, a), 0);
    cr_expect_eq(check(s, a), 0, "the second time from memory");
    cr_assert_eq(jwt_read(token_of(a, "u", "alice"), a, &t, &err), 0);
    cr_assert_eq(jwt_read(token_of(a, "u", "mallory"), a, &other, &err), 0);
    other.signature = t.signature;
    cr_expect_eq(issuers_check(s, &other, NOW_MS, a, &p, &err), WOPR_E_UNAUTHENTICATED);
    cr_expect_eq(issuers_check(s, &t, NOW_MS + 120000, a, &p, &err), WOPR_E_UNAUTHENTICATED,
                 "its claims are judged each time");
    http_issuers_free(s);
    arena_free(a);
}
