/*
 * spare.h: large blocks between two users.  Layer: base.
 * A fresh page costs the kernel a fault and a clearing, on a virtual machine as much as 16 us: a
 * request that fills a megabyte would wait four milliseconds for memory that the one before gave
 * back.  A program that serves (mem_serve) keeps a few blocks for the next user and gives them back
 * when none came (spare_look).  In other programs these are mem_alloc and mem_free.
 */
#ifndef WOPR_BASE_SPARE_H
#define WOPR_BASE_SPARE_H

#include <stddef.h>

/* Powers of two that are kept: below them malloc itself keeps what is freed. */
#define SPARE_BYTES_MIN ((size_t)128 << 10)
#define SPARE_BYTES_MAX ((size_t)2 << 20)
#define SPARE_KEPT_MAX  ((size_t)16 << 20) /* of all sizes together */

/* The size that a block for n bytes has best: n itself, or the kept size that holds it. */
size_t spare_size(size_t n);
/* n bytes with any content, aligned for any type.  NULL when short of memory. */
void *spare_alloc(size_t n);
void spare_free(void *p, size_t n); /* n as it was asked for; takes NULL */
/* A block of n bytes that begins with the first used ones of p, which had was bytes and is gone.
 * p: NULL, or of spare_alloc or mem_alloc.  NULL when short of memory: p stays. */
void *spare_resize(void *p, size_t was, size_t used, size_t n);
void spare_keep(void); /* from now on blocks are kept */
/* Gives back all that is kept, if nobody took a block since the last call. */
void spare_look(void);
void spare_empty(void);
size_t spare_kept(void); /* bytes, at most SPARE_KEPT_MAX */

#endif
