#!/usr/bin/env python3
"""
orchestration.py: supervisors and dispatchers on the real program, killed at each event in turn: no worker is run twice, nobody
is asked twice, and a replay asks nobody (ORCH-6, ORCH-13, DISP-5, DISP-7, DISP-12, DISP-14).  And messages that are written
twice with a kill between them (CHK-15, MSG-1).
usage: orchestration.py WOPR [NAME...]    (names of the functions below; default all)
"""
import json
import sqlite3
import sys
import time

from conversations import TalkHost, code, edge, node, of_kind
from mcp import ENDS
from run import WAIT_S, expect, play

LEAD = {"agentId": "core.test.lead", "modelClass": "reasoning"}
OF_A_RESTART = ("lease.lost", "lease.acquired", "workflow.restored", "run.resumed", "lease.released", "run.resuming")


def next_worker(*ids):
    return {"kind": "next-worker", "nextWorkerIds": list(ids)}


def host(wopr, folder, db=None, more=()):
    return TalkHost(wopr, folder, ["--conformance-types", *more], {}, db)


def led(h, decisions, config=None, supervisor=None):
    return h.define([node("s", "core.orchestrator.supervisor", {"mockDecisions": decisions, **(supervisor or {})}, agent=LEAD), node("d", "core.dispatch", config)],
                    [edge("e1", "s", "d"), edge("e2", "d", "s")], channels=None)


def children(h, run):
    """Ids of the runs that it has begun, of the file itself."""
    with sqlite3.connect("file:%s?mode=ro" % h.database, uri=True) as db:
        return [r[0] for r in db.execute("SELECT run_id FROM runs JOIN run_origins USING (run_no) WHERE parent_run_id = ? ORDER BY run_id", (run,))]


def shape(events):
    """What a log says, but for ids and times."""
    return [(e["type"], e.get("nodeId")) for e in events if e["type"] not in OF_A_RESTART]


def finish(h, run, kill_at=None, again=None):
    """Drives a run to its end, answers its questions; at its kill_at-th event the host is killed.  The host, and whether it was."""
    killed, end = kill_at is None, time.monotonic() + WAIT_S
    while time.monotonic() < end:
        events = h.events(run)
        if not killed and len(events) >= kill_at:
            h.kill()
            h, killed = again(), True
        _, snap = h.ask("GET", "/v1/runs/" + run)
        if snap["status"] in ENDS:
            return h, killed, snap
        if snap["status"] == "waiting-input" and (killed or len(events) < kill_at):
            h.say(run, {"answers": {"answer": "blue"}}, at="d")
        elif snap["status"] == "waiting-approval" and (killed or len(events) < kill_at):
            h.say(run, {"action": "accept"} if snap["currentNodeId"] == "s" else "blue", at=snap["currentNodeId"])
        time.sleep(0.003)
    raise RuntimeError("no end: %s" % snap)


def a_kill_at_every_event_runs_no_worker_twice(wopr, folder):
    h = host(wopr, folder)
    slow = h.define([node("w", "core.delay", {"ms": 25}), node("v", "core.noop")], [edge("e", "w", "v")], channels=None)
    decisions = [next_worker(slow, slow), {"kind": "ask-user", "prompt": "Which colour?"}, next_worker(slow), {"kind": "terminate", "reason": "enough"}]
    w = led(h, decisions, {"askUserRouting": "clarification"})
    h, _, snap = finish(h, h.start(w))
    want = h.events(snap["runId"])
    expect(code(snap) == "completed" and len(children(h, snap["runId"])) == 3, "%s" % snap)
    n, rounds = 1, 0
    while n <= len(want) + 1:
        run = h.start(w)
        h, killed, snap = finish(h, run, n, lambda: host(wopr, folder, h.db))
        events = h.events(run)
        kids = children(h, run)
        expect(code(snap) == "completed", "killed at %d: %s" % (n, snap))
        expect(shape(events) == shape(want), "killed at %d: %s" % (n, [s for s in shape(events) if s not in shape(want)] or "another order: %s" % shape(events)))
        expect(len(kids) == 3 == len(snap["childRuns"]), "DISP-12, killed at %d: %s" % (n, kids))
        decided = of_kind(events, "runOrchestrator.decided")
        expect([d["payload"]["decision"] for d in decided] == decisions, "ORCH-4, killed at %d: %s" % (n, decided))
        by_id = {e["eventId"]: e for e in events}
        for e in events:  # DISP-10
            if e["type"] == "node.completed" and e["nodeId"] == "d":
                cause = by_id.get(e.get("causationId"))
                expect(cause is not None and cause["type"] == "runOrchestrator.decided", "the cause of %s" % e)
        first = {}
        for k in snap["childRuns"]:
            first[k["runId"]] = h.ask("GET", "/v1/runs/" + k["runId"])[1]
        expect(all(k["status"] == "completed" for k in first.values()), "%s" % first)
        before = len(kids)
        again = h.until(h.fork(run))
        expect(code(again) == "completed" and not children(h, again["runId"]) and len(children(h, run)) == before, "DISP-14: a replay runs no worker: %s" % again)
        odd = of_kind(h.events(again["runId"]), "replay.diverged")
        expect(not odd and shape(h.events(again["runId"])) == shape(want), "ORCH-13: %s" % odd)
        rounds += killed
        n += 1
    expect(rounds >= len(want) // 2, "only %d kills for %d events" % (rounds, len(want)))  # some come too late on a slow machine
    print("     killed at %d of %d events" % (rounds, len(want)))
    h.end()


def another_host_takes_a_dispatcher_over(wopr, folder):
    a = host(wopr, folder)
    b = host(wopr, folder, a.db)
    slow = a.define([node("w", "core.delay", {"ms": 400})], channels=None)
    w = led(a, [next_worker(slow, slow), {"kind": "terminate"}])
    runs = [a.start(w) for _ in range(4)]
    end = time.monotonic() + WAIT_S
    while not all(children(a, r) for r in runs) and time.monotonic() < end:
        time.sleep(0.01)
    a.kill()
    for run in runs:
        snap = b.until(run)
        expect(code(snap) == "completed" and len(children(b, run)) == 2, "%s: %s" % (children(b, run), snap))
        expect(len(of_kind(b.events(run), "runOrchestrator.decided")) == 2, "each decision once")
    b.end()


def a_held_decision_survives_a_kill(wopr, folder):
    """ORCH-10, AGT-30: no decision before it is ratified, and one afterwards."""
    h = host(wopr, folder)
    quick = h.define([node("w", "core.noop")], channels=None)
    w = h.define([node("s", "core.orchestrator.supervisor", {"mockConfidence": 0.5, "mockPendingDecision": next_worker(quick)}, agent=LEAD), node("d", "core.dispatch")],
                 [edge("e1", "s", "d"), edge("e2", "d", "s")], channels=None)
    for answer, want in (({"action": "accept"}, "completed"), ({"kind": "terminate", "reason": "no"}, "completed"), ({"action": "reject"}, "decision_rejected")):
        run = h.start(w)
        snap = h.until(run, "waiting-approval", *ENDS)
        expect(snap["status"] == "waiting-approval" and not of_kind(h.events(run), "runOrchestrator.decided"), "held: %s" % snap)
        h.kill()
        h = host(wopr, folder, h.db)
        for bad in ({"kind": "next-worker", "nextWorkerIds": []}, {"kind": "fly"}, {"kind": "ask-user", "prompt": ""}, {"kind": "terminate", "more": 1}, 7, {"action": "maybe"}):
            status, got = h.say(run, bad, at="s")
            expect(status == 400, "%s: %d %s" % (bad, status, got))
        expect(h.say(run, answer, at="s")[0] == 200, "ratified")
        h.kill()
        h = host(wopr, folder, h.db)
        snap = h.until(run)
        decided = of_kind(h.events(run), "runOrchestrator.decided")
        expect(code(snap) == want, "%s: %s" % (answer, snap))
        if want == "completed":
            ratified = next_worker(quick) if "action" in answer else answer
            expect(decided[0]["payload"] == {"agentId": LEAD["agentId"], "decision": ratified} and len(of_kind(h.events(run), "agent.decided")) == 1, "%s" % decided)
        again = h.until(h.fork(run))
        expect(code(again) == code(snap), "a replay: %s" % again)
    h.end()


def by_port(h, config=None, supervisor=None):
    """The decision is what the caller of a run says: nothing is worth less."""
    s = node("s", "core.orchestrator.supervisor", supervisor, agent=LEAD)
    s["inputs"] = {k: {"type": "variable", "variableName": k} for k in ("decision", "confidence")}
    w = h.define([s, node("d", "core.dispatch", config)], [edge("e1", "s", "d"), edge("e2", "d", "s")], channels=None,
                 variables=[{"name": "decision", "type": "object", "defaultValue": {}}, {"name": "confidence", "type": "number", "defaultValue": 1}])
    if not isinstance(w, str):
        raise RuntimeError(w)
    return w


def decide(h, w, decision, confidence=1, **configurable):
    status, got = h.ask("POST", "/v1/runs", {"workflowId": w, "inputs": {"decision": decision, "confidence": confidence}, "configurable": configurable})
    return got["runId"] if status == 201 else (status, got)


def decisions_that_are_none_do_nothing(wopr, folder):
    h = host(wopr, folder)
    w = by_port(h)
    quick = h.define([node("w", "core.noop")], channels=None)
    rows = [{}, {"kind": "fly"}, {"kind": None}, {"kind": "terminate", "confidence": 1}, {"kind": "terminate", "reason": 7}, {"kind": "next-worker"}, {"kind": "next-worker", "nextWorkerIds": quick},
            next_worker(), next_worker(""), next_worker("x" * 257), next_worker(*[quick] * 65), next_worker(quick, 7), {**next_worker(quick), "more": 1}, {"kind": "ask-user", "prompt": ""},
            {"kind": "ask-user", "prompt": {"a": 1}}, {"kind": "ask-user"}]
    for decision in rows:
        run = decide(h, w, decision)
        snap = h.until(run)
        expect(code(snap) == "validation_error" and not of_kind(h.events(run), "runOrchestrator.decided") and not children(h, run), "ORCH-3: %s: %s" % (str(decision)[:80], snap.get("error")))
    for name in ("nothing", "../x", "conformance-noop\0", "run_01M86R3AZPNY6FB6FJZP8KFT47"):
        run = decide(h, w, next_worker(name))
        snap = h.until(run)
        expect(code(snap) == "unknown_child_workflow" and not children(h, run), "DISP-5: %r: %s" % (name, snap.get("error")))
    for confidence, threshold, want in ((0.7, None, "completed"), (0.6999999, None, "waiting-approval"), (0, 0, "completed"), (0.5, 0.5, "completed"), (0.5, 0.4, "completed"), (-1, None, "completed"),
                                        (2, None, "completed"), (1e-320, 1e-300, "waiting-approval")):
        run = decide(h, w, {"kind": "terminate"}, confidence, **({} if threshold is None else {"escalationThreshold": threshold}))
        snap = h.until(run, "waiting-approval", *ENDS)
        expect(snap["status"] == want, "AGT-30, CHK-12: %s below %s: %s" % (confidence, threshold, snap))
        if want != "completed":
            expect(not of_kind(h.events(run), "runOrchestrator.decided"), "ORCH-10")
            h.ask("POST", "/v1/runs/%s/cancel" % run, {})
    for threshold in (2, -0.1, "0.5", None, [0.5]):
        got = decide(h, w, {"kind": "terminate"}, 1, escalationThreshold=threshold)
        expect(not isinstance(got, str) and got[0] == 400, "AGT-31, CHK-13: %s: %s" % (threshold, got))
    h.end()


def supervisors_that_never_end_are_ended(wopr, folder):
    h = host(wopr, folder)
    quick = h.define([node("w", "core.noop")], channels=None)
    for config, supervisor, configurable, want in (({"iterationCap": 3}, None, {}, "dispatch_iteration_cap_exceeded"), (None, {"iterationCap": 3}, {}, "orchestrator_iteration_cap_exceeded"),
                                                   (None, None, {"recursionLimit": 9}, "recursion_limit_exceeded"), (None, None, {}, "recursion_limit_exceeded")):
        run = decide(h, by_port(h, config, supervisor), next_worker(quick), **configurable)
        began = time.monotonic()
        snap = h.until(run, seconds=120)
        events = h.events(run)
        expect(code(snap) == want, "%s %s %s: %s" % (config, supervisor, configurable, snap.get("error")))
        expect(len(of_kind(events, "cap.breached")) == 1 and len(children(h, run)) <= len(of_kind(events, "runOrchestrator.decided")), "%s" % of_kind(events, "cap.breached"))
        print("     %s after %d children, %.1f s" % (want, len(children(h, run)), time.monotonic() - began))
        again = h.until(h.fork(run), seconds=120)
        expect(code(again) == want and not children(h, again["runId"]), "a replay: %s" % again.get("error"))
    h.end()


def a_workflow_that_dispatches_itself_ends(wopr, folder):
    h = host(wopr, folder)
    w = by_port(h)
    run = decide(h, w, next_worker(w))  # inputs of a child are the dispatcher's ports: it decides by its defaults
    snap = h.until(run)
    expect(code(snap) == "child_failed", "%s" % snap)
    s = node("s", "core.orchestrator.supervisor", {}, agent=LEAD)
    name = "self%d" % time.monotonic_ns()
    s["inputs"] = {"decision": {"type": "static", "value": next_worker(name)}}
    wf = {"id": name, "name": "W", "version": "1", "nodes": [s, node("d", "core.dispatch")], "edges": [edge("e1", "s", "d"), edge("e2", "d", "s")], "triggers": [], "variables": [],
          "metadata": {}, "settings": {}}
    expect(h.ask("PUT", "/v1/host/wopr/workflows/" + name, wf)[0] in (200, 201), "stored")
    run = h.start(name)
    began = time.monotonic()
    snap = h.until(run, seconds=120)
    depth, at = 0, run
    while True:
        kids = children(h, at)
        expect(len(kids) <= 1, "one worker each: %s" % kids)
        if not kids:
            break
        depth, at = depth + 1, kids[0]
    expect(snap["status"] == "failed" and depth < 100, "%d deep: %s" % (depth, snap))
    print("     %d deep, %s, %.1f s" % (depth, code(h.ask("GET", "/v1/runs/" + at)[1]), time.monotonic() - began))
    h.end()


def messages_that_are_written_twice_are_there_once(wopr, folder):
    """CHK-15: killed between the two writes of one messageId, and around the three of the fixture."""
    h = host(wopr, folder)
    channels = {"messages": {"schema": {"type": "array"}, "reducer": "message"}}
    say = lambda name, i, text: node(name, "core.channelWrite", {"channelName": "messages", "value": {"messageId": i, "role": "user", "content": text}})
    w = h.define([say("a", "m1", "first"), node("x", "core.delay", {"ms": 300}), say("b", "m1", "second"), node("y", "core.delay", {"ms": 300}), say("c", "m2", "third")],
                 [edge("e1", "a", "x"), edge("e2", "x", "b"), edge("e3", "b", "y"), edge("e4", "y", "c")], channels=channels)
    for at in (1, 2):
        run = h.start(w)
        end = time.monotonic() + WAIT_S
        while len(of_kind(h.events(run), "channel.written")) < at and time.monotonic() < end:
            time.sleep(0.005)
        h.kill()
        h = host(wopr, folder, h.db)
        snap = h.until(run)
        written = of_kind(h.events(run), "channel.written")
        expect([(m["messageId"], m["content"]) for m in snap["channels"]["messages"]] == [("m1", "first"), ("m2", "third")], "MSG-1: %s" % snap["channels"])
        expect([e["payload"]["reducer"] for e in written] == ["message"] * 3, "MSG-2, MSG-4: %s" % written)
    twice = h.define([node("n", "core.identity", {"emitDuplicateMessageId": True})], channels=channels)
    for i in range(12):
        run = h.start(twice)
        time.sleep(i * 0.0005)
        h.kill()
        h = host(wopr, folder, h.db)
        snap = h.until(run)
        ids = [m["messageId"] for m in snap["channels"]["messages"]]
        expect(ids == [run + "-1", run + "-2"] and len(of_kind(h.events(run), "channel.written")) == 3, "FIX-34, killed: %s" % snap["channels"])
        again = h.until(h.fork(run))
        expect(json.dumps(again["channels"]) == json.dumps(snap["channels"]), "a replay: %s" % again["channels"])
    h.end()


TESTS = [a_kill_at_every_event_runs_no_worker_twice, another_host_takes_a_dispatcher_over, a_held_decision_survives_a_kill, decisions_that_are_none_do_nothing,
         supervisors_that_never_end_are_ended, a_workflow_that_dispatches_itself_ends, messages_that_are_written_twice_are_there_once]


if __name__ == "__main__":
    sys.exit(play("orchestration", TESTS))
