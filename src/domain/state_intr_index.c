/*
 * state_intr_index.c: finds the interrupts of a run by key and by id, and those of a node in the
 * order they were asked, so that a gate in a long loop, or one of many side by side, does not get
 * slower with each.  Built from run_state.intrs on demand; it holds no facts of its own.
 */
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "domain/interrupt.h"
#include "domain/state_internal.h"

struct intr_index {
    struct map *keys;   /* position plus one */
    struct map *ids;    /* the same; NULL while few have one */
    size_t nr, open_nr; /* indexed interrupts, and the open ones among them */
    size_t *prev;       /* of an interrupt: its node's previous one, plus one */
    size_t prev_nr, prev_cap;
    struct intr_of_node {
        size_t last, nr, base; /* last: plus one; base: number in earlier activations */
        int32_t activation;    /* of the last */
    } * nodes;
};

enum { IDS_FROM = 16 }; /* fewer are compared one by one */

static struct intr_index *index_of(const struct run_state *s) {
    return s->interrupts.index && s->interrupts.index->nr == s->interrupts.n ? s->interrupts.index
                                                                             : NULL;
}

static struct intr_index *index_new(size_t nodes_nr) {
    struct intr_index *x = MEM_NEW(struct intr_index);
    if (!x) return NULL;
    x->keys = map_new();
    x->nodes = mem_array(nodes_nr > 0 ? nodes_nr : 1, sizeof *x->nodes);
    if (x->keys && x->nodes) return x;
    intr_index_free(x);
    return NULL;
}

void intr_index_free(struct intr_index *x) {
    if (!x) return;
    map_free(x->keys);
    map_free(x->ids);
    mem_free(x->prev);
    mem_free(x->nodes);
    mem_free(x);
}

static int index_add(struct intr_index *x, const struct intr_state *i) {
    if (VEC_ROOM(x->prev, x->prev_nr, x->prev_cap, 8) != 0) return WOPR_E_NO_MEMORY;
    if (map_put(x->keys, text_str(&i->key), (void *)(uintptr_t)(x->nr + 1), NULL) != 0)
        return WOPR_E_NO_MEMORY;
    struct intr_of_node *n = &x->nodes[i->node];
    if (n->nr > 0 && n->activation != i->activation) n->base = n->nr;
    x->prev[x->prev_nr++] = n->last;
    n->activation = i->activation;
    n->last = ++x->nr;
    n->nr++;
    x->open_nr += i->phase == INTR_OPEN;
    return 0;
}

int intr_index_extend(struct run_state *s) {
    int rc = 0;
    if (!s->interrupts.index && !(s->interrupts.index = index_new(s->wf->nodes_nr)))
        return WOPR_E_NO_MEMORY;
    while (rc == 0 && s->interrupts.index->nr < s->interrupts.n)
        rc = index_add(s->interrupts.index, &s->interrupts.v[s->interrupts.index->nr]);
    return rc;
}

static int id_add(struct intr_index *x, const struct run_state *s, const struct intr_state *i) {
    struct str id = text_str(&i->id);
    void *at = (void *)(uintptr_t)(size_t)(i - s->interrupts.v + 1);
    return id.n > 0 ? map_put(x->ids, id, at, NULL) : 0;
}

int intr_index_named(struct run_state *s, const struct intr_state *i) {
    struct intr_index *x = index_of(s);
    if (!x || s->interrupts.n < IDS_FROM) return 0;
    int rc = 0;
    if (x->ids) {
        rc = id_add(x, s, i);
    } else if (!(x->ids = map_new())) {
        rc = WOPR_E_NO_MEMORY;
    } else {
        for (size_t k = 0; rc == 0 && k < s->interrupts.n; k++)
            rc = id_add(x, s, &s->interrupts.v[k]);
    }
    if (rc == 0) return 0;
    map_free(x->ids);
    x->ids = NULL;
    return rc;
}

void intr_phase_set(struct run_state *s, struct intr_state *i, enum intr_phase phase) {
    struct intr_index *x = index_of(s);
    if (x && i->phase == INTR_OPEN && phase != INTR_OPEN) x->open_nr--;
    i->phase = phase;
}

size_t run_state_intrs_open(const struct run_state *s) {
    struct intr_index *x = index_of(s);
    size_t nr = 0;
    if (x) return x->open_nr;
    for (size_t i = 0; i < s->interrupts.n; i++) nr += s->interrupts.v[i].phase == INTR_OPEN;
    return nr;
}

struct intr_state *run_state_intr(const struct run_state *s, struct str key) {
    struct intr_index *x = index_of(s);
    size_t at = x ? (size_t)(uintptr_t)map_get(x->keys, key) : 0;
    if (x) return at > 0 ? &s->interrupts.v[at - 1] : NULL;
    for (size_t i = 0; i < s->interrupts.n; i++)
        if (str_eq(text_str(&s->interrupts.v[i].key), key)) return &s->interrupts.v[i];
    return NULL;
}

/* Without an index from the end: most often it is a recent one. */
struct intr_state *run_state_intr_by_id(const struct run_state *s, struct str id) {
    struct intr_index *x = index_of(s);
    if (x && x->ids) {
        size_t at = id.n > 0 ? (size_t)(uintptr_t)map_get(x->ids, id) : 0;
        return at > 0 ? &s->interrupts.v[at - 1] : NULL;
    }
    for (size_t i = s->interrupts.n; id.n > 0 && i > 0; i--)
        if (str_eq(text_str(&s->interrupts.v[i - 1].id), id)) return &s->interrupts.v[i - 1];
    return NULL;
}

/* The end of a node ends its interrupts, so only the last activation has open ones. */
struct intr_state *run_state_intr_open(const struct run_state *s, int node) {
    struct intr_index *x = index_of(s);
    struct intr_state *open = NULL;
    if (x) {
        for (size_t at = x->nodes[node].last; at > 0; at = x->prev[at - 1]) {
            struct intr_state *i = &s->interrupts.v[at - 1];
            if (i->activation != x->nodes[node].activation) break;
            if (i->phase == INTR_OPEN) open = i;
        }
        return open;
    }
    for (size_t i = 0; i < s->interrupts.n && !open; i++)
        if (s->interrupts.v[i].node == node && s->interrupts.v[i].phase == INTR_OPEN)
            open = &s->interrupts.v[i];
    return open;
}

size_t intr_count_before(const struct run_state *s, int node) {
    struct intr_index *x = index_of(s);
    int32_t now = s->nodes[node].activation;
    size_t nr = 0;
    if (x) return x->nodes[node].activation < now ? x->nodes[node].nr : x->nodes[node].base;
    for (size_t i = 0; i < s->interrupts.n; i++)
        nr += s->interrupts.v[i].node == node && s->interrupts.v[i].activation < now;
    return nr;
}

struct intr_state *intr_nth_of(const struct run_state *s, int node, size_t nth) {
    struct intr_index *x = index_of(s);
    if (x) {
        size_t at = x->nodes[node].last, nr = x->nodes[node].nr;
        if (nth >= nr) return NULL;
        for (; nr > nth + 1; nr--) at = x->prev[at - 1];
        return &s->interrupts.v[at - 1];
    }
    for (size_t i = 0; i < s->interrupts.n; i++)
        if (s->interrupts.v[i].node == node && nth-- == 0) return &s->interrupts.v[i];
    return NULL;
}
