/*
 * admit.c: the slot of a request (HTTP-11 step 2).
 *
 * A slot is taken when it is known who asks, so that what is refused before never holds one, and
 * given back as soon as a refusal is decided.  How many sockets there may be is a question of
 * connections_max, which is asked before anything is read.
 */
#include "http/http_internal.h"

#include <stdio.h>

static int full(struct call *c, enum metric_refusal why, int retry_s, const char *what,
                struct wopr_error *err) {
    c->refusal = why;
    (void)wopr_error_set(err, WOPR_E_UNAVAILABLE, "%s; retry later", what);
    wopr_error_details(err, "{\"retryAfter\":%d}", retry_s);
    return WOPR_E_UNAVAILABLE;
}

int call_admit(struct call *c, struct wopr_error *err) {
    struct shares *sh = &c->pub.server->shares;
    c->holder = shares_begin(sh, c->pub.who.tenant, SHARE_REQUESTS, &c->admitted);
    if (!c->admitted)
        return full(c, REFUSED_CAPACITY, 1,
                    "the host is at capacity: as many requests are in flight as requests-max "
                    "allows for this tenant",
                    err);
    return 0;
}

void call_give_back(struct call *c) {
    struct shares *sh = &c->pub.server->shares;
    if (!c->holder) return;
    (void)budget_move(c->pub.server, c->holder, &c->bytes, 0);
    if (c->admitted) shares_end(sh, c->holder, SHARE_REQUESTS);
    else shares_leave(sh, c->holder);
    c->admitted = false;
    c->holder = NULL;
}

/* --- long-polls --- */

/* Keys of one tenant among each other: a name that no tenant can have. */
static struct holder *key_of(struct call *c) {
    struct str key = c->pub.who.key_id;
    char name[128];
    int n = snprintf(name, sizeof name, "key " STR_FMT, STR_ARG(key));
    return shares_enter(&c->pub.server->shares,
                        str_n(name, n < (int)sizeof name ? (size_t)n : sizeof name - 1));
}

int call_poll_begin(struct call *c, struct wopr_error *err) {
    struct http_server *s = c->pub.server;
    struct shares *sh = &s->shares;
    if (c->poller) return 0;
    struct holder *key = key_of(c);
    if (!share_own_take(sh, key, SHARE_POLLS, s->cfg.key_polls_max)) {
        shares_leave(sh, key);
        return full(c, REFUSED_KEY_POLLS, 5,
                    "as many long-polls of this key wait as key-polls-max allows", err);
    }
    if (!share_take(sh, c->holder, SHARE_POLLS, 1)) {
        share_own_give(sh, key, SHARE_POLLS);
        shares_leave(sh, key);
        return full(c, REFUSED_POLLS, 5,
                    "as many long-polls wait as polls-max allows for this tenant", err);
    }
    c->poller = key;
    c->admitted = false;
    share_give(sh, c->holder, SHARE_REQUESTS, 1);
    return 0;
}

void call_poll_end(struct call *c) {
    struct shares *sh = &c->pub.server->shares;
    if (!c->poller) return;
    share_force(sh, c->holder, SHARE_REQUESTS, 1); /* first: a drain waits for either */
    c->admitted = true;
    share_give(sh, c->holder, SHARE_POLLS, 1);
    share_own_give(sh, c->poller, SHARE_POLLS);
    shares_leave(sh, c->poller);
    c->poller = NULL;
}
