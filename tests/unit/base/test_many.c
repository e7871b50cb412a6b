/*
 * test_many.c: many texts looked for in one pass, beside a plain search for each; and that texts
 * made to be slow are given up, not waited for.
 */
#include "base/many.h"

#include "base/buf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 60, LENGTH = 400, ROUNDS = 60, WORK = 1 << 20 };
static unsigned seed = 20261122;
static struct arena *a;

static void up(void) {
    const char *env = getenv("WOPR_TEST_SEED");
    if (env) seed = (unsigned)strtoul(env, NULL, 10);
    a = arena_new(64u << 20);
}
static void down(void) { arena_free(a); }
TestSuite(many, .init = up, .fini = down);

/* Of two letters, so that texts begin, end and overlap alike. */
static struct str text_some(size_t least, size_t most) {
    size_t n = least + (size_t)rand_r(&seed) % (most - least + 1);
    char *p = arena_alloc(a, n + 1);
    for (size_t i = 0; i < n; i++) p[i] = (char)('a' + rand_r(&seed) % 2);
    return str_n(p, n);
}

static bool is_at(struct str in, size_t at, struct str text) {
    return in.n - at >= text.n && memcmp(in.p + at, text.p, text.n) == 0;
}

Test(many, each_occurrence_of_each_text_is_found) {
    for (unsigned window = 1; window <= MANY_WINDOW_MAX; window++)
        for (int round = 0; round < ROUNDS; round++) {
            unsigned was = seed;
            struct str texts[TEXTS], in = text_some(0, LENGTH);
            struct many *m = many_new(a, window);
            struct many_scan s;
            size_t want = 0, got = 0, start, n;
            size_t nr = 1 + (size_t)rand_r(&seed) % TEXTS;
            for (size_t i = 0; i < nr; i++) {
                texts[i] = text_some(window, window + 12);
                cr_assert_eq(many_add(m, texts[i]), 0);
                for (size_t at = 0; at < in.n; at++) want += is_at(in, at, texts[i]);
            }
            many_begin(&s, m, in, WORK);
            for (; many_next(&s, &start, &n); got++) {
                bool any = false;
                for (size_t i = 0; i < nr; i++)
                    any = any || (texts[i].n == n && is_at(in, start, texts[i]));
                cr_assert(any, "seed %u", was);
            }
            cr_assert_not(s.spent);
            cr_assert_eq(got, want, "seed %u, window %u: %zu of %zu", was, window, got, want);
            arena_reset(a);
        }
}

Test(many, texts_that_differ_at_one_end_only_are_told_by_the_other) {
    struct many *m = many_new(a, 8);
    char text[64], in[64];
    struct many_scan s;
    size_t start, n, compared = 0;
    for (int i = 0; i < 4000; i++) {
        snprintf(text, sizeof text, "the same beginning %08d", i);
        cr_assert_eq(many_add(m, arena_str(a, str_c(text))), 0);
    }
    for (int i = 0; i < 4000; i += 7) {
        snprintf(in, sizeof in, "-- the same beginning %08d --", i);
        many_begin(&s, m, str_c(in), WORK);
        cr_assert(many_next(&s, &start, &n));
        cr_assert(start == 3 && n == 27);
        compared += WORK - s.work;
    }
    cr_expect_lt(compared / (4000 / 7), 27u * 40, "%zu bytes each", compared / (4000 / 7));
}

Test(many, a_search_that_is_made_slow_says_so) {
    struct many *m = many_new(a, 8);
    struct buf in;
    struct many_scan s;
    size_t start, n;
    buf_init(&in, 1u << 21);
    for (int i = 0; i < 1 << 20; i++) buf_addc(&in, 'a');
    for (int i = 0; i < 2000; i++) {
        char *p = arena_alloc(a, 1000);
        memset(p, 'a', 1000);
        p[i % 400 + 300] = 'b'; /* no window of the ends tells them apart */
        cr_assert_eq(many_add(m, str_n(p, 1000)), 0);
    }
    many_begin(&s, m, buf_str(&in), 16 * WORK);
    cr_expect_not(many_next(&s, &start, &n));
    cr_expect(s.spent);
    buf_fini(&in);
}

Test(many, no_memory_is_told) {
    struct arena *small = arena_new(1024);
    cr_expect_null(many_new(small, 8));
    arena_free(small);
}
