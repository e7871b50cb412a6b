/*
 * cond.c: conditions of edges (WF-9).  Total: an evaluation error is false, a missing path is null.
 */
#include "domain/expr_int.h"

/* left: "<root>" or "<root>.<dotted path>" */
static struct str left_value(const struct wf_cond *c, const struct expr_scope *s, struct arena *a) {
    struct expr_place at = {.root = c->left, .path = STR(""), .dotted = true};
    size_t bytes = 0;
    (void)str_cut(c->left, '.', &at.root, &at.path);
    struct str v = expr_find(s, &at, a, &bytes);
    return v.p == NULL || v.n == 0 ? STR("null") : v;
}

static int cond_expression(const struct wf_cond *c, const struct expr_scope *s, struct arena *a,
                           bool *holds) {
    struct str v;
    int rc = c->expr == NULL ? WOPR_E_VALIDATION : expr_eval(c->expr, s, a, &v, NULL);
    *holds = rc == 0 && expr_truthy(v);
    return rc == WOPR_E_NO_MEMORY ? rc : 0;
}

static int cond_compare(const struct wf_cond *c, const struct expr_scope *s, struct arena *a,
                        bool *holds) {
    struct str left = left_value(c, s, a);
    int rc = 0;
    *holds = false;
    if (!expr_spend(s->steps, left.n + c->right.n)) return 0;
    switch (c->kind) {
    case COND_EQUALS:
        *holds = json_equal(left, c->right, a);
        break;
    case COND_NOT_EQUALS:
        *holds = !json_equal(left, c->right, a);
        break;
    case COND_CONTAINS:
        rc = expr_contains(left, c->right, a, holds, NULL);
        break;
    default: /* "pattern" accepts every value that is not a string */
        rc = json_type_of(left) != JSON_STRING ? WOPR_E_VALIDATION
                                               : schema_validate_within(c->rx, left, s->steps);
        *holds = rc == 0;
    }
    if (rc != 0 || arena_failed(a)) *holds = false;
    return arena_failed(a) ? WOPR_E_NO_MEMORY : rc == WOPR_E_NO_MEMORY ? rc : 0;
}

int cond_eval(const struct wf_cond *c, const struct expr_scope *s, struct arena *a, bool *holds) {
    uint64_t steps = EXPR_STEPS_MAX;
    struct expr_scope scope = *s;
    if (scope.steps == NULL) scope.steps = &steps;
    *holds = c->kind == COND_NONE;
    if (c->kind == COND_NONE) return 0;
    if (c->kind == COND_EXPRESSION) return cond_expression(c, &scope, a, holds);
    return cond_compare(c, &scope, a, holds);
}
