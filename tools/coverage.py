#!/usr/bin/env python3
"""Coverage of src/ from a build with WOPR_COVERAGE, after its tests ran: one table, lines and branches per layer and in total.

usage: coverage.py SOURCE_ROOT BUILD_DIR [--files] [--missing FILE...] [--min PERCENT]
--files: a row per file too; --missing: the lines of these files that nothing executed; --min: exit status 1 when fewer lines than
that are covered.  Unites the counts that all programs left in BUILD_DIR/coverage, one file each, and lays them over the objects of src/:
a line counts as executed when it was in any program.  Branches are both outcomes of each condition; a line with ASSERT counts no
branches, since its other arm ends the process.
"""
import argparse
import json
import os
import re
import subprocess
import sys

LAYERS = ["base", "codec", "domain", "store", "journal", "audit", "egress", "sandbox", "hooks", "otel", "packs", "engine", "nodes", "workspec", "workrail", "http", "wire", "host", "cli"]
PARTS = ["libwopr", "wopr_worker", "wopr"]  # the targets that src/ is built into
SECTION = b"__llvm_covmap"


def objects(build: str) -> list:
    """Those of src/ that count something, linked or not: a file that no test linked is uncovered, not absent."""
    found = []
    for part in PARTS:
        for folder, _, names in os.walk(os.path.join(build, "CMakeFiles", part + ".dir", "src")):
            for path in (os.path.join(folder, n) for n in names if n.endswith(".o")):
                with open(path, "rb") as f:
                    if SECTION in f.read():
                        found.append(path)
    return sorted(found)


def llvm(build: str, name: str) -> str:
    """The tool that came with the build's compiler, and so reads its format."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        compiler = re.search(r"^CMAKE_C_COMPILER:[A-Z]+=(.*)$", f.read(), re.M).group(1)
    return subprocess.run([compiler, "-print-prog-name=" + name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def unite(build: str) -> str:
    """What all programs counted, in one file, or "" when nothing did."""
    folder = os.path.join(build, "coverage")
    counts = sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".profraw")) if os.path.isdir(folder) else []
    united = os.path.join(folder, "all.profdata")
    if counts:
        subprocess.run([llvm(build, "llvm-profdata"), "merge", "-sparse", "-o", united] + counts, check=True)
    return united if counts else ""


def export(build: str, united: str, *how: str) -> str:
    first, *others = objects(build)
    return subprocess.run([llvm(build, "llvm-cov"), "export", "-instr-profile", united, *how, first] + [x for o in others for x in ("-object", o)],
                          check=True, stdout=subprocess.PIPE, text=True).stdout


def lines_count(text: str, files: dict):
    """files: path -> lines; of the format of lcov, which knows lines, but not which branches of two objects are the same."""
    lines = {}
    for row in text.splitlines():
        kind, _, rest = row.partition(":")
        if kind == "SF":
            lines = files.get(os.path.realpath(rest), {})
        elif kind == "DA":
            no, count = rest.split(",")[:2]
            lines.setdefault(int(no), [0, {}])[0] += int(count)


def branches_count(doc: dict, files: dict):
    """Those of a function that several objects have are one, by their place; those of a macro stand where it is used."""
    for f in doc["data"][0]["files"]:
        lines = files.get(os.path.realpath(f["filename"]), {})
        for at, branches in [(None, f["branches"])] + [(e["source_region"][:2], e["branches"]) for e in f["expansions"]]:
            for b in branches:
                taken = lines.setdefault(at[0] if at else b[0], [0, {}])[1]
                for outcome in (0, 1):
                    key = (*(at or ()), *b[:4], outcome)
                    taken[key] = taken.get(key, 0) + b[4 + outcome]


def measure(root: str, build: str) -> dict:
    """path below src/ -> {line: [count, {branch: taken}]}"""
    united = unite(build)
    if not united:
        return {}
    src = os.path.join(os.path.realpath(root), "src") + os.sep
    doc = json.loads(export(build, united, "-format=text", "-skip-functions"))
    paths = {os.path.realpath(f["filename"]) for f in doc["data"][0]["files"]}
    files = {path: {} for path in paths if path.startswith(src)}
    lines_count(export(build, united, "-format=lcov"), files)
    branches_count(doc, files)
    for path, lines in files.items():
        with open(path, encoding="utf-8") as f:
            text = f.read().split("\n")
        for no, row in lines.items():
            if re.search(r"\bASSERT\(", text[no - 1]):
                row[1].clear()
    return {path[len(src):]: lines for path, lines in files.items()}


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
