/*
 * test_seal.c: AES-256-GCM against published vectors; what does not open; what runs short.
 */
#include "base/fault.h"
#include "codec/bytes.h"
#include "codec/seal.h"

#include <criterion/criterion.h>

/* key, nonce, additional data, clear, box without its nonce.  1 to 3: The Galois/Counter Mode of
 * Operation (McGrew, Viega), test cases 13, 14 and 16. */
static const struct {
    const char *key, *nonce, *aad, *clear, *box;
} VECTORS[] = {
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "00000000000000000000000000000000",
     "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b"
     "5"
     "25b16aedf5aa0de657ba637b39",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828"
     "838c5f6"
     "1e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"},
};

static struct buf bytes_of(const char *hex) {
    struct buf b;
    buf_init(&b, 4096);
    cr_assert_eq(hex_decode(str_c(hex), &b, NULL), 0);
    return b;
}

Test(seal, the_cipher_is_that_of_the_published_vectors) {
    for (size_t i = 0; i < sizeof VECTORS / sizeof *VECTORS; i++) {
        struct buf key = bytes_of(VECTORS[i].key), nonce = bytes_of(VECTORS[i].nonce),
                   aad = bytes_of(VECTORS[i].aad), clear = bytes_of(VECTORS[i].clear),
                   want = bytes_of(VECTORS[i].box);
        uint8_t out[256];
        cr_assert_eq(want.len, clear.len + SEAL_TAG_BYTES);
        cr_assert_eq(seal_gcm((const uint8_t *)key.p, (const uint8_t *)nonce.p, buf_str(&aad),
                              buf_str(&clear), out),
                     0);
        cr_expect(memcmp(out, want.p, want.len) == 0, "vector %zu", i);
        buf_fini(&key), buf_fini(&nonce), buf_fini(&aad), buf_fini(&clear), buf_fini(&want);
    }
}

static const struct seal_secret KEY = {{7, 1, 2}};
static const struct seal_place HERE = {{"run_a", 5}, 3};
static struct buf box, out;
static struct wopr_error err;

static void up(void) {
    buf_init(&box, 1 << 20);
    buf_init(&out, 1 << 20);
    cr_assert_eq(seal_close(&KEY, &HERE, STR("the value"), &box, &err), 0);
}
static void down(void) {
    buf_fini(&box);
    buf_fini(&out);
}

Test(seal, a_value_comes_back_and_no_two_boxes_are_the_same, .init = up, .fini = down) {
    struct buf other;
    cr_assert_eq(box.len, 9 + SEAL_EXTRA_BYTES);
    cr_assert_eq(seal_open(&KEY, &HERE, buf_str(&box), &out, &err), 0);
    cr_expect(str_eqc(buf_str(&out), "the value"));
    buf_init(&other, 1 << 10);
    cr_assert_eq(seal_close(&KEY, &HERE, STR("the value"), &other, &err), 0);
    cr_expect_not(str_eq(buf_str(&box), buf_str(&other)));
    buf_fini(&other);
}

Test(seal, another_place_key_or_bit_opens_nothing, .init = up, .fini = down) {
    static const struct seal_secret OTHER = {{7, 1, 3}};
    static const struct seal_place NEXT = {{"run_a", 5}, 4}, RUN = {{"run_b", 5}, 3};
    cr_expect_eq(seal_open(&OTHER, &HERE, buf_str(&box), &out, &err), WOPR_E_CORRUPT);
    cr_expect_eq(seal_open(&KEY, &NEXT, buf_str(&box), &out, &err), WOPR_E_CORRUPT);
    cr_expect_eq(seal_open(&KEY, &RUN, buf_str(&box), &out, &err), WOPR_E_CORRUPT);
    for (size_t bit = 0; bit < 8 * box.len; bit++) {
        box.p[bit / 8] = (char)(box.p[bit / 8] ^ 1 << bit % 8);
        cr_expect_eq(seal_open(&KEY, &HERE, buf_str(&box), &out, &err), WOPR_E_CORRUPT);
        box.p[bit / 8] = (char)(box.p[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t n = 0; n < box.len; n++)
        cr_expect_eq(seal_open(&KEY, &HERE, str_n(box.p, n), &out, &err), WOPR_E_CORRUPT);
    cr_expect_eq(out.len, 0, "nothing was let out");
}

/* A box of an earlier program: each scope has a key of its own, made as it was made then. */
Test(seal, a_box_that_was_made_before_opens) {
    static const struct seal_secret k = {{7, 1}};
    const struct seal_place here = {STR("run_gold"), 3};
    struct buf
        made = bytes_of(
            "000102030405060708090a0bc994304d604842b54f286ff420955f8ea80c24d89654aa81b4bbb086"),
        clear;
    struct wopr_error e;
    buf_init(&clear, 64);
    cr_expect_eq(seal_open(&k, &here, buf_str(&made), &clear, &e), 0, "%s", e.message);
    cr_expect(str_eqc(buf_str(&clear), "{\"k\":\"gold\"}"));
    buf_fini(&clear);
    buf_fini(&made);
}

Test(seal, whichever_call_fails_nothing_half_is_left) {
    for (unsigned nth = 1; fault_arm(FAULT_EVERY_SITE, nth); nth++) {
        buf_init(&box, 1 << 20);
        buf_init(&out, 1 << 20);
        int rc = seal_close(&KEY, &HERE, STR("the value"), &box, &err);
        cr_expect(rc == 0 || rc == WOPR_E_NO_MEMORY);
        if (rc == 0) rc = seal_open(&KEY, &HERE, buf_str(&box), &out, &err);
        cr_expect(rc == 0 || rc == WOPR_E_NO_MEMORY, "%s", err.message);
        if (rc != 0) cr_expect_eq(out.len, 0);
        fault_disarm();
        buf_fini(&box);
        buf_fini(&out);
    }
}
