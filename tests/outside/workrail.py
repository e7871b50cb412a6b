#!/usr/bin/env python3
"""
workrail.py: sessions of led agents on the real program, against a model that was written from docs/contract/60-workrail.md alone (workrail_oracle.py,
workrail_session.py): random walks through made-up workflows, hosts that are killed and taken over, moves between hosts, forged tokens and bundles, pages.
usage: workrail.py WOPR [NAME...]    (names of the functions below; default all)
WOPR_RAIL_WALKS: walks of the model, 30 unless given (the full size is 3000); WOPR_RAIL_SEED: where the random choices begin.
"""
import collections
import copy
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time

from run import KEY, WAIT_S, Host, expect, play
from workrail_oracle import Workflow, jcs, make_workflow, minted, payload, sha
from workrail_session import Differs, Session, check_digests, entries_of, equal, lines

SEED = int(os.environ.get("WOPR_RAIL_SEED", "1"))
WALKS = int(os.environ.get("WOPR_RAIL_WALKS", "30" if os.environ.get("WOPR_TEST_EVERY", "1") == "1" else "12"))
LINEAR = {"id": "project.line", "name": "Line", "description": "d", "version": "1",
          "steps": [{"id": "s%d" % i, "title": "T", "prompt": "P"} for i in range(4)]}


class RailHost(Host):
    def __init__(self, wopr, folder, workflows, db=None):
        there = tempfile.mkdtemp(dir=folder)
        for w in workflows:
            with open(os.path.join(there, w["id"] + ".json"), "w", encoding="utf-8") as f:
                json.dump(w, f)
        super().__init__(wopr, folder, ["--sync", "off", "--large-body-rate", "0", "--session-workflows", there], {}, db)

    def key_of(self, *words):
        return self.command("keys", "create", "--no-expiry", *words).stdout.split()[0]

    def verify(self, sessions):
        for words, want in ((["sessions", "verify"], "%d sessions read, 0 damaged" % sessions), (["verify"], " 0 findings")):
            done = self.command(*words)
            expect(done.returncode == 0 and want in done.stdout, "%s: %s%s" % (words, done.stdout[-500:], done.stderr[-500:]))


class Client:
    def __init__(self, host, key=KEY):
        self.host, self.key, self.connection = host, key, None

    def ask(self, method, path, body=None, headers=None):
        for last in (False, True):
            try:
                self.connection = self.connection or self.host.connect()
                self.connection.request(method, path, body if body is None or isinstance(body, bytes) else jcs(body).encode(),
                                        {"Authorization": "Bearer " + self.key, "Content-Type": "application/json", **(headers or {})})
                answer = self.connection.getresponse()
                raw = answer.read()
                return answer.status, json.loads(raw) if raw else None
            except (OSError, http.client.HTTPException):
                self.connection = None
                if last:
                    raise

    def tool(self, name, **arguments):
        status, got = self.ask("POST", "/v1/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
        if status != 200 or "result" not in got:
            return {"code": "HTTP %d" % status, "message": str(got)}
        return json.loads(got["result"]["content"][-1]["text"])

    def get(self, path):
        status, got = self.ask("GET", path)
        equal(status, 200, path)
        return got

    def events(self, run):
        after, rows = -1, []
        while True:
            page = self.tool("run_events", runId=run, afterSequence=after, limit=200)
            if page["lastSequence"] == after:
                return rows
            rows, after = rows + page["events"], page["lastSequence"]

    def sessions(self, limit):
        found, path = [], "/v1/x-workrail/sessions?limit=%d" % limit
        below = ""
        while True:
            page = self.get(path + below)
            found += [s["sessionId"] for s in page["sessions"]]
            if "nextBelow" not in page:
                return found
            below = "&below=%s" % page["nextBelow"]


def walked(client, source, r, steps=30):
    """(session, its bundle) of one random walk; what differs is a failure with all that it takes to repeat it."""
    session = Session(client, Workflow(source), r)
    try:
        return session, session.walk(steps)
    except Differs as why:
        expect(False, "seed %d, workflow %s, session %s: %s" % (SEED, source["id"], getattr(session, "id", "-"), why))
    return session, None


def led(client, workflow, *notes, anchors=None, context=None):
    """A session that is advanced with these notes; the last reply."""
    reply = client.tool("start_workflow", workflowId=workflow, **({"anchors": anchors} if anchors else {}), **({"context": context} if context else {}))
    for text in notes:
        reply = client.tool("continue_workflow", stateToken=reply["stateToken"], ackToken=reply["ackToken"], output={"notesMarkdown": text})
    return reply


def sources_of(r, count):
    return [make_workflow(r, "project.w%d" % i) for i in range(count)]


def random_walks_are_as_the_model_says(wopr, folder):
    sources = sources_of(random.Random(SEED), max(WALKS // 4, 1))
    h = RailHost(wopr, folder, sources)
    client = Client(h)
    for i in range(WALKS):
        walked(client, sources[i % len(sources)], random.Random("%d-%d" % (SEED, i)))
    h.end()
    h.verify(WALKS)


class Killer(Client):
    """A client whose hosts die in the middle of its calls; it sends the same call again, to whichever host is there."""

    def __init__(self, hosts, r):
        super().__init__(hosts[0])
        self.hosts, self.r, self.kills = hosts, r, 0

    def tool(self, name, **arguments):
        if self.r.random() < .06:
            victim = self.r.choice(self.hosts)
            call = threading.Thread(target=self.once, args=(victim, name, arguments))
            call.start()
            time.sleep(self.r.uniform(0, .02))
            victim.kill()
            call.join()
            victim.launch()
            self.kills += 1
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            self.host, self.connection = self.r.choice(self.hosts), None
            answer = super().tool(name, **arguments)
            if answer.get("code") != "TOKEN_SESSION_LOCKED":
                return answer
            time.sleep(.05)
        return answer

    @staticmethod
    def once(host, name, arguments):
        try:
            Client(host).tool(name, **arguments)
        except (OSError, http.client.HTTPException):
            pass


def kills_lose_and_double_nothing(wopr, folder):
    """V-PR-11: the same call after a kill is the first one or its repetition; by one host, and by two on one file, where the other takes over."""
    r = random.Random(SEED)
    sources = sources_of(r, 6)
    for count in (1, 2):
        first = RailHost(wopr, folder, sources)
        hosts = [first] + [RailHost(wopr, folder, sources, db=first.db) for _ in range(count - 1)]
        client = Killer(hosts, r)
        i, most = 0, max(WALKS // 10, 1)
        while i < most or (client.kills == 0 and i < 20 * most):  # few walks may all be spared
            walked(client, sources[i % len(sources)], r, 20)
            i += 1
        expect(client.kills > 0, "seed %d: there was no kill" % SEED)
        found = len(set(Client(first).sessions(50)))
        for h in hosts:
            h.end()
        first.verify(found)


def calls_at_once_are_one_call(wopr, folder):
    """V-PR-10: eight times the same advance at once is one plan; the answer of a person and that of the agent, too: one of them is told.  By one
    host, and by two on one file."""
    for count in (1, 2):
        first = RailHost(wopr, folder, [LINEAR])
        hosts = [first] + [RailHost(wopr, folder, [LINEAR], db=first.db) for _ in range(count - 1)]
        same_advances_at_once(hosts)
        person_and_agent_at_once(hosts)
        for h in hosts:
            h.end()
        first.verify(16)


def same_advances_at_once(hosts):
    client, answers = Client(hosts[0]), []
    for _ in range(6):
        s = client.tool("start_workflow", workflowId="project.line")
        call = {"stateToken": s["stateToken"], "ackToken": s["ackToken"], "output": {"notesMarkdown": "n"}}
        threads = [threading.Thread(target=lambda at: answers.append(jcs(Client(at).tool("continue_workflow", **call))), args=(hosts[i % len(hosts)],))
                   for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        same = {a for a in answers if "TOKEN_SESSION_LOCKED" not in a}
        expect(len(same) == 1 and len(answers) == 8, "the answers differ: %s" % same)
        events = client.get("/v1/x-workrail/sessions/%s/bundle" % s["session"]["sessionId"])["session"]["events"]
        expect([e["kind"] for e in events].count("advance_recorded") == 1, "one plan: %s" % events)
        answers.clear()


def person_and_agent_at_once(hosts):
    client = Client(hosts[0])
    for i in range(10):
        s = client.tool("start_workflow", workflowId="project.line")
        path = "/v1/runs/%s/interrupts/%s" % (s["session"]["runId"], payload(s["stateToken"])["nodeId"])
        got = {}
        person = threading.Thread(target=lambda: got.update(person=Client(hosts[0]).ask("POST", path, {"resumeValue": {"output": {"notesMarkdown": "p"}}})[0]))
        agent = threading.Thread(target=lambda: got.update(agent=Client(hosts[-1]).tool("continue_workflow", stateToken=s["stateToken"], ackToken=s["ackToken"],
                                                                                      output={"notesMarkdown": "a"}).get("code", "ok")))
        for t in ([person, agent], [agent, person])[i % 2]:
            t.start()
        person.join()
        agent.join()
        nodes = client.get("/v1/x-workrail/sessions/" + s["session"]["sessionId"])["runs"][0]["nodes"]
        won = (got["person"] == 200) + (got["agent"] == "ok")
        expect(len(nodes) == 1 + won and won and got["agent"] in ("ok", "TOKEN_SESSION_LOCKED") and got["person"] in (200, 409, 503), "%s: %d nodes" % (got, len(nodes)))


def ranked(sessions, head, branch, words):
    """WR-176: tiers, and in a tier the last changed first; each session {head, branch, notes, names, changed}."""
    def tier(s):
        if head and s["head"] == head:
            return 1
        if branch and s["branch"] and (s["branch"].startswith(branch) or branch.startswith(s["branch"])):
            return 2
        if words and words <= s["notes"]:
            return 3
        return 4 if words and words <= s["names"] else 5
    return [s["id"] for s in sorted(sessions, key=lambda s: (tier(s), -s["changed"]))]


def work_is_found_again_in_the_order_of_the_tiers(wopr, folder):
    """WR-175 to WR-179, also after each session was moved to another host in the order of its last change (WR-242)."""
    r, clock, known = random.Random(SEED), [0], []
    sources = [{**LINEAR, "id": "project.%s" % n, "name": n + " review"} for n in ("auth", "login")]
    h, other = RailHost(wopr, folder, sources), RailHost(wopr, folder, [])
    client, heads, branches = Client(h), [("%x" % i) * 40 for i in (1, 2)], ["main", "feature/login", "feature/login-fix"]
    texts = ["fixed the login", "oauth token refresh", "Nothing", "LOGIN redirect, oauth"]

    def advance(s, reply):
        text = r.choice(texts)
        clock[0] += 1
        s.update(changed=clock[0], notes=s["notes"] | set("".join(c if c.isalnum() else " " for c in text.lower()).split()))
        s["reply"] = client.tool("continue_workflow", stateToken=reply["stateToken"], ackToken=reply["ackToken"], output={"notesMarkdown": text})
    for i in range(14):
        source, head, branch = r.choice(sources), r.choice(heads + [None]), r.choice(branches + [None])
        anchors = {k: v for k, v in (("gitHeadSha", head), ("gitBranch", branch)) if v}
        reply = client.tool("start_workflow", workflowId=source["id"], **({"anchors": anchors} if anchors else {}))
        clock[0] += 1
        s = {"id": reply["session"]["sessionId"], "head": head, "branch": branch, "notes": set(), "changed": clock[0], "reply": reply,
             "names": {"project", source["id"][8:], "review"}}
        known.append(s)
        if r.random() < .6:
            advance(s, reply)
    for s in r.sample(known, 5):
        if s["reply"].get("ackToken"):
            advance(s, s["reply"])
    queries = [(r.choice(heads + [None] * 2), r.choice(branches + ["feature/login-fix-2", "feat", None, None]),
                r.choice([{"login"}, {"oauth", "token"}, {"auth", "review"}, {"log"}, set(), set()])) for _ in range(40)]
    for s in sorted(known, key=lambda s: s["changed"]):
        status, _ = Client(other).ask("POST", "/v1/x-workrail/bundles", client.get("/v1/x-workrail/sessions/%s/bundle?artifacts=true" % s["id"]))
        expect(status == 201, "a move: %d" % status)
    for where in (client, Client(other)):
        for head, branch, words in queries:
            ask = {k: v for k, v in (("gitHeadSha", head), ("gitBranch", branch), ("query", " ".join(sorted(words)))) if v}
            got = where.tool("resume_session", **ask)
            expect([c["sessionId"] for c in got["candidates"]] == ranked(known, head, branch, words)[:5] and got["totalEligible"] == 14,
                   "seed %d: %s found %s" % (SEED, ask, [c["sessionId"] for c in got["candidates"]]))
    h.end()
    other.end()


def rebuilt(bundle):
    """A bundle whose parts were changed, with all its digests made right again."""
    s, names = bundle["session"], {}
    for part in ("pinnedWorkflows", "snapshots"):
        names.update({k: sha(v) for k, v in s[part].items()})
        s[part] = {sha(v): v for v in s[part].values()}

    def renamed(x):
        if isinstance(x, dict):
            return {k: renamed(v) for k, v in x.items()}
        return [renamed(v) for v in x] if isinstance(x, list) else names.get(x, x) if isinstance(x, str) else x
    s["events"], s["manifest"] = renamed(s["events"]), renamed(s["manifest"])
    for m in s["manifest"]:
        if isinstance(m, dict) and {"firstEventIndex", "lastEventIndex"} <= set(m) and all(isinstance(m[k], int) for k in ("firstEventIndex", "lastEventIndex")):
            raw = lines(s["events"][m["firstEventIndex"]:m["lastEventIndex"] + 1])
            m.update(sha256=sha(raw), bytes=len(raw))
    bundle["integrity"]["entries"] = entries_of(s)
    return bundle


def another(bundle, label):
    """The same session under other ids, as if it had come from elsewhere."""
    text, s = jcs(bundle), bundle["session"]
    ids = {s["sessionId"], s["events"][1]["scope"]["runId"]} | {e["eventId"] for e in s["events"]}
    for name in ids:
        text = text.replace(name, name.split("_")[0] + "_" + minted(label, name))
    return rebuilt(json.loads(text))


def sessions_move_and_pages_have_them_all(wopr, folder):
    """WR-239 to WR-242; sessions of other hosts have commit numbers that are here, too: pages and verify must not lose them."""
    r = random.Random(SEED)
    sources = sources_of(r, 4)
    h, other = RailHost(wopr, folder, sources), RailHost(wopr, folder, [LINEAR])
    client, there = Client(h), Client(other)
    own = led(there, "project.line", "here")["session"]["sessionId"]
    bundles = [b for b in (walked(client, w, r)[1] for w in sources) if b]
    for b in bundles:
        for again in (True, False):
            status, got = there.ask("POST", "/v1/x-workrail/bundles", b)
            expect((status, got.get("sessionId"), got.get("created")) == (201, b["session"]["sessionId"], again), "an import: %d %s" % (status, got))
        back = there.get("/v1/x-workrail/sessions/%s/bundle?artifacts=true" % b["session"]["sessionId"])
        check_digests(back)
        expect(jcs(back["session"]) == jcs(b["session"]), "the bytes of a session that was moved")
        expect(there.get("/v1/x-workrail/sessions/" + b["session"]["sessionId"])["runs"] ==
               client.get("/v1/x-workrail/sessions/" + b["session"]["sessionId"])["runs"] or "pinnedDrift" in jcs(there.get(
                   "/v1/x-workrail/sessions/" + b["session"]["sessionId"])), "its projections")
    small, copies = there.get("/v1/x-workrail/sessions/%s/bundle?artifacts=true" % own), 70
    for i in range(copies):
        status, got = there.ask("POST", "/v1/x-workrail/bundles", another(copy.deepcopy(small), "copy %d" % i))
        expect(status == 201, "copy %d: %d %s" % (i, status, got))
    for limit in (7, 50, 200):
        found = there.sessions(limit)
        expect(len(found) == len(set(found)) == 1 + len(bundles) + copies and own in found, "pages of %d: %d sessions, %d in all" % (limit, len(found), 1 + len(bundles) + copies))
    h.end()
    other.end()
    other.verify(1 + len(bundles) + copies)


def paths_of(x, path=()):
    yield path
    for k, v in x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ():
        yield from paths_of(v, path + (k,))


ODD = [None, True, 0, -1, 7, 1.5, 2 ** 53, "", "x", "é", "\0", "a" * 300, [], {}, "complete", "blocked", "checkpoint", "blocked_attempt", "guided", "sha256:" + "0" * 64]


def forged(bundle, r):
    """Something is changed, taken away or added in a part, and the digests made right."""
    part = bundle["session"][r.choice(["events", "snapshots", "snapshots", "pinnedWorkflows", "pinnedWorkflows", "manifest"])]
    for _ in range(r.choice([1, 1, 1, 2])):
        path = r.choice([p for p in paths_of(part) if len(p) > 1])
        at = part
        for k in path[:-1]:
            at = at[k]
        which = r.random()
        if which < .25:
            at.pop(path[-1])
        elif which < .85 or isinstance(at, list):
            at[path[-1]] = copy.deepcopy(r.choice(ODD))
        else:
            at["more"] = r.choice(ODD)
    return bundle


def forged_bundles_are_refused_or_harmless(wopr, folder):
    """WR-240: what is taken has the bytes that were sent, loads, and can be gone on with; nothing is a failure of the host."""
    r, seen = random.Random(SEED), collections.Counter()
    sources = sources_of(r, 3)
    h = RailHost(wopr, folder, sources)
    client, taken = Client(h), 3
    bundles = [walked(client, w, r, 12)[1] for w in sources]
    for i in range(WALKS * 3):
        try:
            b = another(forged(copy.deepcopy(r.choice(bundles)), r), "%d" % i)
        except (KeyError, TypeError, AttributeError, IndexError):
            continue
        status, got = client.ask("POST", "/v1/x-workrail/bundles", b)
        seen[status, (got.get("details") or {}).get("code")] += 1
        expect(status == 201 or 400 <= status < 500, "seed %d, bundle %d: %d %s" % (SEED, i, status, got))
        if status != 201 or not got["created"]:
            continue
        taken += 1
        back = client.get("/v1/x-workrail/sessions/%s/bundle?artifacts=true" % got["sessionId"])
        expect(jcs(back["session"]) == jcs(b["session"]), "seed %d, bundle %d: other bytes" % (SEED, i))
        for c in client.tool("resume_session")["candidates"]:
            reply = client.tool("continue_workflow", stateToken=c["stateToken"]) if c["sessionId"] == got["sessionId"] else {}
            if reply.get("ackToken"):
                reply = client.tool("continue_workflow", stateToken=reply["stateToken"], ackToken=reply["ackToken"], output={"notesMarkdown": "foo"})
            expect(reply.get("code") not in ("INTERNAL_ERROR", "HTTP 500"), "seed %d, bundle %d: %s" % (SEED, i, reply))
    expect(any(k[0] == 201 for k in seen) and any(k[0] != 201 for k in seen), "some are taken and some refused: %s" % seen)
    h.end()
    h.verify(taken)


def changed_tokens(token, r):
    """Each byte changed, each cut, and forms of their own."""
    yield from (token[:i] + r.choice([c for c in "AZaz09-_.=+/ é\0" if c != token[i]]) + token[i + 1:] for i in range(len(token)))
    yield from (token[:i] for i in range(1, len(token), 7))
    yield from (token + "=", token + "A", token + ".x", " " + token, token.upper(), "x" * 5000, "....", "st.v1..")


def tokens_hold_only_unchanged_and_at_home(wopr, folder):
    """WR-106 to WR-117, WR-268: each byte counts; other tenants, other modes, other hosts and old keys have nothing of it."""
    r = random.Random(SEED)
    h, other = RailHost(wopr, folder, [LINEAR]), RailHost(wopr, folder, [LINEAR])
    tenant, test, reader = h.key_of("--scopes", "all", "--tenant", "other"), h.key_of("--scopes", "all", "--test"), h.key_of("--scopes", "runs:read")
    client = Client(h)
    s = client.tool("start_workflow", workflowId="project.line")
    wrong = ("TOKEN_INVALID_FORMAT", "TOKEN_UNSUPPORTED_VERSION", "TOKEN_BAD_SIGNATURE", "TOKEN_SCOPE_MISMATCH")
    for which in ("stateToken", "ackToken", "checkpointToken"):
        for token in changed_tokens(s[which], r):
            if which == "checkpointToken":
                got = client.tool("checkpoint_workflow", checkpointToken=token)
            else:
                got = client.tool("continue_workflow", **{"stateToken": s["stateToken"], "ackToken": s["ackToken"], which: token, "output": {"notesMarkdown": "x"}})
            expect(got.get("code") in wrong and got["retry"] == {"kind": "not_retryable"} and (len(token) < 40 or token[:40] not in got["message"]), "%s %r: %s" % (which, token, got))
    swapped = "ack" + s["checkpointToken"][3:]
    expect(client.tool("continue_workflow", stateToken=s["stateToken"], ackToken=swapped).get("code") == "TOKEN_SCOPE_MISMATCH", "V-TK-N4")
    for stranger, code in ((Client(h, tenant), "TOKEN_UNKNOWN_NODE"), (Client(h, test), "TOKEN_UNKNOWN_NODE"), (Client(other), "TOKEN_BAD_SIGNATURE")):
        expect(stranger.tool("continue_workflow", stateToken=s["stateToken"]).get("code") == code, "a stranger's rehydrate")
        expect(stranger.tool("checkpoint_workflow", checkpointToken=s["checkpointToken"]).get("code") == code, "a stranger's checkpoint")
        expect(stranger.tool("resume_session") == {"candidates": [], "totalEligible": 0}, "a stranger's resume")
        expect(stranger.ask("GET", "/v1/x-workrail/sessions/" + s["session"]["sessionId"])[0] == 404, "a stranger's view")
    for tool, arguments in (("start_workflow", {"workflowId": "project.line"}), ("checkpoint_workflow", {"checkpointToken": s["checkpointToken"]}),
                            ("continue_workflow", {"stateToken": s["stateToken"], "ackToken": s["ackToken"]})):
        got = Client(h, reader).tool(tool, **arguments)
        expect(got["code"].startswith("HTTP") and "-32602" in got["message"], "a key that reads calls %s: %s" % (tool, got))
    events = len(client.get("/v1/x-workrail/sessions/%s/bundle" % s["session"]["sessionId"])["session"]["events"])
    expect(events == 4, "nothing of all this is in the log: %d events" % events)
    for code in (None, "TOKEN_BAD_SIGNATURE"):
        expect(h.command("sessions", "rotate-keys").returncode == 0, "a rotation")
        expect(client.tool("continue_workflow", stateToken=s["stateToken"]).get("code") == code, "V-PR-12, V-TK-N14: %s" % code)
    expect(".v1.eyJ" not in h.text(), "a token in the log")
    h.end()
    other.end()


def what_was_wrong_once(wopr, folder):
    """Each line was found from outside."""
    never = {**LINEAR, "id": "project.never", "steps": [{"id": "s", "title": "T", "prompt": "P", "runCondition": {"var": "x", "gt": 1}}]}
    h = RailHost(wopr, folder, [LINEAR, never])
    client = Client(h)
    got = client.tool("start_workflow", workflowId="project.never")
    expect(got.get("isComplete") is True and "ackToken" not in got, "WR-120, complete at once: %s" % got)
    run = led(client, "project.line")["session"]["runId"]
    last = client.tool("run_events", runId=run)["lastSequence"]
    expect(client.tool("run_events", runId=run, afterSequence=last)["events"] == [], "no event is left, so none is there")
    start = client.tool("start_workflow", workflowId="project.line")
    block = client.tool("continue_workflow", stateToken=start["stateToken"], ackToken=start["ackToken"])
    client.tool("checkpoint_workflow", checkpointToken=block["checkpointToken"], output={"notesMarkdown": "beta"})
    copied = client.tool("continue_workflow", stateToken=client.tool("resume_session", query="beta")["candidates"][0]["stateToken"])
    expect(payload(copied["retryAckToken"])["attemptId"] != payload(block["retryAckToken"])["attemptId"], "WR-126: an attempt belongs to one node")
    for reply in (copied, block):
        got = client.tool("continue_workflow", stateToken=reply["stateToken"], ackToken=reply["retryAckToken"], output={"notesMarkdown": "fine"})
        expect(got.get("kind") == "ok", "a retry of a block, and of its checkpoint: %s" % got)
    start = client.tool("start_workflow", workflowId="project.line")
    block = client.tool("continue_workflow", stateToken=start["stateToken"], ackToken=start["ackToken"])
    client.tool("continue_workflow", stateToken=block["stateToken"], ackToken=block["retryAckToken"], preferences={"autonomy": "full_auto_never_stop"})
    got = client.tool("continue_workflow", stateToken=block["stateToken"])
    expect(got["retryAckToken"] != block["retryAckToken"], "WR-126: a retry that went on with gaps is a retry that was used")
    for query in ("status=other", "health=other", "limit=0"):
        status, got = client.ask("GET", "/v1/x-workrail/sessions?" + query)
        expect(status == 400 and query.split("=")[0] in jcs(got), "%s: %d %s" % (query, status, got))
    bundle = client.get("/v1/x-workrail/sessions/%s/bundle?artifacts=true" % start["session"]["sessionId"])
    for change in ({"sourceKind": "v1_pinned"}, {"sourceKind": ""}, {"schemaVersion": 1000}):
        b = copy.deepcopy(bundle)
        next(iter(b["session"]["pinnedWorkflows"].values())).update(change)
        status, got = client.ask("POST", "/v1/x-workrail/bundles", another(b, jcs(change)))
        expect(status in (201, 400, 422), "a workflow of another form, %s: %d %s" % (change, status, got))
    h.end()


TESTS = [random_walks_are_as_the_model_says, kills_lose_and_double_nothing, calls_at_once_are_one_call, work_is_found_again_in_the_order_of_the_tiers,
         sessions_move_and_pages_have_them_all, forged_bundles_are_refused_or_harmless, tokens_hold_only_unchanged_and_at_home, what_was_wrong_once]

if __name__ == "__main__":
    sys.exit(play("workrail", TESTS))
