// Inputs and outputs, streamed text, children.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { href } from "../../app/route";
import { at, isObj, textOf, type Json, type Obj } from "../../lib/json";
import { clock } from "../../lib/time";
import { T, thousands } from "../../text";
import { Long, LONG_CHARS, useSome } from "../../ui/long";
import { State } from "../../ui/state";
import { Tree } from "../../ui/tree";
import { ReadAll } from "./state";
import { Timeline } from "./timeline";
import { RunModel } from "./model";
import { lastLines, type Line, type Stream } from "./output";

const END_PX = 24; // so near to the end is at the end
const STREAMS = 50; // shown at once
const LINES = 500; // shown at once, and with each step more
const LINES_CHARS = 100000;

export function ErrorWords({ error, node }: { error: Json | undefined; node?: string | undefined }) {
  return (
    <div class="notice bad stack tight">
      <strong class="wrap">{T.run.failedAt(textOf(at(error, "code")) || "?", node ?? "")}</strong>
      <span class="wrap"><Long text={textOf(at(error, "message"))} /></span>
      {at(error, "details") !== undefined && <Tree value={at(error, "details")} label={T.data.error} open={1} />}
    </div>
  );
}

function Part({ title, value }: { title: string; value: Json | undefined }) {
  const empty = value === undefined || (isObj(value) && Object.keys(value).length === 0);
  return <section class="stack tight" aria-label={title}><h2 class="minor">{title}</h2>{empty ? <p class="soft">{T.data.none}</p> : <Tree value={value} label={title} />}</section>;
}

export function DataPane({ model, node }: { model: RunModel; node: string | undefined }) {
  model.version.value;
  const snapshot = model.snapshot.value;
  const definition = model.definition.value;
  const first = model.log.get(0);
  if (node !== undefined) {
    const state = model.fold.nodeState(node);
    const def = definition?.nodes.find((n) => n.id === node);
    return (
      <div class="stack loose" style={{ padding: "16px" }}>
        <div class="row wraps"><h2 class="wrap">{def?.name ?? node}</h2>{state && <State status={state.status} />}{def && <code class="soft wrap">{def.typeId}</code>}</div>
        {def?.notes && <p class="soft wrap"><Long text={def.notes} /></p>}
        {state?.error !== undefined && <ErrorWords error={state.error} node={node} />}
        <Part title={T.data.outputs} value={state?.outputs} />
        {def && <Part title={T.data.inputs} value={def.inputs} />}
        {def && <Part title={T.data.config} value={def.config} />}
      </div>
    );
  }
  const meta: Obj = {};
  if (snapshot?.tags) meta["tags"] = snapshot.tags;
  if (snapshot?.metadata !== undefined) meta["metadata"] = snapshot.metadata;
  if (snapshot?.configurable !== undefined) meta["configurable"] = snapshot.configurable;
  if (snapshot?.metrics !== undefined) meta["metrics"] = snapshot.metrics;
  return (
    <div class="stack loose" style={{ padding: "16px" }}>
      <Part title={T.data.inputs} value={first ? at(first.payload, "inputs") : undefined} />
      <Part title={T.data.outputs} value={model.fold.outputs ?? snapshot?.outputs} />
      {Object.keys(meta).length > 0 && <Part title={T.data.meta} value={meta} />}
    </div>
  );
}

/** Text that grows at its end, in a node that stays: what a reader has selected in it stays selected. */
function Piece({ text, open }: { text: string; open: boolean }) {
  const at = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const node = (at.current?.firstChild ?? at.current?.appendChild(document.createTextNode(""))) as Text;
    if (text.startsWith(node.data)) node.appendData(text.slice(node.length));
    else if (node.data.startsWith(text)) node.deleteData(text.length, node.length - text.length);
    else node.data = text;
  }, [text]);
  return <div><span ref={at} />{open && <span class="pulse" aria-hidden="true">▍</span>}</div>;
}

/** What is selected within streamed text is copied as it was said: where a paragraph was broken to be laid out, no line ends. */
function copied(e: ClipboardEvent & { currentTarget: HTMLElement }): void {
  const selection = getSelection();
  if (!selection || selection.rangeCount !== 1 || selection.isCollapsed) return;
  const range = selection.getRangeAt(0);
  if (!e.clipboardData || !e.currentTarget.contains(range.commonAncestorContainer)) return;
  const part = range.cloneContents();
  for (const mark of part.querySelectorAll(".pulse")) mark.remove();
  e.clipboardData.setData("text/plain", part.textContent ?? "");
  e.preventDefault();
}

/** Stays at the end of what arrives, as long as the reader is there. */
function StreamText({ label, stream }: { label: string; stream: Stream }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    const el = box.current;
    if (el && atEnd.current && (stream.open || wasOpen.current)) el.scrollTop = el.scrollHeight;
    wasOpen.current = stream.open;
  });
  const scrolled = (): void => {
    const el = box.current;
    if (el) atEnd.current = el.scrollTop + el.clientHeight >= el.scrollHeight - END_PX;
  };
  return (
    <div class="stream" ref={box} onScroll={scrolled} onCopy={copied} tabIndex={0} role="log" aria-live="off" aria-label={label}>
      {[...stream.pieces, stream.tail].map((text, i, all) => <Piece key={stream.first + i} text={text} open={stream.open && i === all.length - 1} />)}
    </div>
  );
}

export function OutputPane({ model, node }: { model: RunModel; node: string | undefined }) {
  model.version.value;
  const streams = [...model.output.streams].filter(([id]) => node === undefined || id === node);
  const lines = model.output.lines.filter((l) => node === undefined || l.nodeId === node);
  const { whole } = model.output;
  const some = useSome(streams.length, STREAMS);
  if (streams.length === 0 && lines.length === 0 && whole) return <p class="empty">{node === undefined ? T.output.none : T.output.noneHere}</p>;
  return (
    <div class="stack loose" style={{ padding: "16px" }}>
      {!whole && <div class="stack tight"><p class="soft">{T.output.end}</p><ReadAll model={model} /></div>}
      {streams.slice(0, some.shown).map(([id, s]) => (
        <section class="stack tight" key={id} aria-label={`${T.output.text}: ${id}`}>
          <h2 class="minor wrap">{id}</h2>
          {s.over ? <p class="soft small">{T.output.over}</p> : s.round > 0 && <p class="soft small">{T.output.rounds(thousands(s.round))}</p>}
          {s.cut && <p class="soft small">{T.output.more}</p>}
          <StreamText key={s.round} label={`${T.output.text}: ${id}`} stream={s} />
        </section>
      ))}
      {some.more}
      {lines.length > 0 && <Lines lines={lines} cut={model.output.cut} />}
    </div>
  );
}

function Lines({ lines, cut }: { lines: Line[]; cut: boolean }) {
  const [steps, setSteps] = useState(1);
  const shown = lastLines(lines, steps * LINES, LONG_CHARS, steps * LINES_CHARS);
  const left = lines.length - shown;
  return (
    <section class="stack tight" aria-label={T.output.logs}>
      <h2 class="minor">{T.output.logs}</h2>
      {cut && <p class="soft small">{T.output.more}</p>}
      {left > 0 && <div class="row wraps small"><span class="soft">{T.output.earlier(thousands(left))}</span><button type="button" class="btn tiny" onClick={() => setSteps(steps + 1)}>{T.more}</button></div>}
      <div class="stream mono" tabIndex={0} role="log" aria-live="off" aria-label={T.output.logs}>
        {lines.slice(left).map((l) => <div key={l.seq}><span class="soft">{clock(l.at)} </span><span class={l.level === "error" ? "c-bad" : l.level === "warn" ? "c-warn" : "soft"}>{l.level}</span>{` ${l.nodeId ?? ""} `}<Long text={l.text} /></div>)}
      </div>
    </section>
  );
}

function Inline({ runId }: { runId: string }) {
  const model = useMemo(() => new RunModel(runId), [runId]);
  useEffect(() => () => model.end(), [model]);
  return <div style={{ height: "220px", display: "grid" }}><Timeline model={model} picked={undefined} pick={() => {}} /></div>;
}

export function ChildrenPane({ model }: { model: RunModel }) {
  const [open, setOpen] = useState<string | null>(null);
  const list = model.snapshot.value?.childRuns ?? [];
  if (list.length === 0) return <p class="empty">{T.children.none}</p>;
  return (
    <ul>
      {list.map((c) => (
        <li key={c.runId} style={{ borderBottom: "1px solid var(--line)" }}>
          <div class="row wraps" style={{ padding: "8px 16px" }}>
            <State status={c.status} /><a class="mono clip grow" href={href(["run", c.runId])}>{c.runId}</a><span class="soft clip">{c.nodeId}</span>
            <button type="button" class="btn tiny" aria-expanded={open === c.runId} onClick={() => setOpen(open === c.runId ? null : c.runId)}>{T.children.show}</button>
          </div>
          {open === c.runId && <Inline runId={c.runId} />}
        </li>
      ))}
      {model.snapshot.value?.childRunsTruncated && <li class="soft" style={{ padding: "8px 16px" }}>{T.children.more}</li>}
    </ul>
  );
}
