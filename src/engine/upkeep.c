/*
 * upkeep.c: the other duties of the timer thread: lease renewal (STORE-32, STORE-34), the recovery
 * sweep (STORE-35), purging (STORE-43, STORE-44).  It never waits: writes go to the committer.
 */
#include "engine/upkeep.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "engine/fork_info.h"
#include "engine/job.h"
#include "engine/kept.h"
#include "engine/peers.h"
#include "engine/task_serve.h"
#include "engine/timers.h"
#include "store/leases.h"
#include "store/memory.h"
#include "store/peers.h"
#include "store/run_lists.h"
#include "store/seals.h"
#include "store/upkeep.h"

#include <time.h>

#define ENGINE_SWEEP_PAGE      256u
#define ENGINE_SWEEP_PAGES_MAX 4096u
#define ENGINE_DEADLINES_MAX   10000u     /* waiting runs loaded by one sweep */
#define ENGINE_PURGE_AGAIN_MS  20         /* between full slices, so that commits get through */
#define ENGINE_PURGE_MAX       UINT32_MAX /* the store bounds a slice by rows and time */
#define ENGINE_FORGET_MAX      256u       /* entries of memory in one transaction */

struct upkeep { /* the timer thread's own */
    uint64_t beat_ms, sweep_ms, purge_ms;
    int64_t sweep_from;
};

/* --- writes on the committer --- */

static void lease_renew(struct engine *e, struct store *s, void *args) {
    const uint64_t *asked_ms = args; /* monotonic: when the beat was due */
    struct wopr_error err;
    int64_t n;
    int rc = store_lease_renew(s, e->holder, clock_wall_ms() + e->cfg.lease_ttl_ms, &n, &err);
    if (rc != 0) log_warn("the leases could not be renewed", "why", err.message);
    pthread_mutex_lock(&e->mu);
    e->upkeep.beat_inflight = false;
    /* STORE-33: silent for too long, so others may have taken runs of ours in the meantime. */
    if (rc == 0 && !e->cfg.sole_host && clock_mono_ms() >= e->upkeep.lease_ok_ms)
        peers_suspect_locked(e);
    if (rc == 0) { /* treat them as ours for a heartbeat less than others do */
        int64_t safe_ms = e->cfg.lease_ttl_ms - e->cfg.heartbeat_ms / 2;
        e->upkeep.lease_ok_ms = *asked_ms + (uint64_t)safe_ms;
        /* It took too long to be of use (a frozen process), or the next one is due already: send
         * another at once. */
        e->upkeep.beat_late = e->upkeep.beat_missed || clock_mono_ms() >= e->upkeep.lease_ok_ms;
        e->upkeep.beat_missed = false;
        if (e->upkeep.beat_late) {
            e->upkeep.kicked = true;
            pthread_cond_signal(&e->tick);
        }
        pthread_cond_broadcast(&e->work);
        pthread_cond_broadcast(&e->large);
    }
    pthread_mutex_unlock(&e->mu);
    if (rc == WOPR_E_SYNC_FAILED) engine_break(e, "lease");
}

/* The rest of what was sealed for ended runs (OBS-71): a page, then let commits through. */
static void seals_sweep(struct engine *e, struct store *s, void *args) {
    struct wopr_error err;
    bool more = false;
    (void)args;
    int rc = store_seals_sweep(s, &more, &err);
    if (rc != 0) log_warn("clear values of ended runs are removed later", "why", err.message);
    pthread_mutex_lock(&e->mu);
    e->upkeep.unseal_inflight = false;
    e->upkeep.unseal_more = e->upkeep.unseal_more || more;
    if (more) pthread_cond_signal(&e->tick);
    pthread_mutex_unlock(&e->mu);
}

static void purge_now(struct engine *e, struct store *s, void *args) {
    struct wopr_error err;
    int64_t now_ms = clock_wall_ms(), keys = 0, runs = 0, entries = 0;
    (void)args;
    bool more = false, more_runs = false, more_memory = false;
    int rc = store_purge_idempotency(s, now_ms, ENGINE_PURGE_MAX, &keys, &more, &err);
    if (rc == 0 && e->cfg.retention_ms > 0)
        rc = store_purge_runs(s, now_ms - e->cfg.retention_ms, now_ms, ENGINE_PURGE_MAX, &runs,
                              &more_runs, &err);
    if (rc == 0)
        rc = store_purge_memory(s, now_ms, ENGINE_FORGET_MAX, &e->upkeep.memory_turn, &entries,
                                &more_memory, &err);
    more = more || more_runs || more_memory;
    if (rc != 0) log_warn("housekeeping failed and is tried again", "why", err.message);
    pthread_mutex_lock(&e->mu);
    e->upkeep.purge_inflight = false;
    e->upkeep.purge_more = more;
    if (more) pthread_cond_signal(&e->tick);
    pthread_mutex_unlock(&e->mu);
}

static void leases_release(struct engine *e, struct store *s, void *args) {
    struct wopr_error err;
    (void)args;
    if (store_lease_release(s, e->holder, &err) != 0)
        log_warn("the leases could not be given back; they expire", "why", err.message);
}

/* STORE-36.  Waits for the committer, so the journal must still run. */
void upkeep_release(struct engine *e) {
    if (!job_post(e, leases_release, NULL, 0)) return;
    pthread_mutex_lock(&e->mu);
    while (e->inflight_nr > 0) pthread_cond_wait(&e->calm, &e->mu);
    pthread_mutex_unlock(&e->mu);
}

/* Retire dead hosts whose runs have all ended or have a new holder. */
static void holders_forget(struct engine *e, struct store *s, void *args) {
    struct wopr_error err;
    (void)args;
    for (int64_t no; (no = peers_next_dead(e)) != 0;)
        if (store_holder_retire(s, no, &err) != 0) break;
}

/* --- sweep --- */

static bool sweep_takes(struct engine *e, const struct run_head *h) {
    int64_t beat;
    if (h->parked.n > 0 || h->engine_version > CURRENT_ENGINE_VERSION) return false;
    return peers_lease_free(e, h, &beat);
}

/* Runs that only wait for a person have no holder and are loaded by the answer (STORE-35): they are
 * not in the list.  Other waiting runs also have nodes at work. */
static bool sweep_wants(struct engine *e, const struct run_origin *o) {
    const struct run_head *h = &o->head;
    bool going = h->status != RUN_PAUSED && !run_status_final(h->status);
    /* A fork's first step settles what it inherited. */
    if (fork_is_fresh(&o->fork, h->next_seq)) going = true;
    return going && sweep_takes(e, h);
}

static bool run_in_memory(struct engine *e, int64_t run_no) {
    pthread_mutex_lock(&e->mu);
    bool known = map_get(e->runs.by_no, str_n((const char *)&run_no, sizeof run_no)) != NULL;
    pthread_mutex_unlock(&e->mu);
    return known;
}

/* Reset the arena for each: the inputs of a whole page of runs might not fit. */
static bool origin_read(struct engine *e, int64_t run_no, struct arena *row,
                        struct run_origin *out) {
    struct wopr_error err;
    arena_reset(row);
    int rc = store_run_origin(e->store, run_no, row, out, &err);
    if (rc != 0 && rc != WOPR_E_NOT_FOUND)
        log_warn("the sweep cannot read a run", "why", err.message);
    return rc == 0;
}

/* Runs that wait for a child which no longer waits: a crash came between the two commits. */
static bool sweep_parents(struct engine *e, struct arena *a, struct arena *row) {
    struct wopr_error err;
    struct run_no_list page = {0};
    struct run_origin o;
    int64_t after = 0;
    bool room = true;
    for (unsigned n = 0; room && n < ENGINE_SWEEP_PAGES_MAX; n++) {
        arena_reset(a);
        int rc = store_parents_waiting(e->store, after, ENGINE_SWEEP_PAGE, a, &page, &err);
        if (rc != 0) log_warn("the sweep for waiting parents failed", "why", err.message);
        if (rc != 0 || page.n == 0) break;
        for (size_t i = 0; i < page.n && room && !engine_is_stopping(e); i++) {
            after = page.v[i];
            if (run_in_memory(e, after)) continue;
            if (!origin_read(e, after, row, &o)) continue;
            if (sweep_takes(e, &o.head)) room = exec_add(e, after, o.meta.tenant, &o.head);
        }
    }
    return room;
}

/* True: the rest of its runs waits for a later sweep, so that other tenants come first. */
static bool tenant_full(struct engine *e, struct str tenant) {
    pthread_mutex_lock(&e->mu);
    bool full = tenant_full_locked(e, tenant);
    pthread_mutex_unlock(&e->mu);
    return full;
}

/* *from: where the last sweep stopped because it had skipped enough runs, else 0. */
static void sweep_runs(struct engine *e, int64_t *from) {
    size_t skips = 0;
    struct wopr_error err;
    struct open_run_list page = {0};
    int64_t after = *from;
    bool room = true;
    bool whole = false;
    struct arena *a = arena_new(ENGINE_SCRATCH_MAX), *row = arena_new(ENGINE_SCRATCH_MAX);
    if (after == 0) peers_sweep_begins(e);
    for (unsigned n = 0; a && row && room && n < ENGINE_SWEEP_PAGES_MAX; n++) {
        arena_reset(a);
        int rc = store_runs_unfinished(e->store, after, ENGINE_SWEEP_PAGE, a, &page, &err);
        if (rc != 0) log_warn("the sweep for abandoned runs failed", "why", err.message);
        whole = rc == 0 && page.n == 0;
        if (rc != 0 || page.n == 0) break;
        for (size_t i = 0; i < page.n && room && !engine_is_stopping(e); i++) {
            struct run_origin o;
            after = page.v[i].run_no;
            if (peers_holds(e, page.v[i].holder_no) || run_in_memory(e, after)) continue;
            if (!origin_read(e, after, row, &o)) continue;
            if (!sweep_wants(e, &o)) continue;
            if (tenant_full(e, o.meta.tenant)) room = ++skips < ENGINE_SWEEP_SKIPS_MAX;
            else room = exec_add(e, after, o.meta.tenant, &o.head);
        }
    }
    if (a && row && room) room = sweep_parents(e, a, row);
    arena_free(a);
    arena_free(row);
    if (whole && !e->cfg.sole_host) (void)job_post(e, holders_forget, NULL, 0);
    bool passed = skips == ENGINE_SWEEP_SKIPS_MAX;
    *from = passed ? after : 0;
    pthread_mutex_lock(&e->mu);
    e->upkeep.sweep_soon = !room && !passed;
    pthread_mutex_unlock(&e->mu);
}

/* Load waiting runs whose deadline comes before the next sweep (STORE-9, STORE-35). */
static void sweep_deadlines(struct engine *e) {
    struct wopr_error err;
    struct run_no_list page = {0};
    struct arena *a = arena_new(ENGINE_SCRATCH_MAX), *row = arena_new(ENGINE_SCRATCH_MAX);
    int64_t until_ms = clock_wall_ms() + e->cfg.lease_ttl_ms;
    if (a && row &&
        store_runs_with_timer_due(e->store, until_ms, ENGINE_DEADLINES_MAX, a, &page, &err) != 0)
        log_warn("the sweep for deadlines failed", "why", err.message);
    for (size_t i = 0; i < page.n && !engine_is_stopping(e); i++) {
        struct run_origin o;
        if (run_in_memory(e, page.v[i])) continue;
        if (!origin_read(e, page.v[i], row, &o)) continue;
        if (sweep_takes(e, &o.head)) (void)exec_add(e, page.v[i], o.meta.tenant, &o.head);
    }
    arena_free(a);
    arena_free(row);
}

/* --- the clockwork --- */

static bool sweep_due(struct engine *e, const struct upkeep *u, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    bool soon = (e->upkeep.sweep_soon && e->runs.active_nr < e->cfg.runs_active_max / 2) ||
                e->upkeep.sweep_now;
    e->upkeep.sweep_now = false;
    pthread_mutex_unlock(&e->mu);
    return soon || now_ms >= u->sweep_ms;
}

static void beat_send(struct engine *e, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    bool send = !e->upkeep.beat_inflight && !e->life.broken;
    e->upkeep.beat_missed = e->upkeep.beat_inflight;
    if (send) e->upkeep.beat_inflight = true;
    pthread_mutex_unlock(&e->mu);
    if (!send || job_post(e, lease_renew, &now_ms, sizeof now_ms)) return;
    pthread_mutex_lock(&e->mu);
    e->upkeep.beat_inflight = false;
    pthread_mutex_unlock(&e->mu);
}

static void purge_send(struct engine *e, struct upkeep *u, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    if (e->upkeep.purge_more) {
        e->upkeep.purge_more = false;
        u->purge_ms = now_ms + ENGINE_PURGE_AGAIN_MS;
    }
    bool send = now_ms >= u->purge_ms && !e->upkeep.purge_inflight && !e->life.broken;
    if (send) e->upkeep.purge_inflight = e->upkeep.unseal_more = true; /* also of other hosts */
    pthread_mutex_unlock(&e->mu);
    if (now_ms >= u->purge_ms) u->purge_ms = now_ms + ENGINE_PURGE_MS;
    if (!send || job_post(e, purge_now, NULL, 0)) return;
    pthread_mutex_lock(&e->mu);
    e->upkeep.purge_inflight = false;
    pthread_mutex_unlock(&e->mu);
}

static void unseal_send(struct engine *e) {
    pthread_mutex_lock(&e->mu);
    bool send = e->upkeep.unseal_more && !e->upkeep.unseal_inflight && !e->life.broken;
    if (send) e->upkeep.unseal_more = false;
    if (send) e->upkeep.unseal_inflight = true;
    pthread_mutex_unlock(&e->mu);
    if (!send || job_post(e, seals_sweep, NULL, 0)) return;
    pthread_mutex_lock(&e->mu);
    e->upkeep.unseal_inflight = false;
    e->upkeep.unseal_more = true; /* with the next tick */
    pthread_mutex_unlock(&e->mu);
}

static bool beat_due(struct engine *e, const struct upkeep *u, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    bool late = e->upkeep.beat_late;
    e->upkeep.beat_late = false;
    pthread_mutex_unlock(&e->mu);
    return late || now_ms >= u->beat_ms;
}

static uint64_t upkeep_run(struct engine *e, struct upkeep *u, uint64_t now_ms) {
    if (beat_due(e, u, now_ms)) {
        beat_send(e, now_ms);
        u->beat_ms = now_ms + (uint64_t)e->cfg.heartbeat_ms;
    }
    if (sweep_due(e, u, now_ms)) {
        sweep_runs(e, &u->sweep_from);
        sweep_deadlines(e);
        kept_sweep(e);
        /* The rest of a long list follows after the beats. */
        u->sweep_ms = u->sweep_from > 0 ? now_ms : now_ms + (uint64_t)(e->cfg.lease_ttl_ms / 2 + 1);
    }
    purge_send(e, u, now_ms);
    unseal_send(e);
    uint64_t next = tasks_tick(e, now_ms);
    if (u->beat_ms < next) next = u->beat_ms;
    if (u->sweep_ms < next) next = u->sweep_ms;
    return u->purge_ms < next ? u->purge_ms : next;
}

/* --- the thread --- */

/* The condition variable runs on the monotonic clock; ms is a reading of clock_mono_ms(). */
static void wait_until_locked(struct engine *e, uint64_t ms) {
    struct timespec at = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)pthread_cond_timedwait(&e->tick, &e->mu, &at);
}

void *timer_main(void *arg) {
    thread_name("wopr-timer");
    struct engine *e = arg;
    struct upkeep u = {.purge_ms = e->life.started_ms + ENGINE_PURGE_MS};
    pthread_mutex_lock(&e->mu);
    e->upkeep.unseal_more = true; /* a host may have died before it was done */
    while (!e->life.stopping) {
        uint64_t now_ms = clock_mono_ms();
        e->upkeep.kicked = false;
        timers_fire_due_locked(e, now_ms);
        pthread_mutex_unlock(&e->mu);
        uint64_t next_ms = upkeep_run(e, &u, now_ms);
        pthread_mutex_lock(&e->mu);
        struct heap_node *n = heap_min(&e->timers);
        if (n && n->key < (int64_t)next_ms) next_ms = (uint64_t)n->key;
        if (!e->life.stopping && !e->upkeep.kicked && next_ms > clock_mono_ms())
            wait_until_locked(e, next_ms);
    }
    pthread_mutex_unlock(&e->mu);
    return NULL;
}
