// One run: what it is, what it asks, a picture of it and its details, side by side where there is room.
import { useEffect, useMemo, useState } from "preact/hooks";
import { definePage } from "../../app/page";
import { askPending, pending } from "../../app/pending";
import { href, refine, route } from "../../app/route";
import { api, may, now } from "../../app/session";
import { cli, curl } from "../../lib/commands";
import { cutAt } from "../../lib/cut";
import { at, textOf } from "../../lib/json";
import { ago, moment } from "../../lib/time";
import { isDocument } from "../../lib/plan";
import { visible } from "../../lib/visible";
import { isFinal, type Pending, type Snapshot } from "../../lib/types";
import { T, thousands } from "../../text";
import { CancelDialog } from "../../ui/cancel";
import { Commands, Copy, Loading, say, Tabs, Took, useAct, Wrong } from "../../ui/parts";
import { State } from "../../ui/state";
import { Question } from "../../ui/waiting";
import { Events } from "./events";
import { ForkDialog } from "./fork";
import { Graph } from "./graph";
import { RunModel } from "./model";
import { ChildrenPane, DataPane, ErrorWords, OutputPane } from "./panes";
import { StatePane } from "./state";
import { Timeline } from "./timeline";
import { PlanPane, WorldPane } from "./world";

const NODE_CHARS = 40; // of the name of the picked node
const PICTURES = ["graph", "timeline"];
const DETAILS = ["events", "state", "data", "output", "children"];
const named = (ids: string[]): [string, string][] => ids.map((id) => [id, T.run.tabs[id] as string]);

function Acts({ model, snapshot, fork }: { model: RunModel; snapshot: Snapshot; fork: () => void }) {
  const [cancelling, setCancelling] = useState(false);
  const act = useAct();
  model.version.value;
  const status = model.fold.status === "pending" ? snapshot.status : model.fold.status;
  const verb = status === "paused" ? "resume" : "pause";
  const path = model.path(`:${verb}`);
  const go = (): void => act.run(async () => (await api().post(path, {}), say(T.act.done(1, 0, T.act[verb]))));
  return (
    <div class="stack tight">
      <div class="acts">
        {may("runs:cancel") && !isFinal(status) && (
          <>
            <button type="button" class="btn" aria-disabled={act.busy} onClick={go}>{T.act[verb]}</button>
            <button type="button" class="btn bad" onClick={() => setCancelling(true)}>{T.act.cancel}</button>
          </>
        )}
        {may("runs:create", "runs:read") && <button type="button" class="btn" onClick={fork}>{T.act.fork}</button>}
      </div>
      {act.error && <Wrong error={act.error} />}
      {cancelling && <CancelDialog runs={[model.runId]} close={() => setCancelling(false)} done={() => {}} />}
    </div>
  );
}

function Head({ model, snapshot, fork }: { model: RunModel; snapshot: Snapshot; fork: () => void }) {
  model.version.value;
  const status = model.fold.status === "pending" ? snapshot.status : model.fold.status;
  const started = model.fold.startedAt ?? snapshot.startedAt;
  const ended = model.fold.completedAt ?? snapshot.completedAt;
  const tail = model.tail.value;
  return (
    <section class="card" aria-labelledby="run-title">
      <header class="apart">
        <div class="row wraps grow">
          <h1 id="run-title" class="wrap">{model.definition.value?.name ?? snapshot.workflowId}</h1>
          <State status={status} />
          <span class={`small ${tail === "failed" ? "c-bad" : tail === "silent" || tail === "waiting" ? "c-warn" : "soft"}`} role="status">{T.run.tail[tail]}</span>
        </div>
        <Acts model={model} snapshot={snapshot} fork={fork} />
      </header>
      <div class="body">
        <div class="row wraps" style={{ columnGap: "24px", rowGap: "4px" }}>
          <span class="row"><code class="wrap">{model.runId}</code><Copy text={model.runId} label={`${T.copy} ${model.runId}`} /></span>
          <span><span class="soft">{T.run.workflow} </span><a href={href([], { workflow: snapshot.workflowId })}>{snapshot.workflowId}</a></span>
          {started && <span title={moment(started)}><span class="soft">{T.run.started} </span>{T.run.ago(ago(now.value - Date.parse(started)))}</span>}
          {started && <span><span class="soft">{T.run.took} </span><Took from={started} to={ended} /></span>}
          {snapshot.parentRunId && <span><span class="soft">{T.run.parent} </span><a class="mono" href={href(["run", snapshot.parentRunId])}>{snapshot.parentRunId}</a></span>}
          {snapshot.fork && (
            <span><span class="soft">{T.run.forkOf} </span><a class="mono" href={href(["run", snapshot.fork.sourceRunId])}>{snapshot.fork.sourceRunId}</a>
              <span class="soft"> {T.run.forkFrom(snapshot.fork.fromSeq, snapshot.fork.mode)} · </span>
              <a href={href(["compare", snapshot.fork.sourceRunId, model.runId])}>{T.run.compare}</a></span>
          )}
          {(snapshot.tags ?? []).map((t) => <a class="tag clip" key={t} href={href([], { tag: t })}>{t}</a>)}
        </div>
      </div>
    </section>
  );
}

const SAME_MS = 50; // between the question and the wait for its answer

/** The questions of this run: from the list of all that wait, or from the snapshot where that is quicker. */
function Asks({ model, snapshot }: { model: RunModel; snapshot: Snapshot }) {
  model.version.value;
  if (isFinal(model.fold.status)) return null;
  const asked: Pending[] = (pending.value ?? []).filter((p) => p.runId === model.runId);
  const own = snapshot.interrupt;
  if (own && !asked.some((p) => p.interruptId === own.interruptId) && model.fold.nodes.get(own.nodeId)?.status === "suspended")
    asked.unshift({ ...own, runId: model.runId, workflowId: snapshot.workflowId, ageMs: 0 });
  const open = asked.filter((p) => {
    const node = model.fold.nodes.get(p.nodeId);
    const since = node?.since === undefined ? undefined : model.log.get(node.since);
    // The list of what waits is a little older than the log: what the node asked before is answered.
    return (node?.status ?? "suspended") === "suspended" && !(since && p.requestedAt && Date.parse(p.requestedAt) + SAME_MS < Date.parse(since.timestamp));
  });
  const child = open.length === 0 && model.fold.status.startsWith("waiting") ? snapshot.childRuns?.find((c) => c.status.startsWith("waiting")) : undefined;
  if (child) return <div class="notice warn row wraps"><span>{T.ask.child}</span><a class="mono" href={href(["run", child.runId])}>{child.runId}</a></div>;
  if (open.length === 0) return null;
  return (
    <section class="card" aria-labelledby="asks-title">
      <header><h2 id="asks-title">{T.ask.title}</h2></header>
      {open.map((p) => (
        <div class="ask" key={p.interruptId}>
          <div class="row wraps"><strong>{T.kind[p.kind] ?? p.kind}</strong><span class="soft wrap">{p.nodeId}</span>{p.expiresAt && <span class="c-warn">{T.ask.until(moment(p.expiresAt))}</span>}</div>
          <Question p={p} />
        </div>
      ))}
    </section>
  );
}

function Run({ id }: { id: string }) {
  const model = useMemo(() => new RunModel(id), [id]);
  const [forking, setForking] = useState<number | null>(null);
  useEffect(() => {
    askPending();
    return () => model.end();
  }, [model]);
  const q = route.value.query;
  const planned = isDocument(model.definition.value); // then it has a plan and a world, too
  const pictures = planned ? [...PICTURES, "plan"] : PICTURES;
  const details = planned ? [...DETAILS, "world"] : DETAILS;
  const picture = pictures.includes(q["picture"] ?? "") ? (q["picture"] as string) : "graph";
  const tab = details.includes(q["tab"] ?? "") ? (q["tab"] as string) : "events";
  const node = q["node"];
  const pick = (to: string | undefined): void => refine({ node: to });
  const snapshot = model.snapshot.value;
  const error = model.error.value;
  useEffect(() => {
    if (snapshot) document.title = `${visible(snapshot.workflowId)} · ${T.status[snapshot.status]} · ${T.product}`;
  }, [snapshot?.status]);
  if (!snapshot) {
    if (!error || error.away) return <Loading />;
    return error.status === 404 || error.status === 410 ? <div class="notice warn">{error.status === 410 ? T.run.expired : T.run.missing}</div> : <Wrong error={error} />;
  }
  return (
    <>
      <Head model={model} snapshot={snapshot} fork={() => setForking(0)} />
      {error && model.tail.value === "failed" && <Wrong error={error} />}
      {model.long && <div class="notice small">{T.run.long(thousands(model.log.length))}</div>}
      <Failure model={model} snapshot={snapshot} />
      <Asks model={model} snapshot={snapshot} />
      <div class="panes">
        <section class="card pane" aria-label={T.run.picture}>
          <header class="apart">
            <Tabs name={T.run.picture} tabs={named(pictures)} picked={picture} pick={(id) => refine({ picture: id })} panel="picture" />
            {node !== undefined && <button type="button" class="btn tiny" title={node} onClick={() => pick(undefined)}>{`${node.slice(0, cutAt(node, NODE_CHARS))}${node.length > NODE_CHARS ? "…" : ""} ×`}<span class="sr">{T.run.all}</span></button>}
          </header>
          <div class="body flush" id="picture" role="tabpanel" aria-labelledby={`picture-${picture}`}>
            {picture === "graph" ? <Graph model={model} picked={node} pick={pick} /> : picture === "plan" ? <PlanPane model={model} picked={node} pick={pick} /> : <Timeline model={model} picked={node} pick={pick} />}
          </div>
        </section>
        <section class="card pane" aria-label={T.run.details}>
          <header><Tabs name={T.run.details} tabs={named(details)} picked={tab} pick={(id) => refine({ tab: id })} panel="details" /></header>
          <div class="body flush" id="details" role="tabpanel" aria-labelledby={`details-${tab}`}>
            {tab === "events" ? <Events model={model} node={node} fork={setForking} /> : tab === "state" ? <StatePane model={model} /> : tab === "world" ? <WorldPane model={model} />
              : tab === "data" ? <DataPane model={model} node={node} /> : tab === "output" ? <OutputPane model={model} node={node} /> : <ChildrenPane model={model} />}
          </div>
        </section>
      </div>
      <Commands lines={[
        { name: "curl", text: curl("GET", model.path("/events?streamMode=debug")).replace("curl -s", "curl -sN") },
        { name: "CLI", text: cli("tail", id) },
      ]} />
      {forking !== null && <ForkDialog runId={id} from={forking} last={model.log.length - 1} close={() => setForking(null)} />}
    </>
  );
}

function Failure({ model, snapshot }: { model: RunModel; snapshot: Snapshot }) {
  model.version.value;
  const error = model.fold.error ?? snapshot.error;
  if (error === undefined) return null;
  const last = model.log.get(model.log.length - 1);
  return <ErrorWords error={error} node={textOf(at(last?.payload, "failedNodeId"))} />;
}

export default definePage({
  route: "run", title: T.run.title, scopes: ["runs:read"],
  view: ({ path }) => (path[0] === undefined ? <div class="empty">{T.pageGone}</div> : <Run key={path[0]} id={path[0]} />),
});
