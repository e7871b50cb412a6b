/*
 * workflow_int.h: parts of the workflow compiler.  Layer: domain (pure), private to this folder.
 * Order: workflow.c drives; workflow_obj.c reads members; workflow_node.c, workflow_edge.c and
 * workflow_chan.c fill the arrays; workflow_names.c checks names; workflow_graph.c orders;
 * workflow_schema.c compiles the collected schemas.
 */
#ifndef WOPR_DOMAIN_WORKFLOW_INT_H
#define WOPR_DOMAIN_WORKFLOW_INT_H

#include "base/map.h"
#include "domain/bounds.h"
#include "domain/workflow.h"

#define WF_ARENA_MAX   (64u * 1024 * 1024) /* compiled form, and the same again for scratch */
#define WF_POINTER_MAX 192                 /* as in struct wopr_error */

struct wfc_schema { /* waits for schema_compile, which needs all documents registered first */
    struct wfc_schema *next;
    struct str text, uri;
    const struct schema **out;
    char pointer[WF_POINTER_MAX];
};
struct wfc {
    struct workflow *w;
    const struct wf_env *env;
    struct arena *tmp; /* freed after the compilation */
    struct wopr_error *err;
    struct wfc_schema *schemas, **schemas_end;
    unsigned schemas_nr;
};
struct wfc_obj { /* one JSON object of the definition and its place */
    struct json_members m;
    char pointer[WF_POINTER_MAX];
};

/* --- workflow_obj.c: readers.  Absent members leave *out alone; a wrong type is VALIDATION. --- */
int wfc_fail(struct wfc *c, const char *pointer, const char *key, const char *what);
int wfc_too_many(struct wfc *c, const char *pointer, const char *key, size_t has, size_t max);
int wfc_memory(struct wfc *c);
int wfc_obj(struct wfc *c, struct str raw, struct wfc_obj *o, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
struct str wfc_raw(const struct wfc_obj *o, const char *key); /* .p == NULL when absent */
int wfc_str(struct wfc *c, const struct wfc_obj *o, const char *key, struct str *out);
int wfc_need_str(struct wfc *c, const struct wfc_obj *o, const char *key, struct str *out);
int wfc_bool(struct wfc *c, const struct wfc_obj *o, const char *key, bool *out);
int wfc_int(struct wfc *c, const struct wfc_obj *o, const char *key, int64_t min, int64_t max,
            int64_t *out);
int wfc_typed(struct wfc *c, const struct wfc_obj *o, const char *key, enum json_type type,
              struct str *out);
/* Elements of an array member (none when absent). */
int wfc_list(struct wfc *c, const struct wfc_obj *o, const char *key, size_t max,
             struct json_elements *out);
/* Remember name -> value; a second one is VALIDATION at pointer/key. */
int wfc_unique(struct wfc *c, struct map *m, struct str name, void *value, const char *pointer,
               const char *key);
/* Index of value in a table of words, -1 when absent. */
int wfc_word(struct str value, const char *const *words);
/* pointer "/<key>" with RFC 6901 escapes, truncated to fit */
void wfc_pointer(char out[WF_POINTER_MAX], const char *prefix, struct str key);

/* The members of the definition in this order, because later ones name earlier ones.  0, or the
 * code with the place in err. */
int wfc_nodes(struct wfc *c, const struct wfc_obj *top);
int wfc_ports(struct wfc *c, const struct wfc_obj *top); /* after nodes and variables */
int wfc_edges(struct wfc *c, const struct wfc_obj *top);
int wfc_channels(struct wfc *c, const struct wfc_obj *top);
int wfc_names(struct wfc *c); /* of what nodes write (INT-27, CHAN-28) */
int wfc_words(struct wfc *c); /* after variables and channels */
int wfc_graph(struct wfc *c); /* adjacency, loopbacks, entries (WF-11, NODE-14) */
/* Parse an expression and collect its literal patterns. */
int wfc_expr(struct wfc *c, struct str text, const char *pointer, const char *key,
             struct expr **out);

/* --- workflow_schema.c --- */
int wfc_definition(struct wfc *c, const struct wfc_obj *top); /* schema check of the whole */
/* The definition without what travels with it but is no part of its closed schema; text itself
 * where there is none of that.  VALIDATION for what is no object, NO_MEMORY. */
MUST_CHECK int definition_stripped(struct str text, struct arena *a, struct str *out);
int wfc_schema_add(struct wfc *c, struct str text, const char *pointer, const char *key,
                   const struct schema **out);
int wfc_schemas(struct wfc *c); /* compile all that were added */
int wfc_configurable(struct wfc *c, const struct wfc_obj *top);

#endif
