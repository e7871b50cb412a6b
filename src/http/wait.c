/*
 * wait.c: long-poll.  A call waits for a commit of its run, a deadline, or the drain, whichever
 * comes first.
 */
#include "base/clock.h"
#include "http/http_internal.h"

static void wake_call(void *ctx) { park_wake(&((struct call *)ctx)->park); }

void call_end_wait(struct call *c) {
    watch_del(c);
    call_poll_end(c);
    if (c->timer_set) ticker_cancel(&c->pub.server->ticker, &c->timer);
    c->timer_set = false;
    journal_wait_cancel(c->waiter);
    c->waiter = NULL;
}

int http_wait_events(struct http_call *c, int64_t run_no, int64_t after_seq, int64_t timeout_ms) {
    struct call *k = call_of(c);
    struct http_server *s = c->server;
    struct wopr_error err = {0};
    call_end_wait(k);
    k->wait_used = true;
    uint64_t wait = timeout_ms > 0 ? (uint64_t)timeout_ms : 0;
    int rc = call_poll_begin(k, &err);
    if (rc == 0) {
        rc = ticker_set(&s->ticker, &k->timer, clock_mono_ms() + wait);
        k->timer_set = rc == 0;
        if (rc != 0) (void)wopr_error_set(&err, rc, "no memory for a timer");
    }
    if (rc == 0) rc = journal_wait(s->journal, run_no, after_seq, wake_call, k, &k->waiter, &err);
    if (rc == WOPR_E_CLOSED)
        rc = 0, park_wake(&k->park); /* drain: the handler answers with what there is */
    if (rc != 0) {
        call_end_wait(k);
        k->wait_used = false;
        http_fail(c, &err);
        return HTTP_DONE;
    }
    watch_add(k);
    if (server_draining(s))
        park_wake(&k->park); /* ticker_fire_all may have been before our timer */
    return HTTP_PENDING;
}
