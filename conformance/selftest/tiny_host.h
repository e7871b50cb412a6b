/*
 * tiny_host.h: hosts that do nothing, to see that the suite notices (self-test).
 * One thread of libmicrohttpd on a free loopback port; answers from constant text.
 */
#ifndef WOPR_CONFORMANCE_TINY_HOST_H
#define WOPR_CONFORMANCE_TINY_HOST_H

enum tiny_kind {
    TINY_BARE,    /* a valid discovery document that offers nothing; 404 envelopes otherwise */
    TINY_BOASTER, /* a valid discovery document that offers everything; 404 envelopes otherwise */
    TINY_YES,     /* 200 and {} to every request */
    TINY_NR
};
struct tiny_host;
/* NULL when it cannot listen.  *port is set. */
struct tiny_host *tiny_host_new(enum tiny_kind kind, int *port);
void tiny_host_free(struct tiny_host *h); /* takes NULL */

#endif
