#!/usr/bin/env python3
"""Print the ratios of one bench/run against the budgets of docs/performance.md.  usage: ratios.py RESULT_DIR

Of repeated figures (NAME.1.json, NAME.2.json, ...) the median counts.  Exit status is 0 however the budgets come out: a missed budget is
a finding, not a failed measurement.
"""
import glob
import json
import os
import re
import statistics
import sys

results = {}
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))):
    name = re.sub(r"(\.\d+)?\.json$", "", os.path.basename(path))
    with open(path, encoding="utf-8") as f:
        for key, row in json.load(f)["results"].items():
            results.setdefault((name, key), []).append(row["value"])


def value(name, key):
    rows = results.get((name, key))
    return statistics.median(rows) if rows else None


def spread(name, key):
    rows = results.get((name, key), [])
    return " [%.4g..%.4g of %d]" % (min(rows), max(rows), len(rows)) if len(rows) > 1 else ""


def line(what, have, against, unit, test, budget):
    """have, against: (name, key); against None: the value itself."""
    a = value(*have)
    b = value(*against) if against else 1
    if a is None or not b:
        print("  %-52s not measured" % what)
        return
    ratio = a / b
    verdict = "met" if test(ratio) else "MISSED"
    detail = "%.5g%s" % (a, spread(*have)) + (" / %.5g%s" % (b, spread(*against)) if against else "")
    print("  %-52s %8.3f %-5s %-16s %-6s %s" % (what, ratio, unit, budget, verdict, detail if against else spread(*have)))


def at_least(x):
    return lambda r: r >= x


def at_most(x):
    return lambda r: r <= x


print("\nratios (medians of one session)")
line("completed runs/s to bare SQLite loop", ("wopr-completed", "completed_per_s"), ("bare-sqlite", "runs_per_s"), "x", at_least(0.3), ">= 0.30 (0.50)")
line("accepted runs/s to bare echo POST", ("wopr-accepted", "accepted_per_s"), ("bare-echo-post", "requests_per_s"), "x", at_least(0.25), ">= 0.25 (0.50)")
line("reads/s to bare echo GET", ("wopr-reads", "reads_per_s"), ("bare-echo-get", "requests_per_s"), "x", at_least(0.5), ">= 0.50 (0.80)")
line("completed/s to reference in-memory host", ("wopr-completed", "completed_per_s"), ("reference-in-memory-completed", "completed_per_s"), "x", at_least(1), "> 1")
line("completed/s to reference SQLite host (both full)", ("wopr-completed", "completed_per_s"), ("reference-sqlite-completed", "completed_per_s"), "x", at_least(50), ">= 50")
line("accepted/s to reference in-memory host", ("wopr-accepted", "accepted_per_s"), ("reference-in-memory-accepted", "accepted_per_s"), "x", at_least(0), "-")
line("replays/s of a finished run to reference in-memory host", ("wopr-replays", "replays_per_s"), ("reference-in-memory-replays", "replays_per_s"), "x", at_least(1), ">= 1")
line("accepted/s to reference SQLite host", ("wopr-accepted", "accepted_per_s"), ("reference-sqlite-accepted", "accepted_per_s"), "x", at_least(0), "-")
for n in ("1000", "10000"):
    for p in ("p50", "p99"):
        line("fan-out to %s, %s, to nchan" % (n, p), ("wopr-fanout-" + n, "fanout_" + p), ("nchan-fanout-" + n, "fanout_" + p), "x", at_most(1), "< 1")
        line("fan-out to %s, %s, to bare" % (n, p), ("wopr-fanout-" + n, "fanout_" + p), ("bare-fanout-" + n, "fanout_" + p), "x", at_least(0), "-")
line("memory of 10,000 idle streams", ("wopr-idle-streams", "rss_with_streams"), None, "MiB", at_most(120), "<= 120")
line("  of it, added by the streams, to bare", ("wopr-idle-streams", "rss_per_10000"), ("bare-idle-streams", "rss_per_10000"), "x", at_least(0), "-")
line("CPU of 10,000 idle streams", ("wopr-idle-streams", "cpu_while_idle"), None, "%", at_most(1), "<= 1 (none)")
line("accepted/s beside 10,000 idle streams, to none", ("wopr-accepted-beside", "accepted_per_s"), ("wopr-accepted-alone", "accepted_per_s"), "x", at_least(0), "-")
line("memory idle", ("wopr-memory-idle", "rss"), None, "MiB", at_most(20), "<= 20")
line("memory after 10,000 runs", ("wopr-memory-10000", "rss"), None, "MiB", at_least(0), "-")
line("start to first answer, empty database", ("wopr-startup-empty", "start_to_answer_p50"), None, "ms", at_most(100), "<= 100")
line("start to first answer, large database", ("wopr-startup-large", "start_to_answer_p50"), None, "ms", at_most(100), "<= 100")
line("cost per run, last slice to first", ("wopr-flat", "last_to_first"), None, "x", at_most(1.2), "<= 1.2 (flat)")
line("cost per event of one run, last slice to first", ("wopr-long-run", "last_to_first"), None, "x", at_most(1.2), "<= 1.2 (flat)")
line("accepting at 500/s, open loop, p99", ("wopr-latency", "latency_open_p99"), None, "ms", at_least(0), "-")
line("create to first event at 200/s, open loop, p99", ("wopr-first-event", "first_event_p99"), None, "ms", at_least(0), "-")
line("interrupt round trips/s to completed runs/s", ("wopr-interrupts", "round_trips_per_s"), ("wopr-completed", "completed_per_s"), "x", at_least(0), "-")
line("resolving an interrupt, closed loop, p99", ("wopr-interrupts", "resolve_p99"), None, "ms", at_least(0), "-")
for n in ("10", "1000", "10000", "1000000"):
    line("forks/s of a source of %s events" % n, ("wopr-forks", "forks_per_s_" + n), None, "1/s", at_least(0), "-")
line("replay of 1,000 events, p50", ("wopr-forks", "replay_1000_p50"), None, "ms", at_least(0), "-")
line("a fork of 1,000,000 events to one of 10, p50", ("wopr-forks", "fork_1000000_p50"), ("wopr-forks", "fork_10_p50"), "x", at_most(2), "<= 2 (flat)")
for t in ("warm", "cold"):
    line("an answer to the end, 200,000 events to 100, %s, p50" % t, ("wopr-answers", t + "_200000_p50"), ("wopr-answers", t + "_100_p50"), "x", at_most(2), "<= 2 (flat)")
line("take-over of 20 runs of a killed host, last, p50", ("wopr-takeover", "killed_last_p50"), None, "ms", at_least(0), "-")
line("hand-over of 20 runs of a stopping host, last, p50", ("wopr-takeover", "handed_over_last_p50"), None, "ms", at_least(0), "-")
line("  the worst of the rounds", ("wopr-takeover", "handed_over_last_max"), None, "ms", at_least(0), "-")
line("WorkSpec: a task of 100,000 to one of 1,000, checked", ("workspec", "check_last_to_first"), None, "x", at_most(2), "<= 2")
line("WorkSpec: a task of 100,000 to one of 1,000, played", ("workspec", "play_last_to_first"), None, "x", at_most(2), "<= 2")
line("resume_session among 10,000 sessions, p99", ("sessions", "resume_p99"), None, "ms", at_most(50), "<= 50 ms")
line("payload checks of one run", ("validation", "one_noop_run"), None, "us", at_least(0), "-")
