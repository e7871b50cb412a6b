#!/usr/bin/env python3
"""A release binary is hardened as CMakeLists.txt asks for: read with readelf, whatever the compiler made of the flags.

usage: check_binary.py BINARY"""
import re
import subprocess
import sys


def readelf(option, path):
    done = subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True)
    return done.stdout


def findings(path):
    dynamic, program, symbols = readelf("-d", path), readelf("-l", path), readelf("--dyn-syms", path)
    checks = {
        "a position-independent executable (-fPIE -pie)": re.search(r"FLAGS_1\).*\bPIE\b", dynamic),
        "bound before main (-Wl,-z,now)": re.search(r"BIND_NOW|FLAGS_1\).*\bNOW\b", dynamic),
        "read-only relocations (-Wl,-z,relro)": "GNU_RELRO" in program,
        "a stack that is not executable": not re.search(r"GNU_STACK.*\bRWE\b", program),
        "stack canaries (-fstack-protector-strong)": "__stack_chk_fail" in symbols,
        "checked C library calls (-D_FORTIFY_SOURCE)": re.search(r"__(?!stack)\w+_chk\b", symbols),
    }
    return [name for name, ok in checks.items() if not ok]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    missing = findings(sys.argv[1])
    for name in missing:
        print(f"{sys.argv[1]} lacks: {name}")
    print(f"binary: {len(missing)} findings")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
