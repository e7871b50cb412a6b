/* test_growth.c: what judges costs in other tests lets a noisy line pass, and no square. */
#include "support/growth.h"

#include <criterion/criterion.h>

static unsigned calls;

/* The first attempts cost many times what the work is worth, as beside a busy neighbour. */
static uint64_t noisy(uint64_t us) { return ++calls <= 4 ? us * (calls % 2 ? 3 : 40) : us; }
static uint64_t line(void *ctx, unsigned size) {
    (void)ctx;
    return noisy(10u * size);
}
static uint64_t square(void *ctx, unsigned size) {
    (void)ctx;
    return noisy((uint64_t)size * size);
}

Test(growth, a_line_holds_and_a_square_does_not) {
    struct growth g = {line, NULL, 1000, 4000, 8, 1000};
    char told[256];
    cr_expect(growth_holds(&g, told, sizeof told), "%s", told);
    cr_expect_gt(calls, 2u, "the first attempt held already");
    calls = 0;
    g.cost_us = square;
    cr_expect_not(growth_holds(&g, told, sizeof told), "%s", told);
    cr_expect_eq(calls, 2u * GROWTH_ATTEMPTS);
}
