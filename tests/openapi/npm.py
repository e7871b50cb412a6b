"""The programs from npm that tests use, at the versions of package-lock.json with their digests, installed once."""
import fcntl
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77  # exit status
NODE_MIN = 18
INSTALL_S = 300
OURS = ("EINTEGRITY", "EUSAGE", "EBADENGINE")  # mistakes in the lock file, not in the network


class Skip(Exception):
    pass


def node_check():
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise Skip("%s is not installed" % program)
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.match(r"v(\d+)", version).group(1)) < NODE_MIN:
        raise Skip("node %s is older than %d" % (version.strip(), NODE_MIN))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def install(work, folder=HERE):
    """npm ci by the lock file of a folder, unless the same was installed here before."""
    node_check()
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(work, "lock"), "w") as lock:  # several tests need the tools, at the same time maybe
        fcntl.flock(lock, fcntl.LOCK_EX)
        install_once(work, folder)


def install_once(work, folder):
    stamp, wanted = os.path.join(work, "installed"), read(os.path.join(folder, "package-lock.json"))
    if os.path.exists(stamp) and read(stamp) == wanted:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(folder, name), os.path.join(work, name))
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]
    try:
        got = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=INSTALL_S)
    except subprocess.TimeoutExpired:
        raise Skip("npm ci took longer than %d s" % INSTALL_S)
    if got.returncode != 0:
        if any(code in got.stderr for code in OURS):
            raise SystemExit("npm ci: " + got.stderr)
        raise Skip("npm ci could not fetch the tools: " + " ".join(got.stderr.split())[:400])
    with open(stamp, "wb") as f:
        f.write(wanted)
