/* check_object.c: locations, objects, and what tasks create: phases 6 to 8; see check_int.h. */
#include "base/vec.h"
#include "workspec/check_int.h"

#include <math.h>

void check_locations(struct check *c) {
    const struct ws_value *all = ws_array_of(ws_get(c->layout, "locations"));
    for (size_t i = 0; all != NULL && i < all->nr; i++) {
        struct str id = ws_str(ws_get(ws_object_of(all->elements[i]), "id"));
        if (id.n == 0) continue;
        if (!ws_names_put(&c->locations, 0, id, (uint32_t)i)) check_out_of_memory(c);
    }
    c->locations_given = c->host ? all != NULL : c->locations.nr > 0;
}

/* R24, R36, H19. */
void check_location_ref(struct check *c, const struct ws_value *v, enum ws_code code,
                        struct str instance, const struct ws_fact *facts) {
    if (ws_blank(v) || !c->locations_given || ws_names_has(&c->locations, ws_str(v))) return;
    ws_raise(c->r, code, v, instance, facts);
}

static struct str check_object_below(struct check *c, const struct check_where *w,
                                     const char *member) {
    return arena_printf(c->a, STR_FMT "/%s", STR_ARG(w->base), member);
}

/* Two facts of an object, its type, and those of where it is. */
struct facts_buf {
    struct ws_fact v[8];
};
static const struct ws_fact *facts_with(struct facts_buf *b, const struct check_where *w,
                                        struct ws_fact one, struct ws_fact two,
                                        struct ws_fact three) {
    size_t n = 0;
    b->v[n++] = one;
    if (two.name != NULL) b->v[n++] = two;
    if (three.name != NULL) b->v[n++] = three;
    for (const struct ws_fact *f = w->more; f->name != NULL; f++) b->v[n++] = *f;
    b->v[n].name = NULL;
    return b->v;
}
#define NO_FACT ((struct ws_fact){.name = NULL})

static struct str missing_list(struct check *c, bool id, bool type, bool name) {
    return arena_printf(c->a, "[%s%s%s%s%s]", id ? "\"id\"" : "", id && (type || name) ? "," : "",
                        type ? "\"type\"" : "", type && name ? "," : "", name ? "\"name\"" : "");
}

/* R16. */
bool check_identity_complete(struct check *c, const struct ws_value *v, const struct check_where *w,
                             struct ws_fact index) {
    struct facts_buf b;
    bool id = ws_raw(ws_get(v, "id")).n == 0, type = ws_blank(ws_get(v, "type"));
    bool name = ws_blank(ws_get(v, "name"));
    if (!id && !type && !name) return true;
    struct ws_fact missing = ws_fj("missing", missing_list(c, id, type, name));
    ws_raise(c->r, WS_R16, v, w->base,
             index.name != NULL ? facts_with(&b, w, index, missing, NO_FACT)
                                : facts_with(&b, w, missing, NO_FACT, NO_FACT));
    return false;
}

static const char *alias_of(struct str type) {
    if (str_eqc(type, "material") || str_eqc(type, "ingredient")) return "resource";
    return str_eqc(type, "tool") ? "equipment" : NULL;
}

static bool check_object_reserved(struct str type) {
    return str_eqc(type, "timeline_actors") || str_eqc(type, "any") || str_eqc(type, "unknown") ||
           (type.n > 0 && type.p[0] == '_');
}

static void check_object_id(struct check *c, const struct ws_value *v,
                            const struct check_where *w) {
    struct facts_buf b;
    const struct ws_value *idv = ws_get(v, "id");
    struct str id = ws_raw(idv), type = ws_str(ws_get(v, "type")), space;
    struct ws_fact object = ws_ft("object_id", id), typed = ws_ft("type", type);
    if (!ws_object_id(id, &space))
        ws_raise(c->r, WS_R19, idv, check_object_below(c, w, "id"),
                 facts_with(&b, w, object, NO_FACT, NO_FACT));
    else if (space.n > 0 && !str_eq(space, type))
        ws_raise(c->r, WS_R20, idv, check_object_below(c, w, "id"),
                 facts_with(&b, w, object, ws_ft("namespace", space), typed));
}

static void check_type(struct check *c, const struct ws_value *v, const struct check_where *w) {
    struct facts_buf b;
    const struct ws_value *typev = ws_get(v, "type");
    struct str type = ws_str(typev);
    if (ws_base_builtin(type) != WS_NO_BASE || ws_is(ws_get_str(c->definitions, type), WS_OBJECT))
        return;
    ws_raise(c->r, WS_R22, typev, check_object_below(c, w, "type"),
             facts_with(&b, w, ws_ft("object_id", ws_raw(ws_get(v, "id"))), ws_ft("type", type),
                        NO_FACT));
}

/* R17, R18. */
static void check_type_name(struct check *c, const struct ws_value *v,
                            const struct check_where *w) {
    struct facts_buf b;
    const struct ws_value *typev = ws_get(v, "type");
    struct str type = ws_str(typev);
    struct ws_fact object = ws_ft("object_id", ws_raw(ws_get(v, "id"))),
                   typed = ws_ft("type", type);
    if (check_object_reserved(type))
        ws_raise(c->r, WS_R17, typev, check_object_below(c, w, "type"),
                 facts_with(&b, w, object, typed, NO_FACT));
    const char *alias = alias_of(type);
    if (alias != NULL)
        ws_raise(c->r, WS_R18, typev, check_object_below(c, w, "type"),
                 facts_with(&b, w, object, typed, ws_fz("suggested_type", alias)));
}

void check_identity(struct check *c, const struct ws_value *v, const struct check_where *w) {
    check_type_name(c, v, w);
    check_object_id(c, v, w);
    check_type(c, v, w);
}

/* R23: profile host has H11 for it. */
static void check_definition(struct check *c, struct str type) {
    const struct ws_value *d = ws_get_str(c->definitions, type);
    if (c->host || !ws_is(d, WS_OBJECT) || !ws_blank(ws_get(d, "extends"))) return;
    struct str name = ws_token(c->a, type);
    ws_raise(c->r, WS_R23, d,
             arena_printf(c->a, "/simulation/type_definitions/" STR_FMT, STR_ARG(name)),
             WS_FACTS(ws_ft("type", type)));
}

/* R25, R26. */
static void check_traits(struct check *c, size_t i, const struct ws_value *v) {
    struct str id = ws_raw(ws_get(v, "id")), type = ws_str(ws_get(v, "type"));
    enum ws_base b = check_base(c, type);
    const struct ws_value *bag = ws_object_of(ws_get(v, "properties"));
    const struct ws_value *quantity = ws_get(bag, "quantity"), *state = ws_get(bag, "state");
    if (ws_quantifiable(b) && !(ws_is(quantity, WS_NUMBER) && quantity->number >= 0))
        ws_raise(
            c->r, WS_R25, quantity != NULL ? quantity : v, at_object(c, i, "/properties/quantity"),
            WS_FACTS(ws_ft("object_id", id), ws_ft("type", type), ws_fv("quantity", quantity)));
    if (ws_stateful(b) && ws_blank(state))
        ws_raise(c->r, WS_R26, state != NULL ? state : v, at_object(c, i, "/properties/state"),
                 WS_FACTS(ws_ft("object_id", id), ws_ft("type", type)));
}

static void object_register(struct check *c, struct str id, struct str type,
                            const struct ws_value *v) {
    uint32_t at;
    if (!ws_names_get(&c->object_ids, 0, id, &at)) {
        at = (uint32_t)c->registered_nr++;
        if (!ws_names_put(&c->object_ids, 0, id, at)) check_out_of_memory(c);
    }
    c->registered[at] = (struct check_object){type, v};
}

static void check_object(struct check *c, size_t i, const struct ws_value *v) {
    struct ws_fact none = NO_FACT;
    struct check_where w = {at_object(c, i, ""), &none};
    if (!ws_is(v, WS_OBJECT)) {
        ws_raise(c->r, WS_R15, v, w.base, WS_FACTS(ws_fn("index", (double)i)));
        return;
    }
    if (!check_identity_complete(c, v, &w, ws_fn("object_index", (double)i))) return;
    const struct ws_value *idv = ws_get(v, "id");
    struct str id = ws_raw(idv), type = ws_str(ws_get(v, "type"));
    check_type_name(c, v, &w);
    check_object_id(c, v, &w);
    if (ws_names_has(&c->object_ids, id))
        ws_raise(c->r, WS_R21, idv, at_object(c, i, "/id"), WS_FACTS(ws_ft("object_id", id)));
    check_type(c, v, &w);
    check_definition(c, type);
    const struct ws_value *place = ws_get(v, "location");
    check_location_ref(c, place, WS_R24, at_object(c, i, "/location"),
                       WS_FACTS(ws_ft("object_id", id), ws_fv("location", place)));
    check_traits(c, i, v);
    object_register(c, id, type, v);
}

void check_objects(struct check *c) {
    c->registered = ARENA_ARRAY(c->a, struct check_object, c->objects->nr);
    if (c->registered == NULL) check_out_of_memory(c);
    for (size_t i = 0; i < c->objects->nr && !CHECK_FULL(c); i++)
        check_object(c, i, c->objects->elements[i]);
}

static void created_add(struct check *c, const struct ws_value *interaction) {
    const struct ws_value *object = ws_object_of(ws_get(interaction, "object"));
    struct str id = ws_str(ws_get(object, "id"));
    if (object == NULL || id.n == 0 || !str_eqc(check_action(interaction), "create") ||
        ws_names_has(&c->created, id))
        return;
    if (VEC_ROOM_IN(c->a, c->first_created, c->created_nr, c->created_cap, 16) != 0 ||
        !ws_names_put(&c->created, 0, id, (uint32_t)c->created_nr)) {
        check_out_of_memory(c);
        return;
    }
    c->first_created[c->created_nr++] = object;
}

void check_created(struct check *c) {
    for (size_t i = 0; i < c->tasks->nr; i++) {
        const struct ws_value *actions = ws_array_of(ws_get(c->tasks->elements[i], "interactions"));
        for (size_t j = 0; actions != NULL && j < actions->nr; j++)
            created_add(c, actions->elements[j]);
    }
}
