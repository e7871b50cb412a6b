// The host as a key sees it: for operators all of it in figures; itself, workers and their tasks, webhooks, packs.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { definePage } from "../../app/page";
import { href } from "../../app/route";
import { api, caller, may } from "../../app/session";
import { useSource } from "../../app/source";
import { at, isObj, print, textOf, type Json, type Obj } from "../../lib/json";
import { T, thousands } from "../../text";
import { Age, Loading, Wrong } from "../../ui/parts";
import { Tree } from "../../ui/tree";
import { HostFigures, Hosts, useLook } from "./figures";

const EVERY_MS = 3000;

function List({ title, scope, path, none, heads, row, member }: {
  title: string; scope: string; path: string; none: string; heads: string[]; member: string; row: (item: Obj) => ComponentChildren[];
}) {
  const source = useSource<Json>(path, may(scope) ? EVERY_MS : 0, (stop) => (may(scope) ? api().get<Json>(path, {}, stop) : Promise.resolve(null)));
  const items = at(source.data.value, member);
  const list = Array.isArray(items) ? items.filter(isObj) : [];
  const id = `operate-${member}`;
  return (
    <section class="card" aria-labelledby={id}>
      <header><h2 id={id}>{title}</h2></header>
      {!may(scope) ? <p class="empty">{T.operate.notHere(scope)}</p> : source.error.value && !source.error.value.away ? <Wrong error={source.error.value} again={source.again} />
        : source.data.value === undefined ? <Loading /> : list.length === 0 ? <p class="empty">{none}</p> : (
          <div style={{ overflowX: "auto" }} tabIndex={0} role="group" aria-labelledby={id}>
            <table class="table" style={{ minWidth: "520px" }}>
              <thead><tr>{heads.map((h) => <th key={h}>{h}</th>)}</tr></thead>
              <tbody>{list.slice(0, 200).map((item, i) => <tr key={i}>{row(item).map((cell, k) => <td key={k}>{cell}</td>)}</tr>)}</tbody>
            </table>
          </div>
        )}
    </section>
  );
}

const times = signal<number[]>([]);
const median = (list: number[]): number => list.slice().sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;

function Host() {
  const source = useSource<Json>("capabilities", EVERY_MS, async (stop) => {
    const from = performance.now();
    const got = await api().get<Json>("/.well-known/openwop", {}, stop);
    times.value = [...times.value.slice(-19), performance.now() - from];
    return got;
  });
  const who = caller.value;
  const doc = source.data.value;
  const limits = at(doc, "limits") ?? at(doc, "extensions", "limits");
  const fact = (name: string, value: ComponentChildren) => [<dt key={`${name}-`}>{name}</dt>, <dd key={name}>{value}</dd>];
  if (!doc) return source.error.value ? <Wrong error={source.error.value} /> : <Loading />;
  return (
    <div class="columns two">
      <section class="card" aria-labelledby="host-title">
        <header><h2 id="host-title">{T.operate.host}</h2></header>
        <div class="body">
          <dl class="facts">
            {fact(T.operate.version, `${who?.implementation.name ?? ""} ${who?.implementation.version ?? ""}`)}
            {fact(T.operate.protocol, `OpenWOP ${textOf(at(doc, "protocolVersion"))}`)}
            {fact(T.operate.tenant, who?.tenant)}
            {fact(T.operate.mode, who?.mode)}
            {fact(T.operate.scopes, <span class="row wraps">{(who?.scopes ?? []).map((s) => <span class="tag" key={s}>{s}</span>)}</span>)}
            {fact(T.operate.answers, <span class="num">{T.operate.ms(median(times.value).toFixed(1))}</span>)}
          </dl>
        </div>
        {!may("host:read") && <footer class="small">{T.operate.metricsNote}</footer>}
      </section>
      <section class="card" aria-labelledby="limits-title">
        <header><h2 id="limits-title">{T.operate.features}</h2></header>
        <div class="body stack">
          {isObj(limits) && <dl class="facts">{Object.entries(limits).filter(([, v]) => typeof v !== "object").map(([name, v]) => fact(name, <span class="num">{typeof v === "number" ? thousands(v) : print(v)}</span>))}</dl>}
          <Tree value={doc} label={T.operate.features} open={0} />
        </div>
      </section>
    </div>
  );
}

function View() {
  const { look, wrong } = useLook(may("host:read"));
  return (
    <>
      <h1 class="sr">{T.operate.title}</h1>
      {wrong}
      {look && <><HostFigures look={look} /><Hosts look={look} /></>}
      <Host />
      <div class="columns two">
        <List title={T.operate.workers} scope="workers:claim" path="/v1/host/wopr/worker-types" member="workerTypes" none={T.operate.workersNone}
          heads={[T.operate.types, T.operate.queued, T.operate.claimed, T.operate.behind]}
          row={(w) => [textOf(w["typeId"]), print(at(w, "tasks", "ready") ?? 0), print(at(w, "tasks", "leased") ?? 0), <Age since={textOf(at(w, "tasks", "oldestReadyAt")) || undefined} />]} />
        <List title={T.operate.tasks} scope="workers:manage" path="/v1/host/wopr/tasks" member="tasks" none={T.operate.tasksNone}
          heads={[T.operate.types, T.runs.status, T.runs.id, T.runs.age]}
          row={(t) => [textOf(t["typeId"]), textOf(t["state"]), <a href={href(["run", textOf(t["runId"])])}>{textOf(t["workflowId"])}</a>, <Age since={textOf(t["readyAt"]) || undefined} />]} />
        <List title={T.operate.webhooks} scope="webhooks:manage" path="/v1/host/wopr/webhooks" member="webhooks" none={T.operate.webhooksNone}
          heads={[T.operate.url, T.operate.events, T.operate.behind, T.operate.failures]}
          row={(w) => [<span title={textOf(w["url"])}>{textOf(w["url"])}</span>, Array.isArray(w["events"]) && w["events"].length > 0 ? (w["events"] as string[]).join(", ") : T.operate.all, print(w["pending"] ?? 0), textOf(w["lastError"])]} />
        <List title={T.operate.packs} scope="manifest:read" path="/v1/packs" member="packs" none={T.operate.packsNone}
          heads={[T.operate.name, T.operate.version]} row={(p) => [textOf(p["name"]), textOf(p["version"])]} />
      </div>
    </>
  );
}

export default definePage({ route: "operate", title: T.operate.title, order: 4, scopes: [], view: View });
