// Asks the worker where nodes are drawn; what was laid out before is not laid out again.
import type { Placed, Request } from "../lib/place";

let worker: Worker | null = null;
let asks = 0;
const waiting = new Map<number, (placed: Placed) => void>();
const kept = new Map<string, Promise<Placed>>();
const KEPT_MAX = 8;

function start(): Worker {
  const policy = window.trustedTypes?.createPolicy("wopr", { createScriptURL: (url) => url });
  const url = policy ? policy.createScriptURL(LAYOUT_URL) : LAYOUT_URL;
  const made = new Worker(url as string, { type: "module" });
  made.onmessage = (e: MessageEvent<Placed & { ask: number }>) => {
    waiting.get(e.data.ask)?.(e.data);
    waiting.delete(e.data.ask);
  };
  return made;
}

export function placed(request: Request): Promise<Placed> {
  const key = JSON.stringify(request);
  let answer = kept.get(key);
  if (!answer) {
    worker ??= start();
    const ask = ++asks;
    answer = new Promise((resolve) => waiting.set(ask, resolve));
    worker.postMessage({ ask, ...request });
    kept.set(key, answer);
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value as string);
  }
  return answer;
}
