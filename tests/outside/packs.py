#!/usr/bin/env python3
"""
packs.py: packs on the real program, by its commands and over HTTP alone: remote packs at an MCP server inside the test,
secrets that nodes require, what cannot be loaded, kills of hosts and workers, and what strangers try with archives, names,
pins, marks and lies (30-nodes sections 10 to 12; CAP-36).
usage: packs.py WOPR MODULES [NAME...]    (names of the functions below; default all)
"""
import gzip
import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

from fakes import Mcp
from mcp import McpHost, err, out
from run import FAILED, KEY, WAIT_S, expect

SLOW = os.environ.get("WOPR_TEST_EVERY", "1") != "1"  # under a sanitizer
KIT = "vendor.test.kit"
KIT_TYPES = ["echo", "reads", "writes", "asks", "suspends", "fails", "draws", "spins", "fills", "grows", "recurs", "outside", "outsideImport",
             "noJson", "noOutcome", "huge", "counts", "floods", "judged"]


def node(type_id, **more):
    return {"typeId": type_id, "version": "1.0.0", "category": "data", "role": "pure", **more}


def manifest(name, version="1.0.0", nodes=None, runtime=None, **more):
    return {"name": name, "version": version, "engines": {"openwop": "^1"}, "nodes": nodes if nodes is not None else [node(name + ".echo")],
            "runtime": runtime or {"language": "wasm", "entry": "m.wasm"}, **more}


def kit_manifest(version="1.0.0", name=KIT, **more):
    return manifest(name, version, [node("%s.%s" % (KIT, t)) for t in KIT_TYPES], {"language": "wasm", "entry": "kit.wasm"}, **more)


def tarball(files, gz=True):
    b = io.BytesIO()
    with tarfile.open(fileobj=b, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for name, data in files:
            i = tarfile.TarInfo(name)
            i.size = len(data)
            t.addfile(i, io.BytesIO(data))
    return gzip.compress(b.getvalue(), mtime=0) if gz else b.getvalue()


def pack(m, *files):
    return tarball([("pack.json", json.dumps(m).encode())] + list(files))


class PackHost(McpHost):
    wopr = None

    @classmethod
    def begin(cls, wopr, folder, *args, db=None, env=None):
        cls.wopr = wopr
        return cls(wopr, folder, ["--egress-loopback", "--address-rate", "100000", *args], env or {}, db)

    def cli(self, *args, stdin=None, rc=0):
        p = subprocess.run([self.wopr, *args, "--db", os.path.join(self.db, "w.db")], input=stdin, capture_output=True, text=True, timeout=WAIT_S)
        expect(rc is None or p.returncode == rc, "%s: %d %s%s" % (args, p.returncode, p.stdout, p.stderr))
        return p.stdout + p.stderr

    def install(self, data, *args, rc=0, **more):
        path = os.path.join(self.db, "p%d.tgz" % time.monotonic_ns())
        with open(path, "wb") as f:
            f.write(data)
        said = self.cli("packs", "install", path, "--pack-trust", "open", *args, rc=rc, **more)
        os.remove(path)
        return said

    def flow(self, type_id, name=None, inputs=None, settings=None, node_more=None, **more):
        name = name or "w%d" % time.monotonic_ns()
        n = {"id": "n", "typeId": type_id, "name": "N", "position": {"x": 0, "y": 0}, "config": {}, "inputs": inputs or {}, **(node_more or {})}
        if settings:
            n["settings"] = settings
        return {"id": name, "name": "W", "version": "1", "nodes": [n], "edges": [], "triggers": [], "variables": [
            {"name": "v", "type": "array", "defaultValue": [1, 2]}], "metadata": {}, "settings": {}, **more}

    def put_flow(self, *args, **more):
        wf = self.flow(*args, **more)
        return wf["id"], self.ask("PUT", "/v1/host/wopr/workflows/" + wf["id"], wf)

    def run_of(self, *args, **more):
        name, (status, got) = self.put_flow(*args, **more)
        if status not in (200, 201):
            raise RuntimeError(got)
        return self.start(name)

    def workers(self):
        found = []
        for t in os.listdir("/proc/%d/task" % self.p.pid):
            try:
                with open("/proc/%d/task/%s/children" % (self.p.pid, t), encoding="ascii") as f:
                    found += [int(x) for x in f.read().split()]
            except OSError:
                pass
        return found

    def kill_workers(self):
        for pid in self.workers():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def publish(self, name, version, data, key=KEY, **headers):
        import http.client
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        c.request("PUT", "/v1/packs/%s/-/%s.tgz" % (name, version), data,
                  {"Authorization": "Bearer " + key, "Content-Type": "application/gzip", **headers})
        r = c.getresponse()
        return r.status, json.loads(r.read() or b"{}")


def kit(modules):
    with open(os.path.join(modules, "kit.wasm"), "rb") as f:
        return f.read()


def kit_pack(modules, version="1.0.0", **more):
    return pack(kit_manifest(version, **more), ("kit.wasm", kit(modules)))


# --- remote packs (PACK-66, MCP-1, MCP-3) ---

FAR = "vendor.acme.far"


def far_pack(url, **more):
    nodes = [node(FAR + ".echo"), node(FAR + ".say", mcp={"toolName": "echo"}), node(FAR + ".hold", role="side-effect"), node(FAR + ".none"),
             node(FAR + ".again", mcp={"toolName": "hold"})]
    return pack(manifest(FAR, nodes=nodes, runtime={"language": "remote", "entry": url}, **more))


def nodes_of_a_remote_pack_are_tools_of_its_server(wopr, modules, folder):
    s = Mcp()
    h = PackHost.begin(wopr, folder, "--mcp-servers", s.url)
    expect("warning" not in h.install(far_pack(s.url)), "it can be loaded")
    for t in ("echo", "say"):
        run = h.run_of("%s.%s" % (FAR, t), inputs={"text": {"type": "static", "value": "pen"}})
        snap = h.until(run)
        want = {"tool": "echo", "server": s.url, "content": [{"type": "text", "text": "pen"}], "text": "pen", "trust": "untrusted",
                "rendered": '<UNTRUSTED tool="echo">pen</UNTRUSTED>'}
        expect(out(snap) == want, "%s: %s" % (t, snap))
    calls = s.count("tools/call")
    _, fork = h.ask("POST", "/v1/runs/%s:fork" % run, {"mode": "replay", "fromSeq": 0})
    expect(out(h.until(fork["runId"])) == want and s.count("tools/call") == calls == 2, "a replay asks nobody")
    expect(err(h.until(h.run_of(FAR + ".echo", inputs={"text": {"type": "static", "value": 7}})))[0] == "tool_not_allowed", "a schema is kept")
    expect(err(h.until(h.run_of(FAR + ".none")))[0] == "tool_not_allowed", "a tool that the server lacks")
    _, nodes = h.ask("GET", "/v1/host/wopr/nodes")
    expect([n["executable"] for n in nodes["nodes"] if n.get("pack") == FAR + "@1.0.0"] == [True] * 5, "they are listed")
    h.end()
    s.stop()


def the_operator_names_the_server_and_not_the_pack(wopr, modules, folder):
    """MCP-3: a URL in a manifest opens nothing."""
    s = Mcp()
    h = PackHost.begin(wopr, folder)
    h.install(far_pack(s.url))
    _, (status, got) = h.put_flow(FAR + ".echo")
    expect(status == 400 and got["error"] == "pack_load_failure" and "--mcp-servers" in got["message"], "put: %s" % got)
    h.end()
    table = os.path.join(folder, "remotes.json")
    with open(table, "w", encoding="ascii") as f:
        json.dump({"mcp": [{"name": "far", "url": s.url, "tenants": ["somebody"]}]}, f)
    h = PackHost.begin(wopr, folder, "--remotes-file", table, db=h.db)
    _, (status, got) = h.put_flow(FAR + ".echo")
    expect(status == 400 and got["error"] == "pack_load_failure", "another tenant's server: %s" % got)
    h.install(pack(manifest("vendor.acme.near", runtime={"language": "remote", "entry": "far"})))
    _, (status, got) = h.put_flow("vendor.acme.near.echo")
    expect(status == 400 and "URL" in got["message"], "a name of a server is no URL: %s" % got)
    expect(not s.calls, "nobody was asked")
    h.end()
    s.stop()


def a_kill_calls_no_tool_twice_unless_it_is_pure(wopr, modules, folder):
    s = Mcp(hold="tools/call")
    h = PackHost.begin(wopr, folder, "--mcp-servers", s.url)
    h.install(far_pack(s.url))
    once, again = h.run_of(FAR + ".hold"), h.run_of(FAR + ".again")
    expect(s.wait(2, "tools/call"), "both are called")
    h.kill()
    s.released.set()
    h = PackHost.begin(wopr, folder, "--mcp-servers", s.url, db=h.db)
    snap = h.until(once)
    expect(err(snap)[0] == "mcp_unavailable" and "not known" in err(snap)[1], "once: %s" % snap)
    h.until(again)
    calls = [c[1] for c in s.calls if c[0] == "tools/call"]
    expect(len(calls) == 3, "the pure one is called again, the other is not: %s" % calls)
    h.end()
    s.stop()


# --- secrets (CAP-36) ---

def a_node_has_the_secrets_that_its_pack_requires_or_does_not_start(wopr, modules, folder):
    m = kit_manifest()
    m["nodes"][0]["requiresSecrets"] = [{"id": "acme-key", "kind": "api-key"}, {"id": "acme-key", "kind": "api-key", "scope": "tenant"}]
    m["nodes"][1]["requiresSecrets"] = [{"id": "model", "kind": "ai-provider", "provider": "nobody"}]
    h = PackHost.begin(wopr, folder)
    h.install(pack(m, ("kit.wasm", kit(modules))))
    name, _ = h.put_flow(KIT + ".echo")
    run = h.start(name)
    snap = h.until(run)
    code, message, details = err(snap)
    expect(code == "credential_required" and "acme-key" in message and details["requirement"] == {"id": "acme-key", "kind": "api-key"}, "%s" % snap)
    expect("node.started" not in [e["type"] for e in h.events(run)], "it does not start (EVT-24)")
    h.cli("secrets", "set", "acme-key", "--kind", "api-key", stdin="canary-of-acme\n")
    run = h.start(name)
    given = out(h.until(run)).get("nodeContext", {}).get("secrets")
    one = {"id": "acme-key", "kind": "api-key", "scope": "tenant", "ref": "secret:acme-key"}
    expect(given == [one, one], "references, no values: %s" % given)
    expect("canary-of-acme" not in json.dumps(h.events(run)), "no value in the log")
    snap = h.until(h.run_of(KIT + ".reads"))
    expect(err(snap)[0] == "credential_unavailable" and err(snap)[2].get("capability") == "secrets", "no such provider: %s" % snap)
    h.end()


# --- loading ---

def what_cannot_be_loaded_is_told_when_it_is_put(wopr, modules, folder):
    """PACK-64, WASM-2, WASM-13; at install it is a warning, since another host may have another engine."""
    h = PackHost.begin(wopr, folder)
    files = [("kit.wasm", kit(modules))]
    cases = [("vendor.test.other", {}, "calls itself otherwise"), ("vendor.test.none", {"x": b"\0asm\1\0\0\0"}, "openwop_"),
             (KIT, {"runtime": {"abiVersion": 2}}, "unsupported_abi_version"), (KIT, {"runtime": {"memoryPagesMax": 0}}, "memoryPagesMax")]
    for i, (name, how, says) in enumerate(cases):
        m = kit_manifest("1.0.%d" % i, name)
        if "runtime" in how:
            m["runtime"]["wasm"] = how["runtime"]
        for n in m["nodes"]:
            n["typeId"] = n["typeId"].replace(KIT, name)
        said = h.install(pack(m, ("kit.wasm", how["x"])) if "x" in how else pack(m, *files))
        expect("warning: no run can use this pack" in said and says in said, "%s: %s" % (name, said))
        flow, (status, got) = h.put_flow(name + ".echo")
        expect(status == 400 and got["error"] == "pack_load_failure" and says in got["message"], "%s: %s" % (name, got))
        path = os.path.join(folder, "flow.json")
        with open(path, "w", encoding="ascii") as f:
            json.dump(h.flow(name + ".echo", flow), f)
        said = h.cli("workflow", "put", path, rc=1)
        expect(says in said, "the command says it, too: %s" % said)
        expect(h.ask("GET", "/v1/workflows/" + flow)[0] == 404, "nothing was stored")
        h.cli("packs", "remove", name, "1.0.%d" % i)
        time.sleep(0.6)
    # as many pages as the manifest asks for, however many the host would give
    m = kit_manifest("2.0.0")
    m["runtime"]["wasm"] = {"abiVersion": 1, "memoryPagesMax": 40}
    h.install(pack(m, *files))
    snap_run = h.run_of(KIT + ".grows")
    snap = h.until(snap_run)
    caps = [e["payload"] for e in h.events(snap_run) if e["type"] == "cap.breached"]
    expect(err(snap)[0] == "wasm_memory_cap_exceeded" and caps and caps[0]["limit"] == 40 * 65536, "%s %s" % (snap, caps))
    h.end()


def a_template_is_built_tried_and_installed(wopr, modules, folder):
    """wopr init pack; the same node in C and by hand in text."""
    h = PackHost.begin(wopr, folder)
    at = os.path.join(folder, "tools")

    def run(*a, rc=0):
        p = subprocess.run(a, capture_output=True, text=True, timeout=WAIT_S, cwd=folder)
        expect(p.returncode == rc, "%s: %d %s" % (a, p.returncode, p.stderr))
        return p.stdout + p.stderr
    run(wopr, "init", "pack", "vendor.acme.tools")
    expect("--force" in run(wopr, "init", "pack", "vendor.acme.tools", rc=1), "nothing is overwritten")
    expect(sorted(os.listdir(at)) == ["README.md", "hello.c", "pack.json"], "%s" % os.listdir(at))
    text = "".join(open(os.path.join(at, n), encoding="utf-8").read() for n in os.listdir(at))
    expect("openwop.rust" not in text and "hello.wat" not in text, "all of it has the new name")
    run("clang", "--target=wasm32", "-O2", "-nostdlib", "-mbulk-memory", "-Wl,--no-entry", "-o", at + "/hello.wasm", at + "/hello.c")
    for inputs in ('{"name":"Ada"}', '{"name":"\\u0041\\" x"}', '{"name":""}', '{"name":7}', "{}"):
        rc = 0 if ':"' in inputs else 1
        mine = run(wopr, "packs", "run", at, "vendor.acme.tools.greet", "--inputs", inputs, rc=rc)
        theirs = run(wopr, "packs", "run", modules + "/hello", "vendor.openwop.rust-hello.greet", "--inputs", inputs, rc=rc)
        expect(mine == theirs and mine, "%s: %s %s" % (inputs, mine, theirs))
    run(wopr, "packs", "build", "tools", "--out", at + "/vendor.acme.tools-1.0.0.tgz")
    first = open(at + "/vendor.acme.tools-1.0.0.tgz", "rb").read()
    run(wopr, "packs", "build", "tools", "--out", at + "/vendor.acme.tools-1.0.0.tgz")
    expect(first == open(at + "/vendor.acme.tools-1.0.0.tgz", "rb").read(), "tarballs in the folder are not packed")
    h.cli("packs", "install", at + "/vendor.acme.tools-1.0.0.tgz", "--pack-trust", "open")
    snap = h.until(h.run_of("vendor.acme.tools.greet", inputs={"name": {"type": "static", "value": "Ada"}}))
    expect(out(snap) == {"greeting": "Hello, Ada!"}, "%s" % snap)
    h.end()


# --- kills ---

def complete(h, run, n=1):
    """The log of a run that completed: gapless, and each of its nodes started and completed once in its last attempt."""
    events = h.events(run)
    expect([e["sequence"] for e in events] == list(range(len(events))), "gaps: %s" % run)
    done = [e for e in events if e["type"] == "node.completed"]
    expect(len(done) == n, "%s: %d nodes completed: %s" % (run, len(done), [e["type"] for e in events]))
    expect(sum(e["type"] == "run.completed" for e in events) == 1, "%s ended otherwise: %s" % (run, events[-1]))
    return events


def kills_of_host_and_workers_lose_and_double_nothing(wopr, modules, folder):
    """STORE-42, B4: at any moment of an invocation, for as long as there are runs."""
    seed = int(os.environ.get("WOPR_SEED", "7"))
    rng, args = random.Random(seed), ("--wasm-workers", "2")
    h = PackHost.begin(wopr, folder, *args)
    h.install(kit_pack(modules))
    steps = [{"id": "n%d" % i, "typeId": "%s.%s" % (KIT, t), "name": "N", "position": {"x": 0, "y": 0}, "config": {}, "inputs": {},
              "settings": {"maxRetries": 50, "retryDelayMs": 5}} for i, t in enumerate(["echo", "writes", "draws", "reads", "counts"])]
    edges = [{"id": "e%d" % i, "sourceNodeId": "n%d" % i, "targetNodeId": "n%d" % (i + 1)} for i in range(4)]
    wf = {"id": "chain", "name": "W", "version": "1", "nodes": steps, "edges": edges, "triggers": [], "metadata": {}, "settings": {},
          "variables": [{"name": "v", "type": "array", "defaultValue": [1]}]}
    status, got = h.ask("PUT", "/v1/host/wopr/workflows/chain", wf)
    expect(status in (200, 201), "%s" % got)
    runs = []
    for i in range(12 if SLOW else 40):
        runs += [h.start("chain") for _ in range(3)]
        time.sleep(rng.random() * 0.03)
        if i % 3 == 2:
            h.kill()
            h = PackHost.begin(wopr, folder, *args, db=h.db)
        else:
            h.kill_workers()
    draws = []
    for run in runs:
        snap = h.until(run)
        expect(snap["status"] == "completed", "seed %d: %s" % (seed, snap))
        events = complete(h, run, 5)
        writes = [e for e in events if e["type"] in ("variable.changed", "channel.written") and e.get("nodeId") == "n1"]
        expect(len(writes) == 3, "seed %d: each effect once: %s" % (seed, writes))
        draws.append(json.dumps([e["payload"]["outputs"] for e in events if e["type"] == "node.completed" and e["nodeId"] == "n2"]))
    expect(len(set(draws)) == len(runs), "each run has random numbers of its own")
    h.end()
    h.cli("verify")


def no_worker_outlives_its_host(wopr, modules, folder):
    """Not even one that executes what no engine can stop."""
    h = PackHost.begin(wopr, folder, "--wasm-time-ms", "600000")
    h.install(kit_pack(modules))
    h.until(h.run_of(KIT + ".fills"), "running")
    end = time.monotonic() + WAIT_S
    while not h.workers() and time.monotonic() < end:
        time.sleep(0.02)
    pids = h.workers()
    expect(pids, "nobody executes it")
    h.kill()
    while time.monotonic() < end and any(os.path.exists("/proc/%d" % p) and "Z" not in open("/proc/%d/stat" % p).read().split(")")[1][:3] for p in pids):
        time.sleep(0.02)
    expect(time.monotonic() < end, "a worker outlived its host")


# --- what strangers try ---

def a_pack_is_for_the_tenant_that_has_it(wopr, modules, folder):
    h = PackHost.begin(wopr, folder)
    h.install(kit_pack(modules))
    name, (status, _) = h.put_flow(KIT + ".echo")
    expect(status in (200, 201), "ours")
    theirs = h.cli("keys", "create", "--tenant", "other", "--scopes", "all", "--no-expiry")
    key = next(w for w in theirs.split() if w.startswith("hk_"))

    def ask(method, path, body=None):
        import http.client
        c = http.client.HTTPConnection("127.0.0.1", h.port, timeout=WAIT_S)
        c.request(method, path, json.dumps(body) if body is not None else None, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
        r = c.getresponse()
        return r.status, json.loads(r.read() or b"{}")
    wf = h.flow(KIT + ".echo")
    for force in ("", "?force=true"):
        status, got = ask("PUT", "/v1/host/wopr/workflows/" + wf["id"] + force, wf)
        expect(status == 400, "another tenant puts it: %s" % got)
    wf["packs"] = {KIT: {"version": "1.0.0"}}
    status, got = ask("PUT", "/v1/host/wopr/workflows/" + wf["id"] + "?force=true", wf)
    expect(status == 400 and got["error"] in ("pack_load_failure", "validation_error"), "nor by a pin: %s" % got)
    expect(ask("POST", "/v1/runs", {"workflowId": name})[0] in (400, 404), "nor runs it")
    _, nodes = ask("GET", "/v1/host/wopr/nodes")
    _, packs = ask("GET", "/v1/packs")
    expect(KIT not in json.dumps([nodes, packs]), "nor sees it")
    h.end()


def a_run_goes_by_the_pack_that_it_began_with(wopr, modules, folder):
    """PACK-63, PACK-64: a pin does not move, and what is replaced, yanked or revoked later changes no run."""
    h = PackHost.begin(wopr, folder)
    first = kit_pack(modules)
    said = h.install(first)
    sri = next(w for w in said.split() if w.startswith("sha256-"))
    pinned, (status, got) = h.put_flow(KIT + ".asks", packs={KIT: {"version": "1.0.0", "integrity": sri}})
    expect(status in (200, 201), "%s" % got)
    free, _ = h.put_flow(KIT + ".asks")
    waits = [h.start(pinned), h.start(free)]
    for run in waits:
        h.until(run, "waiting-input")
    m = kit_manifest("1.0.0", description="other bytes")
    other = pack(m, ("kit.wasm", kit(modules)))
    expect("other bytes" in h.install(other, rc=1), "a version keeps its bytes")
    h.cli("packs", "remove", KIT, "1.0.0")
    h.install(other)
    time.sleep(0.7)  # what was looked up is remembered for half a second
    status, got = h.ask("POST", "/v1/runs", {"workflowId": pinned})
    expect(status == 400 and got["error"] == "pack_integrity_failure", "the pin does not hold any more: %s" % got)
    wf = h.flow(KIT + ".echo", packs={KIT: {"version": "1.0.0", "integrity": sri}})
    status, got = h.ask("PUT", "/v1/host/wopr/workflows/" + wf["id"], wf)
    expect(status == 400 and got["error"] == "pack_integrity_failure", "nor may it be put: %s" % got)
    bad = kit_manifest("1.1.0")
    bad["nodes"] = bad["nodes"][:3]  # types that are gone
    h.install(pack(bad, ("kit.wasm", b"\0asm\1\0\0\0")))
    h.kill()
    h = PackHost.begin(wopr, folder, db=h.db)
    for run in waits:
        for key, value in (("first", {"yes": 1}), ("second", 7)):
            end = time.monotonic() + WAIT_S
            while time.monotonic() < end:
                status, got = h.ask("GET", "/v1/runs/" + run)
                if (got.get("interrupt") or {}).get("key") == key:
                    break
                time.sleep(0.02)
            status, got = h.ask("POST", "/v1/runs/%s/interrupts/n" % run, {"resumeValue": value})
            expect(status == 200, "%s" % got)
        expect(out(h.until(run)) == {"before": [1, 2], "first": {"yes": 1}, "second": 7}, "%s" % run)
        complete(h, run)
    h.end()


def yanks_and_revoked_keys_change_no_run_and_stop_new_installs(wopr, modules, folder):
    """PACK-26, PACK-51, PACK-53: in this registry, out of a file, and from another host's registry."""
    h = PackHost.begin(wopr, folder)
    path, key = os.path.join(folder, "kit.tgz"), os.path.join(folder, "k")
    trust = ["--pack-trust", "verified", "--pack-keys", key + ".pub"]
    data = pack(kit_manifest(), ("kit.wasm", kit(modules)))
    with open(path, "wb") as f:
        f.write(data)
    h.cli("packs", "keygen", key)
    env = {**os.environ, "WOPR_API_KEY": KEY}
    p = subprocess.run([wopr, "packs", "publish", path, "--key", key, "--public-key", key + ".pub", "--url", "http://127.0.0.1:%d" % h.port],
                       capture_output=True, text=True, timeout=WAIT_S, env=env)
    expect(p.returncode == 0, "publish: %s%s" % (p.stdout, p.stderr))
    h.cli("packs", "sign", path, "--key", key)
    h.cli("packs", "install", KIT, *trust)
    run = h.run_of(KIT + ".asks")
    h.until(run, "waiting-input")
    status, got = h.ask("POST", "/v1/packs/%s/-/1.0.0/yank" % KIT, {"reason": "leaks"})
    expect(status == 200, "yank: %s" % got)
    status, chain = h.ask("GET", "/v1/packs/%s/-/keychain" % KIT)
    h.cli("packs", "revoke-key", KIT, chain["keys"][0]["kid"])
    other = PackHost.begin(wopr, folder)
    other.cli("packs", "keygen", os.path.join(folder, "unused"))
    for what, host_, args in (("here", h, [KIT + "@1.0.0"]), ("a file", h, [path]), ("elsewhere", other, [KIT + "@1.0.0", "--from", "http://127.0.0.1:%d" % h.port])):
        said = host_.cli("packs", "install", *args, *(trust if what != "elsewhere" else ["--pack-trust", "open"]), rc=1 if what != "elsewhere" else 0)
        expect(("revoked" in said) == (what != "elsewhere"), "%s: %s" % (what, said))  # a yanked version has no signature to be had (PACK-51)
    expect("not signed" in other.cli("packs", "install", KIT + "@1.0.0", "--from", "http://127.0.0.1:%d" % h.port, *trust, rc=1), "verified, elsewhere")
    h.ask("DELETE", "/v1/packs/%s/-/1.0.0/yank" % KIT)
    other.cli("packs", "remove", KIT, "1.0.0")
    said = other.cli("packs", "install", KIT + "@1.0.0", "--from", "http://127.0.0.1:%d" % h.port, *trust, rc=1)
    expect("revoked" in said, "the keychain of the other host says so: %s" % said)
    for key_, value in (("first", 1), ("second", 2)):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and (h.ask("GET", "/v1/runs/" + run)[1].get("interrupt") or {}).get("key") != key_:
            time.sleep(0.02)
        expect(h.ask("POST", "/v1/runs/%s/interrupts/n" % run, {"resumeValue": value})[0] == 200, key_)
    expect(h.until(run)["status"] == "completed", "the run goes on")
    other.end()
    h.end()


def bytes_of_a_pack_that_were_changed_are_not_executed(wopr, modules, folder):
    """P1: in the file, by somebody who may write it."""
    h = PackHost.begin(wopr, folder)
    h.install(kit_pack(modules))
    name, _ = h.put_flow(KIT + ".echo")
    h.end()
    db = sqlite3.connect(os.path.join(h.db, "w.db"))
    (body,), = db.execute("SELECT body FROM pack_blobs").fetchall()
    db.execute("UPDATE pack_blobs SET body = ?", (body[:-9] + b"x" + body[-8:],))
    db.commit()
    db.close()
    h = PackHost.begin(wopr, folder, db=h.db)
    status, got = h.ask("POST", "/v1/runs", {"workflowId": name})
    expect(status == 400 and got["error"] == "pack_integrity_failure", "%d %s" % (status, got))
    p = subprocess.run([wopr, "verify", "--db", os.path.join(h.db, "w.db")], capture_output=True, text=True, timeout=WAIT_S)
    expect(p.returncode != 0 and "packs: its bytes have another digest" in p.stdout + p.stderr, "verify says so: %s%s" % (p.stdout, p.stderr))
    h.cli("packs", "remove", KIT, "1.0.0")
    h.install(kit_pack(modules))
    expect(h.until(h.start(name))["status"] == "completed", "installed again, it is whole")
    h.end()
    p = subprocess.run([wopr, "verify", "--db", os.path.join(h.db, "w.db")], capture_output=True, text=True, timeout=WAIT_S)
    expect(p.returncode == 0, "%s%s" % (p.stdout, p.stderr))


def hosts_and_commands_that_meet_install_once(wopr, modules, folder):
    """PACK-55: two hosts on one file, and commands that install and remove the same pack at once.
    NODE-3: a run whose pack is away at that moment is refused, and one that is taken has it for good."""
    a = PackHost.begin(wopr, folder)
    b = PackHost.begin(wopr, folder, db=a.db)
    path = os.path.join(folder, "kit.tgz")
    with open(path, "wb") as f:
        f.write(kit_pack(modules))
    until, wrong, over = time.monotonic() + (6 if SLOW else 3), [], threading.Event()

    def loop(*args):
        while not over.is_set():
            p = subprocess.run([wopr, "packs", *args, "--db", os.path.join(a.db, "w.db")], capture_output=True, text=True, timeout=WAIT_S)
            if p.returncode not in (0, 1) or "internal" in p.stderr or "corrupt" in p.stderr:
                wrong.append((args, p.returncode, p.stderr))
    threads = [threading.Thread(target=loop, args=("install", path, "--pack-trust", "open")) for _ in range(2)]
    threads += [threading.Thread(target=loop, args=("remove", KIT, "1.0.0")) for _ in range(2)]
    [t.start() for t in threads]
    wf, started = a.flow(KIT + ".reads"), []
    while time.monotonic() < until or not started and time.monotonic() < until + WAIT_S:
        for h in (a, b):
            h.ask("PUT", "/v1/host/wopr/workflows/" + wf["id"], wf)
            status, got = h.ask("POST", "/v1/runs", {"workflowId": wf["id"]})
            expect(status in (201, 400, 404), "%d %s" % (status, got))
            if status == 201:
                started.append(got["runId"])
    over.set()
    [t.join() for t in threads]
    expect(not wrong, "%s" % wrong[:3])
    expect(started, "none was created")
    for run in started:
        snap = a.until(run)
        expect(snap["status"] == "completed", "a run that was taken is executed: %s" % snap)
    a.install(kit_pack(modules), rc=0)
    a.end()
    b.end()
    p = subprocess.run([wopr, "verify", "--db", os.path.join(a.db, "w.db")], capture_output=True, text=True, timeout=WAIT_S)
    expect(p.returncode == 0, "verify: %s%s" % (p.stdout, p.stderr))


def octal(n, width):
    return b"%0*o\0" % (width - 1, n)


def entry(name, data=b"", size=None, kind=b"0", prefix=b"", magic=b"ustar\0" + b"00"):
    """A block of ustar with any lies in it."""
    size = octal(len(data), 12) if size is None else size
    h = name.ljust(100, b"\0") + b"0000644\0" * 3 + size + b"00000000000\0" + b" " * 8 + kind + b"\0" * 100 + magic + b"\0" * 80 + prefix.ljust(155, b"\0") + b"\0" * 12
    h = h[:148] + b"%06o\0 " % sum(h) + h[156:]
    return h + data + b"\0" * (-len(data) % 512)


def archives_of_strangers_are_refused_by_their_code(wopr, modules, folder):
    """PACK-20 to PACK-23, CHK-26, beyond the table of the contract."""
    h = PackHost.begin(wopr, folder)
    name = "vendor.strange.pack"
    good = [("pack.json", json.dumps(manifest(name)).encode()), ("m.wasm", b"\0asm")]
    mine = b"".join(entry(n.encode(), d) for n, d in good)
    end = b"\0" * 1024
    gz = lambda t: gzip.compress(t, mtime=0)
    with_names = lambda *names: gz(mine + b"".join(entry(n, b"x") for n in names) + end)
    flat = gz(b"\0" * (1 << 20))
    cases = [
        (with_names(b"M.WASM"), "tarball_path_traversal"), (with_names("\u00c5".encode(), "A\u030a".encode()), "tarball_path_traversal"),
        (with_names("\ufb01".encode(), b"fi"), None), (with_names("\u00df".encode(), b"ss"), "tarball_path_traversal"),
        (with_names(b"pack.json/x"), "tarball_path_traversal"), (with_names(b"PACK.JSON"), "tarball_path_traversal"),
        (with_names(b"a\\..\\b"), None), (with_names(b"c:/x"), None), (with_names(b"a/./b"), None), (with_names(b"\xff"), "tarball_path_traversal"),
        (with_names(b"a//b"), None), (with_names(b"."), None), (with_names(b"a/../../b"), "tarball_path_traversal"), (with_names(b"/etc/x"), "tarball_path_traversal"),
        (gz(mine + entry(b"l", kind=b"2") + end), "tarball_path_traversal"), (gz(mine + entry(b"l", kind=b"1") + end), "tarball_path_traversal"),
        (gz(mine + entry(b"d", kind=b"3") + end), "tarball_path_traversal"), (gz(mine + entry(b"d", kind=b"6") + end), "tarball_path_traversal"),
        (gz(mine + entry(b"s", kind=b"S") + end), "tarball_tar_parse_failed"), (gz(mine + entry(b"g", b"13 path=../x\n", kind=b"g") + end), None),
        (gz(mine + entry(b"n", size=b"\xff" * 12) + end), "tarball_tar_parse_failed"),
        (gz(mine + entry(b"n", size=b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7) + end), None),
        (gz(mine + entry(b"n", size=octal(1 << 33, 12)) + end), None), (gz(mine + end + mine + end), None), (gz(mine), None), (gz(mine[:-100]), None),
        (gz(mine + end) + gz(mine + end), "tarball_gunzip_failed"), (gz(mine + end) + b"x", "tarball_gunzip_failed"), (gz(mine + end)[:-4], "tarball_gunzip_failed"),
        # bombs: by one member, by members one after another, by names, by entries, by depth
        (gz(mine + entry(b"z", b"\0" * (60 << 20)) + end), "tarball_too_large"), (flat * 400, None), (gz(mine + entry(b"z", b"\0" * (30 << 20)) + end), "tarball_too_large"),
        (gz(mine + b"".join(entry(b"%d" % i) for i in range(5000)) + end), "tarball_too_large"), (with_names(b"/".join([b"d"] * 40)), "tarball_path_traversal"),
        (gz(mine + entry(b"x" * 99, b"n" * (1 << 20), kind=b"L") + entry(b"y") + end), None),
        (gz(mine + entry(b"x", b"9999999 path=x\n", kind=b"x") + entry(b"y") + end), None)]
    for i, (data, code) in enumerate(cases):
        status, got = h.publish(name, "1.0.0", data)
        expect(status == 400 and got["error"].startswith("tarball_") and code in (None, got["error"]) or (code is None and status == 201), "%d: %d %s" % (i, status, got))
        if status == 201:
            name = "vendor.strange.pack%d" % i
            good[0] = ("pack.json", json.dumps(manifest(name)).encode())
    with open("/proc/%d/status" % h.p.pid, encoding="ascii") as f:
        peak = int(next(x for x in f if x.startswith("VmHWM")).split()[1])
    expect(SLOW or peak < 400 << 10, "the host had %d MiB" % (peak >> 10))
    h.end()


def manifests_of_strangers_are_judged_in_bounded_work(wopr, modules, folder):
    """Schemas, patterns and lists that cost a careless reader minutes."""
    h = PackHost.begin(wopr, folder)
    n = [0]

    def publish(m, *files):
        n[0] += 1
        m["name"] = "vendor.strange.m%d" % n[0]
        began = time.process_time(), cpu(h.p.pid)
        status, got = h.publish(m["name"], "1.0.0", pack(m, ("m.wasm", b"\0asm"), *files))
        return status, got.get("error"), cpu(h.p.pid) - began[1]
    base = manifest("x")
    many = [{**node("vendor.s.t%d" % i), "configSchemaRef": "s.json"} for i in range(1024)]
    nested = b'{"not":' * 5000 + b"{}" + b"}" * 5000
    evil = json.dumps({"type": "string", "pattern": "^(a+)+$"}).encode()
    refs = json.dumps({"$defs": {"d%d" % i: {"allOf": [{"$ref": "#/$defs/d%d" % (i + 1)}] * 2} for i in range(60)} | {"d60": {}}, "$ref": "#/$defs/d0"}).encode()
    loop = json.dumps({"$ref": "#"}).encode()
    away = json.dumps({"$ref": "http://127.0.0.1:1/x"}).encode()
    word = json.dumps({"pattern": "(" * 3000 + ")" * 3000}).encode()
    big = json.dumps({"enum": list(range(40000))}).encode()
    uniq = json.dumps({"uniqueItems": True, "enum": [[i] for i in range(9000)]}).encode()
    cases = [({**base, "nodes": many}, [("s.json", s)]) for s in (nested, evil, refs, loop, away, word, big, uniq)]
    cases += [({**base, "nodes": [{**node("vendor.s.a"), "capabilities": list(range(30000))}]}, []),
              ({**base, "nodes": [{**node("vendor.s.a"), "capabilities": ["x%d" % i for i in range(20000)]}]}, []),
              ({**base, "nodes": [node("vendor.s.n%d" % i) for i in range(2500)]}, []),
              ({**base, "nodes": [], "agents": [{"agentId": "x.%d" % i} for i in range(3000)]}, []),
              ({**base, "dependencies": {"vendor.a.b%d" % i: "||".join(["^1.2.3 - 4"] * 20) for i in range(800)}}, []),
              ({**base, "engines": {"openwop": "||".join([">=1.0.0 <2.0.0"] * 2000)}}, []),
              ({**base, "keywords": ["k" * 64] * 3000}, [])]
    for i, (m, files) in enumerate(cases):
        status, code, spent = publish(m, *files)
        expect(status in (201, 400), "%d: %s" % (i, code))
        expect(SLOW or spent < 5, "%d: %.1f s of processor time (%s)" % (i, spent, code))
    h.end()


def definitions_of_many_types_cost_what_they_are_long(wopr, modules, folder):
    """PACK-64: as many types of workers as a tenant may have, beside pins that are long: looked up at the put and for each run."""
    h = PackHost.begin(wopr, folder)
    h.install(kit_pack(modules))
    types = ["t.a%d" % i for i in range(1000)]
    for t in types:
        status, got = h.ask("POST", "/v1/host/wopr/worker-types", {"typeId": t})
        expect(status in (200, 201), "%d %s" % (status, got))
    nodes = [{"id": "n%d" % i, "typeId": t, "name": "N", "position": {"x": 0, "y": 0}, "config": {}, "inputs": {}} for i, t in enumerate(types)]
    wf = {"id": "many", "name": "W", "version": "1", "nodes": nodes, "edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {},
          "packs": {KIT: {"version": "1.0.0", "why": ["x"] * 150000}}}
    began = cpu(h.p.pid)
    status, got = h.ask("PUT", "/v1/host/wopr/workflows/many", wf)
    put = cpu(h.p.pid) - began
    expect(status in (200, 201), "%d %s" % (status, got))
    expect(SLOW or put < 1, "%.1f s of processor time for a put" % put)
    h.end()


def cpu(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def a_program_that_lies_as_a_worker_fails_its_nodes_alone(wopr, modules, folder):
    """B4: half messages, reports of other kinds, bounds and effects that cannot be; the log stays whole."""
    path = os.path.join(folder, "liar")
    with open(path, "w", encoding="utf-8") as f:
        f.write(LIAR % (sys.executable, {t: "%s.%s" % (KIT, t) for t in KIT_TYPES}))
    os.chmod(path, 0o755)
    h = PackHost.begin(wopr, folder, "--wasm-program", path, "--wasm-time-ms", "300")
    h.install(kit_pack(modules))
    runs = {}
    for t in KIT_TYPES:
        runs[t] = h.run_of("%s.%s" % (KIT, t))
    for t, run in runs.items():
        snap = h.until(run)
        expect(snap["status"] in ("failed", "completed"), "%s: %s" % (t, snap))
        events = h.events(run)
        expect([e["sequence"] for e in events] == list(range(len(events))), "gaps: %s" % t)
        if t == "echo":
            expect(snap["status"] == "completed", "the host can still be told the truth: %s" % snap)
    expect(h.ask("GET", "/v1/host/wopr/nodes")[0] == 200, "and serves")
    h.end()
    p = subprocess.run([wopr, "verify", "--db", os.path.join(h.db, "w.db")], capture_output=True, text=True, timeout=WAIT_S)
    expect(p.returncode == 0, "verify: %s%s" % (p.stdout, p.stderr))


LIAR = """#!%s
import json, os, struct, sys, time
TYPES = %r
def get(n):
    b = b""
    while len(b) < n:
        more = os.read(0, n - len(b))
        if not more:
            os._exit(0)
        b += more
    return b
def say(o):
    t = o if isinstance(o, bytes) else json.dumps(o).encode()
    os.write(1, struct.pack("<IIII", 0x31425357, 3, len(t), 0) + t)
fine = {"outcome": "response", "response": {"outcome": "completed", "output": {"x": 1}}, "effects": []}
lies = {
    "echo": fine, "reads": {"outcome": "failed"}, "writes": {"outcome": "failed", "code": "run_timeout", "message": "\\ud800"},
    "asks": {"outcome": "failed", "code": "x", "cap": {"kind": "wasm-memory", "limit": 10, "observed": -4}},
    "suspends": {"outcome": "failed", "code": "x", "cap": {"kind": "nonsense", "limit": 9223372036854775807, "observed": 1}},
    "fails": {"outcome": "interrupt", "interrupt": {"kind": "approval", "key": "k" * 300, "data": {}}, "calls": [[1, 2]], "effects": []},
    "draws": {"outcome": "interrupt", "interrupt": [], "calls": []},
    "spins": {**fine, "effects": [["set", "", 1], ["set", "_approvalVotes:n", 1]]},
    "fills": {**fine, "effects": [["write", "x" * 500, 1]]}, "grows": {**fine, "effects": [["kill", "x", 1]]},
    "recurs": {**fine, "effects": [["set", "v", 1]] * 5000}, "outside": {**fine, "effects": [["log", "shout", "x"]]},
    "outsideImport": {**fine, "response": {"outcome": "completed", "output": {"a": "x" * 300000}}},
    "noJson": b'{"outcome":', "noOutcome": b"[]", "huge": b"x" * 600000, "counts": b'{"outcome":"response","response":{"outcome":"completed"},"outcome":"failed"}',
    "floods": None, "judged": {"outcome": "failed", "code": "c" * 100000, "message": "m" * 300000}}
while True:
    magic, kind, n, m = struct.unpack("<IIII", get(16))
    head, body = json.loads(get(n)), get(m)
    if kind == 1:
        say({"outcome": "loaded", "pack": "vendor.test.kit", "types": list(TYPES.values())})
        continue
    lie = lies[head["node"].rsplit(".", 1)[1]]
    if lie is None:
        os.write(1, struct.pack("<IIII", 0x31425357, 3, 900, 0) + b"{")
        time.sleep(60)
    say(lie)
"""


TESTS = [nodes_of_a_remote_pack_are_tools_of_its_server, the_operator_names_the_server_and_not_the_pack,
         a_kill_calls_no_tool_twice_unless_it_is_pure, a_node_has_the_secrets_that_its_pack_requires_or_does_not_start,
         what_cannot_be_loaded_is_told_when_it_is_put, a_template_is_built_tried_and_installed,
         kills_of_host_and_workers_lose_and_double_nothing, no_worker_outlives_its_host, a_pack_is_for_the_tenant_that_has_it,
         a_run_goes_by_the_pack_that_it_began_with, yanks_and_revoked_keys_change_no_run_and_stop_new_installs,
         bytes_of_a_pack_that_were_changed_are_not_executed, hosts_and_commands_that_meet_install_once,
         definitions_of_many_types_cost_what_they_are_long, archives_of_strangers_are_refused_by_their_code, manifests_of_strangers_are_judged_in_bounded_work,
         a_program_that_lies_as_a_worker_fails_its_nodes_alone]


def play(label, tests):
    """As the command line says: PROGRAM MODULES [TEST...].  The exit status."""
    wopr, modules, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    for t in tests:
        if names and t.__name__ not in names:
            continue
        began, before = time.monotonic(), len(FAILED)
        with tempfile.TemporaryDirectory() as folder:
            t(wopr, modules, folder)
        print("%s %-62s %5.1f s" % ("ok  " if len(FAILED) == before else "FAIL", t.__name__, time.monotonic() - began), flush=True)
    print("%s: %d failed" % (label, len(FAILED)))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(play("packs", TESTS))
