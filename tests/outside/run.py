#!/usr/bin/env python3
"""
run.py: the way out of a host through a proxy and with certificates of the operator, and never by what
the environment says: an HTTP proxy and an HTTPS server of Python's standard library on loopback.
usage: run.py WOPR
"""
import os
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
import host as kit  # noqa: E402

KEY, WAIT_S = kit.KEY, kit.Host.wait_s
FAILED = []


def play(what, tests):
    """The tests of a file, or those that its arguments name after the program."""
    names = sys.argv[2:]
    unknown = set(names) - {test.__name__ for test in tests}
    if unknown:
        sys.exit("%s: no test %s; there are: %s" % (what, " ".join(sorted(unknown)), " ".join(test.__name__ for test in tests)))
    with tempfile.TemporaryDirectory() as folder:
        for test in tests:
            if not names or test.__name__ in names:
                before, began = len(FAILED), time.monotonic()
                test(sys.argv[1], folder)
                print("%s %s (%.1f s)" % ("ok  " if len(FAILED) == before else "BAD ", test.__name__, time.monotonic() - began), flush=True)
    print("%s: %d failed" % (what, len(FAILED)))
    return 1 if FAILED else 0


def expect(ok, what):
    if not ok:
        FAILED.append(what)
        print("FAILED:", what, file=sys.stderr)


def listen():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    s.listen(64)
    return s


def head_of(c):
    data = b""
    while b"\r\n\r\n" not in data:
        more = c.recv(4096)
        if not more:
            break
        data += more
    return data.decode("latin-1")


class Server:
    """One thread per connection; keeps the heads of what it was asked."""

    def __init__(self, handle):
        self.heads, self.handle, self.sock = [], handle, listen()
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            c, _ = self.sock.accept()
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        try:
            self.handle(self, c)
        except OSError:
            pass
        finally:
            c.close()


def https_handler(context):
    def handle(server, c):
        with context.wrap_socket(c, server_side=True) as tls:
            server.heads.append(head_of(tls))
            tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    return handle


def proxy(server, c):
    head = head_of(c)
    server.heads.append(head)
    host, port = head.split()[1].rsplit(":", 1)
    with socket.create_connection((host.strip("[]"), int(port)), 10) as to:
        c.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        while True:
            ready, _, _ = select.select([c, to], [], [], WAIT_S)
            if not ready:
                return
            for s in ready:
                data = s.recv(65536)
                if not data:
                    return
                (to if s is c else c).sendall(data)


def certificates(folder):
    ca, key, pem = (os.path.join(folder, n) for n in ("ca.pem", "key.pem", "server.pem"))
    run = lambda *a: subprocess.run(["openssl", *a], check=True, capture_output=True, timeout=120)
    cak, csr, ext = (os.path.join(folder, n) for n in ("ca.key", "csr.pem", "ext"))
    with open(ext, "w", encoding="ascii") as f:
        f.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", cak, "-out", ca, "-days", "2", "-subj",
        "/CN=Test CA", "-addext", "basicConstraints=critical,CA:TRUE")
    run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", csr, "-subj", "/CN=localhost")
    run("x509", "-req", "-in", csr, "-CA", ca, "-CAkey", cak, "-CAcreateserial", "-out", pem, "-days", "2",
        "-extfile", ext)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return ca, context


class Host(kit.Host):
    """db: the folder of the database."""

    def __init__(self, wopr, folder, args, env, db=None):
        self.db = db or tempfile.mkdtemp(dir=folder)
        super().__init__(wopr, os.path.join(self.db, "w.db"), *args, env=env)

    def fetch(self, url):
        """One run with one request; its last snapshot."""
        node = {"id": "n", "typeId": "vendor.wopr.http", "name": "N", "position": {"x": 0, "y": 0},
                "config": {"url": url, "method": "GET", "headers": {"X-Mine": "canary"}}, "inputs": {}}
        wf = {"id": "w%d" % time.monotonic_ns(), "name": "W", "version": "1", "nodes": [node], "edges": [],
              "triggers": [], "variables": [], "metadata": {}, "settings": {}}
        self.must("PUT", "/v1/host/wopr/workflows/" + wf["id"], wf)
        run = self.must("POST", "/v1/runs", {"workflowId": wf["id"]})["runId"]
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            snap = self.must("GET", "/v1/runs/" + run)
            if snap["status"] in ("completed", "failed", "cancelled"):
                return snap
            time.sleep(0.05)
        raise RuntimeError("no end: %s" % snap)

    def end(self):
        status = self.stop()
        expect(status == 0, "the host ended with %d: %s" % (status, self.text()[-2000:]))


def code(snap):
    return (snap.get("error") or {}).get("code", snap["status"])


def certificates_of_the_operator(wopr, folder, ca, https):
    lies = {n: "http://127.0.0.1:1" for n in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")}
    url = "https://127.0.0.1:%d/x" % https.port
    h = Host(wopr, folder, ["--egress-loopback", "--egress-ca-file", ca],
             {**lies, "SSL_CERT_FILE": "/nonexistent", "SSL_CERT_DIR": "/nonexistent", "CURL_CA_BUNDLE": "/x"})
    expect(code(h.fetch(url)) == "completed", "an authority of the operator, no proxy of the environment")
    expect('"relaxation":"egress-loopback"' in h.text(), "the relaxation is told: " + h.text()[:400])
    h.end()
    h = Host(wopr, folder, ["--egress-loopback"], {"SSL_CERT_FILE": ca, "SSL_CERT_DIR": folder, "CURL_CA_BUNDLE": ca})
    https.heads.clear()
    expect(code(h.fetch(url)) == "unreachable", "an authority of the environment counts for nothing")
    expect(not "".join(https.heads), "and nothing was sent")
    h.end()
    h = Host(wopr, folder, [], {})
    expect(code(h.fetch(url)) == "egress_refused", "loopback is refused unless it is asked for")
    expect("relaxation" not in h.text(), "nothing is relaxed")
    h.end()


def through_the_proxy(wopr, folder, ca, https, through):
    args = ["--egress-ca-file", ca, "--egress-proxy", "http://127.0.0.1:%d" % through.port]
    env = {"WOPR_EGRESS_PROXY_USER": "me:canary-pw", "no_proxy": "*", "NO_PROXY": "*"}
    h = Host(wopr, folder, ["--egress-loopback", *args], env)
    for host in ("127.0.0.1", "localhost"):
        https.heads.clear()
        through.heads.clear()
        snap = h.fetch("https://%s:%d/x" % (host, https.port))
        expect(code(snap) == "completed", "through the proxy to %s: %s" % (host, snap))
        seen, got = "".join(through.heads), "".join(https.heads)
        expect(seen.startswith(("CONNECT 127.0.0.1:%d " % https.port, "CONNECT [::1]:%d " % https.port)),
               "a tunnel to the address: " + seen)
        expect("Proxy-Authorization: Basic " in seen, "with the credentials for it")
        expect("canary" not in seen and "Idempotency-Key" not in seen, "and no header of the request: " + seen)
        expect("X-Mine: canary" in got and "Proxy-" not in got and "Host: %s:" % host in got, "the server: " + got)
    h.end()
    h = Host(wopr, folder, ["--egress-allow", "10.9.9.9", *args], env)
    through.heads.clear()
    for url in ("https://10.0.0.1/", "https://169.254.169.254/", "https://localhost/", "https://127.0.0.1/",
                "https://[::ffff:127.0.0.1]/"):
        expect(code(h.fetch(url)) == "egress_refused", "a proxy is no way around the guard: " + url)
    expect(not through.heads, "the proxy was asked for nothing: %s" % through.heads)
    h.end()


def settings(wopr, folder, ca):
    rc, out = kit.start_refused(wopr, folder, "--egress-loopback", "--egress-ca-file", ca, "--print-config",
                                env={"WOPR_EGRESS_PROXY_USER": "me:canary-pw"})
    expect(rc == 0 and '"egress-loopback":true' in out, out)
    expect("canary-pw" not in out, "the credentials are shown")
    for flag, value in (("--egress-proxy", "ftp://x:1"), ("--egress-proxy", "http://me:pw@x:1"), ("--egress-proxy", "x"),
                        ("--egress-proxy", "http://x:1/path"), ("--egress-proxy", "http://x"),
                        ("--egress-ca-file", "/nonexistent"), ("--egress-ca-file", __file__)):
        rc, out = kit.start_refused(wopr, folder, flag, value)
        expect(rc != 0 and flag[2:] in out, "%s %s: %s" % (flag, value, out))


def main():
    wopr = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        ca, context = certificates(folder)
        https, through = Server(https_handler(context)), Server(proxy)
        certificates_of_the_operator(wopr, folder, ca, https)
        through_the_proxy(wopr, folder, ca, https, through)
        settings(wopr, folder, ca)
    print("outside: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
