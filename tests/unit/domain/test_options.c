/* Run options and inputs (OPT-1..12, RUN-3, WF-17, ERR-6). */
#include "domain/options.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const PROVIDERS[] = {"openai", "anthropic", NULL};
static const char *const BYOK[] = {"openai", NULL};

static int check(const char *configurable, const char *tags, const char *metadata,
                 const struct workflow *w, bool test_key, struct run_options *out,
                 struct wopr_error *err) {
    struct run_limits limits = RUN_LIMITS_DEFAULT;
    struct options_env env = {.limits = &limits, .test_key = test_key};
    struct arena *a = arena_new(1 << 22);
    struct run_options o;
    limits.ai_providers = PROVIDERS;
    limits.byok_providers = BYOK;
    wopr_error_clear(err);
    int rc = run_options_check(str_c(configurable ? configurable : ""), str_c(tags ? tags : ""),
                               str_c(metadata ? metadata : ""), w, &env, a, &o, err);
    if (rc == 0 && out != NULL) *out = o;
    arena_free(a);
    return rc;
}

Test(options, configurable_table /* OPT-4, OPT-6, OPT-7, OPT-9 */) {
    static const struct {
        const char *text;
        int want;
        const char *details; /* "" when not checked */
    } T[] = {
        {"", 0, ""},
        {"{}", 0, ""},
        {"[]", WOPR_E_VALIDATION,
         "{\"fields\":[{\"path\":\"configurable\",\"reason\":\"wrong_type\"}]}"},
        {"{\"recursionLimit\":1}", 0, ""},
        {"{\"recursionLimit\":100000}", 0, ""},
        {"{\"recursionLimit\":0}", WOPR_E_VALIDATION,
         "{\"fields\":[{\"path\":\"configurable.recursionLimit\",\"reason\":\"out_of_range\"}],"
         "\"key\":\"recursionLimit\",\"value\":0,\"min\":1}"},
        {"{\"recursionLimit\":1.5}", WOPR_E_VALIDATION, ""},
        {"{\"recursionLimit\":\"3\"}", WOPR_E_VALIDATION,
         "{\"fields\":[{\"path\":\"configurable.recursionLimit\",\"reason\":\"wrong_type\"}],"
         "\"key\":\"recursionLimit\",\"min\":1}"},
        {"{\"temperature\":0}", 0, ""},
        {"{\"temperature\":2}", 0, ""},
        {"{\"temperature\":2.1}", WOPR_E_VALIDATION,
         "{\"fields\":[{\"path\":\"configurable.temperature\",\"reason\":\"out_of_range\"}],"
         "\"key\":\"temperature\",\"value\":2.1,\"min\":0,\"max\":2}"},
        {"{\"temperature\":-0.1}", WOPR_E_VALIDATION, ""},
        {"{\"temperature\":true}", WOPR_E_VALIDATION, ""},
        {"{\"maxTokens\":1}", 0, ""},
        {"{\"maxTokens\":0}", WOPR_E_VALIDATION, ""},
        {"{\"model\":\"m\"}", 0, ""},
        {"{\"model\":\"\"}", WOPR_E_VALIDATION, ""},
        {"{\"model\":null}", WOPR_E_VALIDATION, ""},
        {"{\"promptOverrides\":{\"a\":\"b\"}}", 0, ""},
        {"{\"promptOverrides\":{\"a\":1}}", WOPR_E_VALIDATION, ""},
        {"{\"escalationThreshold\":1}", 0, ""},
        {"{\"escalationThreshold\":2}", WOPR_E_VALIDATION, ""}, /* CHK-13 */
        {"{\"reasoningVerbosity\":\"off\"}", 0, ""},
        {"{\"reasoningVerbosity\":\"loud\"}", WOPR_E_VALIDATION, ""},
        {"{\"acme.mode\":[1]}", 0, ""},
        {"{\"surprise\":1}", WOPR_E_VALIDATION,
         "{\"fields\":[{\"path\":\"configurable.surprise\",\"reason\":\"unknown_key\"}]}"},
        {"{\"ai.colour\":1}", WOPR_E_VALIDATION, ""},
        {"{\"ai\":{\"colour\":1}}", WOPR_E_VALIDATION,
         "{\"fields\":[{\"path\":\"configurable.ai.colour\",\"reason\":\"unknown_key\"}]}"},
        {"{\"ai\":{\"provider\":\"openai\",\"model\":\"m\"}}", 0, ""},
        {"{\"ai.provider\":\"nobody\"}", WOPR_E_VALIDATION, ""},
        {"{\"ai.credentialRef\":\"r\"}", 0, ""}, /* OPT-8 */
        {"{\"ai\":{\"credentialRef\":\"r\",\"provider\":\"openai\"}}", 0, ""},
        {"{\"ai\":{\"credentialRef\":\"r\",\"provider\":\"anthropic\"}}",
         WOPR_E_CREDENTIAL_FORBIDDEN, ""},
        {"{\"ai.credentialRef\":\"r\",\"ai\":{\"credentialRef\":\"r\"}}", 0, ""},
        {"{\"ai.credentialRef\":\"r\",\"ai\":{\"credentialRef\":\"q\"}}", WOPR_E_VALIDATION, ""},
        {"{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{}}}", 0, ""},
        {"{\"mockProvider\":{\"id\":\"usage-only\"}}", 0, ""},
        {"{\"mockProvider\":{\"id\":\"nope\"}}", WOPR_E_MOCK_UNSUPPORTED, ""},
        {"{\"mockProvider\":{}}", WOPR_E_VALIDATION, ""},
        {"{\"mockProvider\":{\"id\":\"error\",\"x\":1}}", WOPR_E_VALIDATION, ""},
        {"{\"mockProvider\":{\"id\":\"error\",\"config\":1}}", WOPR_E_VALIDATION, ""},
        {"{\"mockProvider\":1}", WOPR_E_VALIDATION, ""},
    };
    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        struct wopr_error err;
        int rc = check(T[i].text, NULL, NULL, NULL, true, NULL, &err);
        cr_expect(rc == T[i].want, "%s: %d, not %d (%s)", T[i].text, rc, T[i].want, err.message);
        if (T[i].details[0] != '\0') cr_expect_str_eq(err.details, T[i].details);
        if (rc == WOPR_E_VALIDATION)
            cr_expect(json_check(str_c(err.details), &JSON_LIMITS_DEFAULT, NULL) == 0, "%s",
                      err.details);
    }
}

Test(options, forbidden_comes_before_everything_else /* OPT-9 */) {
    static const char *const T[] = {
        "{\"mockProvider\":{\"id\":\"stream-text\"}}",
        "{\"mockProvider\":{\"id\":\"nope\"}}",
        "{\"mockProvider\":1}",
        "{\"temperature\":9,\"surprise\":1,\"mockProvider\":{}}",
    };
    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        struct wopr_error err;
        cr_expect(check(T[i], "[1]", "[]", NULL, false, NULL, &err) == WOPR_E_MOCK_FORBIDDEN, "%s",
                  T[i]);
    }
}

Test(options, recursion_limit_is_the_smaller_one /* OPT-6, EVT-25 */) {
    struct run_options o;
    struct wopr_error err;
    cr_assert(check(NULL, NULL, NULL, NULL, false, &o, &err) == 0);
    cr_expect(o.recursion_limit == 100 && o.mock == MOCK_NONE);
    cr_assert(check("{\"recursionLimit\":3}", NULL, NULL, NULL, false, &o, &err) == 0);
    cr_expect(o.recursion_limit == 3);
    cr_assert(check("{\"recursionLimit\":101}", NULL, NULL, NULL, false, &o, &err) == 0);
    cr_expect(o.recursion_limit == 100);
}

Test(options, load_never_refuses) {
    static const char *const T[] = {"{\"recursionLimit\":-1}", "{\"recursionLimit\":\"x\"}", "[]",
                                    "{\"mockProvider\":7}", "{\"ai.credentialRef\":7}"};
    struct arena *a = arena_new(1 << 20);
    struct run_options o;
    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        cr_expect(run_options_load(str_c(T[i]), STR("7"), STR("7"), &RUN_LIMITS_DEFAULT, a, &o,
                                   NULL) == 0);
        cr_expect(o.recursion_limit == 100);
    }
    cr_assert(
        run_options_load(STR("{\"mockProvider\":{\"id\":\"error\",\"config\":{\"code\":\"x\"}},"
                             "\"ai\":{\"credentialRef\":\"r\\u0031\"}}"),
                         STR(""), STR(""), &RUN_LIMITS_DEFAULT, a, &o, NULL) == 0);
    cr_expect(o.mock == MOCK_ERROR && str_eqc(o.mock_config, "{\"code\":\"x\"}"));
    cr_expect(str_eqc(o.credential_ref, "r1"));
    arena_free(a);
}

static void repeat(struct buf *b, const char *unit, size_t n) {
    for (size_t i = 0; i < n; i++) buf_addz(b, unit);
}

static int check_tags(size_t count, const char *unit, size_t units) {
    struct buf b;
    struct wopr_error err;
    buf_init(&b, 1 << 20);
    buf_addc(&b, '[');
    for (size_t i = 0; i < count; i++) {
        buf_addz(&b, i ? ",\"" : "\"");
        repeat(&b, unit, units);
        buf_addc(&b, '"');
    }
    buf_addc(&b, ']');
    int rc = check(NULL, b.p, NULL, NULL, false, NULL, &err);
    buf_fini(&b);
    return rc;
}

Test(options, tags_are_counted_in_code_points /* OPT-11 */) {
    struct wopr_error err;
    cr_expect(check_tags(0, "", 0) == 0);
    cr_expect(check_tags(100, "a", 1) == 0);
    cr_expect(check_tags(101, "a", 1) == WOPR_E_VALIDATION);
    cr_expect(check_tags(1, "\xf0\x9f\x98\x80", 256) == 0);
    cr_expect(check_tags(1, "\xf0\x9f\x98\x80", 257) == WOPR_E_VALIDATION);
    cr_expect(check_tags(1, "\\ud83d\\ude00", 256) == 0);
    cr_expect(check_tags(1, "", 0) == WOPR_E_VALIDATION);
    cr_expect(check(NULL, "[\"a\",1]", NULL, NULL, false, NULL, &err) == WOPR_E_VALIDATION);
    cr_expect_str_eq(err.details, "{\"fields\":[{\"path\":\"tags.1\",\"reason\":\"wrong_type\"}]}");
    cr_expect(check(NULL, "{}", NULL, NULL, false, NULL, &err) == WOPR_E_VALIDATION);
}

Test(options, metadata_is_bounded_in_depth_and_bytes /* OPT-12 */) {
    struct wopr_error err;
    struct buf b;
    cr_expect(check(NULL, NULL, "{\"a\":{\"b\":{\"c\":{\"d\":1}}}}", NULL, false, NULL, &err) == 0);
    cr_expect(check(NULL, NULL, "{\"a\":{\"b\":{\"c\":{\"d\":[]}}}}", NULL, false, NULL, &err) ==
              0);
    cr_expect(check(NULL, NULL, "{\"a\":{\"b\":{\"c\":{\"d\":[[]]}}}}", NULL, false, NULL, &err) ==
              WOPR_E_VALIDATION);
    cr_expect(check(NULL, NULL, "[]", NULL, false, NULL, &err) == WOPR_E_VALIDATION);
    for (size_t over = 0; over < 2; over++) {
        buf_init(&b, 1 << 16);
        buf_addz(&b, "{\"k\":\"");
        repeat(&b, "x", 8192 - 8 + over);
        buf_addz(&b, "\"}");
        cr_assert(b.len == 8192 + over);
        cr_expect(check(NULL, NULL, b.p, NULL, false, NULL, &err) ==
                  (over ? WOPR_E_VALIDATION : 0));
        buf_fini(&b);
    }
}

static struct workflow *workflow(const char *more) {
    struct workflow *w = NULL;
    struct wopr_error err;
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_addf(
        &b,
        "{\"id\":\"t\",\"name\":\"t\",\"version\":\"1\",\"nodes\":[{\"id\":\"a\",\"name\":\"n\","
        "\"typeId\":\"core.noop\"}]%s}",
        more);
    cr_assert(workflow_compile(buf_str(&b), NULL, &w, &err) == 0, "%s %s", err.pointer,
              err.message);
    buf_fini(&b);
    return w;
}

Test(options, the_workflows_own_schema_has_the_say /* OPT-5 */) {
    struct workflow *w =
        workflow(",\"configurableSchema\":{\"type\":\"object\",\"properties\":{\"acme.level\":"
                 "{\"type\":\"integer\",\"maximum\":3},\"temperature\":{\"maximum\":1}},"
                 "\"required\":[\"acme.level\"]}");
    struct wopr_error err;
    cr_expect(check("{\"acme.level\":3}", NULL, NULL, w, false, NULL, &err) == 0);
    cr_expect(check("{\"acme.level\":4}", NULL, NULL, w, false, NULL, &err) == WOPR_E_VALIDATION);
    cr_expect(json_check(str_c(err.details), &JSON_LIMITS_DEFAULT, NULL) == 0);
    cr_expect(check(NULL, NULL, NULL, w, false, NULL, &err) == WOPR_E_VALIDATION);
    cr_expect(check("{\"acme.level\":1,\"temperature\":1.5}", NULL, NULL, w, false, NULL, &err) ==
              WOPR_E_VALIDATION);
    cr_expect(check("{\"acme.level\":1,\"open\":1}", NULL, NULL, w, false, NULL, &err) == 0);
    cr_expect(check("{\"acme.level\":1,\"recursionLimit\":0}", NULL, NULL, w, false, NULL, &err) ==
              WOPR_E_VALIDATION);
    workflow_unref(w);
}

Test(options, details_stay_json_whatever_the_key_is) {
    struct buf b;
    struct wopr_error err;
    buf_init(&b, 1 << 16);
    buf_addz(&b, "{\"\\\"\\n");
    repeat(&b, "\xc3\xa9", 500);
    buf_addz(&b, "\":1}");
    cr_expect(check(b.p, NULL, NULL, NULL, false, NULL, &err) == WOPR_E_VALIDATION);
    cr_expect(err.details[0] == '{');
    cr_expect(json_check(str_c(err.details), &JSON_LIMITS_DEFAULT, NULL) == 0, "%s", err.details);
    buf_fini(&b);
}

Test(inputs, table /* RUN-3, WF-17, NODE-8 */) {
    static const struct {
        const char *inputs, *want; /* want: name=value;..., or "!" + details */
    } T[] = {
        {"{\"r\":\"x\"}", "s=\"d\";r=\"x\";"},
        {"{\"r\":\"x\",\"extra\":\"sk-canary\"}", "s=\"d\";r=\"x\";"},
        {"{\"n\":1.50,\"r\":\"x\",\"s\":\"e\"}", "s=\"e\";r=\"x\";n=1.50;"},
        {"{\"r\":\"x\",\"o\":{\"b\":1},\"l\":[null],\"b\":false}",
         "s=\"d\";r=\"x\";b=false;o={\"b\":1};l=[null];"},
        {"", "!{\"fields\":[{\"path\":\"inputs.r\",\"reason\":\"required\"}]}"},
        {"{}", "!{\"fields\":[{\"path\":\"inputs.r\",\"reason\":\"required\"}]}"},
        {"[]", "!{\"fields\":[{\"path\":\"inputs\",\"reason\":\"wrong_type\"}]}"},
        {"{\"r\":1,\"b\":\"true\"}",
         "!{\"fields\":[{\"path\":\"inputs.r\",\"reason\":\"wrong_type\"},"
         "{\"path\":\"inputs.b\",\"reason\":\"wrong_type\"}]}"},
        {"{\"r\":null}", "!{\"fields\":[{\"path\":\"inputs.r\",\"reason\":\"wrong_type\"}]}"},
    };
    struct workflow *w = workflow(
        ",\"variables\":[{\"name\":\"s\",\"type\":\"string\",\"required\":true,"
        "\"defaultValue\":\"d\"},{\"name\":\"r\",\"type\":\"string\",\"required\":true,"
        "\"sensitive\":true},{\"name\":\"n\",\"type\":\"number\"},{\"name\":\"b\",\"type\":"
        "\"boolean\"},{\"name\":\"o\",\"type\":\"object\"},{\"name\":\"l\",\"type\":\"array\"}]");
    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        struct arena *a = arena_new(1 << 20);
        struct var_inits v = {0};
        struct wopr_error err;
        struct buf got;
        buf_init(&got, 1 << 16);
        wopr_error_clear(&err);
        int rc = run_inputs_check(str_c(T[i].inputs), w, a, &v, &err);
        if (rc != 0) buf_addf(&got, "!%s", err.details);
        for (size_t k = 0; rc == 0 && k < v.n; k++) {
            buf_addf(&got, STR_FMT "=" STR_FMT ";", STR_ARG(v.v[k].name), STR_ARG(v.v[k].value));
            cr_expect(v.v[k].sensitive == str_eqc(v.v[k].name, "r"));
        }
        cr_expect_str_eq(got.p, T[i].want, "%s gave %s", T[i].inputs, got.p);
        buf_fini(&got);
        arena_free(a);
    }
    workflow_unref(w);
}

Test(inputs, many_refusals_fit_or_are_counted) {
    struct buf b, in;
    buf_init(&b, 1 << 18);
    buf_init(&in, 1 << 18);
    buf_addz(&b, ",\"variables\":[");
    for (int i = 0; i < 200; i++)
        buf_addf(&b,
                 "%s{\"name\":\"a-rather-long-name-of-a-variable-%d\",\"type\":\"string\","
                 "\"required\":true}",
                 i ? "," : "", i);
    buf_addz(&b, "]");
    struct workflow *w = workflow(b.p);
    struct arena *a = arena_new(1 << 20);
    struct var_inits v;
    struct wopr_error err;
    wopr_error_clear(&err);
    cr_expect(run_inputs_check(STR("{}"), w, a, &v, &err) == WOPR_E_VALIDATION);
    cr_expect(strncmp(err.message, "200 ", 4) == 0);
    cr_expect(json_check(str_c(err.details), &JSON_LIMITS_DEFAULT, NULL) == 0);
    arena_free(a);
    workflow_unref(w);
    buf_fini(&b);
    buf_fini(&in);
}

Test(options, a_recursion_limit_above_all_bounds_is_clamped /* CON-8, OPT-6 */) {
    static const char *const LARGE[] = {"{\"recursionLimit\":9223372036854775808}",
                                        "{\"recursionLimit\":1000000000000000000000}",
                                        "{\"recursionLimit\":1e21}"};
    struct wopr_error err;
    struct run_options o;
    for (size_t i = 0; i < sizeof LARGE / sizeof LARGE[0]; i++) {
        cr_assert_eq(check(LARGE[i], NULL, NULL, NULL, false, &o, &err), 0, "%s", LARGE[i]);
        cr_expect_eq(o.recursion_limit, RUN_LIMITS_DEFAULT.max_node_executions);
    }
    cr_expect_eq(check("{\"recursionLimit\":-1e21}", NULL, NULL, NULL, false, NULL, &err),
                 WOPR_E_VALIDATION);
}

Test(options, refused_mock_providers_name_what_there_is /* 10-http-core 3.2, OPT-9, HTTP-14 */) {
    static const char ALL[] =
        "\"supportedProviders\":[\"stream-text\",\"tool-calls\",\"error\",\"usage-only\"]}";
    static const struct {
        const char *text;
        bool test_key;
        int want;
        const char *asked;
    } T[] = {
        {"{\"mockProvider\":{\"id\":\"no-such\"}}", true, WOPR_E_MOCK_UNSUPPORTED,
         "{\"requestedProvider\":\"no-such\","},
        {"{\"mockProvider\":{\"id\":\"stream-text\"}}", false, WOPR_E_MOCK_FORBIDDEN,
         "{\"requestedProvider\":\"stream-text\","},
        {"{\"mockProvider\":{\"id\":\"hk_live_1 \\\"x\"}}", true, WOPR_E_MOCK_UNSUPPORTED, "{"},
        {"{\"mockProvider\":7}", false, WOPR_E_MOCK_FORBIDDEN, "{"}};
    struct wopr_error err;
    for (size_t i = 0; i < sizeof T / sizeof T[0]; i++) {
        char want[256];
        snprintf(want, sizeof want, "%s%s", T[i].asked, ALL);
        cr_expect_eq(check(T[i].text, NULL, NULL, NULL, T[i].test_key, NULL, &err), T[i].want);
        cr_expect_str_eq(err.details, want);
    }
}

Test(options, how_metadata_is_printed_does_not_count /* OPT-12 */) {
    static char text[3 * 8192];
    struct wopr_error err;
    size_t n = 0;
    n += (size_t)snprintf(text, sizeof text, "{\n\t\"a \\\" b\" : \"");
    size_t head = n - 4; /* without line break, tab and two blanks */
    while (n < head + 4 + 8192 - head - 2) text[n++] = ' '; /* inside a string they count */
    snprintf(text + n, sizeof text - n, "\"%*s}", 9000, "\r\n");
    cr_expect_eq(check(NULL, NULL, text, NULL, false, NULL, &err), 0, "%s", err.details);
    snprintf(text + n, sizeof text - n, " \"%*s}", 9000, "\r\n");
    cr_expect_eq(check(NULL, NULL, text, NULL, false, NULL, &err), WOPR_E_VALIDATION);
}
