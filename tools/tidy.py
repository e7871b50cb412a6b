#!/usr/bin/env python3
"""Style check of the house: banned calls, line, function and file lengths, leftovers, sources missing from DESIGN.md.

usage: tidy.py SOURCE_ROOT
Exceptions stand in tools/tidy-exceptions.txt, one "path: rule: reason" a line; an exception that is no longer needed is an error, so
the list can only shrink.
"""
import os
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
from source import strip

LINE_MAX, FUNCTION_MAX, FILE_MAX = 100, 70, 800
BANNED_EVERYWHERE = {
    "strcpy": "arena_str or snprintf", "strcat": "struct buf", "sprintf": "snprintf", "vsprintf": "vsnprintf",
    "gets": "fread", "atoi": "str_i64", "atol": "str_i64", "atoll": "str_i64", "strtok": "str_cut", "alloca": "an arena",
}
BANNED_OUTSIDE_BASE = {
    "malloc": "mem_alloc", "calloc": "mem_zalloc", "realloc": "mem_realloc", "free": "mem_free", "strdup": "mem_strndup",
    "time": "clock_wall_ms", "rand": "rng_u64", "random": "rng_u64", "abort": "ASSERT", "gettimeofday": "clock_wall_ms",
    "clock_gettime": "clock_mono_ns",
}
ONE_WORD = re.compile(r"^static\b[^=;(]*[\s*]([a-z0-9]+)\(")
LEFTOVERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SQL = re.compile(r'"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|PRAGMA)\s', re.I)


def functions(code: str):
    """(first line, length) of each function body: a '{' line that closes a column-0 definition."""
    lines = code.split("\n")
    start = None
    for i, line in enumerate(lines):
        if start is None and line and not line[0].isspace() and line.rstrip().endswith("{") and "(" in "".join(lines[max(0, i - 6):i + 1]):
            if not re.match(r"(struct|enum|union|static const struct|typedef|extern)\b[^(]*\{?$", line) and "=" not in line:
                start = i
        elif start is not None and line.startswith("}"):
            yield start + 1, i - start + 1
            start = None


def check(root: str, rel: str):
    with open(os.path.join(root, rel), encoding="utf-8") as f:
        text = f.read()
    lines = text.split("\n")
    code = strip(text)
    in_src, in_base = rel.startswith("src/"), rel.startswith("src/base/")
    if len(lines) - 1 > FILE_MAX:
        yield "file-length", "%s has %d lines" % (rel, len(lines) - 1)
    for no, line in enumerate(lines, 1):
        if len(line) > LINE_MAX:
            yield "line-length", "%s:%d has %d columns" % (rel, no, len(line))
        if LEFTOVERS.search(line):
            yield "leftover", "%s:%d" % (rel, no)
        if in_src and SQL.search(line) and not rel.startswith("src/store/"):
            yield "sql", "%s:%d: SQL lives in src/store" % (rel, no)
    if rel.endswith(".c"):
        for no, line in enumerate(code.split("\n"), 1):
            if in_src and (m := ONE_WORD.match(line)):
                yield "one-word", "%s:%d: %s: a static helper says whose it is, %s_..." % (
                    rel, no, m.group(1), os.path.basename(rel)[:-2])
        for no, length in functions(code):
            if length > FUNCTION_MAX:
                yield "function-length", "%s:%d has %d lines" % (rel, no, length)
    banned = dict(BANNED_EVERYWHERE)
    if in_src and not in_base:
        banned.update(BANNED_OUTSIDE_BASE)
    for no, line in enumerate(code.split("\n"), 1):
        for m in re.finditer(r"(?<![\w.>])(\w+)\s*\(", line):
            if m.group(1) in banned:
                yield "banned-call", "%s:%d: %s; use %s" % (rel, no, m.group(1), banned[m.group(1)])


def design_of(root: str, rel: str):
    folder = os.path.dirname(rel)
    while folder:
        path = os.path.join(root, folder, "DESIGN.md")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                return f.read()
        folder = os.path.dirname(folder)
    return ""


def named(design: str, name: str) -> bool:
    stem = name.rsplit(".", 1)[0]
    if stem in design:
        return True
    return any(name.startswith(p) for p in re.findall(r"([a-z_0-9]+)\*\.[ch]", design))


def main() -> int:
    root, found, files = sys.argv[1], [], 0
    for top in ("src", "include", "tests", "bench", "conformance"):
        for folder, dirs, names in sorted(os.walk(os.path.join(root, top))):
            dirs[:] = [d for d in dirs if d != "json-schema-test-suite"]
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                rel = os.path.relpath(os.path.join(folder, name), root)
                files += 1
                found += list(check(root, rel))
                if rel.startswith("src/") and not named(design_of(root, rel), name):
                    found.append(("design", "%s is not named in its DESIGN.md" % rel))
    allowed, used, bad = set(), set(), 0
    exceptions = os.path.join(root, "tools", "tidy-exceptions.txt")
    if os.path.exists(exceptions):
        for line in open(exceptions, encoding="utf-8"):
            part = [p.strip() for p in line.split(":", 2)]
            if len(part) == 3 and not line.startswith("#"):
                allowed.add((part[0], part[1]))
    for rule, text in found:
        key = (re.split(r"[: ]", text, maxsplit=1)[0], rule)
        if key in allowed:
            used.add(key)
            continue
        bad += 1
        print("%s: %s" % (rule, text))
    for key in sorted(allowed - used):
        bad += 1
        print("exception not needed any more: %s: %s" % key)
    print("tidy: %d files, %d findings, %d exceptions" % (files, bad, len(used)))
    return 1 if bad or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
