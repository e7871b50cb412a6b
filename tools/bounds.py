#!/usr/bin/env python3
"""docs/bounds.md, made from src/domain/bounds.def.

usage: bounds.py SOURCE_ROOT [--write]
Without --write: exit status 1 when the table in the document is not what bounds.def says.
"""
import os
import re
import sys

BEGIN, END = "<!-- bounds: made by tools/bounds.py, do not edit -->", "<!-- end of bounds -->"
ASKED = [("REGISTER", "Definitions: asked when one is registered"), ("NODE", "What nodes make: the node fails"),
         ("CALLER", "What callers say: the request is refused"), ("FOLD", "Commits and folds: room for all of the above")]
UNITS = {"NR": "", "CHARACTERS": " characters", "MS": " ms", "BYTES": ""}


def rows(root: str) -> list:
    with open(os.path.join(root, "src/domain/bounds.def"), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    found = []
    for m in re.finditer(r'BOUND\((\w+),\s*(\w+),\s*((?:[^,"()]|\([^()]*\))+),\s*(\w+),\s*(\w+),\s*((?:"(?:\\.|[^"\\])*"\s*)+),'
                         r'\s*((?:"(?:\\.|[^"\\])*"\s*)+)\)', text):
        name, _, value, unit, asked, what, beyond = m.groups()
        n = eval(re.sub(r"INT64_C\((\d+)\)", r"\1", value), {"__builtins__": {}})  # sums and products of digits
        found.append((name, n, unit, asked, unquote(what), unquote(beyond)))
    if len(found) != text.count("BOUND("):
        sys.exit("bounds.def: a row that cannot be read")
    return found


def unquote(text: str) -> str:
    return "".join(re.findall(r'"((?:\\.|[^"\\])*)"', text)).replace('\\"', '"')


def number(n: int, unit: str) -> str:
    for size, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if unit == "BYTES" and n % size == 0:
            return "%d %s" % (n // size, name)
    return "{:,}".format(n) + UNITS[unit]


def tables(all_rows: list) -> str:
    out = []
    for asked, title in ASKED:
        out += ["", "### " + title, "", "| what | at most | beyond it |", "|---|---|---|"]
        out += ["| %s | %s | %s |" % (what, number(n, unit), beyond or "–")
                for _, n, unit, who, what, beyond in all_rows if who == asked]
    return BEGIN + "\n" + "\n".join(out) + "\n\n" + END


def main() -> int:
    root, write = sys.argv[1], "--write" in sys.argv[2:]
    path = os.path.join(root, "docs/bounds.md")
    all_rows = rows(root)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("docs/bounds.md: the marks of the tables are missing")
    fresh = text[:text.index(BEGIN)] + tables(all_rows) + text[text.index(END) + len(END):]
    if write and fresh != text:
        with open(path, "w", encoding="utf-8") as f:
            f.write(fresh)
        text = fresh
    if fresh != text:
        print("docs/bounds.md is stale: python3 tools/bounds.py . --write")
    print("bounds: %d rows" % len(all_rows))
    return 0 if fresh == text and all_rows else 1


if __name__ == "__main__":
    sys.exit(main())
