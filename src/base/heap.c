/*
 * heap.c: binary min-heap of borrowed nodes.
 */
#include "base/heap.h"
#include "base/mem.h"
#include "base/vec.h"

enum { HEAP_FIRST_NODES = 64 };

void heap_init(struct heap *h) { *h = (struct heap){0}; }

void heap_fini(struct heap *h) {
    for (size_t i = 0; i < h->n; i++) h->v[i]->pos = 0;
    mem_free(h->v);
    heap_init(h);
}

static bool node_before(const struct heap_node *x, const struct heap_node *y) {
    return x->key != y->key ? x->key < y->key : x->order < y->order;
}

static void node_put(struct heap *h, size_t i, struct heap_node *node) {
    h->v[i] = node;
    node->pos = i + 1;
}

static void sift_up(struct heap *h, size_t i, struct heap_node *node) {
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!node_before(node, h->v[parent])) break;
        node_put(h, i, h->v[parent]);
        i = parent;
    }
    node_put(h, i, node);
}

static void sift_down(struct heap *h, size_t i, struct heap_node *node) {
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && node_before(h->v[child + 1], h->v[child])) child++;
        if (!node_before(h->v[child], node)) break;
        node_put(h, i, h->v[child]);
        i = child;
    }
    node_put(h, i, node);
}

int heap_add(struct heap *h, struct heap_node *node, int64_t key) {
    ASSERT(node->pos == 0);
    if (VEC_ROOM(h->v, h->n, h->cap, HEAP_FIRST_NODES) != 0) return WOPR_E_NO_MEMORY;
    node->key = key;
    node->order = h->next_order++;
    sift_up(h, h->n++, node);
    return WOPR_OK;
}

int heap_reserve(struct heap *h, size_t nodes) {
    while (h->cap < nodes)
        if (vec_grow(&h->v, &h->cap, sizeof *h->v, HEAP_FIRST_NODES) != 0) return WOPR_E_NO_MEMORY;
    return WOPR_OK;
}

struct heap_node *heap_min(const struct heap *h) {
    return h->n > 0 ? h->v[0] : NULL;
}

void heap_remove(struct heap *h, struct heap_node *node) {
    ASSERT(node->pos > 0 && node->pos <= h->n && h->v[node->pos - 1] == node);
    size_t i = node->pos - 1;
    node->pos = 0;
    struct heap_node *last = h->v[--h->n];
    if (last == node) return;
    if (i > 0 && node_before(last, h->v[(i - 1) / 2])) sift_up(h, i, last);
    else sift_down(h, i, last);
}

struct heap_node *heap_pop(struct heap *h) {
    struct heap_node *min = heap_min(h);
    if (min) heap_remove(h, min);
    return min;
}
