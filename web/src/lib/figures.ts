// Figures of a host: what its metrics say now, and what they have become since an earlier look.
import { at, isObj, numberOf, textOf, type Json } from "./json";

export class Figures {
  private readonly by = new Map<string, { labels: Json | undefined; value: number }[]>();

  constructor(samples: Json | undefined, readonly when: number) {
    for (const s of Array.isArray(samples) ? samples.filter(isObj) : []) {
      const list = this.by.get(textOf(s["name"]));
      const sample = { labels: s["labels"], value: numberOf(s["value"]) ?? 0 };
      if (list) list.push(sample);
      else this.by.set(textOf(s["name"]), [sample]);
    }
  }

  /** The sum of the samples of this name, or of those with this label. */
  sum(name: string, label?: string, value?: string): number {
    return (this.by.get(name) ?? []).reduce((n, s) => (label === undefined || textOf(at(s.labels, label)) === value ? n + s.value : n), 0);
  }

  /** What a label is counted as, the most first; nothing that is 0. */
  parts(name: string, label: string): [string, number][] {
    const parts = new Map<string, number>();
    for (const s of this.by.get(name) ?? []) {
      const part = textOf(at(s.labels, label));
      if (s.value > 0) parts.set(part, (parts.get(part) ?? 0) + s.value);
    }
    return [...parts].sort((a, b) => b[1] - a[1]);
  }

  /** How often a second since that look; undefined: it is the same one, or the host was started again in between. */
  rate(name: string, before: Figures | undefined): number | undefined {
    if (!before || this.when <= before.when) return undefined;
    const more = this.sum(name) - before.sum(name);
    return more < 0 ? undefined : (more * 1000) / (this.when - before.when);
  }

  /** The bound below which so much of a histogram is, of what it got since that look, else of all; undefined: it got nothing. */
  quantile(name: string, share: number, before?: Figures): number | undefined {
    const bounds = (f: Figures | undefined): Map<number, number> => new Map((f?.by.get(`${name}_bucket`) ?? []).map((s) => [bound(textOf(at(s.labels, "le"))), s.value]));
    const now = [...bounds(this)].sort((a, b) => a[0] - b[0]);
    const old = bounds(before);
    const all = (now[now.length - 1]?.[1] ?? 0) - (old.get(Infinity) ?? 0);
    if (all < 0 || (all === 0 && before)) return this.quantile(name, share);
    if (all === 0) return undefined;
    return now.find(([le, n]) => n - (old.get(le) ?? 0) >= share * all)?.[0];
  }
}

const bound = (le: string): number => (le === "+Inf" ? Infinity : Number(le));

/** As people read sizes. */
export function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}
