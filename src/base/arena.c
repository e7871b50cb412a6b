/*
 * arena.c: blocks that double in size, the first one in the same allocation as the arena.
 */
#include "base/arena.h"
#include "base/mem.h"
#include "base/sanitized.h"
#include "base/spare.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    ARENA_ALIGN = _Alignof(max_align_t),
    ARENA_FIRST_BYTES = 4096 - 128, /* with header and malloc's own within a page */
    ARENA_BLOCK_BYTES_MAX = 1 << 20 /* growth stops doubling here; a larger request gets its own */
};

struct block {
    struct block *older;
    size_t cap, used;
    _Alignas(max_align_t) char bytes[];
};

struct arena {
    struct block *top;   /* allocations come from here */
    struct block *first; /* directly after the arena, in the same allocation */
    size_t max;          /* of total */
    size_t total;        /* sum of cap */
    size_t handed_out;
    bool failed, over;
};

/* Size of the arena header, padded so that the first block after it is aligned. */
#define ARENA_HEAD                                                                                 \
    ((sizeof(struct arena) + _Alignof(struct block) - 1) / _Alignof(struct block) *                \
     _Alignof(struct block))

struct arena *arena_new(size_t max_bytes) {
    return arena_new_for(max_bytes, ARENA_FIRST_BYTES);
}

struct arena *arena_new_for(size_t max_bytes, size_t first_bytes) {
    size_t cap = max_bytes < first_bytes ? max_bytes : first_bytes;
    if (cap > ARENA_BLOCK_BYTES_MAX) cap = ARENA_BLOCK_BYTES_MAX;
    char *raw = mem_alloc(ARENA_HEAD + sizeof(struct block) + cap);
    if (!raw) return NULL;
    struct arena *a = (struct arena *)(void *)raw;
    struct block *b = (struct block *)(void *)(raw + ARENA_HEAD);
    *b = (struct block){.cap = cap};
    *a = (struct arena){.top = b, .first = b, .max = max_bytes, .total = cap};
    POISON(b->bytes, b->cap);
    return a;
}

static void free_all_but_first(struct arena *a) {
    while (a->top != a->first) {
        struct block *b = a->top;
        a->top = b->older;
        UNPOISON(b->bytes, b->cap);
        spare_free(b, sizeof *b + b->cap);
    }
}

void arena_free(struct arena *a) {
    if (!a) return;
    free_all_but_first(a);
    UNPOISON(a->first->bytes, a->first->cap);
    mem_free(a);
}

void arena_reset(struct arena *a) {
    free_all_but_first(a);
    a->first->used = 0;
    a->total = a->first->cap;
    a->handed_out = 0;
    a->failed = a->over = false;
    POISON(a->first->bytes, a->first->cap);
}

size_t arena_used(const struct arena *a) { return a->handed_out; }

bool arena_failed(const struct arena *a) { return a->failed; }

bool arena_over(const struct arena *a) { return a->over; }

/* A new top block with room for n (a multiple of the alignment). */
static bool add_block(struct arena *a, size_t n) {
    size_t room = a->max - a->total;
    if (n > room) {
        a->over = true;
        return false;
    }
    size_t cap = a->top->cap < ARENA_BLOCK_BYTES_MAX ? a->top->cap * 2 : ARENA_BLOCK_BYTES_MAX;
    if (cap < n) cap = n;
    if (cap > room) cap = room;
    if (cap > SIZE_MAX - sizeof(struct block)) return false;
    size_t whole = spare_size(sizeof(struct block) + cap);
    if (whole - sizeof(struct block) <= room) cap = whole - sizeof(struct block);
    struct block *b = spare_alloc(sizeof *b + cap);
    if (!b) return false;
    *b = (struct block){.older = a->top, .cap = cap};
    POISON(b->bytes, b->cap);
    a->total += cap;
    a->top = b;
    return true;
}

void *arena_alloc(struct arena *a, size_t n) {
    size_t want = n ? n : 1;
    if (want > SIZE_MAX - ARENA_ALIGN) goto fail;
    size_t size = (want + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    /* The last bytes of a block may serve a request whose rounding would reach past it. */
    if (want > a->top->cap - a->top->used && !add_block(a, want)) goto fail;
    struct block *b = a->top;
    if (size > b->cap - b->used) size = b->cap - b->used;
    char *p = b->bytes + b->used;
    UNPOISON(p, want);
    b->used += size;
    a->handed_out += size;
    memset(p, 0, want);
    return p;
fail:
    a->failed = true;
    return NULL;
}

void *arena_array(struct arena *a, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) {
        a->failed = true;
        return NULL;
    }
    return arena_alloc(a, count * size);
}

char *arena_cstr(struct arena *a, struct str s) {
    if (s.n == SIZE_MAX) {
        a->failed = true;
        return NULL;
    }
    char *p = arena_alloc(a, s.n + 1);
    if (p && s.n > 0) memcpy(p, s.p, s.n);
    return p;
}

struct str arena_str(struct arena *a, struct str s) {
    char *p = arena_cstr(a, s);
    return p ? (struct str){p, s.n} : STR_NONE;
}

struct str arena_printf(struct arena *a, const char *fmt, ...) {
    char small[256];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    struct str out = STR_NONE;
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0) {
        a->failed = true;
    } else if ((size_t)n < sizeof small) {
        out = arena_str(a, (struct str){small, (size_t)n});
    } else {
        char *p = arena_alloc(a, (size_t)n + 1);
        if (p) {
            vsnprintf(p, (size_t)n + 1, fmt, again);
            out = (struct str){p, (size_t)n};
        }
    }
    va_end(again);
    va_end(ap);
    return out;
}
