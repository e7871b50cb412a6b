/* lint_int.h: what the parts of lint share.  Layer: domain (pure), private to this folder. */
#ifndef WOPR_DOMAIN_LINT_INT_H
#define WOPR_DOMAIN_LINT_INT_H

#include "base/map.h"
#include "base/near.h"
#include "domain/lint.h"
#include "domain/traits.h"

/* The parts of a finding beyond its text. */
struct lint_more {
    struct str value; /* raw */
    const struct str *choices;
    size_t choices_nr;
    struct str nearest;
};
struct lint_node {
    struct str raw, id, type_id;
    struct str config, inputs; /* raw objects or STR_NONE */
    unsigned traits;
    const struct wf_type *type; /* NULL: unknown */
    bool triggered;             /* a channel-write trigger starts it */
};
struct lint_edge {
    struct str raw, condition, rule; /* condition: raw object or STR_NONE; rule: text or STR_NONE */
    int src, dst;                    /* indexes, -1: no such node */
};
struct lint {
    const struct wf_types *types;
    lint_fn *each;
    void *ctx;
    struct arena *a;
    struct map *nodes;    /* id -> struct lint_node */
    struct map *vars;     /* what variables.NAME reads: declared, set by a node, channels without
                             declaration; value: its raw declaration, or l itself */
    struct map *inputs;   /* declared variables -> raw declaration */
    struct map *channels; /* declared channels -> raw declaration */
    struct map *by_type;  /* type id -> struct wf_type or l (unknown) */
    struct map *shapes;   /* place of a schema -> struct shape (lint_shape.c) */
    struct lint_node *node_list;
    struct lint_edge *edge_list;
    size_t nodes_nr, edges_nr;
    char at[LINT_POINTER]; /* the current place */
    size_t at_n;
    unsigned told, near_left;
    bool no_memory;
};

/* --- lint_text.c --- */
/* Go one segment deeper; lint_leave takes the result.  Several: lint_at(l, "edges", i). */
size_t lint_enter(struct lint *l, struct str key);
size_t lint_at(struct lint *l, const char *list, size_t i);
void lint_leave(struct lint *l, size_t mark);
/* Report a finding at the current place; key (may be NULL): one segment deeper. more may be
 * NULL. */
void lint_tell(struct lint *l, bool error, const char *key, const struct lint_more *more,
               const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool lint_full(const struct lint *l); /* no more findings are reported: stop looking */
/* The string at key must be one of the choices. */
void lint_word(struct lint *l, struct str object, const char *key, const struct str *choices,
               size_t n);
/* The string at key names something of the map; what: "node". */
bool lint_name(struct lint *l, struct str object, const char *key, const struct map *known,
               const char *what);
void lint_try(struct lint *l, struct near *n, struct str name); /* while the budget lasts */
void lint_near(struct lint *l, struct near *n, const struct map *known);  /* offer every name */
struct str lint_text(struct lint *l, struct str object, const char *key); /* NONE when no string */
void lint_put(struct lint *l, struct map *m, struct str key, const void *value);
#define LINT_SHOWN(s) (int)((s).n < 64 ? (s).n : 64), (s).p /* for %.*s */
/* --- lint_shape.c --- */
/* The value must have the shape of the schema; root: the document of its references. ignores:
 * readers ignore members outside the schema, so they are not refused. */
struct lint_shape {
    struct str schema, root;
    bool ignores;
    struct str elsewhere;     /* raw object that may hold required members too, or STR_NONE */
    const char *elsewhere_is; /* "as an input" */
};
/* Report where value cannot fit the shape, at the current place of l. */
void lint_shape(struct lint *l, struct str value, const struct lint_shape *s);
/* The schema of one member of an object, STR_NONE when it says nothing. */
struct str lint_shape_member(struct lint *l, struct str schema, struct str key);
bool lint_shape_closed(struct lint *l, struct str schema);               /* no other members */
void lint_shape_near(struct lint *l, struct str schema, struct near *n); /* offer its members */
/* --- lint_expr.c --- */
void lint_expression(struct lint *l, struct str text, const char *key, bool condition);
/* A dotted path "variables.x.y" of a condition. */
void lint_path(struct lint *l, struct str path, const char *key);
/* name is used as a variable. */
void lint_variable(struct lint *l, struct str name, const char *key);
/* --- lint_node.c --- */
void lint_nodes(struct lint *l);
/* --- lint_edge.c, lint_graph.c --- */
void lint_edges(struct lint *l);
void lint_graph(struct lint *l);

#endif
