#!/usr/bin/env python3
"""
mcp.py: nodes that call tools of an MCP server, on the real program against a server inside the test that keeps
the protocol and then breaks it in every way (30-nodes section 12: MCP-2 to MCP-10).
usage: mcp.py WOPR [NAME...]    (names of the functions below; default all)
"""
import json
import os
import random
import sys
import tempfile
import time

from fakes import TOOLS, Mcp, tool
from run import FAILED, WAIT_S, Host, expect, kit

ENDS = ("completed", "failed", "cancelled")
SEQ = [0]


class McpHost(Host):
    def put(self, mcp, settings=None, node=None):
        SEQ[0] += 1
        name = "w%d" % SEQ[0]
        n = {"id": "n", "typeId": "core.ai.callPrompt", "name": "N", "position": {"x": 0, "y": 0}, "config": {"mcp": mcp}, "inputs": {},
             **(node or {})}
        wf = {"id": name, "name": "W", "version": "1", "nodes": [n], "edges": [], "triggers": [],
              "variables": [{"name": "v", "type": "string", "defaultValue": "pen"}], "metadata": {}, "settings": settings or {}}
        status, got = self.ask("PUT", "/v1/host/wopr/workflows/" + name, wf)
        return name if status in (200, 201) else got

    def start(self, workflow):
        return self.must("POST", "/v1/runs", {"workflowId": workflow})["runId"]

    def until(self, run, *statuses, seconds=WAIT_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            _, snap = self.ask("GET", "/v1/runs/" + run)
            if snap["status"] in (statuses or ENDS):
                return snap
            time.sleep(0.02)
        raise RuntimeError("no end: %s" % snap)

    def call(self, name, arguments=None, settings=None, **more):
        mcp = {"tool": name, "arguments": arguments or {}, **more}
        return self.until(self.start(self.put(mcp, settings)))

    def events(self, run):
        return self.ask("GET", "/v1/runs/%s/events" % run)[1]["events"]


def out(snap):
    return snap["nodeStates"]["n"].get("outputs") or {}


def err(snap):
    e = snap.get("error") or {}
    return e.get("code", snap["status"]), e.get("message", ""), e.get("details") or {}


def host(wopr, folder, *args, env=None, servers=(), db=None):
    more = ["--mcp-servers", ",".join(s.url if isinstance(s, Mcp) else s for s in servers)] if servers else []
    return McpHost(wopr, folder, ["--egress-loopback", *more, *args], env or {}, db)


def a_tool_is_called_once_and_its_result_is_marked(wopr, folder):
    s = Mcp()
    h = host(wopr, folder, servers=[s])
    run = h.start(h.put({"tool": "echo", "arguments": {"text": "{{v}}"}}, node={"inputs": {"v": {"type": "variable", "variableName": "v"}}}))
    snap = h.until(run)
    want = {"tool": "echo", "server": s.url, "content": [{"type": "text", "text": "pen"}], "text": "pen", "trust": "untrusted",
            "rendered": '<UNTRUSTED tool="echo">pen</UNTRUSTED>'}
    expect(out(snap) == want, "outputs: %s" % snap)
    expect([c[0] for c in s.calls] == ["initialize", "notifications/initialized", "tools/list", "tools/call"], "order: %s" % s.calls)
    first, last = s.calls[0], s.calls[-1]
    expect(first[2] == {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "wopr", "version": "1"}}, "%s" % (first,))
    expect(first[3]["Accept"] == "application/json, text/event-stream" and "Mcp-Session-Id" not in last[3], "%s" % first[3])
    expect(len({c[4] for c in s.calls if c[4] is not None}) == 3 and s.calls[1][4] is None, "ids: %s" % s.calls)
    expect("echo" in json.dumps(h.events(run)).lower(), "the log names the tool")
    _, doc = h.ask("GET", "/.well-known/openwop")
    expect(doc["mcp"] == doc["capabilities"]["mcp"] == {"supported": True, "serverUrls": [s.url]}, "discovery: %s" % doc.get("mcp"))
    status, fork = h.ask("POST", "/v1/runs/%s:fork" % run, {"mode": "replay", "fromSeq": 0})
    expect(status == 201, "%s" % fork)
    again = h.until(fork["runId"])
    expect(out(again) == want and s.count("tools/call") == 1 and s.count("initialize") == 1, "a replay asks nobody: %s" % again)
    expect(not [e for e in h.events(fork["runId"]) if e["type"] == "replay.diverged"], "and is the same")
    h.end()
    s.stop()


def a_call_is_a_record_in_the_log(wopr, folder):
    """OBS-16: one for each tools/call, none for what else is said; ids, words and numbers only."""
    s = Mcp()
    h = host(wopr, folder, "--log-records", "all", "--log-level", "info", "--mcp-servers", "tools=" + s.url)
    fine = h.start(h.put({"tool": "echo", "arguments": {"text": "canary-in-the-arguments"}}))
    h.until(fine)
    gone = h.start(h.put({"tool": "reset", "arguments": {}}))
    h.until(gone)
    rows, end = [], time.monotonic() + WAIT_S
    while len(rows) < 2 and time.monotonic() < end:
        rows = [r for r in map(json.loads, filter(lambda x: x.startswith("{"), h.text().splitlines())) if r.get("metricKind") == "openwop.mcp.invocation"]
        time.sleep(0.05)
    expect([r["runId"] for r in rows] == [fine, gone], "records: %s" % rows)
    expect([r["status"] for r in rows] == ["success", "error"] and "errorCode" not in rows[0] and rows[1]["errorCode"] == "unreachable", "%s" % rows)
    expect(all(r["moduleId"] == "tools" and r["invocationId"] and r["tenantId"] and r["latencyMs"] >= 0 for r in rows), "%s" % rows)
    expect("canary-in-the-arguments" not in h.text(), "no values")
    h.end()
    s.stop()


def answers_of_every_form(wopr, folder):
    s = Mcp()
    h = host(wopr, folder, servers=[s])
    for name, want in (("stream", "said"), ("stream-chatty", "said"), ("stream-open", "said"), ("image", "one\ntwo"), ("typed", "7"), ("slow", "slow")):
        began = time.monotonic()
        snap = h.call(name, timeoutMs=30000)
        expect(out(snap).get("text") == want, "%s: %s" % (name, snap))
        expect(time.monotonic() - began < 25, "%s waits for nothing after its answer" % name)
    expect(out(h.call("typed")).get("structuredContent") == {"n": 7}, "structured content")
    expect(out(h.call("old-echo", {"text": "x"})).get("text") == "x", "a schema of an older dialect")
    text = out(h.call("marks"))["rendered"]
    inside = text[len('<UNTRUSTED tool="marks">'):-len("</UNTRUSTED>")]
    expect("untrusted" in inside.lower() and "<b>" in inside and "</UNTRUSTED>" not in inside and "<UNTRUSTED" not in inside
           and "< /" not in inside, "no mark is left inside: " + text)
    h.end()
    s.stop()


def what_a_server_may_do_wrong_has_a_code(wopr, folder):
    s = Mcp()
    h = host(wopr, folder, servers=[s])
    unknown, error = "mcp_unavailable", "mcp_tool_error"
    rows = [("reset", unknown), ("reset-after", unknown), ("wrong-id", unknown), ("endless", unknown), ("huge-event", unknown), ("bomb", unknown),
            ("no-json", unknown), ("empty", unknown), ("cut-stream", unknown), ("status-500", unknown), ("status-401", unknown), ("stall", unknown),
            ("fails", error), ("refuses", error), ("no-content", error), ("bad-block", error), ("typed-wrong", error), ("typed-none", error)]
    for name, want in rows:
        more = {"timeoutMs": 300} if name == "stall" else {"timeoutMs": 20000}
        snap = h.call(name, settings={"maxRetries": 3}, **more)
        expect(err(snap)[0] == want, "%s: %s" % (name, snap))
        expect(s.count("tools/call", name) == 1, "%s was called %d times" % (name, s.count("tools/call", name)))
    code, _, details = err(h.call("fails"))
    expect(details == {"tool": "fails", "server": "mcp-1", "reason": "is_error", "text": "disk full", "trust": "untrusted"}, "%s" % details)
    expect(err(h.call("refuses"))[2].get("code") == -32602, "the code of the server")
    snap = h.call("stall", settings={"maxRetries": 1}, timeoutMs=300, repeatable=True)
    expect(err(snap)[0] == unknown and s.count("tools/call", "stall") == 3, "a tool that may be called twice is: %s" % snap)
    h.end()
    s.stop()


def what_may_not_be_called_is_not(wopr, folder):
    s = Mcp()
    h = host(wopr, folder, servers=["one=" + s.url, s.url + "/other?key=canary"])
    rows = [({"tool": "none"}, "tool_not_allowed", "no tool of this name"), ({"tool": "echo"}, "tool_not_allowed", "schema"),
            ({"tool": "echo", "arguments": {"text": 7}}, "tool_not_allowed", "/text"),
            ({"tool": "echo", "arguments": {"text": "x", "more": 1}}, "tool_not_allowed", "schema"),
            ({"tool": "echo", "arguments": {"text": "x"}, "server": "two"}, "capability_not_provided", "one, mcp-2"),
            ({"tool": "echo", "arguments": {"text": "x"}, "server": "http://127.0.0.1:1/"}, "capability_not_provided", "one, mcp-2")]
    for mcp, code, word in rows:
        got = err(h.until(h.start(h.put(mcp, {"maxRetries": 2}))))
        expect(got[0] == code and word in got[1], "%s: %s" % (mcp, got))
    expect(s.count("tools/call") == 0, "%s" % s.calls)
    snap = h.call("echo", {"text": "x"}, server="mcp-2")
    expect(out(snap)["server"] == s.url + "/other" and "canary" not in json.dumps(snap), "a query is not shown: %s" % snap)
    expect("canary" not in json.dumps(h.ask("GET", "/.well-known/openwop")[1]), "nor in discovery")
    for mcp in ({}, {"tool": ""}, {"tool": "x", "arguments": []}, {"tool": "x", "server": 7}, {"tool": "x", "timeoutMs": 0}, {"tool": "x", "url": "http://x"}, 7):
        got = h.put(mcp)
        expect(isinstance(got, dict) and got.get("error") == "validation_error", "%s: %s" % (mcp, got))
    h.end()
    s.stop()
    h = host(wopr, folder)
    got = err(h.call("echo", {"text": "x"}))
    expect(got[0] == "capability_not_provided" and "mcp" in got[1] and got[2] == {"capability": "mcp"}, "%s" % (got,))
    expect("mcp" not in h.ask("GET", "/.well-known/openwop")[1], "nothing is advertised")
    h.end()


def lists_are_bounded(wopr, folder):
    for pages, want in ((1, "completed"), (5, "completed"), (10**6, "tool_not_allowed")):
        s = Mcp(pages=pages, tools=TOOLS + [tool("last", inputSchema={})])
        s.tools = [t for t in TOOLS if t["name"] != "slow"] + [t for t in TOOLS if t["name"] == "slow"]
        h = host(wopr, folder, servers=[s])
        snap = h.call("slow")
        expect(err(snap)[0] == want and s.count("tools/list") == min(pages, 16), "%d pages: %d %s" % (pages, s.count("tools/list"), snap))
        h.end()
        s.stop()
    s = Mcp(tools=[tool("t%d" % i, description="d" * 1000) for i in range(600)])
    h = host(wopr, folder, servers=[s])
    got = err(h.call("t5"))
    expect(got[0] == "mcp_unavailable" and s.count("tools/list") == 1 and s.count("tools/call") == 0, "a huge list: %s" % (got,))
    deep = tool("deep", inputSchema=json.loads('{"properties":{"a":' * 25 + "{}" + "}}" * 25))
    loop = tool("loop", inputSchema={"$ref": "#"})
    slow = tool("pattern", inputSchema={"properties": {"text": {"pattern": "^(a+)+$"}}})
    gone = tool("gone", inputSchema={"$ref": "http://127.0.0.1:1/schema"})
    s.tools = [deep, loop, slow, gone]
    for name in ("deep", "loop", "pattern", "gone"):
        snap = h.call(name, {"text": "a" * 5000 + "!", "a": {"a": {}}})
        expect(err(snap)[0] in ("mcp_tool_error", "tool_not_allowed"), "a schema of any kind: %s %s" % (name, snap))
    h.end()
    s.stop()


def versions_and_sessions(wopr, folder):
    for version in ("2025-06-18", "2025-11-25"):
        s = Mcp(version=version, session="s-1")
        h = host(wopr, folder, servers=[s])
        snap = h.call("echo", {"text": "x"})
        head = [c for c in s.calls if c[0] == "tools/call"][0][3]
        expect(out(snap).get("text") == "x" and head["MCP-Protocol-Version"] == version and head["Mcp-Session-Id"] == "s-1", "%s %s" % (snap, head))
        expect(s.count("DELETE", "s-1") == 1, "the session is ended")
        h.end()
        s.stop()
    s = Mcp(stateless=True)
    h = host(wopr, folder, servers=[s])
    snap = h.call("echo", {"text": "x"})
    call = [c for c in s.calls if c[0] == "tools/call"][0]
    meta = call[2]["_meta"]
    expect(out(snap).get("text") == "x" and s.count("notifications/initialized") == 0, "%s" % snap)
    expect(call[3]["MCP-Protocol-Version"] == meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28", "%s" % (call,))
    expect(call[3]["Mcp-Method"] == "tools/call" and call[3]["Mcp-Name"] == "echo", "%s" % call[3])
    h.end()
    s.stop()
    s = Mcp(version="1999-01-01")
    h = host(wopr, folder, servers=[s])
    got = err(h.call("echo", {"text": "x"}, settings={"maxRetries": 3}))
    expect(got[0] == "mcp_unavailable" and "2025-03-26" in got[1] and s.count("initialize") == 1, "%s" % (got,))
    s.version, s.down = "2025-03-26", 2
    snap = h.call("echo", {"text": "x"}, settings={"maxRetries": 3})
    expect(out(snap).get("text") == "x", "a server that is down for a moment: %s" % snap)
    h.end()
    s.stop()


def the_table_of_the_operator(wopr, folder):
    a, b = Mcp(secret="canary-secret-of-a"), Mcp()
    key, table = os.path.join(folder, "key"), os.path.join(folder, "remotes.json")
    rows = {"mcp": [{"name": "a", "url": a.url, "credentialFile": key, "tools": ["echo", "reflect"]}, {"name": "b", "url": b.url, "tenants": ["nobody"]}]}

    def write(value):
        with open(table, "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))

    with open(key, "w", encoding="ascii") as f:
        f.write("canary-secret-of-a\n")
    write(rows)
    h = host(wopr, folder, "--remotes-file", table)
    snap = h.call("echo", {"text": "x"})
    expect(out(snap).get("text") == "x", "with the credential: %s" % snap)
    back = out(h.call("reflect"))
    expect("Bearer [REDACTED]" in back["text"] and "canary" not in json.dumps(back), "a server that repeats what it was sent: %s" % back)
    expect(err(h.call("slow"))[0] == "tool_not_allowed" and a.count("tools/call", "slow") == 0, "a tool that the operator does not allow")
    got = err(h.call("echo", {"text": "x"}, server="b"))
    expect(got[0] == "capability_not_provided" and b.url not in got[1] and got[1].endswith(" a") and not b.calls, "another tenant's: %s" % (got,))
    expect(h.ask("GET", "/.well-known/openwop")[1]["mcp"]["serverUrls"] == [a.url], "which is not advertised")
    a.secret = "another"
    got = err(h.call("echo", {"text": "x"}))
    expect(got[0] == "mcp_unavailable" and "credential" in got[1], "%s" % (got,))
    everything = json.dumps([h.ask("GET", "/v1/runs")[1], snap, got]) + h.text()
    expect("canary-secret" not in everything, "the credential is nowhere")
    h.end()
    for f in os.listdir(folder):
        path = os.path.join(folder, f)
        for name in [os.path.join(path, n) for n in os.listdir(path)] if os.path.isdir(path) else []:
            with open(name, "rb") as data:
                expect(b"canary-secret" not in data.read(), "the credential is in " + name)
    with open(os.path.join(folder, "short"), "w", encoding="ascii") as f:
        f.write("short")
    for value, word in (("{", "remotes-file"), ({"mcp": [{"name": "a", "url": a.url, "credentialFile": os.path.join(folder, "short")}]}, "8 or more"), ([], "object"), ({"mcp": {}}, "list"), ({"x": []}, "mcp and a2a"), ({"mcp": [{"name": "a"}]}, "url"),
                        ({"mcp": [{"url": a.url}]}, "name"), ({"mcp": [{"name": "a", "url": "ftp://x"}]}, "mcp[0].url"),
                        ({"mcp": [{"name": "a", "url": "http://10.0.0.1/"}]}, "--egress-allow"), ({"mcp": rows["mcp"] + rows["mcp"]}, "twice"),
                        ({"mcp": [{"name": "a", "url": a.url, "credentialFile": "/nonexistent"}]}, "/nonexistent"),
                        ({"mcp": [{"name": "a", "url": a.url, "tools": []}]}, "tools"), ({"mcp": [{"name": "a", "url": a.url, "tool": ["x"]}]}, "mcp[0].tool")):
        write(value)
        rc, said = kit.start_refused(wopr, folder, "--egress-loopback", "--remotes-file", table)
        expect(rc != 0 and word in said, "%s: %s" % (value, said))
    a.stop()
    b.stop()


def a_run_that_is_cancelled_waits_for_no_tool(wopr, folder):
    s = Mcp()
    h = host(wopr, folder, servers=[s])
    run = h.start(h.put({"tool": "hold", "timeoutMs": 60000}))
    expect(s.wait(1, "tools/call", "hold"), "it was called")
    h.ask("POST", "/v1/runs/%s/cancel" % run, {})
    expect(h.until(run)["status"] == "cancelled", "cancelled")
    before = len(h.events(run))
    s.released.set()  # the answer comes after the end
    expect(out(h.call("echo", {"text": "x"})).get("text") == "x", "the host goes on")
    expect(len(h.events(run)) == before, "nothing is added to a run that has ended")
    h.end()
    s.stop()


def a_kill_at_each_exchange_calls_no_tool_twice(wopr, folder):
    for other in (False, True):  # the next start, or another host that was there
        for hold in ("initialize", "notifications/initialized", "tools/list", "tools/call"):
            s = Mcp(hold=hold)
            h = host(wopr, folder, servers=[s])
            b = host(wopr, folder, servers=[s], db=h.db) if other else None
            run = h.start(h.put({"tool": "echo", "arguments": {"text": "x"}, "timeoutMs": 60000}, {"maxRetries": 3}))
            expect(s.wait(1, hold), "%s came" % hold)
            h.kill()
            s.hold = None
            s.released.set()
            b = b or host(wopr, folder, servers=[s], db=h.db)
            snap = b.until(run)
            if hold == "tools/call":
                expect(err(snap)[0] == "mcp_unavailable" and "not known" in err(snap)[1], "nobody knows: %s" % snap)
            else:
                expect(out(snap).get("text") == "x", "%s: %s" % (hold, snap))
            expect(s.count("tools/call") == 1, "%s: called %d times" % (hold, s.count("tools/call")))
            b.end()
            s.stop()


def kills_at_any_moment_call_no_tool_twice(wopr, folder):
    seed = int(os.environ.get("WOPR_SEED") or time.time())
    rng = random.Random(seed)
    s = Mcp()
    h = host(wopr, folder, servers=[s])
    w = h.put({"tool": "slow", "arguments": {"run": "{{r}}"}}, {"maxRetries": 3}, node={"inputs": {"r": {"type": "variable", "variableName": "v"}}})
    runs = {}
    for i in range(26): # no kill comes after the last two, however slow the machine is
        status, got = h.ask("POST", "/v1/runs", {"workflowId": w, "inputs": {"v": "r%d" % i}})
        runs["r%d" % i] = got["runId"]
        if i % 4 == 3:
            time.sleep(rng.random() * 0.5)
            h.kill()
            h = host(wopr, folder, servers=[s], db=h.db)
    done = []
    for name, run in runs.items():
        snap = h.until(run)
        calls = sum(1 for c in s.calls if c[0] == "tools/call" and c[2]["arguments"]["run"] == name)
        good = out(snap).get("text") == "slow" and calls == 1
        lost = err(snap)[0] == "mcp_unavailable" and "not known" in err(snap)[1] and calls <= 1
        expect(good or lost, "seed %d %s: %d calls, %s" % (seed, name, calls, snap))
        done.append(good)
    expect(all(done[-2:]), "seed %d: runs after the last kill were lost: %s" % (seed, done))
    h.end()
    s.stop()


TESTS = [a_tool_is_called_once_and_its_result_is_marked, a_call_is_a_record_in_the_log, answers_of_every_form, what_a_server_may_do_wrong_has_a_code,
         what_may_not_be_called_is_not, lists_are_bounded, versions_and_sessions, the_table_of_the_operator,
         a_run_that_is_cancelled_waits_for_no_tool, a_kill_at_each_exchange_calls_no_tool_twice, kills_at_any_moment_call_no_tool_twice]


def main():
    wopr, names = sys.argv[1], sys.argv[2:]
    for t in TESTS:
        if names and t.__name__ not in names:
            continue
        began, before = time.monotonic(), len(FAILED)
        with tempfile.TemporaryDirectory() as folder:
            t(wopr, folder)
        print("%s %-60s %5.1f s" % ("ok  " if len(FAILED) == before else "FAIL", t.__name__, time.monotonic() - began), flush=True)
    print("mcp: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
