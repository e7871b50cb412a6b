/*
 * json_span.c: cutting checked text into raw spans.
 */
#include "codec/json_scan.h"

#include <stdlib.h>

enum { SPANS_ON_STACK = 32 };

/* --- scanning --- */

size_t json_plain_run(const char *p, size_t n) {
    const uint64_t ones = 0x0101010101010101u;
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t w;
        memcpy(&w, p + i, 8);
        /* Sets the high bit of each byte that is below 0x20, a quote, a backslash, or not ASCII. */
        uint64_t hit =
            w | (w - ones * 0x20) | ((w ^ ones * '"') - ones) | ((w ^ ones * '\\') - ones);
        if (hit & (ones << 7)) break;
    }
    for (; i < n; i++) {
        unsigned char b = (unsigned char)p[i];
        if (b < 0x20 || b >= 0x80 || b == '"' || b == '\\') break;
    }
    return i;
}

const char *json_skip_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
    return p;
}

const char *json_string_end(const char *p, const char *end, bool *escaped) {
    *escaped = false;
    for (;;) {
        p += json_plain_run(p, (size_t)(end - p));
        if (p == end) return NULL;
        if (*p == '"') return p;
        if (*p == '\\') {
            *escaped = true;
            if (end - p < 2) return NULL;
            p++;
        }
        p++;
    }
}

static const char *skip_container(const char *p, const char *end) {
    size_t depth = 0;
    bool escaped;
    for (; p < end; p++) {
        switch (*p) {
        case '"':
            p = json_string_end(p + 1, end, &escaped);
            if (!p) return NULL;
            break;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (--depth == 0) return p + 1;
            break;
        default:
            break;
        }
    }
    return NULL;
}

const char *json_value_end(const char *p, const char *end) {
    if (p == end) return NULL;
    if (*p == '{' || *p == '[') return skip_container(p, end);
    if (*p == '"') {
        bool escaped;
        p = json_string_end(p + 1, end, &escaped);
        return p ? p + 1 : NULL;
    }
    const char *start = p;
    while (p < end && *p != ',' && *p != ']' && *p != '}' && *p != ' ' && *p != '\n' &&
           *p != '\r' && *p != '\t')
        p++;
    return p > start ? p : NULL;
}

/* --- iteration --- */

bool json_iter_start(struct json_iter *it, struct str text, char open) {
    *it = (struct json_iter){.first = true, .object = open == '{'};
    if (text.n == 0) return false;
    it->end = str_end(text);
    it->p = json_skip_space(text.p, it->end);
    if (it->p == it->end || *it->p != open) return false;
    it->p++;
    return true;
}

static bool iter_key(struct json_iter *it) {
    if (it->p == it->end || *it->p != '"') return false;
    const char *start = it->p + 1;
    const char *q = json_string_end(start, it->end, &it->key_escaped);
    if (!q) return false;
    it->key = (struct str){start, (size_t)(q - start)};
    it->p = json_skip_space(q + 1, it->end);
    if (it->p == it->end || *it->p != ':') return false;
    it->p = json_skip_space(it->p + 1, it->end);
    return true;
}

bool json_iter_enter(struct json_iter *it) {
    it->p = json_skip_space(it->p, it->end);
    if (it->p == it->end) goto bad;
    if (*it->p == (it->object ? '}' : ']')) return false;
    if (!it->first) {
        if (*it->p != ',') goto bad;
        it->p = json_skip_space(it->p + 1, it->end);
    }
    it->first = false;
    if (it->object && !iter_key(it)) goto bad;
    return true;
bad:
    it->bad = true;
    return false;
}

bool json_iter_leave(struct json_iter *it) {
    const char *e = json_value_end(it->p, it->end);
    it->bad = it->bad || !e;
    if (!e) return false;
    it->value = (struct str){it->p, (size_t)(e - it->p)};
    it->p = e;
    return true;
}

bool json_iter_next(struct json_iter *it) { return json_iter_enter(it) && json_iter_leave(it); }

enum json_type json_type_of(struct str text) {
    if (text.n == 0) return JSON_NULL;
    const char *end = str_end(text), *p = json_skip_space(text.p, end);
    if (p == end) return JSON_NULL;
    switch (*p) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}

/* Room for one more item: first in small, then in the arena, doubling. */
static void *spans_spill(struct arena *a, void *v, size_t n, size_t *cap, size_t size) {
    if (n < *cap) return v;
    void *bigger = arena_array(a, *cap * 2, size);
    if (!bigger) return NULL;
    memcpy(bigger, v, n * size);
    *cap *= 2;
    return bigger;
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "JSON: the arena has no room for the members");
}

int json_members(struct str text, struct arena *a, struct json_members *out,
                 struct wopr_error *err) {
    struct json_member small[SPANS_ON_STACK], *v = small;
    size_t n = 0, cap = SPANS_ON_STACK;
    struct json_iter it;
    if (!json_iter_start(&it, text, '{'))
        return wopr_error_set(err, WOPR_E_SYNTAX, "JSON: an object was expected");
    while (json_iter_next(&it)) {
        v = spans_spill(a, v, n, &cap, sizeof *v);
        if (!v) return no_memory(err);
        v[n].key = json_content(it.key, it.key_escaped, a);
        v[n].raw = it.value;
        if (!v[n++].key.p) return no_memory(err);
    }
    if (it.bad) return wopr_error_set(err, WOPR_E_SYNTAX, "JSON: malformed object");
    if (v == small) {
        v = arena_array(a, n, sizeof *v);
        if (!v) return no_memory(err);
        memcpy(v, small, n * sizeof *v);
    }
    *out = (struct json_members){v, n};
    return WOPR_OK;
}

int json_elements(struct str text, struct arena *a, struct json_elements *out,
                  struct wopr_error *err) {
    struct str small[SPANS_ON_STACK], *v = small;
    size_t n = 0, cap = SPANS_ON_STACK;
    struct json_iter it;
    if (!json_iter_start(&it, text, '['))
        return wopr_error_set(err, WOPR_E_SYNTAX, "JSON: an array was expected");
    while (json_iter_next(&it)) {
        v = spans_spill(a, v, n, &cap, sizeof *v);
        if (!v) return no_memory(err);
        v[n++] = it.value;
    }
    if (it.bad) return wopr_error_set(err, WOPR_E_SYNTAX, "JSON: malformed array");
    if (v == small) {
        v = arena_array(a, n, sizeof *v);
        if (!v) return no_memory(err);
        memcpy(v, small, n * sizeof *v);
    }
    *out = (struct json_elements){v, n};
    return WOPR_OK;
}

bool json_index_token(struct str token, uint64_t *index) {
    return str_u64(token, index) && (token.n == 1 || token.p[0] != '0');
}

unsigned json_depth(struct str text) {
    unsigned depth = 0, deepest = 0;
    bool escaped;
    const char *p = text.p, *end = str_end(text);
    for (; text.n > 0 && p < end; p++) {
        if (*p == '"') {
            p = json_string_end(p + 1, end, &escaped);
            if (!p) break;
        } else if (*p == '{' || *p == '[') {
            if (++depth > deepest) deepest = depth;
        } else if ((*p == '}' || *p == ']') && depth > 0) {
            depth--;
        }
    }
    return deepest > 0 ? deepest - 1 : 0;
}

static int key_order(struct str x, struct str y) {
    int d = x.n > 0 && y.n > 0 ? memcmp(x.p, y.p, x.n < y.n ? x.n : y.n) : 0;
    return d != 0 ? d : (x.n > y.n) - (x.n < y.n);
}

static int member_order(const void *x, const void *y) {
    return key_order(((const struct json_member *)x)->key, ((const struct json_member *)y)->key);
}

void json_members_sort(struct json_members *m) {
    if (m->n > 1) qsort(m->v, m->n, sizeof *m->v, member_order);
}

const struct json_member *json_member_sorted(const struct json_members *m, struct str key) {
    const struct json_member want = {.key = key};
    return m->n > 0 ? bsearch(&want, m->v, m->n, sizeof want, member_order) : NULL;
}
