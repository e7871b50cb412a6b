// The pure parts of the dashboard, and its fold against the snapshots of a host.  run.py bundles it with esbuild and starts a host.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { Api, ApiError } from "../../web/src/lib/api";
import { Channel } from "../../web/src/lib/channel";
import { Pairs, plain } from "../../web/src/lib/compare";
import { curl, quote } from "../../web/src/lib/commands";
import { cutAt } from "../../web/src/lib/cut";
import { Fold } from "../../web/src/lib/fold";
import { bytes, Figures } from "../../web/src/lib/figures";
import { fieldOf, fieldsOf, fieldOfVariable, read, shown } from "../../web/src/lib/form";
import { equal, Exact, holds, parse, print, type Json } from "../../web/src/lib/json";
import { Regions } from "../../web/src/lib/loops";
import { EventLog, PAGE } from "../../web/src/lib/log";
import { isDocument, performers, planSpan, planTime, Tasks, things, type Plan } from "../../web/src/lib/plan";
import { place } from "../../web/src/lib/place";
import { byRanks, HEIGHT } from "../../web/src/lib/ranks";
import { Groups, Scan } from "../../web/src/lib/scan";
import { Spans } from "../../web/src/lib/spans";
import { SseReader } from "../../web/src/lib/sse";
import { Sum } from "../../web/src/lib/sum";
import { summary } from "../../web/src/lib/summary";
import { offsetOf } from "../../web/src/lib/time";
import type { Definition, Event, Snapshot } from "../../web/src/lib/types";
import { visible } from "../../web/src/lib/visible";
import { inWords } from "../../web/src/text";
import { lastLines, Output } from "../../web/src/pages/run/output";
import { addHistory, stateAt, type History } from "../../web/src/pages/run/history";

const url = process.env["WOPR_URL"] as string;
const key = process.env["WOPR_API_KEY"] as string;
Object.assign(globalThis, { location: { origin: "http://host" } });

// Node before 21 gives a reviver no source text; the browsers that the dashboard runs in do (the tests of the page look at it there).
const exact = print(parse("12345678901234567890")) === "12345678901234567890";

const event = (sequence: number, type: string, payload: Json = {}, nodeId?: string): Event => ({
  eventId: `r-${sequence}`, runId: "r", type, payload: payload as Event["payload"], timestamp: new Date(1e12 + sequence * 1000).toISOString(), sequence,
  ...(nodeId ? { nodeId } : {}),
});

test("a double holds a number when it prints as that number, however it is spelled", () => {
  for (const text of ["0", "0.0", "-0.5", "1.0", "1E5", "1e+05", "100e-2", "0e999999999999", "0.1", "5e-324", "1.7976931348623157e308", "9007199254740992", "0.30000000000000004", "123456789012345680000", "1e21", "1.50e-7"])
    assert(holds(Number(text), text), text);
  for (const text of ["1e400", "-1e400", "1e-400", "-1e-400", "-0", "-0.0", "-0e5", "4e-324", "9007199254740993", "12345678901234567890", "0.1234567890123456789", "1e99999999999999999999", "9007199254740993e0", "900719925474099.3e1"])
    assert(!holds(Number(text), text), text);
});

test("numbers that no double holds are printed as they were written", { skip: exact ? false : "this node has no source text in JSON.parse" }, () => {
  for (const text of ["12345678901234567890", "0.1234567890123456789", "[9007199254740993]", '{"a":1e400}', "[-1e400,1e-400,-0,4e-324,1.5,0.1]", "-0", '{"a":{"b": [\n-0.0]}}'])
    assert.equal(print(parse(text)), text.replace(/\s/g, ""));
  assert.equal(print(parse("[1.5,0.1,1E3,1.0]")), "[1.5,0.1,1000,1]");
});

test("characters that turn text around are shown by their codes, and the value of JSON stays", () => {
  const turned = "Pay 100 \u202e000,1\u202c \u061c\u200e\u200f\u2066\u2069";
  assert.equal(visible(turned), "Pay 100 \\u202e000,1\\u202c \\u061c\\u200e\\u200f\\u2066\\u2069");
  assert.equal(visible("שלום 1 \u200d\u2028 é"), "שלום 1 \u200d\u2028 é", "nothing else");
  const value: Json = { [turned]: [turned] };
  assert.equal(print(value), `{"${visible(turned)}":["${visible(turned)}"]}`);
  assert(equal(parse(print(value)), value));
  assert.equal(shown(fieldOf("s", { type: "string" }, true, turned)), `"${visible(turned)}"`, "a control shows them, too");
  assert.deepEqual(summary(event(1, "variable.changed", { name: "שלום", next: 5 })), ["שלום", " = ", "5"]);
  assert.deepEqual(summary(event(2, "run.started", { workflowId: "w", inputs: {} })), ["w"]);
});

test("values are compared without the order of members", () => {
  assert(equal(parse('{"a":1,"b":[{"c":null}]}'), parse('{"b":[{"c":null}],"a":1}')));
  for (const [a, b] of [["{}", "[]"], ["[1]", "[1,2]"], ['{"a":1}', '{"b":1}'], ["null", "0"], ['{"__proto__":1}', "{}"]])
    assert(!equal(parse(a as string), parse(b as string)), `${a} ${b}`);
  assert(!equal(new Exact("1"), new Exact("2")));
});

test("an answer that is none of a host counts as no answer, and an act is asked for again", async () => {
  const real = globalThis.fetch;
  const heard: string[] = [];
  const api = new Api("k", { answered: () => heard.push("answered"), away: () => heard.push("away"), dated: () => {}, refused: () => heard.push("refused") });
  let answers: string[] = [];
  globalThis.fetch = async () => new Response(answers.shift() ?? "{}", { headers: { "Content-Type": "application/json" } });
  try {
    for (const text of ["<html>portal", "", "null", "[]", "7", '{"a":', '"x"']) {
      answers = [text];
      await assert.rejects(api.get("/v1/runs"), (e) => e instanceof ApiError && e.away && e.code === "strange_answer", text);
    }
    assert(heard.every((word) => word === "away"), heard.join());
    await assert.rejects(api.open("GET", "/v1/runs/r/events", { Accept: "text/event-stream" }), (e) => e instanceof ApiError && e.away, "a stream of JSON");
    heard.length = 0;
    answers = ["<html>", '{"runId":"r"}'];
    assert.deepEqual(await api.post("/v1/runs", {}), { runId: "r" });
    answers = [""];
    assert.equal(await api.post("/v1/runs/r:pause", {}), null, "an act may have an empty answer");
    assert.deepEqual(heard, ["away", "answered"]);
  } finally {
    globalThis.fetch = real;
  }
});

test("the clock is the host's where the browser's is wrong by more than a date in seconds tells", () => {
  const date = "Thu, 01 Jan 2026 00:00:00 GMT";
  const there = Date.parse(date);
  const day = 86400000;
  for (const late of [-1500, 0, 999, 1999]) assert.equal(offsetOf(date, there + late, 0), 0, String(late));
  const offset = offsetOf(date, there + day, 0);
  assert(Math.abs(offset + day) <= 500);
  for (const late of [-900, 300, 999]) assert.equal(offsetOf(date, there + day + late, offset), offset, "it does not jump about");
  assert(Math.abs(offsetOf(date, there - day, offset) - day) <= 500, "the browser's was set");
  assert.equal(offsetOf(date, there, offset), 0, "and is right now");
  for (const none of [null, "", "soon"]) assert.equal(offsetOf(none, there, 7), 7);
});

test("frames of a stream are the same however it is cut", () => {
  const text = ': hello\r\n\r\nid: 1\nevent: a\ndata: {"x":\ndata: 1}\n\ndata:no blank\n\nevent: only\n\nid: 2\ndata: last\n\n';
  const whole = new SseReader().feed(text);
  assert.deepEqual(whole.map((f) => [f.id, f.event, f.data]), [["1", "a", '{"x":\n1}'], ["1", "message", "no blank"], ["1", "only", ""], ["2", "message", "last"]]);
  for (let cut = 1; cut < text.length; cut++) {
    if (text[cut - 1] === "\r") continue; // no writer of ours cuts a line end
    const reader = new SseReader();
    assert.deepEqual([...reader.feed(text.slice(0, cut)), ...reader.feed(text.slice(cut))], whole, `cut at ${cut}`);
  }
});

test("counters add up exactly, in any order", () => {
  const sums: [(number | Exact)[], number | string][] = [
    [[0.1, 0.2, 0.3, -0.6], 2.7755575615628914e-17], [[1e308, 1, -1e308], 1], [[2 ** 53, 1], "9007199254740993"], [[new Exact("9223372036854775807"), -7], "9223372036854775800"],
    [[1e16, 0.5, -1e16], 0.5], [[], 0],
  ];
  for (const [values, want] of sums) {
    for (const list of [values, values.slice().reverse()]) {
      const sum = new Sum();
      for (const v of list) sum.add(v);
      const got = sum.value();
      assert.equal(got instanceof Exact ? got.text : got, want);
    }
  }
});

test("channels keep the latest vote, the first message, and what is young enough", () => {
  const votes = new Channel("v", { reducer: "votes" }, "mask");
  votes.write({ userId: "a", yes: true }, "votes", 1, 0);
  votes.write({ voter: "b" }, "votes", 2, 0);
  votes.write({ userId: "a", yes: false }, "votes", 3, 0);
  assert.deepEqual(votes.shown(4), [{ voter: "b" }, { userId: "a", yes: false }]);
  const messages = new Channel("m", { reducer: "message" }, "mask");
  messages.write({ messageId: "1", text: "first" }, "message", 1, 0);
  messages.write({ messageId: "1", text: "second" }, "message", 2, 0);
  assert.deepEqual(messages.shown(3), [{ messageId: "1", text: "first" }]);
  const aging = new Channel("t", { reducer: "append", ttlMs: 10, maxSize: 2 }, "mask");
  for (const at of [1, 5, 8]) aging.write(at, "append", at, 0);
  assert.deepEqual(aging.shown(8), [5, 8]);
  assert.deepEqual(aging.shown(16), [8]);
  const copy = aging.copy();
  copy.write(9, "append", 9, 0);
  assert.deepEqual(aging.shown(8), [5, 8], "a copy is one");
  const secret = new Channel("s", { reducer: "append", sensitive: true }, "mask");
  secret.write("[REDACTED]", "append", 1, 0);
  assert.equal(secret.shown(2), "[REDACTED]");
  assert.equal(new Channel("s", { reducer: "replace", sensitive: true }, "omit").shown(2), undefined);
});

test("a log forgets what was not looked at, and knows what it lacks", () => {
  const log = new EventLog();
  const big = "x".repeat(20000);
  for (let i = 0; i < 4000; i++) log.put([event(i, "output.chunk", { chunk: big })]);
  assert.equal(log.length, 4000);
  assert(log.held < 4000, `${log.held} are held`);
  assert(log.get(3999), "the latest is there");
  assert.equal(log.get(0), undefined);
  assert(!log.has(0));
  log.put(Array.from({ length: PAGE }, (_, i) => event(i, "x")));
  assert(log.has(0));
});

test("a search looks at each event once, in slices, also at those that come back to memory", () => {
  const log = new EventLog();
  let looks = 0;
  const even = new Scan(log, (e) => (looks++, e.sequence % 2 === 0));
  let time = 0;
  const clock = (): number => time++; // a look at the clock takes a millisecond
  log.put(Array.from({ length: 1000 }, (_, i) => event(i, "x", {}, `n${i % 3}`)));
  assert(!even.step(2, clock), "not all within 2 ms");
  const first = even.list.length;
  assert(first > 0 && first < 500, String(first));
  while (!even.step(2, clock));
  log.put([event(2001, "x"), event(2002, "x"), event(2000, "x")]);
  assert(even.step(1000, clock));
  assert.deepEqual(even.list, [...Array.from({ length: 500 }, (_, i) => 2 * i), 2000, 2002]);
  log.put(Array.from({ length: 10 }, (_, i) => event(1500 + i, "x")));
  assert(even.step(1000, clock));
  assert.deepEqual(even.list.slice(500), [1500, 1502, 1504, 1506, 1508, 2000, 2002]);
  assert.equal(looks, 1013);
  const groups = new Groups(log);
  assert(groups.step(1000, clock));
  const closed = groups.rows(new Set());
  assert.equal(closed.count, 4);
  assert.deepEqual([0, 1, 2, 3].map((i) => closed.at(i).id), ["n0", "n1", "n2", ""]);
  const open = groups.rows(new Set(["n1"]));
  assert.equal(open.count, 4 + 333);
  assert.deepEqual([open.at(1).seq, open.at(2).seq, open.at(334).seq, open.at(335).id, open.at(336).id], [undefined, 1, 997, "n2", ""]);
});

test("streamed text is kept in pieces that stay, its end up to a bound", () => {
  const out = new Output();
  let all = "";
  for (let i = 0; i < 3000; i++) {
    const chunk = `${i} \u{1F600}${"y".repeat(i % 7)} `;
    all += chunk;
    out.apply(event(i, "output.chunk", { chunk }, "n"));
  }
  const s = out.streams.get("n");
  assert(s && s.open && !s.cut && s.pieces.length > 2);
  assert.equal(s.pieces.join("") + s.tail, all);
  assert(s.pieces.every((p) => !/[\ud800-\udbff]$/.test(p)));
  for (let i = 0; i < 300; i++) out.apply(event(3000 + i, "output.chunk", { chunk: "z".repeat(1000), isLast: i === 299 }, "n"));
  assert(s.cut && !s.open && s.first > 0);
  const kept = s.pieces.join("") + s.tail;
  assert(kept.length <= 208000 && kept.endsWith("z"), String(kept.length));
});

test("a paragraph without spaces is broken between graphemes, and a long chunk costs no more than its length", () => {
  for (const one of ["\u{1F469}\u200d\u{1F469}\u200d\u{1F467}", "\u{1F1E9}\u{1F1EA}", "e\u0301", "\u{1F600}"]) {
    const out = new Output();
    const all = one.repeat(6000);
    for (let i = 0; i < all.length; i += 777) out.apply(event(i, "output.chunk", { chunk: all.slice(i, i + 777) }, "n"));
    const s = out.streams.get("n");
    assert(s && s.pieces.length > 0 && s.pieces.join("") + s.tail === all);
    assert(s.pieces.every((p) => p.length % one.length === 0 && p.length <= 8000 && p.length > 7400), `${s.pieces.map((p) => p.length)}`);
  }
  const from = performance.now();
  new Output().apply(event(0, "output.chunk", { chunk: "x".repeat(8000000) }, "n"));
  assert(performance.now() - from < 2000, `${performance.now() - from} ms`);
});

test("text of a node that begins again stays until it says something else, and ends with its node or its run", () => {
  const out = new Output();
  let seq = 0;
  const hear = (type: string, payload: Json = {}, id: string | undefined = "n"): void => out.apply(event(seq++, type, payload, id));
  const is = (): unknown[] => {
    const s = out.streams.get("n");
    return [s?.tail, s?.round, s?.over, s?.open];
  };
  hear("node.started");
  hear("output.chunk", { chunk: "one" });
  assert.deepEqual(is(), ["one", 0, false, true]);
  hear("node.failed");
  assert.deepEqual(is(), ["one", 0, false, false]);
  hear("node.started");
  assert.deepEqual(is(), ["one", 0, true, false]);
  hear("output.chunk", { chunk: "two" });
  assert.deepEqual(is(), ["two", 1, false, true]);
  for (const end of ["run.cancelled", "run.failed"]) {
    hear("output.chunk", { chunk: "." });
    hear(end, {}, "");
    assert.equal(out.streams.get("n")?.open, false, end);
  }
});

test("output that began in the middle is replaced by that of the whole log, and no event is heard twice", () => {
  const events = Array.from({ length: 100 }, (_, i) => event(i, "output.chunk", { chunk: `${i} ` }, "n"));
  const tail = new Output(false);
  const whole = new Output();
  for (const e of events.slice(90)) tail.apply(e);
  for (const e of [...events, ...events.slice(90)]) whole.apply(e);
  assert(!tail.whole && whole.whole);
  assert.equal(whole.streams.get("n")?.tail, events.map((_, i) => `${i} `).join(""));
});

test("a piece of streamed text ends with a line, a paragraph that has none at a space", () => {
  for (const [words, longest] of [[20, 2100], [700, 8000], [5000, 8000]] as [number, number][]) {
    const out = new Output();
    let all = "";
    for (let i = 0; i < 8000; i++) {
      const chunk = i % words === words - 1 ? "end.\n\n" : `w${i} `;
      all += chunk;
      out.apply(event(i, "output.chunk", { chunk }, "n"));
    }
    const s = out.streams.get("n");
    assert(s && s.pieces.length > 4);
    assert.equal(s.pieces.join("") + s.tail, all);
    assert(s.pieces.every((p) => p.length <= longest && (words < 5000 ? p.endsWith("\n") : /[ \n]$/.test(p))), `${words}: ${s.pieces.map((p) => p.length)}`);
    assert(s.tail.length <= 8000);
  }
});

test("a text is cut between graphemes, however long they are", () => {
  for (const one of ["a", "e\u0301", "\u{1F600}", "\u{1F469}\u200d\u{1F469}\u200d\u{1F467}", "\u{1F1E9}\u{1F1EA}", "\r\n"]) {
    const text = one.repeat(3000);
    for (const max of [1000, 1001, 1003, 2047]) {
      const end = cutAt(text, max);
      assert(end <= max && end > max - one.length && end % one.length === 0, `${JSON.stringify(one)}: ${end} of ${max}`);
    }
    assert.equal(cutAt(text, text.length), text.length);
  }
  assert.equal(cutAt(`a${"\u0301".repeat(9000)}`, 2000), 2000);
  assert.equal(cutAt(`${"x".repeat(1999)}\u{1F600}`, 2000), 1999);
});

test("log lines are kept and shown up to bounds of their number and of their length", () => {
  const out = new Output();
  for (let i = 0; i < 700; i++) out.apply(event(i, "log.appended", { level: "info", message: `line ${i}` }));
  assert.equal(lastLines(out.lines, 500, 2000, 100000), 500);
  const long = "x".repeat(100000);
  for (let i = 700; i < 730; i++) out.apply(event(i, "log.appended", { level: "info", message: long }, "n"));
  assert.equal(lastLines(out.lines, 500, 2000, 20000), 10);
  assert.equal(lastLines(out.lines, 500, 2000, 1), 1, "the last is shown in any case");
  assert(out.cut && out.lines.at(-1)?.seq === 729);
  assert(out.lines.reduce((sum, l) => sum + l.text.length, 0) <= 2000000);
  for (const [type, payload] of [["log.appended", { message: long }], ["node.failed", { error: { code: "c", message: long } }], ["output.chunk", { chunk: long }]] as [string, Json][])
    assert(summary(event(0, type, payload)).length < 500, type);
});

test("variables, channels and nodes are shown whatever they are called", () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const fold = new Fold({ id: "w", nodes: names.map((id) => ({ id, typeId: "core.noop" })), channels: parse('{"__proto__":{"reducer":"replace"},"valueOf":{"reducer":"replace"}}') as Definition["channels"] & {} });
  fold.apply(event(0, "run.started", { inputs: {} }));
  names.forEach((name, i) => {
    fold.apply(event(3 * i + 1, "variable.changed", { name, next: { a: i } }, name));
    fold.apply(event(3 * i + 2, "node.started", {}, name));
    fold.apply(event(3 * i + 3, "channel.written", { channel: i === 0 ? "__proto__" : "valueOf", value: i, reducer: "replace" }, name));
  });
  const got = fold.snapshot();
  assert.deepEqual(Object.keys(got.variables), names);
  assert.deepEqual(Object.keys(got.nodeStates), names);
  assert.deepEqual(Object.entries(got.channels ?? {}), [["__proto__", 0], ["valueOf", 3]]);
  assert.equal(print(plain(parse('{"__proto__":{"x":1},"a":2}'), "r")), '{"__proto__":{"x":1},"a":2}');
});

test("figures of a host: rates and times of what happened since an earlier look", () => {
  const of = (n: number, when: number): Figures => new Figures([
    { name: "t", labels: { type: "a" }, value: n }, { name: "t", labels: { type: "b" }, value: 2 * n }, { name: "g", value: 1.5 },
    { name: "h_bucket", labels: { le: "0.001" }, value: 90 }, { name: "h_bucket", labels: { le: "0.01" }, value: 90 + n }, { name: "h_bucket", labels: { le: "+Inf" }, value: 100 + n }], when);
  const [old, now] = [of(10, 1000), of(40, 4000)];
  assert.equal(now.sum("t"), 120);
  assert.equal(now.sum("t", "type", "a"), 40);
  assert.equal(now.sum("g"), 1.5);
  assert.deepEqual(now.parts("t", "type"), [["b", 80], ["a", 40]]);
  assert.equal(now.rate("t", old), 30);
  assert.equal(now.rate("t", now), undefined);
  assert.equal(old.rate("t", now), undefined, "a host that was started again counts anew");
  assert.equal(now.quantile("h", 0.5), 0.001);
  assert.equal(now.quantile("h", 0.99, old), 0.01, "of what came since");
  assert.equal(new Figures([], 0).quantile("h", 0.5), undefined);
  assert.deepEqual([bytes(999), bytes(1234), bytes(123456789)], ["999 B", "1.2 KB", "123 MB"]);
});

test("states of the past are those of the fold", () => {
  const fold = new Fold(null);
  const history: History = { states: [], whole: true };
  const log = new EventLog();
  const events = [event(0, "run.started")];
  for (let i = 1; i < 3000; i++) events.push(event(i, "variable.changed", { name: `v${i % 7}`, next: i }));
  for (const e of events) {
    log.put([e]);
    fold.apply(e);
    addHistory(history, fold);
  }
  assert(history.states.length <= 65);
  for (const seq of [0, 1, 249, 250, 251, 1777, 2999]) {
    const plain = new Fold(null);
    for (const e of events.slice(0, seq + 1)) plain.apply(e);
    const got = stateAt(history, log, new Fold(null), seq);
    assert(got instanceof Fold);
    assert.deepEqual(got.snapshot(), plain.snapshot(), `after ${seq}`);
  }
});

test("a waterfall shows attempts, waits and what goes on", () => {
  const spans = new Spans();
  const kinds = ["started", "retried", "started", "suspended", "resumed", "completed"];
  kinds.forEach((k, i) => spans.apply(event(i, `node.${k}`, { attempt: i === 0 ? 0 : 1 }, "n")));
  spans.apply(event(9, "node.started", {}, "other"));
  const lane = spans.lanes.get("n")?.spans ?? [];
  assert.deepEqual(lane.map((s) => [s.kind, s.outcome, s.to === undefined ? 0 : s.to - s.from]), [
    ["work", "retried", 1000], ["backoff", "retried", 1000], ["work", "suspended", 1000], ["wait", "completed", 1000], ["work", "completed", 1000]]);
  assert.equal(spans.lanes.get("other")?.spans[0]?.to, undefined);
});

test("the real clock of a document goes on between its steps, and stands still in a pause", () => {
  const tasks = new Tasks();
  tasks.apply(event(0, "run.started", { workspec: { clock: "real", speed: 60, originMs: 1000000 } }));
  tasks.apply(event(1, "node.started", { workspec: { vt: 1000000, performer: "p", plannedStart: 1000000, plannedEnd: 1600000 } }, "a"));
  tasks.apply(event(3, "run.paused"));
  const at = (s: number): number => 1e12 + s * 1000;
  assert.equal(tasks.live(at(9)), 1120000);
  tasks.apply(event(10, "run.resumed"));
  assert.equal(tasks.live(at(12)), 1240000);
  assert.deepEqual(tasks.done("a", 10), { from: 1000000, to: undefined });
  tasks.apply(event(13, "node.completed", { outputs: { end: 1600000 } }, "a"));
  assert.deepEqual([tasks.now(2), tasks.now(13), tasks.done("a", 13)], [1000000, 1600000, { from: 1000000, to: 1600000 }]);
});

test("the first difference of two logs is no id and no time", () => {
  const left = [event(0, "run.started", { key: "r:a:0", durationMs: 4 }), event(1, "node.started", {}, "a"), event(2, "node.completed", { outputs: { x: 1 } }, "a")];
  const right = [{ ...event(0, "run.started", { key: "q:a:0", durationMs: 9 }), runId: "q" }, event(1, "lease.lost"), event(2, "node.started", {}, "a"), event(3, "node.completed", { outputs: { x: 2 } }, "a")];
  for (const turn of [1, 2, 9]) { // of whichever side events come first
    const pair = (a: Event[], b: Event[]): Pairs => {
      const pairs = new Pairs();
      for (let i = 0, k = 0; i < a.length || k < b.length; ) {
        for (let n = 0; n < turn && k < b.length; n++) pairs.add("right", b[k++] as Event);
        if (i < a.length) pairs.add("left", a[i++] as Event);
      }
      return pairs;
    };
    const got = pair(left, right);
    assert.equal(got.first, 2);
    assert.deepEqual(Array.from({ length: got.length }, (_, i) => got.at(i)), [{ left: 0, right: 0, same: true }, { left: 1, right: 2, same: true }, { left: 2, right: 3, same: false }]);
    assert.equal(pair(left, left.slice(0, 2)).first, 2);
    assert.equal(pair(left.slice(0, 1), left).first, 1);
    assert.equal(pair(left, left).first, -1);
  }
});

test("fields are those of a schema, and a typed value is of its type", () => {
  const fields = fieldsOf({ type: "object", required: ["n"], properties: { n: { type: "integer" }, s: { type: "string", default: "d" }, c: { enum: ["a", 2] }, o: { type: "object" }, b: { type: "boolean" } } });
  assert.deepEqual(fields?.map((f) => f.kind), ["number", "text", "choice", "json", "boolean"]);
  assert.equal(shown(fields?.[1] as never), "d");
  assert.equal(fieldsOf({ type: "array" }), null);
  const number = fieldOf("n", { type: "number" }, true);
  for (const [typed, want] of [["4.5", 4.5], ["-0.5e2", -50]] as const) assert.deepEqual(read(number, typed), { ok: true, value: want });
  for (const typed of ["", "abc", "0x10", "1,5", "Infinity", "01"]) assert(!read(number, typed).ok, typed);
  assert.deepEqual(read(fieldOf("s", { type: "string" }, true), ""), { ok: false, why: "required" });
  assert.deepEqual(read(fieldOf("s", { type: "string" }, false), ""), { ok: true, value: undefined });
  const bare = fieldsOf({ type: "object", required: ["what", 7, "n"], properties: { n: { type: "integer" } } });
  assert.deepEqual(bare?.map((f) => [f.name, f.kind, f.required]), [["n", "number", true], ["what", "json", true]], "a member that is required without being described");
  assert.deepEqual(fieldsOf({ required: ["what"] })?.map((f) => f.name), ["what"]);
  assert.deepEqual(read(fieldOf("o", {}, false), '{"a":[1]}'), { ok: true, value: { a: [1] } });
  assert.deepEqual(read(fieldOf("o", {}, false), "{"), { ok: false, why: "json" });
  const secret = fieldOfVariable({ name: "p", type: "string", sensitive: true, defaultValue: "hidden" });
  assert.equal(shown(secret), "", "the default of a sensitive variable is not shown");
});

test("what does not fit is named", () => {
  const refused = new ApiError(400, "validation_error", "2 input(s) do not fit the variables", { fields: [{ path: "inputs.a", reason: "wrong_type" }, { path: "inputs.b", reason: "missing" }] });
  assert.equal(inWords(refused), "2 input(s) do not fit the variables: inputs.a (wrong type), inputs.b (missing) (validation_error)");
  assert.equal(inWords(new ApiError(400, "validation_error", "output: x is missing", { fields: [{ path: "output", reason: "invalid" }] })), "Output: x is missing (validation_error)");
});

test("commands survive a shell", () => {
  assert.equal(quote("a'b $x"), `'a'\\''b $x'`);
  assert.equal(quote("run_1"), "run_1");
  assert.match(curl("POST", "/v1/runs", { a: "it's" }), /^curl -s http:\/\/host\/v1\/runs -H "authorization: Bearer \$WOPR_API_KEY" --json '.*'$/);
});

test("10,000 nodes are placed, each apart, in seconds", () => {
  const nodes = Array.from({ length: 10000 }, (_, i) => `n${i}`);
  const edges = nodes.slice(1).map((_, i): [number, number] => [Math.floor(i / 3), i + 1]);
  edges.push([9999, 0]); // and a circle
  const got = place({ nodes, edges });
  assert.equal(got.at.length, 10000);
  assert.equal(new Set(got.at.map(String)).size, 10000);
  assert.equal(got.lines.length, edges.length);
  const small = place({ nodes: ["a", "b", "c"], edges: [[0, 1], [1, 2], [2, 0], [0, 1]] });
  assert((small.at[0]?.[0] as number) < (small.at[1]?.[0] as number));
});

test("a graph that is too dense to be laid out with care is placed all the same, with its circles", () => {
  const dense = (n: number, k: number): [number, number][] => Array.from({ length: n }, (_, i) => Array.from({ length: Math.min(k, n - 1 - i) }, (_, j): [number, number] => [i, i + j + 1])).flat();
  const names = (n: number): string[] => Array.from({ length: n }, (_, i) => `n${i}`);
  for (const [n, edges] of [[120, dense(120, 25)], [300, dense(300, 10)], [400, [...dense(400, 2), ...dense(400, 1).map(([a, b]): [number, number] => [b, a * 7 % 400])]]] as [number, [number, number][]][]) {
    const from = performance.now();
    const got = place({ nodes: names(n), edges });
    assert(performance.now() - from < 3000, `${n} nodes, ${edges.length} edges: ${performance.now() - from} ms`);
    assert(got.plain && new Set(got.at.map(String)).size === n && got.lines.length === edges.length);
  }
  const got = byRanks({ nodes: names(3), edges: [[0, 1], [1, 2], [2, 0], [1, 1], [0, 2]] });
  for (const [i, over] of [[2, 0], [3, 1], [4, 1]] as [number, number][]) { // back, to itself, past a node: above what lies between
    const heights = (got.lines[i] as number[]).filter((_, k) => k % 2 === 1);
    assert(Math.min(...heights) < (got.at[over]?.[1] as number) - HEIGHT / 2 && Math.min(...heights) > 0, String(got.lines[i]));
  }
  assert(!place({ nodes: names(40), edges: dense(40, 3) }).plain);
  const huge = byRanks({ nodes: names(200000), edges: dense(200000, 1) });
  assert.equal(huge.at.length, 200000);
});

// --- the fold against a host ---

async function ask<T>(path: string, body?: Json): Promise<T> {
  const response = await fetch(url + path, {
    method: body === undefined ? "GET" : "POST", headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }, ...(body === undefined ? {} : { body: print(body) }),
  });
  const text = await response.text();
  assert(response.ok, `${path}: ${response.status} ${text}`);
  return parse(text) as T;
}

/** The frames of mode values, by the sequence after which each is. */
async function snapshots(run: string, events: number): Promise<Map<number, Snapshot>> {
  const stop = new AbortController();
  const response = await fetch(`${url}/v1/runs/${run}/events?streamMode=values`, { headers: { authorization: `Bearer ${key}`, accept: "text/event-stream" }, signal: stop.signal });
  const frames = new SseReader();
  const out = new Map<number, Snapshot>();
  const text = new TextDecoder();
  const timer = setTimeout(() => stop.abort(), 1000); // of a run that waits: there is no end
  try {
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>)
      for (const f of frames.feed(text.decode(piece, { stream: true }))) out.set(Number(f.id), parse(f.data) as unknown as Snapshot);
  } catch (e) {
    if (!stop.signal.aborted) throw e;
  }
  clearTimeout(timer);
  return new Map([...out].filter(([seq]) => seq < events));
}

/** The host has begun the next round of a loop, which its first start says an event later. */
function renewed(events: Event[], fold: Fold, definition: Definition, seq: number, id: string, status: string): boolean {
  if (status !== "pending" || fold.nodeState(id)?.status === "pending") return false;
  const next = events.slice(seq + 1).find((e) => e.type === "node.started");
  return next !== undefined && (next.nodeId === id || new Regions(definition).of(next.nodeId as string).includes(id));
}

const FOLDED = ["status", "startedAt", "completedAt", "currentNodeId", "variables", "channels", "outputs", "error"] as const;

async function compare(name: string, run: string): Promise<number> {
  const { definition } = await ask<{ definition: Definition }>(`/v1/host/wopr/runs/${run}/definition`);
  const { events } = await ask<{ events: Event[] }>(`/v1/runs/${run}/events/poll?timeout=1`);
  const wanted = await snapshots(run, events.length);
  const fold = new Fold(definition);
  const where = (seq: number): string => `${name}, after event ${seq} (${events[seq]?.type})`;
  for (const e of events) {
    fold.apply(e);
    const want = wanted.get(e.sequence);
    if (!want) continue;
    const got = fold.snapshot();
    for (const member of FOLDED) assert(equal(got[member] as Json, want[member] as Json), `${where(e.sequence)}: ${member} is ${print(got[member] as Json)}, the host says ${print(want[member] as Json)}`);
    assert.deepEqual(Object.keys(got.nodeStates).sort(), Object.keys(want.nodeStates).sort(), where(e.sequence));
    for (const [id, n] of Object.entries(want.nodeStates))
      if (!renewed(events, fold, definition, e.sequence, id, n.status)) for (const member of ["status", "attempt", "startedAt", "completedAt", "outputs", "error"])
        assert(equal(got.nodeStates[id]?.[member], n[member]), `${where(e.sequence)}: ${id}.${member} is ${print(got.nodeStates[id]?.[member])}, the host says ${print(n[member])}`);
  }
  return wanted.size;
}

const ACCEPT: Json = { resumeValue: { action: "accept" } };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const QUIET = /^(completed|failed|cancelled|waiting-.*|paused)$/;
async function settled(run: string): Promise<Snapshot> {
  for (;;) {
    const s = await ask<Snapshot>(`/v1/runs/${run}`);
    if (QUIET.test(s.status)) return s;
    await sleep(20);
  }
}

test("the fold equals the host's snapshot after every event of all fixtures and examples", { timeout: 120000 }, async () => {
  const { workflows } = await ask<{ workflows: { workflowId: string }[] }>("/v1/host/wopr/workflows?limit=200");
  const INPUTS: Record<string, Json> = {
    router: { amount: 700 }, "slow-pipeline": { delayMs: 20 }, "conformance-delay": { delayMs: 5 }, "conformance-cancellable": { delayMs: 20 },
    "conformance-identity": { payload: { deep: [1, { x: null }] } }, "order-total": { order: "1" },
  };
  const counts = await Promise.all(workflows.map(async ({ workflowId }) => {
    let run: string;
    try {
      const configurable = workflowId === "conformance-stream-text" ? { mockProvider: { id: "stream-text" } } : undefined;
      run = (await ask<{ runId: string }>("/v1/runs", { workflowId, inputs: INPUTS[workflowId] ?? {}, ...(configurable ? { configurable } : {}) })).runId;
    } catch (e) {
      assert.match(String(e), /: (400|403|404|409|422) /); // it asks for more than a fixture has
      return 0;
    }
    const first = await Promise.race([settled(run), sleep(5000).then(() => undefined)]);
    const waiting = first?.interrupt;
    if (waiting) { // one answer; a refused one leaves the run as it is
      const questions: Json = { resumeValue: { answers: { size: "M", gift: true, "q-name": "x", q1: "x" } } };
      await ask(`/v1/runs/${run}/interrupts/${encodeURIComponent(waiting.nodeId)}`, waiting.kind === "clarification" ? questions : ACCEPT).catch(() => {});
      await Promise.race([settled(run), sleep(1000)]);
    }
    return compare(workflowId, run);
  }));
  const compared = counts.filter((n) => n > 0);
  console.log(`# ${compared.length} of ${workflows.length} workflows ran, ${compared.reduce((a, b) => a + b, 0)} snapshots compared`);
  assert(compared.length >= 40, `only ${compared.length} ran`);
});

test("so it does where a run is paused, cancelled, forked, and where channels age and sum", { timeout: 60000 }, async () => {
  const slow = (await ask<{ runId: string }>("/v1/runs", { workflowId: "slow-pipeline", inputs: { delayMs: 60000 } })).runId;
  while (!(await ask<Snapshot>(`/v1/runs/${slow}`)).nodeStates["wait"]) await sleep(10);
  await ask(`/v1/runs/${slow}:pause`, { drainPolicy: "immediate" });
  await settled(slow);
  await ask(`/v1/runs/${slow}:resume`, {});
  await sleep(50);
  await ask(`/v1/runs/${slow}/cancel`, {});
  await settled(slow);
  assert(await compare("paused and cancelled", slow) > 4);
  const purchase = (await ask<{ runId: string }>("/v1/runs", { workflowId: "purchase" })).runId;
  await settled(purchase);
  await ask(`/v1/runs/${purchase}/interrupts/approve`, ACCEPT);
  while ((await settled(purchase)).status !== "completed") await sleep(10);
  for (const mode of ["replay", "branch"]) {
    const fork = (await ask<{ runId: string }>(`/v1/runs/${purchase}:fork`, { mode, fromSeq: 0 })).runId;
    await settled(fork);
    await compare(`fork, ${mode}`, fork);
  }
});

test("a run of a document: its world after each event is the host's, and its plan is told by performer", { timeout: 30000 }, async () => {
  const put = await fetch(`${url}/v1/workspec/documents/tea`, { method: "PUT", headers: { authorization: `Bearer ${key}`, "content-type": "application/yaml" }, body: fs.readFileSync(process.env["TEA"] as string) });
  assert.equal(put.status, 201);
  const run = (await ask<{ runId: string }>("/v1/runs", { workflowId: "tea", inputs: { world: { water: { quantity: 5 } } } })).runId;
  while ((await settled(run)).status !== "completed") await sleep(10);
  const compared = await compare("tea", run);
  assert(compared > 5, `${compared} snapshots`);
  const { definition } = await ask<{ definition: Definition }>(`/v1/host/wopr/runs/${run}/definition`);
  assert(isDocument(definition));
  const fold = new Fold(definition);
  const tasks = new Tasks();
  const pots: string[] = [];
  for (const e of (await ask<{ events: Event[] }>(`/v1/runs/${run}/events/poll?timeout=1`)).events) {
    fold.apply(e);
    tasks.apply(e);
    const pot = things(fold.variables).get("pot");
    pots.push(pot === undefined ? "none" : pot.gone ? `gone ${pot.properties.size}` : `${pot.name} ${pot.properties.get("quantity") ?? ""}`);
  }
  assert.deepEqual(pots.filter((p, i) => p !== pots[i - 1]), ["none", "Pot ", "Pot 0.25", "gone 0"]);
  assert.equal(things(fold.variables).get("water")?.properties.get("quantity"), 4.75);
  const plan = await ask<Plan>("/v1/workspec/documents/tea/plan");
  assert.equal(tasks.planSha256, plan.planSha256);
  assert.deepEqual([tasks.now(0), tasks.done("brew", 5), tasks.done("brew", 1e9)], [28800000, undefined, { from: 29100000, to: 29340000 }]);
  assert.deepEqual(performers(plan).map((p) => [p.id, p.tasks.map((t) => t.id)]), [["kettle", ["boil"]], ["ann", ["brew", "pour"]]]);
  assert.deepEqual([planSpan(plan).from, planSpan(plan).to].map((ms) => planTime(ms, plan, false)), ["08:00", "08:10"]);
  assert.equal(planTime(86400000 + 3661000, { originMs: 0 }, true), "2/01:01:01");
  assert.equal(planTime(86400000, { originMs: 0, anchorDate: "2026-02-28" }, true), "2026-03-01 00:00");
  assert(!isDocument({ ...definition, nodes: [...definition.nodes, { id: "x", typeId: "core.noop" }] }), "a workflow that only says that it is one");
});
