// A run of a WorkSpec document: its plan with what was done when, and the world after any event.
import { useMemo } from "preact/hooks";
import { api, now as clock } from "../../app/session";
import { useSource } from "../../app/source";
import { Fold } from "../../lib/fold";
import { at, equal, numberOf } from "../../lib/json";
import { PAGE } from "../../lib/log";
import { manyDays, planPath, planSpan, planTime, things, type Plan, type Thing } from "../../lib/plan";
import { isFinal } from "../../lib/types";
import { T } from "../../text";
import { useSome } from "../../ui/long";
import { Loading } from "../../ui/parts";
import { PlanPicture, type Progress } from "../../ui/plan";
import { Tree } from "../../ui/tree";
import { stateAt } from "./history";
import type { RunModel } from "./model";
import { lookedAt, Past } from "./state";

const THINGS_MAX = 500; // shown at once

/** The plan of the stored document while it is the one that the run has (WS-95); null: it is not. */
function usePlan(model: RunModel): Plan | null | undefined {
  const id = model.definition.value?.id ?? "";
  const source = useSource(`plan ${id}`, 0, (signal) => api().get<Plan>(planPath(id), {}, signal));
  model.version.value;
  const own = model.tasks.planSha256 || at(model.definition.value?.metadata, "customProperties", "workspec", "planSha256");
  if (source.error.value && !source.error.value.away) return null;
  const plan = source.data.value;
  return plan && plan.planSha256 !== own ? null : plan;
}

export function PlanPane({ model, picked, pick }: { model: RunModel; picked: string | undefined; pick: (id: string | undefined) => void }) {
  const stored = usePlan(model);
  model.version.value;
  const start = useMemo(() => new Fold(model.definition.value ?? null), [model.definition.value]);
  if (stored === undefined) return <Loading />;
  const past = model.history.whole ? lookedAt(model) : undefined;
  const seq = past ?? model.log.length - 1;
  const fold = past === undefined ? model.fold : stateAt(model.history, model.log, start, past);
  if (typeof fold === "number") {
    model.want(Math.floor(fold / PAGE));
    return <Loading />;
  }
  const plan = stored ?? model.tasks.plan(numberOf(at(model.log.get(0)?.payload, "workspec", "originMs")) ?? 0);
  const goes = past === undefined && !isFinal(fold.status);
  const now = goes ? model.tasks.live(clock.value) : model.tasks.now(seq);
  const progress = (id: string): Progress => ({ status: fold.nodeState(id)?.status ?? "none", ...model.tasks.done(id, seq) });
  return (
    <div style={{ display: "grid", gridTemplateRows: "auto minmax(0, 1fr)", height: "100%" }}>
      <p class="small soft" style={{ padding: "8px 16px" }}>
        {now !== undefined && <span class="num">{T.documents.virtual(planTime(now, plan, manyDays(planSpan(plan))))}</span>}
        {stored === null && <span> {T.documents.other}</span>}&nbsp;
      </p>
      <PlanPicture plan={plan} progress={progress} now={now} picked={picked} pick={pick} />
    </div>
  );
}

export function WorldPane({ model }: { model: RunModel }) {
  return <Past model={model}>{(fold, before) => <World now={things(fold.variables)} before={before && things(before.variables)} />}</Past>;
}

function World({ now, before }: { now: Map<string, Thing>; before: Map<string, Thing> | undefined }) {
  const some = useSome(now.size, THINGS_MAX);
  if (now.size === 0) return <p class="soft">{T.state.none}</p>;
  return (
    <ul class="things" aria-label={T.documents.things}>
      {[...now.values()].slice(0, some.shown).map((thing) => {
        const old = before?.get(thing.id);
        const fresh = before !== undefined && (!old || old.gone !== thing.gone);
        return (
          <li key={thing.id} class={`thing stack tight ${fresh ? "changed" : ""}`}>
            <div class="row wraps">
              <h2 class="minor wrap">{thing.name || thing.id}</h2>{thing.name && <code class="soft wrap">{thing.id}</code>}
              {thing.type && <span class="tag">{thing.type}</span>}{thing.gone && <span class="tag">{T.documents.gone}</span>}{fresh && <span class="sr">{T.state.changed}</span>}
            </div>
            {thing.properties.size > 0 && (
              <dl class="facts">
                {[...thing.properties].map(([name, value]) => {
                  const changed = before !== undefined && !fresh && !equal(value, old?.properties.get(name));
                  return [
                    <dt key={`${name} `} class="wrap">{name}</dt>,
                    <dd key={name} class={changed ? "changed" : ""}><Tree value={value} label={`${thing.id}.${name}`} open={1} />{changed && <span class="sr">{T.state.changed}</span>}</dd>,
                  ];
                })}
              </dl>
            )}
          </li>
        );
      })}
      {some.more && <li>{some.more}</li>}
    </ul>
  );
}
