/*
 * frames.c: committed plans as readers share them, and their bytes rendered once per view
 * (STORE-7).
 */
#include "base/clock.h"
#include "base/mem.h"
#include "journal/journal_int.h"

struct frames *frames_render(const struct journal_view *v, struct str run_id, const struct event *e,
                             size_t n) {
    struct buf b;
    buf_init(&b, JOURNAL_FRAMES_BYTES_MAX);
    struct frames *f = mem_zalloc(sizeof *f + n * sizeof f->ends[0]);
    for (size_t i = 0; f && i < n; i++) {
        v->render(v->ctx, run_id, &e[i], &b);
        f->admitted += b.len > (i > 0 ? f->ends[i - 1] : 0);
        f->ends[i] = (uint32_t)b.len;
    }
    if (f && !buf_failed(&b)) {
        f->p = b.len > 0 ? buf_take(&b, &f->n) : NULL;
        buf_fini(&b);
        return f;
    }
    buf_fini(&b);
    frames_free(f);
    return NULL;
}

void frames_free(struct frames *f) {
    if (!f) return;
    mem_free(f->p);
    mem_free(f);
}

int journal_views_add(struct journal *j, unsigned n, unsigned *first, struct wopr_error *err) {
    unsigned have = atomic_load(&j->views_nr);
    do {
        if (n > JOURNAL_VIEWS_MAX - have)
            return wopr_error_set(err, WOPR_E_CONFIG,
                                  "%u kinds of streams are registered; %u more would exceed %d",
                                  have, n, JOURNAL_VIEWS_MAX);
    } while (!atomic_compare_exchange_weak(&j->views_nr, &have, have + n));
    *first = have;
    return 0;
}

struct commit *commit_new(struct plan *p, unsigned views_nr) {
    struct commit *c = mem_zalloc(sizeof *c + views_nr * sizeof c->frames[0]);
    if (!c) return NULL;
    c->views_nr = views_nr;
    c->plan = plan_ref(p);
    atomic_init(&c->refs, 1);
    c->run_no = p->run_no;
    c->first = p->base_seq;
    c->last = p->base_seq + (int64_t)p->events_nr - 1;
    c->made_ns = clock_mono_ns();
    c->bytes =
        sizeof *c + views_nr * sizeof c->frames[0] + JOURNAL_PLAN_BYTES_MIN + arena_used(p->arena);
    return c;
}

void commit_ref(struct commit *c) { atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed); }

void commit_unref(struct commit *c) {
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    for (unsigned i = 0; i < c->views_nr; i++)
        frames_free(atomic_load_explicit(&c->frames[i], memory_order_acquire));
    plan_unref(c->plan);
    mem_free(c);
}

const struct frames *commit_frames(struct commit *c, const struct journal_view *v,
                                   struct str run_id) {
    struct frames *have = atomic_load_explicit(&c->frames[v->id], memory_order_acquire);
    if (have) return have;
    struct frames *f = frames_render(v, run_id, c->plan->events, c->plan->events_nr);
    if (!f) return NULL;
    if (atomic_compare_exchange_strong_explicit(&c->frames[v->id], &have, f, memory_order_acq_rel,
                                                memory_order_acquire))
        return f;
    frames_free(f); /* another reader was first */
    return have;
}
