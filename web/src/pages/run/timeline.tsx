// The waterfall: when each node worked, waited and was tried again, and the children; the line is now.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { href } from "../../app/route";
import { clock } from "../../app/session";
import { duration } from "../../lib/time";
import type { Span } from "../../lib/spans";
import { isFinal } from "../../lib/types";
import { T } from "../../text";
import { tone } from "../../ui/state";
import { VList } from "../../ui/vlist";
import type { RunModel } from "./model";

const ROW = 30;
const TICKS = 4;
const SPANS_MAX = 200; // of one lane that are drawn

interface Row {
  id: string;
  label: string;
  spans: Span[];
  from: number;
  attempts: number;
  child?: string;
}

/** The row with this number: nodes in the order in which they began, then children. */
function rowAt(i: number, model: RunModel, names: Map<string, string>): Row {
  const { spans } = model;
  const lane = spans.at(i);
  if (lane) return { id: lane.nodeId, label: names.get(lane.nodeId) ?? lane.nodeId, spans: lane.spans.slice(-SPANS_MAX), from: lane.from, attempts: lane.attempts };
  const child = (model.snapshot.value?.childRuns ?? [])[i - spans.count] as { runId: string; nodeId: string; status: string };
  const own = spans.lanes.get(child.nodeId);
  const from = own?.from ?? spans.from;
  const to = isFinal(child.status) ? own?.spans[own.spans.length - 1]?.to : undefined;
  return { id: child.nodeId, label: `↳ ${child.runId}`, child: child.runId, from, attempts: 1, spans: [{ from, to, kind: "work", outcome: child.status, attempt: 0, seq: -1, note: "" }] };
}

export function Timeline({ model, picked, pick }: { model: RunModel; picked: string | undefined; pick: (id: string | undefined) => void }) {
  model.version.value;
  const snapshot = model.snapshot.value;
  const time = useSignal(clock());
  const live = model.tail.value !== "ended" && !isFinal(model.fold.status);
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => (time.value = clock()), 250);
    return () => clearInterval(timer);
  }, [live]);
  const nodes = model.definition.value?.nodes;
  const names = useMemo(() => new Map((nodes ?? []).map((n) => [n.id, n.name ?? n.id])), [nodes]);
  const count = model.spans.count + (snapshot?.childRuns?.length ?? 0);
  if (count === 0) return <p class="empty">{T.state.none}</p>;
  const from = model.spans.from;
  const now = live ? Math.max(time.value, model.spans.to) : model.spans.to;
  const whole = Math.max(1, now - from);
  const left = (t: number): string => `${(100 * (t - from)) / whole}%`;
  const wide = (s: Span): string => `${Math.max(0, (100 * ((s.to ?? now) - s.from)) / whole)}%`;
  const head = (
    <div class="axis" aria-hidden="true">
      <span>{duration(whole)}</span>
      <div class="track">{Array.from({ length: TICKS + 1 }, (_, i) => <span key={i} style={{ left: `${(100 * i) / TICKS}%` }}>{i === 0 ? "0" : i === TICKS && live ? T.run.now : duration((whole * i) / TICKS)}</span>)}</div>
    </div>
  );
  const row = (i: number) => {
    const r = rowAt(i, model, names);
    const { spans } = r;
    const last = spans[spans.length - 1] as Span;
    const words = `${r.label}: ${T.node[last.outcome] ?? (T.status as Record<string, string>)[last.outcome] ?? last.outcome}, ${duration((last.to ?? now) - r.from)}${r.attempts > 1 ? `, ${T.run.attempts(r.attempts)}` : ""}`;
    const body = (
      <>
        <span class="clip" style={{ paddingRight: "8px" }}>{r.label}</span>
        <span class="track">
          {spans.map((s, k) => (
            <span key={k} class={`span k-${s.kind} c-${tone(s.outcome)} ${s.to === undefined && s.kind === "work" ? "pulse" : ""}`} style={{ left: left(s.from), width: wide(s) }}
              title={`${s.kind === "wait" ? T.run.waited : s.kind === "backoff" ? T.run.backoff : T.run.worked}: ${duration((s.to ?? now) - s.from)}${s.note ? ` · ${s.note}` : ""}`} />
          ))}
          {live && <span class="nowline" style={{ left: "100%" }} />}
        </span>
      </>
    );
    const style = { top: `${i * ROW}px` };
    return r.child ? (
      <a key={r.child} class="lane" data-i={i} style={style} href={href(["run", r.child])} aria-label={words}>{body}</a>
    ) : (
      <button type="button" key={r.id} class={`lane ${r.id === picked ? "picked" : ""}`} data-i={i} style={style} aria-label={words} aria-pressed={r.id === picked} onClick={() => pick(r.id === picked ? undefined : r.id)}>{body}</button>
    );
  };
  return <VList class="fill" count={count} height={ROW} row={row} label={T.run.tabs["timeline"] as string} head={head} />;
}
