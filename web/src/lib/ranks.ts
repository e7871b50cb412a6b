// Nodes of a graph in ranks: cheap for a graph of any size and density.
export interface Request {
  nodes: string[];
  edges: [number, number][]; // indices of nodes
}
export interface Placed {
  width: number;
  height: number;
  at: [number, number][]; // centres, by node
  lines: number[][]; // x, y, x, y ..., by edge
  plain?: boolean; // it was too much to be laid out with care
}
export const WIDTH = 184;
export const HEIGHT = 44;
export const GAP_X = 64;
export const GAP_Y = 20;
const MARGIN = 24;
const BOW = 16;
const BOW_MAX = 240;

/** In time that is linear in the graph: ranks by the longest path, in a rank by the mean of what comes before. */
export function byRanks({ nodes, edges }: Request): Placed {
  const into: number[][] = nodes.map(() => []);
  for (const [a, b] of edges) (into[b] as number[]).push(a);
  const rank = ranks({ nodes, edges });
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
  const tallest = columns.reduce((most, column) => Math.max(most, column.length), 0);
  const over = edges.reduce((most, [a, b]) => Math.max(most, bow((rank[b] as number) - (rank[a] as number))), 0);
  const x = (i: number): number => MARGIN + WIDTH / 2 + (rank[i] as number) * (WIDTH + GAP_X);
  const y = (i: number): number => MARGIN + over + HEIGHT / 2 + ((row[i] as number) + tallest / 2) * (HEIGHT + GAP_Y);
  return {
    width: 2 * MARGIN + columns.length * (WIDTH + GAP_X) - GAP_X,
    height: 2 * MARGIN + over + tallest * (HEIGHT + GAP_Y) - GAP_Y,
    at: nodes.map((_, i) => [x(i), y(i)]),
    lines: edges.map(([a, b]) => {
      const [x0, y0, x1, y1] = [x(a) + WIDTH / 2, y(a), x(b) - WIDTH / 2, y(b)];
      const height = bow((rank[b] as number) - (rank[a] as number));
      if (height === 0) return [x0, y0, x1, y1];
      const top = Math.min(y0, y1) - HEIGHT / 2 - height;
      return x1 > x0 ? [x0, y0, (x0 + x1) / 2, top, x1, y1] : [x0, y0, x0 + GAP_X / 2, top, x1 - GAP_X / 2, top, x1, y1];
    }),
  };
}

/** How far an edge over so many ranks is led above its nodes: to the next rank it is straight, back or to itself it goes over them. */
function bow(span: number): number {
  return span === 1 ? 0 : Math.min(BOW_MAX, BOW * Math.max(1, Math.abs(span)));
}

/** Of all edges together, in ranks. */
export function length(q: Request): number {
  const rank = ranks(q);
  return q.edges.reduce((sum, [a, b]) => sum + Math.abs((rank[b] as number) - (rank[a] as number)), 0);
}

/** Longest paths from the entries; edges that close a circle do not count. */
function ranks({ nodes, edges }: Request): Int32Array {
  const n = nodes.length;
  const out: number[][] = nodes.map(() => []);
  for (const [a, b] of edges) (out[a] as number[]).push(b);
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
  return rank;
}
