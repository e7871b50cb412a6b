/*
 * test_json_span.c: members, elements, values, pointers, equality of raw text (D32).
 */
#include "base/fault.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <math.h>

static struct arena *a;
static void up(void) { a = arena_new(16 << 20); }
static void down(void) { arena_free(a); }

static const char DOC[] =
    " {\"a\" : [1, \"x,]}\\\"\", {\"b\":null}] ,\"\":{\"\":7},\"n\\u0061me\":\"v\\n\","
    "\"e/s~c\":true, \"0\":{\"0\":\"zero\"}} ";

Test(json_span, members_come_in_order_with_raw_values, .init = up, .fini = down) {
    struct json_members m;
    struct wopr_error e;
    cr_assert_eq(json_check(str_c(DOC), &JSON_LIMITS_DEFAULT, &e), 0, "%s", e.message);
    cr_assert_eq(json_members(str_c(DOC), a, &m, &e), 0);
    cr_assert_eq(m.n, 5);
    cr_assert(str_eqc(m.v[0].key, "a") && str_eqc(m.v[0].raw, "[1, \"x,]}\\\"\", {\"b\":null}]"));
    cr_assert(str_eqc(m.v[1].key, "") && str_eqc(m.v[1].raw, "{\"\":7}"));
    cr_assert(str_eqc(m.v[2].key, "name") && str_eqc(m.v[2].raw, "\"v\\n\""));
    cr_assert_eq(json_member_find(&m, "name"), &m.v[2]);
    cr_assert_null(json_member_find(&m, "nam"));
    cr_assert(str_eqc(json_get(str_c(DOC), "name"), "\"v\\n\""));
    cr_assert_null(json_get(str_c(DOC), "none").p);
    cr_assert_null(json_get(STR("[1]"), "0").p);
    cr_assert_null(json_get(STR_NONE, "a").p);
}

Test(json_span, elements_come_in_order, .init = up, .fini = down) {
    struct json_elements v;
    cr_assert_eq(json_elements(json_get(str_c(DOC), "a"), a, &v, NULL), 0);
    cr_assert_eq(v.n, 3);
    cr_assert(str_eqc(v.v[0], "1") && str_eqc(v.v[1], "\"x,]}\\\"\"") &&
              str_eqc(v.v[2], "{\"b\":null}"));
    cr_assert_eq(json_elements(STR(" [ ] "), a, &v, NULL), 0);
    cr_assert_eq(v.n, 0);
}

Test(json_span, a_wrong_type_is_a_syntax_error, .init = up, .fini = down) {
    struct json_elements v;
    struct json_members m;
    struct wopr_error e;
    cr_assert_eq(json_members(STR("[]"), a, &m, &e), WOPR_E_SYNTAX);
    cr_assert_eq(json_members(STR("null"), a, &m, &e), WOPR_E_SYNTAX);
    cr_assert_eq(json_elements(STR("{}"), a, &v, &e), WOPR_E_SYNTAX);
    cr_assert_eq(json_elements(STR(""), a, &v, &e), WOPR_E_SYNTAX);
}

Test(json_span, more_members_than_the_stack_holds, .init = up, .fini = down) {
    struct buf b;
    struct json_members m;
    struct json_elements v;
    buf_init(&b, 1 << 20);
    for (size_t n = 0; n < 200; n++) {
        buf_reset(&b);
        buf_addc(&b, '{');
        for (size_t i = 0; i < n; i++) buf_addf(&b, "%s\"k%zu\":[%zu]", i ? "," : "", i, i);
        buf_addc(&b, '}');
        cr_assert_eq(json_members(buf_str(&b), a, &m, NULL), 0);
        cr_assert_eq(m.n, n);
        if (n > 0) cr_assert(str_eq(m.v[n - 1].raw, arena_printf(a, "[%zu]", n - 1)));
        buf_reset(&b);
        buf_addc(&b, '[');
        for (size_t i = 0; i < n; i++) buf_addf(&b, "%s%zu", i ? "," : "", i);
        buf_addc(&b, ']');
        cr_assert_eq(json_elements(buf_str(&b), a, &v, NULL), 0);
        cr_assert_eq(v.n, n);
        if (n > 0) cr_assert(str_eq(v.v[n - 1], arena_printf(a, "%zu", n - 1)));
    }
    struct arena *tiny = arena_new(64);
    cr_assert_eq(json_elements(buf_str(&b), tiny, &v, NULL), WOPR_E_NO_MEMORY);
    arena_free(tiny);
    buf_fini(&b);
}

Test(json_span, unchecked_bytes_do_no_harm, .init = up, .fini = down) {
    static const char *const ODD[] = {"{",   "{\"a",     "{\"a\":", "{\"a\":[", "{\"a\":\"\\",
                                      "[",   "[1,",      "[\"\\u",  "[[[",      "{]",
                                      "[1}", "{\"a\"1}", "{:",      "[,",       "\"\\"};
    struct json_members m;
    struct json_elements v;
    for (size_t i = 0; i < sizeof ODD / sizeof *ODD; i++) {
        struct str s = str_c(ODD[i]);
        cr_expect_neq(json_members(s, a, &m, NULL), 0, "%s", ODD[i]);
        cr_expect_neq(json_elements(s, a, &v, NULL), 0, "%s", ODD[i]);
        json_get(s, "zz");
        json_depth(s);
        json_string(s, a);
        json_pointer_get(s, STR("/0/a"), a);
    }
}

Test(json_span, strings_are_unescaped, .init = up, .fini = down) {
    struct str s = json_string(STR(" \"a\\u0000b\\ud83d\\ude00\\u20AC\\/\\\"\" "), a);
    cr_assert(str_eq(s, STR("a\0b\xF0\x9F\x98\x80\xE2\x82\xAC/\"")));
    s = json_string(STR("\"\""), a);
    cr_assert(s.p != NULL && s.n == 0);
    cr_assert_null(json_string(STR("1"), a).p);
    cr_assert_null(json_string(STR("null"), a).p);
    cr_assert_null(json_string(STR_NONE, a).p);
    cr_assert_eq(json_type_of(STR(" \n{}")), JSON_OBJECT);
    cr_assert_eq(json_type_of(STR("[]")), JSON_ARRAY);
    cr_assert_eq(json_type_of(STR("\"\"")), JSON_STRING);
    cr_assert_eq(json_type_of(STR("-1")), JSON_NUMBER);
    cr_assert_eq(json_type_of(STR("true")), JSON_BOOL);
    cr_assert_eq(json_type_of(STR("null")), JSON_NULL);
}

Test(json_span, booleans_and_integers) {
    static const struct {
        const char *text;
        bool ok;
        int64_t v;
    } CASES[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"0e999999999999999999999", true, 0},
        {"0.000", true, 0},
        {"1.0", true, 1},
        {"1e3", true, 1000},
        {"12.50e1", true, 125},
        {"100e-2", true, 1},
        {"-1.5e1", true, -15},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9.223372036854775807e18", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"1e19", false, 0},
        {"1e99999999999999999999", false, 0},
        {"1.5", false, 0},
        {"1e-1", false, 0},
        {"100e-3", false, 0},
        {"\"1\"", false, 0},
        {"", false, 0},
        {"1x", false, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int64_t v = 77;
        cr_expect_eq(json_int(str_c(CASES[i].text), &v), CASES[i].ok, "%s", CASES[i].text);
        cr_expect_eq(v, CASES[i].ok ? CASES[i].v : 77, "%s", CASES[i].text);
    }
    bool b = false;
    cr_assert(json_bool(STR(" true "), &b) && b);
    cr_assert(json_bool(STR("false"), &b) && !b);
    cr_assert_not(json_bool(STR("1"), &b));
}

Test(json_span, doubles_are_the_nearest, .init = up, .fini = down) {
    static const char *const TEXTS[] = {"0.1",
                                        "1e22",
                                        "1e23",
                                        "123456789012345678901234567890",
                                        "1.7976931348623157e308",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "2.2250738585072011e-308",
                                        "9007199254740993",
                                        "9007199254740993.0000000000000000001",
                                        "-1.5e-10",
                                        "0.30000000000000004",
                                        "179769313486231580793e288",
                                        "1e-400",
                                        "123.456e-2"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        double d = -1;
        cr_assert(json_double(str_c(TEXTS[i]), &d), "%s", TEXTS[i]);
        cr_assert_eq(d, strtod(TEXTS[i], NULL), "%s", TEXTS[i]);
    }
    double d = 5;
    cr_assert(json_double(STR("-0"), &d) && d == 0 && signbit(d));
    cr_assert_not(json_double(STR("1e309"), &d) || json_double(STR("null"), &d));
    /* More digits than are looked at, where the very last one decides. */
    char *half = arena_alloc(a, 2002);
    memset(half, '0', 2001);
    memcpy(half, "9007199254740993.", 17);
    cr_assert(json_double(str_c(half), &d) && d == 9007199254740992.0);
    half[2000] = '1';
    cr_assert(json_double(str_c(half), &d) && d == 9007199254740994.0);
}

Test(json_span, pointers_and_paths_walk, .init = up, .fini = down) {
    static const struct {
        const char *pointer, *dotted, *found;
    } CASES[] = {
        {"/a/2/b", "a.2.b", "null"},
        {"//", ".", "7"},
        {"/", NULL, "{\"\":7}"},
        {"/name", "name", "\"v\\n\""},
        {"/e~1s~0c", NULL, "true"},
        {"/0/0", "0.0", "\"zero\""},
        {"/a/3", "a.3", NULL},
        {"/a/-", "a.-", NULL},
        {"/a/01", "a.01", NULL},
        {"/a/b", "a.b", NULL},
        {"/none/x", "none.x", NULL},
        {"/name/0", "name.0", NULL},
        {"name", NULL, NULL},
        {"/e~s", NULL, NULL},
        {"/a/99999999999999999999", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct str got = json_pointer_get(str_c(DOC), str_c(CASES[i].pointer), a);
        cr_expect(CASES[i].found ? str_eqc(got, CASES[i].found) : !got.p, "%s", CASES[i].pointer);
        if (!CASES[i].dotted) continue;
        got = json_path_get(str_c(DOC), str_c(CASES[i].dotted), a);
        cr_expect(CASES[i].found ? str_eqc(got, CASES[i].found) : !got.p, "%s", CASES[i].dotted);
    }
    struct str all = json_pointer_get(STR("  [1] "), STR(""), a);
    cr_assert(str_eqc(all, "[1]"));
    cr_assert(str_eqc(json_path_get(STR("  [1] "), STR(""), a), "[1]"));
}

Test(json_span, equality_ignores_order_and_spelling, .init = up, .fini = down) {
    static const struct {
        const char *x, *y;
        bool equal;
    } CASES[] = {
        {"{\"a\":1,\"b\":[true,null]}", " { \"b\" : [ true , null ] , \"a\" : 1.0 } ", true},
        {"\"\\u00e9\"", "\"\xC3\xA9\"", true},
        {"{\"\\u0061\":0}", "{\"a\":-0.0e5}", true},
        {"100", "1e2", true},
        {"0.001", "1e-3", true},
        {"1.10", "11e-1", true},
        {"12.5", "125e-1", true},
        {"9007199254740993", "9007199254740992", false},
        {"1e400", "10e399", true},
        {"1", "-1", false},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":1,\"c\":1}", "{\"a\":1,\"b\":1}", false},
        {"null", "false", false},
        {"true", "false", false},
        {"\"1\"", "1", false},
        {"\"a\"", "\"b\"", false},
        {"[]", "{}", false},
        {"{}", "{ }", true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct str x = str_c(CASES[i].x), y = str_c(CASES[i].y);
        cr_expect_eq(json_equal(x, y, a), CASES[i].equal, "%s = %s", x.p, y.p);
        cr_expect_eq(json_equal(y, x, a), CASES[i].equal, "%s = %s", y.p, x.p);
        cr_expect(json_equal(x, x, a));
    }
}

Test(json_span, depth_counts_below_the_root) {
    cr_assert_eq(json_depth(STR("1")), 0);
    cr_assert_eq(json_depth(STR("{}")), 0);
    cr_assert_eq(json_depth(STR("{\"a\":\"[[[\"}")), 0);
    cr_assert_eq(json_depth(STR("[{},[[]],{}]")), 2);
    cr_assert_eq(json_depth(STR_NONE), 0);
}
