/* operate.c: what an operator makes of a value: the algebra of 4.3 and 4.4. */
#include <math.h>

#include "workspec/world_int.h"

#define NOISE 1e-9 /* WS-75 */

/* --- which operators count, WS-78 --- */

static double number_of(const struct ws_value *v) { return ws_is(v, WS_NUMBER) ? v->number : 0; }

static bool math_of(const struct ws_value *v, struct operation *out) {
    const struct ws_value *delta = ws_get(v, "delta"), *times = ws_get(v, "multiply");
    bool up = ws_is_true(ws_get(v, "increment")), down = ws_is_true(ws_get(v, "decrement"));
    if (delta == NULL && times == NULL && !up && !down) return false;
    *out = (struct operation){.kind = LAYER_MATH, .times = 1};
    out->name = delta != NULL ? "delta" : up ? "increment" : down ? "decrement" : "multiply";
    out->adds = delta != NULL || up || down;
    out->add = delta != NULL ? number_of(delta) : up ? 1 : down ? -1 : 0;
    out->multiplies = times != NULL;
    if (times != NULL) out->times = number_of(times);
    return true;
}

static size_t lists_of(const struct ws_value *v, struct operation out[2]) {
    const struct ws_value *append = ws_get(v, "append"), *remove = ws_get(v, "remove");
    size_t n = 0;
    if (append != NULL)
        out[n++] = (struct operation){.kind = LAYER_APPEND, .value = append, .name = "append"};
    if (remove != NULL)
        out[n++] = (struct operation){.kind = LAYER_REMOVE, .value = remove, .name = "remove"};
    return n;
}

size_t operations_of(struct ws_world *w, const struct ws_value *v, struct operation out[2]) {
    const struct ws_value *from = ws_get(v, "from"), *to = ws_get(v, "to"), *set = ws_get(v, "set");
    struct operation others[2], math;
    bool counts = math_of(v, &math);
    size_t lists = lists_of(v, others);
    if (from != NULL && to != NULL) {
        out[0] = (struct operation){.kind = LAYER_TO, .value = to, .from = from, .name = "from/to"};
        w->ignored += (set != NULL) + counts + lists;
        return 1;
    }
    if (set != NULL) {
        out[0] = (struct operation){.kind = LAYER_SET, .value = set, .name = "set"};
        w->ignored += counts + lists;
        return 1;
    }
    if (counts) {
        out[0] = math;
        w->ignored += lists;
        return 1;
    }
    for (size_t i = 0; i < lists; i++) out[i] = others[i];
    return lists;
}

/* --- paths --- */

const struct ws_value *value_at(const struct ws_value *cell, const struct str *path, size_t nr,
                                size_t *broken) {
    for (size_t i = 0; i < nr && cell != NULL; i++) {
        if (!ws_is(cell, WS_OBJECT)) {
            if (broken != NULL) *broken = i;
            return NULL;
        }
        cell = ws_get_str(cell, path[i]);
    }
    return cell;
}

/* The cell with a value at the path; objects on the way are copied, or made. */
static const struct ws_value *value_with(struct ws_world *w, const struct ws_value *cell,
                                         const struct operation *op, const struct ws_value *value) {
    const struct ws_value *way[WS_PATH_MAX];
    for (size_t i = 0; i < op->path_nr; i++) {
        way[i] = cell;
        w->work += 1 + (cell != NULL ? cell->nr : 0);
        cell = ws_get_str(cell, op->path[i]);
    }
    for (size_t i = op->path_nr; i > 0; i--) {
        value = ws_with(w->a, way[i - 1], op->path[i - 1], value);
        if (value == NULL) break;
    }
    if (value == NULL) w->over = true;
    return value;
}

/* --- the algebra --- */

static enum ws_failure_kind math_apply(struct ws_world *w, const struct operation *op,
                                       const struct ws_value *v, const struct ws_value **out,
                                       struct ws_failure *f) {
    double before = number_of(v), r = before;
    if (v != NULL && !ws_is(v, WS_NUMBER)) return WS_F_TYPE;
    if (op->adds) {
        r = before + op->add;
        if (fabs(r) <= NOISE * fmax(fabs(before), fabs(op->add))) r = 0;
    }
    r *= op->times;
    f->additive = op->adds && !op->multiplies;
    f->delta = op->add;
    if (!isfinite(r)) return WS_F_OVERFLOW;
    *out = ws_number(w->a, r);
    return WS_F_NONE;
}

static enum ws_failure_kind append_apply(struct ws_world *w, const struct operation *op,
                                         const struct ws_value *v, const struct ws_value **out) {
    if (v != NULL && !ws_is(v, WS_ARRAY)) return WS_F_TYPE;
    if (v != NULL && (v->room == NULL || v->room->used != v->nr || v->nr == v->room->cap))
        w->work += v->nr;
    *out = ws_appended(w->a, v, op->value);
    return WS_F_NONE;
}

static enum ws_failure_kind remove_apply(struct ws_world *w, const struct operation *op,
                                         const struct ws_value *v, const struct ws_value **out) {
    size_t n = 0;
    *out = v;
    if (v == NULL) return WS_F_NONE;
    if (!ws_is(v, WS_ARRAY)) return WS_F_TYPE;
    w->work += v->nr;
    const struct ws_value **kept = arena_array(w->a, v->nr, sizeof *kept);
    if (kept == NULL) {
        *out = NULL;
        return WS_F_NONE;
    }
    for (size_t i = 0; i < v->nr; i++)
        if (!ws_equal_counted(v->elements[i], op->value, &w->work)) kept[n++] = v->elements[i];
    if (n < v->nr) *out = ws_array_new(w->a, kept, n);
    return WS_F_NONE;
}

/* null matches absent too */
static bool from_matches(struct ws_world *w, const struct operation *op, const struct ws_value *v) {
    return v == NULL ? ws_is(op->from, WS_NULL) : ws_equal_counted(op->from, v, &w->work);
}

static enum ws_failure_kind value_apply(struct ws_world *w, const struct operation *op,
                                        const struct ws_value *v, bool again,
                                        const struct ws_value **out, struct ws_failure *f) {
    switch (op->kind) {
    case LAYER_TO:
        f->expected = op->from;
        if (!again && !from_matches(w, op, v)) return WS_F_TRANSITION;
        *out = op->value;
        return WS_F_NONE;
    case LAYER_SET:
        *out = op->value;
        return WS_F_NONE;
    case LAYER_MATH:
        return math_apply(w, op, v, out, f);
    case LAYER_APPEND:
        return append_apply(w, op, v, out);
    case LAYER_REMOVE:
        return remove_apply(w, op, v, out);
    }
    return WS_F_NONE;
}

enum ws_failure_kind operation_apply(struct ws_world *w, const struct operation *op,
                                     const struct ws_value *cell, bool again,
                                     const struct ws_value **out, struct ws_failure *f) {
    size_t broken = SIZE_MAX;
    const struct ws_value *after = NULL, *v = value_at(cell, op->path, op->path_nr, &broken);
    bool absent = v == NULL && op->kind == LAYER_REMOVE; /* makes nothing */
    w->work++;
    if (broken != SIZE_MAX) {
        f->segment = broken == 0 ? STR("") : op->path[broken - 1];
        return WS_F_PATH;
    }
    f->op = op->name;
    f->actual = v;
    enum ws_failure_kind kind = value_apply(w, op, v, again, &after, f);
    if (kind != WS_F_NONE) return kind;
    f->after = after;
    if (after == NULL && !absent) w->over = true;
    *out = absent ? cell : op->path_nr == 0 ? after : value_with(w, cell, op, after);
    if (w->over || arena_failed(w->a)) return WS_F_LIMIT;
    return w->work > WS_WORK_MAX ? WS_F_LIMIT : WS_F_NONE;
}
