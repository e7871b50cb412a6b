// The log: live, of any length, searched, grouped by node, each event with its payload and its causes.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { refine, route } from "../../app/route";
import { PAGE } from "../../lib/log";
import { Groups, Scan } from "../../lib/scan";
import { markOf, matches, summary } from "../../lib/summary";
import { duration, moment } from "../../lib/time";
import { isFinal, type Event } from "../../lib/types";
import { T, thousands } from "../../text";
import { Copy, Parts } from "../../ui/parts";
import { Mark, tone } from "../../ui/state";
import { Tree } from "../../ui/tree";
import { VList, type ListHandle } from "../../ui/vlist";
import type { RunModel } from "./model";

const ROW = 28;
const LED_MAX = 20; // events that one led to, shown

const SCAN_MS = 6; // of a frame

/** A look through the log that goes on in the next frame when there is more; true: it is through. */
function useSteps(scan: { step(ms: number): boolean } | null): boolean {
  const [, more] = useState(0);
  const done = !scan || scan.step(SCAN_MS);
  useEffect(() => {
    if (done) return;
    const frame = requestAnimationFrame(() => more((n) => n + 1));
    return () => cancelAnimationFrame(frame);
  });
  return done;
}

export function Events({ model, node, fork }: { model: RunModel; node: string | undefined; fork: (seq: number) => void }) {
  const q = route.value.query;
  model.version.value;
  const [text, setText] = useState("");
  const [grouped, setGrouped] = useState(false);
  const [open, setOpen] = useState<Set<string>>(new Set());
  const [follow, setFollow] = useState(q["seq"] === undefined && !isFinal(model.snapshot.peek()?.status ?? ""));
  const handle = useRef<ListHandle | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const scan = useMemo(() => {
    if (text === "" && node === undefined) return null;
    const wanted = text.toLowerCase();
    return new Scan(model.log, (e) => (node === undefined || e.nodeId === node) && (wanted === "" || matches(e, wanted)));
  }, [model, text, node]);
  const byNode = useMemo(() => (grouped ? new Groups(model.log) : null), [model, grouped]);
  const looked = useSteps(byNode ?? scan);
  const groups = byNode?.rows(open);
  const found = groups ? null : scan?.list;
  const picked = q["seq"] === undefined ? undefined : Number(q["seq"]);
  const length = model.log.length;
  const count = groups ? groups.count : found ? found.length : length;
  const seqAt = (i: number): number => (found ? (found[i] as number) : i);
  const pick = (seq: number | undefined): void => refine({ seq });
  const goto = (seq: number): void => {
    setText("");
    setGrouped(false);
    setFollow(false);
    pick(seq);
    requestAnimationFrame(() => handle.current?.show(seq, true));
  };
  const leave = (seq: number): void => { // the focus goes back to the row
    const row = box.current?.querySelector<HTMLElement>(`.ev[data-seq="${seq}"]`);
    const i = groups ? -1 : found ? found.indexOf(seq) : seq;
    if (row) row.focus({ preventScroll: true });
    else if (i >= 0) handle.current?.show(i, true);
    pick(undefined);
  };
  useEffect(() => {
    if (picked !== undefined && !found && !groups) handle.current?.show(picked);
  }, []);
  const line = (seq: number, i: number) => {
    const e = model.log.get(seq);
    if (!e) model.want(Math.floor(seq / PAGE));
    return <EventRow key={`e${seq}`} e={e} seq={seq} i={i} from={model.spans.from} picked={seq === picked} pick={() => (setFollow(false), pick(seq === picked ? undefined : seq))} />;
  };
  const row = (i: number) => {
    if (!groups) return line(seqAt(i), i);
    const { id, list, seq } = groups.at(i);
    if (seq !== undefined) return line(seq, i);
    const mark = id === "" ? model.fold.status : model.fold.nodeStatus(id);
    const toggle = (): void => {
      const next = new Set(open);
      if (!next.delete(id)) next.add(id);
      setOpen(next);
    };
    return (
      <button type="button" key={`g${id}`} class="ev head" data-i={i} style={{ top: `${i * ROW}px` }} aria-expanded={open.has(id)} onClick={toggle}>
        <Mark status={mark} class={`c-${tone(mark)}`} />
        <span class="clip">{id || T.events.run}</span>
        <span class="num">{T.events.count(thousands(list.length))}</span>
      </button>
    );
  };
  const event = picked === undefined ? undefined : model.log.get(picked);
  return (
    <div class="split" ref={box}>
      <div class="tools">
        <input class="in" style={{ flex: "1 1 160px", maxWidth: "280px" }} type="search" aria-label={T.events.search} placeholder={T.events.search} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        {!model.long && <button type="button" class="btn" aria-pressed={grouped} onClick={() => setGrouped(!grouped)}>{T.events.group}</button>}
        {model.tail.value !== "ended" && !grouped && <button type="button" class="btn" aria-pressed={follow} onClick={() => setFollow(!follow)}>{T.events.follow}</button>}
        <span class="soft small num" style={{ marginLeft: "auto" }} role="status">
          {found ? T.events.filtered(thousands(found.length), thousands(length)) : T.events.count(thousands(length))}
        </span>
        {model.log.held < length && (scan || groups) && <span class="soft small">{T.events.partial}</span>}
      </div>
      {count === 0 && length > 0 ? <p class="empty">{looked ? T.events.none : T.events.looking}</p> : (
        <VList count={count} height={ROW} row={row} label={T.run.tabs["events"] as string} follow={follow && !groups} unfollow={() => setFollow(false)} handle={(h) => (handle.current = h)} />
      )}
      {event && <Detail e={event} model={model} goto={goto} fork={fork} close={() => leave(event.sequence)} />}
    </div>
  );
}

function EventRow({ e, seq, i, from, picked, pick }: { e: Event | undefined; seq: number; i: number; from: number; picked: boolean; pick: () => void }) {
  const mark = e ? markOf(e.type) : "none";
  return (
    <button type="button" class={`ev ${picked ? "picked" : ""}`} data-i={i} data-seq={seq} style={{ top: `${i * ROW}px` }} aria-pressed={picked} onClick={pick}>
      <span class="num">{seq}</span>
      <span class="num opt">{e ? `+${duration(Date.parse(e.timestamp) - from)}` : ""}</span>
      {mark === "none" ? <span /> : <Mark status={mark} class={`c-${tone(mark)}`} />}
      <span class="clip">{e ? e.type : T.events.loading}</span>
      <span class="clip soft">{e?.nodeId ?? ""}</span>
      <span class="clip soft opt">{e ? <Parts of={summary(e)} /> : ""}</span>
    </button>
  );
}

function Detail({ e, model, goto, fork, close }: { e: Event; model: RunModel; goto: (seq: number) => void; fork: (seq: number) => void; close: () => void }) {
  model.version.value;
  const scan = useMemo(() => new Scan(model.log, (other) => other.eventId === e.causationId || other.causationId === e.eventId), [model, e]);
  useSteps(scan);
  const cause = scan.list.find((seq) => seq < e.sequence && model.log.from(seq)?.eventId === e.causationId);
  const links = { cause, led: scan.list.filter((seq) => seq !== cause).slice(0, LED_MAX) };
  const link = (seq: number) => (
    <button type="button" key={seq} class="btn tiny" onClick={() => goto(seq)}>{`${seq} ${model.log.get(seq)?.type ?? ""}`}</button>
  );
  return (
    <div class="detail" role="region" aria-label={`${e.type} ${e.sequence}`}>
      <div class="row apart wraps">
        <span class="row wraps"><strong>{e.type}</strong>{e.nodeId && <span class="soft wrap">{e.nodeId}</span>}<span class="soft num">{`#${e.sequence}`}</span><time class="soft num" dateTime={e.timestamp} title={e.timestamp}>{moment(e.timestamp)}</time></span>
        <button type="button" class="btn quiet tiny" onClick={close}>{T.events.close}</button>
      </div>
      {(e.causationId || links.led.length > 0) && (
        <div class="row wraps small">
          {e.causationId && <><span class="soft">{T.events.cause}</span>{links.cause !== undefined ? link(links.cause) : <code class="wrap">{e.causationId}</code>}</>}
          {links.led.length > 0 && <><span class="soft">{T.events.causes}</span>{links.led.map(link)}</>}
        </div>
      )}
      <Tree value={e.payload} label={T.events.payload} />
      <div class="acts left">
        <button type="button" class="btn tiny" onClick={() => refine({ tab: "state", at: e.sequence })}>{T.events.stateHere}</button>
        <button type="button" class="btn tiny" onClick={() => fork(e.sequence)}>{T.events.forkHere}</button>
        <span class="row small"><code class="soft">{e.eventId}</code><Copy text={e.eventId} label={`${T.copy} ${e.eventId}`} /></span>
      </div>
    </div>
  );
}
