/*
 * The validator beyond the official suite: what an issue says, what is refused at compile time,
 * bounds, threads, and the schemas this project ships.
 */
#include "base/embed.h"
#include "base/fault.h"
#include "base/mem.h"
#include "codec/schema.h"
#include "support/growth.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>


static const char URI[] = "https://test.invalid/s";

static struct schema_set *set;
static struct wopr_error err;
static struct schema_issue issue;

static void setup(void) {
    set = schema_set_new(false);
    cr_assert_not_null(set);
    wopr_error_clear(&err);
}

static void teardown(void) { schema_set_free(set); }

TestSuite(schema, .init = setup, .fini = teardown);

static const struct schema *compiled(const char *text) {
    const struct schema *s = NULL;
    int rc = schema_set_add(set, str_c(URI), str_c(text), &err);
    cr_assert_eq(rc, 0, "%s at %s", err.message, err.pointer);
    rc = schema_compile(set, str_c(URI), &s, &err);
    cr_assert_eq(rc, 0, "%s at %s", err.message, err.pointer);
    return s;
}

static int check(const struct schema *s, const char *instance) {
    memset(&issue, 0, sizeof issue);
    return schema_validate_text(s, str_c(instance), &issue);
}

static void expect_issue(const char *at, const char *keyword) {
    cr_expect_str_eq(issue.instance, at);
    cr_expect_str_eq(issue.keyword, keyword);
    cr_expect_gt(strlen(issue.reason), 0);
}

static void expect_refused(const char *schema, const char *pointer) {
    struct schema_set *own = schema_set_new(true);
    const struct schema *s = NULL;
    cr_assert_not_null(own);
    int rc = schema_set_add(own, str_c(URI), str_c(schema), &err);
    if (rc == 0) rc = schema_compile(own, str_c(URI), &s, &err);
    cr_expect_eq(rc, WOPR_E_VALIDATION, "%s: %d", schema, rc);
    cr_expect_null(s);
    cr_expect_str_eq(err.pointer, pointer, "%s: pointer %s", schema, err.pointer);
    cr_expect_gt(strlen(err.message), 0);
    schema_set_free(own);
}

/* ---- what an issue says ---- */

Test(schema, an_issue_points_into_instance_and_schema) {
    const struct schema *s =
        compiled("{\"properties\":{\"a/b\":{\"items\":{\"$ref\":\"#/$defs/n~0\"}}},"
                 "\"$defs\":{\"n~\":{\"type\":\"integer\",\"minimum\":3}}}");
    cr_assert_eq(check(s, "{\"a/b\":[5,4,2]}"), WOPR_E_VALIDATION);
    expect_issue("/a~1b/2", "/$defs/n~0/minimum");
    cr_assert_eq(check(s, "{\"a/b\":[5,\"x\"]}"), WOPR_E_VALIDATION);
    expect_issue("/a~1b/1", "/$defs/n~0/type");
    cr_assert_eq(check(s, "{\"a/b\":[5,4]}"), 0);
}

Test(schema, the_first_violation_in_the_order_of_the_instance_is_reported) {
    const struct schema *s = compiled("{\"properties\":{\"a\":{\"type\":\"string\"},"
                                      "\"b\":{\"type\":\"string\"}},"
                                      "\"additionalProperties\":false}");
    cr_assert_eq(check(s, "{\"b\":1,\"a\":2}"), WOPR_E_VALIDATION);
    expect_issue("/b", "/properties/b/type");
    cr_assert_eq(check(s, "{\"c\":0,\"a\":2}"), WOPR_E_VALIDATION);
    expect_issue("/c", "/additionalProperties");
}

Test(schema, the_root_has_an_empty_pointer_and_a_null_issue_is_allowed) {
    const struct schema *s = compiled("{\"required\":[\"id\"]}");
    cr_assert_eq(check(s, "{}"), WOPR_E_VALIDATION);
    expect_issue("", "/required");
    cr_expect_not_null(strstr(issue.reason, "id"));
    cr_assert_eq(schema_validate_text(s, STR("{}"), NULL), WOPR_E_VALIDATION);
    cr_assert_eq(schema_validate(s, NULL, NULL), 0); /* the instance null */
}

Test(schema, alternatives_report_at_their_own_keyword_only) {
    const struct schema *s = compiled("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}");
    cr_assert_eq(check(s, "1"), WOPR_E_VALIDATION);
    expect_issue("", "/anyOf");
    cr_assert_eq(check(s, "6"), 0);
    cr_expect_str_eq(issue.reason, "");
}

Test(schema, reasons_never_quote_the_instance /* GEN-6, HTTP-14 */) {
    static const struct {
        const char *schema, *instance;
    } CASES[] = {
        {"{\"type\":\"integer\"}", "\"hunter2\""},
        {"{\"enum\":[1,2]}", "\"hunter2\""},
        {"{\"const\":\"x\"}", "\"hunter2\""},
        {"{\"pattern\":\"^[0-9]$\"}", "\"hunter2\""},
        {"{\"maxLength\":2}", "\"hunter2\""},
        {"{\"minLength\":20}", "\"hunter2\""},
        {"{\"format\":\"email\"}", "\"hunter2\""},
        {"{\"not\":{\"const\":\"hunter2x\"}}", "\"hunter2x\""},
        {"{\"anyOf\":[{\"const\":1},{\"pattern\":\"^x\"}]}", "\"hunter2\""},
        {"{\"uniqueItems\":true}", "[\"hunter2\",\"hunter2\"]"},
        {"{\"additionalProperties\":{\"type\":\"null\"}}", "{\"k\":\"hunter2\"}"},
        {"{\"contains\":{\"const\":1}}", "[\"hunter2\"]"},
        {"{\"maximum\":4}", "31337"},
        {"{\"multipleOf\":4}", "31337"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct schema_set *own = schema_set_new(true);
        const struct schema *s = NULL;
        cr_assert_eq(schema_set_add(own, STR("t"), str_c(CASES[i].schema), &err), 0);
        cr_assert_eq(schema_compile(own, STR("t"), &s, &err), 0, "%s", err.message);
        cr_assert_eq(check(s, CASES[i].instance), WOPR_E_VALIDATION, "%s", CASES[i].schema);
        cr_expect_null(strstr(issue.reason, "hunter2"), "%s", issue.reason);
        cr_expect_null(strstr(issue.reason, "31337"), "%s", issue.reason);
        schema_set_free(own);
    }
}

Test(schema, long_pointers_and_reasons_are_cut_at_whole_tokens_and_characters) {
    char key[151], schema[900], instance[500];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    (void)snprintf(schema, sizeof schema,
                   "{\"properties\":{\"%s\":{\"properties\":{\"%s\":false}}}}", key, key);
    (void)snprintf(instance, sizeof instance, "{\"%s\":{\"%s\":1}}", key, key);
    const struct schema *s = compiled(schema);
    cr_assert_eq(check(s, instance), WOPR_E_VALIDATION);
    cr_expect_eq(strlen(issue.instance), sizeof key); /* "/" and one whole token */
    cr_expect_str_eq(issue.instance + 1, key);
    cr_expect(utf8_valid(str_c(issue.reason)));
}

Test(schema, a_pointer_too_deep_to_print_keeps_its_outer_steps) {
    const struct schema *s = compiled("{\"items\":{\"$ref\":\"#\"},\"type\":\"array\"}");
    struct buf b;
    buf_init(&b, 1 << 12);
    buf_addz(&b, "[[],");
    for (int i = 0; i < 120; i++) buf_addc(&b, '[');
    buf_addc(&b, '1');
    for (int i = 0; i < 121; i++) buf_addc(&b, ']');
    cr_assert_eq(check(s, b.p), WOPR_E_VALIDATION);
    cr_expect_eq(strncmp(issue.instance, "/1/0/0", 6), 0, "%s", issue.instance);
    cr_expect_eq(strlen(issue.instance), 190);
    buf_fini(&b);
}

Test(schema, a_cut_reason_stays_valid_utf8) {
    char schema[700] = "{\"required\":[\"x";
    for (int i = 0; i < 150; i++) (void)strncat(schema, "\xC3\xA4", 3);
    (void)strncat(schema, "\"]}", 4);
    const struct schema *s = compiled(schema);
    cr_assert_eq(check(s, "{}"), WOPR_E_VALIDATION);
    cr_expect(utf8_valid(str_c(issue.reason)));
    cr_expect_gt(strlen(issue.reason), 150);
}

/* ---- values ---- */

Test(schema, integers_and_doubles_compare_exactly) {
    const struct schema *s =
        compiled("{\"properties\":{\"max\":{\"maximum\":9007199254740993},"
                 "\"u\":{\"minimum\":18446744073709551615},\"x\":{\"exclusiveMinimum\":0.1},"
                 "\"c\":{\"const\":9007199254740993},\"n\":{\"maximum\":-9223372036854775808},"
                 "\"f\":{\"exclusiveMaximum\":9007199254740992.0},\"h\":{\"minimum\":1e30}}}");
    cr_expect_eq(check(s, "{\"max\":9007199254740993}"), 0);
    cr_expect_eq(check(s, "{\"max\":9007199254740994}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"u\":18446744073709551615}"), 0);
    cr_expect_eq(check(s, "{\"u\":18446744073709551614}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"u\":1e20}"), 0);
    cr_expect_eq(check(s, "{\"x\":0.1}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"x\":1}"), 0);
    cr_expect_eq(check(s, "{\"x\":0}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"c\":9007199254740992}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"c\":9007199254740993}"), 0);
    cr_expect_eq(check(s, "{\"n\":-9223372036854775808}"), 0);
    cr_expect_eq(check(s, "{\"n\":-9223372036854775807}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"f\":9007199254740991}"), 0);
    cr_expect_eq(check(s, "{\"f\":9007199254740992}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"h\":18446744073709551615}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"h\":1e31}"), 0);
}

Test(schema, multiple_of_is_decimal_not_binary) {
    const struct schema *s = compiled("{\"properties\":{\"cent\":{\"multipleOf\":0.01},"
                                      "\"big\":{\"multipleOf\":1e300},\"tiny\":{\"multipleOf\":"
                                      "1e-300},\"int\":{\"multipleOf\":7}}}");
    static const char *const YES[] = {
        "{\"cent\":0.07}",     "{\"cent\":1.13}", "{\"cent\":-4.35}",
        "{\"cent\":19}",       "{\"cent\":0}",    "{\"cent\":0.0}",
        "{\"big\":3e300}",     "{\"big\":0}",     "{\"tiny\":1}",
        "{\"tiny\":1.5e-299}", "{\"int\":-21}",   "{\"int\":21.0}",
        "{\"cent\":1e300}",    "{\"int\":7e15}",  "{\"int\":18446744073709551614}",
    };
    static const char *const NO[] = {"{\"cent\":0.075}", "{\"big\":1e299}",    "{\"tiny\":1e-301}",
                                     "{\"int\":22}",     "{\"int\":7.000001}", "{\"big\":7}"};
    for (size_t i = 0; i < sizeof YES / sizeof *YES; i++)
        cr_expect_eq(check(s, YES[i]), 0, "%s", YES[i]);
    for (size_t i = 0; i < sizeof NO / sizeof *NO; i++)
        cr_expect_eq(check(s, NO[i]), WOPR_E_VALIDATION, "%s", NO[i]);
}

Test(schema, strings_and_names_may_hold_nul) {
    const struct schema *s =
        compiled("{\"properties\":{\"a\":{\"const\":\"x\\u0000y\"},\"l\":{\"maxLength\":3},"
                 "\"p\":{\"pattern\":\"^x.z$\"},\"n\\u0000n\":{\"type\":\"null\"}},"
                 "\"patternProperties\":{\"^q\\\\0$\":{\"type\":\"null\"}},"
                 "\"propertyNames\":{\"not\":{\"const\":\"no\\u0000\"}},"
                 "\"dependentRequired\":{\"dep\":[\"n\\u0000n\"]}}");
    cr_expect_eq(check(s, "{\"a\":\"x\\u0000y\"}"), 0);
    cr_expect_eq(check(s, "{\"a\":\"x\"}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"l\":\"\\u0000\\u0000\\u0000\"}"), 0);
    cr_expect_eq(check(s, "{\"l\":\"\\u0000\\u0000\\u0000\\u0000\"}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"p\":\"x\\u0000z\"}"), 0);
    cr_expect_eq(check(s, "{\"p\":\"x\\u0000\"}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"n\\u0000n\":1}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"n\":1}"), 0);
    cr_expect_eq(check(s, "{\"q\\u0000\":1}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"no\\u0000\":1}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"dep\":1}"), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "{\"dep\":1,\"n\\u0000n\":null}"), 0);
}

Test(schema, unique_items_finds_equal_values_in_long_arrays) {
    const struct schema *s = compiled("{\"uniqueItems\":true}");
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_addc(&b, '[');
    for (int i = 0; i < 5000; i++) buf_addf(&b, "{\"v\":%d,\"w\":[%d]},", i, i);
    size_t mark = b.len;
    buf_addz(&b, "{\"w\":[1],\"v\":5001}]");
    cr_expect_eq(check(s, b.p), 0);
    b.len = mark;
    buf_addz(&b, "{\"w\":[4711.0],\"v\":4711}]");
    cr_expect_eq(check(s, b.p), WOPR_E_VALIDATION);
    buf_fini(&b);
}

Test(schema, unevaluated_tracks_more_members_than_fit_inline) {
    const struct schema *s = compiled("{\"allOf\":[{\"patternProperties\":{\"^a\":true}}],"
                                      "\"anyOf\":[{\"patternProperties\":{\"^b\":true}},false],"
                                      "\"unevaluatedProperties\":false}");
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_addc(&b, '{');
    for (int i = 0; i < 500; i++) buf_addf(&b, "\"a%d\":1,\"b%d\":1,", i, i);
    size_t mark = b.len;
    buf_addz(&b, "\"a\":1}");
    cr_expect_eq(check(s, b.p), 0, "%s %s", issue.instance, issue.keyword);
    b.len = mark;
    buf_addz(&b, "\"c\":1}");
    cr_expect_eq(check(s, b.p), WOPR_E_VALIDATION);
    expect_issue("/c", "/unevaluatedProperties");
    buf_fini(&b);
}

Test(schema, formats_assert_only_when_the_set_asks) {
    const struct schema *s = compiled("{\"format\":\"date-time\"}");
    cr_expect_eq(check(s, "\"no\""), 0);
    struct schema_set *strict = schema_set_new(true);
    cr_assert_eq(schema_set_add(strict, STR("f"), STR("{\"format\":\"date-time\"}"), &err), 0);
    cr_assert_eq(schema_compile(strict, STR("f"), &s, &err), 0);
    cr_expect_eq(check(s, "\"no\""), WOPR_E_VALIDATION);
    cr_expect_eq(check(s, "\"2026-01-31T00:00:00.000Z\""), 0);
    schema_set_free(strict);
}

/* ---- references ---- */

Test(schema, documents_refer_to_each_other_by_relative_uri) {
    const struct schema *s = NULL;
    cr_assert_eq(schema_set_add(set, STR("https://x.invalid/v1/a.json"),
                                STR("{\"$ref\":\"b.json#/$defs/n\"}"), &err),
                 0);
    cr_assert_eq(schema_set_add(set, STR("local-name"),
                                STR("{\"$id\":\"https://x.invalid/v1/b.json\",\"$defs\":{\"n\":"
                                    "{\"type\":\"number\"},\"s\":{\"$anchor\":\"str\",\"type\":"
                                    "\"string\"}}}"),
                                &err),
                 0);
    cr_assert_eq(schema_compile(set, STR("https://x.invalid/v1/a.json"), &s, &err), 0);
    cr_expect_eq(check(s, "1"), 0);
    cr_expect_eq(check(s, "\"1\""), WOPR_E_VALIDATION);
    expect_issue("", "/$defs/n/type");
    cr_assert_eq(schema_compile(set, STR("local-name#str"), &s, &err), 0);
    cr_expect_eq(check(s, "\"1\""), 0);
    cr_expect_eq(check(s, "1"), WOPR_E_VALIDATION);
    cr_assert_eq(schema_compile(set, STR("https://x.invalid/v1/b.json#/$defs/s"), &s, &err), 0);
    cr_expect_eq(check(s, "1"), WOPR_E_VALIDATION);
}

Test(schema, one_failed_compilation_leaves_the_set_usable) {
    const struct schema *s = NULL;
    cr_assert_eq(schema_set_add(set, STR("d"),
                                STR("{\"$defs\":{\"bad\":{\"properties\":{\"x\":{\"$ref\":"
                                    "\"#/$defs/good\"},\"y\":{\"type\":\"nope\"}}},"
                                    "\"good\":{\"items\":{\"type\":\"null\"}}}}"),
                                &err),
                 0);
    cr_assert_eq(schema_compile(set, STR("d#/$defs/bad"), &s, &err), WOPR_E_VALIDATION);
    cr_expect_null(s);
    cr_expect_str_eq(err.pointer, "/$defs/bad/properties/y/type");
    cr_assert_eq(schema_compile(set, STR("d#/$defs/good"), &s, &err), 0);
    cr_expect_eq(check(s, "[null]"), 0);
    cr_expect_eq(check(s, "[1]"), WOPR_E_VALIDATION);
    cr_assert_eq(schema_compile(set, STR("d"), &s, &err), WOPR_E_VALIDATION);
}

Test(schema, what_the_metaschema_says_can_be_asked_for) {
    const struct schema *s = NULL;
    int rc = schema_compile(set, STR("https://json-schema.org/draft/2020-12/schema"), &s, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
    cr_expect_eq(check(s, "{\"type\":\"string\",\"properties\":{\"a\":{\"minLength\":1}}}"), 0);
    cr_expect_eq(check(s, "{\"properties\":{\"a\":{\"minLength\":-1}}}"), WOPR_E_VALIDATION);
    cr_expect_str_eq(issue.instance, "/properties/a/minLength");
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++)
        if (str_starts(str_c(f->name), STR("api/metaschemas/")))
            cr_expect_eq(check(s, f->data), 0, "%s: %s", f->name, issue.instance);
}

/* ---- a set with a source ---- */

static unsigned asked;
static int source_rc;

static int source(struct str uri, struct buf *out, struct wopr_error *e) {
    static const char *const known[][2] = {
        {"https://x.invalid/a", "{\"properties\":{\"b\":{\"$ref\":\"b#/$defs/n\"}}}"},
        {"https://x.invalid/b", "{\"$defs\":{\"n\":{\"type\":\"number\"}}}"},
        {"https://x.invalid/broken", "{\"type\":\"nope\"}"},
    };
    asked++;
    if (source_rc != 0) return wopr_error_set(e, source_rc, "the source has failed");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_eqc(uri, known[i][0])) buf_addz(out, known[i][1]);
    return 0;
}

Test(schema, a_source_is_asked_for_what_is_referred_to_and_only_once) {
    const struct schema *s = NULL;
    schema_set_free(set);
    set = schema_set_new_from(true, source);
    cr_assert_eq(schema_set_add(set, STR("https://x.invalid/own"), STR("{\"$ref\":\"a\"}"), &err),
                 0);
    cr_expect_eq(asked, 0);
    cr_assert_eq(schema_compile(set, STR("https://x.invalid/own"), &s, &err), 0, "%s", err.message);
    cr_expect_eq(asked, 2); /* a and b, not broken */
    cr_expect_eq(check(s, "{\"b\":1}"), 0);
    cr_expect_eq(check(s, "{\"b\":\"1\"}"), WOPR_E_VALIDATION);
    cr_assert_eq(schema_compile(set, STR("https://x.invalid/b#/$defs/n"), &s, &err), 0);
    cr_expect_eq(asked, 2);
    cr_expect_eq(check(s, "\"1\""), WOPR_E_VALIDATION);
}

Test(schema, what_a_source_lacks_or_cannot_give_is_refused) {
    const struct schema *s = NULL;
    schema_set_free(set);
    set = schema_set_new_from(true, source);
    cr_expect_eq(schema_compile(set, STR("https://x.invalid/c"), &s, &err), WOPR_E_VALIDATION);
    cr_expect_eq(schema_compile(set, STR("https://x.invalid/broken"), &s, &err), WOPR_E_VALIDATION);
    cr_expect_str_eq(err.pointer, "/type");
    source_rc = WOPR_E_IO;
    cr_expect_eq(schema_compile(set, STR("https://x.invalid/a"), &s, &err), WOPR_E_IO);
    cr_expect_str_eq(err.message, "the source has failed");
    cr_expect_null(s);
    source_rc = 0;
    cr_expect_eq(schema_compile(set, STR("https://x.invalid/a"), &s, &err), 0);
}

/* ---- refused at compile time ---- */

Test(schema, invalid_schemas_are_refused_with_the_place) {
    expect_refused("[]", "");
    expect_refused("null", "");
    expect_refused("{\"type\":\"strin\"}", "/type");
    expect_refused("{\"type\":[]}", "/type");
    expect_refused("{\"type\":[\"null\",\"null\"]}", "/type");
    expect_refused("{\"properties\":{\"a\":{\"minLength\":-1}}}", "/properties/a/minLength");
    expect_refused("{\"maxItems\":1.5}", "/maxItems");
    expect_refused("{\"multipleOf\":0}", "/multipleOf");
    expect_refused("{\"multipleOf\":-1}", "/multipleOf");
    expect_refused("{\"maximum\":\"3\"}", "/maximum");
    expect_refused("{\"required\":[1]}", "/required");
    expect_refused("{\"required\":\"a\"}", "/required");
    expect_refused("{\"enum\":1}", "/enum");
    expect_refused("{\"items\":{\"allOf\":[]}}", "/items/allOf");
    expect_refused("{\"allOf\":[true,7]}", "/allOf/1");
    expect_refused("{\"not\":null}", "/not");
    expect_refused("{\"items\":[{}]}", "/items");
    expect_refused("{\"properties\":[]}", "/properties");
    expect_refused("{\"uniqueItems\":1}", "/uniqueItems");
    expect_refused("{\"dependentRequired\":{\"a\":{}}}", "/dependentRequired");
    expect_refused("{\"title\":3}", "/title");
    expect_refused("{\"format\":3}", "/format");
    expect_refused("{\"contains\":true,\"maxContains\":-1}", "/maxContains");
    expect_refused("{\"$defs\":{\"x\":{\"pattern\":3}}}", "/$defs/x/pattern");
}

Test(schema, broken_references_and_identifiers_are_refused) {
    expect_refused("{\"$ref\":\"#/nope\"}", "/$ref");
    expect_refused("{\"anyOf\":[{\"$ref\":\"https://other.invalid/x\"}]}", "/anyOf/0/$ref");
    expect_refused("{\"$dynamicRef\":\"#nope\"}", "/$dynamicRef");
    expect_refused("{\"$ref\":7}", "/$ref");
    expect_refused("{\"$ref\":\"#/%zz\"}", "/$ref");
    expect_refused("{\"$ref\":\"#/$defs/01\",\"$defs\":[]}", "/$defs");
    expect_refused("{\"$id\":\"x#frag\"}", "/$id");
    expect_refused("{\"$id\":3}", "/$id");
    expect_refused("{\"items\":{\"$anchor\":\"1x\"}}", "/items/$anchor");
    expect_refused("{\"$anchor\":\"a\",\"items\":{\"$anchor\":\"a\"}}", "/items/$anchor");
    expect_refused("{\"items\":{\"$id\":\"s\"}}", "/items/$id");
    expect_refused("{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", "/$schema");
    expect_refused("{\"$schema\":5}", "/$schema");
}

Test(schema, patterns_that_are_no_ecma_262_are_refused) {
    static const char *const BAD[] = {
        "(",        ")",       "[",           "a**",
        "*a",       "a{2,1}",  "(?R)",        "(?#x)",
        "(*FAIL)",  "\\\\Z",   "\\\\a",       "a++",
        "(?P<n>a)", "\\\\1",   "\\\\k<n>",    "(?<n>a)(?<n>b)",
        "[b-a]",    "\\\\u12", "\\\\p{Nope}", "(?i)a",
        "\\\\C",    "\\\\K",   "(?|a)",       "a{2}{3}",
        "\\\\x1",   "^*",      "(?=a)*",      "(?C1)",
    };
    char schema[100];
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        (void)snprintf(schema, sizeof schema, "{\"pattern\":\"%s\"}", BAD[i]);
        expect_refused(schema, "/pattern");
        (void)snprintf(schema, sizeof schema, "{\"patternProperties\":{\"%s\":true}}", BAD[i]);
        expect_refused(schema, "/patternProperties");
    }
}

Test(schema, patterns_read_as_ecma_262) {
    static const struct {
        const char *pattern, *yes, *no;
    } CASES[] = {
        {"^[a-z][a-z0-9_-]*$", "a-b_9", "A"},
        {"^a$", "a", "a\\n"},
        {"^\\\\S+$", "x", "a\\u00a0b"},
        {"^[^\\\\s]$", "x", "\\ufeff"},
        {"^[\\\\S]$", "x", "\\u2003"},
        {"^.$", "\\ud83d\\ude00", "\\u2028"},
        {"^\\\\ud83d\\\\ude00$", "\\ud83d\\ude00", "x"},
        {"^\\\\u{1F600}$", "\\ud83d\\ude00", "x"},
        {"^[^]$", "\\n", ""},
        {"^(?:a|[])$", "a", "b"},
        {"(?<y>a)\\\\k<y>", "aa", "ab"},
        {"^(?<=^)(a)(?=b)b\\\\1$", "aba", "abb"},
        {"\\\\bfoo\\\\b", "a foo", "afoo"},
        {"^[\\\\w-.]+$", "a-b.c", "a b"},
        {"^\\\\/\\\\-\\\\@$", "/-@", "x"},
        {"^a{,2}$", "a{,2}", "aa"},
        {"^x{2,3}?$", "xx", "xxxx"},
        {"^[[a]+$", "[a", "b"},
        {"^\\\\p{Lu}\\\\p{Script=Greek}$", "A\\u03b1", "Aa"},
        {"^\\\\cA\\\\0$", "\\u0001\\u0000", "A0"},
        {"^(a)?\\\\1$", "", "a"},
        {"^#x y$", "#x y", "y"},
    };
    char text[300];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct schema_set *own = schema_set_new(false);
        const struct schema *s = NULL;
        (void)snprintf(text, sizeof text, "{\"pattern\":\"%s\"}", CASES[i].pattern);
        cr_assert_eq(schema_set_add(own, STR("p"), str_c(text), &err), 0, "%s", text);
        cr_assert_eq(schema_compile(own, STR("p"), &s, &err), 0, "%s: %s", text, err.message);
        (void)snprintf(text, sizeof text, "\"%s\"", CASES[i].yes);
        cr_expect_eq(check(s, text), 0, "%s matches %s", CASES[i].pattern, text);
        (void)snprintf(text, sizeof text, "\"%s\"", CASES[i].no);
        cr_expect_eq(check(s, text), WOPR_E_VALIDATION, "%s leaves %s", CASES[i].pattern, text);
        schema_set_free(own);
    }
}

/* ---- bounds ---- */

/* schema against a string of n times unit and then tail. */
static int check_long(const struct schema *s, const char *unit, size_t n, const char *tail) {
    struct buf b;
    buf_init(&b, 4 << 20);
    buf_addc(&b, '"');
    for (size_t i = 0; i < n; i++) buf_addz(&b, unit);
    buf_addz(&b, tail);
    buf_addc(&b, '"');
    int rc = check(s, b.p);
    buf_fini(&b);
    return rc;
}

/* Unbounded ones take years: the time-out ends them. */
Test(schema, evil_patterns_end_in_bounded_time /* D: time is bounded */, .timeout = 300) {
    static const char *const EVIL[] = {
        "^(a+)+$",     "^(a|a)*$",   "^(?:a|aa)+$",   "(a*)*b",         "(.*)*(.*)*x",
        "a+[bc]",      "[a-y]+[bz]", "a{1000}[bz]",   "(a*)\\\\1[bz]",  "^(a?){60}a{60}$",
        "(?:a*){50}!", "(?=.*b)",    "(a|b|ab)*[xy]", "(?:.{1,9}){9}#",
    };
    char schema[100];
    for (size_t i = 0; i < sizeof EVIL / sizeof *EVIL; i++) {
        struct schema_set *own = schema_set_new(false);
        const struct schema *s = NULL;
        (void)snprintf(schema, sizeof schema, "{\"pattern\":\"%s\"}", EVIL[i]);
        cr_assert_eq(schema_set_add(own, STR("p"), str_c(schema), &err), 0);
        cr_assert_eq(schema_compile(own, STR("p"), &s, &err), 0, "%s", EVIL[i]);
        for (size_t n = 30; n <= 500000; n = n * 8 + 1) {
            int rc = check_long(s, "a", n, "!x");
            cr_expect(rc == 0 || rc == WOPR_E_VALIDATION || rc == WOPR_E_TOO_BIG, "%d", rc);
        }
        schema_set_free(own);
    }
}

Test(schema, an_exponential_pattern_is_answered_too_big) {
    const struct schema *s = compiled("{\"pattern\":\"^(a+)+$\"}");
    cr_expect_eq(check_long(s, "a", 40, "!"), WOPR_E_TOO_BIG);
    cr_expect_eq(check_long(s, "a", 40, ""), 0);
}

Test(schema, plain_patterns_do_long_strings) {
    const struct schema *s = compiled("{\"pattern\":\"^[A-Za-z0-9+/]*={0,2}$\"}");
    cr_expect_eq(check_long(s, "QUJD", 200000, "QQ=="), 0);
    cr_expect_eq(check_long(s, "QUJD", 200000, "!"), WOPR_E_VALIDATION);
}

Test(schema, exponential_references_spend_the_step_budget, .timeout = 300) {
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_addz(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 60; i++)
        buf_addf(&b, "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},",
                 i, i + 1, i + 1);
    buf_addz(&b, "\"d60\":{\"type\":\"null\"}}}");
    const struct schema *s = compiled(b.p);
    cr_expect_eq(check(s, "null"), WOPR_E_TOO_BIG);
    cr_expect_gt(strlen(issue.reason), 0);
    cr_expect_eq(check(s, "1"), WOPR_E_VALIDATION);
    buf_fini(&b);
}

Test(schema, endless_references_end_by_depth) {
    const struct schema *s = compiled("{\"allOf\":[{\"$ref\":\"#\"}]}");
    cr_expect_eq(check(s, "1"), WOPR_E_TOO_BIG);
    struct schema_set *own = schema_set_new(false);
    cr_assert_eq(schema_set_add(own, STR("n"), STR("{\"not\":{\"$ref\":\"#\"}}"), &err), 0);
    cr_assert_eq(schema_compile(own, STR("n"), &s, &err), 0);
    cr_expect_eq(check(s, "1"), WOPR_E_TOO_BIG, "a spent budget is not a failed subschema");
    schema_set_free(own);
}

Test(schema, deep_instances_pass_through_recursive_schemas) {
    const struct schema *s = compiled("{\"anyOf\":[{\"type\":\"null\"},{\"properties\":{\"n\":"
                                      "{\"$ref\":\"#\"}},\"required\":[\"n\"],"
                                      "\"unevaluatedProperties\":false,\"type\":\"object\"}]}");
    struct buf b;
    buf_init(&b, 1 << 16);
    for (int i = 0; i < 100; i++) buf_addz(&b, "{\"n\":");
    buf_addz(&b, "null");
    for (int i = 0; i < 100; i++) buf_addc(&b, '}');
    cr_expect_eq(check(s, b.p), 0, "%s", issue.reason);
    buf_fini(&b);
}

static uint64_t compiling_us(void *ctx, unsigned n) {
    struct buf b;
    (void)ctx;
    buf_init(&b, 16 << 20);
    buf_addz(&b, "{\"$defs\":{");
    for (unsigned i = 0; i < n; i++)
        buf_addf(&b, "\"d%u\":{\"$anchor\":\"a%u\",\"items\":{\"$ref\":\"#a%u\"}},", i, i,
                 i == n - 1 ? 0 : i + 1);
    buf_addz(&b, "\"x\":true},\"$ref\":\"#a0\"}");
    schema_set_free(set);
    set = schema_set_new(false);
    uint64_t from = cpu_time_us();
    const struct schema *s = compiled(b.p);
    uint64_t us = cpu_time_us() - from;
    cr_expect_eq(check(s, "[[[1]]]"), 0);
    buf_fini(&b);
    return us;
}

Test(schema, many_documents_and_references_compile_in_linear_work, .timeout = 300) {
    const struct growth g = {compiling_us, NULL, 5000, 20000, GROWTH_FACTOR, 20000};
    char told[512];
    cr_expect(growth_holds(&g, told, sizeof told), "%s", told);
}

/* ---- failures of memory ---- */

Test(schema, every_failed_allocation_is_an_answer) {
    static const char DOC[] = "{\"$id\":\"https://m.invalid/s\",\"properties\":{\"a\":{\"pattern\":"
                              "\"^x+$\"},\"b\":{\"$ref\":\"#n\"}},\"$defs\":{\"n\":{\"$anchor\":"
                              "\"n\",\"uniqueItems\":true}},\"unevaluatedProperties\":false}";
    unsigned nth = 1;
    bool done = false;
    for (; !done && nth < 2000; nth++) {
        struct schema_issue is;
        const struct schema *s = NULL;
        cr_assert(fault_arm(1u << FAULT_MALLOC, nth) || nth > 1);
        struct schema_set *own = schema_set_new(false);
        int rc = own == NULL ? WOPR_E_NO_MEMORY : schema_set_add(own, STR("m"), str_c(DOC), &err);
        if (rc == 0) rc = schema_compile(own, STR("m"), &s, &err);
        if (rc == 0)
            rc = schema_validate_text(s, STR("{\"a\":\"xx\",\"b\":[1,2,3,4,5,6,7,8,9,10]}"), &is);
        bool fired = fault_fired();
        fault_disarm();
        cr_expect_eq(rc, fired ? WOPR_E_NO_MEMORY : 0, "allocation %u: %d", nth, rc);
        schema_set_free(own);
        done = !fired;
    }
    cr_expect(done);
    cr_expect_gt(nth, 20);
}

/* ---- threads ---- */

struct worker {
    const struct schema *s;
    unsigned seed, wrong;
};

static void *work(void *arg) {
    struct worker *w = arg;
    for (unsigned i = 0; i < 3000; i++) {
        struct schema_issue is;
        char text[160];
        unsigned kind = (i + w->seed) % 3;
        (void)snprintf(text, sizeof text, "{\"id\":\"%s\",\"tags\":[1,2,3,4,5,6,7,8,9,%u],\"x\":1}",
                       kind == 1 ? "Bad!" : "good-id", kind == 2 ? 1u : 77u + i);
        int rc = schema_validate_text(w->s, str_c(text), &is);
        const char *at = kind == 1 ? "/id" : "/tags";
        w->wrong += rc != (kind == 0 ? 0 : WOPR_E_VALIDATION);
        w->wrong += kind != 0 && strcmp(is.instance, at) != 0;
    }
    return NULL;
}

Test(schema, four_threads_share_one_schema) {
    struct worker w[4];
    pthread_t t[4];
    const struct schema *s =
        compiled("{\"allOf\":[{\"properties\":{\"id\":{\"pattern\":\"^[a-z-]+$\"}}},"
                 "{\"properties\":{\"tags\":{\"uniqueItems\":true}}}],"
                 "\"patternProperties\":{\"^x$\":{\"$dynamicRef\":\"#n\"}},"
                 "\"$defs\":{\"n\":{\"$dynamicAnchor\":\"n\",\"type\":\"number\"}},"
                 "\"unevaluatedProperties\":false}");
    for (unsigned i = 0; i < 4; i++) {
        w[i] = (struct worker){.s = s, .seed = i};
        cr_assert_eq(pthread_create(&t[i], NULL, work, &w[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(pthread_join(t[i], NULL), 0);
        cr_expect_eq(w[i].wrong, 0);
    }
}
