/* profiles.c: see profiles.h. */
#include "profiles.h"

#include "codec/json.h"

#define CORE     "openwop-core"
#define SSE      "openwop-stream-sse"
#define POLL     "openwop-stream-poll"
#define WAITS    "openwop-interrupts"
#define SECRETS  "openwop-secrets"
#define POLICY   "openwop-provider-policy"
#define PACKS    "openwop-node-packs"
#define FORK     "openwop-replay-fork"
#define FIXTURES "openwop-fixtures"
#define OTHER    "(no profile)"

const char *const PROFILES[] = {CORE,  WAITS, SSE,      POLL,  SECRETS, POLICY,
                                PACKS, FORK,  FIXTURES, OTHER, NULL};

const struct scenario SCENARIOS[] = {
    /* suite                  public scenario             profile */
    {"agent_pack_export", "agentPackExport", OTHER},
    {"agent_pack_install", "agentPackInstall", OTHER},
    {"agent_pack_provenance", "agentPackProvenance", OTHER},
    {"append_ordering", "append-ordering", FIXTURES},
    {"approval_payload", "approval-payload", CORE},
    {"audit_log", "audit-log-integrity", OTHER},
    {"a2a_task_roundtrip", "a2a-task-roundtrip", OTHER},
    {"auth", "auth", CORE},
    {"cancellation", "cancellation", CORE},
    {"cap_breach", "cap-breach", CORE},
    {"channel_ttl", "channel-ttl", FIXTURES},
    {"configurable_schema", "configurable-schema", CORE},
    {"byok_roundtrip", "byok-roundtrip", OTHER},
    {"cost_attribution", "cost-attribution", OTHER},
    {"debug_bundle", "debugBundle", OTHER},
    {"discovery", "discovery", CORE},
    {"errors", "errors", CORE},
    {"event_ordering", "eventOrdering", POLL},
    {"failure_path", "failure-path", CORE},
    {"fixtures_gating", "fixtures-gating", FIXTURES},
    {"fixtures_valid", "fixtures-valid", FIXTURES},
    {"high_concurrency", "highConcurrency", CORE},
    {"idempotency", "idempotency", CORE},
    {"idempotency_retry", "idempotencyRetry", CORE},
    {"identity_passthrough", "identity-passthrough", CORE},
    {"interrupt_approval", "interrupt-approval", WAITS},
    {"interrupt_auth_required", "interrupt-auth-required-resume", WAITS},
    {"interrupt_clarification", "interrupt-clarification", WAITS},
    {"interrupt_external_event", "interrupt-external-event-correlation", WAITS},
    {"interrupt_parent_child", "interrupt-parent-child-cascade", WAITS},
    {"interrupt_quorum", "interrupt-quorum-resolution", WAITS},
    {"interrupt_race", "interruptRace", WAITS},
    {"malicious_manifest", "maliciousManifest", PACKS},
    {"mcp_discoverability", "mcp-discoverability", OTHER},
    {"mcp_tool_roundtrip", "mcp-tool-roundtrip", OTHER},
    {"multi_node_ordering", "multi-node-ordering", POLL},
    {"multi_region_idempotency", "multi-region-idempotency", OTHER},
    {"otel_emission", "otel-emission", OTHER},
    {"otel_trace_propagation", "otel-trace-propagation", OTHER},
    {"pack_registry", "pack-registry", PACKS},
    {"pack_registry_publish", "pack-registry-publish", PACKS},
    {"pause_resume", "pause-resume", CORE},
    {"policies", "policies", POLICY},
    {"profile_derivation", "profileDerivation", CORE},
    {"provider_policy", "providerPolicyEnforcement", POLICY},
    {"rate_limit", "rate-limit-envelope", CORE},
    {"redaction", "redaction", SECRETS},
    {"redaction_adversarial", "redactionAdversarial", SECRETS},
    {"replay_determinism", "replayDeterminism", FORK},
    {"replay_fork", "replay-fork", FORK},
    {"replay_fork_arbitrary", "replay-fork-arbitrary", FORK},
    {"route_coverage", "route-coverage", CORE},
    {"runs_lifecycle", "runs-lifecycle", CORE},
    {"runtime_capabilities", "runtime-capabilities", CORE},
    {"spec_corpus_validity", "spec-corpus-validity", OTHER},
    {"stale_claim", "staleClaim", OTHER},
    {"stream_modes", "stream-modes", SSE},
    {"stream_modes_buffer", "stream-modes-buffer", SSE},
    {"stream_modes_mixed", "stream-modes-mixed", SSE},
    {"stream_reconnect", "streamReconnect", SSE},
    {"subworkflow", "subworkflow", CORE},
    {"agent_confidence_escalation", "agentConfidenceEscalation", OTHER},
    {"agent_memory_cross_tenant_isolation", "agentMemoryCrossTenantIsolation", OTHER},
    {"agent_memory_redaction_contract", "agentMemoryRedactionContract", OTHER},
    {"agent_memory_round_trip", "agentMemoryRoundTrip", OTHER},
    {"agent_memory_ttl_expiry", "agentMemoryTtlExpiry", OTHER},
    {"agent_message_reducer", "agentMessageReducer", OTHER},
    {"agent_metadata", "agentMetadata", OTHER},
    {"agent_reasoning_events", "agentReasoningEvents", OTHER},
    {"conversation_capability_negotiation", "conversationCapabilityNegotiation", OTHER},
    {"conversation_lifecycle", "conversationLifecycle", OTHER},
    {"conversation_replay_determinism", "conversationReplayDeterminism", OTHER},
    {"conversation_vs_legacy_suspend", "conversationVsLegacySuspend", OTHER},
    {"dispatch_loop", "dispatchLoop", OTHER},
    {"orchestrator_conservative_path", "orchestratorConservativePath", OTHER},
    {"orchestrator_dispatch", "orchestratorDispatch", OTHER},
    {"orchestrator_termination", "orchestratorTermination", OTHER},
    {"version_negotiation", "version-negotiation", POLL},
    {"wasm_pack_abi_version_rejection", "wasm-pack-abi-version-rejection", OTHER},
    {"wasm_pack_invoke_completed", "wasm-pack-invoke-completed", OTHER},
    {"wasm_pack_invoke_suspended", "wasm-pack-invoke-suspended", OTHER},
    {"wasm_pack_load", "wasm-pack-load", OTHER},
    {"wasm_pack_memory_cap", "wasm-pack-memory-cap", OTHER},
    {"wasm_pack_replay_determinism", "wasm-pack-replay-determinism", OTHER},
    {"webhook_sig", "webhook-sig-algorithm", OTHER},
    /* subjects of the contract that no public scenario exercises */
    {"http_node", "-", OTHER},
    {"stream_text", "-", SSE},
    {"version_fold", "-", CORE},
    {"workspec_document", "-", OTHER},
    {"x_dedup", "-", CORE},
    {NULL, NULL, NULL},
};

const struct scenario *scenario_of(const char *suite) {
    for (const struct scenario *s = SCENARIOS; s->suite != NULL; s++)
        if (strcmp(s->suite, suite) == 0) return s;
    return NULL;
}

/* --- predicates --- */
static struct str get(struct str doc, const char *path, struct arena *a) {
    return doc.n > 0 ? json_path_get(doc, str_c(path), a) : STR_NONE;
}

static bool typed(struct str raw, enum json_type t) {
    return raw.p != NULL && json_type_of(raw) == t;
}

/* An array of strings; what: NULL, or one that must be in it. */
static bool strings(struct str raw, bool may_be_empty, const char *what, struct arena *a) {
    struct json_elements l;
    bool found = what == NULL;
    if (!typed(raw, JSON_ARRAY) || json_elements(raw, a, &l, NULL) != 0) return false;
    for (size_t i = 0; i < l.n; i++) {
        struct str s = json_string(l.v[i], a);
        if (s.p == NULL || (s.n == 0 && !may_be_empty)) return false;
        found = found || str_eqc(s, what);
    }
    return found && (may_be_empty || l.n > 0);
}

static bool truth(struct str raw) {
    bool v = false;
    return raw.p != NULL && json_bool(raw, &v) && v;
}

static bool core(struct str doc, struct arena *a) {
    static const char *const limits[] = {"limits.clarificationRounds", "limits.schemaRounds",
                                         "limits.envelopesPerTurn"};
    struct str version = get(doc, "protocolVersion", a);
    if (!typed(version, JSON_STRING) || !str_starts(json_string(version, a), STR("1.")))
        return false;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int64_t v = -1;
        struct str raw = get(doc, limits[i], a);
        if (raw.p == NULL || !json_int(raw, &v) || v < 0) return false;
    }
    return strings(get(doc, "supportedEnvelopes", a), true, NULL, a) &&
           typed(get(doc, "schemaVersions", a), JSON_OBJECT);
}

static bool rest(struct str doc, struct arena *a) {
    struct str t = get(doc, "supportedTransports", a);
    return t.p == NULL || typed(t, JSON_NULL) || strings(t, true, "rest", a);
}

static bool interrupts(struct str doc, struct arena *a) {
    return strings(get(doc, "supportedEnvelopes", a), true, "clarification.request", a);
}

static bool secrets(struct str doc, struct arena *a) {
    return truth(get(doc, "secrets.supported", a)) &&
           strings(get(doc, "secrets.scopes", a), true, "user", a);
}

static bool policy(struct str doc, struct arena *a) {
    return strings(get(doc, "aiProviders.policies.modes", a), false, "optional", a);
}

static bool packs(struct str doc, struct arena *a) {
    (void)doc, (void)a;
    return true; /* as the published predicate: the same as core */
}

static bool fork_of(struct str doc, struct arena *a) {
    return truth(get(doc, "replay.supported", a)) &&
           strings(get(doc, "replay.modes", a), false, NULL, a);
}

static bool fixtures(struct str doc, struct arena *a) {
    return strings(get(doc, "fixtures", a), false, NULL, a);
}

static const struct {
    const char *profile;
    bool (*holds)(struct str doc, struct arena *a); /* beyond core, which each needs */
} PREDICATES[] = {{CORE, core},   {WAITS, interrupts}, {SSE, rest},
                  {POLL, rest},   {SECRETS, secrets},  {POLICY, policy},
                  {PACKS, packs}, {FORK, fork_of},     {FIXTURES, fixtures}};

bool profile_claimed(const char *profile, struct str document, struct arena *a) {
    for (size_t i = 0; i < sizeof PREDICATES / sizeof *PREDICATES; i++)
        if (strcmp(PREDICATES[i].profile, profile) == 0)
            return core(document, a) && PREDICATES[i].holds(document, a);
    return false;
}
