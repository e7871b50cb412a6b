// Times as people read them.

const GRAIN_MS = 2500; // of a date in seconds, on its way

export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.floor(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ${Math.floor(s % 60)} s`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h} h ${m % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

export function ago(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 5) return "now";
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

/** What to add to the browser's clock for that of the host, whose Date (in seconds) arrived at `now`: as it was where they differ by no more than
    that tells, 0 where the browser's is right. */
export function offsetOf(date: string | null, now: number, old: number): number {
  const there = Date.parse(date ?? "");
  if (Number.isNaN(there)) return old;
  const offset = there + 500 - now;
  if (Math.abs(offset) < GRAIN_MS) return 0;
  return Math.abs(offset - old) < GRAIN_MS ? old : offset;
}

export const clock = (iso: string): string => new Date(iso).toLocaleTimeString(undefined, { hour12: false });
export const moment = (iso: string): string => new Date(iso).toLocaleString(undefined, { hour12: false });
