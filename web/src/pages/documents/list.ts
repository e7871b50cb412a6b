// Which of the stored workflows are documents: the list says so; their names are read once for each hash.
import { api } from "../../app/session";
import { ApiError } from "../../lib/api";
import { isDocument } from "../../lib/plan";
import type { Definition } from "../../lib/types";

export interface Found {
  id: string;
  name: string;
  description: string;
  shared: boolean;
  hash: string;
}
interface Item {
  workflowId: string;
  hash: string;
  shared?: boolean;
  language?: string;
}
export const LOOK_MAX = 1000; // workflows that are looked at
const PAGE = 200;
const AT_ONCE = 4;
const known = new Map<string, Found | null>(); // null: a workflow

async function items(signal: AbortSignal): Promise<{ list: Item[]; cut: boolean }> {
  const list: Item[] = [];
  for (let after: string | undefined; ; ) {
    const page = await api().get<{ workflows: Item[]; nextAfter?: string }>("/v1/host/wopr/workflows", { limit: PAGE, after }, signal);
    list.push(...page.workflows);
    after = page.nextAfter;
    if (after === undefined || list.length >= LOOK_MAX) return { list: list.slice(0, LOOK_MAX), cut: after !== undefined };
  }
}

async function look(item: Item, signal: AbortSignal): Promise<Found | null> {
  for (;;) {
    try {
      const d = await api().get<Definition>(`/v1/workflows/${encodeURIComponent(item.workflowId)}`, {}, signal);
      return isDocument(d) ? { id: item.workflowId, name: d.name ?? item.workflowId, description: d.description ?? "", shared: item.shared === true, hash: item.hash } : null;
    } catch (e) {
      if (!(e instanceof ApiError) || e.away || e.status === 401) throw e;
      if (e.status !== 429) return null; // deleted meanwhile, or not to be read
      await new Promise((resolve) => setTimeout(resolve, Math.max(1, e.retryAfter) * 1000));
    }
  }
}

export async function documents(signal: AbortSignal, tell: (done: number, of: number) => void): Promise<{ found: Found[]; cut: boolean }> {
  const { list, cut } = await items(signal);
  const docs = list.filter((i) => i.language === "workspec");
  const key = (i: Item): string => `${i.workflowId} ${i.hash} ${i.shared === true}`;
  const queue = docs.filter((i) => !known.has(key(i)));
  let done = docs.length - queue.length;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let item = queue.shift(); item && !signal.aborted; item = queue.shift()) {
      known.set(key(item), await look(item, signal));
      tell(++done, docs.length);
    }
  }));
  return { found: docs.map((i) => known.get(key(i)) ?? null).filter((f) => f !== null), cut };
}
