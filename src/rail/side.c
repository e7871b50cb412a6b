/*
 * side.c: writes that are no plans: a running host has them done by the thread that commits, a tool
 * does them itself.
 */
#include "base/clock.h"
#include "journal/journal.h"
#include "rail/rail_int.h"

struct side {
    rail_side_fn *fn;
    void *ctx;
    struct wopr_error *err;
    pthread_mutex_t lock;
    pthread_cond_t ready;
    bool done;
    int rc;
};

static void side_run(void *ctx, struct store *s) {
    struct side *x = ctx;
    int rc = x->fn(x->ctx, s, x->err);
    pthread_mutex_lock(&x->lock);
    x->rc = rc;
    x->done = true;
    pthread_cond_signal(&x->ready);
    pthread_mutex_unlock(&x->lock);
}

int rail_side(struct rail *r, rail_side_fn *fn, void *ctx, struct wopr_error *err) {
    struct side x = {.fn = fn, .ctx = ctx, .err = err};
    if (!r->cfg.journal) return fn(ctx, r->cfg.store, err);
    if (clock_cond_init(&x.ready) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to wait for a write");
    pthread_mutex_init(&x.lock, NULL);
    int rc = journal_side(r->cfg.journal, side_run, &x);
    if (rc != 0) {
        (void)wopr_error_set(err, rc, "%s", wopr_err_text(rc));
    } else {
        pthread_mutex_lock(&x.lock);
        while (!x.done) pthread_cond_wait(&x.ready, &x.lock);
        pthread_mutex_unlock(&x.lock);
        rc = x.rc;
    }
    pthread_cond_destroy(&x.ready);
    pthread_mutex_destroy(&x.lock);
    return rc;
}
