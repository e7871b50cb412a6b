// The events of a run that are in memory: all of a short log, pages of a long one.
import type { Event } from "./types";

export const PAGE = 500;
const BYTES_MAX = 16 * 1024 * 1024; // of events, by estimate
const BYTES_KEPT = (BYTES_MAX / 8) * 7; // so that a page that tails for hours neither grows nor swings

interface Page {
  events: (Event | undefined)[];
  bytes: number;
  used: number;
}

export class EventLog {
  length = 0; // of the log, as far as known
  /** Counts what arrived out of turn: whoever has looked through the log looks again. */
  turn = 0;
  held = 0; // events in memory
  private readonly pages = new Map<number, Page>();
  private bytes = 0;
  private clock = 0;

  get(seq: number): Event | undefined {
    const page = this.pages.get(Math.floor(seq / PAGE));
    if (page) page.used = this.clock++;
    return page?.events[seq % PAGE];
  }

  /** The first event in memory from a sequence on; looking does not keep it. */
  from(seq: number): Event | undefined {
    while (seq < this.length) {
      const page = this.pages.get(Math.floor(seq / PAGE));
      const e = page?.events[seq % PAGE];
      if (e) return e;
      seq = page ? seq + 1 : (Math.floor(seq / PAGE) + 1) * PAGE;
    }
    return undefined;
  }

  has(page: number): boolean {
    const there = this.pages.get(page);
    const wanted = Math.min(PAGE, this.length - page * PAGE);
    if (!there) return false;
    for (let i = 0; i < wanted; i++) if (!there.events[i]) return false;
    return true;
  }

  put(events: Event[]): void {
    for (const e of events) {
      const no = Math.floor(e.sequence / PAGE);
      let page = this.pages.get(no);
      if (!page) this.pages.set(no, (page = { events: [], bytes: 0, used: 0 }));
      page.used = this.clock++;
      if (!page.events[e.sequence % PAGE]) {
        const size = weigh(e);
        page.bytes += size;
        this.bytes += size;
        this.held++;
        if (e.sequence < this.length) this.turn++;
      }
      page.events[e.sequence % PAGE] = e;
      if (e.sequence >= this.length) this.length = e.sequence + 1;
    }
    if (this.bytes > BYTES_MAX) this.forget();
  }

  /** The pages that were looked at least recently. */
  private forget(): void {
    const oldest = [...this.pages].sort((a, b) => a[1].used - b[1].used);
    for (const [no, page] of oldest) {
      if (this.bytes <= BYTES_KEPT) break;
      this.pages.delete(no);
      this.bytes -= page.bytes;
      for (const e of page.events) if (e) this.held--;
    }
  }

  *all(): Iterable<Event> {
    const order = [...this.pages.keys()].sort((a, b) => a - b);
    for (const no of order) for (const e of this.pages.get(no)?.events ?? []) if (e) yield e;
  }
}

/** About how much memory an event takes. */
function weigh(e: Event): number {
  let n = 300;
  const stack: unknown[] = [e.payload];
  while (stack.length > 0 && n < 1e6) {
    const value = stack.pop();
    if (typeof value === "string") n += value.length * 2 + 16;
    else if (typeof value === "object" && value !== null) {
      for (const name in value) {
        n += 24;
        stack.push((value as Record<string, unknown>)[name]);
      }
    } else n += 8;
  }
  return n;
}
