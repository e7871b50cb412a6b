// Requests to the host, with the key in a header and nowhere else.
import { at, isObj, parse, print, textOf, type Json } from "./json";

export class ApiError extends Error {
  /** status 0: the host was not reached. */
  constructor(readonly status: number, readonly code: string, message: string, readonly details: Json = null, readonly retryAfter = 0) {
    super(message);
  }
  get away(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** The code of what no host says, the page of a proxy say: it counts as no answer. */
export const STRANGE = "strange_answer";

export interface Watch {
  answered(): void; // the host is there
  dated(date: string | null): void; // when it answered, by its own clock
  away(): void;
  refused(error: ApiError): void; // 401: the key holds no more
}

const PROMPT_MS = 1000;
const ANSWER_MS = 20000; // to an answer that is no stream

export type Query = Record<string, string | number | undefined>;

export function target(path: string, query: Query = {}): string {
  const set = Object.entries(query).filter((pair): pair is [string, string | number] => pair[1] !== undefined && pair[1] !== "");
  return set.length > 0 ? `${path}?${new URLSearchParams(set.map(([k, v]) => [k, String(v)]))}` : path;
}

export class Api {
  constructor(readonly key: string, private readonly watch: Watch) {}

  async get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    return (await this.send("GET", target(path, query), undefined, signal)) as T;
  }

  /** A repeat of the same act, after a lost answer say, has no second effect (IDEM). */
  async post<T>(path: string, body: Json, signal?: AbortSignal): Promise<T> {
    return (await this.send("POST", path, body, signal)) as T;
  }

  private async send(method: string, path: string, body: Json | undefined, signal?: AbortSignal): Promise<Json> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Idempotency-Key"] = crypto.randomUUID?.() ?? `ui-${Date.now()}-${Math.random()}`;
    }
    for (let tries = 0; ; tries++) {
      try {
        const text = await this.whole(method, path, headers, body === undefined ? undefined : print(body), signal);
        return text === "" && body !== undefined ? null : this.understood(text);
      } catch (e) {
        const lost = e instanceof ApiError && e.away && body !== undefined && tries < 2;
        if (!lost) throw e;
        await new Promise((resolve) => setTimeout(resolve, 300 * (tries + 1)));
      }
    }
  }

  private understood(text: string): Json {
    let value: Json = null;
    try {
      value = parse(text);
    } catch {
      // a page, or half an answer
    }
    if (!isObj(value)) throw this.strange();
    this.watch.answered();
    return value;
  }

  private strange(): ApiError {
    this.watch.away();
    return new ApiError(502, STRANGE, "the answer is not one of the host");
  }

  /** A whole answer, within a time: a connection that is dead in silence holds no page up. */
  private async whole(method: string, path: string, headers: Record<string, string>, body?: string, signal?: AbortSignal): Promise<string> {
    const late = new AbortController();
    const stop = (): void => late.abort();
    const timer = setTimeout(stop, ANSWER_MS);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await (await this.open(method, path, headers, body, late.signal)).text();
    } catch (e) {
      if (signal?.aborted || e instanceof ApiError) throw e;
      this.watch.away();
      throw new ApiError(0, "unreachable", "the host does not answer");
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  /** The answer, once its status is good. */
  async open(method: string, path: string, headers: Record<string, string>, body?: string, signal?: AbortSignal): Promise<Response> {
    const from = performance.now();
    let response: Response;
    try {
      const init: RequestInit = { method, cache: "no-store", credentials: "omit", headers: { Authorization: `Bearer ${this.key}`, ...headers } };
      if (body !== undefined) init.body = body;
      if (signal) init.signal = signal;
      response = await fetch(path, init);
    } catch (e) {
      if (signal?.aborted) throw e;
      this.watch.away();
      throw new ApiError(0, "unreachable", "the host does not answer");
    }
    if (performance.now() - from < PROMPT_MS) this.watch.dated(response.headers.get("Date")); // else it may be old
    if (response.ok && headers["Accept"] === "application/json") return response; // the host's once it is understood
    if (response.ok && response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      this.watch.answered();
      return response;
    }
    if (response.ok) {
      void response.body?.cancel();
      throw this.strange();
    }
    const error = await errorOf(response);
    if (error.status === 401) this.watch.refused(error);
    if (error.away) this.watch.away();
    else this.watch.answered();
    throw error;
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  let body: Json = null;
  try {
    body = parse(await response.text());
  } catch {
    // something between the host and us has answered
  }
  const code = textOf(at(body, "error")) || `http_${response.status}`;
  const message = textOf(at(body, "message")) || response.statusText || String(response.status);
  return new ApiError(response.status, code, message, isObj(body) ? (body["details"] ?? null) : null, Number(response.headers.get("Retry-After") ?? 0));
}
