/*
 * map.h: hash map from byte strings to pointers.  Layer: base.
 * Open addressing, seeded hash (no collision attacks).  Keys are copied.  Not thread-safe.
 */
#ifndef WOPR_BASE_MAP_H
#define WOPR_BASE_MAP_H

#include "base/error.h"
#include "base/str.h"

struct map;
struct map *map_new(void);    /* NULL when memory is short */
void map_free(struct map *m); /* does not free values; takes NULL */
size_t map_count(const struct map *m);
void *map_get(const struct map *m, struct str key); /* NULL when absent */
/* Insert or replace; *old: the value replaced, or NULL (old itself may be NULL).  NO_MEMORY: no
 * change. */
MUST_CHECK int map_put(struct map *m, struct str key, void *value, void **old);
void *map_del(struct map *m, struct str key); /* the value removed, or NULL */
/* Iterate: start with *it = 0; false at the end.  The map must not change meanwhile. */
bool map_next(const struct map *m, size_t *it, struct str *key, void **value);

#endif
