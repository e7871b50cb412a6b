/* Expression language and edge conditions (WF-9, WF-10). */
#include "domain/expr_int.h"
#include "support/growth.h"

#include <criterion/criterion.h>

static struct str scope_lookup(void *ctx, struct str root, struct arena *a) {
    (void)ctx;
    (void)a;
    if (str_eqc(root, "output"))
        return STR(
            "{\"n\":7,\"s\":\"h\\u00e9llo\",\"list\":[1,\"two\",{\"x\":[10,20]}],\"yes\":true,"
            "\"no\":false,\"nil\":null,\"f\":2.5,\"my-key\":\"dash\",\"a/b~c\":1,"
            "\"big\":9007199254740993}");
    if (str_eqc(root, "status")) return STR("\"completed\"");
    if (str_eqc(root, "value")) return STR("42");
    return STR_NONE;
}
static const struct expr_scope SCOPE = {.lookup = scope_lookup};

static int evaluate(const char *text, struct arena *a, struct str *out) {
    struct expr *e = NULL;
    struct wopr_error err;
    wopr_error_clear(&err);
    int rc = expr_parse(str_c(text), a, &e, &err);
    if (rc != 0) return rc;
    return expr_eval(e, &SCOPE, a, out, &err);
}

static const struct {
    const char *text, *want; /* want NULL: an error at evaluation or parsing */
} EVALUATIONS[] = {
    {"1", "1"},
    {"true", "true"},
    {"null", "null"},
    {"\"a\\nb\"", "\"a\\nb\""},
    {"'it\\'s'", "\"it's\""},
    {"'say \"x\"'", "\"say \\\"x\\\"\""},
    {"1 + 2 * 3", "7"},
    {"(1 + 2) * 3", "9"},
    {"10 - 4 - 3", "3"},
    {"7 / 2", "3.5"},
    {"8 / 2", "4"},
    {"7 % 4", "3"},
    {"-7 % 4", "-3"},
    {"7.5 % 2", "1.5"},
    {"- - 3", "3"},
    {"0.1 + 0.2", "0.30000000000000004"},
    {"9223372036854775807 + 1", "9223372036854776000"},
    {"9007199254740993 + 0", "9007199254740993"},
    {"output.big == 9007199254740993", "true"},
    {"(-9223372036854775807 - 1) / -1", "9223372036854776000"},
    {"(-9223372036854775807 - 1) % -1", "0"},
    {"1e308 * 10", NULL},
    {"1 / 0", NULL},
    {"1 % 0", NULL},
    {"'a' + 'b'", "\"ab\""},
    {"'a' + 1", NULL},
    {"true + 1", NULL},
    {"output.n", "7"},
    {"output.list[1]", "\"two\""},
    {"output.list.2.x[1]", "20"},
    {"output['my-key']", "\"dash\""},
    {"output[\"a/b~c\"]", "1"},
    {"output.missing.deeper", "null"},
    {"nowhere.at.all", "null"},
    {"output.list[9]", "null"},
    {"status == 'completed'", "true"},
    {"value > 41 && value < 43", "true"},
    {"1 == 1.0", "true"},
    {"'1' == 1", "false"},
    {"output.missing == null", "true"},
    {"output.list == [1]", NULL},
    {"1 != 2", "true"},
    {"1 < 2", "true"},
    {"2 <= 2", "true"},
    {"3 > 2", "true"},
    {"2 >= 3", "false"},
    {"'a' < 'b'", "true"},
    {"'a' < 1", NULL},
    {"null < 1", NULL},
    {"!output.no", "true"},
    {"!output.missing", "true"},
    {"!!output.s", "true"},
    {"output.no || output.yes", "true"},
    {"output.yes && output.nil", "false"},
    {"false && 1/0", "false"},
    {"true || 1/0", "true"},
    {"true && 1/0", NULL},
    {"1 < 2 == true", "true"},
    {"true || false && false", "true"},
    {"contains(output.s, 'llo')", "true"},
    {"contains('aab', 'ab')", "true"},
    {"contains('abc', '')", "true"},
    {"contains(output.list, 'two')", "true"},
    {"contains(output.list, 1.0)", "true"},
    {"contains(output, 'n')", "true"},
    {"contains(output, 'zzz')", "false"},
    {"contains(output.missing, 'x')", "false"},
    {"contains(1, 2)", NULL},
    {"contains('a', 2)", NULL},
    {"size(output.s)", "5"},
    {"size(output.list)", "3"},
    {"size(output.missing)", "0"},
    {"size(true)", NULL},
    {"matches(output.s, '^h.*o$')", "true"},
    {"matches('abc', 'x')", "false"},
    {"matches(output.missing, 'x')", "false"},
    {"matches('abc', output.s)", "false"},
    {"matches(1, 'x')", NULL},
    {"matches('a', '(')", NULL},
};

Test(expr, evaluates_the_table /* WF-10 */) {
    for (size_t i = 0; i < sizeof(EVALUATIONS) / sizeof(EVALUATIONS[0]); i++) {
        struct arena *a = arena_new(1 << 22);
        struct str out = STR_NONE;
        int rc = evaluate(EVALUATIONS[i].text, a, &out);
        if (EVALUATIONS[i].want == NULL) {
            cr_expect(rc != 0, "%s gave " STR_FMT, EVALUATIONS[i].text, STR_ARG(out));
        } else {
            cr_expect(rc == 0, "%s failed with %d", EVALUATIONS[i].text, rc);
            cr_expect(rc == 0 && str_eqc(out, EVALUATIONS[i].want), "%s gave " STR_FMT ", not %s",
                      EVALUATIONS[i].text, STR_ARG(out), EVALUATIONS[i].want);
        }
        arena_free(a);
    }
}

Test(expr, refuses_what_is_no_expression /* WF-10 */) {
    static const char *const BAD[] = {
        "",        " ",      "1 +",       "(1",          "1)",     "a..b",    "a.",
        "a[",      "a[x]",   "a[1",       "'open",       "\"open", "\"\\q\"", "1 2",
        "foo(1)",  "size()", "size(1,2)", "contains(1)", "a = 1",  "a & b",   "a | b",
        "01",      "1.",     "1e",        ".5",          "@",      "a ; b",   "\"\\ud800\"",
        "size (1", "!",      "-",         "a ? b : c",   "[1,2]",  "{}",      "\x01",
    };
    struct arena *a = arena_new(1 << 22);
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct expr *e = NULL;
        struct wopr_error err;
        int rc = expr_parse(str_c(BAD[i]), a, &e, &err);
        cr_expect(rc == WOPR_E_VALIDATION, "%s: %d", BAD[i], rc);
        cr_expect(e == NULL);
    }
    arena_free(a);
}

static int parse_repeated(const char *head, const char *unit, size_t n, const char *tail) {
    struct buf b;
    struct expr *e = NULL;
    struct arena *a = arena_new(1 << 22);
    buf_init(&b, 1 << 20);
    buf_addz(&b, head);
    for (size_t i = 0; i < n; i++) buf_addz(&b, unit);
    buf_addz(&b, tail);
    int rc = expr_parse(buf_str(&b), a, &e, NULL);
    buf_fini(&b);
    arena_free(a);
    return rc;
}

Test(expr, length_and_depth_are_bounded /* WF-10 */) {
    cr_expect(parse_repeated("1", " ", EXPR_BYTES_MAX - 1, "") == 0);
    cr_expect(parse_repeated("1", " ", EXPR_BYTES_MAX, "") == WOPR_E_VALIDATION);
    cr_expect(parse_repeated("1", "+1", EXPR_DEPTH_MAX - 1, "") == 0);
    cr_expect(parse_repeated("1", "+1", EXPR_DEPTH_MAX, "") == WOPR_E_VALIDATION);
    cr_expect(parse_repeated("", "!", EXPR_DEPTH_MAX - 1, "a") == 0);
    cr_expect(parse_repeated("", "!", EXPR_DEPTH_MAX, "a") == WOPR_E_VALIDATION);
    cr_expect(parse_repeated("", "(", EXPR_DEPTH_MAX, "1") == WOPR_E_VALIDATION);
    cr_expect(parse_repeated("", "(", 4000, "") == WOPR_E_VALIDATION);
    cr_expect(parse_repeated("", "size(", 800, "") == WOPR_E_VALIDATION);
}

/* What is looked for is half as long, and differs in its last byte only. */
static uint64_t search_us(void *ctx, unsigned n) {
    struct arena *a = arena_new(1 << 24);
    char *x = arena_alloc(a, n + 2), *y = arena_alloc(a, n / 2 + 3);
    bool found = true;
    (void)ctx;
    memset(x, 'a', n + 2);
    memset(y, 'a', n / 2 + 3);
    x[0] = x[n + 1] = y[0] = y[n / 2 + 2] = '"';
    y[n / 2 + 1] = 'b';
    uint64_t from = cpu_time_us();
    cr_expect(expr_contains(str_n(x, n + 2), str_n(y, n / 2 + 3), a, &found, NULL) == 0);
    uint64_t us = cpu_time_us() - from;
    cr_expect(!found);
    arena_free(a);
    return us;
}

Test(expr, a_search_costs_no_square /* WF-10 */) {
    const struct growth g = {search_us, NULL, 200000, 800000, GROWTH_FACTOR, 10000};
    char told[512];
    cr_expect(growth_holds(&g, told, sizeof told), "%s", told);
}

/* A backtracker without limits needs 2^40 steps here. */
Test(expr, evil_patterns_end /* WF-10 */, .timeout = 300) {
    struct arena *a = arena_new(1 << 24);
    struct str out;
    int rc = evaluate("matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '^(a+)+$')", a, &out);
    cr_expect(rc == WOPR_E_VALIDATION || (rc == 0 && str_eqc(out, "false")), "%d", rc);
    arena_free(a);
}

static bool holds(const struct wf_cond *c, const struct expr_scope *s, struct arena *a) {
    bool yes;
    cr_assert_eq(cond_eval(c, s, a, &yes), 0);
    return yes;
}

Test(cond, holds_as_the_table_says /* WF-9 */) {
    static const struct {
        enum wf_cond_kind kind;
        const char *left, *right;
        bool want;
    } T[] = {
        {COND_EQUALS, "status", "\"completed\"", true},
        {COND_EQUALS, "output.n", "7.0", true},
        {COND_EQUALS, "output.list.2", "{\"x\":[10,20]}", true},
        {COND_EQUALS, "output.gone", "null", true},
        {COND_EQUALS, "nowhere", "null", true},
        {COND_EQUALS, "output.n", "\"7\"", false},
        {COND_NOT_EQUALS, "output.n", "8", true},
        {COND_NOT_EQUALS, "output.n", "7", false},
        {COND_NOT_EQUALS, "output.gone", "1", true},
        {COND_CONTAINS, "output.s", "\"llo\"", true},
        {COND_CONTAINS, "output.list", "1", true},
        {COND_CONTAINS, "output.list", "3", false},
        {COND_CONTAINS, "output", "\"my-key\"", true},
        {COND_CONTAINS, "output.gone", "1", false},
        {COND_CONTAINS, "output.n", "7", false},
        {COND_CONTAINS, "output.s", "1", false},
    };
    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        struct arena *a = arena_new(1 << 20);
        struct wf_cond c = {
            .kind = T[i].kind, .left = str_c(T[i].left), .right = str_c(T[i].right)};
        cr_expect(holds(&c, &SCOPE, a) == T[i].want, "row %zu (%s)", i, T[i].left);
        arena_free(a);
    }
}

Test(cond, an_expression_that_errs_is_false /* WF-10 */) {
    struct arena *a = arena_new(1 << 20);
    struct wf_cond c = {.kind = COND_EXPRESSION};
    cr_assert(expr_parse(STR("1 / 0 == 1"), a, &c.expr, NULL) == 0);
    cr_expect(!holds(&c, &SCOPE, a));
    cr_assert(expr_parse(STR("output.n == 7"), a, &c.expr, NULL) == 0);
    cr_expect(holds(&c, &SCOPE, a));
    arena_free(a);
}
