/*
 * shares.c: bounds that no single tenant can exhaust (bounds.h).
 */
#include "base/mem.h"
#include "http/bounds.h"

enum {
    SHARES_IDLE_MAX = 256, /* holders that hold nothing and are kept for their next request */
    SHARES_SMALL_PART = 5  /* a small holder has at most this part of the reserve */
};

int shares_init(struct shares *s, const size_t limit[SHARE_NR], unsigned reserve_percent) {
    memset(s, 0, sizeof *s);
    s->nobody.refs = 1;
    list_init(&s->nobody.jobs);
    list_init(&s->nobody.turn);
    for (size_t i = 0; i < SHARE_NR; i++) {
        s->limit[i] = limit[i];
        s->reserve[i] = limit[i] / 100 * reserve_percent + limit[i] % 100 * reserve_percent / 100;
    }
    s->holders = map_new();
    if (!s->holders) return WOPR_E_NO_MEMORY;
    if (pthread_mutex_init(&s->lock, NULL) == 0) return 0;
    map_free(s->holders);
    s->holders = NULL;
    return WOPR_E_NO_MEMORY;
}

void shares_fini(struct shares *s) {
    size_t it = 0;
    struct str name;
    void *h;
    if (!s->holders) return;
    while (map_next(s->holders, &it, &name, &h)) mem_free(h);
    map_free(s->holders);
    s->holders = NULL;
    pthread_mutex_destroy(&s->lock);
}

static struct holder *holder_new(struct shares *s, struct str name) {
    struct holder *h = mem_zalloc(sizeof *h + name.n);
    if (!h) return NULL;
    memcpy(h + 1, name.p, name.n);
    h->name = str_n((const char *)(h + 1), name.n);
    list_init(&h->jobs);
    list_init(&h->turn);
    if (map_put(s->holders, h->name, h, NULL) == 0) return h;
    mem_free(h);
    return NULL;
}

static struct holder *holder_enter(struct shares *s, struct str name) {
    struct holder *h = NULL;
    if (name.n > 0) h = map_get(s->holders, name);
    if (!h && name.n > 0) h = holder_new(s, name);
    if (!h) h = &s->nobody;
    h->refs++;
    return h;
}

/* The one to be freed, or NULL. */
static struct holder *holder_leave(struct shares *s, struct holder *h) {
    ASSERT(h->refs > 0);
    if (--h->refs > 0 || map_count(s->holders) <= SHARES_IDLE_MAX) return NULL;
    (void)map_del(s->holders, h->name);
    return h;
}

struct holder *shares_enter(struct shares *s, struct str name) {
    pthread_mutex_lock(&s->lock);
    struct holder *h = holder_enter(s, name);
    pthread_mutex_unlock(&s->lock);
    return h;
}

struct holder *shares_again(struct shares *s, struct holder *h) {
    pthread_mutex_lock(&s->lock);
    h->refs++;
    pthread_mutex_unlock(&s->lock);
    return h;
}

void shares_leave(struct shares *s, struct holder *h) {
    if (!h) return;
    pthread_mutex_lock(&s->lock);
    struct holder *last = holder_leave(s, h);
    pthread_mutex_unlock(&s->lock);
    mem_free(last);
}

/* Under the lock. */
static bool share_capped(const struct shares *s, const struct holder *h, enum share_kind k,
                         size_t n) {
    return s->cap[k] > 0 && h != &s->nobody && h->held[k] + n > s->cap[k];
}

/* Under the lock. */
static bool share_fits(const struct shares *s, const struct holder *h, enum share_kind k,
                       size_t n) {
    size_t total = atomic_load_explicit(&s->total[k], memory_order_relaxed);
    size_t limit = s->limit[k], small = s->reserve[k] / SHARES_SMALL_PART;
    if (share_capped(s, h, k, n)) return false;
    if (total > limit || n > limit - total) return false;
    if (total + n <= limit - s->reserve[k]) return true;
    return h->held[k] + n <= (small > 0 ? small : 1);
}

static void held_sub(struct shares *s, struct holder *h, enum share_kind k, size_t n) {
    ASSERT(h->held[k] >= n);
    h->held[k] -= n;
    atomic_fetch_sub(&s->total[k], n);
}

static void held_add(struct shares *s, struct holder *h, enum share_kind k, size_t n) {
    h->held[k] += n;
    atomic_fetch_add(&s->total[k], n);
}

struct holder *shares_begin(struct shares *s, struct str name, enum share_kind kind, bool *taken) {
    pthread_mutex_lock(&s->lock);
    struct holder *h = holder_enter(s, name);
    *taken = share_fits(s, h, kind, 1);
    if (*taken) held_add(s, h, kind, 1);
    pthread_mutex_unlock(&s->lock);
    return h;
}

void shares_end(struct shares *s, struct holder *h, enum share_kind kind) {
    pthread_mutex_lock(&s->lock);
    held_sub(s, h, kind, 1);
    struct holder *last = holder_leave(s, h);
    pthread_mutex_unlock(&s->lock);
    mem_free(last);
}

bool share_take(struct shares *s, struct holder *h, enum share_kind kind, size_t n) {
    pthread_mutex_lock(&s->lock);
    bool ok = share_fits(s, h, kind, n);
    if (ok) held_add(s, h, kind, n);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool share_room(struct shares *s, struct holder *h, enum share_kind kind, size_t n) {
    size_t free_for_all = s->limit[kind] - s->reserve[kind], total = shares_total(s, kind);
    if (total < free_for_all && n <= free_for_all - total) return true;
    pthread_mutex_lock(&s->lock);
    bool ok = share_fits(s, h, kind, n);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void share_force(struct shares *s, struct holder *h, enum share_kind kind, size_t n) {
    pthread_mutex_lock(&s->lock);
    held_add(s, h, kind, n);
    pthread_mutex_unlock(&s->lock);
}

void share_give(struct shares *s, struct holder *h, enum share_kind kind, size_t n) {
    pthread_mutex_lock(&s->lock);
    held_sub(s, h, kind, n);
    pthread_mutex_unlock(&s->lock);
}

size_t share_over_cap(struct shares *s, struct holder *h, enum share_kind kind) {
    pthread_mutex_lock(&s->lock);
    size_t held = share_capped(s, h, kind, 1) ? h->held[kind] : 0;
    pthread_mutex_unlock(&s->lock);
    return held;
}

bool share_own_take(struct shares *s, struct holder *h, enum share_kind kind, size_t cap) {
    pthread_mutex_lock(&s->lock);
    bool ok = h->held[kind] < cap;
    if (ok) h->held[kind]++;
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void share_own_give(struct shares *s, struct holder *h, enum share_kind kind) {
    pthread_mutex_lock(&s->lock);
    ASSERT(h->held[kind] > 0);
    h->held[kind]--;
    pthread_mutex_unlock(&s->lock);
}

size_t shares_total(const struct shares *s, enum share_kind kind) {
    return atomic_load(&s->total[kind]);
}
