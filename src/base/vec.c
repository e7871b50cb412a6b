/*
 * vec.c: growing arrays.  A pointer to T is read and written as bytes: an lvalue of type void *
 * would break the aliasing rule.
 */
#include "base/vec.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

/* The next capacity, 0 when it cannot be counted. */
static size_t cap_next(size_t cap, size_t first) {
    ASSERT(first > 0);
    if (cap == 0) return first;
    return cap <= SIZE_MAX / 2 ? cap * 2 : 0;
}

int vec_grow(void *items_at, size_t *cap, size_t size, size_t first) {
    void *items;
    memcpy(&items, items_at, sizeof items);
    size_t next = cap_next(*cap, first);
    if (next == 0) return WOPR_E_NO_MEMORY;
    items = mem_grow(items, next, size);
    if (!items) return WOPR_E_NO_MEMORY;
    memcpy(items_at, &items, sizeof items);
    *cap = next;
    return WOPR_OK;
}

int vec_grow_in(struct arena *a, void *items_at, size_t nr, size_t *cap, size_t size,
                size_t first) {
    void *items;
    memcpy(&items, items_at, sizeof items);
    size_t next = cap_next(*cap, first);
    void *moved = next > 0 ? arena_array(a, next, size) : NULL;
    if (!moved) return WOPR_E_NO_MEMORY;
    if (nr > 0) memcpy(moved, items, nr * size);
    memcpy(items_at, &moved, sizeof moved);
    *cap = next;
    return WOPR_OK;
}
