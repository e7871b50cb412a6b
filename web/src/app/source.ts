// Data that a page shows and that changes: asked for again while somebody looks at it.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiError } from "../lib/api";

export interface Source<T> {
  data: Signal<T | undefined>;
  error: Signal<ApiError | null>;
  again(): void;
}

const AWAY_MS = 1500;

/** load is called at once, and every so many milliseconds while the page is seen; 0: once.  A change of the key begins from nothing. */
export function useSource<T>(key: string, every: number, load: (signal: AbortSignal, old: T | undefined) => Promise<T>): Source<T> {
  const source = useMemo(() => ({ data: signal<T | undefined>(undefined), error: signal<ApiError | null>(null), again: () => {} }), [key]);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let busy = false;
    const ask = async (): Promise<void> => {
      clearTimeout(timer);
      if (busy || stop.signal.aborted) return;
      busy = true;
      let wait = every;
      try {
        source.data.value = await load(stop.signal, source.data.peek());
        source.error.value = null;
      } catch (e) {
        if (!stop.signal.aborted) source.error.value = e instanceof ApiError ? e : new ApiError(-1, "page", String(e));
        if (e instanceof ApiError && (e.away || e.status === 429)) wait = Math.max(AWAY_MS, e.retryAfter * 1000);
      }
      busy = false;
      if (wait > 0 && !stop.signal.aborted) timer = window.setTimeout(() => (document.hidden ? idle() : void ask()), wait);
    };
    const idle = (): void => void (timer = window.setTimeout(() => (document.hidden ? idle() : void ask()), 500));
    source.again = () => void ask();
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key]);
  return source;
}
