#!/usr/bin/env python3
"""/metrics as Prometheus itself reads it, and the documented alerts and panels as it evaluates them.

usage: run.py WOPR SOURCE

The real program, scraped on loopback by Debian's prometheus with docs/alerts.yaml as its rules: the target is up, no sample is refused,
every expression of docs/alerts.yaml and docs/grafana-dashboard.json is evaluated and every metric in them is one that was scraped;
promtool judges names and texts of the metrics, and plays alerts.test.yaml against the rules.  77, skipped: prometheus is not installed.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "kit"))
import host as kit  # noqa: E402

WAIT_S = 60
VARIABLES = {"$__rate_interval": "1m", "$job": "wopr", "$instance": ".*"}


def until(what, why: str):
    end = time.monotonic() + WAIT_S
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < end, why
        time.sleep(0.1)


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
        return answer.read().decode()


def promtool(*arguments: str, given: str = "") -> None:
    done = subprocess.run(["promtool", *arguments], input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WAIT_S)
    assert done.returncode == 0, "promtool %s: %s" % (" ".join(arguments), done.stdout[-2000:])


class Prometheus:
    """On a free port; another program may take that before it does, so a start that fails is tried again."""

    def __init__(self, folder: str, target: str, source: str):
        with open(folder + "/prometheus.yml", "w", encoding="utf-8") as f:
            f.write("global: {scrape_interval: 500ms, evaluation_interval: 1s}\nrule_files: [%s/docs/alerts.yaml]\n"
                    "scrape_configs: [{job_name: wopr, static_configs: [{targets: ['%s']}]}]\n" % (source, target))
        self.folder, self.process = folder, None
        for _ in range(5):
            if self.start():
                return
        with open(folder + "/prometheus.log", encoding="utf-8") as f:
            raise AssertionError("prometheus does not start: " + f.read()[-2000:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def start(self) -> bool:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % port
        with open(self.folder + "/prometheus.log", "ab") as log:
            self.process = subprocess.Popen(["prometheus", "--config.file=" + self.folder + "/prometheus.yml", "--storage.tsdb.path=" + self.folder + "/tsdb",
                                             "--web.listen-address=127.0.0.1:%d" % port], stdout=log, stderr=log)
        end = time.monotonic() + WAIT_S
        while self.process.poll() is None and time.monotonic() < end:
            try:
                get(self.url + "/-/ready")
                return True
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        return False

    def api(self, path: str, **query: str):
        try:
            answer = json.loads(get(self.url + "/api/v1/" + path + ("?" + urllib.parse.urlencode(query) if query else "")))
        except urllib.error.HTTPError as e:
            raise AssertionError("%s %s: %s" % (path, query, e.read().decode()[:500]))
        assert answer["status"] == "success", answer
        return answer["data"]

    def value(self, query: str) -> float:
        found = self.api("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else -1


def names_in(expression: str) -> set:
    bare = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)', " ", expression)
    return {w for w in re.findall(r"[a-z_]\w*", bare) if w.startswith(("wopr_", "process_"))}


def panels(source: str) -> list:
    with open(source + "/docs/grafana-dashboard.json", encoding="utf-8") as f:
        board = json.load(f)
    found = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    for name, value in VARIABLES.items():
        found = [e.replace(name, value) for e in found]
    assert len(found) > 50 and not any("$" in e for e in found)
    return found


def judge(host: kit.Host, p: Prometheus, source: str) -> None:
    promtool("check", "metrics", given=host.metrics())
    promtool("check", "rules", source + "/docs/alerts.yaml")
    promtool("test", "rules", HERE + "/alerts.test.yaml")

    for _ in range(3):
        host.must("POST", "/v1/runs", {"workflowId": "conformance-noop"})
    until(lambda: p.value('wopr_runs_ended_total{job="wopr",status="completed"}') == 3, "three runs are not what Prometheus has")
    target, = p.api("targets")["activeTargets"]
    assert target["health"] == "up" and not target["lastError"], target
    scraped = p.value('scrape_samples_scraped{job="wopr"}')
    lines = sum(1 for line in host.metrics().splitlines() if line and not line.startswith("#"))
    assert abs(scraped - lines) <= 20, "%d samples of %d lines" % (scraped, lines)  # series that came meanwhile
    assert p.value('scrape_samples_post_metric_relabeling{job="wopr"}') == scraped

    with open(source + "/docs/alerts.yaml", encoding="utf-8") as f:
        written = len(re.findall(r"^\s*- alert:", f.read(), re.M))
    rules = until(lambda: (lambda v: v if len(v) == written else None)(
        [r for g in p.api("rules")["groups"] for r in g["rules"] if r["health"] != "unknown"]), "not all of %d rules are evaluated" % written)
    for rule in rules:
        assert rule["health"] == "ok", rule
        assert rule["state"] != "firing", "%s fires on a host that is well" % rule["name"]
    # A counter with labels has no series before something was counted, but its text says that it is there.
    have = {m["metric"] for m in p.api("targets/metadata", match_target='{job="wopr"}')}
    for expression in panels(source) + [r["query"] for r in rules]:
        p.api("query", query=expression)
        names = names_in(expression)
        missing = {n for n in names if n not in have and re.sub(r"_(bucket|sum|count)$", "", n) not in have}
        assert names and not missing, "not exported: %s in %s" % (missing, expression)


def main() -> int:
    program, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for tool in ("prometheus", "promtool"):
        if shutil.which(tool) is None:
            print("skipped: %s is not installed" % tool)
            return 77
    with tempfile.TemporaryDirectory() as folder, kit.Host(
            program, folder + "/w.db", "--ops-port", "0", "--log-level", "error", "--conformance-seed", "--seed", source + "/docs/examples") as host:
        with Prometheus(folder, "127.0.0.1:%d" % host.ops, source) as p:
            judge(host, p, source)
    print("Prometheus reads what the host says, and the documented rules and panels are about it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
