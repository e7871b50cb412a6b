/*
 * test_basics.c: errors, spans, clock and random source.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/str.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(base_error, every_code_has_a_name_and_a_text) {
    for (int c = 0; c > -WOPR_ERR_NR; c--) {
        cr_assert_str_neq(wopr_err_name(c), "?");
        cr_assert_gt(strlen(wopr_err_text(c)), 0);
    }
    cr_assert_str_eq(wopr_err_name(WOPR_E_NOT_FOUND), "NOT_FOUND");
    cr_assert_str_eq(wopr_err_name(1), "?");
    cr_assert_str_eq(wopr_err_text(-WOPR_ERR_NR), "?");
}

Test(base_error, what_the_host_caused_passes_and_what_the_request_caused_does_not) {
    static const int PASSES[] = {WOPR_E_NO_MEMORY, WOPR_E_DISK_FULL, WOPR_E_SYNC_FAILED,
                                 WOPR_E_STALE, WOPR_E_FENCED};
    static const int STAYS[] = {
        0, WOPR_E_NOT_FOUND, WOPR_E_RUN_TERMINAL, WOPR_E_CORRUPT, WOPR_E_VALIDATION, 1};
    for (size_t i = 0; i < sizeof PASSES / sizeof PASSES[0]; i++)
        cr_expect(wopr_err_passes(PASSES[i]), "%s", wopr_err_name(PASSES[i]));
    for (size_t i = 0; i < sizeof STAYS / sizeof STAYS[0]; i++)
        cr_expect_not(wopr_err_passes(STAYS[i]), "%s", wopr_err_name(STAYS[i]));
}

Test(base_error, set_fills_and_returns_the_code) {
    struct wopr_error e;
    cr_assert_eq(wopr_error_at(&e, WOPR_E_SYNTAX, "/a", "bad %d", 7), WOPR_E_SYNTAX);
    cr_assert_eq(e.code, WOPR_E_SYNTAX);
    cr_assert_str_eq(e.pointer, "/a");
    cr_assert_str_eq(e.message, "bad 7");
    wopr_error_details(&e, "{\"n\":%d}", 1);
    cr_assert_str_eq(e.details, "{\"n\":1}");
    wopr_error_details(&e, "%02000d", 1);
    cr_assert_str_eq(e.details, "", "too long is dropped whole");
    cr_assert_eq(wopr_error_set(&e, WOPR_E_IO, "outer: %s", e.message), WOPR_E_IO);
    cr_assert_str_eq(e.message, "outer: bad 7", "wrapping its own message");
    cr_assert_str_eq(e.pointer, "");
    cr_assert_eq(wopr_error_set(NULL, WOPR_E_BUSY, "x"), WOPR_E_BUSY);
    wopr_error_clear(&e);
    cr_assert(e.code == 0 && !e.message[0] && !e.pointer[0] && !e.details[0]);
}

Test(base_error, a_cut_message_stays_valid_utf8) {
    struct wopr_error e;
    char text[1024];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3) memcpy(text + i, "\xE2\x82\xAC", 4);
        wopr_error_at(&e, WOPR_E_SYNTAX, text, "%s", text);
        cr_assert_eq((strlen(e.message) - shift) % 3, 0);
        cr_assert_eq((strlen(e.pointer) - shift) % 3, 0);
        cr_assert_geq(strlen(e.message), sizeof e.message - 4);
    }
}

Test(base_error, a_failed_assertion_aborts, .signal = SIGABRT) {
    int one = 1;
    ASSERT(one == 2);
}

Test(base_str, compares_and_cuts) {
    struct str h, t;
    cr_assert_lt(str_cmp(STR("a"), STR("ab")), 0);
    cr_assert_gt(str_cmp(STR("\xFF"), STR("a")), 0);
    cr_assert_eq(str_cmp(STR_NONE, STR("")), 0);
    cr_assert(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")));
    cr_assert(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")));
    cr_assert(str_starts(STR_NONE, STR_NONE) && str_ends(STR_NONE, STR("")));
    cr_assert(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
    cr_assert_not(str_eq_nocase(STR("["), STR("{")));
    cr_assert(str_eq(str_trim(STR(" \t a b\t ")), STR("a b")));
    cr_assert_eq(str_trim(STR(" \t ")).n, 0);
    cr_assert(str_cut(STR("a:b:c"), ':', &h, &t) && str_eqc(h, "a") && str_eqc(t, "b:c"));
    cr_assert(str_cut_last(STR("a:b:c"), ':', &h, &t) && str_eqc(h, "a:b") && str_eqc(t, "c"));
    cr_assert(str_cut(STR(":"), ':', &h, &t) && h.n == 0 && t.n == 0);
    cr_assert_not(str_cut(STR("abc"), ':', &h, &t));
    cr_assert_not(str_cut_last(STR_NONE, ':', &h, &t));
}

Test(base_str, reads_decimal_numbers_only) {
    uint64_t u;
    int64_t i;
    cr_assert(str_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    cr_assert(str_u64(STR("007"), &u) && u == 7);
    static const char *const BAD[] = {
        "", "+1", "-1", " 1", "1 ", "18446744073709551616", "0x1", "99999999999999999999999"};
    for (size_t k = 0; k < sizeof BAD / sizeof *BAD; k++)
        cr_assert_not(str_u64(str_c(BAD[k]), &u), "%s", BAD[k]);
    cr_assert(str_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    cr_assert(str_i64(STR("9223372036854775807"), &i) && i == INT64_MAX);
    cr_assert(str_i64(STR("-0"), &i) && i == 0);
    cr_assert_not(str_i64(STR("9223372036854775808"), &i));
    cr_assert_not(str_i64(STR("-9223372036854775809"), &i));
    cr_assert_not(str_i64(STR("-"), &i) || str_i64(STR("--1"), &i));
}

Test(base_str, hash_depends_on_every_byte_and_on_the_seed) {
    char text[40] = {0};
    for (size_t n = 0; n < sizeof text; n++) {
        uint64_t h = str_hash(str_n(text, n), 1);
        cr_assert_eq(h, str_hash(str_n(text, n), 1));
        cr_assert_neq(h, str_hash(str_n(text, n), 2));
        cr_assert_neq(h, str_hash(str_n(text, n + 1 < sizeof text ? n + 1 : 0), 1));
        for (size_t i = 0; i < n; i++) {
            text[i] = 1;
            cr_assert_neq(h, str_hash(str_n(text, n), 1), "byte %zu of %zu", i, n);
            text[i] = 0;
        }
    }
}

Test(base_str, secrets_compare_whole) {
    cr_assert(str_eq_secret(STR("abc"), STR("abc")) && str_eq_secret(STR_NONE, STR("")));
    cr_assert_not(str_eq_secret(STR("abc"), STR("abd")) || str_eq_secret(STR("ab"), STR("abc")));
}

/* --- clock --- */

struct fake {
    int64_t wall_ms;
    uint64_t mono_ns;
    unsigned char next;
};
static int64_t fake_wall(void *ctx) { return ((struct fake *)ctx)->wall_ms; }
static uint64_t fake_mono(void *ctx) { return ((struct fake *)ctx)->mono_ns; }
static void fake_random(void *ctx, void *out, size_t n) {
    for (size_t i = 0; i < n; i++) ((unsigned char *)out)[i] = ((struct fake *)ctx)->next++;
}

Test(base_clock, the_real_one_runs_and_the_random_source_differs) {
    uint64_t m = clock_mono_ns();
    cr_assert_gt(clock_wall_ms(), INT64_C(1600000000000));
    cr_assert_geq(clock_mono_ns(), m);
    cr_assert_neq(rng_u64(), rng_u64());
    rng_bytes(NULL, 0);
}

Test(base_clock, a_test_installs_its_own_and_takes_it_away) {
    struct fake f = {.wall_ms = 1000, .mono_ns = 5000000};
    struct sys_ops ops = {fake_wall, fake_mono, fake_random, &f};
    sys_set(&ops);
    cr_assert_eq(clock_wall_ms(), 1000);
    f.wall_ms = -5;
    cr_assert_eq(clock_wall_ms(), -5);
    cr_assert_eq(clock_mono_ms(), 5);
    unsigned char r[3];
    rng_bytes(r, 3);
    cr_assert(r[0] == 0 && r[1] == 1 && r[2] == 2);
    cr_assert(fault_arm(1u << FAULT_CLOCK, 1));
    cr_assert_lt(clock_wall_ms(), -5, "the fault is a jump back");
    cr_assert_eq(clock_wall_ms(), -5);
    cr_assert(fault_fired());
    struct sys_ops half = {.wall_ms = fake_wall, .ctx = &f};
    sys_set(&half);
    cr_assert_gt(clock_mono_ns(), 5000000, "what a test leaves out is the real one");
    sys_set(NULL);
    cr_assert_gt(clock_wall_ms(), 1000);
}
