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


TESTS = [nodes_of_a_remote_pack_are_tools_of_its_server, the_operator_names_the_server_and_not_the_pack,
         a_kill_calls_no_tool_twice_unless_it_is_pure, a_node_has_the_secrets_that_its_pack_requires_or_does_not_start,
         what_cannot_be_loaded_is_told_when_it_is_put, a_template_is_built_tried_and_installed]


def main():
    wopr, modules, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    for t in TESTS:
        if names and t.__name__ not in names:
            continue
        began, before = time.monotonic(), len(FAILED)
        with tempfile.TemporaryDirectory() as folder:
            t(wopr, modules, folder)
        print("%s %-62s %5.1f s" % ("ok  " if len(FAILED) == before else "FAIL", t.__name__, time.monotonic() - began), flush=True)
    print("packs: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
