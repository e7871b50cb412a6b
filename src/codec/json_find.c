/*
 * json_find.c: looking values up in checked text.  A walk reads the text up to the end of what it
 * finds, once, however deep that is.
 */
#include "codec/json_index.h"
#include "codec/json_scan.h"

/* --- members --- */

struct str json_get(struct str text, const char *key) {
    struct json_iter it;
    struct str name = str_c(key);
    if (!json_iter_start(&it, text, '{')) return STR_NONE;
    while (json_iter_next(&it))
        if (json_content_eq(it.key, it.key_escaped, name)) return it.value;
    return STR_NONE;
}

const struct json_member *json_member_find(const struct json_members *m, const char *key) {
    struct str k = str_c(key);
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->v[i].key, k)) return &m->v[i];
    return NULL;
}

/* --- steps --- */

/* Into the member token, or over all of them. */
static bool member_enter(struct json_iter *it, struct str token) {
    while (json_iter_enter(it)) {
        if (json_content_eq(it->key, it->key_escaped, token)) return true;
        if (!json_iter_leave(it)) return false;
    }
    return false;
}

static bool element_enter(struct json_iter *it, uint64_t want) {
    for (uint64_t i = 0; json_iter_enter(it); i++) {
        if (i == want) return true;
        if (!json_iter_leave(it)) return false;
    }
    return false;
}

const char *json_step(const char *p, const char *end, struct str token, uint64_t *read) {
    struct json_iter it;
    struct str text = str_n(p, (size_t)(end - p));
    uint64_t want = 0;
    bool found = false;
    if (json_iter_start(&it, text, '{')) found = member_enter(&it, token);
    else if (json_index_token(token, &want) && json_iter_start(&it, text, '['))
        found = element_enter(&it, want);
    else return NULL;
    *read += (uint64_t)(it.p - p);
    return found ? it.p : NULL;
}

/* --- walks --- */

struct walk {
    const struct json_index *index; /* of the text, or NULL */
    const char *p, *end;            /* p: the beginning of a value; NULL: there is none */
    uint64_t read;
};

static struct walk walk_begin(struct str text, const struct json_index *index) {
    struct walk w = {.index = index};
    if (text.n == 0) return w;
    w.end = str_end(text);
    w.p = json_skip_space(text.p, w.end);
    return w;
}

static void walk_step(struct walk *w, struct str token) {
    const char *to = NULL;
    if (!w->index || !json_index_step(w->index, w->p, token, &to, &w->read))
        to = json_step(w->p, w->end, token, &w->read);
    w->p = to;
}

static struct str walk_end(struct walk *w, uint64_t *read) {
    const char *e = NULL;
    if (w->p && !(w->index && json_index_end(w->index, w->p, &e))) {
        e = json_value_end(w->p, w->end);
        if (e) w->read += (uint64_t)(e - w->p);
    }
    if (read) *read += w->read;
    return e ? (struct str){w->p, (size_t)(e - w->p)} : STR_NONE;
}

/* ~1 is '/', ~0 is '~'.  p == NULL when malformed or out of memory. */
static struct str pointer_token(struct str t, struct arena *a) {
    if (t.n == 0) return STR("");
    if (!memchr(t.p, '~', t.n)) return t;
    char *out = arena_alloc(a, t.n);
    size_t len = 0;
    for (size_t i = 0; out && i < t.n; i++) {
        if (t.p[i] != '~') {
            out[len++] = t.p[i];
            continue;
        }
        if (++i == t.n || (t.p[i] != '0' && t.p[i] != '1')) return STR_NONE;
        out[len++] = t.p[i] == '0' ? '~' : '/';
    }
    return (struct str){out, out ? len : 0};
}

bool json_pointer_cut(struct str *rest, struct str *token, struct arena *a) {
    if (rest->n == 0) return false;
    struct str t = str_n(rest->p + 1, rest->n - 1); /* over the slash */
    const char *slash = t.n > 0 ? memchr(t.p, '/', t.n) : NULL;
    if (slash) t.n = (size_t)(slash - t.p);
    *rest = str_n(t.p + t.n, rest->n - 1 - t.n);
    *token = pointer_token(t, a);
    return true;
}

struct str json_pointer_find(const struct json_index *x, struct str text, struct str pointer,
                             struct arena *a, uint64_t *read) {
    struct walk w = walk_begin(text, x);
    struct str token, rest = pointer;
    if (pointer.n > 0 && pointer.p[0] != '/') return STR_NONE;
    while (w.p && json_pointer_cut(&rest, &token, a))
        if (token.p) walk_step(&w, token);
        else w.p = NULL;
    return walk_end(&w, read);
}

struct str json_path_find(const struct json_index *x, struct str text, struct str dotted,
                          uint64_t *read) {
    struct walk w = walk_begin(text, x);
    struct str head, tail = dotted;
    for (bool more = dotted.n > 0; w.p && more;) {
        more = str_cut(tail, '.', &head, &tail);
        walk_step(&w, more ? head : tail);
    }
    return walk_end(&w, read);
}

struct str json_member_in(const struct json_index *x, struct str text, struct str key,
                          uint64_t *read) {
    struct walk w = walk_begin(text, x);
    if (json_type_of(text) != JSON_OBJECT) return STR_NONE;
    walk_step(&w, key);
    return walk_end(&w, read);
}

struct str json_pointer_get(struct str text, struct str pointer, struct arena *a) {
    return json_pointer_find(NULL, text, pointer, a, NULL);
}

struct str json_path_get(struct str text, struct str dotted, struct arena *a) {
    (void)a; /* names are compared in place */
    return json_path_find(NULL, text, dotted, NULL);
}
