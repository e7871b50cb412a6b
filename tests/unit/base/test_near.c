/* test_near.c: misspelt names find the known one they are close to, and strange ones none. */
#include "base/near.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const KNOWN[] = {"port",         "maxRetries", "timeout", "amount",
                                    "cors-origins", "list",       "show",    NULL};

static const char *best_of(const char *name) {
    static char out[64];
    struct near n;
    near_init(&n, str_c(name));
    for (const char *const *k = KNOWN; *k; k++) near_try(&n, str_c(*k));
    snprintf(out, sizeof out, STR_FMT, STR_ARG(near_best(&n)));
    return out;
}

Test(base_near, slips_of_the_finger_are_recognised) {
    cr_expect_str_eq(best_of("prot"), "port");
    cr_expect_str_eq(best_of("maxRetry"), "maxRetries");
    cr_expect_str_eq(best_of("timout"), "timeout");
    cr_expect_str_eq(best_of("amuont"), "amount");
    cr_expect_str_eq(best_of("cros-or"), "cors-origins");
    cr_expect_str_eq(best_of("cors-origin"), "cors-origins");
    cr_expect_str_eq(best_of("lsit"), "list");
    cr_expect_str_eq(best_of("port"), "port");
}

Test(base_near, strangers_are_not_guessed_at) {
    char longest[200];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cr_expect_str_eq(best_of(""), "");
    cr_expect_str_eq(best_of("x"), "");
    cr_expect_str_eq(best_of("frobnicate"), "");
    cr_expect_str_eq(best_of(longest), "");
}
