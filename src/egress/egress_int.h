/*
 * egress_int.h: what the files of egress share.
 */
#ifndef WOPR_EGRESS_EGRESS_INT_H
#define WOPR_EGRESS_EGRESS_INT_H

#include "base/buf.h"
#include "base/log.h"
#include "egress/egress.h"
#include "egress/lane.h"

#include <curl/curl.h>
#include <pthread.h>

struct transfer {
    struct list link; /* waiting, active or resolving */
    struct egress *e;
    struct lane *lane; /* of its tenant; holds a place there once it was dequeued */
    struct name_wait wait;
    uint64_t began_ms; /* on the monotonic clock */
    CURL *easy;        /* made on the egress thread */
    struct curl_slist *headers, *resolve;
    char *tenant, *method, *url, *body;
    char *host; /* NULL: the URL holds an address */
    unsigned port;
    size_t body_n;
    int timeout_ms;
    struct buf answer;
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
    bool threads_up;
    pthread_mutex_t mu;
    struct lanes lanes;            /* (mu) what waits */
    bool stopping;                 /* (mu) */
    struct list active, resolving; /* the thread's */
    bool freed;                    /* the thread's: a place was released since the last look */
    size_t active_nr;              /* (mu) of both lists; written by the thread */
    struct egress_stats stats;     /* (mu) */
    struct log_gate refused_gate;
};

/* --- transfer.c --- */
/* A checked copy of the request.  VALIDATION, TOO_BIG or NO_MEMORY. */
MUST_CHECK int transfer_new(struct egress *e, const struct egress_request *r, struct transfer **out,
                            struct wopr_error *err);
void transfer_free(struct transfer *t); /* takes NULL */
/* On the egress thread: read host and port from the URL. */
MUST_CHECK int transfer_read_url(struct transfer *t);
/* Hand it to libcurl with the addresses of its host (or NULL) and the remaining time. */
bool transfer_start(struct transfer *t, const char *addresses, long left_ms);

#endif
