// WorkSpec documents (docs/contract/50-workspec.md): plans, and what the log of a run says of its tasks.
import { at, isObj, numberOf, textOf, type Json } from "./json";
import type { Definition, Event } from "./types";

const TASK = "local.workspec.task"; // WS-98
const DAY_MS = 86400000;

export interface Entry {
  id: string;
  nodeId: string;
  performer: string;
  startMs: number;
  endMs: number;
  all: number[];
  any: number[];
  human: boolean;
}
export interface Plan {
  originMs: number;
  anchorDate?: string;
  entries: Entry[];
  planSha256: string;
}

export const planPath = (id: string): string => `/v1/workspec/documents/${encodeURIComponent(id)}/plan`;

/** The projection of a document, not a workflow that only says so: its nodes are tasks. */
export function isDocument(definition: Definition | null | undefined): boolean {
  return textOf(at(definition?.metadata, "customProperties", "workspec", "planSha256")) !== "" && (definition?.nodes ?? []).every((n) => n.typeId === TASK);
}

/** Virtual milliseconds, as a time of day; with the day when there are several, as a date when the plan has one (WS-101). */
export function planTime(ms: number, plan: Pick<Plan, "anchorDate" | "originMs">, days: boolean): string {
  const day = Math.floor(ms / DAY_MS);
  const s = Math.floor((ms - day * DAY_MS) / 1000);
  const two = (n: number): string => String(n).padStart(2, "0");
  const time = `${two(Math.floor(s / 3600))}:${two(Math.floor(s / 60) % 60)}${s % 60 > 0 ? `:${two(s % 60)}` : ""}`;
  if (!days) return time;
  const anchor = plan.anchorDate ? Date.parse(`${plan.anchorDate}T00:00:00Z`) : NaN;
  const date = new Date(anchor + day * DAY_MS);
  return `${Number.isNaN(date.getTime()) ? `${day + 1}/` : `${date.toISOString().slice(0, 10)} `}${time}`;
}

export interface Span {
  from: number;
  to: number;
}
export function planSpan(plan: Plan): Span {
  let to = plan.originMs + 1;
  for (const e of plan.entries) to = Math.max(to, e.endMs);
  return { from: plan.originMs, to };
}
export const manyDays = (s: Span): boolean => Math.floor(s.from / DAY_MS) !== Math.floor((s.to - 1) / DAY_MS) || s.from < 0 || s.from >= DAY_MS;

/** The performers, in the order of their first tasks, each with its tasks by start. */
export function performers(plan: Plan): { id: string; tasks: Entry[] }[] {
  const all = new Map<string, Entry[]>();
  for (const e of [...plan.entries].sort((a, b) => a.startMs - b.startMs)) {
    const list = all.get(e.performer);
    if (list) list.push(e);
    else all.set(e.performer, [e]);
  }
  return [...all].map(([id, tasks]) => ({ id, tasks }));
}

/** When tasks really began and ended, in virtual time, by the events that say so. */
export class Tasks {
  private readonly known = new Map<string, { performer: string; startSeq: number; start: number; plannedStart: number; plannedEnd: number; endSeq: number; end: number }>();
  private readonly steps: { seq: number; vt: number }[] = [];
  private sorted = true; // a log that began in the middle may be read from its beginning later
  private speed = 0; // virtual milliseconds in a real one; 0: they pass with the steps alone
  private base: { vt: number; ts: number; still: boolean } | undefined; // what is known of the clock
  planSha256 = "";

  apply(e: Event): void {
    const ts = Date.parse(e.timestamp);
    if (e.type === "run.started") this.begin(e, ts);
    const said = numberOf(at(e.payload, "workspec", "vt"));
    const ended = e.type === "node.completed" ? numberOf(at(e.payload, "outputs", "end")) : undefined;
    const vt = said ?? ended;
    if (vt !== undefined) this.step(e.sequence, vt, ts);
    const pauses = e.type === "run.paused";
    if (this.base && (pauses || e.type === "run.resumed")) this.base = { vt: this.live(ts) as number, ts, still: pauses };
    if (e.nodeId === undefined) return;
    if (e.type === "node.started" && said !== undefined) {
      const told = (name: string): number => numberOf(at(e.payload, "workspec", name)) ?? said;
      this.known.set(e.nodeId, { performer: textOf(at(e.payload, "workspec", "performer")), startSeq: e.sequence, start: said, plannedStart: told("plannedStart"), plannedEnd: told("plannedEnd"), endSeq: Infinity, end: 0 });
    }
    const task = this.known.get(e.nodeId);
    if (task && ended !== undefined) Object.assign(task, { endSeq: e.sequence, end: ended });
  }

  private begin(e: Event, ts: number): void {
    this.planSha256 = textOf(at(e.payload, "workspec", "planSha256"));
    this.speed = at(e.payload, "workspec", "clock") === "real" ? (numberOf(at(e.payload, "workspec", "speed")) ?? 1) : 0;
    const origin = numberOf(at(e.payload, "workspec", "originMs"));
    if (origin !== undefined) this.step(e.sequence, origin, ts);
  }

  private step(seq: number, vt: number, ts: number): void {
    const last = this.steps[this.steps.length - 1];
    if (last && last.seq > seq) this.sorted = false;
    else this.base = { vt, ts, still: this.base?.still ?? false };
    if (last?.vt !== vt) this.steps.push({ seq, vt });
  }

  /** The virtual instant now, of a run that goes on: it stands still while the run is paused (WS-113). */
  live(now: number): number | undefined {
    const { base } = this;
    return base && !base.still ? base.vt + Math.max(0, now - base.ts) * this.speed : base?.vt;
  }

  /** The virtual instant after an event. */
  now(seq: number): number | undefined {
    if (!this.sorted) this.steps.sort((a, b) => a.seq - b.seq);
    this.sorted = true;
    let low = 0;
    let high = this.steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.steps[middle] as { seq: number }).seq <= seq) low = middle + 1;
      else high = middle;
    }
    return this.steps[low - 1]?.vt;
  }

  /** When it was done, up to an event; undefined: it has not begun. */
  done(nodeId: string, seq: number): { from: number; to: number | undefined } | undefined {
    const task = this.known.get(nodeId);
    if (!task || task.startSeq > seq) return undefined;
    return { from: task.start, to: task.endSeq <= seq ? task.end : undefined };
  }

  /** What the log itself knows of the plan: tasks that have begun.  For a run whose document is another by now. */
  plan(originMs: number): Plan {
    const entries = [...this.known].map(([nodeId, t]) => ({ id: nodeId, nodeId, performer: t.performer, startMs: t.plannedStart, endMs: t.plannedEnd, all: [], any: [], human: false }));
    return { originMs, entries, planSha256: this.planSha256 };
  }
}

/** Things and their properties, from the variables of a run (WS-70, WS-104). */
export interface Thing {
  id: string;
  type: string;
  name: string;
  gone: boolean;
  properties: Map<string, Json>;
}
export function things(variables: Iterable<[string, Json | undefined]>): Map<string, Thing> {
  const all = new Map<string, Thing>();
  for (const [name, value] of variables) {
    if (value === undefined) continue;
    const dot = name.indexOf(".");
    const id = dot < 0 ? name : name.slice(0, dot);
    let thing = all.get(id);
    if (!thing) all.set(id, (thing = { id, type: "", name: "", gone: false, properties: new Map() }));
    if (dot >= 0) thing.properties.set(name.slice(dot + 1), value);
    else if (isObj(value)) Object.assign(thing, { type: textOf(value["type"]), name: textOf(value["name"]) });
    else thing.gone = value === null;
  }
  return all;
}
