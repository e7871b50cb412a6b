/*
 * ticker.c: one thread for every deadline and every keep-alive of the server.
 *
 * Deadlines are in a heap, keep-alives in a wheel of slots.  A stream that writes only stores the
 * time; when the wheel reaches its slot, it is either due, or moves to the slot of its last write
 * plus the period.  So an idle stream costs O(1) per period, and a busy one no lock.
 */
#include "http/ticker.h"
#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <time.h>

enum { TICK_SLOTS_PER_BEAT = 32, TICK_SLOT_MS_MIN = 5 };

int ticker_init(struct ticker *t, int beat_ms) {
    *t = (struct ticker){.beat_ms = (uint64_t)beat_ms};
    t->slot_ms = t->beat_ms / TICK_SLOTS_PER_BEAT;
    if (t->slot_ms < TICK_SLOT_MS_MIN) t->slot_ms = TICK_SLOT_MS_MIN;
    heap_init(&t->timers);
    for (size_t i = 0; i < TICK_SLOTS; i++) list_init(&t->slots[i]);
    t->slot_now = clock_mono_ms() / t->slot_ms;
    if (clock_cond_init(&t->cond) != 0) return WOPR_E_NO_MEMORY;
    if (pthread_mutex_init(&t->lock, NULL) != 0) {
        pthread_cond_destroy(&t->cond);
        return WOPR_E_NO_MEMORY;
    }
    return 0;
}

void ticker_fini(struct ticker *t) {
    heap_fini(&t->timers);
    pthread_cond_destroy(&t->cond);
    pthread_mutex_destroy(&t->lock);
}

/* Into the slot in which due_ms has passed; never the one being emptied. */
static void beat_place(struct ticker *t, struct tick_beat *b, uint64_t due_ms) {
    uint64_t slot = due_ms / t->slot_ms + 1;
    if (slot <= t->slot_now) slot = t->slot_now + 1;
    if (slot >= t->slot_now + TICK_SLOTS) slot = t->slot_now + TICK_SLOTS - 1;
    list_add_tail(&t->slots[slot % TICK_SLOTS], &b->link);
}

static void run_slot(struct ticker *t, uint64_t now_ms) {
    struct list *slot = &t->slots[t->slot_now % TICK_SLOTS];
    for (struct list *l; (l = list_pop(slot)) != NULL;) {
        struct tick_beat *b = LIST_ENTRY(l, struct tick_beat, link);
        uint64_t due = atomic_load_explicit(&b->last_ms, memory_order_relaxed) + t->beat_ms;
        atomic_store(&b->look, true);
        if (due <= now_ms) {
            atomic_store(&b->due, true);
            b->fire(b->ctx);
            due = now_ms + t->beat_ms;
        }
        beat_place(t, b, due);
    }
}

static void run_due(struct ticker *t, uint64_t now_ms) {
    for (struct heap_node *n; (n = heap_min(&t->timers)) != NULL && n->key <= (int64_t)now_ms;) {
        (void)heap_pop(&t->timers);
        struct tick_timer *timer = LIST_ENTRY(n, struct tick_timer, node);
        timer->fire(timer->ctx);
    }
    uint64_t slot = now_ms / t->slot_ms;
    if (slot > t->slot_now + TICK_SLOTS)
        t->slot_now = slot - TICK_SLOTS; /* after a long sleep one round is enough */
    while (t->slot_now < slot) {
        t->slot_now++;
        run_slot(t, now_ms);
    }
}

static void sleep_until(struct ticker *t, uint64_t until_ms) {
    struct timespec ts = {.tv_sec = (time_t)(until_ms / 1000),
                          .tv_nsec = (long)(until_ms % 1000) * 1000000};
    (void)pthread_cond_timedwait(&t->cond, &t->lock, &ts);
}

static void *ticker_main(void *arg) {
    thread_name("wopr-tick");
    thread_prompt();
    struct ticker *t = arg;
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        uint64_t now = clock_mono_ms();
        run_due(t, now);
        uint64_t next = UINT64_MAX;
        struct heap_node *n = heap_min(&t->timers);
        if (n) next = n->key > 0 ? (uint64_t)n->key : 0;
        if (t->beats > 0 && (t->slot_now + 1) * t->slot_ms < next)
            next = (t->slot_now + 1) * t->slot_ms;
        if (next == UINT64_MAX) pthread_cond_wait(&t->cond, &t->lock);
        else if (next > now) sleep_until(t, next);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

int ticker_start(struct ticker *t) {
    t->stop = false;
    if (pthread_create(&t->thread, NULL, ticker_main, t) != 0) return WOPR_E_NO_MEMORY;
    t->running = true;
    return 0;
}

void ticker_stop(struct ticker *t) {
    if (!t->running) return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->cond);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    t->running = false;
}

int ticker_set(struct ticker *t, struct tick_timer *timer, uint64_t deadline_ms) {
    pthread_mutex_lock(&t->lock);
    if (timer->node.pos != 0) heap_remove(&t->timers, &timer->node);
    int rc = heap_add(&t->timers, &timer->node, (int64_t)deadline_ms);
    if (rc == 0 && heap_min(&t->timers) == &timer->node) pthread_cond_signal(&t->cond);
    pthread_mutex_unlock(&t->lock);
    return rc;
}

void ticker_cancel(struct ticker *t, struct tick_timer *timer) {
    pthread_mutex_lock(&t->lock);
    if (timer->node.pos != 0) heap_remove(&t->timers, &timer->node);
    pthread_mutex_unlock(&t->lock);
}

void ticker_fire_all(struct ticker *t) {
    pthread_mutex_lock(&t->lock);
    for (struct heap_node *n; (n = heap_pop(&t->timers)) != NULL;) {
        struct tick_timer *timer = LIST_ENTRY(n, struct tick_timer, node);
        timer->fire(timer->ctx);
    }
    pthread_mutex_unlock(&t->lock);
}

void ticker_beat_add(struct ticker *t, struct tick_beat *b) {
    uint64_t now = clock_mono_ms();
    atomic_store(&b->last_ms, now);
    atomic_store(&b->due, false);
    atomic_store(&b->look, false);
    pthread_mutex_lock(&t->lock);
    if (t->beats++ == 0) {
        t->slot_now = now / t->slot_ms; /* an empty wheel does not turn */
        pthread_cond_signal(&t->cond);
    }
    beat_place(t, b, now + t->beat_ms);
    pthread_mutex_unlock(&t->lock);
}

void ticker_beat_del(struct ticker *t, struct tick_beat *b) {
    pthread_mutex_lock(&t->lock);
    list_del(&b->link);
    t->beats--;
    pthread_mutex_unlock(&t->lock);
}
