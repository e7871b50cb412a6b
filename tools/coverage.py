#!/usr/bin/env python3
"""Coverage of src/ from a build with WOPR_COVERAGE, after its tests ran: one table, lines and branches per layer and in total.

usage: coverage.py SOURCE_ROOT BUILD_DIR [--files] [--missing FILE...] [--min PERCENT]
--files: a row per file too; --missing: the lines of these files that nothing executed; --min: exit status 1 when fewer lines than
that are covered.  Reads what gcov --json-format says and unites it: a line counts as executed when it was in any program.
Branches are those that gcov sees, without the arms it marks as exceptional; a line with ASSERT counts no branches, since its other arm ends the
process.
"""
import argparse
import json
import os
import re
import subprocess
import sys

LAYERS = ["base", "codec", "domain", "store", "journal", "audit", "egress", "sandbox", "hooks", "otel", "packs", "engine", "nodes", "workspec", "workrail", "http", "wire", "host", "cli"]
GCOV_AT_ONCE = 16


def counters(build: str) -> list:
    """Object notes with and without counts: a file that no test linked is uncovered, not absent."""
    found = []
    for folder, _, names in os.walk(build):
        found += [os.path.join(folder, n) for n in names if n.endswith(".gcno") and "/src/" in folder + "/"]
    return sorted(found)


def documents(text: str):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        while at < len(text) and text[at].isspace():
            at += 1
        if at < len(text):
            doc, at = decoder.raw_decode(text, at)
            yield doc


def measure(root: str, build: str) -> dict:
    """path below src/ -> {line: [count, {branch number: taken}]}"""
    files, notes = {}, counters(build)
    src = os.path.join(os.path.realpath(root), "src") + os.sep
    for i in range(0, len(notes), GCOV_AT_ONCE):
        out = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout"] + notes[i:i + GCOV_AT_ONCE],
                             cwd=build, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for doc in documents(out):
            for f in doc["files"]:
                path = os.path.realpath(os.path.join(doc["current_working_directory"], f["file"]))
                if not path.startswith(src):
                    continue
                lines = files.setdefault(path[len(src):], {})
                for ln in f["lines"]:
                    row = lines.setdefault(ln["line_number"], [0, {}])
                    row[0] += ln["count"]
                    for no, b in enumerate(b for b in ln["branches"] if not b["throw"]):
                        row[1][no] = row[1].get(no, 0) + b["count"]
    for path, lines in files.items():
        with open(src + path, encoding="utf-8") as f:
            text = f.read().split("\n")
        for no, row in lines.items():
            if re.search(r"\bASSERT\(", text[no - 1]):
                row[1].clear()
    return files


def layer(path: str) -> str:
    return path.split("/", 1)[0]


class Sum:
    def __init__(self):
        self.n = [0, 0, 0, 0]

    def add(self, lines: dict):
        for count, branches in lines.values():
            self.n[0] += 1
            self.n[1] += count > 0
            self.n[2] += len(branches)
            self.n[3] += sum(1 for taken in branches.values() if taken > 0)

    def percent(self, at: int) -> float:
        return 100.0 * self.n[at + 1] / self.n[at] if self.n[at] else 100.0

    def row(self, name: str) -> str:
        return "%-34s %7d %6.1f %%   %7d %6.1f %%" % (name, self.n[0], self.percent(0), self.n[2], self.percent(2))


def ranges(numbers: list) -> str:
    out, i = [], 0
    while i < len(numbers):
        j = i
        while j + 1 < len(numbers) and numbers[j + 1] == numbers[j] + 1:
            j += 1
        out.append(str(numbers[i]) if i == j else "%d-%d" % (numbers[i], numbers[j]))
        i = j + 1
    return " ".join(out)


def main() -> int:
    ap = argparse.ArgumentParser()
    ap.add_argument("root")
    ap.add_argument("build")
    ap.add_argument("--files", action="store_true")
    ap.add_argument("--missing", nargs="+", default=[])
    ap.add_argument("--min", type=float, default=0)
    args = ap.parse_args()
    files = measure(args.root, args.build)
    if not any(row[0] for lines in files.values() for row in lines.values()):
        print("coverage: nothing was executed below %s" % args.build, file=sys.stderr)
        return 1
    for path in args.missing:
        bare = sorted(no for no, row in files[path].items() if row[0] == 0)
        print("%s: %s" % (path, ranges(bare)))
    total = Sum()
    print("%-34s %7s %8s   %7s %8s" % ("coverage of src/", "lines", "covered", "branches", "taken"))
    order = [x for x in LAYERS if any(layer(p) == x for p in files)]
    for name in order + sorted({layer(p) for p in files} - set(order)):
        part = Sum()
        for path in sorted(p for p in files if layer(p) == name):
            part.add(files[path])
            total.add(files[path])
            if args.files:
                one = Sum()
                one.add(files[path])
                print(one.row("  " + path))
        print(part.row(name))
    print(total.row("total"))
    if total.percent(0) < args.min:
        print("coverage: less than %g %% of the lines" % args.min)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
