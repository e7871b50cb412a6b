/*
 * json_tree.c: checked text to json-c objects.  Built by our own scanner, not json-c's: its tokener
 * saturates large integers, and a failed allocation inside it has crashed.  Numbers keep their
 * magnitude: int64, else uint64, else double with the spelling kept.  json-c's names are C strings,
 * so U+0000 in a member name becomes the bytes C0 80, which no valid UTF-8 name can collide with.
 */
#include "base/mem.h"
#include "codec/json_scan.h"

/* json-c uses two of our names: rename them in its header. */
#define json_type json_c_type
#define json_bool json_c_bool
#include <json-c/json_object.h>
#undef json_bool
#undef json_type
#include <limits.h>

enum { TEMP_ON_STACK = 512 };

/* Scratch text; growing it loses what it held. */
struct temp {
    char *p; /* small or heap */
    size_t cap;
    char small[TEMP_ON_STACK];
};

struct level {
    struct json_object *container; /* owned by its parent, the root by the builder */
    bool object;
};

struct builder {
    const char *p, *end;
    struct json_object *root;
    unsigned depth;
    struct level levels[JSON_DEPTH_HARD_MAX];
    struct temp key, value; /* key: name of the member whose value is next */
    struct wopr_error *err;
};

static int no_memory(struct builder *t) {
    mem_refused_by_library(); /* trees have no bound of their own */
    return wopr_error_set(t->err, WOPR_E_NO_MEMORY, "JSON: out of memory");
}

static int tree_malformed(struct builder *t) {
    return wopr_error_set(t->err, WOPR_E_SYNTAX, "JSON: the text was not checked");
}

static void temp_init(struct temp *m) {
    m->p = m->small;
    m->cap = sizeof m->small;
}

static void temp_fini(struct temp *m) {
    if (m->p != m->small) mem_free(m->p);
}

static bool temp_room(struct temp *m, size_t n) {
    if (n <= m->cap) return true;
    char *bigger = mem_alloc(n);
    if (!bigger) return false;
    temp_fini(m);
    m->p = bigger;
    m->cap = n;
    return true;
}

/* The string whose content starts at t->p; moves past its closing quote. */
static int string_span(struct builder *t, struct str *content, bool *escaped) {
    const char *q = json_string_end(t->p, t->end, escaped);
    if (!q) return tree_malformed(t);
    *content = (struct str){t->p, (size_t)(q - t->p)};
    t->p = q + 1;
    return WOPR_OK;
}

/* Unescape into m, NUL-terminated.  An escape is at least as long as what it means, but a raw NUL,
 * which only unchecked text holds, doubles in a name. */
static bool unescape_to(struct temp *m, struct str content, bool is_key, size_t *len) {
    if (!temp_room(m, content.n * (is_key ? 2 : 1) + 1)) return false;
    const char *p = content.p, *end = p + content.n;
    char u[4];
    *len = 0;
    for (size_t n; (n = json_unescape(&p, end, u)) > 0; *len += n) {
        if (is_key && n == 1 && u[0] == '\0') {
            u[0] = (char)0xC0;
            u[1] = (char)0x80;
            n = 2;
        }
        memcpy(m->p + *len, u, n);
    }
    m->p[*len] = '\0';
    return true;
}

/* Put v into the container on top, or make it the root.  v is consumed either way. */
static int value_attach(struct builder *t, struct json_object *v, bool is_null) {
    if (!v && !is_null) return no_memory(t);
    if (t->depth == 0) {
        t->root = v;
        return WOPR_OK;
    }
    struct level *l = &t->levels[t->depth - 1];
    int rc = l->object ? json_object_object_add_ex(l->container, t->key.p, v,
                                                   JSON_C_OBJECT_ADD_KEY_IS_NEW)
                       : json_object_array_add(l->container, v);
    if (rc == 0) return WOPR_OK;
    json_object_put(v);
    return no_memory(t);
}

static int add_string(struct builder *t) {
    struct str s;
    bool escaped;
    t->p++;
    int rc = string_span(t, &s, &escaped);
    if (rc != 0) return rc;
    if (escaped) {
        if (!unescape_to(&t->value, s, false, &s.n)) return no_memory(t);
        s.p = t->value.p;
    }
    if (s.n > INT_MAX) return wopr_error_set(t->err, WOPR_E_TOO_BIG, "JSON: string too long");
    return value_attach(t, json_object_new_string_len(s.p, (int)s.n), false);
}

static struct json_object *number_new(struct builder *t, struct str raw, const struct json_num *n) {
    uint64_t u;
    if (n->integer && json_num_u64(n, &u)) {
        if (!n->minus && u > INT64_MAX) return json_object_new_uint64(u);
        if (!n->minus) return json_object_new_int64((int64_t)u);
        if (u <= INT64_MAX) return json_object_new_int64(-(int64_t)u);
        if (u == (uint64_t)INT64_MAX + 1) return json_object_new_int64(INT64_MIN);
    }
    if (!temp_room(&t->value, raw.n + 1)) return NULL;
    memcpy(t->value.p, raw.p, raw.n);
    t->value.p[raw.n] = '\0';
    return json_object_new_double_s(json_num_double(n), t->value.p);
}

static int add_number(struct builder *t) {
    const char *e = json_number_end(t->p, t->end);
    struct str raw = {t->p, e ? (size_t)(e - t->p) : 0};
    struct json_num n;
    if (!json_num_parse(raw, &n)) return tree_malformed(t);
    t->p = e;
    return value_attach(t, number_new(t, raw, &n), false);
}

static bool take_word(struct builder *t, struct str word) {
    if (!str_starts((struct str){t->p, (size_t)(t->end - t->p)}, word)) return false;
    t->p += word.n;
    return true;
}

static int open_container(struct builder *t) {
    bool object = *t->p++ == '{';
    if (t->depth == JSON_DEPTH_HARD_MAX)
        return wopr_error_set(t->err, WOPR_E_TOO_BIG, "JSON: too many nested containers");
    struct json_object *v = object ? json_object_new_object() : json_object_new_array_ext(4);
    int rc = value_attach(t, v, false);
    if (rc == 0) t->levels[t->depth++] = (struct level){v, object};
    return rc;
}

static int add_value(struct builder *t) {
    t->p = json_skip_space(t->p, t->end);
    if (t->p == t->end) return tree_malformed(t);
    switch (*t->p) {
    case '{':
    case '[':
        return open_container(t);
    case '"':
        return add_string(t);
    default:
        break;
    }
    if (take_word(t, STR("true"))) return value_attach(t, json_object_new_boolean(1), false);
    if (take_word(t, STR("false"))) return value_attach(t, json_object_new_boolean(0), false);
    if (take_word(t, STR("null"))) return value_attach(t, NULL, true);
    return add_number(t);
}

/* In an object: the name and the colon; a value follows. */
static int take_key(struct builder *t) {
    struct str s;
    bool escaped;
    size_t len;
    if (t->p == t->end || *t->p != '"') return tree_malformed(t);
    t->p++;
    int rc = string_span(t, &s, &escaped);
    if (rc != 0) return rc;
    if (!unescape_to(&t->key, s, true, &len)) return no_memory(t);
    t->p = json_skip_space(t->p, t->end);
    if (t->p == t->end || *t->p != ':') return tree_malformed(t);
    t->p++;
    return WOPR_OK;
}

/* After a value or an opening bracket: close what ends here.  *more: another value follows. */
static int next_value(struct builder *t, bool *more) {
    bool first = t->p[-1] == '{' || t->p[-1] == '[';
    *more = false;
    while (t->depth > 0) {
        const struct level *l = &t->levels[t->depth - 1];
        t->p = json_skip_space(t->p, t->end);
        if (t->p == t->end) return tree_malformed(t);
        if (*t->p == (l->object ? '}' : ']')) {
            t->p++;
            t->depth--;
            first = false;
            continue;
        }
        if (!first && *t->p++ != ',') return tree_malformed(t);
        *more = true;
        t->p = json_skip_space(t->p, t->end);
        return l->object ? take_key(t) : WOPR_OK;
    }
    return WOPR_OK;
}

static int tree_build(struct builder *t) {
    for (bool more = true; more;) {
        int rc = add_value(t);
        if (rc == 0) rc = next_value(t, &more);
        if (rc != 0) return rc;
    }
    return json_skip_space(t->p, t->end) == t->end ? WOPR_OK : tree_malformed(t);
}

int json_tree(struct str text, struct json_object **out, struct wopr_error *err) {
    struct builder t;
    t.p = text.p ? text.p : "";
    t.end = str_end(text);
    t.root = NULL;
    t.depth = 0;
    t.err = err;
    temp_init(&t.key);
    temp_init(&t.value);
    int rc = tree_build(&t);
    temp_fini(&t.value);
    temp_fini(&t.key);
    if (rc != 0) goto fail;
    *out = t.root;
    return WOPR_OK;
fail:
    json_object_put(t.root);
    return rc;
}
