/*
 * egress_int.h: what the files of egress share.
 */
#ifndef WOPR_EGRESS_EGRESS_INT_H
#define WOPR_EGRESS_EGRESS_INT_H

#include "base/buf.h"
#include "base/log.h"
#include "base/map.h"
#include "egress/curl_late.h"
#include "egress/egress.h"
#include "egress/lane.h"

#include <pthread.h>

struct transfer {
    struct list link; /* waiting, active or resolving */
    struct egress *e;
    struct lane *lane;     /* of its tenant and peer; holds a place there once it was dequeued */
    struct list wish_link; /* in wishes (mu) */
    uint64_t id;           /* 0: nobody asked for it */
    bool cancelled;        /* (mu) */
    bool placed;           /* (mu) dequeued */
    const struct egress_caller_row *row;
    enum egress_caller caller;
    struct name_wait wait;
    uint64_t began_ms, asked_ms; /* it, and the look-up; on the monotonic clock */
    CURL *easy;                  /* made on the egress thread */
    struct curl_slist *headers, *resolve, *connect_to;
    char *peer; /* host and port, whose places it takes; empty: the URL could not be read */
    char *tenant, *method, *url, *body;
    char *host;    /* NULL: the URL holds an address, */
    char *address; /* this one */
    int url_rc;
    unsigned port;
    size_t body_n;
    size_t bytes; /* what it takes while it waits, about */
    int timeout_ms;
    struct buf answer;
    size_t taken_n, answer_max; /* bytes that the caller took, and may get */
    unsigned redirects_left;
    bool redirects; /* they are asked for */
    bool hopped;    /* something was sent before this */
    bool secure;    /* https */
    egress_chunk_fn *chunk;
    const char *keep;
    bool stopped;            /* by its caller, */
    bool enough;             /* who has what it wants */
    bool special;            /* plain http or another port than 443: listed addresses only */
    bool once;               /* not idempotent: never sent again on a second connection */
    bool refused;            /* the guard stopped a socket */
    bool too_big, no_memory; /* the answer, or to keep it */
    egress_done_fn *done;
    void *ctx;
};
struct egress {
    struct egress_config cfg;
    char *user_agent;
    CURLM *multi;
    struct names *names;
    pthread_t thread;
    bool open;       /* (mu) started, and not stopped */
    bool threads_up; /* (mu) the thread is there: from the first request on, like multi */
    pthread_mutex_t mu;
    struct lanes lanes;                 /* (mu) what waits */
    struct map *by_id;                  /* (mu) those that may be cancelled */
    struct list wishes;                 /* (mu) those to cancel or to continue */
    uint64_t last_id;                   /* (mu) */
    char *proxy, *proxy_user, *ca_file; /* or NULL */
    bool stopping;                      /* (mu) */
    struct list active, resolving;      /* the thread's */
    bool freed;                         /* the thread's: a place was released since the last look */
    size_t active_nr;                   /* (mu) of both lists; written by the thread */
    struct egress_stats stats;          /* (mu) */
    struct log_gate refused_gate;
};

/* --- transfer.c --- */
/* A checked copy of the request.  VALIDATION, TOO_BIG or NO_MEMORY. */
MUST_CHECK int transfer_new(struct egress *e, const struct egress_request *r, struct transfer **out,
                            struct wopr_error *err);
void transfer_free(struct transfer *t); /* takes NULL */
/* Read host and port from the URL: *t->url_rc says whether the name can be looked up. */
MUST_CHECK int transfer_read_url(struct transfer *t);
/* Names of framing and routing, which libcurl sets itself, are no headers of a request. */
bool transfer_header_ok(struct str name);
/* The answer is a redirect that is to be followed. */
bool transfer_redirects(const struct transfer *t);
/* Hand it to libcurl with the addresses of its host (or NULL) and the remaining time. */
bool transfer_start(struct transfer *t, const char *addresses, long left_ms);

/* --- hop.c, on the egress thread --- */
/* Turn a redirected transfer into the request for where it points to.  0, or why it ends:
 * EGRESS_REFUSED, UNREACHABLE, NO_MEMORY; *why says it. */
MUST_CHECK int transfer_hop(struct transfer *t, const char **why);

#endif
