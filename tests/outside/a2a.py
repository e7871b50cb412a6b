#!/usr/bin/env python3
"""
a2a.py: nodes that give tasks to an A2A agent, on the real program against a peer inside the test that keeps the
binding of the public suite and then breaks it (30-nodes section 13: A2A-2 to A2A-8).
usage: a2a.py WOPR [NAME...]    (names of the functions below; default all)
"""
import json
import os
import sys
import tempfile
import time

from fakes import A2a
from mcp import McpHost, err, out
from run import FAILED, expect

WAIT_MS = 60000  # of tasks that are meant to end


class A2aHost(McpHost):
    def task(self, config=None, settings=None, node=None):
        return self.put(None, settings, {"typeId": "core.a2a.invoke", "config": {"skill": "echo", "timeoutMs": WAIT_MS, **(config or {})}, **(node or {})})

    def give(self, config=None, settings=None, node=None):
        return self.start(self.task(config, settings, node))


def host(wopr, folder, peer, *args, db=None):
    agents = ["--a2a-agents", peer.card_url] if peer else []
    return A2aHost(wopr, folder, ["--egress-loopback", *agents, *args], {}, db)


def posts(s, end="/tasks"):
    return [c for c in s.calls if c[0] == "POST" and c[1].endswith(end)]


def a_task_is_given_once_and_followed_to_its_end(wopr, folder):
    s = A2a("SUBMITTED", looks=["WORKING", "TASK_STATE_WORKING", "completed"])
    h = host(wopr, folder, s)
    run = h.give(node={"inputs": {"x": {"type": "static", "value": [1]}}})
    snap = h.until(run)
    want = {"taskId": "task-1", "state": "COMPLETED", "agent": "a2a-1", "messages": s.messages, "text": "hello", "trust": "untrusted",
            "rendered": '<UNTRUSTED agent="a2a-1">hello</UNTRUSTED>'}
    expect(out(snap) == want, "%s" % snap)
    expect(len(posts(s)) == 1 and posts(s)[0][2] == {"skill": "echo", "input": {"x": [1]}}, "%s" % posts(s))
    expect(s.count("GET", "/tasks/task-1") == 3 and s.count("GET", "/agent.json") == 1, "%s" % s.calls)
    status, fork = h.ask("POST", "/v1/runs/%s:fork" % run, {"mode": "replay", "fromSeq": 0})
    again = h.until(fork["runId"])
    expect(status == 201 and out(again) == want and len(s.calls) == 5, "a replay asks nobody: %s %s" % (again, s.calls))
    expect(not [e for e in h.events(fork["runId"]) if e["type"] == "replay.diverged"], "and is the same")
    s.next = ["COMPLETED"]
    s.looks = []
    snap = h.until(h.give({"input": {"say": "{{w}}"}}, node={"inputs": {"w": {"type": "variable", "variableName": "v"}}}))
    expect(out(snap)["text"] == "hello" and posts(s)[-1][2]["input"] == {"say": "pen"}, "%s" % snap)
    s.next = ["COMPLETED"]
    snap = h.until(h.give())
    expect(posts(s)[-1][2]["input"] == {"v": "pen"}, "variables when there is nothing else: %s" % posts(s)[-1][2])
    expect("mcp" not in h.ask("GET", "/.well-known/openwop")[1], "no MCP is advertised")
    h.end()
    s.stop()


def every_end_of_a_task_has_its_code(wopr, folder):
    s = A2a()
    h = host(wopr, folder, s)
    for state, code in (("FAILED", "a2a_task_failed"), ("REJECTED", "rejected_by_remote"), ("CANCELED", "a2a_task_cancelled"),
                        ("task_state_cancelled", "a2a_task_cancelled")):
        s.next = [state]
        got = err(h.until(h.give(settings={"maxRetries": 2})))
        expect(got[0] == code and "task" in got[1], "%s: %s" % (state, got))
    expect(len(posts(s)) == 4, "none is tried again")
    s.looks = ["WORKING"]
    got = err(h.until(h.give({"timeoutMs": 600}, {"maxRetries": 2})))
    expect(got[0] == "a2a_timeout" and posts(s, ":cancel"), "%s: %s" % (got, s.calls[-3:]))
    h.end()
    s.stop()


def questions_go_to_people_and_their_answers_back(wopr, folder):
    s = A2a("AUTH_REQUIRED", "INPUT_REQUIRED", "COMPLETED")
    h = host(wopr, folder, s)
    run = h.give()
    snap = h.until(run, "waiting-input")
    expect(snap["interrupt"]["metadata"] == {"subkind": "auth"} and snap["interrupt"]["data"]["questions"][0]["question"] == "Authentication required",
           "%s" % snap)
    expect([e["payload"].get("reason") for e in h.events(run) if e["type"] == "node.suspended"] == ["a2a-auth"], "the reason")
    h.kill()
    h = host(wopr, folder, s, db=h.db)
    h.until(run, "waiting-input")
    status, got = h.ask("POST", "/v1/runs/%s/interrupts/n" % run, {"resumeValue": {"answers": {"a2a": "token 7"}}})
    expect(status == 200, "%s" % got)
    end = time.monotonic() + 60
    while len([e for e in h.events(run) if e["type"] == "node.suspended"]) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    snap = h.until(run, "waiting-input")
    expect("metadata" not in snap["interrupt"], "%s" % snap["interrupt"])
    h.ask("POST", "/v1/runs/%s/interrupts/n" % run, {"resumeValue": {"answers": {"a2a": "more"}}})
    expect(out(h.until(run)).get("state") == "COMPLETED", "to the end")
    said = [c[2]["message"]["parts"][0]["text"] for c in posts(s, "/messages")]
    expect(said == ["token 7", "more"] and len(posts(s)) == 1, "%s" % s.calls)
    h.end()
    s.stop()


def a_task_that_nobody_waits_for_is_cancelled(wopr, folder):
    s = A2a("AUTH_REQUIRED", "WORKING")
    h = host(wopr, folder, s)
    run = h.give()
    h.until(run, "waiting-input")
    h.kill()  # the run rests in the file; who cancels it has not begun it
    h = host(wopr, folder, s, db=h.db)
    h.ask("POST", "/v1/runs/%s/cancel" % run, {})
    expect(h.until(run)["status"] == "cancelled" and s.wait(1, "POST", "/tasks/task-1:cancel"), "asked: %s" % s.calls)
    run = h.give()
    expect(s.wait(1, "GET", "/tasks/task-2"), "it works")
    h.ask("POST", "/v1/runs/%s/cancel" % run, {})
    expect(h.until(run)["status"] == "cancelled" and s.wait(1, "POST", "/tasks/task-2:cancel"), "working: %s" % s.calls)
    s.next = ["COMPLETED"]
    h.until(h.give())
    expect(len(posts(s, ":cancel")) == 2, "a task that ended is left alone")
    h.end()
    s.stop()


def what_an_agent_may_do_wrong_has_a_code(wopr, folder):
    s = A2a()
    h = host(wopr, folder, s)

    for act in ("reset", 500, 400, 404, {"taskId": "x", "state": "DANCING"}, {"state": "WORKING"}, {"taskId": "", "state": "WORKING"}, [], {}):
        before = len(posts(s))
        s.next = [act]
        got = err(h.until(h.give(settings={"maxRetries": 2})))
        expect(got[0] == "a2a_unavailable" and len(posts(s)) == before + 1, "%s: %s, given %d times" % (act, got, len(posts(s)) - before))
    before, s.next = len(posts(s)), [503, "COMPLETED"]
    expect(out(h.until(h.give(settings={"maxRetries": 2}))).get("state") == "COMPLETED" and len(posts(s)) == before + 2, "a refusal is tried again")
    before, s.next = len(posts(s)), [{"taskId": "../../x?y#z", "state": "COMPLETED"}]
    h.until(h.give())
    expect(s.calls[-1][1] == "/tasks/..%2F..%2Fx%3Fy%23z", "an id is one segment: %s" % (s.calls[-1][1],))
    s.looks, s.next = ["reset", 500, 503, "WORKING", "reset", "COMPLETED"], ["SUBMITTED"]
    expect(out(h.until(h.give())).get("state") == "COMPLETED", "looks that were lost are looked again")
    before, s.looks, s.next = len(posts(s)), [500], ["SUBMITTED"]
    got = err(h.until(h.give(settings={"maxRetries": 1})))
    expect(got[0] == "a2a_unavailable" and len(posts(s)) == before + 1, "%s: the task is given once" % (got,))
    s.looks, s.next = [404], ["SUBMITTED"]
    expect(err(h.until(h.give()))[0] == "a2a_unavailable", "a task that is gone")
    s.looks, s.next = [{"taskId": "t", "state": "WORKING", "messages": ["x" * 200000]}], ["SUBMITTED"]
    got = err(h.until(h.give(), seconds=120))
    expect(got[0] == "a2a_unavailable" and "4 MiB" in got[1], "%s" % (got,))
    s.looks = []
    for card in ([], {}, {"skills": [{"id": "other"}]}, {"skills": [{"id": "echo"}], "url": "http://10.0.0.1/"}, {"skills": [{"id": "echo"}], "url": "ftp://x"},
                 {"skills": [{"id": "echo"}], "url": s.url + "/x?y"}):
        before, s.card = len(posts(s)), card
        got = err(h.until(h.give(settings={"maxRetries": 2})))
        expect(got[0] in ("a2a_unavailable", "egress_refused") and len(posts(s)) == before, "%s: %s" % (card, got))
    s.card = {"skills": [{"id": "echo"}]}
    s.next = ["COMPLETED"]
    expect(out(h.until(h.give())).get("state") == "COMPLETED", "a card without a url is beside its tasks")
    got = err(h.until(h.give({"requireSignedCard": True})))
    expect(got[0] == "a2a_unavailable" and "signed" in got[1], "%s" % (got,))
    for config in ({"skill": ""}, {"timeoutMs": 0}, {"url": "http://x"}, {"repeatable": 1}):
        got = h.task(config)
        expect(isinstance(got, dict) and got.get("error") == "validation_error", "%s: %s" % (config, got))
    got = err(h.until(h.give({"agentCardUrl": "http://127.0.0.1:1/agent.json"})))
    expect(got[0] == "capability_not_provided" and got[2] == {"capability": "a2a"}, "%s" % (got,))
    h.end()
    s.stop()


def a_credential_stays_with_its_origin(wopr, folder):
    a, b = A2a("COMPLETED", secret="canary-secret"), A2a("COMPLETED")
    key, table = os.path.join(folder, "key"), os.path.join(folder, "remotes.json")
    with open(key, "w", encoding="ascii") as f:
        f.write("canary-secret")
    with open(table, "w", encoding="utf-8") as f:
        json.dump({"a2a": [{"name": "a", "url": a.card_url, "credentialFile": key}]}, f)
    h = A2aHost(wopr, folder, ["--egress-loopback", "--remotes-file", table], {})
    expect(out(h.until(h.give())).get("state") == "COMPLETED", "with it")
    a.card = {"skills": [{"id": "echo"}], "url": b.url}
    expect(out(h.until(h.give())).get("state") == "COMPLETED", "at another host without it")
    expect("canary" not in json.dumps(b.calls) and "canary" in json.dumps(a.calls), "%s" % b.calls)
    h.end()
    a.stop()
    b.stop()


def a_kill_at_each_exchange_gives_no_task_twice(wopr, folder):
    for other in (False, True):
        for at in ("card", "task", "look", "rest"):
            s = A2a("hold" if at == "task" else "SUBMITTED", looks=["stall", "COMPLETED"] if at == "look" else ["WORKING", "WORKING", "COMPLETED"])
            h = host(wopr, folder, s)
            b = host(wopr, folder, s, db=h.db) if other else None
            run = h.give(settings={"maxRetries": 2})
            expect(s.wait(1, *{"card": ("GET", "/agent.json"), "task": ("POST", "/tasks")}.get(at, ("GET", "/tasks/task-1"))), at)
            h.kill()
            s.released.set()
            b = b or host(wopr, folder, s, db=h.db)
            snap = b.until(run)
            lost = err(snap)[0] == "a2a_unavailable" and "not known" in err(snap)[1]
            done = out(snap).get("state") == "COMPLETED"
            expect(lost if at == "task" else done or (at == "card" and lost), "%s: %s" % (at, snap))
            expect(len(posts(s)) == 1 or (lost and at == "card" and not posts(s)), "%s: given %d times" % (at, len(posts(s))))
            b.end()
            s.stop()


TESTS = [a_task_is_given_once_and_followed_to_its_end, every_end_of_a_task_has_its_code, questions_go_to_people_and_their_answers_back,
         a_task_that_nobody_waits_for_is_cancelled, what_an_agent_may_do_wrong_has_a_code, a_credential_stays_with_its_origin,
         a_kill_at_each_exchange_gives_no_task_twice]


def main():
    wopr, names = sys.argv[1], sys.argv[2:]
    for t in TESTS:
        if names and t.__name__ not in names:
            continue
        began, before = time.monotonic(), len(FAILED)
        with tempfile.TemporaryDirectory() as folder:
            t(wopr, folder)
        print("%s %-60s %5.1f s" % ("ok  " if len(FAILED) == before else "FAIL", t.__name__, time.monotonic() - began), flush=True)
    print("a2a: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
