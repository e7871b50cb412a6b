// The whole host in figures, for keys of operators: what /metrics has, and the hosts on the same database.
import type { ComponentChildren } from "preact";
import { api, now } from "../../app/session";
import { useSource } from "../../app/source";
import { bytes, Figures } from "../../lib/figures";
import { at, isObj, numberOf, textOf, type Json, type Obj } from "../../lib/json";
import { ago, duration } from "../../lib/time";
import { T, thousands } from "../../text";
import { Loading, Wrong } from "../../ui/parts";
import { Mark, tone } from "../../ui/state";

const EVERY_MS = 2500;
const LOOKS_MAX = 25; // a minute of them
const NAMES = [
  "wopr_runs_active", "wopr_runs_active_limit", "wopr_ready_queue_length", "wopr_timers", "wopr_runs_created_total", "wopr_log_events_total", "wopr_log_commits_total", "wopr_log_commit_seconds",
  "wopr_log_slow_commits_total", "wopr_log_queue_length", "wopr_log_queue_limit", "wopr_log_queue_bytes", "wopr_log_queue_refused_total", "wopr_stream_delivery_seconds", "wopr_streams", "wopr_streams_limit",
  "wopr_stream_readers", "wopr_stream_readers_behind", "wopr_stream_backlog_bytes", "wopr_stream_lagged_total", "wopr_http_refused_total", "wopr_commands_refused_total", "wopr_log_plans_refused_total",
  "wopr_tasks_ready", "wopr_tasks_leased", "wopr_task_oldest_seconds", "wopr_task_leases_lost_total", "wopr_task_claims_waiting", "wopr_webhooks", "wopr_webhook_breakers_open", "wopr_webhook_active", "wopr_webhook_deliveries_total",
  "wopr_webhook_dead_letters_total", "wopr_webhook_backlog_seconds", "wopr_wasm_active", "wopr_wasm_waiting", "wopr_wasm_invocations_total", "wopr_store_database_bytes", "wopr_store_wal_bytes", "wopr_store_runs",
  "wopr_store_runs_open", "wopr_store_events", "wopr_store_usable",
].join(",");

interface Look {
  hosts: Obj[];
  counted: boolean;
  figures: Figures[]; // the latest last
}

export function useLook(on: boolean): { look: Look | undefined; wrong: ComponentChildren } {
  const source = useSource<Look | undefined>("operations", on ? EVERY_MS : 0, async (stop, old) => {
    if (!on) return undefined;
    const got = await api().get<Json>("/v1/host/wopr/operations", { metrics: NAMES }, stop);
    const hosts = at(got, "hosts");
    return {
      hosts: Array.isArray(hosts) ? hosts.filter(isObj) : [], counted: at(got, "runsCounted") !== false,
      figures: [...(old?.figures ?? []).slice(1 - LOOKS_MAX), new Figures(at(got, "metrics"), Date.now())],
    };
  });
  const error = source.error.value;
  return { look: source.data.value, wrong: on && error && !error.away ? <Wrong error={error} again={source.again} /> : on && !source.data.value ? <Loading /> : null };
}

/** How many of how many, as a bar that turns to a warning near its end. */
function Filled({ n, of }: { n: number; of: number }) {
  const share = of > 0 ? Math.min(1, n / of) : 0;
  return (
    <span class="filled">
      <span class="num">{of > 0 ? T.figures.of(thousands(n), thousands(of)) : thousands(n)}</span>
      {of > 0 && <span class={`meter ${share > 0.8 ? "c-bad" : share > 0.5 ? "c-warn" : "c-busy"}`} aria-hidden="true"><span style={{ width: `${Math.max(share > 0 ? 2 : 0, 100 * share)}%` }} /></span>}
    </span>
  );
}

/** The last minute of a rate. */
function Spark({ values, label }: { values: number[]; label: string }) {
  const top = Math.max(1, ...values);
  const points = values.map((v, i) => `${(100 * (i + LOOKS_MAX - values.length)) / (LOOKS_MAX - 1)},${22 - (20 * v) / top}`).join(" ");
  return <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>{values.length > 1 && <polyline points={points} />}</svg>;
}

function Part({ title, children }: { title: string; children: [string, ComponentChildren][] }) {
  return (
    <div class="stack tight" role="group" aria-label={title}>
      <h3 class="minor">{title}</h3>
      <dl class="facts">{children.flatMap(([name, value]) => [<dt key={`${name} `}>{name}</dt>, <dd key={name} class="num">{value}</dd>])}</dl>
    </div>
  );
}

const seconds = (s: number | undefined): string => (s === undefined ? T.figures.nothing : s === Infinity ? T.figures.longer : s < 0.01 ? `${s * 1000} ms` : duration(s * 1000));
const alarm = (n: number): ComponentChildren => (n > 0 ? <strong class="c-bad">{thousands(n)}</strong> : "0");

export function HostFigures({ look }: { look: Look }) {
  const { figures } = look;
  const f = figures[figures.length - 1] as Figures;
  const first = figures[0];
  const rates = figures.slice(1).map((g, i) => g.rate("wopr_log_events_total", figures[i]) ?? 0);
  const persecond = (name: string): string => {
    const rate = f.rate(name, first);
    return rate === undefined ? "–" : T.figures.second(rate >= 100 ? thousands(Math.round(rate)) : rate.toFixed(1));
  };
  const times = (name: string): [string, ComponentChildren][] => [[T.figures.half, seconds(f.quantile(name, 0.5, first))], [T.figures.most, seconds(f.quantile(name, 0.99, first))]];
  const refused = ([["wopr_http_refused_total", T.figures.requests], ["wopr_commands_refused_total", T.figures.commands], ["wopr_log_plans_refused_total", T.figures.plans]] as const)
    .flatMap(([name, what]) => f.parts(name, "reason").map(([reason, n]): [string, ComponentChildren] => [`${what}: ${reason.replaceAll("_", " ")}`, thousands(n)]));
  const oldest = Math.max(0, ...f.parts("wopr_task_oldest_seconds", "type").map(([, s]) => s));
  return (
    <section class="card" aria-labelledby="figures-title">
      <header class="apart"><h2 id="figures-title">{T.figures.title}</h2><span class="soft small">{T.figures.scope}</span></header>
      <div class="body parts">
        <Part title={T.figures.runs}>{[[T.figures.active, <Filled n={f.sum("wopr_runs_active")} of={f.sum("wopr_runs_active_limit")} />], [T.figures.ready, thousands(f.sum("wopr_ready_queue_length"))],
          [T.figures.timers, thousands(f.sum("wopr_timers"))], [T.figures.created, persecond("wopr_runs_created_total")]]}</Part>
        <Part title={T.figures.commits}>{[[T.figures.events, <span class="filled">{persecond("wopr_log_events_total")}<Spark values={rates} label={T.figures.minute} /></span>], [T.figures.queue, <Filled n={f.sum("wopr_log_queue_length")} of={f.sum("wopr_log_queue_limit")} />],
          ...times("wopr_log_commit_seconds"), [T.figures.slow, alarm(f.sum("wopr_log_slow_commits_total"))], [T.figures.usable, f.sum("wopr_store_usable") > 0 ? T.figures.yes : <strong class="c-bad">{T.figures.no}</strong>]]}</Part>
        <Part title={T.figures.streams}>{[[T.figures.open, <Filled n={f.sum("wopr_streams")} of={f.sum("wopr_streams_limit")} />], ...times("wopr_stream_delivery_seconds"),
          [T.figures.behind, thousands(f.sum("wopr_stream_readers_behind"))], [T.figures.backlog, bytes(f.sum("wopr_stream_backlog_bytes"))]]}</Part>
        <Part title={T.figures.tasks}>{[[T.operate.queued, thousands(f.sum("wopr_tasks_ready"))], [T.operate.claimed, thousands(f.sum("wopr_tasks_leased"))], [T.figures.claims, thousands(f.sum("wopr_task_claims_waiting"))],
          [T.figures.oldest, oldest > 0 ? duration(oldest * 1000) : "–"], [T.figures.lost, alarm(f.sum("wopr_task_leases_lost_total"))]]}</Part>
        <Part title={T.operate.webhooks}>{[[T.figures.registered, thousands(f.sum("wopr_webhooks"))], [T.figures.delivered, thousands(f.sum("wopr_webhook_deliveries_total", "result", "delivered"))],
          [T.figures.failed, thousands(f.sum("wopr_webhook_deliveries_total", "result", "failed"))], [T.figures.dead, alarm(f.sum("wopr_webhook_dead_letters_total"))], [T.figures.breakers, alarm(f.sum("wopr_webhook_breakers_open"))],
          [T.figures.late, duration(f.sum("wopr_webhook_backlog_seconds") * 1000)]]}</Part>
        <Part title={T.figures.packs}>{[[T.operate.claimed, thousands(f.sum("wopr_wasm_active"))], [T.operate.queued, thousands(f.sum("wopr_wasm_waiting"))], [T.figures.ran, thousands(f.sum("wopr_wasm_invocations_total", "result", "reported"))],
          [T.figures.failed, thousands(f.sum("wopr_wasm_invocations_total", "result", "failed"))]]}</Part>
        <Part title={T.figures.store}>{[[T.figures.size, bytes(f.sum("wopr_store_database_bytes"))], [T.figures.wal, bytes(f.sum("wopr_store_wal_bytes"))], [T.figures.stored, thousands(f.sum("wopr_store_runs"))],
          [T.figures.unfinished, thousands(f.sum("wopr_store_runs_open"))], [T.figures.allEvents, thousands(f.sum("wopr_store_events"))]]}</Part>
        <Part title={T.figures.refusals}>{refused.length === 0 ? [[T.figures.none, "0"]] : refused}</Part>
      </div>
    </section>
  );
}

const STATES: Record<string, string> = { alive: "running", dead: "failed", unknown: "none" };

export function Hosts({ look }: { look: Look }) {
  return (
    <section class="card" aria-labelledby="hosts-title">
      <header><h2 id="hosts-title">{T.figures.hosts}</h2></header>
      <div style={{ overflowX: "auto" }} tabIndex={0} role="group" aria-labelledby="hosts-title">
        <table class="table" style={{ minWidth: "520px" }}>
          <thead><tr><th style={{ width: "42%" }}>{T.operate.name}</th><th>{T.figures.state}</th><th>{T.figures.holds}</th><th>{T.figures.lease}</th></tr></thead>
          <tbody>
            {look.hosts.map((h) => {
              const state = textOf(h["state"]);
              const until = Date.parse(textOf(h["leasedUntil"])) - now.value;
              return (
                <tr key={textOf(h["name"])}>
                  <td><span class="mono wrap">{textOf(h["name"])}</span>{h["self"] === true && <> <span class="tag">{T.figures.self}</span></>}</td>
                  <td><span class="row"><Mark status={STATES[state] ?? "none"} class={`c-${tone(STATES[state] ?? "none")}`} />{T.figures.states[state] ?? state}</span></td>
                  <td class="num">{`${thousands(numberOf(h["runs"]) ?? 0)}${look.counted ? "" : "+"}`}</td>
                  <td class="num">{until > 0 ? T.figures.until(ago(until)) : T.figures.over}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
