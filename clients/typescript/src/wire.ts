// The wire of a host: its types and its operations.  Made by tools/clients.py from api/host; do not edit.
/**
 * Slim wire-shape projection of an agent's identity. Carried on `RunSnapshot.agent` (the active worker for a
 * run), `RunSnapshot.runOrchestrator` (the supervisor identity for the run's lifetime), `WorkflowNode.agent`
 * (compile-time pinning), and the `agent.*` event family's payload `agentId` field. Distinct from
 * `AgentManifest` (which is the pack-distribution descriptor for an agent definition — see
 * `agent-manifest.schema.json`); `AgentRef` is the runtime projection, not the definition.
 */
export interface AgentRef {
  /**
   * Globally-unique agent identifier. Naming convention mirrors `node-packs.md` §Naming —
   * `<tier>.<org>.<pack>.<agent>` for vendor/community packs (`vendor.acme.support.tier1`); `core.<name>` for
   * spec-canonical agents (`core.chat`, `core.research`); `host:<id>` slim-runtime form for host-internal
   * AgentRefs that don't ship as packs. Host-internal `host:<id>` agents are valid AgentRefs at the wire level but
   * MUST NOT be published as manifests (the `host:` namespace is reserved for runtime synthesis).
   */
  agentId: string;
  /**
   * Optional human-readable display name. Surfaces in audit / debug-bundle UIs alongside `agentId`. Hosts MAY
   * populate from the agent's `AgentManifest.name` field at projection time; consumers MUST treat absence as 'name
   * unknown' rather than synthesize.
   */
  name?: string;
  /**
   * Closed enum describing the agent's model-class envelope. Hosts that advertise
   * `capabilities.agents.modelClasses` use this enum to filter agents at install / dispatch time. Vendor
   * extensions ship under `<vendor>.<class>` per `host-extensions.md` (e.g., `openwop.creative-writing`) —
   * vendor-extension values are NOT in the closed enum and MUST surface as unknown to strict consumers.
   */
  modelClass?: "reasoning" | "tool-using" | "chat" | "code" | "vision" | "multimodal" | "embedding" | "classification" | "retrieval";
  /**
   * Optional host-defined opaque reference to this agent's long-term memory. Resolved by the host's
   * `MemoryAdapter` (see `agent-memory.md`); the wire-level shape is host-defined per the L2 disposition (mirrors
   * `host-extensions.md` namespace conventions). Hosts that don't implement long-term memory MUST NOT emit this
   * field; hosts that do MUST honor cross-tenant isolation (CTI-1).
   */
  memoryRef?: string;
  /**
   * Optional version pin for the agent definition (matches `AgentManifest.version`). Lets audit consumers trace
   * which version of an agent definition was active for a given run. Pinning is encouraged for replay determinism;
   * absent values mean 'host's current resolution of the agent'.
   */
  version?: string;
  /**
   * Optional provenance pointer back to the `AgentManifest.agentId` this AgentRef was projected from. Lets
   * pack-aware hosts trace runtime AgentRefs back to their distribution origin. Absent for host-internal
   * `host:<id>` agents (which have no manifest).
   */
  sourceManifestId?: string;
}

/**
 * openwop capability declaration returned from `GET /.well-known/openwop`. Required v1 fields identify the
 * protocol version, envelope catalog, schema versions, and base limits. Optional v1 fields have stable shapes
 * but MAY be omitted when unsupported.
 */
export interface Capabilities {
  /**
   * openwop protocol version the server speaks (e.g., `1.0`). Independent of `engineVersion` (which gates
   * persisted-doc compatibility per version-negotiation.md).
   */
  protocolVersion: string;
  /**
   * Envelope `type` strings the engine recognizes (e.g., `prd.create`, `theme.create`, `tasks.create`,
   * `clarification.request`).
   */
  supportedEnvelopes: string[];
  /** Active schema version per envelope type (e.g., `{ "prd.create": 2 }`). */
  schemaVersions: Record<string, number>;
  /** Hard limits enforced by the engine. See capabilities.md §3. */
  limits: {
    /** Maximum total clarification envelopes per task before the engine forces the LLM to proceed. */
    clarificationRounds: number;
    /** Maximum total schema-validation rounds per envelope before the node fails. */
    schemaRounds: number;
    /** Maximum total envelopes the LLM may emit in a single chat turn. */
    envelopesPerTurn: number;
    /**
     * Engine-side ceiling on total node executions per run. Acts as the upper bound for
     * `RunOptions.configurable.recursionLimit`. Optional in v1; hosts that advertise it MUST enforce it.
     */
    maxNodeExecutions?: number;
  };
  /** Optional per-canvas-type or per-workflow extensions (additional envelope types, override limits). */
  extensions?: Record<string, unknown>;
  /** Optional v1 server identity (name + version + vendor). */
  implementation?: {
    name?: string;
    version?: string;
    vendor?: string;
  };
  /** Optional v1 server engineVersion (see version-negotiation.md). Independent of `protocolVersion`. */
  engineVersion?: number;
  /** Optional v1 server eventLogSchemaVersion (per-run subcollection contract). */
  eventLogSchemaVersion?: number;
  /** Optional v1 transport advertisement. REST is required whether or not this field is present. */
  supportedTransports?: ("rest" | "mcp" | "a2a" | "grpc")[];
  /** Optional v1 per-run overlay schema — what `RunOptions.configurable` keys this server honors. */
  configurable?: Record<string, unknown>;
  /** Optional v1 hints about emitted spans/metrics/logs. See observability.md. */
  observability?: Record<string, unknown>;
  /** Optional v1 minimum client SDK version the server interops with. */
  minClientVersion?: string;
  /**
   * Optional v1 secret/credential resolution advertisement. Clients gate BYOK flows on this. Hosts that don't
   * store credentials return `supported: false`.
   */
  secrets?: {
    /** Host has any secret-resolution at all. */
    supported: boolean;
    /**
     * Subset of scopes the host implements. Tenant-scoped secrets are workspace-shared; user-scoped are
     * per-end-user; run-scoped are ephemeral per-run.
     */
    scopes?: ("tenant" | "user" | "run")[];
    /**
     * Resolution mode. v1.x supports only `host-managed` (clients reference stored secrets via opaque ids); reserved
     * for future modes.
     */
    resolution?: "host-managed";
  };
  /**
   * Optional v1 host-advertised opaque capability ids that NodeModules may declare in `NodeModule.requires`.
   * Naming convention: dotted, domain-scoped (`chat.sendPrompt`, `canvas.write`, `secrets.byok`). Provider value
   * shapes are documented per-capability alongside consumers, NOT in the protocol package — the protocol owns the
   * *check*, not domain provider contracts. A client that submits a workflow whose nodes declare a `requires`
   * entry SHOULD first verify the host advertises that capability; a host that lacks a capability MUST refuse to
   * dispatch nodes that declare it, terminating the run with `RunSnapshot.error.code = 'capability_not_provided'`.
   * See `capabilities.md` §"Runtime capabilities".
   */
  runtimeCapabilities?: string[];
  /**
   * Optional v1 companion to `secrets`. Advertises which AI providers the host's AI-proxy can route to and which
   * permit BYOK.
   */
  aiProviders?: {
    /**
     * Provider ids the host's AI-proxy can route to. Conventional ids: `anthropic`, `openai`, `gemini`, `mistral`,
     * `cohere`, `vertex`, `bedrock`. Hosts MAY add vendor-prefixed extensions.
     */
    supported?: string[];
    /**
     * Subset of `supported` for which BYOK is permitted. Empty array → all calls use platform-managed keys;
     * non-empty → clients MAY pass `ai.credentialRef` in `RunOptions.configurable` for matching providers.
     */
    byok?: string[];
    /**
     * Optional v1 host-side policy enforcement modes for per-provider gating. Omitted → no enforcement; clients see
     * only `optional` semantics. When present, MUST declare `modes` — an empty `{}` is not a valid third state. See
     * `capabilities.md` §`aiProviders.policies`.
     */
    policies?: {
      /**
       * Subset of policy modes this host can enforce. `disabled` = provider may not be used; `optional` = no
       * restriction (default); `required` = BYOK required; `restricted` = model must match the policy's
       * `allowedModels` glob list. Hosts MAY support a subset; clients MUST tolerate any subset.
       */
      modes: ("disabled" | "optional" | "required" | "restricted")[];
      /**
       * Resolution layers the host evaluates. Conventional ids: `workspace`, `project`, `canvas-type`. Precedence is
       * host-defined and SHOULD be documented per-deployment.
       */
      scopes?: string[];
      /**
       * Wire-format error code returned on denial. Defaults to `provider_policy_denied`. Reserved for hosts that need
       * a vendor-prefixed alias.
       */
      errorCode?: string;
    };
  };
  /**
   * Testing-mode capabilities advertised to clients (closes F1). Lets conformance suites + dev clients discover
   * which mock providers the server supports and which API-key prefix denotes test keys (since mock providers are
   * test-keys-only).
   */
  testing?: {
    /**
     * Mock-provider IDs this server recognizes via `RunOptions.configurable.mockProvider.id`. Servers claiming
     * OpenWOP v1.0 conformance MUST include `stream-text`. Other canonical providers (`tool-calls`, `error`,
     * `usage-only`) are recommended. Implementations MAY add their own (vendor-prefixed).
     */
    mockProviders?: string[];
    /** API-key prefix that marks a key as test-mode. Mock providers and other test-only surfaces gate on this prefix. */
    testKeyPrefix?: string;
    /**
     * Range of engine versions the server can be forced into via the `X-Force-Engine-Version` request header
     * (test-keys-only). Used by the conformance suite to verify forward-compat fold-best-effort across the
     * version-negotiation matrix. Closes F5.
     */
    forceEngineVersionRange?: {
      /** Lowest forceable engine version. Typically (current - 1) so back-compat is exercised. */
      min: number;
      /** Highest forceable engine version. Typically (current + 1) so forward-compat is exercised. */
      max: number;
    };
    [member: string]: unknown;
  };
  /**
   * Optional v1 fixture workflow IDs the host has seeded. The conformance suite uses this list to decide which
   * fixture-dependent scenarios run vs. skip. Each ID matches a stub at
   * `node_modules/@openwop/openwop-conformance/fixtures/{id}.json`. Hosts MAY advertise vendor-prefixed IDs;
   * clients MUST tolerate unknown IDs. Empty array or absent means the host advertises no fixtures.
   */
  fixtures?: string[];
  /**
   * Multi-Agent Shift capability block (Phases 1-6). Hosts that implement any multi-agent surface declare it here;
   * pre-MAS hosts omit the block entirely (consumers treat as 'no agent support'). Each field gates a specific
   * conformance scenario class; conformance scenarios skip honestly when the host's advertisement doesn't claim
   * the capability.
   */
  agents?: {
    /**
     * Master switch for agent identity (Phase 1). When `true`, host accepts run-level `RunSnapshot.agent` /
     * `runOrchestrator` fields, emits `agent.*` events, and honors the confidence-escalation contract.
     */
    supported?: boolean;
    /**
     * Optional named capability profile (e.g., `wop-agents-phase-1-skeleton` for identity-only, `wop-agents-full`
     * for orchestrator+dispatch+memory+conversation). Clients pattern-match on profile to gate feature usage.
     */
    profile?: string;
    /**
     * Optional list of `AgentRef.modelClass` values this host supports for hosted agents (Phase 2). Pack manifests
     * whose `modelClass` is not in this list MUST refuse install with `unsupported_model_class`.
     */
    modelClasses?: ("reasoning" | "tool-using" | "chat" | "code" | "vision" | "multimodal" | "embedding" | "classification" | "retrieval")[];
    /**
     * Optional orchestration pattern (Phase 2). Canonical: `single`, `delegate`, `delegate.smart`. Vendor extensions
     * ship under `vendor.<host>.<pattern>`.
     */
    orchestratorPattern?: string;
    /**
     * Optional list of memory backends (Phase 3). `long-term` means the host implements `ExecutionHost.memory`
     * against a durable store with the SR-1 redaction invariant intact end-to-end. Hosts that don't wire
     * `MemoryAdapter` omit this field.
     */
    memoryBackends?: "long-term"[];
    /**
     * Phase 5. When `true`, host advertises that it implements the `core.orchestrator.supervisor` node typeId AND
     * honors the conservative-path suspend semantics (CP-1: low-confidence suspend via `node.suspended { reason:
     * 'low-confidence' }`).
     */
    orchestrator?: boolean;
    /**
     * Phase 6. When `true`, host advertises that it implements the `core.dispatch` Core typeId AND honors the
     * conservative-path commitment CP-2 (`core.dispatch` MUST NOT mutate the run's DAG mid-run). Implies (but does
     * NOT require) `agents.orchestrator: true`.
     */
    dispatch?: boolean;
    /** Phase 1 reasoning-event verbosity configuration. */
    reasoning?: {
      /**
       * Default reasoning verbosity for `agent.reasoned` events when the run does not override via
       * `RunOptions.configurable.reasoningVerbosity`.
       */
      verbosity?: "summary" | "full" | "off";
      /** Effective cap on reasoning trace length when verbosity is `summary`. Default 512 tokens. */
      tokenLimit?: number;
    };
    [member: string]: unknown;
  };
  /**
   * Multi-Agent Shift Phase 4. When `true`, host advertises that it implements the `core.conversationGate` typeId
   * AND honors the `conversation.start` / `conversation.exchange` / `conversation.close` suspend variants. Hosts
   * that don't claim this fall back to `clarification.requested` interrupts for multi-turn user interjections.
   */
  conversationPrimitive?: boolean;
  /**
   * Privacy / compliance behavior advertised to clients (closes O5). Lets consumers know what masking mode is in
   * effect so a `"[REDACTED]"` value in event log payloads is recognizable as a server-side mask vs an upstream
   * null.
   */
  compliance?: {
    /**
     * Server's default masking mode for fields marked sensitive. `mask` (default): replace with `"[REDACTED]"`.
     * `omit`: drop the field entirely. `hash`: replace with `"sha256:<hex>"` for audit-only equality. `passthrough`:
     * record as-is (NOT recommended for production). Workflow authors MAY override per-workflow via
     * `metadata.complianceConfig.maskingMode`. See observability.md §Privacy classification.
     */
    defaultMode?: "mask" | "omit" | "hash" | "passthrough";
    /**
     * Compliance classes this server applies special handling for. A server MAY accept all five classes but only
     * enforce stricter retention on a subset; this field declares the operational reality so workflow authors can
     * choose a server appropriately.
     */
    supportedClasses?: ("public" | "pii" | "phi" | "pci" | "regulated")[];
    [member: string]: unknown;
  };
  [member: string]: unknown;
}

/**
 * Portable JSON export of a single run's diagnostic state. See spec/v1/debug-bundle.md. Additive over v1 per
 * COMPATIBILITY.md §2.1: optional endpoint; hosts MAY omit.
 */
export interface RunDebugBundle {
  /** Schema version of the bundle. v1.x bundles are '1'. */
  bundleVersion: string;
  /** ISO 8601 timestamp when the host generated this response. */
  generatedAt: string;
  /** Identifies the host that produced the bundle. */
  host: {
    name: string;
    version: string;
    vendor?: string;
  };
  /** Run snapshot — same shape as GET /v1/runs/{runId}. See run-snapshot.schema.json. */
  run: {
    runId: string;
    workflowId: string;
    status: "pending" | "running" | "completed" | "failed" | "cancelled" | "waiting-approval" | "waiting-clarification";
    startedAt?: string;
    endedAt?: string | null;
    error?: null | {
      code: string;
      message?: string;
      [member: string]: unknown;
    };
    inputs?: Record<string, unknown>;
    variables?: Record<string, unknown>;
    currentNodeId?: string | null;
    nodeStates?: Record<string, unknown>;
    metrics?: Record<string, unknown>;
    [member: string]: unknown;
  };
  /** Full event log for this run, in order. Each entry follows run-event.schema.json. */
  events: ({
    sequence?: number | null;
    /** Legacy alias for `sequence`. Hosts that pre-date the rename emit `seq`. Clients accept either. */
    seq?: number | null;
    type?: string;
    timestamp?: string;
    nodeId?: string | null;
    data?: unknown;
    [member: string]: unknown;
  })[];
  /** OTel-format spans per spec/v1/observability.md. Empty array if host doesn't emit spans. */
  spans?: ({
    name: string;
    spanId?: string;
    parentSpanId?: string | null;
    startedAt?: string;
    endedAt?: string | null;
    attributes?: Record<string, unknown>;
    [member: string]: unknown;
  })[];
  /** Aggregate metrics for the run. */
  metrics?: {
    openwopCost?: null | {
      usd?: number;
      tokens?: {
        input?: number;
        output?: number;
      };
      model?: string;
      provider?: string;
      duration_ms?: number;
      [member: string]: unknown;
    };
    nodeCount?: number;
    /** MUST equal events.length per spec/v1/debug-bundle.md. */
    eventCount?: number;
    [member: string]: unknown;
  };
  /** True if any field in this bundle was masked/omitted/hashed by the host's redaction harness. */
  redactionApplied: boolean;
  /** Masking mode in effect per capabilities.compliance.defaultMode. */
  redactionMode: "mask" | "omit" | "hash" | "passthrough";
  /** True when the bundle was truncated to fit the host's size cap. */
  truncated?: boolean;
  /** Why truncation occurred (e.g., 'events_truncated_to_size_cap'). */
  truncatedReason?: string;
  runStatus?: RunStatus;
  [member: string]: unknown;
}

/**
 * Canonical error response shape returned by every OpenWOP-compliant server on a non-2xx response. See
 * rest-endpoints.md §error-envelope and auth.md §3.
 */
export interface ErrorEnvelope {
  /**
   * Machine-readable error code (e.g., `unauthenticated`, `validation_error`, `not_found`, `run_already_active`,
   * `unsupported_stream_mode`). Servers SHOULD use snake_case; spec-canonical codes are listed in
   * `rest-endpoints.md`.
   */
  error: string;
  /** Human-readable error description. Localizable per `Accept-Language` request header (servers MAY ignore). */
  message: string;
  /**
   * Error-specific contextual data. Schema varies by `error` code — readers MUST tolerate missing/unknown fields
   * (forward-compat). Examples: `{retryAfter: 30}` for rate-limit errors, `{activeRunId, activeHost}` for
   * run_already_active conflicts.
   */
  details?: Record<string, unknown>;
}

/**
 * Persisted event document in the run's append-only event log. Source of truth for run state via projection
 * fold. Canonical OpenWOP v1 event envelope.
 */
export interface RunEventDoc {
  /** Globally unique ID for this event. Generated by appendAtomic before write; consumers MUST treat as opaque. */
  eventId: string;
  /** Run this event belongs to. */
  runId: string;
  /**
   * Set for node-scoped events (node.*, approval.*, clarification.*). Lifted to top-level so projection code can
   * key per-node state machines without payload type coercion.
   */
  nodeId?: string;
  type: RunEventType;
  /**
   * Event-type-specific payload. Servers MAY validate against per-type schemas; this top-level schema accepts any
   * JSON value.
   */
  payload: Record<string, unknown> | unknown[] | string | number | boolean | null;
  /**
   * ISO 8601 timestamp. IO adapters normalize between this canonical form and platform-specific representations
   * (e.g., Firestore Timestamp).
   */
  timestamp: string;
  /** Monotonic per-run sequence. First event is 0; assigned atomically by appendAtomic. */
  sequence: number;
  /**
   * Per-event schema version. Bumped when an individual event type's payload contract changes. Distinct from
   * per-run eventLogSchemaVersion (which describes the subcollection contract). Reader behavior is tolerant —
   * unknown future versions fold best-effort.
   */
  schemaVersion?: number;
  /** Engine version that produced this event. Used by P4 versioning for compatibility checks. */
  engineVersion?: string;
  /**
   * Optional ID of the event that caused this one (e.g., node.completed caused by approval.received). Lets
   * projections build causal chains without inferring from timing.
   */
  causationId?: string;
}

/**
 * Discriminator for event payload shape. Dotted naming convention. New variants extend the union — readers MUST
 * NOT throw on unknown types (forward-compat: fold best-effort, ignore unknowns).
 */
export type RunEventType = "run.started" | "run.completed" | "run.failed" | "run.cancelled" | "run.resuming" | "run.paused" | "run.resumed" | "run.restored-from-snapshot" | "node.started" | "node.completed" | "node.failed" | "node.suspended" | "node.suspend-failed" | "node.resumed" | "node.retried" | "node.skipped" | "node.cancelled" | "approval.requested" | "approval.received" | "clarification.requested" | "clarification.resolved" | "interrupt.requested" | "interrupt.resolved" | "channel.written" | "artifact.created" | "output.chunk" | "variable.changed" | "log.appended" | "version.pinned" | "workflow.restored" | "workflow.loopback-limit" | "workflow.stalled" | "cap.breached" | "lease.acquired" | "lease.renewed" | "lease.lost" | "lease.handed-off" | "replay.diverged" | "agent.reasoned" | "agent.toolCalled" | "agent.toolReturned" | "agent.handoff" | "agent.decided" | "runOrchestrator.decided" | "conversation.opened" | "conversation.exchanged" | "conversation.closed";

/**
 * Reserved keys are typed below; unknown keys pass through verbatim. Implementations declare which keys they
 * consume via `Capabilities.configurable` when advertised.
 */
export interface Configurable {
  /** Override the per-run node-execution ceiling. Server clamps to `Capabilities.limits.maxNodeExecutions`. */
  recursionLimit?: number;
  /**
   * Override the AI model for nodes that consume `ctx.config.configurable.model`. Examples: `gpt-4`,
   * `claude-opus-4-7`, `gemini-2.5-pro`.
   */
  model?: string;
  /** Override AI temperature. Server SHOULD enforce 0..2 range. */
  temperature?: number;
  /** Override AI max-tokens cap. */
  maxTokens?: number;
  /** Per-prompt-ID variant override. Map of canonical prompt ID -> override text. */
  promptOverrides?: Record<string, string>;
  mockProvider?: MockProvider;
  [member: string]: unknown;
}

/**
 * Routes AI activity calls through a deterministic mock provider instead of real LLM APIs. Test-keys-only —
 * server returns 403 mock_provider_forbidden on production keys. See run-options.md §Mock provider extension
 * (closes F1).
 */
export interface MockProvider {
  /**
   * Selects a mock provider from the server's catalog (advertised via `Capabilities.testing.mockProviders`). The
   * spec-canonical baseline `stream-text` MUST be supported for OpenWOP v1.0 conformance; other providers
   * (`tool-calls`, `error`, `usage-only`) are recommended but not required.
   */
  id: string;
  /**
   * Per-provider parameter shape. Each provider documents its own keys; see run-options.md §Canonical mock
   * provider catalog. Common shapes (informative — not enforced at this schema level since providers are
   * pluggable):    - stream-text: { tokens: string[], delayMsPerToken?: integer, finishReason?: string, usage?:
   * object, model?: string }   - tool-calls: { toolCalls: object[], delayMsPerToken?: integer }   - error: { code:
   * string, message: string, retryable?: boolean, failAfterMs?: integer }   - usage-only: { usage: object }
   */
  config?: Record<string, unknown>;
}

/**
 * Projected run state returned by `GET /v1/runs/{runId}`. Source is the run's append-only event log
 * (run-event.schema.json) folded through the `RunProjection`. Forward-compat tolerant: readers MUST ignore
 * unknown fields rather than reject.
 */
export interface RunSnapshot {
  /** Globally unique run identifier. */
  runId: string;
  /** ID of the workflow this run executes. */
  workflowId: string;
  /**
   * Set when the run is suspended at a specific node (`waiting-approval` / `waiting-input`) — identifies which
   * node holds the interrupt.
   */
  currentNodeId?: string;
  startedAt?: string;
  completedAt?: string;
  /**
   * Optional run-level agent identity (Multi-Agent Shift Phase 1). When the run is driven by a single agent, this
   * field carries that agent's `AgentRef`. In supervisor-orchestrated runs (Phase 5), this field rotates as
   * workers hand off — it always carries the active worker for the current node. See `runOrchestrator` for the
   * run-lifetime supervisor identity. Absent for runs with no agent provenance (legacy single-actor host).
   */
  agent?: AgentRef;
  /**
   * Optional orchestrator-supervisor identity (Multi-Agent Shift Phase 5). When set, this agent owns dispatch
   * decisions across the run's lifetime; `runOrchestrator.decided` events emitted during the run carry this
   * agent's `agentId`. Distinct from `agent` — `agent` rotates with each worker; `runOrchestrator` is set at run
   * start (or first `core.orchestrator.supervisor` node) and MUST NOT change for the run's lifetime. In
   * single-agent runs (no supervisor), this field is absent; in supervisor runs both fields MAY co-exist.
   */
  runOrchestrator?: AgentRef;
  /**
   * Per-node state map. Keys are nodeIds; values are implementation-shaped state objects. Spec doesn't constrain
   * the inner shape — see version-negotiation.md §node-states.
   */
  nodeStates?: Record<string, unknown>;
  /** Workflow-level variables (caller-supplied inputs + per-node outputs that survive the projection). */
  variables?: Record<string, unknown>;
  /**
   * Optional typed state channels (see channels-and-reducers.md). Present when the workflow declares channel-aware
   * mode.
   */
  channels?: Record<string, unknown>;
  /** Set on terminal `failed`. Structured so consumers can route on code without parsing message text. */
  error?: {
    code: string;
    message: string;
    details?: Record<string, unknown>;
  };
  /** Engine version the run was started under. Used by the projection for forward-compat folds. */
  engineVersion?: string;
  /** Per-run event-log subcollection schema version. See version-negotiation.md. */
  eventLogSchemaVersion?: number;
  /** Caller-supplied tags from `RunOptions.tags`. */
  tags?: string[];
  /** Caller-supplied metadata from `RunOptions.metadata`. */
  metadata?: Record<string, unknown>;
  /**
   * Per-run overlay from `RunOptions.configurable` (see run-options.md). Reserved keys: `recursionLimit`, `model`,
   * `temperature`, `maxTokens`, `promptOverrides`.
   */
  configurable?: Record<string, unknown>;
  /**
   * Aggregate run-level metrics. Forward-compat: readers MUST tolerate missing/unknown fields. Fields are
   * populated lazily as the engine emits them — absence does NOT mean zero. Implementation-specific fields (e.g.,
   * legacy `cost: number` estimates) MAY appear alongside the spec-canonical fields below.
   */
  metrics?: {
    /**
     * Spec-canonical cost rollup aggregated from per-node `recordCost()` calls. Keys mirror the `openwop.cost.*`
     * OTel attribute allowlist (see `observability.md` §Cost attribution). Named `openwopCost` rather than `cost`
     * because some implementations carry a legacy `metrics.cost: number` estimate that predates the typed rollup;
     * using a distinct name avoids collision. Multi-provider runs report `provider`/`model` of the LAST contributing
     * call; SDKs that need per-call detail SHOULD subscribe to OTel spans instead of reading this rollup.
     */
    openwopCost?: {
      /** Total USD cost across all node-level recordCost emissions. */
      usd?: number;
      tokens?: {
        input?: number;
        output?: number;
      };
      /**
       * Model identifier of the most recent recordCost emission (e.g., `claude-opus-4-7`). For multi-model runs,
       * surfaces the last value.
       */
      model?: string;
      /** Normalized provider name (e.g., `anthropic`, `openai`, `gemini`). */
      provider?: string;
      /** Sum of per-call durations across all recordCost emissions in this run. */
      duration_ms?: number;
    };
  };
  status: RunStatus;
  /** The run whose node started this one. */
  parentRunId?: string;
  parentNodeId?: string;
  childDepth?: number;
  childRuns?: ChildRun[];
  /** true: there are more children than the 1,000 oldest in childRuns; GET /v1/runs?parentRunId= lists all. */
  childRunsTruncated?: boolean;
  fork?: ForkOrigin;
  interrupt?: OpenInterrupt;
  /** Of a completed run: outputs by node. */
  outputs?: Record<string, unknown>;
  [member: string]: unknown;
}

/**
 * Wire format for ctx.interrupt(payload) — the canonical HITL primitive. See spec/v1/interrupt.md for semantics.
 * Discriminated by `kind`. The persisted `interrupt.requested` event carries this payload verbatim plus
 * engine-assigned identity fields.
 */
export interface InterruptPayload {
  /**
   * Discriminator for resume-time routing + UI rendering + observability. Multi-Agent Shift Phase 4 adds
   * `conversation.start` / `conversation.exchange` / `conversation.close` for multi-turn user interjections (see
   * ConversationStartData / ConversationExchangeData / ConversationCloseData below). Phase 1 adds `low-confidence`
   * for the confidence-escalation contract (orchestrator-supervisor suspends below threshold; see
   * LowConfidenceData).
   */
  kind: "approval" | "clarification" | "external-event" | "custom" | "conversation.start" | "conversation.exchange" | "conversation.close" | "low-confidence";
  /**
   * Deterministic key used to short-circuit on re-entry after process death. If two interrupt() calls in the same
   * run emit the same key, the second returns the cached result of the first. Recommended:
   * ${runId}:${nodeId}:${interruptCount}.
   */
  key: string;
  /** Optional JSON Schema for resume value. Servers SHOULD validate before returning to the suspended executor. */
  resumeSchema?: Record<string, unknown>;
  /** Optional auto-reject after this duration. Engine throws InterruptTimeoutError when exceeded. */
  timeoutMs?: number;
  data: ApprovalData | ClarificationData | ExternalEventData | CustomData | ConversationStartData | ConversationExchangeData | ConversationCloseData | LowConfidenceData;
}

/** Payload for kind='approval'. Uses the canonical 5-action OpenWOP approval vocabulary. */
export interface ApprovalData {
  artifactId: string;
  artifactType: string;
  title: string;
  description?: string;
  artifactData?: unknown;
  /**
   * Allowed actions. Server MUST enforce on resolve. The 'ask' action does NOT exit the suspend — Q&A exchanges
   * accumulate via askService until accept/reject/refine/edit-accept fires. See `interrupt.md` §`ApprovalResume`
   * for the action vocabulary + per-action required fields.
   */
  actions: ("accept" | "reject" | "refine" | "edit-accept" | "ask")[];
  /** Multi-approver quorum. */
  requiredApprovals?: number;
  /** Restrict resolution to these user IDs. Empty/unset = any user with approvals:respond scope. */
  approversList?: string[];
  rejectionPolicy?: "single-veto" | "majority";
}

/** Payload for kind='clarification'. AI/system asks the user for missing context before continuing. */
export interface ClarificationData {
  questions: {
    id: string;
    question: string;
    /** Optional JSON Schema for the answer. */
    schema?: Record<string, unknown>;
  }[];
  contextType?: string;
}

/** Payload for kind='external-event'. Engine waits for an external system to POST to /v1/interrupts/{token}. */
export interface ExternalEventData {
  /**
   * Stable description of what's awaited. Surfaced in admin panels. Examples: 'stripe.checkout.completed',
   * 'calendar.event.confirmed'.
   */
  eventType: string;
  /**
   * Opaque correlation payload — whatever the external system needs to match the interrupt back to its source
   * event.
   */
  correlation: Record<string, unknown>;
}

/**
 * Escape hatch for kinds not yet spec'd. Servers MUST accept and persist; UI rendering and admin tooling are
 * best-effort.
 */
export interface CustomData {
  customKind: string;
  payload?: unknown;
}

/**
 * Payload for kind='conversation.start' (Multi-Agent Shift Phase 4). Opens a new multi-turn conversation
 * context. The host mints a `conversationId` and emits `conversation.opened`; subsequent `conversation.exchange`
 * calls reuse the same id.
 */
export interface ConversationStartData {
  /**
   * Opaque conversation identifier. Tenant-unique invariant: hosts MUST ensure no two distinct conversations in
   * the same tenant share an id. Cross-host portability is not normative — `conversationId`s minted by one host
   * MUST NOT be assumed resolvable by another.
   */
  conversationId: string;
  /** Optional human-readable conversation title surfaced in host UIs. */
  title?: string;
  /**
   * Optional system / agent message that opens the conversation. Folds into the `message` reducer as the first
   * turn.
   */
  initialPrompt?: string;
}

/**
 * Payload for kind='conversation.exchange' (Multi-Agent Shift Phase 4). Single-turn suspend within an open
 * conversation; resume value MUST validate against the per-turn `outcomeSchema`.
 */
export interface ConversationExchangeData {
  /** Active conversation identifier — MUST equal the id minted by a preceding `conversation.start`. */
  conversationId: string;
  /** Human-targeted question for this turn. */
  prompt: string;
  /**
   * Optional JSON Schema for the resume value (the user's response). Hosts SHOULD validate before resuming the
   * suspended executor — replay determinism + idempotency require validated outcomes per the Phase-4 H4
   * disposition.
   */
  outcomeSchema?: Record<string, unknown>;
  /**
   * Optional 0-indexed turn within this conversation. Strictly monotonic when populated; absent values are derived
   * host-side from event-log fold.
   */
  turnIndex?: number;
}

/**
 * Payload for kind='conversation.close' (Multi-Agent Shift Phase 4). Terminates an open conversation context.
 * Final event in the conversation lifecycle; no further `conversation.exchanged` events MAY follow for this
 * `conversationId` in this run.
 */
export interface ConversationCloseData {
  conversationId: string;
  /** Optional close rationale (e.g., 'goal-reached', 'max-turns', 'user-cancelled'). */
  reason?: string;
}

/**
 * Payload for kind='low-confidence' (Multi-Agent Shift Phase 1 — confidence-escalation contract). Emitted by an
 * agent (typically `core.orchestrator.supervisor`) when its `agent.decided.confidence` falls below the run's
 * resolved escalation threshold. Run transitions to `'waiting-approval'`; an operator ratifies the decision via
 * the resume path.
 */
export interface LowConfidenceData {
  /** AgentRef.agentId of the agent that suspended. */
  agentId: string;
  /**
   * Resolved escalation threshold for this run (default 0.7 per Phase-1 disposition; per-run override via
   * `RunOptions.configurable.escalationThreshold`).
   */
  threshold: number;
  /** The agent's reported confidence value that triggered the escalation. */
  observed: number;
  /**
   * Optional sketch of the decision the agent WOULD have emitted at threshold-or-above. Lets operators see the
   * un-ratified choice. Shape mirrors `OrchestratorDecision` or the agent's domain-specific decision type.
   */
  decision?: unknown;
}

/**
 * DAG of typed nodes, edges, triggers, and variables that an OpenWOP host executes. Canonical OpenWOP v1
 * workflow-definition shape.
 */
export interface WorkflowDefinition {
  /** Unique workflow identifier. Recommended format: lowercase, hyphen-separated. */
  id: string;
  name: string;
  description?: string;
  /**
   * Semver-like workflow version. Tracked separately from engineVersion + eventLogSchemaVersion (see
   * version-negotiation.md).
   */
  version: string;
  /** Optional category for filtering. */
  type?: string;
  isActive?: boolean;
  status?: "active" | "inactive" | "draft" | "archived";
  /** Optional tenant/workspace scoping. The protocol uses the neutral term `tenantId`. */
  tenantId?: string;
  /** Optional project/scope correlation. The protocol uses the neutral term `scopeId`. */
  scopeId?: string;
  /** URL-friendly slug. */
  slug?: string;
  nodes: WorkflowNode[];
  edges: WorkflowEdge[];
  triggers: WorkflowTrigger[];
  variables: WorkflowVariable[];
  /** Visual node groups (organizational only; do not affect execution). */
  groups?: NodeGroup[];
  /** Optional typed state channels (see channels-and-reducers.md). When present, channel-aware mode applies. */
  channels?: Record<string, ChannelDeclaration>;
  /**
   * Optional JSON Schema 2020-12 declaring which RunOptions.configurable keys this workflow accepts. When present,
   * hosts MUST validate POST /v1/runs `configurable` payloads against this schema and reject mismatches with
   * `validation_error`. Hosts MUST surface this schema on GET /v1/workflows/{workflowId} so clients can
   * pre-flight-validate. See run-options.md §'Per-workflow configurableSchema'. Additive in v1.1.
   */
  configurableSchema?: Record<string, unknown>;
  metadata: WorkflowMetadata;
  settings: WorkflowSettings;
  /** Declares which inherited artifacts this workflow accepts when run as a child of a sub-workflow. */
  acceptsInheritedArtifacts?: Record<string, unknown>[];
  createdAt?: string;
  updatedAt?: string;
}

export interface WorkflowNode {
  id: string;
  /**
   * Canonical node type ID (e.g., 'core.ai.callPrompt', 'core.chat.approvalGate'). Reserved prefixes: 'core.*' for
   * spec-canonical, 'vendor.<org>.*' for third-party.
   */
  typeId: string;
  name: string;
  position: {
    x: number;
    y: number;
  };
  /** Node configuration (pre-execution constants). */
  config: Record<string, unknown>;
  /** Input port connections. Keys are port names; values are PortValue references. */
  inputs: Record<string, PortValue>;
  credentialsRef?: string;
  settings?: Record<string, unknown>;
  disabled?: boolean;
  notes?: string;
  groupId?: string;
  /**
   * Multi-Agent Shift Phase 1. Optional compile-time pinning of which agent executes this node. When set, the
   * engine surfaces this AgentRef on the `RunSnapshot.agent` field while the node is active, and emits an
   * `agent.handoff` event when control transitions from the prior node's agent (if different). Resolution at
   * runtime: the engine MAY override via dispatch (RFC 0012 / `core.dispatch`) or orchestrator decision (RFC
   * 0011); the node's `agent?` is the default authoring-time pin, not a hard binding.
   */
  agent?: AgentRef;
  envelopeContract?: Record<string, unknown>;
  /**
   * Artifact type this node produces or reviews (first-class typed field — replaces the deprecated
   * config.outputArtifactType bag entry).
   */
  artifactType?: string;
  /**
   * Explicit chat card type override (first-class typed field — replaces the deprecated config.chatCard bag
   * entry).
   */
  cardType?: string;
  /**
   * Per-output-port sensitivity overrides. Map of port name → boolean. When true, the engine masks the named
   * output value in `node.completed` event payloads. Layered on top of pack-level
   * `nodes[].outputs[port].sensitive` declarations: workflow-level true takes precedence over pack-level false
   * (and vice versa — last writer wins, but typically pack defaults are conservative and workflow overrides are
   * explicit). See observability.md §Privacy classification (closes O5).
   */
  outputSensitivity?: Record<string, boolean>;
}

export interface WorkflowEdge {
  id: string;
  sourceNodeId: string;
  /** Source output port key. Default 'output'. */
  sourceOutput?: string;
  targetNodeId: string;
  /** Target input port key. Default 'input'. */
  targetInput?: string;
  condition?: EdgeCondition;
  label?: string;
  triggerRule?: "all_success" | "any_success" | "all_complete" | "none_failed" | "any_failed";
}

export interface EdgeCondition {
  type?: "expression" | "equals" | "notEquals" | "contains" | "regex";
  /** Left operand path (e.g., 'status', 'output.approved'). */
  left?: string;
  /** Right operand value (any JSON value). */
  right?: unknown;
  /** Used when type='expression'. */
  expression?: string;
}

export type PortValue = {
  type: "static";
  value: unknown;
} | {
  type: "expression";
  expression: string;
} | {
  type: "connection";
  nodeId: string;
  outputKey: string;
  optional?: boolean;
} | {
  type: "variable";
  variableName: string;
  optional?: boolean;
};

export interface WorkflowTrigger {
  id: string;
  /**
   * Trigger discriminator. The `channel-write` variant fires a node when a named channel receives a write (closes
   * C2 — reactive cross-engine pattern). Its `config` shape: `{channel: string, onlyFrom?: 'child'|'parent'|'any',
   * debounceMs?: integer}`. See channels-and-reducers.md §Distributed reducers.
   */
  type: "manual" | "schedule" | "webhook" | "event" | "artifact" | "canvas" | "envelope" | "command" | "chat-message" | "channel-write";
  name?: string;
  description?: string;
  config?: Record<string, unknown>;
  enabled?: boolean;
  nodeId?: string;
  eventType?: string;
}

export interface WorkflowVariable {
  name: string;
  type: "string" | "number" | "boolean" | "object" | "array";
  description?: string;
  required?: boolean;
  defaultValue?: unknown;
  /**
   * When true, the engine masks this variable's value in persisted `variable.changed` events, `state.snapshot`
   * projections, and `RunSnapshot.variables`. Reads inside NodeModule executors work normally; only persistence +
   * external surfaces mask. See observability.md §Privacy classification (closes O5).
   */
  sensitive?: boolean;
}

export interface NodeGroup {
  id: string;
  name: string;
  color?: string;
  collapsed?: boolean;
  nodeIds: string[];
  position: {
    x: number;
    y: number;
  };
  size: {
    width: number;
    height: number;
  };
}

export interface ChannelDeclaration {
  /**
   * Canonical names: 'replace', 'append', 'merge', 'counter', 'votes', 'feedback', 'message' (Multi-Agent Shift
   * Phase 1 — append-only + idempotent on `messageId`). Custom reducers MUST use 'vendor.<org>.<name>'.
   */
  reducer: string;
  schema?: Record<string, unknown>;
  default?: unknown;
  maxSize?: number;
  /**
   * Optional entry-age TTL in milliseconds (closes C3). Applies to `append` / `votes` / `feedback` reducers;
   * ignored on others. Engine drops entries older than this age (lazy: on read or next write). Range: 1..1 year.
   * Replay-safe — uses original event timestamps for comparison. See channels-and-reducers.md §Channel TTL.
   */
  ttlMs?: number;
  options?: Record<string, unknown>;
  access?: ChannelAccess;
  /**
   * Integer version of the current `schema`. Increments whenever the channel author edits `schema`. Each
   * `channel.written` event records this version at write time. (closes C4)
   */
  schemaVersion?: number;
  /**
   * Older schema versions whose persisted writes are forward-readable under the CURRENT schema. The engine
   * validates each old write against the current schema during fold; pass = include, fail = hard error
   * `channel_schema_breaking_change`. Empty/omitted = no backward compat (any older write trips the
   * breaking-change error). For breaking edits, authors create a new channel name + a copy node — see
   * channels-and-reducers.md §Channel schema migration.
   */
  compatibleWith?: number[];
  /**
   * When true, the engine masks `channel.written` event payloads' `value` field. The reduced channel state in
   * `RunSnapshot.channels` is also masked when read via the REST surface. See observability.md §Privacy
   * classification (closes O5).
   */
  sensitive?: boolean;
}

/**
 * Allowlist entries. Each item matches against the requesting node's `nodeId` (exact) OR `typeId` (wildcard).
 * Wildcard format: dotted prefix + '*' (e.g., 'core.ai.*'). Bare '*' matches any node.
 */
export type ChannelAccessList = string[];

/**
 * Per-channel access control. See channels-and-reducers.md §Channel access control (closes C1). Three forms:
 * 'public' (no restriction; same as omitting), 'private' (lockdown shorthand — equivalent to {readers: [],
 * writers: []}), or an explicit {readers?, writers?} object where each side is independently scoped (omitted =
 * open, present = strict allowlist).
 */
export type ChannelAccess = "public" | "private" | {
  readers?: ChannelAccessList;
  writers?: ChannelAccessList;
};

export interface WorkflowMetadata {
  createdBy?: string;
  createdAt?: string;
  updatedBy?: string;
  updatedAt?: string;
  tags?: string[];
  category?: string;
  author?: string;
  codeVersion?: string;
  customizedAt?: string;
  customizedBy?: string;
  /** ID of platform template this was forked from. */
  forkedFrom?: string;
  /** ID of workflow this was cloned from (project clone, not template fork). */
  clonedFrom?: string;
  clonedAt?: string;
  customProperties?: Record<string, unknown>;
  /**
   * Top-level workflow sensitivity tier. Sets the `openwop.compliance_class` span attribute on every span the run
   * produces. Drives default retention / masking / export-gating policy at observability collectors. See
   * observability.md §Privacy classification (closes O5).
   */
  complianceClass?: "public" | "pii" | "phi" | "pci" | "regulated";
  /**
   * Optional per-workflow overrides for compliance behavior. The masking mode (`mask` | `omit` | `hash` |
   * `passthrough`) defaults to the server's `Capabilities.compliance.defaultMode`; setting it here forces a
   * specific mode for this workflow. Domain-specific extensions (HIPAA's 18 PHI identifiers, GDPR special
   * categories) can live here as opt-in fields.
   */
  complianceConfig?: {
    /** Per-workflow override of the server's default masking mode. */
    maskingMode?: "mask" | "omit" | "hash" | "passthrough";
    [member: string]: unknown;
  };
}

export interface WorkflowSettings {
  /** Maximum run duration in milliseconds. */
  timeout?: number;
  maxRetries?: number;
  logLevel?: "debug" | "info" | "warn" | "error";
  maxLoopbackIterations?: number;
}

export interface HostIndex {
  name: string;
  discovery: string;
  openapi: string;
  documentation: string;
}

export interface OpenApiDocument {
  openapi: string;
  info: Record<string, unknown>;
  paths: Record<string, unknown>;
  components: Record<string, unknown>;
}

/** A workflow definition, however wrong. */
export type AnyDefinition = Record<string, unknown>;

export interface Finding {
  /** error: cannot work, or is surely misspelt. */
  severity: "error" | "warning";
  /** JSON pointer into the definition. */
  path: string;
  message: string;
  /** What stands there, when it is short. */
  value?: unknown;
  /** What may stand there. */
  choices?: string[];
  /** What was probably meant. */
  nearest?: string;
}

export interface WorkflowCheck {
  /** true: no errors. */
  valid: boolean;
  errors: number;
  warnings: number;
  findings: Finding[];
  workflowId?: string;
  version?: string;
  nodes?: number;
  edges?: number;
}

export interface WorkflowStored {
  workflowId: string;
  /** As the definition names it. */
  version: string;
  /** The how manyth text under this id. */
  revision: number;
  /** SHA-256 of the canonical form. */
  hash: string;
  result: "created" | "updated" | "unchanged";
  findings: Finding[];
}

export interface WorkflowDeleted {
  workflowId: string;
  deleted: boolean;
}

export interface WorkflowSummary {
  workflowId: string;
  version: string;
  hash: string;
  /** true: of all tenants. */
  shared: boolean;
  /** It is a document in this language, whose nodes and edges are a projection; absent: a workflow. */
  language?: "workspec";
  createdAt: string;
  updatedAt: string;
}

export interface WorkflowList {
  workflows: WorkflowSummary[];
  /** There are further ones: pass this as after. */
  nextAfter?: string;
}

export interface WorkflowVersion {
  revision: number;
  version: string;
  hash: string;
  createdAt: string;
  /** Id of the key. */
  createdBy?: string;
  current: boolean;
}

export interface WorkflowVersions {
  versions: WorkflowVersion[];
  /** There are older ones: pass this as below. */
  nextBelow?: number;
}

export interface NodeType {
  typeId: string;
  summary?: string;
  /** JSON Schema of its arguments, which come from config or from input ports; absent: anything goes. */
  config?: Record<string, unknown>;
  outputs?: Record<string, string>;
  /** config and inputs of a node. */
  example?: Record<string, unknown>;
  /** true: workers execute it. */
  worker?: boolean;
  /** The pack that brings it, NAME@VERSION. */
  pack?: string;
  /** Of a type of a pack: whether this host executes its language. */
  executable?: boolean;
  /** JSON Schema of what a worker is given. */
  inputSchema?: unknown;
  /** JSON Schema of what a worker returns. */
  outputSchema?: unknown;
}

export interface NodeTypeList {
  nodes: NodeType[];
  /** There are further ones: pass this as after. */
  nextAfter?: string;
}

/** A WorkSpec 2.0 document. */
export type WorkspecDocument = Record<string, unknown>;

/** A JSON Schema (2020-12). */
export type JsonSchema = Record<string, unknown>;

export interface WorkspecProblem {
  type: string;
  title: string;
  severity: "error" | "warning" | "info";
  detail: string;
  /** JSON pointer into the document. */
  instance: string;
  metric_id: string;
  context: Record<string, unknown>;
  suggestions: string[];
}

export interface WorkspecCounts {
  error: number;
  warning: number;
  info: number;
}

export interface WorkspecVerdict {
  /** No problem is an error. */
  ok: boolean;
  profile: "host" | "reference";
  counts: WorkspecCounts;
  problems: WorkspecProblem[];
}

export interface WorkspecStored {
  workflowId: string;
  revision: number;
  result: "created" | "updated" | "unchanged";
  documentSha256: string;
  planSha256: string;
  ok: boolean;
  profile: string;
  counts: WorkspecCounts;
  problems: WorkspecProblem[];
}

/** Times in milliseconds from day 1, 00:00. */
export interface WorkspecPlan {
  anchorDate?: string;
  offsetMin?: number;
  originMs: number;
  entries: Record<string, unknown>[];
  documentSha256: string;
  planSha256: string;
}

/** What an agent is. Of systemPrompt and systemPromptRef exactly one is there. */
export interface AgentManifest {
  /**
   * A tier (core, vendor, community, private or local) and at least two more parts, with dots between. An id of
   * the tier local must exist when a run starts that is pinned to it.
   */
  agentId: string;
  persona: string;
  modelClass: "reasoning" | "writing" | "coding" | "research" | "classification" | "general";
  systemPrompt?: string;
  /** Name of a file of the definition. */
  systemPromptRef?: string;
  /** Tools that it may call: openwop:<tool>, mcp:<tool> or <vendor>.<host>:<tool>. Absent: none. */
  toolAllowlist?: string[];
  memoryShape?: {
    scratchpad?: boolean;
    conversation?: boolean;
    longTerm?: boolean;
  };
  confidence?: {
    defaultThreshold?: number;
  };
  handoff?: {
    /** Name of a file: the JSON Schema that inputs of a node fit. */
    taskSchemaRef?: string;
    /** Name of a file: the JSON Schema that outputs of a node fit; of vendor.wopr.agent, its answer. */
    returnSchemaRef?: string;
  };
  label?: string;
  description?: string;
}

export interface AgentDefinition {
  manifest: AgentManifest;
  /** Texts of the files that the manifest names. */
  files?: Record<string, string>;
}

export interface AgentCheck {
  /** true: no errors. */
  valid: boolean;
  errors: number;
  warnings: number;
  findings: Finding[];
  agentId?: string;
}

export interface AgentStored {
  agentId: string;
  /** Grows with each change; none is given twice. */
  revision: number;
  /** SHA-256 of the canonical form of the definition. */
  hash: string;
  result: "created" | "updated" | "unchanged";
  findings: Finding[];
}

export interface AgentDeleted {
  agentId: string;
  deleted: boolean;
}

export interface AgentSummary {
  agentId: string;
  revision: number;
  hash: string;
  createdAt: string;
  updatedAt: string;
  /** Id of the key that stored it last. */
  createdBy?: string;
  persona: string;
  modelClass: string;
  label?: string;
}

export interface AgentList {
  agents: AgentSummary[];
  /** There are further ones: pass this as after. */
  nextAfter?: string;
}

export interface Agent {
  agentId: string;
  revision: number;
  hash: string;
  createdAt: string;
  updatedAt: string;
  createdBy?: string;
  definition: AgentDefinition;
}

export interface RunAgents {
  runId: string;
  /** Digest of the set, as run.started has it; absent: there are none. */
  agentSet?: string;
  /** Definitions by id. */
  agents: Record<string, AgentDefinition>;
}

export interface AgentExport {
  manifests: AgentManifest[];
  /** There are further ones: pass this as after. */
  nextAfter?: string;
}

export type RunStatus = "pending" | "running" | "paused" | "waiting-approval" | "waiting-input" | "waiting-external" | "completed" | "failed" | "cancelled";

export type ForkMode = "replay" | "branch";

/** Where a fork comes from. */
export interface ForkOrigin {
  sourceRunId: string;
  fromSeq: number;
  mode: ForkMode;
}

export interface ChildRun {
  runId: string;
  status: RunStatus;
  nodeId: string;
}

/** What a waiting run waits for. Token and callback are shown to callers with approvals:respond. */
export interface OpenInterrupt {
  interruptId: string;
  nodeId: string;
  kind: string;
  key: string;
  /** What is asked, as in interrupt.requested. */
  data?: Record<string, unknown>;
  requestedAt: string;
  expiresAt?: string;
  interruptToken?: string;
  callbackUrl?: string;
}

export interface CreateRunRequest {
  workflowId: string;
  inputs?: Record<string, unknown>;
  /** Only compared with the tenant of the key. */
  tenantId?: string;
  scopeId?: string;
  callbackUrl?: string;
  configurable?: Configurable;
  tags?: string[];
  metadata?: Record<string, unknown>;
}

export interface RunAccepted {
  runId: string;
  status: "pending" | "running" | "waiting-approval" | "waiting-input";
  eventsUrl: string;
  statusUrl: string;
  /** Inputs that the workflow does not declare; they were dropped. */
  warnings?: InputWarning[];
}

export interface InputWarning {
  /** inputs.NAME */
  path: string;
  reason: "undeclared";
  /** The declared input that was probably meant. */
  nearest?: string;
}

export interface RunSummary {
  runId: string;
  workflowId: string;
  status: RunStatus;
  createdAt: string;
  startedAt?: string;
  completedAt?: string;
  fork?: ForkOrigin;
  parentRunId?: string;
  tags?: string[];
  engineVersion: string;
  /** The host that has an unfinished run in its hands, as lease events name it. */
  host?: string;
}

export interface RunList {
  runs: RunSummary[];
  /** There are older runs: pass this as before. */
  nextBefore?: string;
}

export interface EventPage {
  events: RunEventDoc[];
  /** The run has ended and this reaches its last event. */
  isComplete: boolean;
}

export interface CancelRequest {
  reason?: string;
}

export interface CancelAnswer {
  runId: string;
  /** cancelling, or the status of a run that had ended. */
  status: "cancelling" | "cancelled" | "completed" | "failed";
}

export interface PauseRequest {
  reason?: string;
  drainPolicy?: "immediate" | "drain-current-node";
}

export interface PauseAnswer {
  runId: string;
  status: "paused";
  pausedAt: string;
}

export interface ResumeRequest {
  reason?: string;
}

export interface ResumeAnswer {
  runId: string;
  status: "running";
  resumedAt: string;
}

export interface ForkRequest {
  /** Events before this sequence are kept as they are. */
  fromSeq?: number;
  mode: ForkMode;
  runOptionsOverlay?: ForkOverlay;
}

/** With mode branch: what the fork does differently. */
export interface ForkOverlay {
  inputs?: Record<string, unknown>;
  configurable?: Configurable;
  tags?: string[];
  metadata?: Record<string, unknown>;
}

export interface ForkAccepted {
  runId: string;
  sourceRunId: string;
  fromSeq: number;
  mode: ForkMode;
  status: string;
  eventsUrl: string;
}

export interface Artifact {
  artifactId: string;
  artifactType: string;
  runId: string;
  nodeId?: string;
  version?: string;
  summary?: string;
  body?: unknown;
}

export interface ResolveRequest {
  /** What the interrupt's schema asks for. */
  resumeValue: unknown;
}

/** {resumeValue}, or the resume value itself. */
export type ResolveAliasRequest = Record<string, unknown>;

export interface ResolveAnswer {
  runId: string;
  nodeId: string;
  interruptId: string;
  status: RunStatus;
}

export interface PendingInterrupt {
  interruptId: string;
  runId: string;
  workflowId: string;
  nodeId: string;
  kind: string;
  key: string;
  requestedAt: string;
  ageMs: number;
  expiresAt?: string;
  statusUrl: string;
  resolveUrl: string;
}

export interface PendingInterruptList {
  interrupts: PendingInterrupt[];
  /** There are more: pass this as cursor. */
  nextCursor?: string;
}

export type StreamTicketRequest = Record<string, unknown>;

export interface StreamTicket {
  ticket: string;
  expiresAt: string;
  eventsUrl: string;
}

export interface RunCallback {
  interruptId: string;
  nodeId: string;
  /** Of the event that asked. */
  sequence: number;
  /** answered: before it could be sent. */
  state: "pending" | "sent" | "given-up" | "answered";
  attempts: number;
  lastStatus?: number;
  lastError?: string;
  lastAttemptAt?: string;
  nextAttemptAt?: string;
}

export interface RunCallbackList {
  callbacks: RunCallback[];
  nextAfter?: number;
}

export interface Operations {
  hosts: OperationsHost[];
  /** false: there are more unfinished runs than are counted by host. */
  runsCounted: boolean;
  /** The samples that /metrics of the operations port shows, in its order. */
  metrics: MetricSample[];
}

export interface OperationsHost {
  name: string;
  /** It is the host that answers. */
  self: boolean;
  /** dead: its process is gone, and its runs are about to be taken over. */
  state: "alive" | "dead" | "unknown";
  /** Unfinished runs that it holds. */
  runs: number;
  /** Silence after which others take its runs. */
  leaseMs: number;
  /** By its clock, to be shown only. */
  leasedUntil?: string;
}

export interface MetricSample {
  name: string;
  labels?: Record<string, string>;
  value: number;
}

export interface Caller {
  keyId?: string;
  subject?: string;
  tenant: string;
  /** Runs of the other mode are not seen. */
  mode: "live" | "test";
  scopes: string[];
  /** Of a token of an issuer. */
  expiresAt?: string;
  /** The host: name, version, vendor. */
  implementation: Record<string, unknown>;
}

export interface RunDefinition {
  runId: string;
  /** Events in its log now; the sequence of the next one. */
  events: number;
  logBytes: number;
  /** As it was stored when the run was created, whatever was put since. */
  definition: Record<string, unknown>;
}

export interface WorkerTypeRequest {
  typeId: string;
  /** JSON Schema 2020-12 of the inputs. */
  inputSchema?: Record<string, unknown>;
  /** JSON Schema 2020-12 of the output. */
  outputSchema?: Record<string, unknown>;
  description?: string;
}

export interface WorkerType {
  typeId: string;
  revision: number;
  /** This request changed something. */
  changed?: boolean;
  inputSchema?: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  description?: string;
  tasks?: WorkerQueue;
  registeredAt: string;
  updatedAt: string;
}

/** In lists: tasks that are ready and leased; of many, at least 1,000. */
export interface WorkerQueue {
  ready: number;
  leased: number;
  /** There are more than were counted. */
  more?: boolean;
  oldestReadyAt?: string;
}

export interface WorkerTypeList {
  workerTypes: WorkerType[];
  /** There are more: pass this as after. */
  nextAfter?: string;
}

export type WorkerTypeRemoval = Record<string, unknown>;

export interface WorkerTypeRemoved {
  typeId: string;
  removed: boolean;
}

export interface ClaimRequest {
  types: string[];
  max?: number;
  leaseMs?: number;
  waitMs?: number;
  worker?: string;
}

export interface TaskAnswer {
  ordinal: number;
  interruptId: string;
  kind: string;
  value?: unknown;
  action?: string;
  decidedBy?: string;
}

export interface Task {
  taskId: string;
  epoch: number;
  leaseMs: number;
  leaseUntil: string;
  typeId: string;
  runId: string;
  workflowId: string;
  nodeId: string;
  attempt: number;
  idempotencyKey: string;
  input: Record<string, unknown>;
  config: Record<string, unknown>;
  answers: TaskAnswer[];
}

export interface ClaimAnswer {
  tasks: Task[];
  /** Types of the request that nobody has registered. */
  unregistered?: string[];
}

export interface HeartbeatRequest {
  /** Of the lease, from the claim. */
  epoch: number;
  leaseMs?: number;
}

export interface HeartbeatAnswer {
  taskId: string;
  epoch: number;
  state: "leased" | "cancelled";
  leaseMs?: number;
  leaseUntil?: string;
  reason?: string;
}

export interface CompleteRequest {
  /** Of the lease, from the claim. */
  epoch: number;
  output?: Record<string, unknown>;
}

export interface TaskError {
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

export interface FailRequest {
  /** Of the lease, from the claim. */
  epoch: number;
  error: TaskError;
  retryable?: boolean;
}

export interface AskRequest {
  /** Of the lease, from the claim. */
  epoch: number;
  /** approval, clarification, external-event or custom. */
  kind: string;
  data?: Record<string, unknown>;
  resumeSchema?: Record<string, unknown>;
  timeoutMs?: number;
}

export interface TaskChunk {
  text: string;
  isLast?: boolean;
  meta?: Record<string, unknown>;
}

export interface TaskProgress {
  percent?: number;
  message?: string;
}

export interface EmitRequest {
  /** Of the lease, from the claim. */
  epoch: number;
  chunks?: TaskChunk[];
  progress?: TaskProgress;
  /** Counted up by the worker within its lease: a call that was taken in before appends nothing. */
  number?: number;
}

export interface TaskSummary {
  taskId: string;
  state: TaskState;
  typeId: string;
  runId: string;
  workflowId: string;
  nodeId: string;
  attempt: number;
  /** Leases given so far. */
  epoch: number;
  leasesLost: number;
  /** What it holds in the database. */
  bytes: number;
  readyAt: string;
  /** Who has it, as it said in its claim. */
  worker?: string;
  leaseMs?: number;
  leaseUntil?: string;
  endedAt?: string;
  reason?: string;
}

export type TaskState = "ready" | "leased" | "held" | "answered" | "lost" | "completed" | "failed" | "asked" | "cancelled";

export interface TaskList {
  tasks: TaskSummary[];
  /** There are more: pass this as cursor. A page may hold fewer than limit, also none. */
  nextCursor?: string;
}

export interface TaskSaid {
  taskId: string;
  state: "completed" | "failed" | "asked" | "leased";
  interruptId?: string;
}

export interface WebhookRequest {
  /** https, of a public host. */
  url: string;
  /** Names of RunEventTypes. */
  events: string[];
  /** Only runs with one of these tags. */
  tags?: string[];
  /** The text that signs; absent: the host makes one. */
  secret?: string;
  /** The caller's tenant, for clients that name it. */
  tenantId?: string;
}

export interface WebhookRegistered {
  webhookId: string;
  /** Shown by this answer only. */
  secret: string;
  /** The first eight hexadecimal digits of its SHA-256. */
  secretFingerprint: string;
  signatureAlgorithm: "v1";
}

export interface Webhook {
  webhookId: string;
  url: string;
  events: string[];
  tags?: string[];
  secretFingerprint: string;
  /** Of its circuit breaker; failed: stopped for good. */
  state: "closed" | "open" | "half-open" | "failed";
  openUntil?: string;
  delivered: number;
  /** Given up, since the registration. */
  deadLetters: number;
  /** Commits that a full backlog lost. */
  dropped: number;
  /** Commits whose events are still to be delivered. */
  pending: number;
  pendingSince?: string;
  /** Failed ones of the event that is next. */
  attempts?: number;
  nextAttemptAt?: string;
  lastStatus?: number;
  lastError?: string;
  lastAttemptAt?: string;
  createdAt: string;
  /** Id of the API key. */
  createdBy?: string;
}

export interface WebhookList {
  webhooks: Webhook[];
  /** There are more: pass this as after. */
  nextAfter?: number;
}

export interface WebhookDeadLetter {
  /** Absent: retention removed the run first. */
  runId?: string;
  sequence: number;
  /** With runId absent: the sequence after the last. */
  untilSequence?: number;
  eventType?: string;
  attempts: number;
  lastStatus?: number;
  reason: string;
  deadLetteredAt: string;
  expiresAt: string;
}

export interface WebhookDeadLetters {
  deliveries: WebhookDeadLetter[];
  /** There are more: pass this as below. */
  nextBelow?: number;
}

export type WebhookRetry = Record<string, unknown>;

export interface WebhookRetried {
  webhookId: string;
  /** Dead letters that are delivered again; at most 1,000 in one request. */
  queued: number;
}

/** A gzip'd tar with pack.json at its root, at most 10 MiB. */
export type PackTarball = string;

export interface PackDeprecated {
  deprecated: boolean;
  reason: string;
  supersededBy?: string;
  deprecatedAt: string;
  /** Id of the key. */
  deprecatedBy: string;
}

export interface PackYanked {
  reason: string;
  advisoryUrl?: string;
  yankedAt: string;
  /** Id of the key. */
  yankedBy: string;
}

export interface PackRelease {
  tarballUrl: string;
  tarballSha256: string;
  manifestUrl: string;
  publishedAt: string;
  /** A key of the namespace vouched for it when it was published. */
  signed: boolean;
  signingMethod: "manual" | "none";
  keyId?: string;
  sizeBytes: number;
  deprecation?: PackDeprecated;
  yanked?: PackYanked;
}

export interface PackCatalog {
  name: string;
  description?: string;
  versions: Record<string, PackRelease>;
  "dist-tags": Record<string, string>;
  /** The highest that is neither a prerelease nor yanked; absent: there is none. */
  latest?: string;
}

/** The members of pack.json, and those of PackRelease beside them. */
export interface PackVersion {
  name: string;
  version: string;
  tarballUrl?: string;
  tarballSha256: string;
  publishedAt: string;
  signed: boolean;
  signingMethod?: "manual" | "none";
  warnings?: string[];
  deprecation?: PackDeprecated;
  yanked?: PackYanked;
}

export interface PackSearch {
  results: PackFound[];
  nextCursor?: string;
}

export interface PackFound {
  name: string;
  description?: string;
}

export interface PackKey {
  kid: string;
  algorithm: "ed25519";
  /** base64 of the SubjectPublicKeyInfo. */
  publicKey: string;
  validFrom: string;
  validUntil?: string;
  rotatedFrom?: string;
  rotatedTo?: string;
  rotationProof?: string;
  revokedAt?: string;
}

export interface PackKeychain {
  namespace: string;
  keys: PackKey[];
}

export interface PackKeyRotation {
  kid: string;
  publicKey: string;
  validFrom: string;
  /** base64 of the old key's signature over kid, publicKey and validFrom, joined. */
  rotationProof: string;
}

export interface PackDeprecation {
  reason: string;
  supersededBy?: string;
}

export interface PackYank {
  reason: string;
  advisoryUrl?: string;
}

export interface PackChanged {
  name: string;
  version: string;
  unpublished?: boolean;
  deprecation?: PackDeprecated;
  yanked?: PackYanked;
}

export interface PackInstalled {
  name: string;
  version: string;
  description?: string;
  integrity?: string;
  origin?: string;
  installedAt?: string;
  nodes: Record<string, unknown>[];
  agents: AgentManifest[];
}

export interface PackInstalledList {
  packs: PackInstalled[];
}

export interface AuditReport {
  fromSeq: number;
  toSeq: number;
  chainValid: boolean;
  checkpoints: AuditCheckpoint[];
  anomalies: AuditAnomaly[];
}

export interface AuditCheckpoint {
  checkpoint: string;
  /** The last entry that it covers. */
  atSequence: number;
  /** RFC 6962 tree hash over the canonical entries 0 to atSequence, in hex. */
  merkleRoot: string;
  /** Ed25519 over the ASCII bytes of merkleRoot, base64. */
  signature: string;
  keyId: string;
  /** Of the key before, while a new one takes over. */
  oldSignature?: string;
  oldKeyId?: string;
  ts: string;
}

export interface AuditAnomaly {
  atSeq: number;
  /** Hash of the entry before; at a checkpoint the root that was signed. */
  expectedPrevHash: string | null;
  /** What the entry says; at a checkpoint the root of the entries that are there. */
  actualPrevHash: string | null;
  message?: string;
}

/** One message of JSON-RPC 2.0. Nothing is answered to a notification (202). */
export interface McpMessage {
  jsonrpc: "2.0";
  /** A string or an integer; null in the answer to what could not be read. */
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: Record<string, unknown>;
}

/** What is wrong with the message is said in JSON-RPC, what is wrong with the request in the envelope. */
export type McpFailure = ErrorEnvelope | McpMessage;

export interface ProtectedResource {
  resource: string;
  resource_name?: string;
  resource_documentation?: string;
  /** Absent: only API keys of this host are taken. */
  authorization_servers?: string[];
  bearer_methods_supported: string[];
  scopes_supported: string[];
}

export interface SessionRow {
  sessionId: string;
  sessionTitle: string;
  workflowId?: string;
  workflowHash?: string;
  /** Also the run that shows the session. */
  runId?: string;
  status?: "in_progress" | "blocked" | "complete" | "complete_with_gaps";
  health: "healthy" | "corrupt_tail" | "corrupt_head" | "unknown_version";
  healthReason?: Record<string, unknown>;
  /** Damaged: what is shown is what was good before. */
  salvage: boolean;
  nodeCount?: number;
  edgeCount?: number;
  tipCount?: number;
  hasUnresolvedGaps?: boolean;
  recapSnippet: string;
  gitBranch?: string;
  repoRoot?: string;
  eventCount: number;
  keep: boolean;
  lastModifiedMs: number;
}

export interface SessionList {
  sessions: SessionRow[];
  /** There may be more: pass it as below. */
  nextBelow?: string;
}

export interface Session {
  sessionId: string;
  health: string;
  healthReason?: Record<string, unknown>;
  salvage: boolean;
  runs: Record<string, unknown>[];
  /** Runs of this API that show it, one for each branch. */
  shownBy: Record<string, unknown>[];
}

export interface SessionNode {
  nodeId: string;
  nodeKind: "step" | "checkpoint" | "blocked_attempt";
  recapMarkdown: string;
  preferences: Record<string, unknown>;
}

export interface SessionBundle {
  bundleSchemaVersion: number;
  bundleId: string;
  exportedAt: string;
  producer: Record<string, unknown>;
  integrity: Record<string, unknown>;
  session: Record<string, unknown>;
}

export interface SessionImported {
  sessionId: string;
  /** Under an id of its own. */
  importedAsNew: boolean;
  /** false: the very session was here. */
  created: boolean;
}

export interface SessionWorkflows {
  workflows: Record<string, unknown>[];
}

export interface SessionBuiltins {
  capabilities: string[];
  contracts: Record<string, unknown>[];
  features: Record<string, unknown>[];
  refs: Record<string, unknown>[];
  templates: Record<string, unknown>[];
}

export interface SessionConfigWorkflow {
  workflowId: string;
  workflowHash: string;
}

export interface SessionConfigApplied {
  /** After its last change a session is removed; 0: never. */
  retentionMs: number;
  /** Offered over MCP. */
  tools: string[];
  workflows: SessionConfigWorkflow[];
}

export interface SessionConfig {
  applied: SessionConfigApplied;
  /** SHA-256 of the canonical bytes of applied: equal on hosts that offer the same. */
  appliedConfigHash: string;
  desired?: SessionConfigApplied;
  /** In place of desired, which is what a start now would apply: why it would be refused. */
  desiredProblem?: string;
  /** The folder of workflows has changed since the start. */
  restartRequired: boolean;
}

/** The document itself: a source or a compiled form. */
export type SessionWorkflow = Record<string, unknown>;

/** Query parameters of `listWorkflows`. */
export interface ListWorkflowsQuery {
  /** Entries per page. */
  limit?: number;
  /** Workflows after this id: nextAfter of the page before. */
  after?: string;
}

/** Query parameters of `putWorkflow`. */
export interface PutWorkflowQuery {
  /** Store it although the check finds errors, as long as the host can compile it. */
  force?: boolean;
  /**
   * Store it only if this is the revision that is stored now, 0: only if none is; else 409 with details.revision.
   * The text that is stored already is no conflict.
   */
  ifRevision?: number;
}

/** Query parameters of `listWorkflowVersions`. */
export interface ListWorkflowVersionsQuery {
  /** Entries per page. */
  limit?: number;
  /** Versions below this revision: nextBelow of the page before. */
  below?: number;
}

/** Query parameters of `listNodeTypes`. */
export interface ListNodeTypesQuery {
  /** Entries per page. */
  limit?: number;
  /** Types of workers after this id: nextAfter of the page before. */
  after?: string;
}

/** Query parameters of `validateWorkspec`. */
export interface ValidateWorkspecQuery {
  /** host: as for runs of this host; reference: as the public validator. */
  profile?: "host" | "reference";
}

/** Query parameters of `putWorkspecDocument`. */
export interface PutWorkspecDocumentQuery {
  /**
   * Store it only if this is the revision that is stored now, 0: only if none is; else 409 with details.revision.
   * The text that is stored already is no conflict.
   */
  ifRevision?: number;
}

/** Query parameters of `listAgents`. */
export interface ListAgentsQuery {
  /** Entries per page. */
  limit?: number;
  /** Agents after this id: nextAfter of the page before. */
  after?: string;
}

/** Query parameters of `putAgent`. */
export interface PutAgentQuery {
  /**
   * Only if this is the revision that is stored now, 0: only if none is; else 409 with details.revision. A
   * definition that is stored already is no conflict.
   */
  ifRevision?: number;
}

/** Query parameters of `deleteAgent`. */
export interface DeleteAgentQuery {
  /**
   * Only if this is the revision that is stored now, 0: only if none is; else 409 with details.revision. A
   * definition that is stored already is no conflict.
   */
  ifRevision?: number;
}

/** Query parameters of `exportAgents`. */
export interface ExportAgentsQuery {
  /** Entries per page. */
  limit?: number;
  /** Agents after this id: nextAfter of the page before. */
  after?: string;
}

/** Query parameters of `listRuns`. */
export interface ListRunsQuery {
  /** Only runs with this tag. */
  tag?: string;
  /** Only runs with this status. */
  status?: RunStatus;
  /** Only runs of this workflow. */
  workflowId?: string;
  /** Only forks of this run. */
  forkOf?: string;
  /** Only runs that nodes of this run started. */
  parentRunId?: string;
  /** Entries per page. */
  limit?: number;
  /** Runs older than this run: nextBefore of the page before. */
  before?: string;
}

/** Query parameters of `streamRunEvents`. */
export interface StreamRunEventsQuery {
  /** One mode, or several separated by commas; values stands alone. */
  streamMode?: string;
  /** Collect events for this many milliseconds and send them as batches. */
  bufferMs?: number;
  /** Host extension: as Last-Event-ID, for clients that cannot set headers. */
  lastEventId?: string;
  /** Host extension: a stream ticket instead of the credential. */
  ticket?: string;
}

/** Query parameters of `pollRunEvents`. */
export interface PollRunEventsQuery {
  /** Return events with a greater sequence; absent = all. */
  lastSequence?: number;
  /** Seconds to wait for new events. */
  timeout?: number;
}

/** Query parameters of `resolveInterruptByRun`. */
export interface ResolveInterruptByRunQuery {
  /** The interrupt that is meant (an extension of this host): 409 when the node asks another one by now. */
  interruptId?: string;
}

/** Query parameters of `resolveApprovalAlias`. */
export interface ResolveApprovalAliasQuery {
  /** The interrupt that is meant (an extension of this host): 409 when the node asks another one by now. */
  interruptId?: string;
}

/** Query parameters of `listInterrupts`. */
export interface ListInterruptsQuery {
  /** Only interrupts of this kind. */
  kind?: string;
  /** Only interrupts of this run. */
  runId?: string;
  /** Only interrupts of runs that this subject created. */
  ownerUserId?: string;
  /** Entries per page. */
  limit?: number;
  /** nextCursor of the page before. */
  cursor?: string;
}

/** Query parameters of `listRunCallbacks`. */
export interface ListRunCallbacksQuery {
  /** Entries per page. */
  limit?: number;
  /** nextAfter of the page before. */
  after?: number;
}

/** Query parameters of `getOperations`. */
export interface GetOperationsQuery {
  /** Names of metrics, separated by commas; without it, all. A histogram is named without _bucket, _sum and _count. */
  metrics?: string;
}

/** Query parameters of `listWorkerTypes`. */
export interface ListWorkerTypesQuery {
  /** Entries per page. */
  limit?: number;
  /** nextAfter of the page before. */
  after?: string;
}

/** Query parameters of `listTasks`. */
export interface ListTasksQuery {
  /** Entries per page. */
  limit?: number;
  /** Only tasks of this type. */
  type?: string;
  /** Only tasks in this state. */
  status?: "ready" | "leased" | "held" | "answered" | "lost";
  /** nextCursor of the page before. */
  cursor?: string;
}

/** Query parameters of `unregisterWebhook`. */
export interface UnregisterWebhookQuery {
  /** The caller's tenant, for clients that name it. */
  tenantId?: string;
}

/** Query parameters of `listWebhooks`. */
export interface ListWebhooksQuery {
  /** Entries per page. */
  limit?: number;
  /** nextAfter of the page before. */
  after?: number;
}

/** Query parameters of `listWebhookDeadLetters`. */
export interface ListWebhookDeadLettersQuery {
  /** Entries per page. */
  limit?: number;
  /** nextBelow of the page before. */
  below?: number;
}

/** Query parameters of `searchPacks`. */
export interface SearchPacksQuery {
  /** Words; a pack has all of them. Absent or empty: any pack. */
  q?: string;
  /** Entries per page. */
  limit?: number;
  /** nextCursor of the page before. */
  cursor?: string;
}

/** Query parameters of `verifyAuditLog`. */
export interface VerifyAuditLogQuery {
  /** First entry; without it, 0. */
  fromSeq?: number;
  /**
   * Last entry, not before fromSeq; without it, or beyond the end, the last one. A call looks at 100,000 entries
   * at most: toSeq of the answer says where it ended.
   */
  toSeq?: number;
}

/** Query parameters of `listSessions`. */
export interface ListSessionsQuery {
  /** Sessions at most. */
  limit?: number;
  /** Sessions after this place: nextBelow of the page before. */
  below?: string;
  status?: "in_progress" | "blocked" | "complete" | "complete_with_gaps";
  health?: "healthy" | "corrupt_tail" | "corrupt_head" | "unknown_version";
  workflowId?: string;
}

/** Query parameters of `exportSession`. */
export interface ExportSessionQuery {
  /** With the bytes of its artifacts. */
  artifacts?: boolean;
  /** Of a damaged session what is good before the damage. */
  salvage?: boolean;
}

/** Query parameters of `importSession`. */
export interface ImportSessionQuery {
  /** When another session here has the id: import under a new one. */
  rename?: boolean;
}

/** Query parameters of `getSessionWorkflow`. */
export interface GetSessionWorkflowQuery {
  view?: "source" | "compiled" | "pinned";
  /** With view=pinned: workflowHash of a session. */
  hash?: string;
}

/** What the host mounts: `{name}` in a path is a parameter. */
export const operations = {
  getIndex: { method: "GET", path: "/", idempotent: false },
  getCapabilities: { method: "GET", path: "/.well-known/openwop", idempotent: false },
  getOpenApiSpec: { method: "GET", path: "/v1/openapi.json", idempotent: false },
  getWorkflow: { method: "GET", path: "/v1/workflows/{workflowId}", idempotent: false },
  listWorkflows: { method: "GET", path: "/v1/host/wopr/workflows", idempotent: false },
  putWorkflow: { method: "PUT", path: "/v1/host/wopr/workflows/{workflowId}", idempotent: false },
  deleteWorkflow: { method: "DELETE", path: "/v1/host/wopr/workflows/{workflowId}", idempotent: false },
  checkWorkflow: { method: "POST", path: "/v1/host/wopr/workflows:check", idempotent: false },
  listWorkflowVersions: { method: "GET", path: "/v1/host/wopr/workflows/{workflowId}/versions", idempotent: false },
  getWorkflowVersion: { method: "GET", path: "/v1/host/wopr/workflows/{workflowId}/versions/{revision}", idempotent: false },
  listNodeTypes: { method: "GET", path: "/v1/host/wopr/nodes", idempotent: false },
  getNodeType: { method: "GET", path: "/v1/host/wopr/nodes/{typeId}", idempotent: false },
  validateWorkspec: { method: "POST", path: "/v1/workspec/validate", idempotent: false },
  planWorkspec: { method: "POST", path: "/v1/workspec/plan", idempotent: false },
  getWorkspecSchema: { method: "GET", path: "/v1/workspec/schema", idempotent: false },
  getWorkspecDocument: { method: "GET", path: "/v1/workspec/documents/{workflowId}", idempotent: false },
  putWorkspecDocument: { method: "PUT", path: "/v1/workspec/documents/{workflowId}", idempotent: false },
  deleteWorkspecDocument: { method: "DELETE", path: "/v1/workspec/documents/{workflowId}", idempotent: false },
  getWorkspecPlan: { method: "GET", path: "/v1/workspec/documents/{workflowId}/plan", idempotent: false },
  listAgents: { method: "GET", path: "/v1/host/wopr/agents", idempotent: false },
  getAgent: { method: "GET", path: "/v1/host/wopr/agents/{agentId}", idempotent: false },
  putAgent: { method: "PUT", path: "/v1/host/wopr/agents/{agentId}", idempotent: false },
  deleteAgent: { method: "DELETE", path: "/v1/host/wopr/agents/{agentId}", idempotent: false },
  checkAgent: { method: "POST", path: "/v1/host/wopr/agents:check", idempotent: false },
  getRunAgents: { method: "GET", path: "/v1/host/wopr/runs/{runId}/agents", idempotent: false },
  exportAgents: { method: "GET", path: "/v1/packs/export", idempotent: false },
  createRun: { method: "POST", path: "/v1/runs", idempotent: true },
  listRuns: { method: "GET", path: "/v1/runs", idempotent: false },
  getRun: { method: "GET", path: "/v1/runs/{runId}", idempotent: false },
  getDebugBundle: { method: "GET", path: "/v1/runs/{runId}/debug-bundle", idempotent: false },
  streamRunEvents: { method: "GET", path: "/v1/runs/{runId}/events", idempotent: false },
  pollRunEvents: { method: "GET", path: "/v1/runs/{runId}/events/poll", idempotent: false },
  cancelRun: { method: "POST", path: "/v1/runs/{runId}/cancel", idempotent: true },
  cancelRunAlias: { method: "POST", path: "/v1/runs/{runId}:cancel", idempotent: true },
  pauseRun: { method: "POST", path: "/v1/runs/{runId}:pause", idempotent: true },
  resumeRun: { method: "POST", path: "/v1/runs/{runId}:resume", idempotent: true },
  forkRun: { method: "POST", path: "/v1/runs/{runId}:fork", idempotent: true },
  getArtifact: { method: "GET", path: "/v1/runs/{runId}/artifacts/{artifactId}", idempotent: false },
  resolveInterruptByRun: { method: "POST", path: "/v1/runs/{runId}/interrupts/{nodeId}", idempotent: true },
  resolveApprovalAlias: { method: "POST", path: "/v1/runs/{runId}/approvals/{nodeId}", idempotent: true },
  inspectInterruptByToken: { method: "GET", path: "/v1/interrupts/{token}", idempotent: false },
  resolveInterruptByToken: { method: "POST", path: "/v1/interrupts/{token}", idempotent: true },
  listInterrupts: { method: "GET", path: "/v1/host/wopr/interrupts", idempotent: false },
  mintStreamTicket: { method: "POST", path: "/v1/host/wopr/runs/{runId}/stream-ticket", idempotent: false },
  listRunCallbacks: { method: "GET", path: "/v1/host/wopr/runs/{runId}/callbacks", idempotent: false },
  getCaller: { method: "GET", path: "/v1/host/wopr/caller", idempotent: false },
  getRunDefinition: { method: "GET", path: "/v1/host/wopr/runs/{runId}/definition", idempotent: false },
  getOperations: { method: "GET", path: "/v1/host/wopr/operations", idempotent: false },
  registerWorkerType: { method: "POST", path: "/v1/host/wopr/worker-types", idempotent: false },
  listWorkerTypes: { method: "GET", path: "/v1/host/wopr/worker-types", idempotent: false },
  removeWorkerType: { method: "POST", path: "/v1/host/wopr/worker-types/{typeId}:remove", idempotent: false },
  claimTasks: { method: "POST", path: "/v1/host/wopr/tasks:claim", idempotent: false },
  heartbeatTask: { method: "POST", path: "/v1/host/wopr/tasks/{taskId}:heartbeat", idempotent: false },
  completeTask: { method: "POST", path: "/v1/host/wopr/tasks/{taskId}:complete", idempotent: false },
  failTask: { method: "POST", path: "/v1/host/wopr/tasks/{taskId}:fail", idempotent: false },
  askTask: { method: "POST", path: "/v1/host/wopr/tasks/{taskId}:ask", idempotent: false },
  emitTask: { method: "POST", path: "/v1/host/wopr/tasks/{taskId}:emit", idempotent: false },
  listTasks: { method: "GET", path: "/v1/host/wopr/tasks", idempotent: false },
  getTask: { method: "GET", path: "/v1/host/wopr/tasks/{taskId}", idempotent: false },
  registerWebhook: { method: "POST", path: "/v1/webhooks", idempotent: true },
  unregisterWebhook: { method: "DELETE", path: "/v1/webhooks/{webhookId}", idempotent: false },
  listWebhooks: { method: "GET", path: "/v1/host/wopr/webhooks", idempotent: false },
  getWebhook: { method: "GET", path: "/v1/host/wopr/webhooks/{webhookId}", idempotent: false },
  listWebhookDeadLetters: { method: "GET", path: "/v1/host/wopr/webhooks/{webhookId}/dead-letters", idempotent: false },
  retryWebhook: { method: "POST", path: "/v1/host/wopr/webhooks/{webhookId}:retry", idempotent: false },
  listPacks: { method: "GET", path: "/v1/packs", idempotent: false },
  searchPacks: { method: "GET", path: "/v1/packs/-/search", idempotent: false },
  getPack: { method: "GET", path: "/v1/packs/{name}", idempotent: false },
  getPackIndex: { method: "GET", path: "/v1/packs/{name}/index.json", idempotent: false },
  getPackKeychain: { method: "GET", path: "/v1/packs/{name}/-/keychain", idempotent: false },
  rotatePackKey: { method: "POST", path: "/v1/packs/{name}/-/keychain/rotate", idempotent: false },
  getPackFile: { method: "GET", path: "/v1/packs/{name}/-/{file}", idempotent: false },
  publishPack: { method: "PUT", path: "/v1/packs/{name}/-/{file}", idempotent: false },
  unpublishPack: { method: "DELETE", path: "/v1/packs/{name}/-/{file}", idempotent: false },
  deprecatePack: { method: "POST", path: "/v1/packs/{name}/-/{file}/deprecate", idempotent: false },
  undeprecatePack: { method: "DELETE", path: "/v1/packs/{name}/-/{file}/deprecate", idempotent: false },
  yankPack: { method: "POST", path: "/v1/packs/{name}/-/{file}/yank", idempotent: false },
  unyankPack: { method: "DELETE", path: "/v1/packs/{name}/-/{file}/yank", idempotent: false },
  verifyAuditLog: { method: "GET", path: "/v1/audit/verify", idempotent: false },
  callMcp: { method: "POST", path: "/v1/mcp", idempotent: false },
  getResourceMetadata: { method: "GET", path: "/.well-known/oauth-protected-resource/v1/mcp", idempotent: false },
  getHostResourceMetadata: { method: "GET", path: "/.well-known/oauth-protected-resource", idempotent: false },
  listSessions: { method: "GET", path: "/v1/x-workrail/sessions", idempotent: false },
  getSession: { method: "GET", path: "/v1/x-workrail/sessions/{sessionId}", idempotent: false },
  getSessionNode: { method: "GET", path: "/v1/x-workrail/sessions/{sessionId}/nodes/{sessionNodeId}", idempotent: false },
  exportSession: { method: "GET", path: "/v1/x-workrail/sessions/{sessionId}/bundle", idempotent: false },
  importSession: { method: "POST", path: "/v1/x-workrail/bundles", idempotent: false },
  listSessionWorkflows: { method: "GET", path: "/v1/x-workrail/workflows", idempotent: false },
  getSessionWorkflow: { method: "GET", path: "/v1/x-workrail/workflows/{sessionWorkflowId}", idempotent: false },
  listSessionBuiltins: { method: "GET", path: "/v1/x-workrail/builtins", idempotent: false },
  getSessionConfig: { method: "GET", path: "/v1/x-workrail/config", idempotent: false },
} as const;

export type OperationId = keyof typeof operations;
