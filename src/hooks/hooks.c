/*
 * hooks.c: the dispatcher: looks for new commits and gives tenants their turns.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "hooks/hooks_int.h"
#include "store/peers.h"

#include <stdio.h>
#include <time.h>

enum {
    SCAN_PAGE = 512,  /* commits looked at together */
    VISITS_MAX = 64,  /* subscriptions in one pass, between two looks at what came back */
    IDLE_MS = 1000,   /* nothing to do, alone */
    SHARED_MS = 100,  /* other hosts commit too */
    RELOAD_MS = 2000, /* between two comparisons of the whole table */
    CALL_GAP_MS = 20, /* between two looks for callbacks, however many commits there are */
    STOP_MS = 1000    /* for deliveries under way */
};
#define ARENA_MAX (64u * 1024 * 1024)

/* After a commit, on the committer's thread. */
static void hooks_moved(void *ctx) {
    struct hooks *h = ctx;
    pthread_mutex_lock(&h->mu);
    h->kicked = true;
    pthread_cond_signal(&h->tick);
    pthread_mutex_unlock(&h->mu);
}

/* --- new commits --- */

static void move_announce(struct hooks *h, const struct hook_move *m) {
    struct hook_tenant *t = table_tenant(h, m->tenant, m->test_mode);
    if (!t) return;
    t->moves_nr++;
    t->last_move = m->move_no;
    if (m->kinds == 0) table_wake(h, m);
    for (struct list *l = t->hooks.next; l != &t->hooks; l = l->next) {
        struct hook *k = LIST_ENTRY(l, struct hook, all);
        bool wants =
            (k->row.kinds & m->kinds) != 0 && (m->hook_no == 0 || m->hook_no == k->row.hook_no);
        if (k->phase == HOOK_IDLE && wants && m->move_no >= k->next_move) {
            k->since_ms = m->at_ms;
            hook_set_phase(h, k, HOOK_READY);
        }
    }
}

/* true: there may be more. */
static bool moves_scan(struct hooks *h) {
    struct hook_move_list l = {.n = 0};
    struct wopr_error err = {0};
    arena_reset(h->page);
    if (store_hook_moves(h->store, h->last_move, SCAN_PAGE, h->page, &l, &err) != 0) {
        hooks_trouble(h, "commits for webhooks cannot be read", &err);
        return false;
    }
    for (size_t i = 0; i < l.n; i++) {
        move_announce(h, &l.v[i]);
        h->last_move = l.v[i].move_no;
    }
    h->caught_up = l.n < SCAN_PAGE;
    return l.n == SCAN_PAGE;
}

static void table_follow(struct hooks *h, uint64_t now_ms) {
    struct wopr_error err = {0};
    if (!h->reload) return;
    bool whole = now_ms >= h->reload_ms;
    if (table_load(h, whole, &err) != 0) {
        hooks_trouble(h, "webhooks cannot be read", &err);
        return;
    }
    if (!whole) return; /* those that were removed are found later */
    h->loaded = true;
    h->reload = false;
    h->reload_ms = now_ms + RELOAD_MS;
}

/* --- turns --- */

/* The next of a tenant: those that are known to answer and the others by turns, each while there is
 * room for it.  NULL: none may be sent to now. */
static struct hook *tenant_next(const struct hooks *h, struct hook_tenant *t) {
    bool room = t->in_flight < HOOKS_TENANT_MAX &&
                HOOKS_SHARE(t->in_flight, h->in_flight, HOOKS_IN_FLIGHT_MAX);
    bool slow = room && !list_empty(&t->slow) && t->slow_nr < HOOKS_TENANT_SLOW_MAX &&
                HOOKS_SHARE(t->slow_nr, h->slow_nr, HOOKS_SLOW_MAX);
    bool quick = room && !list_empty(&t->ready);
    if (!slow && !quick) return NULL;
    bool from_slow = slow && (t->slow_turn || !quick);
    t->slow_turn = !from_slow;
    return LIST_ENTRY(from_slow ? t->slow.next : t->ready.next, struct hook, turn);
}

/* By turns of tenants; one with enough under way is passed over.  true: subscriptions are left that
 * could be visited at once. */
static bool turns_take(struct hooks *h) {
    size_t passed = 0;
    for (int i = 0; i < VISITS_MAX;) {
        struct list *l = passed < h->turns_nr ? list_pop(&h->turns) : NULL;
        if (!l) return false;
        struct hook_tenant *t = LIST_ENTRY(l, struct hook_tenant, turn);
        list_add_tail(&h->turns, &t->turn);
        struct hook *k = tenant_next(h, t);
        passed = k ? 0 : passed + 1;
        if (!k) continue;
        send_next(h, k);
        i++;
    }
    return true;
}

static void timers_fire(struct hooks *h, uint64_t now_ms) {
    struct heap_node *n;
    while ((n = heap_min(&h->timers)) != NULL && n->key <= (int64_t)now_ms) {
        struct hook *k = LIST_ENTRY(n, struct hook, timer);
        hook_set_phase(h, k, HOOK_READY);
    }
}

/* --- the thread --- */

/* What came back since the last look.  true: the host stops. */
static bool results_take(struct hooks *h) {
    struct list results;
    list_init(&results);
    pthread_mutex_lock(&h->mu);
    list_join(&results, &h->results);
    struct hook_work *w = h->landed;
    struct hook_trim *t = h->trimmed;
    h->landed = NULL;
    h->trimmed = NULL;
    bool kicked = h->kicked;
    h->kicked = false;
    if (kicked && h->call_ms > h->call_looked_ms + CALL_GAP_MS)
        h->call_ms = h->call_looked_ms + CALL_GAP_MS;
    if (h->look || (kicked && !h->lease.held)) h->lease.look_ms = 0;
    h->look = false;
    bool stopping = h->stopping;
    pthread_mutex_unlock(&h->mu);
    if (w) marks_landed(h, w);
    if (t) tidy_landed(h, t);
    for (struct list *l; (l = list_pop(&results)) != NULL;)
        send_ended(h, LIST_ENTRY(l, struct hook_send, link));
    h->stat_in_flight = h->in_flight;
    return stopping;
}

static void wait_until(struct hooks *h, uint64_t ms) {
    struct timespec at = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    pthread_mutex_lock(&h->mu);
    if (!h->kicked && !h->stopping && !h->landed && !h->trimmed && list_empty(&h->results))
        (void)pthread_cond_timedwait(&h->tick, &h->mu, &at);
    pthread_mutex_unlock(&h->mu);
}

static uint64_t next_wake(struct hooks *h, uint64_t now_ms) {
    uint64_t at = now_ms + IDLE_MS;
    if (!h->cfg.sole_host && store_has_peers(h->store)) at = now_ms + SHARED_MS;
    struct heap_node *n = heap_min(&h->timers);
    if (n && (uint64_t)n->key < at) at = (uint64_t)n->key;
    if (!list_empty(&h->dirty) && h->write_ms < at) at = h->write_ms;
    if (h->lease.held && h->trim_ms < at) at = h->trim_ms;
    if (h->lease.held && h->call_ms < at) at = h->call_ms;
    if (!h->lease.held && h->lease.look_ms < at) at = h->lease.look_ms;
    return at;
}

static void hooks_dispatch(struct hooks *h) {
    uint64_t now_ms = clock_mono_ms();
    bool more = false;
    if (lease_look(h, now_ms)) {
        table_follow(h, now_ms);
        more = h->loaded && moves_scan(h); /* a wish to wake one that is not there would be lost */
        timers_fire(h, now_ms);
        calls_look(h, now_ms);
        more = turns_take(h) || more;
        marks_write(h, false);
        hooks_tidy(h, now_ms);
    }
    if (!more) wait_until(h, next_wake(h, now_ms));
}

/* What is under way may end; what was found is written. */
static void dispatcher_end(struct hooks *h) {
    uint64_t end_ms = clock_mono_ms() + STOP_MS;
    bool writing = true;
    while ((h->in_flight > 0 || writing || !list_empty(&h->dirty)) && clock_mono_ms() < end_ms) {
        marks_write(h, true);
        struct timespec at;
        uint64_t ms = clock_mono_ms() + 20;
        at = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
        pthread_mutex_lock(&h->mu);
        if (!h->landed && list_empty(&h->results))
            (void)pthread_cond_timedwait(&h->tick, &h->mu, &at);
        writing = h->writing || h->landed;
        pthread_mutex_unlock(&h->mu);
        (void)results_take(h);
    }
    pthread_mutex_lock(&h->mu);
    while (h->writing) pthread_cond_wait(&h->tick, &h->mu); /* the journal still runs */
    pthread_mutex_unlock(&h->mu);
    (void)results_take(h);
}

static void *hooks_main(void *arg) {
    struct hooks *h = arg;
    thread_name("wopr-hooks");
    while (!results_take(h)) hooks_dispatch(h);
    dispatcher_end(h);
    return NULL;
}

/* --- life --- */

int hooks_new(struct journal *j, const struct hooks_config *cfg, struct hooks **out,
              struct wopr_error *err) {
    struct hooks *h = MEM_NEW(struct hooks);
    if (!h || clock_cond_init(&h->tick) != 0) {
        mem_free(h);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for webhooks");
    }
    (void)pthread_mutex_init(&h->mu, NULL);
    h->cfg = *cfg;
    h->policy = (struct hook_policy){cfg->attempts_max, cfg->retry_ms, cfg->breaker_s * 1000};
    h->call_policy =
        (struct hook_policy){cfg->call_attempts, cfg->retry_ms, HOOKS_CALL_WAIT_MAX_MS};
    h->journal = j;
    h->store = journal_store(j);
    (void)snprintf(h->agent, sizeof h->agent, "openwop-webhook-dispatcher/%s", cfg->version);
    list_init(&h->results);
    list_init(&h->turns);
    list_init(&h->dirty);
    heap_init(&h->timers);
    h->a = arena_new(ARENA_MAX);
    h->page = arena_new(ARENA_MAX);
    h->tenants = map_new();
    h->by_no = map_new();
    h->calls = map_new();
    *out = h;
    if (h->a && h->page && h->tenants && h->by_no && h->calls) {
        store_on_hook_move(h->store, hooks_moved, h); /* before the first commit */
        return 0;
    }
    hooks_free(h);
    *out = NULL;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for webhooks");
}

int hooks_start(struct hooks *h, struct wopr_error *err) {
    if (pthread_create(&h->thread, NULL, hooks_main, h) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the thread of webhooks");
    h->up = true;
    return 0;
}

void hooks_stop(struct hooks *h) {
    if (!h || !h->up) return;
    pthread_mutex_lock(&h->mu);
    h->stopping = true;
    pthread_cond_signal(&h->tick);
    pthread_mutex_unlock(&h->mu);
    (void)pthread_join(h->thread, NULL);
    h->up = false;
}

void hooks_free(struct hooks *h) {
    struct str key;
    void *value;
    if (!h) return;
    ASSERT(!h->up);
    store_on_hook_move(h->store, NULL, NULL);
    if (h->tenants && h->by_no && h->calls) {
        (void)results_take(h); /* those that egress ended after the thread */
        table_clear(h);
        for (size_t it = 0; map_next(h->tenants, &it, &key, &value);) mem_free(value);
    }
    map_free(h->tenants);
    map_free(h->by_no);
    map_free(h->calls);
    mem_free((void *)(uintptr_t)h->call_tenant.p);
    heap_fini(&h->timers);
    arena_free(h->a);
    arena_free(h->page);
    (void)pthread_cond_destroy(&h->tick);
    (void)pthread_mutex_destroy(&h->mu);
    mem_free(h);
}

void hooks_stats(struct hooks *h, struct hooks_stats *out) {
    *out = (struct hooks_stats){.delivered = h->stat_delivered,
                                .failed = h->stat_failed,
                                .dead = h->stat_dead,
                                .dropped = h->stat_dropped,
                                .subscriptions = h->stat_nr,
                                .open = h->stat_open,
                                .in_flight = h->stat_in_flight,
                                .tenants = h->stat_tenants,
                                .behind_ms = h->stat_behind_ms,
                                .calls = {.sent = h->stat_call_sent,
                                          .failed = h->stat_call_failed,
                                          .given_up = h->stat_call_given_up,
                                          .answered = h->stat_call_answered}};
}
