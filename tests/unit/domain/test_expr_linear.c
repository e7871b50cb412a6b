/*
 * test_expr_linear.c: contains() reads each element and what is looked for once (WF-10, S2).
 */
#include "base/buf.h"
#include "domain/expr_int.h"

#include <criterion/criterion.h>

enum { ELEMENTS = 100000, BIG_BYTES = 1 << 20, ARENA_MAX = 64 << 20 };

static const struct {
    const char *element, *open, *unit, *close; /* what is looked for: open unit unit ... close */
} CASES[] = {
    {"\"\"", "\"", "a", "\""},         {"{\"k\":1}", "{\"k\":\"", "a", "\"}"},
    {"[1]", "[", "1, ", "1]"},         {"1", "1", "0", ".5"},
    {"{}", "{\"k\":[", "{},", "{}]}"}, {"\"\\u0061\"", "\"", "\\u0062", "\""},
};

Test(expr, contains_costs_no_square_of_elements_and_value /* WF-10, S2 */, .timeout = 300) {
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct arena *a = arena_new(ARENA_MAX);
        struct buf x, y;
        bool found = true;
        buf_init(&x, 4 * BIG_BYTES);
        buf_init(&y, 4 * BIG_BYTES);
        buf_addc(&x, '[');
        for (int k = 0; k < ELEMENTS; k++) buf_addf(&x, "%s,", CASES[i].element);
        buf_addf(&x, "%s]", CASES[i].element);
        buf_addz(&y, CASES[i].open);
        while (y.len < BIG_BYTES) buf_addz(&y, CASES[i].unit);
        buf_addz(&y, CASES[i].close);
        cr_expect_eq(expr_contains(buf_str(&x), buf_str(&y), a, &found, NULL), 0, "%zu", i);
        cr_expect_not(found);
        buf_fini(&x);
        buf_fini(&y);
        arena_free(a);
    }
}
