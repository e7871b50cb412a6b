/*
 * sched_queue.c: the two heaps of the scheduler, nodes to start and nodes to skip, each in the
 * order of the definition (WF-14), and the phases that a node has by being in one of them.
 */
#include "domain/due_tree.h"
#include "domain/sched_int.h"

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

void sched_enqueue(struct run_state *s, int node, enum sched_phase phase) {
    int *heap = phase == PHASE_READY ? s->sched.ready : s->sched.skips;
    size_t *nr = phase == PHASE_READY ? &s->sched.ready_nr : &s->sched.skips_nr;
    s->nodes[node].sched.phase = phase;
    s->nodes[node].queued = true;
    sift_up(s, heap, (*nr)++, node);
}

void sched_dequeue(struct run_state *s, int node) {
    struct node_state *n = &s->nodes[node];
    if (n->sched.phase == PHASE_HELD) {
        s->sched.held_nr--;
        due_tree_set(s->sched.held, node, 0);
        n->sched.phase = PHASE_IDLE;
    }
    if (n->sched.phase != PHASE_READY && n->sched.phase != PHASE_SKIP) return;
    int *heap = n->sched.phase == PHASE_READY ? s->sched.ready : s->sched.skips;
    size_t *nr = n->sched.phase == PHASE_READY ? &s->sched.ready_nr : &s->sched.skips_nr;
    size_t pos = n->sched.pos;
    int last = heap[--*nr];
    if (last != node) {
        if (pos > 0 && heap[(pos - 1) / 2] > last) sift_up(s, heap, pos, last);
        else sift_down(s, heap, *nr, pos, last);
    }
    n->queued = false;
    n->sched.phase = PHASE_IDLE;
}
