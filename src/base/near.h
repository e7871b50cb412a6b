/*
 * near.h: which known name a misspelt one is close to.  Layer: base.
 */
#ifndef WOPR_BASE_NEAR_H
#define WOPR_BASE_NEAR_H

#include "base/str.h"

/* Offer every known name with near_try, then ask.  Names live as long as what they point into. */
struct near {
    struct str name, best;
    size_t distance;
};
/* name: the word that is not known. */
void near_init(struct near *n, struct str name);
void near_try(struct near *n, struct str known);
/* The closest one, p NULL when none is close: at most a third of the letters, three at most, may be
 * wrong, missing, too many or swapped with their neighbour; of a longer name the
 * beginning counts. */
struct str near_best(const struct near *n);
/* "; did you mean X?", or "" when nothing is close; in a caller's buffer. */
#define NEAR_HINT 96
const char *near_hint(const struct near *n, char out[NEAR_HINT]);

#endif
