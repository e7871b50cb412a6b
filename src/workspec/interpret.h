/*
 * interpret.h: the world of a document and what its tasks do to it (section 4).  Layer: workspec.
 *
 * A property is a base value and the layers that were applied over it; what is seen is their
 * fold.
 * Taking a temporary layer away computes those above it again, so that only its own effect goes
 * (WS-68, WS-82).  Layers of tasks that have ended, with nothing temporary or unfinished below,
 * are
 * merged into the base, so that a step costs what it touches, not what happened before.
 *
 * The world counts its work (values looked at, copied, computed again): a document that makes
 * steps
 * cost the square of its size ends with WS_F_LIMIT, not with a host that hangs.  One user at a
 * time.
 */
#ifndef WOPR_WORKSPEC_INTERPRET_H
#define WOPR_WORKSPEC_INTERPRET_H

#include "workspec/plan.h"

#define WS_WORK_MAX        UINT64_C(50000000)
#define WS_WORLD_BYTES_MAX ((size_t)192 * 1024 * 1024) /* of a dry run; a run has more */

struct ws_world;
/* The initial world of a plan, in a; NULL when memory is short. */
struct ws_world *ws_world_new(const struct ws_plan *p, struct arena *a);

/* A change of what is seen (WS-102 to WS-104).  property is canonical (WS-70); p NULL: of
 * existence (the empty name is one).
 * previous, next: NULL when absent. */
struct ws_change {
    uint32_t task;
    size_t action; /* index of the interaction */
    struct str object, property;
    struct str cell; /* of property: the member that it is in */
    bool top;        /* the cell is location or emoji of the object itself */
    const struct ws_value *previous, *next;
    const struct ws_value *was, *is; /* the whole cell; of existence as previous and next */
    const char *cause;               /* apply, revert, create, delete, restore, expire, withdraw */
    const char *op;                  /* operator, NULL for existence and what follows from it */
    bool temporary;
    int64_t vt;
};
enum ws_failure_kind { /* 4.7 */
                       WS_F_NONE,
                       WS_F_TRANSITION,
                       WS_F_TYPE,
                       WS_F_OVERFLOW,
                       WS_F_STOCK,
                       WS_F_PATH,
                       WS_F_REVERT,
                       WS_F_UNKNOWN,
                       WS_F_DELETED,
                       WS_F_NOT_CREATED,
                       WS_F_DUPLICATE,
                       WS_F_PERFORMER,
                       WS_F_LIMIT /* of work or memory; not of the contract */
};
struct ws_failure {
    enum ws_failure_kind kind;
    uint32_t task;
    size_t action;
    struct str target, property; /* property as written */
    const char *op;
    const struct ws_value *expected, *actual; /* actual: also the value before */
    const struct ws_value *after;
    double delta;
    bool additive; /* delta counts */
    struct str segment;
    enum ws_failure_kind reason; /* of a revert conflict */
    int64_t deleted_by;          /* index of a task, -1: none */
};
const char *ws_failure_code(enum ws_failure_kind k); /* "workspec_type_error" */
enum ws_code ws_failure_problem(enum ws_failure_kind k);
/* The problem of the dry run; also what error.details are made of. */
void ws_failure_raise(const struct ws_failure *f, const struct ws_plan *p, struct ws_report *r);

/* What a step changed, valid until the next one. */
struct ws_outcome {
    struct ws_failure failure; /* kind NONE: none */
    const struct ws_change *v;
    size_t nr;
};
/* The start of a task: all of its interactions, or none (WS-79 to WS-81). */
void ws_begin(struct ws_world *w, uint32_t task, int64_t vt, struct ws_outcome *out);
/* Its completion: what was temporary ends (WS-82 to WS-86). */
void ws_end(struct ws_world *w, uint32_t task, int64_t vt, struct ws_outcome *out);
/* A task that began is rejected: everything it did is taken back, as far as that can be
 * (WS-119). */
void ws_withdraw(struct ws_world *w, uint32_t task, int64_t vt, struct ws_outcome *out);

/* --- looking --- */
/* Each property of an alive object, in the order of the world; then location and emoji. */
typedef void ws_property_fn(void *ctx, struct str object, struct str property,
                            const struct ws_value *value);
void ws_world_each(const struct ws_world *w, ws_property_fn *fn, void *ctx);
/* The canonical name of a cell: what comes before its own, and both together. */
const char *ws_cell_prefix(struct str name, bool top);
struct str ws_cell_name(struct arena *a, struct str name, bool top);
size_t ws_world_objects(const struct ws_world *w); /* of all that ever were */
struct ws_seen {
    struct str id;
    bool alive;
    const struct ws_value *source; /* as the document wrote it */
    int64_t deleted_by;            /* index of a task, -1: none */
};
bool ws_world_object(const struct ws_world *w, size_t i,
                     struct ws_seen *out); /* false: forgotten */
/* An alive object in WorkSpec shape; NULL: memory. */
const struct ws_value *ws_world_shape(const struct ws_world *w, size_t i, struct arena *a);
uint64_t ws_world_work(const struct ws_world *w);
uint64_t ws_world_ignored(const struct ws_world *w); /* operators that others overruled (WS-78) */

/* H17, WS-92: the plan of a document without errors, played; problems are appended. */
void ws_dry_run(const struct ws_doc *doc, const struct ws_zones *zones, struct ws_report *r);

#endif
