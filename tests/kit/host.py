"""The real program as a host on loopback: started, asked, killed, stopped, started again on its database.

A test's program finds this file by sys.path, adds its options and what only it asks for.  No host outlives it, whatever fails.
"""
import atexit
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

KEY = "key-of-a-test-0123456789abcdef"  # live; one that begins with hk_test_ is of the mode test
LOG_SHOWN = 2000
LISTENS = re.compile(r"listens on (https?://\S+:(\d+))\n")


def environment(**more):
    """Ours without what would be settings of a host, and more."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith(("WOPR_", "OPENWOP_", "OTEL_"))}, **more}


def start_refused(wopr, folder, *args, env=None):
    """Status and output of a start that ends before it would listen."""
    done = subprocess.run([wopr, "serve", "--port", "0", "--ops-port", "-1", "--db", os.path.join(folder, "never.db"), *args],
                          env=environment(OPENWOP_API_KEY=KEY, **(env or {})), capture_output=True, text=True, timeout=Host.wait_s)
    return done.returncode, done.stdout + done.stderr


class Host:
    """database: a file; args: options of `wopr serve`, of which the last counts; env: variables; url and port are those of the last start."""

    wait_s = 60  # for a start, an answer, an end, a command

    def __init__(self, wopr, database, *args, env=None, key=KEY):
        self.wopr, self.database, self.args, self.key = wopr, database, args, key
        self.env = environment(OPENWOP_API_KEY=key, **(env or {}))
        self.log = tempfile.TemporaryFile()
        self.launch()

    def launch(self):
        self.p = subprocess.Popen([self.wopr, "serve", "--port", "0", "--ops-port", "-1", "--db", self.database, *self.args],
                                  env=self.env, stdout=subprocess.PIPE, stderr=self.log, text=True)
        atexit.register(self.p.kill)
        said = ""
        with self.bounded():
            for line in self.p.stdout:
                said += line
                found = LISTENS.search(line)
                if found:
                    self.url, self.port, self.ops_port = found[1], int(found[2]), 0
                    return
        self.kill()
        raise RuntimeError("the host did not start (%d): %s%s" % (self.p.returncode, said, self.text()[-LOG_SHOWN:]))

    @contextlib.contextmanager
    def bounded(self):
        """A host that takes longer is killed."""
        watch = threading.Timer(self.wait_s, self.p.kill)
        watch.start()
        try:
            yield
        finally:
            watch.cancel()

    def kill(self):
        """kill -9"""
        self.p.kill()
        self.p.wait(self.wait_s)
        self.p.stdout.close()

    def stop(self):
        """SIGTERM; the status, 0 unless something was wrong, negative when it had to be killed."""
        self.p.terminate()
        with self.bounded():
            status = self.p.wait()
        self.p.stdout.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """What it has logged is shown: with --log-level error, what was wrong."""
        self.stop()
        sys.stderr.write(self.text())

    def text(self):
        """What it has logged so far."""
        return os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0).decode()

    @property
    def ops(self):
        """The port of /metrics, if --ops-port 0 asks for one: the line after that of port."""
        self.ops_port = self.ops_port or int(re.search(r":(\d+)/metrics", self.p.stdout.readline())[1])
        return self.ops_port

    def metrics(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.ops, timeout=self.wait_s) as answer:
            return answer.read().decode()

    def command(self, *words, **more):
        """Another process on the same database: its status and output."""
        return subprocess.run([self.wopr, *words, "--db", self.database], env=environment(), capture_output=True, text=True, timeout=self.wait_s, **more)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.wait_s)

    def send(self, method, path, body=None, key="", **headers):
        """Status, headers and bytes of the answer; a body that is not text or bytes becomes JSON; key: another one, None for none."""
        key = self.key if key == "" else key
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        with contextlib.closing(self.connect()) as c:
            c.request(method, path, body.encode() if isinstance(body, str) else body,
                      {**({"Authorization": "Bearer " + key} if key else {}), "Content-Type": "application/json", "Accept": "application/json", **headers})
            answer = c.getresponse()
            return answer.status, answer.headers, answer.read()

    def ask(self, method, path, body=None, **more):
        """Status and body, of JSON what it means."""
        status, headers, data = self.send(method, path, body, **more)
        return status, json.loads(data or b"{}") if "json" in headers.get("Content-Type", "json") else data.decode()

    def must(self, method, path, body=None, **more):
        """The body of an answer that is no error."""
        status, got = self.ask(method, path, body, **more)
        if status >= 400:
            raise RuntimeError("%s %s: %d %s" % (method, path, status, got))
        return got
