/*
 * test_spare.c: blocks between two users, under many threads, at their bound, and given back.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/spare.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

Test(base_spare, sizes_are_powers_of_two_from_half_of_the_smallest_to_the_largest) {
    static const size_t ROWS[][2] = {
        {0, 0},           {65536, 65536},     {65537, 131072},    {131072, 131072},
        {131073, 262144}, {2097152, 2097152}, {2097153, 2097153}, {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        cr_assert_eq(spare_size(ROWS[i][0]), ROWS[i][1], "%zu", ROWS[i][0]);
}

Test(base_spare, nothing_is_kept_before_a_program_asks_for_it) {
    void *p = spare_alloc(SPARE_BYTES_MIN);
    cr_assert_not_null(p);
    spare_free(p, SPARE_BYTES_MIN);
    cr_assert_eq(spare_kept(), 0);
}

Test(base_spare, a_block_goes_to_the_next_user_of_its_size) {
    spare_keep();
    void *p = spare_alloc(SPARE_BYTES_MIN);
    spare_free(p, SPARE_BYTES_MIN);
    cr_assert_eq(spare_kept(), SPARE_BYTES_MIN);
    void *other = spare_alloc(2 * SPARE_BYTES_MIN);
    cr_assert_neq(other, p);
    cr_assert_eq(spare_alloc(SPARE_BYTES_MIN), p);
    cr_assert_eq(spare_kept(), 0);
    spare_free(p, SPARE_BYTES_MIN);
    spare_free(other, 2 * SPARE_BYTES_MIN);
    spare_free(NULL, SPARE_BYTES_MIN);
    spare_free(spare_alloc(1000), 1000); /* no kept size */
    cr_assert_eq(spare_kept(), 3 * SPARE_BYTES_MIN);
    spare_empty();
}

Test(base_spare, what_nobody_takes_between_two_looks_is_given_back) {
    spare_keep();
    spare_free(spare_alloc(SPARE_BYTES_MAX), SPARE_BYTES_MAX);
    spare_look(); /* one was taken since the start */
    cr_assert_eq(spare_kept(), SPARE_BYTES_MAX);
    spare_look();
    cr_assert_eq(spare_kept(), 0);
}

Test(base_spare, a_burst_leaves_no_more_than_the_bound) {
    enum { BURST = 64 };
    void *blocks[BURST];
    spare_keep();
    for (size_t n = SPARE_BYTES_MIN; n <= SPARE_BYTES_MAX; n *= 2) {
        for (int i = 0; i < BURST; i++) cr_assert_not_null(blocks[i] = spare_alloc(n));
        for (int i = 0; i < BURST; i++) spare_free(blocks[i], n);
        cr_assert_leq(spare_kept(), SPARE_KEPT_MAX);
    }
    cr_assert_gt(spare_kept(), SPARE_KEPT_MAX / 2);
    spare_empty();
    cr_assert_eq(spare_kept(), 0);
}

static void *user_main(void *arg) {
    unsigned char mark = *(unsigned char *)arg;
    for (unsigned round = 0; round < 2000; round++) {
        size_t n = SPARE_BYTES_MIN << (round % 2);
        unsigned char *p = spare_alloc(n);
        cr_assert_not_null(p);
        p[0] = p[n - 1] = mark;
        if (round % 64 == 0) spare_look();
        cr_assert(p[0] == mark && p[n - 1] == mark, "another user has the block, too");
        spare_free(p, n);
    }
    return NULL;
}

Test(base_spare, a_block_has_one_user) {
    enum { USERS = 4 };
    pthread_t threads[USERS];
    static unsigned char marks[USERS] = {1, 2, 3, 4};
    spare_keep();
    for (int i = 0; i < USERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, user_main, &marks[i]), 0);
    for (int i = 0; i < USERS; i++) pthread_join(threads[i], NULL);
    spare_empty();
}

Test(base_spare, an_arena_of_used_blocks_is_zeroed_and_keeps_its_maximum) {
    enum { MAX = 5000000, PIECE = 30000 };
    spare_keep();
    for (int round = 0; round < 3; round++) {
        struct arena *a = arena_new(MAX);
        size_t sum = 0;
        for (unsigned char *p; (p = arena_alloc(a, PIECE)) != NULL; sum += PIECE) {
            for (size_t i = 0; i < PIECE; i++) cr_assert_eq(p[i], 0);
            memset(p, 0xA5, PIECE);
        }
        cr_assert(arena_over(a));
        cr_assert(sum <= MAX && sum > MAX - 4 * PIECE - MAX / 100, "%zu", sum);
        arena_free(a);
        cr_assert_gt(spare_kept(), 0);
    }
    spare_empty();
}

Test(base_spare, a_buffer_that_grows_keeps_its_bytes) {
    enum { LINES = 200000 };
    spare_keep();
    for (int round = 0; round < 3; round++) {
        struct buf b;
        buf_init(&b, SIZE_MAX);
        for (unsigned i = 0; i < LINES; i++) buf_addf(&b, "%06u\n", i);
        cr_assert_eq(b.len, (size_t)LINES * 7);
        for (unsigned i = 0; i < LINES; i++)
            cr_assert_eq(strtoul(b.p + (size_t)i * 7, NULL, 10), i, "line %u", i);
        buf_fini(&b);
        cr_assert_gt(spare_kept(), 0);
    }
    spare_empty();
}

Test(base_spare, a_block_that_cannot_grow_stays) {
    spare_keep();
    char *p = spare_alloc(SPARE_BYTES_MIN);
    memset(p, 'x', SPARE_BYTES_MIN);
    cr_assert(fault_arm(1u << FAULT_MALLOC, 1));
    cr_assert_null(spare_resize(p, SPARE_BYTES_MIN, SPARE_BYTES_MIN, 2 * SPARE_BYTES_MIN));
    fault_disarm();
    for (size_t i = 0; i < SPARE_BYTES_MIN; i++) cr_assert_eq(p[i], 'x');
    spare_free(p, SPARE_BYTES_MIN);
    spare_empty();
}
