/*
 * packs.h: the registry of packs, and what tenants have installed of it (PACK-30 to PACK-55).
 * Layer: store.  General rules: store.h.
 *
 * Invariants
 *   P1  a version and its bytes appear in one transaction, and neither ever changes (PACK-55)
 *   P2  a version that was unpublished is not given again, not even to the same bytes
 *   P3  what a name or a namespace belongs to is decided by the first publish, in its transaction
 *   P4  bytes are there as long as a version or an install refers to them; those of what was once
 *       installed stay, since runs that began with it go by them (run_origins.modules)
 *   P5  each change leaves an entry in the history of the pack, and in the audit log of an audited
 *       file, in the same transaction
 * The registry is one for live and test mode, and readable by all; tenants own names.
 */
#ifndef WOPR_STORE_PACKS_H
#define WOPR_STORE_PACKS_H

#include "base/buf.h"
#include "codec/bytes.h"
#include "store/store.h"

#define PACK_HISTORY_MAX    1000u /* entries of one answer */
#define PACK_SEARCH_MAX     100u
#define PACK_QUERY_WORDS    4u
#define PACK_WORD_BYTES_MAX 64u
/* A catalog record has all versions of a name: so many, and so many bytes of marks beside short
 * ones. */
#define PACK_VERSIONS_MAX    4096u
#define PACK_MARKS_BYTES_MAX (2u * 1024 * 1024)
#define PACK_MARK_SHORT      512u
/* What one tenant sees of installed packs: versions, and bytes of their manifests. */
#define PACK_INSTALLS_MAX       2000u
#define PACK_INSTALLS_BYTES_MAX (16u * 1024 * 1024)

struct pack_release {
    struct str name, version;
    struct sha256 digest;
    int64_t bytes;
    struct str manifest, warnings; /* raw JSON; the list of a name has neither */
    struct str signature;          /* 64 bytes; empty: unsigned */
    bool over_manifest;            /* it is over pack.json, else over the tarball */
    struct str kid;                /* of the key that verified it */
    int64_t published_ms;
    struct str published_by;      /* key id */
    struct str deprecation, yank; /* raw objects; empty: neither */
};
struct pack_releases {
    struct pack_release *v;
    size_t n;
};
struct pack_key {
    struct str namespace, kid;
    uint8_t pub[32];
    int64_t from_ms, until_ms, revoked_ms; /* the last two: 0 = not */
    struct str rotated_from, rotated_to, proof;
};
struct pack_keys {
    struct pack_key *v;
    size_t n;
};
struct pack_actor { /* who asks, for ownership, history and audit */
    struct str tenant, key_id;
    int64_t now_ms;
};
struct pack_names {
    struct str *v;
    size_t n;
};

/* --- the registry --- */
struct pack_publish {
    struct pack_release release;
    struct str tarball, namespace, description;
    const struct str *words; /* lower case, for the search; replaces those of the name */
    size_t words_nr;
    bool newest;                /* description and words are those of the name from now on */
    const struct pack_key *key; /* becomes the first one of the namespace; NULL: none */
    int64_t bytes_max;          /* of all that the tenant has published; 0: no bound */
};
/* A write.  *fresh: false when the same bytes are there as this version already.  FORBIDDEN:
 * another tenant owns the namespace; CONFLICT: the version has other bytes, or was unpublished, or
 * the namespace got a key meanwhile, or the name has PACK_VERSIONS_MAX; QUOTA: the tenant would
 * have more than bytes_max; PACK_SIGNATURE: the key of the signature is revoked by now. */
MUST_CHECK int store_pack_publish(struct store *s, const struct pack_publish *p,
                                  const struct pack_actor *who, bool *fresh,
                                  struct wopr_error *err);
/* NOT_FOUND: nobody has claimed it. */
MUST_CHECK int store_pack_owner(struct store *s, struct str namespace, struct arena *a,
                                struct str *tenant, struct wopr_error *err);
/* PACK_NOT_FOUND: also when it was unpublished. */
MUST_CHECK int store_pack_get(struct store *s, struct str name, struct str version, struct arena *a,
                              struct pack_release *out, struct wopr_error *err);
/* PACK_NOT_FOUND; *removed: was the version unpublished?  Only its digest is told then. */
MUST_CHECK int store_pack_seen(struct store *s, struct str name, struct str version,
                               struct sha256 *digest, bool *removed, struct wopr_error *err);
/* All that are there of a name, in bytewise order of versions, without their long texts. */
MUST_CHECK int store_pack_list(struct store *s, struct str name, struct arena *a,
                               struct pack_releases *out, struct wopr_error *err);
/* NOT_FOUND, TOO_BIG for out; CORRUPT: the bytes have another digest.  Appended to out. */
MUST_CHECK int store_pack_blob(struct store *s, const struct sha256 *digest, struct buf *out,
                               struct wopr_error *err);
/* For checks: the next digest in order of which there are bytes, or to which a version or an
 * install refers.  NOT_FOUND: there is none. */
MUST_CHECK int store_pack_blob_next(struct store *s, const struct sha256 *after, struct sha256 *out,
                                    struct wopr_error *err);
/* Names after the given one in bytewise order that have all the words (none: any name), at most
 * max; *next: pass it as after for those that follow, empty: there are none. */
MUST_CHECK int store_pack_search(struct store *s, const struct str *words, size_t words_nr,
                                 struct str after, unsigned max, struct arena *a,
                                 struct pack_names *out, struct str *next, struct wopr_error *err);
MUST_CHECK int store_pack_description(struct store *s, struct str name, struct arena *a,
                                      struct str *out, struct wopr_error *err);

enum pack_mark { PACK_MARK_DEPRECATION, PACK_MARK_YANK };
/* A write.  Set (raw object) or take away (empty) a mark of a version.  FORBIDDEN, PACK_NOT_FOUND;
 * CONFLICT: the marks of the name would take more than PACK_MARKS_BYTES_MAX.  What says the same
 * again has no further effect and leaves no entry: *text is the mark as it is, in a. */
MUST_CHECK int store_pack_mark(struct store *s, struct str name, struct str version,
                               struct str namespace, enum pack_mark mark, struct str *text,
                               const struct pack_actor *who, struct arena *a,
                               struct wopr_error *err);
/* How a name is found and described, by one of its versions. */
struct pack_face {
    struct str description;
    const struct str *words;
    size_t words_nr;
};
/* A write.  FORBIDDEN, PACK_NOT_FOUND; PACK_WINDOW: it was published before since_ms.  left: of the
 * newest version that is there then, or NULL when none is. */
MUST_CHECK int store_pack_unpublish(struct store *s, struct str name, struct str version,
                                    struct str namespace, int64_t since_ms,
                                    const struct pack_face *left, const struct pack_actor *who,
                                    struct wopr_error *err);

/* --- keys of a namespace --- */
/* Oldest first. */
MUST_CHECK int store_pack_keys(struct store *s, struct str namespace, struct arena *a,
                               struct pack_keys *out, struct wopr_error *err);
/* A write.  next takes the place of the key named rotated_from, which ends when next begins.
 * FORBIDDEN; NOT_FOUND: there is no such key, or it was rotated or revoked; EXISTS; CONFLICT: the
 * namespace has had as many as there may be. */
MUST_CHECK int store_pack_key_rotate(struct store *s, const struct pack_key *next, struct str name,
                                     const struct pack_actor *who, struct wopr_error *err);
/* A write.  The first key of a namespace without one, or of one whose keys were all revoked.
 * FORBIDDEN, EXISTS; CONFLICT: it has had as many as there may be. */
MUST_CHECK int store_pack_key_add(struct store *s, const struct pack_key *first, struct str name,
                                  const struct pack_actor *who, struct wopr_error *err);
/* A write.  From now on it vouches for nothing new.  FORBIDDEN, NOT_FOUND. */
MUST_CHECK int store_pack_key_revoke(struct store *s, struct str namespace, struct str kid,
                                     struct str name, const struct pack_actor *who,
                                     struct wopr_error *err);

/* --- history --- */
struct pack_event {
    struct str version, action, tenant, key_id, details;
    int64_t at_ms;
};
struct pack_events {
    struct pack_event *v;
    size_t n;
};
/* Newest first, at most PACK_HISTORY_MAX. */
MUST_CHECK int store_pack_history(struct store *s, struct str name, struct arena *a,
                                  struct pack_events *out, struct wopr_error *err);

/* --- installs --- */
struct pack_install {
    struct str tenant; /* empty: of all */
    struct str name, version;
    struct sha256 digest;
    struct str manifest, origin, kid; /* kid empty: nobody vouched */
    int64_t installed_ms;
    struct str installed_by;
};
struct pack_installs {
    struct pack_install *v;
    size_t n;
};
/* A write.  *fresh: false when it is there already with the same bytes.  CONFLICT: with others, or
 * a tenant would see more than PACK_INSTALLS_MAX or PACK_INSTALLS_BYTES_MAX. */
MUST_CHECK int store_pack_install(struct store *s, const struct pack_install *i, struct str tarball,
                                  bool *fresh, struct wopr_error *err);
/* What a tenant sees: its own and those of all; with all: of every tenant.  In order of names and
 * versions, at most STORE_LIST_MAX. */
MUST_CHECK int store_pack_installs(struct store *s, struct str tenant, bool all, struct arena *a,
                                   struct pack_installs *out, struct wopr_error *err);
/* Of those, the versions of one name; by the key, whatever else is installed. */
MUST_CHECK int store_pack_installs_of(struct store *s, struct str tenant, struct str name,
                                      struct arena *a, struct pack_installs *out,
                                      struct wopr_error *err);
/* A write.  NOT_FOUND. */
MUST_CHECK int store_pack_uninstall(struct store *s, struct str tenant, struct str name,
                                    struct str version, const struct pack_actor *who,
                                    struct wopr_error *err);

#endif
