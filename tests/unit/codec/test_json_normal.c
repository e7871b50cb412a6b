/*
 * test_json_normal.c: the normal form is the same for equal texts, and for no others.
 */
#include "codec/json.h"

#include <criterion/criterion.h>

/* Each differs from all others; the spellings of one row are equal. */
static const char *const VALUES[][4] = {
    {"null", " null ", NULL, NULL},
    {"true", NULL, NULL, NULL},
    {"0", "-0", "0.000", "0e99"},
    {"1", "1.0", "10e-1", "0.001e3"},
    {"-1", "-1.00", "-0.1e1", NULL},
    {"10", "1e1", "10.0", "1000E-2"},
    {"9007199254740993", "9007199254740993.0", "9007199254740.993e3", NULL},
    {"9007199254740992", NULL, NULL, NULL},
    {"1e400", "10e399", "0.1E401", NULL},
    {"1e-400", "0.1e-399", NULL, NULL},
    {"\"1\"", "\"\\u0031\"", NULL, NULL},
    {"\"/\"", "\"\\/\"", "\"\\u002f\"", "\"\\u002F\""},
    {"\"\\n\"", "\"\\u000a\"", NULL, NULL},
    {"\"\"", NULL, NULL, NULL},
    {"[]", "[ ]", NULL, NULL},
    {"{}", "{ }", NULL, NULL},
    {"[1,2]", "[1.0 , 20e-1]", NULL, NULL},
    {"[2,1]", NULL, NULL, NULL},
    {"[12]", NULL, NULL, NULL},
    {"{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}", "{ \"\\u0062\" : 2, \"a\" : 1 }", NULL},
    {"{\"a\":2,\"b\":1}", NULL, NULL, NULL},
    {"{\"a\":{\"a\":1,\"b\":[{}]}}", "{\"a\":{\"b\":[{ }],\"a\":1e0}}", NULL, NULL},
};
enum { ROWS = sizeof VALUES / sizeof *VALUES };

Test(json_normal, says_what_equality_says) {
    for (int i = 0; i < ROWS * 4; i++)
        for (int k = 0; k < ROWS * 4; k++) {
            const char *x = VALUES[i / 4][i % 4], *y = VALUES[k / 4][k % 4];
            struct buf nx, ny;
            if (!x || !y) continue;
            struct arena *a = arena_new(1 << 16);
            buf_init(&nx, 4096);
            buf_init(&ny, 4096);
            cr_assert_eq(json_canonical_exact(str_c(x), &nx, NULL), 0, "%s", x);
            cr_assert_eq(json_canonical_exact(str_c(y), &ny, NULL), 0, "%s", y);
            cr_expect_eq(str_eq(buf_str(&nx), buf_str(&ny)), i / 4 == k / 4, "%s and %s", x, y);
            cr_expect_eq(json_equal(str_c(x), str_c(y), a), i / 4 == k / 4, "%s and %s", x, y);
            buf_fini(&nx);
            buf_fini(&ny);
            arena_free(a);
        }
}
