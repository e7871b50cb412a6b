/*
 * kept.c: a small cache of the states of runs that left memory; least recently used first out.
 */
#include "engine/kept.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/fork_info.h"

struct kept_state {
    struct list link;
    int64_t run_no;
    struct run_state *state;
    struct exec_checkpoint checkpoint;
    int64_t fork_gap_ms;
    size_t bytes;
    uint64_t until_ms; /* monotonic */
};

static struct kept_state *kept_of(struct list *l) { return LIST_ENTRY(l, struct kept_state, link); }

/* Unlink k; the caller frees it outside the lock. */
static struct kept_state *kept_leave_locked(struct engine *e, struct kept_state *k) {
    list_del(&k->link);
    e->kept.nr--;
    e->kept.bytes -= k->bytes;
    return k;
}

static struct kept_state *kept_find_locked(struct engine *e, int64_t run_no) {
    for (struct list *l = e->kept.all.next; l != &e->kept.all; l = l->next)
        if (kept_of(l)->run_no == run_no) return kept_leave_locked(e, kept_of(l));
    return NULL;
}

static void kept_end(struct kept_state *k) {
    if (!k) return;
    run_state_free(k->state);
    mem_free(k);
}

/* Drop entries beyond the bounds, or unused for too long; all: every one. */
static void kept_trim(struct engine *e, uint64_t now_ms, bool all) {
    for (;;) {
        struct kept_state *oldest = NULL;
        pthread_mutex_lock(&e->kept.mu);
        if (!list_empty(&e->kept.all)) oldest = kept_of(e->kept.all.next);
        bool full = e->kept.nr > KEPT_MAX || e->kept.bytes > KEPT_BYTES_MAX;
        if (oldest && (all || full || oldest->until_ms <= now_ms)) kept_leave_locked(e, oldest);
        else oldest = NULL;
        pthread_mutex_unlock(&e->kept.mu);
        if (!oldest) return;
        kept_end(oldest);
    }
}

/* Not a replay: its place in its source is not part of a state. */
static bool kept_worth(const struct run_exec *re, size_t bytes) {
    return re->state && !run_state_busy(re->state) && re->state->next_seq >= KEPT_EVENTS_MIN &&
           !re->timeline && re->run_no != 0 && bytes <= KEPT_BYTES_MAX / 4;
}

void kept_put(struct run_exec *re) {
    struct engine *e = re->engine;
    size_t bytes = re->memory.bytes;
    struct kept_state *k = kept_worth(re, bytes) ? MEM_NEW(struct kept_state) : NULL, *old;
    if (!k) return;
    uint64_t now_ms = clock_mono_ms();
    *k = (struct kept_state){.run_no = re->run_no,
                             .state = re->state,
                             .checkpoint = re->checkpoint,
                             .fork_gap_ms = re->fork.info ? re->fork.info->gap_ms : 0,
                             .bytes = bytes,
                             .until_ms = now_ms + KEPT_MS};
    re->state = NULL;
    pthread_mutex_lock(&e->kept.mu);
    old = kept_find_locked(e, re->run_no);
    list_add_tail(&e->kept.all, &k->link);
    e->kept.nr++;
    e->kept.bytes += bytes;
    pthread_mutex_unlock(&e->kept.mu);
    kept_end(old);
    kept_trim(e, now_ms, false);
}

bool kept_take(struct run_exec *re, int64_t next_seq) {
    struct engine *e = re->engine;
    pthread_mutex_lock(&e->kept.mu);
    struct kept_state *k = kept_find_locked(e, re->run_no);
    pthread_mutex_unlock(&e->kept.mu);
    if (!k || re->timeline || k->state->next_seq > next_seq || k->state->wf != re->wf) {
        kept_end(k);
        return false;
    }
    re->state = k->state;
    re->checkpoint = k->checkpoint;
    re->checkpoint.used = true;
    if (re->fork.info) re->fork.info->gap_ms = k->fork_gap_ms;
    mem_free(k);
    return true;
}

void kept_sweep(struct engine *e) { kept_trim(e, clock_mono_ms(), false); }

void kept_free(struct engine *e) { kept_trim(e, 0, true); }
