#!/usr/bin/env python3
"""
conversations.py: conversations of runs on the real program, with people who race, repeat themselves, say too much and
leave, and hosts that are killed between any two turns (CONV-4 to CONV-20, NODE-70, FORK-18).
usage: conversations.py WOPR [NAME...]    (names of the functions below; default all)
"""
import json
import os
import random
import sys
import threading
import time

from mcp import ENDS, McpHost
from run import WAIT_S, expect, play

SEED = 20261124
SEQ = [0]
TALK = {"conversation": {"schema": {"type": "array"}, "reducer": "message"}}
CLOSE = {"operation": "close"}


def node(name, kind, config=None, **more):
    return {"id": name, "typeId": kind, "name": name, "position": {"x": 0, "y": 0}, "config": config or {}, "inputs": {}, **more}


def edge(name, a, b, **more):
    return {"id": name, "sourceNodeId": a, "targetNodeId": b, **more}


class TalkHost(McpHost):
    def define(self, nodes, edges=(), channels=TALK, settings=None, variables=(), metadata=None):
        SEQ[0] += 1
        name = "talk%d" % SEQ[0]
        wf = {"id": name, "name": "W", "version": "1", "nodes": nodes, "edges": list(edges), "triggers": [], "variables": list(variables), "metadata": metadata or {}, "settings": settings or {}}
        if channels:
            wf["channels"] = channels
        status, got = self.ask("PUT", "/v1/host/wopr/workflows/" + name, wf)
        return name if status in (200, 201) else got

    def talk(self, config=None, **more):
        return self.start(self.define([node("n", "core.conversationGate", config)], **more))

    def asked(self, run, nth=None):
        """Waits for a turn: the nth, if it is said which."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            _, snap = self.ask("GET", "/v1/runs/" + run)
            if snap["status"] in ENDS or (snap["status"] == "waiting-approval" and nth in (None, snap["interrupt"]["data"]["turnIndex"])):
                return snap
            time.sleep(0.005)
        raise RuntimeError("no turn: %s" % snap)

    def say(self, run, value, at="n"):
        return self.ask("POST", "/v1/runs/%s/interrupts/%s" % (run, at), {"resumeValue": value})

    def fork(self, run, mode="replay", at=0):
        return self.must("POST", "/v1/runs/%s:fork" % run, {"mode": mode, "fromSeq": at})["runId"]


def turn(content, **more):
    return {"operation": "exchange", "turn": {"content": content, **more}}


def host(wopr, folder, db=None):
    return TalkHost(wopr, folder, ["--large-body-rate", "0"], {}, db)


def code(snap):
    return (snap.get("error") or {}).get("code", snap["status"])


def of_kind(events, *kinds):
    return [e for e in events if e["type"] in kinds]


def sound(events, closes=True, channel="conversation"):
    """The turns of one conversation: in their order, each from the one before, and in the channel as in the log."""
    said = of_kind(events, "conversation.opened", "conversation.exchanged", "conversation.closed")
    by_id = {e["eventId"]: e for e in events}
    turns, before = [], None
    for i, e in enumerate(said):
        p = e["payload"]
        t = p.get("initialTurn") or p.get("turn") or p.get("finalTurn")
        turns.append(t)
        expect(p["conversationId"] == said[0]["payload"]["conversationId"], "one id: %s" % e)
        expect((e["type"] == "conversation.opened") == (i == 0), "opened once: %s" % e)
        expect(i == 0 or p["turnIndex"] == i == t["turnIndex"], "turn %d: %s" % (i, e))
        expect(e["type"] != "conversation.closed" or i == len(said) - 1, "nothing after the close: %s" % e)
        cause = by_id.get(e.get("causationId"))
        expect(cause is before if i else cause is not None and cause["type"] == "node.suspended", "CONV-14: %s" % e)
        before = e
    if closes:
        expect(said and said[-1]["type"] == "conversation.closed", "closed: %s" % [e["type"] for e in events])
    ids = [t["messageId"] for t in turns]
    expect(len(ids) == len(set(ids)), "each turn once: %s" % ids)
    if channel:
        written = [e["payload"]["value"] for e in of_kind(events, "channel.written") if e["payload"]["channel"] == channel]
        expect(written == turns, "CONV-15: %s against %s" % ([w["messageId"] for w in written], ids))
    expect([e["sequence"] for e in events] == list(range(len(events))), "sequences without gaps")
    return turns


def all_at_once(*calls):
    """Their results, in order."""
    got, gate = [None] * len(calls), threading.Barrier(len(calls))

    def one(i):
        gate.wait()
        got[i] = calls[i]()
    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(WAIT_S)
    return got


def a_kill_between_any_two_turns_loses_none(wopr, folder):
    rnd = random.Random(SEED)
    h = host(wopr, folder)
    turns = 5
    runs = [h.talk() for _ in range(3)]
    for i in range(1, turns + 2):
        last = i == turns + 1
        for run in runs:  # the second and the third are in the middle of a turn when the host dies
            h.asked(run, i)
        values = [{"operation": "close", "outcome": {"n": i}, "turn": {"content": "bye", "messageId": "m%d" % i}} if last else turn({"n": i}, messageId="m%d" % i, turnIndex=i) for _ in runs]
        expect(h.say(runs[0], values[0])[0] == 200, "turn %d" % i)

        def late(k):
            try:
                return h.say(runs[k], values[k])[0]
            except OSError:
                return None
        threads = [threading.Thread(target=late, args=(k,)) for k in (1, 2)]
        for t in threads:
            t.start()
            time.sleep(rnd.random() * 0.004)
        h.kill()
        for t in threads:
            t.join(WAIT_S)
        h = host(wopr, folder, h.db)
        for k, run in enumerate(runs):  # each is said again, and is there once
            end = time.monotonic() + WAIT_S
            while True:
                status, got = h.say(run, values[k])
                if status != 409 or time.monotonic() > end:
                    break
                time.sleep(0.01)
            expect(status == 200, "turn %d of run %d again: %d %s" % (i, k, status, got))
    for run in runs:
        snap = h.until(run)
        events = h.events(run)
        got = sound(events)
        expect(snap["status"] == "completed" and [t["content"] for t in got[1:-1]] == [{"n": i} for i in range(1, turns + 1)], "%s: %s" % (snap["status"], got))
        expect(len(of_kind(events, "interrupt.requested")) == turns + 1 == len(of_kind(events, "interrupt.resolved")), "asked once for each turn")
        expect(snap["channels"]["conversation"] == got, "%s" % snap["channels"])
        expect(h.say(run, values[0])[0] == 200 and h.say(run, turn("more"))[0] == 400, "CONV-11, CONV-13 after the end")
        again = h.until(h.fork(run))
        expect(again["status"] == "completed" and json.dumps(again["channels"]) == json.dumps(snap["channels"]), "%s" % again)
    h.end()


def another_host_takes_over(wopr, folder):
    a = host(wopr, folder)
    b = host(wopr, folder, a.db)
    hosts = [a, b]
    run = a.talk({"turnCount": 8})
    for i in range(1, 9):
        if i == 5:
            a.kill()
            hosts = [b]
        h = hosts[i % len(hosts)]
        h.asked(run, i)
        end = time.monotonic() + WAIT_S
        while True:
            status, got = h.say(run, turn("t%d" % i, messageId="m%d" % i, turnIndex=i))
            if status == 200 or time.monotonic() > end:
                break
            time.sleep(0.02)
        expect(status == 200, "turn %d: %d %s" % (i, status, got))
    snap = b.until(run)
    got = sound(b.events(run))
    expect(snap["status"] == "completed" and [t["content"] for t in got[1:9]] == ["t%d" % i for i in range(1, 9)], "%s" % snap)
    b.end()


def of_answers_that_race_for_a_turn_one_has_it(wopr, folder):
    a = host(wopr, folder)
    b = host(wopr, folder, a.db)
    run = a.talk()
    rounds = 25
    for i in range(1, rounds + 1):
        a.asked(run, i)
        calls = [lambda k=k, h=h: h.say(run, turn({"from": k}, turnIndex=i)) for k, h in enumerate((a, b, a, b, a, b))]
        got = all_at_once(*calls)
        won = [k for k, (status, _) in enumerate(got) if status == 200]
        expect(len(won) == 1, "turn %d: %s" % (i, [s for s, _ in got]))
        expect(all(s in (200, 400, 409) for s, _ in got), "turn %d: %s" % (i, got))
    for i in range(rounds + 1, rounds + 11):  # the same turn, said by an impatient sender
        a.asked(run, i)
        got = all_at_once(*[lambda h=h: h.say(run, turn(i, messageId="again%d" % i)) for h in (a, b, a, b)])
        expect([s for s, _ in got] == [200] * 4, "CONV-11, turn %d: %s" % (i, got))
    a.asked(run, rounds + 11)
    expect(a.say(run, CLOSE)[0] == 200, "closed")
    expect(a.until(run)["status"] == "completed", "completed")
    got = sound(a.events(run))
    expect(len(got) == rounds + 12, "%d turns" % len(got))
    b.end()
    a.end()


def a_close_races_with_an_exchange(wopr, folder):
    a = host(wopr, folder)
    b = host(wopr, folder, a.db)
    w = a.define([node("n", "core.conversationGate")])
    seen = set()
    for i in range(30):
        run = a.start(w)
        a.asked(run)
        first, second = (a, b) if i % 2 else (b, a)
        said, shut = all_at_once(lambda: first.say(run, turn("x", messageId="x")), lambda: second.say(run, CLOSE))
        expect(said[0] in (200, 400, 409) and shut[0] in (200, 409), "%s %s" % (said, shut))
        if shut[0] == 409:  # it came between two turns
            a.asked(run)
            expect(a.say(run, CLOSE)[0] == 200, "closed after all")
        snap = a.until(run)
        got = sound(a.events(run))
        expect(snap["status"] == "completed" and len(got) == (3 if said[0] == 200 else 2), "%s: %s" % (said, got))
        seen.add(len(got))
    print("     turns of conversations that were raced: %s" % sorted(seen))
    b.end()
    a.end()


def time_is_over_exactly_at_a_turn(wopr, folder):
    rnd = random.Random(SEED)
    h = host(wopr, folder)
    limit = 700
    w = h.define([node("n", "core.conversationGate", {"timeoutMs": limit})])
    for i in range(24):
        run, began = h.start(w), time.monotonic()
        h.asked(run, 1)
        expect(h.say(run, turn("early"))[0] == 200, "a turn in time")
        h.asked(run, 2)
        time.sleep(max(0.0, began + limit / 1000 + rnd.uniform(-0.02, 0.02) - time.monotonic()))
        status, got = h.say(run, turn("late", messageId="late"))
        snap = h.until(run)
        took = time.monotonic() - began
        events = h.events(run)
        turns = sound(events)
        expect(code(snap) == "conversation_timeout", "%s" % snap)
        expect(status in (200, 400, 409, 410), "%d %s" % (status, got))
        expect((status == 200) == ("late" in [t["messageId"] for t in turns]), "what is acknowledged is there: %d, %s" % (status, turns))
        expect(turns[-1]["role"] == "system" and turns[-1]["content"] == {"reason": "timeout"}, "%s" % turns[-1])
        opened, closed = of_kind(events, "conversation.opened")[0], of_kind(events, "conversation.closed")[0]
        expect(closed["payload"]["outcome"] is None and took < limit / 1000 + 5, "CONV-17 counts from the opening: %.2f s, %s %s" % (took, opened["timestamp"], closed["timestamp"]))
        if i < 3:
            again = h.until(h.fork(run))
            expect(code(again) == "conversation_timeout" and json.dumps(again["channels"]) == json.dumps(snap["channels"]), "%s" % again)
    run = h.start(w)
    h.asked(run, 1)
    h.kill()
    time.sleep(1.2 * limit / 1000)
    h = host(wopr, folder, h.db)
    snap = h.until(run)
    expect(code(snap) == "conversation_timeout", "over while nobody was there: %s" % snap)
    sound(h.events(run))
    h.end()


def a_cancel_closes_what_is_open(wopr, folder):
    h = host(wopr, folder)
    w = h.define([node("n", "core.conversationGate"), node("m", "core.conversationGate", {"lifecycle": "open"})])
    for i in range(12):
        run = h.start(w)
        h.asked(run)
        if i % 3 == 0:
            expect(h.ask("POST", "/v1/runs/%s/cancel" % run, {})[0] in (200, 202), "cancelled")
            said = None
        else:
            said, stop = all_at_once(lambda: h.say(run, turn("x", messageId="x")), lambda: h.ask("POST", "/v1/runs/%s/cancel" % run, {}))
            expect(stop[0] in (200, 202) and said[0] in (200, 400, 409, 410, 422), "%s %s" % (said, stop))
        snap = h.until(run)
        events = h.events(run)
        expect(snap["status"] == "cancelled", "%s" % snap)
        kinds = [e["type"] for e in events]
        closed = [e for e in events if e["type"] == "conversation.closed"]
        expect(len(closed) == 2 and all(e["payload"]["finalTurn"]["content"] == {"reason": "user-cancelled"} for e in closed), "CONV-18: %s" % kinds)
        expect(max(kinds.index("conversation.closed"), 0) < kinds.index("node.cancelled") < kinds.index("run.cancelled") == len(kinds) - 1, "%s" % kinds)
        if said and said[0] == 200:
            expect(any(e["type"] == "interrupt.resolved" for e in events), "what is acknowledged is there: %s" % kinds)
        status, got = h.say(run, turn("late"))
        expect(status in (400, 410), "after a cancel: %d %s" % (status, got))
    h.end()


def large_turns_are_turns_or_refused_and_nothing_between(wopr, folder):
    """Around each bound of a byte count: who gets 200 gets a turn, and no run fails of it."""
    h = host(wopr, folder)
    flows = {"whole": [node("n", "core.conversationGate")], "counted": [node("n", "core.conversationGate", {"turnCount": 1})],
             "steps": [node("o", "core.conversationGate", {"lifecycle": "open"}), node("n", "core.conversationGate", {"lifecycle": "exchange"})]}
    for name, nodes in flows.items():
        w = h.define(nodes, [edge("e", "o", "n")] if name == "steps" else ())
        for size in [1000, 250000, 500000, 523000, 524000, 525000, 700000, 900000, 1040000] + list(range(1047000, 1048700, 200)) + [1048576, 2000000, 5000000]:
            run = h.start(w)
            h.asked(run, 1)
            status, got = h.say(run, turn("x" * size))
            expect(status in (200, 400, 413), "%s, %d bytes: %d %s" % (name, size, status, str(got)[:200]))
            expect(size > 250000 or status == 200, "%s, %d bytes: %d" % (name, size, status))
            if status != 200:
                expect("resumeValue" in json.dumps(got) or status == 413 or "large" in json.dumps(got) or "fit" in json.dumps(got), "says what is wrong: %s" % str(got)[:300])
                snap = h.asked(run, 1)
                expect(snap["status"] == "waiting-approval", "%s, %d bytes: still asks: %s" % (name, size, str(snap.get("error"))[:300]))
                expect(h.say(run, turn("short"))[0] == 200, "and takes another")
            if name == "whole":
                snap = h.asked(run, 2)
                expect(snap["status"] == "waiting-approval" and h.say(run, CLOSE)[0] == 200, "%d bytes: %s" % (size, str(snap.get("error"))[:300]))
            snap = h.until(run)
            expect(snap["status"] == "completed", "%s, %d bytes with %d: %s" % (name, size, status, str(snap.get("error"))[:300]))
    w = h.define(flows["whole"])
    for size in [1000, 500000, 520000, 524000, 530000, 1000000, 1047000, 1048000, 1048576]:
        run = h.start(w)
        h.asked(run, 1)
        status, got = h.say(run, {"operation": "close", "outcome": "x" * size, "turn": {"content": "y" * (size // 2)}})
        expect(status in (200, 400, 413), "%d: %s" % (status, str(got)[:200]))
        if status != 200:
            expect(h.asked(run, 1)["status"] == "waiting-approval" and h.say(run, CLOSE)[0] == 200, "closes with less")
        snap = h.until(run)
        expect(snap["status"] == "completed", "an outcome of %d bytes with %d: %s" % (size, status, str(snap.get("error"))[:300]))
    run = h.start(w)
    h.asked(run, 1)
    for value in ("[" * 5000 + "]" * 5000, '"\\ud800"', '{"a":1,"a":2}', "1e", '{"operation":"exchange","turn":{"content":1,"messageId":"%s"}}' % ("i" * 300)):
        status, got = raw_say(h, run, value)
        expect(status == 400, "%s: %d %s" % (value[:20], status, str(got)[:200]))
    for value in ('"\\u0000"', "1e400", "-0", '"\U0001f30d"', "[[[]]]"):
        n = h.asked(run)["interrupt"]["data"]["turnIndex"]
        expect(raw_say(h, run, value)[0] == 200, value)
        h.asked(run, n + 1)
    expect(h.say(run, CLOSE)[0] == 200, "closed")
    snap = h.until(run)
    again = h.until(h.fork(run))
    expect(json.dumps(again["channels"]) == json.dumps(snap["channels"]), "byte for byte: %s" % again["channels"])
    h.end()


def raw_say(h, run, text):
    return h.ask("POST", "/v1/runs/%s/interrupts/n" % run, '{"resumeValue":%s}' % text)


def turns_go_to_their_channel(wopr, folder):
    h = host(wopr, folder)
    message = {"schema": {"type": "array"}, "reducer": "message"}
    rows = [({}, None, None), ({}, {"a": message}, "a"), ({}, {"a": message, "b": message}, None), ({}, {"a": message, "conversation": message}, "conversation"),
            ({"channel": "b"}, {"a": message, "b": message}, "b"), ({}, {"a": {"reducer": "append", "schema": {"type": "array"}}}, None)]
    for config, channels, want in rows:
        run = h.talk(config, channels=channels)
        h.asked(run, 1)
        h.say(run, turn("x"))
        h.asked(run, 2)
        h.say(run, CLOSE)
        snap = h.until(run)
        expect(snap["status"] == "completed", "%s %s: %s" % (config, channels, snap.get("error")))
        got = sound(h.events(run), channel=want)
        if want:
            expect(snap["channels"][want] == got, "%s" % snap["channels"])
        expect(all(not v for k, v in (snap.get("channels") or {}).items() if k != want), "%s: %s" % (want, snap.get("channels")))
    for channels in ({"conversation": {"reducer": "counter", "schema": {"type": "number"}}}, {"conversation": {"reducer": "merge", "schema": {"type": "object"}}}):
        w = h.define([node("n", "core.conversationGate")], channels=channels)
        if isinstance(w, str):  # what a run cannot do is said at its beginning, or it is done
            run = h.start(w)
            snap = h.asked(run)
            if snap["status"] not in ENDS:
                h.say(run, CLOSE)
                snap = h.until(run)
            expect(code(snap) in ("completed", "validation_error"), "%s: %s" % (channels, snap))
    h.end()


def schemas_that_are_hostile(wopr, folder):
    h = host(wopr, folder)
    for schema in ({"type": 7}, {"$ref": "http://127.0.0.1:1/x"}, {"$ref": "#/nowhere"}, {"pattern": "("}, {"enum": 1}, {"minLength": -1}, 7, []):
        got = h.define([node("n", "core.conversationGate", {"outcomeSchema": schema})])
        if isinstance(got, str):
            snap = h.asked(h.start(got))
            expect(code(snap) in ("validation_error", "interrupt_invalid", "suspend_failed") or "utcomeSchema" in json.dumps(snap.get("error")), "%s: %s" % (schema, snap))
        else:
            expect("outcomeSchema" in json.dumps(got), "%s: %s" % (schema, got))
    slow = [({"type": "string", "pattern": "^(a+)+$"}, "a" * 5000 + "b"), ({"type": "string", "pattern": "(x+x+)+y"}, "x" * 50000),
            ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/a"}}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]}}}, [[[[[[[[[[[[[[[[[[[[[[[[7]]]]]]]]]]]]]]]]]]]]]]]]),
            ({"type": "array", "uniqueItems": True}, [[i] for i in range(20000)] + [[0]])]
    for schema, value in slow:
        run = h.talk({"outcomeSchema": schema})
        h.asked(run, 1)
        began = time.monotonic()
        status, got = h.say(run, turn(value))
        took = time.monotonic() - began
        expect(status == 400 and took < 5, "%s: %d in %.1f s: %s" % (json.dumps(schema)[:60], status, took, str(got)[:200]))
        other = time.monotonic()
        expect(h.ask("GET", "/v1/runs/" + run)[1]["status"] == "waiting-approval" and time.monotonic() - other < 2, "still asks")
        h.ask("POST", "/v1/runs/%s/cancel" % run, {})
    run = h.talk({"outcomeSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}})
    h.asked(run, 1)
    for value in (turn({"n": "canary"}), {"n": "canary"}, turn("canary"), {"operation": "close", "outcome": "canary"}, turn({"n": 1}, turnIndex=7), turn({"n": 1}, role="system"), {"operation": "open"}):
        status, got = h.say(run, value)
        expect(status == 400 and "canary" not in json.dumps(got), "CONV-12: %s: %d %s" % (value, status, got))
    expect(h.say(run, turn({"n": 1}))[0] == 200, "what fits is taken")
    h.asked(run, 2)
    expect(h.say(run, {"operation": "close", "outcome": {"n": 2}})[0] == 200, "closed")
    snap = h.until(run)
    expect(snap["nodeStates"]["n"]["outputs"]["outcome"] == {"n": 2}, "%s" % snap)
    expect(len(sound(h.events(run))) == 3, "no event of what was refused")
    h.end()


def tail(events, run, at):
    """But for ids that each run has of its own."""
    plain = lambda p: json.loads(json.dumps({k: v for k, v in p.items() if k != "interruptId"}).replace(run, "RUN"))
    return [(e["type"], e.get("nodeId"), plain(e["payload"])) for e in events[at:]]


def forks_at_every_event_end_the_same(wopr, folder):
    h = host(wopr, folder)
    runs = {}
    run = h.talk()
    for i in (1, 2):
        h.asked(run, i)
        h.say(run, turn({"n": i}, messageId="m%d" % i))
    h.asked(run, 3)
    h.say(run, {"operation": "close", "outcome": [1]})
    runs["a person closes"] = run
    runs["scripted"] = h.talk({"mockAutoResume": True, "turnCount": 3})
    run = h.start(h.define([node("o", "core.conversationGate", {"lifecycle": "open"}), node("n", "core.conversationGate", {"lifecycle": "exchange"}),
                            node("c", "core.conversationGate", {"lifecycle": "close"})], [edge("e1", "o", "n"), edge("e2", "n", "c")]))
    h.asked(run, 1)
    h.say(run, turn("x"))
    runs["in steps"] = run
    runs["out of time"] = h.talk({"timeoutMs": 30})
    for what, run in runs.items():
        snap = h.until(run)
        events = h.events(run)
        for at in range(len(events)):
            forks = [h.until(h.fork(run, at=at)) for _ in range(2)]
            logs = [h.events(f["runId"]) for f in forks]
            tails = [tail(log, f["runId"], at) for log, f in zip(logs, forks)]
            odd = [pair for pair in zip(*tails) if pair[0] != pair[1]]
            expect(not odd and len(logs[0]) == len(logs[1]), "%s at %d: two forks, two tails: %s" % (what, at, odd[:1]))
            for f, log in zip(forks, logs):
                expect(code(f) == code(snap) and json.dumps(f.get("channels")) == json.dumps(snap.get("channels")), "%s at %d: %s" % (what, at, f))
                expect(not of_kind(log, "replay.diverged"), "%s at %d diverged" % (what, at))
        again = h.until(h.fork(h.until(h.fork(run))["runId"]))  # CHK-19
        expect(json.dumps(again.get("channels")) == json.dumps(snap.get("channels")), "%s: a fork of a fork" % what)
    h.end()


def a_conversation_in_a_loop_begins_anew(wopr, folder):
    h = host(wopr, folder)
    again = {"condition": {"type": "equals", "left": "output.outcome", "right": "again"}}
    w = h.define([node("n", "core.conversationGate"), node("z", "core.noop")],
                 [edge("e1", "n", "n", **again), edge("e2", "n", "z", condition={"type": "equals", "left": "output.outcome", "right": "enough"})], settings={"maxLoopbackIterations": 9})
    if not isinstance(w, str):  # an edge to itself is none of a loop: one node between
        w = h.define([node("n", "core.conversationGate"), node("b", "core.noop"), node("z", "core.noop")],
                     [edge("e1", "n", "b", **again), edge("e3", "b", "n"), edge("e2", "n", "z", condition={"type": "equals", "left": "output.outcome", "right": "enough"})],
                     settings={"maxLoopbackIterations": 9})
    run = h.start(w)
    rounds = 4
    ids = []
    for k in range(rounds):
        for i in (1, 2):
            end = time.monotonic() + WAIT_S
            while time.monotonic() < end:
                snap = h.asked(run, i)
                if snap["status"] in ENDS or snap["interrupt"]["data"]["conversationId"] not in ids or i == 2:
                    break
            ids += [snap["interrupt"]["data"]["conversationId"]] if i == 1 else []
            expect(h.say(run, turn("%d.%d" % (k, i), messageId="m%d" % i, turnIndex=i))[0] == 200, "round %d, turn %d" % (k, i))
            if i == 1 and k == 2:
                h.kill()
                h = host(wopr, folder, h.db)
        h.asked(run, 3)
        expect(h.say(run, {"operation": "close", "outcome": "again" if k < rounds - 1 else "enough"})[0] == 200, "round %d closes" % k)
    snap = h.until(run)
    events = h.events(run)
    expect(snap["status"] == "completed" and len(set(ids)) == rounds, "CONV-4: %s, %s" % (ids, snap.get("error")))
    for one in ids:
        said = [e for e in of_kind(events, "conversation.opened", "conversation.exchanged", "conversation.closed") if e["payload"]["conversationId"] == one]
        expect([e["type"] for e in said] == ["conversation.opened", "conversation.exchanged", "conversation.exchanged", "conversation.closed"], "%s" % said)
    for at in range(0, len(events), 5):
        again = h.until(h.fork(run, at=at))
        expect(again["status"] == "completed" and json.dumps(again["channels"]) == json.dumps(snap["channels"]), "at %d: %s" % (at, again))
    h.end()


def a_conversation_of_a_child(wopr, folder):
    h = host(wopr, folder)
    child = h.define([node("n", "core.conversationGate")])
    parent = h.define([node("s", "core.subWorkflow", {"workflowId": child}), node("z", "core.noop")], [edge("e", "s", "z")], channels=None)

    def child_of(run):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            _, snap = h.ask("GET", "/v1/runs/" + run)
            if snap.get("childRuns"):
                return snap["childRuns"][0]["runId"]
            time.sleep(0.01)
        raise RuntimeError("no child: %s" % snap)

    for k in range(3):
        run = h.start(parent)
        kid = child_of(run)
        h.asked(kid, 1)
        if k == 1:
            h.kill()
            h = host(wopr, folder, h.db)
        expect(h.until(run, "waiting-approval")["status"] == "waiting-approval", "NODE-71: the parent waits as its child")
        expect(h.say(kid, turn("x", messageId="x"))[0] == 200, "a turn of the child")
        h.asked(kid, 2)
        if k == 2:
            h.ask("POST", "/v1/runs/%s/cancel" % run, {})
            expect(h.until(run)["status"] == "cancelled" == h.until(kid)["status"], "both are cancelled")
            got = sound(h.events(kid))
            expect(got[-1]["content"] == {"reason": "user-cancelled"}, "CONV-18: %s" % got[-1])
            continue
        expect(h.say(kid, {"operation": "close", "outcome": 7})[0] == 200, "closed")
        snap = h.until(run)
        sound(h.events(kid))
        expect(snap["status"] == "completed" and snap["nodeStates"]["s"]["outputs"]["childOutputs"]["n"]["outcome"] == 7, "%s" % snap)
        n = len(h.ask("GET", "/v1/runs/" + run)[1]["childRuns"])
        again = h.until(h.fork(run))
        expect(again["status"] == "completed" and n == 1, "%s" % again)
    h.end()


def what_is_sensitive_is_in_no_event(wopr, folder):
    """OBS-71, CHAN-24: where a port that has what was said is sensitive, or the channel of the turns, nothing shows it: no event, no snapshot, no
    file, in the run and in its replays, which say the same; also after a kill."""
    h = host(wopr, folder)
    plain, open_part = "correct-horse-battery-staple", "as anybody may see"
    hidden = {"conversation": {"schema": {"type": "array"}, "reducer": "message", "sensitive": True}}
    step = [node("o", "core.conversationGate", {"lifecycle": "open"}), node("n", "core.conversationGate", {"lifecycle": "exchange"}, outputSensitivity={"content": True, "turn": True})]
    rows = [([node("n", "core.conversationGate", {"turnCount": 2}, outputSensitivity={"outcome": True})], [], TALK), ([node("n", "core.conversationGate", outputSensitivity={"content": True, "outcome": True})], [], TALK),
            ([node("n", "core.conversationGate", outputSensitivity={"turn": True})], [], None), ([node("n", "core.conversationGate")], [], hidden), (step, [edge("e", "o", "n")], TALK)]
    for mode in ("mask", "hash", "omit"):
        for nodes, edges, channels in rows:
            w = h.define(nodes, edges, channels, metadata={"complianceConfig": {"maskingMode": mode}})
            run = h.start(w)
            h.asked(run, 1)
            expect(h.say(run, turn({"pin": plain, "n": 1}, messageId="first-" + open_part))[0] == 200, "said")
            if len(nodes) == 1:
                h.asked(run, 2)
                h.kill()
                h = host(wopr, folder, h.db)
                expect(h.say(run, turn(plain, messageId="first-" + open_part, turnIndex=1))[0] == 200, "CONV-11 holds for what is masked")
                expect(h.say(run, turn(plain))[0] == 200, "said")
                if "turnCount" not in nodes[0]["config"]:
                    h.asked(run, 3)
                    expect(h.say(run, {"operation": "close", "outcome": {"a": plain}, "turn": {"content": plain}})[0] == 200, "closed")
            snap = h.until(run)
            events = h.events(run)
            what = "%s %s %s" % (mode, [n.get("outputSensitivity") for n in nodes], channels is hidden)
            expect(snap["status"] == "completed" and "first-" + open_part in json.dumps(events), "%s: %s" % (what, snap.get("error")))
            again = h.until(h.fork(run))
            log = h.events(again["runId"])
            odd = of_kind(log, "replay.diverged")
            expect(again["status"] == "completed" and not odd, "%s: a replay: %s %s" % (what, again.get("error"), odd[:1]))
            for text, where in ((events, "events"), (snap, "snapshot"), (log, "events of the replay"), (again, "snapshot of the replay"), (h.ask("GET", "/v1/runs/%s/debug-bundle" % run)[1], "bundle")):
                expect(plain not in json.dumps(text), "%s: in the %s: %s" % (what, where, [e["type"] for e in text if plain in json.dumps(e)] if isinstance(text, list) else ""))
            if channels is not hidden and channels:
                got = sound(events, closes=len(nodes) == 1) if len(nodes) == 1 else []
                expect(len(got) in (0, 4), "%s: %s" % (what, got))
    log = h.text()
    h.end()
    expect(plain not in log, "in the log of the host")
    for name in os.listdir(h.db):
        with open(os.path.join(h.db, name), "rb") as f:
            expect(plain.encode() not in f.read(), "in " + name)


def ids_of_conversations_are_no_keys_of_others(wopr, folder):
    """A conversation's id looks like the key of its first question: another node may ask by it, and gets no answer of it."""
    h = host(wopr, folder)
    w = h.define([node("n", "core.conversationGate", {"turnCount": 1}),
                  node("k", "core.interrupt", {"kind": "custom", "data": {"customKind": "x"}}, inputs={"key": {"type": "connection", "nodeId": "n", "outputKey": "conversationId"}})],
                 [edge("e", "n", "k")])
    run = h.start(w)
    h.asked(run, 1)
    expect(h.say(run, "said")[0] == 200, "said")
    snap = h.until(run, "waiting-input", *ENDS)
    expect(code(snap) == "interrupt_key_in_use", "INT-2: %s" % snap)
    expect(h.p.poll() is None, "the host is there")
    h.end()


def a_host_without_conversations_has_none(wopr, folder):
    """CONV-2, DISP-3, DISP-7."""
    lead = node("s", "core.orchestrator.supervisor", {"mockDecisions": [{"kind": "ask-user", "prompt": "Which?"}, {"kind": "terminate"}]}, agent={"agentId": "core.test.lead"})
    edges = [edge("e1", "s", "d"), edge("e2", "d", "s")]
    h = TalkHost(wopr, folder, ["--conformance-types"], {})
    flows = [h.define([lead, node("d", "core.dispatch", config)], edges) for config in ({"askUserRouting": "conversation"}, {}, {"askUserRouting": "clarification"})]
    gate = h.define([node("n", "core.conversationGate")])
    for w, status in zip(flows, ("waiting-approval", "waiting-approval", "waiting-input")):
        run = h.start(w)
        snap = h.until(run, "waiting-approval", "waiting-input", *ENDS)
        expect(snap["status"] == status, "DISP-7: %s" % snap)
        expect(h.say(run, {"answers": {"answer": "blue"}} if status == "waiting-input" else "blue", at="d")[0] == 200, "answered")
        snap = h.until(run)
        done = [e["payload"]["outputs"] for e in of_kind(h.events(run), "node.completed") if e["nodeId"] == "d"]
        expect(snap["status"] == "completed" and done[0]["answer"] == "blue", "%s: %s" % (snap, done))
        if status == "waiting-approval":
            got = sound(h.events(run))
            expect([t["content"] for t in got[:2]] == ["Which?", "blue"] and got[0]["from"] == "core.test.lead", "%s" % got)
            by_id = {e["eventId"]: e for e in h.events(run)}
            causes = {e["type"]: (by_id.get(e.get("causationId")) or {}).get("type") for e in by_id.values() if e.get("nodeId") == "d"}
            expect(causes["interrupt.requested"] == causes["node.completed"] == "runOrchestrator.decided", "DISP-10: %s" % causes)
        again = h.until(h.fork(run))
        expect(again["status"] == "completed" and not of_kind(h.events(again["runId"]), "replay.diverged"), "%s" % again)
    routings = h.ask("GET", "/.well-known/openwop")[1]["dispatch"]["askUserRoutings"]
    expect(routings == ["conversation", "clarification", "auto"], "%s" % routings)
    h.end()
    h = TalkHost(wopr, folder, ["--conformance-types", "--conversations=false"], {}, h.db)
    doc = h.ask("GET", "/.well-known/openwop")[1]
    expect(doc["dispatch"]["askUserRoutings"] == ["clarification", "auto"] and not doc.get("conversationPrimitive"), "%s" % doc.get("dispatch"))
    for w in (gate, flows[0]):
        status, got = h.ask("POST", "/v1/runs", {"workflowId": w})
        expect(status == 400 and got["error"] == "validation_error", "CONV-2: %d %s" % (status, got))
    expect(not isinstance(h.define([lead, node("d", "core.dispatch", {"askUserRouting": "conversation"})], edges), str), "DISP-3")
    run = h.start(flows[1])
    expect(h.until(run, "waiting-input", "waiting-approval", *ENDS)["status"] == "waiting-input", "auto asks otherwise")
    h.end()
    h = TalkHost(wopr, folder, ["--conformance-types"], {}, h.db)  # and goes on as it began
    expect(h.say(run, {"answers": {"answer": "red"}}, at="d")[0] == 200, "answered")
    snap = h.until(run)
    expect(snap["status"] == "completed" and not of_kind(h.events(run), "conversation.opened"), "%s" % snap)
    h.end()


def many_turns_cost_what_few_do(wopr, folder):
    h = host(wopr, folder)
    run = h.talk()
    turns, blocks, took = 2000, 8, []
    h.asked(run, 1)
    began = time.monotonic()
    for i in range(1, turns + 1):
        end = time.monotonic() + WAIT_S
        while True:
            status, got = h.say(run, turn("turn %d" % i, messageId="m%d" % i, turnIndex=i))
            if status == 200 or time.monotonic() > end:
                break
            time.sleep(0.001)  # the question for it is not there yet
        if status != 200:
            expect(False, "turn %d: %d %s" % (i, status, got))
            break
        if i % (turns // blocks) == 0:
            took.append(time.monotonic() - began)
            began = time.monotonic()
    h.asked(run, turns + 1)
    expect(h.say(run, CLOSE)[0] == 200, "closed")
    snap = h.until(run, seconds=120)
    expect(snap["status"] == "completed" and len(snap["channels"]["conversation"]) == turns + 2, "%s" % snap["status"])
    print("     seconds for each %d turns: %s" % (turns // blocks, ["%.2f" % t for t in took]))
    first, last = sum(took[:2]), sum(took[-2:])
    expect(last < 2 * first + 1, "the last turns took %.1f s, the first %.1f s" % (last, first))
    began = time.monotonic()
    again = h.until(h.fork(run), seconds=300)
    print("     a replay of them: %.2f s" % (time.monotonic() - began))
    expect(json.dumps(again["channels"]) == json.dumps(snap["channels"]), "the replay says the same")
    h.end()


TESTS = [a_kill_between_any_two_turns_loses_none, another_host_takes_over, of_answers_that_race_for_a_turn_one_has_it, a_close_races_with_an_exchange,
         time_is_over_exactly_at_a_turn, a_cancel_closes_what_is_open, large_turns_are_turns_or_refused_and_nothing_between, turns_go_to_their_channel,
         schemas_that_are_hostile, forks_at_every_event_end_the_same, a_conversation_in_a_loop_begins_anew, a_conversation_of_a_child, what_is_sensitive_is_in_no_event,
         ids_of_conversations_are_no_keys_of_others, a_host_without_conversations_has_none, many_turns_cost_what_few_do]


if __name__ == "__main__":
    sys.exit(play("conversations", TESTS))
