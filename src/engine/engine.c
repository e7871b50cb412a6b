/*
 * engine.c: the shell of threads: workers, start and stop.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/settings.gen.h"
#include "base/thread.h"
#include "engine/bounds.h"
#include "engine/children.h"
#include "engine/command.h"
#include "engine/evict.h"
#include "engine/fork.h"
#include "engine/kept.h"
#include "engine/peers.h"
#include "engine/submit.h"
#include "engine/task_serve.h"
#include "engine/task_type.h"
#include "engine/turn.h"
#include "engine/upkeep.h"
#include "engine/waits.h"
#include "engine/wfcache.h"

#include <time.h>
#include <unistd.h>

/* --- workers --- */

struct worker {
    struct engine *e;
    struct arena *scratch;
    bool large; /* of large turns */
};

/* STORE-34: after this time another process may take our runs. */
static bool lease_held_locked(const struct engine *e) {
    return e->cfg.sole_host || clock_mono_ms() < e->upkeep.lease_ok_ms;
}

static void answer_one_locked(struct engine *e) {
    struct engine_cmd *cmd = e->answers.first;
    e->answers.first = cmd->next;
    if (!e->answers.first) e->answers.end = &e->answers.first;
    pthread_mutex_unlock(&e->mu);
    cmd->next = NULL;
    cmd->done(cmd);
    pthread_mutex_lock(&e->mu);
}

/* false: no exec is ready. */
static bool turn_locked(struct worker *w) {
    struct engine *e = w->e;
    struct run_exec *re = queue_take_locked(e, w->large);
    if (!re) return false;
    re->seat.queued = false;
    re->seat.again = false;
    re->seat.running = true;
    e->life.busy_nr++;
    pthread_mutex_unlock(&e->mu);
    bool lives = exec_turn(re, w->scratch);
    if (w->large) thread_yield();
    size_t bytes = lives ? exec_bytes(re) : 0;
    bool settling = lives && re->state && run_state_busy(re->state); /* conditions that cost much */
    pthread_mutex_lock(&e->mu);
    e->life.busy_nr--;
    if (e->life.stopping) pthread_cond_broadcast(&e->calm);
    if (!lives) return true;
    re->seat.running = false;
    re->seat.large = settling || bytes > ENGINE_LARGE_BYTES;
    if (bytes > 0) re->memory.log_bytes = bytes; /* the size of a future fold */
    /* Also while stopping: a landed plan may hold a command that waits for its answer. */
    if (!re->seat.inflight && re->seat.again) exec_wake_locked(re);
    exec_rests_locked(re, bytes);
    return true;
}

static void worker_sleep_locked(struct worker *w) {
    struct engine *e = w->e;
    if (w->large) {
        pthread_cond_wait(&e->large, &e->mu);
        return;
    }
    e->life.idle_nr++;
    pthread_cond_wait(&e->work, &e->mu);
    e->life.idle_nr--;
}

static void *worker_main(void *arg) {
    struct worker *w = arg;
    struct engine *e = w->e;
    thread_name(w->large ? "wopr-large" : "wopr-worker");
    if (!w->large) thread_prompt();
    pthread_mutex_lock(&e->mu);
    for (;;) {
        if (!w->large && e->answers.first) answer_one_locked(e);
        else if ((lease_held_locked(e) || e->life.stopping) && turn_locked(w)) continue;
        else if (e->life.halting && e->inflight_nr == 0) break;
        else if (e->life.halting)
            pthread_cond_wait(&e->calm, &e->mu); /* landed commits still need a turn */
        else worker_sleep_locked(w);
    }
    pthread_mutex_unlock(&e->mu);
    arena_free(w->scratch);
    mem_free(w);
    return NULL;
}

static int worker_start(struct engine *e, bool large, struct wopr_error *err) {
    struct worker *w = MEM_NEW(struct worker);
    if (!w || !(w->scratch = arena_new(ENGINE_SCRATCH_MAX))) {
        mem_free(w);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a worker");
    }
    w->e = e;
    w->large = large;
    if (pthread_create(&e->life.workers[e->life.workers_nr], NULL, worker_main, w) == 0) {
        e->life.workers_nr++;
        return 0;
    }
    arena_free(w->scratch);
    mem_free(w);
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start a worker thread");
}

/* Large turns leave one core to all others, where there is more than one. */
static int workers_start(struct engine *e, struct wopr_error *err) {
    unsigned small = e->cfg.workers, large = small > 1 ? small - 1 : 1;
    int rc = 0;
    while (rc == 0 && e->life.workers_nr < small + large)
        rc = worker_start(e, e->life.workers_nr >= small, err);
    return rc;
}

/* --- life --- */

static void config_defaults(struct engine_config *c) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (c->workers == 0) c->workers = cores > 0 ? (unsigned)cores : 1;
    if (c->workers > ENGINE_WORKERS_MAX) c->workers = ENGINE_WORKERS_MAX;
    if (c->lease_ttl_ms <= 0) c->lease_ttl_ms = SETTING_CLAIM_TTL_MS;
    if (c->heartbeat_ms <= 0 || c->heartbeat_ms > c->lease_ttl_ms / 2)
        c->heartbeat_ms = c->lease_ttl_ms / 3 > 0 ? c->lease_ttl_ms / 3 : 1;
    if (c->runs_active_max == 0) c->runs_active_max = SETTING_RUNS_ACTIVE_MAX;
    if (c->children_open_max == 0) c->children_open_max = ENGINE_CHILDREN_OPEN_MAX;
    if (c->create_ms_max == 0) c->create_ms_max = ENGINE_CREATE_MS_MAX;
    bounds_default(&c->bounds, c->runs_active_max);
    if (c->limits.max_node_executions <= 0) c->limits = RUN_LIMITS_DEFAULT;
}

static int sync_init(struct engine *e) {
    if (clock_cond_init(&e->tick) != 0) return WOPR_E_NO_MEMORY;
    (void)pthread_mutex_init(&e->mu, NULL); /* these cannot fail with default attributes */
    (void)pthread_mutex_init(&e->wfcache.mu, NULL);
    (void)pthread_mutex_init(&e->kept.mu, NULL);
    list_init(&e->kept.all);
    (void)pthread_cond_init(&e->work, NULL);
    (void)pthread_cond_init(&e->large, NULL);
    (void)pthread_cond_init(&e->calm, NULL);
    return 0;
}

int engine_new(struct journal *journal, const struct payload_rules *rules,
               const struct node_registry *types, const struct wf_env *wf_env,
               const struct engine_config *cfg, struct engine **out, struct wopr_error *err) {
    if (!cfg->holder || cfg->holder[0] == '\0')
        return wopr_error_set(err, WOPR_E_CONFIG, "the engine needs a lease holder id");
    if (strlen(cfg->holder) > HOLDER_NAME_MAX)
        return wopr_error_set(err, WOPR_E_CONFIG, "a lease holder's name has at most %u bytes",
                              HOLDER_NAME_MAX);
    struct engine *e = MEM_NEW(struct engine);
    if (!e) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the engine");
    if (sync_init(e) != 0) {
        mem_free(e);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the engine");
    }
    e->journal = journal;
    e->store = journal_store(journal);
    e->rules = rules;
    e->types = types;
    e->waits = WAIT_KINDS;
    e->wf_env = *wf_env;
    e->cfg = *cfg;
    config_defaults(&e->cfg);
    for (int i = 0; i < QUEUE_NR; i++) list_init(&e->queue.turns[i]);
    list_init(&e->states.resting);
    list_init(&e->requests);
    heap_init(&e->timers);
    e->answers.end = &e->answers.first;
    e->runs.by_id = map_new();
    e->runs.by_no = map_new();
    e->runs.awaited = map_new();
    e->queue.tenants = map_new();
    e->wfcache.by_hash = map_new();
    int tasks_rc = task_types_init(e);
    if (tasks_rc == 0) tasks_rc = task_hub_new(e);
    char *holder = mem_strndup(cfg->holder, strlen(cfg->holder));
    e->holder = str_c(holder);
    bool made = e->runs.by_id && e->runs.by_no && e->runs.awaited && e->queue.tenants &&
                e->wfcache.by_hash && holder && tasks_rc == 0;
    int rc = made ? peers_new(e, err)
                  : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the engine");
    if (rc != 0) {
        engine_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

int engine_start(struct engine *e, struct wopr_error *err) {
    int rc = peers_join(e, err);
    if (rc != 0) return rc;
    pthread_mutex_lock(&e->mu);
    ASSERT(!e->life.started);
    e->life.started = true;
    e->life.started_ms = clock_mono_ms();
    e->upkeep.lease_ok_ms = e->life.started_ms + (uint64_t)e->cfg.lease_ttl_ms;
    pthread_mutex_unlock(&e->mu);
    rc = workers_start(e, err);
    if (rc == 0 && pthread_create(&e->life.timer_thread, NULL, timer_main, e) != 0)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the timer thread");
    if (rc == 0) {
        e->life.threads_up = true;
        rc = peers_start(e, err);
    }
    if (rc != 0) engine_halt(e, false);
    return rc;
}

/* Answer commands that came too late; no other thread runs any more. */
static void answer_rest(struct engine *e) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(e->runs.by_id, &it, &key, &value)) {
        struct run_exec *re = value;
        struct engine_cmd *cmd;
        while ((cmd = exec_mail_take(re)) != NULL)
            cmd_fail(e, cmd, WOPR_E_UNAVAILABLE, "the host is shutting down");
    }
    while (e->answers.first) {
        struct engine_cmd *cmd = e->answers.first;
        e->answers.first = cmd->next;
        cmd->next = NULL;
        cmd->done(cmd);
    }
    e->answers.end = &e->answers.first;
}

void engine_halt(struct engine *e, bool release) {
    pthread_mutex_lock(&e->mu);
    if (!e->life.started) {
        pthread_mutex_unlock(&e->mu);
        return;
    }
    fork_slots_open_locked(e);
    e->life.stopping = true; /* turns only take in what lands; nothing new is appended */
    pthread_cond_broadcast(&e->work);
    pthread_cond_broadcast(&e->large);
    pthread_cond_broadcast(&e->tick);
    pthread_mutex_unlock(&e->mu);
    if (e->life.threads_up) (void)pthread_join(e->life.timer_thread, NULL);
    e->life.threads_up = false;
    peers_stop(e);
    pthread_mutex_lock(&e->mu);
    /* A last turn may still send a plan, whose landing needs another turn. */
    while (e->inflight_nr > 0 ||
           (e->life.workers_nr > 0 && e->life.busy_nr + e->queue.ready_nr + e->queue.large_nr > 0))
        pthread_cond_wait(&e->calm, &e->mu);
    e->life.halting = true;
    pthread_cond_broadcast(&e->work);
    pthread_cond_broadcast(&e->large);
    pthread_mutex_unlock(&e->mu);
    for (unsigned i = 0; i < e->life.workers_nr; i++) (void)pthread_join(e->life.workers[i], NULL);
    e->life.workers_nr = 0;
    /* Side plans of the last turns may still be in flight. */
    pthread_mutex_lock(&e->mu);
    while (e->inflight_nr > 0) pthread_cond_wait(&e->calm, &e->mu);
    e->life.started = false;
    pthread_mutex_unlock(&e->mu);
    answer_rest(e);
    if (release) upkeep_release(e);
}

void engine_stop(struct engine *e) { engine_halt(e, true); }

void engine_free(struct engine *e) {
    struct str key;
    void *value;
    size_t it = 0;
    if (!e) return;
    ASSERT(e->life.workers_nr == 0);
    while (e->runs.by_id && map_next(e->runs.by_id, &it, &key, &value)) exec_free(value);
    peers_free(e);
    tenants_free(e);
    map_free(e->runs.by_id);
    map_free(e->runs.by_no);
    map_free(e->runs.awaited);
    kept_free(e);
    wfcache_free(e);
    task_hub_free(e);
    task_types_fini(e);
    heap_fini(&e->timers);
    mem_free((char *)(uintptr_t)e->holder.p);
    (void)pthread_cond_destroy(&e->tick);
    (void)pthread_cond_destroy(&e->work);
    (void)pthread_cond_destroy(&e->large);
    (void)pthread_cond_destroy(&e->calm);
    (void)pthread_mutex_destroy(&e->mu);
    (void)pthread_mutex_destroy(&e->wfcache.mu);
    (void)pthread_mutex_destroy(&e->kept.mu);
    mem_free(e);
}

void engine_kick(struct engine *e) {
    pthread_mutex_lock(&e->mu);
    e->upkeep.kicked = true;
    peers_kick_locked(e);
    pthread_cond_broadcast(&e->tick);
    pthread_cond_broadcast(&e->work);
    pthread_cond_broadcast(&e->large);
    pthread_mutex_unlock(&e->mu);
}

void engine_submit(struct engine *e, struct engine_cmd *cmd) {
    if (cmd->op != ENGINE_FORK) submit_command(e, cmd);
    else if (submit_admit(e, cmd)) fork_submit(e, cmd);
}

void engine_stats(struct engine *e, struct engine_stats *out) {
    *out = (struct engine_stats){
        .runs_created = e->counts.created,
        .runs_completed = e->counts.completed,
        .runs_failed = e->counts.failed,
        .runs_cancelled = e->counts.cancelled,
        .nodes_completed = e->counts.nodes_completed,
        .nodes_failed = e->counts.nodes_failed,
        .retries = e->counts.retries,
        .cap_breaches = e->counts.cap_breaches,
        .recovered = e->counts.recovered,
        .parked = e->counts.parked,
    };
    for (size_t i = 0; i < WOPR_ERR_NR; i++) out->refused[i] = e->counts.refused[i];
    out->runs_active_max = e->cfg.runs_active_max;
    out->bounds = e->cfg.bounds;
    for (size_t i = 0; i < RUN_BOUND_NR; i++) out->bounds_met[i] = e->counts.bounds_met[i];
    out->states_dropped = e->counts.dozed;
    pthread_mutex_lock(&e->mu);
    out->runs_active = e->runs.active_nr;
    out->ready_len = e->queue.ready_nr + e->queue.large_nr;
    out->timers = e->timers.n;
    out->state_bytes = e->states.bytes;
    struct tenant_counts t;
    tenants_count_locked(e, &t);
    out->tenants_active = t.tenants;
    out->tenant_runs_active = t.most_active;
    out->tenant_forks_waiting = t.most_forks_waiting;
    out->tenant_forks_waiting_max = ENGINE_FORKS_WAITING_MAX;
    out->forks_copying = t.forks_copying;
    out->store_failed = e->life.broken;
    pthread_mutex_unlock(&e->mu);
}
