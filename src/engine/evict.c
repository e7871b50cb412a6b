/*
 * evict.c: states in memory.  Runs that only wait are kept in the order of their last turn; the
 * first of them lose their states when all states together take more than they may.  No event says
 * so: the log is folded again when a timer fires or a command comes.
 */
#include "engine/evict.h"

#include "base/clock.h"
#include "engine/invoke.h"
#include "engine/timers.h"

#define ENGINE_DOZE_MS_MIN 1000 /* a state is not dropped for less */

size_t exec_bytes(const struct run_exec *re) {
    const struct run_state *s = re->state;
    size_t nodes = s ? s->wf->nodes_nr : 0;
    if (!s) return 0;
    return s->bytes + arena_used(s->arena) +
           nodes * (sizeof *s->nodes + sizeof *s->edges + 4 * sizeof(int));
}

/* The oldest are asked to go; each says so in a turn of its own. */
static void evict_locked(struct engine *e) {
    size_t max = e->cfg.bounds.state_bytes_max, target = max - max / 8;
    while (e->state_bytes > target + e->leaving_bytes && !list_empty(&e->resting)) {
        struct run_exec *re = LIST_ENTRY(list_pop(&e->resting), struct run_exec, rest);
        re->leaves = true;
        e->leaving_bytes += re->bytes;
        exec_wake_locked(re);
    }
}

/* After a turn: what the run takes now, and whether it only waits. */
void exec_rests_locked(struct run_exec *re, size_t bytes) {
    struct engine *e = re->e;
    e->state_bytes = e->state_bytes - re->bytes + bytes;
    re->bytes = bytes;
    bool rests = !re->inflight && !re->queued && bytes > 0 && !re->stays;
    if (rests) list_add_tail(&e->resting, &re->rest);
    evict_locked(e);
}

static bool timers_far(const struct run_exec *re, int64_t now_ms, int64_t *next_ms) {
    *next_ms = INT64_MAX;
    for (const struct list *l = re->timers.next; l != &re->timers; l = l->next) {
        const struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        if (!t->durable && t->kind != TIMER_RUN_TIMEOUT) return false;
        if (!t->stopped && t->fire_at_ms < *next_ms) *next_ms = t->fire_at_ms;
    }
    return *next_ms - now_ms >= ENGINE_DOZE_MS_MIN;
}

/* All of it can be read again, and nothing but a timer, a command or another run will need it. */
static bool may_doze(const struct run_exec *re) {
    const struct run_state *s = re->state;
    bool busy = re->has_mail || re->wanted || re->suspect || re->has_answers || re->child_news ||
                re->fired_nr > 0 || re->cascade_ms != 0 || re->take_over ||
                s->status == RUN_PENDING;
    if (busy || re->replay || invoke_waits(re, -1) || !list_empty(&re->children) ||
        !list_empty(&re->stops))
        return false;
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        if ((re->clear && re->clear[i].n > 0) || (re->skips && re->skips[i] > 0)) return false;
    return true;
}

static bool doze(struct run_exec *re) {
    int64_t next_ms;
    if (!may_doze(re) || !timers_far(re, clock_wall_ms(), &next_ms)) return false;
    exec_forget_state(re);
    re->phase = EXEC_LOADING;
    re->dozes = true;
    re->e->dozed++;
    return next_ms == INT64_MAX || timer_arm(re, TIMER_DOZE, -1, next_ms, false) == 0;
}

bool exec_leaves(struct run_exec *re) {
    struct engine *e = re->e;
    pthread_mutex_lock(&e->mu);
    bool asked = re->leaves;
    re->leaves = false;
    if (asked) e->leaving_bytes -= re->bytes;
    pthread_mutex_unlock(&e->mu);
    if (!asked || re->phase != EXEC_LIVE) return false;
    re->stays = !doze(re);
    if (re->stays && re->dozes) { /* no memory for the timer that would wake it */
        re->dozes = false;
        return false;
    }
    return !re->stays;
}

bool exec_dozes_on(struct run_exec *re) {
    struct exec_timer *t = timer_find(re, TIMER_DOZE, -1);
    /* Suspect or not: the load looks whose the run is. */
    bool wanted = re->has_mail || re->wanted || re->child_news || re->has_answers;
    if (!re->dozes) return false;
    if (!wanted && t && !timer_take_fired(re, t)) return true;
    re->dozes = false;
    timer_drop(re, TIMER_DOZE, -1);
    return false;
}
