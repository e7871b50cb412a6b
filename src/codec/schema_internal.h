/*
 * schema_internal.h: compiled schemas, and json-c values as the validator sees them.  Layer: codec,
 * private to schema*.c.
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
    schema_source *source; /* of documents that are not registered, or NULL */
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

/* ---- numbers and values: schema_value.c ---- */
struct str schema_json_str(struct json_object *v); /* of a json-c string, borrowed */
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

#endif
