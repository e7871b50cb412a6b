// What waits for people: the menu counts it, two pages show it.
import { effect, signal } from "@preact/signals";
import { ApiError } from "../lib/api";
import type { Pending } from "../lib/types";
import { api, caller, may } from "./session";

const EVERY_MS = 2500;

export const pending = signal<Pending[] | undefined>(undefined);
export const morePending = signal(false);
let ask: () => void = () => {};
export const askPending = (): void => ask();

effect(() => {
  if (!caller.value || !may("runs:read")) {
    pending.value = undefined;
    return;
  }
  const stop = new AbortController();
  let timer = 0;
  ask = () => void look();
  const look = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      if (!document.hidden) {
        const got = await api().get<{ interrupts: Pending[]; nextCursor?: string }>("/v1/host/wopr/interrupts", { limit: 100 }, stop.signal);
        pending.value = got.interrupts;
        morePending.value = got.nextCursor !== undefined;
      }
    } catch (e) {
      if (!(e instanceof ApiError)) return;
    }
    if (!stop.signal.aborted) {
      clearTimeout(timer);
      timer = window.setTimeout(look, EVERY_MS);
    }
  };
  void look();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
});
