#!/usr/bin/env python3
"""Write the files that the binary carries along as one C file (see src/base/embed.h).

usage: embed.py SOURCE_ROOT OUT.c FILE|NAME=FILE...
Names are paths relative to SOURCE_ROOT, unless given; the table is sorted by name.
"""
import os
import sys


def c_bytes(data: bytes) -> str:
    lines = []
    for i in range(0, len(data), 16):
        lines.append(" ".join("0x%02x," % b for b in data[i : i + 16]))
    return "\n    ".join(lines)


def main() -> int:
    root, out = sys.argv[1], sys.argv[2]
    named = [tuple(a.split("=", 1)) if "=" in a else (os.path.relpath(a, root), a) for a in set(sys.argv[3:])]
    os.makedirs(os.path.dirname(out), exist_ok=True)
    parts = ['#include "base/embed.h"\n']
    rows = []
    for i, (name, path) in enumerate(sorted(named)):
        with open(path, "rb") as f:
            data = f.read()
        parts.append("static const unsigned char f%d[] = {\n    %s 0x00};\n" % (i, c_bytes(data)))
        rows.append('    {"%s", (const char *)f%d, %d},\n' % (name, i, len(data)))
    parts.append("const struct embed_file EMBED_FILES[] = {\n%s    {0, 0, 0}};\n" % "".join(rows))
    with open(out, "w", encoding="ascii") as f:
        f.write("\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
