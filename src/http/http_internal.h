/*
 * http_internal.h: what the files of http/ share.  Layer: http.
 *
 * Words: a call is one request, from its request line to the end of its reply; a stream is what a
 * call becomes when it answers text/event-stream; to park is to suspend the connection until
 * it is woken.  The order of the locks stands in DESIGN.md; none is held while a handler or the
 * store runs.
 */
#ifndef WOPR_HTTP_INTERNAL_H
#define WOPR_HTTP_INTERNAL_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/metric.h"
#include "codec/bytes.h"
#include "codec/json.h"
#include "egress/egress.h"
#include "http/bounds.h"
#include "http/head.h"
#include "http/http.h"
#include "http/mount.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    HTTP_PATH_SEGMENTS_MAX = 16,
    HTTP_PARAM_BYTES_MAX = 128,  /* decoded path parameter (HTTP-5) */
    HTTP_TOKEN_BYTES_MAX = 2048, /* the parameter named "token" is not an id */
    HTTP_QUERY_MAX = 64,
    HTTP_HEADERS_OUT_MAX = 16,
    HTTP_DISCARD_MAX =
        64 * 1024, /* body read and dropped so that an early refusal keeps the line */
    HTTP_EXCHANGE_ARENA_MAX = 64 * 1024 * 1024,
    HTTP_MEMORY_BYTES = 512 * 1024 * 1024, /* http_config.memory_bytes */
    HTTP_READS_MAX = 1024,                 /* long reads that wait for a thread */
    HTTP_EXCHANGES_SPARE_MAX = 64,         /* idle call objects kept for reuse */
    HTTP_POOL_BYTES = 6 * 1024, /* libmicrohttpd's, for the head of an answer and stream pieces */
    HTTP_ENGINE_GRACE_S = 2,    /* libmicrohttpd's patience is longer than intake.c's */
    HTTP_STREAM_BLOCK = 256,    /* libmicrohttpd's buffer for HTTP/1.0 streams */
    HTTP_EMPTY_PIECES_MAX = 32, /* filtered pieces in a row before a stream lets others run */
    HTTP_STREAM_TURN_MS = 2,    /* reading and folding before streams let others run */
    HTTP_WHOLE_BYTES_MAX = 64 * 1024, /* of a finished run as one answer, beyond: piece by piece */
    HTTP_BATCH_EVENTS_MAX = 500,      /* SSE-34 */
    HTTP_BATCH_BYTES_MAX = 1024 * 1024, /* elements buffered before a flush */
    HTTP_FRAME_BYTES_MAX = 64 * 1024 * 1024,
    HTTP_STOP_WAIT_MS = 3000 /* http_server_free: for handlers that still owe their http_resume */
};

/* ---- park.c: race-free suspend and resume ---- */
struct http_server;
struct http_loop;
struct park {
    struct MHD_Connection *conn; /* NULL: the socket has left libmicrohttpd (outlet.c) */
    struct http_server *server;
    struct http_loop *loop; /* whose thread the connection belongs to */
    atomic_int state;       /* enum park_state */
    struct list ready;      /* without conn: woken and not yet served */
};
/* On the connection's own thread. */
void park_init(struct park *p, struct http_server *s, struct MHD_Connection *conn);
/* On the connection's own thread, inside a callback of libmicrohttpd or of an outlet.  false: a
 * wake came first, go on at once.  true: return now; the callback is called again after a wake. */
bool park_here(struct park *p);
/* From any thread, any number of times, while the owner of p lives.  Never lost, never blocks. */
void park_wake(struct park *p);
/* Forget a wake that came while the connection ran (its cause was dealt with). */
void park_clear(struct park *p);

/* ---- peers.c: addresses ---- */
struct sockaddr;
enum { PEERS_SHARE = 4 }; /* of connections_max one address may have, unless it is set */
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
unsigned peers_max(const struct http_server *s, const struct address *a);
/* Whom the peer speaks for: the last address of X-Forwarded-For that is no trusted proxy; the peer
 * itself when it is none, or the header ends before. */
struct address peers_client(const struct http_server *s, const struct address *peer,
                            struct str forwarded_for);

/* ---- loop.c: the threads that serve connections ---- */
struct http_loop *loop_here(void); /* of the calling thread, NULL elsewhere */
void loop_wake(struct http_loop *l);
struct outlets *loop_outlets(struct http_loop *l);
struct watch *loop_watch(struct http_loop *l);
bool loops_start(struct http_server *s);   /* on listen_fd, which stays the server's */
void loops_quiesce(struct http_server *s); /* accept no more; takes effect soon */
void loops_stop(struct http_server *s);    /* nothing may be suspended */

/* ---- outlet.c: sockets of live streams, taken out of libmicrohttpd; a set for each loop ---- */
struct outlets;
struct outlets *outlets_new(void);         /* NULL without memory or descriptors */
void outlets_free(struct outlets *o);      /* ends its streams; nobody turns or wakes it any more */
bool outlets_any(const struct outlets *o); /* on the loop's thread */
int outlets_fd(const struct outlets *o);   /* readable: outlets_turn has something to look at */
void outlets_wake(struct outlets *o, struct park *p); /* any thread; loop_wake is the caller's */
/* On the loop's thread: serve whom somebody woke, and with look what sockets have to say. */
void outlets_turn(struct outlets *o, bool look);
/* How long the loop may sleep: at most ms (-1: for ever). */
int outlets_wait_ms(const struct outlets *o, int ms);

/* ---- ticker.c: the one thread that knows the time ---- */
struct tick_timer {
    struct heap_node node;
    void (*fire)(void *ctx); /* under the ticker's lock: wake something, nothing else */
    void *ctx;
};
struct tick_beat { /* keep-alive of one stream */
    struct list link;
    atomic_uint_fast64_t last_ms; /* last byte written, monotonic */
    atomic_bool due;
    atomic_bool look; /* once per period, silent or not: is its key still good? */
    void (*fire)(void *ctx);
    void *ctx;
};
#define TICK_SLOTS 64
struct ticker {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    bool running, stop;
    struct heap timers;
    struct list slots[TICK_SLOTS];
    uint64_t beat_ms, slot_ms, slot_now; /* slot_now: number of the last slot handled */
    size_t beats;
};
MUST_CHECK int ticker_init(struct ticker *t, int beat_ms);
MUST_CHECK int ticker_start(struct ticker *t);
void ticker_stop(struct ticker *t);
void ticker_fini(struct ticker *t);
MUST_CHECK int ticker_set(struct ticker *t, struct tick_timer *timer, uint64_t deadline_ms);
void ticker_cancel(struct ticker *t,
                   struct tick_timer *timer); /* fire is over, or never comes, after it */
void ticker_fire_all(struct ticker *t);       /* drain: every timer is due now */
void ticker_beat_add(struct ticker *t, struct tick_beat *b);
void ticker_beat_del(struct ticker *t, struct tick_beat *b);

/* ---- router.c, uri.c ---- */
struct router;
struct route {
    const struct http_op *op; /* NULL when no row matches */
    size_t op_no;             /* over all mounts */
    const char *allow;        /* methods of the path when it is known, else NULL */
    struct http_param params[4];
    size_t params_nr;
};
/* first_no: op_no of ops[0]. */
MUST_CHECK int router_new(const struct http_op *ops, size_t n, size_t first_no, struct router **out,
                          struct wopr_error *err);
void router_free(struct router *r);
/* 0; NOT_FOUND, METHOD (out->allow set), NO_MEMORY. */
MUST_CHECK int router_match(const struct router *r, struct str method, struct str path,
                            struct arena *a, struct route *out, struct wopr_error *err);
/* Undo %xx (and + when asked); false at a bad escape or %00.  *out borrows raw when nothing is
 * escaped. */
bool uri_decode(struct arena *a, struct str raw, bool plus_is_blank, struct str *out);
/* VALIDATION when malformed or too many. */
MUST_CHECK int uri_query(struct arena *a, struct str raw, struct http_param **out, size_t *n,
                         struct wopr_error *err);

/* ---- ratelimit.c ---- */
struct limiter;
struct limit_state {
    int64_t retry_ms; /* until the next token */
    unsigned limit, observed;
};
MUST_CHECK int limiter_new(unsigned rate, unsigned burst,
                           struct limiter **out); /* rate 0: *out = NULL */
void limiter_free(struct limiter *l);
bool limiter_take(struct limiter *l, struct str who,
                  struct limit_state *st); /* true when l is NULL */
bool limiter_peek(struct limiter *l, struct str who,
                  struct limit_state *st); /* would limiter_take succeed? */
int limiter_refuse(const struct limit_state *st, const char *scope, struct wopr_error *err);

/* ---- metrics.c ---- */
/* Why a request was answered 401, 403, 413, 429 or 503; the first three have no better reason than
 * their status (metrics.c). */
enum metric_refusal {
    REFUSED_NONE,
    REFUSED_BODY,      /* 413 */
    REFUSED_OPERATION, /* 403 by the operation itself */
    REFUSED_RATE,      /* 429 by the operation itself */
    REFUSED_ENGINE,    /* 503: queue full, as many runs as fit, disk full, sync failed */
    REFUSED_CAPACITY,
    REFUSED_CONNECTIONS,
    REFUSED_STREAMS,
    REFUSED_DRAINING,
    REFUSED_KEY_RATE,
    REFUSED_ADDRESS_RATE,
    REFUSED_AUTH,
    REFUSED_SCOPE,
    REFUSED_POLLS,
    REFUSED_KEY_POLLS,
    REFUSED_MEMORY,
    REFUSED_READS,
    REFUSED_GUESSES,
    REFUSED_NR
};
struct metrics {
    size_t ops_nr; /* one more row is for requests without an operation */
    const char *const *names;
    atomic_uint_fast64_t (*by_class)[6];
    struct metric_hist *took_ns;
    atomic_uint_fast64_t refused[REFUSED_NR], replays, streams_opened, stream_bytes, stream_events;
};
MUST_CHECK int metrics_init(struct metrics *m, const char *const *names, size_t n);
void metrics_fini(struct metrics *m);
void metrics_done(struct metrics *m, const struct http_op *op, size_t op_no, int status,
                  uint64_t ns);
void metrics_refused(struct metrics *m, enum metric_refusal why, int status);
void metrics_render(struct http_server *s, struct buf *out);

/* ---- idem.c ---- */
struct exchange;
struct gate {
    pthread_mutex_t lock;
    struct map *slots; /* cache key -> struct gate_slot */
};
struct gate_slot {
    struct sha256 key, digest;
    struct list waiters; /* of struct exchange.gate_link */
};
MUST_CHECK int gate_init(struct gate *g);
void gate_fini(struct gate *g);
/* Key syntax (IDEM-3) and fingerprint; sets pub.has_idem. */
MUST_CHECK int idem_prepare(struct exchange *x, struct str key, struct wopr_error *err);
enum idem_step { IDEM_RUN, IDEM_PARK, IDEM_REPLY };
enum idem_step idem_enter(struct exchange *x); /* IDEM_REPLY: a reply is set */
void idem_leave(struct exchange *x); /* the reply is decided, or the call ends; idempotent */

/* ---- the call ---- */
enum exchange_stage {
    EXCHANGE_HEAD,    /* request line seen */
    EXCHANGE_BODY,    /* reading the body */
    EXCHANGE_IDEM,    /* at the gate */
    EXCHANGE_HANDLER, /* the handler owes an answer */
    EXCHANGE_REPLY,   /* reply decided, not yet queued */
    EXCHANGE_SENT
};
#define EXCHANGE_MAGIC 0x43414c4cu
struct exchange {
    struct http_call pub; /* first */
    uint32_t magic;
    struct MHD_Connection *conn;
    struct park park;
    struct exchange *next_spare;
    struct list live; /* in server.parked_exchanges while a handler owes http_resume */
    atomic_int refs;  /* connection, and an outstanding http_resume */
    atomic_bool owes_resume;
    atomic_bool aborted; /* stopped before its handler answered */
    enum exchange_stage stage;
    const struct mount *mount; /* the first one until the path is known */
    struct str raw_query;
    size_t op_no;
    const char *allow;
    struct buf body;
    uint64_t body_seen, body_declared;
    bool chunked, expects_continue, discard, admitted, wait_used;
    bool close_after, handler_ran;
    bool head_bad, keep_alive;   /* no request could be made of it; the client wants to go on */
    bool http_1_1;               /* exactly */
    enum metric_refusal refusal; /* the reason when it is known where it arises */
    struct head_field *fields;   /* of the head, in order */
    size_t fields_nr;
    struct str authorization, content_type, idempotency_key, origin, host, version_header;
    size_t authorizations;
    int query_rc; /* of the query parser, told after the scope check */
    uint64_t start_ns;
    struct tick_timer timer;
    bool timer_set;
    struct journal_waiter *waiter;
    struct gate_slot *slot; /* owned */
    struct list gate_link;  /* waiting at a slot */
    struct holder *holder;  /* who is admitted; with admitted, bytes and poller see admit.c */
    struct holder *poller;
    size_t bytes;
    int watched_fd; /* -1: not in the loop's watch */
    bool hung_up;   /* the peer sends no more: the call does not wait any longer */
    bool gone;      /* nor does it read */
    struct list job;
    void (*job_fn)(struct http_call *c);
    uint64_t gate_deadline_ms;
    bool has_stream;
    struct http_stream stream;
    struct buf whole; /* the answer, when it is a stream in one piece */
    struct http_param headers[HTTP_HEADERS_OUT_MAX];
};
static inline struct exchange *exchange_of(struct http_call *c) { return c->priv; }
static inline bool exchange_is_read(const struct exchange *x) {
    return str_eq(x->pub.method, STR("GET")) || str_eq(x->pub.method, STR("HEAD"));
}
struct exchange *exchange_new(struct http_server *s, struct MHD_Connection *conn);
void exchange_unref(struct exchange *x);
void exchange_end_wait(struct exchange *x);    /* cancel what http_wait_events armed */
void exchange_drop_stream(struct exchange *x); /* a stream that was asked for but not started */
void exchange_abort(struct exchange *x);

/* request.c: what intake.c calls when a head is complete.  text: all of it; why: what makes it
 * none, then text is what came of it.  NULL without memory.  The answer may be decided already. */
struct intake;
struct exchange *request_begin(struct intake *e, struct str text, const struct wopr_error *why);
void request_refuse(struct exchange *x, int code,
                    const char *why); /* unless it is answered already */
/* libmicrohttpd's callbacks */
enum MHD_Result request_access(void *cls, struct MHD_Connection *conn, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **con_cls);
void request_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
                       enum MHD_RequestTerminationCode why);
int refuse_draining(struct exchange *x, struct wopr_error *err); /* UNAVAILABLE, in err */
enum { LIMIT_WHO_BYTES = 1 + sizeof(struct address) };
struct str limit_address(struct exchange *x, char out[LIMIT_WHO_BYTES]);
/* body.c */
MUST_CHECK int body_admit(struct exchange *x,
                          struct wopr_error *err); /* at the head: type and declared length */
/* false: enough, the answer is decided and nothing more is to be read */
bool body_add(struct exchange *x, const char *p, size_t n);
MUST_CHECK int body_finish(struct exchange *x,
                           struct wopr_error *err); /* complete: check and hand over */
/* auth.c, ticket.c */
MUST_CHECK int auth_check(struct exchange *x, struct wopr_error *err);
MUST_CHECK int auth_scope(struct exchange *x, struct wopr_error *err);
MUST_CHECK int key_check_with(struct store *s, const uint8_t pepper[32], struct str credential,
                              int64_t now_ms, struct arena *a, struct api_key *out,
                              struct wopr_error *err);
/* As these, for the keys that hold at this server: the stored ones and those of its settings. */
MUST_CHECK int server_key_check(const struct http_server *s, struct str credential, int64_t now_ms,
                                struct arena *a, struct api_key *out, struct wopr_error *err);
MUST_CHECK int server_key_find(const struct http_server *s, struct str key_id, int64_t now_ms,
                               struct arena *a, struct api_key *out, struct wopr_error *err);
int key_state(const struct api_key *k, int64_t now_ms, struct wopr_error *err);
/* Was the key revoked, or has it expired, since it was let in?  Asks the store once a second for a
 * key; an unreadable store is no reason to say so. */
bool key_gone(const struct http_server *s, struct str key_id);
void principal_of(const struct api_key *k, struct principal *out);
MUST_CHECK int ticket_check(struct exchange *x, struct str ticket, struct wopr_error *err);
/* tls.c */
MUST_CHECK int tls_load(struct http_server *s, struct wopr_error *err);
/* base_url.c: without a port; "[::1]" too */
bool host_is_loopback(struct str name);
/* cors.c */
bool cors_allows(const struct http_server *s, struct str origin);
void cors_headers(struct exchange *x, struct MHD_Response *r);
/* reply.c */
enum MHD_Result reply_queue(struct exchange *x);
struct str traceparent_read(struct arena *a, struct str s); /* as version 00; empty: invalid */
void reply_log(struct exchange *x, int status);
/* stream.c */
/* 0: the 200 is queued and the connection is a new stream's, which ends with it.  1: the stream was
 * short and is the call's reply now.  Otherwise nothing happened and the call answers err. */
MUST_CHECK int stream_start(struct exchange *x, struct wopr_error *err);
bool stream_leaving(void); /* this thread: libmicrohttpd closes what an outlet took over */
struct MHD_Response;
/* Everything but body, content type and cache control: one place, so that no path can miss one
 * (D3). */
void reply_headers(struct exchange *x, struct MHD_Response *r);
void exchange_finish(
    struct exchange
        *x); /* the request is over: accounts and gives the connection's reference back */

/* ---- the server ---- */
struct http_server {
    struct http_config cfg;
    struct mounts mounts;
    struct journal *journal;
    struct store *store;
    struct arena *arena; /* configuration strings */
    struct http_loop *loops;
    unsigned loops_nr;
    struct opsd *opsd;
    int listen_fd, ops_fd;
    uint16_t port, ops_port;
    char *tls_cert, *tls_key;
    uint8_t pepper[32], ticket_secret[32];
    uint32_t id_prefix;
    atomic_uint_fast64_t next_id;
    atomic_bool draining;
    atomic_int parked;    /* connections suspended now */
    atomic_int exchanges; /* call objects in use, without aborted ones */
    struct shares shares;
    struct guesses guesses;
    struct offload *offload; /* NULL: long reads run where they are */
    struct trim trim;
    atomic_uint connections;
    atomic_uint intakes_open, intakes_over; /* connections within the bounds, and to be refused */
    atomic_uint intakes_waiting; /* for their clients: what a loop can close for a new one */
    atomic_uint lingering;       /* answered, and read on for a while (linger.c) */
    struct peers peers;
    struct egress_allow proxies; /* trusted ones */
    struct limiter *key_limiter, *address_limiter;
    struct metrics metrics;
    struct gate gate;
    struct ticker ticker;
    pthread_mutex_t lock; /* of the lists below */
    struct exchange *spare;
    size_t spare_nr;
    struct list parked_exchanges;
    struct list stream_list; /* of struct stream.link */
};
bool server_draining(const struct http_server *s);
int opsd_start(struct http_server *s, struct wopr_error *err);
void opsd_stop(struct http_server *s);
int listen_on(const char *host, uint16_t port, int *fd, uint16_t *bound, struct wopr_error *err);
void stream_wake_all(struct http_server *s);
void server_mhd_log(void *cls, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif
