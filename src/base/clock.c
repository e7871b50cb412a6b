/*
 * clock.c: the real clock and random source, and the place where tests put theirs.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* FAULT_CLOCK: one reading of the wall clock is this far in the past. */
#define FAULT_JUMP_MS 3600000

static const volatile int64_t *wall_offset_ms;

static int64_t real_wall_ms(void *ctx) {
    (void)ctx;
    struct timespec t;
    ASSERT(clock_gettime(CLOCK_REALTIME, &t) == 0);
    int64_t now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    return wall_offset_ms ? now_ms + *wall_offset_ms : now_ms;
}

static uint64_t real_mono_ns(void *ctx) {
    (void)ctx;
    struct timespec t;
    ASSERT(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void real_random(void *ctx, void *out, size_t n) {
    (void)ctx;
    unsigned char *p = out;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR) continue;
        ASSERT(got > 0); /* without randomness no key and no token may be minted */
        p += got;
        n -= (size_t)got;
    }
}

static const struct sys_ops REAL = {real_wall_ms, real_mono_ns, real_random, NULL};
static struct sys_ops ops = {real_wall_ms, real_mono_ns, real_random, NULL};

int64_t clock_wall_ms(void) {
    int64_t now_ms = ops.wall_ms(ops.ctx);
    return fault_hit(FAULT_CLOCK) ? now_ms - FAULT_JUMP_MS : now_ms;
}

uint64_t clock_cpu_ms(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) return 0;
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

uint64_t clock_mono_ns(void) { return ops.mono_ns(ops.ctx); }

void rng_bytes(void *out, size_t n) {
    if (n > 0) ops.random(ops.ctx, out, n);
}

/* One call of the kernel for many ids.  A child of fork must not hand out its parent's. */
enum { STOCK_BYTES = 256 };
static _Thread_local struct {
    unsigned char b[STOCK_BYTES];
    size_t left;
    unsigned of; /* stock_era when it was drawn */
} stock;
static atomic_uint stock_era = 1;
static void stock_forked(void) { atomic_fetch_add(&stock_era, 1); }
static void stock_init(void) { (void)pthread_atfork(NULL, NULL, stock_forked); }

void rng_ids(void *out, size_t n) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (n > sizeof stock.b || ops.random != real_random) {
        rng_bytes(out, n);
        return;
    }
    pthread_once(&once, stock_init);
    unsigned era = atomic_load_explicit(&stock_era, memory_order_relaxed);
    if (stock.left < n || stock.of != era) {
        rng_bytes(stock.b, sizeof stock.b);
        stock.left = sizeof stock.b;
        stock.of = era;
    }
    stock.left -= n;
    memcpy(out, stock.b + stock.left, n);
    memset(stock.b + stock.left, 0, n);
}

uint64_t rng_u64(void) {
    uint64_t v;
    rng_bytes(&v, sizeof v);
    return v;
}

int clock_cond_init(pthread_cond_t *c) {
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr) != 0) return WOPR_E_NO_MEMORY;
    int rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (rc == 0) rc = pthread_cond_init(c, &attr);
    (void)pthread_condattr_destroy(&attr);
    return rc == 0 ? 0 : WOPR_E_NO_MEMORY;
}

void clock_sleep_ms(int64_t ms) {
    struct timespec ts = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&ts, NULL);
}

void clock_wall_offset(const volatile int64_t *offset_ms) { wall_offset_ms = offset_ms; }

void sys_set(const struct sys_ops *o) {
    ops = o ? *o : REAL;
    if (!ops.wall_ms) ops.wall_ms = real_wall_ms;
    if (!ops.mono_ns) ops.mono_ns = real_mono_ns;
    if (!ops.random) ops.random = real_random;
}
