/*
 * json_canonical.c: RFC 8785, straight from checked text, and a form of it that merges no two
 * numbers.
 */
#include "base/mem.h"
#include "codec/json_scan.h"

#include <stdio.h>
#include <stdlib.h>

/* Per byte of text: a member takes at least 5 bytes of text and at most two slots in the arena. */
enum { ARENA_PER_BYTE = 64, ARENA_SPARE_BYTES = 1 << 16 };

struct canon {
    struct arena *a; /* member lists; all of them live until the end */
    struct buf *b;
    bool too_big; /* why b failed */
    bool exact;   /* a number that no double holds keeps its digits */
    struct wopr_error *err;
};

static void canonical_put(struct canon *c, const char *p, size_t n) {
    if (!c->b->failed && n > c->b->max - c->b->len) c->too_big = true;
    buf_add(c->b, p, n);
}

/* UTF-16 code unit order on UTF-8: bytewise, but surrogates (4-byte sequences) sort
 * below U+E000. */
static int utf16_cmp(struct str x, struct str y) {
    size_t n = x.n < y.n ? x.n : y.n, i = 0;
    while (i < n && x.p[i] == y.p[i]) i++;
    if (i == n) return (x.n > y.n) - (x.n < y.n);
    unsigned char a = (unsigned char)x.p[i], b = (unsigned char)y.p[i];
    if (a >= 0xF0 && (b == 0xEE || b == 0xEF)) return -1;
    if (b >= 0xF0 && (a == 0xEE || a == 0xEF)) return 1;
    return a < b ? -1 : 1;
}

static int by_utf16(const void *x, const void *y) {
    const struct json_member *a = x, *b = y;
    return utf16_cmp(a->key, b->key);
}

static void put_key(struct canon *c, struct str key) {
    size_t before = c->b->len;
    json_quote(c->b, key);
    /* json_quote does not say why it failed: without room for six bytes a character, it was
     * size. */
    if (c->b->failed && key.n * 6 + 2 > c->b->max - before) c->too_big = true;
}

static void put_string(struct canon *c, struct str raw) {
    bool escaped;
    const char *end = str_end(raw), *q = json_string_end(raw.p + 1, end, &escaped);
    if (!q || !escaped) { /* without escapes the spelling is canonical already */
        canonical_put(c, raw.p, raw.n);
        return;
    }
    const char *p = raw.p + 1;
    char u[4];
    canonical_put(c, "\"", 1);
    for (size_t n; (n = json_unescape(&p, q, u)) > 0;) {
        unsigned char b = (unsigned char)u[0];
        if (n > 1 || (b >= 0x20 && b != '"' && b != '\\')) {
            canonical_put(c, u, n);
            continue;
        }
        char esc[16];
        struct buf one = {.p = esc, .cap = sizeof esc, .max = sizeof esc - 1};
        json_quote(&one, (struct str){u, 1}); /* with quotes: cut them */
        canonical_put(c, one.p + 1, one.len - 2);
    }
    canonical_put(c, "\"", 1);
}

/* Sign, digits without the zeros around them, exponent: one spelling of every decimal. */
static void put_decimal(struct canon *c, const struct json_num *n) {
    char text[32];
    if (n->minus) canonical_put(c, "-", 1);
    canonical_put(c, "0.", 2);
    for (const char *p = n->first; p <= n->last; p++)
        if (*p != '.') canonical_put(c, p, 1);
    int len = snprintf(text, sizeof text, "e%lld", (long long)n->point);
    canonical_put(c, text, (size_t)len);
}

/* Is the shortest text of the double the same number? */
static bool same_number(const struct json_num *n, const char *text, size_t len) {
    struct json_num back;
    return json_num_parse(str_n(text, len), &back) && json_num_equal(n, &back);
}

static int put_number_exactly(struct canon *c, struct str raw) {
    struct json_num n;
    char text[32];
    double d;
    if (!json_num_parse(raw, &n))
        return wopr_error_set(c->err, WOPR_E_SYNTAX, "JSON: not a number");
    bool held = json_double(raw, &d);
    size_t len = held ? json_number_format(d, text) : 0;
    if (n.zero) canonical_put(c, "0", 1);
    else if (held && same_number(&n, text, len)) canonical_put(c, text, len);
    else put_decimal(c, &n);
    return WOPR_OK;
}

static int put_number(struct canon *c, struct str raw) {
    double d;
    char text[32];
    if (c->exact) return put_number_exactly(c, raw);
    if (!json_double(raw, &d))
        return wopr_error_set(c->err, WOPR_E_SYNTAX,
                              "JSON: a number is outside the range of an IEEE 754 double");
    canonical_put(c, text, json_number_format(d, text));
    return WOPR_OK;
}

static int canon_value(struct canon *c, struct str raw, unsigned depth);

static int canon_object(struct canon *c, struct str raw, unsigned depth) {
    struct json_members m;
    int rc = json_members(raw, c->a, &m, c->err);
    if (rc != 0) return rc;
    qsort(m.v, m.n, sizeof *m.v, by_utf16);
    canonical_put(c, "{", 1);
    for (size_t i = 0; i < m.n; i++) {
        if (i > 0) canonical_put(c, ",", 1);
        put_key(c, m.v[i].key);
        canonical_put(c, ":", 1);
        rc = canon_value(c, m.v[i].raw, depth + 1);
        if (rc != 0) return rc;
    }
    canonical_put(c, "}", 1);
    return WOPR_OK;
}

static int canon_array(struct canon *c, struct str raw, unsigned depth) {
    struct json_iter it;
    if (!json_iter_start(&it, raw, '[')) return WOPR_E_SYNTAX;
    canonical_put(c, "[", 1);
    for (bool first = true; json_iter_next(&it); first = false) {
        if (!first) canonical_put(c, ",", 1);
        int rc = canon_value(c, it.value, depth + 1);
        if (rc != 0) return rc;
    }
    canonical_put(c, "]", 1);
    return WOPR_OK;
}

static int canon_value(struct canon *c, struct str raw, unsigned depth) {
    if (depth > JSON_DEPTH_HARD_MAX)
        return wopr_error_set(c->err, WOPR_E_TOO_BIG, "JSON: too many nested containers");
    if (c->b->failed) return WOPR_OK; /* reported once, at the end */
    switch (json_type_of(raw)) {
    case JSON_OBJECT:
        return canon_object(c, raw, depth);
    case JSON_ARRAY:
        return canon_array(c, raw, depth);
    case JSON_NUMBER:
        return put_number(c, raw);
    case JSON_STRING:
        put_string(c, raw);
        break;
    case JSON_BOOL:
    case JSON_NULL:
        canonical_put(c, raw.p, raw.n);
        break;
    }
    return WOPR_OK;
}

static int canonical_write(struct str text, bool exact, struct buf *b, struct wopr_error *err) {
    size_t start = b->len;
    if (b->failed)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "JSON: the output buffer has failed before");
    struct canon c = {.b = b, .exact = exact, .err = err};
    int rc = WOPR_E_NO_MEMORY;
    struct str root = STR_NONE;
    if (text.n > (SIZE_MAX - ARENA_SPARE_BYTES) / ARENA_PER_BYTE) goto fail;
    c.a = arena_new(text.n * ARENA_PER_BYTE + ARENA_SPARE_BYTES);
    if (!c.a) {
        wopr_error_set(err, rc, "JSON: out of memory");
        goto fail;
    }
    root = json_pointer_get(text, STR(""), c.a); /* without the white space around it */
    rc = root.p ? canon_value(&c, root, 0)
                : wopr_error_set(err, WOPR_E_SYNTAX, "JSON: the text is empty");
    if (rc != 0) goto fail;
    if (b->failed) {
        rc = wopr_error_set(err, c.too_big ? WOPR_E_TOO_BIG : WOPR_E_NO_MEMORY,
                            c.too_big ? "JSON: the canonical form exceeds %zu bytes"
                                      : "JSON: out of memory (limit %zu bytes)",
                            b->max);
        goto fail;
    }
    arena_free(c.a);
    return WOPR_OK;
fail:
    if (b->p) b->p[start] = '\0';
    b->len = start;
    arena_free(c.a);
    return rc;
}

int json_canonical(struct str text, struct buf *b, struct wopr_error *err) {
    return canonical_write(text, false, b, err);
}

int json_canonical_exact(struct str text, struct buf *b, struct wopr_error *err) {
    return canonical_write(text, true, b, err);
}
