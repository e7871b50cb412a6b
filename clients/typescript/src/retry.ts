// retry.ts: how often, and after which pause, a request is repeated.
import { ApiError, isTemporary } from "./errors.js";

export interface RetryPolicy {
  /** Attempts in all, the first included; 1 = never repeat. */
  attempts: number;
  /** The first pause; it doubles with each attempt. */
  baseMs: number;
  /** The longest pause of our own choice. */
  capMs: number;
  /** A host that asks for a longer pause than this gets none: its refusal is thrown at once. */
  retryAfterMaxMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { attempts: 5, baseMs: 250, capMs: 8_000, retryAfterMaxMs: 60_000 };

/** The pause after the attempt with this number (from 0): half of it is fixed, half is chance, so that clients part. */
export function backoffMs(policy: RetryPolicy, attempt: number): number {
  const whole = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(attempt, 30));
  return whole / 2 + Math.random() * (whole / 2);
}

/** The pause before the request is repeated; undefined: it is not. */
export function retryDelayMs(policy: RetryPolicy, attempt: number, error: unknown): number | undefined {
  if (attempt + 1 >= policy.attempts || !isTemporary(error)) return undefined;
  return temporaryDelayMs(policy, attempt, error);
}

/** The same without a bound on attempts, for loops that have one in time. */
export function temporaryDelayMs(policy: RetryPolicy, attempt: number, error: unknown): number | undefined {
  const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  if (asked > policy.retryAfterMaxMs) return undefined;
  return asked + backoffMs(policy, asked > 0 ? 0 : attempt);
}

/** Resolves after `ms`; rejects with the signal's reason when that is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** What `work` answers, repeated for `giveUpMs` after the first temporary failure in a row. */
export async function persist<T>(policy: RetryPolicy, giveUpMs: number, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const begun = Date.now();
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const delay = isTemporary(error) ? temporaryDelayMs(policy, attempt, error) : undefined;
      if (delay === undefined || signal?.aborted || Date.now() - begun + delay > giveUpMs) throw error;
      await pause(delay, signal);
    }
  }
}
