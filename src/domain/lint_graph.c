/*
 * lint_graph.c: the shape of the graph: cycles without an end, nodes without a start, loops whose
 * edges have no condition, joins that wait for branches of which only one runs.  Linear in nodes
 * and edges.
 */
#include "domain/lint_int.h"

struct graph {
    size_t *first, *next; /* edges out of a node, as lists: index + 1, 0 = none */
    size_t *queue;
    size_t queue_nr;
    size_t *in, *out; /* remaining edges, by node */
    bool *seen;
};

static bool graph_build(struct lint *l, struct graph *g) {
    size_t n = l->nodes_nr + 1;
    *g = (struct graph){.first = ARENA_ARRAY(l->a, size_t, n),
                        .next = ARENA_ARRAY(l->a, size_t, l->edges_nr + 1),
                        .queue = ARENA_ARRAY(l->a, size_t, n),
                        .in = ARENA_ARRAY(l->a, size_t, n),
                        .out = ARENA_ARRAY(l->a, size_t, n),
                        .seen = ARENA_ARRAY(l->a, bool, n)};
    if (!g->first || !g->next || !g->queue || !g->in || !g->out || !g->seen) return false;
    for (size_t i = 0; i < l->edges_nr; i++) {
        const struct lint_edge *e = &l->edge_list[i];
        if (e->src < 0 || e->dst < 0) continue;
        g->next[i] = g->first[e->src];
        g->first[e->src] = i + 1;
    }
    return true;
}

/* --- cycles --- */

/* True if something decides whether the edge is followed: a condition, a rule about how its source
 * ended, the node's own decision. */
static bool edge_decides(const struct lint *l, const struct lint_edge *e) {
    return e->condition.p != NULL || str_eqc(e->rule, "any_failed") ||
           l->node_list[e->src].traits & (NODE_IS_DISPATCHER | NODE_IS_SUPERVISOR);
}

/* Remove nodes without an undecided incoming edge, again and again; the rest is on or after a
 * cycle. */
static void cycle_peel(const struct lint *l, struct graph *g) {
    for (size_t n = 0; n < l->nodes_nr; n++)
        if (g->in[n] == 0) g->queue[g->queue_nr++] = n;
    for (size_t at = 0; at < g->queue_nr; at++) {
        size_t n = g->queue[at];
        g->seen[n] = true;
        for (size_t e = g->first[n]; e > 0; e = g->next[e - 1])
            if (!edge_decides(l, &l->edge_list[e - 1]) && --g->in[l->edge_list[e - 1].dst] == 0)
                g->queue[g->queue_nr++] = (size_t)l->edge_list[e - 1].dst;
    }
}

static bool has_end(const struct lint *l) {
    for (size_t i = 0; i < l->nodes_nr; i++)
        if (l->node_list[i].traits & NODE_IS_END) return true;
    return false;
}

/* Report the first edge between two remaining nodes; one is enough. core.end may end the run during
 * the cycle. */
static void cycle_tell(struct lint *l, const struct graph *g, size_t from) {
    for (size_t e = g->first[from]; e > 0; e = g->next[e - 1])
        if (!edge_decides(l, &l->edge_list[e - 1])) {
            size_t mark = lint_at(l, "edges", e - 1);
            lint_tell(l, !has_end(l), NULL, NULL,
                      "this edge is part of a cycle that no condition ends: the run fails after "
                      "settings.maxLoopbackIterations rounds; give an edge of it a condition");
            lint_leave(l, mark);
            return;
        }
}

static void cycles_check(struct lint *l) {
    struct graph g;
    if (!graph_build(l, &g)) {
        l->no_memory = true;
        return;
    }
    for (size_t i = 0; i < l->edges_nr; i++) {
        const struct lint_edge *e = &l->edge_list[i];
        if (e->src >= 0 && e->dst >= 0 && !edge_decides(l, e)) g.in[e->dst]++;
    }
    cycle_peel(l, &g);
    size_t at = 0;
    while (at < l->nodes_nr && g.seen[at]) at++;
    if (at == l->nodes_nr) return;
    /* Each remaining node has an edge from another one, so walking backwards from any of them finds
     * the cycle. */
    size_t *before = ARENA_ARRAY(l->a, size_t, l->nodes_nr);
    if (before == NULL) return;
    for (size_t i = 0; i < l->edges_nr; i++) {
        const struct lint_edge *e = &l->edge_list[i];
        if (e->src >= 0 && e->dst >= 0 && !edge_decides(l, e) && !g.seen[e->src])
            before[e->dst] = i;
    }
    for (size_t i = 0; i < l->nodes_nr; i++) at = (size_t)l->edge_list[before[at]].src;
    cycle_tell(l, &g, at);
}

/* --- reachable --- */

static void node_reach(const struct lint *l, struct graph *g, size_t n) {
    if (g->seen[n]) return;
    g->seen[n] = true;
    g->queue[g->queue_nr++] = n;
    while (g->queue_nr > 0) {
        size_t at = g->queue[--g->queue_nr];
        for (size_t e = g->first[at]; e > 0; e = g->next[e - 1]) {
            size_t to = (size_t)l->edge_list[e - 1].dst;
            if (g->seen[to]) continue;
            g->seen[to] = true;
            g->queue[g->queue_nr++] = to;
        }
    }
}

/* With a core.start only what follows it or a trigger runs (30-nodes 2.4).  Without one, every node
 * without incoming edge begins, and nothing is unreachable. */
static void unreachable_check(struct lint *l) {
    struct graph g;
    bool marked = false;
    if (!graph_build(l, &g)) {
        l->no_memory = true;
        return;
    }
    for (size_t i = 0; i < l->nodes_nr; i++) {
        bool start = (l->node_list[i].traits & NODE_IS_START) != 0;
        marked = marked || start;
        if (start || l->node_list[i].triggered) node_reach(l, &g, i);
    }
    for (size_t i = 0; marked && i < l->nodes_nr; i++) {
        if (g.seen[i] || json_type_of(l->node_list[i].raw) != JSON_OBJECT) continue;
        size_t mark = lint_at(l, "nodes", i);
        lint_tell(l, true, NULL, NULL,
                  "nothing leads from a core.start node to \"%.*s\": it never runs; add an edge, "
                  "or take it out",
                  LINT_SHOWN(l->node_list[i].id));
        lint_leave(l, mark);
    }
}

/* --- loops and joins --- */

static void loops_check(struct lint *l) {
    for (size_t i = 0; i < l->edges_nr; i++) {
        const struct lint_edge *e = &l->edge_list[i];
        if (e->src < 0 || e->condition.p != NULL) continue;
        if (!(l->node_list[e->src].traits & NODE_IS_LOOP)) continue;
        size_t mark = lint_at(l, "edges", i);
        lint_tell(l, false, NULL, NULL,
                  "an edge out of a loop must ask output.done (false: the body, true: the way "
                  "out); without a condition it is followed in every round and after the last");
        lint_leave(l, mark);
    }
}

/* The node that decides whether n runs: the source of its only edge, when that has a condition. */
static int decider_of(const struct lint *l, const size_t *only, int n) {
    if (only[n] == 0 || only[n] > l->edges_nr) return -1;
    const struct lint_edge *e = &l->edge_list[only[n] - 1];
    if (e->condition.p == NULL || !(l->node_list[e->src].traits & NODE_IS_ROUTER)) return -1;
    return e->src;
}

static bool waits_for_all(const struct lint_edge *e) {
    return e->condition.p == NULL && (e->rule.p == NULL || str_eqc(e->rule, "all_success"));
}

/* Two branches of one core.conditional meet in a node that waits for both (WF-8): it is skipped
 * with the branch that was not taken. */
static void joins_check(struct lint *l) {
    size_t *only = ARENA_ARRAY(l->a, size_t, l->nodes_nr + 1); /* edge + 1; more than one: MAX */
    int *waits = ARENA_ARRAY(l->a, int, l->nodes_nr + 1);      /* decider + 1 of an edge before */
    if (only == NULL || waits == NULL) return;
    for (size_t i = 0; i < l->edges_nr; i++) {
        const struct lint_edge *e = &l->edge_list[i];
        if (e->src >= 0 && e->dst >= 0) only[e->dst] = only[e->dst] == 0 ? i + 1 : SIZE_MAX;
    }
    for (size_t i = 0; i < l->edges_nr; i++) {
        const struct lint_edge *e = &l->edge_list[i];
        if (e->src < 0 || e->dst < 0 || !waits_for_all(e)) continue;
        int decider = decider_of(l, only, e->src);
        if (decider < 0) continue;
        if (waits[e->dst] != decider + 1) {
            waits[e->dst] = decider + 1;
            continue;
        }
        size_t mark = lint_at(l, "edges", i);
        lint_tell(l, false, NULL, NULL,
                  "\"%.*s\" waits for two branches of \"%.*s\": when only one of them runs it is "
                  "skipped; set triggerRule none_failed on its incoming edges",
                  LINT_SHOWN(l->node_list[e->dst].id), LINT_SHOWN(l->node_list[decider].id));
        lint_leave(l, mark);
    }
}

void lint_graph(struct lint *l) {
    cycles_check(l);
    unreachable_check(l);
    loops_check(l);
    joins_check(l);
}
