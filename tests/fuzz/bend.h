/* bend.h: a true text with some bytes changed, for targets that judge credentials. */
#ifndef WOPR_TESTS_FUZZ_BEND_H
#define WOPR_TESTS_FUZZ_BEND_H

#include "base/arena.h"
#include "base/error.h"

#include <string.h>

/* how: triples (place, what, byte); places are multiples of stride.  In the memory of a. */
static struct str bent(struct arena *a, struct str truth, struct str how, unsigned stride) {
    char *p = arena_alloc(a, truth.n + how.n + 1);
    size_t n = truth.n;
    ASSERT(p != NULL);
    memcpy(p, truth.p, n);
    for (size_t i = 0; i + 2 < how.n && n > 0; i += 3) {
        size_t at = ((unsigned char)how.p[i] * (size_t)stride) % n;
        if ((how.p[i + 1] & 3) == 0) memmove(p + at, p + at + 1, --n - at);
        else if ((how.p[i + 1] & 3) == 1)
            memmove(p + at + 1, p + at, n++ - at), p[at] = how.p[i + 2];
        else p[at] = how.p[i + 2];
    }
    return str_n(p, n);
}

#endif
