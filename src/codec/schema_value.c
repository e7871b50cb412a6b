/*
 * schema_value.c: numbers, equality and hashes of json-c values as JSON Schema sees them: 1 and 1.0
 * are one value, members have no order.  Layer: codec.
 */
#include "base/mem.h"
#include "codec/schema_internal.h"

#include <math.h>

__extension__ typedef unsigned __int128 u128;

static const double TWO_64 = 18446744073709551616.0;

unsigned schema_type_of(struct json_object *v) {
    switch (json_object_get_type(v)) {
    case json_type_null:
        return SCHEMA_NULL;
    case json_type_boolean:
        return SCHEMA_BOOL;
    case json_type_double:
    case json_type_int:
        return SCHEMA_NUMBER;
    case json_type_string:
        return SCHEMA_STRING;
    case json_type_array:
        return SCHEMA_ARRAY;
    case json_type_object:
        return SCHEMA_OBJECT;
    }
    return 0;
}

struct str schema_json_str(struct json_object *v) {
    return str_n(json_object_get_string(v), (size_t)json_object_get_string_len(v));
}

/* ---- numbers ---- */

static struct schema_num from_double(double d) {
    if (fabs(d) < TWO_64 && trunc(d) == d)
        return (struct schema_num){.whole = true, .neg = d < 0, .mag = (uint64_t)fabs(d)};
    return (struct schema_num){.whole = false, .d = d};
}

struct schema_num schema_num_of(struct json_object *v) {
    if (json_object_is_type(v, json_type_double)) return from_double(json_object_get_double(v));
    int64_t i = json_object_get_int64(v);
    if (i < 0) return (struct schema_num){.whole = true, .neg = true, .mag = 0 - (uint64_t)i};
    return (struct schema_num){.whole = true, .mag = json_object_get_uint64(v)};
}

bool schema_num_integral(const struct schema_num *n) {
    return n->whole || (isfinite(n->d) && trunc(n->d) == n->d);
}

static int cmp_whole(const struct schema_num *a, const struct schema_num *b) {
    if (a->neg != b->neg) return a->neg ? -1 : 1;
    if (a->mag == b->mag) return 0;
    return (a->mag < b->mag) != a->neg ? -1 : 1;
}

/* A whole number against a fraction or one beyond 2^64; never equal. */
static int cmp_mixed(const struct schema_num *a, double d) {
    if (fabs(d) >= TWO_64) return d > 0 ? -1 : 1;
    struct schema_num t = from_double(trunc(d));
    int c = cmp_whole(a, &t);
    return c != 0 ? c : d > 0 ? -1 : 1;
}

int schema_num_cmp(const struct schema_num *a, const struct schema_num *b) {
    if (a->whole && b->whole) return cmp_whole(a, b);
    if (a->whole) return cmp_mixed(a, b->d);
    if (b->whole) return -cmp_mixed(b, a->d);
    return a->d < b->d ? -1 : a->d > b->d;
}

struct decimal { /* mag * 10^exp */
    uint64_t mag;
    int exp;
};

/* The shortest decimal that reads back as the same number: what its author wrote. */
static struct decimal decimal_of(const struct schema_num *n) {
    char text[64];
    struct decimal out = {.mag = n->mag, .exp = 0};
    if (n->whole) return out;
    size_t len = json_number_format(fabs(n->d), text);
    bool fraction = false;
    out.mag = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c >= '0' && c <= '9') {
            if (out.mag > (UINT64_MAX - 9) / 10) { /* only zeros can follow 17 digits */
                out.exp += !fraction;
                continue;
            }
            out.mag = out.mag * 10 + (uint64_t)(c - '0');
            out.exp -= fraction;
        } else if (c == '.') {
            fraction = true;
        } else if (c == 'e') {
            int64_t e = 0;
            size_t skip = i + 1 < len && text[i + 1] == '+' ? i + 2 : i + 1;
            if (str_i64(str_n(text + skip, len - skip), &e)) out.exp += (int)e;
            break;
        }
    }
    return out;
}

bool schema_num_multiple(const struct schema_num *a, const struct schema_num *of) {
    if (a->whole && of->whole) return a->mag % of->mag == 0;
    if ((!a->whole && !isfinite(a->d)) || (!of->whole && !isfinite(of->d))) return false;
    struct decimal x = decimal_of(a), y = decimal_of(of);
    if (x.mag == 0) return true;
    if (x.exp >= y.exp) { /* x.mag * 10^k mod y.mag, without the big number */
        u128 rest = x.mag % y.mag, ten = 10 % y.mag;
        for (int k = x.exp - y.exp; k > 0 && rest != 0; k--) rest = rest * ten % y.mag;
        return rest == 0;
    }
    u128 step = y.mag;
    for (int k = y.exp - x.exp; k > 0; k--) {
        step *= 10;
        if (step > x.mag) return false;
    }
    return x.mag % (uint64_t)step == 0;
}

/* ---- equality and hash ---- */

static bool steps_spend(uint64_t *steps) {
    if (*steps == 0) return false;
    --*steps;
    return true;
}

/* Depth is that of the shallower value, which came through a depth limit. */
static bool equal_arrays(struct json_object *x, struct json_object *y, uint64_t *steps) {
    size_t n = json_object_array_length(x);
    if (n != json_object_array_length(y)) return false;
    for (size_t i = 0; i < n; i++)
        if (!schema_value_equal(json_object_array_get_idx(x, i), json_object_array_get_idx(y, i),
                                steps))
            return false;
    return true;
}

static bool equal_objects(struct json_object *x, struct json_object *y, uint64_t *steps) {
    if (json_object_object_length(x) != json_object_object_length(y)) return false;
    for (struct lh_entry *e = json_object_get_object(x)->head; e != NULL; e = e->next) {
        struct json_object *other = NULL;
        if (!json_object_object_get_ex(y, lh_entry_k(e), &other)) return false;
        if (!schema_value_equal(lh_entry_v(e), other, steps)) return false;
    }
    return true;
}

bool schema_value_equal(struct json_object *x, struct json_object *y, uint64_t *steps) {
    unsigned type = schema_type_of(x);
    if (type != schema_type_of(y) || !steps_spend(steps)) return false;
    switch (type) {
    case SCHEMA_NULL:
        return true;
    case SCHEMA_BOOL:
        return json_object_get_boolean(x) == json_object_get_boolean(y);
    case SCHEMA_STRING:
        return str_eq(schema_json_str(x), schema_json_str(y));
    case SCHEMA_ARRAY:
        return equal_arrays(x, y, steps);
    case SCHEMA_OBJECT:
        return equal_objects(x, y, steps);
    default:
        break;
    }
    struct schema_num a = schema_num_of(x), b = schema_num_of(y);
    return schema_num_cmp(&a, &b) == 0;
}

static uint64_t hash_mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

uint64_t schema_value_hash(struct json_object *v, uint64_t seed, uint64_t *steps) {
    unsigned type = schema_type_of(v);
    uint64_t h = hash_mix(seed, type);
    if (!steps_spend(steps)) return h;
    if (type == SCHEMA_STRING) return hash_mix(h, str_hash(schema_json_str(v), seed));
    if (type == SCHEMA_BOOL) return hash_mix(h, (uint64_t)json_object_get_boolean(v));
    if (type == SCHEMA_NUMBER) {
        struct schema_num n = schema_num_of(v);
        uint64_t bits;
        memcpy(&bits, &n.d, sizeof bits);
        return n.whole ? hash_mix(hash_mix(h, n.mag), n.neg) : hash_mix(hash_mix(h, bits), 2);
    }
    if (type == SCHEMA_ARRAY) {
        size_t n = json_object_array_length(v);
        for (size_t i = 0; i < n; i++)
            h = hash_mix(h, schema_value_hash(json_object_array_get_idx(v, i), seed, steps));
    }
    if (type == SCHEMA_OBJECT) {
        uint64_t sum = 0; /* members in any order */
        for (struct lh_entry *e = json_object_get_object(v)->head; e != NULL; e = e->next)
            sum += hash_mix(str_hash(str_c(lh_entry_k(e)), seed),
                            schema_value_hash(lh_entry_v(e), seed, steps));
        h = hash_mix(h, sum);
    }
    return h;
}

uint32_t schema_name_find(const struct schema_names *t, struct str key) {
    if (t->n == 0) return 0;
    for (size_t at = (size_t)str_hash(key, t->seed) & t->mask; t->slots[at] != 0;
         at = (at + 1) & t->mask)
        if (str_eq(t->v[t->slots[at] - 1].name, key)) return t->slots[at];
    return 0;
}

static const struct str NUL_SPELT = {"\xC0\x80", 2};

struct str schema_key_spell(struct arena *a, struct str name) {
    if (name.n == 0 || memchr(name.p, '\0', name.n) == NULL) return name;
    char *p = arena_alloc(a, name.n * 2 + 1);
    size_t n = 0;
    if (p == NULL) return STR_NONE;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] != '\0') {
            p[n++] = name.p[i];
            continue;
        }
        memcpy(p + n, NUL_SPELT.p, NUL_SPELT.n);
        n += NUL_SPELT.n;
    }
    return str_n(p, n);
}

int schema_key_text(const char *key, struct str *out, char **owned) {
    size_t len = strlen(key), n = 0;
    *owned = NULL;
    *out = str_n(key, len);
    if (strstr(key, NUL_SPELT.p) == NULL) return 0;
    char *p = mem_alloc(len + 1);
    if (p == NULL) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < len; i++) {
        bool nul = str_starts(str_n(key + i, len - i), NUL_SPELT);
        p[n++] = nul ? '\0' : key[i];
        i += nul;
    }
    *out = str_n(p, n);
    *owned = p;
    return 0;
}
