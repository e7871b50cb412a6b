/*
 * intake.h: the layer between a socket and libmicrohttpd.  Layer: http.
 *
 * An intake belongs to one connection and reads its socket in libmicrohttpd's place (intake.c
 * defines the functions that our copy of the library calls instead of recv and gnutls_record_recv).
 * It collects a request, judges it (head.h, chunk.h, request.c), and only then hands libmicrohttpd
 * a head of its own making: "GET / HTTP/1.1", no body.  So libmicrohttpd parses nothing that a
 * client wrote; it keeps the order of answers, sends them, and speaks TLS.
 *
 * Threads: an intake and its set belong to one loop.
 */
#ifndef WOPR_HTTP_INTAKE_H
#define WOPR_HTTP_INTAKE_H

#include "base/list.h"
#include "codec/bytes.h"
#include "http/chunk.h"
#include "http/client_cert.h"
#include "http/head.h"
#include "http/peers.h"

#include <microhttpd.h>

#include <sys/socket.h>

struct exchange;
struct http_config;
struct http_server;

enum { KEY_SEEN_BYTES = 96 }; /* ours have 73 or 78 */
enum intake_state {
    INTAKE_HEAD,  /* between two requests, or inside a head */
    INTAKE_BODY,  /* head judged, reading the body */
    INTAKE_READY, /* judged: libmicrohttpd may have it */
    INTAKE_BUSY,  /* libmicrohttpd has it and owes the answer */
    INTAKE_OVER   /* nothing more is read */
};
/* The key that a connection last proved to have, and its digest: requests on one connection mostly
 * bring the same one, and a digest takes longer than all else that is done to tell who asks.  What
 * the key may do is looked up each time.  Overwritten with the connection. */
struct key_seen {
    unsigned n; /* 0: none */
    char text[KEY_SEEN_BYTES];
    struct sha256 digest;
};
struct intake {
    struct intakes *set;
    struct http_server *server;
    struct MHD_Connection *conn;
    void *tls; /* gnutls session once something was read through it, else NULL */
    int fd;
    enum intake_state state;
    bool missed;     /* there may be input whose edge has been consumed */
    bool over;       /* more than we serve: one refusal, then the end */
    bool expired;    /* its time for this part of the request is over */
    bool eof;        /* the client has closed its sending side */
    bool linger;     /* there may be unread input when it closes */
    bool watched;    /* busy with a stream: the end of input is the end of it */
    bool left;       /* the socket lives on in an outlet */
    bool counted;    /* in peers */
    bool placed;     /* in intakes_open */
    struct list due; /* in one list of the set, by due_ms */
    struct list *in; /* which one; NULL: none */
    uint64_t due_ms;
    struct list kick;
    struct exchange *exchange; /* begun here and not yet libmicrohttpd's */
    char *pending;             /* read and not used yet */
    size_t pending_n;
    uint64_t body_left;
    struct head_scan scan;
    struct chunk_reader chunks;
    struct address peer;
    struct key_seen key;
    struct client_seen client;
};

struct intakes;      /* of one loop */
struct intake_user { /* what becomes of what was read: request.h, exchange.h */
    struct exchange *(*begin)(struct intake *e, struct str text, const struct wopr_error *why);
    bool (*body)(struct exchange *x, const char *p, size_t n);
    void (*refuse)(struct exchange *x, int code, const char *why);
    void (*drop)(struct exchange *x);
};
/* NULL without memory; user is kept, not copied. */
struct intakes *intakes_new(struct http_server *s, const struct intake_user *user);
void intakes_free(struct intakes *es); /* after its daemon; takes NULL */
void intakes_here(struct intakes *es); /* of the calling thread */
/* Hand an accepted socket to the daemon; closes it when that fails.  Unless it is over the bounds,
 * its place and its entry in peers were taken before, and go with it. */
void intakes_add(struct intakes *es, struct MHD_Daemon *d, int fd,
                 const struct sockaddr_storage *sa, socklen_t n, bool over);
enum intake_eviction {
    EVICT_NONE,  /* all are busy */
    EVICT_LATER, /* some have unread input: ask again after MHD_run */
    EVICT_DONE
};
/* Close the connection that waits longest for its client to begin or to end a head.  It is one that
 * holds a place, which is free now.  Busy ones are never closed, nor one that has just
 * sent something. */
enum intake_eviction intakes_evict(struct intakes *es);
enum intake_eviction intakes_evictable(struct intakes *es); /* what that would do */
bool intakes_elsewhere(const struct intakes *es);           /* might another loop close one? */
/* Before MHD_run: what is overdue, and who has to be looked at again. */
void intakes_turn(struct intakes *es);
int intakes_wait_ms(const struct intakes *es, int ms); /* how long the loop may sleep: at most ms */
struct lingers *intakes_lingers(struct intakes *es);

/* libmicrohttpd's callback; cls is the server */
void intake_notify(void *cls, struct MHD_Connection *conn, void **ctx,
                   enum MHD_ConnectionNotificationCode what);
struct intake *intake_of(struct MHD_Connection *conn);
struct exchange *
intake_take_exchange(struct intake *e); /* libmicrohttpd was given a head and takes the exchange */
void intake_done(struct intake *e);     /* its answer is complete, or will never be */

/* --- linger.c: sockets that are read on after the answer, so that it reaches the client (RFC 9112
 * 9.6) --- */
struct lingers;
/* NULL without memory.  lingers_free cuts what is still read. */
struct lingers *lingers_new(struct http_server *s);
void lingers_free(struct lingers *l);
int lingers_fd(const struct lingers *l); /* readable: lingers_turn has something to do */
/* A copy of fd; at the bound, instead of the oldest.  counted: its entry in peers, which goes with
 * it unless this is false; or NULL. */
bool linger_take(struct lingers *l, int fd, const struct address *counted);
void lingers_turn(struct lingers *l, bool look);
int lingers_wait_ms(const struct lingers *l, int ms); /* how long the loop may sleep: at most ms */

/* --- door.c: accepting --- */
struct door {
    struct http_server *server;
    int reserve_fd;      /* given up to accept when descriptors are short */
    uint64_t shut_until; /* monotonic ms */
    bool put_off;        /* what waits was left waiting for one turn */
    unsigned left;       /* how often in a row it was left to other loops */
};
/* false: out of file descriptors. */
bool door_init(struct door *d, struct http_server *s);
void door_fini(struct door *d);
unsigned door_shut_ms(const struct door *d); /* for how long nothing is accepted here; 0: open */
void door_turn(struct door *d, struct intakes *es, struct MHD_Daemon *daemon);
/* Raise the limit of descriptors and lower the bounds that do not fit it. */
void door_limits(struct http_config *c);

#endif
