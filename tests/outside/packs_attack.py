#!/usr/bin/env python3
"""
packs_attack.py: what a hostile publisher, reader, module or moment does to the registry and to runs of packs, over HTTP and by commands
alone: publishers that meet, kills in every change, marks and manifests without end, bodies and answers that nobody finishes, versions that
disappear while they are installed, modules beside forks and loops (30-nodes sections 10, 11).
usage: packs_attack.py WOPR MODULES [NAME...]    (names of the functions below; default all)
"""
import base64
import datetime
import hashlib
import http.client
import json
import os
import random
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

from mcp import err, out
from packs import KIT, KIT_TYPES, SLOW, PackHost, complete, cpu, kit, kit_manifest, kit_pack, manifest, pack, play
from run import KEY, WAIT_S, expect

NAME = "vendor.acme.tools"


def plain(version="1.0.0", name=NAME, **more):
    return pack(manifest(name, version, **more), ("m.wasm", b"\0asm"))


def big_manifest(name, version):
    """Nearly as long as it may be, and short when it is packed."""
    return plain(version, name, dependencies={"vendor.acme.d%d" % i: "^1.0.0" for i in range(7500)})


class Line:
    """One connection that asks again and again."""

    def __init__(self, h, key=KEY):
        self.h, self.key, self.c = h, key, None

    def ask(self, method, path, body=None, kind="application/json", **headers):
        for again in range(2):
            try:
                if not self.c:
                    self.c = http.client.HTTPConnection("127.0.0.1", self.h.port, timeout=WAIT_S)
                if isinstance(body, dict):
                    body = json.dumps(body).encode()
                head = {"Content-Type": kind, **headers}
                if self.key:
                    head["Authorization"] = "Bearer " + self.key
                self.c.request(method, path, body, head)
                r = self.c.getresponse()
                data = r.read()
                return r.status, json.loads(data) if r.getheader("Content-Type", "").startswith("application/json") else data
            except (http.client.HTTPException, OSError):
                self.c = None
                if again:
                    raise

    def put(self, version, data, name=NAME, **headers):
        return self.ask("PUT", "/v1/packs/%s/-/%s.tgz" % (name, version), data, "application/gzip", **headers)


def tenant_key(h, tenant, scopes="all"):
    said = h.cli("keys", "create", "--tenant", tenant, "--scopes", scopes, "--no-expiry")
    return next(w for w in said.split() if w.startswith("hk_"))


def verified(h):
    p = subprocess.run([h.wopr, "verify", "--db", os.path.join(h.db, "w.db")], capture_output=True, text=True, timeout=WAIT_S)
    expect(p.returncode == 0, "verify: %s%s" % (p.stdout, p.stderr))


def at_once(*acts):
    """Each in a thread of its own, begun together; what they returned."""
    gate, got = threading.Barrier(len(acts)), [None] * len(acts)

    def run(i):
        gate.wait()
        try:
            got[i] = acts[i]()
        except Exception as e:  # pylint: disable=broad-except
            got[i] = e
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(acts))]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return got


def rows(h, sql):
    db = sqlite3.connect(os.path.join(h.db, "w.db"), timeout=30)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


# --- publishers that meet ---

def of_publishers_that_meet_one_wins_and_bytes_never_mix(wopr, modules, folder):
    """PACK-3, PACK-37, PACK-55: by one tenant and by two, on two hosts of one file."""
    a = PackHost.begin(wopr, folder)
    b = PackHost.begin(wopr, folder, db=a.db)
    other = tenant_key(a, "other")
    for i in range(6 if SLOW else 20):
        version = "1.0.%d" % i
        bodies = [plain(version, author="n%d" % (k % 3)) for k in range(6)]
        lines = [Line(h) for h in (a, b) * 3]
        got = at_once(*[lambda k=k: lines[k].put(version, bodies[k]) for k in range(6)])
        codes = [g[0] if isinstance(g, tuple) else g for g in got]
        expect(all(c in (200, 201, 409) for c in codes) and codes.count(201) == 1, "%s: %s" % (version, got))
        won = bodies[codes.index(201)]
        for k in range(6):
            expect((codes[k] == 409) == (bodies[k] != won), "%s: %d %s" % (version, k, codes))
            expect(codes[k] != 409 or got[k][1]["error"] == "conflict", "%s" % (got[k],))
        expect(Line(b, None).ask("GET", "/v1/packs/%s/-/%s.tgz" % (NAME, version))[1] == won, "%s has other bytes" % version)
        name = "vendor.org%d.x" % i  # the first claim
        data = plain(name=name)
        got = at_once(lambda: Line(a).put("1.0.0", data, name), lambda: Line(b, other).put("1.0.0", data, name))
        codes = sorted(g[0] for g in got)
        expect(codes == [201, 403], "%s: %s" % (name, got))
        key = (KEY, other)[[g[0] for g in got].index(201)]
        expect(Line(a, key).put("1.1.0", plain("1.1.0", name), name)[0] == 201, "who won has the name")
    a.end()
    b.end()
    verified(a)


def a_kill_in_any_change_leaves_it_whole_or_undone(wopr, modules, folder):
    """PACK-55, P1, P5: publish, mark, unpublish, install, remove; what was acknowledged is there."""
    rng = random.Random(int(os.environ.get("WOPR_SEED", "11")))
    h = PackHost.begin(wopr, folder)
    path = os.path.join(folder, "kit.tgz")
    with open(path, "wb") as f:
        f.write(kit_pack(modules))

    def command(*args):
        p = subprocess.Popen([wopr, "packs", *args, "--db", os.path.join(h.db, "w.db")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.04)
        p.kill()
        p.wait(WAIT_S)
    at = "/v1/packs/%s/-/" % NAME
    expect(Line(h).put("1.0.0", plain())[0] == 201, "to begin with")
    for i in range(8 if SLOW else 24):
        version, body = "2.0.%d" % i, plain("2.0.%d" % i)
        acts = [lambda: Line(h).put(version, body), lambda: Line(h).ask("POST", at + "1.0.0/yank", {"reason": "r%d" % i}),
                lambda: Line(h).ask("DELETE", at + "1.0.0/yank"), lambda: Line(h).ask("DELETE", at + "2.0.%d" % (i - 3)),
                lambda: command("install", path, "--pack-trust", "open"), lambda: command("remove", KIT, "1.0.0")]
        act, got = i % len(acts), []
        t = threading.Thread(target=lambda: got.extend(at_once(acts[act])))
        t.start()
        time.sleep(rng.random() * 0.012)
        h.kill()
        t.join()
        verified(h)
        h = PackHost.begin(wopr, folder, db=h.db)
        done = got and isinstance(got[0], tuple) and got[0][0] in (200, 201)
        if act == 0:
            status, data = Line(h, None).ask("GET", at + version + ".tgz")
            expect(status == 200 if done else status in (200, 404), "publish: %s then %d" % (got, status))
            expect(status != 200 or data == body, "other bytes")
            expect(Line(h).put(version, body)[0] == (200 if status == 200 else 201), "and again")
        elif act in (1, 2) and done:
            meta = Line(h, None).ask("GET", at + "1.0.0.json")[1]
            expect(("yanked" in meta) == (act == 1), "%d: %s" % (act, meta))
        elif act == 3 and done:
            expect(Line(h, None).ask("GET", at + "2.0.%d.tgz" % (i - 3))[0] == 404, "it was taken back")
    h.install(kit_pack(modules))
    expect(h.until(h.run_of(KIT + ".echo"))["status"] == "completed", "and a run")
    h.end()
    verified(h)


# --- names, versions and marks without end ---

def what_is_said_of_versions_never_hides_the_pack(wopr, modules, folder):
    """PACK-46, PACK-50, PACK-51: reasons are bounded together, and a short one always has room."""
    h = PackHost.begin(wopr, folder)
    line, at = Line(h), "/v1/packs/%s/-/" % NAME
    refused, n = 0, 60 if SLOW else 360
    for i in range(n):
        expect(line.put("1.0.%d" % i, plain("1.0.%d" % i))[0] == 201, "publish %d" % i)
        for mark, body in (("deprecate", {"reason": "\1" * 2400}), ("yank", {"reason": "\1" * 2400})):
            status, got = line.ask("POST", at + "1.0.%d/%s" % (i, mark), body)
            expect(status in (200, 409), "%d %s" % (status, got))
            if status == 409:
                refused += 1
                expect(got["error"] == "conflict" and "fewer words" in got["message"], "%s" % got)
                status, got = line.ask("POST", at + "1.0.%d/%s" % (i, mark), {"reason": "leaks its key"})
                expect(status == 200, "a short one: %d %s" % (status, got))
    expect(SLOW or refused > 0, "there is no end of words")
    status, got = Line(h, None).ask("GET", "/v1/packs/" + NAME)
    expect(status == 200 and len(got["versions"]) == n, "the catalog is there: %d %s" % (status, str(got)[:200]))
    status, got = line.ask("DELETE", at + "1.0.7/yank")
    expect(status == 200, "%s" % got)
    said = h.cli("packs", "install", NAME + "@^1", "--pack-trust", "open")
    expect("1.0.7" in said, "a range finds the one that is left: %s" % said)
    h.end()


def the_same_mark_again_is_no_entry(wopr, modules, folder):
    """PACK-39, PACK-40: idempotent; who says the same a hundred times leaves one entry, and is told when it was said."""
    h = PackHost.begin(wopr, folder)
    line, at = Line(h), "/v1/packs/%s/-/1.0.0/" % NAME
    expect(line.put("1.0.0", plain())[0] == 201, "publish")
    first = line.ask("POST", at + "yank", {"reason": "x", "advisoryUrl": "https://a.example/1"})
    for _ in range(20):
        expect(line.ask("POST", at + "yank", {"advisoryUrl": "https://a.example/1", "reason": "x"}) == first, "the same is another")
        line.ask("POST", at + "deprecate", {"reason": "y"})
    expect(line.ask("POST", at + "deprecate", {"reason": "z"})[1]["deprecation"]["reason"] == "z", "another is another")
    n = rows(h, "SELECT action, count(*) FROM pack_history GROUP BY action ORDER BY action")
    expect(n == [("deprecated", 2), ("published", 1), ("yanked", 1)], "%s" % n)
    h.end()


def a_long_manifest_costs_only_who_reads_it(wopr, modules, folder):
    """PACK-33, PACK-38: readers of a catalog, publishers of other versions; nothing of what was taken back is kept."""
    h = PackHost.begin(wopr, folder)
    line, n = Line(h), 12 if SLOW else 60
    for i in range(n):
        expect(line.put("1.0.%d" % i, big_manifest(NAME, "1.0.%d" % i))[0] == 201, "publish")
        expect(line.put("1.0.%d" % i, plain("1.0.%d" % i, NAME + "2"), NAME + "2")[0] == 201, "publish")

    def cost(name):
        reader, began = Line(h, None), cpu(h.p.pid)
        for _ in range(100):
            expect(reader.ask("GET", "/v1/packs/" + name)[0] == 200, "catalog")
        return cpu(h.p.pid) - began
    short, long = cost(NAME + "2"), cost(NAME)
    expect(SLOW or long < 3 * short + 0.1, "%.2f s of processor time for a hundred catalogs, %.2f s of short manifests" % (long, short))
    for i in range(n):
        expect(line.ask("DELETE", "/v1/packs/%s/-/1.0.%d" % (NAME, i))[0] == 200, "unpublish")
    (left,), = rows(h, "SELECT coalesce(sum(length(manifest)), 0) FROM pack_texts WHERE name = '%s'" % NAME)
    expect(left == 0, "%d bytes of manifests that were taken back" % left)
    expect(Line(h, None).ask("GET", "/v1/packs/" + NAME)[0] == 404, "the name has no version")
    h.end()
    verified(h)


def a_tenant_has_room_for_so_many_bytes_and_gets_it_back(wopr, modules, folder):
    """Bounds by bytes: a manifest counts, and what is taken back does not."""
    h = PackHost.begin(wopr, folder, "--tenant-pack-bytes-max", "1000000")
    line, there = Line(h), []
    for i in range(6):
        status, got = line.put("1.0.%d" % i, big_manifest(NAME, "1.0.%d" % i))
        if status == 201:
            there.append(i)
    expect(len(there) == 3, "%s" % there)
    expect(status == 409 and got["error"] == "conflict" and got["details"]["bytesMax"] == 1000000, "%s" % got)
    expect(Line(h, tenant_key(h, "other")).put("1.0.0", plain(name="vendor.other.x"), "vendor.other.x")[0] == 201, "others have their own")
    for _ in range(3):
        expect(line.ask("DELETE", "/v1/packs/%s/-/1.0.%d" % (NAME, there.pop()))[0] == 200, "unpublish")
        version = "2.%d.0" % len(there)
        expect(line.put(version, big_manifest(NAME, version))[0] == 201, "there is room again")
        expect(line.ask("DELETE", "/v1/packs/%s/-/%s" % (NAME, version))[0] == 200, "unpublish")
    h.end()
    verified(h)


def what_was_taken_back_is_found_no_more(wopr, modules, folder):
    """PACK-38, PACK-49: neither by its words nor by its description."""
    h = PackHost.begin(wopr, folder)
    line, search = Line(h), lambda q: [r["name"] for r in Line(h, None).ask("GET", "/v1/packs/-/search?q=" + q)[1]["results"]]
    for version, says, word in (("1.0.0", "a harmless one", "meadow"), ("1.1.0-rc.1", "nearly", "brook"), ("1.1.0", "the key is hunter2", "canary")):
        expect(line.put(version, plain(version, description=says, keywords=[word]))[0] == 201, "publish")
    expect(search("canary") == search("hunter2") == [NAME] and search("meadow") == [], "the newest speaks for the name")
    expect(line.ask("DELETE", "/v1/packs/%s/-/1.1.0" % NAME)[0] == 200, "unpublish")
    expect(search("canary") == search("hunter2") == [] and search("brook") == [NAME], "its words are gone")
    expect(Line(h, None).ask("GET", "/v1/packs/" + NAME)[1]["description"] == "nearly", "and its description")
    for version in ("1.0.0", "1.1.0-rc.1"):
        expect(line.ask("DELETE", "/v1/packs/%s/-/%s" % (NAME, version))[0] == 200, "unpublish")
    expect(search("brook") == search("meadow") == search("") == [], "and all of it")
    h.end()
    verified(h)


# --- bodies and answers that nobody finishes ---

def peak(h):
    with open("/proc/%d/status" % h.p.pid, encoding="ascii") as f:
        return int(next(x for x in f if x.startswith("VmRSS")).split()[1]) >> 10


def head(h, method, path, key, length):
    s = socket.create_connection(("127.0.0.1", h.port), WAIT_S)
    s.sendall(("%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/gzip\r\nContent-Length: %d\r\n\r\n"
               % (method, path, "Authorization: Bearer %s\r\n" % key if key else "", length)).encode())
    return s


def status_of(s):
    s.settimeout(WAIT_S)
    data = b""
    while b"\r\n" not in data:
        more = s.recv(4096)
        if not more:
            return 0
        data += more
    return int(data.split()[1])


def who_has_no_credential_holds_no_body(wopr, modules, folder):
    """Section 10.6, 1 and 5: large and slow uploads without a key, with one that may not publish, with a good one."""
    h = PackHost.begin(wopr, folder, "--memory-bytes", str(64 << 20), "--auth-failure-rate", "0")
    before, path, size = peak(h), "/v1/packs/%s/-/1.0.0.tgz" % NAME, 9 << 20
    reader = tenant_key(h, "other", "runs:read")
    for key, want in ((None, 401), ("hk_test_nobody", 401), (reader, 403)):
        held = [head(h, "PUT", path, key, size) for _ in range(40)]
        for s in held:
            expect(status_of(s) == want, "%s is refused before its body" % key)
        expect(peak(h) - before < 40, "%d MiB for bodies of nobody" % (peak(h) - before))
        [s.close() for s in held]
    flood = tenant_key(h, "flood")
    held = [head(h, "PUT", path, flood, size) for _ in range(40)]
    for s in held:
        try:
            s.sendall(b"x" * (4 << 20))
        except OSError:
            pass
    began = time.monotonic()
    expect(Line(h).put("1.0.0", plain())[0] == 201, "another tenant publishes")
    expect(Line(h).put("1.1.0", big_manifest(NAME, "1.1.0"))[0] == 201, "also what is long")
    expect(Line(h, None).ask("GET", "/v1/packs/" + NAME)[0] == 200, "and everybody reads")
    expect(SLOW or time.monotonic() - began < 5, "%.1f s" % (time.monotonic() - began))
    expect(SLOW or peak(h) - before < 200, "%d MiB for slow uploads" % (peak(h) - before))
    [s.close() for s in held]
    h.end()


def refused(s):
    try:
        return s.recv(4096, socket.MSG_DONTWAIT | socket.MSG_PEEK).startswith(b"HTTP/1.1 503")
    except BlockingIOError:
        return False


def who_does_not_read_takes_no_room_from_others(wopr, modules, folder):
    """Tarballs asked for without a credential and never read; other addresses, and tenants, read on."""
    h = PackHost.begin(wopr, folder, "--memory-bytes", str(128 << 20))
    data = pack(manifest(NAME), ("m.wasm", b"\0asm"), ("README.md", random.Random(1).randbytes(900 << 10)))
    expect(Line(h).put("1.0.0", data)[0] == 201, "publish")
    before, path = peak(h), "/v1/packs/%s/-/1.0.0.tgz" % NAME
    held = [head(h, "GET", path, None, 0) for _ in range(200)]
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end and not any(refused(s) for s in held):
        time.sleep(0.05)
    expect(time.monotonic() < end, "there is a bound")
    other = http.client.HTTPConnection("127.0.0.1", h.port, timeout=WAIT_S, source_address=("127.0.0.77", 0))
    other.request("GET", path)
    r = other.getresponse()
    expect(r.status == 200 and r.read() == data, "another address reads: %d" % r.status)
    expect(Line(h).put("1.2.0", plain("1.2.0"))[0] == 201, "a tenant publishes")
    expect(Line(h).ask("GET", "/v1/packs")[0] == 200, "and reads")
    expect(SLOW or peak(h) - before < 250, "%d MiB for answers that nobody reads" % (peak(h) - before))
    [s.close() for s in held]
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end and Line(h, None).ask("GET", path)[0] != 200:
        time.sleep(0.1)
    expect(time.monotonic() < end, "they have gone, and there is room again")
    h.end()


# --- versions that disappear while they are installed ---

def an_install_has_the_whole_version_or_says_that_it_is_gone(wopr, modules, folder):
    """PACK-38, PACK-51: yanked, taken back and published anew beneath installs from this registry and from another host."""
    h = PackHost.begin(wopr, folder)
    far = PackHost.begin(wopr, folder)
    line, at, until, wrong = Line(h), "/v1/packs/%s/-/" % NAME, time.monotonic() + (8 if SLOW else 4), []

    def install(host_, *args):
        while time.monotonic() < until:
            p = subprocess.run([wopr, "packs", "install", NAME, *args, "--pack-trust", "open", "--db", os.path.join(host_.db, "w.db")],
                               capture_output=True, text=True, timeout=WAIT_S)
            said = p.stdout + p.stderr
            if p.returncode not in (0, 1) or (p.returncode == 1 and not any(w in said for w in (
                    "no version", "not_found", "no such", "no pack", "not here", "other bytes", "the registry has no"))):
                wrong.append((args, p.returncode, said))
    threads = [threading.Thread(target=install, args=(h,)), threading.Thread(target=install, args=(far, "--from", "http://127.0.0.1:%d" % h.port))]
    [t.start() for t in threads]
    n = 0
    while time.monotonic() < until:
        version = "1.0.%d" % n
        expect(line.put(version, plain(version))[0] == 201, "publish")
        for method, rest, body in (("POST", "/yank", {"reason": "x"}), ("DELETE", "/yank", None), ("DELETE", "", None)):
            expect(line.ask(method, at + version + rest, body)[0] == 200, "%s %s" % (method, rest))
        n += 1
    [t.join() for t in threads]
    expect(not wrong, "%s" % wrong[:3])
    expect(n > 5, "%d versions" % n)
    for x in (h, far):
        x.end()
        verified(x)


def of_a_version_a_tenant_sees_one_set_of_bytes(wopr, modules, folder):
    """PACK-63: one for all tenants and one of the tenant with other bytes; types that another tenant has."""
    h = PackHost.begin(wopr, folder)
    mine, other = kit_pack(modules), pack(kit_manifest("1.0.0", description="other"), ("kit.wasm", kit(modules)))
    h.install(mine)
    expect("other bytes" in h.install(other, "--shared", rc=1), "for all, too")
    h.install(mine, "--shared")
    expect("other bytes" in h.install(other, "--tenant", "ada", rc=1), "a tenant, beside all")
    h.cli("packs", "remove", KIT, "1.0.0")
    h.cli("packs", "remove", KIT, "1.0.0", "--shared")
    h.install(mine, "--tenant", "ada")
    thief = manifest("vendor.thief.kit", "9.0.0", [{"typeId": KIT + ".echo", "version": "1.0.0", "category": "data", "role": "pure"}])
    said = h.install(pack(thief, ("m.wasm", b"\0asm")), "--shared", rc=1)
    expect("already" in said, "a type of another tenant's pack: %s" % said)
    h.end()


# --- keys ---

def sign(folder, key, data):
    path = os.path.join(folder, "s%d.tgz" % time.monotonic_ns())
    with open(path, "wb") as f:
        f.write(data)
    p = subprocess.run([PackHost.wopr, "packs", "sign", path, "--key", key], capture_output=True, text=True, timeout=WAIT_S)
    expect(p.returncode == 0, p.stderr)
    with open(path + ".sig", "rb") as f:
        return base64.b64encode(f.read()).decode()


def text_sign(folder, key, text):
    """openssl signs a text with a key of wopr packs keygen."""
    path = os.path.join(folder, "text")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    p = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", path], capture_output=True, timeout=WAIT_S)
    expect(p.returncode == 0, p.stderr)
    return base64.b64encode(p.stdout).decode()


def a_namespace_outlives_its_keys(wopr, modules, folder):
    """PACK-26, PACK-42, PACK-43, PACK-53: revoked keys sign nothing, never return, and may be followed by others."""
    h = PackHost.begin(wopr, folder)
    keys = [os.path.join(folder, "k%d" % i) for i in range(3)]
    for k in keys:
        h.cli("packs", "keygen", k)
    public = [open(k + ".pub", encoding="ascii").read() for k in keys]
    flat = ["".join(p.split("\n")[1:-2]) for p in public]
    line, at = Line(h), "/v1/packs/%s/-/" % NAME

    def put(version, i):
        data = plain(version)
        return line.put(version, data, **{"X-Pack-Signing-Method": "manual", "X-Pack-Signature": sign(folder, keys[i], data), "X-Pack-Public-Key": flat[i]})
    expect(put("1.0.0", 0)[0] == 201, "the first key")

    def rotate(kid, i, old, begins):
        return line.ask("POST", at + "keychain/rotate", {"kid": kid, "publicKey": flat[i], "validFrom": begins,
                                                          "rotationProof": text_sign(folder, keys[old], kid + flat[i] + begins)})
    status, got = rotate("late", 1, 0, "2206-01-01T00:00:00Z")
    expect(status == 400 and "year" in got["message"], "a key for our grandchildren: %d %s" % (status, got))
    kid = line.ask("GET", at + "keychain")[1]["keys"][0]["kid"]
    h.cli("packs", "revoke-key", NAME, kid)
    status, got = put("1.1.0", 0)
    expect(status in (400, 409), "a revoked key comes back: %d %s" % (status, got))
    status, got = put("1.1.0", 1)
    expect(status == 201 and got["signed"], "all were revoked: it begins again: %d %s" % (status, got))
    expect(put("1.2.0", 2)[0] == 400, "only then")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    expect(rotate("k2", 2, 1, now)[0] == 200, "and is rotated as ever")
    time.sleep(2)
    expect(put("1.3.0", 2)[0] == 201, "the next one")
    # revoked while publishes are judged: none of it is signed by then
    stop, seen = threading.Event(), []

    def flood():
        mine, n = Line(h), 0
        data = [big_manifest(NAME, "3.0.%d" % i) for i in range(30)]
        signed_ = [sign(folder, keys[2], d) for d in data]
        ready.set()
        while not stop.is_set() and n < 30:
            status, got = mine.put("3.0.%d" % n, data[n], **{"X-Pack-Signing-Method": "manual", "X-Pack-Signature": signed_[n]})
            seen.append((time.time(), status, got.get("error")))
            n += 1
    ready = threading.Event()
    t = threading.Thread(target=flood)
    t.start()
    ready.wait(WAIT_S)
    time.sleep(0.1)
    h.cli("packs", "revoke-key", NAME, "k2")
    when = time.time()
    time.sleep(0.3)
    stop.set()
    t.join()
    expect(all(s in (201, 400) for _, s, _ in seen), "%s" % seen)
    expect(all(e == "signature_invalid" for _, s, e in seen if s == 400), "%s" % seen)
    revoked = rows(h, "SELECT revoked_ms FROM pack_keys WHERE kid = 'k2'")[0][0]
    late = rows(h, "SELECT count(*) FROM pack_history p, pack_history r WHERE r.action = 'key-revoked' AND p.action = 'published' AND"
                   " p.entry_no > r.entry_no AND p.version LIKE '3.0.%%' AND r.at_ms = %d" % revoked)[0][0]
    expect(late == 0, "%d versions signed by a key that was revoked before (%f)" % (late, when))
    h.end()
    verified(h)


def a_kill_in_a_change_of_keys_leaves_the_old_or_the_new(wopr, modules, folder):
    """PACK-26, PACK-43, PACK-53, P5: kill -9 of the host in a rotation, of host and command in a revocation.  What is signed then is judged by
    the keys that are there, what was signed before stays, and an unfinished change can be made again."""
    rng, seen = random.Random(int(os.environ.get("WOPR_SEED", "12"))), {}
    h = PackHost.begin(wopr, folder, "--audit-log", "changes")
    keys = [os.path.join(folder, "k%d" % i) for i in range(2)]
    for k in keys:
        h.cli("packs", "keygen", k)
    flat = ["".join(open(k + ".pub", encoding="ascii").read().split("\n")[1:-2]) for k in keys]
    for i in range(8 if SLOW else 32):
        name, revoke = "vendor.org%d.x" % i, i % 2 == 1
        at, data = "/v1/packs/%s/-/" % name, {v: plain(v, name) for v in ("1.0.0", "1.1.0", "1.2.0")}

        def put(version, key):
            return Line(h).put(version, data[version], name, **{"X-Pack-Signing-Method": "manual", "X-Pack-Public-Key": flat[key],
                                                                "X-Pack-Signature": sign(folder, keys[key], data[version])})

        def chain():
            return {k["kid"]: k for k in Line(h, None).ask("GET", at + "keychain")[1]["keys"]}

        def revoked():
            return subprocess.Popen([wopr, "packs", "revoke-key", name, kid, "--db", os.path.join(h.db, "w.db")],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def rotated():
            return Line(h).ask("POST", at + "keychain/rotate", rotation)
        expect(put("1.0.0", 0)[0] == 201, "to begin with")
        (kid, old), = chain().items()
        begins = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        rotation = {"kid": "next", "publicKey": flat[1], "validFrom": begins, "rotationProof": text_sign(folder, keys[0], "next" + flat[1] + begins)}
        got = []
        if revoke:
            p = revoked()
            time.sleep(rng.random() * 0.04)
            p.kill()
            h.kill()
            done = p.wait(WAIT_S) == 0
        else:
            t = threading.Thread(target=lambda: got.extend(at_once(rotated)))
            t.start()
            time.sleep(rng.random() * 0.012)
            h.kill()
            t.join()
            done = isinstance(got[0], tuple) and got[0][0] == 200
        verified(h)
        h = PackHost.begin(wopr, folder, "--audit-log", "changes", db=h.db)
        now, action = chain(), "key-revoked" if revoke else "key-rotated"
        new = "revokedAt" in now[kid] if revoke else len(now) == 2
        seen[action, new] = seen.get((action, new), 0) + 1
        expect(new or not done, "%s was acknowledged: %s" % (action, got))
        changed = {"revokedAt": now[kid].get("revokedAt")} if revoke else {"validUntil": now[kid].get("validUntil"), "rotatedTo": "next"}
        expect(now[kid] == ({**old, **changed} if new else old) and all(changed.values()) >= new, "%s: %s then %s" % (action, old, now))
        expect(sorted(now) == sorted({kid, "next"} if new and not revoke else {kid}), "%s" % now)
        if new and not revoke:
            expect(now["next"]["rotatedFrom"] == kid and now["next"]["rotationProof"] == rotation["rotationProof"] and
                   now["next"]["publicKey"] == flat[1] and now[kid]["validUntil"] >= now["next"]["validFrom"], "%s" % now)
        told = rows(h, "SELECT (SELECT count(*) FROM pack_history WHERE name = '%s' AND action = '%s'), (SELECT count(*) FROM audit_entries"
                       " WHERE type = 'pack.%s' AND entry LIKE '%%\"%s\"%%')" % (name, action, action, name))
        expect(told == [(int(new), int(new))], "%s: %s entries of history and audit log" % (action, told))
        got = Line(h, None).ask("GET", at + "1.0.0.sig")
        expect(got[0] == 200 and base64.b64encode(got[1]).decode() == sign(folder, keys[0], data["1.0.0"]), "its signature stays: %s" % (got,))
        said = h.cli("packs", "install", name + "@1.0.0", "--pack-trust", "verified", "--pack-keys", keys[0] + ".pub", rc=1 if revoke and new else 0)
        expect(("revoked" in said) == (revoke and new), "%s" % said)
        for version, key in (("1.1.0", 0), ("1.2.0", 1)):  # all were revoked: the next key begins again
            status, got = put(version, key)
            want = (201, None) if (key == 1) == new else (409, "conflict") if revoke and new else (400, "signature_invalid")
            expect((status, got.get("error")) == want, "%s %s, by key %d: %d %s" % (action, new, key, status, got))
        if not new:
            expect(revoked().wait(WAIT_S) == 0 if revoke else rotated()[0] == 200, "%s, again" % action)
            now = chain()
            expect("revokedAt" in now[kid] if revoke else sorted(now) == sorted((kid, "next")), "%s" % now)
    print("  %s" % ", ".join("%s %s: %d" % (a, "whole" if n else "undone", c) for (a, n), c in sorted(seen.items())))
    h.end()
    verified(h)


# --- modules beside loops, forks and the lack of them ---

def mortal(folder):
    """A worker that ends when it is asked for anything."""
    path = os.path.join(folder, "mortal")
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexec head -c 16 >/dev/null\n")
    os.chmod(path, 0o755)
    return path


def a_module_in_loops_and_forks_of_forks_is_replayed_without_it(wopr, modules, folder):
    """WASM-17, WASM-18, PACK-64: the same in a fork of a fork; a replay needs no module; a branch says that it is gone."""
    h = PackHost.begin(wopr, folder)
    h.install(kit_pack(modules))
    step = lambda i, t, **more: {"id": i, "typeId": t, "name": i, "position": {"x": 0, "y": 0}, "config": {}, "inputs": {}, **more}
    nodes = [step("a", KIT + ".draws"), step("b", KIT + ".counts"), step("n", KIT + ".writes")]
    edges = [{"id": "e1", "sourceNodeId": "a", "targetNodeId": "b"}, {"id": "e2", "sourceNodeId": "b", "targetNodeId": "n"}]
    wf = {"id": "turns", "name": "W", "version": "1", "nodes": nodes, "edges": edges, "triggers": [], "metadata": {}, "settings": {},
          "variables": [{"name": "v", "type": "array", "defaultValue": [1]}, {"name": "k", "type": "number", "defaultValue": 0}]}
    status, got = h.ask("PUT", "/v1/host/wopr/workflows/turns", wf)
    expect(status in (200, 201), "%s" % got)
    run = h.start("turns")
    expect(h.until(run)["status"] == "completed", "the first")
    texts = lambda r: [json.dumps([e["nodeId"], e["payload"]["outputs"]]) for e in h.events(r) if e["type"] == "node.completed"]
    want, last = texts(run), run
    for i in range(3):
        status, got = h.ask("POST", "/v1/runs/%s:fork" % last, {"mode": "replay", "fromSeq": 0})
        expect(status == 201, "%s" % got)
        last = got["runId"]
        expect(h.until(last)["status"] == "completed" and texts(last) == want, "fork %d: %s" % (i, texts(last)))
    cut = next(e["sequence"] for e in h.events(last) if e["type"] == "node.completed" and e["nodeId"] == "a")
    status, got = h.ask("POST", "/v1/runs/%s:fork" % last, {"mode": "branch", "fromSeq": cut + 1})
    expect(status == 201, "%s" % got)
    expect(h.until(got["runId"])["status"] == "completed", "a branch of a fork executes the rest")
    h.cli("packs", "remove", KIT, "1.0.0")
    h.end()
    for args, codes in ((("--wasm-program", mortal(folder)), ("wasm_worker_failed", "pack_load_failure")), ((), ())):
        h = PackHost.begin(wopr, folder, *args, db=h.db)  # no module can be loaded there; then it can again
        status, got = h.ask("POST", "/v1/runs/%s:fork" % last, {"mode": "replay", "fromSeq": 0})
        expect(status == 201, "a replay without the module: %s" % got)
        snap = h.until(got["runId"])
        expect(snap["status"] == "completed" and texts(got["runId"]) == want, "%s: %s" % (snap, texts(got["runId"])))
        status, got = h.ask("POST", "/v1/runs/%s:fork" % last, {"mode": "branch", "fromSeq": cut + 1})
        expect(status == 201, "a branch: %d %s" % (status, got))
        snap = h.until(got["runId"])
        expect(snap["status"] == "failed" and err(snap)[0] in codes if codes else snap["status"] == "completed", "a branch: %s" % snap)
        h.end()


def a_module_that_ends_whoever_loads_it_is_no_pack(wopr, modules, folder):
    """PACK-64, B4: said at once, and not that one may try again."""
    h = PackHost.begin(wopr, folder, "--wasm-program", mortal(folder))
    h.install(kit_pack(modules))
    for _ in range(2):
        _, (status, got) = h.put_flow(KIT + ".echo")
        expect(status == 400 and got["error"] == "pack_load_failure", "%d %s" % (status, got))
    _, nodes = h.ask("GET", "/v1/host/wopr/nodes")
    expect(any(n.get("pack") == KIT + "@1.0.0" for n in nodes["nodes"]), "it is listed all the same")
    h.end()


BROKEN = """#!%s -IS
import os
def get(n):
    b = b""
    while len(b) < n:
        more = os.read(0, n - len(b))
        if not more:
            os._exit(0)
        b += more
    return b
def number(b):
    return int.from_bytes(b, "little")
while True:
    head = get(16)
    get(number(head[8:12]) + number(head[12:16]))
    if head[4] == 1:
        os.write(1, %r)
        continue
    with open(%r) as f:
        left = int(f.read())
    whole = %r
    if left >= len(whole):
        os.write(1, whole)
        continue
    with open(%r, "w") as f:
        f.write(str(left + 1))
    os.write(1, whole[:left])
    os._exit(0)
"""


def frame(o):
    text = json.dumps(o).encode()
    return struct.pack("<IIII", 0x31425357, 3, len(text), 0) + text


def a_worker_may_die_at_each_byte_of_its_answer(wopr, modules, folder):
    """B4: a node that is tried again until the answer is whole; each death is one failure, and none is the host's."""
    path, count = os.path.join(folder, "broken"), os.path.join(folder, "count")
    whole = frame({"outcome": "response", "response": {"outcome": "completed", "output": {"x": 1}}, "effects": []})
    said = frame({"outcome": "loaded", "pack": KIT, "types": ["%s.%s" % (KIT, t) for t in KIT_TYPES]})
    with open(path, "w", encoding="utf-8") as f:
        f.write(BROKEN % (sys.executable, said, count, whole, count))
    os.chmod(path, 0o755)
    with open(count, "w", encoding="ascii") as f:
        f.write(str(len(whole) - 30 if SLOW else 0))
    h = PackHost.begin(wopr, folder, "--wasm-program", path, "--wasm-workers", "1", "--max-node-executions", "1000")
    h.install(kit_pack(modules))
    name, (status, got) = h.put_flow(KIT + ".echo", settings={"maxRetries": 500, "retryDelayMs": 1})
    expect(status in (200, 201), "%s" % got)
    run = h.start(name)
    snap = h.until(run)
    expect(snap["status"] == "completed" and out(snap) == {"x": 1}, "%s" % snap)
    events = complete(h, run)
    retries = [e for e in events if e["type"] in ("node.retried", "node.failed", "node.retrying")]
    expect(int(open(count, encoding="ascii").read()) == len(whole), "each byte was one")
    expect(SLOW or len(events) > len(whole), "each death is in the log: %d %s" % (len(events), retries[:1]))
    h.end()
    verified(h)


# What a module may do at each of its exports, one after the other.
WAT = """(module
  (import "openwop" "openwop_variable_get" (func $get (param i32 i32) (result i64)))
  (import "openwop" "openwop_log" (func $log (param i32 i32 i32)))
  (import "openwop" "openwop_random" (func $random (param i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 16) "vendor.test.wat")
  (data (i32.const 48) "vendor.test.wat.t")
  (data (i32.const 96) "{\\"outcome\\":\\"completed\\",\\"output\\":1}")
  (data (i32.const 160) "\\ff\\fe\\00\\22\\5c")
  (func $loop (loop $l (br $l)))
  (func $deep (result i32) (i32.add (call $deep) (i32.const 1)))
  (func (export "openwop_abi_version") (result i32) %(version)s (i32.const 1))
  (func (export "openwop_pack_name") (result i64) %(name)s (i64.const 0xf00000010))
  (func (export "openwop_node_count") (result i32) %(count)s (i32.const 1))
  (func (export "openwop_node_id_at") (param i32) (result i64) %(id)s (i64.const 0x1100000030))
  (func (export "openwop_alloc") (param i32) (result i32) %(alloc)s (i32.const 1024))
  (func (export "openwop_free") (param i32 i32) %(free)s)
  (func (export "openwop_node_invoke") (param i32 i32 i32) (result i64) %(invoke)s (i64.const 0x2200000060)))
"""


def a_module_may_do_anything_in_each_export(wopr, modules, folder):
    """WASM-2, WASM-13, WASM-14: never a 5xx, never the end of the host, and the good neighbour answers."""
    h = PackHost.begin(wopr, folder, "--wasm-time-ms", "300")
    h.install(kit_pack(modules))
    good, _ = h.put_flow(KIT + ".echo")
    exports = ("version", "name", "count", "id", "alloc", "free", "invoke")
    acts = {"trap": "unreachable", "loop": "(call $loop)", "deep": "(drop (call $deep))",
            "grow": "(drop (memory.grow (i32.const 65000)))", "ask": "(drop (call $get (i32.const 16) (i32.const 4)))",
            "shout": "(call $log (i32.const -1) (i32.const 160) (i32.const 5))", "draw": "(call $random (i32.const 2048) (i32.const 120000))",
            "wild": "(call $log (i32.const 0) (i32.const -16) (i32.const 64))"}
    n = 0
    for act, code in acts.items():
        for export in exports if act != "loop" else exports[4:]:  # ten seconds are given to who says who it is
            if SLOW and (n + 1) % 3:
                n += 1
                continue
            n += 1
            wat = os.path.join(folder, "m.wat")
            with open(wat, "w", encoding="ascii") as f:
                f.write(WAT % {e: code if e == export else "" for e in exports})
            p = subprocess.run(["wat2wasm", wat, "-o", wat + ".wasm"], capture_output=True, text=True, timeout=WAIT_S)
            expect(p.returncode == 0, p.stderr)
            with open(wat + ".wasm", "rb") as f:
                module = f.read()
            version = "1.0.%d" % n
            m = manifest("vendor.test.wat", version, [{"typeId": "vendor.test.wat.t", "version": "1.0.0", "category": "data", "role": "pure"}])
            h.install(pack(m, ("m.wasm", module)))
            name, (status, got) = h.put_flow("vendor.test.wat.t", packs={"vendor.test.wat": {"version": version}})
            expect(status in (200, 201) or (status == 400 and got["error"] == "pack_load_failure"), "%s in %s: %d %s" % (act, export, status, got))
            if status in (200, 201):
                snap = h.until(h.start(name))
                code_ = err(snap)[0]
                expect(snap["status"] in ("completed", "failed") and code_ in (
                    "completed", "wasm_trap", "wasm_execution_time_exceeded", "wasm_memory_cap_exceeded", "validation_error"),
                    "%s in %s: %s" % (act, export, snap))
            h.cli("packs", "remove", "vendor.test.wat", version)
    expect(h.until(h.start(good))["status"] == "completed", "the neighbour")
    h.end()
    verified(h)


# --- memory of the host ---

def memory_of(h, what="VmHWM"):
    """KiB."""
    with open("/proc/%d/status" % h.p.pid, encoding="ascii") as f:
        return int(next(x for x in f if x.startswith(what)).split()[1])


def metric(h, name):
    return int(float(re.search(r"^%s ([0-9.e+]+)$" % name, h.metrics(), re.M).group(1)))


PAGES = 2048  # 128 MiB, as much as a module may have
ALL_OF_IT = "(drop (memory.grow (i32.const %d)))" % (PAGES - 2)
GIANTS = [  # what invoke does, and the code of its node
    ("(return (i64.const 0x4000000000000010))", "wasm_trap"),  # 1 GiB behind its end
    ("(return (i64.const -1))", "wasm_trap"),
    (ALL_OF_IT + "(return (i64.const 0x4000000000000010))", "wasm_trap"),
    (ALL_OF_IT + "(return (i64.const %d))" % ((PAGES * 65536 - 4096) << 32 | 1024), "validation_error"),  # nearly all that it has
    (ALL_OF_IT + "(memory.fill (i32.const 4096) (i32.const 0x20) (i32.const %d)) (return (i64.const %d))"
     % ((PAGES - 1) * 65536, (PAGES * 65536 - 8192) << 32 | 4096), "validation_error"),  # blanks, which a reader of JSON passes over
    (ALL_OF_IT + "(call $log (i32.const 1) (i32.const 4096) (i32.const %d))" % (PAGES * 65536 - 8192), None),
    (ALL_OF_IT + "(drop (call $get (i32.const 4096) (i32.const %d)))" % (PAGES * 65536 - 8192), "wasm_trap"),
    ("(local $i i32) (loop $l (call $log (i32.const 1) (i32.const 4096) (i32.const 65536))"
     " (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5000))))", None)]


def outputs_of_a_gigabyte_are_nothing_to_the_host(wopr, modules, folder):
    """WASM-11, WASM-13, B4: what a module claims or has is bounded before it leaves its process."""
    h, flows = PackHost.begin(wopr, folder), []
    for i, (code, _) in enumerate(GIANTS):
        wat, version = os.path.join(folder, "m.wat"), "1.0.%d" % i
        with open(wat, "w", encoding="ascii") as f:
            f.write(WAT % {e: code if e == "invoke" else "" for e in ("version", "name", "count", "id", "alloc", "free", "invoke")})
        p = subprocess.run(["wat2wasm", wat, "-o", wat + ".wasm"], capture_output=True, text=True, timeout=WAIT_S)
        expect(p.returncode == 0, p.stderr)
        with open(wat + ".wasm", "rb") as f:
            module = f.read()
        m = manifest("vendor.test.wat", version, [{"typeId": "vendor.test.wat.t", "version": "1.0.0", "category": "data", "role": "pure"}])
        h.install(pack(m, ("m.wasm", module)))
        name, (status, got) = h.put_flow("vendor.test.wat.t", packs={"vendor.test.wat": {"version": version}})
        expect(status in (200, 201), "%d: %d %s" % (i, status, got))
        flows.append(name)
    h.install(kit_pack(modules))
    expect(h.until(h.run_of(KIT + ".echo"))["status"] == "completed", "what a run takes was taken")
    peaks = []
    for (code, want), name in zip(GIANTS, flows):
        with open("/proc/%d/clear_refs" % h.p.pid, "w", encoding="ascii") as f:
            f.write("5")  # the peak is what there is now
        before = memory_of(h)
        for _ in range(1 if SLOW else 3):
            snap = h.until(h.start(name))
            expect(err(snap)[0] == (want or "completed"), "%s: %s" % (code, snap))
        peaks.append((memory_of(h) - before) / 1024)
    print("  MiB at the most: %s" % ", ".join("%.1f" % n for n in peaks))
    expect(SLOW or max(peaks[:-1]) < 4, "the host had so many MiB more: %s" % peaks)
    expect(SLOW or peaks[-1] < 16, "%s; the log of the run has 400 KiB of lines" % peaks)
    h.end()
    verified(h)


def padded(module, n, seed):
    """The same module, with n bytes that nobody reads and no packer shortens."""
    body, size = b"\3pad" + random.Random(seed).randbytes(n), b""
    n = len(body)
    while n > 127:
        size += bytes([n & 127 | 128])
        n >>= 7
    return module + b"\0" + size + bytes([n]) + body


def modules_without_end_take_bounded_memory_and_all_are_executed(wopr, modules, folder):
    """WASM-2, PACK-64, B8: more than there is room for; what is read again later may be damaged by then."""
    count, limit = 15, 64 << 20
    h = PackHost.begin(wopr, folder, "--wasm-workers", "1", "--ops-port", "0")
    flows, settings = [], {"maxRetries": 2, "retryDelayMs": 1}
    bytes_now, read = lambda: metric(h, "wopr_wasm_module_bytes"), lambda: metric(h, "wopr_wasm_modules_read_total")
    packs = [pack(kit_manifest("1.0.%d" % i), ("kit.wasm", padded(kit(modules), 5050000, i))) for i in range(count)]
    expect(metric(h, "wopr_wasm_module_bytes_limit") == limit, "the bound")
    for i in range(count):
        h.install(packs[i])
        name, (status, got) = h.put_flow(KIT + ".counts", settings=settings, packs={KIT: {"version": "1.0.%d" % i}})
        expect(status in (200, 201), "%d: %d %s" % (i, status, got))
        flows.append(name)
        if i == 3:
            early = memory_of(h, "VmRSS")
    expect(limit - (6 << 20) < bytes_now() <= limit, "%d bytes of %d modules" % (bytes_now(), count))
    for turn in range(2):
        for name in flows:
            expect(out(h.until(h.start(name))) == {"output": 1}, "turn %d" % turn)
            expect(bytes_now() <= limit, "%d bytes" % bytes_now())
    expect(read() >= count, "%d were read again" % read())
    print("  %d MiB with four modules, %d MiB with %d; %d were read again"
          % (early >> 10, memory_of(h, "VmRSS") >> 10, count, read()))
    db = sqlite3.connect(os.path.join(h.db, "w.db"), timeout=30)

    def harm(data):
        digest = hashlib.sha256(data).digest()
        (body,), = db.execute("SELECT body FROM pack_blobs WHERE sha256 = ?", (digest,)).fetchall()
        db.execute("UPDATE pack_blobs SET body = ? WHERE sha256 = ?", (body[:-9] + b"x" + body[-8:], digest))
        db.commit()

    def forget():  # the first leaves memory, and the process
        for name in flows[1:]:
            expect(h.until(h.start(name))["status"] == "completed", "the others are whole")
    twin = pack(kit_manifest("2.0.0"), ("kit.wasm", padded(kit(modules), 5050000, 0)))
    h.install(twin)
    expect(h.until(h.run_of(KIT + ".counts", packs={KIT: {"version": "2.0.0"}}))["status"] == "completed", "another pack of the same module")
    forget()
    harm(packs[0])
    expect(out(h.until(h.start(flows[0]))) == {"output": 1}, "while one of them is whole, so is the module")
    forget()
    harm(twin)
    for what in ("damaged", "gone"):
        run = h.start(flows[0])
        code, message, _ = err(h.until(run))
        expect(code == "pack_integrity_failure" and "install it again" in message, "%s: %s %s" % (what, code, message))
        expect("node.retried" not in [e["type"] for e in h.events(run)], "nobody tries that again")
        expect(h.until(h.start(flows[1]))["status"] == "completed", "the others are whole")
        db.execute("DELETE FROM pack_blobs WHERE sha256 = ?", (hashlib.sha256(packs[0]).digest(),))
        db.commit()
    db.close()
    h.cli("packs", "remove", KIT, "1.0.0")
    h.install(packs[0])
    expect(out(h.until(h.start(flows[0]))) == {"output": 1}, "installed again, it is read by the host that has loaded it")
    h.cli("packs", "remove", KIT, "2.0.0")
    h.install(twin)
    h.end()
    verified(h)


TESTS = [of_publishers_that_meet_one_wins_and_bytes_never_mix, a_kill_in_any_change_leaves_it_whole_or_undone,
         what_is_said_of_versions_never_hides_the_pack, the_same_mark_again_is_no_entry, a_long_manifest_costs_only_who_reads_it,
         a_tenant_has_room_for_so_many_bytes_and_gets_it_back, what_was_taken_back_is_found_no_more, who_has_no_credential_holds_no_body, who_does_not_read_takes_no_room_from_others,
         an_install_has_the_whole_version_or_says_that_it_is_gone, of_a_version_a_tenant_sees_one_set_of_bytes, a_namespace_outlives_its_keys,
         a_kill_in_a_change_of_keys_leaves_the_old_or_the_new, outputs_of_a_gigabyte_are_nothing_to_the_host,
         modules_without_end_take_bounded_memory_and_all_are_executed,
         a_module_in_loops_and_forks_of_forks_is_replayed_without_it, a_module_that_ends_whoever_loads_it_is_no_pack,
         a_worker_may_die_at_each_byte_of_its_answer, a_module_may_do_anything_in_each_export]


if __name__ == "__main__":
    sys.exit(play("packs_attack", TESTS))
