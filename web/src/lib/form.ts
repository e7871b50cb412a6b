// Forms from JSON Schemas: which fields a schema asks for, and the value that was typed.  What a form cannot show is edited as JSON.
import { at, isObj, parse, print, textOf, type Json, type Obj } from "./json";
import type { WfVariable } from "./types";
import { visible } from "./visible";

export type Field =
  | { kind: "text" | "number" | "boolean" | "json"; name: string; label: string; hint: string; required: boolean; initial: Json | undefined; secret?: boolean }
  | { kind: "choice"; name: string; label: string; hint: string; required: boolean; initial: Json | undefined; choices: Json[] };

export function fieldOf(name: string, schema: Json | undefined, required: boolean, initial?: Json): Field {
  const label = textOf(at(schema, "title")) || name;
  const hint = textOf(at(schema, "description"));
  const given = initial !== undefined ? initial : at(schema, "default");
  const common = { name, label, hint, required, initial: given };
  const choices = at(schema, "enum");
  const fixed = at(schema, "const");
  if (Array.isArray(choices)) return { kind: "choice", ...common, choices };
  if (fixed !== undefined) return { kind: "choice", ...common, choices: [fixed] };
  const type = at(schema, "type");
  if (type === "string") return { kind: typeof given === "string" && visible(given) !== given ? "json" : "text", ...common };
  if (type === "number" || type === "integer") return { kind: "number", ...common };
  if (type === "boolean") return { kind: "boolean", ...common };
  return { kind: "json", ...common };
}

/** The members of an object that a schema describes or requires; null: there are none. */
export function fieldsOf(schema: Json | undefined, initial?: Json): Field[] | null {
  const described = at(schema, "properties");
  const members = new Map(isObj(described) ? Object.entries(described) : []);
  const required = at(schema, "required");
  const needs = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
  for (const name of needs) if (!members.has(name)) members.set(name, {}); // whatever it is
  if (members.size === 0) return null;
  return [...members].map(([name, member]) => fieldOf(name, member, needs.has(name), at(initial, name)));
}

export function fieldOfVariable(v: WfVariable): Field {
  const schema: Obj = { type: v.type, description: v.description ?? "" };
  const field = fieldOf(v.name, schema, v.required === true && v.defaultValue === undefined, v.sensitive ? undefined : v.defaultValue);
  return v.sensitive && field.kind !== "choice" ? { ...field, secret: true } : field;
}

/** What a control holds at first. */
export function shown(field: Field): string {
  const v = field.initial;
  if (field.kind === "choice") return v === undefined ? "" : print(v);
  if (v === undefined) return "";
  if (field.kind === "text") return typeof v === "string" ? v : print(v);
  return field.kind === "json" ? print(v, 2) : print(v);
}

export type Read = { ok: true; value: Json | undefined } | { ok: false; why: "required" | "number" | "json" };

/** undefined: leave it out. */
export function read(field: Field, typed: string): Read {
  const empty = typed === "" || (field.kind !== "text" && typed.trim() === "");
  if (empty) return field.required ? { ok: false, why: "required" } : { ok: true, value: undefined };
  if (field.kind === "text") return { ok: true, value: typed };
  if (field.kind === "number") return isNumber(typed.trim()) ? { ok: true, value: parse(typed.trim()) } : { ok: false, why: "number" };
  try {
    return { ok: true, value: parse(typed) };
  } catch {
    return { ok: false, why: "json" };
  }
}

function isNumber(text: string): boolean {
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}
