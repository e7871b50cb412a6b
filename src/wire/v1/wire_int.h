/*
 * wire_int.h: what the files of wire/v1 share.  Private to the folder and its tests.  Threads: as
 * wire/common/wire.h says.
 */
#ifndef WOPR_WIRE_V1_INT_H
#define WOPR_WIRE_V1_INT_H

#include "codec/json.h"
#include "domain/lint.h"
#include "store/interrupts.h"
#include "wire/common/body.h"
#include "wire/common/command.h"
#include "wire/common/fold.h"
#include "wire/common/handler.h"
#include "wire/common/interrupt.h"
#include "wire/v1/operations.gen.h"
#include "wire/v1/v1.h"

#include <stdatomic.h>

#define V1_PROTOCOL_VERSION "1.0"
#define V1_POLL_EVENTS_MAX  10000u             /* SSE-40 */
#define V1_POLL_BYTES_MAX   (8u * 1024 * 1024) /* SSE-40 */
#define V1_BYTES_HERE       (128 * 1024)       /* a snapshot of a longer log is offloaded */
#define V1_EVENTS_HERE      200                /* a read of more events is offloaded */
#define V1_BUFFER_MS_MAX    5000u              /* SSE-31 */
#define V1_SCOPE_ID_CHARS   256u
#define V1_REASON_BYTES     4096u
#define V1_LIST_DEFAULT     50u
#define V1_LIST_MAX         200u
#define V1_DISCOVERY_CACHE  "public, max-age=300" /* HTTP-16 */

struct v1 {
    struct wire shared;  /* first: see wire_of() */
    struct arena *arena; /* everything below lives in it */
    struct v1_config cfg;
    struct journal *journal;
    struct registry *registry; /* of packs; owned */
    struct http_mount wire;
    struct mcp_server *mcp; /* owned; NULL: off */
    struct str discovery, discovery_etag, capabilities_etag; /* etags with their quotes */
    struct str openapi, openapi_etag;
    struct str implementation; /* raw member of the discovery document */
    atomic_uint_fast64_t workflows[WORKFLOW_EVENTS_NR];
};

static inline struct v1 *v1_of(const struct http_call *c) { return c->wire_ctx; }

static inline void v1_count_workflow(const struct http_call *c, enum v1_workflow_event e) {
    atomic_fetch_add_explicit(&v1_of(c)->workflows[e], 1, memory_order_relaxed);
}

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
/* "updates", "values,messages"; the message names a word that is none. */
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

/* --- values.c --- */
/* A whole frame state.snapshot (wire_fold_frame). */
int v1_values_frame(const struct run_state *s, const struct run_origin *o,
                    const struct wire_children *children, struct arena *scratch, struct buf *out);

/* --- commands.c --- */
extern const struct wire_spelling V1_SPELLING;

/* --- worker_types.c: members of the bodies of workers --- */
/* Types of workers of the caller as "after" and "limit" ask: the first *n of them; more than those
 * in *l: there is another page. */
struct worker_type_list;
MUST_CHECK int v1_worker_types_page(struct http_call *c, struct worker_type_list *l, size_t *n,
                                    struct wopr_error *err);
/* A member of whole digits within min..max; absent: as it is not there.  VALIDATION names it. */
MUST_CHECK int v1_int_member(struct str raw, const char *name, int64_t min, int64_t max,
                             int64_t absent, int64_t *out, struct wopr_error *err);
MUST_CHECK int v1_text_member(struct str text, const char *name, size_t max,
                              struct wopr_error *err);

/* --- task_says.c --- */
void v1_task_said(struct jw *w, const struct engine_cmd *cmd, const struct engine_result *r);

/* --- interrupt_view.c: the snapshot's member (INT-13) --- */
/* Raw object for run_view.interrupt, in a. */
MUST_CHECK int v1_interrupt_render(const struct wire_interrupt *i, struct arena *a, struct str *out,
                                   struct wopr_error *err);
/* Fill view->interrupt of a stored run that waits (empty when it waits for a child), with a token
 * if the caller may respond (RUN-12). */
MUST_CHECK int v1_interrupt_show(struct http_call *c, struct run_view *view,
                                 struct wopr_error *err);
/* --- fork.c --- */
/* Fill fork_mode, fork_from and overlay of cmd from the checked body (RUN-31): VALIDATION. */
MUST_CHECK int v1_fork_parse(struct str body, struct arena *a, struct engine_cmd *cmd,
                             struct wopr_error *err);
void v1_fork_accepted(struct jw *w, const struct wire_cmd *wc, const struct engine_result *r);
/* "fork":{"sourceRunId","fromSeq","mode"} of a fork, nothing for other runs. */
void v1_fork_member(struct jw *w, const struct run_fork *f);

/* --- snapshot.c --- */
const char *v1_status_shown(enum run_status s); /* cancelling shows as running (D35) */
void v1_time_member(struct jw *w, const char *key, int64_t ms); /* omitted when 0 */
/* "nodeStates", "variables" and, if there are and they are asked for, "channels". */
MUST_CHECK int v1_state_members(struct jw *w, const struct run_view *v, bool channels,
                                struct wopr_error *err);
void v1_error_member(struct jw *w, struct str error, bool details);

/* --- workflows.c --- */
/* A text in another language becomes the definition that it compiles to (WS-98), which takes too
 * long for a connection's thread; others stay.  NO_MEMORY, VALIDATION. */
MUST_CHECK int v1_definition_shown(struct http_call *c, struct str *text, struct wopr_error *err);

/* --- workflow_check.c --- */
struct v1_findings {
    struct lint_summary sum; /* wf is NULL when the compiler refuses the definition */
    struct buf text;         /* raw array of all findings */
    struct jw w;
    struct jobj refusal; /* details of an error: the first errors */
    unsigned fields;
};
/* All there is to say of a definition; end it with v1_findings_free.  TOO_BIG, NO_MEMORY. */
MUST_CHECK int v1_definition_check(struct http_call *c, struct str text, struct v1_findings *out,
                                   struct wopr_error *err);
void v1_findings_free(struct v1_findings *f);
/* VALIDATION with fields.  check: the path that tells all of them. */
int v1_findings_refuse(struct v1_findings *f, const char *check, struct wopr_error *err);
/* Around a checker that adds its findings, a lint_fn with a struct v1_findings.  end: rc, or
 * NO_MEMORY; unless it is 0, f has been freed. */
void v1_findings_begin(struct v1_findings *f);
void v1_finding_add(void *ctx, const struct lint_finding *f);
MUST_CHECK int v1_findings_end(struct v1_findings *f, int rc, struct wopr_error *err);

/* --- agents.c --- */
struct agent_judgement;
/* All there is to say of the definition of an agent; end it with v1_findings_free.  NO_MEMORY. */
MUST_CHECK int v1_agent_check(struct http_call *c, struct str text, struct v1_findings *out,
                              struct agent_judgement *sum, struct wopr_error *err);

/* --- discovery.c, openapi.c --- */
MUST_CHECK int v1_discovery_build(struct v1 *v, struct wopr_error *err);
MUST_CHECK int v1_openapi_build(struct v1 *v, struct wopr_error *err);
/* --- packs.c --- */
struct pack_release;
void v1_pack_time(struct jw *w, const char *key, int64_t ms);
/* The {name} of a path.  PACK_NAME. */
MUST_CHECK int v1_pack_name(struct http_call *c, struct str *name, struct wopr_error *err);
/* The version of a {file} that is a tarball.  PACK_VERSION. */
MUST_CHECK int v1_pack_tarball_of(struct http_call *c, struct str *version, struct wopr_error *err);
int v1_pack_version_reply(struct http_call *c, int status, const struct pack_release *r);
int v1_pack_keychain_reply(struct http_call *c, struct str name);
struct v1_force_range {
    int32_t min, max;
};
struct v1_force_range v1_force_range(void); /* VER-10 */

#endif
