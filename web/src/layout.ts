// The worker that lays graphs out, so that no large one holds up the page.
import { place, type Request } from "./lib/place";

onmessage = (e: MessageEvent<Request & { ask: number }>): void => postMessage({ ask: e.data.ask, ...place(e.data) });
