/*
 * tidy.c: once a second: backlogs are bounded, figures counted, and rows removed that nobody needs
 * any more, with the tenants that have no subscription left.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "hooks/hooks_int.h"

#include <stdio.h>

enum {
    TIDY_MS = 1000,
    AGAIN_MS = 20,     /* a trim that found more than it may remove at once */
    EXPIRE_MS = 60000, /* between two looks for old dead letters */
    TRIM_TENANTS = 64,
    SLACK_PARTS = 16 /* a bound is looked at when a sixteenth of it is new */
};

/* --- bounds --- */

static void dropped_log(struct hooks *h, const struct hook *k) {
    uint64_t held = 0;
    char id[48];
    if (!log_gate_pass(&h->dropped_gate, &held)) return;
    (void)snprintf(id, sizeof id, STR_FMT, STR_ARG(k->row.webhook_id));
    log_warn("a webhook is too far behind: the oldest commits of its backlog are not delivered",
             "webhook", id);
}

void backlog_cut(struct hooks *h, struct hook *k, int64_t floor) {
    const struct hook_item item = {.row = k->row, .state = {.next_move = k->next_move}};
    struct wopr_error err = {0};
    int64_t n = 0, oldest_ms;
    k->floor = 0;
    if (k->next_move > floor ||
        store_hook_backlog(h->store, &item, floor + 1, &n, &oldest_ms, &err) != 0)
        return; /* the next look finds it again */
    k->dropped += n;
    h->stat_dropped += (uint64_t)n;
    k->next_move = floor + 1;
    k->next_seq = 0;
    k->pulse.attempts = 0;
    hook_dirty(h, k);
    if (n > 0) dropped_log(h, k);
}

/* HOOK-11: beyond its bound a backlog loses what is oldest.  The event that is being sent is not
 * lost: its subscription is cut when it ends. */
static void backlog_bound(struct hooks *h, struct hook_tenant *t) {
    struct wopr_error err = {0};
    int64_t floor = 0, fresh = t->moves_nr - t->bounded_nr, bound = h->cfg.backlog_max;
    bool any = false;
    if (fresh == 0 || fresh < bound / SLACK_PARTS) return;
    for (struct list *l = t->hooks.next; !any && l != &t->hooks; l = l->next) {
        const struct hook *k = LIST_ENTRY(l, struct hook, all);
        any = k->phase != HOOK_IDLE && k->next_move < h->last_move - bound;
    }
    if (any && store_hook_floor(h->store, t->tenant, t->test_mode, bound, &floor, &err) != 0)
        return;
    t->bounded_nr = t->moves_nr;
    for (struct list *l = t->hooks.next; any && l != &t->hooks; l = l->next) {
        struct hook *k = LIST_ENTRY(l, struct hook, all);
        if (k->next_move > floor || k->phase == HOOK_IDLE) continue;
        if (k->phase == HOOK_SENDING) k->floor = floor;
        else backlog_cut(h, k, floor);
    }
}

/* --- rows --- */

struct hook_trim {
    struct hooks *h;
    bool expire, more;
    size_t n;
    struct trim_one {
        char *tenant;
        size_t tenant_n;
        bool test_mode, bare; /* bare: it had no subscription, and none of its commits is unseen */
        bool done;
        int64_t before;
    } v[TRIM_TENANTS];
};

static void trim_free(struct hook_trim *t) {
    for (size_t i = 0; t && i < t->n; i++) mem_free(t->v[i].tenant);
    mem_free(t);
}

/* On the committer's thread. */
static void trim_now(void *ctx, struct store *s) {
    struct hook_trim *t = ctx;
    struct hooks *h = t->h;
    struct wopr_error err = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        struct trim_one *one = &t->v[i];
        struct str tenant = str_n(one->tenant, one->tenant_n);
        bool more = false;
        rc = store_hook_trim(s, tenant, one->test_mode, one->before, &more, &err);
        one->done = rc == 0 && !more;
        t->more = t->more || more;
    }
    if (rc == 0 && t->expire) rc = store_hook_expire(s, clock_wall_ms(), &err);
    if (rc != 0) hooks_trouble(h, "delivered commits cannot be removed", &err);
    pthread_mutex_lock(&h->mu);
    h->trimmed = t;
    h->writing = false;
    pthread_cond_signal(&h->tick);
    pthread_mutex_unlock(&h->mu);
}

void tidy_landed(struct hooks *h, struct hook_trim *t) {
    if (t->more) h->trim_ms = clock_mono_ms() + AGAIN_MS;
    for (size_t i = 0; i < t->n; i++) {
        const struct trim_one *one = &t->v[i];
        struct str name = str_n(one->tenant, one->tenant_n);
        struct hook_tenant *of = one->done ? table_tenant(h, name, one->test_mode) : NULL;
        if (!of) continue;
        of->trimmed = one->before;
        if (one->bare && list_empty(&of->hooks) && list_empty(&of->calls) && of->in_flight == 0 &&
            of->last_move < of->trimmed)
            table_tenant_drop(h, of);
    }
    trim_free(t);
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

static void trim_add(struct hooks *h, struct hook_trim *t, struct hook_tenant *of) {
    int64_t before = tenant_passed(h, of);
    bool bare = list_empty(&of->hooks) && list_empty(&of->calls) && of->in_flight == 0 &&
                h->caught_up && h->loaded;
    if (before <= of->trimmed && !bare) return;
    t->v[t->n] = (struct trim_one){.tenant = mem_strndup(of->tenant.p, of->tenant.n),
                                   .tenant_n = of->tenant.n,
                                   .test_mode = of->test_mode,
                                   .bare = bare,
                                   .before = before};
    if (t->v[t->n].tenant) t->n++;
}

static struct hook_trim *trim_new(struct hooks *h, uint64_t now_ms) {
    struct hook_trim *t = MEM_NEW(struct hook_trim);
    if (!t) return NULL;
    t->h = h;
    t->expire = now_ms >= h->expire_ms;
    return t;
}

static void trim_post(struct hooks *h, struct hook_trim *t, uint64_t now_ms) {
    bool work = t && (t->n > 0 || t->expire), expire = t && t->expire;
    pthread_mutex_lock(&h->mu);
    bool busy = h->writing || h->trimmed;
    if (work && !busy) h->writing = true;
    pthread_mutex_unlock(&h->mu);
    if (work && !busy && journal_side(h->journal, trim_now, t) == 0) {
        if (expire) h->expire_ms = now_ms + EXPIRE_MS;
        return;
    }
    trim_free(t);
    if (busy) h->trim_ms = now_ms + AGAIN_MS;
    if (!work || busy) return;
    pthread_mutex_lock(&h->mu);
    h->writing = false;
    pthread_mutex_unlock(&h->mu);
}

/* --- figures --- */

static void stats_take(const struct hook_tenant *t, uint64_t *nr, uint64_t *open,
                       int64_t *oldest_ms) {
    for (const struct list *l = t->hooks.next; l != &t->hooks; l = l->next) {
        const struct hook *k = LIST_ENTRY(l, const struct hook, all);
        ++*nr;
        *open += k->pulse.open_until_ms != 0;
        if (k->since_ms != 0 && k->since_ms < *oldest_ms) *oldest_ms = k->since_ms;
    }
}

void hooks_tidy(struct hooks *h, uint64_t now_ms) {
    struct str key;
    void *value;
    int64_t wall_ms = clock_wall_ms(), oldest_ms = wall_ms;
    uint64_t nr = 0, open = 0;
    if (now_ms < h->trim_ms) return;
    h->trim_ms = now_ms + TIDY_MS;
    marks_write(h, true);
    struct hook_trim *trim = trim_new(h, now_ms);
    size_t at = 0, from = h->trim_from;
    h->trim_from = 0;
    for (size_t it = 0; map_next(h->tenants, &it, &key, &value); at++) {
        struct hook_tenant *t = value;
        backlog_bound(h, t);
        stats_take(t, &nr, &open, &oldest_ms);
        if (!trim || at < from) continue;
        if (trim->n < TRIM_TENANTS) trim_add(h, trim, t);
        else if (h->trim_from == 0) h->trim_from = at; /* the others have their turn first */
    }
    h->stat_nr = nr;
    h->stat_open = open;
    h->stat_tenants = map_count(h->tenants);
    h->stat_behind_ms = (uint64_t)(wall_ms - oldest_ms);
    trim_post(h, trim, now_ms);
}
