/*
 * upkeep.c: what the timer thread does besides timers: lease renewal (STORE-32, STORE-34), the
 * recovery sweep (STORE-35), purging (STORE-43, STORE-44).  It never waits: writes go to the
 * committer.
 */
#include "store/upkeep.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/fork.h"
#include "store/leases.h"
#include "store/peers.h"
#include "store/run_lists.h"

/* --- writes on the committer --- */

struct errand {
    struct engine *e;
    void (*run)(struct engine *e, struct store *s, uint64_t asked_ms);
    uint64_t asked_ms;
};

static void errand_run(void *ctx, struct store *s) {
    struct errand *x = ctx;
    struct engine *e = x->e;
    x->run(e, s, x->asked_ms);
    mem_free(x);
    pthread_mutex_lock(&e->mu);
    e->inflight_nr--;
    pthread_cond_broadcast(&e->calm);
    pthread_mutex_unlock(&e->mu);
}

static bool errand_send(struct engine *e, void (*run)(struct engine *e, struct store *s, uint64_t),
                        uint64_t now_ms) {
    struct errand *x = MEM_NEW(struct errand);
    if (!x) return false;
    *x = (struct errand){e, run, now_ms};
    pthread_mutex_lock(&e->mu);
    e->inflight_nr++;
    pthread_mutex_unlock(&e->mu);
    if (journal_side(e->journal, errand_run, x) == 0) return true;
    mem_free(x);
    pthread_mutex_lock(&e->mu);
    e->inflight_nr--;
    pthread_cond_broadcast(&e->calm);
    pthread_mutex_unlock(&e->mu);
    return false;
}

static void renew(struct engine *e, struct store *s, uint64_t asked_ms) {
    struct wopr_error err;
    int64_t n;
    int rc = store_lease_renew(s, e->holder, clock_wall_ms() + e->cfg.lease_ttl_ms, &n, &err);
    if (rc != 0) log_warn("the leases could not be renewed", "why", err.message);
    pthread_mutex_lock(&e->mu);
    e->beat_inflight = false;
    /* STORE-33: silent for too long, so others may have taken runs of ours in the meantime. */
    if (rc == 0 && !e->cfg.sole_host && clock_mono_ms() >= e->lease_ok_ms) peers_suspect_locked(e);
    if (rc == 0) { /* surely ours for a heartbeat less than others think */
        int64_t safe_ms = e->cfg.lease_ttl_ms - e->cfg.heartbeat_ms / 2;
        e->lease_ok_ms = asked_ms + (uint64_t)safe_ms;
        /* It took too long to be of use (a frozen process), or the next one was due before this one
         * was done: that does not wait its turn. */
        e->beat_late = e->beat_missed || clock_mono_ms() >= e->lease_ok_ms;
        e->beat_missed = false;
        if (e->beat_late) {
            e->kicked = true;
            pthread_cond_signal(&e->tick);
        }
        pthread_cond_broadcast(&e->work);
    }
    pthread_mutex_unlock(&e->mu);
    if (rc == WOPR_E_SYNC_FAILED) engine_break(e, "lease");
}

static void purge(struct engine *e, struct store *s, uint64_t asked_ms) {
    struct wopr_error err;
    int64_t now_ms = clock_wall_ms(), keys = 0, runs = 0;
    (void)asked_ms;
    bool more = false, more_runs = false;
    int rc = store_purge_idempotency(s, now_ms, ENGINE_PURGE_MAX, &keys, &more, &err);
    if (rc == 0 && e->cfg.retention_ms > 0)
        rc = store_purge_runs(s, now_ms - e->cfg.retention_ms, now_ms, ENGINE_PURGE_MAX, &runs,
                              &more_runs, &err);
    more = more || more_runs;
    if (rc == 0) rc = fork_sweep(e, s, &more, &err);
    if (rc != 0) log_warn("housekeeping failed and is tried again", "why", err.message);
    pthread_mutex_lock(&e->mu);
    e->purge_inflight = false;
    e->purge_more = more;
    if (more) pthread_cond_signal(&e->tick);
    pthread_mutex_unlock(&e->mu);
}

static void release(struct engine *e, struct store *s, uint64_t asked_ms) {
    struct wopr_error err;
    (void)asked_ms;
    if (store_lease_release(s, e->holder, &err) != 0)
        log_warn("the leases could not be given back; they expire", "why", err.message);
}

/* STORE-36.  Waits for the committer; the log still runs. */
void upkeep_release(struct engine *e) {
    if (!errand_send(e, release, 0)) return;
    pthread_mutex_lock(&e->mu);
    while (e->inflight_nr > 0) pthread_cond_wait(&e->calm, &e->mu);
    pthread_mutex_unlock(&e->mu);
}

/* Dead hosts whose runs all have a new holder, or ended, need not be looked at any more. */
static void bury(struct engine *e, struct store *s, uint64_t asked_ms) {
    struct wopr_error err;
    (void)asked_ms;
    for (int64_t no; (no = peers_next_dead(e)) != 0;)
        if (store_holder_bury(s, no, &err) != 0) break;
}

/* --- sweep --- */

static bool sweep_takes(struct engine *e, const struct run_head *h) {
    int64_t beat;
    if (h->parked.n > 0 || h->engine_version > CURRENT_ENGINE_VERSION) return false;
    return peers_lease_free(e, h, &beat);
}

/* Runs that wait for somebody only have no holder and are loaded when that somebody comes
 * (STORE-35): they are not in the list.  Others that wait also have nodes at work. */
static bool sweep_wants(struct engine *e, const struct run_origin *o) {
    const struct run_head *h = &o->head;
    bool going = h->status != RUN_PAUSED && !run_status_final(h->status);
    /* A fork's first step ends what it inherited. */
    if (fork_is_fresh(&o->fork, h->next_seq)) going = true;
    return going && sweep_takes(e, h);
}

/* Seen by the number while no worker knows it; false when the tables are full. */
bool sweep_add(struct engine *e, int64_t run_no, struct str tenant, const struct run_head *h) {
    struct run_exec *re = exec_new(e, h->run_id);
    if (!re) return true;
    re->phase = EXEC_LOOKUP;
    re->run_no = run_no;
    re->swept = true;
    struct str key = str_n((const char *)&re->run_no, sizeof re->run_no);
    pthread_mutex_lock(&e->mu);
    bool room = e->active_nr < e->cfg.runs_active_max && !e->stopping;
    bool known = map_get(e->by_id, h->run_id) != NULL;
    bool added = room && !known && exec_register_locked(e, re, tenant) == 0;
    if (added && map_put(e->by_no, key, re, NULL) != 0) {
        exec_unregister_locked(re);
        added = false;
    }
    if (added) exec_wake_locked(re);
    pthread_mutex_unlock(&e->mu);
    if (!added) exec_free(re);
    return room || known;
}

static bool in_memory(struct engine *e, int64_t run_no) {
    pthread_mutex_lock(&e->mu);
    bool known = map_get(e->by_no, str_n((const char *)&run_no, sizeof run_no)) != NULL;
    pthread_mutex_unlock(&e->mu);
    return known;
}

/* Alone in its arena: the inputs of a page of runs together fit into none. */
static bool row_read(struct engine *e, int64_t run_no, struct arena *row, struct run_origin *out) {
    struct wopr_error err;
    arena_reset(row);
    int rc = store_run_origin(e->store, run_no, row, out, &err);
    if (rc != 0 && rc != WOPR_E_NOT_FOUND)
        log_warn("the sweep cannot read a run", "why", err.message);
    return rc == 0;
}

/* Those among them whose child does not wait any more: the crash came between the two commits. */
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
            if (in_memory(e, after)) continue;
            if (!row_read(e, after, row, &o)) continue;
            if (sweep_takes(e, &o.head)) room = sweep_add(e, after, o.meta.tenant, &o.head);
        }
    }
    return room;
}

/* The rest of its runs wait for a later look: others come first. */
static bool tenant_full(struct engine *e, struct str tenant) {
    pthread_mutex_lock(&e->mu);
    bool full = tenant_full_locked(e, tenant);
    pthread_mutex_unlock(&e->mu);
    return full;
}

/* *from: where the last one stopped because it had passed over enough runs, else 0. */
static void sweep(struct engine *e, int64_t *from) {
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
            if (peers_holds(e, page.v[i].holder_no) || in_memory(e, after)) continue;
            if (!row_read(e, after, row, &o)) continue;
            if (!sweep_wants(e, &o)) continue;
            if (tenant_full(e, o.meta.tenant)) room = ++skips < ENGINE_SWEEP_SKIPS_MAX;
            else room = sweep_add(e, after, o.meta.tenant, &o.head);
        }
    }
    if (a && row && room) room = sweep_parents(e, a, row);
    arena_free(a);
    arena_free(row);
    if (whole && !e->cfg.sole_host) (void)errand_send(e, bury, 0);
    bool passed = skips == ENGINE_SWEEP_SKIPS_MAX;
    *from = passed ? after : 0;
    pthread_mutex_lock(&e->mu);
    e->sweep_soon = !room && !passed;
    pthread_mutex_unlock(&e->mu);
}

/* Waiting runs whose deadline comes before the next look (STORE-9, STORE-35). */
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
        if (in_memory(e, page.v[i])) continue;
        if (!row_read(e, page.v[i], row, &o)) continue;
        if (sweep_takes(e, &o.head)) (void)sweep_add(e, page.v[i], o.meta.tenant, &o.head);
    }
    arena_free(a);
    arena_free(row);
}

/* --- the clockwork --- */

static bool sweep_due(struct engine *e, const struct upkeep *u, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    bool soon = (e->sweep_soon && e->active_nr < e->cfg.runs_active_max / 2) || e->sweep_now;
    e->sweep_now = false;
    pthread_mutex_unlock(&e->mu);
    return soon || now_ms >= u->sweep_ms;
}

static void beat(struct engine *e, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    bool send = !e->beat_inflight && !e->broken;
    e->beat_missed = e->beat_inflight;
    if (send) e->beat_inflight = true;
    pthread_mutex_unlock(&e->mu);
    if (!send || errand_send(e, renew, now_ms)) return;
    pthread_mutex_lock(&e->mu);
    e->beat_inflight = false;
    pthread_mutex_unlock(&e->mu);
}

static void tidy(struct engine *e, struct upkeep *u, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    if (e->purge_more) {
        e->purge_more = false;
        u->purge_ms = now_ms + ENGINE_PURGE_AGAIN_MS;
    }
    bool send = now_ms >= u->purge_ms && !e->purge_inflight && !e->broken;
    if (send) e->purge_inflight = true;
    pthread_mutex_unlock(&e->mu);
    if (now_ms >= u->purge_ms) u->purge_ms = now_ms + ENGINE_PURGE_MS;
    if (!send || errand_send(e, purge, now_ms)) return;
    pthread_mutex_lock(&e->mu);
    e->purge_inflight = false;
    pthread_mutex_unlock(&e->mu);
}

static bool beat_due(struct engine *e, const struct upkeep *u, uint64_t now_ms) {
    pthread_mutex_lock(&e->mu);
    bool late = e->beat_late;
    e->beat_late = false;
    pthread_mutex_unlock(&e->mu);
    return late || now_ms >= u->beat_ms;
}

uint64_t upkeep_run(struct engine *e, struct upkeep *u, uint64_t now_ms) {
    if (beat_due(e, u, now_ms)) {
        beat(e, now_ms);
        u->beat_ms = now_ms + (uint64_t)e->cfg.heartbeat_ms;
    }
    if (sweep_due(e, u, now_ms)) {
        sweep(e, &u->sweep_from);
        sweep_deadlines(e);
        /* What is left of a long list has its turn after the beats. */
        u->sweep_ms = u->sweep_from > 0 ? now_ms : now_ms + (uint64_t)(e->cfg.lease_ttl_ms / 2 + 1);
    }
    tidy(e, u, now_ms);
    uint64_t next = u->beat_ms;
    if (u->sweep_ms < next) next = u->sweep_ms;
    return u->purge_ms < next ? u->purge_ms : next;
}
