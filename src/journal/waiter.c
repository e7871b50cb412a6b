/*
 * waiter.c: one wake for a long-poll (SSE-39). As with readers: first enqueue in the topic, then
 * ask the store.
 */
#include "base/mem.h"
#include "journal/journal_int.h"
#include "store/events.h"

struct journal_waiter {
    struct topic *topic;
    struct sleeper sleeper;
};

enum { WAITER_ARENA_MAX = 2 << 20 }; /* one event */

static int log_goes_on(struct journal *j, int64_t run_no, int64_t after_seq, bool *yes,
                       struct wopr_error *err) {
    struct event_list list;
    struct arena *a = arena_new(WAITER_ARENA_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to wait for a run");
    int rc = store_events(j->store, run_no, after_seq + 1, 1, 1, a, &list, err);
    if (rc == 0) *yes = list.n > 0;
    arena_free(a);
    return rc;
}

/* Enqueue in the topic; *out is set before wake can be called. */
static int waiter_arm(struct journal_waiter *w, struct journal_waiter **out,
                      struct wopr_error *err) {
    struct topic *t = w->topic;
    int rc = 0;
    pthread_mutex_lock(&t->lock);
    if (atomic_load(&t->journal->hub.closing)) {
        rc = wopr_error_set(err, WOPR_E_CLOSED, "the log has stopped");
    } else {
        *out = w;
        list_add_tail(&t->waiting, &w->sleeper.link);
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

int journal_wait(struct journal *j, int64_t run_no, int64_t after_seq, void (*wake)(void *ctx),
                 void *ctx, struct journal_waiter **out, struct wopr_error *err) {
    struct journal_waiter *w = MEM_NEW(struct journal_waiter);
    struct topic *t = w ? topic_get(j, run_no, STR_NONE) : NULL;
    if (!t) {
        mem_free(w);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to wait for a run");
    }
    w->topic = t;
    w->sleeper = (struct sleeper){.wake = wake, .ctx = ctx, .after_seq = after_seq};
    list_init(&w->sleeper.link);
    bool yes = false;
    int rc = waiter_arm(w, out, err);
    if (rc == 0) {
        rc = log_goes_on(j, run_no, after_seq, &yes, err);
        if (rc != 0) *out = NULL;
    }
    if (rc != 0) {
        journal_wait_cancel(w);
        return rc;
    }
    if (!yes) return 0;
    pthread_mutex_lock(&t->lock);
    bool asleep = !list_empty(&w->sleeper.link); /* else a commit woke it in between */
    if (asleep) {
        list_del(&w->sleeper.link);
        list_add_tail(&t->waking, &w->sleeper.link);
    }
    pthread_mutex_unlock(&t->lock);
    if (asleep) hub_poke(t);
    return 0;
}

void journal_wait_cancel(struct journal_waiter *w) {
    if (!w) return;
    struct topic *t = w->topic;
    pthread_mutex_lock(&t->lock);
    topic_settle(t, &w->sleeper);
    pthread_mutex_unlock(&t->lock);
    topic_put(t);
    mem_free(w);
}
