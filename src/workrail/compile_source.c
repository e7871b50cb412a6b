/*
 * compile_source.c: reading of sources: members, and what is wrong with them.
 */
#include "base/near.h"
#include "base/vec.h"
#include "workrail/compile_int.h"

#include <stdarg.h>
#include <stdio.h>

enum { PROBLEMS_MAX = 200, FIRST_CAP = 8 };

void build_wrong(struct build *b, struct str pointer, const char *fmt, ...) {
    char message[1024];
    struct wr_problems *p = b->problems;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    if (p->nr >= PROBLEMS_MAX) return;
    struct wr_problem one = {
        .pointer = pointer, .pass = str_c(b->pass), .message = arena_str(b->a, str_c(message))};
    if (one.message.p == NULL || VEC_ROOM_IN(b->a, p->v, p->nr, p->cap, FIRST_CAP) != 0)
        b->no_memory = true;
    else p->v[p->nr++] = one;
}

bool build_good(const struct build *b) {
    return !b->no_memory && !arena_failed(b->a) && b->problems->nr == 0;
}

struct str build_at(struct build *b, struct str pointer, const char *name) {
    return arena_printf(b->a, STR_FMT "/%s", STR_ARG(pointer), name);
}

struct str build_at_nr(struct build *b, struct str pointer, size_t i) {
    return arena_printf(b->a, STR_FMT "/%zu", STR_ARG(pointer), i);
}

/* --- objects --- */

bool object_open(struct build *b, struct str raw, struct str pointer, struct object *out) {
    *out = (struct object){.b = b, .pointer = pointer};
    if (json_type_of(raw) != JSON_OBJECT) {
        build_wrong(b, pointer, "an object is due here");
        return false;
    }
    if (json_members(raw, b->a, &out->m, NULL) != 0) {
        b->no_memory = true;
        return false;
    }
    out->used = ARENA_ARRAY(b->a, bool, out->m.n);
    return out->used != NULL;
}

struct str object_raw(struct object *o, const char *name) {
    const struct json_member *m = json_member_find(&o->m, name);
    if (m == NULL) return STR_NONE;
    o->used[m - o->m.v] = true;
    return m->raw;
}

struct str object_text(struct object *o, const char *name, bool due) {
    struct str raw = object_raw(o, name);
    if (raw.p == NULL) {
        if (due) build_wrong(o->b, o->pointer, "%s is missing", name);
        return STR_NONE;
    }
    if (json_type_of(raw) != JSON_STRING || raw.n <= 2) {
        build_wrong(o->b, build_at(o->b, o->pointer, name), "%s is a text that is not empty", name);
        return STR_NONE;
    }
    return json_string(raw, o->b->a);
}

bool object_flag(struct object *o, const char *name) {
    bool v = false;
    struct str raw = object_raw(o, name);
    if (raw.p != NULL && !json_bool(raw, &v))
        build_wrong(o->b, build_at(o->b, o->pointer, name), "%s is true or false", name);
    return v;
}

struct json_elements object_list(struct object *o, const char *name, bool due) {
    struct json_elements e = {NULL, 0};
    struct str raw = object_raw(o, name);
    if (raw.p != NULL && json_type_of(raw) != JSON_ARRAY)
        build_wrong(o->b, build_at(o->b, o->pointer, name), "%s is a list", name);
    else if (raw.p != NULL && json_elements(raw, o->b->a, &e, NULL) != 0) o->b->no_memory = true;
    else if (due && e.n == 0)
        build_wrong(o->b, o->pointer, "%s is missing or empty; at least one item is due", name);
    return e;
}

int object_choice(struct object *o, const char *name, const char *const *names, size_t nr) {
    struct str raw = object_raw(o, name), s = STR_NONE;
    if (raw.p == NULL) return -1;
    if (json_type_of(raw) == JSON_STRING) s = json_string(raw, o->b->a);
    for (size_t i = 0; i < nr; i++)
        if (str_eqc(s, names[i])) return (int)i;
    char list[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < nr && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "", names[i]);
    build_wrong(o->b, build_at(o->b, o->pointer, name), "%s is one of %s", name, list);
    return -1;
}

/* What upstream's format has and this one has not: told by name, so that an author sees that it is
 * no misspelling (section 13.1). */
static const char *const FOREIGN[] = {"about",
                                      "askForFiles",
                                      "assessmentConsequences",
                                      "assessmentRefs",
                                      "assessments",
                                      "clarificationPrompts",
                                      "examples",
                                      "extensionPoints",
                                      "functionCalls",
                                      "guidance",
                                      "hasValidation",
                                      "metaGuidance",
                                      "metricsProfile",
                                      "preconditions",
                                      "promptFragments",
                                      "recommendedPreferences",
                                      "references",
                                      "tags",
                                      "templateCall",
                                      "validatedAgainstSpecVersion"};

static void object_unknown(struct object *o, struct str name) {
    struct near near;
    char hint[NEAR_HINT];
    for (size_t i = 0; i < sizeof FOREIGN / sizeof *FOREIGN; i++)
        if (str_eqc(name, FOREIGN[i])) {
            build_wrong(o->b, o->pointer,
                        "%s is a feature of other releases that this one does not have",
                        FOREIGN[i]);
            return;
        }
    near_init(&near, name);
    static const char *const KNOWN[] = {"agentRole",
                                        "body",
                                        "capabilities",
                                        "conditionId",
                                        "conditions",
                                        "constraints",
                                        "contractRef",
                                        "description",
                                        "features",
                                        "functionDefinitions",
                                        "functionReferences",
                                        "goal",
                                        "loopId",
                                        "maxIterations",
                                        "name",
                                        "notesOptional",
                                        "output",
                                        "outputContract",
                                        "outputRequired",
                                        "params",
                                        "procedure",
                                        "prompt",
                                        "promptBlocks",
                                        "recommendedAutonomy",
                                        "recommendedRiskPolicy",
                                        "requireConfirmation",
                                        "runCondition",
                                        "steps",
                                        "templateId",
                                        "title",
                                        "validationCriteria",
                                        "verify",
                                        "version",
                                        "while"};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) near_try(&near, str_c(KNOWN[i]));
    if (str_eq(near_best(&near), name)) {
        build_wrong(o->b, o->pointer, "%.*s has no place here", (int)name.n, name.p);
        return;
    }
    build_wrong(o->b, o->pointer, "%.*s is no member known here%s", name.n > 64 ? 64 : (int)name.n,
                name.n > 0 ? name.p : "", near_hint(&near, hint));
}

void object_close(struct object *o) {
    for (size_t i = 0; i < o->m.n && o->b->problems->nr < PROBLEMS_MAX; i++)
        if (!o->used[i]) object_unknown(o, o->m.v[i].key);
}
