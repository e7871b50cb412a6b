// One run as a page holds it: what the host says of it, its events, and what they add up to.  Changes are shown a dozen times a second.
import { signal } from "@preact/signals";
import { api, may } from "../../app/session";
import { ApiError } from "../../lib/api";
import { Fold } from "../../lib/fold";
import { EventLog, PAGE } from "../../lib/log";
import { Tasks } from "../../lib/plan";
import { Spans } from "../../lib/spans";
import { follow, take } from "../../lib/stream";
import { isFinal, type Definition, type Event, type Snapshot } from "../../lib/types";
import { Output } from "./output";
import { addHistory, type History } from "./history";

export const WHOLE_MAX = 20000; // events of a log that is read from its beginning
const TAIL = 1000; // of a longer one
const SLICE = 1000; // events folded at once
const DRAW_MS = 80; // between two versions: as often as somebody can read
const SNAPSHOT_MS = 1500; // between two snapshots of a run that goes on

export class RunModel {
  readonly snapshot = signal<Snapshot | undefined>(undefined);
  readonly definition = signal<Definition | null | undefined>(undefined); // null: not to be read
  readonly error = signal<ApiError | null>(null);
  readonly tail = signal<"reading" | "live" | "silent" | "waiting" | "ended" | "failed">("reading");
  readonly version = signal(0); // of log, fold, spans and output
  readonly log = new EventLog();
  output = new Output();
  readonly reading = signal(-1); // events that readAll has read; -1: it does not go on
  readonly history: History = { states: [], whole: false };
  fold: Fold = new Fold(null);
  spans = new Spans();
  readonly tasks = new Tasks(); // of a run of a WorkSpec document
  /** The log was too long to be read from its beginning: fold and spans began with a snapshot. */
  long = false;
  private readonly stop = new AbortController();
  private readonly asked = new Set<number>();
  private drawn = 0;
  private last = 0; // when the last version was shown
  private timer = 0;

  /** each: hears every event once, in order. */
  constructor(readonly runId: string, private readonly each?: (e: Event) => void) {
    void this.begin();
  }

  end(): void {
    this.stop.abort();
    clearTimeout(this.drawn);
    clearTimeout(this.timer);
  }

  path(rest = ""): string {
    return `/v1/runs/${encodeURIComponent(this.runId)}${rest}`;
  }

  private async begin(): Promise<void> {
    for (;;) {
      try {
        await this.open();
        return;
      } catch (e) {
        if (this.stop.signal.aborted) return;
        const error = e instanceof ApiError ? e : new ApiError(-1, "page", String(e));
        this.error.value = error;
        if (!error.away && error.status !== 429) return;
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
  }

  private async open(): Promise<void> {
    const signal = this.stop.signal;
    const asked = may("manifest:read")
      ? api().get<{ events: number; definition: Definition }>(`/v1/host/wopr/runs/${encodeURIComponent(this.runId)}/definition`, {}, signal)
      : Promise.resolve(null);
    // First how long the log is, then the snapshot: it covers at least that much.
    const basis = await asked;
    const snapshot = await api().get<Snapshot>(this.path(), {}, signal);
    if (signal.aborted) return;
    this.error.value = null;
    this.definition.value = basis?.definition ?? null;
    this.snapshot.value = snapshot;
    this.long = (basis?.events ?? 0) > WHOLE_MAX;
    let after = -1;
    if (this.long) {
      after = (basis as { events: number }).events - TAIL - 1;
      this.log.length = after + 1;
      this.fold = Fold.of(snapshot, this.definition.value, after + 1);
      this.spans = Spans.of(snapshot);
      this.output = new Output(false);
    } else {
      this.fold = new Fold(this.definition.value);
    }
    void follow(api(), this.runId, after, {
      events: (batch) => this.take(batch),
      state: (now, why) => {
        this.tail.value = now;
        if (why) this.error.value = why;
        if (now === "ended") void this.look();
      },
    }, signal);
    this.again();
  }

  private take(batch: Event[]): void {
    this.log.put(batch);
    for (const e of batch) {
      this.fold.apply(e);
      this.spans.apply(e);
      this.tasks.apply(e);
      this.output.apply(e);
      this.each?.(e);
      if (!this.long) addHistory(this.history, this.fold);
    }
    if (!this.long) this.history.whole = true;
    this.draw();
  }

  private draw(): void {
    if (this.drawn !== 0) return;
    this.drawn = window.setTimeout(() => {
      this.drawn = 0;
      this.last = performance.now();
      this.version.value++;
    }, Math.max(0, this.last + DRAW_MS - performance.now()));
  }

  /** Children, the question that waits, tokens: what no event of this run tells. */
  async look(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const next = await api().get<Snapshot>(this.path(), {}, this.stop.signal);
      this.snapshot.value = next;
    } catch {
      // the tail says when the host is away
    }
    this.again();
  }

  private again(): void {
    clearTimeout(this.timer);
    const snapshot = this.snapshot.peek();
    const done = snapshot && isFinal(snapshot.status) && (snapshot.childRuns ?? []).every((c) => isFinal(c.status));
    if (done || this.stop.signal.aborted) return;
    this.timer = window.setTimeout(() => (document.hidden ? this.again() : void this.look()), SNAPSHOT_MS);
  }

  /** Reads a page of the log that is not in memory, and the next; the answer comes with the next version. */
  want(page: number): void {
    if (this.asked.has(page) || page * PAGE >= this.log.length || this.log.has(page)) return;
    this.asked.add(page);
    const from = page * PAGE;
    const done = (): unknown => setTimeout(() => this.asked.delete(page), 1000);
    void take(api(), this.runId, from - 1, Math.min(2 * PAGE, this.log.length - from), this.stop.signal).then((events) => {
      this.log.put(events);
      this.draw();
    }).finally(done).catch(() => {});
  }

  /** Reads a log that began in the middle from its beginning: for the states of the past, and for all that nodes have streamed and logged. */
  async readAll(): Promise<void> {
    if (this.reading.peek() >= 0) return;
    this.reading.value = 0;
    try {
      const fold = new Fold(this.definition.peek() ?? null);
      const output = new Output();
      this.history.states = [fold.copy()];
      while (fold.next < this.log.length) {
        const events = await this.read(fold.next - 1);
        if (events.length === 0) throw new ApiError(0, "gap", "events are missing");
        for (let i = 0; i < events.length; i++) {
          fold.apply(events[i] as Event);
          addHistory(this.history, fold);
          this.tasks.apply(events[i] as Event);
          output.apply(events[i] as Event);
          if (i % SLICE === SLICE - 1) await new Promise((resolve) => setTimeout(resolve));
        }
        this.reading.value = fold.next;
      }
      this.history.whole = true;
      this.output = output; // events that the tail brings again are passed over
      this.version.value++;
    } catch {
      // the button is there again
    } finally {
      this.reading.value = -1;
    }
  }

  /** The events after a sequence, as many as the host gives at once. */
  async read(after: number): Promise<Event[]> {
    const query = after < 0 ? { timeout: 1 } : { lastSequence: after, timeout: 1 };
    return (await api().get<{ events: Event[] }>(this.path("/events/poll"), query, this.stop.signal)).events;
  }
}
