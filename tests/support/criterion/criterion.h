/*
 * criterion.h: the part of Criterion's interface that our tests use, for builds with a sanitizer
 * only.  Criterion 2.4 cannot start under ThreadSanitizer (its inheritable arena needs addresses
 * that the sanitizer reserves), and it starts the whole program again for each test, which costs
 * AddressSanitizer a third of a second of processor each time.  So those builds put this folder
 * first on the include path and link tests/support/runner.c instead of the library.  Every test
 * runs in a process of its own, a fork of one that has set up the sanitizer already.
 */
#ifndef WOPR_TESTS_SUPPORT_CRITERION_H
#define WOPR_TESTS_SUPPORT_CRITERION_H

#pragma GCC system_header /* variadic macros without arguments, as in the real header */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mini_options {
    int sentinel_;
    void (*init)(void);
    void (*fini)(void);
    double timeout; /* seconds */
    int signal, exit_code;
    bool disabled;
    const char *description;
};
struct criterion_test_params {
    size_t size;
    void *params;
    size_t length;
    void (*cleanup)(struct criterion_test_params *);
};
struct mini_test {
    const char *suite, *name;
    void (*fn)(void);
    void (*param_fn)(void *);
    struct criterion_test_params (*params)(void);
    struct mini_options options;
    struct mini_test *next;
};
struct mini_suite {
    const char *suite;
    struct mini_options options;
    struct mini_suite *next;
};
void mini_add_test(struct mini_test *t);
void mini_add_suite(struct mini_suite *s);
/* Reports a failed check; ends the test process when fatal. */
void mini_failed(bool fatal, const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#define Test(s, n, ...)                                                                            \
    static void s##_##n##_impl(void);                                                              \
    static struct mini_test s##_##n##_row = {.suite = #s,                                          \
                                             .name = #n,                                           \
                                             .fn = s##_##n##_impl,                                 \
                                             .options = {.sentinel_ = 0, ##__VA_ARGS__}};          \
    __attribute__((constructor)) static void s##_##n##_add(void) {                                 \
        mini_add_test(&s##_##n##_row);                                                             \
    }                                                                                              \
    static void s##_##n##_impl(void)
#define ParameterizedTestParameters(s, n) static struct criterion_test_params s##_##n##_params(void)
#define ParameterizedTest(param, s, n, ...)                                                        \
    static void s##_##n##_impl(param);                                                             \
    static void s##_##n##_call(void *p) { s##_##n##_impl(p); }                                     \
    static struct mini_test s##_##n##_row = {.suite = #s,                                          \
                                             .name = #n,                                           \
                                             .param_fn = s##_##n##_call,                           \
                                             .params = s##_##n##_params,                           \
                                             .options = {.sentinel_ = 0, ##__VA_ARGS__}};          \
    __attribute__((constructor)) static void s##_##n##_add(void) {                                 \
        mini_add_test(&s##_##n##_row);                                                             \
    }                                                                                              \
    static void s##_##n##_impl(param)
#define TestSuite(s, ...)                                                                          \
    static struct mini_suite s##_suite = {.suite = #s,                                             \
                                          .options = {.sentinel_ = 0, ##__VA_ARGS__}};             \
    __attribute__((constructor)) static void s##_suite_add(void) { mini_add_suite(&s##_suite); }   \
    struct s##_suite_end_

#define cr_malloc malloc
#define cr_free   free
#define cr_make_param_array(type, array, len, release)                                             \
    (struct criterion_test_params) {                                                               \
        .size = sizeof(type), .params = (array), .length = (len), .cleanup = (release)             \
    }

/* What the message names is evaluated only after a failed check, and after the check. */
#define MINI(ok, fatal, what, ...)                                                                 \
    ((ok) ? (void)0 : mini_failed(fatal, __FILE__, __LINE__, what, " " __VA_ARGS__))
#define cr_assert(c, ...)              MINI(!!(c), true, #c, ##__VA_ARGS__)
#define cr_expect(c, ...)              MINI(!!(c), false, #c, ##__VA_ARGS__)
#define cr_assert_not(c, ...)          MINI(!(c), true, "not " #c, ##__VA_ARGS__)
#define cr_expect_not(c, ...)          MINI(!(c), false, "not " #c, ##__VA_ARGS__)
#define cr_assert_fail(...)            MINI(false, true, "fail", ##__VA_ARGS__)
#define cr_expect_fail(...)            MINI(false, false, "fail", ##__VA_ARGS__)
#define MINI_CMP(fatal, a, op, b, ...) MINI((a)op(b), fatal, #a " " #op " " #b, ##__VA_ARGS__)
#define cr_assert_eq(a, b, ...)        MINI_CMP(true, a, ==, b, ##__VA_ARGS__)
#define cr_expect_eq(a, b, ...)        MINI_CMP(false, a, ==, b, ##__VA_ARGS__)
#define cr_assert_neq(a, b, ...)       MINI_CMP(true, a, !=, b, ##__VA_ARGS__)
#define cr_expect_neq(a, b, ...)       MINI_CMP(false, a, !=, b, ##__VA_ARGS__)
#define cr_assert_lt(a, b, ...)        MINI_CMP(true, a, <, b, ##__VA_ARGS__)
#define cr_expect_lt(a, b, ...)        MINI_CMP(false, a, <, b, ##__VA_ARGS__)
#define cr_assert_leq(a, b, ...)       MINI_CMP(true, a, <=, b, ##__VA_ARGS__)
#define cr_expect_leq(a, b, ...)       MINI_CMP(false, a, <=, b, ##__VA_ARGS__)
#define cr_assert_gt(a, b, ...)        MINI_CMP(true, a, >, b, ##__VA_ARGS__)
#define cr_expect_gt(a, b, ...)        MINI_CMP(false, a, >, b, ##__VA_ARGS__)
#define cr_assert_geq(a, b, ...)       MINI_CMP(true, a, >=, b, ##__VA_ARGS__)
#define cr_expect_geq(a, b, ...)       MINI_CMP(false, a, >=, b, ##__VA_ARGS__)
#define cr_assert_null(p, ...)         MINI((p) == NULL, true, #p " is NULL", ##__VA_ARGS__)
#define cr_expect_null(p, ...)         MINI((p) == NULL, false, #p " is NULL", ##__VA_ARGS__)
#define cr_assert_not_null(p, ...)     MINI((p) != NULL, true, #p " is not NULL", ##__VA_ARGS__)
#define cr_expect_not_null(p, ...)     MINI((p) != NULL, false, #p " is not NULL", ##__VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)                                                                \
    MINI(strcmp((a), (b)) == 0, true, #a " equals " #b, ##__VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)                                                                \
    MINI(strcmp((a), (b)) == 0, false, #a " equals " #b, ##__VA_ARGS__)
#define cr_assert_str_neq(a, b, ...)                                                               \
    MINI(strcmp((a), (b)) != 0, true, #a " differs from " #b, ##__VA_ARGS__)
#define cr_expect_str_neq(a, b, ...)                                                               \
    MINI(strcmp((a), (b)) != 0, false, #a " differs from " #b, ##__VA_ARGS__)
#define cr_assert_str_empty(a, ...) MINI((a)[0] == '\0', true, #a " is empty", ##__VA_ARGS__)
#define cr_expect_str_empty(a, ...) MINI((a)[0] == '\0', false, #a " is empty", ##__VA_ARGS__)
#define cr_assert_str_not_empty(a, ...)                                                            \
    MINI((a)[0] != '\0', true, #a " is not empty", ##__VA_ARGS__)
#define cr_expect_str_not_empty(a, ...)                                                            \
    MINI((a)[0] != '\0', false, #a " is not empty", ##__VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...)                                                             \
    MINI(memcmp((a), (b), (n)) == 0, true, #a " equals " #b, ##__VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...)                                                             \
    MINI(memcmp((a), (b), (n)) == 0, false, #a " equals " #b, ##__VA_ARGS__)
#define cr_assert_arr_neq(a, b, n, ...)                                                            \
    MINI(memcmp((a), (b), (n)) != 0, true, #a " differs from " #b, ##__VA_ARGS__)
#define cr_expect_arr_neq(a, b, n, ...)                                                            \
    MINI(memcmp((a), (b), (n)) != 0, false, #a " differs from " #b, ##__VA_ARGS__)
#define cr_assert_float_eq(a, b, e, ...)                                                           \
    MINI(fabs((a) - (b)) <= (e), true, #a " about " #b, ##__VA_ARGS__)
#define cr_expect_float_eq(a, b, e, ...)                                                           \
    MINI(fabs((a) - (b)) <= (e), false, #a " about " #b, ##__VA_ARGS__)
void mini_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define cr_skip_test(...) mini_skip(" " __VA_ARGS__)
#define cr_skip(...)      mini_skip(" " __VA_ARGS__)
#define cr_log_info(...)  ((void)0)
#define cr_log_warn(...)  ((void)0)

#endif
