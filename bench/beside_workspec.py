#!/usr/bin/env python3
"""
beside_workspec.py: how long a document of 1,000 tasks takes to be validated, by this host (in the process of wopr-bench, the least; and one request
over HTTP, all of it) and by the public validator (in its own process, after it has warmed up): the least and the median of so many rounds.
Exit 1: a request with the profile host took longer.  In process neither HTTP nor the dry run (H17), which the public validator has not, is counted.
usage: beside_workspec.py WOPR BENCH FOLDER [ROUNDS]    BENCH: wopr-bench; FOLDER: a checkout of the WorkSpec repository (packages/workspec); needs node
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tests", "workspec"), os.path.join(HERE, "..", "tests", "outside")]
from outside import Desk  # noqa: E402

TASKS, PERFORMERS = 1000, 50
NODE = """
const fs = require('fs'), v = require(process.argv[1]), text = fs.readFileSync(process.argv[2], 'utf8'), out = [];
for (let i = 0; i < 3 * +process.argv[3]; i++) {
    const t0 = process.hrtime.bigint();
    const r = v.validate(JSON.parse(text));
    if (!r.ok) throw new Error(JSON.stringify(r.problems[0]));
    out.push(Number(process.hrtime.bigint() - t0) / 1e6);
}
console.log(JSON.stringify(out.slice(-+process.argv[3])));
"""


def document():
    """As that of the figure workspec (fig_workspec.c)."""
    tasks = []
    for i in range(TASKS):
        quarter, who = i // PERFORMERS, "p%d" % (i % PERFORMERS)
        tasks.append({"id": "t%d" % i, "actor_id": who, "start": {"day": 1 + quarter // 96, "time": "%02d:%02d" % (quarter % 96 // 4, quarter % 4 * 15)},
                      "duration": 15, "interactions": [
                          {"target_id": "stock", "property_changes": {"quantity": {"delta": 1 if i % 2 == 0 else -1}}},
                          {"target_id": who, "temporary": True, "property_changes": {"state": {"from": "free", "to": "busy"}}}]})
        if i >= PERFORMERS:
            tasks[-1]["depends_on"] = ["t%d" % (i - PERFORMERS)]
    things = [{"id": "stock", "type": "product", "name": "S", "properties": {"quantity": 100}}]
    things += [{"id": "p%d" % i, "type": "equipment", "name": "P", "properties": {"state": "free"}} for i in range(PERFORMERS)]
    return {"simulation": {"schema_version": "2.0", "meta": {"title": "T", "description": "D", "domain": "M"},
                           "config": {"time_unit": "minutes", "start_time": "00:00", "end_time": "23:00", "currency": "EUR", "locale": "en-IE"},
                           "world": {"objects": things}, "process": {"tasks": tasks}}}


def main():
    wopr, bench, official, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 50
    with tempfile.TemporaryDirectory() as folder:
        path, text = os.path.join(folder, "d.json"), json.dumps(document(), separators=(",", ":"))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        got = subprocess.run(["node", "-e", NODE, os.path.join(official, "packages", "workspec", "workspec-validator.js"), path, str(rounds)],
                             capture_output=True, text=True, check=True, timeout=600)
        rows = {"public validator, in process": json.loads(got.stdout)}
        result = os.path.join(folder, "result.json")
        subprocess.run([bench, "workspec", "--rounds", str(rounds), "--json", result], stdout=subprocess.DEVNULL, check=True, timeout=600)
        with open(result, encoding="utf-8") as f:
            ours = json.load(f)["results"]["check_us_per_task_%d" % TASKS]["value"] * TASKS / 1e3
        rows["this host, in process, no dry run"] = [ours]
        h = Desk(wopr, folder)
        for profile in ("reference", "host"):
            times = rows["this host over HTTP, profile " + profile] = []
            for _ in range(rounds):
                t0 = time.perf_counter()
                status, answer = h.ask("POST", "/v1/workspec/validate?profile=" + profile, text)
                times.append((time.perf_counter() - t0) * 1e3)
                if status != 200 or not answer["ok"]:
                    raise RuntimeError(answer)
        h.end()
    print("%d bytes, %d tasks" % (len(text), TASKS))
    for name, times in rows.items():
        print("%-40s least %6.2f ms, median %6.2f ms" % (name, min(times), statistics.median(times)))
    return 0 if min(times) <= min(rows["public validator, in process"]) else 1


if __name__ == "__main__":
    sys.exit(main())
