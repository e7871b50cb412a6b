// Small parts that pages are made of.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../lib/api";
import { ago, duration, moment } from "../lib/time";
import { inWords, T } from "../text";
import { now } from "../app/session";

/* what is said to everybody, also by screen readers */
const said = signal("");
let timer = 0;
export function say(text: string): void {
  said.value = text;
  clearTimeout(timer);
  timer = window.setTimeout(() => (said.value = ""), 4000);
}
export const Toast = () => (
  <div role="status" aria-live="polite">
    {said.value && <div class="toast">{said.value}</div>}
  </div>
);

export function Copy({ text, label }: { text: string | (() => string); label?: string }) {
  return (
    <button type="button" class="btn quiet tiny" aria-label={label ?? T.copy} title={label ?? T.copy}
      onClick={(e) => {
        e.stopPropagation();
        void navigator.clipboard?.writeText(typeof text === "string" ? text : text()).then(() => say(T.copied), () => {});
      }}>
      <svg class="mark" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
        <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" /><path d="M3 10.5h-.5v-8h8V3" />
      </svg>
    </button>
  );
}

export const Age = ({ since }: { since: string | undefined }) =>
  since ? <time class="num" dateTime={since} title={moment(since)}>{ago(now.value - Date.parse(since))}</time> : <span class="soft">–</span>;

export function Took({ from, to }: { from: string | undefined; to: string | undefined }) {
  return <span class="num">{from ? duration((to ? Date.parse(to) : now.value) - Date.parse(from)) : "–"}</span>;
}

/** Parts of a line, each isolated from the others. */
export const Parts = ({ of }: { of: string[] }) => <>{of.length < 2 ? of : of.map((part, i) => <bdi key={i}>{part}</bdi>)}</>;

export const Loading = () => <div class="empty" aria-busy="true">{T.loading}</div>;

export function Wrong({ error, again }: { error: ApiError; again?: () => void }) {
  return (
    <div class="notice bad row apart wraps" role="alert">
      <span>{inWords(error)}</span>
      {again && <button type="button" class="btn" onClick={again}>{T.again}</button>}
    </div>
  );
}

export function Commands({ lines }: { lines: { name: string; text: string }[] }) {
  return (
    <details>
      <summary class="soft small">{T.commands}</summary>
      <div class="stack tight" style={{ marginTop: "8px" }}>
        {lines.map((line) => (
          <div class="cmd" key={line.name}>
            <span class="soft small">{line.name}</span>
            <code tabIndex={0} role="region" aria-label={line.name}>{line.text}</code>
            <Copy text={line.text} label={`${T.copy}: ${line.name}`} />
          </div>
        ))}
      </div>
    </details>
  );
}

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => { // before anybody can press a key
    const back = document.activeElement as HTMLElement | null;
    const dialog = ref.current as HTMLDialogElement;
    dialog.showModal();
    return () => {
      dialog.close(); // as long as it is open, nothing outside takes the focus
      back?.focus?.();
    };
  }, []);
  return (
    <dialog ref={ref} aria-labelledby={id} onCancel={(e) => (e.preventDefault(), close())}>
      <div>
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export function FieldBox(props: { label: string; hint?: string | undefined; wrong?: string | undefined; children: (ids: { id: string; describedBy: string | undefined }) => JSX.Element; extra?: ComponentChildren }) {
  const id = useId();
  const notes = [props.hint && `${id}-h`, props.wrong && `${id}-w`].filter(Boolean).join(" ") || undefined;
  return (
    <div class="field">
      <span class="row apart"><label for={id} class="label">{props.label}</label>{props.extra}</span>
      {props.children({ id, describedBy: notes })}
      {props.hint && <span class="hint" id={`${id}-h`}>{props.hint}</span>}
      {props.wrong && <span class="wrong" id={`${id}-w`} role="alert">{props.wrong}</span>}
    </div>
  );
}

export function Tabs({ name, tabs, picked, pick, panel }: { name: string; tabs: [string, string][]; picked: string; pick: (tab: string) => void; panel: string }) {
  const ref = useRef<HTMLDivElement>(null);
  const keys = (e: KeyboardEvent): void => {
    const i = tabs.findIndex(([id]) => id === picked);
    const to = e.key === "ArrowRight" ? i + 1 : e.key === "ArrowLeft" ? i - 1 : e.key === "Home" ? 0 : e.key === "End" ? tabs.length - 1 : -1;
    if (to < 0 || to >= tabs.length) return;
    e.preventDefault();
    pick((tabs[to] as [string, string])[0]);
    (ref.current?.children[to] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={name} ref={ref} onKeyDown={keys}>
      {tabs.map(([id, label]) => (
        <button type="button" role="tab" key={id} id={`${panel}-${id}`} aria-selected={id === picked} aria-controls={panel} tabIndex={id === picked ? 0 : -1} onClick={() => pick(id)}>
          {label}
        </button>
      ))}
    </div>
  );
}

/** An act that is asked of the host: busy while it is under way, and what it answered when it refused.  Its button is aria-disabled={busy}: one that
    is disabled loses the focus.  Another run meanwhile does nothing, also in the task that began the first. */
export function useAct(): { busy: boolean; error: ApiError | null; run: (act: () => Promise<void>) => void } {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const under = useRef(false);
  const end = (e: ApiError | null): void => {
    under.current = false;
    setBusy(false);
    setError(e);
  };
  const run = (act: () => Promise<void>): void => {
    if (under.current) return;
    under.current = true;
    setBusy(true);
    setError(null);
    act().then(() => end(null), end);
  };
  return { busy, error, run };
}
