/*
 * rules.c: see rules.h.
 */
#include "sandbox/worker/rules.h"

#include "codec/bytes.h"
#include "codec/schema.h"
#include "domain/framework.h"

#define RULE_URI "urn:wopr:channel"

static bool rule_read(struct str raw, struct arena *a, struct rule *out) {
    *out = (struct rule){.name = json_string(json_get(raw, "name"), a),
                         .schema = json_get(raw, "schema"),
                         .reducer = reducer_of(json_string(json_get(raw, "reducer"), a))};
    (void)json_bool(json_get(raw, "each"), &out->each);
    return out->name.n > 0;
}

bool rules_read(struct rules *r, struct str raw, struct arena *a) {
    struct json_elements all = {0};
    *r = (struct rules){0};
    if (raw.n == 0) return true;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, a, &all, NULL) != 0) return false;
    r->v = ARENA_ARRAY(a, struct rule, all.n + 1);
    for (size_t i = 0; r->v && i < all.n; i++, r->n++)
        if (!rule_read(all.v[i], a, &r->v[i])) return false;
    return r->v != NULL;
}

void rules_fini(struct rules *r) {
    for (size_t i = 0; i < r->n; i++) schema_set_free(r->v[i].set);
    r->n = 0;
}

struct rule *rules_find(const struct rules *r, struct str name) {
    for (size_t i = 0; i < r->n; i++)
        if (str_eq(r->v[i].name, name)) return &r->v[i];
    return NULL;
}

bool rules_name_ok(struct str name) {
    return name.n > 0 && utf8_valid(name) && utf8_count(name) <= CHAN_NAME_MAX &&
           !name_of_callers(name);
}

/* One that cannot be compiled by itself is left to the engine. */
static void schema_make(struct rule *r) {
    r->tried = true;
    if (r->schema.n == 0) return;
    r->set = schema_set_new(false);
    if (!r->set || schema_set_add(r->set, STR(RULE_URI), r->schema, NULL) != 0 ||
        schema_compile(r->set, STR(RULE_URI), &r->compiled, NULL) != 0)
        r->compiled = NULL;
}

bool rule_takes(struct rule *r, struct str value, struct arena *a) {
    if (reducer_refuses(r->reducer, value)) return false;
    if (!r->tried) schema_make(r);
    if (!r->compiled) return true;
    struct str judged = r->each ? arena_printf(a, "[" STR_FMT "]", STR_ARG(value)) : value;
    if (!judged.p) return true;
    int rc = schema_validate_text(r->compiled, judged, NULL);
    return rc != WOPR_E_VALIDATION && rc != WOPR_E_TOO_BIG;
}
