/*
 * state_waits.c: the status and node that a running run shows for its suspended nodes (INT-12): of
 * those with the first kind of waiting, the longest waiting.  Found by a scan of all nodes, or in
 * queues built on demand, which hold no facts of their own.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "domain/state_internal.h"

#include <stdlib.h>

/* If several nodes are suspended, the run shows the first of these that occurs. */
static const enum run_status WAITS_FIRST[] = {RUN_WAITING_APPROVAL, RUN_WAITING_INPUT,
                                              RUN_WAITING_EXTERNAL};
enum { RANKS = sizeof WAITS_FIRST / sizeof WAITS_FIRST[0], WAITS_SLACK = 64 };

struct wait_queues {
    struct wait_queue {
        struct wait {
            int64_t seq; /* of its node.suspended */
            int node;
        } * v; /* by seq; nodes that no longer wait are dropped at the front */
        size_t first, n, cap;
    } of[RANKS];
};

static int node_rank(const struct node_state *n) {
    int rank = n->status == NODE_SUSPENDED ? 0 : RANKS;
    while (rank < RANKS && WAITS_FIRST[rank] != n->waits) rank++;
    return rank < RANKS ? rank : -1;
}

enum run_status run_waits(const struct run_state *s, int *node) {
    int best = RANKS;
    int64_t first = INT64_MAX;
    *node = -1;
    for (size_t i = 0; s->counts.suspended > 0 && i < s->wf->nodes_nr; i++) {
        const struct node_state *n = &s->nodes[i];
        int rank = node_rank(n);
        if (rank < 0 || rank > best || (rank == best && n->suspended_seq > first)) continue;
        best = rank;
        first = n->suspended_seq;
        *node = (int)i;
    }
    return best < RANKS ? WAITS_FIRST[best] : RUN_RUNNING;
}

void state_waits_free(struct run_state *s) {
    for (int r = 0; s->waits && r < RANKS; r++) mem_free(s->waits->of[r].v);
    mem_free(s->waits);
    s->waits = NULL;
}

static int wait_add(struct run_state *s, int node) {
    int rank = node_rank(&s->nodes[node]);
    if (rank < 0) return 0;
    struct wait_queue *q = &s->waits->of[rank];
    if (VEC_ROOM(q->v, q->n, q->cap, 8) != 0) return WOPR_E_NO_MEMORY;
    q->v[q->n++] = (struct wait){.seq = s->nodes[node].suspended_seq, .node = node};
    return 0;
}

static int wait_cmp(const void *a, const void *b) {
    const struct wait *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static int queues_make(struct run_state *s) {
    int rc = 0;
    s->waits = MEM_NEW(struct wait_queues);
    if (!s->waits) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; rc == 0 && i < s->wf->nodes_nr; i++) rc = wait_add(s, (int)i);
    for (int r = 0; rc == 0 && r < RANKS; r++)
        if (s->waits->of[r].n > 1)
            qsort(s->waits->of[r].v, s->waits->of[r].n, sizeof(struct wait), wait_cmp);
    if (rc != 0) state_waits_free(s);
    return rc;
}

int state_waits_suspended(struct run_state *s, int node) {
    size_t kept = 0;
    for (int r = 0; s->waits && r < RANKS; r++) kept += s->waits->of[r].n;
    if (kept > 2 * s->wf->nodes_nr + WAITS_SLACK)
        state_waits_free(s); /* rebuild: most of them no longer wait */
    return s->waits ? wait_add(s, node) : 0;
}

static bool wait_is_over(const struct run_state *s, const struct wait *w, int rank) {
    const struct node_state *n = &s->nodes[w->node];
    return n->suspended_seq != w->seq || node_rank(n) != rank;
}

int state_waits_now(struct run_state *s, enum run_status *shown, int *node) {
    *node = -1;
    *shown = RUN_RUNNING;
    if (s->counts.suspended == 0) return 0;
    if (!s->waits && queues_make(s) != 0) return WOPR_E_NO_MEMORY;
    for (int r = 0; r < RANKS; r++) {
        struct wait_queue *q = &s->waits->of[r];
        while (q->first < q->n && wait_is_over(s, &q->v[q->first], r)) q->first++;
        if (q->first == q->n) {
            q->first = q->n = 0;
            continue;
        }
        *node = q->v[q->first].node;
        *shown = WAITS_FIRST[r];
        return 0;
    }
    return 0;
}
