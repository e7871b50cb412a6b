// client.ts: a host's operations as methods.  Each answers what the host answered, typed as in its OpenAPI document.
import { WaitTimeoutError, WoprError } from "./errors.js";
import { persist } from "./retry.js";
import { isTerminalStatus, streamRun, type MessageChunk, type RunState, type StreamMessage, type StreamMode, type StreamOptions } from "./stream.js";
import { Transport, type CallOptions, type ClientOptions, type Query } from "./transport.js";
import type * as wire from "./wire.js";
import { Packs } from "./packs.js";
import { Webhooks } from "./webhooks.js";
import { Tasks, Worker, WorkerTypes, type Handler, type NodeHandler, type WorkerOptions } from "./worker.js";
import { Workspec } from "./workspec.js";

/** Which runs `bulkCancel` is for: ids, or every unfinished run that a filter of `runs.list` matches. */
export type BulkCancelRequest = { reason?: string } & ({ runIds: string[] } | { filter: Pick<wire.ListRunsQuery, "tag" | "workflowId" | "parentRunId" | "forkOf"> });

export interface BulkCancelResult {
  runId: string;
  ok: boolean;
  status?: wire.CancelAnswer["status"];
  error?: WoprError;
}

/** Requests of `bulkCancel` under way at once. */
const BULK_AT_ONCE = 8;

async function* pages<T>(first: (cursor: string | undefined) => Promise<{ items: T[]; next: string | undefined }>): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await first(cursor);
    yield* page.items;
    if (page.next !== undefined && page.next === cursor) throw new WoprError("the list does not go on");
    cursor = page.next;
  } while (cursor !== undefined);
}

class Discovery {
  constructor(private readonly transport: Transport) {}

  /** Whose credential the client has, and what it may do. */
  caller(options?: CallOptions): Promise<wire.Caller> {
    return this.transport.call("getCaller", {}, options);
  }
  /** Figures of the whole host: all, or these metrics.  For operators (scope host:read). */
  operations(metrics: string[] = [], options?: CallOptions): Promise<wire.Operations> {
    return this.transport.call("getOperations", { query: metrics.length > 0 ? { metrics: metrics.join(",") } : {} }, options);
  }
  /** What the host can do. */
  capabilities(options?: CallOptions): Promise<wire.Capabilities> {
    return this.transport.call("getCapabilities", {}, options);
  }
  index(options?: CallOptions): Promise<wire.HostIndex> {
    return this.transport.call("getIndex", {}, options);
  }
  openapi(options?: CallOptions): Promise<wire.OpenApiDocument> {
    return this.transport.call("getOpenApiSpec", {}, options);
  }
}

class Workflows {
  constructor(private readonly transport: Transport) {}

  get(workflowId: string, options?: CallOptions): Promise<wire.WorkflowDefinition> {
    return this.transport.call("getWorkflow", { path: { workflowId } }, options);
  }

  /** One page, by id. */
  list(query: wire.ListWorkflowsQuery = {}, options?: CallOptions): Promise<wire.WorkflowList> {
    return this.transport.call("listWorkflows", { query: query as Query }, options);
  }

  listAll(query: Omit<wire.ListWorkflowsQuery, "after"> = {}, options?: CallOptions): AsyncGenerator<wire.WorkflowSummary, void, undefined> {
    return pages(async (after) => {
      const page = await this.list(after === undefined ? query : { ...query, after }, options);
      return { items: page.workflows, next: page.nextAfter };
    });
  }

  /** Says all that is wrong or strange in a definition; stores nothing. */
  check(definition: wire.WorkflowDefinition | wire.AnyDefinition, options?: CallOptions): Promise<wire.WorkflowCheck> {
    return this.transport.call("checkWorkflow", { body: definition, repeatable: true }, options);
  }

  /** Stores a definition under its id; runs keep the one that they began with. */
  put(definition: wire.WorkflowDefinition, query: wire.PutWorkflowQuery = {}, options?: CallOptions): Promise<wire.WorkflowStored> {
    const path = { workflowId: definition.id };
    return this.transport.call("putWorkflow", { path, query: query as Query, body: definition }, options);
  }

  delete(workflowId: string, options?: CallOptions): Promise<wire.WorkflowDeleted> {
    return this.transport.call("deleteWorkflow", { path: { workflowId } }, options);
  }

  /** One page of what was stored under the id, newest first. */
  versions(workflowId: string, query: wire.ListWorkflowVersionsQuery = {}, options?: CallOptions): Promise<wire.WorkflowVersions> {
    return this.transport.call("listWorkflowVersions", { path: { workflowId }, query: query as Query }, options);
  }

  getVersion(workflowId: string, revision: number, options?: CallOptions): Promise<wire.WorkflowDefinition> {
    return this.transport.call("getWorkflowVersion", { path: { workflowId, revision: String(revision) } }, options);
  }
}

/** Sessions of agents that are led step by step over MCP: to be looked at, moved, and kept. */
class Sessions {
  constructor(private readonly transport: Transport) {}

  /** One page, the last changed first. */
  list(query: wire.ListSessionsQuery = {}, options?: CallOptions): Promise<wire.SessionList> {
    return this.transport.call("listSessions", { query: query as Query }, options);
  }

  get(sessionId: string, options?: CallOptions): Promise<wire.Session> {
    return this.transport.call("getSession", { path: { sessionId } }, options);
  }

  node(sessionId: string, sessionNodeId: string, options?: CallOptions): Promise<wire.SessionNode> {
    return this.transport.call("getSessionNode", { path: { sessionId, sessionNodeId } }, options);
  }

  export(sessionId: string, query: wire.ExportSessionQuery = {}, options?: CallOptions): Promise<wire.SessionBundle> {
    return this.transport.call("exportSession", { path: { sessionId }, query: query as Query }, options);
  }

  import(bundle: wire.SessionBundle, query: wire.ImportSessionQuery = {}, options?: CallOptions): Promise<wire.SessionImported> {
    return this.transport.call("importSession", { body: bundle, query: query as Query }, options);
  }

  workflows(options?: CallOptions): Promise<wire.SessionWorkflows> {
    return this.transport.call("listSessionWorkflows", {}, options);
  }

  workflow(sessionWorkflowId: string, query: wire.GetSessionWorkflowQuery = {}, options?: CallOptions): Promise<wire.SessionWorkflow> {
    return this.transport.call("getSessionWorkflow", { path: { sessionWorkflowId }, query: query as Query }, options);
  }

  builtins(options?: CallOptions): Promise<wire.SessionBuiltins> {
    return this.transport.call("listSessionBuiltins", {}, options);
  }

  config(options?: CallOptions): Promise<wire.SessionConfig> {
    return this.transport.call("getSessionConfig", {}, options);
  }
}

/** Agents of the workspace: new runs go by what is stored when they start. */
class Agents {
  constructor(private readonly transport: Transport) {}

  get(agentId: string, options?: CallOptions): Promise<wire.Agent> {
    return this.transport.call("getAgent", { path: { agentId } }, options);
  }

  /** One page, by id. */
  list(query: wire.ListAgentsQuery = {}, options?: CallOptions): Promise<wire.AgentList> {
    return this.transport.call("listAgents", { query: query as Query }, options);
  }

  listAll(query: Omit<wire.ListAgentsQuery, "after"> = {}, options?: CallOptions): AsyncGenerator<wire.AgentSummary, void, undefined> {
    return pages(async (after) => {
      const page = await this.list(after === undefined ? query : { ...query, after }, options);
      return { items: page.agents, next: page.nextAfter };
    });
  }

  /** Says all that is wrong or strange in a definition; stores nothing. */
  check(definition: wire.AgentDefinition | wire.AnyDefinition, options?: CallOptions): Promise<wire.AgentCheck> {
    return this.transport.call("checkAgent", { body: definition, repeatable: true }, options);
  }

  /** Stores a definition under its id; runs keep the one that they began with. */
  put(definition: wire.AgentDefinition, query: wire.PutAgentQuery = {}, options?: CallOptions): Promise<wire.AgentStored> {
    const path = { agentId: definition.manifest.agentId };
    return this.transport.call("putAgent", { path, query: query as Query, body: definition }, options);
  }

  delete(agentId: string, query: wire.DeleteAgentQuery = {}, options?: CallOptions): Promise<wire.AgentDeleted> {
    return this.transport.call("deleteAgent", { path: { agentId }, query: query as Query }, options);
  }

  /** Those that a run was started with, and goes by. */
  ofRun(runId: string, options?: CallOptions): Promise<wire.RunAgents> {
    return this.transport.call("getRunAgents", { path: { runId } }, options);
  }

  /** Manifests as packs have them. */
  export(query: wire.ExportAgentsQuery = {}, options?: CallOptions): Promise<wire.AgentExport> {
    return this.transport.call("exportAgents", { query: query as Query }, options);
  }
}

class NodeTypes {
  constructor(private readonly transport: Transport) {}

  /** One page: the first has all types of the host; those of workers follow by id. */
  list(query: wire.ListNodeTypesQuery = {}, options?: CallOptions): Promise<wire.NodeTypeList> {
    return this.transport.call("listNodeTypes", { query: query as Query }, options);
  }

  listAll(query: Omit<wire.ListNodeTypesQuery, "after"> = {}, options?: CallOptions): AsyncGenerator<wire.NodeType, void, undefined> {
    return pages(async (after) => {
      const page = await this.list(after === undefined ? query : { ...query, after }, options);
      return { items: page.nodes, next: page.nextAfter };
    });
  }

  /** What a type is for, its configuration, an example. */
  get(typeId: string, options?: CallOptions): Promise<wire.NodeType> {
    return this.transport.call("getNodeType", { path: { typeId } }, options);
  }
}

class Runs {
  constructor(private readonly transport: Transport) {}

  /** Starts a run.  `dedup`: refuse it while another active run holds the same `scopeId`. */
  create(request: wire.CreateRunRequest, options: CallOptions & { dedup?: "enforce" } = {}): Promise<wire.RunAccepted> {
    const headers: Record<string, string> = options.dedup ? { "x-dedup": options.dedup } : {};
    return this.transport.call("createRun", { body: request, headers }, options);
  }

  get(runId: string, options?: CallOptions): Promise<wire.RunSnapshot> {
    return this.transport.call("getRun", { path: { runId } }, options);
  }

  /** What is known of a run, in one document to hand on. */
  debugBundle(runId: string, options?: CallOptions): Promise<wire.RunDebugBundle> {
    return this.transport.call("getDebugBundle", { path: { runId } }, options);
  }

  /** One page, newest first. */
  list(query: wire.ListRunsQuery = {}, options?: CallOptions): Promise<wire.RunList> {
    return this.transport.call("listRuns", { query: query as Query }, options);
  }

  /** All runs that match, page by page. */
  listAll(query: Omit<wire.ListRunsQuery, "before"> = {}, options?: CallOptions): AsyncGenerator<wire.RunSummary, void, undefined> {
    return pages(async (before) => {
      const page = await this.list(before === undefined ? query : { ...query, before }, options);
      return { items: page.runs, next: page.nextBefore };
    });
  }

  cancel(runId: string, request: wire.CancelRequest = {}, options?: CallOptions): Promise<wire.CancelAnswer> {
    return this.transport.call("cancelRun", { path: { runId }, body: request }, options);
  }

  /** Cancels many runs, a few at a time.  One that cannot be cancelled does not stop the others. */
  async bulkCancel(request: BulkCancelRequest, options: CallOptions = {}): Promise<{ results: BulkCancelResult[] }> {
    const body = request.reason === undefined ? {} : { reason: request.reason };
    const each: CallOptions = { ...options };
    delete each.idempotencyKey; // every run has its own
    const todo = "runIds" in request ? [...new Set(request.runIds)] : await this.unfinished(request.filter, each);
    const results: BulkCancelResult[] = todo.map((runId) => ({ runId, ok: false }));
    let next = 0;
    const lane = async () => {
      for (let i = next++; i < results.length; i = next++) {
        const result = results[i]!;
        try {
          result.status = (await this.cancel(result.runId, body, each)).status;
          result.ok = true;
        } catch (error) {
          if (!(error instanceof WoprError)) throw error;
          result.error = error;
        }
      }
    };
    await Promise.all(Array.from({ length: BULK_AT_ONCE }, lane));
    return { results };
  }

  private async unfinished(filter: Omit<wire.ListRunsQuery, "before">, options: CallOptions): Promise<string[]> {
    const found: string[] = [];
    for await (const run of this.listAll({ ...filter, limit: 200 }, options)) if (!isTerminalStatus(run.status)) found.push(run.runId);
    return found;
  }

  pause(runId: string, request: wire.PauseRequest = {}, options?: CallOptions): Promise<wire.PauseAnswer> {
    return this.transport.call("pauseRun", { path: { runId }, body: request }, options);
  }

  resume(runId: string, request: wire.ResumeRequest = {}, options?: CallOptions): Promise<wire.ResumeAnswer> {
    return this.transport.call("resumeRun", { path: { runId }, body: request }, options);
  }

  /** Replays the run from a sequence on, or branches off there. */
  fork(runId: string, request: wire.ForkRequest, options?: CallOptions): Promise<wire.ForkAccepted> {
    return this.transport.call("forkRun", { path: { runId }, body: request }, options);
  }

  /** The events of a run until it has ended, over any number of connections. */
  events(runId: string, options: StreamOptions & { streamMode?: "updates" | "debug" } = {}): AsyncGenerator<wire.RunEventDoc, void, undefined> {
    return this.data<wire.RunEventDoc>(this.stream(runId, { ...options, streamMode: [options.streamMode ?? "updates"] }));
  }

  /** The state of a run after each of its events that changes it. */
  values(runId: string, options: StreamOptions = {}): AsyncGenerator<RunState, void, undefined> {
    return this.data<RunState>(this.stream(runId, { ...options, streamMode: ["values"] }));
  }

  /** What the nodes of a run say while they run. */
  async *messages(runId: string, options: StreamOptions = {}): AsyncGenerator<MessageChunk, void, undefined> {
    for await (const message of this.stream(runId, { ...options, streamMode: ["messages"] })) {
      yield { ...(message.data as MessageChunk), sequence: Number(message.id) };
    }
  }

  /** Any mode, or several together, with the name and the id of each event. */
  stream(runId: string, options: StreamOptions & { streamMode?: StreamMode[] } = {}): AsyncGenerator<StreamMessage, void, undefined> {
    return streamRun(this.transport, runId, options.streamMode ?? ["updates"], options);
  }

  private async *data<T>(messages: AsyncGenerator<StreamMessage, void, undefined>): AsyncGenerator<T, void, undefined> {
    for await (const message of messages) yield message.data as T;
  }

  /** Long-poll: the events after `lastSequence`, as soon as there are any, at most `timeout` seconds (30) later. */
  poll(runId: string, query: wire.PollRunEventsQuery = {}, options?: CallOptions): Promise<wire.EventPage> {
    return this.transport.call("pollRunEvents", { path: { runId }, query: query as Query, heldMs: (query.timeout ?? 30) * 1000 }, options);
  }

  /** The state of the run when it has ended.  `waitMs`: throw a WaitTimeoutError after this time; absent: however long it takes.
   * It waits through restarts of the host of at most `giveUpMs` (300,000). */
  async wait(runId: string, options: CallOptions & { waitMs?: number; giveUpMs?: number } = {}): Promise<wire.RunSnapshot> {
    const { retry } = this.transport;
    const until = options.waitMs === undefined ? Infinity : Date.now() + options.waitMs;
    for (;;) {
      const left = until - Date.now();
      if (left <= 0) throw new WaitTimeoutError(`run ${runId} has not ended within ${options.waitMs} ms`);
      // Beyond the last sequence there is nothing to send, so the answer comes when the run ends.
      const query = { lastSequence: Number.MAX_SAFE_INTEGER, timeout: Math.max(1, Math.min(30, Math.ceil(left / 1000))) };
      const giveUpMs = Math.min(options.giveUpMs ?? 300_000, left);
      const page = await persist(retry, giveUpMs, options.signal, () => this.poll(runId, query, options));
      if (page.isComplete) return this.get(runId, options);
    }
  }

  /** A ticket for one stream, to hand to a browser. */
  streamTicket(runId: string, options?: CallOptions): Promise<wire.StreamTicket> {
    return this.transport.call("mintStreamTicket", { path: { runId }, repeatable: true }, options);
  }
  /** The definition that the run goes by, whatever was put since, and how long its log is. */
  definition(runId: string, options?: CallOptions): Promise<wire.RunDefinition> {
    return this.transport.call("getRunDefinition", { path: { runId } }, options);
  }
  /** What came of the questions that the run sent to its callback URL: one page, by sequence. */
  callbacks(runId: string, query: wire.ListRunCallbacksQuery = {}, options?: CallOptions): Promise<wire.RunCallbackList> {
    return this.transport.call("listRunCallbacks", { path: { runId }, query: query as Query }, options);
  }
}

class Interrupts {
  constructor(private readonly transport: Transport) {}

  /** One page of what waits for an answer, oldest first. */
  list(query: wire.ListInterruptsQuery = {}, options?: CallOptions): Promise<wire.PendingInterruptList> {
    return this.transport.call("listInterrupts", { query: query as Query }, options);
  }

  listAll(query: Omit<wire.ListInterruptsQuery, "cursor"> = {}, options?: CallOptions): AsyncGenerator<wire.PendingInterrupt, void, undefined> {
    return pages(async (cursor) => {
      const page = await this.list(cursor === undefined ? query : { ...query, cursor }, options);
      return { items: page.interrupts, next: page.nextCursor };
    });
  }

  /** Answers the open interrupt of a node; with interruptId that one, and none that the node asks since (409). */
  resolve(runId: string, nodeId: string, resumeValue: unknown, options: CallOptions & { interruptId?: string } = {}): Promise<wire.ResolveAnswer> {
    const { interruptId, ...rest } = options;
    return this.transport.call("resolveInterruptByRun", { path: { runId, nodeId }, query: interruptId === undefined ? {} : { interruptId }, body: { resumeValue } }, rest);
  }

  /** What the holder of a token is asked. */
  inspectByToken(token: string, options?: CallOptions): Promise<wire.InterruptPayload> {
    return this.transport.call("inspectInterruptByToken", { path: { token } }, options);
  }

  /** Answers with a token as the authority. */
  resolveByToken(token: string, resumeValue: unknown, options?: CallOptions): Promise<wire.ResolveAnswer> {
    return this.transport.call("resolveInterruptByToken", { path: { token }, body: { resumeValue } }, options);
  }
}

class Artifacts {
  constructor(private readonly transport: Transport) {}

  get(runId: string, artifactId: string, options?: CallOptions): Promise<wire.Artifact> {
    return this.transport.call("getArtifact", { path: { runId, artifactId } }, options);
  }
}

class Audit {
  constructor(private readonly transport: Transport) {}

  /** Has the host compute the chain of its audit log again; `toSeq` of the answer says how far it came. */
  verify(query: wire.VerifyAuditLogQuery = {}, options?: CallOptions): Promise<wire.AuditReport> {
    return this.transport.call("verifyAuditLog", { query: query as Query }, options);
  }
}

/** A host, as seen with one API key. */
export class WoprClient {
  readonly discovery: Discovery;
  readonly workflows: Workflows;
  readonly agents: Agents;
  readonly sessions: Sessions;
  readonly nodeTypes: NodeTypes;
  readonly runs: Runs;
  readonly interrupts: Interrupts;
  readonly artifacts: Artifacts;
  readonly audit: Audit;
  readonly tasks: Tasks;
  readonly workerTypes: WorkerTypes;
  readonly webhooks: Webhooks;
  readonly packs: Packs;
  readonly workspec: Workspec;
  private readonly transport: Transport;

  constructor(options: ClientOptions) {
    const transport = (this.transport = new Transport(options));
    this.discovery = new Discovery(transport);
    this.workflows = new Workflows(transport);
    this.agents = new Agents(transport);
    this.sessions = new Sessions(transport);
    this.nodeTypes = new NodeTypes(transport);
    this.runs = new Runs(transport);
    this.interrupts = new Interrupts(transport);
    this.artifacts = new Artifacts(transport);
    this.audit = new Audit(transport);
    this.tasks = new Tasks(transport);
    this.workerTypes = new WorkerTypes(transport);
    this.webhooks = new Webhooks(transport);
    this.packs = new Packs(transport);
    this.workspec = new Workspec(transport);
  }

  /** A worker that executes nodes of these types in this program; `run()` begins. */
  worker(nodes: Record<string, Handler | NodeHandler>, options: WorkerOptions = {}): Worker {
    return new Worker(this.transport, this.tasks, this.workerTypes, nodes, options);
  }
}
