/*
 * schema_set.c: the registry of a set: documents, resources, anchors.  Layer: codec.
 * Identifiers count only where a schema is allowed (SCHEMA_NESTS), never inside enum, const or
 * unknown keywords.
 */
#include "base/clock.h"
#include "base/embed.h"
#include "base/mem.h"
#include "codec/schema_build.h"
#include "codec/schema_pattern.h"
#include "codec/schema_rules.h"

enum { LOC_PRINTED_MAX = 192 }; /* steps of a pointer in a struct schema_issue; each takes a byte */
enum { SCHEMA_SOURCE_BYTES_MAX = 1024 * 1024 };

struct undo { /* one entry made by an add that may still fail */
    struct map *map;
    struct str key;
    struct undo *next;
};

struct add {
    struct schema_set *set;
    struct wopr_error *err;
    struct undo *undo;
};

/* ---- small helpers ---- */

const struct schema_loc *schema_loc_add(struct schema_set *s, const struct schema_loc *up,
                                        struct str token) {
    struct schema_loc *l = ARENA_NEW(s->arena, struct schema_loc);
    if (l == NULL) return NULL;
    *l = (struct schema_loc){.up = up, .token = token};
    return l;
}

/* Append "/" and the escaped token; false, and nothing written, when it does not fit. */
static bool print_token(char *out, size_t size, size_t *len, struct str token) {
    size_t need = 1;
    for (size_t i = 0; i < token.n; i++) need += token.p[i] == '~' || token.p[i] == '/' ? 2 : 1;
    if (need >= size - *len) return false;
    char *p = out + *len;
    *p++ = '/';
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];
        if (c == '~' || c == '/') {
            *p++ = '~';
            c = c == '~' ? '0' : '1';
        }
        *p++ = c;
    }
    *p = '\0';
    *len += need;
    return true;
}

void schema_loc_print(const struct schema_loc *loc, const char *key, char *out, size_t size) {
    const struct schema_loc *chain[LOC_PRINTED_MAX];
    size_t n = 0, len = 0, depth = 0;
    out[0] = '\0';
    for (const struct schema_loc *l = loc; l->up != NULL; l = l->up) depth++;
    for (; depth > LOC_PRINTED_MAX; depth--) loc = loc->up; /* the inner ones would be cut anyway */
    for (; loc->up != NULL; loc = loc->up) chain[n++] = loc;
    while (n > 0)
        if (!print_token(out, size, &len, chain[--n]->token)) return;
    if (key != NULL) (void)print_token(out, size, &len, str_c(key));
}

int schema_bad(struct schema_build *b, const struct schema_node *n, const char *key,
               const char *what) {
    char at[sizeof b->err->pointer];
    schema_loc_print(n->loc, key, at, sizeof at);
    return wopr_error_at(b->err, WOPR_E_VALIDATION, at, "the schema keyword %s %s", key, what);
}

const char *schema_intern(struct schema_set *s, struct str name) {
    char *known = map_get(s->names, name);
    if (known != NULL) return known;
    char *copy = arena_cstr(s->arena, name);
    if (copy == NULL || map_put(s->names, name, copy, NULL) != 0) return NULL;
    return copy;
}

/* ---- life ---- */

struct schema_set *schema_set_new(bool assert_formats) {
    return schema_set_new_from(assert_formats, NULL);
}

struct schema_set *schema_set_new_from(bool assert_formats, schema_source *source) {
    struct schema_set *s = MEM_NEW(struct schema_set);
    if (s == NULL) return NULL;
    s->assert_formats = assert_formats;
    s->source = source;
    s->seed = rng_u64();
    s->arena = arena_new(SCHEMA_ARENA_BYTES_MAX);
    s->res_by_uri = map_new();
    s->res_by_json = map_new();
    s->anchors = map_new();
    s->names = map_new();
    s->nodes = map_new();
    s->patterns = map_new();
    if (s->arena == NULL || s->res_by_uri == NULL || s->res_by_json == NULL || s->anchors == NULL ||
        s->names == NULL || s->nodes == NULL || s->patterns == NULL) {
        schema_set_free(s);
        return NULL;
    }
    return s;
}

void schema_set_free(struct schema_set *s) {
    if (s == NULL) return;
    schema_pattern_list_free(s->pattern_list);
    for (struct schema_doc *d = s->docs; d != NULL; d = d->next) json_object_put(d->json);
    map_free(s->patterns);
    map_free(s->nodes);
    map_free(s->names);
    map_free(s->anchors);
    map_free(s->res_by_json);
    map_free(s->res_by_uri);
    arena_free(s->arena);
    mem_free(s);
}

/* ---- registration ---- */

static int add_no_memory(struct add *a) {
    return wopr_error_set(a->err, WOPR_E_NO_MEMORY, "no memory for the schema");
}

static int add_bad(struct add *a, const struct schema_loc *loc, const char *key, const char *what) {
    char at[sizeof a->err->pointer];
    schema_loc_print(loc, key, at, sizeof at);
    return wopr_error_at(a->err, WOPR_E_VALIDATION, at, "the schema keyword %s %s", key, what);
}

static int registry_put(struct add *a, struct map *m, struct str key, void *value) {
    struct undo *u = ARENA_NEW(a->set->arena, struct undo);
    if (u == NULL) return add_no_memory(a);
    *u = (struct undo){.map = m, .key = arena_str(a->set->arena, key), .next = a->undo};
    if (u->key.p == NULL || map_put(m, key, value, NULL) != 0) return add_no_memory(a);
    a->undo = u;
    return 0;
}

static struct str key_of_json(struct json_object **v) {
    return str_n((const char *)v, sizeof(struct json_object *));
}

struct schema_res *schema_res_find(struct schema_set *s, struct str uri) {
    return map_get(s->res_by_uri, uri);
}

struct schema_res *schema_res_of(struct schema_set *s, struct json_object *json) {
    return map_get(s->res_by_json, key_of_json(&json));
}

/* Only string members reach the callers; anything else is refused here. */
static int string_member(struct add *a, const struct schema_loc *loc, struct json_object *obj,
                         const char *key, struct str *out) {
    struct json_object *v = NULL;
    *out = STR_NONE;
    if (!json_object_object_get_ex(obj, key, &v)) return 0;
    if (!json_object_is_type(v, json_type_string)) return add_bad(a, loc, key, "must be a string");
    *out = schema_json_str(v);
    return 0;
}

static bool is_anchor(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool first = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!first && (i == 0 || !((c >= '0' && c <= '9') || c == '-' || c == '.'))) return false;
    }
    return s.n > 0;
}

static int add_anchor(struct add *a, struct schema_res *res, const struct schema_loc *loc,
                      struct json_object *json, const char *key) {
    struct schema_set *s = a->set;
    struct str name;
    int rc = string_member(a, loc, json, key, &name);
    if (rc != 0 || name.p == NULL) return rc;
    if (!is_anchor(name)) return add_bad(a, loc, key, "must be a plain name");
    struct str full = arena_printf(s->arena, STR_FMT "#" STR_FMT, STR_ARG(res->uri), STR_ARG(name));
    struct schema_anchor *an = ARENA_NEW(s->arena, struct schema_anchor);
    if (full.p == NULL || an == NULL) return add_no_memory(a);
    struct schema_anchor *old = map_get(s->anchors, full);
    if (old != NULL && old->json != json) return add_bad(a, loc, key, "repeats an anchor");
    *an = (struct schema_anchor){.res = res, .json = json, .loc = loc};
    if (old != NULL) an->dynamic = old->dynamic;
    if (strcmp(key, "$dynamicAnchor") == 0) {
        struct schema_dynamic *d = ARENA_NEW(s->arena, struct schema_dynamic);
        const char *interned = schema_intern(s, name);
        if (d == NULL || interned == NULL) return add_no_memory(a);
        *d = (struct schema_dynamic){
            .name = interned, .json = json, .loc = loc, .next = res->dynamics};
        res->dynamics = d;
        an->dynamic = interned;
    }
    return registry_put(a, s->anchors, full, an);
}

static struct str without_empty_fragment(struct str uri) {
    if (uri.n > 0 && uri.p[uri.n - 1] == '#') uri.n--;
    return uri;
}

static int add_resource(struct add *a, struct str uri, const struct schema_loc *loc,
                        struct json_object *json, const struct schema_res *parent,
                        struct schema_res **out) {
    struct schema_res *r = ARENA_NEW(a->set->arena, struct schema_res);
    if (r == NULL) return add_no_memory(a);
    *r = (struct schema_res){.uri = uri, .json = json, .loc = loc};
    if (parent != NULL) {
        r->dialect = parent->dialect;
        r->dialect_loc = parent->dialect_loc;
    }
    if (json_object_is_type(json, json_type_object)) {
        struct str dialect;
        int rc = string_member(a, loc, json, "$schema", &dialect);
        if (rc != 0) return rc;
        if (dialect.p != NULL) {
            r->dialect = without_empty_fragment(dialect);
            r->dialect_loc = loc;
        }
    }
    int rc = registry_put(a, a->set->res_by_uri, uri, r);
    if (rc == 0) rc = registry_put(a, a->set->res_by_json, key_of_json(&json), r);
    if (rc == 0) *out = r;
    return rc;
}

/* The resource json itself is: a new one when it has $id, else the surrounding one. */
static int resource_enter(struct add *a, struct str base, struct schema_res *parent,
                          const struct schema_loc *loc, struct json_object *json,
                          struct schema_res **out) {
    struct str id, uri, fragment;
    int rc = string_member(a, loc, json, "$id", &id);
    if (rc != 0) return rc;
    if (id.p == NULL && parent != NULL) {
        *out = parent;
        return 0;
    }
    if (id.p == NULL) return add_resource(a, base, loc, json, NULL, out);
    rc = schema_uri_resolve(a->set->arena, base, id, &uri, &fragment);
    if (rc == WOPR_E_NO_MEMORY) return add_no_memory(a);
    if (rc != 0 || fragment.n > 0)
        return add_bad(a, loc, "$id", "must be a URI reference without a fragment");
    if (schema_res_find(a->set, uri) != NULL)
        return add_bad(a, loc, "$id", "names a URI that is registered already");
    return add_resource(a, uri, loc, json, parent, out);
}

static int document_walk(struct add *a, struct schema_res *res, const struct schema_loc *loc,
                         struct json_object *json);

/* A subschema under keyword key, and for lists and maps under its element. */
static int walk_child(struct add *a, struct schema_res *res, const struct schema_loc *up,
                      struct str token, struct json_object *json) {
    if (!json_object_is_type(json, json_type_object)) return 0;
    const struct schema_loc *loc = schema_loc_add(a->set, up, token);
    if (loc == NULL) return add_no_memory(a);
    struct schema_res *inner = NULL;
    int rc = resource_enter(a, res->uri, res, loc, json, &inner);
    return rc != 0 ? rc : document_walk(a, inner, loc, json);
}

static int walk_nest(struct add *a, struct schema_res *res, const struct schema_loc *loc,
                     const struct schema_nest *nest, struct json_object *v) {
    if (nest->how == SCHEMA_NEST_ONE) return walk_child(a, res, loc, str_c(nest->name), v);
    const struct schema_loc *inner = schema_loc_add(a->set, loc, str_c(nest->name));
    if (inner == NULL) return add_no_memory(a);
    int rc = 0;
    if (nest->how == SCHEMA_NEST_LIST && json_object_is_type(v, json_type_array)) {
        size_t n = json_object_array_length(v);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            struct str token = arena_printf(a->set->arena, "%zu", i);
            if (token.p == NULL) return add_no_memory(a);
            rc = walk_child(a, res, inner, token, json_object_array_get_idx(v, i));
        }
    } else if (nest->how == SCHEMA_NEST_MAP && json_object_is_type(v, json_type_object)) {
        struct lh_entry *e;
        for (e = json_object_get_object(v)->head; rc == 0 && e != NULL; e = e->next)
            rc = walk_child(a, res, inner, str_c(lh_entry_k(e)), lh_entry_v(e));
    }
    return rc;
}

/* Depth is bounded by JSON_LIMITS_STORED. */
static int document_walk(struct add *a, struct schema_res *res, const struct schema_loc *loc,
                         struct json_object *json) {
    int rc = add_anchor(a, res, loc, json, "$anchor");
    if (rc == 0) rc = add_anchor(a, res, loc, json, "$dynamicAnchor");
    for (const struct schema_nest *n = SCHEMA_NESTS; rc == 0 && n->name != NULL; n++) {
        struct json_object *v = NULL;
        if (json_object_object_get_ex(json, n->name, &v)) rc = walk_nest(a, res, loc, n, v);
    }
    return rc;
}

static int add_tree(struct add *a, struct str uri, struct json_object *json) {
    struct schema_set *s = a->set;
    struct schema_res *res = NULL;
    struct str base, fragment;
    int rc = schema_uri_resolve(s->arena, STR(""), uri, &base, &fragment);
    if (rc == WOPR_E_NO_MEMORY) return add_no_memory(a);
    if (rc != 0 || fragment.n > 0)
        return wopr_error_set(a->err, WOPR_E_VALIDATION,
                              "a schema is registered under a URI "
                              "without a fragment");
    if (schema_res_find(s, base) != NULL)
        return wopr_error_set(a->err, WOPR_E_VALIDATION, "the schema URI is registered already");
    const struct schema_loc *root = schema_loc_add(s, NULL, STR(""));
    if (root == NULL) return add_no_memory(a);
    if (json_object_is_type(json, json_type_boolean))
        return add_resource(a, base, root, json, NULL, &res);
    if (!json_object_is_type(json, json_type_object))
        return wopr_error_set(a->err, WOPR_E_VALIDATION, "a schema is an object or a boolean");
    struct schema_res *alias = NULL;
    struct str id;
    rc = string_member(a, root, json, "$id", &id);
    if (rc != 0) return rc;
    struct str own = base;
    if (id.p != NULL) {
        rc = schema_uri_resolve(s->arena, base, id, &own, &fragment);
        if (rc == WOPR_E_NO_MEMORY) return add_no_memory(a);
    }
    if (rc == 0 && str_eq(own, base))
        rc = fragment.n > 0 ? add_bad(a, root, "$id", "must have no fragment")
                            : add_resource(a, base, root, json, NULL, &alias);
    else rc = resource_enter(a, base, NULL, root, json, &alias);
    if (rc == 0 && !str_eq(own, base)) rc = registry_put(a, s->res_by_uri, base, alias);
    return rc != 0 ? rc : document_walk(a, alias, root, json);
}

static int add_doc(struct schema_set *s, struct str uri, struct str text, struct wopr_error *err) {
    struct add a = {.set = s, .err = err, .undo = NULL};
    struct json_object *json = NULL;
    int rc = json_check(text, &JSON_LIMITS_STORED, err);
    if (rc != 0) return rc;
    struct schema_doc *d = ARENA_NEW(s->arena, struct schema_doc);
    if (d == NULL) return add_no_memory(&a);
    rc = json_tree(text, &json, err);
    if (rc != 0) return rc;
    rc = add_tree(&a, uri, json);
    if (rc != 0) {
        for (struct undo *u = a.undo; u != NULL; u = u->next) (void)map_del(u->map, u->key);
        json_object_put(json);
        return rc;
    }
    *d = (struct schema_doc){.json = json, .next = s->docs};
    s->docs = d;
    return 0;
}

int schema_set_add(struct schema_set *s, struct str uri, struct str text, struct wopr_error *err) {
    if (s->compiled)
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "documents are registered before the first schema is compiled");
    return add_doc(s, uri, text, err);
}

int schema_load_metaschemas(struct schema_set *s, struct wopr_error *err) {
    static const struct str prefix = {"api/metaschemas/", sizeof "api/metaschemas/" - 1};
    if (s->has_metaschemas) return 0;
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++) {
        if (!str_starts(str_c(f->name), prefix)) continue;
        int rc = add_doc(s, str_c(f->name), embed_text(f), err);
        if (rc != 0) return rc;
    }
    s->has_metaschemas = true;
    return 0;
}

int schema_load_source(struct schema_set *s, struct str uri, struct wopr_error *err) {
    struct buf text;
    if (s->source == NULL) return 0;
    buf_init(&text, SCHEMA_SOURCE_BYTES_MAX);
    int rc = s->source(uri, &text, err);
    if (rc == 0 && buf_failed(&text))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the schema");
    if (rc == 0 && buf_str(&text).n > 0) rc = add_doc(s, uri, buf_str(&text), err);
    buf_fini(&text);
    return rc;
}
