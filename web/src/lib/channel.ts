// One channel as a fold of its writes.
import { at, Exact, isObj, numberOf, textOf, type Json, type Obj } from "./json";
import { Sum } from "./sum";

export const MASK = "[REDACTED]";
const LISTS = new Set(["append", "votes", "feedback", "message"]);
const IDENTITY: Record<string, string[]> = { votes: ["userId", "voter", "decidedBy"], message: ["messageId"] };
const ENTRIES_MAX = 10000;
const ASK_MAX = 100; // of "_askExchanges:", an older name

interface Entry {
  at: number;
  value: Json;
  reducer: string;
}

export class Channel {
  private entries: Entry[] = [];
  private isList: boolean;
  private reducer: string;
  private ttl = 0;
  private sum: Sum | null = null;
  private masked: boolean;
  private digest: Json | undefined;

  constructor(readonly name: string, readonly declared: Obj | undefined, readonly masking: string) {
    this.reducer = textOf(at(declared, "reducer")) || "replace";
    this.isList = LISTS.has(this.reducer);
    this.masked = at(declared, "sensitive") === true && masking !== "passthrough";
    this.ttl = this.isList ? (numberOf(at(declared, "ttlMs")) ?? 0) : 0;
  }

  copy(): Channel {
    const to = new Channel(this.name, this.declared, this.masking);
    Object.assign(to, this, { entries: this.entries.slice(), sum: this.sum?.copy() ?? null });
    return to;
  }

  /** nodeTtl: of the writing node, for a channel that is not declared. */
  write(value: Json, reducer: string, at_ms: number, nodeTtl: number): void {
    const list = LISTS.has(reducer);
    if (value === MASK) this.masked = true;
    if (list !== this.isList) this.entries = [];
    this.isList = list;
    this.reducer = reducer;
    this.ttl = list ? (this.declared ? (numberOf(at(this.declared, "ttlMs")) ?? 0) : nodeTtl) : 0;
    if (reducer !== "counter") this.sum = null;
    const entry = { at: at_ms, value, reducer };
    if (list) this.append(entry);
    else this.entries = [{ ...entry, value: this.step(value, reducer) }];
    this.digest = this.masked && reducer === "replace" && this.masking === "hash" ? value : undefined;
  }

  private append(entry: Entry): void {
    if (this.ttl > 0) this.entries = this.entries.filter((e) => e.at >= entry.at - this.ttl);
    const who = identity(entry.reducer, entry.value);
    if (who !== undefined) {
      const same = (e: Entry): boolean => identity(entry.reducer, e.value) === who;
      if (entry.reducer === "message" && this.entries.some(same)) return; // the first stays
      this.entries = this.entries.filter((e) => !same(e));
    }
    this.entries.push(entry);
    const max = numberOf(at(this.declared, "maxSize")) || (this.name.startsWith("_askExchanges:") ? ASK_MAX : ENTRIES_MAX);
    if (this.entries.length > max) this.entries.splice(0, this.entries.length - max);
  }

  private step(value: Json, reducer: string): Json {
    const old = this.entries[0]?.value;
    if (reducer === "merge" && isObj(value)) return isObj(old) ? { ...old, ...value } : value;
    if (reducer !== "counter" || !(typeof value === "number" || value instanceof Exact)) return value;
    if (!this.sum) {
      this.sum = new Sum();
      if (typeof old === "number" || old instanceof Exact) this.sum.add(old);
    }
    this.sum.add(value);
    return this.sum.value();
  }

  /** What a snapshot of that time shows; undefined: nothing. */
  shown(now: number): Json | undefined {
    if (this.entries.length === 0 && !this.declared) return undefined;
    const empty = this.entries.length === 0 && !this.isList;
    if (this.masked) {
      if (this.masking === "omit" || (empty && this.reducer === "replace" && at(this.declared, "default") === undefined)) return undefined;
      return this.digest ?? MASK;
    }
    const framed = (e: Entry): Json => (this.declared ? e.value : { value: e.value, _ts: e.at });
    if (this.isList) return this.entries.filter((e) => !this.declared || this.ttl === 0 || e.at >= now - this.ttl).map(framed);
    if (!empty) return framed(this.entries[0] as Entry);
    return this.reducer === "merge" ? {} : this.reducer === "counter" ? 0 : at(this.declared, "default");
  }
}

function identity(reducer: string, value: Json): string | undefined {
  for (const name of IDENTITY[reducer] ?? []) {
    const who = at(value, name);
    if (who !== undefined && who !== null) return typeof who === "string" ? who : JSON.stringify(who);
  }
  return undefined;
}
