// The log of a run as it grows: every event once, in order, whatever happens to connections and to the host.
import { ApiError, type Api } from "./api";
import { parse } from "./json";
import { SseReader } from "./sse";
import type { Event } from "./types";

export interface Tail {
  events(batch: Event[]): void;
  /** live: the stream is open; silent: it is, but not even a keep-alive arrives; waiting: it is opened again after a pause; ended: nothing will follow. */
  state(now: "live" | "silent" | "waiting" | "ended" | "failed", why?: ApiError): void;
}

const SLICE_MS = 8; // of work, then the browser may draw
const PAUSE_MS = [250, 500, 1000, 2000, 4000];
const KEEPALIVE_MS = 15000; // of a host whose own is not known yet
const SILENT_MS = 3000; // the least that is called silence
const UNSEEN_MS = 2500; // then the connection is given back: browsers have six to one host, and a tab that nobody sees resumes when somebody does
const ENDS = new Set(["run.completed", "run.failed", "run.cancelled"]);

/** Follows until the run ends or signal is aborted; after: the sequence that is already there, -1: none. */
export async function follow(api: Api, runId: string, after: number, tail: Tail, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    await seen(signal);
    try {
      const before = after;
      const ended = await once(api, runId, () => after, (seq) => (after = seq), tail, signal);
      if (ended) return tail.state("ended");
      if (after > before) failures = 0;
    } catch (e) {
      if (signal.aborted) return;
      if (e instanceof ApiError && !e.away && e.status !== 429) return tail.state("failed", e);
    }
    if (signal.aborted) return;
    tail.state("waiting");
    if (document.hidden) continue; // that is no failure
    const pause = (PAUSE_MS[Math.min(failures++, PAUSE_MS.length - 1)] as number) * (0.75 + Math.random() / 2);
    await sleep(pause, signal);
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Until somebody looks at the page. */
function seen(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    document.addEventListener("visibilitychange", done);
    signal.addEventListener("abort", done, { once: true });
  });
}

const breathe = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

let known = 0; // the longest time between keep-alives of the host, in any of its streams

/** Nothing arrives: after more than two keep-alives that is said, after more than three the connection is dead, whatever the system says. */
class Silence {
  private last = performance.now();
  private timer = 0;
  private said = false;
  private greeted = false;

  constructor(private readonly say: () => void, private readonly dead: () => void) {
    this.wait();
  }

  /** true: it was called silent before. */
  heard(comment: boolean): boolean {
    const now = performance.now();
    if (comment && this.greeted) known = Math.min(KEEPALIVE_MS, Math.max(SILENT_MS / 3, known, now - this.last));
    this.greeted = this.greeted || comment; // the first tells of no time
    this.last = now;
    const was = this.said;
    this.said = false;
    return was;
  }

  end(): void {
    clearTimeout(this.timer);
  }

  /** One timer however much arrives: it looks at the clock when it fires. */
  private wait(): void {
    const since = performance.now() - this.last;
    const keepalive = known || KEEPALIVE_MS;
    if (since >= 4 * keepalive) return this.dead();
    if (since >= 2.5 * keepalive && !this.said) {
      this.said = true;
      this.say();
    }
    this.timer = window.setTimeout(() => this.wait(), Math.min(KEEPALIVE_MS, Math.max(50, (this.said ? 4 : 2.5) * keepalive - since)));
  }
}

async function once(api: Api, runId: string, cursor: () => number, moved: (seq: number) => void, tail: Tail, signal: AbortSignal): Promise<boolean> {
  const cut = new AbortController();
  const stop = (): void => cut.abort();
  signal.addEventListener("abort", stop, { once: true });
  const silence = new Silence(() => tail.state("silent"), stop);
  let unseen = 0;
  const watch = (): void => {
    clearTimeout(unseen);
    if (document.hidden) unseen = window.setTimeout(stop, UNSEEN_MS);
  };
  document.addEventListener("visibilitychange", watch);
  watch();
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (cursor() >= 0) headers["Last-Event-ID"] = String(cursor());
    const response = await api.open("GET", `/v1/runs/${encodeURIComponent(runId)}/events?streamMode=debug`, headers, undefined, cut.signal);
    tail.state("live");
    silence.heard(false);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    const frames = new SseReader();
    for (let since = performance.now(); ; ) {
      const { value, done } = await reader.read();
      if (done) return false;
      const comments = frames.comments;
      const list = frames.feed(decoder.decode(value, { stream: true }));
      if (silence.heard(list.length === 0 && frames.comments > comments)) tail.state("live");
      const batch: Event[] = [];
      let ended = false;
      for (const frame of list) {
        const e = parse(frame.data) as unknown as Event;
        if (typeof e.sequence !== "number" || e.sequence <= cursor()) continue; // it is there
        if (e.sequence !== cursor() + 1 && cursor() >= 0) throw new ApiError(0, "gap", "events are missing"); // asked for again
        batch.push(e);
        moved(e.sequence);
        ended = ended || ENDS.has(e.type);
        if (performance.now() - since > SLICE_MS) {
          tail.events(batch.splice(0));
          await breathe();
          since = performance.now();
        }
      }
      if (batch.length > 0) tail.events(batch);
      if (ended) {
        cut.abort();
        return true;
      }
      if (signal.aborted) return false;
    }
  } finally {
    silence.end();
    clearTimeout(unseen);
    document.removeEventListener("visibilitychange", watch);
    signal.removeEventListener("abort", stop);
  }
}

/** So many events after a sequence, which the log is known to have. */
export async function take(api: Api, runId: string, after: number, count: number, signal: AbortSignal): Promise<Event[]> {
  const cut = new AbortController();
  const stop = (): void => cut.abort();
  signal.addEventListener("abort", stop, { once: true });
  const events: Event[] = [];
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (after >= 0) headers["Last-Event-ID"] = String(after);
    const response = await api.open("GET", `/v1/runs/${encodeURIComponent(runId)}/events?streamMode=debug`, headers, undefined, cut.signal);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    const frames = new SseReader();
    while (events.length < count) {
      const { value, done } = await reader.read();
      if (done) break;
      for (const frame of frames.feed(decoder.decode(value, { stream: true }))) if (events.length < count) events.push(parse(frame.data) as unknown as Event);
    }
    return events;
  } finally {
    cut.abort(); // the host need not send the rest
    signal.removeEventListener("abort", stop);
  }
}
