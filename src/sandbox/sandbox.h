/*
 * sandbox.h: modules of strangers, executed in processes of their own.  Layer: sandbox.
 *
 * The host keeps modules by their digest, the bytes of those that were used last, and a few workers
 * ("wopr wasm-worker", worker/worker.h), which it believes nothing: what they send is bounded and
 * checked, one that is late, silent or wrong is killed, and only its own invocation fails.  One
 * worker serves one tenant; for the next one it is replaced.  Tenants take turns.
 *
 * Threads: everything may be called from any; done comes from a thread of the sandbox and must only
 * queue.
 */
#ifndef WOPR_SANDBOX_SANDBOX_H
#define WOPR_SANDBOX_SANDBOX_H

#include "base/buf.h"

#define SANDBOX_MODULE_MAX  (16u * 1024 * 1024) /* bytes of a module */
#define SANDBOX_BYTES_MAX   (64u * 1024 * 1024) /* of all modules, but for those being sent */
#define SANDBOX_MESSAGE_MAX (4u * 1024 * 1024)
#define SANDBOX_DIGEST      64u /* hexadecimal digits of a SHA-256 */
#define SANDBOX_MEMORY_MIN  (1024u * 1024)

struct sandbox;
struct sandbox_config {
    const char *program; /* path of the wopr program that workers execute */
    unsigned workers; /* at once, of one tenant; 0: one for each core, 16 at most.  Of all tenants
                          * together twice as many */
    uint64_t memory_max; /* bytes of linear memory of any module; 0: 128 MiB (WASM-1) */
    int time_ms_max;     /* of one invocation, of a processor; 0: 30000 */
};
struct sandbox_limits {
    uint64_t memory_max;
    int time_ms_max;
    unsigned workers;
};
/* Starts nothing yet: the first request does.  cfg is copied.  NO_MEMORY. */
MUST_CHECK int sandbox_new(const struct sandbox_config *cfg, struct sandbox **out,
                           struct wopr_error *err);
/* Ends all requests with CLOSED, kills the workers, joins the threads.  Takes NULL. */
void sandbox_stop(struct sandbox *s);
void sandbox_free(struct sandbox *s); /* stops when needed; takes NULL */
struct sandbox_limits sandbox_limits(const struct sandbox *s);
extern const char SANDBOX_ENGINE[], SANDBOX_ENGINE_VERSION[]; /* for discovery (WASM-1) */

/* Keep a module (bytes are copied) until as many sandbox_drop: TOO_BIG, NO_MEMORY. */
MUST_CHECK int sandbox_keep(struct sandbox *s, struct str bytes, char digest[SANDBOX_DIGEST + 1],
                            struct wopr_error *err);
void sandbox_drop(struct sandbox *s, const char *digest);
/* Where the bytes of a module that is kept are read again; appended to out, whose maximum is
 * SANDBOX_MODULE_MAX.  Called by a thread of the sandbox, one call at a time; it may block for the
 * read, and must not wait for a request to this sandbox.  A code that passes (wopr_err_passes)
 * fails the request as UNAVAILABLE, any other one for good; err->message says what to do. */
typedef int sandbox_source_fn(void *ctx, const char *digest, struct buf *out,
                              struct wopr_error *err);
/* With a source, modules that are not being sent to a worker give their bytes up, the least
 * recently used first, so that all together have at most SANDBOX_BYTES_MAX.  Without one (NULL) all
 * stay.  Waits for a read under way; no request may need the bytes of a module afterwards, unless
 * another source is set. */
void sandbox_source(struct sandbox *s, sandbox_source_fn *fn, void *ctx);

struct sandbox_request {
    struct str tenant;
    struct str module; /* digest of a module that is kept */
    struct str node;   /* its type id; empty: only load it, and say what it is */
    struct str message;
    uint64_t memory_max; /* bytes; 0, or more than there is: as configured */
    int time_ms;         /* the same */
    uint64_t *id;        /* set before any callback, for sandbox_cancel; or NULL */
};
struct sandbox_report {
    int rc;          /* 0: text is the report (worker/abi.h).  UNAVAILABLE: the worker died or lied,
             * or the source of the module has it another time; CLOSED: cancelled or stopping,
             * NO_MEMORY; without a node also what the source says of a module that it does not
             * have: with one, that is a report with outcome "failed" */
    struct str text; /* an object with "outcome"; valid during the callback */
    const char *message; /* why rc is not 0 */
    bool ended; /* UNAVAILABLE, because the worker ended while it had the request: the module ended
                 * it, or somebody who needed its memory */
    int64_t duration_ms; /* in a worker */
};
typedef void sandbox_done_fn(void *ctx, const struct sandbox_report *r);
/* Copies the request.  0: done is called exactly once.  Otherwise (UNAVAILABLE: too much waits,
 * TOO_BIG, CLOSED, NO_MEMORY) never. */
MUST_CHECK int sandbox_submit(struct sandbox *s, const struct sandbox_request *r,
                              sandbox_done_fn *done, void *ctx, struct wopr_error *err);
void sandbox_cancel(struct sandbox *s, uint64_t id);
/* The same, waited for: the report is appended to out.  Not for threads of the sandbox.  What
 * sandbox_submit returns, and what a report may say.  ended: see there; or NULL. */
MUST_CHECK int sandbox_ask(struct sandbox *s, const struct sandbox_request *r, struct buf *out,
                           bool *ended, struct wopr_error *err);

struct sandbox_stats {
    uint64_t invoked, failed; /* failed: without a report */
    uint64_t started, killed; /* workers */
    uint64_t waiting, active;
    uint64_t module_bytes; /* in memory */
    uint64_t modules_read; /* again, from the source */
};
void sandbox_stats(struct sandbox *s, struct sandbox_stats *out);

#endif
