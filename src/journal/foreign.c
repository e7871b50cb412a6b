/*
 * foreign.c: commits of other processes on the same file (STORE-16). The caller polls the file and
 * passes on which runs changed; their readers look into the store, their waiters are woken.
 */
#include "journal/journal_int.h"

void journal_foreign(struct journal *j, int64_t run_no, int64_t next_seq) {
    struct topic *t = hub_listens(j, run_no) ? topic_find(j, run_no) : NULL;
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->lost++; /* the ring has not got it: to the store */
    topic_pick_waiters(t, next_seq - 1);
    pthread_mutex_unlock(&t->lock);
    hub_poke(t);
    topic_put(t);
}

void journal_foreign_all(struct journal *j) { hub_send(j, NULL, NULL, true); }

bool journal_has_listeners(struct journal *j) {
    pthread_mutex_lock(&j->hub.map_lock);
    bool any = map_count(j->hub.topics) > 0;
    pthread_mutex_unlock(&j->hub.map_lock);
    return any;
}

void journal_on_listener(struct journal *j, void (*first)(void *ctx), void *ctx) {
    pthread_mutex_lock(&j->hub.map_lock);
    j->hub.on_first = first;
    j->hub.on_first_ctx = ctx;
    pthread_mutex_unlock(&j->hub.map_lock);
}
