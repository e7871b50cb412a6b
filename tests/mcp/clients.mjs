// What the official clients make of a host: both eras, over HTTP and over standard input and output.
//
// usage: node clients.mjs legacy|modern http|stdio
// HTTP: MCP_URL, MCP_KEY.  stdio: MCP_COMMAND, a JSON array.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const [era, transport] = process.argv.slice(2);
const key = process.env.MCP_KEY;

async function parts() {
  if (era === "modern") {
    const client = await import("@modelcontextprotocol/client");
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    return { Client: client.Client, Http: client.StreamableHTTPClientTransport, Stdio: StdioClientTransport };
  }
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  return { Client, Http: StreamableHTTPClientTransport, Stdio: StdioClientTransport };
}

const { Client, Http, Stdio } = await parts();

function wire() {
  if (transport === "http") {
    return new Http(new URL(process.env.MCP_URL), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
  }
  const [command, ...args] = JSON.parse(process.env.MCP_COMMAND);
  return new Stdio({ command, args, env: process.env, stderr: "ignore" });
}

const asked = [];

async function connect() {
  const options = { capabilities: { elicitation: {} } };
  if (era === "modern") options.versionNegotiation = { mode: { pin: "2026-07-28" } };
  const client = new Client({ name: "wopr-tests", version: "1" }, options);
  if (era === "modern") {
    client.setRequestHandler("elicitation/create", async (request) => {
      asked.push(request.params);
      return { action: "accept", content: { action: "accept" } };
    });
  }
  await client.connect(wire());
  return client;
}

async function call(client, name, args, options) {
  const result = era === "modern" ? await client.callTool({ name, arguments: args }, options)
    : await client.callTool({ name, arguments: args }, undefined, options);
  assert.ok(result.content.length > 0);
  return result;
}

async function ok(client, name, args, options) {
  const result = await call(client, name, args, options);
  assert.ok(!result.isError, JSON.stringify(result));
  return result.structuredContent;
}

async function lists(client) {
  const { tools } = await client.listTools();
  assert.ok(tools.some((t) => t.name === "run_start"));
  assert.deepEqual(tools.map((t) => t.name), (await client.listTools()).tools.map((t) => t.name));
  const { resources } = await client.listResources();
  assert.ok(resources.some((r) => r.uri === "wopr://workflows"));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.some((r) => r.uriTemplate === "wopr://runs/{runId}"));
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((p) => p.name === "run_workflow"));
  const prompt = await client.getPrompt({ name: "run_workflow", arguments: { workflowId: "w" } });
  assert.match(prompt.messages[0].content.text, /workflow w /);
}

async function starts(client) {
  const idempotencyKey = randomUUID();
  const args = { workflowId: "conformance-approval", idempotencyKey };
  const { runId } = await ok(client, "run_start", args);
  assert.equal((await ok(client, "run_start", args)).runId, runId);
  assert.equal((await ok(client, "run_wait", { runId })).reason, "attention");
  const read = await client.readResource({ uri: `wopr://runs/${runId}` });
  assert.equal(JSON.parse(read.contents[0].text).status, "waiting-approval");
  return runId;
}

async function answers(client, runId) {
  if (era === "modern") { // the server asks, the client's user answers
    await ok(client, "run_resolve_interrupt", { runId, nodeId: "gate" });
    assert.equal(asked.length, 1);
    assert.deepEqual(asked[0].requestedSchema.properties.action.enum, ["accept", "reject"]);
  } else {
    const refused = await call(client, "run_resolve_interrupt", { runId, nodeId: "gate" });
    assert.ok(refused.isError);
    await ok(client, "run_resolve_interrupt", { runId, nodeId: "gate", value: { action: "accept" } });
  }
  assert.equal((await ok(client, "run_wait", { runId, until: "ended" })).status, "completed");
  const { events, isComplete } = await ok(client, "run_events", { runId, limit: 200 });
  assert.equal(events.at(-1).type, "run.completed");
  assert.ok(isComplete);
}

async function progress(client) {
  const heard = [];
  const { runId } = await ok(client, "run_start", { workflowId: "two-delays" });
  const end = await ok(client, "run_wait", { runId, until: "ended" }, { onprogress: (p) => heard.push(p.progress) });
  assert.equal(end.reason, "ended");
  assert.ok(heard.length > 0);
  assert.deepEqual(heard, [...heard].sort((a, b) => a - b));
}

async function cancels(client) {
  const { runId } = await ok(client, "run_start", { workflowId: "conformance-approval" });
  const stop = new AbortController();
  const wait = call(client, "run_wait", { runId, until: "ended", timeoutSeconds: 300 }, { signal: stop.signal, timeout: 290000 });
  setTimeout(() => stop.abort("enough"), 200);
  await assert.rejects(wait);
  assert.equal((await ok(client, "run_cancel", { runId, reason: "enough" })).runId, runId);
  assert.equal((await ok(client, "run_wait", { runId, until: "ended" })).status, "cancelled");
}

async function refusals(client) {
  await assert.rejects(client.callTool({ name: "run_nothing", arguments: {} }));
  assert.ok((await call(client, "run_status", { runId: "none" })).isError);
  assert.ok((await call(client, "run_status", { run: 1 })).isError);
  await assert.rejects(client.readResource({ uri: "wopr://nothing" }));
  await assert.rejects(client.getPrompt({ name: "nothing" }));
}

const client = await connect();
if (era === "legacy") await client.ping();
assert.equal(client.getServerVersion()?.name ?? "wopr", "wopr");
await lists(client);
await answers(client, await starts(client));
await progress(client);
await cancels(client);
await refusals(client);
await client.close();
console.log(`${era} over ${transport}: content`);
