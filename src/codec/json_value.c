/*
 * json_value.c: the values of spans: strings, booleans, numbers; deep equality.
 */
#include "codec/json_scan.h"

#include <stdlib.h>

struct str json_string(struct str raw, struct arena *a) {
    if (raw.n == 0) return STR_NONE;
    const char *end = str_end(raw), *p = json_skip_space(raw.p, end);
    bool escaped;
    if (p == end || *p != '"') return STR_NONE;
    const char *q = json_string_end(p + 1, end, &escaped);
    if (!q) return STR_NONE;
    struct str content = {p + 1, (size_t)(q - p - 1)};
    return escaped ? json_content(content, true, a) : arena_str(a, content);
}

static struct str value_trimmed(struct str raw) {
    const char *p = raw.p, *end = str_end(raw);
    if (raw.n == 0) return raw;
    p = json_skip_space(p, end);
    while (end > p && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r' || end[-1] == '\t'))
        end--;
    return (struct str){p, (size_t)(end - p)};
}

bool json_bool(struct str raw, bool *out) {
    struct str s = value_trimmed(raw);
    bool yes = str_eq(s, STR("true"));
    if (!yes && !str_eq(s, STR("false"))) return false;
    *out = yes;
    return true;
}

bool json_int(struct str raw, int64_t *out) {
    struct json_num n;
    uint64_t u;
    if (!json_num_parse(value_trimmed(raw), &n) || !json_num_u64(&n, &u)) return false;
    if (u > (uint64_t)INT64_MAX + (n.minus ? 1 : 0)) return false;
    *out = !n.minus ? (int64_t)u : u > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)u;
    return true;
}

bool json_double(struct str raw, double *out) {
    struct json_num n;
    if (!json_num_parse(value_trimmed(raw), &n)) return false;
    double d = json_num_double(&n);
    if (d - d != 0) return false; /* infinite: no double holds it */
    *out = d;
    return true;
}

/* --- equality --- */

static bool equal_at(struct str x, struct str y, struct arena *a, unsigned depth);

static int by_key(const void *x, const void *y) {
    const struct json_member *a = x, *b = y;
    return str_cmp(a->key, b->key);
}

static bool objects_equal(struct str x, struct str y, struct arena *a, unsigned depth) {
    struct json_members m, n;
    if (json_members(x, a, &m, NULL) != 0 || json_members(y, a, &n, NULL) != 0) return false;
    if (m.n != n.n) return false;
    qsort(m.v, m.n, sizeof *m.v, by_key);
    qsort(n.v, n.n, sizeof *n.v, by_key);
    for (size_t i = 0; i < m.n; i++)
        if (!str_eq(m.v[i].key, n.v[i].key)) return false;
    for (size_t i = 0; i < m.n; i++)
        if (!equal_at(m.v[i].raw, n.v[i].raw, a, depth + 1)) return false;
    return true;
}

static bool arrays_equal(struct str x, struct str y, struct arena *a, unsigned depth) {
    struct json_iter i, j;
    if (!json_iter_start(&i, x, '[') || !json_iter_start(&j, y, '[')) return false;
    for (;;) {
        bool more = json_iter_next(&i);
        if (json_iter_next(&j) != more) return false;
        if (!more) return !i.bad && !j.bad;
        if (!equal_at(i.value, j.value, a, depth + 1)) return false;
    }
}

static bool strings_equal(struct str x, struct str y, struct arena *a) {
    struct str s = json_string(x, a), t = json_string(y, a);
    return s.p && t.p && str_eq(s, t);
}

static bool equal_at(struct str x, struct str y, struct arena *a, unsigned depth) {
    struct json_num n, m;
    enum json_type t = json_type_of(x);
    if (t != json_type_of(y) || depth > JSON_DEPTH_HARD_MAX) return false;
    if (str_eq(x, y)) return true;
    switch (t) {
    case JSON_OBJECT:
        return objects_equal(x, y, a, depth);
    case JSON_ARRAY:
        return arrays_equal(x, y, a, depth);
    case JSON_STRING:
        return strings_equal(x, y, a);
    case JSON_NUMBER:
        return json_num_parse(x, &n) && json_num_parse(y, &m) && json_num_equal(&n, &m);
    case JSON_BOOL:
    case JSON_NULL:
        break;
    }
    return false;
}

bool json_equal(struct str x, struct str y, struct arena *a) {
    return equal_at(value_trimmed(x), value_trimmed(y), a, 0);
}
