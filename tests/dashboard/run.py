#!/usr/bin/env python3
"""The dashboard: its types, its pure parts, and its pages in a real browser against a real host.

usage: run.py WOPR TOOLS_DIRECTORY WORK_DIRECTORY [--shots DIRECTORY]
oxlint looks at web/ and at these tests by web/oxlint.json, tsc checks the types of web/; unit.ts is bundled with esbuild and executed by node, partly against a host; page.mjs drives Debian's chromium
with puppeteer-core, against a host behind the proxy of tests/clients/world.py.  Programs from npm: package-lock.json, installed once.
WOPR_DASHBOARD_FULL=1: also a log of 1,000,000 events, 10,000 events in ten seconds, and figures are judged; for a machine that does nothing else.
WOPR_DASHBOARD_SOAK_S=3600 ONLY="memory stays": a page tails for so long, and what it holds is printed every minute.
--shots: also makes the pictures of docs/dashboard.md, there.
Exit status: 0, 1, 77 = skipped: no node, no npm, no registry, no browser, no esbuild (it says which).
"""
import os
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "openapi"), os.path.join(ROOT, "tests", "clients")]
import browser  # noqa: E402
import npm  # noqa: E402
from world import World  # noqa: E402

TEA = os.path.join(ROOT, "docs", "examples", "tea.workspec.yaml")
TOOL_S, PAGES_S = 240, 540 + int(os.environ.get("WOPR_DASHBOARD_SOAK_S", "0"))


class Stretching(World):
    def stretch(self, run: str, events: int) -> None:
        """Restarts the host with a log that is so long: pieces of streamed text are repeated before the end of the run."""
        self.kill()
        base = sqlite3.connect(self._db)
        base.execute("PRAGMA synchronous = OFF")
        for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('events', 'runs')").fetchall():
            base.execute("DROP TRIGGER " + name)  # they keep a log as it is
        run_no, length = base.execute("SELECT run_no, next_seq FROM runs WHERE run_id = ?", (run,)).fetchone()
        kept, more = length - 3, events - length  # the last three: end of the text, of the node, of the run
        for seq in range(length - 1, kept - 1, -1):
            base.execute("UPDATE events SET seq = seq + ? WHERE run_no = ? AND seq = ?", (more, run_no, seq))
        base.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) INSERT INTO events SELECT run_no, ? + i, kind, ts, "
                     "node_id, NULL, schema_version, engine_version, flags, type, payload FROM events, n WHERE run_no = ? AND seq = ?", (more, kept, run_no, kept - 1))
        base.execute("UPDATE runs SET next_seq = ? WHERE run_no = ?", (events, run_no))
        base.commit()
        base.close()
        self.start()


def lint(tools: str) -> int:
    tests = [os.path.join(HERE, name) for name in ("unit.ts", "kit.mjs", "page.mjs")]
    return subprocess.run([os.path.join(tools, "node_modules", ".bin", "oxlint"), "-c", os.path.join(ROOT, "web", "oxlint.json"), "--deny-warnings",
                           os.path.join(ROOT, "web", "src"), *tests], timeout=TOOL_S).returncode


def types(tools: str) -> int:
    return subprocess.run([os.path.join(tools, "node_modules", ".bin", "tsc"), "-p", os.path.join(ROOT, "web")], timeout=TOOL_S).returncode


def node(program: str, folder: str, limit: int, **more) -> int:
    command = ["node", "--test", "--test-reporter=spec", *(["--test-name-pattern=" + os.environ["ONLY"]] if "ONLY" in os.environ else []), program]
    return subprocess.run(command, cwd=folder, timeout=limit, env=dict(os.environ, **more)).returncode


def units(wopr: str, esbuild: str, work: str) -> int:
    bundled = os.path.join(work, "unit.mjs")
    subprocess.run([esbuild, os.path.join(HERE, "unit.ts"), "--bundle", "--platform=node", "--format=esm", "--log-level=warning", "--outfile=" + bundled],
                   check=True, timeout=TOOL_S, env=dict(os.environ, NODE_PATH=os.path.join(ROOT, "web", "vendor")))
    world = World(wopr)
    try:
        return node(bundled, work, TOOL_S, WOPR_URL=world.host_url(), WOPR_API_KEY=world.key, TEA=TEA)
    finally:
        world._close()


def pages(wopr: str, program: str, tools: str, work: str, shots: str) -> int:
    # Modules are found beside the file that names them.
    for name in ("page.mjs", "kit.mjs"):
        shutil.copy(os.path.join(HERE, name), tools)
    world = Stretching(wopr, "--session-workflows", os.path.join(ROOT, "docs", "examples", "workrail"), "--keepalive-ms", "500", "--max-body-bytes", "16777216", "--max-node-executions", "100000")
    try:
        return node("page.mjs", tools, PAGES_S, WOPR_URL=world.url, WOPR_API_KEY=world.key, WORLD_CONTROL=world._serve_control(), BROWSER=program,
                    SHOTS=shots, WORK=work, TEA=TEA)
    finally:
        world._close()


def main() -> int:
    wopr, tools, work = map(os.path.abspath, sys.argv[1:4])
    shots = os.path.abspath(sys.argv[5]) if sys.argv[4:5] == ["--shots"] else ""
    try:
        npm.install(tools, HERE)
        program, esbuild = browser.find(), shutil.which("esbuild")
        if not esbuild:
            raise npm.Skip("esbuild is not installed")
        if not program:
            raise npm.Skip("no browser is installed (Debian: chromium)")
    except npm.Skip as why:
        print("skipped: %s" % why)
        return npm.SKIPPED
    os.makedirs(work, exist_ok=True)
    failed = [name for name, part in (("lint", lambda: lint(tools)), ("types", lambda: types(tools)), ("units", lambda: units(wopr, esbuild, work)),
                                      ("pages", lambda: pages(wopr, program, tools, work, shots)))
              if name in os.environ.get("PARTS", name) and part() != 0]
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
