#!/usr/bin/env python3
"""
agents.py: nodes that are agents, on the real program: a model that streams, an MCP server and a person, all inside
the test (AGT-9, AGT-20 to AGT-33).  What leaves the host is counted where it arrives.
usage: agents.py WOPR [NAME...]    (names of the functions below; default all)
"""
import json
import os
import sys
import tempfile
import threading
import time

from fakes import Handler, Mcp, Server, tool
from mcp import McpHost
from run import FAILED, KEY, WAIT_S, expect

AGENT = "core.test.clerk"
SEQ = [0]


class Model(Server):
    """A chat of the style openai: plays(messages, tools) says what comes: a text, or a list of calls (name, arguments)."""

    def __init__(self, plays):
        self.plays, self.asked, self.hold, self.released = plays, [], None, threading.Event()
        super().__init__(ModelHandler)

    def keys(self, tag):
        """The turns of one run: requests that were sent again have the key of the first."""
        with self.lock:
            return {h["Idempotency-Key"] for body, h in self.asked if tag in json.dumps(body)}


class ModelHandler(Handler):
    def do_POST(self):
        body = json.loads(self.body())
        s = self.server
        with s.lock:
            s.asked.append((body, dict(self.headers.items())))
        said = s.plays(body["messages"], [t["function"]["name"] for t in body.get("tools") or []])
        if isinstance(said, int):
            return self.reply(said, b"{}")
        text, calls = said if isinstance(said, tuple) else (said, [])
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            if calls:
                message["tool_calls"] = [{"id": "c%d" % i, "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)]
            return self.reply_json({"model": "tiny-1", "choices": [{"message": message, "finish_reason": "tool_calls" if calls else "stop"}],
                                    "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
        self.stream()
        for word in text.split(" "):
            if word == "HALT":
                s.released.wait(WAIT_S)
                continue
            self.event({"model": "tiny-1", "choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]})
            time.sleep(0.002)
        for i, (name, arguments) in enumerate(calls):
            self.event({"model": "tiny-1", "choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": i, "id": "c%d" % i, "type": "function", "function": {"name": name, "arguments": arguments}}]}, "finish_reason": None}]})
        self.event({"model": "tiny-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]})
        self.event({"model": "tiny-1", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
        self.event("[DONE]")


class AgentHost(McpHost):
    def put_agent(self, config, agent=AGENT, settings=None, inputs=None):
        SEQ[0] += 1
        name = "agent%d" % SEQ[0]
        n = {"id": "n", "typeId": "vendor.wopr.agent", "name": "N", "position": {"x": 0, "y": 0}, "config": config,
             "inputs": {"tag": {"type": "variable", "variableName": "tag"}, **(inputs or {})}, "settings": settings or {}}
        if agent:
            n["agent"] = {"agentId": agent}
        wf = {"id": name, "name": "W", "version": "1", "nodes": [n], "edges": [], "triggers": [],
              "variables": [{"name": "tag", "type": "string", "defaultValue": "x"}], "metadata": {}, "settings": {}}
        status, got = self.ask("PUT", "/v1/host/wopr/workflows/" + name, wf)
        return name if status in (200, 201) else got

    def begin(self, workflow, tag="x", **configurable):
        return self.must("POST", "/v1/runs", {"workflowId": workflow, "inputs": {"tag": tag}, "configurable": configurable})["runId"]

    def finish(self, config, tag="x", settings=None, agent=AGENT, **configurable):
        name = self.put_agent(config, agent, settings)
        if not isinstance(name, str):
            raise RuntimeError(name)
        run = self.begin(name, tag, **configurable)
        return run, self.until(run)

    def fork(self, run, mode="replay", at=0):
        return self.must("POST", "/v1/runs/%s:fork" % run, {"mode": mode, "fromSeq": at})["runId"]

    def answer(self, run, value):
        return self.ask("POST", "/v1/runs/%s/interrupts/n" % run, {"resumeValue": value})


def out(snap):
    return snap["nodeStates"]["n"].get("outputs") or {}


def code(snap):
    return (snap.get("error") or {}).get("code", snap["status"])


def kinds(events, *begin):
    return [e["type"] for e in events if e["type"].startswith(begin)]


def host(wopr, folder, model, mcp=None, db=None, prices=True):
    path = os.path.join(folder, "providers%d.json" % model.server_address[1])
    row = {"name": "main", "style": "openai", "url": model.url, "model": "tiny"}
    if prices:
        row["prices"] = {"*": {"input": 1000000, "output": 1000000}}
    with open(path, "w", encoding="ascii") as f:
        json.dump({"providers": [row]}, f)
    more = ["--mcp-servers", "one=" + mcp.url] if mcp else []
    return AgentHost(wopr, folder, ["--egress-loopback", "--ai-providers", path, *more], {}, db)


def repeated(h, snap, want, what=""):
    """A replay that ended as its source did, and said the same."""
    odd = [e for e in h.events(snap["runId"]) if e["type"] == "replay.diverged"]
    expect(out(snap) == out(want) and code(snap) == code(want), "%s replayed: %s" % (what, snap))
    expect(not odd, "%s diverged: %s" % (what, odd[:2]))


def results(messages):
    return [m["content"] for m in messages if m["role"] == "tool"]


def tag_of(messages):
    return [m["content"] for m in messages if m["role"] == "user"][0]


def clerk(messages, tools):
    """Two tools, a person, and an answer."""
    got, tag = results(messages), tag_of(messages)
    if len(got) == 0:
        return "I look that up for %s." % tag, [("echo", json.dumps({"text": tag}))]
    if len(got) == 1:
        return "", [("keep", json.dumps({"seen": tag}))]
    if len(got) == 2:
        return "Now I ask.", [("ask", json.dumps({"question": "Is it %s?" % tag}))]
    return "It is %s, they say %s." % (tag, got[2])


CLERK = {"prompt": "{{tag}}", "systemPrompt": "be brief", "tools": [
    {"mcp": {"tool": "echo", "server": "one", "repeatable": True, "timeoutMs": 60000}},
    {"node": {"typeId": "core.identity"}, "name": "keep", "description": "keeps a note"}, {"ask": {}}]}
TRACE = ["agent.reasoned", "agent.toolCalled", "agent.toolReturned", "agent.toolCalled", "agent.toolReturned", "agent.reasoned", "agent.toolCalled",
         "agent.toolReturned"]


def asked(h, run):
    snap = h.until(run, "waiting-input", "completed", "failed")
    expect(snap["status"] == "waiting-input", "a person is asked: %s" % snap)
    return snap


def an_agent_calls_tools_and_asks_a_person(wopr, folder):
    model, mcp = Model(clerk), Mcp()
    h = host(wopr, folder, model, mcp)
    run = h.begin(h.put_agent(CLERK), "pen")
    asked(h, run)
    expect(h.answer(run, {"answers": {"answer": "yes"}})[0] == 200, "answered")
    snap = h.until(run)
    expect(out(snap).get("text", "").strip() == "It is pen, they say yes." and out(snap)["turns"] == 4 and out(snap)["toolCalls"] == 3, "%s" % snap)
    expect(out(snap)["usage"]["totalTokens"] == 60, "%s" % out(snap))
    events = h.events(run)
    expect(kinds(events, "agent.") == TRACE, "%s" % kinds(events, "agent."))
    by_id = {e["eventId"]: e for e in events}
    calls = {e["payload"]["callId"]: e for e in events if e["type"] == "agent.toolCalled"}
    for e in events:
        if e["type"] == "agent.toolReturned":  # AGT-25
            expect(by_id[e["causationId"]] is calls[e["payload"]["callId"]], "the cause of %s" % e)
        if e["type"].startswith("agent."):
            expect(e["payload"]["agentId"] == AGENT, "%s" % e)
    expect([c["payload"]["toolName"] for c in calls.values()] == ["mcp:echo", "openwop:core.identity", "wopr.host:ask"], "%s" % calls)
    chunks = [e["payload"] for e in events if e["type"] == "output.chunk"]
    expect("".join(c["chunk"] for c in chunks).replace(" ", "") == "Ilookthatupforpen.NowIask.Itispen,theysayyes.", "%s" % chunks)
    expect(sum(1 for c in chunks if c.get("isLast")) == 4 and not [c for c in chunks if "providerExtensions" in (c.get("meta") or {})], "%s" % chunks)
    told = results(model.asked[-1][0]["messages"])
    expect(told[0] == '<UNTRUSTED tool="echo">pen</UNTRUSTED>' and json.loads(told[1]) == {"seen": "pen"} and told[2] == "yes", "%s" % told)
    expect(model.asked[0][0]["tools"][0]["function"]["parameters"]["required"] == ["text"], "the schema of the server: %s" % model.asked[0][0])
    n, m = len(model.asked), len(mcp.calls)
    again = h.until(h.fork(run))
    expect(len(model.asked) == n and len(mcp.calls) == m, "a replay asks nobody")
    repeated(h, again, snap)
    h.end()
    model.stop()
    mcp.stop()


def a_kill_at_every_event_calls_each_tool_once(wopr, folder):
    """The MCP server does a thing once for each key, as servers of tools that may be repeated do."""
    model, mcp = Model(clerk), Mcp()
    h = host(wopr, folder, model, mcp)
    w, n, last = h.put_agent(CLERK), 0, False
    while not last:
        tag, n = "kill%d." % n, n + 1
        run, killed = h.begin(w, tag), False
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            events = h.events(run)
            if not killed and len(events) >= n:
                h.kill()
                h, killed = host(wopr, folder, model, mcp, db=h.db), True
            snap = h.ask("GET", "/v1/runs/" + run)[1]
            if snap["status"] in ("completed", "failed", "cancelled"):
                break
            if snap["status"] == "waiting-input" and (killed or len(events) < n):
                h.answer(run, {"answers": {"answer": "yes"}})
            time.sleep(0.005)
        last = not killed and n > len(h.events(run))
        expect(snap["status"] == "completed" and out(snap)["text"].strip() == "It is %s, they say yes." % tag, "%s: %s" % (tag, snap))
        calls = [c for c in mcp.calls if c[0] == "tools/call" and c[2]["arguments"].get("text") == tag]
        expect(len({c[3]["Idempotency-Key"] for c in calls}) == 1, "%s: the tool was called %s" % (tag, calls))
        expect(len(model.keys(tag)) == 4, "%s: %d turns" % (tag, len(model.keys(tag))))
        events = h.events(run)
        expect(kinds(events, "agent.") == TRACE, "%s: %s" % (tag, kinds(events, "agent.")))
        asks = len([e for e in events if e["type"] == "interrupt.requested"])
        expect(asks == 1, "%s: a person was asked %d times" % (tag, asks))
        said = ""
        for e in events:
            if e["type"] == "output.chunk":
                again = ((e["payload"].get("meta") or {}).get("providerExtensions") or {}).get("restarted")
                said = (said[:said.rfind("|") + 1] if again else said) + e["payload"]["chunk"] + ("|" if e["payload"].get("isLast") else "")
        expect(said.replace(" ", "") == "Ilookthatupfor%s.||Nowiask.|Itis%s,theysayyes.|".replace("Nowiask", "NowIask") % (tag, tag), "%s: %s" % (tag, said))
        before, m = len(model.asked), len(mcp.calls)
        again = h.until(h.fork(run))
        expect(len(model.asked) == before and len(mcp.calls) == m, "%s: a replay asks nobody" % tag)
        repeated(h, again, snap, tag)
    expect(n > 15, "only %d events" % n)
    h.end()
    model.stop()
    mcp.stop()


def a_tool_that_may_not_be_repeated_is_not(wopr, folder):
    """Killed while the tool is at work: the model is told that nobody knows."""
    model, mcp = Model(clerk), Mcp(hold="tools/call")
    h = host(wopr, folder, model, mcp)
    config = {**CLERK, "tools": [{"mcp": {"tool": "echo", "timeoutMs": 60000}}, *CLERK["tools"][1:]]}
    run = h.begin(h.put_agent(config), "once")
    expect(mcp.wait(1, "tools/call"), "the tool is called")
    h.kill()
    mcp.hold = None
    mcp.released.set()
    h = host(wopr, folder, model, mcp, db=h.db)
    asked(h, run)
    h.answer(run, {"answers": {"answer": "yes"}})
    snap = h.until(run)
    expect(snap["status"] == "completed" and mcp.count("tools/call") == 1, "%d calls, %s" % (mcp.count("tools/call"), snap))
    told = json.loads(results(model.asked[-1][0]["messages"])[0])
    expect(told["error"] == "mcp_unavailable" and "not known" in told["message"], "%s" % told)
    h.end()
    model.stop()
    mcp.stop()


def another_host_takes_over(wopr, folder):
    model, mcp = Model(clerk), Mcp(hold="tools/call")
    h = host(wopr, folder, model, mcp)
    b = host(wopr, folder, model, mcp, db=h.db)
    run = h.begin(h.put_agent(CLERK), "over")
    expect(mcp.wait(1, "tools/call"), "the tool is called")
    h.kill()
    mcp.hold = None
    mcp.released.set()
    asked(b, run)
    b.answer(run, {"answers": {"answer": "yes"}})
    snap = b.until(run)
    keys = {c[3]["Idempotency-Key"] for c in mcp.calls if c[0] == "tools/call"}
    expect(snap["status"] == "completed" and len(keys) == 1 and len(model.keys("over")) == 4, "%s %s" % (keys, snap))
    b.end()
    model.stop()
    mcp.stop()


def tools_that_are_not_allowed_are_not_called(wopr, folder):
    def wants(messages, tools):
        got = results(messages)
        names = ["fails", "slow", "nosuch", "echo", "echo", "echo", "oops"]
        if len(got) < len(names):
            args = ['{"text":7}', "no json", '{"text":"good"}'][len(got) - 3] if names[len(got)] == "echo" else "{}"
            return "", [(names[len(got)], args)]
        return "tools: " + ",".join(tools)

    model, mcp = Model(wants), Mcp()
    h = host(wopr, folder, model, mcp)
    config = {"prompt": "{{tag}}", "tools": [{"mcp": {"tool": t}} for t in ("echo", "slow", "fails")] + [{"node": {"typeId": "core.fail"}, "name": "oops"}],
              "toolAllowlist": ["mcp:echo", "mcp:fails", "openwop:core.fail"]}
    run, snap = h.finish(config)
    expect(out(snap).get("text", "").strip() == "tools: echo,fails,oops", "only what is allowed is offered: %s" % snap)
    expect([c[1] for c in mcp.calls if c[0] == "tools/call"] == ["fails", "echo"], "%s" % mcp.calls)
    returned = [e["payload"] for e in h.events(run) if e["type"] == "agent.toolReturned"]
    expect([(p["toolName"], (p.get("error") or {}).get("code")) for p in returned] == [
        ("mcp:fails", "mcp_tool_error"), ("mcp:slow", "tool_not_allowed"), ("unknown:nosuch", "tool_not_allowed"), ("mcp:echo", "tool_arguments_invalid"),
        ("mcp:echo", "tool_arguments_invalid"), ("mcp:echo", None), ("openwop:core.fail", "conformance_test_failure")], "%s" % returned)
    expect(all(("outcome" in p) != ("error" in p) for p in returned), "%s" % returned)
    told = [json.loads(t) for t in results(model.asked[-1][0]["messages"])[:1]]
    expect("disk full" in told[0]["text"] and told[0]["text"].startswith("<UNTRUSTED"), "%s" % told)
    h.end()
    model.stop()
    mcp.stop()


def each_bound_has_its_code(wopr, folder):
    def endless(messages, tools):
        return "again", [("keep", "{}")]

    model = Model(endless)
    h = host(wopr, folder, model)
    base = {"prompt": "{{tag}}", "tools": [{"node": {"typeId": "core.identity"}, "name": "keep"}]}
    rows = [({"maxTurns": 3}, "agent_turns_exceeded", 3), ({"maxToolCalls": 2}, "agent_tool_calls_exceeded", 3),
            ({"maxTotalTokens": 40}, "agent_tokens_exceeded", 3), ({"maxCostUsd": 40.0}, "agent_cost_exceeded", 3),
            ({"maxTurns": 64, "maxToolCalls": 64}, "agent_turns_exceeded", 64),
            ({"maxWorkMs": 1}, "agent_time_exceeded", None)]  # last: a question may still be on its way when the run has ended
    for more, want, turns in rows:
        before = len(model.asked)
        run, snap = h.finish({**base, **more}, settings={"maxRetries": 2})
        expect(code(snap) == want, "%s: %s" % (more, snap.get("error")))
        expect(turns is None or len(model.asked) - before == turns, "%s: %d turns" % (more, len(model.asked) - before))
        expect(snap["error"]["details"]["bound"] in more, "%s" % snap["error"])
        again = h.until(h.fork(run))
        repeated(h, again, snap, str(more))
    expect(model.asked[-1][0].get("max_tokens") is None, "no bound, nothing said")
    b = host(wopr, folder, model, prices=False)
    _, snap = b.finish({**base, "maxCostUsd": 1})
    expect(code(snap) == "agent_usage_unknown" and "prices" in snap["error"]["message"], "%s" % snap)
    b.end()
    h.end()
    model.stop()


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "confidence": {"type": "number"}}, "required": ["n"]}


def answers_are_as_the_schema_says(wopr, folder):
    def unsure(messages, tools):
        tries = len([m for m in messages if m["role"] == "assistant"])
        return tag_of(messages).split("|")[min(tries, len(tag_of(messages).split("|")) - 1)]

    model = Model(unsure)
    h = host(wopr, folder, model)
    config = {"prompt": "{{tag}}", "outputSchema": SCHEMA}
    run, snap = h.finish(config, 'seven|{"n":"seven"}|{"n":7}')
    expect(out(snap).get("output") == {"n": 7} and out(snap)["turns"] == 3, "%s" % snap)
    expect(kinds(h.events(run), "agent.") == ["agent.decided"], "%s" % kinds(h.events(run), "agent."))
    expect("JSON Schema" in model.asked[0][0]["messages"][0]["content"] and "/n" in model.asked[-1][0]["messages"][-1]["content"], "%s" % model.asked[-1][0])
    _, snap = h.finish({**config, "schemaRounds": 1}, "a|b|{\"n\":1}")
    expect(code(snap) == "agent_output_invalid" and snap["error"]["details"]["schemaRounds"] == 1, "%s" % snap)
    run = h.begin(h.put_agent(config), '{"n":1,"confidence":0.2}')
    snap = h.until(run, "waiting-approval", "completed", "failed")
    expect(snap["status"] == "waiting-approval", "AGT-30: %s" % snap)
    expect(h.answer(run, {"n": 5})[0] == 200, "ratified")
    snap = h.until(run)
    expect(out(snap).get("output") == {"n": 5}, "%s" % snap)
    again = h.until(h.fork(run))
    repeated(h, again, snap)
    for bad in ({"type": 7}, {"$ref": "http://x/y"}):
        got = h.put_agent({**config, "outputSchema": bad})
        expect(not isinstance(got, str) and "outputSchema" in json.dumps(got), "%s: %s" % (bad, got))
    h.end()
    model.stop()


def a_model_that_fails_is_asked_again_and_tools_are_not(wopr, folder):
    refused = []

    def shaky(messages, tools):
        if results(messages) and len(refused) < 2:
            refused.append(1)
            return 500
        return clerk(messages, tools) if not results(messages) else "end"

    model, mcp = Model(shaky), Mcp()
    h = host(wopr, folder, model, mcp)
    config = {**CLERK, "tools": [{"mcp": {"tool": "echo"}}]}
    run, snap = h.finish(config, "shaky", settings={"maxRetries": 3, "retryDelayMs": 10})
    expect(snap["status"] == "completed" and mcp.count("tools/call") == 1, "%d calls, %s" % (mcp.count("tools/call"), snap))
    ids = [e["payload"]["callId"] for e in h.events(run) if e["type"] == "agent.toolCalled"]
    expect(len(ids) == len(set(ids)) == 3, "each attempt tells what it goes by: %s" % ids)
    again = h.until(h.fork(run))
    repeated(h, again, snap)
    h.end()
    model.stop()
    mcp.stop()


def text_is_read_while_it_is_said(wopr, folder):
    """SSE-19: in messages mode, before the model has ended its second turn."""
    def slow(messages, tools):
        return "these words come first HALT and these last" if results(messages) else ("", [("keep", "{}")])

    model = Model(slow)
    h = host(wopr, folder, model)
    run = h.begin(h.put_agent({"prompt": "x", "tools": CLERK["tools"][1:2]}))
    c = h.connect()
    c.request("GET", "/v1/runs/%s/events?streamMode=messages" % run, None, {"Authorization": "Bearer " + KEY, "Accept": "text/event-stream"})
    stream, seen = c.getresponse(), ""
    while "these words come" not in seen:
        line = stream.readline().decode()
        if not line:
            break
        if line.startswith("data:") and '"chunk"' in line:
            data = json.loads(line[5:])
            seen += data.get("payload", data).get("chunk", "")
    expect("these words come" in seen and "last" not in seen, "read meanwhile: %s" % seen)
    expect(h.ask("GET", "/v1/runs/" + run)[1]["status"] == "running", "the model is still at it")
    model.released.set()
    snap = h.until(run)
    expect(out(snap)["text"].strip() == "these words come first and these last", "%s" % snap)
    c.close()
    repeated(h, h.until(h.fork(run)), snap)
    h.end()
    model.stop()


def agents_side_by_side(wopr, folder):
    """Events of one stand between those of the other, and a replay puts them there again."""
    model, mcp = Model(clerk), Mcp()
    h = host(wopr, folder, model, mcp)
    tools = [CLERK["tools"][0], CLERK["tools"][1], {"node": {"typeId": "vendor.wopr.log", "config": {"message": "asked"}}, "name": "ask"}]
    nodes = [{"id": i, "typeId": "vendor.wopr.agent", "name": "N", "position": {"x": 0, "y": 0}, "inputs": {}, "agent": {"agentId": AGENT + i},
              "config": {"prompt": "tag" + i, "tools": tools}} for i in "nmo"]
    wf = {"id": "side", "name": "W", "version": "1", "nodes": nodes, "edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    status, got = h.ask("PUT", "/v1/host/wopr/workflows/side", wf)
    expect(status in (200, 201), "%s" % got)
    for _ in range(5):
        snap = h.until(h.begin("side"))
        expect(snap["status"] == "completed", "%s" % snap)
        events = h.events(snap["runId"])
        n = len(model.asked)
        repeated(h, h.until(h.fork(snap["runId"])), snap)
        repeated(h, h.until(h.fork(snap["runId"], at=len(events) // 2)), snap)
        expect(len(model.asked) == n, "replays ask nobody")
    h.end()
    model.stop()
    mcp.stop()


def an_agent_in_a_loop_begins_anew(wopr, folder):
    """Three rounds, each with its tools and its person; killed in each; forks at every event, twice."""
    model, mcp = Model(clerk), Mcp()
    h = host(wopr, folder, model, mcp)
    node = lambda i, kind, config, inputs=None, **more: {"id": i, "typeId": kind, "name": i, "position": {"x": 0, "y": 0}, "config": config, "inputs": inputs or {}, **more}
    wf = {"id": "rounds", "name": "W", "version": "1", "nodes": [
        node("l", "core.loop", {"maxIterations": 3}), node("n", "vendor.wopr.agent", {**CLERK, "prompt": "round {{tag}}"}, {"tag": {"type": "connection", "nodeId": "l", "outputKey": "index"}}, agent={"agentId": AGENT})],
        "edges": [{"id": "b", "sourceNodeId": "l", "targetNodeId": "n", "condition": {"type": "equals", "left": "output.done", "right": False}},
                  {"id": "a", "sourceNodeId": "n", "targetNodeId": "l"}],
        "triggers": [], "variables": [], "metadata": {}, "settings": {"maxLoopbackIterations": 5}}
    status, got = h.ask("PUT", "/v1/host/wopr/workflows/rounds", wf)
    expect(status in (200, 201), "%s" % got)
    run = h.begin("rounds")
    for k in range(3):
        asked(h, run)
        h.kill()
        h = host(wopr, folder, model, mcp, db=h.db)
        end, status = time.monotonic() + WAIT_S, 0
        while status != 200 and time.monotonic() < end:
            status, got = h.answer(run, {"answers": {"answer": "yes%d" % k}})
        expect(status == 200, "answered: %s" % got)
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and len([e for e in h.events(run) if e["type"] == "node.completed" and e["nodeId"] == "n"]) == k:
            time.sleep(0.01)
    snap = h.until(run)
    events = h.events(run)
    said = [e["payload"]["outputs"]["text"].strip() for e in events if e["type"] == "node.completed" and e["nodeId"] == "n"]
    expect(said == ["It is round %d, they say yes%d." % (k, k) for k in range(3)], "%s: %s" % (said, snap.get("error")))
    expect(mcp.count("tools/call") == 3 and len({c[3]["Idempotency-Key"] for c in mcp.calls if c[0] == "tools/call"}) == 3, "one call a round: %d" % mcp.count("tools/call"))
    calls = [e["payload"]["callId"] for e in events if e["type"] == "agent.toolCalled"]
    expect(len(calls) == len(set(calls)) == 9, "AGT-25: %s" % calls)
    n, m = len(model.asked), len(mcp.calls)
    plain = lambda e, own: json.dumps([e["type"], e.get("nodeId"), {k: v for k, v in e["payload"].items() if k != "interruptId"}]).replace(own, "RUN")
    for at in range(len(events)):
        forks = [h.until(h.fork(run, at=at)) for _ in range(2)]
        logs = [h.events(f["runId"]) for f in forks]
        tails = [[plain(e, f["runId"]) for e in log[at:]] for f, log in zip(forks, logs)]
        expect(tails[0] == tails[1], "at %d: %s" % (at, [p for p in zip(*tails) if p[0] != p[1]][:1]))
        expect(all(f["status"] == "completed" for f in forks) and not [e for e in logs[0] if e["type"] == "replay.diverged"], "at %d: %s" % (at, forks[0]))
    expect(len(model.asked) == n and len(mcp.calls) == m, "replays ask nobody")
    h.end()
    model.stop()
    mcp.stop()


def a_fork_at_every_event_ends_the_same(wopr, folder):
    model, mcp = Model(clerk), Mcp()
    h = host(wopr, folder, model, mcp)
    run = h.begin(h.put_agent(CLERK), "forked")
    asked(h, run)
    h.answer(run, {"answers": {"answer": "yes"}})
    want = h.until(run)
    n, m, events = len(model.asked), len(mcp.calls), h.events(run)
    for at in range(len(events)):
        snap = h.until(h.fork(run, at=at))
        repeated(h, snap, want, "at %d" % at)
    expect(len(model.asked) == n and len(mcp.calls) == m, "replays ask nobody")
    h.end()
    model.stop()
    mcp.stop()


def manifest_put(h, name, files=None, **members):
    manifest = {"agentId": name, "persona": "Clerk", "modelClass": "general", **members}
    status, got = h.ask("PUT", "/v1/host/wopr/agents/" + name, {"manifest": manifest, "files": files or {}})
    expect(status == 200, "stored: %s" % got)
    return got


def said_to(model, tag):
    """The requests of one run: messages of the system, names of tools."""
    with model.lock:
        bodies = [body for body, _ in model.asked if tag_of(body["messages"]) == tag]
    return [([m["content"] for m in b["messages"] if m["role"] == "system"], [t["function"]["name"] for t in b.get("tools") or []]) for b in bodies]


def an_agent_of_the_workspace_is_as_it_was_when_its_run_started(wopr, folder):
    """AGT-9, AGT-46: prompt and allow-list of the manifest, for forks and after a kill, too."""
    model, mcp, name = Model(clerk), Mcp(), "vendor.acme.desk.clerk"
    h = host(wopr, folder, model, mcp)
    manifest_put(h, name, {"p/clerk.md": "You are the first clerk."}, systemPromptRef="p/clerk.md", toolAllowlist=["mcp:echo", "wopr.host:ask"])
    wf = h.put_agent(CLERK, agent=name)
    run = h.begin(wf, "pen")
    asked(h, run)
    for system, tools in said_to(model, "pen"):
        expect(system == ["You are the first clerk.", "be brief"], "told first: %s" % system)
        expect(tools == ["echo", "ask"], "narrowed: %s" % tools)
    refused = [e["payload"] for e in h.events(run) if e["type"] == "agent.toolReturned" and "error" in e["payload"]]
    expect([r["error"]["code"] for r in refused] == ["tool_not_allowed"], "keep is not allowed: %s" % refused)
    manifest_put(h, name, systemPrompt="You are the second clerk.", toolAllowlist=["openwop:core.identity"])
    h.kill()
    h = host(wopr, folder, model, mcp, db=h.db)
    asked(h, run)
    h.answer(run, {"answers": {"answer": "yes"}})
    snap = h.until(run)
    expect(snap["status"] == "completed", "ends: %s" % snap)
    expect(all(s[0][0] == "You are the first clerk." for s in said_to(model, "pen")), "the run keeps its agent")
    before = len(model.asked)
    repeated(h, h.until(h.fork(run)), snap, "an agent of the workspace")
    expect(len(model.asked) == before, "a replay asks nobody")
    branch = h.fork(run, "branch", 0)
    asked(h, branch)
    h.answer(branch, {"answers": {"answer": "yes"}})
    h.until(branch)
    systems = [s[0][0] for s in said_to(model, "pen")]
    expect(len(model.asked) > before and set(systems) == {"You are the first clerk."}, "a branch goes by the set of its source: %s" % systems)
    other = h.begin(wf, "ink")
    h.until(other)
    expect(said_to(model, "ink")[0] == (["You are the second clerk.", "be brief"], ["keep"]), "a new run: %s" % said_to(model, "ink")[:1])
    h.end()
    model.stop()
    mcp.stop()


def answers_fit_the_schema_of_the_agent(wopr, folder):
    """AGT-40: handoff.returnSchemaRef of vendor.wopr.agent; the model may mend its answer."""
    model = Model(lambda messages, tools: '{"sum": 3}' if len(messages) > 4 else '{"sum": "three"}')
    h, name = host(wopr, folder, model), "vendor.acme.desk.adder"
    schema = {"type": "object", "required": ["sum"], "properties": {"sum": {"type": "integer"}}}
    manifest_put(h, name, {"r.json": json.dumps(schema)}, systemPrompt="Add.", handoff={"returnSchemaRef": "r.json"})
    run, snap = h.finish({"prompt": "{{tag}}"}, "add", agent=name)
    expect(out(snap).get("output") == {"sum": 3}, "mended: %s" % snap)
    run, snap = h.finish({"prompt": "{{tag}}", "schemaRounds": 0}, "add", agent=name)
    expect(code(snap) == "agent_output_invalid", "not mended: %s" % snap)
    h.end()
    model.stop()


def a_prompt_of_an_agent_has_its_words_and_tools(wopr, folder):
    """AGT-9 of core.ai.callPrompt: tools that the workflow calls are offered as the manifest allows."""
    model = Model(lambda messages, tools: "done")
    h, name = host(wopr, folder, model), "vendor.acme.desk.caller"
    manifest_put(h, name, systemPrompt="Call.", toolAllowlist=["acme.shop:buy"])
    tools = [{"name": "buy", "parameters": {"type": "object"}}, {"name": "sell", "parameters": {"type": "object"}}]
    node = {"id": "n", "typeId": "core.ai.callPrompt", "name": "N", "position": {"x": 0, "y": 0}, "inputs": {}, "agent": {"agentId": name},
            "config": {"prompt": "go", "systemPrompt": "now", "tools": tools, "toolChoice": {"name": "sell"}}}
    wf = {"id": "caller", "name": "W", "version": "1", "nodes": [node], "edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    expect(h.ask("PUT", "/v1/host/wopr/workflows/caller", wf)[0] == 200, "stored")
    status, got = h.ask("POST", "/v1/runs", {"workflowId": "caller"})
    snap = h.until(got["runId"])
    expect(snap["status"] == "completed", "ends: %s" % snap)
    expect(said_to(model, "go") == [(["Call.", "now"], ["buy"])], "told and offered: %s" % said_to(model, "go"))
    expect("tool_choice" not in model.asked[0][0], "what may not be called is not chosen")
    h.end()
    model.stop()


def who_brings_a_credential_publishes_no_trace(wopr, folder):
    """AGT-16: of 700 words that a model thinks 512 are told, on every surface; a replay tells the same ones."""
    thought = " ".join("word%d" % i for i in range(700))

    def thinks(messages, tools):
        return "done" if results(messages) else (thought, [("keep", "{}")])

    model = Model(thinks)
    path = os.path.join(folder, "byok.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"providers": [{"name": "main", "style": "openai", "url": model.url, "model": "tiny", "byok": True}]}, f)
    h = AgentHost(wopr, folder, ["--egress-loopback", "--ai-providers", path], {})
    h.command("secrets", "set", "mine", "--provider", "main", input="key-of-mine\n", check=True)
    wf = h.put_agent({"prompt": "{{tag}}", "tools": [{"node": {"typeId": "core.identity"}, "name": "keep"}]})
    run = h.begin(wf, "own", ai={"credentialRef": "mine"}, reasoningVerbosity="full")
    snap = h.until(run)
    expect(snap["status"] == "completed", "ends: %s" % snap)
    told = [e["payload"] for e in h.events(run) if e["type"] == "agent.reasoned"]
    expect(len(told) == 1 and told[0]["verbosity"] == "summary" and told[0]["tokenCount"] == 512 and "trace" not in told[0], "%s" % str(told)[:200])
    expect(told[0]["reasoning"].endswith(" word511"), "bounded")
    for path in ("", "/events", "/events/poll", "/debug-bundle"):
        expect("word600" not in json.dumps(h.ask("GET", "/v1/runs/%s%s" % (run, path))[1]), "the trace is withheld: %s" % path)
    asked_nr = len(model.asked)
    again = h.fork(run)
    h.until(again)
    expect([e["payload"] for e in h.events(again) if e["type"] == "agent.reasoned"] == told, "a replay says the same")
    expect(len(model.asked) == asked_nr, "and asks nobody")
    h.end()
    model.stop()


def an_agent_gets_a_model_of_its_class(wopr, folder):
    """AGT-13, AGT-42, AGT-43: providers are named for classes; what no provider is for is not installed, and not executed."""
    chat, code_model, name = Model(lambda m, t: "chat"), Model(lambda m, t: "code"), "vendor.acme.desk.worker"
    path = os.path.join(folder, "classes.json")

    def providers(*classes):
        rows = [("one", chat), ("two", code_model)]
        with open(path, "w", encoding="ascii") as f:
            json.dump({"providers": [{"name": n, "style": "openai", "url": m.url, "model": "tiny", **({"modelClasses": c} if c else {})}
                                     for (n, m), c in zip(rows, classes)]}, f)

    def start(db=None):
        return AgentHost(wopr, folder, ["--egress-loopback", "--ai-providers", path], {}, db)
    providers(["chat"], ["code", "reasoning"])
    h = start()
    found = h.ask("GET", "/.well-known/openwop")[1]["agents"]
    expect(sorted(found["modelClasses"]) == ["chat", "code", "reasoning"], "%s" % found)
    expect(found["reasoningEvents"] and found["toolEvents"], "AGT-12: models think and call: %s" % found)
    manifest_put(h, name, systemPrompt="Work.", modelClass="coding")
    runs = [h.finish({"prompt": "x"}, agent=name)[1], h.finish({"prompt": "x", "provider": "one"}, agent=name)[1], h.finish({"prompt": "x"})[1]]
    expect([out(s).get("text", "").strip() for s in runs] == ["code", "chat", "chat"], "by class, by name, by place: %s" % runs)
    status, got = h.ask("PUT", "/v1/host/wopr/agents/" + name,
                        {"manifest": {"agentId": name, "persona": "P", "modelClass": "research", "systemPrompt": "S"}})
    expect(status == 400 and got["error"] == "unsupported_model_class", "%s" % got)
    h.end()
    providers(["chat"], None)
    h = start(h.db)
    _, snap = h.finish({"prompt": "x"}, agent=name)
    expect(code(snap) == "ai_provider_unavailable", "the class is gone: %s" % snap)
    h.end()
    providers(None, None)
    h = start(h.db)
    _, snap = h.finish({"prompt": "x"}, agent=name)
    expect(out(snap).get("text", "").strip() == "chat", "no classes are named: %s" % snap)
    expect("modelClasses" not in h.ask("GET", "/.well-known/openwop")[1]["agents"], "none advertised")
    h.end()
    chat.stop()
    code_model.stop()


def what_is_no_agent_is_refused(wopr, folder):
    model = Model(clerk)
    h = host(wopr, folder, model)
    rows = [({"tools": [{"mcp": {}}]}, "tools[0].mcp.tool"), ({"tools": [{"name": "a b", "ask": {}}]}, "tools[0].name"),
            ({"tools": [{"ask": {}}, {"ask": {}}]}, "tools[1].name"), ({"tools": [{"ask": {}, "mcp": {"tool": "x"}}]}, "tools[0]"),
            ({"tools": [{"node": {"typeId": "core.subWorkflow"}, "name": "x"}]}, "tools[0].node.typeId"), ({"tools": [7]}, "tools[0]"),
            ({"tools": {}}, "tools"), ({"toolAllowlist": [7]}, "toolAllowlist"), ({"maxTurns": 65}, "maxTurns"), ({"maxToolCalls": -1}, "maxToolCalls"),
            ({"maxTotalTokens": 0}, "maxTotalTokens"), ({"maxCostUsd": 0}, "maxCostUsd"), ({"maxWorkMs": 0.5}, "maxWorkMs"), ({"schemaRounds": 9}, "schemaRounds"),
            ({"mock": 1}, "mock"), ({"tools": [{"ask": {"timeoutMs": 0}}]}, "tools[0].ask.timeoutMs")]
    for config, word in rows:
        got = h.put_agent({"prompt": "x", **config})
        path = "/config/" + word.replace("[", "/").replace("]", "").replace(".", "/")  # where the schema of the type says so
        expect(not isinstance(got, str) and (word in json.dumps(got) or path.rsplit("/", 1)[0] in json.dumps(got)), "%s: %s" % (config, got))
    run, snap = h.finish({"prompt": "x"}, agent=None)
    expect(snap["status"] == "completed", "without a pin: %s" % snap)
    _, snap = h.finish({"prompt": "x", "tools": [{"mcp": {"tool": "echo"}}]})
    expect(code(snap) == "capability_not_provided", "%s" % snap)
    h.end()
    model.stop()


TESTS = [an_agent_calls_tools_and_asks_a_person, an_agent_of_the_workspace_is_as_it_was_when_its_run_started,
         answers_fit_the_schema_of_the_agent, a_prompt_of_an_agent_has_its_words_and_tools,
         who_brings_a_credential_publishes_no_trace, an_agent_gets_a_model_of_its_class, tools_that_are_not_allowed_are_not_called, each_bound_has_its_code, answers_are_as_the_schema_says,
         a_model_that_fails_is_asked_again_and_tools_are_not, a_tool_that_may_not_be_repeated_is_not, another_host_takes_over,
         text_is_read_while_it_is_said, agents_side_by_side, an_agent_in_a_loop_begins_anew, a_fork_at_every_event_ends_the_same, what_is_no_agent_is_refused, a_kill_at_every_event_calls_each_tool_once]


def main():
    names = sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        for test in TESTS:
            if not names or test.__name__ in names:
                before = len(FAILED)
                test(sys.argv[1], folder)
                print("%s %s" % ("ok  " if len(FAILED) == before else "BAD ", test.__name__), flush=True)
    print("agents: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
