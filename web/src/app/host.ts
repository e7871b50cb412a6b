// What the host says it can do (discovery): pages of things that not every host has ask here.
import { effect, signal } from "@preact/signals";
import { ApiError } from "../lib/api";
import { at, type Json } from "../lib/json";
import { api, caller } from "./session";

const AGAIN_MS = 2000;
const discovery = signal<Json | undefined>(undefined);

/** Is there such an extension? false as long as the host has not said. */
export const offers = (name: string): boolean => at(discovery.value, "extensions", name) !== undefined;

effect(() => {
  discovery.value = undefined;
  if (!caller.value) return;
  const stop = new AbortController();
  let timer = 0;
  const look = async (): Promise<void> => {
    try {
      discovery.value = await api().get<Json>("/.well-known/openwop", {}, stop.signal);
    } catch (e) {
      if (e instanceof ApiError && !stop.signal.aborted) timer = window.setTimeout(look, AGAIN_MS);
    }
  };
  void look();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
});
