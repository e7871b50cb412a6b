#!/usr/bin/env python3
"""
canary.py: two runs that work with everything that must not be seen, on the real program, and a look at all that leaves it (OBS-71, OBS-75,
NFR-7, CAP-19, INT-13, HOOK-5): answers, streams, commands, log, metrics, audit log, spans and numbers, webhooks and their dead letters, callbacks,
bundles, memory, and every byte of every file, the WAL too.
usage: canary.py WOPR [NAME...]
"""
import http.client
import json
import os
import sys
import time
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "otel"))
import receiver  # noqa: E402
from agents import AgentHost, Model  # noqa: E402
from run import FAILED, KEY, WAIT_S, expect, play  # noqa: E402

VALUE = "c4n4ry-\"0f\"-4-s3ns1t1v3\\-v4lu3-\u00fc\n!"  # of a variable that is declared sensitive; each spelling of JSON is another text
BYOK = "tk-c4n4ry-0f-4-cr3d3nt14l-77"  # that the tenant brings
OURS = "sk-c4n4ry-0f-th3-0p3r4t0r-12"  # of the operator, for the same provider
HOOK = "c4n4ry-s3cr3t-0f-4-w3bh00k-0"  # that signs
WHERE = "c4n4ry-p4th-0f-4-c4llb4ck"  # a callback URL is known to whoever asked for the run, and to the host
SECRETS = {"a sensitive value": VALUE, "a credential": BYOK, "the operator's": OURS, "a webhook's secret": HOOK, "the API key": KEY}
MODES = ("values", "updates", "messages", "debug")


class Ear(receiver.Receiver):
    """Takes telemetry, webhooks and callbacks; what comes to /dead is refused, what comes to /echo said again."""

    def _answer(self, h, status, headers, body):
        if h.path.startswith("/dead"):
            status = 500
        if h.path.startswith("/echo"):
            body = json.dumps({"heard": [b.decode() for p, _, b in self.others if p == h.path][-1]}).encode()
        super()._answer(h, status, headers, body)


def tells(messages, tools):
    """A model that repeats what it was told and with which key, calls a tool with it, and asks a person."""
    everything = " ".join(str(m.get("content")) for m in messages) + " by " + BYOK
    done = [m for m in messages if m["role"] == "tool"]
    if not done and "note" in tools:
        return "I note " + everything, [("note", json.dumps({"text": everything}))]
    if len(done) == 1 and "ask" in tools:
        return "I ask " + everything, [("ask", json.dumps({"question": "Is it " + everything + "?"}))]
    return "It is " + everything


def node(i, kind, config, **more):
    return {"id": i, "typeId": kind, "name": i, "position": {"x": 0, "y": 0}, "config": config,
            "inputs": {"s": {"type": "variable", "variableName": "s"}}, **more}


def workflow(url, ends):
    nodes = [node("say", "vendor.wopr.http", {"url": url + "/echo", "body": {"it": "{{s}}"}, "idempotencyKey": True}),
             node("n", "vendor.wopr.agent", {"prompt": "it is {{s}}", "tools": [{"node": {"typeId": "core.identity"}, "name": "note"}, {"ask": {}}]},
                  agent={"agentId": "vendor.test.teller"}, credentialsRef="mine"),
             node("keep", "core.setVariable", {"name": "said"}, inputs={"value": {"type": "connection", "nodeId": "n", "outputKey": "text"}}),
             node("note", "vendor.wopr.remember", {"ref": "canary/notes", "content": "what the port says"},
                  inputs={"content": {"type": "expression", "expression": "'noted ' + variables.s + ', they say ' + variables.said"}}),
             node("line", "vendor.wopr.log", {}, inputs={"message": {"type": "expression", "expression": "'it is ' + variables.s"}}),
             node("recall", "vendor.wopr.recall", {"ref": "canary/notes"}),
             node("end", "vendor.wopr.http", {"url": url + ends + "/{{s}}", "body": "{{s}}", "success": ["2xx"]})]
    edges = [{"id": "e%d" % i, "sourceNodeId": a["id"], "targetNodeId": b["id"]} for i, (a, b) in enumerate(zip(nodes, nodes[1:]))]
    return {"id": "canary", "name": "Canary", "version": "1", "nodes": nodes, "edges": edges, "triggers": [], "metadata": {}, "settings": {},
            "variables": [{"name": "s", "type": "string", "required": True, "sensitive": True}, {"name": "said", "type": "string"}]}


def spellings(secret):
    """As it is, and as JSON in JSON in JSON spells it, in ASCII and in UTF-8."""
    all_of, last = {secret}, {secret}
    for _ in range(4):
        last = {json.dumps(s, ensure_ascii=a)[1:-1] for s in last for a in (True, False)}
        all_of |= last
    return [s.encode() for s in all_of | {urllib.parse.quote(secret, safe="")}]


SPELLED = {name: spellings(s) for name, s in SECRETS.items()}


def holds(what, text):
    data = text if isinstance(text, bytes) else text.encode()
    for name, forms in SPELLED.items():
        for form in forms:
            expect(form not in data, "%s shows %s: %s" % (what, name, data[max(0, data.find(form) - 200):][:400]))
    return data


def raw(h, path, port=None, accept="application/json", seconds=None):
    c = http.client.HTTPConnection("127.0.0.1", port or h.port, timeout=seconds or WAIT_S)
    c.request("GET", path, headers={"Authorization": "Bearer " + KEY, "Accept": accept})
    r = c.getresponse()
    head = str(r.getheaders()).encode()
    if seconds is None:
        return head + r.read()
    data = head
    try:
        while True:
            more = r.read1(65536)
            if not more:
                return data
            data += more
    except OSError:
        return data


def start(wopr, folder, ear, model, db=None):
    path = os.path.join(folder, "models.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"providers": [{"name": "main", "style": "openai", "url": model.url, "model": "tiny", "keyEnv": "CANARY_KEY", "byok": True}]}, f)
    args = ["--egress-loopback", "--ai-providers", path, "--audit-log", "all", "--log-level", "debug", "--log-records", "all", "--ops-port", "0",
            "--webhook-attempts", "2", "--webhook-retry-ms", "20", "--callback-attempts", "3", "--webhook-timeout-ms", "2000"]
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:%d" % ear.port, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_BSP_SCHEDULE_DELAY": "50",
           "OTEL_METRIC_EXPORT_INTERVAL": "200", "CANARY_KEY": OURS}
    return AgentHost(wopr, folder, args, env, db)


def begin(h, ear):
    """The webhooks, the credential, and a run that waits for a person."""
    there = "http://127.0.0.1:%d" % ear.port
    every = ["run.started", "run.completed", "run.failed", "node.started", "node.completed", "node.failed", "node.suspended",
                                        "node.resumed", "interrupt.requested", "interrupt.resolved", "variable.changed", "agent.reasoned", "agent.toolCalled",
                                        "agent.toolReturned", "output.chunk", "log.appended", "clarification.requested", "clarification.resolved"]
    hooks = [h.ask("POST", "/v1/webhooks", {"url": there + path, "events": every, "secret": HOOK})[1]["webhookId"] for path in ("/hook", "/dead")]
    h.command("secrets", "set", "mine", "--provider", "main", input=BYOK + "\n", check=True)
    return h.must("POST", "/v1/runs", {"workflowId": "canary", "inputs": {"s": VALUE}, "callbackUrl": there + "/asked/" + WHERE, "tags": ["t"],
                                       "metadata": {"note": "open"}})["runId"], hooks


def answers_look(h, ear, run, hooks, mid):
    for path in ("", "/events", "/events/poll", "/debug-bundle"):
        holds("GET run%s" % path, raw(h, "/v1/runs/%s%s" % (run, path)))
    for path in ("/v1/runs", "/v1/host/wopr/interrupts", "/v1/interrupts?runId=" + run, "/v1/host/wopr/runs/%s/callbacks" % run,
                 "/v1/host/wopr/runs/%s/agents" % run, "/v1/webhooks", "/v1/host/wopr/webhooks", "/v1/audit/verify", "/.well-known/openwop"):
        holds("GET " + path, raw(h, path))
    for hook in hooks:
        holds("a webhook", raw(h, "/v1/host/wopr/webhooks/" + hook))
        holds("dead letters", raw(h, "/v1/host/wopr/webhooks/%s/dead-letters" % hook))
    for mode in MODES:
        data = holds("stream " + mode, raw(h, "/v1/runs/%s/events?streamMode=%s" % (run, mode), accept="text/event-stream", seconds=0.7 if mid else None))
        expect(len(data) > 200, "the stream %s says something" % mode)
    holds("metrics", raw(h, "/metrics", h.ops))
    for words in (["tail", run, "--json"], ["runs", "show", run], ["bundle", run], ["audit"], ["memory", "list", "canary/notes", "--json"], ["secrets", "list"],
                  ["verify"]):
        if mid and words[0] in ("tail", "memory"):
            continue  # it would wait, and nothing is remembered yet
        done = h.command(*words)
        rc, said = done.returncode, done.stdout + done.stderr
        expect(rc == 0 and said, "wopr %s: %d %s" % (" ".join(words), rc, said[:300]))
        holds("wopr " + words[0], said)
        expect(words[0] != "memory" or "noted [REDACTED], they say" in said, "the note is there, without the value: %s" % said[:300])


def sent_look(ear, tokens):
    """What was sent: the nodes may say what their author wired to them, the rest nothing."""
    said = [(path, json.dumps(heads) + body.decode("latin-1")) for path, heads, body in list(ear.others)]
    for path, text in said:
        if path in ("/hook", "/dead") or path.startswith("/asked/"):
            holds("a delivery to " + path.split("/")[1], text)
            expect(WHERE not in text, "a delivery to %s tells a callback URL" % path)
            expect(path.startswith("/asked/") or not any(t in text for t in tokens), "a webhook tells a token")
        else:
            expect(not any(s in text for n, s in SECRETS.items() if n != "a sensitive value"), "a node sends a credential to %s: %s" % (path, text[:300]))
    with ear.changed:
        spans, points = list(ear.spans), list(ear.points)
    holds("spans", json.dumps([[s.raw, s.resource] for s in spans]))
    holds("numbers", json.dumps([p.raw for p in points]))
    expect(len(spans) > 3 and points, "telemetry came")
    expect(WHERE not in json.dumps([s.raw for s in spans]), "a span tells a callback URL")


def files_look(h, tokens):
    for root, _, names in os.walk(h.db):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                data = holds("the file " + name, f.read())
            expect(not any(t.encode() in data for t in tokens), "a token is in " + name)
    log = h.text()
    holds("the log", log)
    expect(len(log) > 1000 and WHERE not in log and not any(t in log for t in tokens), "the log tells a callback URL or a token")


def tokens_of(ear):
    return [json.loads(body)["interrupt"]["interruptToken"] for path, _, body in list(ear.others) if path.startswith("/asked/")]


def one_run(wopr, folder, ends, status):
    ear, model = Ear(), Model(tells)
    h = start(wopr, folder, ear, model)
    stored, got = h.ask("PUT", "/v1/host/wopr/workflows/canary", workflow("http://127.0.0.1:%d" % ear.port, ends))
    expect(stored == 200, "stored: %s" % got)
    run, hooks = begin(h, ear)
    snap = h.until(run, "waiting-input", "failed", "completed")
    expect(snap["status"] == "waiting-input", "a person is asked: %s" % snap)
    ear.wait(lambda: tokens_of(ear))
    answers_look(h, ear, run, hooks, True)
    files_look(h, tokens_of(ear))
    h.kill()
    h = start(wopr, folder, ear, model, h.db)
    h.answer(run, {"answers": {"answer": "no, not " + VALUE}})
    snap = h.until(run)
    expect(snap["status"] == status, "%s: %s" % (ends, snap))
    expect({hd.get("Authorization") for _, hd in model.asked} == {"Bearer " + BYOK}, "the tenant's credential is used")
    fork = h.fork(run)
    expect(h.until(fork)["status"] == status, "its replay ends likewise")
    ear.wait(lambda: any(s["run_id"] == fork and s.name == "openwop.run" for s in ear.spans))
    ear.wait(lambda: any(p == "/hook" and b'"type":"run.%s"' % status.encode() in b for p, _, b in ear.others))
    end = time.monotonic() + WAIT_S
    while h.ask("GET", "/v1/host/wopr/webhooks/" + hooks[1])[1]["deadLetters"] == 0 and time.monotonic() < end:
        time.sleep(0.05)
    for x in (run, fork):
        answers_look(h, ear, x, hooks, False)
    dead = h.ask("GET", "/v1/host/wopr/webhooks/%s/dead-letters" % hooks[1])[1]
    expect(dead["deliveries"], "there are dead letters: %s" % dead)
    sent_look(ear, tokens_of(ear))
    files_look(h, tokens_of(ear))
    h.end()
    files_look(h, tokens_of(ear))  # the WAL is in the file now
    ear.stop()
    model.stop()


def a_run_that_completes_shows_nothing(wopr, folder):
    one_run(wopr, folder, "/echo", "completed")


def a_run_that_fails_shows_nothing(wopr, folder):
    one_run(wopr, folder, "/dead", "failed")


if __name__ == "__main__":
    sys.exit(play("canary", [a_run_that_completes_shows_nothing, a_run_that_fails_shows_nothing]))
