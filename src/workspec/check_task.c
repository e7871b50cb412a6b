/* check_task.c: tasks, their times and dependencies: phases 9 and 10; see check_int.h. */
#include "workspec/check_int.h"

/* R28 to R30. */
static bool check_task_id(struct check *c, size_t i) {
    struct check_task *t = &c->task[i];
    const struct ws_value *idv = ws_get(t->value, "id");
    t->id = ws_str(idv);
    const struct ws_value *where = idv != NULL ? idv : t->value;
    if (t->id.n == 0) {
        ws_raise(c->r, WS_R28, where, at_task(c, i, "/id"),
                 WS_FACTS(ws_fn("task_index", (double)i)));
        return false;
    }
    if (!ws_plain_id(t->id))
        ws_raise(c->r, WS_R29, where, at_task(c, i, "/id"), WS_FACTS(ws_ft("task_id", t->id)));
    if (ws_names_has(&c->task_ids, t->id))
        ws_raise(c->r, WS_R30, where, at_task(c, i, "/id"), WS_FACTS(ws_ft("task_id", t->id)));
    if (!ws_names_put(&c->task_ids, 0, t->id, (uint32_t)i)) check_out_of_memory(c);
    return true;
}

/* The type of a performer, p NULL when it is not checked. */
static struct str performer_type(struct check *c, struct str actor) {
    uint32_t at;
    const struct check_object *o = check_registered(c, actor);
    if (o != NULL) return o->type;
    if (!c->host || !ws_names_get(&c->created, 0, actor, &at)) return STR_NONE;
    return ws_str(ws_get(c->first_created[at], "type"));
}

/* R31 to R33. */
static void check_performer(struct check *c, size_t i) {
    const struct check_task *t = &c->task[i];
    const struct ws_value *actorv = ws_get(t->value, "actor_id");
    const struct ws_value *where = actorv != NULL ? actorv : t->value;
    struct str actor = ws_raw(actorv);
    struct ws_fact task = ws_ft("task_id", t->id);
    if (actor.n == 0) {
        ws_raise(c->r, WS_R31, where, at_task(c, i, "/actor_id"), WS_FACTS(task));
        return;
    }
    if (!check_known(c, actor)) {
        ws_raise(c->r, WS_R32, where, at_task(c, i, "/actor_id"),
                 WS_FACTS(task, ws_ft("actor_id", actor)));
        return;
    }
    struct str type = performer_type(c, actor);
    if (type.p != NULL && !ws_performs(check_base(c, type)))
        ws_raise(c->r, WS_R33, where, at_task(c, i, "/actor_id"),
                 WS_FACTS(task, ws_ft("actor_id", actor), ws_ft("type", type)));
}

static void check_start(struct check *c, size_t i) {
    struct check_task *t = &c->task[i];
    const struct ws_value *v = ws_get(t->value, "start");
    const char *reason = ws_start_parse(v, &t->start);
    t->start_good = reason == NULL;
    if (reason != NULL)
        ws_raise(c->r, WS_R34, v != NULL ? v : t->value, at_task(c, i, "/start"),
                 WS_FACTS(ws_ft("task_id", t->id), ws_fv("value", v), ws_fz("reason", reason)));
}

static void check_duration(struct check *c, size_t i) {
    struct check_task *t = &c->task[i];
    const struct ws_value *v = ws_get(t->value, "duration");
    const char *reason = NULL;
    if (c->host) {
        reason = ws_duration_parse(v, c->unit, &t->duration);
        if (reason == NULL && t->duration.months > 0 && t->start_good &&
            t->start.form != WS_DATETIME)
            reason = "calendar_needs_datetime";
        t->duration_good = reason == NULL;
    } else {
        t->duration_good = ws_duration_minutes(v, c->unit, &t->minutes);
    }
    if (t->duration_good) return;
    ws_raise(c->r, WS_R35, v != NULL ? v : t->value, at_task(c, i, "/duration"),
             reason != NULL
                 ? WS_FACTS(ws_ft("task_id", t->id), ws_fv("duration", v), ws_fz("reason", reason))
                 : WS_FACTS(ws_ft("task_id", t->id), ws_fv("duration", v)));
}

static size_t array_size(const struct ws_value *v) { return ws_is(v, WS_ARRAY) ? v->nr : 0; }

static void deps_add(struct check_task *t, const struct ws_value *list, bool any) {
    for (size_t k = 0; k < array_size(list); k++)
        t->deps[t->deps_nr++] = (struct check_dep){list->elements[k], any};
}

/* WS-55. */
static void deps_list(struct check *c, struct check_task *t, const struct ws_value *v) {
    const struct ws_value *all = ws_is(v, WS_ARRAY) ? v : ws_get(v, "all"), *any = ws_get(v, "any");
    size_t n = array_size(all) + array_size(any);
    if (n == 0) return;
    t->deps = ARENA_ARRAY(c->a, struct check_dep, n);
    if (t->deps == NULL) {
        check_out_of_memory(c);
        return;
    }
    deps_add(t, all, false);
    deps_add(t, any, true);
}

/* R37 to R39. */
static void check_deps(struct check *c, size_t i) {
    struct check_task *t = &c->task[i];
    const struct ws_value *v = ws_get(t->value, "depends_on");
    struct ws_fact task = ws_ft("task_id", t->id);
    if (v != NULL && v->kind != WS_NULL && v->kind != WS_ARRAY && v->kind != WS_OBJECT)
        ws_raise(c->r, WS_R37, v, at_task(c, i, "/depends_on"),
                 WS_FACTS(task, ws_fv("depends_on", v)));
    deps_list(c, t, v);
    for (size_t k = 0; k < t->deps_nr; k++) {
        const struct ws_value *dep = t->deps[k].value;
        if (ws_blank(dep))
            ws_raise(c->r, WS_R38, dep, at_task(c, i, "/depends_on"),
                     WS_FACTS(task, ws_fv("dependency", dep)));
        else if (str_eq(ws_str(dep), t->id))
            ws_raise(c->r, WS_R39, dep, at_task(c, i, "/depends_on"),
                     WS_FACTS(task, ws_fv("dependency", dep)));
    }
}

static void check_task(struct check *c, size_t i) {
    struct check_task *t = &c->task[i];
    if (!ws_is(t->value, WS_OBJECT)) {
        ws_raise(c->r, WS_R27, t->value, at_task(c, i, ""), WS_FACTS(ws_fn("index", (double)i)));
        return;
    }
    if (!check_task_id(c, i)) return;
    check_performer(c, i);
    check_start(c, i);
    check_duration(c, i);
    const struct ws_value *place = ws_get(t->value, "location");
    if (!ws_blank(place))
        check_location_ref(c, place, WS_R36, at_task(c, i, "/location"),
                           WS_FACTS(ws_ft("task_id", t->id), ws_fv("location", place)));
    check_deps(c, i);
    check_actions(c, i);
    if (!ws_names_put(&c->used, 0, ws_raw(ws_get(t->value, "actor_id")), 0)) check_out_of_memory(c);
}

/* R59. */
static void check_dep_targets(struct check *c) {
    for (size_t i = 0; i < c->tasks_nr && !CHECK_FULL(c); i++) {
        const struct check_task *t = &c->task[i];
        for (size_t k = 0; k < t->deps_nr; k++) {
            struct str id = ws_str(t->deps[k].value);
            if (id.n == 0 || ws_names_has(&c->task_ids, id)) continue;
            ws_raise(c->r, WS_R59, t->deps[k].value, at_task(c, i, "/depends_on"),
                     WS_FACTS(ws_ft("task_id", t->id), ws_ft("dependency_id", id)));
        }
    }
}

/* WS-60: where day 1 is. */
static void timeline_make(struct check *c) {
    const struct ws_value *zone = ws_get(c->config, "timezone");
    struct ws_anchor_search found = {0};
    struct ws_start s;
    c->zone_good = ws_timeline_init(&c->timeline, zone, c->options.zones);
    const struct ws_value *start = ws_get(c->config, "start_time");
    if (ws_is(start, WS_STRING) && ws_start_parse(start, &s) == NULL && s.form == WS_DATETIME)
        ws_timeline_anchor(&c->timeline, &s);
    if (c->timeline.anchored) return;
    for (size_t i = 0; i < c->tasks_nr; i++)
        if (c->task[i].start_good && c->task[i].start.form == WS_DATETIME)
            ws_timeline_offer(&c->timeline, &found, &c->task[i].start);
    ws_timeline_take(&c->timeline, &found);
}

/* Times belong to ids: of tasks that share one, those of the last that has good ones. */
static void times_set(struct check *c) {
    uint32_t last;
    for (size_t i = 0; i < c->tasks_nr; i++) {
        const struct check_task *t = &c->task[i];
        if (!t->start_good || !t->duration_good || (!c->host && t->start.form == WS_DATETIME) ||
            !ws_names_get(&c->task_ids, 0, t->id, &last))
            continue;
        struct check_task *of = &c->task[last];
        of->timed = true;
        of->timed_at = i;
        if (c->host) {
            of->begin = (double)ws_timeline_ms(&c->timeline, &t->start);
            of->end = of->begin + (double)ws_duration_ms(&t->start, &t->duration);
        } else {
            of->begin = ws_start_minutes(&t->start);
            of->end = of->begin + t->minutes;
        }
    }
}

void check_tasks(struct check *c) {
    c->tasks_nr = c->tasks->nr;
    c->task = ARENA_ARRAY(c->a, struct check_task, c->tasks_nr);
    if (c->task == NULL) {
        check_out_of_memory(c);
        c->tasks_nr = 0;
        return;
    }
    for (size_t i = 0; i < c->tasks_nr && !CHECK_FULL(c); i++) {
        c->task[i].value = c->tasks->elements[i];
        check_task(c, i);
    }
    timeline_make(c);
    times_set(c);
    check_dep_targets(c);
}
