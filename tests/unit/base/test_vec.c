/*
 * test_vec.c: growing arrays.
 */
#include "base/fault.h"
#include "base/mem.h"
#include "base/vec.h"

#include <criterion/criterion.h>
#include <stdint.h>

struct row {
    uint64_t no;
    char pad[5];
};

enum { ROWS = 1000, FIRST = 3 };

Test(base_vec, keeps_its_elements_and_doubles_from_the_first_capacity) {
    struct row *v = NULL;
    size_t n = 0, cap = 0, moves = 0;
    while (n < ROWS) {
        size_t before = cap;
        cr_assert_eq(VEC_ROOM(v, n, cap, FIRST), 0);
        if (cap != before) {
            cr_assert_eq(cap, before > 0 ? before * 2 : FIRST);
            moves++;
        }
        v[n] = (struct row){.no = n};
        n++;
    }
    for (size_t i = 0; i < n; i++) cr_assert_eq(v[i].no, i);
    cr_assert_eq(moves, 10);
    mem_free(v);
}

Test(base_vec, grows_in_an_arena_too) {
    struct arena *a = arena_new(1 << 20);
    struct row *v = NULL;
    size_t n = 0, cap = 0;
    while (n < ROWS) {
        cr_assert_eq(VEC_ROOM_IN(a, v, n, cap, FIRST), 0);
        v[n] = (struct row){.no = n};
        n++;
    }
    for (size_t i = 0; i < n; i++) cr_assert_eq(v[i].no, i);
    arena_free(a);
}

Test(base_vec, without_memory_the_array_stays_as_it_was) {
    struct row *v = NULL;
    size_t n = 0, cap = 0;
    cr_assert_eq(VEC_ROOM(v, n, cap, FIRST), 0);
    for (; n < FIRST; n++) v[n] = (struct row){.no = n};
    struct row *before = v;
    fault_arm(1u << FAULT_MALLOC, 1);
    cr_assert_eq(VEC_ROOM(v, n, cap, FIRST), WOPR_E_NO_MEMORY);
    fault_disarm();
    cr_assert(v == before && cap == FIRST && v[FIRST - 1].no == FIRST - 1);
    mem_free(v);
}

Test(base_vec, an_arena_that_is_full_leaves_the_array_as_it_was) {
    struct arena *a = arena_new(sizeof(struct row) * FIRST);
    struct row *v = NULL;
    size_t n = 0, cap = 0;
    cr_assert_eq(VEC_ROOM_IN(a, v, n, cap, FIRST), 0);
    for (; n < FIRST; n++) v[n] = (struct row){.no = n};
    cr_assert_eq(VEC_ROOM_IN(a, v, n, cap, FIRST), WOPR_E_NO_MEMORY);
    cr_assert(arena_over(a) && cap == FIRST && v[0].no == 0);
    arena_free(a);
}

Test(base_vec, a_capacity_that_cannot_be_counted_is_refused) {
    struct row *v = NULL;
    size_t n = SIZE_MAX / 2 + 1, cap = n;
    cr_assert_eq(VEC_ROOM(v, n, cap, FIRST), WOPR_E_NO_MEMORY);
    n = cap = SIZE_MAX / 4; /* twice that can be counted, its bytes cannot */
    cr_assert_eq(VEC_ROOM(v, n, cap, FIRST), WOPR_E_NO_MEMORY);
    cr_assert(!v && cap == SIZE_MAX / 4);
}
