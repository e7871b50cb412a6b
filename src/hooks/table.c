/*
 * table.c: the subscriptions in memory: loaded, moved between their phases, dropped.  An idle one
 * costs its texts and no query.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "hooks/hooks_int.h"

enum { LOAD_PAGE = 200 };
#define KEY_MAX 512

static struct str no_key(const struct hook *k) {
    return str_n((const char *)&k->row.hook_no, sizeof k->row.hook_no);
}

/* --- tenants --- */

static size_t key_write(char *to, struct str tenant, bool test_mode) {
    to[0] = test_mode ? 't' : 'l';
    if (tenant.n > 0) memcpy(to + 1, tenant.p, tenant.n);
    return tenant.n + 1;
}

struct hook_tenant *table_tenant(struct hooks *h, struct str tenant, bool test_mode) {
    char key[KEY_MAX];
    if (tenant.n + 1 > sizeof key) return NULL; /* no tenant's name is so long */
    return map_get(h->tenants, str_n(key, key_write(key, tenant, test_mode)));
}

static struct hook_tenant *tenant_add(struct hooks *h, struct str tenant, bool test_mode) {
    struct hook_tenant *t = table_tenant(h, tenant, test_mode);
    if (t || tenant.n + 1 > KEY_MAX) return t;
    t = mem_zalloc(sizeof *t + tenant.n + 1);
    if (!t) return NULL;
    char *text = (char *)(t + 1);
    t->key = str_n(text, key_write(text, tenant, test_mode));
    t->tenant = str_n(text + 1, tenant.n);
    t->test_mode = test_mode;
    list_init(&t->hooks);
    list_init(&t->calls);
    list_init(&t->ready);
    list_init(&t->slow);
    list_init(&t->turn);
    if (map_put(h->tenants, t->key, t, NULL) == 0) return t;
    mem_free(t);
    return NULL;
}

void table_tenant_drop(struct hooks *h, struct hook_tenant *t) {
    (void)map_del(h->tenants, t->key);
    mem_free(t);
}

/* --- phases --- */

/* A tenant is in the line while it has a subscription that is ready. */
static void line_up(struct hooks *h, struct hook_tenant *t) {
    bool in = !list_empty(&t->turn), ready = !list_empty(&t->ready) || !list_empty(&t->slow);
    if (in == ready) return;
    if (ready) list_add_tail(&h->turns, &t->turn);
    else list_del(&t->turn);
    h->turns_nr = ready ? h->turns_nr + 1 : h->turns_nr - 1;
}

static void sending_count(struct hooks *h, struct hook *k, bool begins) {
    size_t one = begins ? 1 : (size_t)-1;
    k->tenant->in_flight += one;
    h->in_flight += one;
    if (begins) k->sent_slow = !k->proven;
    if (!k->sent_slow) return;
    k->tenant->slow_nr += one;
    h->slow_nr += one;
}

static void phase_leave(struct hooks *h, struct hook *k) {
    if (k->phase == HOOK_WAITING) heap_remove(&h->timers, &k->timer);
    if (k->phase == HOOK_SENDING) sending_count(h, k, false);
    list_del(&k->turn);
    line_up(h, k->tenant);
}

void hook_set_phase(struct hooks *h, struct hook *k, enum hook_phase phase) {
    struct hook_tenant *t = k->tenant;
    phase_leave(h, k);
    k->phase = phase;
    if (phase == HOOK_IDLE) k->since_ms = 0;
    if (phase == HOOK_SENDING) sending_count(h, k, true);
    if (phase != HOOK_READY) return;
    list_add_tail(k->proven ? &t->ready : &t->slow, &k->turn);
    line_up(h, t);
}

/* A clock that was set back keeps no subscription waiting for longer than its breaker would. */
void hook_wait_until(struct hooks *h, struct hook *k, int64_t wall_ms) {
    int64_t left = wall_ms - clock_wall_ms();
    if (left > h->policy.breaker_ms + h->policy.breaker_ms / 8)
        left = h->policy.breaker_ms + h->policy.breaker_ms / 8;
    hook_set_phase(h, k, HOOK_READY);
    if (left <= 0) return;
    phase_leave(h, k);
    k->phase = HOOK_IDLE;
    if (heap_add(&h->timers, &k->timer, (int64_t)clock_mono_ms() + left) == 0)
        k->phase = HOOK_WAITING;
    else hook_set_phase(h, k, HOOK_READY); /* no memory: too early is better than never */
}

void hook_dirty(struct hooks *h, struct hook *k) {
    if (!k->gone && list_empty(&k->dirty)) list_add_tail(&h->dirty, &k->dirty);
}

/* --- life of one --- */

void hook_deads_free(struct hook_dead *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        mem_free((void *)(uintptr_t)v[i].run_id.p);
        mem_free((void *)(uintptr_t)v[i].reason.p);
    }
}

static void hook_free(struct hook *k) {
    hook_deads_free(k->deads, k->deads_nr);
    mem_free(k->deads);
    mem_free(k->call);
    mem_free(k->block);
    mem_free(k);
}

void hook_drop(struct hooks *h, struct hook *k) {
    if (!k->gone) {
        if (k->phase != HOOK_SENDING) hook_set_phase(h, k, HOOK_IDLE);
        if (k->call) (void)map_del(h->calls, k->row.webhook_id);
        else (void)map_del(h->by_no, no_key(k));
        if (k->call) k->tenant->calls_nr--;
        list_del(&k->all);
        list_del(&k->dirty);
        k->gone = true;
    }
    if (!k->send) {
        if (k->phase != HOOK_IDLE) hook_set_phase(h, k, HOOK_IDLE);
        hook_free(k);
    }
}

static char *text_copy(char *at, struct str *s) {
    if (s->n > 0) memcpy(at, s->p, s->n);
    at[s->n] = '\0';
    *s = str_n(at, s->n);
    return at + s->n + 1;
}

static bool row_copy(struct hook *k, const struct hook_row *row) {
    k->row = *row;
    k->row.events = k->row.created_by = STR_NONE;
    k->row.secret = (struct plan_sealed){.seq = 0};
    struct str none = STR_NONE, gone = STR_NONE;
    struct str *texts[] = {&k->row.webhook_id,
                           &k->row.tenant,
                           &k->row.url,
                           &k->row.tags,
                           &k->row.fingerprint,
                           k->call ? &k->call->run_id : &none,
                           k->call ? &k->call->traceparent : &gone};
    size_t n = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) n += texts[i]->n + 1;
    char *at = k->block = mem_alloc(n);
    for (size_t i = 0; at && i < sizeof texts / sizeof *texts; i++) at = text_copy(at, texts[i]);
    return k->block != NULL;
}

static struct hook *hook_bare(void) {
    struct hook *k = MEM_NEW(struct hook);
    if (!k) return NULL;
    list_init(&k->all);
    list_init(&k->turn);
    list_init(&k->dirty);
    return k;
}

static struct hook *hook_new(const struct hook_item *item) {
    struct hook *k = hook_bare();
    if (!k) return NULL;
    const struct hook_state *t = &item->state;
    k->next_move = k->marked_move = t->next_move;
    k->next_seq = t->next_seq;
    k->pulse = (struct hook_pulse){t->attempts, t->failures, t->open_until_ms, t->next_attempt_ms};
    k->last_status = t->last_status;
    k->last_ms = t->last_ms;
    k->proven = t->last_status / 100 == 2 && t->attempts == 0 && t->failures == 0;
    size_t n = t->last_error.n < HOOK_ERROR_MAX ? t->last_error.n : HOOK_ERROR_MAX - 1;
    if (n > 0) memcpy(k->last_error, t->last_error.p, n);
    if (row_copy(k, &item->row)) return k;
    mem_free(k);
    return NULL;
}

static int hook_add(struct hooks *h, const struct hook_item *item) {
    struct hook *k = hook_new(item);
    struct hook_tenant *t = k ? tenant_add(h, item->row.tenant, item->row.test_mode) : NULL;
    if (!t || map_put(h->by_no, no_key(k), k, NULL) != 0) {
        if (k) hook_free(k);
        return WOPR_E_NO_MEMORY;
    }
    k->tenant = t;
    list_add_tail(&t->hooks, &k->all);
    hook_wait_until(h, k, k->pulse.next_ms); /* its first visit finds out whether there is work */
    return 0;
}

/* --- callbacks --- */

static struct hook *call_new(const struct callback_row *row) {
    const struct hook_row as = {.webhook_id = row->interrupt_id,
                                .tenant = row->tenant,
                                .url = row->url,
                                .test_mode = row->test_mode};
    struct hook *k = hook_bare();
    if (!k) return NULL;
    k->call = MEM_NEW(struct hook_call);
    if (k->call) {
        *k->call = (struct hook_call){.run_no = row->run_no,
                                      .run_id = row->run_id,
                                      .traceparent = row->traceparent,
                                      .answers = row->answers};
        k->pulse.attempts = row->attempts;
        if (row_copy(k, &as)) return k;
    }
    hook_free(k);
    return NULL;
}

int table_call(struct hooks *h, const struct callback_row *row) {
    if (map_get(h->calls, row->interrupt_id)) return 0;
    struct hook_tenant *t = tenant_add(h, row->tenant, row->test_mode);
    if (t && (t->calls_nr >= HOOKS_TENANT_CALLS_MAX || map_count(h->calls) >= HOOKS_CALLS_MAX))
        return 0; /* a later look finds it again */
    struct hook *k = t ? call_new(row) : NULL;
    if (!k || map_put(h->calls, k->row.webhook_id, k, NULL) != 0) {
        if (k) hook_free(k);
        return WOPR_E_NO_MEMORY;
    }
    k->tenant = t;
    t->calls_nr++;
    list_add_tail(&t->calls, &k->all);
    hook_set_phase(h, k, HOOK_READY);
    return 0;
}

void table_wake(struct hooks *h, const struct hook_move *wish) {
    struct hook *k = map_get(h->by_no, str_n((const char *)&wish->hook_no, sizeof wish->hook_no));
    if (!k) return;
    hook_pulse_wake(&k->pulse);
    k->woken_late = k->phase == HOOK_SENDING;
    if (k->woken_from == 0) k->woken_from = wish->move_no;
    k->woken_to = wish->move_no;
    hook_dirty(h, k);
    h->pressing = true;
    if (k->phase == HOOK_WAITING) hook_set_phase(h, k, HOOK_READY);
}

/* --- the table --- */

/* Those that the store does not have any more: `seen` has the numbers of those that it has. */
static void table_sweep(struct hooks *h, struct map *seen) {
    struct str key;
    void *value;
    for (size_t it = 0; map_next(h->tenants, &it, &key, &value);) {
        struct hook_tenant *t = value;
        for (struct list *l = t->hooks.next, *next; l != &t->hooks; l = next) {
            struct hook *k = LIST_ENTRY(l, struct hook, all);
            next = l->next;
            if (!map_get(seen, no_key(k))) hook_drop(h, k);
        }
    }
}

static int page_take(struct hooks *h, const struct hook_list *l, struct map *seen) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        const struct hook_item *item = &l->v[i];
        struct str key = str_n((const char *)&item->row.hook_no, sizeof item->row.hook_no);
        struct hook *k = map_get(h->by_no, key);
        if (seen) rc = map_put(seen, key, h, NULL);
        if (rc == 0 && k && item->row.stopped) hook_drop(h, k);
        if (rc == 0 && !k && !item->row.stopped) rc = hook_add(h, item);
        if (rc == 0 && item->row.hook_no > h->last_no) h->last_no = item->row.hook_no;
    }
    return rc;
}

int table_load(struct hooks *h, bool whole, struct wopr_error *err) {
    struct map *seen = whole ? map_new() : NULL;
    struct hook_list l = {.n = 0};
    int64_t after = whole ? 0 : h->last_no;
    int rc = whole && !seen ? WOPR_E_NO_MEMORY : 0;
    if (rc != 0) wopr_error_set(err, rc, "no memory for webhooks");
    do {
        arena_reset(h->a);
        if (rc == 0) rc = store_hooks(h->store, STR_NONE, false, after, LOAD_PAGE, h->a, &l, err);
        if (rc == 0) {
            rc = page_take(h, &l, seen);
            if (rc != 0) wopr_error_set(err, rc, "no memory for webhooks");
        }
        if (rc == 0 && l.n > 0) after = l.v[l.n - 1].row.hook_no;
    } while (rc == 0 && l.n == LOAD_PAGE);
    if (rc == 0 && whole) table_sweep(h, seen);
    map_free(seen);
    return rc;
}

static void list_drop(struct hooks *h, struct list *of) {
    for (struct list *l = of->next, *next; l != of; l = next) {
        next = l->next;
        hook_drop(h, LIST_ENTRY(l, struct hook, all));
    }
}

void table_clear(struct hooks *h) {
    struct str key;
    void *value;
    for (size_t it = 0; map_next(h->tenants, &it, &key, &value);) {
        struct hook_tenant *t = value;
        list_drop(h, &t->hooks);
        list_drop(h, &t->calls);
    }
    h->last_no = h->last_move = 0;
}
