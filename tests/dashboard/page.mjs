// The pages in a browser, against a host that is killed, cut off, and shared with others.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, test } from "node:test";
import { ask, close, find, key, press, put, reached, row, sees, seesNot, show, start, status, tab, tabTo, textOf, type, until, url, world, WAIT_MS } from "./kit.mjs";

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FULL = process.env.WOPR_DASHBOARD_FULL === "1";
const LIMIT = { timeout: FULL ? 900000 : 120000 };
const EVIL = `"><img src=x onerror="window.ran=1"><script>window.ran=1</script>{{7*7}}\${7*7} javascript:window.ran=1 ' & \u202e\u0000`.replace("\u0000", "");
after(close);

const node = (id, typeId, more = {}) => ({ id, typeId, name: id, position: { x: 0, y: 0 }, config: {}, inputs: {}, ...more });
const workflow = (id, nodes, more = {}) => ({ id, name: id, version: "1.0", nodes, edges: [], triggers: [{ id: "manual", type: "manual", enabled: true }], variables: [], metadata: {}, settings: {}, ...more });
const chain = (nodes) => nodes.slice(1).map((n, i) => ({ id: `e${i}`, sourceNodeId: nodes[i].id, targetNodeId: n.id }));

/** A log of so many events: a mock model says so many words. */
const words = (n, delayMs = 0) => start("conformance-stream-text", {}, { configurable: { mockProvider: { id: "stream-text", config: { tokens: Array.from({ length: n }, (_, i) => (n > 10000 ? "w" : `w${i} `)), delayMsPerToken: delayMs } } } });
/** So many words, of three nodes at once: some 1,500 a second. */
const chorus = async (n) => {
  const config = { promptId: "conformance.stream-text-noop", expectsStreaming: true };
  await put(workflow("chorus", ["a", "b", "c"].map((id) => node(id, "core.ai.callPrompt", { config }))));
  return start("chorus", {}, { configurable: { mockProvider: { id: "stream-text", config: { tokens: Array.from({ length: Math.ceil(n / 3) }, (_, i) => `w${i} `), delayMsPerToken: 1 } } } });
};
const logOf = async (run) => {
  const events = [];
  for (;;) {
    const page = (await ask("GET", `/v1/runs/${run}/events/poll?timeout=1${events.length ? `&lastSequence=${events.length - 1}` : ""}`)).body;
    events.push(...page.events);
    if (page.isComplete || page.events.length === 0) return events;
  }
};
/** The sequences that the list shows, in the order in which they are shown. */
const shownSeqs = (page) => page.$$eval(".ev[data-seq]", (rows) => rows.map((r) => ({ seq: Number(r.dataset.seq), top: parseFloat(r.style.top), text: r.innerText })).sort((a, b) => a.top - b.top));

test("a key opens the dashboard, a wrong one says why, and it stays where its owner wants it", LIMIT, async () => {
  const page = await tab({ signed: false });
  await type(page, "API key", "hk_wrong_0123456789012345678901234567890");
  await press(page, "Sign in");
  await sees(page, "credential");
  await type(page, "API key", key);
  await page.keyboard.press("Enter");
  await page.waitForSelector("main.main");
  assert.equal(await page.evaluate(() => sessionStorage.getItem("wopr.key")), null);
  assert.equal(await page.evaluate(() => location.href.includes("hk_")), false);
  await page.reload();
  await page.waitForSelector("main.gate");
  await (await find(page, "checkbox", "Keep it until this tab is closed")).click();
  await type(page, "API key", key);
  await page.keyboard.press("Enter");
  await page.waitForSelector("main.main");
  await page.reload();
  await page.waitForSelector("main.main");
  await press(page, "Sign out");
  await page.waitForSelector("main.gate");
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.end();
});

test("the first view is quick", LIMIT, async () => {
  const page = await tab({ signed: false });
  const times = [];
  for (let i = 0; i < 5; i++) {
    await page.reload();
    await page.waitForSelector("main.gate");
    times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1));
  }
  console.log(`# first contentful paint after ${times.map((t) => t.toFixed(0)).join(", ")} ms`);
  if (FULL) assert(Math.min(...times) <= 200, String(times));
  await page.end();
});

test("runs appear, change and are filtered without a reload; filters are in the address", LIMIT, async () => {
  const page = await tab();
  const slow = await start("slow-pipeline", { delayMs: 600000 }, { tags: ["from-test"] });
  await page.waitForSelector(row(slow));
  await page.select("select", "running");
  await until("the address has the filter", () => page.evaluate(() => location.hash.includes("status=running")));
  await page.waitForSelector(row(slow));
  await type(page, "Tag", "from-test");
  await page.keyboard.press("Enter");
  const done = await start("hello");
  await page.reload();
  await page.waitForSelector(row(slow));
  assert.equal(await page.$(row(done)), null, "a completed run is not among the running ones");
  await ask("POST", `/v1/runs/${slow}/cancel`, {});
  await seesNot(page, slow);
  await press(page, "Clear filters");
  await type(page, "Search", done.slice(-10), "searchbox");
  await page.waitForFunction((a, b) => document.querySelector(a) && !document.querySelector(b), {}, row(done), row(slow));
  const failed = await start("conformance-failure");
  await type(page, "Search", "conformance_test_failure", "searchbox");
  await page.waitForSelector(row(failed));
  await page.end();
});

test("a browser whose clock is wrong shows the ages that the host would", LIMIT, async () => {
  const run = await start("slow-pipeline", { delayMs: 600000 }, { tags: ["clock"] });
  for (const offset of [86400000, -86400000]) {
    const page = await tab();
    await page.evaluateOnNewDocument((by) => {
      const Real = Date;
      window.Date = class extends Real {
        constructor(...args) {
          if (args.length > 0) super(...args);
          else super(Real.now() + by);
        }
        static now() {
          return Real.now() + by;
        }
      };
    }, offset);
    await show(page, "#/?tag=clock");
    await page.reload();
    await page.waitForSelector(row(run));
    await page.waitForFunction(() => /^(now|\d+ s)$/.test(document.querySelector("table.runs tbody time")?.innerText ?? ""), { timeout: 5000 });
    assert.match(await page.$eval("td.dur", (e) => e.innerText), /^[\d.]+ (ms|s)$/);
    await show(page, `#/run/${run}?picture=timeline`);
    await page.waitForSelector("#picture .lane");
    await page.waitForFunction(() => /^[\d.]+ (ms|s)$/.test(document.querySelector("#picture .axis > span").innerText), { timeout: 5000 });
    await sees(page, "Took");
    assert(!/ (h|d) /.test(await textOf(page, "main > .card .body")), await textOf(page, "main > .card .body"));
    await page.end();
  }
  await ask("POST", `/v1/runs/${run}/cancel`, {});
});

test("nothing moves under somebody who reads", LIMIT, async () => {
  const page = await tab();
  const first = await start("hello");
  const link = await page.waitForSelector(row(first));
  await (await page.$("table.runs tbody tr")).hover();
  const before = await link.boundingBox();
  const next = await start("hello");
  await sees(page, "newer run");
  assert.deepEqual(await (await page.$(row(first))).boundingBox().then((b) => b.x), before.x);
  assert.equal(await page.$(row(next)), null);
  await page.evaluate(() => [...document.querySelectorAll("button")].find((b) => b.innerText.includes("newer")).click());
  await page.waitForSelector(row(next));
  await page.end();
});

test("a workflow is started from a form of its inputs", LIMIT, async () => {
  await put(workflow("typed", [node("a", "core.noop")], {
    variables: [{ name: "amount", type: "number", required: true }, { name: "note", type: "string", defaultValue: "none" }, { name: "gift", type: "boolean" }, { name: "items", type: "array", defaultValue: [1] },
      { name: "pin", type: "string", sensitive: true }],
  }));
  const page = await tab({ hash: "#/start?workflow=typed" });
  await press(page, "Start the run");
  await sees(page, "This is needed.");
  await type(page, "amount (required)", "twelve");
  await sees(page, "This is not a number.");
  await type(page, "amount (required)", "12345678901234567890");
  await type(page, "items as JSON", '{"b": 2}');
  await press(page, "Start the run");
  await sees(page, "do not fit the variables of the workflow: inputs.items (");
  await type(page, "items as JSON", '["a", {"b": 2}]');
  await type(page, "pin", "secret-pin");
  await type(page, "Tags", "x, y z");
  await page.evaluate(() => document.querySelector("main details").setAttribute("open", ""));
  const line = await textOf(page, ".cmd code");
  assert(line.includes("12345678901234567890") && !line.includes("secret-pin") && !line.includes(key), line);
  await press(page, "Start the run");
  await page.waitForFunction(() => location.hash.startsWith("#/run/"), { timeout: 4000 }).catch(async () => assert.fail((await textOf(page, "main")).slice(-1500)));
  const run = await page.evaluate(() => location.hash.slice(6, 36));
  await reached(run, "completed");
  const snapshot = await fetch(`${url}/v1/runs/${run}`, { headers: { authorization: `Bearer ${key}` } }).then((r) => r.text());
  assert(snapshot.includes('"amount":12345678901234567890'), "a number keeps its digits");
  assert(snapshot.includes('"items":["a",{"b":2}]') && snapshot.includes('"tags":["x","y z"]'), snapshot);
  await sees(page, "Completed");
  await show(page, `#/run/${run}?tab=state`);
  await sees(page, "12345678901234567890");
  await page.end();
});

test("numbers that no double holds are shown, edited and sent as they are written", LIMIT, async () => {
  const numbers = { limit: "1e400", low: "1e-400", zero: "-0", least: "4e-324", big: "9007199254740993" };
  const written = `{${Object.entries(numbers).map(([name, text]) => `"${name}":${text}`).join()}}`;
  const gate = node("ok", "core.approvalGate", { config: { title: "Publish?", actions: ["accept", "edit-accept"], artifactId: "a1", artifactType: "text" }, inputs: { artifactData: { type: "variable", variableName: "v" } } });
  await put(workflow("figures", [gate], { variables: [{ name: "v", type: "object" }, { name: "n", type: "number" }] }));
  const { runId: run } = await fetch(`${url}/v1/runs`, { method: "POST", headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }, body: `{"workflowId":"figures","inputs":{"v":${written}}}` }).then((r) => r.json());
  await reached(run, "waiting-approval");
  const page = await tab({ hash: `#/run/${run}?tab=state` });
  const raw = (path) => fetch(url + path, { headers: { authorization: `Bearer ${key}` } }).then((r) => r.text());
  const shown = await page.waitForSelector('[aria-label="Variables"] .tree, .tree[aria-label="v"]').then(() => textOf(page, "#details"));
  for (const [name, text] of Object.entries(numbers)) assert(shown.includes(`"${name}": ${text}`), `${name}: ${shown}`);
  await press(page, "Edit and approve");
  await find(page, "textbox", "Edited content as JSON");
  await press(page, "Edit and approve");
  await reached(run, "completed");
  const log = await raw(`/v1/runs/${run}/events/poll?timeout=1`);
  assert(log.includes(`"editedArtifactData":${written}`), log);
  for (const text of ["1e400", "-0"]) {
    await show(page, "#/start?workflow=figures");
    await type(page, "n", text);
    await press(page, "Start the run");
    await page.waitForFunction(() => location.hash.startsWith("#/run/"));
    const snapshot = await raw(`/v1/runs/${await page.evaluate(() => location.hash.slice(6, 36))}`);
    assert(snapshot.includes(`"n":${text}`), snapshot);
  }
  await page.end();
});

test("characters that turn text around forge nothing: they are shown by their codes wherever a tenant says something", LIMIT, async () => {
  const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const said = "Pay 100 \u202e000,1\u202c EUR";
  const gate = node("ok", "core.approvalGate", { name: said, config: { title: said, description: said, actions: ["accept", "edit-accept"], artifactId: "a1", artifactType: "text", artifactData: { "x\u202ey": "1", text: said } } });
  const log = node("log", "vendor.wopr.log", { config: { level: "info", message: said } });
  const asks = node("asks", "core.interrupt", { config: { kind: "custom", data: { customKind: "size" }, resumeSchema: { type: "object", properties: { size: { title: said, description: said, enum: [said, "M"] }, note: { type: "string", default: said } } } } });
  await put(workflow("turned", [log, gate, asks], { name: said, description: said, edges: chain([log, gate, asks]), variables: [{ name: "v", type: "string", description: said, defaultValue: said }] }));
  const run = await start("turned", { v: said }, { tags: ["t\u202eag"] });
  await reached(run, "waiting-approval");
  const page = await tab({ hash: `#/run/${run}?tab=state` });
  const looks = async (hash, wanted) => {
    if (hash) await show(page, hash);
    await sees(page, wanted);
    const left = await page.evaluate((source) => {
      const turned = new RegExp(source);
      const texts = [document.title, document.body.innerText];
      for (const e of document.querySelectorAll("*")) for (const name of ["title", "aria-label", "placeholder", "value"]) texts.push(e.getAttribute(name) ?? "", e.value ?? "");
      return texts.filter((text) => typeof text === "string" && turned.test(text)).map((text) => text.slice(0, 200));
    }, turns.source);
    assert.deepEqual(left, [], hash);
  };
  const clear = String.raw`Pay 100 \u202e000,1\u202c EUR`;
  await looks("", clear);
  await looks("", String.raw`"x\u202ey": "1"`);
  assert.equal(await page.$eval(".tree .k bdi", (e) => getComputedStyle(e).unicodeBidi), "isolate");
  assert.equal(await page.$eval(".tree .str", (e) => getComputedStyle(e).unicodeBidi), "isolate");
  for (const query of ["?tab=events", "?tab=events&seq=0", "?tab=data", "?tab=output", "?picture=timeline"]) await looks(`#/run/${run}${query}`, clear);
  await looks("#/", String.raw`t\u202eag`);
  await looks("#/start?workflow=turned", clear);
  await show(page, `#/run/${run}`);
  await press(page, "Edit and approve");
  await looks("", clear);
  assert((await page.$eval("textarea", (e) => e.value)).includes(String.raw`"x\u202ey": "1"`));
  await press(page, "Edit and approve");
  await reached(run, "waiting-input");
  assert.deepEqual((await logOf(run)).find((e) => e.type === "interrupt.resolved").payload.resumeValue.editedArtifactData, { "x\u202ey": "1", text: said }, "what is sent is as it was");
  await page.waitForSelector("main select");
  await looks("", clear);
  await page.end();
});

test("approve with the keyboard alone", LIMIT, async () => {
  const run = await start("purchase");
  await reached(run, "waiting-approval");
  const page = await tab({ hash: `#/run/${run}` });
  await sees(page, "Buy it?");
  await tabTo(page, "Comment");
  await page.keyboard.type("fine with me");
  await tabTo(page, "Approve");
  await page.keyboard.press("Enter");
  await reached(run, "completed");
  await sees(page, "Completed");
  const received = (await logOf(run)).find((e) => e.type === "approval.received");
  assert.equal(received.payload.action, "accept");
  assert.equal(received.payload.feedback, "fine with me");
  assert.equal(await status(run), "completed");
  await page.end();
});

test("the focus stays in the page whatever an act takes away, and three clicks are one act", LIMIT, async () => {
  const page = await tab();
  const sent = [];
  page.on("request", (r) => r.method() === "POST" && sent.push(r.url()));
  const focused = (what, name = "") => page.waitForFunction((w, n) => document.activeElement.matches(w) && (document.activeElement.getAttribute("aria-label") || document.activeElement.innerText).includes(n), { timeout: 5000 }, what, name)
    .catch(async () => assert.fail(`"${what} ${name}" has not the focus but ${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200))}`));
  const enter = async (name) => {
    await (await find(page, "button", name)).focus();
    await page.keyboard.press("Enter");
  };
  const asked = await start("purchase");
  await reached(asked, "waiting-approval");
  await show(page, `#/run/${asked}`);
  const approve = await find(page, "button", "Approve");
  await approve.focus();
  await approve.evaluate((b) => (b.click(), b.click(), b.click()));
  await reached(asked, "completed");
  await focused("h1", "Purchase");
  assert.equal(sent.length, 1, sent.join());
  await show(page, `#/run/${asked}?seq=2`);
  await enter("Close");
  await focused('.ev[data-seq="2"]');
  const slow = [];
  for (let i = 0; i < 2; i++) slow.push(await start("slow-pipeline", { delayMs: 600000 }, { tags: ["focus"] }));
  await show(page, `#/run/${slow[0]}`);
  await enter("Pause");
  await reached(slow[0], "paused");
  await focused("button", "Resume");
  await page.keyboard.press("Enter");
  await reached(slow[0], "running");
  await focused("button", "Pause");
  await enter("Fork…");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  await focused("button", "Fork…");
  await enter("Cancel");
  await page.waitForSelector("dialog[open]");
  await enter("Cancel the run");
  await reached(slow[0], "cancelled");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  await focused("h1");
  await show(page, "#/?tag=focus");
  await page.waitForSelector(row(slow[1]));
  await (await find(page, "checkbox", "Select all that can be acted on")).click();
  await enter("Pause");
  await reached(slow[1], "paused");
  await focused("h1", "Runs");
  await (await find(page, "checkbox", "Select all that can be acted on")).click();
  await enter("Cancel");
  await enter("Cancel the run");
  await reached(slow[1], "cancelled");
  await focused("h1", "Runs");
  await page.evaluate((a) => document.querySelector(a).focus(), row(slow[1]));
  await page.keyboard.press("Enter");
  await focused("h1#run-title");
  await page.end();
});

test("reject, edit, answer questions, and send an event from outside", LIMIT, async () => {
  await put(workflow("editor", [node("ok", "core.approvalGate", { config: { title: "Publish?", actions: ["accept", "edit-accept"], artifactId: "a1", artifactType: "text", artifactData: { text: "draft" } } })]));
  await put(workflow("form", [node("ask", "core.interrupt", {
    config: { kind: "custom", data: { customKind: "size" }, resumeSchema: { type: "object", required: ["size"], properties: { size: { enum: ["S", "M"] }, count: { type: "integer" } }, additionalProperties: false } },
  })]));
  const [bad, edit, survey, form, outside] = await Promise.all(["purchase", "editor", "survey", "form", "conformance-interrupt-external-event"].map((w) => start(w)));
  const page = await tab({ hash: `#/run/${bad}` });
  await press(page, "Reject");
  await reached(bad, "completed");
  assert((await logOf(bad)).some((e) => e.type === "node.completed" && e.nodeId === "decline"));
  await show(page, `#/run/${edit}`);
  await press(page, "Edit and approve");
  await type(page, "Edited content as JSON", '{"text": "better"}');
  await press(page, "Edit and approve");
  await reached(edit, "completed");
  assert.deepEqual((await logOf(edit)).find((e) => e.type === "interrupt.resolved").payload.resumeValue.editedArtifactData, { text: "better" });
  await show(page, `#/run/${survey}`);
  await sees(page, "Which size?");
  await press(page, "Send the answer");
  await sees(page, "This is needed.");
  const choose = async (label, value) => (await find(page, "combobox", label)).select(value);
  await choose("Which size? (required)", '"M"');
  await choose("Is it a gift? (required)", "true");
  await press(page, "Send the answer");
  await reached(survey, "completed");
  assert.deepEqual((await ask("GET", `/v1/runs/${survey}`)).body.variables.answers, { size: "M", gift: true });
  await show(page, `#/run/${form}`);
  await choose("size (required)", '"S"');
  await type(page, "count", "3");
  await press(page, "Send the answer");
  await reached(form, "completed");
  await show(page, `#/run/${outside}`);
  await sees(page, "Event from outside");
  await page.end();
});

test("two tabs answer one question: one is taken, the other is told", LIMIT, async () => {
  const run = await start("purchase");
  await reached(run, "waiting-approval");
  const [one, two] = [await tab({ hash: `#/run/${run}` }), await tab({ hash: `#/run/${run}` })];
  await find(one, "button", "Approve");
  const reject = await find(two, "button", "Reject");
  // The second tab hears of nothing while it decides.
  await two.setOfflineMode(true);
  await press(one, "Approve");
  await reached(run, "completed");
  await two.evaluate(() => (window.held = [...document.querySelectorAll("button")].find((b) => b.innerText === "Reject")));
  await two.setOfflineMode(false);
  await reject.click().catch(() => {}); // it may be gone already: then the page knows
  await two.waitForFunction(() => document.body.innerText.includes("Somebody else has answered") || document.querySelector("h1 + .state")?.innerText.includes("Completed"), { timeout: WAIT_MS });
  const answers = (await logOf(run)).filter((e) => e.type === "approval.received");
  assert.deepEqual(answers.map((e) => e.payload.action), ["accept"]);
  await one.end();
  await two.end();
});

test("a question that takes the place of another is not answered unread", LIMIT, async () => {
  await put(workflow("twice", [node("pay", "core.approvalGate", { config: { title: "Pay the next one?", actions: ["accept", "reject"] } }), node("paid", "core.identity")], {
    edges: [{ id: "a", sourceNodeId: "pay", targetNodeId: "paid" }, { id: "b", sourceNodeId: "paid", targetNodeId: "pay" }], settings: { maxLoopbackIterations: 9 },
  }));
  const armed = (page) => page.waitForFunction(() => [...document.querySelectorAll("button")].some((b) => b.innerText === "Approve" && !b.disabled && b.getAttribute("aria-disabled") !== "true"), { timeout: WAIT_MS });
  const answers = async (run) => (await logOf(run)).filter((e) => e.type === "approval.received").length;
  for (const pause of [100, 400]) { // two clicks where the first has done it
    const run = await start("twice");
    await reached(run, "waiting-approval");
    const page = await tab({ hash: `#/run/${run}` });
    const box = await (await find(page, "button", "Approve")).boundingBox();
    for (let i = 0; i < 2; i++) {
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    await until("the node asks again", async () => (await logOf(run)).filter((e) => e.type === "approval.requested").length === 2);
    await armed(page);
    assert.equal(await answers(run), 1, `clicks ${pause} ms apart`);
    const { interruptId } = (await ask("GET", `/v1/runs/${run}`)).body.interrupt;
    await world("calm");
    await press(page, "Approve"); // who has read it may
    await until("the second is answered", async () => (await answers(run)) === 2);
    const sent = (await world("seen")).map((r) => r.line).filter((line) => line.startsWith("POST ") && line.includes("/interrupts/"));
    assert.equal(sent.length, 1);
    assert(sent[0].includes(`/interrupts/pay?interruptId=${interruptId}`), sent[0]);
    await page.end();
  }
  const run = await start("twice");
  await reached(run, "waiting-approval");
  const page = await tab({ hash: `#/run/${run}` });
  const approve = await find(page, "button", "Approve");
  await page.setOfflineMode(true); // it hears of nothing
  assert.equal((await ask("POST", `/v1/runs/${run}/interrupts/pay`, { resumeValue: { action: "accept" } })).status, 200);
  await until("the node asks again", async () => (await logOf(run)).filter((e) => e.type === "approval.requested").length === 2);
  await page.setOfflineMode(false);
  await approve.click().catch(() => {}); // it may be gone already: then the page knows
  await sees(page, "15 events");
  await armed(page);
  assert.equal(await answers(run), 1, "the answer to the first is none to the second");
  await page.end();
});

test("cancel, pause and resume, one and many", LIMIT, async () => {
  const runs = [];
  for (let i = 0; i < 3; i++) runs.push(await start("slow-pipeline", { delayMs: 600000 }, { tags: ["many"] }));
  const page = await tab({ hash: `#/run/${runs[0]}` });
  await press(page, "Pause");
  await reached(runs[0], "paused");
  await press(page, "Resume");
  await reached(runs[0], "running");
  await show(page, "#/?tag=many");
  for (const run of runs) await page.waitForSelector(row(run));
  await (await find(page, "checkbox", "Select all that can be acted on")).click();
  await sees(page, "3 selected");
  await press(page, "Pause");
  for (const run of runs) await reached(run, "paused");
  await (await find(page, "checkbox", "Select all that can be acted on")).click();
  await press(page, "Cancel");
  await type(page, "Reason", "not needed");
  await press(page, "Cancel 3 runs");
  for (const run of runs) await reached(run, "cancelled");
  assert.equal((await logOf(runs[1])).at(-1).payload.reason, "not needed");
  await page.end();
});

test("where colours are forced, what is chosen is told from the rest", LIMIT, async () => {
  const run = await start("hello");
  const page = await tab({ hash: `#/run/${run}` });
  const cdp = await page.createCDPSession();
  await cdp.send("Emulation.setEmulatedMedia", { features: [{ name: "forced-colors", value: "active" }] });
  await page.waitForSelector(".tabs button");
  const look = (selector) => page.$eval(selector, (e) => [getComputedStyle(e).backgroundColor, getComputedStyle(e).borderBottomColor]);
  const [chosen, other] = [await look('.tabs button[aria-selected="true"]'), await look('.tabs button[aria-selected="false"]')];
  assert.notEqual(chosen[0], other[0]);
  await show(page, "#/waiting");
  await page.waitForSelector(".menu a[aria-current]");
  const [current, entry] = [await look(".menu a[aria-current]"), await look(".menu a:not([aria-current])")];
  assert(current[0] !== entry[0], `${current} ${entry}`);
  await page.end();
});

test("a tab that nobody sees gives its stream back in seconds, and goes on when it is seen", LIMIT, async () => {
  const run = await words(800, 10);
  const page = await tab({ hash: `#/run/${run}` });
  await page.waitForFunction(() => document.querySelectorAll(".ev[data-seq]").length > 5);
  const ended = [];
  page.on("requestfailed", (r) => r.url().includes("/events") && ended.push(r.url()));
  const hide = (hidden) => page.evaluate((is) => {
    Object.defineProperty(document, "hidden", { configurable: true, value: is });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await hide(true);
  await until("the stream is given back", () => ended.length > 0, 5000);
  await hide(false);
  await reached(run, "completed");
  await sees(page, `${(await logOf(run)).length} events`);
  await sees(page, "Complete");
  await page.end();
});

test("fork with the keyboard alone, and the first difference is marked", LIMIT, async () => {
  await put(workflow("greet", [node("first", "core.setVariable", { config: { name: "stage", value: "one" } }), node("second", "core.setVariable", { config: { name: "copy" }, inputs: { value: { type: "variable", variableName: "who" } } })], {
    edges: [{ id: "e", sourceNodeId: "first", targetNodeId: "second" }],
    variables: [{ name: "who", type: "string", defaultValue: "Ada" }, { name: "stage", type: "string" }, { name: "copy", type: "string" }],
  }));
  const run = await start("greet");
  await reached(run, "completed");
  const page = await tab({ hash: `#/run/${run}` });
  await sees(page, "Complete");
  await tabTo(page, "Fork…");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  await tabTo(page, "Replay: what was answered and fetched comes from the log");
  await page.keyboard.press("ArrowDown");
  await tabTo(page, "Inputs that differ (JSON)");
  await page.keyboard.type('{"who": "Grace"}');
  await tabTo(page, "Fork");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/compare/"));
  await sees(page, "The first difference is event");
  const marked = await page.$eval(".diff.first", (e) => e.innerText);
  assert.match(marked, /run\.started|variable\.changed/);
  await press(page, "Go to the first difference");
  await sees(page, "Grace");
  const fork = (await page.evaluate(() => location.hash)).match(/run_\w+/g)[1];
  assert.equal((await ask("GET", `/v1/runs/${fork}`)).body.variables.copy, "Grace");
  // A replay says the same.
  const replay = (await ask("POST", `/v1/runs/${run}:fork`, { mode: "replay", fromSeq: 0 })).body.runId;
  await reached(replay, "completed");
  await show(page, `#/compare/${run}/${replay}`);
  await sees(page, "No difference so far.");
  await page.end();
});

test("from an event: its payload, its cause, the state after it, a fork from it", LIMIT, async () => {
  const run = await start("purchase");
  await reached(run, "waiting-approval");
  await ask("POST", `/v1/runs/${run}/interrupts/approve`, { resumeValue: { action: "accept" } });
  await reached(run, "completed");
  const log = await logOf(run);
  const caused = log.find((e) => e.causationId && log.some((c) => c.eventId === e.causationId));
  const page = await tab({ hash: `#/run/${run}?seq=${caused.sequence}` });
  await sees(page, "Caused by");
  await sees(page, caused.eventId);
  await press(page, "State after it");
  await page.waitForFunction((seq) => document.querySelector("#state-at")?.value === String(seq), {}, caused.sequence);
  const changed = log.find((e) => e.type === "variable.changed").sequence;
  await show(page, `#/run/${run}?tab=state&at=${changed - 1}`);
  await page.waitForFunction(() => !document.querySelector("[aria-label=Variables]").innerText.includes("ordered"));
  await press(page, "One event on");
  await page.waitForFunction(() => document.querySelector("[aria-label=Variables] .changed")?.innerText.includes("ordered"));
  await show(page, `#/run/${run}?seq=${caused.sequence}`);
  await press(page, "Fork from here…");
  assert.equal(await page.$eval("dialog input", (e) => e.value), String(caused.sequence));
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  await press(page, "By node");
  await page.waitForFunction(() => document.querySelectorAll(".ev.head").length === 4);
  await type(page, "Search events", "interrupt.", "searchbox");
  await press(page, "By node");
  await sees(page, `2 of ${log.length}`);
  await page.end();
});

test("a graph by state, a waterfall, children inline, and text as it arrives", LIMIT, async () => {
  const parent = await start("parent");
  await reached(parent, "completed");
  const page = await tab({ hash: `#/run/${parent}?tab=children` });
  await page.waitForFunction(() => document.querySelectorAll(".graph .node.s-completed").length === 2 && document.querySelectorAll(".graph .edge.taken").length === 1);
  await press(page, "Show here");
  await page.waitForSelector("#details .lane");
  const first = await page.$('.graph [tabindex="0"]');
  await first.evaluate((e) => e.focus());
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.activeElement?.getAttribute("data-n") === "1");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("node="));
  await (await find(page, "tab", "Timeline")).click();
  await page.waitForFunction(() => document.querySelectorAll("#picture .lane .span").length >= 3);
  const talk = await words(40, 20);
  await show(page, `#/run/${talk}?tab=output`);
  await sees(page, "w3 ");
  await sees(page, "w39");
  assert((await page.$eval(".stream", (e) => e.textContent)).startsWith("w0 w1 w2 "));
  await page.end();
});

test("streamed text stays selected while more arrives, and is copied as it was said", LIMIT, async () => {
  const tokens = [...Array.from({ length: 20 }, (_, i) => `${i}`.repeat(900)), "\nnext line ", ...Array.from({ length: 150 }, (_, i) => `w${i} `)];
  const run = await start("conformance-stream-text", {}, { configurable: { mockProvider: { id: "stream-text", config: { tokens, delayMsPerToken: 20 } } } });
  const page = await tab({ hash: `#/run/${run}?tab=output` });
  await sees(page, "w3 ");
  const selected = await page.evaluate(() => {
    const walk = document.createTreeWalker(document.querySelector("#details .stream"), NodeFilter.SHOW_TEXT);
    let last;
    for (let n = walk.nextNode(); n; n = walk.nextNode()) if (n.data.includes("w3 ")) last = n;
    getSelection().setBaseAndExtent(last, last.data.indexOf("next"), last, last.data.indexOf("w3 "));
    return getSelection().toString();
  });
  assert(selected.startsWith("next line w0"), selected);
  await sees(page, "w9 ");
  assert.equal(await page.evaluate(() => getSelection().toString()), selected);
  await reached(run, "completed");
  await sees(page, "w149");
  assert.equal(await page.evaluate(() => getSelection().toString()), selected);
  const copied = await page.evaluate(() => {
    const box = document.querySelector("#details .stream");
    getSelection().selectAllChildren(box);
    const e = new ClipboardEvent("copy", { bubbles: true, cancelable: true, clipboardData: new DataTransfer() });
    box.firstElementChild.dispatchEvent(e);
    return { text: e.clipboardData.getData("text/plain"), ours: e.defaultPrevented, pieces: box.children.length };
  });
  assert(copied.ours && copied.pieces > 2, JSON.stringify(copied).slice(0, 300));
  assert.equal(copied.text, tokens.join(""));
  await page.end();
});

test("what is left out is said: nodes, and texts of earlier rounds; what was cancelled says nothing more", LIMIT, async () => {
  await put(workflow("many", Array.from({ length: 700 }, (_, i) => node(`n${i}`, "core.noop"))));
  const many = await start("many");
  await reached(many, "completed");
  const page = await tab({ hash: `#/run/${many}?tab=state` });
  await press(page, "Show more (200)");
  await page.waitForFunction(() => document.querySelectorAll("#details section[aria-label=Nodes] .state").length === 700);
  await show(page, `#/run/${many}?node=${"n".repeat(10000)}`);
  await sees(page, `${"n".repeat(40)}… ×`);
  assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is as wide as the window");
  await put(workflow("rounds", [node("each", "core.loop", { config: { maxIterations: 3 } }), node("say", "core.ai.callPrompt", { config: { promptId: "conformance.stream-text-noop", expectsStreaming: true } })], {
    settings: { maxLoopbackIterations: 10, timeout: 0 },
    edges: [{ id: "a", sourceNodeId: "each", targetNodeId: "say", condition: { type: "equals", left: "output.done", right: false } }, { id: "b", sourceNodeId: "say", targetNodeId: "each" }],
  }));
  const rounds = await start("rounds", {}, { configurable: { mockProvider: { id: "stream-text", config: { tokens: ["once ", "more"], delayMsPerToken: 0 } } } });
  await reached(rounds, "completed");
  await show(page, `#/run/${rounds}?tab=output`);
  await sees(page, "The texts of 2 earlier rounds are not shown.");
  const talk = await words(400, 100);
  await show(page, `#/run/${talk}?tab=output`);
  await page.waitForSelector("#details .stream .pulse");
  await ask("POST", `/v1/runs/${talk}/cancel`, {});
  await reached(talk, "cancelled");
  await page.waitForFunction(() => document.querySelector("#details .stream") && !document.querySelector("#details .stream .pulse"));
  await page.end();
});

/** So many log lines with this text. */
async function lines(count, text) {
  const log = node("say", "vendor.wopr.log", { config: { level: "warn", message: "x" }, inputs: { message: { type: "variable", variableName: "text" } } });
  await put(workflow(`lines-${count}`, [node("each", "core.loop", { config: { maxIterations: count } }), log], {
    variables: [{ name: "text", type: "string" }], settings: { maxLoopbackIterations: 1000, timeout: 0 },
    edges: [{ id: "a", sourceNodeId: "each", targetNodeId: "say", condition: { type: "equals", left: "output.done", right: false } }, { id: "b", sourceNodeId: "say", targetNodeId: "each" }],
  }));
  const run = await start(`lines-${count}`, { text });
  await reached(run, "completed");
  return run;
}

test("log lines of any length and number cost the page little, and the rest is shown on request", LIMIT, async () => {
  const run = await lines(30, "a\u202eb\n".repeat(20000));
  const page = await tab({ hash: `#/run/${run}` });
  await page.waitForSelector("#details .ev[data-seq]");
  const from = Date.now();
  await show(page, `#/run/${run}?tab=output`);
  await page.waitForSelector("#details .stream");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  assert(Date.now() - from < 8000, `${Date.now() - from} ms`);
  const length = () => page.$eval("#details .stream", (e) => e.textContent.length);
  const before = await length();
  assert(before < 100000, `${before} characters at once`);
  await press(page, "+78,000");
  await page.waitForFunction((n) => document.querySelector("#details .stream").textContent.length > n + 5000, {}, before);
  assert((await length()) < before + 20000); // one of four is shown by its code, which has six
  const rlo = "a\u202eb\n".repeat(20000);
  await put(workflow("odd-names", [node("a", "core.setVariable", { config: { name: "x", value: { [rlo]: 1, long: rlo } } })], { variables: [{ name: "x", type: "object" }] }));
  const odd = await start("odd-names");
  await reached(odd, "completed");
  const since = Date.now();
  await show(page, `#/run/${odd}?tab=state`);
  await page.waitForSelector("#details .tree .k");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  assert(Date.now() - since < 5000, `${Date.now() - since} ms`);
  assert((await page.$eval("#details .tree", (e) => e.textContent.length)) < 10000);
  await press(page, "+79,600");
  await page.waitForFunction(() => document.querySelector("#details .tree").textContent.length > 15000);
  const many = await lines(700, "short");
  await show(page, `#/run/${many}?tab=output`);
  await sees(page, "200 earlier lines are not shown.");
  await press(page, "Show more");
  await page.waitForFunction(() => document.querySelectorAll("#details .stream > div").length === 700);
  await page.end();
});

test("kill -9 and restart while a page tails: no event is lost or doubled on screen", LIMIT, async () => {
  const run = await words(400, 10);
  const page = await tab({ hash: `#/run/${run}`, height: 1400 });
  await page.waitForFunction(() => document.querySelectorAll(".ev[data-seq]").length > 15);
  await page.evaluate(() => {
    window.seen = [];
    const note = () => document.querySelectorAll(".ev[data-seq]").forEach((r) => (window.seen[r.dataset.seq] = r.querySelector(".clip").innerText));
    new MutationObserver(note).observe(document.querySelector(".vlist"), { childList: true, subtree: true, characterData: true });
  });
  for (let i = 0; i < 2; i++) {
    const at = await page.evaluate(() => window.seen.length);
    await world("kill");
    await sees(page, "The host has not answered");
    await world("start");
    await until("the page goes on", () => page.evaluate((n) => window.seen.length > n + 10, at));
  }
  await reached(run, "completed");
  const log = await logOf(run);
  await until("the page shows the end", async () => (await shownSeqs(page)).some((r) => r.seq === log.length - 1));
  await sees(page, `${log.length} events`);
  await page.evaluate(() => (document.querySelector(".vlist").scrollTop = 0));
  // From the top to the end, every sequence once and in order, each with what the log says.
  const all = [];
  for (let top = 0; all.length < log.length; top += 600) {
    await page.evaluate((y) => (document.querySelector(".vlist").scrollTop = y), top);
    await page.waitForFunction((y) => [...document.querySelectorAll(".ev[data-seq]")].some((r) => Math.abs(parseFloat(r.style.top) - y) < 700), {}, top);
    for (const r of await shownSeqs(page)) if (all.length === r.seq) all.push(r.text);
    assert(top < log.length * 28 + 1200, `only ${all.length} of ${log.length} are shown`);
    const seqs = (await shownSeqs(page)).map((r) => r.seq);
    assert.deepEqual(seqs, [...new Set(seqs)].sort((a, b) => a - b));
  }
  all.forEach((text, i) => assert(text.includes(log[i].type), `${i}: ${text} is not ${log[i].type}`));
  await page.end();
});

test("a network that is cut, that stalls and that refuses changes nothing but the time", LIMIT, async () => {
  const run = await words(300, 10);
  const page = await tab({ hash: `#/run/${run}` });
  await page.waitForFunction(() => document.querySelectorAll(".ev[data-seq]").length > 5);
  await world("cut_after", { bytes: 4000, times: 4 });
  await world("cut");
  await world("refuse", { match: "/events", status: 503, times: 2, headers: { "Retry-After": "1" } });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await world("cut");
  await world("calm");
  await reached(run, "completed");
  const log = await logOf(run);
  await sees(page, `${log.length} events`);
  await sees(page, "Complete");
  await page.end();
});

test("the page of a proxy in place of an answer is waited out, as no answer is", LIMIT, async () => {
  const run = await start("purchase");
  await reached(run, "waiting-approval");
  const page = await tab({ hash: "#/waiting" });
  await find(page, "link", "WOPR");
  const portal = (match, times) => world("refuse", { match, status: 200, times, body: "<html>portal</html>" });
  await portal(`GET /v1/runs/${run}`, 2);
  await show(page, `#/run/${run}`);
  await find(page, "button", "Approve");
  await sees(page, "Live");
  await world("calm");
  await portal("GET /v1/", 9999);
  await world("cut");
  await sees(page, "The host has not answered");
  await world("calm");
  await portal(`POST /v1/runs/${run}`, 1);
  await press(page, "Approve");
  await reached(run, "completed");
  await sees(page, "Complete");
  await page.end();
});

/** Every event of the log is on screen once, in its place, from the first to the last. */
async function readsAll(page, log) {
  for (let at = 0; at < log.length; ) {
    await page.evaluate((y) => (document.querySelector(".vlist").scrollTop = y), at * 28);
    await page.waitForFunction((seq) => document.querySelector(`.ev[data-seq="${seq}"]`), { timeout: WAIT_MS }, at);
    const rows = await shownSeqs(page);
    assert.deepEqual(rows.map((r) => r.seq), rows.map((_, i) => rows[0].seq + i), "in order, none twice");
    for (const r of rows) if (r.seq === at) assert(r.text.includes(log[at++].type), r.text);
  }
}

test("connections that stall, that are half open, that drip, that are cut within a frame: it waits and says so, nothing is lost or doubled", LIMIT, async () => {
  const idle = await start("slow-pipeline", { delayMs: 600000 });
  const page = await tab({ hash: `#/run/${idle}` });
  await sees(page, "Live");
  await new Promise((resolve) => setTimeout(resolve, 2500)); // it learns how often the host says that it is there
  const run = await words(2500, 10);
  await show(page, `#/run/${run}`);
  const shown = () => page.evaluate(() => Number(document.querySelector("#details .tools [role=status]")?.innerText.replace(/\D/g, "") || 0));
  const grows = async (what, by = 20) => {
    const now = await shown();
    await until(what, async () => (await shown()) >= now + by);
  };
  await grows("events arrive");
  for (const fault of ["stall", "half_open"]) { // bytes stop and no end is told; or what is sent is lost, too
    await world(fault);
    await sees(page, "Nothing arrives, waiting for the host");
    await grows(`it goes on after ${fault}`);
    await sees(page, "Live");
  }
  await world("drip", { bytes: 53, ms: 2 }); // within frames, within characters
  await world("cut");
  await grows("it goes on at a drip");
  for (let bytes = 700; bytes < 2700; bytes += 201) { // wherever in a frame that is
    await world("cut_after", { bytes, times: 1 });
    await world("cut");
  }
  await world("calm");
  await world("cut");
  await reached(run, "completed");
  await sees(page, "Complete");
  const log = await logOf(run);
  await sees(page, `${log.length.toLocaleString("en")} events`);
  await readsAll(page, log.slice(0, 2600));
  await page.end();
});

test("figures of the whole host are shown to operators, and to no key of a tenant", LIMIT, async () => {
  const page = await tab({ hash: "#/operate" });
  await sees(page, "The whole host");
  await sees(page, "answers here");
  const busy = await start("slow-pipeline", { delayMs: 600000 });
  await page.waitForFunction(() => Number(document.querySelector("[aria-labelledby=hosts-title] tbody td:nth-child(3)")?.innerText) >= 1, { timeout: WAIT_MS });
  await show(page, "#/");
  await page.waitForFunction((r) => document.querySelector(r)?.closest("tr").querySelector("td.host")?.innerText.includes("…"), { timeout: WAIT_MS }, row(busy));
  await ask("POST", `/v1/runs/${busy}/cancel`, {});
  await page.end();
  const tenant = await world("make_key", { scopes: "all" });
  assert.equal((await ask("GET", "/v1/host/wopr/operations", undefined, tenant.key)).status, 403);
  const theirs = await tab({ as: tenant.key, hash: "#/operate" });
  await sees(theirs, "scope host:read");
  assert(!(await textOf(theirs)).includes("The whole host"));
  await theirs.end();
  const operator = await world("make_key", { scopes: "host:read" });
  const got = await ask("GET", "/v1/host/wopr/operations?metrics=wopr_streams,wopr_log_commit_seconds", undefined, operator.key);
  assert.equal(got.status, 200);
  assert.deepEqual([...new Set(got.body.metrics.map((m) => m.name))], ["wopr_streams", "wopr_log_commit_seconds_bucket", "wopr_log_commit_seconds_sum", "wopr_log_commit_seconds_count"]);
  assert.equal((await ask("GET", "/v1/host/wopr/operations?metrics=", undefined, operator.key)).status, 400);
  assert.equal((await ask("GET", "/v1/runs", undefined, operator.key)).status, 403, "it sees no run");
});

test("a revoked key leads to the gate, and a new one goes on where the page was", LIMIT, async () => {
  const made = await world("make_key");
  const run = await start("slow-pipeline", { delayMs: 600000 });
  const page = await tab({ as: made.key, hash: `#/run/${run}?tab=state` });
  await sees(page, "delayMs");
  await world("revoke_key", { key_id: made.id });
  await sees(page, "You were signed out");
  assert.equal(await page.evaluate(() => sessionStorage.length), 0, "a key that holds no more is forgotten");
  await page.evaluate(() => sessionStorage.clear());
  await type(page, "API key", key);
  await page.keyboard.press("Enter");
  await sees(page, "delayMs");
  await ask("POST", `/v1/runs/${run}/cancel`, {});
  await page.end();
});

test("a key sees what its scopes allow, and nothing of another mode or tenant", LIMIT, async () => {
  const run = await start("purchase");
  await reached(run, "waiting-approval");
  const reader = await world("make_key", { scopes: "runs:read,manifest:read" });
  let page = await tab({ as: reader.key, hash: `#/run/${run}` });
  await sees(page, "approvals:respond");
  for (const name of ["Cancel", "Pause", "Fork…", "Approve"]) assert(!(await page.$$eval("button", (l, n) => l.some((b) => b.innerText === n), name)), name);
  assert(!(await textOf(page, "nav")).includes("Start"));
  await show(page, "#/start");
  await sees(page, "lacks the scope");
  await page.end();
  const foreign = await world("make_key", { scopes: "all", tenant: "somebody-else" });
  page = await tab({ as: foreign.key, hash: `#/run/${run}` });
  await sees(page, "There is no such run");
  await show(page, "#/");
  await sees(page, "No run yet");
  assert(!(await textOf(page)).includes("purchase"));
  await page.end();
});

test("what tenants and workflows say is text, wherever it is shown", LIMIT, async () => {
  const evil = workflow("evil", [
    node("set", "core.setVariable", { name: EVIL, notes: EVIL, config: { name: "said", value: { [EVIL]: EVIL } } }),
    node("ask", "core.approvalGate", { name: EVIL, config: { title: EVIL, description: EVIL, actions: ["accept", "edit-accept"], artifactId: "a", artifactType: EVIL, artifactData: { [EVIL]: [EVIL] } } }),
    node("fail", "core.fail", { name: EVIL }),
  ], { name: EVIL, description: EVIL, variables: [{ name: "said", type: "object", description: EVIL }, { name: "text", type: "string", defaultValue: EVIL, description: EVIL }], metadata: { tags: [EVIL.slice(0, 200)] } });
  evil.edges = chain(evil.nodes);
  await put(evil);
  const run = await start("evil", { text: EVIL }, { tags: [EVIL], metadata: { [EVIL]: EVIL } });
  await reached(run, "waiting-approval");
  const page = await tab({ hash: "#/" });
  await sees(page, "onerror");
  const places = ["", ...["events", "state", "data", "output", "children"].map((t) => `&tab=${t}`), "&picture=timeline", "&seq=0", "&seq=2&node=ask"].map((q) => `#/run/${run}?x=1${q}`);
  for (const hash of [...places, "#/waiting", "#/start?workflow=evil", `#/?tag=${encodeURIComponent(EVIL)}&q=${encodeURIComponent(EVIL)}`, `#/run/${encodeURIComponent(EVIL)}`, `#/${encodeURIComponent(EVIL)}`, "#/operate"]) {
    await show(page, hash);
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.equal(await page.evaluate(() => window.ran), undefined, hash);
    assert.equal(await page.$("img, main script, iframe, object"), null, hash);
  }
  await show(page, `#/run/${run}`);
  await press(page, "Edit and approve");
  await press(page, "Approve");
  await reached(run, "failed");
  await sees(page, "Failed");
  await show(page, `#/run/${run}?tab=data`);
  await sees(page, "{{7*7}}");
  assert.equal(await page.evaluate(() => window.ran), undefined);
  await page.end();
});

const tea = async () => {
  const put = await fetch(`${url}/v1/workspec/documents/tea`, { method: "PUT", headers: { authorization: `Bearer ${key}`, "content-type": "application/yaml" }, body: fs.readFileSync(process.env.TEA) });
  assert(put.ok, await put.text());
};
/** An agent begins a session, and reports its first step. */
const session = async (notes) => {
  const tool = async (name, args) => (await ask("POST", "/v1/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } })).body.result.structuredContent;
  const first = await tool("start_workflow", { workflowId: "project.release_check", context: { goal: "Release 2.0" } });
  await tool("continue_workflow", { stateToken: first.stateToken, ackToken: first.ackToken, output: { notesMarkdown: notes } });
  return first.session;
};

test("a document is found, its plan is drawn, a run of it is started, and its world is shown after any event", LIMIT, async () => {
  await tea();
  const page = await tab();
  await (await find(page, "link", "Documents")).click();
  await sees(page, "Tea");
  await seesNot(page, "purchase");
  await press(page, "Tea tea");
  await sees(page, "08:00 to 08:10, 3 tasks, 2 performers");
  await find(page, "button", "ann: 2 tasks, 08:05–08:10");
  await find(page, "button", "pour, 08:09–08:10, after brew, by a person");
  await (await find(page, "combobox", "Tasks of people")).select("approval");
  await press(page, "Start a run");
  await page.waitForFunction(() => location.hash.startsWith("#/run/"), { timeout: WAIT_MS });
  const run = await page.evaluate(() => location.hash.slice(6, 36));
  await sees(page, "Virtual time 08:05");
  await find(page, "button", "brew, 08:05–08:09, after boil, by a person, Waiting");
  await press(page, "Approve");
  await find(page, "button", "pour, 08:09–08:10, after brew, by a person, Waiting");
  await press(page, "Approve");
  await reached(run, "completed");
  await sees(page, "Complete");
  const events = await logOf(run);
  const world = async (at) => (await show(page, `#/run/${run}?picture=plan&tab=world&at=${at}`), page.waitForFunction((seq) => document.querySelector("#state-at")?.value === String(seq), { timeout: WAIT_MS }, at));
  const boils = events.find((e) => e.payload.name === "kettle.state" && e.payload.next === "boiling").sequence;
  await world(boils);
  await sees(page, '"boiling"');
  await find(page, "button", "boil, 08:00–08:05, Running");
  await world(events.findLast((e) => e.payload.name === "pot").sequence);
  await sees(page, "gone");
  await seesNot(page, '"boiling"');
  await ask("DELETE", "/v1/workspec/documents/tea"); // the run keeps what it began with
  await page.reload();
  await sees(page, "No document is stored with this plan any more");
  await find(page, "button", "pour, 08:09–08:10, Running");
  await page.end();
});

test("sessions of agents, and what was reported in one", LIMIT, async () => {
  const { sessionId, runId } = await session(`Twelve commits. ${EVIL}`);
  const page = await tab();
  await (await find(page, "link", "Sessions")).click();
  await sees(page, "Release 2.0");
  await (await find(page, "link", "Release 2.0")).click();
  await page.waitForSelector(row(runId));
  assert((await page.evaluate(() => location.hash)).includes(sessionId));
  await sees(page, "where it stands");
  await page.evaluate(() => document.querySelector("ol.choices button").click());
  await sees(page, "Twelve commits. \"><img");
  assert.equal(await page.evaluate(() => window.ran), undefined);
  await show(page, "#/sessions?status=complete");
  await sees(page, "No session matches.");
  await page.end();
});

test("a large log scrolls, and a large graph is drawn in part", LIMIT, async () => {
  const count = 30000;
  const run = await words(count);
  // As many nodes as a definition of 1 MiB holds, some of them joined.
  const wide = workflow("wide", Array.from({ length: 10000 }, (_, i) => node(`${i}`, "core.noop", { name: "n" })));
  wide.edges = wide.nodes.slice(1, 1500).map((n, i) => ({ id: `e${i}`, sourceNodeId: `${Math.floor(i / 10)}`, targetNodeId: n.id }));
  await put(wide);
  await until("the log is long", async () => (await ask("GET", `/v1/host/wopr/runs/${run}/definition`)).body.events > count, 60000);
  await reached(run, "completed");
  const page = await tab({ hash: `#/run/${run}` });
  const { events } = (await ask("GET", `/v1/host/wopr/runs/${run}/definition`)).body;
  await sees(page, `${events.toLocaleString("en")} events`);
  for (const share of [0, 0.37, 1]) {
    await page.evaluate((part) => { const l = document.querySelector(".vlist"); l.scrollTop = l.scrollHeight * part; }, share);
    await page.waitForFunction(() => { // rows of that place, each with its event
      const list = document.querySelector(".vlist");
      const rows = [...document.querySelectorAll(".ev[data-seq]")];
      return rows.length > 5 && rows.every((r) => r.innerText.includes(".") && Math.abs(parseFloat(r.style.top) - list.scrollTop) < 2000);
    }, { timeout: WAIT_MS });
    const rows = await shownSeqs(page);
    assert(rows.length < 120, `${rows.length} rows in the document`);
    assert(Math.abs(rows[Math.floor(rows.length / 2)].seq - share * events) < events / 20 + 60, `${share}: ${rows[0].seq}`);
  }
  await show(page, `#/run/${run}?tab=output&node=no-such`);
  await sees(page, "Only the end of this log was read");
  assert(!(await textOf(page)).includes("streamed no text"), "what was not read is not denied");
  await show(page, `#/run/${run}?tab=output`);
  await page.waitForSelector("#details .stream");
  assert((await page.$eval("#details .stream", (e) => e.textContent.length)) < 2000);
  await page.evaluate(() => [...document.querySelectorAll("button")].find((b) => b.innerText.startsWith("Read the whole log")).click());
  await page.waitForFunction((n) => document.querySelector("#details .stream").textContent === "w".repeat(n), { timeout: 60000 }, count);
  await seesNot(page, "Only the end of this log was read");
  await show(page, `#/run/${run}?tab=state`);
  await page.waitForSelector("#state-at", { timeout: 60000 });
  const big = await start("wide");
  await show(page, `#/run/${big}`);
  await page.waitForSelector(".graph .node", { timeout: 60000 });
  assert((await page.$$(".graph .node")).length < 1500, "what is not seen is not drawn");
  await (await find(page, "tab", "Timeline")).click();
  await page.waitForSelector("#picture .lane", { timeout: 60000 });
  assert((await page.$$("#picture .lane")).length < 100);
  await ask("POST", `/v1/runs/${big}/cancel`, {});
  await page.end();
});

test("a graph of any density is drawn; a worker that says nothing, or that cannot be had, holds no graph up", LIMIT, async () => {
  const no = { type: "equals", left: "output.x", right: 2 };
  const dense = (id, n, k) => {
    const w = workflow(id, Array.from({ length: n }, (_, i) => node(`n${i}`, "core.noop")));
    w.edges = w.nodes.flatMap((_, i) => Array.from({ length: Math.min(k, n - 1 - i) }, (_, j) => ({ id: `e${i}-${j}`, sourceNodeId: `n${i}`, targetNodeId: `n${i + j + 1}` })));
    w.edges.push({ id: "self", sourceNodeId: "n1", targetNodeId: "n1", condition: no });
    return w;
  };
  const drawn = (page) => page.waitForFunction(() => document.querySelector(".graph .node") && document.querySelectorAll(".graph .edge").length > 20, { timeout: WAIT_MS });
  const page = await tab({ hash: "#/" });
  for (const [id, n, k] of [["dense-120", 120, 25], ["dense-300", 300, 9]]) {
    await put(dense(id, n, k));
    await show(page, `#/run/${await start(id)}`);
    await sees(page, "could not be laid out with care");
    await drawn(page);
  }
  await page.end();
  await put(dense("dense-12", 12, 3));
  const small = await start("dense-12");
  for (const broken of ["postMessage(){}", "constructor(){ throw new Error('none') }"]) {
    const one = await tab({ hash: "#/" });
    await one.evaluate((text) => { // what the page gets for a worker
      window.Worker = text.startsWith("constructor") ? class { constructor() { throw new Error("none"); } } : class { postMessage() {} terminate() { window.ended = true; } };
    }, broken);
    await show(one, `#/run/${small}`);
    await drawn(one);
    await sees(one, "could not be laid out with care");
    if (broken.startsWith("post")) assert.equal(await one.evaluate(() => window.ended), true);
    await one.end();
  }
});

test("a million events scroll, and their state goes back in time", { ...LIMIT, skip: FULL ? false : "only with WOPR_DASHBOARD_FULL=1" }, async () => {
  const run = await words(20000);
  await reached(run, "completed");
  await world("stretch", { run, events: 1000000 });
  const page = await tab({ hash: `#/run/${run}` });
  await sees(page, "1,000,000 events");
  for (const share of [0, 0.5, 0.25, 1]) {
    const from = Date.now();
    await page.evaluate((part) => { const l = document.querySelector(".vlist"); l.scrollTop = l.scrollHeight * part; }, share);
    await page.waitForFunction(() => {
      const list = document.querySelector(".vlist");
      const rows = [...document.querySelectorAll(".ev[data-seq]")];
      return rows.length > 5 && rows.every((r) => r.innerText.includes(".") && Math.abs(parseFloat(r.style.top) - list.scrollTop) < 2000);
    }, { timeout: WAIT_MS });
    console.log(`# event ${(await shownSeqs(page))[0].seq} is on screen after ${Date.now() - from} ms`);
  }
  await show(page, `#/run/${run}?tab=state`);
  await page.evaluate(() => [...document.querySelectorAll("button")].find((b) => b.innerText.startsWith("Read the whole log")).click());
  await page.waitForSelector("#state-at", { timeout: 120000 });
  await show(page, `#/run/${run}?tab=state&at=500000`);
  await page.waitForFunction(() => document.querySelector("#state-at")?.value === "500000" && document.querySelector("#details").innerText.includes("Running"), { timeout: WAIT_MS });
  console.log(`# heap ${((await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0)) / 1e6).toFixed(0)} MB`);
  await page.end();
});

/** Milliseconds of processor time of each task on the main threads of pages meanwhile; what others do to the machine is not in them. */
async function tasksOf(page, act) {
  await page.tracing.start({ categories: ["toplevel", "__metadata"] });
  await act();
  const { traceEvents } = JSON.parse(new TextDecoder().decode(await page.tracing.stop()));
  const main = new Set(traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid} ${e.tid}`));
  return traceEvents.filter((e) => e.ph === "X" && e.name.endsWith("RunTask") && main.has(`${e.pid} ${e.tid}`)).map((e) => (e.tdur ?? e.dur) / 1000).sort((a, b) => b - a);
}

for (const [what, query] of [["the log", ""], ["the log by node, and the timeline", "?picture=timeline"], ["a search", ""], ["streamed text", "?tab=output"]])
  test(`events arrive by the thousand and the page stays smooth: ${what}`, LIMIT, async () => {
    const page = await tab({ hash: "#/" }); // first: the run is over soon
    const run = await chorus(FULL ? 10000 : 2400);
    await show(page, `#/run/${run}${query}`);
    await page.waitForSelector("#details .ev[data-seq], #details .stream");
    if (what.includes("by node")) await press(page, "By node");
    if (what === "a search") await type(page, "Search events", "chunk", "searchbox");
    const from = Date.now();
    let frames, elements;
    const tasks = await tasksOf(page, async () => {
      await page.evaluate(() => { // within the trace: its begin and its end hold the page up
        window.frames_ = [];
        let last = 0;
        const frame = (now) => (last > 0 && window.frames_.push(now - last), (last = now), requestAnimationFrame(frame));
        requestAnimationFrame(frame);
      });
      await reached(run, "completed");
      await sees(page, "Complete");
      [frames, elements] = await page.evaluate(() => [window.frames_, document.querySelectorAll("*").length]);
    });
    const worst = Math.max(...frames);
    console.log(`# ${what}: ${((Date.now() - from) / 1000).toFixed(1)} s, ${frames.length} frames, the longest ${worst.toFixed(0)} ms, ${frames.filter((ms) => ms > 50).length} over 50 ms; ` +
      `of ${tasks.length} tasks the longest took ${tasks.slice(0, 3).map((ms) => ms.toFixed(1)).join(", ")} ms of the processor; ${elements} elements`);
    assert(tasks.length > 100, "tasks are counted");
    assert(tasks[0] < (FULL ? 50 : 100), `a task took ${tasks[0]} ms of the processor`);
    assert(elements < 1500, `${elements} elements: the list is not virtual`);
    if (FULL) assert(worst <= 50, `a frame of ${worst} ms`);
    await page.end();
  });

/** What a tab holds, after its garbage is gone. */
async function held(cdp) {
  for (let i = 0; i < 3; i++) await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp.send("Performance.getMetrics");
  const of = (name) => metrics.find((m) => m.name === name).value;
  return { mb: of("JSHeapUsedSize") / 1e6, nodes: of("Nodes"), listeners: of("JSEventListeners") };
}
const SOAK_S = Number(process.env.WOPR_DASHBOARD_SOAK_S ?? 0);

test("memory stays where it is while a page tails", { timeout: LIMIT.timeout + SOAK_S * 1000 }, async () => {
  // Rounds of a loop: for so many seconds; or as fast as they go, each with so much text that the log is more than what a page keeps.
  const rounds = SOAK_S > 0 ? Math.ceil(SOAK_S * 3.2) : 1500;
  await put(workflow("rounds", [node("each", "core.loop", { inputs: { items: { type: "variable", variableName: "items" } } }), node("pause", "core.delay", { config: { delayMs: SOAK_S > 0 ? 300 : 1 } }),
    node("say", "core.setVariable", { config: { name: "said" }, inputs: { value: { type: "variable", variableName: "text" } } }),
    node("take", "core.setVariable", { config: { name: "item" }, inputs: { value: { type: "connection", nodeId: "each", outputKey: "item" } } }),
    node("count", "core.setVariable", { config: { name: "total" }, inputs: { value: { type: "expression", expression: "variables.total + variables.item" } } })], {
    edges: [{ id: "body", sourceNodeId: "each", targetNodeId: "pause", condition: { type: "equals", left: "output.done", right: false } }, { id: "then", sourceNodeId: "pause", targetNodeId: "say" }, { id: "and", sourceNodeId: "say", targetNodeId: "take" },
      { id: "add", sourceNodeId: "take", targetNodeId: "count" }, { id: "again", sourceNodeId: "count", targetNodeId: "each" }],
    variables: [{ name: "items", type: "array", defaultValue: [] }, { name: "item", type: "number", defaultValue: 0 }, { name: "text", type: "string", defaultValue: "" }, { name: "said", type: "string", defaultValue: "" }, { name: "total", type: "number", defaultValue: 0 }],
    settings: { timeout: 0, maxLoopbackIterations: rounds },
  }));
  const run = await start("rounds", { items: Array.from({ length: rounds }, (_, i) => i), text: "x".repeat(SOAK_S > 0 ? 40 : 5000) });
  const page = await tab({ hash: `#/run/${run}` });
  const cdp = await page.createCDPSession();
  await cdp.send("Performance.enable");
  const length = () => page.$$eval("#details .tools [role=status]", ([e]) => Number(e?.innerText.replace(/\D/g, "") ?? 0)); // none before the page shows the run
  const samples = [];
  const from = Date.now();
  const next = async (i) => {
    if (SOAK_S > 0) return new Promise((resolve) => setTimeout(resolve, Math.max(0, from + (i + 1) * Math.min(60, SOAK_S / 10) * 1000 - Date.now())));
    return until("more events are shown", async () => (await length()) >= 1400 * (i + 1));
  };
  for (let i = 0; SOAK_S > 0 ? Date.now() - from < SOAK_S * 1000 : i < 10; i++) {
    await next(i);
    const now = await held(cdp);
    samples.push(now);
    console.log(`# ${((Date.now() - from) / 60000).toFixed(1)} min, ${await length()} events: ${now.mb.toFixed(1)} MB, ${now.nodes} nodes, ${now.listeners} listeners`);
  }
  // Once the log in memory is full, which takes half of the time at most, nothing grows.
  const most = (list, name) => Math.max(...list.map((s) => s[name]));
  const [early, late] = [samples.slice(samples.length / 2, samples.length * 0.75), samples.slice(samples.length * 0.75)];
  assert(most(late, "mb") < most(early, "mb") * 1.1 + 1, "the heap grows");
  assert(most(late, "mb") < 60, "the heap is large");
  // At any moment a list of rows or two, which were just replaced, are not let go yet: what stays is the least that was seen.
  const least = (list, name) => Math.min(...list.map((s) => s[name]));
  assert(least(late, "nodes") < least(early, "nodes") * 1.1 + 500, "the document grows");
  assert(least(late, "listeners") < least(early, "listeners") * 1.1 + 50, "listeners stay behind");
  if (SOAK_S > 0) await ask("POST", `/v1/runs/${run}/cancel`, {});
  await page.end();
});

const PAGES = async () => {
  const run = await start("purchase", {}, { tags: ["demo"] });
  await reached(run, "waiting-approval");
  const done = await start("parallel");
  const failed = await start("unlucky");
  await reached(done, "completed");
  await reached(failed, "failed");
  await tea();
  const steeps = await start("tea", {}, { configurable: { "workspec.humanTasks": "approval" } });
  await reached(steeps, "waiting-approval");
  const steeped = await start("tea");
  await reached(steeped, "completed");
  const led = await session("Twelve commits, all in the parser.");
  const { nodeId } = (await ask("GET", `/v1/x-workrail/sessions/${led.sessionId}`)).body.runs[0].nodes[0];
  return [["documents", "#/documents?document=tea"], ["world", `#/run/${steeps}?picture=plan&tab=world&at=3`], ["world that has ended", `#/run/${steeped}?tab=world`], ["sessions", "#/sessions"], ["session", `#/sessions/${led.sessionId}?node=${nodeId}`],
    ["runs", "#/"], ["waiting", "#/waiting"], ["start", "#/start?workflow=survey"], ["operate", "#/operate"], ["run", `#/run/${run}`], ["timeline", `#/run/${done}?picture=timeline&tab=events&seq=3`],
    ["state", `#/run/${done}?tab=state&at=12`], ["failed", `#/run/${failed}?tab=data`], ["compare", `#/compare/${done}/${(await ask("POST", `/v1/runs/${done}:fork`, { mode: "replay", fromSeq: 0 })).body.runId}`]];
};

test("axe finds nothing on any page, in light and dark, wide and narrow; nothing overflows", LIMIT, async () => {
  const pages = await PAGES();
  for (const [theme, width] of [["light", 1280], ["dark", 360], ...(FULL ? [["light", 360], ["dark", 1280], ["light", 3840], ["dark", 3840]] : [])]) {
    const page = await tab({ theme, width, height: 900 });
    await page.setBypassCSP(true); // for axe alone: the pages were looked at with it above
    await page.reload();
    await page.waitForSelector("main.main");
    for (const [name, hash] of pages) {
      await show(page, hash);
      await page.waitForFunction(() => !document.querySelector("[aria-busy=true]") && document.querySelector("main h1, main h2"));
      await new Promise((resolve) => setTimeout(resolve, 300));
      await page.evaluate(AXE);
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")}`)));
      assert.deepEqual(found, [], `${name}, ${theme}, ${width}`);
      assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} overflows at ${width}`);
    }
    await page.end();
  }
  const gate = await tab({ signed: false });
  await gate.setBypassCSP(true);
  await gate.reload();
  await gate.waitForSelector("main.gate");
  await gate.evaluate(AXE);
  assert.deepEqual(await gate.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id))), []);
  await gate.end();
});

test("pictures of every page", { ...LIMIT, skip: process.env.SHOTS ? false : "only with --shots" }, async () => {
  for (const [id, inputs] of [["hello", {}], ["retry", {}], ["survey", {}], ["parent", {}], ["router", { amount: 700 }], ["order-total", { order: "7" }], ["slow-pipeline", { delayMs: 600000 }]])
    await start(id, inputs, { tags: id === "hello" || id === "survey" ? ["spring"] : [] });
  const pages = await PAGES();
  fs.mkdirSync(process.env.SHOTS, { recursive: true });
  for (const [theme, width, height] of [["light", 1280, 860], ["dark", 1280, 860], ["light", 360, 780], ["dark", 360, 780], ["light", 3840, 2160], ["dark", 3840, 2160]]) { // of these, some are in docs/
    const page = await tab({ theme, width, height });
    for (const [name, hash] of pages) {
      await show(page, hash);
      await new Promise((resolve) => setTimeout(resolve, 900));
      await page.screenshot({ path: path.join(process.env.SHOTS, `${name}-${theme}-${width}.png`) });
    }
    await page.end();
  }
});
