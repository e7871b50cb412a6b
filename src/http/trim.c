/*
 * trim.c: memory that a burst of large bodies, answers and run states leaves with the allocator.
 *
 * Large blocks that a loop frees are given back here: forty answers of a megabyte whose clients
 * leave together would keep that loop, and all that it serves, for many milliseconds.
 *
 * Freed memory is kept for the next request (mem_serve), but after hundreds of megabytes the free
 * pages are scattered between live objects and would never be returned.  A thread checks twice a
 * second how much was freed in large blocks; after a large burst it asks the allocator to return
 * every free page.  Blocks that are kept for the next user (spare.h) go when a look finds that none
 * was taken since the last one.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/spare.h"
#include "base/thread.h"
#include "http/bounds.h"

#include <time.h>

enum {
    TRIM_BYTES = 8 * 1024 * 1024, /* freed since the last trim, to be worth one */
    TRIM_LOOK_MS = 500,
    TRIM_WAIT_LOOKS = 8 /* then trim even if the burst continues */
};

static void sleep_until(struct trim *t, uint64_t at_ms) {
    struct timespec ts = {.tv_sec = (time_t)(at_ms / 1000),
                          .tv_nsec = (long)(at_ms % 1000) * 1000000};
    while (!t->stop && !atomic_load(&t->later.first) && clock_mono_ms() < at_ms)
        (void)pthread_cond_timedwait(&t->cond, &t->lock, &ts);
}

static void trim_wake(void *ctx) {
    struct trim *t = ctx;
    pthread_mutex_lock(&t->lock);
    pthread_cond_signal(&t->cond);
    pthread_mutex_unlock(&t->lock);
}

static void later_free(struct trim *t) {
    pthread_mutex_unlock(&t->lock);
    mem_later_free(&t->later);
    pthread_mutex_lock(&t->lock);
}

static void *trim_main(void *arg) {
    struct trim *t = arg;
    uint64_t trimmed = mem_freed_large(), seen = trimmed, look_ms = clock_mono_ms() + TRIM_LOOK_MS;
    thread_name("wopr-trim");
    pthread_mutex_lock(&t->lock);
    for (unsigned waited = 0; !t->stop;) {
        sleep_until(t, look_ms);
        later_free(t);
        if (clock_mono_ms() < look_ms) continue;
        look_ms = clock_mono_ms() + TRIM_LOOK_MS;
        spare_look();
        uint64_t now = mem_freed_large();
        bool goes_on = now - seen >= TRIM_BYTES;
        seen = now;
        if (now - trimmed < TRIM_BYTES || (goes_on && ++waited < TRIM_WAIT_LOOKS)) continue;
        trimmed = now;
        waited = 0;
        pthread_mutex_unlock(&t->lock);
        mem_trim();
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

int trim_init(struct trim *t) {
    t->later = (struct mem_later){.wake = trim_wake, .ctx = t};
    if (clock_cond_init(&t->cond) != 0) return WOPR_E_NO_MEMORY;
    if (pthread_mutex_init(&t->lock, NULL) == 0) {
        t->made = true;
        return 0;
    }
    pthread_cond_destroy(&t->cond);
    return WOPR_E_NO_MEMORY;
}

void trim_fini(struct trim *t) {
    if (!t->made) return;
    mem_later_free(&t->later);
    pthread_cond_destroy(&t->cond);
    pthread_mutex_destroy(&t->lock);
    t->made = false;
}

int trim_start(struct trim *t) {
    t->stop = false;
    t->running = pthread_create(&t->thread, NULL, trim_main, t) == 0;
    return t->running ? 0 : WOPR_E_NO_MEMORY;
}

void trim_stop(struct trim *t) {
    if (!t->running) return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->cond);
    pthread_mutex_unlock(&t->lock);
    (void)pthread_join(t->thread, NULL);
    t->running = false;
}
