/*
 * evict.c: bounds the memory of states.  Runs that only wait are listed in the order of their last
 * turn; when all states together exceed the bound, the first in the list drop theirs.  No event
 * records it: the log is folded again when a timer fires or a command arrives.
 */
#include "engine/evict.h"

#include "base/clock.h"
#include "domain/program.h"
#include "engine/timers.h"
#include "engine/waits.h"

#define ENGINE_DOZE_MS_MIN 1000 /* a shorter wait is not worth dropping a state */

size_t exec_bytes(const struct run_exec *re) {
    const struct run_state *s = re->state;
    size_t nodes = s ? s->wf->nodes_nr : 0;
    if (!s) return 0;
    return (s->program ? s->wf->program->bytes(s->program) : 0) + s->bytes + arena_used(s->arena) +
           nodes * (sizeof *s->nodes + sizeof *s->sched.edges + 4 * sizeof(int));
}

/* Ask the longest waiting; each drops its state in a turn of its own. */
static void evict_locked(struct engine *e) {
    size_t max = e->cfg.bounds.state_bytes_max, target = max - max / 8;
    while (e->states.bytes > target + e->states.leaving_bytes && !list_empty(&e->states.resting)) {
        struct list *oldest = list_pop(&e->states.resting);
        struct run_exec *re = LIST_ENTRY(oldest, struct run_exec, memory.resting);
        re->memory.leaves = true;
        e->states.leaving_bytes += re->memory.bytes;
        exec_wake_locked(re);
    }
}

/* After a turn: record the run's bytes and whether it only waits. */
void exec_rests_locked(struct run_exec *re, size_t bytes) {
    struct engine *e = re->engine;
    e->states.bytes = e->states.bytes - re->memory.bytes + bytes;
    re->memory.bytes = bytes;
    bool rests = !re->seat.inflight && !re->seat.queued && bytes > 0 && !re->memory.stays;
    if (rests) list_add_tail(&e->states.resting, &re->memory.resting);
    evict_locked(e);
}

static bool timers_far(const struct run_exec *re, int64_t now_ms, int64_t *next_ms) {
    *next_ms = INT64_MAX;
    for (const struct list *l = re->timers.all.next; l != &re->timers.all; l = l->next) {
        const struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        bool computed = t->kind == TIMER_RUN_TIMEOUT || t->kind == TIMER_PROGRAM;
        if (!t->durable && !computed) return false;
        if (!t->stopped && t->fire_at_ms < *next_ms) *next_ms = t->fire_at_ms;
    }
    return *next_ms - now_ms >= ENGINE_DOZE_MS_MIN;
}

/* The state can be read again, and only a timer, a command or another run will need it. */
static bool may_doze(struct run_exec *re) {
    const struct run_state *s = re->state;
    bool busy = re->mail.any || re->lease.requested || re->lease.suspect ||
                re->requests.has_answers || re->kin.news || re->timers.fired_nr > 0 ||
                re->kin.cascade_ms != 0 || re->lease.take_over || s->status == RUN_PENDING;
    if (busy || re->timeline || waits_under_way(re) || waits_stay(re)) return false;
    for (size_t i = 0; i < s->wf->nodes_nr; i++)
        if (re->skips && re->skips[i] > 0) return false;
    return true;
}

static bool exec_doze(struct run_exec *re) {
    int64_t next_ms;
    if (!may_doze(re) || !timers_far(re, clock_wall_ms(), &next_ms)) return false;
    exec_forget_state(re);
    exec_move(re, EXEC_LOADING);
    re->memory.dozes = true;
    re->engine->counts.dozed++;
    return next_ms == INT64_MAX || timer_arm(re, TIMER_DOZE, -1, next_ms, false) == 0;
}

bool exec_leaves(struct run_exec *re) {
    struct engine *e = re->engine;
    pthread_mutex_lock(&e->mu);
    bool asked = re->memory.leaves;
    re->memory.leaves = false;
    if (asked) e->states.leaving_bytes -= re->memory.bytes;
    pthread_mutex_unlock(&e->mu);
    if (!asked || re->phase != EXEC_LIVE) return false;
    re->memory.stays = !exec_doze(re);
    if (re->memory.stays && re->memory.dozes) { /* there is no memory for the timer to wake it */
        re->memory.dozes = false;
        return false;
    }
    return !re->memory.stays;
}

bool exec_dozes_on(struct run_exec *re) {
    struct exec_timer *t = timer_find(re, TIMER_DOZE, -1);
    /* No need to check a suspect lease: the load does. */
    bool wanted = re->mail.any || re->lease.requested || re->kin.news || re->requests.has_answers;
    if (!re->memory.dozes) return false;
    if (!wanted && t && !timer_take_fired(re, t)) return true;
    re->memory.dozes = false;
    timer_drop(re, TIMER_DOZE, -1);
    return false;
}
