"""The samples of the clients' pages: taken out of the text, executed, and what they print compared with what the page says.

A block of python or ts is a program; the next block of text is its output, and that of the other programs since the block of text
before.  … in it stands for anything.
"""
import os
import re
import subprocess

PAGES = ("docs/clients.md", "clients/python/README.md", "clients/typescript/README.md")
RUN_S = 60


class Wrong(Exception):
    """A page, or a tool, does not keep its word."""


class Sample:
    def __init__(self, page: str, line: int, language: str, text: str):
        self.name = "%s:%d" % (page, line)
        self.language, self.text, self.output = language, text, None

    def check(self, command: list, **more) -> None:
        got = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, **more)
        if got.returncode != 0:
            raise Wrong("%s: status %d\n%s" % (self.name, got.returncode, got.stderr))
        said, wanted = lines(got.stdout), lines(self.output)
        patterns = [re.escape(line).replace("…", ".*") for line in wanted]
        if len(said) != len(wanted) or not all(re.fullmatch(p, line) for p, line in zip(patterns, said)):
            raise Wrong("%s printed\n%s\nand not\n%s" % (self.name, got.stdout, self.output))


def lines(text: str) -> list:
    return [line.rstrip() for line in text.strip().splitlines()]


def samples(root: str, language: str) -> list:
    found = []
    for page in PAGES:
        with open(os.path.join(root, page), encoding="utf-8") as f:
            text = f.read()
        waiting = []
        for m in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.S | re.M):
            if m.group(1) == "text":
                for sample in waiting:
                    sample.output = m.group(2).replace(" …\n", "…\n")
                waiting = []
            elif m.group(1) in ("python", "ts"):
                waiting.append(Sample(page, text.count("\n", 0, m.start()) + 1, m.group(1), m.group(2)))
                found.append(waiting[-1])
        if waiting:
            raise Wrong("%s: the page does not say what it prints" % waiting[0].name)
    return [sample for sample in found if sample.language == language]


def block(root: str, page: str, language: str) -> str:
    """The one block of this language on a page."""
    with open(os.path.join(root, page), encoding="utf-8") as f:
        blocks = re.findall(r"^```%s\n(.*?)^```$" % language, f.read(), re.S | re.M)
    if len(blocks) != 1:
        raise Wrong("%s: %d blocks of %s" % (page, len(blocks), language))
    return blocks[0]
