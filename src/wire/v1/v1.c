/*
 * v1.c: the operation table of major 1 (D7) and the life of the adapter.
 */
#include "base/mem.h"
#include "wire/v1/wire_int.h"

enum {
    DOCUMENTS_MAX = 8 * 1024 * 1024
}; /* arena: configuration, discovery and OpenAPI documents */

/* body_max BODY_CONFIGURED stands for v1_config.body_max. */
#define BODY_CONFIGURED SIZE_MAX

/* Operation ids are those of api/openapi.yaml; routes of later work are absent and answer 404 by
 * the router. */
static const struct http_op OPERATIONS[] = {
    {"getIndex", "GET", "/", 0, OP_PUBLIC | OP_HEAD | OP_ADDRESS_LIMIT, 0, v1_get_index},
    {"getCapabilities", "GET", "/.well-known/openwop", 0, OP_PUBLIC | OP_HEAD | OP_ADDRESS_LIMIT, 0,
     v1_get_capabilities},
    {"getOpenApiSpec", "GET", "/v1/openapi.json", 0, OP_PUBLIC | OP_HEAD | OP_ADDRESS_LIMIT, 0,
     v1_get_openapi},
    {"getWorkflow", "GET", "/v1/workflows/{workflowId}", SCOPE_MANIFEST_READ, 0, 0,
     v1_get_workflow},
    {"createRun", "POST", "/v1/runs", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, BODY_CONFIGURED,
     v1_create_run},
    {"listRuns", "GET", "/v1/runs", SCOPE_RUNS_READ, 0, 0, v1_list_runs},
    {"getRun", "GET", "/v1/runs/{runId}", SCOPE_RUNS_READ, 0, 0, v1_get_run},
    {"streamRunEvents", "GET", "/v1/runs/{runId}/events", SCOPE_RUNS_READ, OP_TICKET, 0,
     v1_stream_events},
    {"pollRunEvents", "GET", "/v1/runs/{runId}/events/poll", SCOPE_RUNS_READ, 0, 0, v1_poll_events},
    {"cancelRun", "POST", "/v1/runs/{runId}/cancel", SCOPE_RUNS_CANCEL,
     OP_IDEMPOTENT | OP_BODY_OPTIONAL, V1_BODY_SMALL, v1_cancel_run},
    {"cancelRunAlias", "POST", "/v1/runs/{runId}:cancel", SCOPE_RUNS_CANCEL,
     OP_IDEMPOTENT | OP_BODY_OPTIONAL, V1_BODY_SMALL, v1_cancel_run}, /* CON-25 */
    {"pauseRun", "POST", "/v1/runs/{runId}:pause", SCOPE_RUNS_CANCEL,
     OP_IDEMPOTENT | OP_BODY_OPTIONAL, V1_BODY_SMALL, v1_pause_run},
    {"resumeRun", "POST", "/v1/runs/{runId}:resume", SCOPE_RUNS_CANCEL,
     OP_IDEMPOTENT | OP_BODY_OPTIONAL, V1_BODY_SMALL, v1_resume_run},
    {"forkRun", "POST", "/v1/runs/{runId}:fork", SCOPE_RUNS_CREATE | SCOPE_RUNS_READ, OP_IDEMPOTENT,
     BODY_CONFIGURED, v1_fork_run},
    {"getArtifact", "GET", "/v1/runs/{runId}/artifacts/{artifactId}", SCOPE_ARTIFACTS_READ, 0, 0,
     v1_get_artifact},
    {"resolveInterruptByRun", "POST", "/v1/runs/{runId}/interrupts/{nodeId}",
     SCOPE_APPROVALS_RESPOND, OP_IDEMPOTENT, BODY_CONFIGURED, v1_resolve_by_run},
    {"resolveApprovalAlias", "POST", "/v1/runs/{runId}/approvals/{nodeId}", SCOPE_APPROVALS_RESPOND,
     OP_IDEMPOTENT, BODY_CONFIGURED, v1_resolve_by_alias}, /* CON-9 */
    {"inspectInterruptByToken", "GET", "/v1/interrupts/{token}", 0,
     OP_PUBLIC | OP_TOKEN | OP_ADDRESS_LIMIT, 0, v1_inspect_by_token},
    {"resolveInterruptByToken", "POST", "/v1/interrupts/{token}", 0,
     OP_PUBLIC | OP_TOKEN | OP_ADDRESS_LIMIT | OP_IDEMPOTENT, BODY_CONFIGURED, v1_resolve_by_token},
    {"listInterrupts", "GET", "/v1/host/wopr/interrupts", SCOPE_RUNS_READ, 0, 0,
     v1_list_interrupts},
    /* Changes nothing in the host, hence no idempotency key. */
    {"mintStreamTicket", "POST", "/v1/host/wopr/runs/{runId}/stream-ticket", SCOPE_RUNS_READ,
     OP_BODY_OPTIONAL, V1_BODY_SMALL, v1_mint_ticket},
};

const struct http_op *v1_operations(size_t *n) {
    *n = sizeof OPERATIONS / sizeof OPERATIONS[0];
    return OPERATIONS;
}

/* On every answer below /v1 (D3). */
static const struct http_param HEADERS[] = {
    {{"OpenWOP-Version", sizeof "OpenWOP-Version" - 1},
     {V1_PROTOCOL_VERSION, sizeof V1_PROTOCOL_VERSION - 1}}};
static const char CORS_EXPOSE[] =
    "OpenWOP-Version, openwop-Idempotent-Replay, Retry-After, Capabilities-Etag, ETag, "
    "traceparent, WWW-Authenticate, X-Request-Id, Allow";
static const char CORS_ALLOW[] =
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, OpenWOP-Version, X-Dedup, "
    "X-Force-Engine-Version, traceparent, tracestate, If-None-Match";

static int table_build(struct v1 *v, struct wopr_error *err) {
    size_t n;
    const struct http_op *from = v1_operations(&n);
    struct http_op *ops = ARENA_ARRAY(v->arena, struct http_op, n);
    if (!ops) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the operation table");
    for (size_t i = 0; i < n; i++) {
        ops[i] = from[i];
        if (ops[i].body_max == BODY_CONFIGURED) ops[i].body_max = v->cfg.body_max;
    }
    v->wire = (struct http_mount){.name = "v1",
                                  .prefix = "/v1",
                                  .ctx = v,
                                  .ops = ops,
                                  .ops_nr = n,
                                  .views_nr = 2 * (V1_MASKS - 1),
                                  .headers = HEADERS,
                                  .headers_nr = sizeof HEADERS / sizeof HEADERS[0],
                                  .version_header = "OpenWOP-Version",
                                  .replay_header = "openwop-Idempotent-Replay",
                                  .realm = "openwop",
                                  .cors_expose = CORS_EXPOSE,
                                  .cors_allow = CORS_ALLOW,
                                  .negotiate = v1_negotiate,
                                  .unknown_path = v1_unknown_path,
                                  .authorize = v1_authorize,
                                  .render_error = v1_render_error};
    return 0;
}

int v1_new(const struct v1_config *cfg, struct engine *engine, struct journal *journal,
           struct v1 **out, struct wopr_error *err) {
    struct arena *arena = arena_new(DOCUMENTS_MAX);
    struct v1 *v = arena ? ARENA_NEW(arena, struct v1) : NULL;
    int rc = WOPR_E_NO_MEMORY;
    if (!v) {
        wopr_error_set(err, rc, "no memory for the wire adapter");
        goto fail;
    }
    *v = (struct v1){.arena = arena, .cfg = *cfg, .engine = engine, .journal = journal};
    v->store = journal ? journal_store(journal) : NULL;
    if (v->cfg.body_max == 0) v->cfg.body_max = JSON_LIMITS_DEFAULT.bytes_max;
    rc = table_build(v, err);
    if (rc != 0) goto fail;
    rc = v1_discovery_build(v, err);
    if (rc != 0) goto fail;
    rc = v1_openapi_build(v, err);
    if (rc != 0) goto fail;
    /* Texts of the caller are in the documents by now and are not kept. */
    v->cfg.version = v->cfg.vendor = NULL;
    v->cfg.runtime_capabilities = v->cfg.fixtures = NULL;
    *out = v;
    return 0;
fail:
    arena_free(arena);
    return rc;
}

void v1_free(struct v1 *v) {
    if (v) arena_free(v->arena);
}

const struct http_mount *v1_mount(const struct v1 *v) { return &v->wire; }
