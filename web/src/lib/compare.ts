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
  const out: Obj = {};
  for (const [name, member] of Object.entries(value)) if (!OWN.has(name)) out[name] = plain(member, runId);
  return out;
}

export interface Pair {
  left: Event | undefined;
  right: Event | undefined;
  same: boolean;
}

/** The events of both that count, in pairs; first: the index of the first pair that differs, -1: none does. */
export function pair(left: Iterable<Event>, right: Iterable<Event>): { pairs: Pair[]; first: number } {
  const a = [...left].filter((e) => !ASIDE.has(e.type));
  const b = [...right].filter((e) => !ASIDE.has(e.type));
  const pairs: Pair[] = [];
  let first = -1;
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const x = a[i];
    const y = b[i];
    const same =
      x !== undefined && y !== undefined && x.type === y.type && x.nodeId === y.nodeId && equal(plain(x.payload, x.runId), plain(y.payload, y.runId));
    if (!same && first < 0) first = i;
    pairs.push({ left: x, right: y, same });
  }
  return { pairs, first };
}
