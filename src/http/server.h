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
    KEY_USES_NR = 2048,        /* keys in use at once that are told apart */
    HTTP_POOL_BYTES = 6 * 1024 /* libmicrohttpd's, for the head of an answer and stream pieces */
};
/* What it listens on: server.c binds it, opsd.c and tls.c add theirs before the first thread. */
struct listeners {
    int fd, ops_fd; /* -1: closed */
    uint16_t port, ops_port;
    char *tls_cert, *tls_key;     /* PEM; NULL: plain */
    struct client_rules *clients; /* whose certificates are needed; NULL: nobody's */
};
/* Who is connected: counted by door.c and intake.c, in linger.c and outlet.c after the answer. */
struct connections {
    atomic_uint open;
    atomic_uint placed, over; /* within the bounds, and to be refused */
    atomic_uint waiting;      /* for their clients: what a loop can close for a new one */
    atomic_uint lingering;    /* answered, and read on for a while */
    struct peers peers;
    struct egress_allow proxies; /* trusted ones */
};
/* How often, NULL: no bound. */
struct rates {
    struct limiter *key, *tenant, *address, *large_bodies;
};
/* Requests in memory (exchange.c, request.c) and the streams that some of them became. */
struct exchanges {
    atomic_int open;      /* without aborted ones */
    pthread_mutex_t lock; /* of what follows */
    struct exchange *spare;
    size_t spare_nr;
    struct list parked;  /* of struct exchange.life.live */
    struct list streams; /* of struct stream.link */
};
struct http_server {
    struct http_config cfg;
    struct arena *arena; /* configuration strings */
    struct mounts mounts;
    struct journal *journal;
    struct store *store;
    struct hmac_key *pepper;                    /* of the digests of credentials */
    atomic_uint_fast64_t key_uses[KEY_USES_NR]; /* which key in which hour: key_use_is_new */
    uint8_t ticket_secret[32];
    uint32_t id_prefix;
    atomic_uint_fast64_t next_id;

    struct listeners listen;
    struct http_loop *loops;
    unsigned loops_nr;
    struct opsd *opsd;
    atomic_bool draining;

    struct connections conns;
    struct exchanges exchanges;
    atomic_int parked; /* suspended now */

    /* bounds */
    struct shares shares;
    struct guesses guesses;
    struct rates rates;
    struct offload *offload; /* NULL: what takes long runs where it is */
    struct trim trim;

    struct gate gate;
    struct ticker ticker;
    struct metrics metrics;
};
static inline bool server_draining(const struct http_server *s) {
    return atomic_load_explicit(&s->draining, memory_order_acquire);
}
/* A socket that listens on a name or address; port 0: any, *bound says which.  IO, with what
 * to do. */
MUST_CHECK int listen_on(const char *host, uint16_t port, int *fd, uint16_t *bound,
                         struct wopr_error *err);

/* --- opsd.c --- */
MUST_CHECK int opsd_start(struct http_server *s, struct wopr_error *err);
void opsd_stop(struct http_server *s);

/* --- tls.c --- */
MUST_CHECK int tls_load(struct http_server *s, struct wopr_error *err);

/* --- base_url.c --- */
bool host_is_loopback(struct str name); /* without a port; "[::1]" too */

/* --- stream.c --- */
void stream_wake_all(struct http_server *s);
bool stream_leaving(void); /* this thread: libmicrohttpd closes what an outlet took over */

#endif
