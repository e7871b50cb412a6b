/* check.c: pointers and look-ups that the phases share; see check_int.h. */
#include <stdio.h>

#include "workspec/check_int.h"

/* --- pointers --- */

struct str at_text(struct check *c, const char *pointer) {
    (void)c;
    return str_c(pointer);
}

struct str at_object(struct check *c, size_t i, const char *rest) {
    return arena_printf(c->a, "%s/%zu%s", c->at_objects, i, rest);
}

struct str at_task(struct check *c, size_t i, const char *rest) {
    return arena_printf(c->a, "%s/%zu%s", c->at_tasks, i, rest);
}

struct str at_action(struct check *c, size_t i, size_t j, const char *rest) {
    return arena_printf(c->a, "%s/%zu/interactions/%zu%s", c->at_tasks, i, j, rest);
}

struct str at_change(struct check *c, size_t i, size_t j, struct str property, const char *rest) {
    struct str p = ws_token(c->a, property);
    size_t room = p.n + strlen(c->at_tasks) + strlen(rest) + 96;
    char *out = arena_alloc(c->a, room); /* names may hold NUL: not by a format */
    if (out == NULL) return STR_NONE;
    int n = snprintf(out, room, "%s/%zu/interactions/%zu/property_changes/", c->at_tasks, i, j);
    size_t at = (size_t)n;
    if (p.n > 0) memcpy(out + at, p.p, p.n);
    at += p.n;
    memcpy(out + at, rest, strlen(rest));
    return str_n(out, at + strlen(rest));
}

/* --- what is known --- */

void check_out_of_memory(struct check *c) { c->r->failed = true; }

/* Chains of definitions are walked once for all types on them. */
enum ws_base check_base(struct check *c, struct str type) {
    uint32_t known;
    enum ws_base b = ws_base_builtin(type);
    if (b != WS_NO_BASE) return b;
    struct str first = type;
    size_t steps = 0, most = ws_is(c->definitions, WS_OBJECT) ? c->definitions->nr : 0;
    for (; steps <= most && type.n > 0; steps++) {
        b = ws_base_builtin(type);
        if (b != WS_NO_BASE) break;
        if (ws_names_get(&c->bases, 0, type, &known)) {
            b = (enum ws_base)known;
            break;
        }
        const struct ws_value *d = ws_object_of(ws_get_str(c->definitions, type));
        type = ws_str(ws_get(d, "extends"));
    }
    for (type = first; steps > 0; steps--) {
        if (!ws_names_put(&c->bases, 0, type, b)) check_out_of_memory(c);
        type = ws_str(ws_get(ws_object_of(ws_get_str(c->definitions, type)), "extends"));
    }
    return b;
}

const struct check_object *check_registered(const struct check *c, struct str id) {
    uint32_t at;
    return ws_names_get(&c->object_ids, 0, id, &at) ? &c->registered[at] : NULL;
}

bool check_known(const struct check *c, struct str raw_id) {
    return ws_names_has(&c->object_ids, raw_id) || ws_names_has(&c->created, raw_id);
}

struct str check_action(const struct ws_value *interaction) {
    return ws_str(ws_get(interaction, "action"));
}
