/*
 * mem.c: the only callers of malloc and its family.
 */
#include "base/mem.h"
#include "base/error.h"
#include "base/fault.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zero bytes give a pointer of their own, so that NULL always means "short of memory". */
static size_t at_least_one(size_t n) { return n ? n : 1; }

static _Thread_local uint64_t refused;

static void *refusal_count(void *p) {
    if (!p) refused++;
    return p;
}

uint64_t mem_refused(void) { return refused; }

void mem_refused_by_library(void) { refused++; }

int mem_verdict(int rc, uint64_t refused_before) {
    return rc == WOPR_E_NO_MEMORY && refused == refused_before ? WOPR_E_TOO_BIG : rc;
}

void *mem_alloc(size_t n) {
    return refusal_count(fault_hit(FAULT_MALLOC) ? NULL : malloc(at_least_one(n)));
}

void *mem_zalloc(size_t n) {
    return refusal_count(fault_hit(FAULT_MALLOC) ? NULL : calloc(1, at_least_one(n)));
}

void *mem_array(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    return mem_zalloc(count * size);
}

void *mem_realloc(void *p, size_t n) {
    return refusal_count(fault_hit(FAULT_MALLOC) ? NULL : realloc(p, at_least_one(n)));
}

void *mem_grow(void *p, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    return mem_realloc(p, count * size);
}

char *mem_strndup(const char *p, size_t n) {
    if (n == SIZE_MAX) return NULL;
    char *copy = mem_alloc(n + 1);
    if (!copy) return NULL;
    if (n > 0) memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

static atomic_uint_fast64_t freed_large;

static _Thread_local struct mem_later *later;

void mem_later_use(struct mem_later *l) { later = l; }

/* The block's own first bytes say what is behind it.  false: there is too much already. */
static bool later_take(struct mem_later *l, void *p, size_t n) {
    if (atomic_fetch_add(&l->bytes, n) > MEM_LATER_MAX) {
        atomic_fetch_sub(&l->bytes, n);
        return false;
    }
    void *next = atomic_load(&l->first);
    do memcpy(p, &next, sizeof next);
    while (!atomic_compare_exchange_weak(&l->first, &next, p));
    atomic_fetch_add_explicit(&l->taken, 1, memory_order_relaxed);
    if (!next) l->wake(l->ctx);
    return true;
}

void mem_later_free(struct mem_later *l) {
    for (void *p = atomic_exchange(&l->first, NULL), *next; p; p = next) {
        memcpy(&next, p, sizeof next);
        atomic_fetch_sub(&l->bytes, malloc_usable_size(p));
        free(p);
    }
}

void mem_free(void *p) {
    size_t n = malloc_usable_size(p);
    if (n >= MEM_LARGE_BYTES) {
        atomic_fetch_add_explicit(&freed_large, n, memory_order_relaxed);
        if (later && later_take(later, p, n)) return;
    }
    free(p);
}

/* Through a pointer that the compiler must read, so that it cannot leave the call out. */
void mem_wipe(void *p, size_t n) {
    static void *(*const volatile wipe)(void *, int, size_t) = memset;
    if (n > 0) wipe(p, 0, n);
}

void mem_freed_by_library(size_t n) {
    atomic_fetch_add_explicit(&freed_large, n, memory_order_relaxed);
}

uint64_t mem_freed_large(void) { return atomic_load_explicit(&freed_large, memory_order_relaxed); }

/* A large block has pages of its own and goes back when it is freed.  As part of an arena it would
 * leave its pages behind: what is free at the end of an arena that is not the first, malloc_trim
 * does not return. */
enum { TRIM_BYTES = 4 << 20, MMAP_BYTES = 128 << 10 };

void mem_serve(void) {
#ifdef M_TRIM_THRESHOLD /* setting one switches glibc's own adjustment of both off */
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
#endif
}

void mem_trim(void) {
#ifdef M_TRIM_THRESHOLD /* glibc */
    (void)malloc_trim(0);
#endif
}

size_t mem_size(void *p) { return malloc_usable_size(p); }
