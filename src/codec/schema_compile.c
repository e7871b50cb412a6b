/*
 * schema_compile.c: from registered documents to nodes.  Layer: codec.
 * A work list instead of recursion: a node is made empty when something refers to it, and filled in
 * its turn.  Every subschema is compiled once per set, so cycles are plain pointers.  When a
 * compilation fails, all nodes it made leave the set again.
 */
#include "codec/schema_rules.h"

static const struct str DIALECT = {"https://json-schema.org/draft/2020-12/",
                                   sizeof "https://json-schema.org/draft/2020-12/" - 1};

static struct str key_of_json(struct json_object **v) {
    return str_n((const char *)v, sizeof(struct json_object *));
}

int schema_no_memory(struct schema_build *b) {
    return wopr_error_set(b->err, WOPR_E_NO_MEMORY, "no memory for the compiled schema");
}

/* ---- vocabularies ---- */

static const struct {
    const char *name;
    unsigned bits;
} VOCABULARIES[] = {
    {"vocab/core", SCHEMA_VOC_CORE},
    {"vocab/applicator", SCHEMA_VOC_APPLICATOR},
    {"vocab/unevaluated", SCHEMA_VOC_UNEVALUATED},
    {"vocab/validation", SCHEMA_VOC_VALIDATION},
    {"vocab/meta-data", SCHEMA_VOC_META_DATA},
    {"vocab/format-annotation", SCHEMA_VOC_FORMAT},
    {"vocab/format-assertion", SCHEMA_VOC_FORMAT | SCHEMA_VOC_FORMAT_ASSERTION},
    {"vocab/content", SCHEMA_VOC_CONTENT},
};

static unsigned vocabulary_bits(struct str uri) {
    if (!str_starts(uri, DIALECT)) return 0;
    struct str name = str_n(uri.p + DIALECT.n, uri.n - DIALECT.n);
    for (size_t i = 0; i < sizeof VOCABULARIES / sizeof *VOCABULARIES; i++)
        if (str_eqc(name, VOCABULARIES[i].name)) return VOCABULARIES[i].bits;
    return 0;
}

static int dialect_bad(struct schema_build *b, const struct schema_res *res, const char *what) {
    char at[sizeof b->err->pointer];
    schema_loc_print(res->dialect_loc, "$schema", at, sizeof at);
    return wopr_error_at(b->err, WOPR_E_VALIDATION, at, "the schema keyword $schema %s", what);
}

static struct schema_res *find_or_load(struct schema_build *b, struct str uri, int *rc) {
    struct schema_res *res = schema_res_find(b->set, uri);
    *rc = 0;
    if (res == NULL && str_starts(uri, DIALECT) && !b->set->has_metaschemas) {
        *rc = schema_load_metaschemas(b->set, b->err);
        if (*rc == 0) res = schema_res_find(b->set, uri);
    } else if (res == NULL) {
        *rc = schema_load_source(b->set, uri, b->err);
        if (*rc == 0) res = schema_res_find(b->set, uri);
    }
    return res;
}

/* Which keywords count in res: those of the metaschema it names. */
static int vocabularies_of(struct schema_build *b, struct schema_res *res) {
    unsigned bits = SCHEMA_VOC_CORE;
    if (res->vocabularies != 0) return 0;
    struct str name = res->dialect;
    bool standard = name.n == DIALECT.n + 6 && str_starts(name, DIALECT) &&
                    memcmp(name.p + DIALECT.n, "schema", 6) == 0;
    if (name.n == 0 || standard) {
        res->vocabularies = SCHEMA_VOC_DEFAULT;
        return 0;
    }
    int rc;
    struct schema_res *meta = find_or_load(b, name, &rc);
    if (rc != 0) return rc;
    if (meta == NULL) return dialect_bad(b, res, "names a dialect that is not supported here");
    struct json_object *list = NULL;
    bool has = json_object_is_type(meta->json, json_type_object) &&
               json_object_object_get_ex(meta->json, "$vocabulary", &list);
    if (has && !json_object_is_type(list, json_type_object))
        return dialect_bad(b, res, "names a dialect with a malformed $vocabulary");
    if (!has) bits = SCHEMA_VOC_DEFAULT;
    for (struct lh_entry *e = has ? json_object_get_object(list)->head : NULL; e != NULL;
         e = e->next) {
        unsigned add = vocabulary_bits(str_c(lh_entry_k(e)));
        if (add == 0 && json_object_get_boolean(lh_entry_v(e)))
            return dialect_bad(b, res, "names a dialect that needs an unknown vocabulary");
        bits |= add;
    }
    res->vocabularies = bits;
    return 0;
}

/* ---- nodes ---- */

int schema_node_get(struct schema_build *b, struct schema_res *parent, const struct schema_loc *loc,
                    struct json_object *json, const struct schema_node **out) {
    struct schema_set *s = b->set;
    if (!json_object_is_type(json, json_type_object) &&
        !json_object_is_type(json, json_type_boolean)) {
        char at[sizeof b->err->pointer];
        schema_loc_print(loc, NULL, at, sizeof at);
        return wopr_error_at(b->err, WOPR_E_VALIDATION, at, "a schema is an object or a boolean");
    }
    struct schema_node *n = map_get(s->nodes, key_of_json(&json));
    if (n == NULL) {
        n = ARENA_NEW(s->arena, struct schema_node);
        if (n == NULL) return schema_no_memory(b);
        struct schema_res *own = schema_res_of(s, json);
        *n = (struct schema_node){.json = json, .res = own != NULL ? own : parent, .loc = loc};
        if (map_put(s->nodes, key_of_json(&json), n, NULL) != 0) return schema_no_memory(b);
        *b->tail = n;
        b->tail = &n->next;
        if (!n->res->used) {
            n->res->used = true;
            n->res->next_used = s->used;
            s->used = n->res;
        }
    }
    *out = n;
    return 0;
}

/* One row of the table against one schema object: does any of its names occur? */
static bool rule_applies(const struct schema_rule *rule, const struct schema_node *n) {
    if ((rule->vocabulary & n->res->vocabularies) == 0) return false;
    for (size_t i = 0; i < 4 && rule->names[i] != NULL; i++)
        if (json_object_object_get_ex(n->json, rule->names[i], NULL)) return true;
    return false;
}

static int node_fill(struct schema_build *b, struct schema_node *n) {
    if (json_object_is_type(n->json, json_type_boolean)) {
        n->never = !json_object_get_boolean(n->json);
        return 0;
    }
    int rc = vocabularies_of(b, n->res);
    if (rc != 0) return rc;
    rc = schema_check_annotations(b, n);
    if (rc != 0) return rc;
    unsigned nr = 0;
    for (size_t i = 0; i < SCHEMA_RULE_NR; i++) nr += rule_applies(&SCHEMA_RULES[i], n);
    struct schema_kw *kw = ARENA_ARRAY(b->set->arena, struct schema_kw, nr);
    if (kw == NULL) return schema_no_memory(b);
    unsigned kept = 0;
    for (size_t i = 0; i < SCHEMA_RULE_NR; i++) {
        if (!rule_applies(&SCHEMA_RULES[i], n)) continue;
        kw[kept].rule = &SCHEMA_RULES[i];
        rc = SCHEMA_RULES[i].compile(b, n, &kw[kept]);
        if (rc != 0) return rc;
        /* A compile step may clear its rule: then there is nothing to check at run time. */
        if (kw[kept].rule != NULL && SCHEMA_RULES[i].eval != NULL) kept++;
        else kw[kept] = (struct schema_kw){.rule = NULL};
    }
    n->kw = kw;
    n->n = kept;
    return 0;
}

/* ---- references ---- */

static bool array_index(struct str t, size_t *out) {
    uint64_t v;
    if (t.n == 0 || t.n > 9 || (t.n > 1 && t.p[0] == '0') || !str_u64(t, &v)) return false;
    *out = (size_t)v;
    return true;
}

static bool token_unescape(struct arena *a, struct str t, struct str *out) {
    char *p = arena_alloc(a, t.n + 1);
    size_t n = 0;
    if (p == NULL) return false;
    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i];
        if (c == '~') {
            if (++i >= t.n || (t.p[i] != '0' && t.p[i] != '1')) return false;
            c = t.p[i] == '0' ? '~' : '/';
        }
        p[n++] = c;
    }
    *out = str_n(p, n);
    return true;
}

/* Walk a JSON pointer from the root of a resource; embedded resources change the
 * base on the way. */
static int ref_follow(struct schema_build *b, struct str pointer, struct schema_target *t) {
    struct arena *a = b->set->arena;
    struct str rest = str_n(pointer.p + 1, pointer.n - 1);
    for (bool more = true; more;) {
        struct str head = rest, token;
        size_t i;
        more = str_cut(rest, '/', &head, &rest);
        if (!more) head = rest;
        if (!token_unescape(a, head, &token)) return WOPR_E_NOT_FOUND;
        token = schema_key_spell(a, token);
        if (token.p == NULL) return WOPR_E_NOT_FOUND;
        struct json_object *next = NULL;
        if (json_object_is_type(t->json, json_type_object)) {
            if (!json_object_object_get_ex(t->json, token.p, &next)) return WOPR_E_NOT_FOUND;
        } else if (json_object_is_type(t->json, json_type_array)) {
            if (!array_index(token, &i) || i >= json_object_array_length(t->json))
                return WOPR_E_NOT_FOUND;
            next = json_object_array_get_idx(t->json, i);
        } else {
            return WOPR_E_NOT_FOUND;
        }
        t->json = next;
        t->loc = schema_loc_add(b->set, t->loc, token);
        if (t->loc == NULL) return WOPR_E_NOT_FOUND;
        struct schema_res *own = next != NULL ? schema_res_of(b->set, next) : NULL;
        if (own != NULL) t->res = own;
    }
    return 0;
}

int schema_resolve(struct schema_build *b, struct str base, struct str ref,
                   struct schema_target *out) {
    struct arena *a = b->set->arena;
    struct str uri, fragment;
    int rc = schema_uri_resolve(a, base, ref, &uri, &fragment);
    if (rc == WOPR_E_NO_MEMORY) return schema_no_memory(b);
    if (rc != 0) return WOPR_E_NOT_FOUND;
    struct schema_res *res = find_or_load(b, uri, &rc);
    if (rc != 0) return rc;
    if (res == NULL) return WOPR_E_NOT_FOUND;
    struct schema_target t = {.res = res, .json = res->json, .loc = res->loc, .dynamic = NULL};
    struct str frag;
    if (!schema_uri_decode(a, fragment, &frag)) return WOPR_E_NOT_FOUND;
    if (frag.n > 0 && frag.p[0] == '/') {
        rc = ref_follow(b, frag, &t);
        if (rc != 0) return arena_failed(a) ? schema_no_memory(b) : rc;
    } else if (frag.n > 0) {
        if (memchr(frag.p, '\0', frag.n) != NULL) return WOPR_E_NOT_FOUND;
        struct str full = arena_printf(a, STR_FMT "#" STR_FMT, STR_ARG(res->uri), STR_ARG(frag));
        if (full.p == NULL) return schema_no_memory(b);
        const struct schema_anchor *an = map_get(b->set->anchors, full);
        if (an == NULL) return WOPR_E_NOT_FOUND;
        t = (struct schema_target){an->res, an->json, an->loc, an->dynamic};
    }
    *out = t;
    return 0;
}

/* ---- the whole ---- */

/* With $dynamicRef in play every dynamic anchor of a used resource may become a target. */
static int queue_dynamics(struct schema_build *b) {
    for (struct schema_res *r = b->set->used; r != NULL; r = r->next_used) {
        for (struct schema_dynamic *d = r->dynamics; d != NULL; d = d->next) {
            const struct schema_node *n;
            if (d->node != NULL) continue;
            int rc = schema_node_get(b, r, d->loc, d->json, &n);
            if (rc != 0) return rc;
        }
    }
    return 0;
}

static void publish_dynamics(struct schema_set *s) {
    for (struct schema_res *r = s->used; r != NULL; r = r->next_used)
        for (struct schema_dynamic *d = r->dynamics; d != NULL; d = d->next)
            if (d->node == NULL) d->node = map_get(s->nodes, key_of_json(&d->json));
}

static int run_list(struct schema_build *b) {
    struct schema_node **at = &b->first;
    for (;;) {
        for (; *at != NULL; at = &(*at)->next) {
            int rc = node_fill(b, *at);
            if (rc != 0) return rc;
        }
        if (!b->set->has_dynamic_refs) return 0;
        int rc = queue_dynamics(b);
        if (rc != 0) return rc;
        if (*at == NULL) return 0;
    }
}

int schema_compile(struct schema_set *s, struct str uri, const struct schema **out,
                   struct wopr_error *err) {
    struct schema_build b = {.set = s, .err = err, .first = NULL};
    struct schema_target t;
    struct schema *compiled = ARENA_NEW(s->arena, struct schema);
    b.tail = &b.first;
    s->compiled = true;
    if (compiled == NULL) return schema_no_memory(&b);
    int rc = schema_resolve(&b, STR(""), uri, &t);
    if (rc == WOPR_E_NOT_FOUND)
        return wopr_error_set(err, WOPR_E_VALIDATION, "no schema is registered under this URI");
    if (rc != 0) return rc;
    bool had_dynamic_refs = s->has_dynamic_refs;
    rc = schema_node_get(&b, t.res, t.loc, t.json, &compiled->root);
    if (rc == 0) rc = run_list(&b);
    if (rc != 0) goto fail;
    if (s->has_dynamic_refs) publish_dynamics(s);
    compiled->seed = s->seed;
    *out = compiled;
    return 0;
fail:
    for (struct schema_node *n = b.first; n != NULL; n = n->next)
        (void)map_del(s->nodes, key_of_json(&n->json));
    s->has_dynamic_refs = had_dynamic_refs;
    return rc;
}
