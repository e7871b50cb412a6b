// The workflow as a graph: colours, shapes and words by state, and the path that was taken.
import { Component, type JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { HEIGHT, WIDTH, type Placed } from "../../lib/ranks";
import type { Definition } from "../../lib/types";
import { T } from "../../text";
import { placed } from "../../ui/placed";
import { markPath, tone } from "../../ui/state";
import type { RunModel } from "./model";

interface Box {
  x: number;
  y: number;
  k: number; // pixels per unit
}
const NAME_CHARS = 19;
const NODES_SEEN_MAX = 700; // drawn at once

const short = (text: string): string => (text.length > NAME_CHARS ? `${text.slice(0, NAME_CHARS - 1)}…` : text);

function useSize(ref: { current: Element | null }): { w: number; h: number } {
  const [size, setSize] = useState({ w: 800, h: 460 });
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => entry && setSize({ w: entry.contentRect.width || 800, h: entry.contentRect.height || 460 }));
    if (ref.current) watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  return size;
}

export function Graph({ model, picked, pick }: { model: RunModel; picked: string | undefined; pick: (id: string | undefined) => void }) {
  model.version.value;
  const definition = model.definition.value;
  if (definition === null) return <p class="empty">{T.run.noGraph}</p>;
  if (!definition) return <p class="empty">{T.loading}</p>;
  return <Drawing key={definition.id} definition={definition} model={model} picked={picked} pick={pick} />;
}

function Drawing({ definition, model, picked, pick }: { definition: Definition; model: RunModel; picked: string | undefined; pick: (id: string | undefined) => void }) {
  const svg = useRef<SVGSVGElement>(null);
  const size = useSize(svg);
  const [at, setAt] = useState<Placed | null>(null);
  const [box, setBox] = useState<Box | null>(null);
  const drag = useRef<{ x: number; y: number; box: Box; moved: boolean } | null>(null);
  const index = useMemo(() => new Map(definition.nodes.map((n, i) => [n.id, i])), [definition]);
  const edges = useMemo(() => (definition.edges ?? []).filter((e) => index.has(e.sourceNodeId) && index.has(e.targetNodeId)), [definition]);
  useEffect(() => {
    let on = true;
    void placed({ nodes: definition.nodes.map((n) => n.id), edges: edges.map((e) => [index.get(e.sourceNodeId) as number, index.get(e.targetNodeId) as number]) })
      .then((p) => on && setAt(p));
    return () => void (on = false);
  }, [definition]);
  const fit = (): Box => {
    if (!at) return { x: 0, y: 0, k: 1 };
    const all = Math.min(1.2, size.w / at.width, size.h / at.height);
    const k = definition.nodes.length > NODES_SEEN_MAX ? Math.max(all, 0.35) : Math.max(all, 0.08);
    const seen = { w: size.w / k, h: size.h / k };
    return { k, x: at.width < seen.w ? (at.width - seen.w) / 2 : 0, y: at.height < seen.h ? (at.height - seen.h) / 2 : (at.height - seen.h) / 2 };
  };
  const view = box ?? fit();
  const zoom = (by: number, cx = size.w / 2, cy = size.h / 2): void => {
    const least = definition.nodes.length > NODES_SEEN_MAX ? 0.25 : 0.05;
    const k = Math.max(least, Math.min(2.5, view.k * by));
    setBox({ k, x: view.x + cx / view.k - cx / k, y: view.y + cy / view.k - cy / k });
  };
  useEffect(() => {
    const el = svg.current;
    if (!el) return;
    const wheel = (e: WheelEvent): void => {
      if (!e.ctrlKey && !e.metaKey) return; // the page scrolls
      e.preventDefault();
      const r = el.getBoundingClientRect();
      zoom(Math.exp(-e.deltaY / 300), e.clientX - r.left, e.clientY - r.top);
    };
    el.addEventListener("wheel", wheel, { passive: false });
    return () => el.removeEventListener("wheel", wheel);
  });
  const reveal = (i: number): void => {
    if (!at) return;
    const [x, y] = at.at[i] as [number, number];
    const left = view.x + WIDTH / 2, right = view.x + size.w / view.k - WIDTH / 2, top = view.y + HEIGHT, bottom = view.y + size.h / view.k - HEIGHT;
    if (x < left || x > right || y < top || y > bottom) setBox({ k: view.k, x: x - size.w / view.k / 2, y: y - size.h / view.k / 2 });
  };
  const toward = (from: number, key: string): number => {
    if (!at) return from;
    const [x, y] = at.at[from] as [number, number];
    const [ux, uy] = key === "ArrowRight" ? [1, 0] : key === "ArrowLeft" ? [-1, 0] : key === "ArrowDown" ? [0, 1] : [0, -1];
    let best = from;
    let least = Infinity;
    at.at.forEach(([a, b], i) => {
      const along = (a - x) * ux + (b - y) * uy;
      const aside = Math.abs((a - x) * uy) + Math.abs((b - y) * ux);
      if (i !== from && along > 1 && along + 2 * aside < least) [best, least] = [i, along + 2 * aside];
    });
    return best;
  };
  const [cursor, setCursor] = useState(0);
  const keys = (e: KeyboardEvent, i: number): void => {
    if (e.key.startsWith("Arrow")) {
      e.preventDefault();
      const to = toward(i, e.key);
      setCursor(to);
      reveal(to);
      requestAnimationFrame(() => requestAnimationFrame(() => svg.current?.querySelector<SVGElement>(`[data-n="${to}"]`)?.focus()));
    } else if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      toggle(i);
    } else if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 1.25 : 0.8);
  };
  const stateOf = (id: string): string => model.fold.nodeStatus(id);
  const drawn = (i: number): JSX.Element => {
    const n = definition.nodes[i] as Definition["nodes"][number];
    const [x, y] = (at as Placed).at[i] as [number, number];
    return <Node key={n.id} i={i} name={n.name ?? n.id} x={x} y={y} state={stateOf(n.id)} attempt={model.fold.nodes.get(n.id)?.attempt ?? 0} picked={n.id === picked} tab={i === tab} />;
  };
  const nodeOf = (e: Event): number | undefined => {
    const on = (e.target as Element).closest("[data-n]");
    return on ? Number(on.getAttribute("data-n")) : undefined;
  };
  const toggle = (i: number): void => {
    const id = definition.nodes[i]?.id;
    pick(id === picked ? undefined : id);
  };
  const seen = (x: number, y: number, room: number): boolean =>
    x > view.x - room && x < view.x + size.w / view.k + room && y > view.y - room && y < view.y + size.h / view.k + room;
  const tab = definition.nodes[cursor] ? cursor : 0;
  return (
    <>
      <svg class="graph" ref={svg} role="group" aria-label={T.run.graphLabel(definition.nodes.length)}
        onPointerDown={(e) => {
          drag.current = { x: e.clientX, y: e.clientY, box: view, moved: false };
        }}
        onPointerMove={(e) => {
          const d = drag.current;
          if (!d || (!d.moved && Math.hypot(e.clientX - d.x, e.clientY - d.y) < 4)) return;
          if (!d.moved) svg.current?.setPointerCapture(e.pointerId);
          d.moved = true;
          setBox({ k: d.box.k, x: d.box.x - (e.clientX - d.x) / d.box.k, y: d.box.y - (e.clientY - d.y) / d.box.k });
        }}
        onFocusIn={(e) => nodeOf(e) !== undefined && setCursor(nodeOf(e) as number)}
        onKeyDown={(e) => nodeOf(e) !== undefined && keys(e, nodeOf(e) as number)}
        onClick={(e) => nodeOf(e) !== undefined && !drag.current?.moved && toggle(nodeOf(e) as number)}
        onPointerUp={() => (drag.current = null)} onPointerCancel={() => (drag.current = null)}>
        <defs>
          {["", "on"].map((kind) => (
            <marker key={kind} id={`tip${kind}`} class={kind} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.500L8 4 0 7.500z" /></marker>
          ))}
        </defs>
        {at && (
          <g transform={`scale(${view.k}) translate(${-view.x} ${-view.y})`}>
            {edges.map((edge, i) => {
              const line = at.lines[i] as number[];
              const x0 = Math.min(line[0] as number, line[line.length - 2] as number), x1 = Math.max(line[0] as number, line[line.length - 2] as number);
              if (x1 < view.x || x0 > view.x + size.w / view.k) return null;
              if (edges.length > NODES_SEEN_MAX && !seen(line[0] as number, line[1] as number, WIDTH) && !seen(line[line.length - 2] as number, line[line.length - 1] as number, WIDTH)) return null;
              const from = stateOf(edge.sourceNodeId), to = stateOf(edge.targetNodeId);
              const taken = from !== "none" && from !== "pending" && to !== "none" && to !== "skipped" && to !== "cancelled" && (from === "completed" || from === "failed" || from === "running");
              return <Edge key={i} line={line} taken={taken} />;
            })}
            {definition.nodes.map((_, i) => {
              const [x, y] = at.at[i] as [number, number];
              return i === tab || seen(x, y, WIDTH) ? drawn(i) : null;
            })}
          </g>
        )}
      </svg>
      {!at && <p class="empty" style={{ position: "absolute", inset: 0 }}>{T.run.laying}</p>}
      {at?.plain && <p class="soft small" style={{ position: "absolute", left: "8px", right: "8px", bottom: "8px", pointerEvents: "none" }}>{T.run.plain}</p>}
      <div class="graph-tools">
        <button type="button" class="btn tiny" aria-label={T.run.zoomIn} title={T.run.zoomIn} onClick={() => zoom(1.3)}>+</button>
        <button type="button" class="btn tiny" aria-label={T.run.zoomOut} title={T.run.zoomOut} onClick={() => zoom(1 / 1.3)}>−</button>
        <button type="button" class="btn tiny" onClick={() => setBox(null)}>{T.run.fit}</button>
      </div>
    </>
  );
}

/** What has the same look as before is passed over. */
class Kept<P> extends Component<P> {
  override shouldComponentUpdate(next: P): boolean {
    for (const name in next) if (next[name] !== (this.props as P)[name]) return true;
    return false;
  }
  override render(): JSX.Element | null {
    return null;
  }
}

class Edge extends Kept<{ line: number[]; taken: boolean }> {
  override render(): JSX.Element {
    const { line, taken } = this.props;
    const back = (line[line.length - 2] as number) < (line[0] as number);
    return <path class={`edge ${taken ? "taken" : ""} ${back ? "loop" : ""}`} d={curve(line)} marker-end={`url(#tip${taken ? "on" : ""})`} />;
  }
}

class Node extends Kept<{ i: number; name: string; x: number; y: number; state: string; attempt: number; picked: boolean; tab: boolean }> {
  override render(): JSX.Element {
    const { i, name, x, y, state, attempt, picked, tab } = this.props;
    const word = T.node[state] ?? state;
    return (
      <g data-n={i} class={`node s-${state} c-${tone(state)} ${picked ? "picked" : ""}`} transform={`translate(${x - WIDTH / 2} ${y - HEIGHT / 2})`}
        role="button" tabindex={tab ? 0 : -1} aria-pressed={picked} aria-label={`${name} ${word}${attempt > 0 ? `, ${T.run.attempts(attempt + 1)}` : ""}`}>
        <rect class="box" width={WIDTH} height={HEIGHT} rx="8" />
        <g transform="translate(10 14)" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">
          <circle cx="8" cy="8" r="7" stroke-width="1.25" /><path d={markPath(state)} fill={state === "running" ? "currentColor" : "none"} />
        </g>
        <text x="36" y="19">{short(name)}</text>{" "}
        <text class="sub" x="36" y="34">{`${word}${attempt > 0 ? ` · ${attempt + 1}×` : ""}`}</text>
      </g>
    );
  }
}

/** Through the points, without corners. */
function curve(line: number[]): string {
  const p = (i: number): [number, number] => [line[2 * i] as number, line[2 * i + 1] as number];
  const n = line.length / 2;
  let d = `M${p(0).join(" ")}`;
  if (n === 2) {
    const [a, b] = [p(0), p(1)];
    const mid = (a[0] + b[0]) / 2;
    return `${d}C${mid} ${a[1]} ${mid} ${b[1]} ${b.join(" ")}`;
  }
  for (let i = 1; i < n - 1; i++) {
    const [a, b] = [p(i), p(i + 1)];
    const end: [number, number] = i === n - 2 ? b : [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    d += `Q${a.join(" ")} ${end.join(" ")}`;
  }
  return d;
}
