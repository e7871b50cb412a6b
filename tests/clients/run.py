#!/usr/bin/env python3
"""The clients against a real host.

usage: run.py python|typescript WOPR TOOLS_DIRECTORY WORK_DIRECTORY
python: mypy --strict where it is installed, the samples of the pages, test_python.py.  typescript: builds the package with tsc, packs it, installs the
archive where a program of a user would have it, compares its types with those that openapi-typescript makes of the document of
the host, compiles types.ts and the samples of the pages against it, runs these and test_typescript.mjs.  The tools come from npm, see tests/openapi/npm.py.
Exit status: 0, 1, 77 = skipped: no node, no npm, or no registry (it says which).
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "openapi"))
import npm  # noqa: E402
import samples  # noqa: E402
from world import World  # noqa: E402

TOOL_S, TEST_S = 120, 300
HEAD = """import type * as ours from "wopr-client";
import type { components } from "./openapi.js";
type Theirs = components["schemas"];
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : "theirs is no ours") : "ours is no theirs";
"""


def run(command: list, cwd: str, **more) -> None:
    got = subprocess.run(command, cwd=cwd, timeout=TOOL_S, **more)
    if got.returncode != 0:
        raise SystemExit("%s: status %d" % (" ".join(command), got.returncode))


def python(wopr: str) -> int:
    if shutil.which("mypy"):
        run(["mypy", "--no-incremental", "--cache-dir", os.devnull, "wopr_client"], os.path.join(ROOT, "clients", "python"))
    else:
        print("mypy is not installed: types are not checked")
    world = World(wopr)
    try:
        env = environment(world, PYTHONPATH=os.path.join(ROOT, "clients", "python"))
        for sample in samples.samples(ROOT, "python"):
            sample.check([sys.executable, "-c", sample.text], env=env)
    finally:
        world._close()
    return subprocess.run([sys.executable, os.path.join(HERE, "test_python.py"), wopr], timeout=TEST_S).returncode


def environment(world: World, **more) -> dict:
    return dict(os.environ, WOPR_URL=world.url, WOPR_API_KEY=world.key, **more)


def build(tools: str, work: str) -> str:
    """Builds and packs the package; returns the folder of a program that has it installed."""
    package, consumer = os.path.join(work, "package"), os.path.join(work, "consumer")
    for folder in (package, consumer):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "clients", "typescript"), package, ignore=shutil.ignore_patterns("node_modules", "dist"))
    shutil.copy(os.path.join(ROOT, "LICENSE"), package)
    run([os.path.join(tools, "node_modules", ".bin", "tsc"), "-p", "."], package)
    run(["npm", "pack", "--silent", "--pack-destination", "..", "--offline"], package, stdout=subprocess.DEVNULL)
    installed = os.path.join(consumer, "node_modules", "wopr-client")
    with tarfile.open(glob.glob(os.path.join(work, "wopr-client-*.tgz"))[0]) as archive:
        archive.extractall(consumer)
    os.makedirs(os.path.dirname(installed))
    os.rename(os.path.join(consumer, "package"), installed)
    return consumer


def compile_uses(tools: str, consumer: str, world: World, programs: list) -> None:
    """The types of the package are those of the document, and hold in a strict program."""
    document = os.path.join(consumer, "openapi.json")
    with urllib.request.urlopen(world.url + "/v1/openapi.json", timeout=TOOL_S) as answer, open(document, "wb") as f:
        f.write(answer.read())
    run([os.path.join(tools, "node_modules", ".bin", "openapi-typescript"), document, "-o", "openapi.ts", "--empty-objects-unknown",
         "--default-non-nullable=false"], consumer, stdout=subprocess.DEVNULL)
    with open(document, encoding="utf-8") as f:
        names = json.load(f)["components"]["schemas"]
    with open(os.path.join(consumer, "agree.ts"), "w", encoding="utf-8") as f:
        f.write(HEAD + "".join('export const %s: Same<ours.%s, Theirs["%s"]> = true;\n' % (n, n, n) for n in names))
    for name in ("types.ts", "node.d.ts", "tsconfig.json"):
        shutil.copy(os.path.join(HERE, name), consumer)
    for i, sample in enumerate(programs):
        with open(os.path.join(consumer, "sample%d.ts" % i), "w", encoding="utf-8") as f:
            f.write(sample.text)
    with open(os.path.join(consumer, "package.json"), "w", encoding="utf-8") as f:
        json.dump({"private": True, "type": "module"}, f)
    run([os.path.join(tools, "node_modules", ".bin", "tsc"), "-p", "."], consumer)


def typescript(wopr: str, tools: str, work: str) -> int:
    npm.install(tools)
    os.makedirs(work, exist_ok=True)
    consumer = build(tools, work)
    world = World(wopr, "--keepalive-ms", "200", "--cors-origins", "*")
    try:
        programs = samples.samples(ROOT, "ts")
        compile_uses(tools, consumer, world, programs)
        for i, sample in enumerate(programs):
            sample.check(["node", "out/sample%d.js" % i], cwd=consumer, env=environment(world))
        with open(os.path.join(consumer, "watch.js"), "w", encoding="utf-8") as f:
            f.write(samples.block(ROOT, "docs/clients.md", "js"))
        for name in glob.glob(os.path.join(HERE, "*.mjs")):
            shutil.copy(name, consumer)
        env = environment(world, WORLD_CONTROL=world._serve_control())
        return subprocess.run(["node", "--test", "--test-reporter=spec", "test_typescript.mjs"], cwd=consumer, env=env, timeout=TEST_S).returncode
    finally:
        world._close()


def main() -> int:
    language, wopr, tools, work = sys.argv[1], *map(os.path.abspath, sys.argv[2:5])
    if language == "python":
        return python(wopr)
    try:
        return typescript(wopr, tools, work)
    except npm.Skip as why:
        print("skipped: %s" % why)
        return npm.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
