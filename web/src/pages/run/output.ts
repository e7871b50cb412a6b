// Text that nodes stream, and the lines that they log.
import { at, textOf, type Json } from "../../lib/json";
import type { Event } from "../../lib/types";

const CHARS_MAX = 200000; // of one node
const LINES_MAX = 2000;

export interface Line {
  seq: number;
  at: string;
  level: string;
  text: string;
  nodeId: string | undefined;
  fields: Json | undefined;
}

export class Output {
  readonly streams = new Map<string, { text: string; cut: boolean; open: boolean }>();
  readonly lines: Line[] = [];
  cut = false;

  apply(e: Event): void {
    if (e.type === "output.chunk") this.chunk(e);
    else if (e.type === "node.started" && e.nodeId) this.streams.delete(e.nodeId); // an attempt begins from nothing
    else if (e.type === "log.appended") {
      this.lines.push({ seq: e.sequence, at: e.timestamp, level: textOf(at(e.payload, "level")), text: textOf(at(e.payload, "message")), nodeId: e.nodeId, fields: at(e.payload, "fields") });
      if (this.lines.length > LINES_MAX) {
        this.lines.splice(0, LINES_MAX / 2);
        this.cut = true;
      }
    }
  }

  private chunk(e: Event): void {
    const id = e.nodeId ?? textOf(at(e.payload, "nodeId"));
    const old = this.streams.get(id) ?? { text: "", cut: false, open: true };
    const text = old.text + textOf(at(e.payload, "chunk"));
    const cut = text.length > CHARS_MAX;
    this.streams.set(id, { text: cut ? text.slice(-CHARS_MAX / 2) : text, cut: old.cut || cut, open: at(e.payload, "isLast") !== true });
  }
}
