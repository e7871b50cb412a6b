/*
 * criteria.c: see criteria.h.  Recursion ends at WR_CRITERIA_DEPTH_MAX.
 */
#include "workrail/criteria.h"

#include "base/find.h"
#include "codec/pattern.h"
#include "codec/schema.h"
#include "workrail/shape.h"

#include <stdio.h>

enum rule_type { RULE_CONTAINS, RULE_LENGTH, RULE_REGEX, RULE_SCHEMA };
struct rule {
    int type; /* enum rule_type */
    struct str value, pattern, flags, schema, message;
    struct str min_raw, max_raw; /* absent: p NULL */
    int64_t min, max;
};
#define AT(member) offsetof(struct rule, member)
#define MESSAGE                                                                                    \
    { "message", WF_TEXT, WF_OPT, AT(message), NULL, 1, 0 }
static const struct wr_field CONTAINS_FIELDS[] = {
    MESSAGE, {"type", WF_TAG, 0, 0, NULL, 0, 0}, {"value", WF_TEXT, 0, AT(value), NULL, 1, 0}};
static const struct wr_field LENGTH_FIELDS[] = {{"max", WF_JSON, WF_OPT, AT(max_raw), NULL, 0, 0},
                                                MESSAGE,
                                                {"min", WF_JSON, WF_OPT, AT(min_raw), NULL, 0, 0},
                                                {"type", WF_TAG, 0, 0, NULL, 0, 0}};
static const struct wr_field REGEX_FIELDS[] = {{"flags", WF_TEXT, WF_OPT, AT(flags), NULL, 0, 8},
                                               MESSAGE,
                                               {"pattern", WF_TEXT, 0, AT(pattern), NULL, 1, 0},
                                               {"type", WF_TAG, 0, 0, NULL, 0, 0}};
static const struct wr_field SCHEMA_FIELDS[] = {
    MESSAGE, {"schema", WF_OBJECT, 0, AT(schema), NULL, 0, 0}, {"type", WF_TAG, 0, 0, NULL, 0, 0}};
static bool length_bound(struct str raw, int64_t *out) {
    return raw.p == NULL || (json_type_of(raw) == JSON_NUMBER && json_int(raw, out) && *out >= 0);
}
static int length_check(const void *base, struct wr_fault *f) {
    const struct rule *r = base;
    int64_t min = 0, max = INT64_MAX;
    if ((r->min_raw.p == NULL && r->max_raw.p == NULL) || !length_bound(r->min_raw, &min) ||
        !length_bound(r->max_raw, &max) || min > max)
        return wr_fail(f, WR_SCHEMA_INVALID, "", "length takes min, max or both, in order");
    return 0;
}
static const struct wr_shape CONTAINS = WR_SHAPE(CONTAINS_FIELDS, struct rule),
                             LENGTH = WR_SHAPE_CHECKED(LENGTH_FIELDS, struct rule, length_check),
                             REGEX = WR_SHAPE(REGEX_FIELDS, struct rule),
                             SCHEMA = WR_SHAPE(SCHEMA_FIELDS, struct rule);
static const char *const TYPES[] = {"contains", "length", "regex", "schema"};
static const struct wr_shape *const RULE_SHAPES[] = {&CONTAINS, &LENGTH, &REGEX, &SCHEMA};
static const struct wr_union RULE_UNION = {"type", WR_NAMES(TYPES), RULE_SHAPES, AT(type)};
static const struct wr_shape RULE = {.size = sizeof(struct rule), .variants = &RULE_UNION};

static int rule_read(struct str json, struct arena *a, struct rule *out, struct wr_fault *f) {
    *out = (struct rule){.min = -1, .max = -1};
    int rc = wr_shape_read(&RULE, json, a, out, f);
    if (rc == 0 && out->min_raw.p != NULL) (void)json_int(out->min_raw, &out->min);
    if (rc == 0 && out->max_raw.p != NULL) (void)json_int(out->max_raw, &out->max);
    return rc;
}

/* --- trees of rules --- */

enum tree_kind { TREE_RULE, TREE_ALL, TREE_ANY, TREE_NOT };
struct tree {
    enum tree_kind kind;
    struct json_elements parts; /* ALL, ANY */
    struct str part;            /* NOT, RULE */
};

/* false: no memory. */
static bool tree_read(struct str json, struct arena *a, struct tree *out) {
    struct json_members m;
    *out = (struct tree){.kind = TREE_RULE, .part = json};
    if (json_type_of(json) == JSON_ARRAY) {
        out->kind = TREE_ALL;
        return json_elements(json, a, &out->parts, NULL) == 0;
    }
    if (json_type_of(json) != JSON_OBJECT) return true;
    if (json_members(json, a, &m, NULL) != 0) return false;
    if (m.n != 1) return true;
    bool all = str_eqc(m.v[0].key, "and"), any = str_eqc(m.v[0].key, "or");
    if (str_eqc(m.v[0].key, "not")) *out = (struct tree){.kind = TREE_NOT, .part = m.v[0].raw};
    if (!(all || any) || json_type_of(m.v[0].raw) != JSON_ARRAY) return true;
    out->kind = all ? TREE_ALL : TREE_ANY;
    return json_elements(m.v[0].raw, a, &out->parts, NULL) == 0;
}

/* --- check --- */

struct check {
    struct arena *a;
    struct wr_fault *f;
    size_t rules;
};

static int criteria_wrong(struct wr_fault *f, const char *what) {
    return wr_fail(f, WR_COMPILE_ERROR, "", "%s", what);
}

static int schema_open(struct str schema, struct schema_set **set, const struct schema **out,
                       struct wopr_error *err) {
    *set = schema_set_new(false);
    if (*set == NULL) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    int rc = schema_set_add(*set, STR("urn:wopr:criterion"), schema, err);
    if (rc == 0) rc = schema_compile(*set, STR("urn:wopr:criterion"), out, err);
    return rc;
}

static int rule_check(struct check *c, struct str json) {
    struct rule r;
    struct pattern *p = NULL;
    struct schema_set *set = NULL;
    const struct schema *schema;
    struct wopr_error err = {0};
    int rc = rule_read(json, c->a, &r, c->f);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    if (rc != 0) {
        c->f->code = WR_COMPILE_ERROR; /* the pointer and the sentence stay */
        return c->f->e.code = wr_code_neutral(WR_COMPILE_ERROR);
    }
    if (++c->rules > WR_CRITERIA_RULES_MAX) return criteria_wrong(c->f, "there are too many rules");
    if (r.type == RULE_REGEX) rc = pattern_new(r.pattern, r.flags, &p, &err);
    if (r.type == RULE_SCHEMA) rc = schema_open(r.schema, &set, &schema, &err);
    if (r.type == RULE_SCHEMA && rc == 0) rc = schema_check_ends(set, &err);
    pattern_free(p);
    schema_set_free(set);
    if (rc == WOPR_E_NO_MEMORY) return wr_no_memory(c->f);
    return rc == 0 ? 0 : criteria_wrong(c->f, err.message);
}

static int tree_check(struct check *c, struct str json, unsigned depth) {
    struct tree t;
    if (depth > WR_CRITERIA_DEPTH_MAX) return criteria_wrong(c->f, "the rules nest too deep");
    if (!tree_read(json, c->a, &t)) return wr_no_memory(c->f);
    if (t.kind == TREE_RULE) return rule_check(c, t.part);
    if (t.kind == TREE_NOT) return tree_check(c, t.part, depth + 1);
    if (t.parts.n == 0) return criteria_wrong(c->f, "the list of rules is empty");
    for (size_t i = 0; i < t.parts.n; i++) {
        int rc = tree_check(c, t.parts.v[i], depth + 1);
        if (rc != 0) {
            char name[24];
            snprintf(name, sizeof name, "%zu", i);
            wr_fault_in(c->f, str_c(name));
            return rc;
        }
    }
    return 0;
}

int wr_criteria_check(struct str json, struct arena *a, struct wr_fault *f) {
    struct wr_fault own;
    struct check c = {.a = a, .f = f != NULL ? f : &own};
    wopr_error_clear(&c.f->e);
    return tree_check(&c, json, 0);
}

/* --- judgement --- */

struct judge {
    struct str notes;
    struct arena *a;
    struct wr_texts *issues;
    size_t cap;
    uint64_t steps;
    struct wr_fault *f;
};

static int contains_holds(struct judge *j, const struct rule *r, bool *holds) {
    struct needle needle;
    struct finder find;
    if (needle_make(&needle, r->value, j->a) != 0) return WOPR_E_NO_MEMORY;
    finder_begin(&find, &needle, j->notes);
    *holds = finder_next(&find, 0) < j->notes.n;
    return 0;
}

static int regex_holds(struct judge *j, const struct rule *r, bool *holds) {
    struct pattern *p;
    int rc = pattern_new(r->pattern, r->flags, &p, NULL);
    if (rc != 0) return rc;
    rc = pattern_match(p, j->notes, &j->steps, holds);
    pattern_free(p);
    return rc;
}

static int schema_holds(struct judge *j, const struct rule *r, bool *holds) {
    struct schema_set *set;
    const struct schema *s;
    int rc = schema_open(r->schema, &set, &s, NULL);
    *holds = rc == 0 && json_check(j->notes, &JSON_LIMITS_DEFAULT, NULL) == 0;
    if (rc == 0 && *holds) {
        rc = schema_validate_within(s, j->notes, &j->steps);
        *holds = rc == 0;
        if (rc == WOPR_E_VALIDATION) rc = 0;
    }
    schema_set_free(set);
    return rc;
}

static int rule_holds(struct judge *j, const struct rule *r, bool *holds) {
    int64_t units = (int64_t)wr_utf16_units(j->notes);
    switch (r->type) {
    case RULE_CONTAINS:
        return contains_holds(j, r, holds);
    case RULE_LENGTH:
        *holds = units >= r->min && (r->max < 0 || units <= r->max);
        return 0;
    case RULE_REGEX:
        return regex_holds(j, r, holds);
    default:
        return schema_holds(j, r, holds);
    }
}

/* What the issue of a rule says when it has no message of its own. */
static struct str rule_issue(const struct rule *r, struct arena *a) {
    if (r->message.p != NULL) return r->message;
    switch (r->type) {
    case RULE_CONTAINS:
        return arena_printf(a, "Must contain: \"" STR_FMT "\"", STR_ARG(r->value));
    case RULE_REGEX:
        return arena_printf(a, "Must match pattern: " STR_FMT, STR_ARG(r->pattern));
    case RULE_SCHEMA:
        return arena_printf(a, "Must be JSON that fits the schema of the step");
    default:
        break;
    }
    if (r->max < 0) return arena_printf(a, "Must have at least %lld characters", (long long)r->min);
    if (r->min < 0) return arena_printf(a, "Must have at most %lld characters", (long long)r->max);
    return arena_printf(a, "Must have %lld to %lld characters", (long long)r->min,
                        (long long)r->max);
}

static int issue_add(struct judge *j, struct str text) {
    if (text.p == NULL) return wr_no_memory(j->f);
    if (j->issues->nr == j->cap) return 0; /* one a rule: full means rules beyond their number */
    j->issues->v[j->issues->nr++] = text;
    return 0;
}

static int tree_judge(struct judge *j, struct str json, unsigned depth, bool loud, bool *holds);

static int parts_judge(struct judge *j, const struct tree *t, unsigned depth, bool loud,
                       bool *holds) {
    bool all = t->kind == TREE_ALL;
    *holds = all;
    for (size_t i = 0; i < t->parts.n; i++) {
        bool one;
        int rc = tree_judge(j, t->parts.v[i], depth + 1, loud && all, &one);
        if (rc != 0) return rc;
        *holds = all ? *holds && one : *holds || one;
    }
    if (all || *holds || !loud) return 0;
    return issue_add(j, arena_printf(j->a, "None of the %zu alternatives holds", t->parts.n));
}

static int tree_judge(struct judge *j, struct str json, unsigned depth, bool loud, bool *holds) {
    struct tree t;
    struct rule r;
    *holds = false;
    if (depth > WR_CRITERIA_DEPTH_MAX || !tree_read(json, j->a, &t)) return wr_no_memory(j->f);
    if (t.kind == TREE_ALL || t.kind == TREE_ANY) return parts_judge(j, &t, depth, loud, holds);
    if (t.kind == TREE_NOT) {
        int rc = tree_judge(j, t.part, depth + 1, false, holds);
        *holds = !*holds;
        if (rc != 0 || *holds || !loud) return rc;
        return issue_add(j, STR("What must not hold does hold"));
    }
    int rc = rule_read(t.part, j->a, &r, j->f);
    if (rc == 0) rc = rule_holds(j, &r, holds);
    if (rc == WOPR_E_NO_MEMORY) return wr_no_memory(j->f);
    if (rc != 0)
        return wr_fail(j->f, WR_VALIDATION_ERROR, "", "a rule of the step cannot be evaluated");
    return *holds || !loud ? 0 : issue_add(j, rule_issue(&r, j->a));
}

int wr_criteria_judge(struct str json, struct str notes, struct arena *a, struct wr_texts *issues,
                      struct wr_fault *f) {
    struct judge j = {.notes = notes,
                      .a = a,
                      .issues = issues,
                      .cap = 2 * WR_CRITERIA_RULES_MAX,
                      .steps = PATTERN_STEPS_MAX,
                      .f = f};
    bool holds;
    issues->nr = 0;
    issues->v = ARENA_ARRAY(a, struct str, j.cap);
    if (issues->v == NULL) return wr_no_memory(f);
    int rc = tree_judge(&j, json, 0, true, &holds);
    if (rc == 0 && !holds && issues->nr == 0)
        rc = issue_add(&j, STR("The notes are not sufficient"));
    return rc;
}

/* --- prompts --- */

static struct str rule_line(const struct rule *r, struct arena *a) {
    switch (r->type) {
    case RULE_CONTAINS:
        return arena_printf(a, "Must contain: \"" STR_FMT "\"", STR_ARG(r->value));
    case RULE_REGEX:
        return arena_printf(a, "Must match pattern: " STR_FMT "%s" STR_FMT "%s",
                            STR_ARG(r->pattern), r->flags.n > 0 ? " (flags: " : "",
                            STR_ARG(r->flags), r->flags.n > 0 ? ")" : "");
    case RULE_LENGTH:
        break;
    default:
        return STR_NONE;
    }
    if (r->max < 0) return arena_printf(a, "Length: \xE2\x89\xA5%lld chars", (long long)r->min);
    if (r->min < 0) return arena_printf(a, "Length: \xE2\x89\xA4%lld chars", (long long)r->max);
    return arena_printf(a, "Length: \xE2\x89\xA5%lld chars, \xE2\x89\xA4%lld chars",
                        (long long)r->min, (long long)r->max);
}

static int lines_of(struct str json, unsigned depth, struct arena *a, struct wr_texts *out) {
    struct tree t;
    struct rule r;
    if (depth > WR_CRITERIA_DEPTH_MAX || out->nr == WR_REQUIREMENTS_MAX) return 0;
    if (!tree_read(json, a, &t)) return WOPR_E_NO_MEMORY;
    if (t.kind == TREE_ALL) {
        int rc = 0;
        for (size_t i = 0; rc == 0 && i < t.parts.n; i++)
            rc = lines_of(t.parts.v[i], depth + 1, a, out);
        return rc;
    }
    if (t.kind != TREE_RULE) return 0;
    if (rule_read(t.part, a, &r, NULL) != 0) return arena_failed(a) ? WOPR_E_NO_MEMORY : 0;
    struct str line = rule_line(&r, a);
    if (line.p != NULL) out->v[out->nr++] = line;
    return arena_failed(a) ? WOPR_E_NO_MEMORY : 0;
}

int wr_criteria_lines(struct str json, struct arena *a, struct wr_texts *out) {
    *out = (struct wr_texts){ARENA_ARRAY(a, struct str, WR_REQUIREMENTS_MAX), 0};
    return out->v == NULL ? WOPR_E_NO_MEMORY : lines_of(json, 0, a, out);
}

bool wr_criteria_one_contains(struct str json, struct arena *a) {
    struct tree t;
    struct rule r;
    for (unsigned depth = 0; depth <= WR_CRITERIA_DEPTH_MAX; depth++) {
        if (!tree_read(json, a, &t)) return false;
        if (t.kind == TREE_RULE)
            return rule_read(t.part, a, &r, NULL) == 0 && r.type == RULE_CONTAINS;
        if (t.kind != TREE_ALL || t.parts.n != 1) return false;
        json = t.parts.v[0];
    }
    return false;
}
