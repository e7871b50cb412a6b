/*
 * test_json_check.c: what the strict check accepts and refuses (HTTP-8, HTTP-9; RFC 8259).
 */
#include "base/fault.h"
#include "base/mem.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <stdio.h>

static int check(struct str s, struct wopr_error *e) {
    return json_check(s, &JSON_LIMITS_DEFAULT, e);
}

#define S(lit)                                                                                     \
    { (lit), sizeof(lit) - 1 }

static const struct str ACCEPTED[] = {
    S("0"),
    S("-0"),
    S("1.5e+3"),
    S("1E-9"),
    S("0.0"),
    S("-0.1e1"),
    S("1e999"),
    S("12345678901234567890123"),
    S("true"),
    S("false"),
    S("null"),
    S("\"\""),
    S("{}"),
    S("[]"),
    S(" \t\r\n[ ]\n "),
    S("[1,2 , 3]"),
    S("{\"a\":1,\"b\":[{}]}"),
    S("{\"\":0}"),
    S("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""),
    S("\"\\ud83d\\ude00\""),
    S("\"\\uD83D\\uDE00\""),
    S("\"\\u0000\""),
    S("\"\x7F\""),
    S("\"\xC2\x80\xDF\xBF\""),
    S("\"\xE0\xA0\x80\""),
    S("\"\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\""),
    S("\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""),
    S("\"\\uFFFF\""),
    S("{\"a\":1,\"A\":2}"),
    S("{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}"),
    S("[{\"a\":1},{\"a\":1}]"),
    S("{\"\xC3\xA9\":1,\"e\xCC\x81\":2}"),
};

Test(json_check, accepts_what_rfc_8259_allows) {
    struct wopr_error e;
    for (size_t i = 0; i < sizeof ACCEPTED / sizeof *ACCEPTED; i++)
        cr_expect_eq(check(ACCEPTED[i], &e), 0, "%s: %s", ACCEPTED[i].p, e.message);
}

static const struct str REFUSED[] = {
    S(""),
    S(" "),
    S("\xEF\xBB\xBF{}"),
    S("nul"),
    S("nulL"),
    S("True"),
    S("NaN"),
    S("Infinity"),
    S("-"),
    S("-Infinity"),
    S("+1"),
    S("01"),
    S("-01"),
    S("1."),
    S(".5"),
    S("1e"),
    S("1e+"),
    S("0x10"),
    S("1.e1"),
    S("1 2"),
    S("{} {}"),
    S("{}x"),
    S("[1,]"),
    S("[,1]"),
    S("[1 2]"),
    S("["),
    S("]"),
    S("[}"),
    S("{]"),
    S("{"),
    S("}"),
    S("{\"a\"}"),
    S("{\"a\":}"),
    S("{\"a\":1,}"),
    S("{,}"),
    S("{a:1}"),
    S("{'a':1}"),
    S("{1:1}"),
    S("{\"a\" 1}"),
    S("{\"a\":1 \"b\":2}"),
    S("\""),
    S("\"a"),
    S("\"\\"),
    S("\"\\x\""),
    S("\"\\u12\""),
    S("\"\\u12G4\""),
    S("\"\\u\""),
    S("\"\\"
      "u123\""),
    S("\"\\ud800\""),
    S("\"\\udc00\""),
    S("\"\\ud800x\""),
    S("\"\\ud800\\u0041\""),
    S("\"\\ud800\\ud800\""),
    S("\"\\ud800\\n\""),
    S("\"a\nb\""),
    S("\"a\tb\""),
    S("\"\x1F\""),
    S("\"\0\""),
    S("[1]\0"),
    S("\0"),
    S("\"\x80\""),
    S("\"\xC0\x80\""),
    S("\"\xC1\xBF\""),
    S("\"\xE0\x80\x80\""),
    S("\"\xE0\x9F\xBF\""),
    S("\"\xED\xA0\x80\""),
    S("\"\xED\xBF\xBF\""),
    S("\"\xF0\x80\x80\x80\""),
    S("\"\xF0\x8F\xBF\xBF\""),
    S("\"\xF4\x90\x80\x80\""),
    S("\"\xF5\x80\x80\x80\""),
    S("\"\xFF\""),
    S("\"\xC2\""),
    S("\"\xE2\x82\""),
    S("\"\xE2\x82"),
    S("\"\xF0\x9F\x98\""),
    S("\xC2\xA0[]"),
    S("// c\n1"),
    S("/**/1"),
    S("[1]\x0B"),
    S("[1\f]"),
    S("{\"a\":1,\"a\":2}"),
    S("{\"a\":1,\"\\u0061\":2}"),
    S("{\"\\u0061\":1,\"\\u0061\":2}"),
    S("{\"\xC3\xA9\":1,\"\\u00e9\":2}"),
    S("{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":2}"),
    S("{\"\\/\":1,\"/\":2}"),
    S("{\"a\\u0062\":1,\"\\u0061b\":2}"),
    S("{\"\":1,\"\":2}"),
    S("{\"x\":{\"a\":1,\"b\":2,\"a\":3}}"),
    S("{\"\\u0000\":1,\"\\u0000\":2}"),
    S("{\"\xC3\xA9\\n\":1,\"\\u00e9\\u000a\":2}"),
};

Test(json_check, refuses_everything_else) {
    struct wopr_error e;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        cr_expect_eq(check(REFUSED[i], &e), WOPR_E_SYNTAX, "%zu: %s", i, REFUSED[i].p);
        cr_expect_eq(e.code, WOPR_E_SYNTAX);
        cr_expect(strstr(e.message, "at byte ") != NULL);
    }
    cr_assert_eq(check(STR_NONE, NULL), WOPR_E_SYNTAX, "the record may be absent");
}

/* --- limits --- */

static char *nested(unsigned depth, size_t *n) {
    char *p = mem_alloc(depth * 2 + 1);
    memset(p, '[', depth);
    memset(p + depth, ']', depth);
    p[ *n = depth * 2] = '\0';
    return p;
}

Test(json_check, depth_64_passes_and_65_does_not) {
    static const struct {
        const struct json_limits *lim;
        unsigned max;
    } CASES[] = {{&JSON_LIMITS_DEFAULT, 64}, {&JSON_LIMITS_STORED, 128}};
    struct wopr_error e;
    for (size_t i = 0; i < 2; i++) {
        size_t n;
        char *p = nested(CASES[i].max, &n);
        cr_assert_eq(json_check(str_n(p, n), CASES[i].lim, &e), 0);
        mem_free(p);
        p = nested(CASES[i].max + 1, &n);
        cr_assert_eq(json_check(str_n(p, n), CASES[i].lim, &e), WOPR_E_TOO_BIG);
        mem_free(p);
    }
    struct json_limits wide = {1 << 20, 1000000}, none = {100, 0};
    size_t n;
    char *p = nested(5000, &n);
    cr_assert_eq(json_check(str_n(p, n), &wide, &e), WOPR_E_TOO_BIG, "no limit is unbounded");
    mem_free(p);
    cr_assert_eq(json_check(STR("1"), &none, &e), 0);
    cr_assert_eq(json_check(STR("[]"), &none, &e), WOPR_E_TOO_BIG);
}

Test(json_check, one_byte_above_the_limit_is_too_big /* HTTP-9 */) {
    struct json_limits lim = {4, 4};
    struct wopr_error e;
    cr_assert_eq(json_check(STR("[12]"), &lim, &e), 0);
    cr_assert_eq(json_check(STR("[12] "), &lim, &e), WOPR_E_TOO_BIG);
}

Test(json_check, the_pointer_names_the_place_and_nothing_is_quoted /* HTTP-14 */) {
    static const struct {
        struct str text;
        const char *pointer;
    } CASES[] = {
        {S("{\"a\":[1,{\"b/c~\":tru}]}"), "/a/1/b~1c~0"},     {S("[0,1,secret]"), "/2"},
        {S("{\"x\":{\"dup\":1,\"\\u0064up\":2}}"), "/x/dup"}, {S("secret"), ""},
        {S("{\"k\\u0000\":secret}"), "/k\xEF\xBF\xBD"},
    };
    struct wopr_error e;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        cr_assert_eq(check(CASES[i].text, &e), WOPR_E_SYNTAX);
        cr_expect_str_eq(e.pointer, CASES[i].pointer);
        cr_expect_null(strstr(e.message, "secret"));
    }
    cr_assert_eq(check(STR("[1,2,x]"), &e), WOPR_E_SYNTAX);
    cr_assert_not_null(strstr(e.message, "at byte 5"));
}

/* An object with n members "m<i>"; when dup >= 0 the last one repeats member dup, by an escape. */
static void object_of(struct buf *b, size_t n, long dup) {
    buf_addc(b, '{');
    for (size_t i = 0; i < n; i++) buf_addf(b, "\"m%zu\":%zu,", i, i);
    if (dup >= 0) buf_addf(b, "\"\\u006d%ld\":0}", dup);
    else buf_addz(b, "\"last\":0}");
}

Test(json_check, doubles_are_found_in_objects_of_any_size) {
    struct buf b;
    struct wopr_error e;
    buf_init(&b, 8 << 20);
    for (size_t n = 1; n < 200; n++) {
        buf_reset(&b);
        object_of(&b, n, -1);
        cr_assert_eq(check(buf_str(&b), &e), 0, "%zu: %s", n, e.message);
        buf_reset(&b);
        object_of(&b, n, (long)(n * 7 % n));
        cr_assert_eq(check(buf_str(&b), &e), WOPR_E_SYNTAX, "%zu", n);
        cr_assert_str_eq(e.pointer, "/m0");
    }
    buf_fini(&b);
}

Test(json_check, a_huge_object_costs_no_square, .timeout = 300) {
    struct buf b;
    struct wopr_error e;
    buf_init(&b, 15 << 20);
    object_of(&b, 600000, -1); /* pairwise comparison would take an hour */
    cr_assert_not(buf_failed(&b));
    cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_STORED, &e), 0);
    buf_reset(&b);
    object_of(&b, 600000, 299999);
    cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_STORED, &e), WOPR_E_SYNTAX);
    cr_assert_str_eq(e.pointer, "/m299999");
    buf_fini(&b);
}

Test(json_check, every_cut_of_a_text_is_refused) {
    struct str t = STR("{\"a\":[1.5e3,true,null,\"x\\u00e9\\ud83d\\ude00\xE2\x82\xAC\"],\"b\":{}}");
    cr_assert_eq(check(t, NULL), 0);
    for (size_t n = 0; n < t.n; n++) {
        char *exact = mem_alloc(n); /* so that a sanitizer sees a read past the end */
        memcpy(exact, t.p, n);
        cr_assert_eq(check(str_n(exact, n), NULL), WOPR_E_SYNTAX, "%zu bytes", n);
        mem_free(exact);
    }
}

Test(json_check, a_failed_allocation_is_reported) {
    struct buf b;
    struct wopr_error e;
    buf_init(&b, 1 << 20);
    object_of(&b, 300, -1);
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        int rc = check(buf_str(&b), &e);
        fault_disarm();
        cr_assert_eq(rc, fault_fired() ? WOPR_E_NO_MEMORY : 0);
    }
    buf_fini(&b);
}

Test(utf8, counts_and_validates) {
    cr_assert_eq(utf8_count(STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")), 4);
    cr_assert_eq(utf8_count(STR_NONE), 0);
    cr_assert(utf8_valid(STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\0")));
    cr_assert(utf8_valid(STR_NONE));
    cr_assert_not(utf8_valid(STR("\xED\xA0\x80")) || utf8_valid(STR("a\xC3")));
}
