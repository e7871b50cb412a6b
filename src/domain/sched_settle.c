/*
 * sched_settle.c: the consequences of a node's end: its loopbacks, its edges and their conditions
 * (WF-8, WF-9, WF-13).  The fold of the event that ends a node only notes that this is to be done
 * (run_state.settling); it is done condition by condition, before the next event and before anybody
 * asks what to do next, in as many turns as the caller's pace wants.  What a condition sees is the
 * state as the event left it, and what bounds it is counted (EXPR_STEPS_MAX for one,
 * SETTLE_STEPS_MAX for all of an event; beyond, a condition is false), so the pace changes no
 * result.
 *
 * A round of a loop begins when nothing reachable from its head is in flight.  Until then edges of
 * the looping node that lead nowhere stay open for the next round instead of skipping what follows
 * them.  A loopback with any_failed or all_complete also fires on failure and handles it.
 */
#include "base/mem.h"
#include "domain/cond_view.h"
#include "domain/expr_int.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

/* All conditions of an event draw on one budget, each on a part of it. */
static int condition_eval(struct run_state *s, const struct wf_edge *e, bool *holds) {
    struct sched_settling *t = &s->sched.settling;
    uint64_t left = t->steps < EXPR_STEPS_MAX ? t->steps : EXPR_STEPS_MAX, given = left;
    uint64_t refused = mem_refused();
    struct expr_scope scope = cond_view_edge(t->view, e->source_output, &left);
    struct arena *a = arena_new(COND_SCRATCH_MAX);
    if (a == NULL) return WOPR_E_NO_MEMORY;
    int rc = cond_eval(&e->cond, &scope, a, holds);
    bool failed = cond_view_failed(t->view);
    if ((rc != 0 || failed) && mem_refused() == refused) {
        *holds = false; /* a bound was met: the same for every fold of this log */
        rc = 0;
    } else if (failed) {
        rc = WOPR_E_NO_MEMORY;
    }
    arena_free(a);
    t->steps -= given - left;
    t->work += cond_view_spent(t->view, given - left);
    return rc;
}

static int edge_condition(struct run_state *s, const struct wf_edge *e, bool *holds) {
    *holds = true;
    if (e->cond.kind == COND_NONE) return 0;
    s->sched.settling.costs = true;
    *holds = false;
    if (s->sched.settling.steps == 0) return 0;
    if (!s->sched.settling.view)
        s->sched.settling.view = cond_view_new(s, e->src, s->sched.settling.now_ms);
    return s->sched.settling.view ? condition_eval(s, e, holds) : WOPR_E_NO_MEMORY;
}

/* The state of an edge of a settled source. */
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
    if (s->orch.ended_by == node + 1) return true;
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

/* When a round follows, an edge that leads nowhere stays open: it is asked again in that round. */
static bool stays_open(const struct wf_edge *e, enum edge_state st) {
    if (st == EDGE_FAILED) return e->rule != RULE_ANY_FAILED && e->rule != RULE_ALL_COMPLETE;
    return st == EDGE_FALSE;
}

static int loopback_settle(struct run_state *s, int edge) {
    const struct wf_edge *e = &s->wf->edges[edge];
    bool fires = false;
    int rc = loop_fires(s, e, &fires);
    if (rc != 0) return rc;
    s->sched.edges[edge] = fires ? EDGE_TRUE : EDGE_FALSE;
    if (fires) sched_loop_request(s, e);
    s->sched.settling.looped = s->sched.settling.looped || fires;
    return 0;
}

static int forward_settle(struct run_state *s, int edge) {
    const struct wf_edge *e = &s->wf->edges[edge];
    enum edge_state st;
    int rc = edge_outcome(s, e, &st);
    if (rc != 0) return rc;
    if (!s->sched.settling.looped || !stays_open(e, st)) sched_edge_settle(s, edge, st);
    return 0;
}

int sched_node_settled(struct run_state *s, int node, struct wopr_error *err) {
    struct node_state *n = &s->nodes[node];
    if (s->sched.edges == NULL || n->sched.phase == PHASE_SETTLED)
        return wopr_error_set(err, WOPR_E_CORRUPT, "a node ended twice in one activation");
    bool disabled = n->sched.phase == PHASE_SKIP && n->sched.reason == SKIP_DISABLED;
    sched_dequeue(s, node);
    /* Until all its edges are settled: sched_skip looks at settled ones only. */
    n->sched.phase = PHASE_BEGUN;
    n->disabled_skip = disabled && n->status == NODE_SKIPPED;
    s->sched.unsettled_nr--;
    if (n->status == NODE_COMPLETED && (s->wf->nodes[node].traits & NODE_IS_END) != 0)
        s->end_reached = true;
    if (s->orch.ended_by != 0) s->end_reached = true; /* DISP-8 */
    s->sched.settling = (struct sched_settling){
        .node = node + 1, .steps = SETTLE_STEPS_MAX, .now_ms = s->last_ts_ms};
    return 0;
}

static bool turn_over(const struct sched_settling *t, const struct run_pace *pace, uint64_t began) {
    if (!pace || !t->costs) return false;
    bool enough = pace->bytes_max > 0 && t->work - began >= pace->bytes_max;
    return enough || (pace->over && pace->over(pace->ctx));
}

/* Loopbacks first: whether a round follows decides what the other edges mean. */
static int edges_settle(struct run_state *s, const struct run_pace *pace) {
    struct sched_settling *t = &s->sched.settling;
    const uint64_t began = t->work;
    const struct wf_node *w = &s->wf->nodes[t->node - 1];
    while (t->at < 2 * w->out_nr) {
        bool forward = t->at >= w->out_nr;
        int edge = w->out_edges[forward ? t->at - w->out_nr : t->at];
        int rc = 0;
        t->costs = false;
        if (s->wf->edges[edge].loopback != forward)
            rc = forward ? forward_settle(s, edge) : loopback_settle(s, edge);
        if (rc != 0) return rc;
        t->at++;
        if (t->at < 2 * w->out_nr && turn_over(t, pace, began)) return 1;
    }
    return 0;
}

bool run_state_asks(const struct run_state *s) {
    if (!run_state_busy(s)) return false;
    const struct wf_node *w = &s->wf->nodes[s->sched.settling.node - 1];
    for (size_t i = 0; i < w->out_nr; i++)
        if (s->wf->edges[w->out_edges[i]].cond.kind != COND_NONE) return true;
    return false;
}

void sched_settling_drop(struct run_state *s) {
    cond_view_free(s->sched.settling.view);
    s->sched.settling.view = NULL;
}

int run_state_finish(struct run_state *s, const struct run_pace *pace, struct wopr_error *err) {
    if (!run_state_busy(s)) return 0;
    int node = s->sched.settling.node - 1, rc = edges_settle(s, pace);
    if (rc > 0) return 0;
    sched_settling_drop(s);
    if (rc < 0) return wopr_error_set(err, rc, "no memory to schedule what follows a node");
    struct node_state *n = &s->nodes[node];
    s->sched.settling.node = 0;
    n->sched.phase = PHASE_SETTLED;
    sched_wishes_wake(s, node);
    if (n->status == NODE_SKIPPED) sched_slept(s, node);
    if (n->status == NODE_FAILED) {
        if (!n->sched.loop_over) sched_check_handled(s, node);
        else if (s->failure.node < 0)
            s->failure.node = node; /* EVT-40: no edge may handle this one */
    }
    sched_loops_try(s);
    sched_triggers_try(s);
    return 0;
}
