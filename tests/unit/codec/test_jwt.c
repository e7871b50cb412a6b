/*
 * test_jwt.c: signed tokens and sets of keys (AUTH-21, AUTH-23): published vectors, refusals.
 */
#include "codec/bytes.h"
#include "codec/jwk.h"

#include <criterion/criterion.h>

static struct arena *a;
static struct wopr_error err;
static void up(void) { a = arena_new(16 << 20); }
static void down(void) { arena_free(a); }
TestSuite(jwt, .init = up, .fini = down);

/* RFC 7515, appendices A.2 and A.3 */
#define PAYLOAD                                                                                    \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl" \
    "f"                                                                                            \
    "Q"
#define RSA_SIGNATURE                                                                              \
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5" \
    "jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb" \
    "1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QO" \
    "YEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
#define RSA_N                                                                                      \
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4" \
    "d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5re" \
    "xMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxX" \
    "FvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
#define RSA_KEY "{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAB\""
#define EC_X    "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define EC_Y    "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
#define EC_KEY  "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\""
#define EC_SIGNATURE                                                                               \
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
#define RS256_TOKEN "eyJhbGciOiJSUzI1NiJ9." PAYLOAD "." RSA_SIGNATURE
#define ES256_TOKEN "eyJhbGciOiJFUzI1NiJ9." PAYLOAD "." EC_SIGNATURE
/* RFC 8037, appendix A */
#define ED_KEY                                                                                     \
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""
#define ED_SIGNED "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
#define ED_SIGNATURE                                                                               \
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
#define KEYS(list) "{\"keys\":[" list "]}"

static struct jwk_set *set_of(const char *text) {
    struct jwk_set *s = NULL;
    cr_assert_eq(jwk_set_read(str_c(text), &s, &err), 0, "%s", err.message);
    return s;
}

static bool signed_by(const char *keys, const char *token) {
    struct jwk_set *s = set_of(keys);
    struct jwt t;
    cr_assert_eq(jwt_read(str_c(token), a, &t, &err), 0, "%s", err.message);
    bool ok = jwk_set_signed(s, &t);
    jwk_set_free(s);
    return ok;
}

static struct str bytes_of(const char *text) {
    struct buf b;
    buf_init(&b, 4096);
    cr_assert_eq(base64url_decode(str_c(text), &b, NULL), 0);
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return s;
}

Test(jwt, the_published_vectors_verify) {
    cr_expect(signed_by(KEYS(RSA_KEY "}"), RS256_TOKEN));
    cr_expect(signed_by(KEYS(EC_KEY "}"), ES256_TOKEN));
    struct jwt t = {.alg = JWS_EDDSA,
                    .signed_bytes = STR(ED_SIGNED),
                    .signature = bytes_of(ED_SIGNATURE)}; /* its payload is no JSON */
    struct jwk_set *s = set_of(KEYS(ED_KEY "}"));
    cr_expect(jwk_set_signed(s, &t));
    t.signed_bytes.n--;
    cr_expect_not(jwk_set_signed(s, &t));
    jwk_set_free(s);
}

Test(jwt, a_byte_more_or_another_byte_does_not_verify) {
    struct jwk_set *s = set_of(KEYS(RSA_KEY "}," EC_KEY "}"));
    static const char *const TOKENS[] = {RS256_TOKEN, ES256_TOKEN};
    for (size_t i = 0; i < 2; i++) {
        struct jwt t;
        cr_assert_eq(jwt_read(str_c(TOKENS[i]), a, &t, &err), 0);
        cr_assert(jwk_set_signed(s, &t));
        char *sig = (char *)(uintptr_t)t.signature.p;
        for (size_t k = 0; k < t.signature.n; k++) {
            sig[k] ^= 1;
            cr_expect_not(jwk_set_signed(s, &t), "%zu: byte %zu", i, k);
            sig[k] ^= 1;
        }
        struct jwt u = t;
        u.signature.n--;
        cr_expect_not(jwk_set_signed(s, &u), "cut");
        u = t, u.alg = t.alg == JWS_RS256 ? JWS_ES256 : JWS_RS256;
        cr_expect_not(jwk_set_signed(s, &u), "another algorithm");
        memset(sig, 0, t.signature.n);
        cr_expect_not(jwk_set_signed(s, &t), "r = s = 0");
    }
    jwk_set_free(s);
}

Test(jwt, the_kid_chooses_the_key_and_without_one_there_is_no_guessing) {
    struct jwt t;
    struct jwk_set *s = set_of(KEYS(EC_KEY ",\"kid\":\"a\"}," RSA_KEY ",\"kid\":\"a\"}"));
    cr_assert_eq(jwt_read(STR(ES256_TOKEN), a, &t, &err), 0);
    cr_expect(jwk_set_signed(s, &t), "the only key of its algorithm");
    t.has_kid = true, t.kid = STR("a");
    cr_expect(jwk_set_signed(s, &t));
    t.kid = STR("b");
    cr_expect_not(jwk_set_signed(s, &t), "wrong kid");
    jwk_set_free(s);
    s = set_of(KEYS(EC_KEY "}," EC_KEY ",\"kid\":\"b\"}"));
    t.has_kid = false;
    cr_expect_not(jwk_set_signed(s, &t), "two could have");
    t.has_kid = true;
    cr_expect(jwk_set_signed(s, &t));
    jwk_set_free(s);
}

static struct str token_of(const char *header, const char *claims) {
    struct buf b;
    buf_init(&b, 1 << 16);
    base64url_encode(&b, str_c(header));
    buf_addc(&b, '.');
    base64url_encode(&b, str_c(claims));
    buf_addz(&b, ".c2ln");
    struct str s = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return s;
}

Test(jwt, what_a_header_may_say /* AUTH-21 */) {
    static const struct {
        const char *header, *claims;
        bool ok;
    } CASES[] = {
        {"{\"alg\":\"RS256\"}", "{}", true},
        {"{\"alg\":\"EdDSA\",\"typ\":\"at+JWT\",\"kid\":\"x\",\"x5t\":\"?\"}", "{}", true},
        {"{\"alg\":\"ES256\",\"typ\":\"logout+jwt\"}", "{}", false},
        {"{\"alg\":\"none\"}", "{}", false},
        {"{\"alg\":\"NONE\"}", "{}", false},
        {"{\"alg\":\"HS256\"}", "{}", false},
        {"{\"alg\":\"rs256\"}", "{}", false},
        {"{\"alg\":[\"RS256\"]}", "{}", false},
        {"{}", "{}", false},
        {"[]", "{}", false},
        {"{\"alg\":\"RS256\"}", "[]", false},
        {"{\"alg\":\"RS256\"}", "x", false},
        {"{\"alg\":\"RS256\",\"alg\":\"none\"}", "{}", false},
        {"{\"alg\":\"none\",\"\\u0061lg\":\"RS256\"}", "{}", false},
        {"{\"alg\":\"RS256\"}", "{\"sub\":\"a\",\"sub\":\"b\"}", false},
        {"{\"alg\":\"RS256\",\"crit\":[\"b64\"]}", "{}", false},
        {"{\"alg\":\"RS256\",\"cty\":\"JWT\"}", "{}", false},
        {"{\"alg\":\"RS256\",\"kid\":7}", "{}", false},
        {"{\"alg\":\"RS256\",\"kid\":null}", "{}", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct jwt t;
        int rc = jwt_read(token_of(CASES[i].header, CASES[i].claims), a, &t, &err);
        cr_expect_eq(rc, CASES[i].ok ? 0 : WOPR_E_SYNTAX, "%s %s", CASES[i].header,
                     CASES[i].claims);
    }
}

Test(jwt, three_parts_of_strict_base64url_and_not_too_many_bytes) {
    static const char *const BAD[] = {
        "",
        ".",
        "..",
        "a.b",
        "eyJhbGciOiJSUzI1NiJ9.e30.",
        "eyJhbGciOiJSUzI1NiJ9.e30",
        "eyJhbGciOiJSUzI1NiJ9.e30.c2ln.c2ln",
        "eyJhbGciOiJSUzI1NiJ9.e30=.c2ln",
        "eyJhbGciOiJSUzI1NiJ9.e31.c2ln",
        "eyJhbGciOiJSUzI1NiJ9.e30.c2l+",
    };
    struct jwt t;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_eq(jwt_read(str_c(BAD[i]), a, &t, &err), WOPR_E_SYNTAX, "%s", BAD[i]);
    char *long_one = arena_alloc(a, JWT_BYTES_MAX + 2);
    memset(long_one, 'a', JWT_BYTES_MAX + 1);
    cr_expect_eq(jwt_read(str_n(long_one, JWT_BYTES_MAX + 1), a, &t, &err), WOPR_E_TOO_BIG);
    cr_expect_eq(jwt_read(str_n(long_one, JWT_BYTES_MAX), a, &t, &err), WOPR_E_SYNTAX);
}

Test(jwt, keys_for_other_ends_are_passed_over) {
    static const struct {
        const char *text;
        size_t n;
    } CASES[] = {
        {KEYS(RSA_KEY "},{\"kty\":\"oct\",\"k\":\"AAAA\"},{\"kty\":\"EC\",\"crv\":\"P-521\"},{}"),
         1},
        {KEYS(RSA_KEY ",\"use\":\"enc\"}," EC_KEY "}"), 1},
        {KEYS(RSA_KEY ",\"alg\":\"RS512\"}," EC_KEY ",\"alg\":\"ES256\"}"), 1},
        {KEYS(RSA_KEY ",\"key_ops\":[\"encrypt\"]}," EC_KEY ",\"key_ops\":[\"verify\"]}"), 1},
        {KEYS(RSA_KEY ",\"use\":\"sig\"}," EC_KEY "}," ED_KEY "}"), 3},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct jwk_set *s = set_of(CASES[i].text);
        cr_expect_eq(jwk_set_count(s), CASES[i].n, "%zu", i);
        jwk_set_free(s);
    }
}

Test(jwt, keys_that_are_weak_private_or_broken_are_refused_with_their_place) {
    static const struct {
        const char *text, *says;
    } CASES[] = {
        {"{}", "keys"},
        {KEYS(""), "no key"},
        {KEYS("{\"kty\":\"oct\",\"k\":\"AAAA\"}"), "no key"},
        {KEYS("7"), "keys[0]"},
        {KEYS(EC_KEY "}," RSA_KEY ",\"d\":\"AQAB\"}"), "keys[1]: this is a private key"},
        {KEYS(EC_KEY "}," EC_KEY "}"), "keys[1]: another key"},
        {KEYS("{\"kty\":\"RSA\",\"n\":\"" EC_X "\",\"e\":\"AQAB\"}"), "2048"},
        {KEYS("{\"kty\":\"RSA\",\"n\":\"AAAA" RSA_N "\",\"e\":\"AQAB\"}"), "2048"},
        {KEYS("{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQ\"}"), "exponent"},
        {KEYS("{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"Ag\"}"), "exponent"},
        {KEYS("{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAAAAE\"}"), "exponent"},
        {KEYS("{\"kty\":\"RSA\",\"n\":\"" RSA_N "\"}"), "keys[0]"},
        {KEYS("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\"}"), "32 bytes"},
        {KEYS("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\",\"y\":\"AQAB\"}"), "32 bytes"},
        {KEYS("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQAB\"}"), "32 bytes"},
        {KEYS(EC_KEY ",\"kid\":7}"), "kid"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct jwk_set *s = NULL;
        cr_expect_eq(jwk_set_read(str_c(CASES[i].text), &s, &err), WOPR_E_SYNTAX, "%zu", i);
        cr_expect_not_null(strstr(err.message, CASES[i].says), "%zu: %s", i, err.message);
        cr_expect_null(s);
    }
}
