#!/usr/bin/env python3
"""The tables of settings in docs/operations.md, made from src/host/config.def.

usage: settings.py SOURCE_ROOT [--write | --header FILE]
Without --write: exit status 1 when the tables are not what config.def says, when a document names a flag that no setting and no
command has, or when a number that a document gives as a default, as in "`--read-timeout-s` (60)", is another one.
--header: writes the defaults of all numbers as SETTING_ constants, for layers that are used without the table (tests).
"""
import glob
import os
import re
import sys

DOCUMENTS = ["README.md", "docs/operations.md", "docs/durability.md", "docs/api-extensions.md", "docs/architecture.md"]
BEGIN, END = "<!-- settings: made by tools/settings.py, do not edit -->", "<!-- end of settings -->"
SECTIONS = [
    ("HTTP", "Listeners, connections and requests"), ("RATES", "Rates"), ("WIRE", "Protocol"), ("STORE", "Database"),
    ("JOURNAL", "Commits"), ("ENGINE", "Execution and leases"), ("BOUNDS", "Sizes of runs"), ("MEMORY", "Long-term memory"), ("LIMITS", "Limits of runs"),
    ("EGRESS", "Requests to the outside"), ("HOOKS", "Webhooks"), ("OTEL", "Telemetry"), ("HOST", "Keys, seeds, retention and the process"),
]
COLUMNS = ["member", "type", "name", "env", "default", "unit", "min", "max", "flags", "must", "help"]
UNITS = {"NONE": "", "BYTES": "", "MS": " ms", "S": " s", "DAYS": " days", "PERCENT": " %", "PER_S": " per second"}
OF_COMMANDS = re.compile(r'"(--[a-z-]+)"|(--[a-z][a-z-]+)')  # in src/cli


def arguments(text: str) -> list:
    """The arguments of a macro call, strings unquoted."""
    parts = re.findall(r'"(?:\\.|[^"\\])*"|[^,"\s]+', text)
    return [p[1:-1].replace('\\"', '"') if p.startswith('"') else p for p in parts]


def rows(root: str) -> list:
    with open(os.path.join(root, "src/host/config.def"), encoding="utf-8") as f:
        text = f.read()
    found = []
    for m in re.finditer(r'^OPT_([A-Z]+)\(((?:"(?:\\.|[^"\\])*"|[^")])*)\)', text, re.M):
        values = arguments(m.group(2))
        if len(values) == len(COLUMNS):
            found.append(dict(zip(COLUMNS, values), section=m.group(1)))
        elif values != ["..."]:
            sys.exit("config.def: a row with %d columns: %s" % (len(values), m.group(0)))
    return found


def number(n: int, unit: str) -> str:
    for size, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if unit == "BYTES" and n >= size and n % size == 0:
            return "%d %s" % (n // size, name)
    return "{:,}".format(n) + (UNITS[unit] if n != 0 else "")


def default_of(r: dict) -> str:
    if r["default"] == "":
        return "–"
    return number(int(r["default"]), r["unit"]) if r["type"] == "INT" else "`%s`" % r["default"]


def accepted(r: dict) -> str:
    if r["type"] == "CHOICE":
        return ", ".join("`%s`" % c for c in r["must"].split("|"))
    if r["must"] or r["type"] != "INT":
        return {"BOOL": "`true`, `false`", "LIST": r["must"] or "a list"}.get(r["type"], r["must"] or "a text")
    zero = "0 or " if "OR_ZERO" in r["flags"] else ""
    if r["max"] == "NO_MAX":
        return zero + "at least " + number(int(r["min"]), r["unit"])
    return "%s%s to %s" % (zero, number(int(r["min"]), r["unit"]), number(int(r["max"]), r["unit"]))


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def tables(all_rows: list) -> str:
    out = []
    known = [s for s, _ in SECTIONS]
    for r in all_rows:
        if r["section"] not in known:
            sys.exit("config.def: tools/settings.py has no title for the section %s" % r["section"])
    for section, title in SECTIONS:
        out += ["", "### " + title, "", "| setting | variable | default | accepted | what |", "|---|---|---|---|---|"]
        for r in all_rows:
            if r["section"] == section and "HIDDEN" not in r["flags"]:
                name = "–" if "SECRET" in r["flags"] else "`--%s`" % r["name"]
                out.append("| %s | `%s` | %s | %s | %s |" % (name, r["env"], default_of(r), cell(accepted(r)), cell(r["help"])))
    return BEGIN + "\n" + "\n".join(out) + "\n\n" + END


def flags_of_commands(root: str) -> set:
    found = {"--config"}
    for path in glob.glob(os.path.join(root, "src/cli/*.c")):
        with open(path, encoding="utf-8") as f:
            found |= {a or b for a, b in OF_COMMANDS.findall(f.read())}
    return found


def doubts(root: str, path: str, all_rows: list, others: set):
    """Flags that there are not, defaults that are not so."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    by_name = {"--" + r["name"]: r for r in all_rows}
    for m in re.finditer(r"`(?:wopr [^`]*?)?(--[a-z][a-z0-9-]+)[^`]*`(?: \((?:default )?(\d[\d,]*(?: [KMG]iB)?)[,;)])?", text):
        r = by_name.get(m.group(1))
        if r is None and m.group(1) not in others:
            yield "%s: there is no setting %s" % (path, m.group(1))
        if r is not None and m.group(2) and m.group(2) not in (r["default"], number(int(r["default"]), r["unit"]).split(" per")[0],
                                                               "{:,}".format(int(r["default"]))):
            yield "%s: the default of %s is %s, not %s" % (path, m.group(1), r["default"], m.group(2))


def header(all_rows: list) -> str:
    lines = ["/* settings.gen.h: the defaults of src/host/config.def, for layers below it.  Made by tools/settings.py. */",
             "#ifndef WOPR_BASE_SETTINGS_GEN_H", "#define WOPR_BASE_SETTINGS_GEN_H", ""]
    lines += ["#define SETTING_%s %s" % (r["name"].upper().replace("-", "_"), r["default"]) for r in all_rows if r["type"] == "INT"]
    return "\n".join(lines + ["", "#endif", ""])


def main() -> int:
    root, write = sys.argv[1], "--write" in sys.argv[2:]
    all_rows = rows(root)
    if sys.argv[2:3] == ["--header"]:
        with open(sys.argv[3], "w", encoding="utf-8") as f:
            f.write(header(all_rows))
        return 0
    path = os.path.join(root, "docs/operations.md")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("docs/operations.md: the marks of the tables are missing")
    fresh = text[:text.index(BEGIN)] + tables(all_rows) + text[text.index(END) + len(END):]
    if write and fresh != text:
        with open(path, "w", encoding="utf-8") as f:
            f.write(fresh)
        text = fresh
    bad = [] if fresh == text else ["docs/operations.md is stale: python3 tools/settings.py . --write"]
    others = flags_of_commands(root)
    for doc in DOCUMENTS:
        bad += doubts(root, doc, all_rows, others)
    for line in bad:
        print(line)
    print("settings: %d, %d findings" % (len(all_rows), len(bad)))
    return 1 if bad or not all_rows else 0


if __name__ == "__main__":
    sys.exit(main())
