/*
 * v1.c: makes and frees the adapter.
 */
#include "base/mem.h"
#include "packs/registry.h"
#include "wire/common/interrupt_token.h"
#include "wire/v1/mcp.h"
#include "wire/v1/wire_int.h"

enum {
    DOCUMENTS_MAX = 8 * 1024 * 1024
}; /* arena: configuration, discovery and OpenAPI documents */

/* On every answer below /v1 (D3). */
static const struct http_param HEADERS[] = {
    {{"OpenWOP-Version", sizeof "OpenWOP-Version" - 1},
     {V1_PROTOCOL_VERSION, sizeof V1_PROTOCOL_VERSION - 1}}};
static const char CORS_EXPOSE[] =
    "OpenWOP-Version, openwop-Idempotent-Replay, Retry-After, Capabilities-Etag, ETag, "
    "traceparent, WWW-Authenticate, X-Request-Id, Allow";
static const char CORS_ALLOW[] =
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, OpenWOP-Version, X-Dedup, "
    "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, "
    "X-Force-Engine-Version, X-Pack-Sha256, X-Pack-Signing-Method, X-Pack-Signature, "
    "X-Pack-Public-Key, "
    "traceparent, tracestate, If-None-Match";

static int table_build(struct v1 *v, struct wopr_error *err) {
    size_t n;
    const struct http_op *from = v1_operations(&n);
    struct http_op *ops = ARENA_ARRAY(v->arena, struct http_op, n);
    if (!ops) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the operation table");
    for (size_t i = 0; i < n; i++) {
        ops[i] = from[i];
        if (ops[i].body_max == WIRE_BODY_CONFIGURED) ops[i].body_max = v->cfg.body_max;
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
                                  .authorize = wire_token_authorize,
                                  .render_error = v1_render_error};
    return 0;
}

struct mcp_server *v1_mcp(struct v1 *v) {
    return v->mcp;
}

int v1_mcp_offer(struct mcp_server *s, struct wopr_error *err) {
    return mcp_server_add(s, &V1_MCP_RUNS, err);
}

static int mcp_build(struct v1 *v, struct wopr_error *err) {
    if (!v->cfg.mcp) return 0;
    const char *version = arena_cstr(v->arena, str_c(v->cfg.version ? v->cfg.version : "0"));
    if (!version) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the tools of MCP");
    const struct mcp_about about = {.name = "wopr", .title = "WOPR", .version = version};
    int rc = mcp_server_new(&about, &v->mcp, err);
    if (rc == 0) rc = v1_mcp_offer(v->mcp, err);
    if (rc == 0 && v->cfg.conformance) rc = mcp_server_add(v->mcp, &V1_MCP_FIXTURES, err);
    return rc;
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
    *v = (struct v1){.arena = arena, .cfg = *cfg, .journal = journal, .registry = registry_new()};
    if (!v->registry) {
        wopr_error_set(err, rc, "no memory for the wire adapter");
        goto fail;
    }
    v->shared = (struct wire){.engine = engine,
                              .store = journal ? journal_store(journal) : NULL,
                              .limits = cfg->limits,
                              .audit = cfg->audit != NULL,
                              .interrupt_token_ms = cfg->interrupt_token_ms,
                              .interrupt_callbacks = cfg->interrupt_callbacks,
                              .interrupt_auth_required = cfg->interrupt_auth_required};
    if (v->cfg.body_max == 0) v->cfg.body_max = JSON_LIMITS_DEFAULT.bytes_max;
    rc = table_build(v, err);
    if (rc != 0) goto fail;
    rc = v1_discovery_build(v, err);
    if (rc != 0) goto fail;
    rc = v1_openapi_build(v, err);
    if (rc != 0) goto fail;
    rc = mcp_build(v, err);
    if (rc != 0) goto fail;
    /* The documents hold copies by now; the caller may free these texts. */
    v->implementation = arena_str(arena, json_get(v->discovery, "implementation"));
    v->cfg.version = v->cfg.vendor = NULL;
    v->cfg.runtime_capabilities = v->cfg.fixtures = NULL;
    *out = v;
    return 0;
fail:
    if (v) registry_free(v->registry), mcp_server_free(v->mcp);
    arena_free(arena);
    return rc;
}

void v1_free(struct v1 *v) {
    if (!v) return;
    mcp_server_free(v->mcp);
    registry_free(v->registry);
    arena_free(v->arena);
}

void v1_workflow_stats(const struct v1 *v, uint64_t out[WORKFLOW_EVENTS_NR]) {
    for (int i = 0; i < WORKFLOW_EVENTS_NR; i++)
        out[i] = atomic_load_explicit(&v->workflows[i], memory_order_relaxed);
}

const struct http_mount *v1_mount(const struct v1 *v) { return &v->wire; }
