/* lint_edge.c: edges: the nodes they name, and conditions that can never hold. */
#include "domain/lint_int.h"

/* "output.action" of an approval is one of its actions. */
static void action_check(struct lint *l, const struct lint_edge *e) {
    struct json_elements el;
    struct str actions = json_get(l->node_list[e->src].config, "actions");
    if (!str_eqc(l->node_list[e->src].type_id, "core.approvalGate")) return;
    if (actions.p == NULL) actions = STR("[\"accept\",\"reject\"]");
    if (json_type_of(actions) != JSON_ARRAY || json_elements(actions, l->a, &el, NULL) != 0) return;
    struct str *names = ARENA_ARRAY(l->a, struct str, el.n);
    if (names == NULL) return;
    for (size_t i = 0; i < el.n; i++) names[i] = json_string(el.v[i], l->a);
    lint_word(l, e->condition, "right", names, el.n);
}

/* A comparison with a word that the left side never equals. */
static void right_check(struct lint *l, const struct lint_edge *e) {
#define WORD(z)                                                                                    \
    { z, sizeof(z) - 1 }
    static const struct str STATUS[] = {WORD("completed"), WORD("failed")};
    struct str left = lint_text(l, e->condition, "left");
    struct str type = lint_text(l, e->condition, "type");
    if (left.p == NULL || e->src < 0) return;
    if (!str_eqc(type, "equals") && !str_eqc(type, "notEquals")) return;
    if (str_eqc(left, "status")) lint_word(l, e->condition, "right", STATUS, 2);
    if (str_eqc(left, "output.action")) action_check(l, e);
}

static void condition_check(struct lint *l, const struct lint_edge *e) {
    static const char *const COMPARE[] = {"equals", "notEquals", "contains", "regex"};
    struct str type = lint_text(l, e->condition, "type");
    const char *needs = str_eqc(type, "expression") ? "expression" : NULL;
    for (size_t i = 0; i < sizeof COMPARE / sizeof COMPARE[0]; i++)
        if (str_eqc(type, COMPARE[i])) needs = "left";
    size_t mark = lint_enter(l, STR("condition"));
    if (needs != NULL && json_get(e->condition, needs).p == NULL)
        lint_tell(l, true, NULL, NULL, "a condition of type %.*s needs \"%s\"", LINT_SHOWN(type),
                  needs);
    lint_expression(l, lint_text(l, e->condition, "expression"), "expression", true);
    lint_path(l, lint_text(l, e->condition, "left"), "left");
    right_check(l, e);
    lint_leave(l, mark);
}

void lint_edges(struct lint *l) {
    for (size_t i = 0; i < l->edges_nr && !lint_full(l); i++) {
        const struct lint_edge *e = &l->edge_list[i];
        if (json_type_of(e->raw) != JSON_OBJECT) continue;
        size_t mark = lint_at(l, "edges", i);
        (void)lint_name(l, e->raw, "sourceNodeId", l->nodes, "node");
        (void)lint_name(l, e->raw, "targetNodeId", l->nodes, "node");
        if (e->condition.p != NULL) condition_check(l, e);
        lint_leave(l, mark);
    }
}
