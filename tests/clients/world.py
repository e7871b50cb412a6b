"""A real host, and between it and its clients a proxy that cuts, stalls, refuses and loses answers when it is asked to.

In Python it is used as it is; programs in other languages send the same commands as JSON to its control port (see serve_control).
"""
import glob
import http.server
import json
import os
import re
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "kit"))
from host import Host  # noqa: E402

START_S = 60
PIECE = 65536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset


class Link:
    """One connection of a client, and ours to the host on its behalf."""

    def __init__(self, client: socket.socket, host: socket.socket):
        self.client, self.host = client, host
        self.stalled = threading.Event()
        self.sent = 0  # bytes to the client
        self.deaf = False
        self.swallow = False  # the answer is lost, and the connection with it

    def cut(self) -> None:
        for sock in (self.client, self.host):
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


class World:
    """The commands are the methods whose names do not begin with an underscore."""

    def __init__(self, wopr: str, *options: str):
        self._folder = tempfile.TemporaryDirectory()
        self._db = os.path.join(self._folder.name, "wopr.db")
        self._seed = os.path.join(self._folder.name, "seed")
        os.mkdir(self._seed)
        for path in glob.glob(os.path.join(HERE, "workflows", "*.json")) + glob.glob(os.path.join(HERE, "../../docs/examples", "*.json")):
            shutil.copy(path, self._seed)
        self.key = "hk_test_clients_0123456789abcdef"
        self._lock = threading.Lock()
        self._links, self._seen, self._refusals, self._lost = [], [], [], []
        self._cut_after, self._cuts, self._drip = 0, -1, (0, 0)
        self._host = Host(wopr, self._db, "--conformance-seed", "--log-level", "error", "--seed", self._seed, *options, key=self.key,
                          env={"WOPR_AUDIT_LOG": "changes"})
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._door.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    # The host.

    def start(self) -> None:
        """Starts the host again, on the same database."""
        self._host.launch()

    def kill(self) -> None:
        """kill -9"""
        self._host.kill()

    def make_key(self, scopes: str = "all", tenant: str = "") -> dict:
        """Another API key; scopes: separated by commas; tenant: of another one."""
        made = self._host.command("keys", "create", "--test", "--no-expiry", "--scopes", scopes, *(["--tenant", tenant] if tenant else []), check=True)
        return {"key": re.search(r"hk_\S+", made.stdout).group(0), "id": re.search(r"key id (\w+)", made.stderr + made.stdout).group(1)}

    def revoke_key(self, key_id: str) -> None:
        self._host.command("keys", "revoke", key_id, check=True)

    def put_workflow(self, name: str) -> None:
        """One of worker_workflows/, which name types that only workers know: after these are registered."""
        self._host.command("workflow", "put", os.path.join(HERE, "worker_workflows", name + ".json"), check=True)

    def greet(self, name: str) -> None:
        """Has a worker of another program, once it has registered its type, execute a run of greeting."""
        until = time.monotonic() + START_S
        while not any(known["typeId"] == "acme.greet" for known in self._host.must("GET", "/v1/host/wopr/worker-types")["workerTypes"]):
            if time.monotonic() > until:
                raise SystemExit("no worker registers its type")
            time.sleep(0.05)
        self.put_workflow("greeting")
        run = self._host.must("POST", "/v1/runs", {"workflowId": "greeting", "inputs": {"name": name}})["runId"]
        while not self._host.must("GET", "/v1/runs/%s/events/poll?lastSequence=%d&timeout=5" % (run, 2**53 - 1))["isComplete"]:
            if time.monotonic() > until:
                raise SystemExit("no worker executes the node")

    def host_url(self) -> str:
        """Past the proxy."""
        return self._host.url

    # The proxy.

    def calm(self) -> None:
        """No faults from here on; forgets what it has seen."""
        with self._lock:
            self._refusals, self._lost, self._seen, self._cut_after, self._drip = [], [], [], 0, (0, 0)

    def cut(self) -> None:
        """Cuts all connections."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.cut()

    def cut_after(self, bytes: int, times: int = -1) -> None:
        """Cuts each connection, or the next ones, when it has brought so many bytes."""
        with self._lock:
            self._cut_after, self._cuts = bytes, times

    def stall(self) -> None:
        """Nothing more arrives on the connections that are open; they stay open."""
        with self._lock:
            for link in self._links:
                link.stalled.set()

    def half_open(self) -> None:
        """What the host sends on the connections that are open is thrown away, and what the client sends, too; nobody is told."""
        with self._lock:
            for link in self._links:
                link.deaf = True

    def drip(self, bytes: int, ms: int) -> None:
        """From here on every connection brings so many bytes, then none for so long; 0: as they come."""
        with self._lock:
            self._drip = (bytes, ms)

    def refuse(self, match: str, status: int, times: int, headers: dict = {}, body: str = "") -> None:
        """The next requests whose head contains this text are answered so, in the host's place."""
        self._refusals.append({"match": match, "status": status, "times": times, "headers": headers, "body": body})

    def lose(self, match: str, times: int) -> None:
        """The next requests whose head contains this text are executed, but their answers are lost."""
        self._lost.append({"match": match, "times": times})

    def seen(self) -> list:
        """The requests since calm(): {line, headers}, names of headers in lower case."""
        with self._lock:
            return list(self._seen)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            try:
                host = socket.create_connection(("127.0.0.1", self._host.port))
            except OSError:  # the host is down
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                client.close()
                continue
            link = Link(client, host)
            with self._lock:
                self._links.append(link)
            threading.Thread(target=self._upstream, args=(link,), daemon=True).start()
            threading.Thread(target=self._downstream, args=(link,), daemon=True).start()

    def _rule(self, rules: list, head: str):
        with self._lock:
            for rule in rules:
                if rule["times"] > 0 and rule["match"] in head:
                    rule["times"] -= 1
                    return rule
        return None

    def _upstream(self, link: Link) -> None:
        """Requests; a head arrives in one piece from the clients that are tested."""
        try:
            while True:
                piece = link.client.recv(PIECE)
                if not piece:
                    break
                if link.deaf:
                    continue
                if re.match(rb"(GET|POST|PUT|DELETE) /", piece):
                    head = piece.split(b"\r\n\r\n")[0].decode("latin-1")
                    lines = head.split("\r\n")
                    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
                    with self._lock:
                        self._seen.append({"line": lines[0], "headers": headers})
                    rule = self._rule(self._refusals, head)
                    if rule:
                        self._answer(link, rule)
                        break
                    link.swallow = self._rule(self._lost, head) is not None
                link.host.sendall(piece)
        except OSError:
            pass
        self._drop(link)

    def _answer(self, link: Link, rule: dict) -> None:
        body = rule["body"] or json.dumps({"error": "service_unavailable", "message": "refused by the test"})
        head = "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n" % (rule["status"], len(body))
        head += "".join("%s: %s\r\n" % pair for pair in rule["headers"].items())
        link.client.sendall((head + "\r\n" + body).encode())

    def _downstream(self, link: Link) -> None:
        try:
            while True:
                piece = link.host.recv(PIECE)
                if link.deaf:
                    continue
                if link.swallow:
                    link.cut()
                    break
                while link.stalled.is_set():
                    if link.client.fileno() < 0:
                        return
                    time.sleep(0.02)
                if not piece:
                    break
                left = self._cut_after - link.sent
                if self._cut_after and self._cuts and len(piece) >= left:
                    self._cuts -= 1
                    link.client.sendall(piece[:max(left, 0)])
                    time.sleep(0.01)  # let the client read: a reset throws away what it has not
                    link.cut()
                    break
                self._give(link, piece)
        except OSError:
            pass
        self._drop(link)

    def _give(self, link: Link, piece: bytes) -> None:
        while piece:
            size, ms = self._drip
            part = piece[:size] if size else piece
            link.client.sendall(part)
            link.sent += len(part)
            piece = piece[len(part):]
            if size:
                time.sleep(ms / 1000)

    def _drop(self, link: Link) -> None:
        with self._lock:
            if link in self._links:
                self._links.remove(link)
        for sock in (link.client, link.host):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _serve_control(self) -> str:
        """POST {"do": METHOD, ...arguments}: answers {"answer": …}.  Returns its URL."""
        world = self

        class Control(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                command = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = getattr(world, command.pop("do").lstrip("_"))(**command)
                text = json.dumps({"answer": answer}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return "http://127.0.0.1:%d" % server.server_address[1]

    def _close(self) -> None:
        self._door.close()
        self.cut()
        self.kill()
        sys.stderr.write(self._host.text())
        self._folder.cleanup()
