// Where the nodes of a graph are drawn: carefully where that takes a moment, else by ranks.
import { graphlib, layout } from "@dagrejs/dagre";
import { byRanks, GAP_X, GAP_Y, HEIGHT, length, WIDTH, type Placed, type Request } from "./ranks";

const DAGRE_NODES_MAX = 400; // beyond, its time grows faster than anybody waits
const DAGRE_LENGTH_MAX = 5000; // of all edges, in ranks: it places a point of each in every rank

export function place(q: Request): Placed {
  if (q.nodes.length > DAGRE_NODES_MAX) return byRanks(q);
  try {
    if (length(q) <= DAGRE_LENGTH_MAX) return byDagre(q);
  } catch {
    // it recurses over the graph
  }
  return { ...byRanks(q), plain: true };
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
