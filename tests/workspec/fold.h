/*
 * fold.h: the world as the fold of its changes (WS-114), made beside the interpreter: a table
 * of cells
 * that knows nothing of layers.  Its arena is the caller's.
 */
#ifndef WOPR_TESTS_WORKSPEC_FOLD_H
#define WOPR_TESTS_WORKSPEC_FOLD_H

#include "workspec/interpret.h"

struct fold_cell {
    struct str object, name;
    bool top;
    const struct ws_value *value; /* NULL: absent */
};
struct fold {
    struct arena *a;
    struct ws_names objects; /* alive: 1 */
    struct ws_names ids;     /* object -> number, for the names of cells */
    uint32_t ids_nr;
    struct ws_names cells; /* (2 * object + top, name) -> cell */
    struct fold_cell *v;
    size_t nr, cap;
    size_t alive;
};

static inline uint32_t fold_object(struct fold *f, struct str object) {
    uint32_t at;
    if (ws_names_get(&f->ids, 0, object, &at)) return at;
    ASSERT(ws_names_put(&f->ids, 0, object, f->ids_nr));
    return f->ids_nr++;
}

static inline struct fold_cell *fold_cell(struct fold *f, struct str object, struct str name,
                                          bool top) {
    uint32_t at, owner = fold_object(f, object) * 2 + top;
    if (ws_names_get(&f->cells, owner, name, &at)) return &f->v[at];
    if (f->nr == f->cap) {
        size_t cap = f->cap == 0 ? 64 : f->cap * 2;
        struct fold_cell *v = ARENA_ARRAY(f->a, struct fold_cell, cap);
        ASSERT(v != NULL);
        if (f->nr > 0) memcpy(v, f->v, f->nr * sizeof *v);
        f->v = v;
        f->cap = cap;
    }
    ASSERT(ws_names_put(&f->cells, owner, name, (uint32_t)f->nr));
    f->v[f->nr] = (struct fold_cell){object, name, top, NULL};
    return &f->v[f->nr++];
}

static inline bool fold_alive(const struct fold *f, struct str object) {
    uint32_t alive;
    return ws_names_get(&f->objects, 0, object, &alive) && alive == 1;
}

static inline void fold_live(struct fold *f, struct str object, bool alive) {
    if (fold_alive(f, object) != alive) f->alive += alive ? 1 : (size_t)-1;
    ASSERT(ws_names_put(&f->objects, 0, object, alive));
    for (size_t i = 0; !alive && i < f->nr; i++) /* its variables go with it (WS-104) */
        if (str_eq(f->v[i].object, object)) f->v[i].value = NULL;
}

/* The cell and whether it is location or emoji of the object, by the canonical name. */
static inline bool fold_top(struct str property, struct str *bare) {
    *bare = property;
    if (str_eqc(property, "location") || str_eqc(property, "emoji")) return true;
    if (str_eqc(property, "properties.location")) *bare = STR("location");
    if (str_eqc(property, "properties.emoji")) *bare = STR("emoji");
    return false;
}

static inline void fold_initial(void *ctx, struct str object, struct str property,
                                const struct ws_value *value) {
    struct str bare;
    bool top = fold_top(property, &bare);
    fold_cell(ctx, object, bare, top)->value = value;
}

static inline void fold_init(struct fold *f, struct arena *a, const struct ws_world *w) {
    struct ws_seen seen;
    *f = (struct fold){.a = a};
    ws_names_init(&f->objects, a);
    ws_names_init(&f->ids, a);
    ws_names_init(&f->cells, a);
    for (size_t i = 0; i < ws_world_objects(w); i++)
        if (ws_world_object(w, i, &seen) && seen.alive) fold_live(f, seen.id, true);
    ws_world_each(w, fold_initial, f);
}

static inline const struct ws_value *fold_put(struct fold *f, const struct ws_value *at,
                                              struct str path, const struct ws_value *value) {
    struct str head = path, tail = STR("");
    if (path.p == NULL) return value;
    bool more = str_cut(path, '.', &head, &tail);
    const struct ws_value *below = ws_get_str(at, head);
    below = fold_put(f, below, more ? tail : STR_NONE, value);
    if (below == NULL && at == NULL) return NULL;
    const struct ws_value *v = ws_with(f->a, at, head, below);
    ASSERT(v != NULL);
    return v;
}

static inline void fold_change(struct fold *f, const struct ws_change *c) {
    if (c->property.n == 0 && c->cell.p == NULL) {
        ASSERT((c->previous == NULL) != (c->next == NULL));
        fold_live(f, c->object, c->next != NULL);
        return;
    }
    struct fold_cell *cell = fold_cell(f, c->object, c->cell, c->top);
    struct str bare;
    bool whole = fold_top(c->property, &bare) || str_eq(bare, c->cell);
    struct str path =
        whole ? STR_NONE : str_n(c->property.p + c->cell.n + 1, c->property.n - c->cell.n - 1);
    cell->value = fold_put(f, cell->value, path, c->next);
}

struct fold_check {
    struct fold *f;
    size_t seen;
    bool equal;
};
static inline void fold_compare(void *ctx, struct str object, struct str property,
                                const struct ws_value *value) {
    struct fold_check *k = ctx;
    struct str bare;
    bool top = fold_top(property, &bare);
    k->equal = k->equal && ws_equal(fold_cell(k->f, object, bare, top)->value, value);
    k->seen++;
}

/* Whether the world shows what the changes say, no more and no less. */
static inline bool fold_equals(struct fold *f, const struct ws_world *w) {
    struct fold_check k = {f, 0, true};
    struct ws_seen seen;
    size_t alive = 0, values = 0;
    ws_world_each(w, fold_compare, &k);
    for (size_t i = 0; i < ws_world_objects(w); i++) {
        if (!ws_world_object(w, i, &seen)) continue;
        alive += seen.alive;
        k.equal = k.equal && fold_alive(f, seen.id) == seen.alive;
    }
    for (size_t i = 0; i < f->nr; i++) values += f->v[i].value != NULL;
    return k.equal && k.seen == values && alive == f->alive;
}

#endif
