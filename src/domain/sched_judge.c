/*
 * sched_judge.c: verdicts on nodes (WF-7, WF-8).  The tallies of a target count its settled edges
 * by trigger rule; the verdict on the target is made from them, once per activation.
 *
 * Decided here, where the contract leaves room: a cancelled source counts as skipped.  A failure is
 * handled while some any_failed or all_complete target of it has not been skipped (WF-8).
 */
#include "domain/sched_int.h"

enum verdict { VERDICT_WAIT, VERDICT_START, VERDICT_SKIP };

static enum verdict rule_verdict(enum wf_rule rule, const struct sched_tally *t) { /* WF-7 */
    bool all = t->open == 0;
    switch (rule) {
    case RULE_ALL_SUCCESS:
        if (!all) return VERDICT_WAIT;
        return t->yes == t->total ? VERDICT_START : VERDICT_SKIP;
    case RULE_ANY_SUCCESS:
        if (t->yes > 0) return VERDICT_START;
        return all ? VERDICT_SKIP : VERDICT_WAIT;
    case RULE_ALL_COMPLETE:
        return all ? VERDICT_START : VERDICT_WAIT;
    case RULE_NONE_FAILED:
        if (t->failed > 0) return VERDICT_SKIP;
        if (!all) return VERDICT_WAIT;
        return t->yes > 0 ? VERDICT_START : VERDICT_SKIP;
    default: /* RULE_ANY_FAILED */
        if (t->failed > 0) return VERDICT_START;
        return all ? VERDICT_SKIP : VERDICT_WAIT;
    }
}

/* Edges of different rules into one target: every group must be satisfied. */
static enum verdict node_verdict(const struct sched_node *n) {
    enum verdict v = VERDICT_START;
    for (int r = 0; r < RULE_NR; r++) {
        if (n->in[r].total == 0) continue;
        enum verdict g = rule_verdict((enum wf_rule)r, &n->in[r]);
        if (g == VERDICT_SKIP) return g;
        if (g == VERDICT_WAIT) v = g;
    }
    return v;
}

static enum sched_skip why_skipped(const struct sched_node *n) {
    bool condition = false;
    for (int r = 0; r < RULE_NR; r++) {
        if (n->in[r].failed > 0) return SKIP_UPSTREAM_FAILURE;
        condition = condition || n->in[r].no > 0;
    }
    return condition ? SKIP_CONDITION : SKIP_UPSTREAM_SKIPPED;
}

/* WF-8: is the failure handled by some edge of the failed node? A target that was or will be
 * skipped handles nothing. */
static bool failure_handled(const struct run_state *s, int node) {
    const struct wf_node *n = &s->wf->nodes[node];
    for (size_t i = 0; i < n->out_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[n->out_edges[i]];
        const struct node_state *t = &s->nodes[e->dst];
        enum edge_state st = s->sched.edges[n->out_edges[i]];
        if (e->loopback && st == EDGE_TRUE) return true;
        if (e->loopback || st != EDGE_FAILED) continue;
        if (e->rule != RULE_ANY_FAILED && e->rule != RULE_ALL_COMPLETE) continue;
        bool skip = t->sched.phase == PHASE_SKIP && t->sched.reason != SKIP_DISABLED;
        bool skipped = t->status == NODE_SKIPPED && !t->disabled_skip;
        if (!skip && !skipped) return true;
    }
    return false;
}

void sched_check_handled(struct run_state *s, int node) {
    /* A bound that the node met ends the run, whoever waits for failures (ORCH-9, DISP-11). */
    bool ends = s->cap_breached || !failure_handled(s, node);
    if (s->failure.node < 0 && ends) s->failure.node = node;
}

void sched_skip(struct run_state *s, int node, enum sched_skip why) {
    const struct wf_node *n = &s->wf->nodes[node];
    s->nodes[node].sched.reason = (uint8_t)why;
    sched_enqueue(s, node, PHASE_SKIP);
    for (size_t i = 0; why != SKIP_DISABLED && i < n->in_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[n->in_edges[i]];
        const struct node_state *src = &s->nodes[e->src];
        if (src->sched.phase == PHASE_SETTLED && src->status == NODE_FAILED)
            sched_check_handled(s, e->src);
    }
}

void sched_ready(struct run_state *s, int node) {
    if (s->wf->nodes[node].disabled) sched_skip(s, node, SKIP_DISABLED); /* WF-5 */
    else sched_enqueue(s, node, PHASE_READY);
}

static void node_judge(struct run_state *s, int node) {
    struct sched_node *n = &s->nodes[node].sched;
    if (n->phase != PHASE_IDLE) return;
    enum verdict v = node_verdict(n);
    if (v == VERDICT_START) sched_ready(s, node);
    else if (v == VERDICT_SKIP) sched_skip(s, node, why_skipped(n));
}

/* --- edges --- */

static uint32_t *tally_of(struct sched_tally *t, enum edge_state st) {
    switch (st) {
    case EDGE_OPEN:
        return &t->open;
    case EDGE_TRUE:
        return &t->yes;
    case EDGE_FALSE:
        return &t->no;
    case EDGE_SKIPPED:
        return &t->skipped;
    default:
        return &t->failed;
    }
}

void sched_edge_settle(struct run_state *s, int edge, enum edge_state st) {
    const struct wf_edge *e = &s->wf->edges[edge];
    struct sched_tally *t = &s->nodes[e->dst].sched.in[e->rule];
    --*tally_of(t, s->sched.edges[edge]);
    ++*tally_of(t, st);
    s->sched.edges[edge] = st;
    node_judge(s, e->dst);
}

void sched_tally(struct run_state *s, int node) {
    const struct wf_node *w = &s->wf->nodes[node];
    struct sched_node *n = &s->nodes[node].sched;
    memset(n->in, 0, sizeof(n->in));
    for (size_t i = 0; i < w->in_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[w->in_edges[i]];
        if (e->loopback) continue;
        n->in[e->rule].total++;
        ++*tally_of(&n->in[e->rule], s->sched.edges[w->in_edges[i]]);
    }
}
