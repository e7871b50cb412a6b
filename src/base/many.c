/*
 * many.c: many texts looked for in one pass; see many.h.
 */
#include "base/many.h"

#include <string.h>

enum {
    BUCKET_BITS = 12,
    FILTER_BITS = 16,
    CHAIN_LOOK = 32, /* entries counted when a window is chosen */
    CHOICES = 5
};

struct entry {
    struct str text;
    size_t at;     /* of its window */
    uint32_t next; /* in its bucket, +1; 0 = the last */
};
struct many {
    struct arena *a;
    unsigned window;
    struct entry *v;
    size_t n, cap;
    uint32_t heads[1u << BUCKET_BITS]; /* +1; 0 = empty */
    uint8_t filter[(1u << FILTER_BITS) / 8];
};

struct many *many_new(struct arena *a, unsigned window) {
    struct many *m = ARENA_NEW(a, struct many);
    ASSERT(window >= 1 && window <= MANY_WINDOW_MAX);
    if (!m) return NULL;
    memset(m, 0, sizeof *m);
    m->a = a;
    m->window = window;
    return m;
}

size_t many_nr(const struct many *m) { return m->n; }

static uint64_t window_hash(const struct many *m, const char *p) {
    uint64_t v = 0;
    memcpy(&v, p, m->window);
    v *= UINT64_C(0x9e3779b97f4a7c15);
    v ^= v >> 29;
    return v * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint32_t bucket_of(uint64_t hash) { return (uint32_t)(hash >> (64 - BUCKET_BITS)); }
static uint32_t filter_of(uint64_t hash) {
    return (uint32_t)(hash >> (64 - BUCKET_BITS - FILTER_BITS)) & ((1u << FILTER_BITS) - 1);
}

static unsigned chain_length(const struct many *m, uint32_t bucket) {
    unsigned n = 0;
    for (uint32_t i = m->heads[bucket]; i != 0 && n < CHAIN_LOOK; i = m->v[i - 1].next) n++;
    return n;
}

/* Texts often begin or end alike. */
static size_t window_choose(const struct many *m, struct str text) {
    size_t last = text.n - m->window, best = 0;
    unsigned least = CHAIN_LOOK + 1;
    for (size_t i = 0; i < CHOICES && least > 0; i++) {
        size_t at = last * i / (CHOICES - 1);
        unsigned n = chain_length(m, bucket_of(window_hash(m, text.p + at)));
        if (n >= least) continue;
        least = n;
        best = at;
    }
    return best;
}

int many_add(struct many *m, struct str text) {
    ASSERT(text.n >= m->window);
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 16;
        struct entry *v = ARENA_ARRAY(m->a, struct entry, cap);
        if (!v) return WOPR_E_NO_MEMORY;
        if (m->n > 0) memcpy(v, m->v, m->n * sizeof *v);
        m->v = v;
        m->cap = cap;
    }
    size_t at = window_choose(m, text);
    uint64_t hash = window_hash(m, text.p + at);
    uint32_t bucket = bucket_of(hash), bit = filter_of(hash);
    m->v[m->n] = (struct entry){.text = text, .at = at, .next = m->heads[bucket]};
    m->heads[bucket] = (uint32_t)++m->n;
    m->filter[bit / 8] |= (uint8_t)(1u << bit % 8);
    return 0;
}

void many_begin(struct many_scan *s, const struct many *m, struct str in, uint64_t work) {
    *s = (struct many_scan){.many = m, .in = in, .work = work};
}

/* The first entry of the next window that may be one of theirs; false: there is none. */
static bool window_next(struct many_scan *s) {
    const struct many *m = s->many;
    for (; s->at + m->window <= s->in.n; s->at++) {
        uint64_t hash = window_hash(m, s->in.p + s->at);
        uint32_t bit = filter_of(hash);
        if ((m->filter[bit / 8] & (1u << bit % 8)) == 0) continue;
        s->next = m->heads[bucket_of(hash)];
        if (s->next != 0) return true;
    }
    return false;
}

static bool entry_here(struct many_scan *s, const struct entry *e) {
    if (s->at < e->at || s->in.n - (s->at - e->at) < e->text.n) return false;
    const char *p = s->in.p + (s->at - e->at);
    if (memcmp(s->in.p + s->at, e->text.p + e->at, s->many->window) != 0) return false;
    if (s->work < e->text.n) s->spent = true;
    else s->work -= e->text.n;
    return !s->spent && memcmp(p, e->text.p, e->text.n) == 0;
}

bool many_next(struct many_scan *s, size_t *start, size_t *n) {
    if (s->many->n == 0 || s->in.n < s->many->window) return false;
    while (!s->spent) {
        if (s->next == 0 && !window_next(s)) return false;
        const struct entry *e = &s->many->v[s->next - 1];
        bool found = entry_here(s, e);
        *start = found ? s->at - e->at : 0;
        *n = e->text.n;
        s->next = e->next;
        if (s->work-- == 0) s->spent = true;
        if (s->next == 0) s->at++;
        if (found) return true;
    }
    return false;
}
