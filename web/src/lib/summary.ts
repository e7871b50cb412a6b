// An event in a line.
import { cutAt } from "./cut";
import { at, isObj, numberOf, print, textOf, type Json } from "./json";
import { duration } from "./time";
import type { Event } from "./types";

const CHARS = 160; // of a value
const LINE_CHARS = 400;

/** The shape beside it. */
export function markOf(type: string): string {
  if (type === "run.completed" || type === "node.completed") return "completed";
  if (type.endsWith(".failed") || type === "cap.breached" || type === "replay.diverged") return "failed";
  if (type.endsWith(".cancelled")) return "cancelled";
  if (type.endsWith(".suspended") || type.endsWith(".requested")) return "suspended";
  if (type === "run.paused") return "paused";
  if (type === "node.skipped") return "skipped";
  if (type === "node.retried") return "retried";
  if (type.endsWith(".started") || type.endsWith(".resumed")) return "running";
  return "none";
}

function brief(value: Json | undefined): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : isObj(value) && Object.keys(value).length === 0 ? "" : print(value);
  return short(text, CHARS);
}

const short = (text: string, most: number): string => (text.length > most ? `${text.slice(0, cutAt(text, most))}…` : text);

const kept = new WeakMap<Event, string[]>();
/** In parts, each of which is read by itself: a name in Hebrew does not change places with its value. */
export function summary(e: Event): string[] {
  let parts = kept.get(e);
  if (parts === undefined) kept.set(e, (parts = line(e).filter((part) => part !== "").map((part) => short(part, LINE_CHARS))));
  return parts;
}

/** Both with what is between them, or the one that there is. */
const pair = (left: string, between: string, right: string): string[] => (left === "" || right === "" ? [left, right] : [left, between, right]);

function line(e: Event): string[] {
  const p = e.payload;
  const took = numberOf(at(p, "durationMs"));
  switch (e.type) {
    case "run.started": return pair(textOf(at(p, "workflowId")), " ", brief(at(p, "inputs")));
    case "node.started": return [`${textOf(at(p, "typeId"))}${numberOf(at(p, "attempt")) ? `, attempt ${(numberOf(at(p, "attempt")) as number) + 1}` : ""}`];
    case "node.completed":
    case "run.completed": return pair(took === undefined ? "" : duration(took), " · ", brief(at(p, "outputs")));
    case "node.failed":
    case "run.failed": return [textOf(at(p, "error", "code")), ": ", textOf(at(p, "error", "message"))];
    case "node.retried": return [`in ${duration(numberOf(at(p, "delayMs")) ?? 0)}: `, textOf(at(p, "lastError", "message"))];
    case "variable.changed": return [textOf(at(p, "name")), " = ", brief(at(p, "next"))];
    case "channel.written": return [textOf(at(p, "channel")), " ← ", brief(at(p, "value"))];
    case "output.chunk": return [brief(at(p, "chunk"))];
    case "log.appended": return [textOf(at(p, "level")), ": ", textOf(at(p, "message"))];
    case "interrupt.requested": return pair(textOf(at(p, "kind")), " ", textOf(at(p, "data", "title")) || textOf(at(p, "data", "prompt")));
    default: return [textOf(at(p, "reason")) || brief(p)];
  }
}

export function matches(e: Event, wanted: string): boolean {
  return e.type.toLowerCase().includes(wanted) || (e.nodeId ?? "").toLowerCase().includes(wanted) || print(e.payload).toLowerCase().includes(wanted) || e.eventId.toLowerCase() === wanted;
}
