/* test_pattern.c: patterns with flags; texts that are folded to be searched. */
#include "codec/fold.h"
#include "codec/json.h"
#include "codec/pattern.h"

#include <criterion/criterion.h>

static bool matches(const char *pattern, const char *flags, const char *subject) {
    struct pattern *p;
    struct wopr_error err = {0};
    uint64_t steps = PATTERN_STEPS_MAX;
    bool yes = false;
    cr_assert_eq(pattern_new(str_c(pattern), str_c(flags), &p, &err), 0, "%s: %s", pattern,
                 err.message);
    cr_assert_eq(pattern_match(p, str_c(subject), &steps, &yes), 0);
    pattern_free(p);
    return yes;
}

Test(pattern, flags_mean_what_they_mean_in_ecma_262) {
    cr_expect(matches("b", "", "abc") && !matches("B", "", "abc") && matches("B", "i", "abc"));
    cr_expect(!matches("^b$", "", "a\nb\nc") && matches("^b$", "m", "a\nb\nc"));
    cr_expect(matches("^b$", "m", "a\r\nb\r\nc"));
    cr_expect(!matches("a.b", "", "a\nb") && matches("a.b", "s", "a\nb"));
    cr_expect(matches("^a.C$", "ims", "x\nA\nc"));
    cr_expect(matches("^.$", "u", "\xF0\x9F\x98\x80"));
}

Test(pattern, what_is_no_pattern_or_no_flag_is_refused) {
    static const char *const BAD[][2] = {
        {"(", ""}, {"a", "g"}, {"a", "ii"}, {"a", "x"}, {"[", "i"}};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct pattern *p = NULL;
        struct wopr_error err = {0};
        cr_expect_eq(pattern_new(str_c(BAD[i][0]), str_c(BAD[i][1]), &p, &err), WOPR_E_VALIDATION,
                     "%s /%s", BAD[i][0], BAD[i][1]);
        cr_expect(err.message[0] != '\0');
    }
}

Test(pattern, work_is_bounded) {
    struct pattern *p;
    uint64_t steps = 1000;
    bool yes;
    cr_assert_eq(pattern_new(STR("^(a+)+$"), STR("i"), &p, NULL), 0);
    cr_expect_eq(pattern_match(p, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), &steps, &yes),
                 WOPR_E_TOO_BIG);
    pattern_free(p);
    pattern_free(NULL);
}

Test(pattern, folded_text_is_the_same_however_long_it_is) {
    struct arena *a = arena_new(1 << 22);
    struct buf b;
    buf_init(&b, 1 << 20);
    cr_expect(str_eqc(fold_search(STR("A\xC3\x89 \xEF\xBC\xA1"), a), "a\xC3\xA9 a"));
    cr_expect_null(fold_search(STR("\xFF"), a).p);
    for (int i = 0; i < 3000; i++) buf_addz(&b, "\xC3\x89X"); /* pieces end before the X */
    struct str out = fold_search(buf_str(&b), a);
    cr_assert_eq(out.n, b.len);
    for (size_t i = 0; i < out.n; i += 3) cr_assert_eq(memcmp(out.p + i, "\xC3\xA9x", 3), 0);
    buf_reset(&b);
    for (int i = 0; i < 3000; i++) buf_addz(&b, "\xEF\xB7\xBA"); /* the one that grows most */
    cr_expect_eq(fold_search(buf_str(&b), a).n, 33u * 3000u);
    buf_fini(&b);
    arena_free(a);
}
