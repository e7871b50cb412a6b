/*
 * condition.c: see condition.h.  Recursion ends at WR_CONDITION_DEPTH_MAX.
 */
#include "workrail/condition.h"

#include "workrail/shape.h"

#include <stdio.h>
#include <stdlib.h>

enum op { OP_EQUALS, OP_NOT_EQUALS, OP_GT, OP_GTE, OP_LT, OP_LTE, OP_IN, OP_NR };
static const char *const OPS[] = {"equals", "not_equals", "gt", "gte", "lt", "lte", "in"};
static const struct wr_names OP_NAMES = WR_NAMES(OPS);

static int condition_wrong(struct wr_fault *f, const char *what) {
    return wr_fail(f, WR_COMPILE_ERROR, "", "%s", what);
}

/* --- check --- */

static int rule_check(const struct json_members *m, struct wr_fault *f) {
    const struct json_member *var = json_member_find(m, "var");
    int op = -1;
    for (size_t i = 0; i < m->n; i++)
        if (&m->v[i] != var) op = wr_name_find(&OP_NAMES, m->v[i].key);
    if (var == NULL || m->n != 2 || op < 0)
        return condition_wrong(f, "a condition is {\"var\", operator} with one operator of equals, "
                                  "not_equals, gt, gte, lt, lte, in; or and, or, not");
    if (json_type_of(var->raw) != JSON_STRING || var->raw.n <= 2)
        return condition_wrong(f, "var is the name of a member of the context");
    const struct json_member *value = &m->v[&m->v[0] == var ? 1 : 0];
    if (op == OP_IN && json_type_of(value->raw) != JSON_ARRAY)
        return condition_wrong(f, "in takes a list of values");
    return 0;
}

static int check_at(struct str json, unsigned depth, struct arena *a, struct wr_fault *f);

static int list_check(struct str json, unsigned depth, struct arena *a, struct wr_fault *f) {
    struct json_elements e;
    if (json_type_of(json) != JSON_ARRAY) return condition_wrong(f, "a list of conditions is due");
    if (json_elements(json, a, &e, NULL) != 0) return wr_no_memory(f);
    if (e.n == 0) return condition_wrong(f, "the list is empty");
    for (size_t i = 0; i < e.n; i++) {
        int rc = check_at(e.v[i], depth, a, f);
        if (rc != 0) {
            char name[24];
            snprintf(name, sizeof name, "%zu", i);
            wr_fault_in(f, str_c(name));
            return rc;
        }
    }
    return 0;
}

static int check_at(struct str json, unsigned depth, struct arena *a, struct wr_fault *f) {
    struct json_members m;
    if (depth > WR_CONDITION_DEPTH_MAX) return condition_wrong(f, "it is nested too deep");
    if (json_type_of(json) != JSON_OBJECT) return condition_wrong(f, "a condition is an object");
    if (json_members(json, a, &m, NULL) != 0) return wr_no_memory(f);
    bool list = m.n == 1 && (str_eqc(m.v[0].key, "and") || str_eqc(m.v[0].key, "or"));
    int rc = list                                     ? list_check(m.v[0].raw, depth + 1, a, f)
             : m.n == 1 && str_eqc(m.v[0].key, "not") ? check_at(m.v[0].raw, depth + 1, a, f)
                                                      : rule_check(&m, f);
    if (rc != 0 && m.n == 1) wr_fault_in(f, m.v[0].key);
    return rc;
}

int wr_condition_check(struct str json, struct arena *a, struct wr_fault *f) {
    if (f != NULL) wopr_error_clear(&f->e);
    return check_at(json, 0, a, f);
}

/* --- evaluation --- */

enum { SCALAR_BYTES_MAX = 8192 }; /* a longer text equals only itself */
struct scalar {                   /* a text, trimmed and lowered, and its number if it has one */
    struct str text;
    double number;
    bool is_scalar, is_number;
};

static struct str condition_lowered(struct str s, struct arena *a) {
    char *p = arena_alloc(a, s.n);
    if (p == NULL) return STR_NONE;
    for (size_t i = 0; i < s.n; i++)
        p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    return str_n(p, s.n);
}

static bool condition_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static struct scalar scalar_of(struct str raw, struct arena *a) {
    struct scalar v = {.is_scalar = true};
    enum json_type type = json_type_of(raw);
    if (type == JSON_ARRAY || type == JSON_OBJECT || raw.n > SCALAR_BYTES_MAX)
        return (struct scalar){.is_scalar = false};
    struct str s = type == JSON_STRING ? json_string(raw, a) : raw;
    while (s.n > 0 && condition_blank(s.p[0])) s.p++, s.n--;
    while (s.n > 0 && condition_blank(s.p[s.n - 1])) s.n--;
    v.text = condition_lowered(s, a);
    if (type == JSON_NUMBER ||
        (type == JSON_STRING && json_check(v.text, &JSON_LIMITS_DEFAULT, NULL) == 0 &&
         json_type_of(v.text) == JSON_NUMBER))
        v.is_number = json_double(type == JSON_NUMBER ? raw : v.text, &v.number);
    return v;
}

static bool equal_loosely(struct str x, struct str y, struct arena *a) {
    struct scalar p = scalar_of(x, a), q = scalar_of(y, a);
    if (p.is_scalar != q.is_scalar) return false;
    if (!p.is_scalar) return json_equal(x, y, a);
    if (p.is_number && q.is_number) return p.number >= q.number && p.number <= q.number;
    return str_eq(p.text, q.text);
}

static bool condition_ordered(enum op op, struct str x, struct str y, struct arena *a) {
    struct scalar p = scalar_of(x, a), q = scalar_of(y, a);
    if (!p.is_number || !q.is_number) return false;
    switch (op) {
    case OP_GT:
        return p.number > q.number;
    case OP_GTE:
        return p.number >= q.number;
    case OP_LT:
        return p.number < q.number;
    default:
        return p.number <= q.number;
    }
}

static bool rule_holds(const struct json_members *m, const struct json_members *context,
                       struct arena *a) {
    const struct json_member *var = json_member_find(m, "var");
    const struct json_member *rule = &m->v[var == &m->v[0] ? 1 : 0];
    int op = wr_name_find(&OP_NAMES, rule->key);
    struct json_elements e;
    const struct json_member *found = json_member_sorted(context, json_string(var->raw, a));
    if (found == NULL) return op == OP_NOT_EQUALS;
    if (op == OP_EQUALS) return equal_loosely(found->raw, rule->raw, a);
    if (op == OP_NOT_EQUALS) return !equal_loosely(found->raw, rule->raw, a);
    if (op != OP_IN) return condition_ordered((enum op)op, found->raw, rule->raw, a);
    if (json_elements(rule->raw, a, &e, NULL) != 0) return false;
    for (size_t i = 0; i < e.n; i++)
        if (equal_loosely(found->raw, e.v[i], a)) return true;
    return false;
}

static bool holds_at(struct str json, const struct json_members *context, unsigned depth,
                     struct arena *a) {
    struct json_members m;
    struct json_elements e;
    if (depth > WR_CONDITION_DEPTH_MAX || json_members(json, a, &m, NULL) != 0 || m.n == 0)
        return false;
    if (m.n > 1) return rule_holds(&m, context, a);
    if (str_eqc(m.v[0].key, "not")) return !holds_at(m.v[0].raw, context, depth + 1, a);
    bool all = str_eqc(m.v[0].key, "and");
    if (json_elements(m.v[0].raw, a, &e, NULL) != 0) return false;
    for (size_t i = 0; i < e.n; i++)
        if (holds_at(e.v[i], context, depth + 1, a) != all) return !all;
    return all;
}

int wr_condition_holds(struct str json, const struct json_members *context, struct arena *a,
                       bool *holds) {
    *holds = holds_at(json, context, 0, a);
    return arena_failed(a) ? WOPR_E_NO_MEMORY : 0;
}
