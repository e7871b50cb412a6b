/*
 * server.h: the server itself: what all of its connections share.  Layer: http.
 *
 * The order of the locks is in DESIGN.md; none is held while a handler or the store runs.
 */
#ifndef WOPR_HTTP_SERVER_H
#define WOPR_HTTP_SERVER_H

#include "egress/egress.h"
#include "http/bounds.h"
#include "http/http.h"
#include "http/idem.h"
#include "http/metrics.h"
#include "http/mount.h"
#include "http/peers.h"
#include "http/ticker.h"

enum {
    HTTP_IDEM_WAIT_MS = 10000, /* a repeated key waits for the first answer (IDEM-11) */
    HTTP_READS_MAX = 1024,     /* long reads that wait for a thread */
    HTTP_POOL_BYTES = 6 * 1024 /* libmicrohttpd's, for the head of an answer and stream pieces */
};
struct http_server {
    struct http_config cfg;
    struct arena *arena; /* configuration strings */
    struct mounts mounts;
    struct journal *journal;
    struct store *store;
    uint8_t pepper[32], ticket_secret[32];
    uint32_t id_prefix;
    atomic_uint_fast64_t next_id;

    /* listening */
    int listen_fd, ops_fd;
    uint16_t port, ops_port;
    char *tls_cert, *tls_key;
    struct http_loop *loops;
    unsigned loops_nr;
    struct opsd *opsd;
    atomic_bool draining;

    /* connections */
    atomic_uint connections;
    atomic_uint intakes_open, intakes_over; /* connections within the bounds, and to be refused */
    atomic_uint intakes_waiting; /* for their clients: what a loop can close for a new one */
    atomic_uint lingering;       /* answered, and read on for a while (linger.c) */
    atomic_int parked;           /* suspended now */
    struct peers peers;
    struct egress_allow proxies; /* trusted ones */

    /* bounds */
    struct shares shares;
    struct guesses guesses;
    struct limiter *key_limiter, *address_limiter, *large_bodies;
    struct offload *offload; /* NULL: what takes long runs where it is */
    struct trim trim;

    struct gate gate;
    struct ticker ticker;
    struct metrics metrics;

    atomic_int exchanges; /* in use, without aborted ones */
    pthread_mutex_t lock; /* of the lists below */
    struct exchange *spare;
    size_t spare_nr;
    struct list parked_exchanges;
    struct list stream_list; /* of struct stream.link */
};
static inline bool server_draining(const struct http_server *s) {
    return atomic_load_explicit(&s->draining, memory_order_acquire);
}
int listen_on(const char *host, uint16_t port, int *fd, uint16_t *bound, struct wopr_error *err);

/* --- opsd.c --- */
int opsd_start(struct http_server *s, struct wopr_error *err);
void opsd_stop(struct http_server *s);

/* --- tls.c --- */
MUST_CHECK int tls_load(struct http_server *s, struct wopr_error *err);

/* --- base_url.c --- */
bool host_is_loopback(struct str name); /* without a port; "[::1]" too */

/* --- stream.c --- */
void stream_wake_all(struct http_server *s);
bool stream_leaving(void); /* this thread: libmicrohttpd closes what an outlet took over */

#endif
