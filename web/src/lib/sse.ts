// Frames of an event stream, from whatever pieces they arrive in.

export interface Frame {
  id: string;
  event: string;
  data: string;
}

export class SseReader {
  comments = 0;
  private rest = "";
  private id = "";
  private event = "";
  private data: string[] = [];

  /** The frames that this piece completes. */
  feed(piece: string): Frame[] {
    const frames: Frame[] = [];
    const text = this.rest + piece;
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      const line = text.slice(from, text.charCodeAt(end - 1) === 13 && end > from ? end - 1 : end);
      from = end + 1;
      if (line !== "") this.line(line);
      else if (this.data.length > 0 || this.event !== "") {
        frames.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
        this.event = "";
        this.data = [];
      }
    }
    this.rest = text.slice(from);
    return frames;
  }

  private line(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return void this.comments++;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id") this.id = value;
  }
}
