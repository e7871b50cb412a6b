/*
 * test_http_issuers.c: for whom a token speaks (AUTH-11, AUTH-23): the principal is its issuer's.
 */
#include "base/arena.h"
#include "codec/bytes.h"
#include "http/issuers.h"

#include <criterion/criterion.h>

#define NOW_MS INT64_C(1800000000000)

static const uint8_t SECRET[32] = {1, 2, 3};
static struct ed25519_key key;

static int keys_give(void *ctx, struct str file, struct buf *out, struct wopr_error *err) {
    (void)ctx, (void)file, (void)err;
    buf_addz(out, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
    base64url_encode(out, str_n((const char *)key.pub, sizeof key.pub));
    buf_addz(out, "\"}]}");
    return 0;
}

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
                                      "\"exp\":1800000001.5,\"scope\":\"runs:read x\"}",
                                      iss, sub));
    cr_assert_eq(ed25519_sign(&key, buf_str(&b), sig, NULL), 0);
    buf_addc(&b, '.');
    base64url_encode(&b, str_n((const char *)sig, sizeof sig));
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return s;
}

static struct principal who(const struct http_issuers *s, struct arena *a, const char *iss,
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
                                  keys_give, NULL, &s, &err),
                 0, "%s", err.message);
    struct principal one = who(s, a, "one", "alice"), two = who(s, a, "two", "alice");
    cr_expect(str_eqc(one.subject_id, "one:alice"), "votes and credentials compare it alone");
    cr_expect(str_eqc(two.subject_id, "two:alice"));
    cr_expect(str_eqc(one.key_id, "one:alice") && str_eqc(one.subject_issuer, "https://one"));
    cr_expect(one.test_mode && one.authenticated && str_eqc(one.tenant, "t"));
    cr_expect_eq(one.scopes, scope_bit_of(STR("runs:read")));
    cr_expect_eq(one.token_ends_ms, NOW_MS + 1500 + 60000);
    struct principal odd = who(s, a, "one", "alice smith");
    cr_expect(str_starts(odd.subject_id, STR("one#")) && odd.subject_id.n == 4 + 32,
              "other characters are a digest: " STR_FMT, STR_ARG(odd.subject_id));
    http_issuers_free(s);
    arena_free(a);
}
