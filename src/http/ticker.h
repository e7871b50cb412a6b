/*
 * ticker.h: the one thread that knows the time.  Layer: http.
 *
 * Timers are exact and kept in a heap; the keep-alives of streams share one wheel, so that one of
 * them costs the same however many there are.
 */
#ifndef WOPR_HTTP_TICKER_H
#define WOPR_HTTP_TICKER_H

#include "base/heap.h"
#include "base/list.h"

#include <pthread.h>
#include <stdatomic.h>

struct tick_timer {
    struct heap_node node;
    void (*fire)(void *ctx); /* under the ticker's lock: wake something, nothing else */
    void *ctx;
};
struct tick_beat { /* keep-alive of one stream */
    struct list link;
    atomic_uint_fast64_t last_ms; /* last byte written, monotonic */
    atomic_bool due;
    atomic_bool look; /* once per period, silent or not: is its key still good? */
    void (*fire)(void *ctx);
    void *ctx;
};
enum { TICK_SLOTS = 64 };
struct ticker {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    bool running, stop;
    struct heap timers;
    struct list slots[TICK_SLOTS];
    uint64_t beat_ms, slot_ms, slot_now; /* slot_now: number of the last slot handled */
    size_t beats;
};
/* A thread that beats every beat_ms and calls timers whose deadline (monotonic ms) has come. */
MUST_CHECK int ticker_init(struct ticker *t, int beat_ms);
MUST_CHECK int ticker_start(struct ticker *t);
void ticker_stop(struct ticker *t);
void ticker_fini(struct ticker *t);
MUST_CHECK int ticker_set(struct ticker *t, struct tick_timer *timer, uint64_t deadline_ms);
/* After it returns, fire is over or never comes. */
void ticker_cancel(struct ticker *t, struct tick_timer *timer);
void ticker_fire_all(struct ticker *t); /* drain: every timer is due now */
void ticker_beat_add(struct ticker *t, struct tick_beat *b);
void ticker_beat_del(struct ticker *t, struct tick_beat *b);

#endif
