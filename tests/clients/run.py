#!/usr/bin/env python3
"""The clients against a real host.

usage: run.py python|typescript|browser WOPR TOOLS_DIRECTORY WORK_DIRECTORY
python: mypy --strict where it is installed, the package installed with pip, the samples of the pages, test_python.py.  typescript: builds the package with tsc, packs it, has npm install the
archive for a program of a user, compares its types with those that openapi-typescript makes of the document of
the host, compiles types.ts and the samples of the pages against it, runs these and test_typescript.mjs.  The tools come from npm, see tests/openapi/npm.py.  browser: the built package and the sample with
EventSource in a real browser, see browser.py.
Exit status: 0, 1, 77 = skipped: no node, no npm, no registry, or no browser (it says which).
"""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "openapi"))
import browser  # noqa: E402
import npm  # noqa: E402
import samples  # noqa: E402
from world import World  # noqa: E402

TOOL_S, TEST_S = 120, 300
SUMMARY = re.compile(r"ℹ (pass|fail)|Ran |OK|FAILED|Success")
HEAD = """import type * as ours from "wopr-client";
import type { components } from "./openapi.js";
type Theirs = components["schemas"];
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : "theirs is no ours") : "ours is no theirs";
"""


def run(command: list, cwd: str, **more) -> None:
    got = subprocess.run(command, cwd=cwd, timeout=TOOL_S, **more)
    if got.returncode != 0:
        raise samples.Wrong("%s: status %d" % (" ".join(command), got.returncode))


def together(jobs: list) -> int:
    """They wait more than they compute.  The first status that is not 0; what failed prints its output."""
    worst = 0
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as threads:
        for status, text in threads.map(lambda job: job(), jobs):
            if status != 0:
                print(text, flush=True)
                worst = worst or status
    return worst


def output(command: list, **more) -> tuple:
    got = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TEST_S, **more)
    print("\n".join(line for line in got.stdout.splitlines() if SUMMARY.match(line)), flush=True)
    return got.returncode, got.stdout


def builder() -> str:
    """A Python that can build and install a package without a network: Debian's, else this one; or an empty text."""
    needs = "import setuptools, sys, venv, ensurepip, pip, wheel; sys.exit(sys.version_info < (3, 11))"
    for program in ("/usr/bin/python3", sys.executable):
        if subprocess.run([program, "-c", needs], capture_output=True).returncode == 0:
            return program
    return ""


def python(wopr: str) -> int:
    def types() -> tuple:
        if not shutil.which("mypy"):
            return 0, print("mypy is not installed: types are not checked")
        command = ["mypy", "--no-incremental", "--cache-dir", os.devnull, "wopr_client"]
        return output(command, cwd=os.path.join(ROOT, "clients", "python"))

    def package() -> tuple:
        """Installed with pip into an environment of its own, as a user would, a sample runs without anything else."""
        system = builder()
        if not system:
            return 0, print("pip, venv, setuptools or wheel is not installed: the package is not installed")
        with tempfile.TemporaryDirectory(prefix="wopr-pip-") as work:
            source, env = os.path.join(work, "source"), os.path.join(work, "env")
            shutil.copytree(os.path.join(ROOT, "clients", "python"), source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
            clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_", "VIRTUAL_ENV"))}
            there = os.path.join(env, "bin", "python")
            world = World(wopr)
            try:
                run([system, "-m", "venv", "--system-site-packages", env], work, env=clean)
                run([there, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", source], work, env=clean)
                clean.update(WOPR_URL=world.url, WOPR_API_KEY=world.key)
                from_env = "import wopr_client, sys; assert wopr_client.__file__.startswith(sys.prefix), wopr_client.__file__"
                run([there, "-c", from_env], work, env=clean)
                samples.samples(ROOT, "python")[0].check([there, "-u", "-c", samples.samples(ROOT, "python")[0].text], world, env=clean, cwd=work)
                return 0, print("the package is installed")
            except samples.Wrong as wrong:
                return 1, str(wrong)
            finally:
                world._close()

    def pages() -> tuple:
        world = World(wopr)
        try:
            env = environment(world, PYTHONPATH=os.path.join(ROOT, "clients", "python"))
            for sample in samples.samples(ROOT, "python"):
                sample.check([sys.executable, "-u", "-c", sample.text], world, env=env)
            return 0, ""
        except samples.Wrong as wrong:
            return 1, str(wrong)
        finally:
            world._close()

    def tests(*names: str) -> tuple:
        return output([sys.executable, os.path.join(HERE, "test_python.py"), wopr, *names])

    with open(os.path.join(HERE, "test_python.py"), encoding="utf-8") as f:
        rest = [name for name in re.findall(r"^class (\w+)\((?:Case|unittest)", f.read(), re.M) if name not in ("Case", "Streams")]
    return together([types, package, pages, lambda: tests("Streams"), lambda: tests(*rest)])


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
    for old in glob.glob(os.path.join(work, "wopr-client-*.tgz")):
        os.remove(old)
    run(["npm", "pack", "--silent", "--pack-destination", "..", "--offline"], package, stdout=subprocess.DEVNULL)
    archives = glob.glob(os.path.join(work, "wopr-client-*.tgz"))
    os.makedirs(consumer)
    with open(os.path.join(consumer, "package.json"), "w", encoding="utf-8") as f:
        json.dump({"private": True, "type": "module"}, f)
    run(["npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", *archives], consumer, stdout=subprocess.DEVNULL)
    installed = os.path.join(consumer, "node_modules", "wopr-client")
    for name in ("LICENSE", "README.md", "dist/index.js", "dist/index.d.ts"):
        if not os.path.exists(os.path.join(installed, name)):
            raise samples.Wrong("the package that npm installs lacks %s" % name)
    if len(os.listdir(os.path.join(consumer, "node_modules"))) != 2:  # npm's own record is the other
        raise samples.Wrong("the package has dependencies: %s" % os.listdir(os.path.join(consumer, "node_modules")))
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
    run([os.path.join(tools, "node_modules", ".bin", "tsc"), "-p", "."], consumer)


def typescript(wopr: str, tools: str, work: str) -> int:
    npm.install(tools)
    os.makedirs(work, exist_ok=True)
    consumer = build(tools, work)
    programs = samples.samples(ROOT, "ts")
    with open(os.path.join(consumer, "watch.js"), "w", encoding="utf-8") as f:
        f.write(samples.block(ROOT, "docs/clients.md", "js"))
    for name in glob.glob(os.path.join(HERE, "*.mjs")):
        shutil.copy(name, consumer)

    def types_and_pages() -> tuple:
        world = World(wopr)
        try:
            compile_uses(tools, consumer, world, programs)
            for i, sample in enumerate(programs):
                sample.check(["node", "out/sample%d.js" % i], world, cwd=consumer, env=environment(world))
            return 0, ""
        except samples.Wrong as wrong:
            return 1, str(wrong)
        finally:
            world._close()

    def tests(part: str) -> tuple:
        world = World(wopr, "--keepalive-ms", "200", "--cors-origins", "*")
        try:
            env = environment(world, WORLD_CONTROL=world._serve_control(), PART=part)
            return output(["node", "--test", "--test-reporter=spec", "test_typescript.mjs"], cwd=consumer, env=env)
        finally:
            world._close()

    return together([types_and_pages, lambda: tests("streams"), lambda: tests("rest")])


def in_browser(wopr: str, tools: str, work: str) -> int:
    program = browser.find()
    if not program:
        raise npm.Skip("no browser is installed (Debian: chromium)")
    npm.install(tools)
    work = os.path.join(work, "browser")
    os.makedirs(work, exist_ok=True)
    package = os.path.join(build(tools, work), "node_modules", "wopr-client", "dist")
    server = browser.Server(package, samples.block(ROOT, "docs/clients.md", "js"))
    world = server.world = World(wopr, "--keepalive-ms", "200", "--cors-origins", server.origin)
    try:
        status, text = browser.run(program, server)
    finally:
        world._close()
        server.close()
    print(text, end="")
    return status


def main() -> int:
    language, wopr, tools, work = sys.argv[1], *map(os.path.abspath, sys.argv[2:5])
    if language == "python":
        return python(wopr)
    try:
        return (in_browser if language == "browser" else typescript)(wopr, tools, work)
    except npm.Skip as why:
        print("skipped: %s" % why)
        return npm.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
