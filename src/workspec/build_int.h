/*
 * build_int.h: a tree out of what parsers meet.  Layer: workspec, private to parse*.c.
 */
#ifndef WOPR_WORKSPEC_BUILD_INT_H
#define WOPR_WORKSPEC_BUILD_INT_H

#include "workspec/parse.h"

enum {
    BUILD_DEPTH_MAX = 128, /* of limits->depth */
    BUILD_SAME_NAMES = 256 /* a power of two */
};
struct ws_place {
    uint32_t line, column; /* from 1 */
};
struct ws_level {
    struct ws_value *value;
    struct str name; /* objects: of the member that is being read */
    bool named;      /* objects: name is set */
    size_t first;    /* its part of the pending list */
};
struct ws_pending {
    struct str name;
    const struct ws_value *value;
};
struct ws_builder {
    struct arena *a;
    const struct ws_limits *limits;
    bool refuse_doubles;
    struct wopr_error *err;
    const struct ws_value *root;
    struct ws_excess excess;
    size_t depth, values;
    struct ws_pending *pending; /* children of the open containers; heap */
    size_t pending_nr, pending_cap;
    struct str same[BUILD_SAME_NAMES]; /* names that are likely to come again */
    struct ws_level levels[BUILD_DEPTH_MAX];
};

void build_init(struct ws_builder *b, struct arena *a, const struct ws_limits *limits,
                struct wopr_error *err);
void build_fini(struct ws_builder *b);
/* Each 0, SYNTAX, NO_MEMORY, or TOO_BIG with excess set. */
MUST_CHECK int build_open(struct ws_builder *b, enum ws_kind kind, struct ws_place at);
MUST_CHECK int build_close(struct ws_builder *b);
MUST_CHECK int build_scalar(struct ws_builder *b, const struct ws_value *v, struct ws_place at);
void build_name(struct ws_builder *b, struct str name); /* of the arena */
/* A copy in the arena, or the one that an equal name got before: names of members come again and
 * again.  p NULL: out of memory. */
struct str build_same(struct ws_builder *b, struct str name);
/* The container that is open is an object and waits for a name. */
bool build_wants_name(const struct ws_builder *b);
int build_refuse(struct wopr_error *err, struct ws_place at, const char *what);

/* One past the number at p, NULL when there is none. */
const char *build_number_end(const char *p, const char *end);

/* parse_yaml.c */
MUST_CHECK int parse_yaml(struct str text, struct ws_builder *b);

#endif
