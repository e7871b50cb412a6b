/* migrate_task.c: tasks and what they do (WS-128 to WS-130). */
#include "workspec/migrate_int.h"

#include <math.h>

static const struct ws_value *object_of(struct migration *m, const char *name,
                                        const struct ws_value *value) {
    struct ws_member *one = ARENA_NEW(m->a, struct ws_member);
    const struct ws_value *v = NULL;
    if (one != NULL && value != NULL) {
        *one = (struct ws_member){str_c(name), value};
        v = ws_object_new(m->a, one, 1);
    }
    if (v == NULL) m->failed = true;
    return v;
}

/* {target_id, property_changes: {property: operator}} */
static const struct ws_value *change_of(struct migration *m, struct str target,
                                        const char *property, const struct ws_value *op) {
    const struct ws_value *v =
        object_of(m, "target_id", ws_text(m->a, id_mapped_text(&m->objects, target)));
    if (v != NULL) member_set(m, &v, "property_changes", object_of(m, property, op));
    return v;
}

/* --- consumes, produces --- */

static double amount_of(const struct ws_value *v) {
    double n = 0;
    if (ws_is(v, WS_NUMBER)) return v->number;
    return ws_number_of(ws_str(v), &n) == WS_NUMERAL ? n : 0;
}

static void amounts_add(struct migration *m, struct list *out, const struct ws_value *map,
                        double sign) {
    for (size_t i = 0; ws_is(map, WS_OBJECT) && i < map->nr; i++) {
        double n = amount_of(map->members[i].value) * sign;
        if (n != 0)
            list_add(m, out,
                     change_of(m, map->members[i].name, "quantity",
                               object_of(m, "delta", ws_number(m->a, n))));
    }
}

/* --- states --- */

static void transition_add(struct migration *m, struct list *out, struct str target,
                           const char *property, const struct ws_value *from,
                           const struct ws_value *to, const struct ws_value *temporary) {
    if (to == NULL || target.n == 0) return;
    const struct ws_value *op = from == NULL ? object_of(m, "set", to) : object_of(m, "from", from);
    if (from != NULL && op != NULL) member_set(m, &op, "to", to);
    const struct ws_value *v = change_of(m, target, property, op);
    if (v != NULL) member_set(m, &v, "temporary", temporary);
    list_add(m, out, v);
}

static void state_add(struct migration *m, struct list *out, struct str target,
                      const struct ws_value *e) {
    const struct ws_value *temporary = first_of(ws_get(e, "temporary"), ws_get(e, "revert_after"));
    transition_add(m, out, target, "state", first_of(ws_get(e, "from"), ws_get(e, "from_state")),
                   first_of(ws_get(e, "to"), ws_get(e, "to_state")), temporary);
}

static void states_add(struct migration *m, struct list *out, const struct ws_value *task) {
    static const char *const IDS[] = {"target_id", "object_id", "equipment_id", "id"};
    const struct ws_value *map = ws_object_of(ws_get(task, "equipment_state_changes"));
    const struct ws_value *all = ws_array_of(ws_get(task, "equipment_interactions"));
    for (size_t i = 0; map != NULL && i < map->nr; i++)
        state_add(m, out, map->members[i].name, map->members[i].value);
    for (size_t i = 0; all != NULL && i < all->nr; i++) {
        const struct ws_value *e = all->elements[i];
        struct str id = STR("");
        for (size_t k = 0; k < sizeof IDS / sizeof *IDS && id.n == 0; k++)
            id = ws_str(ws_get(e, IDS[k]));
        state_add(m, out, id, e);
    }
}

/* --- interactions --- */

static void objects_add(struct migration *m, struct list *out, const struct ws_value *from) {
    const struct ws_value *made = ws_array_of(ws_get(from, "add_objects"));
    const struct ws_value *gone = ws_array_of(ws_get(from, "remove_objects"));
    for (size_t i = 0; made != NULL && i < made->nr; i++) {
        const struct ws_value *o = made->elements[i];
        const struct ws_value *v = object_of(m, "action", ws_textz(m->a, "create"));
        if (!ws_is(o, WS_OBJECT) || v == NULL) continue;
        o = object_migrated(m, o, id_mapped_text(&m->objects, ws_raw(ws_get(o, "id"))));
        member_set(m, &v, "object", o);
        list_add(m, out, v);
    }
    for (size_t i = 0; gone != NULL && i < gone->nr; i++) {
        const struct ws_value *g = gone->elements[i];
        const struct ws_value *id = ws_is(g, WS_OBJECT) ? ws_get(g, "id") : g;
        const struct ws_value *v = object_of(m, "action", ws_textz(m->a, "delete"));
        if (!ws_is(id, WS_STRING) || v == NULL) continue;
        member_set(m, &v, "target_id", id_mapped(m, &m->objects, id));
        list_add(m, out, v);
    }
}

static void member_rename(struct migration *m, const struct ws_value **v, const char *old,
                          const char *now) {
    const struct ws_value *value = ws_get(*v, old);
    if (value == NULL || ws_get(*v, now) != NULL) return;
    member_set(m, v, now, value);
    member_set(m, v, old, NULL);
}

/* An interaction that did nothing but add or remove objects has become those. */
static bool only_moves_objects(const struct ws_value *v) {
    return ws_get(v, "property_changes") == NULL && ws_get(v, "action") == NULL &&
           (ws_get(v, "add_objects") != NULL || ws_get(v, "remove_objects") != NULL);
}

static void interaction_add(struct migration *m, struct list *out, const struct ws_value *v) {
    if (!ws_is(v, WS_OBJECT)) {
        list_add(m, out, v);
        return;
    }
    objects_add(m, out, v);
    if (only_moves_objects(v)) return;
    member_set(m, &v, "add_objects", NULL);
    member_set(m, &v, "remove_objects", NULL);
    member_rename(m, &v, "object_id", "target_id");
    member_rename(m, &v, "revert_after", "temporary");
    member_set(m, &v, "target_id", id_mapped(m, &m->objects, ws_get(v, "target_id")));
    const struct ws_value *object = ws_object_of(ws_get(v, "object"));
    if (object != NULL)
        member_set(
            m, &v, "object",
            object_migrated(m, object, id_mapped_text(&m->objects, ws_raw(ws_get(object, "id")))));
    list_add(m, out, v);
}

static void movement_add(struct migration *m, struct list *out, const struct ws_value *task) {
    const struct ws_value *to = ws_get(task, "to_location"), *from = ws_get(task, "from_location");
    if (!str_eqc(ws_str(ws_get(task, "type")), "movement") || ws_blank(to)) return;
    transition_add(m, out, ws_raw(ws_get(task, "actor_id")), "location",
                   ws_blank(from) ? NULL : id_mapped(m, &m->locations, from),
                   id_mapped(m, &m->locations, to), NULL);
}

static const struct ws_value *interactions_of(struct migration *m, const struct ws_value *task) {
    const struct ws_value *old = ws_get(task, "interactions");
    struct list out = {NULL, 0, 0};
    if (old != NULL && !ws_is(old, WS_ARRAY)) return old;
    for (size_t j = 0; old != NULL && j < old->nr; j++) interaction_add(m, &out, old->elements[j]);
    amounts_add(m, &out, ws_get(task, "consumes"), -1);
    amounts_add(m, &out, ws_get(task, "produces"), 1);
    states_add(m, &out, task);
    objects_add(m, &out, task);
    movement_add(m, &out, task);
    return old == NULL && out.nr == 0 ? NULL : list_value(m, &out);
}

/* --- dependencies --- */

static const struct ws_value *ids_mapped(struct migration *m, const struct ws_value *list) {
    struct list out = {NULL, 0, 0};
    if (!ws_is(list, WS_ARRAY)) return list;
    for (size_t i = 0; i < list->nr; i++)
        list_add(m, &out, id_mapped(m, &m->tasks, list->elements[i]));
    return list_value(m, &out);
}

static const struct ws_value *deps_migrated(struct migration *m, const struct ws_value *v) {
    if (ws_is(v, WS_STRING)) {
        struct list one = {NULL, 0, 0};
        list_add(m, &one, id_mapped(m, &m->tasks, v));
        return list_value(m, &one);
    }
    if (!ws_is(v, WS_OBJECT)) return ids_mapped(m, v);
    member_set(m, &v, "all", ids_mapped(m, ws_get(v, "all")));
    member_set(m, &v, "any", ids_mapped(m, ws_get(v, "any")));
    return v;
}

/* --- tasks --- */

static const struct ws_value *start_migrated(struct migration *m, const struct ws_value *start) {
    if (ws_is(start, WS_STRING)) return time_padded(m, start);
    if (!ws_is(start, WS_OBJECT)) return start;
    member_set(m, &start, "time", time_padded(m, ws_get(start, "time")));
    return start;
}

const struct ws_value *task_migrated(struct migration *m, const struct ws_value *t) {
    static const char *const OLD[] = {"consumes",    "produces",       "equipment_state_changes",
                                      "add_objects", "remove_objects", "equipment_interactions"};
    if (!ws_is(t, WS_OBJECT)) return t;
    struct str old = ws_raw(ws_get(t, "id")), emoji = emoji_last(old);
    member_rename(m, &t, "assigned_to", "actor_id");
    member_rename(m, &t, "location_id", "location");
    const struct ws_value *actions = interactions_of(m, t);
    if (emoji.n > 0 && ws_blank(ws_get(t, "emoji")))
        member_set(m, &t, "emoji", ws_text(m->a, emoji));
    member_set(m, &t, "id", ws_text(m->a, id_mapped_text(&m->tasks, old)));
    member_set(m, &t, "actor_id", id_mapped(m, &m->objects, ws_get(t, "actor_id")));
    member_set(m, &t, "location", id_mapped(m, &m->locations, ws_get(t, "location")));
    member_set(m, &t, "start", start_migrated(m, ws_get(t, "start")));
    member_set(m, &t, "depends_on", deps_migrated(m, ws_get(t, "depends_on")));
    for (size_t i = 0; i < sizeof OLD / sizeof *OLD; i++) member_set(m, &t, OLD[i], NULL);
    member_set(m, &t, "interactions", actions);
    return t;
}
