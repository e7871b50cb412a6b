// Text that nodes stream, and the lines that they log.
import { at, textOf, type Json } from "../../lib/json";
import type { Event } from "../../lib/types";

const CHARS_MAX = 200000; // of one node
const PIECE_CHARS = 2000; // a piece of about this length changes no more: the browser has no more to do for it
const PARAGRAPH_CHARS = 8000; // one that is longer is broken at a space: what is laid out for each new word is bounded
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
  chars: number; // of the pieces
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
    if (!s) this.streams.set(id, (s = { pieces: [], chars: 0, first: 0, tail: "", cut: false, open: true }));
    s.tail += textOf(at(e.payload, "chunk"));
    s.open = at(e.payload, "isLast") !== true;
    for (let end = pieceEnd(s.tail); end > 0; end = pieceEnd(s.tail)) {
      s.pieces.push(s.tail.slice(0, end));
      s.chars += end;
      s.tail = s.tail.slice(end);
    }
    if (s.chars <= CHARS_MAX) return;
    const more = Math.ceil(s.pieces.length / 2);
    for (const piece of s.pieces.splice(0, more)) s.chars -= piece.length;
    s.first += more;
    s.cut = true;
  }
}

/** Where a piece ends that is shown as a block of its own: behind a line break, or within a paragraph that is too long; 0: not yet. */
function pieceEnd(text: string): number {
  if (text.length <= PIECE_CHARS) return 0;
  const line = text.lastIndexOf("\n", PIECE_CHARS - 1) + 1 || text.indexOf("\n", PIECE_CHARS) + 1;
  if (line > 0 && line <= PARAGRAPH_CHARS) return line;
  if (text.length <= PARAGRAPH_CHARS) return 0;
  const pair = /[\ud800-\udbff]/.test(text[PARAGRAPH_CHARS - 1] as string) ? 1 : 0; // two halves of a character stay together
  return text.lastIndexOf(" ", PARAGRAPH_CHARS - 1) + 1 || PARAGRAPH_CHARS - pair;
}
