/*
 * world_int.h: objects, cells and layers.  Layer: workspec, private to world.c, operate.c and
 * interpret.c.
 */
#ifndef WOPR_WORKSPEC_WORLD_INT_H
#define WOPR_WORKSPEC_WORLD_INT_H

#include "workspec/interpret.h"
#include "workspec/validate.h"

enum layer_kind { LAYER_TO, LAYER_SET, LAYER_MATH, LAYER_APPEND, LAYER_REMOVE };
struct operation { /* one applied operator */
    enum layer_kind kind;
    const struct ws_value *value, *from; /* from: of a transition */
    double add, times;
    bool adds, multiplies;  /* MATH */
    const char *name;       /* of the operator, for messages */
    const struct str *path; /* below the cell */
    size_t path_nr;
};
struct layer {
    struct layer *below, *above;
    struct cell *cell;
    const struct operation *op;
    const struct ws_value *result; /* of the cell, after this layer; NULL: absent */
    const struct ws_value *again;  /* while what is below has changed */
    bool settled;                  /* will never be taken away */
};
struct cell {
    struct str name;
    uint32_t object;
    bool top;
    const struct ws_value *base;
    struct layer *lowest, *highest;
    struct cell *next; /* of the object, in the order they were made */
};
struct thing { /* an object of the world */
    struct str id;
    const struct ws_value *source, *bag; /* its properties, NULL: none */
    enum ws_base type;
    bool alive, forgotten;
    int64_t deleted_by; /* -1: nobody */
    struct cell *cells, *cells_last;
};
enum effect_kind { EFFECT_LAYER, EFFECT_CREATE, EFFECT_DELETE };
struct effect {
    struct effect *before; /* of the same task */
    enum effect_kind kind;
    struct layer *layer;
    uint32_t object;
    size_t action;
    bool temporary;
    int64_t deleted_by;  /* DELETE: what was there before */
    struct str property; /* canonical */
};
struct ws_world {
    const struct ws_plan *plan;
    struct arena *a;
    struct thing *things;
    size_t things_nr, things_cap;
    struct ws_bases bases;
    struct ws_names ids;     /* -> thing; FORGOTTEN: free again */
    struct ws_names cells;   /* (2 * thing + top, name) -> cells_list */
    struct ws_names to_come; /* ids that some task creates */
    struct cell **cells_list;
    size_t cells_nr, cells_cap;
    struct effect **effects; /* by task, the last one */
    struct ws_change *changes;
    size_t changes_nr, changes_cap;
    uint64_t work, ignored;
    bool over; /* no memory: what follows is worth nothing */
    /* of the step */
    struct ws_outcome *out;
    uint32_t task;
    int64_t vt;
};
#define FORGOTTEN UINT32_MAX /* in ids: free again */

/* --- world.c --- */
struct thing *thing_find(struct ws_world *w, struct str id); /* NULL: no such id */
bool thing_add(struct ws_world *w, const struct ws_value *source);
void thing_forget(struct ws_world *w, uint32_t object);
uint32_t thing_index(const struct ws_world *w, const struct thing *t);
/* WS-69.  The cell is made when it is not there; op gets the path below it, in room.  NULL: out
 * of
 * memory, or *bad is set: the name has too many parts. */
struct cell *cell_at(struct ws_world *w, uint32_t object, struct str name,
                     struct str room[WS_PATH_MAX], struct operation *op, bool *bad);
const struct ws_value *cell_value(const struct cell *c);
struct str canonical_name(struct str name); /* WS-70 */
void layer_put(struct layer *l);            /* on top of its cell */
void layer_drop(struct layer *l);
void cell_settle(struct cell *c); /* merge what is settled at the bottom */
typedef void cell_fn(void *ctx, struct str name, bool top, const struct ws_value *value);
void thing_each(const struct ws_world *w, size_t object, cell_fn *fn, void *ctx);

/* --- operate.c --- */
/* The value of a cell after an operator (4.3).  again: without looking at from.  NONE, or what is
 * wrong, with f's segment, actual and before set. */
enum ws_failure_kind operation_apply(struct ws_world *w, const struct operation *op,
                                     const struct ws_value *cell, bool again,
                                     const struct ws_value **out, struct ws_failure *f);
/* What is at the path; NULL: absent.  *broken, unless NULL: something on the way is no object. */
const struct ws_value *value_at(const struct ws_value *cell, const struct str *path, size_t nr,
                                size_t *broken);
/* The operators of one property, in the order they are applied: 0 to 2 (WS-78). */
size_t operations_of(struct ws_world *w, const struct ws_value *v, struct operation out[2]);

#endif
