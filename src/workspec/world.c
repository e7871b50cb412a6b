/* world.c: objects, their cells and layers; see interpret.h and world_int.h. */
#include "base/vec.h"
#include "workspec/world_int.h"

enum { THINGS_FIRST = 64, CELLS_FIRST = 64 };

/* --- objects --- */

uint32_t thing_index(const struct ws_world *w, const struct thing *t) {
    return (uint32_t)(t - w->things);
}

struct thing *thing_find(struct ws_world *w, struct str id) {
    uint32_t at;
    if (!ws_names_get(&w->ids, 0, id, &at) || at == FORGOTTEN) return NULL;
    return &w->things[at];
}

bool thing_add(struct ws_world *w, const struct ws_value *source) {
    struct str id = ws_str(ws_get(source, "id"));
    enum ws_base base = WS_NO_BASE;
    if (!ws_bases_get(&w->bases, ws_str(ws_get(source, "type")), &base) ||
        VEC_ROOM_IN(w->a, w->things, w->things_nr, w->things_cap, THINGS_FIRST) != 0 ||
        !ws_names_put(&w->ids, 0, id, (uint32_t)w->things_nr)) {
        w->over = true;
        return false;
    }
    w->things[w->things_nr++] = (struct thing){.id = id,
                                               .source = source,
                                               .bag = ws_object_of(ws_get(source, "properties")),
                                               .type = base,
                                               .alive = true,
                                               .deleted_by = -1};
    return true;
}

void thing_forget(struct ws_world *w, uint32_t object) {
    struct thing *t = &w->things[object];
    t->alive = false;
    t->forgotten = true;
    if (!ws_names_put(&w->ids, 0, t->id, FORGOTTEN)) w->over = true;
}

static bool to_come_add(struct ws_world *w, const struct ws_value *task) {
    const struct ws_value *list = ws_array_of(ws_get(task, "interactions"));
    for (size_t j = 0; list != NULL && j < list->nr; j++) {
        const struct ws_value *v = list->elements[j];
        struct str id = ws_str(ws_get(ws_object_of(ws_get(v, "object")), "id"));
        if (id.n > 0 && str_eqc(ws_str(ws_get(v, "action")), "create") &&
            !ws_names_put(&w->to_come, 0, id, 0))
            return false;
    }
    return true;
}

struct ws_world *ws_world_new(const struct ws_plan *p, struct arena *a) {
    struct ws_world *w = ARENA_NEW(a, struct ws_world);
    if (w == NULL) return NULL;
    w->plan = p;
    w->a = a;
    ws_bases_init(&w->bases, p->definitions, a);
    ws_names_init(&w->ids, a);
    ws_names_init(&w->cells, a);
    ws_names_init(&w->to_come, a);
    w->effects = ARENA_ARRAY(a, struct effect *, p->nr);
    if (w->effects == NULL) return NULL;
    for (size_t i = 0; p->objects != NULL && i < p->objects->nr; i++) {
        const struct ws_value *v = p->objects->elements[i];
        uint32_t before;
        struct str id = ws_str(ws_get(v, "id"));
        if (id.n == 0 || ws_names_get(&w->ids, 0, id, &before)) continue;
        if (!thing_add(w, v)) return NULL;
    }
    for (size_t i = 0; i < p->nr; i++)
        if (!to_come_add(w, p->v[i].task)) return NULL;
    return w;
}

/* --- cells --- */

const struct ws_value *cell_value(const struct cell *c) {
    return c->highest != NULL ? c->highest->result : c->base;
}

static struct cell *cell_known(const struct ws_world *w, uint32_t object, bool top,
                               struct str name) {
    uint32_t at;
    return ws_names_get(&w->cells, object * 2 + top, name, &at) ? w->cells_list[at] : NULL;
}

static struct cell *cell_make(struct ws_world *w, uint32_t object, bool top, struct str name) {
    struct thing *t = &w->things[object];
    struct cell *c = cell_known(w, object, top, name);
    if (c != NULL) return c;
    c = ARENA_NEW(w->a, struct cell);
    if (c == NULL ||
        VEC_ROOM_IN(w->a, w->cells_list, w->cells_nr, w->cells_cap, CELLS_FIRST) != 0 ||
        !ws_names_put(&w->cells, object * 2 + top, name, (uint32_t)w->cells_nr)) {
        w->over = true;
        return NULL;
    }
    w->cells_list[w->cells_nr++] = c;
    *c = (struct cell){.name = name, .object = object, .top = top};
    c->base = ws_get_str(top ? t->source : t->bag, name);
    if (t->cells_last != NULL) t->cells_last->next = c;
    else t->cells = c;
    t->cells_last = c;
    return c;
}

static bool name_top(struct str name) {
    return str_eqc(name, "location") || str_eqc(name, "emoji");
}

static struct str name_bare(struct str name) {
    struct str prefix = STR("properties.");
    if (!str_starts(name, prefix) || name.n == prefix.n) return name;
    return str_n(name.p + prefix.n, name.n - prefix.n);
}

struct str canonical_name(struct str name) {
    struct str bare = name_bare(name);
    return name_top(bare) ? name : bare;
}

/* Whether the bag has a member of exactly this name now. */
static bool bag_has(const struct ws_world *w, uint32_t object, struct str name) {
    const struct cell *c = cell_known(w, object, false, name);
    if (c != NULL) return cell_value(c) != NULL;
    return ws_get_str(w->things[object].bag, name) != NULL;
}

struct cell *cell_at(struct ws_world *w, uint32_t object, struct str name,
                     struct str room[WS_PATH_MAX], struct operation *op, bool *bad) {
    struct str head, rest;
    *bad = false;
    op->path = room;
    op->path_nr = 0;
    if (name_top(name)) return cell_make(w, object, true, name);
    name = name_bare(name);
    if (bag_has(w, object, name) || !str_cut(name, '.', &head, &rest))
        return cell_make(w, object, false, name);
    for (bool more = true; more;) {
        struct str part = rest, tail;
        if (op->path_nr == WS_PATH_MAX) {
            *bad = true;
            return NULL;
        }
        more = str_cut(rest, '.', &part, &tail);
        room[op->path_nr++] = more ? part : rest;
        if (more) rest = tail;
    }
    return cell_make(w, object, false, head);
}

/* --- layers --- */

void layer_put(struct layer *l) {
    struct cell *c = l->cell;
    l->below = c->highest;
    l->above = NULL;
    if (c->highest != NULL) c->highest->above = l;
    else c->lowest = l;
    c->highest = l;
}

void layer_drop(struct layer *l) {
    struct cell *c = l->cell;
    if (l->below != NULL) l->below->above = l->above;
    else c->lowest = l->above;
    if (l->above != NULL) l->above->below = l->below;
    else c->highest = l->below;
}

void cell_settle(struct cell *c) {
    while (c->lowest != NULL && c->lowest->settled) {
        c->base = c->lowest->result;
        layer_drop(c->lowest);
    }
}

/* --- looking --- */

void thing_each(const struct ws_world *w, size_t object, cell_fn *fn, void *ctx) {
    const struct thing *t = &w->things[object];
    static const char *const TOP[] = {"location", "emoji"};
    for (size_t i = 0; t->bag != NULL && i < t->bag->nr; i++) {
        const struct ws_member *m = &t->bag->members[i];
        const struct cell *c = cell_known(w, (uint32_t)object, false, m->name);
        const struct ws_value *v = c != NULL ? cell_value(c) : m->value;
        if (v != NULL) fn(ctx, m->name, false, v);
    }
    for (const struct cell *c = t->cells; c != NULL; c = c->next)
        if (!c->top && ws_get_str(t->bag, c->name) == NULL && cell_value(c) != NULL)
            fn(ctx, c->name, false, cell_value(c));
    for (size_t i = 0; i < 2; i++) {
        const struct cell *c = cell_known(w, (uint32_t)object, true, str_c(TOP[i]));
        const struct ws_value *v = c != NULL ? cell_value(c) : ws_get(t->source, TOP[i]);
        if (v != NULL) fn(ctx, str_c(TOP[i]), true, v);
    }
}

struct each {
    ws_property_fn *fn;
    void *ctx;
    struct str object;
    struct arena *a;
};

const char *ws_cell_prefix(struct str name, bool top) {
    return top || !name_top(name) ? "" : "properties.";
}

struct str ws_cell_name(struct arena *a, struct str name, bool top) {
    const char *prefix = ws_cell_prefix(name, top);
    return prefix[0] == '\0' ? name : arena_printf(a, "%s" STR_FMT, prefix, STR_ARG(name));
}

static void each_cell(void *ctx, struct str name, bool top, const struct ws_value *value) {
    const struct each *e = ctx;
    e->fn(e->ctx, e->object, ws_cell_name(e->a, name, top), value);
}

void ws_world_each(const struct ws_world *w, ws_property_fn *fn, void *ctx) {
    for (size_t i = 0; i < w->things_nr; i++) {
        struct each e = {fn, ctx, w->things[i].id, w->a};
        if (w->things[i].alive) thing_each(w, i, each_cell, &e);
    }
}

size_t ws_world_objects(const struct ws_world *w) { return w->things_nr; }

bool ws_world_object(const struct ws_world *w, size_t i, struct ws_seen *out) {
    const struct thing *t = &w->things[i];
    if (t->forgotten) return false;
    *out = (struct ws_seen){t->id, t->alive, t->source, t->deleted_by};
    return true;
}

struct shape {
    struct arena *a;
    struct ws_member *bag;
    size_t bag_nr;
    const struct ws_value *top[2]; /* location, emoji */
};

static void shape_cell(void *ctx, struct str name, bool top, const struct ws_value *value) {
    struct shape *s = ctx;
    if (top) s->top[str_eqc(name, "emoji")] = value;
    else s->bag[s->bag_nr++] = (struct ws_member){name, value};
}

const struct ws_value *ws_world_shape(const struct ws_world *w, size_t i, struct arena *a) {
    const struct thing *t = &w->things[i];
    struct shape s = {.a = a};
    size_t n = t->bag != NULL ? t->bag->nr : 0;
    for (const struct cell *c = t->cells; c != NULL; c = c->next) n++;
    s.bag = ARENA_ARRAY(a, struct ws_member, n);
    if (s.bag == NULL) return NULL;
    thing_each(w, i, shape_cell, &s);
    const struct ws_value *v = ws_with(a, t->source, STR("location"), s.top[0]);
    if (v != NULL) v = ws_with(a, v, STR("emoji"), s.top[1]);
    if (v == NULL || (s.bag_nr == 0 && ws_get(t->source, "properties") == NULL)) return v;
    const struct ws_value *bag = ws_object_new(a, s.bag, s.bag_nr);
    return bag == NULL ? NULL : ws_with(a, v, STR("properties"), bag);
}

uint64_t ws_world_work(const struct ws_world *w) { return w->work; }

uint64_t ws_world_ignored(const struct ws_world *w) { return w->ignored; }
