#!/usr/bin/env python3
"""Calls: the kernel is asked only where docs/architecture.md says so, and the files of a layer do not call each other in circles.

usage: check_calls.py SOURCE_ROOT
A circle is allowed by a line of tools/circles.txt, with a reason.  Prints one line per violation; exit status 1 when there is any.
"""
import fnmatch
import os
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
import source

KERNEL = {
    "files": "open openat creat fopen freopen mkstemp tmpfile opendir mkdir rmdir unlink unlinkat rename renameat link symlink "
             "readlink realpath stat lstat statvfs access chmod chown truncate ftruncate pread pwrite preadv pwritev fsync "
             "fdatasync flock mmap",
    "sockets": "socket socketpair connect bind listen accept accept4 send sendto sendmsg recv recvfrom recvmsg getaddrinfo "
               "getnameinfo setsockopt getsockopt getsockname getpeername shutdown",
    "time": "time gettimeofday clock_gettime clock_nanosleep nanosleep usleep sleep timerfd_create localtime localtime_r gmtime "
            "gmtime_r",
    "randomness": "getrandom getentropy rand rand_r random srand srandom gnutls_rnd arc4random",
}
# Beside base/.  Each is named, with its reason, in the table of docs/architecture.md.
PLACES = {
    "files": ["store/sqlite/", "http/door.c", "http/opsd.c",
              "http/outlet.c", "http/tls.c", "host/test_clock.c"],
    "sockets": ["http/", "egress/names.c"],
    "time": ["http/server.c", "cli/cmd_tail.c"],
    "randomness": [],
}
CIRCLES = "tools/circles.txt"


def kernel_calls(f):
    names = {name: kind for kind, text in KERNEL.items() for name in text.split()}
    for m in re.finditer(r"(?<![\w.])(?<!->)([a-z_0-9]+)\s*\(", f.plain):
        kind = names.get(m.group(1))
        if kind is None or m.group(1) in f.statics or f.layer == "base":
            continue
        if not any(f.rel.startswith(p) for p in PLACES[kind]):
            line = f.plain.count("\n", 0, m.start()) + 1
            yield "src/%s:%d: %s() is for base/ and the places named in docs/architecture.md" % (f.rel, line, m.group(1))


def unnamed_places(root: str, files: list):
    with open(os.path.join(root, "docs/architecture.md"), encoding="utf-8") as doc:
        text = doc.read()
    for kind, places in PLACES.items():
        words = set(KERNEL[kind].split())
        for place in places:
            if not any(f.rel.startswith(place) and f.words & words for f in files):
                print("note: %s does not call the kernel for %s any more" % (place, kind))
            elif "`%s`" % place not in text:
                yield "docs/architecture.md does not name %s, which calls the kernel for %s" % (place, kind)


def allowed_circles(root: str):
    """(most files, patterns, line number) of each line."""
    with open(os.path.join(root, CIRCLES), encoding="utf-8") as f:
        for no, line in enumerate(f, 1):
            m = re.match(r"at most (\d+) of ([^:]+): \S", line)
            if m:
                yield int(m.group(1)), m.group(2).split(), no
            elif line.strip() and not line.startswith("#"):
                sys.exit("%s:%d: at most NUMBER of FILES: REASON" % (CIRCLES, no))


def circles(root: str, files: list):
    allowed, met = list(allowed_circles(root)), {}
    for circle in source.circles(source.calls(files)):
        fits = [a for a in allowed if all(any(fnmatch.fnmatch(f, p) for p in a[1]) for f in circle)]
        large = max((a[0] for a in fits), default=0)
        for most, _, no in fits:
            met[no] = max(met.get(no, 0), len(circle))
        if len(circle) > large:
            yield "%d files call each other in a circle%s: %s" % (
                len(circle), ", %d may" % large if large else "", " ".join(circle))
    for most, patterns, no in allowed:
        if met.get(no, 0) < most:
            print("note: %s:%d: at most %d, there are %d" % (CIRCLES, no, most, met.get(no, 0)))


def main() -> int:
    root = sys.argv[1]
    files = source.read_all(root)
    found = [line for f in files for line in kernel_calls(f)] + list(unnamed_places(root, files)) + list(circles(root, files))
    for line in found:
        print(line)
    print("calls: %d files, %d violations" % (len(files), len(found)))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
