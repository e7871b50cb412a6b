#!/usr/bin/env python3
"""Does the OpenAPI document of a live host suit the programs that read such documents?

usage: run.py WOPR WORK_DIRECTORY
Starts WOPR, fetches /v1/openapi.json, then: Redocly's linter, swagger-cli, openapi-typescript, orval; what the two last
generate is compiled by tsc --strict together with a small client, which runs against the host.  The tools come by npm,
at the versions of package-lock.json with their digests, into WORK_DIRECTORY, once.
Exit status: 0, 1 = a tool is not content, 77 = skipped: no node, no npm, or no registry (it says which).
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "kit"))
import npm  # noqa: E402
from host import Host  # noqa: E402

FILES = ["lint.cjs", "use.ts", "tsconfig.json"]
TOOL_S = 240


def commands(host):
    def tool(name, *arguments):
        return [os.path.join("node_modules", ".bin", name), *arguments]

    return [
        ("redocly lint", ["node", "lint.cjs", "openapi.json"]),
        ("swagger-cli", tool("swagger-cli", "validate", "openapi.json")),
        ("openapi-typescript", tool("openapi-typescript", "openapi.json", "-o", "openapi.d.ts")),
        ("orval", tool("orval", "--input", "./openapi.json", "--output", "./orval/client.ts", "--client", "fetch")),
        ("tsc --strict", tool("tsc", "-p", ".")),
        ("the generated client", ["node", "out/use.js", host.url, host.key]),
    ]


def run_all(work, host):
    with open(os.path.join(work, "openapi.json"), "wb") as f:
        f.write(host.send("GET", "/v1/openapi.json", key=None)[2])
    for leftover in ("orval", "out"):
        shutil.rmtree(os.path.join(work, leftover), ignore_errors=True)
    failed = 0
    for name, command in commands(host):
        got = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=TOOL_S)
        print("%s: %s" % (name, "content" if got.returncode == 0 else "FAILED"))
        if got.returncode != 0:
            print(got.stdout + got.stderr)
            failed = 1
    return failed


def main():
    wopr, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    try:
        npm.install(work)
    except npm.Skip as why:
        print("skipped: %s" % why)
        return npm.SKIPPED
    for name in FILES:
        shutil.copy(os.path.join(HERE, name), os.path.join(work, name))
    with tempfile.TemporaryDirectory() as folder, Host(
            wopr, os.path.join(folder, "wopr.db"), "--conformance-seed", "--log-level", "error", key="hk_test_openapi_tools_0123456789abcdef") as host:
        return run_all(work, host)


if __name__ == "__main__":
    sys.exit(main())
