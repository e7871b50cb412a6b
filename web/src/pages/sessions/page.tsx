// Sessions of agents that are led through a workflow (docs/workrail.md): which there are, and of one its steps and what was reported.
import { useState } from "preact/hooks";
import { offers } from "../../app/host";
import { definePage } from "../../app/page";
import { href, refine, route } from "../../app/route";
import { api, now } from "../../app/session";
import { useSource } from "../../app/source";
import { curl } from "../../lib/commands";
import type { Json, Obj } from "../../lib/json";
import { ago, moment } from "../../lib/time";
import type { Status } from "../../lib/types";
import { T, thousands } from "../../text";
import { Long } from "../../ui/long";
import { Commands, FieldBox, Loading, Wrong } from "../../ui/parts";
import { Mark, State, tone } from "../../ui/state";
import { Tree } from "../../ui/tree";

const LIST = "/v1/x-workrail/sessions";
const EVERY_MS = 10000; // the host reads whole logs for it
const PAGE = 50;
const PAGES_MAX = 20; // that are looked at again and again
const NODES_MAX = 500; // shown at once
const STATUSES = ["in_progress", "blocked", "complete", "complete_with_gaps"];
const LIKE: Record<string, string> = { in_progress: "running", blocked: "suspended", complete: "completed", complete_with_gaps: "completed" };

interface Row {
  sessionId: string;
  sessionTitle: string;
  workflowId?: string;
  runId?: string;
  status?: string;
  health: string;
  nodeCount?: number;
  hasUnresolvedGaps?: boolean;
  recapSnippet: string;
  gitBranch?: string;
  lastModifiedMs: number;
}
interface Node {
  nodeId: string;
  nodeKind: string;
  parentNodeId: string | null;
  isPreferredTip: boolean;
  stepLabel?: string;
  hasRecap: boolean;
  hasGaps: boolean;
  hasFailedValidations: boolean;
}
interface Session {
  sessionId: string;
  health: string;
  salvage: boolean;
  runs: { runId: string; workflowId: string; status: string; nodes: Node[] }[];
  shownBy: { runId: string; status: Status }[];
}

function Standing({ status }: { status: string | undefined }) {
  if (!status) return <span class="soft">–</span>;
  const like = LIKE[status] ?? "none";
  return <span class={`state t-${status === "complete_with_gaps" ? "warn" : tone(like)}`}><Mark status={like} />{T.sessions.status[status] ?? status}</span>;
}

function Health({ health }: { health: string }) {
  return health === "healthy" ? null : <span class="state t-bad"><Mark status="failed" />{T.sessions.health[health] ?? health}</span>;
}

const Changed = ({ ms }: { ms: number }) => <time class="num" dateTime={new Date(ms).toISOString()} title={moment(new Date(ms).toISOString())}>{ago(now.value - ms)}</time>;

function Sessions() {
  const status = STATUSES.includes(route.value.query["status"] ?? "") ? route.value.query["status"] : undefined;
  const [pages, setPages] = useState(1);
  const source = useSource(`sessions ${status ?? ""} ${pages}`, EVERY_MS, async (signal) => {
    const rows: Row[] = [];
    let below: string | undefined;
    for (let i = 0; i < pages; i++) {
      const page = await api().get<{ sessions: Row[]; nextBelow?: string }>(LIST, { limit: PAGE, status, below }, signal);
      rows.push(...page.sessions);
      if ((below = page.nextBelow) === undefined) break;
    }
    return { rows, more: below !== undefined };
  });
  const got = source.data.value;
  return (
    <section class="card" aria-labelledby="sessions-title">
      <header class="apart">
        <div class="stack tight grow"><h1 id="sessions-title">{T.sessions.title}</h1><span class="soft small">{T.sessions.lead}</span></div>
        <FieldBox label={T.runs.status}>
          {({ id }) => (
            <select id={id} class="in" value={status ?? ""} onChange={(e) => (setPages(1), refine({ status: e.currentTarget.value }))}>
              <option value="">{T.runs.all}</option>
              {STATUSES.map((s) => <option key={s} value={s}>{T.sessions.status[s]}</option>)}
            </select>
          )}
        </FieldBox>
      </header>
      {source.error.value && !source.error.value.away && <Wrong error={source.error.value} again={source.again} />}
      {!got ? !source.error.value && <Loading /> : got.rows.length === 0 ? <p class="empty">{status ? T.sessions.none : T.sessions.noneYet}</p> : (
        <div style={{ overflowX: "auto" }} tabIndex={0} role="group" aria-labelledby="sessions-title">
          <table class="table cards sessions">
            <thead><tr><th style={{ width: "38%" }}>{T.sessions.session}</th><th>{T.runs.status}</th><th>{T.sessions.workflow}</th><th style={{ width: "70px" }} class="right">{T.sessions.steps}</th><th style={{ width: "90px" }}>{T.sessions.changed}</th><th style={{ width: "70px" }}>{T.runs.id}</th></tr></thead>
            <tbody>
              {got.rows.map((s) => (
                <tr key={s.sessionId}>
                  <td title={s.recapSnippet}><a href={href(["sessions", s.sessionId])}>{s.sessionTitle || s.sessionId}</a>{s.gitBranch && <> <span class="tag clip">{s.gitBranch}</span></>}<div class="soft small clip">{s.recapSnippet || s.sessionId}</div></td>
                  <td><Standing status={s.status} /> <Health health={s.health} /></td>
                  <td title={s.workflowId}>{s.workflowId}</td>
                  <td class="right num dur">{thousands(s.nodeCount ?? 0)}</td>
                  <td><Changed ms={s.lastModifiedMs} /></td>
                  <td>{s.runId && <a href={href(["run", s.runId])} aria-label={T.runs.open(s.runId)}>{T.runs.id}</a>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {got?.more && pages < PAGES_MAX && <footer><button type="button" class="btn" onClick={() => setPages(pages + 1)}>{T.more}</button></footer>}
    </section>
  );
}

function StepLine({ node, on, depth }: { node: Node; on: boolean; depth: number }) {
  const status = node.isPreferredTip ? "running" : node.nodeKind === "blocked_attempt" ? "failed" : node.hasRecap ? "completed" : "none";
  return (
    <button type="button" class="choice" style={{ paddingLeft: `${8 + 12 * Math.min(depth, 8)}px` }} aria-pressed={on} onClick={() => refine({ node: on ? undefined : node.nodeId })}>
      <span class="row clip"><Mark status={status} class={`c-${tone(status)}`} /><span class="clip">{node.stepLabel || node.nodeId}</span></span>
      <span class="row">
        {node.nodeKind !== "step" && <span class="tag">{T.sessions.kind[node.nodeKind] ?? node.nodeKind}</span>}
        {node.hasGaps && <span class="tag">{T.sessions.gaps}</span>}
        {node.isPreferredTip && <span class="tag">{T.sessions.tip}</span>}
      </span>
    </button>
  );
}

/** How many forks lie before each node: the nodes of one branch stand below each other. */
function depths(nodes: Node[]): Map<string, number> {
  const children = new Map<string, number>();
  const out = new Map<string, number>();
  for (const n of nodes) { // parents come before their children
    const parent = n.parentNodeId ?? "";
    const nth = children.get(parent) ?? 0;
    children.set(parent, nth + 1);
    out.set(n.nodeId, (out.get(parent) ?? 0) + (nth > 0 && parent !== "" ? 1 : 0));
  }
  return out;
}

function Step({ session, id }: { session: string; id: string }) {
  const path = `${LIST}/${encodeURIComponent(session)}/nodes/${encodeURIComponent(id)}`;
  const source = useSource(path, EVERY_MS, (signal) => api().get<Obj>(path, {}, signal));
  const node = source.data.value;
  if (!node) return source.error.value ? <Wrong error={source.error.value} again={source.again} /> : <Loading />;
  const recap = typeof node["recapMarkdown"] === "string" ? node["recapMarkdown"] : "";
  const parts = Object.entries(T.sessions.parts).filter(([name]) => Array.isArray(node[name]) && (node[name] as Json[]).length > 0);
  return (
    <div class="stack loose">
      <section class="stack tight" aria-label={T.sessions.recap}>
        <h2 class="minor">{T.sessions.recap}</h2>
        {recap ? <div class="stream" tabIndex={0} role="group" aria-label={T.sessions.recap}><Long text={recap} /></div> : <p class="soft">{T.sessions.noRecap}</p>}
      </section>
      {parts.map(([name, title]) => <section class="stack tight" key={name} aria-label={title}><h2 class="minor">{title}</h2><Tree value={node[name]} label={title} /></section>)}
    </div>
  );
}

function One({ id }: { id: string }) {
  const path = `${LIST}/${encodeURIComponent(id)}`;
  const source = useSource(path, EVERY_MS, (signal) => api().get<Session>(path, {}, signal));
  const s = source.data.value;
  const picked = route.value.query["node"];
  if (!s) return source.error.value && !source.error.value.away ? <Wrong error={source.error.value} again={source.again} /> : <Loading />;
  return (
    <>
      <section class="card" aria-labelledby="session-title">
        <header><h1 id="session-title" class="wrap">{T.sessions.session}</h1>{s.runs[0] && <Standing status={s.runs[0].status} />}<Health health={s.health} /></header>
        <div class="body stack tight">
          <div class="row wraps" style={{ columnGap: "24px" }}>
            <code class="wrap">{s.sessionId}</code>
            {s.runs[0] && <span><span class="soft">{T.sessions.workflow} </span>{s.runs[0].workflowId}</span>}
            {s.shownBy.map((r) => <span key={r.runId} class="row wraps"><span class="soft">{T.sessions.shownBy}</span><a class="mono wrap" href={href(["run", r.runId])}>{r.runId}</a><State status={r.status} /></span>)}
          </div>
          {s.salvage && <p class="notice warn">{T.sessions.salvage}</p>}
        </div>
      </section>
      <div class="columns aside">
        <section class="card" aria-labelledby="steps-title">
          <header><h2 id="steps-title">{T.sessions.steps}</h2></header>
          {s.runs.map((run) => {
            const deep = depths(run.nodes);
            return (
              <div key={run.runId}>
                {s.runs.length > 1 && <h3 class="minor wrap" style={{ padding: "8px 16px 0" }}>{T.sessions.branch(run.runId)}</h3>}
                <ol class="choices" style={{ maxHeight: "none" }}>{run.nodes.slice(-NODES_MAX).map((n) => <li key={n.nodeId}><StepLine node={n} on={n.nodeId === picked} depth={deep.get(n.nodeId) ?? 0} /></li>)}</ol>
              </div>
            );
          })}
        </section>
        <section class="card" aria-label={T.sessions.step}>
          <div class="body">{picked ? <Step key={picked} session={id} id={picked} /> : <p class="empty">{T.sessions.pick}</p>}</div>
        </section>
      </div>
      <Commands lines={[{ name: "curl", text: curl("GET", path) }]} />
    </>
  );
}

export default definePage({
  route: "sessions", title: T.sessions.title, order: 3.6, scopes: ["runs:read"], offered: () => offers("x-workrail"),
  view: ({ path }) => (path[0] === undefined ? <Sessions /> : <One key={path[0]} id={path[0]} />),
});
