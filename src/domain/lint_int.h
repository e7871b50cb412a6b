/* lint_int.h: what the files of lint share.  Layer: domain (pure), private to this folder. */
#ifndef WOPR_DOMAIN_LINT_INT_H
#define WOPR_DOMAIN_LINT_INT_H

#include "base/map.h"
#include "base/near.h"
#include "domain/lint.h"
#include "domain/traits.h"

#define LINT_POINTER 192

struct lint {
    const struct lint_type *types;
    lint_fn *each;
    void *ctx;
    struct arena *a;
    struct map *nodes; /* id -> its element of node_list */
    struct map *vars;  /* names: declared, set by a node, or of a channel */
    struct json_elements node_list, edge_list;
    unsigned told;
    bool no_memory;
};

/* --- lint_text.c --- */
void lint_tell(struct lint *l, bool error, const char *pointer, const char *key, const char *fmt,
               ...) __attribute__((format(printf, 5, 6)));
/* Report members of an object that are not in known. closed: the schema refuses them. */
void lint_members(struct lint *l, struct str object, const char *pointer, const char *known,
                  bool closed);
/* The string at key, when there is one, must be one of words. */
void lint_word(struct lint *l, struct str object, const char *pointer, const char *key,
               const char *words);
/* The string at key must be a name in the map; what: its kind, such as "node". */
void lint_name(struct lint *l, struct str object, const char *pointer, const char *key,
               const struct map *known, const char *what);
void lint_near(struct near *n, const struct map *known);  /* offer every name */
bool lint_next_word(const char **rest, struct str *word); /* of words at *rest */
bool lint_has_word(const char *words, struct str name);
struct str lint_text(struct lint *l, struct str object, const char *key); /* NONE when no string */
/* --- lint_expr.c --- */
void lint_expression(struct lint *l, struct str text, const char *pointer, const char *key);
/* name is used as a variable. */
void lint_variable(struct lint *l, struct str name, const char *pointer, const char *key);
/* --- lint_graph.c --- */
void lint_edges(struct lint *l);

#endif
