// What a waterfall draws: for each node its attempts and waits, from the events.
import { at, numberOf, textOf } from "./json";
import type { Event, Snapshot } from "./types";

export interface Span {
  from: number;
  to: number | undefined; // undefined: it goes on
  kind: "work" | "wait" | "backoff";
  outcome: string; // running, completed, failed, retried, skipped, cancelled, suspended
  attempt: number;
  seq: number;
  note: string;
}
export interface Lane {
  nodeId: string;
  spans: Span[];
  firstSeq: number;
}

export class Spans {
  readonly lanes = new Map<string, Lane>();
  from = Infinity;
  to = 0;
  /** When the run itself was paused. */
  readonly pauses: { from: number; to: number | undefined }[] = [];

  private lane(e: Event, id: string): Lane {
    let lane = this.lanes.get(id);
    if (!lane) this.lanes.set(id, (lane = { nodeId: id, spans: [], firstSeq: e.sequence }));
    return lane;
  }

  static of(snapshot: Snapshot): Spans {
    const spans = new Spans();
    for (const [id, n] of Object.entries(snapshot.nodeStates)) {
      if (!n.startedAt) continue;
      const from = Date.parse(n.startedAt);
      const to = n.completedAt ? Date.parse(n.completedAt) : undefined;
      spans.lanes.set(id, { nodeId: id, firstSeq: from, spans: [{ from, to, kind: "work", outcome: n.status, attempt: n.attempt, seq: -1, note: "" }] });
      spans.from = Math.min(spans.from, from);
      spans.to = Math.max(spans.to, to ?? from);
    }
    return spans;
  }

  apply(e: Event): void {
    const now = Date.parse(e.timestamp);
    this.from = Math.min(this.from, now);
    this.to = Math.max(this.to, now);
    if (e.type === "run.paused") this.pauses.push({ from: now, to: undefined });
    if (e.type === "run.resumed" || e.type.startsWith("run.c") || e.type === "run.failed") this.resume(now);
    if (e.nodeId === undefined || !e.type.startsWith("node.")) return;
    const lane = this.lane(e, e.nodeId);
    const what = e.type.slice(5);
    const open = lane.spans[lane.spans.length - 1];
    const attempt = numberOf(at(e.payload, "attempt")) ?? open?.attempt ?? 0;
    const begin = (kind: Span["kind"], outcome: string, note = ""): void => {
      lane.spans.push({ from: now, to: undefined, kind, outcome, attempt, seq: e.sequence, note });
    };
    const close = (outcome?: string): void => {
      if (!open || open.to !== undefined) return;
      open.to = now;
      if (outcome) open.outcome = outcome;
    };
    if (what === "started") {
      close();
      begin("work", "running");
    } else if (what === "suspended") {
      close("suspended");
      begin("wait", "suspended", textOf(at(e.payload, "kind")) || textOf(at(e.payload, "reason")));
    } else if (what === "resumed") {
      close("completed");
      begin("work", "running");
    } else if (what === "retried") {
      close("retried");
      begin("backoff", "retried", textOf(at(e.payload, "lastError", "message")));
    } else if (what === "completed" || what === "failed" || what === "skipped" || what === "cancelled") {
      if (open && open.to === undefined) close(what);
      else lane.spans.push({ from: now, to: now, kind: "work", outcome: what, attempt, seq: e.sequence, note: textOf(at(e.payload, "reason")) });
    }
  }

  private resume(now: number): void {
    const last = this.pauses[this.pauses.length - 1];
    if (last && last.to === undefined) last.to = now;
  }
}
