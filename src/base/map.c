/*
 * map.c: linear probing with backward-shift deletion, so that no tombstones pile up.
 */
#include "base/map.h"
#include "base/clock.h"
#include "base/mem.h"

enum { MAP_FIRST_SLOTS = 16 }; /* a power of two, like every later size */

struct slot {
    char *key; /* NULL = free; owned */
    size_t key_len;
    uint64_t hash;
    void *value;
};

struct map {
    struct slot *v;
    size_t cap, n;
    uint64_t seed;
};

struct map *map_new(void) {
    struct map *m = MEM_NEW(struct map);
    if (!m) return NULL;
    m->v = mem_array(MAP_FIRST_SLOTS, sizeof *m->v);
    if (!m->v) {
        mem_free(m);
        return NULL;
    }
    m->cap = MAP_FIRST_SLOTS;
    m->seed = rng_u64();
    return m;
}

void map_free(struct map *m) {
    if (!m) return;
    for (size_t i = 0; i < m->cap; i++) mem_free(m->v[i].key);
    mem_free(m->v);
    mem_free(m);
}

size_t map_count(const struct map *m) { return m->n; }

/* The slot that holds key, or the free one where it belongs.  There is always a free slot. */
static struct slot *slot_find(const struct map *m, struct str key, uint64_t hash) {
    for (size_t i = (size_t)hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct slot *s = &m->v[i];
        if (!s->key) return s;
        if (s->hash == hash && str_eq((struct str){s->key, s->key_len}, key)) return s;
    }
}

void *map_get(const struct map *m, struct str key) {
    const struct slot *s = slot_find(m, key, str_hash(key, m->seed));
    return s->key ? s->value : NULL;
}

static bool map_grow(struct map *m) {
    if (m->cap > SIZE_MAX / 2) return false;
    struct map bigger = *m;
    bigger.cap = m->cap * 2;
    bigger.v = mem_array(bigger.cap, sizeof *bigger.v);
    if (!bigger.v) return false;
    for (size_t i = 0; i < m->cap; i++) {
        const struct slot *s = &m->v[i];
        if (s->key) *slot_find(&bigger, (struct str){s->key, s->key_len}, s->hash) = *s;
    }
    mem_free(m->v);
    *m = bigger;
    return true;
}

int map_put(struct map *m, struct str key, void *value, void **old) {
    uint64_t hash = str_hash(key, m->seed);
    struct slot *s = slot_find(m, key, hash);
    if (s->key) {
        if (old) *old = s->value;
        s->value = value;
        return WOPR_OK;
    }
    if (m->n + 1 > m->cap / 4 * 3) {
        if (!map_grow(m)) return WOPR_E_NO_MEMORY;
        s = slot_find(m, key, hash);
    }
    char *copy = mem_strndup(key.p, key.n);
    if (!copy) return WOPR_E_NO_MEMORY;
    *s = (struct slot){copy, key.n, hash, value};
    m->n++;
    if (old) *old = NULL;
    return WOPR_OK;
}

void *map_del(struct map *m, struct str key) {
    struct slot *s = slot_find(m, key, str_hash(key, m->seed));
    if (!s->key) return NULL;
    void *value = s->value;
    mem_free(s->key);
    m->n--;
    /* Move later members of the same probe run into the hole, or look-ups would stop at it. */
    size_t hole = (size_t)(s - m->v), mask = m->cap - 1;
    for (size_t i = (hole + 1) & mask; m->v[i].key; i = (i + 1) & mask) {
        size_t home = (size_t)m->v[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->v[hole] = m->v[i];
            hole = i;
        }
    }
    m->v[hole] = (struct slot){0};
    return value;
}

bool map_next(const struct map *m, size_t *it, struct str *key, void **value) {
    while (*it < m->cap) {
        const struct slot *s = &m->v[(*it)++];
        if (!s->key) continue;
        if (key) *key = (struct str){s->key, s->key_len};
        if (value) *value = s->value;
        return true;
    }
    return false;
}
