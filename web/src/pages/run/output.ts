// Text that nodes stream, and the lines that they log.
import { cutAt } from "../../lib/cut";
import { at, textOf, type Json } from "../../lib/json";
import type { Event } from "../../lib/types";

const CHARS_MAX = 200000; // of one node
const PIECE_CHARS = 2000; // a piece of about this length changes no more: the browser has no more to do for it
const PARAGRAPH_CHARS = 8000; // one that is longer is broken: what is laid out for each new word is bounded
const LINES_MAX = 2000;
const LINES_CHARS_MAX = 2000000; // of all lines

const ENDS_RUN = new Set(["run.completed", "run.failed", "run.cancelled"]);
const CLOSES = new Set(["node.started", "node.completed", "node.failed", "node.skipped", "node.cancelled", "node.retried"]);

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
  open: boolean; // more is to follow
  round: number; // of the node: attempts and rounds of loops that have streamed, from 0
  over: boolean; // the node has begun again, and said nothing yet
}

export class Output {
  /** whole: it hears the log from its first event on. */
  constructor(readonly whole = true) {}

  readonly streams = new Map<string, Stream>();
  readonly lines: Line[] = [];
  cut = false;
  private next = 0; // sequence of the next event
  private lineChars = 0;

  apply(e: Event): void {
    if (e.sequence < this.next) return; // heard before
    this.next = e.sequence + 1;
    if (e.type === "output.chunk") this.chunk(e);
    else if (e.type === "log.appended") this.line(e);
    else if (ENDS_RUN.has(e.type)) for (const s of this.streams.values()) s.open = false;
    const s = e.nodeId !== undefined && CLOSES.has(e.type) ? this.streams.get(e.nodeId) : undefined;
    if (!s) return;
    s.open = false;
    if (e.type === "node.started") s.over = true; // an attempt begins from nothing
  }

  private line(e: Event): void {
    const line = { seq: e.sequence, at: e.timestamp, level: textOf(at(e.payload, "level")), text: textOf(at(e.payload, "message")), nodeId: e.nodeId, fields: at(e.payload, "fields") };
    this.lines.push(line);
    this.lineChars += line.text.length;
    if (this.lines.length <= LINES_MAX && (this.lineChars <= LINES_CHARS_MAX || this.lines.length === 1)) return;
    for (const old of this.lines.splice(0, Math.ceil(this.lines.length / 2))) this.lineChars -= old.text.length;
    this.cut = true;
  }

  private chunk(e: Event): void {
    const id = e.nodeId ?? textOf(at(e.payload, "nodeId"));
    let s = this.streams.get(id);
    if (!s || s.over) this.streams.set(id, (s = { pieces: [], chars: 0, first: 0, tail: "", cut: false, open: true, round: s ? s.round + 1 : 0, over: false }));
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

/** How many of the last lines are shown when of each no more than chars are, of all no more than most, and no more than count of them. */
export function lastLines(lines: Line[], count: number, chars: number, most: number): number {
  let n = 0;
  for (let sum = 0; n < Math.min(count, lines.length); n++) {
    sum += Math.min(chars, (lines[lines.length - 1 - n] as Line).text.length);
    if (sum > most && n > 0) break;
  }
  return n;
}

/** Where a piece ends that is shown as a block of its own: behind a line break, or within a paragraph that is too long, there at a space or between graphemes; 0: not yet. */
function pieceEnd(text: string): number {
  if (text.length <= PIECE_CHARS) return 0;
  const line = text.lastIndexOf("\n", PIECE_CHARS - 1) + 1 || text.slice(0, PARAGRAPH_CHARS).indexOf("\n", PIECE_CHARS) + 1;
  if (line > 0) return line;
  if (text.length <= PARAGRAPH_CHARS) return 0;
  return text.lastIndexOf(" ", PARAGRAPH_CHARS - 1) + 1 || cutAt(text, PARAGRAPH_CHARS);
}
