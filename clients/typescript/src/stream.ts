// stream.ts: the events of a run, as one sequence whatever happens to the connections below it.  Each event arrives once and in
// order; the sequence ends after the run's last event, or throws what no reconnect can mend.
import { AuthenticationError, RequestTimeoutError, TransportError, UnexpectedAnswerError, WoprError, isTemporary } from "./errors.js";
import { pause, temporaryDelayMs } from "./retry.js";
import { FrameDecoder, type Frame } from "./sse.js";
import { Deadline, refusalOf, type Transport } from "./transport.js";
import type { EventPage, RunEventDoc, RunSnapshot, StreamTicket } from "./wire.js";

export type StreamMode = "updates" | "values" | "messages" | "debug";

/** A piece of text that a node puts out while it runs. */
export interface MessageChunk {
  nodeId: string;
  runId: string;
  chunk: string;
  isLast: boolean;
  meta?: Record<string, unknown>;
  sequence: number;
}

/** The state of a run after the event with the sequence `atSeq`. */
export type RunState = RunSnapshot & { atSeq: number };

export interface StreamMessage {
  /** The sequence of the event; of a batch, the highest. */
  id: string;
  /** The type of the event, or `state.snapshot`, or `ai.message.chunk`. */
  event: string;
  data: unknown;
}

export interface StreamOptions {
  /** Begin after this sequence; absent: at the beginning. */
  after?: number;
  /** Collect events for so many ms on the host and send them together. */
  bufferMs?: number;
  signal?: AbortSignal;
  /** Without a byte for this long, the connection counts as dead and is made again.  Longer than the host's keep-alives
   * (15 s, 30 s at most).  Default 45,000. */
  silenceMaxMs?: number;
  /** Throw when the host could not be reached for this long.  Default 300,000. */
  giveUpMs?: number;
  /** Opens the stream with a ticket instead of the API key, and asks for a new one whenever the last is refused: for browsers.
   * A WoprError that it throws ends the stream; after anything else it is asked again. */
  ticket?: (runId: string) => Promise<Pick<StreamTicket, "ticket">>;
  /** Called before each reconnect, with what ended the last connection (undefined: its orderly end). */
  onReconnect?: (error: unknown, last: string | undefined) => void;
}

const TERMINAL_EVENTS = new Set(["run.completed", "run.failed", "run.cancelled"]);
const TERMINAL_STATUSES = new Set(["completed", "failed", "cancelled"]);

/** Whether a run with this status has ended. */
export function isTerminalStatus(status: string): boolean {
  return TERMINAL_STATUSES.has(status);
}

function messagesOf(frame: Frame): StreamMessage[] {
  let data: unknown;
  try {
    data = JSON.parse(frame.data);
  } catch (cause) {
    throw new UnexpectedAnswerError(`event ${frame.id} is no JSON`, { cause });
  }
  if (frame.event !== "batch") return [{ id: frame.id, event: frame.event, data }];
  return (data as RunEventDoc[]).map((one) => ({ id: String(one.sequence), event: one.type, data: one }));
}

function isLast(message: StreamMessage): boolean {
  if (TERMINAL_EVENTS.has(message.event)) return true;
  return message.event === "state.snapshot" && isTerminalStatus((message.data as RunSnapshot).status);
}

/** A connection that lived this long is no failed attempt, whatever ended it. */
const LIVED_MS = 5_000;

class RunStream {
  private last: string | undefined;
  private ticket: string | undefined;
  private reconnected = false;
  private ended = false; // the run has: what is left is in the log, and the host closes after it
  private heardFrame = false; // on the last connection
  private failures = 0; // connections in a row that brought nothing new
  private stuckSince: number | undefined; // since then no connection lived or brought anything new
  private readonly silenceMaxMs: number;

  constructor(private readonly transport: Transport, private readonly runId: string, private readonly modes: StreamMode[],
              private readonly options: StreamOptions) {
    this.last = options.after === undefined ? undefined : String(options.after);
    this.silenceMaxMs = options.silenceMaxMs ?? 45_000;
  }

  async *messages(): AsyncGenerator<StreamMessage, void, undefined> {
    for (;;) {
      let why: unknown;
      try {
        if ((yield* this.connection()) === "over") return;
        if (await this.isOver()) return;
      } catch (error) {
        if (this.options.signal?.aborted) throw this.options.signal.reason;
        why = error;
      }
      await this.rest(why);
      this.options.onReconnect?.(why, this.last);
    }
  }

  /** One connection, until it is over with the run, or closes.  Throws what ended it otherwise. */
  private async *connection(): AsyncGenerator<StreamMessage, "over" | "closed", undefined> {
    const deadline = new Deadline(this.options.signal);
    const begun = Date.now();
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    let heard = false;
    this.heardFrame = false;
    deadline.set(this.silenceMaxMs);
    try {
      const answer = await this.open(deadline);
      if (answer.status === 204) return "over"; // how the holder of a ticket learns it
      reader = answer.body!.getReader();
      const text = new TextDecoder();
      const frames = new FrameDecoder(this.last);
      for (;;) {
        deadline.set(this.silenceMaxMs);
        const { done, value } = await reader.read();
        if (done) return "closed";
        deadline.unset(); // the time that the consumer takes is no silence
        heard = true;
        for (const frame of frames.push(text.decode(value, { stream: true }))) {
          this.heardFrame = true;
          if ((yield* this.frame(frame)) === "over") return "over";
        }
      }
    } catch (error) {
      const meaning = deadline.meaning(error, "stream", this.silenceMaxMs);
      if (heard && meaning instanceof RequestTimeoutError) this.noteProgress(); // our choice, not the host's failure
      throw meaning;
    } finally {
      if (heard && Date.now() - begun > LIVED_MS) this.noteProgress();
      deadline.end();
      await reader?.cancel().catch(() => undefined);
      deadline.controller.abort();
    }
  }

  private *frame(frame: Frame): Generator<StreamMessage, "over" | "more", undefined> {
    // A resumed stream of values begins with the state that was sent last.
    const repeated = this.reconnected && this.last !== undefined && Number(frame.id) <= Number(this.last);
    for (const message of messagesOf(frame)) {
      if (repeated) continue;
      this.noteProgress();
      yield message;
      if (isLast(message)) return "over";
    }
    this.last = frame.id;
    return "more";
  }

  private noteProgress(): void {
    this.failures = 0;
    this.stuckSince = undefined;
  }

  private async open(deadline: Deadline): Promise<Response> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.last !== undefined) headers["last-event-id"] = this.last;
    for (let fresh = false; ; fresh = true) {
      if (this.options.ticket && (fresh || this.ticket === undefined)) this.ticket = await this.newTicket(this.options.ticket);
      const query = { streamMode: this.modes.join(","), bufferMs: this.options.bufferMs, ticket: this.ticket };
      const url = this.transport.url("streamRunEvents", { runId: this.runId }, query);
      const answer = await this.transport.send("streamRunEvents", url, headers, undefined, deadline, !this.options.ticket);
      if (answer.status === 204) return answer;
      if (answer.ok && answer.headers.get("content-type")?.startsWith("text/event-stream") && answer.body) return answer;
      if (answer.ok) throw new UnexpectedAnswerError(`stream: ${answer.status} that is no event stream`);
      const refusal = await refusalOf(answer);
      // A ticket is good for minutes, the run may take weeks.
      if (!(refusal instanceof AuthenticationError) || !this.options.ticket || fresh) throw refusal;
    }
  }

  private async newTicket(ask: NonNullable<StreamOptions["ticket"]>): Promise<string> {
    try {
      return (await ask(this.runId)).ticket;
    } catch (error) {
      if (error instanceof WoprError) throw error;
      throw new TransportError("stream: no ticket", { cause: error });
    }
  }

  /** After an orderly end without a last event: is there nothing left?  The log is asked where there is a last event to wait for,
   * since not every cut can be told from an end. */
  private async isOver(): Promise<boolean> {
    if (this.options.ticket) return false; // 204 says so
    const path = { runId: this.runId };
    const call = this.options.signal ? { signal: this.options.signal } : {};
    if (this.modes.join() !== "messages") {
      const query = { lastSequence: this.last, timeout: 1 };
      const left = await this.transport.call<EventPage>("pollRunEvents", { path, query, heldMs: 1000 }, call);
      return left.isComplete && !left.events.some((event) => TERMINAL_EVENTS.has(event.type));
    }
    if (this.ended && !this.heardFrame) return true; // it had before this connection began, which brought nothing
    this.ended = isTerminalStatus((await this.transport.call<RunSnapshot>("getRun", { path }, call)).status);
    return false;
  }

  /** The pause before the next connection; throws what is not worth one. */
  private async rest(why: unknown): Promise<void> {
    this.reconnected = true;
    if (why !== undefined && !isTemporary(why)) throw why;
    this.stuckSince ??= Date.now();
    const delay = temporaryDelayMs(this.transport.retry, this.failures++, why);
    if (delay === undefined) throw why;
    if (Date.now() - this.stuckSince + delay > (this.options.giveUpMs ?? 300_000)) {
      throw why ?? new TransportError("stream: connections end again and again before anything new arrives");
    }
    await pause(why === undefined && this.ended ? 0 : delay, this.options.signal);
  }
}

/** The messages of a run's stream in one mode, or in several together. */
export function streamRun(transport: Transport, runId: string, modes: StreamMode[], options: StreamOptions = {}):
    AsyncGenerator<StreamMessage, void, undefined> {
  return new RunStream(transport, runId, modes, options).messages();
}
