// Where the nodes of a graph are drawn.
import { graphlib, layout } from "@dagrejs/dagre";

export interface Request {
  nodes: string[];
  edges: [number, number][]; // indices of nodes
}
export interface Placed {
  width: number;
  height: number;
  at: [number, number][]; // centres, by node
  lines: number[][]; // x, y, x, y ..., by edge
}
export const WIDTH = 184;
export const HEIGHT = 44;
const GAP_X = 64;
const GAP_Y = 20;
const DAGRE_NODES_MAX = 400; // beyond, its time grows faster than anybody waits

export function place(q: Request): Placed {
  return q.nodes.length <= DAGRE_NODES_MAX ? byDagre(q) : byRanks(q);
}

function byDagre({ nodes, edges }: Request): Placed {
  const g = new graphlib.Graph({ multigraph: true }).setGraph({ rankdir: "LR", nodesep: GAP_Y, ranksep: GAP_X, edgesep: 12, marginx: 24, marginy: 24 });
  g.setDefaultEdgeLabel(() => ({}));
  nodes.forEach((_, i) => g.setNode(String(i), { width: WIDTH, height: HEIGHT }));
  edges.forEach(([a, b], i) => g.setEdge(String(a), String(b), {}, String(i)));
  layout(g);
  const { width, height } = g.graph();
  return {
    width, height,
    at: nodes.map((_, i) => [g.node(String(i)).x, g.node(String(i)).y]),
    lines: edges.map(([a, b], i) => {
      const points = g.edge(String(a), String(b), String(i)).points;
      const [from, to] = [g.node(String(a)), g.node(String(b))];
      if (to.x > from.x) { // from side to side
        points[0] = { x: from.x + WIDTH / 2, y: from.y };
        points[points.length - 1] = { x: to.x - WIDTH / 2, y: to.y };
      }
      return points.flatMap((p) => [p.x, p.y]);
    }),
  };
}

/** In time that is linear in the graph: ranks by the longest path, in a rank by the mean of what comes before. */
function byRanks({ nodes, edges }: Request): Placed {
  const out: number[][] = nodes.map(() => []);
  const into: number[][] = nodes.map(() => []);
  for (const [a, b] of edges) {
    (out[a] as number[]).push(b);
    (into[b] as number[]).push(a);
  }
  const { rank } = ranks(nodes.length, out);
  const columns: number[][] = [];
  nodes.forEach((_, i) => ((columns[rank[i] as number] ??= []).push(i)));
  const row = new Float64Array(nodes.length);
  columns.forEach((column) => {
    const mean = (i: number): number => {
      const before = (into[i] as number[]).filter((j) => (rank[j] as number) < (rank[i] as number));
      return before.length === 0 ? row[i] as number : before.reduce((sum, j) => sum + (row[j] as number), 0) / before.length;
    };
    const means = new Map(column.map((i) => [i, mean(i)]));
    column.sort((a, b) => (means.get(a) as number) - (means.get(b) as number) || a - b);
    column.forEach((i, k) => (row[i] = k - column.length / 2));
  });
  const tallest = Math.max(...columns.map((column) => column.length));
  const x = (i: number): number => 24 + WIDTH / 2 + (rank[i] as number) * (WIDTH + GAP_X);
  const y = (i: number): number => 24 + HEIGHT / 2 + ((row[i] as number) + tallest / 2) * (HEIGHT + GAP_Y);
  return {
    width: 48 + columns.length * (WIDTH + GAP_X) - GAP_X,
    height: 48 + tallest * (HEIGHT + GAP_Y) - GAP_Y,
    at: nodes.map((_, i) => [x(i), y(i)]),
    lines: edges.map(([a, b]) => [x(a) + WIDTH / 2, y(a), x(b) - WIDTH / 2, y(b)]),
  };
}

/** Longest paths from the entries; edges that close a circle do not count. */
function ranks(n: number, out: number[][]): { rank: Int32Array } {
  const state = new Uint8Array(n); // 0 new, 1 on the path, 2 done
  const order: number[] = [];
  const back = new Set<number>(); // a * n + b
  const entered = new Int32Array(n);
  out.forEach((to) => to.forEach((b) => (entered[b] as number, (entered[b] = (entered[b] as number) + 1))));
  const starts = [...Array(n).keys()].sort((a, b) => Math.min(1, entered[a] as number) - Math.min(1, entered[b] as number) || a - b);
  for (const start of starts) {
    if (state[start] !== 0) continue;
    const stack: [number, number][] = [[start, 0]];
    state[start] = 1;
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as [number, number];
      const next = (out[top[0]] as number[])[top[1]++];
      if (next === undefined) {
        state[top[0]] = 2;
        order.push(top[0]);
        stack.pop();
      } else if (state[next] === 1) back.add(top[0] * n + next);
      else if (state[next] === 0) {
        state[next] = 1;
        stack.push([next, 0]);
      }
    }
  }
  const rank = new Int32Array(n);
  for (const a of order.reverse())
    for (const b of out[a] as number[]) if (!back.has(a * n + b)) rank[b] = Math.max(rank[b] as number, (rank[a] as number) + 1);
  return { rank };
}
