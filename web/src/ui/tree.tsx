// A JSON value as a tree.  Everything in it is text.
import { useState } from "preact/hooks";
import { Exact, print, type Json } from "../lib/json";
import { T, thousands } from "../text";
import { Copy } from "./parts";

const MEMBERS = 100; // shown at once
const CHARS = 400;
const OPEN_MEMBERS = 40; // values with more begin closed

export function Tree({ value, open = 2, label }: { value: Json | undefined; open?: number; label: string }) {
  if (value === undefined) return <span class="soft">{T.data.none}</span>;
  return (
    <div class="tree" role="group" aria-label={label}>
      <div class="row apart" style={{ alignItems: "start" }}>
        <div class="grow" style={{ paddingLeft: "16px" }}><Value value={value} depth={0} open={open} name={label} /></div>
        <Copy text={() => print(value, 2)} label={`${T.copy}: ${label}`} />
      </div>
    </div>
  );
}

function Value({ value, depth, open, name }: { value: Json; depth: number; open: number; name: string }) {
  if (typeof value === "string") return <Text value={value} />;
  if (value === null || typeof value !== "object" || value instanceof Exact) return <span class="lit">{value instanceof Exact ? value.text : print(value)}</span>;
  return <Members value={value} depth={depth} open={open} name={name} />;
}

function Text({ value }: { value: string }) {
  const [all, setAll] = useState(false);
  const long = value.length > CHARS && !all;
  return (
    <span class="str">
      {print(long ? value.slice(0, CHARS) : value)}
      {long && <> <button type="button" class="more" onClick={() => setAll(true)}>{`+${thousands(value.length - CHARS)}`}</button></>}
    </span>
  );
}

function Members({ value, depth, open, name }: { value: Json[] | { [name: string]: Json }; depth: number; open: number; name: string }) {
  const list = Array.isArray(value);
  const names = list ? null : Object.keys(value);
  const count = list ? value.length : (names as string[]).length;
  const [isOpen, setOpen] = useState(depth < open && count <= OPEN_MEMBERS);
  const [shown, setShown] = useState(MEMBERS);
  const [left, right] = list ? ["[", "]"] : ["{", "}"];
  if (count === 0) return <span class="lit">{left + right}</span>;
  const items = Array.from({ length: isOpen ? Math.min(shown, count) : 0 }, (_, i) => (list ? String(i) : (names as string[])[i] as string));
  return (
    <>
      <button type="button" class="tw" aria-expanded={isOpen} aria-label={name} onClick={() => setOpen(!isOpen)}>{isOpen ? "▾" : "▸"}</button>
      {left}
      {isOpen ? (
        <ul>
          {items.map((item, i) => (
            <li key={item}>
              <span class="k">{list ? item : print(item)}: </span>
              <Value value={(list ? value[i] : value[item]) as Json} depth={depth + 1} open={open} name={item} />
            </li>
          ))}
          {count > shown && <li><button type="button" class="more" onClick={() => setShown(shown + 10 * MEMBERS)}>{`${T.more} (${thousands(count - shown)})`}</button></li>}
        </ul>
      ) : <span class="soft">{` ${thousands(count)} `}</span>}
      {right}
    </>
  );
}
