#!/usr/bin/env python3
"""Calls: only base/ asks the kernel for files, sockets, time and randomness, and the files of a layer do not call each other in circles.

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
DOORS = {"files": "fs.h", "sockets": "net.h", "time": "clock.h", "randomness": "clock.h"}
CIRCLES = "tools/circles.txt"


def kernel_calls(f):
    names = {name: kind for kind, text in KERNEL.items() for name in text.split()}
    for m in re.finditer(r"(?<![\w.])(?<!->)([a-z_0-9]+)\s*\(", f.plain):
        kind = names.get(m.group(1))
        if kind is None or m.group(1) in f.statics or f.layer == "base":
            continue
        line = f.plain.count("\n", 0, m.start()) + 1
        yield "src/%s:%d: %s() is for base/%s" % (f.rel, line, m.group(1), DOORS[kind])


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
            yield "%s:%d: says at most %d, there are %d: lower the number, or take the line away" % (
                CIRCLES, no, most, met.get(no, 0))


def main() -> int:
    root = sys.argv[1]
    files = source.read_all(root)
    found = [line for f in files for line in kernel_calls(f)] + list(circles(root, files))
    for line in found:
        print(line)
    print("calls: %d files, %d violations" % (len(files), len(found)))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
