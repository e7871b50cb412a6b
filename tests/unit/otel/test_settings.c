/* test_settings.c: what the OTEL_ variables mean, and what is said of wrong ones. */
#include "otel/otel_int.h"

#include <criterion/criterion.h>

static struct arena *a;
static void up(void) { a = arena_new(1 << 20); }
static void down(void) { arena_free(a); }
TestSuite(otel_settings, .init = up, .fini = down);

Test(otel_settings, pairs_are_names_and_percent_encoded_values) {
    struct pairs p;
    struct wopr_error err;
    cr_assert_eq(otel_pairs("s", " api-key = a%20b%3D , x=,,y=1=2", a, &p, &err), 0, "%s",
                 err.message);
    cr_assert_eq(p.n, 3);
    cr_expect(str_eqc(p.name[0], "api-key") && str_eqc(p.value[0], "a b="));
    cr_expect(str_eqc(p.name[1], "x") && p.value[1].n == 0);
    cr_expect(str_eqc(p.name[2], "y") && str_eqc(p.value[2], "1=2"));
    cr_expect_eq(otel_pairs("s", NULL, a, &p, &err), 0);
    cr_expect_eq(p.n, 0);
}

Test(otel_settings, a_wrong_pair_is_named_and_not_quoted) {
    static const char *const WRONG[] = {"a=1,secretword", "a=1,=secretword", "a=1,b=secretword%2",
                                        "a=1,b=secretword%", "a=1,b=secretword%zz"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        struct pairs p;
        struct wopr_error err;
        cr_assert_eq(otel_pairs("otel-headers", WRONG[i], a, &p, &err), WOPR_E_CONFIG, "%s",
                     WRONG[i]);
        cr_expect_not_null(strstr(err.message, "otel-headers"), "%s", err.message);
        cr_expect_not_null(strstr(err.message, "entry 2"), "%s", err.message);
        cr_expect_null(strstr(err.message, "secretword"), "%s", err.message);
    }
}

Test(otel_settings, pairs_have_a_bound) {
    char text[4 * (OTEL_PAIRS_MAX + 1) + 1];
    struct pairs p;
    struct wopr_error err;
    for (int i = 0; i <= OTEL_PAIRS_MAX; i++) memcpy(text + 4 * i, "a=b,", 5);
    cr_expect_eq(otel_pairs("s", text, a, &p, &err), WOPR_E_CONFIG);
    text[4 * OTEL_PAIRS_MAX] = '\0';
    cr_expect_eq(otel_pairs("s", text, a, &p, &err), 0);
}

Test(otel_settings, an_endpoint_of_a_signal_goes_before_the_common_one) {
    cr_expect(str_eqc(otel_url("", "http://h:4318/", "/v1/traces", a), "http://h:4318/v1/traces"));
    cr_expect(str_eqc(otel_url("", "http://h/x//", "/v1/traces", a), "http://h/x/v1/traces"));
    cr_expect(str_eqc(otel_url("http://t/own", "http://h", "/v1/traces", a), "http://t/own"));
    cr_expect_eq(otel_url("", "", "/v1/traces", a).n, 0);
}

static struct trace_policy policy_of(const char *sampler, const char *arg, bool off) {
    struct otel_config c = {.endpoint = "http://h",
                            .sampler = sampler,
                            .sampler_arg = arg,
                            .disabled = off,
                            .traces = true};
    struct trace_policy p;
    struct wopr_error err;
    cr_assert_eq(otel_policy(&c, &p, &err), 0, "%s", err.message);
    return p;
}

Test(otel_settings, samplers_are_a_root_and_whether_a_parent_decides) {
    struct trace_policy p = policy_of("parentbased_traceidratio", "0.25", false);
    cr_expect(p.on && p.parent_based && p.root == TRACE_RATIO && p.ratio == 0.25);
    p = policy_of("always_off", "", false);
    cr_expect(p.on && !p.parent_based && p.root == TRACE_NEVER);
    p = policy_of("", "", false);
    cr_expect(p.on && p.parent_based && p.root == TRACE_ALWAYS); /* OBS-10 */
    p = policy_of("always_on", "", true);
    cr_expect_not(p.on);
    cr_expect_not(p.parent_based);
}

Test(otel_settings, a_sampler_argument_is_a_number_from_0_to_1) {
    static const char *const WRONG[] = {"x", "1.1", "-0.1", "0.5x", "nan", "inf"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        struct otel_config c = {.endpoint = "http://h", .sampler_arg = WRONG[i]};
        struct trace_policy p;
        struct wopr_error err;
        cr_expect_eq(otel_policy(&c, &p, &err), WOPR_E_CONFIG, "%s", WRONG[i]);
        cr_expect_not_null(strstr(err.message, "otel-sampler-arg"));
    }
}

Test(otel_settings, each_signal_has_an_endpoint_and_a_switch) {
    struct otel_config c = {.endpoint = "http://h", .traces = true, .metrics = true};
    cr_expect(otel_wanted(&c) && otel_metrics_wanted(&c));
    c.metrics = false;
    cr_expect(otel_wanted(&c) && !otel_metrics_wanted(&c));
    c.traces = false;
    cr_expect_not(otel_wanted(&c));
    c = (struct otel_config){.metrics_endpoint = "http://h/m", .traces = true, .metrics = true};
    cr_expect(otel_wanted(&c) && otel_metrics_wanted(&c));
    c.disabled = true;
    cr_expect_not(otel_wanted(&c));
    c = (struct otel_config){.traces_endpoint = "http://h/t", .traces = true, .metrics = true};
    cr_expect(otel_wanted(&c) && !otel_metrics_wanted(&c));
}
