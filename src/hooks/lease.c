/*
 * lease.c: which host delivers.  One of those on the file delivers for all subscriptions: its row
 * in webhook_lease has an epoch, and every write of deliveries asks for it.  A holder is replaced
 * when its process is dead (its lock is free), when it has given its leases back, or when its beat
 * has not changed for its ttl on our monotonic clock (STORE-30 to STORE-36); no wall clock counts.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "hooks/hooks_int.h"
#include "store/peers.h"

enum { LOOK_HELD_MS = 1000, LOOK_FREE_MS = 250, LOOK_FAILED_MS = 100 };

/* Silent: the same beat for the whole of its ttl. */
static bool holder_silent(struct hooks *h, const struct holder_row *row, uint64_t now_ms) {
    struct hooks_lease *l = &h->lease;
    if (l->seen_no != row->holder_no || l->seen_beat != row->beat) {
        l->seen_no = row->holder_no;
        l->seen_beat = row->beat;
        l->seen_ms = now_ms;
    }
    return now_ms - l->seen_ms >= (uint64_t)row->ttl_ms;
}

static bool holder_gone(struct hooks *h, int64_t holder_no, uint64_t now_ms) {
    struct holder_row_list rows = {.n = 0};
    struct wopr_error err = {0};
    if (h->cfg.sole_host || holder_no == 0) return true;
    if (store_holder_state(h->store, holder_no) == HOLDER_DEAD) return true;
    arena_reset(h->a);
    if (store_holders(h->store, h->a, &rows, &err) != 0) return false;
    for (size_t i = 0; i < rows.n; i++)
        if (rows.v[i].holder_no == holder_no) return holder_silent(h, &rows.v[i], now_ms);
    return true; /* it gave its leases back */
}

struct claim {
    struct hooks *h;
    struct hook_lease seen;
    int64_t epoch;
    int rc;
};

static void claim_now(void *ctx, struct store *s) {
    struct claim *c = ctx;
    struct wopr_error err;
    c->rc = store_hook_claim(s, &c->seen, &c->epoch, &err);
    if (c->rc == 0 && store_hook_orphans(s, &err) != 0)
        hooks_trouble(c->h, "commits that no webhook waits for cannot be removed", &err);
    pthread_mutex_lock(&c->h->mu);
    c->h->writing = false;
    pthread_cond_signal(&c->h->tick);
    pthread_mutex_unlock(&c->h->mu);
}

/* The dispatcher has nothing else to do before it holds the lease: it waits for the write. */
static bool lease_claim(struct hooks *h, const struct hook_lease *seen, int64_t *epoch) {
    struct claim c = {.h = h, .seen = *seen, .rc = WOPR_E_CLOSED};
    pthread_mutex_lock(&h->mu);
    bool busy = h->writing || h->landed; /* a write of the lease before */
    if (!busy) h->writing = true;
    pthread_mutex_unlock(&h->mu);
    if (busy) return false;
    bool posted = journal_side(h->journal, claim_now, &c) == 0;
    pthread_mutex_lock(&h->mu);
    if (!posted) h->writing = false;
    while (h->writing) pthread_cond_wait(&h->tick, &h->mu);
    pthread_mutex_unlock(&h->mu);
    *epoch = c.epoch;
    return c.rc == 0;
}

static void lease_lost(struct hooks *h) {
    log_info("another host delivers webhooks from now on");
    h->lease.held = false;
    table_clear(h);
}

static void lease_won(struct hooks *h, const struct hook_lease *seen, int64_t epoch) {
    h->lease.held = true;
    h->lease.epoch = epoch;
    h->lease.changes = seen->changes;
    h->reload = true;
    h->loaded = false;
    h->reload_ms = 0;
    log_info("this host delivers webhooks");
}

bool lease_look(struct hooks *h, uint64_t now_ms) {
    struct hook_lease now;
    struct wopr_error err = {0};
    int64_t epoch;
    if (now_ms < h->lease.look_ms) return h->lease.held;
    h->lease.look_ms = now_ms + LOOK_HELD_MS;
    if (store_hook_lease(h->store, &now, &err) != 0) {
        hooks_trouble(h, "the lease of webhooks cannot be read", &err);
        h->lease.look_ms = now_ms + LOOK_FAILED_MS;
        return h->lease.held;
    }
    if (h->lease.held && now.epoch != h->lease.epoch) lease_lost(h);
    if (h->lease.held) {
        h->reload = h->reload || now.changes != h->lease.changes;
        h->lease.changes = now.changes;
        return true;
    }
    if (now.any) h->lease.look_ms = now_ms + LOOK_FREE_MS;
    bool joined = h->cfg.sole_host || store_own_holder(h->store) != 0;
    if (!now.any || !joined || !holder_gone(h, now.holder_no, now_ms)) return false;
    if (lease_claim(h, &now, &epoch)) lease_won(h, &now, epoch);
    return h->lease.held;
}
