/*
 * peer.h: an HTTP service inside the test, for what a host sends to the outside.  It keeps every
 * request, and answers as told; libmicrohttpd does the work.
 */
#ifndef WOPR_TESTS_PEER_H
#define WOPR_TESTS_PEER_H

#include <stdbool.h>
#include <stddef.h>

struct peer_request {
    char method[16], path[128], key[160], body[512], content_type[80];
};
struct peer; /* one service; lives in the test's process */
struct peer *peer_start(void);
void peer_stop(struct peer *p);
int peer_port(const struct peer *p);
/* The next n requests are answered with this status; afterwards 200 again. */
void peer_answer(struct peer *p, unsigned n, int status);
/* While held, requests are accepted and not answered. */
void peer_hold(struct peer *p, bool hold);
size_t peer_count(struct peer *p); /* requests so far */
/* Copy of request i; false when there are not so many. */
bool peer_request_at(struct peer *p, size_t i, struct peer_request *out);
bool peer_wait(struct peer *p, size_t n); /* until n requests came; bounded */

#endif
