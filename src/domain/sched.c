/*
 * sched.c: what to do next.  Incremental: settling a node costs its own edges, except for a loop
 * re-entry, which costs the loop's region.  Everything here is derived from the log by the fold.
 *
 * A node is IDLE, READY (in the heap of starts), SKIP (in the heap of skips), BEGUN, SETTLED; a
 * target leaves IDLE at most once per activation.  Each edge settles with its source; the tallies
 * of a target count its settled edges by trigger rule, and the verdict on the target is made from
 * them (WF-7).
 */
#include "domain/expr_int.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

#define COND_ARENA_MAX (64u * 1024 * 1024) /* a condition that needs more is false */

static const char *const SKIP_TEXT[SKIP_NR] = {
    "disabled",         "condition-false",  "upstream-skipped",
    "upstream-failure", "not-in-start-set", "not-triggered",
};

/* --- heaps of node indexes (WF-14: definition order), positions kept in the nodes --- */

static void heap_place(struct run_state *s, int *heap, size_t pos, int node) {
    heap[pos] = node;
    s->nodes[node].sched.pos = pos;
}

static void sift_up(struct run_state *s, int *heap, size_t pos, int node) {
    while (pos > 0 && heap[(pos - 1) / 2] > node) {
        heap_place(s, heap, pos, heap[(pos - 1) / 2]);
        pos = (pos - 1) / 2;
    }
    heap_place(s, heap, pos, node);
}

static void sift_down(struct run_state *s, int *heap, size_t nr, size_t pos, int node) {
    for (;;) {
        size_t child = 2 * pos + 1;
        if (child >= nr) break;
        if (child + 1 < nr && heap[child + 1] < heap[child]) child++;
        if (heap[child] > node) break;
        heap_place(s, heap, pos, heap[child]);
        pos = child;
    }
    heap_place(s, heap, pos, node);
}

static void queue_add(struct run_state *s, int node, enum sched_phase phase) {
    int *heap = phase == PHASE_READY ? s->ready : s->skips;
    size_t *nr = phase == PHASE_READY ? &s->ready_nr : &s->skips_nr;
    s->nodes[node].sched.phase = phase;
    s->nodes[node].queued = true;
    sift_up(s, heap, (*nr)++, node);
}

static void queue_remove(struct run_state *s, int node) {
    struct node_state *n = &s->nodes[node];
    if (n->sched.phase == PHASE_HELD) {
        s->held_nr--;
        n->sched.phase = PHASE_IDLE;
    }
    if (n->sched.phase != PHASE_READY && n->sched.phase != PHASE_SKIP) return;
    int *heap = n->sched.phase == PHASE_READY ? s->ready : s->skips;
    size_t *nr = n->sched.phase == PHASE_READY ? &s->ready_nr : &s->skips_nr;
    size_t pos = n->sched.pos;
    int last = heap[--*nr];
    if (last != node) {
        if (pos > 0 && heap[(pos - 1) / 2] > last) sift_up(s, heap, pos, last);
        else sift_down(s, heap, *nr, pos, last);
    }
    n->queued = false;
    n->sched.phase = PHASE_IDLE;
}

/* --- verdicts --- */

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

static enum skip_reason why_skipped(const struct sched_node *n) {
    bool condition = false;
    for (int r = 0; r < RULE_NR; r++) {
        if (n->in[r].failed > 0) return SKIP_UPSTREAM_FAILURE;
        condition = condition || n->in[r].no > 0;
    }
    return condition ? SKIP_CONDITION : SKIP_UPSTREAM_SKIPPED;
}

/* WF-8: is the failure handled by some edge of the failed node?  A target that will be skipped, or
 * was, handles nothing. */
static bool failure_handled(const struct run_state *s, int node) {
    const struct wf_node *n = &s->wf->nodes[node];
    for (size_t i = 0; i < n->out_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[n->out_edges[i]];
        const struct node_state *t = &s->nodes[e->dst];
        enum edge_state st = s->edges[n->out_edges[i]];
        if (e->loopback && st == EDGE_TRUE) return true;
        if (e->loopback || st != EDGE_FAILED) continue;
        if (e->rule != RULE_ANY_FAILED && e->rule != RULE_ALL_COMPLETE) continue;
        bool skip = t->sched.phase == PHASE_SKIP && t->sched.reason != SKIP_DISABLED;
        bool skipped = t->status == NODE_SKIPPED && !t->disabled_skip;
        if (!skip && !skipped) return true;
    }
    return false;
}

static void check_handled(struct run_state *s, int node) {
    if (s->failed_node < 0 && !failure_handled(s, node)) s->failed_node = node;
}

static void node_skip(struct run_state *s, int node, enum skip_reason why) {
    const struct wf_node *n = &s->wf->nodes[node];
    s->nodes[node].sched.reason = (uint8_t)why;
    queue_add(s, node, PHASE_SKIP);
    for (size_t i = 0; why != SKIP_DISABLED && i < n->in_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[n->in_edges[i]];
        const struct node_state *src = &s->nodes[e->src];
        if (src->sched.phase == PHASE_SETTLED && src->status == NODE_FAILED)
            check_handled(s, e->src);
    }
}

void sched_ready(struct run_state *s, int node) {
    if (s->wf->nodes[node].disabled) node_skip(s, node, SKIP_DISABLED); /* WF-5 */
    else queue_add(s, node, PHASE_READY);
}

static void node_judge(struct run_state *s, int node) {
    struct sched_node *n = &s->nodes[node].sched;
    if (n->phase != PHASE_IDLE) return;
    enum verdict v = node_verdict(n);
    if (v == VERDICT_START) sched_ready(s, node);
    else if (v == VERDICT_SKIP) node_skip(s, node, why_skipped(n));
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

static void edge_settle(struct run_state *s, int edge, enum edge_state st) {
    const struct wf_edge *e = &s->wf->edges[edge];
    struct sched_tally *t = &s->nodes[e->dst].sched.in[e->rule];
    --*tally_of(t, s->edges[edge]);
    ++*tally_of(t, st);
    s->edges[edge] = st;
    node_judge(s, e->dst);
}

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

/* --- loops (WF-11..13) --- */

static bool node_orchestrates(const struct wf_node *n) {
    return (n->traits & (NODE_IS_DISPATCHER | NODE_IS_SUPERVISOR)) != 0;
}

/* NODE-16: the default bound is not applied to orchestrator cycles, which the
 * execution cap bounds. */
static int64_t loop_limit(const struct run_state *s, const struct wf_edge *e) {
    const struct workflow *w = s->wf;
    bool orchestrated =
        node_orchestrates(&w->nodes[e->src]) || node_orchestrates(&w->nodes[e->dst]);
    return orchestrated && !w->max_loopback_explicit ? s->options.recursion_limit : w->max_loopback;
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

static void loop_request(struct run_state *s, const struct wf_edge *e) {
    struct sched_node *t = &s->nodes[e->dst].sched;
    int64_t limit = loop_limit(s, e);
    if (limit > INT32_MAX - 1) limit = INT32_MAX - 1;
    if (!t->loop_pending || limit < t->loop_limit) t->loop_limit = (int32_t)limit;
    if (t->loop_pending) return;
    t->loop_pending = true;
    size_t at = s->loops_nr++; /* kept in definition order: outer loops usually come first */
    for (; at > 0 && s->loops[at - 1] > e->dst; at--) s->loops[at] = s->loops[at - 1];
    s->loops[at] = e->dst;
}

static void loop_forget(struct run_state *s, int node) {
    size_t k = 0;
    if (!s->nodes[node].sched.loop_pending) return;
    s->nodes[node].sched.loop_pending = false;
    for (size_t i = 0; i < s->loops_nr; i++)
        if (s->loops[i] != node) s->loops[k++] = s->loops[i];
    s->loops_nr = k;
}

/* Fill open_nodes with what head reaches over non-loopback edges, itself first; the
 * number of them. */
static size_t region_walk(struct run_state *s, int head) {
    size_t nr = 0;
    s->open_nodes[nr++] = head;
    s->nodes[head].sched.mark = true;
    for (size_t i = 0; i < nr; i++) {
        const struct wf_node *n = &s->wf->nodes[s->open_nodes[i]];
        for (size_t k = 0; k < n->out_nr; k++) {
            const struct wf_edge *e = &s->wf->edges[n->out_edges[k]];
            if (e->loopback || s->nodes[e->dst].sched.mark) continue;
            s->nodes[e->dst].sched.mark = true;
            s->open_nodes[nr++] = e->dst;
        }
    }
    for (size_t i = 0; i < nr; i++) s->nodes[s->open_nodes[i]].sched.mark = false;
    return nr;
}

static void node_renew(struct run_state *s, int node) {
    struct node_state *n = &s->nodes[node];
    const struct wf_node *w = &s->wf->nodes[node];
    if (n->sched.phase == PHASE_SETTLED) {
        s->unsettled_nr++;
        n->status = NODE_PENDING;
        n->attempt = 0;
        if (n->activation < INT32_MAX) n->activation++;
        n->started_ms = n->completed_ms = 0;
        n->disabled_skip = false;
        n->dirty = true;
        state_text_clear(s, &n->error);
        n->sched.phase = PHASE_IDLE;
    }
    for (size_t i = 0; i < w->out_nr; i++) s->edges[w->out_edges[i]] = EDGE_OPEN;
}

static void edge_tally(struct run_state *s, int node) {
    const struct wf_node *w = &s->wf->nodes[node];
    struct sched_node *n = &s->nodes[node].sched;
    memset(n->in, 0, sizeof(n->in));
    for (size_t i = 0; i < w->in_nr; i++) {
        const struct wf_edge *e = &s->wf->edges[w->in_edges[i]];
        if (e->loopback) continue;
        n->in[e->rule].total++;
        ++*tally_of(&n->in[e->rule], s->edges[w->in_edges[i]]);
    }
}

/* A fresh activation of all that head reaches, when nothing of the last one is in flight. */
bool sched_renew(struct run_state *s, int head, int32_t fired_by, int32_t fire_depth) {
    size_t nr = region_walk(s, head);
    for (size_t i = 0; i < nr; i++) {
        enum sched_phase p = s->nodes[s->open_nodes[i]].sched.phase;
        if (p != PHASE_IDLE && p != PHASE_SETTLED) return false;
    }
    for (size_t i = 0; i < nr; i++) {
        int node = s->open_nodes[i];
        struct sched_node *n = &s->nodes[node].sched;
        loop_forget(s, node); /* inner loops begin afresh */
        if (node != head) n->loops = 0;
        n->fired_by = fired_by;
        n->fire_depth = fire_depth;
        node_renew(s, node);
    }
    for (size_t i = 0; i < nr; i++) edge_tally(s, s->open_nodes[i]);
    return true;
}

/* Start the next round at head. */
static bool loop_enter(struct run_state *s, int head) {
    struct sched_node *h = &s->nodes[head].sched;
    if (!sched_renew(s, head, h->fired_by, h->fire_depth)) return false;
    if (h->loops < INT32_MAX) h->loops++;
    h->loop_over = h->loops > h->loop_limit;
    sched_ready(s, head);
    return true;
}

static void loops_try(struct run_state *s) {
    for (size_t i = 0; s->failed_node < 0 && i < s->loops_nr;) {
        /* entering shortens the list, also before i: begin again */
        if (loop_enter(s, s->loops[i])) i = 0;
        else i++;
    }
}

/* --- called by the fold --- */

int sched_alloc(struct run_state *s) {
    size_t n = s->wf->nodes_nr;
    if (s->edges == NULL) s->edges = ARENA_ARRAY(s->arena, enum edge_state, s->wf->edges_nr);
    if (s->ready == NULL) s->ready = ARENA_ARRAY(s->arena, int, n);
    if (s->skips == NULL) s->skips = ARENA_ARRAY(s->arena, int, n);
    if (s->loops == NULL) s->loops = ARENA_ARRAY(s->arena, int, n);
    if (s->open_nodes == NULL) s->open_nodes = ARENA_ARRAY(s->arena, int, n);
    if (s->triggers == NULL && s->wf->triggers_nr > 0) {
        s->triggers = ARENA_ARRAY(s->arena, struct trigger_state, s->wf->triggers_nr);
        if (s->triggers == NULL) return WOPR_E_NO_MEMORY;
    }
    bool ok = s->edges != NULL && s->ready != NULL && s->skips != NULL && s->loops != NULL &&
              s->open_nodes != NULL;
    return ok ? 0 : WOPR_E_NO_MEMORY;
}

int sched_run_started(struct run_state *s) {
    int rc = sched_alloc(s);
    if (rc != 0) return rc;
    s->unsettled_nr = s->wf->nodes_nr;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) edge_tally(s, (int)i);
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        bool source = true;
        for (int r = 0; r < RULE_NR; r++) source = source && s->nodes[i].sched.in[r].total == 0;
        if (s->wf->nodes[i].is_entry) sched_ready(s, (int)i);
        else if (source && !s->wf->nodes[i].dormant)
            node_skip(s, (int)i, SKIP_NOT_STARTED); /* core.start is the start set */
    }
    return 0;
}

void sched_node_started(struct run_state *s, int node) {
    queue_remove(s, node);
    if (s->nodes[node].sched.phase == PHASE_SETTLED)
        s->unsettled_nr++; /* only a foreign log does */
    s->nodes[node].sched.phase = PHASE_BEGUN;
    s->nodes[node].sched.cause_seq = 0;
}

void sched_run_ended(struct run_state *s) {
    sched_triggers_drop(s);
    while (s->ready_nr > 0) queue_remove(s, s->ready[s->ready_nr - 1]);
    while (s->skips_nr > 0) queue_remove(s, s->skips[s->skips_nr - 1]);
    while (s->loops_nr > 0) loop_forget(s, s->loops[0]);
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
        if (fires) loop_request(s, e);
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
        if (!looped || !stays_open(e, st)) edge_settle(s, w->out_edges[i], st);
    }
    return 0;
}

int sched_node_settled(struct run_state *s, int node, struct wopr_error *err) {
    struct node_state *n = &s->nodes[node];
    if (s->edges == NULL || n->sched.phase == PHASE_SETTLED)
        return wopr_error_set(err, WOPR_E_CORRUPT, "a node ended twice in one activation");
    bool disabled = n->sched.phase == PHASE_SKIP && n->sched.reason == SKIP_DISABLED;
    queue_remove(s, node);
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
        if (!n->sched.loop_over) check_handled(s, node);
        else if (s->failed_node < 0)
            s->failed_node = node; /* EVT-40: no edge may handle this one */
    }
    loops_try(s);
    sched_triggers_try(s);
    return 0;
}

void sched_unhold(struct run_state *s, int node) { queue_remove(s, node); }

/* --- what to do next --- */

static bool may_move(enum run_status st) {
    return st == RUN_RUNNING || st == RUN_WAITING_APPROVAL || st == RUN_WAITING_INPUT ||
           st == RUN_WAITING_EXTERNAL;
}

/* First node in definition order whose retry delay is over, or -1. */
static int retry_due(const struct run_state *s, int64_t now_ms) {
    size_t left = s->retry_nr;
    for (size_t i = 0; left > 0 && i < s->wf->nodes_nr; i++) {
        if (s->nodes[i].retry_at_ms <= 0) continue;
        if (s->nodes[i].retry_at_ms <= now_ms) return (int)i;
        left--;
    }
    return -1;
}

int64_t sched_next_retry_ms(const struct run_state *s) {
    int64_t first = -1;
    for (size_t i = 0; s->retry_nr > 0 && i < s->wf->nodes_nr; i++) {
        int64_t at = s->nodes[i].retry_at_ms;
        if (at > 0 && (first < 0 || at < first)) first = at;
    }
    return first;
}

static struct sched_action action_make(enum sched_what what, int node) {
    return (struct sched_action){.what = what, .node = node};
}

static struct sched_action next_start(const struct run_state *s, int node) {
    enum sched_phase phase = s->nodes[node].sched.phase;
    if ((phase == PHASE_READY || phase == PHASE_HELD) && s->nodes[node].sched.loop_over)
        return action_make(SCHED_LOOP_LIMIT, node);
    if (s->started_count >= s->options.recursion_limit)
        return action_make(SCHED_CAP, node); /* EVT-25 */
    if (s->running_nr >= SCHED_PARALLEL_MAX) return action_make(SCHED_WAIT, -1);
    return action_make(SCHED_START, node);
}

void sched_next(const struct run_state *s, int64_t now_ms, struct sched_action *out) {
    bool in_flight = s->running_nr + s->suspended_nr + s->retry_nr + s->held_nr > 0;
    *out = action_make(SCHED_WAIT, -1);
    if (!may_move(s->status)) return;
    if (s->failed_node >= 0) {
        *out = action_make(SCHED_FAIL, s->failed_node);
    } else if (s->cap_breached) {
        return;                  /* run.failed is in the same plan */
    } else if (s->end_reached) { /* 30-nodes 2.4; what a trigger holds is not waited for */
        if (s->running_nr + s->suspended_nr + s->retry_nr == 0)
            *out = action_make(SCHED_COMPLETE, -1);
    } else if (s->skips_nr > 0) {
        *out = action_make(SCHED_SKIP, s->skips[0]);
        out->reason = SKIP_TEXT[s->nodes[s->skips[0]].sched.reason];
    } else {
        int node = retry_due(s, now_ms), held = sched_held_due(s, now_ms);
        if (held >= 0 && (node < 0 || held < node)) node = held;
        if (s->ready_nr > 0 && (node < 0 || s->ready[0] < node)) node = s->ready[0];
        if (node >= 0) *out = next_start(s, node);
        else if (!in_flight && (node = sched_asleep(s)) >= 0) {
            *out = action_make(SCHED_SKIP, node);
            out->reason = SKIP_TEXT[SKIP_NOT_TRIGGERED];
        } else if (!in_flight) *out = action_make(SCHED_COMPLETE, -1);
    }
}

int sched_outputs(const struct run_state *s, struct buf *b) {
    struct jw w;
    jw_init(&w, b);
    jw_object(&w);
    for (size_t i = 0; i < s->wf->nodes_nr; i++) { /* WF-15 */
        const struct wf_node *n = &s->wf->nodes[i];
        bool leaf = true;
        for (size_t k = 0; leaf && k < n->out_nr; k++)
            leaf = s->wf->edges[n->out_edges[k]].loopback;
        if (!leaf || s->nodes[i].status != NODE_COMPLETED) continue;
        jw_key_str(&w, n->id);
        jw_raw(&w, s->nodes[i].outputs.n > 0 ? text_str(&s->nodes[i].outputs) : STR("{}"));
    }
    jw_end_object(&w);
    return buf_failed(b) ? WOPR_E_NO_MEMORY : 0;
}
