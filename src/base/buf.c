/*
 * buf.c: the growable buffer; its first failure sticks.
 */
#include "base/buf.h"
#include "base/spare.h"

#include <stdarg.h>
#include <stdio.h>

enum { BUF_FIRST_BYTES = 256 };

void buf_init(struct buf *b, size_t max) {
    /* One byte past max holds the NUL. */
    *b = (struct buf){.max = max < PTRDIFF_MAX ? max : PTRDIFF_MAX - 1};
}

void buf_fini(struct buf *b) {
    spare_free(b->p, b->cap);
    *b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b) {
    b->len = 0;
    b->failed = b->over = false;
    if (b->p) b->p[0] = '\0';
}

bool buf_failed(const struct buf *b) { return b->failed; }

bool buf_over(const struct buf *b) { return b->over; }

/* Room for n more bytes and the NUL; false, and failed, when there is none. */
static bool buf_reserve(struct buf *b, size_t n) {
    if (b->failed) return false;
    if (b->p && n < b->cap - b->len) return true;
    if (n > b->max - b->len) {
        b->over = true;
        goto fail;
    }
    size_t need = b->len + n + 1, cap = b->cap ? b->cap : BUF_FIRST_BYTES;
    while (cap < need) cap = cap <= PTRDIFF_MAX / 2 ? cap * 2 : need;
    if (cap > b->max + 1) cap = b->max + 1;
    char *p = spare_resize(b->p, b->cap, b->len, cap);
    if (!p) goto fail;
    b->p = p;
    b->cap = cap;
    return true;
fail:
    b->failed = true;
    return false;
}

void buf_add(struct buf *b, const void *p, size_t n) {
    if (!buf_reserve(b, n)) return;
    if (n > 0) memcpy(b->p + b->len, p, n);
    b->len += n;
    b->p[b->len] = '\0';
}

void buf_adds(struct buf *b, struct str s) { buf_add(b, s.p, s.n); }

void buf_addz(struct buf *b, const char *z) { buf_add(b, z, strlen(z)); }

void buf_addc(struct buf *b, char c) {
    if (!buf_reserve(b, 1)) return;
    b->p[b->len++] = c;
    b->p[b->len] = '\0';
}

void buf_addf(struct buf *b, const char *fmt, ...) {
    if (!buf_reserve(b, 0)) return;
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t room = b->cap - b->len;
    int n = vsnprintf(b->p + b->len, room, fmt, ap);
    if (n < 0) {
        b->failed = true;
        b->p[b->len] = '\0';
    } else if ((size_t)n < room) {
        b->len += (size_t)n;
    } else {
        b->p[b->len] = '\0';
        if (buf_reserve(b, (size_t)n)) {
            vsnprintf(b->p + b->len, (size_t)n + 1, fmt, again);
            b->len += (size_t)n;
        }
    }
    va_end(again);
    va_end(ap);
}

void buf_add_u64(struct buf *b, uint64_t v) {
    char digits[20];
    size_t i = sizeof digits;
    do digits[--i] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    buf_add(b, digits + i, sizeof digits - i);
}

void buf_add_i64(struct buf *b, int64_t v) {
    if (v >= 0) {
        buf_add_u64(b, (uint64_t)v);
        return;
    }
    char digits[21];
    size_t i = sizeof digits;
    uint64_t u = 0 - (uint64_t)v;
    do digits[--i] = (char)('0' + u % 10);
    while ((u /= 10) != 0);
    digits[--i] = '-';
    buf_add(b, digits + i, sizeof digits - i);
}

char *buf_take(struct buf *b, size_t *len) {
    char *p = NULL;
    size_t n = 0;
    if (buf_reserve(b, 0)) { /* an empty buffer still gives its "" */
        p = b->p;
        n = b->len;
        p[n] = '\0';
        *b = (struct buf){.max = b->max};
    } else {
        buf_fini(b); /* what a failed buffer holds is incomplete: discard it */
    }
    if (len) *len = n;
    return p;
}
