/*
 * egress.h: the one guarded way out of the host.  Layer: egress.
 * One thread drives a libcurl multi handle.  Every transfer passes the guard twice: its URL before
 * it is queued (HOOK-16), and each address at the moment a socket is opened for it, so that a name
 * which resolves differently the second time changes nothing (HOOK-17).  Redirects are followed
 * only when the request asks for it, each hop judged like a first request; proxies and certificates
 * of the environment are ignored, TLS is verified.  Tenants take turns, and each has a share of the
 * places, of the queue and of what may be under way to one peer.
 * Threads: egress_submit from any; done callbacks come from the egress thread and must only queue.
 */
#ifndef WOPR_EGRESS_EGRESS_H
#define WOPR_EGRESS_EGRESS_H

#include "base/error.h"
#include "base/str.h"
#include "egress/callers.h"
#include "egress/names.h"

#include <sys/socket.h>

#define EGRESS_URL_MAX      2048u
#define EGRESS_HEADERS_MAX  64u
#define EGRESS_BODY_MAX     (4u * 1024 * 1024)
#define EGRESS_RESPONSE_MAX (16u * 1024 * 1024)
#define EGRESS_ALLOW_MAX    32u

/* --- guard.c --- */
struct egress_net { /* an address block; IPv4 is kept in its mapped form */
    uint8_t addr[16];
    unsigned bits; /* 0..128 */
};
struct egress_allow { /* blocks that may be reached although the table of guard.c refuses them */
    struct egress_net v[EGRESS_ALLOW_MAX];
    size_t n;
};
/* Add the blocks of a list such as "127.0.0.0/8, ::1, 10.1.2.3" to *out.  WOPR_E_CONFIG names the
 * wrong part. */
MUST_CHECK int egress_allow_parse(struct str list, struct egress_allow *out,
                                  struct wopr_error *err);
/* Does the list admit an address of this machine itself? */
bool egress_allow_loopback(const struct egress_allow *allow);
/* a: IPv4 in its mapped form */
bool egress_allow_has(const struct egress_allow *allow, const uint8_t a[16]);
/* May a socket be opened to this address?  *listed: the allow list names it. */
bool egress_address_ok(const struct sockaddr *sa, const struct egress_allow *allow, bool *listed);
/* Scheme, host, port and user part of a URL; no look-up of names.  Plain http, ports other than 443
 * and addresses of private networks pass only when the host is an address of the allow list, or a
 * name while the list is not empty (the address is then judged when the socket is opened).
 * WOPR_E_VALIDATION with the reason; never quotes the URL. */
MUST_CHECK int egress_url_check(struct str url, const struct egress_allow *allow,
                                struct wopr_error *err);

/* --- client.c --- */
struct egress;
struct egress_config {
    const char *user_agent; /* "wopr/0.1.0" */
    struct egress_allow allow;
    unsigned transfers_max;        /* at once, default 256 */
    size_t queue_bytes_max;        /* of requests that wait, default 256 MiB; beyond: UNAVAILABLE */
    unsigned tenant_transfers_max; /* of one tenant; default a quarter */
    size_t tenant_queue_bytes_max; /* the same */
    unsigned peer_transfers_max;   /* at once to one host and port, default half of transfers_max */
    /* "http://proxy.example:3128": everything goes through this proxy, by CONNECT to the address
     * that was looked up and judged here; its own address is the operator's choice and is not
     * judged.  NULL: none. */
    const char *proxy;
    const char *proxy_user; /* "name:password", or NULL */
    const char *ca_file; /* PEM; certificates are verified against these alone.  NULL: system's */
    int connect_timeout_ms;   /* for the look-up, then for connecting; default 10000 each */
    egress_lookup_fn *lookup; /* NULL: that of the C library */
};
struct egress_header {
    struct str name, value;
};
/* A piece of an answer's body as it comes, on the egress thread: must not wait.  WAIT: nothing was
 * taken, the same piece comes again after egress_continue().  STOP ends the transfer (CLOSED).
 * ENOUGH: taken, and what follows is not needed; the transfer ends as if the answer ended here. */
enum egress_took { EGRESS_TAKEN, EGRESS_WAIT, EGRESS_STOP, EGRESS_ENOUGH };
typedef enum egress_took egress_chunk_fn(void *ctx, int status, struct str bytes);
struct egress_request {
    enum egress_caller caller; /* row of callers.def, which bounds the rest */
    bool replaying;            /* on behalf of a replay: EGRESS_REFUSED where the row says NEVER */
    struct str tenant;         /* whose share it uses */
    struct str method;         /* GET, POST, PUT, PATCH, DELETE */
    struct str url;
    const struct egress_header *headers;
    size_t headers_nr;
    struct str body;
    int timeout_ms;         /* of the whole transfer; 1..timeout_ms_max of the caller */
    size_t response_max;    /* bytes of the body, at most and by default answer_max of the caller */
    unsigned redirects_max; /* followed, at most those of the caller; 0: a redirect is the answer.
                             * Only https goes on to another host, and no header of the request
                             * but Accept and Content-Type goes with it. */
    egress_chunk_fn *chunk; /* NULL: the body is collected and comes with the response */
    const char *keep;       /* name of a header of the answer that is given too, or NULL; literal */
    uint64_t *id;           /* set before any callback, for egress_cancel; or NULL */
};
struct egress_response {
    int rc;         /* 0: the peer answered.  EGRESS_REFUSED, UNREACHABLE, TIMEOUT, TOO_BIG, CLOSED,
                       NO_MEMORY */
    bool untouched; /* with rc != 0: no byte of the request has left this host */
    int status;     /* also with TOO_BIG: the answer began well and was too long */
    int64_t retry_after_s; /* what the answer says, 0 = nothing */
    struct str content_type, body;
    struct str kept;     /* value of the header that was to be kept, or empty */
    const char *message; /* why rc is not 0; valid like the response */
};
typedef void egress_done_fn(void *ctx, const struct egress_response *r);

/* "" is right.  WOPR_E_CONFIG: not of the form "http://HOST:PORT". */
MUST_CHECK int egress_proxy_check(const char *url, struct wopr_error *err);
/* "" is right.  WOPR_E_CONFIG: it cannot be read, or holds no certificate in PEM. */
MUST_CHECK int egress_ca_check(const char *file, struct wopr_error *err);
/* cfg is copied.  start makes the thread that all transfers run on.  stats: any thread. */
MUST_CHECK int egress_new(const struct egress_config *cfg, struct egress **out,
                          struct wopr_error *err);
void egress_start(struct egress *e); /* requests are taken; the first one starts the thread */
/* Ends all transfers with CLOSED (done is called for each), joins the thread. */
void egress_stop(struct egress *e);
void egress_free(struct egress *e); /* stops when needed; takes NULL */
/* Copies the request.  0: done is called exactly once, with a response that is valid during the
 * call.  Otherwise (VALIDATION: the URL, a header; UNAVAILABLE, CLOSED, TOO_BIG, NO_MEMORY) never.
 */
MUST_CHECK int egress_submit(struct egress *e, const struct egress_request *req,
                             egress_done_fn *done, void *ctx, struct wopr_error *err);
/* Any thread; a request that has ended meanwhile is left alone.  Cancelled, it ends with CLOSED. */
void egress_cancel(struct egress *e, uint64_t id);
void egress_continue(struct egress *e, uint64_t id); /* offer the piece again that had to wait */
const struct egress_allow *egress_allowed(const struct egress *e);
struct egress_stats {
    uint64_t started, answered, refused, failed, active, queued;
    uint64_t redirects;  /* followed */
    uint64_t peers_full; /* hosts at which every place is taken */
    struct {
        uint64_t answered, failed;
    } by_caller[EGRESS_CALLERS_END];
};
void egress_stats(struct egress *e, struct egress_stats *out);

#endif
