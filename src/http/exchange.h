/*
 * exchange.h: one request and its answer.  Layer: http.
 *
 * It begins with a complete head and ends with the last byte of the answer, or becomes a stream.
 * Each part of the struct belongs to the file named beside it; where another one sets a member too,
 * the member says so.  One thread at a time uses an exchange: its connection's, or, while that is
 * parked, the one that owes http_resume.
 */
#ifndef WOPR_HTTP_EXCHANGE_H
#define WOPR_HTTP_EXCHANGE_H

#include "http/bounds.h"
#include "http/head.h"
#include "http/http.h"
#include "http/idem.h"
#include "http/metrics.h"
#include "http/mount.h"
#include "http/park.h"
#include "http/ticker.h"

enum { HTTP_HEADERS_OUT_MAX = 16 };

enum exchange_stage {
    EXCHANGE_HEAD,    /* being judged */
    EXCHANGE_BODY,    /* reading the body */
    EXCHANGE_IDEM,    /* at the gate */
    EXCHANGE_HANDLER, /* the handler owes an answer */
    EXCHANGE_REPLY,   /* reply decided, not yet queued */
    EXCHANGE_SENT
};
struct exchange_life { /* exchange.c; request.c when a handler runs */
    atomic_int refs;   /* the connection, and an outstanding http_resume */
    atomic_bool owes_resume;
    atomic_bool aborted; /* the server stopped before the handler answered */
    struct list live;    /* in server.exchanges.parked while a handler owes http_resume */
    struct exchange *next_spare;
    uint64_t start_ns;
};
struct exchange_head { /* request.c: what the client's head says; borrows the arena */
    struct head_field *fields;
    size_t fields_nr;
    struct str query, host;
    struct str origin, content_type, authorization, idempotency_key, version;
    size_t authorizations; /* fields of that name; ticket.c counts a ticket as one */
    size_t traceparents;   /* the same; more than one are none */
    uint64_t body_length;
    bool chunked, expects_continue;
    bool keep_alive; /* the client wants to go on */
    bool http_1_1;   /* exactly */
    bool bad;        /* no request could be made of it */
};
struct exchange_body { /* body.c */
    struct buf bytes;
    uint64_t seen;
    bool discard; /* read past, not kept; request.c too */
};
struct exchange_wait { /* wait.c; the timer is idem.c's too */
    struct tick_timer timer;
    bool timer_set;
    bool used; /* the handler asked for a wait, so no http_resume comes */
    struct journal_waiter *waiter;
    struct http_waits_for on; /* of != NULL: armed */
};
struct exchange_share {    /* admit.c, budget.c */
    struct holder *tenant; /* admitted, or waiting as a poll; NULL: neither */
    struct holder *poller; /* the key, while it waits as a poll */
    bool admitted;         /* has a slot in flight */
    size_t bytes;          /* counted */
};
struct exchange_peer { /* watch.c */
    int watched_fd;    /* -1: not in the loop's watch */
    bool hung_up;      /* sends no more: the exchange does not wait any longer */
    bool gone;         /* nor does it read */
};
struct exchange;
enum { TRACEPARENT_TEXT = 55 };
struct exchange_trace {              /* reply.c: of the span of this request (OBS-3) */
    char text[TRACEPARENT_TEXT + 1]; /* "": asked for by nothing yet */
};
struct exchange_go_on { /* go_on.c */
    bool asked;         /* the handler has returned HTTP_GOES_ON, or will */
    void (*answered)(struct http_call *c, void *of); /* NULL: nobody, or it was called */
    void *of;
    int status; /* of the operation, for log, audit and metrics; 0: that of the answer */
    bool back;  /* the first operation has more to say */
    struct go_on_first *first; /* what the call was before, in its arena; NULL: it is still that */
};
static inline int go_on_status(const struct exchange_go_on *g, int status) {
    return g->status != 0 ? g->status : status;
}
struct exchange_job { /* offload.c */
    struct offload_job job;
    int (*run)(struct exchange *x);  /* HTTP_DONE; or HTTP_PENDING: the exchange is not ours now */
    void (*fn)(struct http_call *c); /* of http_offload */
    int (*command)(struct http_call *c); /* of http_offload_command */
};

#define EXCHANGE_MAGIC 0x43414c4cu
struct exchange {
    struct http_call pub; /* first */
    uint32_t magic;
    enum exchange_stage stage;
    struct MHD_Connection *conn;
    struct park park;
    struct exchange_life life;
    struct exchange_head head;
    const struct mount *mount; /* the first one until the path is known */
    size_t op_no;
    const char *allow; /* methods of the path, NULL when it is unknown */
    int query_rc;      /* of the query parser, reported after the scope check */
    bool handler_ran;
    bool aside; /* its body is, or was, judged by offload.c; the stage says how far that got */
    struct exchange_body body;
    struct exchange_share share;
    struct gate_visit gate;
    struct exchange_wait wait;
    struct exchange_peer peer;
    struct exchange_job job;
    struct exchange_go_on go_on;
    struct exchange_trace trace;
    enum metric_refusal refusal; /* the reason when it is known where it arises */
    bool guessed;                /* a credential was judged and refused */
    bool close_after;            /* the connection ends with the answer */
    bool has_stream;             /* the answer is this stream */
    struct http_stream stream;
    struct buf whole; /* the answer, when it is a stream in one piece */
    struct http_param headers[HTTP_HEADERS_OUT_MAX];
};
static inline struct exchange *exchange_of(struct http_call *c) { return c->priv; }
static inline bool exchange_is_read(const struct exchange *x) {
    return str_eq(x->pub.method, STR("GET")) || str_eq(x->pub.method, STR("HEAD"));
}
/* With one reference, that of the connection; NULL without memory.  The last unref releases the
 * exchange for the next request. */
struct exchange *exchange_new(struct http_server *s, struct MHD_Connection *conn);
void exchange_unref(struct exchange *x);
/* The request is over: its accounts, and the connection's reference. */
void exchange_finish(struct exchange *x);
void exchange_drop_stream(struct exchange *x); /* a stream that was asked for but not started */
/* The server stops and the handler has not answered: the connection continues without it. */
void exchange_abort(struct exchange *x);
void exchanges_free_spare(struct http_server *s);

/* --- wait.c --- */
void exchange_wake(void *ctx);              /* park_wake, as a callback; ctx is the exchange */
void exchange_end_wait(struct exchange *x); /* cancel what http_wait_events armed */

/* --- go_on.c --- */
/* A handler asked for it: the exchange is at the stage where the other operation begins. */
bool go_on_begin(struct exchange *x);
void go_on_answered(struct exchange *x); /* the answer is decided */
/* The answer was one part of that of the first operation: its handler is due again. */
bool go_on_back(struct exchange *x);

/* --- body.c --- */
enum {
    HTTP_DISCARD_MAX = 64 * 1024, /* read past, so that an early refusal keeps the connection */
    HTTP_LARGE_BODY = 64 * 1024   /* a larger one is judged and handled by offload.c */
};
/* At the head: type and declared length. */
MUST_CHECK int body_admit(struct exchange *x, struct wopr_error *err);
/* false: enough, the answer is decided and nothing more is to be read */
bool body_add(struct exchange *x, const char *p, size_t n);
/* Complete: check it and hand it over. */
MUST_CHECK int body_finish(struct exchange *x, struct wopr_error *err);

/* --- reply.c, cors.c --- */
enum MHD_Result reply_queue(struct exchange *x);
/* Everything but body, content type and cache control: one place, so that no path can miss one
 * (D3). */
void reply_headers(struct exchange *x, struct MHD_Response *r);
void reply_log(struct exchange *x, int status);
/* Lines of the log while the exchange's thread is in fn, which is given the exchange, are its. */
int exchange_logged(struct exchange *x, int (*fn)(struct exchange *x));
struct str traceparent_read(struct arena *a, struct str s); /* as version 00; empty: invalid */
/* --- tracestate.c --- */
void tracestate_add(struct exchange *x, struct str v); /* a line; all together are one list */
void tracestate_judge(struct exchange *x); /* after the last: what is malformed is dropped */
bool cors_allows(const struct http_server *s, struct str origin);
void cors_headers(struct exchange *x, struct MHD_Response *r);

/* --- stream.c --- */
/* 0: the 200 is queued and the connection is a new stream's, which ends with it.  1: the stream was
 * short and is the reply now.  Otherwise nothing happened and the exchange answers err. */
MUST_CHECK int stream_start(struct exchange *x, struct wopr_error *err);

#endif
