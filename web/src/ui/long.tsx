// Texts and lists of any length, of which a bounded part is shown at once.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { cutAt } from "../lib/cut";
import { T, thousands } from "../text";

export const LONG_CHARS = 2000;
const STEP_CHARS = 8000;

export function Long({ text }: { text: string }) {
  const [most, setMost] = useState(LONG_CHARS);
  const shown = useMemo(() => text.slice(0, cutAt(text, most)), [text, most]);
  const left = text.length - shown.length;
  return <><bdi>{shown}</bdi>{left > 0 && <> <button type="button" class="btn tiny" onClick={() => setMost(most + STEP_CHARS)}>{`+${thousands(left)}`}</button></>}</>;
}

/** How many of a list are shown, and a button for more when they are not all. */
export function useSome(count: number, step: number): { shown: number; more: JSX.Element | null } {
  const [most, setMost] = useState(step);
  const left = count - most;
  return { shown: Math.min(count, most), more: left > 0 ? <button type="button" class="btn tiny" onClick={() => setMost(most + step)}>{`${T.more} (${thousands(left)})`}</button> : null };
}
