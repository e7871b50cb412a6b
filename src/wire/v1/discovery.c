/*
 * discovery.c: GET / and GET /.well-known/openwop (CAP-1 to CAP-48).  One row per member; the
 * document is built once, in v1_new.  It advertises only what this build does: a row is added
 * together with its feature.
 */
#include "domain/agent_manifest.h"
#include "http/assets.h"
#include "mcp/era.h"
#include "packs/judge.h"
#include "store/agents.h"
#include "wire/v1/wire_int.h"
#include "workspec/parse.h"

enum { DISCOVERY_MAX = 1024 * 1024, ACK_TIMEOUT_S = 10, LAYER2_SECONDS = 14 * 86400 };

static void string_list(struct jw *w, const char *const *v) {
    jw_array(w);
    for (; v && *v; v++) jw_strz(w, *v);
    jw_end_array(w);
}

static void put_protocol(const struct v1_config *c, struct jw *w) {
    (void)c;
    jw_strz(w, V1_PROTOCOL_VERSION);
}

static void put_implementation(const struct v1_config *c, struct jw *w) {
    jw_object(w);
    jw_kstrz(w, "name", "wopr");
    jw_kstrz(w, "version", c->version ? c->version : "0");
    jw_kstrz(w, "vendor", c->vendor ? c->vendor : "wopr");
    jw_end_object(w);
}

static void put_engine(const struct v1_config *c, struct jw *w) {
    (void)c;
    jw_int(w, CURRENT_ENGINE_VERSION);
}

static void put_era(const struct v1_config *c, struct jw *w) {
    (void)c;
    jw_int(w, EVENT_LOG_SCHEMA_VERSION);
}

static void put_transports(const struct v1_config *c, struct jw *w) {
    static const char *const REST[] = {"rest", NULL};
    (void)c;
    string_list(w, REST);
}

static void put_envelopes(const struct v1_config *c, struct jw *w) {
    static const char *const HANDLED[] = {"clarification.request", NULL};
    (void)c;
    string_list(w, HANDLED);
}

static void put_schema_versions(const struct v1_config *c, struct jw *w) {
    (void)c;
    jw_object(w);
    jw_kint(w, "clarification.request", 1);
    jw_end_object(w);
}

/* A closed object of four members; other limits are in extensions.limits (CON-4). */
static void put_limits(const struct v1_config *c, struct jw *w) {
    jw_object(w);
    jw_kint(w, "clarificationRounds", c->limits.clarification_rounds);
    jw_kint(w, "schemaRounds", c->limits.schema_rounds);
    jw_kint(w, "envelopesPerTurn", c->limits.envelopes_per_turn);
    jw_kint(w, "maxNodeExecutions", c->limits.max_node_executions);
    jw_end_object(w);
}

/* The reserved keys of OPT-6 that have a meaning here; no max on recursionLimit (CAP-15). */
static void put_configurable(const struct v1_config *c, struct jw *w) {
    static const struct {
        const char *key, *type;
        int min, max; /* -1 = none */
    } KEYS[] = {{"recursionLimit", "number", 1, -1},
                {"model", "string", -1, -1},
                {"temperature", "number", 0, 2},
                {"maxTokens", "number", 1, -1},
                {"promptOverrides", "object", -1, -1},
                {"mockProvider", "object", -1, -1},
                {"ai", "object", -1, -1}};
    const size_t n = sizeof KEYS / sizeof KEYS[0] - (c->limits.ai_providers ? 0 : 1);
    jw_object(w);
    for (size_t i = 0; i < n; i++) {
        jw_key(w, KEYS[i].key);
        jw_object(w);
        jw_kstrz(w, "type", KEYS[i].type);
        if (KEYS[i].min >= 0) jw_kint(w, "min", KEYS[i].min);
        if (KEYS[i].max >= 0) jw_kint(w, "max", KEYS[i].max);
        jw_end_object(w);
    }
    jw_end_object(w);
}

static void put_runtime(const struct v1_config *c, struct jw *w) {
    string_list(w, c->runtime_capabilities);
}
static void put_fixtures(const struct v1_config *c, struct jw *w) { string_list(w, c->fixtures); }

static void put_testing(const struct v1_config *c, struct jw *w) {
    static const char *const MOCKS[] = {"stream-text", "tool-calls", "error", "usage-only", NULL};
    struct v1_force_range range = v1_force_range();
    (void)c;
    jw_object(w);
    jw_key(w, "mockProviders");
    string_list(w, MOCKS);
    jw_kstrz(w, "testKeyPrefix", KEY_PREFIX_TEST);
    jw_key(w, "forceEngineVersionRange");
    jw_object(w);
    jw_kint(w, "min", range.min);
    jw_kint(w, "max", range.max);
    jw_end_object(w);
    jw_end_object(w);
}

/* IDEM-18, CAP-40: outcomes of outgoing requests are kept as long as their run; no more than the
 * recommended time is promised. */
static int64_t layer2_seconds(const struct v1_config *c) {
    int64_t kept = c->external_event_retention_s;
    return kept > 0 && kept < LAYER2_SECONDS ? kept : LAYER2_SECONDS;
}

static void put_idempotency(const struct v1_config *c, struct jw *w) {
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_kint(w, "layer1RetentionSeconds", c->idem_retention_s);
    jw_kint(w, "layer2RetentionSeconds", layer2_seconds(c));
    jw_kstrz(w, "crossRegion", "single-region"); /* IDEM-22 */
    jw_end_object(w);
}

static void put_runs(const struct v1_config *c, struct jw *w) {
    static const char *const POLICIES[] = {"immediate", "drain-current-node", NULL};
    (void)c;
    jw_object(w);
    jw_key(w, "pauseResume");
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "drainPolicies");
    string_list(w, POLICIES);
    jw_end_object(w);
    jw_end_object(w);
}

/* INT-49.  The cascade profile has two names (INT-44, CX-21). */
static void put_interrupts(const struct v1_config *c, struct jw *w) {
    static const char *const PROFILES[] = {"openwop-interrupt-quorum",
                                           "openwop-interrupt-external-event",
                                           "openwop-interrupt-auth-required", NULL};
    static const char *const CASCADE[] = {"openwop-interrupt-cascade-cancel",
                                          "openwop-interrupt-parent-child", NULL};
    jw_object(w);
    jw_key(w, "profiles");
    jw_array(w);
    for (const char *const *p = PROFILES; *p; p++) jw_strz(w, *p);
    for (const char *const *p = CASCADE; c->cascade && *p; p++) jw_strz(w, *p);
    jw_end_array(w);
    jw_kbool(w, "signedCallbackTokens", !c->interrupt_auth_required);
    jw_kint(w, "externalEventRetentionSeconds", c->external_event_retention_s);
    jw_kbool(w, "callbackDelivery", c->hooks != NULL); /* RUN-1 */
    jw_end_object(w);
}

static void put_replay(const struct v1_config *c, struct jw *w) { /* FORK-7 */
    static const char *const MODES[] = {"replay", "branch", NULL};
    (void)c;
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "modes");
    string_list(w, MODES);
    jw_end_object(w);
}

static void put_webhooks(const struct v1_config *c, struct jw *w) { /* CAP-41, HOOK-14 */
    static const char *const ALGORITHMS[] = {"v1", NULL};
    (void)c;
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "signatureAlgorithms");
    string_list(w, ALGORITHMS);
    jw_end_object(w);
}
static void put_mcp(const struct v1_config *c, struct jw *w) { /* CAP-46, MCP-2 */
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "serverUrls");
    string_list(w, c->mcp_urls);
    jw_end_object(w);
}
static void put_secrets(const struct v1_config *c, struct jw *w) { /* CAP-19 */
    static const char *const SCOPES[] = {"tenant", "user", NULL};
    (void)c;
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "scopes");
    string_list(w, SCOPES);
    jw_kstrz(w, "resolution", "host-managed");
    jw_end_object(w);
}
static bool has_secrets(const struct v1_config *c) { return c->secrets; }

static void put_ai(const struct v1_config *c, struct jw *w) { /* CAP-20, CAP-21 */
    static const char *const MODES[] = {"disabled", "optional", "required", "restricted", NULL};
    static const char *const SCOPES[] = {"host", "tenant", NULL};
    jw_object(w);
    jw_key(w, "supported");
    string_list(w, c->limits.ai_providers);
    jw_key(w, "byok");
    string_list(w, c->limits.byok_providers);
    if (c->ai_policy_code) {
        jw_key(w, "policies");
        jw_object(w);
        jw_key(w, "modes");
        string_list(w, MODES);
        jw_key(w, "scopes");
        string_list(w, SCOPES);
        jw_kstrz(w, "errorCode", c->ai_policy_code);
        jw_end_object(w);
    }
    jw_end_object(w);
}
static bool has_ai(const struct v1_config *c) { return c->limits.ai_providers != NULL; }
static bool has_mcp(const struct v1_config *c) { return c->mcp_urls != NULL; }
static bool has_webhooks(const struct v1_config *c) { return c->hooks != NULL; }

static void put_bundle(const struct v1_config *c, struct jw *w) { /* CAP-44, DBG-1 */
    (void)c;
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_end_object(w);
}
static bool has_bundle(const struct v1_config *c) { return c->debug_bundle_max > 0; }

/* CAP-16, OBS-4: what src/otel/run.c writes. */
static void put_observability(const struct v1_config *c, struct jw *w) {
    static const char *const SPANS[] = {
        "openwop.run",       "openwop.node.<typeId>",       "openwop.node.<typeId>.attempt",
        "openwop.interrupt", "openwop.activity.<provider>", NULL};
    static const char *const ATTRIBUTES[] = {"openwop.run_id",
                                             "openwop.workflow_id",
                                             "openwop.protocol_version",
                                             "openwop.tenant_id",
                                             "openwop.scope_id",
                                             "openwop.run_status",
                                             "openwop.event_seq",
                                             "openwop.node_id",
                                             "openwop.node_type",
                                             "openwop.node_attempt",
                                             "openwop.interrupt_kind",
                                             "openwop.interrupt_id",
                                             "openwop.interrupt_count",
                                             "openwop.cap_kind",
                                             "openwop.cap_limit",
                                             "openwop.cap_observed",
                                             "openwop.replay.source_run_id",
                                             "openwop.replay.from_seq",
                                             "openwop.replay.mode",
                                             "openwop.replay.diverged",
                                             "openwop.cost.provider",
                                             "openwop.cost.model",
                                             "openwop.cost.tokens.input",
                                             "openwop.cost.tokens.output",
                                             "openwop.cost.usd",
                                             "openwop.cost.duration_ms",
                                             "openwop.parent.run_id",
                                             "openwop.parent.workflow_id",
                                             "openwop.parent.node_id",
                                             "openwop.pii_present",
                                             "openwop.run.tags",
                                             NULL};
    (void)c;
    jw_object(w);
    jw_kstrz(w, "namespace", "openwop");
    jw_key(w, "spanAttributes");
    string_list(w, ATTRIBUTES);
    jw_key(w, "spanNames");
    string_list(w, SPANS);
    jw_end_object(w);
}
static bool has_traces(const struct v1_config *c) { return c->traces; }

/* The first of a kind; false: there is none. */
static bool first_issuer(const struct v1_config *c, bool users, struct http_issuer_shown *out) {
    for (size_t i = 0; http_issuer_at(c->issuers, i, out); i++)
        if (out->users == users) return true;
    return false;
}

/* AUTH-21: the profile has room for one. */
static void put_oauth2(const struct v1_config *c, struct jw *w) {
    struct http_issuer_shown is;
    if (!first_issuer(c, false, &is)) return;
    jw_key(w, "oauth2");
    jw_object(w);
    jw_kstr(w, "issuer", is.url);
    jw_kstr(w, "audience", is.audience);
    jw_end_object(w);
}

/* AUTH-23.  Each request is judged again, so nothing is believed for longer. */
static void put_oidc(const struct v1_config *c, struct jw *w) {
    struct http_issuer_shown is;
    if (!first_issuer(c, true, &is)) return;
    jw_key(w, "oidc");
    jw_object(w);
    jw_kstr(w, "audience", is.audience);
    jw_key(w, "issuers");
    jw_array(w);
    for (size_t i = 0; http_issuer_at(c->issuers, i, &is); i++)
        if (is.users) jw_str(w, is.url);
    jw_end_array(w);
    jw_kstrz(w, "supportedScopeMapping", "group-claim");
    jw_kint(w, "introspectionIntervalSeconds", 300);
    jw_end_object(w);
}

/* AUTH-20: how long a key that is rotated works beside its successor, at least. */
static void put_rotation(struct jw *w) {
    jw_key(w, "rotation");
    jw_object(w);
    jw_kint(w, "minGraceSeconds", (int64_t)KEY_GRACE_HOURS_MIN * 3600);
    jw_end_object(w);
}

static void put_audit_log(const struct v1_config *c, struct jw *w) {
    jw_key(w, "auditLogIntegrity");
    jw_object(w);
    jw_kbool(w, "hashChain", true);
    jw_kstrz(w, "checkpointSignatureAlgorithm", "ed25519");
    jw_kstrz(w, "checkpointPublicKey", audit_public_key(c->audit));
    jw_kint(w, "checkpointIntervalEntries", c->audit_entries);
    jw_kint(w, "checkpointIntervalSeconds", c->audit_s);
    jw_end_object(w);
}

/* AUTH-22: docs/security.md has the mapping. */
static void put_mtls(struct jw *w) {
    static const char *const BY[] = {
        "san-dns", "san-uri", "san-email", "common-name", "fingerprint-sha256", NULL};
    jw_key(w, "mtls");
    jw_object(w);
    jw_kbool(w, "requiredWithBearer", true);
    jw_key(w, "tenantMapping");
    string_list(w, BY);
    jw_kstrz(w, "failure", "401");
    jw_end_object(w);
}

/* CAP-42, AUD-10, section 15: each profile only when it is configured. */
static void put_auth(const struct v1_config *c, struct jw *w) {
    struct http_issuer_shown is;
    const char *profiles[6];
    size_t n = 0;
    if (c->audit) profiles[n++] = "openwop-audit-log-integrity";
    if (c->audit) profiles[n++] = "openwop-auth-api-key-rotation"; /* its entries are audited */
    if (first_issuer(c, false, &is)) profiles[n++] = "openwop-auth-oauth2-client-credentials";
    if (first_issuer(c, true, &is)) profiles[n++] = "openwop-auth-oidc-user-bearer";
    if (c->client_certificates) profiles[n++] = "openwop-auth-mtls"; /* AUTH-22 */
    profiles[n] = NULL;
    jw_object(w);
    jw_key(w, "profiles");
    string_list(w, profiles);
    put_oauth2(c, w);
    put_oidc(c, w);
    if (c->audit) put_rotation(w);
    if (c->audit) put_audit_log(c, w);
    if (c->client_certificates) put_mtls(w);
    jw_end_object(w);
}
static bool has_auth(const struct v1_config *c) {
    return c->audit != NULL || c->issuers != NULL || c->client_certificates;
}

static void put_workspec(struct jw *w) {
    static const char *const VERSIONS[] = {"2.0", NULL},
                             *const PROFILES[] = {"host", "reference", NULL},
                             *const CLOCKS[] = {"virtual", "real", NULL},
                             *const PEOPLE[] = {"auto", "approval", NULL};
    jw_object(w);
    jw_key(w, "versions");
    string_list(w, VERSIONS);
    jw_key(w, "profiles");
    string_list(w, PROFILES);
    jw_key(w, "clocks");
    string_list(w, CLOCKS);
    jw_key(w, "humanTasks");
    string_list(w, PEOPLE);
    jw_kstrz(w, "path", "/v1/workspec");
    jw_kint(w, "maxTasks", (int64_t)WS_LIMITS_DEFAULT.tasks); /* WS-141 */
    jw_end_object(w);
}

/* Routes are always there: sessions come by imports, and stay when no workflow is offered any more.
 * Without tools none begins. */
static void put_sessions(const struct v1_config *c, struct jw *w) { /* WR-267 */
    jw_object(w);
    jw_kbool(w, "supported", true);
    if (c->sessions) jw_kstrz(w, "tools", "/v1/mcp");
    jw_kstrz(w, "sessions", "/v1/x-workrail/sessions");
    jw_kstrz(w, "workflows", "/v1/x-workrail/workflows");
    jw_kstrz(w, "bundles", "/v1/x-workrail/bundles");
    jw_kraw(w, "bundleSchemaVersions", STR("[1]"));
    jw_end_object(w);
}

static void put_extensions(const struct v1_config *c, struct jw *w) {
    jw_object(w);
    jw_key(w, "interrupts");
    put_interrupts(c, w);
    if (has_auth(c)) {
        jw_key(w, "auth");
        put_auth(c, w);
    }
    jw_key(w, "workers"); /* docs/workers.md */
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_kstrz(w, "path", "/v1/host/wopr/tasks:claim");
    jw_end_object(w);
    jw_key(w, "packs"); /* docs/packs.md */
    jw_object(w);
    jw_kstrz(w, "registry", "/v1/packs");
    jw_kstrz(w, "signingMethod", "manual");
    jw_kint(w, "tarballBytesMax", (int64_t)PACK_TARBALL_BYTES_MAX);
    jw_end_object(w);
    jw_key(w, "workspec"); /* docs/workspec.md, WS-93 */
    put_workspec(w);
    jw_key(w, "agentManifests"); /* docs/agents.md */
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_kstrz(w, "path", "/v1/host/wopr/agents");
    jw_kint(w, "maxAgents", AGENTS_MAX);
    jw_kint(w, "maxDefinitionBytes", AGENT_DEFINITION_MAX);
    jw_end_object(w);
    if (c->mcp) { /* docs/mcp-server.md */
        jw_key(w, "mcpServer");
        jw_object(w);
        jw_kstrz(w, "path", "/v1/mcp");
        jw_kstrz(w, "transport", "streamable-http");
        jw_key(w, "protocolVersions");
        string_list(w, MCP_VERSIONS);
        jw_end_object(w);
    }
    jw_key(w, "x-workrail"); /* docs/workrail.md */
    put_sessions(c, w);
    jw_key(w, "limits");
    jw_object(w);
    jw_kint(w, "maxRunDurationSec", c->max_run_duration_sec);
    jw_kint(w, "maxRequestBodyBytes", (int64_t)c->body_max);
    jw_kint(w, "idempotencyAckTimeoutSec", ACK_TIMEOUT_S);
    jw_end_object(w);
    jw_end_object(w);
}

/* AGT-11..13: what agents do here is real wherever they decide.  Reasoning and calls of tools come
 * from models (vendor.wopr.agent), so without a provider only the fixtures of conformance have
 * them. */
static void put_agents(const struct v1_config *c, struct jw *w) {
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "reasoning");
    jw_object(w);
    jw_kstrz(w, "verbosity", "summary");
    jw_kint(w, "tokenLimit", AGENT_TOKENS_MAX);
    jw_end_object(w);
    if (c->memory) { /* MEM-1 */
        static const char *const BACKENDS[] = {"long-term", NULL};
        jw_key(w, "memoryBackends");
        string_list(w, BACKENDS);
    }
    jw_kbool(w, "orchestrator", true);
    jw_kbool(w, "dispatch", true);
    bool models = c->limits.ai_providers && c->limits.ai_providers[0];
    if (c->model_classes) {
        jw_key(w, "modelClasses");
        string_list(w, c->model_classes);
    }
    jw_kbool(w, "reasoningEvents", models || c->conformance);
    jw_kbool(w, "toolEvents", models || c->conformance);
    jw_kbool(w, "handoffEvents", true);
    jw_kbool(w, "decisionEvents", true);
    jw_end_object(w);
}

static void put_conversations(const struct v1_config *c, struct jw *w) { /* CONV-1 */
    jw_bool(w, c->conversations);
}
static bool has_conversations(const struct v1_config *c) { return c->conversations; }

static void put_orchestrator(const struct v1_config *c, struct jw *w) { /* ORCH-1, ORCH-2 */
    (void)c;
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_kstrz(w, "workerIdInterpretation", "either");
    jw_kbool(w, "fanOutSupported", true);
    jw_end_object(w);
}

static void put_dispatch(const struct v1_config *c, struct jw *w) { /* DISP-1 */
    static const char *const MODELS[] = {"child-run", NULL};
    static const char *const ROUTINGS[] = {"conversation", "clarification", "auto", NULL};
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_key(w, "models");
    string_list(w, MODELS);
    jw_kbool(w, "fanOutSupported", true);
    jw_key(w, "askUserRoutings");
    string_list(w, ROUTINGS + !c->conversations);
    jw_end_object(w);
}

static void put_memory(const struct v1_config *c, struct jw *w) { /* MEM-2 */
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_kint(w, "maxEntrySizeBytes", c->memory_entry_max);
    jw_kbool(w, "ttlSupported", true);
    jw_end_object(w);
}
static bool has_memory(const struct v1_config *c) { return c->memory; }

static void put_runtimes(const struct v1_config *c, struct jw *w) { /* WASM-1 */
    jw_object(w);
    jw_key(w, "wasm");
    jw_object(w);
    jw_kbool(w, "supported", true);
    jw_kraw(w, "abiVersions", STR("[1]"));
    jw_kstrz(w, "engine", SANDBOX_ENGINE);
    jw_kstrz(w, "engineVersion", SANDBOX_ENGINE_VERSION);
    jw_kint(w, "maxMemoryBytes", (int64_t)c->wasm.memory_max);
    jw_kint(w, "maxExecutionMs", c->wasm.time_ms_max);
    jw_end_object(w);
    jw_end_object(w);
}
static bool has_runtimes(const struct v1_config *c) { return c->wasm.workers > 0; }

static const struct feature {
    const char *name;
    bool mirrored; /* repeated under "capabilities" for readers that look only there (CAP-3, CON-1)
                    */
    void (*put)(const struct v1_config *c, struct jw *w);
    bool (*has)(const struct v1_config *c); /* NULL: always */
} FEATURES[] = {
    {"protocolVersion", false, put_protocol, NULL},
    {"implementation", false, put_implementation, NULL},
    {"engineVersion", false, put_engine, NULL},
    {"eventLogSchemaVersion", false, put_era, NULL},
    {"minClientVersion", false, put_protocol, NULL},
    {"supportedTransports", false, put_transports, NULL},
    {"supportedEnvelopes", false, put_envelopes, NULL},
    {"schemaVersions", false, put_schema_versions, NULL},
    {"limits", false, put_limits, NULL},
    {"configurable", true, put_configurable, NULL},
    {"runtimeCapabilities", true, put_runtime, NULL},
    {"testing", true, put_testing, NULL},
    {"fixtures", true, put_fixtures, NULL},
    {"idempotency", true, put_idempotency, NULL},
    {"runs", true, put_runs, NULL},
    {"replay", true, put_replay, NULL},
    {"webhooks", true, put_webhooks, has_webhooks},
    {"mcp", true, put_mcp, has_mcp},
    {"nodePackRuntimes", true, put_runtimes, has_runtimes},
    {"agents", true, put_agents, NULL},
    {"conversationPrimitive", true, put_conversations, has_conversations},
    {"orchestrator", true, put_orchestrator, NULL},
    {"dispatch", true, put_dispatch, NULL},
    {"memory", true, put_memory, has_memory},
    {"secrets", true, put_secrets, has_secrets},
    {"aiProviders", true, put_ai, has_ai},
    {"debugBundle", true, put_bundle, has_bundle},
    {"observability", true, put_observability, has_traces},
    {"auth", true, put_auth, has_auth},
    {"extensions", false, put_extensions, NULL},
};
#define FEATURES_NR (sizeof FEATURES / sizeof FEATURES[0])

static void document_render(const struct v1_config *c, struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    for (size_t i = 0; i < FEATURES_NR; i++) {
        if (FEATURES[i].has && !FEATURES[i].has(c)) continue;
        jw_key(&w, FEATURES[i].name);
        FEATURES[i].put(c, &w);
    }
    jw_key(&w, "capabilities");
    jw_object(&w);
    for (size_t i = 0; i < FEATURES_NR; i++) {
        if (!FEATURES[i].mirrored || (FEATURES[i].has && !FEATURES[i].has(c))) continue;
        jw_key(&w, FEATURES[i].name);
        FEATURES[i].put(c, &w);
    }
    jw_end_object(&w);
    jw_end_object(&w);
}

/* CAP-30: Capabilities-Etag changes only with the canonical document. */
static int etags_build(struct v1 *v, struct wopr_error *err) {
    struct buf canonical;
    char hex[65];
    buf_init(&canonical, DISCOVERY_MAX);
    int rc = json_canonical(v->discovery, &canonical, err);
    if (rc == 0) {
        struct sha256 d = sha256_of(buf_str(&canonical));
        sha256_hex(&d, hex);
        v->capabilities_etag = arena_printf(v->arena, "\"cap_%.16s\"", hex);
        v->discovery_etag = wire_etag_of(v->discovery, v->arena);
        if (!v->capabilities_etag.p || !v->discovery_etag.p)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the capabilities document");
    }
    buf_fini(&canonical);
    return rc;
}

int v1_discovery_build(struct v1 *v, struct wopr_error *err) {
    struct buf b;
    buf_init(&b, DISCOVERY_MAX);
    document_render(&v->cfg, &b);
    v->discovery = buf_failed(&b) ? STR_NONE : arena_str(v->arena, buf_str(&b));
    buf_fini(&b);
    if (!v->discovery.p)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the capabilities document");
    return etags_build(v, err);
}

int v1_get_capabilities(struct http_call *c) {
    struct v1 *v = v1_of(c);
    http_reply_header(c, "Capabilities-Etag", v->capabilities_etag);
    return wire_reply_document(c, v->discovery, v->discovery_etag, V1_DISCOVERY_CACHE);
}

/* The bare address says where to begin; a person's browser is sent to the dashboard. */
int v1_get_index(struct http_call *c) {
    c->cache_control = V1_DISCOVERY_CACHE;
    http_reply_header(c, "Vary", STR("Accept"));
    if (v1_of(c)->cfg.ui && http_assets_wanted(http_header(c, "Accept"))) {
        http_reply_header(c, "Location", STR(HTTP_ASSETS_PREFIX "/"));
        http_reply(c, 302, STR(""));
        return HTTP_DONE;
    }
    http_reply(c, 200,
               STR("{\"name\":\"wopr\",\"discovery\":\"/.well-known/openwop\","
                   "\"openapi\":\"/v1/openapi.json\","
                   "\"documentation\":\"https://openwop.dev/spec/v1/\"}"));
    return HTTP_DONE;
}
