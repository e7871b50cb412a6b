/* lint_expr.c: expressions, and the variables they use. */
#include "domain/expr_int.h"
#include "domain/lint_int.h"

#include <stdio.h>

void lint_variable(struct lint *l, struct str name, const char *pointer, const char *key) {
    char hint[NEAR_HINT];
    struct near n;
    if (name.n == 0 || map_get(l->vars, name) != NULL) return;
    near_init(&n, name);
    lint_near(&n, l->vars);
    lint_tell(l, near_best(&n).n > 0, pointer, key,
              "the variable \"%.*s\" is neither declared nor set by a node; it reads as null%s",
              (int)(name.n < 64 ? name.n : 64), name.p, near_hint(&n, hint));
}

/* The first segment of a pointer, without its escapes. */
static struct str first_segment(struct lint *l, struct str pointer) {
    struct buf b;
    buf_init(&b, 256);
    for (size_t i = 1; i < pointer.n && pointer.p[i] != '/'; i++) {
        char ch = pointer.p[i];
        if (ch == '~' && i + 1 < pointer.n) ch = pointer.p[++i] == '1' ? '/' : '~';
        buf_addc(&b, ch);
    }
    struct str s = buf_failed(&b) ? STR_NONE : arena_str(l->a, buf_str(&b));
    buf_fini(&b);
    return s;
}

static void expr_walk(struct lint *l, const struct expr *e, const char *pointer, const char *key) {
    if (e == NULL) return;
    if (e->op == EXPR_PATH && str_eqc(e->root, "variables"))
        lint_variable(l, first_segment(l, e->raw), pointer, key);
    expr_walk(l, e->a, pointer, key);
    expr_walk(l, e->b, pointer, key);
}

void lint_expression(struct lint *l, struct str text, const char *pointer, const char *key) {
    struct wopr_error why = {0};
    struct expr *e = NULL;
    if (text.p == NULL) return;
    int rc = expr_parse(text, l->a, &e, &why);
    if (rc == WOPR_E_VALIDATION) lint_tell(l, true, pointer, key, "%.300s", why.message);
    else if (rc != 0) l->no_memory = true;
    else expr_walk(l, e, pointer, key);
}
