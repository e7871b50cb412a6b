/*
 * fuzz_fork.c: the body of a fork, and what its overlay makes of the source's options (RUN-31,
 * FORK-2, FORK-12, FORK-23).
 *  - a body is taken with a mode, a sequence from 0 on and an overlay of the right types, or
 * refused with VALIDATION and details that are JSON; a replay never has an overlay that says
 * something;
 *  - a merged object has each member once, over's value before base's, and nothing else;
 *  - merged tags hold every tag of both, and none of over's twice.
 */
#include "domain/options.h"
#include "wire/v1/wire_int.h"

enum { FUZZ_BYTES_MAX = 1 << 14, ARENA_BYTES = 64 << 20 };
#define BASE_OBJECT STR("{\"a\":1,\"acme.b\":{\"x\":[1]},\"\":null}")
#define BASE_TAGS   STR("[\"blue\",\"\\u00e9\",\"t\"]")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct str member(const struct json_members *m, struct str key) {
    struct str last = STR_NONE;
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->v[i].key, key)) return m->v[i].raw;
    return last;
}

static void check_object(struct str over, struct arena *a) {
    struct json_members was, add, out;
    struct str merged;
    if (!over.p) return;
    int rc = overlay_object(BASE_OBJECT, over, a, &merged, NULL);
    ASSERT(rc == 0 && json_check(merged, &JSON_LIMITS_STORED, NULL) == 0);
    ASSERT(json_members(BASE_OBJECT, a, &was, NULL) == 0 && json_members(over, a, &add, NULL) == 0);
    ASSERT(json_members(merged, a, &out, NULL) == 0);
    for (size_t i = 0; i < out.n; i++) {
        struct str mine = member(&add, out.v[i].key), theirs = member(&was, out.v[i].key);
        ASSERT(mine.p ? str_eq(mine, out.v[i].raw) : str_eq(theirs, out.v[i].raw));
    }
    for (size_t i = 0; i < was.n; i++) ASSERT(member(&out, was.v[i].key).p);
    for (size_t i = 0; i < add.n; i++) ASSERT(member(&out, add.v[i].key).p);
}

static size_t times(const struct json_elements *l, struct str tag, struct arena *a) {
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += json_type_of(l->v[i]) == JSON_STRING && str_eq(json_string(l->v[i], a), tag);
    return n;
}

static void check_tags(struct str over, struct arena *a) {
    struct json_elements was, add, out;
    struct str merged;
    if (!over.p) return;
    int rc = overlay_tags(BASE_TAGS, over, a, &merged, NULL);
    ASSERT(rc == 0 && json_check(merged, &JSON_LIMITS_STORED, NULL) == 0);
    ASSERT(json_elements(BASE_TAGS, a, &was, NULL) == 0 && json_elements(over, a, &add, NULL) == 0);
    ASSERT(json_elements(merged, a, &out, NULL) == 0);
    for (size_t i = 0; i < was.n; i++) ASSERT(times(&out, json_string(was.v[i], a), a) == 1);
    for (size_t i = 0; i < add.n && i < 50; i++)
        if (json_type_of(add.v[i]) == JSON_STRING)
            ASSERT(times(&out, json_string(add.v[i], a), a) == 1);
}

static void check_taken(const struct engine_cmd *cmd, struct arena *a) {
    const struct fork_overlay *o = &cmd->fork.overlay;
    ASSERT(cmd->fork.mode == FORK_REPLAY || cmd->fork.mode == FORK_BRANCH);
    ASSERT(cmd->fork.from_seq >= 0);
    bool says = o->inputs.p || o->configurable.p || o->tags.p || o->metadata.p;
    ASSERT(cmd->fork.mode == FORK_BRANCH || !says);
    ASSERT(!o->inputs.p || json_type_of(o->inputs) == JSON_OBJECT);
    ASSERT(!o->configurable.p || json_type_of(o->configurable) == JSON_OBJECT);
    ASSERT(!o->metadata.p || json_type_of(o->metadata) == JSON_OBJECT);
    ASSERT(!o->tags.p || json_type_of(o->tags) == JSON_ARRAY);
    check_object(o->inputs, a);
    check_object(o->configurable, a);
    check_object(o->metadata, a);
    check_tags(o->tags, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct str text = str_n((const char *)data, len);
    struct engine_cmd cmd = {.op = ENGINE_FORK, .fork = {.mode = FORK_NONE, .from_seq = -1}};
    struct wopr_error err = {0};
    if (len > FUZZ_BYTES_MAX || json_check(text, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
        json_type_of(text) != JSON_OBJECT)
        return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    ASSERT(a != NULL);
    int rc = v1_fork_parse(text, a, &cmd, &err);
    if (rc == 0) {
        check_taken(&cmd, a);
    } else {
        ASSERT(rc == WOPR_E_VALIDATION && err.code == rc && err.message[0] != '\0');
        ASSERT(json_check(str_c(err.details), &JSON_LIMITS_DEFAULT, NULL) == 0);
    }
    arena_free(a);
    return 0;
}
