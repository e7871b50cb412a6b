/*
 * semver.h: versions and ranges, as npm reads them (PACK-2, PACK-5).  Layer: packs (pure).
 *
 * A version is Semantic Versioning 2.0.0: no leading zeros, no empty identifiers.  A range is one
 * or more sets of comparators joined by "||"; a set holds when all of its comparators do, and a
 * prerelease is taken only by a set that names a prerelease of the same three numbers.
 */
#ifndef WOPR_PACKS_SEMVER_H
#define WOPR_PACKS_SEMVER_H

#include "base/arena.h"

#define SEMVER_BYTES_MAX       256u
#define SEMVER_RANGE_BYTES_MAX 1024u
#define SEMVER_COMPARATORS_MAX 128u

struct semver { /* texts are borrowed */
    uint64_t part[3];
    struct str pre, build; /* without '-' and '+'; empty: none */
};
bool semver_parse(struct str text, struct semver *out);
/* By precedence: build metadata does not count. */
int semver_cmp(const struct semver *a, const struct semver *b);

enum semver_op { SEMVER_LT, SEMVER_LE, SEMVER_GT, SEMVER_GE, SEMVER_EQ };
struct semver_comparator {
    enum semver_op op;
    struct semver v;
    unsigned set; /* which alternative it belongs to */
};
struct semver_range {
    struct semver_comparator v[SEMVER_COMPARATORS_MAX];
    unsigned n, sets; /* a set without comparators takes every release */
};
/* false: no range, or one with more bytes or comparators than the bounds allow.  Borrows text. */
bool semver_range_parse(struct str text, struct semver_range *out);
bool semver_range_has(const struct semver_range *r, const struct semver *v);

#endif
