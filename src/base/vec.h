/*
 * vec.h: room for one more element in a growing array.  Layer: base.
 *
 * The array stays what it was, a typed pointer with two counts in its owner's struct, so code that
 * reads it needs nothing of this header:
 *
 *     if (VEC_ROOM(l->pins, l->n, l->cap, 4) != 0) return WOPR_E_NO_MEMORY;
 *     l->pins[l->n++] = pin;
 *
 * Capacity doubles, from `first` (> 0) on.  Growing moves the elements: pointers into the array are
 * void then.  The owner bounds nr; here only the address space is a limit.  One user at a time.
 */
#ifndef WOPR_BASE_VEC_H
#define WOPR_BASE_VEC_H

#include "base/arena.h"
#include "base/error.h"

/* 0, or WOPR_E_NO_MEMORY with items and cap unchanged.  items, nr and cap are lvalues (T *, size_t,
 * size_t) and are evaluated more than once.  The owner frees items with mem_free. */
#define VEC_ROOM(items, nr, cap, first)                                                            \
    ((nr) < (cap) ? WOPR_OK : vec_grow(&(items), &(cap), sizeof *(items), (first)))
/* The same with items in an arena; what they leave behind there ends with the arena. */
#define VEC_ROOM_IN(a, items, nr, cap, first)                                                      \
    ((nr) < (cap) ? WOPR_OK : vec_grow_in((a), &(items), (nr), &(cap), sizeof *(items), (first)))

/* items_at: the address of the typed pointer.  Not to be called but by the macros above. */
MUST_CHECK int vec_grow(void *items_at, size_t *cap, size_t size, size_t first);
MUST_CHECK int vec_grow_in(struct arena *a, void *items_at, size_t nr, size_t *cap, size_t size,
                           size_t first);

#endif
