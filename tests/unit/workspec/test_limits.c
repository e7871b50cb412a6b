/*
 * test_limits.c: bad input by table: what is no JSON or YAML (WS-5), limits (H18), and
 * documents made to
 * cost more than they are long.
 */
#include "kit.h"
#include "support/cpu_time.h"

static struct arena *a;
static void up(void) { a = arena_new(WS_ARENA_BYTES_MAX); }
static void down(void) { arena_free(a); }
TestSuite(workspec_limits, .init = up, .fini = down, .timeout = 120);

/* --- texts --- */

struct text {
    const char *text, *message; /* of it a part; NULL: it is good, and means... */
    const char *json;           /* ...this */
};

static void check_texts(const struct text *table, size_t nr, enum ws_format format) {
    for (size_t i = 0; i < nr; i++) {
        struct wopr_error err = {0};
        struct ws_doc doc;
        struct buf b;
        buf_init(&b, 4096);
        int rc = ws_parse(str_c(table[i].text), format, &WS_LIMITS_DEFAULT, a, &doc, &err);
        cr_expect_eq(rc, table[i].message != NULL ? WOPR_E_SYNTAX : 0, "%s: %s", table[i].text,
                     err.message);
        if (rc != 0 && table[i].message != NULL)
            cr_expect(strstr(err.message, table[i].message) != NULL, "%s: %s", table[i].text,
                      err.message);
        if (rc == 0 && table[i].json != NULL) {
            ws_write(&b, doc.root, 0);
            cr_expect_str_eq(b.p, table[i].json);
        }
        buf_fini(&b);
    }
}

Test(workspec_limits, json_is_read_strictly_ws_5_ws_6) {
    static const struct text TABLE[] = {
        {"", "line 1, column 1: unexpected end", NULL},
        {"{\"a\":1,}", "line 1, column 8: a member name", NULL},
        {"[1 2]", "line 1, column 4: ',' or ']'", NULL},
        {"{\"a\" 1}", "':' was expected", NULL},
        {"[1]\n x", "line 2, column 2: text after", NULL},
        {"\xEF\xBB\xBF{}", "byte order mark", NULL},
        {"\"\xC3\"", "not UTF-8", NULL},
        {"\"\\uD800\"", "malformed escape", NULL},
        {"\"\\x\"", "malformed escape", NULL},
        {"\"a\tb\"", "control character", NULL},
        {"\"a", "unexpected end", NULL},
        {"[1e400]", "column 2: a number that is too large", NULL},
        {"01", "text after", NULL},
        {"-", "a value was expected", NULL},
        {"1.", "a value was expected", NULL},
        {"NaN", "a value was expected", NULL},
        {"tru", "a value was expected", NULL},
        {"[\"\xC3\xA9\xC3\xA9\", x]", "line 1, column 8", NULL}, /* columns are characters */
        {" {\"b\":1, \"a\":2,\"b\":[ ] } ", NULL, "{\"b\":[],\"a\":2}"}, /* the last at the first */
        {"[-0, 2.0, 1e3, 0.1, 1E-7]", NULL, "[0,2,1000,0.1,1e-7]"},
        {"\"\\ud83d\\ude00\\u0000\\/\"", NULL, "\"\xF0\x9F\x98\x80\\u0000/\""},
        {"{}", NULL, "{}"},
        {"null", NULL, "null"}};
    check_texts(TABLE, sizeof TABLE / sizeof *TABLE, WS_JSON);
}

Test(workspec_limits, yaml_is_the_json_that_it_spells) {
    static const struct text TABLE[] = {
        {"a: yes\nb: no\nc: on\nd: 0x10\ne: 010\nf: 1:30\n", NULL,
         "{\"a\":\"yes\",\"b\":\"no\",\"c\":\"on\",\"d\":\"0x10\",\"e\":\"010\",\"f\":\"1:30\"}"},
        {"a: true\nb: null\nc:\nd: ~\ne: 1.50\nf: -2\ng: +1\nh: .5\n", NULL,
         "{\"a\":true,\"b\":null,\"c\":null,\"d\":null,\"e\":1.5,\"f\":-2,\"g\":\"+1\",\"h\":\"."
         "5\"}"},
        {"start: 09:30\ndate: 2026-02-03\nv: \"2.0\"\n", NULL,
         "{\"start\":\"09:30\",\"date\":\"2026-02-03\",\"v\":\"2.0\"}"},
        {"- 'true'\n- |\n  two\n  lines\n- {a: [1, b]}\n", NULL,
         "[\"true\",\"two\\nlines\\n\",{\"a\":[1,\"b\"]}]"},
        {"1: x\ntrue: y\n", NULL, "{\"1\":\"x\",\"true\":\"y\"}"},
        {"a: &x 1\nb: *x\n", "line 1, column 4: anchors", NULL},
        {"a: *x\n", "aliases", NULL},
        {"a: !!str 1\n", "tags", NULL},
        {"a: ! 1\n", "tags", NULL},
        {"a: !x {}\n", "tags", NULL},
        {"a: &x [1]\n", "anchors", NULL},
        {"<<: {a: 1}\n", "merge keys", NULL},
        {"a: 1\nb: 2\na: 3\n", "line 3, column 4: the name \"a\" occurs twice", NULL},
        {"? [1, 2]\n: x\n", "a key must be a scalar", NULL},
        {"a: 1\n---\nb: 2\n", "a second document", NULL},
        {"%TAG ! tag:x,2026:\n---\na: 1\n", "directives", NULL},
        {"", "there is no document", NULL},
        {"a: [1\n", "not YAML", NULL},
        {"a: 1e400\n", "too large", NULL},
        {"\xEF\xBB\xBF"
         "a: 1\n",
         "byte order mark", NULL},
        {"a: \"\\uD800\"\n", "not YAML", NULL}};
    check_texts(TABLE, sizeof TABLE / sizeof *TABLE, WS_YAML);
}

/* --- H18 --- */

static struct str repeated(const char *head, const char *piece, size_t n, const char *tail) {
    size_t each = strlen(piece), at = strlen(head);
    char *p = arena_alloc(a, at + n * each + strlen(tail) + 1);
    memcpy(p, head, at);
    for (size_t i = 0; i < n; i++, at += each) memcpy(p + at, piece, each);
    memcpy(p + at, tail, strlen(tail) + 1);
    return str_n(p, at + strlen(tail));
}

static void check_excess(struct str text, enum ws_format format, const char *limit) {
    struct ws_doc doc = kit_parse(a, text, format);
    for (int k = 0; k < 2; k++) {
        struct ws_report r = kit_validate(a, &doc, NULL, k == 0 ? WS_HOST : WS_REFERENCE);
        cr_expect_eq(r.nr, 1, "%s: it is alone", limit);
        cr_expect_eq(r.v[0].code, WS_H18, "%s", limit);
        cr_expect(str_eqc(r.v[0].instance, "/"));
        struct str want = arena_printf(a, "{\"limit\":\"%s\",", limit);
        cr_expect(str_starts(r.v[0].context, want), STR_FMT, STR_ARG(r.v[0].context));
    }
}

#define HEAD "{\"simulation\":{\"schema_version\":\"2.0\","

Test(workspec_limits, each_limit_is_a_problem_alone_ws_9_h18) {
    check_excess(repeated("", "[", 65, ""), WS_JSON, "nesting");
    check_excess(repeated("", "[", 1000000, ""), WS_JSON, "nesting");
    check_excess(repeated("", "[", 100000, ""), WS_YAML, "nesting");
    check_excess(repeated("", "- ", 100000, ""), WS_YAML, "nesting");
    check_excess(repeated("[", "1,", 2000000, "1]"), WS_JSON, "values");
    check_excess(repeated("\"", "aaaaaaaa", 1u << 20, "\""), WS_JSON, "document");
    check_excess(repeated(HEAD "\"world\":{\"objects\":[", "1,", 100000, "1]}}}"), WS_JSON,
                 "objects");
    check_excess(repeated(HEAD "\"process\":{\"tasks\":[", "1,", 10000, "1]}}}"), WS_JSON, "tasks");
    check_excess(repeated(HEAD "\"world\":{\"layout\":{\"locations\":[", "1,", 10000, "1]}}}}"),
                 WS_JSON, "locations");
    check_excess(
        repeated(HEAD "\"process\":{\"tasks\":[{\"interactions\":[", "1,", 1000, "1]}]}}}"),
        WS_JSON, "interactions of a task");
    check_excess(repeated(HEAD "\"process\":{\"tasks\":[{\"depends_on\":[", "1,", 1000, "1]}]}}}"),
                 WS_JSON, "dependencies of a task");
}

/* --- work --- */

static struct ws_report quick(struct str text, const char *what) {
    struct ws_doc doc = kit_parse(a, text, WS_JSON);
    uint64_t before = cpu_time_ms();
    struct ws_report r = kit_validate(a, &doc, NULL, WS_HOST);
    cr_expect_lt(cpu_time_ms() - before, 20000, "%s", what);
    return r;
}

/* Tasks of one performer, a minute each, with ids t0 and on; the text behind each is made by
 * fn. */
static struct str many_tasks(size_t n, void (*fn)(struct buf *b, size_t i)) {
    struct buf b;
    buf_init(&b, 64 << 20);
    for (size_t i = 0; i < n; i++) {
        buf_addf(&b,
                 "%s{\"id\":\"t%zu\",\"actor_id\":\"a\",\"start\":{\"day\":%zu,\"time\":\"%02zu:%"
                 "02zu\"},"
                 "\"duration\":1",
                 i == 0 ? "" : ",", i, i / 1440 + 1, i / 60 % 24, i % 60);
        fn(&b, i);
        buf_addc(&b, '}');
    }
    struct str text = kit_document(a, KIT_CONFIG, b.p);
    buf_fini(&b);
    return text;
}

static void circle(struct buf *b, size_t i) {
    buf_addf(b, ",\"depends_on\":[");
    for (size_t k = 0; k < 50; k++)
        buf_addf(b, "%s\"t%zu\"", k == 0 ? "" : ",", (i * 7 + k + 1) % 3000);
    buf_addz(b, "]");
}

static void appends(struct buf *b, size_t i) {
    (void)i;
    buf_addz(
        b, ",\"interactions\":[{\"target_id\":\"p\",\"property_changes\":{\"log\":{\"append\":1}}},"
           "{\"target_id\":\"p\",\"temporary\":true,\"property_changes\":{\"n\":{\"delta\":1}}}]");
}

static void removes(struct buf *b, size_t i) {
    buf_addf(
        b,
        ",\"interactions\":[{\"target_id\":\"p\",\"property_changes\":{\"log\":{\"append\":%zu}}},"
        "{\"target_id\":\"p\",\"property_changes\":{\"log\":{\"remove\":-1}}}]",
        i);
}

/* One temporary change that lasts as long as all others, which it is below. */
static void under_all(struct buf *b, size_t i) {
    if (i == 0) return;
    buf_addf(
        b, ",\"interactions\":[{\"target_id\":\"p\",\"property_changes\":{\"n\":{\"delta\":1}}}]");
}

Test(workspec_limits, bombs_end_soon) {
    struct ws_report r = quick(many_tasks(3000, circle), "a graph of circles");
    cr_expect(r.nr > 1 && !ws_report_ok(&r) && r.bytes < 2 * WS_PROBLEM_BYTES_MAX);
    r = quick(many_tasks(10000, appends), "an array that grows");
    cr_expect(ws_report_ok(&r));
    r = quick(many_tasks(10000, removes), "an array that is searched again and again");
    cr_expect(ws_report_ok(&r) || (r.nr == 1 && r.v[0].code == WS_H18));
    r = quick(many_tasks(10000, under_all), "layers over layers");
    cr_expect(ws_report_ok(&r));
    struct str path = repeated("", "x.", 100000, "x");
    struct str task = arena_printf(
        a,
        "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":1,\"interactions\":["
        "{\"target_id\":\"p\",\"property_changes\":{\"%s\":{\"set\":1}}}]}",
        path.p);
    r = quick(kit_document(a, KIT_CONFIG, task.p), "a path of a hundred thousand parts");
    cr_expect(r.nr == 1 && r.v[0].code == WS_T_PATH);
}

Test(workspec_limits, times_that_do_not_exist_or_overflow_ws_48_ws_54) {
    static const char *const BAD[] = {
        "\"start\":\"2026-02-29T09:00:00Z\",\"duration\":1",
        "\"start\":\"0000-01-01T09:00:00Z\",\"duration\":1",
        "\"start\":{\"day\":36526,\"time\":\"09:00\"},\"duration\":1",
        "\"start\":{\"day\":1e308,\"time\":\"09:00\"},\"duration\":1",
        "\"start\":\"09:00\",\"duration\":1e300",
        "\"start\":\"09:00\",\"duration\":\"P99999999999999999999D\"",
        "\"start\":\"09:00\",\"duration\":\"101w0\"",
        "\"start\":\"2026-02-03T09:00:00Z\",\"duration\":\"P101Y\"",
        "\"start\":\"2026-02-03T09:00:00Z\",\"duration\":\"99999999999999999999M\"",
        "\"start\":\"09:00\",\"duration\":\"5300w\"",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct str task = arena_printf(a, "{\"id\":\"t\",\"actor_id\":\"a\",%s}", BAD[i]);
        struct ws_doc doc = kit_parse(a, kit_document(a, KIT_CONFIG, task.p), WS_JSON);
        struct ws_report r = kit_validate(a, &doc, NULL, WS_HOST);
        cr_expect(r.nr == 1 && (r.v[0].code == WS_R34 || r.v[0].code == WS_R35), "%s", BAD[i]);
    }
    struct ws_doc doc = kit_parse(a,
                                  kit_document(a, KIT_CONFIG,
                                               "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"9999-"
                                               "12-31T23:59:59Z\",\"duration\":\"100y\"},"
                                               "{\"id\":\"u\",\"actor_id\":\"b\",\"start\":\"9999-"
                                               "12-31T23:59:59Z\",\"duration\":\"P99Y\"}"),
                                  WS_JSON);
    struct ws_report r = kit_validate(a, &doc, NULL, WS_HOST);
    cr_expect(r.nr == 1 && r.v[0].code == WS_R35, "there is no y; the other is good");
}
