/*
 * credentials.h: secrets that runs use by name: keys of AI providers and the like (NODE-5, CAP-19).
 * Layer: store.  General rules: store.h.
 *
 * One belongs to a tenant, or to one subject (user) of it, and to live or to test mode; none is
 * ever shown again.  Each is sealed with a key of its own, which the vault derives from its data
 * key; tenant, mode, owner, name and time are authenticated, so a row that was copied to another
 * place does not open.  What rotates the vault's keys (wopr seal rotate) needs not touch them.
 */
#ifndef WOPR_STORE_CREDENTIALS_H
#define WOPR_STORE_CREDENTIALS_H

#include "store/vault.h"

#define CREDENTIAL_NAME_MAX  256u
#define CREDENTIAL_VALUE_MAX 16384u
#define CREDENTIALS_MAX      1000 /* of a tenant, per mode */

enum credential_kind { /* NODE-5, in the contract's words; stored as numbers */
                       CREDENTIAL_AI_PROVIDER,
                       CREDENTIAL_API_KEY,
                       CREDENTIAL_OAUTH_TOKEN,
                       CREDENTIAL_CUSTOM,
                       CREDENTIAL_KIND_NR
};
const char *credential_kind_name(enum credential_kind k);
bool credential_kind_parse(struct str name, enum credential_kind *out);

struct credential_id {
    struct str tenant;
    bool test_mode;
    struct str issuer, subject; /* both empty: the tenant's */
    struct str name;            /* 1..CREDENTIAL_NAME_MAX visible ASCII characters */
};
struct credential {
    struct credential_id id;
    enum credential_kind kind;
    struct str provider; /* of AI_PROVIDER; empty otherwise */
    int64_t created_ms, updated_ms;
    struct plan_sealed sealed; /* box and key_no */
};
struct credential_list {
    struct credential *v;
    size_t n;
};
bool credential_name_ok(struct str name);

/* A write.  Seal the value and store it in the place of an earlier one of the same id; c->sealed
 * and c->created_ms are not read.  QUOTA: the tenant has CREDENTIALS_MAX. */
MUST_CHECK int credential_put(struct store *s, struct vault *v, const struct credential *c,
                              struct str value, struct wopr_error *err);
/* The one that a run of this subject gets for the name: its own before the tenant's.  NOT_FOUND;
 * CORRUPT: it does not open.  *value is in a's memory: overwrite it (credential_wipe) after use. */
MUST_CHECK int credential_resolve(struct store *s, struct vault *v, const struct credential_id *id,
                                  struct arena *a, struct credential *out, struct str *value,
                                  struct wopr_error *err);
/* The value of a row, likewise.  CORRUPT: it does not open. */
MUST_CHECK int credential_open(struct vault *v, const struct credential *c, struct arena *a,
                               struct str *value, struct wopr_error *err);
void credential_wipe(struct str *value);
/* Does it open with this vault?  For checks. */
MUST_CHECK int credential_check(struct vault *v, const struct credential *c, struct arena *a,
                                struct wopr_error *err);

/* --- rows --- */
/* UNAVAILABLE: the data key that sealed it was replaced meanwhile; seal it again.  An audited file
 * tells of both writes, in their transaction. */
MUST_CHECK int store_credential_put(struct store *s, const struct credential *c,
                                    struct wopr_error *err);
/* The subject's, else the tenant's. NOT_FOUND. */
MUST_CHECK int store_credential_find(struct store *s, const struct credential_id *id,
                                     struct arena *a, struct credential *out,
                                     struct wopr_error *err);
MUST_CHECK int store_credential_delete(struct store *s, const struct credential_id *id,
                                       struct wopr_error *err); /* NOT_FOUND */
/* After *after in key order (NULL: from the first), at most STORE_LIST_MAX; of all tenants when
 * tenant is empty. */
MUST_CHECK int store_credentials(struct store *s, struct str tenant,
                                 const struct credential_id *after, struct arena *a,
                                 struct credential_list *out, struct wopr_error *err);

#endif
