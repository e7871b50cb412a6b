#!/usr/bin/env python3
"""The test vectors of the contract (docs/contract/60-workrail.md, section 14) as data for the unit tests.

usage: vectors.py ROOT --write     makes tests/workrail/vectors.json of the page
       vectors.py ROOT --check     whether that file is what the page says; also a test

{"rows": {"V-ID-1": [cell, ...]}, "texts": {"V-WF-1": line, "V-TK-1 payload": line}, "events": [line, ...], "manifest": [line, ...]}
A cell is {"text": as on the page, "code": [its code spans]}; short names of ids are replaced by the ids.
"""
import json
import re
import sys

PAGE, OUT = "docs/contract/60-workrail.md", "tests/workrail/vectors.json"
SHORT = {"S": "sess_aaaqeayeaudaocajbifqydiob4", "R": "run_caireeyuculbogazdinryhi6d4", "N": "node_eaqseizeeutcokbjfivsyljof4",
         "N2": "node_ibaueq2eivdeoscjjjfuytkoj4", "A": "attempt_gaytemzugu3doobzhi5typj6h4"}
NUMBER = 253  # rows with an id of their own


def cell(text: str) -> dict:
    text = text.strip().replace("\\|", "|")
    for short, full in SHORT.items():
        text = text.replace(f"<{short}>", full)
    return {"text": text, "code": re.findall(r"`([^`]*)`", text)}


def read(page: str) -> dict:
    out = {"rows": {}, "texts": {}, "events": [], "manifest": []}
    section = page[page.index("\n## 14. "):page.index("\n## 15. ")]
    fenced, heading = False, ""
    for line in section.split("\n"):
        if line.startswith("### "):
            heading = line[4:]
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            named = re.match(r"(V-[A-Z]+-\d+(?: payload| token)?) +(.*)$", line)
            if named:
                out["texts"][named.group(1)] = named.group(2)
            elif heading.startswith("14.8"):
                out["events" if '"eventId"' in line else "manifest"].append(line)
        elif line.startswith("| V-"):
            cells = [cell(c) for c in re.split(r"(?<!\\)\|", line)[1:-1]]
            name = cells[0]["text"]
            known = out["rows"].setdefault(name, [])
            known.extend(cells[1:])
    made = out["rows"]["V-ID-12"][1]["code"][0]
    return json.loads(json.dumps(out).replace("<V-ID-12>", made))


def main() -> int:
    root, how = sys.argv[1], sys.argv[2]
    with open(f"{root}/{PAGE}", encoding="utf-8") as f:
        found = read(f.read())
    if len(found["rows"]) != NUMBER:
        print(f"{PAGE}: {len(found['rows'])} vectors, not {NUMBER}")
        return 1
    text = json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    if how == "--write":
        with open(f"{root}/{OUT}", "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(f"{root}/{OUT}", encoding="utf-8") as f:
        same = f.read() == text
    print(f"{OUT}: {'as the page says' if same else 'not what the page says; run vectors.py . --write'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
