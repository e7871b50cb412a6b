/*
 * state_node.c: the fold of node events (EVT-20..30, INT-12, WF-44).  node_move is the only place
 * that assigns the status of a node; it keeps the counters that the scheduler reads.
 */
#include "codec/json.h"
#include "domain/conversation.h"
#include "domain/cost.h"
#include "domain/due_tree.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"
#include "domain/traits.h"

static void node_count(struct run_state *s, const struct node_state *n, size_t by) {
    /* by is 1 or (size_t)-1: unsigned arithmetic wraps */
    if (n->status == NODE_RUNNING) s->counts.running += by;
    if (n->status == NODE_SUSPENDED) s->counts.suspended += by;
    if (n->retry_at_ms > 0) s->counts.retry += by;
}

/* retry_at_ms: 0, or with NODE_PENDING the time of the next attempt. */
static void node_move(struct run_state *s, int node, enum node_status to, int64_t retry_at_ms) {
    struct node_state *n = &s->nodes[node];
    node_count(s, n, (size_t)-1);
    n->status = to;
    if (n->retry_at_ms != retry_at_ms) due_tree_set(s->sched.retries, node, retry_at_ms);
    n->retry_at_ms = retry_at_ms;
    node_count(s, n, 1);
    n->dirty = true;
    if (to != NODE_SUSPENDED) {
        n->waits = RUN_RUNNING;
        n->pause_drained = false;
        n->child_waits = false;
    }
}

int node_wait_retry(struct run_state *s, int node, int64_t at_ms) {
    if (sched_retries_alloc(s) != 0) return WOPR_E_NO_MEMORY;
    at_ms = at_ms < INT64_MAX ? at_ms : INT64_MAX - 1;
    node_move(s, node, NODE_PENDING, at_ms > 0 ? at_ms : 1);
    return 0;
}

/* Is a raw JSON string one of our words? */
static bool raw_is(struct str raw, const char *word) {
    return raw.n >= 2 && str_eqc(str_n(raw.p + 1, raw.n - 2), word);
}

/* The node of the envelope and its status after the event. */
static int node_next(struct fold *f, struct node_state **n, enum node_status *to) {
    if (f->node < 0) return fold_corrupt(f, "names no node of the workflow");
    *n = &f->run->nodes[f->node];
    int next = node_edge((*n)->status, f->event->kind);
    if (next < 0) return fold_corrupt(f, "not possible in the status of the node");
    *to = (enum node_status)next;
    return 0;
}

/* Optional integer member within bounds. */
static int payload_int(struct fold *f, const char *key, int64_t max, int64_t absent, int64_t *out) {
    struct str raw = json_get(f->event->payload, key);
    int64_t v = absent;
    if (raw.n > 0 && (!json_int(raw, &v) || v < 0 || v > max))
        return fold_corrupt(f, "a number is out of range");
    *out = v;
    return 0;
}

static int node_settled(struct fold *f) {
    intrs_node_settled(f->run, f->node);
    int rc = sched_node_settled(f->run, f->node, f->err);
    if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(f);
    return rc == 0 ? 0 : fold_corrupt(f, "the node has already ended in this activation"); /* R5 */
}

static void outputs_clear(struct run_state *s, struct node_state *n) {
    state_text_clear(s, &n->outputs);
    state_text_clear(s, &n->clear);
    n->masked = false;
}

int fold_node_started(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    int64_t attempt = 0;
    int rc = node_next(f, &n, &to);
    if (rc != 0) return rc;
    bool again = n->retry_at_ms > 0 && n->attempt < INT32_MAX;
    rc = payload_int(f, "attempt", INT32_MAX, again ? n->attempt + 1 : 0, &attempt);
    if (rc != 0) return rc;
    struct str agent = f->run->wf->nodes[f->node].agent;
    bool worker = (f->run->wf->nodes[f->node].traits & NODE_IS_SUPERVISOR) == 0; /* AGT-5 */
    if (worker && agent.n > 0 && text_set(&f->run->agent, agent) != 0) return fold_no_memory(f);
    if ((rc = orch_node_started(f, again)) != 0) return rc;
    node_move(f->run, f->node, to, 0);
    n->attempt = (int32_t)attempt;
    n->started_ms = f->ts_ms;
    n->completed_ms = 0;
    n->chunks = n->effects = n->pieces = 0;
    n->recorded = false;
    conversation_free(n->conversation);
    n->conversation = NULL;
    n->started_seq = f->event->seq;
    outputs_clear(f->run, n);
    state_text_clear(f->run, &n->error);
    f->run->started_count++; /* EVT-25: retries included */
    sched_node_started(f->run, f->node);
    return 0;
}

static int cost_fold(struct fold *f, struct node_state *n) {
    struct cost sum, more;
    struct str record = cost_of(f->event->payload);
    struct arena *a = record.n > 0 ? fold_scratch(f) : NULL;
    if (record.n == 0) return 0;
    if (!a) return fold_no_memory(f);
    cost_read(text_str(&n->cost), a, &sum);
    cost_read(record, a, &more);
    cost_add(&sum, &more);
    struct str text = cost_text(&sum, a);
    return run_state_text_set(f->run, &n->cost, text) == 0 ? 0 : fold_no_memory(f);
}

int fold_node_completed(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    int rc = node_next(f, &n, &to);
    if (rc != 0) return rc;
    struct str outputs = json_get(f->event->payload, "outputs");
    if (outputs.n == 0) outputs = STR("{}");
    if (json_type_of(outputs) != JSON_OBJECT) return fold_corrupt(f, "outputs is no object");
    if (run_state_text_set(f->run, &n->outputs, outputs) != 0) return fold_no_memory(f);
    if ((rc = cost_fold(f, n)) != 0) return rc;
    struct str clear = f->event->clear.n > 0 ? fold_clear(f, "outputs") : STR_NONE;
    if (run_state_text_set(f->run, &n->clear, clear) != 0) return fold_no_memory(f);
    n->masked = fold_masked(f);
    orch_node_completed(f);
    node_move(f->run, f->node, to, 0);
    n->completed_ms = f->ts_ms;
    if (n->terminal_n < INT32_MAX) n->terminal_n++;
    return node_settled(f);
}

int fold_node_failed(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    int rc = node_next(f, &n, &to);
    if (rc != 0) return rc;
    struct str error = json_get(f->event->payload, "error");
    if (error.n == 0 || json_type_of(error) != JSON_OBJECT || json_get(error, "code").n == 0)
        return fold_corrupt(f, "no error object");
    if (run_state_text_set(f->run, &n->error, error) != 0) return fold_no_memory(f);
    outputs_clear(f->run, n);
    node_move(f->run, f->node, to, 0);
    n->completed_ms = f->ts_ms;
    f->run->failure.seq = f->event->seq;
    if (n->terminal_n < INT32_MAX) n->terminal_n++;
    return node_settled(f);
}

int fold_node_stopped(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    int rc = node_next(f, &n, &to);
    if (rc != 0) return rc;
    /* A disabled node that is skipped because the run ends has no edges to settle. */
    struct str reason = json_get(f->event->payload, "reason");
    bool ends = reason.n > 0 && !raw_is(reason, "disabled");
    if (ends && n->sched.phase == PHASE_SKIP) n->sched.reason = SKIP_NOT_STARTED;
    outputs_clear(f->run, n);
    node_move(f->run, f->node, to, 0);
    n->completed_ms = f->ts_ms;
    return node_settled(f);
}

int fold_node_any(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    return node_next(f, &n, &to);
}

int fold_node_retried(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    int64_t delay_ms = 0;
    int rc = node_next(f, &n, &to);
    if (rc == 0) rc = payload_int(f, "delayMs", STATE_DELAY_MS_MAX, 0, &delay_ms);
    if (rc != 0) return rc;
    bool over = f->ts_ms > INT64_MAX - delay_ms;
    rc = node_wait_retry(f->run, f->node, over ? INT64_MAX : f->ts_ms + delay_ms);
    return rc == 0 ? 0 : fold_no_memory(f);
}

/*
 * The status that a suspended node gives its run, by the first matching row: kind where the schema
 * has a word for it, else reason (EVT-14 b).  A child of one of the four newer kinds counts as that
 * kind.
 */
static const struct {
    const char *kind, *reason; /* NULL = any */
    enum run_status waits;
} WAITS[] = {
    {NULL, "pause-drain", RUN_RUNNING}, /* WF-44: no interrupt, the run is about to pause */
    {"approval", NULL, RUN_WAITING_APPROVAL},
    {"clarification", NULL, RUN_WAITING_INPUT},
    {"external-event", NULL, RUN_WAITING_EXTERNAL},
    {"custom", NULL, RUN_WAITING_INPUT},
    {NULL, "low-confidence", RUN_WAITING_APPROVAL},
    {NULL, "conversation-input", RUN_WAITING_APPROVAL},
    {NULL, "child-suspended", RUN_WAITING_APPROVAL},
    {NULL, NULL, RUN_WAITING_INPUT},
};

int fold_node_suspended(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    int rc = node_next(f, &n, &to);
    if (rc != 0) return rc;
    struct str kind = json_get(f->event->payload, "kind"),
               reason = json_get(f->event->payload, "reason");
    size_t i = 0;
    while ((WAITS[i].kind && !raw_is(kind, WAITS[i].kind)) ||
           (WAITS[i].reason && !raw_is(reason, WAITS[i].reason)))
        i++;
    node_move(f->run, f->node, to, 0);
    n->waits = WAITS[i].waits;
    n->pause_drained = n->waits == RUN_RUNNING;
    n->recorded = n->recorded || !n->pause_drained; /* it asked a question: VER-7 */
    n->child_waits = raw_is(reason, "child-suspended");
    n->suspended_seq = f->event->seq;
    if (state_waits_suspended(f->run, f->node) != 0) return fold_no_memory(f);
    return intr_suspended(f);
}

int fold_node_resumed(struct fold *f) {
    struct node_state *n = NULL;
    enum node_status to = NODE_PENDING;
    int rc = node_next(f, &n, &to);
    if (rc != 0) return rc;
    node_move(f->run, f->node, to, 0);
    return 0;
}
