// Forks the run from one of its events.
import { useState } from "preact/hooks";
import { go } from "../../app/route";
import { api } from "../../app/session";
import { cli, curl } from "../../lib/commands";
import { read } from "../../lib/form";
import type { Obj } from "../../lib/json";
import { T, thousands } from "../../text";
import { Commands, Dialog, FieldBox, useAct, Wrong } from "../../ui/parts";

export function ForkDialog({ runId, from, last, close }: { runId: string; from: number; last: number; close: () => void }) {
  const [seq, setSeq] = useState(String(from));
  const [mode, setMode] = useState<"replay" | "branch">("replay");
  const [inputs, setInputs] = useState("");
  const [tags, setTags] = useState("");
  const act = useAct();
  const number = Number(seq);
  const seqWrong = /^\d+$/.test(seq.trim()) && number <= last + 1 ? undefined : T.fork.wrong;
  const typed = read({ kind: "json", name: "", label: "", hint: "", required: false, initial: undefined }, mode === "branch" ? inputs : "");
  const inputsWrong = typed.ok ? undefined : T.ask.wrong.json;
  const overlay: Obj = {};
  const list = tags.split(",").map((t) => t.trim()).filter(Boolean);
  if (mode === "branch" && typed.ok && typed.value !== undefined) overlay["inputs"] = typed.value;
  if (mode === "branch" && list.length > 0) overlay["tags"] = list;
  const body: Obj = { mode, fromSeq: number, ...(Object.keys(overlay).length > 0 ? { runOptionsOverlay: overlay } : {}) };
  const path = `/v1/runs/${encodeURIComponent(runId)}:fork`;
  const fork = (): void =>
    act.run(async () => {
      const got = await api().post<{ runId: string }>(path, body);
      close();
      go(["compare", runId, got.runId]);
    });
  const choice = (value: "replay" | "branch", label: string) => (
    <label class="check"><input type="radio" name="fork-mode" checked={mode === value} onChange={() => setMode(value)} />{label}</label>
  );
  return (
    <Dialog title={T.fork.title} close={close}>
      <form class="stack loose" noValidate onSubmit={(e) => (e.preventDefault(), !seqWrong && !inputsWrong && fork())}>
        <FieldBox label={T.fork.from} hint={T.fork.fromHint(thousands(last + 1))} wrong={seqWrong}>
          {({ id, describedBy }) => <input id={id} class="in" inputMode="numeric" value={seq} aria-invalid={seqWrong !== undefined} aria-describedby={describedBy} onInput={(e) => setSeq(e.currentTarget.value)} />}
        </FieldBox>
        <fieldset class="stack tight">
          <legend class="label">{T.fork.mode}</legend>
          {choice("replay", T.fork.replay)}
          {choice("branch", T.fork.branch)}
        </fieldset>
        {mode === "branch" && (
          <>
            <FieldBox label={T.fork.inputs} wrong={inputsWrong}>
              {({ id, describedBy }) => <textarea id={id} class="in" rows={3} spellcheck={false} value={inputs} aria-describedby={describedBy} onInput={(e) => setInputs(e.currentTarget.value)} />}
            </FieldBox>
            <FieldBox label={T.fork.tags} hint={T.fork.tagsHint}>
              {({ id, describedBy }) => <input id={id} class="in" value={tags} aria-describedby={describedBy} onInput={(e) => setTags(e.currentTarget.value)} />}
            </FieldBox>
          </>
        )}
        {act.error && <Wrong error={act.error} />}
        <div class="acts">
          <button type="button" class="btn" onClick={close}>{T.cancel}</button>
          <button class="btn main-act" aria-disabled={act.busy}>{T.fork.go}</button>
        </div>
      </form>
      <Commands lines={[
        { name: "curl", text: curl("POST", path, body) },
        ...(Object.keys(overlay).length === 0 ? [{ name: "CLI", text: cli("runs", "fork", runId, "--from", String(number), ...(mode === "branch" ? ["--branch"] : [])) }] : []),
      ]} />
    </Dialog>
  );
}
