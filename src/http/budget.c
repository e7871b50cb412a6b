/*
 * budget.c: one budget of bytes for what clients make the server hold: bodies, answers until they
 * are sent, states and buffers of streams.
 *
 * The numbers of requests and streams are bounded too, but say little about memory: one answer has
 * a hundred bytes, another eight million.  What is smaller than BUDGET_SMALL is not counted.  A
 * body is counted before it is read; a read is refused before it renders when there is no room for
 * BUDGET_ESTIMATE, and afterwards when its answer does not fit.  A command's answer is always sent:
 * its effect has happened.
 */
#include "base/net.h"
#include "codec/jobj.h"
#include "http/exchange.h"
#include "http/server.h"

#include <sys/socket.h>

enum { BUDGET_KERNEL = 64 * 1024 }; /* the kernel doubles it; a loop copies as much in one call */

bool budget_move(struct http_server *s, struct holder *h, size_t *counted, size_t n) {
    size_t had = *counted;
    if (n < BUDGET_SMALL) n = 0;
    if (n > had && !share_take(&s->shares, h, SHARE_BYTES, n - had)) return false;
    *counted = n;
    if (n >= had) return true;
    share_give(&s->shares, h, SHARE_BYTES, had - n);
    return true;
}

int budget_refuse(struct exchange *x, struct wopr_error *err) {
    x->refusal = REFUSED_MEMORY;
    (void)wopr_error_set(err, WOPR_E_UNAVAILABLE,
                         "bodies and answers hold as much memory as memory-bytes allows for this "
                         "tenant; read what was asked for, and retry later");
    jobj_details_int(err, "retryAfter", 1);
    return WOPR_E_UNAVAILABLE;
}

int budget_take(struct exchange *x, size_t n, struct wopr_error *err) {
    return budget_move(x->pub.server, x->share.tenant, &x->share.bytes, x->share.bytes + n)
               ? 0
               : budget_refuse(x, err);
}

int budget_open(struct exchange *x, struct wopr_error *err) {
    struct shares *sh = &x->pub.server->shares;
    return share_room(sh, x->share.tenant, SHARE_BYTES, BUDGET_ESTIMATE) ? 0
                                                                         : budget_refuse(x, err);
}

int http_room(struct http_call *c, size_t n, struct wopr_error *err) {
    struct exchange *x = exchange_of(c);
    return share_room(&c->server->shares, x->share.tenant, SHARE_BYTES, n)
               ? 0
               : budget_refuse(x, err);
}

static size_t exchange_bytes(const struct exchange *x) {
    return x->body.bytes.cap + arena_used(x->pub.arena) + x->pub.reply.n;
}

bool budget_settle(struct exchange *x, bool may_refuse) {
    struct http_server *s = x->pub.server;
    if (!x->share.tenant) return true;
    size_t n = exchange_bytes(x);
    if (budget_move(s, x->share.tenant, &x->share.bytes, n)) return true;
    if (may_refuse) return false;
    share_force(&s->shares, x->share.tenant, SHARE_BYTES, n - x->share.bytes);
    x->share.bytes = n;
    return true;
}

/* By default the kernel buffers megabytes, uncounted, for every client that does not read.  And
 * libmicrohttpd cuts a client without progress for read_timeout_s: a socket is writable again when
 * a third of its buffer is free, so that is what a client must read in that time. */
void budget_kernel(struct exchange *x) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info) (void)net_option(info->connect_fd, SOL_SOCKET, SO_SNDBUF, BUDGET_KERNEL);
}
