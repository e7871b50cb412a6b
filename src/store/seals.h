/*
 * seals.h: sealed clear values of runs, and the data keys that seal them.  Layer: store.  General
 * rules: store.h.  Only vault.h can open a box.
 */
#ifndef WOPR_STORE_SEALS_H
#define WOPR_STORE_SEALS_H

#include "domain/plan.h"
#include "store/store.h"

struct seal_key_row {
    int64_t key_no;
    struct str kek; /* id of the installation's key that opens it */
    struct str wrapped;
    int64_t created_ms, retired_ms; /* 0 = not retired */
};
struct seal_key_list { /* oldest first */
    struct seal_key_row *v;
    size_t n;
};
/* All keys, with what wraps them. */
MUST_CHECK int store_seal_keys(struct store *s, struct arena *a, struct seal_key_list *out,
                               struct wopr_error *err);
/* The keys are these from now on, in one transaction.  STALE: they are not any more those that the
 * caller read, or something is sealed with one that is dropped. */
struct seal_keys_were {
    int64_t last_no; /* the newest number when the caller read them, 0 = none */
    bool dropped;    /* none of them is among the new ones */
};
MUST_CHECK int store_seal_keys_put(struct store *s, const struct seal_key_list *keys,
                                   const struct seal_keys_were *was, struct wopr_error *err);
/* Has a row been refused, since the last call, because its key is not there? */
bool store_seal_key_gone(struct store *s);
/* Is anything sealed at all? */
MUST_CHECK int store_seals_any(struct store *s, bool *any, struct wopr_error *err);
/* What is sealed for positions from <= seq < until of a run that has not ended, by seq; of one that
 * has ended, what it leaves.  A fork has those of what it inherits in common with the run that
 * sealed them. */
struct sealed_row {
    struct plan_sealed sealed;
    struct str run_id; /* that sealed it: a part of its place */
};
struct sealed_list {
    struct sealed_row *v;
    size_t n;
};
/* Sealed values with from <= seq < until, those that a fork inherits included. */
MUST_CHECK int store_sealed(struct store *s, int64_t run_no, int64_t from, int64_t until,
                            struct arena *a, struct sealed_list *out, struct wopr_error *err);
/* The plan that ends a run removes as many values and images in its transaction, and a call of
 * store_seals_sweep in one of its own; until then no reader gets the rest, and wopr verify tells of
 * it.  *more: call again. */
#define STORE_UNSEAL_VALUES 512
#define STORE_UNSEAL_IMAGES 16
MUST_CHECK int store_seals_sweep(struct store *s, bool *more, struct wopr_error *err);
/* Has a plan, since the last call, left a rest? */
bool store_seals_rest(struct store *s);

/* --- clear values that older programs stored unsealed --- */
/* The next run after run_no that has any; 0: none. */
MUST_CHECK int store_old_clear_next(struct store *s, int64_t after, int64_t *run_no,
                                    struct wopr_error *err);
struct old_clear {
    struct str name, value;
    int64_t seq; /* of the variable.changed that set it, -1 = initial value */
};
struct old_clear_list {
    struct old_clear *v;
    size_t n;
};
MUST_CHECK int store_old_clear(struct store *s, int64_t run_no, struct arena *a,
                               struct old_clear_list *out, struct wopr_error *err);
/* In one transaction: replace all clear values of the run by the boxes, and its inputs by the
 * masked ones unless p is NULL. */
struct old_sealed {
    int64_t run_no;
    const struct old_clear_list *was;
    struct str inputs;
    bool inputs_sealed;
    const struct plan_sealed *rows;
    size_t rows_nr;
};
MUST_CHECK int store_old_sealed(struct store *s, const struct old_sealed *o,
                                struct wopr_error *err);

#endif
