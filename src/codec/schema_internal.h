/*
 * schema_internal.h: what the files of the validator share.  Layer: codec, private to schema*.c.
 *
 *   document  one registered text
 *   resource  a schema with its own absolute URI: the root of a document, or an embedded $id
 *   location  a place in a document, kept as a chain towards the root: no path text is stored
 *   node      one compiled (sub)schema
 *   rule      one row of the keyword table
 *   keyword   a rule with its compiled argument, inside a node
 *
 * Nodes do not change once schema_compile has returned 0 (S1 of DESIGN.md).  All of it lives in the
 * arena of the set, except the json-c documents and the PCRE2 codes, which the set lists and frees.
 * Validation writes to its own stack, to struct schema_issue and to a PCRE2 block per thread only.
 */
#ifndef WOPR_CODEC_SCHEMA_INTERNAL_H
#define WOPR_CODEC_SCHEMA_INTERNAL_H

#include "base/map.h"
#include "codec/schema.h"

/* json-c uses two names of codec/json.h: rename them in its header. */
#define json_type json_c_type
#define json_bool json_c_bool
#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#undef json_bool
#undef json_type

enum {
    SCHEMA_STEPS_MAX = 1000000,          /* keyword evaluations of one validation */
    SCHEMA_DEPTH_MAX = 1024,             /* nested schema evaluations */
    SCHEMA_ARENA_BYTES_MAX = 64 << 20,   /* everything compiled in one set */
    SCHEMA_PATTERN_BYTES_MAX = 16 << 10, /* one pattern, as written */
    SCHEMA_PATTERN_NAMES_MAX = 32,       /* named groups of one pattern */
    SCHEMA_URI_BYTES_MAX = 8 << 10,
};

enum { /* instance types, as bits */
       SCHEMA_NULL = 1,
       SCHEMA_BOOL = 2,
       SCHEMA_NUMBER = 4,
       SCHEMA_STRING = 8,
       SCHEMA_ARRAY = 16,
       SCHEMA_OBJECT = 32,
       SCHEMA_INTEGER = 64, /* only in the argument of "type" */
       SCHEMA_ANY = 63,
};

enum { /* vocabularies, as bits */
       SCHEMA_VOC_CORE = 1,
       SCHEMA_VOC_APPLICATOR = 2,
       SCHEMA_VOC_UNEVALUATED = 4,
       SCHEMA_VOC_VALIDATION = 8,
       SCHEMA_VOC_META_DATA = 16,
       SCHEMA_VOC_FORMAT = 32,
       SCHEMA_VOC_FORMAT_ASSERTION = 64,
       SCHEMA_VOC_CONTENT = 128,
       SCHEMA_VOC_DEFAULT = 255 & ~64,
};

struct schema_loc { /* one step of a location; the root has up == NULL */
    const struct schema_loc *up;
    struct str token; /* unescaped */
};

struct schema_dynamic { /* one $dynamicAnchor */
    const char *name;   /* interned: equal names are equal pointers */
    struct json_object *json;
    const struct schema_loc *loc;
    const struct schema_node *node; /* NULL until something in the set uses $dynamicRef */
    struct schema_dynamic *next;
};

struct schema_res {
    struct str uri; /* without fragment */
    struct json_object *json;
    const struct schema_loc *loc;
    struct str dialect; /* $schema in force, empty = the standard one */
    const struct schema_loc *dialect_loc;
    unsigned vocabularies; /* 0 = not looked up yet */
    struct schema_dynamic *dynamics;
    bool used; /* some node is in it */
    struct schema_res *next_used;
};

struct schema_anchor {
    struct schema_res *res;
    struct json_object *json;
    const struct schema_loc *loc;
    const char *dynamic; /* interned name when it is a $dynamicAnchor */
};

struct schema_doc {
    struct json_object *json;
    struct schema_doc *next;
};

struct schema_pattern;

struct schema_set {
    bool assert_formats, compiled, has_metaschemas, has_dynamic_refs;
    uint64_t seed;
    struct arena *arena;
    struct map *res_by_uri, *res_by_json, *anchors, *names, *nodes, *patterns;
    struct schema_doc *docs;
    struct schema_pattern *pattern_list;
    struct schema_res *used;
};

struct schema_num { /* a JSON number, exact */
    bool whole;     /* then (neg, mag), else d, which is not integral or beyond 2^64 */
    bool neg;
    uint64_t mag;
    double d;
};

struct schema_node {
    struct json_object *json;
    struct schema_res *res;
    const struct schema_loc *loc;
    bool never;  /* the schema false */
    bool tracks; /* has unevaluatedItems or unevaluatedProperties */
    unsigned n;  /* 0 also for the schema true */
    struct schema_kw *kw;
    struct schema_node *next; /* list of the nodes made by one compilation */
};

struct schema_nodes {
    const struct schema_node **v;
    size_t n;
};

struct schema_name {
    struct str name;
    const struct schema_node *node;
};

struct schema_names { /* open addressing by str_hash; slot value is index + 1 */
    struct schema_name *v;
    size_t n;
    uint32_t *slots;
    size_t mask;
    uint64_t seed;
};

struct schema { /* one entry point */
    const struct schema_node *root;
    uint64_t seed;
};

struct schema_rx_prop {
    const struct schema_pattern *pattern;
    const struct schema_node *node;
};

struct schema_members { /* properties, patternProperties, additionalProperties */
    struct schema_names named;
    struct schema_rx_prop *rx;
    size_t rx_nr;
    const struct schema_node *rest; /* NULL when absent */
};

struct schema_items { /* prefixItems, items */
    struct schema_nodes prefix;
    const struct schema_node *rest;
};

struct schema_contains {
    const struct schema_node *node;
    bool has_max, has_min;
    uint64_t max, min;
};

struct schema_if {
    const struct schema_node *test, *yes, *no;
};

struct schema_strs {
    struct str *v;
    size_t n;
};

struct schema_dep { /* one member of dependentRequired */
    struct str name;
    struct schema_strs needs;
};

struct schema_values {       /* enum, const */
    struct schema_strs strs; /* sorted by length, then bytes */
    struct json_object **others;
    size_t other_nr;
};

struct schema_format {
    const char *name;
    bool (*check)(struct str s);
};

struct schema_dynref {
    const struct schema_node *node; /* where it leads when no outer resource has the anchor */
    const char *name;               /* interned */
};

struct schema_kw {
    const struct schema_rule *rule;
    union {
        uint64_t count;
        unsigned types;
        struct schema_num num;
        const struct schema_node *node;
        struct schema_nodes nodes;
        const struct schema_members *members;
        const struct schema_items *items;
        const struct schema_contains *contains;
        const struct schema_if *cond;
        struct schema_strs strs;
        struct {
            struct schema_dep *v;
            size_t n;
        } deps;
        struct {
            struct schema_name *v;
            size_t n;
        } named;
        const struct schema_values *values;
        const struct schema_format *format;
        const struct schema_pattern *pattern;
        struct schema_dynref dynref;
    } u;
};

/* ---- compilation ---- */
struct schema_build {
    struct schema_set *set;
    struct wopr_error *err;
    struct schema_node *first, **tail; /* nodes made by this compilation, in order */
};

/* schema_set.c: registry */
int schema_load_metaschemas(struct schema_set *s, struct wopr_error *err);
struct schema_res *schema_res_find(struct schema_set *s, struct str uri);
struct schema_res *schema_res_of(struct schema_set *s, struct json_object *json);
const struct schema_loc *schema_loc_add(struct schema_set *s, const struct schema_loc *up,
                                        struct str token);
/* JSON pointer of loc plus the token key (may be NULL), cut at a token when out is too small. */
void schema_loc_print(const struct schema_loc *loc, const char *key, char *out, size_t size);
const char *schema_intern(struct schema_set *s, struct str name); /* NULL when memory is short */
struct str schema_json_str(struct json_object *v);                /* of a json-c string, borrowed */

/* schema_uri.c.  RFC 3986: resolve ref against base; *out (arena) has no fragment; *fragment
 * borrows from ref, p == NULL when there is none. */
int schema_uri_resolve(struct arena *a, struct str base, struct str ref, struct str *out,
                       struct str *fragment);
/* Undo %xx; false when malformed or when memory is short. */
bool schema_uri_decode(struct arena *a, struct str s, struct str *out);

/* schema_compile.c: a node for the subschema at loc; compiled later by the work list. */
int schema_node_get(struct schema_build *b, struct schema_res *parent, const struct schema_loc *loc,
                    struct json_object *json, const struct schema_node **out);
struct schema_target {
    struct schema_res *res;
    struct json_object *json;
    const struct schema_loc *loc;
    const char *dynamic;
};
/* WOPR_E_NOT_FOUND when nothing registered answers to ref; err is not set then. */
int schema_resolve(struct schema_build *b, struct str base, struct str ref,
                   struct schema_target *out);
int schema_bad(struct schema_build *b, const struct schema_node *n, const char *key,
               const char *what);
int schema_no_memory(struct schema_build *b);

/* schema_keywords.c: the table of rules */
struct schema_run;
struct schema_spot;
struct schema_rule {
    const char *names[4]; /* any of them in a schema makes the keyword */
    unsigned vocabulary;
    unsigned types; /* instances it looks at */
    int (*compile)(struct schema_build *b, struct schema_node *n, struct schema_kw *kw);
    int (*eval)(struct schema_run *r, const struct schema_kw *kw, const struct schema_spot *s);
};
extern const struct schema_rule SCHEMA_RULES[];
extern const size_t SCHEMA_RULE_NR;
enum schema_nesting { SCHEMA_NEST_ONE, SCHEMA_NEST_LIST, SCHEMA_NEST_MAP };
struct schema_nest {
    const char *name;
    enum schema_nesting how;
};
extern const struct schema_nest SCHEMA_NESTS[]; /* keywords that hold subschemas; NULL name ends */
int schema_check_annotations(struct schema_build *b, const struct schema_node *n);

/* schema_compile_assert.c, schema_compile_apply.c: arguments of keywords */
#define SCHEMA_COMPILE(name)                                                                       \
    int schema_compile_##name(struct schema_build *b, struct schema_node *n, struct schema_kw *kw)
SCHEMA_COMPILE(type);
SCHEMA_COMPILE(enum);
SCHEMA_COMPILE(const);
SCHEMA_COMPILE(number);
SCHEMA_COMPILE(multiple);
SCHEMA_COMPILE(count);
SCHEMA_COMPILE(pattern);
SCHEMA_COMPILE(format);
SCHEMA_COMPILE(unique);
SCHEMA_COMPILE(required);
SCHEMA_COMPILE(dep_required);
SCHEMA_COMPILE(node);
SCHEMA_COMPILE(nodes);
SCHEMA_COMPILE(defs);
SCHEMA_COMPILE(items);
SCHEMA_COMPILE(contains);
SCHEMA_COMPILE(members);
SCHEMA_COMPILE(if);
SCHEMA_COMPILE(dep_schemas);
SCHEMA_COMPILE(ref);
SCHEMA_COMPILE(dynref);
SCHEMA_COMPILE(tracking);

/* ---- numbers and values: schema_value.c ---- */
struct schema_num schema_num_of(struct json_object *v);
bool schema_num_integral(const struct schema_num *n);
int schema_num_cmp(const struct schema_num *a, const struct schema_num *b);
bool schema_num_multiple(const struct schema_num *a, const struct schema_num *of); /* of > 0 */
unsigned schema_type_of(struct json_object *v);
/* Each compared value takes one of *steps; at 0 the answer is false and *steps stays 0. */
bool schema_value_equal(struct json_object *x, struct json_object *y, uint64_t *steps);
uint64_t schema_value_hash(struct json_object *v, uint64_t seed, uint64_t *steps);
/* json-c member names are C strings; U+0000 in one is spelled C0 80 there (codec/json_tree.c).
 * schema_key_spell: the spelling of a name as json-c has it; p == NULL when memory is short.
 * schema_key_text: back again; *owned (mem_free) is NULL when key could be borrowed. */
struct str schema_key_spell(struct arena *a, struct str name);
int schema_key_text(const char *key, struct str *out, char **owned);
uint32_t schema_name_find(const struct schema_names *t, struct str key); /* index + 1, or 0 */

/* ---- patterns: schema_pattern.c (translation), schema_regex.c (PCRE2) ---- */
struct schema_pattern_cost {
    size_t fixed; /* bytes a start may scan before the first callout counts it */
    bool backrefs;
};
/* ECMA-262 (unicode mode, lenient on needless escapes) to PCRE2.  0, WOPR_E_VALIDATION with *why a
 * static sentence, or WOPR_E_NO_MEMORY / WOPR_E_TOO_BIG. */
int schema_pattern_translate(struct str src, struct buf *out, struct schema_pattern_cost *cost,
                             const char **why);
/* Compiled once per text in a set. */
int schema_pattern_get(struct schema_set *s, struct str src, const struct schema_pattern **out,
                       const char **why);
void schema_pattern_list_free(struct schema_pattern *list);
bool schema_pattern_valid(struct str src);
/* 0 with *matches set, WOPR_E_TOO_BIG when *steps is spent, WOPR_E_NO_MEMORY. */
int schema_pattern_match(const struct schema_pattern *p, struct str subject, uint64_t *steps,
                         bool *matches);

/* ---- formats: schema_format.c, schema_format_net.c, schema_format_uri.c ---- */
const struct schema_format *schema_format_find(struct str name);
bool schema_format_email(struct str s);
bool schema_format_idn_email(struct str s);
bool schema_format_hostname(struct str s);
bool schema_format_idn_hostname(struct str s);
bool schema_format_ipv4(struct str s);
bool schema_format_ipv6(struct str s);
bool schema_format_uri(struct str s);
bool schema_format_uri_reference(struct str s);
bool schema_format_iri(struct str s);
bool schema_format_iri_reference(struct str s);
bool schema_format_uri_template(struct str s);
/* One code point from *s (advanced); 0xFFFFFFFF at a malformed byte. */
uint32_t schema_utf8_next(struct str *s);

/* ---- validation ---- */
struct schema_at { /* a place in the instance, on the stack */
    const struct schema_at *up;
    const char *key; /* NULL: index */
    size_t index;
};

struct schema_seen { /* which members or elements were evaluated */
    bool all;
    size_t n;
    uint64_t *bits; /* inl, or heap when n > 128 */
    uint64_t inl[2];
};

struct schema_scope { /* dynamic scope: resources entered, innermost first */
    const struct schema_scope *up;
    const struct schema_res *res;
};

struct schema_run {
    uint64_t steps; /* left */
    unsigned depth;
    unsigned quiet; /* > 0 inside anyOf, oneOf, not, if, contains: no issue is written */
    uint64_t seed;
    const struct schema_scope *scope;
    struct schema_issue *issue;
};

struct schema_spot {
    struct json_object *v;
    unsigned type;
    const struct schema_node *node;
    const struct schema_at *at;
    struct schema_seen *seen; /* NULL: annotations are not needed */
};

/* 0, WOPR_E_VALIDATION, or a hard error that ends the whole validation. */
int schema_eval(struct schema_run *r, const struct schema_node *n, struct json_object *v,
                const struct schema_at *at, struct schema_seen *seen);
/* Write the issue (unless quiet) and return WOPR_E_VALIDATION. */
int schema_fail(struct schema_run *r, const struct schema_spot *s, const char *key, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));
/* The same for a member or an element of the instance at s. */
int schema_fail_at(struct schema_run *r, const struct schema_spot *s, const struct schema_at *at,
                   const char *key, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int schema_over(struct schema_run *r, const struct schema_spot *s); /* WOPR_E_TOO_BIG */
int schema_spend(struct schema_run *r, const struct schema_spot *s, uint64_t steps);

int schema_seen_init(struct schema_seen *s, struct json_object *v, unsigned type);
void schema_seen_fini(struct schema_seen *s);
void schema_seen_merge(struct schema_seen *into, const struct schema_seen *from);
static inline void schema_seen_add(struct schema_seen *s, size_t i) {
    if (s != NULL && i < s->n) s->bits[i / 64] |= (uint64_t)1 << (i % 64);
}
static inline bool schema_seen_has(const struct schema_seen *s, size_t i) {
    return s->all || (i < s->n && (s->bits[i / 64] >> (i % 64) & 1) != 0);
}

#define SCHEMA_EVAL(name)                                                                          \
    int schema_eval_##name(struct schema_run *r, const struct schema_kw *kw,                       \
                           const struct schema_spot *s)
SCHEMA_EVAL(type);
SCHEMA_EVAL(values);
SCHEMA_EVAL(bound);
SCHEMA_EVAL(multiple);
SCHEMA_EVAL(length);
SCHEMA_EVAL(pattern);
SCHEMA_EVAL(format);
SCHEMA_EVAL(size);
SCHEMA_EVAL(unique);
SCHEMA_EVAL(required);
SCHEMA_EVAL(dep_required);
SCHEMA_EVAL(items);
SCHEMA_EVAL(contains);
SCHEMA_EVAL(members);
SCHEMA_EVAL(names);
SCHEMA_EVAL(ref);
SCHEMA_EVAL(dynref);
SCHEMA_EVAL(all);
SCHEMA_EVAL(any);
SCHEMA_EVAL(one);
SCHEMA_EVAL(not );
SCHEMA_EVAL(if);
SCHEMA_EVAL(dep_schemas);
SCHEMA_EVAL(rest_items);
SCHEMA_EVAL(rest_members);

#endif
