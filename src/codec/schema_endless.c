/*
 * schema_endless.c: does a schema come back to itself without having gone into the instance?  Such
 * a schema can be evaluated on nothing (2020-12, 9.4.1).  Only keywords that apply their subschemas
 * in place are followed; a walk with a stack of its own, each node once.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "codec/schema_rules.h"

struct visit {
    const struct schema_node *node;
    unsigned kw; /* next to be followed: the keyword, and which of its subschemas */
    size_t child;
};
struct walk {
    struct visit *v;
    size_t n, cap;
    struct map *seen; /* node -> UNDER_WAY or OVER */
};
static char UNDER_WAY, OVER;

static struct str key_of(const struct schema_node *const *n) {
    return str_n((const char *)n, sizeof *n);
}

/* The i-th subschema that kw applies to the very instance that its own schema is applied to. */
static const struct schema_node *child_of(const struct schema_kw *kw, size_t i) {
    if (kw->rule->eval == schema_eval_ref || kw->rule->eval == schema_eval_not)
        return i == 0 ? kw->u.node : NULL;
    if (kw->rule->eval == schema_eval_dynref) return i == 0 ? kw->u.dynref.node : NULL;
    if (kw->rule->eval == schema_eval_all || kw->rule->eval == schema_eval_any ||
        kw->rule->eval == schema_eval_one)
        return i < kw->u.nodes.n ? kw->u.nodes.v[i] : NULL;
    if (kw->rule->eval == schema_eval_dep_schemas)
        return i < kw->u.named.n ? kw->u.named.v[i].node : NULL;
    if (kw->rule->eval != schema_eval_if) return NULL;
    const struct schema_node *const parts[] = {kw->u.cond->test, kw->u.cond->yes, kw->u.cond->no};
    size_t left = i;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (parts[k] != NULL && left-- == 0) return parts[k];
    return NULL;
}

/* The next subschema of the visit that is on top, NULL: it has no more. */
static const struct schema_node *walk_next(struct visit *top) {
    while (top->kw < top->node->n) {
        const struct schema_node *child = child_of(&top->node->kw[top->kw], top->child++);
        if (child != NULL) return child;
        top->kw++;
        top->child = 0;
    }
    return NULL;
}

static int walk_enter(struct walk *w, const struct schema_node *n) {
    if (VEC_ROOM(w->v, w->n, w->cap, 16) != 0 ||
        map_put(w->seen, key_of(&n), &UNDER_WAY, NULL) != 0)
        return WOPR_E_NO_MEMORY;
    w->v[w->n++] = (struct visit){.node = n};
    return 0;
}

/* All that node leads to.  VALIDATION: *at leads back. */
static int walk_from(struct walk *w, const struct schema_node *node,
                     const struct schema_node **at) {
    int rc = map_get(w->seen, key_of(&node)) == NULL ? walk_enter(w, node) : 0;
    while (rc == 0 && w->n > 0) {
        struct visit *top = &w->v[w->n - 1];
        const struct schema_node *child = walk_next(top);
        *at = top->node;
        if (child == NULL) {
            rc = map_put(w->seen, key_of(&top->node), &OVER, NULL);
            w->n--;
            continue;
        }
        const char *was = map_get(w->seen, key_of(&child));
        if (was == &UNDER_WAY) return WOPR_E_VALIDATION;
        if (was == NULL) rc = walk_enter(w, child);
    }
    return rc;
}

int schema_check_ends(const struct schema_set *set, struct wopr_error *err) {
    struct walk w = {.seen = map_new()};
    const struct schema_node *at = NULL;
    char place[sizeof err->pointer];
    struct str key;
    void *node;
    int rc = w.seen != NULL ? 0 : WOPR_E_NO_MEMORY;
    for (size_t it = 0; rc == 0 && map_next(set->nodes, &it, &key, &node);)
        rc = walk_from(&w, node, &at);
    map_free(w.seen);
    mem_free(w.v);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory to check a schema");
    if (rc == 0) return 0;
    schema_loc_print(at->loc, NULL, place, sizeof place);
    return wopr_error_at(err, rc, place,
                         "the schema leads back to itself without going into the instance, so "
                         "nothing can be held against it");
}
