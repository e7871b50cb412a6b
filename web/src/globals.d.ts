// What tools/web.py provides, and what the vendored packages do not declare.
declare const LAYOUT_URL: string;
declare module "pages" {
  const pages: import("./app/page").Page[];
  export default pages;
}
declare module "*.css";
declare module "@dagrejs/dagre" {
  interface Point { x: number; y: number }
  export namespace graphlib {
    class Graph {
      constructor(options?: { multigraph?: boolean });
      setGraph(label: object): this;
      graph(): { width: number; height: number };
      setDefaultEdgeLabel(make: () => object): this;
      setNode(id: string, label: { width: number; height: number }): this;
      setEdge(from: string, to: string, label: object, name: string): this;
      node(id: string): Point;
      edge(from: string, to: string, name: string): { points: Point[] };
    }
  }
  export function layout(graph: graphlib.Graph): void;
}
interface TrustedScriptURL { readonly url: never }
interface Window {
  trustedTypes?: { createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): TrustedScriptURL } };
}
