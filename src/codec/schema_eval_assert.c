/*
 * schema_eval_assert.c: the validation vocabulary and format at run time.  Layer: codec.
 * Reasons quote what the schema says, never what the instance holds.
 */
#include "base/mem.h"
#include "codec/schema_format.h"
#include "codec/schema_pattern.h"
#include "codec/schema_rules.h"

#include <inttypes.h>

enum { UNIQUE_PAIRS_MAX = 8 }; /* up to here all pairs are compared, beyond it a hash table */

static const char *key_of(const struct schema_kw *kw) { return kw->rule->names[0]; }

SCHEMA_EVAL(type) {
    unsigned want = kw->u.types;
    if ((want & s->type) != 0) return 0;
    if ((want & SCHEMA_INTEGER) != 0 && s->type == SCHEMA_NUMBER) {
        struct schema_num n = schema_num_of(s->v);
        if (schema_num_integral(&n)) return 0;
    }
    static const struct {
        unsigned bit;
        const char *name;
    } NAMES[] = {{SCHEMA_OBJECT, "an object"}, {SCHEMA_ARRAY, "an array"},
                 {SCHEMA_STRING, "a string"},  {SCHEMA_INTEGER, "an integer"},
                 {SCHEMA_NUMBER, "a number"},  {SCHEMA_BOOL, "a boolean"},
                 {SCHEMA_NULL, "null"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (want == NAMES[i].bit) return schema_fail(r, s, "type", "must be %s", NAMES[i].name);
    return schema_fail(r, s, "type", "must be of one of the types the schema lists");
}

static bool find_str(const struct schema_strs *t, struct str key) {
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct str *m = &t->v[mid];
        int c =
            m->n != key.n ? (m->n < key.n ? -1 : 1) : (key.n == 0 ? 0 : memcmp(m->p, key.p, key.n));
        if (c == 0) return true;
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return false;
}

SCHEMA_EVAL(values) {
    const struct schema_values *all = kw->u.values;
    bool found = s->type == SCHEMA_STRING && find_str(&all->strs, schema_json_str(s->v));
    for (size_t i = 0; !found && s->type != SCHEMA_STRING && i < all->other_nr; i++)
        found = schema_value_equal(all->others[i], s->v, &r->steps);
    if (found) return 0;
    if (r->steps == 0) return schema_over(r, s);
    bool one = all->strs.n + all->other_nr == 1;
    return schema_fail(r, s, key_of(kw),
                       one ? "must be the one value the schema allows"
                           : "must be one of the values the schema lists");
}

SCHEMA_EVAL(bound) {
    const char *key = key_of(kw);
    bool exclusive = key[0] == 'e';
    bool upper = key[exclusive ? 10 : 1] == 'a'; /* m(a)ximum or exclusiveM(a)ximum */
    struct schema_num n = schema_num_of(s->v);
    int c = schema_num_cmp(&n, &kw->u.num);
    if (upper ? c < 0 : c > 0) return 0;
    if (c == 0 && !exclusive) return 0;
    return schema_fail(r, s, key, "the number is %s", upper ? "too large" : "too small");
}

SCHEMA_EVAL(multiple) {
    struct schema_num n = schema_num_of(s->v);
    if (schema_num_multiple(&n, &kw->u.num)) return 0;
    return schema_fail(r, s, key_of(kw), "the number is not a multiple of what the schema says");
}

SCHEMA_EVAL(length) {
    const char *key = key_of(kw);
    struct str v = schema_json_str(s->v);
    uint64_t limit = kw->u.count;
    bool max = key[1] == 'a';
    /* A code point takes 1 to 4 bytes: mostly the answer is known without counting. */
    if (max ? v.n <= limit : v.n / 4 >= limit) return 0;
    uint64_t n = utf8_count(v);
    if (max ? n <= limit : n >= limit) return 0;
    return max ? schema_fail(r, s, key, "the string has more than %" PRIu64 " characters", limit)
               : schema_fail(r, s, key, "the string has fewer than %" PRIu64 " characters", limit);
}

SCHEMA_EVAL(pattern) {
    bool matches = false;
    int rc = schema_pattern_match(kw->u.pattern, schema_json_str(s->v), &r->steps, &matches);
    if (rc == WOPR_E_TOO_BIG) return schema_over(r, s);
    if (rc != 0) return rc;
    return matches ? 0 : schema_fail(r, s, key_of(kw), "the string does not match the pattern");
}

SCHEMA_EVAL(format) {
    struct str v = schema_json_str(s->v);
    int rc = schema_spend(r, s, v.n / 64);
    if (rc != 0 || kw->u.format->check(v)) return rc;
    return schema_fail(r, s, key_of(kw), "the string is no valid %s", kw->u.format->name);
}

SCHEMA_EVAL(size) {
    const char *key = key_of(kw);
    bool max = key[1] == 'a', object = s->type == SCHEMA_OBJECT;
    uint64_t n =
        object ? (uint64_t)json_object_object_length(s->v) : json_object_array_length(s->v);
    if (max ? n <= kw->u.count : n >= kw->u.count) return 0;
    return schema_fail(r, s, key, "the %s has %s than %" PRIu64 " %s", object ? "object" : "array",
                       max ? "more" : "fewer", kw->u.count, object ? "members" : "elements");
}

static int member_missing(struct schema_run *r, const struct schema_spot *s, const char *key,
                          const struct schema_strs *names) {
    int rc = schema_spend(r, s, names->n / 8);
    if (rc != 0) return rc;
    for (size_t i = 0; i < names->n; i++)
        if (!json_object_object_get_ex(s->v, names->v[i].p, NULL))
            return schema_fail(r, s, key, "the member \"%s\" is missing", names->v[i].p);
    return 0;
}

SCHEMA_EVAL(required) { return member_missing(r, s, key_of(kw), &kw->u.strs); }

SCHEMA_EVAL(dep_required) {
    for (size_t i = 0; i < kw->u.deps.n; i++) {
        const struct schema_dep *d = &kw->u.deps.v[i];
        int rc = schema_spend(r, s, 1);
        if (rc != 0) return rc;
        if (!json_object_object_get_ex(s->v, d->name.p, NULL)) continue;
        rc = member_missing(r, s, key_of(kw), &d->needs);
        if (rc != 0) return rc;
    }
    return 0;
}

/* ---- uniqueItems ---- */

struct slot {
    uint64_t hash;
    size_t index; /* + 1; 0 = free */
};

static bool unique_pairs(struct schema_run *r, struct json_object *v, size_t n) {
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (schema_value_equal(json_object_array_get_idx(v, i), json_object_array_get_idx(v, j),
                                   &r->steps))
                return false;
    return true;
}

static bool unique_table(struct schema_run *r, struct json_object *v, size_t n, struct slot *table,
                         size_t mask) {
    for (size_t i = 0; i < n && r->steps > 0; i++) {
        struct json_object *one = json_object_array_get_idx(v, i);
        uint64_t hash = schema_value_hash(one, r->seed, &r->steps);
        size_t at = (size_t)hash & mask;
        for (; table[at].index != 0; at = (at + 1) & mask)
            if (table[at].hash == hash &&
                schema_value_equal(one, json_object_array_get_idx(v, table[at].index - 1),
                                   &r->steps))
                return false;
        table[at] = (struct slot){hash, i + 1};
    }
    return true;
}

SCHEMA_EVAL(unique) {
    size_t n = json_object_array_length(s->v), slots = 16;
    bool unique;
    if (n <= UNIQUE_PAIRS_MAX) {
        unique = unique_pairs(r, s->v, n);
    } else {
        while (slots < n * 2) slots *= 2;
        struct slot *table = mem_array(slots, sizeof *table);
        if (table == NULL) return WOPR_E_NO_MEMORY;
        unique = unique_table(r, s->v, n, table, slots - 1);
        mem_free(table);
    }
    if (r->steps == 0) return schema_over(r, s);
    return unique ? 0 : schema_fail(r, s, key_of(kw), "the array holds equal elements");
}
