/* run_options.c: what a caller may ask of a run of a document: WS-96, WS-99 to WS-101. */
#include "codec/fields.h"
#include "codec/jobj.h"
#include "workspec/run_int.h"

#include <stdio.h>

#define SPEED_MAX 1e6

static const struct {
    const char *key, *words, *message;
} KEYS[] = {
    {"workspec.clock", "virtual real", "must be \"virtual\" or \"real\""},
    {"workspec.speed", NULL, "must be a number above 0 and at most 1000000"},
    {"workspec.humanTasks", "auto approval", "must be \"auto\" or \"approval\""},
    {"workspec.onFailure", "stop", "must be \"stop\""},
};

static struct str option_text(struct str configurable, const char *key, struct arena *a) {
    struct str raw = configurable.n > 0 ? json_get(configurable, key) : STR_NONE;
    return raw.n > 0 && json_type_of(raw) == JSON_STRING ? json_string(raw, a) : STR_NONE;
}

void run_options_read(struct str configurable, struct ws_run_options *out, struct arena *a) {
    struct str raw = configurable.n > 0 ? json_get(configurable, "workspec.speed") : STR_NONE;
    struct str human = option_text(configurable, "workspec.humanTasks", a);
    double speed = 1;
    *out = (struct ws_run_options){.clock = WS_VIRTUAL, .speed = 1};
    if (str_eqc(option_text(configurable, "workspec.clock", a), "real")) out->clock = WS_REAL;
    if (raw.n > 0 && json_double(raw, &speed) && speed > 0 && speed <= SPEED_MAX)
        out->speed = speed;
    out->approval = human.n > 0 ? str_eqc(human, "approval") : out->clock == WS_REAL;
}

static bool word_listed(struct str word, const char *words) {
    struct str rest = str_c(words), head, tail;
    for (; word.n > 0 && rest.n > 0; rest = tail) {
        if (!str_cut(rest, ' ', &head, &tail)) head = rest, tail = STR("");
        if (str_eq(head, word)) return true;
    }
    return false;
}

static bool option_good(size_t k, struct str raw, struct arena *a) {
    double speed;
    if (KEYS[k].words != NULL)
        return json_type_of(raw) == JSON_STRING && word_listed(json_string(raw, a), KEYS[k].words);
    return json_type_of(raw) == JSON_NUMBER && json_double(raw, &speed) && speed > 0 &&
           speed <= SPEED_MAX;
}

static bool run_options_refused(struct program_refusal *why, struct str key, const char *reason,
                                const char *message) {
    *why = (struct program_refusal){key, reason, message};
    return false;
}

bool run_options_good(const struct workflow *wf, struct str configurable, struct arena *a,
                      struct program_refusal *why) {
    struct json_members m = {0};
    struct ws_run_options o;
    (void)wf;
    if (configurable.n > 0 && json_members(configurable, a, &m, NULL) != 0)
        return run_options_refused(why, STR(""), "wrong_type", "must be an object");
    for (size_t i = 0; i < m.n; i++) {
        size_t k = 0, n = sizeof KEYS / sizeof *KEYS;
        if (!str_starts(m.v[i].key, STR(WS_LANGUAGE "."))) continue;
        while (k < n && !str_eqc(m.v[i].key, KEYS[k].key)) k++;
        if (k == n)
            return run_options_refused(why, m.v[i].key, "unknown_key",
                                       "a document has the options workspec.clock, workspec.speed, "
                                       "workspec.humanTasks and workspec.onFailure");
        if (!option_good(k, m.v[i].raw, a))
            return run_options_refused(why, m.v[i].key, "out_of_range", KEYS[k].message);
    }
    run_options_read(configurable, &o, a);
    if (o.clock == WS_VIRTUAL && configurable.n > 0 &&
        json_get(configurable, "workspec.speed").n > 0)
        return run_options_refused(why, STR("workspec.speed"), "conflict",
                                   "counts with \"workspec.clock\": \"real\" only");
    return true;
}

bool run_options_equal(struct str was, struct str is, struct arena *a) {
    struct ws_run_options x, y;
    run_options_read(was, &x, a);
    run_options_read(is, &y, a);
    bool faster = x.speed > y.speed || x.speed < y.speed;
    return x.clock == y.clock && !faster && x.approval == y.approval;
}

bool run_task_asks(const struct ws_entry *e, const struct ws_run_options *o, const char **kind) {
    struct str own = ws_raw(ws_get(ws_get(e->task, "x_openwop"), "interrupt"));
    *kind = str_eqc(own, "clarification") ? "clarification" : "approval";
    if (own.n > 0) return !str_eqc(own, "none");
    return o->approval && e->human;
}

/* --- inputs.world (WS-96) --- */

struct patch {
    struct arena *a;
    struct wopr_error *err;
    struct str object, property; /* at which it is */
};

static int patch_refuse(const struct patch *p, const char *what) {
    char pointer[160];
    (void)snprintf(pointer, sizeof pointer, "/inputs/world/%.60s/%.60s",
                   p->object.n > 0 ? p->object.p : "", p->property.n > 0 ? p->property.p : "");
    if (p->property.n == 0) pointer[strlen(pointer) - 1] = '\0';
    return wopr_error_at(p->err, WOPR_E_VALIDATION, pointer, "%s", what);
}

/* v with the value at the dotted rest of a name. */
static const struct ws_value *put_at(struct patch *p, const struct ws_value *v, struct str path,
                                     const struct ws_value *value, unsigned depth) {
    struct str head = path, rest = STR_NONE;
    if (depth > WS_PATH_MAX || (v != NULL && !ws_is(v, WS_OBJECT))) return NULL;
    bool more = str_cut(path, '.', &head, &rest);
    if (more) value = put_at(p, ws_get_str(v, head), rest, value, depth + 1);
    if (value == NULL) return NULL;
    if (v == NULL) v = ws_object_new(p->a, NULL, 0);
    return v == NULL ? NULL : ws_with(p->a, v, head, value);
}

/* WS-69, of a name as WS-70 spells it. */
static const struct ws_value *property_put(struct patch *p, const struct ws_value *object,
                                           struct str name, const struct ws_value *value) {
    const struct ws_value *bag = ws_get(object, "properties");
    if (str_eqc(name, "location") || str_eqc(name, "emoji"))
        return ws_with(p->a, object, name, value);
    if (str_starts(name, STR("properties."))) name = str_n(name.p + 11, name.n - 11);
    if (bag == NULL) bag = ws_object_new(p->a, NULL, 0);
    bag = ws_get_str(bag, name) != NULL ? ws_with(p->a, bag, name, value)
                                        : put_at(p, bag, name, value, 0);
    return bag == NULL ? NULL : ws_with(p->a, object, STR("properties"), bag);
}

static int object_patch(struct patch *p, const struct ws_value **object,
                        const struct ws_value *values) {
    if (!ws_is(values, WS_OBJECT)) return patch_refuse(p, "must be an object of properties");
    for (size_t i = 0; i < values->nr; i++) {
        const struct ws_member *m = &values->members[i];
        p->property = m->name;
        const struct ws_value *v =
            m->name.n > 0 ? property_put(p, *object, m->name, m->value) : NULL;
        if (v == NULL) return patch_refuse(p, "a value on the way to this property is no object");
        *object = v;
    }
    p->property = STR_NONE;
    return 0;
}

static int world_patch(struct patch *p, const struct ws_value *was, const struct ws_value *world,
                       const struct ws_value **out) {
    const struct ws_value **v = ARENA_ARRAY(p->a, const struct ws_value *, was->nr);
    struct ws_names ids;
    uint32_t at;
    int rc = 0;
    ws_names_init(&ids, p->a);
    for (size_t i = 0; v != NULL && i < was->nr; i++) {
        v[i] = was->elements[i];
        (void)ws_names_put(&ids, 0, ws_raw(ws_get(v[i], "id")), (uint32_t)i);
    }
    for (size_t i = 0; rc == 0 && v != NULL && i < world->nr; i++) {
        p->object = world->members[i].name;
        rc = ws_names_get(&ids, 0, p->object, &at)
                 ? object_patch(p, &v[at], world->members[i].value)
                 : patch_refuse(p, "the document has no object of this id at its beginning");
    }
    if (rc != 0) return rc;
    *out = v != NULL ? ws_array_new(p->a, v, was->nr) : NULL;
    return *out == NULL || arena_failed(p->a)
               ? wopr_error_set(p->err, WOPR_E_NO_MEMORY, "no memory for a document")
               : 0;
}

int run_objects(const struct ws_program *program, struct str inputs, struct arena *a,
                const struct ws_value **out, struct wopr_error *err) {
    struct patch p = {.a = a, .err = err, .object = STR_NONE, .property = STR_NONE};
    struct str raw = inputs.n > 0 ? json_get(inputs, "world") : STR_NONE;
    struct ws_doc doc;
    *out = program->plan.objects;
    if (raw.n == 0) return 0;
    int rc = ws_parse(raw, WS_JSON, &WS_LIMITS_DEFAULT, a, &doc, err);
    if (rc == WOPR_E_SYNTAX) rc = WOPR_E_VALIDATION;
    if (rc != 0) return rc;
    if (!ws_is(doc.root, WS_OBJECT) || !ws_is(program->plan.objects, WS_ARRAY))
        return patch_refuse(&p, "must be an object: object id to property to value");
    return world_patch(&p, program->plan.objects, doc.root, out);
}
