/*
 * registry.h: publishing, keys and search of a registry, between the judge and the store
 * (PACK-30 to PACK-55).  Layer: packs.
 *
 * Threads: any, once made; the published schema is compiled at first use, under a lock.
 */
#ifndef WOPR_PACKS_REGISTRY_H
#define WOPR_PACKS_REGISTRY_H

#include "packs/judge.h"
#include "packs/signing.h"
#include "store/packs.h"

#define PACK_UNPUBLISH_WINDOW_MS ((int64_t)72 * 3600 * 1000)
#define PACK_WORDS_MAX           200u

struct registry;
/* NULL: no memory. */
struct registry *registry_new(void);
void registry_free(struct registry *r); /* takes NULL */
/* The judge's rules, made once.  NO_MEMORY. */
MUST_CHECK int registry_rules(struct registry *r, const struct manifest_rules **out,
                              struct wopr_error *err);

struct registry_upload { /* what a caller wants published, and how it says so */
    struct str name, version;
    struct str content_type, tarball;
    struct str sri;       /* X-Pack-Sha256; empty: not sent */
    struct str method;    /* X-Pack-Signing-Method; empty: none */
    struct str signature; /* X-Pack-Signature: base64, over the tarball; empty: in the tarball */
    struct str key;       /* X-Pack-Public-Key: of a namespace that has none; empty: in it */
};
/* Checks 2 to 4 of 10.6. */
MUST_CHECK int registry_id_check(struct str name, struct str version, struct wopr_error *err);
/* Checks 5 to 23, in their order; reads only.  *out is what store_pack_publish takes, in a;
 * *known: the same bytes are published as this version already, and *out is not filled. */
MUST_CHECK int registry_admit(struct registry *r, struct store *s, const struct registry_upload *u,
                              const struct pack_actor *who, struct arena *a,
                              struct pack_publish *out, bool *known, struct wopr_error *err);

/* How a name is found and described once this version is gone: by the newest of the others.
 * *any: there is one. */
MUST_CHECK int registry_left(struct store *s, struct str name, struct str version, struct arena *a,
                             bool *any, struct pack_face *out, struct wopr_error *err);

/* The words of a text by which packs are found: lower case, at most max.  Appends to v, borrowed
 * from a. */
size_t registry_words(struct str text, struct arena *a, struct str *v, size_t n, size_t max);

/* PACK-53: judge the next key of a namespace.  public_key as it was sent, for it is what was
 * signed; valid_from likewise, an RFC 3339 time.  VALIDATION; PACK_ROTATION: the key that is to be
 * replaced has not signed this. */
struct registry_rotation {
    struct str kid, public_key, valid_from, proof;
};
MUST_CHECK int registry_rotation_check(struct store *s, struct str namespace,
                                       const struct registry_rotation *r, int64_t now_ms,
                                       struct arena *a, struct pack_key *out,
                                       struct wopr_error *err);

/* Is the key good for what was signed at this time?  PACK-53: one that ended later is. */
bool pack_key_holds(const struct pack_key *k, int64_t at_ms);

#endif
