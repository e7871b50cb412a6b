/*
 * heap.h: intrusive binary min-heap ordered by a 64-bit key (deadlines).  Layer: base.
 * Equal keys leave in insertion order.  Not thread-safe.
 */
#ifndef WOPR_BASE_HEAP_H
#define WOPR_BASE_HEAP_H

#include "base/error.h"
#include <stdint.h>

struct heap_node {
    int64_t key;
    uint64_t order; /* set by heap_add */
    size_t pos;     /* 0 = not in a heap, else index + 1 */
};
struct heap {
    struct heap_node **v;
    size_t n, cap;
    uint64_t next_order;
};
void heap_init(struct heap *h);
void heap_fini(struct heap *h); /* nodes belong to the caller */
/* node must be in no heap, and stays the caller's.  NO_MEMORY: unchanged. */
MUST_CHECK int heap_add(struct heap *h, struct heap_node *node, int64_t key);
/* Until there are so many nodes, heap_add does not fail. */
MUST_CHECK int heap_reserve(struct heap *h, size_t nodes);
struct heap_node *heap_min(const struct heap *h); /* NULL when empty */
struct heap_node *heap_pop(struct heap *h);
void heap_remove(struct heap *h, struct heap_node *node); /* node must be in h */

#endif
