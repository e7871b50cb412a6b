// Whatever a page shows as text, from wherever it comes, is visible text.  What controls hold stays as it was typed.
import { options, type VNode } from "preact";
import { visible } from "../lib/visible";

const SAID = ["title", "aria-label", "placeholder"]; // attributes that are shown, or read out

const before = options.vnode;
options.vnode = (vnode: VNode): void => {
  const node = vnode as unknown as { type: unknown; props: unknown };
  if (node.type === null && typeof node.props === "string") node.props = visible(node.props); // a text is a node of its own
  else if (typeof node.type === "string") {
    const props = node.props as Record<string, unknown>;
    for (const name of SAID) if (typeof props[name] === "string") props[name] = visible(props[name]);
  }
  before?.(vnode);
};
