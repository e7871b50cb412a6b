// Text that nodes stream, and the lines that they log.
import { at, textOf, type Json } from "../../lib/json";
import type { Event } from "../../lib/types";

const CHARS_MAX = 200000; // of one node
const PIECE_CHARS = 2000; // a piece of this length changes no more: what is on screen stays there
const LINES_MAX = 2000;

export interface Line {
  seq: number;
  at: string;
  level: string;
  text: string;
  nodeId: string | undefined;
  fields: Json | undefined;
}

export interface Stream {
  pieces: string[];
  first: number; // number of the first piece that is kept
  tail: string;
  cut: boolean;
  open: boolean;
}

export class Output {
  readonly streams = new Map<string, Stream>();
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
    let s = this.streams.get(id);
    if (!s) this.streams.set(id, (s = { pieces: [], first: 0, tail: "", cut: false, open: true }));
    s.tail += textOf(at(e.payload, "chunk"));
    s.open = at(e.payload, "isLast") !== true;
    while (s.tail.length > PIECE_CHARS) {
      const pair = /[\ud800-\udbff]/.test(s.tail[PIECE_CHARS - 1] as string) ? 1 : 0; // two halves of a character stay together
      s.pieces.push(s.tail.slice(0, PIECE_CHARS - pair));
      s.tail = s.tail.slice(PIECE_CHARS - pair);
    }
    if (s.pieces.length * PIECE_CHARS <= CHARS_MAX) return;
    const more = Math.floor(s.pieces.length / 2);
    s.pieces.splice(0, more);
    s.first += more;
    s.cut = true;
  }
}
