#!/usr/bin/env python3
"""Usage: upstream.py WOPR

The workflows that WorkRail itself ships (MIT; never part of this repository), through `wopr workrail check`: each compiles, the
same way twice, or is refused with the name of each feature that is not of the contract, at its place. WOPR_UPSTREAM_WORKFLOWS names
a folder of them (a checkout's `workflows`), or is `fetch`: then the repository is cloned for this run. Without it, and where nothing
can be fetched, the test is skipped (exit 77) and says why.
"""
import collections, json, os, pathlib, re, subprocess, sys, tempfile

SKIP, SOURCE, FETCH_S = 77, "https://github.com/EtienneBBeaulac/workrail", 60
FEWEST = 20  # fewer files are no checkout of upstream


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def folder(scratch):
    given = os.environ.get("WOPR_UPSTREAM_WORKFLOWS", "")
    if not given:
        skip("WOPR_UPSTREAM_WORKFLOWS names no folder of upstream's workflows (or `fetch`)")
    if given != "fetch":
        return pathlib.Path(given)
    try:
        done = subprocess.run(["git", "clone", "-q", "--depth", "1", SOURCE, scratch + "/upstream"], capture_output=True, text=True, timeout=FETCH_S)
    except (OSError, subprocess.TimeoutExpired) as why:
        skip(f"upstream cannot be fetched: {why}")
    if done.returncode != 0:
        skip(f"upstream cannot be fetched: {done.stderr.strip()}")
    return pathlib.Path(scratch, "upstream", "workflows")


def check(wopr, path):
    done = subprocess.run([wopr, "workrail", "check", "--json", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), (path, done.returncode, done.stderr)
    return done.returncode, json.loads(done.stdout)


def feature(problem, source):
    """The member or value that a refusal is about: it must be there, in the message or at the place."""
    place = [p for p in problem["pointer"].split("/") if p and not p.isdigit()]
    named = [w for w in re.findall(r"[A-Za-z_][\w.-]+", problem["message"]) if f'"{w}"' in source]
    assert place or named, ("a refusal names nothing of the file", problem)
    return (named or place[-1:])[0]


def main():
    wopr = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        files = sorted(folder(scratch).rglob("*.json"))
        sources = [f for f in files if "steps" in (json.loads(f.read_text()) if f.read_text().lstrip().startswith("{") else {})]
        assert len(sources) >= FEWEST, f"{len(sources)} workflows: no checkout of upstream"
        compiled, refused = 0, collections.Counter()
        for path in sources:
            text = path.read_text()
            code, first = check(wopr, path)
            assert (code, first) == check(wopr, path), ("twice, and not the same", path)
            errors = [p for p in first["problems"] if p["severity"] == "error"]
            assert (code == 1) == bool(errors), (path, first)
            if code == 0:
                assert re.fullmatch("sha256:[0-9a-f]{64}", first["workflowHash"]), first
                compiled += 1
            refused.update({feature(p, text) for p in errors})
        print(f"{len(sources)} workflows: {compiled} compile, {len(sources) - compiled} are refused")
        for name, n in refused.most_common():
            print(f"  {n:3} {name}")


main()
