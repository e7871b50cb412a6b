"""A page in a real browser, without a window, at an origin of its own: the server of that page, and the browser.

The page executes page.mjs and posts what came out; its server is what docs/clients.md asks of the server of a page: it has the key, and hands
out tickets.  Commands of the page go to the world.
"""
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PAGE_S = 240
ASK_S = 30
HTML = """<!doctype html><meta charset="utf-8"><title>wopr-client</title>
<script type="importmap">{"imports": {"wopr-client": "/package/index.js"}}</script>
<script src="/watch.js"></script><script type="module" src="/page.mjs"></script>
"""
KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".json": "application/json", ".map": "application/json"}


def find() -> str:
    """A browser, or an empty text."""
    return next((path for path in map(shutil.which, BROWSERS) if path), "")


class Server:
    def __init__(self, package: str, watch: str):
        self.package, self.watch = package, watch  # folder of the built package, text of the sample of docs/clients.md
        self.world, self.results, self.done = None, [], threading.Event()
        self.mint_key, self.mint_faults = None, []  # statuses to answer in the host's place; 0: cut the connection
        self.minted = 0
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.origin = "http://127.0.0.1:%d" % self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _file(self, path: str) -> bytes:
        name = path.split("?")[0]
        if name in ("/", "/other.html"):
            return HTML.encode()
        if name == "/watch.js":
            return self.watch.encode()
        if name == "/config.json":
            return json.dumps({"url": self.world.url, "key": self.world.key, "elsewhere": self.origin.replace("127.0.0.1", "localhost")}).encode()
        folder = self.package if name.startswith("/package/") else HERE
        with open(os.path.join(folder, os.path.basename(name)), "rb") as f:
            return f.read()

    def _ticket(self, run: str) -> tuple:
        """What stream-ticket answers, status included."""
        self.minted += 1
        if self.mint_faults:
            return self.mint_faults.pop(0), b"{}"
        headers = {"Authorization": "Bearer " + (self.mint_key or self.world.key), "Content-Type": "application/json",
                   "Host": self.world.url.split("//")[1]}
        request = urllib.request.Request(self.world.host_url() + "/v1/host/wopr/runs/%s/stream-ticket" % run, b"{}", headers)
        try:
            with urllib.request.urlopen(request, timeout=ASK_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 502, b"{}"  # the host is down

    def _command(self, command: dict) -> object:
        """mint: which key tickets are made with, and what goes wrong first; minted: how many were asked for; else the world's."""
        what = command.pop("do")
        if what == "mint":
            self.mint_key, self.mint_faults, self.minted = command.get("key"), list(command.get("faults", [])), 0
            return None
        return self.minted if what == "minted" else getattr(self.world, what.lstrip("_"))(**command)

    def _post(self, path: str, body: bytes) -> tuple:
        if path.startswith("/ticket/"):
            return self._ticket(path.rsplit("/", 1)[1])
        message = json.loads(body)
        if path == "/world":
            return 200, json.dumps({"answer": self._command(message)}).encode()
        self.results.append(message)
        if message.get("end"):
            self.done.set()
        return 200, b"{}"

    def _handler(self) -> type:
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                try:
                    name = self.path.split("?")[0]
                    self.answer(200, server._file(self.path), KINDS.get(os.path.splitext(name)[1], "text/html"))
                except OSError:
                    self.answer(404, b"{}")

            def do_POST(self) -> None:
                status, body = server._post(self.path, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                if status == 0:
                    self.close_connection = True
                    return
                self.answer(status, body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def run(browser: str, server: Server) -> tuple:
    """(status, text): what the page reported."""
    with tempfile.TemporaryDirectory(prefix="wopr-browser-", ignore_cleanup_errors=True) as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
                   "--user-data-dir=" + profile, server.origin + "/"]
        with open(os.path.join(profile, "log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            ended = server.done.wait(PAGE_S)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        with open(os.path.join(profile, "log"), encoding="utf-8", errors="replace") as log:
            said = log.read()
    tests = [r for r in server.results if "name" in r]
    text = "".join("%s %s%s\n" % ("ok  " if r["ok"] else "FAIL", r["name"], "" if r["ok"] else ": " + r["error"]) for r in tests)
    if not ended:
        return 1, text + "the page did not end within %d s; the browser said\n%s" % (PAGE_S, said[-4000:])
    return (0 if tests and all(r["ok"] for r in tests) else 1), text
