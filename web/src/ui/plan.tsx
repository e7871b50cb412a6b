// The plan of a document as a picture: a row for each performer, below it one for each of its tasks; of a run, also what was done when.
import { useState } from "preact/hooks";
import { duration } from "../lib/time";
import { manyDays, performers, planSpan, planTime, type Entry, type Plan, type Span } from "../lib/plan";
import { T } from "../text";
import { tone } from "./state";
import { VList } from "./vlist";

const ROW = 30;
const TICKS = 4;
const WIDE = 1000; // units of a track
const BARS_MAX = 1000; // of one performer that are drawn

export interface Progress {
  status: string;
  from?: number | undefined; // when it really began and ended, in virtual time
  to?: number | undefined;
}
interface Props {
  plan: Plan;
  /** Of a run: how far a task is. */
  progress?: (nodeId: string) => Progress;
  now?: number | undefined;
  picked?: string | undefined;
  pick?: (nodeId: string | undefined) => void;
}
interface Row {
  performer: string;
  tasks: Entry[];
  task?: Entry;
}

export function PlanPicture({ plan, progress, now, picked, pick }: Props) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  if (plan.entries.length === 0) return <p class="empty">{T.documents.noTasks}</p>;
  const whole = planSpan(plan);
  const states = new Map(progress ? plan.entries.map((e) => [e.nodeId, progress(e.nodeId)]) : []);
  for (const s of states.values()) whole.to = Math.max(whole.to, s.to ?? 0, s.from ?? 0); // tasks slip
  if (now !== undefined) whole.to = Math.max(whole.to, now);
  const days = manyDays(whole);
  const time = (ms: number): string => planTime(ms, plan, days);
  const rows: Row[] = performers(plan).flatMap((p): Row[] => [{ performer: p.id, tasks: p.tasks }, ...(closed.has(p.id) ? [] : p.tasks.map((task) => ({ performer: p.id, tasks: p.tasks, task })))]);
  const fold = (id: string): void => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    setClosed(next);
  };
  const words = (e: Entry): string => {
    const state = states.get(e.nodeId);
    const after = [...e.all, ...e.any].slice(0, 5).map((i) => plan.entries[i]?.id ?? "").filter(Boolean);
    return [`${e.id}, ${time(e.startMs)}–${time(e.endMs)}`, after.length > 0 && T.documents.after(after.join(", ")), e.human && T.documents.person, state && (T.node[state.status] ?? state.status),
      state?.from !== undefined && state.from > e.startMs && T.documents.late(duration(state.from - e.startMs))].filter(Boolean).join(", ");
  };
  const row = (i: number) => {
    const { performer, tasks, task } = rows[i] as Row;
    const style = { top: `${i * ROW}px` };
    const track = <Track tasks={task ? [task] : tasks} states={states} whole={whole} now={now} />;
    if (!task) {
      const last = tasks[tasks.length - 1] as Entry;
      return (
        <button type="button" key={`p ${performer}`} class="lane" data-i={i} style={style} aria-expanded={!closed.has(performer)} onClick={() => fold(performer)}
          aria-label={T.documents.performer(performer, tasks.length, `${time((tasks[0] as Entry).startMs)}–${time(last.endMs)}`)}>
          <strong class="clip" style={{ paddingRight: "8px" }}><span aria-hidden="true">{closed.has(performer) ? "▸ " : "▾ "}</span>{performer}</strong>{track}
        </button>
      );
    }
    const on = picked === task.nodeId;
    return (
      <button type="button" key={task.nodeId} class={`lane ${on ? "picked" : ""}`} data-i={i} style={style} aria-label={words(task)} aria-pressed={on} title={words(task)}
        onClick={() => pick?.(on ? undefined : task.nodeId)}>
        <span class="clip" style={{ padding: "0 8px 0 16px" }}>{task.id}</span>{track}
      </button>
    );
  };
  const head = (
    <div class="axis" aria-hidden="true">
      <span>{duration(whole.to - whole.from)}</span>
      <div class="track">{Array.from({ length: TICKS + 1 }, (_, i) => <span key={i} style={{ left: `${(100 * i) / TICKS}%` }}>{time(Math.round(whole.from + ((whole.to - whole.from) * i) / TICKS))}</span>)}</div>
    </div>
  );
  return <VList class="fill" count={rows.length} height={ROW} row={row} label={T.documents.plan} head={head} />;
}

/** Planned: a frame; done: filled. */
function Track({ tasks, states, whole, now }: { tasks: Entry[]; states: Map<string, Progress>; whole: Span; now: number | undefined }) {
  const x = (ms: number): number => (WIDE * (ms - whole.from)) / (whole.to - whole.from);
  return (
    <svg class="track plan" viewBox={`0 0 ${WIDE} 16`} preserveAspectRatio="none" aria-hidden="true">
      {tasks.slice(0, BARS_MAX).map((e) => {
        const state = states.get(e.nodeId);
        const to = state?.from === undefined ? undefined : (state.to ?? Math.max(state.from, now ?? state.from));
        return (
          <g key={e.nodeId} class={`c-${state ? tone(state.status) : "busy"}`}>
            <rect class={state ? "planned" : "done"} x={x(e.startMs)} y={2} width={Math.max(2, x(e.endMs) - x(e.startMs))} height={12} />
            {state?.from !== undefined && to !== undefined && <rect class="done" x={x(state.from)} y={4} width={Math.max(2, x(to) - x(state.from))} height={8} />}
          </g>
        );
      })}
      {now !== undefined && <line class="now" x1={x(now)} x2={x(now)} y1={0} y2={16} />}
    </svg>
  );
}
