// Who is signed in, and whether the host is there.  The key is in this module's memory; in sessionStorage, which ends with the tab, only when
// its owner asks for that.
import { batch, computed, signal } from "@preact/signals";
import { Api, ApiError } from "../lib/api";
import { offsetOf } from "../lib/time";
import type { Caller } from "../lib/types";

const KEPT = "wopr.key";

export const caller = signal<Caller | null>(null);
/** When the host was first missed; 0: it answers. */
export const awaySince = signal(0);
/** Why the last key holds no more. */
export const refused = signal<ApiError | null>(null);
/** The host's clock, by which ages are shown: that of the browser may be wrong. */
let offset = 0;
export const clock = (): number => Date.now() + offset;
export const now = signal(clock());
setInterval(() => (now.value = clock()), 1000);

let current: Api | null = null;
export function api(): Api {
  if (!current) throw new Error("nobody is signed in");
  return current;
}

export const scopes = computed(() => new Set(caller.value?.scopes ?? []));
export const may = (...needed: string[]): boolean => needed.every((scope) => scopes.value.has(scope));

const watch = {
  answered: () => (awaySince.value = 0),
  away: () => {
    if (awaySince.peek() === 0) awaySince.value = clock();
  },
  dated: (date: string | null) => {
    const next = offsetOf(date, Date.now(), offset);
    if (next === offset) return;
    batch(() => {
      if (awaySince.peek() > 0) awaySince.value += next - offset;
      offset = next;
      now.value = clock();
    });
  },
  refused: (error: ApiError) => {
    if (!caller.peek()) return;
    batch(() => {
      signOut();
      refused.value = error;
    });
  },
};

/** Throws what the host says. */
export async function signIn(key: string, keep: boolean): Promise<void> {
  const next = new Api(key, watch);
  const who = await next.get<Caller>("/v1/host/wopr/caller");
  current = next;
  if (keep) sessionStorage.setItem(KEPT, key);
  else sessionStorage.removeItem(KEPT);
  batch(() => {
    refused.value = null;
    caller.value = who;
  });
}

export function signOut(): void {
  sessionStorage.removeItem(KEPT);
  current = null;
  caller.value = null;
}

export const keptKey = (): string | null => sessionStorage.getItem(KEPT);
