/*
 * mem.h: the only door to malloc (outside libraries).  Layer: base.
 * mem_* count as fault site FAULT_MALLOC, so that tests can fail the nth allocation.
 */
#ifndef WOPR_BASE_MEM_H
#define WOPR_BASE_MEM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t n);                  /* NULL when short */
void *mem_zalloc(size_t n);                 /* zeroed */
void *mem_array(size_t count, size_t size); /* zeroed, overflow-checked */
void *mem_realloc(void *p, size_t n);
void *mem_grow(void *p, size_t count, size_t size); /* realloc to count*size, overflow-checked */
char *mem_strndup(const char *p, size_t n);
void mem_free(void *p);           /* takes NULL */
void mem_wipe(void *p, size_t n); /* zeroes, also what is freed next; takes NULL with 0 */
size_t mem_size(void *p);         /* usable bytes, at least as many as requested; NULL: 0 */
/* For a program that serves: freed memory is kept for the next request instead of being given back
 * and taken again a hundred times a second.  Process-wide, so never called by the library. */
void mem_serve(void);
/* Give every free page back to the system.  Takes milliseconds: not for a thread that serves. */
void mem_trim(void);
/* Bytes of large blocks (MEM_LARGE_BYTES and more) given back to the allocator since the start. */
#define MEM_LARGE_BYTES (32u * 1024)
uint64_t mem_freed_large(void);
/* A library gave back n bytes by itself: counted with the above. */
void mem_freed_by_library(size_t n);
/* Giving a large block back takes time by its size, for its pages leave the process.  A thread that
 * others wait for hands such blocks to another one: between mem_later_use(l) and
 * mem_later_use(NULL) its mem_free puts blocks of MEM_LARGE_BYTES or more into l, and calls wake
 * when l was empty.  Beyond MEM_LATER_MAX it frees by itself. */
#define MEM_LATER_MAX (64u * 1024 * 1024)
struct mem_later { /* zeroed, but for wake and ctx */
    _Atomic(void *) first;
    atomic_size_t bytes;
    atomic_uint_fast64_t taken; /* blocks so far */
    void (*wake)(void *ctx);
    void *ctx;
};
void mem_later_use(struct mem_later *l);
void mem_later_free(struct mem_later *l); /* on the other thread: all that is in l now */
/* Allocations of this thread that were refused since it began.  A NO_MEMORY that comes while this
 * stays the same was met at a bound (an arena's, a buffer's) and would come again for ever:
 * mem_verdict makes it TOO_BIG. */
uint64_t mem_refused(void);
void mem_refused_by_library(void); /* a library said that it got none */
int mem_verdict(int rc, uint64_t refused_before);
#define MEM_NEW(type) ((type *)mem_zalloc(sizeof(type)))

#endif
