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

struct commit *commit_new(struct plan *p) {
    struct commit *c = MEM_NEW(struct commit);
    if (!c) return NULL;
    c->plan = plan_ref(p);
    atomic_init(&c->refs, 1);
    c->run_no = p->run_no;
    c->first = p->base_seq;
    c->last = p->base_seq + (int64_t)p->events_nr - 1;
    c->made_ns = clock_mono_ns();
    c->bytes = sizeof *c + JOURNAL_PLAN_BYTES_MIN + arena_used(p->arena);
    return c;
}

void commit_ref(struct commit *c) { atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed); }

void commit_unref(struct commit *c) {
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < JOURNAL_VIEWS_MAX; i++)
        frames_free(atomic_exchange_explicit(&c->plan->frames[i], NULL, memory_order_acq_rel));
    plan_unref(c->plan);
    mem_free(c);
}

const struct frames *commit_frames(struct commit *c, const struct journal_view *v,
                                   struct str run_id) {
    void *have = atomic_load_explicit(&c->plan->frames[v->id], memory_order_acquire);
    if (have) return have;
    struct frames *f = frames_render(v, run_id, c->plan->events, c->plan->events_nr);
    if (!f) return NULL;
    if (atomic_compare_exchange_strong_explicit(&c->plan->frames[v->id], &have, f,
                                                memory_order_acq_rel, memory_order_acquire))
        return f;
    frames_free(f); /* another reader was first */
    return have;
}
