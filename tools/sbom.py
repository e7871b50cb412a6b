#!/usr/bin/env python3
"""What a build of WOPR consists of, as a CycloneDX 1.5 document, and the libraries themselves for an installation that brings its own.

usage: sbom.py PROGRAM SOURCE_ROOT OUT.json [--bundle LIBRARIES COPYRIGHTS]
The shared libraries are those that the dynamic linker finds for PROGRAM, but for the C library's, which every Debian has.  Name, version
and licences are those of the Debian packages that they come from.  --bundle copies the libraries and the packages' copyright files.
Time and number come from SOURCE_DATE_EPOCH and the contents, so two runs over one build are equal.
"""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import time

C_LIBRARY = "libc6"
# Linked statically, or carried along as data: what no dynamic linker knows.
STATIC_PACKAGES = ["libmicrohttpd-dev"]
SPDX = {"Expat": "MIT", "MIT/X11": "MIT", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "Apache-2.0": "Apache-2.0",
        "ISC": "ISC", "MIT": "MIT", "Zlib": "Zlib", "zlib": "Zlib", "OpenSSL": "OpenSSL", "CC0-1.0": "CC0-1.0", "OLDAP-2.8": "OLDAP-2.8",
        "curl": "curl", "FSFAP": "FSFAP", "BSL-1.0": "BSL-1.0", "CC-BY-4.0": "CC-BY-4.0"}


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def spdx(name: str) -> str:
    """The SPDX id of a Debian licence name, or nothing."""
    m = re.fullmatch(r"(L?GPL|AGPL|GFDL)-?v?(\d)(?:\.(\d))?(\+|-or-later)?", name)
    if m:
        return "%s-%s.%s-%s" % (m.group(1), m.group(2), m.group(3) or "0", "or-later" if m.group(4) else "only")
    return SPDX.get(name, name if name in SPDX.values() else "")


def licences(package: str) -> list:
    """What the package's copyright file names for the files of its source; where no program can read it, the file itself."""
    path = "/usr/share/doc/%s/copyright" % package
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if not text.startswith("Format"):
        return [{"license": {"name": "as in " + path}}]
    names = re.findall(r"(?m)^License: *(\S.*)$", text)
    words = {w.strip(" ,()") for n in names for w in re.split(r"\b(?:or|and|with [\w. -]+ exception)\b", n)}
    known = sorted({spdx(w) for w in words} - {""}), sorted({w for w in words if not spdx(w)} - {""})
    return [{"license": {"id": n}} for n in known[0]] + [{"license": {"name": n}} for n in known[1]]


def packages_of(paths: list) -> dict:
    """Of libraries: dpkg knows each by one of the names that /lib and /usr/lib share."""
    names = {}
    for path in paths:
        real = os.path.realpath(path)
        names.update({real: path, re.sub("^/usr/lib/", "/lib/", real): path})
    said = subprocess.run(["dpkg", "-S", *names], capture_output=True, encoding="utf-8").stdout
    found = {names[name]: package.split(":")[0] for package, name in re.findall(r"^(\S+): (/.*)$", said, re.M)}
    missing = sorted(set(paths) - set(found))
    if missing:
        raise SystemExit("sbom.py: these belong to no package: " + " ".join(missing))
    return found


def linked(file: str) -> dict:
    return dict(re.findall(r"^\s*(\S+) => (\S+) \(", run("ldd", file), re.M))


def loaded_late(program: str) -> dict:
    """what the program loads by name while it runs (src/egress/curl_late.c): soname to path"""
    with open(program, "rb") as f:
        names = {n.decode() for n in re.findall(rb"\blibcurl[a-z-]*\.so\.[0-9]+\b", f.read())}
    known = dict(re.findall(r"^\s*(\S+) \(.*\) => (\S+)$", run("/sbin/ldconfig", "-p"), re.M))
    if len(names) != 1 or not names <= set(known):
        raise SystemExit("sbom.py: %s loads %s, known are %s" % (program, names, names & set(known)))
    return {n: known[n] for n in names}


def libraries(program: str) -> list:
    """(soname, path, package), the C library's left out"""
    paths = linked(program)
    for soname, path in loaded_late(program).items():
        paths.update({soname: path, **linked(path)})
    packages = packages_of(list(paths.values()))
    return sorted((soname, path, packages[path]) for soname, path in paths.items() if packages[path] != C_LIBRARY)


def component(package: str, files: list, linkage: str) -> dict:
    version, source, site, arch = run("dpkg-query", "-W", "-f", "${Version}|${source:Package}|${Homepage}|${Architecture}\n", package) \
        .splitlines()[0].split("|")
    purl = "pkg:deb/debian/%s@%s?arch=%s&distro=bookworm" % (package, version.replace(":", "%3A").replace("+", "%2B"), arch)
    out = {"type": "library", "bom-ref": purl, "name": package, "version": version, "purl": purl, "licenses": licences(package),
           "properties": [{"name": "wopr:linkage", "value": linkage}, {"name": "wopr:source-package", "value": source}] +
                         [{"name": "wopr:file", "value": f} for f in files]}
    if site:
        out["externalReferences"] = [{"type": "website", "url": site}]
    return out


def vendored(root: str) -> list:
    """What the dashboard in the program is built from."""
    with open(os.path.join(root, "web/vendor/lock.json"), encoding="utf-8") as f:
        lock = json.load(f)
    out = []
    for name, package in sorted(lock.items()):
        purl = "pkg:npm/%s@%s" % (name.replace("@", "%40"), package["version"])
        digest = base64.b64decode(package["integrity"].split("-", 1)[1]).hex()
        out.append({"type": "library", "bom-ref": purl, "name": name, "version": package["version"], "purl": purl,
                    "licenses": [{"license": {"id": package["license"]}}],
                    "hashes": [{"alg": "SHA-512", "content": digest}],  # of the archive of that name in the registry
                    "properties": [{"name": "wopr:linkage", "value": "bundled"}]})
    return out


def document(program: str, root: str, found: list) -> dict:
    with open(program, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    version = run(program, "version").split()[1]
    with open(os.path.join(root, "api/SOURCES.md"), encoding="utf-8") as f:
        commit = re.search(r"\b[0-9a-f]{40}\b", f.read())
    packages = sorted({p for _, _, p in found})
    parts = [component(p, [s for s, _, q in found if q == p], "shared") for p in packages]
    parts += [component(p, [], "static") for p in STATIC_PACKAGES]
    parts.append({"type": "data", "bom-ref": "openwop", "name": "openwop", "version": commit.group() if commit else "1.0",
                  "licenses": [{"license": {"id": "CC-BY-4.0"}}], "copyright": "2026 David Tufts and openwop contributors"})
    parts += vendored(root)
    main = {"type": "application", "bom-ref": "wopr", "name": "wopr", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}],
            "hashes": [{"alg": "SHA-256", "content": digest}]}
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    number = hashlib.sha256(json.dumps([main, parts], sort_keys=True).encode()).hexdigest()
    serial = "urn:uuid:%s-%s-5%s-8%s-%s" % (number[:8], number[8:12], number[13:16], number[17:20], number[20:32])
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": serial, "version": 1,
            "metadata": {"timestamp": stamp, "component": main}, "components": parts,
            "dependencies": [{"ref": "wopr", "dependsOn": [p["bom-ref"] for p in parts]}]}


def copy(path: str, to: str, mode: int) -> None:
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with open(path, "rb") as f, open(to, "wb") as t:
        t.write(f.read())
    os.chmod(to, mode)


def main() -> int:
    program, root, out = sys.argv[1:4]
    found = libraries(program)
    if not found:
        raise SystemExit("sbom.py: %s has no shared libraries" % program)
    with open(out, "w", encoding="utf-8") as f:
        json.dump(document(program, root, found), f, indent=1)
        f.write("\n")
    if sys.argv[4:5] == ["--bundle"]:
        for soname, path, _ in found:
            copy(path, os.path.join(sys.argv[5], soname), 0o644)
        for package in sorted({p for _, _, p in found} | set(STATIC_PACKAGES)):
            copy("/usr/share/doc/%s/copyright" % package, os.path.join(sys.argv[6], package), 0o644)
    return 0


if __name__ == "__main__":
    sys.exit(main())
