/*
 * child_link.c: the link from a run to a child: its phases, and its life in memory.
 */
#include "engine/child_link.h"

#include "base/mem.h"
#include "engine/cascade.h"

static struct str awaited_key(const struct exec_child *x) {
    return str_n((const char *)&x->run_no, sizeof x->run_no);
}

/* Change records of other hosts carry run numbers, not ids.  Without memory for the entry the run
 * looks when its timer fires. */
void child_await(struct run_exec *re, struct exec_child *x, const struct run_head *h) {
    x->elsewhere = h->holder.n > 0 && !str_eq(h->holder, re->engine->holder);
    if (x->run_no != 0 || run_status_final(h->status)) return;
    x->run_no = h->run_no;
    pthread_mutex_lock(&re->engine->mu);
    int rc = map_put(re->engine->runs.awaited, awaited_key(x), re, NULL);
    pthread_mutex_unlock(&re->engine->mu);
    if (rc == 0) return;
    x->run_no = 0;
    x->elsewhere = true;
}

static void child_await_end(struct run_exec *re, const struct exec_child *x) {
    if (x->run_no == 0) return;
    pthread_mutex_lock(&re->engine->mu);
    if (map_get(re->engine->runs.awaited, awaited_key(x)) == re)
        (void)map_del(re->engine->runs.awaited, awaited_key(x));
    pthread_mutex_unlock(&re->engine->mu);
}

void child_free(struct run_exec *re, struct exec_child *x) {
    child_await_end(re, x);
    list_del(&x->link);
    run_command_free(x->creation);
    run_command_free(x->cancel);
    text_clear(&x->interrupt);
    mem_free(x);
}

struct exec_child *child_new(struct run_exec *re, int node, enum child_phase phase) {
    struct exec_child *x = MEM_NEW(struct exec_child);
    if (!x) return NULL;
    x->node = node;
    x->phase = phase;
    list_add_tail(&re->kin.children, &x->link);
    return x;
}

bool creation_out(const struct exec_child *x) {
    return x->creation && x->phase != CHILD_WANTED && x->creation->rc == RUN_COMMAND_PENDING;
}

/*
 *     WANTED <--> ASKED --> WAITING --> UNWANTED --> cancelled, and gone
 *                   '-------------------^  |
 *                   '-> FORGOTTEN <--------'
 *
 * WANTED goes straight to WAITING when the store has the child already; WAITING goes back to WANTED
 * when a creation that was reported (EXISTS) did not commit.
 */
static const unsigned CHILD_NEXT[CHILD_PHASE_NR] = {
    [CHILD_WANTED] = 1u << CHILD_ASKED | 1u << CHILD_WAITING,
    [CHILD_ASKED] =
        1u << CHILD_WAITING | 1u << CHILD_WANTED | 1u << CHILD_UNWANTED | 1u << CHILD_FORGOTTEN,
    [CHILD_WAITING] = 1u << CHILD_WANTED | 1u << CHILD_UNWANTED,
    [CHILD_UNWANTED] = 1u << CHILD_FORGOTTEN,
};

bool child_may_move(enum child_phase from, enum child_phase to) {
    return (CHILD_NEXT[from] >> to & 1u) != 0;
}

void child_move(struct exec_child *x, enum child_phase to) {
    ASSERT(child_may_move(x->phase, to));
    x->phase = to;
    ASSERT(x->run_id[0] != '\0');
    ASSERT(x->creation || (to != CHILD_WANTED && to != CHILD_ASKED));
    ASSERT(to != CHILD_FORGOTTEN || creation_out(x));
    ASSERT(to != CHILD_UNWANTED || !(x->detached || x->foreign));
}
