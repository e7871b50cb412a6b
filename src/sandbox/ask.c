/* ask.c: a request to the sandbox that is waited for. */
#include "sandbox/sandbox.h"

#include <pthread.h>

struct asked {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool done;
    bool ended;
    int rc;
    struct buf *out;
    struct wopr_error *err;
};

static void asked_done(void *ctx, const struct sandbox_report *r) {
    struct asked *q = ctx;
    pthread_mutex_lock(&q->mu);
    q->done = true;
    q->rc = r->rc;
    q->ended = r->ended;
    if (r->rc == 0) buf_adds(q->out, r->text);
    else
        wopr_error_set(q->err, r->rc, "%s",
                       r->message ? r->message : "the sandbox does not answer");
    pthread_cond_signal(&q->cond);
    pthread_mutex_unlock(&q->mu);
}

int sandbox_ask(struct sandbox *s, const struct sandbox_request *r, struct buf *out, bool *ended,
                struct wopr_error *err) {
    struct asked q = {.out = out, .err = err};
    pthread_mutex_init(&q.mu, NULL);
    pthread_cond_init(&q.cond, NULL);
    int rc = sandbox_submit(s, r, asked_done, &q, err);
    if (rc == 0) {
        pthread_mutex_lock(&q.mu);
        while (!q.done) pthread_cond_wait(&q.cond, &q.mu);
        pthread_mutex_unlock(&q.mu);
        rc = q.rc;
    }
    if (ended) *ended = q.ended;
    pthread_cond_destroy(&q.cond);
    pthread_mutex_destroy(&q.mu);
    if (rc == 0 && buf_failed(out))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a report of the sandbox");
    return rc;
}
