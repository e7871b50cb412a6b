/*
 * schema_run.h: one validation while it runs: schema_validate.c for the keywords.  Layer: codec,
 * private to schema*.c.
 */
#ifndef WOPR_CODEC_SCHEMA_RUN_H
#define WOPR_CODEC_SCHEMA_RUN_H

#include "codec/schema_internal.h"

struct schema_at { /* a place in the instance, on the stack */
    const struct schema_at *up;
    const char *key; /* NULL: index */
    size_t index;
};

struct schema_seen { /* which members or elements were evaluated */
    bool all;
    size_t n;
    uint64_t *bits; /* inl, or heap when n > 128 */
    uint64_t inl[2];
};

struct schema_scope { /* dynamic scope: resources entered, innermost first */
    const struct schema_scope *up;
    const struct schema_res *res;
};

struct schema_run {
    uint64_t steps; /* left */
    unsigned depth;
    unsigned quiet; /* > 0 inside anyOf, oneOf, not, if, contains: no issue is written */
    uint64_t seed;
    const struct schema_scope *scope;
    struct schema_issue *issue;
};

struct schema_spot {
    struct json_object *v;
    unsigned type;
    const struct schema_node *node;
    const struct schema_at *at;
    struct schema_seen *seen; /* NULL: annotations are not needed */
};

/* 0, WOPR_E_VALIDATION, or a hard error that ends the whole validation. */
int schema_eval(struct schema_run *r, const struct schema_node *n, struct json_object *v,
                const struct schema_at *at, struct schema_seen *seen);
/* Write the issue (unless quiet) and return WOPR_E_VALIDATION. */
int schema_fail(struct schema_run *r, const struct schema_spot *s, const char *key, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));
/* The same for a member or an element of the instance at s. */
int schema_fail_at(struct schema_run *r, const struct schema_spot *s, const struct schema_at *at,
                   const char *key, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int schema_over(struct schema_run *r, const struct schema_spot *s); /* WOPR_E_TOO_BIG */
int schema_spend(struct schema_run *r, const struct schema_spot *s, uint64_t steps);

/* Which members or elements of v were evaluated: one bit each; of a scalar none.  NO_MEMORY, after
 * which s is usable and counts the first 128.  merge: what from has, into has, too. */
int schema_seen_init(struct schema_seen *s, struct json_object *v, unsigned type);
void schema_seen_fini(struct schema_seen *s);
void schema_seen_merge(struct schema_seen *into, const struct schema_seen *from);
static inline void schema_seen_add(struct schema_seen *s, size_t i) {
    if (s != NULL && i < s->n) s->bits[i / 64] |= (uint64_t)1 << (i % 64);
}
static inline bool schema_seen_has(const struct schema_seen *s, size_t i) {
    return s->all || (i < s->n && (s->bits[i / 64] >> (i % 64) & 1) != 0);
}

#endif
