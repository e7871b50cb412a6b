#!/usr/bin/env python3
"""
run.py: nodes that ask models, with the real program and a scripted provider (provider.py) in both wire styles:
each completed call is made once, whatever becomes of the host, and a replay calls nobody.
usage: run.py WOPR
"""
import datetime
import json
import os
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
import host as kit  # noqa: E402
from provider import KEY as PROVIDER_KEY, Provider  # noqa: E402

WAIT_S = 90
FAILED = []


def expect(ok, what):
    if not ok:
        FAILED.append(what)
        print("FAILED:", what, file=sys.stderr)


def providers_file(folder, port, **more):
    key = os.path.join(folder, "provider.key")
    with open(key, "w", encoding="ascii") as f:
        f.write(PROVIDER_KEY + "\n")
    os.chmod(key, 0o600)
    rows = [{"name": s, "style": s, "url": "http://127.0.0.1:%d/%s" % (port, s), "model": "tiny",
             "keyFile": key, "prices": {"tiny-1": {"input": 2.5, "output": 10}}, **more} for s in ("openai", "anthropic")]
    path = os.path.join(folder, "providers.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"providers": rows}, f)
    return path


class Host(kit.Host):
    wait_s = WAIT_S

    def __init__(self, wopr, folder, *args):
        super().__init__(wopr, os.path.join(tempfile.mkdtemp(dir=folder), "w.db"), *args)

    def put(self, config, inputs=None, settings=None, type_id="core.ai.callPrompt", ports=False):
        node = {"id": "n", "typeId": type_id, "name": "N", "position": {"x": 0, "y": 0}, "config": config,
                "inputs": inputs or {}, "settings": settings or {}}
        wf = {"id": "w%d" % time.monotonic_ns(), "name": "W", "version": "1", "nodes": [node], "edges": [],
              "triggers": [], "variables": [{"name": "x", "type": "object"}] if ports else [], "metadata": {}, "settings": {}}
        self.must("PUT", "/v1/host/wopr/workflows/" + wf["id"], wf)
        return wf["id"]

    def begin(self, config, given=None, **more):
        if given:
            more["inputs"] = {k: {"type": "expression", "expression": "variables.x." + k} for k in given}
            more["ports"] = True
        inputs = {"x": given} if given else {}
        return self.must("POST", "/v1/runs", {"workflowId": self.put(config, **more), "inputs": inputs})["runId"]

    def wait(self, run):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            snap = self.must("GET", "/v1/runs/" + run)
            if snap["status"] in ("completed", "failed", "cancelled"):
                return snap
            time.sleep(0.02)
        raise RuntimeError("no end: %s" % snap)

    def run(self, config, **more):
        return self.wait(self.begin(config, **more))

    def events(self, run):
        return self.must("GET", "/v1/runs/%s/events" % run)["events"]

    def fork(self, run):
        return self.must("POST", "/v1/runs/%s:fork" % run, {"mode": "replay", "fromSeq": 0})["runId"]

    def end(self):
        status = self.stop()
        expect(status == 0, "the host ended with %d: %s" % (status, self.text()[-2000:]))


def outputs(snap):
    return snap.get("nodeStates", {}).get("n", {}).get("outputs", {})


def code(snap):
    return (snap.get("error") or {}).get("code", snap["status"])


def until(what, fn):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if fn():
            return True
        time.sleep(0.01)
    expect(False, "in vain: " + what)
    return False


STYLES = ("openai", "anthropic")
RETRY = {"maxRetries": 2, "retryDelayMs": 10}


def answers(h, p):
    for s in STYLES:
        snap = h.run({"provider": s, "prompt": "hello {{name}}", "systemPrompt": "be brief", "maxTokens": 7,
                      "temperature": 0.5, "stop": ["END"]}, inputs={"name": {"type": "static", "value": "{{w}} " + s}})
        out = outputs(snap)
        expect(out.get("text") == "HELLO {{W}} " + s.upper(), "%s: %s" % (s, snap))
        expect(out.get("finishReason") == "stop" and out.get("model") == "tiny-1" and out.get("provider") == s, str(out))
        expect(out.get("usage", {}).get("completionTokens") == 3, str(out))
        path, body = p.bodies[-1]
        expect(path == ("/openai/chat/completions" if s == "openai" else "/anthropic/messages"), path)
        expect(body["model"] == "tiny" and body["max_tokens"] == 7 and body["temperature"] == 0.5, str(body))
        expect("be brief" in json.dumps(body["messages"][0] if s == "openai" else body["system"]), str(body))
        chunks = [e["payload"] for e in h.events(snap["runId"]) if e["type"] == "output.chunk"]
        expect(len(chunks) == 1 and chunks[0]["isLast"] and chunks[0]["chunk"] == out["text"], str(chunks))
        expect(chunks[0]["meta"]["usage"]["completionTokens"] == 3, str(chunks))
        calls = p.count("hello {{w}} " + s)
        again = h.wait(h.fork(snap["runId"]))
        expect(outputs(again) == out and p.count("hello {{w}} " + s) == calls == 1, "a replay asks nobody: %s" % again)
        expect("replay.diverged" not in [e["type"] for e in h.events(again["runId"])], "and says the same")


def refusals(h, p):
    rows = (("!400 always", "ai_request_rejected", 1), ("!401 always", "credential_unavailable", 1),
            ("!404 always", "ai_request_rejected", 1), ("!500 always", "ai_provider_unavailable", 3),
            ("!garbage", "ai_response_invalid", 1), ("!empty", "ai_response_invalid", 1),
            ("!deep", "ai_response_invalid", 1), ("!zip", "ai_response_invalid", 1),
            ("!bomb", "response_too_large", 1), ("!short", "unreachable", 3))
    for s in STYLES:
        for text, want, calls in rows:
            before = p.count(text)
            snap = h.run({"provider": s, "prompt": text}, settings=RETRY)
            expect(code(snap) == want, "%s %s: %s" % (s, text, snap.get("error")))
            expect(p.count(text) - before == calls, "%s %s: %d calls" % (s, text, p.count(text) - before))
            expect(PROVIDER_KEY not in json.dumps(snap), "%s shows the credential" % text)
        for text in ("!429 " + s, "!529 " + s, "!500 " + s, "!reset " + s):
            began = time.monotonic()
            snap = h.run({"provider": s, "prompt": text}, settings=RETRY)
            expect(snap["status"] == "completed" and p.count(text) == 2, "%s: %s" % (text, snap))
            retried = [e["payload"] for e in h.events(snap["runId"]) if e["type"] == "node.retried"]
            waits = text[1] in "45" and text[1:4] in ("429", "529")
            expect(len(retried) == 1 and (retried[0]["delayMs"] == (1000 if waits else 10)), str(retried))
            expect(not waits or time.monotonic() - began >= 1.0, "Retry-After")
        snap = h.run({"provider": s, "prompt": "!stall", "timeoutMs": 300})
        expect(code(snap) == "timeout", str(snap))
    for ports, word in (({}, "prompt"), ({"prompt": 7}, "prompt"), ({"prompt": "x", "provider": "none"}, "provider"),
                        ({"prompt": "x", "maxTokens": 0}, "maxTokens"), ({"messages": [{"role": "x"}]}, "messages[0].role"),
                        ({"messages": [{"role": "tool", "content": "x"}]}, "toolCallId"),
                        ({"prompt": "x", "stop": [1]}, "stop"), ({"prompt": "x", "temperature": 9}, "temperature"),
                        ({"prompt": "x", "tools": [{}]}, "tools[0].name")):
        snap = h.run({}, given=ports, settings=RETRY)
        expect(word in snap["error"]["message"], "%s: %s" % (ports, snap["error"]))


def kills(h, p):
    """A host that dies asks again while the outcome is unknown, and never afterwards."""
    for s in STYLES:
        text = "!hold " + s
        p.gate.clear()
        run = h.begin({"provider": s, "prompt": text})
        until("the request", lambda: p.count(text) == 1)
        h.kill()
        p.gate.set()
        h.launch()
        snap = h.wait(run)
        expect(snap["status"] == "completed" and p.count(text) == 2, "%s: %s" % (text, snap))
        keys = [d.get("Idempotency-Key") for d, (_, b) in zip(p.heads, p.bodies) if text in json.dumps(b)]
        expect(len(set(keys)) == 1 and keys[0], "the same invocation: %s" % keys)
        text = "once " + s
        run = h.begin({"provider": s, "prompt": text})
        until("the answer", lambda: h.ask("GET", "/v1/runs/" + run)[1]["status"] == "completed")
        h.kill()
        h.launch()
        expect(h.wait(run)["status"] == "completed" and p.count(text) == 1, text)
        expect(h.wait(h.fork(run))["status"] == "completed" and p.count(text) == 1, "a replay of " + text)
    for i in range(12):  # at each place between request and end
        text = "kill %d" % i
        run = h.begin({"provider": STYLES[i % 2], "prompt": text})
        for _ in range(i * 40):
            if h.ask("GET", "/v1/runs/" + run)[1]["status"] == "completed":
                break
        done = h.ask("GET", "/v1/runs/" + run)[1]["status"] == "completed"
        calls = p.count(text)
        h.kill()
        h.launch()
        expect(h.wait(run)["status"] == "completed", text)
        expect(p.count(text) == calls if done else 1 <= p.count(text) <= 2, "%s: %d calls" % (text, p.count(text)))


TOOLS = [{"name": "weather", "description": "of a city", "parameters": {"type": "object"}}, {"name": "time"}]


def tools(h, p):
    """Tools go to the model, its calls come out, and their results go back, in both styles, streamed and not."""
    for s in STYLES:
        for stream in (False, True):
            text = "weather and time %s %s" % (s, stream)
            snap = h.run({"provider": s, "prompt": text, "tools": TOOLS, "toolChoice": "auto", "expectsStreaming": stream})
            out, (_, body) = outputs(snap), p.bodies[-1]
            calls = out.get("toolCalls") or []
            expect([c["name"] for c in calls] == ["weather", "time"] and out["finishReason"] == "tool_calls", str(snap))
            expect(all(json.loads(c["arguments"]) == {"city": "Oslo"} for c in calls) and out["text"] == "", str(out))
            sent = [t.get("function", t) for t in body["tools"]]
            expect([t["name"] for t in sent] == ["weather", "time"] and sent[0]["description"] == "of a city", str(body))
            expect(body["tool_choice"] == ("auto" if s == "openai" else {"type": "auto"}), str(body))
            last = chunks_of(h, snap["runId"])[-1]
            expect(last["meta"]["toolCalls"] == calls and last["meta"]["finishReason"] == "tool_calls", str(last))
            again = h.wait(h.fork(snap["runId"]))
            expect(outputs(again) == out and p.count(text) == 1, str(again))
            talk = [{"role": "system", "content": "brief"}, {"role": "user", "content": text},
                    {"role": "assistant", "toolCalls": calls}] + \
                   [{"role": "tool", "toolCallId": c["id"], "content": "rain " + c["name"]} for c in calls]
            snap = h.run({"provider": s, "messages": talk, "tools": TOOLS, "expectsStreaming": stream})
            expect(outputs(snap).get("text", "").startswith("RAIN"), str(snap))
            _, body = p.bodies[-1]
            if s == "openai":
                expect([m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool", "tool"], str(body))
                expect(body["messages"][2]["tool_calls"][0]["id"] == calls[0]["id"], str(body))
                expect(body["messages"][4]["tool_call_id"] == calls[1]["id"], str(body))
            else:
                expect([m["role"] for m in body["messages"]] == ["user", "assistant", "user"], str(body))
                expect(body["messages"][1]["content"][0]["input"] == {"city": "Oslo"}, str(body))
                expect([x["tool_use_id"] for x in body["messages"][2]["content"]] == [c["id"] for c in calls], str(body))
    snap = h.run({"provider": "anthropic", "prompt": "x", "tools": TOOLS, "toolChoice": {"name": "time"}})
    expect(p.bodies[-1][1]["tool_choice"] == {"type": "tool", "name": "time"}, str(p.bodies[-1]))


def chunks_of(h, run):
    return [e["payload"] for e in h.events(run) if e["type"] == "output.chunk"]


def shown(chunks):
    """What a reader of the chunks has at the end: those since the last that restarted."""
    text = ""
    for c in chunks:
        if c.get("meta", {}).get("providerExtensions", {}).get("restarted"):
            text = ""
        text += c["chunk"]
    return text


def agrees(h, p, snap, text, restarted=False):
    """Chunks and result of a run say the same, and a replay says it again and asks nobody."""
    chunks, out, calls = chunks_of(h, snap["runId"]), outputs(snap), p.count(text)
    expect(snap["status"] == "completed", "%s: %s" % (text, snap))
    expect(shown(chunks) == out.get("text"), "%s: %s and %s" % (text, chunks, out))
    expect([c.get("isLast") for c in chunks] == [None] * (len(chunks) - 1) + [True], "%s: %s" % (text, chunks))
    expect(chunks[-1]["meta"]["finishReason"] == out["finishReason"], str(chunks[-1]))
    expect(any("providerExtensions" in c.get("meta", {}) for c in chunks) == restarted, "%s: %s" % (text, chunks))
    again = h.wait(h.fork(snap["runId"]))
    expect(outputs(again) == out and p.count(text) == calls, "%s: a replay: %s" % (text, again))
    expect(chunks_of(h, again["runId"]) == chunks, "%s: the chunks of a replay: %s" % (text, chunks_of(h, again["runId"])))
    expect("replay.diverged" not in [e["type"] for e in h.events(again["runId"])], "%s: a replay differs" % text)
    return chunks


def lasted_ms(events):
    """From the first event of a run to the last, whole ms."""
    first, last = (datetime.datetime.fromisoformat(events[i]["timestamp"].replace("Z", "+00:00")) for i in (0, -1))
    return int((last - first).total_seconds() * 1000)


def streams(h, p):
    for s in STYLES:
        ask = lambda text, **more: h.run({"provider": s, "prompt": text, "expectsStreaming": True}, **more)
        text = "one two three " + s
        snap = ask(text)
        agrees(h, p, snap, text)
        expect(outputs(snap).get("text") == text.upper() and outputs(snap)["usage"]["completionTokens"] == 4, str(snap))
        _, sse = h.ask("GET", "/v1/runs/%s/events?streamMode=messages" % snap["runId"], Accept="text/event-stream")
        frames = [json.loads(line[6:]) for line in sse.splitlines() if line.startswith("data: ")]
        expect("".join(f["chunk"] for f in frames) == text.upper() and frames[-1]["isLast"] is True, sse)
        expect(all(f["runId"] == snap["runId"] and f["nodeId"] == "n" for f in frames), sse)
        snap = ask("!bytes " + s)
        agrees(h, p, snap, "!bytes " + s)
        expect(outputs(snap).get("text") == "Gr\u00fc\u00dfe \U0001f30d \u03a9mega", str(snap))
        snap = ask("!fast " + s)
        chunks = agrees(h, p, snap, "!fast " + s)
        expect(outputs(snap)["text"].split() == ["w%d" % i for i in range(2000)], "all of 2000 words")
        took = lasted_ms(h.events(snap["runId"]))
        expect(len(chunks) <= 3 + took // 100, "%d chunks in %d ms" % (len(chunks), took))
        snap = ask("!slow a b c d e f " + s)
        expect(len(agrees(h, p, snap, "!slow a b c d e f " + s)) > 2, "it comes in pieces")
        for text in ("!broken a b c d e f " + s, "!inline " + s):
            snap = ask(text, settings=RETRY)
            agrees(h, p, snap, text, restarted=True)
            expect(p.count(text) == 2 and "node.retried" in [e["type"] for e in h.events(snap["runId"])], text)
        for text, want in (("!401 always", "credential_unavailable"), ("!malformed", "ai_response_invalid"),
                           ("!line", "ai_response_invalid"), ("!endless", "response_too_large"),
                           ("!garbage", "ai_response_invalid"), ("!bomb", "response_too_large")):
            snap = ask(text)
            expect(code(snap) == want, "%s: %s" % (text, snap.get("error")))
        snap = h.run({"provider": s, "prompt": "!stall", "timeoutMs": 300, "expectsStreaming": True})
        expect(code(snap) == "timeout", str(snap))


def halted(h, p, text, style):
    """A run whose stream has stopped in the middle, with something of it in the log."""
    p.gate.clear()
    run = h.begin({"provider": style, "prompt": text, "expectsStreaming": True})
    until("a chunk", lambda: chunks_of(h, run))
    return run


def stream_kills(h, p):
    for s in STYLES:
        text = "!halt a b c d e f " + s
        run = halted(h, p, text, s)
        before = chunks_of(h, run)
        h.kill()
        p.gate.set()
        h.launch()
        snap = h.wait(run)
        chunks = agrees(h, p, snap, text, restarted=True)
        expect(chunks[:len(before)] == before and p.count(text) == 2, "%s: %s" % (text, chunks))
        expect("node.retried" not in [e["type"] for e in h.events(run)], "the same attempt (STORE-39)")
        text = "!halt paused " + s
        run = halted(h, p, text, s)
        h.ask("POST", "/v1/runs/%s:pause" % run, {})
        p.gate.set()
        h.ask("POST", "/v1/runs/%s:resume" % run, {})
        snap = h.wait(run)
        expect(code(snap) in ("ai_stream_broken", "unreachable"), "a stream that ends short, without a retry: %s" % snap)
        text = "!halt cancelled " + s
        run = halted(h, p, text, s)
        h.ask("POST", "/v1/runs/%s/cancel" % run, {})
        expect(h.wait(run)["status"] == "cancelled", text)
        p.gate.set()
    for i in range(10):  # at each place of a stream
        text = "!slow %d b c d e f g h" % i
        run = h.begin({"provider": STYLES[i % 2], "prompt": text, "expectsStreaming": True})
        until("%d chunks" % (i % 5), lambda: len(chunks_of(h, run)) >= i % 5)
        h.kill()
        h.launch()
        snap = h.wait(run)
        agrees(h, p, snap, text, restarted=p.count(text) > 1 and i % 5 > 0)


def costs(h, p):
    """Tokens, time and, by the operator's prices, dollars: of the node, of the run, and of no replay."""
    for s in STYLES:
        for stream in (False, True):
            config = {"provider": s, "prompt": "four words cost this", "expectsStreaming": stream}
            snap = h.run(config)
            cost = snap.get("metrics", {}).get("openwopCost", {})
            expect(cost.get("tokens") == {"input": 4, "output": 4}, "%s: %s" % (s, snap))
            expect(cost.get("provider") == s and cost.get("model") == "tiny-1", str(cost))
            expect(cost.get("usd") == (4 * 2.5 + 4 * 10) / 1e6 and cost.get("duration_ms", -1) >= 0, str(cost))
            done = [e for e in h.events(snap["runId"]) if e["type"] == "node.completed"][0]["payload"]
            expect(set(done["openwop-cost"]) == {"openwop.cost." + k for k in
                   ("provider", "model", "tokens.input", "tokens.output", "usd", "duration_ms")}, str(done))
            h.kill()
            h.launch()
            expect(h.wait(snap["runId"]).get("metrics") == snap["metrics"], "after a restart")
            again = h.wait(h.fork(snap["runId"]))
            expect("metrics" not in again and again["status"] == "completed", "a replay costs nothing: %s" % again)
            expect("replay.diverged" not in [e["type"] for e in h.events(again["runId"])], "and does not differ")
    snap = h.run({"attrs": {"openwop.cost.tokens.input": 1.9, "openwop.cost.usd": -1, "openwop.cost.model": 7,
                            "openwop.cost.evil": "canary", "openwop.cost.duration_ms": 1e99}}, type_id="conformance.cost.emit")
    expect(snap.get("metrics", {}).get("openwopCost") == {"tokens": {"input": 1, "output": 0}}, str(snap))
    expect("evil" not in json.dumps(h.events(snap["runId"])), "an attribute that is not in the list")
    expect(h.command("verify").returncode == 0, "verify")


def settings(wopr, folder, port):
    def said(text, *more):
        path = os.path.join(folder, "wrong.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return kit.start_refused(wopr, folder, "--ai-providers", path, *more)

    row = {"name": "a", "style": "openai", "url": "http://127.0.0.1:%d" % port}
    rows = (("{", "at byte"), ("[]", "providers"), ('{"providers":[]}', "providers"),
            ({"style": "x"}, "style"), ({"url": "ftp://x"}, "url"), ({"url": 7}, "url"), ({"name": ""}, "name"),
            ({"keyFile": "/nonexistent"}, "/nonexistent"), ({"keyEnv": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE"),
            ({"maxTokens": 0}, "maxTokens"), ({"prices": {"m": {"input": -1, "output": 1}}}, "input"),
            ({"prices": {"m": {"input": 1}}}, "output"), ({"key": "sk"}, "key"))
    for change, word in rows:
        text = change if isinstance(change, str) else json.dumps({"providers": [{**row, **change}]})
        rc, out = said(text, "--egress-loopback")
        expect(rc != 0 and word in out and "ai-providers" in out, "%s: %s" % (text, out))
    rc, out = said(json.dumps({"providers": [row]}))
    expect(rc != 0 and "egress-loopback" in out, "an address that no request may reach: " + out)
    open_key = os.path.join(folder, "open.key")
    with open(open_key, "w", encoding="ascii") as f:
        f.write("sk-open")
    os.chmod(open_key, 0o644)
    rc, out = said(json.dumps({"providers": [{**row, "keyFile": open_key}]}), "--egress-loopback")
    expect(rc != 0 and "chmod 600" in out and "sk-open" not in out, out)


def canary(h):
    for root, _, names in os.walk(os.path.dirname(h.database)):
        for n in names:
            with open(os.path.join(root, n), "rb") as f:
                expect(PROVIDER_KEY.encode() not in f.read(), "the credential is in " + n)
    expect(PROVIDER_KEY not in h.text(), "the credential is in the log")


PARTS = {"answers": answers, "refusals": refusals, "kills": kills, "tools": tools, "streams": streams, "stream_kills": stream_kills, "costs": costs}


def main():
    wopr, only = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        p = Provider()
        h = Host(wopr, folder, "--egress-loopback", "--conformance-types", "--ai-providers", providers_file(folder, p.port))
        for name, part in PARTS.items():
            if not only or name in only:
                part(h, p)
        if not only or "settings" in only:
            settings(wopr, folder, p.port)
        h.end()
        canary(h)
    print("ai: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
