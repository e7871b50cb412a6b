// The state of a run after any of its events, from the events alone: what the host's snapshot shows (its fold is src/domain/state*.c).
// A test compares the two after each event of all fixtures.  Costs of nodes are not folded; that a node begins a fresh round of a loop is known
// from its start, which the host decides an event earlier.
import { Channel, MASK } from "./channel";
import { at, isObj, numberOf, textOf, type Json, type Obj } from "./json";
import { Regions } from "./loops";
import { isDocument } from "./plan";
import { isFinal, type Definition, type Event, type NodeState, type Snapshot, type Status } from "./types";

/** Never changed, only replaced: copies of a fold share them. */
interface Node {
  readonly status: string;
  readonly attempt: number;
  readonly startedAt?: string;
  readonly completedAt?: string;
  readonly outputs?: Json | undefined;
  readonly error?: Json | undefined;
  readonly retrying?: boolean;
  readonly waits?: Status;
  readonly since?: number; // sequence of its node.suspended
  readonly touched?: boolean;
}
const WAIT_ORDER: Status[] = ["waiting-approval", "waiting-input", "waiting-external"];
const ENDED = new Set(["completed", "failed", "skipped", "cancelled"]);
const GOING = new Set<string>(["running", ...WAIT_ORDER]);

/** The status that a suspended node gives its run (INT-12). */
function waitsAs(kind: string, reason: string): Status {
  if (reason === "pause-drain") return "running";
  if (kind === "approval") return "waiting-approval";
  if (kind === "clarification" || kind === "custom") return "waiting-input";
  if (kind === "external-event") return "waiting-external";
  return reason === "low-confidence" || reason === "conversation-input" || reason === "child-suspended" ? "waiting-approval" : "waiting-input";
}

export class Fold {
  status: Status = "pending";
  next = 0; // sequence of the next event
  last = ""; // time of the last
  startedAt: string | undefined;
  completedAt: string | undefined;
  currentNodeId: string | undefined;
  outputs: Json | undefined;
  error: Json | undefined;
  readonly nodes = new Map<string, Node>();
  readonly variables = new Map<string, Json | undefined>();
  private readonly channels = new Map<string, Channel>();
  private readonly suspended = new Set<string>();
  private beforePause: Status = "running";
  private readonly masking: string;
  private world = false; // a run of a WorkSpec document
  private regions: Regions | undefined; // of loops, once there is one

  constructor(readonly definition: Definition | null) {
    this.masking = textOf(at(definition?.metadata, "complianceConfig", "maskingMode")) || "mask";
    for (const [name, declared] of Object.entries(definition?.channels ?? {})) this.channels.set(name, new Channel(name, declared, this.masking));
    for (const v of definition?.variables ?? []) {
      if (v.defaultValue === undefined) continue;
      const masks = v.sensitive === true && this.masking !== "passthrough";
      if (masks && this.masking === "omit") continue;
      this.variables.set(v.name, masks ? MASK : v.defaultValue);
    }
  }

  copy(): Fold {
    const to = new Fold(null);
    to.regions = this.regions;
    for (const [id, node] of this.nodes) to.nodes.set(id, node);
    for (const [name, value] of this.variables) to.variables.set(name, value);
    for (const [name, channel] of this.channels) to.channels.set(name, channel.copy());
    for (const id of this.suspended) to.suspended.add(id);
    const { status, next, last, startedAt, completedAt, currentNodeId, outputs, error, beforePause, masking, definition, world } = this;
    return Object.assign(to, { status, next, last, startedAt, completedAt, currentNodeId, outputs, error, beforePause, masking, definition, world });
  }

  /** For a log that is too long to read before something is shown: nodes and status as the host says they are now. */
  static of(snapshot: Snapshot, definition: Definition | null, next: number): Fold {
    const fold = new Fold(definition);
    fold.world = isDocument(definition);
    if (fold.world) fold.variables.clear(); // what is gone now was there at first
    fold.status = snapshot.status;
    fold.next = next;
    fold.startedAt = snapshot.startedAt;
    fold.completedAt = snapshot.completedAt;
    fold.outputs = snapshot.outputs;
    fold.error = snapshot.error;
    for (const [id, state] of Object.entries(snapshot.nodeStates)) {
      fold.nodes.set(id, { ...state, touched: true, since: 0 });
      if (state.status === "suspended") fold.suspended.add(id);
    }
    for (const [name, value] of Object.entries(snapshot.variables)) fold.variables.set(name, value);
    return fold;
  }

  apply(e: Event): void {
    if (e.timestamp > this.last) this.last = e.timestamp;
    this.next = e.sequence + 1;
    const before = this.status;
    const p = isObj(e.payload) ? e.payload : {};
    const waited = e.nodeId !== undefined && this.suspended.has(e.nodeId);
    switch (e.type) {
      case "run.started":
        this.startedAt = this.last;
        this.begin(p);
        this.status = "running";
        break;
      case "run.completed":
        this.outputs = p["outputs"] ?? {};
        this.end("completed");
        break;
      case "run.failed":
        this.error = closed(p["error"]);
        this.end("failed");
        break;
      case "run.cancelled":
        this.end("cancelled");
        break;
      case "run.paused":
        this.beforePause = before;
        this.interrupted(textOf(p["interruptedNodeId"]));
        this.status = "paused";
        break;
      case "run.resumed":
        if (before === "paused") this.status = this.beforePause;
        break;
      case "variable.changed":
        if (this.world) this.exist(textOf(p["name"]), p["next"]);
        else this.variables.set(textOf(p["name"]), this.hidden(textOf(p["name"]), p["next"]));
        break;
      case "channel.written":
        this.write(e, p);
        break;
      default:
        if (e.type.startsWith("node.") && e.nodeId !== undefined) this.move(e, e.nodeId, p);
    }
    const waits = e.nodeId !== undefined && this.suspended.has(e.nodeId);
    if (GOING.has(this.status) && (waited || waits || this.status !== before)) this.ask();
  }

  private begin(p: Obj): void {
    this.world = isObj(p["workspec"]);
    if (this.world) {
      const given = at(p["inputs"], "world");
      for (const [id, values] of Object.entries(isObj(given) ? given : {}))
        for (const [name, value] of Object.entries(isObj(values) ? values : {})) this.variables.set(`${id}.${name}`, value);
      return;
    }
    for (const [name, value] of Object.entries(isObj(p["inputs"]) ? p["inputs"] : {})) this.variables.set(name, value);
  }

  private end(status: Status): void {
    this.status = status;
    this.completedAt = this.last;
    this.currentNodeId = undefined;
    for (const [id, node] of this.nodes) if (node.retrying) this.nodes.set(id, { ...node, retrying: false });
  }

  private interrupted(id: string): void {
    const node = this.nodes.get(id);
    if (node) this.nodes.set(id, { ...node, status: "pending", retrying: true });
  }

  /** Variables of a document are what exists (WS-104): one without a next value is gone, and with a thing all that belongs to it. */
  private exist(name: string, next: Json | undefined): void {
    if (next === undefined) this.variables.delete(name);
    else this.variables.set(name, next);
    if (next !== null || name.includes(".")) return;
    for (const other of this.variables.keys()) if (other.startsWith(`${name}.`)) this.variables.delete(other);
  }

  /** Mode omit leaves the value out of the log. */
  private hidden(name: string, value: Json | undefined): Json | undefined {
    const sensitive = this.definition?.variables?.some((v) => v.name === name && v.sensitive === true);
    return value === undefined && !(sensitive && this.masking === "omit") ? null : value;
  }

  private write(e: Event, p: Obj): void {
    const name = textOf(p["channel"]);
    let channel = this.channels.get(name);
    if (!channel) this.channels.set(name, (channel = new Channel(name, undefined, this.masking)));
    const old = numberOf(at(channel.declared, "schemaVersion")) ?? 1;
    const version = numberOf(p["schemaVersion"]) ?? 1;
    const compatible = at(channel.declared, "compatibleVersions");
    if (version < old && !(Array.isArray(compatible) && compatible.includes(version))) return;
    const node = this.definition?.nodes.find((n) => n.id === e.nodeId);
    channel.write(p["value"] ?? null, textOf(p["reducer"]), Date.parse(this.last), numberOf(at(node?.config, "ttlMs")) ?? 0);
  }

  private move(e: Event, id: string, p: Obj): void {
    const node = this.nodes.get(id) ?? { status: "pending", attempt: 0 };
    const change = (to: Partial<Node>): unknown => this.nodes.set(id, { ...node, ...to });
    this.suspended.delete(id);
    switch (e.type) {
      case "node.started": {
        if (ENDED.has(node.status)) this.renew(id);
        const attempt = numberOf(p["attempt"]) ?? (node.retrying ? node.attempt + 1 : 0);
        this.nodes.set(id, { status: "running", attempt, startedAt: this.last, touched: true }); // nothing of an earlier round stays
        break;
      }
      case "node.completed":
        change({ status: "completed", completedAt: this.last, outputs: p["outputs"] ?? {}, touched: true });
        break;
      case "node.failed":
        change({ status: "failed", completedAt: this.last, outputs: undefined, error: p["error"], retrying: false, touched: true });
        break;
      case "node.suspended":
        change({ status: "suspended", waits: waitsAs(textOf(p["kind"]), textOf(p["reason"])), since: e.sequence });
        this.suspended.add(id);
        break;
      case "node.resumed":
        change({ status: "running" });
        break;
      case "node.retried":
        change({ status: "pending", retrying: true });
        break;
      case "node.skipped":
      case "node.cancelled":
        change({
          status: e.type === "node.skipped" ? "skipped" : "cancelled", completedAt: this.last, outputs: undefined, retrying: false, touched: true,
        });
        break;
      default: // node.suspend-failed: it still runs
        if (node.status === "suspended") this.suspended.add(id);
        change({});
    }
  }

  /** A fresh round: what the node leads to is to be done again. */
  private renew(head: string): void {
    if (!this.definition) return;
    this.regions ??= new Regions(this.definition);
    for (const id of this.regions.of(head)) {
      const node = this.nodes.get(id);
      if (node && ENDED.has(node.status)) this.nodes.set(id, { status: "pending", attempt: 0, touched: true, ...(node.outputs === undefined ? {} : { outputs: node.outputs }) });
    }
  }

  /** A going run shows what its suspended nodes ask for: the first kind, of these the longest waiting. */
  private ask(): void {
    let best: string | undefined;
    let rank = WAIT_ORDER.length;
    let since = Infinity;
    for (const id of this.suspended) {
      const node = this.nodes.get(id) as Node;
      const at = WAIT_ORDER.indexOf(node.waits ?? "running");
      if (at < 0 || at > rank || (at === rank && (node.since ?? 0) > since)) continue;
      [best, rank, since] = [id, at, node.since ?? 0];
    }
    this.status = WAIT_ORDER[rank] ?? "running";
    this.currentNodeId = best;
  }

  /** As nodeState says; none: nothing is known of it. */
  nodeStatus(id: string): string {
    const n = this.nodes.get(id);
    return !n || (n.status === "pending" && !n.touched && !n.retrying) ? "none" : n.status;
  }

  nodeState(id: string): NodeState | undefined {
    const n = this.nodes.get(id);
    if (!n || this.nodeStatus(id) === "none") return undefined;
    const out: NodeState = { status: n.status, attempt: n.attempt };
    for (const name of ["startedAt", "completedAt", "outputs", "error"] as const) if (n[name] !== undefined) out[name] = n[name] as string;
    return out;
  }

  /** The members of a snapshot that depend on the log. */
  snapshot(): Pick<Snapshot, "status" | "nodeStates" | "variables"> & Partial<Snapshot> {
    const nodeStates = bare<NodeState>();
    for (const id of this.nodes.keys()) {
      const state = this.nodeState(id);
      if (state) nodeStates[id] = state;
    }
    const variables: Obj = bare();
    const channels: Obj = bare();
    for (const [name, value] of this.variables) if (value !== undefined) variables[name] = value;
    const now = Date.parse(this.last);
    for (const channel of this.channels.values()) {
      const value = channel.shown(now);
      if (value !== undefined) (channel.declared ? channels : variables)[channel.name] = value;
    }
    const out: ReturnType<Fold["snapshot"]> = { status: this.status, nodeStates, variables };
    if (Object.keys(channels).length > 0) out.channels = channels;
    if (this.startedAt) out.startedAt = this.startedAt;
    if (this.completedAt && isFinal(this.status)) out.completedAt = this.completedAt;
    if (this.currentNodeId) out.currentNodeId = this.currentNodeId;
    if (this.outputs !== undefined) out.outputs = this.outputs;
    if (this.error !== undefined) out.error = this.error;
    return out;
  }
}

/** Names are those of tenants: one may be __proto__. */
function bare<T = Json>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

function closed(error: Json | undefined): Json {
  const out: Obj = {};
  for (const name of ["code", "message", "details"]) {
    const value = at(error, name);
    if (value !== undefined) out[name] = value;
  }
  return out;
}
