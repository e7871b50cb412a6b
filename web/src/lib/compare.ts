// Two logs side by side: where they part.
import { equal, isObj, type Json, type Obj } from "./json";
import type { Event } from "./types";

/** Members that differ between any two runs, or between any two times. */
const OWN = new Set(["durationMs", "writtenAt", "decidedAt", "resolvedAt", "interruptId", "key", "runId", "leaseId", "expiresAt", "instanceId", "artifactId"]);
/** Kinds that tell of the host and of what was done to the run, not of what it does (NOT_REPLAYED of src/domain/events.def). */
export const ASIDE = new Set([
  "run.resuming", "run.paused", "run.resumed", "run.restored-from-snapshot", "log.appended", "workflow.restored", "workflow.stalled",
  "lease.acquired", "lease.renewed", "lease.lost", "lease.handed-off", "replay.diverged",
]);

export function plain(value: Json, runId: string): Json {
  if (typeof value === "string") return runId !== "" && value.includes(runId) ? value.replaceAll(runId, "(run)") : value;
  if (Array.isArray(value)) return value.map((item) => plain(item, runId));
  if (!isObj(value)) return value;
  const out = Object.create(null) as Obj; // a member may be called __proto__
  for (const [name, member] of Object.entries(value)) if (!OWN.has(name)) out[name] = plain(member, runId);
  return out;
}

export interface Pair {
  left: number | undefined; // sequences
  right: number | undefined;
  same: boolean;
}

/** The events of both that count, in pairs, as they arrive. */
export class Pairs {
  /** The index of the first pair that differs or lacks a side; -1: none does. */
  private parted = -1;
  private readonly all: Pair[] = [];
  private readonly open: Event[] = []; // of the side that is ahead, until the other has its event
  private opened = 0; // of these are paired
  private ahead: "left" | "right" = "left";

  get length(): number {
    return this.all.length;
  }

  get first(): number {
    const single = this.all.length - (this.open.length - this.opened);
    return this.parted >= 0 ? this.parted : single < this.all.length ? single : -1;
  }

  at(i: number): Pair | undefined {
    return this.all[i];
  }

  add(side: "left" | "right", e: Event): void {
    if (ASIDE.has(e.type)) return;
    const other = this.ahead !== side ? this.open[this.opened] : undefined;
    if (!other) {
      this.ahead = side;
      this.open.push(e);
      this.all.push({ left: undefined, right: undefined, same: false, [side]: e.sequence });
      return;
    }
    const i = this.all.length - (this.open.length - this.opened);
    const p = this.all[i] as Pair;
    p[side] = e.sequence;
    p.same = other.type === e.type && other.nodeId === e.nodeId && equal(plain(other.payload, other.runId), plain(e.payload, e.runId));
    if (!p.same && this.parted < 0) this.parted = i;
    if (++this.opened === this.open.length) [this.open.length, this.opened] = [0, 0];
  }
}
