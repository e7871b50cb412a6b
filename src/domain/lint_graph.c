/* lint_graph.c: edges, their conditions, and cycles without an end. */
#include "domain/lint_int.h"

#include <stdio.h>

static void left_path(struct lint *l, struct str condition, const char *pointer) {
    struct str left = lint_text(l, condition, "left"), root, rest, name, deeper;
    if (left.p == NULL || !str_cut(left, '.', &root, &rest) || !str_eqc(root, "variables")) return;
    if (!str_cut(rest, '.', &name, &deeper)) name = rest;
    lint_variable(l, name, pointer, "left");
}

static void edge_check(struct lint *l, struct str raw, size_t i) {
    char at[LINT_POINTER], cond[LINT_POINTER + 16];
    (void)snprintf(at, sizeof at, "/edges/%zu", i);
    (void)snprintf(cond, sizeof cond, "%s/condition", at);
    lint_members(l, raw, at,
                 "id sourceNodeId sourceOutput targetNodeId targetInput condition label "
                 "triggerRule",
                 true);
    lint_name(l, raw, at, "sourceNodeId", l->nodes, "node");
    lint_name(l, raw, at, "targetNodeId", l->nodes, "node");
    lint_word(l, raw, at, "triggerRule",
              "all_success any_success all_complete none_failed any_failed");
    struct str c = json_get(raw, "condition");
    if (c.p == NULL || json_type_of(c) != JSON_OBJECT) return;
    lint_members(l, c, cond, "type left right expression", true);
    lint_word(l, c, cond, "type", "expression equals notEquals contains regex");
    lint_expression(l, lint_text(l, c, "expression"), cond, "expression");
    left_path(l, c, cond);
}

/* --- cycles: nodes left after removing, again and again, those without an unconditional incoming
 * edge --- */

struct graph {
    size_t *in, nodes; /* unconditional edges into a node from remaining ones */
    int *src, *dst;    /* -1: has a condition, or an unknown node */
};

static int index_of(struct lint *l, struct str id) {
    const struct str *at = id.p != NULL ? map_get(l->nodes, id) : NULL;
    return at != NULL ? (int)(at - l->node_list.v) : -1;
}

static bool node_routes(struct lint *l, int node) {
    return (node_traits(lint_text(l, l->node_list.v[node], "typeId")) & NODE_IS_ROUTER) != 0;
}

static bool read_graph(struct lint *l, struct graph *g) {
    g->nodes = l->node_list.n;
    g->in = ARENA_ARRAY(l->a, size_t, g->nodes + 1);
    g->src = ARENA_ARRAY(l->a, int, l->edge_list.n + 1);
    g->dst = ARENA_ARRAY(l->a, int, l->edge_list.n + 1);
    if (g->in == NULL || g->src == NULL || g->dst == NULL) return false;
    for (size_t i = 0; i < l->edge_list.n; i++) {
        struct str e = l->edge_list.v[i];
        g->src[i] = g->dst[i] = -1;
        if (json_get(e, "condition").p != NULL) continue;
        int from = index_of(l, lint_text(l, e, "sourceNodeId"));
        int to = index_of(l, lint_text(l, e, "targetNodeId"));
        if (from < 0 || to < 0 || node_routes(l, from)) continue;
        g->src[i] = from;
        g->dst[i] = to;
        g->in[to]++;
    }
    return true;
}

static bool take_away(struct lint *l, struct graph *g, bool *gone) {
    bool any = false;
    for (size_t n = 0; n < g->nodes; n++) {
        if (gone[n] || g->in[n] > 0) continue;
        gone[n] = any = true;
        for (size_t i = 0; i < l->edge_list.n; i++)
            if (g->src[i] == (int)n) g->in[g->dst[i]]--;
    }
    return any;
}

static void cycles_check(struct lint *l) {
    enum { NODES_MAX = 500 }; /* the search is quadratic; larger definitions are generated */
    struct graph g;
    if (l->node_list.n > NODES_MAX || l->edge_list.n > 4 * NODES_MAX) return;
    bool *gone = ARENA_ARRAY(l->a, bool, l->node_list.n + 1);
    if (gone == NULL || !read_graph(l, &g)) {
        l->no_memory = true;
        return;
    }
    while (take_away(l, &g, gone)) continue;
    for (size_t i = 0; i < l->edge_list.n; i++) {
        char at[LINT_POINTER];
        if (g.src[i] < 0 || gone[g.src[i]] || gone[g.dst[i]]) continue;
        (void)snprintf(at, sizeof at, "/edges/%zu", i);
        lint_tell(l, false, at, NULL,
                  "this edge is part of a cycle without any condition; it ends at "
                  "settings.maxLoopbackIterations only");
        return; /* one finding is enough */
    }
}

void lint_edges(struct lint *l) {
    for (size_t i = 0; i < l->edge_list.n; i++)
        if (json_type_of(l->edge_list.v[i]) == JSON_OBJECT) edge_check(l, l->edge_list.v[i], i);
    cycles_check(l);
}
