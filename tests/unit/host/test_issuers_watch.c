/* test_issuers_watch.c: when the keys of an issuer are asked for (AUTH-21, AUTH-23). */
#include "host/issuers_watch.h"

#include <criterion/criterion.h>

enum { ASKED_MS = 1000000, HOUR_MS = 3600000 };

static int64_t wait_ms(int64_t refresh_ms, unsigned failures, bool wanted) {
    const struct keys_due d = {refresh_ms, ASKED_MS, failures, wanted};
    return keys_due_ms(&d) - ASKED_MS;
}

Test(issuers_watch, keys_are_asked_for_when_they_are_due) {
    const struct keys_due never = {.refresh_ms = HOUR_MS};
    cr_expect_eq(keys_due_ms(&never), 0, "at once");
    cr_expect_eq(wait_ms(HOUR_MS, 0, false), HOUR_MS);
    cr_expect_eq(wait_ms(HOUR_MS, 0, true), 60000, "a key that is not there: at most each minute");
    cr_expect_eq(wait_ms(5000, 0, true), 5000, "unless they are due before");
    cr_expect_eq(wait_ms(HOUR_MS, 1, false), 1000);
    cr_expect_eq(wait_ms(HOUR_MS, 2, true), 2000);
    cr_expect_eq(wait_ms(HOUR_MS, 6, false), 32000);
    cr_expect_eq(wait_ms(HOUR_MS, 7, false), 60000);
    cr_expect_eq(wait_ms(HOUR_MS, 4000000000u, false), 60000, "it never grows beyond");
    cr_expect_eq(wait_ms(3000, 9, false), 3000, "and never beyond the usual");
}
