// clients/typescript against a real host, over a proxy that does what networks do.  run.py starts both and this.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { afterEach, beforeEach, test as define } from "node:test";
import * as wopr from "wopr-client";
import { EventSource } from "./eventsource.mjs";

const { WORLD_CONTROL, WOPR_URL, WOPR_API_KEY, PART } = process.env;
/** Two halves, each with a world of its own, take half the time. */
const test = (name, body) => {
  if (!PART || (PART === "streams") === name.startsWith("streams: ")) define(name, body);
};
const STEP = Number(process.env.WOPR_CLIENT_STEP ?? 37); // 1: every byte
const FAULTS_MS = 1000 * Number(process.env.WOPR_CLIENT_FAULTS_S ?? 3);
const QUICK = { baseMs: 20, capMs: 100 };

/** A command of world.py. */
async function world(name, args = {}) {
  const answer = await fetch(WORLD_CONTROL, { method: "POST", body: JSON.stringify({ do: name, ...args }) });
  return (await answer.json()).answer;
}

const other = (apiKey, more = {}) => new wopr.WoprClient({ baseUrl: WOPR_URL, ...(apiKey ? { apiKey } : {}), retry: QUICK, ...more });
const client = other(WOPR_API_KEY);
const begin = async (workflowId, inputs = {}, more = {}) => (await client.runs.create({ workflowId, inputs, ...more })).runId;
const lines = async (part) => (await world("seen")).filter((r) => r.line.includes(part));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const ended = (runId, options = {}) => client.runs.wait(runId, { waitMs: 20_000, ...options });

async function all(stream) {
  const got = [];
  for await (const one of stream) got.push(one);
  return got;
}

/** What an undisturbed stream of the ended run has. */
async function whole(runId, mode = "updates") {
  await world("calm");
  return (await all(client.runs.stream(runId, { streamMode: [mode] }))).map((m) => [m.id, m.event]);
}

beforeEach(() => world("calm"));
afterEach(() => world("calm"));

test("a run from its start to its end", async () => {
  const request = { workflowId: "conformance-noop", tags: ["first"], metadata: { a: 1 }, scopeId: "s1", configurable: { recursionLimit: 5 } };
  const made = await client.runs.create(request, { dedup: "enforce" });
  const run = await ended(made.runId);
  assert.deepEqual([run.status, run.tags, run.metadata], ["completed", ["first"], { a: 1 }]);
  assert.deepEqual(await client.runs.get(made.runId), run);
  const bundle = await client.runs.debugBundle(made.runId);
  assert.deepEqual([bundle.run.runId, bundle.events.at(-1).type], [made.runId, "run.completed"]);
  const page = await client.runs.poll(made.runId, { timeout: 1 });
  assert.equal(page.isComplete, true);
  assert.deepEqual((await client.runs.poll(made.runId, { lastSequence: page.events[0].sequence })).events, page.events.slice(1));
});

test("lists go on page by page", async () => {
  const ids = [];
  for (let i = 0; i < 5; i++) ids.unshift(await begin("conformance-noop", {}, { tags: ["paged"] }));
  assert.equal((await client.runs.list({ tag: "paged", limit: 2 })).runs.length, 2);
  assert.deepEqual((await all(client.runs.listAll({ tag: "paged", limit: 2 }))).map((r) => r.runId), ids);
});

test("cancel one and many", async () => {
  const ids = [];
  for (let i = 0; i < 3; i++) ids.push(await begin("conformance-cancellable", {}, { tags: ["doomed"] }));
  assert.ok(["cancelling", "cancelled"].includes((await client.runs.cancel(ids[0], { reason: "no more" })).status));
  assert.equal((await ended(ids[0])).status, "cancelled");
  const { results } = await client.runs.bulkCancel({ runIds: [ids[0], ids[1], "run_no"], reason: "all" });
  assert.deepEqual(results.map((r) => r.ok), [true, true, false]);
  assert.ok(results[2].error instanceof wopr.NotFoundError);
  const rest = await client.runs.bulkCancel({ filter: { tag: "doomed" } });
  assert.ok(rest.results.some((r) => r.runId === ids[2] && r.ok));
  assert.equal((await ended(ids[2])).status, "cancelled");
});

test("pause and resume", async () => {
  const run = await begin("ticks");
  assert.equal((await client.runs.pause(run, { drainPolicy: "immediate" })).status, "paused");
  await assert.rejects(client.runs.wait(run, { waitMs: 300 }), wopr.WaitTimeoutError);
  assert.equal((await client.runs.resume(run, { reason: "go on" })).status, "running");
  assert.equal((await ended(run)).status, "completed");
});

test("fork", async () => {
  const run = await begin("conformance-noop");
  await ended(run);
  const replay = await client.runs.fork(run, { mode: "replay" });
  assert.equal((await ended(replay.runId)).fork.sourceRunId, run);
  const branch = await client.runs.fork(run, { mode: "branch", fromSeq: 1, runOptionsOverlay: { tags: ["other"] } });
  assert.deepEqual((await client.runs.get(branch.runId)).tags, ["other"]);
  await assert.rejects(client.runs.fork(run, { mode: "replay", fromSeq: 4711 }), wopr.UnprocessableError);
});

test("what there is to read", async () => {
  assert.equal((await client.discovery.capabilities()).protocolVersion, "1.0");
  assert.equal((await client.discovery.index()).name, "wopr");
  assert.ok("/v1/runs" in (await client.discovery.openapi()).paths);
  assert.equal((await client.workflows.get("ticks")).id, "ticks");
  assert.equal((await client.audit.verify({ fromSeq: 0 })).chainValid, true);
  await assert.rejects(client.artifacts.get(await begin("conformance-noop"), "none"), wopr.NotFoundError);
});

test("agents come and go", async () => {
  const manifest = { agentId: "local.desk.clerk", persona: "Clerk", modelClass: "general", systemPrompt: "Be kind." };
  assert.equal((await client.agents.check({ manifest })).valid, true);
  assert.equal((await client.agents.check({ manifest: { ...manifest, modelClass: "chat" } })).valid, false);
  await world("lose", { match: "PUT /v1", times: 1 });
  const stored = await client.agents.put({ manifest }, { ifRevision: 0 });
  await assert.rejects(client.agents.put({ manifest: { ...manifest, persona: "Other" } }, { ifRevision: 0 }), wopr.ConflictError);
  assert.deepEqual((await client.agents.get("local.desk.clerk")).definition.manifest, manifest);
  assert.ok((await all(client.agents.listAll({ limit: 1 }))).some((a) => a.agentId === "local.desk.clerk"));
  assert.ok((await client.agents.export()).manifests.some((m) => m.agentId === "local.desk.clerk"));
  assert.deepEqual((await client.agents.ofRun(await begin("conformance-noop"))).agents, {});
  assert.equal((await client.agents.delete("local.desk.clerk", { ifRevision: stored.revision })).deleted, true);
  await assert.rejects(client.agents.get("local.desk.clerk"), wopr.NotFoundError);
});

test("workflows come and go", async () => {
  const ticks = await client.workflows.get("ticks");
  const mine = { ...ticks, id: "mine" };
  assert.equal((await client.workflows.check(mine)).valid, true);
  const wrong = { ...mine, edges: [{ id: "e", sourceNodeId: "t0", targetNodeId: "t99" }] };
  assert.equal((await client.workflows.check(wrong)).valid, false);
  await assert.rejects(client.workflows.put(wrong), wopr.InvalidRequestError);
  await world("lose", { match: "PUT /v1", times: 1 });
  assert.equal((await client.workflows.put(mine)).revision, 1);
  assert.equal((await client.workflows.put({ ...mine, name: "Mine" }, { force: true })).result, "updated");
  assert.deepEqual((await client.workflows.versions("mine")).versions.map((v) => v.revision), [2, 1]);
  assert.equal((await client.workflows.getVersion("mine", 1)).name, ticks.name);
  assert.ok((await all(client.workflows.listAll({ limit: 1 }))).some((w) => w.workflowId === "mine"));
  assert.equal((await client.workflows.delete("mine")).deleted, true);
  await assert.rejects(client.workflows.get("mine"), wopr.NotFoundError);
  assert.ok((await client.nodeTypes.list()).nodes.some((t) => t.typeId === "core.delay"));
  assert.ok((await client.nodeTypes.get("core.delay")).example);
});

test("every operation has a method", () => {
  const folder = new URL("./node_modules/wopr-client/src/", import.meta.url);
  const files = readdirSync(folder).filter((name) => name !== "wire.ts");
  const source = files.map((name) => readFileSync(new URL(name, folder), "utf8")).join("");
  const aliases = ["cancelRunAlias", "resolveApprovalAlias", "getPackIndex"];
  aliases.push("callMcp", "getResourceMetadata", "getHostResourceMetadata"); // clients of MCP speak these
  const missing = Object.keys(wopr.operations).filter((o) => !aliases.includes(o) && !source.includes(`"${o}"`));
  assert.equal(missing.join(" "), "", "no method calls these: write it in clients/typescript/src/client.ts");
});

async function waiting(runId) {
  for (let i = 0; i < 1500; i++) {
    const found = await all(client.interrupts.listAll({ runId }));
    if (found.length > 0) return found[0];
    await sleep(20);
  }
  throw new Error("no interrupt");
}

test("interrupts: list and resolve", async () => {
  const run = await begin("conformance-clarification");
  const pending = await waiting(run);
  assert.deepEqual([pending.kind, pending.nodeId], ["clarification", "ask"]);
  assert.equal((await client.interrupts.list({ runId: run, limit: 1 })).interrupts[0].interruptId, pending.interruptId);
  const answer = await client.interrupts.resolve(run, "ask", { answers: { q1: "blue" } });
  assert.equal(answer.interruptId, pending.interruptId);
  await assert.rejects(client.interrupts.resolve(run, "ask", { answers: { q1: "red" } }), wopr.ConflictError);
  assert.equal((await ended(run)).status, "completed");
});

test("interrupts: a token is enough", async () => {
  const run = await begin("conformance-interrupt-external-event");
  await waiting(run);
  const token = (await client.runs.get(run)).interrupt.interruptToken;
  const stranger = other();
  assert.equal((await stranger.interrupts.inspectByToken(token)).kind, "external-event");
  await assert.rejects(stranger.interrupts.resolveByToken(token, { orderId: "other" }), wopr.UnprocessableError);
  await stranger.interrupts.resolveByToken(token, { orderId: "fixture-order-1", status: "completed" });
  assert.equal((await ended(run)).status, "completed");
});

test("errors: the envelope becomes an exception of a class", async () => {
  const error = await client.runs.create({ workflowId: "no-such-workflow" }).catch((e) => e);
  assert.ok(error instanceof wopr.InvalidRequestError);
  assert.deepEqual([error.status, error.code, error.name], [400, "validation_error", "InvalidRequestError"]);
  assert.ok(error.requestId && Object.keys(error.details).length > 0);
  await assert.rejects(other("hk_test_wrong").runs.list(), wopr.AuthenticationError);
  const reader = other(async () => (await world("make_key", { scopes: "runs:read" })).key);
  await assert.rejects(reader.runs.create({ workflowId: "ticks" }), wopr.PermissionDeniedError);
  await assert.rejects(client.runs.get("run_none"), wopr.NotFoundError);
  await assert.rejects(client.runs.list({ limit: 0 }), wopr.InvalidRequestError);
});

test("errors: no host, another program, no address", async () => {
  const nobody = new wopr.WoprClient({ baseUrl: "http://127.0.0.1:9", apiKey: "hk_x", retry: { attempts: 2, baseMs: 10 } });
  await assert.rejects(nobody.runs.list(), wopr.TransportError);
  await world("refuse", { match: "GET /v1/runs", status: 200, times: 1, body: "<html>" });
  await assert.rejects(client.runs.list(), wopr.UnexpectedAnswerError);
  await world("refuse", { match: "GET /v1/runs", status: 403, times: 1, body: "<html>blocked</html>" });
  await assert.rejects(client.runs.list(), { code: "http_403" });
  assert.throws(() => new wopr.WoprClient({ baseUrl: "127.0.0.1:8080" }), TypeError);
  assert.throws(() => new wopr.WoprClient({ baseUrl: "http://127.0.0.1", apiKey: "two words" }), TypeError);
  await assert.rejects(client.runs.get(""), TypeError);
});

test("retries: a pause that the host asks for is made", async () => {
  await world("refuse", { match: "POST /v1/runs ", status: 503, times: 1, headers: { "Retry-After": "1" } });
  const begun = Date.now();
  await begin("conformance-noop");
  assert.ok(Date.now() - begun >= 1000);
  const sent = await lines("POST /v1/runs ");
  assert.equal(sent.length, 2);
  assert.equal(new Set(sent.map((r) => r.headers["idempotency-key"])).size, 1);
});

test("retries are bounded", async () => {
  await world("refuse", { match: "GET /v1/runs", status: 503, times: 99 });
  await assert.rejects(client.runs.list(), wopr.ServerError);
  assert.equal((await lines("GET /v1/runs")).length, 5);
  await world("calm");
  await world("refuse", { match: "GET /v1/runs", status: 429, times: 99, headers: { "Retry-After": "3600" } });
  const error = await client.runs.list().catch((e) => e);
  assert.ok(error instanceof wopr.RateLimitedError);
  assert.equal(error.retryAfterMs, 3_600_000);
  assert.equal((await lines("GET /v1/runs")).length, 1);
});

test("retries: what is wrong is not repeated", async () => {
  await assert.rejects(client.runs.create({ workflowId: "no-such-workflow" }));
  assert.equal((await lines("POST /v1/runs ")).length, 1);
});

test("retries: a lost answer has its effect once", async () => {
  await world("lose", { match: "POST /v1/runs ", times: 2 });
  const run = await begin("conformance-noop", {}, { tags: ["lost"] });
  assert.equal((await lines("POST /v1/runs ")).length, 3);
  assert.deepEqual((await client.runs.list({ tag: "lost" })).runs.map((r) => r.runId), [run]);
});

test("retries: a key of the caller", async () => {
  const once = { idempotencyKey: "order-1" };
  const first = await client.runs.create({ workflowId: "conformance-noop" }, once);
  assert.equal((await client.runs.create({ workflowId: "conformance-noop" }, once)).runId, first.runId);
  await assert.rejects(client.runs.create({ workflowId: "ticks" }, once), { code: "idempotency_key_conflict" });
});

test("a host that says nothing, and an answer that is cut", async () => {
  const hasty = other(WOPR_API_KEY, { retry: { attempts: 1 }, timeoutMs: 3000 });
  await hasty.runs.list();
  await world("stall");
  await assert.rejects(hasty.runs.list(), wopr.RequestTimeoutError);
  await world("cut");
  for (let i = 0; i < 9; i++) await begin("conformance-noop", {}, { tags: ["long"] });
  await world("cut_after", { bytes: 600 });
  await assert.rejects(hasty.runs.list({ tag: "long" }), wopr.TransportError);
});

test("calls and streams end with their signal", async () => {
  const run = await begin("conformance-cancellable");
  const why = new Error("enough");
  const after = (ms) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(why), ms);
    return controller.signal;
  };
  await assert.rejects(client.runs.poll(run, { lastSequence: 99 }, { signal: after(100) }), why);
  await assert.rejects(all(client.runs.events(run, { signal: after(100) })), why);
  await assert.rejects(client.runs.get(run, { signal: AbortSignal.abort(why) }), why);
});

test("streams: every mode", async () => {
  const run = await begin("ticks");
  const updates = await all(client.runs.events(run));
  assert.deepEqual([updates[0].type, updates.at(-1).type], ["run.started", "run.completed"]);
  const everything = await all(client.runs.events(run, { streamMode: "debug" }));
  assert.deepEqual(everything.map((e) => e.sequence), everything.map((_, i) => i));
  assert.deepEqual(await all(client.runs.events(run, { streamMode: "debug", bufferMs: 500 })), everything);
  assert.deepEqual(await all(client.runs.events(run, { streamMode: "debug", after: 7 })), everything.slice(8));
  const states = await all(client.runs.values(run));
  assert.equal(states.at(-1).status, "completed");
  assert.deepEqual([...new Set(states.map((s) => s.atSeq))].sort((a, b) => a - b), states.map((s) => s.atSeq));
});

test("streams: what a node says", async () => {
  const mockProvider = { id: "stream-text", config: { tokens: ["a", "b", "c"] } };
  const chunks = await all(client.runs.messages(await begin("conformance-stream-text", {}, { configurable: { mockProvider } })));
  assert.equal(chunks.map((c) => c.chunk).join(""), "abc");
  assert.equal(chunks.at(-1).isLast, true);
  assert.deepEqual(await all(client.runs.messages(await begin("conformance-noop"))), []); // ends although nothing is said
});

test("streams: nothing is lost or doubled when connections are cut", async () => {
  for (const mode of ["debug", "updates", "values"]) {
    const run = await begin("ticks");
    await world("cut_after", { bytes: mode === "values" ? 5000 : 900 });
    let cuts = 0;
    const got = await all(client.runs.stream(run, { streamMode: [mode], onReconnect: () => cuts++ }));
    assert.ok(cuts > 2, `${mode}: ${cuts} cuts`);
    assert.deepEqual(got.map((m) => [m.id, m.event]), await whole(run, mode));
  }
});

test("streams: a cut at any byte is no end", async () => {
  const run = await begin("conformance-noop");
  await ended(run);
  const wanted = await whole(run);
  const snapshot = await client.runs.get(run);
  for (let bytes = 1; bytes < 1200; bytes += STEP) {
    await world("cut_after", { bytes, times: 1 });
    const got = await all(client.runs.stream(run));
    assert.deepEqual(got.map((m) => [m.id, m.event]), wanted, `cut after ${bytes} bytes`);
    assert.deepEqual(await client.runs.get(run), snapshot);
  }
});

test("streams: a connection that only looks alive", async () => {
  const run = await begin("ticks");
  const got = [];
  const cuts = [];
  for await (const event of client.runs.events(run, { silenceMaxMs: 500, onReconnect: (why) => cuts.push(why) })) {
    got.push([String(event.sequence), event.type]);
    if (got.length === 3) await world("stall");
  }
  assert.deepEqual(got, await whole(run));
  assert.ok(cuts[0] instanceof wopr.RequestTimeoutError);
});

test("streams: kill -9 in mid-stream, and a wait that goes through it", async () => {
  const run = await begin("ticks");
  const waited = ended(run);
  const got = [];
  let restarted;
  for await (const event of client.runs.events(run, { streamMode: "debug" })) {
    got.push([String(event.sequence), event.type]);
    if (got.length === 8) {
      await world("kill");
      restarted = sleep(500).then(() => world("start"));
    }
  }
  await restarted;
  assert.deepEqual(got, await whole(run, "debug"));
  assert.equal((await waited).status, "completed");
});

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function chanceOf(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What happens between a client and its host at random while `work` runs; what happened, for messages. */
async function troubled(restarts, work) {
  const seed = Number(process.env.WOPR_CLIENT_SEED ?? Math.floor(Math.random() * 2 ** 32));
  const chance = chanceOf(seed);
  const kinds = ["cut", "cut", "piece", "piece", "busy", "gateway", "half", ...Array(restarts).fill("restart")];
  const made = [];
  let over = false;
  const trouble = (async () => {
    for (const until = Date.now() + FAULTS_MS; Date.now() < until && !over; ) {
      const kind = kinds[Math.floor(chance() * kinds.length)];
      made.push(kind);
      if (kind === "cut") await world("cut");
      if (kind === "piece") await world("cut_after", { bytes: 1 + Math.floor(chance() * 1500), times: 1 }); // ends in the middle of a frame
      if (kind === "busy") await world("refuse", { match: "/v1/", status: 503, times: 1, headers: { "Retry-After": "1" } });
      if (kind === "gateway") await world("refuse", { match: "/v1/", status: 502, times: 1, body: "<html>no host here</html>" });
      if (kind === "half") await world("lose", { match: "/v1/", times: 1 });
      if (kind === "restart") {
        await world("kill");
        await sleep(chance() * 300);
        await world("start");
      }
      await sleep(chance() * 300);
    }
  })();
  try {
    await work();
  } catch (error) {
    error.message += ` (WOPR_CLIENT_SEED=${seed} ${made.join(" ")})`;
    throw error;
  } finally {
    over = true;
    await trouble;
  }
  return { made, what: `WOPR_CLIENT_SEED=${seed} ${made.join(" ")}` };
}

test("streams: faults at random lose and double nothing", async () => {
  const runs = await Promise.all([1, 2, 3, 4].map(() => begin("ticks")));
  let got;
  const { made, what } = await troubled(1, async () => {
    const followed = runs.map((run) => all(client.runs.events(run, { streamMode: "debug", silenceMaxMs: 500 })));
    got = (await Promise.all(followed)).map((events) => events.map((event) => [String(event.sequence), event.type]));
  });
  const asked = (await lines("/events?")).length;
  for (const [i, run] of runs.entries()) assert.deepEqual(got[i], await whole(run, "debug"), what);
  assert.ok(asked <= runs.length * (2 * made.length + 2), `${asked} requests: ${what}`);
});

test("streams: a time-out shorter than the keep-alives", async () => {
  const run = await begin("conformance-cancellable", { delayMs: 1500 });
  let cuts = 0;
  const got = (await all(client.runs.events(run, { silenceMaxMs: 100, onReconnect: () => cuts++ }))).map((e) => e.type);
  assert.equal(got.at(-1), "run.completed");
  assert.equal(new Set(got).size, got.length);
  assert.ok(cuts > 3, `${cuts} cuts`);
});

test("streams: a slow reader's own time is no silence", async () => {
  let cuts = 1;
  for (let i = 0; i < 5 && cuts > 0; i++) { // a busy host may be silent too, but not every time
    const run = await begin("conformance-cancellable", { delayMs: 600 });
    cuts = 0;
    for await (const _ of client.runs.events(run, { silenceMaxMs: 500, onReconnect: () => cuts++ })) await sleep(700);
  }
  assert.equal(cuts, 0);
});

test("streams: refusals that pass and those that do not", async () => {
  const run = await begin("ticks");
  await world("refuse", { match: "/events", status: 503, times: 1, headers: { "Retry-After": "1" } });
  await world("refuse", { match: "/events", status: 502, times: 1 });
  assert.equal((await all(client.runs.events(run))).at(-1).type, "run.completed");
  assert.equal((await lines("/events?")).length, 3);
  await assert.rejects(all(client.runs.events("run_none")), wopr.NotFoundError);
  await assert.rejects(all(client.runs.stream(run, { streamMode: ["noise"] })), wopr.InvalidRequestError);
  await world("refuse", { match: "/events", status: 200, times: 1, body: "{}" });
  await assert.rejects(all(client.runs.events(run)), wopr.UnexpectedAnswerError);
});

test("streams: neither a host that stays away nor cuts before anything new are borne for ever", async () => {
  const run = await begin("ticks");
  await ended(run);
  await world("cut_after", { bytes: 700 }); // less than a state
  await assert.rejects(all(client.runs.values(run, { after: 9, giveUpMs: 500 })), wopr.TransportError);
  await world("calm");
  await world("refuse", { match: "/events", status: 503, times: 9999 });
  await assert.rejects(all(client.runs.events(run, { giveUpMs: 500 })), wopr.ServerError);
});

test("streams: a revoked key, and a position beyond the end", async () => {
  const made = await world("make_key");
  const stream = other(made.key).runs.events(await begin("conformance-cancellable"));
  await stream.next();
  await world("revoke_key", { key_id: made.id });
  await assert.rejects(all(stream), wopr.AuthenticationError);
  const run = await begin("conformance-noop");
  await ended(run);
  assert.deepEqual(await all(client.runs.events(run, { after: 100 })), []);
});

test("streams: tickets are renewed", async () => {
  const keys = [await world("make_key"), await world("make_key")];
  const run = await begin("ticks");
  let asked = 0;
  const ticket = async (runId) => {
    asked++;
    if (asked === 2) throw new TypeError("the network of the page is down");
    return other(keys[asked === 1 ? 0 : 1].key).runs.streamTicket(runId);
  };
  const page = other(); // has no key at all
  const got = [];
  for await (const event of page.runs.events(run, { ticket })) {
    got.push([String(event.sequence), event.type]);
    if (got.length === 2) await world("revoke_key", { key_id: keys[0].id }); // its tickets die with it
  }
  assert.deepEqual(got, await whole(run));
  assert.equal(asked, 3);
  assert.deepEqual(await all(page.runs.events(run, { after: Number(got.at(-1)[0]), ticket })), []); // 204
});

/** The page of docs/clients.md with EventSource: what it shows, and why it ends.  `mint` is its server. */
function page(runId, mint, last) {
  const shown = [];
  const ticketFetch = async (url, init) => (String(url).startsWith("/ticket/") ? mint(runId) : fetch(url, init));
  const soon = (again) => setTimeout(again, 30);
  const source = readFileSync(new URL("./watch.js", import.meta.url), "utf8");
  const watch = new Function("fetch", "EventSource", "setTimeout", `${source}; return watch;`)(ticketFetch, EventSource, soon);
  const over = new Promise((resolve) => watch(runId, (type) => shown.push(type), resolve, last));
  return { shown, over };
}

const minter = (apiKey) => async (runId) => {
  try {
    return Response.json(await other(apiKey, { retry: { attempts: 1 } }).runs.streamTicket(runId));
  } catch (error) {
    return Response.json({}, { status: error.status ?? 502 });
  }
};

test("EventSource: every end is one", async () => {
  const mint = minter(WOPR_API_KEY);
  const ticks = await begin("ticks");
  const { shown, over } = page(ticks, mint);
  assert.equal(await over, "run.completed");
  assert.deepEqual(shown, (await whole(ticks)).map(([, type]) => type));
  const cancelled = await begin("conformance-cancellable");
  const watched = page(cancelled, mint);
  await client.runs.cancel(cancelled);
  assert.equal(await watched.over, "run.cancelled");
  assert.equal(await page(await begin("conformance-failure"), mint).over, "run.failed");
  const last = (await client.runs.poll(ticks)).events.at(-1).sequence;
  assert.equal(await page(ticks, mint, last).over, "nothing is left");
  assert.equal(await page("run_none", mint).over, "no ticket: 404");
  assert.equal(await page(ticks, minter("hk_test_wrong")).over, "no ticket: 401");
  assert.equal(await page("run_other", async () => mint(ticks).then(async (answer) => {
    const { eventsUrl } = await answer.json();
    return Response.json({ eventsUrl: eventsUrl.replace(ticks, "run_other") }); // a ticket of another run
  })).over, "refused: 401");
  await world("calm");
  await sleep(300);
  assert.deepEqual(await world("seen"), []); // no page asks for anything any more
});

test("EventSource: expired tickets, a busy host and a restart are no end", async () => {
  const keys = [await world("make_key"), await world("make_key")];
  const run = await begin("conformance-cancellable", { delayMs: 2500 });
  let minted = 0;
  const { shown, over } = page(run, async (runId) => {
    minted++;
    if (minted === 2) return Response.json({}, { status: 503 });
    if (minted === 3) throw new TypeError("offline");
    return minter(keys[minted === 1 ? 0 : 1].key)(runId);
  });
  while (shown.length === 0) await sleep(20);
  await world("revoke_key", { key_id: keys[0].id }); // its tickets die with it
  while (minted < 4) await sleep(20);
  await world("refuse", { match: "/events", status: 503, times: 3 });
  await world("cut");
  await sleep(200);
  await world("kill");
  await world("start");
  assert.equal(await over, "run.completed");
  assert.equal(new Set(shown).size, shown.length);
});

// acme.greet is the one type of workers: each test's worker does with it what the test needs.

const types = () => client.workerTypes.register({ typeId: "acme.greet" });

/** Runs `work` while a worker executes acme.greet with this handler. */
async function working(handler, work, options = {}, by = client) {
  await types();
  await world("put_workflow", { name: "greeting" });
  const errors = [];
  const worker = by.worker({ "acme.greet": handler }, { waitMs: 200, onError: (error) => errors.push(error), ...options });
  const running = worker.run();
  try {
    await work(errors);
  } finally {
    await worker.stop({ graceMs: 5000 });
    await running;
  }
}

async function outcome(runId) {
  const run = await ended(runId);
  return [run.status, run.nodeStates.work.outputs ?? run.error?.code];
}

test("workers: a node is executed here", async () => {
  const tasks = [];
  const greet = (task) => {
    tasks.push(task);
    return { greeting: `hello ${task.input.name}` };
  };
  await working(greet, async () => {
    const runs = await Promise.all(Array.from({ length: 12 }, (_, i) => begin("greeting", { name: `n${i}` })));
    for (const [i, run] of runs.entries()) assert.deepEqual(await outcome(run), ["completed", { greeting: `hello n${i}` }]);
    assert.deepEqual(tasks.map((t) => t.runId).sort(), [...runs].sort());
  }, { concurrency: 4 });
  assert.deepEqual([tasks[0].nodeId, tasks[0].attempt, tasks[0].config, tasks[0].idempotencyKey.length], ["work", 0, { mood: "kind" }, 64]);
});

test("workers: a person is asked", async () => {
  const entered = [];
  const greet = async (task) => {
    entered.push(task.idempotencyKey);
    const data = { artifactId: "a", artifactType: "greeting", title: "Say it?", actions: ["accept", "reject"] };
    const first = await task.ask({ kind: "approval", data });
    const second = await task.ask({ kind: "custom", data: { customKind: "words" } });
    return { said: first.action, words: second };
  };
  await working(greet, async () => {
    const run = await begin("greeting");
    for (const answer of [{ action: "accept" }, "so be it"]) await client.interrupts.resolve(run, (await waiting(run)).nodeId, answer);
    assert.deepEqual(await outcome(run), ["completed", { said: "accept", words: "so be it" }]);
  });
  assert.deepEqual([entered.length, new Set(entered).size], [3, 1]);
});

test("workers: failures", async () => {
  const greet = (task) => {
    if (task.input.name === "known") throw new wopr.TaskFailure("bad_name", "no such name", { retryable: false, details: { a: 1 } });
    if (task.input.name === "schema") return { greeting: 7 };
    if (task.input.name === "no json") return { greeting: 7n };
    throw new Error("a mistake");
  };
  const outputSchema = { type: "object", properties: { greeting: { type: "string" } } };
  const worker = client.worker({ "acme.greet": { handler: greet, outputSchema } }, { waitMs: 200, onError: () => undefined });
  await types();
  await world("put_workflow", { name: "greeting" });
  const running = worker.run();
  while ((await client.workerTypes.list()).workerTypes[0].outputSchema === undefined) await sleep(20);
  for (const [name, code] of [["known", "bad_name"], ["schema", "invalid_output"], ["no json", "invalid_output"], ["other", "worker_error"]]) {
    assert.deepEqual(await outcome(await begin("greeting", { name })), ["failed", code]);
  }
  await worker.stop();
  await running;
});

test("workers: what a worker says reaches the stream", async () => {
  const greet = async (task) => {
    await task.progress(50, "half");
    await task.chunk("hel");
    await task.chunk("lo", { isLast: true, meta: { model: "m" } });
  };
  await working(greet, async () => {
    await world("refuse", { match: ":emit", status: 503, times: 2 });
    const run = await begin("greeting");
    assert.deepEqual((await all(client.runs.messages(run))).map((c) => c.chunk), ["hel", "lo"]);
    assert.ok((await all(client.runs.events(run, { streamMode: "debug" }))).some((e) => e.type === "log.appended"));
  });
});

test("workers: a cancelled run ends its task, a lease is kept as long as the work takes", async () => {
  const signals = [];
  const greet = async (task) => {
    signals.push(task.signal);
    const took = task.input.name === "long" ? 2500 : 30_000;
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, took);
      task.signal.addEventListener("abort", () => (clearTimeout(timer), reject(task.signal.reason)));
    });
    return { epoch: task.epoch };
  };
  await working(greet, async (errors) => {
    const kept = await begin("greeting", { name: "long" });
    const cancelled = await begin("greeting");
    while (signals.length < 2) await sleep(20);
    await client.runs.cancel(cancelled);
    assert.equal((await ended(cancelled)).status, "cancelled");
    while (!signals.some((s) => s.aborted)) await sleep(20);
    assert.deepEqual(await outcome(kept), ["completed", { epoch: 1 }]);
    assert.deepEqual(errors, []);
  }, { leaseMs: 1000, concurrency: 2 });
});

test("workers: a late result is refused and dropped", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  let signal;
  const deaf = async (task) => {
    signal = task.signal;
    await held;
    return { by: "slow" };
  };
  await world("refuse", { match: ":heartbeat", status: 503, times: 1000 });
  await working(deaf, async () => {
    const run = await begin("greeting");
    while ((await lines(":heartbeat")).length === 0) await sleep(20);
    const direct = new wopr.WoprClient({ baseUrl: await world("host_url"), apiKey: WOPR_API_KEY });
    await working(() => ({ by: "other" }), async () => assert.deepEqual(await outcome(run), ["completed", { by: "other" }]), {}, direct);
    while (!signal.aborted) await sleep(20); // its lease could not be renewed
    release();
    await sleep(200);
    assert.deepEqual(await outcome(run), ["completed", { by: "other" }]);
  }, { leaseMs: 1000 });
});

test("workers: kill -9 of the host in mid-task", async () => {
  let began = false;
  const greet = async () => {
    began = true;
    await sleep(1000);
    return { survived: true };
  };
  await working(greet, async () => {
    const run = await begin("greeting");
    while (!began) await sleep(20);
    await world("kill");
    await sleep(1200); // the result is there before the host is
    await world("start");
    assert.deepEqual(await outcome(run), ["completed", { survived: true }]);
  }, { leaseMs: 10_000 });
});

test("workers: faults at random execute each task once", async () => {
  const patient = other(WOPR_API_KEY, { retry: { ...QUICK, attempts: 50 } });
  const greet = async (task) => {
    await sleep(50);
    return { greeting: task.input.name };
  };
  const result = async (run) => (await patient.runs.wait(run, { waitMs: 30_000 })).nodeStates.work.outputs;
  await working(greet, async () => {
    const runs = [];
    const { what } = await troubled(2, async () => {
      for (let i = 0; i < 16; i++) {
        runs.push((await patient.runs.create({ workflowId: "greeting", inputs: { name: `n${i}` } })).runId);
        await sleep(100);
      }
      assert.deepEqual(await Promise.all(runs.map(result)), runs.map((_, i) => ({ greeting: `n${i}` })));
    });
    await world("calm");
    for (const run of runs) {
      const said = (await all(client.runs.events(run, { streamMode: "debug" }))).map((event) => event.type);
      assert.equal(said.filter((type) => type === "node.completed").length, 1, what);
    }
    assert.deepEqual(await result(await begin("greeting", { name: "after" })), { greeting: "after" }, what);
  }, { concurrency: 2, leaseMs: 1000 });
});

test("workers: types come and go", async () => {
  await types();
  await client.workerTypes.register({ typeId: "acme.gone", description: "not for long" });
  assert.deepEqual((await all(client.workerTypes.listAll({ limit: 1 }))).map((t) => t.typeId), ["acme.gone", "acme.greet"]);
  assert.equal((await client.workerTypes.remove("acme.gone")).removed, true);
  await assert.rejects(client.workerTypes.remove("acme.gone"), wopr.NotFoundError);
  await assert.rejects(client.workerTypes.register({ typeId: "core.delay" }), wopr.ConflictError);
});

test("workers: a stop lets tasks finish; keys decide", async () => {
  let release;
  let began = false;
  const held = new Promise((resolve) => (release = resolve));
  await types();
  await world("put_workflow", { name: "greeting" });
  const claimer = other((await world("make_key", { scopes: "workers:claim" })).key);
  const worker = claimer.worker({ "acme.greet": async () => ((began = true), await held, { done: true }) }, { waitMs: 200, concurrency: 2 });
  const running = worker.run();
  const run = await begin("greeting");
  while (!began) await sleep(20);
  const stopped = worker.stop();
  await sleep(400); // the claim that was under way ends
  release();
  await Promise.all([stopped, running]);
  assert.deepEqual(await outcome(run), ["completed", { done: true }]);
  const reader = other((await world("make_key", { scopes: "runs:read" })).key);
  await assert.rejects(reader.worker({ "acme.greet": () => ({}) }).run(), wopr.PermissionDeniedError);
});

test("frames: pieces of any size are the same", async () => {
  const { FrameDecoder } = await import(new URL("./node_modules/wopr-client/dist/sse.js", import.meta.url));
  const text = ': hi\n\nid: 1\nevent: a\ndata: {"x":"ä"}\n\r\ndata:one\rdata: two\r\n\r\nid: 3\n\ndata: x\n\n';
  const frames = new FrameDecoder().push(text);
  assert.deepEqual(frames.map((f) => [f.id, f.event, f.data]), [["1", "a", '{"x":"ä"}'], ["1", "message", "one\ntwo"], ["3", "message", "x"]]);
  for (let size = 1; size < text.length; size++) {
    const decoder = new FrameDecoder();
    const got = [];
    for (let i = 0; i < text.length; i += size) got.push(...decoder.push(text.slice(i, i + size)));
    assert.deepEqual(got, frames, `pieces of ${size}`);
  }
});

test("frames: one is bounded by what it holds", async () => {
  const { FrameDecoder } = await import(new URL("./node_modules/wopr-client/dist/sse.js", import.meta.url));
  const one = new FrameDecoder("", 1000);
  const got = ["id: 1\ndata: ", ...Array(80).fill("xxxxxxxxxx"), "\n", "\n"].flatMap((piece) => one.push(piece));
  assert.deepEqual(got.map((f) => f.data.length), [800]);
  const comments = new FrameDecoder("", 1000);
  for (let i = 0; i < 500; i++) [": still", " here\n"].forEach((piece) => comments.push(piece)); // not kept, however their lines are cut
  for (const line of ["data:\n", "data: x\n", "x"]) {
    const decoder = new FrameDecoder("", 1000);
    assert.throws(() => {
      for (let i = 0; i < 1100; i++) decoder.push(line);
    }, wopr.UnexpectedAnswerError);
  }
});
