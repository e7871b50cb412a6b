/* check_replay.c: order, existence, overlap, times of dependencies: phases 12 to 14. */
#include "workspec/check_int.h"

#include <math.h>
#include <stdlib.h>

struct at_index {
    double begin;
    size_t index, task; /* index: where its times come from */
};

static int by_begin(const void *x, const void *y) {
    const struct at_index *a = x, *b = y;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void check_order(struct check *c) {
    struct at_index *v = ARENA_ARRAY(c->a, struct at_index, c->tasks_nr);
    c->order = ARENA_ARRAY(c->a, size_t, c->tasks_nr);
    if (v == NULL || c->order == NULL) {
        check_out_of_memory(c);
        return;
    }
    for (size_t i = 0; i < c->tasks_nr; i++)
        if (c->task[i].timed)
            v[c->order_nr++] = (struct at_index){c->task[i].begin, c->task[i].timed_at, i};
    if (c->order_nr > 0) qsort(v, c->order_nr, sizeof *v, by_begin);
    for (size_t k = 0; k < c->order_nr; k++) c->order[k] = v[k].task;
}

/* --- R61 to R63, WS-33 --- */

enum { NOBODY = -1 };
struct life {
    bool exists, ever;
    int64_t deleted_by; /* index of a task */
};
struct pending { /* the end of something temporary */
    double time;
    size_t task, action, id;
    bool restores;
};
struct lives {
    struct check *c;
    struct ws_names ids; /* -> life */
    struct life *v;
    size_t nr, cap;
    struct pending *ends; /* a heap by (time, task, action) */
    size_t ends_nr, ends_cap;
};

static struct life *life_of(struct lives *l, struct str id) {
    uint32_t at;
    return ws_names_get(&l->ids, 0, id, &at) ? &l->v[at] : NULL;
}

static size_t life_add(struct lives *l, struct str id, bool exists) {
    uint32_t at;
    if (ws_names_get(&l->ids, 0, id, &at)) return at;
    if (l->nr == l->cap) {
        check_out_of_memory(l->c);
        return 0;
    }
    if (!ws_names_put(&l->ids, 0, id, (uint32_t)l->nr)) check_out_of_memory(l->c);
    l->v[l->nr] = (struct life){exists, exists, NOBODY};
    return l->nr++;
}

static bool pending_before(const struct pending *a, const struct pending *b) {
    if (a->time != b->time) return a->time < b->time;
    if (a->task != b->task) return a->task < b->task;
    return a->action < b->action;
}

static void ends_swap(struct lives *l, size_t i, size_t k) {
    struct pending t = l->ends[i];
    l->ends[i] = l->ends[k];
    l->ends[k] = t;
}

static void ends_push(struct lives *l, struct pending p) {
    size_t i = l->ends_nr++;
    l->ends[i] = p;
    for (; i > 0 && pending_before(&l->ends[i], &l->ends[(i - 1) / 2]); i = (i - 1) / 2)
        ends_swap(l, i, (i - 1) / 2);
}

static struct pending ends_pop(struct lives *l) {
    struct pending first = l->ends[0];
    l->ends[0] = l->ends[--l->ends_nr];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < l->ends_nr; k++)
            if (pending_before(&l->ends[k], &l->ends[least])) least = k;
        if (least == i) return first;
        ends_swap(l, i, least);
        i = least;
    }
}

static void ends_apply(struct lives *l, double until) {
    while (l->ends_nr > 0 && l->ends[0].time <= until) {
        struct pending p = ends_pop(l);
        l->v[p.id].exists = p.restores;
        l->v[p.id].deleted_by = p.restores ? NOBODY : (int64_t)p.task;
    }
}

static struct ws_fact check_replay_deleter(const struct lives *l, const struct life *o) {
    return ws_ft("deleted_by",
                 o->deleted_by == NOBODY ? STR_NONE : l->c->task[(size_t)o->deleted_by].id);
}

static void life_violation(struct lives *l, enum ws_code code, const struct ws_value *v,
                           struct str at, size_t task, struct str id, const char *reference) {
    ws_raise(l->c->r, code, v, at,
             WS_FACTS(ws_ft("task_id", l->c->task[task].id), ws_ft("object_id", id),
                      ws_fz("reference", reference), check_replay_deleter(l, life_of(l, id))));
}

static void life_create(struct lives *l, size_t task, size_t j, const struct ws_value *v,
                        struct str id) {
    struct check *c = l->c;
    size_t at = life_add(l, id, false);
    struct life *o = &l->v[at];
    if (c->r->failed) return;
    if (o->ever)
        ws_raise(c->r, WS_R62, ws_get(ws_get(v, "object"), "id"),
                 at_action(c, task, j, "/object/id"),
                 WS_FACTS(ws_ft("task_id", c->task[task].id), ws_ft("object_id", id)));
    o->ever = o->exists = true;
    o->deleted_by = NOBODY;
    if (ws_is_true(ws_get(v, "temporary")))
        ends_push(l, (struct pending){c->task[task].end, task, j, at, false});
}

static void life_touch(struct lives *l, size_t task, size_t j, const struct ws_value *v) {
    struct check *c = l->c;
    uint32_t at;
    const struct ws_value *targetv = ws_get(v, "target_id");
    struct str id = ws_str(targetv);
    if (id.n == 0 || !ws_names_get(&l->ids, 0, id, &at)) return;
    struct life *o = &l->v[at];
    if (!o->exists)
        life_violation(l, WS_R63, targetv, at_action(c, task, j, "/target_id"), task, id,
                       "target_id");
    if (!str_eqc(check_action(v), "delete") || !o->exists) return;
    o->exists = false;
    o->deleted_by = (int64_t)task;
    if (ws_is_true(ws_get(v, "temporary")))
        ends_push(l, (struct pending){c->task[task].end, task, j, at, true});
}

static void life_task(struct lives *l, size_t i) {
    struct check *c = l->c;
    const struct check_task *t = &c->task[i];
    const struct ws_value *actorv = ws_get(t->value, "actor_id");
    const struct life *actor = life_of(l, ws_str(actorv));
    ends_apply(l, t->begin);
    if (actor != NULL && !actor->exists)
        life_violation(l, WS_R61, actorv, at_task(c, i, "/actor_id"), i, ws_str(actorv),
                       "actor_id");
    for (size_t j = 0; t->actions != NULL && j < t->actions->nr && !CHECK_FULL(c); j++) {
        const struct ws_value *v = t->actions->elements[j];
        struct str id = ws_str(ws_get(ws_object_of(ws_get(v, "object")), "id"));
        if (!ws_is(v, WS_OBJECT)) continue;
        if (str_eqc(check_action(v), "create") && id.n > 0) life_create(l, i, j, v, id);
        else life_touch(l, i, j, v);
    }
}

static size_t actions_count(const struct check *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->tasks_nr; i++)
        if (c->task[i].actions != NULL) n += c->task[i].actions->nr;
    return n;
}

void check_life(struct check *c) {
    struct lives l = {.c = c};
    l.cap = c->registered_nr + c->created_nr;
    l.v = ARENA_ARRAY(c->a, struct life, l.cap);
    l.ends = ARENA_ARRAY(c->a, struct pending, actions_count(c));
    if (l.v == NULL || l.ends == NULL) {
        check_out_of_memory(c);
        return;
    }
    ws_names_init(&l.ids, c->a);
    for (size_t i = 0; i < c->registered_nr; i++)
        life_add(&l, ws_raw(ws_get(c->registered[i].value, "id")), true);
    for (size_t i = 0; i < c->created_nr; i++)
        life_add(&l, ws_str(ws_get(c->first_created[i], "id")), false);
    for (size_t k = 0; k < c->order_nr && !CHECK_FULL(c); k++) life_task(&l, c->order[k]);
}

/* --- R65, WS-34 --- */

struct group {
    struct str actor;
    size_t nr, first; /* its part of a list of tasks */
    size_t latest;    /* task to compare with */
};

static void overlap_raise(struct check *c, struct str actor, size_t a, size_t b) {
    ws_raise(c->r, WS_R65, c->task[b].value, at_text(c, c->at_tasks),
             WS_FACTS(ws_ft("actor_id", actor), ws_ft("task_a", c->task[a].id),
                      ws_ft("task_b", c->task[b].id)));
}

/* tasks: of one performer, in order. */
static void group_check(struct check *c, struct str actor, const size_t *tasks, size_t nr) {
    size_t before = tasks[0];
    for (size_t k = 1; k < nr && !CHECK_FULL(c); k++) {
        if (c->task[tasks[k]].begin < c->task[before].end)
            overlap_raise(c, actor, before, tasks[k]);
        if (!c->host || c->task[tasks[k]].end > c->task[before].end) before = tasks[k];
    }
}

void check_overlap(struct check *c) {
    struct group *g = ARENA_ARRAY(c->a, struct group, c->order_nr);
    size_t *of = ARENA_ARRAY(c->a, size_t, c->tasks_nr);
    size_t *list = ARENA_ARRAY(c->a, size_t, c->order_nr), nr = 0, first = 0;
    struct ws_names actors;
    uint32_t at;
    if (g == NULL || of == NULL || list == NULL) {
        check_out_of_memory(c);
        return;
    }
    ws_names_init(&actors, c->a);
    for (size_t i = 0; i < c->tasks_nr; i++) { /* groups in order of their first task */
        const struct ws_value *actor = ws_get(c->task[i].value, "actor_id");
        of[i] = SIZE_MAX;
        if (!c->task[i].timed || ws_blank(actor)) continue;
        if (!ws_names_get(&actors, 0, ws_raw(actor), &at)) {
            at = (uint32_t)nr++;
            g[at] = (struct group){.actor = ws_raw(actor)};
            if (!ws_names_put(&actors, 0, ws_raw(actor), at)) check_out_of_memory(c);
        }
        of[i] = at;
        g[at].nr++;
    }
    for (size_t k = 0; k < nr; k++) {
        g[k].first = first;
        first += g[k].nr;
        g[k].nr = 0;
    }
    for (size_t k = 0; k < c->order_nr; k++) {
        struct group *own = of[c->order[k]] == SIZE_MAX ? NULL : &g[of[c->order[k]]];
        if (own != NULL) list[own->first + own->nr++] = c->order[k];
    }
    for (size_t k = 0; k < nr; k++) group_check(c, g[k].actor, list + g[k].first, g[k].nr);
}

/* --- R66, WS-35 --- */

static double required_end(struct check *c, const struct check_task *t) {
    double all = 0, any = 0;
    bool some = false, one = false;
    uint32_t at;
    for (size_t k = 0; k < t->deps_nr; k++) {
        struct str id = ws_str(t->deps[k].value);
        if (id.n == 0 || !ws_names_get(&c->task_ids, 0, id, &at) || !c->task[at].timed) continue;
        double end = c->task[at].end;
        if (t->deps[k].any) {
            if (!one || end < any) any = end;
            one = true;
        } else {
            if (!some || end > all) all = end;
            some = true;
        }
    }
    if (!some && !one) return -HUGE_VAL;
    double required = some ? all : c->host ? -HUGE_VAL : 0;
    return one && any > required ? any : required;
}

void check_dependency_times(struct check *c) {
    double unit = c->host ? 60000 : 1;
    for (size_t i = 0; i < c->tasks_nr && !CHECK_FULL(c); i++) {
        const struct check_task *t = &c->task[i];
        uint32_t last;
        if (!ws_names_get(&c->task_ids, 0, t->id, &last) || !c->task[last].timed) continue;
        double required = required_end(c, t), begin = c->task[last].begin;
        if (begin >= required) continue;
        ws_raise(c->r, WS_R66, ws_get(t->value, "start"), at_task(c, i, "/start"),
                 WS_FACTS(ws_ft("task_id", t->id), ws_fn("start_minutes", begin / unit),
                          ws_fn("required_end_minutes", required / unit)));
    }
}
