/*
 * sched_settle.c: what follows when a node has ended: its loopbacks, its edges and their conditions
 * (WF-8, WF-9, WF-13).
 */
#include "domain/expr_int.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

#define COND_ARENA_MAX (64u * 1024 * 1024) /* a condition that needs more is false */

static int edge_condition(struct run_state *s, const struct wf_edge *e, bool *holds) {
    const struct node_state *n = &s->nodes[e->src];
    *holds = true;
    if (e->cond.kind == COND_NONE) return 0;
    struct run_scope sc = {
        .run = s, .node = e->src, .output_key = e->source_output, .hide_sensitive = true};
    struct expr_scope scope = run_scope_of(&sc);
    /* WF-5: a disabled node counts as completed, with empty outputs */
    sc.status = str_c(node_status_name(n->disabled_skip ? NODE_COMPLETED : n->status));
    sc.outputs = n->outputs.n > 0 ? text_str(&n->outputs) : STR("{}");
    struct arena *a = arena_new(COND_ARENA_MAX);
    if (a == NULL) return WOPR_E_NO_MEMORY;
    int rc = cond_eval(&e->cond, &scope, a, holds);
    if ((rc != 0 || sc.no_memory) && arena_used(a) > COND_ARENA_MAX / 2) {
        *holds = false; /* the bound was hit: the same for every fold of this log */
        rc = 0;
    } else if (sc.no_memory) {
        rc = WOPR_E_NO_MEMORY;
    }
    arena_free(a);
    return rc;
}

/* What the settled source makes of one of its edges. */
static int edge_outcome(struct run_state *s, const struct wf_edge *e, enum edge_state *out) {
    const struct node_state *n = &s->nodes[e->src];
    bool success = n->status == NODE_COMPLETED || n->disabled_skip, holds = true;
    if (!success && n->status != NODE_FAILED) {
        *out = EDGE_SKIPPED;
        return 0;
    }
    /* A failed source: the condition matters only for the rule that waits for a failure. */
    if (success || e->rule == RULE_ANY_FAILED) {
        int rc = edge_condition(s, e, &holds);
        if (rc != 0) return rc;
    }
    if (!holds) *out = EDGE_FALSE;
    else *out = success ? EDGE_TRUE : EDGE_FAILED;
    return 0;
}

/* WF-13: a dispatcher loops after next-worker and ask-user, never after terminate. */
static bool dispatch_terminated(const struct run_state *s, int node) {
    struct str d = json_get(text_str(&s->nodes[node].outputs), "decision");
    return (s->wf->nodes[node].traits & NODE_IS_DISPATCHER) != 0 && s->nodes[node].outputs.n > 0 &&
           str_eqc(d, "\"terminate\"");
}

/* A loopback fires when its source completes (rule all_complete: or fails; any_failed: only when it
 * fails) and its condition holds.  Disabled and skipped sources never loop: such a round costs no
 * execution and nothing would bound it. */
static int loop_fires(struct run_state *s, const struct wf_edge *e, bool *fires) {
    const struct node_state *n = &s->nodes[e->src];
    *fires = false;
    if (s->end_reached) return 0;
    bool wanted = n->status == NODE_COMPLETED
                      ? e->rule != RULE_ANY_FAILED && !dispatch_terminated(s, e->src)
                      : n->status == NODE_FAILED && !n->sched.loop_over &&
                            (e->rule == RULE_ANY_FAILED || e->rule == RULE_ALL_COMPLETE);
    return wanted ? edge_condition(s, e, fires) : 0;
}

/* Loopbacks first: whether a round follows decides what the other edges mean. */
static int loops_settle(struct run_state *s, int node, bool *looped) {
    const struct wf_node *w = &s->wf->nodes[node];
    *looped = false;
    for (size_t i = 0; i < w->out_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[w->out_edges[i]];
        bool fires = false;
        if (!e->loopback) continue;
        int rc = loop_fires(s, e, &fires);
        if (rc != 0) return rc;
        s->edges[w->out_edges[i]] = fires ? EDGE_TRUE : EDGE_FALSE;
        if (fires) sched_loop_request(s, e);
        *looped = *looped || fires;
    }
    return 0;
}

/* When a round follows, an edge that leads nowhere stays open: it is asked again in that round. */
static bool stays_open(const struct wf_edge *e, enum edge_state st) {
    if (st == EDGE_FAILED) return e->rule != RULE_ANY_FAILED && e->rule != RULE_ALL_COMPLETE;
    return st == EDGE_FALSE;
}

static int edges_settle(struct run_state *s, int node, bool looped) {
    const struct wf_node *w = &s->wf->nodes[node];
    for (size_t i = 0; i < w->out_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[w->out_edges[i]];
        enum edge_state st;
        if (e->loopback) continue;
        int rc = edge_outcome(s, e, &st);
        if (rc != 0) return rc;
        if (!looped || !stays_open(e, st)) sched_edge_settle(s, w->out_edges[i], st);
    }
    return 0;
}

int sched_node_settled(struct run_state *s, int node, struct wopr_error *err) {
    struct node_state *n = &s->nodes[node];
    if (s->edges == NULL || n->sched.phase == PHASE_SETTLED)
        return wopr_error_set(err, WOPR_E_CORRUPT, "a node ended twice in one activation");
    bool disabled = n->sched.phase == PHASE_SKIP && n->sched.reason == SKIP_DISABLED;
    sched_dequeue(s, node);
    /* Until all its edges are settled: node_skip looks at settled ones only. */
    n->sched.phase = PHASE_BEGUN;
    n->disabled_skip = disabled && n->status == NODE_SKIPPED;
    s->unsettled_nr--;
    if (n->status == NODE_COMPLETED && (s->wf->nodes[node].traits & NODE_IS_END) != 0)
        s->end_reached = true;
    bool looped;
    int rc = loops_settle(s, node, &looped);
    if (rc == 0) rc = edges_settle(s, node, looped);
    if (rc != 0) return wopr_error_set(err, rc, "no memory to schedule what follows a node");
    n->sched.phase = PHASE_SETTLED;
    if (n->status == NODE_FAILED) {
        if (!n->sched.loop_over) sched_check_handled(s, node);
        else if (s->failed_node < 0)
            s->failed_node = node; /* EVT-40: no edge may handle this one */
    }
    sched_loops_try(s);
    sched_triggers_try(s);
    return 0;
}
