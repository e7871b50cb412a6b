"""The wire of a host: its types and its operations.  Made by tools/clients.py from api/host; do not edit."""
from __future__ import annotations

from typing import Any, Dict, List, Literal, NamedTuple, NotRequired, TypedDict, Union


class AgentRef(TypedDict):
    """Slim wire-shape projection of an agent's identity. Carried on `RunSnapshot.agent` (the active worker for a
    run), `RunSnapshot.runOrchestrator` (the supervisor identity for the run's lifetime), `WorkflowNode.agent`
    (compile-time pinning), and the `agent.*` event family's payload `agentId` field. Distinct from
    `AgentManifest` (which is the pack-distribution descriptor for an agent definition — see
    `agent-manifest.schema.json`); `AgentRef` is the runtime projection, not the definition.
    """

    agentId: str
    name: NotRequired[str]
    modelClass: NotRequired[Literal["reasoning", "tool-using", "chat", "code", "vision", "multimodal", "embedding", "classification", "retrieval"]]
    memoryRef: NotRequired[str]
    version: NotRequired[str]
    sourceManifestId: NotRequired[str]


class CapabilitiesLimits(TypedDict):
    """Hard limits enforced by the engine. See capabilities.md §3."""

    clarificationRounds: int
    schemaRounds: int
    envelopesPerTurn: int
    maxNodeExecutions: NotRequired[int]


class CapabilitiesImplementation(TypedDict):
    """Optional v1 server identity (name + version + vendor)."""

    name: NotRequired[str]
    version: NotRequired[str]
    vendor: NotRequired[str]


class CapabilitiesSecrets(TypedDict):
    """Optional v1 secret/credential resolution advertisement. Clients gate BYOK flows on this. Hosts that don't
    store credentials return `supported: false`.
    """

    supported: bool
    scopes: NotRequired[List[Literal["tenant", "user", "run"]]]
    resolution: NotRequired[Literal["host-managed"]]


class CapabilitiesAiProvidersPolicies(TypedDict):
    """Optional v1 host-side policy enforcement modes for per-provider gating. Omitted → no enforcement; clients see
    only `optional` semantics. When present, MUST declare `modes` — an empty `{}` is not a valid third state. See
    `capabilities.md` §`aiProviders.policies`.
    """

    modes: List[Literal["disabled", "optional", "required", "restricted"]]
    scopes: NotRequired[List[str]]
    errorCode: NotRequired[str]


class CapabilitiesAiProviders(TypedDict):
    """Optional v1 companion to `secrets`. Advertises which AI providers the host's AI-proxy can route to and which
    permit BYOK.
    """

    supported: NotRequired[List[str]]
    byok: NotRequired[List[str]]
    policies: NotRequired[CapabilitiesAiProvidersPolicies]


class CapabilitiesTestingForceEngineVersionRange(TypedDict):
    """Range of engine versions the server can be forced into via the `X-Force-Engine-Version` request header
    (test-keys-only). Used by the conformance suite to verify forward-compat fold-best-effort across the
    version-negotiation matrix. Closes F5.
    """

    min: int
    max: int


class CapabilitiesTesting(TypedDict):
    """Testing-mode capabilities advertised to clients (closes F1). Lets conformance suites + dev clients discover
    which mock providers the server supports and which API-key prefix denotes test keys (since mock providers are
    test-keys-only).
    """

    mockProviders: NotRequired[List[str]]
    testKeyPrefix: NotRequired[str]
    forceEngineVersionRange: NotRequired[CapabilitiesTestingForceEngineVersionRange]


class CapabilitiesAgentsReasoning(TypedDict):
    """Phase 1 reasoning-event verbosity configuration."""

    verbosity: NotRequired[Literal["summary", "full", "off"]]
    tokenLimit: NotRequired[int]


class CapabilitiesAgents(TypedDict):
    """Multi-Agent Shift capability block (Phases 1-6). Hosts that implement any multi-agent surface declare it here;
    pre-MAS hosts omit the block entirely (consumers treat as 'no agent support'). Each field gates a specific
    conformance scenario class; conformance scenarios skip honestly when the host's advertisement doesn't claim
    the capability.
    """

    supported: NotRequired[bool]
    profile: NotRequired[str]
    modelClasses: NotRequired[List[Literal["reasoning", "tool-using", "chat", "code", "vision", "multimodal", "embedding", "classification", "retrieval"]]]
    orchestratorPattern: NotRequired[str]
    memoryBackends: NotRequired[List[Literal["long-term"]]]
    orchestrator: NotRequired[bool]
    dispatch: NotRequired[bool]
    reasoning: NotRequired[CapabilitiesAgentsReasoning]


class CapabilitiesCompliance(TypedDict):
    """Privacy / compliance behavior advertised to clients (closes O5). Lets consumers know what masking mode is in
    effect so a `"[REDACTED]"` value in event log payloads is recognizable as a server-side mask vs an upstream
    null.
    """

    defaultMode: NotRequired[Literal["mask", "omit", "hash", "passthrough"]]
    supportedClasses: NotRequired[List[Literal["public", "pii", "phi", "pci", "regulated"]]]


class Capabilities(TypedDict):
    """openwop capability declaration returned from `GET /.well-known/openwop`. Required v1 fields identify the
    protocol version, envelope catalog, schema versions, and base limits. Optional v1 fields have stable shapes
    but MAY be omitted when unsupported.
    """

    protocolVersion: str
    supportedEnvelopes: List[str]
    schemaVersions: Dict[str, int]
    limits: CapabilitiesLimits
    extensions: NotRequired[Dict[str, Any]]
    implementation: NotRequired[CapabilitiesImplementation]
    engineVersion: NotRequired[int]
    eventLogSchemaVersion: NotRequired[int]
    supportedTransports: NotRequired[List[Literal["rest", "mcp", "a2a", "grpc"]]]
    configurable: NotRequired[Dict[str, Any]]
    observability: NotRequired[Dict[str, Any]]
    minClientVersion: NotRequired[str]
    secrets: NotRequired[CapabilitiesSecrets]
    runtimeCapabilities: NotRequired[List[str]]
    aiProviders: NotRequired[CapabilitiesAiProviders]
    testing: NotRequired[CapabilitiesTesting]
    fixtures: NotRequired[List[str]]
    agents: NotRequired[CapabilitiesAgents]
    conversationPrimitive: NotRequired[bool]
    compliance: NotRequired[CapabilitiesCompliance]


class RunDebugBundleHost(TypedDict):
    """Identifies the host that produced the bundle."""

    name: str
    version: str
    vendor: NotRequired[str]


class RunDebugBundleRunError2(TypedDict):
    code: str
    message: NotRequired[str]


class RunDebugBundleRun(TypedDict):
    """Run snapshot — same shape as GET /v1/runs/{runId}. See run-snapshot.schema.json."""

    runId: str
    workflowId: str
    status: Literal["pending", "running", "completed", "failed", "cancelled", "waiting-approval", "waiting-clarification"]
    startedAt: NotRequired[str]
    endedAt: NotRequired[Union[str, None]]
    error: NotRequired[Union[None, RunDebugBundleRunError2]]
    inputs: NotRequired[Dict[str, Any]]
    variables: NotRequired[Dict[str, Any]]
    currentNodeId: NotRequired[Union[str, None]]
    nodeStates: NotRequired[Dict[str, Any]]
    metrics: NotRequired[Dict[str, Any]]


class RunDebugBundleEventsItem(TypedDict):
    sequence: NotRequired[Union[int, None]]
    seq: NotRequired[Union[int, None]]
    type: NotRequired[str]
    timestamp: NotRequired[str]
    nodeId: NotRequired[Union[str, None]]
    data: NotRequired[Any]


class RunDebugBundleSpansItem(TypedDict):
    name: str
    spanId: NotRequired[str]
    parentSpanId: NotRequired[Union[str, None]]
    startedAt: NotRequired[str]
    endedAt: NotRequired[Union[str, None]]
    attributes: NotRequired[Dict[str, Any]]


class RunDebugBundleMetricsOpenwopCost2Tokens(TypedDict):
    input: NotRequired[int]
    output: NotRequired[int]


class RunDebugBundleMetricsOpenwopCost2(TypedDict):
    usd: NotRequired[float]
    tokens: NotRequired[RunDebugBundleMetricsOpenwopCost2Tokens]
    model: NotRequired[str]
    provider: NotRequired[str]
    duration_ms: NotRequired[float]


class RunDebugBundleMetrics(TypedDict):
    """Aggregate metrics for the run."""

    openwopCost: NotRequired[Union[None, RunDebugBundleMetricsOpenwopCost2]]
    nodeCount: NotRequired[int]
    eventCount: NotRequired[int]


class RunDebugBundle(TypedDict):
    """Portable JSON export of a single run's diagnostic state. See spec/v1/debug-bundle.md. Additive over v1 per
    COMPATIBILITY.md §2.1: optional endpoint; hosts MAY omit.
    """

    bundleVersion: str
    generatedAt: str
    host: RunDebugBundleHost
    run: RunDebugBundleRun
    events: List[RunDebugBundleEventsItem]
    spans: NotRequired[List[RunDebugBundleSpansItem]]
    metrics: NotRequired[RunDebugBundleMetrics]
    redactionApplied: bool
    redactionMode: Literal["mask", "omit", "hash", "passthrough"]
    truncated: NotRequired[bool]
    truncatedReason: NotRequired[str]
    runStatus: NotRequired[RunStatus]


class ErrorEnvelope(TypedDict):
    """Canonical error response shape returned by every OpenWOP-compliant server on a non-2xx response. See
    rest-endpoints.md §error-envelope and auth.md §3.
    """

    error: str
    message: str
    details: NotRequired[Dict[str, Any]]


class RunEventDoc(TypedDict):
    """Persisted event document in the run's append-only event log. Source of truth for run state via projection
    fold. Canonical OpenWOP v1 event envelope.
    """

    eventId: str
    runId: str
    nodeId: NotRequired[str]
    type: RunEventType
    payload: Union[Dict[str, Any], List[Any], str, float, bool, None]
    timestamp: str
    sequence: int
    schemaVersion: NotRequired[int]
    engineVersion: NotRequired[str]
    causationId: NotRequired[str]


RunEventType = Literal["run.started", "run.completed", "run.failed", "run.cancelled", "run.resuming", "run.paused", "run.resumed", "run.restored-from-snapshot", "node.started", "node.completed", "node.failed", "node.suspended", "node.suspend-failed", "node.resumed", "node.retried", "node.skipped", "node.cancelled", "approval.requested", "approval.received", "clarification.requested", "clarification.resolved", "interrupt.requested", "interrupt.resolved", "channel.written", "artifact.created", "output.chunk", "variable.changed", "log.appended", "version.pinned", "workflow.restored", "workflow.loopback-limit", "workflow.stalled", "cap.breached", "lease.acquired", "lease.renewed", "lease.lost", "lease.handed-off", "replay.diverged", "agent.reasoned", "agent.toolCalled", "agent.toolReturned", "agent.handoff", "agent.decided", "runOrchestrator.decided", "conversation.opened", "conversation.exchanged", "conversation.closed"]


class Configurable(TypedDict):
    """Reserved keys are typed below; unknown keys pass through verbatim. Implementations declare which keys they
    consume via `Capabilities.configurable` when advertised.
    """

    recursionLimit: NotRequired[int]
    model: NotRequired[str]
    temperature: NotRequired[float]
    maxTokens: NotRequired[int]
    promptOverrides: NotRequired[Dict[str, str]]
    mockProvider: NotRequired[MockProvider]


class MockProvider(TypedDict):
    """Routes AI activity calls through a deterministic mock provider instead of real LLM APIs. Test-keys-only —
    server returns 403 mock_provider_forbidden on production keys. See run-options.md §Mock provider extension
    (closes F1).
    """

    id: str
    config: NotRequired[Dict[str, Any]]


class RunSnapshotError(TypedDict):
    """Set on terminal `failed`. Structured so consumers can route on code without parsing message text."""

    code: str
    message: str
    details: NotRequired[Dict[str, Any]]


class RunSnapshotMetricsOpenwopCostTokens(TypedDict):
    input: NotRequired[int]
    output: NotRequired[int]


class RunSnapshotMetricsOpenwopCost(TypedDict):
    """Spec-canonical cost rollup aggregated from per-node `recordCost()` calls. Keys mirror the `openwop.cost.*`
    OTel attribute allowlist (see `observability.md` §Cost attribution). Named `openwopCost` rather than `cost`
    because some implementations carry a legacy `metrics.cost: number` estimate that predates the typed rollup;
    using a distinct name avoids collision. Multi-provider runs report `provider`/`model` of the LAST contributing
    call; SDKs that need per-call detail SHOULD subscribe to OTel spans instead of reading this rollup.
    """

    usd: NotRequired[float]
    tokens: NotRequired[RunSnapshotMetricsOpenwopCostTokens]
    model: NotRequired[str]
    provider: NotRequired[str]
    duration_ms: NotRequired[int]


class RunSnapshotMetrics(TypedDict):
    """Aggregate run-level metrics. Forward-compat: readers MUST tolerate missing/unknown fields. Fields are
    populated lazily as the engine emits them — absence does NOT mean zero. Implementation-specific fields (e.g.,
    legacy `cost: number` estimates) MAY appear alongside the spec-canonical fields below.
    """

    openwopCost: NotRequired[RunSnapshotMetricsOpenwopCost]


class RunSnapshot(TypedDict):
    """Projected run state returned by `GET /v1/runs/{runId}`. Source is the run's append-only event log
    (run-event.schema.json) folded through the `RunProjection`. Forward-compat tolerant: readers MUST ignore
    unknown fields rather than reject.
    """

    runId: str
    workflowId: str
    currentNodeId: NotRequired[str]
    startedAt: NotRequired[str]
    completedAt: NotRequired[str]
    agent: NotRequired[AgentRef]
    runOrchestrator: NotRequired[AgentRef]
    nodeStates: NotRequired[Dict[str, Any]]
    variables: NotRequired[Dict[str, Any]]
    channels: NotRequired[Dict[str, Any]]
    error: NotRequired[RunSnapshotError]
    engineVersion: NotRequired[str]
    eventLogSchemaVersion: NotRequired[int]
    tags: NotRequired[List[str]]
    metadata: NotRequired[Dict[str, Any]]
    configurable: NotRequired[Dict[str, Any]]
    metrics: NotRequired[RunSnapshotMetrics]
    status: RunStatus
    parentRunId: NotRequired[str]
    parentNodeId: NotRequired[str]
    childDepth: NotRequired[int]
    childRuns: NotRequired[List[ChildRun]]
    childRunsTruncated: NotRequired[bool]
    fork: NotRequired[ForkOrigin]
    interrupt: NotRequired[OpenInterrupt]
    outputs: NotRequired[Dict[str, Any]]


class InterruptPayload(TypedDict):
    """Wire format for ctx.interrupt(payload) — the canonical HITL primitive. See spec/v1/interrupt.md for semantics.
    Discriminated by `kind`. The persisted `interrupt.requested` event carries this payload verbatim plus
    engine-assigned identity fields.
    """

    kind: Literal["approval", "clarification", "external-event", "custom", "conversation.start", "conversation.exchange", "conversation.close", "low-confidence"]
    key: str
    resumeSchema: NotRequired[Dict[str, Any]]
    timeoutMs: NotRequired[int]
    data: Union[ApprovalData, ClarificationData, ExternalEventData, CustomData, ConversationStartData, ConversationExchangeData, ConversationCloseData, LowConfidenceData]


class ApprovalData(TypedDict):
    """Payload for kind='approval'. Uses the canonical 5-action OpenWOP approval vocabulary."""

    artifactId: str
    artifactType: str
    title: str
    description: NotRequired[str]
    artifactData: NotRequired[Any]
    actions: List[Literal["accept", "reject", "refine", "edit-accept", "ask"]]
    requiredApprovals: NotRequired[int]
    approversList: NotRequired[List[str]]
    rejectionPolicy: NotRequired[Literal["single-veto", "majority"]]


class ClarificationDataQuestionsItem(TypedDict):
    id: str
    question: str
    schema: NotRequired[Dict[str, Any]]


class ClarificationData(TypedDict):
    """Payload for kind='clarification'. AI/system asks the user for missing context before continuing."""

    questions: List[ClarificationDataQuestionsItem]
    contextType: NotRequired[str]


class ExternalEventData(TypedDict):
    """Payload for kind='external-event'. Engine waits for an external system to POST to /v1/interrupts/{token}."""

    eventType: str
    correlation: Dict[str, Any]


class CustomData(TypedDict):
    """Escape hatch for kinds not yet spec'd. Servers MUST accept and persist; UI rendering and admin tooling are
    best-effort.
    """

    customKind: str
    payload: NotRequired[Any]


class ConversationStartData(TypedDict):
    """Payload for kind='conversation.start' (Multi-Agent Shift Phase 4). Opens a new multi-turn conversation
    context. The host mints a `conversationId` and emits `conversation.opened`; subsequent `conversation.exchange`
    calls reuse the same id.
    """

    conversationId: str
    title: NotRequired[str]
    initialPrompt: NotRequired[str]


class ConversationExchangeData(TypedDict):
    """Payload for kind='conversation.exchange' (Multi-Agent Shift Phase 4). Single-turn suspend within an open
    conversation; resume value MUST validate against the per-turn `outcomeSchema`.
    """

    conversationId: str
    prompt: str
    outcomeSchema: NotRequired[Dict[str, Any]]
    turnIndex: NotRequired[int]


class ConversationCloseData(TypedDict):
    """Payload for kind='conversation.close' (Multi-Agent Shift Phase 4). Terminates an open conversation context.
    Final event in the conversation lifecycle; no further `conversation.exchanged` events MAY follow for this
    `conversationId` in this run.
    """

    conversationId: str
    reason: NotRequired[str]


class LowConfidenceData(TypedDict):
    """Payload for kind='low-confidence' (Multi-Agent Shift Phase 1 — confidence-escalation contract). Emitted by an
    agent (typically `core.orchestrator.supervisor`) when its `agent.decided.confidence` falls below the run's
    resolved escalation threshold. Run transitions to `'waiting-approval'`; an operator ratifies the decision via
    the resume path.
    """

    agentId: str
    threshold: float
    observed: float
    decision: NotRequired[Any]


class WorkflowDefinition(TypedDict):
    """DAG of typed nodes, edges, triggers, and variables that an OpenWOP host executes. Canonical OpenWOP v1
    workflow-definition shape.
    """

    id: str
    name: str
    description: NotRequired[str]
    version: str
    type: NotRequired[str]
    isActive: NotRequired[bool]
    status: NotRequired[Literal["active", "inactive", "draft", "archived"]]
    tenantId: NotRequired[str]
    scopeId: NotRequired[str]
    slug: NotRequired[str]
    nodes: List[WorkflowNode]
    edges: List[WorkflowEdge]
    triggers: List[WorkflowTrigger]
    variables: List[WorkflowVariable]
    groups: NotRequired[List[NodeGroup]]
    channels: NotRequired[Dict[str, ChannelDeclaration]]
    configurableSchema: NotRequired[Dict[str, Any]]
    metadata: WorkflowMetadata
    settings: WorkflowSettings
    acceptsInheritedArtifacts: NotRequired[List[Dict[str, Any]]]
    createdAt: NotRequired[str]
    updatedAt: NotRequired[str]


class WorkflowNodePosition(TypedDict):
    x: float
    y: float


class WorkflowNode(TypedDict):
    id: str
    typeId: str
    name: str
    position: WorkflowNodePosition
    config: Dict[str, Any]
    inputs: Dict[str, PortValue]
    credentialsRef: NotRequired[str]
    settings: NotRequired[Dict[str, Any]]
    disabled: NotRequired[bool]
    notes: NotRequired[str]
    groupId: NotRequired[str]
    agent: NotRequired[AgentRef]
    envelopeContract: NotRequired[Dict[str, Any]]
    artifactType: NotRequired[str]
    cardType: NotRequired[str]
    outputSensitivity: NotRequired[Dict[str, bool]]


class WorkflowEdge(TypedDict):
    id: str
    sourceNodeId: str
    sourceOutput: NotRequired[str]
    targetNodeId: str
    targetInput: NotRequired[str]
    condition: NotRequired[EdgeCondition]
    label: NotRequired[str]
    triggerRule: NotRequired[Literal["all_success", "any_success", "all_complete", "none_failed", "any_failed"]]


class EdgeCondition(TypedDict):
    type: NotRequired[Literal["expression", "equals", "notEquals", "contains", "regex"]]
    left: NotRequired[str]
    right: NotRequired[Any]
    expression: NotRequired[str]


class PortValue1(TypedDict):
    type: Literal["static"]
    value: Any


class PortValue2(TypedDict):
    type: Literal["expression"]
    expression: str


class PortValue3(TypedDict):
    type: Literal["connection"]
    nodeId: str
    outputKey: str
    optional: NotRequired[bool]


class PortValue4(TypedDict):
    type: Literal["variable"]
    variableName: str
    optional: NotRequired[bool]


PortValue = Union[PortValue1, PortValue2, PortValue3, PortValue4]


class WorkflowTrigger(TypedDict):
    id: str
    type: Literal["manual", "schedule", "webhook", "event", "artifact", "canvas", "envelope", "command", "chat-message", "channel-write"]
    name: NotRequired[str]
    description: NotRequired[str]
    config: NotRequired[Dict[str, Any]]
    enabled: NotRequired[bool]
    nodeId: NotRequired[str]
    eventType: NotRequired[str]


class WorkflowVariable(TypedDict):
    name: str
    type: Literal["string", "number", "boolean", "object", "array"]
    description: NotRequired[str]
    required: NotRequired[bool]
    defaultValue: NotRequired[Any]
    sensitive: NotRequired[bool]


class NodeGroupPosition(TypedDict):
    x: float
    y: float


class NodeGroupSize(TypedDict):
    width: float
    height: float


class NodeGroup(TypedDict):
    id: str
    name: str
    color: NotRequired[str]
    collapsed: NotRequired[bool]
    nodeIds: List[str]
    position: NodeGroupPosition
    size: NodeGroupSize


class ChannelDeclaration(TypedDict):
    reducer: str
    schema: NotRequired[Dict[str, Any]]
    default: NotRequired[Any]
    maxSize: NotRequired[int]
    ttlMs: NotRequired[int]
    options: NotRequired[Dict[str, Any]]
    access: NotRequired[ChannelAccess]
    schemaVersion: NotRequired[int]
    compatibleWith: NotRequired[List[int]]
    sensitive: NotRequired[bool]


ChannelAccessList = List[str]


class ChannelAccess3(TypedDict):
    readers: NotRequired[ChannelAccessList]
    writers: NotRequired[ChannelAccessList]


ChannelAccess = Union[Literal["public"], Literal["private"], ChannelAccess3]


class WorkflowMetadataComplianceConfig(TypedDict):
    """Optional per-workflow overrides for compliance behavior. The masking mode (`mask` | `omit` | `hash` |
    `passthrough`) defaults to the server's `Capabilities.compliance.defaultMode`; setting it here forces a
    specific mode for this workflow. Domain-specific extensions (HIPAA's 18 PHI identifiers, GDPR special
    categories) can live here as opt-in fields.
    """

    maskingMode: NotRequired[Literal["mask", "omit", "hash", "passthrough"]]


class WorkflowMetadata(TypedDict):
    createdBy: NotRequired[str]
    createdAt: NotRequired[str]
    updatedBy: NotRequired[str]
    updatedAt: NotRequired[str]
    tags: NotRequired[List[str]]
    category: NotRequired[str]
    author: NotRequired[str]
    codeVersion: NotRequired[str]
    customizedAt: NotRequired[str]
    customizedBy: NotRequired[str]
    forkedFrom: NotRequired[str]
    clonedFrom: NotRequired[str]
    clonedAt: NotRequired[str]
    customProperties: NotRequired[Dict[str, Any]]
    complianceClass: NotRequired[Literal["public", "pii", "phi", "pci", "regulated"]]
    complianceConfig: NotRequired[WorkflowMetadataComplianceConfig]


class WorkflowSettings(TypedDict):
    timeout: NotRequired[int]
    maxRetries: NotRequired[int]
    logLevel: NotRequired[Literal["debug", "info", "warn", "error"]]
    maxLoopbackIterations: NotRequired[int]


class HostIndex(TypedDict):
    name: str
    discovery: str
    openapi: str
    documentation: str


class OpenApiDocument(TypedDict):
    openapi: str
    info: Dict[str, Any]
    paths: Dict[str, Any]
    components: Dict[str, Any]


AnyDefinition = Dict[str, Any]


class Finding(TypedDict):
    severity: Literal["error", "warning"]
    path: str
    message: str
    value: NotRequired[Any]
    choices: NotRequired[List[str]]
    nearest: NotRequired[str]


class WorkflowCheck(TypedDict):
    valid: bool
    errors: int
    warnings: int
    findings: List[Finding]
    workflowId: NotRequired[str]
    version: NotRequired[str]
    nodes: NotRequired[int]
    edges: NotRequired[int]


class WorkflowStored(TypedDict):
    workflowId: str
    version: str
    revision: int
    hash: str
    result: Literal["created", "updated", "unchanged"]
    findings: List[Finding]


class WorkflowDeleted(TypedDict):
    workflowId: str
    deleted: bool


class WorkflowSummary(TypedDict):
    workflowId: str
    version: str
    hash: str
    shared: bool
    language: NotRequired[Literal["workspec"]]
    createdAt: str
    updatedAt: str


class WorkflowList(TypedDict):
    workflows: List[WorkflowSummary]
    nextAfter: NotRequired[str]


class WorkflowVersion(TypedDict):
    revision: int
    version: str
    hash: str
    createdAt: str
    createdBy: NotRequired[str]
    current: bool


class WorkflowVersions(TypedDict):
    versions: List[WorkflowVersion]
    nextBelow: NotRequired[int]


class NodeType(TypedDict):
    typeId: str
    summary: NotRequired[str]
    config: NotRequired[Dict[str, Any]]
    outputs: NotRequired[Dict[str, str]]
    example: NotRequired[Dict[str, Any]]
    worker: NotRequired[bool]
    pack: NotRequired[str]
    executable: NotRequired[bool]
    inputSchema: NotRequired[Any]
    outputSchema: NotRequired[Any]


class NodeTypeList(TypedDict):
    nodes: List[NodeType]
    nextAfter: NotRequired[str]


WorkspecDocument = Dict[str, Any]


JsonSchema = Dict[str, Any]


class WorkspecProblem(TypedDict):
    type: str
    title: str
    severity: Literal["error", "warning", "info"]
    detail: str
    instance: str
    metric_id: str
    context: Dict[str, Any]
    suggestions: List[str]


class WorkspecCounts(TypedDict):
    error: int
    warning: int
    info: int


class WorkspecVerdict(TypedDict):
    ok: bool
    profile: Literal["host", "reference"]
    counts: WorkspecCounts
    problems: List[WorkspecProblem]


class WorkspecStored(TypedDict):
    workflowId: str
    revision: int
    result: Literal["created", "updated", "unchanged"]
    documentSha256: str
    planSha256: str
    ok: bool
    profile: str
    counts: WorkspecCounts
    problems: List[WorkspecProblem]


class WorkspecPlan(TypedDict):
    """Times in milliseconds from day 1, 00:00."""

    anchorDate: NotRequired[str]
    offsetMin: NotRequired[int]
    originMs: int
    entries: List[Dict[str, Any]]
    documentSha256: str
    planSha256: str


class AgentManifestMemoryShape(TypedDict):
    scratchpad: NotRequired[bool]
    conversation: NotRequired[bool]
    longTerm: NotRequired[bool]


class AgentManifestConfidence(TypedDict):
    defaultThreshold: NotRequired[float]


class AgentManifestHandoff(TypedDict):
    taskSchemaRef: NotRequired[str]
    returnSchemaRef: NotRequired[str]


class AgentManifest(TypedDict):
    """What an agent is. Of systemPrompt and systemPromptRef exactly one is there."""

    agentId: str
    persona: str
    modelClass: Literal["reasoning", "writing", "coding", "research", "classification", "general"]
    systemPrompt: NotRequired[str]
    systemPromptRef: NotRequired[str]
    toolAllowlist: NotRequired[List[str]]
    memoryShape: NotRequired[AgentManifestMemoryShape]
    confidence: NotRequired[AgentManifestConfidence]
    handoff: NotRequired[AgentManifestHandoff]
    label: NotRequired[str]
    description: NotRequired[str]


class AgentDefinition(TypedDict):
    manifest: AgentManifest
    files: NotRequired[Dict[str, str]]


class AgentCheck(TypedDict):
    valid: bool
    errors: int
    warnings: int
    findings: List[Finding]
    agentId: NotRequired[str]


class AgentStored(TypedDict):
    agentId: str
    revision: int
    hash: str
    result: Literal["created", "updated", "unchanged"]
    findings: List[Finding]


class AgentDeleted(TypedDict):
    agentId: str
    deleted: bool


class AgentSummary(TypedDict):
    agentId: str
    revision: int
    hash: str
    createdAt: str
    updatedAt: str
    createdBy: NotRequired[str]
    persona: str
    modelClass: str
    label: NotRequired[str]


class AgentList(TypedDict):
    agents: List[AgentSummary]
    nextAfter: NotRequired[str]


class Agent(TypedDict):
    agentId: str
    revision: int
    hash: str
    createdAt: str
    updatedAt: str
    createdBy: NotRequired[str]
    definition: AgentDefinition


class RunAgents(TypedDict):
    runId: str
    agentSet: NotRequired[str]
    agents: Dict[str, AgentDefinition]


class AgentExport(TypedDict):
    manifests: List[AgentManifest]
    nextAfter: NotRequired[str]


RunStatus = Literal["pending", "running", "paused", "waiting-approval", "waiting-input", "waiting-external", "completed", "failed", "cancelled"]


ForkMode = Literal["replay", "branch"]


class ForkOrigin(TypedDict):
    """Where a fork comes from."""

    sourceRunId: str
    fromSeq: int
    mode: ForkMode


class ChildRun(TypedDict):
    runId: str
    status: RunStatus
    nodeId: str


class OpenInterrupt(TypedDict):
    """What a waiting run waits for. Token and callback are shown to callers with approvals:respond."""

    interruptId: str
    nodeId: str
    kind: str
    key: str
    data: NotRequired[Dict[str, Any]]
    requestedAt: str
    expiresAt: NotRequired[str]
    interruptToken: NotRequired[str]
    callbackUrl: NotRequired[str]


class CreateRunRequest(TypedDict):
    workflowId: str
    inputs: NotRequired[Dict[str, Any]]
    tenantId: NotRequired[str]
    scopeId: NotRequired[str]
    callbackUrl: NotRequired[str]
    configurable: NotRequired[Configurable]
    tags: NotRequired[List[str]]
    metadata: NotRequired[Dict[str, Any]]


class RunAccepted(TypedDict):
    runId: str
    status: Literal["pending", "running", "waiting-approval", "waiting-input"]
    eventsUrl: str
    statusUrl: str
    warnings: NotRequired[List[InputWarning]]


class InputWarning(TypedDict):
    path: str
    reason: Literal["undeclared"]
    nearest: NotRequired[str]


class RunSummary(TypedDict):
    runId: str
    workflowId: str
    status: RunStatus
    createdAt: str
    startedAt: NotRequired[str]
    completedAt: NotRequired[str]
    fork: NotRequired[ForkOrigin]
    parentRunId: NotRequired[str]
    tags: NotRequired[List[str]]
    engineVersion: str
    host: NotRequired[str]


class RunList(TypedDict):
    runs: List[RunSummary]
    nextBefore: NotRequired[str]


class EventPage(TypedDict):
    events: List[RunEventDoc]
    isComplete: bool


class CancelRequest(TypedDict):
    reason: NotRequired[str]


class CancelAnswer(TypedDict):
    runId: str
    status: Literal["cancelling", "cancelled", "completed", "failed"]


class PauseRequest(TypedDict):
    reason: NotRequired[str]
    drainPolicy: NotRequired[Literal["immediate", "drain-current-node"]]


class PauseAnswer(TypedDict):
    runId: str
    status: Literal["paused"]
    pausedAt: str


class ResumeRequest(TypedDict):
    reason: NotRequired[str]


class ResumeAnswer(TypedDict):
    runId: str
    status: Literal["running"]
    resumedAt: str


class ForkRequest(TypedDict):
    fromSeq: NotRequired[int]
    mode: ForkMode
    runOptionsOverlay: NotRequired[ForkOverlay]


class ForkOverlay(TypedDict):
    """With mode branch: what the fork does differently."""

    inputs: NotRequired[Dict[str, Any]]
    configurable: NotRequired[Configurable]
    tags: NotRequired[List[str]]
    metadata: NotRequired[Dict[str, Any]]


class ForkAccepted(TypedDict):
    runId: str
    sourceRunId: str
    fromSeq: int
    mode: ForkMode
    status: str
    eventsUrl: str


class Artifact(TypedDict):
    artifactId: str
    artifactType: str
    runId: str
    nodeId: NotRequired[str]
    version: NotRequired[str]
    summary: NotRequired[str]
    body: NotRequired[Any]


class ResolveRequest(TypedDict):
    resumeValue: Any


ResolveAliasRequest = Dict[str, Any]


class ResolveAnswer(TypedDict):
    runId: str
    nodeId: str
    interruptId: str
    status: RunStatus


class PendingInterrupt(TypedDict):
    interruptId: str
    runId: str
    workflowId: str
    nodeId: str
    kind: str
    key: str
    requestedAt: str
    ageMs: int
    expiresAt: NotRequired[str]
    statusUrl: str
    resolveUrl: str


class PendingInterruptList(TypedDict):
    interrupts: List[PendingInterrupt]
    nextCursor: NotRequired[str]


StreamTicketRequest = Dict[str, Any]


class StreamTicket(TypedDict):
    ticket: str
    expiresAt: str
    eventsUrl: str


class RunCallback(TypedDict):
    interruptId: str
    nodeId: str
    sequence: int
    state: Literal["pending", "sent", "given-up", "answered"]
    attempts: int
    lastStatus: NotRequired[int]
    lastError: NotRequired[str]
    lastAttemptAt: NotRequired[str]
    nextAttemptAt: NotRequired[str]


class RunCallbackList(TypedDict):
    callbacks: List[RunCallback]
    nextAfter: NotRequired[int]


class Operations(TypedDict):
    hosts: List[OperationsHost]
    runsCounted: bool
    metrics: List[MetricSample]


class OperationsHost(TypedDict):
    name: str
    self: bool
    state: Literal["alive", "dead", "unknown"]
    runs: int
    leaseMs: int
    leasedUntil: NotRequired[str]


class MetricSample(TypedDict):
    name: str
    labels: NotRequired[Dict[str, str]]
    value: float


class Caller(TypedDict):
    keyId: NotRequired[str]
    subject: NotRequired[str]
    tenant: str
    mode: Literal["live", "test"]
    scopes: List[str]
    expiresAt: NotRequired[str]
    implementation: Dict[str, Any]


class RunDefinition(TypedDict):
    runId: str
    events: int
    logBytes: int
    definition: Dict[str, Any]


class WorkerTypeRequest(TypedDict):
    typeId: str
    inputSchema: NotRequired[Dict[str, Any]]
    outputSchema: NotRequired[Dict[str, Any]]
    description: NotRequired[str]


class WorkerType(TypedDict):
    typeId: str
    revision: int
    changed: NotRequired[bool]
    inputSchema: NotRequired[Dict[str, Any]]
    outputSchema: NotRequired[Dict[str, Any]]
    description: NotRequired[str]
    tasks: NotRequired[WorkerQueue]
    registeredAt: str
    updatedAt: str


class WorkerQueue(TypedDict):
    """In lists: tasks that are ready and leased; of many, at least 1,000."""

    ready: int
    leased: int
    more: NotRequired[bool]
    oldestReadyAt: NotRequired[str]


class WorkerTypeList(TypedDict):
    workerTypes: List[WorkerType]
    nextAfter: NotRequired[str]


WorkerTypeRemoval = Dict[str, Any]


class WorkerTypeRemoved(TypedDict):
    typeId: str
    removed: bool


class ClaimRequest(TypedDict):
    types: List[str]
    max: NotRequired[int]
    leaseMs: NotRequired[int]
    waitMs: NotRequired[int]
    worker: NotRequired[str]


class TaskAnswer(TypedDict):
    ordinal: int
    interruptId: str
    kind: str
    value: NotRequired[Any]
    action: NotRequired[str]
    decidedBy: NotRequired[str]


class Task(TypedDict):
    taskId: str
    epoch: int
    leaseMs: int
    leaseUntil: str
    typeId: str
    runId: str
    workflowId: str
    nodeId: str
    attempt: int
    idempotencyKey: str
    input: Dict[str, Any]
    config: Dict[str, Any]
    answers: List[TaskAnswer]


class ClaimAnswer(TypedDict):
    tasks: List[Task]
    unregistered: NotRequired[List[str]]


class HeartbeatRequest(TypedDict):
    epoch: int
    leaseMs: NotRequired[int]


class HeartbeatAnswer(TypedDict):
    taskId: str
    epoch: int
    state: Literal["leased", "cancelled"]
    leaseMs: NotRequired[int]
    leaseUntil: NotRequired[str]
    reason: NotRequired[str]


class CompleteRequest(TypedDict):
    epoch: int
    output: NotRequired[Dict[str, Any]]


class TaskError(TypedDict):
    code: str
    message: str
    details: NotRequired[Dict[str, Any]]


class FailRequest(TypedDict):
    epoch: int
    error: TaskError
    retryable: NotRequired[bool]


class AskRequest(TypedDict):
    epoch: int
    kind: str
    data: NotRequired[Dict[str, Any]]
    resumeSchema: NotRequired[Dict[str, Any]]
    timeoutMs: NotRequired[int]


class TaskChunk(TypedDict):
    text: str
    isLast: NotRequired[bool]
    meta: NotRequired[Dict[str, Any]]


class TaskProgress(TypedDict):
    percent: NotRequired[float]
    message: NotRequired[str]


class EmitRequest(TypedDict):
    epoch: int
    chunks: NotRequired[List[TaskChunk]]
    progress: NotRequired[TaskProgress]
    number: NotRequired[int]


class TaskSummary(TypedDict):
    taskId: str
    state: TaskState
    typeId: str
    runId: str
    workflowId: str
    nodeId: str
    attempt: int
    epoch: int
    leasesLost: int
    bytes: int
    readyAt: str
    worker: NotRequired[str]
    leaseMs: NotRequired[int]
    leaseUntil: NotRequired[str]
    endedAt: NotRequired[str]
    reason: NotRequired[str]


TaskState = Literal["ready", "leased", "held", "answered", "lost", "completed", "failed", "asked", "cancelled"]


class TaskList(TypedDict):
    tasks: List[TaskSummary]
    nextCursor: NotRequired[str]


class TaskSaid(TypedDict):
    taskId: str
    state: Literal["completed", "failed", "asked", "leased"]
    interruptId: NotRequired[str]


class WebhookRequest(TypedDict):
    url: str
    events: List[str]
    tags: NotRequired[List[str]]
    secret: NotRequired[str]
    tenantId: NotRequired[str]


class WebhookRegistered(TypedDict):
    webhookId: str
    secret: str
    secretFingerprint: str
    signatureAlgorithm: Literal["v1"]


class Webhook(TypedDict):
    webhookId: str
    url: str
    events: List[str]
    tags: NotRequired[List[str]]
    secretFingerprint: str
    state: Literal["closed", "open", "half-open", "failed"]
    openUntil: NotRequired[str]
    delivered: int
    deadLetters: int
    dropped: int
    pending: int
    pendingSince: NotRequired[str]
    attempts: NotRequired[int]
    nextAttemptAt: NotRequired[str]
    lastStatus: NotRequired[int]
    lastError: NotRequired[str]
    lastAttemptAt: NotRequired[str]
    createdAt: str
    createdBy: NotRequired[str]


class WebhookList(TypedDict):
    webhooks: List[Webhook]
    nextAfter: NotRequired[int]


class WebhookDeadLetter(TypedDict):
    runId: NotRequired[str]
    sequence: int
    untilSequence: NotRequired[int]
    eventType: NotRequired[str]
    attempts: int
    lastStatus: NotRequired[int]
    reason: str
    deadLetteredAt: str
    expiresAt: str


class WebhookDeadLetters(TypedDict):
    deliveries: List[WebhookDeadLetter]
    nextBelow: NotRequired[int]


WebhookRetry = Dict[str, Any]


class WebhookRetried(TypedDict):
    webhookId: str
    queued: int


PackTarball = str


class PackDeprecated(TypedDict):
    deprecated: bool
    reason: str
    supersededBy: NotRequired[str]
    deprecatedAt: str
    deprecatedBy: str


class PackYanked(TypedDict):
    reason: str
    advisoryUrl: NotRequired[str]
    yankedAt: str
    yankedBy: str


class PackRelease(TypedDict):
    tarballUrl: str
    tarballSha256: str
    manifestUrl: str
    publishedAt: str
    signed: bool
    signingMethod: Literal["manual", "none"]
    keyId: NotRequired[str]
    sizeBytes: int
    deprecation: NotRequired[PackDeprecated]
    yanked: NotRequired[PackYanked]


PackCatalog = TypedDict("PackCatalog", {"name": str, "description": NotRequired[str], "versions": Dict[str, PackRelease], "dist-tags": Dict[str, str], "latest": NotRequired[str]})


class PackVersion(TypedDict):
    """The members of pack.json, and those of PackRelease beside them."""

    name: str
    version: str
    tarballUrl: NotRequired[str]
    tarballSha256: str
    publishedAt: str
    signed: bool
    signingMethod: NotRequired[Literal["manual", "none"]]
    warnings: NotRequired[List[str]]
    deprecation: NotRequired[PackDeprecated]
    yanked: NotRequired[PackYanked]


class PackSearch(TypedDict):
    results: List[PackFound]
    nextCursor: NotRequired[str]


class PackFound(TypedDict):
    name: str
    description: NotRequired[str]


class PackKey(TypedDict):
    kid: str
    algorithm: Literal["ed25519"]
    publicKey: str
    validFrom: str
    validUntil: NotRequired[str]
    rotatedFrom: NotRequired[str]
    rotatedTo: NotRequired[str]
    rotationProof: NotRequired[str]
    revokedAt: NotRequired[str]


class PackKeychain(TypedDict):
    namespace: str
    keys: List[PackKey]


class PackKeyRotation(TypedDict):
    kid: str
    publicKey: str
    validFrom: str
    rotationProof: str


class PackDeprecation(TypedDict):
    reason: str
    supersededBy: NotRequired[str]


class PackYank(TypedDict):
    reason: str
    advisoryUrl: NotRequired[str]


class PackChanged(TypedDict):
    name: str
    version: str
    unpublished: NotRequired[bool]
    deprecation: NotRequired[PackDeprecated]
    yanked: NotRequired[PackYanked]


class PackInstalled(TypedDict):
    name: str
    version: str
    description: NotRequired[str]
    integrity: NotRequired[str]
    origin: NotRequired[str]
    installedAt: NotRequired[str]
    nodes: List[Dict[str, Any]]
    agents: List[AgentManifest]


class PackInstalledList(TypedDict):
    packs: List[PackInstalled]


class AuditReport(TypedDict):
    fromSeq: int
    toSeq: int
    chainValid: bool
    checkpoints: List[AuditCheckpoint]
    anomalies: List[AuditAnomaly]


class AuditCheckpoint(TypedDict):
    checkpoint: str
    atSequence: int
    merkleRoot: str
    signature: str
    keyId: str
    oldSignature: NotRequired[str]
    oldKeyId: NotRequired[str]
    ts: str


class AuditAnomaly(TypedDict):
    atSeq: int
    expectedPrevHash: Union[str, None]
    actualPrevHash: Union[str, None]
    message: NotRequired[str]


class McpMessage(TypedDict):
    """One message of JSON-RPC 2.0. Nothing is answered to a notification (202)."""

    jsonrpc: Literal["2.0"]
    id: NotRequired[Any]
    method: NotRequired[str]
    params: NotRequired[Dict[str, Any]]
    result: NotRequired[Dict[str, Any]]
    error: NotRequired[Dict[str, Any]]


McpFailure = Union[ErrorEnvelope, McpMessage]


class ProtectedResource(TypedDict):
    resource: str
    resource_name: NotRequired[str]
    resource_documentation: NotRequired[str]
    authorization_servers: NotRequired[List[str]]
    bearer_methods_supported: List[str]
    scopes_supported: List[str]


class SessionRow(TypedDict):
    sessionId: str
    sessionTitle: str
    workflowId: NotRequired[str]
    workflowHash: NotRequired[str]
    runId: NotRequired[str]
    status: NotRequired[Literal["in_progress", "blocked", "complete", "complete_with_gaps"]]
    health: Literal["healthy", "corrupt_tail", "corrupt_head", "unknown_version"]
    healthReason: NotRequired[Dict[str, Any]]
    salvage: bool
    nodeCount: NotRequired[int]
    edgeCount: NotRequired[int]
    tipCount: NotRequired[int]
    hasUnresolvedGaps: NotRequired[bool]
    recapSnippet: str
    gitBranch: NotRequired[str]
    repoRoot: NotRequired[str]
    eventCount: int
    keep: bool
    lastModifiedMs: int


class SessionList(TypedDict):
    sessions: List[SessionRow]
    nextBelow: NotRequired[str]


class Session(TypedDict):
    sessionId: str
    health: str
    healthReason: NotRequired[Dict[str, Any]]
    salvage: bool
    runs: List[Dict[str, Any]]
    shownBy: List[Dict[str, Any]]


class SessionNode(TypedDict):
    nodeId: str
    nodeKind: Literal["step", "checkpoint", "blocked_attempt"]
    recapMarkdown: str
    preferences: Dict[str, Any]


class SessionBundle(TypedDict):
    bundleSchemaVersion: int
    bundleId: str
    exportedAt: str
    producer: Dict[str, Any]
    integrity: Dict[str, Any]
    session: Dict[str, Any]


class SessionImported(TypedDict):
    sessionId: str
    importedAsNew: bool
    created: bool


class SessionWorkflows(TypedDict):
    workflows: List[Dict[str, Any]]


class SessionBuiltins(TypedDict):
    capabilities: List[str]
    contracts: List[Dict[str, Any]]
    features: List[Dict[str, Any]]
    refs: List[Dict[str, Any]]
    templates: List[Dict[str, Any]]


class SessionConfigWorkflow(TypedDict):
    workflowId: str
    workflowHash: str


class SessionConfigApplied(TypedDict):
    retentionMs: int
    tools: List[str]
    workflows: List[SessionConfigWorkflow]


class SessionConfig(TypedDict):
    applied: SessionConfigApplied
    appliedConfigHash: str
    desired: NotRequired[SessionConfigApplied]
    desiredProblem: NotRequired[str]
    restartRequired: bool


SessionWorkflow = Dict[str, Any]


class Operation(NamedTuple):
    method: str
    path: str
    idempotent: bool


# What the host mounts, by operation id; {name} in a path is a parameter.
OPERATIONS: Dict[str, Operation] = {
    "getIndex": Operation("GET", "/", False),
    "getCapabilities": Operation("GET", "/.well-known/openwop", False),
    "getOpenApiSpec": Operation("GET", "/v1/openapi.json", False),
    "getWorkflow": Operation("GET", "/v1/workflows/{workflowId}", False),
    "listWorkflows": Operation("GET", "/v1/host/wopr/workflows", False),
    "putWorkflow": Operation("PUT", "/v1/host/wopr/workflows/{workflowId}", False),
    "deleteWorkflow": Operation("DELETE", "/v1/host/wopr/workflows/{workflowId}", False),
    "checkWorkflow": Operation("POST", "/v1/host/wopr/workflows:check", False),
    "listWorkflowVersions": Operation("GET", "/v1/host/wopr/workflows/{workflowId}/versions", False),
    "getWorkflowVersion": Operation("GET", "/v1/host/wopr/workflows/{workflowId}/versions/{revision}", False),
    "listNodeTypes": Operation("GET", "/v1/host/wopr/nodes", False),
    "getNodeType": Operation("GET", "/v1/host/wopr/nodes/{typeId}", False),
    "validateWorkspec": Operation("POST", "/v1/workspec/validate", False),
    "planWorkspec": Operation("POST", "/v1/workspec/plan", False),
    "getWorkspecSchema": Operation("GET", "/v1/workspec/schema", False),
    "getWorkspecDocument": Operation("GET", "/v1/workspec/documents/{workflowId}", False),
    "putWorkspecDocument": Operation("PUT", "/v1/workspec/documents/{workflowId}", False),
    "deleteWorkspecDocument": Operation("DELETE", "/v1/workspec/documents/{workflowId}", False),
    "getWorkspecPlan": Operation("GET", "/v1/workspec/documents/{workflowId}/plan", False),
    "listAgents": Operation("GET", "/v1/host/wopr/agents", False),
    "getAgent": Operation("GET", "/v1/host/wopr/agents/{agentId}", False),
    "putAgent": Operation("PUT", "/v1/host/wopr/agents/{agentId}", False),
    "deleteAgent": Operation("DELETE", "/v1/host/wopr/agents/{agentId}", False),
    "checkAgent": Operation("POST", "/v1/host/wopr/agents:check", False),
    "getRunAgents": Operation("GET", "/v1/host/wopr/runs/{runId}/agents", False),
    "exportAgents": Operation("GET", "/v1/packs/export", False),
    "createRun": Operation("POST", "/v1/runs", True),
    "listRuns": Operation("GET", "/v1/runs", False),
    "getRun": Operation("GET", "/v1/runs/{runId}", False),
    "getDebugBundle": Operation("GET", "/v1/runs/{runId}/debug-bundle", False),
    "streamRunEvents": Operation("GET", "/v1/runs/{runId}/events", False),
    "pollRunEvents": Operation("GET", "/v1/runs/{runId}/events/poll", False),
    "cancelRun": Operation("POST", "/v1/runs/{runId}/cancel", True),
    "cancelRunAlias": Operation("POST", "/v1/runs/{runId}:cancel", True),
    "pauseRun": Operation("POST", "/v1/runs/{runId}:pause", True),
    "resumeRun": Operation("POST", "/v1/runs/{runId}:resume", True),
    "forkRun": Operation("POST", "/v1/runs/{runId}:fork", True),
    "getArtifact": Operation("GET", "/v1/runs/{runId}/artifacts/{artifactId}", False),
    "resolveInterruptByRun": Operation("POST", "/v1/runs/{runId}/interrupts/{nodeId}", True),
    "resolveApprovalAlias": Operation("POST", "/v1/runs/{runId}/approvals/{nodeId}", True),
    "inspectInterruptByToken": Operation("GET", "/v1/interrupts/{token}", False),
    "resolveInterruptByToken": Operation("POST", "/v1/interrupts/{token}", True),
    "listInterrupts": Operation("GET", "/v1/host/wopr/interrupts", False),
    "mintStreamTicket": Operation("POST", "/v1/host/wopr/runs/{runId}/stream-ticket", False),
    "listRunCallbacks": Operation("GET", "/v1/host/wopr/runs/{runId}/callbacks", False),
    "getCaller": Operation("GET", "/v1/host/wopr/caller", False),
    "getRunDefinition": Operation("GET", "/v1/host/wopr/runs/{runId}/definition", False),
    "getOperations": Operation("GET", "/v1/host/wopr/operations", False),
    "registerWorkerType": Operation("POST", "/v1/host/wopr/worker-types", False),
    "listWorkerTypes": Operation("GET", "/v1/host/wopr/worker-types", False),
    "removeWorkerType": Operation("POST", "/v1/host/wopr/worker-types/{typeId}:remove", False),
    "claimTasks": Operation("POST", "/v1/host/wopr/tasks:claim", False),
    "heartbeatTask": Operation("POST", "/v1/host/wopr/tasks/{taskId}:heartbeat", False),
    "completeTask": Operation("POST", "/v1/host/wopr/tasks/{taskId}:complete", False),
    "failTask": Operation("POST", "/v1/host/wopr/tasks/{taskId}:fail", False),
    "askTask": Operation("POST", "/v1/host/wopr/tasks/{taskId}:ask", False),
    "emitTask": Operation("POST", "/v1/host/wopr/tasks/{taskId}:emit", False),
    "listTasks": Operation("GET", "/v1/host/wopr/tasks", False),
    "getTask": Operation("GET", "/v1/host/wopr/tasks/{taskId}", False),
    "registerWebhook": Operation("POST", "/v1/webhooks", True),
    "unregisterWebhook": Operation("DELETE", "/v1/webhooks/{webhookId}", False),
    "listWebhooks": Operation("GET", "/v1/host/wopr/webhooks", False),
    "getWebhook": Operation("GET", "/v1/host/wopr/webhooks/{webhookId}", False),
    "listWebhookDeadLetters": Operation("GET", "/v1/host/wopr/webhooks/{webhookId}/dead-letters", False),
    "retryWebhook": Operation("POST", "/v1/host/wopr/webhooks/{webhookId}:retry", False),
    "listPacks": Operation("GET", "/v1/packs", False),
    "searchPacks": Operation("GET", "/v1/packs/-/search", False),
    "getPack": Operation("GET", "/v1/packs/{name}", False),
    "getPackIndex": Operation("GET", "/v1/packs/{name}/index.json", False),
    "getPackKeychain": Operation("GET", "/v1/packs/{name}/-/keychain", False),
    "rotatePackKey": Operation("POST", "/v1/packs/{name}/-/keychain/rotate", False),
    "getPackFile": Operation("GET", "/v1/packs/{name}/-/{file}", False),
    "publishPack": Operation("PUT", "/v1/packs/{name}/-/{file}", False),
    "unpublishPack": Operation("DELETE", "/v1/packs/{name}/-/{file}", False),
    "deprecatePack": Operation("POST", "/v1/packs/{name}/-/{file}/deprecate", False),
    "undeprecatePack": Operation("DELETE", "/v1/packs/{name}/-/{file}/deprecate", False),
    "yankPack": Operation("POST", "/v1/packs/{name}/-/{file}/yank", False),
    "unyankPack": Operation("DELETE", "/v1/packs/{name}/-/{file}/yank", False),
    "verifyAuditLog": Operation("GET", "/v1/audit/verify", False),
    "callMcp": Operation("POST", "/v1/mcp", False),
    "getResourceMetadata": Operation("GET", "/.well-known/oauth-protected-resource/v1/mcp", False),
    "getHostResourceMetadata": Operation("GET", "/.well-known/oauth-protected-resource", False),
    "listSessions": Operation("GET", "/v1/x-workrail/sessions", False),
    "getSession": Operation("GET", "/v1/x-workrail/sessions/{sessionId}", False),
    "getSessionNode": Operation("GET", "/v1/x-workrail/sessions/{sessionId}/nodes/{sessionNodeId}", False),
    "exportSession": Operation("GET", "/v1/x-workrail/sessions/{sessionId}/bundle", False),
    "importSession": Operation("POST", "/v1/x-workrail/bundles", False),
    "listSessionWorkflows": Operation("GET", "/v1/x-workrail/workflows", False),
    "getSessionWorkflow": Operation("GET", "/v1/x-workrail/workflows/{sessionWorkflowId}", False),
    "listSessionBuiltins": Operation("GET", "/v1/x-workrail/builtins", False),
    "getSessionConfig": Operation("GET", "/v1/x-workrail/config", False),
}
