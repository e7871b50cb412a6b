/*
 * reducer.h: the reducers of channels as pure functions (20-runtime 5.4).  Layer: domain.
 * List reducers keep entries, value reducers one value.  Here: what may be written, the identity of
 * a write, and one step of a value.  Not here: TTL, maxSize, versions (state_channel.c).
 */
#ifndef WOPR_DOMAIN_REDUCER_H
#define WOPR_DOMAIN_REDUCER_H

#include "base/arena.h"
#include "base/buf.h"
#include "domain/workflow.h"

enum reducer reducer_of(struct str name); /* vendor.* and unknown ones are RED_VENDOR (CHAN-10) */
/* Does it keep entries (append, message ...) instead of one value? */
bool reducer_is_list(enum reducer r);
/* May an engine that does not own the run write (CHAN-19)? True if concurrent writes commute. */
bool reducer_crosses(enum reducer r);
/* NULL, or why the reducer refuses x (checked JSON; 5.4, CHAN-12). */
const char *reducer_refuses(enum reducer r, struct str x);
/* The author of a vote (CHAN-11), the id of a message; raw JSON, STR_NONE without identity. */
struct str reducer_identity(enum reducer r, struct str x);
/* The identity without its JSON spelling: "a" and "\u0061" are the same.  Borrowed from raw or in
 * a; .p == NULL: no memory. */
struct str reducer_identity_text(struct str raw, struct arena *a);
/* Shallow merge: members of x overwrite those of old (empty: none) in their place, new ones follow.
 * Appends to b; *keys: how many there are.  VALIDATION: x is no object; NO_MEMORY.  A member costs
 * one look-up. */
MUST_CHECK int reducer_merge(struct str old, struct str x, struct arena *a, struct buf *b,
                             size_t *keys);

/*
 * Sum of a counter: exact for all numbers a double or 64-bit integer can hold, so that the order of
 * writes cannot matter (CHAN-12); rounded once, when it is shown.  Fixed point, 32 bits a limb, the
 * least of weight 2^-1088; the top limb has the sign.  Room for 2^64 additions.
 */
#define SUM_LIMBS 68
struct sum {
    int64_t limb[SUM_LIMBS];
};
void sum_clear(struct sum *s);
MUST_CHECK int sum_add(struct sum *s, struct str number); /* raw JSON; VALIDATION: no number */
/* A whole number inside int64 as such, else the nearest double (ties to even).  VALIDATION: larger
 * than a double can be. */
MUST_CHECK int sum_text(const struct sum *s, struct buf *b);
/* |s| <= max?  Exact. */
bool sum_within(const struct sum *s, int64_t max);

#endif
