// worker.ts: executes nodes of a host in this program: claims tasks, keeps their leases, reports what became of them.  A task whose
// lease is lost is dropped: the host has given it to another worker, and refuses what this one would say.
import { ApiError, InvalidRequestError, LeaseLostError, NotFoundError, PermissionDeniedError, WoprError, isTemporary } from "./errors.js";
import { pause, persist, temporaryDelayMs } from "./retry.js";
import type { CallOptions, Query, Transport } from "./transport.js";
import type * as wire from "./wire.js";

type Json = Record<string, unknown>;

/** Executes one task and returns the output of the node. */
export type Handler = (task: TaskContext) => Json | void | Promise<Json | void>;

/** A node type with what the host is to check. */
export interface NodeHandler {
  handler: Handler;
  inputSchema?: Json;
  outputSchema?: Json;
  description?: string;
}

export interface WorkerOptions {
  /** Tasks at once.  Default 1. */
  concurrency?: number;
  /** A task that gives no sign of life for this long is given to another worker.  Default 30,000. */
  leaseMs?: number;
  /** How long one claim waits for tasks, and so how long a stop may take when there are none.  Default 5,000. */
  waitMs?: number;
  /** Shown to operators. */
  worker?: string;
  /** Register the types at start; false: another program does. */
  register?: boolean;
  /** How long the result of a task is sent again while the host cannot be reached.  Default 300,000. */
  giveUpMs?: number;
  /** Called with what goes wrong: the default writes it to the console. */
  onError?: (error: unknown, task: TaskContext | undefined) => void;
}

/** Thrown by a handler: the node fails with this code.  `retryable: false`: whatever its retry policy says. */
export class TaskFailure extends WoprError {
  readonly code: string;
  readonly retryable: boolean;
  readonly details: Json | undefined;

  constructor(code: string, message: string, options: { retryable?: boolean; details?: Json } = {}) {
    super(message);
    this.code = code;
    this.retryable = options.retryable ?? true;
    this.details = options.details;
  }
}

/** Thrown by `ask`, to leave the handler; not to be caught. */
class TaskAsked extends Error {}

/** The routes of tasks and of node types, as the worker below uses them. */
export class Tasks {
  constructor(private readonly transport: Transport) {}

  claim(request: wire.ClaimRequest, options?: CallOptions): Promise<wire.ClaimAnswer> {
    return this.transport.call("claimTasks", { body: request, heldMs: request.waitMs ?? 20_000 }, options);
  }
  heartbeat(taskId: string, request: wire.HeartbeatRequest, options?: CallOptions): Promise<wire.HeartbeatAnswer> {
    return this.transport.call("heartbeatTask", { path: { taskId }, body: request }, options); // the next one comes anyway
  }
  complete(taskId: string, request: wire.CompleteRequest, options?: CallOptions): Promise<wire.TaskSaid> {
    return this.transport.call("completeTask", { path: { taskId }, body: request, repeatable: true }, options);
  }
  fail(taskId: string, request: wire.FailRequest, options?: CallOptions): Promise<wire.TaskSaid> {
    return this.transport.call("failTask", { path: { taskId }, body: request, repeatable: true }, options);
  }
  ask(taskId: string, request: wire.AskRequest, options?: CallOptions): Promise<wire.TaskSaid> {
    return this.transport.call("askTask", { path: { taskId }, body: request, repeatable: true }, options);
  }
  emit(taskId: string, request: wire.EmitRequest, options?: CallOptions): Promise<wire.TaskSaid> {
    // With a number (1, 2, 3, ... within the lease, one call after the other) a repeated call appends nothing.
    return this.transport.call("emitTask", { path: { taskId }, body: request, repeatable: true }, options);
  }
}

export class WorkerTypes {
  constructor(private readonly transport: Transport) {}

  /** May be repeated; other schemas replace those that were there. */
  register(request: wire.WorkerTypeRequest, options?: CallOptions): Promise<wire.WorkerType> {
    return this.transport.call("registerWorkerType", { body: request, repeatable: true }, options);
  }
  /** One page, by id. */
  list(query: wire.ListWorkerTypesQuery = {}, options?: CallOptions): Promise<wire.WorkerTypeList> {
    return this.transport.call("listWorkerTypes", { query: query as Query }, options);
  }
  async *listAll(query: Omit<wire.ListWorkerTypesQuery, "after"> = {}, options?: CallOptions): AsyncGenerator<wire.WorkerType, void, undefined> {
    let page = await this.list(query, options);
    yield* page.workerTypes;
    while (page.nextAfter !== undefined) {
      page = await this.list({ ...query, after: page.nextAfter }, options);
      yield* page.workerTypes;
    }
  }
  remove(typeId: string, options?: CallOptions): Promise<wire.WorkerTypeRemoved> {
    return this.transport.call("removeWorkerType", { path: { typeId } }, options);
  }
}

/** One task, as its handler sees it. */
export class TaskContext {
  readonly typeId: string;
  readonly runId: string;
  readonly workflowId: string;
  readonly nodeId: string;
  /** Zero-based, of the node's retry policy. */
  readonly attempt: number;
  /** The same whenever this attempt is executed: hand it to whatever you call. */
  readonly idempotencyKey: string;
  readonly input: Json;
  readonly config: Json;
  /** Aborted when the task is not this worker's any more: its run was cancelled, its time is over, its lease was lost. */
  readonly signal: AbortSignal;

  private readonly controller = new AbortController();
  private questions = 0;
  private emits = 0;
  private emitted: Promise<unknown> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private leasedUntil: number;
  private over = false; // the host knows its end: nothing of it may be sent any more

  constructor(private readonly tasks: Tasks, private readonly lease: wire.Task, private readonly leaseMs: number, claimedAt: number) {
    this.typeId = lease.typeId;
    this.runId = lease.runId;
    this.workflowId = lease.workflowId;
    this.nodeId = lease.nodeId;
    this.attempt = lease.attempt;
    this.idempotencyKey = lease.idempotencyKey;
    this.input = lease.input;
    this.config = lease.config;
    this.signal = this.controller.signal;
    this.leasedUntil = claimedAt + lease.leaseMs;
    this.beatLater();
  }

  get taskId(): string {
    return this.lease.taskId;
  }
  get epoch(): number {
    return this.lease.epoch;
  }
  /** Whether the host has ended the task, or this worker has reported its end. */
  get isOver(): boolean {
    return this.over;
  }

  /** Shows how far the task is, in the stream and the log of the run. */
  async progress(percent?: number, message?: string): Promise<void> {
    await this.emit({ progress: { ...(percent === undefined ? {} : { percent }), ...(message === undefined ? {} : { message }) } });
  }

  /** Sends a piece of output to those who watch the run. */
  async chunk(text: string, options: { isLast?: boolean; meta?: Json } = {}): Promise<void> {
    await this.emit({ chunks: [{ text, ...options }] });
  }

  /** Asks a person, or another system.  The first time the handler ends here; when there is an answer, it is entered again from its
   * beginning, maybe in another worker, and the n-th call of `ask` returns the n-th answer. */
  async ask(question: Omit<wire.AskRequest, "epoch">): Promise<unknown> {
    const answer = this.lease.answers[this.questions++];
    if (answer) return answer.value;
    this.assertMine();
    await this.guarded(this.tasks.ask(this.taskId, { ...question, epoch: this.epoch }));
    this.end(new TaskAsked("the task waits for an answer"));
    throw this.signal.reason;
  }

  /** One after the other: the host takes numbers in their order. */
  private emit(what: Omit<wire.EmitRequest, "epoch" | "number">): Promise<void> {
    const number = ++this.emits;
    const done = this.emitted.then(async () => {
      this.assertMine();
      await this.guarded(this.tasks.emit(this.taskId, { ...what, epoch: this.epoch, number }));
    });
    this.emitted = done.catch(() => undefined);
    return done;
  }

  private assertMine(): void {
    if (this.over) throw this.signal.reason;
  }

  /** An answer of the host that the lease is gone ends the task. */
  private async guarded<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof LeaseLostError || error instanceof NotFoundError) this.end(error);
      throw error;
    }
  }

  private beatLater(): void {
    if (!this.over) this.timer = setTimeout(() => void this.beat(), this.leaseMs / 3);
  }

  private async beat(): Promise<void> {
    const sentAt = Date.now();
    try {
      const request = { epoch: this.epoch, leaseMs: this.leaseMs };
      const answer = await this.guarded(this.tasks.heartbeat(this.taskId, request, { timeoutMs: this.leaseMs / 3 }));
      if (answer.state === "cancelled") this.end(new WoprError(`the task was cancelled: ${answer.reason ?? "no reason"}`));
      else this.leasedUntil = sentAt + this.leaseMs;
    } catch {
      // The host cannot be reached: another worker may have the task once its time is over, so stop by then.
      if (Date.now() > this.leasedUntil) this.controller.abort(new WoprError("the lease of the task could not be renewed"));
    }
    this.beatLater();
  }

  /** No heartbeat, no report after this. */
  end(reason: unknown): void {
    this.over = true;
    clearTimeout(this.timer);
    this.controller.abort(reason);
  }
}

function failureOf(error: unknown): Omit<wire.FailRequest, "epoch"> {
  if (error instanceof TaskFailure) {
    return { error: { code: error.code, message: error.message, ...(error.details ? { details: error.details } : {}) }, retryable: error.retryable };
  }
  return { error: { code: "worker_error", message: error instanceof Error ? error.message || error.name : String(error) }, retryable: true };
}

/** Resolves when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Executes tasks until it is stopped. */
export class Worker {
  private readonly types: Map<string, NodeHandler>;
  private readonly concurrency: number;
  private readonly leaseMs: number;
  private readonly waitMs: number;
  private readonly name: string;
  private readonly active = new Map<TaskContext, Promise<void>>();
  private readonly stopping = new AbortController();
  private readonly hurry = new AbortController(); // the time for tasks to finish is over
  private running: Promise<void> | undefined;

  constructor(private readonly transport: Transport, private readonly tasks: Tasks, private readonly workerTypes: WorkerTypes,
              nodes: Record<string, Handler | NodeHandler>, private readonly options: WorkerOptions) {
    this.types = new Map(Object.entries(nodes).map(([id, node]) => [id, typeof node === "function" ? { handler: node } : node]));
    if (this.types.size === 0) throw new TypeError("a worker needs a node type");
    this.concurrency = options.concurrency ?? 1;
    if (!Number.isInteger(this.concurrency) || this.concurrency < 1) throw new TypeError("concurrency must be an integer of at least 1");
    this.leaseMs = options.leaseMs ?? 30_000;
    this.waitMs = options.waitMs ?? 5_000;
    this.name = options.worker ?? `wopr-client/${Math.random().toString(36).slice(2, 10)}`;
  }

  /** Resolves when the worker was stopped and its tasks are through; rejects with what no repeat can mend. */
  run(): Promise<void> {
    this.running ??= this.loop();
    return this.running;
  }

  /** Claims nothing more, lets the tasks finish, and after `graceMs` leaves them to other workers.  May be called again, to hurry. */
  async stop(options: { graceMs?: number } = {}): Promise<void> {
    this.stopping.abort();
    const timer = options.graceMs === undefined ? undefined : setTimeout(() => this.hurry.abort(), options.graceMs);
    await this.running?.catch(() => undefined); // run() reports it
    clearTimeout(timer);
  }

  private async loop(): Promise<void> {
    try {
      if (this.options.register !== false) await this.registerTypes();
      for (let failures = 0; !this.stopping.signal.aborted; ) {
        if (this.active.size >= this.concurrency) {
          await Promise.race([...this.active.values(), aborted(this.stopping.signal)]);
          continue;
        }
        failures = await this.claim(failures);
      }
    } finally {
      await this.drain();
    }
  }

  private async registerTypes(): Promise<void> {
    for (const [typeId, { handler: _, ...described }] of this.types) {
      try {
        await persist(this.transport.retry, Infinity, this.stopping.signal, () => this.workerTypes.register({ typeId, ...described }));
      } catch (error) {
        // A key that may only claim works for types that a deployment has registered.
        if (!(error instanceof PermissionDeniedError)) throw error;
        if (!(await this.knows(typeId))) throw error;
      }
    }
  }

  private async knows(typeId: string): Promise<boolean> {
    for await (const known of this.workerTypes.listAll({ limit: 200 })) if (known.typeId === typeId) return true;
    return false;
  }

  /** One claim; answers how many have failed in a row. */
  private async claim(failures: number): Promise<number> {
    const max = Math.min(64, this.concurrency - this.active.size);
    const request = { types: [...this.types.keys()], max, leaseMs: this.leaseMs, waitMs: this.waitMs, worker: this.name };
    const sentAt = Date.now();
    try {
      const { tasks } = await this.tasks.claim(request);
      for (const lease of tasks) this.begin(lease, sentAt);
      return 0;
    } catch (error) {
      if (!isTemporary(error)) throw error;
      this.report(error, undefined);
      const delay = temporaryDelayMs({ ...this.transport.retry, retryAfterMaxMs: Infinity }, failures, error) ?? 0;
      await pause(delay, this.stopping.signal).catch(() => undefined);
      return failures + 1;
    }
  }

  private begin(lease: wire.Task, claimedAt: number): void {
    const task = new TaskContext(this.tasks, lease, this.leaseMs, claimedAt);
    const done = this.execute(task).finally(() => this.active.delete(task));
    this.active.set(task, done);
  }

  /** Never rejects. */
  private async execute(task: TaskContext): Promise<void> {
    try {
      let output: Json;
      try {
        output = (await this.types.get(task.typeId)!.handler(task)) ?? {};
      } catch (error) {
        if (task.isOver || (task.signal.aborted && error === task.signal.reason)) return;
        this.report(error, task);
        await this.send(task, () => this.tasks.fail(task.taskId, { epoch: task.epoch, ...failureOf(error) }));
        return;
      }
      await this.complete(task, output);
    } catch (error) {
      this.report(error, task);
    } finally {
      task.end(new WoprError("the task is over"));
    }
  }

  private async complete(task: TaskContext, output: Json): Promise<void> {
    try {
      await this.send(task, () => this.tasks.complete(task.taskId, { epoch: task.epoch, output }));
    } catch (error) {
      // What is no JSON (a TypeError), or what the host does not take this time, it will not take the next.
      if (!(error instanceof InvalidRequestError || error instanceof TypeError)) throw error;
      this.report(error, task);
      const reason = { code: "invalid_output", message: error.message, details: error instanceof ApiError ? error.details : {} };
      await this.send(task, () => this.tasks.fail(task.taskId, { epoch: task.epoch, error: reason, retryable: false }));
    }
  }

  /** Sends the end of a task, unless the host knows of another. */
  private async send(task: TaskContext, report: () => Promise<unknown>): Promise<void> {
    if (task.isOver) return;
    try {
      await persist(this.transport.retry, this.options.giveUpMs ?? 300_000, undefined, report);
    } catch (error) {
      if (error instanceof LeaseLostError || error instanceof NotFoundError) return; // another worker has it
      throw error;
    }
  }

  private async drain(): Promise<void> {
    await Promise.race([Promise.allSettled(this.active.values()), aborted(this.hurry.signal)]);
    for (const task of this.active.keys()) task.end(new WoprError("the worker stops"));
  }

  private report(error: unknown, task: TaskContext | undefined): void {
    if (this.options.onError) return this.options.onError(error, task);
    const where = task ? ` (${task.typeId}, run ${task.runId}, node ${task.nodeId})` : "";
    console.error(`wopr worker${where}:`, error instanceof ApiError || error instanceof WoprError ? error.message : error);
  }
}
