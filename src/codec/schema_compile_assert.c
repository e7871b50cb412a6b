/*
 * schema_compile_assert.c: arguments of the validation vocabulary and of format.  Layer: codec.
 */
#include "codec/schema_format.h"
#include "codec/schema_pattern.h"
#include "codec/schema_rules.h"

#include <stdlib.h>

static const char *key_of(const struct schema_kw *kw) { return kw->rule->names[0]; }

static struct json_object *arg_of(const struct schema_node *n, const struct schema_kw *kw) {
    return json_object_object_get(n->json, key_of(kw));
}

static unsigned type_named(struct str s) {
    static const struct {
        const char *name;
        unsigned bits;
    } TYPES[] = {
        {"null", SCHEMA_NULL},       {"boolean", SCHEMA_BOOL},  {"number", SCHEMA_NUMBER},
        {"integer", SCHEMA_INTEGER}, {"string", SCHEMA_STRING}, {"array", SCHEMA_ARRAY},
        {"object", SCHEMA_OBJECT},
    };
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_eqc(s, TYPES[i].name)) return TYPES[i].bits;
    return 0;
}

SCHEMA_COMPILE(type) {
    static const char MUST[] = "must be a type name or an array of distinct ones";
    struct json_object *v = arg_of(n, kw);
    bool list = json_object_is_type(v, json_type_array);
    size_t nr = list ? json_object_array_length(v) : 1;
    unsigned all = 0;
    for (size_t i = 0; i < nr; i++) {
        struct json_object *one = list ? json_object_array_get_idx(v, i) : v;
        unsigned bit = 0;
        if (json_object_is_type(one, json_type_string)) bit = type_named(schema_json_str(one));
        if (bit == 0 || (all & bit) != 0) return schema_bad(b, n, key_of(kw), MUST);
        all |= bit;
    }
    if (all == 0) return schema_bad(b, n, key_of(kw), MUST);
    kw->u.types = all;
    return 0;
}

static int by_length(const void *x, const void *y) {
    const struct str *a = x, *b = y;
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    return a->n == 0 ? 0 : memcmp(a->p, b->p, a->n);
}

static int compile_values(struct schema_build *b, struct schema_kw *kw, struct json_object **v,
                          size_t nr) {
    struct arena *a = b->set->arena;
    struct schema_values *out = ARENA_NEW(a, struct schema_values);
    struct str *strs = ARENA_ARRAY(a, struct str, nr);
    struct json_object **others = ARENA_ARRAY(a, struct json_object *, nr);
    if (out == NULL || strs == NULL || others == NULL) return schema_no_memory(b);
    size_t s = 0, o = 0;
    for (size_t i = 0; i < nr; i++) {
        if (json_object_is_type(v[i], json_type_string)) strs[s++] = schema_json_str(v[i]);
        else others[o++] = v[i];
    }
    if (s > 1) qsort(strs, s, sizeof *strs, by_length);
    *out = (struct schema_values){.strs = {strs, s}, .others = others, .other_nr = o};
    kw->u.values = out;
    return 0;
}

SCHEMA_COMPILE(enum) {
    struct json_object *v = arg_of(n, kw);
    if (!json_object_is_type(v, json_type_array))
        return schema_bad(b, n, key_of(kw), "must be an array");
    size_t nr = json_object_array_length(v);
    struct json_object **all = ARENA_ARRAY(b->set->arena, struct json_object *, nr);
    if (all == NULL) return schema_no_memory(b);
    for (size_t i = 0; i < nr; i++) all[i] = json_object_array_get_idx(v, i);
    return compile_values(b, kw, all, nr);
}

SCHEMA_COMPILE(const) {
    struct json_object *v = arg_of(n, kw);
    return compile_values(b, kw, &v, 1);
}

SCHEMA_COMPILE(number) {
    struct json_object *v = arg_of(n, kw);
    if (schema_type_of(v) != SCHEMA_NUMBER) return schema_bad(b, n, key_of(kw), "must be a number");
    kw->u.num = schema_num_of(v);
    return 0;
}

SCHEMA_COMPILE(multiple) {
    static const struct schema_num zero = {.whole = true};
    int rc = schema_compile_number(b, n, kw);
    if (rc == 0 && schema_num_cmp(&kw->u.num, &zero) <= 0)
        return schema_bad(b, n, key_of(kw), "must be greater than 0");
    return rc;
}

static bool count_of(struct json_object *v, uint64_t *out) {
    if (schema_type_of(v) != SCHEMA_NUMBER) return false;
    struct schema_num num = schema_num_of(v);
    if (!num.whole && num.d > 0 && schema_num_integral(&num)) {
        *out = UINT64_MAX; /* beyond any size */
        return true;
    }
    if (!num.whole || num.neg) return false;
    *out = num.mag;
    return true;
}

SCHEMA_COMPILE(count) {
    if (!count_of(arg_of(n, kw), &kw->u.count))
        return schema_bad(b, n, key_of(kw), "must be a non-negative integer");
    return 0;
}

SCHEMA_COMPILE(pattern) {
    struct json_object *v = arg_of(n, kw);
    const char *why = "must be a regular expression";
    if (!json_object_is_type(v, json_type_string))
        return schema_bad(b, n, key_of(kw), "must be a string");
    int rc = schema_pattern_get(b->set, schema_json_str(v), &kw->u.pattern, &why);
    if (rc == WOPR_E_NO_MEMORY) return schema_no_memory(b);
    return rc != 0 ? schema_bad(b, n, key_of(kw), why) : 0;
}

SCHEMA_COMPILE(format) {
    struct json_object *v = arg_of(n, kw); /* a string: the annotation table saw to that */
    bool wanted =
        b->set->assert_formats || (n->res->vocabularies & SCHEMA_VOC_FORMAT_ASSERTION) != 0;
    const struct schema_format *f = wanted ? schema_format_find(schema_json_str(v)) : NULL;
    kw->u.format = f;
    if (f == NULL) kw->rule = NULL;
    return 0;
}

SCHEMA_COMPILE(unique) {
    struct json_object *v = arg_of(n, kw);
    if (!json_object_is_type(v, json_type_boolean))
        return schema_bad(b, n, key_of(kw), "must be a boolean");
    if (!json_object_get_boolean(v)) kw->rule = NULL;
    return 0;
}

/* An array of member names.  Repeated names are harmless and let through: the metaschema forbids
 * them, but to find them would cost more than they do. */
static int compile_strs(struct schema_build *b, const struct schema_node *n, const char *key,
                        struct json_object *v, struct schema_strs *out) {
    if (!json_object_is_type(v, json_type_array))
        return schema_bad(b, n, key, "must be an array of strings");
    size_t nr = json_object_array_length(v);
    struct str *strs = ARENA_ARRAY(b->set->arena, struct str, nr);
    if (strs == NULL) return schema_no_memory(b);
    for (size_t i = 0; i < nr; i++) {
        struct json_object *one = json_object_array_get_idx(v, i);
        if (!json_object_is_type(one, json_type_string))
            return schema_bad(b, n, key, "must hold strings only");
        strs[i] = schema_key_spell(b->set->arena, schema_json_str(one));
        if (strs[i].p == NULL) return schema_no_memory(b);
    }
    *out = (struct schema_strs){strs, nr};
    return 0;
}

SCHEMA_COMPILE(required) { return compile_strs(b, n, key_of(kw), arg_of(n, kw), &kw->u.strs); }

SCHEMA_COMPILE(dep_required) {
    struct json_object *v = arg_of(n, kw);
    if (!json_object_is_type(v, json_type_object))
        return schema_bad(b, n, key_of(kw), "must be an object of arrays of strings");
    size_t nr = (size_t)json_object_object_length(v), i = 0;
    struct schema_dep *deps = ARENA_ARRAY(b->set->arena, struct schema_dep, nr);
    if (deps == NULL) return schema_no_memory(b);
    for (struct lh_entry *e = json_object_get_object(v)->head; e != NULL; e = e->next, i++) {
        deps[i].name = str_c(lh_entry_k(e));
        int rc = compile_strs(b, n, key_of(kw), lh_entry_v(e), &deps[i].needs);
        if (rc != 0) return rc;
    }
    kw->u.deps.v = deps;
    kw->u.deps.n = nr;
    return 0;
}
