// Starts a workflow, from a form of its inputs.
import { useState } from "preact/hooks";
import { definePage } from "../../app/page";
import { go, refine, route } from "../../app/route";
import { api } from "../../app/session";
import { useSource } from "../../app/source";
import { cli, curl } from "../../lib/commands";
import { fieldOfVariable } from "../../lib/form";
import { print, textOf, type Json, type Obj } from "../../lib/json";
import type { Definition } from "../../lib/types";
import { T } from "../../text";
import { Long } from "../../ui/long";
import { Commands, FieldBox, Loading, say, useAct, Wrong } from "../../ui/parts";
import { useFields } from "../../ui/answer";

interface Item {
  workflowId: string;
  shared?: boolean;
}
const PAGES_MAX = 25; // of 200

async function all(signal: AbortSignal): Promise<Item[]> {
  const list: Item[] = [];
  let after: string | undefined;
  for (let i = 0; i < PAGES_MAX; i++) {
    const page = await api().get<{ workflows: Item[]; nextAfter?: string }>("/v1/host/wopr/workflows", { limit: 200, after }, signal);
    list.push(...page.workflows);
    if ((after = page.nextAfter) === undefined) break;
  }
  return list;
}

function Form({ definition }: { definition: Definition }) {
  const variables = definition.variables ?? [];
  const form = useFields(variables.map(fieldOfVariable));
  const [tags, setTags] = useState("");
  const act = useAct();
  const body: Obj = { workflowId: definition.id };
  // What is as the workflow has it anyway need not be said.
  const inputs = Object.fromEntries(Object.entries(form.values).filter(([name, value]) => {
    const v = variables.find((one) => one.name === name);
    return v?.defaultValue === undefined || print(v.defaultValue) !== print(value as Json);
  })) as Obj;
  if (Object.keys(inputs).length > 0) body["inputs"] = inputs;
  const hidden = (name: string): boolean => variables.some((v) => v.name === name && v.sensitive === true);
  const told = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, hidden(name) ? "…" : value])) as Obj;
  const list = tags.split(",").map((t) => t.trim()).filter(Boolean);
  if (list.length > 0) body["tags"] = list;
  const start = (): void =>
    act.run(async () => {
      const got = await api().post<{ runId: string; warnings?: { path: string }[] }>("/v1/runs", body);
      if (got.warnings?.length) say(T.start.dropped(got.warnings.map((w) => textOf(w.path)).join(", ")));
      go(["run", got.runId]);
    });
  return (
    <form class="stack loose" noValidate onSubmit={(e) => (e.preventDefault(), form.check() && start())}>
      <div class="stack tight">
        <h2>{definition.name ?? definition.id}</h2>
        {definition.description && <p class="soft wrap"><Long text={definition.description} /></p>}
      </div>
      {variables.length === 0 ? <p class="soft">{T.start.noInputs}</p> : form.controls((f) => (f.kind !== "choice" && f.secret ? T.start.secret : undefined))}
      <FieldBox label={T.start.tags} hint={T.start.tagsHint}>
        {({ id, describedBy }) => <input id={id} class="in" value={tags} autocomplete="off" aria-describedby={describedBy} onInput={(e) => setTags(e.currentTarget.value)} />}
      </FieldBox>
      {act.error && <Wrong error={act.error} />}
      <div class="acts left"><button class="btn main-act" aria-disabled={act.busy}>{T.start.go}</button></div>
      <Commands lines={[
        { name: "curl", text: curl("POST", "/v1/runs", Object.keys(told).length > 0 ? { ...body, inputs: told } : body) },
        { name: "CLI", text: cli("runs", "start", definition.id, ...Object.entries(told).flatMap(([k, v]) => ["--input", `${k}=${print(v)}`]), ...(list[0] ? ["--tag", list[0]] : []), "--follow") },
      ]} />
    </form>
  );
}

function Chosen({ id }: { id: string }) {
  const source = useSource(`definition ${id}`, 0, (signal) => api().get<Definition>(`/v1/workflows/${encodeURIComponent(id)}`, {}, signal));
  if (source.error.value) return <Wrong error={source.error.value} again={source.again} />;
  return source.data.value ? <Form key={id} definition={source.data.value} /> : <Loading />;
}

function View() {
  const [filter, setFilter] = useState("");
  const source = useSource("workflows", 10000, all);
  const id = route.value.query["workflow"];
  const list = source.data.value;
  const found = (list ?? []).filter((w) => w.workflowId.toLowerCase().includes(filter.toLowerCase()));
  return (
    <div class="columns form">
      <section class="card" aria-labelledby="start-title">
        <header><h1 id="start-title">{T.start.choose}</h1></header>
        <div class="body" style={{ borderBottom: "1px solid var(--line)" }}>
          <FieldBox label={T.start.filter}>{({ id: fid }) => <input id={fid} class="in" type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />}</FieldBox>
        </div>
        {source.error.value && <Wrong error={source.error.value} again={source.again} />}
        {!list ? <Loading /> : list.length === 0 ? <p class="empty">{T.start.none}</p> : found.length === 0 ? <p class="empty">{T.start.noMatch}</p> : (
          <ul class="choices">
            {found.slice(0, 500).map((w) => (
              <li key={w.workflowId}>
                <button type="button" class="choice" aria-pressed={w.workflowId === id} onClick={() => refine({ workflow: w.workflowId })}>
                  <span class="clip">{w.workflowId}</span>{w.shared && <span class="tag">{T.start.shared}</span>}
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
      <section class="card" aria-label={T.start.inputs}>
        <div class="body">{id ? <Chosen key={id} id={id} /> : <p class="empty">{T.start.choose}</p>}</div>
      </section>
    </div>
  );
}

export default definePage({ route: "start", title: T.start.title, order: 3, scopes: ["runs:create", "manifest:read"], view: View });
