/*
 * json_value.c: what strings mean, Unicode checks, and deep equality.
 */
#include "codec/json_scan.h"

#include <stdlib.h>

/* --- UTF-8 --- */

size_t utf8_sequence(const char *p, size_t n) {
    const unsigned char *z = (const unsigned char *)p;
    if (n == 0) return 0;
    if (z[0] < 0x80) return 1;
    if (z[0] < 0xC2 || z[0] > 0xF4) return 0; /* continuation, overlong, beyond U+10FFFF */
    size_t need = z[0] < 0xE0 ? 2 : z[0] < 0xF0 ? 3 : 4;
    if (n < need) return 0;
    unsigned char min = 0x80, max = 0xBF;
    if (z[0] == 0xE0) min = 0xA0;
    if (z[0] == 0xED) max = 0x9F; /* surrogates */
    if (z[0] == 0xF0) min = 0x90;
    if (z[0] == 0xF4) max = 0x8F;
    if (z[1] < min || z[1] > max) return 0;
    for (size_t i = 2; i < need; i++)
        if ((z[i] & 0xC0) != 0x80) return 0;
    return need;
}

bool utf8_valid(struct str s) {
    for (size_t i = 0, n; i < s.n; i += n) {
        n = utf8_sequence(s.p + i, s.n - i);
        if (n == 0) return false;
    }
    return true;
}

size_t utf8_count(struct str s) {
    size_t count = 0;
    for (size_t i = 0; i < s.n; i++) count += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return count;
}

static size_t utf8_put(unsigned cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

/* --- strings --- */

static bool hex4(const char *p, const char *end, unsigned *out) {
    unsigned v = 0;
    if (end - p < 4) return false;
    for (int i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i];
        unsigned d = c - '0' <= 9 ? c - '0' : (c | 0x20) - 'a' <= 5 ? (c | 0x20) - 'a' + 10 : 16;
        if (d > 15) return false;
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

static size_t unescape_u(const char **p, const char *end, char out[4]) {
    unsigned hi, lo;
    const char *q = *p + 2;
    if (!hex4(q, end, &hi)) return 0;
    q += 4;
    if (hi >= 0xD800 && hi <= 0xDFFF) {
        bool pair = hi <= 0xDBFF && end - q >= 6 && q[0] == '\\' && q[1] == 'u' &&
                    hex4(q + 2, end, &lo) && lo >= 0xDC00 && lo <= 0xDFFF;
        if (!pair) return 0;
        hi = 0x10000 + ((hi - 0xD800) << 10) + (lo - 0xDC00);
        q += 6;
    }
    *p = q;
    return utf8_put(hi, out);
}

size_t json_unescape(const char **p, const char *end, char out[4]) {
    static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
    const char *q = *p;
    if (q >= end) return 0;
    if (*q != '\\') {
        out[0] = *q;
        *p = q + 1;
        return 1;
    }
    if (end - q < 2) return 0;
    if (q[1] == 'u') return unescape_u(p, end, out);
    const char *hit = q[1] ? strchr(FROM, q[1]) : NULL;
    if (!hit) return 0;
    out[0] = TO[hit - FROM];
    *p = q + 2;
    return 1;
}

bool json_content_eq(struct str content, bool escaped, struct str plain) {
    if (!escaped) return str_eq(content, plain);
    if (content.n < plain.n) return false; /* escapes are never shorter than what they mean */
    const char *p = content.p, *end = p + content.n;
    size_t at = 0;
    char u[4];
    for (size_t n; (n = json_unescape(&p, end, u)) > 0; at += n)
        if (n > plain.n - at || memcmp(u, plain.p + at, n) != 0) return false;
    return at == plain.n && p == end;
}

/* Unescape into out, which has room for content.n bytes. */
static size_t unescape_all(struct str content, char *out) {
    const char *p = content.p, *end = p + content.n;
    size_t len = 0;
    char u[4];
    while (p < end) {
        size_t run = json_plain_run(p, (size_t)(end - p));
        memcpy(out + len, p, run);
        len += run;
        p += run;
        size_t n = json_unescape(&p, end, u);
        if (n == 0) break;
        memcpy(out + len, u, n);
        len += n;
    }
    return len;
}

struct str json_content(struct str content, bool escaped, struct arena *a) {
    if (!escaped) return content;
    char *out = arena_alloc(a, content.n + 1);
    return out ? (struct str){out, unescape_all(content, out)} : STR_NONE;
}

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
