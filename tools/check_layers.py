#!/usr/bin/env python3
"""Layer and foreign-library check: a file may include only its own layer and layers to its left.

usage: check_layers.py SOURCE_ROOT
Prints one line per violation; exit status 1 when there is any.  The table below is the house of docs/architecture.md.
"""
import os
import re
import sys

ORDER = ["base", "codec", "domain", "store", "journal", "egress", "engine", "nodes", "workspec", "workrail", "http",
         "wire/common", "wire/v1", "host", "cli"]
# The only folders that may include a foreign library.
FOREIGN = {
    "sqlite3.h": ["store"],
    "libpq-fe.h": ["store"],
    "microhttpd.h": ["http"],
    "curl/curl.h": ["egress"],
    "json-c/": ["codec"],
    "json.h": ["codec"],
    "pcre2.h": ["codec"],
    "gnutls/": ["codec", "http"],
    "utf8proc.h": ["codec"],
    "archive.h": ["codec"],
}
# A backend of the store is for those who open it; all others include the port, store/*.h.
BACKENDS = ["store/sqlite/"]
BACKEND_USERS = ["host", "cli"]
SOCKETS = {"sys/socket.h", "netinet/in.h", "arpa/inet.h", "netdb.h", "netinet/tcp.h"}
SOCKET_LAYERS = ["http", "egress"]


def layer_of(path: str):
    for name in sorted(ORDER, key=len, reverse=True):
        if path.startswith(name + "/"):
            return name
    return None


def check_file(root: str, rel: str) -> list:
    found, own = [], layer_of(rel)
    if own is None:
        return ["%s: lies in no layer" % rel]
    with open(os.path.join(root, "src", rel), encoding="utf-8") as f:
        for no, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if not m:
                continue
            name = m.group(2)
            if m.group(1) == '"':
                if name.startswith("wopr/"):
                    if own not in ("host", "cli"):
                        found.append("%s:%d: the public header is for host/ and cli/" % (rel, no))
                    continue
                other = layer_of(name)
                if other is None:
                    found.append('%s:%d: include "%s" by its path below src/' % (rel, no, name))
                elif ORDER.index(other) > ORDER.index(own):
                    found.append("%s:%d: %s must not include %s" % (rel, no, own, other))
            for backend in BACKENDS:
                if name.startswith(backend) and not rel.startswith(backend) and own not in BACKEND_USERS:
                    found.append("%s:%d: a backend belongs to %s" % (rel, no, ", ".join(BACKEND_USERS)))
            if name in SOCKETS and own not in SOCKET_LAYERS:
                found.append("%s:%d: sockets belong to %s" % (rel, no, ", ".join(SOCKET_LAYERS)))
            for lib, where in FOREIGN.items():
                hit = name.startswith(lib) if lib.endswith("/") else name == lib
                if hit and m.group(1) == "<" and own not in where:
                    found.append("%s:%d: <%s> belongs to %s" % (rel, no, name, ", ".join(where)))
    return found


def main() -> int:
    root = sys.argv[1]
    found, files = [], 0
    for folder, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def")):
                files += 1
                found += check_file(root, os.path.relpath(os.path.join(folder, name), os.path.join(root, "src")))
    for line in found:
        print("src/" + line)
    print("layers: %d files, %d violations" % (files, len(found)))
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
