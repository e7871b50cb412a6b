/*
 * test_signing.c: digests, keys and signatures in the forms that others write (PACK-21, PACK-24,
 * PACK-25, PACK-53).
 */
#include "packs/signing.h"

#include <criterion/criterion.h>

static struct buf b;
static void up(void) { buf_init(&b, 4096); }
static void down(void) { buf_fini(&b); }
TestSuite(signing, .init = up, .fini = down);

/* RFC 8410, section 10.3 and 10.1: a private key and its public one, as openssl writes them. */
static const char SECRET[] = "-----BEGIN PRIVATE KEY-----\n"
                             "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
                             "-----END PRIVATE KEY-----\n";
static const char PUBLIC[] = "-----BEGIN PUBLIC KEY-----\n"
                             "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
                             "-----END PUBLIC KEY-----\n";

Test(signing, keys_are_read_and_written_as_others_do /* PACK-25 */) {
    struct ed25519_key k;
    uint8_t pub[32];
    struct wopr_error err;
    cr_assert_eq(pack_secret_read(str_c(SECRET), &k, &err), 0, "%s", err.message);
    cr_assert_eq(pack_key_read(str_c(PUBLIC), pub, &err), 0);
    cr_expect_eq(memcmp(k.pub, pub, 32), 0);
    pack_secret_pem(&k, &b);
    cr_expect_str_eq(b.p, SECRET);
    buf_reset(&b);
    pack_key_pem(pub, &b);
    cr_expect_str_eq(b.p, PUBLIC);
    buf_reset(&b);
    pack_key_text(pub, &b);
    cr_expect_eq(b.len, PACK_KEY_TEXT_BYTES);
    cr_expect(strncmp(b.p, "MCowBQYDK2VwAyEA", 16) == 0);
    memset(pub, 0, sizeof pub);
    cr_assert_eq(pack_key_read(buf_str(&b), pub, &err), 0, "base64 without PEM");
    cr_expect_eq(memcmp(k.pub, pub, 32), 0);
    cr_expect_eq(strlen(pack_key_id(pub).text), PACK_KEY_ID_BYTES);
}

Test(signing, what_is_no_key_is_refused /* PACK-25 */) {
    static const char *const BAD[] = {
        "",
        "MCowBQYDK2VwAyEA",
        SECRET,
        "-----BEGIN PUBLIC KEY-----",
        "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuF=",
        "MCowBQYDK2VuAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="};
    uint8_t pub[32];
    struct ed25519_key k;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_eq(pack_key_read(str_c(BAD[i]), pub, NULL), WOPR_E_VALIDATION, "%s", BAD[i]);
    cr_expect_eq(pack_secret_read(str_c(PUBLIC), &k, NULL), WOPR_E_VALIDATION);
}

Test(signing, integrity_is_the_base64_of_the_raw_digest /* PACK-21, X-26 */) {
    struct sha256 d = sha256_of(STR("abc")), back;
    pack_sri(&d, &b);
    cr_expect_str_eq(b.p, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    cr_expect(pack_sri_read(buf_str(&b), &back) && sha256_eq(&d, &back));
    cr_expect_not(pack_sri_read(STR("sha512-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="), &back));
    cr_expect_not(pack_sri_read(STR("sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1="), &back));
    cr_expect_not(pack_sri_read(STR(""), &back));
}
