/*
 * trust.c: see trust.h.
 */
#include "packs/trust.h"

static const char *const MODES[TRUST_NR] = {"allowlist", "pinned", "verified", "open"};

bool trust_mode_parse(struct str name, enum trust_mode *out) {
    for (int i = 0; i < TRUST_NR; i++)
        if (str_eqc(name, MODES[i])) {
            *out = (enum trust_mode)i;
            return true;
        }
    return false;
}

/* "vendor.acme.*" stands for whatever follows the dot. */
static bool entry_matches(struct str entry, struct str name) {
    if (!str_ends(entry, STR(".*"))) return str_eq(entry, name);
    struct str prefix = str_n(entry.p, entry.n - 1);
    return name.n > prefix.n && str_starts(name, prefix);
}

bool trust_allows(const char *const *allow, struct str name) {
    for (; allow && *allow; allow++)
        if (entry_matches(str_c(*allow), name)) return true;
    return false;
}

static int integrity_check(const struct pack_judged *j, struct str wanted, struct wopr_error *err) {
    struct sha256 d;
    if (wanted.n == 0) return 0;
    if (pack_sri_read(wanted, &d) && sha256_eq(&d, &j->digest)) return 0;
    return wopr_error_set(err, WOPR_E_PACK_INTEGRITY,
                          "the tarball has another SHA-256 than the integrity that was asked for");
}

/* Which trusted key made the signature?  false: none. */
static bool signer_find(const struct trust_policy *p, struct str signature, struct str text,
                        struct pack_key_id *kid) {
    for (size_t i = 0; i < p->keys_nr; i++) {
        if (!ed25519_verify(p->keys[i].pub, text, (const uint8_t *)signature.p)) continue;
        *kid = pack_key_id(p->keys[i].pub);
        return true;
    }
    return false;
}

static int signature_check(const struct trust_policy *p, const struct pack_judged *j,
                           const struct trust_claim *claim, struct pack_key_id *kid,
                           bool *manifest_only, struct wopr_error *err) {
    bool given = claim->signature.n > 0;
    struct str sig = given ? claim->signature : j->signature;
    kid->text[0] = '\0';
    *manifest_only = false;
    if (sig.n == 0) return 0;
    if (sig.n != PACK_SIGNATURE_BYTES)
        return wopr_error_set(err, WOPR_E_PACK_SIGNATURE, "a signature has 64 bytes");
    if (given && signer_find(p, sig, claim->tarball, kid)) return 0;
    *manifest_only = signer_find(p, sig, j->manifest.text, kid); /* PACK-24, X-25 */
    if (*manifest_only) return 0;
    if (p->keys_nr == 0 && p->mode != TRUST_VERIFIED) return 0; /* there is nothing to hold it to */
    return wopr_error_set(err, WOPR_E_PACK_KEY,
                          "the pack is signed, but by no key that is trusted here; pack-keys names "
                          "the files of trusted keys");
}

int trust_judge(const struct trust_policy *p, const struct pack_judged *j,
                const struct trust_claim *claim, struct pack_key_id *kid, bool *manifest_only,
                struct wopr_error *err) {
    int rc = integrity_check(j, claim->integrity, err);
    if (rc == 0) rc = signature_check(p, j, claim, kid, manifest_only, err);
    if (rc != 0) return rc;
    switch (p->mode) {
    case TRUST_OPEN:
        return 0;
    case TRUST_VERIFIED:
        if (kid->text[0] != '\0') return 0;
        return wopr_error_set(err, WOPR_E_PACK_KEY,
                              "pack-trust is verified, and the pack is not signed");
    case TRUST_PINNED:
        if (claim->integrity.n > 0) return 0;
        return wopr_error_set(err, WOPR_E_PACK_NOT_APPROVED,
                              "pack-trust is pinned: say which bytes are meant, with --integrity");
    default:
        if (trust_allows(p->allow, j->manifest.name)) return 0;
        return wopr_error_set(err, WOPR_E_PACK_NOT_APPROVED,
                              "pack-trust is allowlist, and " STR_FMT " is not on the list "
                              "(pack-allow)",
                              STR_ARG(j->manifest.name));
    }
}
