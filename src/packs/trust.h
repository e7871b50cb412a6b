/*
 * trust.h: may this pack be used here (PACK-26, PACK-61, PACK-63)?  Layer: packs (pure).
 *
 * The operator decides, and nothing that a pack says of itself:
 *   allowlist  the name is on the operator's list
 *   pinned     its digest is the one that was asked for
 *   verified   a trusted key signed it
 *   open       anything
 * In each of them a digest that was asked for must be met; a signature that came along must hold
 * against a trusted key, when there are any.
 */
#ifndef WOPR_PACKS_TRUST_H
#define WOPR_PACKS_TRUST_H

#include "packs/judge.h"
#include "packs/signing.h"

enum trust_mode { TRUST_ALLOWLIST, TRUST_PINNED, TRUST_VERIFIED, TRUST_OPEN, TRUST_NR };
bool trust_mode_parse(struct str name, enum trust_mode *out);

struct trust_key {
    uint8_t pub[32];
};
struct trust_policy {
    enum trust_mode mode;
    const char *const *allow;     /* NULL-terminated: names, or "vendor.acme.*"; NULL: none */
    const struct trust_key *keys; /* that the operator trusts */
    size_t keys_nr;
};
struct trust_claim {
    struct str tarball;
    struct str integrity; /* that was asked for; empty: none */
    /* 64 bytes, over the tarball or pack.json; empty: that of the judged one, if any. */
    struct str signature;
};
/* 0, and *kid empty when no key vouched; *manifest_only: it vouched for pack.json, which says
 * nothing of the other files (the digest of the tarball does). PACK_INTEGRITY, PACK_SIGNATURE,
 * PACK_KEY: signed by a key that is not trusted, or not signed where it must be;
 * PACK_NOT_APPROVED. */
MUST_CHECK int trust_judge(const struct trust_policy *p, const struct pack_judged *j,
                           const struct trust_claim *claim, struct pack_key_id *kid,
                           bool *manifest_only, struct wopr_error *err);
/* Is the name on the list? */
bool trust_allows(const char *const *allow, struct str name);

#endif
