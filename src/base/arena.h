/*
 * arena.h: bump allocator for one request, one turn, one plan or one state.  Layer: base.
 * Nothing in an arena is freed singly; reset or free ends all of it.  Every arena has a maximum.
 * Not thread-safe: one user at a time.
 */
#ifndef WOPR_BASE_ARENA_H
#define WOPR_BASE_ARENA_H

#include "base/error.h"
#include "base/str.h"

struct arena;
/* max_bytes bounds the sum of all blocks.  NULL when memory is short. */
struct arena *arena_new(size_t max_bytes);
/* The same with a first block of about first_bytes, for an arena that is kept: what it will hold is
 * known, and the usual block of a page would stay mostly empty. */
struct arena *arena_new_for(size_t max_bytes, size_t first_bytes);
void arena_free(struct arena *a);  /* takes NULL */
void arena_reset(struct arena *a); /* keeps the first block for reuse */
size_t arena_used(const struct arena *a);
/* Aligned for any type, zeroed.  NULL when over the maximum or out of memory; n == 0 gives a unique
 * non-NULL pointer.  After a NULL the arena is marked: arena_failed() stays true until reset, so
 * that a builder may check once at its end. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t count, size_t size); /* overflow-checked */
bool arena_failed(const struct arena *a);
bool arena_over(const struct arena *a); /* something failed for its maximum, not for memory */
struct str arena_str(struct arena *a, struct str s); /* copy, NUL-terminated; STR_NONE on failure */
char *arena_cstr(struct arena *a, struct str s);     /* same as char *, NULL on failure */
struct str arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
#define ARENA_NEW(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_array((a), (n), sizeof(type)))

#endif
