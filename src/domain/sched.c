/*
 * sched.c: what to do next.  Incremental: settling a node costs its own edges, except for a loop
 * re-entry, which costs the loop's region.  Everything here is derived from the log by the fold.
 *
 * A node is IDLE, READY (in the heap of starts), SKIP (in the heap of skips), BEGUN, SETTLED; a
 * target leaves IDLE at most once per activation (sched_activation.c).  Each edge settles with its
 * source (sched_settle.c), and the verdict on a target is made from its edges (sched_judge.c).
 */
#include "codec/json.h"
#include "domain/due_tree.h"
#include "domain/sched_int.h"

static const char *const SKIP_TEXT[SKIP_NR] = {
    "disabled",         "condition-false",  "upstream-skipped",
    "upstream-failure", "not-in-start-set", "not-triggered",
};

/* --- called by the fold --- */

int sched_alloc(struct run_state *s) {
    size_t n = s->wf->nodes_nr;
    if (s->sched.edges == NULL)
        s->sched.edges = ARENA_ARRAY(s->arena, enum edge_state, s->wf->edges_nr);
    if (s->sched.ready == NULL) s->sched.ready = ARENA_ARRAY(s->arena, int, n);
    if (s->sched.skips == NULL) s->sched.skips = ARENA_ARRAY(s->arena, int, n);
    if (s->sched.triggers == NULL && s->wf->triggers_nr > 0) {
        s->sched.triggers = ARENA_ARRAY(s->arena, struct trigger_state, s->wf->triggers_nr);
        if (s->sched.triggers == NULL) return WOPR_E_NO_MEMORY;
    }
    bool holds = false;
    for (size_t i = 0; i < s->wf->triggers_nr; i++)
        holds = holds || s->wf->triggers[i].debounce_ms > 0;
    if (holds && !s->sched.held && !(s->sched.held = due_tree_new(s->arena, n)))
        return WOPR_E_NO_MEMORY;
    bool ok = s->sched.edges != NULL && s->sched.ready != NULL && s->sched.skips != NULL;
    return ok ? sched_wishes_alloc(s) : WOPR_E_NO_MEMORY;
}

size_t sched_alloc_bytes(const struct workflow *wf) {
    return wf->edges_nr * sizeof(enum edge_state) + 2 * wf->nodes_nr * sizeof(int) +
           wf->triggers_nr * sizeof(struct trigger_state) + 4 * _Alignof(max_align_t);
}

int sched_retries_alloc(struct run_state *s) {
    if (!s->sched.retries) s->sched.retries = due_tree_new(s->arena, s->wf->nodes_nr);
    return s->sched.retries ? 0 : WOPR_E_NO_MEMORY;
}

int sched_restore(struct run_state *s) {
    if (s->counts.retry > 0 && sched_retries_alloc(s) != 0) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        const struct node_state *n = &s->nodes[i];
        if (n->retry_at_ms > 0) due_tree_set(s->sched.retries, (int)i, n->retry_at_ms);
        if (n->sched.phase == PHASE_HELD) due_tree_set(s->sched.held, (int)i, n->sched.due_ms);
        if (n->sched.loop_pending) sched_wish_ask(s, (int)i);
    }
    for (size_t i = 0; s->sched.triggers && i < s->wf->triggers_nr; i++)
        if (s->sched.triggers[i].n > 0) sched_wish_ask(s, (int)(s->wf->nodes_nr + i));
    return 0;
}

int sched_run_started(struct run_state *s) {
    int rc = sched_alloc(s);
    if (rc != 0) return rc;
    s->sched.unsettled_nr = s->wf->nodes_nr;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) sched_tally(s, (int)i);
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        bool source = true;
        for (int r = 0; r < RULE_NR; r++) source = source && s->nodes[i].sched.in[r].total == 0;
        if (s->wf->nodes[i].is_entry) sched_ready(s, (int)i);
        else if (source && !s->wf->nodes[i].dormant)
            sched_skip(s, (int)i, SKIP_NOT_STARTED); /* core.start is the start set */
    }
    return 0;
}

void sched_node_started(struct run_state *s, int node) {
    sched_dequeue(s, node);
    if (s->nodes[node].sched.phase == PHASE_SETTLED)
        s->sched.unsettled_nr++; /* only a foreign log does */
    s->nodes[node].sched.phase = PHASE_BEGUN;
    s->nodes[node].sched.cause_seq = 0;
}

void sched_run_ended(struct run_state *s) {
    sched_triggers_drop(s);
    while (s->sched.ready_nr > 0) sched_dequeue(s, s->sched.ready[s->sched.ready_nr - 1]);
    while (s->sched.skips_nr > 0) sched_dequeue(s, s->sched.skips[s->sched.skips_nr - 1]);
    sched_loops_drop(s);
}

/* --- what to do next --- */

static bool may_move(enum run_status st) {
    return st == RUN_RUNNING || st == RUN_WAITING_APPROVAL || st == RUN_WAITING_INPUT ||
           st == RUN_WAITING_EXTERNAL;
}

int64_t sched_next_retry_ms(const struct run_state *s) {
    return s->counts.retry > 0 ? due_tree_earliest(s->sched.retries) : -1;
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
    if (s->counts.running >= SCHED_PARALLEL_MAX) return action_make(SCHED_WAIT, -1);
    return action_make(SCHED_START, node);
}

void sched_next(const struct run_state *s, int64_t now_ms, struct sched_action *out) {
    ASSERT(!run_state_busy(s));
    bool in_flight =
        s->counts.running + s->counts.suspended + s->counts.retry + s->sched.held_nr > 0;
    *out = action_make(SCHED_WAIT, -1);
    if (!may_move(s->status)) return;
    if (s->failure.node >= 0) {
        *out = action_make(SCHED_FAIL, s->failure.node);
    } else if (s->cap_breached) {
        return;                  /* run.failed is in the same plan */
    } else if (s->end_reached) { /* 30-nodes 2.4; what a trigger holds is not waited for */
        /* DISP-8: after a decision to terminate siblings are cancelled, not waited for. */
        if (s->orch.ended_by != 0 || s->counts.running + s->counts.suspended + s->counts.retry == 0)
            *out = action_make(SCHED_COMPLETE, -1);
    } else if (s->sched.skips_nr > 0) {
        *out = action_make(SCHED_SKIP, s->sched.skips[0]);
        out->reason = SKIP_TEXT[s->nodes[s->sched.skips[0]].sched.reason];
    } else {
        int node = due_tree_first(s->sched.retries, now_ms),
            held = due_tree_first(s->sched.held, now_ms);
        if (held >= 0 && (node < 0 || held < node)) node = held;
        if (s->sched.ready_nr > 0 && (node < 0 || s->sched.ready[0] < node))
            node = s->sched.ready[0];
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
