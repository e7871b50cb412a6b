// What a node reaches without going back: a fresh round of a loop begins with all of it (src/domain/sched_activation.c).
import type { Definition } from "./types";

/** The nodes that each node reaches over edges that close no circle, itself left out. */
export class Regions {
  private readonly out = new Map<string, string[]>();
  private readonly kept = new Map<string, string[]>();

  constructor(definition: Definition) {
    const edges = new Map<string, string[]>(definition.nodes.map((n) => [n.id, []]));
    for (const e of definition.edges ?? []) if (edges.has(e.targetNodeId)) edges.get(e.sourceNodeId)?.push(e.targetNodeId);
    const colour = new Map<string, "on" | "done">();
    const entered = new Set([...edges.values()].flat());
    for (const { id } of definition.nodes) if (!entered.has(id)) this.search(id, edges, colour);
    for (const { id } of definition.nodes) if (!colour.has(id)) this.search(id, edges, colour);
  }

  private search(root: string, edges: Map<string, string[]>, colour: Map<string, "on" | "done">): void {
    const stack: [string, number][] = [[root, 0]];
    colour.set(root, "on");
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as [string, number];
      const to = edges.get(top[0])?.[top[1]++];
      if (to === undefined) {
        colour.set(top[0], "done");
        stack.pop();
        continue;
      }
      if (colour.get(to) === "on") continue; // it goes back
      const list = this.out.get(top[0]);
      if (list) list.push(to);
      else this.out.set(top[0], [to]);
      if (colour.has(to)) continue;
      colour.set(to, "on");
      stack.push([to, 0]);
    }
  }

  of(head: string): string[] {
    let region = this.kept.get(head);
    if (region) return region;
    const seen = new Set([head]);
    region = [];
    for (let at: string | undefined = head, i = 0; at !== undefined; at = region[i++])
      for (const to of this.out.get(at) ?? []) {
        if (seen.has(to)) continue;
        seen.add(to);
        region.push(to);
      }
    this.kept.set(head, region);
    return region;
  }
}
