/*
 * queue.c: who has the next turn.  Tenants take turns, so that no run waits behind all the ready
 * runs of another tenant: each tenant has its own list, and tenants with entries form a ring.
 */
#include "engine/queue.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/exec.h"
#include "engine/job.h"
#include "store/seals.h"

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
    struct tenant *t = map_get(e->queue.tenants, name);
    if (t) return t;
    t = tenant_new(name);
    if (t && map_put(e->queue.tenants, name, t, NULL) == 0) return t;
    if (t) tenant_free(t);
    return NULL;
}

static void tenant_put_locked(struct engine *e, struct tenant *t) {
    if (t->active > 0) return;
    ASSERT(t->forking == 0 && list_empty(&t->forks));
    (void)map_del(e->queue.tenants, str_n(t->name, t->name_n));
    tenant_free(t);
}

int tenant_join_locked(struct engine *e, struct run_exec *re, struct str name) {
    re->seat.tenant = tenant_get_locked(e, name);
    if (!re->seat.tenant) return WOPR_E_NO_MEMORY;
    re->seat.tenant->active++;
    return 0;
}

void tenant_leave_locked(struct engine *e, struct run_exec *re) {
    struct tenant *t = re->seat.tenant;
    if (!t) return;
    ASSERT(!re->seat.queued);
    list_del(&re->memory.resting);
    if (re->memory.leaves) e->states.leaving_bytes -= re->memory.bytes;
    re->memory.leaves = false;
    e->states.bytes -= re->memory.bytes;
    re->memory.bytes = 0;
    re->seat.tenant = NULL;
    t->active--;
    tenant_put_locked(e, t);
}

void tenant_change(struct run_exec *re, struct str name) {
    struct engine *e = re->engine;
    struct tenant *old = re->seat.tenant;
    if (old && str_eq(str_n(old->name, old->name_n), name)) return;
    pthread_mutex_lock(&e->mu);
    struct tenant *t = tenant_get_locked(e, name);
    if (t) { /* otherwise it stays: only the fairness of turns suffers */
        t->active++;
        re->seat.tenant = t;
        old->active--;
        tenant_put_locked(e, old);
    }
    pthread_mutex_unlock(&e->mu);
}

bool tenant_full_locked(struct engine *e, struct str name) {
    const struct tenant *t = map_get(e->queue.tenants, name);
    return t && t->active >= e->cfg.bounds.tenant_runs_active_max;
}

static void free_all(struct map *tenants) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(tenants, &it, &key, &value)) tenant_free(value);
}

void tenants_free(struct engine *e) {
    if (e->queue.tenants) free_all(e->queue.tenants);
    map_free(e->queue.tenants);
}

void tenants_count_locked(struct engine *e, struct tenant_counts *out) {
    struct str key;
    void *value;
    size_t it = 0;
    *out = (struct tenant_counts){.tenants = map_count(e->queue.tenants)};
    while (map_next(e->queue.tenants, &it, &key, &value)) {
        const struct tenant *t = value;
        if (t->active > out->most_active) out->most_active = t->active;
        if (t->forks_nr > out->most_forks_waiting) out->most_forks_waiting = t->forks_nr;
        out->forks_copying += t->forking;
    }
}

/* --- turns --- */

bool cmd_is_large(const struct engine_cmd *cmd) {
    return cmd->bytes > ENGINE_LARGE_BYTES ||
           (cmd->op == ENGINE_CREATE && cmd->create.inputs_accepted.n > ENGINE_LARGE_BYTES);
}

static bool exec_is_large(const struct run_exec *re) {
    return re->seat.large || re->mail.large_nr > 0 ||
           (!re->state && re->memory.log_bytes > ENGINE_LARGE_BYTES);
}

void queue_put_locked(struct run_exec *re, enum queue q) {
    struct engine *e = re->engine;
    struct tenant *t = re->seat.tenant;
    if (exec_is_large(re)) q = QUEUE_LARGE;
    re->seat.queued = true;
    re->seat.again = false;
    list_del(&re->memory.resting);
    if (list_empty(&t->ready[q])) list_add_tail(&e->queue.turns[q], &t->turn[q]);
    list_add_tail(&t->ready[q], &re->seat.ready);
    if (q != QUEUE_LARGE) {
        e->queue.ready_nr++;
        return;
    }
    e->queue.large_nr++;
    pthread_cond_signal(&e->large); /* rare enough to signal under the lock */
}

static struct run_exec *queue_pop_locked(struct engine *e, enum queue q) {
    struct list *turn = list_pop(&e->queue.turns[q]);
    struct tenant *t = LIST_ENTRY(turn, struct tenant, turn[q]);
    struct run_exec *re = LIST_ENTRY(list_pop(&t->ready[q]), struct run_exec, seat.ready);
    if (!list_empty(&t->ready[q])) list_add_tail(&e->queue.turns[q], turn);
    if (q == QUEUE_LARGE) e->queue.large_nr--;
    else e->queue.ready_nr--;
    return re;
}

/* Alternate between new and existing runs, so neither queue can starve the other. */
static enum queue queue_next_locked(const struct engine *e) {
    if (list_empty(&e->queue.turns[QUEUE_RUNS])) return QUEUE_FRESH;
    bool fresh = !e->queue.fresh_last && !list_empty(&e->queue.turns[QUEUE_FRESH]);
    return fresh ? QUEUE_FRESH : QUEUE_RUNS;
}

struct run_exec *queue_take_locked(struct engine *e, bool large) {
    if (large) return e->queue.large_nr > 0 ? queue_pop_locked(e, QUEUE_LARGE) : NULL;
    while (e->queue.ready_nr > 0) {
        enum queue q = queue_next_locked(e);
        struct run_exec *re = queue_pop_locked(e, q);
        e->queue.fresh_last = q == QUEUE_FRESH;
        if (!exec_is_large(re)) return re;
        queue_put_locked(re, q); /* it has received a large command since it was queued */
    }
    return NULL;
}

static void queue_push_locked(struct run_exec *re) {
    queue_put_locked(re, QUEUE_RUNS);
    if (re->engine->life.idle_nr > 0) pthread_cond_signal(&re->engine->work);
}

/* Signal after unlocking: a woken worker would block on the mutex at once. */
void workers_signal(struct engine *e, size_t n, size_t idle) {
    for (size_t i = 0; i < n && i < idle; i++) pthread_cond_signal(&e->work);
}

void exec_wake_locked(struct run_exec *re) {
    if (re->seat.queued || re->seat.waits_slot) return;
    if (re->seat.running || re->seat.inflight) re->seat.again = true; /* G2 */
    else queue_push_locked(re);
}

void exec_wake(struct run_exec *re) {
    pthread_mutex_lock(&re->engine->mu);
    exec_wake_locked(re);
    pthread_mutex_unlock(&re->engine->mu);
}

/* --- commits in flight --- */

void exec_launch(struct run_exec *re) {
    pthread_mutex_lock(&re->engine->mu);
    ASSERT(!re->seat.inflight); /* G1 */
    re->seat.inflight = true;
    inflight_begin_locked(re->engine);
    pthread_mutex_unlock(&re->engine->mu);
}

void exec_launch_undo(struct run_exec *re) {
    pthread_mutex_lock(&re->engine->mu);
    re->seat.inflight = false;
    re->engine->inflight_nr--;
    pthread_mutex_unlock(&re->engine->mu);
}
int exec_commit(struct run_exec *re, struct plan *p, struct engine_cmd *cmd) {
    struct engine *e = re->engine;
    re->commit.plan = p;
    re->commit.cmd = cmd;
    exec_launch(re);
    int rc = journal_append_to(e->journal, p, execs_committed, e, re);
    if (rc == 0) return 0;
    exec_launch_undo(re);
    re->commit.plan = NULL;
    re->commit.cmd = NULL;
    return rc;
}

void execs_committed(void *engine, const struct journal_result *v, size_t n) {
    struct engine *e = engine;
    pthread_mutex_lock(&e->mu);
    for (size_t i = 0; i < n; i++) {
        struct run_exec *re = v[i].ctx;
        re->commit.rc = v[i].rc;
        re->seat.inflight = false;
        if (re->seat.running) re->seat.again = true;
        else queue_put_locked(re, QUEUE_RUNS);
    }
    if (store_seals_rest(e->store)) { /* a run ended: upkeep.c removes the rest in pages */
        e->upkeep.unseal_more = e->upkeep.kicked = true;
        pthread_cond_signal(&e->tick);
    }
    size_t idle = e->life.idle_nr;
    pthread_mutex_unlock(&e->mu);
    workers_signal(e, n, idle);
    inflight_end(e, n); /* last: after it engine_halt may free e */
}

void exec_landed(struct run_exec *re, int rc) {
    execs_committed(re->engine, &(struct journal_result){.ctx = re, .rc = rc}, 1);
}

/* --- forks: few of a tenant are folded at a time, the others wait in order --- */

bool forks_full_locked(struct engine *e, struct str name) {
    const struct tenant *t = map_get(e->queue.tenants, name);
    return t && t->forks_nr >= ENGINE_FORKS_WAITING_MAX;
}

void fork_begin_locked(struct run_exec *re) {
    struct tenant *t = re->seat.tenant;
    re->seat.waits_slot = t->forking >= ENGINE_FORKS_MAX;
    if (re->seat.waits_slot) {
        list_add_tail(&t->forks, &re->seat.ready);
        t->forks_nr++;
        return;
    }
    t->forking++;
    re->seat.copying = true;
    exec_wake_locked(re);
}

static void fork_next_locked(struct tenant *t) {
    if (list_empty(&t->forks)) return;
    struct run_exec *re = LIST_ENTRY(list_pop(&t->forks), struct run_exec, seat.ready);
    t->forks_nr--;
    t->forking++;
    re->seat.copying = true;
    re->seat.waits_slot = false;
    exec_wake_locked(re);
}

void fork_slot_free(struct run_exec *re) {
    if (!re->seat.copying || !re->seat.tenant) return;
    pthread_mutex_lock(&re->engine->mu);
    re->seat.copying = false;
    re->seat.tenant->forking--;
    fork_next_locked(re->seat.tenant);
    pthread_mutex_unlock(&re->engine->mu);
}

/* When stopping: queue all of them for a worker, which refuses them. */
void fork_slots_open_locked(struct engine *e) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(e->queue.tenants, &it, &key, &value)) {
        struct tenant *t = value;
        while (!list_empty(&t->forks)) fork_next_locked(t);
    }
}
