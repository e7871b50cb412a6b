// What the tests of the pages share: the browser, a page that is signed in, requests past the page, commands to the world.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";

export const url = process.env.WOPR_URL;
export const key = process.env.WOPR_API_KEY;
export const WAIT_MS = 30000; // for what must happen, on however busy a machine
const PROFILE = fs.mkdtempSync(path.join(os.tmpdir(), "wopr-dashboard-"));
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--disable-dev-shm-usage", "--lang=en-US", "--js-flags=--expose-gc"];

export const browser = await puppeteer.launch({ executablePath: process.env.BROWSER, headless: true, userDataDir: PROFILE, args: FLAGS, protocolTimeout: 120000 });
export async function close() {
  await browser.close();
  fs.rmSync(PROFILE, { recursive: true, force: true });
}

export async function world(command, more = {}) {
  const answer = await fetch(process.env.WORLD_CONTROL, { method: "POST", body: JSON.stringify({ do: command, ...more }) });
  return (await answer.json()).answer;
}

/** A request past the page. */
export async function ask(method, route, body, as = key) {
  const answer = await fetch(url + route, { method, headers: { authorization: `Bearer ${as}`, "content-type": "application/json" }, body: body && JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, body: text ? JSON.parse(text) : null };
}
export async function start(workflowId, inputs = {}, more = {}) {
  const got = await ask("POST", "/v1/runs", { workflowId, inputs, ...more });
  assert.equal(got.status, 201, JSON.stringify(got.body));
  return got.body.runId;
}
export async function put(definition) {
  const got = await ask("PUT", `/v1/host/wopr/workflows/${encodeURIComponent(definition.id)}?force=true`, definition);
  assert.equal(got.status, 200, JSON.stringify(got.body).slice(0, 500));
}
export async function until(what, check, limit = WAIT_MS) {
  for (const end = Date.now() + limit; ; ) {
    const got = await check();
    if (got) return got;
    assert(Date.now() < end, `did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
export const status = async (run) => (await ask("GET", `/v1/runs/${run}`)).body.status;
export const reached = (run, wanted) => until(`run ${run} is ${wanted}`, async () => (await status(run)) === wanted);

/** A tab of its own storage.  What goes wrong in it is kept in page.wrong: errors, and what the policy of the page has refused. */
export async function tab({ as = key, hash = "#/", width = 1280, height = 900, theme = "light", signed = true } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.wrong = [];
  page.on("pageerror", (e) => page.wrong.push(String(e.stack ?? e)));
  page.on("console", (m) => m.type() === "error" && !/Failed to load resource|ERR_/.test(m.text()) && page.wrong.push(m.text()));
  page.on("request", (r) => !r.url().startsWith(url) && page.wrong.push(`asked ${r.url()}`));
  page.on("dialog", (d) => (page.wrong.push(`dialog: ${d.message()}`), d.dismiss()));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }, { name: "prefers-reduced-motion", value: "reduce" }]);
  await page.evaluateOnNewDocument((kept) => {
    if (kept) sessionStorage.setItem("wopr.key", kept);
    window.refusedByPolicy = [];
    addEventListener("securitypolicyviolation", (e) => window.refusedByPolicy.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  }, signed ? as : "");
  await page.goto(`${url}/ui/${hash}`);
  await page.waitForSelector(signed ? "main.main" : "main.gate", { timeout: WAIT_MS });
  page.end = async () => {
    const refused = await page.evaluate(() => window.refusedByPolicy);
    await context.close();
    assert.deepEqual([...page.wrong, ...refused], []);
  };
  return page;
}
export const show = (page, hash) => page.evaluate((to) => void (location.hash = to), hash);

/** The control with this role and name, as screen readers find it. */
export async function find(page, role, name, within = "") {
  const handle = await page.waitForSelector(`${within} ::-p-aria([name="${name}"][role="${role}"])`.trim(), { timeout: WAIT_MS, visible: true });
  return handle;
}
/** As soon as it takes it: a question that has just taken the place of another does not. */
export async function press(page, name, role = "button") {
  const control = await find(page, role, name);
  await page.waitForFunction((e) => !e.isConnected || !(e.disabled || e.getAttribute("aria-disabled") === "true"), { timeout: WAIT_MS }, control);
  await control.click();
}
export async function type(page, name, text, role = "textbox") {
  const box = await find(page, role, name);
  await box.click();
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  await page.keyboard.press("Backspace");
  await box.type(text);
}
export const textOf = (page, selector = "body") => page.$eval(selector, (e) => e.innerText);
export const sees = (page, text, limit = WAIT_MS) =>
  page.waitForFunction((wanted) => document.body.innerText.includes(wanted), { timeout: limit, polling: 50 }, text)
    .catch(async () => assert.fail(`the page does not show "${text}" but\n${(await textOf(page)).slice(0, 3000)}`));
export const seesNot = (page, text) => page.waitForFunction((wanted) => !document.body.innerText.includes(wanted), { timeout: WAIT_MS, polling: 50 }, text);
export const row = (run) => `a[href="#/run/${run}"]`;

/** With the keyboard alone: Tab until the control has the focus. */
export async function tabTo(page, name, most = 120) {
  for (let i = 0; i < most; i++) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate(() => {
      const e = document.activeElement;
      return (e?.getAttribute("aria-label") || e?.labels?.[0]?.innerText || e?.innerText || "").trim();
    });
    if (now === name) return;
  }
  assert.fail(`no control "${name}" within ${most} steps of Tab`);
}
