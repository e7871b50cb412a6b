/*
 * peers.h: client addresses, connections per address, trusted proxies.  Layer: http.
 */
#ifndef WOPR_HTTP_PEERS_H
#define WOPR_HTTP_PEERS_H

#include "base/map.h"
#include "base/str.h"

#include <pthread.h>

struct http_server;
struct sockaddr;
enum { PEERS_SHARE = 4 }; /* one address may have a quarter of connections_max, unless it is set */
struct address {
    uint8_t b[16]; /* IPv4 in its mapped form */
};
struct peers { /* connections per address */
    pthread_mutex_t lock;
    struct map *counts;
};
void address_of(const struct sockaddr *sa, struct address *out);
struct address address_bucket(const struct address *a); /* of an IPv6 client its /64 */
MUST_CHECK int peers_init(struct peers *p);
void peers_fini(struct peers *p);
bool peers_enter(struct peers *p, const struct address *a, unsigned max); /* max 0: no bound */
void peers_leave(struct peers *p, const struct address *a);
/* Connections that this address may have open. */
unsigned peers_max(const struct http_server *s, const struct address *a);
/* The client that the peer speaks for: the last address of X-Forwarded-For that is no trusted
 * proxy; the peer itself when it is none, or when the header ends before. */
struct address peers_client(const struct http_server *s, const struct address *peer,
                            struct str forwarded_for);

#endif
