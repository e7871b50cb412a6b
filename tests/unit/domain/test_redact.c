/* The redactor and the masks: OBS-70..76, RUN-13, GEN-6. */
#include "codec/json.h"
#include "domain/options.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define MARK "CANARY-openwop-CONFORMANCE-NEVER-SECRET"
#define JWT  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." MARK

/* text in, text out; equal when nothing is to be hidden */
static const struct {
    const char *in, *out;
} TEXTS[] = {
    {"", ""},
    {"plain words", "plain words"},
    {"sk-" MARK "-tail", "[REDACTED]"},
    {"sk-ant-" MARK "-tail", "[REDACTED]"},
    {"AIza" MARK "tail", "[REDACTED]"},
    {"cred_" MARK "-tail", "[REDACTED]"},
    {"ghp_0123456789abcdef", "[REDACTED]"},
    {"ghp_0123456789abcde", "ghp_0123456789abcde"}, /* 15 token characters */
    {"xoxb-0123456789abcdef!", "[REDACTED]!"},
    {"hk_0123456789abcdef", "[REDACTED]"},
    {"hk_test_0123456789abcdef", "[REDACTED]"},
    {JWT, "[REDACTED]"},
    {"nonexistent-" JWT " not found.", "nonexistent-[REDACTED] not found."},
    {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0",
     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"}, /* two groups */
    {"a.eyJh.b.c.d.e", "a.[REDACTED]"},
    {"Authorization: Bearer abc.def/ghi=", "Authorization: Bearer [REDACTED]"},
    {"bearer of news", "bearer of news"},
    {"bearer 12345678", "bearer [REDACTED]"},
    {"Bearer ", "Bearer "},
    {"risk-assessment-of-the-year",
     "risk-assessment-of-the-year"}, /* holds "sk-", not at its start */
    {"(sk-0123456789abcdef)", "([REDACTED])"},
    {"sk-0123456789abcdef. Next", "[REDACTED]. Next"},
    {"sk-0123456789abcdef.more/bits==", "[REDACTED]"},
    {"sk-0123456789abcdef sk-0123456789abcdef", "[REDACTED] [REDACTED]"},
    {"the-vault-ref here", "[REDACTED] here"}, /* known */
    {"[REDACTED]", "[REDACTED]"},
};

Test(redact, credential_shapes_are_hidden_and_words_are_not /* OBS-75 */) {
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct buf b;
        buf_init(&b, 4096);
        bool hit = redact_text(str_c(TEXTS[i].in), STR("the-vault-ref"), &b);
        cr_expect(str_eqc(buf_str(&b), TEXTS[i].out), "%s gives " STR_FMT, TEXTS[i].in,
                  STR_ARG(buf_str(&b)));
        cr_expect_eq(hit, strcmp(TEXTS[i].in, TEXTS[i].out) != 0, "%s", TEXTS[i].in);
        buf_fini(&b);
    }
}

Test(redact, every_string_position_of_a_document_is_covered /* check 19 */) {
    static const struct {
        const char *in, *out;
    } DOCS[] = {
        {"\"sk-" MARK "\"", "\"[REDACTED]\""},
        {"{\"a\" : [1, \"x sk-" MARK "\"], \"b\":{}}", "{\"a\" : [1, \"x [REDACTED]\"], \"b\":{}}"},
        {"{\"k\":{\"n\":\"" JWT "\"}}", "{\"k\":{\"n\":\"[REDACTED]\"}}"},
        {"[\"a\\nsk-" MARK "\"]", "[\"a\\n[REDACTED]\"]"},
        {"[\"\\u0073k-" MARK "\"]", "[\"[REDACTED]\"]"}, /* spelled with an escape */
        {"[\"\\u0061\\\\\"]", "[\"\\u0061\\\\\"]"},      /* nothing to hide: spelling is kept */
        {"{\"sk-" MARK "\":1}", "{\"sk-" MARK "\":1}"},  /* names stay */
        {"{\"a\":\"\",\"b\":\"\\\"\"}", "{\"a\":\"\",\"b\":\"\\\"\"}"},
        {"[\"open", "[\"open"},
    };
    for (size_t i = 0; i < sizeof DOCS / sizeof DOCS[0]; i++) {
        struct buf b;
        buf_init(&b, 4096);
        cr_assert_eq(redact_json(str_c(DOCS[i].in), STR_NONE, &b, NULL), 0);
        cr_expect(str_eqc(buf_str(&b), DOCS[i].out), "%s gives " STR_FMT, DOCS[i].in,
                  STR_ARG(buf_str(&b)));
        buf_fini(&b);
    }
}

Test(redact, known_secrets_are_hidden_anywhere_but_not_tiny_ones /* OBS-75, OBS-76 */) {
    struct buf b;
    buf_init(&b, 4096);
    cr_assert_eq(redact_json(STR("{\"m\":\"xmy-refx\"}"), STR("my-ref"), &b, NULL), 0);
    cr_expect(str_eqc(buf_str(&b), "{\"m\":\"x[REDACTED]x\"}"));
    buf_reset(&b);
    cr_assert_eq(redact_json(STR("{\"m\":\"abab\"}"), STR("ab"), &b, NULL), 0);
    cr_expect(str_eqc(buf_str(&b), "{\"m\":\"abab\"}"));
    buf_fini(&b);
}

Test(redact, masking_modes /* OBS-72, OBS-73 */) {
    static const struct {
        const char *mode, *json, *want;
    } ROWS[] = {
        {"mask", "{\"a\":1}", "\"[REDACTED]\""},
        {"", "1", "\"[REDACTED]\""},
        {"unheard", "1", "\"[REDACTED]\""},
        {"omit", "1", NULL},
        {"passthrough", "{\"a\": 1}", "{\"a\": 1}"},
        /* sha256 of {"a":1} */
        {"hash", "{ \"a\" : 1.0 }",
         "\"sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862\""},
    };
    struct arena *a = arena_new(1u << 16);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct str out = STR("untouched");
        struct wopr_error err = {0};
        cr_assert_eq(mask_value(str_c(ROWS[i].mode), str_c(ROWS[i].json), a, &out, &err), 0);
        if (ROWS[i].want) cr_expect(str_eqc(out, ROWS[i].want), STR_FMT, STR_ARG(out));
        else cr_expect_null(out.p);
    }
    arena_free(a);
}
