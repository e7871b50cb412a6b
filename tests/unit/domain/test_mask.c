/*
 * test_mask.c: the credential reference of configurable is masked in place (RUN-13), whatever the
 * size of the text around it (A1); the bounds of options count blanks too.
 */
#include "base/buf.h"
#include "domain/options.h"

#include <criterion/criterion.h>

enum { TEXT_MAX = 32 << 20, MANY = 500000 };

Test(mask, both_spellings_are_masked_and_the_rest_stays_as_sent /* RUN-13, OPT-7 */) {
    static const char *const T[][2] = {
        {"", ""},
        {"{}", "{}"},
        {"{\"model\":\"m\"}", "{\"model\":\"m\"}"},
        {"{\"ai\":7,\"x\":{\"credentialRef\":\"stays\"}}",
         "{\"ai\":7,\"x\":{\"credentialRef\":\"stays\"}}"},
        {"{\"ai.credentialRef\":\"c\", \"n\":1.50}",
         "{\"ai.credentialRef\":\"[REDACTED]\", \"n\":1.50}"},
        {"{\"ai\":{\"model\":\"m\",\"credentialRef\":\"c\"},\"z\":0}",
         "{\"ai\":{\"model\":\"m\",\"credentialRef\":\"[REDACTED]\"},\"z\":0}"},
        {"{\"ai.credentialRef\":\"c\",\"ai\":{\"credentialRef\":\"c\"}}",
         "{\"ai.credentialRef\":\"[REDACTED]\",\"ai\":{\"credentialRef\":\"[REDACTED]\"}}"},
        {"{\"ai\":{\"credentialRef\":{\"a\":1}},\"ai.credentialRef\":null,\"z\":0}",
         "{\"ai\":{\"credentialRef\":\"[REDACTED]\"},\"ai.credentialRef\":\"[REDACTED]\",\"z\":0}"},
        {"{\"\\u0061i\":{\"credentialRe\\u0066\":\"c\"}}",
         "{\"\\u0061i\":{\"credentialRe\\u0066\":\"[REDACTED]\"}}"},
    };
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        struct buf out;
        buf_init(&out, 1 << 16);
        cr_expect_eq(configurable_masked(str_c(T[i][0]), &out, NULL), 0);
        cr_expect(str_eqc(buf_str(&out), T[i][1]), "%s: " STR_FMT, T[i][0], STR_ARG(buf_str(&out)));
        buf_fini(&out);
    }
}

Test(mask, half_a_million_members_can_be_shown /* RUN-13, A1 */) {
    struct buf in, out;
    buf_init(&in, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    buf_addz(&in, "{");
    for (int i = 0; i < MANY; i++) buf_addf(&in, "\"k%d\":1,", i);
    buf_addz(&in, "\"ai.credentialRef\":\"c\"}");
    cr_expect_eq(configurable_masked(buf_str(&in), &out, NULL), 0);
    cr_expect_eq(out.len, in.len + sizeof "[REDACTED]" - sizeof "c");
    buf_fini(&in);
    buf_fini(&out);
}

/* Else a run with such an input could be created, and neither go on nor be verified. */
Test(mask, a_number_beyond_a_double_has_a_hash_too /* OBS-72, A1 */) {
    static const char *const T[] = {"1e400", "{\"a\":[-1e999]}"};
    struct arena *a = arena_new(1 << 16);
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        struct str out = STR_NONE;
        struct wopr_error err = {0};
        cr_expect_eq(mask_value(STR("hash"), str_c(T[i]), a, &out, &err), 0, "%s", err.message);
        cr_expect(str_starts(out, STR("\"sha256:")), STR_FMT, STR_ARG(out));
    }
    arena_free(a);
}

static int check(struct str configurable, struct str metadata, struct wopr_error *err) {
    struct options_env env = {.limits = &RUN_LIMITS_DEFAULT};
    struct run_options o;
    struct arena *a = arena_new(TEXT_MAX);
    wopr_error_clear(err);
    int rc = run_options_check(configurable, STR_NONE, metadata, NULL, &env, a, &o, err);
    arena_free(a);
    return rc;
}

/* Else the branches of branches would join them, a request's worth each time. */
Test(mask, blanks_are_within_the_bounds_too /* OPT-12, FORK-23, A1 */) {
    struct buf b;
    struct wopr_error err;
    buf_init(&b, TEXT_MAX);
    buf_addz(&b, "{\"acme.a\":1");
    for (size_t i = 0; i < RUN_LIMITS_DEFAULT.metadata_text_max; i++) buf_addc(&b, ' ');
    buf_addz(&b, "}");
    cr_expect_eq(check(buf_str(&b), STR("{ }"), &err), 0, "%s", err.message);
    cr_expect_eq(check(STR_NONE, buf_str(&b), &err), WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.details, "too_long"), "%s", err.details);
    b.len--;
    for (size_t i = 0; i < RUN_LIMITS_DEFAULT.configurable_bytes_max; i++) buf_addc(&b, ' ');
    buf_addz(&b, "}");
    cr_expect_eq(check(buf_str(&b), STR_NONE, &err), WOPR_E_VALIDATION);
    cr_expect_not_null(strstr(err.details, "too_long"), "%s", err.details);
    buf_fini(&b);
}
