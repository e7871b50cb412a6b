/* due_tree.c: see due_tree.h.  Place 1 is the root, those below place i are 2i and 2i + 1. */
#include "domain/due_tree.h"

#define NEVER INT64_MAX

struct due_tree {
    size_t leaves; /* a power of two */
    int64_t at_ms[];
};

struct due_tree *due_tree_new(struct arena *a, size_t n) {
    size_t leaves = 1;
    while (leaves < n) leaves *= 2;
    struct due_tree *t = arena_alloc(a, sizeof *t + 2 * leaves * sizeof t->at_ms[0]);
    if (!t) return NULL;
    t->leaves = leaves;
    for (size_t i = 0; i < 2 * leaves; i++) t->at_ms[i] = NEVER;
    return t;
}

void due_tree_set(struct due_tree *t, int node, int64_t at_ms) {
    if (!t) return;
    size_t i = t->leaves + (size_t)node;
    t->at_ms[i] = at_ms > 0 ? at_ms : NEVER;
    for (i /= 2; i > 0; i /= 2) {
        int64_t x = t->at_ms[2 * i], y = t->at_ms[2 * i + 1];
        t->at_ms[i] = x < y ? x : y;
    }
}

int64_t due_tree_earliest(const struct due_tree *t) {
    return t && t->at_ms[1] != NEVER ? t->at_ms[1] : -1;
}

int due_tree_first(const struct due_tree *t, int64_t now_ms) {
    size_t i = 1;
    if (!t || t->at_ms[1] == NEVER || t->at_ms[1] > now_ms) return -1;
    while (i < t->leaves) i = t->at_ms[2 * i] <= now_ms ? 2 * i : 2 * i + 1;
    return (int)(i - t->leaves);
}
