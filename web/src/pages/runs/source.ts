// The list of runs as it is now: the newest page again and again, older ones when somebody scrolls there.
import { api } from "../../app/session";
import type { RunItem, Snapshot } from "../../lib/types";

export interface Filter {
  status: string | undefined;
  workflowId: string | undefined;
  tag: string | undefined;
}
export interface List {
  shown: RunItem[];
  fresh: RunItem[]; // newer than what is shown, held back while somebody reads
  next: string | undefined; // where older ones begin
}
interface Page {
  runs: RunItem[];
  nextBefore?: string;
}
export const PAGE_RUNS = 50;

const ask = (f: Filter, signal: AbortSignal, before?: string, limit = PAGE_RUNS): Promise<Page> =>
  api().get<Page>("/v1/runs", { status: f.status, workflowId: f.workflowId, tag: f.tag, limit, before }, signal);

/** reading: nothing may move. */
export async function refresh(f: Filter, old: List | undefined, reading: boolean, signal: AbortSignal): Promise<List> {
  const page = await ask(f, signal, undefined, Math.min(200, Math.max(PAGE_RUNS, old ? old.shown.length : 0)));
  if (!old) return { shown: page.runs, fresh: [], next: page.nextBefore };
  const now = new Map(page.runs.map((r) => [r.runId, r]));
  const there = new Set(old.shown.map((r) => r.runId));
  const first = page.runs.findIndex((r) => there.has(r.runId));
  const fresh = first < 0 ? page.runs : page.runs.slice(0, first);
  if (!reading && first < 0) return { shown: page.runs, fresh: [], next: page.nextBefore };
  // A run that no longer fits the filter leaves the list when nobody reads it, and shows its new state until then.
  const covered = page.runs[page.runs.length - 1]?.runId;
  const kept: RunItem[] = [];
  let within = true;
  for (const run of old.shown) {
    const item = now.get(run.runId);
    if (item) kept.push(item);
    else if (!within || reading || covered === undefined) kept.push(reading && within ? await look(run, signal) : run);
    if (run.runId === covered) within = false;
  }
  return reading ? { shown: kept, fresh, next: old.next } : { shown: [...fresh, ...kept], fresh: [], next: old.next };
}

async function look(run: RunItem, signal: AbortSignal): Promise<RunItem> {
  if (run.completedAt) return run;
  try {
    const s = await api().get<Snapshot>(`/v1/runs/${encodeURIComponent(run.runId)}`, {}, signal);
    return { ...run, status: s.status, ...(s.completedAt ? { completedAt: s.completedAt } : {}) };
  } catch {
    return run;
  }
}

export async function older(f: Filter, old: List, signal: AbortSignal): Promise<List> {
  const page = await ask(f, signal, old.next, 200);
  const there = new Set(old.shown.map((r) => r.runId));
  return { ...old, shown: [...old.shown, ...page.runs.filter((r) => !there.has(r.runId))], next: page.nextBefore };
}

/** The codes of failed runs, asked for once each. */
const codes = new Map<string, Promise<string>>();
export function errorCode(run: RunItem): Promise<string> {
  if (run.status !== "failed") return Promise.resolve("");
  let code = codes.get(run.runId);
  if (!code) {
    code = api().get<Snapshot>(`/v1/runs/${encodeURIComponent(run.runId)}`).then((s) => {
      const error = s.error as { code?: string } | undefined;
      return error?.code ?? "";
    }, () => "");
    codes.set(run.runId, code);
    if (codes.size > 2000) codes.delete(codes.keys().next().value as string);
  }
  return code;
}
