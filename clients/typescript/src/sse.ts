// sse.ts: the frames of a text/event-stream, from text in pieces of any size (WHATWG HTML, 9.2.6).
import { UnexpectedAnswerError } from "./errors.js";

export interface Frame {
  /** The last id seen, in this frame or before. */
  id: string;
  event: string;
  data: string;
}

/** A frame longer than this is no event of a host. */
export const FRAME_MAX = 64 * 1024 * 1024;

export class FrameDecoder {
  private partial: string[] = []; // of the line that has no end yet; joined once, when it has
  private data: string[] = [];
  private partialSize = 0;
  private dataSize = 0; // a line counts, however short: so many are memory too
  private event = "";
  private sawReturn = false;

  constructor(private id = "", private readonly max = FRAME_MAX) {}

  /** Takes a piece and returns the frames that it completed. */
  push(piece: string): Frame[] {
    const frames: Frame[] = [];
    if (piece === "") return frames;
    // A line feed after a carriage return at the end of the piece before belongs to that one.
    let start = this.sawReturn && piece[0] === "\n" ? 1 : 0;
    this.sawReturn = piece.endsWith("\r");
    const ends = /\r\n|\r|\n/g;
    ends.lastIndex = start;
    for (let end = ends.exec(piece); end; end = ends.exec(piece)) {
      this.partial.push(piece.slice(start, end.index));
      start = ends.lastIndex;
      const frame = this.line(this.partial.length === 1 ? this.partial[0]! : this.partial.join(""));
      this.partial = [];
      this.partialSize = 0;
      if (frame) frames.push(frame);
    }
    if (start < piece.length) {
      this.partial.push(piece.slice(start));
      this.partialSize += piece.length - start;
    }
    if (this.partialSize + this.dataSize > this.max) throw new UnexpectedAnswerError(`an event of more than ${this.max} characters`);
    return frames;
  }

  private line(text: string): Frame | undefined {
    if (text === "") return this.dispatch();
    const colon = text.indexOf(":");
    if (colon === 0) return undefined; // a comment: only a sign of life
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") {
      this.data.push(value);
      this.dataSize += value.length + 1;
    } else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    return undefined;
  }

  private dispatch(): Frame | undefined {
    const frame = this.data.length > 0 ? { id: this.id, event: this.event || "message", data: this.data.join("\n") } : undefined;
    this.data = [];
    this.dataSize = 0;
    this.event = "";
    return frame;
  }
}
