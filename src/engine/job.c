/*
 * job.c: background jobs: a copied argument, a function on the committer, a count that stopping
 * waits for.
 */
#include "engine/job.h"

#include "base/mem.h"

struct job {
    struct engine *e;
    void (*run)(struct engine *e, struct store *s, void *args);
    max_align_t args[];
};

void inflight_begin_locked(struct engine *e) { e->inflight_nr++; }

void inflight_end(struct engine *e, size_t n) {
    pthread_mutex_lock(&e->mu);
    e->inflight_nr -= n;
    pthread_cond_broadcast(&e->calm);
    pthread_mutex_unlock(&e->mu);
}

static void job_run(void *ctx, struct store *s) {
    struct job *j = ctx;
    struct engine *e = j->e;
    j->run(e, s, j->args);
    mem_free(j);
    inflight_end(e, 1);
}

bool job_post(struct engine *e, void (*run)(struct engine *e, struct store *s, void *args),
              const void *args, size_t n) {
    struct job *j = mem_zalloc(sizeof *j + n);
    if (!j) return false;
    j->e = e;
    j->run = run;
    if (n > 0) memcpy(j->args, args, n);
    pthread_mutex_lock(&e->mu);
    inflight_begin_locked(e);
    pthread_mutex_unlock(&e->mu);
    if (journal_side(e->journal, job_run, j) == 0) return true;
    mem_free(j);
    inflight_end(e, 1);
    return false;
}
