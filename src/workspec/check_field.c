/* check_field.c: members of the model with a value of the wrong kind (H16), by tables of the
 * model. */
#include "workspec/check_int.h"

#include <math.h>

enum field_kind { F_TEXT, F_FLAG, F_NUMBER, F_FROM_ZERO, F_FROM_ONE, F_OBJECT, F_ARRAY, F_TEXTS };
struct field {
    const char *name;
    enum field_kind kind;
    const char *words; /* F_TEXT: those that are allowed, with blanks between */
    bool needed;
};
static const char *const EXPECTED[] = {"a text",
                                       "true or false",
                                       "a number",
                                       "a number, at least 0",
                                       "a number, at least 1",
                                       "an object",
                                       "an array",
                                       "an array of texts"};
#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct field ROOT[] = {{"$schema", F_TEXT, NULL, false}};
static const struct field SIMULATION[] = {{"type_definitions", F_OBJECT, NULL, false}};
static const struct field META[] = {{"version", F_TEXT, NULL, false},
                                    {"author", F_TEXT, NULL, false},
                                    {"created_at", F_TEXT, NULL, false},
                                    {"updated_at", F_TEXT, NULL, false},
                                    {"tags", F_TEXTS, NULL, false}};
static const struct field CONFIG[] = {{"timezone", F_TEXT, NULL, false}};
static const struct field WORLD[] = {{"layout", F_OBJECT, NULL, false}};
static const struct field PROCESS[] = {{"recipes", F_OBJECT, NULL, false}};
static const struct field LAYOUT[] = {{"meta", F_OBJECT, NULL, false},
                                      {"locations", F_ARRAY, NULL, false}};
static const struct field LAYOUT_META[] = {
    {"units", F_TEXT, "meters feet pixels", false},
    {"pixels_per_unit", F_FROM_ONE, NULL, false},
    {"origin", F_TEXT, "top-left bottom-left top-right bottom-right", false},
    {"coordinate_system", F_TEXT, "2d 3d", false}};
static const struct field LOCATION[] = {{"name", F_TEXT, NULL, true},
                                        {"shape", F_OBJECT, NULL, false},
                                        {"coordinates", F_OBJECT, NULL, false},
                                        {"parent_id", F_TEXT, NULL, false},
                                        {"properties", F_OBJECT, NULL, false}};
static const struct field SHAPE[] = {{"type", F_TEXT, "rect circle polygon", true},
                                     {"x", F_NUMBER, NULL, false},
                                     {"y", F_NUMBER, NULL, false},
                                     {"width", F_FROM_ZERO, NULL, false},
                                     {"height", F_FROM_ZERO, NULL, false},
                                     {"radius", F_FROM_ZERO, NULL, false},
                                     {"points", F_ARRAY, NULL, false}};
static const struct field POINT[] = {{"x", F_NUMBER, NULL, true}, {"y", F_NUMBER, NULL, true}};
static const struct field COORDINATES[] = {
    {"x", F_NUMBER, NULL, false},         {"y", F_NUMBER, NULL, false},
    {"z", F_NUMBER, NULL, false},         {"width", F_FROM_ZERO, NULL, false},
    {"height", F_FROM_ZERO, NULL, false}, {"depth", F_FROM_ZERO, NULL, false}};
static const struct field DEFINITION[] = {{"description", F_TEXT, NULL, false},
                                          {"additional_properties", F_OBJECT, NULL, false}};
static const struct field OBJECT[] = {{"emoji", F_TEXT, NULL, false},
                                      {"location", F_TEXT, NULL, false},
                                      {"properties", F_OBJECT, NULL, false}};
static const struct field TASK[] = {
    {"emoji", F_TEXT, NULL, false},       {"location", F_TEXT, NULL, false},
    {"description", F_TEXT, NULL, false}, {"priority", F_TEXT, "low medium high critical", false},
    {"tags", F_TEXTS, NULL, false},       {"x_openwop", F_OBJECT, NULL, false}};
static const struct field ACTION[] = {{"action", F_TEXT, NULL, false},
                                      {"temporary", F_FLAG, NULL, false},
                                      {"description", F_TEXT, NULL, false}};
static const struct field RECIPE[] = {{"inputs", F_OBJECT, NULL, true},
                                      {"equipment", F_TEXTS, NULL, false},
                                      {"output_quantity", F_FROM_ZERO, NULL, false},
                                      {"process_time", F_FROM_ZERO, NULL, false}};
static const struct field ASKING[] = {{"interrupt", F_TEXT, "none approval clarification", false},
                                      {"title", F_TEXT, NULL, false},
                                      {"questions", F_ARRAY, NULL, false},
                                      {"approversList", F_TEXTS, NULL, false},
                                      {"timeoutMs", F_FROM_ONE, NULL, false}};
static const struct field QUESTION[] = {{"id", F_TEXT, NULL, true},
                                        {"question", F_TEXT, NULL, true},
                                        {"schema", F_OBJECT, NULL, false}};

static bool word_among(struct str word, const char *words) {
    struct str rest = str_c(words), head = rest, tail;
    for (; rest.n > 0; rest = tail) {
        if (!str_cut(rest, ' ', &head, &tail)) head = rest, tail = STR("");
        if (str_eq(head, word)) return true;
    }
    return false;
}

static bool texts_only(const struct ws_value *v) {
    if (!ws_is(v, WS_ARRAY)) return false;
    for (size_t i = 0; i < v->nr; i++)
        if (!ws_is(v->elements[i], WS_STRING)) return false;
    return true;
}

static bool field_good(const struct ws_value *v, const struct field *f) {
    switch (f->kind) {
    case F_TEXT:
        return ws_is(v, WS_STRING) && (f->words == NULL || word_among(ws_raw(v), f->words));
    case F_FLAG:
        return ws_is(v, WS_BOOL);
    case F_NUMBER:
        return ws_is(v, WS_NUMBER);
    case F_FROM_ZERO:
        return ws_is(v, WS_NUMBER) && v->number >= 0;
    case F_FROM_ONE:
        return ws_is(v, WS_NUMBER) && v->number >= 1;
    case F_OBJECT:
        return ws_is(v, WS_OBJECT);
    case F_ARRAY:
        return ws_is(v, WS_ARRAY);
    case F_TEXTS:
        return texts_only(v);
    }
    return false;
}

static void field_raise(struct check *c, const struct ws_value *where, struct str base,
                        struct str name, struct str expected) {
    struct str token = ws_token(c->a, name);
    size_t n = base.n + 1 + token.n;
    char *at = arena_alloc(c->a, n);
    if (at == NULL) {
        check_out_of_memory(c);
        return;
    }
    memcpy(at, base.p, base.n);
    at[base.n] = '/';
    if (token.n > 0) memcpy(at + base.n + 1, token.p, token.n);
    ws_raise(c->r, WS_H16, where, str_n(at, n),
             WS_FACTS(ws_ft("field", name), ws_ft("expected", expected)));
}

static struct str expected_of(struct check *c, const struct field *f) {
    return f->words != NULL ? arena_printf(c->a, "one of: %s", f->words) : str_c(EXPECTED[f->kind]);
}

/* Whether v is an object; its members are then looked at. */
static bool fields_good(const struct ws_value *v, const struct field *table, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct ws_value *m = ws_get(v, table[i].name);
        if (m == NULL ? table[i].needed : !field_good(m, &table[i])) return false;
    }
    return true;
}

static void fields_check(struct check *c, const struct ws_value *v, struct str base,
                         const struct field *table, size_t n) {
    for (size_t i = 0; ws_is(v, WS_OBJECT) && i < n; i++) {
        const struct ws_value *m = ws_get(v, table[i].name);
        if (m == NULL ? table[i].needed : !field_good(m, &table[i]))
            field_raise(c, m != NULL ? m : v, base, str_c(table[i].name),
                        expected_of(c, &table[i]));
    }
}
/* The base is only written when something is wrong. */
#define FIELDS(c, v, table, ...)                                                                   \
    do {                                                                                           \
        if (ws_is((v), WS_OBJECT) && !fields_good((v), (table), COUNT(table)))                     \
            fields_check((c), (v), arena_printf((c)->a, __VA_ARGS__), (table), COUNT(table));      \
    } while (0)

/* --- the layout --- */

#define LOCATIONS "/simulation/world/layout/locations"

static void check_points(struct check *c, const struct ws_value *shape, size_t i) {
    const struct ws_value *points = ws_array_of(ws_get(shape, "points"));
    for (size_t k = 0; points != NULL && k < points->nr; k++) {
        const struct ws_value *p = points->elements[k];
        FIELDS(c, p, POINT, LOCATIONS "/%zu/shape/points/%zu", i, k);
        if (!ws_is(p, WS_OBJECT))
            field_raise(c, p, arena_printf(c->a, LOCATIONS "/%zu/shape/points", i),
                        arena_printf(c->a, "%zu", k), STR("an object with numbers x and y"));
    }
}

static void check_layout(struct check *c) {
    const struct ws_value *all = ws_array_of(ws_get(c->layout, "locations"));
    FIELDS(c, c->layout, LAYOUT, "/simulation/world/layout");
    FIELDS(c, ws_get(c->layout, "meta"), LAYOUT_META, "/simulation/world/layout/meta");
    for (size_t i = 0; all != NULL && i < all->nr && !CHECK_FULL(c); i++) {
        const struct ws_value *v = all->elements[i];
        if (!ws_is(v, WS_OBJECT)) {
            field_raise(c, v, STR(LOCATIONS), arena_printf(c->a, "%zu", i),
                        STR("an object with id and name"));
            continue;
        }
        FIELDS(c, v, LOCATION, LOCATIONS "/%zu", i);
        FIELDS(c, ws_get(v, "shape"), SHAPE, LOCATIONS "/%zu/shape", i);
        FIELDS(c, ws_get(v, "coordinates"), COORDINATES, LOCATIONS "/%zu/coordinates", i);
        check_points(c, ws_object_of(ws_get(v, "shape")), i);
    }
}

/* --- definitions, recipes --- */

static void check_definition_fields(struct check *c) {
    for (size_t i = 0; c->definitions != NULL && i < c->definitions->nr && !CHECK_FULL(c); i++) {
        const struct ws_member *m = &c->definitions->members[i];
        struct str name = ws_token(c->a, m->name);
        FIELDS(c, m->value, DEFINITION, "/simulation/type_definitions/" STR_FMT, STR_ARG(name));
    }
}

static void check_inputs(struct check *c, struct str recipe, const struct ws_value *inputs) {
    struct field amount = {.kind = F_FROM_ZERO};
    for (size_t k = 0; inputs != NULL && k < inputs->nr && !CHECK_FULL(c); k++)
        if (!field_good(inputs->members[k].value, &amount))
            field_raise(c, inputs->members[k].value,
                        arena_printf(c->a, "/simulation/process/recipes/" STR_FMT "/inputs",
                                     STR_ARG(recipe)),
                        inputs->members[k].name, str_c(EXPECTED[F_FROM_ZERO]));
}

static void check_recipe_fields(struct check *c) {
    const struct ws_value *recipes = ws_object_of(ws_get(c->process, "recipes"));
    for (size_t i = 0; recipes != NULL && i < recipes->nr && !CHECK_FULL(c); i++) {
        const struct ws_member *m = &recipes->members[i];
        struct str name = ws_token(c->a, m->name);
        if (!ws_is(m->value, WS_OBJECT)) {
            field_raise(c, m->value, STR("/simulation/process/recipes"), m->name,
                        STR("an object with inputs"));
            continue;
        }
        FIELDS(c, m->value, RECIPE, "/simulation/process/recipes/" STR_FMT, STR_ARG(name));
        check_inputs(c, name, ws_object_of(ws_get(m->value, "inputs")));
    }
}

/* --- objects, tasks --- */

/* What the host could not ask would fail its run when the task comes. */
static void check_question(struct check *c, size_t i, size_t k, const struct ws_value *q,
                           struct ws_names *ids) {
    struct str id = ws_raw(ws_get(q, "id")), at = arena_printf(c->a, "/x_openwop/questions/%zu", k);
    if (at.p == NULL) return;
    if (ws_is(ws_get(q, "id"), WS_STRING) && (id.n == 0 || ws_names_has(ids, id)))
        field_raise(c, ws_get(q, "id"), at_task(c, i, at.p), STR("id"),
                    STR("a text that no other question of the task has"));
    if (ws_is(ws_get(q, "question"), WS_STRING) && ws_blank(ws_get(q, "question")))
        field_raise(c, ws_get(q, "question"), at_task(c, i, at.p), STR("question"),
                    STR("a question"));
    if (id.n > 0 && !ws_names_put(ids, 0, id, 1)) check_out_of_memory(c);
}

static void check_asking(struct check *c, size_t i, const struct ws_value *v) {
    const struct ws_value *questions = ws_array_of(ws_get(v, "questions"));
    struct ws_names ids;
    const struct ws_value *timeout = ws_get(v, "timeoutMs");
    if (!ws_is(v, WS_OBJECT)) return;
    ws_names_init(&ids, c->a);
    FIELDS(c, v, ASKING, "%s/%zu/x_openwop", c->at_tasks, i);
    if (ws_is(timeout, WS_NUMBER) && timeout->number >= 1 &&
        timeout->number != floor(timeout->number))
        field_raise(c, timeout, at_task(c, i, "/x_openwop"), STR("timeoutMs"),
                    STR("a whole number of milliseconds"));
    if (str_eqc(ws_raw(ws_get(v, "interrupt")), "clarification") &&
        (questions == NULL || questions->nr == 0))
        field_raise(c, v, at_task(c, i, "/x_openwop"), STR("questions"),
                    STR("an array with at least one question"));
    for (size_t k = 0; questions != NULL && k < questions->nr; k++) {
        const struct ws_value *q = questions->elements[k];
        FIELDS(c, q, QUESTION, "%s/%zu/x_openwop/questions/%zu", c->at_tasks, i, k);
        if (!ws_is(q, WS_OBJECT))
            field_raise(c, q, at_task(c, i, "/x_openwop/questions"), arena_printf(c->a, "%zu", k),
                        STR("an object with id and question"));
        else check_question(c, i, k, q, &ids);
    }
}

static void check_task_fields(struct check *c, size_t i) {
    const struct check_task *t = &c->task[i];
    FIELDS(c, t->value, TASK, "%s/%zu", c->at_tasks, i);
    check_asking(c, i, ws_get(t->value, "x_openwop"));
    for (size_t j = 0; t->actions != NULL && j < t->actions->nr; j++) {
        const struct ws_value *v = t->actions->elements[j];
        FIELDS(c, v, ACTION, "%s/%zu/interactions/%zu", c->at_tasks, i, j);
        if (str_eqc(check_action(v), "create"))
            FIELDS(c, ws_get(v, "object"), OBJECT, "%s/%zu/interactions/%zu/object", c->at_tasks, i,
                   j);
    }
}

void check_fields(struct check *c) {
    FIELDS(c, c->root, ROOT, "%s", "");
    FIELDS(c, ws_get(c->sim, "meta"), META, "/simulation/meta");
    FIELDS(c, c->config, CONFIG, "/simulation/config");
    FIELDS(c, c->world, WORLD, "/simulation/world");
    check_layout(c);
    for (size_t i = 0; i < c->objects->nr && !CHECK_FULL(c); i++)
        FIELDS(c, c->objects->elements[i], OBJECT, "%s/%zu", c->at_objects, i);
    for (size_t i = 0; i < c->tasks_nr && !CHECK_FULL(c); i++) check_task_fields(c, i);
    FIELDS(c, c->process, PROCESS, "/simulation/process");
    check_recipe_fields(c);
    FIELDS(c, c->sim, SIMULATION, "/simulation");
    check_definition_fields(c);
}
