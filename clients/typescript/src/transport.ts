// transport.ts: one request and its answer, repeated while that is safe and may help.
import { RequestTimeoutError, TransportError, UnexpectedAnswerError, WoprError, refusalError, type ApiError } from "./errors.js";
import { DEFAULT_RETRY, pause, retryDelayMs, type RetryPolicy } from "./retry.js";
import { operations, type ErrorEnvelope, type OperationId } from "./wire.js";

export type Query = Record<string, string | number | boolean | undefined>;

export interface ClientOptions {
  /** Where the host is: `http://127.0.0.1:8080`. */
  baseUrl: string;
  /** An API key, or a function that is asked for it before each attempt.  Absent: only what needs no key. */
  apiKey?: string | (() => string | Promise<string>);
  /** Of one attempt, in ms; long-polls have their own time on top.  Default 30,000. */
  timeoutMs?: number;
  retry?: Partial<RetryPolicy>;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Instead of the global one. */
  fetch?: typeof fetch;
}

/** What every method takes as its last argument. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Of one attempt, in ms. */
  timeoutMs?: number;
  /** Of requests that change something: repeats with the same key have the effect once.  Default: a new one for each call. */
  idempotencyKey?: string;
}

export interface Exchange {
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  /** The request has no key, but repeating it does no harm. */
  repeatable?: boolean;
  /** The host may hold the request this long before it answers. */
  heldMs?: number;
}

/** A key that no other call uses. */
export function newIdempotencyKey(): string {
  const source = globalThis.crypto;
  if (source?.getRandomValues) {
    return Array.from(source.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  }
  // Node 18 has no global crypto; a key must be unique, not secret.
  const part = () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0");
  return part() + part() + part() + part();
}

/** Retry-After in ms: seconds, or (from proxies) a date. */
function retryAfterMs(headers: Headers, details: Record<string, unknown>): number | undefined {
  const text = headers.get("retry-after");
  const ms = details["retryAfterMs"];
  if (typeof ms === "number" && ms >= 0) return ms;
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** The error that a refused answer means. */
export async function refusalOf(answer: Response): Promise<ApiError> {
  const text = await answer.text();
  let envelope: Partial<ErrorEnvelope> = {};
  try {
    envelope = JSON.parse(text) ?? {};
  } catch {
    // not from a host, but its status still means something
  }
  const details = (envelope.details ?? {}) as Record<string, unknown>;
  return refusalError({
    status: answer.status,
    code: typeof envelope.error === "string" ? envelope.error : `http_${answer.status}`,
    message: typeof envelope.message === "string" ? envelope.message : text.slice(0, 200) || answer.statusText,
    details,
    requestId: answer.headers.get("x-request-id") ?? undefined,
    retryAfterMs: retryAfterMs(answer.headers, details),
  });
}

/** An AbortController that follows a signal and has a clock that can be set again. */
export class Deadline {
  readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly follow = () => this.controller.abort(this.outer?.reason);
  late = false;

  constructor(private readonly outer?: AbortSignal) {
    if (outer?.aborted) this.follow();
    else outer?.addEventListener("abort", this.follow, { once: true });
  }

  set(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.late = true;
      this.controller.abort();
    }, ms);
  }

  unset(): void {
    clearTimeout(this.timer);
  }

  end(): void {
    this.unset();
    this.outer?.removeEventListener("abort", this.follow);
  }

  /** What a rejected fetch or read means: the caller's own abort, our clock, or the network. */
  meaning(error: unknown, what: string, ms: number): unknown {
    if (error instanceof WoprError) return error;
    if (this.outer?.aborted) return this.outer.reason;
    if (this.late) return new RequestTimeoutError(`${what}: nothing arrived for ${ms} ms`);
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    const why = cause?.message || cause?.code || (error instanceof Error ? error.message : String(error));
    return new TransportError(`${what}: ${why}`, { cause: error });
  }
}

export class Transport {
  readonly base: string;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  private readonly doFetch: typeof fetch;

  constructor(private readonly options: ClientOptions) {
    const url = new URL(options.baseUrl); // throws for what is no URL
    if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError(`baseUrl must be http or https: ${options.baseUrl}`);
    if (typeof options.apiKey === "string" && !/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError("apiKey must be visible ASCII");
    this.base = url.href.replace(/\/+$/, "");
    this.retry = { ...DEFAULT_RETRY, ...options.retry };
    this.timeoutMs = options.timeoutMs ?? 30_000;
    this.doFetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init)); // unbound, browsers refuse it
  }

  url(operation: OperationId, path: Record<string, string> = {}, query: Query = {}): string {
    const filled = operations[operation].path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = path[name];
      if (typeof value !== "string" || value === "") throw new TypeError(`${operation}: ${name} must be a string that is not empty`);
      return encodeURIComponent(value);
    });
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    const text = search.toString();
    return this.base + filled + (text ? `?${text}` : "");
  }

  /** Sends the head and the body; the answer is what fetch gives, whatever its status. */
  async send(operation: OperationId, url: string, headers: Record<string, string>, body: string | Uint8Array | undefined,
             deadline: Deadline, withKey = true): Promise<Response> {
    const all: Record<string, string> = { ...this.options.headers, ...headers };
    const { apiKey } = this.options;
    if (withKey && apiKey !== undefined) all["authorization"] = `Bearer ${typeof apiKey === "string" ? apiKey : await apiKey()}`;
    if (body !== undefined) all["content-type"] = typeof body === "string" ? "application/json" : "application/gzip";
    const init: RequestInit = { method: operations[operation].method, headers: all, redirect: "error", cache: "no-store",
                                signal: deadline.controller.signal };
    if (body !== undefined) init.body = body as BodyInit;
    return this.doFetch(url, init);
  }

  private async attempt<T>(operation: OperationId, url: string, headers: Record<string, string>, body: string | Uint8Array | undefined,
                           timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
    const deadline = new Deadline(signal);
    deadline.set(timeoutMs);
    try {
      const answer = await this.send(operation, url, headers, body, deadline);
      if (!answer.ok) throw await refusalOf(answer);
      if (answer.status === 204) return undefined as T;
      const text = await answer.text();
      try {
        return JSON.parse(text) as T;
      } catch (cause) {
        throw new UnexpectedAnswerError(`${operation}: ${answer.status} without JSON from ${this.base}`, { cause });
      }
    } catch (error) {
      throw deadline.meaning(error, operation, timeoutMs);
    } finally {
      deadline.end();
    }
  }

  /** The operation's answer.  Repeated with the same Idempotency-Key while the failure is a temporary one and attempts are left. */
  async call<T>(operation: OperationId, exchange: Exchange = {}, options: CallOptions = {}): Promise<T> {
    const { method, idempotent } = operations[operation];
    const url = this.url(operation, exchange.path, exchange.query);
    const headers: Record<string, string> = { accept: "application/json", ...exchange.headers };
    if (idempotent) headers["idempotency-key"] = options.idempotencyKey ?? newIdempotencyKey();
    const given = exchange.body;
    const body = given instanceof Uint8Array ? given : method === "POST" || given !== undefined ? JSON.stringify(given ?? {}) : undefined;
    const safe = method !== "POST" || idempotent || exchange.repeatable === true;
    const timeoutMs = (options.timeoutMs ?? this.timeoutMs) + (exchange.heldMs ?? 0);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.attempt<T>(operation, url, headers, body, timeoutMs, options.signal);
      } catch (error) {
        const delay = safe ? retryDelayMs(this.retry, attempt, error) : undefined;
        if (delay === undefined || options.signal?.aborted) throw error;
        await pause(delay, options.signal);
      }
    }
  }
}
