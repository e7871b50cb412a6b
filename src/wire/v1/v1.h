/*
 * v1.h: the OpenWOP 1.0 wire adapter.  Layer: wire/v1.  Requests -> neutral commands, neutral
 * results -> bytes; one file per resource. Knows every wire name and code of major 1; no SQL, no
 * sockets.
 */
#ifndef WOPR_WIRE_V1_H
#define WOPR_WIRE_V1_H

#include "audit/audit.h"
#include "domain/types.h"
#include "engine/engine.h"
#include "http/http.h"
#include "store/runs.h"

struct rail;
struct v1_config {
    const char *version, *vendor; /* implementation {name "wopr", version, vendor} */
    struct run_limits limits;
    const char *const *runtime_capabilities; /* NULL-terminated */
    bool conformance;
    int64_t idem_retention_s, max_run_duration_sec;
    size_t body_max;
    int64_t ticket_lifetime_ms;
    int64_t interrupt_token_ms; /* life of a token whose interrupt has no deadline (INT-37) */
    bool interrupt_callbacks;   /* tokens also for other kinds than external events (INT-13) */
    int64_t external_event_retention_s; /* how long a repeated event is recognised (INT-32) */
    bool cascade;                       /* cancelling a parent cancels its children (INT-44) */
    bool interrupt_auth_required; /* every interrupt needs a bearer (INT-39): no tokens at all */
    const struct wf_env *env;     /* what definitions are compiled with; lives as long as v1 */
    struct wf_types types;        /* what is known of node types (domain/types.h) */
    int64_t workflow_bytes_max;   /* definitions of a tenant with their versions; 0 = no bound */
    int64_t pack_bytes_max;       /* packs that a tenant has published; 0 = no bound */
    const char *const *mcp_urls;  /* MCP servers that nodes may use, NULL-terminated; NULL: none */
    const char *ai_policy_code; /* of a denial by a policy of AI providers; NULL: there are none */
    bool secrets;               /* runs may use stored credentials (CAP-19) */
    bool client_certificates;   /* are needed beside credentials (AUTH-22) */
    struct hooks *hooks;        /* NULL = webhooks are off */
    int64_t webhooks_max;       /* of a tenant */
    const struct audit *audit;  /* NULL = no audit log is kept */
    int64_t audit_entries, audit_s;     /* intervals of its checkpoints (AUD-10) */
    const struct http_issuers *issuers; /* NULL = tokens of others are not taken */
    bool traces;                        /* spans of runs are exported */
    bool conversations;                 /* CONV-1 */
    bool ui;                            /* browsers that ask for / are sent to the dashboard */
    struct sandbox_limits wasm;         /* of modules of packs; workers 0: none is executed */
    bool memory;                        /* a node type here uses long-term memory */
    int64_t memory_entry_max;           /* bytes of the content of an entry */
    int64_t debug_bundle_max;           /* bytes of one; 0 = none are given */
    const char *const *model_classes;   /* of AgentRef, that providers here were named for (AGT-13),
                                         * NULL-terminated; NULL: none are advertised */
    bool mcp;                           /* POST /v1/mcp answers */
    struct rail *rail;                  /* sessions of agents that are led */
    bool sessions;                      /* its tools are offered over MCP: they can be started */
    const char *rail_version;           /* of this program, as bundles name it; lives as long */
    const char *const
        *fixtures; /* advertised fixture ids: seeded and executable here (CAP-23, FIX-3) */
};
struct v1;
/* cfg is copied; engine and journal are borrowed until v1_free.  NO_MEMORY. */
MUST_CHECK int v1_new(const struct v1_config *cfg, struct engine *engine, struct journal *journal,
                      struct v1 **out, struct wopr_error *err);
void v1_free(struct v1 *v);
/* For http_server_new: the operation table and the spelling of major 1; lives as long as v.  Mount
 * it first: it also answers "/", "/.well-known/openwop" and paths under no prefix. */
const struct http_mount *v1_mount(const struct v1 *v);

/* Where other layers add what they offer over MCP, before the server starts (mcp/server.h); NULL:
 * cfg.mcp is false. */
struct mcp_server;
struct mcp_server *v1_mcp(struct v1 *v);
/* What this layer offers, into any server: to be described. */
MUST_CHECK int v1_mcp_offer(struct mcp_server *s, struct wopr_error *err);

/* The visible part of an open question for the callback URL of its run (RUN-1), a JSON object in a.
 * answers: whoever named that URL may have a token, where one is due (INT-13, RUN-12).  base: of
 * URLs, or empty.  NO_MEMORY, and what the store returns. */
struct interrupt_row;
MUST_CHECK int v1_question_render(struct v1 *v, const struct interrupt_row *row, bool answers,
                                  struct str base, struct arena *a, struct str *out,
                                  struct wopr_error *err);

/* What became of workflows that were put, deleted and checked over the wire; from any thread. */
enum v1_workflow_event {
    WORKFLOW_CREATED,
    WORKFLOW_UPDATED,
    WORKFLOW_UNCHANGED,
    WORKFLOW_CONFLICT, /* another revision is stored */
    WORKFLOW_REFUSED,  /* its errors, its id, the quota, a failed write */
    WORKFLOW_DELETED,
    WORKFLOW_CHECKED_GOOD,
    WORKFLOW_CHECKED_BAD, /* has errors */
    WORKFLOW_EVENTS_NR
};
/* Since the start; from any thread. */
void v1_workflow_stats(const struct v1 *v, uint64_t out[WORKFLOW_EVENTS_NR]);

/* Rendering, also used by the command line (wopr runs show, wopr tail --json). */
void v1_event_render(struct str run_id, const struct event *e,
                     struct buf *out); /* RunEventDoc, fixed key order (STORE-7) */
/* RunSnapshot.  at_seq >= 0 adds atSeq (SSE-17). */
MUST_CHECK int v1_snapshot_render(const struct run_view *v, int64_t at_seq, int64_t now_ms,
                                  struct buf *out, struct wopr_error *err);
/* Fill view->interrupt, what a waiting run of the store waits for (INT-13), in a; never a token. */
MUST_CHECK int v1_interrupt_of(struct store *s, struct run_view *view, struct arena *a,
                               struct wopr_error *err);
/* The debug bundle of a run (S:DB), at most bytes_max bytes.  view: of the store, with no interrupt
 * filled in.  NO_MEMORY, CORRUPT, and what reading the log returns. */
struct v1_bundle {
    struct store *store;
    const struct run_view *view;
    size_t bytes_max;
    struct str host; /* raw {"name","version","vendor"?}, as in discovery (CAP-11) */
};
/* Append the document.  TOO_BIG beyond bytes_max. */
MUST_CHECK int v1_bundle_render(const struct v1_bundle *of, int64_t now_ms, struct buf *out,
                                struct wopr_error *err);
/* The view of a folded state, equal to what the store shows for the same log (EVT-41); texts are
 * borrowed from s and o or allocated in a. */
MUST_CHECK int v1_view_of_state(const struct run_state *s, const struct run_origin *o,
                                int64_t now_ms, struct arena *a, struct run_view *out,
                                struct wopr_error *err);
/* Status and wire code of a neutral error (the one table, ERR-3). */
int v1_status_of(int code);
const char *v1_code_of(int code);

#endif
