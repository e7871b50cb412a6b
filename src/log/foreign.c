/*
 * foreign.c: commits of other processes on the same file (STORE-16).  Whoever polls the file tells
 * which runs moved; their readers look into the store, their waiters are woken.
 */
#include "log/log_int.h"

void log_foreign(struct wopr_log *l, int64_t run_no, int64_t next_seq) {
    struct topic *t = hub_listens(l, run_no) ? topic_find(l, run_no) : NULL;
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->lost++; /* the ring has not got it: to the store */
    topic_pick_waiters(t, next_seq - 1);
    pthread_mutex_unlock(&t->lock);
    hub_poke(t);
    topic_put(t);
}

void log_foreign_all(struct wopr_log *l) { hub_send(l, NULL, NULL, true); }

bool log_has_listeners(struct wopr_log *l) {
    pthread_mutex_lock(&l->hub.map_lock);
    bool any = map_count(l->hub.topics) > 0;
    pthread_mutex_unlock(&l->hub.map_lock);
    return any;
}

void log_on_listener(struct wopr_log *l, void (*first)(void *ctx), void *ctx) {
    pthread_mutex_lock(&l->hub.map_lock);
    l->hub.on_first = first;
    l->hub.on_first_ctx = ctx;
    pthread_mutex_unlock(&l->hub.map_lock);
}
