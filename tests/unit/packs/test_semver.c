/*
 * test_semver.c: versions and ranges as npm has them (PACK-2, PACK-5).
 */
#include "packs/semver.h"

#include <criterion/criterion.h>

Test(semver, versions_are_strict_semantic_versions /* PACK-2 */) {
    static const char *const GOOD[] = {"0.0.0",
                                       "1.2.3",
                                       "10.20.30",
                                       "1.0.0-a",
                                       "1.0.0-alpha.1",
                                       "1.0.0-0.3.7",
                                       "1.0.0-x-y-z.4",
                                       "1.0.0+b.01",
                                       "1.0.0-a+b",
                                       "0.0.0-conformance",
                                       "9007199254740991.0.0",
                                       "1.0.0--"};
    static const char *const BAD[] = {"",
                                      "1",
                                      "1.0",
                                      "v1.0",
                                      "v1.0.0",
                                      "1.0.0-",
                                      "1.0.0+",
                                      "01.0.0",
                                      "1.02.3",
                                      "1.0.0-01",
                                      "1.0.0-a..b",
                                      "1.0.0-a.",
                                      "1.0.0 ",
                                      " 1.0.0",
                                      "not-semver",
                                      "1.0.0.0",
                                      "1.0.x",
                                      "-1.0.0",
                                      "9007199254740992.0.0",
                                      "1.0.0-\xC3\xA4",
                                      "1.0.0-a_b"};
    struct semver v;
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
        cr_expect(semver_parse(str_c(GOOD[i]), &v), "%s", GOOD[i]);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_not(semver_parse(str_c(BAD[i]), &v), "%s", BAD[i]);
}

Test(semver, precedence_is_that_of_the_specification /* PACK-5 */) {
    static const char *const UP[] = {
        "0.9.9",        "1.0.0-0",       "1.0.0-2",          "1.0.0-11",
        "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
        "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",       "1.0.0",
        "1.0.1",        "1.2.0",         "1.10.0",           "2.0.0"};
    enum { NR = sizeof UP / sizeof *UP };
    struct semver a, b;
    for (int i = 0; i < NR; i++)
        for (int k = 0; k < NR; k++) {
            cr_assert(semver_parse(str_c(UP[i]), &a) && semver_parse(str_c(UP[k]), &b));
            int c = semver_cmp(&a, &b);
            cr_expect_eq((c > 0) - (c < 0), (i > k) - (i < k), "%s %s", UP[i], UP[k]);
        }
    cr_assert(semver_parse(STR("1.0.0+a"), &a) && semver_parse(STR("1.0.0+b"), &b));
    cr_expect_eq(semver_cmp(&a, &b), 0);
}

/* What the documentation of npm's ranges says of each form. */
static const struct {
    const char *range, *in, *out; /* words */
} RANGES[] = {
    {"1.2.3", "1.2.3 1.2.3+x", "1.2.4 1.2.3-a 0.0.0"},
    {"=1.2.3", "1.2.3", "1.2.2"},
    {"v1.2.3", "1.2.3", "1.2.2"},
    {">=1.2.7", "1.2.7 1.2.8 2.5.3 1.3.9", "1.2.6 1.1.0"},
    {">=1.2.7 <1.3.0", "1.2.7 1.2.8 1.2.99", "1.2.6 1.3.0 1.1.0"},
    {"1.2.7 || >=1.2.9 <2.0.0", "1.2.7 1.2.9 1.4.6", "1.2.8 2.0.0"},
    {">1.2.3-alpha.3", "1.2.3-alpha.7 3.4.5 1.2.3", "3.4.5-alpha.9 1.2.3-alpha.3"},
    {"1.2.3 - 2.3.4", "1.2.3 2.3.4 2.0.0", "1.2.2 2.3.5"},
    {"1.2 - 2.3.4", "1.2.0 2.3.4", "1.1.9 2.3.5"},
    {"1.2.3 - 2.3", "2.3.9 1.2.3", "2.4.0 2.4.0-0"},
    {"1.2.3 - 2", "2.99.0", "3.0.0 3.0.0-0"},
    {"* - 2", "0.0.1 2.9.9", "3.0.0"},
    {"*", "0.0.0 1.2.3", "1.0.0-a"},
    {"", "0.0.0 1.2.3", "1.0.0-a"},
    {"x", "7.0.0", "7.0.0-a"},
    {"1.x", "1.0.0 1.9.9", "2.0.0 0.9.9 2.0.0-0 1.0.0-a"},
    {"1.2.x", "1.2.0 1.2.9", "1.3.0 1.1.9"},
    {"1", "1.0.0 1.9.9", "2.0.0"},
    {"1.2", "1.2.0 1.2.9", "1.3.0"},
    {"~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2 1.3.0-0"},
    {"~1.2", "1.2.0 1.2.9", "1.3.0"},
    {"~1", "1.0.0 1.9.0", "2.0.0"},
    {"~0.2.3", "0.2.3 0.2.9", "0.3.0"},
    {"~0", "0.0.1 0.9.0", "1.0.0"},
    {"~> 1.2.3", "1.2.3", "1.3.0"},
    {"~1.2.3-beta.2", "1.2.3-beta.2 1.2.3-beta.4 1.2.4", "1.2.4-beta.2 1.2.3-beta.1"},
    {"^1.2.3", "1.2.3 1.9.9", "2.0.0 1.2.2 2.0.0-0"},
    {"^0.2.3", "0.2.3 0.2.9", "0.3.0"},
    {"^0.0.3", "0.0.3", "0.0.4 0.0.2"},
    {"^1.2.3-beta.2", "1.2.3-beta.4 1.9.0", "1.2.4-beta.2"},
    {"^0.0.3-beta", "0.0.3-pr.2 0.0.3", "0.0.4"},
    {"^1.2.x", "1.2.0 1.9.9", "2.0.0"},
    {"^0.0.x", "0.0.0 0.0.9", "0.1.0"},
    {"^0.0", "0.0.0 0.0.9", "0.1.0"},
    {"^1.x", "1.0.0 1.9.9", "2.0.0"},
    {"^0.x", "0.0.0 0.9.9", "1.0.0"},
    {"^*", "4.0.0", "4.0.0-a"},
    {">1", "2.0.0", "1.9.9 1.0.0"},
    {">1.2", "1.3.0", "1.2.9"},
    {">=1", "1.0.0", "0.9.9"},
    {"<1.2", "1.1.9", "1.2.0 1.2.0-0"},
    {"<=1.2", "1.2.9", "1.3.0"},
    {"<=1", "1.9.9", "2.0.0"},
    {"> 1.2.3", "1.2.4", "1.2.3"},
    {"< 2 > 1.0", "1.1.0", "2.0.0 1.0.0"},
    {">*", "", "0.0.0 1.0.0 0.0.0-0"},
    {"<*", "", "0.0.0 1.0.0"},
    {">=*", "0.0.0", ""},
    {"||", "0.0.0 5.0.0", ""},
    {"1||2", "1.0.0 2.0.0", "3.0.0"},
    {" ^1.0.0 || 3.x ", "1.5.0 3.1.0", "2.0.0"},
    {">=1.0 <2.0.0", "1.0.0 1.1.0", "2.0.0"},
};

static void words_check(size_t row, const char *words, bool in) {
    struct semver_range r;
    struct semver v;
    struct str word, rest = str_c(words);
    cr_assert(semver_range_parse(str_c(RANGES[row].range), &r), "%s", RANGES[row].range);
    for (bool more = rest.n > 0; more;) {
        struct str tail = STR_NONE;
        more = str_cut(rest, ' ', &word, &tail);
        if (!more) word = rest;
        rest = tail;
        cr_assert(semver_parse(word, &v), STR_FMT, STR_ARG(word));
        cr_expect_eq(semver_range_has(&r, &v), in, "%s and " STR_FMT, RANGES[row].range,
                     STR_ARG(word));
    }
}

Test(semver, ranges_take_what_npm_takes /* PACK-5, PACK-11 */) {
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        words_check(i, RANGES[i].in, true);
        words_check(i, RANGES[i].out, false);
    }
}

Test(semver, what_is_no_range_is_refused /* PACK-11 */) {
    static const char *const BAD[] = {
        "latest", ">",      "^",        "1.2.3.4",   "1..2",         ">=1.0.0 <", "a.b.c",
        "1.2.3-", "^^1",    "1.0.0 - ", "1 - 2 - 3", "1.2.3 -2.0.0", ">=01.0.0",  "=>1.0.0",
        "1 | 2",  "!1.0.0", "1.2.",     "~^1",       "\xC3\xA4",     "- 1"};
    struct semver_range r;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_not(semver_range_parse(str_c(BAD[i]), &r), "%s", BAD[i]);
}

Test(semver, a_range_is_bounded /* PACK-11 */) {
    char many[2 * SEMVER_RANGE_BYTES_MAX];
    struct semver_range r;
    memset(many, ' ', sizeof many);
    cr_expect(semver_range_parse(str_n(many, SEMVER_RANGE_BYTES_MAX), &r));
    cr_expect_not(semver_range_parse(str_n(many, SEMVER_RANGE_BYTES_MAX + 1), &r));
    for (size_t i = 0; i + 3 < SEMVER_RANGE_BYTES_MAX; i += 3) memcpy(many + i, "1||", 3);
    cr_expect_not(semver_range_parse(str_n(many, SEMVER_RANGE_BYTES_MAX), &r),
                  "more comparators than there is room for");
}
