/*
 * schema_build.h: compiling: the registry of a set, references, nodes.  Layer: codec, private to
 * schema*.c.
 */
#ifndef WOPR_CODEC_SCHEMA_BUILD_H
#define WOPR_CODEC_SCHEMA_BUILD_H

#include "codec/schema_internal.h"

struct schema_build {
    struct schema_set *set;
    struct wopr_error *err;
    struct schema_node *first, **tail; /* nodes made by this compilation, in order */
};

/* --- schema_set.c: registry --- */
int schema_load_metaschemas(struct schema_set *s, struct wopr_error *err);
/* Registers what the set's source has under uri; 0 too when it has nothing. */
int schema_load_source(struct schema_set *s, struct str uri, struct wopr_error *err);
struct schema_res *schema_res_find(struct schema_set *s, struct str uri);
struct schema_res *schema_res_of(struct schema_set *s, struct json_object *json);
const struct schema_loc *schema_loc_add(struct schema_set *s, const struct schema_loc *up,
                                        struct str token);
/* JSON pointer of loc plus the token key (may be NULL), cut at a token when out is too small. */
void schema_loc_print(const struct schema_loc *loc, const char *key, char *out, size_t size);
const char *schema_intern(struct schema_set *s, struct str name); /* NULL when memory is short */

/* --- schema_uri.c --- */
/* RFC 3986: resolve ref against base; *out (arena) has no fragment; *fragment
 * borrows from ref, p == NULL when there is none. */
int schema_uri_resolve(struct arena *a, struct str base, struct str ref, struct str *out,
                       struct str *fragment);
/* Undo %xx; false when malformed or when memory is short. */
bool schema_uri_decode(struct arena *a, struct str s, struct str *out);

/* --- schema_compile.c --- */
/* A node for the subschema at loc; compiled later by the work list. */
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

#endif
