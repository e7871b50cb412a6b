#!/usr/bin/env python3
"""Includes: a file may include only its own layer and layers to its left, no private header of another layer, and a foreign
library only in that library's one place.

usage: check_layers.py SOURCE_ROOT
Prints one line per violation; exit status 1 when there is any.  docs/architecture.md draws the layers; source.py lists them.
"""
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
import source

# The only places that may include a foreign library: folders or files.
FOREIGN = {
    "sqlite3.h": ["store/sqlite/"],
    "libpq-fe.h": ["store/postgres/"],
    "microhttpd.h": ["http/"],
    "curl/": ["egress/"],
    "json-c/": ["codec/"],
    "json.h": ["codec/"],
    "pcre2.h": ["codec/schema_regex.c"],
    "gnutls/": ["codec/bytes.c", "codec/seal.c", "codec/jwk.c", "codec/schema_format_net.c", "http/tls.c", "http/intake.c", "http/client_cert.c"],
    "zlib.h": ["codec/gzip.c"],
    "unicase.h": ["codec/fold.c"],
    "uninorm.h": ["codec/fold.c"],
    "yaml.h": ["workspec/parse_yaml.c"],
    "sys/socket.h": ["base/net", "base/child.c", "http/", "egress/"],
    "netinet/": ["base/net", "http/", "egress/"],
    "arpa/inet.h": ["base/net", "http/", "egress/"],
    "netdb.h": ["base/net", "http/", "egress/"],
    "sys/random.h": ["base/"],
}
# What other layers may include of a layer; of those not named here, all but private names.
PUBLIC = {
    "journal": ["journal.h"], "audit": ["audit.h", "check.h"], "egress": ["egress.h", "operator.h", "callers.h", "remotes.h", "lane.h"], "sandbox": ["sandbox.h", "worker/worker.h"], "hooks": ["hooks.h"], "otel": ["otel.h"],
    "engine": ["engine.h", "node.h", "workers.h"], "nodes": ["nodes.h", "pack_agents.h", "pack_loader.h"],
    "http": ["http.h", "assets.h"], "wire/v1": ["v1.h"], "host": ["host.h", "keys.h", "config.h", "seal_file.h", "ai_file.h"], "cli": [],
}
PRIVATE = re.compile(r"(_int|_internal|internal)\.h$|\.def$")
# The header of a backend of the store is for those who open it; all others include the port, store/*.h.
BACKEND_HEADERS = ["store/sqlite/sqlite.h"]
BACKEND_USERS = ["host", "cli"]
MAY_USE_PUBLIC_INTERFACE = ("host", "cli")  # include/wopr


def is_private(layer: str, name: str, user: str) -> bool:
    """Of a header, as another layer sees it."""
    rest = name[len(layer) + 1:]
    if name in BACKEND_HEADERS:
        return user not in BACKEND_USERS
    if layer in PUBLIC:
        return rest not in PUBLIC[layer]
    return "/" in rest or PRIVATE.search(rest) is not None


def own_include(f, line, name):
    if name.startswith("wopr/"):
        if f.layer not in MAY_USE_PUBLIC_INTERFACE:
            yield "%s:%d: the public header is for %s" % (f.rel, line, " and ".join(MAY_USE_PUBLIC_INTERFACE))
        return
    other = source.layer_of(name)
    if other is None:
        yield '%s:%d: include "%s" by its path below src/' % (f.rel, line, name)
    elif source.LAYERS.index(other) > source.LAYERS.index(f.layer):
        yield "%s:%d: %s must not include %s" % (f.rel, line, f.layer, other)
    elif other != f.layer and is_private(other, name, f.layer):
        yield "%s:%d: %s is private to %s" % (f.rel, line, name, other)
    elif f.layer == "store" and f.rel.count("/") == 1 and name.count("/") > 1:
        yield "%s:%d: the port must not include a backend" % (f.rel, line)


def foreign_include(f, line, name):
    for library, places in FOREIGN.items():
        hit = name.startswith(library) if library.endswith("/") else name == library
        if hit and not any(f.rel.startswith(p) for p in places):
            yield "%s:%d: <%s> belongs to %s" % (f.rel, line, name, ", ".join(places))


def check_file(f):
    if f.layer is None:
        yield "%s: lies in no layer" % f.rel
        return
    for line, quote, name in f.includes:
        yield from own_include(f, line, name) if quote == '"' else foreign_include(f, line, name)


def main() -> int:
    files = source.read_all(sys.argv[1])
    found = [line for f in files for line in check_file(f)]
    for circle in source.circles(source.header_graph(files)):
        found.append("headers include each other: " + " ".join(circle))
    for line in found:
        print("src/" + line)
    print("layers: %d files, %d violations" % (len(files), len(found)))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
