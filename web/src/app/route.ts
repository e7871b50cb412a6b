// The address after the hash: "#/runs/run_1?tab=state".  It is never sent to the host, so that names in it reach no log.
import { signal } from "@preact/signals";

export interface Route {
  path: string[];
  query: Record<string, string>;
}

function readRoute(): Route {
  const text = location.hash.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const path = (mark < 0 ? text : text.slice(0, mark)).split("/").filter(Boolean).map(decode);
  return { path, query: Object.fromEntries(new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1))) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal<Route>(readRoute());
addEventListener("hashchange", () => (route.value = readRoute()));

export function href(path: string[], query: Record<string, string | number | undefined> = {}): string {
  const set = Object.entries(query).filter(([, v]) => v !== undefined && v !== "").map(([k, v]): [string, string] => [k, String(v)]);
  return `#/${path.map(encodeURIComponent).join("/")}${set.length > 0 ? `?${new URLSearchParams(set)}` : ""}`;
}

export function go(path: string[], query: Record<string, string | number | undefined> = {}): void {
  location.hash = href(path, query);
}

/** Changes some of the query of this page; no entry in the history, since one does not go back through filters. */
export function refine(query: Record<string, string | number | undefined>): void {
  const { path, query: old } = route.peek();
  history.replaceState(null, "", href(path, { ...old, ...query }));
  route.value = readRoute();
}
