/*
 * schema_validate.c: one validation: the walk over nodes, its budget and what it reports.  Layer:
 * codec. Recursion is bounded by SCHEMA_DEPTH_MAX, work by SCHEMA_STEPS_MAX.
 */
#include "base/mem.h"
#include "codec/schema_rules.h"

#include <stdarg.h>
#include <stdio.h>

enum { AT_PRINTED_MAX = sizeof(((struct schema_issue *)0)->instance) }; /* a step takes a byte */

/* ---- what was evaluated ---- */

int schema_seen_init(struct schema_seen *s, struct json_object *v, unsigned type) {
    *s = (struct schema_seen){.bits = s->inl};
    if (type == SCHEMA_OBJECT) s->n = (size_t)json_object_object_length(v);
    if (type == SCHEMA_ARRAY) s->n = json_object_array_length(v);
    if (s->n <= 128) return 0;
    s->bits = mem_array((s->n + 63) / 64, sizeof *s->bits);
    if (s->bits == NULL) {
        s->bits = s->inl;
        return WOPR_E_NO_MEMORY;
    }
    return 0;
}

void schema_seen_fini(struct schema_seen *s) {
    if (s->bits != s->inl) mem_free(s->bits);
    s->bits = s->inl;
}

void schema_seen_merge(struct schema_seen *into, const struct schema_seen *from) {
    into->all |= from->all;
    for (size_t i = 0; i < (into->n + 63) / 64; i++) into->bits[i] |= from->bits[i];
}

/* ---- the report ---- */

/* Same escaping and cut as a schema location. */
static void print_at(const struct schema_at *at, char *out, size_t size) {
    const struct schema_at *chain[AT_PRINTED_MAX];
    struct schema_loc locs[AT_PRINTED_MAX + 1];
    char digits[AT_PRINTED_MAX][24];
    size_t n = 0, depth = 0;
    for (const struct schema_at *a = at; a != NULL; a = a->up) depth++;
    for (; depth > AT_PRINTED_MAX; depth--) at = at->up; /* the inner ones would be cut anyway */
    for (; at != NULL; at = at->up) chain[n++] = at;
    locs[0] = (struct schema_loc){.up = NULL};
    for (size_t i = 0; i < n; i++) {
        const struct schema_at *a = chain[n - 1 - i];
        const char *token = a->key;
        if (token == NULL) {
            (void)snprintf(digits[i], sizeof digits[i], "%zu", a->index);
            token = digits[i];
        }
        locs[i + 1] = (struct schema_loc){.up = &locs[i], .token = str_c(token)};
    }
    schema_loc_print(&locs[n], NULL, out, size);
}

/* A text cut by snprintf may end inside a code point. */
static void mend_utf8(char *z) {
    size_t n = strlen(z);
    while (n > 0 && !utf8_valid(str_n(z, n))) n--;
    z[n] = '\0';
}

static void issue_report(struct schema_run *r, const struct schema_spot *s,
                         const struct schema_at *at, const char *key, const char *fmt,
                         va_list args) {
    struct schema_issue *out = r->issue;
    if (out == NULL) return;
    print_at(at, out->instance, sizeof out->instance);
    schema_loc_print(s->node->loc, key, out->keyword, sizeof out->keyword);
    (void)vsnprintf(out->reason, sizeof out->reason, fmt, args);
    mend_utf8(out->reason);
}

int schema_fail(struct schema_run *r, const struct schema_spot *s, const char *key, const char *fmt,
                ...) {
    if (r->quiet > 0) return WOPR_E_VALIDATION;
    va_list args;
    va_start(args, fmt);
    issue_report(r, s, s->at, key, fmt, args);
    va_end(args);
    return WOPR_E_VALIDATION;
}

int schema_fail_at(struct schema_run *r, const struct schema_spot *s, const struct schema_at *at,
                   const char *key, const char *fmt, ...) {
    if (r->quiet > 0) return WOPR_E_VALIDATION;
    va_list args;
    va_start(args, fmt);
    issue_report(r, s, at, key, fmt, args);
    va_end(args);
    return WOPR_E_VALIDATION;
}

int schema_over(struct schema_run *r, const struct schema_spot *s) {
    r->quiet = 0; /* the error ends everything */
    r->steps = 0;
    (void)schema_fail(r, s, NULL, "the check needs more steps or depth than allowed");
    return WOPR_E_TOO_BIG;
}

int schema_spend(struct schema_run *r, const struct schema_spot *s, uint64_t steps) {
    if (steps >= r->steps) return schema_over(r, s);
    r->steps -= steps;
    return 0;
}

/* ---- the walk ---- */

static int eval_keywords(struct schema_run *r, const struct schema_spot *s) {
    for (unsigned i = 0; i < s->node->n; i++) {
        const struct schema_kw *kw = &s->node->kw[i];
        if ((kw->rule->types & s->type) == 0) continue;
        int rc = schema_spend(r, s, 1);
        if (rc == 0) rc = kw->rule->eval(r, kw, s);
        if (rc != 0) return rc;
    }
    return 0;
}

/* A node with unevaluated* sees what its own keywords evaluated, not its cousins'. */
static int eval_tracking(struct schema_run *r, const struct schema_spot *s) {
    struct schema_seen own;
    struct schema_spot inner = *s;
    int rc = schema_seen_init(&own, s->v, s->type);
    if (rc != 0) return rc;
    inner.seen = &own;
    rc = eval_keywords(r, &inner);
    if (rc == 0 && s->seen != NULL) schema_seen_merge(s->seen, &own);
    schema_seen_fini(&own);
    return rc;
}

int schema_eval(struct schema_run *r, const struct schema_node *n, struct json_object *v,
                const struct schema_at *at, struct schema_seen *seen) {
    struct schema_spot s = {.v = v, .node = n, .at = at, .seen = seen};
    if (n->never) return schema_fail(r, &s, NULL, "nothing is allowed here");
    if (n->n == 0) return 0;
    if (r->depth >= SCHEMA_DEPTH_MAX) return schema_over(r, &s);
    int rc = schema_spend(r, &s, 1);
    if (rc != 0) return rc;
    const struct schema_scope *outer = r->scope;
    struct schema_scope entered = {.up = outer, .res = n->res};
    if (outer == NULL || outer->res != n->res) r->scope = &entered;
    s.type = schema_type_of(v);
    r->depth++;
    bool counts = (s.type & (SCHEMA_ARRAY | SCHEMA_OBJECT)) != 0;
    rc = n->tracks && counts ? eval_tracking(r, &s) : eval_keywords(r, &s);
    r->depth--;
    r->scope = outer;
    return rc;
}

int schema_validate(const struct schema *s, struct json_object *instance,
                    struct schema_issue *issue) {
    struct schema_run r = {.steps = SCHEMA_STEPS_MAX, .seed = s->seed, .issue = issue};
    return schema_eval(&r, s->root, instance, NULL, NULL);
}

int schema_validate_within(const struct schema *s, struct str text, uint64_t *steps) {
    struct json_object *tree = NULL;
    int rc = json_tree(text, &tree, NULL);
    if (rc != 0) return rc;
    struct schema_run r = {.steps = *steps, .seed = s->seed};
    rc = schema_eval(&r, s->root, tree, NULL, NULL);
    *steps = r.steps;
    json_object_put(tree);
    return rc;
}

int schema_validate_text(const struct schema *s, struct str text, struct schema_issue *issue) {
    struct json_object *tree = NULL;
    int rc = json_tree(text, &tree, NULL);
    if (rc != 0) return rc;
    rc = schema_validate(s, tree, issue);
    json_object_put(tree);
    return rc;
}
