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

enum ws_base check_base(struct check *c, struct str type) {
    enum ws_base b = WS_NO_BASE;
    if (c->bases.definitions == NULL) ws_bases_init(&c->bases, c->definitions, c->a);
    if (!ws_bases_get(&c->bases, type, &b)) check_out_of_memory(c);
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
