/* check_action.c: the interactions of a task and their operators: R40 to R58; see check_int.h. */
#include "codec/json.h"
#include "workspec/check_int.h"

#include <stdio.h>

enum operator_bit {
    OP_FROM = 1,
    OP_TO = 2,
    OP_SET = 4,
    OP_DELTA = 8,
    OP_MULTIPLY = 16,
    OP_INCREMENT = 32,
    OP_DECREMENT = 64,
    OP_APPEND = 128,
    OP_REMOVE = 256
};
static const char *const OPERATORS[] = {"from",      "to",        "set",    "delta", "multiply",
                                        "increment", "decrement", "append", "remove"};
enum { OPERATORS_NR = 9 };

bool check_is_operator(struct str name) {
    for (size_t i = 0; i < OPERATORS_NR; i++)
        if (str_eqc(name, OPERATORS[i])) return true;
    return false;
}

static unsigned operators_of(const struct ws_value *op) {
    unsigned set = 0;
    for (unsigned i = 0; i < OPERATORS_NR; i++)
        if (ws_get(op, OPERATORS[i]) != NULL) set |= 1u << i;
    return set;
}

struct change {
    struct check *c;
    size_t task, index;
    struct str task_id, target, property;
    const struct ws_value *op;
};

static void change_raise(const struct change *h, enum ws_code code, const char *rest,
                         struct ws_fact more) {
    struct check *c = h->c;
    ws_raise(c->r, code, h->op, at_change(c, h->task, h->index, h->property, rest),
             WS_FACTS(ws_ft("task_id", h->task_id), ws_ft("target_id", h->target),
                      ws_ft("property", h->property), more));
}

/* R51. */
static void check_unknown(const struct change *h) {
    struct buf *b = NULL, keys;
    for (size_t i = 0; i < h->op->nr; i++) {
        if (check_is_operator(h->op->members[i].name)) continue;
        if (b == NULL) buf_init(b = &keys, WS_PROBLEM_BYTES_MAX);
        buf_addc(b, b->len == 0 ? '[' : ',');
        json_quote(b, h->op->members[i].name);
    }
    if (b == NULL) return;
    buf_addc(b, ']');
    if (buf_failed(b)) check_out_of_memory(h->c);
    else change_raise(h, WS_R51, "", ws_fj("unknown_keys", buf_str(b)));
    buf_fini(b);
}

/* R54 to R57: operands. */
static void check_operand(const struct change *h, const char *name, enum ws_code code,
                          bool number) {
    char rest[16];
    const struct ws_value *v = ws_get(h->op, name);
    if (v == NULL || (number ? ws_is(v, WS_NUMBER) : ws_is_true(v))) return;
    snprintf(rest, sizeof rest, "/%s", name);
    change_raise(h, code, rest, ws_fv(name, v));
}

static void check_change(const struct change *h) {
    const unsigned numeric = OP_DELTA | OP_MULTIPLY | OP_INCREMENT | OP_DECREMENT;
    struct ws_fact operator_fact = ws_fv("operator", h->op);
    if (!ws_is(h->op, WS_OBJECT)) {
        change_raise(h, WS_R50, "", operator_fact);
        return;
    }
    unsigned all = operators_of(h->op), move = all & (OP_FROM | OP_TO);
    unsigned against = numeric | (h->c->host ? OP_SET | OP_APPEND | OP_REMOVE : 0u);
    check_unknown(h);
    if (move != 0 && (all & against) != 0) change_raise(h, WS_R52, "", operator_fact);
    if (move == OP_FROM || move == OP_TO) change_raise(h, WS_R53, "", operator_fact);
    check_operand(h, "delta", WS_R54, true);
    check_operand(h, "multiply", WS_R55, true);
    check_operand(h, "increment", WS_R56, false);
    check_operand(h, "decrement", WS_R57, false);
    if ((all & OP_SET) != 0 && all != OP_SET) change_raise(h, WS_R58, "", operator_fact);
}

static void legacy_raise(struct check *c, size_t i, size_t j, const struct ws_value *v,
                         const char *name, enum ws_code code) {
    char rest[24];
    const struct ws_value *old = ws_get(v, name);
    if (old == NULL) return;
    snprintf(rest, sizeof rest, "/%s", name);
    ws_raise(c->r, code, old, at_action(c, i, j, rest),
             WS_FACTS(ws_ft("task_id", c->task[i].id), ws_fz("legacy_field", name)));
}

/* R44 to R48. */
static void check_form(struct check *c, size_t i, size_t j, const struct ws_value *v) {
    struct str action = check_action(v);
    struct ws_fact task = ws_ft("task_id", c->task[i].id), index;
    index = ws_fn("interaction_index", (double)j);
    bool blank = ws_blank(ws_get(v, "target_id"));
    const struct ws_value *target = ws_get(v, "target_id");
    if (str_eqc(action, "create")) {
        if (!ws_is(ws_get(v, "object"), WS_OBJECT))
            ws_raise(c->r, WS_R45, v, at_action(c, i, j, ""),
                     WS_FACTS(task, ws_ft("action", action)));
    } else if (str_eqc(action, "delete")) {
        if (blank)
            ws_raise(c->r, WS_R46, v, at_action(c, i, j, ""),
                     WS_FACTS(task, ws_ft("action", action)));
    } else if (action.n > 0) {
        ws_raise(c->r, WS_R44, ws_get(v, "action"), at_action(c, i, j, "/action"),
                 WS_FACTS(task, ws_ft("action", action)));
    } else {
        const struct ws_value *changes = ws_get(v, "property_changes");
        if (blank)
            ws_raise(c->r, WS_R47, target != NULL ? target : v, at_action(c, i, j, "/target_id"),
                     WS_FACTS(task, index));
        if (!ws_is(changes, WS_OBJECT))
            ws_raise(c->r, WS_R48, changes != NULL ? changes : v,
                     at_action(c, i, j, "/property_changes"), WS_FACTS(task, index));
    }
}

static void check_interaction(struct check *c, size_t i, size_t j, const struct ws_value *v) {
    struct str id = c->task[i].id;
    if (!ws_is(v, WS_OBJECT)) {
        ws_raise(c->r, WS_R41, v, at_action(c, i, j, ""),
                 WS_FACTS(ws_ft("task_id", id), ws_fn("interaction_index", (double)j)));
        return;
    }
    legacy_raise(c, i, j, v, "object_id", WS_R42);
    legacy_raise(c, i, j, v, "revert_after", WS_R43);
    check_form(c, i, j, v);
    const struct ws_value *targetv = ws_get(v, "target_id");
    struct str target = ws_raw(targetv);
    if (!ws_blank(targetv)) {
        if (!ws_names_put(&c->used, 0, target, 0)) check_out_of_memory(c);
        if (!check_known(c, target))
            ws_raise(c->r, WS_R49, targetv, at_action(c, i, j, "/target_id"),
                     WS_FACTS(ws_ft("task_id", id), ws_ft("target_id", target)));
    }
    const struct ws_value *changes = ws_object_of(ws_get(v, "property_changes"));
    for (size_t k = 0; changes != NULL && k < changes->nr; k++) {
        const struct ws_member *m = &changes->members[k];
        check_change(&(struct change){c, i, j, id, target, m->name, m->value});
    }
}

void check_actions(struct check *c, size_t i) {
    struct check_task *t = &c->task[i];
    const struct ws_value *v = ws_get(t->value, "interactions");
    t->actions = ws_array_of(v);
    if (v != NULL && t->actions == NULL)
        ws_raise(c->r, WS_R40, v, at_task(c, i, "/interactions"),
                 WS_FACTS(ws_ft("task_id", t->id)));
    for (size_t j = 0; t->actions != NULL && j < t->actions->nr && !CHECK_FULL(c); j++)
        check_interaction(c, i, j, t->actions->elements[j]);
}
