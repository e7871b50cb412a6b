// What happens on this host: the runs, live; what waits for people first.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { definePage } from "../../app/page";
import { morePending, pending } from "../../app/pending";
import { go, href, refine, route } from "../../app/route";
import { api, may, now } from "../../app/session";
import { useSource } from "../../app/source";
import { STATUSES, isFinal, type RunItem, type Status } from "../../lib/types";
import { T, thousands } from "../../text";
import { Age, Copy, FieldBox, Loading, say, Took, useAct, Wrong } from "../../ui/parts";
import { Mark, State, tone } from "../../ui/state";
import { Waiting } from "../../ui/waiting";
import { CancelDialog } from "../../ui/cancel";
import { errorCode, older, refresh, type Filter, type List } from "./source";

const EVERY_MS = 2000;
const SHOWN_WAITING = 3;

function Filters() {
  const q = route.value.query;
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (e: KeyboardEvent): void => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as HTMLElement).tagName)) return;
      e.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  const text = (name: "workflow" | "tag", label: string) => (
    <FieldBox label={label}>
      {({ id }) => <input id={id} class="in" value={q[name] ?? ""} autocomplete="off" onChange={(e) => refine({ [name]: e.currentTarget.value.trim() })} />}
    </FieldBox>
  );
  return (
    <form class="filters" role="search" onSubmit={(e) => {
      e.preventDefault();
      const id = search.current?.value.trim() ?? "";
      if (/^run_[0-9A-Z]{26}$/.test(id)) go(["run", id]);
    }}>
      <FieldBox label={T.runs.search}>
        {({ id }) => (
          <input id={id} ref={search} class="in" type="search" placeholder={T.runs.searchHint} value={q["q"] ?? ""} autocomplete="off" spellcheck={false}
            onInput={(e) => refine({ q: e.currentTarget.value })} />
        )}
      </FieldBox>
      <FieldBox label={T.runs.status}>
        {({ id }) => (
          <select id={id} class="in" value={q["status"] ?? ""} onChange={(e) => refine({ status: e.currentTarget.value })}>
            <option value="">{T.runs.all}</option>
            {STATUSES.map((s) => <option key={s} value={s}>{T.status[s]}</option>)}
          </select>
        )}
      </FieldBox>
      {text("workflow", T.runs.workflow)}
      {text("tag", T.runs.tag)}
      {Object.values(q).some(Boolean) && <button type="button" class="btn quiet" onClick={() => refine({ q: "", status: "", workflow: "", tag: "" })}>{T.runs.clear}</button>}
    </form>
  );
}

function Counts({ runs }: { runs: RunItem[] }) {
  const by = new Map<string, number>();
  for (const r of runs) by.set(r.status, (by.get(r.status) ?? 0) + 1);
  const minute = runs.filter((r) => r.createdAt && now.value - Date.parse(r.createdAt) < 60000).length;
  return (
    <div class="tallies" aria-label={T.runs.counts(runs.length)} role="group">
      {STATUSES.filter((s) => by.has(s)).map((s) => (
        <span class="tally" key={s}><Mark status={s} class={`c-${tone(s)}`} /><b>{thousands(by.get(s) as number)}</b>{T.status[s].toLowerCase()}</span>
      ))}
      <span class="tally"><b>{minute === runs.length && minute > 0 ? `≥ ${minute}` : minute}</b>{T.runs.rate("").trim()}</span>
    </div>
  );
}

function Row({ run, picked, pick, act }: { run: RunItem; picked: boolean; pick: (on: boolean) => void; act: boolean }) {
  return (
    <tr aria-selected={picked}>
      <td>{act && !isFinal(run.status) && <input type="checkbox" checked={picked} aria-label={T.runs.select(run.runId)} onChange={(e) => pick(e.currentTarget.checked)} />}</td>
      <td><State status={run.status} /></td>
      <td class="num"><Age since={run.createdAt} /></td>
      <td class="wide">
        <span class="row"><a class="clip" href={href(["run", run.runId])}><strong>{run.workflowId}</strong></a></span>
      </td>
      <td class="wide"><span class="row"><a class="mono soft clip" href={href(["run", run.runId])} title={run.runId}>{run.runId}</a><Copy text={run.runId} label={`${T.copy} ${run.runId}`} /></span></td>
      <td class="host soft mono" title={run.host}>{run.host && <><span class="sr">{`${T.runs.host} `}</span>{shortHost(run.host)}</>}</td>
      <td class="dur"><Took from={run.startedAt ?? run.createdAt} to={run.completedAt} /></td>
      <td class="wide">
        {run.status === "failed" ? <Code run={run} /> : run.fork ? <a class="tag" href={href(["run", run.fork.sourceRunId])}>{run.fork.mode}</a> : null}{" "}
        {(run.tags ?? []).map((t) => <a class="tag clip" key={t} href={href([], { tag: t })}>{t}</a>)}
      </td>
    </tr>
  );
}

/** The end of a name: what hosts of one fleet differ by. */
const shortHost = (name: string): string => (name.length > 10 ? `…${name.slice(-8)}` : name);

function Code({ run }: { run: RunItem }) {
  const [code, setCode] = useState("");
  useEffect(() => void errorCode(run).then(setCode), [run.runId]);
  return code ? <span class="c-bad mono">{code}</span> : null;
}

/** The runs whose id, workflow, tags or error code hold the text. */
function useFound(runs: RunItem[], text: string): RunItem[] {
  const [codes, setCodes] = useState<Record<string, string>>({});
  const failed = text.length > 2 ? runs.filter((r) => r.status === "failed" && codes[r.runId] === undefined).slice(0, 50) : [];
  useEffect(() => {
    if (failed.length > 0)
      void Promise.all(failed.map(async (r) => [r.runId, await errorCode(r)] as const)).then((got) => setCodes((old) => ({ ...old, ...Object.fromEntries(got) })));
  }, [failed.map((r) => r.runId).join()]);
  if (text === "") return runs;
  const wanted = text.toLowerCase();
  return runs.filter((r) => [r.runId, r.workflowId, ...(r.tags ?? []), codes[r.runId] ?? ""].some((s) => s.toLowerCase().includes(wanted)));
}

function Table({ list, filter, change }: { list: List; filter: Filter; change: (next: List) => void }) {
  const picked = useSignal(new Set<string>());
  const [cancelling, setCancelling] = useState<string[] | null>(null);
  const loading = useAct();
  const acting = useAct();
  const runs = useFound(list.shown, route.value.query["q"] ?? "");
  const act = may("runs:cancel");
  const open = runs.filter((r) => !isFinal(r.status));
  const chosen = open.filter((r) => picked.value.has(r.runId)).map((r) => r.runId);
  const pick = (id: string, on: boolean): void => {
    const next = new Set(picked.value);
    if (on) next.add(id);
    else next.delete(id);
    picked.value = next;
  };
  const many = async (verb: "pause" | "resume", what: string): Promise<void> => {
    const got = await Promise.allSettled(chosen.map((id) => api().post(`/v1/runs/${encodeURIComponent(id)}:${verb}`, {})));
    const ok = got.filter((g) => g.status === "fulfilled").length;
    say(T.act.done(ok, got.length - ok, what));
    picked.value = new Set();
  };
  if (list.shown.length === 0) return <p class="empty">{Object.values(filter).some(Boolean) ? T.runs.none : T.runs.noneYet}</p>;
  return (
    <>
      {list.fresh.length > 0 && (
        <div class="row" style={{ justifyContent: "center", padding: "8px" }}>
          <button type="button" class="btn main-act" onClick={() => change({ ...list, shown: [...list.fresh, ...list.shown], fresh: [] })}>{T.runs.fresh(list.fresh.length)}</button>
        </div>
      )}
      {chosen.length > 0 && (
        <div class="row wraps" style={{ padding: "8px 16px" }} role="group" aria-label={T.runs.selected(chosen.length)}>
          <strong>{T.runs.selected(chosen.length)}</strong>
          <button type="button" class="btn" aria-disabled={acting.busy} onClick={() => acting.run(() => many("pause", T.act.pause))}>{T.act.pause}</button>
          <button type="button" class="btn" aria-disabled={acting.busy} onClick={() => acting.run(() => many("resume", T.act.resume))}>{T.act.resume}</button>
          <button type="button" class="btn bad" onClick={() => setCancelling(chosen)}>{T.act.cancel}</button>
        </div>
      )}
      <table class="table cards runs">
        <thead>
          <tr>
            <th style={{ width: "40px" }}>
              {act && open.length > 0 && (
                <input type="checkbox" aria-label={T.runs.selectAll} checked={chosen.length === open.length}
                  onChange={(e) => (picked.value = e.currentTarget.checked ? new Set(open.map((r) => r.runId)) : new Set())} />
              )}
            </th>
            <th style={{ width: "192px" }}>{T.runs.status}</th>
            <th style={{ width: "76px" }}>{T.runs.age}</th>
            <th style={{ width: "20%" }}>{T.runs.workflow}</th>
            <th style={{ width: "25%" }}>{T.runs.id}</th>
            <th class="host" style={{ width: "104px" }}>{T.runs.host}</th>
            <th style={{ width: "110px" }}>{T.runs.duration}</th>
            <th>{T.runs.tags}</th>
          </tr>
        </thead>
        <tbody>{runs.map((r) => <Row key={r.runId} run={r} picked={picked.value.has(r.runId)} pick={(on) => pick(r.runId, on)} act={act} />)}</tbody>
      </table>
      {runs.length === 0 && <p class="empty">{T.runs.none}</p>}
      {list.next !== undefined && (
        <footer class="row" style={{ justifyContent: "center" }}>
          <button type="button" class="btn quiet" aria-disabled={loading.busy} onClick={() => loading.run(async () => change(await older(filter, list, new AbortController().signal)))}>{T.runs.older}</button>
        </footer>
      )}
      {cancelling && <CancelDialog runs={cancelling} close={() => setCancelling(null)} done={() => (picked.value = new Set())} />}
    </>
  );
}

function View() {
  const q = route.value.query;
  const filter: Filter = { status: q["status"], workflowId: q["workflow"], tag: q["tag"] };
  const box = useRef<HTMLDivElement>(null);
  // Somebody reads: the page is scrolled, or a row has the pointer or the focus.
  const reading = (): boolean => scrollY > 120 || box.current?.querySelector("tbody:hover, tbody :focus-visible") != null;
  const source = useSource<List>(JSON.stringify(filter), EVERY_MS, (signal, old) => refresh(filter, old, reading(), signal));
  const waiting = useComputed(() => pending.value ?? []);
  const list = source.data.value;
  return (
    <>
      {waiting.value.length > 0 && (
        <section class="card" aria-labelledby="waiting-title">
          <header><h2 id="waiting-title">{T.ask.title}</h2><span class="count">{waiting.value.length}{morePending.value ? "+" : ""}</span>
            {waiting.value.length > SHOWN_WAITING && <a href={href(["waiting"])} style={{ marginLeft: "auto" }}>{T.ask.all}</a>}
          </header>
          <ul>{waiting.value.slice(0, SHOWN_WAITING).map((p) => <Waiting key={p.interruptId} p={p} />)}</ul>
        </section>
      )}
      <section class="card" aria-labelledby="runs-title" ref={box}>
        <header class="apart"><h1 id="runs-title">{T.runs.title}</h1>{list && list.shown.length > 0 && <Counts runs={list.shown} />}</header>
        <div class="body" style={{ borderBottom: "1px solid var(--line)", paddingTop: "12px", paddingBottom: "12px" }}><Filters /></div>
        {source.error.value && !source.error.value.away && <Wrong error={source.error.value} again={source.again} />}
        {list ? <Table list={list} filter={filter} change={(next) => (source.data.value = next)} /> : !source.error.value && <Loading />}
      </section>
    </>
  );
}

export default definePage({ route: "", title: T.runs.title, order: 1, scopes: ["runs:read"], view: View });
export type { Status };
