// The focus stays in the page: when the control that had it is gone, the list has it that the control was in, else the heading of the page.
let last: HTMLElement | null = null; // had the focus last
let around: HTMLElement | null = null; // its list

addEventListener("pointerdown", () => (last = null), true); // who leaves a control for nothing wants it so
addEventListener("focusin", (e) => {
  last = e.target as HTMLElement;
  around = last.parentElement?.closest<HTMLElement>("[tabindex]:not(main)") ?? null;
});

/** After a change of the document. */
function keep(): void {
  if (!last || last.isConnected || (document.activeElement ?? document.body) !== document.body) return;
  const to = around?.isConnected ? around : document.querySelector<HTMLElement>("dialog[open] h2") ?? document.querySelector<HTMLElement>("main h1") ?? document.querySelector<HTMLElement>("main h2");
  if (!to) return; // the page is still loading: with its heading
  if (!to.hasAttribute("tabindex")) to.tabIndex = -1;
  to.focus({ preventScroll: true });
}

new MutationObserver(keep).observe(document.getElementById("app") as HTMLElement, { childList: true, subtree: true });
