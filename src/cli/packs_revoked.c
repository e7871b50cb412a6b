/*
 * packs_revoked.c: was a pack signed by a key that its namespace has revoked (PACK-26)?  Asked of
 * the registry that the pack came from, and of the one in the database.
 */
#include "cli/packs.h"
#include "store/packs.h"

static int packs_key_revoked(const struct packs_signed *p, const uint8_t pub[32],
                             struct wopr_error *err) {
    const uint8_t *sig = (const uint8_t *)p->signature.p;
    if (!ed25519_verify(pub, p->tarball, sig) && !ed25519_verify(pub, p->manifest, sig)) return 0;
    return wopr_error_set(err, WOPR_E_PACK_KEY,
                          "the pack was signed by a key that its publisher has revoked; it is "
                          "installed no more, and installs from before go on");
}

static int store_check(struct cli *c, struct store *s, const struct packs_signed *p,
                       struct wopr_error *err) {
    struct pack_keys keys;
    int rc = store_pack_keys(s, pack_namespace(p->name), c->arena, &keys, err);
    for (size_t i = 0; rc == 0 && i < keys.n; i++)
        if (keys.v[i].revoked_ms > 0) rc = packs_key_revoked(p, keys.v[i].pub, err);
    return rc;
}

/* The answer to GET .../keychain; one that is none has no revoked keys. */
static int keychain_check(struct cli *c, struct str keychain, const struct packs_signed *p,
                          struct wopr_error *err) {
    struct json_elements keys = {0};
    struct str raw = json_get(keychain, "keys");
    uint8_t pub[32];
    if (json_check(keychain, &JSON_LIMITS_STORED, NULL) != 0 || json_type_of(raw) != JSON_ARRAY ||
        json_elements(raw, c->arena, &keys, NULL) != 0)
        return 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < keys.n; i++)
        if (json_get(keys.v[i], "revokedAt").n > 0 &&
            pack_key_read(json_string(json_get(keys.v[i], "publicKey"), c->arena), pub, NULL) == 0)
            rc = packs_key_revoked(p, pub, err);
    return rc;
}

int packs_revoked_check(struct cli *c, struct store *s, const struct packs_signed *p,
                        struct str keychain, struct wopr_error *err) {
    if (p->signature.n != PACK_SIGNATURE_BYTES) return 0;
    int rc = store_check(c, s, p, err);
    return rc == 0 && keychain.n > 0 ? keychain_check(c, keychain, p, err) : rc;
}
