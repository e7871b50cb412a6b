/*
 * no_sync.c: in builds that look for races, memory errors and lines, no file waits for its disk.
 * Those builds run some thousands of small databases, and none of their tests is about power: that
 * a commit is on the disk before it is told is shown by the faults program, whose VFS counts the
 * syncs and loses what came after them.  kill -9 leaves the page cache as it is.
 * These names stand before those of the C library for the program and for SQLite.
 */
#include <unistd.h>

int fsync(int fd) {
    (void)fd;
    return 0;
}

int fdatasync(int fd) {
    (void)fd;
    return 0;
}
