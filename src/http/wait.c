/*
 * wait.c: long-poll.  An exchange waits for a commit of its run, a deadline, or the drain: for
 * whichever comes first.
 */
#include "base/clock.h"
#include "http/exchange.h"
#include "http/server.h"

void exchange_wake(void *ctx) { park_wake(&((struct exchange *)ctx)->park); }

void exchange_end_wait(struct exchange *x) {
    watch_del(x);
    exchange_poll_end(x);
    if (x->wait.timer_set) ticker_cancel(&x->pub.server->ticker, &x->wait.timer);
    x->wait.timer_set = false;
    journal_wait_cancel(x->wait.waiter);
    x->wait.waiter = NULL;
    if (x->wait.on.of) x->wait.on.disarm(x->wait.on.of);
    x->wait.on.of = NULL;
}

static int wait_begin(struct exchange *x, int64_t timeout_ms, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    uint64_t wait = timeout_ms > 0 ? (uint64_t)timeout_ms : 0;
    exchange_end_wait(x);
    x->wait.used = true;
    int rc = exchange_poll_begin(x, err);
    if (rc != 0) return rc;
    rc = ticker_set(&s->ticker, &x->wait.timer, clock_mono_ms() + wait);
    x->wait.timer_set = rc == 0;
    return rc == 0 ? 0 : wopr_error_set(err, rc, "no memory for a timer");
}

static int wait_refused(struct exchange *x, const struct wopr_error *err) {
    exchange_end_wait(x);
    x->wait.used = false;
    http_fail(&x->pub, err);
    return HTTP_DONE;
}

static int wait_on(struct exchange *x) {
    watch_add(x);
    if (server_draining(x->pub.server))
        park_wake(&x->park); /* ticker_fire_all may have been before our timer */
    return HTTP_PENDING;
}

int http_wait_for(struct http_call *c, const struct http_waits_for *w, int64_t timeout_ms) {
    struct exchange *x = exchange_of(c);
    struct wopr_error err = {0};
    if (wait_begin(x, timeout_ms, &err) != 0) return wait_refused(x, &err);
    x->wait.on = *w;
    w->arm(w->of, exchange_wake, x);
    return wait_on(x);
}

int http_wait_events(struct http_call *c, int64_t run_no, int64_t after_seq, int64_t timeout_ms) {
    struct exchange *x = exchange_of(c);
    struct http_server *s = c->server;
    struct wopr_error err = {0};
    int rc = wait_begin(x, timeout_ms, &err);
    if (rc == 0)
        rc = journal_wait(s->journal, run_no, after_seq, exchange_wake, x, &x->wait.waiter, &err);
    if (rc == WOPR_E_CLOSED)
        rc = 0, park_wake(&x->park); /* drain: the handler answers with what there is */
    return rc == 0 ? wait_on(x) : wait_refused(x, &err);
}
