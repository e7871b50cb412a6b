// Looks through a log in slices, so that no frame waits for it, and afterwards only at what has arrived since.
import type { EventLog } from "./log";
import type { Event } from "./types";

const SLICE_EVENTS = 64; // between two looks at the clock

export class Scan {
  /** The sequences that were kept, in order. */
  readonly list: number[] = [];
  private seen = new Uint8Array(1024); // by sequence: events come and go from memory, each is looked at once
  private at = 0;
  private turn = -1;

  constructor(private readonly log: EventLog, private readonly keep: (e: Event) => boolean) {}

  /** Looks on for so many milliseconds; true: everything in memory was looked at. */
  step(ms: number, clock: () => number = () => performance.now()): boolean {
    if (this.turn !== this.log.turn) [this.turn, this.at] = [this.log.turn, 0];
    this.room();
    const until = clock() + ms;
    let late = false;
    let done = true;
    for (let n = 1; ; n++) {
      const e = this.log.from(this.at);
      if (!e) break;
      this.at = e.sequence + 1;
      if (this.seen[e.sequence] === 0 && this.look(e)) late = true;
      if (n % SLICE_EVENTS !== 0 || clock() <= until) continue;
      done = false;
      break;
    }
    if (late) this.list.sort((a, b) => a - b);
    return done;
  }

  /** true: it belongs before others that were kept. */
  private look(e: Event): boolean {
    this.seen[e.sequence] = 1;
    if (!this.keep(e)) return false;
    const last = this.list[this.list.length - 1];
    this.list.push(e.sequence);
    return last !== undefined && last > e.sequence;
  }

  private room(): void {
    if (this.seen.length >= this.log.length) return;
    const larger = new Uint8Array(Math.max(this.log.length, 2 * this.seen.length));
    larger.set(this.seen);
    this.seen = larger;
  }
}

/** The events by node, in the order in which nodes are first heard of; rows are counted, never listed. */
export class Groups {
  readonly of = new Map<string, number[]>();
  private readonly late = new Set<number[]>(); // lists that are out of order
  private readonly scan: Scan;

  constructor(log: EventLog) {
    this.scan = new Scan(log, (e) => {
      let list = this.of.get(e.nodeId ?? "");
      if (!list) this.of.set(e.nodeId ?? "", (list = []));
      if ((list[list.length - 1] ?? -1) > e.sequence) this.late.add(list);
      list.push(e.sequence);
      return false;
    });
  }

  step(ms: number, clock?: () => number): boolean {
    const done = this.scan.step(ms, clock);
    for (const list of this.late) list.sort((a, b) => a - b);
    this.late.clear();
    return done;
  }

  /** How many rows there are, with the groups of these nodes open, and what is on one of them. */
  rows(open: ReadonlySet<string>): { count: number; at: (row: number) => { id: string; list: number[]; seq?: number } } {
    const ids = [...this.of.keys()];
    const firsts: number[] = [];
    let count = 0;
    for (const id of ids) {
      firsts.push(count);
      count += 1 + (open.has(id) ? (this.of.get(id) as number[]).length : 0);
    }
    const at = (row: number): { id: string; list: number[]; seq?: number } => {
      let low = 0;
      for (let high = firsts.length; high - low > 1; ) {
        const middle = (low + high) >> 1;
        if ((firsts[middle] as number) <= row) low = middle;
        else high = middle;
      }
      const id = ids[low] as string;
      const list = this.of.get(id) as number[];
      const within = row - (firsts[low] as number);
      return within === 0 ? { id, list } : { id, list, seq: list[within - 1] as number };
    };
    return { count, at };
  }
}
