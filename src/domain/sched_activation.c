/*
 * sched_activation.c: what an activation of a node is, and when a fresh one begins (WF-11 to WF-13,
 * CHAN-20, CHAN-21, NODE-10).  This is the only place that says so; what is derived from it:
 *
 *   an activation   is one turn of a node from its start to its end.  Its number grows by one with
 *                   each and never falls back, so what is named by it (requests to the outside,
 *                   child runs, interrupts, random bytes) is never named twice.
 *   a retry         is a further attempt of the same activation.  Its number, its chunks and its
 *                   recorded effects begin at zero with each start of the node.
 *   an entry        gives a node and all that it reaches over edges that are no loopbacks a fresh
 *                   activation, once nothing of that region is in flight: a round of a loop at its
 *                   head, or a firing of a channel-write trigger at its node.
 *   a round         of a loop is counted from the entry into its head from outside: its first
 *                   start, a trigger's firing, a round of an outer loop.  A loopback into the
 *                   head begins the next round, whether the body of the last one completed or
 *                   failed; the same one when the head failed, so that nothing of it was given
 *                   out; and the first one after the loop has said that it is done.
 *   loops           counts loopbacks into a head since that entry, against the limit of WF-12.
 *
 * What is tried in vain is tried again when the node that stood in the way has ended.
 */
#include "domain/sched_int.h"
#include "domain/state_internal.h"

/* --- regions --- */

static bool node_busy(const struct run_state *s, int node) {
    enum sched_phase p = s->nodes[node].sched.phase;
    return p != PHASE_IDLE && p != PHASE_SETTLED;
}

/* Fill sched.region with what head reaches over non-loopback edges, itself first; returns how many.
 * *busy: the last of them in definition order that is in flight, or -1.  any: one of them will do,
 * and the walk ends there. */
static size_t region_walk(struct run_state *s, int head, bool any, int *busy) {
    size_t nr = 0;
    *busy = -1;
    s->sched.region[nr++] = head;
    s->nodes[head].sched.mark = true;
    for (size_t i = 0; i < nr && !(any && *busy >= 0); i++) {
        int node = s->sched.region[i];
        const struct wf_node *n = &s->wf->nodes[node];
        if (node > *busy && node_busy(s, node)) *busy = node;
        for (size_t k = 0; k < n->out_nr; k++) {
            const struct wf_edge *e = &s->wf->edges[n->out_edges[k]];
            if (e->loopback || s->nodes[e->dst].sched.mark) continue;
            s->nodes[e->dst].sched.mark = true;
            s->sched.region[nr++] = e->dst;
        }
    }
    for (size_t i = 0; i < nr; i++) s->nodes[s->sched.region[i]].sched.mark = false;
    return nr;
}

/* The size of a quiet region, then in sched.region; 0: a part of it is in flight.  *blocker
 * is a node in the way plus one.  It is looked at first, then what it reaches: a region that is
 * worked off is not walked from its head at every step. */
static size_t region_quiet(struct run_state *s, int head, int *blocker) {
    int busy = *blocker - 1;
    if (busy >= 0 && node_busy(s, busy)) return 0;
    if (busy >= 0) (void)region_walk(s, busy, true, &busy);
    size_t nr = busy >= 0 ? 0 : region_walk(s, head, false, &busy);
    *blocker = busy + 1;
    return busy >= 0 ? 0 : nr;
}

/* --- fresh activations --- */

static void node_renew(struct run_state *s, int node) {
    struct node_state *n = &s->nodes[node];
    const struct wf_node *w = &s->wf->nodes[node];
    if (n->sched.phase == PHASE_SETTLED) {
        s->sched.unsettled_nr++;
        n->status = NODE_PENDING;
        n->attempt = 0;
        if (n->activation < INT32_MAX) n->activation++;
        n->started_ms = n->completed_ms = 0;
        n->disabled_skip = false;
        if (w->dormant) s->sched.asleep_from = 0;
        n->dirty = true;
        state_text_clear(s, &n->error);
        n->sched.phase = PHASE_IDLE;
    }
    for (size_t i = 0; i < w->out_nr; i++) s->sched.edges[w->out_edges[i]] = EDGE_OPEN;
}

static void loop_drop(struct run_state *s, int head) {
    struct sched_node *n = &s->nodes[head].sched;
    if (!n->loop_pending) return;
    n->loop_pending = false;
    s->sched.loops_nr--;
    sched_wish_drop(s, head);
}

static bool region_enter(struct run_state *s, int head, int *blocker, int32_t fired_by,
                         int32_t fire_depth) {
    size_t nr = region_quiet(s, head, blocker);
    for (size_t i = 0; i < nr; i++) {
        struct sched_node *n = &s->nodes[s->sched.region[i]].sched;
        loop_drop(s, s->sched.region[i]); /* inner loops start over */
        if (s->sched.region[i] != head) n->loops = n->round = 0;
        n->fired_by = fired_by;
        n->fire_depth = fire_depth;
        node_renew(s, s->sched.region[i]);
    }
    for (size_t i = 0; i < nr; i++) sched_tally(s, s->sched.region[i]);
    return nr > 0;
}

/* --- loops --- */

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

void sched_loop_request(struct run_state *s, const struct wf_edge *e) {
    struct sched_node *t = &s->nodes[e->dst].sched;
    int64_t limit = loop_limit(s, e);
    if (limit > INT32_MAX - 1) limit = INT32_MAX - 1;
    if (!t->loop_pending || limit < t->loop_limit) t->loop_limit = (int32_t)limit;
    if (t->loop_pending) return;
    t->loop_pending = true;
    t->blocker = 0;
    s->sched.loops_nr++;
    sched_wish_ask(s, e->dst);
}

void sched_loops_drop(struct run_state *s) {
    for (size_t i = 0; s->sched.loops_nr > 0 && i < s->wf->nodes_nr; i++) loop_drop(s, (int)i);
}

/* The output with which core.loop ends (30-nodes 2.4). */
static bool loop_done(const struct run_state *s, int node) {
    const struct node_state *n = &s->nodes[node];
    return (s->wf->nodes[node].traits & NODE_IS_LOOP) != 0 && n->outputs.n > 0 &&
           str_eqc(json_get(text_str(&n->outputs), "done"), "true");
}

static int32_t round_after(const struct run_state *s, int head) {
    const struct node_state *n = &s->nodes[head];
    if (n->status != NODE_COMPLETED) return n->sched.round;
    if (loop_done(s, head)) return 0;
    return n->sched.round < INT32_MAX ? n->sched.round + 1 : INT32_MAX;
}

static void loop_enter(struct run_state *s, int head) {
    struct sched_node *h = &s->nodes[head].sched;
    int32_t round = round_after(s, head);
    if (!region_enter(s, head, &h->blocker, h->fired_by, h->fire_depth)) {
        sched_wish_wait(s, head, h->blocker - 1);
        return;
    }
    h->round = round;
    if (h->loops < INT32_MAX) h->loops++;
    h->loop_over = h->loops > h->loop_limit;
    sched_ready(s, head);
}

/* One pass is enough: an entry sets nodes in flight and ends none, so it clears no other's way.
 * Outer loops usually come first. */
void sched_loops_try(struct run_state *s) {
    int head = -1;
    while (s->failure.node < 0 && (head = sched_wish_due(s, head + 1, (int)s->wf->nodes_nr)) >= 0)
        loop_enter(s, head);
}

/* --- firings --- */

bool sched_fire(struct run_state *s, int node, int *blocker, int32_t fired_by, int32_t fire_depth) {
    if (!region_enter(s, node, blocker, fired_by, fire_depth)) return false;
    s->nodes[node].sched.loops = s->nodes[node].sched.round = 0;
    return true;
}

const char *sched_wishes_broken(const struct run_state *s) {
    size_t pending = 0;
    bool tried = s->failure.node < 0 && !s->end_reached && !run_state_busy(s);
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        if (!s->nodes[i].sched.loop_pending) continue;
        pending++;
        if (tried && sched_wish_lost(s, (int)i)) return "N6: a pending loop waits for a busy node";
    }
    for (size_t i = 0; s->sched.triggers && tried && i < s->wf->triggers_nr; i++)
        if (s->sched.triggers[i].n > 0 && sched_wish_lost(s, (int)(s->wf->nodes_nr + i)))
            return "N6: a firing waits for a busy node";
    return pending == s->sched.loops_nr ? NULL : "N4: the counters are those of the nodes";
}
