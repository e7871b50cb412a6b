// The frame around all pages: signing in, the menu, what is said when the host is away.
import { computed, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import pages from "pages";
import { href, route } from "./app/route";
import { awaySince, caller, keptKey, may, now, refused, signIn, signOut } from "./app/session";
import { ApiError } from "./lib/api";
import { duration } from "./lib/time";
import { T, inWords } from "./text";
import { FieldBox, Toast, Wrong } from "./ui/parts";
import "./ui/focus";
import "./ui/shown";
import "./style.css";

const menu = pages.filter((p) => p.order !== undefined).sort((a, b) => (a.order as number) - (b.order as number));
const page = computed(() => pages.find((p) => p.route === (route.value.path[0] ?? "")));

/* the theme: the system's until somebody chooses */
type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];
const theme = signal<Theme>((localStorage.getItem("wopr.theme") as Theme | null) ?? "auto");
theme.subscribe((name) => {
  if (name === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = name;
  localStorage.setItem("wopr.theme", name);
});

function Brand() {
  return (
    <a class="brand" href="#/" aria-label={T.product}>
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="#3654d1" />
        <path d="M10 10v8a4 4 0 0 0 4 4h4" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" />
        <g fill="#fff"><circle cx="10" cy="9" r="3" /><circle cx="22" cy="22" r="3" /><circle cx="22" cy="10" r="3" opacity=".55" /></g>
      </svg>
      <span>{T.product}</span>
    </a>
  );
}

function ThemeButton() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;
  return (
    <button type="button" class="btn quiet" title={T.theme[theme.value]} aria-label={T.theme[theme.value]} onClick={() => (theme.value = next)}>
      <svg class="mark" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
        {theme.value === "light" ? <><circle cx="8" cy="8" r="3" /><path d="M8 1.5v1.8M8 12.7v1.8M1.5 8h1.8M12.7 8h1.8M3.4 3.4l1.3 1.3M11.3 11.3l1.3 1.3M12.6 3.4l-1.3 1.3M4.7 11.3l-1.3 1.3" stroke-linecap="round" /></>
          : theme.value === "dark" ? <path d="M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.500 6.500z" /> : <><circle cx="8" cy="8" r="5.75" /><path d="M8 2.250a5.750 5.750 0 0 1 0 11.500z" fill="currentColor" /></>}
      </svg>
    </button>
  );
}

function Gate() {
  const [key, setKey] = useState("");
  const [keep, setKeep] = useState(false);
  const [busy, setBusy] = useState(false);
  const under = useRef(false); // at once, busy with the next drawing
  const [wrong, setWrong] = useState("");
  const enter = async (text: string, stay: boolean): Promise<void> => {
    if (under.current) return;
    under.current = true;
    setBusy(true);
    setWrong("");
    try {
      await signIn(text, stay);
    } catch (e) {
      setWrong(e instanceof ApiError ? inWords(e) : String(e));
      setBusy(false);
      under.current = false;
    }
  };
  useEffect(() => {
    const kept = keptKey();
    if (kept) void enter(kept, true);
  }, []);
  return (
    <main class="gate">
      <form class="card" onSubmit={(e) => {
        e.preventDefault();
        if (key.trim() === "") setWrong(T.gate.empty);
        else void enter(key.trim(), keep);
      }}>
        <div class="row apart"><Brand /><ThemeButton /></div>
        <div class="stack tight">
          <h1>{T.gate.title}</h1>
          <p class="soft">{T.gate.lead}</p>
        </div>
        {refused.value && !wrong && <p class="notice warn" role="alert">{T.gate.expired(refused.value.message)}</p>}
        <FieldBox label={T.gate.key} hint={T.gate.hint} wrong={wrong}>
          {({ id, describedBy }) => (
            <input id={id} class="in mono" type="password" autocomplete="off" spellcheck={false} autofocus value={key} aria-invalid={wrong !== ""}
              aria-describedby={describedBy} onInput={(e) => setKey(e.currentTarget.value)} />
          )}
        </FieldBox>
        <div class="stack tight">
          <label class="check"><input type="checkbox" checked={keep} onChange={(e) => setKeep(e.currentTarget.checked)} />{T.gate.keep}</label>
          <p class="soft small">{T.gate.keepHint}</p>
        </div>
        <button class="btn main-act" aria-disabled={busy}>{T.gate.enter}</button>
      </form>
    </main>
  );
}

function Top() {
  const who = caller.value;
  const here = useRef<HTMLElement>(null);
  useEffect(() => here.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [page.value]); // a narrow menu scrolls
  return (
    <header class="top">
      <div>
        <Brand />
        <nav class="menu" aria-label={T.menu} ref={here}>
          {menu.filter((p) => may(...p.scopes) && (p.offered?.() ?? true)).map((p) => {
            const n = p.badge?.() ?? 0;
            return (
              <a key={p.route} href={href(p.route ? [p.route] : [])} aria-current={page.value === p ? "page" : undefined}>
                {p.title}{n > 0 && <span class="count">{n > 99 ? "99+" : n}</span>}
              </a>
            );
          })}
        </nav>
        <div class="who">
          <span class="name clip" title={who?.keyId}>{who?.tenant}{who?.mode === "test" ? " · test" : ""}</span>
          <ThemeButton />
          <button type="button" class="btn quiet" aria-label={T.signOut} title={T.signOut} onClick={signOut}>
            <svg class="mark" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M6.500 2.500h-3v11h3M10 5l3 3-3 3M13 8H6.500" /></svg>
            <span class="wide-only">{T.signOut}</span>
          </button>
        </div>
      </div>
    </header>
  );
}

const missing = computed(() => (awaySince.value > 0 ? now.value - awaySince.value : 0));
const Away = () => (missing.value > 1500 ? <div class="bar" role="alert">{T.away(duration(Math.floor(missing.value / 1000) * 1000))}</div> : null);

function Body() {
  const [error, reset] = useErrorBoundary();
  const p = page.value;
  useEffect(() => {
    document.title = p ? `${p.title} · ${T.product}` : T.product;
    reset();
  }, [p]);
  if (error) return <Wrong error={new ApiError(-1, "page", String(error))} again={reset} />;
  if (!p) return <div class="empty">{T.pageGone}</div>;
  if (!may(...p.scopes)) return <div class="notice warn">{T.notAllowed(p.scopes.join(", "))}</div>;
  const View = p.view;
  return <View path={route.value.path.slice(1)} />;
}

function App() {
  if (!caller.value) return <Gate />;
  return (
    <>
      <a class="skip" href="#content" onClick={(e) => (e.preventDefault(), document.getElementById("content")?.focus())}>{T.skip}</a>
      <Top />
      <Away />
      <main class="main" id="content" tabIndex={-1} style={{ outline: "none" }}><Body /></main>
      <Toast />
    </>
  );
}

render(<App />, document.getElementById("app") as HTMLElement);
