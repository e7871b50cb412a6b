/*
 * state_render.c: renders the node states, and checks the invariants of a state.
 */
#include "codec/ident.h"
#include "codec/json.h"
#include "domain/cost.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

static void render_time(struct jw *w, const char *key, int64_t ms) {
    char text[TIME_LEN + 1];
    if (ms == 0) return;
    time_format(ms, text);
    jw_kstrz(w, key, text);
}

void node_state_render(const struct node_state *n, struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    cost_put(&w, text_str(&n->cost));
    jw_kstrz(&w, "status", node_status_name(n->status));
    jw_kint(&w, "attempt", n->attempt);
    render_time(&w, "startedAt", n->started_ms);
    render_time(&w, "completedAt", n->completed_ms);
    if (n->outputs.n > 0) jw_kraw(&w, "outputs", text_str(&n->outputs));
    if (n->error.n > 0) jw_kraw(&w, "error", text_str(&n->error));
    jw_end_object(&w);
}

static const char *nodes_broken(const struct run_state *s) {
    size_t running = 0, suspended = 0, retry = 0;
    int64_t first_ms = -1;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        const struct node_state *n = &s->nodes[i];
        running += n->status == NODE_RUNNING;
        suspended += n->status == NODE_SUSPENDED;
        retry += n->retry_at_ms > 0;
        if (n->retry_at_ms > 0 && (first_ms < 0 || n->retry_at_ms < first_ms))
            first_ms = n->retry_at_ms;
        if (n->retry_at_ms > 0 && n->status != NODE_PENDING)
            return "N1: only a pending node waits for a retry";
        if (n->pause_drained && n->status != NODE_SUSPENDED)
            return "N2: only a suspended node is drained";
        if (n->waits != RUN_RUNNING && !run_status_waiting(n->waits) && n->waits != RUN_PENDING)
            return "N3: a node asks for a waiting state or none";
    }
    if (first_ms != sched_next_retry_ms(s)) return "N5: the first retry is the earliest one";
    if (running != s->counts.running || suspended != s->counts.suspended ||
        retry != s->counts.retry)
        return "N4: the counters are those of the nodes";
    return NULL;
}

static size_t values_bytes(const struct run_state *s) {
    size_t sum = s->error.n + s->outputs.n + s->orch.decision.n;
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        sum += s->nodes[i].outputs.n + s->nodes[i].error.n + s->nodes[i].clear.n +
               s->nodes[i].cost.n + s->nodes[i].orch.decision.n;
    for (size_t i = 0; i < s->variables.n; i++)
        sum += sizeof s->variables.v[i] + s->variables.v[i].name.n + s->variables.v[i].value.n +
               s->variables.v[i].shown.n;
    for (size_t i = 0; i < s->channels.n; i++)
        for (size_t k = 0; k < s->channels.v[i].n; k++)
            sum += sizeof s->channels.v[i].v[k] + s->channels.v[i].v[k].value.n;
    for (size_t i = 0; i < s->interrupts.n; i++) {
        const struct intr_state *x = &s->interrupts.v[i];
        sum += sizeof *x + x->payload.n + x->value.n;
        for (size_t k = 0; k < x->voters_nr; k++) sum += sizeof x->voters[k] + x->voters[k].voter.n;
    }
    return sum;
}

const char *run_state_broken(const struct run_state *s) {
    bool final = run_status_final(s->status);
    int shown = -1;
    if ((unsigned)s->status >= RUN_STATUS_NR) return "R4: the status is one of the table";
    if (s->next_seq < 0) return "R1: next_seq counts the events";
    if (final && (s->counts.running > 0 || s->counts.suspended > 0 || s->sched.ready_nr > 0))
        return "R2: a finished run has no running, suspended or ready node";
    if (!final && s->clock.completed_ms != 0) return "R3: only a finished run has completed_ms";
    if (final && (s->counts.retry > 0 || s->current_node >= 0))
        return "R2: a finished run waits for nothing";
    if (s->status == RUN_FAILED && s->error.n == 0) return "R6: a failed run has an error (RUN-18)";
    if (s->status == RUN_PENDING && s->started_count > 0)
        return "R7: a pending run started no node";
    bool going = s->status == RUN_RUNNING || run_status_waiting(s->status);
    if (going && (run_waits(s, &shown) != s->status || shown != s->current_node))
        return "R8: the status is what the suspended nodes ask for (INT-12)";
    if (values_bytes(s) != s->bytes) return "R9: bytes is what the values take";
    const char *broken = nodes_broken(s);
    if (!broken && s->sched.edges) broken = sched_wishes_broken(s);
    return broken ? broken : state_pins_broken(s);
}
