#!/usr/bin/env python3
"""Runs the commands of the pages for users and compares what they print.

usage: run.py WOPR SOURCE_ROOT [--write] [PAGE...]
Without --write: exit status 1 when a command of a ```console block prints something else than the page says.  With it, the
pages get what the commands print now.  Each page has a folder that looks like a fresh clone, a host that ./run started there,
and one shell.  Commands are written for port 8080, the host of the page has another one.

In a block, a line that begins with "$ " is a command (one that ends with a backslash goes on), the lines after it are its
output, stderr included.  "..." in a line stands for anything, a line "..." for any number of lines.  Ids, times and durations
may differ.  "$ ./run" alone is the command that started the host.  What is not run is a row of not-run.txt, with its reason;
a command outside of such a block, and a row for which there is no command, are errors.
"""
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/examples/README.md", "clients/*/README.md", "conformance/README.md")
STARTS_HOST = "./run"
END = "__end_of_command__"
COMMAND_S, START_S = 30, 20
VARYING = [  # what a run does not repeat: how it is recognised
    (r"run_[0-9A-Z]{26}", r"run_[0-9A-Z]{26}"),
    (r"int_[0-9a-f]{32}", r"int_[0-9a-f]{32}"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    (r" +\d+\.\d{3}s", r" +\d+\.\d{3}s"),
    (r"cfg[0-9a-f]{24}", r"cfg[0-9a-f]{24}"),
    (r" +\d+s\b", r" +\d+s"),
    (r"[0-9A-Z]{26}-\d+", r"[0-9A-Z]{26}-\d+"),
    (r"task_[0-9a-f]{32}", r"task_[0-9a-f]{32}"),
    (r"\b[0-9A-HJKMNP-TV-Z]{26}\b", r"[0-9A-HJKMNP-TV-Z]{26}"),
    (r"hk_[0-9A-Za-z_-]{20,}", r"hk_[0-9A-Za-z_-]{20,}"),
    (r"(?:127\.0\.0\.1|localhost):\d+", r"(?:127\.0\.0\.1|localhost):\d+"),
    (r"\b[0-9a-f]{64}\b", r"[0-9a-f]{64}"),
    (r"\"(durationMs|ageMs)\":\d+", r"\"(?:durationMs|ageMs)\":\d+"),
    (r"\b[0-9a-f]{16}\b", r"[0-9a-f]{16}"),
    (r"\b[0-9a-f]{12}\b", r"[0-9a-f]{12}"),
    (r"\.\.\.", r".*"),
]


# What the script of a clone installs and builds is there already.
COMMON = "\ninstall_packages() { :; }\nbuild_tree() { :; }\n"
# Programs of the same name elsewhere on the machine are not the page's.
PIDOF = """#!/bin/sh
session() { set -- $(cat "/proc/$1/stat" 2>/dev/null); echo "${6:-ended}"; }
for pid in $(/bin/pidof "$@"); do [ "$(session "$pid")" != "$(session $$)" ] || echo "$pid"; done
"""
# Programs of a page look for a host at port 8080.
PYTHON = """#!/bin/sh
WOPR_URL=http://127.0.0.1:%d exec %s "$@"
"""


def port_free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


class Clone:
    """A folder that looks like a fresh clone in which ./run has built the program."""

    def __init__(self, wopr: str, root: str):
        self.folder = tempfile.mkdtemp(prefix="wopr-docs-")
        for name in ("build", "bin", "tools", "home"):
            os.makedirs(self.path(name))
        os.symlink(wopr, self.path("build/wopr"))
        os.symlink(wopr, self.path("bin/wopr"))
        for name in os.listdir(root):
            if not os.path.lexists(self.path(name)) and not re.match(r"build|data$|run$|\.", name):
                os.symlink(os.path.join(root, name), self.path(name))
        shutil.copy(os.path.join(root, "run"), self.path("run"))
        with open(os.path.join(root, "tools", "common.sh"), encoding="utf-8") as f:
            self.write("tools/common.sh", f.read() + COMMON)
        self.write("bin/pidof", PIDOF)
        self.port, self.ops_port = port_free(), port_free()
        self.write("bin/python3", PYTHON % (self.port, sys.executable))
        for name in ("bin/pidof", "bin/python3"):
            os.chmod(self.path(name), 0o755)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str) -> None:
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def here(self, command: str) -> str:
        """The command with the addresses of this page's host."""
        command = re.sub(r"(127\.0\.0\.1|localhost):8080", "127.0.0.1:%d" % self.port, command)
        return re.sub(r"(127\.0\.0\.1|localhost):9464", "127.0.0.1:%d" % self.ops_port, command)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Shell:
    """One shell for the commands of a page: variables stay.  Whatever it starts belongs to its session."""

    command_s = COMMAND_S

    def __init__(self, clone: "Clone"):
        self.clone = clone
        self.process = self.start()

    def start(self) -> subprocess.Popen:
        clone = self.clone
        env = {k: v for k, v in os.environ.items() if not k.startswith(("WOPR_", "OPENWOP_", "PYTHON"))}
        env.update(PATH=clone.path("bin") + ":" + env["PATH"], HOME=clone.path("home"), LC_ALL="C.UTF-8", OPENWOP_PORT=str(clone.port),
                   WOPR_OPS_PORT=str(clone.ops_port), WOPR_LOG_LEVEL="error")
        return subprocess.Popen(["bash"], cwd=clone.folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def host_start(self) -> list:
        """What ./run printed."""
        self.run("(" + STARTS_HOST + " >first-terminal 2>&1 &)")
        limit, text = time.monotonic() + START_S, ""
        while time.monotonic() < limit:
            if os.path.exists(self.clone.path("first-terminal")):
                with open(self.clone.path("first-terminal"), encoding="utf-8") as f:
                    text = f.read()
            if "database" in text.split("listens on")[-1] and "listens on" in text:
                return text.splitlines()
            time.sleep(0.02)
        raise SystemExit("the host did not start: " + text)

    def run(self, command: str) -> list:
        watch = threading.Timer(self.command_s, self.kill)
        watch.start()
        self.process.stdin.write("{ %s\n} </dev/null\necho\necho %s\n" % (self.clone.here(command), END))
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.rstrip("\n") == END:
                watch.cancel()
                break
            lines.append(line.rstrip())
        else:
            raise SystemExit("the shell ended, or %d s were over: %s\n%s" % (self.command_s, command, "\n".join(lines)))
        if lines and lines[-1] == "":
            lines.pop()  # our own empty line, unless the output had no newline at its end
        while lines and lines[-1] == "":
            lines.pop()
        return lines

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)  # the shell, and what it started

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def pattern_of(line: str) -> str:
    out, at = "", 0
    while at < len(line):
        for shape, pattern in VARYING:
            found = re.compile(shape).match(line, at)
            if found and found.end() > at:
                out += pattern
                at = found.end()
                break
        else:
            out += re.escape(line[at])
            at += 1
    return out


def same(expected: list, actual: list) -> bool:
    parts = [r"(?:.*\n)*" if line.strip() == "..." else pattern_of(line.rstrip()) + r" *\n" for line in expected]
    return re.fullmatch("".join(parts), "".join(line.rstrip() + "\n" for line in actual)) is not None


def commands_of(lines: list) -> list:
    """[(command lines, output lines)] of a block"""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append(([line], []))
        elif found and found[-1][0][-1].endswith("\\") and not found[-1][1]:
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise SystemExit("a block begins with output: " + line)
    return found


class NotRun:
    """The rows of not-run.txt: PAGE | COMMAND | REASON; the command "*" is every one of the page that has no other row."""

    def __init__(self):
        self.rows = {}
        with open(os.path.join(HERE, "not-run.txt"), encoding="utf-8") as f:
            for line in f:
                if not line.strip() or line.startswith("#"):
                    continue
                page, command, reason = (part.strip() for part in line.split(" | ", 2))
                if not reason:
                    raise SystemExit("not-run.txt: no reason: " + line)
                self.rows[(page, command)] = False

    def has(self, page: str, command: str) -> bool:
        for row in ((page, command), (page, "*")):
            if row in self.rows:
                self.rows[row] = True
                return True
        return False

    def unused(self, pages: list) -> list:
        return [row for row, used in self.rows.items() if not used and row[0] in pages]


# A command that no test would run: a program's name at the beginning of a line of an indented block, or of one without a language.
PROGRAMS = re.compile(r"\$ |(sudo |cd \S+ && )?(\./|build\S*/)?(wopr|curl|run|test|cmake|ctest|npm|npx|pip|python3?|apt\S*|docker|git|systemctl|make|kill|openssl|\(umask)( |$)")


def strays(text: str) -> list:
    """Commands outside of a ```console block: [(line number, line)]"""
    found, fence = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fence = line[3:].strip() if fence is None else None
        elif fence in ("", "sh", "shell", "bash") and PROGRAMS.match(line.strip()):
            found.append((number, line))
        elif fence is None and line.startswith("    ") and PROGRAMS.match(line.strip()):
            found.append((number, line))
    return found


def expected_of(lines: list) -> list:
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


class Page:
    def __init__(self, clone: Clone, name: str, text: str, write: bool, not_run: NotRun):
        self.name, self.text, self.write, self.not_run = name, text, write, not_run
        self.clone, self.wrong, self.total, self.left = clone, 0, 0, 0

    def execute(self) -> str:
        """The page as it should be."""
        for number, line in strays(self.text):
            self.wrong += 1
            print("%s:%d: a command outside of a ```console block: %s" % (self.name, number, line.strip()))
        if "```console" not in self.text:
            return self.text
        shell = Shell(self.clone)
        try:
            return self.blocks(shell)
        finally:
            shell.close()

    def blocks(self, shell: Shell) -> str:
        started, out, block = shell.host_start(), [], None
        for number, line in enumerate(self.text.split("\n"), 1):
            if block is None:
                out.append(line)
                if line.strip() == "```console":
                    block = []
            elif line.strip() != "```":
                block.append(line)
            else:
                for command, expected in commands_of(block):
                    out += command + self.command(shell, started, command, expected_of(expected), number)
                out.append(line)
                block = None
        return "\n".join(out)

    def command(self, shell: Shell, started: list, command: list, expected: list, number: int) -> list:
        text = "\n".join(command)[2:]
        if self.not_run.has(self.name, text):
            self.left += 1
            return expected
        self.total += 1
        actual = started if text == STARTS_HOST else shell.run(text)
        if same(expected, actual):
            return expected
        if not self.write:
            self.wrong += 1
            print("%s: before line %d: %s\n--- the page says\n%s\n--- it printed\n%s\n"
                  % (self.name, number, command[0], "\n".join(expected), "\n".join(actual)))
        return actual


def pages_of(root: str) -> list:
    return sorted(os.path.relpath(path, root) for pattern in PAGES for path in glob.glob(os.path.join(root, pattern)))


def main() -> int:
    args = [a for a in sys.argv[1:] if a != "--write"]
    write, wopr, root = "--write" in sys.argv, os.path.abspath(args[0]), os.path.abspath(args[1])
    not_run, wrong, names = NotRun(), 0, args[2:] or pages_of(os.path.abspath(args[1]))
    for name in names:
        path = os.path.join(root, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        clone = Clone(wopr, root)
        try:
            page = Page(clone, name, text, write, not_run)
            new = page.execute()
        finally:
            clone.remove()
        if page.total + page.left + page.wrong > 0:
            print("%s: %d commands, %d not run, %d wrong" % (name, page.total, page.left, page.wrong), flush=True)
        wrong += page.wrong
        if write and new != text:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
    for page_name, command in not_run.unused(names):
        wrong += 1
        print("not-run.txt: %s has no command %s" % (page_name, command))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
