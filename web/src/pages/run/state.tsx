// Variables, channels and nodes after any event: a slider that folds the log again up to there.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { refine, route } from "../../app/route";
import { Fold } from "../../lib/fold";
import { at, equal, type Json, type Obj } from "../../lib/json";
import type { Snapshot } from "../../lib/types";
import { PAGE } from "../../lib/log";
import { T, thousands } from "../../text";
import { useSome } from "../../ui/long";
import { State } from "../../ui/state";
import { Tree } from "../../ui/tree";
import { stateAt } from "./history";
import type { RunModel } from "./model";

const SHOWN = 500; // nodes, variables: at once

/** A log that began in the middle can be read from its beginning. */
export function ReadAll({ model }: { model: RunModel }) {
  model.version.value;
  const done = model.reading.value;
  if (done >= 0) return <p role="status">{T.state.reading(thousands(done), thousands(model.log.length))}</p>;
  return <button type="button" class="btn" onClick={() => void model.readAll()}>{T.state.read(thousands(model.log.length))}</button>;
}

export function StatePane({ model }: { model: RunModel }) {
  return (
    <Past model={model}>
      {(fold, before) => <Shown now={model.history.whole ? fold.snapshot() : (model.snapshot.value as Snapshot)} before={before?.snapshot()} />}
    </Past>
  );
}

/** The event that the page looks back to; undefined: the latest. */
export function lookedAt(model: RunModel): number | undefined {
  const asked = route.value.query["at"];
  if (asked === undefined) return undefined;
  const seq = Math.max(0, Number(asked) || 0);
  return seq < model.log.length - 1 ? seq : undefined;
}

/** A slider over the events, and below it what was so after the one that it stands at. */
export function Past({ model, children }: { model: RunModel; children: (now: Fold, before: Fold | undefined) => JSX.Element }) {
  model.version.value;
  const last = model.log.length - 1;
  const asked = lookedAt(model);
  const past = asked !== undefined;
  const at = asked ?? last;
  const start = useMemo(() => new Fold(model.definition.value ?? null), [model.definition.value]);
  const found = past ? stateAt(model.history, model.log, start, at) : model.fold;
  if (typeof found === "number") {
    model.want(Math.floor(found / PAGE));
  }
  const fold = typeof found === "number" ? null : found;
  const settled = past || model.tail.value === "ended"; // else it changes under the reader's eyes
  const before = fold && settled && model.history.whole && at > 0 ? stateAt(model.history, model.log, start, at - 1) : null;
  if (last < 0) return <p class="empty">{T.state.none}</p>;
  const set = (seq: number | undefined): void => refine({ at: seq === undefined || seq >= last ? undefined : Math.max(0, seq) });
  const event = model.log.get(at);
  return (
    <div class="stack loose" style={{ padding: "16px" }}>
      {model.history.whole ? (
        <div class="stack tight">
          <div class="slider">
            <label class="label" for="state-at">{T.state.at}</label>
            <input id="state-at" type="range" min={0} max={last} value={at} aria-valuetext={`${at} ${event?.type ?? ""}`} onInput={(e) => set(Number(e.currentTarget.value))} />
            <output class="num" for="state-at"><strong>{thousands(at)}</strong> <span class="soft">{T.state.of(thousands(last))}</span></output>
            <span class="row">
              <button type="button" class="btn tiny" aria-label={T.state.before} title={T.state.before} disabled={at === 0} onClick={() => set(at - 1)}>‹</button>
              <button type="button" class="btn tiny" aria-label={T.state.after} title={T.state.after} disabled={at === last} onClick={() => set(at + 1)}>›</button>
              <button type="button" class="btn tiny" disabled={!past} onClick={() => set(undefined)}>{T.state.latest}</button>
            </span>
          </div>
          <p class="soft small wrap">{event ? `${event.type} ${event.nodeId ?? ""}` : ""}&nbsp;</p>
        </div>
      ) : <ReadAll model={model} />}
      {fold ? children(fold, before instanceof Fold ? before : undefined) : <p class="empty">{T.loading}</p>}
    </div>
  );
}

type Part = Pick<Snapshot, "status" | "nodeStates" | "variables"> & Partial<Snapshot>;

function Shown({ now, before }: { now: Part; before: Part | undefined }) {
  const nodes = Object.entries(now.nodeStates);
  const some = useSome(nodes.length, SHOWN);
  return (
    <>
      <div class="row"><State status={now.status} />{now.currentNodeId && <span class="soft clip">{now.currentNodeId}</span>}</div>
      <Values title={T.state.variables} now={now.variables} before={before?.variables} />
      {(now.channels || before?.channels) && <Values title={T.state.channels} now={now.channels ?? {}} before={before && (before.channels ?? {})} />}
      <section class="stack tight" aria-label={T.state.nodes}>
        <h2 class="minor">{T.state.nodes}</h2>
        {nodes.length === 0 && <p class="soft">{T.state.none}</p>}
        <div class="row wraps">
          {nodes.slice(0, some.shown).map(([id, n]) => (
            <span key={id} class={`row ${before && !equal(n as Json, at(before.nodeStates as Obj, id)) ? "changed" : ""}`}><State status={n.status} /><span class="clip" style={{ maxWidth: "180px" }}>{id}</span></span>
          ))}
        </div>
        {some.more}
      </section>
    </>
  );
}

function Values({ title, now, before }: { title: string; now: Obj; before: Obj | undefined }) {
  const names = Object.keys(now);
  const some = useSome(names.length, SHOWN);
  return (
    <section class="stack tight" aria-label={title}>
      <h2 class="minor">{title}</h2>
      {names.length === 0 && <p class="soft">{T.state.none}</p>}
      <dl class="facts">
        {names.slice(0, some.shown).map((name) => {
          const changed = before !== undefined && !equal(now[name], at(before, name));
          return [
            <dt key={`${name} `} class="wrap">{name}</dt>,
            <dd key={name} class={changed ? "changed" : ""}><Tree value={now[name]} label={name} open={1} />{changed && <span class="sr">{T.state.changed}</span>}</dd>,
          ];
        })}
      </dl>
      {some.more}
    </section>
  );
}
