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
    if (s->edges == NULL) s->edges = ARENA_ARRAY(s->arena, enum edge_state, s->wf->edges_nr);
    if (s->ready == NULL) s->ready = ARENA_ARRAY(s->arena, int, n);
    if (s->skips == NULL) s->skips = ARENA_ARRAY(s->arena, int, n);
    if (s->open_nodes == NULL) s->open_nodes = ARENA_ARRAY(s->arena, int, n);
    if (s->triggers == NULL && s->wf->triggers_nr > 0) {
        s->triggers = ARENA_ARRAY(s->arena, struct trigger_state, s->wf->triggers_nr);
        if (s->triggers == NULL) return WOPR_E_NO_MEMORY;
    }
    bool holds = false;
    for (size_t i = 0; i < s->wf->triggers_nr; i++)
        holds = holds || s->wf->triggers[i].debounce_ms > 0;
    if (holds && !s->held && !(s->held = due_tree_new(s->arena, n))) return WOPR_E_NO_MEMORY;
    bool ok = s->edges != NULL && s->ready != NULL && s->skips != NULL && s->open_nodes != NULL;
    return ok ? sched_wishes_alloc(s) : WOPR_E_NO_MEMORY;
}

int sched_retries_alloc(struct run_state *s) {
    if (!s->retries) s->retries = due_tree_new(s->arena, s->wf->nodes_nr);
    return s->retries ? 0 : WOPR_E_NO_MEMORY;
}

int sched_restore(struct run_state *s) {
    if (s->retry_nr > 0 && sched_retries_alloc(s) != 0) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        const struct node_state *n = &s->nodes[i];
        if (n->retry_at_ms > 0) due_tree_set(s->retries, (int)i, n->retry_at_ms);
        if (n->sched.phase == PHASE_HELD) due_tree_set(s->held, (int)i, n->sched.due_ms);
        if (n->sched.loop_pending) sched_wish_ask(s, (int)i);
    }
    for (size_t i = 0; s->triggers && i < s->wf->triggers_nr; i++)
        if (s->triggers[i].n > 0) sched_wish_ask(s, (int)(s->wf->nodes_nr + i));
    return 0;
}

int sched_run_started(struct run_state *s) {
    int rc = sched_alloc(s);
    if (rc != 0) return rc;
    s->unsettled_nr = s->wf->nodes_nr;
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
        s->unsettled_nr++; /* only a foreign log does */
    s->nodes[node].sched.phase = PHASE_BEGUN;
    s->nodes[node].sched.cause_seq = 0;
}

void sched_run_ended(struct run_state *s) {
    sched_triggers_drop(s);
    while (s->ready_nr > 0) sched_dequeue(s, s->ready[s->ready_nr - 1]);
    while (s->skips_nr > 0) sched_dequeue(s, s->skips[s->skips_nr - 1]);
    sched_loops_drop(s);
}

/* --- what to do next --- */

static bool may_move(enum run_status st) {
    return st == RUN_RUNNING || st == RUN_WAITING_APPROVAL || st == RUN_WAITING_INPUT ||
           st == RUN_WAITING_EXTERNAL;
}

int64_t sched_next_retry_ms(const struct run_state *s) {
    return s->retry_nr > 0 ? due_tree_earliest(s->retries) : -1;
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
    ASSERT(!run_state_busy(s));
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
        int node = due_tree_first(s->retries, now_ms), held = due_tree_first(s->held, now_ms);
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
