/*
 * audit.h: the audit log: a chain of entries that only grows, and signed checkpoints (AUD-1 to
 * AUD-9).  Layer: store.  General rules: store.h.  Entries are written by plans (plan_audit), in
 * the transaction of what they tell of.
 */
#ifndef WOPR_STORE_AUDIT_H
#define WOPR_STORE_AUDIT_H

#include "codec/bytes.h"
#include "store/store.h"

struct audit_row {
    int64_t seq;      /* 0.. without holes in a sound log */
    struct str entry; /* as it was written: canonical JSON */
};
struct audit_rows {
    struct audit_row *v;
    size_t n;
};
/* The last entry; seq -1 when there is none. */
MUST_CHECK int store_audit_last(struct store *s, struct arena *a, struct audit_row *out,
                                struct wopr_error *err);
/* Entries with seq >= from, ascending, at most max. */
MUST_CHECK int store_audit_entries(struct store *s, int64_t from, unsigned max, struct arena *a,
                                   struct audit_rows *out, struct wopr_error *err);

struct audit_checkpoint {
    struct str id;
    int64_t at_seq;                    /* of the last entry that it covers */
    struct str root, signature, peaks; /* hex, base64, bytes (merkle_peaks) */
    struct str key_id;
    int64_t at_ms;
    struct str old_signature, old_key_id; /* of the key before, while a new one takes over (AUD-7);
                                           * empty: none */
};
struct audit_checkpoints {
    struct audit_checkpoint *v;
    size_t n;
};
/* A write.  EXISTS: there is one for this entry or a later one.  told: the entry that says so, of
 * type AUDIT_EMITTED, in the same transaction. */
#define AUDIT_EMITTED "checkpoint.emitted"
struct plan_audit;
MUST_CHECK int store_audit_checkpoint_put(struct store *s, const struct audit_checkpoint *c,
                                          const struct plan_audit *told, struct wopr_error *err);
/* Is there an entry after `seq` that is not about a checkpoint? */
MUST_CHECK int store_audit_fresh(struct store *s, int64_t seq, bool *any, struct wopr_error *err);
/* Those with from <= at_seq <= to, ascending, at most max. */
MUST_CHECK int store_audit_checkpoints(struct store *s, int64_t from, int64_t to, unsigned max,
                                       struct arena *a, struct audit_checkpoints *out,
                                       struct wopr_error *err);
/* The last one with at_seq < before.  NOT_FOUND. */
MUST_CHECK int store_audit_checkpoint_before(struct store *s, int64_t before, struct arena *a,
                                             struct audit_checkpoint *out, struct wopr_error *err);

struct audit_key {
    struct str key_id;
    uint8_t pub[32];
    int64_t created_ms;
};
struct audit_key_list {
    struct audit_key *v;
    size_t n;
};
/* A write.  Nothing changes when the key is there.  From then on the file is audited: keys that are
 * created or revoked become entries, whoever does that. */
MUST_CHECK int store_audit_key_put(struct store *s, const struct audit_key *k,
                                   struct wopr_error *err);
/* Oldest first, at most STORE_LIST_MAX. */
MUST_CHECK int store_audit_keys(struct store *s, struct arena *a, struct audit_key_list *out,
                                struct wopr_error *err);

#endif
