/* test_ai_policy.c: which requests to models the operator's policies admit (CAP-37, CAP-39). */
#include "nodes/ai.h"

#include "codec/bytes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static int key_none(void *ctx, struct str file, struct str env, struct arena *a, struct str *key,
                    struct wopr_error *err) {
    (void)ctx, (void)file, (void)env, (void)a, (void)err;
    *key = STR("0123456789");
    return 0;
}

static struct ai_providers *providers(const char *policies) {
    struct ai_providers *p = NULL;
    struct wopr_error err = {0};
    char text[4096];
    snprintf(text, sizeof text,
             "{\"providers\":[{\"name\":\"a\",\"style\":\"openai\",\"url\":\"https://a.test\"},"
             "{\"name\":\"b\",\"style\":\"openai\",\"url\":\"https://b.test\"}],\"policies\":%s}",
             policies);
    cr_assert_eq(ai_providers_new(str_c(text), key_none, NULL, &p, &err), 0, "%s", err.message);
    return p;
}

static const char *denies(const char *policies, const char *tenant, const char *provider,
                          const char *model, bool own) {
    struct ai_providers *p = providers(policies);
    const struct ai_asked q = {str_c(tenant), str_c(provider), str_c(model), own};
    const struct ai_policy *y = NULL;
    const char *reason = ai_policy_denies(p, &q, &y);
    cr_expect_eq(reason != NULL, y != NULL);
    ai_providers_free(p);
    return reason ? reason : "";
}

#define DENIES(want, ...) cr_expect_str_eq(denies(__VA_ARGS__), want)

Test(ai_policy, each_mode_alone) {
    DENIES("", "[]", "t", "a", "m", false);
    DENIES("", "[{\"provider\":\"a\",\"mode\":\"optional\"}]", "t", "a", "m", false);
    DENIES("provider_disabled", "[{\"provider\":\"a\",\"mode\":\"disabled\"}]", "t", "a", "m",
           true);
    DENIES("", "[{\"provider\":\"a\",\"mode\":\"disabled\"}]", "t", "b", "m", false);
    DENIES("byok_required", "[{\"provider\":\"a\",\"mode\":\"required\"}]", "t", "a", "m", false);
    DENIES("", "[{\"provider\":\"a\",\"mode\":\"required\"}]", "t", "a", "m", true);
    DENIES("model_not_allowed", "[{\"provider\":\"a\",\"mode\":\"restricted\"}]", "t", "a", "m",
           true);
    DENIES("", "[{\"provider\":\"*\",\"mode\":\"restricted\",\"allowedModels\":[\"x\",\"m*\"]}]",
           "t", "a", "mini", false);
}

Test(ai_policy, all_that_apply_must_admit_in_whatever_order_they_stand) {
    static const char *const BOTH[] = {
        "[{\"provider\":\"*\",\"mode\":\"required\"},"
        "{\"provider\":\"a\",\"mode\":\"restricted\",\"allowedModels\":[\"m\"]},"
        "{\"provider\":\"a\",\"mode\":\"optional\",\"tenants\":[\"t\"]},"
        "{\"provider\":\"a\",\"mode\":\"disabled\",\"tenants\":[\"u\"]}]",
        "[{\"provider\":\"a\",\"mode\":\"disabled\",\"tenants\":[\"u\"]},"
        "{\"provider\":\"a\",\"mode\":\"optional\",\"tenants\":[\"t\"]},"
        "{\"provider\":\"a\",\"mode\":\"restricted\",\"allowedModels\":[\"m\"]},"
        "{\"provider\":\"*\",\"mode\":\"required\"}]"};
    for (int i = 0; i < 2; i++) {
        DENIES("", BOTH[i], "t", "a", "m", true);
        DENIES("byok_required", BOTH[i], "t", "a", "n", false);
        DENIES("model_not_allowed", BOTH[i], "t", "a", "n", true);
        DENIES("provider_disabled", BOTH[i], "u", "a", "n", false);
        DENIES("", BOTH[i], "t", "b", "n", true);
        DENIES("byok_required", BOTH[i], "t", "b", "n", false);
    }
}

/* The definition, without any care for time. */
static bool fits(struct str p, struct str t) {
    struct str rest = p.n > 0 ? str_n(p.p + 1, p.n - 1) : p;
    if (p.n == 0) return t.n == 0;
    if (p.p[0] == '*') return fits(rest, t) || (t.n > 0 && fits(p, str_n(t.p + 1, t.n - 1)));
    return t.n > 0 && (p.p[0] == '?' || p.p[0] == t.p[0]) && fits(rest, str_n(t.p + 1, t.n - 1));
}

Test(ai_policy, patterns_of_models_are_what_they_say /* CAP-39 */) {
    unsigned seed = 1, yes = 0;
    for (int i = 0; i < 200000; i++) {
        char p[8], t[10];
        size_t pn = (size_t)rand_r(&seed) % sizeof p, tn = (size_t)rand_r(&seed) % sizeof t;
        for (size_t k = 0; k < pn; k++) p[k] = "ab*?*"[rand_r(&seed) % 5];
        for (size_t k = 0; k < tn; k++) t[k] = "ab"[rand_r(&seed) % 2];
        struct str ps = str_n(p, pn), ts = str_n(t, tn);
        cr_assert_eq(ai_pattern_fits(ps, ts), fits(ps, ts), STR_FMT " and " STR_FMT, STR_ARG(ps),
                     STR_ARG(ts));
        yes += fits(ps, ts);
    }
    cr_expect_gt(yes, 1000u);
    cr_expect_not(ai_pattern_fits(STR("GPT-*"), STR("gpt-4")), "the case counts");
    cr_expect_not(ai_pattern_fits(STR("[ab]"), STR("a")), "there are no classes");
}

Test(ai_policy, a_pattern_of_stars_takes_no_time) {
    char stars[128], text[128];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof stars; i++) stars[i] = i % 2 ? 'a' : '*';
    stars[127] = 'b';
    for (int i = 0; i < 1000; i++)
        cr_assert_not(ai_pattern_fits(str_n(stars, sizeof stars), str_n(text, sizeof text)));
}
