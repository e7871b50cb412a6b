/*
 * play.h: a plan played to its end, with what must hold after each step: the world is the fold
 * of its
 * changes (WS-114), and a start that fails changes nothing (WS-80).
 */
#ifndef WOPR_TESTS_WORKSPEC_PLAY_H
#define WOPR_TESTS_WORKSPEC_PLAY_H

#include "fold.h"

struct played {
    size_t steps, changes, failures, withdrawn;
    bool ended;           /* nothing met a limit */
    struct sha256 digest; /* of all changes */
};

static inline void play_hash(struct played *p, const struct ws_change *c) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    buf_addf(&b, "%u %zu %d %s %s %lld ", c->task, c->action, c->temporary, c->cause,
             c->op ? c->op : "", (long long)c->vt);
    buf_adds(&b, c->object);
    buf_adds(&b, c->property);
    ws_write(&b, c->previous, 0);
    ws_write(&b, c->next, 0);
    ASSERT(!buf_failed(&b));
    p->digest = sha256_of2(str_n((const char *)p->digest.b, sizeof p->digest.b), buf_str(&b));
    buf_fini(&b);
}

static inline bool play_take(struct played *p, struct fold *f, const struct ws_world *w,
                             const struct ws_outcome *out) {
    for (size_t i = 0; i < out->nr; i++) {
        ASSERT(out->v[i].previous == NULL || out->v[i].next == NULL ||
               !ws_equal(out->v[i].previous, out->v[i].next));
        fold_change(f, &out->v[i]);
        play_hash(p, &out->v[i]);
    }
    p->steps++;
    p->changes += out->nr;
    if (out->failure.kind == WS_F_LIMIT) return false;
    ASSERT(fold_equals(f, w));
    return true;
}

/* dice: how many of 256 tasks are rejected instead of completed. */
static inline struct played play(const struct ws_plan *plan, struct arena *a, unsigned dice) {
    struct played p = {.ended = true};
    struct ws_world *w = ws_world_new(plan, a);
    struct ws_steps steps = {.plan = plan};
    struct ws_step s;
    struct ws_outcome out;
    struct fold f;
    bool *failed = arena_array(a, plan->nr, sizeof *failed);
    ASSERT(w != NULL && failed != NULL);
    fold_init(&f, a, w);
    while (p.ended && ws_next_step(&steps, &s)) {
        if (failed[s.task]) continue;
        bool rejected = s.ends && (s.task * 2654435761u >> 24) < dice;
        if (rejected) ws_withdraw(w, s.task, s.vt, &out);
        else if (s.ends) ws_end(w, s.task, s.vt, &out);
        else ws_begin(w, s.task, s.vt, &out);
        p.withdrawn += rejected;
        if (out.failure.kind != WS_F_NONE) {
            ASSERT(s.ends || out.nr == 0);
            failed[s.task] = true;
            p.failures++;
        }
        p.ended = play_take(&p, &f, w, &out);
    }
    return p;
}

#endif
