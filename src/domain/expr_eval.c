/*
 * expr_eval.c: evaluation of expressions (WF-10).  Values stay raw JSON text; numbers are int64
 * while exact, else double.  A missing path is null.  For ! && || null, false, 0, "" count as
 * false, all else as true.  Recursion is bounded by EXPR_DEPTH_MAX.
 */
#include "base/find.h"
#include "domain/expr_int.h"

#include <math.h>

#define EXPR_NORMAL_MAX (64u * 1024 * 1024) /* bytes of one value in normal form */

struct eval {
    const struct expr_scope *scope;
    struct arena *a;
    struct wopr_error *err;
};
struct value {
    enum json_type type;
    struct str raw; /* always set */
    bool is_int;    /* NUMBER: i holds it exactly */
    int64_t i;
    double d; /* NUMBER */
};

static int type_error(struct eval *ev, const char *what) {
    return wopr_error_set(ev->err, WOPR_E_VALIDATION, "expression: %s", what);
}

/* Counted, never timed: the same log must decide the same everywhere. */
bool expr_spend(uint64_t *steps, size_t bytes) {
    uint64_t cost = 1 + bytes / EXPR_STEP_BYTES;
    *steps = *steps > cost ? *steps - cost : 0;
    return *steps > 0;
}

static int eval_spend(struct eval *ev, size_t bytes) {
    return expr_spend(ev->scope->steps, bytes) ? 0 : type_error(ev, "it takes too many steps");
}

static int no_memory(struct eval *ev) {
    return wopr_error_set(ev->err, WOPR_E_NO_MEMORY, "expression: out of memory");
}

static int value_of(struct eval *ev, struct str raw, struct value *v) {
    *v = (struct value){.type = json_type_of(raw), .raw = raw};
    if (v->type != JSON_NUMBER) return 0;
    if (json_int(raw, &v->i)) {
        v->is_int = true;
        v->d = (double)v->i;
    } else if (!json_double(raw, &v->d) || !isfinite(v->d)) {
        return type_error(ev, "a number is out of range");
    }
    return 0;
}

static struct value value_bool(bool b) {
    return (struct value){.type = JSON_BOOL, .raw = b ? STR("true") : STR("false")};
}

static int value_int(struct eval *ev, int64_t i, struct value *v) {
    *v = (struct value){.type = JSON_NUMBER, .is_int = true, .i = i, .d = (double)i};
    v->raw = arena_printf(ev->a, "%lld", (long long)i);
    return v->raw.p == NULL ? no_memory(ev) : 0;
}

static int value_double(struct eval *ev, double d, struct value *v) {
    if (!isfinite(d)) return type_error(ev, "the result is not a finite number");
    char text[32];
    size_t n = json_number_format(d, text);
    struct str raw = arena_str(ev->a, str_n(text, n));
    if (raw.p == NULL) return no_memory(ev);
    *v = (struct value){.type = JSON_NUMBER, .raw = raw, .d = d};
    return 0;
}

bool expr_truthy(struct str raw) {
    double d;
    switch (json_type_of(raw)) {
    case JSON_NULL:
        return false;
    case JSON_BOOL:
        return str_eqc(raw, "true");
    case JSON_NUMBER:
        return json_double(raw, &d) && d != 0.0;
    case JSON_STRING:
        return raw.n > 2;
    default:
        return true;
    }
}

static int values_order(struct eval *ev, const struct value *x, const struct value *y, int *cmp) {
    if (x->type == JSON_NUMBER && y->type == JSON_NUMBER) {
        if (x->is_int && y->is_int) *cmp = (x->i > y->i) - (x->i < y->i);
        else *cmp = (x->d > y->d) - (x->d < y->d);
        return 0;
    }
    if (x->type != JSON_STRING || y->type != JSON_STRING)
        return type_error(ev, "only two numbers or two strings have an order");
    struct str s = json_string(x->raw, ev->a), t = json_string(y->raw, ev->a);
    if (s.p == NULL || t.p == NULL) return no_memory(ev);
    *cmp = str_cmp(s, t);
    return 0;
}

static int texts_join(struct eval *ev, const struct value *x, const struct value *y,
                      struct value *out) {
    /* both are JSON strings: drop the inner quotes */
    size_t n = x->raw.n + y->raw.n - 2;
    char *p = arena_alloc(ev->a, n + 1);
    if (p == NULL) return no_memory(ev);
    memcpy(p, x->raw.p, x->raw.n - 1);
    memcpy(p + x->raw.n - 1, y->raw.p + 1, y->raw.n - 1);
    *out = (struct value){.type = JSON_STRING, .raw = str_n(p, n)};
    return 0;
}

/* false when the exact result does not fit (or does not exist as an integer) */
static bool exact_int(enum expr_op op, int64_t x, int64_t y, int64_t *out) {
    switch (op) {
    case EXPR_ADD:
        return !__builtin_add_overflow(x, y, out);
    case EXPR_SUB:
        return !__builtin_sub_overflow(x, y, out);
    case EXPR_MUL:
        return !__builtin_mul_overflow(x, y, out);
    case EXPR_DIV:
        if (x == INT64_MIN && y == -1) return false;
        *out = x / y;
        return x % y == 0;
    default:
        *out = y == -1 ? 0 : x % y;
        return true;
    }
}

static int eval_arithmetic(struct eval *ev, enum expr_op op, const struct value *x,
                           const struct value *y, struct value *out) {
    if (op == EXPR_ADD && x->type == JSON_STRING && y->type == JSON_STRING)
        return texts_join(ev, x, y, out);
    if (x->type != JSON_NUMBER || y->type != JSON_NUMBER)
        return type_error(ev, "arithmetic needs numbers");
    if ((op == EXPR_DIV || op == EXPR_MOD) && y->d == 0.0)
        return type_error(ev, "division by zero");
    int64_t i;
    if (x->is_int && y->is_int && exact_int(op, x->i, y->i, &i)) return value_int(ev, i, out);
    switch (op) {
    case EXPR_ADD:
        return value_double(ev, x->d + y->d, out);
    case EXPR_SUB:
        return value_double(ev, x->d - y->d, out);
    case EXPR_MUL:
        return value_double(ev, x->d * y->d, out);
    case EXPR_DIV:
        return value_double(ev, x->d / y->d, out);
    default:
        return value_double(ev, fmod(x->d, y->d), out);
    }
}

static int text_find(struct str s, struct str part, struct arena *a, bool *found) {
    struct needle n;
    struct finder f;
    *found = part.n == 0;
    if (*found || part.n > s.n) return 0;
    if (needle_make(&n, part, a) != 0) return WOPR_E_NO_MEMORY;
    finder_begin(&f, &n, s);
    *found = finder_next(&f, 0) < s.n;
    return 0;
}

static int contains_part(struct str x, struct str y, struct arena *a, bool *found,
                         struct wopr_error *err) {
    if (json_type_of(y) != JSON_STRING)
        return wopr_error_set(err, WOPR_E_VALIDATION, "expression: contains() needs a string here");
    int rc = 0;
    struct json_members m;
    struct str part = json_string(y, a), s = STR("");
    if (json_type_of(x) == JSON_OBJECT) {
        rc = json_members(x, a, &m, err);
        for (size_t i = 0; rc == 0 && !*found && i < m.n; i++) *found = str_eq(m.v[i].key, part);
    } else {
        s = json_string(x, a);
        if (part.p != NULL && s.p != NULL) rc = text_find(s, part, a, found);
    }
    if (rc == WOPR_E_NO_MEMORY || part.p == NULL || s.p == NULL)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "expression: out of memory");
    return rc;
}

/* In normal form each element and y are read only once. */
static int contains_element(struct str x, struct str y, struct arena *a, bool *found,
                            struct wopr_error *err) {
    struct json_elements el;
    struct buf want, got;
    buf_init(&want, EXPR_NORMAL_MAX);
    buf_init(&got, EXPR_NORMAL_MAX);
    int rc = json_elements(x, a, &el, err);
    if (rc == 0) rc = json_canonical_exact(y, &want, err);
    for (size_t i = 0; rc == 0 && !*found && i < el.n; i++) {
        if (json_type_of(el.v[i]) != json_type_of(y)) continue;
        buf_reset(&got);
        rc = json_canonical_exact(el.v[i], &got, err);
        *found = rc == 0 && str_eq(buf_str(&got), buf_str(&want));
    }
    buf_fini(&want);
    buf_fini(&got);
    return rc;
}

int expr_contains(struct str x, struct str y, struct arena *a, bool *found,
                  struct wopr_error *err) {
    *found = false;
    switch (json_type_of(x)) {
    case JSON_NULL:
        return 0;
    case JSON_STRING:
    case JSON_OBJECT:
        return contains_part(x, y, a, found, err);
    case JSON_ARRAY:
        return contains_element(x, y, a, found, err);
    default:
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "expression: contains() looks into strings, arrays and objects");
    }
}

static int eval_size(struct eval *ev, const struct value *x, struct value *out) {
    size_t n = 0;
    int rc = 0;
    if (x->type == JSON_STRING) {
        struct str s = json_string(x->raw, ev->a);
        if (s.p == NULL) return no_memory(ev);
        n = utf8_count(s);
    } else if (x->type == JSON_ARRAY) {
        struct json_elements el;
        rc = json_elements(x->raw, ev->a, &el, ev->err);
        if (rc == 0) n = el.n;
    } else if (x->type == JSON_OBJECT) {
        struct json_members m;
        rc = json_members(x->raw, ev->a, &m, ev->err);
        if (rc == 0) n = m.n;
    } else if (x->type != JSON_NULL) {
        return type_error(ev, "size() counts strings, arrays and objects");
    }
    return rc != 0 ? rc : value_int(ev, (int64_t)n, out);
}

static int pattern_matched(struct eval *ev, int rc, struct value *out) {
    if (rc == WOPR_E_NO_MEMORY) return no_memory(ev);
    if (rc == WOPR_E_TOO_BIG) return type_error(ev, "a pattern took too long");
    *out = value_bool(rc == 0);
    return 0;
}

static int eval_matches(struct eval *ev, const struct expr *e, const struct value *x,
                        const struct value *y, struct value *out) {
    if (x->type == JSON_NULL) {
        *out = value_bool(false);
        return 0;
    }
    if (x->type != JSON_STRING || y->type != JSON_STRING)
        return type_error(ev, "matches() needs two strings");
    if (e->rx != NULL)
        return pattern_matched(ev, schema_validate_within(e->rx, x->raw, ev->scope->steps), out);
    struct str text = expr_pattern_schema(y->raw, ev->a);
    if (text.p == NULL) return no_memory(ev);
    struct schema_set *set = schema_set_new(false);
    if (set == NULL) return no_memory(ev);
    const struct schema *rx;
    int rc = schema_set_add(set, STR("wopr:pattern"), text, ev->err);
    if (rc == 0) rc = schema_compile(set, STR("wopr:pattern"), &rx, ev->err);
    if (rc == 0)
        rc = pattern_matched(ev, schema_validate_within(rx, x->raw, ev->scope->steps), out);
    schema_set_free(set);
    return rc;
}

struct str expr_find(const struct expr_scope *s, const struct expr_place *at, struct arena *a,
                     size_t *bytes) {
    if (s->find) return s->find(s->ctx, at, a, bytes);
    struct str text = s->lookup(s->ctx, at->root, a);
    *bytes = text.n;
    if (text.p == NULL || at->path.n == 0) return text;
    return at->dotted ? json_path_get(text, at->path, a) : json_pointer_get(text, at->path, a);
}

static int eval_path(struct eval *ev, const struct expr *e, struct value *out) {
    const struct expr_place at = {.root = e->root, .path = e->raw};
    size_t bytes = 0;
    struct str text = expr_find(ev->scope, &at, ev->a, &bytes);
    int rc = eval_spend(ev, bytes); /* as if all of it were read, whatever finds it */
    if (rc != 0) return rc;
    if (arena_failed(ev->a)) return no_memory(ev);
    return value_of(ev, text.p == NULL || text.n == 0 ? STR("null") : text, out);
}

static int eval_node(struct eval *ev, const struct expr *e, struct value *out);

static int values_compare(struct eval *ev, enum expr_op op, const struct value *x,
                          const struct value *y, struct value *out) {
    if (op == EXPR_EQ || op == EXPR_NE) {
        *out = value_bool(json_equal(x->raw, y->raw, ev->a) == (op == EXPR_EQ));
        return arena_failed(ev->a) ? no_memory(ev) : 0;
    }
    int c = 0;
    int rc = values_order(ev, x, y, &c);
    if (rc != 0) return rc;
    *out = value_bool(op == EXPR_LT   ? c < 0
                      : op == EXPR_LE ? c <= 0
                      : op == EXPR_GT ? c > 0
                                      : c >= 0);
    return 0;
}

static int eval_not_leaf(struct eval *ev, const struct expr *e, struct value *out) {
    struct value x, y = value_bool(false);
    int rc = eval_node(ev, e->a, &x);
    if (rc != 0) return rc;
    if ((e->op == EXPR_AND && !expr_truthy(x.raw)) || (e->op == EXPR_OR && expr_truthy(x.raw))) {
        *out = value_bool(e->op == EXPR_OR);
        return 0;
    }
    if (e->b != NULL) rc = eval_node(ev, e->b, &y);
    if (rc == 0) rc = eval_spend(ev, x.raw.n + y.raw.n);
    if (rc != 0) return rc;
    switch (e->op) {
    case EXPR_NOT:
        *out = value_bool(!expr_truthy(x.raw));
        return 0;
    case EXPR_AND:
    case EXPR_OR:
        *out = value_bool(expr_truthy(y.raw));
        return 0;
    case EXPR_CONTAINS: {
        bool found;
        rc = expr_contains(x.raw, y.raw, ev->a, &found, ev->err);
        if (rc == 0) *out = value_bool(found);
        return rc;
    }
    case EXPR_SIZE:
        return eval_size(ev, &x, out);
    case EXPR_MATCHES:
        return eval_matches(ev, e, &x, &y, out);
    case EXPR_NEG: {
        struct value zero = {.type = JSON_NUMBER, .raw = STR("0"), .is_int = true};
        return eval_arithmetic(ev, EXPR_SUB, &zero, &x, out);
    }
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
    case EXPR_DIV:
    case EXPR_MOD:
        return eval_arithmetic(ev, e->op, &x, &y, out);
    default:
        return values_compare(ev, e->op, &x, &y, out);
    }
}

static int eval_node(struct eval *ev, const struct expr *e, struct value *out) {
    if (e->op == EXPR_LITERAL) return value_of(ev, e->raw, out);
    if (e->op == EXPR_PATH) return eval_path(ev, e, out);
    return eval_not_leaf(ev, e, out);
}

int expr_eval(const struct expr *e, const struct expr_scope *s, struct arena *a, struct str *out,
              struct wopr_error *err) {
    uint64_t steps = EXPR_STEPS_MAX;
    struct expr_scope scope = *s;
    if (scope.steps == NULL) scope.steps = &steps;
    struct eval ev = {.scope = &scope, .a = a, .err = err};
    struct value v;
    int rc = eval_node(&ev, e, &v);
    if (rc != 0) return rc;
    *out = v.raw;
    return 0;
}
