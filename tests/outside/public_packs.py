#!/usr/bin/env python3
"""
public_packs.py: packs that others have published, as far as their manifests allow: each tarball below a folder is judged, published
to a host of our own, installed, pinned by a definition, and where its language is executed here, run; each refusal has its reason.
usage: public_packs.py WOPR [--verbose]    the folder: WOPR_PUBLIC_PACKS (a checkout of a registry's files, VERSION.tgz with VERSION.sig
beside it, public keys as *.pem or *.pub); without it the test is skipped (77)
"""
import collections
import io
import json
import os
import re
import sys
import tarfile
import tempfile

from mcp import out
from packs import PackHost, expect, manifest, node, pack
from run import FAILED

# What a tarball of the public registry may be refused for, and why that is right.
REASONS = {
    "invalid_pack_scope": "the scope core is the maintainers' (PACK-3)",
    "invalid_manifest": "not as the published schema of 1.0 has it: later members, categories and kinds of packs (PACK-10, X-27)",
    "invalid_engines_range": "no range of protocol versions (PACK-11)",
    "schema_ref_missing": "names a file that the tarball lacks (PACK-18, X-64)",
    "tarball_entry_missing": "names an entry file that the tarball lacks (X-27)",
    "unsupported_runtime": "a language that 1.0 does not know",
    "tarball_gunzip_failed": "no gzip stream: a pointer of a large-file store, maybe",
}


def manifest_of(data):
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as t:
            return json.load(t.extractfile(next(m for m in t.getmembers() if m.name.lstrip("./") == "pack.json")))
    except (tarfile.TarError, StopIteration, ValueError, OSError):
        return {}


def tarballs(folder):
    for base, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith(".tgz"):
                yield os.path.join(base, name)


def keys(folder):
    return [os.path.join(base, n) for base, _, files in os.walk(folder) for n in files if n.endswith((".pem", ".pub"))]


def module_run(h, m, data, tally):
    """The module of a pack whose manifest 1.0 refuses, under one that it takes: other tool chains speak the ABI, too (WASM-3, WASM-6)."""
    with tarfile.open(fileobj=io.BytesIO(data)) as t:
        module = next(t.extractfile(x).read() for x in t.getmembers() if x.name.endswith(".wasm"))
    plain = manifest(m["name"], m["version"], [node(n["typeId"]) for n in m["nodes"]], {"language": "wasm", "entry": "m.wasm"})
    said = h.install(pack(plain, ("m.wasm", module)))
    expect("warning" not in said, "the module cannot be loaded: " + said)
    snap = h.until(h.run_of(m["nodes"][0]["typeId"], inputs={"name": {"type": "static", "value": "Ada"}}))
    tally[("the module of %s, with a manifest of 1.0" % m["name"], "%s %s" % (snap["status"], json.dumps(out(snap))))] += 1
    expect(snap["status"] == "completed", "%s" % snap)
    h.cli("packs", "remove", m["name"], m["version"])


def look(h, path, tally, verbose):
    with open(path, "rb") as f:
        data = f.read()
    m = manifest_of(data)
    name, version = m.get("name", "vendor.none.none"), m.get("version", "0.0.0")
    status, got = h.publish(name, version, data)
    expect(status in (200, 201, 400), "%s: %d %s" % (path, status, got))
    if status == 400:
        expect(got["error"] in REASONS, "%s is refused for no known reason: %s" % (path, got))
        expect(h.ask("GET", "/v1/packs/%s/-/%s.json" % (name, version))[0] in (400, 404), "nothing of it is stored: %s" % path)
    why = "published" if status != 400 else got["error"]
    said = h.cli("packs", "install", path, "--pack-trust", "open", rc=None)
    installed = "installed " in said
    if verbose:
        print("%s@%s: %s; %s" % (name, version, why if status != 400 else "%s: %s" % (why, got["message"]), said.strip().replace("\n", "; ")))
    tally[(why, "installed" if installed else re.sub("[0-9]+", "N", said.replace("wopr: ", "").strip())[:90])] += 1
    language = (m.get("runtime") or {}).get("language")
    if installed and m.get("nodes"):
        wf = h.flow(m["nodes"][0]["typeId"], packs={name: {"version": version}})
        status, got = h.ask("PUT", "/v1/host/wopr/workflows/%s?force=true" % wf["id"], wf)
        runs = language in ("wasm", "remote")
        expect(status in (200, 201) or got["error"] == ("pack_load_failure" if runs else "unsupported_runtime"), "%s: %s" % (path, got))
        tally[("pinned by a definition, language " + str(language), got.get("error", "put"))] += 1
    if language == "wasm" and not installed:
        module_run(h, m, data, tally)
    h.cli("packs", "remove", name, version, rc=None)


def main():
    folder = os.environ.get("WOPR_PUBLIC_PACKS")
    if not folder:
        print("skipped: WOPR_PUBLIC_PACKS names no folder of published packs")
        return 77
    tally, tried = collections.Counter(), list(tarballs(folder))
    expect(tried, "there is no tarball below " + folder)
    with tempfile.TemporaryDirectory() as temp:
        h = PackHost.begin(sys.argv[1], temp, "--large-body-rate", "0")
        for path in tried:
            look(h, path, tally, "--verbose" in sys.argv)
        signed = good = 0
        for path in tried:
            sig = path[:-len(".tgz")] + ".sig"
            if os.path.exists(sig):
                signed += 1
                os.path.exists(path + ".sig") or os.symlink(os.path.abspath(sig), path + ".sig")
                good += any("signed with" in h.cli("packs", "verify", path, "--public-key", k, rc=None) for k in keys(folder))
        h.end()
        h.cli("verify")
    for what, n in sorted(tally.items(), key=lambda x: -x[1]):
        print("%4d  %s: %s   %s" % (n, what[0], what[1], REASONS.get(what[0], "")))
    print("%d tarballs, %d signatures, %d of them by a key that is there; %d failed" % (len(tried), signed, good, len(FAILED)))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
