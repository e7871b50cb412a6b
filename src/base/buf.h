/*
 * buf.h: growable byte buffer with a maximum.  Layer: base.
 * The first failure sticks (buf_failed); later appends do nothing.  Always NUL-terminated past len.
 */
#ifndef WOPR_BASE_BUF_H
#define WOPR_BASE_BUF_H

#include "base/error.h"
#include "base/str.h"

struct buf {
    char *p;
    size_t len, cap, max;
    bool failed, over;
};
void buf_init(struct buf *b, size_t max); /* caller's storage; allocates nothing, cannot fail */
void buf_fini(struct buf *b);             /* frees, leaves it initialised and empty */
void buf_reset(struct buf *b);            /* len = 0, not failed, memory kept */
/* Appends.  The first failure (no memory, or beyond max) sticks: text stays as it was, later ones
 * have no effect, so a builder checks once at its end. */
bool buf_failed(const struct buf *b);
bool buf_over(const struct buf *b); /* it failed because of its maximum, not for want of memory */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, struct str s);
void buf_addz(struct buf *b, const char *z);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_add_u64(struct buf *b, uint64_t v);
void buf_add_i64(struct buf *b, int64_t v);
static inline struct str buf_str(const struct buf *b) {
    return (struct str){b->p ? b->p : "", b->len};
}
/* The text, now the caller's (mem_free), and its length (len may be NULL); b is empty after.  NULL
 * when b has failed. */
char *buf_take(struct buf *b, size_t *len);

#endif
