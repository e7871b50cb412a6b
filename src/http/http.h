/*
 * http.h: the HTTP server.  Layer: http.  The only user of libmicrohttpd.  Knows operations,
 * credentials, idempotency and streams; does not know the shapes of payloads nor the spelling of
 * errors: those come from the wires it carries, each through a struct http_mount.
 *
 * Order of a request (HTTP-11): head and size limits -> mount and version -> route and method ->
 * authenticate -> rate limit -> token -> scope -> admission -> body -> idempotency look-up ->
 * handler.  For OP_TOKEN the rate limit is that of the address.  Handlers run on the threads of
 * loop.c and never wait: they set a reply, or return HTTP_PENDING after arranging that
 * http_resume(call) will be called; the connection is suspended meanwhile.
 */
#ifndef WOPR_HTTP_HTTP_H
#define WOPR_HTTP_HTTP_H

#include "domain/scope.h"
#include "journal/journal.h"
#include "store/keys.h"

struct http_server;
struct http_call;

enum { HTTP_DONE = 0, HTTP_PENDING = 1, HTTP_GOES_ON = 2 };
enum http_op_flags {
    OP_PUBLIC = 1,         /* no credential; an Authorization header is ignored (AUTH-15) */
    OP_IDEMPOTENT = 2,     /* layer-1 idempotency applies (IDEM-1) */
    OP_BODY_OPTIONAL = 4,  /* an empty body is {} (HTTP-8) */
    OP_TICKET = 8,         /* a stream ticket in the query may replace the credential */
    OP_HEAD = 16,          /* HEAD mirrors GET (HTTP-18) */
    OP_ADDRESS_LIMIT = 32, /* rate limit per client address, not per key (discovery, AUTH-12) */
    OP_BYTES = 128,      /* the body is any bytes of any type, also none; the handler judges them */
    OP_LONG_NAMES = 256, /* parameters of the path may have HTTP_NAME_BYTES_MAX bytes */
    OP_RESOURCE = 512, /* programs use it that browsers may be made to speak for: a foreign Host or
                            Origin header is refused first of all (http_is_foreign), and challenges
                            name the metadata of the resource (http_resource_metadata) */
    OP_TOKEN = 64      /* with OP_PUBLIC: the path parameter {token} is the authority (AUTH-14),
                              http_mount.authorize says for whom; the path is never logged */
};
/* One row of the operation table (D7).  pattern: "/v1/runs/{runId}:pause"; a {name} is one whole
 * segment or the part before the verb; at most 4.  Verb suffixes are cut at the last colon and
 * only when the verb occurs in the table (HTTP-6, D6); %3A counts as a colon there.  Params are
 * percent-decoded per segment, %2F survives as data (D5, HTTP-5). */
struct http_op {
    const char *id; /* "createRun": major-independent, part of idempotency keys (D51) */
    const char *method;
    const char *pattern;
    unsigned scopes; /* all of these bits are needed */
    unsigned flags;
    size_t body_max;                        /* 0 = no body read */
    int (*handler)(struct http_call *call); /* HTTP_DONE (a reply is set) or HTTP_PENDING */
};
enum { KEY_GRACE_HOURS_MIN = 24 }; /* a rotated key works for at least so long (AUTH-20) */
enum subject_lane {                /* how a caller proved who it is (D18) */
                    LANE_API_KEY,
                    LANE_OAUTH2, /* a program's token (AUTH-21) */
                    LANE_OIDC    /* a person's (AUTH-23) */
};
struct principal {
    struct str key_id, tenant, workspace, subject_issuer, subject_id;
    unsigned scopes;
    bool test_mode, authenticated;
    enum subject_lane lane;
    struct str certificate; /* SHA-256 of the client's, where one is needed (AUTH-22), or empty;
                             * as long as the connection */
    int64_t token_ends_ms;  /* > 0: by a token of an issuer, until then; else by an API key */
    int64_t ticket_run_no;  /* > 0: only this run's stream may be read */
    struct str ticket_run_id;
};
struct http_param {
    struct str name, value;
};
struct http_call {
    struct arena *arena;
    struct http_server *server;
    void *wire_ctx; /* http_mount.ctx */
    const struct http_op *op;
    struct str method, path;     /* path raw, without query */
    struct http_param params[4]; /* decoded path parameters */
    size_t params_nr;
    struct http_param *query; /* decoded, in order */
    size_t query_nr;
    struct str body; /* complete; checked JSON object text when the op takes a body ("{}" when empty
                        and optional), any bytes with OP_BYTES */
    struct principal who;
    struct str traceparent; /* valid inbound header or empty */
    struct str tracestate;  /* the same; it means something beside a traceparent only */
    char request_id[32];    /* correlation id of this request (ERR-4) */
    /* idempotency, filled before the handler when the request carries a key */
    bool has_idem;
    struct idem_key idem;
    int phase;           /* 0 on the first call of handler, +1 after each resume without a reply */
    struct str audit_of; /* what the operation is asked for, where it serves many things: a word of
                            the program's own, for the audit log; or empty */
    void *user;          /* the handler's own, e.g. its engine_cmd */
    void (*user_free)(void *user); /* called once when the request ends, may be NULL */
    /* --- reply --- */
    int status;                /* 0 = none yet */
    struct str reply;          /* body bytes: arena, static, or the buffer of reply_buf */
    const char *content_type;  /* default application/json */
    const char *cache_control; /* default no-store (HTTP-16) */
    struct http_param *headers;
    size_t headers_nr;
    void *priv;
};
struct str http_query(const struct http_call *c, const char *name, bool *found); /* first value */
/* A parameter of the path, decoded; empty when the operation has none of this name. */
struct str http_param(const struct http_call *c, const char *name);
/* p NULL when absent; several lines are one list, joined with ", " (RFC 9110 5.3) */
struct str http_header(const struct http_call *c, const char *name);
void http_reply(struct http_call *c, int status,
                struct str body); /* body lives in the arena or static */
void http_reply_header(struct http_call *c, const char *name, struct str value);
/* The reply is the stored one of an earlier request: in the words of the call's mount (IDEM-5). */
void http_reply_replayed(struct http_call *c);
/* Who asks for what, for the audit log: texts of the call, or in its arena. */
void http_audit_of(const struct http_call *c, struct plan_audit *out);
/* The error envelope, as the mount spells it. */
void http_fail(struct http_call *c, const struct wopr_error *err);
/* From any thread, once per HTTP_PENDING: the connection continues.  A reply that was set is sent;
 * otherwise the handler is called again. */
void http_resume(struct http_call *c);
/* Long-poll: HTTP_PENDING until the run has a sequence > after_seq, or timeout_ms is over, or the
 * server drains; then the handler is called again (phase + 1). */
int http_wait_events(struct http_call *c, int64_t run_no, int64_t after_seq, int64_t timeout_ms);
/* Long-poll on something else than a log.  arm is called before http_wait_for returns; its
 * wake(ctx) may come from any thread, at once too, until disarm.  Else as http_wait_events. */
struct http_waits_for {
    void (*arm)(void *of, void (*wake)(void *ctx), void *ctx);
    void (*disarm)(void *of);
    void *of;
};
int http_wait_for(struct http_call *c, const struct http_waits_for *w, int64_t timeout_ms);
/* Has the client of a call that waited closed at least its sending side?  What is given to it now
 * is most likely lost. */
bool http_hung_up(struct http_call *c);
/* What an answer may repeat of a path that is not served (HTTP-2, HTTP-14): its first segment when
 * that is a plain word like "runs" or "index.html", else nothing but the slash. */
enum { HTTP_PATH_SHOWN_BYTES = 32 };
void http_path_shown(struct str path, char out[HTTP_PATH_SHOWN_BYTES]);
/* For a read that takes long: `return http_offload(c, fn);`.  fn runs on a thread for that, may use
 * c and the store as a handler does, but must set a reply or a stream and neither park nor offload
 * again.  The queue is bounded, with a share for each tenant; 503 beyond.  A handler whose body has
 * more than HTTP_LARGE_BODY bytes runs on such a thread from the start, and must not wait for
 * events. */
int http_offload(struct http_call *c, void (*fn)(struct http_call *c));
/* The same for a command that first has to do something long: fn may return HTTP_PENDING. */
int http_offload_command(struct http_call *c, int (*fn)(struct http_call *c));
/* Before something long is read for an answer of n bytes: is there room for it?  UNAVAILABLE. */
MUST_CHECK int http_room(struct http_call *c, size_t n, struct wopr_error *err);
/* Another operation of the same mount answers: `return http_go_on(c, &as);`.  From here on the call
 * is a request of that operation by the same principal, with what is given here and no other
 * header: its scopes are judged, its idempotency key is looked up, and its handler is called with
 * phase 0; log, audit and metrics show it.  What was the handler's own (user) is given up before.
 * Texts live in the call's arena.  Once for a call, unless it went back; not in a stream; the
 * operation must be neither OP_PUBLIC nor OP_TOKEN. */
struct http_as {
    const char *op_id;
    struct http_param params[4]; /* of the path, decoded, by the names of the pattern */
    size_t params_nr;
    struct http_param *query;
    size_t query_nr;
    struct str body;            /* checked JSON object text; "{}" when the operation takes none */
    struct str idempotency_key; /* may be empty */
    unsigned without;           /* scopes that the principal has and this request shall not use */
    /* Called on the connection's thread when the answer is decided, refusals too; it may set
     * another one, with http_reply.  call->user and user_free are what the answer lives in. */
    void (*answered)(struct http_call *c, void *of);
    void *of;
};
int http_go_on(struct http_call *c, const struct http_as *as);
/* In `answered`: the answer was taken, and is not the call's own.  The call is again that of the
 * operation which went on, its handler is called with the next phase, and it may go on once more.
 */
void http_go_back(struct http_call *c);
/* The call does what n requests would: its key and its tenant pay for them (http_rates). */
void http_charge(struct http_call *c, size_t n);
/* What a browser, or a name that points at us, may be up to (DNS rebinding): the request has a Host
 * or an Origin header that no setting vouches for.  On a loopback address its names are vouched
 * for, of any port; an origin also when it is the one that the request was sent to. */
bool http_is_foreign(struct http_call *c);
/* Append what /metrics shows: of all tenants, and a query of the store. */
void http_metrics(const struct http_call *c, struct buf *out);
/* Where the metadata of the protected resource is whose path this is (RFC 9728 3.1). */
struct str http_resource_metadata(struct http_call *c, struct str path);
/* "http://host:port" for absolute URLs: configured public URL, else scheme + Host header, else the
 * listener (RUN-4). */
struct str http_base_url(struct http_call *c);
/* Host extension: a short-lived ticket bound to one run, for clients that cannot send headers
 * (EventSource). HMAC-signed, carries key id, run id and expiry; the key is looked up again when it
 * is used. */
MUST_CHECK int http_ticket_mint(struct http_call *c, struct str run_id, int64_t run_no,
                                int64_t lifetime_ms, struct str *ticket, int64_t *expires_ms,
                                struct wopr_error *err);

/* --- streams (SSE) --- */
enum { HTTP_FOLD_AGAIN = 1, HTTP_FOLD_END = 2 };
struct http_stream {
    int64_t run_no;
    struct str run_id;
    int64_t after_seq;   /* read the log after it, -1 = from the start */
    int64_t quiet_until; /* events up to it are read but not shown (SSE-28); for views */
    /* Renders frames; with buffer_ms > 0 it renders bare JSON elements.  Its id is below the
     * mount's views_nr. */
    const struct journal_view *view;
    /* Instead of view: folds the events (values mode) and appends frames to out; e == NULL: end of
     * the backlog.  With here it is called on the thread of a loop and must be short:
     * HTTP_FOLD_AGAIN, instead of anything that may take long, asks to be called again with the
     * same event on a thread for long reads.  There, HTTP_FOLD_AGAIN says that a turn of work is
     * done and the same event needs another one.  HTTP_FOLD_END: what was appended is the end. */
    int (*fold)(void *state, const struct event *e, bool here, struct buf *out);
    /* The stream ends without that: limit_ms is over, the server drains, the client sends no more.
     * Appends the last frames; short, on any of the threads above.  May be NULL. */
    void (*over)(void *state, struct buf *out);
    int64_t limit_ms; /* > 0: with fold only; the stream ends then, when nothing is left to read */
    bool away;        /* fold the backlog on threads for long reads from the start */
    void *state;
    void (*state_free)(void *state);
    size_t (*state_bytes)(const void *state); /* memory it has now; may be NULL */
    unsigned buffer_ms; /* SSE-31..35: batches by time window, forced flush, at most 500 backfilled
                           elements each */
    bool final;         /* the run has ended, nothing will be added to its log (SSE-24) */
    bool ended;         /* final, and the cursor covers all of it: close at once (SSE-29) */
    bool none_is_204;   /* a final run with nothing to show is 204, which ends an EventSource */
};
/* Reply 200 text/event-stream: headers flushed at once with a first comment (SSE-12), backfill,
 * live, keep-alives every http_config.keepalive_ms of silence, close after the terminal event
 * (SSE-23); of a final run the rest as one answer, when it is short.  s is copied. */
void http_reply_stream(struct http_call *c, const struct http_stream *s);

/* --- mounts --- */
/* A wire as the server carries it: which paths it answers, and its spelling of what the server
 * itself has to say.  The mounts of a server share its bounds, keys, gate and threads.
 *
 * A request belongs to the mount with the longest prefix that its path has; to the first mount when
 * it has none of them, or when no path could be read.  The first may therefore have operations
 * outside of its prefix; an operation of any other mount lies below its own. */
struct http_mount {
    const char *name;   /* unique; operations of all but the first are "<name>.<id>" in metrics, in
                           the request log and in idempotency keys */
    const char *prefix; /* "/v1": that path, and all that go on with a slash */
    void *ctx;          /* http_call.wire_ctx, and the first argument below */
    const struct http_op *ops;
    size_t ops_nr;
    unsigned views_nr; /* kinds of streams: journal_view.id is below it, and the mount's own */

    /* Headers; what is NULL is not sent.  Texts of headers are terminated. */
    const struct http_param *headers; /* on every answer whose path begins with prefix (D3) */
    size_t headers_nr;
    const char *version_header;           /* of the request, handed to negotiate */
    const char *replay_header;            /* "true" with a stored answer, else "false" (IDEM-5) */
    const char *realm;                    /* of Bearer challenges */
    const char *cors_expose, *cors_allow; /* header names for browsers (HTTP-18) */

    /* D2: 0, or an error for this path and version header; runs before everything else.  May be
     * NULL. */
    int (*negotiate)(void *ctx, struct str path, struct str version_header, struct wopr_error *err);
    /* The error for a path that no operation has.  NULL: NOT_FOUND. */
    int (*unknown_path)(void *ctx, struct str path, struct wopr_error *err);
    /* OP_TOKEN: judge http_param(c, "token") and fill c->who (tenant, mode; authenticated stays
     * false); what it found may be kept in c->user.  May be NULL when no operation has the flag.
     */
    int (*authorize)(void *ctx, struct http_call *c, struct wopr_error *err);
    /* Status and body of the error envelope for err; retry_after_s > 0 when the header is due. */
    void (*render_error)(void *ctx, struct http_call *c, const struct wopr_error *err, int *status,
                         struct str *body, int *retry_after_s);
};

/* --- server --- */
/* Per second, and how many at once; a rate of 0: no bound. */
struct http_rates {
    unsigned key_rate, key_burst;
    unsigned tenant_rate, tenant_burst;             /* its keys together */
    unsigned address_rate, address_burst;           /* discovery, per address */
    unsigned large_body_rate, large_body_burst;     /* bytes of bodies beyond HTTP_LARGE_BODY, per
                                                       tenant */
    unsigned auth_failure_rate, auth_failure_burst; /* failed credentials per address */
};
/* Repeated keys of clients, besides how long they are kept. */
struct http_idem {
    int wait_ms;          /* a repeated key waits for the first answer (IDEM-11) */
    struct sha256 secret; /* keys the digests of bodies that are stored (IDEM-10) */
    int64_t secret_no;    /* which one it is, 0 = none: they are stored as they are */
};
struct http_audit {
    /* Gets an entry "http.request" for each request with a credential or a token, after its answer;
     * of those that only read if reads is set.  Must not wait.  NULL = none. */
    void (*note)(void *ctx, const struct plan_audit *row);
    void *ctx;
    bool reads;
};
/* What the listener of operations asks its owner, from any thread; each may be NULL. */
struct http_ops {
    void (*metrics)(void *ctx, struct buf *out); /* appends text to /metrics */
    bool (*ready)(void *ctx);                    /* /readyz */
    void *ctx;
};
/* What is 0 or negative and does not say what that means has the default of its setting. */
struct http_config {
    const char *host;                         /* "127.0.0.1" */
    uint16_t port;                            /* 0 = any free port */
    unsigned threads;                         /* of loop.c */
    const char *ops_host;                     /* second listener: /healthz /readyz /metrics */
    int32_t ops_port;                         /* -1 = off, 0 = any */
    const char *tls_cert_file, *tls_key_file; /* both or none */
    const char *tls_clients_file;             /* with them only: AUTH-22; NULL = none are asked */
    const char *public_url;                   /* may be NULL */
    /* NULL-terminated names or name:port whose Host header may be used in URLs; NULL = none.  On a
     * loopback address its names always may. */
    const char *const *allowed_hosts;
    /* Keys of the settings (key_from_text): valid as long as this server lives, unless their row
     * is revoked.  The rows stay the caller's. */
    const struct api_key *configured;
    size_t configured_nr;
    struct http_issuers *issuers; /* the caller's; NULL: only API keys are taken */
    const char *const
        *cors_origins; /* NULL-terminated exact origins or "*", NULL = no CORS (HTTP-18) */
    unsigned connections_max;
    /* connections of one address (IPv6: /64); 0: a quarter of the above, loopback without a bound
     */
    unsigned address_connections_max;
    const char
        *trusted_proxies;  /* addresses and blocks whose X-Forwarded-For counts; may be NULL */
    unsigned requests_max; /* in flight (not streams) before 503 (ERR-9) */
    unsigned streams_max;
    unsigned tenant_streams_max; /* of them before 429; 0 = no bound of its own */
    unsigned polls_max;          /* long-polls that wait; not among requests_max */
    unsigned key_polls_max;      /* of one key; 0 = half of polls_max */
    unsigned reserve_percent; /* of each bound, for tenants that hold little (bounds.h); 0 = none */
    size_t memory_bytes;      /* bodies, answers, stream states together */
    unsigned read_threads;    /* for http_offload */
    size_t pool_bytes;        /* libmicrohttpd memory per connection */
    int keepalive_ms;
    int read_timeout_s;       /* idle connections, slow bodies, stuck readers: cut after this */
    int head_timeout_s;       /* from the first byte of a head to its last */
    int64_t idem_retention_s; /* 86400 */
    struct http_rates rates;
    struct http_idem idem;
    struct http_ops ops;
    struct http_audit audit;
};
/* mounts: at least one; what they point to lives as long as the server.  CONFIG when two share a
 * name or a prefix, or an operation lies outside of its mount. */
MUST_CHECK int http_server_new(const struct http_config *cfg, const struct http_mount *mounts,
                               size_t mounts_nr, struct journal *journal, struct http_server **out,
                               struct wopr_error *err);
MUST_CHECK int
http_server_start(struct http_server *s,
                  struct wopr_error *err); /* binds; IO with a message that names the address */
uint16_t http_server_port(const struct http_server *s);
/* The base of URLs that no request asks for, in a: the public URL, else the address it listens on,
 * empty when that is every address.  Without a slash at the end. */
struct str http_server_base(const struct http_server *s, struct arena *a);
uint16_t http_server_ops_port(const struct http_server *s);
/* Drain: stop accepting (readyz turns 503), close streams after their last complete frame, let
 * requests finish up to grace_ms. */
void http_server_drain(struct http_server *s, int64_t grace_ms);
void http_server_free(struct http_server *s); /* stops when still running; takes NULL */

/* --- issuers of tokens (AUTH-21, AUTH-23) --- */
struct http_issuers;
/* Appends the JSON Web Key Set of a file that the text names.  Any error but NO_MEMORY is the
 * file's, and its message says why. */
typedef int http_issuer_keys(void *ctx, struct str file, struct buf *out, struct wopr_error *err);
/* May keys be fetched there?  An error's message says why not. */
typedef int http_issuer_reach(void *ctx, struct str url, struct wopr_error *err);
struct http_issuer_files {
    http_issuer_keys *keys;
    http_issuer_reach *reach;
    void *ctx;
};
/* {"issuers":[...]}, as docs/security.md describes it.  CONFIG names the member and the remedy;
 * NO_MEMORY. */
MUST_CHECK int http_issuers_new(struct str text, const struct http_issuer_files *files,
                                struct http_issuers **out, struct wopr_error *err);
/* Read them anew: tokens are judged by the new ones from now on.  Keys that came by URL stay where
 * name and URL do.  After an error nothing has changed. */
MUST_CHECK int http_issuers_read(struct http_issuers *s, struct str text,
                                 const struct http_issuer_files *files, struct wopr_error *err);
void http_issuers_free(struct http_issuers *s); /* takes NULL */
struct http_issuer_shown {                      /* what discovery says of one */
    struct str url, audience;
    bool users;
};
/* false: there is no ith one; s may be NULL.  Texts are borrowed until http_issuers_read. */
bool http_issuer_at(const struct http_issuers *s, size_t i, struct http_issuer_shown *out);

/* Of an issuer whose keys come by URL: */
struct http_issuer_source {
    struct str name, url;
    int64_t refresh_ms; /* between two fetches */
    int64_t age_ms;     /* of its keys; -1: there are none */
    bool wanted;        /* a token named a key that is not among them */
};
/* The ith issuer; an empty url: its keys are in a file.  Texts are in a. */
bool http_issuer_source_at(struct http_issuers *s, size_t i, struct arena *a,
                           struct http_issuer_source *out);
/* fn is called from any thread, with a lock held, when an issuer's keys become wanted, once until
 * there are new ones; it must only wake somebody.  NULL: nobody any more. */
void http_issuers_wanted(struct http_issuers *s, void (*fn)(void *ctx), void *ctx);
/* Its keys, as they were fetched.  SYNTAX, TOO_BIG: they are not taken, the old ones stay.
 * NOT_FOUND: there is no such issuer any more.  NO_MEMORY. */
MUST_CHECK int http_issuer_keys_put(struct http_issuers *s, struct str name, struct str url,
                                    struct str jwks, struct wopr_error *err);

/* --- API keys --- */
#define KEY_PREFIX_LIVE "hk_"
#define KEY_PREFIX_TEST "hk_test_"
/* Mint a key "<prefix><keyId>_<secret>" (AUTH-3, AUTH-4): *text is shown once; *row is ready for
 * store_key_put. */
MUST_CHECK int key_mint(struct store *s, struct str tenant, struct str workspace, struct str label,
                        unsigned scopes, bool test_mode, int64_t expires_ms, struct arena *a,
                        struct str *text, struct api_key *row, struct wopr_error *err);
/* A configured key of any spelling (AUTH-16), at least KEY_CONFIGURED_MIN bytes: row with a stable
 * key id derived from its hash; mode from the prefix. */
#define KEY_CONFIGURED_MIN 20
MUST_CHECK int key_from_text(struct store *s, struct str text, struct str tenant,
                             struct str workspace, unsigned scopes, struct arena *a,
                             struct api_key *row, struct wopr_error *err);
/* The row of a stored credential, or UNAUTHENTICATED, KEY_EXPIRED, KEY_REVOKED.  Constant-time
 * compare. */
MUST_CHECK int key_check(struct store *s, struct str credential, int64_t now_ms, struct arena *a,
                         struct api_key *out, struct wopr_error *err);

#endif
