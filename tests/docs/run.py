#!/usr/bin/env python3
"""Runs the commands of the pages for users and compares what they print.

usage: run.py WOPR SOURCE_ROOT [--write] [PAGE...]
Without --write: exit status 1 when a command of a ```console block prints something else than the page says.  With it, the
pages get what the commands print now.  Each page has a host of its own with the examples, a folder of its own, and one shell.

In a block, a line that begins with "$ " is a command (one that ends with a backslash goes on), the lines after it are its
output, stderr included.  "..." in a line stands for anything, a line "..." for any number of lines.  Ids, times and durations
may differ.  A block with the word "shown" (```console shown) is not run.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

PAGES = ["docs/workflows.md", "docs/examples/README.md"]
KEY = "hk_dev_0123456789abcdef0123456789abcdef"
END = "__end_of_command__"
COMMAND_S, START_S = 30, 20
VARYING = [  # what a run does not repeat: how it is recognised
    (r"run_[0-9A-Z]{26}", r"run_[0-9A-Z]{26}"),
    (r"int_[0-9a-f]{32}", r"int_[0-9a-f]{32}"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    (r" +\d+\.\d{3}s", r" +\d+\.\d{3}s"),
    (r"cfg[0-9a-f]{24}", r"cfg[0-9a-f]{24}"),
    (r" +\d+s\b", r" +\d+s"),
    (r"http://127\.0\.0\.1:\d+", r"http://127\.0\.0\.1:\d+"),
    (r"\b[0-9a-f]{12}\b", r"[0-9a-f]{12}"),
    (r"\.\.\.", r".*"),
]


class Host:
    """wopr serve with the examples, in a folder that looks like a fresh clone."""

    def __init__(self, wopr: str, root: str):
        self.folder = tempfile.mkdtemp(prefix="wopr-docs-")
        os.makedirs(os.path.join(self.folder, "data"))
        os.makedirs(os.path.join(self.folder, "bin"))
        os.symlink(wopr, os.path.join(self.folder, "bin", "wopr"))
        os.symlink(os.path.join(root, "docs"), os.path.join(self.folder, "docs"))
        key = os.path.join(self.folder, "data", "dev-api-key")
        with open(key, "w", encoding="utf-8") as f:
            f.write(KEY + "\n")
        self.process = subprocess.Popen(
            [wopr, "serve", "--port", "0", "--ops-port", "-1", "--api-key-file", key, "--seed", "docs/examples", "--log-level", "error"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.url = self.address()

    def address(self) -> str:
        lines, limit = [], time.monotonic() + START_S
        while time.monotonic() < limit:
            line = self.process.stdout.readline()
            if not line:
                break
            lines.append(line)
            found = re.search(r"listens on (http://\S+)", line)
            if found:
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return found.group(1)
        self.close()
        raise SystemExit("the host did not start: " + "".join(lines))

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(START_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Shell:
    """One shell for the commands of a page: variables stay."""

    def __init__(self, host: Host):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("WOPR_", "OPENWOP_"))}
        env.update(PATH=os.path.join(host.folder, "bin") + ":" + env["PATH"], WOPR_URL=host.url, LC_ALL="C.UTF-8")
        self.process = subprocess.Popen(["bash"], cwd=host.folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, command: str) -> list:
        watch = threading.Timer(COMMAND_S, self.kill)
        watch.start()
        self.process.stdin.write("%s </dev/null\necho\necho %s\n" % (command, END))
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.rstrip("\n") == END:
                watch.cancel()
                break
            lines.append(line.rstrip())
        else:
            raise SystemExit("the shell ended, or %d s were over: %s\n%s" % (COMMAND_S, command, "\n".join(lines)))
        if lines and lines[-1] == "":
            lines.pop()  # our own empty line, unless the output had no newline at its end
        while lines and lines[-1] == "":
            lines.pop()
        return lines

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)  # the shell, and what it started

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


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


def page_run(host: Host, text: str, write: bool, name: str) -> tuple:
    """The page as it should be, and how many commands differ."""
    shell, out, block, wrong, total = Shell(host), [], None, 0, 0
    for number, line in enumerate(text.split("\n"), 1):
        if block is None:
            out.append(line)
            if line.strip() == "```console":
                block = []
            continue
        if line.strip() != "```":
            block.append(line)
            continue
        for command, expected in commands_of(block):
            actual = shell.run("\n".join(command)[2:])
            while expected and not expected[-1].strip():
                expected.pop()
            total += 1
            good = same(expected, actual)
            if not good and not write:
                wrong += 1
                print("%s: before line %d: %s\n--- the page says\n%s\n--- it printed\n%s\n"
                      % (name, number, command[0], "\n".join(expected), "\n".join(actual)))
            out += command + (expected if good or not write else actual)
        out.append(line)
        block = None
    shell.close()
    print("%s: %d commands, %d differ" % (name, total, wrong))
    if total == 0:
        raise SystemExit("%s has no commands" % name)
    return "\n".join(out), wrong


def main() -> int:
    args = [a for a in sys.argv[1:] if a != "--write"]
    write, wopr, root = "--write" in sys.argv, os.path.abspath(args[0]), os.path.abspath(args[1])
    wrong = 0
    for name in args[2:] or PAGES:
        path = os.path.join(root, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        host = Host(wopr, root)
        try:
            new, differ = page_run(host, text, write, name)
        finally:
            host.close()
        wrong += differ
        if write and new != text:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
