/*
 * test_ident.c: ULIDs (D11), id grammars (GEN-4, D13, D14), RFC 3339 times (GEN-2).
 */
#include "base/clock.h"
#include "codec/ident.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, EACH = 20000 };
static char minted[THREADS][EACH][ULID_LEN + 1];

static void *mint(void *arg) {
    for (size_t i = 0; i < EACH; i++) ulid_new(((char(*)[ULID_LEN + 1]) arg)[i]);
    return NULL;
}

static int by_text(const void *x, const void *y) { return strcmp(x, y); }

Test(ident_ulid, ascends_strictly_in_each_thread_and_is_unique_among_all /* D11 */) {
    pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, mint, minted[i]), 0);
    for (size_t i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        for (size_t k = 1; k < EACH; k++) cr_assert_lt(strcmp(minted[i][k - 1], minted[i][k]), 0);
    char(*all)[ULID_LEN + 1] = minted[0];
    qsort(all, (size_t)THREADS * EACH, ULID_LEN + 1, by_text);
    for (size_t k = 1; k < (size_t)THREADS * EACH; k++) cr_assert_str_neq(all[k - 1], all[k]);
    cr_assert(ulid_valid(str_c(all[0])) && id_opaque_valid(str_c(all[0])));
}

static void *draw(void *arg) {
    rng_ids(arg, 16);
    return NULL;
}

Test(ident_ulid, the_stock_of_random_bytes_gives_nothing_twice) {
    unsigned char seen[200][16], big[1000] = {0}, zero[16] = {0};
    for (size_t i = 0; i < 199; i++) rng_ids(seen[i], 16); /* more than one stock */
    pthread_t t;
    cr_assert_eq(pthread_create(&t, NULL, draw, seen[199]), 0);
    pthread_join(t, NULL);
    for (size_t i = 0; i < 200; i++)
        for (size_t k = 0; k < i; k++) cr_assert_neq(memcmp(seen[i], seen[k], 16), 0);
    rng_ids(big, sizeof big);
    cr_assert_neq(memcmp(big + 900, zero, 16), 0);
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    pid_t child = fork();
    rng_ids(seen[0], 16);
    if (child == 0) _exit(write(fd[1], seen[0], 16) == 16 ? 0 : 1);
    cr_assert_eq(read(fd[0], seen[1], 16), 16);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert_neq(memcmp(seen[0], seen[1], 16), 0, "a child has its own");
    close(fd[0]);
    close(fd[1]);
}

static int64_t wall_now;
static unsigned char fill;
static int64_t fake_wall(void *ctx) {
    (void)ctx;
    return wall_now;
}
static void fake_random(void *ctx, void *out, size_t n) {
    (void)ctx;
    memset(out, fill, n);
}

Test(ident_ulid, spells_time_and_random_bits_and_survives_a_clock_that_jumps) {
    struct sys_ops ops = {.wall_ms = fake_wall, .random = fake_random};
    char a[ULID_LEN + 1], b[ULID_LEN + 1];
    sys_set(&ops);
    wall_now = INT64_C(1469922850259);
    fill = 0;
    ulid_new(a);
    cr_assert_str_eq(a, "01ARZ3NDEK0000000000000000", "%s", a);
    fill = 0xFF;
    ulid_new(b);
    cr_assert_str_eq(b, "01ARZ3NDEK0000000004000000", "one step of 2^32");
    wall_now -= 3600000;
    for (int i = 0; i < 1000; i++) {
        ulid_new(a);
        cr_assert_lt(strcmp(b, a), 0, "a clock set back");
        memcpy(b, a, sizeof b);
    }
    wall_now = INT64_C(1469922850260);
    ulid_new(a);
    cr_assert_str_eq(a, "01ARZ3NDEMZZZZZZZZZZZZZZZZ");
    ulid_new(b);
    cr_assert_lt(strcmp(a, b), 0, "spent random bits borrow a millisecond");
    wall_now = INT64_MIN;
    ulid_new(a);
    cr_assert_lt(strcmp(b, a), 0);
    wall_now = INT64_MAX;
    ulid_new(a);
    cr_assert(ulid_valid(str_c(a)) && strcmp(b, a) < 0);
}

Test(ident_ulid, can_be_derived_from_time_and_given_bits) {
    static const uint8_t none[10] = {0},
                         all[10] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
                         one[10] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    char a[ULID_LEN + 1];
    ulid_from(INT64_C(1469922850259), none, a);
    cr_expect_str_eq(a, "01ARZ3NDEK0000000000000000", "%s", a);
    ulid_from(INT64_C(1469922850259), one, a);
    cr_expect_str_eq(a, "01ARZ3NDEK0000000000000001", "%s", a);
    ulid_from(INT64_C(1469922850259), all, a);
    cr_expect_str_eq(a, "01ARZ3NDEKZZZZZZZZZZZZZZZZ", "%s", a);
    ulid_from(-1, none, a);
    cr_expect_str_eq(a, "00000000000000000000000000", "%s", a);
    ulid_from(INT64_MAX, all, a);
    cr_expect(ulid_valid(str_c(a)), "%s", a);
}

Test(ident_ulid, validity) {
    cr_assert(ulid_valid(STR("01ARZ3NDEKTSV4RRFFQ69G5FAV")));
    cr_assert(ulid_valid(STR("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")));
    static const char *const BAD[] = {"",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FA",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAVX",
                                      "81ARZ3NDEKTSV4RRFFQ69G5FAV",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FAU",
                                      "01arz3ndektsv4rrffq69g5fav",
                                      "01ARZ3NDEKTSV4RRFFQ69G5FA-"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_not(ulid_valid(str_c(BAD[i])), "%s", BAD[i]);
    cr_assert_not(ulid_valid(str_n("01ARZ3NDEKTSV4RRFFQ69G5FA\0", 26)));
}

Test(ident_ids, grammars_hold_at_their_bounds /* GEN-4, HTTP-5, D13, D14 */) {
    char longest[129];
    memset(longest, 'x', sizeof longest);
    bool (*const VALID[])(struct str) = {id_opaque_valid, id_author_valid, id_tenant_valid};
    for (size_t i = 0; i < 3; i++) {
        cr_assert(VALID[i](str_n(longest, 128)) && VALID[i](STR("aZ09-_")));
        cr_assert_not(VALID[i](str_n(longest, 129)) || VALID[i](STR_NONE));
        static const char OUT[] = " /\\%\x80\"'";
        for (size_t k = 0; k < sizeof OUT; k++) /* with the NUL */
            cr_assert_not(VALID[i](str_n(OUT + k, 1)));
    }
    cr_assert(id_author_valid(STR("core.ai:x~1")) && id_tenant_valid(STR("t.1")));
    cr_assert_not(id_opaque_valid(STR("a.b")) || id_tenant_valid(STR("a:b")) ||
                  id_tenant_valid(STR("a~b")));
}

Test(ident_time, format_and_parse_agree /* GEN-2 */) {
    static const struct {
        int64_t ms;
        const char *text;
    } CASES[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {INT64_C(951782400123), "2000-02-29T00:00:00.123Z"},
        {INT64_C(1078012799999), "2004-02-28T23:59:59.999Z"},
        {INT64_C(4107542400000), "2100-03-01T00:00:00.000Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
        {INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z"},
        {INT64_C(-62135596800000), "0001-01-01T00:00:00.000Z"},
    };
    char out[TIME_LEN + 1];
    int64_t ms;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        time_format(CASES[i].ms, out);
        cr_expect_str_eq(out, CASES[i].text);
        cr_assert(time_parse(str_c(CASES[i].text), &ms) && ms == CASES[i].ms);
    }
    for (int64_t day = -719528; day < 2932897; day += 31) { /* all over years 0 to 9999 */
        time_format(day * 86400000 + 12345678, out);
        cr_assert(time_parse(str_c(out), &ms) && ms == day * 86400000 + 12345678, "%s", out);
    }
    time_format(INT64_MAX, out);
    cr_assert_str_eq(out, "9999-12-31T23:59:59.999Z", "out of range stops at the bound");
    time_format(INT64_MIN, out);
    cr_assert_str_eq(out, "0000-01-01T00:00:00.000Z");
}

Test(ident_time, parses_all_of_rfc_3339 /* GEN-2 */) {
    static const struct {
        const char *text, *same;
    } GOOD[] = {
        {"1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.520Z"},
        {"1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57.000Z"},
        {"1990-12-31T23:59:60Z", "1991-01-01T00:00:00.000Z"},
        {"1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000Z"},
        {"1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.870Z"},
        {"2020-01-01t00:00:00z", "2020-01-01T00:00:00.000Z"},
        {"2020-01-01T00:00:00-00:00", "2020-01-01T00:00:00.000Z"},
        {"2020-02-29T00:00:00.123456789999999999999999Z", "2020-02-29T00:00:00.123Z"},
        {"2020-01-01T00:00:00+23:59", "2019-12-31T00:01:00.000Z"},
    };
    static const char *const BAD[] = {"",
                                      "2020-01-01",
                                      "2020-01-01T00:00:00",
                                      "2020-01-01 00:00:00Z",
                                      "2020-13-01T00:00:00Z",
                                      "2020-00-01T00:00:00Z",
                                      "2020-01-00T00:00:00Z",
                                      "2020-01-32T00:00:00Z",
                                      "2021-02-29T00:00:00Z",
                                      "1900-02-29T00:00:00Z",
                                      "2020-04-31T00:00:00Z",
                                      "2020-01-01T24:00:00Z",
                                      "2020-01-01T00:60:00Z",
                                      "2020-01-01T00:00:61Z",
                                      "2020-01-01T00:00:60Z",
                                      "1990-12-31T23:59:60+01:00",
                                      "2020-01-01T00:00:00.Z",
                                      "2020-01-01T00:00:00+24:00",
                                      "2020-01-01T00:00:00+00:60",
                                      "2020-01-01T00:00:00+0000",
                                      "2020-01-01T00:00:00+00",
                                      "2020-01-01T00:00:00ZZ",
                                      "2020-1-1T00:00:00Z",
                                      "+020-01-01T00:00:00Z",
                                      "20200-01-01T00:00:00Z",
                                      "2020-01-01T00:00Z",
                                      "2020-01-01T00:00:00,5Z",
                                      " 2020-01-01T00:00:00Z",
                                      "2020-01-01T00:00:00Z ",
                                      "2020/01/01T00:00:00Z"};
    char out[TIME_LEN + 1];
    int64_t ms;
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        cr_assert(time_parse(str_c(GOOD[i].text), &ms), "%s", GOOD[i].text);
        time_format(ms, out);
        cr_expect_str_eq(out, GOOD[i].same);
    }
    ms = 42;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_not(time_parse(str_c(BAD[i]), &ms), "%s", BAD[i]);
    cr_assert_eq(ms, 42);
}
