#!/usr/bin/env python3
"""Sizes of src: a table per layer, and the largest things.

usage: measure.py SOURCE_ROOT
Columns: files; lines; functions, their median, 99th percentile and largest length in lines; share of comments among characters;
static functions whose name is one word; files in the largest circle of calls; most members of a struct; most prototypes of a header.
"""
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
import source

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{")


def members(body: str) -> int:
    """Declarators between the braces of a struct; those of structs inside count too."""
    count, depth = 0, 0
    for c in body:
        depth += (c in "([") - (c in ")]")
        if depth == 0 and c in ",;":
            count += 1
    return count


def structs(f):
    for m in STRUCT.finditer(f.plain):
        depth, at = 1, m.end()
        while at < len(f.plain) and depth > 0:
            depth += (f.plain[at] == "{") - (f.plain[at] == "}")
            at += 1
        yield members(f.plain[m.end():at - 1]), m.group(1), f.rel


def percentile(values: list, part: float) -> int:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else 0


def row(name: str, files: list, circle: int) -> str:
    lengths = [fn.lines for f in files for fn in f.functions]
    comment = sum(len(m) for f in files for m in COMMENT.findall(f.text))
    one_word = sum(1 for f in files if f.rel.endswith(".c") for fn in f.functions if fn.static and "_" not in fn.name)
    largest = max((s[0] for f in files for s in structs(f)), default=0)
    prototypes = max((f.prototypes() for f in files if f.rel.endswith(".h")), default=0)
    return "%-12s %5d %6d %6d %4d %4d %4d %7.1f%% %8d %6d %7d %10d" % (
        name, len(files), sum(f.text.count("\n") for f in files), len(lengths), percentile(lengths, 0.5),
        percentile(lengths, 0.99), max(lengths, default=0), 100.0 * comment / max(1, sum(len(f.text) for f in files)),
        one_word, circle, largest, prototypes)


def main() -> int:
    files = source.read_all(sys.argv[1])
    circles = source.circles(source.calls(files))
    print("%-12s %5s %6s %6s %4s %4s %4s %8s %8s %6s %7s %10s" % (
        "layer", "files", "lines", "funcs", "med", "p99", "max", "comment", "one-word", "circle", "members", "prototypes"))
    for layer in source.LAYERS:
        own = [f for f in files if f.layer == layer]
        if own:
            print(row(layer, own, max((len(c) for c in circles if source.layer_of(c[0]) == layer), default=0)))
    print(row("src", files, max((len(c) for c in circles), default=0)))
    print("\nlargest structs: " + ", ".join("%s %d (%s)" % (s[1], s[0], s[2]) for s in sorted(
        (s for f in files for s in structs(f)), reverse=True)[:8]))
    print("largest headers: " + ", ".join("%s %d" % (f.rel, f.prototypes()) for f in sorted(
        (f for f in files if f.rel.endswith(".h")), key=lambda f: -f.prototypes())[:8]))
    print("circles: " + "; ".join("%d %s ..." % (len(c), c[0]) for c in circles))
    return 0


if __name__ == "__main__":
    sys.exit(main())
