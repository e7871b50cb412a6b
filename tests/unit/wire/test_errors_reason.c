/* test_errors_reason.c: a 503 says which shortage it is, and nothing of the inside (ERR-5, ERR-9).
 */
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void expect_reason(int code, const char *reason) {
    struct wopr_error err;
    struct buf b;
    char want[64];
    int status, retry;
    wopr_error_set(&err, code, "/var/lib/secret.db is full");
    buf_init(&b, 4096);
    v1_error_envelope(&err, STR("req-1"), &b, &status, &retry);
    cr_expect_eq(status, 503);
    cr_expect_null(strstr(b.p, "secret.db"), "%s", b.p);
    (void)snprintf(want, sizeof want, "\"reason\":\"%s\"", reason ? reason : "");
    if (reason) cr_expect_not_null(strstr(b.p, want), "%s", b.p);
    else cr_expect_null(strstr(b.p, "\"reason\""), "%s", b.p);
    buf_fini(&b);
}

Test(wire_reason, unavailable_says_which_shortage) {
    expect_reason(WOPR_E_DISK_FULL, "storage_full");
    expect_reason(WOPR_E_BUSY, "storage_busy");
    expect_reason(WOPR_E_NO_MEMORY, "out_of_memory");
    expect_reason(WOPR_E_CLOSED, "shutting_down");
    expect_reason(WOPR_E_UNAVAILABLE, NULL);
}
