/*
 * copier.c: checkpoints. Copying 16 MiB from the WAL into the database takes longer than many
 * commits, so a thread of its own does it while the committer goes on. The WAL can start over only
 * when nothing is left in it to copy. While much is committed meanwhile, the copier goes on with
 * that; the last part is short, and the committer copies it itself.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "journal/journal_int.h"
#include "store/upkeep.h"

#include <limits.h>

enum {
    COPIER_LEFT_PAGES = 128, /* half a megabyte: as long as one large commit */
    COPIER_PASSES_MAX = 8    /* without a look at the committer */
};

static void count_result(struct journal *j, int rc, uint64_t began_ns,
                         const struct wopr_error *err) {
    count_checkpoint(j, clock_mono_ns() - began_ns);
    if (rc != 0) log_warn("checkpoint failed", "code", wopr_err_name(rc), "reason", err->message);
}

static void copier_copy(struct journal *j) {
    int left = INT_MAX;
    for (int i = 0; i < COPIER_PASSES_MAX && left > COPIER_LEFT_PAGES; i++) {
        struct wopr_error err;
        uint64_t t0 = clock_mono_ns();
        int rc = store_checkpoint_beside(j->store, &left, &err);
        count_result(j, rc, t0, &err);
        if (rc != 0) return;
    }
}

static void *copier_main(void *arg) {
    thread_name("wopr-copier");
    struct journal *j = arg;
    struct copier *c = &j->copier;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->state != COPIER_COPYING && !c->stop) pthread_cond_wait(&c->wake, &c->lock);
        if (c->stop) break;
        pthread_mutex_unlock(&c->lock);
        copier_copy(j);
        pthread_mutex_lock(&c->lock);
        c->state = COPIER_COPIED;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* true: the committer must copy what the copier left. */
static bool copier_advance(struct copier *c, bool due) {
    pthread_mutex_lock(&c->lock);
    enum copier_state was = c->state;
    if (was == COPIER_COPIED) c->state = COPIER_IDLE;
    if (was == COPIER_IDLE && due) {
        c->state = COPIER_COPYING;
        pthread_cond_signal(&c->wake);
    }
    pthread_mutex_unlock(&c->lock);
    return was == COPIER_COPIED && due;
}

void copier_turn(struct journal *j) {
    if (!copier_advance(&j->copier, store_checkpoint_due(j->store))) return;
    struct wopr_error err;
    uint64_t t0 = clock_mono_ns();
    count_result(j, store_checkpoint(j->store, &err), t0, &err);
}

void copier_init(struct journal *j) {
    pthread_mutex_init(&j->copier.lock, NULL);
    pthread_cond_init(&j->copier.wake, NULL);
}

void copier_fini(struct journal *j) {
    pthread_mutex_destroy(&j->copier.lock);
    pthread_cond_destroy(&j->copier.wake);
}

int copier_start(struct journal *j, struct wopr_error *err) {
    if (pthread_create(&j->copier.thread, NULL, copier_main, j) == 0) return 0;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the checkpoint thread");
}

void copier_stop(struct journal *j) {
    pthread_mutex_lock(&j->copier.lock);
    j->copier.stop = true;
    pthread_cond_signal(&j->copier.wake);
    pthread_mutex_unlock(&j->copier.lock);
    pthread_join(j->copier.thread, NULL);
}
