/*
 * admit.c: the slot of a request (HTTP-11 step 2), and what refuses one for now.
 *
 * A slot is taken when it is known who asks, so that what is refused before never holds one, and
 * given back as soon as a refusal is decided.  How many sockets there may be is a question of
 * connections_max, which is asked before anything is read.
 */
#include "codec/jobj.h"
#include "http/exchange.h"
#include "http/intake.h"
#include "http/request.h"
#include "http/server.h"

#include <stdio.h>

int refuse_for_now(struct exchange *x, enum metric_refusal why, int retry_s, const char *what,
                   struct wopr_error *err) {
    x->refusal = why;
    (void)wopr_error_set(err, WOPR_E_UNAVAILABLE, "%s; retry later", what);
    jobj_details_int(err, "retryAfter", retry_s);
    return WOPR_E_UNAVAILABLE;
}

int refuse_draining(struct exchange *x, struct wopr_error *err) {
    x->close_after = true;
    return refuse_for_now(x, REFUSED_DRAINING, 1, "the host is shutting down", err);
}

/* Token routes have buckets of their own: a client that hammers discovery can still deliver its
 * events. */
struct str limit_address(struct exchange *x, char out[LIMIT_WHO_BYTES]) {
    const struct intake *e = intake_of(x->conn);
    struct address who =
        peers_client(x->pub.server, &e->peer, http_header(&x->pub, "X-Forwarded-For"));
    who = address_bucket(&who);
    out[0] = (x->pub.op->flags & OP_TOKEN) != 0 ? 't' : 'd';
    memcpy(out + 1, who.b, sizeof who.b);
    return str_n(out, LIMIT_WHO_BYTES);
}

/* Who asks without a credential holds for its address: one that reads nothing of what it is sent
 * takes no room from others.  No tenant is called like an address. */
int exchange_admit(struct exchange *x, struct wopr_error *err) {
    struct shares *sh = &x->pub.server->shares;
    char address[LIMIT_WHO_BYTES];
    struct str who = x->pub.who.tenant;
    if (who.n == 0) who = limit_address(x, address);
    x->share.tenant = shares_begin(sh, who, SHARE_REQUESTS, &x->share.admitted);
    if (!x->share.admitted)
        return refuse_for_now(
            x, REFUSED_CAPACITY, 1,
            "the host is at capacity: as many requests are in flight as requests-max "
            "allows for this tenant",
            err);
    return 0;
}

void exchange_give_back(struct exchange *x) {
    struct shares *sh = &x->pub.server->shares;
    if (!x->share.tenant) return;
    (void)budget_move(x->pub.server, x->share.tenant, &x->share.bytes, 0);
    if (x->share.admitted) shares_end(sh, x->share.tenant, SHARE_REQUESTS);
    else shares_leave(sh, x->share.tenant);
    x->share.admitted = false;
    x->share.tenant = NULL;
}

/* --- long-polls --- */

/* The name of a key as a holder: no tenant can have it. */
static struct holder *key_holder(struct exchange *x) {
    struct str key = x->pub.who.key_id;
    char name[128];
    int n = snprintf(name, sizeof name, "key " STR_FMT, STR_ARG(key));
    return shares_enter(&x->pub.server->shares,
                        str_n(name, n < (int)sizeof name ? (size_t)n : sizeof name - 1));
}

int exchange_poll_begin(struct exchange *x, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    struct shares *sh = &s->shares;
    if (x->share.poller) return 0;
    struct holder *key = key_holder(x);
    if (!share_own_take(sh, key, SHARE_POLLS, s->cfg.key_polls_max)) {
        shares_leave(sh, key);
        return refuse_for_now(x, REFUSED_KEY_POLLS, 5,
                              "as many long-polls of this key wait as key-polls-max allows", err);
    }
    if (!share_take(sh, x->share.tenant, SHARE_POLLS, 1)) {
        share_own_give(sh, key, SHARE_POLLS);
        shares_leave(sh, key);
        return refuse_for_now(x, REFUSED_POLLS, 5,
                              "as many long-polls wait as polls-max allows for this tenant", err);
    }
    x->share.poller = key;
    x->share.admitted = false;
    share_give(sh, x->share.tenant, SHARE_REQUESTS, 1);
    return 0;
}

void exchange_poll_end(struct exchange *x) {
    struct shares *sh = &x->pub.server->shares;
    if (!x->share.poller) return;
    share_force(sh, x->share.tenant, SHARE_REQUESTS, 1); /* first: a drain waits for either */
    x->share.admitted = true;
    share_give(sh, x->share.tenant, SHARE_POLLS, 1);
    share_own_give(sh, x->share.poller, SHARE_POLLS);
    shares_leave(sh, x->share.poller);
    x->share.poller = NULL;
}
