/*
 * schema_compile_apply.c: arguments of the keywords that hold or name subschemas.  Layer: codec.
 */
#include "codec/schema_pattern.h"
#include "codec/schema_rules.h"

static const char *key_of(const struct schema_kw *kw) { return kw->rule->names[0]; }

static int arg_child(struct schema_build *b, const struct schema_node *n,
                     const struct schema_loc *up, struct str token, struct json_object *json,
                     const struct schema_node **out) {
    const struct schema_loc *loc = schema_loc_add(b->set, up, token);
    if (loc == NULL) return schema_no_memory(b);
    return schema_node_get(b, n->res, loc, json, out);
}

/* The subschema under key, NULL when absent. */
static int child_at(struct schema_build *b, const struct schema_node *n, const char *key,
                    const struct schema_node **out) {
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(n->json, key, &v)) return 0;
    return arg_child(b, n, n->loc, str_c(key), v, out);
}

static int children_list(struct schema_build *b, const struct schema_node *n, const char *key,
                         struct schema_nodes *out) {
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(n->json, key, &v)) return 0;
    if (!json_object_is_type(v, json_type_array) || json_object_array_length(v) == 0)
        return schema_bad(b, n, key, "must be a non-empty array of schemas");
    size_t nr = json_object_array_length(v);
    const struct schema_loc *loc = schema_loc_add(b->set, n->loc, str_c(key));
    const struct schema_node **nodes = ARENA_ARRAY(b->set->arena, const struct schema_node *, nr);
    if (loc == NULL || nodes == NULL) return schema_no_memory(b);
    for (size_t i = 0; i < nr; i++) {
        struct str token = arena_printf(b->set->arena, "%zu", i);
        if (token.p == NULL) return schema_no_memory(b);
        int rc = arg_child(b, n, loc, token, json_object_array_get_idx(v, i), &nodes[i]);
        if (rc != 0) return rc;
    }
    *out = (struct schema_nodes){nodes, nr};
    return 0;
}

static int children_map(struct schema_build *b, const struct schema_node *n, const char *key,
                        struct schema_name **out, size_t *out_nr) {
    struct json_object *v = NULL;
    *out = NULL;
    *out_nr = 0;
    if (!json_object_object_get_ex(n->json, key, &v)) return 0;
    if (!json_object_is_type(v, json_type_object))
        return schema_bad(b, n, key, "must be an object of schemas");
    size_t nr = (size_t)json_object_object_length(v), i = 0;
    const struct schema_loc *loc = schema_loc_add(b->set, n->loc, str_c(key));
    struct schema_name *names = ARENA_ARRAY(b->set->arena, struct schema_name, nr);
    if (loc == NULL || names == NULL) return schema_no_memory(b);
    for (struct lh_entry *e = json_object_get_object(v)->head; e != NULL; e = e->next, i++) {
        names[i].name = str_c(lh_entry_k(e));
        int rc = arg_child(b, n, loc, names[i].name, lh_entry_v(e), &names[i].node);
        if (rc != 0) return rc;
    }
    *out = names;
    *out_nr = nr;
    return 0;
}

SCHEMA_COMPILE(node) { return child_at(b, n, key_of(kw), &kw->u.node); }

SCHEMA_COMPILE(tracking) {
    n->tracks = true;
    return child_at(b, n, key_of(kw), &kw->u.node);
}

SCHEMA_COMPILE(nodes) { return children_list(b, n, key_of(kw), &kw->u.nodes); }

/* Not evaluated, but a malformed definition is refused with the schema that holds it. */
SCHEMA_COMPILE(defs) { return children_map(b, n, key_of(kw), &kw->u.named.v, &kw->u.named.n); }

SCHEMA_COMPILE(dep_schemas) {
    return children_map(b, n, key_of(kw), &kw->u.named.v, &kw->u.named.n);
}

SCHEMA_COMPILE(items) {
    struct schema_items *it = ARENA_NEW(b->set->arena, struct schema_items);
    if (it == NULL) return schema_no_memory(b);
    kw->u.items = it;
    int rc = children_list(b, n, "prefixItems", &it->prefix);
    return rc != 0 ? rc : child_at(b, n, "items", &it->rest);
}

static int count_at(struct schema_build *b, const struct schema_node *n, const char *key, bool *has,
                    uint64_t *out) {
    struct json_object *v = NULL;
    if ((n->res->vocabularies & SCHEMA_VOC_VALIDATION) == 0) return 0;
    if (!json_object_object_get_ex(n->json, key, &v)) return 0;
    *has = true;
    if (schema_type_of(v) == SCHEMA_NUMBER) {
        struct schema_num num = schema_num_of(v);
        if (num.whole && !num.neg) {
            *out = num.mag;
            return 0;
        }
    }
    return schema_bad(b, n, key, "must be a non-negative integer");
}

SCHEMA_COMPILE(contains) {
    struct schema_contains *c = ARENA_NEW(b->set->arena, struct schema_contains);
    if (c == NULL) return schema_no_memory(b);
    kw->u.contains = c;
    c->min = 1;
    int rc = count_at(b, n, "minContains", &c->has_min, &c->min);
    if (rc == 0) rc = count_at(b, n, "maxContains", &c->has_max, &c->max);
    return rc != 0 ? rc : child_at(b, n, "contains", &c->node);
}

static int index_names(struct schema_build *b, struct schema_names *t) {
    size_t slots = 4;
    while (slots < t->n * 2) slots *= 2;
    t->slots = ARENA_ARRAY(b->set->arena, uint32_t, slots);
    if (t->slots == NULL) return schema_no_memory(b);
    t->mask = slots - 1;
    t->seed = b->set->seed;
    for (size_t i = 0; i < t->n; i++) {
        size_t at = (size_t)str_hash(t->v[i].name, t->seed) & t->mask;
        while (t->slots[at] != 0) at = (at + 1) & t->mask;
        t->slots[at] = (uint32_t)i + 1;
    }
    return 0;
}

static int compile_rx(struct schema_build *b, struct schema_node *n, struct schema_members *m) {
    static const char KEY[] = "patternProperties";
    struct schema_name *names;
    int rc = children_map(b, n, KEY, &names, &m->rx_nr);
    if (rc != 0) return rc;
    m->rx = ARENA_ARRAY(b->set->arena, struct schema_rx_prop, m->rx_nr);
    if (m->rx == NULL) return schema_no_memory(b);
    for (size_t i = 0; i < m->rx_nr; i++) {
        const char *why = "";
        m->rx[i].node = names[i].node;
        rc = schema_pattern_get(b->set, names[i].name, &m->rx[i].pattern, &why);
        if (rc == WOPR_E_NO_MEMORY) return schema_no_memory(b);
        if (rc != 0) return schema_bad(b, n, KEY, why);
    }
    return 0;
}

SCHEMA_COMPILE(members) {
    struct schema_members *m = ARENA_NEW(b->set->arena, struct schema_members);
    if (m == NULL) return schema_no_memory(b);
    kw->u.members = m;
    int rc = children_map(b, n, "properties", &m->named.v, &m->named.n);
    if (rc == 0) rc = index_names(b, &m->named);
    if (rc == 0) rc = compile_rx(b, n, m);
    return rc != 0 ? rc : child_at(b, n, "additionalProperties", &m->rest);
}

SCHEMA_COMPILE(if) {
    struct schema_if *c = ARENA_NEW(b->set->arena, struct schema_if);
    if (c == NULL) return schema_no_memory(b);
    kw->u.cond = c;
    int rc = child_at(b, n, "if", &c->test);
    if (rc == 0) rc = child_at(b, n, "then", &c->yes);
    if (rc == 0) rc = child_at(b, n, "else", &c->no);
    if (c->test == NULL) kw->rule = NULL; /* then and else alone mean nothing */
    return rc;
}

static int ref_target(struct schema_build *b, const struct schema_node *n, const char *key,
                      struct schema_target *t, const struct schema_node **out) {
    struct json_object *v = json_object_object_get(n->json, key);
    if (!json_object_is_type(v, json_type_string)) return schema_bad(b, n, key, "must be a string");
    int rc = schema_resolve(b, n->res->uri, schema_json_str(v), t);
    if (rc == WOPR_E_NOT_FOUND)
        return schema_bad(b, n, key, "names a schema that is not in the set");
    return rc != 0 ? rc : schema_node_get(b, t->res, t->loc, t->json, out);
}

SCHEMA_COMPILE(ref) {
    struct schema_target t;
    return ref_target(b, n, key_of(kw), &t, &kw->u.node);
}

SCHEMA_COMPILE(dynref) {
    struct schema_target t;
    int rc = ref_target(b, n, key_of(kw), &t, &kw->u.dynref.node);
    if (rc != 0) return rc;
    kw->u.dynref.name = t.dynamic;
    if (t.dynamic != NULL) b->set->has_dynamic_refs = true;
    return 0;
}
