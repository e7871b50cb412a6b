// JSON as the host sends it.  Numbers that a double cannot hold keep their text: a page that shows other digits than the log lies.

export type Json = null | boolean | number | string | Exact | Json[] | { [name: string]: Json };
export type Obj = { [name: string]: Json };

/** A number by its text. */
export class Exact {
  constructor(readonly text: string) {}
  toJSON(): unknown {
    const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
    return raw ? raw(this.text) : Number(this.text);
  }
}

type Reviver = (this: unknown, name: string, value: unknown, context?: { source?: string }) => unknown;
const exact: Reviver = (_, value, context) =>
  typeof value === "number" && context?.source !== undefined && !same(value, context.source) ? new Exact(context.source) : value;

/** Does the double print as the text says, up to spelling? */
function same(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) && !/[.eE]/.test(source)) return true;
  const digits = source.replace(/[eE].*$/, "").replace(/[-.]/g, "").replace(/^0+/, "").replace(/0+$/, "");
  return digits.length <= 15;
}

const LONG = /\d[\d.]{15,}/;

export function parse(text: string): Json {
  return (LONG.test(text) ? (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, exact) : JSON.parse(text)) as Json;
}

export function print(value: Json | undefined, indent = 0): string {
  return value === undefined ? "" : JSON.stringify(value, null, indent);
}

export function isObj(value: Json | undefined): value is Obj {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}

export function at(value: Json | undefined, ...path: string[]): Json | undefined {
  for (const name of path) value = isObj(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

export function numberOf(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : value instanceof Exact ? Number(value.text) : undefined;
}

/** Equal as JSON values: the order of members does not count. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (a instanceof Exact || b instanceof Exact) return a instanceof Exact && b instanceof Exact && a.text === b.text;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (!isObj(a) || !isObj(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]));
}
