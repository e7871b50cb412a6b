/*
 * kit_forks.h: forks of forks beside a model of what their logs hold.  Each event carries, as its
 * node, the name of the run that appended it.
 */
#ifndef WOPR_TESTS_STORE_KIT_FORKS_H
#define WOPR_TESTS_STORE_KIT_FORKS_H

#include "unit/store/kit.h"

enum { MODEL_RUNS = 160, MODEL_GROWTH_MAX = 9, MODEL_LENGTH_MAX = 4096 };
static struct model { /* of one run: who appended each event of its log, and its kind */
    int64_t no, n;
    int owner[MODEL_LENGTH_MAX];
    enum ev_kind kind[MODEL_LENGTH_MAX];
} model[MODEL_RUNS];
static unsigned model_seeded, model_state;

KIT_UNUSED static void model_seed(unsigned preset) {
    const char *asked = getenv("WOPR_TEST_SEED");
    model_seeded = model_state = asked ? (unsigned)strtoul(asked, NULL, 10) : preset;
}
KIT_UNUSED static int64_t model_some(int64_t n) { return rand_r(&model_state) % n; }

KIT_UNUSED static void model_extend(struct kit *k, int run, int64_t n, bool ends) {
    struct model *m = &model[run];
    char name[16];
    snprintf(name, sizeof name, "r%d", run);
    struct plan *p = kit_append(m->no, m->n, (size_t)n, ends);
    for (int64_t i = 0; i < n; i++, m->n++) {
        bool last = ends && i + 1 == n;
        m->owner[m->n] = run;
        m->kind[m->n] = model_some(3) == 0 ? EV_NODE_STARTED : EV_LOG_APPENDED;
        if (last) m->kind[m->n] = EV_RUN_COMPLETED;
        p->events[i].kind = m->kind[m->n];
        p->events[i].node_id = arena_str(p->arena, str_c(name));
    }
    cr_assert_eq(kit_apply(k, p), 0, "seed %u", model_seeded);
}
KIT_UNUSED static void model_grow(struct kit *k, int run, int64_t n) {
    model_extend(k, run, n, false);
}

/* A run, from < 0, or a fork of another one. */
KIT_UNUSED static void model_make(struct kit *k, int run, int from, int64_t cut) {
    char id[16], of[16];
    snprintf(id, sizeof id, "run_%d", run);
    snprintf(of, sizeof of, "run_%d", from);
    struct model *m = &model[run];
    struct plan *p = from < 0 ? kit_create(id, 0) : kit_fork(id, model[from].no, of, cut);
    plan_ref(p);
    cr_assert_eq(kit_apply(k, p), 0, "seed %u: run %d of %d at %d", model_seeded, run, from,
                 (int)cut);
    m->no = p->run_no;
    plan_unref(p);
    m->n = from < 0 ? 0 : cut;
    for (int64_t i = 0; i < m->n; i++) {
        m->owner[i] = model[from].owner[i];
        m->kind[i] = model[from].kind[i];
    }
}

KIT_UNUSED static bool model_has(const struct event *e, int run) {
    char name[16];
    const struct model *m = &model[run];
    snprintf(name, sizeof name, "r%d", m->owner[e->seq]);
    return str_eqc(e->node_id, name) && e->kind == m->kind[e->seq] &&
           e->flags == (m->owner[e->seq] == run ? 0u : (uint32_t)EVENT_INHERITED);
}

/* A page of a run is what the model says. */
KIT_UNUSED static void model_check(struct kit *k, int run, int64_t from, unsigned max) {
    struct event_list l;
    const struct model *m = &model[run];
    int64_t want = m->n - from < (int64_t)max ? m->n - from : (int64_t)max;
    arena_reset(k->a);
    cr_assert_eq(store_events(k->s, m->no, from, max, 1 << 20, k->a, &l, &k->err), 0);
    cr_assert_eq((int64_t)l.n, want < 0 ? 0 : want, "seed %u: run %d from %d", model_seeded, run,
                 (int)from);
    for (size_t i = 0; i < l.n; i++)
        cr_assert(l.v[i].seq == from + (int64_t)i && model_has(&l.v[i], run),
                  "seed %u: run %d, event %d", model_seeded, run, (int)l.v[i].seq);
}

#endif
