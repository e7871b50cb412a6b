/*
 * wire_int.h: what the files of wire/v1 share.  Private to the layer (and its tests).
 * Handlers run on HTTP threads and never wait; a command's respond() and done() run on an engine
 * thread while the call is suspended, so a call is touched by one thread at a time.
 */
#ifndef WOPR_WIRE_V1_INT_H
#define WOPR_WIRE_V1_INT_H

#include "codec/json.h"
#include "store/interrupts.h"
#include "wire/common/body.h"
#include "wire/v1/operations.gen.h"
#include "wire/v1/v1.h"

#define V1_PROTOCOL_VERSION "1.0"
#define V1_BODY_SMALL       (64u * 1024) /* control bodies: cancel, :pause, :resume, ticket */
#define V1_BODY_CONFIGURED  SIZE_MAX     /* stands for v1_config.body_max */
#define V1_SNAPSHOT_MAX     (64u * 1024 * 1024) /* one rendered snapshot */
#define V1_POLL_EVENTS_MAX  10000u              /* SSE-40 */
#define V1_POLL_BYTES_MAX   (8u * 1024 * 1024)  /* SSE-40 */
#define V1_PAGE_EVENTS      500u                /* events per store read */
#define V1_BYTES_HERE       (128 * 1024)        /* a snapshot of a longer log does so too */
#define V1_EVENTS_HERE      200                 /* a read of more leaves the connection's thread */
#define V1_PAGE_BYTES       (1u * 1024 * 1024)
#define V1_ARENA_MAX        (64u * 1024 * 1024) /* fold, pages, one at a time per request */
#define V1_BUFFER_MS_MAX    5000u               /* SSE-31 */
#define V1_SCOPE_ID_CHARS   256u
#define V1_URL_BYTES        2048u
#define V1_REASON_BYTES     4096u
#define V1_LIST_DEFAULT     50u
#define V1_LIST_MAX         200u
#define V1_ID_CHARS         128u                  /* HTTP-5 */
#define V1_DISCOVERY_CACHE  "public, max-age=300" /* HTTP-16 */

struct v1 {
    struct arena *arena; /* everything below lives in it */
    struct v1_config cfg;
    struct engine *engine;
    struct journal *journal;
    struct store *store;
    struct http_mount wire;
    struct str discovery, discovery_etag, capabilities_etag; /* etags with their quotes */
    struct str openapi, openapi_etag;
};

/* --- operations.gen.c: from api/host/operations; handlers and bodies are in its header --- */
/* The operation table without per-host body limits; *n rows. */
const struct http_op *v1_operations(size_t *n);
struct str v1_openapi_text(void); /* the document of GET /v1/openapi.json, static */

/* --- call.c --- */
static inline struct v1 *v1_of(const struct http_call *c) { return c->wire_ctx; }
int v1_fail(struct http_call *c, const struct wopr_error *err); /* http_fail, HTTP_DONE */
/* Reply with a rendered buffer; takes its bytes (also on failure). Uses call->user: only for calls
 * that keep nothing there. */
int v1_reply_buf(struct http_call *c, int status, struct buf *b);
/* Head of the run named by {runId}: NOT_FOUND (also for over-long ids, foreign runs, and a ticket
 * for another run), EXPIRED, VERSION_MISMATCH (VER-3). */
MUST_CHECK int v1_call_run(struct http_call *c, struct run_head *out, struct wopr_error *err);
/* VER-3: a row of a newer engine is refused with its three details. */
MUST_CHECK int v1_head_check(const struct run_head *head, struct wopr_error *err);
/* Decimal digits within min..max, else VALIDATION with details {parameter, minimum, maximum}
 * (SSE-31). */
MUST_CHECK int v1_int_param(const struct http_call *c, const char *name, int64_t min, int64_t max,
                            int64_t absent, int64_t *out, struct wopr_error *err);
/* If-None-Match against a quoted etag: list, weak prefixes, "*". */
bool v1_etag_matches(struct str if_none_match, struct str etag);
/* A cached public document with its validators: 200, or 304 when the client has it (CAP-30). */
int v1_reply_document(struct http_call *c, struct str body, struct str etag,
                      const char *cache_control);
/* 32 hex digits of SHA-256 in quotes, in a; STR_NONE when memory is short. */
struct str v1_etag_of(struct str bytes, struct arena *a);

bool v1_callback_url_valid(struct str url); /* absolute http or https URI */

/* --- errors.c --- */
/* Pure: envelope of err appended to out.  correlation: request id, shown on 5xx (ERR-4). */
void v1_error_envelope(const struct wopr_error *err, struct str correlation, struct buf *out,
                       int *status, int *retry_after_s);
/* The same with the body in the call's arena (or static when that is exhausted). */
void v1_error_body(struct http_call *c, const struct wopr_error *err, int *status, struct str *body,
                   int *retry_after_s);
void v1_render_error(void *ctx, struct http_call *c, const struct wopr_error *err, int *status,
                     struct str *body, int *retry_after_s);

/* --- negotiate.c --- */
int v1_negotiate(void *ctx, struct str path, struct str version_header, struct wopr_error *err);
int v1_unknown_path(void *ctx, struct str path, struct wopr_error *err);

/* --- events.c --- */
enum { V1_UPDATES = 1, V1_MESSAGES = 2, V1_DEBUG = 4, V1_MASKS = 8 };
struct v1_mode {
    unsigned mask; /* V1_UPDATES | V1_MESSAGES | V1_DEBUG; 0 with values */
    bool values;
};
MUST_CHECK int v1_mode_parse(struct str text, struct v1_mode *out, struct wopr_error *err);
/* Last-Event-ID (or lastEventId): digits, or the id of an event below next_seq; VALIDATION names
 * the source (SSE-28). */
MUST_CHECK int v1_cursor_parse(struct str run_id, int64_t next_seq, struct str text, bool is_header,
                               int64_t *seq, struct wopr_error *err);
/* mask 1..7; element: bare JSON for batches, else whole frames. */
const struct journal_view *v1_view(unsigned mask, bool element);
/* {"events":[...],"isComplete":bool} from sequence `from`, bounded by SSE-40. */
MUST_CHECK int v1_events_json(struct v1 *v, const struct run_head *head, int64_t from,
                              struct buf *out, struct wopr_error *err);
/* JSON text on one line: raw line breaks (insignificant white space) from offset on become blanks
 * (SSE-9). */
void v1_one_line(struct buf *b, size_t offset);

/* --- accept.c --- */
/* application/json is named and text/event-stream is not (HTTP-20, SSE-3); q=0 is not named. */
bool v1_accept_json(struct str accept);

/* --- values.c: a run folded from its log --- */
struct v1_fold;
MUST_CHECK int v1_fold_new(struct v1 *v, int64_t run_no, struct v1_fold **out,
                           struct wopr_error *err);
void v1_fold_free(struct v1_fold *f);          /* takes NULL */
size_t v1_fold_bytes(const struct v1_fold *f); /* memory it has now */
/* Apply stored events up to and including seq, or to the end of the log: takes long for a long one.
 */
MUST_CHECK int v1_fold_to(struct v1_fold *f, int64_t seq, struct wopr_error *err);
int64_t v1_fold_seq(const struct v1_fold *f); /* last applied, -1 = none */
bool v1_fold_ended(const struct v1_fold *f);  /* the terminal event was applied */
/* Show nothing up to seq but one snapshot there, or at the end of a log that is shorter (SSE-27).
 */
void v1_fold_resume(struct v1_fold *f, int64_t seq);
/* http_stream.fold: state is a struct v1_fold; a frame state.snapshot for every V event (SSE-17).
 */
int v1_fold_event(void *state, const struct event *e, struct buf *out);

/* The definition a run was created with; a reference for the caller. */
MUST_CHECK int v1_workflow_of(struct v1 *v, const struct run_origin *o, struct arena *scratch,
                              struct workflow **out, struct wopr_error *err);

/* --- commands.c: the life of an engine command --- */
struct v1_cmd {
    struct engine_cmd cmd;
    struct http_call *call;
    struct str base_url;
    bool resume_bare; /* the body is the resume value itself (INT-16) */
};
/* Zeroed command of the call's principal with respond and done set; NULL when the arena is
 * exhausted. */
struct v1_cmd *v1_cmd_new(struct http_call *c, enum engine_op op);
/* After this nothing of the call may be touched by the handler: return the result. */
int v1_cmd_submit(struct v1_cmd *vc);
bool v1_cmd_respond(struct engine_cmd *cmd, const struct engine_result *r,
                    struct idem_response *out);

/* --- interrupt_token.c: the surface without a credential (INT-35 to INT-40) --- */
/* http_mount.authorize: the token's own checks, then its interrupt, in c->user for the handler;
 * INTERRUPT_NOT_FOUND, INTERRUPT_EXPIRED, FORBIDDEN (INT-40). */
int v1_authorize(void *ctx, struct http_call *c, struct wopr_error *err);
/* May a token open this interrupt?  False for the auth-required profile (INT-40) and for
 * interrupts that name their approvers, of which a token is none (INT-27). */
MUST_CHECK int v1_token_allowed(struct v1 *v, const struct interrupt_row *row, struct arena *a,
                                bool *out, struct wopr_error *err);
/* A fresh token for an open interrupt, in a. */
MUST_CHECK int v1_token_mint(struct v1 *v, const struct interrupt_row *row, int64_t now_ms,
                             struct arena *a, struct str *out, struct wopr_error *err);
/* 0 while it is open; else why it cannot be answered: INTERRUPT_RESOLVED, _EXPIRED, _CANCELLED,
 * _GONE. */
MUST_CHECK int v1_interrupt_open(const struct interrupt_row *row, struct wopr_error *err);

/* --- interrupt_view.c: the snapshot's member (INT-13) --- */
struct v1_interrupt_view {
    struct str interrupt_id, node_id, kind, key;
    int64_t requested_ms, expires_ms; /* 0 = no deadline */
    struct str token, base_url;       /* empty: neither token nor callback URL is shown */
};
/* Raw object for run_view.interrupt, in a. */
MUST_CHECK int v1_interrupt_render(const struct v1_interrupt_view *i, struct arena *a,
                                   struct str *out, struct wopr_error *err);
/* Of a stored run that waits: fills view->interrupt (empty when it waits for a child).  c: who
 * asks; tokens go to those who may respond (RUN-12). */
MUST_CHECK int v1_interrupt_show(struct http_call *c, struct run_view *view,
                                 struct wopr_error *err);
/* --- fork.c --- */
/* fork_mode, fork_from and overlay of cmd out of the checked body (RUN-31): VALIDATION. */
MUST_CHECK int v1_fork_parse(struct str body, struct arena *a, struct engine_cmd *cmd,
                             struct wopr_error *err);
void v1_fork_accepted(struct jw *w, const struct v1_cmd *vc, const struct engine_result *r);
/* "fork":{"sourceRunId","fromSeq","mode"} of a fork, nothing for other runs. */
void v1_fork_member(struct jw *w, const struct run_fork *f);

/* --- snapshot.c --- */
const char *v1_status_shown(enum run_status s); /* cancelling shows as running (D35) */
void v1_time_member(struct jw *w, const char *key, int64_t ms); /* omitted when 0 */

/* --- discovery.c, openapi.c --- */
MUST_CHECK int v1_discovery_build(struct v1 *v, struct wopr_error *err);
MUST_CHECK int v1_openapi_build(struct v1 *v, struct wopr_error *err);
struct v1_force_range {
    int32_t min, max;
};
struct v1_force_range v1_force_range(void); /* VER-10 */

#endif
