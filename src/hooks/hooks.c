/*
 * hooks.c: the dispatcher: looks for new commits, gives tenants their turns, bounds backlogs.
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
    TRIM_MS = 1000,
    STOP_MS = 1000 /* for deliveries under way */
};
#define ARENA_MAX (64u * 1024 * 1024)

/* After a commit, on the committer's thread. */
static void moved(void *ctx) {
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
    h->reload = false;
    h->reload_ms = now_ms + RELOAD_MS;
}

/* --- turns --- */

static bool room_for_one(const struct hooks *h) {
    return h->in_flight < HOOKS_IN_FLIGHT_MAX && h->bytes < HOOKS_BYTES_MAX;
}

/* One of the tenant whose turn it is; a tenant with enough under way waits.  true: more are ready.
 */
static bool turn_take(struct hooks *h, size_t *passed) {
    struct list *l = list_pop(&h->turns);
    if (!l) return false;
    struct hook_tenant *t = LIST_ENTRY(l, struct hook_tenant, turn);
    list_add_tail(&h->turns, &t->turn);
    if (t->in_flight >= HOOKS_TENANT_MAX) {
        ++*passed;
        return *passed < map_count(h->tenants);
    }
    *passed = 0;
    send_next(h, LIST_ENTRY(t->ready.next, struct hook, turn));
    return true;
}

/* true: subscriptions are left that could be visited at once. */
static bool turns_take(struct hooks *h) {
    size_t passed = 0;
    for (int i = 0; i < VISITS_MAX; i++)
        if (!room_for_one(h) || !turn_take(h, &passed)) return false;
    return true;
}

static void timers_fire(struct hooks *h, uint64_t now_ms) {
    struct heap_node *n;
    while ((n = heap_min(&h->timers)) != NULL && n->key <= (int64_t)now_ms) {
        struct hook *k = LIST_ENTRY(n, struct hook, timer);
        hook_set_phase(h, k, HOOK_READY);
    }
}

/* --- bounds --- */

static void dropped_log(struct hooks *h, const struct hook *k) {
    uint64_t held = 0;
    char id[48];
    if (!log_gate_pass(&h->dropped_gate, &held)) return;
    (void)snprintf(id, sizeof id, STR_FMT, STR_ARG(k->row.webhook_id));
    log_warn("a webhook is too far behind: the oldest commits of its backlog are not delivered",
             "webhook", id);
}

/* What the subscription has still to be sent, from a move on. */
static int64_t backlog_from(struct hooks *h, const struct hook *k, int64_t move) {
    const struct hook_item item = {.row = k->row, .state = {.next_move = move}};
    struct wopr_error err = {0};
    int64_t n = 0, oldest;
    return store_hook_backlog(h->store, &item, &n, &oldest, &err) == 0 ? n : 0;
}

static void backlog_cut(struct hooks *h, struct hook *k, int64_t floor) {
    int64_t n = backlog_from(h, k, k->next_move) - backlog_from(h, k, floor + 1);
    k->dropped += n;
    h->stat_dropped += (uint64_t)n;
    k->next_move = floor + 1;
    k->next_seq = 0;
    k->pulse.attempts = 0;
    hook_dirty(h, k);
    if (n > 0) dropped_log(h, k);
}

/* HOOK-11: beyond its bound a backlog loses what is oldest. */
static void backlog_bound(struct hooks *h, struct hook_tenant *t) {
    struct wopr_error err = {0};
    int64_t floor = 0;
    bool any = false;
    for (struct list *l = t->hooks.next; !any && l != &t->hooks; l = l->next) {
        const struct hook *k = LIST_ENTRY(l, struct hook, all);
        any = k->phase != HOOK_IDLE && k->next_move < h->last_move - h->cfg.backlog_max;
    }
    if (!any ||
        store_hook_floor(h->store, t->tenant, t->test_mode, h->cfg.backlog_max, &floor, &err) != 0)
        return;
    for (struct list *l = t->hooks.next; l != &t->hooks; l = l->next) {
        struct hook *k = LIST_ENTRY(l, struct hook, all);
        if (k->next_move > floor || k->phase == HOOK_SENDING || k->phase == HOOK_IDLE) continue;
        backlog_cut(h, k, floor);
    }
}

struct trim {
    struct hooks *h;
    size_t n;
    struct trim_one {
        char *tenant;
        size_t tenant_n;
        bool test_mode;
        int64_t before;
    } v[];
};

static void trim_now(void *ctx, struct store *s) {
    struct trim *t = ctx;
    struct hooks *h = t->h;
    struct wopr_error err = {0};
    bool more;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        struct str tenant = str_n(t->v[i].tenant, t->v[i].tenant_n);
        rc = store_hook_trim(s, tenant, t->v[i].test_mode, t->v[i].before, clock_wall_ms(), &more,
                             &err);
    }
    if (rc != 0) hooks_trouble(h, "delivered commits cannot be removed", &err);
    for (size_t i = 0; i < t->n; i++) mem_free(t->v[i].tenant);
    mem_free(t);
    pthread_mutex_lock(&h->mu);
    h->writing = false;
    pthread_cond_signal(&h->tick);
    pthread_mutex_unlock(&h->mu);
}

/* Commits that all subscriptions of the tenant have passed. */
static int64_t tenant_passed(const struct hooks *h, const struct hook_tenant *t) {
    int64_t least = h->last_move + 1;
    for (const struct list *l = t->hooks.next; l != &t->hooks; l = l->next) {
        const struct hook *k = LIST_ENTRY(l, const struct hook, all);
        if (k->phase != HOOK_IDLE && k->marked_move < least) least = k->marked_move;
    }
    return least;
}

static void stats_take(struct hooks *h, const struct hook_tenant *t, uint64_t *nr, uint64_t *open,
                       int64_t *oldest_ms) {
    for (const struct list *l = t->hooks.next; l != &t->hooks; l = l->next) {
        const struct hook *k = LIST_ENTRY(l, const struct hook, all);
        ++*nr;
        *open += k->pulse.open_until_ms != 0;
        if (k->since_ms != 0 && k->since_ms < *oldest_ms) *oldest_ms = k->since_ms;
    }
    (void)h;
}

enum { TRIM_TENANTS = 64 };
/* Once a second: bounds, figures, and the rows of a few tenants (by turns) that nobody needs. */
static void hooks_tidy(struct hooks *h, uint64_t now_ms) {
    struct str key;
    void *value;
    int64_t wall_ms = clock_wall_ms(), oldest_ms = wall_ms;
    uint64_t nr = 0, open = 0;
    if (now_ms < h->trim_ms) return;
    h->trim_ms = now_ms + TRIM_MS;
    marks_write(h, true);
    pthread_mutex_lock(&h->mu);
    bool busy = h->writing;
    if (!busy) h->writing = true;
    pthread_mutex_unlock(&h->mu);
    struct trim *trim = busy ? NULL : mem_zalloc(sizeof *trim + TRIM_TENANTS * sizeof *trim->v);
    if (trim) trim->h = h;
    for (size_t it = 0; map_next(h->tenants, &it, &key, &value);) {
        struct hook_tenant *t = value;
        backlog_bound(h, t);
        stats_take(h, t, &nr, &open, &oldest_ms);
        int64_t passed = tenant_passed(h, t);
        if (!trim || trim->n == TRIM_TENANTS || passed <= t->trimmed) continue;
        struct trim_one *one = &trim->v[trim->n];
        *one = (struct trim_one){mem_strndup(t->tenant.p, t->tenant.n), t->tenant.n, t->test_mode,
                                 passed};
        if (one->tenant) trim->n++;
        t->trimmed = passed;
    }
    h->stat_nr = nr;
    h->stat_open = open;
    h->stat_behind_ms = (uint64_t)(wall_ms - oldest_ms);
    if (trim && trim->n > 0 && journal_side(h->journal, trim_now, trim) == 0) return;
    for (size_t i = 0; trim && i < trim->n; i++) mem_free(trim->v[i].tenant);
    mem_free(trim);
    if (busy) return;
    pthread_mutex_lock(&h->mu);
    h->writing = false;
    pthread_mutex_unlock(&h->mu);
}

/* --- the thread --- */

/* What came back since the last look.  true: the host stops. */
static bool results_take(struct hooks *h) {
    struct list results;
    list_init(&results);
    pthread_mutex_lock(&h->mu);
    list_join(&results, &h->results);
    struct hook_work *w = h->landed;
    h->landed = NULL;
    h->kicked = false;
    if (h->look) h->lease.look_ms = 0;
    h->look = false;
    bool stopping = h->stopping;
    pthread_mutex_unlock(&h->mu);
    if (w) marks_landed(h, w);
    for (struct list *l; (l = list_pop(&results)) != NULL;)
        send_ended(h, LIST_ENTRY(l, struct hook_send, link));
    h->stat_in_flight = h->in_flight;
    return stopping;
}

static void wait_until(struct hooks *h, uint64_t ms) {
    struct timespec at = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    pthread_mutex_lock(&h->mu);
    if (!h->kicked && !h->stopping && !h->landed && list_empty(&h->results))
        (void)pthread_cond_timedwait(&h->tick, &h->mu, &at);
    pthread_mutex_unlock(&h->mu);
}

static uint64_t next_wake(struct hooks *h, uint64_t now_ms) {
    uint64_t at = now_ms + IDLE_MS;
    if (!h->cfg.sole_host && store_has_peers(h->store)) at = now_ms + SHARED_MS;
    struct heap_node *n = heap_min(&h->timers);
    if (n && (uint64_t)n->key < at) at = (uint64_t)n->key;
    if (!list_empty(&h->dirty) && h->write_ms < at) at = h->write_ms;
    if (!h->lease.held && h->lease.look_ms < at) at = h->lease.look_ms;
    return at;
}

static void dispatch(struct hooks *h) {
    uint64_t now_ms = clock_mono_ms();
    bool more = false;
    if (lease_look(h, now_ms)) {
        table_follow(h, now_ms);
        more = moves_scan(h);
        timers_fire(h, now_ms);
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
    while (!results_take(h)) dispatch(h);
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
    *out = h;
    if (h->a && h->page && h->tenants && h->by_no) return 0;
    hooks_free(h);
    *out = NULL;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for webhooks");
}

int hooks_start(struct hooks *h, struct wopr_error *err) {
    store_on_hook_move(h->store, moved, h);
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
    if (h->tenants && h->by_no) {
        (void)results_take(h); /* those that egress ended after the thread */
        table_clear(h);
        for (size_t it = 0; map_next(h->tenants, &it, &key, &value);) mem_free(value);
    }
    map_free(h->tenants);
    map_free(h->by_no);
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
                                .behind_ms = h->stat_behind_ms};
}
