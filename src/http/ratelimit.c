/*
 * ratelimit.c: token buckets per key, address or tenant in a table of fixed size (AUTH-12).
 *
 * A bucket lives in a set of eight chosen by a seeded hash.  When a set is full, the fullest bucket
 * makes room: it is the one whose owner loses least by starting again full.
 */
#include "http/ratelimit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"

#include <pthread.h>

enum { LIMIT_SETS = 512, LIMIT_WAYS = 8, LIMIT_LOCKS = 16, LIMIT_WINDOW_MS = 1000 };

struct bucket {
    uint64_t who; /* 0 = free */
    double tokens;
    uint64_t last_ns, window_ms;
    unsigned count, before; /* taken in this second and in the one before */
};
struct limiter {
    double rate, burst;
    uint64_t seed;
    pthread_mutex_t locks[LIMIT_LOCKS];
    struct bucket sets[LIMIT_SETS][LIMIT_WAYS];
};

int limiter_new(unsigned rate, unsigned burst, struct limiter **out) {
    *out = NULL;
    if (rate == 0) return 0;
    struct limiter *l = MEM_NEW(struct limiter);
    if (!l) return WOPR_E_NO_MEMORY;
    l->rate = rate;
    l->burst = burst > 0 ? burst : rate;
    l->seed = rng_u64();
    for (size_t i = 0; i < LIMIT_LOCKS; i++) pthread_mutex_init(&l->locks[i], NULL);
    *out = l;
    return 0;
}

void limiter_free(struct limiter *l) {
    if (!l) return;
    for (size_t i = 0; i < LIMIT_LOCKS; i++) pthread_mutex_destroy(&l->locks[i]);
    mem_free(l);
}

static void bucket_refill(const struct limiter *l, struct bucket *b, uint64_t now_ns) {
    if (now_ns > b->last_ns) b->tokens += (double)(now_ns - b->last_ns) / 1e9 * l->rate;
    if (b->tokens > l->burst) b->tokens = l->burst;
    b->last_ns = now_ns;
}

/* make: a new bucket when there is none, else NULL. */
static struct bucket *bucket_find(struct limiter *l, struct bucket *set, uint64_t who, bool make,
                                  uint64_t now_ns) {
    struct bucket *victim = &set[0];
    for (size_t i = 0; i < LIMIT_WAYS; i++) {
        struct bucket *b = &set[i];
        if (b->who == who) {
            bucket_refill(l, b, now_ns);
            return b;
        }
        if (b->who != 0) bucket_refill(l, b, now_ns);
        if (victim->who != 0 && (b->who == 0 || b->tokens > victim->tokens)) victim = b;
    }
    if (!make) return NULL;
    *victim = (struct bucket){.who = who, .tokens = l->burst, .last_ns = now_ns};
    return victim;
}

static void bucket_count(struct bucket *b, size_t n, uint64_t now_ms) {
    uint64_t window = now_ms / LIMIT_WINDOW_MS;
    if (window != b->window_ms) {
        b->before = window == b->window_ms + 1 ? b->count : 0;
        b->count = 0;
        b->window_ms = window;
    }
    b->count += (unsigned)n;
}

/* take: so many tokens are used, and counted; 0: only a look.  owes: also without enough of
 * them. */
static bool limiter_look(struct limiter *l, struct str who, size_t take, bool owes,
                         struct limit_state *st) {
    uint64_t h = str_hash(who, l->seed);
    if (h == 0) h = 1;
    size_t set = (size_t)(h >> 32) % LIMIT_SETS;
    uint64_t now = clock_mono_ns();
    pthread_mutex_t *lock = &l->locks[set % LIMIT_LOCKS];
    pthread_mutex_lock(lock);
    struct bucket *b = bucket_find(l, l->sets[set], h, take > 0, now);
    if (take > 0) bucket_count(b, take, now / 1000000);
    bool ok = !b || b->tokens >= 1.0;
    if ((ok || owes) && take > 0) b->tokens -= (double)take;
    if (!ok) {
        st->retry_ms = (int64_t)((1.0 - b->tokens) / l->rate * 1000.0) + 1;
        st->limit = (unsigned)l->rate;
        st->observed = b->count > b->before ? b->count : b->before;
    }
    pthread_mutex_unlock(lock);
    return ok;
}

bool limiter_take(struct limiter *l, struct str who, struct limit_state *st) {
    return !l || limiter_look(l, who, 1, false, st);
}

bool limiter_spend(struct limiter *l, struct str who, size_t n, struct limit_state *st) {
    return !l || n == 0 || limiter_look(l, who, n, false, st);
}

void limiter_charge(struct limiter *l, struct str who, size_t n) {
    struct limit_state st = {0};
    if (l && n > 0) (void)limiter_look(l, who, n, true, &st);
}

bool limiter_peek(struct limiter *l, struct str who, struct limit_state *st) {
    return !l || limiter_look(l, who, 0, false, st);
}

/* ERR-8, with the older names beside the newer ones (CON-17). */
int limiter_refuse(const struct limit_state *st, const char *scope, const char *why,
                   struct wopr_error *err) {
    int64_t seconds = (st->retry_ms + 999) / 1000;
    (void)wopr_error_set(err, WOPR_E_RATE_LIMITED, "%s; retry after the time given",
                         why ? why : "too many requests");
    struct jobj o;
    jobj_begin(&o, WOPR_DETAILS_SIZE);
    jw_kint(&o.w, "retryAfterMs", st->retry_ms);
    jw_kstrz(&o.w, "scope", scope);
    jw_kint(&o.w, "limit", st->limit);
    jw_kint(&o.w, "observedRate", st->observed);
    jw_kint(&o.w, "window", 1);
    jw_kint(&o.w, "current", st->observed);
    jw_kint(&o.w, "retryAfterSeconds", seconds);
    jobj_details(&o, err);
    return WOPR_E_RATE_LIMITED;
}
