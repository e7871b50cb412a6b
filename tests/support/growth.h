/* growth.h: does a cost grow like the size of the work, or like its square?  On a machine with
 * neighbours one measurement says little: the cheapest of each size counts, and a few attempts are
 * made until their ratio holds.  A square never holds. */
#ifndef WOPR_TESTS_SUPPORT_GROWTH_H
#define WOPR_TESTS_SUPPORT_GROWTH_H

#include "base/sanitized.h"
#include "support/cpu_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { GROWTH_ATTEMPTS = 5 };

/* Four times the work may cost so many times more; sixteen would be a square.  Sanitizers make
 * memory that is touched first dearer than the rest. */
#if SANITIZED_ADDRESS
#define GROWTH_FACTOR 13u
#else
#define GROWTH_FACTOR 8u
#endif

struct growth {
    uint64_t (*cost_us)(void *ctx, unsigned size); /* does the work once */
    void *ctx;
    unsigned few, many;
    unsigned factor;   /* many may cost so many times what few costs ... */
    uint64_t slack_us; /* ... and this */
};

/* told: what was measured, for the message. */
static inline bool growth_holds(const struct growth *g, char *told, size_t size) {
    uint64_t few = UINT64_MAX, many = UINT64_MAX;
    size_t n = 0;
    told[0] = '\0';
    for (int i = 0; i < GROWTH_ATTEMPTS; i++) {
        uint64_t a = g->cost_us(g->ctx, g->few), b = g->cost_us(g->ctx, g->many);
        if (a < few) few = a;
        if (b < many) many = b;
        if (n < size)
            n += (size_t)snprintf(told + n, size - n, "%s%u: %llu us, %u: %llu us", i ? "; " : "",
                                  g->few, (unsigned long long)a, g->many, (unsigned long long)b);
        if (many < g->factor * few + g->slack_us) return true;
    }
    return false;
}

#endif
