/*
 * test_memory.c: arena, buf and the fault points below them.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(base_arena, memory_is_zeroed_and_aligned_for_any_type) {
    struct arena *a = arena_new(1 << 20);
    for (size_t n = 0; n < 300; n++) {
        unsigned char *p = arena_alloc(a, n);
        cr_assert_not_null(p);
        cr_assert_eq((uintptr_t)p % _Alignof(max_align_t), 0, "%zu bytes", n);
        for (size_t i = 0; i < n; i++) cr_assert_eq(p[i], 0);
        memset(p, 0xA5, n);
    }
    arena_reset(a); /* the reused first block is dirty */
    for (int i = 0; i < 50; i++) {
        unsigned char *p = arena_alloc(a, 64);
        for (size_t k = 0; k < 64; k++) cr_assert_eq(p[k], 0);
    }
    arena_free(a);
}

Test(base_arena, zero_bytes_give_distinct_pointers) {
    struct arena *a = arena_new(4096);
    void *p = arena_alloc(a, 0), *q = arena_alloc(a, 0);
    cr_assert(p && q && p != q);
    arena_free(a);
}

Test(base_arena, the_maximum_is_kept_and_the_failure_sticks_until_reset) {
    static const size_t MAX[] = {0, 1, 15, 16, 100, 4096, 100000};
    for (size_t i = 0; i < sizeof MAX / sizeof *MAX; i++) {
        struct arena *a = arena_new(MAX[i]);
        cr_assert_not_null(a);
        cr_assert_null(arena_alloc(a, MAX[i] + 1), "one above %zu", MAX[i]);
        cr_assert(arena_failed(a));
        if (MAX[i] > 0 && MAX[i] <= 100) cr_assert_not_null(arena_alloc(a, MAX[i]));
        cr_assert(arena_failed(a), "a later success does not clear it");
        arena_reset(a);
        cr_assert_not(arena_failed(a));
        size_t sum = 0;
        while (arena_alloc(a, 1000)) sum += 1000;
        cr_assert_leq(sum, MAX[i]);
        cr_assert_leq(arena_used(a), MAX[i]);
        arena_free(a);
    }
}

Test(base_arena, sizes_that_overflow_are_refused) {
    struct arena *a = arena_new(SIZE_MAX);
    cr_assert_null(arena_array(a, SIZE_MAX / 2, 3));
    cr_assert(arena_failed(a));
    arena_reset(a);
    cr_assert_null(arena_alloc(a, SIZE_MAX));
    cr_assert_null(arena_alloc(a, SIZE_MAX - 20));
    cr_assert_null(arena_cstr(a, (struct str){"x", SIZE_MAX}));
    arena_free(a);
}

Test(base_arena, growth_keeps_what_was_handed_out) {
    struct arena *a = arena_new(8 << 20);
    char *p[2000];
    for (int i = 0; i < 2000; i++) {
        p[i] = arena_alloc(a, (size_t)(i % 97) * 40 + 4);
        memcpy(p[i], &i, sizeof i);
    }
    for (int i = 0; i < 2000; i++) cr_assert_eq(memcmp(p[i], &i, sizeof i), 0);
    void *big = arena_alloc(a, 3 << 20);
    cr_assert_not_null(big, "a request larger than any block");
    memset(big, 1, 3 << 20);
    arena_reset(a);
    cr_assert_eq(arena_used(a), 0);
    arena_free(a);
    arena_free(NULL);
}

Test(base_arena, an_arena_that_is_kept_takes_the_room_that_it_was_made_for) {
    struct arena *a = arena_new_for(1 << 20, 600);
    for (int i = 0; i < 37; i++) cr_assert_not_null(arena_alloc(a, 16));
    cr_expect(mem_size(a) < 800, "%zu bytes for 592", mem_size(a));
    char *more = arena_alloc(a, 5000); /* it may grow all the same */
    cr_assert_not_null(more);
    memset(more, 'x', 5000);
    cr_expect_geq(arena_used(a), 37u * 16 + 5000);
    arena_free(a);
    a = arena_new_for(100, 600);
    cr_expect_null(arena_alloc(a, 101));
    arena_free(a);
}

Test(base_arena, strings_are_copied_and_terminated) {
    struct arena *a = arena_new(1 << 16);
    struct str s = arena_str(a, str_n("abcdef", 3));
    cr_assert_str_eq(s.p, "abc");
    cr_assert_str_eq(arena_cstr(a, STR_NONE), "");
    s = arena_printf(a, "%d-%s", 42, "x");
    cr_assert(str_eq(s, STR("42-x")));
    s = arena_printf(a, "%0900d", 7); /* longer than the small try */
    cr_assert_eq(s.n, 900);
    cr_assert_eq(s.p[899], '7');
    cr_assert_eq(s.p[900], '\0');
    struct arena *tiny = arena_new(8);
    cr_assert_null(arena_str(tiny, STR("longer than eight")).p);
    cr_assert_null(arena_printf(tiny, "%0900d", 7).p);
    cr_assert(arena_failed(tiny));
    arena_free(tiny);
    arena_free(a);
}

Test(base_buf, appends_and_always_ends_in_nul) {
    struct buf b;
    buf_init(&b, 10000);
    cr_assert(str_eq(buf_str(&b), STR("")));
    buf_addz(&b, "a");
    buf_addc(&b, 'b');
    buf_adds(&b, STR("cd"));
    buf_addf(&b, "-%d-", 5);
    buf_add_u64(&b, UINT64_MAX);
    buf_addc(&b, ' ');
    buf_add_i64(&b, INT64_MIN);
    buf_add_i64(&b, 0);
    cr_assert_str_eq(b.p, "abcd-5-18446744073709551615 -92233720368547758080");
    buf_addf(&b, "%01000d", 1);
    cr_assert_eq(strlen(b.p), b.len);
    buf_reset(&b);
    cr_assert_eq(b.len, 0);
    cr_assert_str_eq(b.p, "");
    buf_fini(&b);
    buf_fini(&b);
}

Test(base_buf, the_first_failure_sticks_and_keeps_what_was_there) {
    struct buf b;
    buf_init(&b, 8);
    buf_addz(&b, "12345678");
    cr_assert_not(buf_failed(&b), "exactly the maximum fits");
    buf_addc(&b, '9');
    cr_assert(buf_failed(&b));
    cr_assert_str_eq(b.p, "12345678");
    buf_add(&b, "", 0);
    buf_addf(&b, "%s", "");
    cr_assert(buf_failed(&b));
    buf_reset(&b);
    cr_assert_not(buf_failed(&b));
    buf_addf(&b, "%s", "123456789");
    cr_assert(buf_failed(&b));
    cr_assert_eq(b.len, 0);
    cr_assert_null(buf_take(&b, NULL), "half a text is given to nobody");
    buf_fini(&b);
}

Test(base_buf, take_moves_the_bytes_out) {
    struct buf b;
    size_t n = 99;
    buf_init(&b, 100);
    char *p = buf_take(&b, &n);
    cr_assert_str_eq(p, "");
    cr_assert_eq(n, 0);
    mem_free(p);
    buf_addz(&b, "xyz");
    p = buf_take(&b, &n);
    cr_assert_str_eq(p, "xyz");
    cr_assert_eq(n, 3);
    cr_assert_eq(b.len, 0);
    mem_free(p);
    buf_addz(&b, "again");
    cr_assert(str_eq(buf_str(&b), STR("again")));
    buf_fini(&b);
}

Test(base_mem, products_that_overflow_are_refused) {
    cr_assert_null(mem_array(SIZE_MAX / 2, 3));
    cr_assert_null(mem_grow(NULL, SIZE_MAX / 2, 3));
    cr_assert_null(mem_strndup("x", SIZE_MAX));
    char *z = mem_strndup(NULL, 0);
    cr_assert_str_eq(z, "");
    mem_free(z);
    mem_free(NULL);
}

/* --- every allocation fails once --- */

Test(base_fault, arming_ends_when_a_round_is_not_reached) {
    unsigned rounds = 0;
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        for (int i = 0; i < 3; i++) mem_free(mem_alloc(1));
        fault_disarm();
        rounds++;
        cr_assert_leq(rounds, 10);
    }
    cr_assert_eq(rounds, 4, "three that fire, one that does not");
    cr_assert_not(fault_fired());
    cr_assert_str_eq(fault_where(), "malloc");
}

Test(base_fault, only_masked_sites_count_and_fail_once) {
    cr_assert(fault_arm(1u << FAULT_FSYNC | 1u << FAULT_NET, 2));
    cr_assert_not(fault_hit(FAULT_MALLOC));
    cr_assert_not(fault_hit(FAULT_FSYNC));
    cr_assert_not(fault_hit(FAULT_WRITE));
    cr_assert(fault_hit(FAULT_NET));
    cr_assert_str_eq(fault_where(), "net");
    cr_assert(fault_fired());
    cr_assert_not(fault_hit(FAULT_NET));
    fault_disarm();
    cr_assert(fault_fired(), "disarming does not forget");
    cr_assert_not(fault_arm(FAULT_EVERY_SITE, 0));
}

Test(base_fault, arena_reports_each_failed_allocation) {
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        struct arena *a = arena_new(1 << 20);
        bool all = a != NULL;
        for (int i = 0; a && i < 20; i++) all = arena_alloc(a, 5000) && all;
        fault_disarm();
        cr_assert_eq(all, !fault_fired(), "call %u", nth);
        if (a) cr_assert_eq(arena_failed(a), fault_fired());
        arena_free(a);
    }
}

Test(base_fault, buf_fails_and_stays_failed) {
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        for (int i = 0; i < 2000; i++) buf_addz(&b, "0123456789");
        fault_disarm();
        cr_assert_eq(buf_failed(&b), fault_fired());
        if (!fault_fired()) cr_assert_eq(b.len, 20000);
        if (b.p) cr_assert_eq(b.p[b.len], '\0');
        buf_fini(&b);
    }
}

Test(base_fault, map_put_is_all_or_nothing) {
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        struct map *m = map_new();
        char key[8];
        size_t put = 0;
        for (int i = 0; m && i < 40; i++) {
            snprintf(key, sizeof key, "k%d", i);
            if (map_put(m, str_c(key), &put, NULL) == 0) put++;
            else cr_assert_null(map_get(m, str_c(key)));
        }
        fault_disarm();
        if (m) {
            cr_assert_eq(map_count(m), put);
            cr_assert_eq(put, fault_fired() ? 39 : 40);
        } else {
            cr_assert(fault_fired());
        }
        map_free(m);
    }
}

Test(base_fault, heap_add_fails_cleanly) {
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        struct heap h;
        struct heap_node nodes[200] = {0};
        size_t in = 0;
        heap_init(&h);
        for (size_t i = 0; i < 200; i++) {
            if (heap_add(&h, &nodes[i], (int64_t)i) == 0) in++;
            else cr_assert_eq(nodes[i].pos, 0, "a refused node is in no heap");
        }
        fault_disarm();
        cr_assert_eq(h.n, in);
        cr_assert_eq(in, fault_fired() ? 199 : 200);
        heap_fini(&h);
    }
}

/* A thread that others wait for leaves large blocks to another one. */
static void wakes_count(void *ctx) { ++*(int *)ctx; }

Test(base_mem, large_blocks_are_freed_later_by_another_thread) {
    enum { LARGE = MEM_LARGE_BYTES * 4, BLOCKS = 5 };
    int wakes = 0;
    struct mem_later l = {.wake = wakes_count, .ctx = &wakes};
    char *p[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) cr_assert_not_null(p[i] = mem_alloc(LARGE));
    void *small = mem_alloc(MEM_LARGE_BYTES / 2), *others = mem_alloc(LARGE);
    const uint64_t freed = mem_freed_large();
    mem_later_use(&l);
    for (int i = 0; i < BLOCKS; i++) {
        memset(p[i], 'x', LARGE);
        mem_free(p[i]);
    }
    mem_free(small);
    mem_free(NULL);
    mem_later_use(NULL);
    mem_free(others);
    cr_assert_eq(atomic_load(&l.taken), BLOCKS);
    cr_assert_geq(atomic_load(&l.bytes), (size_t)BLOCKS * LARGE);
    cr_assert_eq(wakes, 1, "only the first wakes");
    for (int i = 0; i < BLOCKS; i++) cr_assert_eq(p[i][LARGE - 1], 'x', "it is there still");
    cr_assert_geq(mem_freed_large() - freed, (uint64_t)(BLOCKS + 1) * LARGE,
                  "each is counted once");
    mem_later_free(&l);
    cr_assert_eq(atomic_load(&l.bytes), 0);
    cr_assert_null(atomic_load(&l.first));
    mem_later_free(&l); /* nothing */
}

Test(base_mem, what_waits_to_be_freed_has_a_bound) {
    int wakes = 0;
    struct mem_later l = {.wake = wakes_count, .ctx = &wakes};
    mem_later_use(&l);
    for (int i = 0; i < 12; i++) mem_free(mem_alloc(MEM_LATER_MAX / 8));
    mem_later_use(NULL);
    cr_assert_leq(atomic_load(&l.taken), 9);
    cr_assert_leq(atomic_load(&l.bytes), MEM_LATER_MAX + MEM_LATER_MAX / 4);
    mem_later_free(&l);
    cr_assert_eq(atomic_load(&l.bytes), 0);
}
