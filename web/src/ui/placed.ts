// Asks the worker where nodes are drawn; what was laid out before is not laid out again.  What takes too long, or fails, is placed by ranks.
import { byRanks, type Placed, type Request } from "../lib/ranks";

let worker: Worker | null = null;
let policy: ReturnType<NonNullable<typeof window.trustedTypes>["createPolicy"]> | undefined;
let asks = 0;
const waiting = new Map<number, (placed: Placed | null) => void>(); // null: the worker is gone
const kept = new Map<string, Promise<Placed>>();
const KEPT_MAX = 8;
const WAIT_MS = 5000;

function start(): Worker {
  policy ??= window.trustedTypes?.createPolicy("wopr", { createScriptURL: (url) => url }); // one of a name can be made
  const url = policy ? policy.createScriptURL(LAYOUT_URL) : LAYOUT_URL;
  const made = new Worker(url as string, { type: "module" });
  made.onmessage = (e: MessageEvent<Placed & { ask: number }>) => {
    waiting.get(e.data.ask)?.(e.data);
    waiting.delete(e.data.ask);
  };
  made.onerror = stop;
  return made;
}

/** Nothing that it was asked is answered any more; what is asked next gets another worker. */
function stop(): void {
  worker?.terminate();
  worker = null;
  for (const done of waiting.values()) done(null);
  waiting.clear();
}

async function look(request: Request): Promise<Placed> {
  let timer = 0;
  const placed = await new Promise<Placed | null>((resolve) => {
    try {
      worker ??= start();
      waiting.set(++asks, resolve);
      worker.postMessage({ ask: asks, ...request });
      timer = window.setTimeout(stop, WAIT_MS);
    } catch {
      resolve(null); // no worker is to be had
    }
  });
  clearTimeout(timer);
  return placed ?? { ...byRanks(request), plain: true };
}

export function placed(request: Request): Promise<Placed> {
  const key = JSON.stringify(request);
  let answer = kept.get(key);
  if (!answer) {
    kept.set(key, (answer = look(request)));
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value as string);
  }
  return answer;
}
