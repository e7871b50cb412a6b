// A run and its fork side by side, with the first difference marked.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { definePage } from "../../app/page";
import { href, refine, route } from "../../app/route";
import { Pairs, type Pair } from "../../lib/compare";
import { PAGE } from "../../lib/log";
import { markOf, summary } from "../../lib/summary";
import type { Event } from "../../lib/types";
import { T } from "../../text";
import { Loading, Parts, Wrong } from "../../ui/parts";
import { Mark, State, tone } from "../../ui/state";
import { Tree } from "../../ui/tree";
import { VList, type ListHandle } from "../../ui/vlist";
import { RunModel } from "../run/model";

const ROW = 28;

function useModel(id: string, each: (e: Event) => void): RunModel {
  const model = useMemo(() => new RunModel(id, each), [id]);
  useEffect(() => () => model.end(), [model]);
  return model;
}

function Title({ name, model }: { name: string; model: RunModel }) {
  model.version.value;
  const status = model.fold.status;
  return (
    <div class="stack tight grow">
      <h2>{name}</h2>
      <span class="row wraps"><State status={status} /><a class="mono wrap" href={href(["run", model.runId])}>{model.runId}</a></span>
    </div>
  );
}

/** An event that is not in memory any more is asked for. */
function eventOf(model: RunModel, seq: number | undefined): Event | undefined {
  const e = seq === undefined ? undefined : model.log.get(seq);
  if (seq !== undefined && !e) model.want(Math.floor(seq / PAGE));
  return e;
}

function Side({ model, seq }: { model: RunModel; seq: number | undefined }) {
  const e = eventOf(model, seq);
  if (!e) return <div><span class="num soft">{seq ?? ""}</span><span /><span class="soft">{seq === undefined ? T.compare.none : T.events.loading}</span></div>;
  const mark = markOf(e.type);
  return (
    <div>
      <span class="num soft">{e.sequence}</span>
      {mark === "none" ? <span /> : <Mark status={mark} class={`c-${tone(mark)}`} />}
      <span class="clip">{e.type}{e.nodeId ? <span class="soft"> {e.nodeId}</span> : null}</span>
      <span class="clip soft opt"><Parts of={summary(e)} /></span>
    </div>
  );
}

function Compared({ left, right }: { left: string; right: string }) {
  const pairs = useMemo(() => new Pairs(), [left, right]);
  const a = useModel(left, (e) => pairs.add("left", e));
  const b = useModel(right, (e) => pairs.add("right", e));
  const handle = useRef<ListHandle | null>(null);
  a.version.value;
  b.version.value;
  const at = pairs.first;
  // What the slower of two that still run has not done yet is no difference.
  const open = (at >= 0 && ((pairs.at(at)?.left === undefined && a.tail.value !== "ended") || (pairs.at(at)?.right === undefined && b.tail.value !== "ended")));
  const first = open ? -1 : at;
  const error = a.error.value ?? b.error.value;
  const picked = Number(route.value.query["pair"] ?? -1);
  if (error && !error.away) return <Wrong error={error} />;
  if (!a.snapshot.value || !b.snapshot.value) return <Loading />;
  const chosen = pairs.at(picked);
  return (
    <section class="card" aria-labelledby="compare-title">
      <header class="apart">
        <h1 id="compare-title">{T.compare.title}</h1>
        <span class="row wraps" role="status">
          {first < 0 ? <span class="soft">{T.compare.same}</span> : <><span class="c-warn">{T.compare.first(first + 1)}</span>
            <button type="button" class="btn" onClick={() => (refine({ pair: first }), handle.current?.show(first, true))}>{T.compare.toFirst}</button></>}
        </span>
      </header>
      <div class="body row" style={{ borderBottom: "1px solid var(--line)", alignItems: "start" }}>
        <Title name={T.compare.source} model={a} /><Title name={T.compare.fork} model={b} />
      </div>
      <div style={{ height: "min(60vh, 640px)", display: "grid" }}>
        <VList count={pairs.length} height={ROW} label={T.compare.title} handle={(h) => (handle.current = h)} row={(i) => {
          const p = pairs.at(i) as Pair;
          const kind = i === first ? "first" : first >= 0 && i > first && !p.same ? "other" : "";
          return (
            <button type="button" key={i} class={`diff plain ${kind}`} data-i={i} style={{ top: `${i * ROW}px` }} aria-pressed={i === picked} onClick={() => refine({ pair: i === picked ? undefined : i })}>
              <Side model={a} seq={p.left} /><Side model={b} seq={p.right} />
            </button>
          );
        }} />
      </div>
      {chosen && (
        <div class="columns two body" style={{ borderTop: "1px solid var(--line)" }}>
          <Tree value={eventOf(a, chosen.left)?.payload} label={T.compare.source} /><Tree value={eventOf(b, chosen.right)?.payload} label={T.compare.fork} />
        </div>
      )}
      <footer class="small">{T.compare.aside}{(a.long || b.long) && ` ${T.compare.long}`}</footer>
    </section>
  );
}

export default definePage({
  route: "compare", title: T.compare.title, scopes: ["runs:read"],
  view: ({ path }) => (path[0] !== undefined && path[1] !== undefined ? <Compared key={path.join()} left={path[0]} right={path[1]} /> : <div class="empty">{T.pageGone}</div>),
});
