#!/usr/bin/env python3
"""Traces and metrics of the real program at a receiver inside the test (OBS-1 to OBS-12, FORK-27, INT-48, NODE-54, GEN-6).

usage: run.py WOPR SOURCE [NAME ...]     only the tests with one of these names
"""
import concurrent.futures
import json
import os
import re
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
import host as kit  # noqa: E402
from receiver import Receiver  # noqa: E402

WAIT_S = 40
JOBS = 4
KEY = "hk_test_otel_0123456789abcdef"
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE,t@v=a b"
STATE_READ = ",".join(m.strip() for m in STATE.split(","))  # as it goes on: the list without its blanks
CANARY = "otel-canary-7391-value"
PROGRAM = SOURCE = ""


def until(what, why: str):
    end = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.05)


class Host(kit.Host):
    wait_s = WAIT_S

    def __init__(self, receiver, **settings: str):
        self.folder = tempfile.TemporaryDirectory()
        env = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
        if receiver:
            env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:%d" % receiver.port
        super().__init__(PROGRAM, self.folder.name + "/w.db", "--ops-port", "0", "--conformance-seed", "--log-level", settings.pop("LOG", "error"),
                         "--log-format", "json", "--address-rate", "0", "--egress-allow", "127.0.0.1", "--seed", SOURCE + "/docs/examples",
                         env={**env, **settings}, key=KEY)

    def __exit__(self, *args):
        self.kill()
        self.folder.cleanup()

    def end(self) -> None:
        assert self.stop() == 0, self.text()[-2000:]

    def run(self, workflow: str, inputs=None, end: str = "completed", **more) -> str:
        headers = more.pop("headers", {})
        run = self.must("POST", "/v1/runs", dict(workflowId=workflow, inputs=inputs or {}, **more), **headers)["runId"]
        if end:
            self.wait(run, end)
        return run

    def wait(self, run: str, status: str) -> None:
        until(lambda: self.must("GET", "/v1/runs/" + run)["status"] == status, "%s is not %s" % (run, status))

    def lines(self, msg: str) -> list:
        """Lines of the log with this message; each is JSON without a name that is there twice."""
        def once(pairs):
            assert len({k for k, _ in pairs}) == len(pairs), pairs
            return dict(pairs)
        whole = self.text().rpartition("\n")[0]
        return [line for line in (json.loads(t, object_pairs_hook=once) for t in whole.splitlines()) if line["msg"] == msg]

    def metric(self, name: str) -> float:
        return float(re.search(r"^%s (\S+)$" % name, self.metrics(), re.M).group(1))


def one(spans: list, name: str):
    found = [s for s in spans if s.name == name]
    assert len(found) == 1, "%d of %s in %s" % (len(found), name, [s.name for s in spans])
    return found[0]


def tree_holds(spans: list) -> None:
    """Ids are unique; nodes are below the run, attempts and interrupts below their node; nothing leaves its parent's time."""
    by_id = {s.id: s for s in spans}
    assert len(by_id) == len(spans), "an id is there twice"
    run = one(spans, "openwop.run")
    for s in spans:
        assert s.trace == run.trace and s["workflow_id"] == run["workflow_id"]
        if s is run:
            continue
        parent = by_id[s.parent]
        assert parent.start <= s.start and s.end <= parent.end, (parent.name, s.name)
        of_node = s.name.endswith(".attempt") or s.name == "openwop.interrupt" or s.name.startswith("openwop.activity.")
        assert (parent["node_id"] == s["node_id"]) if of_node else parent is run, s.name


# --- the tests; each in both forms where it says so ---

def spans_of_a_run(form: str) -> None:
    r = Receiver()
    with Host(r, OTEL_EXPORTER_OTLP_PROTOCOL=form, OTEL_EXPORTER_OTLP_HEADERS="x-token=a%20b,y=2", OTEL_SERVICE_NAME="orders",
              OTEL_RESOURCE_ATTRIBUTES="deployment.environment=test") as h:
        run = h.run("conformance-noop", headers={"traceparent": CALLER}, tags=["red", "sk-ant-0123456789abcdefghijkl"])
        spans = r.whole(run)
        tree_holds(spans)
        top, node = one(spans, "openwop.run"), one(spans, "openwop.node.core.noop")
        assert top.trace == CALLER[3:35] and top.parent == CALLER[36:52]
        assert top["run_status"] == "completed" and top["run.tags"] == ["red", "[REDACTED]"] and not top.status
        assert (node["node_id"], node["node_type"], node["node_attempt"]) == ("noop", "core.noop", 0)
        assert top.resource["service.name"] == "orders" and top.resource["deployment.environment"] == "test"
        assert top.resource["service.version"] and top.resource["service.instance.id"]
        headers, _ = r.posts[0]
        assert headers["Content-Type"] == {"http/json": "application/json"}.get(form, "application/x-protobuf")
        assert headers["x-token"] == "a b" and headers["y"] == "2"
        said = h.must("GET", "/.well-known/openwop")
        assert said["observability"] == said["capabilities"]["observability"]
        for s in spans:
            assert {k for k in s.attributes} <= set(said["observability"]["spanAttributes"])
    r.stop()


def spans_of_a_failure(form: str) -> None:
    r = Receiver()
    with Host(r, OTEL_EXPORTER_OTLP_PROTOCOL=form) as h:
        run = h.run("conformance-failure", end="failed")
        spans = r.whole(run)
        tree_holds(spans)
        assert one(spans, "openwop.run").status["code"] == 2
        bad = [s for s in spans if s.name.startswith("openwop.node.") and s.status.get("code") == 2]
        assert len(bad) == 2 and all(re.fullmatch(r"[a-z_.-]+", s.status["message"]) for s in bad), [s.raw for s in bad]
        cap = one(r.whole(h.run("conformance-cap-breach", end="failed", configurable={"recursionLimit": 3})), "openwop.run")
        assert cap["cap_kind"] and cap["cap_observed"] >= cap["cap_limit"], cap.raw
    r.stop()


def spans_of_children_and_forks() -> None:
    r = Receiver()
    with Host(r) as h:
        run = h.run("conformance-subworkflow-parent", headers={"traceparent": CALLER, "tracestate": STATE})
        child = h.must("GET", "/v1/runs/" + run)["childRuns"][0]["runId"]
        assert {s.raw.get("traceState") for s in r.whole(child)} == {STATE_READ}
        top, below = r.whole(run), one(r.whole(child), "openwop.run")
        tree_holds(top)
        tree_holds(r.of(child))
        node = one(top, "openwop.node.core.control.subWorkflow")
        assert below.trace == node.trace and below.parent == node.id
        assert (below["parent.run_id"], below["parent.node_id"]) == (run, node["node_id"])
        assert below["parent.workflow_id"] == "conformance-subworkflow-parent"
        for mode in ("replay", "branch"):
            fork = h.must("POST", "/v1/runs/%s:fork" % run, {"mode": mode, "fromSeq": 0 if mode == "replay" else 3})["runId"]
            h.wait(fork, "completed")
            twin, source = one(r.whole(fork), "openwop.run"), one(r.of(run), "openwop.run")
            assert twin.trace != source.trace and not twin.parent
            assert twin.raw["links"] == [{"traceId": source.trace, "spanId": source.id}]
            assert (twin["replay.source_run_id"], twin["replay.mode"]) == (run, mode)
    r.stop()


def spans_of_an_interrupt() -> None:
    r = Receiver()
    with Host(r) as h:
        run = h.run("conformance-approval", end="waiting-approval")
        assert not r.of(run) or all(s.name != "openwop.interrupt" for s in r.of(run))
        node = h.must("GET", "/v1/runs/" + run)["currentNodeId"]
        h.must("POST", "/v1/runs/%s/interrupts/%s" % (run, node), {"resumeValue": {"action": "accept"}})
        h.wait(run, "completed")
        spans = r.whole(run)
        tree_holds(spans)
        asked = one(spans, "openwop.interrupt")
        assert asked["interrupt_kind"] == "approval" and asked["interrupt_id"].startswith("int_") and asked["interrupt_count"] == 1
    r.stop()


def bad_contexts_are_ignored() -> None:
    bad = ["00-" + "0" * 32 + "-00f067aa0ba902b7-01", CALLER[:36] + "0" * 16 + "-01", "ff" + CALLER[2:], CALLER.upper(), CALLER[:-1], CALLER + "-1", "x"]
    r = Receiver()
    with Host(r) as h:
        for text in bad:
            top = one(r.whole(h.run("conformance-noop", headers={"traceparent": text})), "openwop.run")
            assert top.trace != CALLER[3:35] and not top.parent, text
        later = "01" + CALLER[2:] + "-more"  # a later version may say more
        assert one(r.whole(h.run("conformance-noop", headers={"traceparent": later})), "openwop.run").trace == CALLER[3:35]
    r.stop()


def contexts_go_on_to_others() -> None:
    r = Receiver()
    with open(SOURCE + "/tests/integration/outside.json", encoding="utf-8") as f:
        workflow = json.load(f)
    with Host(r) as h:
        h.must("PUT", "/v1/host/wopr/workflows/outside", workflow)
        there = "http://127.0.0.1:%d/" % r.port
        h.must("POST", "/v1/webhooks", {"url": there + "hook", "events": ["run.completed"]})
        run = h.run("outside", {"url": there + "order"}, headers={"traceparent": CALLER, "tracestate": STATE})
        spans = r.whole(run)
        tree_holds(spans)
        top, activity = one(spans, "openwop.run"), one(spans, "openwop.activity.http")
        r.wait(lambda: {p for p, _, _ in r.others} >= {"/order", "/hook"})
        said = {path: {k.lower(): v for k, v in headers.items()}["traceparent"] for path, headers, _ in r.others}
        assert said["/order"] == "00-%s-%s-01" % (CALLER[3:35], activity.id)
        assert said["/hook"] == "00-%s-%s-01" % (CALLER[3:35], top.id)
        assert activity.raw["kind"] == 3 and activity["run_status"] == "success"
        state = {path: {k.lower(): v for k, v in headers.items()}.get("tracestate") for path, headers, _ in r.others}
        assert state["/order"] == state["/hook"] == STATE_READ, state
        assert {s.raw.get("traceState") for s in spans} == {STATE_READ}
    with Host(None) as h:  # without a receiver the caller's context goes on as it came, and nothing else
        h.must("PUT", "/v1/host/wopr/workflows/outside", workflow)
        del r.others[:]
        h.run("outside", {"url": there + "a"}, headers={"traceparent": CALLER, "tracestate": STATE})
        h.run("outside", {"url": there + "b"}, headers={"tracestate": STATE})  # without a traceparent it says nothing
        said = {path: {k.lower(): v for k, v in headers.items()}.get("traceparent") for path, headers, _ in r.others}
        assert said == {"/a": CALLER, "/b": None}
        for bad in ("no list", "a=b,c", "A=b", "a=" + "x" * 257, "=b", "a=b=c", "a=b," * 130, ",".join("k%d=v" % i for i in range(33))):
            h.run("outside", {"url": there + "c"}, headers={"traceparent": CALLER, "tracestate": bad})
        state = [{k.lower(): v for k, v in headers.items()}.get("tracestate") for path, headers, _ in r.others]
        assert state == [STATE_READ, None] + [None] * 8, state
    r.stop()


def a_killed_host_continues_its_traces() -> None:
    r = Receiver()
    with Host(r) as h:
        run = h.run("slow-pipeline", {"delayMs": 3000}, end="")
        r.wait(lambda: any(s["node_id"] == "prepare" for s in r.of(run)))
        first = r.of(run)
        h.kill()
        h.launch()
        h.wait(run, "completed")
        spans = {}
        for s in r.whole(run):  # what ended shortly before the kill may be there twice, but then it is the same
            assert spans.setdefault(s.id, s).raw == s.raw
        tree_holds(list(spans.values()))
        assert len(spans) == 7 and {s.trace for s in first} == {one(list(spans.values()), "openwop.run").trace}, [s.name for s in spans.values()]
        run = h.run("slow-pipeline", {"delayMs": 2000}, end="")
        r.wait(lambda: any(s["node_id"] == "prepare" for s in r.of(run)))
        h.end()  # nothing was lost: nothing is sent twice
        h.launch()
        h.wait(run, "completed")
        tree_holds(r.whole(run))
        assert len(r.of(run)) == 7
    r.stop()


def what_is_made_before_a_stop_is_sent() -> None:
    r = Receiver()
    with Host(r, OTEL_BSP_SCHEDULE_DELAY="60000") as h:
        runs = [h.run("conformance-noop") for _ in range(5)]
        assert not r.posts
        h.end()
        assert {s["run_id"] for s in r.spans if s.name == "openwop.run"} == set(runs)
        h.launch()
    r.stop()


def a_receiver_that_comes_later_gets_them() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    gone = Receiver(port)
    gone.stop()
    with Host(gone) as h:
        run = h.run("conformance-noop")
        until(lambda: h.metric("wopr_otel_requests_failed_total") > 0, "nothing was tried")
        r = Receiver(port)
        tree_holds(r.whole(run))
        assert h.metric("wopr_otel_spans_dropped_total") == 0
    r.stop()


def refusals_are_repeated_or_not() -> None:
    r = Receiver()
    r.answers = [(503, {}), (429, {"Retry-After": "1"}), (502, {}), (504, {})]
    with Host(r, OTEL_BSP_SCHEDULE_DELAY="1000") as h:
        run = h.run("conformance-noop")
        r.whole(run)
        assert len({body for _, body in r.posts[:5]}) == 1
        assert h.metric("wopr_otel_requests_failed_total") == 4
        for status in (400, 401, 404, 413, 500):  # OTLP: not to be repeated
            before, posts = h.metric("wopr_otel_spans_dropped_total"), len(r.posts)
            r.answers = [(status, {})]
            h.run("conformance-noop")
            until(lambda: h.metric("wopr_otel_spans_dropped_total") > before, "%d: nothing was dropped" % status)
            tree_holds(r.whole(h.run("conformance-noop")))
            assert [body for _, body in r.posts].count(r.posts[posts][1]) == 1, status
    r.stop()


def a_receiver_that_hangs_stops_nothing() -> None:
    r = Receiver()
    r.hang.set()
    with Host(r, OTEL_BSP_MAX_QUEUE_SIZE="30", OTEL_BSP_MAX_EXPORT_BATCH_SIZE="10", OTEL_EXPORTER_OTLP_TIMEOUT="60000") as h:
        h.run("conformance-noop")
        r.wait(lambda: r.posts)
        for _ in range(60):
            h.run("conformance-noop", end="")
        last = h.run("conformance-noop")
        assert h.must("GET", "/v1/runs/" + last)["status"] == "completed"
        until(lambda: h.metric("wopr_otel_spans_total") == 62 * 3, "spans are missing")
        lost = h.metric("wopr_otel_spans_dropped_total")
        assert 62 * 3 - 30 - 2 * 10 <= lost <= 62 * 3 - 30, lost
        assert len(r.posts) == 1 and h.metric("wopr_otel_spans_queued") <= 40
    r.stop()


def samplers_take_their_part() -> None:
    off = CALLER[:-1] + "0"
    for sampler, argument, plain, sampled, unsampled in (("always_off", "", False, False, False), ("parentbased_always_off", "", False, True, False),
                                                         ("parentbased_always_on", "", True, True, False), ("traceidratio", "0", False, False, False),
                                                         ("always_on", "", True, True, True), ("parentbased_traceidratio", "0", False, True, False)):
        r = Receiver()
        with Host(r, OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=argument) as h:
            runs = [h.run("conformance-noop"), h.run("conformance-noop", headers={"traceparent": CALLER}),
                    h.run("conformance-noop", headers={"traceparent": off})]
            h.end()
            seen = {s["run_id"] for s in r.spans}
            assert [x in seen for x in runs] == [plain, sampled, unsampled], sampler
            h.launch()
        r.stop()


def switched_off_it_is_not_there() -> None:
    r = Receiver()
    for settings in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}):
        with Host(r, **settings) as h:
            h.run("conformance-noop")
            assert "observability" not in h.must("GET", "/.well-known/openwop")
            with open("/proc/%d/status" % h.p.pid, encoding="ascii") as f:
                assert "Threads" in f.read()
            names = [open("/proc/%d/task/%s/comm" % (h.p.pid, t), encoding="ascii").read().strip() for t in os.listdir("/proc/%d/task" % h.p.pid)]
            assert "wopr-otel" not in names and "egress" not in names, names  # nor libcurl, which comes with the first request (X12)
            with open("/proc/%d/maps" % h.p.pid, encoding="utf-8") as f:
                assert "libcurl" not in f.read()
            h.end()
            assert not r.posts
            h.launch()
    r.stop()


def wrong_settings_are_named() -> None:
    for name, value, says in (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "otel-protocol"), ("OTEL_TRACES_SAMPLER", "jaeger", "otel-sampler"),
                              ("OTEL_TRACES_SAMPLER_ARG", "2", "otel-sampler-arg"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x", "otel-endpoint"),
                              ("OTEL_EXPORTER_OTLP_HEADERS", "oops", "otel-headers"), ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "otel-queue-max"),
                              ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c", "otel-headers"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0Ac", "otel-headers")):
        with tempfile.TemporaryDirectory() as folder:
            status, said = kit.start_refused(PROGRAM, folder, env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", name: value})
            assert status != 0 and says in said, (name, value, said)


def no_canary_is_in_a_span(form: str) -> None:
    secret = {"name": "s", "type": "string", "sensitive": True, "required": True}
    position = {"position": {"x": 0, "y": 0}, "config": {}}
    workflow = {"id": "canary", "name": "Canary", "version": "1", "edges": [], "triggers": [], "metadata": {}, "settings": {},
                "variables": [secret, {"name": "open", "type": "string"}],
                "nodes": [dict(id="n", typeId="core.identity", name="N", inputs={"a": {"type": "variable", "variableName": "s"},
                                                                                 "b": {"type": "variable", "variableName": "open"}}, **position)]}
    r = Receiver()
    with Host(r, OTEL_EXPORTER_OTLP_PROTOCOL=form) as h:
        h.must("PUT", "/v1/host/wopr/workflows/canary", workflow)
        run = h.run("canary", {"s": CANARY, "open": CANARY + "-open"}, end="", metadata={"note": CANARY + "-metadata"},
                    tags=["Bearer " + CANARY])
        until(lambda: h.must("GET", "/v1/runs/" + run)["status"] in ("completed", "failed"), "the run does not end")
        spans = r.whole(run)
        assert one(spans, "openwop.run")["pii_present"] is True
        failed = h.run("conformance-failure", end="failed")
        r.whole(failed)
        for _, body in r.posts:
            assert CANARY.encode() not in body and KEY.encode() not in body
    r.stop()


def numbers_of_runs(form: str) -> None:
    """Each fact is counted once, whether its trace is sampled or not; a restart begins again at nothing."""
    r = Receiver()
    with Host(r, OTEL_EXPORTER_OTLP_PROTOCOL=form, OTEL_METRIC_EXPORT_INTERVAL="200", OTEL_TRACES_SAMPLER="always_off") as h:
        for _ in range(3):
            h.run("conformance-noop")
        h.run("conformance-failure", end="failed")
        run = h.run("conformance-approval", end="waiting-approval")
        r.wait(lambda: r.number("interrupt.requested", interrupt_kind="approval") == 1)
        assert r.number("interrupt.duration", interrupt_kind="approval") == 0
        h.must("POST", "/v1/runs/%s/interrupts/%s" % (run, h.must("GET", "/v1/runs/" + run)["currentNodeId"]), {"resumeValue": {"action": "accept"}})
        h.wait(run, "completed")
        h.run("conformance-cap-breach", end="failed", configurable={"recursionLimit": 3})
        fork = h.must("POST", "/v1/runs/%s:fork" % run, {"mode": "branch", "fromSeq": 3})["runId"]
        until(lambda: h.must("GET", "/v1/runs/" + fork)["status"] != "running", "the fork does not move")
        r.wait(lambda: r.number("run.completed", workflow_id="conformance-cap-breach", run_status="failed") == 1)
        noop = dict(workflow_id="conformance-noop")
        r.wait(lambda: r.number("run.completed", run_status="completed", **noop) == 3)
        assert (r.number("run.created", **noop), r.number("run.duration", **noop), r.number("run.backlog", **noop)) == (3, 3, 3)
        assert r.number("run.completed", workflow_id="conformance-failure", run_status="failed") == 1
        assert r.number("interrupt.duration", interrupt_kind="approval", run_status="resolved") >= 1
        assert r.number("node.completed", node_type="core.noop", run_status="completed") >= 3
        assert r.number("node.duration", node_type="core.noop", run_status="completed") == r.number("node.completed", node_type="core.noop", run_status="completed")
        r.wait(lambda: r.number("run.created", workflow_id="conformance-approval") == 2)
        assert sum(p.value for p in r.points if p.name == "openwop.cap.exceeded") == 1
        assert sum(p.value for p in r.points if p.name == "openwop.queue.enqueued") == sum(p.value for p in r.points if p.name == "openwop.run.created")
        r.wait(lambda: r.number("queue.depth", tenant_id="all") == 0)
        r.wait(lambda: r.number("run.active", tenant_id="default") == 1)  # the fork asks its question again
        held = {"workflowId": "conformance-delay", "inputs": {"delayMs": 60000}, "scopeId": "one"}
        h.must("POST", "/v1/runs", held, **{"X-Dedup": "enforce"})
        for _ in range(2):
            assert h.ask("POST", "/v1/runs", held, **{"X-Dedup": "enforce"})[0] in (201, 409)
        r.wait(lambda: r.number("run.claim.conflicts", transport="rest") == 2 and r.number("run.active", tenant_id="default") == 2)
        for _ in range(2):
            h.run("openwop-smoke-cost-emit")
        r.wait(lambda: r.number("run.completed", workflow_id="openwop-smoke-cost-emit", run_status="completed") == 2)
        assert [r.number("activity.tokens", provider="anthropic", direction=d) for d in ("input", "output")] == [200, 100]
        assert abs(r.number("cost.usd", provider="anthropic") - 0.00246) < 1e-12
        assert not r.spans and h.metric("wopr_otel_series") >= 10
        h.end()
        tellings = r.tellings
        h.launch()
        h.run("conformance-noop")
        r.wait(lambda: r.tellings > tellings and r.number("run.created", **noop) == 1)
    r.stop()


def records_in_the_log() -> None:
    """OBS-16: each fact once, with the ids of its spans; a request's line with those of its answer's traceparent."""
    r = Receiver()
    with Host(r, OTEL_EXPORTER_OTLP_PROTOCOL="http/json", WOPR_LOG_RECORDS="all", LOG="info") as h:
        run = h.run("openwop-smoke-cost-emit", headers={"traceparent": CALLER})
        spans = r.whole(run)
        capped = h.run("conformance-cap-breach", end="failed", configurable={"recursionLimit": 3})
        failed = h.run("conformance-failure", end="failed")
        until(lambda: len(h.lines("openwop.run.completed")) == 3, "there are %s" % h.lines("openwop.run.completed"))
        created = h.lines("openwop.run.created")
        assert [x["runId"] for x in created] == [run, capped, failed] and created[0]["workflowId"] == "openwop-smoke-cost-emit"
        assert all(x["metricKind"] == x["msg"] and x["tenantId"] and len(x["trace_id"]) == 32 and len(x["span_id"]) == 16 for x in created)
        ended = {x["runId"]: x for x in h.lines("openwop.run.completed")}
        assert [ended[x]["status"] for x in (run, capped, failed)] == ["completed", "failed", "failed"]
        root = one(spans, "openwop.run")
        assert ended[run]["durationMs"] >= 0 and (ended[run]["trace_id"], ended[run]["span_id"]) == (CALLER[3:35], root.id)
        nodes = [x for x in h.lines("openwop.node.completed") if x["runId"] == run]
        by_id = {s.id: s for s in spans}
        assert nodes and all(by_id[x["span_id"]]["node_id"] == x["nodeId"] for x in nodes)
        assert nodes[0]["status"] == "completed" and nodes[0]["attempt"] >= 0 and nodes[0]["nodeType"]
        cost = h.lines("openwop.cost.recorded")
        assert len(cost) == 1 and (cost[0]["tokensInput"], cost[0]["tokensOutput"], cost[0]["usd"], cost[0]["currency"]) == (100, 50, 0.00123, "USD")
        cap = h.lines("openwop.cap.exceeded")
        assert len(cap) == 1 and (cap[0]["runId"], cap[0]["level"], cap[0]["limit"]) == (capped, "error", 3) and cap[0]["observed"] > 3
        request = [x for x in h.lines("request") if x["operation"] == "createRun"]
        assert request[0]["trace_id"] == CALLER[3:35] and request[0]["span_id"] not in by_id and request[0]["tenantId"]
        assert len({x["span_id"] for x in request}) == len(request) == 3
        h.must("POST", "/v1/runs", {"workflowId": "conformance-delay", "inputs": {"delayMs": 60000}, "scopeId": "one"}, **{"X-Dedup": "enforce"})
        status, got = h.ask("POST", "/v1/runs", {"workflowId": "conformance-delay", "scopeId": "one"}, **{"X-Dedup": "enforce"})
        assert status == 409, "two runs of a scope are active"
        active = got["details"]["activeRunId"]
        until(lambda: h.lines("openwop.run.claim.conflict"), "the conflict has no record")
        conflict = h.lines("openwop.run.claim.conflict")[0]
        assert (conflict["activeRunId"], conflict["projectId"], conflict["transport"]) == (active, "one", "rest") and conflict["retryAfterSeconds"] >= 1
    r.stop()
    with Host(None, WOPR_LOG_RECORDS="runs", LOG="info") as h:  # without a receiver: a trace only where the caller gave one
        alone, traced = h.run("conformance-noop"), h.run("conformance-noop", headers={"traceparent": CALLER})
        until(lambda: len(h.lines("openwop.run.completed")) == 2, "records need a receiver")
        ended = {x["runId"]: x for x in h.lines("openwop.run.completed")}
        assert "trace_id" not in ended[alone] and ended[traced]["trace_id"] == CALLER[3:35]
        assert not h.lines("openwop.node.completed")
    with Host(None, LOG="info") as h:
        h.run("conformance-noop")
        until(lambda: h.lines("request"), "there is no line of a request")
        assert not h.lines("openwop.run.created")


def the_last_numbers_are_told_at_a_stop() -> None:
    r = Receiver()
    with Host(None, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="http://127.0.0.1:%d/v1/metrics" % r.port, OTEL_METRIC_EXPORT_INTERVAL="3600000") as h:
        h.run("conformance-noop")
        assert r.tellings == 0
        h.end()
        assert r.tellings == 1 and r.number("run.completed", workflow_id="conformance-noop") == 1
        assert not r.posts and not r.others, "no spans without their endpoint"
    with Host(r, OTEL_METRICS_EXPORTER="none", OTEL_TRACES_EXPORTER="none") as h:
        h.run("conformance-noop")
        h.end()
        assert r.tellings == 1 and not r.posts
    r.stop()


def a_receiver_without_metrics_stops_nothing() -> None:
    """Each message says all: those that failed are made good by the first that is taken."""
    r = Receiver()
    port = r.port
    r.stop()
    with Host(None, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="http://127.0.0.1:%d/v1/metrics" % port, OTEL_METRIC_EXPORT_INTERVAL="100") as h:
        h.run("conformance-noop")
        until(lambda: h.metric("wopr_otel_requests_failed_total") >= 2, "no request fails")
        r = Receiver(port)
        r.wait(lambda: r.number("run.created", workflow_id="conformance-noop") == 1)
    r.stop()


TESTS = [(t, form) for t in (spans_of_a_run, spans_of_a_failure, no_canary_is_in_a_span, numbers_of_runs) for form in ("http/json", "http/protobuf")] + [
    (t, None) for t in (spans_of_children_and_forks, spans_of_an_interrupt, bad_contexts_are_ignored, contexts_go_on_to_others,
                        a_killed_host_continues_its_traces, what_is_made_before_a_stop_is_sent, a_receiver_that_comes_later_gets_them,
                        refusals_are_repeated_or_not, a_receiver_that_hangs_stops_nothing, samplers_take_their_part,
                        switched_off_it_is_not_there, wrong_settings_are_named,
                        records_in_the_log, the_last_numbers_are_told_at_a_stop, a_receiver_without_metrics_stops_nothing)]


def failures_of(case) -> int:
    test, form = case
    name = test.__name__ + (" " + form if form else "")
    try:
        test(*([form] if form else []))
    except Exception as e:  # noqa: BLE001
        at = e.__traceback__
        lines = []
        while at:
            lines.append(str(at.tb_lineno))
            at = at.tb_next
        print("FAILED %s: lines %s: %s %s" % (name, " > ".join(lines), type(e).__name__, e), flush=True)
        return 1
    print("passed", name, flush=True)
    return 0


def main() -> int:
    global PROGRAM, SOURCE
    PROGRAM, SOURCE, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    wanted = [(test, form) for test, form in TESTS if not only or test.__name__ in only]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:  # each has a host and a receiver of its own, and mostly waits
        failed = sum(pool.map(failures_of, wanted))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
