/*
 * json_index.c: one pass over the text notes, for every container that turns out to be large, a
 * table of its members by the hash of their names, or the places of some of its elements.
 *
 * While containers are open, their notes lie on one stack: those of an inner one are above those of
 * the outer one, and are gone, or in their table, when the outer one notes its next.
 */
#include "codec/json_index.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "codec/json_scan.h"

#include <stdlib.h>

enum {
    MARK_ELEMENTS = 64, /* of an array between two marks, at most */
    MARK_BYTES = 1024,  /* or so many bytes, unless one element has more */
    HASH_READ = 16      /* bytes that a slot of a table stands for */
};

struct container {       /* a large one */
    uint32_t start, end; /* offsets into the text */
    size_t first, nr;    /* its words: slots of names, or marks */
    bool object;
};
struct mark {
    uint32_t index, at; /* the element that begins there, before its white space */
};
struct level { /* an open container */
    uint32_t start;
    size_t notes; /* of the stack below its own */
    bool object, wants_name;
    struct mark last, now; /* array: the last mark, and the element at hand */
};
struct json_index {
    struct str text;
    uint64_t seed;
    struct container *v; /* by start */
    size_t n, cap;
    uint32_t *words; /* objects: offset of a name's first byte, 0 = free; arrays: struct mark */
    size_t words_nr, words_cap;
};
struct build {
    struct json_index *x;
    uint32_t *notes;
    size_t notes_nr, notes_cap;
    struct level open[JSON_DEPTH_HARD_MAX];
    size_t depth;
};

/* --- names --- */

/* The bytes that a name at p means are those of token; *after: behind its closing quote. */
static bool name_is(const char *p, const char *end, struct str token, const char **after,
                    uint64_t *read) {
    const char *from = p;
    size_t at = 0;
    bool same = true;
    while (same && p < end && *p != '"') {
        char unit[4];
        size_t n = json_unescape(&p, end, unit);
        same = n > 0 && n <= token.n - at && memcmp(unit, token.p + at, n) == 0;
        at += same ? n : 0;
    }
    *read += (uint64_t)(p - from) + HASH_READ;
    *after = p < end ? p + 1 : end;
    return same && p < end && at == token.n;
}

static int name_hash(const struct json_index *x, uint32_t at, uint64_t *hash) {
    const char *p = x->text.p + at, *end = str_end(x->text);
    bool escaped;
    const char *q = json_string_end(p, end, &escaped);
    struct buf plain;
    if (!q) return WOPR_E_SYNTAX;
    if (!escaped) {
        *hash = str_hash(str_n(p, (size_t)(q - p)), x->seed);
        return 0;
    }
    buf_init(&plain, x->text.n);
    for (char unit[4]; p < q;) {
        size_t n = json_unescape(&p, q, unit);
        if (n == 0) break;
        buf_add(&plain, unit, n);
    }
    *hash = str_hash(buf_str(&plain), x->seed);
    int rc = buf_failed(&plain) ? WOPR_E_NO_MEMORY : 0;
    buf_fini(&plain);
    return rc;
}

/* --- building --- */

static int words_room(struct json_index *x, size_t n) {
    if (x->words_cap - x->words_nr >= n) return 0;
    size_t cap = x->words_cap * 2 > x->words_nr + n ? x->words_cap * 2 : x->words_nr + n;
    uint32_t *v = mem_realloc(x->words, cap * sizeof *v);
    if (!v) return WOPR_E_NO_MEMORY;
    x->words = v;
    x->words_cap = cap;
    return 0;
}

static int names_keep(struct build *b, const uint32_t *names, size_t nr, struct container *c) {
    struct json_index *x = b->x;
    c->nr = 1;
    while (c->nr < nr + nr / 2 + 1) c->nr *= 2;
    if (words_room(x, c->nr) != 0) return WOPR_E_NO_MEMORY;
    uint32_t *table = x->words + x->words_nr;
    memset(table, 0, c->nr * sizeof *table);
    for (size_t i = 0; i < nr; i++) {
        uint64_t hash = 0;
        int rc = name_hash(x, names[i], &hash);
        if (rc != 0) return rc;
        size_t slot = (size_t)hash & (c->nr - 1);
        while (table[slot] != 0) slot = (slot + 1) & (c->nr - 1);
        table[slot] = names[i];
    }
    return 0;
}

static int marks_keep(struct build *b, const uint32_t *marks, size_t nr, struct container *c) {
    c->nr = nr;
    if (words_room(b->x, nr) != 0) return WOPR_E_NO_MEMORY;
    if (nr > 0) memcpy(b->x->words + b->x->words_nr, marks, nr * sizeof *marks);
    return 0;
}

static int note_add(struct build *b, uint32_t word) {
    if (VEC_ROOM(b->notes, b->notes_nr, b->notes_cap, 256) != 0) return WOPR_E_NO_MEMORY;
    b->notes[b->notes_nr++] = word;
    return 0;
}

static int level_open(struct build *b, uint32_t at, bool object) {
    if (b->depth == JSON_DEPTH_HARD_MAX) return WOPR_E_TOO_BIG;
    b->open[b->depth++] = (struct level){.start = at,
                                         .notes = b->notes_nr,
                                         .object = object,
                                         .wants_name = object,
                                         .last = {.at = at + 1},
                                         .now = {.at = at + 1}};
    return 0;
}

static int level_close(struct build *b, uint32_t end) {
    if (b->depth == 0) return WOPR_E_SYNTAX;
    struct json_index *x = b->x;
    const struct level *l = &b->open[--b->depth];
    size_t nr = b->notes_nr - l->notes;
    int rc = 0;
    b->notes_nr = l->notes;
    if (end - l->start < JSON_INDEX_FROM) return 0;
    struct container c = {.start = l->start, .end = end, .first = x->words_nr, .object = l->object};
    if (VEC_ROOM(x->v, x->n, x->cap, 8) != 0) return WOPR_E_NO_MEMORY;
    rc = (l->object ? names_keep : marks_keep)(b, b->notes + l->notes, nr, &c);
    if (rc != 0) return rc;
    x->words_nr += c.nr;
    x->v[x->n++] = c;
    return 0;
}

/* A comma: a name follows, or an element, which is marked when the last mark is far. */
static int level_next(struct build *b, uint32_t at) {
    if (b->depth == 0) return WOPR_E_SYNTAX;
    struct level *l = &b->open[b->depth - 1];
    l->wants_name = l->object;
    if (l->object) return 0;
    l->now = (struct mark){l->now.index + 1, at + 1};
    if (l->now.index - l->last.index < MARK_ELEMENTS && at + 1 - l->last.at < MARK_BYTES) return 0;
    l->last = l->now;
    int rc = note_add(b, l->now.index);
    return rc == 0 ? note_add(b, l->now.at) : rc;
}

/* At a quote: over the string, which is noted when it is a name. */
static int string_take(struct build *b, const char **p, const char *end) {
    struct level *l = b->depth > 0 ? &b->open[b->depth - 1] : NULL;
    const char *content = *p + 1;
    bool escaped;
    const char *q = json_string_end(content, end, &escaped);
    if (!q) return WOPR_E_SYNTAX;
    *p = q + 1;
    if (!l || !l->wants_name) return 0;
    l->wants_name = false;
    return note_add(b, (uint32_t)(content - b->x->text.p));
}

static int text_walk(struct build *b) {
    const struct str text = b->x->text;
    const char *end = str_end(text);
    int rc = 0;
    for (const char *p = text.p; rc == 0 && p < end;) {
        uint32_t at = (uint32_t)(p - text.p);
        char c = *p;
        if (c == '"') {
            rc = string_take(b, &p, end);
            continue;
        }
        p++;
        if (c == '{' || c == '[') rc = level_open(b, at, c == '{');
        else if (c == '}' || c == ']') rc = level_close(b, at + 1);
        else if (c == ',') rc = level_next(b, at);
    }
    return rc == 0 && b->depth > 0 ? WOPR_E_SYNTAX : rc;
}

static int by_start(const void *x, const void *y) {
    uint32_t a = ((const struct container *)x)->start, b = ((const struct container *)y)->start;
    return (a > b) - (a < b);
}

struct json_index *json_index_new(struct str text) {
    if (text.n >= UINT32_MAX) return NULL;
    struct json_index *x = MEM_NEW(struct json_index);
    struct build *b = MEM_NEW(struct build);
    int rc = WOPR_E_NO_MEMORY;
    if (x && b) {
        x->text = text;
        x->seed = rng_u64();
        b->x = x;
        rc = text_walk(b);
    }
    if (b) mem_free(b->notes);
    mem_free(b);
    if (rc != 0) {
        json_index_free(x);
        return NULL;
    }
    if (x->n > 1) qsort(x->v, x->n, sizeof *x->v, by_start);
    return x;
}

void json_index_free(struct json_index *x) {
    if (!x) return;
    mem_free(x->v);
    mem_free(x->words);
    mem_free(x);
}

/* --- looking up --- */

static const struct container *container_at(const struct json_index *x, const char *p) {
    uint32_t at = (uint32_t)(p - x->text.p);
    size_t low = 0, high = x->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (x->v[mid].start < at) low = mid + 1;
        else high = mid;
    }
    return low < x->n && x->v[low].start == at ? &x->v[low] : NULL;
}

static const char *member_find(const struct json_index *x, const struct container *c,
                               struct str token, uint64_t *read) {
    const uint32_t *table = x->words + c->first;
    const char *end = str_end(x->text), *after;
    size_t slot = (size_t)str_hash(token, x->seed) & (c->nr - 1);
    for (; table[slot] != 0; slot = (slot + 1) & (c->nr - 1)) {
        if (!name_is(x->text.p + table[slot], end, token, &after, read)) continue;
        after = json_skip_space(after, end); /* at the colon */
        return after < end ? json_skip_space(after + 1, end) : NULL;
    }
    return NULL;
}

/* From the last mark at or before the element. */
static const char *element_find(const struct json_index *x, const struct container *c,
                                uint64_t want, uint64_t *read) {
    const uint32_t *marks = x->words + c->first;
    size_t low = 0, high = c->nr / 2;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (marks[2 * mid] <= want) low = mid + 1;
        else high = mid;
    }
    uint64_t index = low > 0 ? marks[2 * low - 2] : 0;
    const char *p = x->text.p + (low > 0 ? marks[2 * low - 1] : c->start + 1), *from = p;
    const char *end = x->text.p + c->end - 1; /* at the bracket */
    p = json_skip_space(p, end);
    for (; p && p < end && index < want; index++) {
        p = json_value_end(p, end);
        if (p) p = json_skip_space(p, end);
        if (p && p < end) p = json_skip_space(p + 1, end); /* over the comma */
    }
    *read += (uint64_t)((p ? p : end) - from) + HASH_READ;
    return p && p < end ? p : NULL;
}

bool json_index_step(const struct json_index *x, const char *p, struct str token, const char **to,
                     uint64_t *read) {
    const struct container *c = container_at(x, p);
    uint64_t want;
    if (!c) return false;
    if (c->object) *to = member_find(x, c, token, read);
    else *to = json_index_token(token, &want) ? element_find(x, c, want, read) : NULL;
    return true;
}

bool json_index_end(const struct json_index *x, const char *p, const char **end) {
    const struct container *c = container_at(x, p);
    if (c) *end = x->text.p + c->end;
    return c != NULL;
}
