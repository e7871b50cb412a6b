/* build.c: a tree out of what parsers meet; see build_int.h. */
#include "base/mem.h"
#include "base/vec.h"
#include "codec/json.h"
#include "workspec/build_int.h"

#include <stdio.h>

enum { PENDING_FIRST = 64 };

void build_init(struct ws_builder *b, struct arena *a, const struct ws_limits *limits,
                struct wopr_error *err) {
    *b = (struct ws_builder){.a = a, .limits = limits, .err = err};
}

void build_fini(struct ws_builder *b) { mem_free(b->pending); }

int build_refuse(struct wopr_error *err, struct ws_place at, const char *what) {
    char pointer[48];
    snprintf(pointer, sizeof pointer, "line %u, column %u", at.line, at.column);
    return wopr_error_at(err, WOPR_E_SYNTAX, "", "%s: %s", pointer, what);
}

static int build_excess(struct ws_builder *b, const char *limit, size_t maximum, size_t observed) {
    b->excess = (struct ws_excess){limit, maximum, observed};
    return WOPR_E_TOO_BIG;
}

static int build_memory(struct ws_builder *b) {
    if (arena_over(b->a)) return build_excess(b, "memory", WS_ARENA_BYTES_MAX, WS_ARENA_BYTES_MAX);
    return wopr_error_set(b->err, WOPR_E_NO_MEMORY, "out of memory");
}

bool build_wants_name(const struct ws_builder *b) {
    if (b->depth == 0) return false;
    const struct ws_level *l = &b->levels[b->depth - 1];
    return l->value->kind == WS_OBJECT && !l->named;
}

void build_name(struct ws_builder *b, struct str name) {
    struct ws_level *l = &b->levels[b->depth - 1];
    l->name = name;
    l->named = true;
}

struct str build_same(struct ws_builder *b, struct str name) {
    if (name.n == 0) return STR("");
    size_t at = name.n * 31 + (unsigned char)name.p[0] * 7u + (unsigned char)name.p[name.n - 1];
    struct str *known = &b->same[at & (BUILD_SAME_NAMES - 1)];
    if (known->p == NULL || !str_eq(*known, name)) *known = arena_str(b->a, name);
    return *known;
}

/* The value takes its place in what is open. */
static int value_add(struct ws_builder *b, const struct ws_value *v) {
    if (++b->values > b->limits->values)
        return build_excess(b, "values", b->limits->values, b->values);
    if (b->depth == 0) {
        b->root = v;
        return 0;
    }
    if (VEC_ROOM(b->pending, b->pending_nr, b->pending_cap, PENDING_FIRST) != 0)
        return build_memory(b);
    struct ws_level *l = &b->levels[b->depth - 1];
    b->pending[b->pending_nr++] = (struct ws_pending){l->name, v};
    l->named = false;
    return 0;
}

int build_scalar(struct ws_builder *b, const struct ws_value *v, struct ws_place at) {
    (void)at;
    return v == NULL ? build_memory(b) : value_add(b, v);
}

int build_open(struct ws_builder *b, enum ws_kind kind, struct ws_place at) {
    size_t max = b->limits->depth < BUILD_DEPTH_MAX ? b->limits->depth : BUILD_DEPTH_MAX;
    struct ws_value *v = ws_new(b->a, kind);
    if (v == NULL) return build_memory(b);
    v->line = at.line;
    v->column = at.column;
    if (b->depth >= max) return build_excess(b, "nesting", max, b->depth + 1);
    int rc = value_add(b, v);
    if (rc != 0) return rc;
    b->levels[b->depth++] = (struct ws_level){.value = v, .first = b->pending_nr};
    return 0;
}

static int array_close(struct ws_builder *b, struct ws_value *v, const struct ws_pending *from,
                       size_t n) {
    if (n == 0) return 0;
    v->elements = arena_array(b->a, n, sizeof *v->elements);
    if (v->elements == NULL) return build_memory(b);
    for (size_t i = 0; i < n; i++) v->elements[i] = from[i].value;
    v->nr = (uint32_t)n;
    return 0;
}

static int refuse_double(struct ws_builder *b, const struct ws_pending *p) {
    char what[160];
    snprintf(what, sizeof what, "the name \"%.*s\" occurs twice in a mapping; keep one of them",
             (int)(p->name.n < 80 ? p->name.n : 80), p->name.p);
    return build_refuse(b->err, (struct ws_place){p->value->line, p->value->column}, what);
}

/* Where a member of the name is already; of a small object by looking at each. */
static bool member_find(const struct ws_value *v, const struct ws_names *n, struct str name,
                        uint32_t *at) {
    if (n->slots != NULL) return ws_names_get(n, 0, name, at);
    for (*at = 0; *at < v->nr; ++*at)
        if (str_eq(v->members[*at].name, name)) return true;
    return false;
}

static int object_close(struct ws_builder *b, struct ws_value *v, const struct ws_pending *from,
                        size_t n) {
    struct ws_names names = {0};
    if (n == 0) return 0;
    v->members = ARENA_ARRAY(b->a, struct ws_member, n);
    if (v->members == NULL) return build_memory(b);
    if (n >= WS_INDEXED_FROM) ws_names_init(&names, b->a);
    for (size_t i = 0; i < n; i++) {
        uint32_t at;
        if (member_find(v, &names, from[i].name, &at)) {
            if (b->refuse_doubles) return refuse_double(b, &from[i]);
            v->members[at].value = from[i].value;
            continue;
        }
        if (n >= WS_INDEXED_FROM && !ws_names_put(&names, 0, from[i].name, v->nr))
            return build_memory(b);
        v->members[v->nr++] = (struct ws_member){from[i].name, from[i].value};
    }
    if (n < WS_INDEXED_FROM || v->nr < WS_INDEXED_FROM) return 0;
    v->index = ARENA_NEW(b->a, struct ws_names);
    if (v->index == NULL) return build_memory(b);
    *v->index = names;
    return 0;
}

int build_close(struct ws_builder *b) {
    const struct ws_level *l = &b->levels[--b->depth];
    size_t n = b->pending_nr - l->first;
    const struct ws_pending *from = n > 0 ? b->pending + l->first : NULL;
    b->pending_nr = l->first;
    return l->value->kind == WS_OBJECT ? object_close(b, l->value, from, n)
                                       : array_close(b, l->value, from, n);
}

/* --- numbers --- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char *build_number_end(const char *p, const char *end) {
    if (p < end && *p == '-') p++;
    if (p == end || !is_digit(*p)) return NULL;
    if (*p == '0') p++;
    else
        while (p < end && is_digit(*p)) p++;
    if (p < end && *p == '.') {
        if (++p == end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        if (p == end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    return p;
}

enum ws_numeral ws_number_of(struct str s, double *out) {
    if (s.n == 0 || build_number_end(s.p, str_end(s)) != str_end(s)) return WS_NO_NUMERAL;
    return json_double(s, out) ? WS_NUMERAL : WS_NUMERAL_TOO_LARGE;
}
