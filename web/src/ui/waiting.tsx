// One question that waits: a line, and on request the form that answers it.
import { useState } from "preact/hooks";
import { askPending } from "../app/pending";
import { href } from "../app/route";
import { api, may, now } from "../app/session";
import { useSource } from "../app/source";
import { at, type Json } from "../lib/json";
import { ago } from "../lib/time";
import type { Event, Pending, Snapshot } from "../lib/types";
import { T } from "../text";
import { Answer } from "./answer";
import { Loading, Wrong } from "./parts";
import { Mark } from "./state";

const NEAR_END = 5000; // events

/** The question of a pending interrupt in full: the listing has no data, the snapshot has that of one, the event that asked has all. */
async function question(p: Pending, signal: AbortSignal): Promise<{ data: Json | undefined; schema: Json | undefined }> {
  const run = `/v1/runs/${encodeURIComponent(p.runId)}`;
  const snapshot = await api().get<Snapshot>(run, {}, signal);
  const shown = snapshot.interrupt?.interruptId === p.interruptId ? snapshot.interrupt.data : undefined;
  const length = may("manifest:read") ? (await api().get<{ events: number }>(`/v1/host/wopr/runs/${encodeURIComponent(p.runId)}/definition`, {}, signal)).events : 0;
  const after = length > 2 * NEAR_END ? length - NEAR_END : undefined;
  const page = await api().get<{ events: Event[] }>(`${run}/events/poll`, { lastSequence: after, timeout: 1 }, signal);
  const asked = page.events.findLast((e) => e.type === "interrupt.requested" && at(e.payload, "key") === p.key);
  return { data: at(asked?.payload, "data") ?? shown, schema: at(asked?.payload, "resumeSchema") };
}

export function Question({ p }: { p: Pending }) {
  const source = useSource(p.interruptId, 0, (signal) => question(p, signal));
  if (source.error.value) return <Wrong error={source.error.value} again={source.again} />;
  const q = source.data.value;
  if (!q) return <Loading />;
  return <Answer runId={p.runId} interrupt={q.data === undefined ? p : { ...p, data: q.data }} resumeSchema={q.schema} done={askPending} />;
}

export function Waiting({ p, startOpen = false }: { p: Pending; startOpen?: boolean }) {
  const [open, setOpen] = useState(startOpen);
  const label = `${T.ask.answer}: ${p.workflowId}, ${p.nodeId}`;
  return (
    <li>
      <div class="ask-line">
        <span class="row"><Mark status="suspended" class="c-warn" /><a class="clip" href={href(["run", p.runId])}><strong>{p.workflowId}</strong></a></span>
        <span class="opt clip">{T.kind[p.kind] ?? p.kind} <span class="soft">· {p.nodeId}</span></span>
        <span class="opt soft num">{p.requestedAt ? T.ask.since(ago(now.value - Date.parse(p.requestedAt))) : ""}</span>
        <button type="button" class="btn" aria-expanded={open} aria-label={label} onClick={() => setOpen(!open)}>{open ? T.ask.hide : T.ask.answer}</button>
      </div>
      {open && <div class="ask"><Question p={p} /></div>}
    </li>
  );
}
