// The form that answers what a run asks, made from the question.
import { useLayoutEffect, useState } from "preact/hooks";
import { api, may } from "../app/session";
import { ApiError } from "../lib/api";
import { cli, curl } from "../lib/commands";
import { fieldOf, fieldsOf, read, shown, type Field } from "../lib/form";
import { at, isObj, print, textOf, type Json, type Obj } from "../lib/json";
import type { Interrupt } from "../lib/types";
import { T } from "../text";
import { Commands, FieldBox, say, useAct, Wrong } from "./parts";
import { Tree } from "./tree";

export function FieldControl({ field, value, set, wrong, extra }: { field: Field; value: string; set: (text: string) => void; wrong?: string | undefined; extra?: string | undefined }) {
  const label = field.label + (field.required ? ` (${T.start.required})` : "") + (field.kind === "json" ? ` ${T.start.json}` : "");
  return (
    <FieldBox label={label} hint={[field.hint, extra].filter(Boolean).join(" ") || undefined} wrong={wrong}>
      {({ id, describedBy }) => {
        const common = { id, class: "in", "aria-describedby": describedBy, "aria-invalid": wrong !== undefined, "aria-required": field.required } as const;
        if (field.kind === "boolean" || field.kind === "choice") {
          const choices = field.kind === "choice" ? field.choices.map((c): [string, string] => [print(c), typeof c === "string" ? c : print(c)]) : [["true", T.yes], ["false", T.no]];
          return (
            <select {...common} value={value} onChange={(e) => set(e.currentTarget.value)}>
              <option value="">–</option>
              {choices.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
            </select>
          );
        }
        if (field.kind === "json") return <textarea {...common} value={value} spellcheck={false} rows={4} onInput={(e) => set(e.currentTarget.value)} />;
        if (field.secret) return <input {...common} type="password" autocomplete="off" value={value} onInput={(e) => set(e.currentTarget.value)} />;
        return <input {...common} autocomplete="off" inputMode={field.kind === "number" ? "decimal" : "text"} value={value} onInput={(e) => set(e.currentTarget.value)} />;
      }}
    </FieldBox>
  );
}

/** The typed values of fields, and the first look at what is wrong with them. */
export function useFields(fields: Field[]) {
  const [typed, setTyped] = useState<Record<string, string>>(() => Object.fromEntries(fields.map((f) => [f.name, shown(f)])));
  const [checked, setChecked] = useState(false);
  const values: Obj = {};
  const wrong = Object.create(null) as Record<string, string>;
  for (const f of fields) {
    const got = read(f, typed[f.name] ?? "");
    if (!got.ok) wrong[f.name] = T.ask.wrong[got.why];
    else if (got.value !== undefined) Object.defineProperty(values, f.name, { value: got.value, enumerable: true, configurable: true, writable: true });
  }
  return {
    values, ok: Object.keys(wrong).length === 0, typed,
    set: (name: string, text: string) => setTyped((old) => ({ ...old, [name]: text })),
    controls: (extra?: (f: Field) => string | undefined) => fields.map((f) => (
      <FieldControl key={f.name} field={f} value={typed[f.name] ?? ""} set={(text) => setTyped((old) => ({ ...old, [f.name]: text }))}
        wrong={checked ? wrong[f.name] : undefined} extra={extra?.(f)} />
    )),
    check: (): boolean => {
      setChecked(true);
      return Object.keys(wrong).length === 0;
    },
  };
}

const UNREAD_MS = 1000; // nobody has read a question that is so new in the place of another
let changedAt = -UNREAD_MS; // a question was answered, or went away,
let changedOn = ""; // from this page

/** Not at once where a question takes the place of another: a second click would answer what nobody has read. */
function useArmed(): boolean {
  const [armed, setArmed] = useState(true);
  useLayoutEffect(() => {
    const left = changedOn === location.hash ? changedAt + UNREAD_MS - performance.now() : 0;
    const timer = left > 0 ? window.setTimeout(() => setArmed(true), left) : 0;
    setArmed(left <= 0);
    return () => {
      clearTimeout(timer);
      changedAt = performance.now();
      changedOn = location.hash; // another one by now, if the reader went there
    };
  }, []);
  return armed;
}

interface Asked {
  runId: string;
  interrupt: Interrupt;
  resumeSchema?: Json | undefined;
  done: () => void;
}

export function Answer(q: Asked) {
  const act = useAct();
  const { runId, interrupt } = q;
  const armed = useArmed();
  // The question that was read, and none that the node asks by now.
  const path = `/v1/runs/${encodeURIComponent(runId)}/interrupts/${encodeURIComponent(interrupt.nodeId)}?interruptId=${encodeURIComponent(interrupt.interruptId)}`;
  const [last, setLast] = useState<Json>(interrupt.kind === "approval" ? { action: "accept" } : {});
  if (!may("approvals:respond")) return <p class="soft">{T.ask.noScope}</p>;
  const send = (resumeValue: Json): void => {
    if (!armed) return;
    act.run(async () => {
      setLast(resumeValue);
      await api().post(path, { resumeValue });
      say(T.ask.done);
      q.done();
    });
  };
  const gone = act.error instanceof ApiError && [404, 409, 410, 422].includes(act.error.status) && act.error.code.startsWith("interrupt_");
  const Form = interrupt.kind === "approval" ? Approval : interrupt.kind === "clarification" ? Questions : Free;
  return (
    <div class="stack">
      {interrupt.data !== undefined && <About interrupt={interrupt} />}
      <Form {...q} send={send} busy={act.busy || !armed} />
      {act.error && (gone ? <div class="notice warn" role="alert">{`${T.ask.gone} (${act.error.code})`}</div> : <Wrong error={act.error} />)}
      <Commands lines={[
        { name: "curl", text: curl("POST", path, { resumeValue: last }) },
        { name: "CLI", text: cli("interrupts", "resolve", runId, interrupt.nodeId, "--interrupt", interrupt.interruptId, "--value", print(last)) },
      ]} />
    </div>
  );
}

function About({ interrupt }: { interrupt: Interrupt }) {
  const data = interrupt.data;
  const title = textOf(at(data, "title")) || textOf(at(data, "prompt"));
  const description = textOf(at(data, "description"));
  const about = at(data, "artifactData") ?? (interrupt.kind === "approval" || interrupt.kind === "clarification" ? undefined : data);
  return (
    <div class="stack tight">
      {title && <p class="wrap"><strong>{title}</strong></p>}
      {description && <p class="soft wrap">{description}</p>}
      {about !== undefined && <Tree value={about} label={T.ask.shown} />}
    </div>
  );
}

type FormProps = Asked & { send: (value: Json) => void; busy: boolean };

function Approval({ interrupt, send, busy }: FormProps) {
  const offered = at(interrupt.data, "actions");
  const actions = Array.isArray(offered) ? offered.filter((a): a is string => typeof a === "string") : ["accept", "reject"];
  const original = at(interrupt.data, "artifactData");
  const [comment, setComment] = useState("");
  const [edited, setEdited] = useState(() => print(original ?? {}, 2));
  const [editing, setEditing] = useState(false);
  const [wrong, setWrong] = useState("");
  const answer = (action: string): void => {
    const value: Obj = { action };
    if (action === "edit-accept") {
      if (!editing) return setEditing(true);
      const got = read({ kind: "json", name: "", label: "", hint: "", required: true, initial: undefined }, edited);
      if (!got.ok) return setWrong(T.ask.wrong[got.why]);
      value["editedArtifactData"] = got.value ?? null;
    }
    if (action === "ask" || action === "refine") {
      if (comment.trim() === "") return setWrong(T.ask.wrong.required);
      if (action === "ask") value["question"] = comment;
      else value["refineFeedback"] = { scope: "whole", text: comment };
    } else if (comment.trim() !== "") value["feedback"] = comment;
    setWrong("");
    send(value);
  };
  const names: Record<string, string> = { accept: T.ask.approve, reject: T.ask.reject, refine: T.ask.refine, "edit-accept": T.ask.editAccept, ask: T.ask.question };
  return (
    <div class="stack">
      {editing && (
        <FieldBox label={`${T.ask.edited} ${T.start.json}`}>
          {({ id }) => <textarea id={id} class="in" rows={8} spellcheck={false} value={edited} onInput={(e) => setEdited(e.currentTarget.value)} />}
        </FieldBox>
      )}
      <FieldBox label={T.ask.feedback} wrong={wrong || undefined}>
        {({ id, describedBy }) => (
          <textarea id={id} class="in words" rows={2} value={comment} aria-describedby={describedBy} aria-invalid={wrong !== ""} onInput={(e) => setComment(e.currentTarget.value)} />
        )}
      </FieldBox>
      <div class="acts left">
        {actions.map((a) => (
          <button type="button" key={a} class={`btn ${a === "accept" ? "main-act" : a === "reject" ? "bad" : ""}`} aria-disabled={busy} onClick={() => answer(a)}>{names[a] ?? a}</button>
        ))}
      </div>
    </div>
  );
}

function Questions({ interrupt, send, busy }: FormProps) {
  const asked = at(interrupt.data, "questions");
  const fields = (Array.isArray(asked) ? asked : []).filter(isObj).map((question) => ({
    ...fieldOf(textOf(question["id"]), question["schema"] ?? { type: "string" }, true), label: textOf(question["question"]),
  }));
  const form = useFields(fields);
  return (
    <form class="stack" onSubmit={(e) => (e.preventDefault(), form.check() && send({ answers: form.values }))}>
      {form.controls()}
      <div class="acts left"><button class="btn main-act" aria-disabled={busy}>{T.ask.send}</button></div>
    </form>
  );
}

/** From the schema of the answer; else, as JSON. */
function Free({ interrupt, resumeSchema, send, busy }: FormProps) {
  const schema = resumeSchema ?? at(interrupt.data, "outcomeSchema");
  const members = fieldsOf(schema);
  const start = interrupt.kind === "low-confidence" ? at(interrupt.data, "decision") : interrupt.kind === "external-event" ? at(interrupt.data, "correlation") : undefined;
  const whole: Field = { ...fieldOf("value", schema, true, start ?? at(schema, "default")), label: interrupt.kind === "external-event" ? T.ask.event : T.ask.asks };
  const form = useFields(members ?? [whole]);
  return (
    <form class="stack" onSubmit={(e) => (e.preventDefault(), form.check() && send(members ? form.values : (form.values["value"] ?? null)))}>
      {form.controls()}
      <div class="acts left"><button class="btn main-act" aria-disabled={busy}>{interrupt.kind === "low-confidence" ? T.ask.confirm : T.ask.send}</button></div>
    </form>
  );
}
