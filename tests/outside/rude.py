#!/usr/bin/env python3
"""
rude.py: every caller of the way out (src/egress/callers.def) at one server that misbehaves in every way: what the caller makes of it,
within which time, and that the host goes on (D57, HOOK-11, X6).  The table below is the test: a row for each caller, a column for
each misbehaviour.
usage: rude.py WOPR [CALLER...]
"""
import base64
import faulthandler
import gzip
import json
import os
import re
import socket
import struct
import sys
import tempfile
import threading
import time

from mcp import McpHost, err
from run import FAILED, WAIT_S, Server, expect, head_of

ACTS = ("silent", "drip", "reset", "endless", "short", "lies", "bomb", "headers", "redirect")
# Bytes of 64 MiB, in 64 KiB.
BOMB = gzip.compress(b"\0" * (64 << 20), 9)
MEMORY_MAX = 256 << 20
OK = "HTTP/1.1 200 OK\r\n"


class Rude(Server):
    """GET or POST /ACT/...: the misbehaviour.  Keeps how often each path was asked."""

    def __init__(self):
        self.lock, self.asked = threading.Lock(), {}
        super().__init__(None)

    def count(self, begin):
        with self.lock:
            return sum(n for path, n in self.asked.items() if path.startswith(begin))

    def serve(self, c):
        try:
            c.settimeout(WAIT_S)
            head = head_of(c)
            path = (head.split() + ["", "/"])[1]
            with self.lock:
                self.asked[path] = self.asked.get(path, 0) + 1
            length = re.search(r"content-length: *(\d+)", head, re.I)
            body = head.partition("\r\n\r\n")[2].encode("latin-1")
            while length and len(body) < int(length.group(1)):
                more = c.recv(65536)
                if not more:
                    break
                body += more
            kind = "text/event-stream" if b'"stream":true' in body.replace(b" ", b"") else "application/json"
            getattr(self, "act_" + path.split("/")[1], self.act_fine)(c, "Content-Type: %s\r\n" % kind)
        except (OSError, ValueError):
            pass
        finally:
            c.close()

    def flood(self, c, head, more, pause=0.0):
        c.sendall(head.encode())
        while True:
            c.sendall(more)
            time.sleep(pause)

    def act_fine(self, c, kind):
        c.sendall((OK + kind + "Content-Length: 2\r\nConnection: close\r\n\r\n{}").encode())

    def act_silent(self, c, kind):
        c.recv(1)  # until the host gives up

    def act_drip(self, c, kind):
        self.flood(c, OK + kind + "Content-Length: 99999\r\n\r\n", b" ", 0.02)

    def act_reset(self, c, kind):
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def act_endless(self, c, kind):
        self.flood(c, OK + kind + "Connection: close\r\n\r\n", b": \n" * 20000 if "event" in kind else b" " * 65536)

    def act_short(self, c, kind):
        c.sendall((OK + kind + "Content-Length: 5000\r\n\r\n{").encode())

    def act_lies(self, c, kind):
        c.sendall((OK + kind + "Content-Length: -5\r\n\r\n{}").encode())

    def act_bomb(self, c, kind):
        c.sendall((OK + kind + "Content-Encoding: gzip\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(BOMB)).encode() + BOMB)

    def act_headers(self, c, kind):
        self.flood(c, OK, b"X-More: and more and more and more\r\n" * 100)

    def act_redirect(self, c, kind):
        c.sendall(("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % self.port).encode())


def same(code, **others):
    return {act: others.get(act, code) for act in ACTS}


def limit_ms(act):
    """Those that never end are waited for; what ends by itself has the time of a slow machine."""
    return 700 if act in ("silent", "drip") else 20000


GONE = same("unreachable", silent="timeout", drip="timeout", endless="response_too_large")
# What a run ends with.
NODES = {
    "NODE": {**GONE, "bomb": "completed", "redirect": "completed"},  # bytes are bytes, and a 302 is an answer
    "MCP": same("mcp_unavailable"),
    "A2A": same("a2a_unavailable"),
    "MODEL": {**GONE, "bomb": "ai_response_invalid", "redirect": "ai_request_rejected"},
    "MODEL, streamed": {**GONE, "bomb": "ai_stream_broken|ai_response_invalid", "redirect": "ai_request_rejected"},
}
# What an attempt is recorded with: a status, or a part of the reason.  A long answer is not read; it counts by its status.
ATTEMPTS = {**same("partial|receiving|weird"), **{a: "timeout" for a in ("silent", "drip")}, "endless": 200, "bomb": 200, "redirect": 302}
TELEMETRY_TAKEN = ("bomb", "endless")  # a 2xx is a 2xx; what follows is not read


def node_of(caller, act):
    if caller == "NODE":
        return {"typeId": "vendor.wopr.http", "config": {"url": "%s/" + act + "/x", "method": "GET", "timeoutMs": limit_ms(act)}}
    if caller == "MCP":
        return {"config": {"mcp": {"server": act, "tool": "echo", "arguments": {}, "timeoutMs": limit_ms(act)}}}
    if caller == "A2A":
        return {"typeId": "core.a2a.invoke", "config": {"agent": act, "skill": "echo", "timeoutMs": limit_ms(act)}}
    return {"config": {"provider": act, "prompt": "hello", "timeoutMs": limit_ms(act), "expectsStreaming": "streamed" in caller}}


def memory_of(h):
    with open("/proc/%d/status" % h.p.pid, encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) << 10


def bounded(h, what):
    expect(memory_of(h) < MEMORY_MAX, "%s: %d bytes of memory" % (what, memory_of(h)))


def nodes(wopr, folder, server, names):
    url = "http://127.0.0.1:%d" % server.port
    providers = os.path.join(folder, "providers.json")
    with open(os.path.join(folder, "p.key"), "w", encoding="ascii") as f:
        os.chmod(f.name, 0o600)
        f.write("sk-rude\n")
    with open(providers, "w", encoding="ascii") as f:
        json.dump({"providers": [{"name": a, "style": "openai", "url": "%s/%s" % (url, a), "model": "m", "keyFile": os.path.join(folder, "p.key")} for a in ACTS]}, f)
    h = McpHost(wopr, folder, ["--egress-loopback", "--mcp-servers", ",".join("%s=%s/%s/mcp" % (a, url, a) for a in ACTS), "--ai-providers", providers,
                               "--a2a-agents", ",".join("%s=%s/%s/agent.json" % (a, url, a) for a in ACTS)], {})
    begun = time.monotonic()
    runs = {}
    for caller in NODES:
        if names and caller.split(",")[0] not in names:
            continue
        for act in ACTS:
            node = json.loads(json.dumps(node_of(caller, act)).replace("%s", url))
            runs[caller, act] = h.start(h.put(None, None, node))
    for (caller, act), run in runs.items():
        got = err(h.until(run))
        expect(re.fullmatch(NODES[caller][act], got[0]), "%s, %s: %s instead of %s" % (caller, act, got, NODES[caller][act]))
        expect(url not in got[1] or caller == "A2A", "%s, %s: the message repeats no URL: %s" % (caller, act, got[1]))
    expect(time.monotonic() - begun < WAIT_S, "all of it in %d s" % (time.monotonic() - begun))
    bounded(h, "nodes")
    h.end()


def hooks(wopr, folder, server):
    url = "http://127.0.0.1:%d" % server.port
    h = McpHost(wopr, folder, ["--egress-loopback", "--conformance-seed", "--webhook-timeout-ms", "700", "--webhook-attempts", "2", "--webhook-retry-ms", "50",
                               "--callback-attempts", "2"], {})
    ids, runs = {}, {}
    for act in ACTS:
        status, got = h.ask("POST", "/v1/webhooks", {"url": "%s/%s/hook" % (url, act), "events": ["run.started"]})
        expect(status == 201, "%s" % got)
        ids[act] = got["webhookId"]
    for act in ACTS:
        status, got = h.ask("POST", "/v1/runs", {"workflowId": "conformance-approval", "callbackUrl": "%s/%s/asked" % (url, act)})
        expect(status == 201, "%s" % got)
        runs[act] = got["runId"]

    def judge(what, act, status, error, taken):
        want = ATTEMPTS[act]
        ok = status == want if isinstance(want, int) else re.search(want, error or "", re.I) is not None
        expect(ok, "%s, %s: %s %s" % (what, act, status, error))
        expect(taken == (want == 200), "%s, %s: taken %s" % (what, act, taken))

    for act in ACTS:
        end = time.monotonic() + WAIT_S
        row, hook = {}, {}
        while time.monotonic() < end:
            _, got = h.ask("GET", "/v1/host/wopr/runs/%s/callbacks" % runs[act])
            row = got["callbacks"][0] if got["callbacks"] else {}
            _, hook = h.ask("GET", "/v1/host/wopr/webhooks/" + ids[act])
            if row.get("state") in ("sent", "given-up") and hook["delivered"] + hook["deadLetters"] >= 1:
                break
            time.sleep(0.05)
        judge("CALLBACK", act, row.get("lastStatus"), row.get("lastError"), row.get("state") == "sent")
        judge("WEBHOOK", act, hook.get("lastStatus"), hook.get("lastError"), hook["delivered"] >= 1 and hook["deadLetters"] == 0)
    expect(server.count("/elsewhere") == 0, "no redirect is followed")
    bounded(h, "hooks")
    h.end()


def token(act):
    parts = ({"alg": "RS256", "kid": "k"}, {"iss": "https://id.example/" + act, "aud": "wopr", "sub": "s", "iat": int(time.time()), "exp": int(time.time()) + 600})
    return ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts) + "." + "A" * 342


def issuers(wopr, folder, server):
    """Keys that cannot be had are an error of ours, not of the token; nothing of a bad answer is believed."""
    path = os.path.join(folder, "issuers.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"issuers": [{"name": a, "profile": "client-credentials", "issuer": "https://id.example/" + a, "audience": "wopr", "algorithms": ["RS256"],
                                "tenant": "acme", "jwksUrl": "http://127.0.0.1:%d/%s/keys" % (server.port, a)} for a in ACTS]}, f)
    h = McpHost(wopr, folder, ["--egress-loopback", "--issuers", path, "--log-level", "info"], {})
    for act in ACTS:
        end = time.monotonic() + 2 * WAIT_S
        while server.count("/%s/keys" % act) == 0 and time.monotonic() < end:
            time.sleep(0.05)
        expect(server.count("/%s/keys" % act) >= 1, "ISSUER, %s: nobody asked" % act)
    told = {}
    end = time.monotonic() + 2 * WAIT_S
    while len(told) < len(ACTS) and time.monotonic() < end:
        for line in h.text().splitlines():
            row = json.loads(line) if line.startswith("{") else {}
            if row.get("level") in ("warn", "error") and row.get("issuer"):
                told[row["issuer"]] = row
        time.sleep(0.1)
    for act in ACTS:
        status, _ = h.ask("GET", "/v1/runs", key=token(act))
        expect(status == 503, "ISSUER, %s: %s" % (act, status))
        expect(act in told, "ISSUER, %s: the log has no word of it" % act)
        expect(server.count("/%s/keys" % act) < 40, "ISSUER, %s: asked %d times" % (act, server.count("/%s/keys" % act)))
    expect(server.count("/elsewhere") == 0, "no redirect is followed")
    bounded(h, "issuers")
    h.end()


def telemetry(wopr, folder, server):
    """A receiver that misbehaves delays no run and no stop, and what it does not take is counted."""
    for act in ACTS:
        h = McpHost(wopr, folder, ["--egress-loopback", "--conformance-seed", "--ops-port", "0"],
                    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:%d/%s/otlp" % (server.port, act), "OTEL_EXPORTER_OTLP_TIMEOUT": "700",
                     "OTEL_BSP_SCHEDULE_DELAY": "50"})
        begun = time.monotonic()
        for _ in range(5):
            h.until(h.start("conformance-noop"))
        expect(time.monotonic() - begun < 20, "TELEMETRY, %s: runs wait for it" % act)
        failed, end = 0.0, time.monotonic() + WAIT_S
        while time.monotonic() < end:
            text = h.metrics()
            failed = value_of(text, "wopr_otel_requests_failed_total")
            done = value_of(text, "wopr_otel_requests_total") if act in TELEMETRY_TAKEN else failed
            if done > 0 and server.count("/%s/otlp" % act) > 0:  # one that was not even accepted in time fails, too
                break
            time.sleep(0.05)
        expect((failed > 0) == (act not in TELEMETRY_TAKEN), "TELEMETRY, %s: %s failed" % (act, failed))
        expect(server.count("/%s/otlp" % act) >= 1, "TELEMETRY, %s: nobody asked" % act)
        bounded(h, "telemetry")
        begun = time.monotonic()
        h.end()
        expect(time.monotonic() - begun < 30, "TELEMETRY, %s: the stop waits for it" % act)
    expect(server.count("/elsewhere") == 0, "no redirect is followed")


def value_of(text, name):
    got = re.search(r"^%s(?:\{[^}]*\})? ([0-9.e+]+)$" % name, text, re.M)
    return float(got.group(1)) if got else 0.0


def main():
    faulthandler.dump_traceback_later(540, exit=True)
    wopr, names = sys.argv[1], sys.argv[2:]
    callers = set()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/egress/callers.def"), encoding="utf-8") as f:
        callers = set(re.findall(r"^EGRESS_CALLER\((\w+),", f.read(), re.M))
    covered = {n.split(",")[0] for n in NODES} | {"WEBHOOK", "CALLBACK", "ISSUER", "TELEMETRY"}
    expect(callers == covered, "callers that nobody misbehaves to: %s" % (callers ^ covered))
    server = Rude()
    with tempfile.TemporaryDirectory() as folder:
        if not names or set(names) & {"NODE", "MCP", "A2A", "MODEL"}:
            nodes(wopr, folder, server, names)
        for test, of in ((hooks, {"WEBHOOK", "CALLBACK"}), (issuers, {"ISSUER"}), (telemetry, {"TELEMETRY"})):
            if not names or set(names) & of:
                test(wopr, folder, server)
    print("rude: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
