/*
 * spare.c: a few slots for each size, each a pointer that is exchanged whole: no thread waits for
 * another, and a block is in one slot or with one user.
 */
#include "base/spare.h"

#include "base/mem.h"
#include "base/sanitized.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { SIZES = 5, SLOTS = 8, SLOTS_BYTES_MAX = 4 << 20 };

static _Atomic(void *) slots[SIZES][SLOTS];
static atomic_bool keeping, taken;

static size_t size_of(unsigned i) { return SPARE_BYTES_MIN << i; }

static unsigned slots_of(unsigned i) {
    size_t fit = (size_t)SLOTS_BYTES_MAX / size_of(i);
    return fit < SLOTS ? (unsigned)fit : SLOTS;
}

/* SIZES: no block of n bytes is kept. */
static unsigned size_index(size_t n) {
    unsigned i = 0;
    while (i < SIZES && size_of(i) != n) i++;
    return i;
}

size_t spare_size(size_t n) {
    if (n <= SPARE_BYTES_MIN / 2 || n > SPARE_BYTES_MAX) return n;
    size_t size = SPARE_BYTES_MIN;
    while (size < n) size *= 2;
    return size;
}

void *spare_alloc(size_t n) {
    unsigned i = size_index(n);
    if (i == SIZES || !atomic_load_explicit(&keeping, memory_order_relaxed)) return mem_alloc(n);
    if (!atomic_load_explicit(&taken, memory_order_relaxed))
        atomic_store_explicit(&taken, true, memory_order_relaxed);
    for (unsigned k = 0; k < slots_of(i); k++) {
        if (!atomic_load_explicit(&slots[i][k], memory_order_relaxed)) continue;
        void *p = atomic_exchange_explicit(&slots[i][k], NULL, memory_order_acquire);
        if (!p) continue;
        UNPOISON(p, n);
        return p;
    }
    return mem_alloc(n);
}

void spare_free(void *p, size_t n) {
    unsigned i = size_index(n);
    bool keeps = p && i < SIZES && atomic_load_explicit(&keeping, memory_order_relaxed);
    for (unsigned k = 0; keeps && k < slots_of(i); k++) {
        void *none = NULL;
        if (atomic_load_explicit(&slots[i][k], memory_order_relaxed)) continue;
        POISON(p, n);
        if (atomic_compare_exchange_strong_explicit(&slots[i][k], &none, p, memory_order_release,
                                                    memory_order_relaxed))
            return;
        UNPOISON(p, n);
    }
    mem_free(p);
}

void *spare_resize(void *p, size_t was, size_t used, size_t n) {
    bool kept = size_index(was) < SIZES || size_index(n) < SIZES;
    if (!p || !kept || !atomic_load_explicit(&keeping, memory_order_relaxed))
        return p ? mem_realloc(p, n) : spare_alloc(n); /* which may move pages, not bytes */
    void *wider = spare_alloc(n);
    if (!wider) return NULL;
    memcpy(wider, p, used);
    spare_free(p, was);
    return wider;
}

void spare_keep(void) { atomic_store(&keeping, true); }

void spare_empty(void) {
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < slots_of(i); k++) {
            void *p = atomic_exchange_explicit(&slots[i][k], NULL, memory_order_acquire);
            if (p) UNPOISON(p, size_of(i));
            mem_free(p);
        }
}

void spare_look(void) {
    if (!atomic_exchange(&taken, false)) spare_empty();
}

size_t spare_kept(void) {
    size_t n = 0;
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < slots_of(i); k++)
            n += atomic_load_explicit(&slots[i][k], memory_order_relaxed) ? size_of(i) : 0;
    return n;
}
