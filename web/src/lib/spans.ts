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
  spans: Span[]; // the latest
  attempts: number; // of all
  from: number; // of the first
}
const SPANS_MAX = 512; // of a node, in memory

export class Spans {
  readonly lanes = new Map<string, Lane>();
  from = Infinity;
  to = 0;
  private readonly order: Lane[] = []; // in which nodes are first heard of

  private lane(e: Event, id: string): Lane {
    return this.lanes.get(id) ?? this.open({ nodeId: id, spans: [], attempts: 0, from: Date.parse(e.timestamp) });
  }

  private open(lane: Lane): Lane {
    this.lanes.set(lane.nodeId, lane);
    this.order.push(lane);
    return lane;
  }

  get count(): number {
    return this.order.length;
  }

  at(i: number): Lane | undefined {
    return this.order[i];
  }

  static of(snapshot: Snapshot): Spans {
    const spans = new Spans();
    const begun = Object.entries(snapshot.nodeStates).filter(([, n]) => n.startedAt).sort((a, b) => ((a[1].startedAt as string) < (b[1].startedAt as string) ? -1 : 1));
    for (const [id, n] of begun) {
      const from = Date.parse(n.startedAt as string);
      const to = n.completedAt ? Date.parse(n.completedAt) : undefined;
      spans.open({ nodeId: id, attempts: 1, from, spans: [{ from, to, kind: "work", outcome: n.status, attempt: n.attempt, seq: -1, note: "" }] });
      spans.from = Math.min(spans.from, from);
      spans.to = Math.max(spans.to, to ?? from);
    }
    return spans;
  }

  apply(e: Event): void {
    const now = Date.parse(e.timestamp);
    this.from = Math.min(this.from, now);
    this.to = Math.max(this.to, now);
    if (e.nodeId === undefined || !e.type.startsWith("node.")) return;
    const lane = this.lane(e, e.nodeId);
    const what = e.type.slice(5);
    const open = lane.spans[lane.spans.length - 1];
    const attempt = numberOf(at(e.payload, "attempt")) ?? open?.attempt ?? 0;
    const begin = (kind: Span["kind"], outcome: string, note = ""): void => {
      lane.spans.push({ from: now, to: undefined, kind, outcome, attempt, seq: e.sequence, note });
      if (kind === "work") lane.attempts++;
      if (lane.spans.length > SPANS_MAX) lane.spans.splice(0, SPANS_MAX / 2);
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
      else {
        begin("work", what, textOf(at(e.payload, "reason")));
        (lane.spans[lane.spans.length - 1] as Span).to = now;
      }
    }
  }
}
