// Asks before runs are cancelled.
import { useState } from "preact/hooks";
import { api } from "../app/session";
import { cli, curl } from "../lib/commands";
import type { Json } from "../lib/json";
import { T } from "../text";
import { Commands, Dialog, FieldBox, say, useAct, Wrong } from "./parts";

const AT_ONCE = 8;

export function CancelDialog({ runs, close, done }: { runs: string[]; close: () => void; done: () => void }) {
  const [reason, setReason] = useState("");
  const act = useAct();
  const body: Json = reason.trim() ? { reason: reason.trim() } : {};
  const path = (id: string): string => `/v1/runs/${encodeURIComponent(id)}/cancel`;
  const go = (): void =>
    act.run(async () => {
      let refused = 0;
      let last: unknown;
      const queue = runs.slice();
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let id = queue.pop(); id !== undefined; id = queue.pop())
          await api().post(path(id), body).catch((e: unknown) => (refused++, (last = e)));
      }));
      if (runs.length === 1 && refused === 1) throw last;
      say(T.act.done(runs.length - refused, refused, T.act.cancel));
      done();
      close();
    });
  const first = runs[0] as string;
  return (
    <Dialog title={T.act.cancelTitle(runs.length)} close={close}>
      <p>{T.act.cancelText}</p>
      <FieldBox label={T.act.reason} hint={T.act.reasonHint}>
        {({ id, describedBy }) => <input id={id} class="in" value={reason} maxLength={4096} aria-describedby={describedBy} onInput={(e) => setReason(e.currentTarget.value)} />}
      </FieldBox>
      {act.error && <Wrong error={act.error} />}
      <div class="acts">
        <button type="button" class="btn" onClick={close}>{T.act.keepOn}</button>
        <button type="button" class="btn bad" aria-disabled={act.busy} onClick={go}>{runs.length === 1 ? T.act.cancelYes : T.act.cancelMany(runs.length)}</button>
      </div>
      <Commands lines={[
        { name: "curl", text: curl("POST", path(first), body) },
        { name: "CLI", text: runs.length === 1 ? cli("runs", "cancel", first, ...(reason ? ["--reason", reason] : [])) : cli("runs", "bulk-cancel", ...runs, ...(reason ? ["--reason", reason] : [])) },
      ]} />
    </Dialog>
  );
}
