/* check_host.c: the rules that profile host adds (2.6), but for H16 and H17. */
#include "workspec/check_int.h"

/* --- H18 --- */

static bool check_host_within(struct check *c, const char *limit, size_t maximum, size_t observed) {
    struct ws_excess e = {limit, maximum, observed};
    if (observed <= maximum) return true;
    ws_raise_excess(c->r, &e);
    return false;
}

static size_t size_of(const struct ws_value *v) {
    return ws_is(v, WS_ARRAY) || ws_is(v, WS_OBJECT) ? v->nr : 0;
}

static bool task_within(struct check *c, const struct ws_value *t, size_t *actions,
                        size_t *changes) {
    const struct ws_limits *l = c->options.limits;
    const struct ws_value *list = ws_array_of(ws_get(t, "interactions"));
    const struct ws_value *deps = ws_get(t, "depends_on");
    size_t n = size_of(list);
    size_t deps_nr = ws_is(deps, WS_OBJECT)
                         ? size_of(ws_get(deps, "all")) + size_of(ws_get(deps, "any"))
                         : size_of(deps);
    for (size_t j = 0; j < n; j++)
        *changes += size_of(ws_object_of(ws_get(list->elements[j], "property_changes")));
    *actions += n;
    return check_host_within(c, "interactions of a task", l->task_interactions, n) &&
           check_host_within(c, "interactions", l->interactions, *actions) &&
           check_host_within(c, "property changes", l->changes, *changes) &&
           check_host_within(c, "dependencies of a task", l->dependencies, deps_nr);
}

bool check_limits(struct check *c) {
    const struct ws_limits *l = c->options.limits;
    const struct ws_value *sim = ws_get(c->root, "simulation");
    if (!ws_is(sim, WS_OBJECT)) sim = c->root;
    const struct ws_value *world = ws_get(sim, "world");
    const struct ws_value *tasks = ws_array_of(ws_get(ws_get(sim, "process"), "tasks"));
    const struct ws_value *old = ws_array_of(ws_get(sim, "tasks"));
    const struct ws_value *layout = ws_get(world, "layout");
    size_t actions = 0, changes = 0;
    if (size_of(tasks) == 0 && old != NULL) tasks = old;
    if (!check_host_within(c, "objects", l->objects,
                           size_of(ws_array_of(ws_get(world, "objects")))) ||
        !check_host_within(c, "objects", l->objects,
                           size_of(ws_array_of(ws_get(sim, "objects")))) ||
        !check_host_within(c, "tasks", l->tasks, size_of(tasks)) ||
        !check_host_within(c, "locations", l->locations,
                           size_of(ws_array_of(ws_get(layout, "locations")))))
        return false;
    for (size_t i = 0; i < size_of(tasks); i++)
        if (!task_within(c, tasks->elements[i], &actions, &changes)) return false;
    return true;
}

/* --- H2 --- */

void check_legacy(struct check *c) {
    static const struct {
        const char *name;
        bool holds; /* what now is in an array elsewhere */
    } OLD[] = {{"layout", false},
               {"objects", true},
               {"tasks", true},
               {"recipes", false},
               {"production_recipes", false}};
    for (size_t i = 0; i < sizeof OLD / sizeof *OLD; i++) {
        const struct ws_value *v = ws_get(c->sim, OLD[i].name);
        if (v == NULL) continue;
        const struct ws_value *now =
            OLD[i].name[0] == 'o' ? ws_get(c->world, "objects") : ws_get(c->process, "tasks");
        bool lost = OLD[i].holds && size_of(ws_array_of(v)) > 0 && size_of(ws_array_of(now)) == 0;
        ws_raise_as(c->r, WS_H2, lost ? WS_ERROR : WS_WARNING, v,
                    arena_printf(c->a, "/simulation/%s", OLD[i].name),
                    WS_FACTS(ws_fz("field", OLD[i].name)));
    }
}

/* --- H11 --- */

static void definition_raise(struct check *c, const struct ws_member *m, const char *rest,
                             const char *reason) {
    struct str name = ws_token(c->a, m->name);
    const struct ws_value *extends = ws_get(ws_object_of(m->value), "extends");
    ws_raise(c->r, WS_H11, m->value,
             arena_printf(c->a, "/simulation/type_definitions/" STR_FMT "%s", STR_ARG(name), rest),
             WS_FACTS(ws_ft("type", m->name), ws_fv("extends", extends), ws_fz("reason", reason)));
}

/* Whether a chain of definitions without a base comes back to where it was: its two ends, one of
 * which walks twice as fast. */
static struct str next_type(struct check *c, struct str type) {
    if (type.n == 0) return type;
    return ws_str(ws_get(ws_object_of(ws_get_str(c->definitions, type)), "extends"));
}

static bool chain_repeats(struct check *c, struct str type) {
    struct str slow = type, fast = type;
    for (size_t i = 0; i <= c->definitions->nr; i++) {
        slow = next_type(c, slow);
        fast = next_type(c, next_type(c, fast));
        if (fast.n == 0) return false;
        if (str_eq(slow, fast)) return true;
    }
    return true;
}

/* Chains that end nowhere are walked once: what they end in is noted for all types on them. */
static const char *chain_reason(struct check *c, struct ws_names *seen, struct str type) {
    uint32_t repeats;
    if (!ws_names_get(seen, 0, type, &repeats)) {
        repeats = chain_repeats(c, type);
        struct str t = type;
        for (uint32_t known; t.n > 0 && !ws_names_get(seen, 0, t, &known); t = next_type(c, t))
            if (!ws_names_put(seen, 0, t, repeats)) check_out_of_memory(c);
    }
    return repeats ? "cycle" : "unresolved";
}

static void check_definitions(struct check *c) {
    struct ws_names seen;
    ws_names_init(&seen, c->a);
    for (size_t i = 0; c->definitions != NULL && i < c->definitions->nr && !CHECK_FULL(c); i++) {
        const struct ws_member *m = &c->definitions->members[i];
        struct str extends = ws_str(ws_get(ws_object_of(m->value), "extends"));
        if (extends.n == 0) definition_raise(c, m, "", "missing");
        else if (check_base(c, extends) == WS_NO_BASE)
            definition_raise(c, m, "/extends", chain_reason(c, &seen, m->name));
    }
}

/* --- H12 --- */

static void check_creation(struct check *c, size_t i, size_t j, const struct ws_value *object) {
    struct ws_fact more[] = {
        ws_ft("task_id", c->task[i].id), ws_fn("interaction_index", (double)j), {.name = NULL}};
    struct check_where w = {at_action(c, i, j, "/object"), more};
    if (!check_identity_complete(c, object, &w, (struct ws_fact){.name = NULL})) return;
    check_identity(c, object, &w);
    const struct ws_value *place = ws_get(object, "location");
    check_location_ref(c, place, WS_R24, at_action(c, i, j, "/object/location"),
                       WS_FACTS(ws_ft("object_id", ws_raw(ws_get(object, "id"))),
                                ws_fv("location", place), more[0], more[1]));
}

/* Each interaction that is an object. */
static void each_action(struct check *c,
                        void (*fn)(struct check *c, size_t i, size_t j, const struct ws_value *v)) {
    for (size_t i = 0; i < c->tasks_nr && !CHECK_FULL(c); i++) {
        const struct ws_value *actions = c->task[i].actions;
        for (size_t j = 0; actions != NULL && j < actions->nr; j++)
            if (ws_is(actions->elements[j], WS_OBJECT)) fn(c, i, j, actions->elements[j]);
    }
}

static void action_creation(struct check *c, size_t i, size_t j, const struct ws_value *v) {
    const struct ws_value *object = ws_object_of(ws_get(v, "object"));
    if (object != NULL && str_eqc(check_action(v), "create")) check_creation(c, i, j, object);
}

/* --- H13, H14 --- */

static void config_raise(struct check *c, enum ws_code code, const char *name) {
    const struct ws_value *v = ws_get(c->config, name);
    ws_raise(c->r, code, v, arena_printf(c->a, "/simulation/config/%s", name),
             WS_FACTS(ws_fz("field", name), ws_fv("value", v)));
}

static void check_config_times(struct check *c) {
    static const char *const NAMES[] = {"start_time", "end_time"};
    struct ws_start s[2];
    bool good[2] = {false, false};
    for (size_t i = 0; i < 2; i++) {
        const struct ws_value *v = ws_get(c->config, NAMES[i]);
        if (!ws_is(v, WS_STRING) || ws_blank(v)) continue;
        good[i] = ws_start_parse(v, &s[i]) == NULL;
        if (!good[i]) config_raise(c, WS_H13, NAMES[i]);
    }
    if (good[0] && good[1] && s[0].form == WS_DATETIME && s[1].form == WS_DATETIME &&
        ws_timeline_ms(&c->timeline, &s[1]) < ws_timeline_ms(&c->timeline, &s[0]))
        config_raise(c, WS_H13, "end_time");
}

static bool currency_good(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 'A' || s.p[i] > 'Z') return false;
    return s.n == 3;
}

static bool check_host_letter(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* ^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$ */
static bool locale_good(struct str s) {
    size_t n = 0;
    while (n < s.n && check_host_letter(s.p[n])) n++;
    if (n < 2 || n > 3) return false;
    while (n < s.n) {
        if (s.p[n++] != '-') return false;
        size_t from = n;
        while (n < s.n && (check_host_letter(s.p[n]) || (s.p[n] >= '0' && s.p[n] <= '9'))) n++;
        if (n - from < 2 || n - from > 8) return false;
    }
    return true;
}

static void check_config_values(struct check *c) {
    const struct ws_value *currency = ws_get(c->config, "currency");
    const struct ws_value *locale = ws_get(c->config, "locale");
    if (!ws_blank(currency) && !currency_good(ws_raw(currency)))
        config_raise(c, WS_H14, "currency");
    if (!ws_blank(locale) && !locale_good(ws_raw(locale))) config_raise(c, WS_H14, "locale");
    if (ws_is(ws_get(c->config, "timezone"), WS_STRING) && !c->zone_good)
        config_raise(c, WS_H14, "timezone");
}

/* --- H15 --- */

static void check_location_ids(struct check *c) {
    const struct ws_value *all = ws_array_of(ws_get(c->layout, "locations"));
    struct ws_names seen;
    ws_names_init(&seen, c->a);
    for (size_t i = 0; all != NULL && i < all->nr && !CHECK_FULL(c); i++) {
        const struct ws_value *idv = ws_get(ws_object_of(all->elements[i]), "id");
        struct str id = ws_raw(idv);
        if (!ws_is(all->elements[i], WS_OBJECT)) continue; /* H16 */
        bool twice = ws_names_has(&seen, id);
        if (!ws_names_put(&seen, 0, id, 0)) check_out_of_memory(c);
        if (ws_plain_id(id) && !twice) continue;
        ws_raise(c->r, WS_H15, idv != NULL ? idv : all->elements[i],
                 arena_printf(c->a, "/simulation/world/layout/locations/%zu/id", i),
                 WS_FACTS(ws_fv("location_id", idv)));
    }
}

/* --- H20, H21, H22 --- */

static void action_temporary(struct check *c, size_t i, size_t j, const struct ws_value *v) {
    struct str action = check_action(v);
    const struct ws_value *temporary = ws_get(v, "temporary");
    if (!ws_is_true(temporary) || !(str_eqc(action, "create") || str_eqc(action, "delete"))) return;
    ws_raise(c->r, WS_H20, temporary, at_action(c, i, j, "/temporary"),
             WS_FACTS(ws_ft("task_id", c->task[i].id), ws_ft("action", action)));
}

static void action_empty(struct check *c, size_t i, size_t j, const struct ws_value *v) {
    const struct ws_value *changes = ws_object_of(ws_get(v, "property_changes"));
    for (size_t k = 0; changes != NULL && k < changes->nr; k++) {
        const struct ws_member *m = &changes->members[k];
        if (!ws_is(m->value, WS_OBJECT) || m->value->nr > 0) continue;
        ws_raise(c->r, WS_H21, m->value, at_change(c, i, j, m->name, ""),
                 WS_FACTS(ws_ft("task_id", c->task[i].id),
                          ws_ft("target_id", ws_raw(ws_get(v, "target_id"))),
                          ws_ft("property", m->name)));
    }
}

static void check_mixed_forms(struct check *c) {
    char date[WS_DATE_SIZE];
    struct ws_start s;
    const struct ws_value *start = ws_get(c->config, "start_time");
    bool dated = false, plain = false;
    if (ws_is(start, WS_STRING) && ws_start_parse(start, &s) == NULL && s.form == WS_DATETIME)
        return;
    for (size_t i = 0; i < c->tasks_nr; i++) {
        if (!c->task[i].start_good) continue;
        if (c->task[i].start.form == WS_DATETIME) dated = true;
        else plain = true;
    }
    if (!dated || !plain) return;
    ws_date_format(c->timeline.anchor_days, date);
    ws_raise(c->r, WS_H22, c->tasks, at_text(c, c->at_tasks), WS_FACTS(ws_fz("anchor_date", date)));
}

void check_host_rules(struct check *c) {
    check_definitions(c);
    each_action(c, action_creation);
    check_config_times(c);
    check_config_values(c);
    check_location_ids(c);
    check_fields(c);
    each_action(c, action_temporary);
    each_action(c, action_empty);
    check_mixed_forms(c);
}
