#!/usr/bin/env python3
"""
outside.py: WorkSpec documents at the real program, by commands and over HTTP, beside a model that was written from docs/contract/50-workspec.md
alone (model_*.py): what is found, planned, run, forked, answered and killed.
usage: outside.py WOPR [NAME...]    (names of the functions below; default all)
WOPR_WORKSPEC_DOCUMENTS: so many documents of a kind (60 unless set); WOPR_WORKSPEC_SEED: where chance begins; WOPR_WORKSPEC_COMMANDS: of so
many documents one meets the commands as well (12 unless set).
"""
import collections
import http.client
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
import xml.dom.minidom

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "outside"))
import documents  # noqa: E402
from model_play import Obj, execute, node_id, plan, steps  # noqa: E402
from model_rules import Check  # noqa: E402
from model_times import ABSENT, is_number, member, same, trim  # noqa: E402
from run import WAIT_S, Host, expect, play  # noqa: E402

EVERY = int(os.environ.get("WOPR_TEST_EVERY", "1"))
DOCUMENTS = max(10, int(os.environ.get("WOPR_WORKSPEC_DOCUMENTS", "60")) // EVERY)
SEED = int(os.environ.get("WOPR_WORKSPEC_SEED", "1"))
COMMANDS = int(os.environ.get("WOPR_WORKSPEC_COMMANDS", "12"))
ENDS = ("completed", "failed", "cancelled")
YAML = {"Content-Type": "application/yaml"}
PROBLEM = ["type", "title", "severity", "detail", "instance", "metric_id", "context", "suggestions"]  # WS-22
RECOVERY = ("lease.lost", "lease.acquired", "workflow.restored", "run.resumed")  # what a kill adds to a log


class Desk(Host):
    def __init__(self, wopr, folder, *args, db=None):
        super().__init__(wopr, folder, ["--large-body-rate", "0", "--max-body-bytes", "9000000", *args], {}, db)

    def put(self, name, document):
        status, got = self.ask("PUT", "/v1/workspec/documents/" + name, document)
        expect(status in (200, 201), "%s is stored: %d %.600s" % (name, status, got))

    def start(self, name, **configurable):
        return self.must("POST", "/v1/runs", {"workflowId": name, "configurable": {"workspec." + k: v for k, v in configurable.items()}})["runId"]

    def until(self, run, *statuses):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            _, snap = self.ask("GET", "/v1/runs/" + run)
            if snap.get("status") in (statuses or ENDS):
                return snap
            time.sleep(0.005)
        raise RuntimeError("no end: %s" % snap)

    def events(self, run):
        out, after = [], "?timeout=1"
        while True:
            _, got = self.ask("GET", "/v1/runs/%s/events/poll%s" % (run, after))
            out += got["events"]
            if got["isComplete"] or not got["events"]:
                return out
            after = "?timeout=1&lastSequence=%d" % out[-1]["sequence"]

    def world(self, run):
        _, got = self.ask("GET", "/v1/runs/%s/artifacts/world-final" % run)
        return [{**o, "properties": o.get("properties", {})} for o in got["body"]["world"]["objects"]]

    def waiting(self, run):
        _, got = self.ask("GET", "/v1/host/wopr/interrupts?runId=" + run)
        return [i["nodeId"] for i in got["interrupts"]]

    def answer(self, run, node, action="accept"):
        return self.ask("POST", "/v1/runs/%s/interrupts/%s" % (run, node), {"resumeValue": {"action": action}})[0]

    def fork(self, run, mode, seq):
        status, got = self.ask("POST", "/v1/runs/%s:fork" % run, {"mode": mode, "fromSeq": seq})
        expect(status == 201, "a fork: %d %s" % (status, got))
        return got["runId"]


def command(wopr, text, *args):
    p = subprocess.run([wopr, "workspec", *args], input=text if isinstance(text, bytes) else text.encode(), capture_output=True, timeout=WAIT_S)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def base(objects=(), tasks=(), **config):
    """BASE of 7.1, without its layout: a and m are equipment, so that nobody is asked."""
    thing = {"type": "equipment", "properties": {"state": "free"}}
    return {"simulation": {
        "schema_version": "2.0", "meta": {"title": "Base", "description": "Vector base", "domain": "Demo"},
        "config": {"time_unit": "minutes", "start_time": "07:00", "end_time": "19:00", "currency": "EUR", "locale": "en-IE", **config},
        "world": {"objects": [{"id": "a", "name": "Ada", **thing}, {"id": "b", "type": "actor", "name": "Bob", "properties": {"state": "free"}},
                              {"id": "m", "name": "Mill", **thing}, {"id": "p", "type": "product", "name": "Part", "properties": {"quantity": 0}},
                              *objects]},
        "process": {"tasks": [{"actor_id": "a", "start": "09:00", "duration": 30, **t} for t in tasks]}}}


def change(target, **changes):
    return {"target_id": target, "property_changes": changes}


def minutes(n):
    """Tasks of a minute, one after the other."""
    return [{"id": "t%d" % i, "start": {"day": 1 + i // 1440, "time": "%02d:%02d" % (i // 60 % 24, i % 60)}, "duration": 1} for i in range(n)]


def spread(r, good=False):
    """A document by chance, with up to four faults; or without any, and what the model says of it."""
    while True:
        d = documents.doc(r)
        if not good:
            for _ in range(r.choice([0, 0, 1, 1, 1, 2, 4])):
                documents.plant(r, d)
            return d
        for _ in range(30):
            v = Check(d)
            v.run()
            if v.ok():
                return d, v
            for p in v.p:
                if p["code"] == "H17":  # what cannot be played is taken out
                    t = d["simulation"]["process"]["tasks"][int(p["instance"].split("/")[4])]
                    j = re.search(r"/interactions/(\d+)", p["instance"])
                    if j and len(t.get("interactions", [])) > int(j[1]):
                        del t["interactions"][int(j[1])]
                    else:
                        t.pop("interactions", None)


def close(a, b):
    """Sums of money may be added in another order."""
    return same(a, b) or is_number(a) and is_number(b) and abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def difference(want, got):
    """What the model finds and the program does not, or the other way round."""
    kinds = [[(p["metric_id"], p["severity"], p["instance"]) for p in side] for side in (want, got)]
    if sorted(kinds[0]) != sorted(kinds[1]) or [k for k in kinds[0] if "invalid_field" not in k[0]] != [k for k in kinds[1] if "invalid_field" not in k[0]]:
        return "the model: %s; the program: %s" % tuple([k for k in kinds[i] if k not in kinds[1 - i]] or kinds[i] for i in (0, 1))
    pairs = [[p for p in side if p["metric_id"] != "schema.integrity.invalid_field"] for side in (want, got)]
    for a, b in zip(*pairs):
        told = {k: v for k, v in a["context"].items() if not (a["code"] == "H17" and v is None)}
        for k, v in told.items():
            if not close(v, b["context"].get(k, ABSENT)):
                return "%s of %s: %r and %r" % (k, a["instance"], v, b["context"].get(k, ABSENT))
    for b in got:
        if list(b) != PROBLEM or not b["suggestions"] or not b["type"].endswith("/" + b["metric_id"]) or "{" in "".join(b["suggestions"][1:]):
            return "the shape of %s" % b
    return None


def left_open(v):
    """Where the contract leaves open what the model says: ids that occur twice (2.4), interactions without a target, a vendor's member (WS-100)."""
    ids = [trim(member(t, "id")) for t in getattr(v, "tasks", [])]
    text = json.dumps(v.doc)
    return len(set(ids)) != len(ids) or '"x_openwop"' in text or any(p["code"] in ("R47", "H22", "R28", "R45") for p in v.p)


def placeless(problems):
    """A detail ends with line and column, which two spellings do not share."""
    return [{**p, "detail": re.sub(r" \(line \d+, column \d+\)", "", p["detail"])} for p in problems]


def documents_have_the_problems_and_the_plan_of_the_model(wopr, folder):
    h = Desk(wopr, folder)
    good = 0
    for seed in range(SEED, SEED + 4 * DOCUMENTS):
        r = random.Random(seed)
        d = spread(r, True)[0] if seed % 3 == 0 else spread(r)
        js, ym = json.dumps(d, ensure_ascii=r.random() < .5, indent=r.choice([None, 1])), documents.yaml(d, r)
        found = {}
        for profile in ("reference", "host"):
            v = Check(d, profile)
            v.run()
            status, got = h.ask("POST", "/v1/workspec/validate?profile=" + profile, js)
            expect(status == 200 and got["ok"] == v.ok(), "%d %s: ok is %s: %.300s" % (seed, profile, v.ok(), got))
            what = None if left_open(v) else difference(v.p, got["problems"])
            expect(what is None, "%d %s: %s" % (seed, profile, what))
            found[profile] = got
        spelled = h.ask("POST", "/v1/workspec/validate", ym, **YAML)
        expect(spelled[0] == 200 and placeless(spelled[1]["problems"]) == placeless(found["host"]["problems"]), "%d as YAML: %.600s" % (seed, spelled))
        status, planned = h.ask("POST", "/v1/workspec/plan", js)
        expect((status == 200) == v.ok(), "%d is planned when it is good: %d" % (seed, status))
        if status == 200:
            good += 1
            digest = planned.pop("planSha256")
            also = h.ask("POST", "/v1/workspec/plan", ym, **YAML)[1]
            expect(also["planSha256"] == digest and planned["documentSha256"] != also["documentSha256"], "%d: one plan of two spellings" % seed)
            del planned["documentSha256"]
            expect(same(plan(v), planned), "%d: the plan %s; the model: %s" % (seed, planned, plan(v)))
        if seed % COMMANDS == 0:
            commands_say_the_same(wopr, folder, js, found["host"], digest if status == 200 else None)
    expect(good > DOCUMENTS, "many are good: %d" % good)
    h.end()


def commands_say_the_same(wopr, folder, js, found, digest):
    rc, out, err = command(wopr, js, "validate", "-", "--json")
    expect(json.loads(out) == found["problems"] and rc == (0 if found["ok"] else 1) and not err, "the command: %d %.300s %s" % (rc, out, err))
    rc, out, _ = command(wopr, js, "plan", "-", "--json")
    expect(rc == 0 and json.loads(out)["planSha256"] == digest if digest else rc == 1, "the plan of the command: %d" % rc)
    rc, out, _ = command(wopr, js, "plan", "-", "--svg")
    expect(rc == 1 or xml.dom.minidom.parseString(out) is not None, "the picture is XML")


def texts_of(out):
    """The JSON texts of an output, one after the other."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while out[at:].strip():
        at += len(out[at:]) - len(out[at:].lstrip())
        one, at = decoder.raw_decode(out, at)
        found.append(one)
    return found


def commands_and_requests_find_the_same(wopr, folder):
    """As the test before, of the verdict alone, a hundred documents a command; WOPR_WORKSPEC_DOCUMENTS=2500 makes ten thousand of them."""
    h = Desk(wopr, folder)
    bad = 0
    for first in range(SEED, SEED + 4 * DOCUMENTS, 100):
        paths, found = [], []
        for seed in range(first, min(first + 100, SEED + 4 * DOCUMENTS)):
            r = random.Random("both %d" % seed)
            paths.append(os.path.join(folder, "d%d.json" % (seed - first)))
            with open(paths[-1], "w", encoding="utf-8") as f:
                json.dump(spread(r), f, ensure_ascii=r.random() < .5, indent=r.choice([None, 1]))
            with open(paths[-1], "rb") as f:
                status, got = h.ask("POST", "/v1/workspec/validate", f.read())
            expect(status == 200, "%d: %d %.300s" % (seed, status, got))
            found.append(got["problems"])
            bad += not got["ok"]
        p = subprocess.run([wopr, "workspec", "validate", *paths, "--json"], capture_output=True, timeout=WAIT_S, check=False)
        said = texts_of(p.stdout.decode())
        differ = [first + i for i, (a, b) in enumerate(zip(said, found)) if a != b]
        expect(len(said) == len(found) and not differ, "%d of %d texts, these differ: %s" % (len(said), len(found), differ))
    expect(DOCUMENTS < bad < 4 * DOCUMENTS, "%d have problems" % bad)
    h.end()


ZONES = ["UTC", "Z", "Etc/UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe", "America/St_Johns",
         "Europe/Dublin", "Nowhere/X", "../../etc/passwd", "/etc/localtime", "localtime", "", "utc", "Europe/Berlin "]
DAYS = ["2026-03-29", "2026-10-25", "2026-11-01", "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2100-02-28", "0000-01-01", "1950-01-02",
        "2011-12-30", "2038-07-01", "2040-03-25", "2096-10-28", "2437-12-31", "1970-01-01", "1969-12-31", "2026-12-31", "2026-01-31", "2026-00-10", "2026-13-01", "2026-04-31", "2026-01-00", "1982-10-10"]
CLOCKS = ["00:00", "02:30", "23:59:59", "23:59:59.999999999", "00:00:00.0009", "03:00", "23:59:60", "24:00"]
OFFSETS = ["Z", "z", "", "+00:00", "-00:00", "+14:00", "-12:00", "+05:45", "+23:59", "-23:59", "+24:00", "+02", "+0200"]
LENGTHS = ["1M", "P1M", "P1Y", "13M", "P1Y2M3DT4H5M6S", "1200M", "1201M", "P100Y", "P99Y12M", "36525d", "36526d", "876600h", "876601h", "5218w", "PT0.5S",
           "0.5s", "0.0005s", "0.0004s", "1.0005s", "2.4995s", "1e3s", "00001m", "99999999999999999999s", "P99999999999999999999Y", "P0Y0M1D", "P0M", "P1W2D",
           "p1y", "P1YT", "PT1M1H", "1.50h", ".5h", "5.h", "0M", "1.0M", "1.5M", 30, 1, 1e9, 5.0, 1e308, "9007199254740993s", "P1W1W", True, None, [], -1, 0]


def dates_zones_and_durations_are_those_of_the_model(wopr, folder):
    h = Desk(wopr, folder)
    r = random.Random(SEED)
    planned = 0
    for k in range(6 * DOCUMENTS):
        tasks = []
        for i in range(r.randint(1, 3)):
            date = r.choice(DAYS) + r.choice("TTTt") + r.choice(CLOCKS[:6] if r.random() < .8 else CLOCKS) + r.choice(OFFSETS[:9] if r.random() < .8 else OFFSETS)
            start = date if r.random() < .7 else r.choice(["09:00", {"day": 2, "time": "03:00"}, {"day": 36525, "time": "23:59:59"},
                                                           {"day": 36526, "time": "00:00"}, {"day": 1.0, "time": "00:00"}, {"day": 1e300, "time": "00:00"}])
            tasks.append({"id": "t%d" % i, "actor_id": "abm"[i], "start": start, "duration": r.choice(LENGTHS)})
        config = {"timezone": r.choice(ZONES)} if r.random() < .8 else {}
        if r.random() < .4:
            config["start_time"] = r.choice(DAYS) + "T" + r.choice(CLOCKS) + r.choice(OFFSETS[:9])
        d = base((), tasks, **config)
        v = Check(d)
        try:
            v.run()
            want = plan(v) if v.ok() else None
        except (OverflowError, ValueError):  # a day before the first of the calendar, which Python does not know
            continue
        status, got = h.ask("POST", "/v1/workspec/plan", d)
        if status == 200:
            planned += 1
            expect(want and same(want, {m: x for m, x in got.items() if not m.endswith("Sha256")}), "%s: %s; the model: %s" % (d["simulation"], got, want))
        else:
            found = [(p["metric_id"], p["instance"], p["context"].get("reason")) for p in got["details"]["problems"]]
            expect(found == [(p["metric_id"], p["instance"], p["context"].get("reason")) for p in v.p], "%s: %s; the model: %s" % (d["simulation"], found, v.p))
    expect(planned > DOCUMENTS // 3, "some are planned: %d" % planned)
    for zone in ZONES[3:10]:  # later than the lists of the zones' files reach (WS-146)
        for date in ("2038-01-15", "2038-07-01", "2040-03-25", "2096-10-28", "2437-07-31", "9998-08-01"):
            d = base((), [{"id": "t", "start": date + "T12:00:00Z"}, {"id": "u", "actor_id": "m", "start": date + "T12:00"}], timezone=zone)
            v = Check(d)
            v.run()
            status, got = h.ask("POST", "/v1/workspec/plan", d)
            expect(status == 200 and same(plan(v), {m: x for m, x in got.items() if not m.endswith("Sha256")}), "%s %s: %d %s; the model: %s"
                   % (zone, date, status, got, plan(v)))
    h.end()


def changes(events):
    return [(e["nodeId"], e["payload"]["name"], e["payload"].get("previous", ABSENT), e["payload"].get("next", ABSENT), e["payload"]["workspec"]["cause"])
            for e in events if e["type"] == "variable.changed"]


def told(events):
    """A log without ids and times."""
    return [(e["type"], e.get("nodeId"), {k: x for k, x in e["payload"].items() if k not in ("durationMs",) or e["type"].startswith("node.")})
            for e in events if e["type"] not in RECOVERY]


def runs_and_their_forks_come_to_the_world_of_the_model(wopr, folder):
    h = Desk(wopr, folder, "--max-node-executions", "1000", "--sync", "off")
    forks = 0
    for seed in range(SEED, SEED + DOCUMENTS // 2):
        r = random.Random(seed)
        d, v = spread(r, True)
        if not v.tasks:
            continue
        x = execute(v)
        want = [o.shape() for o in x.o.values() if o.alive]
        h.put("d%d" % seed, d)
        runs = [h.start("d%d" % seed) for _ in range(2)]
        snaps = [h.until(run) for run in runs]
        logs = [h.events(run) for run in runs]
        expect(all(s["status"] == "completed" for s in snaps), "%d: both end well: %s" % (seed, [s.get("error") for s in snaps]))
        expect(told(logs[0]) == told(logs[1]), "%d: two runs have one log" % seed)
        expect([e["sequence"] for e in logs[0]] == list(range(len(logs[0]))), "%d: no event is missing" % seed)
        order = [(e["type"], e["nodeId"]) for e in logs[0] if e["type"] in ("node.started", "node.completed")]
        expect(order == [("node.started" if k else "node.completed", node_id(trim(v.tasks[i]["id"]))) for _, k, i in steps(v)], "%d: the order of WS-64" % seed)
        mine = [list(c) for c in x.log]
        expect(same([list(c) for c in changes(logs[0])], mine), "%d: the changes %s; the model: %s" % (seed, changes(logs[0]), mine))
        expect(same(snaps[0]["variables"], fold(v, x.log)), "%d: the variables %s; the model: %s" % (seed, snaps[0]["variables"], fold(v, x.log)))
        expect(same(h.world(runs[0]), want), "%d: the world %s; the model: %s" % (seed, h.world(runs[0]), want))
        source = runs[0]
        for seq in r.sample(range(len(logs[0])), min(3, len(logs[0]))):
            forks += 1
            run = h.fork(source, r.choice(["replay", "branch"]), seq)
            snap = h.until(run)
            expect(snap["status"] == "completed" and same(snap["variables"], snaps[0]["variables"]), "%d from %d: %s" % (seed, seq, snap))
            expect(same(h.world(run), want), "%d from %d: the same world" % (seed, seq))
            if len(h.events(run)) > seq:
                source = r.choice([run, runs[0]])  # forks of forks
    expect(forks > DOCUMENTS // 2, "forks: %d" % forks)
    h.end()


def fold(v, log):
    """The variables that a client has after a log (WS-104, WS-105)."""
    m = {}
    for o in v.objects:
        m.update(Obj(o).vars())
    for _, name, _, after, _ in log:
        if "." not in name and after is None:
            m = {k: x for k, x in m.items() if not k.startswith(name + ".")}
        if after is ABSENT:
            m.pop(name, None)
        else:
            m[name] = after
    return m


def people_answer_in_any_order_and_replays_repeat_it(wopr, folder):
    h = Desk(wopr, folder, "--max-node-executions", "1000", "--sync", "off")
    asked = rejected = 0
    for seed in range(SEED, SEED + DOCUMENTS // 2):
        r = random.Random(seed)
        d, v = spread(r, True)
        x = execute(v)
        h.put("d%d" % seed, d)
        if not v.tasks:
            continue
        run, no = h.start("d%d" % seed, humanTasks="approval"), r.choice([0, 0, 0, 1, 2])
        while h.until(run, "waiting-approval", *ENDS)["status"] not in ENDS:
            nodes = h.waiting(run)
            r.shuffle(nodes)
            for node in nodes[:r.randint(1, 3)]:
                asked, no = asked + 1, no - 1
                status = h.answer(run, node, "reject" if no == 0 else "accept")
                expect(status in ((200, 404, 409, 422) if no < 0 else (200,)), "%d: an answer: %d" % (seed, status))
                again = h.answer(run, node)
                expect(again in (404, 409, 422), "%d: a second answer is refused: %d" % (seed, again))
        snap, log = h.until(run), h.events(run)
        if snap["status"] == "completed":
            expect(same(h.world(run), [o.shape() for o in x.o.values() if o.alive]), "%d: how late people are does not matter (WS-118)" % seed)
        else:
            rejected += 1
            expect(snap["error"]["code"] == "approval_rejected", "%d: only a person ends it: %s" % (seed, snap["error"]))
        replay = h.fork(run, "replay", 0)
        expect(h.until(replay)["status"] == snap["status"], "%d: a replay ends as its source" % seed)
        names = [[(e["type"], e.get("nodeId")) for e in l if e["type"] != "log.appended"] for l in (log, h.events(replay))]
        expect(names[0] == names[1], "%d: event for event (WS-120): %s" % (seed, [p for p in zip(*names) if p[0] != p[1]][:3]))
    expect(asked > 0 and (EVERY > 1 or asked >= DOCUMENTS // 4 and rejected > 0), "%d answers, %d runs rejected" % (asked, rejected))
    h.end()


def meddle(h, run, r):
    """One of what people do to a run."""
    a = r.random()
    if a < .15:
        h.ask("POST", "/v1/runs/%s:pause" % run, {})
    elif a < .5:
        h.ask("POST", "/v1/runs/%s:resume" % run, {})
    elif a < .52:
        h.ask("POST", "/v1/runs/%s/cancel" % run, {})
    else:
        for i in h.ask("GET", "/v1/host/wopr/interrupts?runId=" + run)[1]["interrupts"]:
            value = {"action": r.choice(["accept"] * 5 + ["reject"])} if i["kind"] != "clarification" else {"answers": {"q": r.choice(["x", 1, None])}}
            status, got = h.ask("POST", "/v1/runs/%s/interrupts/%s" % (run, i["nodeId"]), {"resumeValue": value})
            expect(status < 500, "an answer: %d %s" % (status, got))


def whatever_people_do_while_tasks_run_is_replayed(wopr, folder):
    """Both clocks; runs are paused, answered in time or not, rejected, cancelled: a replay of each ends as it did, event for event."""
    h = Desk(wopr, folder, "--max-node-executions", "1000", "--sync", "off")
    pauses, ends = ("run.paused", "run.resumed", "node.suspended", "node.resumed", "log.appended"), collections.Counter()
    for seed in range(SEED, SEED + DOCUMENTS):
        r = random.Random(seed)
        d, v = spread(r, True)
        if not v.tasks:
            continue
        for t in d["simulation"]["process"]["tasks"]:
            if r.random() < .3:
                t["x_openwop"] = {"interrupt": r.choice(["none", "approval", "clarification"]), "questions": [{"id": "q", "question": "?"}],
                                  **({"timeoutMs": r.choice([1, 50, 100000])} if r.random() < .5 else {})}
        h.put("d%d" % seed, d)
        options = r.choice([{}, {"humanTasks": "approval"}, {"clock": "real", "speed": r.choice([1e6, 3e5, 1e5]), "humanTasks": r.choice(["auto", "approval"])}])
        run, end = h.start("d%d" % seed, **options), time.monotonic() + WAIT_S
        while h.ask("GET", "/v1/runs/" + run)[1]["status"] not in ENDS and time.monotonic() < end:
            meddle(h, run, r)
        snap, log = h.until(run), h.events(run)
        ends[snap["status"]] += 1
        replay = h.fork(run, "replay", 0)
        expect(h.until(replay)["status"] == snap["status"], "%d %s: a replay ends as its source" % (seed, options))
        told = [[(e["type"], e.get("nodeId")) for e in l if e["type"] not in pauses] for l in (log, h.events(replay))]
        if snap["status"] != "cancelled":  # tasks are cancelled where they are then
            expect(told[0] == told[1], "%d %s: event for event: %s" % (seed, options, [p for p in zip(*told) if p[0] != p[1]][:3]))
    expect(EVERY > 1 or len(ends) == 3, "%s" % ends)
    h.end()


def two_wait_and_the_second_answers_first(wopr, folder):
    """A replay gives an answer where its source got it, and not as soon as it is asked for."""
    h = Desk(wopr, folder)
    h.put("two", base([{"id": "b2", "type": "actor", "name": "B", "properties": {"state": "x"}}],
                      [{"id": "t0", "actor_id": "b", "duration": 120}, {"id": "t1", "actor_id": "b2", "duration": 1}, {"id": "t2", "actor_id": "m"}]))
    run = h.start("two", humanTasks="approval")
    h.until(run, "waiting-approval")
    while len(h.waiting(run)) < 2:
        time.sleep(0.01)
    expect(h.answer(run, "t1") == 200, "the second")
    while not any(e["type"] == "node.completed" and e["nodeId"] == "t2" for e in h.events(run)):
        time.sleep(0.01)
    expect(h.answer(run, "t0") == 200 and h.until(run)["status"] == "completed", "and the first")
    replay = h.fork(run, "replay", 0)
    h.until(replay)
    expect([(e["type"], e.get("nodeId")) for e in h.events(replay)] == [(e["type"], e.get("nodeId")) for e in h.events(run)], "the replay is the same")
    h.end()


TEA = {"simulation": {
    "schema_version": "2.0", "meta": {"title": "Tea", "description": "A pot", "domain": "Demo"},
    "config": {"time_unit": "minutes", "start_time": "08:00", "end_time": "09:00", "currency": "EUR", "locale": "en-IE"},
    "world": {"objects": [{"id": "ann", "type": "actor", "name": "Ann", "properties": {"state": "free"}},
                          {"id": "kettle", "type": "equipment", "name": "Kettle", "properties": {"state": "cold"}},
                          {"id": "water", "type": "resource", "name": "Water", "properties": {"quantity": 2}},
                          {"id": "cup", "type": "product", "name": "Cup", "properties": {"quantity": 0}}]},
    "process": {"tasks": [
        {"id": "boil", "actor_id": "kettle", "start": "08:00", "duration": 5, "interactions": [
            change("water", quantity={"delta": -0.25}),
            {**change("kettle", state={"from": "cold", "to": "boiling"}), "temporary": True}]},
        {"id": "brew", "actor_id": "ann", "start": "08:05", "duration": "PT4M", "depends_on": ["boil"], "interactions": [
            {"action": "create", "object": {"id": "pot", "type": "product", "name": "Pot", "properties": {"quantity": 0.25}}}]},
        {"id": "pour", "actor_id": "ann", "start": "08:09", "duration": "60s", "depends_on": {"all": ["brew"]}, "interactions": [
            change("cup", quantity={"increment": True}), {"action": "delete", "target_id": "pot"}]}]}}}


def nameless(h, run):
    """A log without ids and times, whole payloads."""
    text = json.dumps(told(h.events(run)))
    text = re.sub(r'"(run|int)_[0-9A-Za-z]+', r'"\1_', text)
    return re.sub(r'"(resolvedAt|decidedAt|requestedAt|expiresAt|receivedAt)": ("[^"]*"|\d+)', r'"\1": 0', text)


def finish(h, run):
    """Whoever is asked accepts."""
    while h.until(run, "waiting-approval", *ENDS)["status"] not in ENDS:
        for node in h.waiting(run):
            h.answer(run, node)
    return h.until(run)


def e_1_and_e_4_go_on_wherever_they_are_cut_and_their_host_killed(wopr, folder):
    """At each event two forks, and SIGKILL as soon as they are acknowledged; both come to the log and to the world of their source."""
    ttl = ("--claim-ttl-ms", "2000", "--heartbeat-ms", "500")
    h = Desk(wopr, folder, *ttl)
    h.put("tea", TEA)
    for options, asked in (({}, 0), ({"humanTasks": "approval"}, 2)):
        runs = [h.start("tea", **options) for _ in range(2)]
        snaps = [finish(h, run) for run in runs]
        logs = [nameless(h, run) for run in runs]
        expect(all(s["status"] == "completed" for s in snaps) and logs[0] == logs[1], "two runs have one log:\n%s\n%s" % tuple(logs))
        events, world = h.events(runs[0]), h.world(runs[0])
        expect(len(events) == 16 + 6 * asked, "%d events" % len(events))
        for seq in range(0, len(events), EVERY):
            forks = [h.fork(runs[0], mode, seq) for mode in ("branch", "replay")]
            h.kill()
            h = Desk(wopr, folder, *ttl, db=h.db)
            for run in forks:
                snap = finish(h, run)
                expect(snap["status"] == "completed" and same(snap["variables"], snaps[0]["variables"]), "%s from %d: %s" % (options, seq, snap))
                expect(h.world(run) == world, "%s from %d: the same world" % (options, seq))
                expect(nameless(h, run) == logs[0], "%s from %d: the same log:\n%s\n%s" % (options, seq, nameless(h, run), logs[0]))
    h.end()


def kills_lose_and_double_nothing(wopr, folder):
    r = random.Random(SEED)
    h = Desk(wopr, folder, "--max-node-executions", "1000", "--claim-ttl-ms", "2000", "--heartbeat-ms", "500")
    want = {}
    for k in range(4):
        d, v = spread(r, True)
        v.tasks and h.put("d%d" % k, d)
        if v.tasks:
            want["d%d" % k] = (v, [o.shape() for o in execute(v).o.values() if o.alive])
    runs = {}
    for life in range(4):
        state = {"stop": False}
        threads = [threading.Thread(target=work, args=(h, state, sorted(want), runs, life * 10 + k)) for k in range(3)]
        for t in threads:
            t.start()
        time.sleep(0.1 + r.random() * 0.5)
        h.kill()
        state["stop"] = True
        for t in threads:
            t.join()
        h = Desk(wopr, folder, "--max-node-executions", "1000", "--claim-ttl-ms", "2000", "--heartbeat-ms", "500", db=h.db)
    for run, name in runs.items():
        while h.until(run, "waiting-approval", *ENDS)["status"] not in ENDS:
            for node in h.waiting(run):
                h.answer(run, node)
        snap, log, v = h.until(run), h.events(run), want[name][0]
        ends = collections.Counter((e["type"], e["nodeId"]) for e in log if e["type"] in ("node.started", "node.completed"))
        expect(snap["status"] == "completed" and same(h.world(run), want[name][1]), "%s ends with its world: %s" % (run, snap))
        expect(len(ends) == 2 * len(v.tasks) and set(ends.values()) == {1}, "%s: each task once: %s" % (run, ends))
        expect([e["sequence"] for e in log] == sorted({e["sequence"] for e in log}), "%s: no sequence twice" % run)
    expect(len(runs) > 8, "%d runs" % len(runs))
    h.end()


def work(h, state, names, runs, seed):
    """Starts runs of all kinds, and answers, until the host is killed."""
    r = random.Random(seed)
    while not state["stop"]:
        options = r.choice([{}, {"humanTasks": "approval"}, {"clock": "real", "speed": 1000000, "humanTasks": "auto"}])
        name = r.choice(names)
        try:
            runs[h.start(name, **options)] = name
            for i in h.ask("GET", "/v1/host/wopr/interrupts")[1].get("interrupts", []):
                h.answer(i["runId"], i["nodeId"])
        except (OSError, http.client.HTTPException, RuntimeError, ValueError):
            time.sleep(0.01)


def limits_hold_to_the_last(wopr, _):
    """WS-9: the last that is taken and the first that is not."""
    few = DOCUMENTS < 60
    shapes = {
        "tasks": (10000, lambda n: base(tasks=minutes(n))),
        "interactions of a task": (1000, lambda n: base(tasks=[{"id": "t", "interactions": [change("m", x={"set": 1})] * n}])),
        "dependencies of a task": (1000, lambda n: base(tasks=[{"id": "s"}, {"id": "t", "start": "10:00", "depends_on": {"all": ["s"] * (n // 2),
                                                                                                              "any": ["s"] * (n - n // 2)}}])),
        "nesting": (64, lambda n: json.dumps(base()).replace('"state": "free"', '"state": "free", "x": ' + "[" * (n - 6) + "]" * (n - 6), 1)),
    }
    if not few:
        shapes["objects"] = (100000, lambda n: base([{"id": "o%d" % i, "type": "product", "name": "n", "properties": {"quantity": 0}} for i in range(n - 4)]))
        shapes["property changes"] = (100000, lambda n: base(tasks=[{**t, "interactions": [{"target_id": "m", "property_changes": {
            "p%d" % j: {"set": 1} for j in range(min(1000, n - 1000 * i))}}]} for i, t in enumerate(minutes(-(-n // 1000)))]))
    for name, (limit, make) in shapes.items():
        for n in (limit, limit + 1):
            text = make(n)
            rc, out, err = command(wopr, text if isinstance(text, str) else json.dumps(text), "validate", "-", "--json")
            found = [p["metric_id"] for p in json.loads(out)] if out else err
            expect(rc == (n > limit) and found == (["schema.integrity.limit_exceeded"] if n > limit else []), "%d of %s: %d %.300s" % (n, name, rc, found))


def away(properties, tasks):
    """A thing of many properties that task after task takes away for a minute: a short text, many events."""
    thing = {"id": "big", "type": "equipment", "name": "B", "properties": {"state": "x", **{"p%04d" % i: i for i in range(properties)}}}
    return base([thing], [{**t, "interactions": [{"action": "delete", "target_id": "big", "temporary": True}]} for t in minutes(tasks)])


def bounds_are_told_before_a_run_begins(wopr, folder):
    """WS-145, and the run that once failed half way (WSA-19)."""
    h = Desk(wopr, folder, "--sync", "off")
    tasks, properties = 140, 900
    h.put("away", away(properties, tasks))
    run = h.start("away")
    snap = h.until(run)
    expect(snap["status"] == "completed", "%s" % snap.get("error"))
    for after, member in ((0, "changes"), (tasks * (properties + 4) - 10, "changesOmitted")):
        got = h.ask("GET", "/v1/runs/%s/events/poll?timeout=1&lastSequence=%d" % (run, after))[1]["events"]
        while not any(e["type"] == "node.completed" for e in got):
            got = h.ask("GET", "/v1/runs/%s/events/poll?timeout=1&lastSequence=%d" % (run, got[-1]["sequence"]))[1]["events"]
        outputs = next(e["payload"]["outputs"] for e in got if e["type"] == "node.completed")
        expect(member in outputs, "the first tasks list what they changed, the last ones count it: %.300s" % outputs)
    status, got = h.ask("PUT", "/v1/workspec/documents/more", away(3500, 700))
    expect(status == 422 and "run-events-max" in got["message"], "%d %.300s" % (status, got))
    numbers = [10 ** 20] * 60000  # 5 bytes each as they are written, 22 as they are told
    text = json.dumps(base(tasks=[{"id": "t", "interactions": [change("m", x={"set": numbers})]}])).replace(str(10 ** 20), "1e20")
    status, got = h.ask("PUT", "/v1/workspec/documents/long", text)
    expect(status == 422 and got["details"].get("instance") == "/simulation/process/tasks/0" and "1 MiB" in got["message"], "%d %.300s" % (status, got))
    h.end()
    h = Desk(wopr, folder, "--sync", "off", "--run-state-bytes-max", "65536", "--run-bytes-max", "1048576", db=h.db)
    h.put("tea", TEA)
    for name, world, setting in (("away", None, "run-bytes-max"), ("tea", {"water": {"note": "x" * 70000}}, "run-state-bytes-max"), ("tea", None, None)):
        status, got = h.ask("POST", "/v1/runs", {"workflowId": name, **({"inputs": {"world": world}} if world else {})})
        expect(status == 400 and got["error"] == "validation_error" and setting in got["message"] if setting else status == 201,
               "%s: %d %.300s" % (name, status, got))
    h.end()


def odd_texts_are_read_or_refused(wopr, _):
    """WS-5; YAML is read as the JSON that it spells.  0: good, 1: problems, 2: not read."""
    good = json.dumps(base())
    swap = lambda new: good.replace('"quantity": 0', '"quantity": ' + new)
    texts = {'"\\ud800"': 2, "1e999": 2, "9" * 400: 2, "1e-999": 0, "NaN": 2, "01": 2, "+1": 2, ".5": 2, "-0": 0, "1" * 300: 0, "[" * 100: 1}
    for text, rc in texts.items():
        got = command(wopr, swap(text), "validate", "-")
        expect(got[0] == rc, "%.20s: %d, %s" % (text, rc, got))
    for text, rc in {b"\xef\xbb\xbf" + good.encode(): 2, good.replace("Ada", "A?").encode().replace(b"A?", b"A\xff"): 2, good + " x": 2, "": 2, "null": 1,
                     '{"simulation": 1, ' + good[1:]: 0, good[:-1] + ', "simulation": 1}': 1, "[" * 100000: 1, good.replace('"2.0"', '"1.0"'): 1}.items():
        got = command(wopr, text, "validate", "-")
        expect(got[0] == rc, "%.40s: %d, %s" % (text, rc, got))
    spelled = "simulation:\n  schema_version: '2.0'\n  meta: {title: T, description: D, domain: X}\n  config: {time_unit: minutes, start_time: 08:00, " \
        "end_time: 09:00, currency: EUR, locale: en}\n  world:\n    objects:\n      - {id: a, type: actor, name: A, properties: {state: %s}}\n  process: {tasks: []}\n"
    for text in ("yes", "no", "on", "0o7", "0x1F", ".inf", ".nan", "True", "1_000", "+1", "01", "1.", "12:30:45", "2026-01-01", "'it''s'", '"\\x41"'):
        expect(command(wopr, spelled % text, "validate", "-", "--yaml")[0] == 0, "%s is text" % text)
    for text in ("true", "null", "~", "1e3", "-1", "[a]", "{a: 1}", '""', "' '"):
        expect(command(wopr, spelled % text, "validate", "-", "--yaml")[0] == 1, "%s is no text that says a state" % text)
    for text in ("!!str x", "&a x", "*a", "{a: 1, a: 2}", "{[1]: 2}", "{<<: {a: 1}}", "1e999", '"\\ud800"', "[1, 2"):
        expect(command(wopr, spelled % text, "validate", "-", "--yaml")[0] == 2, "%s is refused" % text)
    bomb = "a: &a [x, x, x, x]\n" + "".join("%s: &%s [*%s, *%s, *%s]\n" % (c, c, p, p, p) for p, c in zip("abcdefgh", "bcdefghi"))
    for text in (bomb, "a: 1\n---\nb: 2\n", "%TAG ! tag:x,2000:\n---\na: !y 1\n", "a:\n\tb: 1\n", "", "# x\n", "\ufeffa: 1", "a: 1\na: 2\n"):
        expect(command(wopr, text, "validate", "-", "--yaml")[0] == 2, "%r is refused" % text[:30])
    expect(command(wopr, "".join(" " * i + "a:\n" for i in range(2000)), "validate", "-", "--yaml")[0] == 1, "deep blocks")


TESTS = [documents_have_the_problems_and_the_plan_of_the_model, commands_and_requests_find_the_same, dates_zones_and_durations_are_those_of_the_model,
         runs_and_their_forks_come_to_the_world_of_the_model, people_answer_in_any_order_and_replays_repeat_it,
         whatever_people_do_while_tasks_run_is_replayed, two_wait_and_the_second_answers_first,
         e_1_and_e_4_go_on_wherever_they_are_cut_and_their_host_killed, kills_lose_and_double_nothing, bounds_are_told_before_a_run_begins,
         limits_hold_to_the_last, odd_texts_are_read_or_refused]

if __name__ == "__main__":
    sys.exit(play("workspec", TESTS))
