/*
 * workflow_graph.c: adjacency, loopback edges, entries (WF-11, NODE-14).  A loopback is an edge to
 * an ancestor on the stack of a depth-first search.  The search starts at the nodes without any
 * incoming edge in nodes[] order, then at unseen nodes in nodes[] order: for a graph written in its
 * natural order that is nodes[0] first, and the order of nodes[] cannot turn a real entry's edge
 * into a loopback.  Without loopbacks the graph has no cycle, so some entry always exists.
 */
#include "domain/workflow_int.h"

static int adjacency_build(struct wfc *c) {
    struct workflow *w = c->w;
    for (size_t i = 0; i < w->edges_nr; i++) {
        w->nodes[w->edges[i].src].out_nr++;
        w->nodes[w->edges[i].dst].in_nr++;
    }
    for (size_t i = 0; i < w->nodes_nr; i++) {
        struct wf_node *n = &w->nodes[i];
        n->out_edges = ARENA_ARRAY(w->arena, int, n->out_nr);
        n->in_edges = ARENA_ARRAY(w->arena, int, n->in_nr);
        if (n->out_edges == NULL || n->in_edges == NULL) return wfc_memory(c);
        n->out_nr = n->in_nr = 0;
    }
    for (size_t i = 0; i < w->edges_nr; i++) {
        struct wf_node *src = &w->nodes[w->edges[i].src], *dst = &w->nodes[w->edges[i].dst];
        src->out_edges[src->out_nr++] = (int)i;
        dst->in_edges[dst->in_nr++] = (int)i;
    }
    return 0;
}

enum colour { UNSEEN, ON_STACK, DONE };
struct frame {
    int node;
    size_t next; /* index into out_edges */
};

static void loops_search(struct workflow *w, int root, unsigned char *colour, struct frame *stack) {
    size_t depth = 0;
    stack[depth++] = (struct frame){root, 0};
    colour[root] = ON_STACK;
    while (depth > 0) {
        struct frame *f = &stack[depth - 1];
        const struct wf_node *n = &w->nodes[f->node];
        if (f->next == n->out_nr) {
            colour[f->node] = DONE;
            depth--;
            continue;
        }
        struct wf_edge *e = &w->edges[n->out_edges[f->next++]];
        if (colour[e->dst] == ON_STACK) {
            e->loopback = true;
            w->has_loop = true;
        } else if (colour[e->dst] == UNSEEN) {
            colour[e->dst] = ON_STACK;
            stack[depth++] = (struct frame){e->dst, 0};
        }
    }
}

static bool is_source(const struct workflow *w, const struct wf_node *n) {
    for (size_t k = 0; k < n->in_nr; k++)
        if (!w->edges[n->in_edges[k]].loopback) return false;
    return true;
}

/* CHAN-20: a node started by a channel-write trigger, and by no edge, waits for the trigger, unless
 * nothing else could begin the run. */
static void entries_mark(struct workflow *w) {
    bool marked = false; /* start nodes alone are entries (30-nodes 2.4) */
    bool others = false;
    for (size_t i = 0; i < w->nodes_nr; i++) {
        struct wf_node *n = &w->nodes[i];
        bool start = (n->traits & NODE_IS_START) != 0;
        if (start) marked = n->is_entry = true;
        n->dormant = n->dormant && !start && is_source(w, n);
        others = others || (is_source(w, n) && !n->dormant);
    }
    for (size_t i = 0; i < w->nodes_nr; i++) {
        struct wf_node *n = &w->nodes[i];
        n->dormant = n->dormant && (marked || others);
        if (!marked) n->is_entry = is_source(w, n) && !n->dormant;
    }
}

int wfc_graph(struct wfc *c) {
    struct workflow *w = c->w;
    int rc = adjacency_build(c);
    if (rc != 0) return rc;
    unsigned char *colour = arena_alloc(c->tmp, w->nodes_nr);
    struct frame *stack = ARENA_ARRAY(c->tmp, struct frame, w->nodes_nr);
    if (colour == NULL || stack == NULL) return wfc_memory(c);
    for (size_t i = 0; i < w->nodes_nr; i++)
        if (w->nodes[i].in_nr == 0) loops_search(w, (int)i, colour, stack);
    for (size_t i = 0; i < w->nodes_nr; i++)
        if (colour[i] == UNSEEN) loops_search(w, (int)i, colour, stack);
    entries_mark(w);
    return 0;
}
