// What a page is.  A folder of pages/ whose page.tsx exports one by default is on the dashboard; nothing else has to name it.
import type { JSX } from "preact";

export interface Page {
  /** First segment of its address; "" is the page that one begins with. */
  route: string;
  title: string;
  /** Its place in the menu; none: it is reached from other pages. */
  order?: number;
  /** What a key must be allowed before the page is offered. */
  scopes: string[];
  /** Does the host have what it shows? */
  offered?: () => boolean;
  /** A number beside its name in the menu. */
  badge?: () => number;
  view: (props: { path: string[] }) => JSX.Element;
}

export const definePage = (page: Page): Page => page;
