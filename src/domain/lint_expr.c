/* lint_expr.c: expressions and paths, and the variables, inputs and channels that they read. */
#include "domain/expr_int.h"
#include "domain/lint_int.h"

/* Roots of paths; the first few exist in conditions only. */
#define WORD(z)                                                                                    \
    { z, sizeof(z) - 1 }
static const struct str ROOTS[] = {WORD("status"),    WORD("output"),   WORD("value"),
                                   WORD("variables"), WORD("channels"), WORD("inputs"),
                                   WORD("config")};
enum { ROOTS_NR = sizeof ROOTS / sizeof ROOTS[0], ROOTS_OF_EDGES = 3 };

static void name_unknown(struct lint *l, struct str name, const struct map *known, const char *key,
                         const char *says) {
    struct near n;
    near_init(&n, name);
    lint_near(l, &n, known);
    struct lint_more more = {.nearest = near_best(&n)};
    lint_tell(l, more.nearest.n > 0, key, &more, says, LINT_SHOWN(name));
}

void lint_variable(struct lint *l, struct str name, const char *key) {
    if (name.n > 0 && map_get(l->vars, name) == NULL)
        name_unknown(l, name, l->vars, key,
                     "the variable \"%.*s\" is neither declared nor set by a node; it reads as "
                     "null");
}

/* Conditions do not see sensitive values: the log masks them, and a replay must decide the same
 * (sched_int.h). */
static void sensitive_check(struct lint *l, struct str name, const struct map *m, const char *what,
                            const char *key) {
    const struct str *declared = map_get(m, name);
    bool sensitive = false;
    if (declared == NULL || (const void *)declared == (const void *)l) return;
    if (json_bool(json_get(*declared, "sensitive"), &sensitive) && sensitive)
        lint_tell(l, false, key, NULL,
                  "the %s \"%.*s\" is sensitive: a condition reads it as null; let a node decide, "
                  "and ask its output",
                  what, LINT_SHOWN(name));
}

/* A path: its root, and the first name below it (empty: none). */
static void path_check(struct lint *l, struct str root, struct str name, const char *key,
                       bool condition) {
    const struct map *sensitive = NULL;
    const char *what = "variable";
    if (name.n == 0) return;
    if (str_eqc(root, "variables")) {
        lint_variable(l, name, key);
        sensitive = l->vars;
    } else if (str_eqc(root, "inputs")) {
        if (map_get(l->inputs, name) == NULL)
            name_unknown(l, name, l->inputs, key,
                         "no variable \"%.*s\" is declared, so no run has such an input; it reads "
                         "as null");
        sensitive = l->inputs;
        what = "input";
    } else if (str_eqc(root, "channels")) {
        if (map_get(l->channels, name) == NULL)
            name_unknown(l, name, l->channels, key,
                         "the channel \"%.*s\" is not declared under channels; it reads as null "
                         "(one without declaration is read under variables)");
        sensitive = l->channels;
        what = "channel";
    }
    if (condition && sensitive != NULL) sensitive_check(l, name, sensitive, what, key);
}

static bool root_check(struct lint *l, struct str root, const char *key, bool condition) {
    size_t i = 0, first = condition ? 0 : ROOTS_OF_EDGES;
    struct near n;
    while (i < ROOTS_NR && !str_eq(root, ROOTS[i])) i++;
    if (i < ROOTS_NR && i >= first) return true;
    if (i < ROOTS_NR) {
        lint_tell(l, true, key, NULL,
                  "\"%.*s\" is of the node before, which conditions of edges see; an input takes "
                  "it by {\"type\": \"connection\"}",
                  LINT_SHOWN(root));
        return false;
    }
    near_init(&n, root);
    for (i = first; i < ROOTS_NR; i++) lint_try(l, &n, ROOTS[i]);
    struct lint_more more = {.choices = ROOTS + first, .choices_nr = ROOTS_NR - first};
    if (map_get(l->vars, root) != NULL) {
        lint_tell(l, true, key, &more, "\"%.*s\" reads as null; the variable is variables.%.*s",
                  LINT_SHOWN(root), LINT_SHOWN(root));
        return false;
    }
    more.nearest = near_best(&n);
    lint_tell(l, true, key, &more,
              "\"%.*s\" reads as null: a path begins with %svariables, channels, inputs or config",
              LINT_SHOWN(root), condition ? "status, output, value, " : "");
    return false;
}

/* The first segment of a pointer, without its escapes. */
static struct str first_segment(struct lint *l, struct str pointer) {
    struct buf b;
    buf_init(&b, EXPR_BYTES_MAX);
    for (size_t i = 1; i < pointer.n && pointer.p[i] != '/'; i++) {
        char ch = pointer.p[i];
        if (ch == '~' && i + 1 < pointer.n) ch = pointer.p[++i] == '1' ? '/' : '~';
        buf_addc(&b, ch);
    }
    struct str s = buf_failed(&b) ? STR_NONE : arena_str(l->a, buf_str(&b));
    buf_fini(&b);
    return s;
}

/* The tree has EXPR_DEPTH_MAX levels at most. */
static void expr_walk(struct lint *l, const struct expr *e, const char *key, bool condition) {
    if (e == NULL) return;
    if (e->op == EXPR_PATH && root_check(l, e->root, key, condition))
        path_check(l, e->root, first_segment(l, e->raw), key, condition);
    expr_walk(l, e->a, key, condition);
    expr_walk(l, e->b, key, condition);
}

void lint_expression(struct lint *l, struct str text, const char *key, bool condition) {
    struct wopr_error why = {0};
    struct expr *e = NULL;
    if (text.p == NULL) return;
    int rc = expr_parse(text, l->a, &e, &why);
    if (rc == WOPR_E_VALIDATION) lint_tell(l, true, key, NULL, "%.280s", why.message);
    else if (rc != 0) l->no_memory = true;
    else expr_walk(l, e, key, condition);
}

void lint_path(struct lint *l, struct str path, const char *key) {
    struct str root = path, rest = STR_NONE, name = STR_NONE, deeper;
    if (path.p == NULL) return;
    if (str_cut(path, '.', &root, &rest) && !str_cut(rest, '.', &name, &deeper)) name = rest;
    if (root_check(l, root, key, true)) path_check(l, root, name, key, true);
}
