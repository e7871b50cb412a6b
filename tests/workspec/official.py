#!/usr/bin/env python3
"""
official.py: what the authors of WorkSpec publish, beside this program: their example documents have no errors and run to their end (WS-41), and
their validator says the same of documents by chance as the profile reference (WS-2).  Nothing of theirs is part of this repository; the test is
skipped where it is not there.
usage: official.py WOPR [NAME...]    (names of the functions below; default all)
WOPR_WORKSPEC_OFFICIAL: a checkout of their repository, or its files packages/workspec/workspec-validator.js, packages/test-case.workspec.json
and web/assets/static/simulation-library.json.  The validator needs node.
"""
import json
import os
import random
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "outside"))
from outside import DOCUMENTS, SEED, Desk, close, spread  # noqa: E402
from run import expect, play  # noqa: E402

OFFICIAL = os.environ.get("WOPR_WORKSPEC_OFFICIAL", "")
VALIDATOR = os.path.join(OFFICIAL, "packages", "workspec", "workspec-validator.js")
# one document a line in, one list of problems a line out
ASK = """
const v = require(process.argv[1]);
require('readline').createInterface({input: process.stdin}).on('line', (line) => console.log(JSON.stringify(v.validate(JSON.parse(line)).problems)));
"""


def examples():
    with open(os.path.join(OFFICIAL, "packages", "test-case.workspec.json"), encoding="utf-8") as f:
        yield "test-case", json.load(f)
    with open(os.path.join(OFFICIAL, "web", "assets", "static", "simulation-library.json"), encoding="utf-8") as f:
        for s in json.load(f)["simulations"]:
            yield s["id"].replace("-", "_"), {"simulation": s["simulation"]}


def examples_have_no_errors_and_run(wopr, folder):
    h = Desk(wopr, folder)
    ran = 0
    for name, document in examples():
        for profile in ("reference", "host"):
            status, got = h.ask("POST", "/v1/workspec/validate?profile=" + profile, document)
            expect(status == 200 and got["ok"], "%s, %s: %.500s" % (name, profile, got))
        if not document["simulation"].get("process", {}).get("tasks"):
            continue
        h.put(name, document)
        snap = h.until(h.start(name))
        ran += 1
        expect(snap["status"] == "completed", "%s: %s" % (name, snap.get("error")))
    expect(ran == 6, "%d of them have tasks" % ran)
    h.end()


def meaning(p):
    return p["metric_id"], p["severity"], p["instance"], p["type"]


def their_validator_says_the_same(wopr, folder):
    """But for starts, which theirs gives to the date parser of its engine (WS-27)."""
    h = Desk(wopr, folder)
    seeds = range(SEED, SEED + 10 * DOCUMENTS)
    documents = [spread(random.Random(seed)) for seed in seeds]
    theirs = subprocess.run(["node", "-e", ASK, VALIDATOR], input="".join(json.dumps(d) + "\n" for d in documents), capture_output=True, text=True,
                            check=True, timeout=300).stdout.splitlines()
    expect(len(theirs) == len(documents), "%d answers" % len(theirs))
    compared = problems = 0
    for seed, document, line in zip(seeds, documents, theirs):
        want, got = json.loads(line), h.ask("POST", "/v1/workspec/validate?profile=reference", document)[1]["problems"]
        if any(p["metric_id"] == "task.integrity.invalid_start_time" for p in want + got):
            continue
        compared, problems = compared + 1, problems + len(want)
        same = [meaning(p) for p in want] == [meaning(p) for p in got] and all(
            list(a["context"]) == list(b["context"]) and all(close(x, b["context"][k]) for k, x in a["context"].items()) for a, b in zip(want, got))
        expect(same, "%d: theirs %s\nours %s" % (seed, [(meaning(p), p["context"]) for p in want], [(meaning(p), p["context"]) for p in got]))
    expect(compared > len(documents) // 2 and problems > compared // 2, "%d documents, %d problems" % (compared, problems))
    print("%d documents, %d problems" % (compared, problems))
    h.end()


if __name__ == "__main__":
    if not os.path.exists(VALIDATOR):
        print("workspec_official: skipped: WOPR_WORKSPEC_OFFICIAL names no checkout of the WorkSpec repository")
        sys.exit(77)
    TESTS = [examples_have_no_errors_and_run]
    if shutil.which("node"):
        TESTS.append(their_validator_says_the_same)
    else:
        print("workspec_official: node is not there: their validator is not asked")
    sys.exit(play("workspec_official", TESTS))
