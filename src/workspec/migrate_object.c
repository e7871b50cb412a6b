/* migrate_object.c: objects and the layout (WS-122, WS-126, WS-127). */
#include "workspec/migrate_int.h"
#include "workspec/validate.h"

static bool lower_eq(struct str s, const char *word) { return str_eq_nocase(s, str_c(word)); }

/* WS-126; a type that the document defines keeps its name. */
static const char *type_alias(const struct migration *m, struct str type) {
    static const struct {
        const char *old, *now;
    } ALIASES[] = {{"person", "actor"},        {"human", "actor"},       {"worker", "actor"},
                   {"employee", "actor"},      {"staff", "actor"},       {"operator", "actor"},
                   {"tool", "equipment"},      {"machine", "equipment"}, {"device", "equipment"},
                   {"robot", "equipment"},     {"material", "resource"}, {"ingredient", "resource"},
                   {"consumable", "resource"}, {"input", "resource"},    {"output", "product"},
                   {"item", "product"},        {"good", "product"}};
    if (ws_get_str(m->definitions, type) != NULL) return NULL;
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (lower_eq(type, ALIASES[i].old)) return ALIASES[i].now;
    return NULL;
}

static struct str type_of(const struct migration *m, const struct ws_value *object) {
    struct str type = ws_str(ws_get(object, "type"));
    const char *alias = type_alias(m, type);
    return alias != NULL ? str_c(alias) : type;
}

/* What the type needs and the old document had no place for. */
static void traits_fill(struct migration *m, const struct ws_value **bag, struct str type) {
    enum ws_base b = ws_base_of(m->definitions, type);
    if (ws_quantifiable(b) && ws_get(*bag, "quantity") == NULL)
        member_set(m, bag, "quantity", ws_number(m->a, 0));
    if (ws_stateful(b) && ws_blank(ws_get(*bag, "state")))
        member_set(m, bag, "state", ws_textz(m->a, "available"));
}

/* A member of the bag moves up when the top has none. */
static void bag_raise(struct migration *m, const struct ws_value **object,
                      const struct ws_value **bag, const char *name) {
    const struct ws_value *v = ws_get(*bag, name);
    if (!ws_blank(ws_get(*object, name)) || ws_blank(v)) return;
    member_set(m, object, name, v);
    member_set(m, bag, name, NULL);
}

const struct ws_value *object_migrated(struct migration *m, const struct ws_value *object,
                                       struct str id) {
    const struct ws_value *bag = ws_object_of(ws_get(object, "properties"));
    struct str type = type_of(m, object), old = ws_raw(ws_get(object, "id"));
    if (bag == NULL) bag = ws_object_new(m->a, NULL, 0);
    if (bag == NULL) m->failed = true;
    member_set(m, &object, "id", ws_text(m->a, id));
    if (type.n > 0) member_set(m, &object, "type", ws_text(m->a, type));
    if (ws_blank(ws_get(object, "name"))) {
        const struct ws_value *name = ws_get(bag, "role");
        if (ws_blank(name)) name = ws_get(bag, "name");
        member_set(m, &object, "name", ws_blank(name) ? ws_text(m->a, old) : name);
    }
    bag_raise(m, &object, &bag, "emoji");
    bag_raise(m, &object, &bag, "location");
    member_set(m, &object, "location", id_mapped(m, &m->locations, ws_get(object, "location")));
    traits_fill(m, &bag, type);
    member_set(m, &object, "properties", bag);
    return object;
}

/* --- arrays by kind (WS-122) --- */

static const struct {
    const char *array, *type, *member, *from, *other; /* member of the bag: from, or other */
} KINDS[] = {{"actors", "actor", NULL, NULL, NULL},
             {"equipment", "equipment", "state", "initial_state", "state"},
             {"resources", "resource", "quantity", "starting_stock", "quantity"},
             {"products", "product", "quantity", "starting_stock", "quantity"}};

static const struct ws_value *entity_object(struct migration *m, const struct ws_value *e,
                                            size_t kind) {
    const struct ws_value *bag = e, *object = ws_object_new(m->a, NULL, 0), *name;
    name = ws_get(e, kind == 0 ? "role" : "name");
    if (ws_blank(name)) name = ws_get(e, "name");
    if (ws_blank(name)) name = ws_get(e, "id");
    if (object == NULL) {
        m->failed = true;
        return NULL;
    }
    member_set(m, &object, "id", ws_get(e, "id"));
    member_set(m, &object, "type", ws_textz(m->a, KINDS[kind].type));
    member_set(m, &object, "name", name);
    if (KINDS[kind].member != NULL) {
        const struct ws_value *v =
            first_of(ws_get(e, KINDS[kind].from), ws_get(e, KINDS[kind].other));
        member_set(m, &bag, KINDS[kind].member, v);
    }
    member_set(m, &object, "properties", bag);
    return object;
}

static void entities_collect(struct migration *m, struct list *out) {
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        const struct ws_value *all = ws_array_of(ws_get(m->sim, KINDS[k].array));
        for (size_t i = 0; all != NULL && i < all->nr; i++)
            if (!ws_blank(ws_get(all->elements[i], "id")))
                list_add(m, out, entity_object(m, all->elements[i], k));
    }
}

/* old: the array of objects, NULL without one: then the arrays by kind. */
void objects_migrate(struct migration *m, const struct ws_value *old, struct list *out) {
    struct list all = {NULL, 0, 0};
    if (old == NULL) entities_collect(m, &all);
    for (size_t i = 0; old != NULL && i < old->nr; i++) list_add(m, &all, old->elements[i]);
    for (size_t i = 0; i < all.nr && !m->failed; i++) {
        const struct ws_value *v = all.v[i];
        if (!ws_is(v, WS_OBJECT)) {
            list_add(m, out, v);
            continue;
        }
        struct str type = type_of(m, v), id = ws_raw(ws_get(v, "id"));
        const char *kind = ws_plain_id(type) ? arena_cstr(m->a, type) : "object";
        if (kind == NULL) m->failed = true;
        else list_add(m, out, object_migrated(m, v, id_add(m, &m->objects, id, kind, true)));
    }
}

/* --- layout --- */

static const struct ws_value *location_migrated(struct migration *m, const struct ws_value *v,
                                                struct str id) {
    if (!ws_is(v, WS_OBJECT)) return v;
    if (ws_blank(ws_get(v, "name"))) member_set(m, &v, "name", ws_text(m->a, id));
    member_set(m, &v, "id", ws_text(m->a, id_add(m, &m->locations, id, "location", false)));
    return v;
}

const struct ws_value *layout_migrated(struct migration *m, const struct ws_value *layout) {
    const struct ws_value *all = ws_array_of(ws_get(layout, "locations"));
    const struct ws_value *areas = ws_object_of(ws_get(layout, "areas"));
    struct list out = {NULL, 0, 0};
    if (!ws_is(layout, WS_OBJECT) || (all == NULL && areas == NULL)) return layout;
    for (size_t i = 0; all != NULL && i < all->nr; i++)
        list_add(m, &out,
                 location_migrated(m, all->elements[i], ws_raw(ws_get(all->elements[i], "id"))));
    for (size_t i = 0; areas != NULL && i < areas->nr; i++)
        list_add(m, &out, location_migrated(m, areas->members[i].value, areas->members[i].name));
    for (size_t i = 0; i < out.nr; i++) {
        const struct ws_value *v = out.v[i];
        if (!ws_is(v, WS_OBJECT)) continue;
        member_set(m, &v, "parent_id", id_mapped(m, &m->locations, ws_get(v, "parent_id")));
        out.v[i] = v;
    }
    member_set(m, &layout, "locations", list_value(m, &out));
    member_set(m, &layout, "areas", NULL);
    return layout;
}
