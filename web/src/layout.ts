// The worker that lays graphs out, so that no large one holds up the page.
import { place } from "./lib/place";
import type { Request } from "./lib/ranks";

onmessage = (e: MessageEvent<Request & { ask: number }>): void => postMessage({ ask: e.data.ask, ...place(e.data) });
