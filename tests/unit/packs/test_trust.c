/*
 * test_trust.c: which packs may be used, and which version is meant (PACK-5, PACK-26, PACK-46,
 * PACK-61, PACK-63).
 */
#include "packs/resolve.h"
#include "packs/trust.h"

#include <criterion/criterion.h>

Test(trust, a_list_names_packs_or_what_is_below_a_name /* PACK-61 */) {
    static const char *const ALLOW[] = {"vendor.acme.*", "community.ada.x", NULL};
    cr_expect(trust_allows(ALLOW, STR("vendor.acme.tools")));
    cr_expect(trust_allows(ALLOW, STR("vendor.acme.a.b")));
    cr_expect(trust_allows(ALLOW, STR("community.ada.x")));
    cr_expect_not(trust_allows(ALLOW, STR("vendor.acme2.tools")));
    cr_expect_not(trust_allows(ALLOW, STR("vendor.acme.")));
    cr_expect_not(trust_allows(ALLOW, STR("community.ada.xy")));
    cr_expect_not(trust_allows(NULL, STR("vendor.acme.tools")));
}

/* mode, on the list, signed by: 0 nobody, 1 a trusted key, 2 another; the digest that was asked
 * for: 0 none, 1 the right one, 2 another. */
static const struct {
    enum trust_mode mode;
    int listed, signer, digest, code;
} CASES[] = {
    {TRUST_ALLOWLIST, 0, 0, 0, WOPR_E_PACK_NOT_APPROVED},
    {TRUST_ALLOWLIST, 0, 1, 1, WOPR_E_PACK_NOT_APPROVED},
    {TRUST_ALLOWLIST, 1, 0, 0, 0},
    {TRUST_ALLOWLIST, 1, 2, 0, WOPR_E_PACK_KEY},
    {TRUST_ALLOWLIST, 1, 0, 2, WOPR_E_PACK_INTEGRITY},
    {TRUST_PINNED, 1, 1, 0, WOPR_E_PACK_NOT_APPROVED},
    {TRUST_PINNED, 0, 0, 1, 0},
    {TRUST_PINNED, 0, 0, 2, WOPR_E_PACK_INTEGRITY},
    {TRUST_PINNED, 0, 2, 1, WOPR_E_PACK_KEY},
    {TRUST_VERIFIED, 1, 0, 1, WOPR_E_PACK_KEY},
    {TRUST_VERIFIED, 1, 2, 1, WOPR_E_PACK_KEY},
    {TRUST_VERIFIED, 0, 1, 0, 0},
    {TRUST_VERIFIED, 0, 1, 2, WOPR_E_PACK_INTEGRITY},
    {TRUST_OPEN, 0, 0, 0, 0},
    {TRUST_OPEN, 0, 1, 1, 0},
    {TRUST_OPEN, 0, 2, 0, WOPR_E_PACK_KEY},
    {TRUST_OPEN, 0, 0, 2, WOPR_E_PACK_INTEGRITY},
};

Test(trust, each_mode_has_its_rule_and_all_hold_to_digest_and_signature /* PACK-26, PACK-63 */) {
    static const char *const ALLOW[] = {"vendor.a.b", NULL};
    struct ed25519_key k[2];
    struct trust_key trusted;
    uint8_t secret[32] = {1}, sig[2][64];
    struct str tarball = STR("the bytes");
    struct buf sri[2];
    for (int i = 0; i < 2; i++) {
        secret[1] = (uint8_t)i;
        cr_assert_eq(ed25519_from_secret(secret, &k[i], NULL), 0);
        cr_assert_eq(ed25519_sign(&k[i], tarball, sig[i], NULL), 0);
        struct sha256 d = sha256_of(i == 0 ? tarball : STR("others"));
        buf_init(&sri[i], 64);
        pack_sri(&d, &sri[i]);
    }
    memcpy(trusted.pub, k[0].pub, sizeof trusted.pub);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct pack_judged j = {.manifest = {.name = STR("vendor.a.b")},
                                .digest = sha256_of(tarball)};
        const struct trust_policy p = {.mode = CASES[i].mode,
                                       .allow = CASES[i].listed ? ALLOW : NULL,
                                       .keys = &trusted,
                                       .keys_nr = 1};
        const struct trust_claim claim = {
            .tarball = tarball,
            .integrity = CASES[i].digest ? buf_str(&sri[CASES[i].digest - 1]) : STR_NONE,
            .signature =
                CASES[i].signer ? str_n((const char *)sig[CASES[i].signer - 1], 64) : STR_NONE};
        struct pack_key_id kid;
        struct wopr_error err = {0};
        bool manifest_only;
        int rc = trust_judge(&p, &j, &claim, &kid, &manifest_only, &err);
        cr_expect_eq(rc, CASES[i].code, "%zu: %s", i, wopr_err_name(rc));
        if (rc == 0) cr_expect_eq(kid.text[0] != '\0', CASES[i].signer == 1, "%zu", i);
    }
    buf_fini(&sri[0]);
    buf_fini(&sri[1]);
}

Test(trust, a_signature_over_the_manifest_is_taken_and_told /* PACK-24, X-25 */) {
    struct ed25519_key k;
    struct trust_key trusted;
    uint8_t secret[32] = {7}, sig[64];
    struct str manifest = STR("{\"name\":1}");
    cr_assert_eq(ed25519_from_secret(secret, &k, NULL), 0);
    cr_assert_eq(ed25519_sign(&k, manifest, sig, NULL), 0);
    memcpy(trusted.pub, k.pub, sizeof trusted.pub);
    const struct trust_policy p = {.mode = TRUST_VERIFIED, .keys = &trusted, .keys_nr = 1};
    struct str bytes = str_n((const char *)sig, sizeof sig);
    for (int i = 0; i < 2; i++) { /* beside the tarball, and in it */
        const struct pack_judged j = {.manifest = {.text = manifest},
                                      .signature = i == 1 ? bytes : STR_NONE};
        const struct trust_claim claim = {.tarball = STR("the bytes"),
                                          .signature = i == 0 ? bytes : STR_NONE};
        struct pack_key_id kid;
        bool manifest_only = false;
        cr_expect_eq(trust_judge(&p, &j, &claim, &kid, &manifest_only, NULL), 0, "%d", i);
        cr_expect(manifest_only && kid.text[0] != '\0', "%d", i);
    }
}

static const struct {
    const char *version;
    bool deprecated, yanked;
} ALL[] = {{"1.0.0", false, false},      {"1.1.0", true, false},   {"1.2.0", false, true},
           {"2.0.0-rc.1", false, false}, {"1.0.10", false, false}, {"1.0.9", false, false}};
enum { ALL_NR = sizeof ALL / sizeof *ALL };

static struct pack_releases releases(struct pack_release v[ALL_NR]) {
    for (size_t i = 0; i < ALL_NR; i++)
        v[i] = (struct pack_release){.version = str_c(ALL[i].version),
                                     .deprecation = ALL[i].deprecated ? STR("{}") : STR_NONE,
                                     .yank = ALL[i].yanked ? STR("{}") : STR_NONE};
    return (struct pack_releases){v, ALL_NR};
}

Test(resolve, a_range_means_the_highest_that_is_not_yanked /* PACK-5, PACK-46 */) {
    static const struct {
        const char *wanted, *version; /* NULL: none */
    } WANTED[] = {{"*", "1.1.0"},
                  {"^1.0.0", "1.1.0"},
                  {"~1.0.0", "1.0.10"},
                  {"1.2.0", "1.2.0"},
                  {"1.2.x", NULL},
                  {">=2.0.0", NULL},
                  {">=2.0.0-a", "2.0.0-rc.1"},
                  {"2.0.0-rc.1", "2.0.0-rc.1"},
                  {"3.0.0", NULL}};
    struct pack_release v[ALL_NR];
    struct pack_releases all = releases(v);
    for (size_t i = 0; i < sizeof WANTED / sizeof *WANTED; i++) {
        const struct pack_release *r = NULL;
        struct wopr_error err = {0};
        int rc = pack_resolve(&all, str_c(WANTED[i].wanted), &r, &err);
        cr_expect_eq(rc, WANTED[i].version ? 0 : WOPR_E_PACK_NOT_FOUND, "%s", WANTED[i].wanted);
        if (rc == 0) cr_expect(str_eqc(r->version, WANTED[i].version), "%s", WANTED[i].wanted);
    }
    cr_expect_eq(pack_resolve(&all, STR("newest"), &(const struct pack_release *){NULL}, NULL),
                 WOPR_E_VALIDATION);
    cr_expect(str_eqc(pack_latest(&all)->version, "1.0.10"), "one that is not deprecated");
}
