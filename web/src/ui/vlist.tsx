// A list of any length, of which only what is seen is in the document.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface ListHandle {
  /** Scrolls so that the row is seen. */
  show(index: number, focus?: boolean): void;
}

interface Props {
  count: number;
  height: number; // of a row, in pixels
  row: (index: number) => JSX.Element;
  label: string;
  /** Stay at the end while it grows, as long as the reader is there. */
  follow?: boolean;
  unfollow?: () => void;
  handle?: (handle: ListHandle) => void;
  head?: JSX.Element;
  class?: string;
}
const OVER = 8; // rows above and below

export function VList({ count, height, row, label, follow = false, unfollow, handle, head, class: more = "" }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, size: 600 });
  const ours = useRef(-1); // the position that we ourselves have set
  const measure = (): void => {
    const el = box.current;
    if (!el) return;
    setView((old) => (old.top === el.scrollTop && old.size === el.clientHeight ? old : { top: el.scrollTop, size: el.clientHeight }));
  };
  useLayoutEffect(() => {
    const watch = new ResizeObserver(measure);
    if (box.current) watch.observe(box.current);
    measure();
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    const el = box.current;
    if (!follow || !el) {
      ours.current = -1;
      return;
    }
    if (ours.current >= 0 && Math.abs(el.scrollTop - ours.current) > height && unfollow) return unfollow(); // the reader was quicker
    el.scrollTop = ours.current = Math.max(0, count * height - view.size);
    setView((old) => ({ top: ours.current, size: old.size })); // without asking for a layout
  }, [follow, count]);
  const longest = useRef(0);
  useLayoutEffect(() => {
    if (count < longest.current) measure(); // the position may be beyond the end now
    longest.current = count;
  }, [count]);
  useEffect(() => {
    handle?.({
      show: (index, focus) => {
        const el = box.current;
        if (!el) return;
        const at = index * height;
        if (at < el.scrollTop || at + height > el.scrollTop + el.clientHeight) el.scrollTop = Math.max(0, at - el.clientHeight / 2 + height / 2);
        measure();
        if (focus) requestAnimationFrame(() => requestAnimationFrame(() => el.querySelector<HTMLElement>(`[data-i="${index}"]`)?.focus({ preventScroll: true })));
      },
    });
  }, []);
  const keys = (e: KeyboardEvent): void => {
    const el = box.current;
    const from = Number((document.activeElement as HTMLElement | null)?.dataset["i"] ?? -1);
    const page = Math.max(1, Math.floor(view.size / height) - 1);
    const by: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
    if (!el || from < 0 || by[e.key] === undefined) return;
    e.preventDefault();
    const to = Math.max(0, Math.min(count - 1, from + (by[e.key] as number)));
    const at = to * height;
    if (at < el.scrollTop) el.scrollTop = at;
    else if (at + height > el.scrollTop + el.clientHeight - (head ? height : 0)) el.scrollTop = at + height - el.clientHeight + (head ? height : 0);
    measure();
    requestAnimationFrame(() => requestAnimationFrame(() => el.querySelector<HTMLElement>(`[data-i="${to}"]`)?.focus({ preventScroll: true })));
  };
  const first = Math.max(0, Math.floor(view.top / height) - OVER);
  const last = Math.min(count, Math.ceil((view.top + view.size) / height) + OVER);
  const rows: JSX.Element[] = [];
  for (let i = first; i < last; i++) rows.push(row(i));
  return (
    <div class={`vlist ${more}`} ref={box} role="group" aria-label={label} tabIndex={count === 0 ? undefined : -1} onKeyDown={keys}
      onScroll={() => {
        const el = box.current;
        if (el && unfollow && follow && Math.abs(el.scrollTop - ours.current) > height && el.scrollTop + el.clientHeight < el.scrollHeight - height) unfollow();
        measure();
      }}>
      {head}
      <div style={{ height: `${count * height}px`, position: "relative" }}>{rows}</div>
    </div>
  );
}
