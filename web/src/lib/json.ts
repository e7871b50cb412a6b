// JSON as the host sends it.  Numbers that a double does not hold as they are written keep their text: a page that
// shows or sends others than the log has lies.

import { visible } from "./visible";

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
  typeof value === "number" && context?.source !== undefined && !holds(value, context.source) ? new Exact(context.source) : value;

/** Does the double print as the number that the text says, up to spelling? */
export function holds(value: number, source: string): boolean {
  return Number.isFinite(value) && decimal(String(value)) === decimal(source);
}

/** One spelling for each decimal number: sign, digits, exponent. */
function decimal(text: string): string {
  const [, sign = "", whole = "", part = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return sign + (short === "" ? "0" : `${short}e${Number(exponent) - part.length + digits.length - short.length}`);
}

/** Only where one of these occurs there may be a number that no double holds: many digits, an exponent, a zero below zero. */
const RARE = /\d[\d.]{15}|(?:^|[\s:,[])(?:-0|-?\d[\d.]*[eE])/;

export function parse(text: string): Json {
  return (RARE.test(text) ? (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, exact) : JSON.parse(text)) as Json;
}

export function print(value: Json | undefined, indent = 0): string {
  return value === undefined ? "" : visible(JSON.stringify(value, null, indent));
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
