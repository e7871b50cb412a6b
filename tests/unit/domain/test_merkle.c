/*
 * test_merkle.c: the tree hash of RFC 6962 section 2.1, grown a leaf at a time (AUD-5).
 */
#include "domain/merkle.h"

#include <criterion/criterion.h>

/* The leaves and roots of the test of Certificate Transparency's reference tree. */
static const struct {
    const char *leaf; /* hex */
    const char *root; /* of the leaves so far */
} ROWS[] = {
    {"", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
    {"00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"},
    {"10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"},
    {"2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"},
    {"3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"},
    {"40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"},
    {"5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"},
    {"606162636465666768696a6b6c6d6e6f",
     "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"}};

static void expect_root(const struct merkle *m, const char *want) {
    struct sha256 root = merkle_root(m);
    char hex[65];
    sha256_hex(&root, hex);
    cr_expect_str_eq(hex, want, "%lld leaves", (long long)m->leaves);
}

Test(merkle, roots_are_those_of_the_standard /* AUD-5 RFC-6962-2.1 */) {
    struct merkle m = {.leaves = 0}, again;
    expect_root(&m, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct buf leaf;
        buf_init(&leaf, 64);
        cr_assert_eq(hex_decode(str_c(ROWS[i].leaf), &leaf, NULL), 0);
        merkle_add(&m, buf_str(&leaf));
        buf_fini(&leaf);
        expect_root(&m, ROWS[i].root);
        cr_assert(merkle_from_peaks(&again, m.leaves, merkle_peaks(&m)));
        expect_root(&again, ROWS[i].root);
    }
}

/* The definition, by recursion. */
static struct sha256 defined(const char (*leaves)[8], size_t n) {
    char both[65] = "\1";
    size_t k = 1;
    if (n == 1) {
        char leaf[9] = "\0";
        memcpy(leaf + 1, leaves[0], 8);
        return sha256_of(str_n(leaf, 9));
    }
    while (2 * k < n) k *= 2;
    struct sha256 left = defined(leaves, k), right = defined(leaves + k, n - k);
    memcpy(both + 1, left.b, 32);
    memcpy(both + 33, right.b, 32);
    return sha256_of(str_n(both, 65));
}

Test(merkle, any_number_of_leaves_gives_the_root_of_the_definition /* AUD-5 */) {
    enum { LEAVES = 300 };
    static char leaves[LEAVES][8];
    struct merkle m = {.leaves = 0};
    for (size_t i = 0; i < LEAVES; i++) {
        memcpy(leaves[i], &(uint64_t){i * 2654435761u}, 8);
        merkle_add(&m, str_n(leaves[i], 8));
        struct sha256 want = defined((const char(*)[8])leaves, i + 1), is = merkle_root(&m);
        cr_assert(sha256_eq(&want, &is), "%zu leaves", i + 1);
    }
}

Test(merkle, peaks_of_another_number_are_refused /* AUD-9 */) {
    struct merkle m = {.leaves = 0}, other;
    for (unsigned i = 0; i < 5; i++) merkle_add(&m, STR("x"));
    cr_expect_not(merkle_from_peaks(&other, 7, merkle_peaks(&m)));
    cr_expect_not(merkle_from_peaks(&other, -1, merkle_peaks(&m)));
    cr_expect(merkle_from_peaks(&other, 6, merkle_peaks(&m))); /* as many: its root tells */
}
