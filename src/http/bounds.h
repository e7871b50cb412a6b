/*
 * bounds.h: what the server hands out in bounded amounts, and to whom.  Layer: http.
 *
 * A holder is a tenant (or a key, where a key has a cap of its own).  Each kind has a limit for
 * all, and a reserve, the last part of that limit, for tenants that hold little: a holder with more
 * than a fifth of the reserve is refused as soon as only the reserve is left.  So one tenant, or
 * several together, can fill a bound up to the reserve, and every other is still admitted.
 */
#ifndef WOPR_HTTP_BOUNDS_H
#define WOPR_HTTP_BOUNDS_H

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

struct http_server;
struct http_call;
struct exchange;

/* ---- shares.c ---- */
enum share_kind {
    SHARE_REQUESTS, /* being answered */
    SHARE_POLLS,    /* parked until their run moves */
    SHARE_STREAMS,
    SHARE_BYTES, /* of bodies, answers and streams, see budget.c */
    SHARE_READS, /* waiting for a thread of offload.c */
    SHARE_NR
};
struct holder {
    unsigned refs;
    size_t held[SHARE_NR];
    struct str name;
    /* offload.c, under its lock */
    struct list jobs, turn; /* of struct offload_job.link; in offload.waiting */
    unsigned running;
};
struct shares {
    pthread_mutex_t lock; /* a leaf */
    struct map *holders;
    struct holder nobody; /* without a name, or when memory is short: shared */
    size_t limit[SHARE_NR], reserve[SHARE_NR];
    size_t cap[SHARE_NR]; /* of one holder; 0 = none.  Set before the first is taken */
    atomic_size_t total[SHARE_NR];
};
/* limit: per kind, of all tenants together; reserve_percent of it for those that hold little.
 * NO_MEMORY. */
MUST_CHECK int shares_init(struct shares *s, const size_t limit[SHARE_NR],
                           unsigned reserve_percent);
void shares_fini(struct shares *s);
/* The holder of that name, with a reference.  Never NULL. */
struct holder *shares_enter(struct shares *s, struct str name);
struct holder *shares_again(struct shares *s, struct holder *h); /* another reference */
void shares_leave(struct shares *s, struct holder *h);           /* takes NULL */
/* Enter and take one, give one and leave: both under one lock, for every request. */
struct holder *shares_begin(struct shares *s, struct str name, enum share_kind kind, bool *taken);
void shares_end(struct shares *s, struct holder *h, enum share_kind kind);
bool share_take(struct shares *s, struct holder *h, enum share_kind kind, size_t n);
bool share_room(struct shares *s, struct holder *h, enum share_kind kind, size_t n);
/* What the holder has, when that is as much as the cap allows one holder; else 0. */
size_t share_over_cap(struct shares *s, struct holder *h, enum share_kind kind);
/* For what exists already and cannot be refused. */
void share_force(struct shares *s, struct holder *h, enum share_kind kind, size_t n);
void share_give(struct shares *s, struct holder *h, enum share_kind kind, size_t n);
/* A count of the holder's own, against a cap instead of the limit for all. */
bool share_own_take(struct shares *s, struct holder *h, enum share_kind kind, size_t cap);
void share_own_give(struct shares *s, struct holder *h, enum share_kind kind);
size_t shares_total(const struct shares *s, enum share_kind kind);

/* ---- admit.c: the slot of a request ---- */
/* After authentication: a slot of the requests in flight, or UNAVAILABLE in err. */
MUST_CHECK int exchange_admit(struct exchange *x, struct wopr_error *err);
void exchange_give_back(struct exchange *x); /* every slot and byte; idempotent */
/* Parked as a long-poll: a slot of the polls instead of the one in flight.  exchange_poll_end takes
 * a slot in flight again, full or not: the answer is due. */
MUST_CHECK int exchange_poll_begin(struct exchange *x, struct wopr_error *err);
void exchange_poll_end(struct exchange *x);

/* ---- budget.c: bytes ---- */
enum {
    BUDGET_SMALL = 16 * 1024,   /* what is smaller is bounded by the number of requests */
    BUDGET_ESTIMATE = 64 * 1024 /* free before a read begins to render an answer */
};
/* Count n bytes more for the exchange, or UNAVAILABLE. */
MUST_CHECK int budget_take(struct exchange *x, size_t n, struct wopr_error *err);
/* Room for a read's answer? */
MUST_CHECK int budget_open(struct exchange *x, struct wopr_error *err);
/* Count what the exchange holds now.  With may_refuse: false when there is no room for it. */
bool budget_settle(struct exchange *x, bool may_refuse);
int budget_refuse(struct exchange *x, struct wopr_error *err);
void budget_kernel(struct exchange *x); /* let the kernel buffer little of a large answer */
/* The same for a stream: *counted is what is counted for it now, and is brought to n. */
bool budget_move(struct http_server *s, struct holder *h, size_t *counted, size_t n);

/* ---- watch.c: parked exchanges whose peer leaves; a set for each loop, on its thread ---- */
struct watch;
/* NULL without memory.  watch_fd is readable when a peer left: watch_turn wakes its exchange. */
struct watch *watch_new(void);
void watch_free(struct watch *w);
int watch_fd(const struct watch *w);
void watch_turn(struct watch *w);
void watch_add(struct exchange *x); /* best effort: without it the exchange ends by its deadline */
void watch_del(struct exchange *x); /* idempotent */

/* ---- guess.c: failed credentials ---- */
struct limiter;
enum { GUESS_KNOWN = 4096 };
struct guesses {
    struct limiter *limiter;                 /* NULL: off */
    atomic_uint_fast64_t known[GUESS_KNOWN]; /* part of the hash of keys that were valid */
};
/* Before the store is asked.  0, or RATE_LIMITED: the address has failed too often and the
 * credential is none that was valid before. */
MUST_CHECK int guess_admit(struct exchange *x, struct str credential, struct wopr_error *err);
/* After: count a failure; rc, or RATE_LIMITED. */
int guess_result(struct exchange *x, int rc, struct wopr_error *err);
struct sha256;
/* The credential with this hash was right: guess_admit lets it in from any address. */
void guess_known(struct http_server *s, const struct sha256 *hash);

/* ---- offload.c: threads for long reads and large bodies ---- */
struct offload;
struct offload_job { /* a piece of work, in its owner */
    struct list link;
    void (*run)(struct offload_job *j);    /* may free or queue j again */
    void (*refuse)(struct offload_job *j); /* instead of it: the threads have stopped */
};
/* h stays while j waits.  false: no thread will run it any more. */
bool offload_queue(struct http_server *s, struct holder *h, struct offload_job *j);
/* true: it waited and will neither run nor be refused.  false: it runs, or has run. */
bool offload_cancel(struct http_server *s, struct holder *h, struct offload_job *j);
/* Queues run(x).  HTTP_PENDING: x is to be parked, http_resume is owed; else x has its refusal. */
int offload_push(struct exchange *x, int (*run)(struct exchange *x));
/* UNAVAILABLE: no place among SHARE_READS. */
int offload_refuse_full(struct exchange *x, struct wopr_error *err);
MUST_CHECK int offload_start(struct http_server *s);
void offload_stop(struct http_server *s); /* finishes running jobs, refuses waiting and new ones */
void offload_free(struct http_server *s); /* no request is served any more */

/* ---- trim.c: frees what loops have no time for, returns freed memory to the system ---- */
struct trim {
    struct mem_later later; /* of the loops */
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    bool made, running, stop;
};
/* NO_MEMORY; of trim_start also when there can be no thread.  trim_stop waits for its end. */
MUST_CHECK int trim_init(struct trim *t);
void trim_fini(struct trim *t);
MUST_CHECK int trim_start(struct trim *t);
void trim_stop(struct trim *t);

#endif
