/* interpret.c: the steps of tasks; see interpret.h. */
#include "base/vec.h"
#include "workspec/world_int.h"

enum { CHANGES_FIRST = 32 };

/* --- what a step says --- */

static void step_begin(struct ws_world *w, uint32_t task, int64_t vt, struct ws_outcome *out) {
    *out = (struct ws_outcome){.failure = {.task = task, .deleted_by = -1}};
    w->out = out;
    w->task = task;
    w->vt = vt;
    w->changes_nr = 0;
    if (w->over) out->failure.kind = WS_F_LIMIT;
}

static void step_end(struct ws_world *w) {
    if (w->over && w->out->failure.kind == WS_F_NONE) w->out->failure.kind = WS_F_LIMIT;
    w->out->v = w->changes;
    w->out->nr = w->changes_nr;
}

static void change_add(struct ws_world *w, const struct ws_change *c) {
    if (VEC_ROOM_IN(w->a, w->changes, w->changes_nr, w->changes_cap, CHANGES_FIRST) != 0) {
        w->over = true;
        return;
    }
    w->changes[w->changes_nr] = *c;
    w->changes[w->changes_nr].task = w->task;
    w->changes[w->changes_nr++].vt = w->vt;
}

static bool step_failed(const struct ws_world *w) { return w->out->failure.kind != WS_F_NONE; }

static void step_fail(struct ws_world *w, enum ws_failure_kind kind, size_t action,
                      struct str target) {
    w->out->failure.kind = kind;
    w->out->failure.action = action;
    w->out->failure.target = target;
}

/* --- existence --- */

struct birth {
    struct ws_world *w;
    struct str object;
    const char *cause;
    size_t action;
    bool temporary;
};

static void birth_cell(void *ctx, struct str name, bool top, const struct ws_value *value) {
    const struct birth *b = ctx;
    change_add(b->w, &(struct ws_change){.action = b->action,
                                         .object = b->object,
                                         .property = ws_cell_name(b->w->a, name, top),
                                         .cell = name,
                                         .top = top,
                                         .next = value,
                                         .is = value,
                                         .cause = b->cause,
                                         .temporary = b->temporary});
}

static const struct ws_value *identity_of(struct ws_world *w, const struct thing *t) {
    static const char *const NAMES[] = {"id", "type", "name"};
    struct ws_member *m = ARENA_ARRAY(w->a, struct ws_member, 3);
    size_t n = 0;
    for (size_t i = 0; m != NULL && i < 3; i++) {
        const struct ws_value *v = ws_get(t->source, NAMES[i]);
        if (v != NULL) m[n++] = (struct ws_member){str_c(NAMES[i]), v};
    }
    const struct ws_value *v = m == NULL ? NULL : ws_object_new(w->a, m, n);
    if (v == NULL) w->over = true;
    return v;
}

/* An object is there: its existence, then each of its properties. */
static void birth_say(struct ws_world *w, uint32_t object, const char *cause, size_t action,
                      bool temporary) {
    struct birth b = {w, w->things[object].id, cause, action, temporary};
    const struct ws_value *identity = identity_of(w, &w->things[object]);
    change_add(w, &(struct ws_change){.action = action,
                                      .object = b.object,
                                      .property = STR_NONE,
                                      .next = identity,
                                      .is = identity,
                                      .cause = cause,
                                      .temporary = temporary});
    thing_each(w, object, birth_cell, &b);
}

static void death_say(struct ws_world *w, uint32_t object, const char *cause, size_t action,
                      bool temporary) {
    const struct ws_value *identity = identity_of(w, &w->things[object]);
    change_add(w, &(struct ws_change){.action = action,
                                      .object = w->things[object].id,
                                      .property = STR_NONE,
                                      .previous = identity,
                                      .was = identity,
                                      .cause = cause,
                                      .temporary = temporary});
}

static struct effect *effect_add(struct ws_world *w, enum effect_kind kind, uint32_t object,
                                 size_t action, bool temporary) {
    struct effect *e = ARENA_NEW(w->a, struct effect);
    if (e == NULL) {
        w->over = true;
        return NULL;
    }
    *e = (struct effect){.before = w->effects[w->task],
                         .kind = kind,
                         .object = object,
                         .action = action,
                         .temporary = temporary};
    w->effects[w->task] = e;
    return e;
}

static void action_create(struct ws_world *w, size_t j, const struct ws_value *v) {
    const struct ws_value *object = ws_object_of(ws_get(v, "object"));
    struct str id = ws_str(ws_get(object, "id"));
    bool temporary = ws_is_true(ws_get(v, "temporary"));
    if (thing_find(w, id) != NULL || id.n == 0) {
        step_fail(w, WS_F_DUPLICATE, j, id);
        return;
    }
    uint32_t at = (uint32_t)w->things_nr;
    if (!thing_add(w, object) || effect_add(w, EFFECT_CREATE, at, j, temporary) == NULL) return;
    w->work += w->things[at].bag != NULL ? w->things[at].bag->nr : 0;
    birth_say(w, at, "create", j, temporary);
}

/* The alive object that an interaction is about; NULL: the step failed. */
static struct thing *target_find(struct ws_world *w, size_t j, const struct ws_value *v) {
    struct str id = ws_str(ws_get(v, "target_id"));
    struct thing *t = thing_find(w, id);
    if (t != NULL && t->alive) return t;
    if (t != NULL) {
        w->out->failure.deleted_by = t->deleted_by;
        step_fail(w, WS_F_DELETED, j, id);
    } else {
        step_fail(w, ws_names_has(&w->to_come, id) ? WS_F_NOT_CREATED : WS_F_UNKNOWN, j, id);
    }
    return NULL;
}

static void action_delete(struct ws_world *w, size_t j, const struct ws_value *v) {
    bool temporary = ws_is_true(ws_get(v, "temporary"));
    struct thing *t = target_find(w, j, v);
    if (t == NULL) return;
    uint32_t at = thing_index(w, t);
    struct effect *e = effect_add(w, EFFECT_DELETE, at, j, temporary);
    if (e == NULL) return;
    e->deleted_by = t->deleted_by;
    death_say(w, at, "delete", j, temporary);
    t->alive = false;
    t->deleted_by = w->task;
}

/* --- changes of properties --- */

/* WS-76 */
static bool stock_negative(const struct ws_world *w, const struct cell *c,
                           const struct operation *op, const struct ws_value *after) {
    return !c->top && op->path_nr == 0 && str_eqc(c->name, "quantity") &&
           ws_quantifiable(w->things[c->object].type) && ws_is(after, WS_NUMBER) &&
           after->number < 0;
}

struct write_of { /* one operator of one property of one interaction */
    size_t action;
    struct str property; /* as written */
    bool temporary;
};

/* What is seen of a cell has changed: at the path, or, when objects on the way came or went, of
 * the
 * whole cell. */
static void cell_say(struct ws_world *w, const struct cell *c, const struct operation *op,
                     struct str canonical, const struct ws_value *was, const char *cause,
                     size_t action, bool temporary) {
    const struct ws_value *is = cell_value(c), *parent = is;
    size_t nr = op->path_nr;
    if (nr > 0) parent = value_at(is, op->path, nr - 1, NULL);
    if (nr > 0 && !ws_is(parent, WS_OBJECT)) {
        nr = 0;
        canonical = ws_cell_name(w->a, c->name, c->top);
    }
    const struct ws_value *before = value_at(was, op->path, nr, NULL);
    const struct ws_value *after = value_at(is, op->path, nr, NULL);
    if (ws_equal_counted(before, after, &w->work)) return;
    change_add(w, &(struct ws_change){.action = action,
                                      .object = w->things[c->object].id,
                                      .property = canonical,
                                      .cell = c->name,
                                      .top = c->top,
                                      .previous = before,
                                      .next = after,
                                      .was = was,
                                      .is = is,
                                      .cause = cause,
                                      .op = op->name,
                                      .temporary = temporary});
}

static const struct operation *operation_keep(struct ws_world *w, const struct operation *op) {
    struct operation *kept = ARENA_NEW(w->a, struct operation);
    struct str *path = op->path_nr > 0 ? ARENA_ARRAY(w->a, struct str, op->path_nr) : NULL;
    if (kept == NULL || (op->path_nr > 0 && path == NULL)) return NULL;
    *kept = *op;
    kept->path = path;
    if (path != NULL) memcpy(path, op->path, op->path_nr * sizeof *path);
    return kept;
}

static void operation_do(struct ws_world *w, struct cell *c, const struct operation *op,
                         const struct write_of *how) {
    struct ws_failure *f = &w->out->failure;
    const struct ws_value *was = cell_value(c), *result = NULL;
    enum ws_failure_kind kind = operation_apply(w, op, was, false, &result, f);
    if (kind == WS_F_NONE && stock_negative(w, c, op, result)) kind = WS_F_STOCK;
    if (kind != WS_F_NONE) {
        f->property = how->property;
        step_fail(w, kind, how->action, w->things[c->object].id);
        if (kind == WS_F_PATH && f->segment.n == 0) f->segment = c->name;
        return;
    }
    struct layer *l = ARENA_NEW(w->a, struct layer);
    const struct operation *kept = operation_keep(w, op);
    struct effect *e = effect_add(w, EFFECT_LAYER, c->object, how->action, how->temporary);
    if (l == NULL || kept == NULL || e == NULL) {
        w->over = true;
        if (e != NULL) w->effects[w->task] = e->before;
        return;
    }
    *l = (struct layer){.cell = c, .op = kept, .result = result};
    layer_put(l);
    e->layer = l;
    e->property = canonical_name(how->property);
    cell_say(w, c, op, e->property, was, "apply", how->action, how->temporary);
}

static void property_change(struct ws_world *w, uint32_t object, size_t j,
                            const struct ws_member *m, bool temporary) {
    struct operation ops[2];
    struct write_of how = {j, m->name, temporary};
    size_t n = ws_is(m->value, WS_OBJECT) ? operations_of(w, m->value, ops) : 0;
    for (size_t k = 0; k < n && !step_failed(w) && !w->over; k++) {
        struct str room[WS_PATH_MAX];
        bool bad;
        struct cell *c = cell_at(w, object, m->name, room, &ops[k], &bad);
        if (bad) {
            w->out->failure.property = m->name;
            w->out->failure.segment = m->name;
            step_fail(w, WS_F_PATH, j, w->things[object].id);
        } else if (c != NULL) {
            operation_do(w, c, &ops[k], &how);
        }
    }
}

static void action_change(struct ws_world *w, size_t j, const struct ws_value *v) {
    const struct ws_value *changes = ws_object_of(ws_get(v, "property_changes"));
    struct thing *t = target_find(w, j, v);
    if (t == NULL) return;
    uint32_t object = thing_index(w, t);
    for (size_t k = 0; changes != NULL && k < changes->nr && !step_failed(w) && !w->over; k++)
        property_change(w, object, j, &changes->members[k], ws_is_true(ws_get(v, "temporary")));
}

/* --- the start --- */

/* Everything that the task did, the last first; nothing else happened meanwhile. */
static void interpret_rollback(struct ws_world *w) {
    for (struct effect *e = w->effects[w->task]; e != NULL; e = e->before) {
        if (e->kind == EFFECT_LAYER) {
            layer_drop(e->layer);
        } else if (e->kind == EFFECT_CREATE) {
            thing_forget(w, e->object);
        } else {
            w->things[e->object].alive = true;
            w->things[e->object].deleted_by = e->deleted_by;
        }
    }
    w->effects[w->task] = NULL;
    w->changes_nr = 0;
}

static bool performer_ready(struct ws_world *w, const struct ws_entry *e) {
    const struct thing *t = thing_find(w, ws_trim(e->performer));
    return t != NULL && t->alive && ws_performs(t->type);
}

void ws_begin(struct ws_world *w, uint32_t task, int64_t vt, struct ws_outcome *out) {
    const struct ws_entry *e = &w->plan->v[task];
    const struct ws_value *list = ws_array_of(ws_get(e->task, "interactions"));
    step_begin(w, task, vt, out);
    if (!step_failed(w) && !performer_ready(w, e)) step_fail(w, WS_F_PERFORMER, 0, e->performer);
    for (size_t j = 0; list != NULL && j < list->nr && !step_failed(w) && !w->over; j++) {
        const struct ws_value *v = list->elements[j];
        struct str action = ws_str(ws_get(v, "action"));
        w->work++;
        if (str_eqc(action, "create")) action_create(w, j, v);
        else if (str_eqc(action, "delete")) action_delete(w, j, v);
        else action_change(w, j, v);
    }
    step_end(w);
    if (step_failed(w)) {
        interpret_rollback(w);
        out->nr = 0;
    }
}

/* --- the end --- */

static void layers_discard(struct layer *l) {
    for (; l != NULL; l = l->above) l->again = NULL;
}

/* Take a layer away and compute those above it again.  NONE, or why that cannot be; then
 * nothing has
 * changed. */
static enum ws_failure_kind layer_revert(struct ws_world *w, struct layer *l,
                                         struct ws_failure *f) {
    const struct ws_value *v = l->below != NULL ? l->below->result : l->cell->base;
    struct ws_failure own = {0};
    struct layer *up = l->above, *same = NULL;
    for (; up != NULL; up = up->above) {
        enum ws_failure_kind kind = operation_apply(w, up->op, v, true, &up->again, &own);
        if (kind != WS_F_NONE) {
            layers_discard(l->above);
            f->reason = kind;
            return kind == WS_F_LIMIT ? WS_F_LIMIT : WS_F_REVERT;
        }
        v = up->again;
        if (ws_equal_counted(v, up->result, &w->work)) { /* as before from here on */
            same = up;
            break;
        }
    }
    for (up = l->above; up != NULL; up = up->above) {
        up->result = up->again;
        if (up == same) break;
    }
    layer_drop(l);
    return WS_F_NONE;
}

/* false: the step failed; the layer stays for good. */
static bool layer_end(struct ws_world *w, struct effect *e, const char *cause) {
    struct cell *c = e->layer->cell;
    struct ws_failure *f = &w->out->failure;
    const struct ws_value *was = cell_value(c);
    struct ws_failure why = {.deleted_by = -1};
    enum ws_failure_kind kind = layer_revert(w, e->layer, &why);
    if (kind != WS_F_NONE) {
        f->reason = why.reason;
        f->property = e->property;
        step_fail(w, kind, e->action, w->things[c->object].id);
        e->layer->settled = true;
        cell_settle(c);
        return false;
    }
    if (w->things[c->object].alive)
        cell_say(w, c, e->layer->op, e->property, was, cause, e->action, true);
    cell_settle(c);
    return true;
}

static void create_end(struct ws_world *w, const struct effect *e, const char *cause) {
    struct thing *t = &w->things[e->object];
    if (!t->alive) return;
    death_say(w, e->object, cause, e->action, true);
    t->alive = false;
    t->deleted_by = w->task;
}

static void delete_end(struct ws_world *w, const struct effect *e, const char *cause) {
    struct thing *t = &w->things[e->object];
    if (t->alive) return;
    t->alive = true;
    t->deleted_by = -1;
    w->work += t->bag != NULL ? t->bag->nr : 0;
    birth_say(w, e->object, cause, e->action, true);
}

static void effect_settle(struct effect *e) {
    if (e->kind != EFFECT_LAYER) return;
    e->layer->settled = true;
    cell_settle(e->layer->cell);
}

/* Its temporary effects go, the last first; the others are there to stay.  After a conflict all
 * are. */
void ws_end(struct ws_world *w, uint32_t task, int64_t vt, struct ws_outcome *out) {
    step_begin(w, task, vt, out);
    for (struct effect *e = w->effects[task]; e != NULL; e = e->before) {
        if (!e->temporary || step_failed(w)) effect_settle(e);
        else if (e->kind == EFFECT_LAYER) (void)layer_end(w, e, "revert");
        else if (e->kind == EFFECT_CREATE) create_end(w, e, "expire");
        else delete_end(w, e, "restore");
    }
    w->effects[task] = NULL;
    step_end(w);
}

void ws_withdraw(struct ws_world *w, uint32_t task, int64_t vt, struct ws_outcome *out) {
    struct ws_failure first = {0};
    step_begin(w, task, vt, out);
    for (struct effect *e = w->effects[task]; e != NULL; e = e->before) {
        if (e->kind == EFFECT_LAYER && !layer_end(w, e, "withdraw")) {
            if (first.kind == WS_F_NONE) first = out->failure;
            out->failure.kind = WS_F_NONE;
        } else if (e->kind == EFFECT_CREATE) {
            create_end(w, e, "withdraw");
        } else if (e->kind == EFFECT_DELETE) {
            delete_end(w, e, "withdraw");
        }
    }
    w->effects[task] = NULL;
    if (first.kind != WS_F_NONE) out->failure = first;
    step_end(w);
}
