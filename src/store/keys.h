/*
 * keys.h: API keys (AUTH-3, D17), signing secrets of interrupt tokens (INT-36, D46), and the
 * secrets of the database itself.  Layer: store.  General rules: store.h.
 */
#ifndef WOPR_STORE_KEYS_H
#define WOPR_STORE_KEYS_H

#include "codec/bytes.h"
#include "store/store.h"

/* The 32 random bytes kept under a name such as "pepper"; made, by a write, at the first call for
 * this database.  CORRUPT when they are damaged. */
MUST_CHECK int store_secret(struct store *s, const char *name, uint8_t out[32],
                            struct wopr_error *err);

/* ---------------------------------------------------------------- API keys */
struct api_key {
    struct str key_id, tenant, workspace, subject_issuer, subject_id, label;
    struct sha256 hash; /* HMAC-SHA256(pepper, whole key); the key itself is not stored */
    uint32_t scopes;    /* bit set, see domain/scope.h */
    bool test_mode;
    bool configured; /* from a host's settings: a record of it, never a credential by itself */
    int64_t created_ms, expires_ms;
    int64_t revoked_ms; /* these three wall clock, 0 = never; after now: the end of a rotation */
};
struct api_key_list {
    struct api_key *v;
    size_t n;
};
/* A write.  EXISTS on the same id or hash. */
MUST_CHECK int store_key_put(struct store *s, const struct api_key *k, struct wopr_error *err);
/* A write.  Insert the row of a configured key, or update its tenant, workspace and scopes.  A
 * revocation, and a created key with the same text, stay as they are. */
MUST_CHECK int store_key_configure(struct store *s, const struct api_key *k,
                                   struct wopr_error *err);
/* A write.  Delete the row of a configured key that is not revoked; 0 when there is none. */
MUST_CHECK int store_key_forget(struct store *s, struct str key_id, struct wopr_error *err);
/* A write.  Of several revocations the earliest holds, so one in the future (a rotation) can be
 * brought forward.  NOT_FOUND. */
MUST_CHECK int store_key_revoke(struct store *s, struct str key_id, int64_t now_ms,
                                struct wopr_error *err);
struct api_rotation {
    struct str old_id;
    int64_t now_ms, old_ends_ms; /* when the old key is revoked, after the grace */
    struct api_key key;          /* the successor */
};
/* A write.  Store the successor and the end of the old key, in one transaction (AUTH-20).  CONFLICT
 * when the old key does not work any more or has an end by rotation already. */
MUST_CHECK int store_key_rotate(struct store *s, const struct api_rotation *r,
                                struct wopr_error *err);
/* NOT_FOUND. A row read before costs no query until the next commit. */
MUST_CHECK int store_key_find(struct store *s, struct str key_id, struct arena *a,
                              struct api_key *out, struct wopr_error *err);
MUST_CHECK int store_key_find_hash(struct store *s, const struct sha256 *hash, struct arena *a,
                                   struct api_key *out, struct wopr_error *err);
/* By id, at most STORE_LIST_MAX. */
MUST_CHECK int store_key_list(struct store *s, struct arena *a, struct api_key_list *out,
                              struct wopr_error *err);

/* ---------------------------------------------------------------- token secrets */
struct token_secret {
    struct str kid;
    uint8_t secret[32];
    int64_t created_ms, retired_ms; /* retired: verifies but no longer signs; 0 = in use */
};
struct token_secret_list {
    struct token_secret *v;
    size_t n;
};
/* A write.  Store a new signing secret and retire the others, in one transaction.  EXISTS on the
 * same kid. */
MUST_CHECK int store_token_secret_put(struct store *s, const struct token_secret *t,
                                      struct wopr_error *err);
/* A write.  Delete a secret: its tokens stop working at once.  CONFLICT for the one that signs,
 * NOT_FOUND. */
MUST_CHECK int store_token_secret_delete(struct store *s, struct str kid, struct wopr_error *err);
/* Read from the database each time, so that a rotation by another process is seen at once.
 * NOT_FOUND; CORRUPT when the secret is damaged. */
MUST_CHECK int store_token_secret_current(struct store *s, struct arena *a,
                                          struct token_secret *out, struct wopr_error *err);
MUST_CHECK int store_token_secret_find(struct store *s, struct str kid, struct arena *a,
                                       struct token_secret *out, struct wopr_error *err);
/* At most STORE_LIST_MAX. */
MUST_CHECK int store_token_secret_list(struct store *s, struct arena *a,
                                       struct token_secret_list *out, struct wopr_error *err);

#endif
