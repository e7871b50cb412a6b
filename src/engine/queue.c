/*
 * queue.c: who has the next turn, and whose state stays in memory.  Tenants take turns, so that
 * nobody waits behind the ready runs of somebody else: each has a list of its own, and the tenants
 * that have something in it stand in a ring.  Runs that only wait stand in the order of their last
 * turn; the first of them lose their states when states take more than they may.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/internal.h"

/* --- tenants --- */

static struct tenant *tenant_new(struct str name) {
    struct tenant *t = MEM_NEW(struct tenant);
    if (!t) return NULL;
    t->name = mem_strndup(name.p, name.n);
    if (!t->name) {
        mem_free(t);
        return NULL;
    }
    t->name_n = name.n;
    list_init(&t->forks);
    for (int i = 0; i < QUEUE_NR; i++) {
        list_init(&t->ready[i]);
        list_init(&t->turn[i]);
    }
    return t;
}

static void tenant_free(struct tenant *t) {
    mem_free(t->name);
    mem_free(t);
}

static struct tenant *tenant_get_locked(struct engine *e, struct str name) {
    struct tenant *t = map_get(e->tenants, name);
    if (t) return t;
    t = tenant_new(name);
    if (t && map_put(e->tenants, name, t, NULL) == 0) return t;
    if (t) tenant_free(t);
    return NULL;
}

static void tenant_put_locked(struct engine *e, struct tenant *t) {
    if (t->active > 0) return;
    ASSERT(t->forking == 0 && list_empty(&t->forks));
    (void)map_del(e->tenants, str_n(t->name, t->name_n));
    tenant_free(t);
}

int tenant_join_locked(struct engine *e, struct run_exec *re, struct str name) {
    re->tenant = tenant_get_locked(e, name);
    if (!re->tenant) return WOPR_E_NO_MEMORY;
    re->tenant->active++;
    return 0;
}

void tenant_leave_locked(struct engine *e, struct run_exec *re) {
    struct tenant *t = re->tenant;
    if (!t) return;
    ASSERT(!re->queued);
    list_del(&re->rest);
    if (re->leaves) e->leaving_bytes -= re->bytes;
    re->leaves = false;
    e->state_bytes -= re->bytes;
    re->bytes = 0;
    re->tenant = NULL;
    t->active--;
    tenant_put_locked(e, t);
}

void tenant_change(struct run_exec *re, struct str name) {
    struct engine *e = re->e;
    struct tenant *old = re->tenant;
    if (old && str_eq(str_n(old->name, old->name_n), name)) return;
    pthread_mutex_lock(&e->mu);
    struct tenant *t = tenant_get_locked(e, name);
    if (t) { /* else it stays where it is: only whose turn it takes is at stake */
        t->active++;
        re->tenant = t;
        old->active--;
        tenant_put_locked(e, old);
    }
    pthread_mutex_unlock(&e->mu);
}

bool tenant_full_locked(struct engine *e, struct str name) {
    const struct tenant *t = map_get(e->tenants, name);
    return t && t->active >= e->cfg.bounds.tenant_runs_active_max;
}

static void free_all(struct map *tenants) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(tenants, &it, &key, &value)) tenant_free(value);
}

void tenants_free(struct engine *e) {
    if (e->tenants) free_all(e->tenants);
    map_free(e->tenants);
}

void tenants_stats_locked(struct engine *e, struct engine_stats *out) {
    struct str key;
    void *value;
    size_t it = 0;
    out->tenants_active = map_count(e->tenants);
    out->tenant_forks_waiting_max = ENGINE_FORKS_WAITING_MAX;
    while (map_next(e->tenants, &it, &key, &value)) {
        const struct tenant *t = value;
        if (t->active > out->tenant_runs_active) out->tenant_runs_active = t->active;
        if (t->forks_nr > out->tenant_forks_waiting) out->tenant_forks_waiting = t->forks_nr;
        out->forks_copying += t->forking;
    }
}

/* --- turns --- */

void queue_put_locked(struct run_exec *re, enum queue q) {
    struct engine *e = re->e;
    struct tenant *t = re->tenant;
    re->queued = true;
    re->again = false;
    list_del(&re->rest);
    if (list_empty(&t->ready[q])) list_add_tail(&e->turns[q], &t->turn[q]);
    list_add_tail(&t->ready[q], &re->ready);
    e->ready_nr++;
}

/* Creations and runs by turns: neither waits for more than its own queue twice over. */
struct run_exec *queue_take_locked(struct engine *e) {
    bool none = list_empty(&e->turns[QUEUE_RUNS]);
    enum queue q =
        none || (!e->fresh_last && !list_empty(&e->turns[QUEUE_FRESH])) ? QUEUE_FRESH : QUEUE_RUNS;
    struct list *turn = list_pop(&e->turns[q]);
    struct tenant *t = LIST_ENTRY(turn, struct tenant, turn[q]);
    struct run_exec *re = LIST_ENTRY(list_pop(&t->ready[q]), struct run_exec, ready);
    if (!list_empty(&t->ready[q])) list_add_tail(&e->turns[q], turn);
    e->fresh_last = q == QUEUE_FRESH;
    e->ready_nr--;
    return re;
}

/* --- forks: few of a tenant copy at a time, the others wait in order --- */

bool forks_full_locked(struct engine *e, struct str name) {
    const struct tenant *t = map_get(e->tenants, name);
    return t && t->forks_nr >= ENGINE_FORKS_WAITING_MAX;
}

void fork_begin_locked(struct run_exec *re) {
    struct tenant *t = re->tenant;
    re->waits_slot = t->forking >= ENGINE_FORKS_MAX;
    if (re->waits_slot) {
        list_add_tail(&t->forks, &re->ready);
        t->forks_nr++;
        return;
    }
    t->forking++;
    re->forking = true;
    exec_wake_locked(re);
}

static void fork_next_locked(struct tenant *t) {
    if (list_empty(&t->forks)) return;
    struct run_exec *re = LIST_ENTRY(list_pop(&t->forks), struct run_exec, ready);
    t->forks_nr--;
    t->forking++;
    re->forking = true;
    re->waits_slot = false;
    exec_wake_locked(re);
}

void fork_slot_free(struct run_exec *re) {
    if (!re->forking || !re->tenant) return;
    pthread_mutex_lock(&re->e->mu);
    re->forking = false;
    re->tenant->forking--;
    fork_next_locked(re->tenant);
    pthread_mutex_unlock(&re->e->mu);
}

/* Stopping: all of them come to a worker, which refuses them. */
void fork_slots_open_locked(struct engine *e) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(e->tenants, &it, &key, &value)) {
        struct tenant *t = value;
        while (!list_empty(&t->forks)) fork_next_locked(t);
    }
}

/* --- states in memory --- */

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
