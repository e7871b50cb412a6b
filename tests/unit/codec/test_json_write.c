/*
 * test_json_write.c: the writer, number format, the tree, and RFC 8785.
 */
#include "base/fault.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#define json_type json_c_type
#define json_bool json_c_bool
#include <json-c/json_object.h>
#undef json_bool
#undef json_type

static struct buf b;
static void up(void) { buf_init(&b, 1 << 20); }
static void down(void) { buf_fini(&b); }

/* --- writer --- */

Test(json_write, commas_and_nesting_are_its_business, .init = up, .fini = down) {
    struct jw w;
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstrz(&w, "s", "x\"\\\n\x01");
    jw_kint(&w, "i", INT64_MIN);
    jw_kbool(&w, "t", true);
    jw_kraw(&w, "r", STR("{\"any\": 1e5}"));
    jw_key(&w, "a");
    jw_array(&w);
    jw_null(&w);
    jw_double(&w, 0.5);
    jw_double(&w, NAN);
    jw_array(&w);
    jw_end_array(&w);
    jw_object(&w);
    jw_end_object(&w);
    jw_bool(&w, false);
    jw_raw(&w, STR_NONE);
    jw_end_array(&w);
    jw_key_str(&w, STR("k\"\xE2\x82\xAC"));
    jw_str(&w, STR("a\xFF\xC3\xA9\xC3"));
    jw_kstr(&w, "z", STR_NONE);
    jw_end_object(&w);
    cr_assert_eq(w.depth, 0);
    cr_assert_str_eq(b.p,
                     "{\"s\":\"x\\\"\\\\\\n\\u0001\",\"i\":-9223372036854775808,\"t\":true,"
                     "\"r\":{\"any\": 1e5},\"a\":[null,0.5,null,[],{},false,null],"
                     "\"k\\\"\xE2\x82\xAC\":\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\",\"z\":\"\"}");
    cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, NULL), 0);
}

Test(json_write, sixty_four_levels_and_no_more, .init = up, .fini = down) {
    struct jw w;
    jw_init(&w, &b);
    for (int i = 0; i < 64; i++) jw_array(&w);
    jw_int(&w, 1);
    jw_int(&w, 2);
    for (int i = 0; i < 64; i++) jw_end_array(&w);
    cr_assert_not(buf_failed(&b));
    cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, NULL), 0);
    jw_init(&w, &b);
    for (int i = 0; i < 70; i++) jw_object(&w);
    cr_assert(buf_failed(&b), "foreign nesting fails the text, not the process");
    for (int i = 0; i < 70; i++) jw_end_object(&w);
}

Test(json_write, the_maximum_of_the_buffer_holds) {
    for (size_t max = 0; max < 40; max++) {
        struct buf small;
        struct jw w;
        buf_init(&small, max);
        jw_init(&w, &small);
        jw_object(&w);
        jw_kstrz(&w, "key", "value\n\xE2\x82\xAC");
        jw_kint(&w, "n", 12);
        jw_end_object(&w); /* 27 bytes in all */
        cr_assert_eq(buf_failed(&small), max < 27, "%zu", max);
        cr_assert_leq(small.len, max);
        buf_fini(&small);
    }
}

Test(json_write, quoting_any_bytes_gives_valid_json, .init = up, .fini = down) {
    uint64_t r = 99;
    char text[41];
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)(r >> 60) + (size_t)(round % 26);
        for (size_t i = 0; i < n; i++) {
            r = r * 6364136223846793005u + 1442695040888963407u;
            text[i] = (r >> 40) % 3 ? (char)('a' + (r >> 50) % 26) : (char)(r >> 56);
        }
        buf_reset(&b);
        json_quote(&b, str_n(text, n));
        cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, NULL), 0);
        if (!utf8_valid(str_n(text, n))) continue;
        struct arena *a = arena_new(1000);
        cr_assert(str_eq(json_string(buf_str(&b), a), str_n(text, n)), "read back");
        arena_free(a);
    }
}

/* --- numbers --- */

static double of_bits(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static const struct {
    uint64_t bits;
    const char *text;
} NUMBERS[] = {
    /* RFC 8785, appendix B */
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
    /* the nearest 16 digits do not read back, the next ones up do */
    {0x3d30000000000000, "5.684341886080802e-14"},
    {0x7ff8000000000000, "null"},
    {0xfff0000000000000, "null"},
};

Test(json_number, format_is_ecmascript) {
    char out[32];
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        size_t n = json_number_format(of_bits(NUMBERS[i].bits), out);
        cr_expect_str_eq(out, NUMBERS[i].text);
        cr_expect_eq(n, strlen(out));
    }
}

Test(json_number, format_reads_back_and_is_as_short_as_any) {
    uint64_t r = 4711;
    char out[32], shorter[64];
    for (int i = 0; i < 60000; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = i % 4 == 0 ? (r >> 52) << 52 : r; /* powers of two, where spacing changes */
        double v = of_bits(bits), back = 0;
        if (!isfinite(v)) continue;
        size_t n = json_number_format(v, out);
        cr_assert_lt(n, 32);
        cr_assert(json_double(str_n(out, n), &back) && back == v, "%s", out);
        int digits = 0;
        for (const char *p = out; *p && *p != 'e'; p++)
            if (*p >= '0' && *p <= '9' && (digits > 0 || *p != '0')) digits++;
        if (digits < 2 || !strchr(out, 'e')) continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, v);
        cr_assert_neq(strtod(shorter, NULL), v, "%s is longer than %s", out, shorter);
    }
}

/* --- tree --- */

Test(json_tree, keeps_types_magnitude_and_bytes) {
    struct json_object *t, *v;
    struct wopr_error e;
    struct str text =
        STR(" {\"s\":\"a\\u0000b\",\"i\":-9223372036854775808,\"u\":18446744073709551615,"
            "\"big\":123456789012345678901234567890,\"neg\":-18446744073709551616,"
            "\"d\":1.50,\"n\":null,\"t\":true,\"k\\u0000\":[],\"k\":[[],{},1,\"\"],"
            "\"\\u20ac\":{\"x\":{}}, \"e\":1e400} ");
    cr_assert_eq(json_check(text, &JSON_LIMITS_DEFAULT, &e), 0, "%s", e.message);
    cr_assert_eq(json_tree(text, &t, &e), 0, "%s", e.message);
    cr_assert_eq(json_object_object_length(t), 12);
    v = json_object_object_get(t, "s");
    cr_assert_eq(json_object_get_string_len(v), 3);
    cr_assert_eq(memcmp(json_object_get_string(v), "a\0b", 4), 0);
    v = json_object_object_get(t, "i");
    cr_assert(json_object_get_type(v) == json_type_int && json_object_get_int64(v) == INT64_MIN);
    v = json_object_object_get(t, "u");
    cr_assert(json_object_get_type(v) == json_type_int && json_object_get_uint64(v) == UINT64_MAX);
    v = json_object_object_get(t, "big");
    cr_assert_eq(json_object_get_type(v), json_type_double);
    cr_assert_eq(json_object_get_double(v), 123456789012345678901234567890.0);
    cr_assert_eq(json_object_get_double(json_object_object_get(t, "neg")), -18446744073709551616.0);
    v = json_object_object_get(t, "d");
    cr_assert(json_object_get_type(v) == json_type_double && json_object_get_double(v) == 1.5);
    cr_assert_str_eq(json_object_to_json_string(v), "1.50", "the spelling is kept");
    cr_assert(json_object_object_get_ex(t, "n", &v) && v == NULL);
    cr_assert(json_object_get_boolean(json_object_object_get(t, "t")));
    v = json_object_object_get(t, "k");
    cr_assert_eq(json_object_array_length(v), 4, "not the one whose name goes on behind U+0000");
    cr_assert_eq(json_object_array_length(json_object_object_get(t, "k\xC0\x80")), 0);
    cr_assert_not_null(json_object_object_get(json_object_object_get(t, "\xE2\x82\xAC"), "x"));
    cr_assert(isinf(json_object_get_double(json_object_object_get(t, "e"))));
    json_object_put(t);
}

Test(json_tree, scalars_and_the_deepest_text) {
    struct json_object *t = NULL;
    char deep[513];
    cr_assert(json_tree(STR("7"), &t, NULL) == 0 && json_object_get_int(t) == 7);
    json_object_put(t);
    cr_assert(json_tree(STR(" null "), &t, NULL) == 0 && t == NULL);
    memset(deep, '[', 256);
    memset(deep + 256, ']', 256);
    cr_assert_eq(json_tree(str_n(deep, 512), &t, NULL), 0);
    json_object_put(t);
    memset(deep, '[', 512);
    cr_assert_eq(json_tree(str_n(deep, 512), &t, NULL), WOPR_E_TOO_BIG);
}

Test(json_tree, unchecked_bytes_are_refused_not_crashed_on) {
    static const char *const BAD[] = {"",
                                      "{",
                                      "[",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "[1",
                                      "[1,",
                                      "]",
                                      "[1 2]",
                                      "{\"a\":1 \"b\":2}",
                                      "nul",
                                      "\"a",
                                      "1 2",
                                      "01",
                                      "{1:2}",
                                      "[}",
                                      "{]",
                                      "\"\\"};
    struct json_object *t = NULL;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_eq(json_tree(str_c(BAD[i]), &t, NULL), WOPR_E_SYNTAX, "%s", BAD[i]);
    cr_assert_null(t);
    static char nuls[2000];
    nuls[0] = '{';
    nuls[1] = '"';
    memcpy(nuls + sizeof nuls - 4, "\":0}", 4);
    cr_assert_eq(json_tree(str_n(nuls, sizeof nuls), &t, NULL), 0, "raw NULs double in a name");
    json_object_put(t);
}

Test(json_tree, a_failed_allocation_of_ours_is_reported) {
    struct buf text;
    struct json_object *t = NULL;
    buf_init(&text, 1 << 16);
    buf_addz(&text, "{\"a\":\"\\n");
    for (int i = 0; i < 1000; i++) buf_addc(&text, 'x');
    buf_addz(&text, "\",\"b\":1.5}");
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        int rc = json_tree(buf_str(&text), &t, NULL);
        fault_disarm();
        cr_assert_eq(rc, fault_fired() ? WOPR_E_NO_MEMORY : 0);
        if (rc == 0) json_object_put(t);
    }
    buf_fini(&text);
}

/* --- RFC 8785 --- */

static const struct {
    const char *in, *out;
} CANON[] = {
    /* section 3.2.2 */
    {"{\n  \"numbers\": [333333333.33333329, 1E30, 4.50,\n              2e-3, "
     "0.000000000000000000000000001],\n  \"string\": "
     "\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
     "  \"literals\": [null, true, false]\n}",
     "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
     "\"string\":\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"},
    /* section 3.2.3: UTF-16 order */
    {"{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet "
     "With "
     "Dagesh\",\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
     "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
     "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\",\"\xC3\xB6\":\"Latin "
     "Small "
     "Letter O With Diaeresis\",\"\xE2\x82\xAC\":\"Euro Sign\",\"\xF0\x9F\x98\x80\":\"Emoji: "
     "Grinning "
     "Face\",\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}"},
    {" [ 56 , { \"d\" : true , \"10\" : null , \"1\" : [ ] } ] ",
     "[56,{\"1\":[],\"10\":null,\"d\":true}]"},
    {"-0", "0"},
    {"\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u001F\\u007f\\u0000\"",
     "\"\\b\\t\\n\\f\\r\\u001f\x7F\\u0000\""},
    {"{\"b\":1,\"\":2,\"a\\u0000\":3,\"a\":4,\"ab\":5}",
     "{\"\":2,\"a\":4,\"a\\u0000\":3,\"ab\":5,\"b\":1}"},
    {"\"\"", "\"\""},
    {"{}", "{}"},
};

Test(json_canonical, gives_the_published_bytes_and_is_idempotent, .init = up, .fini = down) {
    struct buf again;
    struct wopr_error e;
    buf_init(&again, 1 << 20);
    for (size_t i = 0; i < sizeof CANON / sizeof *CANON; i++) {
        buf_reset(&b);
        buf_reset(&again);
        cr_assert_eq(json_check(str_c(CANON[i].in), &JSON_LIMITS_DEFAULT, &e), 0, "%s", e.message);
        cr_assert_eq(json_canonical(str_c(CANON[i].in), &b, &e), 0, "%s", e.message);
        cr_expect_str_eq(b.p, CANON[i].out);
        cr_assert_eq(json_canonical(buf_str(&b), &again, &e), 0);
        cr_expect(str_eq(buf_str(&b), buf_str(&again)));
    }
    buf_fini(&again);
}

Test(json_canonical, the_exact_form_merges_equal_numbers_and_no_others /* IDEM-10 */, .init = up,
     .fini = down) {
    static const struct {
        const char *x, *y;
        bool same;
    } CASES[] = {{"9007199254740993", "9007199254740992", false},
                 {"9007199254740993", "9007199254740993.0", true},
                 {"9007199254740993", "9007199254740993e0", true},
                 {"[12345678901234567890]", "[12345678901234567891]", false},
                 {"-9007199254740993", "9007199254740993", false},
                 {"1.0", "1", true},
                 {"1e2", "100", true},
                 {"0.10", "1e-1", true},
                 {"-0", "0.0e7", true},
                 {"1e400", "10e399", true},
                 {"1e400", "1e401", false},
                 {"1e400", "-1e400", false},
                 {"0.1", "0.1000000000000000055", false},
                 {"{\"a\":1e21}", "{\"a\":1000000000000000000000}", true}};
    struct buf other;
    struct wopr_error e;
    buf_init(&other, 1 << 20);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        buf_reset(&b);
        buf_reset(&other);
        cr_assert_eq(json_canonical_exact(str_c(CASES[i].x), &b, &e), 0, "%s", e.message);
        cr_assert_eq(json_canonical_exact(str_c(CASES[i].y), &other, &e), 0, "%s", e.message);
        cr_expect_eq(str_eq(buf_str(&b), buf_str(&other)), CASES[i].same, "%s and %s: %s and %s",
                     CASES[i].x, CASES[i].y, b.p, other.p);
    }
    for (size_t i = 0; i < sizeof CANON / sizeof *CANON; i++) { /* nothing else differs */
        buf_reset(&b);
        buf_reset(&other);
        cr_assert_eq(json_canonical(str_c(CANON[i].in), &b, &e), 0);
        cr_assert_eq(json_canonical_exact(str_c(CANON[i].in), &other, &e), 0);
        if (!strstr(CANON[i].in, "333333333.33333329")) /* more digits than its double has */
            cr_expect_str_eq(b.p, other.p);
    }
    buf_fini(&other);
}

Test(json_canonical, failures_add_nothing, .init = up, .fini = down) {
    struct wopr_error e;
    buf_addz(&b, "before");
    cr_assert_eq(json_canonical(STR("[1,1e400]"), &b, &e), WOPR_E_SYNTAX);
    cr_assert_str_eq(b.p, "before");
    cr_assert_eq(json_canonical(STR(" "), &b, &e), WOPR_E_SYNTAX);
    struct buf small;
    buf_init(&small, 8);
    cr_assert_eq(json_canonical(STR("{\"k\":[1,2]}"), &small, &e), WOPR_E_TOO_BIG);
    cr_assert_eq(small.len, 0);
    buf_reset(&small);
    cr_assert_eq(json_canonical(STR("{\"key\\n\\n\\n\":1}"), &small, &e), WOPR_E_TOO_BIG);
    buf_reset(&small);
    cr_assert_eq(json_canonical(STR("[1, 2,3]"), &small, &e), 0);
    buf_fini(&small);
    struct str text = STR("{\"b\":[1,2,{\"x\":\"\\n\"}],\"\\u0061\":{}}");
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        struct buf out;
        buf_init(&out, 1000);
        int rc = json_canonical(text, &out, &e);
        fault_disarm();
        cr_assert_eq(rc, fault_fired() ? WOPR_E_NO_MEMORY : 0);
        cr_assert_eq(out.len > 0, rc == 0);
        buf_fini(&out);
    }
}

Test(json_canonical, dense_text_fits_its_working_memory, .timeout = 300) {
    struct buf in, out;
    struct wopr_error e;
    static const char *const PIECES[] = {"{\"a\":1,\"b\":2}", "{}", "{\"\":\"\\n\"}", "[[]]"};
    buf_init(&in, 4 << 20);
    buf_init(&out, 4 << 20);
    for (size_t k = 0; k < sizeof PIECES / sizeof *PIECES; k++) {
        buf_reset(&in);
        buf_reset(&out);
        buf_addc(&in, '[');
        for (int i = 0; i < 100000; i++) {
            buf_addz(&in, PIECES[k]);
            buf_addc(&in, ',');
        }
        buf_addz(&in, "0]");
        cr_assert_eq(json_canonical(buf_str(&in), &out, &e), 0, "%s: %s", PIECES[k], e.message);
        cr_assert(str_eq(buf_str(&in), buf_str(&out)));
    }
    buf_reset(&in);
    buf_reset(&out);
    buf_addc(&in, '{');
    for (int i = 0; i < 100000; i++) buf_addf(&in, "\"\\n%x\":0,", i);
    buf_addz(&in, "\"z\":0}");
    cr_assert_eq(json_canonical(buf_str(&in), &out, &e), 0, "%s", e.message);
    buf_fini(&in);
    buf_fini(&out);
}
