/* check_flow.c: recipes, stock, economics, what nothing uses: phases 15 to 18 (WS-36 to WS-39).
 * */
#include "codec/json.h"
#include "workspec/check_int.h"

#include <math.h>

static const struct ws_value *recipes_of(const struct check *c) {
    const struct ws_value *r = ws_object_of(ws_get(c->process, "recipes"));
    return r != NULL || c->host ? r : ws_object_of(ws_get(c->sim, "recipes"));
}

/* The operator that an interaction without action has for quantity, an object or NULL. */
static const struct ws_value *quantity_of(const struct ws_value *v) {
    if (!ws_is(v, WS_OBJECT) || check_action(v).n > 0) return NULL;
    return ws_object_of(ws_get(ws_object_of(ws_get(v, "property_changes")), "quantity"));
}

static bool delta_of(const struct ws_value *v, double *out) {
    const struct ws_value *delta = ws_get(quantity_of(v), "delta");
    if (!ws_is(delta, WS_NUMBER)) return false;
    *out = delta->number;
    return true;
}

/* --- R67 --- */

struct flow { /* what one task makes and takes, by target */
    struct ws_names ids;
    struct {
        struct str id;
        double made, taken;
        bool makes;
    } * v;
    size_t nr;
    uint32_t *made; /* in order of first production */
    size_t made_nr;
};

static bool flow_add(struct flow *f, struct str id, double delta) {
    uint32_t at;
    if (!ws_names_get(&f->ids, 0, id, &at)) {
        at = (uint32_t)f->nr++;
        f->v[at].id = id;
        if (!ws_names_put(&f->ids, 0, id, at)) return false;
    }
    if (delta > 0) {
        f->v[at].made += delta;
        if (!f->v[at].makes) f->made[f->made_nr++] = at;
        f->v[at].makes = true;
    } else {
        f->v[at].taken += -delta;
    }
    return true;
}

static double taken_of(const struct flow *f, struct str id) {
    uint32_t at;
    return ws_names_get(&f->ids, 0, id, &at) ? f->v[at].taken : 0;
}

static void recipe_check(struct check *c, size_t i, const struct flow *f, struct str product,
                         const struct ws_value *inputs) {
    struct buf b;
    buf_init(&b, WS_PROBLEM_BYTES_MAX);
    for (size_t k = 0; k < inputs->nr; k++) {
        const struct ws_member *m = &inputs->members[k];
        if (!ws_is(m->value, WS_NUMBER) || m->value->number <= 0 ||
            taken_of(f, m->name) >= m->value->number)
            continue;
        buf_addc(&b, b.len == 0 ? '[' : ',');
        json_quote(&b, m->name);
    }
    if (b.len > 0) {
        buf_addc(&b, ']');
        if (buf_failed(&b)) check_out_of_memory(c);
        else
            ws_raise(c->r, WS_R67, c->task[i].value, at_task(c, i, ""),
                     WS_FACTS(ws_ft("task_id", c->task[i].id), ws_ft("product_id", product),
                              ws_fj("missing_inputs", buf_str(&b))));
    }
    buf_fini(&b);
}

static void recipes_of_task(struct check *c, const struct ws_value *recipes, size_t i) {
    const struct ws_value *actions = c->task[i].actions;
    struct flow f = {.nr = 0};
    size_t n = actions == NULL ? 0 : actions->nr;
    double delta;
    f.v = arena_array(c->a, n, sizeof *f.v);
    f.made = ARENA_ARRAY(c->a, uint32_t, n);
    if (f.v == NULL || f.made == NULL) {
        check_out_of_memory(c);
        return;
    }
    ws_names_init(&f.ids, c->a);
    for (size_t j = 0; j < n; j++) {
        struct str id = ws_str(ws_get(actions->elements[j], "target_id"));
        if (id.n > 0 && delta_of(actions->elements[j], &delta) && delta != 0 &&
            !flow_add(&f, id, delta))
            check_out_of_memory(c);
    }
    for (size_t k = 0; k < f.made_nr && !CHECK_FULL(c); k++) {
        struct str product = f.v[f.made[k]].id;
        const struct ws_value *inputs =
            ws_object_of(ws_get(ws_object_of(ws_get_str(recipes, product)), "inputs"));
        if (inputs != NULL) recipe_check(c, i, &f, product, inputs);
    }
}

void check_recipes(struct check *c) {
    const struct ws_value *recipes = recipes_of(c);
    for (size_t i = 0; recipes != NULL && i < c->tasks_nr && !CHECK_FULL(c); i++)
        if (c->task[i].actions != NULL) recipes_of_task(c, recipes, i);
}

/* --- R68 --- */

static bool literal_type(const struct ws_value *v, const char *a, const char *b) {
    struct str type = ws_str(ws_get(v, "type"));
    return str_eqc(type, a) || (b != NULL && str_eqc(type, b));
}

/* false: the operator moves no stock. */
static bool stock_delta(const struct ws_value *op, double *out) {
    const struct ws_value *delta = ws_get(op, "delta");
    bool up = ws_is_true(ws_get(op, "increment")), down = ws_is_true(ws_get(op, "decrement"));
    *out = ws_is(delta, WS_NUMBER) ? delta->number : up ? 1 : -1;
    return ws_is(delta, WS_NUMBER) || up || down;
}

static void stock_move(struct check *c, size_t i, struct str id, double *stock,
                       const struct ws_value *op) {
    double delta, before = *stock;
    if (!stock_delta(op, &delta)) return;
    *stock = before + delta;
    if (*stock >= 0) return;
    ws_raise(c->r, WS_R68, op, at_text(c, c->at_tasks),
             WS_FACTS(ws_ft("task_id", c->task[i].id), ws_ft("object_id", id),
                      ws_fn("before", before), ws_fn("delta", delta), ws_fn("after", *stock)));
}

void check_stock(struct check *c) {
    struct ws_names ids;
    uint32_t at;
    double *stock = ARENA_ARRAY(c->a, double, c->objects->nr);
    if (stock == NULL) {
        check_out_of_memory(c);
        return;
    }
    ws_names_init(&ids, c->a);
    for (size_t i = 0; i < c->objects->nr; i++) {
        const struct ws_value *v = ws_object_of(c->objects->elements[i]);
        const struct ws_value *q = ws_get(ws_object_of(ws_get(v, "properties")), "quantity");
        struct str id = ws_str(ws_get(v, "id"));
        if (id.n == 0 || !ws_is(q, WS_NUMBER) || !literal_type(v, "resource", "product")) continue;
        stock[i] = q->number;
        if (!ws_names_put(&ids, 0, id, (uint32_t)i)) check_out_of_memory(c);
    }
    for (size_t k = 0; k < c->order_nr && !CHECK_FULL(c); k++) {
        const struct ws_value *actions = c->task[c->order[k]].actions;
        for (size_t j = 0; actions != NULL && j < actions->nr; j++) {
            const struct ws_value *op = quantity_of(actions->elements[j]);
            struct str id = ws_str(ws_get(actions->elements[j], "target_id"));
            if (op != NULL && ws_names_get(&ids, 0, id, &at))
                stock_move(c, c->order[k], id, &stock[at], op);
        }
    }
}

/* --- R69 --- */

static double rate_of(const struct check_object *o, const char *name) {
    const struct ws_value *v =
        o == NULL ? NULL : ws_get(ws_object_of(ws_get(o->value, "properties")), name);
    return ws_is(v, WS_NUMBER) ? v->number : 0;
}

struct costs {
    double labor, material, revenue;
};

static void costs_of_task(struct check *c, const struct check_task *t, struct costs *sum) {
    const struct check_object *actor = check_registered(c, ws_str(ws_get(t->value, "actor_id")));
    double hours = (t->end - t->begin) / (c->host ? 3600000 : 60), delta;
    sum->labor += rate_of(actor, "cost_per_hour") * (1 + rate_of(actor, "overhead_rate")) * hours;
    sum->labor += rate_of(actor, "depreciation_per_hour") * hours;
    for (size_t j = 0; t->actions != NULL && j < t->actions->nr; j++) {
        const struct ws_value *v = t->actions->elements[j];
        const struct check_object *o = check_registered(c, ws_str(ws_get(v, "target_id")));
        if (o == NULL || !delta_of(v, &delta)) continue;
        if (delta < 0 && literal_type(o->value, "resource", NULL))
            sum->material += -delta * rate_of(o, "cost_per_unit");
        if (delta > 0 && literal_type(o->value, "product", NULL))
            sum->revenue += delta * rate_of(o, "revenue_per_unit");
    }
}

void check_economics(struct check *c) {
    struct costs sum = {0, 0, 0};
    for (size_t i = 0; i < c->tasks_nr; i++)
        if (c->task[i].timed) costs_of_task(c, &c->task[i], &sum);
    double gross = sum.revenue - sum.labor - sum.material;
    if (gross < 0)
        ws_raise(c->r, WS_R69, c->sim, at_text(c, "/simulation"),
                 WS_FACTS(ws_fn("total_labor_cost", sum.labor),
                          ws_fn("total_material_cost", sum.material),
                          ws_fn("total_revenue", sum.revenue), ws_fn("gross_profit", gross)));
}

/* --- R71 --- */

void check_unused(struct check *c) {
    const struct ws_value *recipes = recipes_of(c);
    for (size_t i = 0; recipes != NULL && i < recipes->nr; i++) {
        const struct ws_value *inputs =
            ws_object_of(ws_get(ws_object_of(recipes->members[i].value), "inputs"));
        for (size_t k = 0; inputs != NULL && k < inputs->nr; k++)
            if (!ws_names_put(&c->used, 0, inputs->members[k].name, 0)) check_out_of_memory(c);
    }
    for (size_t i = 0; i < c->objects->nr && !CHECK_FULL(c); i++) {
        const struct ws_value *v = ws_object_of(c->objects->elements[i]);
        struct str id = ws_str(ws_get(v, "id"));
        if (id.n == 0 || !literal_type(v, "resource", NULL) || ws_names_has(&c->used, id)) continue;
        ws_raise(c->r, WS_R71, v, at_object(c, i, ""), WS_FACTS(ws_ft("object_id", id)));
    }
}
