/*
 * lint_shape.c: checks a value against its schema and reports all differences, with the allowed and
 * the closest values.  It knows the part of JSON Schema that types.h names; the reader of the value
 * checks the rest.  A schema is parsed once per check, however many values it describes.
 */
#include "domain/lint_int.h"

#include <stdio.h>

enum {
    SHAPE_DEPTH_MAX = 32, /* of inspected values */
    OF_INTEGER = 1 << (JSON_OBJECT + 1),
    SHOWN_MAX = 200 /* bytes of a list of choices in a message */
};

struct shape {
    unsigned types; /* 1 << enum json_type, OF_INTEGER; 0: any */
    struct json_members members;
    struct str others; /* raw additionalProperties; NONE: anything */
    bool closed;
    struct json_elements needs, choices, any_of, all_of, one_of;
    struct str items, names;
    double min, max;
    int64_t length_min, items_min; /* 0: no bound */
    bool has_min, has_max;
    struct str *choice_texts; /* as they are shown: strings without quotes */
};

/* --- reading a schema --- */

static unsigned type_bit(struct str name) {
    static const struct {
        const char *name;
        unsigned bit;
    } TYPES[] = {{"null", 1 << JSON_NULL},     {"boolean", 1 << JSON_BOOL},
                 {"number", 1 << JSON_NUMBER}, {"string", 1 << JSON_STRING},
                 {"array", 1 << JSON_ARRAY},   {"object", 1 << JSON_OBJECT},
                 {"integer", OF_INTEGER}};
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++)
        if (str_eqc(name, TYPES[i].name)) return TYPES[i].bit;
    return 0;
}

static struct json_elements list_get(struct lint *l, struct str object, const char *key) {
    struct json_elements el = {0};
    struct str raw = json_get(object, key);
    if (raw.p != NULL && json_type_of(raw) == JSON_ARRAY &&
        json_elements(raw, l->a, &el, NULL) != 0)
        l->no_memory = true;
    return el;
}

static void types_read(struct lint *l, struct str schema, struct shape *s) {
    struct str raw = json_get(schema, "type");
    if (raw.p != NULL && json_type_of(raw) == JSON_STRING)
        s->types = type_bit(json_string(raw, l->a));
    struct json_elements el = list_get(l, schema, "type");
    for (size_t i = 0; i < el.n; i++) s->types |= type_bit(json_string(el.v[i], l->a));
}

static void choices_read(struct lint *l, struct str schema, struct shape *s) {
    struct str constant = json_get(schema, "const");
    s->choices = list_get(l, schema, "enum");
    if (constant.p != NULL && (s->choices.v = ARENA_ARRAY(l->a, struct str, 1)) != NULL) {
        s->choices.v[0] = constant;
        s->choices.n = 1;
    }
    s->choice_texts = ARENA_ARRAY(l->a, struct str, s->choices.n);
    for (size_t i = 0; s->choice_texts != NULL && i < s->choices.n; i++) {
        struct str text = json_string(s->choices.v[i], l->a);
        s->choice_texts[i] = text.p != NULL ? text : s->choices.v[i];
    }
}

static void shape_read(struct lint *l, struct str schema, struct shape *s) {
    struct str members = json_get(schema, "properties");
    bool open = true;
    types_read(l, schema, s);
    choices_read(l, schema, s);
    if (members.p != NULL && json_members(members, l->a, &s->members, NULL) != 0)
        l->no_memory = true;
    s->others = json_get(schema, "additionalProperties");
    s->closed = json_bool(s->others, &open) && !open;
    s->needs = list_get(l, schema, "required");
    s->any_of = list_get(l, schema, "anyOf");
    s->all_of = list_get(l, schema, "allOf");
    s->one_of = list_get(l, schema, "oneOf");
    s->items = json_get(schema, "items");
    s->names = lint_text(l, schema, "x-names");
    s->has_min = json_double(json_get(schema, "minimum"), &s->min);
    s->has_max = json_double(json_get(schema, "maximum"), &s->max);
    (void)json_int(json_get(schema, "minLength"), &s->length_min);
    (void)json_int(json_get(schema, "minItems"), &s->items_min);
}

static const struct shape *shape_of(struct lint *l, struct str schema) {
    struct str place = str_n((const char *)&schema.p, sizeof schema.p);
    struct shape *s = map_get(l->shapes, place);
    if (s != NULL) return s;
    s = ARENA_NEW(l->a, struct shape);
    if (s == NULL) {
        l->no_memory = true;
        return NULL;
    }
    shape_read(l, schema, s);
    lint_put(l, l->shapes, place, s);
    return s;
}

/* What "$ref": "#/..." names, a few steps far; NONE for documents that we do not have. */
static struct str schema_resolve(struct lint *l, struct str schema, struct str root) {
    for (int i = 0; i < 4; i++) {
        struct str ref = lint_text(l, schema, "$ref");
        if (ref.p == NULL) return schema;
        if (!str_starts(ref, STR("#/"))) return STR_NONE;
        schema = json_pointer_get(root, str_n(ref.p + 1, ref.n - 1), l->a);
    }
    return STR_NONE;
}

static struct str member_schema(const struct shape *s, struct str key) {
    for (size_t i = 0; i < s->members.n; i++)
        if (str_eq(s->members.v[i].key, key)) return s->members.v[i].raw;
    return STR_NONE;
}

struct str lint_shape_member(struct lint *l, struct str schema, struct str key) {
    const struct shape *s = schema.n > 0 ? shape_of(l, schema) : NULL;
    return s != NULL ? member_schema(s, key) : STR_NONE;
}

bool lint_shape_closed(struct lint *l, struct str schema) {
    const struct shape *s = schema.n > 0 ? shape_of(l, schema) : NULL;
    return s != NULL && s->closed;
}

void lint_shape_near(struct lint *l, struct str schema, struct near *n) {
    const struct shape *s = schema.n > 0 ? shape_of(l, schema) : NULL;
    for (size_t i = 0; s != NULL && i < s->members.n; i++) lint_try(l, n, s->members.v[i].key);
}

/* --- one value --- */

static const char *types_named(unsigned types, char out[SHOWN_MAX]) {
    static const struct {
        unsigned bit;
        const char *name;
    } NAMES[] = {{1 << JSON_STRING, "a text"},    {OF_INTEGER, "a whole number"},
                 {1 << JSON_NUMBER, "a number"},  {1 << JSON_BOOL, "true or false"},
                 {1 << JSON_OBJECT, "an object"}, {1 << JSON_ARRAY, "a list"},
                 {1 << JSON_NULL, "null"}};
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (types & NAMES[i].bit)
            n += (size_t)snprintf(out + n, SHOWN_MAX - n, "%s%s", n > 0 ? " or " : "",
                                  NAMES[i].name);
    return out;
}

static bool type_check(struct lint *l, struct str value, const struct shape *s) {
    struct lint_more more = {.value = value};
    char named[SHOWN_MAX];
    int64_t whole;
    unsigned bit = 1u << json_type_of(value);
    if (s->types == 0 || s->types & bit) return true;
    if (s->types & OF_INTEGER && json_int(value, &whole)) return true;
    lint_tell(l, true, NULL, &more, "must be %s", types_named(s->types, named));
    return false;
}

static void choice_check(struct lint *l, struct str value, const struct shape *s) {
    struct near n;
    char list[SHOWN_MAX] = "";
    struct str text = json_string(value, l->a);
    if (s->choices.n == 0 || s->choice_texts == NULL) return;
    near_init(&n, text);
    for (size_t i = 0; i < s->choices.n; i++) {
        size_t at = strlen(list);
        if (json_equal(value, s->choices.v[i], l->a)) return;
        lint_try(l, &n, s->choice_texts[i]);
        (void)snprintf(list + at, sizeof list - at, "%s%.*s", i > 0 ? ", " : "",
                       LINT_SHOWN(s->choice_texts[i]));
    }
    struct lint_more more = {.value = value,
                             .choices = s->choice_texts,
                             .choices_nr = s->choices.n,
                             .nearest = near_best(&n)};
    lint_tell(l, true, NULL, &more, "must be %s%s", s->choices.n > 1 ? "one of: " : "", list);
}

static void bounds_check(struct lint *l, struct str value, const struct shape *s) {
    struct lint_more more = {.value = value};
    double d = 0;
    enum json_type t = json_type_of(value);
    if (t == JSON_NUMBER && json_double(value, &d)) {
        if (s->has_min && d < s->min)
            lint_tell(l, true, NULL, &more, "must be at least %.15g", s->min);
        if (s->has_max && d > s->max)
            lint_tell(l, true, NULL, &more, "must be at most %.15g", s->max);
    }
    if (t == JSON_STRING && s->length_min > 0 && value.n <= 2)
        lint_tell(l, true, NULL, &more, "must not be empty");
    if (t == JSON_STRING && str_eqc(s->names, "variable"))
        lint_variable(l, json_string(value, l->a), NULL);
}

/* --- objects --- */

static void shape_check(struct lint *l, struct str value, const struct lint_shape *in, int depth);

static void needs_check(struct lint *l, struct str value, const struct lint_shape *in,
                        const struct json_elements *needs) {
    for (size_t i = 0; i < needs->n; i++) {
        struct str name = json_string(needs->v[i], l->a);
        const char *key = name.p != NULL ? arena_cstr(l->a, name) : NULL;
        if (key == NULL) l->no_memory = true;
        else if (json_get(value, key).p == NULL && json_get(in->elsewhere, key).p == NULL)
            lint_tell(l, true, NULL, NULL, "\"%s\" is needed here%s%s", key,
                      in->elsewhere_is != NULL ? " or " : "",
                      in->elsewhere_is != NULL ? in->elsewhere_is : "");
    }
}

/* anyOf of nothing but required: one of the groups must be there. */
static void any_of_check(struct lint *l, struct str value, const struct lint_shape *in,
                         const struct shape *s) {
    char list[SHOWN_MAX] = "";
    bool there = s->any_of.n == 0;
    for (size_t i = 0; i < s->any_of.n && !there; i++) {
        struct json_elements names = list_get(l, s->any_of.v[i], "required");
        there = true;
        for (size_t k = 0; k < names.n; k++) {
            struct str name = json_string(names.v[k], l->a);
            const char *key = name.p != NULL ? arena_cstr(l->a, name) : NULL;
            size_t at = strlen(list);
            if (key == NULL) continue;
            there =
                there && (json_get(value, key).p != NULL || json_get(in->elsewhere, key).p != NULL);
            (void)snprintf(list + at, sizeof list - at, "%s\"%s\"", at > 0 ? " or " : "", key);
        }
    }
    if (!there)
        lint_tell(l, true, NULL, NULL, "%s is needed here%s%s", list,
                  in->elsewhere_is != NULL ? " or " : "",
                  in->elsewhere_is != NULL ? in->elsewhere_is : "");
}

static void member_unknown(struct lint *l, const struct json_member *m, const struct lint_shape *in,
                           const struct shape *s) {
    struct near n;
    near_init(&n, m->key);
    for (size_t i = 0; i < s->members.n; i++) lint_try(l, &n, s->members.v[i].key);
    struct lint_more more = {.value = m->raw, .nearest = near_best(&n)};
    bool error = !in->ignores || more.nearest.n > 0;
    lint_tell(l, error, NULL, &more, "\"%.*s\" means nothing here%s", LINT_SHOWN(m->key),
              error ? "" : "; it is ignored");
}

/* allOf of if (members that are constants) and then. */
static void cases_check(struct lint *l, struct str value, const struct lint_shape *in,
                        const struct shape *s, int depth) {
    for (size_t i = 0; i < s->all_of.n; i++) {
        struct json_members conditions;
        struct lint_shape then = *in;
        bool holds = true;
        struct str when = json_get(json_get(s->all_of.v[i], "if"), "properties");
        then.schema = json_get(s->all_of.v[i], "then");
        if (when.p == NULL || then.schema.p == NULL) continue;
        if (json_members(when, l->a, &conditions, NULL) != 0) continue;
        for (size_t k = 0; k < conditions.n; k++) {
            const char *key = arena_cstr(l->a, conditions.v[k].key);
            struct str is = key != NULL ? json_get(value, key) : STR_NONE;
            struct str constant = json_get(conditions.v[k].raw, "const");
            holds = holds && is.p != NULL && constant.p != NULL && json_equal(is, constant, l->a);
        }
        if (holds) shape_check(l, value, &then, depth + 1);
    }
}

static void object_check(struct lint *l, struct str value, const struct lint_shape *in,
                         const struct shape *s, int depth) {
    struct json_members m;
    if (json_members(value, l->a, &m, NULL) != 0) {
        l->no_memory = true;
        return;
    }
    needs_check(l, value, in, &s->needs);
    any_of_check(l, value, in, s);
    for (size_t i = 0; i < m.n && !lint_full(l); i++) {
        struct lint_shape deeper = {
            .schema = member_schema(s, m.v[i].key), .root = in->root, .ignores = in->ignores};
        size_t mark = lint_enter(l, m.v[i].key);
        if (deeper.schema.p == NULL && s->closed) member_unknown(l, &m.v[i], in, s);
        if (deeper.schema.p == NULL) deeper.schema = s->others;
        shape_check(l, m.v[i].raw, &deeper, depth + 1);
        lint_leave(l, mark);
    }
    cases_check(l, value, in, s, depth);
}

/* oneOf objects that a constant member tells apart: the one whose constant it is. */
static struct str variant_choose(struct lint *l, struct str value, const struct shape *s) {
    static const char TELLS[] = "type";
    struct str *names = ARENA_ARRAY(l->a, struct str, s->one_of.n);
    struct str is = json_get(value, TELLS);
    for (size_t i = 0; names != NULL && i < s->one_of.n; i++) {
        struct str constant =
            json_get(json_get(json_get(s->one_of.v[i], "properties"), TELLS), "const");
        if (is.p != NULL && constant.p != NULL && json_equal(is, constant, l->a))
            return s->one_of.v[i];
        names[i] = json_string(constant, l->a);
    }
    if (names == NULL) l->no_memory = true;
    else if (is.p != NULL && json_type_of(is) == JSON_STRING)
        lint_word(l, value, TELLS, names, s->one_of.n);
    else {
        struct lint_more more = {.value = is, .choices = names, .choices_nr = s->one_of.n};
        lint_tell(l, true, is.p != NULL ? TELLS : NULL, &more,
                  "\"%s\" is needed here; it says what kind of value this is", TELLS);
    }
    return STR_NONE;
}

static void list_check(struct lint *l, struct str value, const struct lint_shape *in,
                       const struct shape *s, int depth) {
    struct lint_more more = {.value = value};
    struct lint_shape deeper = {.schema = s->items, .root = in->root, .ignores = in->ignores};
    struct json_elements el;
    if (json_elements(value, l->a, &el, NULL) != 0) {
        l->no_memory = true;
        return;
    }
    if ((int64_t)el.n < s->items_min)
        lint_tell(l, true, NULL, &more, "must have %lld entries at least", (long long)s->items_min);
    for (size_t i = 0; s->items.p != NULL && i < el.n && !lint_full(l); i++) {
        size_t mark = lint_at(l, NULL, i);
        shape_check(l, el.v[i], &deeper, depth + 1);
        lint_leave(l, mark);
    }
}

/* Depth is bounded, so a schema that refers to itself is followed no further than a value goes. */
static void shape_check(struct lint *l, struct str value, const struct lint_shape *in, int depth) {
    struct str schema = STR_NONE;
    if (in->schema.n > 0 && json_type_of(in->schema) == JSON_OBJECT && depth < SHAPE_DEPTH_MAX)
        schema = schema_resolve(l, in->schema, in->root);
    if (schema.n == 0 || lint_full(l)) return;
    const struct shape *s = shape_of(l, schema);
    enum json_type t = json_type_of(value);
    if (s == NULL || !type_check(l, value, s)) return;
    choice_check(l, value, s);
    bounds_check(l, value, s);
    if (s->one_of.n > 0 && t == JSON_OBJECT) {
        struct lint_shape variant = *in;
        variant.schema = variant_choose(l, value, s);
        shape_check(l, value, &variant, depth + 1);
    }
    if (t == JSON_OBJECT) object_check(l, value, in, s, depth);
    if (t == JSON_ARRAY) list_check(l, value, in, s, depth);
}

void lint_shape(struct lint *l, struct str value, const struct lint_shape *s) {
    shape_check(l, value, s, 0);
}
