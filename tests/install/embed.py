#!/usr/bin/env python3
"""The page about embedding, done as it says, against an installation.

usage: embed.py PREFIX COMPILER
The program and the workflow of docs/embedding.md are written to files, and the commands of the page are run, with the installed header,
archives and file of pkg-config alone; what they print is compared with the page.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "docs"))
sys.dont_write_bytecode = True
import run as docs  # noqa: E402

PAGE = "docs/embedding.md"
FILES = (("c", "greet.c"), ("json", "greeting.json"))


class Desk:
    """A folder with the files of the page, and the installed things to find."""

    def __init__(self, prefix: str, compiler: str, text: str):
        self.folder = tempfile.mkdtemp(prefix="wopr-embed-")
        self.prefix = prefix
        self.port, self.ops_port = docs.port_free(), docs.port_free()
        os.mkdir(self.path("bin"))
        os.symlink(shutil.which(compiler), self.path("bin/cc"))
        for language, name in FILES:
            blocks = re.findall(r"^```%s\n(.*?)^```$" % language, text, re.S | re.M)
            if len(blocks) != 1 or "`%s`" % name not in text:
                raise SystemExit("%s: one block of %s is %s" % (PAGE, language, name))
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(blocks[0])

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    here = docs.Clone.here


class Shell(docs.Shell):
    def start(self) -> subprocess.Popen:
        desk = self.clone
        found = glob.glob(os.path.join(desk.prefix, "lib", "**", "pkgconfig"), recursive=True)
        env = {"PATH": ":".join((desk.path("bin"), os.path.join(desk.prefix, "bin"), os.environ["PATH"])), "HOME": desk.folder, "LC_ALL": "C.UTF-8",
               "PKG_CONFIG_PATH": ":".join(found), "OPENWOP_PORT": str(desk.port), "WOPR_OPS_PORT": str(desk.ops_port)}
        return subprocess.Popen(["bash"], cwd=desk.folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)


def ends_in_order(shell: Shell) -> bool:
    """SIGTERM ends the program of the page with 0."""
    return shell.run("kill -TERM $!; wait $!; echo status $?")[-1:] == ["status 0"]


def main() -> int:
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as f:
        text = f.read()
    desk, wrong, total = Desk(os.path.abspath(sys.argv[1]), sys.argv[2], text), 0, 0
    shell = Shell(desk)
    try:
        for block in re.findall(r"^```console\n(.*?)^```$", text, re.S | re.M):
            for command, expected in docs.commands_of(block.splitlines()):
                actual = shell.run("\n".join(command)[2:])
                total += 1
                if not docs.same(docs.expected_of(expected), actual):
                    wrong += 1
                    print("%s: %s\n--- the page says\n%s\n--- it printed\n%s" % (PAGE, command[0], "\n".join(expected), "\n".join(actual)))
        if not ends_in_order(shell):
            wrong += 1
            print(PAGE + ": the program does not end with 0 at SIGTERM")
    finally:
        shell.close()
        shutil.rmtree(desk.folder, ignore_errors=True)
    print("%s: %d commands, %d wrong" % (PAGE, total, wrong))
    return 1 if wrong or total < 5 else 0


if __name__ == "__main__":
    signal.alarm(100)
    sys.exit(main())
