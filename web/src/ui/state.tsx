// States, each with a colour, a shape and a word.
import { T } from "../text";
import type { Status } from "../lib/types";

type Tone = "good" | "bad" | "warn" | "busy" | "idle";
const TONES: Record<string, Tone> = {
  pending: "idle", running: "busy", paused: "warn", "waiting-approval": "warn", "waiting-input": "warn", "waiting-external": "warn", suspended: "warn",
  completed: "good", failed: "bad", cancelled: "idle", skipped: "idle", retried: "warn", none: "idle",
};
export const tone = (status: string): Tone => TONES[status] ?? "idle";

const SHAPES: Record<string, string> = {
  check: "M4 8.5l2.6 2.6L12 5.5", cross: "M5 5l6 6M11 5l-6 6", play: "M6 4.5l5.5 3.5L6 11.5z", pause: "M6 5v6M10 5v6", wait: "M8 4.5V8l2.5 1.5",
  dash: "M5 8h6", dot: "M8 8h.01", skip: "M5 5l3 3-3 3M9 5l3 3-3 3", again: "M11.5 6A4 4 0 1 0 12 9M12 4v2.5H9.5",
};
const SHAPE_OF: Record<string, string> = {
  pending: "dot", running: "play", paused: "pause", "waiting-approval": "wait", "waiting-input": "wait", "waiting-external": "wait", suspended: "wait",
  completed: "check", failed: "cross", cancelled: "dash", skipped: "skip", retried: "again", none: "dot",
};

export function Mark({ status, class: more = "" }: { status: string; class?: string }) {
  const filled = status === "running";
  return (
    <svg class={`mark ${more}`} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {status !== "running" && <circle cx="8" cy="8" r="6.5" stroke-width="1.25" />}
      <path d={SHAPES[SHAPE_OF[status] ?? "dot"]} fill={filled ? "currentColor" : "none"} stroke-width={SHAPE_OF[status] === "dot" ? 3 : 1.75} />
    </svg>
  );
}

export function markPath(status: string): string {
  return SHAPES[SHAPE_OF[status] ?? "dot"] as string;
}

export function State({ status }: { status: Status | string }) {
  return (
    <span class={`state t-${tone(status)}`}>
      <Mark status={status} />
      {(T.status as Record<string, string>)[status] ?? T.node[status] ?? status}
    </span>
  );
}
