/*
 * sched_wish.c: loops and triggers that want to enter their region and cannot yet.
 *
 * Each such wish is either due, which is tried next, or in the list of one busy node that stands in
 * its way: only when that node has ended is it tried again.  So what an event costs does not grow
 * with the wishes that it does not concern.  Wishes are numbered in the order in which they are
 * tried: loops by their heads, then triggers, each in the order of the definition.
 */
#include "domain/sched_int.h"

struct sched_wishes {
    uint64_t *due;    /* one bit each */
    int *next, *prev; /* in its list: a wish plus one, 0 = none */
    int *node;        /* whose list, plus one; 0 = in none */
    int *first;       /* of each node: a wish plus one */
};
enum { WORD_BITS = 64 };

static size_t wishes_nr(const struct run_state *s) { return s->wf->nodes_nr + s->wf->triggers_nr; }

int sched_wishes_alloc(struct run_state *s) {
    size_t n = wishes_nr(s), words = n / WORD_BITS + 1;
    if (s->sched.wishes || (!s->wf->has_loop && s->wf->triggers_nr == 0)) return 0;
    struct sched_wishes *w = ARENA_NEW(s->arena, struct sched_wishes);
    if (!w) return WOPR_E_NO_MEMORY;
    w->due = ARENA_ARRAY(s->arena, uint64_t, words);
    w->next = ARENA_ARRAY(s->arena, int, n);
    w->prev = ARENA_ARRAY(s->arena, int, n);
    w->node = ARENA_ARRAY(s->arena, int, n);
    w->first = ARENA_ARRAY(s->arena, int, s->wf->nodes_nr);
    s->sched.region = ARENA_ARRAY(s->arena, int, s->wf->nodes_nr);
    if (!w->due || !w->next || !w->prev || !w->node || !w->first || !s->sched.region)
        return WOPR_E_NO_MEMORY;
    s->sched.wishes = w;
    return 0;
}

static void wish_unlink(struct sched_wishes *w, int wish) {
    int *from = w->prev[wish] > 0 ? &w->next[w->prev[wish] - 1] : &w->first[w->node[wish] - 1];
    *from = w->next[wish];
    if (w->next[wish] > 0) w->prev[w->next[wish] - 1] = w->prev[wish];
    w->node[wish] = 0;
}

void sched_wish_drop(struct run_state *s, int wish) {
    struct sched_wishes *w = s->sched.wishes;
    if (!w) return;
    if (w->node[wish] > 0) wish_unlink(w, wish);
    w->due[wish / WORD_BITS] &= ~(UINT64_C(1) << wish % WORD_BITS);
}

void sched_wish_ask(struct run_state *s, int wish) {
    sched_wish_drop(s, wish);
    if (s->sched.wishes) s->sched.wishes->due[wish / WORD_BITS] |= UINT64_C(1) << wish % WORD_BITS;
}

void sched_wish_wait(struct run_state *s, int wish, int node) {
    struct sched_wishes *w = s->sched.wishes;
    if (!w) return;
    sched_wish_drop(s, wish);
    w->node[wish] = node + 1;
    w->prev[wish] = 0;
    w->next[wish] = w->first[node];
    if (w->first[node] > 0) w->prev[w->first[node] - 1] = wish + 1;
    w->first[node] = wish + 1;
}

void sched_wishes_wake(struct run_state *s, int node) {
    while (s->sched.wishes && s->sched.wishes->first[node] > 0)
        sched_wish_ask(s, s->sched.wishes->first[node] - 1);
}

int sched_wish_due(const struct run_state *s, int from, int until) {
    size_t words = wishes_nr(s) / WORD_BITS + 1;
    for (size_t i = (size_t)from / WORD_BITS; s->sched.wishes && i < words; i++) {
        uint64_t bits = s->sched.wishes->due[i];
        if (i == (size_t)from / WORD_BITS) bits &= ~UINT64_C(0) << from % WORD_BITS;
        if (bits == 0) continue;
        int wish = (int)(i * WORD_BITS) + __builtin_ctzll(bits);
        return wish < until ? wish : -1;
    }
    return -1;
}

/* Nobody is forgotten: what is wanted is due, or waits for a node that is busy. */
bool sched_wish_lost(const struct run_state *s, int wish) {
    const struct sched_wishes *w = s->sched.wishes;
    if (!w) return true;
    if (w->due[wish / WORD_BITS] >> wish % WORD_BITS & 1) return false;
    if (w->node[wish] == 0) return true;
    enum sched_phase p = s->nodes[w->node[wish] - 1].sched.phase;
    return p == PHASE_IDLE || p == PHASE_SETTLED;
}
