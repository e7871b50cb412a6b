// What runs in the page: the package as npm would install it, and the sample with EventSource, both against a real host at another origin.
import * as wopr from "wopr-client";

const { url, key, elsewhere } = await (await fetch("/config.json")).json();
const post = async (path, body) => (await fetch(path, { method: "POST", body: JSON.stringify(body) })).json();
const world = async (name, args = {}) => (await post("/world", { do: name, ...args })).answer;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const QUICK = { baseMs: 20, capMs: 100 };
const client = new wopr.WoprClient({ baseUrl: url, apiKey: key, retry: QUICK }); // of the tests: pages have no key
const page = new wopr.WoprClient({ baseUrl: url, retry: QUICK });
const begin = async (workflowId, inputs = {}) => (await client.runs.create({ workflowId, inputs })).runId;
const tests = [];
const test = (name, body) => tests.push([name, body]);

function same(got, wanted) {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) throw new Error(`${JSON.stringify(got)} and not ${JSON.stringify(wanted)}`);
}

async function ticket(runId) {
  const answer = await fetch(`/ticket/${runId}`, { method: "POST" });
  if (answer.status < 500 && !answer.ok) throw new wopr.WoprError(`no ticket: ${answer.status}`); // ends the stream
  if (!answer.ok) throw new Error(`no ticket: ${answer.status}`);
  return answer.json();
}

/** What an undisturbed stream of the ended run has. */
async function whole(runId) {
  await client.runs.wait(runId);
  await world("calm");
  const got = [];
  for await (const event of client.runs.events(runId)) got.push([event.sequence, event.type]);
  return got;
}

test("a run from its start to its end, from another origin", async () => {
  const { runId } = await client.runs.create({ workflowId: "conformance-noop", inputs: {} }, { idempotencyKey: `page-${Math.random()}` });
  same((await client.runs.wait(runId)).status, "completed");
});

test("an error of the host is readable: envelope, request id, Retry-After", async () => {
  const refused = await client.runs.create({ workflowId: "no-such-workflow" }).catch((error) => error);
  same([refused.name, refused.code, typeof refused.requestId], ["InvalidRequestError", "validation_error", "string"]);
  const lost = await new wopr.WoprClient({ baseUrl: url, apiKey: "hk_test_wrong_wrong_wrong" }).runs.list().catch((error) => error);
  same([lost.name, lost.status], ["AuthenticationError", 401]);
});

test("a workflow is put, read and deleted", async () => {
  const definition = await client.workflows.get("conformance-noop");
  const stored = await client.workflows.put({ ...definition, id: "of-a-page" }, { ifRevision: 0 });
  same([stored.result, stored.revision], ["created", 1]);
  const conflict = await client.workflows.put({ ...definition, id: "of-a-page", name: "Other" }, { ifRevision: 0 }).catch((error) => error);
  same([conflict.name, conflict.details.revision], ["ConflictError", 1]);
  same((await client.workflows.delete("of-a-page")).deleted, true);
});

test("an origin that is not allowed reads nothing", async () => {
  const frame = document.createElement("iframe");
  const said = new Promise((resolve) => addEventListener("message", (event) => resolve(event.data), { once: true }));
  frame.src = `${elsewhere}/other.html?denied`;
  document.body.append(frame);
  same(await said, "TypeError");
  frame.remove();
});

test("a stream with tickets: cuts, an expired ticket, kill -9 of the host", async () => {
  const keys = [await world("make_key"), await world("make_key")];
  await world("mint", { key: keys[0].key });
  const runId = await begin("ticks");
  const got = [];
  for await (const event of page.runs.events(runId, { ticket })) {
    got.push([event.sequence, event.type]);
    if (got.length === 2) await world("cut");
    if (got.length === 3) {
      await world("revoke_key", { key_id: keys[0].id }); // its tickets die with it
      await world("mint", { key: keys[1].key });
    }
    if (got.length === 5) {
      await world("kill");
      await world("start");
    }
  }
  same(got, await whole(runId));
});

/** The sample of docs/clients.md, as it is, with the browser's EventSource. */
function watched(runId, last) {
  const shown = [];
  const over = new Promise((resolve) => globalThis.watch(runId, (type) => shown.push(type), resolve, last));
  return { shown, over };
}

test("EventSource: every end is one", async () => {
  await world("mint");
  const ticks = await begin("ticks");
  const { shown, over } = watched(ticks);
  same(await over, "run.completed");
  const wanted = ["run.started", "node.completed", "node.failed", "node.suspended", "run.completed"];
  same(shown, (await whole(ticks)).map(([, type]) => type).filter((type) => wanted.includes(type)));
  const cancelled = await begin("conformance-cancellable");
  const seen = watched(cancelled);
  await client.runs.cancel(cancelled);
  same(await seen.over, "run.cancelled");
  same(await watched(await begin("conformance-failure")).over, "run.failed");
  const last = (await client.runs.poll(ticks)).events.at(-1).sequence;
  same(await watched(ticks, last).over, "nothing is left");
  same(await watched("run_none").over, "no ticket: 404");
  await world("mint", { key: "hk_test_wrong_wrong_wrong" });
  same(await watched(ticks).over, "no ticket: 401");
  await world("calm");
  await sleep(4000); // longer than the browser waits before it connects again
  same(await world("seen"), []);
});

test("EventSource: an expired ticket, a page that is offline, a busy host and a restart are no end", async () => {
  const keys = [await world("make_key"), await world("make_key")];
  await world("mint", { key: keys[0].key });
  const runId = await begin("conformance-cancellable", { delayMs: 15000 });
  const { shown, over } = watched(runId);
  while (shown.length === 0) await sleep(20);
  await world("mint", { key: keys[1].key, faults: [503, 0] });
  await world("revoke_key", { key_id: keys[0].id }); // its tickets die with it
  while ((await world("minted")) < 3) await sleep(100);
  await world("refuse", { match: "/events", status: 503, times: 1 });
  await world("cut");
  await sleep(1000);
  await world("kill");
  await world("start");
  same(await over, "run.completed");
  same(new Set(shown).size, shown.length);
});

async function main() {
  for (const [name, body] of tests) {
    let error = null;
    await world("calm");
    try {
      await body();
    } catch (thrown) {
      error = `${thrown.stack ?? thrown}`;
    }
    await post("/result", { name, ok: error === null, ...(error && { error }) });
  }
  await post("/result", { end: true });
}

if (location.search === "?denied") {
  const why = await fetch(`${url}/.well-known/openwop`, { headers: { authorization: "Bearer x" } }).then(() => "read", (error) => error.name);
  parent.postMessage(why, "*");
} else {
  await main().catch((error) => post("/result", { name: "the page", ok: false, error: `${error.stack}`, end: true }));
}
