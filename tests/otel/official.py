#!/usr/bin/env python3
"""What the real program exports, read by the decoder that OpenTelemetry generates from its own schema (OBS-1 to OBS-12).

usage: official.py WOPR SOURCE WORK_DIRECTORY
Runs of several kinds are executed by two hosts, one for each form of OTLP.  Every message of spans and of metrics must mean the same to that decoder as to
receiver.py, by which the other tests judge, and must hold nothing that the schema does not know.  The decoder comes by npm, like the tools of
tests/openapi and into the same WORK_DIRECTORY.
Exit status: 0, 1 = a message is not what it should be, 77 = skipped: no node, no npm, or no registry (it says which).
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "openapi")]
import npm  # noqa: E402
import receiver  # noqa: E402
import run as otel  # noqa: E402

DECODE_S = 120
FORMS = ("http/json", "http/protobuf")
READERS = {"/v1/traces": "REQUEST", "/v1/metrics": "METRICS_REQUEST"}


class Keeper(receiver.Receiver):
    """A receiver that keeps every message as it came."""

    def __init__(self):
        self.kept = []  # (path, content type, bytes)
        super().__init__()

    def _take(self, kind: str, body: bytes) -> None:
        self.kept.append(("/v1/traces", kind, body))
        super()._take(kind, body)

    def _read(self, kind: str, body: bytes) -> None:
        self.kept.append(("/v1/metrics", kind, body))
        super()._read(kind, body)


def exported(form: str) -> list:
    """Messages of a host that does something of everything that spans and numbers tell."""
    r = Keeper()
    with otel.Host(r, OTEL_EXPORTER_OTLP_PROTOCOL=form, OTEL_METRIC_EXPORT_INTERVAL="200", OTEL_RESOURCE_ATTRIBUTES="a=1,b=%C3%BC") as h:
        r.whole(h.run("conformance-noop", headers={"traceparent": otel.CALLER, "tracestate": otel.STATE}, tags=["red", "blue"]))
        r.whole(h.run("conformance-failure", end="failed"))
        r.whole(h.run("conformance-cap-breach", end="failed", configurable={"recursionLimit": 3}))
        r.whole(h.run("openwop-smoke-cost-emit"))
        parent = h.run("conformance-subworkflow-parent")
        r.whole(h.must("GET", "/v1/runs/" + parent)["childRuns"][0]["runId"])
        r.whole(h.must("POST", "/v1/runs/%s:fork" % parent, {"mode": "replay", "fromSeq": 0})["runId"])
        asked = h.run("conformance-approval", end="waiting-approval")
        r.wait(lambda: r.number("run.active", tenant_id="default") == 1)
        h.must("POST", "/v1/runs/%s/interrupts/gate" % asked, {"resumeValue": {"action": "accept"}})
        r.whole(asked)
        r.wait(lambda: r.number("interrupt.duration", interrupt_kind="approval", run_status="resolved") == 1)
        r.wait(lambda: sum(p.value for p in r.points if p.name == "openwop.cost.usd") > 0)
        h.end()
        h.launch()
    r.stop()
    return r.kept


def without_empty(value):
    """Lists without elements are not said in protobuf."""
    if isinstance(value, list):
        return [without_empty(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: without_empty(v) for k, v in value.items() if v != []}


def official(work: str, messages: list) -> list:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        for path, kind, body in messages:
            f.write(json.dumps({"path": path, "type": kind, "body": base64.b64encode(body).decode()}) + "\n")
        f.flush()
        env = dict(os.environ, NODE_PATH=os.path.join(work, "node_modules"))
        got = subprocess.run(["node", os.path.join(HERE, "decode.cjs"), f.name], env=env, capture_output=True, text=True, timeout=DECODE_S)
    if got.returncode != 0:
        raise SystemExit("the official decoder refuses a message: " + got.stderr[-2000:])
    return [json.loads(line) for line in got.stdout.splitlines()]


def complaint(message, said) -> str:
    """What is wrong with one message; empty when nothing is."""
    path, kind, body = message
    is_json = kind == "application/json"
    wanted = without_empty(json.loads(body) if is_json else receiver.decode(READERS[path], body))
    if without_empty(said["ours"]) != wanted:
        return "the official decoder reads\n%s\nand we\n%s" % (json.dumps(said["ours"], sort_keys=True), json.dumps(wanted, sort_keys=True))
    if not is_json and said["again"] != said["bytes"]:
        return "%d bytes, of which the schema knows %d" % (said["bytes"], said["again"])
    return ""


def names_in(said: list) -> set:
    out = set()
    for s in said:
        for of in s["ours"].get("resourceSpans", []) + s["ours"].get("resourceMetrics", []):
            for scope in of.get("scopeSpans", []) + of.get("scopeMetrics", []):
                out |= {x["name"] for x in scope.get("spans", []) + scope.get("metrics", [])}
    return out


EXPECTED = {"openwop.run", "openwop.node.core.noop", "openwop.interrupt", "openwop.run.created", "openwop.run.completed", "openwop.node.duration",
            "openwop.interrupt.duration", "openwop.cap.exceeded", "openwop.cost.usd", "openwop.run.active"}


def judge(form: str, work: str) -> int:
    messages = exported(form)
    said = official(work, messages)
    assert len(said) == len(messages) and {m[0] for m in messages} == set(READERS)
    missing = EXPECTED - names_in(said)
    wrong = [c for c in map(complaint, messages, said) if c] + (["not exported: %s" % sorted(missing)] if missing else [])
    print("%s: %d messages, %s" % (form, len(messages), "FAILED" if wrong else "as the official decoder reads them"))
    for text in wrong[:3]:
        print(text[:4000])
    return 1 if wrong else 0


def main() -> int:
    otel.PROGRAM, otel.SOURCE, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    try:
        npm.install(work)
    except npm.Skip as why:
        print("skipped: %s" % why)
        return npm.SKIPPED
    return 1 if sum(judge(form, work) for form in FORMS) else 0


if __name__ == "__main__":
    sys.exit(main())
