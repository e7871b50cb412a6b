// WorkSpec documents: what is stored, the plan of each, and a run of it.
import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { offers } from "../../app/host";
import { definePage } from "../../app/page";
import { go, href, refine, route } from "../../app/route";
import { api, may } from "../../app/session";
import { useSource } from "../../app/source";
import { cli, curl } from "../../lib/commands";
import { isObj, parse, type Json, type Obj } from "../../lib/json";
import { manyDays, performers, planPath, planSpan, planTime, type Plan } from "../../lib/plan";
import { T, thousands } from "../../text";
import { Long } from "../../ui/long";
import { Commands, FieldBox, Loading, useAct, Wrong } from "../../ui/parts";
import { PlanPicture } from "../../ui/plan";
import { documents, LOOK_MAX, type Found } from "./list";

const EVERY_MS = 10000;
const SHOWN_MAX = 500;
const CLOCKS = ["virtual", "real"];
const PEOPLE = ["auto", "approval"];

/** The values that differ at the beginning; undefined: none, null: what was typed is none. */
function worldOf(text: string): Obj | undefined | null {
  if (text.trim() === "") return undefined;
  try {
    const value = parse(text);
    return isObj(value) && Object.values(value).every(isObj) ? value : null;
  } catch {
    return null;
  }
}

function Choice({ label, of, names, value, set }: { label: string; of: string[]; names: Record<string, string>; value: string; set: (v: string) => void }) {
  return (
    <FieldBox label={label}>
      {({ id }) => <select id={id} class="in" value={value} onChange={(e) => set(e.currentTarget.value)}>{of.map((v) => <option key={v} value={v}>{names[v]}</option>)}</select>}
    </FieldBox>
  );
}

function Start({ id }: { id: string }) {
  const [clock, setClock] = useState("virtual");
  const [speed, setSpeed] = useState("60");
  const [people, setPeople] = useState("auto");
  const [text, setText] = useState("");
  const act = useAct();
  const world = worldOf(text);
  const real = clock === "real";
  const fast = Number(speed);
  const badSpeed = real && !(speed.trim() !== "" && fast > 0 && fast <= 1000000);
  const configurable: Obj = { "workspec.clock": clock, "workspec.humanTasks": people };
  if (real && !badSpeed) configurable["workspec.speed"] = fast;
  const body: Json = { workflowId: id, configurable, ...(world ? { inputs: { world } } : {}) };
  const plain = !real && people === "auto" && world === undefined; // as a run is without options
  const begin = (): void => act.run(async () => go(["run", (await api().post<{ runId: string }>("/v1/runs", body)).runId], { picture: "plan", tab: "world" }));
  return (
    <form class="stack" noValidate onSubmit={(e) => (e.preventDefault(), world !== null && !badSpeed && begin())}>
      <div class="filters">
        <Choice label={T.documents.clock} of={CLOCKS} names={T.documents.clocks} value={clock} set={(v) => (setClock(v), setPeople(v === "real" ? "approval" : "auto"))} />
        {real && (
          <FieldBox label={T.documents.speed} hint={T.documents.speedHint} wrong={badSpeed ? T.documents.wrongSpeed : undefined}>
            {({ id: fid, describedBy }) => <input id={fid} class="in" inputMode="decimal" value={speed} aria-describedby={describedBy} aria-invalid={badSpeed} onInput={(e) => setSpeed(e.currentTarget.value)} />}
          </FieldBox>
        )}
        <Choice label={T.documents.people} of={PEOPLE} names={T.documents.peoples} value={people} set={setPeople} />
      </div>
      <FieldBox label={T.documents.world} hint={T.documents.worldHint} wrong={world === null ? T.documents.wrongWorld : undefined}>
        {({ id: fid, describedBy }) => <textarea id={fid} class="in" rows={2} spellcheck={false} value={text} aria-describedby={describedBy} aria-invalid={world === null} onInput={(e) => setText(e.currentTarget.value)} />}
      </FieldBox>
      {act.error && <Wrong error={act.error} />}
      <div class="acts left"><button class="btn main-act" aria-disabled={act.busy}>{T.documents.start}</button></div>
      <Commands lines={[{ name: "curl", text: curl("POST", "/v1/runs", body) }, ...(plain ? [{ name: "CLI", text: cli("runs", "start", id, "--follow") }] : [])]} />
    </form>
  );
}

function Chosen({ id, found }: { id: string; found: Found | undefined }) {
  const source = useSource(`plan ${id}`, 0, (signal) => api().get<Plan>(planPath(id), {}, signal));
  const hash = found?.hash;
  useEffect(() => source.again(), [hash]); // another one was stored under the id
  const [picked, pick] = useState<string | undefined>(undefined);
  const plan = source.data.value;
  if (!plan) return source.error.value ? <Wrong error={source.error.value} again={source.again} /> : <Loading />;
  const span = planSpan(plan);
  const days = manyDays(span);
  return (
    <section class="card" aria-labelledby="document-title">
      <header class="apart"><h2 id="document-title" class="wrap grow">{found?.name ?? id}</h2><a href={href([], { workflow: id })}>{T.documents.runs}</a></header>
      <div class="body stack tight">
        {found?.description && <p class="wrap"><Long text={found.description} /></p>}
        <p class="soft num">{T.documents.facts(plan.entries.length, performers(plan).length, planTime(span.from, plan, days), planTime(span.to, plan, days))}</p>
      </div>
      <div style={{ height: "320px", display: "grid", borderTop: "1px solid var(--line)" }}><PlanPicture plan={plan} picked={picked} pick={pick} /></div>
      {may("runs:create") && <div class="body" style={{ borderTop: "1px solid var(--line)" }}><Start id={id} /></div>}
    </section>
  );
}

function View() {
  const [filter, setFilter] = useState("");
  const looked = useSignal("");
  const source = useSource("documents", EVERY_MS, (signal) => documents(signal, (done, of) => (looked.value = T.documents.looking(thousands(done), thousands(of)))));
  const id = route.value.query["document"];
  const got = source.data.value;
  const wanted = filter.toLowerCase();
  const list = (got?.found ?? []).filter((d) => `${d.id} ${d.name}`.toLowerCase().includes(wanted));
  return (
    <div class="columns aside">
      <section class="card" aria-labelledby="documents-title">
        <header><h1 id="documents-title">{T.documents.title}</h1><span class="soft small">{T.documents.lead}</span></header>
        <div class="body" style={{ borderBottom: "1px solid var(--line)" }}>
          <FieldBox label={T.documents.filter}>{({ id: fid }) => <input id={fid} class="in" type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />}</FieldBox>
        </div>
        {source.error.value && <Wrong error={source.error.value} again={source.again} />}
        {!got ? <p class="empty" aria-busy={!source.error.value} role="status">{looked.value || T.loading}</p> : got.found.length === 0 ? <p class="empty">{T.documents.none}</p> : list.length === 0 ? <p class="empty">{T.documents.noMatch}</p> : (
          <ul class="choices">
            {list.slice(0, SHOWN_MAX).map((d) => (
              <li key={d.id}>
                <button type="button" class="choice" aria-pressed={d.id === id} onClick={() => refine({ document: d.id })}>
                  <span class="clip">{d.name} <span class="soft">{d.id}</span></span>{d.shared && <span class="tag">{T.start.shared}</span>}
                </button>
              </li>
            ))}
          </ul>
        )}
        {got?.cut && <footer class="small">{T.documents.cut(thousands(LOOK_MAX))}</footer>}
      </section>
      {id ? <Chosen key={id} id={id} found={got?.found.find((d) => d.id === id)} /> : <section class="card" aria-label={T.documents.plan}><p class="empty">{T.documents.choose}</p></section>}
    </div>
  );
}

export default definePage({ route: "documents", title: T.documents.title, order: 3.3, scopes: ["manifest:read"], offered: () => offers("workspec"), view: View });
