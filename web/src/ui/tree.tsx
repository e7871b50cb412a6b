// A JSON value as a tree.  Everything in it is text.
import { useState } from "preact/hooks";
import { cutAt } from "../lib/cut";
import { Exact, print, type Json } from "../lib/json";
import { T, thousands } from "../text";
import { Long } from "./long";
import { Copy } from "./parts";

const MEMBERS = 100; // shown at once
const CHARS = 400;
const STEP_CHARS = 20000; // with each step more
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
  const [most, setMost] = useState(CHARS);
  const end = cutAt(value, most);
  return (
    <span class="str">
      {print(value.slice(0, end))}
      {end < value.length && <> <button type="button" class="more" onClick={() => setMost(most + STEP_CHARS)}>{`+${thousands(value.length - end)}`}</button></>}
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
              <span class="k"><bdi>{list ? item : <Long text={print(item)} />}</bdi>: </span>
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
