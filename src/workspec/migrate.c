/* migrate.c: the document as a whole (WS-121 to WS-125); see migrate.h. */
#include "workspec/migrate_int.h"

#define SCHEMA_URI "https://universalautomation.wiki/workspec/v2.0.schema.json"

static const struct ws_value *text_or(struct migration *m, const struct ws_value *v,
                                      const char *otherwise) {
    return ws_blank(v) ? ws_textz(m->a, otherwise) : v;
}

static const struct ws_value *blank_or(const struct ws_value *v, const struct ws_value *other) {
    return ws_blank(v) ? other : v;
}

/* WS-123 */
static const struct ws_value *meta_migrated(struct migration *m) {
    const struct ws_value *meta = ws_object_of(ws_get(m->sim, "meta")), *v = meta;
    if (v == NULL) v = ws_object_new(m->a, NULL, 0);
    const struct ws_value *title = blank_or(
        ws_get(meta, "title"), blank_or(ws_get(meta, "article_title"), ws_get(m->sim, "name")));
    const struct ws_value *about =
        blank_or(ws_get(meta, "description"), ws_get(m->sim, "description"));
    const struct ws_value *domain = blank_or(
        ws_get(meta, "domain"), blank_or(ws_get(m->sim, "domain"), ws_get(meta, "industry")));
    member_set(m, &v, "title", text_or(m, title, "Untitled process"));
    member_set(m, &v, "description", text_or(m, about, "No description"));
    member_set(m, &v, "domain", text_or(m, domain, "General"));
    member_set(m, &v, "article_title", NULL);
    return v;
}

/* --- WS-124 --- */

static const struct ws_value *unit_of(struct migration *m, const struct ws_value *v) {
    static const char *const UNITS[][6] = {{"seconds", "second", "secs", "sec", "s", NULL},
                                           {"minutes", "minute", "mins", "min", "m", NULL},
                                           {"hours", "hour", "hrs", "hr", "h", NULL}};
    struct str s = ws_str(v);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; UNITS[i][k] != NULL; k++)
            if (str_eq_nocase(s, str_c(UNITS[i][k]))) return ws_textz(m->a, UNITS[i][0]);
    return s.n == 0 ? ws_textz(m->a, "minutes") : v;
}

static const struct ws_value *first_day(const struct ws_value *days) {
    if (ws_is(days, WS_OBJECT) && days->nr > 0) return ws_get(days->members[0].value, "config");
    if (ws_is(days, WS_ARRAY) && days->nr > 0) return ws_get(days->elements[0], "config");
    return NULL;
}

static const struct ws_value *config_member(const struct migration *m, const char *name) {
    const struct ws_value *v = ws_get(ws_get(m->sim, "config"), name);
    v = blank_or(v, ws_get(m->sim, name));
    v = blank_or(v, ws_get(ws_get(m->sim, "simulation_config"), name));
    return blank_or(v, ws_get(first_day(ws_get(m->sim, "day_types")), name));
}

static const struct ws_value *config_migrated(struct migration *m) {
    static const char *const MORE[][2] = {
        {"currency", "USD"}, {"locale", "en-US"}, {"timezone", "UTC"}};
    const struct ws_value *v = ws_object_of(ws_get(m->sim, "config"));
    if (v == NULL) v = ws_object_new(m->a, NULL, 0);
    member_set(m, &v, "time_unit", unit_of(m, config_member(m, "time_unit")));
    member_set(m, &v, "start_time",
               time_padded(m, text_or(m, config_member(m, "start_time"), "00:00")));
    member_set(m, &v, "end_time",
               time_padded(m, text_or(m, config_member(m, "end_time"), "23:59")));
    for (size_t i = 0; i < 3; i++)
        if (ws_blank(ws_get(v, MORE[i][0])))
            member_set(m, &v, MORE[i][0], ws_textz(m->a, MORE[i][1]));
    return v;
}

/* --- recipes (WS-125, WS-130 f) --- */

static const struct ws_value *keys_mapped(struct migration *m, const struct ws_value *object) {
    if (!ws_is(object, WS_OBJECT)) return object;
    const struct ws_value *out = object;
    for (size_t i = 0; i < object->nr; i++) {
        struct str now = id_mapped_text(&m->objects, object->members[i].name);
        if (str_eq(now, object->members[i].name)) continue;
        struct ws_member *all = ARENA_ARRAY(m->a, struct ws_member, object->nr);
        if (all == NULL) break;
        for (size_t k = 0; k < object->nr; k++)
            all[k] = (struct ws_member){id_mapped_text(&m->objects, object->members[k].name),
                                        object->members[k].value};
        out = ws_object_new(m->a, all, object->nr);
        break;
    }
    if (out == NULL || arena_failed(m->a)) m->failed = true;
    return out;
}

static const struct ws_value *recipe_migrated(struct migration *m, const struct ws_value *v) {
    static const char *const RENAMED[][2] = {{"ingredients", "inputs"},
                                             {"equipment_required", "equipment"},
                                             {"yield", "output_quantity"},
                                             {"production_time", "process_time"}};
    struct list equipment = {NULL, 0, 0};
    if (!ws_is(v, WS_OBJECT)) return v;
    for (size_t i = 0; i < 4; i++) {
        const struct ws_value *old = ws_get(v, RENAMED[i][0]);
        if (old == NULL || ws_get(v, RENAMED[i][1]) != NULL) continue;
        member_set(m, &v, RENAMED[i][1], old);
        member_set(m, &v, RENAMED[i][0], NULL);
    }
    member_set(m, &v, "inputs", keys_mapped(m, ws_get(v, "inputs")));
    const struct ws_value *tools = ws_array_of(ws_get(v, "equipment"));
    for (size_t i = 0; tools != NULL && i < tools->nr; i++)
        list_add(m, &equipment, id_mapped(m, &m->objects, tools->elements[i]));
    if (tools != NULL) member_set(m, &v, "equipment", list_value(m, &equipment));
    return v;
}

static const struct ws_value *recipes_migrated(struct migration *m, const struct ws_value *all) {
    all = keys_mapped(m, ws_object_of(all));
    if (all == NULL || all->nr == 0) return all;
    struct ws_member *out = ARENA_ARRAY(m->a, struct ws_member, all->nr);
    for (size_t i = 0; out != NULL && i < all->nr; i++)
        out[i] =
            (struct ws_member){all->members[i].name, recipe_migrated(m, all->members[i].value)};
    const struct ws_value *v = out == NULL ? NULL : ws_object_new(m->a, out, all->nr);
    if (v == NULL) m->failed = true;
    return v;
}

/* --- world, process --- */

/* The array that counts: the new one, unless only the old one has something (WS-125). */
static const struct ws_value *array_of(const struct ws_value *now, const struct ws_value *old) {
    now = ws_array_of(now);
    old = ws_array_of(old);
    return now != NULL && (now->nr > 0 || old == NULL) ? now : old;
}

static const struct ws_value *section_of(struct migration *m, const char *name) {
    const struct ws_value *v = ws_object_of(ws_get(m->sim, name));
    if (v == NULL) v = ws_object_new(m->a, NULL, 0);
    if (v == NULL) m->failed = true;
    return v;
}

static const struct ws_value *world_migrated(struct migration *m) {
    const struct ws_value *world = section_of(m, "world");
    struct list objects = {NULL, 0, 0};
    const struct ws_value *layout = first_of(ws_get(world, "layout"), ws_get(m->sim, "layout"));
    member_set(m, &world, "layout", layout_migrated(m, layout));
    objects_migrate(m, array_of(ws_get(world, "objects"), ws_get(m->sim, "objects")), &objects);
    member_set(m, &world, "objects", list_value(m, &objects));
    return world;
}

/* Ids of things that tasks make: also known by the names of version 1.0. */
static void created_note(struct migration *m, const struct ws_value *from) {
    const struct ws_value *made = ws_array_of(ws_get(from, "add_objects"));
    const struct ws_value *one = ws_object_of(ws_get(from, "object"));
    for (size_t i = 0; made != NULL && i < made->nr; i++) {
        struct str id = ws_raw(ws_get(made->elements[i], "id"));
        if (id.n > 0 && !ws_names_has(&m->objects.names, id))
            (void)id_add(m, &m->objects, id, "object", true);
    }
    struct str id = ws_raw(ws_get(one, "id"));
    if (id.n > 0 && !ws_names_has(&m->objects.names, id))
        (void)id_add(m, &m->objects, id, "object", true);
}

static const struct ws_value *process_migrated(struct migration *m) {
    const struct ws_value *process = section_of(m, "process");
    const struct ws_value *all = array_of(ws_get(process, "tasks"), ws_get(m->sim, "tasks"));
    const struct ws_value *recipes =
        first_of(ws_get(process, "recipes"),
                 first_of(ws_get(m->sim, "recipes"), ws_get(m->sim, "production_recipes")));
    struct list tasks = {NULL, 0, 0};
    for (size_t i = 0; all != NULL && i < all->nr; i++) {
        const struct ws_value *t = all->elements[i];
        const struct ws_value *list = ws_array_of(ws_get(t, "interactions"));
        created_note(m, t);
        for (size_t j = 0; list != NULL && j < list->nr; j++) created_note(m, list->elements[j]);
        if (ws_is(t, WS_OBJECT)) (void)id_add(m, &m->tasks, ws_raw(ws_get(t, "id")), "task", false);
    }
    for (size_t i = 0; all != NULL && i < all->nr && !m->failed; i++)
        list_add(m, &tasks, task_migrated(m, all->elements[i]));
    member_set(m, &process, "tasks", list_value(m, &tasks));
    member_set(m, &process, "recipes", recipes_migrated(m, recipes));
    return process;
}

static void map_init(struct migration *m, struct id_map *map) {
    ws_names_init(&map->names, m->a);
    ws_names_init(&map->taken, m->a);
}

/* In the order in which documents are written; what is not known here follows as it was. */
static const struct ws_value *simulation_migrated(struct migration *m) {
    static const char *const OLD[] = {
        "objects",   "tasks",     "layout",   "recipes",   "actors",
        "equipment", "resources", "products", "time_unit", "production_recipes",
        "$schema"};
    const struct ws_value *v = ws_object_new(m->a, NULL, 0), *rest = m->sim;
    const struct ws_value *world = world_migrated(m), *process = process_migrated(m);
    if (v == NULL) m->failed = true;
    if (m->failed) return NULL;
    for (size_t i = 0; i < sizeof OLD / sizeof *OLD; i++) member_set(m, &rest, OLD[i], NULL);
    member_set(m, &v, "schema_version", ws_textz(m->a, "2.0"));
    member_set(m, &v, "meta", meta_migrated(m));
    member_set(m, &v, "config", config_migrated(m));
    member_set(m, &v, "world", world);
    member_set(m, &v, "process", process);
    struct ws_member *all = ARENA_ARRAY(m->a, struct ws_member, rest->nr + v->nr);
    size_t n = v->nr;
    if (all == NULL || v->nr == 0) return NULL;
    memcpy(all, v->members, n * sizeof *all);
    for (size_t i = 0; i < rest->nr; i++)
        if (ws_get_str(v, rest->members[i].name) == NULL) all[n++] = rest->members[i];
    return ws_object_new(m->a, all, n);
}

/* The members around it stay; a $schema that is not there is the first. */
static const struct ws_value *root_migrated(struct migration *m, const struct ws_value *root,
                                            const struct ws_value *sim) {
    const struct ws_value *out = ws_object_new(m->a, NULL, 0);
    if (out == NULL || root == NULL) return NULL;
    if (ws_get(root, "$schema") == NULL) member_set(m, &out, "$schema", ws_textz(m->a, SCHEMA_URI));
    struct ws_member *all = ARENA_ARRAY(m->a, struct ws_member, root->nr + 2);
    size_t n = out->nr;
    if (all == NULL) return NULL;
    if (n > 0) all[0] = out->members[0];
    for (size_t i = 0; i < root->nr; i++) all[n++] = root->members[i];
    out = ws_object_new(m->a, all, n);
    if (out != NULL) member_set(m, &out, "simulation", sim);
    return out;
}

int ws_migrate(const struct ws_doc *doc, struct arena *a, const struct ws_value **out,
               struct wopr_error *err) {
    const struct ws_value *wrapped = ws_object_of(ws_get(doc->root, "simulation"));
    const struct ws_value *root = wrapped != NULL ? doc->root : ws_object_new(a, NULL, 0);
    struct migration m = {.a = a, .sim = wrapped != NULL ? wrapped : doc->root};
    if (!ws_is(doc->root, WS_OBJECT))
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "the document is no object, so there is nothing to convert");
    m.definitions = ws_object_of(ws_get(m.sim, "type_definitions"));
    map_init(&m, &m.objects);
    map_init(&m, &m.locations);
    map_init(&m, &m.tasks);
    const struct ws_value *sim = simulation_migrated(&m);
    if (sim != NULL) root = root_migrated(&m, root, sim);
    if (m.failed || sim == NULL || root == NULL || arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to convert the document");
    *out = root;
    return 0;
}
