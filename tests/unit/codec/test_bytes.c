/*
 * test_bytes.c: base64, hex, digests, MACs, signatures against published vectors; SSE frames.
 */
#include "base/fault.h"
#include "codec/bytes.h"
#include "codec/sse.h"

#include <criterion/criterion.h>

#define S(lit)                                                                                     \
    { (lit), sizeof(lit) - 1 }

static struct buf b, c;
static void up(void) {
    buf_init(&b, 1 << 20);
    buf_init(&c, 1 << 20);
}
static void down(void) {
    buf_fini(&b);
    buf_fini(&c);
}

/* RFC 4648, section 10, and bytes that show the difference of the alphabets */
static const struct {
    struct str raw, std, url;
} B64[] = {
    {S(""), S(""), S("")},
    {S("f"), S("Zg=="), S("Zg")},
    {S("fo"), S("Zm8="), S("Zm8")},
    {S("foo"), S("Zm9v"), S("Zm9v")},
    {S("foob"), S("Zm9vYg=="), S("Zm9vYg")},
    {S("fooba"), S("Zm9vYmE="), S("Zm9vYmE")},
    {S("foobar"), S("Zm9vYmFy"), S("Zm9vYmFy")},
    {S("\xFB\xFF\xBF\0"), S("+/+/AA=="), S("-_-_AA")},
};

Test(bytes_base64, published_vectors_both_ways, .init = up, .fini = down) {
    for (size_t i = 0; i < sizeof B64 / sizeof *B64; i++) {
        buf_reset(&b);
        base64_encode(&b, B64[i].raw);
        cr_expect(str_eq(buf_str(&b), B64[i].std));
        buf_reset(&b);
        base64url_encode(&b, B64[i].raw);
        cr_expect(str_eq(buf_str(&b), B64[i].url));
        buf_reset(&b);
        cr_assert_eq(base64_decode(B64[i].std, &b, NULL), 0);
        cr_expect(str_eq(buf_str(&b), B64[i].raw));
        buf_reset(&b);
        cr_assert_eq(base64url_decode(B64[i].url, &b, NULL), 0);
        cr_expect(str_eq(buf_str(&b), B64[i].raw));
    }
}

Test(bytes_base64, any_other_spelling_is_refused, .init = up, .fini = down) {
    static const char *const BAD_URL[] = {"Z",     "Zg==",   "Zg=",     "Zh",    "Zm9",
                                          "Zm 9v", "Zm9v\n", "+/+/",    "Zm9vY", "=",
                                          "Zm9v=", "Zm.v",   "\x80\x80"};
    static const char *const BAD_STD[] = {"Z",    "Zg",   "Zg=",      "Zh==",   "Zm9=",     "Z===",
                                          "====", "-_-_", "Zg==Zg==", "Zm9v\n", "Zm9v====", "=Zg="};
    struct wopr_error e;
    buf_addz(&b, "kept");
    for (size_t i = 0; i < sizeof BAD_URL / sizeof *BAD_URL; i++) {
        cr_expect_eq(base64url_decode(str_c(BAD_URL[i]), &b, &e), WOPR_E_SYNTAX, "%s", BAD_URL[i]);
        cr_expect_str_eq(b.p, "kept");
    }
    for (size_t i = 0; i < sizeof BAD_STD / sizeof *BAD_STD; i++) {
        cr_expect_eq(base64_decode(str_c(BAD_STD[i]), &b, &e), WOPR_E_SYNTAX, "%s", BAD_STD[i]);
        cr_expect_str_eq(b.p, "kept");
    }
}

Test(bytes_base64, long_texts_cross_the_chunks, .init = up, .fini = down) {
    static char raw[5000];
    struct buf d;
    for (size_t i = 0; i < sizeof raw; i++) raw[i] = (char)(i * 167 >> 3);
    buf_init(&d, 1 << 20);
    for (size_t n = 700; n < sizeof raw; n += n < 850 ? 1 : 397) {
        buf_reset(&b);
        buf_reset(&c);
        buf_reset(&d);
        base64url_encode(&b, str_n(raw, n));
        base64_encode(&c, str_n(raw, n));
        cr_assert_eq(b.len, (n * 8 + 5) / 6);
        cr_assert_eq(c.len, (n + 2) / 3 * 4);
        cr_assert_eq(base64url_decode(buf_str(&b), &d, NULL), 0);
        cr_assert_eq(base64_decode(buf_str(&c), &d, NULL), 0);
        cr_assert_eq(d.len, 2 * n);
        cr_assert(memcmp(d.p, raw, n) == 0 && memcmp(d.p + n, raw, n) == 0);
    }
    buf_fini(&d);
}

Test(bytes_base64, a_full_buffer_and_a_failed_allocation_differ) {
    struct buf small;
    struct wopr_error e;
    buf_init(&small, 5);
    buf_addz(&small, "abc");
    cr_assert_eq(base64url_decode(STR("Zm9v"), &small, &e), WOPR_E_TOO_BIG);
    cr_assert_str_eq(small.p, "abc");
    buf_fini(&small);
    buf_init(&small, 5);
    cr_assert(fault_arm(1u << FAULT_MALLOC, 1));
    cr_assert_eq(base64url_decode(STR("Zm9v"), &small, &e), WOPR_E_NO_MEMORY);
    fault_disarm();
    buf_fini(&small);
}

Test(bytes_hex, both_ways, .init = up, .fini = down) {
    hex_encode(&b, STR("\x00\x9F\xFFz"));
    cr_assert_str_eq(b.p, "009fff7a");
    cr_assert_eq(hex_decode(STR("009FfF7a"), &c, NULL), 0);
    cr_assert(str_eq(buf_str(&c), STR("\x00\x9F\xFFz")));
    struct wopr_error e;
    cr_assert_eq(hex_decode(STR("0"), &c, &e), WOPR_E_SYNTAX);
    cr_assert_eq(hex_decode(STR("00gg"), &c, &e), WOPR_E_SYNTAX);
    cr_assert_eq(hex_decode(STR("0x"), &c, &e), WOPR_E_SYNTAX);
    cr_assert_eq(c.len, 4);
    cr_assert_eq(hex_decode(STR(""), &c, &e), 0);
}

/* --- digests --- */

static void expect_hex(const struct sha256 *d, const char *hex) {
    char out[65];
    sha256_hex(d, out);
    cr_expect_str_eq(out, hex);
}

Test(bytes_sha256, published_digests) {
    struct sha256 d = sha256_of(STR_NONE);
    expect_hex(&d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    d = sha256_of(STR("abc"));
    expect_hex(&d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    struct sha256 two = sha256_of2(STR("a"), STR("bc"));
    cr_assert(sha256_eq(&d, &two));
    two = sha256_of2(STR_NONE, STR("abc"));
    cr_assert(sha256_eq(&d, &two));
    two.b[31] ^= 1;
    cr_assert_not(sha256_eq(&d, &two));
    static char big[3000];
    memset(big, 'q', sizeof big);
    d = sha256_of(str_n(big, 3000));
    for (size_t cut = 0; cut <= 3000; cut += 250) {
        two = sha256_of2(str_n(big, cut), str_n(big, 3000 - cut));
        cr_assert(sha256_eq(&d, &two));
    }
}

Test(bytes_hmac, rfc_4231, .init = up, .fini = down) {
    static const struct {
        const char *key, *data, *mac; /* key and data in hex */
    } CASES[] = {
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "dddddddddddddddddddddddddddddddddddddddddddddddddd"
         "dddddddddddddddddddddddddddddddddddddddddddddddddd",
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {"0102030405060708090a0b0c0d0e0f10111213141516171819",
         "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
         "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        buf_reset(&b);
        buf_reset(&c);
        cr_assert_eq(hex_decode(str_c(CASES[i].key), &b, NULL), 0);
        cr_assert_eq(hex_decode(str_c(CASES[i].data), &c, NULL), 0);
        struct sha256 d = hmac_sha256(buf_str(&b), buf_str(&c));
        expect_hex(&d, CASES[i].mac);
    }
    char long_key[131];
    memset(long_key, 0xAA, sizeof long_key);
    struct sha256 d = hmac_sha256(str_n(long_key, sizeof long_key),
                                  STR("Test Using Larger Than Block-Size Key - Hash Key First"));
    expect_hex(&d, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    d = hmac_sha256(STR_NONE, STR_NONE);
    expect_hex(&d, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

Test(bytes, a_key_of_many_messages_gives_what_it_gives_to_each) {
    uint8_t key[32];
    char text[300];
    for (unsigned i = 0; i < sizeof key; i++) key[i] = (uint8_t)(7 * i);
    memset(text, 'm', sizeof text);
    struct hmac_key *k = hmac_key_new(key);
    cr_assert_not_null(k);
    for (size_t n = 0; n <= sizeof text; n++) {
        struct sha256 once = hmac_sha256(str_n((const char *)key, sizeof key), str_n(text, n));
        struct sha256 many = hmac_key_of(k, str_n(text, n));
        cr_assert(sha256_eq(&once, &many), "%zu bytes", n);
    }
    hmac_key_free(k);
    hmac_key_free(NULL);
}

/* --- Ed25519 --- */

static const struct {
    const char *secret, *pub, *msg, *sig; /* RFC 8032, section 7.1, tests 1 to 3 */
} ED[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b"
     "46b"
     "d25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11"
     "d8c"
     "387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc"
     "659"
     "4a7c15e9716ed28dc027beceea1ec40a"},
};

static void unhex(const char *hex, uint8_t *out, size_t n) {
    struct buf x;
    buf_init(&x, n);
    cr_assert_eq(hex_decode(str_c(hex), &x, NULL), 0);
    cr_assert_eq(x.len, n);
    if (n > 0) memcpy(out, x.p, n);
    buf_fini(&x);
}

Test(bytes_ed25519, rfc_8032) {
    for (size_t i = 0; i < sizeof ED / sizeof *ED; i++) {
        uint8_t secret[32], pub[32], msg[2], sig[64], mine[64];
        size_t n = strlen(ED[i].msg) / 2;
        struct ed25519_key k;
        struct wopr_error e;
        unhex(ED[i].secret, secret, 32);
        unhex(ED[i].pub, pub, 32);
        unhex(ED[i].msg, msg, n);
        unhex(ED[i].sig, sig, 64);
        struct str m = str_n((const char *)msg, n);
        cr_assert_eq(ed25519_from_secret(secret, &k, &e), 0, "%s", e.message);
        cr_expect_eq(memcmp(k.pub, pub, 32), 0);
        cr_assert_eq(ed25519_sign(&k, m, mine, &e), 0, "%s", e.message);
        cr_expect_eq(memcmp(mine, sig, 64), 0);
        cr_expect(ed25519_verify(pub, m, sig));
        for (size_t bit = 0; bit < 512; bit += 37) {
            sig[bit / 8] ^= (uint8_t)(1u << bit % 8);
            cr_expect_not(ed25519_verify(pub, m, sig), "bit %zu", bit);
            sig[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        cr_expect_not(ed25519_verify(pub, STR("other"), sig));
        pub[3] ^= 1;
        cr_expect_not(ed25519_verify(pub, m, sig));
    }
}

Test(bytes_ed25519, fresh_keys_differ_and_work) {
    struct ed25519_key k, l;
    uint8_t sig[64];
    cr_assert_eq(ed25519_generate(&k, NULL), 0);
    cr_assert_eq(ed25519_generate(&l, NULL), 0);
    cr_assert_neq(memcmp(k.pub, l.pub, 32), 0);
    cr_assert_eq(ed25519_sign(&k, STR("message"), sig, NULL), 0);
    cr_assert(ed25519_verify(k.pub, STR("message"), sig));
    cr_assert_not(ed25519_verify(l.pub, STR("message"), sig));
}

/* --- event stream --- */

Test(sse, frames_have_id_event_data_in_order /* SSE-9 */, .init = up, .fini = down) {
    sse_frame(&b, 0, STR("node.completed"), STR("{\"a\":1}"));
    sse_frame(&b, UINT64_MAX, STR("e"), STR(""));
    cr_assert_str_eq(b.p, "id: 0\nevent: node.completed\ndata: {\"a\":1}\n\n"
                          "id: 18446744073709551615\nevent: e\ndata: \n\n");
}

Test(sse, raw_line_breaks_become_data_lines /* SSE-9 */, .init = up, .fini = down) {
    sse_frame(&b, 7, STR("e"), STR("{\n\"a\":\r\n1\r}\n"));
    cr_assert_str_eq(b.p, "id: 7\nevent: e\ndata: {\ndata: \"a\":\ndata: 1\ndata: }\ndata: \n\n");
}

Test(bytes, percent_encoding_leaves_the_unreserved_alone /* RFC 3986 section 2.3 */) {
    struct buf text;
    buf_init(&text, 256);
    percent_encode(&text, STR("aZ09-._~ /?%\xc3\xa4"));
    cr_expect(str_eqc(buf_str(&text), "aZ09-._~%20%2F%3F%25%C3%A4"), STR_FMT,
              STR_ARG(buf_str(&text)));
    buf_fini(&text);
}
